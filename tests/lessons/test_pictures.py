"""Every picture of every lesson: explorers at every slider position, and figures, against what the notebook stores.

nbval compares text, not pixels. So each figure's data are stored beside its PNG (`helpers.figures.drawn`), and an
explorer's are in the widget state; a lesson that is run again must draw the same. With the matplotlib of
`requirements.lock`, which drew the PNGs in the notebooks, the pixels must be the same too.
"""

import functools
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pytest

from helpers import Explorer
from tests.pictures import (
    SAME_PIXELS,
    Pictures,
    changed_explorers,
    changed_figures,
    changed_pixels,
    moved_marks,
    pictures_in,
    pixels,
    pngs,
    unit_of_pixel,
)
from tests.shared import EXAMPLES, LESSONS, decode_frames, in_every_lesson, read, run_lesson
from tests.watch import watched

# Each lesson is run once more for this: two in `make test`, all in `make test-everything`; test_processors.py
# compares the pictures of all.
RUN = EXAMPLES


@functools.cache
def stored_in(lesson):
    """What a lesson's file stores."""
    return pictures_in(read(lesson))


class Run(NamedTuple):
    stored: Pictures
    now: Pictures
    explorers: list
    touched: list  # sockets, programs and files


@pytest.fixture(scope="module", params=RUN, ids=lambda path: path.stem)
def run(request):
    """A lesson that was run once more: what its file stores, what it draws now, and its explorers."""
    figures = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda data, raw, metadata: figures.append((data, metadata)))
        with watched() as touched:
            explorers = [value for value in run_lesson(request.param) if isinstance(value, Explorer)]
    stages = [(e.stage.spec, e.stage.data, e.stage.captions, bytes(e.stage.caption_of)) for e in explorers]
    stills = [explorer._repr_mimebundle_()[0] for explorer in explorers]
    return Run(pictures_in(read(request.param)), Pictures(stages, stills, figures), explorers, touched)


def test_a_lesson_opens_no_socket_program_or_file(run):
    assert run.touched == []


# ------------------------------------------------------------------------------------- the same as what is stored


def test_explorers_draw_what_the_lesson_stores(run):
    assert changed_explorers(run.stored, run.now) == [], "run `make notebooks`"


@in_every_lesson
def test_a_mark_moved_a_little_is_noticed(lesson):
    """By three pixels, or three hundredths of what a cell's color can show."""
    stored = stored_in(lesson)
    for spec, data, _, _ in stored.stages:
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
                elif "space" in panel:
                    amount = 3 * unit_of_pixel(panel)
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
                    assert moved_marks(spec, frames, other), (mark["kind"], name)


def test_figures_draw_what_the_lesson_stores(run):
    assert changed_figures(run.stored, run.now) == [], "run `make notebooks`"


@pytest.mark.skipif(not SAME_PIXELS, reason="another matplotlib than that of requirements.lock, or another system")
def test_each_png_shows_the_stored_pixels(run):
    assert changed_pixels(run.stored, run.now) == [], "run `make notebooks`"


def test_changed_points_limits_or_sizes_of_figures_show():
    stored = pictures_in(read(LESSONS[0]))

    def changes(alter):
        other = deepcopy(stored)
        alter(*other.figures[-1])
        return len(changed_figures(stored, other)), len(changed_pixels(stored, other))

    def move(data, metadata):
        x, rest = metadata["drawn"][0]["artists"][0].split(",", maxsplit=1)
        metadata["drawn"][0]["artists"][0] = f"{int(x) + 6},{rest}"

    assert changes(lambda data, metadata: None) == (0, 0)
    assert changes(move) == (1, 0)
    assert changes(lambda data, metadata: metadata["drawn"][0]["artists"].pop()) == (1, 0)
    assert changes(lambda data, metadata: metadata["drawn"][0].update(x=[-1e3, 1e3])) == (1, 0)
    assert changes(lambda data, metadata: data.update({"image/png": stored.stills[0]["image/png"]})) == (0, 1)


@in_every_lesson
def test_pictures_cut_no_words_at_their_edges(lesson):
    stored = stored_in(lesson)
    for png in pngs(stored):
        picture = pixels(png)
        assert all((edge == 255).all() for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]))


# ---------------------------------------------------------------------------------- what is stored, by itself


@in_every_lesson
def test_something_is_drawn_in_every_axes(lesson):
    stored = stored_in(lesson)
    assert all(axes["artists"] for _, metadata in stored.figures for axes in metadata["drawn"])


@in_every_lesson
def test_figures_are_described_in_over_five_words(lesson):
    """For those who cannot see it; the browser tests know by this rule that an image has its words below it."""
    stored = stored_in(lesson)
    assert [data["text/plain"] for data, _ in stored.figures if len(data["text/plain"].split()) <= 5] == []


@in_every_lesson
def test_no_explorer_draws_outside_its_panel(lesson):
    stored = stored_in(lesson)
    for spec, data, _, _ in stored.stages:
        for mark, arrays in zip(spec["marks"], decode_frames(spec, data), strict=True):
            panel = spec["panels"][mark["panel"]]
            if "space" in panel:
                ends = [axis[end] for axis in panel["space"]["axes"] for end in ("from", "to")]
                found = np.concatenate([arrays[axis].ravel() for axis in "xyz"])
                assert np.min(ends) <= found.min() and found.max() <= np.max(ends), mark["kind"]
                continue
            for axis, name in (("x", "edges"), ("y", "height")):
                low, high = panel[f"{axis}lim"]
                values = arrays[name if mark["kind"] == "bars" else axis]
                inside = (low * 0.95, high * 1.05)
                if panel[f"{axis}scale"] == "linear":
                    inside = (low - 0.01 * (high - low), high + 0.01 * (high - low))
                outside = ((values < inside[0]) | (values > inside[1])).any(axis=1)
                assert np.flatnonzero(outside).tolist() == [], (mark["kind"], axis)


@in_every_lesson
def test_captions_are_one_short_line_of_real_numbers(lesson):
    stored = stored_in(lesson)
    for _, _, captions, _ in stored.stages:
        for caption in captions:
            assert len(caption) <= 200 and "\n" not in caption, caption
            assert "nan" not in caption.lower().split() and "inf" not in caption.lower().split(), caption
            assert any(character.isdigit() for character in caption), caption


@in_every_lesson
def test_an_explorer_stores_a_small_picture(lesson):
    stored = stored_in(lesson)
    for still, (_, data, _, _) in zip(stored.stills, stored.stages, strict=True):
        assert pixels(still["image/png"]).mean(axis=2).std() > 3, "the static picture is blank"
        assert sum(map(len, data)) <= 200_000


# -------------------------------------------------------------------------------------- the explorers by themselves


def test_every_position_is_finite_deterministic_and_sent_unchanged(run):
    for explorer in run.explorers:
        frames = decode_frames(explorer.stage.spec, explorer.stage.data)
        for index, position in enumerate(explorer.positions()):
            for mark, data in zip(explorer.compute(**position), frames, strict=True):
                for name, array in mark.arrays.items():
                    assert np.isfinite(data[name][index]).all()
                    np.testing.assert_allclose(data[name][index], array, rtol=1e-5, atol=1e-6)


def test_controls_change_picture_and_caption_at_once(run):
    """What a learner sees who tries one control after the other."""
    for explorer in run.explorers:
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


def test_without_widgets_the_first_caption_stands(run):
    assert [still["text/plain"] for still in run.now.stills] == [explorer.caption_at() for explorer in run.explorers]
