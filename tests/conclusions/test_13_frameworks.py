"""Lesson 13's conclusions about a network moved from Keras to PyTorch, tried with other seeds and batches."""

import functools

import numpy as np

from helpers import SGD, BatchNorm, Layer, Linear, ReLU, RunningStats, Sequential, accuracy, digits, fit
from tests.conclusions.conclusion import conclusion, each

IMAGES, DIGITS = digits()
PATCHES = IMAGES.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 16, 4)
TESTS = PATCHES[1000:]


class Turn(Layer):
    def _forward(self, x):
        return np.swapaxes(x, 1, 2), None

    def _backward(self, dy, kept):
        return np.swapaxes(dy, 1, 2)


class Flatten(Layer):
    def _forward(self, x):
        return x.reshape(len(x), -1), x.shape

    def _backward(self, dy, shape):
        return dy.reshape(shape)


@functools.cache
def trained(seed, steps):
    """The reader of digits: patches, dense layer, batch norm with Keras's settings, ReLU, dense layer."""
    norm = BatchNorm(16, eps=1e-3, momentum=0.01)
    first, last = Linear(4, 16, rng=seed, bias=False), Linear(256, 10, rng=seed + 1, init="lecun")
    network = Sequential(first, Turn(), norm, ReLU(), Turn(), Flatten(), last)
    fit(network, PATCHES[:1000], DIGITS[:1000], SGD(network.parameters(), 0.5), steps=steps, batch_size=50, rng=seed)
    return first, norm, last


def scores(parts, *, eps=1e-3, turned=True, mean=None, var=None):
    first, norm, last = parts
    mean, var = norm.running_mean if mean is None else mean, norm.running_var if var is None else var
    z = first.forward(TESTS)
    z = np.swapaxes(z, 1, 2) if turned else z
    z = (z - mean[:, None]) * (norm.gamma.value / np.sqrt(var + eps))[:, None] + norm.beta.value[:, None]
    z = np.swapaxes(z, 1, 2) if turned else z
    return last.forward(np.maximum(z, 0).reshape(len(z), -1))


def right(y):
    return accuracy(y, DIGITS[1000:])


@conclusion(
    "Where L = C the wrong axis raises no error and takes accuracy; the other framework's eps takes next to none.",
    vary=each(seed=range(10), steps=[300, 600]),
)
def test_axis_and_eps(seed, steps):
    parts = trained(seed, steps)
    wanted, wrong_axis, wrong_eps = scores(parts), scores(parts, turned=False), scores(parts, eps=1e-5)
    lost = right(wanted) - right(wrong_axis)
    off = np.abs(wrong_eps - wanted).max()
    changed = np.sum(wrong_axis.argmax(axis=1) != scores(parts, eps=1e-5, turned=False).argmax(axis=1))
    return bool(changed <= 10 and lost > 0.08 and abs(right(wrong_eps) - right(wanted)) < 0.01 and 0.01 < off < 0.5)


@conclusion(
    "After more training a copied momentum shows, then the divisor; with both converted nothing is left.",
    vary=each(seed=range(6), batch=[20, 50, 100], more=[10, 40]),
)
def test_more_training(seed, batch, more):
    parts = trained(seed, 300)
    rng = np.random.default_rng(seed)
    z = [parts[0].forward(PATCHES[rng.choice(1000, batch, replace=False)]).reshape(-1, 16) for _ in range(more)]

    def later(momentum, unbiased, own_layer=False):
        stats = RunningStats(16, momentum=momentum, unbiased=unbiased)
        stats.mean, stats.var = parts[1].running_mean, parts[1].running_var
        for rows in z:
            kept = (1 - momentum) * stats.var
            stats.update(rows)
            if own_layer:  # as the lesson's KerasBatchNorm does
                stats.var = kept + (stats.var - kept) * (len(rows) - 1) / len(rows)
        return scores(parts, mean=stats.mean, var=stats.var)

    settings = ((0.99, True), (0.01, True), (0.01, True, True))
    keras = later(0.01, False)
    copied, converted, own = (np.abs(later(*setting) - keras).max() for setting in settings)
    return bool(copied > 0.3 and 1e-4 < converted < 0.02 and copied > 20 * converted and own < 1e-9)
