"""Lesson 16: a digit network with four bugs in the code that serves it, drawn again for each seed."""

import functools

import numpy as np

from helpers import batch_norm, batch_norm_backward, digits
from tests.conclusions.conclusion import conclusion, each

BUGS = ("update", "blank rows", "eps", "weights")
NETWORKS = each(seed=range(6), width=[16, 32, 64])
EPS = 0.001


def forward(rows, weights):
    w1, w2, w3 = weights
    y = batch_norm(rows, eps=EPS).y
    a = np.maximum(y @ w1, 0)
    z = a @ w2
    b = np.maximum(batch_norm(z, eps=EPS).y, 0)
    return y, a, z, b, b @ w3


def step(rows, digit, weights):
    w1, w2, w3 = weights
    y, a, z, b, scores = forward(rows, weights)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    d_scores = (powers / powers.sum(axis=1, keepdims=True) - np.eye(10)[digit]) / len(rows)
    d_z = batch_norm_backward(d_scores @ w3.T * (b > 0), z, eps=EPS)[0]
    d_a = d_z @ w2.T * (a > 0)
    return [w1 - y.T @ d_a, w2 - a.T @ d_z, w3 - b.T @ d_scores]


@functools.cache
def network(seed, width):
    """Pixels, labels, train, test, weights before and after training, packets and where they are filled."""
    rng = np.random.default_rng(100 + seed)
    images, labels = digits()
    pixels = images.reshape(len(images), -1) + rng.normal(0, 0.001, size=(len(images), 64))
    order = rng.permutation(len(images))
    train, test = order[:1200], order[1200:]
    weights = [
        rng.normal(size=(64, width)) / 8,
        rng.normal(size=(width, 16)) / np.sqrt(width),
        rng.normal(size=(16, 10)) / 4,
    ]
    before = weights
    for _ in range(250):
        batch = rng.choice(train, 64)
        weights = step(pixels[batch], labels[batch], weights)
    cuts = np.cumsum(rng.integers(8, 33, size=100))
    parts = np.split(pixels[train], [*cuts[cuts < 1190], 1197])
    return pixels, labels, test, train, (before, weights), parts


def normalize(z, mean, var, fixed):
    return (z - mean) / (np.sqrt(var + EPS) if "eps" in fixed else np.sqrt(var) + EPS)


def accuracy(seed, width, fixed):
    """In service, with the named bugs fixed and the others as they are."""
    pixels, labels, test, _, (before, after), parts = network(seed, width)
    w1, w2, _ = after if "weights" in fixed else before
    share = 0.1 if "update" in fixed else 0.9
    stored = [np.zeros(64), np.ones(64), np.zeros(16), np.ones(16)]
    for part in parts:
        rows = part if "blank rows" in fixed else np.vstack([part, np.zeros((48 - len(part), 64))])
        mean, var = rows.mean(axis=0), rows.var(axis=0)
        z = np.maximum(normalize(rows, mean, var, fixed) @ w1, 0) @ w2
        new = [mean, var, z.mean(axis=0), z.var(axis=0)]
        stored = [(1 - share) * stored[k] + share * new[k] for k in range(4)]
    w1, w2, w3 = after
    z = np.maximum(normalize(pixels[test], *stored[:2], fixed) @ w1, 0) @ w2
    scores = np.maximum(normalize(z, *stored[2:], fixed), 0) @ w3
    return np.mean(scores.argmax(axis=1) == labels[test])


def in_training_mode(seed, width):
    pixels, labels, test, _, (_, after), _ = network(seed, width)
    return np.mean(forward(pixels[test], after)[-1].argmax(axis=1) == labels[test])


@conclusion(
    "With all four bugs the network is right far less often than in training mode, and more often than chance",
    vary=NETWORKS,
)
def test_served(seed, width):
    return 0.15 < accuracy(seed, width, ()) < in_training_mode(seed, width) - 0.1


@conclusion("When all four bugs are fixed, the network is about as good as in training mode", vary=NETWORKS)
def test_all_fixed(seed, width):
    return abs(accuracy(seed, width, BUGS) - in_training_mode(seed, width)) < 0.03


@conclusion("Fixing one of four bugs can lower the accuracy", vary=NETWORKS, least=1)
def test_one_fixed_alone_lowers_the_accuracy(seed, width):
    return min(accuracy(seed, width, (bug,)) for bug in BUGS) < accuracy(seed, width, ()) - 0.01


@conclusion("The bug in eps, left alone, costs less than one percentage point of accuracy", vary=NETWORKS)
def test_a_bug_that_accuracy_hides(seed, width):
    rest = tuple(bug for bug in BUGS if bug != "eps")
    return accuracy(seed, width, rest) > accuracy(seed, width, BUGS) - 0.01
