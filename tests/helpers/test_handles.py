"""Handles, the play button and panels in space, as Python computes them and Node maps them.

How they are dragged and drawn is tried in `tests/browser/test_handles_in_browser.py` and `test_marks_in_browser.py`.
"""

import numpy as np
import pytest

from helpers import Explorer, Panel, Panel3D, feature_bars, handle, points, points3, surface3
from helpers.widgets.explorer.layout import all_layouts, project
from helpers.widgets.explorer.picture import draw_figure
from tests.handles import STEPS, run, with_node

KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "a"]


def held(compute, sliders=None, **more):
    sliders = sliders or {"a": [0, 1, 2, 3], "b": [0, 1, 2]}
    return Explorer(sliders, compute, lambda **chosen: str(chosen), **more)


def stage(explorer):
    return explorer.stage.spec, explorer.stage.data


def links(explorer):
    """{name of a slider: kind of its link to the picture}"""
    from ipywidgets.widgets.widget import _instances

    to = {widget.target: widget for widget in _instances.values() if hasattr(widget, "target")}
    return {name: type(to[explorer.stage, f"at_{k}"]).__name__ for k, name in enumerate(explorer.sliders)}


# ------------------------------------------------------------------------------------------------------- handles


def test_a_handle_moves_its_sliders_and_only_these_are_linked_twice():
    both = held(lambda a, b: [handle(a, b, moves=("b", "a"))])
    assert both.stage.spec["marks"][0]["moves"] == [1, 0] and "play" not in both.stage.spec
    assert links(held(lambda a, b: [handle(a, 0, moves="a")])) == {"a": "Link", "b": "DirectionalLink"}
    assert links(held(lambda a, b: [points(a, b)], play="b")) == {"a": "DirectionalLink", "b": "Link"}


def test_vector_bars_have_levels_and_a_handle():
    bar, mean, high, knob = feature_bars([1, 5, -2], levels={"mean": 4 / 3, "+ 1 sd": 4.2}, dragged=1, color="orange")
    assert bar.arrays["edges"].tolist() == [-0.5, 0.5, 1.5, 2.5] and bar.arrays["height"].tolist() == [1, 5, -2]
    assert [(m.style["label"], m.style["dashed"]) for m in (mean, high)] == [("mean", False), ("+ 1 sd", True)]
    assert high.arrays["x"].tolist() == [-0.5, 2.5] and high.arrays["y"].tolist() == [4.2, 4.2]
    assert (knob.arrays["x"].item(), knob.arrays["y"].item()) == (1, 5) and knob.style["moves"] == ["feature", "value"]
    assert [mark.style["color"] for mark in (bar, mean, high, knob)] == ["orange", "grey", "grey", "orange"]
    (only,) = feature_bars([2], panel=1)
    assert only.kind == "bars" and only.style["panel"] == 1


def test_the_still_picture_draws_a_handle_on_top():
    explorer = held(lambda a, b: [handle(a, b, moves="a"), points(a, b, size=30)])
    _, (knob, dot) = draw_figure(explorer._spec, explorer.marks_at())
    assert min(artist.get_zorder() for artist in knob) > max(artist.get_zorder() for artist in dot)


@with_node
def test_keys_move_a_handle_the_way_they_point():
    angles = np.radians(np.arange(0, 360, 30)).tolist()
    circle = held(lambda a: [handle(np.cos(a), np.sin(a), moves="a")], {"a": angles}, panels=Panel(equal=True))
    free = held(lambda a, b: [handle(-a, b, moves=("a", "b"))])
    straight = held(lambda a: [handle(0, -a, moves="a")], {"a": [0, 1, 2]})
    free, straight, circle = (
        {tuple(choices): keys for choices, keys in run(STEPS, [stage(explorer)], KEYS)}
        for explorer in (free, straight, circle)
    )
    assert [free[1, 1][key] for key in KEYS] == [[2, 1], [0, 1], [1, 2], [1, 0], [0, 1], [3, 1], None]
    assert free[0, 2]["ArrowRight"] is None and free[0, 2]["ArrowUp"] is None
    # Across a straight track as on a slider, along it the way that the key points.
    assert [straight[1,][key] for key in KEYS[:4]] == [[0], [2], [0], [2]]
    assert [circle[3,][key] for key in KEYS[:2]] == [[4], [2]], "at the top"
    assert [circle[1,][key] for key in KEYS[2:4]] == [[2], [0]]


# ----------------------------------------------------------------------------------------------- panels in space


def in_space(*marks, **more):
    explorer = held(lambda a, b: list(marks), panels=Panel3D(**more))
    return explorer, explorer.stage.spec["panels"][0]


def test_the_projection_is_that_of_matplotlibs_camera():
    from mpl_toolkits.mplot3d import proj3d

    _, panel = in_space(points3([-1, 2, 0.5], [0, 1, -2], [1, -1, 0]), view=(35, 20))
    origin = np.array(project(panel, 0, 0, 0))
    steps = np.array([np.array(project(panel, *point)) - origin for point in np.eye(3)])
    ours = steps[:, :2] * [1, -1]
    azimuth, elevation = np.radians([35, 20])
    eye = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    u, v, _ = proj3d._view_axes(eye, np.zeros(3), np.array([0, 0, 1.0]), 0)
    np.testing.assert_allclose(ours / np.linalg.norm(ours[:, 0]), np.column_stack([u, v]), atol=1e-9)
    np.testing.assert_allclose(steps[:, 2], eye, err_msg="the nearer to the eye, the larger")


@pytest.mark.parametrize("view", [(0, 0), (-60, 25), (200, -80), (45, 90)])
def test_from_every_side_everything_stays_in_the_panel(view):
    cloud = np.random.default_rng(0).normal(size=(3, 50)) + [[0], [3], [-1]]
    explorer, _ = in_space(points3(*cloud), view=view)
    for _, _, (panel,) in all_layouts(explorer.stage.spec):
        x, y, _ = project(panel, *cloud)
        left, top, width, height = panel["box"]
        assert left < x.min() and x.max() < left + width and top < y.min() and y.max() < top + height
        space = panel["space"]
        _, ends, _ = project(panel, *(np.array(space["center"])[:, None] + space["radius"] * np.eye(3)))
        assert top + 20 <= ends.min(), "room for the names of the axes"


@pytest.mark.parametrize(
    ("marks", "low", "high", "radius"),
    [
        ([points3([-1, 2], [0, 1], [0, 3])], [-1, 0, 0], [3, 0, 0], 6**0.5),  # as far as the ends of the axes
        ([points3([-3, 5], [-3, 5], [-3, 5])], [-3, 0, 0], [5, 0, 0], 48**0.5),  # as far as the dots
        ([points3(2, 2, 2)], [1.5, 1.5, 1.5], [2.5, 1.5, 1.5], 0.75**0.5),
        ([], [0, 0, 0], [1, 0, 0], 0.75**0.5),
    ],
)
def test_the_view_in_space_holds_data_and_axes(marks, low, high, radius):
    explorer = held(lambda a, b: [*marks, points(a, b, panel=1)], panels=[Panel3D(), Panel()])
    space = explorer.stage.spec["panels"][0]["space"]
    assert (space["axes"][0]["from"], space["axes"][0]["to"]) == (low, high)
    assert space["radius"] == pytest.approx(radius)


def test_near_dots_are_drawn_last_and_a_plane_has_four_corners():
    plane = surface3(*np.meshgrid([0.0, 1], [0.0, 1]), np.zeros((2, 2)))
    explorer, panel = in_space(plane, points3([2, -2], [1, -1], [0, 0]), view=(0, 0))
    _, ((face,), (dots,)) = draw_figure(explorer._spec, explorer.marks_at())
    assert dots.get_xydata()[0, 0] < dots.get_xydata()[1, 0], "the far one, at y = -1, first"
    corners = np.transpose(project(panel, [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0])[:2])
    np.testing.assert_allclose(face.get_xy()[:4], corners)
