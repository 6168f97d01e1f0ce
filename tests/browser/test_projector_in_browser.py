"""A lesson on a projector: `make lab`, 1280 x 720 pixels, the browser at 150 %, JupyterLab's side bar folded away."""

from tests.browser.test_second_day import open_lesson

# What is cut at the right or has to be scrolled sideways: [number of the cell, tag and class, how far, its words].
TOO_WIDE = """() => {
  const found = [];
  const cells = [...document.querySelectorAll(".jp-Notebook .jp-Cell")];
  for (const area of document.querySelectorAll(
    ".jp-Notebook .cm-scroller, .jp-Notebook .jp-MarkdownOutput, .jp-OutputArea-output"
  )) {
    const edge = Math.min(area.getBoundingClientRect().right, innerWidth);
    const inside = area.matches(".cm-scroller") ? [] : area.querySelectorAll("*");
    for (const e of [area, ...inside]) {
      if (e.closest("mjx-assistive-mml, .noUi-target, .jp-CollapsibleHeading, option, svg svg")) continue;
      const [style, box] = [getComputedStyle(e), e.getBoundingClientRect()];
      if (style.visibility === "hidden" || !box.width) continue;
      const scrolls = style.overflowX !== "visible" && e.clientWidth ? e.scrollWidth - e.clientWidth : 0;
      const far = Math.round(Math.max(scrolls, box.right - edge));
      if (far > 1) found.push([cells.indexOf(area.closest(".jp-Cell")), e.tagName, far, e.textContent.slice(0, 60)]);
    }
  }
  return found;
}"""


def test_lessons_need_no_sideways_scrolling(learners_house, page):
    page.set_viewport_size({"width": 853, "height": 480})
    open_lesson(page, learners_house, "03_running_averages")
    page.evaluate("jupyterapp.shell.collapseLeft()")
    page.wait_for_function("document.querySelector('.jp-Notebook').clientWidth > 700")
    page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    page.wait_for_timeout(300)  # explorers take the layout for this width
    assert page.evaluate(TOO_WIDE) == []
