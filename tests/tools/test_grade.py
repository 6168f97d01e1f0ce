"""The grader without nbgrader. What takes it longer to survive is in robustness/test_grade_hostile.py."""

import csv
import json
from types import SimpleNamespace

import pytest

from tests.shared import for_each
from tests.tools.test_workbook import ROOT, load_tool

SETUP = """\
import sys
from pathlib import Path

here = [Path.cwd(), *Path.cwd().parents]
sys.path[:0] = [str(p) for p in here if (p / "helpers" / "norms.py").is_file()][:1]

import numpy as np

from helpers import check_exercise"""
FIRST, SECOND, THIRD = "my_update_running_stats", "my_torch_momentum_from_keras", "my_batch_norm_eval"
RIGHT = f"def {SECOND}(keras_momentum):\n    return 1 - keras_momentum\n\n\ncheck_exercise('{SECOND}', {SECOND})"
BIASED = f"""\
def {FIRST}(running_mean, running_var, x, momentum=0.1):
    mean = (1 - momentum) * running_mean + momentum * x.mean(axis=0)
    return mean, (1 - momentum) * running_var + momentum * x.var(axis=0)"""


@pytest.fixture
def grade():
    return load_tool("grade")


def notebook(*sources, **metadata):
    cell = {"cell_type": "code", "metadata": metadata, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": source} for source in (SETUP, *sources)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path if path.suffix else path.with_suffix(".ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read_table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_right_wrong_and_untouched_answers_are_told_apart(grade, tmp_path, capsys):
    stub = f"def {THIRD}(x, gamma, beta, running_mean, running_var, eps=1e-5):\n    ..."
    folder = write(
        tmp_path / "submissions",
        anna=notebook(RIGHT, BIASED, stub),
        bob__03_running_averages=notebook("print('x')", RIGHT, f"def {FIRST}(running_mean:", stub),
        carl="",
        dora=notebook(BIASED),
    )
    before = {path: path.read_bytes() for path in folder.rglob("*.ipynb")}
    assert grade.main([str(folder), "--jobs", "2"]) == 0
    anna, bob, carl, dora = read_table(tmp_path / "submissions_grades.csv")
    assert (anna["student"], anna["lesson"], anna["passed"], anna["of"]) == ("anna", "03_running_averages", "1", "3")
    assert anna[FIRST].startswith("FAIL: you stored the biased variance")
    assert (anna[SECOND], anna[THIRD], anna["note"]) == ("PASS", "TODO", "")
    assert bob[FIRST].startswith("FAIL: its cell stops with SyntaxError: ")
    assert (bob[SECOND], bob[THIRD]) == ("PASS", "TODO")
    assert bob["notebook"] == "bob/03_running_averages.ipynb"
    assert (carl[SECOND], carl["passed"]) == ("", "")
    assert "not a notebook, or a damaged one" in carl["note"]
    assert dora["note"] == f"{SECOND} is not in the notebook; {THIRD} is not in the notebook"
    said = capsys.readouterr().out
    assert "[4/4]" in said
    assert f"2 of 3 {FIRST}: FAIL: you stored the biased variance" in said
    words = (tmp_path / "submissions_feedback" / "anna.txt").read_text(encoding="utf-8")
    assert words.startswith(f"anna.ipynb: 1 of 3 passed\n  {FIRST}: FAIL: you stored")
    assert f"  {SECOND}: PASS\n  {THIRD}: TODO\n" in words
    assert "not a notebook" in (tmp_path / "submissions_feedback" / "carl.txt").read_text(encoding="utf-8")
    assert {path: path.read_bytes() for path in folder.rglob("*.ipynb")} == before


def test_a_layer_built_on_the_helpers_is_accepted(grade, tmp_path):
    lesson = json.loads((ROOT / "notebooks" / "11_training_with_norms.ipynb").read_text(encoding="utf-8"))
    source = next("".join(c["source"]) for c in lesson["cells"] if "solution" in c["metadata"].get("tags", []))
    imports = "from helpers import Layer, Parameter"
    write(tmp_path / "s", anna=notebook(imports, source.replace(", solution=True", "")))
    assert grade.main([str(tmp_path / "s"), "--lesson", "11"]) == 0
    assert read_table(tmp_path / "s_grades.csv")[0]["my_batch_norm_layer"] == "PASS"


# ------------------------------------------------------------------------------------------- what was submitted


def test_a_student_is_a_file_or_folder_name(grade, tmp_path):
    write(
        tmp_path,
        anna="x",
        **{
            "bob__02.ipynb": "x",
            "bob__deep__15.ipynb": "x",
            "bob__.ipynb_checkpoints__02-checkpoint.ipynb": "x",
            "carl__answers.txt": "x",
            "dora.zip": "x",
            ".hidden.ipynb": "x",
        },
    )
    found = [(student, path.relative_to(tmp_path).as_posix()) for student, path in grade.submissions(tmp_path)]
    assert sorted(found) == [("anna", "anna.ipynb"), ("bob", "bob/02.ipynb"), ("bob", "bob/deep/15.ipynb")]


@for_each(
    "text",
    ["", "hello", "[1, 2]", "{}", '{"worksheets": []}', "[" * 100_000, '{"cells": [{}]}', '{"cells": 3}', "\\ud800"]
    + ['{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', '{"cells": [{"cell_type": "code", "source": 3}]}'],
)
def test_the_table_names_what_is_no_notebook(grade, tmp_path, text):
    write(tmp_path, anna=text)
    with pytest.raises(ValueError, match="not a notebook, or a damaged one"):
        grade.code_cells(tmp_path / "anna.ipynb")


def test_untagged_solutions_are_left_out_too(grade, tmp_path):
    lesson = ROOT / "notebooks" / "03_running_averages.ipynb"
    untagged = json.loads(lesson.read_text(encoding="utf-8"))
    for cell in untagged["cells"]:
        cell["metadata"] = {}
    write(tmp_path, untagged=json.dumps(untagged))
    for path in (lesson, tmp_path / "untagged.ipynb"):
        text = "\n".join(source for _, source in grade.code_cells(path))
        assert f"def {FIRST}" in text
        assert "momentum * x.var(axis=0, ddof=1)" not in text


def test_exercises_belong_to_one_lesson_each(grade):
    lessons = grade.all_lessons()
    names = [name for exercises in lessons.values() for name in exercises]
    assert len(names) == len(set(names))
    for lesson in lessons:
        assert grade.lesson_of(grade.code_cells(ROOT / "notebooks" / f"{lesson}.ipynb"), lessons) == lesson
    assert grade.lesson_of([(1, "print('my own notebook')")], lessons) is None


@pytest.mark.parametrize(
    ("sources", "wanted", "note"),
    [
        ([RIGHT], "02_batch_dependence", "this is lesson 03_running_averages"),
        (["1 + 1"], "02_batch_dependence", "it names no exercise of any lesson"),
        (["1 + 1"], None, "it names no exercise of any lesson"),
    ],
)
def test_another_notebook_than_asked_for_is_named(grade, tmp_path, sources, wanted, note):
    write(tmp_path, anna=notebook(*sources))
    options = SimpleNamespace(folder=tmp_path)
    row = grade.grade("anna", tmp_path / "anna.ipynb", grade.all_lessons(), wanted, options)
    assert (row.notes, row.results) == ([note], {})


# -------------------------------------------------------------------------------------------------- the table


@for_each("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\n=1+1", " =1+1"])
def test_no_cell_of_the_table_is_a_formula(grade, tmp_path, start):
    row = grade.Row(start, start, "03_running_averages", {FIRST: start}, [start])
    grade.write_results(tmp_path / "t", grade.table([row], {"03_running_averages": [FIRST]}), {})
    with open(tmp_path / "t_grades.csv", encoding="utf-8-sig", newline="") as file:
        cells = list(csv.reader(file))[1]
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", " ") for cell in cells)


def test_a_table_cell_is_one_short_clean_line(grade):
    text = grade.plain("a\nb\x00\x1b[31m\u202e\ud800" + "x" * 1000)
    assert text.startswith("a b??[31m??x")
    assert len(text) == 300
    text.encode()


def test_the_table_ignores_the_order_of_grading(grade):
    lessons = {"03_running_averages": [FIRST]}
    rows = [grade.Row(s, f"{s}/{n}", "03_running_averages", {FIRST: "PASS"}) for s in "ba" for n in "21"][:3]
    lines = grade.table(rows, lessons)
    assert lines == grade.table(rows[::-1], lessons)
    assert [line[0] for line in lines] == ["student", "a", "b", "b"]
    assert [line[-2] for line in lines[1:]] == ["", *["this student has several notebooks for this lesson"] * 2]


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There are no notebooks in nowhere: put them there, as in nowhere/ALICE.ipynb."),
        (["empty"], "There are no notebooks in empty"),
        (["full", "--lesson", "99"], "There is no lesson '99'; there are: 00 01"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(grade, tmp_path, monkeypatch, capsys, arguments, sentence):
    write(tmp_path / "full", anna="x")
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "empty", **{"notes.txt": "x"})
    assert grade.main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "make reset" not in said and "Traceback" not in said
    assert not list(tmp_path.glob("*.csv"))
