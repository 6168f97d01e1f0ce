"""A JupyterLab on a copy of the repository, and Chromium to open it.

Skipped with one line where Chromium, playwright or the npm packages are missing; BROWSER_REQUIRED=1 makes that
a failure.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NODE_MODULES = Path(__file__).parent / "node_modules"
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
    if not (NODE_MODULES / "axe-core").is_dir():
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
def learners_house(lab):
    """The same, for tests that open the learner's copies in workbook/."""
    return lab


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
