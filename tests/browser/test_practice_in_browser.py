"""Quizzes and the practice: answers that the browser keeps, drawn by the widgets' own code on an empty page.

In JupyterLab it is tried with lesson 16, at the end; the order of questions, boxes and the file of answers are tried
without a browser in `tests/helpers/test_practice.py`.
"""

import json

import pytest

from helpers.widgets.quiz import Practice, Quiz
from tests.browser.conftest import QUESTIONS, keep
from tests.shared import unpack

LESSON = "01_axis_intuition"
FIRST_GOES_LAST = "let n = 0; Math.random = () => (n += 1e-6)"
REFUSED = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })"
CHECKS = [name for name, one in QUESTIONS.items() if name.startswith(LESSON) and one["kind"] == "check"]
FIRST = CHECKS[0]
GUESS = f"{LESSON}/nan_probe"
RIGHT = {name: question["right"] for name, question in QUESTIONS.items()}
# All predictions of the lesson are made, so its skill check may be asked.
GUESSED = {n: RIGHT[n] for n, q in QUESTIONS.items() if n.startswith(LESSON) and q["kind"] == "prediction"}


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

    def open_tab(day="2026-11-22", before=FIRST_GOES_LAST):
        page = context.new_page()
        page.clock.set_fixed_time(f"{day}T12:00:00")
        page.route("**/*", lambda route: route.fulfill(body="<html lang=en><main>", content_type="text/html"))
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


def stored(page, name):
    return json.loads(page.evaluate("(p) => localStorage.getItem(p)", f"normalization-notebooks/{name}") or "null")


def asked(page):
    return page.evaluate("document.querySelector('.practice legend').textContent")


def plain(name):
    return QUESTIONS[name]["prompt"].replace("`", "")


def source(page):
    return page.inner_text(".practice-source")


def choose(page, name, option):
    """Answer the practice's question by the words of an option, which stand in another order there."""
    words = QUESTIONS[name]["options"][option].replace("`", "")
    page.click(f".practice .quiz-option:has(.quiz-text:text-is({json.dumps(words)}))")
    page.click(".practice .quiz-check")


def answer(page, number, option, kind="check"):
    """Answer a question of the skill check, or the prediction."""
    fieldset = f".quiz-is-{kind}:not(.practice) fieldset >> nth={number}"
    page.click(f"{fieldset} >> input >> nth={option}")
    page.click(f"{fieldset} >> .quiz-check")


def score(page, of=".quiz:not(.practice)"):
    return page.inner_text(f"{of} .quiz-score")


def wrong(name):
    return (RIGHT[name] + 1) % 3


def said(page, words):
    page.wait_for_function("(w) => document.querySelector('.practice-said').textContent.startsWith(w)", arg=words)


# Answers to a quiz


def test_the_score_shows_first_and_present_tries(open_tab):
    page, total = open_tab(), len(CHECKS)
    for number, name in enumerate(CHECKS):
        answer(page, number, wrong(name) if number < 2 else RIGHT[name])
    assert score(page) == f"{total - 2} of {total} right"
    for number in (0, 1):
        answer(page, number, RIGHT[CHECKS[number]])
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
    one.wait_for_function("document.querySelector('.practice-progress tr:nth-of-type(3)').textContent.includes('1 of')")


def test_without_storage_answers_last_until_closing(open_tab):
    page = open_tab(before=REFUSED)
    answer(page, 0, wrong(FIRST))
    assert score(page, ".practice").startswith("Today: 1 missed")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert score(page, ".practice") == "Today: nothing to do." and score(page).startswith("0 of ")


# The practice


def test_answers_are_kept_with_try_box_and_day(open_tab):
    keep(open_tab(), GUESSED)
    page = open_tab()
    choose(page, FIRST, wrong(FIRST))
    assert page.inner_text(".practice .quiz-feedback").startswith("Not quite.")
    assert page.inner_text(".practice-again") == "It comes back today, after 3 other questions or more."
    choose(page, FIRST, RIGHT[FIRST])
    expected = {"first": wrong(FIRST), "choice": RIGHT[FIRST], "tries": 2, "box": 0, "due": "2026-11-23"}
    assert stored(page, FIRST) == stored(page, FIRST) | expected | {"when": "2026-11-22"}
    later = open_tab("2026-11-23")
    assert source(later).startswith("01 Axis intuition: due again")
    choose(later, FIRST, RIGHT[FIRST])
    assert stored(later, FIRST)["box"] == 1


def test_by_keyboard_alone_enter_checks_and_goes_on(open_tab):
    keep(open_tab(), GUESSED)
    page = open_tab()
    page.focus(".practice select")
    first = asked(page)
    right = next(RIGHT[name] for name in QUESTIONS if plain(name) == first)
    for key in ("Tab", "Tab", "Tab", "Space"):  # past the links to the lesson and its notes
        page.keyboard.press(key)
    while page.evaluate("document.activeElement.value") != str(right):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text(".practice .quiz-feedback").startswith("Right.")
    assert page.evaluate("document.activeElement.textContent") == "Next question"
    page.keyboard.press("Enter")
    assert asked(page) != first
    assert page.evaluate("document.activeElement == document.querySelector('.practice fieldset input')")


def test_cleared_answers_come_back_from_a_file(open_tab, tmp_path):
    page = open_tab("2026-11-20")
    for number, name in enumerate(CHECKS):
        answer(page, number, wrong(name))
    with page.expect_download() as download:
        page.click("text=Save my answers")
    assert download.value.suggested_filename == "normalization-answers-2026-11-20.json"
    download.value.save_as(tmp_path / "answers.json")
    before = page.evaluate("Object.fromEntries(Object.entries(localStorage))")
    page.click(".practice >> text=Clear my answers")
    page.click("text=Forget them")
    assert page.evaluate("Object.keys(localStorage)") == []
    (tmp_path / "foreign.json").write_bytes(b"\xff\xfe\x00")
    for file, words in (("foreign", "This file holds no answers"), ("answers", f"{len(CHECKS)} answers loaded.")):
        page.set_input_files(".practice input[type=file]", tmp_path / f"{file}.json")
        said(page, words)
    assert page.evaluate("Object.fromEntries(Object.entries(localStorage))") == before
    page.evaluate("localStorage.clear()")

    one = open_tab()  # reads the file slowly, while another tab writes a later answer
    slowly = "function () { return new Promise((go) => (window.go = () => go(this.slice().text()))); }"
    one.evaluate(f"void (File.prototype.text = {slowly})")
    one.set_input_files(".practice input[type=file]", tmp_path / "answers.json")
    one.wait_for_function("'go' in window")
    keep(page, {FIRST: RIGHT[FIRST]}, when="2026-11-22", box=1, due="2026-11-25")
    one.evaluate("window.go()")
    said(one, f"{len(CHECKS)} answers loaded.")
    assert (stored(one, FIRST)["choice"], stored(one, FIRST)["first"]) == (RIGHT[FIRST], wrong(FIRST))


def test_a_question_leads_to_its_lesson_in_jupyterlab(lab, page):
    guess = "05_rms_norm/eps_place"
    page.goto(lab.url("workbook/16_practice.ipynb"))
    page.wait_for_selector(".practice .practice-source")
    keep(page, {guess: wrong(guess)})
    page.select_option(".practice select", "05_rms_norm")
    assert source(page).startswith("05 RMSNorm: a prediction, missed last time")
    with page.context.expect_page() as opened:
        page.click(".practice-source a")
    opened.value.wait_for_url("**/workbook/05_rms_norm.ipynb*")
    opened.value.wait_for_selector(".jp-RenderedMarkdown h1:has-text('RMSNorm')")


def test_a_solved_exercise_comes_back_as_a_question(lab, page):
    """Solved in JupyterLab, it says when it comes back; ten days later Practice asks for it."""
    source = "from helpers import check_exercise\n\n\ndef my_standardize(x):\n    return (x - x.mean()) / x.std()\n\n\n"
    lab.write("workbook/mine.ipynb", source + 'check_exercise("my_standardize", my_standardize)')
    page.goto(lab.url("workbook/mine.ipynb"))
    page.wait_for_selector("text=PASS - my_standardize")
    assert page.inner_text(".practice-again").startswith("Solved. It comes back in 3 days, on ")
    page.clock.set_fixed_time(page.evaluate("new Date(Date.now() + 10 * 86400000).toISOString()"))
    page.goto(lab.url("workbook/16_practice.ipynb"))
    page.wait_for_selector(".practice fieldset")
    assert score(page, ".practice") == "Today: 0 missed, 1 due, 0 new; about 5 minutes."
    assert "def my_standardize(x):" in page.inner_text(".practice .quiz-code")
    page.click(".practice .quiz-option >> nth=0")
    page.click(".practice .quiz-check")
    assert page.inner_text(".practice-again").startswith("It comes back in 7 days")
