"""The learner's copies in JupyterLab: what answers a question is held back, folded cells, links to the glossary."""


def test_nothing_is_told_before_the_guess_and_terms_lead_on(learners_house, page):
    page.goto(learners_house.url("workbook/05_rms_norm.ipynb"))
    folded = page.locator(".jp-RenderedMarkdown details:has(mjx-container)").first
    folded.wait_for(state="attached")
    assert page.locator(".jp-OutputArea pre", has_text="Commit to your guess above").count() > 3
    formula = folded.locator("mjx-container").first
    assert not formula.is_visible()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert formula.is_visible() and formula.bounding_box()["height"] > 8
    assert "$" not in folded.inner_text() and "\\frac" not in folded.inner_text()
    page.locator(".jp-RenderedMarkdown a[href$='#RMSNorm']").first.click()
    entry = page.locator(".jp-MarkdownViewer h3[data-jupyter-id='RMSNorm']")
    entry.wait_for()
    page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 200", arg=entry.element_handle())


def test_folded_cells_run_without_being_opened(learners_house, page):
    """Shift+Enter in the cell before it selects it, Shift+Enter again runs it, Enter opens it."""
    page.goto(learners_house.url("workbook/00_start_here.ipynb"))
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
    cells = page.locator(".jp-Notebook .jp-Cell")
    cells.nth(3).locator(".jp-InputPlaceholder").wait_for()

    def select_next(number):
        page.keyboard.press("Shift+Enter")
        page.wait_for_function("(e) => e.matches('.jp-mod-active')", arg=cells.nth(number).element_handle())

    cells.nth(3).locator("img").evaluate("(e) => e.dataset.stored = ''")
    cells.nth(0).locator("h1").click()
    for number in range(1, 5):
        select_next(number)
    cells.nth(3).locator("img:not([data-stored])").wait_for()  # it needs what the first folded cell imports
    for number in (1, 3):
        assert cells.nth(number).locator(".jp-InputPlaceholder").inner_text().strip().startswith("#")
    assert page.locator(".jp-Notebook [data-mime-type$='jupyter.error']").count() == 0
    cells.nth(2).locator("p").first.click()
    select_next(3)
    page.keyboard.press("Enter")
    cells.nth(3).locator(".jp-InputPlaceholder").wait_for(state="detached")
