"""The learner's copies in JupyterLab: what answers a question is held back, and terms lead to the glossary."""


def test_nothing_is_told_before_the_guess_and_terms_lead_on(lab, page):
    page.goto(lab.url("workbook/05_rms_norm.ipynb"))
    folded = page.locator(".jp-RenderedMarkdown details:has(mjx-container)").first
    folded.wait_for(state="attached")
    assert page.locator(".jp-OutputArea p", has_text="Commit to your guess above").count() > 3
    formula = folded.locator("mjx-container").first
    assert not formula.is_visible()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert formula.is_visible() and formula.bounding_box()["height"] > 8
    assert "$" not in folded.inner_text() and "\\frac" not in folded.inner_text()
    waiting = page.locator(".after-guess.after-05_rms_norm-angle")
    assert page.locator("details.after-05_rms_norm-angle[open]").count() == 0
    question = page.locator(".jp-CodeCell", has_text='only="angle"').locator(".quiz-is-prediction")
    question.locator("input").first.check()
    question.locator("button").first.click()
    page.wait_for_selector("details.after-05_rms_norm-angle[open]")
    assert waiting.first.inner_text() == "Run this cell (Shift+Enter)."
    page.locator(".jp-RenderedMarkdown a[href$='#RMSNorm']").first.click()
    entry = page.locator(".jp-MarkdownViewer h3[data-jupyter-id='RMSNorm']")
    entry.wait_for()
    page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 200", arg=entry.element_handle())
