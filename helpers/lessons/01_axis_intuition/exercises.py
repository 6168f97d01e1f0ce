"""Lesson 01: what calls the coin?"""

import operator

import numpy as np

from ...exercises import Exercise, WrongKind, case
from ...exercises.shared import AFFINE_FIRST, HALF, PAIR, RMS_NORM, affine_cases, by_hand

UNNOTICED = "they line up with the last axis, W, and not with the channels, unnoticed when C equals W"


def _run_axes(attempt, norm, ndim):
    """Bring an answer to sorted, non-negative axes: lists, NumPy integers, -1 and a bare 0 are fine."""
    axes = attempt(norm, ndim)
    if axes is None or axes is ...:
        return axes
    try:
        axes = list(axes) if np.iterable(axes) else [axes]
        axes = [operator.index(None if isinstance(axis, bool) else axis) for axis in axes]
    except (TypeError, ValueError):
        raise WrongKind("the answer is not a tuple of whole numbers, the axes") from None
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise WrongKind(f"axis {axis} does not exist in a tensor with {ndim} axes")
    return tuple(sorted(axis % ndim for axis in axes))


STATISTIC_AXES = Exercise(
    solution="""
def my_statistic_axes(norm, ndim):
    space = tuple(range(2, ndim))
    return {"batch": (0, *space), "layer": (1, *space), "instance": space}[norm]
""",
    cases=lambda rng: [case(norm, ndim) for ndim in (4, 3, 2) for norm in ("batch", "instance", "layer")],
    run=_run_axes,
    compare=lambda axes, expected, tol: (axes == expected, f"got {axes}, expected {expected}"),
    variants=[
        "kept = {'batch': {1}, 'instance': {0, 1}, 'layer': {0}}[norm]; return [a for a in range(ndim) if a not in kept]"
    ],
    worked=[(case("batch", 4), (0, 2, 3)), (case("instance", 3), (2,)), (case("layer", 2), (1,))],
    mistakes={
        "(1, *space) -> space": "for layer norm you averaged over the spatial axes only; that is instance norm",
        'return {"batch": (1,), "layer": (0,), "instance": (0, 1)}[norm]': (
            "you named the axes that keep separate statistics; the task asks for the others, which are averaged over"
        ),
        "+ ndim = 2": "your axes are those of a table (N, C); all three norms average over the positions too",
        "+ ndim = 4": "your axes are those of an image whatever ndim is; count the spatial axes from ndim",
    },
)


LAYER_NORM = Exercise(
    solution="""
def my_layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)  # the mean
    var = x.var(axis=-1, keepdims=True)  # the variance
    return gamma * (x - mean) / np.sqrt(var + eps) + beta  # the output
""",
    cases=lambda rng: affine_cases(rng, {"square x": (4, 4), "sequence": (2, 5, 4), "small x": (5, 3)}, -1),
    tol=1e-4,
    variants=["x.var(axis=-1, keepdims=True) -> np.mean((x - mean) ** 2, axis=-1, keepdims=True)"],
    worked=[
        # mean 3, variance 3.5
        (by_hand([[1, 2, 3, 6]], [1, 2, 3, 4], [10, 20, 30, 40], eps=0.5), [[9, 19, 30, 46]]),
        (by_hand(PAIR[None], [1, 1], [0, 0]), [[-HALF, HALF]]),
    ],
    mistakes={
        "axis=-1, keepdims=True) -2-> axis=-1)[:, None]": "your mean and variance fit a table only; keep the last axis with size 1",
        "axis=-1 -2-> axis=tuple(range(1, x.ndim))": "you averaged over two axes; each token has its own mean",
        "x.var(axis=-1, keepdims=True) -> (x**2).mean(axis=-1, keepdims=True)\n(x - mean) -> x": RMS_NORM,
        "+ x = gamma * x + beta\ngamma * (x -> (x\n + beta  # ->  #": AFFINE_FIRST,
    },
)


BATCH_NORM_NCHW = Exercise(
    solution="""
def my_batch_norm_nchw(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)  # the mean
    var = x.var(axis=(0, 2, 3), keepdims=True)  # the variance
    y = (x - mean) / np.sqrt(var + eps)  # the normalized values
    return gamma[:, None, None] * y + beta[:, None, None]  # the scale and shift
""",
    cases=lambda rng: affine_cases(
        rng, {"C equals W": (3, 4, 2, 4), "all equal": (3, 3, 3, 3), "C and W differ": (4, 3, 2, 5)}, 1
    ),
    tol=1e-4,
    variants=["x.var(axis -> ((x - mean) ** 2).mean(axis\n[:, None, None] -2-> .reshape(1, -1, 1, 1)"],
    worked=[
        # means 2 and 6, variances 1 and 1: roots 2
        (by_hand([[[[1, 3]], [[5, 7]]]], [2, 10], [100, 200], eps=3), [[[[99, 101]], [[195, 205]]]]),
        # one mean for both images: mean 4, variance 10 (5 and 1 within the images would not do)
        (by_hand([[[[1, 1]]], [[[7, 7]]]], [4], [10], eps=7), [[[[7, 7]]], [[[13, 13]]]]),
        (by_hand(PAIR.reshape(2, 1, 1, 1), [1], [0]), [[[[-HALF]]], [[[HALF]]]]),
    ],
    mistakes={
        "axis=(0, 2, 3) -2-> axis=(2, 3)": "you averaged over the pixels of each image alone; that is instance norm",
        "axis=(0, 2, 3) -2-> axis=(1, 2, 3)": "you averaged over all channels of each image; that is layer norm",
        "[:, None, None] -2->": f"you used gamma and beta as they are; {UNNOTICED}",
        "axis=(0, 2, 3), keepdims=True -2-> axis=(0, 2, 3)\n[:, None, None] -2->": f"your mean and variance lost axes; {UNNOTICED}",
    },
)

EXERCISES = [STATISTIC_AXES, LAYER_NORM, BATCH_NORM_NCHW]
