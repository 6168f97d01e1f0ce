"""Lesson 01: who looks ahead, tried with other square tables."""

import numpy as np

from tests.conclusions.conclusion import conclusion, each


def rule(axis, keepdims, size, seed):
    """How often the lesson's rule is right where the table begins today, and where it ends today."""
    moves = np.where(np.random.default_rng(seed).random((6000, 2 * size - 2, size)) < 0.5, 1, -1)
    paths = np.concatenate([np.zeros((6000, 1, size)), np.cumsum(moves, axis=1)], axis=1)  # (tables, days, stocks)
    paths = paths - paths[:, [size - 1]] + 10 + np.arange(size) / 100  # the prices of today
    falls = moves[:, size - 1] < 0

    def right(tables, today):
        normalized = [(x - x.mean(axis, keepdims=keepdims)) / x.std(axis, keepdims=keepdims) for x in tables]
        return np.mean((np.array(normalized)[:, today] > 0) == falls)

    return right(paths[:, size - 1 :], 0), right(paths[:, :size], -1)


@conclusion(
    "Norm A and norm B without keepdims seem to predict coin flips; norm B with keepdims does not.",
    vary=each(size=[3, 4, 5], seed=range(5)),
)
def test_who_looks_ahead(size, seed):
    (a, a_live), (b, b_live), (mended, _) = (rule(*line, size, seed) for line in ((0, True), (1, False), (1, True)))
    honest = all(abs(right - 0.5) < 0.02 for right in (a_live, b_live, mended))
    return bool(a > 0.7 and b > 0.53 and honest)
