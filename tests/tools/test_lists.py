"""README's table, the map in lesson 00, and the questions that lessons 00 and 15 hold, follow from the lessons."""

import copy

from tests.shared import LESSONS, ROOT, read
from tools.author import lists
from tools.author.record import WIDGET_STATE
from tools.lessons import all_lessons


def test_what_is_stored_lists_todays_lessons_and_questions():
    old = [path.relative_to(ROOT).as_posix() for path in lists.outdated()]
    assert old == [], "run .venv/bin/python -m tools.author.lists"


def test_another_title_reaches_readme_and_map():
    lessons = all_lessons()
    lessons[5].title, lessons[5].question = "Another", "what else?"
    readme = lists.with_table((ROOT / "README.md").read_text(encoding="utf-8"), lessons)
    assert "| 05 | [Another](notebooks/05_rms_norm.ipynb) | what else? |" in readme
    (cell,) = [
        cell for cell in lists.with_lists(copy.deepcopy(read(LESSONS[0])), lessons).cells if lists.MAP in cell.source
    ]
    assert "| [05 Another](05_rms_norm.ipynb) | what else? | 04 |" in cell.source


def test_another_question_reaches_practice_and_progress(monkeypatch):
    """In one line; the texts beside them do not count questions."""
    for path in (LESSONS[0], LESSONS[16]):
        nb = copy.deepcopy(read(path))
        for model in nb.metadata.widgets[WIDGET_STATE]["state"].values():
            if "lessons" in model["state"]:
                model["state"]["lessons"][5]["questions"].pop()
        spoiled, mended = lists.notebook_bytes(nb), lists.notebook_bytes(lists.with_lists(nb, all_lessons()))
        changed = set(mended.splitlines()) - set(spoiled.splitlines())
        assert len(changed) == 1 and mended == path.read_bytes()
