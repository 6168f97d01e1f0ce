"""Keys pressed on a control of a widget in JupyterLab: its own move it, those that run or leave a cell do that."""

import nbformat
import pytest

from tests.browser.conftest import ROOT
from tests.browser.test_lessons_in_browser import wait_until_alive

# Each cell with a widget stands alone, so that it can be run first.
SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from helpers import Explorer, Quiz, points
"""
EXPLORER = """
sliders = {"n": [1, 2, 3], "kind": ["plain", "bold", "wide"]}
Explorer(sliders, lambda n, kind: [points([n], [len(kind)])], lambda n, kind: f"{n} {kind}")
"""
SOURCES = [SETUP + EXPLORER, "1 + 1", SETUP + 'Quiz("01", only="nan_probe")', "2 + 2"]

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
    from nbclient import NotebookClient

    if not (lab.folder / "keys.ipynb").exists():
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in SOURCES])
        NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
        nbformat.write(nb, lab.folder / "keys.ipynb")
    lab.trust("keys.ipynb")
    page.goto(lab.url("keys.ipynb"))
    wait_until_alive(page)
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


def test_a_controls_own_keys_and_letters_leave_the_cells_alone(opened):
    count = len(opened.query_selector_all(CELLS))
    for control, (_, key) in CONTROLS.items():
        cell = focus(opened, control)
        before = opened.evaluate(SEEN)
        opened.keyboard.press(key)
        opened.wait_for_function(f"(before) => ({SEEN})() != before", arg=before, timeout=5000)
        assert active(opened) == cell, control
    for control in CONTROLS:
        if control != "button":  # it is gone after its key
            focus(opened, control)
            for letter in "abxdd":
                opened.keyboard.press(letter)
            opened.wait_for_timeout(200)
            assert len(opened.query_selector_all(CELLS)) == count, control


def test_keys_that_run_or_leave_a_cell_do_that(opened):
    for control in CONTROLS:
        cell = focus(opened, control)
        opened.keyboard.press("Shift+Enter")
        wait_until_run(opened, cell)
        assert active(opened) == cell + 1, control
        cell = focus(opened, control)
        opened.keyboard.press("Control+Enter")
        wait_until_run(opened, cell)
        assert active(opened) == cell, control
        focus(opened, control)
        opened.keyboard.press("Escape")
        assert opened.query_selector(".jp-Notebook.jp-mod-commandMode"), control
        opened.keyboard.press("ArrowDown")
        chosen = f"(cell) => document.querySelectorAll('{CELLS}')[cell].matches('.jp-mod-active')"
        opened.wait_for_function(chosen, arg=cell + 1, timeout=5000)
    # Enter commits to a guess, but not together with Shift.
    assert opened.evaluate(f"localStorage.getItem('{GUESS}')") is None
