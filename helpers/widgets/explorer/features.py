"""Marks that several explorers draw alike, put together from those of `marks`."""

import numpy as np

from .marks import bars, handle, lines


def feature_bars(values, *, levels=None, dragged=None, color="blue", panel=0):
    """One vector as marks of an explorer: a bar for each feature, around 0, 1, ..., d - 1.

    values:   (d,)
    levels:   {label: height} of lines across all bars, such as the mean; the first is solid, the others are dashed
    dragged:  number of the feature whose bar ends in a handle. It moves the sliders "feature" and "value", so the
              explorer needs both: the number of the dragged feature, and what it is changed to.
    color, panel: as for `bars`

    Returns a list of marks.
    """
    values = np.asarray(values, dtype=float)
    edges = np.arange(values.size + 1) - 0.5
    marks = [bars(edges, values, color=color, panel=panel)]
    for label, height in (levels or {}).items():
        dashed = len(marks) > 1
        marks.append(lines(edges[[0, -1]], [height] * 2, color="grey", label=label, dashed=dashed, panel=panel))
    if dragged is not None:
        marks.append(handle(dragged, values[dragged], moves=("feature", "value"), color=color, panel=panel))
    return marks
