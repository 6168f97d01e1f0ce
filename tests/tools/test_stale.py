"""Which stored notebooks show questions as they no longer are."""

import copy

import pytest

from helpers.widgets.quiz.questions import all_lessons, answer_keys
from tests.shared import ROOT
from tools.author import stale

TODAY = {lesson["name"]: lesson for lesson in all_lessons()[:3]}


def quiz(lesson, kind, key=None):
    questions = [q for q in lesson["questions"] if q["kind"] == kind and key in (None, q["key"])]
    return {"lesson": lesson["name"], "kind": kind, "questions": [stale.without_kind(q) for q in questions]}


def states():
    """One question, a skill check, a practice and a progress, as they are stored when nothing is stale."""
    lesson = TODAY["01_axis_intuition"]
    prediction = next(q["key"] for q in lesson["questions"] if q["kind"] == "prediction")
    progress = [answer_keys(one) | {"to": "a.ipynb"} for one in TODAY.values()]
    found = [quiz(lesson, "prediction", prediction), quiz(lesson, "check"), {"lessons": list(TODAY.values())}]
    return copy.deepcopy([*found, {"lessons": progress}, {"value": 3}])


def spoiled(change):
    """The same lessons as the files would have them after a change."""
    today = copy.deepcopy(TODAY)
    change(today)
    return [stale.outdated(state, today) for state in states()]


def test_what_is_stored_today_is_not_stale():
    assert [stale.outdated(state, TODAY) for state in states()] == [None] * 5


def test_new_questions_new_words_and_lost_lessons_show():
    axis = "01_axis_intuition"

    def reword(today):
        today[axis]["questions"] = [q | {"whys": ["Other.", *q["whys"][1:]]} for q in today[axis]["questions"]]

    def more(today):
        today[axis]["questions"].append(today["00_start_here"]["questions"][-1])

    assert spoiled(reword) == [axis, axis, axis, None, None]
    assert spoiled(more) == [None, axis, axis, axis, None]
    assert spoiled(lambda today: today.pop(axis)) == [axis, axis, axis, axis, None]


@pytest.mark.parametrize("number", [0, 1])
def test_a_quiz_of_no_lesson_is_stale(number):
    assert stale.outdated(states()[number], {}) == "01_axis_intuition"


def test_stored_questions_are_those_of_the_files():
    found = stale.stale_notebooks(ROOT)
    names = " ".join(path.relative_to(ROOT).as_posix() for path, _ in found)
    assert not found, (
        f"{names}: stored before {found[0][1]} got these questions; run `make notebooks NOTEBOOKS='{names}'`"
    )
