"""The lines a check prints, word for word, and what summary() counts."""

import ast
import functools
import sys
from collections import namedtuple
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import checks
from helpers.checks import check_between, check_close, check_raises, check_true, not_counted, summary
from helpers.notebook import hide_check_values
from tests import shared

for_each = functools.partial(shared.for_each, before=checks.reset)


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(checks, "_results", {})
    monkeypatch.setattr(checks, "_not_counted", 0)
    monkeypatch.delenv("HELPERS_STRICT", raising=False)


@pytest.fixture
def cell(monkeypatch):
    """Pretend to be in a notebook; set `cell.execution_count` to move on to another cell."""
    shell = SimpleNamespace(execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return shell


def line(capsys):
    """The only line that was printed, its rows joined again."""
    text = capsys.readouterr().out.replace("\n" + checks.INDENT, " ")
    assert text.endswith("\n") and text.count("\n") == 1, f"not exactly one line: {text!r}"
    return text[:-1]


grid = np.arange(12.0).reshape(3, 4)
nan, inf = np.nan, np.inf


@for_each(
    ("value", "expected", "tol", "text"),
    [
        (1 / 3, 1 / 3, 1e-6, "0.333333"),
        (np.float64(2.0), 2, 1e-6, "2.0"),
        (np.float32(0.1), 0.1, 1e-6, "0.1"),
        (np.float16(0.1), 0.1, 1e-3, "0.1"),
        (np.int64(3), 3, 1e-6, "3"),
        (7, 7.0, 0, "7"),
        (np.array(0.5), 0.5, 1e-6, "0.5"),
        (-1e-17, 0, 1e-6, "0.0"),
        (-0.0, 0, 1e-6, "0.0"),
        (4.4e-16, 0, 1e-12, "0.0"),
        (1e-7, 1e-7, 1e-12, "1e-07"),
        (0.125 + 1e-12, 0.125, 1e-2, "0.12"),
        (0.125 - 1e-12, 0.125, 1e-2, "0.12"),
        (123456.7891, 123456.7891, 1e-6, "123457.0"),
        (10 - 1e-9, 10, 1e-6, "10.0"),
        (10 + 1e-9, 10, 1e-6, "10.0"),
        (1e300, 1e300, 1e-6, "1e+300"),
        (nan, nan, 1e-6, "NaN"),
        (-inf, -inf, 1e-6, "-inf"),
        (1 + 2j, 1 + 2j, 1e-6, "1.0+2.0j"),
        (-1j, -1j, 1e-6, "0.0-1.0j"),
        (True, True, 1e-6, "True"),
        ([0.0, -1e-17, 1.0], [0, 0, 1], 1e-6, "[0.0, 0.0, 1.0]"),
        (np.eye(2, dtype=np.float32), np.eye(2), 1e-6, "[[1.0, 0.0], [0.0, 1.0]]"),
        ([1.0], 1, 1e-6, "[1.0]"),
        ([nan, inf, 2.0], [nan, inf, 2], 1e-6, "[NaN, inf, 2.0]"),
        (grid, grid, 1e-6, "12 values match, shape (3, 4)"),
        (np.ones((1, 2, 1)), np.ones((1, 2, 1)), 1e-6, "2 values match, shape (1, 2, 1)"),
        (np.full((3, 4), 1e-17), 0.0, 1e-6, "all 12 values are 0.0, shape (3, 4)"),
        ([1.0, 1.0], 1.0, 1e-6, "all 2 values are 1.0, shape (2,)"),
        ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], 1e-6, "[[1, 2, 3], [4, 5, 6]]"),
        (range(7), range(7), 1e-6, "7 values match, shape (7,)"),
        (range(3), [0, 1, 2], 1e-6, "[0, 1, 2]"),
        ((0.5, 1.5), [0.5, 1.5], 1e-6, "[0.5, 1.5]"),
    ],
)
def test_a_close_value_passes_and_is_rounded(capsys, value, expected, tol, text):
    assert check_close("name", value, expected, tol=tol) is True
    assert line(capsys) == f"PASS - name: {text}"


@for_each(
    ("value", "expected", "tol", "text"),
    [
        (2.0, 1.0, 1e-6, "got 2.0, expected 1.0, difference 1.0"),
        (1.0012, 1.0, 1e-3 / 2, "got 1.0012, expected 1.0, difference 0.0012"),
        (2e-7, 1e-7, 1e-12, "got 2e-07, expected 1e-07, difference 1e-07"),
        (0.123456789, 0, 1e-6, "got 0.12345679, expected 0, difference 0.123"),
        (1 / 3, 1, 0, "got 0.33333333333333, expected 1, difference 0.667"),
        (nan, 1.0, 1e-6, "got NaN, expected 1.0"),
        (1.0, nan, 1e-6, "got 1.0, expected NaN"),
        (inf, -inf, 1e-6, "got inf, expected -inf"),
        (1.0, inf, 1e-6, "got 1.0, expected inf"),
        (1 + 1j, 1 - 1j, 1e-6, "got 1.0+1.0j, expected 1.0-1.0j, difference 2.0"),
        (2**53 + 1, 2**53, 0, "got 9007199254740993, expected 9007199254740992, difference 0.0"),
        (
            grid + (grid > 9),
            grid,
            1e-6,
            "at [2, 2] got 11.0, expected 10.0; 2 of 12 values wrong, largest difference 1.0",
        ),
        ([1.0, nan, 2.0], [1.0, 2.0, 2.5], 1e-6, "at [1] got NaN, expected 2.0; 2 of 3 values wrong, 1 NaN, "
         "largest difference 0.5"),
        ([inf, 1.0], 1.0, 1e-6, "at [0] got inf, expected 1.0; 1 of 2 values wrong, 1 infinite"),
        ([1.0, 2.0], 1, 1e-6, "at [1] got 2.0, expected 1; 1 of 2 values wrong, largest difference 1.0"),
        (np.ones((3, 1)), np.ones(3), 1e-6, "value has shape (3, 1), expected (3,)"),
        (1.0, [1.0], 1e-6, "value has shape (), expected (1,)"),
        ([], [], 1e-6, "value has shape (0,): there is nothing to compare"),
        (np.ones((0, 3)), 1.0, 1e-6, "value has shape (0, 3): there is nothing to compare"),
        (None, 1.0, 1e-6, "value is None; does the function return something?"),
        (1.0, None, 1e-6, "expected is None"),
        ("1", 1, 1e-6, "value is a str, expected real or complex numbers"),
        (["a"], [1], 1e-6, "value is a list of length 1, expected real or complex numbers"),
        ([[1], [1, 2]], 1, 1e-6, "value is a list of length 2 and cannot become an array of numbers: its rows "
         "differ in length"),
        ({1: 2}, 1, 1e-6, "value is a dict, expected real or complex numbers"),
        (print, 1, 1e-6, "value is a builtin_function_or_method, expected real or complex numbers"),
        (2**64, 2**64, 1e-6, "value is an int of more than 64 bits, expected real or complex numbers"),
        (-(2**63) - 1, 0, 1e-6, "value is an int of more than 64 bits, expected real or complex numbers"),
        (Fraction(1, 2), 0.5, 1e-6, "value is a Fraction, expected real or complex numbers"),
        (np.array([None]), 1.0, 1e-6, "value is an array of object with shape (1,), expected real or complex numbers"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), 1.0, 1e-6, "value is a masked array; compare x.compressed() or "
         "x.filled(...) instead"),
        ([True], 1.0, 1e-6, "value is bool, expected float64: True/False is not a number here"),
        (1.0, 1.0, -1, "tol is -1, expected a finite number of at least 0"),
        (1.0, 2.0, inf, "tol is inf, expected a finite number of at least 0"),
        (1.0, 1.0, nan, "tol is NaN, expected a finite number of at least 0"),
        (1.0, 1.0, "1e-6", "tol is a str, expected a number"),
    ],
)  # fmt: skip
def test_a_distant_value_fails_and_says_why(capsys, value, expected, tol, text):
    assert check_close("name", value, expected, tol=tol) is False
    assert line(capsys) == f"FAIL - name: {text}"


@pytest.mark.parametrize("largest", [2**64 - 1, -(2**63)])
def test_a_64_bit_int_is_a_number(capsys, largest):
    assert check_close("name", largest, largest) is True
    assert line(capsys) == f"PASS - name: {largest}"
    check_true("name", largest)
    assert line(capsys).startswith("FAIL - name: got an int, expected True or False")


def test_the_tolerance_is_a_millionth_by_default(capsys):
    assert check_close("name", 1e-6, 0.0) is True
    assert check_close("name", 1.5e-6, 0.0) is False
    assert checks.to_tolerance(2 / 3) == "0.666667"


def test_a_difference_equal_to_the_tolerance_passes():
    assert checks.compare(0.5, 0.0, 0.5)[0]
    assert checks.compare(2.5, 1.0, 0.75)[0]
    assert not checks.compare(2.51, 1.0, 0.75)[0]


def test_whole_results_are_refused_with_the_right_field(capsys):
    result = namedtuple("Normalized", "y mean var")(1.0, 1.0, 1.0)
    assert not check_close("name", result, 1.0)
    assert line(capsys) == (
        "FAIL - name: value is Normalized(y, mean, var), expected one array; pick a field, for example .y"
    )


@pytest.mark.parametrize("huge", [range(10**7 + 1), range(10**12), np.broadcast_to(0.0, (10**12,))])
def test_a_huge_value_is_refused_before_filling_memory(capsys, huge):
    assert not check_close("name", huge, 0.0)
    assert line(capsys) == "FAIL - name: value has more than 10000000 values; compare a part of it"


def test_a_value_of_the_maximal_size_is_compared(monkeypatch):
    monkeypatch.setattr(checks, "MOST_VALUES", 6)
    for ones in (np.ones(6), [1] * 6, [[1, 1]] * 3, [[[1]] * 2] * 3):
        assert checks.compare(ones, 1, 0)[0]
    for ones in (np.ones(7), [1] * 7, [[1]] * 7, [[1, 1]] * 6, [[[1, 1]] * 3] * 2):
        assert checks.compare(ones, 1, 0) == (False, "value has more than 6 values; compare a part of it")


def test_lists_are_counted_as_deep_as_arrays(capsys):
    nest = range(10**8)
    for _ in range(63):
        nest = [nest]
    check_close("name", nest, 0.0)
    assert line(capsys).endswith("value has more than 10000000 values; compare a part of it")
    check_close("name", [nest], 0.0)
    assert line(capsys).startswith("FAIL - name: value is a list of length 1 and cannot become an array of numbers: ")


class Strange:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("use .detach() first")


class Fragile:
    def __getattr__(self, name):
        raise OSError("do not touch")


def test_an_object_that_becomes_no_array_fails(capsys):
    assert not check_close("name", Strange(), 1.0)
    assert line(capsys) == (
        "FAIL - name: value is a Strange and cannot become an array of numbers: RuntimeError: use .detach() first"
    )
    assert not check_close("name", [Strange()], 1.0)
    assert line(capsys).endswith(
        "list of length 1 and cannot become an array of numbers: RuntimeError: use .detach() first"
    )
    assert not check_true("name", Strange())
    assert line(capsys) == "FAIL - name: could not be compared (RuntimeError: use .detach() first)"


@pytest.mark.parametrize("check", [lambda x: check_close("name", x, 1.0), lambda x: check_true("name", x)])
def test_an_object_raising_at_every_touch_fails(capsys, check):
    assert check(Fragile()) is False
    assert line(capsys).startswith("FAIL - name: ")


def test_a_comparison_prints_no_warning_and_changes_nothing(capsys):
    value, expected = np.array([nan, inf, 1e308]), np.array([1.0, -inf, -1e308])
    check_close("name", value, expected)
    assert line(capsys).startswith("FAIL - name: at [0] got NaN, expected 1.0; 3 of 3 values wrong, 1 NaN, 1 inf")
    np.testing.assert_array_equal(value, [nan, inf, 1e308])


@for_each(
    ("x", "tol", "text"),
    [
        (2 / 3, 1e-3, "0.667"),
        (2 / 3, 2e-3, "0.67"),
        (20 / 3, 1e-3, "6.67"),
        (2 / 3, 0, "0.666666666667"),
        (2 / 3, 1e-20, "0.666666666666667"),
        (2 / 3, 1e-6 * (1 + 1e-9), "0.666667"),  # as good as 1e-6
        (2 / 3, 1e-6 * (1 + 4e-9), "0.66667"),
        (0.3749996, 1e-2, "0.38"),  # 0.375 to four more digits
        (0.374996, 1e-2, "0.37"),
        (1e15, 1e-6, "1e+15"),
        (-1234567e9, 1e-20, "-1.23457e+15"),
        (123456789012345.0, 1e-20, "123456789012345.0"),
        (np.float16(-inf), 1e-6, "-inf"),
        (np.float32(inf), 1e-6, "inf"),
    ],
)
def test_numbers_have_the_digits_their_tolerance_leaves(x, tol, text):
    assert checks.to_tolerance(x, tol) == text


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(-1e6, 1e6), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_rounded_numbers_keep_tolerance_and_avoid_minus_zero(x, tol):
    text = checks.to_tolerance(x, tol)
    assert abs(float(text) - x) <= 5.01 * tol * max(1, abs(x))
    assert text != "-0.0" and "float" not in text


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0, 1e-9, 1e-3, 1.0]))
def test_a_check_agrees_with_the_tolerance_formula(x, expected, tol):
    assert checks.compare(x, expected, tol)[0] == (abs(x - expected) <= tol + tol * abs(expected))


def test_without_broadcasting_a_number_is_no_array():
    assert checks.compare([1.0], 1.0, 0)[0]
    assert checks.compare([1.0], 1.0, 0, broadcast=False) == (False, "value has shape (1,), expected ()")


# ----------------------------------------------------------------------------------------------- check_true


@for_each("condition", [True, np.True_, np.array(True), np.array([[True]]), np.all([1, 2])])
def test_one_true_condition_passes(capsys, condition):
    assert check_true("name", condition) is True
    assert line(capsys) == "PASS - name"


COMPARE_IT = "compare it with something, or use np.all(...) for an array"


@for_each(
    ("condition", "text"),
    [
        (False, "the condition is False"),
        (np.False_, "the condition is False"),
        (np.array([False]), "the condition is False"),
        (np.array([True, False]), "got 2 conditions, 1 of them False, expected one; use np.all(...)"),
        (np.array([True, True]), "got 2 conditions, 0 of them False, expected one; use np.all(...)"),
        (np.array([], dtype=bool), "got 0 conditions, 0 of them False, expected one; use np.all(...)"),
        (np.ones(3), f"got an array of float64 with shape (3,), expected True or False; {COMPARE_IT}"),
        (None, f"got None, expected True or False; {COMPARE_IT}"),
        (1, f"got an int, expected True or False; {COMPARE_IT}"),
        ("yes", f"got a str, expected True or False; {COMPARE_IT}"),
        ([True], f"got a list of length 1, expected True or False; {COMPARE_IT}"),
        ((x for x in [True]), f"got a generator, expected True or False; {COMPARE_IT}"),
        (np.ma.masked_array([True]), f"got a masked array with shape (1,), expected True or False; {COMPARE_IT}"),
        (lambda: True, "got a function, expected True or False; call it"),
        (np.ndarray, "got the class ndarray, expected True or False; call it"),
    ],
)
def test_what_is_not_true_never_passes(capsys, condition, text):
    assert check_true("name", condition) is False
    assert line(capsys) == f"FAIL - name: {text}"


@pytest.mark.parametrize(
    ("value", "expected", "text"),
    [
        (0.123456 + 0.234567j, 0.123456 + 0.234567j, "PASS - name: 0.12+0.23j"),
        ([[0.123456], [0.5]], [[0.123456], [0.5]], "PASS - name: [[0.12], [0.5]]"),
        ([0.123456, 0.123456], 0.123456, "PASS - name: all 2 values are 0.12, shape (2,)"),
        (1.0, 0.123456789, "FAIL - name: got 1.0, expected 0.1235, difference 0.877"),
    ],
)
def test_shown_digits_suit_the_tolerance(capsys, value, expected, text):
    check_close("name", value, expected, tol=1e-2)
    assert line(capsys) == text


def test_invisible_characters_become_question_marks(capsys):
    check_true("a\x07b\ud800", True)
    assert line(capsys) == "PASS - a?b?"


def test_bfloat16_is_compared_as_a_number(capsys):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1.0, 1.0078125], dtype=ml_dtypes.bfloat16)
    assert check_close("name", value, [1, 1.0078125], tol=1e-4)
    assert line(capsys) == "PASS - name: [1.0, 1.008]"


def test_without_ipython_there_is_no_cell(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert checks._cell_number() is None


class Xylophone:
    """Something whose name begins with a consonant."""


@for_each(
    ("thing", "words"),
    [
        (None, "None"),
        (True, "True"),
        (np.False_, "False"),
        (OSError(), "an OSError"),
        (Xylophone(), "a Xylophone"),
    ],
)
def test_anything_given_is_described_briefly(thing, words):
    assert checks.describe(thing) == words


# --------------------------------------------------------------------------------------------- check_raises


def test_an_expected_error_passes_and_others_fail(capsys):
    assert check_raises("name", ValueError, int, "x") is True
    assert line(capsys) == "PASS - name: raised ValueError"
    assert check_raises("name", (KeyError, TypeError), sorted, 3) is True
    assert line(capsys) == "PASS - name: raised TypeError"
    assert check_raises("name", TypeError, {}.__getitem__, "x") is False
    assert line(capsys) == "FAIL - name: raised KeyError: 'x', expected TypeError"
    assert check_raises("name", ValueError, int, "1") is False
    assert line(capsys) == "FAIL - name: nothing was raised, expected ValueError"
    assert check_raises("name", (KeyError, TypeError), int, "1") is False
    assert line(capsys) == "FAIL - name: nothing was raised, expected KeyError or TypeError"


def test_keyword_arguments_reach_the_function_by_any_name():
    def refuses(**kwargs):
        given.update(kwargs)
        raise ValueError

    given = {}
    assert check_raises("name", ValueError, refuses, name=1, function=2, error_type=3)
    assert given == {"name": 1, "function": 2, "error_type": 3}


def test_an_error_shows_type_and_120_letters():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert checks.explain(Mute()) == "Mute"
    assert checks.explain(ValueError()) == "ValueError"
    assert checks.explain(ValueError("two\n words")) == "ValueError: two words"
    assert checks.explain(ValueError(120 * "a")) == "ValueError: " + 120 * "a"
    assert checks.explain(ValueError(121 * "a")) == "ValueError: " + 117 * "a" + "..."


@for_each(
    ("error_type", "function", "text"),
    [
        (ValueError, 3.0, "got a float, expected the function itself, not its result"),
        (Exception, int, "Exception is too general, expected a class such as ValueError"),
        ("ValueError", int, "error_type is a str, expected an exception class"),
        ((), int, "error_type is a tuple of length 0, expected an exception class"),
        ((ValueError, "KeyError"), int, "error_type is a tuple of length 2, expected an exception class"),
        (int, int, "error_type is the class int, expected an exception class"),
    ],
)
def test_check_raises_called_wrongly_fails(capsys, error_type, function, text):
    assert check_raises("name", error_type, function) is False
    assert line(capsys) == f"FAIL - name: {text}"


# ---------------------------------------------------------------------------------------- names and summary


def test_a_name_is_put_on_one_line(capsys):
    check_true("two\n lines ", True)
    assert line(capsys) == "PASS - two lines"


@pytest.mark.parametrize(("name", "given"), [("", "an empty text"), (" \n", "an empty text"), (3.0, "a float")])
def test_a_check_without_a_name_fails(capsys, name, given):
    assert check_true(name, True) is False
    assert line(capsys) == f"FAIL - check without a name: the first argument is the name, got {given}"


def test_a_line_is_never_longer_than_300_characters(capsys):
    check_true("long " * 100, True)
    assert len(line(capsys)) == 300
    check_raises("name", KeyError, int, "x" * 1000)
    assert len(line(capsys)) < 200


def test_only_long_texts_are_shortened():
    assert checks.shorten("abcdef", 6) == "abcdef"
    assert checks.shorten("abcdefg", 6) == "abc..."


def test_summary_counts_what_ran(capsys):
    check_true("a", True)
    check_close("b", 1.0, 1.0)
    capsys.readouterr()
    assert summary() is True
    assert line(capsys) == "2 of 2 checks passed"


def test_summary_names_what_failed(capsys):
    check_true("a", True)
    check_true("b", False)
    check_close("c", 1.0, 2.0)
    capsys.readouterr()
    assert summary() is False
    assert line(capsys) == "1 of 3 checks passed; failed: b, c"


def test_a_long_line_breaks_between_words_with_indent(capsys):
    check_true("word " * 30, True)
    rows = capsys.readouterr().out.splitlines()
    assert rows == ["PASS -" + " word" * 16, " " * 7 + " ".join(["word"] * 14)]
    check_true("w" * 100, True)
    assert capsys.readouterr().out.splitlines() == ["PASS -", " " * 7 + "w" * 100], "a word stays whole"
    check_true("well-known" + " x" * 31 + " half-broken", True)
    assert capsys.readouterr().out.splitlines()[1] == " " * 7 + "half-broken"


def test_a_line_of_88_columns_is_not_broken(capsys):
    check_true("x " * 40 + "y", True)
    assert capsys.readouterr().out.count("\n") == 1
    check_true("x " * 40 + "yz", True)
    assert capsys.readouterr().out.count("\n") == 2


def exercise(name, passed):
    return checks.record(name, passed, "", kind="exercise")


def solution(name, passed):
    return checks.record(f"solution of {name}", passed, "", kind="solution")


def said_by_summary(capsys):
    capsys.readouterr()
    returned = summary()
    return returned, line(capsys)


def test_summary_counts_exercises_apart_from_checks(capsys):
    check_true("a", True)
    exercise("my_a", True)
    exercise("my_b", False)
    exercise("my_c", None)
    exercise("my_d", None)
    text = "1 of 1 checks passed; exercises: 1 passed, 1 failed (my_b), 2 to do (my_c, my_d)"
    assert said_by_summary(capsys) == (False, text)


def test_summary_accepts_an_exercise_that_is_to_do(capsys):
    check_true("a", True)
    exercise("my_a", None)
    assert said_by_summary(capsys) == (True, "1 of 1 checks passed; exercises: 1 to do (my_a)")
    exercise("my_a", True)
    assert said_by_summary(capsys) == (True, "1 of 1 checks passed; exercises: 1 passed")


def test_summary_names_a_solution_only_if_it_failed(capsys):
    check_true("a", False)
    exercise("my_a", None)
    solution("my_a", True)
    assert said_by_summary(capsys) == (False, "0 of 1 checks passed; failed: a; exercises: 1 to do (my_a)")
    solution("my_a", False)
    assert said_by_summary(capsys) == (
        False,
        "0 of 1 checks passed; failed: a, solution of my_a; exercises: 1 to do (my_a)",
    )


def test_summary_of_exercises_alone_needs_one_that_passed(capsys):
    exercise("my_a", None)
    assert said_by_summary(capsys) == (False, "exercises: 1 to do (my_a)")
    exercise("my_b", True)
    assert said_by_summary(capsys) == (True, "exercises: 1 passed, 1 to do (my_a)")


def test_a_solution_alone_is_not_a_success(capsys):
    solution("my_a", True)
    assert said_by_summary(capsys) == (False, "no checks have run")


def test_check_and_exercise_of_one_name_count_separately(capsys):
    check_true("my_a", True)
    exercise("my_a", False)
    assert said_by_summary(capsys) == (False, "1 of 1 checks passed; exercises: 1 failed (my_a)")


def test_summary_without_checks_is_not_a_success(capsys):
    assert summary() is False
    assert line(capsys) == "no checks have run"


def test_running_a_cell_again_updates_its_result(capsys, cell):
    check_true("a", False)
    cell.execution_count = 2
    check_true("a", True)
    capsys.readouterr()
    assert summary() is True
    assert line(capsys) == "1 of 1 checks passed"


def test_outside_a_notebook_the_latest_result_counts(capsys):
    check_true("a", False)
    check_true("a", True)
    capsys.readouterr()
    assert summary() is True


def test_a_check_passing_in_every_round_passes(capsys, cell):
    for _ in range(3):
        check_true("a", True)
    capsys.readouterr()
    assert summary() is True


def test_a_failure_in_a_loop_is_remembered(capsys, cell):
    for condition in (True, False, True):
        check_true("a", condition)
    capsys.readouterr()
    assert summary() is False
    assert line(capsys) == "0 of 1 checks passed; failed: a"


@for_each(
    "value, low, high, text",
    [
        (0.5, 0, 1, "0.5, between 0 and 1"),
        (1, 0, 1, "1, between 0 and 1"),
        (0.71239, 0.45, 1, "0.712, between 0.45 and 1"),
        (2.0, 0.1, np.inf, "2, at least 0.1"),
        (2.0, -np.inf, 3, "2, at most 3"),
        (1e-10, 1e-13, 1e-9, "1e-10, between 1e-13 and 1e-09"),
        (-0.5, -(2**0.5), -0.0, "-0.5, between -1.41421 and 0"),
        (-0.0, -1, 1, "0, between -1 and 1"),
        (0.1, 0.1, 0.1, "0.1, between 0.1 and 0.1"),
        (65504.25, 0, 1e6, "65504, between 0 and 1e+06"),
        (999.5, 0, 1e6, "1000, between 0 and 1e+06"),
        (1e6, 0, 1e7, "1e+06, between 0 and 1e+07"),
        (1234567.0, 0, 1e7, "1.23e+06, between 0 and 1e+07"),
        (1234567, 0, 1e7, "1234567, between 0 and 1e+07"),
        (np.inf, 0, np.inf, "inf, at least 0"),
        # with three digits it would seem to lie outside
        (0.9996, 0, 0.9999, "0.9996, between 0 and 0.9999"),
        (1234.4, 1234.2, 2000, "1234.4, between 1234.2 and 2000"),
        (2 / 3, 0, 2 / 3, "0.666667, between 0 and 0.666667"),
        # compared as float16, where all three are equal
        (np.float16([0.1]), 0.099978, 0.099979, "0.0999756, between 0.099978 and 0.099979"),
        ([3], 3, np.inf, "3, at least 3"),
        ([0.50001, 0.99999], 0.5, 1, "both values are between 0.5 and 1, from 0.5 to 1"),
        ([[0.5], [0.4], [0.1234]], 0, 1, "all 3 values are between 0 and 1, from 0.123 to 0.5"),
        (np.float16([0.1, 0.2]), 0, 1, "both values are between 0 and 1, from 0.1 to 0.2"),
    ],
)
def test_check_between_shows_value_and_bounds(capsys, value, low, high, text):
    assert check_between("a", value, low, high) is True
    assert line(capsys) == f"PASS - a: {text}"


@for_each(
    "value, low, high, text",
    [
        (1.5, 0, 1, "got 1.5, expected between 0 and 1"),
        (1 / 3, 1, 2, "got 0.33333333, expected between 1 and 2"),
        (np.nan, 0, 1, "got NaN, expected between 0 and 1"),
        (np.inf, 0, np.inf, None),
        ([0.5, 2, 3], 0, 1, "at [1] got 2.0, expected between 0 and 1; 2 of 3 values wrong"),
        (0.5, 1, 0, "the bounds are 1 and 0, expected the lower one first and at least one finite"),
        (0.5, -np.inf, np.inf, "the bounds are -inf and inf, expected the lower one first and at least one finite"),
        (0.5, None, 1, "low is None, expected a number"),
        (0.5, 0, np.nan, "high is a float, expected a number"),
        (True, 0, 1, "value is bool: True/False is not a number here"),
        (1j, 0, 1, "value is a complex, expected real numbers"),
        (None, 0, 1, "value is None; does the function return something?"),
        ([], 0, 1, "value has shape (0,): there is nothing to compare"),
    ],
)
def test_check_between_fails_outside_or_without_order(capsys, value, low, high, text):
    passed = check_between("a", value, low, high)
    assert passed is (text is None)
    assert line(capsys) == (f"FAIL - a: {text}" if text else f"PASS - a: inf, at least {low}")


def test_reset_forgets_everything(capsys):
    check_true("a", False)
    checks.reset()
    capsys.readouterr()
    summary()
    assert line(capsys) == "no checks have run"


# --------------------------------------------------------------------------------- strict mode, and what is not counted


@pytest.mark.parametrize(
    "fail",
    [
        lambda: check_close("a", 1.0, 2.0),
        lambda: check_true("a", False),
        lambda: check_raises("a", ValueError, int),
        lambda: check_true("", True),
    ],
)
def test_strict_mode_raises_the_line_it_printed(capsys, monkeypatch, fail):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError) as error:
        fail()
    assert str(error.value) == line(capsys)
    assert list(checks._results.values())[0][0] is False


def test_strict_mode_lets_passing_and_unfinished_ones_through(monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    assert check_true("a", True)
    assert exercise("my_b", None) is False
    assert summary() is True


@pytest.mark.parametrize("result", [exercise, solution])
def test_strict_mode_rejects_failed_exercises_and_solutions(monkeypatch, result):
    check_true("a", True)
    result("my_b", False)
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError, match="1 of 1 checks passed; .*my_b"):
        summary()


def test_strict_mode_rejects_an_empty_summary(monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError, match="^no checks have run$"):
        summary()


@pytest.mark.parametrize("value", ["", "0"])
def test_strict_mode_is_off_at_empty_or_zero(monkeypatch, value):
    monkeypatch.setenv("HELPERS_STRICT", value)
    assert check_true("a", False) is False


def test_a_rehearsal_prints_but_neither_counts_nor_raises(capsys, monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with not_counted():
        assert check_close("a", 1.0, 2.0) is False
        with not_counted():
            assert check_true("b", True) is True
        assert check_true("c", False) is False
    assert capsys.readouterr().out.count("\n") == 3
    assert checks._results == {}
    with pytest.raises(AssertionError):
        check_true("d", False)


def test_a_rehearsal_ends_also_when_its_block_raises(monkeypatch):
    with pytest.raises(KeyError), not_counted():
        raise KeyError
    check_true("a", True)
    assert ("check", "a") in checks._results


# --------------------------------------------------------------------------- what a notebook shows of a check


def display_of(source, shell):
    """What Jupyter would display for a cell: the value of its last expression after the shell's transformers."""
    tree = ast.parse(source)
    for transformer in shell.ast_transformers:
        tree = transformer.visit(tree)
    *before, last = tree.body
    namespace = dict.fromkeys(("check_true", "check_between", "summary"), lambda *_: True)
    namespace["x"] = SimpleNamespace(summary=lambda: True)
    exec(compile(ast.Module(before, []), "cell", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if isinstance(last, ast.Expr) else None


@pytest.fixture
def shell(monkeypatch):
    """A notebook's shell, of which hide_check_values knows."""
    shell = SimpleNamespace(ast_transformers=[])
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    hide_check_values()
    return shell


@pytest.mark.parametrize("source", ["check_true('a', True)", "check_between('a', 1, 0, 2)", "y = 1\nsummary()"])
def test_a_cell_ending_in_a_check_displays_nothing(shell, source):
    assert display_of(source, shell) is None


@pytest.mark.parametrize(
    ("source", "value"), [("1 + 1", 2), ("len('ab')", 2), ("check_true('a', True)\n3", 3), ("x.summary()", True)]
)
def test_a_cell_ending_in_anything_else_displays_it(shell, source, value):
    assert display_of(source, shell) == value


@pytest.mark.parametrize("source", ["", "y = 1", "for i in []: pass", "summary"])
def test_a_cell_without_a_final_check_stays_unchanged(shell, source):
    tree = ast.parse(source)
    assert ast.dump(shell.ast_transformers[0].visit(tree)) == ast.dump(ast.parse(source))


def test_importing_the_helpers_again_hides_nothing_twice(shell):
    hide_check_values()
    assert len(shell.ast_transformers) == 1


def test_foreign_transformers_do_not_keep_check_values_visible(monkeypatch):
    shell = SimpleNamespace(ast_transformers=[ast.NodeTransformer()])
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    hide_check_values()
    assert len(shell.ast_transformers) == 2


def test_outside_a_notebook_there_is_nothing_to_hide(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    hide_check_values()
    monkeypatch.delitem(sys.modules, "IPython")
    hide_check_values()
