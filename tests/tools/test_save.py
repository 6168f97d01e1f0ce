"""What the server and the kernels of lab.py add: widget state in saved files, a hint for a forgotten cell."""

import copy
import html
import json
import logging
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

from tests.shared import ROOT, every_lesson, everything, read
from tools.learner import lab, lesson_server, missing_name
from tools.learner.widget_state import STATE, complete
from tools.lessons import VIEW

# ------------------------------------------------------------------------------------- which state a file must hold


def model(name="AnyModel", **state):
    return {"model_name": name, "state": state}


def lesson(*shown, **models):
    """A notebook whose cells show the widgets of these ids, or id: text, and which stores these models."""
    cells = []
    for key in shown:
        key, _, words = key.partition(": ")
        data = {VIEW: {"model_id": key}, "image/png": "cGljdHVyZQ==", "text/plain": words or f"caption of {key}"}
        output = {"output_type": "display_data", "metadata": {}, "data": data}
        cell = {"cell_type": "code", "source": "", "metadata": {}, "execution_count": 1, "outputs": [output]}
        cells.append({**cell, "id": f"cell-{len(cells)}"})
    nb = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    if models:
        nb["metadata"]["widgets"] = {STATE: {"state": models, "version_major": 2, "version_minor": 0}}
    return nb


def stored(nb):
    return set(nb["metadata"]["widgets"][STATE]["state"])


DISK = lesson("a", "b", a=model(children=["IPY_MODEL_c"]), b=model(), c=model())


def test_a_save_keeps_the_state_of_what_is_shown_and_no_more():
    opened = lesson("a", "b"), {**lesson("a", "b"), "metadata": {"widgets": {STATE: {"state": {}}}}}
    run_in_part, run = lesson("x", "b", x=model()), lesson("x", x=model(), closed=model())
    for sent, kept in zip([*opened, run_in_part, run], ("abc", "abc", "xb", "x"), strict=True):
        assert stored(complete(sent, copy.deepcopy(DISK))) == set(kept)
    nb = complete(lesson("a", a=model(at=3)), lesson("a", a=model(at=0)))
    assert nb["metadata"]["widgets"][STATE]["state"]["a"]["state"] == {"at": 3}, "what is sent goes first"


INSIDE = [{"output_type": "display_data", "data": {VIEW: {"model_id": "c"}}}]


@pytest.mark.parametrize("value", ["IPY_MODEL_c", ["IPY_MODEL_c"], {"deep": [{"er": "IPY_MODEL_c"}]}, INSIDE])
def test_whatever_a_widget_names_is_kept(value):
    """A hidden code model, a layout, a child, what an Output widget holds: any trait may hold a reference."""
    assert stored(complete(lesson("a", a=model(code=value), c=model(up="IPY_MODEL_a"), d=model()))) == {"a", "c"}
    assert stored(complete(lesson("a", a=model(words="as in IPY_MODEL_c"), c=model()))) == {"a"}


def test_a_link_needs_both_of_its_ends():
    ends = {"source": ["IPY_MODEL_a", "value"], "target": ["IPY_MODEL_b", "at_0"]}
    models = {"a": model(), "b": model(), "ab": model("DirectionalLinkModel", **ends)}
    assert stored(complete(lesson("a", "b"), lesson("a", "b", **models))) == {"a", "b", "ab"}
    assert stored(complete(lesson("a", **models))) == {"a"}


@pytest.mark.parametrize("models", [{}, {"a": model(code="IPY_MODEL_nowhere")}])
def test_a_missing_widget_leaves_picture_text_and_advice(models):
    nb = complete(lesson("a", **models), lesson("b", b=model()))
    picture, note = nb["cells"][0]["outputs"]
    assert picture["data"] == {"image/png": "cGljdHVyZQ==", "text/plain": "caption of a"}
    assert note["text"].startswith("caption of a\nTo activate this, choose Run > Run All Above Selected Cell")
    assert "widgets" not in nb["metadata"]
    assert complete(copy.deepcopy(nb)) == nb, "the note comes once"
    nbformat.validate(nbformat.from_dict(nb))
    question = lesson("a: Which axis?")
    del question["cells"][0]["outputs"][0]["data"]["image/png"]
    shown, note = complete(question)["cells"][0]["outputs"]
    assert shown["data"] == {"text/plain": "Which axis?"} and note["text"].startswith("To activate this")


def test_another_lessons_state_is_not_ours():
    """Recorded lessons number their widgets alike, and *Save As* may write one lesson over another."""
    nb = complete(lesson("a: ours"), lesson("a: theirs", a=model()))
    assert VIEW not in nb["cells"][0]["outputs"][0]["data"]


@every_lesson
def test_a_recorded_lesson_is_complete(lesson):
    nb = json.loads(lesson.read_text(encoding="utf-8"))
    assert complete(copy.deepcopy(nb)) == nb
    both = complete({**copy.deepcopy(nb), "metadata": {"widgets": {"own": 1}}}, nb)["metadata"]["widgets"]
    assert both == {"own": 1, STATE: nb["metadata"]["widgets"][STATE]}


# ------------------------------------------------------------------------------------------------------------ saving


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Jupyter's file manager with our hook, and what it has to say."""
    from jupyter_server.services.contents.filemanager import FileContentsManager

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    log, lines = logging.Logger("test_save", logging.WARNING), []
    log.addFilter(lambda record: lines.append(record.getMessage()) or False)
    contents = FileContentsManager(root_dir=str(tmp_path), log=log)
    contents.checkpoints.checkpoint_dir = str(tmp_path / "checkpoints")
    loop = SimpleNamespace(add_callback=lambda *call: None)
    lesson_server._load_jupyter_server_extension(SimpleNamespace(contents_manager=contents, io_loop=loop, port=8888))
    yield SimpleNamespace(contents=contents, lines=lines, file=tmp_path / "lesson.ipynb")
    contents.notary.store.close()


def save(server, nb):
    server.contents.save({"type": "notebook", "content": nb}, "lesson.ipynb")
    return json.loads(server.file.read_text(encoding="utf-8"))


def test_a_save_restores_what_the_file_has(server):
    server.file.write_text(json.dumps(DISK))
    assert stored(save(server, lesson("x", "b", x=model()))) == {"x", "b"}


@pytest.mark.parametrize("before", [None, '{"cells": [', '{"cells": 3, "metadata": {}}'])
def test_a_save_works_whatever_is_on_disk(server, before):
    if before is not None:
        server.file.write_text(before)
    saved = save(server, lesson("x", "lost", x=model()))
    assert stored(saved) == {"x"} and VIEW not in saved["cells"][1]["outputs"][0]["data"]


@pytest.mark.parametrize("widgets", [3, {STATE: {"state": {"a": 7}}}])
def test_saving_never_stops_and_says_so_briefly(server, widgets):
    nb = {**lesson("a"), "metadata": {"widgets": widgets}}
    saved = save(server, copy.deepcopy(nb))
    assert saved["metadata"] == nb["metadata"] and saved["cells"][0]["outputs"]
    ours = [line for line in server.lines if "is saved unchanged" in line]
    assert len(ours) == 1 and "\n" not in ours[0]
    server.contents.save({"type": "file", "format": "text", "content": "cells"}, "note.txt")
    assert server.contents.get("note.txt")["content"] == "cells"


@pytest.mark.parametrize("trusted", [False, True])
def test_trust_survives_saving_and_opening(server, trusted):
    """The signature is that of the file as we complete it."""
    server.file.write_text(json.dumps(lesson("a", a=model())))
    nb = lesson("x", "a", x=model())
    for cell in nb["cells"]:
        cell["metadata"]["trusted"] = trusted
    save(server, nb)
    opened = server.contents.get("lesson.ipynb")["content"]
    assert [cell["metadata"]["trusted"] for cell in opened["cells"]] == [trusted, trusted]


def test_another_port_is_said_in_so_many_words(capsys):
    app = SimpleNamespace(port=8888, identity_provider=SimpleNamespace(token_generated=True))
    lesson_server.say_address(app, 8888)
    assert capsys.readouterr().out == ""
    app.port = 8889
    lesson_server.say_address(app, 8888)
    said = capsys.readouterr().out
    assert "Port 8888 is in use by another program" in said and "port 8889" in said


def test_an_export_to_html_folds_what_jupyterlab_folds():
    """By the settings with which `make lab` starts the server, whose menu exports notebooks."""
    from nbconvert import HTMLExporter
    from traitlets.config.loader import PyFileConfigLoader

    folder = str(ROOT / "tools" / "learner" / "jupyter")
    settings = PyFileConfigLoader("jupyter_server_config.py", path=folder).load_config()
    assert settings.ServerApp.ip == "127.0.0.1", "one name, for which the browser keeps the answers"
    cells = read(ROOT / "notebooks" / "01_axis_intuition.ipynb").cells[:8]
    page, _ = HTMLExporter(config=settings).from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    bars = re.findall(r"<summary><code>(?!PASS - )(.*?)</code></summary>", page)  # a group of checks opens, too
    hidden = [cell for cell in cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert bars == [html.escape(cell.source.splitlines()[0], quote=True) for cell in hidden] != []


# ----------------------------------------------------------------------------------------------- a forgotten cell


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("np.arange(3)", "np"),
        ('Explorer({"n": [1, 2]}, lambda n: [points([n], [late])], lambda n: "c")', "late"),
        ("def f():\n    v = v + 1\nf()", None),
        ("exec('y = late', {})", None),
    ],
)
def test_a_cell_missing_another_says_what_to_run(capsys, code, name):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    missing_name.install(shell)
    shell.run_cell("from helpers import Explorer, points")
    shell.run_cell(code)
    said = capsys.readouterr().out
    last = re.sub(r"\x1b\[[0-9;]*m", "", said).strip().splitlines()[-1]
    assert "Error" in said and (last == missing_name.ADVICE.format(name) if name else "Run All Above" not in said)


@everything  # starts a kernel
def test_a_kernel_of_the_lab_knows_the_hint_and_the_learners_own_startup(tmp_path):
    """And finds no other name."""
    (tmp_path / "own.py").write_text("own_startup = 1")
    environ = lab.environment(os.environ | {"PYTHONSTARTUP": str(tmp_path / "own.py"), "IPYTHONDIR": str(tmp_path)})
    names = "print(sorted(n for n in dir() if n in ('_start', 'own_startup', 'os', 'pathlib', 'runpy')))"
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (names, "np")])
    nbformat.write(nb, tmp_path / "nb.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--stdout"]
    done = subprocess.run([*command, tmp_path / "nb.ipynb"], env=environ, capture_output=True, text=True, timeout=60)
    first, second = json.loads(done.stdout)["cells"]
    assert "".join(first["outputs"][0]["text"]) == "['own_startup']\n"
    assert missing_name.ADVICE.format("np") in second["outputs"][0]["traceback"][-1]
