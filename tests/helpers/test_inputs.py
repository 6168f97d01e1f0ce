"""Whatever a learner hands to a check, an exercise, an explorer or a quiz: one plain line, and no check that passes
by accident.
"""

import contextlib
import functools
import io
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
from tests.shared import GOOD_FILE

nan, inf = np.nan, np.inf
few = settings(max_examples=25)


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(checks, "_results", {})
    monkeypatch.setattr(checks, "_not_counted", 0)


def say(check, *arguments, **more):
    """(what the check returned, its only line), with no warning on the way."""
    with contextlib.redirect_stdout(io.StringIO()) as screen, warnings.catch_warnings():
        warnings.simplefilter("error")
        passed = check(*arguments, **more)
    said = screen.getvalue().replace("\n" + checks.INDENT, " ")
    assert said.endswith("\n") and len(said.splitlines()) == 1, said
    assert said.encode() and len(said) <= checks.LONGEST_LINE + 1 and type(passed) is bool
    assert said.startswith("PASS - " if passed else ("FAIL - ", "TODO - "))
    return passed, said[:-1]


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


endless = []
endless.append(endless)
floats = st.floats(width=64)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
dtypes = st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_, np.complex128])
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes))
finite_arrays = hnp.arrays(np.float64, hnp.array_shapes(max_side=3), elements=st.floats(-1e3, 1e3))
STRANGE = [
    *(None, ..., NotImplemented, "", "1", b"1", {}, {1}, {"a": 1}, set(), object(), object, print, sys),
    *([], [[]], [[], [1]], [[1], [1, 2]], [None], ["a", 1], (1, "x"), Decimal("0.5"), 10**400, [10**400]),
    *(np.array(None), np.array([[1], [1, 2]], dtype=object), np.array(["1"]), np.array([b"1"])),
    *(np.zeros(2, dtype=[("a", float)]), np.datetime64("2020-01-01"), np.timedelta64(1, "s")),
    *(np.ma.masked, np.ma.masked_array([1.0], [1]), np.ma.masked_all((2, 2))),
    *(pd.NA, pd.NaT, pd.Series(["a"]), pd.Series([1, None], dtype=object), pd.DataFrame({"a": ["x"]})),
    *(float, Exception("x"), type("Slots", (), {"__slots__": ()})(), slice(None), re.compile("x")),
]
HUGE = [range(10**12), [range(10**12)], (range(10**9),) * 3, np.broadcast_to(0.0, (10**6, 10**6))]
numbers = st.one_of(floats, st.complex_numbers(), st.integers(), st.booleans(), arrays, st.lists(floats))
anything_small = st.one_of(numbers, st.sampled_from(STRANGE))
anything = st.one_of(anything_small, st.sampled_from(HUGE))


@given(anything, anything, st.sampled_from([0, 1e-6, 1.0]))
def test_comparing_anything_gives_one_plain_line_and_passes_only_what_is_equal_for_numpy(value, expected, tol):
    passed, _ = say(check_close, "name", value, expected, tol=tol)
    if passed and not tol:
        np.testing.assert_array_equal(np.asarray(value), np.broadcast_to(expected, np.shape(value)), strict=False)
        assert np.size(value) > 0 and np.asarray(value).dtype.kind in "biufc"


def test_what_is_not_numbers_never_passes():
    for thing in [*STRANGE, *HUGE, endless, Liar(), Loud(), [Liar()], [Loud()], np.full(2, None)]:
        for pair in ((thing, 1.0), (1.0, thing), (thing, thing)):
            assert not say(check_close, "name", *pair, tol=1e300)[0]
        assert not say(check_true, "name", thing)[0]
        if thing is not endless:
            assert not say(check_close, thing, 1.0, 1.0)[0] or thing == "1"  # as a name


@given(finite_arrays, st.data())
def test_one_nan_fails_and_leaves_the_input(array, data):
    value, where = array.copy(), data.draw(st.integers(0, array.size - 1))
    value.flat[where] = nan
    before = value.copy()
    assert not say(check_close, "name", value, array, tol=1e6)[0]
    assert not say(check_close, "name", array, value, tol=1e6)[0]
    np.testing.assert_array_equal(value, before)


@few
@given(finite_arrays)
def test_lists_series_and_dtypes_compare_as_arrays(array):
    for same in (array.tolist(), array.astype(complex), np.asfortranarray(array)):
        assert say(check_close, "name", same, array)[0]
    assert say(check_close, "name", pd.Series(array.ravel()), array.ravel())[0]
    assert not say(check_close, "name", (array + 1).tolist(), array, tol=1e-9)[0]


def test_shapes_are_never_broadcast_between_two_arrays():
    for one, other in itertools.product([(3,), (1, 3), (3, 1), (2, 3)], repeat=2):
        assert say(check_close, "name", np.ones(one), np.ones(other))[0] == (one == other)


def test_a_tolerance_that_is_none_never_passes():
    for tol in (None, "small", [1e-6], np.array([1e-6]), 1j, np.complex128(0.5 + 1j), nan, -inf, True, print):
        assert not say(check_close, "name", 1.0, 2.0, tol=tol)[0]


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


def raises(error):
    def attempt(x=None):
        raise error

    return attempt


@pytest.mark.parametrize(
    ("function", "passes"),
    [
        (lambda: [][1], False),
        (lambda: print("loud") or int("x"), True),
        (raises(ValueError("ü\n\x1b[31m" * 100)), True),
        (functools.partial(recursive, 1), False),
        (type("Call", (), {"__call__": lambda self: int("x")})(), True),
    ],
)
def test_odd_functions_are_told_in_a_line(capsys, function, passes):
    assert check_raises("name", ValueError, function) is passes
    rows = [row for row in capsys.readouterr().out.splitlines() if not row.startswith(checks.INDENT)]
    assert rows[-1].startswith("PASS - name" if passes else "FAIL - name")


@few
@given(st.one_of(st.text(), st.text(alphabet="a\n\r\t\x00\x1b\x07\x08\x85\u2028\ud800é中\U0001f600\u200d")))
def test_a_name_of_any_characters_counts_once(name):
    passed, line = say(check_true, name, True)
    assert passed == bool(name.strip())
    assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]", line)
    before = len(checks._results)
    say(check_true, name, True)
    assert len(checks._results) == before


def double(x):
    return 2 * x


def make(**changed):
    parts = dict(
        solution="def double(x):\n    return 2 * x",
        cases=lambda rng: [case(rng.standard_normal((2, 3))), case(rng.standard_normal(4))],
    )
    return Exercise(**(parts | changed))


@few
@given(anything)
def test_anything_for_the_result_or_the_function_passes_only_with_right_numbers(thing):
    passed, why = diagnose(make(), lambda x: thing)
    assert why and passed is (None if thing is ... else False)
    assume(not callable(thing) and thing is not ...)
    passed, why = diagnose(make(), thing)
    assert passed is False and "expected the function itself: double(x)" in why
    with pytest.raises(ValueError, match="^no exercise is called .*; there are: .*my_layer_norm"):
        check_exercise(thing, double)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (raises(type("Stop", (BaseException,), {})("enough")), "it raises Stop: enough (line "),
        (raises(StopIteration(3)), "it raises StopIteration: 3 (line "),
        (lambda x: recursive(x), "it raises RecursionError: "),
        (lambda x: double, "value is a function"),
        (lambda x: Liar(), "expected real or complex numbers"),
        (lambda x: np.matrix([[1.0]]), "expected (2, 3)"),
        (lambda x: np.ma.masked_greater(2 * x, 0), "masked array"),
        (lambda x: (2 * x).astype(object), "expected real or complex numbers"),
        (lambda x: [range(10**12)], "more than 10000000 values"),
        (lambda x: warnings.warn("mine", stacklevel=1) or 9 * x, "got "),
        (lambda x: x.sort() or 2 * x, "it changes its input x in place"),
    ],
)
def test_mistakes_are_named_in_plain_words(attempt, words):
    passed, why = diagnose(make(), attempt)
    assert passed is False
    assert words in why and len(why) < 260


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).astype(np.float32),
        np.vectorize(lambda v: 2 * v),
        functools.partial(np.multiply, 2),
        type("Call", (), {"__call__": lambda self, x: 2 * x})(),
        type("Own", (), {"double": lambda self, x: 2 * x})().double,
        lambda *args, **kwargs: 2 * args[0],
        lambda x: np.seterr(all="raise") and 2 * x,
    ],
)
def test_a_right_answer_in_another_form_passes(attempt):
    before = np.geterr()
    assert diagnose(make(tol=1e-6), attempt) == (True, "2 cases")
    assert np.geterr() == before


def explore(compute=None, caption=None, sliders=None, **more):
    compute = compute or (lambda n: [points([n], [1])])
    return Explorer({"n": [1, 2, 3]} if sliders is None else sliders, compute, caption or (lambda n: f"n {n}"), **more)


def bare(values, **more):
    return {"compute": lambda n: [cells(values, **more)], "panels": Panel(bare=True)}


@few
@given(anything_small)
def test_an_explorer_draws_finite_numbers_and_refuses_the_rest(value):
    try:
        explorer = explore(lambda n: [points(value, value)])
        sent = np.frombuffer(explorer.stage.data[0], dtype=explorer.stage.spec["marks"][0]["arrays"][0]["dtype"])
        np.testing.assert_allclose(sent, np.ravel(np.asarray(value, dtype=float)), rtol=1e-6, atol=1e-37)
        explorer.close()
    except ValueError as error:
        assert str(error).startswith("Explorer: ") and "n = 1" in str(error)
    try:
        explorer = explore(lambda n: [points([1], [1])], lambda n: "c", sliders={"n": value})
        assert len(explorer.captions) >= 1 and len(explorer.children[0].children) == 1
        explorer.close()
    except ValueError as error:
        assert re.match("Explorer: (slider 'n' |expected |[0-9,]+ slider positions)", str(error)), error
    with pytest.raises(ValueError, match="^Explorer: compute returned .* at n = 1, expected a list of marks$"):
        explore(lambda n: value)
    assume(not isinstance(value, str) or not value.strip())
    with pytest.raises(ValueError, match="^Explorer: caption (returned|failed)"):
        explore(caption=lambda n: value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sliders": {"n": 5}}, r"slider 'n' needs a list of values, as in {'n': \[1, 2, 3\]}"),
        ({"sliders": {"n": itertools.count()}}, "slider 'n' needs a list of values"),
        ({"sliders": {"n": range(10**12)}}, "1,000,000,000,000 slider positions"),
        ({"sliders": {3: [1, 2]}}, "a slider is named 3, expected a word"),
        ({"start": [1]}, "start is a list of length 1, expected a dict"),
        ({"panels": ["a"]}, "panels is a list of length 1, expected a Panel or a list of them"),
        ({"panels": [Panel(), Panel(bare=True)]}, "panel 1 is bare, expected cells"),
        *(
            ({"compute": lambda n, p=p: [points([n], [n], panel=p)]}, f"n = 1 is for panel {p!r}")
            for p in (0.5, "a", -1)
        ),
        ({"compute": lambda n: [lines(np.zeros(10**6) + n, np.zeros(10**6))] * 3}, "over 5,000,000 numbers at n = 1"),
        ({"compute": lambda n: recursive(n)}, "compute failed at n = 1: RecursionError"),
        (bare([[0, 2]], names=("", "a")), "a value is 2, expected codes 0 to 1, one for each name"),
        (bare([[0.5]], names=("", "a")), "a value is 0.5, expected codes 0 to 1"),
        (bare([[0, nan]], names=("", "a")), "NaN or infinite values"),
        *((bare([[0, 1]], limit=limit), "expected a number above 0") for limit in (0, nan, np.ones(2))),
        *(({"height": h}, "height is .*, expected 60 to 2000 pixels") for h in (0, -1, nan, "300", True, 10**9)),
    ],
)
def test_an_explorer_says_what_it_expected_and_got(arguments, message):
    with pytest.raises(ValueError, match=message) as error:
        explore(**arguments)
    assert len(str(error.value)) < 300


def test_a_panel_that_cannot_be_drawn_is_refused():
    for arguments in (
        *({"xlim": limits} for limits in [(1, 1), (2, 1), (nan, 1), (0, inf), (-inf, 0), (0, 1, 2), 3, "ab"]),
        {"ylim": (0, 1), "yscale": "log"},
        *({"width": width} for width in (0, -1, nan, "1")),
    ):
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


@pytest.mark.parametrize("words", ["cost $5 or \\frac$ x_ $\\bad$", "größe ≤ 均值\ntwo lines <b>&amp;"])
def test_words_of_any_kind_are_drawn_as_words(words):
    """Also where they look like a formula, which matplotlib would otherwise read, or need letters it lacks."""
    explorer = explore(
        lambda n: [points([n], [n], label=words), text(n, n, words)],
        panels=Panel(xlabel=words, ylabel=words, title=words),
    )
    assert explorer.marks_at()[1]["string"] == words
    assert len(explorer._repr_mimebundle_()[0]["image/png"]) > 100
    explorer.close()


LINES = GOOD_FILE.splitlines()


def ask(path, text_, encoding="utf-8"):
    """The questions, or None where the file is refused in one sentence that names it."""
    path.write_bytes(text_.encode(encoding))
    try:
        return read_questions(path)[1]
    except ValueError as error:
        assert str(error).startswith(f"{path.name}") and len(str(error)) < 400, error
        return None


@given(st.data())
def test_shuffled_question_files_are_read_or_refused_whole(tmp_path_factory, data):
    shuffled = data.draw(st.permutations(LINES))
    found = ask(tmp_path_factory.getbasetemp() / "78_shuffled.toml", "\n".join(shuffled))
    for question in found or []:
        assert len(question["options"]) == len(question["whys"]) == 3
        assert question["options"][question["right"]]


def test_a_question_file_may_come_from_any_editor_in_utf_8(tmp_path):
    windows = GOOD_FILE.replace("\n", "\r\n").replace("An error", "Größe ≤ 中 \U0001f600")
    for encoding in ("utf-8-sig", "utf-8"):
        (question,) = ask(tmp_path / "77_test.toml", windows, encoding)
        assert question["options"][2] == "Größe ≤ 中 \U0001f600" and question["prompt"] == "What is `1 < 2`?"
    assert ask(tmp_path / "77_test.toml", GOOD_FILE, "utf-16") is None


@few
@given(st.one_of(anything, st.text(max_size=9)))
def test_unknown_names_list_the_lessons_and_their_keys(name):
    assume(name is not None and not (isinstance(name, str) and name.startswith(("0", "1"))))
    with pytest.raises(ValueError, match="^Quiz: .*'00_start_here', '01_axis_intuition'"):
        Quiz(name)
    with pytest.raises(ValueError, match="^Quiz: lesson '01_axis_intuition' has no .*'column_means'"):
        Quiz("01", only=name)
