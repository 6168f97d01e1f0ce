"""The widgets' code is in a notebook once; every widget finds it wherever and whenever it is shown.

The lessons themselves are opened in `test_lessons_in_browser.py`: trusted, run, untrusted, exported.
"""

import json

import nbformat
import pytest

from tests.browser.conftest import ROOT
from tests.shared import unpack

WIDGETS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from helpers import Explorer, Quiz, points
"""

EXPLORER = """
explorer = Explorer({"n": [1, 2, 3]}, lambda n: [points([n], [n])], lambda n: f"n is {n}")
explorer
"""

# How many stages are drawn and questions asked, and how many modules and style sheets the page has for them.
ALIVE = "[document.querySelectorAll('.explorer-stage svg').length, document.querySelectorAll('.quiz fieldset').length]"
LOADED = """(async () => {
    const loaded = await Promise.all([...(globalThis.nnLoaded ?? new Map()).values()]);
    const styles = [...document.querySelectorAll('style')].filter((e) => /--nn-blue:/.test(e.textContent));
    return [loaded.filter((e) => e).length, styles.length];
})()"""


@pytest.fixture(scope="module")
def notebook(lab):
    """Writes and runs a notebook: an explorer twice, a prediction and a skill check."""
    from nbclient import NotebookClient

    sources = [WIDGETS, EXPLORER, "explorer", 'Quiz("01", only="nan_probe")', 'Quiz("01")']
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
    for name in ("one.ipynb", "two.ipynb"):
        nbformat.write(nb, lab.folder / name)
        lab.trust(name)
    return nb


@pytest.fixture
def questions(notebook):
    """How many questions the notebook asks."""
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    return sum(len(model["state"].get("questions", [])) for model in states)


def wait_for(page, stages, questions):
    page.wait_for_function(
        f"(alive) => JSON.stringify({ALIVE}) == alive", arg=json.dumps([stages, questions]).replace(" ", "")
    )


def test_notebooks_hold_code_and_styles_once(notebook):
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    packed = [model["state"][name] for model in states for name in ("javascript", "css") if name in model["state"]]
    texts = [unpack(text) for text in packed]
    for words in ("prefers-reduced-motion: reduce)", "Forget every answer of this lesson", ".nn-number{", "--nn-blue:"):
        assert sum(words in text for text in texts) == 1, words
    assert len(texts) == 5, "two kinds, and the styles of both"


def test_widgets_live_in_two_views_before_running(lab, notebook, questions, page):
    page.goto(lab.url("one.ipynb"))
    wait_for(page, 2, questions)
    assert page.evaluate(LOADED) == [2, 1]
    page.focus(".explorer .noUi-handle")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "[...document.querySelectorAll('.explorer-caption')].every((e) => e.textContent == 'n is 2')", timeout=5000
    )
    names = page.evaluate("[...document.querySelectorAll('.explorer-stage [id]')].map((e) => e.id)")
    assert len(set(names)) == len(names) == 2


def run_all(page):
    page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach((e) => e.textContent = '')")
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click("li[data-command='runmenu:run-all']")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].at(-1).textContent.match(/\\d/)"
    )


def test_widgets_live_after_runs_and_restarts(lab, notebook, questions, page):
    page.goto(lab.url("one.ipynb"))
    wait_for(page, 2, questions)
    run_all(page)
    wait_for(page, 2, questions)
    page.click("li.lm-MenuBar-item:has-text('Kernel')")
    page.click("li[data-command='kernelmenu:restart']")
    page.click(".jp-Dialog button.jp-mod-accept")
    page.wait_for_timeout(1000)
    wait_for(page, 2, questions)  # what was drawn stays
    run_all(page)
    wait_for(page, 2, questions)
    assert page.evaluate(LOADED) == [2, 1], "the same code is loaded once a page"


def test_two_notebooks_open_at_once_share_the_modules(lab, notebook, questions, page):
    page.goto(lab.url("one.ipynb"))
    wait_for(page, 2, questions)
    page.dblclick(".jp-DirListing-item:has-text('two.ipynb')")
    wait_for(page, 4, 2 * questions)
    assert page.evaluate(LOADED) == [2, 1]
