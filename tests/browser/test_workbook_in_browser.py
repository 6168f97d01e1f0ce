"""The learner's copies in JupyterLab: what answers a question is held back, and terms lead to the glossary."""


def test_nothing_is_told_before_the_guess_and_terms_lead_on(lab, page):
    page.goto(lab.url("workbook/05_rms_norm.ipynb"))
    folded = page.locator(".jp-RenderedMarkdown details.after-guess:has(mjx-container)").first
    folded.wait_for(state="attached")
    waiting = page.locator(".jp-OutputArea p.after-guess", has_text="Commit to your guess above")
    count = waiting.count()
    formula = folded.locator("mjx-container").first
    assert count > 3 and not formula.is_visible()
    for quiz in page.locator(".quiz-is-prediction").all():
        quiz.locator("input").first.check()
        quiz.locator("button").first.click()
    formula.wait_for()  # the fold opens by itself
    assert formula.bounding_box()["height"] > 8 and waiting.count() < count
    assert "$" not in folded.inner_text() and "\\frac" not in folded.inner_text()
    page.locator(".jp-RenderedMarkdown a[href$='#RMSNorm']").first.click()
    entry = page.locator(".jp-MarkdownViewer h3[data-jupyter-id='RMSNorm']")
    entry.wait_for()
    page.wait_for_function("(e) => Math.abs(e.getBoundingClientRect().top) < 200", arg=entry.element_handle())
