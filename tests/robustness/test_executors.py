"""The same lessons under nbval, nbclient, papermill and nbconvert, in strict mode: all pass, and all fail when a helper
is broken.
"""

import sys

import nbformat
import pytest

from tests.shared import one_lesson

VARIANCE = "var = mean_over(y, axes, squared=True)\n"  # in norms.py, and what a careless edit may make of it
BROKEN = "var = mean_over(y, axes, squared=True) * 1.01\n"

NBCLIENT = """
import sys, nbformat
from nbclient import NotebookClient
nb = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(nb, timeout=120, kernel_name="python3", resources={"metadata": {"path": sys.argv[3]}}).execute()
nbformat.write(nb, sys.argv[2])
"""


def command(executor, lesson, output):
    """The command line with which each executor runs a lesson in its folder."""
    python = [sys.executable, "-m"]
    return {
        "nbval": [*python, "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-q", lesson],
        "nbclient": [sys.executable, "-c", NBCLIENT, lesson, output, lesson.parent],
        "papermill": [
            *python,
            "papermill",
            "--no-progress-bar",
            "-k",
            "python3",
            "--cwd",
            lesson.parent,
            lesson,
            output,
        ],
        "nbconvert": [
            *(*python, "nbconvert", "--to", "notebook", "--execute", "--log-level=ERROR"),
            *("--output-dir", output.parent, "--output", output.name, lesson),
        ],
    }[executor]


@one_lesson
def test_papermill_gets_the_stored_text(lesson, run, papermill, same_text, tmp_path):
    output = tmp_path / lesson.name
    result = run(*command("papermill", lesson, output), PYTHONPATH=papermill)
    assert result.returncode == 0, result.stderr[-2000:]
    same_text(lesson, output)


@one_lesson
def test_nbconvert_runs_under_a_strange_path(lesson, run, strange_tree, same_text, tmp_path):
    output = tmp_path / lesson.name
    threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    result = run(*command("nbconvert", strange_tree / "notebooks" / lesson.name, output), cwd=tmp_path, **threads)
    assert result.returncode == 0, result.stderr[-2000:]
    same_text(lesson, output)


@pytest.mark.parametrize("executor", ["nbval", "nbclient", "papermill", "nbconvert"])
def test_a_broken_helper_makes_every_executor_fail(executor, request, run, tree, tmp_path):
    """A variance that is 1 % too large: no crash, only slightly wrong numbers."""
    lesson, output = tree / "notebooks" / "01_axis_intuition.ipynb", tmp_path / "out.ipynb"
    packages = {"PYTHONPATH": request.getfixturevalue("papermill")} if executor == "papermill" else {}
    norms = tree / "helpers" / "norms.py"
    source = norms.read_text(encoding="utf-8")
    assert source.count(VARIANCE) == 1
    norms.write_text(source.replace(VARIANCE, BROKEN), encoding="utf-8")
    result = run(*command(executor, lesson, output), cwd=tree, **packages)
    assert result.returncode != 0
    assert "FAIL - " in result.stdout + result.stderr, "the reader is told which check failed"


def test_without_strict_mode_failures_are_lines(run, tree, tmp_path):
    """What a learner sees who experiments with a helper: FAIL lines, and a lesson that runs to its end."""
    lesson, output = tree / "notebooks" / "01_axis_intuition.ipynb", tmp_path / "out.ipynb"
    norms = tree / "helpers" / "norms.py"
    norms.write_text(norms.read_text(encoding="utf-8").replace(VARIANCE, BROKEN), encoding="utf-8")
    result = run(*command("nbconvert", lesson, output), cwd=tree, HELPERS_STRICT="")
    assert result.returncode == 0, result.stderr[-2000:]
    last = nbformat.read(output, as_version=4).cells[-1].outputs[0].text
    assert "; failed: " in last
