"""The machinery of tests/conclusions: it counts, it fails for the reason it names, and a run ends with its table."""

import numpy as np
import pytest

from tests.conclusions import conclusion as machinery
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson


@pytest.fixture
def run(monkeypatch):
    """What a conclusion about a function records, and the error that it fails with."""
    monkeypatch.setattr(machinery, "KNOWN", {})

    def run(function, **how):
        recorded = {}
        try:
            conclusion("it holds", **how)(function)(lambda name, value: recorded.update({name: value}))
        except AssertionError as error:
            return recorded["conclusion"], str(error)
        return recorded["conclusion"], None

    return run


@pytest.mark.parametrize(("least", "fails"), [(3, False), (None, True)])
def test_it_counts_and_fails_below_least(run, least, fails):
    result, error = run(lambda n: n > 0, vary=each(n=range(4)), least=least)
    assert (result["holds"], result["of"], error is not None) == (3, 4, fails)
    assert not fails or "holds in 3 of 4 variations, at least 4 expected; not with n = 0" in error


def test_an_answer_is_boolean_and_errors_name_variations(run):
    with pytest.raises(TypeError, match="returned None with {'n': 0}"):
        run(lambda n: None, vary=each(n=[0]))
    machinery.KNOWN.clear()
    with pytest.raises(ZeroDivisionError) as caught:
        run(lambda n: 1 // n, vary=each(n=[0]))
    assert caught.value.__notes__ == ["with {'n': 0}"]
    with pytest.raises(ValueError, match="says 'it holds' twice"):
        run(lambda n: True, vary=each(n=[0]))


@pytest.mark.parametrize(("vary", "least"), [([], None), (each(n=[1]), 0), (each(n=[1]), 2)])
def test_a_conclusion_that_cannot_fail_is_refused(vary, least):
    with pytest.raises(ValueError, match="at least one variation"):
        conclusion("nothing", vary=vary, least=least)


def test_a_lesson_hands_over_a_name_with_what_it_uses():
    packs, broken = from_lesson("04", "packs", "broken")  # broken is changed after it was made
    assert packs("healthy", 3, np.random.default_rng(0)).shape == (3, 8) and broken[7] == -3276.8
    assert from_lesson("04", "packs", np=None).__globals__["np"] is None  # a given value goes before the lesson's
    with pytest.raises(AssertionError, match=r"lesson 04 no longer defines \['gone'\]"):
        from_lesson("04", "packs", "gone")
