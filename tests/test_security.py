"""Text is text, and nothing goes in or out: no markup, no network, no other program, no file written.

What Python may import and call at all, `make lint` knows (S and TID251 in pyproject.toml); what a browser makes of
planted markup is tried in tests/browser/test_security_in_browser.py.
"""

import ast
import contextlib
import re
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.shared import LESSONS, ROOT, read
from tests.watch import watched
from tools.learner import lab

TWINS = ("widget_code.py", "checks.py")  # escaped text as text/html: the twin of a widget, a group of checks
SCRIPTS = [path for path in sorted((ROOT / "helpers").rglob("*.js")) if path.parent.name != "bundle"]
STYLES = [path for path in sorted((ROOT / "helpers").rglob("*.css")) if path.parent.name != "bundle"]


@pytest.fixture(scope="module")
def sources():
    """(path, text) of all that Python reads in the helpers and in the lessons' cells of code."""
    cells = ((path, cell) for path in LESSONS for cell in read(path).cells)
    helpers = [(path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "helpers").rglob("*.py"))]
    return helpers + [(path, cell.source) for path, cell in cells if cell.cell_type == "code"]


def nodes_of(sources, words):
    """(path, node) of the sources that hold one of these words."""
    found = [(path, source) for path, source in sources if any(word in source for word in words)]
    return [(path, node) for path, source in found for node in ast.walk(ast.parse(source))]


def test_no_text_of_python_becomes_markup(sources):
    """No display of HTML or Javascript, no label that may be HTML; text/html only by TWINS."""
    markup = {"HTML", "HTMLMath", "Javascript", "Markdown", "SVG", "IFrame", "display_html", "display_javascript"}
    methods = {f"_repr_{kind}_" for kind in ("html", "markdown", "javascript", "svg")}
    options = {"description_allow_html", "tooltip_allow_html", "allow_pickle"}
    kinds = {"text/html", "image/svg+xml", "application/javascript"}
    refused = markup | methods | options | kinds
    for path, node in nodes_of(sources, refused):
        words = (getattr(node, field, None) for field in ("attr", "id", "name", "arg", "value"))
        found = refused.intersection(word for word in words if isinstance(word, str))
        assert not found - ({"text/html"} if path.name in TWINS else set()), (path, ast.unparse(node))


def test_no_call_of_python_names_an_address(sources):
    for path, node in nodes_of(sources, ("http", "ftp:", "file:")):
        for argument in [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []:
            assert not re.match("(https?|ftp|file):", str(getattr(argument, "value", ""))), (path, node.lineno)


# What takes a text for markup or code, or goes out of the page. The one import is of the text that `WidgetCode` holds.
DOORS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|cssText"
    r"|\beval\(|\bFunction\(|\bimport\((?!URL\.createObjectURL)|importScripts|\bfetch\(|XMLHttpRequest|WebSocket"
    r"|EventSource|sendBeacon|Worker\(|postMessage|window\.open|location\.(href|assign|replace)|\.src\b|cookie"
    r"|new Image|iframe|javascript:|https?:(?!//www\.w3\.org/2000/svg)(?!\\)|//cdn|\.on[a-z]+\s*=[^=]"
    r"|setAttribute\(\s*[\"'`](on|href|src)|createElement\([\"'`]script"
)


def test_no_text_of_a_browser_becomes_markup_code_or_an_address():
    for path in SCRIPTS:
        source = path.read_text(encoding="utf-8")
        assert [found.group() for found in DOORS.finditer(source)] == [], path
        checked = source.count("if (ALLOWED.test(to)) Object.assign(link, { href: to")
        assert source.count("href: to") == checked, f"{path}: a link's address comes from Python"


def test_the_styles_load_nothing():
    for path in STYLES:
        imports = re.sub(r'@import "\./\w+\.css";', "", path.read_text(encoding="utf-8"))  # of a file beside it
        assert not re.search(r"url\(|@import|image-set|expression\(|http", imports), path


def test_the_watcher_sees_socket_address_program_and_file(tmp_path):
    """With it tests/lessons/test_pictures.py runs lessons."""
    with watched() as seen:
        with contextlib.suppress(OSError):
            urllib.request.urlopen("http://127.0.0.1:9/", timeout=0.1)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
        subprocess.run([sys.executable, "--version"], capture_output=True)
        (tmp_path / "written").write_text("x")
    events = {event for event, _ in seen}
    assert {"socket.connect", "urllib.Request", "socket.bind", "subprocess.Popen", "open"} <= events


@pytest.mark.parametrize("as_root", [False, True])
def test_make_lab_keeps_jupyters_token_host_and_origin(as_root):
    """JupyterLab's own defaults: a random token, this machine only, no other origin."""
    options = {word.split("=")[0] for word in lab.command([], as_root=as_root, display=True)[3:]}
    allowed = {"--ServerApp.root_dir", "--FileContentsManager.preferred_dir", "--LabApp.default_url", "--log-level"}
    assert options - allowed == ({"--allow-root"} if as_root else set())


def test_the_repository_weakens_no_setting_of_jupyterlab():
    weak = r"token\s*=\s*['\"]{2}|disable_check_xsrf|allow_origin|allow_remote_access|ip\s*=\s*['\"]?(0\.0\.0\.0|\*)"
    for path in [*(ROOT / "tools").rglob("*.py"), ROOT / "Makefile", *(ROOT / ".ci").iterdir()]:
        assert not re.search(weak, path.read_text(encoding="utf-8")), path
    folders = [ROOT, *(ROOT / name for name in ("helpers", "notebooks", "tools"))]
    assert [path.name for folder in folders for path in folder.glob("*jupyter*config*")] == []
