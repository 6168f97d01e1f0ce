"""What the reading site makes of a notebook, without Sphinx and without a browser."""

import json

import build_site
import pytest
from lessons import LESSONS, ROOT
from widget_state import VIEW

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


def notebook(*cells, models=None):
    metadata = {"widgets": {build_site.widget_state.STATE: {"state": models}}} if models else {}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def html_of(cell, k=0):
    return cell["outputs"][k]["data"]["text/html"]


@pytest.mark.parametrize(
    "cell, tag",
    [
        (code("# Picture: bars\nbars()", hidden=True), "hide-input"),
        (code("# Solution: my_x\nmy_x = 1", tags=["solution"], hidden=True), "hide-cell"),
        (code('Quiz("01")', [widget("a", **{"text/html": "<p>?</p>"})]), "remove-input"),
    ],
)
def test_code_of_pictures_and_solutions_is_folded_and_a_line_that_only_shows_a_widget_is_left_out(cell, tag):
    build_site.fold(cell)
    assert cell["metadata"]["tags"][-1] == tag


def test_visible_code_stays_visible():
    cell = code("x = 1", [printed("1")], tags=["answer"])
    build_site.fold(cell)
    assert cell["metadata"]["tags"] == ["answer"]


def test_a_picture_is_a_file_with_its_words_as_caption_and_alternative_text(tmp_path):
    made = build_site.page(notebook(code("show(fig)", [figure("3 < 4"), printed("3 < 4\n")])), "x", tmp_path)
    (cell,) = made["cells"]
    assert len(cell["outputs"]) == 1, "the caption stands once"
    assert html_of(cell).count("3 &lt; 4") == 2
    (file,) = tmp_path.glob("*.png")
    assert file.read_bytes().startswith(b"\x89PNG") and file.name in html_of(cell)


def test_a_widget_has_a_place_with_what_stands_there_until_it_lives_and_its_state_on_the_page(tmp_path):
    models = {"a": {"model_name": "AnyModel", "state": {"code": "IPY_MODEL_b", "text": "</script>"}}}
    models |= {"b": {"model_name": "WidgetModel", "state": {}}, "c": {"model_name": "Other", "state": {}}}
    cell = code("Quiz()", [widget("a", **{"text/html": "<p>Question?</p>", "text/plain": "Question?"})])
    made = build_site.page(notebook(cell, models=models), "x", tmp_path)
    assert 'class="live" data-model="a"' in html_of(made["cells"][0])
    assert "<p>Question?</p>" in html_of(made["cells"][0])
    script = made["cells"][1]["source"]
    assert script.count("</script>") == 1
    state = json.loads(script.partition(">")[2].removesuffix("</script>"))
    assert set(state) == {"a", "b"} and state["a"]["state"]["text"] == "</script>"
    assert "widgets" not in made["metadata"]


def test_links_to_other_lessons_lead_to_pages_and_links_elsewhere_stay():
    made = build_site.with_links_to_pages({"links": ['href="02_batch_dependence.ipynb#top"', "https://a.b/02_x.ipynb"]})
    assert made["links"] == ['href="02_batch_dependence.html#top"', "https://a.b/02_x.ipynb"]


def test_services_are_offered_only_where_the_address_of_the_repository_is_known():
    silent = build_site.run_it_yourself("01_x", "")
    assert "make lab" in silent and "download/01_x.ipynb" in silent
    assert "binder" not in silent and "colab" not in silent and "clone" not in silent and "http" not in silent
    told = build_site.run_it_yourself("01_x", "https://github.com/ada/norms")
    assert "git clone https://github.com/ada/norms\nmake -C norms lab" in told
    assert "https://mybinder.org/v2/gh/ada/norms/HEAD?urlpath=lab/tree/notebooks/01_x.ipynb" in told
    assert "https://colab.research.google.com/github/ada/norms/blob/HEAD/notebooks/01_x.ipynb" in told
    elsewhere = build_site.run_it_yourself("01_x", "https://git.school.edu/norms.git")
    assert "make -C norms lab" in elsewhere and "binder" not in elsewhere


def test_the_block_has_no_blank_line_which_would_end_its_html():
    for repository in ("", "https://github.com/ada/norms"):
        assert "\n\n" not in build_site.run_it_yourself("01_x", repository)


def test_what_fills_the_lines_of_progress_is_the_code_of_the_widgets_and_has_no_text_of_a_question():
    script = build_site.progress_script()
    quiz = ROOT / "helpers" / "quiz"
    assert all(build_site.slim(quiz / name) in script for name in ("answers.js", "lessons.js"))
    questions = [q for lesson in build_site.all_lessons() for q in lesson["questions"]]
    assert len(questions) > 100 and all(f'"mark": "{q["mark"]}"' in script for q in questions)
    assert not any(text in script for q in questions for text in [q["prompt"], *q["whys"]])


def test_a_lesson_and_the_list_have_an_empty_line_for_the_progress_with_the_script_after_it(tmp_path):
    nb = json.loads(LESSONS[1].read_text(encoding="utf-8"))
    page = build_site.lesson_page(nb, LESSONS[1].stem, tmp_path, "")["cells"][1]["source"]
    rows = build_site.lesson_list({LESSONS[1].stem: nb})
    for text in (page, rows):
        assert f'data-lesson="{LESSONS[1].stem}"></' in text
        assert text.endswith(build_site.PROGRESS_SCRIPT) and text.count("<script") == 1
    assert 'data-lesson=""></a>' in rows, "that of all lessons"


def test_the_lines_of_the_search_leave_out_scripts_and_folds():
    pytest.importorskip("docutils")
    import search_lines

    source = "<p>A <b>mean</b> &lt; 1</p><script>x</script><details open><p>secret</p></details><p>end<details>also"
    assert [line for line in search_lines.lines_of_html(source) if line] == ["A mean < 1", "end"]


def test_the_landing_page_has_the_chosen_explorer_and_every_lesson(tmp_path):
    lessons = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in LESSONS}
    _, cell = build_site.explorer_cell(lessons)
    assert build_site.LANDING[1] in cell["source"][0]
    made = build_site.landing_page(lessons, ["Glossary <glossary>"], tmp_path)
    text = json.dumps(made)
    assert all(f'href=\\"{path.stem}.html\\"' in text and f"<{path.stem}>" in text for path in LESSONS)
    assert not any(word in made["cells"][-2]["source"] for word in ("LESSONS", "ENTRIES", "OTHERS", "EXPLORER"))


def test_the_setting_in_pyproject_is_empty_until_an_address_is_public():
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    assert set(settings) == {"repository"} and isinstance(settings["repository"], str)
