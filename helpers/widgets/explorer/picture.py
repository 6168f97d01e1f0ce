"""The still picture of one frame: the same marks as `stage.js` draws, by matplotlib, as PNG bytes."""

import warnings
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np

from ...figures import png
from ...theme import FILLS, PALETTE, PAPER, WORDS
from .layout import TEXT, project, to_pixels, x_to_pixels, y_to_pixels
from .marks import HALO, KINDS

CODES = ("grey", "blue", "orange", "teal", "grey")  # fill of code 0 (not drawn), 1, 2, ...
DOTS_PER_INCH, SHARPNESS = 100, 1.5
STRONGEST = 0.7  # opacity of the fullest cell, light enough for its number to be read


def draw_png(spec, marks):
    """PNG of one frame, with more pixels than it is shown with so that it stays sharp."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # whatever `new_figure` or the learner has set before
        # The browser has letters of every script; this picture may show some as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure, _ = draw_figure(spec, marks)
        return png(figure, dpi=SHARPNESS * DOTS_PER_INCH)


def draw_figure(spec, marks):
    """(figure, the artists of each mark, its label last); one unit of the axes is one pixel, y runs downwards."""
    from matplotlib.figure import Figure

    width, height = spec["width"], spec["height"]
    size = (width / DOTS_PER_INCH, height / DOTS_PER_INCH)
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, facecolor=PAPER["page"])
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for panel in spec["panels"]:
        _draw_axes(axes, panel)
    drawn = [[] for _ in marks]
    for number, panel in enumerate(spec["panels"]):
        here = [k for k, mark in enumerate(marks) if mark["style"]["panel"] == number]
        here.sort(key=lambda k: marks[k]["kind"] == "handle")  # on top
        for k in here:
            drawn[k] += _DRAW[marks[k]["kind"]](axes, panel, marks[k])
        for k in here:
            drawn[k] += _draw_label(axes, panel, marks[k])
    for order, artist in enumerate(axes.get_children()):  # what came later lies above, as in the browser
        artist.set_zorder(order)
    return figure, drawn


def _points(pixels):
    """Font size in points of a size in pixels."""
    return pixels * 72 / DOTS_PER_INCH


def _write(axes, x, y, words, *, color=PAPER["ink"], size=TEXT, **more):
    # As in the browser, words are only words: a dollar sign begins no formula.
    return axes.text(x, y, words, color=color, fontsize=_points(size), parse_math=False, **more)


def _line(axes, x, y, color, width=1.0, **more):
    return axes.plot(x, y, color=color, linewidth=_points(width), **more)


def _draw_axes(axes, panel):
    left, top, width, height = panel["box"]
    bottom = top + height
    if panel["title"]:
        _write(axes, left, top - 11, panel["title"], weight="bold")
    if "space" in panel:
        _draw_space_axes(axes, panel)
    if panel["bare"] or "space" in panel:
        return
    for value, label in panel["xticks"]:
        x = x_to_pixels(panel, value)
        _line(axes, [x, x], [top, bottom], PAPER["grid"])
        _write(axes, x, bottom + 6, label, color=WORDS["grey"], ha="center", va="top")
    for value, label in panel["yticks"]:
        y = y_to_pixels(panel, value)
        _line(axes, [left, left + width], [y, y], PAPER["grid"])
        _write(axes, left - 6, y, label, color=WORDS["grey"], ha="right", va="center")
    if panel["zero"]:
        _line(axes, [left, left + width], [y_to_pixels(panel, 0)] * 2, PALETTE["grey"], 1.2)
    _write(axes, left + width / 2, bottom + 27, panel["xlabel"], ha="center", va="top")
    if panel["ylabel"]:
        where = {"rotation": 90, "ha": "center", "va": "center"}
        _write(axes, panel["ends"][0] + 12, top + height / 2, panel["ylabel"], **where)


def _draw_space_axes(axes, panel):
    for axis in panel["space"]["axes"]:
        (x1, x2), (y1, y2), _ = project(panel, *zip(axis["from"], axis["to"], strict=True))
        _line(axes, [x1, x2], [y1, y2], PALETTE["grey"], 1.2)
        length = np.hypot(x2 - x1, y2 - y1) or 1
        x, y = x2 + 12 * (x2 - x1) / length, y2 + 12 * (y2 - y1) / length
        _write(axes, x, y, axis["name"], color=WORDS["grey"], ha="center", va="center")


def _places(panel, mark):
    """(x, y, how near it is) in pixels of every point of a mark; on the page all are equally near."""
    data = mark["data"]
    if "space" in panel:
        return project(panel, data["x"], data["y"], data["z"])
    return *to_pixels(panel, data["x"], data["y"]), np.zeros(len(data["x"]))


def _draw_lines(axes, panel, mark):
    (x, y, _), style = _places(panel, mark), mark["style"]
    if style.get("arrow"):
        return [_arrow(axes, (x[1], y[1]), (x[0], y[0]), mark)]
    return _line(axes, x, y, PALETTE[style["color"]], 2, linestyle=(0, (4, 3)) if style["dashed"] else "-")


def _draw_points(axes, panel, mark):
    (x, y, depth), style = _places(panel, mark), mark["style"]
    nearest_last, color = np.argsort(depth, kind="stable"), PALETTE[style["color"]]
    face = PAPER["page"] if style.get("hollow") else color
    look = {"markerfacecolor": face, "markeredgecolor": color, "markeredgewidth": _points(2)}
    return axes.plot(x[nearest_last], y[nearest_last], "o", markersize=_points(style["size"]), **look)


def _draw_bars(axes, panel, mark):
    x, tops = to_pixels(panel, mark["data"]["edges"], mark["data"]["height"])
    base = panel["ylim"][0] if panel["yscale"] == "log" else max(0, panel["ylim"][0])
    base = y_to_pixels(panel, base)
    gap = 1 if len(tops) > 8 else 4
    look = {"align": "edge", "color": PALETTE[mark["style"]["color"]], "alpha": 0.85}
    return axes.bar(x[:-1] + gap / 2, tops - base, np.maximum(0, np.diff(x) - gap), bottom=base, **look)


def _draw_arrows(axes, panel, mark):
    data = mark["data"]
    feet = to_pixels(panel, data["x"], data["y"])
    tips = to_pixels(panel, data["x"] + data["dx"], data["y"] + data["dy"])
    return [_arrow(axes, tip, foot, mark) for tip, foot in zip(np.transpose(tips), np.transpose(feet), strict=True)]


def _arrow(axes, tip, foot, mark):
    look = {"arrowstyle": "-|>", "color": PALETTE[mark["style"]["color"]], "linewidth": _points(2.5)}
    return axes.annotate("", tuple(tip), tuple(foot), arrowprops=look | {"shrinkA": 0, "shrinkB": 0})


def _draw_text(axes, panel, mark):
    (x, y, _), style = _places(panel, mark), mark["style"]
    look = {"color": WORDS[style["color"]], "va": "center", "weight": "bold" if style["bold"] else "normal"}
    look["ha"] = {"start": "left", "middle": "center", "end": "right"}[style["align"]]
    return [_write(axes, *place, mark["string"], **look) for place in zip(x, y, strict=True)]


def _draw_cells(axes, panel, mark):
    from matplotlib.patches import Rectangle

    data, style = mark["data"], mark["style"]
    unit = panel["box"][2] / panel["xlim"][1]
    lefts, tops = to_pixels(panel, data["x"], data["y"])
    drawn = []

    def square(inset, **look):
        corner, side = (left + inset, top + inset), unit - 2 * inset
        drawn.append(axes.add_patch(Rectangle(corner, side, side, **look)))

    for k, (left, top) in enumerate(np.column_stack([lefts, tops])):
        fill, opacity, words = _cell(data["values"][k], style)
        square(1, facecolor=PAPER["pale"], edgecolor="none")
        if opacity:
            square(1, facecolor=fill, alpha=opacity, edgecolor="none")
        if data["outline"][k]:
            square(2, fill=False, edgecolor=PAPER["ink"], linewidth=_points(3))
        if words:
            size = min(TEXT, 1.5 * unit / max(2, len(words)))
            middle = (left + unit / 2, top + unit / 2)
            drawn.append(_write(axes, *middle, words, size=size, ha="center", va="center_baseline"))
    return drawn


def _cell(value, style):
    """Fill, opacity and words of one cell."""
    if style["names"] is not None:
        code = int(value)
        return FILLS[CODES[code]], STRONGEST if code else 0, style["names"][code]
    words = "" if style["digits"] is None else _rounded(value, style["digits"])
    strength = min(1, abs(value) / style["limit"])
    return FILLS["blue" if value > 0 else "orange"], STRONGEST * strength, words


def _rounded(value, digits):
    """The number that is sent, a float32, rounded as JavaScript does it: a half goes away from zero."""
    with localcontext() as context:
        context.rounding = ROUND_HALF_UP
        words = f"{Decimal(float(np.float32(abs(value)))):.{digits}f}"
    return f"−{words}" if value < 0 and float(words) else words


def _draw_handle(axes, panel, mark):
    x, y, _ = _places(panel, mark)
    color = PALETTE[mark["style"]["color"]]
    halo = axes.plot(x, y, "o", markersize=_points(HALO), markerfacecolor=color, markeredgewidth=0, alpha=0.22)
    edge = {"markerfacecolor": color, "markeredgecolor": PAPER["page"], "markeredgewidth": _points(2)}
    return [*halo, *axes.plot(x, y, "o", markersize=_points(mark["style"]["size"]), **edge)]


def _draw_surface3(axes, panel, mark):
    from matplotlib.patches import Polygon

    x, y, _ = _places(panel, mark)
    around = [0, 1, 3, 2]
    look = {"facecolor": PALETTE[mark["style"]["color"]], "alpha": 0.22, "edgecolor": "none"}
    return [axes.add_patch(Polygon(np.column_stack([x[around], y[around]]), **look))]


def _draw_label(axes, panel, mark):
    words = mark["style"].get("label")
    if not words:
        return []
    if "space" in panel:
        (x, y, _), (dx, dy) = (values[-1] for values in _places(panel, mark)), (10, 0)
    else:
        (x, y), (dx, dy) = to_pixels(panel, *KINDS[mark["kind"]].tip(mark["data"])), mark["label_at"]
    color = WORDS[mark["style"]["color"]]
    return [_write(axes, x + dx, y + dy, words, color=color, ha="right" if dx < 0 else "left", va="center")]


_DRAW = {
    "lines": _draw_lines,
    "points": _draw_points,
    "bars": _draw_bars,
    "arrows": _draw_arrows,
    "text": _draw_text,
    "cells": _draw_cells,
    "handle": _draw_handle,
    "points3": _draw_points,
    "lines3": _draw_lines,
    "surface3": _draw_surface3,
}
