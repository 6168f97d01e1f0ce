"""Text is text, and nothing goes in or out: no markup, no network, no other program, no file written.

What a browser makes of planted markup is tried in tests/browser/test_security_in_browser.py; a lesson in a kernel
without a network, in tests/anywhere/.
"""

import ast
import contextlib
import functools
import json
import re
import sys
from html.parser import HTMLParser

import nbformat
import pytest

from helpers import Explorer, Panel, Quiz, cells, new_figure, points, show, text
from helpers.widgets.quiz import find_lesson
from tests.shared import LESSONS, ROOT, everything, for_each, load_tool, question_file, read
from tests.watch import watched

EVIL = "</script><script>planted(1)</script><img src=x onerror=planted(2)>\"'` onload=planted(3) javascript:planted(4)"
HELPERS = sorted((ROOT / "helpers").rglob("*.py"))
SCRIPTS = [path for path in sorted((ROOT / "helpers").rglob("*.js")) if path.parent.name != "bundle"]
STYLES = sorted((ROOT / "helpers").rglob("*.css"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


TEXTS_OF_OURS = "helpers/exercises/edits.py"  # solutions and their edits


@functools.cache
def trees(path):
    """The syntax trees of a module, or of all cells of a lesson."""
    if path.suffix == ".py":
        return [ast.parse(path.read_text(encoding="utf-8"))]
    return [ast.parse(cell.source) for cell in read(path).cells if cell.cell_type == "code"]


every_source = for_each("path", [*HELPERS, *LESSONS], ids=name_of)


# ------------------------------------------------------------------------------------------- what the code may name


def imported(tree):
    """Every module that is imported, also one named only in a string that goes to import_module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@every_source
def test_no_text_becomes_markup_or_code(path):
    """No display or widget of HTML or Javascript, no label that may be HTML; text/html only as the twin of a widget.

    What may not be imported or called at all, `make lint` knows (S and TID251 in pyproject.toml).
    """
    forbidden = {"HTML", "HTMLMath", "Javascript", "Markdown", "SVG", "IFrame", "display_html", "display_javascript"}
    for tree in trees(path):
        for node in ast.walk(tree):
            name = getattr(node, "attr", getattr(node, "id", ""))
            assert name not in forbidden, name
            assert getattr(node, "arg", None) not in {"description_allow_html", "tooltip_allow_html", "allow_pickle"}
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", "")
                assert called not in {"compile", "__import__", "input"} or name_of(path) == TEXTS_OF_OURS, called
                for argument in [*node.args, *(k.value for k in node.keywords)]:
                    assert not re.match("(https?|ftp|file):", str(getattr(argument, "value", ""))), called
            if isinstance(node, ast.Constant) and node.value in (
                "text/html",
                "image/svg+xml",
                "application/javascript",
            ):
                assert name_of(path) == "helpers/widgets/widget_code.py"
                assert node.value == "text/html"
            if isinstance(node, ast.FunctionDef):
                assert node.name not in {"_repr_html_", "_repr_markdown_", "_repr_javascript_", "_repr_svg_"}


@for_each("path", SCRIPTS, ids=name_of)
def test_browser_code_lets_in_no_markup_or_addresses(path):
    source = path.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
    if path.name == "loader.js":  # the one import: of the text that `WidgetCode` holds, as anywidget does with its own
        assert source.count("import(URL.createObjectURL(await unpack(packed).blob()))") == 1
        source = source.replace("import(URL", "URL")
    if path.name == "dress.js":  # the style sheet that `WidgetCode` holds
        source = source.replace('createElement("style")', "")
    if path.name == "table.js":  # links, to pages and lessons only
        allowed = r"const ALLOWED = /^(https:\/\/|\d\d_\w+\.(ipynb|html)$)/;"
        assert source.count(allowed) == source.count("if (ALLOWED.test(to)) Object.assign(link, { href: to") == 1
        assert source.count("href") == 1
        source = source.replace(allowed, "")
    if path.name == "practice.js":  # whether this is a page or a notebook is read, nothing is opened
        source = source.replace('location.pathname.endsWith(".html")', "")
    if (
        path.name == "overview.js"
    ):  # links to lessons only, and the file with the learner's answers, made by the page itself
        allowed = r"const ALLOWED = /^\d\d_\w+\.(ipynb|html)$/;"
        assert source.count(allowed) == source.count("if (ALLOWED.test(to)) Object.assign(link, { href: to })") == 1
        assert source.count("href") == 4
        source = source.replace("Object.assign(link, { href: to })", "")
    doors = (
        "innerHTML outerHTML insertAdjacentHTML document.write createContextualFragment DOMParser setHTML srcdoc "
        "eval( Function( import( fetch( XMLHttpRequest WebSocket EventSource sendBeacon importScripts Worker( "
        "postMessage window.open location. .href .src javascript: http: https: //cdn cookie new_Image iframe"
    ).split()
    assert [door for door in doors if door.replace("_", " ") in source] == []
    # The address of the learner's answers.
    own = ["const href = URL.createObjectURL(file);"] if path.name == "overview.js" else []
    assert [line.strip() for line in source.splitlines() if re.search(r"href\b.*=", line)] == own
    assert not re.search(r"""\.on[a-z]+\s*=|setAttribute\(\s*["'`]on|cssText|createElement\(["'`]script""", source)
    # A name of an element or attribute is always written here; never taken from what Python sends.
    assert set(re.findall(r"createElement(?:NS)?\(([^)]*)\)", source)) <= {
        "SVG, name",
        '"figure"',
        '"figcaption"',
        "tag",
        '"code"',
    }
    assert set(re.findall(r"setAttribute\(\s*([^,]*),", source)) - {"key"} <= {
        f'"{name}"' for name in ("aria-label", "aria-valuetext", "aria-live", "role")
    }


@for_each("path", STYLES, ids=name_of)
def test_the_styles_load_nothing(path):
    source = path.read_text(encoding="utf-8")
    source = re.sub(r'@import "\./\w+\.css";', "", source)  # of a file beside it, which the bundle holds
    assert not re.search(r"url\(|@import|image-set|expression\(|http", source)


# ------------------------------------------------------------------------------------------------ the python twins


class Page(HTMLParser):
    """Every tag with its attributes, and the text inside scripts that a browser would run."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.running, self.kind = [], "", None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.kind = dict(attributes).get("type") or "text/javascript"

    def handle_endtag(self, tag):
        if tag == "script":
            self.kind = None

    def handle_data(self, data):
        if self.kind in ("text/javascript", "module"):
            self.running += data


def evil_quiz(tmp_path, monkeypatch):
    quoted = json.dumps(EVIL.replace("`", ""))
    option = f"[[question.option]]\ntext = {quoted}\nwhy = {quoted}\n"
    lines = [
        f"title = {quoted}",
        "[[question]]",
        'key = "one"',
        'kind = "check"',
        f"prompt = {quoted}",
        f"code = {quoted}",
    ]
    for k in range(3):
        right = "right = true\n" if not k else ""
        lines.append(option.replace('text = "', f'text = "{k} ') + right)
    question_file(tmp_path, "77_evil").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr("helpers.widgets.quiz.LESSON_FILES", tmp_path)
    monkeypatch.setattr("helpers.widgets.quiz.find_lesson", lambda lesson: find_lesson(lesson, tmp_path))
    return Quiz("77")


def evil_explorer():
    return Explorer(
        {EVIL: [1, 2], "menu " + EVIL: [EVIL, "b"], "box " + EVIL: [False, True]},
        lambda **p: [
            points([p[EVIL]], [1], label="<img src=x onerror=planted(5)>"),
            text(1, 1, EVIL),
            cells([[0, 1]], names=("", EVIL), panel=1),
        ],
        lambda **p: f"{p[EVIL]} {EVIL}",
        panels=[Panel(title=EVIL, xlabel=EVIL, ylabel=EVIL), Panel(bare=True, title=EVIL)],
    )


@everything
def test_an_exported_page_shows_planted_markup_as_text(tmp_path, monkeypatch, capsys):
    """Nothing that a caption, label, name or question says becomes a tag, an attribute or a running script."""
    from ipywidgets import Widget
    from nbconvert import HTMLExporter

    quiz, explorer, shown = evil_quiz(tmp_path, monkeypatch), evil_explorer(), []
    monkeypatch.setattr("IPython.display.display", lambda data, **more: shown.append((data, more["metadata"])))
    fig, axes = new_figure()
    axes.plot([0, 1])
    show(fig, EVIL)
    outputs = [(w._repr_mimebundle_()) for w in (quiz, explorer)] + shown
    assert all(EVIL[:20] in "".join(map(str, data.values())) or data for data, _ in outputs)
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    new = nbformat.v4.new_output
    nb.cells[0].outputs = [new("display_data", data=data, metadata=metadata) for data, metadata in outputs]
    nb.cells[0].outputs.append(new("stream", name="stdout", text=capsys.readouterr().out))
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": Widget.get_manager_state()}
    # Twice: with the widgets, and as a place without them shows the twins.
    for widgets in (True, False):
        if not widgets:
            del nb.metadata["widgets"]
            for output in nb.cells[0].outputs[:2]:
                del output.data["application/vnd.jupyter.widget-view+json"]
        page, _ = HTMLExporter(embed_images=False).from_notebook_node(nb)
        assert "planted(2)" in page, "the text itself is there"
        parsed = Page(page)
        assert "planted" not in parsed.running
        for tag, attributes in parsed.tags:
            assert not any(name.startswith("on") and "planted" in (value or "") for name, value in attributes.items())
            assert not (tag in ("img", "script") and "x" == attributes.get("src"))
            assert not str(attributes.get("href", "")).startswith("javascript:")
    quiz.close()
    explorer.close()


# --------------------------------------------------------------------------------------------- what a lesson does


def test_the_watcher_sees_socket_address_program_and_file(tmp_path):
    """With it tests/lessons/test_pictures.py runs lessons."""
    import socket
    import subprocess
    import urllib.request

    with watched() as seen:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", 9), timeout=0.1)
        with contextlib.suppress(OSError):
            urllib.request.urlopen("http://127.0.0.1:9/", timeout=0.1)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
        subprocess.run([sys.executable, "--version"], capture_output=True)
        (tmp_path / "written").write_text("x")
    events = {event for event, _ in seen}
    assert {
        "socket.getaddrinfo",
        "socket.connect",
        "urllib.Request",
        "socket.bind",
        "subprocess.Popen",
        "open",
    } <= events


# ------------------------------------------------------------------------------------------------------- make lab


@pytest.fixture
def lab():
    return load_tool("lab")


@pytest.mark.parametrize("as_root", [False, True])
@pytest.mark.parametrize("display", [False, True])
def test_make_lab_keeps_jupyters_token_host_and_origin(lab, as_root, display):
    """JupyterLab's own defaults: a random token, this machine only, no other origin."""
    line = lab.command([], as_root=as_root, display=display)
    assert line[1:3] == ["-m", "jupyterlab"]
    options = {word.split("=")[0] for word in line[3:]}
    allowed = {"--ServerApp.root_dir", "--FileContentsManager.preferred_dir", "--LabApp.default_url", "--log-level"}
    assert options - allowed == ({"--allow-root"} if as_root else set()) | (set() if display else {"--no-browser"})


def test_the_repository_weakens_no_setting_of_jupyterlab():
    weak = re.compile(
        r"token\s*=\s*['\"]{2}|disable_check_xsrf|allow_origin|allow_remote_access|ip\s*=\s*['\"]?(0\.0\.0\.0|\*)"
    )
    files = [
        *(ROOT / "tools").rglob("*.py"),
        ROOT / "Makefile",
        *(ROOT / ".ci").iterdir(),
        *(ROOT / ".github").rglob("*.yml"),
    ]
    assert [path.name for path in files if weak.search(path.read_text(encoding="utf-8"))] == []
    folders = [ROOT, *(ROOT / name for name in ("helpers", "notebooks", "tools"))]
    assert [path.name for folder in folders for path in folder.glob("*jupyter*config*")] == []


def test_only_the_lab_serves_anything():
    """No tool listens; the one that starts JupyterLab replaces itself with it."""
    for path in (ROOT / "tools").rglob("*.py"):
        for tree in trees(path):
            modules = {module.split(".")[0] for module in imported(tree)}
            # These start servers to measure or for a class, or ask the address of Pyodide what it holds.
            if path.name not in ("bench.py", "lite.py") and path.parent.name != "hub":
                browser = {"webbrowser"} if path.name == "lab.py" else set()  # opens the JupyterLab that runs already
                listening = {"socket", "http", "socketserver", "asyncio", "tornado", "webbrowser", "urllib"} - browser
                assert not modules & listening, path.name
