"""Lesson 02's conclusions about neighbors, tried with other sizes, distributions, eps and dtypes."""

import numpy as np

from helpers import batch_norm, layer_norm
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import DRAWN, KINDS, PIXELS

in_batches, rule_accuracy, nearer_mean = from_lesson("02", "in_batches", "rule_accuracy", "nearer_mean")


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
    x = DRAWN[distribution](np.random.default_rng(n), (n, 500)).astype(dtype)
    return np.abs(batch_norm(x, eps=eps).y).max() <= np.sqrt(n - 1) * (1 + 1e-3)


@conclusion(
    "With eps = 0 the smallest output of a batch is at most −1/√(n − 1).",
    vary=each(n=[2, 3, 8, 100], distribution=["normal", "exponential", "cauchy"]),
)
def test_the_smallest(n, distribution):
    x = DRAWN[distribution](np.random.default_rng(n), (n, 2000))
    return (batch_norm(x, eps=0).y.min(axis=0) <= -1 / np.sqrt(n - 1) + 1e-9).all()


def noise(n, distribution, sample, seed):
    x = DRAWN[distribution](np.random.default_rng(seed), (n, 8000))
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


@conclusion(
    "A file sorted by class leaves the rule at chance; a shuffled file does not.",
    vary=each(n=[8, 32, 160], features=[1, 4, 32], apart=[1.0, 3.0], seed=[0, 1]),
)
def test_the_order_of_the_file(n, features, apart, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 1600)
    x = rng.normal(apart * (2 * labels[:, None] - 1), 1, size=(3200, features))
    mixed = rng.permutation(3200)
    shuffled = rule_accuracy(in_batches(x[mixed], n), labels[mixed])
    return bool(0.45 < rule_accuracy(in_batches(x, n), labels) < 0.55 and shuffled > 0.75)


@conclusion(
    "Digits sorted by class leave a rule that was made from shuffled ones at chance.",
    vary=each(pair=[(0, 3), (3, 8), (1, 7), (4, 9)], n=[8, 16, 32, 160], seed=[0, 1]),
)
def test_sorted_digits(pair, n, seed):
    x = np.concatenate([PIXELS[KINDS == k][:160] for k in pair])
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
    scale = gamma / np.sqrt(var + eps)
    y = scale * (x @ w + b - mean) + beta
    return np.allclose(x @ (w * scale) + (b - mean) * scale + beta, y)


@conclusion(
    "Padding with zeros raises the mean output of the real tokens, for a feature of positive mean.",
    vary=each(mean=[0.5, 2.0, 20.0], real=[0.1, 0.5, 0.9], length=[8, 128]),
)
def test_padding(mean, real, length):
    x = np.random.default_rng(length).normal(mean, mean / 2, size=(40 * length, 4))
    kept = np.arange(len(x)) < real * len(x)
    padded = np.where(kept[:, None], x, 0)
    return batch_norm(padded).y[kept].mean() > batch_norm(x[kept]).y.mean()


@conclusion(
    "Under batch norm the outputs of one sample tell the city of its neighbors; under layer norm they do not.",
    vary=each(seed=range(6)),
)
def test_the_cities(seed):
    rng = np.random.default_rng(seed)
    city = np.arange(800) // 2 % 2
    batches = rng.normal(size=(800, 16, 16)) + 0.5 * city[:, None, None]
    batches[:, 0] = rng.normal(size=16)
    batch, layer = (nearer_mean(np.array([norm(x).y[0] for x in batches]), city) for norm in (batch_norm, layer_norm))
    return batch > 0.9 and layer == 0.5
