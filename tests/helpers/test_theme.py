"""One palette: a color that changes in theme.py changes everywhere, and a color literal stands nowhere else."""

import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from helpers import Explorer, lines, new_figure, points, theme
from helpers.figures import png
from helpers.widgets.explorer.picture import STRONGEST
from tests.shared import LESSONS, ROOT, read

OTHER = "#7B1FA2"  # in no palette
PAGES = [ROOT / "tools/publish/web" / name for name in ("static/site.css", "static/host.css", "slides/deck.css")]
SOURCES = [path for end in ("py", "css", "js") for path in sorted((ROOT / "helpers").rglob(f"*.{end}"))] + PAGES
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


def test_every_shade_is_a_variable_of_widgets_and_pages(monkeypatch):
    for shades in (f"{dark}{name}" for name in ("PALETTE", "WORDS", "PAPER", "FILLS") for dark in ("", "DARK_")):
        for key in getattr(theme, shades):
            with monkeypatch.context() as patch:
                patch.setitem(getattr(theme, shades), key, OTHER)
                assert OTHER in theme.css_variables() and OTHER in theme.css_variables("html"), (shades, key)
    assert OTHER not in theme.css_variables()


def test_our_style_sheets_use_only_defined_variables():
    defined = set(re.findall(r"(--nn-[\w-]+):", theme.css_variables()))
    for path in [path for path in SOURCES if path.suffix == ".css" and path.parent.name != "bundle"]:
        assert set(re.findall(r"var\((--nn-[\w-]+)", path.read_text(encoding="utf-8"))) <= defined, path


def test_only_the_palette_names_colors_by_numbers():
    for path in SOURCES:
        assert path.name == "theme.py" or not LITERAL.search(path.read_text(encoding="utf-8")), path
    for path in LESSONS:
        for cell in read(path).cells:
            assert cell.cell_type != "code" or not LITERAL.search(cell.source), (path.name, cell.source)


def light(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def contrast(one, two):
    """WCAG 2 contrast ratio."""
    low, high = sorted([light(one), light(two)])
    return (high + 0.05) / (low + 0.05)


def mixed(over, under, share):
    return tuple(share * np.array(to_rgb(over)) + (1 - share) * np.array(to_rgb(under)))


@pytest.mark.parametrize("dark", ["", "DARK_"])
def test_words_and_lines_are_readable_on_all_grounds(dark):
    palette, words, paper, fills = (getattr(theme, dark + name) for name in ("PALETTE", "WORDS", "PAPER", "FILLS"))
    for color in [paper["ink"], *words.values()]:
        for ground in (paper["page"], paper["code"], mixed(palette["blue"], paper["page"], 0x26 / 255)):
            assert contrast(color, ground) >= 4.5, (color, ground)
    for color in palette.values():
        assert contrast(color, paper["page"]) >= 2.8, color
    for fill in fills.values():
        for strength in np.linspace(0, STRONGEST, 8):
            assert contrast(paper["ink"], mixed(fill, paper["pale"], strength)) >= 4.5, (fill, strength)
    assert contrast(theme.PAPER["page"], theme.FILLS["blue"]) >= 4.5  # words on a button
    assert 1.1 < contrast(paper["grid"], paper["page"]) < 2
