"""Every picture of every lesson: explorers at every slider position, and figures, against what the notebook stores.

nbval compares text, not pixels. So each figure's data are stored beside its PNG (`helpers.figures.drawn`), and an
explorer's are in the widget state; a lesson that is run again must draw the same. With the matplotlib of
`requirements.lock`, which drew the PNGs in the notebooks, the pixels must be the same too.
"""

import base64
import io
import json
import platform
import re
import sys
from copy import deepcopy
from typing import NamedTuple

import matplotlib
import numpy as np
import pytest
from lessons import EVERYTHING, LESSONS, ROOT, decode_frames, read, rotate, run_lesson
from PIL import Image

from helpers import Explorer
from helpers.explorer.explorer import describe_position
from helpers.explorer.layout import x_to_pixels, y_to_pixels

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


class Pictures(NamedTuple):
    explorers: list
    figures: list  # what `show` displayed: (data, metadata), in order
    stored_stages: list  # (spec, blocks of bytes, different captions, which of them at each position)
    stored_stills: list  # the PNG of each explorer
    stored_figures: list
    stills: list  # what each explorer displays now


# Each lesson is run once more for this: two in `make test`, all in `make test-anywhere`, there on other processors too.
RUN = rotate(LESSONS, 1, "pictures") if EVERYTHING else LESSONS[:2]


@pytest.fixture(scope="module", params=RUN, ids=lambda path: path.stem)
def pictures(request):
    """The pictures that a lesson makes now, and those in its file."""
    figures = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda data, raw, metadata: figures.append((data, metadata)))
        explorers = [value for value in run_lesson(request.param) if isinstance(value, Explorer)]
    notebook = read(request.param)
    models = sorted(notebook.metadata["widgets"][WIDGET_STATE]["state"].items())
    stages = []
    for _, model in models:
        if "captions" in model["state"]:
            blocks = {tuple(b["path"]): base64.b64decode(b["data"]) for b in model["buffers"]}
            data = [blocks["data", k] for k in range(len(model["state"]["data"]))]
            captions, which = model["state"]["captions"], blocks[("caption_of",)]
            stages.append((model["state"]["spec"], data, captions, which))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    views = [output.data for output in outputs if WIDGET_VIEW in output.get("data", {})]
    stills = [data["image/png"] for data in views if "image/png" in data]
    stored = [(output.data, output.metadata) for output in outputs if "drawn" in output.get("metadata", {})]
    fresh = [explorer._repr_mimebundle_()[0] for explorer in explorers]
    return Pictures(explorers, figures, stages, stills, stored, fresh)


@pytest.fixture
def explorers(pictures):
    return pictures.explorers


# ------------------------------------------------------------------------------------- the same as what is stored


def places(spec, frames):
    """Where the marks of every position lie, in pixels; the values of cells in hundredths of the whole scale.

    Not where labels stand: that follows from the rest, and they may change sides for another machine's rounding.
    """
    found = []
    for mark, arrays in zip(spec["marks"], frames, strict=True):
        panel = spec["panels"][mark["panel"]]
        arrays = {name: array for name, array in arrays.items() if not name.startswith("label_")}
        if mark["kind"] == "bars":
            arrays |= {"x": arrays.pop("edges"), "y": arrays.pop("height")}
        if mark["kind"] == "arrows":
            arrays |= {"dx": arrays["x"] + arrays["dx"], "dy": arrays["y"] + arrays["dy"]}
        for name, values in arrays.items():
            if name[-1] in "xy":
                pixels = x_to_pixels if name[-1] == "x" else y_to_pixels
                values = pixels(panel, values.astype(float))
            elif name in ("values", "outline"):
                values = 100 * values.astype(float) / (name == "values" and mark["limit"] or 1)
            elif name == "string":
                values = np.array(mark["strings"])[values]
            found.append((mark["kind"], name, values))
    return found


def changed(spec, before, after):
    """The marks that lie elsewhere, by more than a pixel."""
    assert len(before) == len(after)
    found = []
    for k, ((kind, name, old), (_, _, new)) in enumerate(zip(places(spec, before), places(spec, after), strict=True)):
        same = np.array_equal(old, new) if name == "string" else np.abs(old - new).max() <= 1
        found += [] if same else [f"array {k}: {kind} {name}"]
    return found


def moved_figures(before, after):
    """The axes whose limits differ by 1 %, or of which a position differs by 5 thousandths."""
    found = []
    for f, (old_figure, new_figure) in enumerate(zip(before, after, strict=True)):
        for a, (old, new) in enumerate(zip(old_figure, new_figure, strict=True)):
            limits = [np.ravel([axes[axis] for axis in "xy"]) for axes in (old, new)]
            numbers = [[np.array(re.split("[ ,]", text), float) for text in axes["artists"]] for axes in (old, new)]
            same = np.allclose(*limits, rtol=0.01, atol=0.01 * np.ptp(limits[0].reshape(2, 2), axis=1).min())
            same = same and len(numbers[0]) == len(numbers[1])
            same = same and all(np.abs(o - n).max() <= 5 for o, n in zip(*numbers, strict=True))
            found += [] if same else [f"figure {f}, axes {a}"]
    return found


def without_data(spec):
    """Panels, sizes, colors and labels; not the ticks, which depend on matplotlib's version."""
    spec = json.loads(json.dumps(spec), parse_float=lambda digits: float(f"{float(digits):.5g}"))
    for mark in spec["marks"]:
        del mark["arrays"], mark["strings"]
    for layout in [spec, *spec["others"]]:
        for panel in layout["panels"]:
            del panel["xticks"], panel["yticks"]
    return spec


def test_explorers_draw_what_the_lesson_stores(pictures):
    for explorer, (spec, data, captions, which) in zip(pictures.explorers, pictures.stored_stages, strict=True):
        fresh = explorer.stage
        assert without_data(fresh.spec) == without_data(spec), "run `make notebooks`"
        assert fresh.captions == captions and bytes(fresh.caption_of) == which
        assert changed(spec, decode_frames(spec, data), decode_frames(fresh.spec, fresh.data)) == []


def test_a_mark_of_an_explorer_that_is_moved_a_little_at_one_position_is_noticed(pictures):
    """By three pixels, or three hundredths of what a cell's color can show."""
    for spec, data, _, _ in pictures.stored_stages:
        frames = decode_frames(spec, data)
        for k, (mark, arrays) in enumerate(zip(spec["marks"], frames, strict=True)):
            panel = spec["panels"][mark["panel"]]
            for name, values in arrays.items():
                if name.startswith("label_"):
                    continue
                if name in ("outline", "string"):
                    amount = 1
                elif name == "values":
                    amount = 0.03 * mark["limit"] if mark["limit"] else 1
                else:
                    axis = "x" if name in ("x", "dx", "edges") else "y"
                    (low, high), size = panel[f"{axis}lim"], panel["box"][2 if axis == "x" else 3]
                    amount = 3 * (high - low) / size
                    if panel[f"{axis}scale"] == "log":
                        amount = values[0] * ((high / low) ** (3 / size) - 1)
                other = deepcopy(frames)
                other[k][name] = values.astype(int if name == "string" else float)
                other[k][name][0] += amount
                if name == "string":
                    other[k][name] %= len(mark["strings"])
                if name != "string" or len(mark["strings"]) > 1:
                    assert changed(spec, frames, other), (mark["kind"], name)


def test_figures_draw_what_the_lesson_stores(pictures):
    stored, fresh = (
        [metadata["drawn"] for _, metadata in shown] for shown in (pictures.stored_figures, pictures.figures)
    )
    assert moved_figures(stored, fresh) == [], "run `make notebooks`"
    assert all(axes["artists"] for figure in fresh for axes in figure), "something is drawn in every axes"


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)


@pytest.mark.skipif(
    f"matplotlib=={matplotlib.__version__} " not in (ROOT / "requirements.lock").read_text(encoding="utf-8")
    or (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="another matplotlib than that of requirements.lock, or another system, may draw other pixels",
)
def test_every_png_shows_the_pixels_that_the_lesson_stores(pictures):
    """Also what a GitHub page shows of an explorer; one pixel in 50 000 may differ, for another machine's rounding."""
    stored = pictures.stored_stills + [data["image/png"] for data, _ in pictures.stored_figures]
    fresh = [data["image/png"] for data in pictures.stills] + [data["image/png"] for data, _ in pictures.figures]
    for k, (before, after) in enumerate(zip(stored, fresh, strict=True)):
        before, after = pixels(base64.b64decode(before)), pixels(base64.b64decode(after))
        assert before.shape == after.shape, "run `make notebooks`"
        other = (np.abs(before - after).max(axis=2) > 20).mean()
        assert other <= 1 / 50_000, f"picture {k}: {other:.2%} of its pixels are others; run `make notebooks`"


def test_no_word_is_cut_at_the_edge_of_a_picture(pictures):
    for png in pictures.stored_stills + [data["image/png"] for data, _ in pictures.stored_figures]:
        picture = pixels(base64.b64decode(png))
        assert all((edge == 255).all() for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]))


# -------------------------------------------------------------------------------------- the explorers by themselves


def test_every_position_is_finite_deterministic_and_sent_unchanged(explorers):
    for explorer in explorers:
        frames = decode_frames(explorer.stage.spec, explorer.stage.data)
        for index, position in enumerate(explorer.positions()):
            for mark, data in zip(explorer.compute(**position), frames, strict=True):
                for name, array in mark.arrays.items():
                    assert np.isfinite(data[name][index]).all()
                    np.testing.assert_allclose(data[name][index], array, rtol=1e-5, atol=1e-6)


def test_nothing_is_drawn_outside_its_panel(explorers):
    for explorer in explorers:
        spec = explorer.stage.spec
        for mark, data in zip(spec["marks"], decode_frames(spec, explorer.stage.data), strict=True):
            panel = spec["panels"][mark["panel"]]
            for axis, name in (("x", "edges"), ("y", "height")):
                low, high = panel[f"{axis}lim"]
                values = data[name if mark["kind"] == "bars" else axis]
                inside = (low * 0.95, high * 1.05)
                if panel[f"{axis}scale"] == "linear":
                    inside = (low - 0.01 * (high - low), high + 0.01 * (high - low))
                outside = ((values < inside[0]) | (values > inside[1])).any(axis=1)
                positions = [
                    describe_position(p, explorer.sliders)
                    for p, o in zip(explorer.positions(), outside, strict=True)
                    if o
                ]
                assert positions == [], (mark["kind"], axis)


def test_every_control_changes_picture_and_caption_from_the_first_view(explorers):
    """What a learner sees who tries one control after the other."""
    for explorer in explorers:
        first = explorer.start
        for name, options in explorer.sliders.items():
            values = list(options.values())
            k = values.index(first[name])
            moved = {name: values[k + 1 if k + 1 < len(values) else k - 1]}
            assert explorer.caption_at(**moved) != explorer.caption_at(), f"slider {name} leaves the caption"
            before, after = explorer.marks_at(), explorer.marks_at(**moved)
            same = [
                np.array_equal(b["data"][a], m["data"][a])
                for b, m in zip(before, after, strict=True)
                for a in b["data"]
            ]
            assert not all(same), f"slider {name} leaves the picture"


def test_captions_are_one_short_line_of_numbers_that_exist(explorers):
    for explorer in explorers:
        for caption in explorer.captions:
            assert len(caption) <= 200 and "\n" not in caption, caption
            assert "nan" not in caption.lower().split() and "inf" not in caption.lower().split(), caption
            assert any(character.isdigit() for character in caption), caption


def test_the_picture_and_the_size_of_what_is_stored(pictures):
    for explorer, data in zip(pictures.explorers, pictures.stills, strict=True):
        picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("L")
        assert np.asarray(picture).std() > 3, "the static picture is blank"
        assert data["text/plain"] == explorer.caption_at()
        assert sum(map(len, explorer.stage.data)) <= 200_000
