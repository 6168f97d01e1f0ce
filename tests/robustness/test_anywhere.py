"""The lessons give the stored text wherever, however often and in whatever order they are run.

`make test-anywhere`; not part of `make test`, which runs every lesson by nbval from notebooks/. Each test names what is
strange about its place. Text outputs are compared by compare.py.
"""

import os
import stat
import sys

import pytest

from tests.robustness.conftest import ROOT, everything_in
from tests.shared import example_lessons, one_lesson


def take_write_permission(folder, away=True):
    for path in [*folder.rglob("*"), folder]:
        mode = path.stat().st_mode
        path.chmod(mode & ~0o222 if away else mode | stat.S_IWUSR)


@pytest.fixture
def read_only(tree):
    take_write_permission(tree)
    yield tree
    take_write_permission(tree, away=False)


@example_lessons
def test_without_a_network_from_a_read_only_checkout(lesson, execute, without_network, read_only):
    """Also: nothing is written there, and nothing listens but the kernel."""
    before = everything_in(read_only)
    execute(read_only / "notebooks" / lesson.name, "--ipc", wrapper=without_network)
    assert everything_in(read_only) == before


@one_lesson
def test_from_a_checkout_in_which_nobody_may_write(lesson, execute, without_rights, read_only, run):
    probe = run(*without_rights, sys.executable, "-c", "open('new', 'w')", cwd=read_only)
    assert "PermissionError" in probe.stderr
    before = everything_in(read_only)
    execute(read_only / "notebooks" / lesson.name, wrapper=without_rights, PYTHONDONTWRITEBYTECODE="")
    assert everything_in(read_only) == before
    assert list(read_only.rglob("__pycache__")) == []


@example_lessons
def test_lessons_run_on_two_threads_from_the_root(lesson, execute):
    execute(lesson, cwd=ROOT, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")


@example_lessons
def test_cells_run_twice_and_the_lesson_again(lesson, execute):
    execute(lesson, "--how", "again")


@example_lessons
def test_any_section_after_a_restart_and_sections_backwards(lesson, execute):
    """The stored text, or a NameError for what an earlier section defines; never another number."""
    execute(lesson, "--how", "sections")


@one_lesson
def test_a_killed_kernel_starts_again_in_mid_lesson(lesson, execute):
    execute(lesson, "--how", "killed")


def test_the_judge_sees_a_changed_output(tree, run):
    """All of the above would pass if the comparison saw nothing."""
    lesson = tree / "notebooks" / "00_start_here.ipynb"
    text = lesson.read_text(encoding="utf-8")
    assert "checks passed" in text
    lesson.write_text(text.replace("checks passed", "checks pasted"), encoding="utf-8")
    for how in ("once", "again"):
        result = run(sys.executable, os.path.join(os.path.dirname(__file__), "execute.py"), lesson, "--how", how)
        assert result.returncode == 1
        assert "the stored text output is not what the cell gives now" in result.stdout


HOSTILE = """
import itertools, sys
import numpy as np
from helpers import Explorer, Quiz, check_close, check_exercise, check_true, points
---
def endless(x, gamma, beta, eps=1e-5):
    while True:
        try:
            x = x + 1
        except Exception:
            pass
check_exercise("my_layer_norm", endless)
---
def deep(x, gamma, beta, eps=1e-5):
    return deep(x, gamma, beta, eps)
check_exercise("my_layer_norm", deep)
---
check_close("huge", [range(10**11)], 0.0)
check_close("broadcast", np.broadcast_to(0.0, (10**6, 10**6)), 0.0)
---
check_true("two\\nlines \\ud800 \\x1b[31m 均值", True)
---
Explorer({"n": itertools.count()}, lambda n: [points([n], [n])], lambda n: "c")
---
Explorer({"n": [1, 2]}, lambda n: [points(np.zeros(10**7), np.zeros(10**7))], lambda n: "c")
---
Explorer({"n $ü$ 均": [1, 2]}, lambda **p: [points([1], [1], label="$\\\\bad$ 均值")], lambda **p: "c 均值")
---
Quiz("../../etc/passwd")
---
print("alive")
"""


def test_a_kernel_survives_its_learner(tmp_path, run):
    """In a real kernel, where an exhausted memory or a line that cannot be sent would end the session."""
    import nbformat

    sources = [f"import sys; sys.path.insert(0, {str(ROOT)!r})" + HOSTILE.split("---")[0], *HOSTILE.split("---")[1:]]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    nbformat.write(nb, tmp_path / "hostile.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--output", "out"]
    result = run(*command, tmp_path / "hostile.ipynb", cwd=tmp_path, HELPERS_STRICT="0")
    assert result.returncode == 0, result.stderr[-2000:]
    said = []
    for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells:
        said.append("".join(o.get("text", "") or o.get("evalue", "") or o["data"]["text/plain"] for o in cell.outputs))
    stopped = "FAIL - my_layer_norm: it was stopped after 5 seconds of computing; is there an endless loop?"
    assert " ".join(said[1].split()) == stopped
    assert "RecursionError: maximum recursion depth" in said[2]
    assert said[3].count("has more than 10000000 values; compare a part of it") == 2
    assert said[4] == "PASS - two lines ? ?[31m 均值\n"
    assert "expected at most 5,000" in said[5] and "numbers at n = 1; draw fewer" in said[6]
    assert said[7] == "c 均值"
    assert said[8].startswith("Quiz: no lesson")
    assert said[9] == "alive\n"
