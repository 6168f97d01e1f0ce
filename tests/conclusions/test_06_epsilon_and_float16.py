"""Lesson 06: conclusions about eps, 16-bit formats and variances, tried with other data, widths and numbers."""

import numpy as np

from helpers import (
    SGD,
    Linear,
    ReLU,
    RMSNorm,
    Sequential,
    batch_norm,
    fit,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)
from helpers.precision import VARIANCES, float_info, round_to, to_bfloat16
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import normal


@conclusion(
    "output sd = √(var / (var + eps)); the gain has an upper bound, 1/√eps",
    vary=each(norm=["layer", "batch", "rms"], width=[2, 64, 4096], sd=[1e-8, 1e-3, 1, 1e4], eps=[1e-12, 1e-5, 1e-2]),
)
def test_the_output_sd(norm, width, sd, eps):
    """For RMSNorm with the mean square in place of the variance."""
    x = 3 + sd * np.random.default_rng(width).normal(size=(width, width if width < 100 else 4))
    if norm == "rms":
        x -= 3
        mean_square = np.mean(x**2, axis=1)
        found = np.sqrt(np.mean(rms_norm(x, eps=eps).y ** 2, axis=1))
        bounded = (found <= np.sqrt(mean_square / eps) * (1 + 1e-6) + 1e-15).all()
        return bool(bounded and np.allclose(found, np.sqrt(mean_square / (mean_square + eps)), rtol=1e-5))
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


@conclusion(
    "the sum of many squares fails even earlier",
    vary=each(size=[182, 200, 255], width=[2, 4, 32, 1024], eps=[0, 1e-5, 1]),
)
def test_sums_that_overflow(size, width, eps):
    x = np.full(width, size, dtype=np.float16)
    return bool(np.isfinite(x * x).all() and (rms_norm(x, eps=eps).y == 0).all())


@conclusion(
    "if only the sum is in float32, the limit is 256", vary=each(size=[100, 200, 255, 256, 300], width=[4, 4096])
)
def test_sums_in_float32(size, width):
    x = np.full(width, size, dtype=np.float16)
    found = x / np.sqrt((x * x).mean())  # NumPy's mean adds in float32
    return bool(np.allclose(found, 1 if size < 256 else 0, atol=0.01))


PITCHES = [(30, 60, 1), (3, 7, 6), (0, 0, 0), (10, 18, 3)]  # bird, engine, rain, ambulance


def trained(seed, width=32, eps=1e-8):
    """The lesson's network: its four arrays, its test sounds and their kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(4, size=1800)
    sounds = np.zeros((1800, 64))
    for sound, (low, high, tones) in zip(sounds, np.array(PITCHES)[kinds], strict=True):
        pitch = rng.uniform(low, high)
        loud = sum(np.exp(-((np.arange(64) - k * pitch) ** 2) / 2) / k for k in range(1, tones + 1)) if tones else 0.3
        noise = 0.25 * np.abs(rng.normal(size=64))
        sound += 40 * (rng.uniform(0.5, 1) * loud + noise)
    first, last = Linear(64, width, bias=False, rng=seed), Linear(width, 4, init="lecun", rng=seed + 1)
    norm = RMSNorm(width, eps=eps)
    network = Sequential(first, norm, ReLU(), last)
    optimizer = SGD(network.parameters(), 0.1)
    fit(network, sounds[:1000], kinds[:1000], optimizer, steps=400, batch_size=32, rng=seed + 2)
    arrays = first.weight.value.T, norm.gamma.value, last.weight.value.T, last.bias.value
    return arrays, sounds[1000:], kinds[1000:]


def right(arrays, sounds, kinds, dtype="float16", **options):
    w1, gamma, w2, b2 = (array.astype(dtype) for array in arrays)
    y = rms_norm(sounds.astype(dtype) @ w1, gamma, **options).y
    return np.mean((np.maximum(y, 0) @ w2 + b2).argmax(axis=1) == kinds)


@conclusion(
    "At 10 m the network in float16 takes every sound for the same one; no eps repairs it, the norm in float32 does",
    vary=each(seed=range(10), width=[32, 128], eps=[0, 1e-8, 1e-5, 1e-2]),
)
def test_near(seed, width, eps):
    arrays, sounds, kinds = trained(seed, width)
    far = right(arrays, sounds, kinds, "float32", eps=eps)
    alone = right(arrays, 10 * sounds, kinds, eps=eps)
    cast = right(arrays, 10 * sounds, kinds, eps=eps, compute_dtype=np.float32)
    return bool(alone < 0.3 and far > 0.88 and abs(cast - far) < 0.01)


@conclusion("With numbers ten thousand times smaller the network needs a small eps", vary=each(seed=range(10)))
def test_small_numbers(seed):
    arrays, sounds, kinds = trained(seed)
    of = {eps: right(arrays, 1e-4 * sounds, kinds, "float32", eps=eps) for eps in (1e-2, 1e-8)}
    return bool(of[1e-2] < 0.6 and of[1e-8] > 0.88)


@conclusion(
    "A large gamma hurts 4 bits, not 8, and can be moved into the next weights",
    vary=each(seed=range(5), times=[100, 1000]),
)
def test_outlier_channels(seed, times):
    arrays, sounds, kinds = trained(seed)
    w1, gamma, w2, b2 = arrays
    x_hat = rms_norm(sounds @ w1, eps=1e-8).y
    fp4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    fp8 = np.array([*np.arange(8) * 2.0**-9, *[(8 + k) * 2.0**e for e in range(-9, 6) for k in range(8)][:-1]])

    def rounded(x, marks):
        scale = np.abs(x).max(axis=-1, keepdims=True) / marks[-1]
        return np.sign(x) * marks[np.searchsorted((marks[1:] + marks[:-1]) / 2, np.abs(x) / scale)] * scale

    def mean_accuracy(marks, moved=False):
        found = []
        for channel in range(32):
            factor = np.where(np.arange(32) == channel, times, 1)
            large = gamma * factor
            y = rounded(x_hat, marks) * large if moved else rounded(x_hat * large, marks)
            scores = np.maximum(y, 0) @ (w2 / factor[:, None]) + b2
            found.append(np.mean(scores.argmax(axis=1) == kinds))
        return np.mean(found)

    return bool(mean_accuracy(fp4) < 0.8 and mean_accuracy(fp8) > 0.88 and mean_accuracy(fp4, moved=True) > 0.88)


@conclusion(
    "Along any other axis of a table NumPy rounds every partial sum",
    vary=each(rows=[3000, 5000], columns=[2, 4, 64], order=["C", "F"], axis=[0, 1]),
)
def test_memory_decides_how_numpy_adds(rows, columns, order, axis):
    shape = (rows, columns) if axis == 0 else (columns, rows)
    table = np.array(np.ones(shape), dtype=np.float16, order=order)
    side_by_side = (order == "C") == (axis == 1)
    return bool((table.sum(axis=axis) == (rows if side_by_side else 2048)).all())


@conclusion("a running sum of ones in bfloat16 ends at 256", vary=each(count=[300, 1000, 5000]))
def test_a_sum_in_bfloat16(count):
    total = np.float32(0)
    for _ in range(count):
        total = to_bfloat16(total + 1)
    return bool(total == 256)


@conclusion(
    "A running average stops where its step is less than half the distance to the next mark",
    vary=each(dtype=["bfloat16", "float16"], momentum=[0.1, 0.01, 0.001], mean=[0.3, 1, 5]),
)
def test_a_running_average_stops(dtype, momentum, mean):
    average = 0.0
    for _ in range(20_000):
        before, average = average, float(round_to(average + momentum * (mean - average), dtype))
        if before == average:
            break
    mark = float(round_to(average * (1 + 2.0 ** -float_info(dtype).precision), dtype)) - average
    step = momentum * (mean - average)
    return before == average and 0 <= step <= max(mark, average * float_info(dtype).eps) / 2 * 1.01


@conclusion(
    "1/√eps is the largest gain backward too",
    vary=each(norm=["layer", "rms"], width=[2, 8, 64], sd=[0, 1e-4, 1e-2, 1], eps=[1e-5, 1e-6, 2.0**-23]),
)
def test_the_gain_of_the_backward_pass(norm, width, sd, eps):
    rng = np.random.default_rng(width)
    x = sd * rng.normal(size=(200, width))
    dy = rng.normal(size=(200, width))
    backward = layer_norm_backward if norm == "layer" else rms_norm_backward
    gain = np.linalg.norm(backward(dy, x, eps=eps)[0], axis=1) / np.linalg.norm(dy, axis=1)
    return bool((gain <= eps**-0.5 * (1 + 1e-9)).all() and (sd > 0 or gain.max() > 0.9 * eps**-0.5))


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
