"""What is alive when a lesson is saved is alive when it is opened the next day, after JupyterLab has been stopped.

Three days are three starts of tools/learner/lab.py on one copy of the repository, in one browser.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.browser.conftest import ROOT, free_port, write_settings
from tests.browser.test_lessons_in_browser import move_every_control
from tests.shared import everything

TOKEN = "second-day"
OWN_CELL = 'Explorer({"n": [1, 2]}, lambda n: [points([n], [0.625 * n])], lambda n: f"my own picture {n}")'
VIEW = "application/vnd.jupyter.widget-view+json"
ALIVE = """() => ({
    stages: [...document.querySelectorAll('.explorer-stage svg')].map((e) => e.innerHTML),
    captions: [...document.querySelectorAll('.explorer-caption')].map((e) => e.textContent),
    inputs: document.querySelectorAll('.quiz input').length,
})"""
LOADED = """([explorers, others]) =>
    document.querySelectorAll('.jp-OutputArea-output').length > 0 &&
    (document.querySelectorAll('.explorer-stage svg').length >= explorers &&
        document.querySelectorAll('.quiz, .filter-table').length >= others
        ? 'alive'
        : /Error displaying widget|Reload the page/.test(document.querySelector('.jp-Notebook').innerText) && 'dead')"""
ANSWERED = "[...document.querySelectorAll('.quiz [role=status]')].map((e) => e.textContent).filter((t) => t)"


class House:
    """A copy of the repository with Jupyter's folders of its own; `day()` starts and stops JupyterLab in it."""

    def __init__(self, folder):
        self.folder, self.port, self.jupyter = folder / "house", free_port(), folder / "jupyter"
        ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "node_modules")
        for part in ("notebooks", "helpers", "tools"):
            shutil.copytree(ROOT / part, self.folder / part, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        write_settings(self.jupyter, dark=False)
        self.environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(self.jupyter),
            "JUPYTER_DATA_DIR": str(self.jupyter / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.jupyter / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.jupyter / "lab" / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.jupyter / "lab" / "workspaces"),
            "OMP_NUM_THREADS": "1",
        }

    def file(self, name):
        return self.folder / "workbook" / f"{name}.ipynb"

    @contextlib.contextmanager
    def day(self, *options):
        command = [
            sys.executable,
            "-m",
            "tools.learner.lab",
            "--no-browser",
            f"--port={self.port}",
            "--ServerApp.port_retries=0",
        ]
        with open(self.jupyter / "log.txt", "w") as log:
            line = [*command, f"--IdentityProvider.token={TOKEN}", *options]
            process = subprocess.Popen(line, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        try:
            self.wait(process)
            yield
        finally:
            process.terminate()
            process.wait(20)

    def wait(self, process):
        for _ in range(900):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=2).close()
                return
            if process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{self.said()[-2000:]}")

    def said(self):
        return (self.jupyter / "log.txt").read_text()

    def ask(self, method, path, body):
        """What JupyterLab's file list asks for when a file is renamed or duplicated there."""
        url = f"http://127.0.0.1:{self.port}/api/contents/workbook{path}"
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["name"].removesuffix(".ipynb")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return House(tmp_path_factory.mktemp("second-day"))


def open_lesson(page, house, name):
    """Open a copy; returns what is alive in it, once that is every explorer and question that its file shows."""
    nb = read(house.file(name))
    data = [output.get("data", {}) for cell in nb["cells"] for output in cell.get("outputs", [])]
    pictures = ["image/png" in one for one in data if VIEW in one and "widgets" in nb["metadata"]]
    for _ in range(3):
        page.goto(f"http://127.0.0.1:{house.port}/lab/tree/workbook/{name}.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        expected = [sum(pictures), len(pictures) - sum(pictures)]
        if page.wait_for_function(LOADED, arg=expected, timeout=90_000).json_value() == "alive":
            return settled(page)
        # A busy machine, see tools/jupyter/labextensions/: loading again helps, and the page says so.
    pytest.fail(f"{name} shows a widget that is not found, three times")


def settled(page):
    """What is alive, once that has not changed for half a second."""
    before, since = None, time.monotonic()
    while time.monotonic() - since < 0.6:
        page.wait_for_timeout(100)
        now = page.evaluate(ALIVE)
        if now != before:
            before, since = now, time.monotonic()
    assert "Error displaying widget" not in page.inner_text(".jp-Notebook")
    return before


def run_menu(page, command):
    """Choose one line of the menu Run and wait until all has run."""
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click(f".lm-Menu-itemLabel:text-is('{command}')")
    page.wait_for_timeout(300)
    page.wait_for_function(
        "![...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].some((e) => e.textContent.includes('*'))",
        timeout=90_000,
    )
    return settled(page)


def save(page, house, name):
    before = house.file(name).stat().st_mtime_ns
    page.keyboard.press("Control+s")
    for _ in range(100):
        if house.file(name).stat().st_mtime_ns != before:
            return settled(page)
        page.wait_for_timeout(50)
    pytest.fail(f"{name} was not saved")


def add_own_cell(page):
    """A cell below the first code cell, typed as a learner does."""
    page.locator(".jp-CodeCell").first.locator(".jp-InputPrompt").click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("from helpers import points\n" + OWN_CELL)


def run_half(page):
    cells = page.locator(".jp-CodeCell .jp-InputPrompt")
    cells.nth(cells.count() // 2).click()
    page.keyboard.press("Escape")
    return run_menu(page, "Run All Above Selected Cell")  # the words of our sentences


def answer_a_question(page):
    question = page.locator(".quiz fieldset").first
    question.locator("input").nth(1).check()
    question.locator("button").first.click()
    return page.evaluate(ANSWERED)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def state_of(path):
    return json.dumps(read(path)["metadata"]["widgets"], sort_keys=True)


def test_three_days(house, page):
    run, half, unrun = "00_start_here", "01_axis_intuition", "03_running_averages"
    with house.day():
        recorded = open_lesson(page, house, run)
        assert f"JupyterLab is at http://127.0.0.1:{house.port}/lab" in house.said()
        add_own_cell(page)
        first = run_menu(page, "Run All Cells")
        assert len(first["stages"]) == len(recorded["stages"]) + 1
        answered = answer_a_question(page)
        assert first == save(page, house, run)
        open_lesson(page, house, half)
        run_half(page)
        second = save(page, house, half)
        stored = state_of(house.file(unrun))
        third = open_lesson(page, house, unrun)
        save(page, house, unrun)
        assert state_of(house.file(unrun)) == stored
    with house.day():
        assert open_lesson(page, house, run) == first
        assert move_every_control(page) == 3
        assert any("my own picture" in caption for caption in first["captions"])
        assert page.evaluate(ANSWERED) == answered != []
        assert open_lesson(page, house, half) == second
        assert open_lesson(page, house, unrun) == third
        twin = house.ask("POST", "", {"copy_from": f"workbook/{run}.ipynb"})
        house.ask("PATCH", f"/{half}.ipynb", {"path": f"workbook/{half}_mine.ipynb"})
        assert open_lesson(page, house, twin) == first
        twin_now = run_half(page)
        assert save(page, house, twin) == twin_now
        open_lesson(page, house, f"{half}_mine")
        save(page, house, f"{half}_mine")
        lose_widgets(house.file(run), house.file("lost"))
    with house.day():
        assert open_lesson(page, house, twin) == twin_now
        assert open_lesson(page, house, f"{half}_mine") == second
        assert open_lesson(page, house, unrun) == third
        shows_pictures_and_words(page, house, "lost")
    assert min(len(day["stages"]) for day in (first, second, third)) >= 1
    assert min(day["inputs"] for day in (first, second, third)) >= 3


@everything
def test_lesson_12s_explorer_moves_the_next_day(house, page):
    name = "12_bug_gallery"
    with house.day():
        assert open_lesson(page, house, name)["stages"] == []
        run_menu(page, "Run All Cells")
        first = save(page, house, name)
        assert len(first["stages"]) == 1
    with house.day():
        assert open_lesson(page, house, name) == first
        assert move_every_control(page) == 2


def lose_widgets(source, target):
    """What a merge or another editor does."""
    nb = read(source)
    del nb["metadata"]["widgets"]
    target.write_text(json.dumps(nb), encoding="utf-8")


def shows_pictures_and_words(page, house, name):
    alive = open_lesson(page, house, name)
    assert alive == {"stages": [], "captions": [], "inputs": 0}
    words = page.inner_text(".jp-Notebook")
    assert words.count("To activate this") >= 3
    assert "my own picture 1" in words and "Answers" in words
    assert page.locator(".jp-OutputArea-output img").count() >= 2


def forget_widgets(route):
    """Answer a request for a notebook as if its widgets were not stored."""
    answer = route.fetch()
    model = answer.json()
    if model.get("type") == "notebook" and model.get("content"):
        model["content"]["metadata"].pop("widgets", None)
    route.fulfill(response=answer, json=model)


def test_an_unloaded_widget_asks_for_a_page_reload(house, page):
    with house.day():
        page.route("**/api/contents/workbook/03_running_averages.ipynb?*", forget_widgets)
        page.goto(f"http://127.0.0.1:{house.port}/lab/tree/workbook/03_running_averages.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(".jp-OutputArea-output:has-text('Reload the page (F5)')")
        page.unroute_all()
        page.reload()
        page.wait_for_selector(".explorer-stage svg")
        assert "Reload the page" not in page.inner_text(".jp-Notebook")


# What is stored comes only now, after JupyterLab has called its widgets "not found".
READ_LATE = """async (address) => {
  const {content, context} = jupyterapp.shell.currentWidget;
  const stored = await (await fetch(address)).json();
  context.model.setMetadata("widgets", stored.content.metadata.widgets);
  const outputs = content.widgets.flatMap((cell) => cell.outputArea?.widgets ?? []);
  const widgets = outputs.flatMap((output) => [...(output.children?.() ?? [])]).filter((e) => e._manager);
  const manager = await widgets[0]._manager.promise;
  await manager.restoreWidgets(context.model, {loadKernel: false, loadNotebook: true});
}"""


def test_widgets_missed_too_early_are_drawn_later(house, page):
    errors = []
    page.on("console", lambda message: errors.append(message.text))
    with house.day("--LabApp.expose_app_in_browser=True"):
        address = f"http://127.0.0.1:{house.port}/api/contents/workbook/03_running_averages.ipynb?token={TOKEN}"
        page.route("**/api/contents/workbook/03_running_averages.ipynb?*", forget_widgets)
        page.goto(f"http://127.0.0.1:{house.port}/lab/tree/workbook/03_running_averages.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        for _ in range(600):
            if any("widget model not found" in text for text in errors):
                break
            page.wait_for_timeout(100)
        page.unroute_all()
        page.evaluate(READ_LATE, address)
        page.wait_for_selector(".explorer-stage svg")
        page.wait_for_function("!/not found|Reload the page/.test(document.querySelector('.jp-Notebook').innerText)")


def test_opening_needs_no_saving_but_running_does(house, page):
    dot = ".lm-TabBar-tab.jp-mod-current.jp-mod-dirty"
    with house.day():
        open_lesson(page, house, "06_epsilon_and_float16")
        page.wait_for_timeout(1000)
        assert page.query_selector(dot) is None
        page.locator(".jp-CodeCell .jp-InputPrompt").nth(1).click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector(dot)
