"""The widgets' code is in a notebook once; every widget finds it wherever and whenever it is shown.

The lessons themselves are opened in `test_lessons_in_browser.py`: trusted, run, untrusted, exported.
"""

import json

import nbformat
import pytest

from tests.browser.conftest import ROOT
from tests.shared import unpack

SOURCES = [
    f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom helpers import Explorer, Quiz, points",
    'explorer = Explorer({"n": [1, 2, 3]}, lambda n: [points([n], [n])], lambda n: f"n is {n}")\nexplorer',
    "explorer",
    'Quiz("01", only="nan_probe")',
    'Quiz("01")',
]
# How many stages are drawn and questions asked, and how many modules and style sheets the page has for them.
ALIVE = "[document.querySelectorAll('.explorer-stage svg').length, document.querySelectorAll('.quiz fieldset').length]"
LOADED = """(async () => {
    const loaded = await Promise.all([...(globalThis.nnLoaded ?? new Map()).values()]);
    const styles = [...document.querySelectorAll('style')].filter((e) => /--nn-blue:/.test(e.textContent));
    return [loaded.filter((e) => e).length, styles.length];
})()"""


@pytest.fixture(scope="module")
def states(lab):
    """What a notebook stores of its widgets: an explorer twice, a prediction and a skill check. It is written twice."""
    from nbclient import NotebookClient

    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in SOURCES])
    NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
    for name in ("one.ipynb", "two.ipynb"):
        nbformat.write(nb, lab.folder / name)
        lab.trust(name)
    models = nb.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    return [model["state"] for model in models]


def test_notebooks_hold_code_and_styles_once(states):
    texts = [unpack(state[name]) for state in states for name in ("javascript", "css") if name in state]
    for words in ("prefers-reduced-motion: reduce)", "Forget every answer of this lesson", ".nn-number{", "--nn-blue:"):
        assert sum(words in text for text in texts) == 1, words
    assert len(texts) == 5, "two kinds, and the styles of both"


def test_widgets_live_in_all_views_before_and_after_runs(lab, states, page):
    questions = sum(len(state.get("questions", [])) for state in states)

    def wait_for(notebooks=1):
        alive = json.dumps([2 * notebooks, notebooks * questions]).replace(" ", "")
        page.wait_for_function(f"(alive) => JSON.stringify({ALIVE}) == alive", arg=alive)

    def run_all():
        page.evaluate("document.querySelectorAll('.jp-InputPrompt').forEach((e) => e.textContent = '')")
        page.click("li.lm-MenuBar-item:has-text('Run')")
        page.click("li[data-command='runmenu:run-all']")
        prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]"
        page.wait_for_function(f"() => {prompts}.at(-1).textContent.match(/\\d/)")
        wait_for()

    page.goto(lab.url("one.ipynb"))
    wait_for()
    page.focus(".explorer .noUi-handle")
    page.keyboard.press("ArrowRight")
    captions = "[...document.querySelectorAll('.explorer-caption')]"
    page.wait_for_function(f"{captions}.every((e) => e.textContent == 'n is 2')", timeout=5000)
    ids = page.evaluate(f"{captions}.map((e) => e.id)")
    assert len(set(ids)) == len(ids) == 2
    run_all()
    page.click("li.lm-MenuBar-item:has-text('Kernel')")
    page.click("li[data-command='kernelmenu:restart']")
    page.click(".jp-Dialog button.jp-mod-accept")
    page.wait_for_timeout(1000)
    wait_for()  # what was drawn stays
    run_all()
    page.dblclick(".jp-DirListing-item:has-text('two.ipynb')")
    wait_for(notebooks=2)
    assert page.evaluate(LOADED) == [2, 1], "the same code is loaded once a page"
