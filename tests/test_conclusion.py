"""The machinery of tests/conclusions: it counts, it fails for the reason it names, and a run ends with its table."""

import pytest

from tests.conclusions import conclusion as machinery
from tests.conclusions.conclusion import conclusion, each


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


@pytest.mark.parametrize(("vary", "least"), [([], None), (each(n=[1]), 0), (each(n=[1]), 2)])
def test_a_conclusion_that_cannot_fail_is_refused(vary, least):
    with pytest.raises(ValueError, match="at least one variation"):
        conclusion("nothing", vary=vary, least=least)
