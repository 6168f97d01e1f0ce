"""Lesson 05: conclusions about RMSNorm beside layer norm, tried with other data, widths, depths, eps and formats."""

import time

import numpy as np

from helpers import (
    SGD,
    Adam,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    Sequential,
    Tanh,
    accuracy,
    digits,
    fit,
    layer_norm,
    rms_norm,
)
from helpers.precision import rms_norm_cast, round_to
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import DATA, normal, skewed


def mean_ratio(x):
    """r of each vector: |mean| / standard deviation."""
    return np.abs(x.mean(axis=-1)) / x.std(axis=-1)


def cosine(a, b):
    return (a * b).sum(axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


@conclusion(
    "RMSNorm with gamma 1 and eps 0 gives every vector except zero the length √d and keeps its direction.",
    vary=each(data=DATA, d=[1, 2, 64, 4096], size=[1e-6, 1, 1e6], dtype=[np.float32, np.float64]),
)
def test_length_and_direction(data, d, size, dtype):
    x = (size * data(np.random.default_rng(d), (8, d))).astype(dtype)
    y = rms_norm(x, eps=0).y
    return bool(np.allclose(np.linalg.norm(y, axis=1), np.sqrt(d), rtol=1e-4) and np.allclose(cosine(x, y), 1))


@conclusion(
    "With eps = 0 the output does not depend on the scale of x, as with layer norm. It does depend on a shift.",
    vary=each(data=DATA, d=[2, 64, 1024], factor=[1e-3, 7, 1e3], shift=[-5, 5, 1000]),
)
def test_scale_and_shift(data, d, factor, shift):
    x = data(np.random.default_rng(d), (8, d))
    y = rms_norm(x, eps=0).y
    moved = np.abs(rms_norm(x + shift, eps=0).y - y).max()
    centered = np.allclose(layer_norm(x + shift, eps=0).y, layer_norm(x, eps=0).y, atol=1e-6)
    return bool(np.allclose(rms_norm(factor * x, eps=0).y, y) and moved > 1e-3 and centered)


@conclusion(
    "With eps = 0 and gamma = 1, r alone decides how far apart the two outputs are.",
    vary=each(data=DATA, d=[2, 8, 64, 4096], r=[0, 0.05, 0.5, 1, 3, 30]),
)
def test_r_decides_the_angle(data, d, r):
    x = data(np.random.default_rng(d), (20, d))
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True) + r
    return bool(np.allclose(cosine(layer_norm(x, eps=0).y, rms_norm(x, eps=0).y), 1 / np.sqrt(1 + r**2)))


@conclusion(
    "A feature that grows far beyond the others makes the standard deviation about √(d − 1) times the mean, so r "
    "approaches 1/√(d − 1)",
    vary=each(data=DATA, d=[3, 8, 64, 1024], sign=[-1, 1], seed=range(3)),
)
def test_one_feature_that_grows(data, d, sign, seed):
    x = data(np.random.default_rng(seed), d)
    x[0] = sign * 1e7 * d
    return bool(np.isclose(mean_ratio(x), 1 / np.sqrt(d - 1), rtol=1e-3))


@conclusion(
    "A larger eps makes both outputs smaller, and layer norm's more, because the variance is smaller than the mean "
    "square.",
    vary=each(data=DATA, d=[2, 8, 1024], eps=[0.01, 1, 10], seed=range(3)),
)
def test_eps_and_both_outputs(data, d, eps, seed):
    x = data(np.random.default_rng(seed), d)
    kept = [np.linalg.norm(norm(x, eps=eps).y) / np.linalg.norm(norm(x, eps=0).y) for norm in (layer_norm, rms_norm)]
    return bool(kept[0] < kept[1] < 1)


def relu(z):
    return np.maximum(z, 0)


def gelu(z):
    return z / (1 + np.exp(-1.702 * z))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@conclusion(
    "Of a linear layer, ReLU, GELU and sigmoid, the sigmoid's outputs have the largest r",
    vary=each(width=[64, 256, 1024], size=[0.25, 1, 4], data=[normal, skewed], seed=range(3)),
)
def test_which_activation_has_the_largest_r(width, size, data, seed):
    rng = np.random.default_rng(seed)
    x = data(rng, (100, width))
    z = x @ rng.normal(size=(width, width))
    z *= size / z.std()
    linear, *rest, last = (mean_ratio(f(z)).mean() for f in (np.copy, relu, gelu, sigmoid))
    return bool(linear < min(rest) and max(rest) < last)


@conclusion(
    "With random weights and inputs of mean 0, the outputs of linear layers have a small r, and so does the stream",
    vary=each(width=[64, 256], depth=[6, 24, 48], activation=[relu, gelu, sigmoid], seed=range(2)),
)
def test_r_of_the_stream(width, depth, activation, seed):
    rng = np.random.default_rng(seed)
    stream = rng.normal(size=(20, width))
    for _ in range(depth):
        hidden = activation(rms_norm(stream).y @ rng.normal(size=(width, width)) / np.sqrt(width))
        stream += hidden @ rng.normal(size=(width, width)) / np.sqrt(width)
    return bool(mean_ratio(stream).mean() < 2.4 / np.sqrt(width))  # 0.15 at width 256


@conclusion(
    "So the weights of a linear layer can center its output in place of the norm.",
    vary=each(data=DATA, inputs=[1, 8, 64], d=[2, 16, 512], eps=[1e-12, 1e-5, 1]),
)
def test_centering_in_the_weights(data, inputs, d, eps):
    rng = np.random.default_rng(d)
    a = data(rng, (20, inputs))
    w = rng.normal(size=(inputs, d))
    bias = rng.normal(size=d)
    centered = a @ (w - w.mean(axis=1, keepdims=True)) + bias - bias.mean()
    return bool(np.allclose(rms_norm(centered, eps=eps).y, layer_norm(a @ w + bias, eps=eps).y, atol=1e-6))


@conclusion(
    "For eps = 1e-5 and an RMS of ten times √eps or more, the two outputs differ by at most half a percent.",
    vary=each(data=DATA, d=[2, 64, 4096], times=[10, 100, 1e4], dtype=[np.float32, np.float64]),
)
def test_inside_or_outside(data, d, times, dtype):
    x = rms_norm(data(np.random.default_rng(d), d), eps=0).y.astype(dtype)
    x = x * dtype(times * np.sqrt(1e-5))
    inside = rms_norm(x, eps=1e-5).y
    outside = x / (np.sqrt(np.mean(x**2)) + 1e-5)
    return bool(np.abs(inside / outside - 1).max() <= 0.005)


@conclusion(
    "Inside, eps is compared with the square of the RMS: it changes the output noticeably when the RMS is near √eps",
    vary=each(data=DATA, d=[2, 64, 4096], eps=[1e-12, 1e-8, 1e-5, 1e-2]),
)
def test_where_eps_is_felt(data, d, eps):
    x = rms_norm(data(np.random.default_rng(d), d), eps=0).y

    def kept(times):
        return np.sqrt(np.mean(rms_norm(times * np.sqrt(eps) * x, eps=eps).y ** 2))

    return bool(kept(0.1) < 0.11 and 0.7 < kept(1) < 0.71 and kept(10) > 0.99)


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
    "With gamma 1 the two orders give the same numbers, and with another power of 2 too, unless float16 runs out of "
    "digits near 0",
    vary=each(data=DATA, gamma=[0.25, 1, 2, 8], dtype=["float16", "bfloat16"], seed=range(3)),
)
def test_gammas_that_are_powers_of_two(data, gamma, dtype, seed):
    x = data(np.random.default_rng(seed), (200, 64)).astype(np.float32)
    weight = np.full(64, gamma, dtype=np.float32)
    llama, gemma = (rms_norm_cast(x, weight, order=order, dtype=dtype) for order in ("llama", "gemma"))
    near_zero = (gamma != 1) & (dtype == "float16") & (np.abs(gemma) < 2e-3)
    return bool((llama == gemma)[~near_zero].all())


@conclusion("In bfloat16 the sum 1 + w loses small w", vary=each(w=[1e-5, 1e-3, 0.0038]))
def test_one_plus_w(w):
    return bool(round_to(1 + w, "bfloat16") == 1)


@conclusion(
    "In a wide model the parameters saved are negligible.", vary=each(width=[768, 4096, 16384], matrices=[8, 12, 16])
)
def test_parameters_saved(width, matrices):
    return 2 * width / (matrices * width**2 + 4 * width) < 0.0004


def in_numpy(x, norm):
    start = time.perf_counter()
    if norm == "layer":
        (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    else:
        x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)
    return time.perf_counter() - start


@conclusion(
    "In NumPy, RMSNorm is faster than layer norm",
    vary=each(shape=[(8, 64), (512, 1024), (32, 8192)], dtype=[np.float32, np.float64]),
)
def test_time_in_numpy(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    layer, rms = zip(*[(in_numpy(x, "layer"), in_numpy(x, "rms")) for _ in range(20)], strict=True)
    return 1.1 * min(rms) < min(layer)


def attention(q, k):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


TOKENS = each(tokens=[8, 24, 128], d=[16, 32, 128], seed=range(3))


@conclusion(
    "At this size, without QK-norm, each token gives on average more than 80% of its weight to a single token.",
    vary=TOKENS,
)
def test_large_queries_and_keys(tokens, d, seed):
    q, k = 8 * np.random.default_rng(seed).normal(size=(2, tokens, d))
    return bool(attention(q, k).max(axis=1).mean() > 0.8)


@conclusion(
    "With QK-norm the size of queries and keys no longer matters; if gamma is 1, no scaled logit can exceed √d",
    vary=each(tokens=[8, 128], d=[16, 128], size=[1, 8, 1e3], seed=range(3)),
)
def test_with_qk_norm(tokens, d, size, seed):
    q, k = np.random.default_rng(seed).normal(size=(2, tokens, d))
    plain = attention(rms_norm(q).y, rms_norm(k).y)
    grown_q, grown_k = rms_norm(size * q).y, rms_norm(size * k).y
    bounded = np.abs(grown_q @ grown_k.T / np.sqrt(d)).max() <= np.sqrt(d) * (1 + 1e-9)
    return bool(bounded and np.allclose(attention(grown_q, grown_k), plain, atol=1e-3))


def digit_reader(order, norm, activation, depth, seed, optimizer="SGD", rate=None):
    """The lesson's network and the 797 images that it has not seen."""
    images, labels = digits()
    pixels = images.reshape(-1, 64)
    rng = np.random.default_rng(seed)
    layers = []
    for _ in range(depth):
        after = [norm(64), activation()]
        layers += [Linear(64, 64, rng=rng), *(after if order == "A" else after[::-1])]
    network = Sequential(*layers, Linear(64, 10, rng=rng, init="lecun"))
    make, usual = RATES[optimizer]
    run = make(network.parameters(), rate or usual)
    fit(network, pixels[:1000], labels[:1000], run, steps=300, batch_size=32, rng=seed)
    return network, pixels[1000:], labels[1000:]


def accuracies(order, activation, depth, seed, **training):
    """Accuracy with the layer norms of training, and with their mean forgotten."""
    network, z, labels = digit_reader(order, LayerNorm, activation, depth, seed, **training)
    before = accuracy(network.forward(z), labels)
    for layer in network.layers:
        is_norm = isinstance(layer, LayerNorm)
        z = layer.gamma.value * rms_norm(z).y + layer.beta.value if is_norm else layer.forward(z)
    return before, accuracy(z, labels)


TRAINED = {"optimizer": ["SGD", "Adam"], "depth": [6, 8], "seed": range(5)}
RATES = {"SGD": (SGD, 0.05), "Adam": (Adam, 0.003)}


@conclusion("Network A reads on as before without the mean", vary=each(**TRAINED), least=19)
def test_a_does_not_miss_the_mean(optimizer, depth, seed):
    before, after = accuracies("A", ReLU, depth, seed, optimizer=optimizer)
    return before > 0.85 and after > before - 0.03


@conclusion("Network B cannot read without it", vary=each(**TRAINED), least=19)
def test_b_misses_the_mean(optimizer, depth, seed):
    before, after = accuracies("B", ReLU, depth, seed, optimizer=optimizer)
    return before > 0.85 and after < before - 0.15


@conclusion(
    "With tanh, whose outputs have both signs, in place of ReLU the second order survives the move, too.",
    vary=each(depth=[4, 6], seed=range(5)),
)
def test_tanh_in_the_second_order(depth, seed):
    before, after = accuracies("B", Tanh, depth, seed)
    return before > 0.85 and after > before - 0.05


@conclusion("A new network can be trained with either norm", vary=each(rate=[0.05, 0.1], seed=range(10)), least=19)
def test_b_trained_with_rms_norm(rate, seed):
    both = [digit_reader("B", norm, ReLU, 6, seed, rate=rate) for norm in (LayerNorm, RMSNorm)]
    layer, rms = (accuracy(network.forward(x), labels) for network, x, labels in both)
    return rms > layer - 0.04


@conclusion(
    "Decay pulls gamma to 0; models that store 1 + w let it pull to 1.",
    vary=each(rate=[0.001, 0.003], decay=[1, 3], seed=range(2)),
)
def test_where_decay_pulls_gamma(rate, decay, seed):
    images, labels = digits()
    means = {}
    for toward in (None, 0, 1):
        rng = np.random.default_rng(seed)
        layers = [layer for _ in range(2) for layer in (Linear(64, 64, rng=rng), RMSNorm(64), ReLU())]
        network = Sequential(*layers, Linear(64, 10, rng=rng, init="lecun"))
        gammas = [layer.gamma for layer in layers if isinstance(layer, RMSNorm)]

        def pull(step, toward=toward, gammas=gammas):
            for g in gammas if toward is not None else ():
                g.value = toward + (1 - rate * decay) * (g.value - toward)

        run = Adam(network.parameters(), rate)
        fit(
            network, images.reshape(-1, 64)[:1000], labels[:1000], run, steps=400, batch_size=32, rng=seed, on_step=pull
        )
        means[toward] = np.mean([g.value for g in gammas])
    return bool(means[0] < 0.9 < 0.97 < means[1] < means[None])
