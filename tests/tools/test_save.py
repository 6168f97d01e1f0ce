"""What the server and the kernels of lab.py add: widget state in saved files, a hint for a forgotten cell."""

import copy
import html
import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest

from tests.shared import LESSONS, ROOT, everything, load_tool, read

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


# ------------------------------------------------------------------------------------- which state a file must hold


@pytest.fixture
def complete():
    return load_tool("widget_state").complete


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


def test_an_unrun_lesson_keeps_its_stored_state(complete):
    disk = lesson("a", "b", a=model(children=["IPY_MODEL_c"]), b=model(), c=model())
    for sent in (lesson("a", "b"), {**lesson("a", "b"), "metadata": {"widgets": {STATE: {"state": {}}}}}):
        assert json.dumps(complete(sent, disk)["metadata"]) == json.dumps(disk["metadata"])


def test_a_run_lesson_keeps_only_its_runs_widgets(complete):
    disk = lesson("a", a=model(children=["IPY_MODEL_c"]), c=model())
    assert stored(complete(lesson("x", x=model(at=3), closed=model()), disk)) == {"x"}


def test_a_half_run_lesson_keeps_both(complete):
    disk = lesson("a", "b", a=model(children=["IPY_MODEL_c"]), b=model(), c=model())
    assert stored(complete(lesson("x", "b", x=model()), disk)) == {"x", "b"}


def test_sent_state_goes_before_stored_state(complete):
    nb = complete(lesson("a", a=model(at=3)), lesson("a", a=model(at=0)))
    assert nb["metadata"]["widgets"][STATE]["state"]["a"]["state"] == {"at": 3}


@pytest.mark.parametrize("value", ["IPY_MODEL_c", ["IPY_MODEL_c"], {"deep": [{"er": "IPY_MODEL_c"}]}])
def test_whatever_a_widget_names_is_kept(complete, value):
    """A colleague's hidden code, a layout, a child: any trait may hold a reference."""
    assert stored(complete(lesson("a", a=model(code=value), c=model(up="IPY_MODEL_a"), d=model()))) == {"a", "c"}


def test_words_that_only_mention_a_reference_are_none(complete):
    assert stored(complete(lesson("a", a=model(words="as in IPY_MODEL_c"), c=model()))) == {"a"}


def test_widgets_in_an_output_widget_are_kept(complete):
    inside = {"output_type": "display_data", "data": {VIEW: {"model_id": "b"}}}
    assert stored(complete(lesson("a", a=model("OutputModel", outputs=[inside]), b=model()))) == {"a", "b"}


def test_a_link_needs_both_of_its_ends(complete):
    ends = {"source": ["IPY_MODEL_a", "value"], "target": ["IPY_MODEL_b", "at_0"]}
    models = {"a": model(), "b": model(), "ab": model("DirectionalLinkModel", **ends)}
    assert stored(complete(lesson("a", "b"), lesson("a", "b", **models))) == {"a", "b", "ab"}
    assert stored(complete(lesson("a", **models))) == {"a"}


@pytest.mark.parametrize("models", [{}, {"a": model(code="IPY_MODEL_nowhere")}])
def test_a_missing_widget_leaves_picture_caption_and_advice(complete, models):
    nb = complete(lesson("a", **models), lesson("b", b=model()))
    picture, note = nb["cells"][0]["outputs"]
    assert picture["data"] == {"image/png": "cGljdHVyZQ==", "text/plain": "caption of a"}
    assert note["text"].startswith("caption of a\nTo activate this, choose Run > Run All Above Selected Cell")
    assert "widgets" not in nb["metadata"]
    again = copy.deepcopy(nb)
    assert complete(again) == nb, "the note comes once"
    nbformat.validate(nbformat.from_dict(nb))


def test_a_question_that_is_nowhere_leaves_its_text(complete):
    nb = lesson("a: Which axis?")
    del nb["cells"][0]["outputs"][0]["data"]["image/png"]
    question, note = complete(nb)["cells"][0]["outputs"]
    assert question["data"] == {"text/plain": "Which axis?"} and note["text"].startswith("To activate this")


def test_another_lessons_state_is_not_ours(complete):
    """Recorded lessons number their widgets alike, and *Save As* may write one lesson over another."""
    nb = complete(lesson("a: ours"), lesson("a: theirs", a=model()))
    assert VIEW not in nb["cells"][0]["outputs"][0]["data"]


def test_other_metadata_and_cells_stay(complete):
    nb = lesson("a", a=model())
    nb["metadata"]["kernelspec"], nb["metadata"]["widgets"]["own"] = {"name": "python3"}, 1
    nb["cells"].append({"cell_type": "markdown", "source": "# My note", "metadata": {}, "id": "note"})
    assert complete(copy.deepcopy(nb)) == nb
    assert complete(lesson()) == lesson()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_recorded_lesson_is_complete(complete, path):
    nb = json.loads(path.read_text(encoding="utf-8"))
    assert complete(copy.deepcopy(nb)) == nb
    only_text = copy.deepcopy(nb)
    del only_text["metadata"]["widgets"]
    assert complete(only_text, nb) == nb


# ---------------------------------------------------------------------------------------------- saving and loading


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A contents manager as our extension finds it; `.put(nb)` and `.get()` go through it, `.log` holds its lines."""
    pytest.importorskip("jupyter_server")
    from jupyter_server.services.contents.filemanager import FileContentsManager

    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    log = logging.Logger("test_save", logging.WARNING)
    lines = []
    log.addFilter(lambda record: lines.append(record.getMessage()) or False)
    contents = FileContentsManager(root_dir=str(tmp_path), log=log)
    contents.checkpoints.checkpoint_dir = str(tmp_path / "checkpoints")
    app = SimpleNamespace(contents_manager=contents, log=log, ip="localhost", port=8888)
    app.io_loop = SimpleNamespace(add_callback=lambda *call: None)
    load_tool("lesson_server")._load_jupyter_server_extension(app)
    put = lambda nb: contents.save({"type": "notebook", "content": nb}, "lesson.ipynb")  # noqa: E731
    get = lambda: contents.get("lesson.ipynb")["content"]  # noqa: E731
    yield SimpleNamespace(put=put, get=get, lines=lines, file=tmp_path / "lesson.ipynb", app=app, contents=contents)
    contents.notary.store.close()


def on_disk(server):
    return json.loads(server.file.read_text(encoding="utf-8"))


def test_a_save_restores_what_the_file_has(server):
    server.file.write_text(json.dumps(lesson("a", "b", a=model(), b=model())))
    server.put(lesson("x", "b", x=model()))
    assert stored(on_disk(server)) == {"x", "b"} and server.lines == ["Notebook lesson.ipynb is not trusted"]


@pytest.mark.parametrize("before", [None, "", '{"cells": [', "[]", '{"cells": 3, "metadata": {}}'])
def test_a_save_works_whatever_is_on_disk(server, before):
    if before is not None:
        server.file.write_text(before)
    server.put(lesson("x", "lost", x=model()))
    assert stored(on_disk(server)) == {"x"} and VIEW not in on_disk(server)["cells"][1]["outputs"][0]["data"]


@pytest.mark.parametrize("widgets", [3, {STATE: []}, {STATE: {"state": [1]}}, {STATE: {"state": {"a": 7}}}])
def test_saving_never_stops_and_says_so_briefly(server, widgets):
    nb = {**lesson("a"), "metadata": {"widgets": widgets}}
    server.put(copy.deepcopy(nb))
    assert on_disk(server)["metadata"] == nb["metadata"] and on_disk(server)["cells"][0]["outputs"]
    ours = [line for line in server.lines if "is saved unchanged" in line]
    assert len(ours) == 1 and "\n" not in ours[0]
    server.get()
    assert any("is opened as it is" in line for line in server.lines)


def test_other_files_are_saved_as_they_come(server, tmp_path):
    server.contents.save({"type": "file", "format": "text", "content": "cells"}, "note.txt")
    assert (tmp_path / "note.txt").read_text() == "cells" and server.lines == []


def test_a_notebook_without_state_opens_unchanged(server):
    server.file.write_text(json.dumps(lesson("a")))
    before = server.file.read_bytes()
    opened = server.get()
    assert VIEW not in opened["cells"][0]["outputs"][0]["data"] and len(opened["cells"][0]["outputs"]) == 2
    assert server.file.read_bytes() == before


def test_trust_survives_saving_and_opening(server):
    """The signature is that of the file as we complete it."""
    server.file.write_text(json.dumps(lesson("a", a=model())))
    nb = lesson("x", "a", x=model())
    for trusted in (False, True):
        for cell in nb["cells"]:
            cell["metadata"]["trusted"] = trusted
        server.put(copy.deepcopy(nb))
        assert [cell["metadata"]["trusted"] for cell in server.get()["cells"]] == [trusted, trusted]


def test_an_error_while_saving_keeps_the_old_file(server, monkeypatch):
    server.put(lesson("a", a=model()))
    before = server.file.read_bytes()

    def full_disk(nb, file, **options):
        file.write('{"cells": [')
        raise OSError("no space left")

    monkeypatch.setattr(nbformat, "write", full_disk)
    with pytest.raises(Exception, match="no space left"):
        server.put(lesson("b", b=model()))
    assert server.file.read_bytes() == before


@everything
def test_a_crash_while_saving_keeps_the_old_file(tmp_path):
    workbook = tmp_path / "workbook"
    workbook.mkdir()
    (tmp_path / "notebooks").mkdir()
    (workbook / "mine.ipynb").write_text(json.dumps(lesson("a", a=model())))
    code = f"""
import os, nbformat
from jupyter_server.services.contents.filemanager import FileContentsManager
def die(nb, file, **options):
    file.write('{{"cells": [')
    file.flush()
    os._exit(9)
nbformat.write = die
contents = FileContentsManager(root_dir={str(workbook)!r})
contents.save({{"type": "notebook", "content": nbformat.v4.new_notebook()}}, "mine.ipynb")
"""
    environ = os.environ | {"JUPYTER_DATA_DIR": str(tmp_path / "data")}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ).returncode == 9
    load_tool("workbook").update(tmp_path, say=lambda line: None)
    assert json.loads((workbook / "mine.ipynb").read_text()) == lesson("a", a=model())


def test_one_address_is_used_by_default(server):
    assert server.app.ip == "127.0.0.1"
    other = SimpleNamespace(**{**vars(server.app), "ip": "0.0.0.0"})
    load_tool("lesson_server")._load_jupyter_server_extension(other)
    assert other.ip == "0.0.0.0"


def test_an_original_says_so_but_its_file_not(server, tmp_path):
    (tmp_path / "notebooks").mkdir()
    path = "notebooks/05_rms_norm.ipynb"
    nb = lesson("a", a=model())
    server.contents.save({"type": "notebook", "content": nb}, path)
    opened = server.contents.get(path)["content"]
    assert "This is the original" in opened["cells"][0]["source"]
    assert "](../workbook/05_rms_norm.ipynb)" in opened["cells"][0]["source"]
    assert len(opened["cells"]) == len(nb["cells"]) + 1
    server.contents.save({"type": "notebook", "content": opened}, path)
    stored_cells = json.loads((tmp_path / path).read_text(encoding="utf-8"))["cells"]
    assert len(stored_cells) == len(nb["cells"]) and "original" not in json.dumps(stored_cells)
    server.put(lesson("a", a=model()))
    assert "original" not in json.dumps(server.get()), "any other notebook comes as it is"


def test_another_port_is_said_in_so_many_words(capsys):
    provider = SimpleNamespace(token_generated=True)
    say = load_tool("lesson_server").say_address
    say(SimpleNamespace(port=8888, identity_provider=provider), 8888)
    assert capsys.readouterr().out == ""
    say(SimpleNamespace(port=8889, identity_provider=provider), 8888)
    said = capsys.readouterr().out
    assert "Port 8888 is in use by another program" in said and "port 8889" in said


# ------------------------------------------------------------------------------------------------- the real server


@pytest.fixture
def jupyter_folders(tmp_path):
    return {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}


@everything
def test_make_lab_prints_its_address_and_saves_widgets(tmp_path, jupyter_folders):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lab = load_tool("lab")
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "lesson.ipynb").write_text(json.dumps(lesson("a", "b", a=model(), b=model())))
    options = ["--no-browser", f"--port={port}", f"--ServerApp.root_dir={folder}", "--IdentityProvider.token="]
    options += ["--ServerApp.disable_check_xsrf=True", "--ServerApp.port_retries=0"]
    line = [word for word in lab.command(options, as_root=lab.is_root()) if word != f"--ServerApp.root_dir={ROOT}"]
    line = [word for word in line if "preferred_dir" not in word]
    environ = lab.environment(os.environ | jupyter_folders)
    address = f"http://127.0.0.1:{port}"
    with open(tmp_path / "log.txt", "w") as log:
        process = subprocess.Popen(line, env=environ, stdout=log, stderr=log)
    try:
        for _ in range(300):
            if f"JupyterLab is at {address}/lab" in (tmp_path / "log.txt").read_text():
                break
            assert process.poll() is None, (tmp_path / "log.txt").read_text()[-2000:]
            time.sleep(0.1)
        assert "localhost" not in (tmp_path / "log.txt").read_text()
        with urllib.request.urlopen(f"{address}/lab/api/settings/@jupyter-widgets/jupyterlab-manager:plugin") as answer:
            assert json.load(answer)["schema"]["properties"]["saveState"]["default"] is True
        body = json.dumps({"type": "notebook", "content": lesson("x", "b", x=model())}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{address}/api/contents/lesson.ipynb", body, method="PUT"))
        assert stored(json.loads((folder / "lesson.ipynb").read_text())) == {"x", "b"}
    finally:
        process.terminate()
        process.wait(20)


# ----------------------------------------------------------------------------------------------- a forgotten cell

CELLS = {
    "setup": "from helpers import Explorer, points\nimport numpy as np",
    "data": "x = np.arange(3.0)\nfor k in range(2):\n    total = k",
    "use": "x.sum() + total",
    "explore": 'Explorer({"n": [1, 2]}, lambda n: [points([n], [x[n]])], lambda n: "c")',
    "later": "late = 1",
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """`run(cell id or code)` in a kernel as JupyterLab starts it for a lesson; returns the end of the error, or ''."""
    from jupyter_client.manager import start_new_kernel

    folder = tmp_path_factory.mktemp("kernel")
    cells = [nbformat.v4.new_code_cell(source, id=key) for key, source in CELLS.items()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "lesson.ipynb")
    (folder / "own.py").write_text("own_startup = 1")
    environ = load_tool("lab").environment(os.environ | {"PYTHONSTARTUP": str(folder / "own.py")})
    environ |= {"JPY_SESSION_NAME": str(folder / "lesson.ipynb"), "IPYTHONDIR": str(folder / "ipython")}
    manager, client = start_new_kernel(cwd=str(folder), env=environ | {"PYTHONPATH": str(ROOT)})

    def run(cell, code=None):
        content = {"code": CELLS.get(cell) if code is None else code, "allow_stdin": False}
        message = client.session.msg("execute_request", content, metadata={"cellId": cell})
        client.shell_channel.send(message)
        while True:
            reply = client.get_shell_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                break
        lines = []
        while True:
            said = client.get_iopub_msg(timeout=30)
            if said["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if said["msg_type"] == "error":
                lines += "\n".join(said["content"]["traceback"]).splitlines()
            if said["msg_type"] == "status" and said["content"]["execution_state"] == "idle":
                break
        assert bool(lines) == (reply["content"]["status"] == "error")
        return "\n".join(lines)

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def last(said):
    return said.splitlines()[-1] if said else ""


def test_a_cell_missing_another_says_which_to_run(kernel):
    """One kernel, in the order of a forgetful learner."""
    words = load_tool("missing_name")
    assert kernel("own", "assert own_startup and not [n for n in dir() if n in ('_start', 'pathlib', 'os')]") == ""
    forgotten = kernel("explore")
    assert "NameError" in forgotten and "name 'Explorer' is not defined" in forgotten
    assert last(forgotten) == words.FIRST
    assert last(kernel("data")) == words.FIRST
    assert kernel("setup") == ""
    assert last(kernel("use")) == words.EARLIER.format("x")
    assert last(kernel("explore")) == words.EARLIER.format("x"), "an Explorer passes the error on"
    assert last(kernel("use", "x.sum()  # edited, not yet saved")) == words.EARLIER.format("x")
    assert kernel("data") == "" and kernel("use") == "" and kernel("explore") == ""


@pytest.mark.parametrize(
    ("cell", "code", "end"),
    [
        ("use", "unheard_of", "NameError: name 'unheard_of' is not defined"),
        ("use", "late", "NameError: name 'late' is not defined"),
        ("use", "def f():\n    v = v + 1\nf()", "cannot access local variable 'v'"),
        ("use", "int('x')", "ValueError: invalid literal"),
        ("use", "1 / 0", "ZeroDivisionError: division by zero"),
        ("use", "exec('y = late', {})", "NameError: name 'late' is not defined"),
    ],
)
def test_other_errors_are_shown_as_they_are(kernel, cell, code, end):
    import re

    assert end in re.sub(r"\x1b\[[0-9;]*m", "", last(kernel(cell, code)))


def test_notebooks_that_are_no_lessons_get_no_advice():
    words = load_tool("missing_name")
    cells = [{"cell_type": "code", "id": "a", "source": ["import numpy as np\n", "x = 1"]}]
    assert words.advice("x", {"cells": cells}) is None
    cells[0]["source"][0] = "from helpers import Quiz\n"
    assert words.advice("x", {"cells": cells}) == words.FIRST
    assert words.advice("Quiz", {"cells": cells}, "a") is None, "the cell itself cannot come before itself"
    assert words.advice("y", {"cells": cells + [{"cell_type": "code", "source": "%magic"}]}) is None


def test_the_startup_file_leaves_plain_python_alone():
    """A terminal in JupyterLab inherits the variable."""
    environ = load_tool("lab").environment(os.environ)
    run = subprocess.run(
        [sys.executable, "-i", "-c", "print(sorted(n for n in dir() if n[0] != '_' or n == '_start'))"],
        env=environ,
        input="print('own', '_start' in dir())\n",
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines() == ["[]", "own False"] and "Traceback" not in run.stderr


def test_an_export_to_html_folds_what_jupyterlab_folds(monkeypatch):
    """By the settings with which `make lab` starts the server, whose menu exports notebooks."""
    from nbconvert import HTMLExporter
    from traitlets.config.loader import PyFileConfigLoader

    monkeypatch.setattr(sys, "path", sys.path.copy())
    settings = PyFileConfigLoader(
        "jupyter_server_config.py", path=str(ROOT / "tools" / "learner" / "jupyter")
    ).load_config()
    path = ROOT / "notebooks" / "01_axis_intuition.ipynb"
    page, _ = HTMLExporter(config=settings).from_filename(str(path))
    bars = re.findall(r"<summary><code>(.*?)</code></summary>", page)
    hidden = [cell for cell in read(path).cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert bars == [html.escape(cell.source.splitlines()[0], quote=True) for cell in hidden]
    assert bars[0] == "# Setup: imports; run this first"


def test_a_stopped_cell_ends_in_one_line(capsys):
    """Instead of the traceback through the checker of an exercise."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    load_tool("missing_name").install(shell)
    shell.run_cell("def my_norm():\n    raise KeyboardInterrupt\n\n[my_norm() for _ in range(1)]")
    assert capsys.readouterr().out.strip() == "KeyboardInterrupt: you stopped this cell in line 2 of the cell."
