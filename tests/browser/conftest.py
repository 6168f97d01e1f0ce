"""A JupyterLab on a copy of the repository, Chromium to open it, and what many of its tests do.

Skipped with one line where Chromium, playwright or the npm packages are missing; BROWSER_REQUIRED=1 makes that
a failure.
"""

import contextlib
import functools
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

from helpers.widgets.quiz.questions import all_lessons

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"
TOKEN = "browser-tests"
CHROMIUM = next(
    filter(None, (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
# Chromium as root in a container, and without its own calls home.
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing():
    """What these tests lack on this machine, or None."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed: run `make test-browser`"
    if CHROMIUM is None:
        return "no Chromium found: install your system's package `chromium`"
    if not AXE.exists():
        return "npm packages are not installed: run `make test-browser`, which needs npm"
    return None


def pytest_xdist_make_scheduler(config, log):
    """The tests of a file share what is costly to make, so one worker runs them."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_collection_modifyitems(items):
    reason = missing()
    if reason and os.environ.get("BROWSER_REQUIRED"):
        raise pytest.UsageError(f"browser tests are required here, but {reason}")
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """JupyterLab as `make lab` starts it in a copy of the repository, with settings of its own.

    It starts at once; `stop` and `start` make another day. `url(path)` opens a file of its folder, by a path as in
    notebooks/01_axis_intuition.ipynb or workbook/01_axis_intuition.ipynb.
    """

    def __init__(self, folder):
        self.folder, self.port = Path(folder), free_port()
        self.jupyter = self.folder.parent / f"jupyter-{self.folder.name}"
        # JupyterLab renders a cell when it comes into view; the tests look at all of them.
        settings = self.jupyter / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
        settings.parent.mkdir(parents=True)
        settings.write_text('{"windowingMode": "none"}')
        self.environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(self.jupyter),
            "JUPYTER_DATA_DIR": str(self.jupyter / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.jupyter / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.jupyter / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.jupyter / "workspaces"),
            "OMP_NUM_THREADS": "1",
        }
        self.start()

    def start(self):
        command = [sys.executable, "-m", "tools.learner.lab", "--no-browser", f"--port={self.port}"]
        command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
        command += ["--LabApp.expose_app_in_browser=True"]
        with open(self.jupyter / "log.txt", "w") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=2).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{self.said()[-2000:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def said(self):
        return (self.jupyter / "log.txt").read_text()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/lab/tree/{path}?token={TOKEN}&reset"

    def trust(self, path):
        from nbformat.sign import NotebookNotary

        notary = NotebookNotary(data_dir=str(self.jupyter / "data"))
        notary.sign(nbformat.read(self.folder / path, as_version=4))
        notary.store.close()

    def write(self, path, *sources):
        """Write a trusted notebook of these cells, run and stored with its widgets; any cell may be run first."""
        from nbclient import NotebookClient

        setup = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(setup + source) for source in sources])
        NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
        nbformat.write(nb, self.folder / path)
        self.trust(path)
        return nb


@pytest.fixture(scope="session")
def make_lab(tmp_path_factory):
    labs = []

    def make(name):
        folder = tmp_path_factory.mktemp("labs") / name
        ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "node_modules")
        for part in ("notebooks", "helpers", "tools"):
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", folder)
        labs.append(Lab(folder))
        return labs[-1]

    yield make
    for lab in labs:
        lab.stop()


@pytest.fixture(scope="session")
def lab(make_lab):
    """One JupyterLab for all tests that leave its files as they are."""
    return make_lab("lab")


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(60_000)
    yield page
    page.close()


@pytest.fixture
def visit_inside(browser):
    """visit_inside(home, path, ...) opens a page in a browser of its own that reaches nothing outside of an address.

    That nothing outside was asked for, and that no script failed, is part of every test. `ready` is waited for; what
    else is given are options of the browser's context.
    """
    contexts, refused, errors = [], [], []

    def visit_inside(home, path, ready=None, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)

        def guard(route):
            if not route.request.url.startswith((home, "data:", "blob:")):
                refused.append(route.request.url)
                route.abort()
            else:
                route.continue_()

        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(home + path)
        if ready:
            page.wait_for_function(ready)
        return page

    yield visit_inside
    for context in contexts:
        context.close()
    assert refused == [] and errors == []


@contextlib.contextmanager
def served(folder):
    """The address of a folder on a server that can do nothing but send files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def built(folder, module, *options):
    """The folder that a command of tools/publish writes."""
    command = [sys.executable, "-m", f"tools.publish.{module}", folder, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


# ------------------------------------------------------------------------------------------------ answers

QUESTIONS = {f"{lesson['name']}/{q['key']}": q for lesson in all_lessons() for q in lesson["questions"]}


def keep(page, choices, *, heard=False, **more):
    """Store answers {name of a question: choice} as another tab would; the page may hear of it."""
    for name, choice in choices.items():
        record = {"choice": choice, "first": choice, "tries": 1, "mark": QUESTIONS[name]["mark"]} | more
        page.evaluate(
            """([key, newValue, heard]) => {
                localStorage.setItem(key, newValue);
                if (heard) window.dispatchEvent(new StorageEvent("storage", { key, newValue }));
            }""",
            [f"normalization-notebooks/{name}", json.dumps(record), heard],
        )


# ------------------------------------------------------------------------------------------------ widgets

DEAD = "Error displaying widget: model not found"
STAGE = ".explorer .explorer-stage svg"
ALIVE = """() => ({
    stages: [...document.querySelectorAll('.explorer-stage svg')].map((e) => e.innerHTML),
    captions: [...document.querySelectorAll('.explorer-caption')].map((e) => e.textContent),
    inputs: document.querySelectorAll('.quiz input').length,
})"""
# The keys that move a control by a step and back, and whether it is at its end.
STEPS = """(e) => e.tagName == "SELECT"
    ? [["ArrowDown", "ArrowUp"], e.selectedIndex == e.options.length - 1]
    : [["ArrowRight", "ArrowLeft"], Number(e.ariaValueNow ?? e.value) >= Number(e.ariaValueMax ?? e.max)]"""


def open_alive(page, opening, widget=STAGE):
    """Open a notebook until its widgets show; again where JupyterLab lost the race of a kernel with what is stored.

    Returns what is alive in it.
    """
    for _ in range(3):
        opening()
        page.wait_for_function(f"document.querySelector('{widget}') || document.body.innerText.includes('{DEAD}')")
        settled(page)
        if DEAD not in page.inner_text("body"):
            break
    assert DEAD not in page.inner_text("body")
    if "explorer" in widget:
        wait_until_alive(page)
    return page.evaluate(ALIVE)


def settled(page):
    """What is alive, once that has not changed for half a second."""
    before, since = None, time.monotonic()
    while time.monotonic() - since < 0.6:
        page.wait_for_timeout(100)
        now = page.evaluate(ALIVE)
        if now != before:
            before, since = now, time.monotonic()
    return before


def run_all(page):
    """Run all cells of the notebook; the prompts are emptied first, and that of a cell that has run has a number."""
    page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach((e) => e.textContent = '')")
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]"
    page.wait_for_function(f"() => {prompts}.at(-1).textContent.match(/\\d/)", timeout=90_000)


def open_closed_parts(page):
    """What JupyterLab hides below a heading is shown, by the buttons "+ 7 cells hidden"."""
    while page.locator(".jp-showHiddenCellsButton").count():
        page.locator(".jp-showHiddenCellsButton").first.click()


def wait_until_alive(page):
    """Every explorer of the page is drawn and its controls are named."""
    page.wait_for_selector(STAGE, state="attached")  # a closed part holds some
    page.wait_for_function(
        "document.querySelectorAll('.explorer').length == document.querySelectorAll('.explorer-stage svg').length"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.explorer .noUi-handle')].every((h) => h.getAttribute('aria-label'))"
    )


def move_every_control(page):
    """Move each control a step and back; returns how many there were. Fails where the caption stays the same.

    The picture may stay: that a norm does not see the scale is the point of some. But the caption names what is chosen.
    """
    moved = 0
    for explorer in page.query_selector_all(".explorer"):
        picture, caption = (explorer.query_selector(s) for s in (".explorer-stage svg", ".explorer-caption"))
        for control in explorer.query_selector_all("select, .noUi-handle, input[type=range]"):
            first = [picture.inner_html(), caption.text_content()]
            keys, at_end = control.evaluate(STEPS)
            there, back = reversed(keys) if at_end else keys
            control.focus()
            page.keyboard.press(there)
            changed = "([_, c, first]) => c.textContent != first[1]"
            page.wait_for_function(changed, arg=[picture, caption, first], timeout=5000)
            page.keyboard.press(back)
            same = "([p, c, first]) => p.innerHTML == first[0] && c.textContent == first[1]"
            page.wait_for_function(same, arg=[picture, caption, first], timeout=5000)
            moved += 1
    return moved


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def swipe(page, x, y, right, down):
    """Move a finger on the screen; returns whether the page scrolled, and whether it took the finger from what it met.

    These are the touch events of a device, not of a script: the browser judges what a finger means.
    """
    start = page.evaluate(
        "addEventListener('pointercancel', () => (window.taken = true)), (window.taken = false), scrollY"
    )
    device = page.context.new_cdp_session(page)
    for part in range(9):
        finger = {"x": x + right * part / 8, "y": y + down * part / 8}
        kind = "touchMove" if part else "touchStart"
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
    device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    device.detach()
    page.wait_for_timeout(200)
    page.wait_for_function("scrollY === window.last || ((window.last = scrollY), false)", polling=200)  # it glides on
    return page.evaluate("(start) => [Math.abs(scrollY - start) > 30, taken]", start)


def settle(page):
    """Two frames later everything is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


# ------------------------------------------------------------------------------------------------ for all eyes


def serious(page, where="html", **options):
    """What axe finds: each broken rule with the first places."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "([where, options]) => axe.run(where, { resultTypes: ['violations'], ...options })"
    found = page.evaluate(run, [where, options])["violations"]
    found = [violation for violation in found if violation["impact"] in ("serious", "critical")]
    return [(violation["id"], [node["html"][:200] for node in violation["nodes"]][:3]) for violation in found]


def worst_contrast(page):
    """The words of widgets that are hardest to read, with their contrast."""
    words = page.evaluate((HERE / "readable.js").read_text())
    assert len(words) > 10, "no words found to measure"
    return words[:5]


def assert_controls_beside_pictures(page):
    """Each picture, or its next panel, is seen together with its controls."""
    page.wait_for_timeout(300)  # explorers take the layout for this width
    seen = page.evaluate((HERE / "together.js").read_text())
    assert seen and all(lost == 0 and here >= min(225, height) for lost, here, height in seen), seen
