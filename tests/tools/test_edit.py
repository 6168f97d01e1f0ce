"""A lesson edited as text: nothing is lost on the way out and in, and a conflict is joined by the cells' texts."""

import subprocess

import nbformat
import pytest

from tests.shared import LESSONS
from tools.author import record

pytest.importorskip("jupytext", reason="authors have it")
from tools.author import edit  # noqa: E402


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A lesson in a repository of its own; instead of a run, its last cell puts out the code of all."""

    def execute(nb, *_):
        code = "; ".join(cell.source for cell in nb.cells if cell.cell_type == "code")
        nb.cells[-1].outputs = [nbformat.v4.new_output("stream", text=code)]

    monkeypatch.setattr(edit, "ROOT", tmp_path)
    monkeypatch.setattr(record, "execute", execute)
    monkeypatch.setattr(record, "record_others", lambda: [])
    path = tmp_path / "notebooks" / "05_small.ipynb"
    path.parent.mkdir()
    cells = [nbformat.v4.new_markdown_cell("# 05 Small: what?", id="title")]
    cells += [nbformat.v4.new_code_cell(f"x = {k}", id=f"cell-{k}", metadata={"tags": ["answer"]}) for k in (1, 2, 3)]
    nb = nbformat.v4.new_notebook(cells=cells)
    path.write_bytes(record.notebook_bytes(record.normalize(nb)))
    return path


def change(lesson, old, new):
    script = edit.script_of(lesson)
    text = script.read_text(encoding="utf-8")
    assert text.count(old) == 1
    script.write_text(text.replace(old, new), encoding="utf-8")


def sources(lesson):
    return [cell.source for cell in nbformat.read(lesson, as_version=4).cells]


@pytest.mark.parametrize("path", LESSONS[:3], ids=lambda path: path.stem)
def test_an_unchanged_script_gives_the_same_cells(path):
    import jupytext

    stored = record.read_notebook(path)
    edited = jupytext.reads(edit.as_text(stored), fmt=edit.FORMAT)
    edited = edit.combine_inputs_with_outputs(edited, stored, edit.FORMAT)
    assert [cell.id for cell in edited.cells] == [cell.id for cell in stored.cells]
    assert [cell.source for cell in edited.cells] == [cell.source for cell in stored.cells]
    kept = ("tags", "discussion", "jupyter")
    for before, after in zip(stored.cells, edited.cells, strict=True):
        assert {key: before.metadata.get(key) for key in kept} == {key: after.metadata.get(key) for key in kept}


def test_an_edited_cell_keeps_id_and_tags(lesson):
    edit.take_out(lesson)
    change(lesson, "x = 2", "x = 20")
    assert edit.bring_in(lesson)
    cells = nbformat.read(lesson, as_version=4).cells
    assert [cell.id for cell in cells] == ["title", "cell-1", "cell-2", "cell-3"]
    assert cells[2].source == "x = 20" and cells[2].metadata == {"tags": ["answer"]}
    assert not edit.script_of(lesson).exists()


def test_a_failing_cell_leaves_notebook_and_script_alone(lesson, monkeypatch, capsys):
    def fail(nb, folder, name):
        raise record.RecordError("cell 2 failed")

    edit.take_out(lesson)
    change(lesson, "x = 2", "x = y")
    before = lesson.read_bytes()
    monkeypatch.setattr(record, "execute", fail)
    assert edit.main(["in", "05"]) == 1
    assert "cell 2 failed" in capsys.readouterr().err
    assert lesson.read_bytes() == before and "x = y" in edit.script_of(lesson).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["out", "in", "merge"])
def test_impossible_requests_end_in_one_sentence(lesson, command, capsys):
    if command == "out":
        edit.take_out(lesson)
    assert edit.main([command, "05"]) == 2
    said = capsys.readouterr().err
    words = {"out": "already exists", "in": "There is no editing", "merge": "is not in conflict"}
    assert words[command] in said and said.count("\n") == 1


def test_a_script_of_an_older_notebook_is_refused(lesson, capsys):
    edit.take_out(lesson)
    lesson.write_bytes(lesson.read_bytes().replace(b'"x = 3"', b'"x = 4"'))
    assert edit.main(["in", "05"]) == 2
    assert "has changed since" in capsys.readouterr().err


def conflict(lesson, theirs, ours):
    """A merge in which both sides changed the lesson."""

    def git(*words, fails=False):
        names = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *names, *words], cwd=lesson.parents[1], capture_output=True)
        assert fails or done.returncode == 0, done.stderr

    def commit(change_to=None):
        if change_to:
            edit.take_out(lesson)
            change(lesson, *change_to)
            edit.bring_in(lesson)
        git("add", "notebooks")
        git("commit", "-m", "a")

    git("init")
    commit()
    git("checkout", "-b", "other")
    commit(theirs)
    git("checkout", "main")
    commit(ours)
    git("merge", "other", fails=True)


def test_changes_of_both_sides_are_joined(lesson):
    """Only the outputs are in conflict, because both changes show in the last one."""
    conflict(lesson, theirs=("x = 1", "x = 10"), ours=("x = 3", "x = 3\ny = 1"))
    assert edit.main(["merge", "05"]) == 0
    assert sources(lesson)[1:] == ["x = 10", "x = 2", "x = 3\ny = 1"]


def test_lines_changed_on_both_sides_await_the_author(lesson, capsys):
    conflict(lesson, theirs=("x = 2", "x = 20"), ours=("x = 2", "x = 200"))
    assert edit.main(["merge", "05"]) == 1
    assert "Both sides changed the same lines" in capsys.readouterr().out
    assert edit.main(["merge", "05"]) == 2
    assert "already exists" in capsys.readouterr().err  # what is chosen there is not overwritten
    assert edit.main(["in", "05"]) == 2
    assert "still has a conflict" in capsys.readouterr().err
    text = edit.script_of(lesson).read_text(encoding="utf-8")
    first, rest = text.split("<<<<<<< yours\n")
    ours, rest = rest.split("=======\n")
    theirs, rest = rest.split(">>>>>>> theirs\n")
    edit.script_of(lesson).write_text(first + theirs + rest, encoding="utf-8")
    assert edit.main(["in", "05"]) == 0
    assert sources(lesson)[2] == "x = 20"
