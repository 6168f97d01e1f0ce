"""Lesson 04: conclusions about one vector, tried with other widths, seeds, data, eps and number formats."""

import numpy as np

from helpers import SGD, batch_norm, fit, iris, layer_norm, mlp
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


@conclusion("With one or two samples, nothing", vary=each(data=DATA, features=[3, 6, 64], seed=range(3)))
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


def steps_to_goal(norm, lr, seed, width):
    x, labels = iris()
    net = mlp([4, width, width, 3], norm=norm, rng=seed)
    losses = fit(net, x, labels, SGD(net.parameters(), lr=lr), steps=400, batch_size=32, rng=seed).loss
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
