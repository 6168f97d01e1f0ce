"""Lesson 01: who looks ahead, tried with other numbers of days and stocks."""

import numpy as np

from tests.conclusions.conclusion import conclusion, each


def rule(axis, days, stocks, seed):
    """How often the lesson's rule is right: with all days in the table, and with those up to the day of the bet."""
    moves = np.where(np.random.default_rng(seed).random((2000, days - 1, stocks)) < 0.5, 1, -1)
    start = np.broadcast_to(10.0 * np.arange(1, stocks + 1), (2000, 1, stocks))
    tables = np.concatenate([start, start + np.cumsum(moves, axis=1)], axis=1)

    def normalized(x):
        return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)

    falls = moves < 0
    in_test = (normalized(tables)[:, :-1] > 0) == falls
    in_service = [(normalized(tables[:, : day + 1])[:, -1] > 0) == falls[:, day] for day in range(1, days - 1)]
    return in_test.mean(), np.mean(in_service)


@conclusion(
    "Norm A seems to predict coin flips in the test and fails in service; norm B does neither.",
    vary=each(days=[3, 5, 8, 20], stocks=[3, 8], seed=range(5)),
)
def test_who_looks_ahead(days, stocks, seed):
    (a_test, a_service), (b_test, b_service) = (rule(axis, days, stocks, seed) for axis in (1, 2))
    honest = all(abs(right - 0.5) < 0.03 for right in (a_service, b_test, b_service))
    return bool(a_test > 0.58 and honest)
