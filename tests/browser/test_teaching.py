"""The teaching pack in a real browser: opened as files, with all other origins refused, and printed.

That nothing was asked of another origin is part of every test.
"""

import re
import subprocess
import sys

import pytest

from tests.browser.conftest import NODE_MODULES, ROOT
from tests.shared import EXAMPLES, LESSONS, every_lesson

SMALLEST = 12  # CSS pixels, which are 9 pt
PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
# Letters of the words on a page; formulas set their own indices smaller.
LETTERS = """() => [...document.querySelectorAll("body *")]
    .filter((e) => !e.closest(".katex") && [...e.childNodes].some((n) => n.nodeType == 3 && n.data.trim()))
    .filter((e) => e.getClientRects().length)
    .map((e) => [parseFloat(getComputedStyle(e).fontSize), e.textContent.trim().slice(0, 40)])"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """The folder of the pack."""
    if not (ROOT / "tools" / "publish" / "web" / "node_modules" / "katex").is_dir():
        pytest.skip("KaTeX is not installed: run `make test-browser`")
    folder = tmp_path_factory.mktemp("pack") / "teaching"
    done = subprocess.run([sys.executable, "-m", "tools.publish.teaching", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def visit(browser, pack):
    """visit(name, **options of the browser context) opens a page of the pack as a file."""
    contexts, refused = [], []

    def guard(route):
        if route.request.url.startswith(pack.as_uri()):
            route.continue_()
        else:
            refused.append(route.request.url)
            route.abort()

    def visit(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}} | options)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.goto(f"{pack.as_uri()}/{name}.html")
        page.evaluate("document.fonts.ready.then(() => true)")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert refused == []


# ------------------------------------------------------------------------------------------------ on paper


@every_lesson
def test_a_handout_fits_one_page_of_either_format(visit, lesson):
    page = visit(f"{lesson.stem}_handout", viewport={"width": 703, "height": 960})
    for paper in ("A4", "Letter"):
        assert len(PAGE.findall(page.pdf(format=paper))) == 1, paper
    page.emulate_media(media="print")
    too_small = [words for size, words in page.evaluate(LETTERS) if size < SMALLEST - 0.01]
    assert too_small == []
    assert (
        min(
            page.evaluate(
                "[...document.querySelectorAll('.katex')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
            ),
            default=SMALLEST,
        )
        >= SMALLEST - 0.01
    )
    assert page.evaluate("document.querySelector('.sheet').scrollWidth <= document.querySelector('.sheet').clientWidth")
    room = page.evaluate("[...document.querySelectorAll('.lines, .picture')].map((e) => e.offsetHeight)")
    assert len(room) == 2 and min(room) >= 55, "place for notes, and a picture that can be read"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_with_dark_words(visit, theme):
    for name in [name for lesson in [path.stem for path in EXAMPLES] for name in (lesson, f"{lesson}_handout")]:
        page = visit(name, color_scheme=theme)
        page.emulate_media(media="print")
        colors = page.evaluate(
            "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))"
        )
        assert colors == ["rgb(26, 26, 26)", "rgb(255, 255, 255)"]
        assert not page.locator("nav").first.is_visible()


# ------------------------------------------------------------------------------------------------ on a screen


def test_axe_finds_nothing_in_light_or_dark(visit):
    names = [name for lesson in [path.stem for path in EXAMPLES] for name in (lesson, f"{lesson}_handout")]
    for name in ["index", *names]:
        page = visit(name, color_scheme="light")
        page.add_script_tag(content=(NODE_MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
        page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        page.emulate_media(color_scheme="dark")  # which changes nothing but colors
        found += page.evaluate("axe.run({resultTypes: ['violations'], runOnly: ['color-contrast']})")["violations"]
        assert found == [], [(v["id"], [node["html"][:200] for node in v["nodes"]][:3]) for v in found]


def test_formulas_are_typeset_in_fonts_of_the_pack(visit):
    page = visit("02_batch_dependence_handout")
    assert page.locator(".katex").count() >= 5 and page.locator(".katex-error").count() == 0
    assert page.evaluate("[...document.fonts].some((font) => font.family.includes('KaTeX') && font.status == 'loaded')")


def test_a_keyboard_reaches_both_pages_of_a_lesson(visit):
    page = visit("index")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{LESSONS[0].stem}.html")
    page.focus("text=Handout")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{LESSONS[0].stem}_handout.html")
    assert page.locator(".picture").evaluate("(e) => e.complete && e.naturalWidth > 400")
