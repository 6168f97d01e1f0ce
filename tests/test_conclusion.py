"""The machinery of tests/conclusions: it counts, it fails for the reason it names, and a run ends with its table."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conclusions import conclusion as machinery
from tests.conclusions.conclusion import conclusion, each, varied
from tests.shared import ROOT

TESTS = """
import numpy as np
from tests.conclusions.conclusion import conclusion, each

@conclusion("small numbers are small", vary=each(number=range(6), dtype=[np.float32]), least=4)
def test_small(number, dtype):
    return dtype(number) < 4

@conclusion("all numbers are small", vary=each(number=[1, 9]))
def test_all(number):
    return number < 4
"""


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


def test_combined_values_are_said_in_words():
    assert each(a=[1, 2], b="xy") == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    assert varied(each(width=[16, 64, 256], seed=range(5))) == "width 16, 64 or 256; seed 0 to 4"
    assert varied(each(learning_rate=[1e-3, 0.01, 0.1, 1.0])) == "learning rate 0.001 to 1"
    assert varied(each(norm=[None, "batch"], bias=[True, False])) == "norm None or batch; bias True or False"
    assert varied([{"eps": 0}, {"dtype": float}]) == "eps 0; dtype float64"


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


def test_a_run_ends_with_its_table(tmp_path):
    folder = shutil.copytree(
        ROOT / "tests" / "conclusions", tmp_path / "tests" / "conclusions", ignore=shutil.ignore_patterns("test_*")
    )
    (tmp_path / "tests" / "__init__.py").touch()
    (folder / "test_10_small.py").write_text(TESTS, encoding="utf-8")
    bare = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}  # plugins take longer than the run
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | bare)
    assert "10     | 4 of 6   |" in ran.stdout and "number 0 to 5; dtype float32" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout and "holds in 1 of 2 variations" in ran.stdout
