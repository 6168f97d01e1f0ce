"""The practice: what it asks from the answers that the browser keeps, drawn by its own code on an empty page.

In JupyterLab and on a page without a kernel it is tried with lesson 15, at the end. The order of questions by itself:
`tests/test_practice.py`.
"""

import json

import pytest

from helpers.widgets.quiz import Practice, Quiz
from tests.browser.conftest import NODE_MODULES
from tests.browser.test_lessons_in_browser import HERE, open_lesson
from tests.shared import unpack

HOME = "http://practice.test/"
PLACE = "normalization-notebooks"
ASKED = "document.querySelector('.practice legend').textContent"


@pytest.fixture(scope="module")
def practice():
    made = Practice()
    yield made
    made.close()


@pytest.fixture(scope="module")
def quiz():
    made = Quiz("01")
    yield made
    made.close()


def questions_of(practice):
    """{"lesson/key": question}"""
    return {f"{lesson['name']}/{q['key']}": q for lesson in practice.lessons for q in lesson["questions"]}


@pytest.fixture
def open_tab(browser, practice, quiz):
    """Opens a page with the practice and a quiz, on a given day, in a browser that keeps what is stored."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(20_000)

    def open_tab(day="2026-11-22", before="", theme="light"):
        page = context.new_page()
        page.clock.set_fixed_time(f"{day}T12:00:00")
        ground = {"light": "#fff", "dark": "#111"}[theme]
        body = f"<html lang=en data-theme={theme}><title>t</title><body style='background: {ground}'><main>"
        page.route("**/*", lambda route: route.fulfill(body=body, content_type="text/html"))
        page.add_init_script(before)
        page.goto(HOME)
        widgets = [
            [practice.javascript, unpack(practice.code.base.css) + practice.css, {"lessons": practice.lessons}],
            [
                quiz.javascript,
                quiz.css,
                {"lesson": quiz.lesson, "kind": quiz.kind, "questions": quiz.questions},
            ],
        ]
        page.evaluate(
            """async (widgets) => {
                for (const [javascript, css, state] of widgets) {
                    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
                    const source = URL.createObjectURL(new Blob([javascript], {type: "text/javascript"}));
                    const el = document.createElement("div");
                    document.querySelector('main').append(el);
                    (await import(source)).default.render({ model: { get: (name) => state[name] }, el });
                }
            }""",
            widgets,
        )
        return page

    yield open_tab
    context.close()


def store(page, practice, answers):
    """Keep answers as another tab would have: {"lesson/key": (choice, day of the answer, box, due)}."""
    questions = questions_of(practice)
    for name, (choice, when, box, due) in answers.items():
        record = {
            "choice": choice,
            "first": choice,
            "tries": 1,
            "mark": questions[name]["mark"],
            "when": when,
            "box": box,
        }
        text = json.dumps(record | ({"due": due} if due else {}))
        page.evaluate("([place, text]) => localStorage.setItem(place, text)", [f"{PLACE}/{name}", text])


def stored(page, name):
    return json.loads(page.evaluate("(place) => localStorage.getItem(place)", f"{PLACE}/{name}") or "null")


def asked(page):
    return page.evaluate(ASKED)


def source(page):
    return page.inner_text(".practice-source")


def choose(page, option):
    page.click(f".practice fieldset input[value='{option}']")
    page.click(".practice .quiz-check")


def row(page, number):
    return page.locator(".practice-progress tr").nth(number + 1).locator("td:not(.practice-picture)").all_inner_texts()


def lesson_01(practice):
    checks = [q for q in practice.lessons[1]["questions"] if q["kind"] == "check"]
    guesses = [q for q in practice.lessons[1]["questions"] if q["kind"] == "prediction"]
    return "01_axis_intuition", checks, guesses


def test_missed_questions_come_before_due_and_new_ones(open_tab, practice):
    name, checks, guesses = lesson_01(practice)
    wrong = (guesses[0]["right"] + 1) % 3
    store(
        open_tab(),
        practice,
        {
            f"{name}/{checks[1]['key']}": (checks[1]["right"], "2026-11-01", 1, "2026-11-04"),
            f"{name}/{guesses[0]['key']}": (wrong, "2026-11-21", 0, "2026-11-22"),
            f"{name}/{checks[2]['key']}": (checks[2]["right"], "2026-11-21", 1, "2026-11-24"),
        },
    )
    page = open_tab()
    assert page.inner_text(".practice .quiz-score").startswith("1 missed, 1 due, ")
    assert (asked(page), source(page)) == (
        guesses[0]["prompt"].replace("`", ""),
        "01 Axis intuition: a prediction, missed last time",
    )
    assert page.locator(".practice input:checked").count() == 0, "the old answer is not shown"
    page.click("text=Next question")
    assert (asked(page), source(page)) == (checks[1]["prompt"].replace("`", ""), "01 Axis intuition: due again")
    page.click("text=Next question")
    assert (asked(page), source(page)) == (checks[0]["prompt"].replace("`", ""), "01 Axis intuition: not asked yet")


def test_answers_are_kept_with_try_box_and_day(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    page = open_tab()
    page.select_option(".practice select", name)
    wrong = (checks[0]["right"] + 1) % len(checks[0]["options"])
    choose(page, wrong)
    assert page.inner_text(".practice .quiz-feedback").startswith("Not quite.")
    choose(page, checks[0]["right"])
    kept = stored(page, f"{name}/{checks[0]['key']}")
    assert (kept["first"], kept["choice"], kept["tries"]) == (wrong, checks[0]["right"], 2)
    assert (kept["box"], kept["due"], kept["when"]) == (0, "2026-11-23", "2026-11-22")
    assert page.locator(".quiz:not(.practice) .quiz-score").inner_text().startswith("first try 0 of ")
    later = open_tab("2026-11-23")
    assert source(later) == "01 Axis intuition: due again"
    choose(later, checks[0]["right"])
    assert stored(later, f"{name}/{checks[0]['key']}")["box"] == 1


def test_practice_asks_what_quizzes_missed(open_tab, practice, quiz):
    page = open_tab()
    wrong = (quiz.questions[1]["right"] + 1) % 3
    page.click(f".quiz:not(.practice) fieldset >> nth=1 >> input >> nth={wrong}")
    page.click(".quiz:not(.practice) fieldset >> nth=1 >> .quiz-check")
    assert page.inner_text(".practice .quiz-score").startswith("1 missed, 0 due, ")
    assert row(page, 1) == [f"1 of {len(practice.lessons[1]['questions'])}", "1", "0"]
    page.click("text=Next question")
    assert asked(page) == quiz.questions[1]["prompt"].replace("`", "")


def test_by_keyboard_alone_enter_checks_and_goes_on(open_tab, practice):
    page = open_tab()
    page.focus(".practice select")
    page.keyboard.press("Tab")
    first = asked(page)
    right = next(q["right"] for q in questions_of(practice).values() if q["prompt"].replace("`", "") == first)
    page.keyboard.press("Tab")  # past the link to the lesson
    page.keyboard.press("Space")
    while page.evaluate("document.activeElement.value") != str(right):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text(".practice .quiz-feedback").startswith("Right.")
    assert page.evaluate("document.activeElement.textContent") == "Next question"
    page.keyboard.press("Enter")
    assert asked(page) != first
    assert page.evaluate("document.activeElement == document.querySelector('.practice fieldset input')")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent"))
    for name in ("Next question", "Save my answers", "Load answers", "Clear my answers"):
        assert name in seen


def test_reordered_options_keep_saved_meanings(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    right, place = checks[0]["right"], f"{PLACE}/{name}/{checks[0]['key']}"
    texts = [text.replace("`", "") for text in checks[0]["options"]]
    backward = open_tab(before="let n = 0; Math.random = () => (n += 1e-6)")  # the first goes last
    backward.select_option(".practice select", name)
    assert backward.locator(".practice .quiz-text").all_inner_texts() == [*texts[1:], texts[0]]
    assert backward.locator(".practice .quiz-letter").all_inner_texts() == list("ABCDE"[: len(texts)])
    backward.click(f".practice .quiz-option:has(.quiz-text:text-is('{texts[right]}'))")
    backward.click(".practice .quiz-check")
    assert backward.inner_text(".practice .quiz-feedback").startswith("Right.")
    kept = backward.evaluate("(place) => JSON.parse(localStorage.getItem(place))", place)
    assert (kept["choice"], kept["right"]) == (right, True)
    shown = backward.locator(".quiz:not(.practice) fieldset").first.locator("label").all()
    assert [row.locator("input").is_checked() for row in shown] == [i == right for i in range(len(texts))]


def test_wrong_answers_announce_an_earlier_return(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    page = open_tab()
    page.select_option(".practice select", name)
    assert page.inner_text(".practice-again") == ""
    choose(page, (checks[0]["right"] + 1) % 3)
    assert page.inner_text(".practice-again") == "It comes back today, after 3 other questions or more."
    for _ in range(3):
        page.click("text=Next question")
        assert asked(page) != checks[0]["prompt"].replace("`", "")
    page.click("text=Next question")
    assert source(page) == "01 Axis intuition: missed last time"
    choose(page, checks[0]["right"])
    assert page.inner_text(".practice-again") == "It comes back tomorrow, on 2026-11-23."
    page.click("text=Next question")
    right = next(q["right"] for q in checks if q["prompt"].replace("`", "") == asked(page))
    choose(page, right)
    assert page.inner_text(".practice-again") == "It comes back in 3 days, on 2026-11-25."


def test_two_tabs_at_once_lose_nothing(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    one, two = open_tab(), open_tab()
    for page in (one, two):
        page.select_option(".practice select", name)
    choose(one, checks[0]["right"])
    two.wait_for_function("document.querySelectorAll('.practice-progress tr')[2].textContent.includes('1 of')")
    assert two.locator(".practice input:checked").count() == 0, "the answer of one tab is not shown in the other"
    wrong = (checks[0]["right"] + 1) % 3
    choose(two, wrong)
    kept = stored(one, f"{name}/{checks[0]['key']}")
    assert (kept["first"], kept["choice"], kept["tries"], kept["box"]) == (checks[0]["right"], wrong, 2, 0)
    one.wait_for_function("document.querySelector('.practice .quiz-score').textContent.startsWith('1 missed')")


def test_cleared_answers_come_back_from_a_file(open_tab, practice, tmp_path):
    name, checks, guesses = lesson_01(practice)
    answers = {f"{name}/{q['key']}": (q["right"], "2026-11-20", 2, "2026-11-27") for q in [*checks, guesses[0]]}
    store(open_tab(), practice, answers)
    page = open_tab()
    with page.expect_download() as download:
        page.click("text=Save my answers")
    assert download.value.suggested_filename == "normalization-answers-2026-11-22.json"
    path = tmp_path / "answers.json"
    download.value.save_as(path)
    before = page.evaluate("JSON.stringify(Object.entries(localStorage).sort())")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.click(".practice >> text=Clear my answers")
    assert page.inner_text(".practice [role=status] >> nth=-2").startswith("Forget every answer of every lesson?")
    page.click("text=Keep them")
    assert row(page, 1)[0].startswith(f"{len(answers)} of")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert page.evaluate("Object.keys(localStorage)") == ["theme"]
    assert row(page, 1)[0].startswith("0 of")
    page.evaluate("localStorage.clear()")
    page.set_input_files(".practice input[type=file]", path)
    page.wait_for_function(f"document.querySelector('.practice-said').textContent == '{len(answers)} answers loaded.'")
    kept = page.evaluate("Object.fromEntries(Object.entries(localStorage))")
    assert len(kept) == len(answers)
    for key, text in json.loads(before):
        assert json.loads(kept[key]) | json.loads(text) == json.loads(kept[key])
    page.set_input_files(".practice input[type=file]", path)
    page.wait_for_function("document.querySelector('.practice-said').textContent.startsWith('0 answers loaded;')")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not JSON", "This file cannot be read as JSON:"),
        ('{"cells": []}', "This file holds no answers of these lessons:"),
        ("[" * 2_000_001, "This file is too large to hold answers of these lessons:"),
        (b"\xff\xfe\x00", "This file cannot be read as JSON:"),
    ],
    ids=["text", "notebook", "large", "bytes"],
)
def test_a_foreign_file_is_refused_without_any_change(open_tab, tmp_path, content, words):
    page = open_tab()
    before = asked(page)
    path = tmp_path / "some.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    page.set_input_files(".practice input[type=file]", path)
    page.wait_for_function(
        "(words) => document.querySelector('.practice-said').textContent.startsWith(words)", arg=words
    )
    assert page.evaluate("Object.keys(localStorage)") == []
    assert asked(page) == before, "no other question is asked"


def test_where_there_is_no_answer_none_is_saved(open_tab):
    page = open_tab()
    page.click("text=Save my answers")
    assert page.inner_text(".practice-said") == "There is no answer to save yet."


def test_loaded_answers_join_those_of_other_tabs(open_tab, practice, tmp_path):
    name, (first, second, *_), _ = lesson_01(practice)
    earlier = open_tab("2026-11-20")
    earlier.select_option(".practice select", name)
    wrong = (first["right"] + 1) % 3
    choose(earlier, wrong)
    with earlier.expect_download() as download:
        earlier.click("text=Save my answers")
    download.value.save_as(tmp_path / "answers.json")
    earlier.click(".practice >> text=Clear my answers")
    earlier.click("text=Forget them")
    one, two = open_tab(), open_tab()
    slowly = "function () { return new Promise((go) => (window.go = () => go(this.slice().text()))); }"
    one.evaluate(f"void (File.prototype.text = {slowly})")
    one.set_input_files(".practice input[type=file]", tmp_path / "answers.json")
    one.wait_for_function("'go' in window")
    store(two, practice, {f"{name}/{q['key']}": (q["right"], "2026-11-22", 1, "2026-11-25") for q in (first, second)})
    one.evaluate("window.go()")
    one.wait_for_function("document.querySelector('.practice-said').textContent == '1 answer loaded.'")
    kept = stored(one, f"{name}/{first['key']}")
    assert (kept["choice"], kept["first"]) == (first["right"], wrong), "the later answer and the first try"
    assert stored(one, f"{name}/{second['key']}")["choice"] == second["right"]


def test_without_storage_quiz_and_practice_share_answers(open_tab, quiz):
    page = open_tab(before="Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })")
    wrong = (quiz.questions[0]["right"] + 1) % 3
    page.click(f".quiz:not(.practice) fieldset >> nth=0 >> input >> nth={wrong}")
    page.click(".quiz:not(.practice) fieldset >> nth=0 >> .quiz-check")
    assert page.inner_text(".practice .quiz-score").startswith("1 missed")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert page.inner_text(".practice .quiz-score").startswith("0 missed")


def test_broken_answers_in_the_browser_count_as_none(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    page = open_tab()
    for q, text in zip(checks, ("{", "[]", '{"choice": 99}', "null"), strict=False):
        page.evaluate("([p, t]) => localStorage.setItem(p, t)", [f"{PLACE}/{name}/{q['key']}", text])
    page = open_tab()
    assert row(page, 1)[0].startswith("0 of")


def test_known_lessons_name_the_next_day(open_tab, practice):
    name, checks, _ = lesson_01(practice)
    store(open_tab(), practice, {f"{name}/{q['key']}": (q["right"], "2026-11-21", 1, "2026-11-24") for q in checks})
    page = open_tab()
    page.select_option(".practice select", name)
    text = f"There is nothing to ask today. The next {len(checks)} questions will be due on 2026-11-24."
    assert source(page).startswith(text)
    assert page.locator(".practice fieldset").count() == 0 and page.is_hidden("text=Next question")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_are_readable_and_axe_is_content(open_tab, practice, theme):
    name, checks, _ = lesson_01(practice)
    page = open_tab(theme=theme)
    page.select_option(".practice select", name)
    choose(page, (checks[0]["right"] + 1) % 3)
    words = page.evaluate((HERE / "readable.js").read_text())
    assert len(words) > 50 and words[0]["contrast"] >= 4.5, words[:5]
    page.add_script_tag(path=str(NODE_MODULES / "axe-core" / "axe.min.js"))
    found = page.evaluate("axe.run({include: ['.practice']}, {resultTypes: ['violations']})")
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"] if v["impact"] != "minor"] == []


@pytest.mark.parametrize("width", [390, 1200])
def test_it_fits_its_page(open_tab, width):
    page = open_tab()
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate(
        "document.querySelector('.practice').scrollWidth <= document.querySelector('.practice').clientWidth"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table, frame = (page.locator(name).bounding_box() for name in (".practice-progress", ".practice-overview"))
    assert table["x"] + table["width"] <= frame["x"] + frame["width"], "the last column is not cut"


# In JupyterLab


def test_lesson_15_asks_first_and_keeps_the_answer(lab, page):
    open_lesson(page, lab, "15_practice")
    page.wait_for_selector(".practice fieldset")
    first = asked(page)
    page.focus(".practice fieldset input")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.practice .quiz-feedback').textContent.match(/^(Right|Not quite)/)")
    kept = page.evaluate("Object.keys(localStorage)")
    assert sum(key.startswith(f"{PLACE}/") for key in kept) == 1
    page.reload()
    page.wait_for_selector(".practice fieldset")
    assert "1 of " in page.inner_text(".practice-progress")
    again = page.inner_text(".practice-source")
    assert asked(page) != first or again.endswith("missed last time")


def test_a_question_leads_to_its_lesson_in_jupyterlab(learners_house, page, practice):
    guess = next(q for q in practice.lessons[5]["questions"] if q["key"] == "eps_place")
    wrong = json.dumps({"choice": (guess["right"] + 1) % 3, "mark": guess["mark"]})
    page.goto(learners_house.url("workbook/15_practice.ipynb"))
    page.wait_for_selector(".practice fieldset")
    page.evaluate("([p, t]) => localStorage.setItem(p, t)", [f"{PLACE}/05_rms_norm/{guess['key']}", wrong])
    page.select_option(".practice select", "05_rms_norm")
    assert source(page) == "05 RMSNorm: a prediction, missed last time"
    with page.context.expect_page() as opened:
        page.click(".practice-source a")
    opened.value.wait_for_url("**/workbook/05_rms_norm.ipynb*")
    opened.value.wait_for_selector(".jp-RenderedMarkdown h1:has-text('RMSNorm')")


def test_untrusted_lesson_15_says_what_it_would_ask(lab, page, practice):
    source, copy = (lab.folder / "notebooks" / f"15_practice{end}.ipynb" for end in ("", "_untrusted"))
    text = source.read_text(encoding="utf-8")
    copy.write_text(text.replace("# 15", "# Untrusted 15", 1), encoding="utf-8")
    open_lesson(page, lab, copy.stem, trusted=False)
    page.wait_for_selector(".jp-OutputArea-output img")
    words = " ".join(page.inner_text(".jp-Notebook").split())
    assert "those you missed first, then those that are due, then new ones" in words
    for lesson in practice.lessons:
        assert f"{lesson['name'][:2]} {lesson['title']}: {len(lesson['questions'])} questions" in words
    assert page.query_selector(".practice") is None
