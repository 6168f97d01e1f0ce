"""The quiz: question files, what a broken one says, the widget's state and its static twins."""

import html
import json
import re
from html.parser import HTMLParser

import ipywidgets
import numpy as np
import pytest

from helpers import theme
from helpers.widgets.explorer import Explorer, points
from helpers.widgets.explorer.explorer import Stage
from helpers.widgets.quiz import Practice, Progress, Quiz, find_lesson, lesson_names, read_questions
from helpers.widgets.quiz.questions import FOLDER, all_lessons, answer_keys
from helpers.widgets.widget_code import LoadedWidget
from tests.shared import GOOD_FILE, for_each, question_file, unpack

LESSONS = lesson_names()
NOTEBOOKS = FOLDER.parent.parent / "notebooks"
WIDGETS = FOLDER.parent / "widgets"
QUIZ = WIDGETS / "quiz"
SCRIPTS = [WIDGETS / "answers.js", WIDGETS / "words.js", *sorted(QUIZ.glob("*.js"))]

OPTION = '[[question.option]]\ntext = "extra {}"\nwhy = "Because."\n'


def every_quiz():
    """(lesson, only) for every quiz that a notebook can show."""
    for lesson in LESSONS:
        found = read_questions(FOLDER / lesson / "questions.toml")[1]
        if any(question["kind"] == "check" for question in found):
            yield lesson, None
        yield from ((lesson, question["key"]) for question in found)


@pytest.fixture
def read(tmp_path):
    """Reads questions from a text."""

    def read(text):
        path = question_file(tmp_path, "77_test")
        path.write_text(text, encoding="utf-8")
        return read_questions(path)

    return read


@pytest.fixture
def show(tmp_path, monkeypatch):
    """A Quiz of questions given as a text; closed afterwards."""
    quizzes = []

    def show(text, only=None):
        question_file(tmp_path, "77_test").write_text(text, encoding="utf-8")
        monkeypatch.setattr("helpers.widgets.quiz.LESSON_FILES", tmp_path)
        monkeypatch.setattr("helpers.widgets.quiz.find_lesson", lambda lesson: find_lesson(lesson, tmp_path))
        quizzes.append(Quiz("77", only=only))
        return quizzes[-1]

    yield show
    for quiz in quizzes:
        quiz.close()


def twins(quiz):
    data, _ = quiz._repr_mimebundle_()
    return data["text/plain"], data["text/html"]


# The files that the lessons use


@for_each("lesson", LESSONS)
def test_every_question_file_of_the_lessons_is_valid(lesson):
    title, found = read_questions(FOLDER / lesson / "questions.toml")
    assert title and found
    for question in found:
        assert 3 <= len(question["options"]) == len(question["whys"]) <= 5
        assert all(why.endswith(".") for why in question["whys"]), question["key"]
        shown = [question["prompt"], *question["options"], *question["whys"]]
        assert not any(re.search(r"\*\w+\*|\]\(|\$", words) for words in shown), (
            question["key"],
            "shown as it is typed",
        )


# A number in a feedback, also "409 600"; not the digits of a name such as x0 or float16.
NUMBER = re.compile(r"(?<![\w.])\d[\d ]*(?<! )(?:\.\d+)?(?:e-?\d+)?(?!\w)")
# What is calculated with, before an equals sign or beside an operator, is reasoning: only its result can be seen.
REASONING = re.compile(r"[\d.e√()^²³·×/*+ -]*\d[\d.e√()^²³·×/*+ -]*=|\d[\d.]*(?: [·×/*+−] \d[\d.]*)+(?![.\d])")


def numbers_in(text):
    """The numbers of a text as they are written, without signs and without spaces between thousands."""
    return [found.replace(" ", "") for found in NUMBER.findall(text.replace("−", "-").replace(",", ";"))]


def seen_after(lesson, key):
    """The code, and what it puts out, from the question to the next heading of its lesson."""
    notebook = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    asking = [k for k, cell in enumerate(notebook["cells"]) if f'only="{key}"' in "".join(cell["source"])]
    assert len(asking) == 1, f"{lesson} asks {key} in {len(asking)} cells"
    parts = []
    for cell in notebook["cells"][asking[0] + 1 :]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and re.search("^#+ ", source, re.MULTILINE):
            break
        if cell["cell_type"] == "code" and "Quiz(" not in source:
            parts.append(source)
            for output in cell["outputs"]:
                parts.append("".join(output.get("text") or output.get("data", {}).get("text/plain", "")))
    return "\n".join(parts)


def quoted_but_not_seen(question, seen):
    """Numbers in the feedback of the right option that the question does not give and the lesson does not show.

    A quoted number may be rounded: 0.35 quotes an output of 0.3487.
    """
    given = numbers_in(" ".join([question["prompt"], question.get("code", ""), *question["options"]]))
    shown = [float(number) for number in numbers_in(seen)]
    missing = []
    for number in numbers_in(REASONING.sub("=", question["whys"][question["right"]])):
        digits = len(number.partition(".")[2].partition("e")[0])
        rounded = (round(value, digits) for value in shown)
        if number not in given and float(number) not in [*shown, *rounded]:
            missing.append(number)
    return missing


@for_each("lesson", LESSONS)
def test_quoted_numbers_are_seen_before_the_next_heading(lesson):
    for question in read_questions(FOLDER / lesson / "questions.toml")[1]:
        if question["kind"] == "prediction":
            assert quoted_but_not_seen(question, seen_after(lesson, question["key"])) == [], question["key"]


def test_a_quoted_number_is_found_when_rounded():
    question = {"prompt": "From 3 to 8?", "options": ["8", "9", "x0"], "right": 0}

    def missing(why, seen):
        return quoted_but_not_seen(question | {"whys": [why, "", ""]}, seen)

    assert missing("It is 0.35.", "gap 0.3487") == []
    assert missing("It is 0.36.", "gap 0.3487") == ["0.36"]
    assert missing("0.9^10 = 0.35 of 8 is left in `x0`, a float16.", "-0.3487 left") == []
    assert missing("A sum of 409 600.", "sum = 409600.0") == []
    assert missing("Below −1e-7.", "1e-07") == []
    assert missing("It takes 44 updates.", "x44 and 440") == ["44"]


def test_lessons_00_and_01_check_what_they_need():
    checks = {}
    for lesson in ("00_start_here", "01_axis_intuition"):
        found = read_questions(FOLDER / lesson / "questions.toml")[1]
        checks[lesson] = sum(question["kind"] == "check" for question in found)
    assert checks["00_start_here"] >= 3
    assert checks["01_axis_intuition"] >= 6


# What the form of a question gives away


def form_of(question):
    """What somebody sees who does not understand a word: {cue: one number for each option}."""
    options = question["options"]
    lengths = np.array([len(option) for option in options])
    form = {f"option {letter}": np.eye(5)[k][: len(options)] for k, letter in enumerate("ABCD")}
    form["the longest"] = lengths == lengths.max()
    form["the shortest"] = lengths == lengths.min()
    form["the second longest"] = np.array([np.sum(lengths > length) == 1 for length in lengths])
    for cue, pattern in WORDS.items():
        form[cue] = np.array([bool(re.search(pattern, option, re.IGNORECASE)) for option in options])
    return {cue: np.asarray(column, dtype=float) for cue, column in form.items()}


WORDS = {
    "a colon": ":",
    "'about'": r"\b(about|nearly|roughly|almost)\b",
    "a number": r"\d",
    "code": "`",
    "a comma": "[,;]",
    "no, all, only": r"\b(no|not|none|nothing|never|always|only|every|all)\b",
    "a reason": r"\b(because|since|so that|as)\b",
}


def learn(forms, rights):
    """How much each cue speaks for an option, fitted to questions whose right option is known.

    The option is drawn with probability softmax(form @ weights); Newton's method, weights kept small.
    """
    weights = np.zeros(forms[0].shape[1])
    for _ in range(6):
        gradient, curvature = -3 * weights, 3 * np.eye(len(weights))
        for form, right in zip(forms, rights, strict=True):
            chance = chances(form, weights)
            mean = chance @ form
            gradient += form[right] - mean
            curvature += (form.T * chance) @ form - np.outer(mean, mean)
        weights += np.linalg.solve(curvature, gradient)
    return weights


def chances(form, weights):
    scores = form @ weights
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def guess_by_form(questions):
    """(how often form alone finds the right option, how often blind chance does, {question: chance it gets}).

    `questions` is {lesson: its questions}; each lesson is guessed with what the other lessons taught.
    """
    forms = {
        lesson: [np.stack(list(form_of(q).values()), axis=1) for q in found] for lesson, found in questions.items()
    }
    rights = {lesson: [q["right"] for q in found] for lesson, found in questions.items()}
    found, blind, given_away = [], [], {}
    for lesson in questions:
        others = [other for other in questions if other != lesson]
        weights = learn(
            [form for other in others for form in forms[other]], [right for other in others for right in rights[other]]
        )
        for question, form, right in zip(questions[lesson], forms[lesson], rights[lesson], strict=True):
            chance = chances(form, weights)
            best = np.isclose(chance, chance.max())
            found.append(best[right] / best.sum())
            blind.append(1 / len(chance))
            given_away[f"{lesson}/{question['key']}"] = chance[right] - 1 / len(chance)
    return np.mean(found), np.mean(blind), given_away


@pytest.fixture(scope="module")
def questions():
    return {lesson: read_questions(FOLDER / lesson / "questions.toml")[1] for lesson in LESSONS}


def test_form_alone_gives_little_beyond_chance(questions):
    found, blind, given_away = guess_by_form(questions)
    worst = sorted(given_away, key=given_away.get, reverse=True)[:12]
    assert found <= blind + 0.08, (
        f"form alone finds {found:.0%}, blind chance {blind:.0%}; "
        f"these give themselves away most, so change length, place or wording of their options: {', '.join(worst)}"
    )


def test_the_guesser_finds_a_tell_that_is_planted(questions):
    planted = {
        lesson: [
            q | {"options": [option + " surely" * 9 * (k == q["right"]) for k, option in enumerate(q["options"])]}
            for q in found
        ]
        for lesson, found in questions.items()
    }
    assert guess_by_form(planted)[0] > 0.8


@for_each("cue", form_of({"options": ["a", "b", "c"]}))
def test_no_cue_of_one_option_tells(questions, cue):
    """Counted by hand, also for what is too rare for the guesser: the only "about" was right 6 of 9 times."""
    alone = {}
    for lesson, found in questions.items():
        for question in found:
            column = form_of(question)[cue]
            if column.sum() == 1:
                alone[f"{lesson}/{question['key']}"] = column[question["right"]] == 1
    right = [name for name, is_right in alone.items() if is_right]
    assert len(alone) < 6 or len(right) <= len(alone) / 2, (
        f"where one option alone has {cue}, it is right {len(right)} of {len(alone)} times: {', '.join(right)}"
    )


@for_each("lesson", LESSONS)
def test_right_options_are_not_mostly_the_longest(questions, lesson):
    longest = [
        q["key"]
        for q in questions[lesson]
        if len(q["options"][q["right"]]) > max(len(option) for k, option in enumerate(q["options"]) if k != q["right"])
    ]
    assert len(longest) <= len(questions[lesson]) / 2, f"the longest option is right in {', '.join(longest)}"


# The format


def test_a_good_file_gives_its_title_and_questions(read):
    title, found = read(GOOD_FILE + GOOD_FILE.split('title = "Test"')[1].replace('"one"', '"another"'))
    assert title == "Test"
    assert [question["key"] for question in found] == ["one", "another"]
    assert found[0]["options"] == ["`True`", "`False`", "An error"]
    assert found[0]["whys"][2] == "Numbers compare."
    assert found[0]["right"] == 0
    assert "code" not in found[0]


def test_code_keeps_its_lines_and_prompts_become_one(read):
    text = GOOD_FILE.replace('prompt = "What is `1 < 2`?"', 'prompt = """\nTwo\n  lines"""\ncode = """\nX = 1\n  X"""')
    (question,) = read(text)[1]
    assert question["prompt"] == "Two lines"
    assert question["code"] == "X = 1\n  X"
    (question,) = read(GOOD_FILE.replace('kind = "check"', 'kind = "check"\ncode = """\n\n    X = "`"  \n"""'))[1]
    assert question["code"] == '    X = "`"  '


def test_fingerprints_change_with_questions_but_not_explanations(read):
    def mark(old="", new=""):
        assert old in GOOD_FILE
        return read(GOOD_FILE.replace(old, new, 1) if old else GOOD_FILE)[1][0]["mark"]

    assert mark() == mark() == mark("Numbers compare.", "They do.") == mark('"Test"', '"T"')
    assert mark("An error", "A warning") != mark()
    assert mark("What is", "What was") != mark()
    one, two = (mark('kind = "check"', f'kind = "check"\ncode = "x = {number}"') for number in (1, 2))
    assert len({mark(), one, two}) == 3
    assert mark() == "890b3880"  # of this very question, also tomorrow: browsers keep answers under it
    swapped = GOOD_FILE.replace("right = true\n", "").replace('text = "An error"', 'text = "An error"\nright = true')
    assert read(swapped)[1][0]["mark"] != mark()


ASKED, GUESSED = (f'kind = "{kind}"\ngiveaway =' for kind in ("check", "prediction"))


@for_each(
    ("old", "new", "message"),
    [
        ('title = "Test"', "", "77_test/questions.toml: title is missing"),
        (
            'title = "Test"',
            'title = "Test"\nauthor = "me"',
            "77_test/questions.toml: unknown field 'author'; the fields here are title, question$",
        ),
        ('title = "Test"', "title = Test", "77_test/questions.toml: not valid TOML: .*line 1"),
        ('key = "one"', "", "question 1: key is missing"),
        ('key = "one"', "key = 1", "question 1: key must be text between quotes and not empty, got 1"),
        ('key = "one"', 'key = "One two"', "question 1: key 'One two' must be lower-case"),
        ('key = "one"', 'key = "one"\nkey = "one"', "77_test/questions.toml: not valid TOML"),
        ('key = "one"', 'key = "one"\nhint = "x"', r"question 1 \(one\): unknown field 'hint'"),
        ('kind = "check"', "", r"question 1 \(one\): kind is missing"),
        ('kind = "check"', 'kind = "exam"', "kind must be 'prediction' or 'check', got 'exam'"),
        ('prompt = "What is `1 < 2`?"', "", "prompt is missing"),
        ('prompt = "What is `1 < 2`?"', 'prompt = "  "', "prompt must be text between quotes and not empty"),
        ('prompt = "What is `1 < 2`?"', 'prompt = "What is `1?"', "prompt has a backtick without a partner"),
        ('prompt = "What is `1 < 2`?"', 'prompt = "x"\ncode = 3', "code must be text between quotes"),
        ('kind = "check"', f"{ASKED} ['x']", r"question 1 \(one\): giveaway belongs to predictions; take it out"),
        ('kind = "check"', f"{GUESSED} 'x'", r"question 1 \(one\): giveaway must be a list of patterns .*, got 'x'"),
        ('kind = "check"', f"{GUESSED} []", r"giveaway must be a list of patterns such as \['all NaN'\], got \[\]"),
        ('kind = "check"', f"{GUESSED} ['x', '']", "giveaway must be a list of patterns"),
        ('kind = "check"', f"{GUESSED} [1]", "giveaway must be a list of patterns"),
        ('kind = "check"', f"{GUESSED} ['(']", r"question 1 \(one\): giveaway '\(' is not a regular expression: "),
        ('why = "Numbers compare."', "", r"question 1 \(one\), option 3: why is missing"),
        ('why = "Numbers compare."', 'why = ""', "option 3: why must be text between quotes and not empty"),
        ('why = "Numbers compare."', "why = true", "option 3: why must be text between quotes"),
        ('why = "Numbers compare."', 'why = "x"\nscore = 2', "option 3: unknown field 'score'"),
        ('text = "An error"', "", "option 3: text is missing"),
        ('text = "An error"', 'text = "`False`"', "two options have the same text"),
        ("right = true", "", "0 options have right = true, expected exactly 1"),
        ("right = true", 'right = "true"', "option 1: right must be true or false without quotes, got 'true'"),
        ("right = true", "right = 1", "option 1: right must be true or false without quotes, got 1"),
        ('text = "An error"', 'text = "An error"\nright = true', "2 options have right = true"),
        (
            GOOD_FILE[GOOD_FILE.index('[[question.option]]\ntext = "An error"') :],
            "",
            "has 2 options, expected 3 to 5",
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_place(read, old, new, message):
    assert GOOD_FILE.count(old) == 1
    with pytest.raises(ValueError, match=message) as error:
        read(GOOD_FILE.replace(old, new))
    assert "77_test/questions.toml" in str(error.value)


def test_options_that_are_not_tables_are_refused(read):
    text = GOOD_FILE.split("[[question.option]]")[0] + 'option = ["A", "B", "C"]\n'
    where = r"77_test/questions.toml, question 1 \(one\)"
    with pytest.raises(ValueError, match=rf"^{where}: option must be written as \[\[question.option\]\], got \['A'"):
        read(text)


def test_questions_that_are_not_tables_are_refused(read):
    expected = r"^77_test/questions.toml: question must be written as \[\[question\]\], got 'What"
    with pytest.raises(ValueError, match=expected):
        read('title = "Test"\nquestion = "What?"\n')


def test_a_file_without_questions_is_refused(read):
    with pytest.raises(ValueError, match=r"77_test/questions.toml: has no questions"):
        read('title = "Test"\n')


def test_six_options_are_too_many(read):
    assert read(GOOD_FILE + OPTION.format(4) + OPTION.format(5))
    with pytest.raises(ValueError, match="has 6 options, expected 3 to 5"):
        read(GOOD_FILE + OPTION.format(4) + OPTION.format(5) + OPTION.format(6))


def test_a_key_used_twice_is_refused(read):
    with pytest.raises(
        ValueError, match="question 2: key 'one' is used twice; give every question of a file its own key$"
    ):
        read(GOOD_FILE + GOOD_FILE.split('title = "Test"')[1])


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    path = question_file(tmp_path, "77_test")
    path.write_bytes(GOOD_FILE.replace("Numbers", "N\xfcmbers").encode("latin-1"))
    with pytest.raises(ValueError, match="77_test/questions.toml: not UTF-8 text"):
        read_questions(path)


# All lessons at once, for the practice, the pages and the grading


def test_lessons_are_read_in_order_with_titles(monkeypatch, tmp_path, read):
    monkeypatch.setattr("helpers.widgets.quiz.questions.FOLDER", tmp_path)
    monkeypatch.setattr("helpers.widgets.quiz.questions.lesson_names", lambda: lesson_names(tmp_path))
    title, found = read(GOOD_FILE)
    question_file(tmp_path, "02_more").write_text(GOOD_FILE.replace('"Test"', '"More"'), encoding="utf-8")
    lessons = all_lessons()
    assert [(lesson["name"], lesson["title"]) for lesson in lessons] == [("02_more", "More"), ("77_test", "Test")]
    assert all(lesson["questions"] == found for lesson in lessons)


def test_an_answer_is_judged_without_its_questions_texts(read):
    title, found = read(GOOD_FILE + OPTION.format(4) + OPTION.format(5))
    lesson = {"name": "77_test", "title": title, "questions": found}
    question = {"key": "one", "right": 0, "mark": found[0]["mark"], "options": "ABCDE"}
    assert answer_keys(lesson) == {"name": "77_test", "title": "Test", "questions": [question]}
    assert answer_keys(lesson | {"questions": read(GOOD_FILE)[1]})["questions"][0]["options"] == "ABC"
    assert lesson["questions"] is found


# Choosing a lesson and a question


def test_a_lesson_is_found_by_a_unique_beginning(tmp_path):
    for name in ("01_axis", "01_axis_more", "02_batch"):
        question_file(tmp_path, name).touch()
    assert find_lesson("02", tmp_path) == "02_batch"
    assert find_lesson("01_axis", tmp_path) == "01_axis"
    assert find_lesson("01_axis_", tmp_path) == "01_axis_more"
    with pytest.raises(ValueError, match="'01' fits several lessons: '01_axis', '01_axis_more'"):
        find_lesson("01", tmp_path)


@for_each("lesson", ["99", "", "axis", "../quiz/01", 1, None, ["01"]])
def test_an_unknown_lesson_lists_those_that_exist(lesson):
    with pytest.raises(ValueError, match="'00_start_here', '01_axis_intuition'"):
        Quiz(lesson)


def test_an_unknown_question_lists_the_keys(show):
    with pytest.raises(ValueError, match="lesson '77_test' has no question 'two'; its keys are 'one'"):
        show(GOOD_FILE, only="two")


def test_no_check_questions_means_no_skill_check(show):
    text = GOOD_FILE.replace('"check"', '"prediction"')
    with pytest.raises(ValueError, match="has no questions of kind 'check'; its keys are 'one'"):
        show(text)
    assert show(text, only="one").kind == "prediction"


def test_the_skill_check_leaves_predictions_out(show):
    prediction = GOOD_FILE.split('title = "Test"')[1].replace('"one"', '"guess"').replace('"check"', '"prediction"')
    quiz = show(GOOD_FILE + prediction)
    assert quiz.kind == "check"
    assert [question["key"] for question in quiz.questions] == ["one"]


# What is sent and what is shown without widgets


@for_each(("lesson", "only"), list(every_quiz()))
def test_state_and_twins_are_small_plain_and_complete(lesson, only):
    quiz = Quiz(lesson, only=only)
    own = {name: quiz.get_state()[name] for name in ("lesson", "kind", "questions")}
    assert own["lesson"] == lesson
    assert len(json.dumps(own)) < (6000 if only is None else 1500)
    text, page = twins(quiz)
    squeezed = " ".join(text.split())
    for question in quiz.questions:
        for letter, option, why in zip("ABCDE", question["options"], question["whys"], strict=False):
            assert f"{letter}. {option}" in squeezed
            assert why not in squeezed
            assert _code(option) in page
            assert _code(why) in page.split("<details>")[1]
        assert _code(question["prompt"]) in page.split("<details>")[0]
        assert f"{'ABCDE'[question['right']]} is right.<br>" in page.split("<details>")[1]
    quiz.close()


@for_each("lesson", LESSONS)
def test_the_twins_are_the_same_each_time(lesson):
    quiz, again = Quiz(lesson), Quiz(lesson)
    assert (*twins(quiz), repr(quiz)) == (*twins(again), repr(again))
    quiz.close()
    again.close()


def _code(text):
    return re.sub("`(.*?)`", r"<code>\1</code>", html.escape(text))


def test_the_text_twin_is_prompt_and_options(show):
    text = show(GOOD_FILE.replace('"check"', '"prediction"\ncode = "x = 1"'), only="one")
    assert twins(text)[0] == "What is `1 < 2`?\n    x = 1\n  A. `True`\n  B. `False`\n  C. An error"


def test_the_html_twin_folds_the_right_letter_away(show):
    page = twins(show(GOOD_FILE))[1]
    assert "A is right." in page.split("<summary>Answers</summary>")[1]
    assert "is right" not in page.split("<details>")[0]


def test_the_widget_comes_with_both_twins(show):
    data, metadata = show(GOOD_FILE)._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"}
    assert metadata == {}


def test_the_repr_says_how_to_make_it_again(show):
    assert repr(show(GOOD_FILE)) == "Quiz('77_test')"
    assert repr(show(GOOD_FILE, only="one")) == "Quiz('77_test', only='one')"


# Text is text


def test_markup_is_escaped_in_the_html_twin(show):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script> & 'q' `<b>`"
    text = GOOD_FILE.replace("An error", evil).replace("Numbers compare.", evil).replace("What is `1 < 2`?", evil)
    text = text.replace('kind = "check"', f'kind = "check"\ncode = "</pre>{evil}"')
    found = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, attrs))

    Tags().feed(twins(show(text))[1])
    allowed = {"div", "p", "strong", "code", "pre", "br", "details", "summary"}
    assert found and all(tag in allowed and not attrs for tag, attrs in found)


@for_each("path", SCRIPTS, ids=lambda path: path.name)
def test_the_browser_reads_no_text_as_html(path):
    source = path.read_text(encoding="utf-8")
    for danger in (
        "innerHTML outerHTML insertAdjacentHTML document.write createContextualFragment DOMParser setHTML srcdoc "
        "eval Function( import( fetch( XMLHttpRequest http"
    ).split():
        assert danger not in source, danger


@for_each("path", SCRIPTS, ids=lambda path: path.name)
def test_the_browser_side_never_writes_to_the_model(path):
    assert set(re.findall(r"\bmodel\.(\w+)", path.read_text(encoding="utf-8"))) <= {"get"}


# The code of the widgets, which a notebook holds once for each kind


def test_a_widget_carries_little_beyond_its_codes_name(show):
    state = show(GOOD_FILE).get_state()
    assert len(state["_esm"]) < 700
    assert "_css" not in state
    assert state["code"] == f"IPY_MODEL_{show(GOOD_FILE).code.model_id}"


def test_widgets_of_one_kind_share_their_code(show):
    explorer = Explorer({"n": [1, 2]}, lambda n: [points([n], [n])], lambda n: f"{n}")
    first, second = show(GOOD_FILE), show(GOOD_FILE)
    assert first.code is second.code
    assert explorer.stage.code is not first.code
    assert explorer.stage.layout is first.layout is second.layout, "a notebook holds each of them too"
    for code, kind in ((first.code, Quiz), (explorer.stage.code, Stage)):
        assert (unpack(code.javascript), unpack(code.css)) == (kind.javascript, kind.css)
        assert "data-lm-suppress-shortcuts" in kind.javascript
    assert first.code.base is explorer.stage.code.base, "a notebook holds what all kinds share once"
    assert theme.css_variables() in unpack(first.code.base.css)
    explorer.close()


def test_widget_code_is_sent_before_the_first_widget(show, monkeypatch):
    show(GOOD_FILE).code.close()
    opened = []
    create = ipywidgets.widgets.widget.comm.create_comm

    def note(**options):
        opened.append(create(**options))
        return opened[-1]

    monkeypatch.setattr(ipywidgets.widgets.widget.comm, "create_comm", note)
    quiz = show(GOOD_FILE)
    assert opened.index(quiz.code.comm) < opened.index(quiz.comm)
    assert show(GOOD_FILE).code is quiz.code


def test_every_widget_of_ours_loads_its_code():
    assert all(issubclass(kind, LoadedWidget) for kind in (Quiz, Practice, Progress, Stage))


def test_kinds_have_names_of_no_module(show):
    assert show(GOOD_FILE)._anywidget_id == "normalization_notebooks.Quiz"
    assert Stage()._anywidget_id == "normalization_notebooks.Stage"


@for_each("path", [*SCRIPTS, *sorted(QUIZ.glob("*.css"))], ids=lambda path: path.name)
def test_colors_come_from_the_palette(path):
    source = path.read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|(?:rgb|hsl)a?\(|--jp-[a-z-]*color", source) == []
    used = set(re.findall(r"var\((--nn-[a-z-]+)", source))
    assert used <= set(re.findall(r"(--nn-[a-z-]+):", theme.css_variables()))


def test_the_questions_module_needs_only_the_standard_library():
    source = (QUIZ / "questions.py").read_text(encoding="utf-8")
    imported = re.findall(r"^(?:import|from) (\w+)", source, re.M)
    assert set(imported) == {"hashlib", "json", "pathlib", "re", "tomllib"}
