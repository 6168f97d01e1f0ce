"""Lesson 04: layer norm over several axes, over the channels of an image, and as geometry."""

import numpy as np

from ...exercises import Exercise, case
from ...exercises.shared import AFFINE_FIRST, affine_case, affine_cases, by_hand


def _tuple_cases(rng):
    def one(shape, axis, **more):
        """gamma and beta have the sizes of the named axes and size 1 between them, so that they fit x."""
        named = sorted(a % len(shape) for a in axis)
        sizes = [shape[a] if a in named else 1 for a in range(named[0], len(shape))]
        return affine_case(rng, shape, sizes, axis, **more)

    return [
        one((4, 5, 6), (1, 2), label="last two axes"),
        one((2, 3, 4, 5), (-2, -1), label="counted from the end"),
        one((2, 3, 4, 5), (1, 2, 3), label="three axes"),
        one((3, 4, 5), (-1,), label="one axis"),
        one((2, 3, 4, 5), (1, 3), label="axes with another between them"),
        one((3, 4, 5), (1, 2), mean=1e8, label="large mean"),
        one((3, 4, 5), (1, 2), scale=1e-3, label="tiny scale"),
        one((3, 4, 5), (1, 2), eps=0.5, label="large eps"),
    ]


LAYER_NORM_TUPLE_AXES = Exercise(
    solution="""
def my_layer_norm_tuple_axes(x, axis, gamma, beta, eps=1e-5):
    mean = x.mean(axis=axis, keepdims=True)  # the mean
    var = x.var(axis=axis, keepdims=True)  # the variance
    return gamma * (x - mean) / np.sqrt(var + eps) + beta  # the output
""",
    cases=_tuple_cases,
    tol=1e-4,
    variants=["x.var(axis=axis, keepdims=True) -> np.mean((x - mean) ** 2, axis=axis, keepdims=True)"],
    worked=[
        # mean 3, variance 3.5 over both axes
        (by_hand([[[1, 2], [3, 6]]], (1, 2), [[1, 2], [3, 4]], [[10, 20], [30, 40]], eps=0.5), [[[9, 19], [30, 46]]]),
    ],
    mistakes={
        "+ axis = (-2, -1)": "you averaged over axes of your own choice; pass `axis` on to mean and variance",
        "+ axis = axis[0]": "you averaged over the first of the axes only; all axes of the tuple share one mean",
        "+ axis = tuple(a for a in range(x.ndim) if a not in [b % x.ndim for b in axis])": (
            "you averaged over the axes that are not in `axis`; those keep their own statistics"
        ),
        "+ for a in axis: x = (x - x.mean(a, keepdims=True)) / np.sqrt(x.var(a, keepdims=True) + eps)\n"
        "gamma * (x - mean) / np.sqrt(var + eps) -> gamma * x": (
            "you normalized one axis after the other; all axes of the tuple share one mean and one variance"
        ),
        "+ x = gamma * x + beta\ngamma * (x -> (x\n + beta  # ->  #": AFFINE_FIRST,
    },
)


CHANNEL_LAYER_NORM = Exercise(
    solution="""
def my_channel_layer_norm(x, gamma, beta, eps=1e-6):
    mean = x.mean(axis=1, keepdims=True)  # the mean
    var = x.var(axis=1, keepdims=True)  # the variance
    y = (x - mean) / np.sqrt(var + eps)  # the normalized values
    return gamma[:, None, None] * y + beta[:, None, None]  # the scale and shift
""",
    cases=lambda rng: affine_cases(rng, {"all equal": (3, 3, 3, 3), "C and W differ": (2, 3, 4, 5)}, 1),
    tol=1e-4,
    variants=[
        "+ x = x.transpose(0, 2, 3, 1)\naxis=1 -2-> axis=-1\n[:, None, None] -2->\nreturn gamma * y + beta -> return (gamma * y + beta).transpose(0, 3, 1, 2)"
    ],
    worked=[(by_hand([[[[1, 5]], [[3, 5]]]], [2, 10], [100, 200], eps=3), [[[[99, 100]], [[205, 200]]]])],
    mistakes={
        "axis=1 -2-> axis=-1": "you averaged over the last axis, the width; the channels are axis 1",
        "axis=1 -2-> axis=(2, 3)": "you averaged over pixels, as in instance norm; average over the channels",
        "axis=1 -2-> axis=(1, 2, 3)": "you averaged over pixels too, as GroupNorm(1, C); each pixel has its own mean",
        "[:, None, None] -2->": "your gamma and beta line up with the last axis, the width, unnoticed if C equals W",
        "+ shape = x.shape; x = x.transpose(0, 2, 3, 1)\naxis=1 -2-> axis=-1\n"
        "gamma[:, None, None] * y + beta[:, None, None] -> (gamma * y + beta).reshape(shape)": (
            "reshape gives the right shape but mixes up the entries; move the channels with transpose"
        ),
    },
)


PROJECT = Exercise(
    solution="""
def my_project(x):
    ones = np.ones(len(x))
    on_plane = x - (x @ ones) / len(x) * ones  # the point on the plane
    length = np.linalg.norm(on_plane)  # the length
    on_sphere = np.sqrt(len(x)) * on_plane / length  # the point on the sphere
    return on_plane, on_sphere
""",
    forbidden={"mean std var average": "you used a mean or a standard deviation; use dot products and lengths only"},
    cases=lambda rng: [
        case(m + s * rng.normal(size=d)) for d, m, s in ((5, 0, 1), (2, 1, 3), (8, 100, 1), (4, 0, 1e-3))
    ],
    results=("the point on the plane", "the point on the sphere"),
    variants=[
        "u = np.ones(len(x)) / np.sqrt(len(x)); p = x - (u @ x) * u; return p, p / np.sqrt(p @ p) * np.sqrt(len(x))"
    ],
    worked=[
        (case(np.array([1.0, 3.0])), ([-1, 1], [-1, 1])),
        (case(np.array([6.0, 6, 0])), ([2, 2, -4], [0.5**0.5, 0.5**0.5, -(2**0.5)])),
    ],
    mistakes={
        "np.sqrt(len(x)) * on_plane -> on_plane": "your second vector has length 1; layer norm's output has length √d",
        "return on_plane -> return x - on_plane": "your first vector is the part along (1, ..., 1); subtract it from x",
        "* on_plane / length -> * x / np.linalg.norm(x)": "you moved x to the sphere, as RMSNorm; move its projection",
    },
)

EXERCISES = [LAYER_NORM_TUPLE_AXES, CHANNEL_LAYER_NORM, PROJECT]
