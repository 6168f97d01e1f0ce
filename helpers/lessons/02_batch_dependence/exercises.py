"""Lesson 02: when is a 0 a 2?"""

import numpy as np

from ...exercises import Exercise, case
from ...exercises.shared import HALF, PAIR, by_hand


def _batch_norm_cases(rng):
    def one(n, c, training, *, offset=0.0, scale=1.0, **kwargs):
        x = offset + scale * rng.standard_normal((n, c))
        gamma, beta = rng.uniform(0.5, 2.0, c), rng.uniform(0.5, 2.0, c)
        stored = offset + scale * rng.standard_normal(c), scale**2 * rng.uniform(0.5, 3.0, c)
        return case(x, gamma, beta, *stored, training, **kwargs)

    both = [
        [
            one(5, 3, training, label=mode),
            one(4, 4, training, label=f"square x, {mode}"),
            one(1, 3, training, label=f"one row, {mode}"),
            one(6, 2, training, scale=1e-3, label=f"tiny scale, {mode}"),
            one(5, 3, training, eps=0.5, label=f"large eps, {mode}"),
        ]
        for training, mode in ((True, "training"), (False, "not training"))
    ]
    return [*both[0], one(6, 2, True, offset=1e8, label="large mean, training"), *both[1]]


BATCH_NORM = Exercise(
    solution="""
def my_batch_norm(x, gamma, beta, mean, var, training, eps=1e-5):
    if training:  # the choice of the statistics
        mean = x.mean(axis=0)  # the mean of the batch
        var = x.var(axis=0)  # the variance of the batch
    return gamma * (x - mean) / np.sqrt(var + eps) + beta  # the output
""",
    cases=_batch_norm_cases,
    tol=1e-4,
    variants=["x.var(axis=0) -> np.mean((x - mean) ** 2, axis=0)"],
    worked=[
        # mean 2, variance 1: root 2
        (by_hand([[1], [3]], [2], [100], [5], [9], True, eps=3), [[99], [101]]),
        # stored means 0 and 1, variances 6 and 13: roots 3 and 4
        (by_hand([[3, 5]], [2, 10], [1, 2], [0, 1], [6, 13], False, eps=3), [[3, 12]]),
        (by_hand(PAIR[:, None], [1], [0], [0], [1], True), [[-HALF], [HALF]]),
        (by_hand(PAIR[:, None], [1], [0], [0], [3e-5], False), [[-HALF], [HALF]]),
    ],
    mistakes={
        "axis=0 -2-> axis=1, keepdims=True": "in training you averaged within each row; that is layer norm",
        "if training: -> if False:": "you used the given statistics in training too; there they come from the batch x",
        "if training: -> if True:": "you used the batch's statistics when training is False too, so neighbors still count",
        "if training: -> if not training:": "you swapped the two modes: training uses the statistics of x",
        "x.mean(axis=0) -> 0.9 * mean + 0.1 * x.mean(axis=0)\nx.var(axis=0) -> 0.9 * var + 0.1 * x.var(axis=0)": (
            "in training you mixed the given statistics with those of the batch; the output uses the batch's alone"
        ),
    },
)


def _fold_cases(rng):
    def one(inputs, outputs, *, scale=1.0, **kwargs):
        w, b = scale * rng.standard_normal((inputs, outputs)), rng.uniform(0.5, 2.0, outputs)
        gamma, beta = rng.uniform(1.5, 3.0, outputs), rng.uniform(0.5, 2.0, outputs)
        mean, var = rng.uniform(3.0, 5.0, outputs), scale**2 * rng.uniform(2.0, 4.0, outputs)
        return case(w, b, gamma, beta, mean, var, **kwargs)

    return [
        one(6, 4, label="more inputs than outputs"),
        one(2, 5, label="more outputs than inputs"),
        one(5, 5, label="square w"),
        one(6, 4, scale=1e-3, label="tiny variance"),
        one(6, 4, eps=0.5, label="large eps"),
    ]


FOLD_BATCH_NORM = Exercise(
    solution="""
def my_fold_batch_norm(w, b, gamma, beta, mean, var, eps=1e-5):
    scale = gamma / np.sqrt(var + eps)  # the scale
    return w * scale, (b - mean) * scale + beta
""",
    cases=_fold_cases,
    results=("weight", "bias"),
    tol=1e-5,
    variants=["(b - mean) * scale + beta -> gamma * (b - mean) / np.sqrt(var + eps) + beta"],
    worked=[
        # gamma / sqrt(var + eps) is 1 for the first output and 2 for the second
        (by_hand([[2, 3]], [1, 2], [3, 4], [4, 5], [5, 0], [8, 3], eps=1), ([[2, 6]], [0, 9])),
        (by_hand([PAIR], [0, 0], [1, 1], [0, 0], [0, 0], [3e-5, 3e-5]), ([[-HALF, HALF]], [0, 0])),
    ],
    mistakes={
        "w * scale -> w * scale[:, None]": "you scaled the rows of w, the inputs; in x @ w every output is a column",
        (
            "return gamma * (w - mean) / np.sqrt(var + eps) + beta, b",
            "return gamma * (w - mean) / np.sqrt(var + eps) + beta, gamma * (b - mean) / np.sqrt(var + eps) + beta",
        ): "you sent the weight itself through batch norm; mean and beta go into the bias, and w is only scaled",
        "(b - mean) * scale + beta -> b + beta - mean * scale": "you did not scale the old bias; batch norm does",
        "(b - mean) * scale + beta -> b * scale - mean + beta": "you did not scale the mean; it is subtracted before the division",
    },
)


def _masked_cases(rng):
    def one(n, length, c, lengths, *, offset=2.0, scale=1.0, padding=0.0, **kwargs):
        mask = np.arange(length) < np.array(lengths)[:, None]
        x = np.where(mask[..., None], offset + scale * rng.standard_normal((n, length, c)), padding)
        return case(x, mask, **kwargs)

    return [
        one(3, 6, 4, [6, 2, 4], label="zeros as padding"),
        one(4, 5, 5, [1, 5, 2, 3], label="L equals C"),
        one(3, 6, 4, [6, 2, 4], padding=50.0, label="other padding than zeros"),
        one(3, 6, 4, [6, 2, 4], padding=np.inf, label="inf as padding"),
        one(3, 6, 4, [6, 2, 4], padding=np.nan, label="nan as padding"),
        one(4, 4, 4, [2, 4, 3, 1], label="all sizes equal"),
        one(4, 6, 3, [2, 3, 1, 6], offset=1e8, label="large mean"),
        one(3, 6, 4, [2, 3, 5], scale=1e-3, label="tiny scale"),
        one(3, 6, 4, [2, 3, 5], eps=0.5, label="large eps"),
    ]


MASKED_BATCH_NORM = Exercise(
    solution="""
def my_masked_batch_norm(x, mask, eps=1e-5):
    mask = mask[..., None]
    x = np.where(mask, x, 0)  # the padding: 0 times inf would be nan
    mean = (mask * x).sum(axis=(0, 1)) / mask.sum()  # the mean
    var = (mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum()  # the variance
    return mask * (x - mean) / np.sqrt(var + eps)  # the output
""",
    cases=_masked_cases,
    tol=1e-4,
    variants=[
        "real = x[mask]; y = np.zeros(x.shape); y[mask] = (real - real.mean(axis=0)) / np.sqrt(real.var(axis=0) + eps); return y"
    ],
    worked=[
        (
            by_hand([[[1, 5], [9, 9]], [[3, 7], [8, 8]]], [[True, False]] * 2, eps=3),
            [[[-0.5, -0.5], [0, 0]], [[0.5, 0.5], [0, 0]]],
        ),
        (by_hand(PAIR[None, :, None], [[True, True]]), [[[-HALF], [HALF]]]),
    ],
    mistakes={
        "return (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + eps)": (
            "you ignored the mask: mean and variance count the padding, and the padding got outputs"
        ),
        "return mask * (x -> return (x": "your statistics are right, but the padding got outputs too; they must be 0 there",
        "x = np.where(mask, x, 0) -> pass": "0 times inf or nan is nan; set the padding to 0 with np.where before you multiply",
        (
            "(mask * (x - mean) ** 2) -> ((mask * x - mean) ** 2)",
            "+ x = mask[..., None] * x\n(mask * (x - mean) ** 2) -> ((x - mean) ** 2)\nreturn mask * -> return",
        ): "you masked x before subtracting the mean, so padding adds (0 − mean)²; mask after the square",
        "+ x = mask[..., None] * x\n(mask * x).sum(axis=(0, 1)) / mask.sum() -> x.mean(axis=(0, 1))\n"
        "(mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() -> x.var(axis=(0, 1))": (
            "you set the padding to 0 and averaged over all positions; these zeros count as values too"
        ),
        "return mask * (x - mean) / np.sqrt(var + eps) -> return ((x - mean) / np.sqrt(var + eps))[mask[..., 0]]": (
            "you returned the real tokens only; y has the shape of x, with 0 where there is no token"
        ),
        "+ mask = ~mask": "you used the mask the wrong way round: it is True where a token is real",
        "sum(axis=(0, 1)) -2-> sum(axis=1, keepdims=True)\nmask.sum() -2-> mask.sum(axis=1, keepdims=True)": (
            "each of your sentences has its own mean and variance; that is instance norm"
        ),
    },
)

EXERCISES = [BATCH_NORM, FOLD_BATCH_NORM, MASKED_BATCH_NORM]
