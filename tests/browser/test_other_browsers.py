"""Weekly: site, slides and lessons in Firefox and WebKitGTK: Debian's firefox-esr, and webkit2gtk-driver with xvfb."""

import contextlib
import os
import shutil
import subprocess
import time

import pytest

from tests.browser import pyodide_core
from tests.browser.conftest import built, free_port, served
from tests.shared import everything
from tools.publish import lite

without_lite = pytest.mark.skipif(not lite.KERNEL.is_dir(), reason="JupyterLite is not installed: run `make lite`")
pytestmark = [everything, without_lite, pytest.mark.filterwarnings("ignore")]
LESSON = "02_batch_dependence"  # with a slider, a handle and questions
RIGHT = "\ue014"  # WebDriver's name of this arrow key


class Browser:
    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not (found := self.ask(f"return {script}")):
            assert time.monotonic() < end, f"{script}: not within {seconds} s"
            time.sleep(0.1)
        return found

    def find(self, selector):
        element = self.wait(f"document.querySelector('{selector}')")
        self.ask("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })", element)
        return element

    def drag(self, selector, far):
        box = self.ask("return arguments[0].getBoundingClientRect().toJSON()", self.find(selector))
        x, y = (round((box[low] + box[high]) / 2) for low, high in (("left", "right"), ("top", "bottom")))
        there, *away = ({"type": "pointerMove", "x": x + k, "y": y + k} for k in (0, far // 2, far))
        down, up = ({"type": f"pointer{way}", "button": 0} for way in ("Down", "Up"))
        self.act([{"type": "pointer", "id": "mouse", "actions": [there, down, *away, up]}])


class Firefox(Browser):
    def __init__(self):
        program = shutil.which("firefox-esr") or shutil.which("firefox") or pytest.skip("Firefox is not installed")
        client = pytest.importorskip("marionette_driver.marionette").Marionette
        self.driver = client(bin=program, headless=True, gecko_log=os.devnull)
        self.driver.start_session()
        self.open, self.close = self.driver.navigate, self.driver.cleanup

        self.act = lambda actions: self.driver._send_message("WebDriver:PerformActions", {"actions": actions})

    def ask(self, script, *values):
        return self.driver.execute_script(script, script_args=values, sandbox=None)


class WebKit(Browser):
    def __init__(self):
        webdriver, port = pytest.importorskip("selenium.webdriver"), free_port()
        _ = (
            shutil.which("WebKitWebDriver")
            and shutil.which("Xvfb")
            or pytest.skip("WebKitGTK or Xvfb is not installed")
        )
        screen = subprocess.Popen(["Xvfb", "-displayfd", "1"], stdout=subprocess.PIPE, text=True)
        shown = os.environ | {"DISPLAY": f":{screen.stdout.readline().strip()}"}
        self.processes = [subprocess.Popen(["WebKitWebDriver", f"--port={port}"], env=shown), screen]
        time.sleep(3)
        self.driver = webdriver.Remote(f"http://127.0.0.1:{port}", options=webdriver.WebKitGTKOptions())
        self.open, self.ask = self.driver.get, self.driver.execute_script
        self.act = lambda actions: self.driver.execute("actions", {"actions": actions})

    def close(self):
        self.driver.quit()
        [(process.terminate(), process.communicate()) for process in self.processes]


@pytest.fixture(scope="module", params=[Firefox, WebKit])
def other(request):
    with contextlib.closing(request.param()) as browser:
        yield browser


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    pyodide_core.make(folder / "pyodide")
    lite.build(folder / "site/run", folder / "pyodide")
    with served(built(folder / "site", "site")) as address:
        yield address


def test_a_page_its_deck_and_its_lesson_that_runs_do_what_they_should(other, home):
    other.open(f"{home}{LESSON}.html")
    other.wait("document.documentElement.dataset.widgets == 'ready'")
    other.find(".quiz-is-prediction input").click()
    other.find(".quiz-is-prediction .quiz-check").click()
    other.wait("document.querySelector('details.answer[open]')")
    other.ask("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    told = "[...document.querySelectorAll('.explorer-caption')].map((e) => e.textContent).join()"
    slider, handle = ".explorer input[type=range]", ".explorer .handle"
    for move in (lambda: other.find(slider).send_keys(RIGHT), lambda: other.drag(handle, 60)):
        other.ask(f"window.before = {told}")
        move()
        other.wait(f"before != {told}", 10)
    other.open(f"{home}slides/{LESSON}.html")
    other.wait("document.querySelector('.reveal.ready .present')")
    other.find("body").send_keys(RIGHT)
    other.wait("location.hash.length > 2", 10)
    other.open(f"{home}run/lab/index.html?path={LESSON}.ipynb")
    other.find(".jp-Notebook .quiz input")
    other.wait("jupyterapp.shell.currentWidget.sessionContext.kernelDisplayStatus == 'idle'", 300)


def test_jupyterlab_runs_a_lesson_in_firefox(lab):
    with contextlib.closing(Firefox()) as firefox:
        firefox.open(lab.url("workbook/00_start_here.ipynb"))
        firefox.wait("document.querySelector('.explorer-stage svg') && document.querySelector('.quiz input')")
        firefox.ask("jupyterapp.commands.execute('notebook:run-all-cells')")
        firefox.wait("document.querySelector('.jp-Notebook').innerText.includes('checks passed')")
