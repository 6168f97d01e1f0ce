"""One look, and one way to show a figure."""

import base64
import io

import IPython.display
import matplotlib.pyplot as plt
import numpy as np
import pytest
import seaborn as sns
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from helpers import PALETTE, new_figure, plot_band, show
from helpers.figures import drawn, heatmaps, histograms, image_rows, scatters
from helpers.theme import PAPER
from tests.shared import for_each

# seaborn 0.13 prepares its color map in a way that matplotlib means to give up one day.
pytestmark = pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning")


@pytest.fixture
def displayed(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **more: shown.append((data, more)))
    return shown


def a_figure():
    fig, ax = new_figure()
    ax.plot([0, 1], [0, 1])
    return fig


def test_show_gives_a_png_with_its_words(displayed, capsys):
    assert show(a_figure(), "Mean 0.5.") is None
    ((data, more),) = displayed
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).format == "PNG"
    assert data["text/plain"] == "Mean 0.5."
    assert more["metadata"]["image/png"]["alt"] == "Mean 0.5."
    assert capsys.readouterr().out == "Mean 0.5.\n"


def test_show_closes_its_figure(displayed):
    show(a_figure(), "c")
    assert plt.get_fignums() == []


def test_the_background_is_opaque_white(displayed):
    show(a_figure(), "c")
    picture = Image.open(io.BytesIO(base64.b64decode(displayed[0][0]["image/png"])))
    assert picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)


def test_heatmaps_have_own_scales_around_zero():
    fig, axes = heatmaps({"small": np.array([[-1.0, 0.5]]), "large": np.array([[4.0, 0], [2, -20]])})
    assert [ax.get_title(loc="left") for ax in axes] == ["small", "large"]
    assert [ax.images[0].get_clim() for ax in axes] == [(-1, 1), (-20, 20)]
    assert [len(ax.get_yticks()) for ax in axes] == [1, 2]
    plt.close(fig)


def test_small_images_share_one_color_scale():
    images = [np.full((8, 8), value) for value in (0.2, -0.7, 1)]
    fig, axes = image_rows({"sorted": images, "shuffled": images[::-1]}, ["a", "b", "c"])
    assert [ax.get_title() for ax in axes[0]] == ["a", "b", "c"] and axes[1, 0].get_title() == ""
    assert [line[0].get_ylabel() for line in axes] == ["sorted", "shuffled"]
    assert {ax.images[0].get_clim() for ax in axes.flat} == {(-1, 1)}
    assert axes[1, 0].images[0].get_array().mean() == 1
    with pytest.raises(ValueError):
        image_rows({"sorted": images, "shuffled": images[:2]}, ["a", "b", "c"])
    plt.close("all")


def test_groups_of_points_differ_in_color_and_shape():
    groups = [(np.arange(3.0), np.arange(3.0)), ([1.0], [2.0])]
    fig, (left, right) = scatters({"Before": groups[:1], "After": groups}, ("grey", "blue"), limits=(-3, 3))
    assert [len(ax.collections) for ax in (left, right)] == [1, 2]
    many, one = right.collections
    assert [to_hex(dots.get_facecolor()[0]).upper() for dots in (many, one)] == [PALETTE["grey"], PALETTE["blue"]]
    assert len(many.get_paths()[0].vertices) != len(one.get_paths()[0].vertices)
    assert right.get_xlim() == (-3, 3) and right.get_aspect() == 1
    plt.close(fig)


def a_photo():
    fig, ax = new_figure()
    ax.imshow(np.random.default_rng(0).random((24, 24, 3)))
    return fig


def test_a_photo_keeps_its_colors_when_dark(displayed):
    show(a_photo(), "c")
    show(a_figure(), "c")
    shades, marks = [], []
    for data, more in displayed:
        picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
        shades.append(len(picture.convert("RGB").getcolors(1000)))
        marks.append(more["metadata"].get("needs_background"))
    assert shades[0] > 200 and shades[1] <= 48
    assert marks == ["light", None]


def test_the_same_figure_gives_the_same_bytes(displayed):
    show(a_figure(), "c")
    show(a_figure(), "c")
    assert displayed[0][0]["image/png"] == displayed[1][0]["image/png"]


def test_the_first_colors_are_blue_and_orange():
    fig, ax = new_figure()
    first, second = (ax.plot([0, 1])[0].get_color() for _ in range(2))
    plt.close(fig)
    assert (first, second) == (PALETTE["blue"], PALETTE["orange"])


def test_new_figure_gives_as_many_axes_as_asked():
    fig, axes = new_figure(2, 3, sharex=True)
    plt.close(fig)
    assert axes.shape == (2, 3)


def test_a_figure_is_one_axes_of_lesson_width():
    fig, ax = new_figure()
    plt.close(fig)
    assert isinstance(ax, plt.Axes)
    assert fig.get_size_inches().tolist() == [8.5, 3.2]


def test_a_figure_has_the_lessons_look():
    fig, ax = new_figure()
    (line,) = ax.plot([0, 1])
    plt.close(fig)
    label, title, tick = ax.xaxis.label, ax.title, ax.get_xticklabels()[0]
    sizes = [label.get_fontsize(), title.get_fontsize(), tick.get_fontsize()]
    assert sizes == [11, 12, 11]
    assert line.get_linewidth() == 2
    assert not ax.spines["right"].get_visible() and not ax.spines["top"].get_visible()
    assert ax.spines["left"].get_visible() and ax.get_axisbelow() is True
    assert ax.xaxis.get_gridlines()[0].get_visible()


def test_seaborn_draws_in_the_lessons_look():
    fig, (left, right, last) = new_figure(1, 3)
    sns.histplot({"before": [0.0, 1, 2], "after": [3.0, 4, 5]}, ax=left)
    sns.lineplot(x=[0, 1, 2], y=[0, 1, 0], ax=right)
    sns.heatmap([[-2.0, 0.0, 1.0]], center=0, cmap="orange_blue", cbar=False, annot=True, ax=last)
    fig.canvas.draw()
    plt.close(fig)
    bars = {to_hex(patch.get_facecolor()).upper() for patch in left.patches}
    assert bars == {PALETTE["blue"], PALETTE["orange"]}
    assert all(to_hex(patch.get_edgecolor()).upper() == PAPER["page"] for patch in left.patches)
    assert right.lines[0].get_color() == PALETTE["blue"] and right.lines[0].get_linewidth() == 2
    blue, pale, orange = (np.array(to_rgb(color)) for color in (PALETTE["blue"], PAPER["pale"], PALETTE["orange"]))
    expected = [orange, pale, (blue + pale) / 2]  # of -2, 0 and 1, which is half as far from 0
    np.testing.assert_allclose(last.collections[0].get_facecolors()[:, :3], expected, atol=0.01)
    assert not left.spines["top"].get_visible()


def test_a_second_figure_warns_of_nothing(recwarn):
    for _ in range(2):
        fig, _ = new_figure()
        plt.close(fig)
    assert not recwarn.list


def test_a_picture_has_few_colors_and_110_dpi(displayed):
    fig, ax = new_figure()
    ax.imshow(np.random.default_rng(0).random((50, 50)))
    show(fig, "c")
    picture = Image.open(io.BytesIO(base64.b64decode(displayed[0][0]["image/png"])))
    assert picture.size == (935, 352)
    assert len(picture.convert("RGB").getcolors(10**6)) == 48


def test_a_picture_is_stored_small(displayed):
    show(a_figure(), "c")
    stored = base64.b64decode(displayed[0][0]["image/png"])
    again = io.BytesIO()
    Image.open(io.BytesIO(stored)).save(again, format="png", optimize=True)
    assert len(stored) == len(again.getvalue())


def test_show_displays_the_data_as_they_are(displayed):
    show(a_figure(), "c")
    assert displayed[0][1]["raw"] is True


@pytest.mark.parametrize("caption", ["", "  ", None, 3])
def test_a_missing_caption_is_refused(caption):
    fig = a_figure()
    with pytest.raises(ValueError, match="expected a sentence as the caption"):
        show(fig, caption)
    plt.close(fig)


def test_something_else_than_a_figure_is_refused():
    with pytest.raises(TypeError, match=r"got ndarray; write fig, ax = new_figure\(\)"):
        show(np.ones(3), "c")


# ----------------------------------------------------------------------- what is stored of the data that are drawn

x = np.linspace(1, 10, 200)
PLOTS = {
    "plot": lambda ax, y: ax.plot(x, y),
    "semilogx": lambda ax, y: ax.semilogx(x, y),
    "loglog": lambda ax, y: ax.loglog(x, y),
    "scatter": lambda ax, y: ax.scatter(x, y),
    "fill_between": lambda ax, y: ax.fill_between(x, y - 0.1, y),
    "bar": lambda ax, y: ax.bar(x[::20], y[::20]),
    "hist": lambda ax, y: ax.hist(y, bins=15),
    "axhline": lambda ax, y: ax.axhline(y[0]),
    "imshow": lambda ax, y: ax.imshow(y.reshape(20, 10)),
    "pcolormesh": lambda ax, y: ax.pcolormesh(y.reshape(20, 10)),
    "errorbar": lambda ax, y: ax.errorbar(x, x, yerr=y),
    "vlines": lambda ax, y: ax.vlines(x, 0, y),
    "seaborn heatmap": lambda ax, y: sns.heatmap(y.reshape(20, 10), ax=ax, cmap="orange_blue", center=2, cbar=False),
    "seaborn histplot": lambda ax, y: sns.histplot(y, bins=15, ax=ax),
    "seaborn histplot as steps": lambda ax, y: sns.histplot(y, bins=15, element="step", ax=ax),
    "seaborn band": lambda ax, y: sns.lineplot(x=x.round(), y=y, errorbar=("pi", 100), ax=ax),
    "seaborn bars of error": lambda ax, y: sns.lineplot(x=x.round(), y=y, errorbar="sd", err_style="bars", ax=ax),
    "seaborn kdeplot": lambda ax, y: sns.kdeplot(y, ax=ax),
    "seaborn violinplot": lambda ax, y: sns.violinplot(y=y, ax=ax),
    "seaborn stripplot": lambda ax, y: sns.stripplot(x=x[::10], y=y[::10], native_scale=True, ax=ax),
}
# Of these neither colors nor places change when all numbers grow alike.
SCALED_ALONG = ("imshow", "pcolormesh", "seaborn heatmap")


def notes_of(plot, y, **limits):
    fig, ax = new_figure()
    PLOTS[plot](ax, y)
    ax.set(**limits)
    plt.close(fig)
    return drawn(fig)


@for_each("plot", PLOTS)
def test_what_is_noted_follows_the_data(plot):
    y = 2 + np.sin(x)
    first, other = y, y + 0.2 * (x > 5) + (plot == "axhline")
    for limits in ({}, {"xlim": (0.5, 20), "ylim": (0.5, 20)}):
        notes = notes_of(plot, first, **limits)
        assert notes == notes_of(plot, first.copy(), **limits)
        assert notes != notes_of(plot, other, **limits)


@for_each("plot", [p for p in PLOTS if p not in SCALED_ALONG])
def test_what_is_noted_follows_the_axes(plot):
    assert notes_of(plot, 2 + np.sin(x)) != notes_of(plot, 1.1 * (2 + np.sin(x)))


def test_a_bar_that_hangs_down_is_noted():
    limits = {"xlim": (0, 3), "ylim": (-3, 3)}
    notes = []
    for depth in (-1, -1.2):
        fig, ax = new_figure()
        ax.bar([1, 2], [1, depth])
        ax.set(**limits)
        plt.close(fig)
        notes.append(drawn(fig))
    assert notes[0] != notes[1]


def test_a_single_dot_is_noted_where_it_lies():
    fig, ax = new_figure()
    ax.scatter([1], [3])
    ax.set(xlim=(0, 4), ylim=(0, 4))
    plt.close(fig)
    assert set(drawn(fig)[0]["artists"][0].split()) == {"250,750"}


def test_shades_are_noted_in_thousandths():
    fig, ax = new_figure()
    ax.imshow([[0, 1], [2, 4]])
    plt.close(fig)
    (shades,) = drawn(fig)[0]["artists"]
    lowest, mean, highest, *sample = shades.split()
    assert (lowest, mean, highest) == ("0,0", "500,438", "1000,1000")
    assert list(dict.fromkeys(sample)) == ["0,0", "333,250", "667,500", "1000,1000"]


def test_far_outliers_are_noted_with_four_digits():
    fig, ax = new_figure()
    ax.plot([-1e6, 1e6], [0, 1e9])
    ax.set(xlim=(0, 1), ylim=(0, 1))
    plt.close(fig)
    assert drawn(fig)[0]["artists"][0].split()[-2:] == ["-9999,0", "9999,9999"]


def test_one_point_that_leaps_out_is_noted():
    y = 2 + np.sin(x)
    y[77] = 2.9
    before = notes_of("scatter", y)
    y[77] = 3.2
    assert notes_of("scatter", y) != before


def test_positions_are_noted_in_thousandths_of_the_axes():
    fig, ax = new_figure()
    ax.plot([0, 10], [0, 1])
    ax.set(xlim=(0, 20), ylim=(0, 1))
    plt.close(fig)
    (axes,) = drawn(fig)
    assert axes["x"] == [0, 20] and axes["y"] == [0, 1]
    (line,) = axes["artists"]
    assert line.split()[:4] == ["0,0", "250,500", "500,1000", "0,0"] and line.split()[-1] == "500,1000"


def test_show_stores_what_is_drawn_beside_the_picture(displayed):
    fig = a_figure()
    show(fig, "c")
    assert displayed[0][1]["metadata"]["drawn"] == drawn(fig)


def test_a_band_shows_its_curves_mean_and_range():
    fig, ax = new_figure()
    plot_band(ax, [0, 1], [[0, 4], [2, 5], [1, 0]], "teal")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, 3])
    corners = ax.collections[0].get_paths()[0].vertices
    assert [corners[corners[:, 0] == x, 1].min() for x in (0, 1)] == [0, 0]
    assert [corners[corners[:, 0] == x, 1].max() for x in (0, 1)] == [2, 5]


def test_a_band_refuses_curves_of_another_length():
    _, ax = new_figure()
    with pytest.raises(ValueError, match=r"plot_band: expected curves of shape \(n, 3\), got \(1, 2\)"):
        plot_band(ax, [0, 1, 2], [[0, 1]], "teal")


def test_histograms_stand_side_by_side_on_common_axes():
    fig, axes = histograms({"before": np.zeros((5, 2)), "after": np.arange(3.0)}, [-1, 1, 5], ("orange", "blue"))
    assert [ax.get_title(loc="left") for ax in axes] == ["before", "after"]
    assert [[patch.get_height() for patch in ax.patches] for ax in axes] == [[10, 0], [1, 2]]
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[0].get_xlim() == axes[1].get_xlim()
    plt.close(fig)
    with pytest.raises(ValueError):
        histograms({"one": [1, 2]}, 3, ("blue", "orange"))
