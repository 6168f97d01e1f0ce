"""Whatever a learner hands to a check, an exercise or an explorer: one plain line, and no check that passes
by accident.
"""

import contextlib
import functools
import io
import re
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import Explorer, Panel, checks, points, text
from helpers.checks import check_close, check_true
from helpers.exercises import Exercise, case
from helpers.exercises.checker import diagnose

nan, inf = np.nan, np.inf


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
    __eq__ = __bool__ = lambda *_: True
    __len__ = lambda self: -1  # noqa: E731


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


@given(st.text(alphabet="a\n\r\t\x00\x1b\x07\x08\x85\u2028\ud800é中\U0001f600\u200d"))
def test_a_name_of_any_characters_counts_once(name):
    passed, line = say(check_true, name, True)
    assert passed == bool(name.strip())
    assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]", line)
    before = len(checks._results)
    say(check_true, name, True)
    assert len(checks._results) == before


def double(x):
    return 2 * x


def doubling(tol=1e-9):
    def cases(rng):
        return [case(rng.standard_normal((2, 3))), case(rng.standard_normal(4))]

    return Exercise(solution="def double(x):\n    return 2 * x", cases=cases, tol=tol)


@given(anything)
def test_anything_for_the_result_or_the_function_passes_only_with_right_numbers(thing):
    passed, why = diagnose(doubling(), lambda x: thing)
    assert why and "slip" not in why and passed is (None if thing is ... else False)
    assume(not callable(thing) and thing is not ...)
    passed, why = diagnose(doubling(), thing)
    assert passed is False and "expected the function itself: double(x)" in why


def test_odd_results_are_named_in_plain_words_and_are_no_slips():
    for attempt, words in [
        (lambda x: Liar(), "expected real or complex numbers"),
        (lambda x: np.matrix([[1.0]]), "expected (2, 3)"),
        (lambda x: np.ma.masked_greater(2 * x, 0), "masked array"),
        (lambda x: (3 * x).astype(object), "expected real or complex numbers"),
        (lambda x: [range(10**12)], "more than 10000000 values"),
        (lambda x: x.sort() or 2 * x, "it changes its input x in place"),
    ]:
        passed, why = diagnose(doubling(), attempt)
        assert passed is False and words in why and "slip" not in why and len(why) < 260


def test_a_right_answer_in_another_form_passes():
    before = np.geterr()
    for attempt in (
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).astype(np.float32),
        functools.partial(np.multiply, 2),
        type("Call", (), {"__call__": lambda self, x: 2 * x})(),
        lambda *args, **kwargs: np.seterr(all="raise") and 2 * args[0],
    ):
        assert diagnose(doubling(tol=1e-6), attempt) == (True, "2 cases")
        assert np.geterr() == before


def explore(compute=lambda n: [points([n], [1])], caption=lambda n: f"n {n}", sliders=None, **more):
    return Explorer(sliders or {"n": [1, 2, 3]}, compute, caption, **more)


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
        explorer = explore(lambda n: points(1, 1), lambda n: "c", {"n": value})
        assert len(explorer.captions) >= 1 and len(explorer.children[0].children) == 1
        explorer.close()
    except ValueError as error:
        assert re.match("Explorer: (slider 'n' |expected |[0-9,]+ slider positions)", str(error)), error
    with pytest.raises(ValueError, match="^Explorer: compute returned .* at n = 1, expected a list of marks$"):
        explore(lambda n: value)
    assume(not isinstance(value, str) or not value.strip())
    with pytest.raises(ValueError, match="^Explorer: caption (returned|failed)"):
        explore(caption=lambda n: value)


def test_words_of_any_kind_and_a_reused_array_are_drawn():
    """Words that look like a formula, which matplotlib would otherwise read, or need letters it lacks."""
    words, buffer, made = "cost $5 or \\frac$ $\\bad$ 均值\n<b>", np.zeros(1), []

    def compute(n):
        buffer[:] = n
        made[:] = [points(buffer, buffer, label=words), text(n, n, words)]
        return made

    explorer = explore(compute, panels=Panel(xlabel=words, ylabel=words, title=words))
    assert [explorer.marks_at(n=n)[0]["data"]["x"] for n in (1, 2, 3)] == [1, 2, 3]
    assert explorer.marks_at()[1]["string"] == words
    assert len(explorer._repr_mimebundle_()[0]["image/png"]) > 100
