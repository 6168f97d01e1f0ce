"""Lesson 06: conclusions about eps, 16-bit formats and variances, tried with other data, widths and numbers."""

import numpy as np

from helpers import batch_norm, layer_norm, rms_norm
from helpers.precision import VARIANCES, float_info, rms_norm_cast, to_bfloat16
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import normal


@conclusion(
    "output sd = √(var / (var + eps)); the gain has an upper bound, 1/√eps",
    vary=each(norm=["layer", "batch"], width=[2, 64, 4096], sd=[1e-8, 1e-3, 1, 1e4], eps=[1e-12, 1e-5, 1e-2]),
)
def test_the_output_sd(norm, width, sd, eps):
    x = 3 + sd * np.random.default_rng(width).normal(size=(width, width if width < 100 else 4))
    normalize, axis = (layer_norm, 1) if norm == "layer" else (batch_norm, 0)
    var = x.var(axis=axis)
    found = normalize(x, eps=eps).y.std(axis=axis)
    bounded = (found <= np.sqrt(var) / np.sqrt(eps) * (1 + 1e-6) + 1e-15).all()
    return bool(bounded and np.allclose(found, np.sqrt(var / (var + eps)), rtol=1e-5))


@conclusion(
    "Test with sd 0.001: eps added to the sd differs from eps under the square root",
    vary=each(width=[8, 64, 1024], eps=[1e-6, 1e-5, 1e-3], seed=range(3)),
)
def test_the_place_of_eps(width, eps, seed):
    x = np.random.default_rng(seed).normal(size=width)

    def apart(sd):
        scaled = sd * (x - x.mean()) / x.std()
        return (scaled.std() / (scaled.std() + eps)) / layer_norm(scaled, eps=eps).y.std()

    return bool(0.99 < apart(1) < 1.01 and apart(1e-3) > 1.1)


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
    "Store in 16 bits, compute the norm in float32.",
    vary=each(norm=[rms_norm, layer_norm], scale=[1e-3, 1, 300, 5000], width=[4, 64, 4096], seed=range(3)),
)
def test_casting_up(norm, scale, width, seed):
    x = (scale * np.random.default_rng(seed).normal(size=(8, width))).astype(np.float16)
    right = norm(x.astype(np.float64), eps=1e-8).y
    found = norm(x, eps=1e-8, compute_dtype=np.float32).y
    return bool(np.abs(found - right).max() < 0.002 * np.abs(right).max())


@conclusion(
    "RMSNorm of 300, all in float16, gives 0",
    vary=each(size=[300, 3000, 60_000], width=[4, 64, 1024], eps=[0, 1e-8, 1e-5]),
)
def test_squares_that_overflow(size, width, eps):
    x = np.resize(np.array([size, -size], dtype=np.float16), width)
    return bool((rms_norm(x, eps=eps).y == 0).all())


@conclusion("a running sum of ones in bfloat16 ends at 256", vary=each(count=[300, 1000, 5000]))
def test_a_sum_in_bfloat16(count):
    total = np.float32(0)
    for _ in range(count):
        total = to_bfloat16(total + 1)
    return bool(total == 256)


@conclusion(
    "two independent rounding errors of the same size together are about √2 times one",
    vary=each(dtype=["bfloat16", "float16"], width=[64, 512], seed=range(5)),
)
def test_two_roundings(dtype, width, seed):
    rng = np.random.default_rng(seed)
    x = to_bfloat16(rng.normal(size=(64, width)))
    gamma = to_bfloat16(rng.uniform(0.5, 1.5, width))
    right = rms_norm(x.astype(float), gamma.astype(float), eps=1e-6).y

    def error(order):
        relative = rms_norm_cast(x, gamma, order=order, dtype=dtype) / right - 1
        return np.sqrt(np.mean(relative[np.abs(right) > 0.1] ** 2))

    return bool(1.25 < error("llama") / error("gemma") < 1.6)


def uniform(rng, shape):
    return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)


def skewed(rng, shape):
    return rng.exponential(size=shape) - 1


RACES = each(data=[normal, uniform, skewed], width=[64, 256, 4096], seed=range(3))


def errors(data, width, seed, mean):
    """Relative error of each algorithm for 200 vectors in float32."""
    x = (mean + data(np.random.default_rng(seed), (200, width))).astype(np.float32)
    exact = x.astype(np.float64).var(axis=1)
    return {name: variance(x) / exact - 1 for name, variance in VARIANCES.items()}


@conclusion("One pass: often 0 or negative for a mean of 10,000", vary=RACES)
def test_one_pass_fails(data, width, seed):
    return 0.1 < np.mean(errors(data, width, seed, 10_000)["one pass"] <= -1) < 0.9


@conclusion("Subtract something near the mean first, then square.", vary=RACES)
def test_the_other_four_stay_accurate(data, width, seed):
    found = errors(data, width, seed, 10_000)
    return all(np.abs(found[name]).max() < 0.05 for name in ("shifted", "two pass", "Welford", "Chan"))


@conclusion("The error of one pass grows roughly like (mean/sd)² times the step at 1", vary=RACES)
def test_how_the_error_of_one_pass_grows(data, width, seed):
    found = [np.median(np.abs(errors(data, width, seed, mean)["one pass"])) / mean**2 for mean in (100, 1000, 10_000)]
    return bool(all(0.05 < error / float_info("float32").eps < 20 for error in found))
