"""The still picture of one frame: the same marks as `stage.js` draws, by matplotlib, as PNG bytes."""

import warnings

import numpy as np

from ..figures import png
from ..theme import PALETTE as INK
from .layout import spread_labels, to_pixels, x_to_pixels, y_to_pixels

# Darker shades for words, so that they are readable on white (contrast at least 4.5).
WORDS = {"blue": "#0069A5", "orange": "#A84A0C", "teal": "#00695E", "grey": "#555555", "red": "#B92D0F"}
CODES = ("grey", "blue", "orange", "teal", "grey")  # fill of code 0 (not drawn), 1, 2, ...
TEXT, GRID, PALE = "#1A1A1A", "#E4E4E4", "#F4F4F4"
DOTS_PER_INCH, SHARPNESS = 100, 1.5
STRONGEST = 0.7  # opacity of the fullest cell, light enough for its number to be read


def draw_png(spec, marks):
    """PNG of one frame, with more pixels than it is shown with so that it stays sharp."""
    from matplotlib.figure import Figure

    width, height = spec["width"], spec["height"]
    figure = Figure(figsize=(width / DOTS_PER_INCH, height / DOTS_PER_INCH), dpi=DOTS_PER_INCH, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))  # one unit is one pixel
    axes.axis("off")
    for panel in spec["panels"]:
        _draw_axes(axes, panel)
    for number, panel in enumerate(spec["panels"]):
        labels = []
        for mark in marks:
            if mark["style"]["panel"] == number:
                _DRAW[mark["kind"]](axes, panel, mark)
                labels += _label(panel, mark)
        for y, x, words, color in spread_labels(labels):
            _write(axes, x, y, words, color=WORDS[color], va="center")
    for order, artist in enumerate(axes.get_children()):  # what came later lies above, as in the browser
        artist.set_zorder(order)
    with warnings.catch_warnings():
        # The browser has letters of every script; this picture may show some as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        return png(figure, dpi=SHARPNESS * DOTS_PER_INCH)


def _points(pixels):
    """Font size in points of a size in pixels."""
    return pixels * 72 / DOTS_PER_INCH


def _write(axes, x, y, words, *, color=TEXT, size=13, **more):
    # As in the browser, words are only words: a dollar sign begins no formula.
    axes.text(x, y, words, color=color, fontsize=_points(size), parse_math=False, **more)


def _line(axes, x, y, color, width=1.0, **more):
    axes.plot(x, y, color=color, linewidth=_points(width), **more)


def _draw_axes(axes, panel):
    left, top, width, height = panel["box"]
    bottom = top + height
    if panel["title"]:
        _write(axes, left, top - 10, panel["title"], weight="bold")
    if panel["bare"]:
        return
    for value, label in panel["xticks"]:
        x = x_to_pixels(panel, value)
        _line(axes, [x, x], [top, bottom], GRID)
        _write(axes, x, bottom + 5, label, color=INK["grey"], size=12, ha="center", va="top")
    for value, label in panel["yticks"]:
        y = y_to_pixels(panel, value)
        _line(axes, [left, left + width], [y, y], GRID)
        _write(axes, left - 6, y, label, color=INK["grey"], size=12, ha="right", va="center")
    if panel["zero"]:
        y = y_to_pixels(panel, 0)
        _line(axes, [left, left + width], [y, y], INK["grey"], 1.2)
    _write(axes, left + width / 2, bottom + 24, panel["xlabel"], ha="center", va="top")
    if panel["ylabel"]:
        where = {"rotation": 90, "ha": "center", "va": "center"}
        _write(axes, panel["box"][0] - 50, top + height / 2, panel["ylabel"], **where)


def _draw_lines(axes, panel, mark):
    x, y = to_pixels(panel, mark["data"]["x"], mark["data"]["y"])
    style = mark["style"]
    _line(axes, x, y, INK[style["color"]], 2, linestyle=(0, (4, 3)) if style["dashed"] else "-")


def _draw_points(axes, panel, mark):
    x, y = to_pixels(panel, mark["data"]["x"], mark["data"]["y"])
    style, color = mark["style"], INK[mark["style"]["color"]]
    face = "white" if style["hollow"] else color
    look = {"markerfacecolor": face, "markeredgecolor": color, "markeredgewidth": _points(2)}
    axes.plot(x, y, "o", markersize=_points(style["size"]), **look)


def _draw_bars(axes, panel, mark):
    edges, height = mark["data"]["edges"], mark["data"]["height"]
    x = x_to_pixels(panel, edges)
    tops = y_to_pixels(panel, height)
    base = panel["ylim"][0] if panel["yscale"] == "log" else max(0, panel["ylim"][0])
    base = y_to_pixels(panel, base)
    gap = 1 if len(height) > 8 else 4
    axes.bar(
        x[:-1] + gap / 2,
        tops - base,
        np.diff(x) - gap,
        bottom=base,
        align="edge",
        color=INK[mark["style"]["color"]],
        alpha=0.85,
    )


def _draw_arrows(axes, panel, mark):
    data = mark["data"]
    x, y = to_pixels(panel, data["x"], data["y"])
    tip_x, tip_y = to_pixels(panel, data["x"] + data["dx"], data["y"] + data["dy"])
    arrow = {"arrowstyle": "-|>", "color": INK[mark["style"]["color"]], "linewidth": _points(2.5)}
    for k in range(len(x)):
        axes.annotate("", (tip_x[k], tip_y[k]), (x[k], y[k]), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})


def _draw_text(axes, panel, mark):
    x, y = to_pixels(panel, mark["data"]["x"], mark["data"]["y"])
    style = mark["style"]
    align = {"start": "left", "middle": "center", "end": "right"}[style["align"]]
    weight = "bold" if style["bold"] else "normal"
    for k in range(len(x)):
        _write(
            axes,
            x[k],
            y[k],
            mark["string"],
            color=WORDS[style["color"]],
            ha=align,
            va="center",
            weight=weight,
        )


def _draw_cells(axes, panel, mark):
    from matplotlib.patches import Rectangle

    data, style = mark["data"], mark["style"]
    unit = panel["box"][2] / panel["xlim"][1]
    lefts, tops = to_pixels(panel, data["x"], data["y"])
    for k, (left, top) in enumerate(np.column_stack([lefts, tops])):
        fill, opacity, words = _cell(data["values"][k], style)
        corner, side = (left + 1, top + 1), unit - 2
        axes.add_patch(Rectangle(corner, side, side, facecolor=PALE, edgecolor="none"))
        axes.add_patch(Rectangle(corner, side, side, facecolor=fill, alpha=opacity, edgecolor="none"))
        if data["outline"][k]:
            frame = {"fill": False, "edgecolor": TEXT, "linewidth": _points(3)}
            axes.add_patch(Rectangle((left + 2, top + 2), unit - 4, unit - 4, **frame))
        size = min(13, unit * 0.42 if len(words) < 4 else unit * 0.34)
        middle = (left + unit / 2, top + unit / 2)
        _write(axes, *middle, words, size=size, ha="center", va="center_baseline")


def _cell(value, style):
    """Fill, opacity and words of one cell."""
    if style["names"] is not None:
        code = int(value)
        return INK[CODES[code]], STRONGEST if code else 0, style["names"][code]
    words = "" if style["digits"] is None else f"{value:.{style['digits']}f}".replace("-", "−")
    strength = min(1, abs(value) / style["limit"])
    return INK["blue" if value > 0 else "orange"], STRONGEST * strength, _no_minus_zero(words)


def _no_minus_zero(words):
    return words.removeprefix("−") if not words.strip("−0.") else words


def _label(panel, mark):
    """[(y, x, words, color)] of a mark's own label, in pixels."""
    words = mark["style"].get("label")
    if not words:
        return []
    x, y = mark["data"]["x"][-1], mark["data"]["y"][-1]
    if mark["kind"] == "arrows":
        x, y = x + mark["data"]["dx"][-1], y + mark["data"]["dy"][-1]
    x, y = to_pixels(panel, x, y)
    return [(float(y), float(x) + 9, words, mark["style"]["color"])]


_DRAW = {
    "lines": _draw_lines,
    "points": _draw_points,
    "bars": _draw_bars,
    "arrows": _draw_arrows,
    "text": _draw_text,
    "cells": _draw_cells,
}
