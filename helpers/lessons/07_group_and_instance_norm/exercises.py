"""Lesson 07: what lies between layer norm and instance norm?"""

import numpy as np

from ...exercises import Exercise, case
from ...exercises.shared import AFFINE_FIRST, HALF, PAIR, affine_case, by_hand


def _group_norm_cases(rng):
    def one(shape, groups, **more):
        return affine_case(rng, shape, shape[1], groups, **more)

    return [
        one((3, 6, 2, 5), 2, label="C and W differ"),
        one((2, 4, 3, 4), 2, label="C equals W"),
        one((int(rng.integers(2, 5)), 6, int(rng.integers(2, 5)), 5), 3, label="random shape"),
        one((2, 4, 2, 3), 4, label="as many groups as channels"),
        one((2, 6, 3, 2), 2, mean=1e8, label="large mean"),
        one((2, 6, 2, 2), 3, scale=1e-3, label="tiny scale"),
        one((2, 6, 2, 2), 2, eps=0.5, label="large eps"),
    ]


GROUP_NORM = Exercise(
    solution="""
def my_group_norm(x, groups, gamma, beta, eps=1e-5):
    rows = x.reshape(len(x), groups, -1)
    mean = rows.mean(axis=-1, keepdims=True)  # the mean
    var = rows.var(axis=-1, keepdims=True)  # the variance
    y = (rows - mean) / np.sqrt(var + eps)  # the normalized values
    y = y.reshape(x.shape)  # the shape of the answer
    return gamma[:, None, None] * y + beta[:, None, None]  # the scale and shift
""",
    cases=_group_norm_cases,
    tol=1e-4,
    variants=["groups, -1) -> groups, -1, *x.shape[2:])\naxis=-1 -2-> axis=(2, 3, 4)"],
    worked=[
        # two groups of two channels with one pixel: 1 and 3 become -0.5 and 0.5, 5 and 7 too
        (
            by_hand([[[[1]], [[3]], [[5]], [[7]]]], 2, [2, 4, 6, 8], [10, 20, 30, 40], eps=3),
            [[[[9]], [[22]], [[27]], [[44]]]],
        ),
        (by_hand(PAIR.reshape(1, 1, 1, 2), 1, [1], [0]), [[[[-HALF, HALF]]]]),
    ],
    mistakes={
        (
            "groups, -1) -> -1, groups, *x.shape[2:])\naxis=-1 -2-> axis=(1, 3, 4)",
            "groups, -1) -> -1, groups)\naxis=-1 -2-> axis=1",
        ): "your groups are interleaved; a group is a block of neighboring channels",
        "len(x), groups, -> len(x), x.shape[1] // groups,": "groups is the number of groups, not of channels in one",
        "len(x), groups, -> groups,": "you cut the whole batch into groups; every image has its own",
        "axis=-1 -2-> axis=(0, 2)": "your groups reach across the batch; each image has its own mean",
        "+ n = x.shape[1] // groups; gamma, beta = np.repeat(gamma[:groups], n), np.repeat(beta[:groups], n)": (
            "you gave a whole group one gamma and one beta; each channel has its own"
        ),
        "groups, -1) -> groups, -1, *x.shape[2:])\naxis=-1 -2-> axis=2": (
            "you averaged over channels only, pixel by pixel; a group shares one mean over all its pixels"
        ),
        "+ groups = x.shape[1]": "every channel has a mean of its own, whatever groups is; that is instance norm",
        "+ groups = 1": "all channels of an image share one mean, whatever groups is; that is layer norm",
        "x.reshape(len(x), groups, -1) -> x\naxis=-1 -2-> axis=(0, 2, 3)": (
            "you averaged over the batch and the pixels, whatever groups is; that is batch norm"
        ),
        "+ x = gamma[:, None, None] * x + beta[:, None, None]\n[:, None, None] * y + beta[:, None, None] ->\n"
        "return gamma -> return y": AFFINE_FIRST,
    },
)


def _adain_cases(rng):
    def pair(content, style, *, mean=0.0, scale=1.0, style_scale=1.0, **more):
        apart = rng.uniform(1, 3, (content[0], 1, 1))  # every channel has its own mean and spread
        own = mean + scale * (apart + rng.uniform(0.5, 2, apart.shape) * rng.standard_normal(content))
        other = style_scale * (5 * apart + rng.uniform(2, 6, apart.shape) * rng.standard_normal(style))
        return case(own, other, **more)

    return [
        pair((3, 4, 5), (3, 2, 3), label="images of two sizes"),
        pair((3, 3, 3), (3, 3, 3), label="all equal"),
        pair((2, 3, 4), (2, 4, 2), mean=1e8, label="large mean"),
        pair((2, 3, 4), (2, 4, 2), scale=1e-3, label="tiny scale"),
        pair((2, 3, 4), (2, 4, 2), style_scale=1e-3, label="style of tiny scale"),
        pair((2, 3, 4), (2, 4, 2), eps=0.5, label="large eps"),
    ]


ADAIN = Exercise(
    solution="""
def my_adain(content, style, eps=1e-5):
    mean = content.mean(axis=(1, 2), keepdims=True)  # the mean of content
    var = content.var(axis=(1, 2), keepdims=True)  # the variance of content
    style_mean = style.mean(axis=(1, 2), keepdims=True)  # the mean of style
    style_var = style.var(axis=(1, 2), keepdims=True)  # the variance of style
    x_hat = (content - mean) / np.sqrt(var + eps)  # the normalized values
    return np.sqrt(style_var + eps) * x_hat + style_mean  # the output
""",
    cases=_adain_cases,
    tol=1e-4,
    variants=["np.sqrt(style_var + eps) * x_hat -> np.sqrt((style_var + eps) / (var + eps)) * (content - mean)"],
    worked=[
        # content: mean 2, root of 1 + 3; style: mean 10, root of 1 + 3 and mean 8, root of 13 + 3
        (by_hand([[[1, 3]]] * 2, [[[9, 11], [9, 11]], [[9, 13], [7, 3]]], eps=3), [[[9, 11]], [[6, 10]]]),
        # sqrt(5) times PAIR has variance 15e-5, with the usual eps 16e-5
        (by_hand(PAIR[None, None], 1 + 5**0.5 * PAIR[None, :, None]), [[1 + np.sqrt(16e-5) * HALF * np.sign(PAIR)]]),
    ],
    mistakes={
        "+ content, style = style, content": "content and style have changed places: the picture comes from content",
        "np.sqrt(style_var + eps) * x_hat + style_mean -> x_hat": "you normalized content, but style does nothing yet",
        "axis=(1, 2) -4-> axis=None": "your statistics run over all channels; each channel has its own",
        "np.sqrt(style_var + eps) * x_hat -> content - mean": "you moved the means but kept the spread of content",
    },
)


def _weight_cases(rng):
    def weights(shape, *, mean=0.3, scale=1.0, **more):
        spread = scale * rng.uniform(0.5, 2, (shape[0], *[1] * (len(shape) - 1)))
        return case(mean + spread * rng.standard_normal(shape), rng.uniform(0.5, 2, shape[0]), **more)

    return [
        weights((4, 6), label="matrix"),
        weights((5, 5), label="square matrix"),
        weights((4, 3, 2, 3), label="kernel"),
        weights((3, 3, 3, 3), label="kernel, all equal"),
        weights((3, 5), mean=1e8, label="large mean"),
        weights((4, 6), scale=1e-3, label="tiny scale"),
        weights((4, 6), eps=0.5, label="large eps"),
    ]


WEIGHT_STANDARDIZE = Exercise(
    solution="""
def my_weight_standardize(w, gain, eps=1e-5):
    rows = w.reshape(len(w), -1)  # the shape with one row for each unit
    mean = rows.mean(axis=1, keepdims=True)  # the mean
    var = rows.var(axis=1, keepdims=True)  # the variance
    y = gain[:, None] * (rows - mean) / np.sqrt(var + eps)  # the standardized weights
    return y.reshape(w.shape)
""",
    cases=_weight_cases,
    tol=1e-4,
    variants=[
        "return np.array([g * (row - row.mean()) / np.sqrt(row.var() + eps) for row, g in zip(w, gain, strict=True)])"
    ],
    worked=[
        (by_hand([[1, 3], [5, 7]], [2, 10], eps=3), [[-1, 1], [-5, 5]]),
        (by_hand([[[[1, 2]], [[3, 6]]]], [4], eps=0.5), [[[[-4, -2]], [[0, 6]]]]),
        (by_hand(PAIR[None], [1]), [[-HALF, HALF]]),
    ],
    mistakes={
        "axis=1 -2-> axis=0": "you averaged over axis 0, from unit to unit; average within each output unit",
        "reshape(len(w), -1) -> reshape(len(w), w.shape[1], -1)\ngain[:, None] -> gain[:, None, None]": (
            "you averaged over axis 1 only; a unit of a convolution has its weights on all later axes"
        ),
        "mean = rows.mean -> rows = gain[:, None] * rows; mean = rows.mean\ngain[:, None] * (rows - -> (rows -": (
            "you multiplied by gain before standardizing, which undoes the scale; multiply after it"
        ),
        "(rows - mean) / np.sqrt(var + eps) -> rows / np.sqrt((rows**2).sum(axis=1, keepdims=True) + eps)": (
            "you divided by the length of the weights and subtracted no mean; that is weight norm"
        ),
    },
)

EXERCISES = [GROUP_NORM, ADAIN, WEIGHT_STANDARDIZE]
