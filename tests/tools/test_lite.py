"""The parts of `make lite` that need no browser."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.shared import LESSONS, ROOT, slug
from tools.learner import workbook
from tools.learner.widget_state import models_of
from tools.lessons import read_lesson, tags_of, text

pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import lite  # noqa: E402
from tools.publish.pages import PublishError  # noqa: E402

LESSON = ROOT / "notebooks" / "04_layer_norm.ipynb"


def test_the_lesson_is_the_learners_trusted_copy():
    copy, served = json.loads(workbook.copy_of(LESSON)), lite.as_served(LESSON)
    assert [cell["source"] for cell in served["cells"]] == [text(cell["source"]) for cell in copy["cells"]]
    assert all(cell["metadata"]["trusted"] for cell in served["cells"] if cell["cell_type"] == "code")
    answers = [cell for cell in served["cells"] if "answer" in tags_of(cell) and cell.get("outputs")]
    assert answers and all("Commit to your guess" in json.dumps(cell["outputs"]) for cell in answers)
    assert models_of(served) == models_of(copy) != {}
    assert served["metadata"][workbook.KEY] == copy["metadata"][workbook.KEY]


def test_the_helpers_are_a_complete_wheel(tmp_path):
    pytest.importorskip("uv")
    lite.must_run([sys.executable, "-m", "uv", "build", "--offline", "--wheel", "-o", tmp_path], "no wheel", cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("helpers/")}
    listed = subprocess.run(["git", "ls-files", "helpers"], cwd=ROOT, capture_output=True, text=True, check=True)
    there = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    assert there <= held and not [name for name in held if "__pycache__" in name]
    name, listed = lite.entry(wheel)
    assert name == "normalization-notebooks" and listed["imports"] == ["helpers"]
    assert {"numpy", "anywidget"} <= set(listed["depends"]) and "jupyterlab" not in listed["depends"]


def test_a_folder_without_pyodide_is_named(tmp_path):
    with pytest.raises(PublishError, match="holds no distribution of Pyodide"):
        lite.read_lock(tmp_path)


def test_the_kernel_is_prepared_by_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    program = json.loads(lite.kernel_script().partition(" = ")[2].rstrip(";\n"))
    handlers = []

    class Shell:
        def set_custom_exc(self, kinds, handler):
            handlers.append(kinds)

    exec(program, {"shell": Shell()})
    assert NameError in handlers[0]
    needs = (Path(sys.path[0]) / "pyproject.toml").read_text()
    assert set(re.findall(r'"([\w-]+)>=', needs)) == set(lite.HELPERS)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_headings_join_pages_and_their_lessons(lesson):
    """A formula or a link in a heading is one thing in the notebook's text and another on the page."""
    titles = [part.title for part in read_lesson(lesson).parts if part.level]
    names = list(map(slug, titles))
    assert not [title for title in titles if re.search(r"[$\]<]", title)] and len(set(names)) == len(names)


def test_helpers_load_no_matplotlib_before_a_figure():
    code = "import sys, helpers; from helpers import show, new_figure, Explorer, lines, PALETTE; "
    code += "print('matplotlib' in sys.modules, 'pandas' in sys.modules); sys.platform = 'emscripten'; "
    code += "e = Explorer({'a': [1.0, 2.0]}, lambda a: [lines([0, 1], [0, a])], caption=lambda a: f'{a}'); "
    code += "print('image/png' in e._repr_mimebundle_()[0], 'matplotlib.figure' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False False\nFalse False\n", done.stderr
