"""The teaching pack: its minutes are those of the lessons, and nothing that a teacher needs is left out."""

import html
import json
import re
from difflib import SequenceMatcher

import pytest

from helpers import theme
from helpers.exercises import all_exercises
from tests.shared import LESSONS, for_each, lesson_of
from tools.learner import workbook
from tools.lessons import Part, minutes_of, parts_of

pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import pages, plan, teaching  # noqa: E402

CLASS = teaching.CLASS


def formula_as_it_stands(formula, display):
    return html.escape(formula)


@pytest.fixture(scope="session")
def files():
    return teaching.pages([lesson_of(path) for path in LESSONS], formula_as_it_stands)


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


# ------------------------------------------------------------------------------------------------ discussions


def discussions(path):
    """[(heading, question, good answer)] of the numbered sections, None for what is missing."""
    found = []
    for part in lesson_of(path).parts:
        if part.level == 2 and part.title[0].isdigit():
            entry = part.metadata.get("discussion", {})
            found.append((part.title, entry.get("question"), entry.get("good_answer")))
    return found


@for_each("path", LESSONS, ids=lambda path: path.stem)
def test_sections_have_a_class_question_with_an_answer(path):
    for title, question, answer in discussions(path):
        assert question and answer, title
        assert "?" in question and len(question.split()) >= 12, question
        assert 12 <= len(answer.split()) <= 80, answer
        assert not re.search("[\u2014$]", question + answer), "no long dash; formulas are not typeset here"


def alike(one, other, least=0.6):
    matcher = SequenceMatcher(None, one.lower(), other.lower())
    return matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least and matcher.ratio() >= least


@for_each("path", LESSONS, ids=lambda path: path.stem)
def test_a_question_for_the_class_repeats_no_other(path):
    prompts = [question["prompt"] for question in lesson_of(path).questions.values()]
    for title, question, _ in discussions(path):
        others = [re.sub(r"^\d+ ", "", title), *prompts]
        assert [other for other in others if alike(question, other)] == [], question


def test_no_question_for_a_class_stands_twice():
    asked = [question for path in LESSONS for _, question, _ in discussions(path)]
    assert len(set(asked)) == len(asked) >= 90


def test_the_learners_copy_keeps_the_questions():
    copy = json.loads(workbook.copy_of(LESSONS[2]))
    kept = [cell["metadata"]["discussion"] for cell in copy["cells"] if "discussion" in cell["metadata"]]
    assert len(kept) == len(discussions(LESSONS[2]))


# ------------------------------------------------------------------------------------------------ minutes


@for_each("path", LESSONS)
def test_the_minutes_of_the_plan_add_up(path):
    lesson = lesson_of(path)
    sections = plan.sections_of(lesson.parts)
    assert sum(section.minutes for section in sections) == round(plan.class_minutes_of(lesson.core))
    talk = plan.MINUTES_PER_DISCUSSION * sum(bool(section.discussion) for section in sections)
    assert sections[-1].total == round(plan.class_minutes_of(lesson.core)) + talk


@for_each("path", LESSONS)
def test_lessons_fit_one_hour_or_two_classes(path):
    lesson = lesson_of(path)
    sections = plan.sections_of(lesson.parts)
    (stop,) = (section for section in sections if section.stop)
    total = sections[-1].total
    assert sum(section.minutes for section in sections) <= 60
    assert stop.total <= CLASS and total - stop.total <= CLASS
    assert abs(2 * stop.total - total) <= max(section.minutes + section.talk for section in sections)


@for_each("path", LESSONS)
def test_a_class_holds_what_fits(path):
    lesson = lesson_of(path)
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


@for_each("path", LESSONS)
def test_the_plan_names_all_sections_and_options(path):
    lesson = lesson_of(path)
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
    assert minutes_of(deeper) == pytest.approx(2 + 122 / 120, abs=0.05)
    assert sections[1].holds == "1 question, 1 explorer"
    assert [section.stop for section in sections] == [False, True, False, False]


def test_shares_are_whole_and_lose_nothing():
    assert plan.shared(25, [1, 1, 1]) == [8, 9, 8]
    assert plan.shared(5, [7]) == [5]
    assert sum(plan.shared(45, [13, 4, 9])) == 45


@for_each("path", LESSONS)
def test_the_plan_says_how_a_lesson_fits(path):
    lesson = lesson_of(path)
    sections = plan.sections_of(lesson.parts)
    said = " ".join(teaching.ways(sections))
    total = sections[-1].total
    assert ("Two classes" in said) == (total > CLASS)
    for fit in (plan.fit(sections, minutes) for minutes in plan.CLASSES):
        assert f"A class of {fit.minutes} minutes: the lesson takes {fit.total} with {len(fit.talks)} of" in said


@for_each("path", LESSONS)
def test_homework_takes_the_stated_minutes(path):
    lesson = lesson_of(path)
    exercises = plan.homework(lesson)
    assert sum(exercise.minutes for exercise in exercises) == lesson.homework_minutes
    assert all(exercise.minutes >= 3 and exercise.nudge and exercise.mistakes for exercise in exercises)
    assert exercises and all(all_exercises()[exercise.name] for exercise in exercises)


# ------------------------------------------------------------------------------------------------ pages


@for_each("path", LESSONS)
def test_every_option_stands_with_what_to_say(files, path):
    lesson = lesson_of(path)
    page = files[f"{lesson.name}.html"]
    words = words_of(page)
    for question in lesson.questions.values():
        assert spoken(question["prompt"]) in words
        for number, (option, why) in enumerate(zip(question["options"], question["whys"], strict=True)):
            right = "Right. " if number == question["right"] else ""
            assert f"{spoken(option)} {right}{spoken(why)}" in words, (question["key"], option)
    assert page.count('<tr class="right">') == len(lesson.questions)


@for_each("path", LESSONS)
def test_predictions_come_once_in_order(files, path):
    lesson = lesson_of(path)
    asked = [question["key"] for question in lesson.predictions(lesson.parts)]
    assert sorted(asked) == sorted(key for key, q in lesson.questions.items() if q["kind"] == "prediction")
    words = words_of(files[f"{lesson.name}.html"])
    prompts = [f"Predict {spoken(lesson.questions[key]['prompt'])}" for key in asked]
    assert [words.count(prompt) for prompt in prompts] == [1] * len(prompts)
    core = [q["key"] for q in lesson.predictions(lesson.core)]
    places = [words.index(prompts[asked.index(key)]) for key in core]
    assert places == sorted(places)


@for_each("path", LESSONS)
def test_discussions_mistakes_and_homework_are_on_the_page(files, path):
    lesson = lesson_of(path)
    words = words_of(files[f"{lesson.name}.html"])
    for section in plan.sections_of(lesson.parts):
        if section.discussion:
            assert spoken(section.discussion["question"]) in words
            assert spoken(section.discussion["good_answer"]) in words
    for exercise in plan.homework(lesson):
        assert all(" ".join(teaching.sentence(mistake).split()) in words for mistake in exercise.mistakes)
        assert f"{exercise.name} {exercise.minutes}" in words


@for_each("path", LESSONS)
def test_the_handout_has_card_takeaways_and_notes(files, path):
    lesson = lesson_of(path)
    page = files[f"{lesson.name}_handout.html"]
    taken = teaching.takeaways(lesson.core)
    assert page.count("<li>") >= max(len(taken), 3)
    assert '<div class="lines"></div>' in page
    assert f'src="pictures/{lesson.name}.png"' in page and f"pictures/{lesson.name}.png" in files
    assert 'class="math' in page or lesson.number == "12"
    assert "Next:" not in page and "Formula card" in page and "The formula card." not in page
    assert "give it out at the end" in page and "Give it out at the end" in files[f"{lesson.name}.html"]


def test_two_runs_give_the_same_files(files):
    again = teaching.pages([lesson_of(path) for path in LESSONS], formula_as_it_stands)
    assert again == files


def test_pack_links_lead_to_files_or_places(files):
    known = {*files, "teaching.css", "katex/katex.min.css"}
    for name, page in files.items():
        if isinstance(page, str):
            for target in re.findall(r'(?:href|src)="([^"]+)"', page):
                file, _, place = target.partition("#")
                assert (file or name) in known, (name, target)
                assert not place or f'id="{place}"' in files[file or name], (name, target)
    assert (teaching.WEB / "teaching" / "teaching.css").is_file()


def test_the_index_leads_to_both_pages(files):
    for path in LESSONS:
        assert f'href="{path.stem}.html"' in files["index.html"]
        assert f'href="{path.stem}_handout.html"' in files["index.html"]


# ------------------------------------------------------------------------------------------------ texts


def test_no_line_breaks_between_formula_and_sign():
    line = teaching.markdown_filters(formula_as_it_stands)["line"]
    assert str(line("like $2^L$. So")) == 'like <span class="math inline">2^L.</span> So'
    assert str(line("$a$ and [b](c.ipynb)")) == '<span class="math inline">a</span> and b'


def test_question_texts_have_no_formulas_or_html():
    words = teaching.markdown_filters(formula_as_it_stands)["words"]
    assert str(words("1 $ and 2 $, `a < b` <b>")) == "1 $ and 2 $, <code>a &lt; b</code> &lt;b&gt;"


def test_a_takeaway_stands_alone():
    part = Part(lines=["**Takeaway.** One formula (proof below), two", "sets:", "", "$$y$$"])
    assert teaching.takeaways([part]) == ["One formula, two\nsets."]


def test_a_known_mistake_becomes_a_sentence():
    assert teaching.sentence("you did it") == "You did it."
    assert teaching.sentence("mean(x²) fails") == "mean(x²) fails."
    assert teaching.sentence("did both calls get keep?") == "Did both calls get keep?"


@for_each("path", LESSONS)
def test_mistakes_of_one_exercise_alone_come_first(path):
    lesson = lesson_of(path)
    for exercise in plan.homework(lesson):
        others = [other for name, other in all_exercises().items() if name != exercise.name]
        elsewhere = {mistake.sentence for other in others for mistake in other.mistakes}
        shared = [sentence in elsewhere for sentence in exercise.mistakes]
        assert shared == sorted(shared)


def test_without_katex_the_command_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(pages, "WEB", tmp_path)
    assert teaching.main([str(tmp_path / "out")]) == 1
    assert "make teaching" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_pack_has_the_colors_of_the_palette():
    css = (teaching.WEB / "teaching" / "teaching.css").read_text(encoding="utf-8")
    for words in (theme.WORDS, theme.DARK_WORDS):
        for name in ("blue", "orange", "teal"):
            assert f"--{name}:{words[name]};" in teaching.colors()
            assert f"--{name}:" not in css
