"""The widgets' code is in a notebook once; every widget finds it wherever and whenever it is shown."""

import json

from tests.browser.conftest import open_alive, run_all
from tests.shared import unpack

SOURCES = [
    "from helpers import Explorer, Quiz, points\n"
    'explorer = Explorer({"n": [1, 2, 3]}, lambda n: [points([n], [n])], lambda n: f"n is {n}")\nexplorer',
    "explorer",
    'Quiz("01_axis_intuition", only="nan_probe")',
    'Quiz("01_axis_intuition")',
]
# How many stages are drawn and questions asked, and how many modules and style sheets the page has for them.
ALIVE = "[document.querySelectorAll('.explorer-stage svg').length, document.querySelectorAll('.quiz fieldset').length]"
LOADED = """(async () => {
    const loaded = await Promise.all([...(globalThis.nnLoaded ?? new Map()).values()]);
    const styles = [...document.querySelectorAll('style')].filter((e) => /--nn-blue:/.test(e.textContent));
    return [loaded.filter((e) => e).length, styles.length];
})()"""


def test_code_is_stored_and_loaded_once_for_views_before_and_after_runs(lab, page):
    nb = lab.write("one.ipynb", *SOURCES)
    lab.write("two.ipynb", *SOURCES)
    models = nb.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    states = [model["state"] for model in models]
    texts = [unpack(state[name]) for state in states for name in ("javascript", "css") if name in state]
    assert len(texts) == 5, "two kinds, and the styles of both"
    questions = sum(len(state.get("questions", [])) for state in states)

    def wait_for(notebooks=1):
        alive = json.dumps([2 * notebooks, notebooks * questions]).replace(" ", "")
        page.wait_for_function(f"(alive) => JSON.stringify({ALIVE}) == alive", arg=alive)

    open_alive(page, lambda: page.goto(lab.url("one.ipynb")))
    wait_for()
    page.focus(".explorer .noUi-handle")
    page.keyboard.press("ArrowRight")
    captions = "[...document.querySelectorAll('.explorer-caption')]"
    page.wait_for_function(f"{captions}.every((e) => e.textContent == 'n is 2')", timeout=5000)
    assert len(set(page.evaluate(f"{captions}.map((e) => e.id)"))) == 2
    run_all(page)
    wait_for()
    page.click("li.lm-MenuBar-item:has-text('Kernel')")
    page.click("li[data-command='kernelmenu:restart']")
    page.click(".jp-Dialog button.jp-mod-accept")
    page.wait_for_timeout(1000)
    wait_for()  # what was drawn stays
    run_all(page)
    wait_for()
    page.dblclick(".jp-DirListing-item:has-text('two.ipynb')")
    wait_for(notebooks=2)
    assert page.evaluate(LOADED) == [2, 1], "the same code is loaded once a page"
