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
from helpers.widgets.quiz import Quiz, lesson_names, read_questions
from helpers.widgets.quiz.questions import FOLDER
from tests.shared import GOOD_FILE, ROOT, question_file, unpack
from tests.shared import read as read_notebook

QUESTIONS = {lesson: read_questions(FOLDER / lesson / "questions.toml")[1] for lesson in lesson_names()}
WIDGETS = FOLDER.parent / "widgets"

OPTION = '[[question.option]]\ntext = "extra {}"\nwhy = "Because."\n'
AGAIN = GOOD_FILE.split('title = "Test"')[1]
every_lesson = pytest.mark.parametrize("lesson", QUESTIONS)


@pytest.fixture
def read(tmp_path):
    """Reads questions from a text."""

    def read(text, encoding="utf-8"):
        path = question_file(tmp_path, "77_test")
        path.write_text(text, encoding=encoding)
        return read_questions(path)

    return read


@pytest.fixture
def show(tmp_path, monkeypatch):
    """A Quiz of questions given as a text; closed afterwards."""
    quizzes = []
    monkeypatch.setattr("helpers.widgets.quiz.LESSON_FILES", tmp_path)

    def show(text=GOOD_FILE, only=None):
        question_file(tmp_path, "77_test").write_text(text, encoding="utf-8")
        quizzes.append(Quiz("77_test", only=only))
        return quizzes[-1]

    yield show
    for quiz in quizzes:
        quiz.close()


def twins(quiz):
    data, metadata = quiz._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"} and metadata == {}
    return data["text/plain"], data["text/html"]


# The questions of the lessons


@every_lesson
def test_feedback_is_sentences_and_no_markdown(lesson):
    for question in QUESTIONS[lesson]:
        assert all(why.endswith(".") for why in question["whys"]), question["key"]
        shown = "\n".join([question["prompt"], *question["options"], *question["whys"]])
        assert not re.search(r"\*\w+\*|\]\(|\$", shown), f"{question['key']} is shown as it is typed"


def seen_after(lesson, key):
    """The code, and what it puts out, from the question to the next heading of its lesson."""
    cells = read_notebook(ROOT / "notebooks" / f"{lesson}.ipynb").cells
    (asking,) = (k for k, cell in enumerate(cells) if f'only="{key}"' in cell.source)
    parts = []
    for cell in cells[asking + 1 :]:
        if cell.cell_type == "markdown" and re.search("^#+ ", cell.source, re.MULTILINE):
            break
        if cell.cell_type == "code" and "Quiz(" not in cell.source:
            outputs = (output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
            parts += [cell.source, *outputs]
    return "\n".join(parts)


@every_lesson
def test_quoted_numbers_are_seen_before_the_next_heading(lesson):
    """Those with a decimal point, outside of a root; they may be rounded: 0.35 quotes an output of 0.3487."""
    for question in QUESTIONS[lesson]:
        if question["kind"] == "prediction":
            given = " ".join([question["prompt"], question.get("code", ""), *question["options"]])
            seen = re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", given + " " + seen_after(lesson, question["key"]))
            why = re.sub(r"√\([^)]*\)", "", question["whys"][question["right"]])
            for number in re.findall(r"\d+\.\d+(?:e-?\d+)?", why):
                digits = len(number.partition("e")[0].partition(".")[2])
                rounded = (round(float(value), digits) for value in seen)
                assert number in seen or float(number) in rounded, (question["key"], number)


# What the form of a question gives away to somebody who does not understand a word

WORDS = {
    "a colon": ":",
    "'about'": r"\b(about|nearly|roughly|almost)\b",
    "a number": r"\d",
    "code": "`",
    "a comma": "[,;]",
    "no, all, only": r"\b(no|not|none|nothing|never|always|only|every|all)\b",
    "a reason": r"\b(because|since|so that|as)\b",
}


def cues_of(options):
    """{cue: for each option whether it has it}"""
    lengths = np.array([len(option) for option in options])
    places = {f"the place {letter}": np.arange(len(options)) == k for k, letter in enumerate("ABCD")}
    sizes = {"the most letters": lengths == lengths.max(), "the fewest letters": lengths == lengths.min()}
    words = {cue: np.array([bool(re.search(p, o, re.IGNORECASE)) for o in options]) for cue, p in WORDS.items()}
    return {**places, **sizes, **words}


@pytest.mark.parametrize("cue", cues_of(["a", "b", "c"]))
def test_no_cue_of_one_option_tells(cue):
    found = {}
    for lesson, questions in QUESTIONS.items():
        for question in questions:
            column = cues_of(question["options"])[cue]
            if column.sum() == 1:
                found[f"{lesson}/{question['key']}"] = column[question["right"]]
    right = [name for name, is_right in found.items() if is_right]
    assert len(found) < 6 or len(right) <= len(found) / 2, (
        f"where one option alone has {cue}, it is right {len(right)} of {len(found)} times: {', '.join(right)}"
    )


# The format


def test_a_good_file_gives_its_title_and_questions(read):
    title, found = read(GOOD_FILE + AGAIN.replace('"one"', '"another"'))
    assert title == "Test" and [question["key"] for question in found] == ["one", "another"]
    assert found[0] == {
        "key": "one",
        "kind": "check",
        "prompt": "What is `1 < 2`?",
        "options": ["`True`", "`False`", "An error"],
        "whys": ["One is smaller.", "One is not larger.", "Numbers compare."],
        "right": 0,
        "mark": "890b3880",  # of this very question, also tomorrow: browsers keep answers under it
    }
    assert len(read(GOOD_FILE + OPTION.format(4) + OPTION.format(5))[1][0]["options"]) == 5


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
    swapped = GOOD_FILE.replace("right = true\n", "").replace('text = "An error"', 'text = "An error"\nright = true')
    assert read(swapped)[1][0]["mark"] != mark()


BROKEN = [
    ('title = "Test"', 'title = "Test"\nauthor = "me"', "unknown field 'author'; the fields here are title, question$"),
    ('title = "Test"', "title = Test", "not valid TOML in UTF-8: .*line 1"),
    ('key = "one"', "key = 1", 'question 1: key = "..." must be text between quotes and not empty, got 1'),
    ('key = "one"', 'key = "One two"', "question 1: key 'One two' must be lower-case"),
    ('key = "one"', 'key = "one"\nhint = "x"', r"question 1 \(one\): unknown field 'hint'"),
    ('kind = "check"', 'kind = "exam"', "kind must be 'prediction' or 'check', got 'exam'"),
    ('prompt = "What is `1 < 2`?"', 'prompt = "What is `1?"', "prompt has a backtick without a partner"),
    ('prompt = "What is `1 < 2`?"', 'prompt = "x"\ncode = 3', "code = .* must be text between quotes"),
    ('why = "Numbers compare."', 'why = "  "', r"\(one\), option 3: why = "),
    ('why = "Numbers compare."', 'why = "x"\nscore = 2', "option 3: unknown field 'score'"),
    ('text = "An error"', 'text = "`False`"', "3 to 5 .* with different texts"),
    ('why = "Numbers compare."\n', 'why = "x"\n' + "".join(map(OPTION.format, range(3))), "expected 3 to 5"),
    *(("right = true", bad, "expected right = true, .* on exactly 1 option") for bad in ("", "right = 1")),
    ('text = "An error"', 'text = "An error"\nright = true', "on exactly 1 option"),
    (GOOD_FILE[GOOD_FILE.index("[[question]]") :], "", "expected one or more .*question"),
    (GOOD_FILE[GOOD_FILE.index("[[question]]") :], 'question = "?"', r"question must be written as \[\[question\]\]"),
    (GOOD_FILE[GOOD_FILE.index("[[question]]") :], 'question = ["?"]', r"must be written as \[\[question\]\]"),
    ('why = "Numbers compare."\n', f'why = "x"\n{AGAIN}', r"each with its own key, got the keys \['one', 'one'\]"),
]


def test_a_broken_file_is_refused_with_its_place(read):
    for old, new, message in BROKEN:
        assert GOOD_FILE.count(old) == 1
        with pytest.raises(ValueError, match=f"^77_test/questions.toml.*{message}"):
            read(GOOD_FILE.replace(old, new))
    with pytest.raises(ValueError, match="77_test/questions.toml: not valid TOML in UTF-8"):
        read(GOOD_FILE.replace("Numbers", "N\xfcmbers"), encoding="latin-1")


# Choosing a lesson and a question


def test_an_unknown_lesson_lists_those_that_exist():
    for lesson in ["99", "", "axis", "../quiz/01", 1, None, ["01"]]:
        with pytest.raises(ValueError, match="^Quiz: lesson must name one of '00_start_here', '01_axis_intuition'"):
            Quiz(lesson)


def test_skill_checks_leave_out_predictions_and_unknown_keys(show):
    guess = GOOD_FILE.replace('"check"', '"prediction"')
    quiz = show(GOOD_FILE + guess.split('title = "Test"')[1].replace('"one"', '"guess"'))
    assert quiz.kind == "check" and [question["key"] for question in quiz.questions] == ["one"]
    assert show(guess, only="one").kind == "prediction"
    for text, only, wanted in ((GOOD_FILE, "two", "key 'two'"), (GOOD_FILE, 3, "key "), (guess, None, "kind 'check'")):
        with pytest.raises(ValueError, match=f"lesson '77_test' has no question with {wanted}.*; its keys are 'one'"):
            show(text, only=only)


# What is sent and what is shown without widgets


@every_lesson
def test_state_and_twins_are_small_plain_and_complete(lesson):
    keys = [question["key"] for question in QUESTIONS[lesson]]
    for only in [*keys, *([None] if any(q["kind"] == "check" for q in QUESTIONS[lesson]) else [])]:
        quiz = Quiz(lesson, only=only)
        assert quiz.lesson == lesson and len(json.dumps(quiz.questions)) < (6000 if only is None else 1500)
        text, page = twins(quiz)
        asked, answers = page.split("<details>")
        for question in quiz.questions:
            assert _code(question["prompt"]) in asked and f"{'ABCDE'[question['right']]} is right.<br>" in answers
            for letter, option, why in zip("ABCDE", question["options"], question["whys"], strict=False):
                assert f"{letter}. {option}" in " ".join(text.split()) and why not in " ".join(text.split())
                assert f"{letter}. {_code(option)}" in asked and f"{letter}: {_code(why)}" in answers
        quiz.close()


def _code(text):
    return re.sub("`(.*?)`", r"<code>\1</code>", html.escape(text))


# Text is text


def test_markup_is_escaped_in_the_html_twin(show):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script> & 'q' `<b>`"
    text = GOOD_FILE.replace("An error", evil).replace("Numbers compare.", evil).replace("What is `1 < 2`?", evil)
    found = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, attrs))

    Tags().feed(twins(show(text.replace('kind = "check"', f'kind = "check"\ncode = "</pre>{evil}"')))[1])
    allowed = {"div", "p", "strong", "code", "pre", "br", "details", "summary"}
    assert found and all(tag in allowed and not attrs for tag, attrs in found)


# The code of the widgets, which a notebook holds once for each kind


def test_widgets_of_one_kind_share_their_code(show):
    explorer = Explorer({"n": [1, 2]}, lambda n: [points([n], [n])], lambda n: f"{n}")
    first, second, stage = show(), show(), explorer.stage
    state = first.get_state()
    assert len(state["_esm"]) < 700 and "_css" not in state and state["code"] == f"IPY_MODEL_{first.code.model_id}"
    assert first.code is second.code and stage.code is not first.code
    assert stage.layout is first.layout is second.layout, "a notebook holds each of them too"
    for code, kind in ((first.code, Quiz), (stage.code, Stage)):
        assert (unpack(code.javascript), unpack(code.css)) == (kind.javascript, kind.css)
        assert "data-lm-suppress-shortcuts" in kind.javascript
    assert first.code.base is stage.code.base and theme.css_variables() in unpack(first.code.base.css)
    explorer.close()


def test_widget_code_is_sent_before_the_first_widget(show, monkeypatch):
    show().code.close()
    opened = []
    create = ipywidgets.widgets.widget.comm.create_comm
    noted = lambda **options: opened.append(create(**options)) or opened[-1]  # noqa: E731
    monkeypatch.setattr(ipywidgets.widgets.widget.comm, "create_comm", noted)
    quiz = show()
    assert opened.index(quiz.code.comm) < opened.index(quiz.comm)
    assert show().code is quiz.code
