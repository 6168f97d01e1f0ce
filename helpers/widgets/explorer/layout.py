"""Where everything stands, in pixels: computed once, because limits and ticks are the same in every frame."""

from math import ceil, cos, radians, sin
from traceback import format_exception

import numpy as np

from ...formatting import format_value
from .marks import KINDS, Panel3D

WIDTH = 680  # pixels, of the still picture
# The page may be wider or narrower. The browser takes the widest layout that fits and never makes words smaller.
OTHER_WIDTHS = (935, 520, 400)  # the first is as wide as the lessons' figures
GAP = 10
TEXT = 14  # pixels, the size of all words: as large as those of the page
CHARACTER = 8.2  # pixels of one character of that size, on average
DIGIT, MINUS = 8.9, 11.8  # pixels of those characters where letters are wide, for the labels of ticks
CELL = 38  # pixels, the largest side of a cell
MIN_AXES = 200  # pixels that a panel with axes should have, besides the room for its labels
MIN_CELL, MIN_WRITTEN_CELL = 16, 27  # the same for one cell, and for one with a number in it
MARGIN3 = 22  # pixels around the sphere in which a picture in space is turned, for the names of the axes
STACKED = 0.75  # of the height is left for each of several rows of axes, so that more of them fit on a screen
OUTER = ("box", "ends", "xlim", "ylim", "xticks", "yticks")  # what depends on the width of the picture


class ExplorerError(ValueError):
    """What is wrong with an explorer, in one sentence that names the slider position where there is one."""

    def __init__(self, words):
        super().__init__(f"Explorer: {words}")

    def _render_traceback_(self):
        """What a notebook shows: the sentence; above it, of an error inside `compute`, where it arose."""
        cause = self.__cause__
        above = [] if cause is None else format_exception(cause, limit=-1)
        return [*above, f"ValueError: {self}", *getattr(self, "__notes__", [])]


def transform(value, limits, scale):
    """Position of value between the limits, 0 to 1."""
    low, high = limits
    if scale == "log":
        value, low, high = np.log10(value), np.log10(low), np.log10(high)
    return (value - low) / (high - low)


def words_width(words):
    """Pixels of words, roughly: m and w are wide."""
    return sum(1.6 * CHARACTER if character in "mwMW" else CHARACTER for character in words)


def _in_panel(marks, index):
    return [mark for mark in marks if mark["style"]["panel"] == index]


def _range(marks, index, axis, log):
    """Smallest and largest coordinate that any frame draws on this axis, with a little room."""
    here = _in_panel(marks, index)
    values = [array for mark in here for array in KINDS[mark["kind"]].extents(mark["data"], axis)]
    if not values:
        return 0.0, 1.0
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    if log:
        if low <= 0:
            raise ExplorerError(f"panel {index} has a log {axis} axis, but the data reach {low:g}")
        return low / 1.3, high * 1.3
    room = 0.06 * (high - low) or max(0.5, 1e-6 * abs(high))
    if all(KINDS[mark["kind"]].stands for mark in here):
        return (low, high) if axis == "x" else (low and low - room, high + room)
    return low - room, high + room


def _counts(marks, index, axis):
    """Whether this axis counts: all that stands on it in any frame are whole numbers, three or more of them."""
    numbers = np.unique(np.concatenate([[], *(_stands_at(mark, axis) for mark in _in_panel(marks, index))]))
    return len(numbers) > 2 and bool((numbers == np.rint(numbers)).all())


def _stands_at(mark, axis):
    """The numbers of an axis at which a mark stands: for bars from 0.5 to 1.5, 1.5 to 2.5, ... 1, 2, ..."""
    values = np.concatenate([array.ravel() for array in KINDS[mark["kind"]].extents(mark["data"], axis)])
    if mark["kind"] != "bars" or axis == "y" or (values % 1 != 0.5).any():
        return values
    edges = mark["data"]["edges"]
    return ((edges[..., :-1] + edges[..., 1:]) / 2).ravel()


def _ticks(limits, scale, pixels, axis, whole):
    """[(value, label)]: at most one tick every 55 (x) or 40 (y) pixels."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    count = max(2, int(pixels / (55 if axis == "x" else 40)))
    linear = MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10], integer=whole)
    values = (LogLocator(numticks=count + 1) if scale == "log" else linear).tick_values(*limits)
    inside = [value for value in values if -1e-9 <= transform(value, limits, scale) <= 1 + 1e-9]
    # Rounded: on some processors 10.0**-5 is 9.999999999999999e-06.
    return [(v, format_value(v)) for v in (float(f"{value:.12g}") for value in inside)]


def _label_room(marks, index):
    """Pixels kept free at the right for the longest label of a line, dot or arrow."""
    longest = max((words_width(mark["style"].get("label", "")) for mark in _in_panel(marks, index)), default=0)
    return longest + 10 if longest else 14


def _cells_needed(panel, marks, index, axis):
    """Columns or rows of a bare panel: as its limits say, or as its marks need in any frame, at least one."""
    limits = panel.xlim if axis == "x" else panel.ylim
    if limits is not None:
        return limits[1]
    here = _in_panel(marks, index)
    if not here or any(axis not in mark["data"] for mark in here):
        raise ExplorerError(f"panel {index} is bare, expected cells, or other marks of (x, y), in it")
    return max(1, *(array.max() for mark in here for array in KINDS[mark["kind"]].extents(mark["data"], axis)))


def lay_out(panels, marks, height, width=WIDTH):
    """{"width", "height", "panels"}: each panel as a plain dict, box in pixels, limits, ticks and titles.

    marks: stacked marks, {"kind", "style", "data": {name: array with the frames first}}
    The panels stand side by side. In a picture narrower than WIDTH those that would be squeezed begin a row of
    their own.
    """
    _refuse_other_panels(panels, marks)
    rows = _rows(panels, marks, width) if width < WIDTH else [list(range(len(panels)))]
    placed, top = [], 0
    for row in rows:
        low = len(rows) > 1 and not all(panels[index].bare for index in row)
        own = height * STACKED if low else height
        here = _lay_out_row(row, panels, marks, own, width, top)
        top = _bottom(here, top, own)
        placed += here
    return {"width": width, "height": top, "panels": placed}


def lay_out_widths(panels, marks, height):
    """The layout of the still picture, with the narrower and wider ones as its "others"."""
    main = lay_out(panels, marks, height)
    others = [lay_out(panels, marks, height, width) for width in OTHER_WIDTHS]
    for other in others:
        other["panels"] = [{name: panel[name] for name in OUTER} for panel in other["panels"]]
    return main | {"others": others}


def all_layouts(spec):
    """Every layout of a spec as (width, height, panels), that of the still picture first."""
    for layout in [spec, *spec["others"]]:
        panels = [whole | own for whole, own in zip(spec["panels"], layout["panels"], strict=True)]
        yield layout["width"], layout["height"], panels


def _refuse_other_panels(panels, marks):
    for mark in marks:
        kind, panel = KINDS[mark["kind"]], panels[mark["style"]["panel"]]
        if kind.bare and not panel.bare:
            raise ExplorerError(f"{mark['kind']} need a panel without axes, write Panel(bare=True)")
        if kind.space and not isinstance(panel, Panel3D):
            raise ExplorerError(f"{mark['kind']} needs a panel in space, write Panel3D()")
        if isinstance(panel, Panel3D) and not kind.space:
            raise ExplorerError(f"a Panel3D has {mark['kind']}, expected points3, lines3 or surface3")


def _rows(panels, marks, width):
    """Numbers of the panels that stand side by side, row by row."""
    rows, used = [], np.inf
    for index, panel in enumerate(panels):
        needed = _least_width(panel, marks, index)
        if used + needed > width:
            rows, used = [*rows, []], 0
        rows[-1].append(index)
        used += needed + GAP
    return rows


def _least_width(panel, marks, index):
    if not panel.bare:
        return max(MIN_AXES + _label_room(marks, index), CHARACTER * len(panel.title) + 80)
    written = any(mark["style"].get("digits") is not None for mark in _in_panel(marks, index))
    return _cells_needed(panel, marks, index, "x") * (MIN_WRITTEN_CELL if written else MIN_CELL)


def _bottom(row, top, height):
    """Where the next row begins. Cells seldom need all of the height they may take."""
    if not all(panel["bare"] for panel in row):
        return top + height
    return int(ceil(max(panel["box"][1] + panel["box"][3] for panel in row) + 6))


def _lay_out_row(row, panels, marks, height, width, top):
    shares = np.array([panels[index].width for index in row])
    widths = (width - GAP * (len(row) - 1)) * shares / shares.sum()
    left, placed = 0, []
    for index, own in zip(row, widths, strict=True):
        placed.append(_place(panels[index], marks, index, left, top, own, height))
        left += own + GAP
    return placed


def _place(panel, marks, index, left, above, width, height):
    """One panel, in a box of this width and height whose upper left corner is (left, above)."""
    margin = 30 if panel.title else 10
    space = {"space": _space(panel, marks, index)} if isinstance(panel, Panel3D) else {}
    if panel.bare or space:
        box = [left + 4, above + margin, width - 8, height - margin - 6]
        _refuse_no_room(box, index)
        columns, rows = (_cells_needed(panel, marks, index, axis) for axis in "xy")
        if panel.bare:
            unit = min(box[2] / columns, box[3] / rows, CELL)
            box[2:] = unit * columns, unit * rows
        axes = {"xlim": [0.0, float(columns)], "ylim": [0.0, float(rows)], "xticks": [], "yticks": []}
    else:
        right = left + width - _label_room(marks, index)
        bottom = 50 if panel.xlabel else 28
        start = left + (72 if panel.ylabel else 14 if panel.ylabel is None else 52)
        box = [start, above + margin, right - start, height - margin - bottom]
        axes = _axes(panel, marks, index, box)
        before, after = _overhang(panel, axes, box, left, left + width)
        if before or after:
            box = [start + before, box[1], right - start - before - after, box[3]]
            axes = _axes(panel, marks, index, box)
    return {
        "box": [round(float(side), 2) for side in box],
        "ends": [round(float(left), 2), round(float(left + width), 2)],
        **axes,
        **{name: getattr(panel, name) for name in ("xscale", "yscale", "xlabel", "ylabel", "title")},
        "bare": panel.bare,
        "zero": panel.zero,
        **space,
    }


def _space(panel, marks, index):
    """The middle and the radius of what is seen in a panel in space, its axes and its first view."""
    here = [np.reshape([mark["data"][axis] for axis in "xyz"], (3, -1)) for mark in _in_panel(marks, index)]
    points = np.concatenate(here or [np.array([[0.0, 1.0]] * 3)], axis=1)
    low, high = (points.min(), points.max()) if panel.limits is None else map(float, panel.limits)
    if low == high:
        low, high = low - 0.5, high + 0.5
    middle = (low + high) / 2
    cross = min(max(0.0, low), high)  # 0, if it is seen
    start, end = (np.where(np.eye(3), limit, cross) for limit in (low, high))
    radius = np.linalg.norm(np.column_stack([points, start.T, end.T]) - middle, axis=0).max()
    axes = [{"name": name, "from": start[k].tolist(), "to": end[k].tolist()} for k, name in enumerate(panel.names)]
    return {"view": list(map(float, panel.view)), "center": [float(middle)] * 3, "radius": float(radius), "axes": axes}


def _refuse_no_room(box, index):
    if min(box[2:]) <= 0:
        raise ExplorerError(f"no room for panel {index}, expected more height or width, or shorter labels")


def _axes(panel, marks, index, box):
    """Limits and ticks of a panel with axes in a box of this size."""
    _refuse_no_room(box, index)
    xlim = _range(marks, index, "x", panel.xscale == "log") if panel.xlim is None else panel.xlim
    ylim = _range(marks, index, "y", panel.yscale == "log") if panel.ylim is None else panel.ylim
    if panel.equal:
        xlim, ylim = _same_unit(xlim, ylim, box)
    whole = [panel.whole or _counts(marks, index, axis) for axis in "xy"]
    return {
        "xlim": [float(v) for v in xlim],
        "ylim": [float(v) for v in ylim],
        "xticks": _ticks(xlim, panel.xscale, box[2], "x", whole[0]),
        "yticks": [] if panel.ylabel is None else _ticks(ylim, panel.yscale, box[3], "y", whole[1]),
    }


def _overhang(panel, axes, box, left, right):
    """By how many pixels the labels of the ticks stand out of the panel's own strip: (on the left, on the right)."""
    start = left + 22 if panel.ylabel else left  # beside the words along the axis
    starts, ends = [box[0] - 6 - _tick_width(label) for _, label in axes["yticks"]], []
    for value, label in axes["xticks"]:
        middle = box[0] + box[2] * transform(value, axes["xlim"], panel.xscale)
        starts.append(middle - _tick_width(label) / 2)
        ends.append(middle + _tick_width(label) / 2)
    return max(0, start - min(starts, default=start)), max(0, max(ends, default=right) - right)


def _tick_width(label):
    return sum({"−": MINUS, ".": DIGIT / 2}.get(character, DIGIT) for character in label)


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
    return left + width * transform(x, panel["xlim"], panel["xscale"])


def y_to_pixels(panel, y):
    """y grows upwards, except in a bare panel."""
    _, top, _, height = panel["box"]
    up = transform(y, panel["ylim"], panel["yscale"])
    return top + height * (up if panel["bare"] else 1 - up)


def to_pixels(panel, x, y):
    """Pixel coordinates of data coordinates."""
    return x_to_pixels(panel, x), y_to_pixels(panel, y)


def project(panel, x, y, z):
    """Pixel coordinates of points of a panel in space, and how near each is, from its first view; see space.js."""
    left, top, width, height = panel["box"]
    space = panel["space"]
    azimuth, elevation = map(radians, space["view"])
    ca, sa, ce, se = cos(azimuth), sin(azimuth), cos(elevation), sin(elevation)
    x, y, z = (np.asarray(value) - middle for value, middle in zip((x, y, z), space["center"], strict=True))
    unit = (min(width, height) / 2 - MARGIN3) / space["radius"]
    right, toward = ca * y - sa * x, ca * x + sa * y
    return (
        left + width / 2 + unit * right,
        top + height / 2 - unit * (ce * z - se * toward),
        ce * toward + se * z,
    )
