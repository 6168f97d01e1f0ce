"""Lesson 13's conclusions about a network moved from Keras to PyTorch, tried with other seeds and batches."""

import functools

import numpy as np

from helpers import BatchNorm, Linear, ReLU, RunningStats, Sequential, accuracy
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, train

patches, Turn, Flatten = from_lesson("13", "patches", "Turn", "Flatten")


@functools.cache
def trained(seed, steps):
    """The reader of digits: patches, dense layer, batch norm with Keras's settings, ReLU, dense layer."""
    norm = BatchNorm(16, eps=1e-3, momentum=0.01)
    first, last = Linear(4, 16, rng=seed, bias=False), Linear(256, 10, rng=seed + 1, init="lecun")
    network = Sequential(first, Turn(), norm, ReLU(), Turn(), Flatten(), last)
    train(network, "SGD", 0.5, slice(1000), steps=steps, seed=seed, x=patches, batch_size=50)
    return first, norm, last


def scores(parts, *, eps=1e-3, channels=2, stats=None):
    """In eval mode, of the test digits; `channels` is the axis that batch norm takes for that of the channels."""
    first, norm, last = parts
    stats = stats or norm.stats
    scale = norm.gamma.value / np.sqrt(stats.var + eps)
    z = np.swapaxes(first.forward(patches[1000:]), channels, 2)
    z = np.swapaxes((z - stats.mean) * scale + norm.beta.value, channels, 2)
    return last.forward(np.maximum(z, 0).reshape(len(z), -1))


@conclusion(
    "Where L = C the wrong axis raises no error and takes accuracy; the other framework's eps takes next to none.",
    vary=each(seed=range(10), steps=[300, 600]),
)
def test_axis_and_eps(seed, steps):
    parts = trained(seed, steps)
    found = [scores(parts), scores(parts, channels=1), scores(parts, eps=1e-5), scores(parts, channels=1, eps=1e-5)]
    right, wrong_axis, wrong_eps, _ = (accuracy(y, KINDS[1000:]) for y in found)
    off = np.abs(found[2] - found[0]).max()
    changed = np.sum(found[1].argmax(axis=1) != found[3].argmax(axis=1))
    return bool(changed <= 10 and right - wrong_axis > 0.08 and abs(right - wrong_eps) < 0.01 < off < 0.5)


@conclusion(
    "After more training a copied momentum shows, then the divisor; with both converted nothing is left.",
    vary=each(seed=range(6), batch=[20, 50, 100], more=[10, 40]),
)
def test_more_training(seed, batch, more):
    parts = trained(seed, 300)
    rng = np.random.default_rng(seed)
    z = [parts[0].forward(patches[rng.choice(1000, batch, replace=False)]).reshape(-1, 16) for _ in range(more)]

    def later(momentum, unbiased, own_layer=False):
        stats = RunningStats(16, momentum=momentum, unbiased=unbiased)
        stats.mean, stats.var = parts[1].running_mean, parts[1].running_var
        for rows in z:
            kept = (1 - momentum) * stats.var
            stats.update(rows)
            if own_layer:  # as the lesson's KerasBatchNorm does
                stats.var = kept + (stats.var - kept) * (len(rows) - 1) / len(rows)
        return scores(parts, stats=stats)

    keras = later(0.01, False)
    copied, converted, own = (
        np.abs(later(*how) - keras).max() for how in ((0.99, True), (0.01, True), (0.01, True, True))
    )
    return bool(copied > 0.3 and 1e-4 < converted < 0.02 and copied > 20 * converted and own < 1e-9)
