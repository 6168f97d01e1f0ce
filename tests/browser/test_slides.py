"""The slides in a real browser, opened as files: alive, of the right size, and with keys that do what they should.

All other origins are refused; that nothing was asked of them, and that no script failed, is part of every test.
"""

import os
import re

import pytest

from tests.browser.conftest import ROOT, built, serious
from tests.shared import EXAMPLES

LESSON, LONG = "02_batch_dependence", "06_epsilon_and_float16"
READY = "document.documentElement.dataset.deck == 'ready'"
SMALLEST = 16  # pixels of a letter on a slide of 1280 x 720
# Letters in the cells of a tensor, and of formulas above and below the line.
SMALL_BY_NATURE = ".katex, .mark.cells"


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    """The folder of the built decks."""
    if not os.environ.get("BROWSER_REQUIRED") and not (ROOT / "tools/publish/web/node_modules/reveal.js").is_dir():
        pytest.skip("the slides' packages are not installed: run `make test-browser`")
    return built(tmp_path_factory.mktemp("decks") / "slides", "slides", "--pages", "..")


@pytest.fixture
def present(visit_inside, decks):
    """present(name, query, **options of the browser context) opens a deck and waits until it stands."""

    def present(name=LESSON, query="", **options):
        options = {"ready": READY, "viewport": {"width": 1280, "height": 720}} | options
        return visit_inside(decks.as_uri(), f"/{name}.html{query}", **options)

    return present


def go_to(page, kind):
    """Show the first slide of a kind."""
    page.evaluate(
        """(kind) => {
          const slide = document.querySelector(`.sheet.is-${kind}`).closest("section");
          const { h, v } = Reveal.getIndices(slide);
          Reveal.slide(h, v);
        }""",
        kind,
    )


def place(page):
    return page.evaluate("[Reveal.getIndices().h, Reveal.getIndices().v]")


# ------------------------------------------------------------------------------------------------ size

# For every slide, with its controls at their first, middle and last position and after every answer: [number of the
# slide, what is wrong, words]. Nothing may leave the frame, and no letter be too small.
PROBLEMS = """async ([smallest, natural]) => {
  const found = [];
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  const scrolls = ".table-frame, .practice-question";
  const nextStage = (sheet) => {
    sheet.dataset.vote = "answer";
    sheet.querySelector(".vote").hidden = false;
  };
  const leaveVote = (sheet) => {
    delete sheet.dataset.vote;
    sheet.querySelector(".vote").hidden = true;
  };
  function look(number, sheet, part = ".body") {
    const fit = sheet.querySelector(`${part} .fit`);
    const zoom = Number(fit.style.getPropertyValue("--zoom"));
    const box = sheet.querySelector(part).getBoundingClientRect();
    for (const e of [fit, ...fit.querySelectorAll("*")]) {
      if (e.closest(`.katex-mathml, option, ${scrolls}`) && !e.matches(scrolls)) continue;
      const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const rect = e.getBoundingClientRect();
      if (!(own || e.matches("img, svg, input, select, button, table, pre")) || !rect.width) continue;
      const words = e.textContent.trim().slice(0, 40) || e.tagName;
      const far = Math.max(box.left - rect.left, rect.right - box.right, box.top - rect.top, rect.bottom - box.bottom);
      if (far > (e.closest(".katex, svg") ? 8 : 1.5)) found.push([number, `leaves by ${far.toFixed(0)}`, words]);
      const shown = rect.width / e.getAttribute("width");
      if (e.matches(".is-figure img") && shown < 1) found.push([number, `a picture at ${shown.toFixed(2)}`, e.alt]);
      if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth && e.matches("pre")) found.push([number, "is cut", words]);
      if (!own || e.closest(natural)) continue;
      const drawing = e.closest("svg");
      const scale = drawing ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : zoom;
      const size = parseFloat(getComputedStyle(e).fontSize) * scale;
      if (size < smallest - 0.1) found.push([number, `letters of ${size.toFixed(1)}`, words]);
    }
  }
  const slides = Reveal.getSlides();
  for (const [number, slide] of slides.entries()) {
    const { h, v } = Reveal.getIndices(slide);
    Reveal.slide(h, v);
    const sheet = slide.querySelector(".sheet");
    look(number, sheet);
    for (const range of sheet.querySelectorAll("input[type=range]")) {
      for (const part of [0, 0.5, 1]) {
        range.value = Math.round(part * range.max);
        range.dispatchEvent(new Event("input"));
        await frame();
        look(number, sheet);
      }
    }
    if (sheet.querySelector(".vote")) {
      nextStage(sheet);
      look(number, sheet, ".vote");
      leaveVote(sheet);
    }
    for (const radio of sheet.querySelectorAll(".quiz:not(.practice) input")) {
      radio.click();
      sheet.querySelector(".quiz-check").click();
      look(number, sheet);
    }
  }
  return [slides.length, found];
}"""


@pytest.mark.parametrize("lesson", EXAMPLES, ids=lambda path: path.stem)
def test_slides_hold_everything_at_readable_size(present, lesson):
    page = present(lesson.stem)
    assert page.locator(".live:not([data-alive])").count() == 0
    count, found = page.evaluate(PROBLEMS, [SMALLEST, SMALL_BY_NATURE])
    assert count > 20 and found == []


# ------------------------------------------------------------------------------------------------ alive


def test_arrows_move_a_control_and_a_clicker_the_deck(present):
    page = present()
    go_to(page, "explorer")
    here, control = place(page), page.locator(".present .explorer input[type=range]").first
    control.focus()
    first = control.input_value()
    caption = page.inner_text(".present .explorer-caption")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(c) => document.querySelector('.present .explorer-caption').innerText != c", arg=caption)
    value = control.input_value()
    assert value != first and place(page) == here
    page.keyboard.press("PageDown")
    assert place(page) != here and control.input_value() == value
    page.keyboard.press("PageUp")
    control.focus()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement == document.body") and page.locator(".overview").count() == 0
    page.keyboard.press("ArrowRight")
    assert place(page)[0] > here[0]


def test_menus_and_questions_keep_space_and_arrows(present):
    page = present("14_choosing_a_norm")
    for kind, part in (("explorer", "select"), ("question", "input"), ("table", "select"), ("table", ".table-frame")):
        go_to(page, kind)
        here = place(page)
        page.locator(f".present .live {part}").first.focus()
        for key in ("ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "f"):
            page.keyboard.press(key)
        assert place(page) == here, (kind, part)


def test_a_question_keeps_a_guess_unless_the_deck_is_fresh(present):
    page = present()
    go_to(page, "question")
    page.locator(".present .quiz input").nth(1).focus()
    page.keyboard.press("Space")
    page.click(".present .quiz-check")
    assert re.match(r"(Right|Not quite)\. .{20}", page.inner_text(".present .quiz-feedback"))
    here = place(page)
    page.wait_for_function("document.activeElement == document.body")
    page.keyboard.press("Space")
    assert place(page) != here, "after a commitment the keys belong to the deck"
    page.reload()
    page.wait_for_function(READY)
    go_to(page, "question")
    assert page.locator(".present .quiz input").nth(1).is_checked()
    fresh = page.context.new_page()
    fresh.goto(page.url.partition("#")[0] + "?fresh")
    fresh.wait_for_function(READY)
    assert fresh.locator(".is-question input:checked").count() == 0
    fresh.evaluate("document.querySelectorAll('.is-question input')[0].click()")
    fresh.evaluate("document.querySelector('.is-question .quiz-check').click()")
    assert fresh.locator(".quiz-feedback strong").count() == 1
    assert page.locator(".present .quiz input").nth(1).is_checked()


# ------------------------------------------------------------------------------------------- for all eyes and hands


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(present, theme):
    page = present(color_scheme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    for kind in ("title", "agenda", "question", "explorer", "result", "discuss", "home"):
        go_to(page, kind)
        assert serious(page, "section section.present") == [], kind


# ------------------------------------------------------------------------------------------------ for the speaker


def open_speaker(page):
    """(the speaker's window, the slide in it)"""
    with page.context.expect_page() as opened:
        page.keyboard.press("s")
    speaker = opened.value
    speaker.set_default_timeout(20_000)
    speaker.wait_for_function("/Minute 0 to/.test(document.body.innerText)")
    frame = next(frame for frame in speaker.frames if frame.parent_frame and "receiver" in frame.url)
    frame.wait_for_function(READY)
    return speaker, frame


def test_the_speakers_window_has_notes_and_runs_a_lesson(present):
    page = present(LONG, "?minutes=60&fresh")
    speaker, _ = open_speaker(page)
    go_to(page, "question")
    speaker.wait_for_function("/Right: [A-E]\\. What to say:/.test(document.body.innerText)")
    go_to(page, "discuss")
    speaker.wait_for_function("/A good answer:/.test(document.body.innerText)")
    assert speaker.locator(".pacing").is_visible()
    page.evaluate("Reveal.slide(0, 0)")
    speaker.bring_to_front()
    seen = [place(page)]
    for key in ["Space", "PageDown", "ArrowRight", "ArrowLeft", "PageUp", "n"]:
        speaker.keyboard.press(key)
        page.wait_for_function("([h, v]) => Reveal.getIndices().h != h || Reveal.getIndices().v != v", arg=seen[-1])
        seen.append(place(page))
    at = "JSON.stringify(Reveal.getIndices())"
    while not page.locator(".present:not(.stack) > .is-home").count():
        before = page.evaluate(at)
        speaker.keyboard.press("Space")
        page.wait_for_function(f"(before) => {at} != before", arg=before)


def test_moves_in_one_window_show_in_another(present):
    page = present(LONG, "?fresh")
    _, inside = open_speaker(page)
    go_to(page, "explorer")
    control = ".is-explorer input[type=range] >> nth=0"
    page.focus(control)
    page.keyboard.press("ArrowRight")
    value = page.input_value(control)
    inside.wait_for_function("(v) => document.querySelector('.is-explorer input[type=range]').value == v", arg=value)
    go_to(page, "question")
    page.locator(".present .quiz input").nth(1).check()
    page.click(".present .quiz-check")
    inside.wait_for_function("document.querySelector('.is-question .quiz-feedback strong')")


def vote_of(page):
    return page.evaluate(
        """[...document.querySelectorAll(".present:not(.stack) .vote tr")]
        .map((row) => ["first", "second"].map((round) => Number(row.querySelector(`.${round} b`).textContent)))"""
    )


@pytest.mark.smoke
def test_hands_are_counted_twice_before_the_answer(present):
    page = present()
    go_to(page, "question")
    kept = "JSON.stringify({ ...localStorage })"
    before = page.evaluate(kept)
    panel = page.locator(".present:not(.stack) .vote")
    for key in ("a", "b", "b", "b", "Backspace", "c"):
        page.keyboard.press(key)
    assert [first for first, _ in vote_of(page)][:3] == [1, 2, 1]
    assert re.fullmatch(r"[56]\d s", panel.locator(".seconds").inner_text())
    page.keyboard.press("t")
    assert panel.locator(".seconds").inner_text() == ""
    assert not panel.locator(".why").first.is_visible() and panel.locator(".right").count() == 0
    page.keyboard.press("r")
    page.keyboard.press("b")
    panel.locator("button").nth(0).click()
    assert vote_of(page)[:2] == [[1, 1], [2, 1]]
    page.keyboard.press("r")
    assert panel.locator(".why").first.is_visible() and panel.locator(".right").count() == 1
    page.keyboard.press("r")
    assert not panel.is_visible() and page.locator(".present .quiz").first.is_visible()
    assert page.evaluate(kept) == before
    page.keyboard.press(".")  # a pause, and its end
    page.keyboard.press(".")
    page.keyboard.press("b")
    page.wait_for_function("location.hash.length > 2")  # reveal writes the slide's address once a second
    page.reload()
    page.wait_for_function(READY)
    assert vote_of(page)[1] == [2, 1] or vote_of(page)[1] == [3, 1], "counts last for the lecture"
    assert page.locator(".reveal.paused").count() == 0


def test_votes_are_counted_from_the_speakers_window_too(present):
    page = present(LONG, "?fresh")
    speaker, _ = open_speaker(page)
    go_to(page, "question")
    speaker.bring_to_front()
    speaker.wait_for_timeout(500)
    speaker.keyboard.press("d")
    fourth = ".present:not(.stack) .vote tr:nth-child(4) .first b"
    page.wait_for_function(f"document.querySelector('{fourth}').textContent == '1'")


def test_plans_say_what_shorter_classes_leave_out(present):
    page = present(LONG, "?minutes=45")
    clocks = page.locator(".core .clock").all_text_contents()
    assert {words.split()[-1] <= "45." for words in clocks if words.startswith("Minute")} == {True}
    assert "not today" in page.text_content(".plan .left-out")
    assert page.locator(".slides > .optional").count() == 0
    page = present(LONG, "?sections=1,3,5&silent")
    assert page.locator(".discussion").count() == 0 and page.locator(".takeaway").count() == 3
    assert page.locator(".plan .left-out").count() == 2


def test_a_pdf_has_every_slide_with_pictures(present, decks):
    slides = len(re.findall(r'class="sheet\b', (decks / f"{LESSON}.html").read_text(encoding="utf-8")))
    page = present(query="?print-pdf", color_scheme="dark")
    # Until reveal has laid out all pages, it holds the slides outside of the document.
    page.wait_for_function("document.querySelector('.pdf-page .sheet')", polling=100)
    assert page.locator(".pdf-page .sheet").count() == slides > 10
    assert page.evaluate("document.documentElement.dataset.theme") == "light", "paper is white"
    seen = "(e) => { const r = e.getBoundingClientRect(); return r.width > 300 && r.height > 100; }"
    for drawn in page.query_selector_all(".still img, .explorer-stage svg"):
        assert drawn.evaluate(seen)
    file = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", file)) == slides
