"""What an explorer can draw: plain marks, three of them in space, a handle, and the panels they are drawn in.

A mark is data and style, never pixels. Two renderers read the same marks: `stage.js` in the browser and `picture.py`
with matplotlib, for places without widgets.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...checks import describe
from ...theme import PALETTE

MAX_NAMES = 5  # of codes: pale, three colors and grey
HANDLE, HALO = 16, 28  # pixels across the knob of a handle and what glows around it


@dataclass(frozen=True)
class Kind:
    """What the layout must know of one kind of mark. The functions take {name of an array: its numbers}."""

    extents: Callable  # (data, axis) to the numbers that must lie between the limits of that axis, "x" or "y"
    paths: Callable | None = None  # data to (x, y) of all strokes, one row of points each; labels keep off them
    tip: Callable | None = None  # data to the point (x, y) at which the label stands; None where there is no label
    stands: bool = False  # drawn upwards from zero, so that no room is needed below
    bare: bool = False  # only for panels without axes
    space: bool = False  # only for panels of three dimensions


def _points_of(data, axis):
    return [data[axis]]


def _last(data):
    return data["x"][-1], data["y"][-1]


def _dots(data):
    return [np.stack([data[axis]] * 2, axis=-1) for axis in "xy"]


def _from_foot_to_tip(data, axis):
    return np.stack([data[axis], data[axis] + data["d" + axis]], axis=-1)


KINDS = {
    "lines": Kind(_points_of, lambda data: (data["x"][None], data["y"][None]), _last),
    "points": Kind(_points_of, _dots, _last),
    "bars": Kind(lambda data, axis: [data["edges"]] if axis == "x" else [data["height"], np.zeros(1)], stands=True),
    "arrows": Kind(
        lambda data, axis: [_from_foot_to_tip(data, axis)],
        lambda data: [_from_foot_to_tip(data, axis) for axis in "xy"],
        lambda data: [_from_foot_to_tip(data, axis)[-1, 1] for axis in "xy"],
    ),
    "text": Kind(_points_of),
    "cells": Kind(lambda data, axis: [data[axis], data[axis] + 1], bare=True),
    "handle": Kind(_points_of, _dots),
    **dict.fromkeys(("lines3", "points3", "surface3"), Kind(_points_of, space=True)),
}


@dataclass(frozen=True)
class Mark:
    """One thing drawn in one frame."""

    kind: str  # a key of KINDS
    arrays: dict  # its numbers by name; they change from frame to frame, their shapes do not
    style: dict  # color, label, panel, ...; the same in every frame
    string: str = ""  # the words of a text mark; they may change from frame to frame


@dataclass(frozen=True)
class Panel:
    """One set of axes of an explorer.

    xlabel, ylabel:  what is drawn, with its unit; ylabel=None hides an axis whose numbers mean nothing
    xlim, ylim:      fixed limits; None takes the range of the data over all frames
    xscale, yscale:  "linear" or "log"
    equal:           one unit is as long on x as on y (vectors, circles)
    bare:            no axes, y runs downwards, one unit is one cell (for `cells`)
    width:           fraction of the explorer's width
    zero:            draw a line at y = 0
    whole:           ticks at whole numbers only; they are anyway on an axis of three or more numbers, all whole
    """

    xlabel: str = ""
    ylabel: str | None = ""
    title: str = ""
    xlim: tuple | None = None
    ylim: tuple | None = None
    xscale: str = "linear"
    yscale: str = "linear"
    equal: bool = False
    bare: bool = False
    width: float = 1.0
    zero: bool = False
    whole: bool = False

    def __post_init__(self):
        for name in ("xscale", "yscale"):
            if getattr(self, name) not in ("linear", "log"):
                raise ValueError(f'Panel: {name} is {getattr(self, name)!r}, expected "linear" or "log"')
        for name, scale in (("xlim", self.xscale), ("ylim", self.yscale)):
            limits = getattr(self, name)
            if limits is not None and not _are_limits(limits, 0 if scale == "log" else -np.inf):
                raise ValueError(f"Panel: {name} is {limits!r}, expected (low, high), for a log scale above 0")
            if self.bare and limits is not None and limits[0] != 0:
                raise ValueError(f"Panel: {name} is {limits!r}, expected (0, number of cells) in a bare panel")
        _refuse_unless_above_0("Panel", "width", self.width)


@dataclass(frozen=True)
class Panel3D:
    """A picture in space, for `points3`, `lines3` and `surface3`. The reader turns it, by dragging or with keys.

    names:   of the three axes, which cross at 0, or at the limit next to it
    limits:  (low, high) of each axis; None takes the range of all data over all frames
    view:    (azimuth, elevation) in degrees, from where it is seen first, as matplotlib counts them

    One unit is as long on each axis, and parallel lines stay parallel (orthographic projection).
    """

    names: tuple = ("x", "y", "z")
    title: str = ""
    limits: tuple | None = None
    view: tuple = (-60, 25)

    # What the layout asks every panel.
    bare = zero = False
    width = 1.0
    xlabel, ylabel, xscale, yscale = "", None, "linear", "linear"
    xlim = ylim = (0, 1)

    def __post_init__(self):
        if self.limits is not None and not _are_limits(self.limits, -np.inf):
            raise ValueError(f"Panel3D: limits is {self.limits!r}, expected (low, high)")
        if len(self.view) != 2 or not all(map(_is_number, self.view)) or not -90 <= self.view[1] <= 90:
            raise ValueError(f"Panel3D: view is {self.view!r}, expected (azimuth, elevation) in degrees")


def _is_number(x):
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def _refuse_unless_above_0(kind, name, value, expected="a number"):
    if not _is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{kind}: {name} is {value!r}, expected {expected} above 0")


def _are_limits(limits, below):
    """Whether these are a low and a high number, both above `below`."""
    try:
        low, high = map(float, limits)
    except (TypeError, ValueError):
        return False
    return below < low < high < np.inf


def _style(kind, color, panel, **more):
    if color not in PALETTE:
        raise ValueError(f"{kind}: color {color!r} is not in the palette {list(PALETTE)}")
    if "label" in more:
        more["label"] = str(more["label"])
    return {"color": color, "panel": panel, **more}


def _numbers(kind, name, value):
    """The values as floats of their own: a mark must not change when `compute` uses its array again."""
    if isinstance(value, np.ma.MaskedArray):
        value = value.astype(float).filled(np.nan)
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biufO":
            return np.array(array, dtype=float)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{kind}: {name} is {describe(value)}, expected real numbers")


def _vectors(kind, **named):
    """The arguments as float arrays of one length; a scalar counts as one value."""
    arrays = {name: np.atleast_1d(_numbers(kind, name, value)) for name, value in named.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    length = next(iter(arrays.values())).size
    if any(shape != (length,) for shape in shapes.values()):
        raise ValueError(f"{kind}: expected vectors of one length, got shapes {shapes}")
    return arrays


def lines(x, y, *, color="blue", label="", dashed=False, panel=0):
    """A line through the points (x[i], y[i]). The label is at its right end."""
    return Mark("lines", _vectors("lines", x=x, y=y), _style("lines", color, panel, label=label, dashed=dashed))


def points(x, y, *, color="blue", label="", size=9, hollow=False, panel=0):
    """Dots of `size` pixels at (x[i], y[i]). The label is right of the last one."""
    _refuse_unless_above_0("points", "size", size, "a number of pixels")
    style = _style("points", color, panel, label=label, size=size, hollow=hollow)
    return Mark("points", _vectors("points", x=x, y=y), style)


def bars(edges, height, *, color="blue", panel=0):
    """Bars from 0 to height[i], between edges[i] and edges[i + 1]."""
    edges, height = _numbers("bars", "edges", edges), np.atleast_1d(_numbers("bars", "height", height))
    if edges.ndim != 1 or height.ndim != 1 or len(edges) != len(height) + 1:
        raise ValueError(f"bars: expected one more edge than bars, got {edges.shape} edges and {height.shape} heights")
    return Mark("bars", {"edges": edges, "height": height}, _style("bars", color, panel))


def arrows(x, y, dx, dy, *, color="blue", label="", panel=0):
    """Arrows from (x[i], y[i]) to (x[i] + dx[i], y[i] + dy[i]). The label is at the last tip."""
    return Mark("arrows", _vectors("arrows", x=x, y=y, dx=dx, dy=dy), _style("arrows", color, panel, label=label))


def text(x, y, string, *, color="grey", align="start", bold=False, panel=0):
    """Words at (x, y); `align` is "start", "middle" or "end". The words may change from frame to frame."""
    if align not in ("start", "middle", "end"):
        raise ValueError(f'text: align is {align!r}, expected "start", "middle" or "end"')
    return Mark("text", _vectors("text", x=x, y=y), _style("text", color, panel, align=align, bold=bold), str(string))


def cells(values, *, at=(0, 0), limit=None, digits=None, names=None, outline=None, panel=0):
    """Unit cells, for a `bare` panel, where rows run downwards.

    at: (column, row) of the upper left cell of a 2-D grid; or two arrays of the shape of `values`, the column and the
        row of every cell.
    Either numbers: the fill runs from orange (-limit) over pale (0) to blue (+limit), and `digits` writes them;
    or codes: `names` = ("", "a", "b") leaves code 0 pale and fills code 1 blue, 2 orange, 3 teal, with the name written
    in the cell, so that no group is told by color alone.
    outline: 0/1 array of the same shape; 1 draws a thick frame.
    """
    values = _numbers("cells", "values", values)
    if np.ndim(at[0]) == 0:
        if values.ndim != 2:
            raise ValueError(f"cells: expected a 2-D array of values, got shape {values.shape}")
        rows, columns = np.indices(values.shape)
        at = columns + at[0], rows + at[1]
    arrays = {"x": at[0], "y": at[1], "values": values}
    arrays["outline"] = np.zeros(values.shape) if outline is None else outline
    arrays = {name: _numbers("cells", name, array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.shape != values.shape:
            raise ValueError(f"cells: {name} has shape {array.shape}, expected {values.shape} as the values")
    if (names is None) == (limit is None):
        raise ValueError("cells: give either limit= (numbers) or names= (codes)")
    if names is not None:
        names = [str(name) for name in names]
        if not 2 <= len(names) <= MAX_NAMES:
            raise ValueError(f"cells: got {len(names)} names, expected 2 to {MAX_NAMES}")
        # What is not finite is told with its slider position.
        wrong = np.setdiff1d(values[np.isfinite(values)], range(len(names)))
        if wrong.size:
            raise ValueError(f"cells: a value is {wrong[0]:g}, expected codes 0 to {len(names) - 1}, one for each name")
    else:
        _refuse_unless_above_0("cells", "limit", limit)
    if digits is not None and digits not in range(10):
        raise ValueError(f"cells: digits is {digits!r}, expected None or 0 to 9")
    digits = None if digits is None else int(digits)
    style = {"panel": panel, "limit": limit, "digits": digits, "names": names}
    return Mark("cells", {name: array.ravel() for name, array in arrays.items()}, style)


def handle(x, y, *, moves, color="blue", panel=0):
    """A dot at the point (x, y) that the reader can drag: it moves one or two controls.

    moves: name of a slider, or two of them. It can be dragged to the places where `compute` draws it at their
        positions; arrow keys move it, too. No two positions may share a place.
    """
    names = [moves] if isinstance(moves, str) else list(moves) if isinstance(moves, (list, tuple)) else []
    if not 1 <= len(names) <= 2 or not all(isinstance(name, str) for name in names):
        raise ValueError(f"handle: moves is {moves!r}, expected the name of a slider, or two of them")
    arrays = _vectors("handle", x=x, y=y)
    if arrays["x"].size != 1:
        raise ValueError(f"handle: expected one point (x, y), got {arrays['x'].size}")
    return Mark("handle", arrays, _style("handle", color, panel, size=HANDLE, moves=names))


def points3(x, y, z, *, color="blue", size=7, panel=0):
    """Dots of `size` pixels at (x[i], y[i], z[i]), the near ones in front."""
    _refuse_unless_above_0("points3", "size", size, "a number of pixels")
    return Mark("points3", _vectors("points3", x=x, y=y, z=z), _style("points3", color, panel, size=size))


def lines3(x, y, z, *, color="blue", label="", dashed=False, arrow=False, panel=0):
    """A line through the points (x[i], y[i], z[i]); with `arrow`, one from point 0 to 1. The label is at its end."""
    arrays = _vectors("lines3", x=x, y=y, z=z)
    if arrow and arrays["x"].size != 2:
        raise ValueError("lines3: an arrow needs two points")
    return Mark("lines3", arrays, _style("lines3", color, panel, label=label, dashed=dashed, arrow=bool(arrow)))


def surface3(x, y, z, *, color="grey", panel=0):
    """A part of a plane, through which one sees: its corners in three arrays (2, 2), as from `np.meshgrid`.

    Marks are drawn in their order, so name it before what is to stand out from it.
    """
    arrays = {name: _numbers("surface3", name, value) for name, value in {"x": x, "y": y, "z": z}.items()}
    if any(array.shape != (2, 2) for array in arrays.values()):
        raise ValueError("surface3: expected three arrays of shape (2, 2)")
    return Mark("surface3", {name: array.ravel() for name, array in arrays.items()}, _style("surface3", color, panel))
