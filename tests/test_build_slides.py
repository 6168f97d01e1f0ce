"""What becomes a slide, in which order and with which notes; without a browser, Sphinx or npm."""

import json
import re

import pytest
from lessons import LESSONS, core_minutes

pytest.importorskip("markdown_it", reason="authors have it")
pytest.importorskip("mdit_py_plugins", reason="authors have it")
import build_slides  # noqa: E402

MODELS = {
    "guess": {"state": {"questions": [{"key": "a", "prompt": "Why?", "whys": ["Short.", "The longest of all."]}]}},
    "check": {"state": {"questions": [{"key": k, "prompt": f"{k}?", "whys": ["So."]} for k in "bcd"]}},
    "box": {"state": {"children": ["IPY_MODEL_stage"]}},
    "stage": {"state": {"captions": ["one", "one and two"]}},
}


@pytest.fixture(autouse=True)
def plain_formulas(monkeypatch):
    """A formula as it is written, in marks that tell for whom it is typeset."""

    def typeset(words, display, output):
        return f"<i class='{output}'>{build_slides.html.escape(words)}</i>"

    monkeypatch.setattr(build_slides, "typeset", typeset)


def words(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source, *outputs, tags=()):
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": source, "outputs": list(outputs)}


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": [text]}


def live(model):
    """A widget, as the builder of the site hands it on."""
    html = f'<div class="live" data-model="{model}">\n<p>still</p>\n</div>'
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}


def question(model="guess"):
    return code('Quiz("01")', live(model), tags=["remove-input"])


def columns_of(*cells):
    return build_slides.columns_of([words("# 01 Title: a question?"), *cells], json.loads(json.dumps(MODELS)))


def slides_of(*cells):
    """The slides after the first one."""
    return [slide for column in columns_of(*cells) for slide in column.slides][1:]


def kinds_of(*cells):
    return [slide.kind for slide in slides_of(*cells)]


def body(slide):
    return "\n".join(slide.body)


# ------------------------------------------------------------------------------------------------ columns


def test_a_section_is_a_column_and_a_deeper_one_an_optional_column_of_its_own():
    made = columns_of(
        words("## 1 One"), words("### Inside"), words("### Deeper: why?"), words("### Back"), words("## 2 Two")
    )
    assert [(column.title, column.optional, len(column.slides)) for column in made[1:]] == [
        ("1 One", False, 2),
        ("Deeper: why?", True, 1),
        ("Back", False, 1),
        ("2 Two", False, 1),
    ]
    slide = build_slides.slide_html(made[2].slides[0], made[2])
    assert "<h2>Why?</h2>" in slide and "Deeper, optional" in slide


def test_traps_takeaways_lists_formulas_and_tables_are_slides():
    text = "## 1\n\n> **Trap.** No.\n\n**Takeaway.** Yes.\n\n- a\n- b\n\n$$x^2$$\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert kinds_of(words(text)) == ["section", "say", "say", "points", "formula", "table"]


def test_a_pipe_in_prose_is_no_table_and_what_looks_like_html_in_a_formula_stays_text():
    (slide,) = slides_of(words("## 1\n\nThe size of | x | is $a<b$."))
    assert slide.kind == "section" and "| x |" in body(slide) and "a&lt;b" in body(slide)


def test_a_long_table_is_several_each_with_the_head():
    rows = "\n".join(f"| {k} | {'word ' * 10} |" for k in range(30))
    slides = slides_of(words(f"## 1\n\n| k | v |\n| --- | --- |\n{rows}"))[1:]
    counts = [body(slide).count("<tr>") for slide in slides]
    assert sum(counts) == 30 + len(slides) and max(counts) - min(counts) <= 1 and len(slides) == 3
    assert all("<th>k</th>" in body(slide) for slide in slides)


# ------------------------------------------------------------------------------------------------ prose


LONG = "word " * (build_slides.LEAD_WORDS + 1)


def test_a_short_first_paragraph_and_short_code_stand_under_the_heading_the_rest_is_said():
    (slide,) = slides_of(words("## 1 One\n\nLook here.\n\nSay this."), code("x = 1"))[:1]
    assert "Look here." in body(slide) and "Say this." in "".join(slide.notes)
    (slide,) = slides_of(words("## 1 One\n\nLook here."), code("x = 1"))
    assert 'class="code"' in body(slide)
    (slide,) = slides_of(words(f"## 1 One\n\n{LONG}"))
    assert "word" not in body(slide) and "word" in "".join(slide.notes)


def test_the_paragraph_before_a_question_or_explorer_is_its_note_and_what_follows_too():
    text = f"## 1\n\n{LONG}\n\nSet up."
    slides = slides_of(words(text), question(), words("Told after."), code("f()", live("box"), tags=["hide-input"]))
    assert [slide.kind for slide in slides] == ["section", "question", "explorer"]
    assert "Set up." in slides[1].notes[0] and "Told after." in slides[2].notes[0]


def test_a_sentence_that_ends_in_a_colon_stands_above_what_it_announces():
    for block in ("- a\n- b", "$$x$$", "| a | b |\n| --- | --- |\n| 1 | 2 |"):
        slide = slides_of(words(f"## 1\n\nLead.\n\nThese two:\n\n{block}"))[-1]
        assert body(slide).startswith("<p>These two:</p>")
    slides = slides_of(words("## 1\n\nLead.\n\nThen:"), code("x", printed("1")))
    assert body(slides[-1]).startswith("<p>Then:</p>")


def test_formulas_in_notes_need_no_style_sheet():
    slide = slides_of(words(f"## 1\n\n{LONG} $x$\n\n$$y$$"))
    assert "class='mathml'>x" in slide[0].notes[0] and "class='htmlAndMathml'>y" in body(slide[1])


# ------------------------------------------------------------------------------------------------ code


def test_code_and_what_it_prints_share_a_slide_if_they_fit():
    short, long = "x = 1\n" * 5, "x = 1\n" * 17
    (both,) = slides_of(words("## 1\n\nLead."), code(short, printed("PASS - <one>\n")))[1:]
    assert 'class="printed"><b class="PASS">PASS</b> - &lt;one&gt;' in body(both)
    first, second = slides_of(words("## 1\n\nLead."), code(long, printed("1\n" * 4)))[1:]
    assert 'class="printed"' not in body(first) and 'class="code"' not in body(second)


def test_printed_lines_break_only_where_they_are_longer_than_a_slide():
    assert 'class="printed"' in build_slides.as_printed("x" * 100)
    assert 'class="printed wrapped"' in build_slides.as_printed("x" * 101)


def test_code_without_output_joins_what_comes_next_unless_there_are_words_between():
    assert kinds_of(words("## 1"), code("x = 1\n" * 9), code("x", printed("1"))) == ["section", "code"]
    assert kinds_of(words("## 1"), code("x = 1\n" * 9), words("Now."), code("x", printed("1"))) == [
        "section",
        "code",
        "code",
    ]


def test_the_code_of_pictures_setup_exercises_solutions_and_the_summary_does_not_appear():
    cells = [
        code("# Setup: imports", tags=["setup", "hide-input"]),
        code("# Picture: bars", printed("caption"), tags=["picture", "hide-input"]),
        code("def my_x(): ...", printed("TODO"), tags=["exercise"]),
        code("# Solution: my_x", printed("PASS"), tags=["solution", "hide-cell"]),
        code("summary()", printed("1 of 1")),
    ]
    text = "".join(body(slide) for slide in slides_of(words("## 1"), *cells))
    assert 'class="code"' not in text and "TODO" not in text and "PASS" not in text and "1 of 1" not in text
    assert "caption" in text


# ------------------------------------------------------------------------------------------------ widgets


def test_what_answers_a_question_comes_on_a_later_slide():
    slides = slides_of(words("## 1"), code("x = 1"), question(), code("print(x)", printed("42"), tags=["answer"]))
    assert [slide.kind for slide in slides] == ["section", "question", "code"]
    assert "42" not in body(slides[0]) + body(slides[1]) and "42" in body(slides[2])


def test_a_skill_check_comes_a_question_at_a_time_and_keeps_its_answers_where_the_lesson_does():
    models = json.loads(json.dumps(MODELS))
    columns = build_slides.columns_of([words("# 01 T"), words("## Skill check"), question("check")], models)
    slides = columns[1].slides[1:]
    ids = [re.search(r'data-model="(\w+)"', body(slide))[1] for slide in slides]
    assert [models[one]["state"]["questions"] for one in ids] == [[q] for q in MODELS["check"]["state"]["questions"]]
    assert "b?" in body(slides[0])


def test_the_place_of_a_widget_keeps_room_for_its_longest_words():
    slides = slides_of(words("## 1"), question(), code("f()", live("box"), tags=["hide-input"]))
    assert 'data-longest="Not quite. The longest of all."' in body(slides[1])
    assert 'data-longest="one and two"' in body(slides[2])


def test_an_exercise_is_one_slide_with_its_text_and_without_its_hints():
    text = "## Exercises\n\nReplace.\n\n### Exercise 1: x\n\nDo $x$:\n\n- a\n- b\n\nThen that."
    slides = slides_of(words(f"{text}\n\n<details><summary>Hint</summary>Secret.</details>"), words("## Skill check"))
    assert [slide.kind for slide in slides] == ["section", "exercise", "section"]
    assert "<li>a</li>" in body(slides[1]) and "Then that." in body(slides[1]) and "Secret" not in body(slides[1])


# ------------------------------------------------------------------------------------------------ every lesson


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    """{name: (notebook, deck)} of every lesson."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_slides, "typeset", lambda words, display, output: "<i></i>")
        folder = tmp_path_factory.mktemp("pictures")
        read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in LESSONS}
        return {name: (nb, build_slides.deck_page(name, nb, folder, "..")) for name, nb in read.items()}


def source_of(cell):
    return "".join(cell["source"])


def tagged(nb, tag):
    return [cell for cell in nb["cells"] if tag in cell["metadata"].get("tags", [])]


def test_no_deck_holds_a_solution_a_hint_or_a_stub(decks):
    for name, (nb, deck) in decks.items():
        for cell in [*tagged(nb, "solution"), *tagged(nb, "exercise")]:
            assert build_slides.as_code(source_of(cell)) not in deck and source_of(cell) not in deck, name
        hints = [
            hint
            for cell in nb["cells"]
            if cell["cell_type"] == "markdown"
            for hint in re.findall(r"<details><summary>Hint.*?</summary>(.*?)</details>", source_of(cell), re.DOTALL)
        ]
        assert len(hints) >= 1 and not any(hint in deck for hint in hints), name


def test_in_every_deck_the_answers_follow_their_predictions(decks):
    checked = 0
    for name, (nb, deck) in decks.items():
        place = -1
        for cell in nb["cells"]:
            source = source_of(cell)
            for output in cell.get("outputs", []):
                view = output.get("data", {}).get(build_slides.prepared.__globals__["VIEW"])
                if view and "only=" in source:
                    before, place = place, deck.index(f'data-model="{view["model_id"]}"')
                    assert before < place, name
            if "answer" in cell["metadata"].get("tags", []) and not cell["metadata"].get("jupyter"):
                assert deck.index(build_slides.as_code(source)) > place, (name, source)
                checked += 1
    assert checked > 80


def test_no_deck_shows_the_code_of_a_picture_and_every_picture_tells_what_it_shows(decks):
    for name, (nb, deck) in decks.items():
        shown = deck[: deck.index('id="widget-state"')]
        for cell in tagged(nb, "picture"):
            assert build_slides.html.escape(source_of(cell).splitlines()[0]) not in shown, name
        pictures = re.findall(r"<img [^>]*>", shown)
        assert pictures and all(re.search(r'alt="[^"]{20,}', picture) for picture in pictures), name


def test_the_minutes_in_the_notes_are_those_of_the_lesson(decks, tmp_path):
    for path in LESSONS:
        deck = decks[path.stem][1]
        told = [(int(a), int(b), int(c)) for a, b, c in re.findall(r"Minute (\d+) to (\d+) of about (\d+)", deck)]
        assert abs(told[-1][2] - core_minutes(path)) <= 1, path.stem
        assert told[0][0] == 0 and all(before[1] == after[0] for before, after in zip(told, told[1:], strict=False))


def test_a_deck_is_the_same_each_time(decks, tmp_path):
    name, (nb, deck) = next(iter(decks.items()))
    once = build_slides.deck_page(name, nb, tmp_path, "..")
    assert once == build_slides.deck_page(name, nb, tmp_path, "..")


def test_the_first_slide_says_what_when_and_where_to_read(decks):
    deck = decks["02_batch_dependence"][1]
    first = deck[: deck.index("</section>")]
    for part in (
        "02",
        "Batch dependence",
        "Why does my prediction change",
        "45 minutes",
        "../02_batch_dependence.html",
    ):
        assert part in first


def test_links_lead_to_other_decks_and_to_the_glossary_only_if_there_are_pages():
    link = '<a href="02_batch_dependence.ipynb#x">02</a> <a href="../notebooks/glossary.md#eps">eps</a>'
    assert build_slides.with_links(link, "..") == (
        '<a href="02_batch_dependence.html#x">02</a> <a href="../glossary.html#eps">eps</a>'
    )
    assert build_slides.with_links(link, None).endswith("02</a> eps")


def test_the_index_lists_every_deck(monkeypatch, tmp_path):
    monkeypatch.setattr(build_slides, "write_assets", lambda folder: None)
    assert build_slides.build(tmp_path / "slides", None) == len(LESSONS)
    index = (tmp_path / "slides" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{path.stem}.html"' in index for path in LESSONS)
    assert all((tmp_path / "slides" / f"{path.stem}.html").exists() for path in LESSONS)


def test_without_reveal_the_command_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(build_slides, "WEB", tmp_path)
    assert build_slides.main([str(tmp_path / "out")]) == 1
    assert "make slides" in capsys.readouterr().err
