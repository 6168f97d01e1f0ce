"""The slides in a real browser, opened as files: alive, of the right size, and with keys that do what they should."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.browser.conftest import ROOT, serious
from tests.shared import EXAMPLES
from tools.lessons import Lesson, all_lessons

slides = pytest.importorskip("tools.publish.slides", reason="authors have what it needs")
LESSON, LONG, TABLES = "02_batch_dependence", "06_epsilon_and_float16", "14_choosing_a_norm"
READY = "document.documentElement.dataset.deck == 'ready'"
SMALLEST = 20  # pixels of a letter on a slide of 1280 x 720
SMALL_BY_NATURE = ".katex, .mark.cells, .explorer-play, .hint, .practice, .filter-table, option"
TOO_TALL = ()  # a slide of each; the build names them
PAGES = re.compile(rb"/Type\s*/Page\b(?!s)")
SLIDE = "section.present:not(.stack)"
every_example = pytest.mark.parametrize("lesson", [path.stem for path in EXAMPLES])


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    """The folder of the decks that are tried."""
    if not os.environ.get("BROWSER_REQUIRED") and not (ROOT / "tools/publish/web/node_modules/reveal.js").is_dir():
        pytest.skip("the slides' packages are not installed: run `make test-browser`")
    wanted = {LESSON, LONG, TABLES, *(path.stem for path in EXAMPLES)}
    folder = tmp_path_factory.mktemp("decks") / "slides"
    slides.write([lesson for lesson in all_lessons() if lesson.name in wanted], folder, "..")
    return folder


@pytest.fixture
def present(visit_inside, decks):
    """present(name, query, **options of the browser context) opens a deck and waits until it stands."""

    def present(name=LESSON, query="", **options):
        options = {"ready": READY, "viewport": {"width": 1280, "height": 720}} | options
        return visit_inside(decks.as_uri(), f"/{name}.html{query}", **options)

    return present


def go_to(page, kind):
    """Show the first slide of a kind."""
    slide = f"Reveal.getIndices(document.querySelector('.sheet.is-{kind}').closest('section'))"
    page.evaluate(f"(({{ h, v }}) => Reveal.slide(h, v))({slide})")


def place(page):
    return page.evaluate("Reveal.getCurrentSlide().id")


# For every slide, with its controls at their ends and with its answer: [its id, what is wrong, words].
PROBLEMS = """async ([smallest, natural]) => {
  const found = [];
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  function look(slide) {
    const fit = slide.querySelector(".fit");
    const box = fit.parentElement.getBoundingClientRect();
    for (const e of [fit, ...fit.querySelectorAll("*")].filter((one) => !one.closest(natural))) {
      const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const { left, right, top, bottom, width } = e.getBoundingClientRect();
      if (!width || !(own || e.matches("img, svg, input, select, button, table, pre"))) continue;
      const far = Math.max(box.left - left, right - box.right, box.top - top, bottom - box.bottom);
      const drawing = e.closest("svg");
      const zoom = drawing ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : fit.currentCSSZoom;
      const size = own ? parseFloat(getComputedStyle(e).fontSize) * zoom : smallest;
      if (far < (drawing ? 8 : 2.5) && size > smallest - 0.1) continue;
      found.push([slide.id, `leaves by ${far}, letters of ${size}`, e.textContent.trim().slice(0, 40)]);
    }
  }
  for (const slide of Reveal.getSlides().filter((one) => !("tooTall" in one.dataset))) {
    const { h, v } = Reveal.getIndices(slide);
    Reveal.slide(h, v);
    look(slide);
    for (const range of slide.querySelectorAll("input[type=range]")) {
      for (const end of [0, range.max]) {
        Object.assign(range, { value: end }).dispatchEvent(new Event("input"));
        await frame();
        look(slide);
      }
    }
    slide.querySelector(".is-question")?.setAttribute("data-vote", "answer");
    look(slide);
  }
  return found;
}"""


@every_example
def test_slides_hold_everything_at_readable_size(present, lesson):
    page = present(lesson, "?fresh")
    assert page.locator(".live:not([data-alive])").count() == 0
    assert page.evaluate(PROBLEMS, [SMALLEST, SMALL_BY_NATURE]) == []
    assert page.locator("[data-too-tall]").count() <= (lesson[:2] in TOO_TALL)


def test_the_command_names_a_slide_that_is_too_tall(tmp_path, monkeypatch, capsys):
    cells = ["# 01 Long: how long?", "**Takeaway.** Short.", "> **Trap.** Long." + "\n>\n> And more." * 40]
    cells = [{"cell_type": "markdown", "metadata": {}, "source": source} for source in cells]
    monkeypatch.setattr(slides, "all_lessons", lambda: [Lesson("01_long", {"cells": cells, "metadata": {}})])
    with ThreadPoolExecutor() as other:  # playwright allows one browser for each thread
        assert other.submit(slides.main, [str(tmp_path / "decks")]).result() == 0
    named, made = capsys.readouterr().out.splitlines()
    assert named.startswith("01_long, cell 3: ") and named.endswith(": Trap. Long.") and made.startswith("1 decks")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def leave_out(page, slide):
    press(page, "Escape")
    page.wait_for_selector(".overview .leave-out >> nth=0")
    page.locator(f"#{slide} .leave-out").click()
    press(page, "Escape")
    page.wait_for_function(f"!document.querySelector('.overview') && !document.querySelector('#{slide}')")


def test_a_control_keeps_its_keys_and_a_clicker_moves_the_deck(present):
    page = present(TABLES)
    for kind, part in [("explorer", "select"), ("question", "input"), ("explorer:has(.filter-table)", "input")]:
        go_to(page, kind)
        here = place(page)
        page.locator(f"{SLIDE} .live {part}").first.focus()
        press(page, "ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "f")
        assert place(page) == here, (kind, part)
    assert page.input_value(f"{SLIDE} .filter-table input") == "f"
    page = present()
    go_to(page, "explorer")
    here, control = place(page), page.locator(f"{SLIDE} input[type=range]").first
    control.focus()
    first = page.inner_text(f"{SLIDE} .explorer-caption")
    press(page, "ArrowRight")
    page.wait_for_function(f"(c) => document.querySelector('{SLIDE} .explorer-caption').innerText != c", arg=first)
    press(page, "PageDown")
    assert place(page) != here
    press(page, "ArrowLeft")
    assert place(page) == here, "the previous slide"
    control.focus()
    press(page, "Escape")
    assert page.evaluate("document.activeElement == document.body") and page.locator(".overview").count() == 0


def test_a_learner_keeps_a_guess_unless_the_deck_is_fresh(present):
    page = present()
    go_to(page, "question")
    assert page.locator(f"{SLIDE} .quiz-check").is_hidden(), "a class votes"
    page.locator(f"{SLIDE} .quiz input").nth(1).check()
    page.click(f"{SLIDE} .quiz-check")
    assert re.match(r"(Right|Not quite)\. .{20}", page.inner_text(f"{SLIDE} .quiz-feedback"))
    page.wait_for_function("document.activeElement == document.body")  # the keys belong to the deck
    for query, kept in (("", 1), ("?fresh", 0)):
        again = page.context.new_page()
        again.goto(page.url.partition("#")[0] + query)
        again.wait_for_function(READY)
        assert again.locator(".is-question input:checked").count() == kept


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(present, theme):
    page = present(color_scheme=theme)
    for kind in ("title", "agenda", "question", "explorer", "result", "discussion", "home"):
        go_to(page, kind)
        assert serious(page, "section section.present") == [], kind


def votes_of(page):
    counts = "(row) => [...row.querySelectorAll('.hands b')].map((bar) => Number(bar.textContent))"
    return page.evaluate(f"[...document.querySelectorAll('{SLIDE} .quiz-option')].map({counts})")[:3]


def test_the_speakers_window_runs_a_lesson_and_shows_the_same(present):
    page = present(LONG, "?skip=deeper&fresh")
    with page.context.expect_page() as opened:
        press(page, "s")
    speaker = opened.value
    speaker.wait_for_function("/Minute 0 of/.test(document.body.innerText)")
    assert speaker.locator(".pacing").is_visible()
    inside = next(frame for frame in speaker.frames if frame.parent_frame and "receiver" in frame.url)
    inside.wait_for_function(READY)
    for kind, notes in (("discussion", "A good answer:"), ("explorer", "To move:")):
        go_to(page, kind)
        speaker.wait_for_function(f"/{notes}/.test(document.body.innerText)")
    control = page.locator(f"{SLIDE} .explorer input[type=range]").first
    control.press("ArrowRight")
    moved = f"(v) => document.querySelector('{SLIDE} input[type=range]')?.value == v"
    inside.wait_for_function(moved, arg=control.input_value())
    go_to(page, "question")
    speaker.wait_for_function("/Right: [A-E]\\. What to say:/.test(document.body.innerText)")
    speaker.bring_to_front()
    press(speaker, "d")
    page.wait_for_function(f"document.querySelector('{SLIDE} label:nth-of-type(4) .hands b').textContent == '1'")
    leave_out(page, "discussion-1")
    inside.wait_for_function("!document.querySelector('#discussion-1')")
    page.evaluate("Reveal.slide(0, 0)")
    at, home = "JSON.stringify(Reveal.getIndices())", page.locator(f"{SLIDE} > .is-home")
    for key in ["Space", "PageDown", "ArrowRight", "ArrowLeft", "PageUp", *["Space"] * 200]:
        before = page.evaluate(at)
        if not home.count():
            press(speaker, key)
            page.wait_for_function(f"(before) => {at} != before", arg=before)
    assert home.count() == 1


@pytest.mark.smoke
def test_hands_are_counted_twice_before_the_answer(present):
    page = present()
    go_to(page, "question")
    why, before = page.locator(f"{SLIDE} .why").first, page.evaluate("localStorage.length")
    press(page, "a", "b", "b", "b", "Backspace", "c", "r", "b", "a")
    assert votes_of(page) == [[1, 1], [2, 1], [1, 0]] and why.is_hidden()
    press(page, "r")
    assert why.is_visible() and page.locator(f"{SLIDE} .is-right").count() == 1
    press(page, "r")
    assert why.is_hidden() and page.evaluate("localStorage.length") == before
    press(page, ".")
    assert page.locator(".reveal.paused").count() == 1, "a black screen"
    press(page, ".")
    page.wait_for_function("location.hash == '#/' + Reveal.getCurrentSlide().id")  # written once a second
    page.reload()
    page.wait_for_function(READY)
    assert votes_of(page) == [[1, 1], [2, 1], [1, 0]], "counts last for the lecture"


def clocks(page):
    """(the whole time, the agenda), the same on slides, in notes and in the pacing."""
    told = page.evaluate("Reveal.getSlides().map((slide) => slide.dataset.clock)")
    told += page.locator("section section:not(.deeper) .clock").all_text_contents()
    (whole,) = {int(re.search(r"of (\d+)", one)[1]) for one in told}
    paced = page.evaluate("Reveal.getSlides().reduce((sum, slide) => sum + Number(slide.dataset.timing), 0)")
    assert abs(60 * whole - paced) <= 30
    return whole, page.locator(".is-agenda .fit .minutes").all_text_contents()


def test_one_clock_follows_what_is_left_out(present):
    whole, agenda = clocks(present(LONG))
    page = present(LONG, "?skip=3,deeper")
    shorter, rest = clocks(page)
    assert shorter < whole and "not today" not in agenda and rest[2] == "not today"
    assert page.locator(".deeper").count() == 0 and page.locator("aside .plan .skipped").count() == 1
    go_to(page, "question")
    here = place(page)
    leave_out(page, here)
    assert clocks(page)[0] == shorter - 4 and f"skip=3,deeper,{here}" in page.url
    page.reload()
    page.wait_for_function(READY)
    assert page.locator(f"#{here}").count() == 0 and clocks(page)[0] == shorter - 4


def test_a_pdf_has_every_slide_with_pictures(present):
    count = present().evaluate("Reveal.getTotalSlides()")
    page = present(query="?print-pdf", color_scheme="dark")
    # Until reveal has laid out all pages, it holds the slides outside of the document.
    page.wait_for_function("document.querySelector('.pdf-page .sheet')", polling=100)
    assert page.locator(".pdf-page .sheet").count() == count > 10
    assert page.evaluate("document.documentElement.dataset.theme") == "light", "paper is white"
    assert all(drawn.bounding_box()["width"] > 300 for drawn in page.query_selector_all(".still img, .explorer svg"))
    assert len(PAGES.findall(page.pdf(prefer_css_page_size=True, print_background=True))) == count


@every_example
def test_the_teachers_paper_has_a_page_for_each_section(present, lesson):
    page = present(lesson, "?print-pdf&notes", color_scheme="dark")
    headings = page.locator(".paper h2").all_text_contents()
    assert len(headings) == len(set(headings)) and {"Opening", "Skill check", "At home"} < set(headings)
    for paper in ("A4", "Letter"):
        assert len(PAGES.findall(page.pdf(format=paper))) == page.locator(".paper article").count() <= 8
    assert page.locator(".paper h3").count() == present(lesson).evaluate("Reveal.getTotalSlides()")
    zooms = page.evaluate("[...document.querySelectorAll('.paper article')].map((one) => one.currentCSSZoom)")
    assert min(zooms) > 0.65, "letters of 6 points and more"
