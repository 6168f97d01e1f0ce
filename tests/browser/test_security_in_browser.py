"""Markup planted in every text that a lesson may show stays text in JupyterLab, in a trusted notebook or not.

A throwaway notebook shows an explorer, a quiz, a figure and checks whose words are tags that would set a mark on the
window if a browser ever took them for HTML.
"""

import json

import nbformat
import pytest

from tests.browser.conftest import ROOT
from tests.browser.test_lessons_in_browser import wait_until_alive
from tests.shared import question_file

MARK = "<img src=x onerror=\"window.planted='{0}'\"><script>window.planted='{0}'</script>"
PLACES = ["caption", "label", "text", "slider", "menu", "option", "box", "title", "xlabel", "ylabel", "cell", "figure"]
QUIZ_PLACES = ["prompt", "code", "option", "why"]

SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import json
from helpers import Explorer, Panel, Quiz, cells, check_true, new_figure, points, show, text
evil = json.loads({json.dumps(json.dumps({name: MARK.format(name) for name in PLACES}))})
"""

EXPLORER = """
Explorer(
    {evil["slider"]: [1, 2], evil["menu"]: [evil["option"], "b"], evil["box"]: [False, True]},
    lambda **p: [points([p[evil["slider"]]], [1], label=evil["label"].split("<script>")[0]), text(1, 1, evil["text"]),
                 cells([[0, 1]], names=("", evil["cell"]), panel=1)],
    lambda **p: f"{p[evil['slider']]} {p[evil['box']]} {evil['caption']}",
    panels=[Panel(title=evil["title"], xlabel=evil["xlabel"], ylabel=evil["ylabel"], width=4), Panel(bare=True)],
)
"""

FIGURE = """
fig, axes = new_figure()
axes.plot([0, 1])
show(fig, evil["figure"])
check_true(evil["figure"], True)
"""


def quiz_file():
    """A question whose every text is markup."""
    prompt, code, option, why = (json.dumps(MARK.format(name)) for name in QUIZ_PLACES)
    lines = [
        'title = "Planted"',
        "[[question]]",
        'key = "one"',
        'kind = "check"',
        f"prompt = {prompt}",
        f"code = {code}",
    ]
    for k in range(3):
        lines += ["[[question.option]]", f'text = "{k} {option[1:]}', f"why = {why}", f"right = {str(k == 0).lower()}"]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def planted(lab):
    """The throwaway notebook, run, in the folder of the lab."""
    from nbclient import NotebookClient

    folder = lab.folder / "planted"
    folder.mkdir()
    question_file(folder, "77_planted").write_text(quiz_file(), encoding="utf-8")
    quiz = f"""
import pathlib
import helpers.widgets.quiz
folder = pathlib.Path({str(folder)!r})
find = helpers.widgets.quiz.find_lesson
helpers.widgets.quiz.LESSON_FILES, helpers.widgets.quiz.find_lesson = folder, lambda lesson: find(lesson, folder)
Quiz("77")
"""
    sources = [SETUP, EXPLORER, quiz, FIGURE]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
    path = folder / "planted.ipynb"
    nbformat.write(nb, path)
    return path


def use_everything(page):
    """Move every control and answer the question, so that all texts have been drawn."""
    for control in page.query_selector_all(".explorer select, .explorer .noUi-handle, .explorer input[type=checkbox]"):
        control.focus()
        kind = control.evaluate("(e) => e.tagName")
        page.keyboard.press({"SELECT": "ArrowDown", "INPUT": "Space"}.get(kind, "ArrowRight"))
    page.click(".quiz input[type=radio] >> nth=1")
    page.click(".quiz .quiz-check")
    page.wait_for_timeout(600)  # a planted image would have failed to load by now


def assert_only_text(page, places):
    assert page.evaluate("window.planted ?? null") is None
    outputs = ".jp-OutputArea-output"
    bad = ", ".join(f"{outputs} {selector}" for selector in ("img[src='x']", "[onerror]", "script:not([type])"))
    assert [element.evaluate("(e) => e.outerHTML.slice(0, 200)") for element in page.query_selector_all(bad)] == []
    words = "[...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output *')]"
    shown = page.evaluate(words + ".map((e) => e.textContent + (e.ariaLabel ?? '')).join(' ')")
    missing = [name for name in places if f"window.planted='{name}'" not in shown]
    assert missing == [], "the words themselves are shown"


def test_planted_markup_stays_text_in_a_trusted_notebook(lab, planted, page):
    path = planted.relative_to(lab.folder).as_posix()
    lab.trust(path)
    page.goto(lab.url(path))
    wait_until_alive(page)
    page.wait_for_selector(".quiz fieldset")
    use_everything(page)
    assert_only_text(page, [*PLACES, *QUIZ_PLACES])


def test_planted_markup_stays_text_in_an_untrusted_notebook(lab, planted, page):
    copy = planted.with_name("untrusted.ipynb")
    nb = nbformat.read(planted, as_version=4)
    nb.cells[0].source += "\n# never run here, so never trusted"
    nbformat.write(nb, copy)
    page.goto(lab.url(copy.relative_to(lab.folder).as_posix()))
    page.wait_for_selector(".jp-OutputArea-output img")
    assert page.query_selector(".explorer-stage") is None
    page.wait_for_timeout(600)
    assert_only_text(page, ["figure", *QUIZ_PLACES])
