"""Every picture of every lesson: explorers at every slider position, and figures, against what the notebook stores.

nbval compares text, not pixels. So each figure's data are stored beside its PNG (`helpers.figures.drawn`), and an
explorer's are in the widget state; a lesson that is run again must draw the same. With the matplotlib of
`requirements.lock`, which drew the PNGs in the notebooks, the pixels must be the same too.
"""

import functools
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
    pictures_in,
    pixels,
    pngs,
)
from tests.shared import EVERYTHING, EXAMPLES, LESSONS, decode_frames, every_lesson, read, run_lesson
from tests.watch import watched

# Each lesson is run once more for this: one in `make test`, all in `make test-everything`.
RUN = LESSONS if EVERYTHING else EXAMPLES[:1]


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
    return Run(stored_in(request.param), Pictures(stages, stills, figures), explorers, touched)


def test_a_lesson_draws_what_it_stores_and_opens_nothing(run):
    assert changed_explorers(run.stored, run.now) == [], "run `make notebooks`"
    assert changed_figures(run.stored, run.now) == [], "run `make notebooks`"
    if SAME_PIXELS:  # else another matplotlib than that of requirements.lock, or another system
        assert changed_pixels(run.stored, run.now) == [], "run `make notebooks`"
    assert [still["text/plain"] for still in run.now.stills] == [explorer.caption_at() for explorer in run.explorers]
    assert run.touched == [], "no socket, program or file"


def test_controls_change_picture_and_caption_at_once(run):
    """What a learner sees who tries one control after the other."""
    for explorer in run.explorers:
        for name, options in explorer.sliders.items():
            values = list(options.values())
            k = values.index(explorer.start[name])
            moved = {name: values[k + 1 if k + 1 < len(values) else k - 1]}
            assert explorer.caption_at(**moved) != explorer.caption_at(), f"slider {name} leaves the caption"
            others = [{other: v} for other, vs in explorer.sliders.items() if other != name for v in vs.values()]
            seen = [[explorer.marks_at(**at, **more) for more in ({}, *others)] for at in ({}, moved)]
            pairs = [pair for frames in zip(*seen, strict=True) for pair in zip(*frames, strict=True)]
            same = [np.array_equal(old["data"][a], new["data"][a]) for old, new in pairs for a in old["data"]]
            assert not all(same), f"slider {name} leaves the picture, wherever another slider stands"


# ---------------------------------------------------------------------------------- what is stored, by itself


@every_lesson
def test_stored_pictures_are_whole_and_described(lesson):
    stored = stored_in(lesson)
    for png in map(pixels, pngs(stored)):
        assert all((edge == 255).all() for edge in (png[0], png[-1], png[:, 0], png[:, -1])), "words cut at an edge"
    for data, metadata in stored.figures:
        assert all(axes["artists"] for axes in metadata["drawn"]), "something is drawn in every axes"
        # For those who cannot see it; the browser tests know by this rule that an image has its words below it.
        assert len(data["text/plain"].split()) > 5, "a figure's caption says what it shows"
    for still, (_, data, captions, _) in zip(stored.stills, stored.stages, strict=True):
        assert pixels(still["image/png"]).mean(axis=2).std() > 3, "the static picture is blank"
        assert sum(map(len, data)) <= 200_000
        for caption in captions:
            assert len(caption) <= 200 and "\n" not in caption, caption
            assert not {"nan", "inf"} & set(caption.lower().split()) and any(map(str.isdigit, caption)), caption


@every_lesson
def test_no_explorer_draws_outside_its_panel(lesson):
    for spec, data, *_ in stored_in(lesson).stages:
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
                linear = panel[f"{axis}scale"] == "linear"
                least, most = (
                    (low - 0.01 * (high - low), high + 0.01 * (high - low)) if linear else (low * 0.95, high * 1.05)
                )
                assert least <= values.min() and values.max() <= most, (mark["kind"], axis)
