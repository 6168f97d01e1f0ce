"""The learner's copies of the lessons and how JupyterLab opens them."""

import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from tests.shared import ROOT, load_tool

# --------------------------------------------------------------------------------------------------- workbook


@pytest.fixture
def workbook(tmp_path):
    """The module with a small repository of two lessons; `workbook.update()` returns (trusted names, said lines)."""
    module = load_tool("workbook")
    module.home = tmp_path
    (tmp_path / "notebooks").mkdir()
    write_lesson(tmp_path, "00_start_here", "1 + 1")
    write_lesson(tmp_path, "02_batch_dependence", "...")
    update, reset = module.update, module.reset

    def said(function, *arguments):
        lines = []
        return function(*arguments, root=tmp_path, say=lines.append), lines

    module.go = lambda: said(update)
    module.take = lambda lesson: said(reset, lesson)
    return module


def write_lesson(root, name, source, output="2"):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell(source)])
    for n, cell in enumerate(nb.cells):
        cell.id = f"cell-{n}"
    nb.cells[1].outputs = [nbformat.v4.new_output("stream", text=output)]
    nbformat.write(nb, root / "notebooks" / f"{name}.ipynb")


def edit(path, change):
    nb = nbformat.read(path, as_version=4)
    change(nb)
    nbformat.write(nb, path)


def answer(nb):
    nb.cells[1].source = "my answer"


def code(path):
    return nbformat.read(path, as_version=4).cells[1].source


def test_lessons_are_copied_once(workbook):
    trusted, said = workbook.go()
    assert [path.name for path in trusted] == ["00_start_here.ipynb", "02_batch_dependence.ipynb"]
    assert said == ["Copied 2 lessons to workbook/; work there."]
    assert code(trusted[1]) == "..."
    before = [path.stat().st_mtime_ns for path in trusted]
    assert workbook.go() == (trusted, [])
    assert [path.stat().st_mtime_ns for path in trusted] == before


def test_an_untouched_copy_follows_its_original(workbook):
    trusted, _ = workbook.go()
    write_lesson(workbook.home, "02_batch_dependence", "new")
    again, said = workbook.go()
    assert code(trusted[1]) == "new" and again == trusted
    assert said == ["Updated, since you had not changed them: 02_batch_dependence.ipynb"]


def test_running_a_copy_is_not_touching_it(workbook):
    trusted, _ = workbook.go()

    def run_it(nb):
        nb.cells[1].outputs, nb.cells[1].execution_count = [], 7
        nb.cells.append(nbformat.v4.new_code_cell(""))  # Shift-Enter on the last cell
        nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python"}

    edit(trusted[1], run_it)
    write_lesson(workbook.home, "02_batch_dependence", "new")
    again, _ = workbook.go()
    assert code(trusted[1]) == "new" and again == trusted


def test_a_copy_follows_new_outputs_of_its_original(workbook):
    trusted, _ = workbook.go()
    write_lesson(workbook.home, "02_batch_dependence", "...", output="3")
    workbook.go()
    assert nbformat.read(trusted[1], as_version=4).cells[1].outputs[0].text == "3"


def test_a_copy_with_answers_stays_quietly_without_changes(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], answer)
    write_lesson(workbook.home, "02_batch_dependence", "...", output="other outputs are no news")
    again, said = workbook.go()
    assert code(trusted[1]) == "my answer" and said == []
    assert again == trusted[:1], "a copy with other cells is not for us to trust"


def test_a_copy_with_answers_is_kept_and_named(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], answer)
    write_lesson(workbook.home, "02_batch_dependence", "new")
    for _ in range(2):
        again, said = workbook.go()
        assert code(trusted[1]) == "my answer" and again == trusted[:1]
        assert len(said) == 1 and "workbook/02_batch_dependence.ipynb holds your answers and was kept" in said[0]
        assert "`make reset LESSON=02`" in said[0]


def test_a_note_in_text_counts_as_an_answer(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], lambda nb: nb.cells.append(nbformat.v4.new_markdown_cell("my note")))
    write_lesson(workbook.home, "02_batch_dependence", "new")
    workbook.go()
    assert code(trusted[1]) == "..."


def test_answers_that_became_the_lessons_text_follow(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], answer)
    write_lesson(workbook.home, "02_batch_dependence", "my answer")
    again, said = workbook.go()
    assert again == trusted and len(said) == 1


def test_a_copy_that_remembers_nothing_is_kept(workbook):
    trusted, _ = workbook.go()

    def forget(nb):
        answer(nb)
        del nb.metadata[workbook.KEY]

    edit(trusted[1], forget)
    _, said = workbook.go()
    assert code(trusted[1]) == "my answer" and "make reset LESSON=02" in said[0]


@pytest.mark.parametrize(
    "rest", ['{"cells": [', "", "[]", '{"cells": [{}], "metadata": {}}', '{"cells": 3, "metadata": {}}']
)
def test_a_half_written_copy_is_replaced_and_kept(workbook, rest):
    trusted, _ = workbook.go()
    trusted[1].write_text(rest)
    again, said = workbook.go()
    assert again == trusted and code(trusted[1]) == "..."
    aside = trusted[1].with_name("02_unreadable-1_batch_dependence.ipynb")
    assert aside.read_text() == rest
    assert said == [f"workbook/{trusted[1].name} could not be read; it is kept as {aside.name}; a new copy was made."]


def test_an_interrupted_save_of_jupyterlab_is_undone(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], answer)
    before = trusted[1].with_name(".~02_batch_dependence.ipynb")  # what jupyter_server writes first
    before.write_bytes(trusted[1].read_bytes())
    trusted[1].write_text('{"cells": [')
    _, said = workbook.go()
    assert code(trusted[1]) == "my answer" and not before.exists()
    assert said == ["The last save of workbook/02_batch_dependence.ipynb was interrupted; the file is as it was."]
    before.write_text('{"cells": [')  # the crash came while the copy was made: the file itself is whole
    assert workbook.go()[1] == [] and code(trusted[1]) == "my answer"


def test_a_half_written_original_never_reaches_the_workbook(workbook):
    trusted, _ = workbook.go()
    (workbook.home / "notebooks" / "02_batch_dependence.ipynb").write_text('{"cells": [')
    again, said = workbook.go()
    assert again == trusted[:1] and code(trusted[1]) == "..."
    assert "notebooks/02_batch_dependence.ipynb is damaged" in said[0]


def test_an_interruption_leaves_the_old_copy_whole(workbook, monkeypatch):
    trusted, _ = workbook.go()
    write_lesson(workbook.home, "02_batch_dependence", "new")
    before = trusted[1].read_bytes()

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workbook.os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workbook.go()
    assert trusted[1].read_bytes() == before
    assert sorted(path.name for path in trusted[1].parent.iterdir()) == [path.name for path in trusted]
    (trusted[1].parent / ".copying-x.tmp").write_text("left by a power cut")
    workbook.go()
    assert code(trusted[1]) == "new"
    assert sorted(path.name for path in trusted[1].parent.iterdir()) == [path.name for path in trusted]


def test_reset_takes_the_lesson_and_keeps_copies(workbook):
    trusted, _ = workbook.go()
    for n in (1, 2, 3):
        edit(trusted[1], lambda nb, n=n: nb.cells[1].update(source=f"attempt {n}"))
        (copy, aside), said = workbook.take("02")
        assert copy == trusted[1] and code(copy) == "..."
        assert aside.name == f"02_mine-{n}_batch_dependence.ipynb"
        assert f"your old copy is workbook/{aside.name}" in said[0]
        assert "Your guesses stay in the browser" in said[1] and "Clear my answers" in said[1]
        assert not any(mark in line for line in said for mark in "*`"), "a terminal shows what is typed"
    kept = [code(path) for path in sorted(copy.parent.glob("02_mine-*.ipynb"))]
    assert kept == ["attempt 1", "attempt 2", "attempt 3"]
    assert workbook.go() == (trusted, [])


def test_reset_of_a_fresh_copy_keeps_nothing(workbook):
    workbook.go()
    (_, aside), _ = workbook.take("02")
    assert aside is None


@pytest.mark.parametrize(
    "name", ["02", "2", "02_batch_dependence", "02_batch_dependence.ipynb", "workbook/02_batch_dependence.ipynb"]
)
def test_reset_understands_the_ways_to_name_a_lesson(workbook, name):
    (copy, _), _ = workbook.take(name)
    assert copy.name == "02_batch_dependence.ipynb"


@pytest.mark.parametrize("name", ["07", "x", "batch"])
def test_reset_lists_lessons_for_an_unknown_one(workbook, name):
    with pytest.raises(workbook.LessonError, match=rf"no lesson '{name}'; there are: 00 02"):
        workbook.take(name)


def test_reset_without_a_lesson_says_how(capsys):
    assert load_tool("workbook").main(["reset"]) == 2
    assert capsys.readouterr().err == "Name the lesson, as in `make reset LESSON=02`.\n"


def test_only_the_named_copies_become_trusted(workbook, monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    from nbformat.sign import NotebookNotary

    trusted, _ = workbook.go()
    edit(trusted[1], answer)
    again, _ = workbook.go()
    said = []
    workbook.trust(again, say=said.append)
    notary = NotebookNotary()
    marks = [notary.check_signature(nbformat.read(path, as_version=4)) for path in trusted]
    notary.store.close()
    assert (marks, said) == ([True, False], [])


def test_copies_run_elsewhere_are_not_trusted(workbook):
    trusted, _ = workbook.go()
    edit(trusted[1], lambda nb: nb.cells[1].outputs[0].update(text="from somewhere else"))
    assert workbook.go()[0] == trusted[:1]


def test_copies_hide_outputs_that_answer_predictions(workbook):
    path = workbook.home / "notebooks" / "02_batch_dependence.ipynb"
    edit(path, lambda nb: nb.cells[1].metadata.update(tags=["answer"]))
    edit(path, lambda nb: nb.cells.append(nbformat.v4.new_code_cell("print(3)", metadata={"tags": ["picture"]})))
    edit(path, lambda nb: nb.cells[2].update(outputs=[nbformat.v4.new_output("stream", text="3")]))
    original = path.read_bytes()
    trusted, _ = workbook.go()
    nb = nbformat.read(trusted[1], as_version=4)
    assert nb.cells[1].outputs[0].text == "Commit to your guess above, then run this cell (Shift+Enter).\n"
    assert (nb.cells[1].execution_count, nb.cells[2].outputs[0].text) == (None, "3")
    assert path.read_bytes() == original and workbook.go() == (trusted, [])


def test_answering_explorers_leave_no_state_in_the_copy(workbook):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "told"}
    state = {key: {"model_name": "AnyModel", "state": {}} for key in "ab"}

    def add_widgets(nb):
        nb.cells[1].update(metadata={"tags": ["answer"]}, outputs=[nbformat.v4.new_output("display_data", view)])
        second = nbformat.v4.new_code_cell("q", outputs=[nbformat.from_dict(nb.cells[1].outputs[0])])
        second.outputs[0].data = {**view, "application/vnd.jupyter.widget-view+json": {"model_id": "b"}}
        nb.cells.append(second)
        nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": state}}

    edit(workbook.home / "notebooks" / "02_batch_dependence.ipynb", add_widgets)
    trusted, _ = workbook.go()
    widgets = nbformat.read(trusted[1], as_version=4).metadata.widgets
    assert list(widgets["application/vnd.jupyter.widget-state+json"]["state"]) == ["b"]


def test_answering_texts_are_folded_in_the_copy(workbook):
    original = workbook.home / "notebooks" / "02_batch_dependence.ipynb"
    words = nbformat.v4.new_markdown_cell("It moves, by $x$.", metadata={"tags": ["answer"]})
    edit(original, lambda nb: nb.cells.append(words))
    (_, copy), _ = workbook.go()
    folded = nbformat.read(copy, as_version=4).cells[-1].source
    assert folded == "<details><summary>After your guess</summary>\n\nIt moves, by $x$.\n\n</details>"
    assert nbformat.read(original, as_version=4).cells[-1].source == "It moves, by $x$."
    # Nothing is lost: a copy with answers is kept, and named only when its lesson changes.
    assert workbook.go()[1] == []
    edit(copy, answer)
    assert workbook.go()[1] == []
    edit(original, lambda nb: nb.cells[-1].update(source="It stays."))
    assert "holds your answers and was kept" in workbook.go()[1][0] and code(copy) == "my answer"


def test_links_lead_to_copies_and_the_glossary(workbook):
    glossary = workbook.home / "notebooks" / "glossary.md"
    glossary.write_text("**mean** [02](02_batch_dependence.ipynb)\n", encoding="utf-8")
    link = nbformat.v4.new_markdown_cell("[mean](../notebooks/glossary.md#mean)")
    edit(workbook.home / "notebooks" / "02_batch_dependence.ipynb", lambda nb: nb.cells.append(link))
    (_, lesson), _ = workbook.go()
    assert nbformat.read(lesson, as_version=4).cells[-1].source == "[mean](glossary.md#mean)"
    copy = workbook.home / "workbook" / "glossary.md"
    assert copy.read_text(encoding="utf-8").startswith("**mean** [02](02_batch_dependence.ipynb)\n")
    glossary.write_text("**variance**\n", encoding="utf-8")
    workbook.go()
    assert copy.read_text(encoding="utf-8").startswith("**variance**"), "it follows"
    written = "my note\n" + copy.read_text(encoding="utf-8")
    copy.write_text(written, encoding="utf-8")
    glossary.write_text("**count**\n", encoding="utf-8")
    workbook.go()
    assert copy.read_text(encoding="utf-8") == written, "unless the learner has written in it"


def test_lesson_links_lead_somewhere_in_the_workbook(tmp_path):
    module = load_tool("workbook")
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    module.update(root=tmp_path, say=lambda line: None)
    missing = []
    for path in sorted((tmp_path / "workbook").iterdir()):
        nb = nbformat.read(path, as_version=4) if path.suffix == ".ipynb" else None
        source = "\n".join(c.source for c in nb.cells if c.cell_type == "markdown") if nb else path.read_text("utf-8")
        for link in re.findall(r"\]\(([^)#:\s]+\.(?:ipynb|md))[#)]", source):
            if "/" in link or not (tmp_path / "workbook" / link).is_file():
                missing.append((path.name, link))
    assert missing == []


# -------------------------------------------------------------------------------------------------------- lab


@pytest.fixture
def lab():
    return load_tool("lab")


def test_the_lab_opens_lesson_00_at_the_root(lab, tmp_path):
    (tmp_path / "workbook").mkdir()
    assert "--LabApp.default_url=/lab/tree/workbook" in lab.command([], root=tmp_path)
    (tmp_path / "workbook" / "00_start_here.ipynb").touch()
    command = lab.command([], root=tmp_path)
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--LabApp.default_url=/lab/tree/workbook/00_start_here.ipynb" in command
    assert not any("token" in word or "allow-root" in word or "no-browser" in word for word in command)


def test_the_lab_refuses_unneeded_root_and_browser(lab):
    assert "--allow-root" in lab.command([], as_root=True)
    assert "--no-browser" in lab.command([], display=False)
    assert lab.command(["--no-browser"], display=False).count("--no-browser") == 1


def test_what_the_caller_says_comes_last(lab):
    assert lab.command(["--port=9999", "--ip=0.0.0.0"])[-2:] == ["--port=9999", "--ip=0.0.0.0"]


def test_the_callers_log_level_wins(lab):
    assert "--log-level=WARN" in lab.command([])
    for own in ("--log-level=INFO", "--debug"):
        assert [word for word in lab.command([own]) if word.startswith("--log") or word == "--debug"] == [own]


def test_the_learners_own_jupyter_settings_stay(lab):
    before = {"JUPYTER_CONFIG_PATH": "/mine", "PYTHONSTARTUP": "/mine.py", "HOME": "/home/me"}
    after = lab.environment(before, root=ROOT)
    ours, mine = after["JUPYTER_CONFIG_PATH"].split(lab.os.pathsep)
    assert (Path(ours), mine) == (ROOT / "tools" / "learner" / "jupyter", "/mine")
    assert (Path(after["PYTHONSTARTUP"]).is_file(), after["LESSONS_PYTHONSTARTUP"]) == (True, "/mine.py")
    assert after["HOME"] == "/home/me" and before["PYTHONSTARTUP"] == "/mine.py"
    assert lab.environment({}, root=ROOT)["JUPYTER_CONFIG_PATH"] == str(ROOT / "tools" / "learner" / "jupyter")


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"SSH_CONNECTION": "1 2 3 4"}, "darwin", False),
    ],
)
def test_a_display_is_recognized(lab, environ, platform, expected):
    assert lab.has_display(environ, platform) is expected


def test_a_second_lab_leads_to_the_first(lab, monkeypatch, capsys, tmp_path):
    import jupyter_server.serverapp as serverapp

    servers = [
        {"root_dir": "/elsewhere", "url": "http://a/"},
        {"root_dir": str(ROOT), "url": "http://b/", "token": "t"},
    ]
    monkeypatch.setattr(serverapp, "list_running_servers", lambda: iter(servers))
    monkeypatch.setattr(lab.workbook, "update", lambda root: [])
    monkeypatch.setattr(lab.os, "execve", lambda *line: (_ for _ in ()).throw(SystemExit("started")))
    monkeypatch.setattr(lab.os, "chdir", lambda folder: None)
    assert lab.main(["--no-browser"]) == 0
    said = capsys.readouterr().out
    assert "already running with these lessons, at http://b/lab?token=t" in said and "--port=9999" in said
    if lab.os.name != "nt":
        with pytest.raises(SystemExit, match="started"):
            lab.main(["--port=9999", "--no-browser"])
        servers.pop()
        with pytest.raises(SystemExit, match="started"):
            lab.main(["--no-browser"])
