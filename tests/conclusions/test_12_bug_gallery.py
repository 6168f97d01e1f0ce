"""Lesson 12: what the reader of its opening shows, for other seeds, widths and optimizers."""

import numpy as np

from helpers import mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import PIXELS, accuracy_on, train

TESTS = slice(1025, None)


def reader(optimizer, seed, width, factor=1.0):
    """A reader trained for 165 steps with the gradients of gamma and beta times a factor, in eval mode."""
    model = mlp([64, width, 10], "batch", rng=seed)

    def scale(_):
        for parameter in (model.layers[1].gamma, model.layers[1].beta):
            parameter.grad = factor * parameter.grad

    rate = {"SGD": 0.1, "Adam": 0.01}[optimizer]
    train(model, optimizer, rate, slice(1025), steps=165, seed=seed, on_step=scale)
    return model


@conclusion(
    "a good accuracy does not vouch for a gradient: a reader whose gamma hardly learns is as good",
    vary=each(optimizer=["SGD", "Adam"], width=[16, 32, 128], seed=range(10)),
)
def test_a_reader_with_small_gradients_of_gamma_is_as_good(optimizer, width, seed):
    right = [accuracy_on(reader(optimizer, seed, width, factor), TESTS) for factor in (1, 1 / 32, 0)]
    return min(right) > 0.85 and max(right) - min(right) < 0.03


@conclusion("one NaN in the running variance: every image is read as 0", vary=each(width=[16, 32, 128], seed=range(10)))
def test_a_nan_in_the_running_variance_reads_0(width, seed):
    model = reader("SGD", seed, width)
    model.layers[1].stats.var = np.full(width, np.nan)
    return not model.forward(PIXELS[TESTS]).argmax(axis=1).any()
