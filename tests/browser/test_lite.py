"""The lessons of `make lite` in a browser: served from a sub-path by a server that can do nothing but send files.

Without PYODIDE_DIST, Python comes from npm and has no NumPy, and what needs none is tested. With it, every lesson runs
from top to bottom, its exercises are done, and it is opened again.
"""

import json
import os
import zipfile
from pathlib import Path

import pytest

from helpers.exercises import all_exercises
from tests.browser import pyodide_core
from tests.browser.conftest import served
from tests.shared import ROOT, slug, without_measured
from tools.learner.widget_state import models_of
from tools.lessons import VIEW, read_lesson, text
from tools.publish import lite
from tools.publish.site import head

DIST = os.environ.get("PYODIDE_DIST")
MISSING = None if lite.KERNEL.is_dir() else "JupyterLite is not installed: run `make lite`"
if MISSING and os.environ.get("LITE_REQUIRED"):
    raise pytest.UsageError(f"the tests of make lite are required here, but {MISSING}")
pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
LESSON = "02_batch_dependence.ipynb"  # its copy shows a question and an explorer

PANEL = "window.jupyterapp.shell.currentWidget"
RUN = f"""async (number) => {{
  const notebook = {PANEL}.content;
  notebook.activeCellIndex = number;
  notebook.deselectAll();
  await window.jupyterapp.commands.execute("notebook:run-cell");
  return notebook.widgets[number].model.outputs.toJSON();
}}"""
SHOW = f"""(number) => {{
  const notebook = {PANEL}.content;
  notebook.activeCellIndex = number;
  return notebook.scrollToItem(number, "center");
}}"""
WRITE = f"([number, source]) => {PANEL}.content.widgets[number].model.sharedModel.setSource(source)"
SAVE = "window.jupyterapp.commands.execute('docmanager:save')"
SAVED = f"!{PANEL}.context.model.dirty"
HEADING = "[...document.querySelectorAll('h2')].find((heading) => /^5 /.test(heading.textContent))"
VISIBLE = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MINE = "02_mine-1_batch_dependence.ipynb"
STATE = f"() => Object.keys(Object.values({PANEL}.content.model.getMetadata('widgets'))[0].state).length"


class Site:
    """A folder served under /a/school/."""

    def __init__(self, folder, address):
        self.folder, self.pages = folder, f"{address}a/school/"

    def copy(self, name):
        return json.loads((self.folder / "a/school/run/files" / name).read_text(encoding="utf-8"))


def reading_page(lesson):
    """A page of the site, as far as it leads to the lesson: its head, its headings, its script."""
    titles = [part.title for part in lesson.parts if part.level >= 2]
    body = "".join(f"<h2 id='{slug(title)}'>{title}</h2><p style='height: 900px'></p>" for title in titles)
    script = (ROOT / "tools/publish/web/static/host.js").read_text(encoding="utf-8")
    return f"<!doctype html><article>{head(lesson.name, '', 'run/')}{body}</article><script>{script}</script>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("lite")
    if not DIST:
        pyodide_core.make(place / "pyodide")
    pages = place / "www" / "a" / "school"
    pages.mkdir(parents=True)
    page = reading_page(read_lesson(ROOT / "notebooks" / LESSON))
    (pages / LESSON).with_suffix(".html").write_text(page, encoding="utf-8")
    lite.build(pages / "run", Path(DIST or place / "pyodide"))
    with served(place / "www") as address:
        yield Site(place / "www", address)


@pytest.fixture
def context(browser, site):
    """A browser that has asked for nothing but what lies under the site's own address."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    context.set_default_timeout(60_000)
    outside = []
    context.on("request", lambda request: outside.append(request.url))
    yield context
    context.close()
    assert [address for address in outside if not address.startswith((site.pages, "blob:", "data:"))] == []


def open_lesson(context, site, name=LESSON):
    page = context.new_page()
    page.goto(f"{site.pages}run/lab/index.html?path={name}")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    return page


def wait_for_kernel(page):
    page.wait_for_function(f"{PANEL}?.sessionContext?.kernelDisplayStatus == 'idle'", timeout=120_000)


def save(page):
    page.evaluate(SAVE)
    page.wait_for_function(SAVED)


def cells_with(cells, beginning):
    """The numbers of the cells that show a widget and call what is named."""
    shows = [any(VIEW in output.get("data", {}) for output in cell.get("outputs", [])) for cell in cells]
    return [k for k, cell in enumerate(cells) if shows[k] and f"{beginning}(" in text(cell["source"])]


def tagged(cells, tag):
    return [k for k, cell in enumerate(cells) if tag in cell["metadata"].get("tags", [])]


def said(outputs):
    return "".join(text(output.get("text", output.get("traceback", ""))) for output in outputs)


def see_widgets(page, *places):
    for number, widget in places:
        page.evaluate(SHOW, number)
        page.wait_for_selector(f"{VISIBLE} {widget}")


@pytest.mark.smoke
def test_a_page_leads_to_its_lesson_and_back(context, site):
    cells = site.copy(LESSON)["cells"]
    setup = tagged(cells, "setup")[0]
    widgets = [(cells_with(cells, "Explorer")[0], ".explorer-stage"), (cells_with(cells, "Quiz")[0], ".quiz input")]
    page = context.new_page()
    page.goto(f"{site.pages}{Path(LESSON).stem}.html")
    page.locator("h2", has_text="3 ").first.evaluate("(heading) => heading.scrollIntoView()")
    page.evaluate("document.querySelector('a.run-here').click()")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(f"/^## 3 /m.test({PANEL}.content.activeCell?.model.sharedModel.source)")

    see_widgets(page, *widgets)
    assert page.evaluate(f"{PANEL}.sessionContext.kernelDisplayStatus") != "idle", "alive before Python starts"
    page.locator(".quiz input[type=radio]").first.check(force=True)
    page.locator(".quiz button").first.click()
    page.wait_for_function("Object.keys(localStorage).some((key) => key.startsWith('normalization'))")
    page.wait_for_selector(".after-guess[data-revealed]", state="attached")
    assert page.locator(".jp-showHiddenCellsButton").count() >= 1, "what goes deeper is closed"

    wait_for_kernel(page)
    assert "Run All Above Selected Cell" in said(page.evaluate(RUN, setup + 1)), "it uses what the setup makes"
    page.evaluate(WRITE, [setup, "print('my own', 6 * 7)"])
    assert said(page.evaluate(RUN, setup)) == "my own 42\n"
    models = page.evaluate(STATE)
    save(page)
    page.evaluate(SHOW, next(k for k, cell in enumerate(cells) if "## 5 " in text(cell["source"])))
    page.click("text=Read this lesson")
    page.wait_for_function(f"Math.abs({HEADING}?.getBoundingClientRect().top) < 5")
    page.close()

    about = site.folder / "a/school/run" / lite.ABOUT  # overnight, a mistake in the lesson is corrected
    about.write_text(json.dumps(json.loads(about.read_text()) | {LESSON: "0" * 64}))
    page = open_lesson(context, site)
    assert page.evaluate(f"{PANEL}.content.widgets[{setup}].model.sharedModel.source") == "print('my own', 6 * 7)"
    assert "my own 42" in page.locator(".jp-OutputArea").first.inner_text()
    assert page.evaluate(STATE) == models == len(models_of(site.copy(LESSON)))
    see_widgets(page, *widgets)
    page.click("text=Take the new lesson and keep mine")
    source = f"{PANEL}.content.widgets[{setup}]?.model.sharedModel.source"
    page.wait_for_function(f"{PANEL}.context.path == '{LESSON}' && {source}?.includes('import numpy')")
    with page.expect_download() as saving:
        page.click(f"{VISIBLE} >> text=Save all my work")
    with zipfile.ZipFile(saving.value.path()) as work:
        assert work.testzip() is None and work.namelist() == [MINE, "answers.json"]
        assert "6 * 7" in work.read(MINE).decode("utf-8")
        assert len(json.loads(work.read("answers.json"))["answers"]) == 1


def test_saved_work_loads_elsewhere(context, site, tmp_path):
    copy = site.copy(LESSON)
    explorer = cells_with(copy["cells"], "Explorer")[0]
    copy["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my own words"})
    key, question = next(iter(read_lesson(ROOT / "notebooks" / LESSON).questions.items()))
    place, answer = f"{Path(LESSON).stem}/{key}", {"choice": 0, "mark": question["mark"], "when": "2026-01-01"}
    answers = {"format": "normalization-notebooks answers 1", "answers": {place: answer}}
    with zipfile.ZipFile(tmp_path / "work.zip", "w", zipfile.ZIP_DEFLATED) as work:
        work.writestr(LESSON, json.dumps(copy, ensure_ascii=False))
        work.writestr("answers.json", json.dumps(answers))
    (tmp_path / "broken.zip").write_bytes((tmp_path / "work.zip").read_bytes()[:1000])
    page = open_lesson(context, site)
    page.set_input_files(".nn-work input[type=file]", tmp_path / "broken.zip")
    page.wait_for_function("document.querySelector('.nn-work [role=status]').textContent.includes('zip')")
    page.set_input_files(".nn-work input[type=file]", tmp_path / "work.zip")
    page.click("text=It is mine")
    page.wait_for_selector(".nn-work >> text=1 answer loaded", state="attached")
    page.wait_for_function(f"{PANEL}.content.widgets.at(-1).model.sharedModel.source == 'my own words'")
    see_widgets(page, (explorer, ".explorer-stage"))
    assert page.evaluate("(place) => localStorage[`normalization-notebooks/${place}`]", place)
    with page.expect_download() as saving:
        page.click(f"{VISIBLE} >> text=Download this lesson")
    assert "my own words" in Path(saving.value.path()).read_text(encoding="utf-8")


def test_python_that_does_not_arrive_is_said_and_started_again(context, site):
    context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    context.clock.install()
    page = open_lesson(context, site)
    page.wait_for_selector(".nn-work")
    context.clock.run_for(121_000)
    page.wait_for_selector(".nn-work >> text=could not start")
    context.unroute("**/pyodide.asm.wasm")
    page.click(f"{VISIBLE} button >> text=Restart Python")
    page.wait_for_function("document.querySelector('.nn-work [role=status]').textContent == ''", timeout=120_000)


# ------------------------------------------------------------------------------------------------ every lesson

READ = f"() => {PANEL}.content.widgets.map((cell) => cell.model.outputs?.toJSON() ?? [])"
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
LIVES = f"""(number) => {PANEL}.content.widgets[number].node.querySelector(
  ".explorer-stage svg, .quiz, .practice, .filter-table, .practice-overview")"""
ONLY_HERE = "pyproject.toml"  # a cell that names it asks for what this machine has


def attempts(name, source):
    """(the stub's cell with the solution, with a known mistake, the sentence of that mistake)"""
    check = source[source.index("check_exercise(") :]
    exercise = all_exercises()[name]
    mistake = next(mistake for mistake in exercise.mistakes if isinstance(mistake.attempt, str))
    right, wrong = (f"{code.strip()}\n\n\n{check}" for code in (exercise.solution, mistake.attempt))
    return right, wrong, mistake.sentence


def one_line(words):
    return " ".join(words.split())


@pytest.mark.skipif(not DIST, reason="PYODIDE_DIST names no distribution of Pyodide")
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_whole_and_lives_on(name, context, site):
    """No cell fails and all say what is stored, but for digits that a lesson leaves open. Each exercise is done right
    and wrong. What showed a widget shows it when the lesson is saved, closed and opened again."""
    originals = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
    originals = {cell["id"]: cell for cell in originals}
    cells = [originals[cell["id"]] for cell in site.copy(name)["cells"]]  # in which neighboring texts may be one
    page = open_lesson(context, site, name)
    wait_for_kernel(page)
    page.evaluate(RUN_ALL)
    found = page.evaluate(READ)
    assert [output["evalue"] for outputs in found for output in outputs if output["output_type"] == "error"] == []
    for cell, outputs in zip(cells, found, strict=True):
        if "nbval-ignore-output" not in cell["metadata"].get("tags", []) and ONLY_HERE not in text(cell["source"]):
            assert without_measured(said(outputs)) == without_measured(said(cell.get("outputs", [])))
    for number in tagged(cells, "exercise"):
        source = text(cells[number]["source"])
        called = source.split('check_exercise("')[1].split('"')[0]
        right, wrong, sentence = attempts(called, source)
        page.evaluate(WRITE, [number, wrong])
        assert one_line(sentence)[:40] in one_line(said(page.evaluate(RUN, number))), called
        page.evaluate(WRITE, [number, right])
        assert said(page.evaluate(RUN, number)).startswith("PASS"), called

    save(page)
    models = page.evaluate(STATE)
    page.close()
    page = open_lesson(context, site, name)
    assert page.evaluate(STATE) == models
    for number, outputs in enumerate(found):
        if any(VIEW in output.get("data", {}) for output in outputs):
            page.evaluate(SHOW, number)
            page.wait_for_function(LIVES, arg=number, timeout=10_000)
