"""Answers to questions: kept in the browser, the first try beside the present one, the same in every tab.

The quiz is drawn by its own code on an empty page; JupyterLab is not needed for it.
"""

import json

import pytest

from helpers.widgets.quiz import Quiz

LESSON = "01_axis_intuition"
PLACE = f"normalization-notebooks/{LESSON}/"
HOME = "http://quiz.test/"


@pytest.fixture(scope="module")
def quizzes():
    """The skill check and one prediction of a lesson, as their widgets send them."""
    made = [Quiz(LESSON), Quiz(LESSON, only="nan_probe")]
    yield made
    for quiz in made:
        quiz.close()


@pytest.fixture
def open_tab(browser, quizzes):
    """Opens a page with both quizzes in one browser, which keeps what is stored until the test ends."""
    context = browser.new_context()

    def open_tab(before=""):
        page = context.new_page()
        page.route("**/*", lambda route: route.fulfill(body="<body></body>", content_type="text/html"))
        page.add_init_script(before)
        page.goto(HOME)
        states = [{name: getattr(quiz, name) for name in ("lesson", "kind", "questions")} for quiz in quizzes]
        page.evaluate(
            """async ([javascript, states]) => {
                const module = await import(URL.createObjectURL(new Blob([javascript], {type: "text/javascript"})));
                for (const state of states) {
                    const el = document.createElement("div");
                    document.body.append(el);
                    module.default.render({ model: { get: (name) => state[name] }, el });
                }
            }""",
            [quizzes[0].javascript, states],
        )
        return page

    yield open_tab
    context.close()


def choose(page, number, option, kind="check"):
    """Choose and check an option of a question, both counted from 0."""
    page.click(f".quiz-is-{kind} fieldset >> nth={number} >> input >> nth={option}")
    page.click(f".quiz-is-{kind} fieldset >> nth={number} >> .quiz-check")


def score(page):
    return page.inner_text(".quiz-score")


def stored(page, key):
    return json.loads(page.evaluate("(place) => localStorage.getItem(place)", PLACE + key) or "null")


def test_the_score_shows_first_and_present_tries(open_tab, quizzes):
    page = open_tab()
    questions = quizzes[0].questions
    total = len(questions)
    for number, question in enumerate(questions):
        wrong = (question["right"] + 1) % len(question["options"])
        choose(page, number, wrong if number < 2 else question["right"])
    assert score(page) == f"{total - 2} of {total} right"
    for number in (0, 1):
        choose(page, number, questions[number]["right"])
    both = f"first try {total - 2} of {total}, now {total} of {total}"
    assert score(page) == both
    assert page.locator(".quiz-is-check .quiz-first").count() == 2
    assert score(open_tab()) == both, "also after a reload"


def test_clearing_asks_and_forgets_this_lessons_predictions(open_tab):
    page = open_tab()
    choose(page, 0, 1)
    choose(page, 0, 0, kind="prediction")
    page.evaluate("localStorage.setItem('normalization-notebooks/02_batch_dependence/pair', 'mine')")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.click("text=Clear my answers")
    page.click("text=Keep them")
    assert "1 to answer" not in score(page) and stored(page, "nan_probe")
    page.click("text=Clear my answers")
    assert page.evaluate("document.activeElement.textContent") == "Keep them", "Enter pressed twice loses nothing"
    page.click("text=Forget them")
    left = page.evaluate("Object.keys(localStorage).sort()")
    assert left == ["normalization-notebooks/02_batch_dependence/pair", "theme"]
    assert page.locator("input:checked").count() == 0
    assert score(page).startswith("0 of ")


def test_two_tabs_at_once_lose_nothing(open_tab, quizzes):
    one, two = open_tab(), open_tab()
    choose(one, 0, 0)
    two.wait_for_function("document.querySelector('.quiz-is-check fieldset input').checked")
    choose(two, 1, 1)
    one.wait_for_function(
        "document.querySelectorAll('.quiz-is-check fieldset')[1].querySelectorAll('input')[1].checked"
    )
    assert score(one) == score(two)
    choose(two, 0, 2)
    first = stored(one, quizzes[0].questions[0]["key"])
    assert (first["first"], first["choice"], first["tries"]) == (0, 2, 2)


def test_another_tabs_unheard_answer_stays_first(open_tab, quizzes):
    page = open_tab()
    question = quizzes[0].questions[0]
    record = {"choice": 2, "first": 2, "tries": 1, "mark": question["mark"]}
    page.evaluate("([p, text]) => localStorage.setItem(p, text)", [PLACE + question["key"], json.dumps(record)])
    choose(page, 0, 1)
    kept = stored(page, question["key"])
    assert (kept["first"], kept["choice"], kept["tries"]) == (2, 1, 2)


def test_choice_and_mark_make_an_answer(open_tab, quizzes):
    page = open_tab()
    question = quizzes[0].questions[0]
    records = {"choice": question["right"], "mark": question["mark"]}
    page.evaluate("([p, text]) => localStorage.setItem(p, text)", [PLACE + question["key"], json.dumps(records)])
    assert score(open_tab()).startswith("1 of ")


def test_a_question_that_was_changed_is_asked_anew(open_tab, quizzes):
    page = open_tab()
    text = json.dumps({"choice": 0, "first": 0, "mark": "another"})
    page.evaluate("([p, text]) => localStorage.setItem(p, text)", [PLACE + quizzes[0].questions[0]["key"], text])
    assert score(open_tab()).startswith("0 of ")


def test_without_storage_answers_last_until_closing(open_tab, quizzes):
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })"
    page = open_tab(before=refuse)
    choose(page, 0, quizzes[0].questions[0]["right"])
    choose(page, 0, 0, kind="prediction")
    assert score(page).startswith("1 of ")
    page.click("text=Clear my answers")
    page.click("text=Forget them")
    assert score(page).startswith("0 of ") and page.locator("input:checked").count() == 0


def test_answers_to_changed_questions_are_dropped_in_words(open_tab, quizzes):
    key = quizzes[0].questions[0]["key"]
    record = json.dumps({"choice": 0, "first": 0, "tries": 1, "mark": "of an older text", "when": "2026-01-01"})
    page = open_tab(f"localStorage.setItem({PLACE + key!r}, {record!r})")
    said = page.inner_text("fieldset >> nth=0 >> .quiz-feedback")
    assert said.startswith("This question has changed since you answered it")
    assert page.query_selector_all("input:checked") == []
    choose(page, 0, quizzes[0].questions[0]["right"])
    assert page.inner_text("fieldset >> nth=0 >> .quiz-feedback").startswith("Right.")
