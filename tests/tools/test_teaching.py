"""The teaching pack: its minutes are those of the lessons, and nothing that a teacher needs is left out."""

import html
import re

import pytest

from helpers.exercises import all_exercises
from tests.shared import LESSONS, lesson_of
from tools.lessons import minutes_of, parts_of

pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import pages, plan, teaching  # noqa: E402

CLASS = teaching.CLASS


def formula_as_it_stands(formula, display):
    return html.escape(formula)


@pytest.fixture(scope="module")
def lessons():
    return [lesson_of(path) for path in LESSONS]


@pytest.fixture(scope="module")
def files(lessons):
    return teaching.pages(lessons, formula_as_it_stands)


def words_of(page):
    """What a reader sees, in one line."""
    in_blocks = re.sub(r"</?(?:td|th|tr|li|p|h\d|div)\b[^>]*>", "\n", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", in_blocks)).split())


def spoken(source):
    """A text of a question without the marks of code and stress."""
    return " ".join(re.sub(r"\*(\S[^*`]*\S)\*", r"\1", source).replace("`", "").split())


def markdown(source, **metadata):
    return {"cell_type": "markdown", "source": source, "metadata": metadata}


def code(source, hidden=False):
    return {"cell_type": "code", "source": source, "metadata": {"jupyter": {"source_hidden": hidden}}, "outputs": []}


def test_sections_have_a_class_question_with_an_answer(lessons):
    for lesson in lessons:
        for part in lesson.parts:
            if part.level == 2 and part.title[0].isdigit():
                entry = part.metadata["discussion"]
                assert entry["question"] and entry["good_answer"], part.title
                assert "$" not in entry["question"] + entry["good_answer"], "formulas are not typeset here"


# ------------------------------------------------------------------------------------------------ minutes


def test_minutes_add_up_and_fit_one_hour_or_two_classes(lessons):
    for lesson in lessons:
        sections = plan.sections_of(lesson.parts)
        minutes, total = sum(section.minutes for section in sections), sections[-1].total
        assert minutes == round(plan.class_minutes_of(lesson.core)) <= 60
        assert total == minutes + plan.MINUTES_PER_DISCUSSION * sum(bool(section.discussion) for section in sections)
        (stop,) = (section for section in sections if section.stop)
        assert stop.total <= CLASS and total - stop.total <= CLASS
        assert abs(2 * stop.total - total) <= max(section.minutes + section.talk for section in sections)


def test_a_class_holds_what_fits(lessons):
    for lesson in lessons:
        sections = plan.sections_of(lesson.parts)
        fits = [plan.fit(sections, minutes) for minutes in plan.CLASSES]
        for fit in fits:
            chosen = [section for section in sections if section.title in fit.taken]
            talked = sum(section.talk for section in chosen if section.title in fit.talks)
            assert fit.total == sum(section.minutes for section in chosen) + talked <= fit.minutes
            assert sorted(fit.taken + fit.left) == sorted(section.title for section in sections)
            assert {"Opening", "Recap"} <= set(fit.taken)
        assert [len(fit.taken) + len(fit.talks) for fit in fits] == sorted(len(f.taken) + len(f.talks) for f in fits)
        assert fits[-1].left == [] and len(fits[-1].talks) == sum(bool(section.talk) for section in sections)


def test_the_plan_names_all_sections_and_options(lessons):
    for lesson in lessons:
        sections = plan.sections_of(lesson.parts)
        headings = [part.title for part in lesson.parts if part.level == 2]
        assert [section.title for section in sections[1:]] == [
            title for title in headings if title not in ("Exercises", "Your notes", "References")
        ]
        optional = [group[0].title for section in sections for group in section.optional]
        assert optional == [part.title for part in lesson.parts if part.title.startswith("Deeper")]


SMALL = {
    "cells": [
        markdown("# 01 Small: how?\n\n" + 240 * "word "),
        markdown("## 1 First\n\n" + 118 * "word ", discussion={"question": "Why?"}),
        code('Quiz("01", only="guess")'),
        code("Explorer(\n)", hidden=True),
        markdown("**Takeaway.** One.\n\n### Deeper: more\n\n" + 118 * "word " + "\n\n#### A proof\n\nword"),
        code("\n".join(["x = 1"] * 12)),
        markdown("## 2 Second\n\n" + 118 * "word "),
        markdown("## Skill check"),
        markdown("## Exercises\n\n" + 500 * "word "),
    ]
}


def test_minutes_count_words_lines_questions_and_explorers():
    sections = plan.sections_of(parts_of(SMALL, checks=4))
    assert [section.title for section in sections] == ["Opening", "1 First", "2 Second", "Skill check"]
    assert [section.minutes for section in sections] == [2, 4, 1, 4]
    assert [section.total for section in sections] == [2, 10, 11, 15]
    (deeper,) = sections[1].optional
    assert plan.class_minutes_of(deeper) == pytest.approx(2 + 122 / 150, abs=0.05)
    assert minutes_of(deeper) == pytest.approx(12 / 4 + 122 / 100, abs=0.05)
    assert sections[1].holds == "1 question, 1 explorer"
    assert [section.stop for section in sections] == [False, True, False, False]


def test_homework_takes_the_stated_minutes(lessons):
    for lesson in lessons:
        exercises = plan.homework(lesson)
        assert sum(exercise.minutes for exercise in exercises) == lesson.homework_minutes
        assert all(exercise.minutes >= 3 and exercise.nudge and exercise.mistakes for exercise in exercises)
        assert exercises and all(all_exercises()[exercise.name] for exercise in exercises)


# ------------------------------------------------------------------------------------------------ pages


def test_every_option_stands_with_what_to_say(files, lessons):
    for lesson in lessons:
        page = files[f"{lesson.name}.html"]
        words = words_of(page)
        for question in lesson.questions.values():
            assert spoken(question["prompt"]) in words
            for number, (option, why) in enumerate(zip(question["options"], question["whys"], strict=True)):
                right = "Right. " if number == question["right"] else ""
                assert f"{spoken(option)} {right}{spoken(why)}" in words, (question["key"], option)
        assert page.count('<tr class="right">') == len(lesson.questions)


def test_predictions_come_once_in_order(files, lessons):
    for lesson in lessons:
        words = words_of(files[f"{lesson.name}.html"])
        asked = {q["key"]: f"Predict {spoken(q['prompt'])}" for q in lesson.predictions(lesson.parts)}
        assert set(asked) == {key for key, q in lesson.questions.items() if q["kind"] == "prediction"}
        assert [words.count(prompt) for prompt in asked.values()] == [1] * len(asked)
        places = [words.index(asked[q["key"]]) for q in lesson.predictions(lesson.core)]
        assert places == sorted(places)


def test_discussions_mistakes_and_homework_are_on_the_page(files, lessons):
    for lesson in lessons:
        words = words_of(files[f"{lesson.name}.html"])
        for section in plan.sections_of(lesson.parts):
            if section.discussion:
                assert spoken(section.discussion["question"]) in words
                assert spoken(section.discussion["good_answer"]) in words
        for exercise in plan.homework(lesson):
            assert all(" ".join(teaching.sentence(mistake).split()) in words for mistake in exercise.mistakes)
            assert f"{exercise.name} {exercise.minutes}" in words


def test_pack_links_lead_to_files_or_places(files):
    known = {*files, "teaching.css", "katex/katex.min.css"}
    for name, page in files.items():
        if isinstance(page, str):
            for target in re.findall(r'(?:href|src)="([^"]+)"', page):
                file, _, place = target.partition("#")
                assert (file or name) in known, (name, target)
                assert not place or f'id="{place}"' in files[file or name], (name, target)
    assert (teaching.WEB / "teaching" / "teaching.css").is_file()


def test_mistakes_of_one_exercise_alone_come_first(lessons):
    for lesson in lessons:
        for exercise in plan.homework(lesson):
            others = [other for name, other in all_exercises().items() if name != exercise.name]
            elsewhere = {mistake.sentence for other in others for mistake in other.mistakes}
            shared = [sentence in elsewhere for sentence in exercise.mistakes]
            assert shared == sorted(shared)


def test_without_katex_the_command_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(pages, "WEB", tmp_path)
    assert teaching.main([str(tmp_path / "out")]) == 1
    assert "make slides" in capsys.readouterr().err and not (tmp_path / "out").exists()
