"""Quizzes and the practice: answers that the browser keeps, drawn by the widgets' own code on an empty page.

In JupyterLab it is tried with lesson 15, at the end. The order of questions: `tests/helpers/test_practice.py`.
"""

import json

import pytest

from helpers.widgets.quiz import Practice, Quiz
from helpers.widgets.quiz.questions import all_lessons
from tests.browser.conftest import NODE_MODULES
from tests.browser.test_lessons_in_browser import HERE
from tests.shared import unpack

PLACE = "normalization-notebooks"
LESSON = "01_axis_intuition"
REFUSED = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })"
QUESTIONS = {f"{lesson['name']}/{q['key']}": q for lesson in all_lessons() for q in lesson["questions"]}
CHECKS = [q for name, q in QUESTIONS.items() if name.startswith(LESSON) and q["kind"] == "check"]
FIRST, SECOND, THIRD = CHECKS[:3]
GUESS = QUESTIONS[f"{LESSON}/nan_probe"]


@pytest.fixture(scope="module")
def widgets():
    """[JavaScript, styles, state] of the practice, a skill check and a prediction, as they are sent."""
    made = [Practice(), Quiz(LESSON), Quiz(LESSON, only="nan_probe")]
    names = ("lessons", "lesson", "kind", "questions")
    yield [
        [
            each.javascript,
            unpack(each.code.base.css) + each.css,
            {n: getattr(each, n) for n in names if hasattr(each, n)},
        ]
        for each in made
    ]
    for each in made:
        each.close()


@pytest.fixture
def open_tab(browser, widgets):
    """Opens a page with the three widgets, on a given day, in a browser that keeps what is stored."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(20_000)

    def open_tab(day="2026-11-22", before="", theme="light"):
        page = context.new_page()
        page.clock.set_fixed_time(f"{day}T12:00:00")
        ground = {"light": "#fff", "dark": "#111"}[theme]
        body = f"<html lang=en data-theme={theme}><title>t</title><body style='background: {ground}'><main>"
        page.route("**/*", lambda route: route.fulfill(body=body, content_type="text/html"))
        page.add_init_script(before)
        page.goto("http://practice.test/")
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


def store(page, question, choice, **more):
    """Keep an answer as another tab would have, which this one does not hear of."""
    name = next(name for name, one in QUESTIONS.items() if one is question)
    record = {"choice": choice, "first": choice, "tries": 1, "mark": question["mark"]} | more
    page.evaluate("([p, text]) => localStorage.setItem(p, text)", [f"{PLACE}/{name}", json.dumps(record)])


def stored(page, question):
    return json.loads(page.evaluate("(p) => localStorage.getItem(p)", f"{PLACE}/{LESSON}/{question['key']}") or "null")


def asked(page):
    return page.evaluate("document.querySelector('.practice legend').textContent")


def plain(question):
    return question["prompt"].replace("`", "")


def source(page):
    return page.inner_text(".practice-source")


def choose(page, option):
    """Answer the practice's question."""
    page.click(f".practice fieldset input[value='{option}']")
    page.click(".practice .quiz-check")


def answer(page, number, option, kind="check"):
    """Answer a question of the skill check, or the prediction."""
    fieldset = f".quiz-is-{kind}:not(.practice) fieldset >> nth={number}"
    page.click(f"{fieldset} >> input >> nth={option}")
    page.click(f"{fieldset} >> .quiz-check")


def score(page, of=".quiz:not(.practice)"):
    return page.inner_text(f"{of} .quiz-score")


def wrong(question):
    return (question["right"] + 1) % 3


def row(page):
    """The numbers that the progress shows of lesson 01."""
    return page.locator(".practice-progress tr").nth(2).locator("td:not(.practice-picture)").all_inner_texts()


def said(page, words):
    page.wait_for_function("(w) => document.querySelector('.practice-said').textContent.startsWith(w)", arg=words)


# Answers to a quiz


def test_the_score_shows_first_and_present_tries(open_tab):
    page, total = open_tab(), len(CHECKS)
    for number, question in enumerate(CHECKS):
        answer(page, number, wrong(question) if number < 2 else question["right"])
    assert score(page) == f"{total - 2} of {total} right"
    for number in (0, 1):
        answer(page, number, CHECKS[number]["right"])
    both = f"first try {total - 2} of {total}, now {total} of {total}"
    assert score(page) == both and page.locator(".quiz-is-check .quiz-first").count() == 2
    assert score(open_tab()) == both, "also after a reload"


def test_clearing_asks_and_forgets_this_lessons_answers_only(open_tab):
    page = open_tab()
    answer(page, 0, 1)
    answer(page, 0, 0, kind="prediction")
    others = ["normalization-notebooks/02_x/pair", "theme"]
    page.evaluate("(names) => names.forEach((name) => localStorage.setItem(name, 'mine'))", others)
    clear = ".quiz:not(.practice) >> text=Clear my answers"
    page.click(clear)
    page.click("text=Keep them")
    assert stored(page, GUESS)
    page.click(clear)
    assert page.evaluate("document.activeElement.textContent") == "Keep them", "Enter pressed twice loses nothing"
    page.click("text=Forget them")
    assert page.evaluate("Object.keys(localStorage).sort()") == others
    assert page.locator(".quiz:not(.practice) input:checked").count() == 0 and score(page).startswith("0 of ")


def test_two_tabs_at_once_lose_nothing(open_tab):
    one, two = open_tab(), open_tab()
    answer(one, 0, 0)
    two.wait_for_function("document.querySelector('.quiz-is-check:not(.practice) fieldset input').checked")
    assert two.locator(".practice input:checked").count() == 0, "the practice does not show an answer of another tab"
    answer(two, 0, 2)
    assert [stored(one, FIRST)[name] for name in ("first", "choice", "tries")] == [0, 2, 2]
    store(one, SECOND, 2)  # unheard
    answer(two, 1, 1)
    assert [stored(one, SECOND)[name] for name in ("first", "choice", "tries")] == [2, 1, 2]
    one.wait_for_function("document.querySelector('.practice-progress tr:nth-of-type(3)').textContent.includes('2 of')")


def test_answers_to_changed_questions_are_dropped_in_words(open_tab):
    page = open_tab()
    store(page, FIRST, 0, mark="of an older text", when="2026-01-01")
    page = open_tab()
    feedback = ".quiz-is-check:not(.practice) .quiz-feedback >> nth=0"
    assert page.inner_text(feedback).startswith("This question has changed since you answered it")
    assert page.locator("input:checked").count() == 0 and score(page).startswith("0 of ")
    answer(page, 0, FIRST["right"])
    assert page.inner_text(feedback).startswith("Right.")


def test_without_storage_answers_last_until_closing(open_tab):
    page = open_tab(before=REFUSED)
    answer(page, 0, wrong(FIRST))
    answer(page, 0, 0, kind="prediction")
    assert score(page, ".practice").startswith("1 missed") or score(page, ".practice").startswith("2 missed")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert score(page, ".practice").startswith("0 missed") and score(page).startswith("0 of ")


# The practice


def test_it_asks_missed_then_due_then_new_questions(open_tab):
    page = open_tab()
    store(page, SECOND, SECOND["right"], when="2026-11-01", box=1, due="2026-11-04")
    store(page, GUESS, wrong(GUESS), when="2026-11-21", box=0, due="2026-11-22")
    store(page, THIRD, THIRD["right"], when="2026-11-21", box=1, due="2026-11-24")
    page = open_tab()
    assert score(page, ".practice").startswith("1 missed, 1 due, ")
    assert page.locator(".practice fieldset input:checked").count() == 0, "the old answer is not shown"
    reasons = {"a prediction, missed last time": GUESS, "due again": SECOND, "not asked yet": FIRST}
    for reason, question in reasons.items():
        assert (asked(page), source(page)) == (plain(question), f"01 Axis intuition: {reason}")
        page.click("text=Next question")


def test_answers_are_kept_with_try_box_and_day(open_tab):
    page = open_tab()
    page.select_option(".practice select", LESSON)
    choose(page, wrong(FIRST))
    assert page.inner_text(".practice .quiz-feedback").startswith("Not quite.")
    assert page.inner_text(".practice-again") == "It comes back today, after 3 other questions or more."
    assert row(page)[1:] == ["1", "0"] and score(page).startswith("0 of ")
    choose(page, FIRST["right"])
    expected = {"first": wrong(FIRST), "choice": FIRST["right"], "tries": 2, "box": 0, "due": "2026-11-23"}
    assert stored(page, FIRST) == stored(page, FIRST) | expected | {"when": "2026-11-22"}
    later = open_tab("2026-11-23")
    assert source(later) == "01 Axis intuition: due again"
    choose(later, FIRST["right"])
    assert stored(later, FIRST)["box"] == 1


def test_by_keyboard_alone_enter_checks_and_goes_on(open_tab):
    page = open_tab()
    page.focus(".practice select")
    first = asked(page)
    right = next(q["right"] for q in QUESTIONS.values() if plain(q) == first)
    for key in ("Tab", "Tab", "Space"):  # past the link to the lesson
        page.keyboard.press(key)
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
    assert {"Next question", "Save my answers", "Load answers", "Clear my answers"} <= set(seen)


def test_reordered_options_keep_saved_meanings(open_tab):
    texts = [text.replace("`", "") for text in FIRST["options"]]
    page = open_tab(before="let n = 0; Math.random = () => (n += 1e-6)")  # the first goes last
    page.select_option(".practice select", LESSON)
    assert page.locator(".practice .quiz-text").all_inner_texts() == [*texts[1:], texts[0]]
    assert page.locator(".practice .quiz-letter").all_inner_texts() == list("ABCDE"[: len(texts)])
    page.click(f".practice .quiz-option:has(.quiz-text:text-is('{texts[FIRST['right']]}'))")
    page.click(".practice .quiz-check")
    assert stored(page, FIRST)["choice"] == FIRST["right"]
    shown = page.locator(".quiz:not(.practice) fieldset").first.locator("input").all()
    assert [each.is_checked() for each in shown] == [i == FIRST["right"] for i in range(len(texts))]


def test_cleared_answers_come_back_from_a_file(open_tab, tmp_path):
    page = open_tab("2026-11-20")
    page.click("text=Save my answers")
    said(page, "There is no answer to save yet.")
    for number, question in enumerate(CHECKS):
        answer(page, number, wrong(question))
    with page.expect_download() as download:
        page.click("text=Save my answers")
    assert download.value.suggested_filename == "normalization-answers-2026-11-20.json"
    download.value.save_as(tmp_path / "answers.json")
    before = page.evaluate("Object.fromEntries(Object.entries(localStorage))")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert page.evaluate("Object.keys(localStorage)") == []
    for words in (f"{len(CHECKS)} answers loaded.", "0 answers loaded; "):
        page.set_input_files(".practice input[type=file]", tmp_path / "answers.json")
        said(page, words)
        assert page.evaluate("Object.fromEntries(Object.entries(localStorage))") == before
    page.evaluate("localStorage.clear()")

    one = open_tab()  # reads the file slowly, while another tab writes a later answer
    slowly = "function () { return new Promise((go) => (window.go = () => go(this.slice().text()))); }"
    one.evaluate(f"void (File.prototype.text = {slowly})")
    one.set_input_files(".practice input[type=file]", tmp_path / "answers.json")
    one.wait_for_function("'go' in window")
    store(page, FIRST, FIRST["right"], when="2026-11-22", box=1, due="2026-11-25")
    one.evaluate("window.go()")
    said(one, f"{len(CHECKS)} answers loaded.")
    assert (stored(one, FIRST)["choice"], stored(one, FIRST)["first"]) == (FIRST["right"], wrong(FIRST))


@pytest.mark.parametrize("content", [b"[" * 2_000_001, b"\xff\xfe\x00"])
def test_a_foreign_file_is_refused_without_any_change(open_tab, tmp_path, content):
    page = open_tab()
    before = asked(page)
    (tmp_path / "some.json").write_bytes(content)
    page.set_input_files(".practice input[type=file]", tmp_path / "some.json")
    said(page, "This file is too large to hold" if len(content) > 9 else "This file cannot be read as JSON")
    assert page.evaluate("Object.keys(localStorage)") == [] and asked(page) == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_fit_and_axe_is_content(open_tab, theme):
    page = open_tab(theme=theme)
    page.select_option(".practice select", LESSON)
    choose(page, wrong(FIRST))
    words = page.evaluate((HERE / "readable.js").read_text())
    assert len(words) > 50 and words[0]["contrast"] >= 4.5, words[:5]
    page.add_script_tag(path=str(NODE_MODULES / "axe-core" / "axe.min.js"))
    found = page.evaluate("axe.run({include: ['main']}, {resultTypes: ['violations']})")
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"] if v["impact"] != "minor"] == []
    for width in (390, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        table, frame = (page.locator(name).bounding_box() for name in (".practice-progress", ".practice-overview"))
        assert table["x"] + table["width"] <= frame["x"] + frame["width"], "the last column is not cut"


# In JupyterLab


def test_a_question_leads_to_its_lesson_in_jupyterlab(learners_house, page):
    guess = QUESTIONS["05_rms_norm/eps_place"]
    page.goto(learners_house.url("workbook/15_practice.ipynb"))
    page.wait_for_selector(".practice fieldset")
    store(page, guess, wrong(guess))
    page.select_option(".practice select", "05_rms_norm")
    assert source(page) == "05 RMSNorm: a prediction, missed last time"
    with page.context.expect_page() as opened:
        page.click(".practice-source a")
    opened.value.wait_for_url("**/workbook/05_rms_norm.ipynb*")
    opened.value.wait_for_selector(".jp-RenderedMarkdown h1:has-text('RMSNorm')")
