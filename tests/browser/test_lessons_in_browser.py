"""Every lesson in JupyterLab and Chromium: alive before anything runs, moved by keys, readable, run."""

import pytest

from tests.browser.conftest import (
    DEAD,
    assert_controls_beside_pictures,
    move_every_control,
    open_alive,
    open_closed_parts,
    run_all,
    serious,
    wait_until_alive,
    worst_contrast,
)
from tests.shared import EXAMPLES, every_lesson

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
  session.dispose();  // this connection knows no widgets, and would refuse those that the kernel opens
  const opened = await app.commands.execute("docmanager:open", { path });
  await opened.context.ready;
}"""
# JupyterLab drops a figure's alternative text, so `show` prints it.
# Contrast, which takes axe longest, is measured by readable.js.
RULES = {"color-contrast": {"enabled": False}, "image-alt": {"enabled": False}}


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
    yield page
    page.close()


def open_next(desk, lab, name):
    path = f"notebooks/{name}.ipynb"
    lab.trust(path)
    desk.errors.clear()
    open_alive(desk, lambda: desk.evaluate(OPEN, path))
    open_closed_parts(desk)


def run_and_read(page):
    run_all(page)
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
    assert serious(desk, ".jp-Notebook .jp-OutputArea-output", rules=RULES) == []
    desk.set_viewport_size({"width": 853, "height": 480})  # at 150 % on 1280 x 720 pixels
    assert_controls_beside_pictures(desk)
    desk.set_viewport_size({"width": 1200, "height": 1000})
    if lesson in EXAMPLES:
        run_and_read(desk)
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


def test_a_dark_page_is_readable_and_turns_drawings(lab, dark):
    open_next(dark, lab, "07_group_and_instance_norm")  # with photos
    assert worst_contrast(dark)[0]["contrast"] >= 4.5, worst_contrast(dark)
    looks = "(all) => [...new Set(all.map((e) => getComputedStyle(e).filter.split('(')[0]))]"
    assert dark.eval_on_selector_all("img.jp-needs-light-background", looks) == ["none"]
    drawings = ".jp-RenderedImage img:not(.jp-needs-light-background)"
    assert dark.eval_on_selector_all(drawings, looks) == ["invert"]


def test_an_untrusted_lesson_shows_pictures_and_rows(lab, page):
    path = "notebooks/untrusted.ipynb"
    source = (lab.folder / "notebooks" / "14_choosing_a_norm.ipynb").read_text(encoding="utf-8")
    (lab.folder / path).write_text(source.replace("# Setup", "# Never run here. Setup"), encoding="utf-8")
    page.goto(lab.url(path))
    page.wait_for_function("document.querySelector('.jp-RenderedImage img')?.naturalWidth > 400")
    assert page.locator(".explorer-stage, .filter-table").count() == 0
    assert page.locator(".jp-OutputArea-output table tr").count() > 10
    assert DEAD not in page.inner_text(".jp-Notebook")
