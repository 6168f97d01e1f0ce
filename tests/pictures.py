"""The pictures in a notebook, and where those of two runs differ."""

import base64
import io
import json
import platform
import re
import sys
from typing import NamedTuple

import matplotlib
import numpy as np
from PIL import Image

from helpers.widgets.explorer.layout import x_to_pixels, y_to_pixels
from tests.shared import ROOT, decode_frames
from tools.author.record import VIEW, WIDGET_STATE

# Another matplotlib than that of requirements.lock, or another system, may draw other pixels.
SAME_PIXELS = f"matplotlib=={matplotlib.__version__} " in (ROOT / "requirements.lock").read_text(encoding="utf-8") and (
    sys.platform,
    platform.machine(),
) == ("linux", "x86_64")


class Pictures(NamedTuple):
    stages: list  # of each explorer: (spec, blocks of bytes, different captions, which of them at each position)
    stills: list  # of each explorer: what it displays without widgets, as {mime: value}
    figures: list  # of each figure: (data, metadata) as `show` displays them


def pictures_in(notebook):
    """The pictures that a notebook stores, in its order."""
    models = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    views = [output.data for output in outputs if VIEW in output.get("data", {})]
    stages = []
    for model in shown_by([view[VIEW]["model_id"] for view in views], models):
        if "captions" in model["state"]:
            blocks = {tuple(b["path"]): base64.b64decode(b["data"]) for b in model["buffers"]}
            data = [blocks["data", k] for k in range(len(model["state"]["data"]))]
            stages.append((model["state"]["spec"], data, model["state"]["captions"], blocks[("caption_of",)]))
    figures = [(output.data, output.metadata) for output in outputs if "drawn" in output.get("metadata", {})]
    return Pictures(stages, [data for data in views if "image/png" in data], figures)


def shown_by(names, models):
    """The models of these names and those inside them, in the order in which a reader sees them."""
    found = []
    for name in names:
        if name in models:
            children = models[name]["state"].get("children", [])
            found += [models[name], *shown_by([child.removeprefix("IPY_MODEL_") for child in children], models)]
    return found


def places(spec, frames):
    """Where the marks of every position lie, in pixels; the values of cells in hundredths of the whole scale.

    Not where labels stand: that follows from the rest, and they may change sides for another machine's rounding.
    """
    found = []
    for mark, arrays in zip(spec["marks"], frames, strict=True):
        panel = spec["panels"][mark["panel"]]
        if mark["kind"] == "arrows":
            arrays = arrays | {"dx": arrays["x"] + arrays["dx"], "dy": arrays["y"] + arrays["dy"]}
        for name, values in arrays.items():
            if name.startswith("label_"):
                continue
            if name == "string":
                values = np.array(mark["strings"])[values]
            elif "space" in panel:
                values = values * (min(panel["box"][2:]) / 2 / panel["space"]["radius"])
            elif name in ("x", "dx", "edges"):
                values = x_to_pixels(panel, values.astype(float))
            elif name in ("y", "dy", "height"):
                values = y_to_pixels(panel, values.astype(float))
            else:  # values and outlines of cells
                values = 100 * values.astype(float) / (name == "values" and mark["limit"] or 1)
            found.append((mark["kind"], name, values))
    return found


def without_data(spec):
    """Panels, sizes, colors and labels; not the ticks, which depend on matplotlib's version."""
    spec = json.loads(json.dumps(spec), parse_float=lambda digits: float(f"{float(digits):.5g}"))
    for mark in spec["marks"]:
        del mark["arrays"], mark["strings"]
    for layout in [spec, *spec["others"]]:
        for panel in layout["panels"]:
            del panel["xticks"], panel["yticks"]
    return spec


def changed_explorers(before, after):
    """What differs between the explorers of two Pictures, at any slider position."""
    found = []
    for k, (old, new) in enumerate(zip(before.stages, after.stages, strict=True)):
        (spec, data, *captions), (new_spec, new_data, *new_captions) = old, new
        found += [] if without_data(spec) == without_data(new_spec) else [f"explorer {k}: panels, colors or labels"]
        found += [] if captions == new_captions else [f"explorer {k}: captions"]
        lie = places(spec, decode_frames(spec, data)), places(spec, decode_frames(new_spec, new_data))
        for (kind, name, old_place), (_, _, place) in zip(*lie, strict=True):
            same = np.array_equal(old_place, place) if name == "string" else np.abs(old_place - place).max() <= 1
            found += [] if same else [f"explorer {k}: {name} of {kind}, by more than a pixel"]
    return found


def changed_figures(before, after):
    """The axes whose limits differ by 1 %, or of which a position differs by 5 thousandths."""
    found = []
    drawn = ([metadata["drawn"] for _, metadata in pictures.figures] for pictures in (before, after))
    for f, (old_figure, new_figure) in enumerate(zip(*drawn, strict=True)):
        for a, (old, new) in enumerate(zip(old_figure, new_figure, strict=True)):
            limits = [np.ravel([axes[axis] for axis in "xy"]) for axes in (old, new)]
            numbers = [[np.array(re.split("[ ,]", text), float) for text in axes["artists"]] for axes in (old, new)]
            same = np.allclose(*limits, rtol=0.01, atol=0.01 * np.ptp(limits[0].reshape(2, 2), axis=1).min())
            same = same and len(numbers[0]) == len(numbers[1])
            same = same and all(np.abs(o - n).max() <= 5 for o, n in zip(*numbers, strict=True))
            found += [] if same else [f"figure {f}, axes {a}"]
    return found


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"), dtype=int)


def pngs(pictures):
    """Every PNG, those of explorers first: a GitHub page shows them."""
    return [data["image/png"] for data in pictures.stills] + [data["image/png"] for data, _ in pictures.figures]


def changed_pixels(before, after):
    """The PNGs that differ; one pixel in 50 000 may, for another machine's rounding."""
    found = []
    for k, (old, new) in enumerate(zip(pngs(before), pngs(after), strict=True)):
        old, new = pixels(old), pixels(new)
        other = (np.abs(old - new).max(axis=2) > 20).mean() if old.shape == new.shape else 1
        found += [] if other <= 1 / 50_000 else [f"picture {k}: {other:.2%} of its pixels are others"]
    return found
