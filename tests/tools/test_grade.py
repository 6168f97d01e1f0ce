"""The grader. What takes it longer to survive is in robustness/test_grade_hostile.py."""

import csv
import json

import pytest

from tools.classroom import grade, grade_one
from tools.lessons import ROOT

SETUP = """\
import sys
from pathlib import Path

here = [Path.cwd(), *Path.cwd().parents]
sys.path[:0] = [str(p) for p in here if (p / "helpers" / "norms.py").is_file()][:1]

import numpy as np

from helpers import check_exercise"""
LESSON = "03_running_averages"
FIRST, SECOND, THIRD = "my_update_running_stats", "my_torch_momentum_from_keras", "my_batch_norm_eval"
RIGHT = f"def {SECOND}(keras_momentum):\n    return 1 - keras_momentum\n\n\ncheck_exercise('{SECOND}', {SECOND})"
BIASED = f"""\
def {FIRST}(running_mean, running_var, x, momentum=0.1):
    mean = (1 - momentum) * running_mean + momentum * x.mean(axis=0)
    return mean, (1 - momentum) * running_var + momentum * x.var(axis=0)"""


def notebook(*sources):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": source} for source in (SETUP, *sources)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read_table(folder):
    with open(f"{folder}_grades.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_right_wrong_and_untouched_answers_are_told_apart(tmp_path, capsys):
    stub = f"def {THIRD}(x, gamma, beta, running_mean, running_var, eps=1e-5):\n    ..."
    folder = write(
        tmp_path / "submissions",
        {
            "anna.ipynb": notebook(RIGHT, BIASED, stub),
            "bob/03_running_averages.ipynb": notebook("print('x')", RIGHT, f"def {FIRST}(running_mean:", stub),
            "carl.ipynb": "",
            "dora.ipynb": notebook(BIASED),
        },
    )
    before = {path: path.read_bytes() for path in folder.rglob("*.ipynb")}
    assert grade.main([str(folder), "--jobs", "2"]) == 0
    anna, bob, carl, dora = read_table(folder)
    assert (anna["student"], anna["lesson"], anna["passed"], anna["of"]) == ("anna", LESSON, "1", "3")
    assert anna[FIRST].startswith("FAIL: you stored the variance over n")
    assert (anna[SECOND], anna[THIRD], anna["note"]) == ("PASS", "TODO", "")
    assert bob[FIRST].startswith("FAIL: its cell stops with SyntaxError: ")
    assert (bob[SECOND], bob[THIRD], bob["notebook"]) == ("PASS", "TODO", "bob/03_running_averages.ipynb")
    assert (carl[SECOND], carl["passed"]) == ("", "")
    assert "not a notebook, or a damaged one" in carl["note"]
    assert dora["note"] == f"{SECOND} is not in the notebook; {THIRD} is not in the notebook"
    said = capsys.readouterr().out
    assert "[4/4]" in said
    assert f"2 of 3 {FIRST}: FAIL: you stored the variance over n" in said
    words = (tmp_path / "submissions_feedback" / "anna.txt").read_text(encoding="utf-8")
    assert words.startswith(f"anna.ipynb: 1 of 3 passed\n  {FIRST}: FAIL: you stored")
    assert f"  {SECOND}: PASS\n  {THIRD}: TODO\n" in words
    assert "not a notebook" in (tmp_path / "submissions_feedback" / "carl.txt").read_text(encoding="utf-8")
    assert {path: path.read_bytes() for path in folder.rglob("*.ipynb")} == before


# ------------------------------------------------------------------------------------------- what was submitted


def test_a_student_is_a_file_or_folder_name(tmp_path):
    wanted = {"anna.ipynb": "anna", "bob/02.ipynb": "bob", "bob/deep/15.ipynb": "bob"}
    clutter = ["bob/.ipynb_checkpoints/2.ipynb", "__MACOSX/bob/2.ipynb", ".hidden.ipynb", "bob/.~02.ipynb", "x.zip"]
    write(tmp_path, dict.fromkeys([*wanted, *clutter, "carl/answers.txt"], "x"))
    found = grade.submissions(tmp_path)
    assert {path.relative_to(tmp_path).as_posix(): student for student, path in found} == wanted


@pytest.mark.parametrize("text", ["hello", "[1, 2]", "[" * 100_000, '{"cells": [{}]}', '{"cells": 3}'])
def test_what_is_no_notebook_says_so(tmp_path, text):
    said = []
    path = write(tmp_path, {"anna.ipynb": text}) / "anna.ipynb"
    grade_one.grade(path, "", 1, 1, say=lambda **message: said.append(message))
    assert said == [{"notes": ["the file is not a notebook, or a damaged one: ask for it again"]}]


def test_another_lesson_than_asked_for_is_named(tmp_path):
    folder = write(tmp_path, {"other.ipynb": notebook(RIGHT), "none.ipynb": notebook("1 + 1")})
    said = []
    for name in ("other", "none"):
        grade_one.grade(folder / f"{name}.ipynb", "11_training", 1, 1, say=lambda **message: said.append(message))
    assert said == [{"notes": [f"this is lesson {LESSON}"]}, {"notes": ["it names no exercise of any lesson"]}]


def test_untagged_solutions_are_left_out_too(tmp_path):
    lesson = ROOT / "notebooks" / f"{LESSON}.ipynb"
    untagged = json.loads(lesson.read_text(encoding="utf-8"))
    for cell in untagged["cells"]:
        cell["metadata"] = {}
    write(tmp_path, {"untagged.ipynb": json.dumps(untagged)})
    for path in (lesson, tmp_path / "untagged.ipynb"):
        text = "\n".join(source for _, source in grade_one.code_cells(path))
        assert f"def {FIRST}" in text
        assert "momentum * x.var(axis=0, ddof=1)" not in text


def test_exercises_belong_to_one_lesson_each():
    lessons = grade_one.all_lessons()
    names = [name for exercises in lessons.values() for name in exercises]
    assert len(names) == len(set(names))
    for lesson in lessons:
        cells = grade_one.code_cells(ROOT / "notebooks" / f"{lesson}.ipynb")
        assert grade_one.lesson_of(cells, lessons) == (lesson, lessons[lesson])


# -------------------------------------------------------------------------------------------------- the table


def graded(monkeypatch, tmp_path, *lines):
    """The row of a notebook of which grade_one.py has said these lines."""
    monkeypatch.setattr(grade, "run", lambda path, options: (b"\n".join(lines), "TIME"))
    options = type("", (), {"folder": tmp_path})
    row = grade.grade("anna", tmp_path / "anna.ipynb", options)
    return row.results, row.notes


def test_what_was_not_said_is_lost(monkeypatch, tmp_path):
    start = b'{"lesson": "03", "results": {"a": null, "b": null}}'
    lost = "TIME: the process ended in the middle of "
    assert graded(monkeypatch, tmp_path) == ({}, [lost + "the start"])
    assert graded(monkeypatch, tmp_path, start, b'{"step": "b"}', b'{"results": {"a": "PASS"}}') == (
        {"a": "PASS", "b": lost + "b"},
        [],
    )
    for line in (b"3", b"no JSON", b"[1]"):  # what the notebook itself has written there
        assert graded(monkeypatch, tmp_path, start, line)[0] == dict.fromkeys("ab", lost + "the start")


def test_no_cell_of_the_table_is_a_formula(tmp_path):
    starts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\n=1+1", " =1+1"]
    grade.write_table(tmp_path / "t.csv", [grade.Row(s, s, LESSON, {FIRST: s}, [s]) for s in starts])
    with open(tmp_path / "t.csv", encoding="utf-8-sig", newline="") as file:
        cells = [cell for line in list(csv.reader(file))[1:] for cell in line]
    assert len(cells) == 7 * len(starts)
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", " ")]


def test_a_table_cell_is_one_short_clean_line():
    text = grade.plain("a\nb\x00\x1b[31m\u202e\ud800" + "x" * 1000)
    assert text.startswith("a b??[31m??x")
    assert len(text) == 300
    text.encode()


def test_two_notebooks_of_one_student_are_noted(tmp_path):
    rows = [grade.Row("anna", name, LESSON, {FIRST: "PASS"}) for name in ("1", "2")]
    grade.write_table(tmp_path / "t_grades.csv", [*rows, grade.Row("bob", "3", LESSON), grade.Row("bob", "4")])
    twice = "this student has several notebooks for this lesson"
    assert [line["note"] for line in read_table(tmp_path / "t")] == [twice, twice, "", ""]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There are no notebooks in nowhere: put them there, as in nowhere/ALICE.ipynb.\n"),
        (["empty"], "There are no notebooks in empty: put them there, as in empty/ALICE.ipynb.\n"),
        (["full", "--lesson", "99"], "There is no lesson '99'; there are: 00 01"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(tmp_path, monkeypatch, capsys, arguments, sentence):
    write(tmp_path, {"full/anna.ipynb": "x", "empty/notes.txt": "x"})
    monkeypatch.chdir(tmp_path)
    assert grade.main(arguments) == 2
    assert capsys.readouterr().err.startswith(sentence)
    assert not list(tmp_path.glob("*.csv"))
