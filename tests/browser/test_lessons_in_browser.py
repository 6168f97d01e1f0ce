"""Every lesson in JupyterLab and Chromium: alive before anything runs, moved by keys, readable, run; and exported."""

import contextlib
import functools
import http.server
import subprocess
import sys
import threading
from pathlib import Path

import anywidget
import pytest

from tests.browser.conftest import NODE_MODULES
from tests.shared import EXAMPLES, ROOT, every_lesson

HERE = Path(__file__).parent
DEAD = "Error displaying widget: model not found"
ALIVE_OR_DEAD = f"document.querySelector('.explorer-stage svg') || document.body.innerText.includes('{DEAD}')"
# Closes what is open and opens another notebook in the same JupyterLab.
OPEN = """async (path) => {
  const app = window.jupyterapp;
  for (const panel of [...app.shell.widgets("main")]) {
    if (panel.context) panel.context.model.dirty = false;
    panel.close();
  }
  await app.serviceManager.sessions.shutdownAll();
  const opened = await app.commands.execute("docmanager:open", { path });
  await opened.context.ready;
}"""
# Contrast, which takes axe longest, is measured by readable.js.
AXE = """axe.run({include: ['.jp-OutputArea-output']},
    {resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}}})"""


def open_lesson(page, lab, lesson, trusted=True):
    """Open an original in a JupyterLab of its own."""
    path = f"notebooks/{lesson}.ipynb"
    if trusted:
        lab.trust(path)
    load(page, lambda: page.goto(lab.url(path)), trusted)


def load(page, opening, trusted=True):
    """Open a notebook; again where JupyterLab lost the race between a busy kernel and what is stored."""
    for _ in range(2):
        opening()
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        if not trusted:
            return
        with contextlib.suppress(Exception):
            page.wait_for_function(ALIVE_OR_DEAD, timeout=30_000)
        if page.query_selector(".explorer-stage svg"):
            break
    wait_until_alive(page)


def wait_until_alive(page):
    """Every explorer of the page is drawn and its controls are named."""
    page.wait_for_selector(".explorer .explorer-stage svg")
    page.wait_for_function(
        "document.querySelectorAll('.explorer').length == document.querySelectorAll('.explorer-stage svg').length"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.explorer .noUi-handle')].every((h) => h.getAttribute('aria-label'))"
    )


def keys_to_move(control):
    """(key that moves a control by one step, key that moves it back)"""
    kind = control.evaluate("(e) => e.tagName == 'SELECT' ? 'menu' : e.type == 'checkbox' ? 'checkbox' : 'slider'")
    if kind == "checkbox":
        return "Space", "Space"
    if kind == "menu":
        at_end, keys = "(e) => e.selectedIndex == e.options.length - 1", ("ArrowDown", "ArrowUp")
    else:
        at_end, keys = "(e) => Number(e.ariaValueNow) >= Number(e.ariaValueMax)", ("ArrowRight", "ArrowLeft")
    return keys[::-1] if control.evaluate(at_end) else keys


def move_every_control(page):
    """Move each control a step and back; returns how many there were. Fails where the caption stays the same.

    The picture may stay: that a norm does not see the scale is the point of some. But the caption names what is chosen.
    """
    moved = 0
    for explorer in page.query_selector_all(".explorer"):
        picture, caption = (explorer.query_selector(s) for s in (".explorer-stage svg", ".explorer-caption"))
        for control in explorer.query_selector_all("select, .noUi-handle, input[type=checkbox]"):
            first = [picture.inner_html(), caption.text_content()]
            there, back = keys_to_move(control)
            control.focus()
            page.keyboard.press(there)
            changed = "([_, c, first]) => c.textContent != first[1]"
            page.wait_for_function(changed, arg=[picture, caption, first], timeout=5000)
            page.keyboard.press(back)
            same = "([p, c, first]) => p.innerHTML == first[0] && c.textContent == first[1]"
            page.wait_for_function(same, arg=[picture, caption, first], timeout=5000)
            moved += 1
    return moved


def worst_contrast(page):
    words = page.evaluate((HERE / "readable.js").read_text())
    assert len(words) > 10, "no words found to measure"
    return words[:5]


def is_figure(page, violation):
    """JupyterLab drops a figure's alternative text, so `show` prints it: then the image is followed by those words."""
    if violation["id"] != "image-alt":
        return False
    images = [page.query_selector(node["target"][0]) for node in violation["nodes"]]
    below = "(e) => e.closest('.jp-OutputArea-child').nextElementSibling?.querySelector('pre')?.innerText ?? ''"
    return all(len(image.evaluate(below).split()) > 5 for image in images)


@pytest.fixture(scope="module")
def desk(browser, lab):
    """One page with JupyterLab, in which one lesson after the other is opened; `errors` are those of its console."""
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(60_000)
    page.errors = []
    page.on("console", lambda message: message.type == "error" and page.errors.append(message.text[:300]))
    page.on("pageerror", lambda error: page.errors.append(str(error)[:300]))
    page.goto(lab.url("pyproject.toml"))
    page.wait_for_selector(".jp-FileEditor")
    page.add_script_tag(path=str(NODE_MODULES / "axe-core" / "axe.min.js"))
    yield page
    page.close()


def open_next(desk, lab, name):
    path = f"notebooks/{name}.ipynb"
    lab.trust(path)
    desk.errors.clear()
    load(desk, lambda: desk.evaluate(OPEN, path))


def run_all(page):
    page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach((e) => e.textContent = '')")
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].at(-1).textContent.match(/\\d/)",
        timeout=90_000,
    )
    errors = page.query_selector_all("[data-mime-type$='jupyter.error'], [data-mime-type$='jupyter.stderr']")
    assert [error.inner_text()[:300] for error in errors] == []
    summary = page.query_selector_all(".jp-CodeCell .jp-OutputArea-output")[-1].inner_text()
    passed, ran = summary.split(" checks")[0].split(" of ")
    assert passed == ran and int(ran) > 3


@every_lesson
def test_a_trusted_lesson_works_as_it_promises(lab, desk, lesson):
    open_next(desk, lab, lesson.stem)
    assert move_every_control(desk) >= 1
    assert worst_contrast(desk)[0]["contrast"] >= 4.5, worst_contrast(desk)
    serious = [v for v in desk.evaluate(AXE)["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in serious if not is_figure(desk, v)] == []
    # At 150 % on 1280 x 720 pixels: panels stand on one another, and each is seen together with its controls.
    desk.set_viewport_size({"width": 853, "height": 480})
    desk.wait_for_timeout(300)  # explorers take the layout for this width
    seen = desk.evaluate((HERE / "together.js").read_text())
    assert seen and all(lost == 0 and here >= min(225, height) for lost, here, height in seen), seen
    desk.set_viewport_size({"width": 1200, "height": 1000})
    if lesson in EXAMPLES:
        run_all(desk)
        wait_until_alive(desk)
        assert move_every_control(desk) >= 1
    assert desk.errors == []


@pytest.fixture
def dark(desk):
    theme = "(name) => jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
    desk.evaluate(theme, "JupyterLab Dark")
    desk.wait_for_function("document.body.dataset.jpThemeLight == 'false'")
    yield desk
    desk.evaluate(theme, "JupyterLab Light")
    desk.wait_for_function("document.body.dataset.jpThemeLight == 'true'")


@pytest.mark.parametrize("name", ["03_running_averages", "07_group_and_instance_norm"])  # long captions; photos
def test_a_dark_page_is_readable_and_turns_drawings(lab, dark, name):
    open_next(dark, lab, name)
    assert worst_contrast(dark)[0]["contrast"] >= 4.5, worst_contrast(dark)
    looks = "(all) => [...new Set(all.map((e) => getComputedStyle(e).filter.split('(')[0]))]"
    photos = dark.eval_on_selector_all("img.jp-needs-light-background", looks)
    drawings = dark.eval_on_selector_all(".jp-RenderedImage img:not(.jp-needs-light-background)", looks)
    assert drawings in ([], ["invert"]) and photos in ([], ["none"])
    assert name[:2] != "07" or (photos and drawings)


def test_an_untrusted_lesson_shows_pictures_and_questions(lab, page):
    source, copy = (lab.folder / "notebooks" / f"01_axis_intuition{end}.ipynb" for end in ("", "_untrusted"))
    copy.write_text(source.read_text("utf-8").replace("# 01", "# Untrusted 01", 1), "utf-8")
    open_lesson(page, lab, copy.stem, trusted=False)
    page.wait_for_selector(".jp-OutputArea-output img")
    assert page.query_selector(".explorer-stage") is None
    assert all(image.evaluate("(e) => e.naturalWidth") > 300 for image in page.query_selector_all(".jp-Notebook img"))
    assert "Answers" in page.inner_text(".jp-Notebook")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def exported(tmp_path):
    """A lesson that JupyterLab exports as a page, with the widgets' scripts beside it, served without any kernel."""
    (tmp_path / "require.js").symlink_to(NODE_MODULES / "requirejs" / "require.js")
    (tmp_path / "widgets").symlink_to(NODE_MODULES / "@jupyter-widgets" / "html-manager" / "dist")
    dist = tmp_path / "cdn" / f"anywidget@~{'.'.join(anywidget.__version__.split('.')[:2])}.*" / "dist"
    dist.mkdir(parents=True)
    (dist / "index.js").symlink_to(Path(sys.prefix) / "share" / "jupyter" / "nbextensions" / "anywidget" / "index.js")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path)]
    command += ["--HTMLExporter.require_js_url=require.js", "--HTMLExporter.widget_renderer_url=widgets/embed-amd.js"]
    subprocess.run([*command, ROOT / "notebooks" / "15_practice.ipynb"], check=True, capture_output=True)
    page, load_scripts = tmp_path / "15_practice.html", "scriptElement.src = widgetRendererSrc;"
    words = page.read_text("utf-8")
    assert load_scripts in words
    cdn = "scriptElement.setAttribute('data-jupyter-widgets-cdn', 'cdn/');"
    page.write_text(words.replace(load_scripts, cdn + load_scripts), "utf-8")
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=tmp_path)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_exported_page_is_alive_without_a_kernel(exported, page):
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(exported) else route.abort())
    page.goto(f"{exported}/15_practice.html")
    wait_until_alive(page)
    assert move_every_control(page) >= 1
    assert page.query_selector(".quiz fieldset input[type=radio]")
    assert page.query_selector(".practice fieldset input[type=radio]")
