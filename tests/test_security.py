"""Text is text, and nothing goes in or out: no markup, no network, no other program, no file written.

What a browser makes of planted markup is tried in tests/browser/test_security_in_browser.py; a lesson in a kernel
without a network, in tests/anywhere/.
"""

import ast
import contextlib
import io
import json
import re
import sys
from html.parser import HTMLParser

import nbformat
import pytest
from lessons import EVERYTHING, LESSONS, ROOT, load_tool, read, rotate, run_lesson, slow

from helpers import Explorer, Panel, Quiz, cells, new_figure, points, show, text
from helpers.quiz import find_lesson

EVIL = "</script><script>planted(1)</script><img src=x onerror=planted(2)>\"'` onload=planted(3) javascript:planted(4)"
HELPERS = sorted((ROOT / "helpers").rglob("*.py"))
SCRIPTS = sorted((ROOT / "helpers").rglob("*.js"))
STYLES = sorted((ROOT / "helpers").rglob("*.css"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def trees(path):
    """The syntax trees of a module, or of all cells of a lesson."""
    if path.suffix == ".py":
        return [ast.parse(path.read_text(encoding="utf-8"))]
    return [ast.parse(cell.source) for cell in read(path).cells if cell.cell_type == "code"]


every_source = pytest.mark.parametrize("path", [*HELPERS, *LESSONS], ids=name_of)


# ------------------------------------------------------------------------------------------- what the code may name


def imported(tree):
    """Every module that is imported, also one named only in a string that goes to import_module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


# All that helpers and lessons are made of; a new name here is a decision, not an accident.
ALLOWED = set(
    """
    abc ast base64 binascii collections contextlib copy dataclasses dis enum fractions functools hashlib html
    importlib inspect io itertools json math numbers operator os pathlib pkgutil re signal string struct sys textwrap
    threading time tomllib traceback tracemalloc types typing unicodedata warnings
    numpy matplotlib cycler seaborn pandas PIL IPython packaging ipywidgets anywidget traitlets ml_dtypes torch helpers
    """.split()
)


@every_source
def test_nothing_that_reaches_the_network_or_another_program_is_imported(path):
    for tree in trees(path):
        for module in imported(tree):
            assert module.split(".")[0] in ALLOWED, module
            assert not module.startswith(("html.parser", "pandas.io", "torch.hub", "torch.distributed")), module


@every_source
def test_nothing_runs_a_text_opens_an_address_or_unpickles(path):
    for tree in trees(path):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name not in {"eval", "exec", "compile", "__import__", "input", "os.system", "os.popen"}, name
                last = name.rsplit(".", 1)[-1]
                assert last not in {"urlopen", "urlretrieve", "read_html", "load_dataset", "system"}, name
                assert not (last == "load" and any(k.arg == "allow_pickle" for k in node.keywords)), name
                for argument in [*node.args, *(k.value for k in node.keywords)]:
                    words = argument.value if isinstance(argument, ast.Constant) else ""
                    assert not re.match("(https?|ftp|file):", str(words)), words


@every_source
def test_no_text_is_handed_on_as_markup(path):
    """No display or widget of HTML or Javascript, no label that may be HTML; text/html only as the twin of a widget."""
    forbidden = {"HTML", "HTMLMath", "Javascript", "Markdown", "SVG", "IFrame", "display_html", "display_javascript"}
    for tree in trees(path):
        for node in ast.walk(tree):
            name = getattr(node, "attr", getattr(node, "id", ""))
            assert name not in forbidden, name
            assert getattr(node, "arg", None) not in {"description_allow_html", "tooltip_allow_html"}
            if isinstance(node, ast.Constant) and node.value in (
                "text/html",
                "image/svg+xml",
                "application/javascript",
            ):
                assert name_of(path) in ("helpers/quiz/__init__.py", "helpers/table/__init__.py")
                assert node.value == "text/html"
            if isinstance(node, ast.FunctionDef):
                assert node.name not in {"_repr_html_", "_repr_markdown_", "_repr_javascript_", "_repr_svg_"}


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_the_browser_code_has_no_door_for_markup_or_addresses(path):
    source = path.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
    if path.name == "loader.js":  # the one import: of the text that `WidgetCode` holds, as anywidget does with its own
        assert source.count("import(URL.createObjectURL(new Blob([source]") == 1
        source = source.replace("import(URL", "URL").replace('createElement("style")', "")
    if path.name == "table.js":  # links, to pages and lessons only
        allowed = r"const ALLOWED = /^(https:\/\/|\d\d_\w+\.(ipynb|html)$)/;"
        assert source.count(allowed) == source.count("if (ALLOWED.test(to)) Object.assign(link, { href: to") == 1
        assert source.count("href") == 1
        source = source.replace(allowed, "")
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
    assert set(re.findall(r"setAttribute\(([^,]*),", source)) - {"key"} <= {
        f'"{name}"' for name in ("aria-label", "aria-valuetext", "aria-live", "role")
    }


@pytest.mark.parametrize("path", STYLES, ids=name_of)
def test_the_styles_load_nothing(path):
    source = path.read_text(encoding="utf-8")
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
    (tmp_path / "77_evil.toml").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr("helpers.quiz.FOLDER", tmp_path)
    monkeypatch.setattr("helpers.quiz.find_lesson", lambda lesson: find_lesson(lesson, tmp_path))
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


@slow
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

WATCHED = re.compile(
    r"socket\.(?!__new__$)|urllib|http|ftplib|smtplib|webbrowser|subprocess|os\.(system|exec|fork|posix_spawn|spawn"
    r"|startfile|remove|rename|mkdir|rmdir|truncate|chmod|chown|link|symlink)|shutil|ctypes\.dlopen|pty"
)
seen = None  # the list to which the watcher reports, while a lesson runs
watching = False


def watch(event, arguments):
    if seen is None:
        return
    if WATCHED.match(event):
        seen.append((event, str(arguments)[:200]))
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        mode, flags = arguments[1] or "", arguments[2] or 0
        if set(str(mode)) & set("wax+") or flags & 0b11:
            seen.append((event, str(arguments)[:200]))


@pytest.fixture
def watched():
    """What the audit events of the interpreter report, while the test runs."""
    import matplotlib.font_manager  # noqa: F401 - its first import makes a folder for its list of fonts

    global seen, watching
    if not watching:  # such a hook cannot be taken away again
        sys.addaudithook(watch)
        watching = True
    seen = []
    yield seen
    seen = None


def test_the_watcher_sees_a_socket_an_address_a_program_and_a_file(watched, tmp_path):
    import socket
    import subprocess
    import urllib.request

    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", 9), timeout=0.1)
    with contextlib.suppress(OSError):
        urllib.request.urlopen("http://127.0.0.1:9/", timeout=0.1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
    subprocess.run([sys.executable, "--version"], capture_output=True)
    (tmp_path / "written").write_text("x")
    events = {event for event, _ in watched}
    assert {
        "socket.getaddrinfo",
        "socket.connect",
        "urllib.Request",
        "socket.bind",
        "subprocess.Popen",
        "open",
    } <= events


# `make test` runs the cells of all lessons often enough; `make test-anywhere` tries this with every one.
@pytest.mark.parametrize("lesson", rotate(LESSONS, 2, "watched") if EVERYTHING else LESSONS[:1], ids=lambda p: p.stem)
def test_a_lesson_opens_no_socket_starts_no_program_and_writes_no_file(lesson, watched, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run_lesson(lesson)
    assert "PASS - " in printed.getvalue()
    assert watched == []


# ------------------------------------------------------------------------------------------------------- make lab


@pytest.fixture
def lab():
    return load_tool("lab")


@pytest.mark.parametrize("as_root", [False, True])
@pytest.mark.parametrize("display", [False, True])
def test_make_lab_leaves_token_host_and_origin_as_jupyterlab_has_them(lab, as_root, display):
    """JupyterLab's own defaults: a random token, this machine only, no other origin."""
    line = lab.command([], as_root=as_root, display=display)
    assert line[1:3] == ["-m", "jupyterlab"]
    options = {word.split("=")[0] for word in line[3:]}
    allowed = {"--ServerApp.root_dir", "--FileContentsManager.preferred_dir", "--LabApp.default_url", "--log-level"}
    assert options - allowed == ({"--allow-root"} if as_root else set()) | (set() if display else {"--no-browser"})


def test_no_setting_that_weakens_jupyterlab_is_in_the_repository():
    weak = re.compile(
        r"token\s*=\s*['\"]{2}|disable_check_xsrf|allow_origin|allow_remote_access|ip\s*=\s*['\"]?(0\.0\.0\.0|\*)"
    )
    files = [
        *(ROOT / "tools").glob("*.py"),
        ROOT / "Makefile",
        *(ROOT / ".ci").iterdir(),
        *(ROOT / ".github").rglob("*.yml"),
    ]
    assert [path.name for path in files if weak.search(path.read_text(encoding="utf-8"))] == []
    folders = [ROOT, *(ROOT / name for name in ("helpers", "notebooks", "tools"))]
    assert [path.name for folder in folders for path in folder.glob("*jupyter*config*")] == []


def test_only_the_lab_serves_anything():
    """No tool listens; the one that starts JupyterLab replaces itself with it."""
    for path in (ROOT / "tools").glob("*.py"):
        for tree in trees(path):
            modules = {module.split(".")[0] for module in imported(tree)}
            if path.name != "bench.py":  # it measures a JupyterLab that it starts itself
                assert not modules & {"socket", "http", "socketserver", "asyncio", "tornado", "webbrowser", "urllib"}, (
                    path.name
                )
