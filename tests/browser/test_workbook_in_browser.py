"""The learner's copies in JupyterLab: folded texts with their formulas, folded cells, and links to the glossary."""

from tests.browser.test_second_day import TOKEN

FOLDED = ".jp-RenderedMarkdown details:has(mjx-container)"


BROKEN = r"""() => [...document.querySelectorAll('.jp-RenderedMarkdown, .quiz')].flatMap((root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (const match of node.data.matchAll(/\de-\d+/g)) {
            const range = document.createRange();
            range.setStart(node, match.index);
            range.setEnd(node, match.index + match[0].length);
            found.push(range.getClientRects().length > 1 ? match[0] : '');
        }
    return found;
})"""


def test_folded_formulas_are_typeset_and_terms_lead_on(learners_house, page):
    page.goto(f"http://127.0.0.1:{learners_house.port}/lab/tree/workbook/05_rms_norm.ipynb?token={TOKEN}&reset")
    folded = page.locator(FOLDED).first
    folded.wait_for(state="attached")
    formula = folded.locator("mjx-container").first
    assert not formula.is_visible(), "nothing is told before the guess"
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert formula.is_visible() and formula.bounding_box()["height"] > 8
    assert "$" not in folded.inner_text() and "\\frac" not in folded.inner_text()
    page.locator(".jp-RenderedMarkdown a[href$='#RMSNorm']").first.click()
    entry = page.locator(".jp-MarkdownViewer h3[data-jupyter-id='RMSNorm']")
    entry.wait_for()
    page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 200", arg=entry.element_handle())


def test_numbers_with_exponents_stay_on_one_line(learners_house, page):
    page.goto(
        f"http://127.0.0.1:{learners_house.port}/lab/tree/workbook/06_epsilon_and_float16.ipynb?token={TOKEN}&reset"
    )
    page.wait_for_selector(".jp-RenderedMarkdown .nn-number", state="attached")
    page.wait_for_selector(".quiz code .nn-number", state="attached")
    for width in (1200, 1100, 1000, 900):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        numbers = page.evaluate(BROKEN)
        assert len(numbers) > 10 and set(numbers) == {""}, width


def test_folded_cells_run_without_being_opened(learners_house, page):
    """Shift+Enter in the cell before it selects it, Shift+Enter again runs it, Enter opens it."""
    page.goto(f"http://127.0.0.1:{learners_house.port}/lab/tree/workbook/00_start_here.ipynb?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
    cells = page.locator(".jp-Notebook .jp-Cell")
    cells.nth(3).locator(".jp-InputPlaceholder").wait_for()
    folded = [k for k in range(5) if cells.nth(k).locator(".jp-InputPlaceholder").count()]
    assert folded == [1, 3]

    def select_next(number):
        page.keyboard.press("Shift+Enter")
        page.wait_for_function("(e) => e.matches('.jp-mod-active')", arg=cells.nth(number).element_handle())

    cells.nth(3).locator("img").evaluate("(e) => e.dataset.stored = ''")
    cells.nth(0).locator("h1").click()
    for number in range(1, 5):
        select_next(number)
    cells.nth(3).locator("img:not([data-stored])").wait_for()  # it needs what the first folded cell imports
    for number in folded:
        assert cells.nth(number).locator(".jp-InputPlaceholder").is_visible()
    assert page.locator(".jp-Notebook [data-mime-type$='jupyter.error']").count() == 0
    cells.nth(2).locator("p").first.click()
    select_next(3)
    page.keyboard.press("Enter")
    cells.nth(3).locator(".jp-InputPlaceholder").wait_for(state="detached")
