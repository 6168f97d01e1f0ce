"""Lesson 16: a digit network with four bugs in the code that serves it, drawn again for each seed."""

import functools

import numpy as np

from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, PIXELS

forward, learn = from_lesson("16", "forward", "learn")
BUGS = ("update", "blank rows", "eps", "weights")
NETWORKS = each(seed=range(6), width=[16, 32, 64])
EPS = 0.001


@functools.cache
def network(seed, width):
    """Pixels, the rows to test, weights before and after training, and the packets of the training digits."""
    rng = np.random.default_rng(100 + seed)
    pixels = PIXELS + rng.normal(0, 0.001, size=PIXELS.shape)
    train, test = np.split(rng.permutation(len(pixels)), [1200])
    shapes = (64, width), (width, 16), (16, 10)
    before = weights = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes]
    for _ in range(250):
        batch = rng.choice(train, 64)
        weights = learn(pixels[batch], KINDS[batch], weights)
    cuts = np.cumsum(rng.integers(8, 33, size=100))
    packets = np.split(pixels[train], [*cuts[cuts < 1190], 1197])
    return pixels, test, before, weights, packets


def right(scores, test):
    return np.mean(scores.argmax(axis=1) == KINDS[test])


def in_training_mode(seed, width):
    pixels, test, _, weights, _ = network(seed, width)
    return right(forward(pixels[test], weights)[-1], test)


def accuracy(seed, width, fixed):
    """In service, with the named bugs fixed and the others as they are."""
    pixels, test, before, (w1, w2, w3), packets = network(seed, width)
    v1, v2, _ = (w1, w2, w3) if "weights" in fixed else before
    share = 0.1 if "update" in fixed else 0.9

    def normalize(z, mean, var):
        return (z - mean) / (np.sqrt(var + EPS) if "eps" in fixed else np.sqrt(var) + EPS)

    stored = [np.zeros(64), np.ones(64), np.zeros(16), np.ones(16)]
    for rows in packets:
        rows = rows if "blank rows" in fixed else np.vstack([rows, np.zeros((48 - len(rows), 64))])
        z = np.maximum(normalize(rows, rows.mean(axis=0), rows.var(axis=0)) @ v1, 0) @ v2
        new = [rows.mean(axis=0), rows.var(axis=0), z.mean(axis=0), z.var(axis=0)]
        stored = [(1 - share) * old + share * now for old, now in zip(stored, new, strict=True)]
    z = np.maximum(normalize(pixels[test], *stored[:2]) @ w1, 0) @ w2
    return right(np.maximum(normalize(z, *stored[2:]), 0) @ w3, test)


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
