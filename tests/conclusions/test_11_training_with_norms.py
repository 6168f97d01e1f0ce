"""Lesson 11's conclusions, tried with other seeds, widths, rates, optimizers and activations."""

import numpy as np

from helpers import SGD, Adam, Linear, ReLU, Tanh, accuracy, cross_entropy, digits, fit, iris, mean_cosine, mlp
from tests.conclusions.conclusion import conclusion, each

DRAWINGS, DIGIT = digits()
PIXELS = DRAWINGS.reshape(-1, 64)


OPTIMIZERS = {"SGD": SGD, "Adam": Adam}


def trained(x, labels, hidden, norm, *, optimizer="SGD", lr=0.1, gain=1, steps=120, seed=0, activation="relu"):
    """The network, and its accuracy in eval mode on the third of the samples that it was not trained on."""
    learn, test = np.split(np.random.default_rng(seed).permutation(len(x)), [2 * len(x) // 3])
    net = mlp([x.shape[1], *hidden, labels.max() + 1], norm=norm, activation=activation, gain=gain, rng=seed)
    how = {"steps": steps, "batch_size": 64, "rng": seed}
    fit(net, x[learn], labels[learn], OPTIMIZERS[optimizer](net.parameters(), lr=lr), **how)
    net.eval()
    return net, accuracy(net.forward(x[test]), labels[test])


def on_digits(norm, *, width=32, depth=4, **how):
    return trained(PIXELS, DIGIT, depth * [width], norm, **how)[1]


@conclusion(
    "On this task, with scaled data and a good initialization, there was nothing for a norm to repair.",
    vary=each(norm=["layer", "batch"], width=[16, 64], optimizer=["SGD", "Adam"]),
)
def test_a_norm_changes_little_on_scaled_iris(norm, width, optimizer):
    flowers, species = iris()
    x = (flowers - flowers.mean(axis=0)) / flowers.std(axis=0)
    how = {"optimizer": optimizer, "lr": 0.1 if optimizer == "SGD" else 0.01, "steps": 200}
    means = [
        np.mean([trained(x, species, [width], which, seed=seed, **how)[1] for seed in range(6)])
        for which in (None, norm)
    ]
    return bool(abs(means[1] - means[0]) < 0.05)


@conclusion(
    "With batch norm this network trains at every gain from 0.01 to 30.",
    vary=each(gain=[0.01, 0.1, 1, 30], seed=[1, 2, 3], width=[32, 128]),
)
def test_batch_norm_trains_at_every_gain(gain, seed, width):
    return bool(on_digits("batch", gain=gain, seed=seed, width=width) > 0.4)


@conclusion(
    "Without a norm, in these 120 steps of plain SGD, the gain must be right to within a factor of about two.",
    vary=[
        *each(gain=[0.1, 0.3, 5, 30], seed=[1, 2, 3], fails=[True]),
        *each(gain=[0.7, 1, 1.5, 2], seed=[1, 2, 3], fails=[False]),
    ],
)
def test_without_a_norm_gain_must_be_right(gain, seed, fails):
    return bool((on_digits(None, gain=gain, seed=seed) < 0.4) == fails)


@conclusion(
    "Layer norm fails at gain 0.01 although its forward pass is nearly the same as at gain 1",
    vary=each(seed=[1, 2, 3, 4], lr=[0.1, 0.3]),
)
def test_layer_norm_fails_at_a_tiny_gain(seed, lr):
    return bool(on_digits("layer", gain=0.01, seed=seed, lr=lr) < 0.4)


@conclusion(
    "After this step the activations of all digits point in nearly the same direction. Layer norm cannot subtract "
    "what the digits have in common; batch norm can",
    vary=each(seed=range(4), width=[32, 128]),
)
def test_after_one_long_step_batch_norm_survives(seed, width):
    cosines = {}
    for norm in ("layer", "batch"):
        net = mlp([64, *4 * [width], 10], norm=norm, gain=0.01, rng=seed)
        fit(net, PIXELS[:64], DIGIT[:64], SGD(net.parameters(), lr=0.1), steps=1)
        net.forward(PIXELS[:64])
        cosines[norm] = mean_cosine(net.outputs[-2] + 1e-12)
    return cosines["layer"] > 0.95 and cosines["batch"] < 0.6


@conclusion(
    "In these networks batch norm widens the window of learning rates, under SGD and under Adam.",
    vary=[
        *each(optimizer=["SGD", "Adam"], seed=[1, 2, 3], width=[32, 64], depth=[4], activation=["relu"]),
        *each(optimizer=["SGD", "Adam"], seed=[1], width=[32], depth=[1, 2, 8], activation=["relu"]),
        *each(optimizer=["SGD", "Adam"], seed=[1], width=[32], depth=[4], activation=["tanh"]),
    ],
)
def test_batch_norm_widens_the_window_of_rates(optimizer, seed, width, depth, activation):
    how = {"optimizer": optimizer, "seed": seed, "width": width, "depth": depth, "activation": activation}
    rates = [0.1, 0.3, 1, 3] if optimizer == "SGD" else [0.01, 0.03, 0.1, 0.3, 1]
    learned = {norm: [on_digits(norm, lr=lr, **how) > 0.7 for lr in rates] for norm in (None, "batch")}
    return bool(sum(learned["batch"]) > sum(learned[None]))


@conclusion(
    "Adam rescales every gradient, so at these gains vanishing or huge gradients no longer prevent training.",
    vary=each(gain=[0.1, 0.5, 5, 30], seed=[1, 2, 3]),
)
def test_adam_rescues_bad_gains(gain, seed):
    return bool(on_digits(None, gain=gain, seed=seed, optimizer="Adam", lr=0.01) > 0.4)


@conclusion(
    "With ReLU and a small gain all layers get too small a gradient.",
    vary=each(seed=range(5), width=[32, 128], gain=[0.1, 0.3]),
)
def test_all_layers_get_too_small_a_gradient(seed, width, gain):
    found = []
    for size in (gain, 1):
        net = mlp([64, *4 * [width], 10], gain=size, rng=seed)
        net.backward(cross_entropy(net.forward(PIXELS[:64]), DIGIT[:64]).dlogits)
        linears = [layer for layer in net.layers if isinstance(layer, Linear)]
        found.append(np.array([np.linalg.norm(layer.weight.grad) for layer in linears[:-1]]))
    ratio = found[0] / found[1]
    return bool(ratio.max() < 0.1 and ratio.max() / ratio.min() < 5)


@conclusion(
    "The gain alone makes no unit dead, since it changes no sign; long steps make many units dead.",
    vary=each(seed=[1, 2, 3], gain=[0.3, 3]),
)
def test_long_steps_make_units_dead(seed, gain):
    def dead(net):
        net.forward(PIXELS)
        relus = [i for i, layer in enumerate(net.layers) if isinstance(layer, ReLU)]
        return np.mean([net.outputs[i].max(axis=0) == 0 for i in relus])

    fresh, healthy = (dead(mlp([64, *4 * [32], 10], gain=size, rng=seed)) for size in (gain, 1))
    long_steps = dead(trained(PIXELS, DIGIT, 4 * [32], None, lr=1, seed=seed)[0])
    return bool(fresh == healthy and long_steps > healthy + 0.1)


def reaching_layer_4(norm, activation, gain, width=32, seed=0):
    """Before training: what reaches the fourth activation, for all digits, and what reaches the first."""
    net = mlp([64, *4 * [width], 10], norm=norm, activation=activation, gain=gain, rng=seed)
    net.forward(PIXELS)
    kind = {"relu": ReLU, "tanh": Tanh}[activation]
    places = [i for i, layer in enumerate(net.layers) if isinstance(layer, kind)]
    return net.outputs[places[3] - 1], net.outputs[places[0] - 1]


@conclusion(
    "With a norm, a gain between 0.1 and 10 hardly changes the numbers that reach ReLU or tanh.",
    vary=each(norm=["layer", "batch"], activation=["relu", "tanh"], gain=[0.1, 10], width=[32, 128], seed=[0, 1]),
)
def test_a_norm_hides_the_gain(norm, activation, gain, width, seed):
    found, usual = (reaching_layer_4(norm, activation, g, width, seed)[0].std() for g in (gain, 1))
    return bool(0.98 < found / usual < 1.02)


@conclusion(
    "They become several times as large, and for many of them tanh is nearly flat",
    vary=each(width=[16, 32, 128, 256], seed=[0, 1, 2, 3]),
)
def test_tanh_saturates_at_gain_3(width, seed):
    usual = reaching_layer_4(None, "tanh", 1, width, seed)[0].std()
    found = reaching_layer_4(None, "tanh", 3, width, seed)[0]
    return bool(3 < found.std() / usual < 20 and np.mean(np.abs(found) > 2) > 0.25)
