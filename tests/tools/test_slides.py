"""What becomes a slide, in which order and with which notes; without a browser, Sphinx or npm."""

import html
import json
import re

import pytest

from tests.shared import EXAMPLES, lesson_of
from tools.lessons import VIEW, Lesson, tags_of
from tools.publish import plan
from tools.publish.shown_code import checked_words, printed_words, shown_code

pytest.importorskip("markdown_it", reason="authors have it")
pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import pages  # noqa: E402
from tools.publish import slides as build_slides  # noqa: E402


def asked(key, *whys):
    options = [f"option {k}" for k in range(len(whys))]
    return {"key": key, "prompt": f"Question {key}?", "options": options, "whys": list(whys), "right": 1}


MODELS = {
    "guess": {"state": {"questions": [asked("a", "Short.", "The longest of all.")]}},
    "check": {"state": {"questions": [asked(key, "So.", "And so.") for key in "bcd"]}},
    "box": {"state": {"children": ["IPY_MODEL_stage"]}},
    "stage": {"state": {"captions": ["one", "one and two"]}},
}
DISCUSSION = {"question": "Who is right?", "good_answer": "Both are."}


@pytest.fixture(autouse=True)
def plain_formulas(monkeypatch):
    """A formula as it is written, in marks that tell for whom it is typeset."""

    def typeset(words, display, output):
        return f"<i class='{output}'>{html.escape(words)}</i>"

    monkeypatch.setattr(build_slides, "typeset", typeset)


def words(source, **metadata):
    return {"cell_type": "markdown", "metadata": metadata, "source": source}


def code(source, *outputs, role="code"):
    return {"cell_type": "code", "metadata": {"role": role}, "source": source, "outputs": list(outputs)}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def live(model):
    """A widget, as the builder of the site hands it on."""
    place = f'<div class="live" data-model="{model}">\n<p>still</p>\n</div>'
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": place}}


def question(model="guess"):
    return code('Quiz("01")', live(model), role="widget")


def explorer():
    return code("# Explorer: x", live("box"), role="picture")


def columns_of(*cells):
    first = words("# 01 Title: a question?")
    lesson = Lesson("01_title", {"cells": [first, *cells]})
    return build_slides.columns_of(lesson, [first, *cells], json.loads(json.dumps(MODELS)))


def slides_of(*cells):
    """The slides of the sections."""
    return [slide for column in columns_of(*cells)[1:-1] for slide in column.slides]


def kinds_of(*cells):
    return [slide.kind for slide in slides_of(*cells)]


def body(slide):
    return "\n".join([*slide.before, *slide.body])


def notes(slide):
    return "\n".join(slide.notes)


LONG = "Word " + "word " * build_slides.LEAD_WORDS + "end."


# ------------------------------------------------------------------------------------------------ columns


def test_deeper_sections_are_optional_columns():
    text = [
        "## 1 One\n\na",
        "### Inside\n\nb",
        "### Deeper: why?\n\nc",
        "#### More\n\nd",
        "### Back\n\ne",
        "## 2 Two\n\nf",
    ]
    made = columns_of(*map(words, text))
    assert [(column.title, column.section, column.optional) for column in made[1:-1]] == [
        ("1 One", "1 One", False),
        ("Deeper: why?", "1 One", True),
        ("Back", "1 One", False),
        ("2 Two", "2 Two", False),
    ]
    assert made[2].name == "Why?" and "<h2>More</h2>" in body(made[2].slides[-1])


def test_a_deck_begins_with_title_and_ends_home():
    made = columns_of(words("## 1 One\n\na"), words("## Exercises\n\nb"), words("## Your notes\n\nIn your words."))
    assert [slide.kind for slide in made[0].slides] == ["title", "agenda"]
    assert [column.title for column in made[1:]] == ["1 One", "At home"]
    assert "In your words." in body(made[-1].slides[0])


def test_a_section_ends_in_discussion_and_takeaway():
    cells = [words("## 1 One\n\nLook.", discussion=DISCUSSION), words("**Takeaway.** This:\n\n$$x$$\n\n## 2 Two\n\nb")]
    slide = slides_of(*cells)[1]
    assert slide.kind == "discuss" and slide.discussion == DISCUSSION and "Both are." in notes(slide)
    assert "Takeaway" in body(slide) and "htmlAndMathml" in body(slide)
    (slide,) = slides_of(words("## 1 One\n\n> **Trap.** No.", discussion=DISCUSSION))
    assert "Trap" in slide.before[0], "a trap by itself joins the discussion"


# ------------------------------------------------------------------------------------------------ prose


def test_what_predictions_need_stands_before_them():
    (slide,) = slides_of(words("## 1\n\nA ruler has 1024 marks."), question())
    assert "1024 marks" in body(slide)
    before, slide = slides_of(words(f"## 1\n\nA ruler. {LONG}"), question())
    assert before.kind == "section" and "A ruler." in body(before) and "A ruler." not in body(slide)


def test_explanations_stand_below_their_results():
    text = f"The first sentence. {LONG}"
    _, slide = slides_of(words("## 1\n\nx"), question(), code("print(1)", printed("1")), words(text))
    assert "The first sentence." in body(slide) and "end." not in body(slide) and "end." in notes(slide)
    *_, slide = slides_of(words("## 1\n\nx"), question(), explorer(), words(f"**Bold.** {LONG[:200]}"))
    assert slide.kind == "text" and "Bold." in body(slide), "a word in bold is worth a slide"
    *_, slide = slides_of(words("## 1\n\nx"), question(), explorer(), words("Plain."))
    assert slide.kind == "explorer" and "Plain." in notes(slide)


def test_the_task_stands_above_its_explorer():
    (slide,) = slides_of(words("## 1\n\nLeft is a, right is b. **Move a far up.** What changes?"), explorer())
    assert "Move a far up." in slide.body[0] and "What changes?" in slide.body[0] and "Left is" not in body(slide)
    assert "Left is a" in notes(slide)


def test_a_colon_stands_above_what_it_announces():
    for block in ("- a\n- b", "$$x$$", "| a | b |\n| --- | --- |\n| 1 | 2 |", "> **Trap.** No."):
        (slide,) = slides_of(words(f"## 1\n\nThese two:\n\n{block}"))
        assert body(slide).startswith("<p>These two:</p>")
    (slide,) = slides_of(words("## 1\n\nThen:"), code("print(1)", printed("1")))
    assert body(slide).startswith("<p>Then:</p>")


# ------------------------------------------------------------------------------------------------ code

CELL = """
def long(x):
    a = x
    b = a
    c = b
    return c


total = long(2)
share = total / 3
for k in range(2):
    part = k
    check_close("part", part, k)
print(total)
check_close("share", share, 2 / 3)
""".strip()


def test_code_is_shown_without_checks_and_long_definitions():
    assert shown_code(CELL) == "total = long(2)\nprint(total)"
    assert shown_code("def short(x):\n    return x") == "def short(x):\n    return x"
    assert shown_code("check_true('a', x)") == ""


def test_prints_and_checks_are_separated():
    text = "PASS - a: 1\n  and more\nmean 2\nPASS - b: 3\n"
    assert printed_words(text) == "mean 2\n" and checked_words(text) == "a: 1\n  and more\nb: 3\n"


def test_code_and_what_it_printed_share_a_slide():
    (slide,) = slides_of(words("## 1\n\nLook."), code("print(41 + 1)", printed("42")))
    assert slide.kind == "result" and 'class="code"' in body(slide) and "42" in body(slide)


def test_check_only_cells_appear_where_they_answer_questions():
    checks = code("x = 1\ncheck_close('x', x, 1)", printed("PASS - x: 1\n"))
    assert kinds_of(words("## 1"), checks) == []
    hidden = code("# What it finds\ncheck_close('x', x, 1)", printed("PASS - x: 1\n"), role="picture")
    definition = code("def f(x):\n    return x")
    for cells in ([question(), checks], [question(), definition, hidden], [words("This:"), checks]):
        *_, slide = slides_of(words("## 1"), *cells)
        assert "x: 1" in body(slide) and "PASS" not in body(slide) and "check" not in body(slide)


def test_pages_leave_out_code_of_pictures_and_solutions():
    cells = [
        code("# Setup: imports", role="setup"),
        code("# Picture: bars", printed("caption"), role="picture"),
        code("def my_x(): ...", printed("TODO"), role="exercise"),
        code("# Solution: my_x", printed("PASS"), role="solution"),
        code("summary()", printed("1 of 1"), role="summary"),
    ]
    text = "".join(body(slide) for slide in slides_of(words("## 1"), *cells))
    assert 'class="code"' not in text and "TODO" not in text and "PASS" not in text and "1 of 1" not in text
    assert "caption" in text


# ------------------------------------------------------------------------------------------------ widgets


def test_answers_come_on_later_slides():
    slides = slides_of(words("## 1\n\nLook."), code("x = 1"), question(), code("print(x)", printed("42")))
    assert [slide.kind for slide in slides] == ["result", "question", "result"]
    assert "42" not in body(slides[0]) + body(slides[1]) and "42" in body(slides[2])


def test_notes_hold_letters_and_words_for_options():
    (slide,) = slides_of(words("## 1"), question())
    assert "Right: B." in notes(slide) and "<b>A</b> Short." in notes(slide) and "<b>B</b> The longest" in notes(slide)
    assert slide.question["key"] == "a" and "Right" not in body(slide)


def test_a_skill_check_asks_questions_one_by_one():
    models = json.loads(json.dumps(MODELS))
    lesson = Lesson("01_t", {"cells": [words("# 01 T: t?"), words("## Skill check"), question("check")]})
    slides = build_slides.columns_of(lesson, lesson.nb["cells"], models)[1].slides
    ids = [re.search(r'data-model="(\w+)"', body(slide))[1] for slide in slides]
    assert [models[one]["state"]["questions"] for one in ids] == [[q] for q in MODELS["check"]["state"]["questions"]]
    assert "Question b?" in body(slides[0])


def test_answering_texts_come_after_their_questions_on_slides():
    answer = words("Because it is so.", tags=["answer"])
    slides = slides_of(words("## 1"), question(), answer, question())
    assert [slide.kind for slide in slides] == ["question", "text", "question"]
    assert "Because" in body(slides[1]) and "Because" not in body(slides[2]) + body(slides[0])


# ------------------------------------------------------------------------------------------------ every lesson


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def built(request, tmp_path_factory):
    """A lesson and its deck; of every lesson, where everything is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_slides, "typeset", lambda words, display, output: "<i></i>")
        lesson = lesson_of(request.param)
        return lesson, build_slides.deck_page(lesson, tmp_path_factory.mktemp("pictures"), "..")


def test_a_deck_shows_pictures_but_no_check_solution_or_hint(built):
    lesson, deck = built
    slides, shown = re.sub(r"<aside.*?</aside>", "", deck, flags=re.DOTALL), deck[: deck.index('id="widget-state"')]
    assert not re.search(r"^(PASS|FAIL|TODO) - ", slides, re.MULTILINE) and '<span class="n">check_' not in deck
    pictures = re.findall(r"<img [^>]*>", shown)
    assert pictures and all(re.search(r'alt="[^"]{20,}', picture) for picture in pictures)
    for cell in lesson.nb["cells"]:
        source, tags = cell["source"], {*tags_of(cell)}
        hidden = re.findall(r"<details><summary>Hint.*?</summary>(.*?)</details>", source, re.DOTALL)
        hidden += [source, build_slides.as_code(source)] * bool(tags & {"solution", "exercise"})
        assert not any(text in deck for text in hidden), source
        assert "picture" not in tags or html.escape(source.splitlines()[0]) not in shown, source


def test_in_a_deck_the_answers_follow_their_predictions(built):
    lesson, deck = built
    place, checked = -1, 0
    for cell in lesson.nb["cells"]:
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(VIEW)
            if view and "only=" in cell["source"]:
                before, place = place, deck.index(f'data-model="{view["model_id"]}"')
                assert before < place
        if "answer" in tags_of(cell) and cell["cell_type"] == "code" and not cell["metadata"].get("jupyter"):
            shown = build_slides.as_code(shown_code(cell["source"]))
            if shown in deck:
                assert deck.index(shown) > place, cell["source"]
                checked += 1
    assert checked or lesson.number in ("00", "16")


def test_notes_have_the_minutes_of_the_plan_and_slides_fill_them(built):
    lesson, deck = built
    told = [tuple(map(int, found)) for found in re.findall(r"Minute (\d+) to (\d+) of (\d+)", deck)]
    totals = [section.total for section in plan.sections_of(lesson.parts) if section.minutes + section.talk]
    assert told == [(start, end, totals[-1]) for start, end in zip([0, *totals], totals, strict=False)]
    columns = r'data-minutes="(\d+)" data-talk="(\d+)">(.*?)</section>\n</section>'
    for minutes, talk, slides in re.findall(columns, deck, re.DOTALL):
        seconds = sum(map(int, re.findall(r'data-timing="(\d+)"', slides)))
        assert minutes == "0" or seconds >= 60 * (int(minutes) + int(talk)) - 30


def test_deck_links_need_pages_for_the_glossary():
    link = '<a href="02_batch_dependence.ipynb#x">02</a> <a href="../notebooks/glossary.md#eps">eps</a>'
    assert build_slides.with_links(link, "..") == (
        '<a href="02_batch_dependence.html#x">02</a> <a href="../glossary.html#eps">eps</a>'
    )
    assert build_slides.with_links(link, None).endswith("02</a> eps")


def test_without_reveal_the_command_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(pages, "WEB", tmp_path)
    assert build_slides.main([str(tmp_path / "out")]) == 1
    assert "make slides" in capsys.readouterr().err
