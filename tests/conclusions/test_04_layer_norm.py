"""Lesson 04: conclusions about one vector, tried with other widths, seeds, data, eps and number formats."""

import numpy as np

from helpers import SGD, Adam, LayerNorm, Linear, ReLU, Sequential, batch_norm, fit, iris, layer_norm, mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import DATA


@conclusion(
    "The other samples in the batch and the other tokens do not matter.",
    vary=each(data=DATA, d=[1, 2, 16, 1024], dtype=[np.float32, np.float64], eps=[1e-12, 1e-5, 1]),
)
def test_a_sample_does_not_depend_on_the_others(data, d, dtype, eps):
    x = data(np.random.default_rng(d), (32, 5, d)).astype(dtype)
    alone = layer_norm(x[:1, :1], eps=eps).y
    return bool(np.allclose(alone, layer_norm(x, eps=eps).y[:1, :1], rtol=1e-6, atol=1e-6))


@conclusion(
    "Layer norm does not notice a shift of all features by one number or, with eps = 0, a positive factor.",
    vary=each(data=DATA, d=[2, 3, 16, 1024], factor=[1e-3, 1, 1e3], shift=[-7, 0, 100], eps=[0, 1e-5, 1]),
)
def test_shift_and_factor_are_not_noticed(data, d, factor, shift, eps):
    x = data(np.random.default_rng(d), (8, d))
    factor = factor if eps == 0 else 1
    y = layer_norm(x, eps=eps).y
    with_factor = layer_norm(factor * x + shift, eps=eps).y
    with_sign = layer_norm(-factor * x + shift, eps=eps).y
    return bool(np.allclose(with_factor, y, atol=1e-6) and np.allclose(with_sign, -y, atol=1e-6))


@conclusion(
    "With gamma 1, beta 0 and eps 0, layer norm removes the component along (1, …, 1) and then moves to radius √d",
    vary=each(data=DATA, d=[2, 3, 16, 1024], seed=range(3)),
)
def test_projection_and_sphere(data, d, seed):
    x = data(np.random.default_rng(seed), (8, d))
    projected = x @ (np.eye(d) - np.full((d, d), 1 / d))
    on_sphere = np.sqrt(d) * projected / np.linalg.norm(projected, axis=1, keepdims=True)
    return bool(np.allclose(layer_norm(x, eps=0).y, on_sphere, atol=1e-6))


@conclusion(
    "All features of a vector are divided by the same number, and one large feature makes that number large.",
    vary=each(data=DATA, d=[8, 64, 4096], seed=range(3)),
)
def test_an_outlier_makes_the_others_small(data, d, seed):
    x = layer_norm(data(np.random.default_rng(seed), d), eps=0).y
    sds = []
    for size in (np.abs(x).max() + 1, 100, 1000):
        x[0] = size
        y = layer_norm(x).y
        if np.abs(y).max() > np.sqrt(d - 1) * (1 + 1e-9):
            return False
        sds.append(y[1:].std())
    return sds[0] > sds[1] > sds[2]


def worst_fit(x, y):
    """The largest fraction of a feature's variance that no gamma and beta restore."""
    residuals = [np.var(a - np.polyval(np.polyfit(b, a, 1), b)) / np.var(a) for a, b in zip(x.T, y.T, strict=True)]
    return max(residuals)


@conclusion(
    "No, each sample lost a mean and a scale of its own",
    vary=each(data=DATA, samples=[3, 10, 200], features=[6, 64, 512], seed=range(3)),
)
def test_layer_norm_is_not_undone(data, samples, features, seed):
    x = data(np.random.default_rng(seed), (samples, features))
    return worst_fit(x, layer_norm(x).y) > 1e-4 and worst_fit(x, batch_norm(x).y) < 1e-6


@conclusion("With one or two samples nothing is lost", vary=each(data=DATA, features=[3, 6, 64], seed=range(3)))
def test_two_samples_are_restored(data, features, seed):
    x = data(np.random.default_rng(seed), (2, features))
    return worst_fit(x, layer_norm(x).y) < 1e-9


@conclusion(
    "Before layer norm, only what a bias adds to all features alike is subtracted.",
    vary=each(data=DATA, features=[3, 64, 512], seed=range(3)),
)
def test_a_bias_before_layer_norm(data, features, seed):
    rng = np.random.default_rng(seed)
    x = data(rng, (32, features))
    bias = rng.normal(size=features)
    y = layer_norm(x, eps=0).y
    rest = layer_norm(x + bias - bias.mean(), eps=0).y
    whole = layer_norm(x + bias, eps=0).y
    return bool(np.allclose(whole, rest, atol=1e-9) and np.abs(whole - y).max() > 0.01)


def growth(gain, use_norm, seed, d):
    """How much a tiny change of the first state grows in fifty steps of the lesson's recurrent network."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(d, d)) * gain / np.sqrt(d)
    state, change, grown = np.zeros(d), rng.normal(size=d), 1.0
    change /= np.linalg.norm(change)
    for _ in range(50):
        x = 0.8 * rng.normal(size=d)
        both = np.stack([state, state + 1e-6 * change]) @ weights + x
        state, nudged = np.tanh(layer_norm(both).y if use_norm else both)
        change = (nudged - state) / 1e-6
        grown *= np.linalg.norm(change)
        change /= np.linalg.norm(change)
    return grown


@conclusion("In this network layer norm stops the explosion at gain 3", vary=each(d=[64, 256], seed=range(5)))
def test_layer_norm_stops_the_explosion(d, seed):
    return growth(3, True, seed, d) < 100 < 1e3 < growth(3, False, seed, d)


@conclusion(
    "At gain 10 the change still grows, but far less than without a norm.", vary=each(d=[64, 256], seed=range(5))
)
def test_it_still_grows_at_a_large_gain(d, seed):
    return bool(1 < growth(10, True, seed, d) < 1e-6 * growth(10, False, seed, d))


@conclusion("Layer norm does not stop the vanishing at gain 1", vary=each(d=[16, 64, 256], seed=range(5)))
def test_it_does_not_stop_the_vanishing(d, seed):
    return growth(1, True, seed, d) < 1e-4


def steps_to_goal(norm, lr, seed, width, optimizer=SGD):
    x, labels = iris()
    net = mlp([4, width, width, 3], norm=norm, rng=seed)
    losses = fit(net, x, labels, optimizer(net.parameters(), lr=lr), steps=400, batch_size=32, rng=seed).loss
    below = np.convolve(losses, np.ones(10) / 10, "valid") < 0.25
    return int(below.argmax()) if below.any() else 400


@conclusion(
    "in this network, trained by plain SGD, layer norm is slower at the small learning rate",
    vary=each(lr=[0.015, 0.02, 0.03], width=[16, 32], seed=range(4)),
    least=21,
)
def test_layer_norm_can_be_slower(lr, width, seed):
    with_norm, without = (steps_to_goal(norm, lr, seed, width) for norm in ("layer", None))
    return with_norm >= without and without < 400


@conclusion(
    "At the large one it reaches the goal, but the plain network does not.",
    vary=each(lr=[0.3], width=[16, 32], seed=range(4)),
    least=7,
)
def test_layer_norm_reaches_the_goal_at_large_rates(lr, width, seed):
    return steps_to_goal("layer", lr, seed, width) < steps_to_goal(None, lr, seed, width) == 400


@conclusion(
    "With Adam at a rate of 0.003, layer norm is faster for most seeds, not for all.",
    vary=each(width=[16, 32], seed=range(12)),
    least=18,
)
def test_layer_norm_is_mostly_faster_with_adam(width, seed):
    with_norm, without = (steps_to_goal(norm, 0.003, seed, width, Adam) for norm in ("layer", None))
    return with_norm < without


HEALTHY = np.array([25.1, 24.4, 25.8, 25.3, 24.7, 25.6, 24.9, 25.2])
ONE_HOT = HEALTHY + 60 * (np.arange(8) == 2)
BROKEN = np.where(np.arange(8) == 7, -3276.8, ONE_HOT)


def packs(kind, rng, n=1000):
    cells = rng.uniform(15, 35, size=(n, 1)) + rng.normal(0, 0.5, size=(n, 8))
    if kind == 1:  # one cell hot
        cells[np.arange(n), rng.integers(8, size=n)] += rng.uniform(20, 60, size=n)
    return cells + (rng.uniform(40, 60, size=(n, 1)) if kind == 2 else 0)


def alarms(first, kinds, seed, width=16, rate=0.01, scale=lambda x: x):
    """A function from packs to the probability of an alarm: the lesson's network, with or without its norm in front."""
    rng = np.random.default_rng(seed)
    hidden, last = Linear(8, width, rng=rng), Linear(width, 2, rng=rng)
    norm = {"norm": [LayerNorm(8), hidden], "linear": [hidden, LayerNorm(width)], "no norm": [hidden]}[first]
    network = Sequential(*norm, ReLU(), last)
    x = scale(np.concatenate([packs(kind, rng) for kind in kinds]))
    labels = np.repeat(np.minimum(kinds, 1), 1000)
    fit(network, x, labels, Adam(network.parameters(), rate), steps=400, batch_size=64, rng=seed)

    def probability(cells):
        scores = network.forward(scale(np.atleast_2d(cells)))
        return 1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))

    return probability


@conclusion(
    "The alarm stays silent when all cells are hot or uneven, and when a broken thermometer hides a hot one",
    vary=each(width=[16, 64], seed=range(10)),
    least=19,
)
def test_the_alarm_is_silent(width, seed):
    alarm = alarms("norm", [0, 1], seed, width)
    healthy, one, *silent = alarm(np.stack([HEALTHY, ONE_HOT, HEALTHY + 60, 25 + 40 * (HEALTHY - 25), BROKEN]))
    return bool(one > 0.5 and max(healthy, *silent) < 0.5)


@conclusion(
    "Trained with overheated packs, the alarm rings as often for healthy packs as for overheated ones.",
    vary=each(width=[16, 256], rate=[0.001, 0.01], seed=range(5)),
)
def test_more_data_do_not_help(width, rate, seed):
    alarm = alarms("norm", [0, 1, 2], seed, width, rate)
    healthy = packs(0, np.random.default_rng(100 + seed))
    return bool(np.allclose(alarm(healthy), alarm(healthy + 60), atol=1e-6))


@conclusion(
    "Put a linear layer before layer norm: its weights turn a common shift into a pattern",
    vary=each(width=[16, 64], rate=[0.003, 0.01], seed=range(10)),
    least=36,
)
def test_a_linear_layer_before_the_norm_sees_the_shift(width, rate, seed):
    alarm = alarms("linear", [0, 1, 2], seed, width, rate)
    healthy, *faults = alarm(np.stack([HEALTHY, ONE_HOT, HEALTHY + 60, BROKEN]))
    return bool(healthy < 0.5 < min(faults))


@conclusion(
    "A factor behind a linear layer shows only through a bias, and no shift shows if all sums of weights are equal",
    vary=each(width=[4, 64], seed=range(5)),
)
def test_what_a_linear_layer_still_hides(width, seed):
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=(8, width)), rng.normal(size=(5, 8))
    equal_sums = w - w.mean(axis=0)

    def norm(z):
        return layer_norm(z, eps=0).y

    factor = np.allclose(norm(3 * x @ w), norm(x @ w)) and not np.allclose(
        norm(3 * x @ w + 1 * w[0]), norm(x @ w + w[0])
    )
    shift = np.allclose(norm((x + 60) @ equal_sums), norm(x @ equal_sums))
    return bool(factor and shift and not np.allclose(norm((x + 60) @ w), norm(x @ w)))


@conclusion(
    "To bring measurements to one scale, subtract and divide by fixed numbers per feature, from the training data.",
    vary=each(width=[16, 64], seed=range(10)),
    least=19,
)
def test_fixed_numbers_keep_the_level(width, seed):
    known = np.concatenate([packs(kind, np.random.default_rng(seed)) for kind in (0, 1, 2)])
    alarm = alarms("no norm", [0, 1, 2], seed, width, scale=lambda x: (x - known.mean(axis=0)) / known.std(axis=0))
    healthy, *faults = alarm(np.stack([HEALTHY, ONE_HOT, HEALTHY + 60]))
    return bool(healthy < 0.5 < min(faults))
