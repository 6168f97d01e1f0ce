"""The reading site in a real browser: alive without a kernel, and without the rest of the world.

Every page is opened with all other origins refused; that nothing was asked of them, and that no script failed, is part
of every test.
"""

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from tests.browser.conftest import (
    PHONE,
    QUESTIONS,
    STEPS,
    built,
    keep,
    move_every_control,
    serious,
    served,
    settle,
    swipe,
)
from tests.shared import EXAMPLES, LESSONS, ROOT, every_lesson, lesson_of, read, slug
from tools.learner.workbook import copy_of

LESSON = "01_axis_intuition"
READY = "document.documentElement.dataset.widgets == 'ready'"
BYTES = 2_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    if not os.environ.get("BROWSER_REQUIRED") and find_spec("myst_nb") is None:
        pytest.skip("the site's packages are not installed: run `make test-browser`")
    return built(tmp_path_factory.mktemp("site") / "site", "site")


@pytest.fixture(scope="module")
def home(site):
    """The address of the site on a plain file server."""
    with served(site) as address:
        yield address


@pytest.fixture
def visit(visit_inside, home):
    """visit(path, **options) opens a page of the site and waits until it is alive."""

    def visit(path, *, home=home, **options):
        static = path.startswith("search") or not options.get("java_script_enabled", True)
        return visit_inside(home, path, **{"ready": None if static else READY} | options)

    return visit


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")


def test_a_printed_recap_is_the_handout(visit):
    page = visit(f"{LESSON}.html#recap")
    page.emulate_media(media="print")
    assert page.locator("article h2 >> visible=true").count() == 1
    assert page.locator("#recap table, #recap .katex-display >> visible=true").count() >= 1
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4"))) == 1


# ------------------------------------------------------------------------------------------------ alive


@every_lesson
def test_a_live_lesson_page_is_light_and_covered(visit, lesson):
    page = visit(f"{lesson.stem}.html")
    sizes = "performance.getEntries().filter((entry) => entry.transferSize).map((entry) => entry.transferSize)"
    assert sum(page.evaluate(sizes)) <= BYTES
    answers = page.evaluate("[...document.querySelectorAll('.tag_answer')].map((e) => e.closest('details') != null)")
    tagged = [cell for cell in read(lesson).cells if "answer" in cell.metadata.get("tags", [])]
    assert answers == [True] * sum(cell.cell_type == "code" for cell in tagged), "inside a cover"
    states = page.evaluate("[...document.querySelectorAll('.live')].map((e) => e.dataset.alive)")
    assert states and set(states) == {"yes"}
    assert "Not saved with the notebook" not in page.inner_text("article")
    assert page.locator("textarea[data-notes]").count() == 1
    open_all(page)
    assert move_every_control(page) >= 1 or lesson.stem.startswith(("12", "13", "14", "16"))
    labels = page.evaluate("[...document.querySelectorAll('.explorer .control label')].map((e) => e.control?.tagName)")
    assert all(labels)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_closed_part_opens_by_a_link_and_on_paper_with_its_explorer_alive(visit):
    page = visit(f"{LESSON}.html")
    name = page.locator("section:has(> details.deeper .explorer)").first.get_attribute("id")
    assert page.locator("details.deeper").count() > 2 and page.locator("details.deeper[open]").count() == 0
    page.click(f".page-toc a[href='#{name}']")
    page.locator(f"#{name} .explorer-stage svg").wait_for(state="visible")
    assert page.locator("details.deeper[open]").count() == 1
    control, caption = (
        page.locator(f"#{name} {e}").first for e in (":is(select, input[type=range])", ".explorer-caption")
    )
    before = caption.inner_text()
    control.press(control.evaluate(STEPS)[0][0])
    page.wait_for_function("([e, before]) => e.innerText != before", arg=[caption.element_handle(), before])
    paper = visit(f"{LESSON}.html#{name}")
    assert paper.locator("details.deeper[open]").count() == 1
    paper.pdf()
    assert paper.locator("details.deeper:not([open])").count() == 0
    paper.emulate_media(media="print")
    assert paper.locator(f"#{name} .explorer-stage svg").is_visible()


def test_pages_live_when_they_are_opened_as_files(visit, site):
    page = visit("index.html", home=site.as_uri() + "/")
    assert move_every_control(page) >= 1
    page.click("ol.lessons a >> nth=1")
    page.wait_for_url("**/01_*")  # the page before it is ready, too
    page.wait_for_function(READY)
    page.click(".quiz input >> nth=0")
    page.click(".quiz-check >> nth=0")
    assert page.locator("details.answer").first.get_attribute("open") is not None
    page.reload()
    page.wait_for_function(READY)
    page.wait_for_selector(".quiz input:checked >> nth=0")


def test_a_finger_moves_every_handle_turns_space_sideways_and_else_scrolls(visit):
    page = visit("index.html", **PHONE)
    found = 0
    for lesson in LESSONS:
        page.goto(urljoin(page.url, f"{lesson.stem}.html"))
        page.wait_for_function(READY)
        open_all(page)
        for held in page.query_selector_all(".explorer-stage :is(.handle, .turn)"):
            picture, knob = held.evaluate_handle("(e) => e.closest('svg')"), held.query_selector(".knob")

            def move(right, down, of, across):
                of.evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
                settle(page)
                box = of.bounding_box()
                return swipe(page, box["x"] + across * box["width"], box["y"] + box["height"] / 2, right, down)

            seen = {picture.inner_html()}
            for right, down in [(90, 0), (-60, 0)] + [(0, 90), (0, -60)] * bool(knob):
                assert move(right, down, knob or held, 1 / 2) == [False, False], (lesson.stem, right, down)
                seen.add(picture.inner_html())
            assert len(seen) > 1, f"{lesson.stem}: it does not follow"
            assert move(0, -150, picture if knob else held, 0.01)[0], f"{lesson.stem}: the page does not scroll"
            found += 1
    assert found >= 12


# ------------------------------------------------------------------------------------------------ questions


@pytest.mark.smoke
def test_a_cover_lasts_until_the_guess_and_reload(visit):
    page = visit(f"{LESSON}.html")
    covers = page.locator("details.answer")
    count = covers.count()
    assert count >= 5 and page.locator("details.answer[open]").count() == 0
    assert not covers.first.locator("pre").first.is_visible()
    guess = page.locator(".quiz-is-prediction").first
    guess.locator("input").nth(1).check()
    assert page.locator("details.answer[open]").count() == 0, "choosing is not committing"
    guess.locator(".quiz-check").click()
    page.wait_for_selector("details.answer[open]")
    assert covers.first.locator("pre").first.is_visible()
    assert page.locator("details.answer[open]").count() < count
    page.reload()
    page.wait_for_function(READY)
    page.wait_for_selector("details.answer[open]")
    assert page.locator(".quiz-is-prediction").first.locator("input").nth(1).is_checked()
    assert page.locator(".quiz-feedback").first.inner_text() != ""
    assert 1 <= page.locator("details.answer[open]").count() < count


def test_notes_are_kept_like_answers_above_a_folded_model_answer(visit):
    page, note = visit(f"{LESSON}.html"), 'Both subtract a mean.\nOne asks "the others" </textarea>'
    assert page.locator("#your-notes details").get_attribute("open") is None
    assert "press Enter" not in page.inner_text("#your-notes")
    page.get_by_label("Your answer").fill("Both")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_function(READY)
    assert other.get_by_label("Your answer").input_value() == "Both"
    other.get_by_label("Your answer").fill(note)
    page.wait_for_function("document.querySelector('[data-notes]').value != 'Both'")
    page.reload()
    page.wait_for_function(READY)
    assert page.get_by_label("Your answer").input_value() == note
    page.goto(page.url.replace(LESSON, "02_batch_dependence"))
    page.wait_for_function(READY)
    assert page.get_by_label("Your answer").input_value() == ""


def test_without_javascript_everything_can_be_read(visit):
    page = visit(f"{LESSON}.html", java_script_enabled=False)
    for still in page.locator(".live img").all():
        assert len(still.get_attribute("alt")) > 20
        assert page.request.get(urljoin(page.url, still.get_attribute("src"))).body()[:4] == b"\x89PNG"
    assert page.locator(".live img, .live p strong").count() >= 3
    cover = page.locator("details.answer").first
    inside = cover.locator(".tag_answer").first
    assert not inside.is_visible()
    cover.locator("> summary").click()
    assert inside.is_visible()


# ------------------------------------------------------------------------------------------------ progress


def keep_answers(page):
    """Answers to all questions of a lesson, long ago: the second is wrong, the others are right, so they are due."""
    names = [name for name in QUESTIONS if name.startswith(LESSON)]
    right = {name: QUESTIONS[name]["right"] for name in names}
    wrong = {names[1]: (right[names[1]] + 1) % len(QUESTIONS[names[1]]["options"])}
    keep(page, right | wrong, heard=True, when="2020-01-01")


def test_the_list_of_lessons_follows_other_tabs(visit):
    page = visit("index.html", viewport={"width": 1200, "height": 2600})
    lines = page.locator("ol.lessons .how-far")
    assert [line for line in lines.all() if line.is_visible()] == [] and not page.locator("p.how-far a").is_visible()
    keep_answers(page)
    total = sum(name.startswith(LESSON) for name in QUESTIONS)
    words = f"{total} of {total} answered, 1 missed, {total - 1} due"
    page.reload()
    page.wait_for_function(READY)
    assert lines.nth(1).inner_text() == words and lines.nth(2).inner_text() == ""
    assert page.inner_text("p.how-far") == f"{total} of {len(QUESTIONS)} answered, 1 missed, {total - 1} due"
    other = page.context.new_page()
    other.goto(page.url.replace("index", "progress"))
    other.wait_for_selector(f".practice-progress a[href^='{LESSON}.html']")
    other.goto(page.url.replace("index", "04_layer_norm"))
    other.wait_for_function(READY)
    other.locator(".quiz input").first.check()
    other.locator(".quiz-check").first.click()
    other.wait_for_function("document.querySelector('p.how-far').innerText.startsWith('1 of ')")
    page.wait_for_function("document.querySelectorAll('ol.lessons .how-far')[4].innerText.startsWith('1 of ')")


# ------------------------------------------------------------------------------------------- for all eyes and hands

CHECKED = [EXAMPLES[0].stem, "16_practice", "index", "search", "glossary", "progress"]


@pytest.mark.parametrize("name", CHECKED)
def test_a_page_of_each_kind_is_for_all_eyes(visit, name):
    page = visit(f"{name}.html", color_scheme="light")
    keep_answers(page)
    open_all(page)
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")  # which changes nothing but colors
    page.wait_for_function("document.documentElement.dataset.theme == 'dark'")
    page.wait_for_timeout(300)
    assert serious(page, runOnly=["color-contrast"]) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


# ------------------------------------------------------------------------------------------------ pages


def test_every_link_inside_the_site_leads_somewhere(site):
    ids, links = {}, []
    for name in sorted(path.name for path in site.glob("*.html")):
        text = (site / name).read_text(encoding="utf-8")
        text = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
        ids[name] = set(re.findall(r'\sid="([^"]+)"', text))
        links += [(name, link) for link in re.findall(r'\s(?:href|src)="([^"]+)"', text)]
    assert len(links) > 100
    broken = []
    for name, link in links:
        path, fragment = urldefrag(link.replace("&amp;", "&"))
        if urlsplit(path).scheme:
            continue
        file = urlsplit(path).path or name
        exists = (site / file).exists()
        if not exists or (fragment and file.endswith(".html") and fragment not in ids[Path(file).name]):
            broken.append((name, link))
    assert broken == []


@every_lesson
def test_the_browser_edition_finds_each_section_on_its_page(site, lesson):
    page = (site / f"{lesson.stem}.html").read_text(encoding="utf-8")
    titles = [part.title for part in lesson_of(lesson).parts if part.level >= 2]
    assert [title for title in titles if f'id="{slug(title)}"' not in page] == []


def test_a_page_gives_the_learners_copy_which_hides_answers(visit, home):
    page = visit(f"{LESSON}.html")
    page.click(".run-it summary")
    link = page.get_attribute(".run-it a[download]", "href")
    assert page.request.get(urljoin(home, link)).body() == copy_of(ROOT / "notebooks" / f"{LESSON}.ipynb")


def test_formulas_are_typeset_from_local_files(visit):
    page = visit("04_layer_norm.html")
    assert page.locator(".katex").count() > 10 and page.locator(".katex-error").count() == 0
    assert page.locator("div.math .katex-display").first.bounding_box()["height"] > 30
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px KaTeX_Main'))")
    assert "\\frac" not in page.inner_text("article")


# ------------------------------------------------------------------------------------------------ search


def search(page, words):
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog[open] input")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results .search-summary:not(:empty)")
    page.wait_for_function("/finished|did not match/.test(document.querySelector('#search-results').innerText)")
    return page.locator("#search-results ul.search li a")


@pytest.mark.parametrize("where", ["server", "files"])
def test_search_works_by_keyboard_and_shows_a_line(visit, site, home, where):
    page = visit("index.html", home=home if where == "server" else site.as_uri() + "/")
    found = search(page, "float16")
    assert any("Epsilon and float16" in text for text in found.all_inner_texts())
    if where == "server":
        page.wait_for_selector("#search-results .context:has-text('float16')")


def test_search_results_tell_nothing_folded(visit):
    page = visit(f"{LESSON}.html")
    covered = page.locator("details.answer p").all_text_contents()
    page.goto(page.url.replace(LESSON, "search"))
    told = "async (name) => Search.htmlToText(await (await fetch(name)).text(), '')"
    shown = " ".join(page.evaluate(told, f"{LESSON}.html").split())
    assert len(covered) > 5 and "Takeaway" in shown
    assert [text for text in covered if " ".join(text.split()) in shown] == []


def secrets_of(path):
    """Words of a lesson that stand in its hints and solutions and, to their fifth letter, nowhere else in it."""
    marked = ""
    for cell in read(path).cells:
        all_of_it = cell.source + json.dumps(cell.get("outputs", "")).replace("<details>", "")
        marked += f"<details>{all_of_it}</details>" if "solution" in cell.metadata.get("tags", []) else all_of_it
    pieces = re.split(r"(<details>.*?</details>)", marked.lower(), flags=re.DOTALL)
    seen = {word[:5] for word in re.findall("[a-z]{5,}", " ".join(pieces[::2]))}
    return {word for word in re.findall("[a-z]{6,}", " ".join(pieces[1::2])) if word[:5] not in seen}


def test_search_finds_no_hints_or_solutions(site):
    index = json.loads(re.search(r"setIndex\((.*)\)", (site / "searchindex.js").read_text(), re.DOTALL)[1])
    secrets = {path.stem: secrets_of(path) for path in LESSONS}
    assert len(index["terms"]) > 500 and sum(map(len, secrets.values())) >= 10
    for term, where in index["terms"].items():
        for number in where if isinstance(where, list) else [where]:
            told = [word for word in secrets.get(index["docnames"][number], ()) if term.startswith(word[:5])]
            assert told == [], (term, index["docnames"][number])
