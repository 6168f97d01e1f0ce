"""The Explorer itself; those of the lessons are tried in test_pictures.py."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from lessons import decode_frames
from PIL import Image

from helpers import Explorer, Panel, arrows, bars, cells, lines, points, text
from helpers.explorer.explorer import Stage
from helpers.explorer.layout import number, spread_labels, to_pixels

EVERY_MARK = [
    lines([0, 1], [0, 1], label="line"),
    points([0.5], [0.5], color="orange", label="dot"),
    bars([0, 0.5, 1], [1, 2], color="teal"),
    arrows([0], [0], [1], [0.5], color="grey"),
    text(0.2, 0.3, "words", color="red"),
    cells([[0, 1], [1, 0]], names=("", "a"), panel=1),
    cells([[-1.0, 0.5]], limit=1, digits=1, at=(0, 3), panel=1),
]
TWO_PANELS = [Panel(xlabel="x", ylabel="y"), Panel(bare=True, title="cells")]


def simple(compute=None, caption=None, sliders=None, **more):
    compute = compute or (lambda n: [points([n], [n**2])])
    sliders = {"n": [1, 2, 3]} if sliders is None else sliders
    return Explorer(sliders, compute, caption or (lambda n: f"n is {n}"), **more)


# ---------------------------------------------------------------------------------------------- what it computes


def test_compute_is_called_once_for_every_slider_position():
    calls = []

    def compute(a, b):
        calls.append((a, b))
        return [points([a], [b == "x"])]

    simple(compute, lambda a, b: "caption", {"a": [1, 2, 3], "b": ["x", "y"]})
    assert calls == [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x"), (3, "y")]


def test_the_bytes_sent_hold_the_marks_of_every_position():
    explorer = simple(lambda n: [lines([0, n], [n / 7, 1e5]), text(0, 0, f"n{n}")], sliders={"n": range(300)})
    line, words = decode_frames(explorer.stage.spec, explorer.stage.data)
    for index, position in enumerate(explorer.positions()):
        marks = explorer.marks_at(**position)
        np.testing.assert_allclose(line["y"][index], marks[0]["data"]["y"], rtol=1e-6)
        assert explorer.stage.spec["marks"][1]["strings"][int(words["string"][index, 0])] == marks[1]["string"]


def test_a_row_that_comes_again_is_sent_once_and_codes_take_one_byte():
    explorer = simple(lambda n: [cells(np.eye(3) * (n % 2), names=("", "a"))], sliders={"n": range(200)})
    values = explorer.stage.data[4]  # x, y, values: rows and row numbers each
    assert len(values) == 2 * 9


def test_start_names_the_first_view_and_other_sliders_begin_at_their_first_value():
    explorer = simple(
        lambda n, m: [points([n], [m])], lambda n, m: f"{n} {m}", {"n": [1, 2], "m": [5, 6]}, start={"m": 6}
    )
    assert explorer.start == {"n": 1, "m": 6}
    assert explorer.caption_at() == "1 6"
    assert explorer.caption_at(n=2) == "2 6"
    assert (explorer.stage.at_0, explorer.stage.at_1) == (0, 1)


def test_a_float_is_found_although_it_is_written_with_fewer_digits():
    explorer = simple(lambda eps: [points([eps], [1])], lambda eps: f"{eps:.0e}", {"eps": np.logspace(-12, 2, 57)})
    assert explorer.caption_at(eps=1e-5) == "1e-05"


def test_each_kind_of_values_gets_its_control():
    names = {"number": [1, 2], "word": ["a", "b"], "switch": [False, True], "named": {"one": 1, "two": 2}}
    explorer = Explorer(names, lambda **k: [points([0], [k["number"]])], lambda **k: "c")
    kinds = [type(control).__name__ for control in explorer.children[0].children]
    assert kinds == ["SelectionSlider", "Dropdown", "Checkbox", "SelectionSlider"]
    assert [control.description for control in explorer.children[0].children] == list(names)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (8, "8"),
        (0.25, "0.25"),
        (1e-5, "1e−5"),
        (2.5e-7, "2.5e−7"),
        (-3, "−3"),
        (True, "yes"),
        (1e6, "1e6"),
        (1e4, "1e4"),
        (0.0, "0"),
    ],
)
def test_numbers_are_written_as_a_learner_reads_them(value, words):
    assert number(value) == words


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"compute": lambda n: [points([1 / (n - 2)], [1])]}, r"compute failed at n = 2: ZeroDivisionError"),
        ({"compute": lambda n: [points([np.nan if n == 3 else 1], [1])]}, r"mark 0 \(points\) at n = 3 has .* NaN"),
        ({"compute": lambda n: [points([1], [np.inf])]}, "an empty, NaN or infinite y"),
        ({"compute": lambda n: [points([1], [1])] * n}, "2 marks at n = 2, expected 1"),
        ({"compute": lambda n: [points([1] * n, [1] * n)]}, r"x of shape \(2,\), expected \(1,\)"),
        ({"compute": lambda n: [points([1], [1], color="blue" if n < 2 else "red")]}, "another kind or style"),
        ({"compute": lambda n: [points([1], [1], panel=1)]}, "panel 1, but there are 1"),
        ({"compute": lambda n: None}, "returned NoneType at n = 1, expected a list of marks"),
        ({"compute": lambda n: []}, "expected a list of marks"),
        ({"compute": lambda n: [n]}, "expected a list of marks"),
        ({"caption": lambda n: ""}, "caption returned '' at n = 1"),
        ({"caption": lambda n: None}, "caption returned None"),
        ({"caption": lambda n: f"{1 / (n - 1)}"}, "caption failed at n = 1: ZeroDivisionError"),
        ({"sliders": {}}, "1 to 4 sliders"),
        ({"sliders": {"n": [1]}}, "'n' needs at least two values"),
        ({"sliders": {"n": [1, 1]}}, "different labels"),
        ({"sliders": [1, 2]}, "expected a dict"),
        ({"sliders": {"n": range(6000)}}, "6,000 slider positions, expected at most 5,000"),
        ({"start": {"m": 1}}, "start names 'm', expected one of"),
        ({"start": {"n": 7}}, "7 is not one of the slider's values"),
        (
            {"compute": lambda n: [points([n - 1], [1])], "panels": Panel(xscale="log")},
            "log x axis, but the data reach",
        ),
    ],
)
def test_bad_input_is_named_when_the_cell_runs(arguments, message):
    with pytest.raises(ValueError, match=message):
        simple(**arguments)


def test_frames_too_large_to_store_are_refused():
    with pytest.raises(ValueError, match="expected at most 200,000; use fewer values"):
        simple(lambda n: [lines(np.arange(600) + n / 3, np.arange(600) * n / 3)], sliders={"n": range(100)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lines([1, 2], [1]), "vectors of one length"),
        (lambda: lines([[1, 2]], [[1, 2]]), "vectors of one length"),
        (lambda: points([1], [1], color="pink"), "'pink' is not in the palette"),
        (lambda: bars([0, 1], [1, 2]), "one more edge than bars"),
        (lambda: cells([1, 2], limit=1), "2-D array of values"),
        (lambda: cells([[1]], limit=1, outline=[[1, 2]]), "outline has shape"),
        (lambda: cells([[1]]), "either limit= .* or names="),
        (lambda: text(0, 0, "a", align="left"), "align is 'left'"),
        (lambda: Panel(xscale="cube"), 'expected "linear" or "log"'),
    ],
)
def test_a_mark_that_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ----------------------------------------------------------------------------------------------------- pictures


def test_the_mime_bundle_holds_widget_picture_and_caption():
    data, metadata = simple()._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == "n is 1"
    assert metadata["image/png"]["alt"] == "n is 1"
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


def test_y_grows_upwards_with_axes_and_downwards_in_a_bare_panel():
    panel = {"box": [10, 20, 100, 200], "xlim": (0, 1), "ylim": (0, 2), "xscale": "linear", "yscale": "linear"}
    assert to_pixels(panel | {"bare": False}, 0.5, 0.5) == (60, 170)
    assert to_pixels(panel | {"bare": True}, 0.5, 0.5) == (60, 70)


def test_a_log_axis_places_the_geometric_mean_in_the_middle():
    panel = {
        "box": [0, 0, 100, 100],
        "xlim": (1e-4, 1),
        "ylim": (0, 1),
        "xscale": "log",
        "yscale": "linear",
        "bare": False,
    }
    assert to_pixels(panel, 1e-2, 0)[0] == pytest.approx(50)


def test_equal_panels_use_the_same_unit_on_both_axes():
    explorer = simple(lambda n: [points([0, 10 * n], [0, 1])], panels=Panel(equal=True))
    (panel,) = explorer._spec["panels"]
    x_unit = panel["box"][2] / (panel["xlim"][1] - panel["xlim"][0])
    y_unit = panel["box"][3] / (panel["ylim"][1] - panel["ylim"][0])
    assert x_unit == pytest.approx(y_unit)


def test_limits_are_those_of_all_frames():
    (panel,) = simple(lambda n: [points([n], [n**2])])._spec["panels"]
    assert panel["xlim"][0] < 1 and panel["xlim"][1] > 3
    assert panel["ylim"][0] < 1 and panel["ylim"][1] > 9


def test_labels_that_overlap_are_pushed_apart():
    placed = spread_labels([(50, "b"), (48, "a"), (100, "c")])
    assert placed == [(48, "a"), (63, "b"), (100, "c")]


def test_both_renderers_draw_the_same_kinds_of_marks():
    from helpers.explorer import picture

    source = (Path(picture.__file__).parent / "stage.js").read_text(encoding="utf-8")
    for kind in picture._DRAW:
        assert f"\n  {kind}(mark, position" in source


def test_the_browser_code_never_writes_html():
    source = (Path(Stage.__module__.replace(".", "/")).parent / "stage.js").as_posix()
    source = (Path(__file__).parent.parent / source).read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
        "http:",
        "https:",
    ):
        assert word not in source.replace("http://www.w3.org/2000/svg", ""), word
