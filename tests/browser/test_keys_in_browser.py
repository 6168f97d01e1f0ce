"""Keys pressed on a control of a widget in JupyterLab: its own move it, those that run or leave a cell do that."""

import pytest

from tests.browser.conftest import open_alive

EXPLORER = """
from helpers import Explorer, points
sliders = {"n": [1, 2, 3], "kind": ["plain", "bold", "wide"]}
Explorer(sliders, lambda n, kind: [points([n], [len(kind)])], lambda n, kind: f"{n} {kind}")"""
QUIZ = 'from helpers import Quiz\nQuiz("01_axis_intuition", only="nan_probe")'

CONTROLS = {
    "slider": (".explorer .noUi-handle", "ArrowRight"),
    "menu": (".explorer select", "ArrowDown"),
    "radio": (".quiz input[type=radio]", "ArrowDown"),
    "button": (".quiz .quiz-check", "Space"),
}

# What a key of the control changes: picture and caption, chosen options, feedback.
SEEN = """() => JSON.stringify([...document.querySelectorAll(".explorer, .quiz")].map((e) =>
    [e.textContent, ...[...e.querySelectorAll("input, select")].map((c) => [c.checked, c.value])]))"""
CELLS = ".jp-Notebook .jp-Cell"
GUESS = "normalization-notebooks/01_axis_intuition/nan_probe"


@pytest.fixture
def opened(lab, page):
    """A notebook with an explorer, a quiz and a cell after each: run once, opened, trusted, its kernel at work."""
    if not (lab.folder / "keys.ipynb").exists():
        lab.write("keys.ipynb", EXPLORER, "1 + 1", QUIZ, "2 + 2")
    open_alive(page, lambda: page.goto(lab.url("keys.ipynb")))
    page.wait_for_selector(".quiz fieldset")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
    return page


def focus(page, control):
    """Put the focus on a control, as a learner does by a click or with Tab; returns the number of its cell."""
    page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach((e) => e.textContent = '')")
    if control == "button":  # it waits for a choice
        page.click(".quiz input[type=radio]")
    page.focus(CONTROLS[control][0])
    return page.evaluate(
        f"[...document.querySelectorAll('{CELLS}')].indexOf(document.activeElement.closest('.jp-Cell'))"
    )


def active(page):
    """Number of the cell that JupyterLab has chosen."""
    return page.evaluate(f"[...document.querySelectorAll('{CELLS}')].findIndex((e) => e.matches('.jp-mod-active'))")


def wait_until_run(page, cell):
    """The prompts were emptied; the one of a cell that has run shows a number."""
    shown = f"/\\d/.test(document.querySelectorAll('{CELLS}')[k].querySelector('.jp-InputPrompt').textContent)"
    page.wait_for_function(f"(k) => {shown}", arg=cell, timeout=20_000)
    page.wait_for_selector(".explorer-stage svg")
    page.wait_for_selector(".quiz fieldset")


@pytest.mark.parametrize("control", CONTROLS)
def test_a_controls_keys_move_it_and_letters_leave_cells_alone(opened, control):
    count = opened.locator(CELLS).count()
    cell = focus(opened, control)
    before = opened.evaluate(SEEN)
    opened.keyboard.press(CONTROLS[control][1])
    opened.wait_for_function(f"(before) => ({SEEN})() != before", arg=before, timeout=5000)
    assert active(opened) == cell
    if control != "button":  # it is gone after its key
        opened.keyboard.type("abxdd")
        opened.wait_for_timeout(200)
        assert opened.locator(CELLS).count() == count


@pytest.mark.parametrize("control", CONTROLS)
def test_keys_that_run_or_leave_a_cell_do_that(opened, control):
    for key, below in (("Shift+Enter", 1), ("Control+Enter", 0)):
        cell = focus(opened, control)
        opened.keyboard.press(key)
        wait_until_run(opened, cell)
        assert active(opened) == cell + below
    focus(opened, control)
    opened.keyboard.press("Escape")
    assert opened.query_selector(".jp-Notebook.jp-mod-commandMode")
    opened.keyboard.press("ArrowDown")
    chosen = f"(cell) => document.querySelectorAll('{CELLS}')[cell].matches('.jp-mod-active')"
    opened.wait_for_function(chosen, arg=cell + 1, timeout=5000)
    # Enter commits to a guess, but not together with Shift.
    assert opened.evaluate(f"localStorage.getItem('{GUESS}')") is None
