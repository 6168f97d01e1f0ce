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

# seaborn 0.13 prepares its color map in a way that matplotlib means to give up one day.
pytestmark = pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning")


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


@pytest.fixture
def displayed(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **more: shown.append((data, more)))
    return shown


def a_figure(draw=lambda ax: ax.plot([0, 1], [0, 1]), **limits):
    fig, ax = new_figure()
    draw(ax)
    ax.set(**limits)
    return fig


def picture_of(shown):
    return Image.open(io.BytesIO(base64.b64decode(shown[0]["image/png"]))).convert("RGB")


def test_show_gives_a_png_with_its_words_and_its_data(displayed, capsys):
    for _ in range(2):
        fig = a_figure()
        assert show(fig, "Mean 0.5.") is None
        assert plt.get_fignums() == []
    (data, more), again = displayed
    assert data["text/plain"] == "Mean 0.5."
    assert more["metadata"]["image/png"]["alt"] == "Mean 0.5." and more["raw"] is True
    assert more["metadata"]["drawn"] == drawn(fig)
    assert capsys.readouterr().out == "Mean 0.5.\n" * 2
    assert again == (data, more), "the same figure gives the same bytes"
    picture = picture_of(displayed[0])
    assert picture.getpixel((0, 0)) == (255, 255, 255) and picture.size == (935, 352)
    assert len(base64.b64decode(data["image/png"])) < 12_000, "few colors, packed well"


def test_only_a_photo_keeps_its_colors_and_its_light_ground(displayed):
    rng = np.random.default_rng(0)
    for image in (rng.random((24, 24, 3)), rng.random((50, 50))):
        show(a_figure(lambda ax, image=image: ax.imshow(image)), "c")
    shades = [len(picture_of(shown).getcolors(10**6)) for shown in displayed]
    assert shades[0] > 200 and shades[1] == 48
    assert [more["metadata"].get("needs_background") for _, more in displayed] == ["light", None]


@pytest.mark.parametrize("caption", ["", "  ", None, 3])
def test_a_missing_caption_is_refused(caption):
    with pytest.raises(ValueError, match="expected a sentence as the caption"):
        show(a_figure(), caption)


def test_something_else_than_a_figure_is_refused():
    with pytest.raises(TypeError, match=r"got ndarray; write fig, ax = new_figure\(\)"):
        show(np.ones(3), "c")


def test_matplotlib_and_seaborn_draw_in_the_lessons_look(recwarn):
    new_figure()
    fig, (left, right, last) = new_figure(1, 3, sharex=False)
    assert fig.get_size_inches().tolist() == [8.5, 3.2]
    sns.histplot({"before": [0.0, 1, 2], "after": [3.0, 4, 5]}, ax=left)
    sns.lineplot(x=[0, 1, 2], y=[0, 1, 0], ax=right)
    sns.heatmap([[-2.0, 0.0, 1.0]], center=0, cmap="orange_blue", cbar=False, annot=True, ax=last)
    fig.canvas.draw()
    bars = {to_hex(patch.get_facecolor()).upper() for patch in left.patches}
    assert bars == {PALETTE["blue"], PALETTE["orange"]}
    assert all(to_hex(patch.get_edgecolor()).upper() == PAPER["page"] for patch in left.patches)
    assert right.lines[0].get_color() == PALETTE["blue"] and right.lines[0].get_linewidth() == 2
    assert right.plot([0, 1])[0].get_color() == PALETTE["orange"]
    blue, pale, orange = (np.array(to_rgb(color)) for color in (PALETTE["blue"], PAPER["pale"], PALETTE["orange"]))
    expected = [orange, pale, (blue + pale) / 2]  # of -2, 0 and 1, which is half as far from 0
    np.testing.assert_allclose(last.collections[0].get_facecolors()[:, :3], expected, atol=0.01)
    assert not left.spines["top"].get_visible()
    assert not [warning for warning in recwarn.list if "set_" not in str(warning.message)]


def test_heatmaps_have_own_scales_around_zero():
    _, axes = heatmaps({"small": np.array([[-1.0, 0.5]]), "large": np.array([[4.0, 0], [2, -20]])})
    assert [ax.get_title(loc="left") for ax in axes] == ["small", "large"]
    assert [ax.images[0].get_clim() for ax in axes] == [(-1, 1), (-20, 20)]
    assert [len(ax.get_yticks()) for ax in axes] == [1, 2]


def test_small_images_share_one_color_scale():
    images = [np.full((8, 8), value) for value in (0.2, -0.7, 1)]
    _, axes = image_rows({"sorted": images, "shuffled": images[::-1]}, ["a", "b", "c"])
    assert [ax.get_title() for ax in axes.flat] == ["a", "b", "c", "", "", ""]
    assert [line[0].get_ylabel() for line in axes] == ["sorted", "shuffled"]
    assert {ax.images[0].get_clim() for ax in axes.flat} == {(-1, 1)}
    assert axes[1, 0].images[0].get_array().mean() == 1
    with pytest.raises(ValueError):
        image_rows({"sorted": images, "shuffled": images[:2]}, ["a", "b", "c"])


def test_groups_of_points_differ_in_color_and_shape():
    groups = [(np.arange(3.0), np.arange(3.0)), ([1.0], [2.0])]
    _, (left, right) = scatters({"Before": groups[:1], "After": groups}, ("grey", "blue"), limits=(-3, 3))
    assert [len(ax.collections) for ax in (left, right)] == [1, 2]
    many, one = right.collections
    assert [to_hex(dots.get_facecolor()[0]).upper() for dots in (many, one)] == [PALETTE["grey"], PALETTE["blue"]]
    assert len(many.get_paths()[0].vertices) != len(one.get_paths()[0].vertices)
    assert right.get_xlim() == (-3, 3) and right.get_aspect() == 1


def test_histograms_stand_side_by_side_on_common_axes():
    _, axes = histograms({"before": np.zeros((5, 2)), "after": np.arange(3.0)}, [-1, 1, 5], ("orange", "blue"))
    assert [ax.get_title(loc="left") for ax in axes] == ["before", "after"]
    assert [[patch.get_height() for patch in ax.patches] for ax in axes] == [[10, 0], [1, 2]]
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[0].get_xlim() == axes[1].get_xlim()
    with pytest.raises(ValueError):
        histograms({"one": [1, 2]}, 3, ("blue", "orange"))


def test_a_band_shows_its_curves_mean_and_range():
    _, ax = new_figure()
    plot_band(ax, [0, 1], [[0, 4], [2, 5], [1, 0]], "teal")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, 3])
    corners = ax.collections[0].get_paths()[0].vertices
    assert [corners[corners[:, 0] == x, 1].min() for x in (0, 1)] == [0, 0]
    assert [corners[corners[:, 0] == x, 1].max() for x in (0, 1)] == [2, 5]
    with pytest.raises(ValueError, match=r"plot_band: expected curves of shape \(n, 3\), got \(1, 2\)"):
        plot_band(ax, [0, 1, 2], [[0, 1]], "teal")


x = np.linspace(1, 10, 200)
PLOTS = {
    "scatter": lambda ax, y: ax.scatter(x, y),
    "fill_between": lambda ax, y: ax.fill_between(x, y - 0.1, y),
    "bar": lambda ax, y: ax.bar(x[::20], y[::20]),
    "imshow": lambda ax, y: ax.imshow(y.reshape(20, 10)),
    "vlines": lambda ax, y: ax.vlines(x, 0, y),
    "seaborn histplot as steps": lambda ax, y: sns.histplot(y, bins=15, element="step", ax=ax),
    "seaborn band": lambda ax, y: sns.lineplot(x=x.round(), y=y, errorbar=("pi", 100), ax=ax),
}


def notes_of(draw, **limits):
    return drawn(a_figure(draw, **limits))


@pytest.mark.parametrize("plot", PLOTS)
def test_what_is_noted_follows_the_data_within_the_same_limits(plot):
    y, limits = 2 + np.sin(x), {"xlim": (0.5, 20), "ylim": (0.5, 20)}
    notes, same, other = (notes_of(lambda ax, y=y: PLOTS[plot](ax, y), **limits) for y in (y, y, y + 0.2 * (x > 5)))
    assert notes == same != other


def test_a_line_that_is_moved_with_its_axes_is_noted():
    assert notes_of(lambda ax: ax.plot([0, 1], [0, 1])) != notes_of(lambda ax: ax.plot([0, 1], [0, 2]))
