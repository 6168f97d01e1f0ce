"""Lesson 02's conclusions about neighbors, tried with other sizes, distributions, eps and dtypes."""

import numpy as np

from helpers import batch_norm, digits, layer_norm
from tests.conclusions.conclusion import conclusion, each


def draws(distribution, rng, shape):
    """Independent numbers with mean 0 (if there is one) and variance 1 (if there is one)."""
    made = {
        "normal": rng.standard_normal,
        "uniform": lambda size: rng.uniform(-np.sqrt(3), np.sqrt(3), size),
        "exponential": lambda size: rng.exponential(1, size) - 1,
        "cauchy": rng.standard_cauchy,
    }
    return made[distribution](shape)


@conclusion(
    "With n values per feature no output is larger than √(n − 1), whatever the neighbors are.",
    vary=each(
        n=[2, 3, 5, 64, 1000],
        distribution=["normal", "exponential", "cauchy"],
        eps=[0, 1e-5, 1.0],
        dtype=[np.float64, np.float32],
    ),
)
def test_the_limit(n, distribution, eps, dtype):
    x = draws(distribution, np.random.default_rng(n), (n, 500)).astype(dtype)
    return np.abs(batch_norm(x, eps=eps).y).max() <= np.sqrt(n - 1) * (1 + 1e-3)


@conclusion(
    "With eps = 0 the smallest output of a batch is at most −1/√(n − 1).",
    vary=each(n=[2, 3, 8, 100], distribution=["normal", "exponential", "cauchy"]),
)
def test_the_smallest(n, distribution):
    x = draws(distribution, np.random.default_rng(n), (n, 2000))
    return (batch_norm(x, eps=0).y.min(axis=0) <= -1 / np.sqrt(n - 1) + 1e-9).all()


@conclusion(
    "If eps is negligible, the output of a batch of two says which is larger, but not by how much.",
    vary=each(gap=[1e-1, 1.0, 1e3, 1e6], offset=[-5.0, 0.0, 5.0], dtype=[np.float64, np.float32]),
)
def test_two_samples(gap, offset, dtype):
    y = batch_norm(np.array([[offset], [offset + gap]], dtype=dtype)).y
    return np.abs(y.ravel() - [-1, 1]).max() < 0.01


@conclusion(
    "Batch norm keeps the shape of a lopsided distribution.",
    vary=each(n=[10, 256, 5000], scale=[0.1, 2, 100.0], eps=[0, 1e-5, 0.1]),
)
def test_the_shape(n, scale, eps):
    x = np.random.default_rng(n).exponential(scale, size=(n, 1))
    y = batch_norm(x, eps=eps).y
    skewness = [np.mean((v - v.mean()) ** 3) / v.std() ** 3 for v in (x, y)]
    return np.isclose(*skewness) and np.mean(x < x.mean()) == np.mean(y < 0)


def noise(n, distribution, sample, seed):
    x = draws(distribution, np.random.default_rng(seed), (n, 8000))
    x[0] = sample
    return np.sqrt(np.mean((batch_norm(x).y[0] - sample) ** 2))


@conclusion(
    "With independent normal neighbors and a batch of 16 or more, four times the batch gives about half the noise.",
    vary=each(n=[16, 32, 64, 128], sample=[0.0, 1.0, 3.0], seed=[0, 1]),
)
def test_half_the_noise(n, sample, seed):
    return 1.75 < noise(n, "normal", sample, seed) / noise(4 * n, "normal", sample, seed + 10) < 2.3


@conclusion(
    "With other neighbors of finite variance, a batch of 256 has about half the noise of a batch of 64.",
    vary=each(distribution=["uniform", "exponential"], sample=[0.0, 1.0], seed=[0, 1]),
)
def test_half_the_noise_of_others(distribution, sample, seed):
    return 1.7 < noise(64, distribution, sample, seed) / noise(256, distribution, sample, seed + 10) < 2.4


def accuracy(x, labels):
    return np.mean((x.sum(axis=1) > 0) == labels)


def in_batches(x, n):
    return np.concatenate([batch_norm(x[i : i + n]).y for i in range(0, len(x), n)])


@conclusion(
    "A file sorted by class leaves the rule at chance; a shuffled file does not.",
    vary=each(n=[8, 32, 160], features=[1, 4, 32], apart=[1.0, 3.0], seed=[0, 1]),
)
def test_the_order_of_the_file(n, features, apart, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 1600)
    x = rng.normal(apart * (2 * labels[:, None] - 1), 1, size=(3200, features))
    mixed = rng.permutation(3200)
    shuffled = accuracy(in_batches(x[mixed], n), labels[mixed])
    return 0.45 < accuracy(in_batches(x, n), labels) < 0.55 and shuffled > 0.75


@conclusion(
    "Digits sorted by class leave a rule that was made from shuffled ones at chance.",
    vary=each(pair=[(0, 3), (3, 8), (1, 7), (4, 9)], n=[8, 16, 32, 160], seed=[0, 1]),
)
def test_sorted_digits(pair, n, seed):
    ink, kind = digits()
    x = np.concatenate([ink[kind == k][:160].reshape(160, 64) for k in pair])
    is_second = np.repeat([False, True], 160)
    mixed = np.random.default_rng(seed).permutation(320)
    in_order, shuffled = in_batches(x, n), in_batches(x[mixed], n)[np.argsort(mixed)]
    way = shuffled[is_second].mean(axis=0) - shuffled[~is_second].mean(axis=0)
    found = [np.mean(((y - shuffled.mean(axis=0)) @ way > 0) == is_second) for y in (in_order, shuffled)]
    return abs(found[0] - 0.5) < 0.12 and found[1] > 0.85


@conclusion(
    "In eval mode the output ignores the neighbors, and batch norm folds into the linear layer before it.",
    vary=each(width=[1, 4, 64], n=[1, 2, 50], eps=[0, 1e-5, 0.1]),
)
def test_eval_mode(width, n, eps):
    rng = np.random.default_rng(width)
    x, w, b = rng.normal(size=(n, 6)), rng.normal(size=(6, width)), rng.normal(size=width)
    mean, var, gamma, beta = rng.normal(size=width), rng.uniform(0.1, 4, width), *rng.normal(size=(2, width))
    y = gamma * (x @ w + b - mean) / np.sqrt(var + eps) + beta
    scale = gamma / np.sqrt(var + eps)
    return np.allclose(x @ (w * scale) + (b - mean) * scale + beta, y)


@conclusion(
    "Padding with zeros raises the mean output of the real tokens, for a feature of positive mean.",
    vary=each(mean=[0.5, 2.0, 20.0], real=[0.1, 0.5, 0.9], length=[8, 128]),
)
def test_padding(mean, real, length):
    rng = np.random.default_rng(length)
    x = rng.normal(mean, mean / 2, size=(40 * length, 4))
    kept = np.arange(len(x)) < real * len(x)
    padded = np.where(kept[:, None], x, 0)
    return (batch_norm(padded).y[kept].mean() - batch_norm(x[kept]).y.mean()) > 0


@conclusion(
    "Under batch norm the outputs of one sample tell the city of its neighbors; under layer norm they do not.",
    vary=each(seed=range(6)),
)
def test_the_cities(seed):
    rng = np.random.default_rng(seed)
    city = np.arange(800) // 2 % 2
    batches = rng.normal(size=(800, 16, 16)) + 0.5 * city[:, None, None]
    batches[:, 0] = rng.normal(size=16)
    found = {}
    for norm in (batch_norm, layer_norm):
        seen = np.array([norm(batch).y[0] for batch in batches])
        means = [seen[::2][city[::2] == k].mean(axis=0) for k in (0, 1)]
        named = (seen[1::2] - sum(means) / 2) @ (means[1] - means[0]) > 1e-9
        found[norm] = np.mean(named == city[1::2])
    return found[batch_norm] > 0.9 and found[layer_norm] == 0.5
