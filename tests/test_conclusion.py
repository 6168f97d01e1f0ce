"""The machinery of tests/conclusions: it counts, it fails for the reason it names, it stores what the ledger shows."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.conclusions.conclusion import conclusion, each, named_in, varied
from tests.shared import ROOT

FOLDER = ROOT / "tests" / "conclusions"

TESTS = """
import numpy as np
from tests.conclusions.conclusion import conclusion, each

@conclusion("10", "small numbers are small", vary=each(number=range(6), dtype=[np.float32]), least=4)
def test_small(number, dtype):
    return dtype(number) < 4

@conclusion("11", "all numbers are small", vary=each(number=[1, 9]))
def test_all(number):
    return number < 4
"""


def run(function):
    """What the decorated function recorded, and the error it failed with."""
    recorded = {}
    try:
        function(lambda name, value: recorded.update({name: value}))
    except AssertionError as error:
        return recorded["conclusion"], str(error)
    return recorded["conclusion"], None


def test_each_combines_all_values():
    assert each(a=[1, 2], b="xy") == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        (each(width=[16, 64, 256], seed=range(5)), "width 16, 64 or 256; seed 0 to 4"),
        (each(learning_rate=[1e-3, 0.01, 0.1, 1.0]), "learning rate 0.001 to 1"),
        (each(norm=[None, "batch"], bias=[True, False]), "norm None or batch; bias True or False"),
        ([{"eps": 0}, {"dtype": float}], "eps 0; dtype float64"),
    ],
)
def test_what_was_varied_in_words(vary, words):
    assert varied(vary) == words


def test_it_counts_and_fails_below_least():
    result, error = run(conclusion("10", "few", vary=each(n=range(4)), least=3)(lambda n: n > 0))
    assert (result["holds"], result["of"], error) == (3, 4, None)
    result, error = run(conclusion("10", "few", vary=each(n=range(4)))(lambda n: n > 0))
    assert result["holds"] == 3 and "holds in 3 of 4 variations, at least 4 expected; not with n = 0" in error


def test_an_answer_is_boolean_and_errors_name_variations():
    with pytest.raises(TypeError, match="returned None with {'n': 0}"):
        run(conclusion("10", "none", vary=each(n=[0]))(lambda n: None))
    with pytest.raises(ZeroDivisionError) as caught:
        run(conclusion("10", "raises", vary=each(n=[0]))(lambda n: 1 // n))
    assert caught.value.__notes__ == ["with {'n': 0}"]


@pytest.mark.parametrize(("vary", "least"), [([], None), (each(n=[1]), 0), (each(n=[1]), 2)])
def test_a_conclusion_that_cannot_fail_is_refused(vary, least):
    with pytest.raises(ValueError, match="at least one variation"):
        conclusion("10", "nothing", vary=vary, least=least)


def test_a_run_stores_counts_only_when_asked(tmp_path):
    folder = tmp_path / "tests" / "conclusions"
    folder.mkdir(parents=True)
    (tmp_path / "helpers" / "data").mkdir(parents=True)
    (tmp_path / "tests" / "__init__.py").touch()
    for name in ("__init__.py", "conclusion.py", "conftest.py"):
        shutil.copy(FOLDER / name, folder)
    (folder / "test_10_small.py").write_text(TESTS, encoding="utf-8")
    stored = tmp_path / "helpers" / "data" / "conclusions.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]

    bare = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }  # plugins take longer than the run
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=bare)
    assert "10     | 4 of 6   |" in ran.stdout and "number 0 to 5; dtype float32" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout and "holds in 1 of 2 variations" in ran.stdout
    assert not stored.exists()

    gone = {"lesson": "09", "sentence": "of no test", "varied": "", "holds": 1, "of": 1}
    kept = {"lesson": "11", "sentence": "all numbers are small", "varied": "an older run", "holds": 2, "of": 2}
    stored.write_text(json.dumps([gone, kept]), encoding="utf-8")
    asked = bare | {"WRITE_CONCLUSIONS": "1"}
    subprocess.run([*command, "-k", "test_small"], capture_output=True, cwd=tmp_path, env=asked)
    small = {"lesson": "10", "sentence": "small numbers are small", "varied": "number 0 to 5; dtype float32"}
    assert json.loads(stored.read_text(encoding="utf-8")) == [small | {"holds": 4, "of": 6}, kept]


def test_conclusions_name_lessons_and_have_unique_sentences():
    named = named_in()
    assert len(named) == len(set(named))
    for lesson, sentence in named:
        assert list((ROOT / "notebooks").glob(f"{lesson}_*.ipynb")), f"there is no lesson {lesson!r}: {sentence}"
