"""Assignments with nbgrader itself: made, handed in by three students, graded, commented (`make test-class`)."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

if not os.environ.get("CLASS_REQUIRED"):
    pytest.importorskip("nbgrader", reason="nbgrader is not installed: run `make test-class`")
pytestmark = pytest.mark.filterwarnings("default")  # of nbgrader's own packages

ROOT = Path(__file__).resolve().parents[2]
LESSON, CAPSTONE = "02_batch_dependence", "15_practice"
# my_fold_batch_norm with a known mistake, and the sentence that names it.
MISTAKE = """\
def my_fold_batch_norm(w, b, gamma, beta, mean, var, eps=1e-5):
    scale = gamma / np.sqrt(var + eps)
    return w * scale, b + beta - mean * scale
"""
SENTENCE = "you did not scale the old bias; batch norm does"
MENDS = {
    "(np.sqrt(var) + eps)": "np.sqrt(var + eps)",
    "return z.mean(axis=0), z.var(axis=0)": "return z[real].mean(axis=0), z[real].var(axis=0)",
    "(1 - momentum) * stored + momentum * new": "momentum * stored + (1 - momentum) * new",
    "checkpoints[0], momentum": "checkpoints[-1], momentum",
}


def nbgrader(course, *arguments):
    kept = {name: value for name, value in os.environ.items() if name not in ("HELPERS_STRICT", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=kept | {"JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def answer(nb, name, source):
    """Write an answer as a student does: in the place of the stub, with the check below it."""
    cell = next(cell for cell in nb.cells if cell.id == f"answer-{name}")
    cell.source = f'{source}\n\ncheck_exercise("{name}", {name})'


def solutions(lesson):
    """{exercise: the code of its solution}, from the lesson."""
    nb = nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", as_version=4)
    found = [cell.source for cell in nb.cells if "solution" in cell.metadata.get("tags", [])]
    return {re.search(r"# Solution: (\w+)", source)[1]: source.split("\n\n\ncheck_exercise")[0] for source in found}


def hand_in(course, student, lesson, change):
    nb = nbformat.read(course / "release" / lesson / f"{lesson}.ipynb", as_version=4)
    change(nb)
    target = course / "submitted" / student / lesson / f"{lesson}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(nb, target)


def complete(nb):
    for name, source in solutions(LESSON).items():
        answer(nb, name, source)


def half(nb):
    answer(nb, "my_batch_norm", solutions(LESSON)["my_batch_norm"])
    answer(nb, "my_fold_batch_norm", MISTAKE)


def mended(nb):
    for cell in nb.cells:
        for wrong, right in MENDS.items():
            cell.source = cell.source.replace(wrong, right)


def cheat(nb):
    for cell in nb.cells:
        if cell.id.startswith("test-"):
            cell.source = "assert True"
        if cell.id.startswith("answer-"):
            cell.source = "check_exercise = lambda *args, **options: True"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course outside the repository: two assignments handed out, handed in and graded, one of them commented."""
    course = tmp_path_factory.mktemp("a course")
    for lesson in (LESSON, CAPSTONE):
        command = [sys.executable, "-m", "tools.classroom.assignment", lesson, "--course", course]
        subprocess.run(command, check=True, capture_output=True)
        nbgrader(course, "generate_assignment", lesson)
    for student, change in (("complete", complete), ("half", half), ("blank", lambda nb: None), ("cheat", cheat)):
        hand_in(course, student, LESSON, change)
    hand_in(course, "complete", CAPSTONE, mended)
    for lesson in (LESSON, CAPSTONE):
        nbgrader(course, "autograde", lesson)
    nbgrader(course, "generate_feedback", LESSON)
    return course


def feedback(course, student, lesson=LESSON):
    return (course / "feedback" / student / lesson / f"{lesson}.html").read_text(encoding="utf-8")


def score(course, student, lesson=LESSON):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        submission = gradebook.find_submission(lesson, student)
        return submission.score, submission.max_score, submission.needs_manual_grade


def test_students_get_no_solutions_or_hidden_tests(course):
    text = (course / "release" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    for word in ("SOLUTION", "HIDDEN", "graded=True", "scale = gamma / np.sqrt", "mask * x).sum"):
        assert word not in text, word
    nb = nbformat.reads(text, as_version=4)
    stubs = [cell.source for cell in nb.cells if cell.id.startswith("answer-")]
    lesson = nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", as_version=4)
    assert stubs == [cell.source for cell in lesson.cells if "exercise" in cell.metadata.get("tags", [])]


@pytest.mark.parametrize(("student", "points"), [("complete", 6), ("half", 2), ("blank", 0)])
def test_points_are_right_without_grading_by_hand(course, student, points):
    assert score(course, student) == (points, 6, False)


def test_the_capstone_is_graded_by_its_mended_cells(course):
    assert score(course, "complete", CAPSTONE) == (2, 2, False)


def test_changed_locked_cells_are_put_back(course):
    assert score(course, "cheat") == (0, 6, False)


def test_the_feedback_says_what_the_mistake_was(course):
    words = " ".join(re.sub(r"<[^>]+>", " ", feedback(course, "half")).split())
    assert f"FAIL - my_fold_batch_norm: {SENTENCE}" in words
    assert "PASS - my_batch_norm" in words
    assert "TODO - my_masked_batch_norm" in words
    assert "comes from another cell" not in words


@pytest.mark.parametrize("student", ["half", "blank"])
def test_the_feedback_holds_no_solution(course, student):
    text = re.sub(r"<[^>]+>", "", feedback(course, student))
    solved = solutions(LESSON)
    for name in ["my_fold_batch_norm", "my_masked_batch_norm"] + (["my_batch_norm"] if student == "blank" else []):
        for line in solved[name].splitlines()[2:]:
            assert student == "half" and line in MISTAKE or line.strip() not in text, line


def test_nbgrader_knows_the_schema_that_the_assignment_states():
    from nbgrader.nbgraderformat import SCHEMA_VERSION

    path = ROOT / "tools" / "classroom" / "assignment.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("house_assignment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.SCHEMA == SCHEMA_VERSION
