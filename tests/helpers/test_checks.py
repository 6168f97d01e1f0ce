"""The lines a check prints, word for word, and what summary() counts."""

import ast
import sys
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import checks
from helpers.checks import check_all, check_between, check_close, check_raises, check_true, not_counted, summary
from helpers.notebook import hide_check_values
from tests.shared import only_line as line


@pytest.fixture
def cell(monkeypatch):
    """Pretend to be in a notebook; set `cell.execution_count` to move on to another cell."""
    shell = SimpleNamespace(execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return shell


class Strange:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("use .detach() first")


grid = np.arange(12.0).reshape(3, 4)
nan, inf = np.nan, np.inf
result = namedtuple("Normalized", "y mean var")(1.0, 1.0, 1.0)
masked = np.ma.masked_array([1.0, 2.0], [0, 1])
HUGE = "value has more than 10000000 values; compare a part of it"
NO_ARRAY = "and cannot become an array of numbers"
DETACH = "RuntimeError: use .detach() first"
NUMBERS = "expected real or complex numbers"
TOL = "expected a finite number of at least 0"
WRONG = "wrong, largest difference"
NOT_BOOL = "expected True or False"
COMPARE_IT = f"{NOT_BOOL}; compare it with something, or use np.all(...) for an array"
BOUNDS = "expected the lower one first and at least one finite"

# What goes in behind the name, and the line that comes out behind it.
CLOSE = [
    (1 / 3, 1 / 3, "PASS: 0.333333"),
    (np.float32(0.1), 0.1, "PASS: 0.1"),
    (np.float16(0.1), 0.1, 1e-3, "PASS: 0.1"),
    (-1e-17, 0, "PASS: 0.0"),
    (0.125 + 1e-12, 0.125, 1e-2, "PASS: 0.12"),
    (0.123456 + 0.234567j, 0.123456 + 0.234567j, 1e-2, "PASS: 0.12+0.23j"),
    (True, True, "PASS: True"),
    (2**64 - 1, 2**64 - 1, "PASS: 18446744073709551615"),
    ([nan, inf, -1e-17], [nan, inf, 0], "PASS: [NaN, inf, 0.0]"),
    (np.ones((1, 2, 1)), np.ones((1, 2, 1)), "PASS: 2 values match, shape (1, 2, 1)"),
    ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], "PASS: [[1, 2, 3], [4, 5, 6]]"),
    (grid, grid, "PASS: 12 values match, shape (3, 4)"),
    ([0.123456, 0.123456], 0.123456, 1e-2, "PASS: all 2 values are 0.12, shape (2,)"),
    (1.0012, 1.0, 1e-3 / 2, "FAIL: got 1.0012, expected 1.0, difference 0.0012"),
    (1 / 3, 1, 0, "FAIL: got 0.33333333333333, expected 1, difference 0.667"),
    (nan, 1.0, "FAIL: got NaN, expected 1.0"),
    (1 + 1j, 1 - 1j, "FAIL: got 1.0+1.0j, expected 1.0-1.0j, difference 2.0"),
    (2**53 + 1, 2**53, 0, "FAIL: got 9007199254740993, expected 9007199254740992, difference 0.0"),
    (grid + (grid > 9), grid, f"FAIL: at [2, 2] got 11.0, expected 10.0; 2 of 12 values {WRONG} 1.0"),
    (
        [nan, inf, 1e308],
        [1.0, -inf, -1e308],
        "FAIL: at [0] got NaN, expected 1.0; 3 of 3 values wrong, 1 NaN, 1 infinite",
    ),
    (np.ones((3, 1)), np.ones(3), "FAIL: value has shape (3, 1), expected (3,)"),
    ([], [], "FAIL: value has shape (0,): there is nothing to compare"),
    (None, 1.0, "FAIL: value is None; does the function return something?"),
    (1.0, None, "FAIL: expected is None"),
    ("1", 1, f"FAIL: value is a str, {NUMBERS}"),
    ([[1], [1, 2]], 1, f"FAIL: value is a list of length 2 {NO_ARRAY}: its rows differ in length"),
    (Strange(), 1, f"FAIL: value is a Strange {NO_ARRAY}: {DETACH}"),
    (-(2**63) - 1, 0, f"FAIL: value is an int of more than 64 bits, {NUMBERS}"),
    (masked, 1.0, "FAIL: value is a masked array; compare x.compressed() or x.filled(...) instead"),
    (result, 1.0, "FAIL: value is Normalized(y, mean, var), expected one array; pick a field, for example .y"),
    ([True], 1.0, "FAIL: value is bool, expected float64: True/False is not a number here"),
    (range(10**12), 0, f"FAIL: {HUGE}"),
    ([[[[[range(10**8)]]]]], 0, f"FAIL: {HUGE}"),
    (1.0, 1.0, -1, f"FAIL: tol is -1, {TOL}"),
    (1.0, 1.0, "1e-6", "FAIL: tol is a str, expected a number"),
]
TRUE = [
    *((condition, "PASS") for condition in (True, np.True_, np.array(True), np.array([[True]]), np.all([1, 2]))),
    (np.False_, "FAIL: the condition is False"),
    (np.array([True, False]), "FAIL: got 2 conditions, 1 of them False, expected one; use np.all(...)"),
    (np.ones(3), f"FAIL: got an array of float64 with shape (3,), {COMPARE_IT}"),
    (None, f"FAIL: got None, {COMPARE_IT}"),
    (2**64 - 1, f"FAIL: got an int, {COMPARE_IT}"),
    (np.ma.masked_array([True]), f"FAIL: got a masked array with shape (1,), {COMPARE_IT}"),
    (lambda: True, f"FAIL: got a function, {NOT_BOOL}; call it"),
    (np.ndarray, f"FAIL: got the class ndarray, {NOT_BOOL}; call it"),
    (Strange(), f"FAIL: could not be compared ({DETACH})"),
]
BETWEEN = [
    (0.5, 0, 1, "PASS: 0.5, between 0 and 1"),
    (0.71239, 0.45, 1, "PASS: 0.712, between 0.45 and 1"),
    (35.449, 0, 100, "PASS: 35.4, between 0 and 100"),
    (2.0, 0.1, inf, "PASS: 2, at least 0.1"),
    (2.0, -inf, 3, "PASS: 2, at most 3"),
    (-0.5, -(2**0.5), -0.0, "PASS: -0.5, between -1.41421 and 0"),
    (-0.0, -1, 1, "PASS: 0, between -1 and 1"),
    (65504.25, 0, 1e6, "PASS: 65504, between 0 and 1e+06"),
    (1234567, 0, 1e7, "PASS: 1234567, between 0 and 1e+07"),
    # with three digits it would seem to lie outside
    (0.9996, 0, 0.9999, "PASS: 0.9996, between 0 and 0.9999"),
    (2 / 3, 0, 2 / 3, "PASS: 0.666667, between 0 and 0.666667"),
    # compared as float16, where all three are equal
    (np.float16([0.1]), 0.099978, 0.099979, "PASS: 0.0999756, between 0.099978 and 0.099979"),
    ([0.50001, 0.99999], 0.5, 1, "PASS: both values are between 0.5 and 1, from 0.5 to 1"),
    ([[0.5], [0.4], [0.1234]], 0, 1, "PASS: all 3 values are between 0 and 1, from 0.123 to 0.5"),
    (1.5, 0, 1, "FAIL: got 1.5, expected between 0 and 1"),
    (1 / 3, 1, 2, "FAIL: got 0.33333333, expected between 1 and 2"),
    ([0.5, 2, 3], 0, 1, "FAIL: at [1] got 2.0, expected between 0 and 1; 2 of 3 values wrong"),
    (0.5, 1, 0, f"FAIL: the bounds are 1 and 0, {BOUNDS}"),
    (0.5, -inf, inf, f"FAIL: the bounds are -inf and inf, {BOUNDS}"),
    (0.5, False, 1, "FAIL: low is False, expected a number"),
    (None, 0, 1, "FAIL: value is None; does the function return something?"),
    (0.5, 0, nan, "FAIL: high is a float, expected a number"),
    (True, 0, 1, "FAIL: value is bool: True/False is not a number here"),
    (1j, 0, 1, "FAIL: value is a complex, expected real numbers"),
    ([], 0, 1, "FAIL: value has shape (0,): there is nothing to compare"),
]
RAISES = [
    (ValueError, int, "x", "PASS: raised ValueError"),
    ((KeyError, TypeError), sorted, 3, "PASS: raised TypeError"),
    (TypeError, {}.__getitem__, "x", "FAIL: raised KeyError: 'x', expected TypeError"),
    (ValueError, int, "1", "FAIL: nothing was raised, expected ValueError"),
    (ValueError, 3.0, "FAIL: got a float, expected the function itself, not its result"),
    (Exception, int, "FAIL: Exception is too general, expected a class such as ValueError"),
    ((ValueError, "KeyError"), int, "FAIL: error_type is a tuple of length 2, expected an exception class"),
]
TABLES = {check_close: CLOSE, check_true: TRUE, check_between: BETWEEN, check_raises: RAISES}
ROWS = [(check, row) for check, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("check", "row"), ROWS, ids=[f"{check.__name__}-{row[-1][:50]}" for check, row in ROWS])
def test_a_check_says_what_it_found(capsys, check, row):
    *arguments, words = row
    verdict, colon, rest = words.partition(":")
    assert check("name", *arguments) is (verdict == "PASS")
    assert line(capsys) == f"{verdict} - name{colon}{rest}"


def test_a_value_of_the_maximal_size_is_compared(monkeypatch):
    monkeypatch.setattr(checks, "MOST_VALUES", 6)
    for ones in (np.ones(6), [1] * 6, [[1, 1]] * 3, [[[1]] * 2] * 3):
        assert checks.compare(ones, 1, 0)[0]
    for ones in (np.ones(7), [1] * 7, [[1]] * 7, [[1, 1]] * 6, [[[1, 1]] * 3] * 2):
        assert checks.compare(ones, 1, 0) == (False, "value has more than 6 values; compare a part of it")


@pytest.mark.parametrize(
    ("x", "tol", "text"),
    [
        (2 / 3, 1e-3, "0.667"),
        (2 / 3, 0, "0.666666666667"),
        (2 / 3, 1e-20, "0.666666666666667"),
        (0.3749996, 1e-2, "0.38"),  # 0.375 to four more digits
        (0.374996, 1e-2, "0.37"),
        (123456789012345.0, 1e-20, "123456789012345.0"),
    ],
)
def test_numbers_have_the_digits_their_tolerance_leaves(x, tol, text):
    assert checks.to_tolerance(x, tol) == text
    assert checks.to_tolerance(2 / 3) == "0.666667"


@given(st.floats(-1e6, 1e6), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_rounded_numbers_keep_tolerance_and_avoid_minus_zero(x, tol):
    text = checks.to_tolerance(x, tol)
    assert abs(float(text) - x) <= 5.01 * tol * max(1, abs(x))
    assert text != "-0.0" and "float" not in text


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0, 1e-9, 1e-3, 1.0]))
def test_a_check_agrees_with_the_tolerance_formula(x, expected, tol):
    assert checks.compare(x, expected, tol)[0] == (abs(x - expected) <= tol + tol * abs(expected))
    assert checks.compare(0.5, 0.0, 0.5)[0] and checks.compare(2.5, 1.0, 0.75)[0]  # a difference equal to the tolerance


def test_bfloat16_is_compared_as_a_number(capsys):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1.0, 1.0078125], dtype=ml_dtypes.bfloat16)
    assert check_close("name", value, [1, 1.0078125], tol=1e-4)
    assert line(capsys) == "PASS - name: [1.0, 1.008]"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two\n lines ", "PASS - two lines"),
        ("a\x07b\ud800", "PASS - a?b?"),
        ("", "FAIL - check without a name: the first argument is the name, got an empty text"),
        (3.0, "FAIL - check without a name: the first argument is the name, got a float"),
        ("long " * 100, "PASS - " + "long " * 58 + "..."),
    ],
)
def test_a_name_is_put_on_one_line_of_300_characters(capsys, name, words):
    assert check_true(name, True) is words.startswith("PASS")
    assert line(capsys) == words


def test_a_line_beyond_88_columns_breaks_between_words_with_indent(capsys):
    for name, rows in [
        ("x " * 40 + "y", ["PASS - " + "x " * 40 + "y"]),
        ("x " * 40 + "yz", ["PASS - " + ("x " * 40).strip(), " " * 7 + "yz"]),
        ("w" * 100, ["PASS -", " " * 7 + "w" * 100]),
        ("x" * 75 + " half-broken", ["PASS - " + "x" * 75, " " * 7 + "half-broken"]),
    ]:
        check_true(name, True)
        assert capsys.readouterr().out.splitlines() == rows


KINDS = {"c": "check", "e": "exercise", "s": "solution"}


@pytest.mark.parametrize(
    ("results", "returned", "text"),
    [
        ("", False, "no checks have run"),
        ("c:a+ c:b+", True, "2 of 2 checks passed"),
        ("c:a+ c:b- c:c-", False, "1 of 3 checks passed; failed: b, c"),
        ("c:a- c:a+", True, "1 of 1 checks passed"),  # outside a notebook the latest result counts
        ("c:a+ e:x+ e:y- e:z? e:w?", False, "1 of 1 checks passed; exercises: 1 passed, 1 failed (y), 2 to do (z, w)"),
        ("e:x?", False, "exercises: 1 to do (x)"),
        ("e:y+ e:x?", True, "exercises: 1 passed, 1 to do (x)"),
        # a solution is named only if it failed, and alone is no success
        ("c:a- e:x? s:x+", False, "0 of 1 checks passed; failed: a; exercises: 1 to do (x)"),
        ("c:a+ e:x+ s:x-", False, "1 of 1 checks passed; failed: x; exercises: 1 passed"),
        ("s:x+", False, "no checks have run"),
    ],
)
def test_summary_counts_checks_and_exercises_apart(capsys, monkeypatch, results, returned, text):
    for result in results.split():
        passed = {"+": True, "-": False, "?": None}[result[-1]]
        assert checks.record(result[2:-1], passed, "", kind=KINDS[result[0]]) is bool(passed)
    capsys.readouterr()
    assert summary() is returned
    assert line(capsys) == text
    monkeypatch.setenv("HELPERS_STRICT", "1")
    if returned:
        assert summary()
    else:
        with pytest.raises(AssertionError) as error:
            summary()
        assert str(error.value) == text
    checks.reset()
    assert checks._results == {}


def test_in_one_cell_a_failure_stays_and_running_it_again_clears_it(capsys, cell):
    for expected, conditions in ((False, (True, False, True)), (True, (True, True)), (False, (True, False))):
        for condition in conditions:
            check_true("a", condition)
        assert summary() is expected
        cell.execution_count += 1


@pytest.mark.parametrize(
    "fail",
    [
        lambda: check_close("a", 1.0, 2.0),
        lambda: check_true("a", False),
        lambda: check_true("", True),
    ],
)
def test_strict_mode_raises_the_line_it_printed(capsys, monkeypatch, fail):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError) as error:
        fail()
    assert str(error.value) == line(capsys)
    assert list(checks._results.values())[0][0] is False
    assert check_true("b", True) and checks.record("my_b", None, "", kind="exercise") is False
    for off in ("", "0"):
        monkeypatch.setenv("HELPERS_STRICT", off)
        assert fail() is False


def test_a_rehearsal_prints_but_neither_counts_nor_raises(capsys, monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with not_counted():
        assert check_close("a", 1.0, 2.0) is False
        with not_counted():
            assert check_true("b", True) is True
        assert check_true("c", False) is False
    with pytest.raises(KeyError), not_counted():
        raise KeyError
    assert capsys.readouterr().out.count("\n") == 3
    assert checks._results == {}
    with pytest.raises(AssertionError):
        check_true("d", False)


def test_a_group_is_one_line_and_counts_its_checks(capsys):
    with check_all("both"):
        check_true("a", True)
        check_close("b", [1, 2], [1, 2])
    with check_all("one"):
        check_true("c", True)
    lines = ["PASS - both: 2 checks", "  PASS - a", "  PASS - b: [1, 2]", "PASS - one: 1 check", "  PASS - c"]
    assert capsys.readouterr().out.splitlines() == lines
    assert summary() and capsys.readouterr().out == "3 of 3 checks passed\n"


def test_a_group_in_a_notebook_opens_and_stands_open_where_it_failed(cell, monkeypatch):
    shown = []
    display = SimpleNamespace(display=lambda data, raw: shown.append(data["text/html"]))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with check_all("a < b"):
        check_true("a & b", True)
    with check_all("not"):
        check_true("c", False)
    assert shown[0] == (
        "<details><summary><code>PASS - a &lt; b: 1 check</code></summary>\n<pre>\nPASS - a &amp; b\n</pre></details>"
    )
    assert shown[1].startswith("<details open><summary><code>FAIL - not: 0 of 1 checks passed</code>")


def test_a_group_fails_in_strict_mode_when_empty_and_when_its_code_raises(capsys, monkeypatch):
    with check_all("empty"):
        pass
    assert capsys.readouterr().out.startswith("FAIL - empty: 0 of 1 checks passed\n  FAIL - empty: nothing was checked")
    with pytest.raises(KeyError), check_all("raises"):
        check_true("a", True)
        raise KeyError
    assert capsys.readouterr().out.startswith("FAIL - raises: 1 of 1 checks passed")
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError, match="FAIL - b"), check_all("strict"):
        check_true("b", False)
    assert "  FAIL - b" in capsys.readouterr().out and checks._group is None


@pytest.mark.parametrize(
    ("source", "value"),
    [
        *(("check_true('a', True)", None), ("check_between('a', 1, 0, 2)", None), ("y = 1\nsummary()", None)),
        *(("1 + 1", 2), ("len('ab')", 2), ("check_true('a', True)\n3", 3), ("x.summary()", True), ("x", "x")),
        *(("", ""), ("y = 1", ""), ("for i in []: pass", "")),
    ],
)
def test_a_cell_ending_in_a_check_displays_nothing(monkeypatch, source, value):
    shell = SimpleNamespace(ast_transformers=[ast.NodeTransformer()])  # with a transformer of somebody else
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    hide_check_values()
    hide_check_values()  # importing the helpers again hides nothing twice
    assert len(shell.ast_transformers) == 2
    tree = shell.ast_transformers[1].visit(ast.parse(source))
    if value in ("", "x"):  # no final call
        assert ast.dump(tree) == ast.dump(ast.parse(source))
        return
    *before, last = tree.body
    namespace = dict.fromkeys(("check_true", "check_between", "summary"), lambda *_: True)
    namespace["x"] = SimpleNamespace(summary=lambda: True)
    exec(compile(ast.Module(before, []), "cell", "exec"), namespace)
    shown = isinstance(last, ast.Expr)
    assert (eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if shown else None) == value


def test_outside_a_notebook_nothing_is_hidden_and_no_cell_counts(capsys, monkeypatch):
    for module in (None, SimpleNamespace(get_ipython=lambda: None)):
        monkeypatch.setitem(sys.modules, "IPython", module)
        hide_check_values()
        assert checks._cell_number() is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert checks._cell_number() is None
    checks.record("name", None, "write it")
    assert line(capsys) == "TODO - name: write it"


def test_an_error_that_cannot_be_shown_is_named():
    unshown = type("Unshown", (Exception,), {"__str__": lambda self: 1 / 0})
    assert [checks.explain(error) for error in (unshown(), KeyError())] == ["Unshown", "KeyError"]
