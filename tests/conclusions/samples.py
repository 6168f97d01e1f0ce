"""Samples of several distributions, each as data(rng, shape), and training on the digits, for all conclusions."""

import numpy as np

from helpers import SGD, Adam, accuracy, digits, fit

IMAGES, KINDS = digits()
PIXELS = IMAGES.reshape(-1, 64)
OPTIMIZERS = {"SGD": SGD, "Adam": Adam}


def normal(rng, shape):
    return rng.normal(size=shape)


def skewed(rng, shape):
    return rng.exponential(size=shape) ** 2


def far_from_zero(rng, shape):
    return rng.normal(100, 3, size=shape)


DATA = [normal, skewed, far_from_zero]
# Each as DRAWN[name](rng, shape): mean 0 and variance 1, but cauchy has neither.
DRAWN = {
    "normal": normal,
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
}


def train(net, optimizer, rate, rows, *, steps, seed, x=PIXELS, labels=KINDS, batch_size=32, on_step=None):
    """The loss of each step on these rows of the digits (or of x); the net is in eval mode afterwards."""
    rule = OPTIMIZERS[optimizer](net.parameters(), rate)
    how = {"steps": steps, "batch_size": batch_size, "rng": seed, "on_step": on_step}
    loss = fit(net, x[rows], labels[rows], rule, **how).loss
    net.eval()
    return loss


def accuracy_on(net, rows, x=PIXELS):
    """The fraction of these digits that the net reads correctly."""
    return accuracy(net.forward(x[rows]), KINDS[rows])


def split(seed=0):
    """Rows to learn from and rows to test, two thirds and one third."""
    return np.split(np.random.default_rng(seed).permutation(len(PIXELS)), [1198])
