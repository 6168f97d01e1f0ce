"""Markup planted in every text that a lesson may show stays text in JupyterLab, in a trusted notebook or not.

A throwaway notebook shows an explorer, a quiz, a figure and checks whose words are tags that would set a mark on the
window if a browser ever took them for HTML.
"""

import json

import pytest

from tests.browser.conftest import open_alive
from tests.shared import question_file

MARK = "<img src=x onerror=\"planted='{0}'\"><script>planted='{0}'</script>"
PLACES = ["caption", "label", "text", "slider", "menu", "option", "title", "xlabel", "ylabel", "cell", "figure"]
QUIZ_PLACES = ["prompt", "code", "option", "why"]

EVIL = f"""
import json
from helpers import Explorer, Panel, Quiz, cells, check_true, new_figure, points, show, text
evil = json.loads({json.dumps(json.dumps({name: MARK.format(name) for name in PLACES}))})
"""

EXPLORER = """
Explorer(
    {evil["slider"]: [1, 2], evil["menu"]: [evil["option"], "b"]},
    lambda **p: [points([p[evil["slider"]]], [1], label=evil["label"].split("<script>")[0]), text(1, 1, evil["text"]),
                 cells([[0, 1]], names=("", evil["cell"]), panel=1)],
    lambda **p: f"{p[evil['slider']]} {evil['caption']}",
    panels=[Panel(title=evil["title"], xlabel=evil["xlabel"], ylabel=evil["ylabel"], width=4), Panel(bare=True)],
)"""

QUIZ = """
import pathlib
from helpers import Quiz
import helpers.widgets.quiz
helpers.widgets.quiz.LESSON_FILES = pathlib.Path({folder!r})
Quiz("77_planted")"""

FIGURE = """
fig, axes = new_figure()
axes.plot([0, 1])
show(fig, evil["figure"])
check_true(evil["figure"], True)"""


def quiz_file():
    """A question whose every text is markup."""
    prompt, code, option, why = (json.dumps(MARK.format(name)) for name in QUIZ_PLACES)
    lines = ['title = "Planted"', "[[question]]", 'key = "one"', 'kind = "check"']
    lines += [f"prompt = {prompt}", f"code = {code}"]
    for k in range(3):
        lines += ["[[question.option]]", f'text = "{k} {option[1:]}', f"why = {why}", f"right = {str(k == 0).lower()}"]
    return "\n".join(lines)


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_planted_markup_stays_text(lab, page, trusted):
    folder = lab.folder / f"planted-{trusted}"
    folder.mkdir()
    question_file(folder, "77_planted").write_text(quiz_file(), encoding="utf-8")
    path = f"{folder.name}/planted.ipynb"
    lab.write(path, EVIL, EVIL + EXPLORER, QUIZ.format(folder=str(folder)), EVIL + FIGURE)
    if trusted:
        open_alive(page, lambda: page.goto(lab.url(path)))
        for control, key in ((".noUi-handle", "ArrowRight"), ("select", "ArrowDown")):
            page.focus(f".explorer {control}")
            page.keyboard.press(key)
        page.click(".quiz input[type=radio] >> nth=1")
        page.click(".quiz .quiz-check")
    else:
        text = (lab.folder / path).read_text(encoding="utf-8")
        (lab.folder / path).write_text(text.replace("import json", "import json  # never run here"), encoding="utf-8")
        page.goto(lab.url(path))
        page.wait_for_selector(".jp-OutputArea-output img")
        assert page.query_selector(".explorer-stage") is None
    page.wait_for_timeout(600)  # a planted image would have failed to load by now
    assert page.evaluate("window.planted ?? null") is None
    bad = ", ".join(f".jp-OutputArea-output {part}" for part in ("img[src='x']", "[onerror]", "script:not([type])"))
    assert [element.evaluate("(e) => e.outerHTML.slice(0, 200)") for element in page.query_selector_all(bad)] == []
    words = "[...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output *')]"
    shown = page.evaluate(words + ".map((e) => e.textContent + (e.ariaLabel ?? '')).join(' ')")
    places = [*(PLACES if trusted else ["figure"]), *QUIZ_PLACES]
    missing = [name for name in places if f"planted='{name}'" not in shown]
    assert missing == [], "the words themselves are shown"
