"""Where the labels of an explorer stand: helpers/widgets/explorer/labels.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import arrows, bars, handle, lines, points, text
from helpers.widgets.explorer import labels
from helpers.widgets.explorer.labels import LINE_HEIGHT, place_labels
from helpers.widgets.explorer.layout import CHARACTER, to_pixels
from helpers.widgets.explorer.marks import KINDS

# Axes of 200 pixels for 0 to 10, so one unit is 20 pixels; labels may use 60 pixels more at their right.
SQUARE = {"box": [50, 20, 200, 200], "ends": [0, 330], "xlim": (0, 10), "ylim": (0, 10)}
SQUARE |= {"xscale": "linear", "yscale": "linear", "bare": False}


def frame(*marks):
    return [{"kind": mark.kind, "data": mark.arrays, "style": mark.style} for mark in marks]


def placed(*marks):
    return place_labels(SQUARE, frame(*marks))


def heights(*marks):
    """The y of every label in SQUARE, in pixels from its top."""
    named = [mark for mark in frame(*marks) if mark["style"].get("label")]
    tips = [to_pixels(SQUARE, *KINDS[mark["kind"]].tip(mark["data"]))[1] for mark in named]
    return [float(tip + dy - 20) for tip, (_, dy) in zip(tips, placed(*marks), strict=True)]


def levels(*pixels):
    """Lines across SQUARE so many pixels below its middle, with no label."""
    return [lines([0, 10], [5 - y / 20] * 2) for y in pixels]


# ---------------------------------------------------------------------------------------------- what a reader sees


def test_a_label_with_room_stands_at_its_tip():
    found = placed(
        lines([0, 10], [5, 5], label="a"), points(4, 2, size=20, label="b"), points(8, 8, size=9.5, label="c")
    )
    assert found == [(9, 0), (15, 0), (9.8, 0)]  # a radius and 5 more, in tenths of a pixel
    assert heights(points(1, 5, label="a"), points(6, 5, label="b")) == [100, 100]
    panel = SQUARE | {"ylim": (1, 100), "yscale": "log"}  # where a line below 0 vanishes, without a warning
    assert place_labels(panel, frame(points(5, 10, label="a"), lines([0, 10], [-1, -1]))) == [(9.5, 0)]


def test_overlapping_labels_move_apart_in_order():
    ends = {"a": 5, "b": 5.2, "c": 4.9, "far": 9}
    found = heights(*(lines([0, 10], [y, y], label=name) for name, y in ends.items()))
    middle = 200 * (1 - np.mean([5, 5.2, 4.9]) / 10)
    np.testing.assert_allclose(found, [middle, middle - LINE_HEIGHT, middle + LINE_HEIGHT, 20], atol=0.1)


@pytest.mark.parametrize(("end", "edge"), [(0, 196), (10, 0)])
def test_many_labels_at_an_edge_stay_inside(end, edge):
    found = heights(*(lines([0, 10], [5, end], label=f"line {k}") for k in range(6)))
    assert min(found) >= 0 and max(found) <= 196 and min(abs(y - edge) for y in found) < 0.1
    assert sorted(np.diff(sorted(found)).round(6)) == [LINE_HEIGHT] * 5


def test_beyond_the_panel_is_worse_than_on_a_label():
    on_a_label = labels._hits(SQUARE, (100, 160, 50), [(159, 200, 50)], np.zeros((0, 5)))
    assert 0 < on_a_label < labels._hits(SQUARE, (300, 331, 50), [], np.zeros((0, 5)))


def test_a_label_keeps_off_lines_arrows_and_handles():
    ((_, dy),) = placed(points(2, 5, label="dot"), text(5, 5, "words"), bars([0, 1], 1), *levels(0))
    assert 7 <= abs(dy) <= 12
    ((dx, dy),) = placed(arrows(9, 5, -5, 0, label="u"))
    assert dx < 0 or abs(dy) >= 7
    ((_, dy),) = placed(points(5, 5, label="dot"), handle(6, 5, moves="n"))
    assert abs(dy) >= 14 + LINE_HEIGHT / 2 - 1, "off its halo"


def test_a_label_too_long_moves_to_the_left():
    """Its far end would lie on the first line, so it moves off that line; it does not reach the second."""
    dot, length = points(9.5, 5, label="a" * 12), CHARACTER * 12
    far_end = (50 + 190 - 9.5 - length - 50) / 20
    near, beyond = ([lines([far_end + x] * 2, [4.9, 5.1])] for x in (0.3, -0.3))
    assert placed(dot, *near)[0][1] != 0 and placed(dot, *beyond)[0] == (-9.5, 0)
    (dx, dy), (other_dx, other_dy) = placed(dot, points(9.5, 5.5, label="a" * 12))
    assert dx == other_dx == -9.5 and (100 + dy) - (90 + other_dy) >= LINE_HEIGHT - 0.1


def test_the_nearest_least_bad_place_is_taken():
    # Lines 14 pixels apart: two behind a label at the tip, one behind it 3 pixels above or below.
    crowded = levels(*(7 + 14 * k for k in range(-7, 7)))
    assert placed(points(2, 5, label="a"), *crowded) == [(9.5, -3)]


def test_the_highest_label_chooses_first():
    # The line is in the way of the upper label, which moves 3 pixels down; so does the lower one, to keep its distance.
    low, line = points(2, 5, label="low"), levels(-17)
    upper, lower = heights(points(2, 5, label="high"), low, *line)
    assert (upper, lower) == (100 - LINE_HEIGHT / 2 + 3, 100 + LINE_HEIGHT / 2 + 3)
    assert np.allclose(heights(low, points(2, 5.01, label="high"), *line), [lower, upper], atol=0.3)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10), st.integers(1, 6)), min_size=1, max_size=5))
def test_labels_of_any_dots_stay_inside_and_apart(dots):
    marks = [points(x, y, label="a" * length) for x, y, length in dots]
    boxes = []
    for (x, y, length), (dx, dy) in zip(dots, placed(*marks), strict=True):
        start = 50 + 20 * x + dx
        left, right = sorted([start, start + np.sign(dx) * CHARACTER * length])
        boxes.append((left, right, 220 - 20 * y + dy))
    for k, (left, right, middle) in enumerate(boxes):
        assert 0 <= left and right <= 330 and 20 <= middle <= 216
        for start, end, other in boxes[:k]:
            assert right <= start or end <= left or abs(middle - other) >= LINE_HEIGHT - 0.3


# ------------------------------------------------------------------------------------------------- apart, in a column


@given(st.lists(st.integers(-60, 60), min_size=1, max_size=7).map(sorted))
def test_labels_move_as_little_as_possible(wanted):
    """The least squares solution by another formula: of the means from j to k, the largest of the smallest."""
    values = np.array(wanted) - LINE_HEIGHT * np.arange(len(wanted))
    expected = [
        max(min(values[j : k + 1].mean() for k in range(i, len(wanted))) for j in range(i + 1))
        for i in range(len(wanted))
    ]
    found = labels._apart(np.array(wanted, dtype=float), -1000, 1000)
    np.testing.assert_allclose(found, expected + LINE_HEIGHT * np.arange(len(wanted)), atol=1e-9)


# --------------------------------------------------------------------------------------------- how bad a place is


@given(st.tuples(*[st.integers(-3, 7)] * 4), st.integers(0, 2))
def test_a_stroke_crosses_rectangles_it_meets_or_fills(stroke, wide):
    """As points along the stroke find it. It is at most 10 long each way, and all of 1 to 10 divide 2520."""
    share = np.linspace(0, 1, 2521)[:, None]
    found = stroke[:2] + share * (np.array(stroke[2:]) - stroke[:2])
    inside = (found >= np.array([-wide, -wide]) - 1e-9) & (found <= np.array([4 + wide, 2 + wide]) + 1e-9)
    assert labels._crossings(np.array([[*stroke, wide]], dtype=float), 0, 0, 4, 2) == inside.all(axis=1).any()
