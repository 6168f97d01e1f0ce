"""Lesson 05: conclusions about RMSNorm beside layer norm, tried with other data, widths, depths, eps and formats."""

import numpy as np

from helpers import LayerNorm, Linear, ReLU, RMSNorm, Sequential, Tanh, rms_norm
from helpers.precision import rms_norm_cast
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import DATA, accuracy_on, train

ratio, right, norm_without_mean, attention = from_lesson("05", "ratio", "right", "norm_without_mean", "attention")
plain_layer_norm, plain_rms_norm, seconds = from_lesson("05", "plain_layer_norm", "plain_rms_norm", "seconds")


@conclusion(
    "RMSNorm with gamma 1 and eps 0 gives every vector except zero the length √d and keeps its direction.",
    vary=each(data=DATA, d=[1, 2, 64, 4096], size=[1e-6, 1, 1e6], dtype=[np.float32, np.float64]),
)
def test_length_and_direction(data, d, size, dtype):
    x = (size * data(np.random.default_rng(d), (8, d))).astype(dtype)
    direction = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.allclose(rms_norm(x, eps=0).y, np.sqrt(d) * direction, rtol=1e-4)


def relu(z):
    return np.maximum(z, 0)


def gelu(z):
    return z / (1 + np.exp(-1.702 * z))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@conclusion(
    "With random weights and inputs of mean 0, the outputs of linear layers have a small r, and so does the stream",
    vary=each(width=[64, 256], depth=[6, 24, 48], activation=[relu, gelu, sigmoid], seed=range(2)),
)
def test_r_of_the_stream(width, depth, activation, seed):
    rng = np.random.default_rng(seed)
    stream = rng.normal(size=(20, width))
    for _ in range(depth):
        first, second = rng.normal(size=(2, width, width)) / np.sqrt(width)
        stream += activation(rms_norm(stream).y @ first) @ second
    return bool(ratio(stream).mean() < 2.4 / np.sqrt(width))  # 0.15 at width 256


@conclusion(
    "For eps = 1e-5 and an RMS of ten times √eps or more, the two outputs differ by at most half a percent.",
    vary=each(data=DATA, d=[2, 64, 4096], times=[10, 100, 1e4], dtype=[np.float32, np.float64]),
)
def test_inside_or_outside(data, d, times, dtype):
    x = rms_norm(data(np.random.default_rng(d), d), eps=0).y.astype(dtype)
    x = x * dtype(times * np.sqrt(1e-5))
    outside = x / (np.sqrt(np.mean(x**2)) + 1e-5)
    return bool(np.abs(rms_norm(x, eps=1e-5).y / outside - 1).max() <= 0.005)


@conclusion(
    "Inside, eps is compared with the square of the RMS: it changes the output noticeably when the RMS is near √eps",
    vary=each(data=DATA, d=[2, 64, 4096], eps=[1e-12, 1e-8, 1e-5, 1e-2]),
)
def test_where_eps_is_felt(data, d, eps):
    x = rms_norm(data(np.random.default_rng(d), d), eps=0).y
    small, near, large = (rms_norm(size * np.sqrt(eps) * x, eps=eps).y.std() / x.std() for size in (0.1, 1, 10))
    return bool(small < 0.11 and 0.7 < near < 0.71 and large > 0.99)


@conclusion(
    "With gammas drawn between 0.5 and 1.5, about a quarter of the outputs differ between LLaMA's order and Gemma's",
    vary=each(data=DATA, width=[64, 256, 2048], dtype=["float16", "bfloat16"], seed=range(3)),
)
def test_the_order_of_casts(data, width, dtype, seed):
    rng = np.random.default_rng(seed)
    x = data(rng, (200, width)).astype(np.float32)
    gamma = rng.uniform(0.5, 1.5, size=width).astype(np.float32)
    llama, gemma = (rms_norm_cast(x, gamma, order=order, dtype=dtype) for order in ("llama", "gemma"))
    return bool(0.15 < np.mean(llama != gemma) < 0.35)


@conclusion(
    "In a wide model the parameters saved are negligible.", vary=each(width=[768, 4096, 16384], matrices=[8, 12, 16])
)
def test_parameters_saved(width, matrices):
    return 2 * width / (matrices * width**2 + 4 * width) < 0.0004


@conclusion(
    "In NumPy, RMSNorm is faster than layer norm",
    vary=each(shape=[(8, 64), (512, 1024), (32, 8192)], dtype=[np.float32, np.float64]),
)
def test_time_in_numpy(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    layer, rms = zip(*[(seconds(plain_layer_norm, x), seconds(plain_rms_norm, x)) for _ in range(20)], strict=True)
    return 1.1 * min(rms) < min(layer)


@conclusion(
    "At this size, without QK-norm, each token gives on average more than 80% of its weight to a single token.",
    vary=each(tokens=[8, 24, 128], d=[16, 32, 128], seed=range(3)),
)
def test_large_queries_and_keys(tokens, d, seed):
    q, k = 8 * np.random.default_rng(seed).normal(size=(2, tokens, d))
    return bool(attention(q, k).max(axis=1).mean() > 0.8)


@conclusion(
    "With QK-norm the size of queries and keys no longer matters; if gamma is 1, no scaled logit can exceed √d",
    vary=each(tokens=[8, 128], d=[16, 128], size=[1, 8, 1e3], seed=range(3)),
)
def test_with_qk_norm(tokens, d, size, seed):
    x = np.random.default_rng(seed).normal(size=(2, tokens, d))
    grown = rms_norm(size * x).y
    bounded = np.abs(grown[0] @ grown[1].T / np.sqrt(d)).max() <= np.sqrt(d) * (1 + 1e-9)
    return bool(bounded and np.allclose(attention(*grown), attention(*rms_norm(x).y), atol=1e-3))


def digit_reader(order, depth, seed, *, norm=LayerNorm, activation=ReLU, optimizer="SGD", rate=0.05):
    """The lesson's network A, with the norm before the activation, or B, with the norm after it."""
    rng = np.random.default_rng(seed)
    layers = []
    for _ in range(depth):
        after = [norm(64), activation()]
        layers += [Linear(64, 64, rng=rng), *(after if order == "A" else after[::-1])]
    network = Sequential(*layers, Linear(64, 10, rng=rng, init="lecun"))
    train(network, optimizer, rate, slice(1000), steps=300, seed=seed)
    return network, accuracy_on(network, slice(1000, None))


@conclusion(
    "Network A reads on as before without the mean, network B cannot read without it",
    vary=each(network=["A", "B"], optimizer=["SGD", "Adam"], depth=[6, 8], seed=range(5)),
    least=38,
)
def test_who_misses_the_mean(network, optimizer, depth, seed):
    trained, before = digit_reader(
        network, depth, seed, optimizer=optimizer, rate={"SGD": 0.05, "Adam": 0.003}[optimizer]
    )
    after = right(trained, norm_without_mean)
    return bool(before > 0.85 and (after > before - 0.03 if network == "A" else after < before - 0.15))


@conclusion(
    "With tanh, whose outputs have both signs, in place of ReLU the second order survives the move, too.",
    vary=each(depth=[4, 6], seed=range(5)),
)
def test_tanh_in_the_second_order(depth, seed):
    trained, before = digit_reader("B", depth, seed, activation=Tanh)
    return before > 0.85 and right(trained, norm_without_mean) > before - 0.05


@conclusion("A new network can be trained with either norm", vary=each(rate=[0.05, 0.1], seed=range(10)), least=19)
def test_b_trained_with_rms_norm(rate, seed):
    layer, rms = (digit_reader("B", 6, seed, norm=norm, rate=rate)[1] for norm in (LayerNorm, RMSNorm))
    return rms > layer - 0.04


def mean_gamma(toward, rate, decay, seed):
    """After training a network whose gammas decay toward a number, or not at all if that is None."""
    rng = np.random.default_rng(seed)
    layers = [layer for _ in range(2) for layer in (Linear(64, 64, rng=rng), RMSNorm(64), ReLU())]
    gammas = [layer.gamma for layer in layers if isinstance(layer, RMSNorm)]

    def pull(step):
        for gamma in gammas if toward is not None else ():
            gamma.value = toward + (1 - rate * decay) * (gamma.value - toward)

    network = Sequential(*layers, Linear(64, 10, rng=rng, init="lecun"))
    train(network, "Adam", rate, slice(1000), steps=400, seed=seed, on_step=pull)
    return np.mean([gamma.value for gamma in gammas])


@conclusion(
    "Decay pulls gamma to 0; models that store 1 + w let it pull to 1.",
    vary=each(rate=[0.001, 0.003], decay=[1, 3], seed=range(2)),
)
def test_where_decay_pulls_gamma(rate, decay, seed):
    to_0, to_1, free = (mean_gamma(toward, rate, decay, seed) for toward in (0, 1, None))
    return bool(to_0 < 0.9 < 0.97 < to_1 < free)
