"""Where everything stands, in pixels: computed once, because limits and ticks are the same in every frame."""

from math import isclose

import numpy as np

WIDTH = 680  # pixels, the width of a lesson's text in JupyterLab
GAP = 10
CHARACTER = 7.2  # pixels of one 13 px character, on average
CELL = 34  # pixels, the largest side of a cell


def number(value):
    """A number as a learner reads it: 8, 0.25, 1e−5 (with a minus sign, not a hyphen)."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value}".replace("-", "−")
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e4):
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def transform(value, limits, scale):
    """Position of value between the limits, 0 to 1."""
    low, high = limits
    if scale == "log":
        value, low, high = np.log10(value), np.log10(low), np.log10(high)
    return (value - low) / (high - low)


def _range(marks, panel_index, axis, log):
    """Smallest and largest coordinate that any frame draws on this axis, with a little room."""
    values = []
    for mark in marks:
        if mark["style"]["panel"] != panel_index:
            continue
        data = mark["data"]
        if mark["kind"] == "bars":
            values += [data["edges"]] if axis == "x" else [data["height"], np.zeros(())]
        elif mark["kind"] == "arrows":
            values += [data[axis], data[axis] + data["d" + axis]]
        elif mark["kind"] in ("lines", "points", "text"):
            values.append(data[axis])
    if not values:
        return 0.0, 1.0
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    only_bars = all(m["kind"] == "bars" for m in marks if m["style"]["panel"] == panel_index)
    if log:
        if low <= 0:
            raise ValueError(f"Explorer: panel {panel_index} has a log {axis} axis, but the data reach {low:g}")
        return low / 1.3, high * 1.3
    room = 0.06 * (high - low) or max(0.5, 1e-6 * abs(high))
    if only_bars:  # bars stand on the axis
        return (low, high) if axis == "x" else (low and low - room, high + room)
    return low - room, high + room


def _ticks(limits, scale, pixels, axis):
    """[(value, label)]: at most one tick every 55 (x) or 40 (y) pixels."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = limits
    count = max(2, int(pixels / (55 if axis == "x" else 40)))
    if scale == "log":
        values = LogLocator(base=10, numticks=count + 1).tick_values(low, high)
    else:
        values = MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    inside = [float(v) for v in values if isclose(v, np.clip(v, low, high))]
    return [(v, number(v)) for v in inside]


def _label_room(marks, panel_index):
    """Pixels kept free at the right for the longest label of a line, dot or arrow."""
    labels = [m["style"].get("label", "") for m in marks if m["style"]["panel"] == panel_index]
    longest = max(map(len, labels), default=0)
    return CHARACTER * longest + 8 if longest else 14


def _cells_needed(marks, panel_index, axis):
    """Columns or rows, at least one, that the marks of a bare panel need in any frame."""
    here = [mark for mark in marks if mark["style"]["panel"] == panel_index]
    if not here or any(axis not in mark["data"] for mark in here):
        raise ValueError(f"Explorer: panel {panel_index} is bare, expected cells, or other marks of (x, y), in it")
    return max(1, *(mark["data"][axis].max() + (mark["kind"] == "cells") for mark in here))


def lay_out(panels, marks, height):
    """Each panel as a plain dict: box in pixels, limits, ticks and titles.

    marks: stacked marks, {"kind", "style", "data": {name: array with the frames first}}
    """
    shares = np.array([panel.width for panel in panels], dtype=float)
    widths = (WIDTH - GAP * (len(panels) - 1)) * shares / shares.sum()
    left, placed = 0, []
    for index, panel in enumerate(panels):
        width = widths[index]
        top = 28 if panel.title else 10
        if panel.bare:
            columns = _cells_needed(marks, index, "x") if panel.xlim is None else panel.xlim[1]
            rows = _cells_needed(marks, index, "y") if panel.ylim is None else panel.ylim[1]
            unit = min((width - 8) / columns, (height - top - 6) / rows, CELL)
            box = [left + 4, top, unit * columns, unit * rows]
            xlim, ylim, xticks, yticks = (0, columns), (0, rows), [], []
        else:
            right = _label_room(marks, index)
            bottom = 46 if panel.xlabel else 26
            start = left + (62 if panel.ylabel else 14 if panel.ylabel is None else 46)
            box = [start, top, left + width - right - start, height - top - bottom]
        if min(box[2:]) <= 0:
            raise ValueError(f"Explorer: no room for panel {index}, expected more height or width, or shorter labels")
        if not panel.bare:
            xlim = _range(marks, index, "x", panel.xscale == "log") if panel.xlim is None else panel.xlim
            ylim = _range(marks, index, "y", panel.yscale == "log") if panel.ylim is None else panel.ylim
            if panel.equal:
                xlim, ylim = _same_unit(xlim, ylim, box)
            xticks = _ticks(xlim, panel.xscale, box[2], "x")
            yticks = [] if panel.ylabel is None else _ticks(ylim, panel.yscale, box[3], "y")
        placed.append(
            {
                "box": [round(float(side), 2) for side in box],
                "xlim": [float(v) for v in xlim],
                "ylim": [float(v) for v in ylim],
                "xticks": xticks,
                "yticks": yticks,
                **{name: getattr(panel, name) for name in ("xscale", "yscale", "xlabel", "ylabel", "title")},
                "bare": panel.bare,
                "zero": panel.zero,
            }
        )
        left += width + GAP
    return placed


def _same_unit(xlim, ylim, box):
    """Widen one pair of limits until a unit is as many pixels on x as on y."""
    spans = [xlim[1] - xlim[0], ylim[1] - ylim[0]]
    unit = min(box[2] / spans[0], box[3] / spans[1])

    def widen(limits, pixels):
        middle, half = (limits[0] + limits[1]) / 2, pixels / unit / 2
        return middle - half, middle + half

    return widen(xlim, box[2]), widen(ylim, box[3])


def x_to_pixels(panel, x):
    left, _, width, _ = panel["box"]
    return left + width * transform(np.asarray(x, dtype=float), panel["xlim"], panel["xscale"])


def y_to_pixels(panel, y):
    """y grows upwards, except in a bare panel."""
    _, top, _, height = panel["box"]
    up = transform(np.asarray(y, dtype=float), panel["ylim"], panel["yscale"])
    return top + height * (up if panel["bare"] else 1 - up)


def to_pixels(panel, x, y):
    """Pixel coordinates of data coordinates."""
    return x_to_pixels(panel, x), y_to_pixels(panel, y)


def spread_labels(labels, gap=15):
    """Push labels that overlap apart: [(y, ...)] sorted by y, each at least `gap` pixels below the one before."""
    placed = []
    for y, *rest in sorted(labels, key=lambda label: label[0]):
        placed.append((max(y, placed[-1][0] + gap) if placed else y, *rest))
    return placed
