"""Every lesson in JupyterLab and Chromium: alive before anything runs, moved by keys, readable, run."""

import contextlib
from pathlib import Path

import pytest

from tests.browser.conftest import NODE_MODULES
from tests.shared import EXAMPLES, every_lesson

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
  const { sessions } = app.serviceManager;
  await sessions.shutdownAll();
  // JupyterLab may lose the race between a kernel that starts and what is stored, so this one has started.
  const session = await sessions.startNew({ path, name: path, type: "notebook", kernel: { name: "python3" } });
  await session.kernel.info;
  const opened = await app.commands.execute("docmanager:open", { path });
  await opened.context.ready;
}"""
# JupyterLab drops a figure's alternative text, so `show` prints it.
# Contrast, which takes axe longest, is measured by readable.js.
AXE = """axe.run({include: ['.jp-OutputArea-output']},
    {resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}, 'image-alt': {enabled: false}}})"""


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
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in serious] == []
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
