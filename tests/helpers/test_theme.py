"""One palette: a color that changes in theme.py changes everywhere, and a color literal stands nowhere else."""

import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from helpers import Explorer, Panel, cells, lines, new_figure, points, theme
from helpers.figures import png
from tests.shared import LESSONS, ROOT, for_each, read

OTHER = "#7B1FA2"  # in no palette
WIDGETS = [ROOT / "helpers" / "widgets" / name for name in ("explorer/stage.css", "quiz/quiz.css", "quiz/practice.css")]
PAGES = [ROOT / "tools" / "publish" / "web" / name for name in ("static/site.css", "slides/deck.css")]
LITERAL = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![-\w])|\b(rgb|hsl)a?\(")


def shows(picture, color):
    """Whether a PNG has pixels of the color, or nearly."""
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), dtype=int)
    return (np.abs(pixels - np.array(to_rgb(color)) * 255).max(axis=2) < 6).sum() > 20


def figure():
    fig, ax = new_figure()
    ax.plot([0, 1], linewidth=9)
    plt.close(fig)
    return png(fig, 50)


def still():
    thick = points([1, 2], [1, 2], size=40)
    return Explorer({"n": [1, 2]}, lambda n: [lines([0, n], [0, n]), thick], lambda n: f"{n}")._png


@pytest.mark.parametrize("draw", [figure, still])
def test_a_palette_change_reaches_every_picture(monkeypatch, draw):
    before = draw()
    assert shows(before, theme.PALETTE["blue"]) and not shows(before, OTHER)
    monkeypatch.setitem(theme.PALETTE, "blue", OTHER)
    after = draw()
    assert shows(after, OTHER) and not shows(after, "#0077BB")


def test_a_color_map_is_made_from_the_palette(monkeypatch):
    monkeypatch.setitem(theme.PALETTE, "orange", OTHER)
    plt.close(new_figure()[0])
    colors = plt.colormaps["orange_blue"]
    for place, color in ((0.0, OTHER), (1.0, theme.PALETTE["blue"])):
        np.testing.assert_allclose(colors(place)[:3], to_rgb(color), atol=0.01)
    np.testing.assert_allclose(colors(0.5)[:3], to_rgb(theme.PAPER["pale"]), atol=0.02)


SHADES = [(name, key) for name in ("PALETTE", "WORDS", "PAPER", "FILLS") for key in getattr(theme, name)]


@for_each(("shades", "key"), [*SHADES, *((f"DARK_{name}", key) for name, key in SHADES)])
def test_every_shade_is_a_style_variable(monkeypatch, shades, key):
    assert OTHER not in theme.css_variables()
    monkeypatch.setitem(getattr(theme, shades), key, OTHER)
    assert OTHER in theme.css_variables()


@for_each(("shades", "key"), [*SHADES, *((f"DARK_{name}", key) for name, key in SHADES)])
def test_each_shade_is_a_variable_of_our_pages(monkeypatch, shades, key):
    monkeypatch.setitem(getattr(theme, shades), key, OTHER)
    assert OTHER in theme.css_variables("html")


@for_each("path", [*WIDGETS, *PAGES], ids=lambda path: path.name)
def test_our_style_sheets_use_only_defined_variables(path):
    defined = set(re.findall(r"(--nn-[\w-]+):", theme.css_variables()))
    used = set(re.findall(r"var\((--nn-[\w-]+)", path.read_text(encoding="utf-8")))
    assert used and used <= defined


SOURCES = [path for end in ("py", "css", "js") for path in sorted((ROOT / "helpers").rglob(f"*.{end}"))] + PAGES


@for_each("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_the_palette_names_colors(path):
    if path.name != "theme.py":
        assert not LITERAL.search(path.read_text(encoding="utf-8"))


@for_each("path", LESSONS, ids=lambda path: path.stem)
def test_no_lesson_names_a_color_by_its_numbers(path):
    for cell in read(path).cells:
        if cell.cell_type == "code":
            assert not LITERAL.search(cell.source), cell.source


@for_each("text", ["#0077BB", "#abc", "color: rgb(1, 2, 3)", "rgba(0,0,0,.1)", "hsl(3 4% 5%)"])
def test_a_color_literal_is_recognized(text):
    assert LITERAL.search(text)


def test_comments_and_issue_numbers_are_no_color_literals():
    assert not LITERAL.search("# 2 rows of x, see #101-a # dead-end")


# ---------------------------------------------------------------------------------------------------- contrast


def light(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def contrast(one, two):
    """WCAG 2 contrast ratio."""
    low, high = sorted([light(one), light(two)])
    return (high + 0.05) / (low + 0.05)


def mixed(over, under, share):
    return tuple(share * np.array(to_rgb(over)) + (1 - share) * np.array(to_rgb(under)))


THEMES = pytest.mark.parametrize(
    ("palette", "words", "paper", "fills"),
    [
        (theme.PALETTE, theme.WORDS, theme.PAPER, theme.FILLS),
        (theme.DARK_PALETTE, theme.DARK_WORDS, theme.DARK_PAPER, theme.DARK_FILLS),
    ],
    ids=["light", "dark"],
)


@THEMES
def test_words_are_readable_on_all_grounds(palette, words, paper, fills):
    for color in [paper["ink"], *words.values()]:
        for ground in (paper["page"], paper["code"], mixed(palette["blue"], paper["page"], 0x26 / 255)):
            assert contrast(color, ground) >= 4.5, (color, ground)


@THEMES
def test_lines_stand_out_from_the_page(palette, words, paper, fills):
    for color in palette.values():
        assert contrast(color, paper["page"]) >= 2.8, color


@THEMES
def test_numbers_in_cells_are_readable_at_every_strength(palette, words, paper, fills):
    from helpers.widgets.explorer.picture import STRONGEST

    for fill in fills.values():
        for strength in np.linspace(0, STRONGEST, 8):
            assert contrast(paper["ink"], mixed(fill, paper["pale"], strength)) >= 4.5, (fill, strength)
    assert contrast(theme.PAPER["page"], theme.FILLS["blue"]) >= 4.5  # words on a button


@THEMES
def test_the_grid_can_be_seen_through(palette, words, paper, fills):
    assert 1.1 < contrast(paper["grid"], paper["page"]) < 2


def test_the_cells_that_are_drawn_use_every_fill():
    codes = Explorer(
        {"n": [1, 2]},
        lambda n: [cells(np.arange(5)[None] * (n == 1), names=("", "a", "b", "c", "d"))],
        lambda n: f"{n}",
        panels=Panel(bare=True),
    )
    for fill in theme.FILLS.values():
        assert shows(codes._png, mixed(fill, theme.PAPER["pale"], 0.7)), fill
