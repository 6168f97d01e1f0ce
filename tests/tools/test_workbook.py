"""The learner's copies of the lessons and how JupyterLab opens them."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from tests.shared import LESSONS, ROOT
from tools.learner import lab, workbook
from tools.lessons import LessonError, text

NAME = "02_batch_dependence"


class Home:
    """A small repository of two lessons; `go` and `take` return what the two commands return, and what they say."""

    def __init__(self, root):
        self.root, self.copy = root, root / "workbook" / f"{NAME}.ipynb"
        (root / "notebooks").mkdir()
        for name in ("00_start_here", NAME):
            self.write("...", name=name)
        self.both = [root / "workbook" / f"{name}.ipynb" for name in ("00_start_here", NAME)]

    def write(self, source, output="2", name=NAME, more=()):
        """Write an original."""
        cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell(source), *more]
        nb = nbformat.v4.new_notebook(cells=cells)
        for n, cell in enumerate(nb.cells):
            cell.id = f"cell-{n}"
        nb.cells[1].outputs = [nbformat.v4.new_output("stream", text=output)]
        nbformat.write(nb, self.root / "notebooks" / f"{name}.ipynb")

    def edit(self, change=lambda nb: nb.cells[1].update(source="my answer")):
        """Change the learner's copy."""
        nb = nbformat.read(self.copy, as_version=4)
        change(nb)
        nbformat.write(nb, self.copy)

    def cells(self):
        return nbformat.read(self.copy, as_version=4).cells

    def code(self):
        return self.cells()[1].source

    def go(self):
        lines = []
        return workbook.update(self.root, say=lines.append), lines

    def take(self, lesson):
        lines = []
        return workbook.reset(lesson, self.root, say=lines.append), lines


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def test_lessons_are_copied_once(home):
    assert home.go() == (home.both, ["Copied 2 lessons to workbook/; work there."])
    assert home.code() == "..."
    before = [path.stat().st_mtime_ns for path in home.both]
    assert home.go() == (home.both, [])
    assert [path.stat().st_mtime_ns for path in home.both] == before


def run_it(nb):
    """Running the last cell with Shift+Enter appends one."""
    nb.cells[1].outputs, nb.cells[1].execution_count = [], 7
    nb.cells.append(nbformat.v4.new_code_cell(""))
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python"}


def test_a_copy_follows_its_lesson_to_a_new_name(home, monkeypatch):
    home.go()
    monkeypatch.setattr(workbook, "RENAMED", {"02_old": home.both[1].stem})
    old = home.both[1].rename(home.both[1].with_name("02_old.ipynb"))
    home.go()
    assert home.both[1].exists() and not old.exists()


@pytest.mark.parametrize("change", [None, run_it])
def test_a_copy_without_answers_follows_its_original(home, change):
    home.go()
    if change:
        home.edit(change)
    home.write("new")
    assert home.go() == (home.both, [f"Updated, since you had not changed them: {NAME}.ipynb"])
    assert home.code() == "new"
    home.write("new", output="3")
    home.go()
    assert home.cells()[1].outputs[0].text == "3"


def forget(nb):
    nb.cells[1].source = "my answer"
    del nb.metadata[workbook.KEY]


@pytest.mark.parametrize(
    "change",
    [
        lambda nb: nb.cells[1].update(source="my answer"),
        lambda nb: nb.cells.append(nbformat.v4.new_markdown_cell("my note")),
        lambda nb: nb.cells[0].update(source="# My title"),
        lambda nb: nb.cells.pop(),
        forget,
    ],
)
def test_a_copy_with_answers_is_kept_and_named_when_its_lesson_changes(home, change):
    home.go()
    home.edit(change)
    mine = home.copy.read_bytes()
    home.write("...", output="other outputs are no news")
    trusted, said = home.go()
    assert trusted == home.both[:1], "a copy with other cells is not for us to trust"
    assert said == [] or change is forget
    home.write("new")
    for _ in range(2):
        _, said = home.go()
        assert len(said) == 1 and f"workbook/{NAME}.ipynb holds your answers and was kept" in said[0]
        assert "`make reset LESSON=02`" in said[0]
    assert home.copy.read_bytes() == mine


@pytest.mark.parametrize("rest", ['{"cells": [', '{"cells": [{}], "metadata": {}}', '{"cells": 3}'])
def test_a_half_written_copy_is_replaced_and_kept(home, rest):
    home.go()
    home.copy.write_text(rest)
    trusted, said = home.go()
    aside = home.copy.with_name("02_unreadable-1_batch_dependence.ipynb")
    assert trusted == home.both and home.code() == "..." and aside.read_text() == rest
    assert said == [f"workbook/{NAME}.ipynb could not be read; it is kept as {aside.name}; a new copy was made."]


def test_a_save_cut_short_by_a_crash_loses_nothing(home):
    home.go()
    home.edit()
    shutil.copy(home.copy, home.copy.with_name(f".~{NAME}.ipynb"))  # as jupyter_server does first
    home.copy.write_text('{"cells": [')
    home.go()
    assert home.code() == "my answer"


def test_a_half_written_original_never_reaches_the_workbook(home):
    home.go()
    (home.root / "notebooks" / f"{NAME}.ipynb").write_text('{"cells": [')
    trusted, said = home.go()
    assert trusted == home.both[:1] and home.code() == "..." and "is damaged" in said[0]
    with pytest.raises(LessonError, match="damaged"):
        home.take("02")


def test_an_interruption_leaves_the_old_copy_whole(home, monkeypatch):
    home.go()
    home.write("new")
    before = home.copy.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            home.go()
    assert home.copy.read_bytes() == before
    (home.copy.parent / ".copying-x.tmp").write_text("left by a power cut")
    home.go()
    assert home.code() == "new" and sorted(home.copy.parent.iterdir()) == home.both


def test_reset_takes_the_lesson_and_keeps_every_copy(home):
    home.go()
    for n in (1, 2):
        home.edit(lambda nb, n=n: nb.cells[1].update(source=f"attempt {n}"))
        (copy, aside), said = home.take("02")
        assert (copy, home.code(), aside.name) == (home.copy, "...", f"02_mine-{n}_batch_dependence.ipynb")
        assert f"your old copy is workbook/{aside.name}" in said[0] and "Your guesses stay in the browser" in said[1]
        assert f'"attempt {n}"' in aside.read_text()
    assert home.go() == (home.both, [])
    assert home.take(f"workbook/{NAME}.ipynb")[0] == (home.copy, None), "a fresh copy is not kept"


def test_reset_needs_a_lesson_that_is_there(home, capsys):
    with pytest.raises(LessonError, match="no lesson '07'; there are: 00 02"):
        home.take("07")
    assert workbook.main(["reset"]) == 2
    assert capsys.readouterr().err == "Name the lesson, as in `make reset LESSON=02`.\n"


def test_only_copies_as_they_were_made_become_trusted(home, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home.root / "data"))
    from nbformat.sign import NotebookNotary

    home.go()
    home.edit(lambda nb: nb.cells[1].outputs[0].update(text="from somewhere else"))
    trusted, _ = home.go()
    said = []
    workbook.trust(trusted, say=said.append)
    notary = NotebookNotary()
    marks = [notary.check_signature(nbformat.read(path, as_version=4)) for path in home.both]
    notary.store.close()
    assert (marks, said) == ([True, False], [])


def test_copies_hold_back_what_answers_a_prediction(home):
    data = {"text/plain": "told", "application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    tags = {"tags": ["answer"]}
    shown = nbformat.v4.new_output("display_data", data)
    other = nbformat.v4.new_output("display_data", {**data, list(data)[1]: {"model_id": "b"}})
    told = nbformat.v4.new_code_cell("1", outputs=[shown], execution_count=3, metadata=tags)
    words = nbformat.v4.new_markdown_cell("It moves, by $x$.", metadata=tags)
    more = nbformat.v4.new_markdown_cell("And back.", metadata=tags)
    quiz = nbformat.v4.new_code_cell('Quiz("01_a", only="moves")')
    home.write("...", more=[quiz, told, nbformat.v4.new_code_cell("2", outputs=[other]), words, more])
    path = home.root / "notebooks" / f"{NAME}.ipynb"
    nb = nbformat.read(path, as_version=4)
    states = {key: {"model_name": "AnyModel", "state": {}} for key in "ab"}
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": states}}
    nbformat.write(nb, path)
    original = path.read_bytes()
    home.go()
    copy = nbformat.read(home.copy, as_version=4)
    quiz, held, free, folded = copy.cells[2:]
    assert held.outputs[0].data["text/plain"] == workbook.GUESS_FIRST and held.execution_count is None
    assert 'class="after-guess after-01_a-moves"' in held.outputs[0].data["text/html"]
    assert free.outputs[0].data == other.data
    assert list(copy.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]) == ["b"]
    assert folded.source == (
        '<details class="after-guess after-01_a-moves"><summary>After your guess</summary>\n\n'
        "It moves, by $x$.\n\nAnd back.\n\n</details>"
    )
    assert path.read_bytes() == original and home.go() == (home.both, [])
    home.edit()
    assert home.go()[1] == [], "what is held back is no change of the lesson"


def test_the_glossary_follows_and_links_lead_to_copies(home):
    glossary, copy = home.root / "notebooks" / "glossary.md", home.root / "workbook" / "glossary.md"
    home.write("...", more=[nbformat.v4.new_markdown_cell("[mean](../notebooks/glossary.md#mean)")])
    for words in ("**mean**\n", "**mean** and **variance**\n"):
        glossary.write_text(words, encoding="utf-8")
        home.go()
        assert copy.read_text(encoding="utf-8") == words and not copy.stat().st_mode & 0o222
    assert home.cells()[2].source == "[mean](glossary.md#mean)"


def test_lesson_links_lead_somewhere_in_the_workbook(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    workbook.update(tmp_path, say=lambda line: None)
    missing = []
    for path in sorted((tmp_path / "workbook").iterdir()):
        for link in re.findall(r"\]\(([^)#:\s]+\.(?:ipynb|md))[#)]", path.read_text("utf-8")):
            if "/" in link or not (tmp_path / "workbook" / link).is_file():
                missing.append((path.name, link))
    assert missing == []


# -------------------------------------------------------------------------------------------------------- lab


def test_the_lab_opens_lesson_00_at_the_root(tmp_path):
    (tmp_path / "workbook").mkdir()
    assert "--LabApp.default_url=/lab/tree/workbook" in lab.command([], root=tmp_path)
    (tmp_path / "workbook" / "00_start_here.ipynb").touch()
    command = lab.command(["--port=9999", "--ip=0.0.0.0"], root=tmp_path)
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--LabApp.default_url=/lab/tree/workbook/00_start_here.ipynb" in command
    assert command[-2:] == ["--port=9999", "--ip=0.0.0.0"], "what the caller says comes last and wins"
    assert not any(word in command for word in ("--allow-root", "--no-browser"))
    assert "--allow-root" in lab.command([], as_root=True)
    assert lab.command(["--no-browser"], display=False).count("--no-browser") == 1
    assert "--log-level=WARN" not in lab.command(["--debug"])


def test_the_learners_own_jupyter_settings_stay():
    before = {"JUPYTER_CONFIG_PATH": "/mine", "PYTHONSTARTUP": "/mine.py", "HOME": "/home/me"}
    after = lab.environment(before)
    ours, mine = after["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert (Path(ours), mine) == (ROOT / "tools" / "learner" / "jupyter", "/mine")
    assert (Path(after["PYTHONSTARTUP"]).is_file(), after["LESSONS_PYTHONSTARTUP"]) == (True, "/mine.py")
    assert after["HOME"] == "/home/me" and before["PYTHONSTARTUP"] == "/mine.py"
    assert lab.environment({})["JUPYTER_CONFIG_PATH"] == ours


def test_a_display_is_recognized():
    for environ in ({"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}, {"BROWSER": "firefox"}):
        assert lab.has_display(environ, "linux")
    assert lab.has_display({}, "darwin") and lab.has_display({}, "win32") and not lab.has_display({}, "linux")
    assert not lab.has_display({"SSH_CONNECTION": "1 2 3 4"}, "darwin")


def test_a_second_lab_leads_to_the_first(monkeypatch, capsys):
    import jupyter_server.serverapp as serverapp

    servers = [{"root_dir": "/elsewhere", "url": "http://a/"}, {"root_dir": ROOT, "url": "http://b/", "token": "t"}]
    monkeypatch.setattr(serverapp, "list_running_servers", lambda: iter(servers))
    assert lab.running_at() == "http://b/lab?token=t"
    monkeypatch.setattr(lab.workbook, "update", lambda root: [])
    monkeypatch.setattr(lab, "start", lambda line: 7)
    assert lab.main(["--no-browser"]) == 0
    said = capsys.readouterr().out
    assert "already running with these lessons, at http://b/lab?token=t" in said and "--port=9999" in said
    assert lab.main(["--port=9999", "--no-browser"]) == 7
    servers.pop()
    assert lab.running_at() is None


def test_a_section_says_how_much_of_the_core_is_left():
    """In the learner's copy; the minutes fall, and only numbered sections have the line."""
    nb = json.loads(LESSONS[5].read_text(encoding="utf-8"))
    texts = [text(cell["source"]) for cell in workbook.as_copied(nb)["cells"] if cell["cell_type"] == "markdown"]
    said = [re.search(r"Section (\d) of (\d), about (\d+) minutes left", words) for words in texts]
    found = [tuple(map(int, one.groups())) for one in said if one]
    assert [section for section, _, _ in found] == list(range(1, found[0][1] + 1))
    assert sorted(found, key=lambda one: -one[2]) == found
