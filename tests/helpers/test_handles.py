"""Handles, the play button and panels in space, as Python computes them and Node maps them.

How they are dragged and drawn is tried in `tests/browser/test_handles_in_browser.py` and `test_marks_in_browser.py`.
"""

import subprocess
import sys

import numpy as np
import pytest

from helpers import Explorer, Panel, Panel3D, bars, feature_bars, handle, lines3, points, points3, surface3
from helpers.widgets.explorer.layout import all_layouts, project
from helpers.widgets.explorer.picture import draw_figure
from tests.handles import STEPS, UNREACHED, run, with_node
from tests.shared import ROOT, for_each

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
    stage = explorer.stage
    return {name: type(to[stage, f"at_{k}"]).__name__ for k, name in enumerate(explorer.sliders)}


# ------------------------------------------------------------------------------------------------------- handles


def test_a_handle_names_and_moves_its_sliders():
    explorer = held(lambda a, b: [handle(a, b, moves=("b", "a"))])
    assert explorer.marks[0]["style"]["moves"] == ["b", "a"]
    assert explorer.stage.spec["marks"][0]["moves"] == [1, 0]


@for_each(
    ("make", "message"),
    [
        (lambda: handle(0, 0, moves=()), "expected the name of a slider, or two"),
        (lambda: handle(0, 0, moves=("a", "b", "c")), "expected the name of a slider, or two"),
        (lambda: handle(0, 0, moves=1), "expected the name of a slider, or two"),
        (lambda: handle([0, 1], [0, 1], moves="a"), "expected one point"),
        (lambda: held(lambda a, b: [handle(a, b, moves="c")]), r"mark 0 \(handle\) .* moves 'c', expected one of"),
        (lambda: held(lambda a, b: [points(a, b)], play="c"), r"play is 'c', expected one of \['a', 'b'\]"),
        (lambda: lines3([0], [0], [0]), "^lines3: expected at least two points$"),
        (lambda: surface3(*[[[0, 1]]] * 3), r"^surface3: expected three arrays .* of one shape, at least \(2, 2\)$"),
        (lambda: surface3(*[[0, 1]] * 3), r"^surface3: expected three arrays \(rows, columns\)"),
        (lambda: surface3(np.eye(2), np.eye(2), np.eye(3)), "^surface3: expected three arrays .* of one shape"),
        (lambda: points3(0, 0, 0, size=0), "^points3: size is 0, expected a number of pixels above 0$"),
        (lambda: held(lambda a, b: [points3(a, b, 0)]), r"points3 needs a panel in space, write Panel3D\(\)"),
        (lambda: held(lambda a, b: [points(a, b)], panels=Panel3D()), "a Panel3D has points, expected points3"),
        (lambda: Panel3D(names=("x", "y")), "expected three words"),
        *(
            (lambda view=view: Panel3D(view=view), "expected .azimuth, elevation.")
            for view in [(0, 91), (0, -90.5), (0, 0, 0), (0, "a")]
        ),
        (lambda: Panel3D(limits=(1, 0)), r"expected \(low, high\)"),
        (lambda: Panel3D(width=0), "^Panel3D: width is 0, expected a number above 0$"),
        (
            lambda: held(lambda a, b: [points(a, b, panel=1)], panels=[Panel3D(), Panel(width=1e3)]),
            "no room for panel 0",
        ),
    ],
)
def test_what_cannot_be_meant_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_vector_bars_have_levels_and_a_handle():
    bar, mean, high, knob = feature_bars([1, 5, -2], levels={"mean": 4 / 3, "+ 1 sd": 4.2}, dragged=1, color="orange")
    assert bar.arrays["edges"].tolist() == [-0.5, 0.5, 1.5, 2.5] and bar.arrays["height"].tolist() == [1, 5, -2]
    assert [(m.style["label"], m.style["dashed"]) for m in (mean, high)] == [("mean", False), ("+ 1 sd", True)]
    assert high.arrays["x"].tolist() == [-0.5, 2.5] and high.arrays["y"].tolist() == [4.2, 4.2]
    assert (knob.arrays["x"].item(), knob.arrays["y"].item()) == (1, 5) and knob.style["moves"] == ["feature", "value"]
    assert [mark.style["color"] for mark in (bar, mean, high, knob)] == ["orange", "grey", "grey", "orange"]
    (only,) = feature_bars([2], panel=1)
    assert only.kind == "bars" and only.style["panel"] == 1


@pytest.mark.parametrize("values, dragged", [([[1, 2]], None), ([], None), (3, None), ([1, 2], 2), ([1, 2], -1)])
def test_bars_of_what_is_no_vector_are_refused(values, dragged):
    with pytest.raises(ValueError, match="feature_bars: .*expected"):
        feature_bars(values, dragged=dragged)


def test_only_what_a_picture_moves_is_linked_twice():
    explorer = held(lambda a, b: [handle(a, 0, moves="a")])
    assert links(explorer) == {"a": "Link", "b": "DirectionalLink"}
    assert links(held(lambda a, b: [points(a, b)], play="b")) == {"a": "DirectionalLink", "b": "Link"}


def test_the_play_button_is_told_its_slider():
    assert held(lambda a, b: [points(a, b)], play="b").stage.spec["play"] == 1
    assert "play" not in held(lambda a, b: [points(a, b)]).stage.spec


def test_the_still_picture_draws_a_handle_on_top():
    explorer = held(lambda a, b: [handle(a, b, moves="a"), points(a, b, size=30)])
    _, (knob, dot) = draw_figure(explorer._spec, explorer.marks_at())
    assert min(artist.get_zorder() for artist in knob) > max(artist.get_zorder() for artist in dot)


@with_node
def test_dragging_names_positions_that_it_misses():
    explorers = [
        held(lambda a, b: [handle(a, b, moves=("a", "b"))]),
        held(lambda a, b: [handle(np.cos(a), np.sin(a) + b, moves="a")], panels=Panel(equal=True)),
        held(lambda a, b: [handle(10.0**a, b + 1, moves="a")], panels=Panel(xscale="log", yscale="log")),
    ]
    assert run(UNREACHED, map(stage, explorers)) == []
    folded = held(lambda a, b: [handle(abs(a - 1), b, moves="a")])  # 0 and 2 share a place
    missed = {tuple(choices) for _, choices, _ in run(UNREACHED, [stage(folded)])}
    assert missed == {(2, b) for b in range(3)}


@with_node
def test_keys_move_a_handle_the_way_they_point():
    found = run(STEPS, [stage(held(lambda a, b: [handle(-a, b, moves=("a", "b"))]))], KEYS)
    steps = {tuple(choices): keys for choices, keys in found}
    assert steps[1, 1] == {
        "ArrowLeft": [2, 1],
        "ArrowRight": [0, 1],
        "ArrowUp": [1, 2],
        "ArrowDown": [1, 0],
        "Home": [0, 1],
        "End": [3, 1],
        "a": None,
    }
    assert steps[0, 2]["ArrowRight"] is None and steps[0, 2]["ArrowUp"] is None


@with_node
def test_keys_on_a_straight_track_act_as_sliders():
    found = run(STEPS, [stage(held(lambda a: [handle(0, -a, moves="a")], {"a": [0, 1, 2]}))], KEYS)
    middle = dict((tuple(choices), keys) for choices, keys in found)[(1,)]
    assert (middle["ArrowRight"], middle["ArrowLeft"]) == ([2], [0])
    assert (middle["ArrowUp"], middle["ArrowDown"]) == ([0], [2]), "along the track the way that the key points"


@with_node
def test_keys_on_a_circle_go_round_it():
    angles = np.radians(np.arange(0, 360, 30)).tolist()
    circle = held(lambda a: [handle(np.cos(a), np.sin(a), moves="a")], {"a": angles}, panels=Panel(equal=True))
    steps = {choices[0]: keys for choices, keys in run(STEPS, [stage(circle)], KEYS)}
    assert (steps[3]["ArrowRight"], steps[3]["ArrowLeft"]) == ([2], [4])  # at the top
    assert steps[1]["ArrowUp"] == [2] and steps[1]["ArrowDown"] == [0]


# ----------------------------------------------------------------------------------------------- panels in space


def in_space(*marks, **more):
    explorer = held(lambda a, b: list(marks), panels=Panel3D(**more))
    return explorer, explorer.stage.spec["panels"][0]


def test_the_projection_is_that_of_matplotlibs_camera():
    from mpl_toolkits.mplot3d import proj3d

    _, panel = in_space(points3([-1, 2, 0.5], [0, 1, -2], [1, -1, 0]), view=(35, 20))
    right, up, toward = (
        np.array(project(panel, *point)) - project(panel, *panel["space"]["center"]) for point in np.eye(3)
    )
    origin = np.array(project(panel, 0, 0, 0)) - project(panel, *panel["space"]["center"])
    steps = np.array([right - origin, up - origin, toward - origin])
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


def test_axes_cross_at_zero_and_span_the_data():
    _, panel = in_space(points3([-1, 2], [0, 1], [0, 3]), names=("a", "b", "c"))
    ends = [(axis["name"], axis["from"], axis["to"]) for axis in panel["space"]["axes"]]
    assert ends == [("a", [-1, 0, 0], [3, 0, 0]), ("b", [0, -1, 0], [0, 3, 0]), ("c", [0, 0, -1], [0, 0, 3])]


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


def test_a_sphere_around_everything_fills_its_panel():
    _, panel = in_space(points3([1, 3], [1, 3], [1, 3]), title="t", view=(0, 0))
    assert panel["box"] == [4, 30, 672, 264] and panel["xlim"] == panel["ylim"] == [0, 1]
    x, y, z = panel["space"]["center"]
    assert project(panel, x, y, z) == pytest.approx((340, 162, 0))
    assert project(panel, x, y + panel["space"]["radius"], z)[0] == pytest.approx(340 + 132 - 22)  # for the names


def test_limits_of_a_panel_in_space_are_kept():
    _, panel = in_space(points3(0, 0, 0), limits=(1, 3))
    assert [axis["from"] for axis in panel["space"]["axes"]] == [[1, 1, 1]] * 3
    assert panel["space"]["center"] == [2, 2, 2]


def test_front_dots_and_back_faces_are_drawn_right():
    explorer, panel = in_space(
        surface3(*np.meshgrid([0.0, 1, 2], [0.0, 1]), np.zeros((2, 3))), points3([2, -2], [0, 0], [0, 0]), view=(0, 0)
    )
    _, (faces, (dots,)) = draw_figure(explorer._spec, explorer.marks_at())
    assert len(faces) == 2
    far, near = dots.get_xydata()
    np.testing.assert_allclose(far, near)  # seen along the axis
    turned, panel = in_space(points3([2, -2], [1, -1], [0, 0]), view=(0, 0))
    _, ((dots,),) = draw_figure(turned._spec, turned.marks_at())
    assert dots.get_xydata()[0, 0] < dots.get_xydata()[1, 0], "the far one, at y = -1, first"


# ------------------------------------------------------------------------------------------ ticks, and matplotlib


@pytest.mark.parametrize(
    ("panel", "labels"),
    [
        (Panel(), ["0", "1", "2", "3"]),
        (Panel(whole=False), ["0", "0.5", "1", "1.5", "2", "2.5", "3"]),
    ],
)
def test_a_counting_axis_has_whole_ticks(panel, labels):
    counts, others = [0, 1, 2, 3], [0, 0.5, 1, 2]
    for axis, where in (("xticks", (counts, others)), ("yticks", (others, counts))):
        explorer = held(lambda a, b, where=where: [points(*where)], panels=panel, height=400)
        assert [label for _, label in explorer.stage.spec["panels"][0][axis]] == labels


def test_bars_around_whole_numbers_count_too():
    def labels(edges):
        explorer = held(lambda a, b: [bars(edges, [1, 2, 0.5])], height=200, panels=Panel(xlim=(0, 4)))
        return [label for _, label in explorer.stage.spec["panels"][0]["xticks"]]

    assert labels([0.5, 1.5, 2.5, 3.5]) == ["0", "1", "2", "3", "4"]
    assert labels([0.5, 1.5, 2.5, 3.25])[1] == "0.5"
    assert labels([0.5, 2.5, 4.5, 6.5])[1] == "0.5", "the middles are 1.5, 3.5, ..."


def test_two_numbers_make_no_counting_axis():
    def ticks(**more):
        explorer = held(lambda a, b: [bars([0, 2], [0.5])], panels=Panel(**more))
        return [value for value, _ in explorer.stage.spec["panels"][0]["xticks"]]

    assert any(value % 1 for value in ticks())
    assert ticks(whole=True) == [0, 1, 2]


def test_an_empty_axis_does_not_count():
    explorer = held(lambda a, b: [points(a, b)], panels=[Panel(), Panel()])
    assert len(explorer.stage.spec["panels"][1]["xticks"]) > 2


@pytest.mark.parametrize("count", [2, 5, 8, 13])
def test_ticks_are_those_of_matplotlib(count):
    from matplotlib.ticker import MaxNLocator

    from helpers.widgets.explorer.ticks import linear_ticks

    rng = np.random.default_rng(count)
    for _ in range(300):
        low = rng.normal() * 10 ** rng.uniform(-3, 4)
        high = low + 10 ** rng.uniform(-2, 5)
        theirs = MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        inside = [v for v in theirs if low - 1e-9 * (high - low) <= v <= high + 1e-9 * (high - low)]
        np.testing.assert_allclose(linear_ticks((low, high), count), inside, atol=1e-9 * (high - low))


BARE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'")
sys.meta_path.insert(0, Refuse())
import numpy as np
from helpers import Explorer, handle, lines, points3, Panel, Panel3D
explorer = Explorer(
    {"n": [1, 2, 3]},
    lambda n: [lines([1, 2], [1, n], label="a"), handle(n, n, moves="n"), points3([0, n], [0, 1], [0, 1], panel=1)],
    lambda n: f"n is {n}",
    panels=[Panel(xscale="log"), Panel3D()],
    play="n",
)
data, _ = explorer._repr_mimebundle_()
assert "application/vnd.jupyter.widget-view+json" in data and data["text/plain"] == "n is 1"
assert "image/png" not in data and "matplotlib" not in sys.modules
"""


def test_an_explorer_without_matplotlib_has_no_still_picture():
    done = subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_browsers_and_missing_matplotlib_make_no_picture(monkeypatch):
    explorer = held(lambda a, b: [points(a, b)])
    assert "image/png" in explorer._repr_mimebundle_()[0]
    with monkeypatch.context() as browser:
        browser.setattr(sys, "platform", "emscripten")
        assert "image/png" not in explorer._repr_mimebundle_()[0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # its import fails
    assert "image/png" not in explorer._repr_mimebundle_()[0]
