"""The reading site in a real browser: alive without a kernel, and without the rest of the world.

Every page is opened with all other origins refused; that nothing was asked of them, and that no script failed, is part
of every test.
"""

import functools
import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from helpers.widgets.quiz import lesson_names, read_questions
from helpers.widgets.quiz.questions import FOLDER
from tests.browser.conftest import NODE_MODULES, ROOT
from tests.shared import EXAMPLES, LESSONS, every_lesson, example_lessons, read

LESSON = "01_axis_intuition"
READY = "document.documentElement.dataset.widgets == 'ready'"
BYTES = 2_000_000


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; with several workers, one of them builds it."""
    if not os.environ.get("BROWSER_REQUIRED") and importlib.util.find_spec("myst_nb") is None:
        pytest.skip("the site's packages are not installed: run `make test-browser`")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, log = shared / "reading-site", shared / "reading-site.log"
    try:
        (shared / "reading-site.lock").mkdir()
    except FileExistsError:
        for _ in range(600):
            if log.exists():
                break
            time.sleep(0.5)
    else:
        command = [sys.executable, "-m", "tools.publish.site", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        log.with_suffix(".part").write_text(done.stdout + done.stderr)
        log.with_suffix(".part").rename(log)
    assert (folder / "index.html").exists(), log.read_text()
    return folder


@pytest.fixture(scope="session")
def home(site):
    """The address of the site on a plain file server."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def visit(browser, home):
    """visit(path, **options of the browser context) opens a page and waits until it is alive."""
    contexts, refused, errors = [], [], []

    def visit(path, *, home=home, alter=None, ready=READY, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)

        def guard(route):
            address = route.request.url
            if not address.startswith((home, "data:", "blob:")):
                refused.append(address)
                route.abort()
            elif alter and route.request.is_navigation_request():
                response = route.fetch()
                route.fulfill(response=response, body=alter(response.text()))
            else:
                route.continue_()

        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(home + path)
        if options.get("java_script_enabled", True) and not path.startswith("search"):
            page.wait_for_function(ready)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert refused == [] and errors == []


def pages(site):
    return sorted(path.name for path in site.glob("*.html"))


def keys_to_move(control):
    """(key that moves a control by one step, key that moves it back)"""
    kind = control.evaluate("(e) => e.tagName == 'SELECT' ? 'menu' : e.type")
    if kind == "checkbox":
        return "Space", "Space"
    if kind == "menu":
        at_end, keys = "(e) => e.selectedIndex == e.options.length - 1", ("ArrowDown", "ArrowUp")
    else:
        at_end, keys = "(e) => Number(e.value) >= Number(e.max)", ("ArrowRight", "ArrowLeft")
    return keys[::-1] if control.evaluate(at_end) else keys


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")


# ------------------------------------------------------------------------------------------------ alive


@every_lesson
def test_a_live_lesson_page_is_light_and_covered(visit, lesson):
    page = visit(f"{lesson.stem}.html")
    sizes = "performance.getEntries().filter((entry) => entry.transferSize).map((entry) => entry.transferSize)"
    assert sum(page.evaluate(sizes)) <= BYTES
    what_a_cell_tagged_answer_shows_is_inside_a_cover(page, lesson)
    every_widget_is_alive_and_every_control_works_from_the_keyboard(page, lesson)


def every_widget_is_alive_and_every_control_works_from_the_keyboard(page, lesson):
    states = page.evaluate("[...document.querySelectorAll('.live')].map((e) => e.dataset.alive)")
    assert states and set(states) == {"yes"}
    assert "Not saved with the notebook" not in page.inner_text("article")
    open_all(page)
    explorers = page.query_selector_all(".explorer")
    for explorer in explorers:
        caption = explorer.query_selector(".explorer-caption")
        for control in explorer.query_selector_all("select, input"):
            first = caption.text_content()
            there, back = keys_to_move(control)
            control.focus()
            page.keyboard.press(there)
            page.wait_for_function("([c, first]) => c.textContent != first", arg=[caption, first], timeout=5000)
            page.keyboard.press(back)
            page.wait_for_function("([c, first]) => c.textContent == first", arg=[caption, first], timeout=5000)
    labels = page.evaluate("[...document.querySelectorAll('.explorer .control label')].map((e) => e.control?.tagName)")
    assert len(explorers) >= 1 or lesson.stem.startswith(("12", "13", "14", "15"))
    assert all(labels)


def test_a_widget_of_unknown_parts_keeps_its_picture(visit):
    page = visit(
        "04_layer_norm.html", alter=lambda text: text.replace('"model_name": "DropdownModel"', '"model_name": "X"')
    )
    open_all(page)
    still = page.locator(".live:not([data-alive]) img").first
    still.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.live:not([data-alive]) img').naturalWidth > 400")
    assert page.locator(".explorer-stage svg").count() >= 1
    assert page.locator(".quiz fieldset").count() >= 8


def test_pages_live_when_they_are_opened_as_files(visit, site):
    home = site.as_uri() + "/"
    page = visit("index.html", home=home)
    page.focus(".explorer select")
    before = page.inner_text(".explorer-caption")
    page.keyboard.press("ArrowUp")
    page.wait_for_function("(text) => document.querySelector('.explorer-caption').innerText != text", arg=before)
    page.click("ol.lessons a >> nth=1")
    page.wait_for_function(READY)
    page.click(".quiz input >> nth=0")
    page.click(".quiz-check >> nth=0")
    assert page.locator("details.answer").first.get_attribute("open") is not None
    page.reload()
    page.wait_for_function(READY)
    assert page.locator(".quiz input >> nth=0").is_checked()


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


def what_a_cell_tagged_answer_shows_is_inside_a_cover(page, lesson):
    outside = page.evaluate("[...document.querySelectorAll('.tag_answer')].filter((e) => !e.closest('details')).length")
    tagged = [cell for cell in read(lesson).cells if "answer" in cell.metadata.get("tags", [])]
    assert outside == 0 and page.locator(".tag_answer").count() == sum(c.cell_type == "code" for c in tagged)
    covers = " ".join(page.locator("details.answer").all_text_contents())
    for cell in tagged:
        if cell.cell_type == "markdown":
            first = re.match(r"[\w ,]+", cell.source)
            assert first is None or first[0].strip() in covers, cell.source[:60]


# ------------------------------------------------------------------------------------------------ without JavaScript


@example_lessons
def test_without_javascript_everything_can_be_read(visit, lesson):
    page = visit(f"{lesson.stem}.html", java_script_enabled=False)
    for still in page.locator(".live img").all():
        assert len(still.get_attribute("alt")) > 20
        assert page.request.get(urljoin(page.url, still.get_attribute("src"))).body()[:4] == b"\x89PNG"
    assert page.locator(".live img, .live p strong").count() >= 3
    cover = page.locator("details.answer")
    if cover.count():
        inside = cover.first.locator(".tag_answer").first
        assert not inside.is_visible()
        cover.first.locator("> summary").click()
        assert inside.is_visible()
    page.locator(".prev-next-area a").first.click()
    assert page.locator("h1").count() >= 1


# ------------------------------------------------------------------------------------------------ progress


def answers_of(lesson, day="2020-01-01"):
    """Answers to all questions of a lesson, long ago: the second is wrong, the others are right, so they are due."""
    answers = {}
    for k, question in enumerate(read_questions(FOLDER / lesson / "questions.toml")[1]):
        choice = (question["right"] + (k == 1)) % len(question["options"])
        answers[f"{lesson}/{question['key']}"] = {"choice": choice, "mark": question["mark"], "when": day}
    return answers


def keep(page, answers):
    """Keep answers, and tell the page, as its own code does."""
    page.evaluate(
        """(answers) => Object.entries(answers).forEach(([name, record]) => {
            const [key, newValue] = [`normalization-notebooks/${name}`, JSON.stringify(record)];
            localStorage.setItem(key, newValue);
            window.dispatchEvent(new StorageEvent("storage", { key, newValue }));
        })""",
        answers,
    )


def count_of(lesson):
    return len(read_questions(FOLDER / lesson / "questions.toml")[1])


def test_answered_questions_show_at_once(visit):
    page = visit(f"{LESSON}.html")
    line = page.locator("p.how-far")
    assert not line.locator("a").is_visible() and line.inner_text() == ""
    page.locator(".quiz-is-prediction input").first.check()
    question = page.locator(".quiz-is-prediction").first
    question.locator(".quiz-check").click()
    page.wait_for_function("document.querySelector('p.how-far').innerText")
    wrong = "Not quite" in question.inner_text()
    assert line.inner_text() == f"1 of {count_of(LESSON)} answered" + (", 1 missed" if wrong else "")
    line.locator("a").click()
    page.wait_for_url("**/progress.html")


def test_the_list_of_lessons_follows_other_tabs(visit):
    page = visit("index.html", viewport={"width": 1200, "height": 2600})
    lines = page.locator("ol.lessons .how-far")
    assert [line for line in lines.all() if line.is_visible()] == [] and not page.locator("p.how-far a").is_visible()
    keep(page, answers_of(LESSON))
    total = count_of(LESSON)
    words = f"{total} of {total} answered, 1 missed, {total - 1} due"
    page.reload()
    page.wait_for_function(READY)
    assert lines.nth(1).inner_text() == words and lines.nth(2).inner_text() == ""
    everything = sum(map(count_of, lesson_names()))
    assert page.inner_text("p.how-far") == f"{total} of {everything} answered, 1 missed, {total - 1} due"
    other = page.context.new_page()
    other.goto(page.url.replace("index", "progress"))
    other.wait_for_selector(f".practice-progress a[href^='{LESSON}.html']")
    other.goto(page.url.replace("index", "04_layer_norm"))
    other.wait_for_function(READY)
    other.locator(".quiz input").first.check()
    other.locator(".quiz-check").first.click()
    page.wait_for_function("document.querySelectorAll('ol.lessons .how-far')[4].innerText.startsWith('1 of ')")


# ------------------------------------------------------------------------------------------------ paper


def test_paper_shows_what_was_opened_without_buttons(visit):
    page = visit(f"{LESSON}.html")
    page.locator("details.answer").nth(1).evaluate("(e) => (e.open = true)")
    page.emulate_media(media="print")
    assert page.locator(":is(.bd-sidebar-primary, .run-it, button):visible").count() == 0
    seen = page.evaluate(
        "[...document.querySelectorAll('.bd-article details')].map((e) => [e.open, e.checkVisibility()])"
    )
    assert all(visible or not is_open for is_open, visible in seen), "what was opened is printed"
    closed = page.locator("details.answer:not([open]):visible").count()
    assert sum(visible for is_open, visible in seen if not is_open) == closed > 2, (
        "a covered answer says so; no other fold"
    )
    assert not page.locator("details.answer pre").first.is_visible()
    assert page.locator(".explorer-stage svg:visible").count() >= 1


def test_paper_is_white_and_pages_recover(visit):
    page = visit(f"{LESSON}.html", color_scheme="dark")
    page.evaluate(
        """addEventListener('beforeprint', () => (window.seen = [document.documentElement.dataset.theme,
        document.querySelectorAll('img[loading=lazy]').length]))"""
    )
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.evaluate("[seen, document.documentElement.dataset.theme]") == [["light", 0], "dark"]


# ------------------------------------------------------------------------------------------- for all eyes and hands


CHECKED = [path.stem for path in EXAMPLES] + ["index", "search", "claims", "glossary", "progress"]


def serious(found):
    return [
        (v["id"], [node["html"][:200] for node in v["nodes"]][:3])
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", CHECKED)
def test_axe_finds_nothing_serious_in_light_or_dark(visit, site, name):
    assert f"{name}.html" in pages(site)
    page = visit(f"{name}.html", color_scheme="light")
    keep(page, answers_of(LESSON))
    page.add_script_tag(content=(NODE_MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    open_all(page)
    assert serious(page.evaluate("axe.run({resultTypes: ['violations']})")) == []
    page.emulate_media(color_scheme="dark")  # which changes nothing but colors
    page.wait_for_function("document.documentElement.dataset.theme == 'dark'")
    page.wait_for_timeout(300)
    assert serious(page.evaluate("axe.run({resultTypes: ['violations'], runOnly: ['color-contrast']})")) == []


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (390, "dark"), (1200, "light")])
def test_nothing_is_wider_than_the_page(visit, site, width, theme):
    others = ["index.html", "search.html?q=running+averages", "progress.html", "claims.html"]
    for name in [f"{path.stem}.html" for path in EXAMPLES] + others:
        page = visit(name, viewport={"width": width, "height": 800}, color_scheme=theme)
        keep(page, answers_of(LESSON))
        open_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        page.context.close()


@pytest.mark.parametrize(("name", "width", "height"), [("05_rms_norm", 390, 700), (LESSON, 853, 480)])
def test_controls_and_their_panel_are_in_view_together(visit, name, width, height):
    page = visit(f"{name}.html", viewport={"width": width, "height": height})
    open_all(page)
    page.wait_for_timeout(300)  # explorers take the layout for this width
    seen = page.evaluate((ROOT / "tests" / "browser" / "together.js").read_text())
    assert seen and all(lost == 0 and here >= min(225, whole) for lost, here, whole in seen), seen


def test_the_chosen_colors_last(visit):
    page = visit("index.html", color_scheme="light")
    page.click(".theme-switch-button")
    page.click(".theme-change-button[data-mode=dark]")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


# ------------------------------------------------------------------------------------------------ pages


def test_every_link_inside_the_site_leads_somewhere(site):
    ids, links = {}, []
    for name in pages(site):
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


def test_a_page_gives_a_notebook_with_hidden_answers(visit, home):
    page = visit(f"{LESSON}.html")
    page.click(".run-it summary")
    assert "make lab" in page.inner_text(".run-it pre")
    link = page.get_attribute(".run-it a[download]", "href")
    text = page.request.get(urljoin(home, link)).text()
    cells = [cell for cell in json.loads(text)["cells"] if "answer" in cell["metadata"].get("tags", [])]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code and all("Commit to your guess" in json.dumps(cell["outputs"]) for cell in code)
    words = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert words and all(text.startswith("<details") for text in words)


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
    found.first.click()
    page.wait_for_selector("article h1")


def test_search_results_tell_nothing_folded(visit):
    page = visit(f"{LESSON}.html")
    covered = page.locator("details.answer p").all_text_contents()
    page.goto(page.url.replace(LESSON, "search"))
    told = page.evaluate(
        """async (name) => {
          const answer = await fetch(name);
          return Search.htmlToText(await answer.text(), "");
        }""",
        f"{LESSON}.html",
    )
    shown = " ".join(told.split())
    assert len(covered) > 5 and "which numbers share a mean" in shown
    assert [text for text in covered if " ".join(text.split()) in shown] == []


def words_of(text):
    return set(re.findall(r"[a-z]{5,}", text.lower()))


def secrets_of(path):
    """Words of a lesson that stand in its hints and solutions and, to their fifth letter, nowhere else in it."""
    folded, visible = set(), set()
    for cell in read(path).cells:
        if cell.cell_type == "code":
            solution = "solution" in cell.metadata.get("tags", [])
            (folded if solution else visible).update(words_of(cell.source + json.dumps(cell.outputs)))
        for k, piece in enumerate(re.split(r"(<details>.*?</details>)", cell.source, flags=re.DOTALL)):
            if cell.cell_type == "markdown":
                (folded if k % 2 else visible).update(words_of(piece))
    stems = {word[:5] for word in visible}
    return {word for word in folded if len(word) > 5 and word[:5] not in stems}


def test_search_finds_no_hints_or_solutions(site):
    index = json.loads(re.search(r"setIndex\((.*)\)", (site / "searchindex.js").read_text(), re.DOTALL)[1])
    assert len(index["terms"]) > 500
    secrets = 0
    for path in LESSONS:
        number = index["docnames"].index(path.stem)
        terms = {
            term for term, where in index["terms"].items() if number in (where if isinstance(where, list) else [where])
        }
        secret = secrets_of(path)
        secrets += len(secret)
        assert {word for word in secret for term in terms if term.startswith(word[:5])} == set(), path.stem
    assert secrets >= 10
