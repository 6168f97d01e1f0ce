"""What the reading site makes of a notebook, without Sphinx and without a browser."""

import json

import pytest

from helpers.widgets.quiz.questions import all_lessons as all_questions
from tests.shared import LESSONS, lesson_of
from tools.learner.widget_state import STATE
from tools.lessons import VIEW, Lesson, role_of, tags_of
from tools.publish import cells

pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import site as build_site  # noqa: E402

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def code(source, *outputs, tags=(), hidden=False):
    metadata = {"tags": list(tags)} | ({"jupyter": {"source_hidden": True}} if hidden else {})
    return {"cell_type": "code", "source": [source], "metadata": metadata, "outputs": list(outputs)}


def figure(alt):
    data = {"image/png": PIXEL, "text/plain": alt}
    return {"output_type": "display_data", "data": data, "metadata": {"image/png": {"alt": alt}}}


def widget(model, **twins):
    data = {VIEW: {"model_id": model}} | twins
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def lesson(*made, models=None):
    metadata = {"widgets": {STATE: {"state": models}}} if models else {}
    first = {"cell_type": "markdown", "metadata": {}, "source": "# 01 Title: a question?"}
    return Lesson("01_title", {"cells": [first, *made], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def words(source, *tags):
    return {"cell_type": "markdown", "metadata": {"tags": list(tags)}, "source": source}


def page(folder, *made, models=None):
    """The cells of the page, without its heading and its head."""
    return build_site.lesson_page(lesson(*made, models=models), folder)["cells"][2:]


def html_of(cell, k=0):
    return cell["outputs"][k]["data"]["text/html"]


@pytest.mark.parametrize(
    ("cell", "role", "tag"),
    [
        (code("# Setup: imports", tags=["setup"], hidden=True), "setup", "hide-input"),
        (code("# Picture: bars\nbars()", hidden=True), "picture", "hide-input"),
        (code("# Solution: my_x\nmy_x = 1", tags=["solution"], hidden=True), "solution", "hide-cell"),
        (code('Quiz("01")', widget("a", **{"text/html": "<p>?</p>"})), "widget", "remove-input"),
        (code("x = 1", printed("1")), "code", None),
        (code("summary()"), "summary", None),
    ],
)
def test_picture_and_solution_code_is_folded(cell, role, tag, tmp_path):
    assert role_of(cell) == role
    made = page(tmp_path, cell, models={"a": {"model_name": "AnyModel", "state": {}}})[0]
    assert made["metadata"]["tags"] == tags_of(cell) + [tag] * bool(tag)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["c", "a", "told", "c"], ["c", ["a"], "told", "c"]),
        (["c", "A:told", "question", "c"], ["c", ["told"], "question", "c"]),
        (["a", "A:told", "a", "more", "# H"], [["a", "told", "a"], "more", "# H"]),
        (["c", "a"], ["c", ["a"]]),
        (["# Deeper: x\n\none line", "c", "told", "# H", "c"], ["# Deeper: x\n\none line", ["c", "told"], "# H", "c"]),
        (["# Deeper: x", "c"], ["# Deeper: x", ["c"]]),
    ],
)
def test_folds_hold_what_answers_or_goes_deeper(given, shown):
    """c: code, a: code that answers, A: text that answers, otherwise text; a list: what stands in one fold."""

    def cell(kind):
        if kind in ("c", "a"):
            return code(kind, tags=["answer"] * (kind == "a")) | {"source": kind}
        return words(kind.removeprefix("A:"), *["answer"] * kind.startswith("A:"))

    found, fold = [], None
    for made in build_site.with_deeper_closed(build_site.with_covers(list(map(cell, given)))):
        if made["source"].startswith("<details"):
            fold = []
        elif made["source"] == build_site.END_OF_FOLD:
            found, fold = [*found, fold], None
        else:
            (found if fold is None else fold).append(made["source"])
    assert found == shown


def test_a_picture_file_has_caption_and_alternative_text(tmp_path):
    (cell,) = page(tmp_path, code("show(fig)", figure("3 < 4"), printed("3 < 4\n")))
    assert len(cell["outputs"]) == 1, "the caption stands once"
    assert html_of(cell).count("3 &lt; 4") == 2
    (file,) = tmp_path.glob("*.png")
    assert file.read_bytes().startswith(b"\x89PNG") and file.name in html_of(cell)


def test_a_widget_has_a_place_and_page_state(tmp_path):
    models = {"a": {"model_name": "AnyModel", "state": {"code": "IPY_MODEL_b", "text": "</script>"}}}
    models |= {"b": {"model_name": "WidgetModel", "state": {}}, "c": {"model_name": "Other", "state": {}}}
    cell = code("Quiz()", widget("a", **{"text/html": "<p>Question?</p>", "text/plain": "Question?"}))
    quiz, script = page(tmp_path, cell, models=models)
    assert 'class="live" data-model="a"' in html_of(quiz) and "<p>Question?</p>" in html_of(quiz)
    assert script["source"].count("</script>") == 1
    state = json.loads(script["source"].partition(">")[2].removesuffix("</script>"))
    assert set(state) == {"a", "b"} and state["a"]["state"]["text"] == "</script>"
    assert "widgets" not in build_site.lesson_page(lesson(cell, models=models), tmp_path)["metadata"]


def test_lesson_links_lead_to_pages_and_others_stay(tmp_path):
    made = cells.with_links_to_pages({"links": ['href="02_batch_dependence.ipynb#top"', "https://a.b/02_x.ipynb"]})
    assert made["links"] == ['href="02_batch_dependence.html#top"', "https://a.b/02_x.ipynb"]
    (text,) = page(tmp_path, words('<a href="02_x.ipynb#a">x</a> [eps](../notebooks/glossary.md#Eps)'))
    assert text["source"] == '<a href="02_x.html#a">x</a> [eps](glossary.md#eps)'


def test_services_are_offered_only_with_an_address():
    silent = build_site.head("01_x", "")
    assert "make lab" in silent and "download/01_x.ipynb" in silent
    assert not [word for word in ("clone", "http", "Run in the browser") if word in silent]
    told = build_site.head("01_x", "https://github.com/ada/norms", "run/")
    assert "git clone https://github.com/ada/norms lessons\nmake -C lessons lab" in told
    assert 'href="run/lab/index.html?path=01_x.ipynb"' in told and "downloads 25 to 30 MB" in told
    assert "\n\n" not in silent + told, "a blank line would end the HTML"


def test_progress_lines_know_the_questions_without_their_texts():
    script = build_site.how_far_script()
    questions = [q for lesson in all_questions() for q in lesson["questions"]]
    assert len(questions) > 100 and all(f'"mark": "{q["mark"]}"' in script for q in questions)
    assert not any(text in script for q in questions for text in [q["prompt"], *q["whys"]])


def test_other_pages_show_what_lessons_show(tmp_path):
    pages = build_site.other_pages([lesson_of(path) for path in LESSONS], tmp_path)
    assert set(pages) == {"index", "progress"}
    for name, page in pages.items():
        assert page.count('class="live" data-model=') == 1 and page.count('id="widget-state"') == 1, name
        shown = page.partition('<div class="cell">')[2].partition("</div>")[0].strip()
        assert "\n\n" not in shown, "a blank line would end the HTML"
    for path in LESSONS:
        assert f'href="{path.stem}.html"' in pages["index"] and f"<{path.stem}>" in pages["index"]
        assert pages["index"].index("how_far.js") > pages["index"].index(f'data-lesson="{path.stem}"')


def test_a_page_cell_missing_in_lessons_says_so(tmp_path):
    with pytest.raises(build_site.LessonError, match="'landing'"):
        build_site.other_page("landing", [lesson()], build_site.is_playground, tmp_path)
