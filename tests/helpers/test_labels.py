"""Where the labels of an explorer stand: helpers/widgets/explorer/labels.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import arrows, bars, handle, lines, points, text
from helpers.widgets.explorer import labels
from helpers.widgets.explorer.labels import LINE_HEIGHT, place_labels
from helpers.widgets.explorer.layout import CHARACTER, to_pixels
from helpers.widgets.explorer.marks import KINDS
from tests.shared import for_each

few = settings(derandomize=True, deadline=None, max_examples=100)
# Axes of 200 pixels for 0 to 10, so one unit is 20 pixels; labels may use 60 pixels more at their right.
SQUARE = {"box": [50, 20, 200, 200], "ends": [0, 330], "xlim": (0, 10), "ylim": (0, 10)}
SQUARE |= {"xscale": "linear", "yscale": "linear", "bare": False}
NO_STROKES = np.zeros((0, 5))


def frame(*marks):
    return [{"kind": mark.kind, "data": mark.arrays, "style": mark.style} for mark in marks]


def heights(*marks):
    """The y of every label in SQUARE, in pixels from its top."""
    named = [mark for mark in frame(*marks) if mark["style"].get("label")]
    tips = [to_pixels(SQUARE, *KINDS[mark["kind"]].tip(mark["data"]))[1] for mark in named]
    return [float(tip + dy - 20) for tip, (_, dy) in zip(tips, place_labels(SQUARE, frame(*marks)), strict=True)]


def levels(*pixels):
    """Lines across SQUARE so many pixels below its middle, with no label."""
    return [lines([0, 10], [5 - y / 20] * 2) for y in pixels]


# ---------------------------------------------------------------------------------------------- what a reader sees


def test_a_label_with_room_stands_at_its_tip():
    found = place_labels(SQUARE, frame(lines([0, 10], [5, 5], label="a"), points(4, 2, size=20, label="b")))
    assert found == [(9, 0), (15, 0)]
    assert place_labels(SQUARE, frame(handle(5, 5, moves="n", label="knob"))) == [(19, 0)]  # beside its halo


def test_places_are_sent_in_tenths_of_a_pixel():
    (dot,) = place_labels(SQUARE, frame(points(5, 5, size=9.5, label="dot")))
    assert dot == (9.8, 0)  # a radius of 4.75 and 5 more
    three = frame(*(lines([0, 10], [y, y], label="a") for y in (5, 5.2, 4.9)))
    assert [dy for _, dy in place_labels(SQUARE, three)] == [-0.7, -13.7, 14.3]  # their mean is 99 1/3


def test_overlapping_labels_move_apart_in_order():
    ends = {"a": 5, "b": 5.2, "c": 4.9, "far": 9}
    found = heights(*(lines([0, 10], [y, y], label=name) for name, y in ends.items()))
    middle = 200 * (1 - np.mean([5, 5.2, 4.9]) / 10)
    np.testing.assert_allclose(found, [middle, middle - LINE_HEIGHT, middle + LINE_HEIGHT, 20], atol=0.1)


@pytest.mark.parametrize(("end", "edge"), [(0, "lower"), (10, "upper")])
def test_many_labels_at_an_edge_stay_inside(end, edge):
    found = heights(*(lines([0, 10], [5, end], label=f"line {k}") for k in range(6)))
    assert min(found) >= 0 and max(found) <= 196
    assert sorted(np.diff(sorted(found)).round(6)) == [LINE_HEIGHT] * 5
    assert abs((max(found) if edge == "lower" else min(found)) - (196 if edge == "lower" else 0)) < 0.1


def test_only_labels_without_room_are_pushed_apart():
    assert heights(points(1, 5, label="a"), points(6, 5, label="b")) == [100, 100]
    assert heights(points(1, 5, label="a" * 12), points(6, 5, label="b")) != [100, 100]


def test_a_label_avoids_a_line_that_goes_on():
    ((_, dy),) = place_labels(SQUARE, frame(points(2, 5, label="dot"), *levels(0)))
    assert 7 <= abs(dy) <= 12


def test_marks_without_strokes_hide_nothing_later():
    ((_, dy),) = place_labels(
        SQUARE, frame(points(2, 5, label="dot"), text(5, 5, "words"), bars([0, 1], 1), *levels(0))
    )
    assert 7 <= abs(dy) <= 12


def test_an_arrows_label_stands_where_it_points():
    ((dx, dy),) = place_labels(SQUARE, frame(arrows(9, 5, -5, 0, label="u")))
    assert dx < 0 or abs(dy) >= 7


def test_a_label_too_long_moves_to_the_left():
    ((dx, dy),) = place_labels(SQUARE, frame(points(9.5, 5, label="m" * 12)))
    assert (dx, dy) == (-9.5, 0)


def test_left_labels_take_their_whole_length():
    """Its far end would lie on the first line, so it moves off that line; it does not reach the second."""
    tip, length = 50 + 190, CHARACTER * 12
    far_end = (tip - 9.5 - length - 50) / 20
    dot = points(9.5, 5, label="m" * 12)
    near, beyond = ([lines([far_end + x] * 2, [4.9, 5.1])] for x in (0.3, -0.3))
    assert place_labels(SQUARE, frame(dot, *near))[0][1] != 0
    assert place_labels(SQUARE, frame(dot, *beyond))[0] == (-9.5, 0)


def test_left_labels_share_their_room():
    dots = [points(9.5, y, label="m" * 12) for y in (5, 5.5)]
    (dx, dy), (other_dx, other_dy) = place_labels(SQUARE, frame(*dots))
    assert dx == other_dx == -9.5
    assert (100 + dy) - (90 + other_dy) >= LINE_HEIGHT - 0.1


def test_the_nearest_least_bad_place_is_taken():
    # Lines 14 pixels apart: two behind a label at the tip, one behind it 3 pixels above or below.
    crowded = levels(*(7 + 14 * k for k in range(-7, 7)))
    ((dx, dy),) = place_labels(SQUARE, frame(points(2, 5, label="m"), *crowded))
    assert (dx, dy) == (9.5, -3)


def test_the_highest_label_chooses_first():
    # The line is in the way of the upper label, which moves 3 pixels down; so does the lower one, to keep its distance.
    low, high, line = points(2, 5, label="low"), points(2, 5, label="high"), levels(-17)
    upper, lower = heights(high, low, *line)
    assert (upper, lower) == (100 - LINE_HEIGHT / 2 + 3, 100 + LINE_HEIGHT / 2 + 3)
    high = points(2, 5.01, label="high")
    assert np.allclose(heights(low, high, *line), [lower, upper], atol=0.3)


def test_negative_numbers_vanish_on_log_axes_without_warning():
    panel = SQUARE | {"ylim": (1, 100), "yscale": "log"}
    assert place_labels(panel, frame(points(5, 10, label="a"), lines([0, 10], [-1, -1]))) == [(9.5, 0)]


# ------------------------------------------------------------------------------------------------- apart, in a column


@few
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


def spread(xs, lengths, gaps=None):
    """The heights of labels that all want 100: their tips' x, their lengths, the gaps before them."""
    tips = [(x, 100.0) for x in xs]
    return labels._spread(SQUARE, tips, gaps or [0] * len(xs), lengths).tolist()


def test_labels_that_share_a_column_are_spread():
    half = LINE_HEIGHT / 2
    assert spread([0, 20], [20, 20]) == [100, 100]  # they touch
    assert spread([20, 0], [20, 20]) == [100, 100]
    assert spread([0, 19], [20, 20]) == [100 - half, 100 + half]
    assert spread([19, 0], [20, 20]) == [100 - half, 100 + half]
    assert spread([0, 15, 30], [20, 20, 20]) == [100 - 2 * half, 100, 100 + 2 * half]  # by way of the second
    assert spread([0, 20], [20, 20], gaps=[5, 0]) == [100 - half, 100 + half]
    assert spread([0, 15], [20, 20], gaps=[0, 5]) == [100, 100]


# --------------------------------------------------------------------------------------------- how bad a place is


def test_label_places_are_tried_in_order_of_distance():
    steps = range(0, labels.FARTHEST + 1, labels.STEP)
    expected = [(step, 1, 100 + sign * step) for step in steps for sign in ((-1, 1) if step else (1,))]
    expected += [(cost + labels.OTHER_SIDE, -1, middle) for cost, _, middle in expected]
    found = labels._candidates(100)
    assert sorted(found) == sorted(expected)
    assert [cost for cost, _, _ in found] == sorted(cost for cost, _, _ in expected)
    assert found[:5] == [(0, 1, 100), (3, 1, 97), (3, 1, 103), (6, 1, 94), (6, 1, 106)]
    assert found.index((27, 1, 73)) < found.index((28, -1, 97)) < found.index((28, -1, 103))


@for_each(
    ("place", "hits"),
    [
        ((100, 50, 160, 50), 0),
        ((0, 20, 330, 20), 0),  # touches the left, right and upper end
        ((0, 216, 330, 216), 0),  # and the lower one
        ((-1, 50, 60, 50), 1000),
        ((300, 50, 331, 50), 1000),
        ((100, 19, 160, 19), 1000),
        ((100, 217, 160, 217), 1000),
        ((-1, 217, 331, 217), 1000),
    ],
)
def test_beyond_the_panel_is_the_worst_place(place, hits):
    assert labels._hits(SQUARE, place, [], NO_STROKES) == hits


@for_each(
    ("other", "overlaps"),
    [
        ((100, 50, 160, 50), 1),
        ((100, 50 + LINE_HEIGHT - 1, 160, 50 + LINE_HEIGHT - 1), 1),
        ((100, 50 - LINE_HEIGHT + 1, 160, 50 - LINE_HEIGHT + 1), 1),
        ((100, 50 + LINE_HEIGHT - 0.1, 160, 50 + LINE_HEIGHT - 0.1), 0),  # rounding does not count
        ((100, 50 + LINE_HEIGHT, 160, 50 + LINE_HEIGHT), 0),
        ((100, 50 - LINE_HEIGHT, 160, 50 - LINE_HEIGHT), 0),
        ((159, 50, 200, 50), 1),
        ((160, 50, 200, 50), 0),  # they touch
        ((60, 50, 101, 50), 1),
        ((60, 50, 100, 50), 0),
    ],
)
def test_two_labels_in_one_place_are_bad(other, overlaps):
    assert labels._hits(SQUARE, (100, 50, 160, 50), [other], NO_STROKES) == 100 * overlaps
    assert labels._hits(SQUARE, (100, 50, 160, 50), [other, other], NO_STROKES) == 200 * overlaps


def test_a_tenth_of_a_pixel_keeps_labels_apart():
    panel = SQUARE | {"box": [50, 0, 200, 200]}
    other = (100, LINE_HEIGHT - 0.1, 160, LINE_HEIGHT - 0.1)
    assert labels._hits(panel, (100, 0, 160, 0), [other], NO_STROKES) == 0


@for_each(
    ("at", "crosses"),
    [(98.5, 0), (99.5, 1), (130, 1), (159.5, 1), (160.5, 0)],
)
def test_each_stroke_through_a_label_counts(at, crosses):
    strokes = np.array([[at, 0, at, 200, 0]])
    assert labels._hits(SQUARE, (100, 50, 160, 50), [], strokes) == crosses
    assert labels._hits(SQUARE, (100, 50, 160, 50), [], np.repeat(strokes, 3, axis=0)) == 3 * crosses


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_label_is_as_high_as_its_words(sign):
    for distance, crosses in ((LINE_HEIGHT / 2 - 0.5, 1), (LINE_HEIGHT / 2 + 0.5, 0)):
        strokes = np.array([[0, 50 + sign * distance, 330, 50 + sign * distance, 0]])
        assert labels._hits(SQUARE, (100, 50, 160, 50), [], strokes) == crosses


def test_strokes_are_segments_with_half_their_width():
    line, dot = lines([0, 5, 10], [0, 5, 0]), points([5, np.nan], [5, 5], size=8)
    expected = [[50, 220, 150, 120, 0], [150, 120, 250, 220, 0], [150, 120, 150, 120, 4]]
    np.testing.assert_allclose(labels._strokes(SQUARE, frame(text(5, 5, "words"), line, dot)), expected)


coordinates = st.integers(-3, 7)


def cross(a, b, c):
    """Which side of the line through a and b the point c lies on."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def meet(a, b, c, d):
    """Whether the segments ab and cd have a point in common, by whole numbers alone."""
    sides = [cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)]
    boxes = all(max(min(a[k], b[k]), min(c[k], d[k])) <= min(max(a[k], b[k]), max(c[k], d[k])) for k in (0, 1))
    return boxes and sides[0] * sides[1] <= 0 and sides[2] * sides[3] <= 0


@settings(few, max_examples=400)
@given(st.tuples(*[coordinates] * 4), st.integers(0, 2))
def test_a_stroke_crosses_rectangles_it_meets_or_fills(stroke, wide):
    x0, y0, x1, y1 = 0 - wide, 0 - wide, 4 + wide, 2 + wide
    a, b = stroke[:2], stroke[2:]
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    within = x0 <= a[0] <= x1 and y0 <= a[1] <= y1
    expected = within or any(meet(a, b, corners[k - 1], corners[k]) for k in range(4))
    assert labels._crossings(np.array([[*stroke, wide]], dtype=float), 0, 0, 4, 2) == expected
