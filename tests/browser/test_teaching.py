"""The teaching pack in a real browser: opened as files, with all other origins refused, and printed.

That nothing was asked of another origin is part of every test.
"""

import re

import pytest

from tests.browser.conftest import ROOT, built, serious
from tests.shared import EXAMPLES, every_lesson

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
    return built(tmp_path_factory.mktemp("pack") / "teaching", "teaching")


@pytest.fixture
def visit(visit_inside, pack):
    """visit(name, **options of the browser context) opens a page of the pack as a file."""
    return lambda name, **options: visit_inside(pack.as_uri(), f"/{name}.html", **options)


# ------------------------------------------------------------------------------------------------ on paper


@every_lesson
def test_a_handout_fits_one_page_of_either_format(visit, lesson):
    page = visit(f"{lesson.stem}_handout", viewport={"width": 703, "height": 960})
    for paper in ("A4", "Letter"):
        assert len(PAGE.findall(page.pdf(format=paper))) == 1, paper
    page.emulate_media(media="print")
    too_small = [words for size, words in page.evaluate(LETTERS) if size < SMALLEST - 0.01]
    assert too_small == []
    formulas = page.evaluate(
        "[...document.querySelectorAll('.katex')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(formulas, default=SMALLEST) >= SMALLEST - 0.01
    assert page.evaluate("document.querySelector('.sheet').scrollWidth <= document.querySelector('.sheet').clientWidth")
    room = page.evaluate("[...document.querySelectorAll('.lines, .picture')].map((e) => e.offsetHeight)")
    assert len(room) == 2 and min(room) >= 55, "place for notes, and a picture that can be read"


@pytest.mark.parametrize("name", ["index", EXAMPLES[0].stem, f"{EXAMPLES[0].stem}_handout"])
def test_a_page_of_each_kind_is_for_all_eyes_and_white_on_paper(visit, name):
    page = visit(name, color_scheme="light")
    page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")  # which changes nothing but colors
    assert serious(page, runOnly=["color-contrast"]) == []
    page.emulate_media(media="print")
    colors = "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))"
    assert page.evaluate(colors) == ["rgb(26, 26, 26)", "rgb(255, 255, 255)"]


def test_formulas_are_typeset_in_fonts_of_the_pack(visit):
    page = visit("02_batch_dependence_handout")
    assert page.locator(".katex").count() >= 5 and page.locator(".katex-error").count() == 0
    assert page.evaluate("[...document.fonts].some((font) => font.family.includes('KaTeX') && font.status == 'loaded')")
