"""The Explorer itself; those of the lessons are tried in tests/lessons/test_pictures.py."""

import base64
import io
import itertools
from fractions import Fraction

import numpy as np
import pytest
from matplotlib.ticker import LogLocator
from PIL import Image

from helpers import (
    Explorer,
    Panel,
    Panel3D,
    arrows,
    bars,
    cells,
    handle,
    lines,
    lines3,
    points,
    points3,
    surface3,
    text,
)
from helpers.theme import PALETTE
from helpers.widgets.explorer import explorer as machinery
from helpers.widgets.explorer import layout, picture
from helpers.widgets.explorer.layout import all_layouts, to_pixels
from helpers.widgets.explorer.marks import KINDS
from helpers.widgets.explorer.picture import draw_figure
from tests.shared import decode_frames

BARE = Panel(bare=True)
DOT = points(0, 0)
SQUARE = {"x": [[1, 2], [1, 2]], "y": [[3, 3], [4, 4]], "z": np.zeros((2, 2))}
LABELED = {"color": "blue", "label": ""}
PLAIN_LINE = LABELED | {"dashed": False}
PLAIN_TEXT = {"color": "grey", "align": "start", "bold": False}
ASKED = {"label": "of a label", "dashed": True, "hollow": True, "bold": True, "arrow": True}

# Every kind of mark: what makes it, from which numbers, its plain look, and which x and y it reaches.
EVERY_KIND = {
    "lines": (lines, {"x": [1, 2], "y": [3, 4]}, {}, PLAIN_LINE, (1, 2), (3, 4)),
    "points": (points, {"x": [1, 2], "y": [3, 4]}, {}, LABELED | {"size": 9, "hollow": False}, (1, 2), (3, 4)),
    "bars": (bars, {"edges": [1, 2, 5], "height": [3, 4]}, {}, {"color": "blue"}, (1, 5), (0, 4)),
    "arrows": (arrows, {"x": 1, "y": 2, "dx": 4, "dy": -5}, {}, LABELED, (1, 5), (-3, 2)),
    "text": (text, {"x": 1, "y": 2}, {"string": "a"}, PLAIN_TEXT, (1, 1), (2, 2)),
    "cells": (cells, {"values": [[0, 0]]}, {"limit": 1}, {"limit": 1, "digits": None, "names": None}, (0, 2), (0, 1)),
    "handle": (handle, {"x": 1, "y": 2}, {"moves": "n"}, {"color": "blue", "size": 16, "moves": ["n"]}, (1, 1), (2, 2)),
    "lines3": (lines3, {"x": [1, 2], "y": [3, 4], "z": [5, 6]}, {}, PLAIN_LINE | {"arrow": False}, (1, 2), (3, 4)),
    "points3": (points3, {"x": 1, "y": 3, "z": 5}, {}, {"color": "blue", "size": 7}, (1, 1), (3, 3)),
    "surface3": (surface3, SQUARE, {}, {"color": "grey"}, (1, 2), (3, 4)),
}
every_kind = pytest.mark.parametrize("kind", EVERY_KIND)


def simple(compute=lambda n: [points([n], [n**2])], caption=lambda n: f"n is {n}", sliders=None, **more):
    return Explorer({"n": [1, 2, 3]} if sliders is None else sliders, compute, caption, **more)


def place(marks, *panels, height=300):
    """The panels of an explorer that draws these marks, as they are laid out."""
    return simple(lambda n: marks, panels=list(panels), height=height).stage.spec["panels"]


# ---------------------------------------------------------------------------------------------------- every mark


@every_kind
def test_a_mark_is_plain_and_says_how_far_it_reaches(kind):
    make, numbers, more, style, *reached = EVERY_KIND[kind]
    mark = make(**numbers, **more)
    assert mark.kind == kind and mark.style == style | {"panel": 0}
    for axis, expected in zip("xy", reached, strict=True):
        found = KINDS[kind].extents(mark.arrays, axis)
        assert (min(a.min() for a in found), max(a.max() for a in found)) == expected
    asked = {name: value for name, value in ASKED.items() if name in style}
    assert make(**numbers, **more, **asked, panel=2).style == style | asked | {"panel": 2}


@every_kind
def test_a_mark_names_what_it_cannot_draw(kind):
    make, numbers, more, style, *_ = EVERY_KIND[kind]
    for name in numbers:
        with pytest.raises(ValueError, match=f"^{kind}: {name} is .*, expected real numbers$"):
            make(**numbers | {name: "a"}, **more)
    for color in PALETTE if "color" in style else ():
        assert make(**numbers, **more, color=color).style["color"] == color
    if "color" in style:
        with pytest.raises(ValueError, match=f"^{kind}: color 'pink' is not in the palette "):
            make(**numbers, **more, color="pink")


@every_kind
def test_every_mark_is_drawn(kind):
    make, numbers, more, *_ = EVERY_KIND[kind]
    panel = Panel3D() if KINDS[kind].space else Panel(bare=KINDS[kind].bare)
    explorer = simple(lambda n: [make(**numbers, **more)], panels=panel)
    _, (artists,) = draw_figure(explorer._spec, explorer.marks_at())
    assert artists
    assert set(EVERY_KIND) == set(KINDS) == set(picture._DRAW)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lines([1, 2], [1]), "^lines: expected vectors of one length, got shapes"),
        (lambda: bars([0, 1], [1, 2]), "^bars: expected one more edge than bars"),
        (lambda: cells([[0, 2, 3]], names=("", "a")), "^cells: a value is 2, expected codes 0 to 1, one for each name"),
        (lambda: cells([[1]], limit=0), "^cells: limit is 0, expected a number above 0"),
        (lambda: cells([[1]], limit=1, digits=10), "^cells: digits is 10, expected None or 0 to 9"),
        (lambda: points3(0, 0, 0, size=0), "^points3: size is 0, expected a number of pixels above 0$"),
        (lambda: cells([1, 2], limit=1), "2-D array of values"),
        (lambda: cells([[1]], limit=1, outline=[[1, 2]]), "outline has shape"),
        (lambda: cells([[1]]), r"^cells: give either limit= \(numbers\) or names= \(codes\)$"),
        (lambda: cells([[0]], names="abcdef"), "got 6 names, expected 2 to 5"),
        (lambda: points(1, 1, size=True), "^points: size is True, expected a number of pixels above 0"),
        (lambda: text(0, 0, "a", align="left"), "align is 'left'"),
        (lambda: handle(0, 0, moves=("a",) * 3), "expected the name of a slider, or two"),
        (lambda: handle([0, 1], [0, 1], moves="a"), "expected one point"),
        (lambda: lines3([0] * 3, [0] * 3, [0] * 3, arrow=True), "^lines3: an arrow needs two points$"),
        (lambda: surface3([[0, 1]], [[0, 1]], [[0, 1]]), r"^surface3: expected three arrays of shape \(2, 2\)$"),
        (lambda: Panel(xscale="cube"), 'expected "linear" or "log"'),
        (lambda: Panel(xlim=(0, 1), xscale="log"), r"xlim is \(0, 1\), expected .* for a log scale above 0"),
        (lambda: Panel(xlim=(1, 3), bare=True), r"^Panel: xlim is \(1, 3\), expected \(0, number of cells\) in a bare"),
        (lambda: Panel(width=np.nan), "^Panel: width is nan, expected a number above 0$"),
        (lambda: Panel3D(limits=(1, 0)), r"expected \(low, high\)"),
        (lambda: Panel3D(view=(0, 91)), "expected .azimuth, elevation."),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_marks_and_panels_have_least_and_most():
    assert cells([[0, 1]], names="ab").style["names"] == ["a", "b"]
    assert [cells([[1]], limit=0.5, digits=digits).style["digits"] for digits in (0, np.int64(9))] == [0, 9]
    assert [Panel3D(view=(0, elevation)).view[1] for elevation in (-90, 90)] == [-90, 90]
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    np.testing.assert_array_equal(points(masked, 0 * masked).arrays["x"], [1, np.nan])
    mark = points(np.array([Fraction(1, 2), 3], dtype=object), [True, 2.5], size=0.5)
    assert mark.arrays["x"].tolist() == [0.5, 3] and mark.arrays["y"].tolist() == [1, 2.5]


def test_cells_stand_in_rows_or_at_places_of_their_own():
    rows = cells([[1, 2, 3], [4, 5, 6]], limit=6, at=(10, 20))
    assert rows.arrays["x"].tolist() == [10, 11, 12, 10, 11, 12] and rows.arrays["y"].tolist() == [20] * 3 + [21] * 3
    assert cells([[1, 2]], limit=6).arrays["outline"].tolist() == [0, 0]
    mark = cells([7, 8], limit=9, at=([5, 0], [1, 3]), outline=[0, 1])
    placed = {name: array.tolist() for name, array in mark.arrays.items()}
    assert placed == {"x": [5, 0], "y": [1, 3], "values": [7, 8], "outline": [0, 1]}


# ---------------------------------------------------------------------------------------------- what it computes


def test_compute_is_called_once_for_every_slider_position():
    calls = []

    def compute(a, b):
        calls.append((a, b))
        return points(a, b == "x")  # one mark needs no list

    explorer = simple(compute, lambda a, b: f"{a}{b}", {"a": np.arange(1, 4), "b": ["x", "y"]}, start={"b": "y"})
    assert calls == [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x"), (3, "y")]
    assert {type(a) for a, _ in calls} == {int} and explorer.captions == ["1x", "1y", "2x", "2y", "3x", "3y"]
    assert explorer.start == {"a": 1, "b": "y"} and explorer.caption_at() == "1y" and explorer.caption_at(a=3) == "3y"
    assert (explorer.stage.at_0, explorer.stage.at_1) == (0, 1)


def test_sent_bytes_hold_the_marks_of_all_positions():
    explorer = simple(lambda n: [lines([0, n], [n / 7, 1e5]), text(0, 0, f"n{n}")], sliders={"n": range(257)})
    line, words = decode_frames(explorer.stage.spec, explorer.stage.data)
    assert explorer.stage.spec["marks"][0]["arrays"][0]["row_dtype"] == "<u2", "256 rows would fit into a byte"
    assert simple(sliders={"n": range(256)}).stage.spec["marks"][0]["arrays"][0]["row_dtype"] == "|u1"
    for index, position in enumerate(explorer.positions()):
        marks = explorer.marks_at(**position)
        np.testing.assert_allclose(line["y"][index], marks[0]["data"]["y"], rtol=1e-6)
        assert explorer.stage.spec["marks"][1]["strings"][int(words["string"][index, 0])] == marks[1]["string"]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([0, 255], "|u1"), ([0, 256], "<f4"), ([-1, 255], "<f4"), ([-2, -1], "<f4"), ([0, 0.5], "<f4")],
)
def test_only_whole_bytes_are_sent_as_bytes_and_equal_rows_once(values, dtype):
    explorer = simple(lambda n: [points(values, [n % 2, 1])], sliders={"n": range(200)})
    x, y = explorer.stage.spec["marks"][0]["arrays"]
    assert x["dtype"] == dtype and len(explorer.stage.data[2]) == 2 * y["size"] == 4
    np.testing.assert_array_equal(decode_frames(explorer.stage.spec, explorer.stage.data)[0]["x"], [values] * 200)


def test_the_browser_gets_controls_and_all_captions():
    sliders = {"batch_size": [1, 2], "kind": ["a", "b"], "named": {"one": 1, "word": "w"}}
    explorer = Explorer(
        sliders,
        lambda batch_size, kind, named: [points(batch_size, 1)],
        lambda batch_size, kind, named: f"{batch_size} {kind}",
        start={"batch_size": 2, "kind": "b"},
        play="kind",
    )
    stage, controls = explorer.stage, explorer.children[0].children
    assert [type(control).__name__ for control in controls] == ["SelectionSlider", "Dropdown", "SelectionSlider"]
    assert [control.index for control in controls] == [1, 1, 0]
    assert stage.spec["names"] == [control.description for control in controls] == ["batch size", "kind", "named"]
    assert stage.spec["options"] == [["1", "2"], ["a", "b"], ["one", "word"]]
    assert stage.spec["kinds"] == ["slider", "menu", "slider"] and stage.spec["play"] == 1
    assert stage.captions == ["1 a", "1 b", "2 a", "2 b"]
    assert np.frombuffer(stage.caption_of, "<u2").tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_four_sliders_and_as_many_values_as_positions_are_taken(monkeypatch):
    monkeypatch.setattr(machinery, "MAX_POSITIONS", 16)
    for sliders in ({name: [1, 2] for name in "abcd"}, {"n": range(16)}):
        assert len(list(simple(lambda **_: DOT, lambda **_: "c", sliders).positions())) == 16


def test_a_float_is_found_with_fewer_digits():
    explorer = simple(lambda eps: [points([eps], [1])], lambda eps: f"{eps:.0e}", {"eps": np.logspace(-12, 2, 57)})
    assert explorer.caption_at(eps=1e-5) == "1e-05"
    assert explorer.caption_at(eps=1.7782794e-5) == "2e-05"  # 10 ** -4.75 is 1.77827941...e-05
    for eps in (1.77828e-5 * (1 + 1.5e-6), 1e-3 * (1 + 1.5e-6), 2e-12, np.zeros(2)):
        with pytest.raises(ValueError, match="is not one of the slider's values"):
            explorer.caption_at(eps=eps)
    words = simple(lambda n: DOT, sliders={"n": ["one", "two"]})
    assert words.caption_at(n="".join(["t", "wo"])) == "n is two"  # equal and another object
    for ask in (explorer.caption_at, explorer.marks_at):
        with pytest.raises(ValueError, match=r"^Explorer: the position names 'N', expected one of \['eps'\]$"):
            ask(N=2)


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda n: [points([1 / (n - 2)], [1])], "compute failed at n = 2: ZeroDivisionError"),
        (
            lambda n: [points([1 if n < 3 else np.nan], [1])],
            r"mark 0 \(points\) at n = 3 has an empty, NaN or infinite",
        ),
        (lambda n: [points([1], [1])] * n, "2 marks at n = 2, expected 1 as in the first frame"),
        (lambda n: [points([1] * n, [1] * n)], r"at n = 2 has x of shape \(2,\), expected \(1,\)"),
        (lambda n: [points(1, 1) if n < 2 else lines(1, 1)], "at n = 2 differs in kind or style"),
        (lambda n: [points([1], [1], panel=1)], "panel 1, but there are 1"),
        *((lambda n, made=m: made, "at n = 1, expected a list of marks") for m in (None, [], [1], [DOT, 1])),
        (lambda n: [points([0, -1.1e38 * n], [0, 0])], r"at n = 1 has x beyond 1e[+]38"),
        (lambda n: [handle(n, n, moves="c")], r"mark 0 \(handle\) at n = 1 moves 'c', expected one of"),
        (lambda n: [cells([[n]], limit=9)], r"cells need a panel without axes, write Panel\(bare=True\)"),
        (lambda n: [points3(n, n, 0)], r"points3 needs a panel in space, write Panel3D\(\)"),
        (lambda n: [lines([0, 1], [0, 1], label="w" * 90)], "no room for panel 0"),
        (lambda n: [lines(np.arange(600) + n / 3, np.arange(600) * n / 3)] * 60, "expected at most 200,000; use fewer"),
    ],
)
def test_a_wrong_frame_names_its_position(compute, message):
    with pytest.raises(ValueError, match=message):
        simple(compute)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"caption": lambda n: ""}, "caption returned '' at n = 1"),
        ({"caption": lambda n: f"{1 / (n - 2)}"}, "caption failed at n = 2: ZeroDivisionError"),
        ({"sliders": dict.fromkeys("abcde", [1, 2])}, "^Explorer: expected a dict of 1 to 4 sliders"),
        *(({"sliders": {"n": v}}, "'n' needs at least two values") for v in ([1], [1, 2, 1], {1: 1, "1": 2, 2: 3})),
        ({"sliders": {"n": [1, None]}}, "'n' has None as a value, expected numbers or words; other values need names"),
        ({"sliders": {"n": range(6000)}}, "6,000 slider positions, expected at most 5,000"),
        *(({"sliders": {"n": v}}, "'n' needs a list of values") for v in ("abc", np.array(1), itertools.count())),
        ({"start": {"m": 1}}, "start names 'm', expected one of"),
        ({"start": [1]}, "start is a list of length 1, expected a dict"),
        ({"start": {"n": 7}}, r"^Explorer: 7 is not one of the slider's values \['1', '2', '3'\]$"),
        *(({"panels": panels}, "expected a Panel or a list of them") for panels in ([Panel(), "a"], [])),
        *(({"height": h}, f"height is {h!r}, expected 60 to 2000 pixels") for h in (59, "300", np.nan)),
        ({"play": "c"}, r"play is 'c', expected one of \['n'\]"),
        ({"panels": BARE, "compute": lambda n: [bars([0, 1], [n])]}, "panel 0 is bare, expected cells"),
        ({"panels": Panel3D()}, "a Panel3D has points, expected points3"),
        ({"panels": Panel(title="t", xlabel="x"), "height": 80}, "no room for panel 0, expected more height or width"),
        ({"panels": Panel(xscale="log"), "compute": lambda n: DOT}, "panel 0 has a log x axis, but the data reach 0"),
    ],
)
def test_a_wrong_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        simple(**arguments)


def test_in_a_notebook_the_sentence_stands_alone():
    with pytest.raises(ValueError) as plain:
        simple(height=1)
    assert plain.value._render_traceback_() == ["ValueError: Explorer: height is 1, expected 60 to 2000 pixels"]
    with pytest.raises(ValueError) as failed:
        simple(lambda n: 1 / 0)
    *frames, sentence = failed.value._render_traceback_()
    assert "failed at n = 1" in sentence and "lambda n: 1 / 0" in "".join(frames)
    assert "".join(frames).count("File ") == 1


# ------------------------------------------------------------------------------------------------------- layout

PANELS = [
    Panel(xlabel="x", ylabel="words", title="t", xscale="log", yscale="log", xlim=(1e-12, 1010), ylim=(1e-12, 1)),
    Panel(ylabel="", xlim=(-2000, 2000), ylim=(-4000, 4000)),
    Panel(ylabel=None, width=1.5, equal=True),
    Panel(xlabel="n", zero=True, title="a title of some length"),
    Panel(bare=True, title="cells"),
    Panel3D(title="space"),
]


def marks_of(panels):
    """A mark for each panel, some with labels."""
    for number, panel in enumerate(panels):
        if isinstance(panel, Panel3D):
            yield points3([-1, 2], [0, 1], [0, 3], panel=number)
        elif panel.bare:
            yield cells(np.zeros((3 if number else 8, 8)), limit=1, digits=1, panel=number)
        else:
            yield lines([1e-3, 4], [1e-3, 0.5], label="long label" * (number % 2), panel=number)


def written(panel, height):
    """(left, right, top, bottom) of every word of a panel's axes, where letters are wide."""
    left, top, width, tall = panel["box"]
    if panel["title"]:
        yield left, left, top - 11 - 11, top
    for value, label in panel["xticks"]:
        middle, half = to_pixels(panel, value, panel["ylim"][0])[0], 8.9 * len(label) / 2
        yield middle - half, middle + half, top + tall + 6, top + tall + 22
    words = panel["ends"][0] + 22 if panel["ylabel"] else panel["ends"][0]
    for value, label in panel["yticks"]:
        middle = to_pixels(panel, panel["xlim"][0], value)[1]
        yield left - 6 - 8.9 * len(label) + panel["ends"][0] - words, left - 6, middle - 5, middle + 5
    if panel["xlabel"]:
        yield left, left, top + tall + 27, top + tall + 44


@pytest.mark.parametrize("chosen", [(k, (k + step) % 6) for k in range(6) for step in (1, 3)])
def test_at_every_width_all_words_stand_inside_their_panel(chosen):
    panels = [PANELS[k] for k in chosen]
    explorer = simple(lambda n: list(marks_of(panels)), panels=panels)
    heights = {}
    for width, height, placed in all_layouts(explorer.stage.spec):
        heights[width] = height
        for panel in placed:
            left, right = panel["ends"]
            x, y, wide, high = panel["box"]
            assert 0 <= left <= x and x + wide <= right <= width and 0 < y and 0 < high and y + high <= height
            if panel["bare"]:  # square cells, not too small and not too large
                assert wide / 8 == pytest.approx(high / panel["ylim"][1], abs=0.01) and 27 <= wide / 8 <= 38
            elif width < 680:
                assert right - left >= 190, "squeezed panels stand below each other"
            for start, end, top, bottom in written(panel, height):
                assert left - 1 <= start and end <= right + 1 and 0 <= top and bottom <= height
        for one, two in itertools.combinations(placed, 2):  # beside or below each other
            beside = one["ends"][1] + 9.9 <= two["ends"][0]
            assert beside or one["box"][1] + one["box"][3] + 6 <= two["box"][1]
    assert sorted(heights) == [400, 520, 680, 935] and max(heights.values()) <= 525, "in rows, pictures are lower"
    still = explorer.stage.spec["panels"]
    assert still[0]["ends"][1] < still[1]["ends"][0], "side by side in the still picture"


@pytest.mark.parametrize(
    ("marks", "xlim", "ylim"),
    [
        ([lines([0, 10], [100, 200])], [-0.6, 10.6], [94, 206]),  # 6 % of the range on each side
        ([points(3, -3)], [2.5, 3.5], [-3.5, -2.5]),
        ([arrows(1, 2, 4, -2)], [0.76, 5.24], [-0.12, 2.12]),
        ([bars([1, 2, 3], [1, 4])], [1, 3], [0, 4.24]),
        ([bars([0, 2], [4]), lines([0, 2], [1, 2])], [-0.12, 2.12], [-0.24, 4.24]),
        ([lines([0, 2], [0, 2], panel=1)], [0, 1], [0, 1]),
    ],
)
def test_limits_leave_room_around_data(marks, xlim, ylim):
    placed, _ = place(marks, Panel(), Panel())
    np.testing.assert_allclose([placed["xlim"], placed["ylim"]], [xlim, ylim], rtol=1e-12)


def test_limits_are_those_of_all_frames_or_as_given():
    (panel,) = simple(lambda n: [points([n], [n**2])])._spec["panels"]
    assert panel["xlim"][0] < 1 and panel["xlim"][1] > 3 and panel["ylim"][0] < 1 and panel["ylim"][1] > 9
    (panel,) = place([DOT], Panel(xlim=[2, 5], ylim=np.array([-1, 7])))
    assert (panel["xlim"], panel["ylim"]) == ([2, 5], [-1, 7])
    (panel,) = place([text(9, 9, "a")], Panel(bare=True, xlim=(0, 4), ylim=(0, 2)))
    assert (panel["xlim"], panel["ylim"]) == ([0, 4], [0, 2])
    (panel,) = place([lines([0.5, 100], [10, 1000])], Panel(xscale="log", yscale="log"))
    np.testing.assert_allclose([panel["xlim"], panel["ylim"]], [[0.5 / 1.3, 130], [10 / 1.3, 1300]])
    assert [panel["zero"] for panel in place([DOT], Panel(), Panel(zero=True))] == [False, True]


@pytest.mark.parametrize(("xlim", "ylim"), [((2, 12), (2, 4)), ((2, 3), (1, 5))])
def test_equal_axes_widen_about_their_middle_at_every_width(xlim, ylim):
    explorer = simple(panels=Panel(equal=True, xlim=xlim, ylim=ylim))
    for _, _, (panel,) in all_layouts(explorer.stage.spec):
        x_unit, y_unit = (panel["box"][2 + k] / np.ptp(panel[axis]) for k, axis in enumerate(("xlim", "ylim")))
        assert x_unit == pytest.approx(y_unit)
        assert np.ptp(panel["xlim"]) >= np.ptp(xlim) - 1e-9 and np.ptp(panel["ylim"]) >= np.ptp(ylim) - 1e-9
        np.testing.assert_allclose([np.mean(panel["xlim"]), np.mean(panel["ylim"])], [np.mean(xlim), np.mean(ylim)])
        assert list(xlim) == pytest.approx(panel["xlim"]) or list(ylim) == pytest.approx(panel["ylim"])


def test_ticks_are_the_same_on_any_processor(monkeypatch):
    assert len(layout._ticks((0, 7), "linear", 50, "x", False)) == 2, "however narrow"
    monkeypatch.setattr(LogLocator, "tick_values", lambda *_: [9.999999999999999e-06, 1000.0000000000001])
    assert layout._ticks((1e-6, 1e4), "log", 330, "x", False) == [(1e-5, "1e−5"), (1000, "1000")]


@pytest.mark.parametrize(
    ("edges", "more", "whole"),
    [
        ([0, 1, 2, 3], {}, True),
        ([0.5, 1.5, 2.5, 3.5], {}, True),
        ([0.5, 2.5, 4.5, 6.5], {}, False),  # the middles are 1.5, 3.5, ...
        ([0, 2], {}, False),  # two numbers make no counting axis
        ([0, 2], {"whole": True}, True),
    ],
)
def test_a_counting_axis_has_whole_ticks(edges, more, whole):
    (panel,) = place([bars(edges, [0.5] * (len(edges) - 1))], Panel(xlim=(0, 4), **more), height=200)
    assert all(value % 1 == 0 for value, _ in panel["xticks"]) == whole


# ----------------------------------------------------------------------------------------------------- pictures


def test_the_mime_bundle_holds_widget_picture_and_caption():
    first, second = (simple(start={"n": n}) for n in (1, 3))
    data, metadata = first._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == "n is 1" and metadata["image/png"] == {"alt": "n is 1", "width": 680}
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).size == (1020, 450)
    assert first._png != second._png
    assert [simple(height=height).stage.spec["height"] for height in (60, 300.5, 2000)] == [60, 300.5, 2000]


def test_y_grows_upward_except_in_bare_panels_and_logs_are_taken():
    panel = {"box": [10, 20, 100, 200], "xlim": (1e-4, 1), "ylim": (0, 2), "xscale": "log", "yscale": "linear"}
    assert to_pixels(panel | {"bare": False}, 1e-2, 0.5) == pytest.approx((60, 170))
    assert to_pixels(panel | {"bare": True}, 1e-2, 0.5) == pytest.approx((60, 70))


# A half is rounded away from zero, of the float32 that the browser gets; 0.15 is a little more than a half there.
@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [(-1.25, 1, "−1.3"), (0.15, 1, "0.2"), (-0.004, 2, "0.00"), (2.5, 0, "3"), (1e-7, 9, "0.000000100")],
)
def test_cells_round_as_the_browser_does(value, digits, words):
    assert picture._cell(value, {"names": None, "digits": digits, "limit": 1})[2] == words
    assert picture._cell(7, {"names": None, "digits": None, "limit": 3})[1] == picture.STRONGEST, "and end at the limit"


def test_the_still_picture_has_its_own_labels():
    # Two dots, 61 pixels apart in the still picture, with labels of 75 pixels.
    marks = [points(0, 5, label="m" * 8), points(1, 5, label="m"), points(0, 0)]
    explorer = simple(lambda n: marks, panels=Panel(xlim=(0, 10), ylim=(0, 10)))
    still = [mark["label_at"] for mark in explorer.marks_at()]
    assert still[0][1] < 0 < still[1][1] and still[2] is None


def test_labels_are_placed_everywhere_and_sent_once():
    explorer = simple(lambda n: [lines([0, 1], [0, n], label="a"), lines([0, 1], [0, 2], label="b")])
    names = [array["name"] for array in explorer.stage.spec["marks"][1]["arrays"]]
    assert names == ["x", "y", "label_0", "label_1", "label_2", "label_3"]
    _, other = decode_frames(explorer.stage.spec, explorer.stage.data)
    assert other["label_0"][1][1] != other["label_0"][0][1] == other["label_0"][2][1] == 0
