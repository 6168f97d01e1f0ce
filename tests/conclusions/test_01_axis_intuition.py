"""Lesson 01: what shares a mean, tried with other sizes, seeds and number formats."""

import numpy as np

from helpers import batch_norm, group_norm, instance_norm, layer_norm, sets_of
from tests.conclusions.conclusion import conclusion, each

NORMS = {
    "batch norm": batch_norm,
    "layer norm": lambda x: layer_norm(x, axis=1),
    "layer norm of the sample": lambda x: layer_norm(x, axis=tuple(range(1, x.ndim))),
    "group norm": lambda x: group_norm(x, 2),
    "instance norm": instance_norm,
}


def rule(axis, days, stocks, seed, drift=0.5):
    """How often the lesson's rule is right: with all days in the table, and with those up to the day of the bet."""
    rng = np.random.default_rng(seed)
    moves = np.where(rng.random((2000, days - 1, stocks)) < drift, 1, -1)
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


@conclusion(
    "Put NaN into one entry of a norm's input and look where NaN comes out: those entries share a statistic.",
    vary=each(norm=list(NORMS), shape=[(3, 4), (2, 4, 5), (2, 4, 3, 5)], seed=range(5)),
)
def test_nan_shows_the_set(norm, shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    entry = tuple(rng.integers(shape))
    x[entry] = np.nan
    sets = sets_of(norm, shape, 2)
    return bool((np.isnan(NORMS[norm](x).y) == (sets == sets[entry])).all())


@conclusion(
    "if the axis of time has size 1, the norm looks ahead",
    vary=each(norm=list(NORMS), shape=[(2, 4, 3), (5, 6, 8), (1, 2, 2)], seed=range(3)),
)
def test_the_shape_tells_who_looks_ahead(norm, shape, seed):
    x = np.random.default_rng(seed).normal(size=shape)
    keeps_time = NORMS[norm](x).mean.shape[2] > 1
    x[0, 0, -1] = np.nan
    return bool(np.isnan(NORMS[norm](x).y[0, 0, 0]) != keeps_time)


@conclusion(
    "with eps = 0 a set of equal numbers gives NaN or ±1",
    vary=each(n=[2, 3, 6, 64, 768], dtype=[np.float32, np.float64], seed=range(3)),
)
def test_equal_numbers_without_eps(n, dtype, seed):
    x = (np.random.default_rng(seed).normal(size=(500, 1)) * np.ones(n)).astype(dtype)
    y = layer_norm(x, eps=0).y
    return bool((np.isnan(y) | np.isclose(np.abs(y), 1, atol=1e-3)).all())
