"""One look for every static figure, and one way to show it: picture, alternative text and caption together."""

from base64 import b64encode
from io import BytesIO

SHADES = 64  # different colors in a PNG: enough for smooth letters, a third of the bytes

COLORS = {"blue": "#0077BB", "orange": "#EE7733", "teal": "#009988", "grey": "#555555", "red": "#CC3311"}

_LOOK = {
    "axes.edgecolor": COLORS["grey"],
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.facecolor": "white",  # opaque, so that a dark page does not swallow the labels
    "axes.facecolor": "white",
    "font.size": 11,
    "grid.color": "#E4E4E4",
    "lines.linewidth": 2,
    "axes.axisbelow": True,
}


def new_figure(rows=1, columns=1, *, height=3.2, **more):
    """A figure as wide as a lesson's text, in the lessons' look.

    rows, columns: of axes, as in `plt.subplots`; `more` goes there too (sharex, sharey, width_ratios, ...).
    height: in inches. Returns (figure, axes).
    """
    import matplotlib.pyplot as plt
    from cycler import cycler

    plt.rcParams.update(_LOOK | {"axes.prop_cycle": cycler(color=list(COLORS.values()))})
    return plt.subplots(rows, columns, figsize=(8.5, height), layout="constrained", **more)


def show(fig, caption):
    """Display a figure as a PNG and print its caption.

    fig: a matplotlib figure, closed afterwards.
    caption: one sentence that says what was measured, with numbers computed from the plotted data. It is
        printed as well as being the alternative text, because JupyterLab does not read alternative texts aloud.

    Raises TypeError if fig is not a figure, ValueError if the caption is empty.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display
    from matplotlib.figure import Figure

    if not isinstance(fig, Figure):
        raise TypeError(f"show: expected a matplotlib figure, got {type(fig).__name__}; write fig, ax = new_figure()")
    if not isinstance(caption, str) or not caption.strip():
        raise ValueError(f"show: expected a sentence as the caption, got {caption!r}")
    data = {"image/png": b64encode(png(fig, dpi=110)).decode(), "text/plain": caption}
    plt.close(fig)
    display(data, raw=True, metadata={"image/png": {"alt": caption}})
    print(caption)


def png(fig, dpi):
    """The figure as PNG bytes, the same bytes every time."""
    from PIL import Image

    file = BytesIO()
    fig.savefig(file, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    picture = Image.open(file).convert("RGB").quantize(SHADES, dither=Image.Dither.NONE)
    file = BytesIO()
    picture.save(file, format="png", optimize=True)
    return file.getvalue()
