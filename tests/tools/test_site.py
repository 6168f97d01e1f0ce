"""What the reading site makes of a notebook, without Sphinx and without a browser."""

import importlib.util
import json

import pytest

from helpers.widgets.quiz.questions import all_lessons as all_questions
from tests.shared import LESSONS, ROOT, for_each, lesson_of
from tools.learner.widget_state import STATE
from tools.lessons import VIEW, Lesson, role_of
from tools.publish import cells, lite

pytest.importorskip("mdit_py_plugins", reason="authors have it")
from tools.publish import site as build_site  # noqa: E402

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def code(source, outputs=(), *, tags=(), hidden=False):
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


@for_each(
    "cell, role, tag",
    [
        (code("# Setup: imports", tags=["setup"], hidden=True), "setup", "hide-input"),
        (code("# Picture: bars\nbars()", hidden=True), "picture", "hide-input"),
        (code("# Solution: my_x\nmy_x = 1", tags=["solution"], hidden=True), "solution", "hide-cell"),
        (code('Quiz("01")', [widget("a", **{"text/html": "<p>?</p>"})]), "widget", "remove-input"),
        (code("x = 1", [printed("1")], tags=["answer"]), "code", None),
        (code("summary()"), "summary", None),
    ],
)
def test_picture_and_solution_code_is_folded(cell, role, tag, tmp_path):
    assert role_of(cell) == role
    (made,) = page(tmp_path, cell, models={"a": {"model_name": "AnyModel", "state": {}}})[:1]
    assert made["metadata"]["tags"] == cell["metadata"]["tags"] + [tag] * bool(tag)


def test_answering_texts_stand_between_marks_on_pages(tmp_path):
    plain, answer = page(tmp_path, words('<a href="02_x.ipynb#a">x</a>'), words("Because.", "answer"))
    assert plain["source"] == '<a href="02_x.html#a">x</a>'
    assert answer["source"] == "<!-- answer -->\n\nBecause.\n\n<!-- end of answer -->"


def test_a_picture_file_has_caption_and_alternative_text(tmp_path):
    (cell,) = page(tmp_path, code("show(fig)", [figure("3 < 4"), printed("3 < 4\n")]))
    assert len(cell["outputs"]) == 1, "the caption stands once"
    assert html_of(cell).count("3 &lt; 4") == 2
    (file,) = tmp_path.glob("*.png")
    assert file.read_bytes().startswith(b"\x89PNG") and file.name in html_of(cell)


def test_a_widget_has_a_place_and_page_state(tmp_path):
    models = {"a": {"model_name": "AnyModel", "state": {"code": "IPY_MODEL_b", "text": "</script>"}}}
    models |= {"b": {"model_name": "WidgetModel", "state": {}}, "c": {"model_name": "Other", "state": {}}}
    cell = code("Quiz()", [widget("a", **{"text/html": "<p>Question?</p>", "text/plain": "Question?"})])
    quiz, script = page(tmp_path, cell, models=models)
    assert 'class="live" data-model="a"' in html_of(quiz)
    assert "<p>Question?</p>" in html_of(quiz)
    assert script["source"].count("</script>") == 1
    state = json.loads(script["source"].partition(">")[2].removesuffix("</script>"))
    assert set(state) == {"a", "b"} and state["a"]["state"]["text"] == "</script>"
    assert "widgets" not in build_site.lesson_page(lesson(cell, models=models), tmp_path)["metadata"]


def test_lesson_links_lead_to_pages_and_others_stay():
    made = cells.with_links_to_pages({"links": ['href="02_batch_dependence.ipynb#top"', "https://a.b/02_x.ipynb"]})
    assert made["links"] == ['href="02_batch_dependence.html#top"', "https://a.b/02_x.ipynb"]


def test_services_are_offered_only_with_an_address():
    silent = build_site.head("01_x", "")
    assert "make lab" in silent and "download/01_x.ipynb" in silent
    assert "binder" not in silent and "colab" not in silent and "clone" not in silent and "http" not in silent
    told = build_site.head("01_x", "https://github.com/ada/norms")
    assert "git clone https://github.com/ada/norms\nmake -C norms lab" in told
    assert "https://mybinder.org/v2/gh/ada/norms/HEAD?urlpath=lab/tree/notebooks/01_x.ipynb" in told
    assert "https://colab.research.google.com/github/ada/norms/blob/HEAD/notebooks/01_x.ipynb" in told
    elsewhere = build_site.head("01_x", "https://git.school.edu/norms.git")
    assert "make -C norms lab" in elsewhere and "binder" not in elsewhere


def test_the_html_block_has_no_blank_line():
    for repository in ("", "https://github.com/ada/norms"):
        assert "\n\n" not in build_site.head("01_x", repository)


def test_progress_lines_need_only_widget_code():
    script = build_site.how_far_script()
    bundle = (ROOT / "tools" / "publish" / "web" / "bundle" / "how_far.js").read_text(encoding="utf-8")
    assert bundle in script and "helpers/widgets/answers.js" in bundle
    questions = [q for lesson in all_questions() for q in lesson["questions"]]
    assert len(questions) > 100 and all(f'"mark": "{q["mark"]}"' in script for q in questions)
    assert not any(text in script for q in questions for text in [q["prompt"], *q["whys"]])


SCRIPT = '<script src="_static/how_far.js"></script>'


def test_progress_has_an_empty_line_before_its_script(tmp_path):
    head = build_site.head("01_axis_intuition", "")
    assert 'data-lesson="01_axis_intuition"></' in head and head.endswith(SCRIPT)
    index = build_site.other_pages([lesson_of(path) for path in LESSONS], tmp_path)["index"]
    places = [index.index(f'data-lesson="{name}"></') for name in ["", *(path.stem for path in LESSONS)]]
    assert min(places) > 0 and index.index(SCRIPT) > max(places) and index.count("<script src") == 1


def test_search_lines_leave_out_scripts_and_folds():
    pytest.importorskip("docutils")
    from tools.publish import search_lines

    source = "<p>A <b>mean</b> &lt; 1</p><script>x</script><details open><p>secret</p></details><p>end<details>also"
    assert [line for line in search_lines.lines_of_html(source) if line] == ["A mean < 1", "end"]


def test_other_pages_show_what_lessons_show(tmp_path):
    pages = build_site.other_pages([lesson_of(path) for path in LESSONS], tmp_path)
    assert set(pages) == {"index", "explorers", "progress", "claims"}
    explorers = pages.pop("explorers")
    drawn = sum(path.read_text(encoding="utf-8").count("# Explorer: ") for path in LESSONS)
    assert explorers.count("<img ") == drawn > 17 and explorers.count('<a href="') == drawn
    for name, page in pages.items():
        assert page.count('class="live" data-model=') == 1 and page.count('id="widget-state"') == 1, name
        shown = page.partition('<div class="cell">')[2].partition("</div>")[0].strip()
        assert "\n\n" not in shown, "a blank line would end the HTML"
    assert all(f'href="{path.stem}.html"' in pages["index"] for path in LESSONS)
    assert all(f"<{path.stem}>" in pages["index"] for path in LESSONS)
    assert 'alt="' in pages["index"] and "](15_practice.ipynb)" not in pages["claims"]


def test_a_page_cell_missing_in_lessons_says_so(tmp_path):
    with pytest.raises(build_site.LessonError, match="'landing'"):
        build_site.other_page("landing", [lesson()], build_site.is_playground, tmp_path)


def test_the_public_address_starts_empty():
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    assert set(settings) == {"repository", "address", "pyodide", "run"}
    assert all(isinstance(address, str) for address in settings.values())


# ------------------------------------------------------------------------------------------------ covers


@pytest.fixture
def conf(monkeypatch):
    pytest.importorskip("myst_nb", reason="`make site` installs it")
    monkeypatch.setenv("SITE_STATIC", "")
    spec = importlib.util.spec_from_file_location("settings_of_sphinx", build_site.WEB / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def covers(conf, *kinds):
    """What stands in each cover, and outside, of a section with such nodes: c(ell), a(nswer), <, >, text, H(eading)."""
    from docutils import nodes

    def node(kind):
        if kind in "<>":
            return nodes.raw("", "<!-- answer -->" if kind == "<" else "<!-- end of answer -->", format="html")
        if kind in "ca":
            return nodes.container(nb_element="cell_code", classes=["cell"] + ["tag_answer"] * (kind == "a"))
        return nodes.section() if kind == "H" else nodes.paragraph("", kind)

    made = [node(kind) for kind in kinds]
    named = dict(zip(map(id, made), kinds, strict=True))
    section = nodes.section("", *made)
    conf.cover_answers(nodes.container("", section))
    return [[named[id(n)] for n in one] if isinstance(one, conf.Cover) else named[id(one)] for one in section]


def test_covers_end_before_the_next_cell_or_heading(conf):
    assert covers(conf, "c", "a", "told", "c", "H") == ["c", ["a", "told"], "c", "H"]
    assert covers(conf, "c", "<", "told", ">", "next question", "c") == ["c", ["<", "told", ">"], "next question", "c"]
    assert covers(conf, "a", "<", "told", ">", "a", "more", "H") == [["a", "<", "told", ">", "a", "more"], "H"]
    assert covers(conf, "a", "told", "leads on:", "c") == [["a", "told"], "leads on:", "c"]


def test_a_page_links_only_to_existing_runnable_lessons():
    assert "Run in the browser" not in build_site.head("01_x", "")
    head = build_site.head("01_x", "", "run/", 26)
    assert 'href="run/lab/index.html?path=01_x.ipynb"' in head and "downloads about 26 MB" in head
    plain, picture = lesson(code("print(1)")), lesson(code("fig, ax = new_figure()"))
    assert lite.megabytes(plain.nb) < lite.megabytes(picture.nb)


def test_the_landing_page_names_existing_ways_in(tmp_path):
    known = {"lessons": [lesson()], "shown": "", "state": "", "megabytes": 1}
    two, three = (build_site.fill("landing.md", run=run, **known) for run in ("", "run/"))
    assert "There are two ways in" in two and "run/" not in two
    places = [three.index(way) for way in ("**Read here.**", "**Run in the browser.**", "**Install.**")]
    assert "There are three ways in" in three and places == sorted(places)
