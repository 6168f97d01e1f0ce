"""Lesson 11's conclusions, tried with other seeds, widths, rates, optimizers and activations."""

import numpy as np

from helpers import SGD, Adam, AdamW, Linear, ReLU, Tanh, accuracy, cross_entropy, digits, fit, iris, mean_cosine, mlp
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
    "At rate 0.1 batch norm trains at every gain from 0.01 to 30.",
    vary=each(gain=[0.01, 0.1, 1, 30], seed=[1, 2, 3], width=[32, 128]),
)
def test_batch_norm_trains_at_every_gain(gain, seed, width):
    return bool(on_digits("batch", gain=gain, seed=seed, width=width) > 0.4)


def best_of_decades(norm, gain, seed, optimizer="SGD", low=-6, high=2, **how):
    found = {
        10.0**k: on_digits(norm, depth=3, gain=gain, lr=10.0**k, seed=seed, optimizer=optimizer, **how)
        for k in range(low, high)
    }
    return max(found.values())


@conclusion(
    "At its own best rate the network without a norm trains at gains of 1 and more, and not at 0.1 and less.",
    vary=[
        *each(gain=[1, 3, 10, 30], trains=[True], seed=[0, 1, 2, 3]),
        *each(gain=[0.03, 0.1], trains=[False], seed=[0, 1]),
    ],
)
def test_without_a_norm_large_gains_only_had_the_wrong_rate(gain, trains, seed):
    return bool((best_of_decades(None, gain, seed) > 0.4) == trains)


@conclusion("gain 0.3 trains at rate 0.3 or 0.5", vary=each(seed=range(8)))
def test_between_the_decades_gain_a_third_trains(seed):
    return max(on_digits(None, depth=3, gain=10**-0.5, lr=lr, seed=seed) for lr in (0.3, 0.5)) > 0.4


@conclusion(
    "With patience gain 0.3 trains at rate 0.1, and gain 0.03 does not in ten times as many steps.",
    vary=each(gain=[0.3, 0.03], seed=[0, 1, 2]),
)
def test_patience_trains_gain_a_third(gain, seed):
    return bool((on_digits(None, depth=3, gain=gain, seed=seed, lr=0.1, steps=1200) > 0.8) == (gain == 0.3))


@conclusion(
    "At its own best rate layer norm trains at every gain from 0.01 to 30.",
    vary=each(gain=[0.01, 0.1, 1, 30], seed=[0, 1, 2], width=[32, 96]),
)
def test_layer_norm_trains_at_every_gain(gain, seed, width):
    return bool(best_of_decades("layer", gain, seed, width=width) > 0.4)


@conclusion(
    "Weights a times as long before a norm need a rate a² times as large under SGD, and a times under Adam",
    vary=each(norm=["layer", "batch", "rms"], gain=[0.01, 0.1], seed=[0, 1], optimizer=["SGD", "Adam"]),
)
def test_the_rate_goes_with_the_square(norm, gain, seed, optimizer):
    power, usual = (2, 0.1) if optimizer == "SGD" else (1, 0.001)
    how = {"depth": 3, "seed": seed, "optimizer": optimizer}
    found = [on_digits(norm, gain=g, lr=usual * g**power, **how) for g in (gain, 1)]
    too_small = on_digits(norm, gain=gain, lr=usual * gain**power / 30, **how)
    return bool(found[0] > 0.6 and found[1] > 0.6 and too_small < 0.5)


@conclusion(
    "Batch norm trains at more rates than layer norm, and layer norm at more than no norm",
    vary=each(gain=[0.01, 0.1], seed=[0, 1, 2]),
)
def test_batch_norm_forgives_most(gain, seed):
    def count(norm):
        rates = 10.0 ** np.arange(-6, 2)
        return sum(on_digits(norm, depth=3, gain=gain, lr=lr, seed=seed) > 0.4 for lr in rates)

    return bool(count("batch") > count("layer") > count(None))


def decayed(norm, which, seed, decay=5, rate=0.01):
    """Accuracy under AdamW whose decay touches everything, or the matrices only."""
    learn, test = np.split(np.random.default_rng(0).permutation(1797), [1198])
    net = mlp([64, *3 * [32], 10], norm=norm, rng=seed)
    matrices = [p for p in net.parameters() if p.value.ndim == 2 or which == "all"]
    rest = [p for p in net.parameters() if not any(p is m for m in matrices)]
    parts = [AdamW(matrices, rate, weight_decay=decay)] + ([Adam(rest, rate)] if rest else [])

    class Both:
        parameters = net.parameters()

        def step(self):
            for part in parts:
                part.step()

    fit(net, PIXELS[learn], DIGIT[learn], Both(), steps=120, batch_size=32, rng=seed)
    net.eval()
    return accuracy(net.forward(PIXELS[test]), DIGIT[test])


@conclusion(
    "The fall of layer norm under decay was gamma's, not the weights'.",
    vary=each(seed=range(6), decay=[5]),
)
def test_a_strong_decay_hurts_layer_norm_through_gamma(seed, decay):
    return bool(decayed("layer", "matrices", seed, decay) > decayed("layer", "all", seed, decay) + 0.03)


def loss_at_width(width, rate, transfer, seed, steps=60):
    net = mlp([64, width, width, 10], norm="layer", rng=seed)
    wide = [layer.weight for layer in net.layers if isinstance(layer, Linear)][1:]
    rest = [p for p in net.parameters() if not any(p is w for w in wide)]
    shrink = 32 / width if transfer else 1
    wide[-1].value = wide[-1].value * np.sqrt(shrink)
    parts = [Adam(wide, rate * shrink), Adam(rest, rate)]

    class Both:
        parameters = net.parameters()

        def step(self):
            for part in parts:
                part.step()

    return fit(net, PIXELS[:1198], DIGIT[:1198], Both(), steps=steps, batch_size=32, rng=seed).loss[-10:].mean()


@conclusion(
    "Under Adam the best rate falls with the width, and stays with µP",
    vary=each(seed=range(4), steps=[60, 150]),
)
def test_rates_transfer_over_width_with_mup(seed, steps):
    at_32, usual, mup = (
        loss_at_width(w, 0.01, t, seed, steps) / loss_at_width(w, 0.003, t, seed, steps)
        for w, t in [(32, False), (256, False), (256, True)]
    )
    return bool(at_32 < 1 < usual and mup < 1)


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
    "Adam without a norm trained at every gain, each at its own best rate.",
    vary=each(gain=[0.01, 0.1, 0.3, 1, 10, 30], seed=[0, 1, 2]),
    least=17,
)
def test_adam_trains_at_every_gain(gain, seed):
    return bool(best_of_decades(None, gain, seed, optimizer="Adam", low=-5, high=1) > 0.4)


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
