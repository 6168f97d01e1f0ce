"""Whatever a learner hands to a check, an exercise, an explorer or a quiz: one plain line, and no check that passes
by accident.
"""

import functools
import itertools
import re
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import Explorer, Panel, Quiz, bars, cells, checks, lines, points, text
from helpers.checks import check_close, check_raises, check_true
from helpers.exercises import Exercise, case, check_exercise
from helpers.exercises.checker import diagnose
from helpers.widgets.quiz import read_questions
from tests import shared
from tests.shared import GOOD_FILE

nan, inf = np.nan, np.inf

for_each = functools.partial(shared.for_each, before=checks.reset)


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(checks, "_results", {})
    monkeypatch.setattr(checks, "_not_counted", 0)


class Screen:
    """Takes what is printed, as a terminal would: every line must be one that can be sent."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        text.encode("utf-8")
        self.text += text
        return len(text)

    def flush(self):
        pass


def say(check, *arguments, **more):
    """(what the check returned, its only line), with no warning on the way."""
    screen, before = Screen(), sys.stdout
    sys.stdout = screen
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            passed = check(*arguments, **more)
    finally:
        sys.stdout = before
    screen.text = screen.text.replace("\n" + checks.INDENT, " ")
    lines_ = screen.text.splitlines()
    assert len(lines_) == 1 and screen.text.endswith("\n"), screen.text
    assert len(lines_[0]) <= checks.LONGEST_LINE
    assert "Traceback" not in lines_[0] and type(passed) is bool
    assert lines_[0].startswith("PASS - " if passed else ("FAIL - ", "TODO - "))
    return passed, lines_[0]


# ------------------------------------------------------------------------------------------------- strategies

floats = st.floats(width=64)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
dtypes = st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_, np.complex128])
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes))
strange = st.sampled_from(
    [
        *(None, ..., NotImplemented, "", "1", b"1", {}, {1}, {"a": 1}, set(), object(), object, print, sys),
        *([], [[]], [[], [1]], [[1], [1, 2]], [None], ["a", 1], (1, "x"), Decimal("0.5"), 10**400, [10**400]),
        *(np.array(None), np.array([[1], [1, 2]], dtype=object), np.array(["1"]), np.array([b"1"])),
        *(np.zeros(2, dtype=[("a", float)]), np.datetime64("2020-01-01"), np.timedelta64(1, "s")),
        *(np.ma.masked, np.ma.masked_array([1.0], [1]), np.ma.masked_all((2, 2))),
        *(pd.NA, pd.NaT, pd.Series(["a"]), pd.Series([1, None], dtype=object), pd.DataFrame({"a": ["x"]})),
        *(range(10**12), [range(10**12)], (range(10**9),) * 3, np.broadcast_to(0.0, (10**6, 10**6))),
        *(float, Exception("x"), type("Slots", (), {"__slots__": ()})(), slice(None), re.compile("x")),
    ]
)
anything = st.one_of(floats, st.complex_numbers(), st.integers(), st.booleans(), arrays, strange, st.lists(floats))


# ------------------------------------------------------------------------------------------------ check_close


@given(anything, anything, st.sampled_from([0, 1e-6, 1.0]))
def test_comparing_anything_with_anything_gives_one_plain_line(value, expected, tol):
    say(check_close, "name", value, expected, tol=tol)


@given(anything, anything)
def test_two_values_must_be_equal_for_numpy_too(value, expected):
    """A check that passes by accident would pass here against NumPy's own word."""
    passed, _ = say(check_close, "name", value, expected, tol=0)
    if passed:
        np.testing.assert_array_equal(np.asarray(value), np.broadcast_to(expected, np.shape(value)), strict=False)
        assert np.size(value) > 0 and np.asarray(value).dtype.kind in "biufc"


@given(strange, floats)
def test_what_is_not_numbers_never_passes(value, expected):
    assert not say(check_close, "name", value, expected, tol=1e300)[0]
    assert not say(check_close, "name", expected, value, tol=1e300)[0]


@given(hnp.arrays(np.float64, hnp.array_shapes(max_side=3), elements=st.floats(-1e3, 1e3)), st.data())
def test_one_nan_fails_and_leaves_the_input(array, data):
    value, where = array.copy(), data.draw(st.integers(0, array.size - 1))
    value.flat[where] = nan
    before = value.copy()
    assert not say(check_close, "name", value, array, tol=1e6)[0]
    assert not say(check_close, "name", array, value, tol=1e6)[0]
    np.testing.assert_array_equal(value, before)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_side=3), elements=st.floats(-1e3, 1e3)))
def test_lists_series_and_dtypes_compare_as_arrays(array):
    assert say(check_close, "name", array.tolist(), array)[0]
    assert say(check_close, "name", array.astype(complex), array)[0]
    assert say(check_close, "name", pd.Series(array.ravel()), array.ravel())[0]
    assert say(check_close, "name", np.asfortranarray(array)[::-1], array[::-1])[0]
    assert not say(check_close, "name", (array + 1).tolist(), array, tol=1e-9)[0]


@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1), (2, 3)])
def test_shapes_are_never_broadcast_between_two_arrays(shape):
    for other in [(3,), (1, 3), (3, 1), (2, 3)]:
        assert say(check_close, "name", np.ones(shape), np.ones(other))[0] == (shape == other)


def test_a_list_holding_itself_fails_plainly():
    endless = []
    endless.append(endless)
    assert not say(check_close, "name", endless, 1.0)[0]
    assert not say(check_true, "name", endless)[0]


@pytest.mark.parametrize("huge", [[range(10**9)], [[range(10**9)] * 2], [[0] * 3000] * 4000])
def test_nested_lists_are_counted_before_they_are_made(huge):
    assert (
        say(check_close, "name", huge, 0.0)[1]
        == "FAIL - name: value has more than 10000000 values; compare a part of it"
    )


@for_each("tol", [None, "small", [1e-6], np.array([1e-6]), 1j, np.complex128(1), nan, -inf, True, print])
def test_a_tolerance_that_is_none_never_passes(tol):
    if tol == np.complex128(1):
        tol = np.complex128(0.5 + 1j)
    assert not say(check_close, "name", 1.0, 2.0, tol=tol)[0]


class Liar:
    """Says that it equals everything."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    def __len__(self):
        return -1


class Loud:
    """Raises whatever is done to it, also when it is shown."""

    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __len__ = __bool__ = __eq__ = __float__ = __iter__ = __array__ = __repr__
    __hash__ = None


@for_each("thing", [Liar(), Loud(), [Liar()], [Loud()], np.full(2, None)], ids=range(5))
def test_objects_with_their_own_equality_never_pass(thing):
    for check in (check_close, functools.partial(check_close, tol=0)):
        assert not say(check, "name", thing, 1.0)[0]
        assert not say(check, "name", 1.0, thing)[0]
        assert not say(check, "name", thing, thing)[0]
    assert not say(check_true, "name", thing)[0]


def test_torch_tensors_are_compared_or_must_be_detached():
    torch = pytest.importorskip("torch")
    assert say(check_close, "name", torch.ones(3), np.ones(3))[0]
    assert not say(check_close, "name", torch.ones(3) * 2, np.ones(3))[0]
    assert say(check_close, "name", torch.ones(3, dtype=torch.float16), np.ones(3))[0]
    passed, line = say(check_close, "name", torch.ones(3, requires_grad=True), np.ones(3))
    assert not passed and "detach" in line
    assert say(check_true, "name", torch.tensor(True))[0]
    assert not say(check_true, "name", torch.tensor([True, True]))[0]
    assert not say(check_true, "name", torch.tensor(1.0))[0]


# ---------------------------------------------------------------------------------- check_true and check_raises


@given(anything)
def test_only_one_true_bool_makes_a_condition_pass(condition):
    passed, _ = say(check_true, "name", condition)
    one_bool = isinstance(condition, (bool, np.bool_)) or (
        isinstance(condition, np.ndarray)
        and not isinstance(condition, np.ma.MaskedArray)
        and condition.dtype == bool
        and condition.size == 1
    )
    assert passed == bool(one_bool and np.all(condition))


def recursive(x):
    return recursive(x)


def generator():
    yield 1 / 0


@for_each(
    ("function", "passes"),
    [
        (lambda: [][1], False),
        (generator, False),
        (lambda: print("loud") or int("x"), True),
        (lambda: (_ for _ in ()).throw(ValueError("ü\n\x1b[31m" * 100)), True),
        (functools.partial(int, "x"), True),
        (functools.partial(recursive, 1), False),
        (type("Call", (), {"__call__": lambda self: int("x")})(), True),
    ],
)
def test_odd_functions_are_told_in_a_line(capsys, function, passes):
    assert check_raises("name", ValueError, function) is passes
    rows = [row for row in capsys.readouterr().out.splitlines() if not row.startswith(checks.INDENT)]
    assert rows[-1].startswith("PASS - name" if passes else "FAIL - name")


# ------------------------------------------------------------------------------------------------------- names


@settings(max_examples=25)
@given(st.one_of(st.text(), st.text(alphabet="a\n\r\t\x00\x1b\x07\x08\x85\u2028\ud800é中\U0001f600\u200d")))
def test_a_name_of_any_characters_counts_once(name):
    passed, line = say(check_true, name, True)
    assert passed == bool(name.strip())
    assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]", line)
    before = len(checks._results)
    say(check_true, name, True)
    assert len(checks._results) == before


@for_each("name", ["größe ≤ 1", "均值为零", "متوسط", "नमस्ते", "Σ √2 ± 0", "a  b\n c"])
def test_a_name_in_any_script_stays_unchanged(name):
    assert say(check_true, name, True)[1] == f"PASS - {' '.join(name.split())}"


@given(anything.filter(lambda name: not isinstance(name, str)))
def test_a_name_that_is_no_text_fails(name):
    assert not say(check_true, name, True)[0]
    assert not say(check_close, name, 1.0, 1.0)[0]


# ---------------------------------------------------------------------------------------------- check_exercise


def double(x):
    return 2 * x


def make(**changed):
    parts = dict(
        solution="def double(x):\n    return 2 * x",
        cases=lambda rng: [case(rng.standard_normal((2, 3))), case(rng.standard_normal(4))],
    )
    return Exercise(**(parts | changed))


@given(anything)
def test_returning_anything_passes_only_with_right_numbers(result):
    passed, why = diagnose(make(), lambda x: result)
    assert passed in (False, None) and why
    assert passed is False or result is ...


@given(anything)
def test_anything_in_place_of_the_function_is_refused(thing):
    assume(not callable(thing) and thing is not ...)
    passed, why = diagnose(make(), thing)
    assert passed is False and "expected the function itself: double(x)" in why


class Stop(BaseException):
    pass


def raises(error):
    def attempt(x):
        raise error

    return attempt


@for_each(
    ("attempt", "words"),
    [
        (raises(Stop("enough")), "it raises Stop: enough (line "),
        (raises(GeneratorExit()), "it raises GeneratorExit (line "),
        (raises(MemoryError()), "it raises MemoryError (line "),
        (raises(StopIteration(3)), "it raises StopIteration: 3 (line "),
        (raises(ExceptionGroup("two", [ValueError("a")])), "it raises ExceptionGroup: two (1 sub-exception)"),
        (lambda x: recursive(x), "it raises RecursionError: "),
        (lambda x: x @ x @ x, "the shapes at your @ do not fit"),
        (lambda x: undefined * x, "undefined is not defined; it is misspelled, or defined in an earlier cell"),  # noqa: F821
        (lambda x: (2 * row for row in x), "value is a generator"),
        (lambda x: map(float, x.ravel()), "value is a map"),
        (lambda x: double, "value is a function"),
        (lambda x: Loud(), "expected real numbers"),
        (lambda x: Liar(), "expected real or complex numbers"),
        (lambda x: np.matrix([[1.0]]), "expected (2, 3)"),
        (lambda x: 2j * x, "got complex numbers, expected real ones"),
        (lambda x: np.ma.masked_greater(2 * x, 0), "masked array"),
        (lambda x: (2 * x).astype(object), "expected real or complex numbers"),
        (lambda x: (2 * x).astype(str), "expected real or complex numbers"),
        (lambda x: [range(10**12)], "more than 10000000 values"),
        (lambda x: warnings.warn("mine", stacklevel=1) or 3 * x, "got "),
        (lambda x: x.__imul__(2), "it changes its input x in place"),
        (lambda x: x.sort() or 2 * x, "it changes its input x in place"),
    ],
)
def test_mistakes_are_named_in_plain_words(attempt, words):
    passed, why = diagnose(make(), attempt)
    assert passed is False
    if words == "expected real numbers":
        words = "cannot become an array of numbers" if "cannot become" in why else "could not be compared"
    assert words in why and len(why) < 260


@for_each(
    "attempt",
    [
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).astype(np.float32),
        lambda x: (2 * x)[::-1][::-1],
        np.vectorize(lambda v: 2 * v),
        functools.partial(np.multiply, 2),
        type("Call", (), {"__call__": lambda self, x: 2 * x})(),
        type("Own", (), {"double": lambda self, x: 2 * x})().double,
        lambda *args, **kwargs: 2 * args[0],
    ],
)
def test_a_right_answer_in_another_form_passes(attempt):
    assert diagnose(make(tol=1e-6), attempt) == (True, "2 cases")


def test_numpys_error_settings_stay_apart():
    def attempt(x):
        np.seterr(all="raise")
        return 2 * x

    tiny = make(
        cases=lambda rng: [case(np.full(3, 1e-300)), case(np.array([1e-300]))],
        solution="def double(x):\n    return 2 * x + 0 * np.exp(-1e9 * x - 1e6) + 0 * x * x",
    )
    with np.errstate(all="raise"):
        assert diagnose(tiny, double) == (True, "2 cases")
    before = np.geterr()
    assert diagnose(make(), attempt) == (True, "2 cases")
    assert np.geterr() == before


@given(st.one_of(anything, st.text()))
def test_unknown_exercise_names_list_the_existing_ones(name):
    with pytest.raises(ValueError, match="^no exercise is called .*; there are: .*my_layer_norm"):
        check_exercise(name, double)


def test_name_and_function_exchanged_are_told_shortly():
    with pytest.raises(ValueError, match="^no exercise is called a function; there are: "):
        check_exercise(double, "my_layer_norm")


# -------------------------------------------------------------------------------------------------- explorers


def explore(compute=None, caption=None, sliders=None, **more):
    compute = compute or (lambda n: [points([n], [1])])
    return Explorer({"n": [1, 2, 3]} if sliders is None else sliders, compute, caption or (lambda n: f"n {n}"), **more)


def bare(values, **more):
    return {"compute": lambda n: [cells(values, **more)], "panels": Panel(bare=True)}


@settings(max_examples=40)
@given(anything)
def test_numbers_are_drawn_finite_or_refused(value):
    try:
        explorer = explore(lambda n: [points(value, value)])
    except ValueError as error:
        assert str(error).startswith("Explorer: ") and "n = 1" in str(error)
        return
    sent = np.frombuffer(explorer.stage.data[0], dtype=explorer.stage.spec["marks"][0]["arrays"][0]["dtype"])
    np.testing.assert_allclose(sent, np.ravel(np.asarray(value, dtype=float)), rtol=1e-6, atol=1e-37)
    explorer.close()


@given(anything)
def test_a_wrong_return_value_names_its_position(value):
    with pytest.raises(ValueError, match="^Explorer: compute returned .* at n = 1, expected a list of marks$"):
        explore(lambda n: value)
    assume(not isinstance(value, str) or not value.strip())
    with pytest.raises(ValueError, match="^Explorer: caption (returned|failed)"):
        explore(caption=lambda n: value)


@given(anything)
def test_slider_values_make_a_control_or_a_sentence(values):
    try:
        explorer = explore(lambda n: [points([1], [1])], lambda n: "c", sliders={"n": values})
    except ValueError as error:
        assert re.match("Explorer: (slider 'n' |expected |[0-9,]+ slider positions)", str(error)), error
        return
    assert len(explorer.captions) >= 1 and len(explorer.children[0].children) == 1
    explorer.close()


@for_each(
    ("arguments", "message"),
    [
        ({"sliders": {"n": "abc"}}, r"slider 'n' needs a list of values, as in {'n': \[1, 2, 3\]}"),
        ({"sliders": {"n": 5}}, "slider 'n' needs a list of values"),
        ({"sliders": {"n": np.eye(2)}}, "slider 'n' has an array of float64 with shape"),
        ({"sliders": {"n": [None, 1]}}, "slider 'n' has None as a value, expected numbers or words"),
        ({"sliders": {"n": itertools.count()}}, "slider 'n' needs a list of values"),
        ({"sliders": {"n": range(10**12)}}, "1,000,000,000,000 slider positions"),
        ({"sliders": {3: [1, 2]}}, "a slider is named 3, expected a word"),
        ({"sliders": {" ": [1, 2]}}, "a slider is named ' ', expected a word"),
        ({"sliders": {f"s{k}": [1, 2] for k in range(5)}}, "expected a dict of 1 to 4 sliders"),
        ({"start": [1]}, "start is a list of length 1, expected a dict"),
        ({"start": {"n": np.ones(2)}}, "is not one of the slider's values"),
        ({"panels": ["a"]}, "panels is a list of length 1, expected a Panel or a list of them"),
        ({"panels": []}, "panels is a list of length 0"),
        ({"panels": [Panel(), Panel(bare=True)]}, "panel 1 is bare, expected cells"),
        ({"compute": lambda n: [bars([0, 1], [n])], "panels": Panel(bare=True)}, "panel 0 is bare, expected cells"),
        ({"compute": lambda n: [points([n], [n], panel=0.5)]}, r"mark 0 \(points\) at n = 1 is for panel 0.5"),
        ({"compute": lambda n: [points([n], [n], panel="a")]}, "at n = 1 is for panel 'a'"),
        ({"compute": lambda n: [points([n], [n], panel=-1)]}, "at n = 1 is for panel -1"),
        ({"compute": lambda n: [points([1e300], [n])]}, "has x beyond 1e[+]38"),
        ({"compute": lambda n: [lines(np.zeros(10**6) + n, np.zeros(10**6))] * 3}, "over 5,000,000 numbers at n = 1"),
        ({"compute": lambda n: [points(np.array([1j]), [n])]}, "points: x is an array of complex128"),
        ({"compute": lambda n: [points(["1"], [n])]}, "points: x is a list of length 1, expected real numbers"),
        ({"compute": lambda n: [points([[1], [1, 2]], [n])]}, "points: x is a list of length 2, expected real numbers"),
        ({"compute": lambda n: [points(np.ma.masked_array([1.0, 9.0], [0, 1]), [n, n])]}, "NaN or infinite x"),
        ({"compute": lambda n: [points([1], [n], size=-3)]}, "size is -3, expected a number of pixels above 0"),
        ({"compute": lambda n: (points([n], [n]) for _ in range(1))}, "compute returned generator at n = 1"),
        ({"compute": recursive}, "compute failed at n = 1: TypeError"),
        ({"compute": lambda n: recursive(n)}, "compute failed at n = 1: RecursionError"),
        ({"compute": "x"}, "compute failed at n = 1: TypeError: 'str' object is not callable"),
        ({"caption": "x"}, "caption failed at n = 1: TypeError: 'str' object is not callable"),
        (bare([[0, 2]], names=("", "a")), "a value is 2, expected codes 0 to 1, one for each name"),
        (bare([[0, -1]], names=("", "a")), "a value is -1, expected codes 0 to 1"),
        (bare([[0.5]], names=("", "a")), "a value is 0.5, expected codes 0 to 1"),
        (bare([[0, 1]], names="abcdefg"), "got 7 names, expected 2 to 5"),
        (bare([[0, nan]], names=("", "a")), "NaN or infinite values"),
        (bare([[0, 1]], limit=0), "limit is 0, expected a number above 0"),
        (bare([[0, 1]], limit=nan), "limit is nan, expected a number above 0"),
        (bare([[0, 1]], limit=np.ones(2)), "expected a number above 0"),
        (bare([[0, 1]], limit=1, digits=-1), "digits is -1, expected None or 0 to 9"),
        *(({"height": h}, "height is .*, expected 60 to 2000 pixels") for h in (0, -1, nan, "300", True, 10**9)),
    ],
)
def test_an_explorer_says_what_it_expected_and_got(arguments, message):
    with pytest.raises(ValueError, match=message) as error:
        explore(**arguments)
    assert len(str(error.value)) < 300


@for_each(
    "arguments",
    [
        *({"xlim": limits} for limits in [(1, 1), (2, 1), (nan, 1), (0, inf), (-inf, 0), (0, 1, 2), 3, "ab"]),
        {"ylim": (0, 1), "yscale": "log"},
        *({"width": width} for width in (0, -1, nan, "1")),
    ],
)
def test_a_panel_that_cannot_be_drawn_is_refused(arguments):
    with pytest.raises(ValueError, match="^Panel: (xlim|ylim|width) is .*, expected "):
        Panel(**arguments)


def test_a_reused_array_still_gives_separate_frames():
    buffer = np.zeros(1)

    def compute(n):
        buffer[:] = n
        return [points(buffer, buffer), bars([0, 1], buffer), cells(buffer[:, None], limit=9, panel=1)]

    explorer = explore(compute, panels=[Panel(), Panel(bare=True)])
    for n in (1, 2, 3):
        marks = explorer.marks_at(n=n)
        assert [marks[0]["data"]["x"], marks[1]["data"]["height"], marks[2]["data"]["values"]] == [n, n, n]
    explorer.close()


def test_slider_values_with_names_may_be_arrays():
    values = {"ones": np.ones(2), "twos": np.full(2, 2.0)}
    explorer = explore(lambda n: [points(n, n)], lambda n: f"sum {n.sum()}", sliders={"n": values})
    assert explorer.captions == ["sum 2.0", "sum 4.0"]
    assert explorer.caption_at(n=values["twos"]) == "sum 4.0"
    explorer.close()


@for_each("words", ["cost $5 or \\frac$ x_", "$\\bad$", "größe ≤ 1", "均值", "two\nlines", "<b>&amp;", 3])
def test_words_of_any_kind_are_drawn_as_words(words):
    """Also where they look like a formula, which matplotlib would otherwise read, or need letters it lacks."""
    explorer = explore(
        lambda n: [points([n], [n], label=words), text(n, n, words)],
        sliders={f"n {words}"[:2].strip(): [1, 2]},
        panels=Panel(xlabel=str(words), ylabel=str(words), title=str(words)),
    )
    assert explorer.marks_at()[1]["string"] == str(words)
    assert len(explorer._repr_mimebundle_()[0]["image/png"]) > 100
    explorer.close()


def test_constants_of_any_size_have_limits_that_differ():
    for value in (0.0, 1.0, -1e-30, 1e6, 1e20, -1e37):
        explorer = explore(lambda n, value=value: [points([value], [value])])
        (panel,) = explorer._spec["panels"]
        assert panel["xlim"][0] < value < panel["xlim"][1] and panel["ylim"][0] < value < panel["ylim"][1]
        explorer.close()


# ------------------------------------------------------------------------------------------------------ quizzes

LINES = GOOD_FILE.splitlines()
FILLED = [k for k, line in enumerate(LINES) if line]


def ask(path, text_, encoding="utf-8"):
    """The questions, or None where the file is refused in one sentence that names it."""
    path.write_bytes(text_.encode(encoding))
    try:
        return read_questions(path)[1]
    except ValueError as error:
        assert str(error).startswith(f"{path.name}") and len(str(error)) < 400, error
        return None


@for_each("k", FILLED, ids=lambda k: f"{k}-{LINES[k].split(' ')[0]}")
def test_missing_and_doubled_lines_are_refused(tmp_path, k):
    path = tmp_path / "77_test.toml"
    assert ask(path, GOOD_FILE)
    assert ask(path, "\n".join(LINES[:k] + LINES[k + 1 :])) is None
    assert ask(path, "\n".join(LINES[: k + 1] + LINES[k:])) is None


@given(st.data())
def test_shuffled_question_files_are_read_or_refused_whole(tmp_path_factory, data):
    shuffled = data.draw(st.permutations(LINES))
    found = ask(tmp_path_factory.getbasetemp() / "78_shuffled.toml", "\n".join(shuffled))
    for question in found or []:
        assert len(question["options"]) == len(question["whys"]) == 3
        assert question["options"][question["right"]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_a_question_file_may_come_from_any_editor(tmp_path, encoding):
    windows = GOOD_FILE.replace("\n", "\r\n").replace("An error", "Größe ≤ 中 \U0001f600")
    (question,) = ask(tmp_path / "77_test.toml", windows, encoding)
    assert question["options"][2] == "Größe ≤ 中 \U0001f600" and question["prompt"] == "What is `1 < 2`?"


def test_a_question_file_of_another_encoding_is_refused(tmp_path):
    assert ask(tmp_path / "77_test.toml", GOOD_FILE, "utf-16") is None


@given(st.one_of(anything, st.text(max_size=9)))
def test_unknown_quiz_names_list_the_lessons(lesson):
    assume(not (isinstance(lesson, str) and lesson.startswith(("0", "1"))))
    with pytest.raises(ValueError, match="^Quiz: .*'00_start_here', '01_axis_intuition'"):
        Quiz(lesson)


@settings(max_examples=25)
@given(st.one_of(anything, st.text()))
def test_unknown_keys_list_the_existing_ones(only):
    assume(only is not None)
    with pytest.raises(ValueError, match="^Quiz: lesson '01_axis_intuition' has no .*'column_means'"):
        Quiz("01", only=only)
