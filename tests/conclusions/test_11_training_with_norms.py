"""Lesson 11's conclusions, tried with other seeds, widths, rates, optimizers and activations."""

import numpy as np

from helpers import SGD, Adam, Linear, ReLU, accuracy, cross_entropy, fit, iris, mean_cosine, mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, OPTIMIZERS, PIXELS, accuracy_on, split, train


def layers_of(net, kind):
    """The places of a kind of layer."""
    return [i for i, layer in enumerate(net.layers) if isinstance(layer, kind)]


@conclusion(
    "On this task, with scaled data and a good initialization, there was nothing for a norm to repair.",
    vary=each(norm=["layer", "batch"], width=[16, 64], optimizer=["SGD", "Adam"]),
)
def test_a_norm_changes_little_on_scaled_iris(norm, width, optimizer):
    flowers, species = iris()
    x = (flowers - flowers.mean(axis=0)) / flowers.std(axis=0)

    def right(norm, seed):
        learn, test = np.split(np.random.default_rng(seed).permutation(150), [100])
        net = mlp([4, width, 3], norm=norm, rng=seed)
        rate = 0.1 if optimizer == "SGD" else 0.01
        train(net, optimizer, rate, learn, steps=200, seed=seed, x=x, labels=species, batch_size=64)
        return accuracy(net.forward(x[test]), species[test])

    return abs(np.mean([right(norm, seed) - right(None, seed) for seed in range(6)])) < 0.05


def on_digits(norm, *, width=32, depth=4, gain=1, activation="relu", optimizer="SGD", rate=0.1, steps=120, seed):
    """Accuracy on the third of the digits that the network was not trained on."""
    learn, test = split(seed)
    net = mlp([64, *depth * [width], 10], norm=norm, activation=activation, gain=gain, rng=seed)
    train(net, optimizer, rate, learn, steps=steps, seed=seed, batch_size=64)
    return accuracy_on(net, test)


def over_decades(norm, gain, seed, optimizer="SGD", low=-6, high=2, width=32):
    """The accuracy of three layers at each rate 10 to the k."""
    how = {"depth": 3, "gain": gain, "seed": seed, "optimizer": optimizer, "width": width}
    return np.array([on_digits(norm, rate=10.0**k, **how) for k in range(low, high)])


@conclusion(
    "At rate 0.1 batch norm trains at every gain from 0.01 to 30.",
    vary=each(gain=[0.01, 0.1, 1, 30], seed=[1, 2, 3], width=[32, 128]),
)
def test_batch_norm_trains_at_every_gain(gain, seed, width):
    return on_digits("batch", gain=gain, seed=seed, width=width) > 0.4


@conclusion(
    "At its own best rate the network without a norm trains at gains of 1 and more, and not at 0.1 and less.",
    vary=[
        *each(gain=[1, 3, 10, 30], trains=[True], seed=[0, 1, 2, 3]),
        *each(gain=[0.03, 0.1], trains=[False], seed=[0, 1]),
    ],
)
def test_without_a_norm_large_gains_only_had_the_wrong_rate(gain, trains, seed):
    return (over_decades(None, gain, seed).max() > 0.4) == trains


@conclusion("gain 0.3 trains at rate 0.3 or 0.5", vary=each(seed=range(8)))
def test_between_the_decades_gain_a_third_trains(seed):
    return max(on_digits(None, depth=3, gain=10**-0.5, rate=rate, seed=seed) for rate in (0.3, 0.5)) > 0.4


@conclusion(
    "With patience gain 0.3 trains at rate 0.1, and gain 0.03 does not in ten times as many steps.",
    vary=each(gain=[0.3, 0.03], seed=[0, 1, 2]),
)
def test_patience_trains_gain_a_third(gain, seed):
    return (on_digits(None, depth=3, gain=gain, seed=seed, steps=1200) > 0.8) == (gain == 0.3)


@conclusion(
    "At its own best rate layer norm trains at every gain from 0.01 to 30.",
    vary=each(gain=[0.01, 0.1, 1, 30], seed=[0, 1, 2], width=[32, 96]),
)
def test_layer_norm_trains_at_every_gain(gain, seed, width):
    return over_decades("layer", gain, seed, width=width).max() > 0.4


@conclusion(
    "Weights a times as long before a norm need a rate a² times as large under SGD, and a times under Adam",
    vary=each(norm=["layer", "batch", "rms"], gain=[0.01, 0.1], seed=[0, 1], optimizer=["SGD", "Adam"]),
)
def test_the_rate_goes_with_the_square(norm, gain, seed, optimizer):
    usual, shorter = (0.1, 0.1 * gain**2) if optimizer == "SGD" else (0.001, 0.001 * gain)
    settings = ((1, usual), (gain, shorter), (gain, shorter / 30))
    how = {"depth": 3, "seed": seed, "optimizer": optimizer}
    whole, short, too_slow = (on_digits(norm, gain=g, rate=rate, **how) for g, rate in settings)
    return min(whole, short) > 0.6 and too_slow < 0.5


@conclusion(
    "Batch norm trains at more rates than layer norm, and layer norm at more than no norm",
    vary=each(gain=[0.01, 0.1], seed=[0, 1, 2]),
)
def test_batch_norm_forgives_most(gain, seed):
    batch, layer, none = (np.sum(over_decades(norm, gain, seed) > 0.4) for norm in ("batch", "layer", None))
    return batch > layer > none


@conclusion("The fall of layer norm under decay was gamma's, not the weights'.", vary=each(seed=range(6)))
def test_a_strong_decay_hurts_layer_norm_through_gamma(seed):
    decayed = from_lesson("11", "decayed")
    return decayed("layer", "not", seed) > decayed("layer", "to 0", seed) + 0.03


class Both:
    """Two optimizers that take their steps together."""

    def __init__(self, first, second):
        self.parts = first, second
        self.parameters = first.parameters + second.parameters

    def step(self):
        for part in self.parts:
            part.step()


def loss_at_width(width, rate, transfer, seed, steps):
    """The lesson's network with or without the rules of µP for width."""
    net = mlp([64, width, width, 10], norm="layer", rng=seed)
    wide = [net.layers[i].weight for i in layers_of(net, Linear)[1:]]
    rest = [p for p in net.parameters() if not any(p is w for w in wide)]
    shrink = 32 / width if transfer else 1
    wide[-1].value = wide[-1].value * np.sqrt(shrink)
    rule = Both(Adam(wide, rate * shrink), Adam(rest, rate))
    return fit(net, PIXELS[:1198], KINDS[:1198], rule, steps=steps, batch_size=32, rng=seed).loss[-10:].mean()


@conclusion(
    "Under Adam the best rate falls with the width, and stays with µP",
    vary=each(seed=range(4), steps=[60, 150]),
)
def test_rates_transfer_over_width_with_mup(seed, steps):
    at_32, usual, mup = (
        loss_at_width(width, 0.01, transfer, seed, steps) / loss_at_width(width, 0.003, transfer, seed, steps)
        for width, transfer in [(32, False), (256, False), (256, True)]
    )
    return bool(at_32 < 1 < usual and mup < 1)


@conclusion(
    "After this step the activations of all digits point in nearly the same direction. Layer norm cannot subtract "
    "what the digits have in common; batch norm can",
    vary=each(seed=range(4), width=[32, 128]),
)
def test_after_one_long_step_batch_norm_survives(seed, width):
    cosines = []
    for norm in ("layer", "batch"):
        net = mlp([64, *4 * [width], 10], norm=norm, gain=0.01, rng=seed)
        fit(net, PIXELS[:64], KINDS[:64], SGD(net.parameters(), lr=0.1), steps=1)
        net.forward(PIXELS[:64])
        cosines.append(mean_cosine(net.outputs[-2] + 1e-12))
    return cosines[0] > 0.95 and cosines[1] < 0.6


@conclusion(
    "In these networks batch norm widens the window of learning rates, under SGD and under Adam.",
    vary=[
        *each(optimizer=list(OPTIMIZERS), seed=[1, 2, 3], width=[32, 64], depth=[4], activation=["relu"]),
        *each(optimizer=list(OPTIMIZERS), seed=[1], width=[32], depth=[1, 2, 8], activation=["relu"]),
        *each(optimizer=list(OPTIMIZERS), seed=[1], width=[32], depth=[4], activation=["tanh"]),
    ],
)
def test_batch_norm_widens_the_window_of_rates(optimizer, **how):
    rates = [0.1, 0.3, 1, 3] if optimizer == "SGD" else [0.01, 0.03, 0.1, 0.3, 1]
    without, batch = (
        sum(on_digits(norm, rate=rate, optimizer=optimizer, **how) > 0.7 for rate in rates) for norm in (None, "batch")
    )
    return batch > without


@conclusion(
    "Adam without a norm trained at every gain, each at its own best rate.",
    vary=each(gain=[0.01, 0.1, 0.3, 1, 10, 30], seed=[0, 1, 2]),
    least=17,
)
def test_adam_trains_at_every_gain(gain, seed):
    return over_decades(None, gain, seed, "Adam", low=-5, high=1).max() > 0.4


@conclusion(
    "With ReLU and a small gain all layers get too small a gradient.",
    vary=each(seed=range(5), width=[32, 128], gain=[0.1, 0.3]),
)
def test_all_layers_get_too_small_a_gradient(seed, width, gain):
    found = []
    for size in (gain, 1):
        net = mlp([64, *4 * [width], 10], gain=size, rng=seed)
        net.backward(cross_entropy(net.forward(PIXELS[:64]), KINDS[:64]).dlogits)
        found.append([np.linalg.norm(net.layers[i].weight.grad) for i in layers_of(net, Linear)[:-1]])
    ratio = np.divide(*found)
    return bool(ratio.max() < 0.1 and ratio.max() / ratio.min() < 5)


@conclusion(
    "The gain alone makes no unit dead, since it changes no sign; long steps make many units dead.",
    vary=each(seed=[1, 2, 3], gain=[0.3, 3]),
)
def test_long_steps_make_units_dead(seed, gain):
    def dead(gain, rate=None):
        net = mlp([64, *4 * [32], 10], gain=gain, rng=seed)
        if rate:
            train(net, "SGD", rate, split(seed)[0], steps=120, seed=seed, batch_size=64)
        net.forward(PIXELS)
        return np.mean([net.outputs[i].max(axis=0) == 0 for i in layers_of(net, ReLU)])

    return bool(dead(gain) == dead(1) < dead(1, rate=1) - 0.1)
