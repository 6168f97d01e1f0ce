"""The slides in a real browser, opened as files: alive, of the right size, and with keys that do what they should.

All other origins are refused; that nothing was asked of them, and that no script failed, is part of every test.
"""

import os
import re
import subprocess
import sys

import pytest
from conftest import NODE_MODULES, ROOT
from lessons import EVERYTHING, LESSONS, rotate

LESSON = "02_batch_dependence"
READY = "document.documentElement.dataset.deck == 'ready'"
MEASURED = LESSONS if EVERYTHING else rotate(LESSONS, 2, "slides")
BYTES = 1_500_000
SMALLEST = 16  # pixels of a letter on a slide of 1280 x 720
# Letters in the cells of a tensor, and of formulas above and below the line.
SMALL_BY_NATURE = ".katex, .mark.cells"


@pytest.fixture(scope="session")
def decks(tmp_path_factory):
    """The folder of the built decks."""
    if not os.environ.get("BROWSER_REQUIRED") and not (ROOT / "tools/web/node_modules/reveal.js").is_dir():
        pytest.skip("the slides' packages are not installed: run `make test-browser`")
    folder = tmp_path_factory.mktemp("decks") / "slides"
    command = [sys.executable, ROOT / "tools" / "build_slides.py", folder, "--pages", ".."]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def present(browser, decks):
    """present(name, query, **options of the browser context) opens a deck and waits until it stands."""
    contexts, refused, errors = [], [], []

    def present(name=LESSON, query="", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}} | options)
        contexts.append(context)

        def guard(route):
            if route.request.url.startswith((decks.as_uri(), "data:", "blob:")):
                route.continue_()
            else:
                refused.append(route.request.url)
                route.abort()

        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{decks.as_uri()}/{name}.html{query}")
        page.wait_for_function(READY)
        return page

    yield present
    for context in contexts:
        context.close()
    assert refused == [] and errors == []


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
  function look(number, sheet) {
    const fit = sheet.querySelector(".fit");
    const zoom = Number(fit.style.getPropertyValue("--zoom"));
    const box = sheet.querySelector(".body").getBoundingClientRect();
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
    for (const radio of sheet.querySelectorAll(".quiz:not(.practice) input")) {
      radio.click();
      sheet.querySelector(".quiz-check").click();
      look(number, sheet);
    }
  }
  return [slides.length, found];
}"""


@pytest.mark.parametrize("lesson", MEASURED, ids=lambda path: path.stem)
def test_nothing_leaves_a_slide_and_every_letter_is_readable_at_any_position(present, lesson):
    page = present(lesson.stem)
    count, found = page.evaluate(PROBLEMS, [SMALLEST, SMALL_BY_NATURE])
    assert count > 25 and found == []


def test_the_practice_keeps_within_its_slide_whatever_it_asks(present):
    page = present("15_practice")
    go_to(page, "practice")
    frame = page.locator(".is-practice .body").bounding_box()
    for _ in range(12):
        page.locator(".practice input[type=radio]").last.check()
        page.click(".practice .quiz-check")
        box = page.locator(".practice").bounding_box()
        assert box["y"] >= frame["y"] - 1 and box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
        page.click(".practice-next")


def test_a_deck_is_light(decks):
    shared = sum(path.stat().st_size for path in (decks / "assets").rglob("*") if path.is_file())
    for lesson in LESSONS:
        pictures = sum(path.stat().st_size for path in (decks / "pictures").glob(f"{lesson.stem}-*"))
        assert (decks / f"{lesson.stem}.html").stat().st_size + pictures + shared <= BYTES, lesson.stem


# ------------------------------------------------------------------------------------------------ alive


def test_arrows_inside_a_control_move_it_and_not_the_deck(present):
    page = present()
    go_to(page, "explorer")
    here, control = place(page), page.locator(".present .explorer input[type=range]").first
    control.focus()
    first = control.input_value()
    caption = page.inner_text(".present .explorer-caption")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(c) => document.querySelector('.present .explorer-caption').innerText != c", arg=caption)
    assert control.input_value() != first and place(page) == here
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement == document.body") and page.locator(".overview").count() == 0
    page.keyboard.press("ArrowRight")
    assert place(page)[0] > here[0]


def test_space_and_arrows_inside_a_menu_or_a_question_stay_there(present):
    page = present("14_choosing_a_norm")
    for kind, part in (("explorer", "select"), ("question", "input"), ("table", "select"), ("table", ".table-frame")):
        go_to(page, kind)
        here = place(page)
        page.locator(f".present .live {part}").first.focus()
        for key in ("ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "f"):
            page.keyboard.press(key)
        assert place(page) == here, (kind, part)


def test_a_clicker_goes_on_even_from_inside_a_control(present):
    page = present()
    go_to(page, "explorer")
    control = page.locator(".present .explorer input[type=range]").first
    control.focus()
    here, value = place(page), control.input_value()
    page.keyboard.press("PageDown")
    assert place(page) != here and control.input_value() == value
    page.keyboard.press("PageUp")
    assert place(page) == here


def test_a_question_answers_a_guess_and_keeps_it(present):
    page = present()
    go_to(page, "question")
    page.locator(".present .quiz input").nth(1).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert re.match(r"(Right|Not quite)\. .{20}", page.inner_text(".present .quiz-feedback"))
    page.reload()
    page.wait_for_function(READY)
    go_to(page, "question")
    assert page.locator(".present .quiz input").nth(1).is_checked()


def test_a_fresh_deck_shows_no_answer_of_before_and_leaves_none_behind(present):
    page = present()
    answer = "document.querySelectorAll('.is-question input:checked').length"
    page.evaluate("document.querySelector('.is-question input').click()")
    page.evaluate("document.querySelector('.is-question .quiz-check').click()")
    fresh = page.context.new_page()
    fresh.goto(page.url.partition("#")[0] + "?fresh")
    fresh.wait_for_function(READY)
    assert (page.evaluate(answer), fresh.evaluate(answer)) == (1, 0)
    fresh.evaluate("document.querySelectorAll('.is-question input')[1].click()")
    fresh.evaluate("document.querySelector('.is-question .quiz-check').click()")
    assert fresh.evaluate(answer) == 1 and fresh.locator(".quiz-feedback strong").count() == 1
    assert page.evaluate("document.querySelector('.is-question input').checked")


def test_every_widget_is_alive_and_formulas_are_typeset_from_local_files(present):
    for name in ("14_choosing_a_norm", "04_layer_norm"):
        page = present(name)
        assert page.locator(".live:not([data-alive])").count() == 0 and page.locator(".live").count() > 5
    go_to(page, "formula")
    assert page.locator(".present .katex-display").first.bounding_box()["height"] > 30
    assert page.evaluate("document.fonts.check('16px KaTeX_Main')")


# ------------------------------------------------------------------------------------------- for all eyes and hands


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(present, theme):
    page = present(color_scheme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.add_script_tag(content=(NODE_MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    for kind in ("title", "question", "explorer", "code"):
        go_to(page, kind)
        found = page.evaluate("axe.run('section section.present', {resultTypes: ['violations']})")["violations"]
        serious = [violation for violation in found if violation["impact"] in ("serious", "critical")]
        assert serious == [], (kind, [(v["id"], [node["html"][:200] for node in v["nodes"]][:3]) for v in serious])


def test_the_focus_is_seen_and_never_on_a_hidden_slide(present):
    page = present()
    go_to(page, "explorer")
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        where = page.evaluate(
            """() => {
              const e = document.activeElement;
              if (e.closest(".slides")) return e.closest("section.present:not(.stack)") ? "slide" : "hidden slide";
              return e === document.body ? "body" : "chrome";
            }"""
        )
        reached.add(where)
        if where == "slide":
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert "slide" in reached and "hidden slide" not in reached


def test_the_colors_follow_the_address_the_switch_and_the_system_in_this_order(present):
    theme = "document.documentElement.dataset.theme"
    page = present(color_scheme="light")
    assert page.evaluate(theme) == "light"
    page.click("button.theme")
    assert page.evaluate(f"[{theme}, localStorage.getItem('mode')]") == ["dark", "dark"]
    page.wait_for_timeout(500)  # a busy Chromium passes on what is stored a little later than the script goes on
    page.reload()
    page.wait_for_function(READY)
    assert page.evaluate(theme) == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 21, 23)"
    assert present(query="?theme=light", color_scheme="dark").evaluate(theme) == "light"


# ------------------------------------------------------------------------------------------------ for the speaker


def test_the_core_is_the_deck_without_its_optional_sections(present):
    page, core = present(), present(query="?core")
    count = "document.querySelectorAll('.slides > .optional').length"
    assert page.evaluate(count) >= 3 and core.evaluate(count) == 0
    assert "Deeper, optional" not in core.evaluate("document.querySelector('.slides').textContent")


def test_the_speakers_window_has_the_minutes_and_the_words(present):
    page = present()
    with page.context.expect_page() as opened:
        page.keyboard.press("s")
    notes = opened.value.locator(".speaker-controls-notes .value")
    opened.value.wait_for_function("/Minute 0 to/.test(document.body.innerText)")
    go_to(page, "figure")
    opened.value.wait_for_function("/What batch norm is for/.test(document.body.innerText)")
    assert notes.is_visible()


def test_a_pdf_has_a_page_for_every_slide_with_its_pictures_and_explorers(present):
    page = present(query="?print-pdf", color_scheme="dark")
    slides = page.locator(".sheet").count()
    page.wait_for_function("(n) => document.querySelectorAll('.pdf-page').length == n", arg=slides)
    assert page.evaluate("document.documentElement.dataset.theme") == "light", "paper is white"
    seen = "(e) => { const r = e.getBoundingClientRect(); return r.width > 300 && r.height > 100; }"
    for drawn in page.query_selector_all(".still img, .explorer-stage svg"):
        assert drawn.evaluate(seen)
    file = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", file)) == slides
