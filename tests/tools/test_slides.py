"""What becomes a slide, in which order and with which notes; without a browser, Sphinx or npm."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from tests.shared import EXAMPLES, lesson_of
from tools.learner.widget_state import STATE
from tools.lessons import VIEW, Lesson, tags_of
from tools.marks import defaults, marks_of, write_marks

pytest.importorskip("markdown_it", reason="authors have it")
pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import slides  # noqa: E402
from tools.publish.shown_code import found_by, listing  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def plain_formulas():
    """A formula is only told for whom it is typeset."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slides, "typeset", lambda words, display, output: f"<i class='{output}'></i>")
        yield


def words(source, **metadata):
    return {"cell_type": "markdown", "metadata": metadata, "source": source}


def code(source, printed="", model="", hidden=False, **data):
    data |= {VIEW: {"model_id": model}, "text/plain": "still"} if model else {}
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] * bool(printed)
    outputs += [{"output_type": "display_data", "metadata": {}, "data": data}] * bool(data)
    metadata = {"jupyter": {"source_hidden": hidden}}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs}


ASKED = {"prompt": "Who?", "options": ["I", "You"], "whys": ["Yes.", "No."], "right": 1}
MODELS = {
    "guess": {"state": {"kind": "prediction", "questions": [ASKED]}},
    "quiz": {"state": {"kind": "check", "questions": [ASKED, ASKED | {"prompt": "Who else?"}]}},
    "box": {"state": {"children": ["IPY_MODEL_slider"]}},
    "slider": {"state": {"description": "depth", "_options_labels": ["1", "2", "3", "4"]}},
}
TEXTS = {
    "title": "# 01 T: t?",
    "heading": "## 1 One",
    "subheading": "### More",
    "exercises": "## Exercises",
    "check-up": "## Skill check",
    "text": "Text.",
    "formula": "Because:\n\n$$x$$",
    "table": "| a |\n| --- |\n| 1 |",
    "trap": "> **Trap.** No.",
    "takeaway": "**Takeaway.** This.",
    "hint": "<details>Hint</details>",
}
CELLS = {name: words(source) for name, source in TEXTS.items()} | {
    "closed": words("### Deeper: x", **{"jp-MarkdownHeadingCollapsed": True}),
    "answer": words("So.", tags=["answer"]),
    "question": code('Quiz("01", only="a")', model="guess"),
    "quiz": code('Quiz("01")', model="quiz"),
    "explorer": code("# Explorer: x", model="box", hidden=True),
    "picture": code("# Picture: x", hidden=True, **{"image/png": ""}),
    "result": code("x = 1\nprint(x)", printed="42\n"),
    "check": code("# Check: x", printed="PASS - x: 1\n", hidden=True),
    "definition": code("def f(x):\n    return x"),
    "preparation": code("x = 1"),
    "folded": code("# Computation: f\ndef f(x): ...", hidden=True),
}


def cells_of(names):
    listed = names.split() if isinstance(names, str) else names
    return json.loads(
        json.dumps([CELLS["title"], *(CELLS.get(one, one) if isinstance(one, str) else one for one in listed)])
    )


def deck_of(names):
    """The slides after the title and the agenda, but for the homework."""
    nb = {"cells": cells_of(names), "metadata": {"widgets": {STATE: {"state": MODELS}}}}
    made, models = slides.prepared(nb, "01_t", Path())
    found = [slide for column in slides.Deck(Lesson("01_t", nb), made, models).columns for slide in column]
    assert [one.kind for one in found[:2] + found[-1:]] == ["title", "agenda", "home"]
    return found[2:-1]


def body(slide):
    return "\n".join("\n".join(part) for part in slide.body)


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        ("heading question heading table", "slide - slide -"),
        ("closed subheading result", "slide subslide -"),
        ("question explorer picture result definition table formula trap takeaway", "subslide " * 9),
        ("result text question", "subslide subslide -"),
        ("text folded question", "subslide skip -"),
        ("result answer question", "subslide fragment subslide"),
        ("result check text text", "subslide notes fragment notes"),
        ("result formula formula", "subslide fragment subslide"),
        ("result text folded explorer text", "subslide notes skip subslide notes"),
        ("question check check text", "subslide subslide notes fragment"),
        ("preparation folded hint", "skip skip skip"),
        ("exercises subheading text check-up question", "skip skip skip slide -"),
    ],
)
def test_marks_follow_the_card(cells, marks):
    assert defaults(cells_of(cells)) == ["slide", *marks.split()]


def test_an_author_decides_and_other_cells_get_their_marks():
    cells = cells_of("heading text result text")
    for cell, mark in zip(cells[2:], ["subslide", ""], strict=False):
        cell["metadata"]["slideshow"] = {"slide_type": mark}
    assert marks_of(cells) == ["slide", "slide", "subslide", "-", "fragment"]
    for _ in "twice":
        write_marks(cells)
        marks = [cell["metadata"]["slideshow"]["slide_type"] for cell in cells]
        assert marks == ["slide", "slide", "subslide", "", "fragment"], "JupyterLab writes '-' as an empty word"


def test_cells_join_appear_later_or_are_said():
    (slide,) = deck_of("heading result check formula text")
    assert slide.kind == "result" and slide.heading == "1 One" and slide.opens and slide.cells == [1, 2, 4]
    first, second = slide.body
    assert "42" in "".join(first) and "htmlAndMathml" in "".join(second)
    assert "mathml" in slide.notes[0] and "Text." in slide.notes[1] and slide.checked == ["✓ x: 1"]


def test_what_leads_to_an_explorer_is_said_with_it():
    before, slide = deck_of(["heading", "result", words("Move it."), "explorer", words("It moved.")])
    said = [re.sub("<.*?>", "", one).strip() for one in slide.notes]
    assert before.notes == [] and said == ["Move it.", "To move: depth (1, …, 4).", "It moved."]


def test_each_question_of_a_quiz_is_a_slide_with_answers_in_its_notes():
    first, second = deck_of("check-up quiz")
    assert [first.label, second.label] == ["Who?", "Who else?"] and first.cells[-1] == second.cells[-1]
    assert "Right: B." in first.notes[0] and "<i>You:</i> No." in first.notes[0]
    assert "Right" not in body(first) and first.seconds == 90


def test_a_discussion_comes_before_the_takeaway():
    heading = words("## 1 One", discussion={"question": "Who is right?", "good_answer": "Both are."})
    made = deck_of([heading, "result", "takeaway", "closed", "result"])
    assert [slide.kind for slide in made] == ["result", "discussion", "takeaway", "result"]
    assert "Who is right?" in body(made[1]) and "Both are." in made[1].notes[0] and made[1].seconds == 240
    assert [slide.core for slide in made] == [True, True, True, False] and made[3].section == "1 One"


def test_a_listing_leaves_out_what_only_formats():
    loop = "for k in range(2):\n    "
    kept = f"x = 1\n{loop}x += k\n    print(x)"
    told = f'{loop}told = f"{{k}}"\n    print(told)\nwith check_all("x"):\n    check_close("x", x, 1)\nprint(x)'
    assert listing(f"{kept}\n{told}") == kept and listing("print(1)") == ""
    (slide,) = deck_of([code("y = 2\nprint(y)", "2", hidden=True)])
    assert "code" not in body(slide), "folded code is not shown"


def test_checks_speak_to_a_class():
    said = "PASS - a: 4 checks\n  PASS - b: 1\nPASS - c: all 5 values are between 1 and 4, from\n       2 to 3\n"
    assert found_by(said + "FAIL - d: no\n") == ["✓ a", "✓ c: from 2 to 3", "✗ d: no"]
    (slide,) = deck_of([code("x = 1", "PASS - x: 1\nmean 2\n")])
    assert "mean 2" in body(slide) and "x: 1" not in body(slide)


# ------------------------------------------------------------------------------------------------ every lesson


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def built(request, tmp_path_factory):
    """A lesson and its deck; of every lesson, where everything is tested."""
    lesson = lesson_of(request.param)
    return lesson, slides.deck_page(lesson, tmp_path_factory.mktemp("pictures"), "..")


def test_nbconvert_makes_the_same_slides_in_the_same_order(built, tmp_path):
    lesson, _ = built
    nb = json.loads(json.dumps(lesson.nb))
    write_marks(nb["cells"])
    made, models = slides.prepared(nb, lesson.name, tmp_path)
    nbconvert = pytest.importorskip("nbconvert")
    # The code itself, which takes seconds to color, does not matter.
    plain = [cell | ({"source": "1", "outputs": []} if "outputs" in cell else {}) for cell in nb["cells"]]
    page, _ = nbconvert.SlidesExporter().from_notebook_node(nbformat.from_dict(nb | {"cells": plain}))
    page = re.sub(r'<aside class="notes">.*?</aside>', "", page, flags=re.DOTALL)
    theirs = [re.findall(r'id="cell-id=([\w-]+)"', part) for part in re.split(r"<section *>", page)]
    columns = slides.Deck(Lesson(lesson.name, nb), made, models).columns
    ours = [[nb["cells"][k]["id"] for k in one.cells] for column in columns for one in column if one.cells]
    alone = [ids for k, ids in enumerate(ours) if not k or ids != ours[k - 1][-1:]]  # a quiz is one slide there
    assert alone == [ids for ids in theirs if ids]


def test_a_deck_shows_pictures_but_no_check_solution_or_hint(built):
    lesson, deck = built
    shown = re.sub(r"<aside.*?</aside>", "", deck[: deck.index('id="widget-state"')], flags=re.DOTALL)
    assert not re.search(r"\b(PASS|FAIL|TODO) - ", shown) and '<span class="n">check_' not in deck
    pictures = re.findall(r"<img [^>]*>", shown)
    assert pictures and all(re.search(r'alt="[^"]{20,}', picture) for picture in pictures)
    for cell in lesson.nb["cells"]:
        hidden = re.findall(r"<details><summary>Hint.*?</summary>(.*?)</details>", cell["source"], re.DOTALL)
        hidden += [cell["source"].partition("\n")[0]] * bool({"solution", "exercise"} & {*tags_of(cell)})
        assert not any(text in shown for text in hidden), cell["source"]


def test_every_slide_has_notes(built):
    said = [re.sub("<.*?>", "", one).strip() for one in re.findall(r"<aside.*?</aside>", built[1], flags=re.DOTALL)]
    assert len(said) > 20 and min(map(len, said)) > 20


def test_deck_links_need_pages_for_the_glossary():
    link = '<a href="02_batch_dependence.ipynb#x">02</a> <a href="../notebooks/glossary.md#Eps">eps</a>'
    linked = '<a href="02_batch_dependence.html#x">02</a> <a href="../glossary.html#eps">eps</a>'
    assert slides.with_links(link, "..") == linked and slides.with_links(link, None).endswith("02</a> eps")
