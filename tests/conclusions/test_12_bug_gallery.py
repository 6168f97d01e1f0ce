"""Lesson 12: what the reader of its opening shows, for other seeds, widths and optimizers."""

from helpers import mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import accuracy_on, train

YourNorm, train_entry, in_contest = from_lesson("12", "YourNorm", "train_entry", "in_contest")


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
    right = [accuracy_on(reader(optimizer, seed, width, factor), slice(1025, None)) for factor in (1, 1 / 32, 0)]
    return min(right) > 0.85 and max(right) - min(right) < 0.03


@conclusion("With swapped weights one last image costs the reader a tenth, by its averages", vary=each(seed=range(8)))
def test_swapped_weights_end_with_one_image(seed):
    *_, copies = train_entry(YourNorm, seed)
    before, last = in_contest(copies[-2]), in_contest(copies[-1])
    copies[-1].layers[1].norm.mean = copies[-2].layers[1].norm.mean
    return bool(last < before - 0.1 and in_contest(copies[-1]) > before - 0.05)
