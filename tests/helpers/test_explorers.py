"""The Explorer itself; those of the lessons are tried in test_pictures.py."""

import base64
import io
import itertools
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
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
from helpers.widgets.explorer.explorer import Stage
from helpers.widgets.explorer.layout import OUTER, _least_width, _rows, _ticks, all_layouts, to_pixels
from helpers.widgets.explorer.marks import KINDS, Mark
from helpers.widgets.explorer.picture import draw_png
from tests.shared import decode_frames, for_each

EVERY_MARK = [
    lines([0, 1], [0, 1], label="line"),
    points([0.5], [0.5], color="orange", label="dot"),
    bars([0, 0.5, 1], [1, 2], color="teal"),
    arrows([0], [0], [1], [0.5], color="grey"),
    text(0.2, 0.3, "words", color="red"),
    cells([[0, 1], [1, 0]], names=("", "a"), panel=1),
    cells([[-1.0, 0.5]], limit=1, digits=1, at=(0, 3), panel=1),
]
BARE = Panel(bare=True)
TWO_PANELS = [Panel(xlabel="x", ylabel="y"), Panel(bare=True, title="cells")]


def simple(compute=None, caption=None, sliders=None, **more):
    compute = compute or (lambda n: [points([n], [n**2])])
    sliders = {"n": [1, 2, 3]} if sliders is None else sliders
    return Explorer(sliders, compute, caption or (lambda n: f"n is {n}"), **more)


def place(marks, *panels, height=300):
    """The panels of an explorer that draws these marks, as they are laid out."""
    explorer = simple(lambda n: marks, panels=list(panels), height=height)
    return explorer.stage.spec["panels"]


# ---------------------------------------------------------------------------------------------- what it computes


def test_compute_is_called_once_for_every_slider_position():
    calls = []

    def compute(a, b):
        calls.append((a, b))
        return [points([a], [b == "x"])]

    simple(compute, lambda a, b: "caption", {"a": [1, 2, 3], "b": ["x", "y"]})
    assert calls == [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x"), (3, "y")]


def test_sent_bytes_hold_the_marks_of_all_positions():
    explorer = simple(lambda n: [lines([0, n], [n / 7, 1e5]), text(0, 0, f"n{n}")], sliders={"n": range(300)})
    line, words = decode_frames(explorer.stage.spec, explorer.stage.data)
    for index, position in enumerate(explorer.positions()):
        marks = explorer.marks_at(**position)
        np.testing.assert_allclose(line["y"][index], marks[0]["data"]["y"], rtol=1e-6)
        assert explorer.stage.spec["marks"][1]["strings"][int(words["string"][index, 0])] == marks[1]["string"]


def test_repeated_rows_travel_once_in_one_byte_codes():
    explorer = simple(lambda n: [cells(np.eye(3) * (n % 2), names=("", "a"))], sliders={"n": range(200)}, panels=BARE)
    values = explorer.stage.data[4]  # x, y, values: rows and row numbers each
    assert len(values) == 2 * 9


@for_each(
    ("values", "dtype"),
    [
        ([0, 255], "|u1"),
        ([0, 256], "<f4"),
        ([-1, 255], "<f4"),
        ([-2, -1], "<f4"),
        ([0, 0.5], "<f4"),
    ],
)
def test_only_whole_bytes_are_sent_as_bytes(values, dtype):
    explorer = simple(lambda n: [points(values, [0, 1])])
    x, _ = explorer.stage.spec["marks"][0]["arrays"]
    assert x["dtype"] == dtype
    np.testing.assert_array_equal(decode_frames(explorer.stage.spec, explorer.stage.data)[0]["x"], [values] * 3)


@pytest.mark.parametrize(("positions", "dtype"), [(256, "|u1"), (257, "<u2")])
def test_row_numbers_take_two_bytes_beyond_256(positions, dtype):
    explorer = simple(sliders={"n": range(positions)})
    x, _ = explorer.stage.spec["marks"][0]["arrays"]
    assert x["row_dtype"] == dtype
    sent = decode_frames(explorer.stage.spec, explorer.stage.data)[0]["x"]
    np.testing.assert_array_equal(sent[:, 0], range(positions))


def test_looked_up_values_are_synchronized_from_the_start():
    state = Stage().get_state()
    assert {"spec", "data", "captions", "caption_of"} <= set(state)
    assert [state[f"at_{k}"] for k in range(4)] == [0, 0, 0, 0]


def test_the_browser_gets_controls_and_all_captions():
    stage = Explorer(
        {"batch_size": [1, 2], "kind": ["a", "b"], "on": [False, True]},
        lambda batch_size, kind, on: [points(batch_size, 1)],
        lambda batch_size, kind, on: f"{batch_size} {kind}",
    ).stage
    assert stage.spec["names"] == ["batch size", "kind", "on"]
    assert stage.spec["options"] == [["1", "2"], ["a", "b"], ["no", "yes"]]
    assert stage.spec["kinds"] == ["slider", "menu", "checkbox"]
    assert [mark["kind"] for mark in stage.spec["marks"]] == ["points"]
    assert stage.captions == ["1 a", "1 b", "2 a", "2 b"]
    assert np.frombuffer(stage.caption_of, "<u2").tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    for other in stage.spec["others"]:
        assert set(other) == {"width", "height", "panels"}
        assert all(set(panel) == set(OUTER) for panel in other["panels"])


def test_start_names_the_first_view():
    explorer = simple(
        lambda n, m: [points([n], [m])], lambda n, m: f"{n} {m}", {"n": [1, 2], "m": [5, 6]}, start={"m": 6}
    )
    assert explorer.start == {"n": 1, "m": 6}
    assert explorer.caption_at() == "1 6"
    assert explorer.caption_at(n=2) == "2 6"
    assert (explorer.stage.at_0, explorer.stage.at_1) == (0, 1)


def test_a_float_is_found_with_fewer_digits():
    explorer = simple(lambda eps: [points([eps], [1])], lambda eps: f"{eps:.0e}", {"eps": np.logspace(-12, 2, 57)})
    assert explorer.caption_at(eps=1e-5) == "1e-05"
    assert explorer.caption_at(eps=1.7782794e-5) == "2e-05"  # 10 ** -4.75 is 1.77827941...e-05
    for eps in (1.77828e-5 * (1 + 1.5e-6), 1e-3 * (1 + 1.5e-6), 2e-12):
        with pytest.raises(ValueError, match="is not one of the slider's values"):
            explorer.caption_at(eps=eps)


def test_each_kind_of_values_gets_its_control():
    names = {"number": [1, 2], "word": ["a", "b"], "switch": [False, True], "named": {"one": 1, "two": 2}}
    explorer = Explorer(names, lambda **k: [points([0], [k["number"]])], lambda **k: "c")
    kinds = [type(control).__name__ for control in explorer.children[0].children]
    assert kinds == ["SelectionSlider", "Dropdown", "Checkbox", "SelectionSlider"]
    assert [control.description for control in explorer.children[0].children] == list(names)


@for_each(
    ("values", "control"),
    [
        ([False, True], "Checkbox"),
        ([True, False], "SelectionSlider"),
        ([0, 1], "SelectionSlider"),
        ([False, 5], "SelectionSlider"),
        ([5, True], "SelectionSlider"),
        ({"no": False, "yes": True, "both": 2}, "SelectionSlider"),
        (["one", 2], "SelectionSlider"),
        (["one", "two"], "Dropdown"),
    ],
)
def test_no_and_yes_check_words_choose(values, control):
    explorer = simple(lambda n: [points([1], [1])], sliders={"n": values})
    (made,) = explorer.children[0].children
    assert type(made).__name__ == control


def test_a_checkbox_shows_its_start_and_stays_small():
    explorer = simple(sliders={"n": [False, True]}, start={"n": True})
    (made,) = explorer.children[0].children
    assert made.value is True and made.indent is False and made.style.description_width == "initial"


def test_class_names_match_the_style_sheet():
    explorer = simple()
    assert explorer._dom_classes == ("explorer",)
    assert explorer.children[0]._dom_classes == ("explorer-controls",)


def test_controls_show_starts_and_fit_long_names():
    explorer = simple(
        lambda batch_size, kind: [points(0, 0)],
        lambda batch_size, kind: "c",
        {"batch_size": [1, 2, 3], "kind": ["a", "b"]},
        start={"batch_size": 3, "kind": "b"},
    )
    assert [made.index for made in explorer.children[0].children] == [2, 1]
    assert [made.description for made in explorer.children[0].children] == ["batch size", "kind"]
    assert [made.style.description_width for made in explorer.children[0].children] == ["11ch", "11ch"]


def test_array_entries_reach_compute_as_python_numbers():
    seen = []
    simple(lambda n: points(seen.append(n) or 0, 0), sliders={"n": np.arange(2)})
    assert seen == [0, 1] and {type(n) for n in seen} == {int}


def test_compute_may_return_one_or_several_marks():
    one, two = points(0, 0), points(1, 1)
    assert [len(simple(lambda n, made=made: made).marks) for made in (one, (one, two), [one, two])] == [1, 2, 2]


def test_a_position_that_names_no_slider_is_refused():
    explorer = simple()
    for ask in (explorer.caption_at, explorer.marks_at):
        with pytest.raises(ValueError, match=r"^Explorer: the position names 'N', expected one of \['n'\]$"):
            ask(n=1, N=2)


def test_a_value_off_its_slider_is_named():
    explorer = simple()
    with pytest.raises(ValueError, match=r"^Explorer: 7 is not one of the slider's values \['1', '2', '3'\]$"):
        explorer.caption_at(n=7)
    with pytest.raises(ValueError, match=r"^Explorer: '.*array.*shape \(2,\).*' is not one of the slider's values"):
        explorer.caption_at(n=np.zeros(2))


# --------------------------------------------------------------------------------------------------- bad input


@for_each(
    ("arguments", "message"),
    [
        ({"compute": lambda n: [points([1 / (n - 2)], [1])]}, r"compute failed at n = 2: ZeroDivisionError"),
        ({"compute": lambda n: [points([np.nan if n == 3 else 1], [1])]}, r"mark 0 \(points\) at n = 3 has .* NaN"),
        ({"compute": lambda n: [points([1], [np.inf])]}, "an empty, NaN or infinite y"),
        ({"compute": lambda n: [points([1], [1])] * n}, "2 marks at n = 2, expected 1"),
        ({"compute": lambda n: [points([1] * n, [1] * n)]}, r"x of shape \(2,\), expected \(1,\)"),
        ({"compute": lambda n: [points([1], [1], color="blue" if n < 2 else "red")]}, "differs in kind or style"),
        ({"compute": lambda n: [points([1], [1], panel=1)]}, "panel 1, but there are 1"),
        ({"compute": lambda n: None}, "returned NoneType at n = 1, expected a list of marks"),
        ({"compute": lambda n: []}, "expected a list of marks"),
        ({"compute": lambda n: [n]}, "expected a list of marks"),
        ({"compute": lambda n: [points([1], [1]), n]}, "expected a list of marks"),
        ({"compute": lambda n: [points([0, -1e300], [0, 0])]}, r"has x beyond 1e[+]38"),
        ({"caption": lambda n: ""}, "caption returned '' at n = 1"),
        ({"caption": lambda n: None}, "caption returned None"),
        ({"caption": lambda n: f"{1 / (n - 1)}"}, "caption failed at n = 1: ZeroDivisionError"),
        ({"compute": lambda n: [cells([[n]], limit=9)]}, r"cells need a panel without axes, write Panel\(bare=True\)"),
        ({"sliders": {}}, "^Explorer: expected a dict of 1 to 4 sliders, {name: values}$"),
        ({"sliders": {"n": [1]}}, "'n' needs at least two values"),
        ({"sliders": {"n": [1, 1]}}, "different labels"),
        ({"sliders": {"n": [1, 2, 1]}}, "different labels"),
        ({"sliders": {"n": {1: "a", "1": "b", 2: "c"}}}, "different labels"),
        ({"sliders": [1, 2]}, "expected a dict"),
        (
            {"sliders": {"n": [1, None]}},
            "'n' has None as a value, expected numbers or words; other values need names, {label: value}$",
        ),
        ({"sliders": {"n": range(6000)}}, "6,000 slider positions, expected at most 5,000"),
        ({"start": {"m": 1}}, "start names 'm', expected one of"),
        ({"start": {"n": 7}}, "7 is not one of the slider's values"),
        ({"panels": [Panel(), "a"]}, "expected a Panel or a list of them"),
        ({"height": 59}, "height is 59, expected 60 to 2000 pixels"),
        ({"height": 2001}, "height is 2001, expected 60 to 2000 pixels"),
        (
            {"compute": lambda n: [cells([[n]], limit=9), bars([0, 1], [n])], "panels": Panel(bare=True)},
            "panel 0 is bare, expected cells",
        ),
        ({"panels": Panel(title="t", xlabel="x"), "height": 80}, "no room for panel 0, expected more height or width"),
        ({"compute": lambda n: [lines([0, 1], [0, 1], label="w" * 90)]}, "no room for panel 0"),
        (
            {"compute": lambda n: [cells([[1]], limit=1)] * 2, "panels": [BARE, Panel(bare=True, width=1000)]},
            "no room for panel 0",
        ),
        (
            {"compute": lambda n: [points([n - 1], [1])], "panels": Panel(xscale="log")},
            "log x axis, but the data reach",
        ),
    ],
)
def test_bad_input_is_named_when_the_cell_runs(arguments, message):
    with pytest.raises(ValueError, match=message):
        simple(**arguments)


@pytest.mark.parametrize("height", [60, 300.5, 2000])
def test_pictures_are_60_to_2000_pixels_high(height):
    assert simple(height=height).stage.spec["height"] == height


def test_a_picture_is_300_pixels_high_by_default():
    assert simple().stage.spec["height"] == 300


def test_the_largest_drawable_number_is_drawn():
    assert simple(lambda n: [points([1e38, -1e38], [0, n])]).marks_at()[0]["data"]["x"].tolist() == [1e38, -1e38]


@pytest.mark.parametrize(
    ("limit", "needed", "message"),
    [
        ("MAX_POSITIONS", 6, "6 slider positions, expected at most 5"),
        ("MAX_NUMBERS", 12, "over 11 numbers at a = 2, b = 3"),
        ("MAX_BYTES", 20, "frames of 20 bytes, expected at most 19"),  # 2 x 6 row numbers, 2 + 6 codes of a byte
    ],
)
def test_an_explorer_takes_just_what_is_allowed(monkeypatch, limit, needed, message):
    def build():
        return Explorer({"a": [1, 2], "b": (1, 2, 3)}, lambda a, b: [points([a], [10 * a + b])], lambda a, b: "c")

    monkeypatch.setattr(machinery, limit, needed)
    build()
    monkeypatch.setattr(machinery, limit, needed - 1)
    with pytest.raises(ValueError, match=message):
        build()


def test_a_slider_may_use_all_positions(monkeypatch):
    monkeypatch.setattr(machinery, "MAX_POSITIONS", 3)
    for values in ([1, 2, 3], {"a": 1, "b": 2, "c": 3}):
        assert len(list(simple(sliders={"n": values}).positions())) == 3
    assert len(list(simple(sliders={"n": (n for n in range(3))}).positions())) == 3
    for values in ([1, 2, 3, 4], {"a": 1, "b": 2, "c": 3, "d": 4}, (n for n in range(9))):
        with pytest.raises(ValueError, match="4 slider positions, expected at most 3"):
            simple(sliders={"n": values})


def test_frames_too_large_to_store_are_refused():
    with pytest.raises(ValueError, match="expected at most 200,000; use fewer values"):
        simple(lambda n: [lines(np.arange(600) + n / 3, np.arange(600) * n / 3)], sliders={"n": range(100)})


@for_each(
    ("make", "message"),
    [
        (lambda: lines([1, 2], [1]), "vectors of one length"),
        (lambda: lines([[1, 2]], [[1, 2]]), "vectors of one length"),
        (lambda: bars([0, 1], [1, 2]), "one more edge than bars"),
        (lambda: cells([1, 2], limit=1), "2-D array of values"),
        (lambda: cells([[1]], limit=1, outline=[[1, 2]]), "outline has shape"),
        (lambda: cells([[1]]), r"^cells: give either limit= \(numbers\) or names= \(codes\)$"),
        (lambda: cells([[1]], limit=1, names=("", "a")), "either limit= .* or names="),
        (lambda: cells([1, 2, 3], at=([0, 1, 2], 0), limit=1), r"y has shape \(\), expected \(3,\)"),
        (lambda: cells([1, 2, 3], at=(0, [0, 1, 2]), limit=1), "2-D array of values"),
        (lambda: cells([[0]], names=("a",)), "got 1 names, expected 2 to 5"),
        (lambda: cells([[0]], names="abcdef"), "got 6 names, expected 2 to 5"),
        (lambda: cells([[0, 7, 9]], names=("", "a")), "a value is 7, expected codes 0 to 1"),
        (lambda: cells([[1]], limit=np.inf), "^cells: limit is inf, expected a number above 0"),
        (lambda: cells([[1]], limit=1, digits=10), "digits is 10, expected None or 0 to 9"),
        (lambda: cells([[1]], limit=1, digits=2.5), "digits is 2.5, expected None or 0 to 9"),
        (lambda: cells([[1]], limit=1, digits=True), "digits is True, expected None or 0 to 9"),
        (lambda: points([1], [1], size=0), "^points: size is 0, expected a number of pixels above 0"),
        (lambda: points([1], [1], size=np.inf), "size is inf, expected a number of pixels above 0"),
        (lambda: points([1], [1], size=True), "size is True, expected a number of pixels above 0"),
        (lambda: bars([[0, 1]], [1]), "one more edge than bars"),
        (lambda: bars([0, 1], [[1]]), "one more edge than bars"),
        (lambda: bars([[0], [1]], [1]), "one more edge than bars"),
        (lambda: Panel(width=0), "width is 0, expected a number above 0"),
        (lambda: Panel(width=np.inf), "width is inf, expected a number above 0"),
        (lambda: Panel(xlim=(0, 1), xscale="log"), r"xlim is \(0, 1\), expected .* for a log scale above 0"),
        (
            lambda: Panel(ylim=(-1, 0), bare=True),
            r"^Panel: ylim is \(-1, 0\), expected \(0, number of cells\) in a bare",
        ),
        (lambda: Panel(xlim=(1, 3), bare=True), r"^Panel: xlim is \(1, 3\), expected \(0, number of cells\) in a bare"),
        (lambda: text(0, 0, "a", align="left"), "align is 'left'"),
        (lambda: Panel(xscale="cube"), 'expected "linear" or "log"'),
        (lambda: Mark("rings", {}, {}), "kind is 'rings', expected one of .*'lines', 'points'"),
    ],
)
def test_a_mark_that_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -------------------------------------------------------------------------------------------------------- marks


# One row for every kind of mark: how it looks where nothing else is asked for, and the x and the y that it reaches.
# A mark is made in its test, not while this file is read, so that `make mutants` knows which tests reach it.
EVERY_KIND = {
    "lines": (lambda: lines([1, 2], [3, 4]), {"color": "blue", "label": "", "dashed": False}, (1, 2), (3, 4)),
    "points": (
        lambda: points([1, 2], [3, 4]),
        {"color": "blue", "label": "", "size": 9, "hollow": False},
        (1, 2),
        (3, 4),
    ),
    "bars": (lambda: bars([1, 2, 5], [3, 4]), {"color": "blue"}, (1, 5), (0, 4)),
    "arrows": (lambda: arrows(1, 2, 4, -5), {"color": "blue", "label": ""}, (1, 5), (-3, 2)),
    "text": (lambda: text(1, 2, "a"), {"color": "grey", "align": "start", "bold": False}, (1, 1), (2, 2)),
    "cells": (lambda: cells([[0, 0]], limit=1), {"limit": 1, "digits": None, "names": None}, (0, 2), (0, 1)),
    "handle": (
        lambda: handle(1, 2, moves="n"),
        {"color": "blue", "label": "", "size": 16, "moves": ["n"]},
        (1, 1),
        (2, 2),
    ),
    "lines3": (
        lambda: lines3([1, 2], [3, 4], [5, 6]),
        {"color": "blue", "label": "", "dashed": False, "arrow": False},
        (1, 2),
        (3, 4),
    ),
    "points3": (lambda: points3(1, 3, 5), {"color": "blue", "label": "", "size": 7, "hollow": False}, (1, 1), (3, 3)),
    "surface3": (
        lambda: surface3(*np.meshgrid([1.0, 2], [3.0, 4]), np.zeros((2, 2))),
        {"color": "grey", "columns": 2},
        (1, 2),
        (3, 4),
    ),
}


def test_both_renderers_draw_every_kind_of_mark():
    folder = Path(picture.__file__).parent
    flat, space = ((folder / name).read_text(encoding="utf-8") for name in ("marks.js", "space.js"))
    assert set(EVERY_KIND) == set(KINDS) == set(picture._DRAW)
    for kind, what in KINDS.items():
        drawn = f"\n  {kind}(mark, points" in space if what.space else f"\n  {kind}(mark, position" in flat
        assert drawn or kind == "handle", kind


@for_each("kind", EVERY_KIND)
def test_a_mark_is_plain_by_default(kind):
    make, style, _, _ = EVERY_KIND[kind]
    mark = make()
    assert mark.kind == kind and mark.style == style | {"panel": 0}


@for_each("kind", EVERY_KIND)
def test_a_mark_says_how_far_it_reaches(kind):
    make, _, *reached = EVERY_KIND[kind]
    mark = make()
    for axis, expected in zip("xy", reached, strict=True):
        found = [array for array in KINDS[kind].extents(mark.arrays, axis)]
        assert (min(a.min() for a in found), max(a.max() for a in found)) == expected


@for_each(
    ("make", "begins"),
    [
        (lambda: lines("a", 1), "lines: x is "),
        (lambda: lines(1, "a"), "lines: y is "),
        (lambda: points("a", 1), "points: x is "),
        (lambda: points(1, "a"), "points: y is "),
        (lambda: bars("a", 1), "bars: edges is "),
        (lambda: bars([0, 1], "a"), "bars: height is "),
        (lambda: arrows(1, 1, "a", 1), "arrows: dx is "),
        (lambda: arrows(1, 1, 1, "a"), "arrows: dy is "),
        (lambda: text("a", 1, "words"), "text: x is "),
        (lambda: cells("a", limit=1), "cells: values is "),
        (lambda: cells([1], at=(["a"], [1]), limit=1), "cells: x is "),
        (lambda: cells([1], at=([1], ["a"]), limit=1), "cells: y is "),
        (lambda: cells([[1]], limit=1, outline="a"), "cells: outline is "),
        (lambda: handle("a", 1, moves="n"), "handle: x is "),
        (lambda: points3("a", 1, 1), "points3: x is "),
        (lambda: lines3(1, 1, "a"), "lines3: z is "),
        (lambda: surface3("a", 1, 1), "surface3: x is "),
    ],
)
def test_the_message_names_mark_and_array(make, begins):
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value).startswith(begins) and str(error.value).endswith(", expected real numbers")


@for_each(
    ("kind", "make"),
    [
        ("lines", lambda **color: lines(1, 1, **color)),
        ("points", lambda **color: points(1, 1, **color)),
        ("bars", lambda **color: bars([0, 1], 1, **color)),
        ("arrows", lambda **color: arrows(1, 1, 1, 1, **color)),
        ("text", lambda **color: text(1, 1, "words", **color)),
        ("handle", lambda **color: handle(1, 1, moves="n", **color)),
        ("points3", lambda **color: points3(1, 1, 1, **color)),
        ("lines3", lambda **color: lines3([0, 1], [0, 1], [0, 1], **color)),
        ("surface3", lambda **color: surface3(*[np.eye(2)] * 3, **color)),
    ],
)
def test_marks_take_colors_of_the_palette_only(kind, make):
    for color in PALETTE:
        assert make(color=color).style["color"] == color
    with pytest.raises(ValueError, match=f"^{kind}: color 'pink' is not in the palette "):
        make(color="pink")


def test_numbers_of_any_type_are_drawn():
    mark = points(np.array([Fraction(1, 2), 3], dtype=object), [True, 2.5])
    assert mark.arrays["x"].tolist() == [0.5, 3] and mark.arrays["y"].tolist() == [1, 2.5]


def test_a_mark_looks_as_it_is_asked_to():
    assert lines(0, 0, dashed=True).style["dashed"] is True
    assert points(0, 0, hollow=True).style["hollow"] is True
    assert lines3([0, 1], [0, 1], [0, 1], arrow=True).style["arrow"] is True
    assert text(0, 0, "a", bold=True).style["bold"] is True
    assert [text(0, 0, "a", align=side).style["align"] for side in ("start", "middle", "end")] == [
        "start",
        "middle",
        "end",
    ]


def test_cells_stand_in_rows_from_the_upper_left():
    corner, moved = cells([[1, 2, 3], [4, 5, 6]], limit=6), cells([[1, 2, 3], [4, 5, 6]], limit=6, at=(10, 20))
    assert corner.arrays["x"].tolist() == [0, 1, 2, 0, 1, 2]
    assert corner.arrays["y"].tolist() == [0, 0, 0, 1, 1, 1]
    assert moved.arrays["x"].tolist() == [10, 11, 12, 10, 11, 12]
    assert moved.arrays["y"].tolist() == [20, 20, 20, 21, 21, 21]
    assert corner.arrays["outline"].tolist() == [0, 0, 0, 0, 0, 0]


def test_cells_may_have_own_places_and_a_frame():
    mark = cells([7, 8], limit=9, at=([5, 0], [1, 3]), outline=[0, 1])
    placed = {name: array.tolist() for name, array in mark.arrays.items()}
    assert placed == {"x": [5, 0], "y": [1, 3], "values": [7, 8], "outline": [0, 1]}


def test_marks_and_panels_have_least_and_most():
    assert cells([[0, 1]], names="ab").style["names"] == ["a", "b"]
    assert len(cells([[0, 4]], names="abcde").style["names"]) == 5
    assert [cells([[1]], limit=0.5, digits=digits).style["digits"] for digits in (0, np.int64(9))] == [0, 9]
    assert points(0, 0, size=0.5).style["size"] == 0.5
    assert Panel(width=0.5).width == 0.5
    assert [Panel3D(view=(0, elevation)).view[1] for elevation in (-90, 90)] == [-90, 90]
    assert Panel(xlim=(0.5, 1), xscale="log").xlim == (0.5, 1)


def test_marks_and_panels_are_frozen_once_made():
    with pytest.raises(FrozenInstanceError):
        lines(0, 0).kind = "points"
    with pytest.raises(FrozenInstanceError):
        Panel().title = "another"


# ------------------------------------------------------------------------------------------------------- layout

DOT = points(0, 0)


@for_each(
    ("panel", "box"),
    [
        (Panel(), [52, 10, 614, 262]),  # 680 wide: 52 for the numbers of y, 14 at the right; 28 for those of x
        (Panel(xlabel="x"), [52, 10, 614, 240]),
        (Panel(ylabel="y"), [72, 10, 594, 262]),
        (Panel(ylabel=None, xlim=(0, 1)), [14, 10, 652, 262]),
        (Panel(ylabel=None), [17.03, 10, 648.98, 262]),  # the first label, −0.4, is 34.05 pixels wide
        (Panel(title="t"), [52, 30, 614, 242]),
    ],
)
def test_axes_leave_room_for_their_labels(panel, box):
    assert place([DOT], panel)[0]["box"] == box


def test_no_labels_or_ticks_need_no_room():
    assert place([bars([0, 1], 1)], Panel())[0]["box"] == [52, 10, 614, 262]
    no_power_of_ten = Panel(ylabel=None, xscale="log", xlim=(2, 5))
    panel = place([DOT], no_power_of_ten)[0]
    assert panel["xticks"] == panel["yticks"] == [] and panel["box"] == [14, 10, 652, 262]


def test_axes_make_room_for_protruding_parts():
    """Of the labels of ticks: a long one beside the words along y; the last one of a log axis."""
    wide = 3 * 8.9 + 8.9 + 11.8  # −1000
    (panel,) = place([DOT], Panel(ylabel="y", ylim=(-1000, 0)))
    assert panel["box"][0] == pytest.approx(22 + wide + 6)
    (panel,) = place([DOT], Panel(ylabel=None, xscale="log", xlim=(1, 1010)))
    end = 14 + 652 * np.log(1000) / np.log(1010) + 4 * 8.9 / 2
    first = 8.9 / 2  # the label of the lowest tick, 1, stands at the left end, where there is room for it
    assert end > 680 and first < 14
    assert panel["box"][2] == pytest.approx(652 - (end - 680), abs=0.01)


def test_ticks_follow_scale_and_length():
    (panel,) = place([DOT], Panel(xlim=(0, 14), ylim=(0, 6)))  # a tick needs 55 of 614 pixels on x, 40 of 262 on y
    assert [[value for value, _ in panel[axis]] for axis in ("xticks", "yticks")] == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [0, 1, 2, 3, 4, 5, 6],
    ]
    (panel,) = place([DOT], Panel(xlim=(1, 1000), ylim=(0.01, 10), xscale="log", yscale="log"))
    assert [[value for value, _ in panel[axis]] for axis in ("xticks", "yticks")] == [
        [1, 10, 100, 1000],
        [0.01, 0.1, 1, 10],
    ]


def tick_ends(panel):
    """(left, right) of every label of a tick, where letters are wide."""
    middles = [to_pixels(panel, value, panel["ylim"][0])[0] for value, _ in panel["xticks"]]
    widths = [8.9 * len(label) for _, label in panel["xticks"]]
    for middle, wide in zip(middles, widths, strict=True):
        yield middle - wide / 2, middle + wide / 2
    for _, label in panel["yticks"]:
        yield panel["box"][0] - 6 - 8.9 * len(label), panel["box"][0] - 6


@pytest.mark.parametrize("ylabel", ["words", "", None])
def test_tick_labels_stay_inside_at_every_width(ylabel):
    panels = [
        Panel(ylabel=ylabel, xscale="log", yscale="log", xlim=(1e-12, 1e-4), ylim=(1e-12, 1)),
        Panel(ylabel=ylabel, xlim=(-2000, 2000), ylim=(-4000, 4000)),
    ]
    explorer = simple(lambda n: [points(1e-6, 1e-6), points(0, 0, panel=1)], panels=panels)
    for width, _, placed in all_layouts(explorer.stage.spec):
        for panel in placed:
            left, right = panel["ends"]
            words = 22 if ylabel else 0  # the room of the words that stand along the axis
            assert 0 <= left and right <= width
            assert all(left + words - 1 <= start and end <= right + 1 for start, end in tick_ends(panel))


def test_a_zero_line_is_drawn_only_when_asked():
    assert [panel["zero"] for panel in place([DOT], Panel(), Panel(zero=True))] == [False, True]


def test_a_panel_leaves_room_for_its_longest_label():
    marks = [lines(0, 0, label="four"), points(0, 0, label="ab"), lines(0, 0, label="longer", panel=1)]
    first, second = place(marks, Panel(), Panel())
    assert first["box"] == [52, 10, 335 - 52 - 42.8, 262]  # 4 characters of 8.2 pixels and 10 more
    assert second["box"] == [345 + 52, 10, 335 - 52 - 59.2, 262]


def test_panels_share_the_width_with_gaps_between_them():
    bare = [{"ylabel": None, "xlim": (0, 1), "width": width} for width in (1, 2, 1)]
    boxes = [panel["box"] for panel in place([DOT], *(Panel(**more) for more in bare[:2]))]
    assert boxes == [[14, 10, 195.33, 262], [247.33, 10, 418.67, 262]]  # 670 / 3 = 223.33 for one share
    boxes = [panel["box"] for panel in place([DOT], *(Panel(**more) for more in bare))]
    assert boxes == [[14, 10, 137, 262], [189, 10, 302, 262], [529, 10, 137, 262]]  # 660 / 4 = 165


def test_axes_of_a_single_pixel_are_the_smallest():
    assert place([DOT], Panel(title="t", xlabel="x"), height=81)[0]["box"] == [52, 30, 614, 1]


@for_each(
    ("marks", "panel", "box", "columns", "rows"),
    [
        ([cells(np.zeros((3, 5)), limit=1)], Panel(bare=True), [4, 10, 190, 114], 5, 3),  # 38 pixels at most
        ([cells(np.zeros((1, 40)), limit=1)], Panel(bare=True), [4, 10, 672, 16.8], 40, 1),  # (680 - 8) / 40
        ([cells(np.zeros((10, 2)), limit=1)], Panel(bare=True), [4, 10, 56.8, 284], 2, 10),  # (300 - 10 - 6) / 10
        ([cells(np.zeros((10, 2)), limit=1)], Panel(bare=True, title="t"), [4, 30, 52.8, 264], 2, 10),
        ([cells([[0]], limit=1), text(4, 2, "a"), points(1, 3)], Panel(bare=True), [4, 10, 152, 114], 4, 3),
        ([text(0, 0, "words alone")], Panel(bare=True), [4, 10, 38, 38], 1, 1),
        ([cells([[0]], limit=1)], Panel(bare=True, xlim=(0, 20), ylim=(0, 5)), [4, 10, 672, 168], 20, 5),
        ([cells([[0], [0]], limit=1)], Panel(bare=True, xlim=(0, 4)), [4, 10, 152, 76], 4, 2),
        ([cells([[0, 0]], limit=1)], Panel(bare=True, ylim=(0, 3)), [4, 10, 76, 114], 2, 3),
    ],
)
def test_a_bare_panel_fits_its_cells(marks, panel, box, columns, rows):
    (placed,) = place(marks, panel)
    assert placed["box"] == box
    assert (placed["xlim"], placed["ylim"]) == ([0, columns], [0, rows])
    assert placed["xticks"] == placed["yticks"] == []


def test_a_bare_panel_counts_only_its_own_marks():
    marks = [points(50, 50), cells([[0, 0]], limit=1, panel=1)]
    assert place(marks, Panel(), Panel(bare=True))[1]["box"] == [345 + 4, 10, 76, 38]


@pytest.mark.parametrize(
    ("panels", "height"),
    [
        ([Panel(bare=True), Panel(bare=True)], 10 + 3 * 38 + 6),
        ([Panel(bare=True), Panel(bare=True, xlim=(0, 20))], 10 + 50 + 6),  # a cell is 327 / 20 = 16.35 pixels: 49.05
        ([Panel(), Panel(bare=True)], 300),
    ],
)
def test_cell_pictures_end_below_the_second_lowest(panels, height):
    first = cells([[0]], limit=1) if panels[0].bare else DOT
    marks = [first, cells([[0], [0], [0]], limit=1, panel=1)]
    assert simple(lambda n: marks, panels=panels).stage.spec["height"] == height


TWO = [0, 2]


@for_each(
    ("marks", "xlim", "ylim"),
    [
        ([lines([0, 10], [100, 200])], [-0.6, 10.6], [94, 206]),  # 6 % of the range on each side
        ([lines(TWO, TWO), points(10, 1), text(1, 10, "a")], [-0.6, 10.6], [-0.6, 10.6]),
        ([points(3, -3)], [2.5, 3.5], [-3.5, -2.5]),
        ([points(1e7, -1e7)], [9_999_990, 10_000_010], [-10_000_010, -9_999_990]),
        ([arrows(1, 2, 4, -2)], [0.76, 5.24], [-0.12, 2.12]),
        ([bars([1, 2, 3], [1, 4])], [1, 3], [0, 4.24]),
        ([bars([1, 2, 3], [-1, 4])], [1, 3], [-1.3, 4.3]),
        ([bars([1, 2, 3], [0, 0])], [1, 3], [0, 0.5]),
        ([bars(TWO, [4]), lines(TWO, [1, 2])], [-0.12, 2.12], [-0.24, 4.24]),
        ([bars(TWO, [4]), lines([-9, 9], [-9, 9], panel=1)], [0, 2], [0, 4.24]),
        ([lines(TWO, TWO, panel=1)], [0, 1], [0, 1]),
    ],
)
def test_limits_leave_room_around_data(marks, xlim, ylim):
    placed, _ = place(marks, Panel(), Panel())
    np.testing.assert_allclose([placed["xlim"], placed["ylim"]], [xlim, ylim], rtol=1e-12)


def test_log_limits_are_factors_away_from_the_data():
    (placed,) = place([lines([0.5, 100], [10, 1000])], Panel(xscale="log", yscale="log"))
    np.testing.assert_allclose([placed["xlim"], placed["ylim"]], [[0.5 / 1.3, 130], [10 / 1.3, 1300]])


@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_limits_that_are_given_are_taken(form):
    (placed,) = place([DOT], Panel(xlim=form([2, 5]), ylim=form([-1, 7])))
    assert (placed["xlim"], placed["ylim"]) == ([2, 5], [-1, 7])


@pytest.mark.parametrize(
    ("xlim", "ylim", "wide", "high"),
    [
        ((2, 12), (2, 4), [2, 12], [3 - 131 / 61.4, 3 + 131 / 61.4]),  # the box is 614 by 262: 61.4 pixels for one unit
        ((2, 3), (1, 5), [2.5 - 307 / 65.5, 2.5 + 307 / 65.5], [1, 5]),  # 65.5 pixels for one unit
    ],
)
def test_equal_axes_widen_about_their_middle(xlim, ylim, wide, high):
    (placed,) = place([DOT], Panel(equal=True, xlim=xlim, ylim=ylim))
    np.testing.assert_allclose([placed["xlim"], placed["ylim"]], [wide, high])


@for_each(
    ("limits", "pixels", "axis", "values"),
    [
        ((0, 0.3), 330, "x", [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),  # six steps of 55 pixels
        ((0, 0.3), 329, "x", [0, 0.1, 0.2, 0.3]),
        ((0, 0.3), 240, "y", [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),  # six steps of 40 pixels
        ((0, 0.3), 239, "y", [0, 0.1, 0.2, 0.3]),
        ((0, 7), 50, "x", [0, 5]),  # two steps, however narrow
        ((0, 1), 50, "x", [0, 0.5, 1]),
        ((0, 10), 275, "x", [0, 2, 4, 6, 8, 10]),
        ((0, 10), 220, "x", [0, 2.5, 5, 7.5, 10]),
        ((-0.3, -0.1), 110, "x", [-0.3, -0.2, -0.1]),
        ((0.01, 0.99), 110, "x", [0.25, 0.5, 0.75]),
    ],
)
def test_ticks_are_round_and_inside_the_limits(limits, pixels, axis, values):
    ticks = _ticks(limits, "linear", pixels, axis)
    np.testing.assert_allclose([value for value, _ in ticks], values, atol=1e-15)


def test_log_ticks_are_powers_of_ten():
    seven = "1 10 100 1000 1e4 1e5 1e6".split()
    assert [label for _, label in _ticks((0.9, 1.1e6), "log", 330, "x")] == seven  # six steps of 55 pixels
    assert [label for _, label in _ticks((0.9, 1.1e6), "log", 329, "x")] == seven[::2]
    assert [value for value, _ in _ticks((0.5, 200), "log", 330, "x")] == [1, 10, 100]


def test_a_tick_is_round_on_any_processor(monkeypatch):
    monkeypatch.setattr(layout, "log_ticks", lambda *_: [9.999999999999999e-06, 1000.0000000000001])
    assert [value for value, _ in _ticks((1e-6, 1e4), "log", 330, "x")] == [1e-5, 1000]


def test_ticks_of_tiny_ranges_have_different_labels():
    labels = [label for _, label in _ticks((0, 1e-12), "linear", 275, "x")]
    assert labels == ["0", "2e−13", "4e−13", "6e−13", "8e−13", "1e−12"]


def test_ticks_fit_the_panel_and_hidden_axes():
    shown, hidden = Panel(xlim=(0, 1), ylim=(0, 1)), Panel(xlim=(0, 1), ylim=(0, 1), ylabel=None)
    (placed,) = place([DOT], shown)  # 614 by 262 pixels: 11 and 6 steps at most
    assert len(placed["xticks"]) == 11 and [label for _, label in placed["yticks"]] == "0 0.2 0.4 0.6 0.8 1".split()
    (placed,) = place([DOT], hidden)
    assert len(placed["xticks"]) == 11 and placed["yticks"] == []


# ----------------------------------------------------------------------------------------------------- pictures


def test_the_mime_bundle_holds_widget_picture_and_caption():
    data, metadata = simple()._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == "n is 1"
    assert metadata["image/png"] == {"alt": "n is 1", "width": 680}
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).format == "PNG"


def test_every_mark_is_drawn_in_the_picture():
    """Leaving any one mark out changes the picture."""

    def picture(marks):
        explorer = Explorer({"n": [1, 2]}, lambda n: marks, lambda n: "c", panels=TWO_PANELS)
        explorer._spec["panels"] = spec["panels"]
        return explorer._png

    whole = Explorer({"n": [1, 2]}, lambda n: EVERY_MARK, lambda n: "c", panels=TWO_PANELS)
    spec = whole._spec
    for k in range(len(EVERY_MARK)):
        assert picture(EVERY_MARK[:k] + EVERY_MARK[k + 1 :]) != whole._png, EVERY_MARK[k].kind


def test_the_picture_shows_the_start_position():
    first, second = (simple(start={"n": n})._png for n in (1, 3))
    assert first != second


def test_y_grows_upward_except_in_bare_panels():
    panel = {"box": [10, 20, 100, 200], "xlim": (0, 1), "ylim": (0, 2), "xscale": "linear", "yscale": "linear"}
    assert to_pixels(panel | {"bare": False}, 0.5, 0.5) == (60, 170)
    assert to_pixels(panel | {"bare": True}, 0.5, 0.5) == (60, 70)


def test_a_log_axis_centers_the_geometric_mean():
    panel = {
        "box": [0, 0, 100, 100],
        "xlim": (1e-4, 1),
        "ylim": (0, 1),
        "xscale": "log",
        "yscale": "linear",
        "bare": False,
    }
    assert to_pixels(panel, 1e-2, 0)[0] == pytest.approx(50)


def test_equal_panels_share_one_unit_on_both_axes():
    explorer = simple(lambda n: [points([0, 10 * n], [0, 1])], panels=Panel(equal=True))
    (panel,) = explorer._spec["panels"]
    x_unit = panel["box"][2] / (panel["xlim"][1] - panel["xlim"][0])
    y_unit = panel["box"][3] / (panel["ylim"][1] - panel["ylim"][0])
    assert x_unit == pytest.approx(y_unit)


def drawn(*these, size=100, yscale="linear", ylim=(0, 10)):
    """The picture of marks on a square of size pixels without axes, 1.5 dots per pixel, as RGB."""
    panel = {"box": [0, 0, size, size], "xlim": (0, 10), "ylim": ylim, "xscale": "linear", "yscale": yscale}
    panel |= {"title": "", "bare": True}
    bare = any(KINDS[mark.kind].bare for mark in these)
    marks = simple(lambda n: list(these), panels=Panel(bare=bare)).marks_at()
    picture = Image.open(io.BytesIO(draw_png({"width": size, "height": size, "panels": [panel]}, marks)))
    assert picture.size == (1.5 * size, 1.5 * size)
    return np.asarray(picture.convert("RGB"), dtype=int)


CROSSING = [
    lines([0, 10], [5, 5]),
    points([5], [5], size=15, color="orange"),
    bars([3, 7], [8], color="teal"),
    arrows([5], [1], [0], [8], color="red"),
    text(5, 5, "■■■■", align="middle"),
]


@for_each(("first", "second"), list(itertools.combinations(CROSSING, 2)), ids=lambda mark: mark.kind)
def test_later_marks_lie_above_earlier_ones(first, second):
    assert not np.array_equal(drawn(first, second), drawn(second, first))


def test_a_picture_ignores_earlier_settings():
    """`new_figure` raises the size of words, which the heads of arrows follow; a learner may set anything."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        before = drawn(*CROSSING)
        matplotlib.rcParams.update({"font.size": 30, "lines.linewidth": 9, "savefig.bbox": "tight", "axes.grid": True})
        assert np.array_equal(drawn(*CROSSING), before)
        assert matplotlib.rcParams["font.size"] == 30, "and the picture leaves the settings as they were"


@pytest.mark.parametrize(("number_of_bars", "gap"), [(8, 4), (9, 1)])
def test_many_bars_stand_closer(number_of_bars, gap):
    inside = drawn(bars(np.linspace(0, 10, number_of_bars + 1), np.full(number_of_bars, 10)), size=800)[600]
    white = (inside == 255).all(axis=1).sum()
    assert abs(white - 1.5 * gap * number_of_bars) < number_of_bars


def test_bars_reach_the_end_of_a_log_axis():
    """In a panel without axes, where y grows downwards, that is the upper end."""
    rows = (drawn(bars([0, 10], [10]), yscale="log", ylim=(1, 100)) < 255).any(axis=2)[:, 75]
    assert rows[:74].all() and not rows[76:].any()


def test_an_arrow_reaches_from_foot_to_tip():
    colored = (drawn(arrows([2], [5], [6], [0]), size=400) < 200).any(axis=(0, 2)).nonzero()[0]
    assert abs(colored[0] - 1.5 * 78.7) <= 1 and abs(colored[-1] - 1.5 * 318) <= 1  # two pixels to the left of each


def test_a_cell_beyond_the_limit_is_fully_colored():
    at, beyond = (drawn(cells([[value, 0]], limit=3, digits=None)) for value in (3, 7))
    assert np.array_equal(at, beyond)


def test_large_cells_have_numbers_of_normal_size():
    """14 pixels, which those of five letters reach in a cell of 47."""
    words = (drawn(cells([[1.125]], limit=1, digits=3), size=10 * unit) for unit in (47, 80))
    just, larger = (np.ptp((picture.max(axis=2) < 120).any(axis=0).nonzero()[0]) for picture in words)
    assert just == larger > 40


def test_limits_are_those_of_all_frames():
    (panel,) = simple(lambda n: [points([n], [n**2])])._spec["panels"]
    assert panel["xlim"][0] < 1 and panel["xlim"][1] > 3
    assert panel["ylim"][0] < 1 and panel["ylim"][1] > 9


def test_bars_narrower_than_the_gap_have_width_0():
    marks = simple(lambda n: [bars(np.linspace(0, 1, 9), np.ones(8)), points(1e4, 1)]).marks_at()
    _, (boxes, _) = picture.draw_figure(simple(lambda n: [points([0, 1e4], [0, 1])])._spec, marks)
    assert {box.get_width() for box in boxes} == {0}


# A half is rounded away from zero, of the float32 that the browser gets; 0.15 is a little more than a half there.
@for_each(
    ("value", "digits", "words"),
    [(-1.25, 1, "−1.3"), (0.15, 1, "0.2"), (-0.004, 2, "0.00"), (2.5, 0, "3"), (1e-7, 9, "0.000000100")],
)
def test_cells_round_as_the_browser_does(value, digits, words):
    assert picture._cell(value, {"names": None, "digits": digits, "limit": 1})[2] == words


# ------------------------------------------------------------------------------------------------ other widths


def test_frames_place_labels_starting_with_the_still_picture():
    # Two dots, 61 pixels apart in the still picture and 86 in the wider one, with labels of 75 pixels.
    explorer = simple(
        lambda n: [points(0, 5, label="m" * 8), points(1, 5, label="m"), points(0, 0)],
        panels=Panel(xlim=(0, 10), ylim=(0, 10)),
    )
    still = [mark["label_at"] for mark in explorer.marks_at()]
    wide = [mark["label_at"] for mark in machinery._frame(explorer.marks, 0, layout=1)]
    assert wide == [[9.5, 0], [9.5, 0], None]
    assert still[0][1] < 0 < still[1][1] and still[2] is None


def test_labels_are_placed_everywhere_and_sent_once():
    explorer = simple(lambda n: [lines([0, 1], [0, n], label="a"), lines([0, 1], [0, 2], label="b")])
    mark = explorer.stage.spec["marks"][1]
    widths = [width for width, _, _ in all_layouts(explorer.stage.spec)]
    assert widths == [680, 935, 520, 400]
    names = [array["name"] for array in mark["arrays"]]
    assert names == ["x", "y", "label_0", "label_1", "label_2", "label_3"]
    _, other = decode_frames(explorer.stage.spec, explorer.stage.data)
    assert other["label_0"][1][1] != other["label_0"][0][1] == other["label_0"][2][1] == 0


def test_a_wider_or_narrower_page_changes_the_layout():
    explorer = simple(lambda n: [points([0, 1], [0, 1])], panels=Panel(xlabel="x", equal=True))
    for width, height, (panel,) in all_layouts(explorer.stage.spec):
        assert height == 300 and panel["box"][2] == width - 52 - 14
        units = [panel["box"][2 + k] / np.ptp(panel[f"{axis}lim"]) for k, axis in enumerate("xy")]
        assert units[0] == pytest.approx(units[1])
        assert len(panel["xticks"]) >= 3 and panel["xlabel"] == "x"


def test_squeezed_panels_stand_below_each_other():
    marks = [cells(np.zeros((2, 8)), limit=1, digits=1, panel=k) for k in range(3)]
    explorer = simple(lambda n: marks, panels=[BARE] * 3)
    rows = {
        width: [len({tuple(panel["box"][:1]) for panel in panels}), len({panel["box"][1] for panel in panels})]
        for width, _, panels in all_layouts(explorer.stage.spec)
    }
    assert rows == {680: [3, 1], 935: [3, 1], 520: [2, 2], 400: [1, 3]}
    heights = {width: height for width, height, _ in all_layouts(explorer.stage.spec)}
    assert heights[400] > heights[520] > heights[680]


def test_still_panels_always_stand_side_by_side():
    marks = [points(0, 0, panel=k) for k in range(4)]
    assert len({panel["box"][1] for panel in place(marks, *[Panel()] * 4)}) == 1


def test_wide_panels_stand_side_by_side():
    panels, marks = [Panel(), Panel()], []
    assert _rows(panels, marks, 2 * 214 + 10) == [[0, 1]]  # 200 and 14 at the right for each, 10 between them
    assert _rows(panels, marks, 2 * 214 + 9) == [[0], [1]]


@for_each(
    ("panel", "mark", "least"),
    [
        (Panel(), {"kind": "points", "style": {"panel": 0, "label": "x" * 10}}, 200 + 82 + 10),
        (Panel(), {"kind": "points", "style": {"panel": 1, "label": "x" * 10}}, 214),
        (Panel(title="t" * 30), {"kind": "points", "style": {"panel": 0}}, 30 * 8.2 + 80),
        (Panel(bare=True, xlim=(0, 3)), {"kind": "cells", "style": {"panel": 0, "digits": None}}, 3 * 16),
        (Panel(bare=True, xlim=(0, 3)), {"kind": "cells", "style": {"panel": 0, "digits": 0}}, 3 * 27),
    ],
)
def test_a_panel_needs_room_for_its_parts(panel, mark, least):
    assert _least_width(panel, [mark], 0) == pytest.approx(least)


def test_panel_ends_are_sent_in_hundredths_of_pixels():
    panels = place([points(0, 0), points(0, 0, panel=1)], Panel(), Panel(width=2))
    assert [panel["ends"] for panel in panels] == [[0, 223.33], [233.33, 680]]


def test_rows_of_axes_below_each_other_are_lower():
    explorer = simple(lambda n: [points(n, n), points(n, n, panel=1)], panels=[Panel(), Panel()], height=200)
    heights = {width: height for width, height, _ in all_layouts(explorer.stage.spec)}
    assert heights == {680: 200, 935: 200, 520: 200, 400: 300}


def test_a_width_without_label_room_is_left_out():
    explorer = simple(lambda n: [lines([0, 1], [0, 1], label="w" * 45)])
    assert [width for width, _, _ in all_layouts(explorer.stage.spec)] == [680, 935, 520]
