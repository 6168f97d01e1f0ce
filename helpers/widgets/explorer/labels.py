"""Where the labels of lines, dots and arrows stand: beside their tips, off each other, off all strokes and edges.

Computed here for every frame, so that the browser and the still picture only write the words.
"""

import numpy as np

from .layout import TEXT, to_pixels, words_width
from .marks import HALO, KINDS

LINE_HEIGHT = TEXT + 3  # pixels from one label to the next
STEP, FARTHEST = 3, 60  # pixels by which a label is moved up or down, and how far at most
OTHER_SIDE = 25  # a label moves up or down by as much before it changes to the other side of its tip


def place_labels(panel, marks):
    """[(dx, dy)] in pixels for each mark that has a label: from its tip to the middle of the label's near end.

    A negative dx means that the label ends there, left of the tip. marks: those of one panel in one frame.
    """
    named = [mark for mark in marks if mark["style"].get("label")]
    tips = [to_pixels(panel, *KINDS[mark["kind"]].tip(mark["data"])) for mark in named]
    gaps = [max(9, _radius(mark) + 5) for mark in named]
    lengths = [words_width(mark["style"]["label"]) for mark in named]
    strokes = _strokes(panel, marks)
    middles = _spread(panel, tips, gaps, lengths)
    taken, places = [], [None] * len(named)
    for k in sorted(range(len(named)), key=lambda k: middles[k]):
        (x, y), best = tips[k], None
        for cost, side, middle in _candidates(middles[k]):
            near = x + side * gaps[k]
            far = near + side * lengths[k]
            rectangle = min(near, far), max(near, far), middle
            hits = _hits(panel, rectangle, taken, strokes)
            if best is None or (hits, cost) < best[0]:
                best = (hits, cost), (side * gaps[k], middle - y), rectangle
            if not hits:
                break
        _, (dx, dy), rectangle = best
        taken.append(rectangle)
        places[k] = (round(float(dx), 1), round(float(dy), 1))
    return places


def _radius(mark):
    return (HALO if mark["kind"] == "handle" else mark["style"].get("size", 0)) / 2


def _strokes(panel, marks):
    """Every stroke of the marks as a row x0, y0, x1, y1, half its width."""
    found = [np.zeros((0, 5))]
    for mark in marks:
        paths = KINDS[mark["kind"]].paths
        if paths is None:
            continue
        with np.errstate(all="ignore"):  # of numbers below 0 on a log axis nothing is drawn
            x, y = to_pixels(panel, *paths(mark["data"]))
        ends = [x[:, :-1], y[:, :-1], x[:, 1:], y[:, 1:], np.full_like(x[:, 1:], _radius(mark))]
        found.append(np.column_stack([end.ravel() for end in ends]))
    strokes = np.concatenate(found)
    return strokes[np.isfinite(strokes).all(axis=1)]


def _spread(panel, tips, gaps, lengths):
    """The y of every label: its tip's, moved as little as keeps labels above each other apart and in the panel."""
    low, high = _heights(panel)
    middles = np.array([y for _, y in tips])
    starts = np.array([x + gap for (x, _), gap in zip(tips, gaps, strict=True)])
    ends = starts + lengths
    left = set(range(len(tips)))
    while left:
        group, found = set(), {min(left)}
        while found:  # labels that would share a column, and those that share one with them
            group |= found
            found = {k for k in left - group if any(starts[k] < ends[g] and starts[g] < ends[k] for g in group)}
        left -= group
        order = sorted(group, key=lambda k: middles[k])
        middles[order] = _apart(middles[order], low, high)
    return middles


def _apart(wanted, low, high):
    """The numbers next to `wanted`, which rises, that lie LINE_HEIGHT apart between low and high."""
    steps = LINE_HEIGHT * np.arange(len(wanted))
    blocks = []  # [sum, count]: neighbors that would overlap move together, to their mean
    for value in wanted - steps:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = np.concatenate([np.full(count, total / count) for total, count in blocks])
    return np.clip(level, low, max(low, high - steps[-1])) + steps


def _heights(panel):
    """Between which y the middle of a label may lie."""
    _, top, _, height = panel["box"]
    return top, top + height - 4


def _candidates(middle):
    """(cost, side, y of the middle), cheapest first, of two the upper one."""
    moves = [0, *(sign * move for move in range(STEP, FARTHEST + 1, STEP) for sign in (-1, 1))]
    return sorted((abs(move) + OTHER_SIDE * (side < 0), side, middle + move) for move in moves for side in (1, -1))


def _hits(panel, rectangle, taken, strokes):
    """How bad it is to write in a rectangle (left, right, y of its middle): 0 is free."""
    x0, x1, y = rectangle
    low, high = _heights(panel)
    left, right = panel["ends"]
    outside = not (low <= y <= high and left <= x0 and x1 <= right)
    overlaps = sum(abs(y - middle) < LINE_HEIGHT - 0.1 and x0 < end and start < x1 for start, end, middle in taken)
    return 1000 * outside + 100 * overlaps + _crossings(strokes, x0 - 1, y - LINE_HEIGHT / 2, x1, y + LINE_HEIGHT / 2)


def _crossings(strokes, x0, y0, x1, y1):
    """How many strokes cross the rectangle (Liang and Barsky: the part of each that is inside, as two shares)."""
    x, y, wide = strokes[:, 0], strokes[:, 1], strokes[:, 4]
    dx, dy = strokes[:, 2] - x, strokes[:, 3] - y
    enter, leave = np.zeros(len(strokes)), np.ones(len(strokes))
    for start, step, low, high in ((x, dx, x0 - wide, x1 + wide), (y, dy, y0 - wide, y1 + wide)):
        with np.errstate(all="ignore"):
            shares = np.sort([(low - start) / step, (high - start) / step], axis=0)
        still = step == 0
        inside = (low <= start) & (start <= high)
        enter = np.maximum(enter, np.where(still, np.where(inside, 0, 2), shares[0]))
        leave = np.minimum(leave, np.where(still, 1, shares[1]))
    return int((enter <= leave).sum())
