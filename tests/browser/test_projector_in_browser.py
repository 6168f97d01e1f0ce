"""A lesson on a projector: `make lab`, 1280 x 720 pixels, the browser at 150 %, JupyterLab's side bar folded away."""

import contextlib

import pytest

from tests.browser.test_second_day import open_lesson
from tests.shared import example_lessons

# What is cut at the right or has to be scrolled sideways: [number of the cell, tag and class, how far, its words].
TOO_WIDE = """() => {
  const found = [];
  const say = (cell, e, far) => {
    const cells = [...document.querySelectorAll(".jp-Notebook .jp-Cell")];
    const kind = e.tagName.toLowerCase() + "." + (e.getAttribute("class") ?? "").split(" ").slice(0, 2).join(".");
    found.push([cells.indexOf(cell), kind, Math.round(far), e.textContent.trim().slice(0, 60)]);
  };
  for (const area of document.querySelectorAll(
    ".jp-Notebook .cm-scroller, .jp-Notebook .jp-MarkdownOutput, .jp-OutputArea-output, .jp-InputPlaceholder"
  )) {
    const cell = area.closest(".jp-Cell");
    const edge = area.getBoundingClientRect().right;
    if (!area.clientWidth) continue;
    if (edge > innerWidth) say(cell, area, edge - innerWidth);
    const inside = area.matches(".cm-scroller") ? [] : area.querySelectorAll("*");
    for (const e of [area, ...inside]) {
      if (e.closest("mjx-assistive-mml, .noUi-target, .jp-CollapsibleHeading") || e.tagName === "OPTION") continue;
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      if (style.visibility === "hidden" || !box.width) continue;
      const scrolls = style.overflowX !== "visible" && e.clientWidth ? e.scrollWidth - e.clientWidth : 0;
      if (scrolls > 1) say(cell, e, scrolls);
      else if (box.right > edge + 1 && !e.closest("svg svg")) say(cell, e, box.right - edge);
    }
  }
  return found;
}"""


@pytest.fixture
def projector(browser):
    page = browser.new_page(viewport={"width": 853, "height": 480}, device_scale_factor=1.5)
    page.set_default_timeout(60_000)
    yield page
    page.close()


def fold_side_bar(page):
    """Control+B, and again where a busy JupyterLab was not yet listening or unfolded the bar after it."""
    from playwright.sync_api import TimeoutError

    for _ in range(6):
        page.keyboard.press("Control+b")
        with contextlib.suppress(TimeoutError):
            page.wait_for_function("document.querySelector('.jp-Notebook').clientWidth > 700", timeout=5000)
            return
    pytest.fail("the side bar stays open")


@example_lessons
def test_lessons_need_no_sideways_scrolling(learners_house, projector, lesson):
    open_lesson(projector, learners_house, lesson.stem)
    fold_side_bar(projector)
    projector.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    projector.wait_for_timeout(300)  # explorers take the layout for this width
    assert projector.evaluate(TOO_WIDE) == []
