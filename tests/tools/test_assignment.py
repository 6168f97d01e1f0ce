"""Assignments as they are written; tests/classroom/test_nbgrader.py hands them to nbgrader itself."""

import functools
import os
import re

import matplotlib
import nbformat
import pytest

from tests.shared import LESSONS, ROOT, for_each
from tests.tools.test_workbook import load_tool

PARAMETERS = for_each("lesson", LESSONS, ids=lambda path: path.stem)
REGION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?\n *### END SOLUTION$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def assignment():
    return load_tool("assignment")


def tagged(path, tag):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if tag in cell.metadata.get("tags", [])]


@functools.cache
def made(assignment, lesson):
    """The assignment of a lesson, for tests that only read it."""
    return assignment.make_assignment(lesson, 2.5)


def named(nb, word):
    return [cell for cell in nb.cells if cell.id.startswith(f"{word}-")]


@PARAMETERS
def test_students_get_stubs_and_no_solution(assignment, lesson):
    nb = made(assignment, lesson)
    handed_out = [REGION.sub(r"\1...", cell.source) for cell in named(nb, "answer")]
    assert handed_out == tagged(lesson, "exercise")
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown" or "given" in cell.id)
    assert "solution=True" not in text and "# Solution" not in text
    assert all(cell.source.startswith("### ") for cell in named(nb, "text"))


@PARAMETERS
def test_assignment_exercises_have_locked_tests_with_points(assignment, lesson):
    nb = made(assignment, lesson)
    nbformat.validate(nb)
    names = [re.search(r'"(my_\w+)"', source)[1] for source in tagged(lesson, "solution")]
    assert [cell.id for cell in named(nb, "test")] == [f"test-{name}" for name in names]
    for cell in named(nb, "test"):
        about = cell.metadata.nbgrader
        assert (about.points, about.grade, about.locked, about.solution) == (2.5, True, True, False)
        assert re.fullmatch(r"# Test.*\n### BEGIN HIDDEN TESTS\n(.+\n|\n)+### END HIDDEN TESTS", cell.source)
    for cell in named(nb, "answer"):
        about = cell.metadata.get("nbgrader", {})
        assert not about.get("locked") and not about.get("grade")
        assert bool(about.get("solution")) == ("### BEGIN SOLUTION" in cell.source)
    ids = [cell.metadata.nbgrader.grade_id for cell in nb.cells if "nbgrader" in cell.metadata]
    assert len(set(ids)) == len(ids)
    assert f"\n{2.5 * len(names):g} points." in nb.cells[0].source


@PARAMETERS
def test_only_mended_lessons_hand_out_cells(assignment, lesson):
    nb = made(assignment, lesson)
    given = "\n".join(cell.source for cell in named(nb, "given"))
    if lesson.stem != "15_practice":
        assert given == ""
        return
    assert given.startswith("## 2 What is wrong with this network?")
    for name in ("normalize", "statistics", "update", "collect", "score", "serve"):
        assert given.count(f"def {name}(") == 1
    assert all("nbgrader" not in cell.metadata for cell in named(nb, "given"))


@pytest.mark.parametrize("lesson", [LESSONS[2], LESSONS[8], LESSONS[11], LESSONS[15]], ids=lambda path: path.stem)
def test_with_the_solutions_every_hidden_test_passes(assignment, lesson, capsys):
    matplotlib.use("agg")
    names = {"__name__": "assignment"}
    mended = lesson.stem == "15_practice"
    for cell in made(assignment, lesson).cells:
        if cell.cell_type == "code" and not ("given" in cell.id or mended and "answer" in cell.id):
            solution = tagged(lesson, "solution")[0] if mended and "test" in cell.id else ""
            exec(solution + "\n" + cell.source, names)
    assert capsys.readouterr().out.count("PASS") >= len(tagged(lesson, "exercise"))


def test_the_solution_replaces_the_dots_in_methods(assignment):
    stub = "class my_layer(Layer):\n    def forward(self, x):\n        # Here.\n        ...\n\n"
    stub += "    def backward(self, dy):\n        ...\n\n\ncheck_exercise()"
    solution = "class my_layer(Layer):\n    def forward(self, x):\n        y = 2 * x\n        return y\n\n"
    solution += "    def backward(self, dy):\n        return 2 * dy\n"
    marked = assignment.with_solution(stub, solution)
    assert REGION.sub(r"\1...", marked) == stub
    assert marked.replace("        ### BEGIN SOLUTION\n", "").replace("        ### END SOLUTION\n", "") == stub.replace(
        "        # Here.\n        ...", "        # Here.\n        y = 2 * x\n        return y"
    ).replace("        ...", "        return 2 * dy")


# ------------------------------------------------------------------------------------------------- the command


def test_a_second_call_writes_the_same_bytes(assignment, tmp_path, capsys):
    arguments = ["02", "--course", str(tmp_path / "course")]
    assert assignment.main(arguments) == 0
    target = tmp_path / "course" / "source" / "02_batch_dependence" / "02_batch_dependence.ipynb"
    settings = tmp_path / "course" / "nbgrader_config.py"
    first = target.read_bytes()
    settings.write_text("mine", encoding="utf-8")
    assert assignment.main(arguments) == 0
    assert target.read_bytes() == first
    assert settings.read_text(encoding="utf-8") == "mine"
    assert "nbgrader generate_assignment 02_batch_dependence" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["points", "text", "damaged"])
def test_an_assignment_changed_by_teachers_stays(assignment, tmp_path, capsys, what):
    target = assignment.write_assignment("02", tmp_path, 2)
    nb = nbformat.read(target, as_version=4)
    if what == "points":
        named(nb, "test")[0].metadata.nbgrader.points = 7
    if what == "text":
        nb.cells[0].source += "Hand it in on Monday."
    target.write_text("{" if what == "damaged" else nbformat.writes(nb), encoding="utf-8")
    before = target.read_bytes()
    assert assignment.main(["02", "--course", str(tmp_path)]) == 2
    assert "has been changed and was left as it is: move it away" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_assignment_settings_use_absolute_paths(assignment, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.setenv("PATH", "before")
    assignment.write_assignment("00", tmp_path, 2)

    class Settings(dict):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__

        def __missing__(self, name):
            return self.setdefault(name, Settings())

    settings, path = Settings(), tmp_path / "nbgrader_config.py"
    exec(path.read_text(encoding="utf-8"), {"get_config": lambda: settings, "__file__": str(path)})
    assert settings.CourseDirectory.root == str(tmp_path.resolve())
    assert settings.ClearSolutions.code_stub == {"python": "..."}
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "before"]


@for_each(
    ("arguments", "sentence"),
    [
        ([], "Name the lesson, as in `make assignment LESSON=02`."),
        ([""], "Name the lesson, as in `make assignment LESSON=02`."),
        (["99"], "Name one by its number, as in LESSON=02."),
        (["02", "--points", "0"], "--points must be more than 0."),
        (["02", "--points", "nan"], "--points must be more than 0."),
    ],
)
def test_bad_input_is_answered_in_one_sentence(assignment, capsys, arguments, sentence):
    assert assignment.main(arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(assignment, tmp_path, capsys):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert assignment.main(["02", "--course", str(tmp_path / "file")]) == 1
    assert str(tmp_path / "file") in capsys.readouterr().err
