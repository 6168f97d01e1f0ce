"""The parts of `make lite` that need no browser."""

import asyncio
import csv
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import types
import zipfile

import pytest
from IPython.core.interactiveshell import InteractiveShell

import helpers  # noqa: F401 - lessons_kernel looks for it
from helpers.exercises import all_exercises
from tests.shared import LESSONS, ROOT
from tools.classroom import grade
from tools.learner import missing_name, workbook
from tools.learner.widget_state import models_of
from tools.lessons import text

pytest.importorskip("markdown_it", reason="authors have it")
pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.lessons import read_lesson, tags_of  # noqa: E402
from tools.publish import lite  # noqa: E402
from tools.publish.pages import PublishError  # noqa: E402

spec = importlib.util.spec_from_file_location("lessons_kernel", lite.WEB / "lite" / "lessons_kernel.py")
lessons_kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lessons_kernel)

LESSON = ROOT / "notebooks" / "04_layer_norm.ipynb"
THEIRS = {
    "numpy": {"name": "numpy", "file_name": "numpy.whl", "depends": []},
    "Prompt_toolkit": {"name": "prompt_toolkit", "file_name": "prompt.whl", "depends": ["wcwidth"]},
}
OURS = {"normalization-helpers": {"name": "normalization-helpers", "file_name": "ours.whl", "depends": ["numpy"]}}


def test_the_lesson_is_the_learners_trusted_copy():
    copy = json.loads(workbook.copy_of(LESSON))
    served = lite.as_served(json.loads(workbook.copy_of(LESSON)))
    assert [cell["source"] for cell in served["cells"]] == [text(cell["source"]) for cell in copy["cells"]]
    assert all(cell["metadata"]["trusted"] for cell in served["cells"] if cell["cell_type"] == "code")
    assert models_of(served) == models_of(copy) != {}
    assert served["metadata"][workbook.KEY] == copy["metadata"][workbook.KEY]


def test_the_helpers_wheel_is_complete_and_reproducible(tmp_path):
    first = lite.make_wheel(tmp_path, "normalization-helpers", lite.files_of_helpers())
    data = first.read_bytes()
    assert lite.make_wheel(tmp_path, "normalization-helpers", lite.files_of_helpers()).read_bytes() == data
    names = zipfile.ZipFile(first).namelist()
    assert {"helpers/norms.py", "helpers/widgets/bundle/stage.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def write_python(tmp_path, monkeypatch, pyodide, **options):
    monkeypatch.setattr(lite, "AT_START", ["Prompt-Toolkit"])
    monkeypatch.setattr(lite, "read_lock", lambda _: {"info": {}, "packages": THEIRS})
    monkeypatch.setattr(lite, "write_packages", lambda folder: folder.mkdir(parents=True) or OURS)
    missing = lite.write_python(pyodide, tmp_path, **options)
    return missing, json.loads((tmp_path / "packages/pyodide-lock.json").read_text(encoding="utf-8"))["packages"]


def test_public_packages_are_named_by_address(tmp_path, monkeypatch):
    missing, packages = write_python(tmp_path, monkeypatch, "https://example.org/full/", incomplete=True)
    assert missing == {"wcwidth"}
    assert packages["numpy"]["file_name"] == "https://example.org/full/numpy.whl"
    assert packages["normalization-helpers"]["file_name"] == "ours.whl"
    assert packages["prompt-toolkit"]["depends"] == []


def test_matplotlib_comes_without_what_only_pdf_files_need(tmp_path, monkeypatch):
    drawing = {"name": "matplotlib", "file_name": "m.whl", "depends": ["numpy", "fonttools", "pytz"]}
    monkeypatch.setitem(THEIRS, "matplotlib", drawing)
    _, packages = write_python(tmp_path, monkeypatch, "https://example.org/full/", incomplete=True)
    assert packages["matplotlib"]["depends"] == ["numpy"]


def test_distributions_lacking_what_lessons_need_are_refused(tmp_path, monkeypatch):
    with pytest.raises(PublishError, match="lacks wcwidth: take a full one"):
        write_python(tmp_path, monkeypatch, "https://example.org/full/")


def test_a_folder_without_pyodide_is_named(tmp_path):
    with pytest.raises(PublishError, match="holds no distribution of Pyodide"):
        lite.read_lock(tmp_path)


def test_the_folder_notes_its_lessons_and_pages(tmp_path):
    out = tmp_path / "site" / "run"
    out.mkdir(parents=True)
    note = out / lite.ABOUT
    assert not lite.lead_back(out, {"01_one.ipynb": "abc"})
    assert json.loads(note.read_text()) == {"pages": None, "lessons": {"01_one.ipynb": "abc"}}
    (out.parent / "01_one.html").touch()
    assert lite.lead_back(out)
    assert json.loads(note.read_text()) == {"pages": "../", "lessons": {"01_one.ipynb": "abc"}}


def test_lesson_00_asks_what_a_browser_must_have():
    needed = tomllib.loads(lite.needs_in_a_browser())["project"]["dependencies"]
    assert {line.split(">=")[0] for line in needed} == set(lite.HELPERS)


# ------------------------------------------------------------------------------------------------ the kernel


def test_only_drawing_cells_load_matplotlib_once(monkeypatch):
    kernel, loaded = types.SimpleNamespace(), []

    async def load(what):
        loaded.append(what)

    kernel._load_packages_from_imports = load
    lessons_kernel.load_figures_late(kernel, load)
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    run = kernel._load_packages_from_imports
    setup, picture = "from helpers import new_figure, show", "fig, ax = new_figure()"
    for code in (setup, "x = 1", "no python", picture):
        asyncio.run(run(code))
    assert loaded == [setup, "x = 1", "no python", "matplotlib", picture]
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    asyncio.run(run(picture))
    assert loaded.count("matplotlib") == 1


def test_no_cell_draws_before_the_helpers_are_there(monkeypatch):
    assert lessons_kernel.draws("show(fig, words)")
    monkeypatch.delitem(sys.modules, "helpers")
    assert not lessons_kernel.draws("show(fig, words)")


def test_a_browser_without_memory_says_one_line(capsys):
    shell = InteractiveShell()
    missing_name.install(shell)
    lessons_kernel.say_no_memory(shell)
    shell.run_cell("raise MemoryError")
    said = capsys.readouterr().out
    assert "no more memory for Python" in said and "Traceback" not in said
    shell.run_cell("unheard_of")
    assert "If a cell further up makes `unheard_of`" in capsys.readouterr().out
    shell.run_cell("1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_headings_join_pages_and_their_lessons(lesson):
    """A formula or a link in a heading is one thing in the notebook's text and another on the page."""
    titles = [part.title for part in read_lesson(lesson).parts if part.level]
    keys = [re.sub(r"[^\w]+|_", "-", title.lower()) for title in titles]
    assert not [title for title in titles if re.search(r"[$\]<]", title)] and len(set(keys)) == len(keys)


def test_helpers_load_no_matplotlib_before_a_figure():
    code = "import sys, helpers; from helpers import show, new_figure, Explorer, lines, PALETTE; "
    code += "sys.platform = 'emscripten'; "
    code += "e = Explorer({'a': [1.0, 2.0]}, lambda a: [lines([0, 1], [0, a])], caption=lambda a: f'{a}'); "
    code += "e._repr_mimebundle_(); print('matplotlib' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr


def test_browser_and_lab_notebooks_are_graded_alike(tmp_path):
    nb = lite.as_served(json.loads(workbook.copy_of(LESSON)))
    stub = next(cell for cell in nb["cells"] if "exercise" in tags_of(cell) and "my_project" in cell["source"])
    stub["source"] = all_exercises()["my_project"].solution + '\n\ncheck_exercise("my_project", my_project)'
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "ADA.ipynb").write_text(json.dumps(nb), encoding="utf-8")
    assert grade.main([str(folder)]) == 0
    with open(tmp_path / "submissions_grades.csv", encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["student"], row["lesson"], row["my_project"]) == ("ADA", "04_layer_norm", "PASS")
    assert row["my_channel_layer_norm"] == "TODO"
