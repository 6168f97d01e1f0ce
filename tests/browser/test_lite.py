"""The lessons of `make lite` in a browser: served from a sub-path by a server that can do nothing but send files.

Without PYODIDE_DIST, Python comes from npm and has no NumPy, and what needs none is tested. With it, every lesson runs
from top to bottom, its exercises are done, and it is opened again. LITE_REPORT names a folder for what was measured and
for the pictures.
"""

import base64
import functools
import gzip
import http.server
import io
import json
import os
import threading
import time
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from helpers.exercises import all_exercises
from tests.browser import pyodide_core
from tests.shared import ROOT, without_measured
from tools.learner.widget_state import models_of
from tools.lessons import VIEW, read_lesson, text
from tools.publish import lite
from tools.publish.replace_folder import NotOurs
from tools.publish.site import head

DIST = os.environ.get("PYODIDE_DIST")
# Without the compiled matplotlib, pictures stay empty, and all else can be tested.
DRAWS = bool(DIST) and any(Path(DIST).glob("matplotlib-*wasm32.whl"))
MISSING = None if lite.KERNEL.is_dir() else "JupyterLite is not installed: run `make lite`"
if MISSING and os.environ.get("LITE_REQUIRED"):
    raise pytest.UsageError(f"the tests of make lite are required here, but {MISSING}")
if DIST and not DRAWS and os.environ.get("LITE_REQUIRED"):
    raise pytest.UsageError(f"{DIST} has no matplotlib for a browser: take a full distribution of Pyodide")
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
HEADING = "[...document.querySelectorAll('h2')].find((heading) => /^5 /.test(heading.textContent))"
VISIBLE = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MINE = "02_mine-1_batch_dependence.ipynb"
# What the line above a lesson says, also what it takes back when Python starts after all.
OVERHEAR = """window.said = new Set();
new MutationObserver(() => said.add(document.querySelector(".nn-work [role=status]")?.textContent))
  .observe(document, { subtree: true, childList: true, characterData: true });"""
STATE = f"() => Object.keys(Object.values({PANEL}.content.model.getMetadata('widgets'))[0].state).length"


class Site:
    """A folder served under /a/school/, and the paths that browsers asked for, in `asked`."""

    def __init__(self, folder):
        asked = self.asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                asked.append(unquote(urlsplit(self.path).path))

        self.folder = folder
        handler = functools.partial(Handler, directory=folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.host = f"http://127.0.0.1:{self.server.server_port}/"
        self.pages = f"{self.host}a/school/"
        self.base = f"{self.pages}run/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def copy(self, name):
        return json.loads((self.folder / "a/school/run/files" / name).read_text(encoding="utf-8"))

    def megabytes(self):
        """What was asked for, each file once, as a host sends it: compressed, where it is not already."""
        files = [self.folder / path.lstrip("/") for path in set(self.asked)]
        return sum(size_sent(file) for file in files if file.is_file()) / 1e6


@functools.cache
def size_sent(file):
    packed = file.suffix in (".whl", ".zip", ".png", ".woff2")
    return file.stat().st_size if packed else len(gzip.compress(file.read_bytes(), 6))


def reading_page(lesson):
    """A page of the site, as far as it leads to the lesson: its head, its headings, its script."""
    titles = [part.title for part in lesson.parts if part.level >= 2]
    body = "".join(f"<h2>{title}</h2><p style='height: 900px'></p>" for title in titles)
    script = (ROOT / "tools/publish/web/static/host.js").read_text(encoding="utf-8")
    return f"<!doctype html><article>{head(lesson.name, '', 'run/', 12)}{body}</article><script>{script}</script>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("lite")
    if not DIST:
        pyodide_core.make(place / "pyodide")
    pages = place / "www" / "a" / "school"
    pages.mkdir(parents=True)
    for name in LESSONS:
        page = reading_page(read_lesson(ROOT / "notebooks" / name))
        (pages / name).with_suffix(".html").write_text(page, encoding="utf-8")
    lite.build(place / "www" / "a" / "school" / "run", Path(DIST or place / "pyodide"), incomplete=True)
    site = Site(place / "www")
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture
def context(browser):
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    yield context
    context.close()


def open_lesson(context, site, name=LESSON):
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"{site.base}lab/index.html?path={name}")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    return page


def wait_for_kernel(page):
    page.wait_for_function(f"{PANEL}?.sessionContext?.kernelDisplayStatus == 'idle'", timeout=120_000)


def stored(name=LESSON):
    return json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))


def cells_with(cells, beginning):
    """The numbers of the cells that show a widget and call what is named."""
    shows = [any(VIEW in output.get("data", {}) for output in cell.get("outputs", [])) for cell in cells]
    return [k for k, cell in enumerate(cells) if shows[k] and f"{beginning}(" in text(cell["source"])]


def said(outputs):
    return "".join(text(output.get("text", output.get("traceback", ""))) for output in outputs)


def test_a_page_leads_to_its_lesson_and_back(context, site):
    cells = site.copy(LESSON)["cells"]
    question, explorer = cells_with(cells, "Quiz")[0], cells_with(cells, "Explorer")[0]
    site.asked.clear()
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"{site.pages}{Path(LESSON).stem}.html")
    assert "downloads about" in page.inner_text(".run-in-browser")
    page.locator("h2", has_text="3 ").first.evaluate("(heading) => heading.scrollIntoView()")
    page.evaluate("document.querySelector('a.run-here').click()")

    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(f"/^## 3 /m.test({PANEL}.content.activeCell?.model.sharedModel.source)")
    for number, widget in [(explorer, ".explorer-stage"), (question, ".quiz input[type=radio]")]:
        page.evaluate(SHOW, number)
        page.wait_for_selector(widget)
    assert page.evaluate(f"{PANEL}.sessionContext.kernelDisplayStatus") != "idle"
    page.locator(".quiz input[type=radio]").first.check(force=True)
    page.locator(".quiz button").first.click()
    page.wait_for_function("Object.keys(localStorage).some((key) => key.startsWith('normalization'))")

    wait_for_kernel(page)
    assert site.megabytes() < 12.5
    setup = next(k for k, cell in enumerate(cells) if cell["cell_type"] == "code")
    second = next(k for k, cell in enumerate(cells) if k > setup and "np." in text(cell["source"]))
    assert "Run the first code cell of this lesson first" in said(page.evaluate(RUN, second))
    page.evaluate(WRITE, [setup, "print('my own', 6 * 7)"])
    assert said(page.evaluate(RUN, setup)) == "my own 42\n"
    models = page.evaluate(STATE)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function(f"!{PANEL}.context.model.dirty")
    outside = {address for address in page.asked if not address.startswith((site.pages, "blob:", "data:"))}
    assert outside == set()
    page.evaluate(SHOW, next(k for k, cell in enumerate(cells) if "## 5 " in text(cell["source"])))
    page.click("text=Read this lesson")
    page.wait_for_function(f"Math.abs({HEADING}.getBoundingClientRect().top) < 5")
    page.close()

    correct(site)  # overnight, a mistake in the lesson is corrected
    page = open_lesson(context, site)
    assert page.evaluate(f"{PANEL}.content.widgets[{setup}].model.sharedModel.source") == "print('my own', 6 * 7)"
    assert "my own 42" in page.locator(".jp-OutputArea").first.inner_text()
    assert page.evaluate(STATE) == models == len(models_of(site.copy(LESSON)))
    for number, widget in [(explorer, ".explorer-stage"), (question, ".quiz")]:
        page.evaluate(SHOW, number)
        page.wait_for_selector(widget)
    assert "normalization" in page.evaluate("Object.keys(localStorage).join()")
    page.click("text=Take the new lesson and keep mine")
    source = f"{PANEL}.content.widgets[{setup}]?.model.sharedModel.source"
    page.wait_for_function(f"{PANEL}.context.path == '{LESSON}' && {source}?.includes('import numpy')")
    with page.expect_download() as saving:
        page.click(f"{VISIBLE} >> text=Save all my work")
    with zipfile.ZipFile(saving.value.path()) as work:
        assert work.testzip() is None and work.namelist() == [MINE, "answers.json"]
        assert "6 * 7" in work.read(MINE).decode("utf-8")
        assert len(json.loads(work.read("answers.json"))["answers"]) == 1


def correct(site):
    """Let the lesson be another one than that which a browser has kept."""
    about = site.folder / "a/school/run" / lite.ABOUT
    known = json.loads(about.read_text(encoding="utf-8"))
    known["lessons"][LESSON] = "0" * 64
    about.write_text(json.dumps(known), encoding="utf-8")


def test_saved_work_loads_elsewhere_and_trouble_is_said(context, site, tmp_path):
    copy = site.copy(LESSON)
    cells = list(copy["cells"])
    explorer = cells_with(cells, "Explorer")[0]
    copy["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my own words"})
    key, question = next(iter(read_lesson(ROOT / "notebooks" / LESSON).questions.items()))
    place, answer = f"{Path(LESSON).stem}/{key}", {"choice": 0, "mark": question["mark"], "when": "2026-01-01"}
    answers = {"format": "normalization-notebooks answers 1", "answers": {place: answer}}
    with zipfile.ZipFile(tmp_path / "work.zip", "w", zipfile.ZIP_DEFLATED) as work:
        work.writestr(LESSON, json.dumps(copy, ensure_ascii=False))
        work.writestr("answers.json", json.dumps(answers))
    context.add_init_script("WebAssembly.Memory = class { constructor() { throw new RangeError('memory'); } }")
    context.add_init_script(OVERHEAR)
    page = open_lesson(context, site)
    page.wait_for_function("[...said].some((words) => /could not start.* What you wrote is still here/.test(words))")
    page.set_input_files(".nn-work input[type=file]", tmp_path / "work.zip")
    page.click("text=It is mine")
    page.wait_for_selector(".nn-work >> text=1 answer loaded")
    last = f"{PANEL}.content.widgets.at(-1).model.sharedModel.source"
    page.wait_for_function(f"{last} == 'my own words'")
    page.evaluate(SHOW, explorer)
    page.wait_for_selector(".explorer-stage")
    assert page.evaluate("(place) => localStorage[`normalization-notebooks/${place}`]", place)

    wait_for_kernel(page)
    setup = next(k for k, cell in enumerate(cells) if cell["cell_type"] == "code")
    page.evaluate(WRITE, [setup, "raise MemoryError"])
    shown = said(page.evaluate(RUN, setup))
    assert "no more memory for Python" in shown and "Traceback" not in shown
    page.wait_for_selector(".nn-work >> text=Python has used all the memory")
    assert page.locator(f"{VISIBLE} button >> text=Restart Python").is_visible()
    page.evaluate(WRITE, [setup, "import os\nos.abort()"])
    page.evaluate(f"(number) => void ({RUN})(number)", setup)  # this cell never ends
    page.wait_for_selector(".nn-work >> text=Python has stopped in this browser. What you wrote is still here.")
    assert page.locator(f"{VISIBLE} button >> text=Restart Python").is_visible()


def test_the_folder_is_small_enough_for_a_host(site):
    folder = site.folder
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert sum(size for path, size in sizes.items() if "pyodide" not in path.relative_to(folder).parts) < 30e6


def test_the_copies_are_trusted_and_hold_no_answers(site):
    assert sorted(path.name for path in (site.folder / "a/school/run/files").glob("*.ipynb")) == LESSONS
    for name in LESSONS:
        code = [cell for cell in site.copy(name)["cells"] if cell["cell_type"] == "code"]
        assert all(cell["metadata"]["trusted"] for cell in code)
        answers = [cell for cell in code if "answer" in cell["metadata"].get("tags", [])]
        assert all("Commit to your guess" in said(cell["outputs"]) for cell in answers if cell["outputs"])


def test_a_folder_with_other_files_stays(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(NotOurs):
        lite.build(tmp_path, tmp_path)


# ------------------------------------------------------------------------------------------------ every lesson

READ = f"() => {PANEL}.content.widgets.map((cell) => cell.model.outputs?.toJSON() ?? [])"
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
LIVES = f"""(number) => {PANEL}.content.widgets[number].node.querySelector(
  ".explorer-stage svg, .quiz, .practice, .filter-table, .practice-overview")"""
ONLY_HERE = "pyproject.toml"  # a cell that names it asks for what this machine has
REPORT = os.environ.get("LITE_REPORT")
with_numpy = pytest.mark.skipif(not DIST, reason="PYODIDE_DIST names no distribution of Pyodide")


def tagged(cells, tag):
    return [k for k, cell in enumerate(cells) if tag in cell["metadata"].get("tags", [])]


def pictures_in(found):
    """The pictures of all outputs."""
    data = [output.get("data", {}).get("image/png") for outputs in found for output in outputs]
    return [base64.b64decode(text(png)) for png in data if png]


def share_drawn(png):
    """The fraction of pixels that have not the commonest color."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    counts = [count for count, _ in picture.getcolors(picture.width * picture.height)]
    return 1 - max(counts) / sum(counts)


def attempts(name, source):
    """(the stub's cell with the solution, with a known mistake, the sentence of that mistake)"""
    check = source[source.index("check_exercise(") :]
    exercise = all_exercises()[name]
    mistake = next(mistake for mistake in exercise.mistakes if isinstance(mistake.attempt, str))
    return [f"{code.strip()}\n\n\n{check}" for code in (exercise.solution, mistake.attempt)], mistake.sentence


def one_line(words):
    return " ".join(words.split())


@with_numpy
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_whole_and_lives_on(name, context, site):
    """No cell fails and all say what is stored, but for digits that a lesson leaves open. Each exercise is done right
    and wrong. What showed a widget shows it when the lesson is saved, closed and opened again."""
    cells = stored(name)["cells"]
    site.asked.clear()
    began = time.monotonic()
    page = open_lesson(context, site, name)
    report = {"lesson": name, "shown": time.monotonic() - began}
    wait_for_kernel(page)
    report |= {"idle": time.monotonic() - began, "to a kernel": site.megabytes()}
    began = time.monotonic()
    page.evaluate(RUN_ALL)
    report |= {"run all": time.monotonic() - began, "whole": site.megabytes()}
    found = page.evaluate(READ)
    errors = [output["evalue"] for outputs in found for output in outputs if output["output_type"] == "error"]
    assert errors == []
    other = []
    for k, (cell, outputs) in enumerate(zip(cells, found, strict=True)):
        if "nbval-ignore-output" in cell["metadata"].get("tags", []) or ONLY_HERE in text(cell["source"]):
            continue
        here, there = (without_measured(said(shown)) for shown in (outputs, cell.get("outputs", [])))
        if here != there:
            other.append((k, here, there))
    pictures = pictures_in(found)
    drawn = [share_drawn(png) for png in pictures]
    report |= {"other text": other, "pictures": len(pictures), "least drawn": min(drawn, default=None)}

    exercises = tagged(cells, "exercise")
    for number in exercises:
        source = text(cells[number]["source"])
        called = source.split('check_exercise("')[1].split('"')[0]
        (right, wrong), sentence = attempts(called, source)
        page.evaluate(WRITE, [number, wrong])
        assert one_line(sentence)[:40] in one_line(said(page.evaluate(RUN, number))), called
        page.evaluate(WRITE, [number, right])
        assert said(page.evaluate(RUN, number)).startswith("PASS"), called
    report["exercises"] = len(exercises)

    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function(f"!{PANEL}.context.model.dirty")
    models = page.evaluate(STATE)
    page.close()
    page = open_lesson(context, site, name)
    assert page.evaluate(STATE) == models
    views = [k for k, outputs in enumerate(found) if any(VIEW in output.get("data", {}) for output in outputs)]
    dead = []
    for number in views:
        page.evaluate(SHOW, number)
        try:
            page.wait_for_function(LIVES, arg=number, timeout=10_000)
        except Exception:
            dead.append(number)
    report |= {"widgets": len(views), "dead on the second day": dead}
    if REPORT:
        folder = Path(REPORT)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).with_suffix(".json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        for k, png in enumerate(pictures):
            (folder / f"{Path(name).stem}-{k}.png").write_bytes(png)
    assert other == [] and dead == []
    assert not DRAWS or min(drawn, default=1) > 0.005, "an empty picture"
