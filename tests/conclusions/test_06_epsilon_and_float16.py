"""Lesson 06: conclusions about eps, 16-bit formats and variances, tried with other data, widths and numbers."""

import functools

import numpy as np

from helpers import Linear, ReLU, RMSNorm, Sequential, batch_norm, layer_norm, rms_norm
from helpers.precision import VARIANCES, float_info
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import DRAWN, train


@conclusion(
    "output sd = √(var / (var + eps)); the gain has an upper bound, 1/√eps",
    vary=each(norm=["layer", "batch", "rms"], width=[2, 64, 4096], sd=[1e-8, 1e-3, 1, 1e4], eps=[1e-12, 1e-5, 1e-2]),
)
def test_the_output_sd(norm, width, sd, eps):
    """For RMSNorm with the mean square in place of the variance."""
    x = sd * np.random.default_rng(width).normal(size=(width, width if width < 100 else 4))
    normalize, axis, mean = {"layer": (layer_norm, 1, 3), "batch": (batch_norm, 0, 3), "rms": (rms_norm, 1, 0)}[norm]
    spread = np.std if norm != "rms" else lambda x, axis: np.sqrt(np.mean(x**2, axis=axis))
    before, after = (spread(values, axis=axis) for values in (x + mean, normalize(x + mean, eps=eps).y))
    bounded = (after <= before / np.sqrt(eps) * (1 + 1e-6) + 1e-15).all()
    return bool(bounded and np.allclose(after, before / np.sqrt(before**2 + eps), rtol=1e-5))


@conclusion(
    "with eps = 0, a vector of equal numbers gives NaN or ±1; where d² is rounded to 0, ±inf",
    vary=each(count=[3, 6, 7, 100], size=[1e-160, 1e-3, 1, 1e4], dtype=["float64", "float32", "float16"]),
)
def test_equal_numbers_without_eps(count, size, dtype):
    numbers = (size * np.random.default_rng(count).random((200, 1))).astype(dtype)
    y = layer_norm(np.repeat(numbers, count, axis=1), eps=0).y
    one = np.isclose(np.abs(y), 1, rtol=0.01)
    infinite = np.isinf(y) & (dtype == "float16" or size < 1e-100)
    return bool((np.isnan(y) | one | infinite).all())


@conclusion("No later conversion to more bits recovers it.", vary=each(value=[1e-8, 1e-10, 2.0**-25], zeros=[4, 64]))
def test_eps_that_float16_stores_as_zero(value, zeros):
    stored = float(np.float16(value))
    return stored == 0 and bool(np.isnan(rms_norm(np.zeros(zeros, dtype=np.float16), eps=value).y).all())


@conclusion(
    "RMSNorm of 300, all in float16, gives 0",
    vary=each(size=[300, 3000, 60_000], width=[4, 64, 1024], eps=[0, 1e-8, 1e-5]),
)
def test_squares_that_overflow(size, width, eps):
    x = np.resize(np.array([size, -size], dtype=np.float16), width)
    return bool((rms_norm(x, eps=eps).y == 0).all())


@conclusion(
    "the sum of many squares fails even earlier",
    vary=each(size=[182, 200, 255], width=[2, 4, 32, 1024], eps=[0, 1e-5, 1]),
)
def test_sums_that_overflow(size, width, eps):
    x = np.full(width, size, dtype=np.float16)
    return bool(np.isfinite(x * x).all() and (rms_norm(x, eps=eps).y == 0).all())


record = from_lesson("06", "record")


@functools.cache
def trained(seed, width=32):
    """The arrays of the lesson's network, its test sounds and their kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(4, size=1800)
    sounds = record(kinds, rng)
    first, last = Linear(64, width, bias=False, rng=seed), Linear(width, 4, init="lecun", rng=seed + 1)
    norm = RMSNorm(width, eps=1e-8)
    network, how = Sequential(first, norm, ReLU(), last), {"x": sounds, "labels": kinds}
    train(network, "SGD", 0.1, slice(1000), steps=400, seed=seed + 2, **how)
    arrays = first.weight.value.T, norm.gamma.value, last.weight.value.T, last.bias.value
    return arrays, sounds[1000:], kinds[1000:]


def right(parts, loud, dtype="float16", **options):
    """The fraction of the test sounds that are named correctly, so many times as loud."""
    arrays, sounds, kinds = parts
    w1, gamma, w2, b2 = (array.astype(dtype) for array in arrays)
    y = rms_norm((loud * sounds).astype(dtype) @ w1, gamma, **options).y
    return np.mean((np.maximum(y, 0) @ w2 + b2).argmax(axis=1) == kinds)


@conclusion(
    "At 20 m the network in float16 takes every sound for the same one; no eps repairs it, the norm in float32 does",
    vary=each(seed=range(10), width=[32, 128], eps=[0, 1e-8, 1e-5, 1e-2]),
)
def test_near(seed, width, eps):
    parts = trained(seed, width)
    far = right(parts, 1, "float32", eps=eps)
    alone, cast = (right(parts, 5, eps=eps, compute_dtype=dtype) for dtype in (None, np.float32))
    return bool(alone < 0.3 and far > 0.88 and abs(cast - far) < 0.01)


@conclusion("With numbers ten thousand times smaller the network needs a small eps", vary=each(seed=range(10)))
def test_small_numbers(seed):
    large, small = (right(trained(seed), 1e-4, "float32", eps=eps) for eps in (1e-2, 1e-8))
    return bool(large < 0.6 and small > 0.88)


@conclusion(
    "A large gamma hurts 4 bits, not 8, and can be moved into the next weights",
    vary=each(seed=range(5), times=[100, 1000]),
)
def test_outlier_channels(seed, times):
    given = dict(zip(("trained", "test", "kind"), trained(seed), strict=True))
    accuracy_with, fp4, fp8 = from_lesson("06", "accuracy_with", "fp4", "fp8", **given)
    moved = accuracy_with(times, fp4, moved=True)
    return bool(accuracy_with(times, fp4) < 0.8 and min(accuracy_with(times, fp8), moved) > 0.88)


@conclusion(
    "Along any other axis of a table NumPy rounds every partial sum",
    vary=each(rows=[3000, 5000], columns=[2, 4, 64], order=["C", "F"], axis=[0, 1]),
)
def test_memory_decides_how_numpy_adds(rows, columns, order, axis):
    shape = (rows, columns) if axis == 0 else (columns, rows)
    table = np.array(np.ones(shape), dtype=np.float16, order=order)
    side_by_side = (order == "C") == (axis == 1)
    return bool((table.sum(axis=axis) == (rows if side_by_side else 2048)).all())


RACES = each(distribution=["normal", "uniform", "exponential"], width=[64, 256, 4096], seed=range(3))


def errors(distribution, width, seed, mean):
    """Relative error of each algorithm for 200 vectors in float32."""
    x = (mean + DRAWN[distribution](np.random.default_rng(seed), (200, width))).astype(np.float32)
    exact = x.astype(np.float64).var(axis=1)
    return {name: variance(x) / exact - 1 for name, variance in VARIANCES.items()}


@conclusion("One pass: often 0 or negative for a mean of 10,000; the other four stay accurate", vary=RACES)
def test_one_pass_fails_and_the_other_four_do_not(distribution, width, seed):
    found = errors(distribution, width, seed, 10_000)
    failed = np.mean(found.pop("one pass") <= -1)
    return bool(0.1 < failed < 0.9 and np.abs(list(found.values())).max() < 0.05)


@conclusion("The error of one pass grows roughly like (mean/sd)² times the step at 1", vary=RACES)
def test_how_the_error_of_one_pass_grows(distribution, width, seed):
    means = np.array([100, 1000, 10_000])
    found = [np.median(np.abs(errors(distribution, width, seed, mean)["one pass"])) for mean in means]
    ratio = found / means**2 / float_info("float32").eps
    return bool(0.05 < ratio.min() and ratio.max() < 20)
