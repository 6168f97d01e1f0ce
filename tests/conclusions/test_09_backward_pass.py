"""Lesson 09: conclusions about gradients, tried with other sizes, seeds, losses, norms and optimizers."""

import numpy as np

from helpers import SGD, AdamW, Parameter, accuracy, batch_norm, layer_norm, mlp
from helpers.gradients import batch_norm_backward, layer_norm_backward, numerical_gradient, rms_norm_backward
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, OPTIMIZERS, train

pixels, WithBackward, ways = from_lesson("09", "pixels", "WithBackward", "ways")
framework, yours, with_p, with_q = ways.values()
BACKWARD = {"batch norm": batch_norm_backward, "layer norm": layer_norm_backward, "RMSNorm": rms_norm_backward}


@conclusion(
    "a central difference with a step near 1e−5 gives about ten digits of a slope",
    vary=each(size=[4, 6, 64, 512], seed=range(3), scale=[0.5, 1, 4]),
)
def test_how_many_digits_a_central_difference_gives(size, seed, scale):
    dy, x = np.random.default_rng(seed).normal(size=(2, size)) * [[1], [scale]]
    exact = layer_norm_backward(dy, x).dx
    found = numerical_gradient(lambda x: np.sum(dy * layer_norm(x).y), x)
    return 8 < -np.log10(np.linalg.norm(found - exact) / np.linalg.norm(exact)) < 13


def network(backward, activation, width, depth, seed):
    return mlp([64, *[width] * depth, 10], lambda features: WithBackward(features, backward), activation, rng=seed)


def last_losses(activation, width, depth, seed, optimizer="SGD", rate=0.3, ways=(framework, yours, with_p)):
    """For each way back: the mean loss of the last 20 of 150 steps; what it then reads of the other images."""
    nets = [network(backward, activation, width, depth, seed) for backward in ways]
    how = {"steps": 150, "batch_size": 64, "seed": seed, "x": pixels}
    losses = [train(net, optimizer, rate, slice(1000), **how)[-20:].mean() for net in nets]
    return losses, [accuracy(net.eval().forward(pixels[1000:]), KINDS[1000:]) for net in nets]


@conclusion(
    "With batch norm before ReLU your line ended with the larger loss, and with P it read as many digits",
    vary=each(width=[32, 128], depth=[2, 4, 8], optimizer=["SGD", "Adam"], seed=range(2)),
)
def test_your_line_ends_with_the_larger_loss(width, depth, optimizer, seed):
    rate = {"SGD": 0.3, "Adam": 0.01}[optimizer]
    (full, approximate, _), (right, _, right_p) = last_losses("relu", width, depth, seed, optimizer, rate)
    return full < approximate and abs(right - right_p) < 0.04


@conclusion("At a rate of 0.1 Q alone lowered the loss", vary=each(width=[32, 128], depth=[2, 4, 8], seed=range(2)))
def test_the_other_term_alone_helps_at_a_smaller_rate(width, depth, seed):
    (without, with_it), _ = last_losses("relu", width, depth, seed, rate=0.1, ways=(yours, with_q))
    return with_it < without


@conclusion(
    "They are nearly the same",
    vary=each(width=[32, 128], depth=[2, 8], rate=[0.1, 0.3], seed=range(3)),
)
def test_with_tanh_no_loss_curve_shows_it(width, depth, rate, seed):
    full, approximate = last_losses("tanh", width, depth, seed, rate=rate, ways=(framework, yours))[0]
    return abs(full - approximate) < 0.15


@conclusion(
    "P takes most of the hidden bias out of the gradient; Q leaves it in",
    vary=each(width=[32, 128], depth=[3, 8, 16], seed=range(4)),
)
def test_your_line_trains_a_hidden_bias(width, depth, seed):
    chosen = np.random.default_rng(seed).permutation(len(pixels))[:64]
    given = {"pixels": pixels[chosen], "kinds": KINDS[chosen]}
    hidden_bias = from_lesson("09", "hidden_bias", network=lambda *how: network(*how, width, depth, seed), **given)
    full, approximate, p, q = map(hidden_bias, ways.values())
    without, within = max(full.max(), p.max()), min(approximate.mean(), q.mean())
    return bool(without < 0.25 < within and hidden_bias(yours, "tanh").mean() < 0.15)


@conclusion(
    "So a norm can multiply a gradient by up to 1/√eps",
    vary=each(norm=list(BACKWARD), eps=[1e-8, 1e-5, 0.1], size=[0, 1e-4, 1e-2, 1], seed=[0, 1]),
)
def test_eps_bounds_the_gain_of_the_backward_pass(norm, eps, size, seed):
    dy, x = np.random.default_rng(seed).normal(size=(2, 8, 5))
    dx = BACKWARD[norm](dy, size * x, eps=eps).dx
    gain = np.linalg.norm(dx) / np.linalg.norm(dy) * np.sqrt(eps)
    return bool(gain <= 1 + 1e-9 and (size > 0 or gain > 0.5))


def losses(w, optimizer, rate, x, t, norm, kind, steps):
    """The losses of a weight before a norm: batch norm over the samples, layer norm over the outputs, eps 0."""
    weight = Parameter(w)
    rule = OPTIMIZERS[optimizer]([weight], lr=rate)
    normalize = batch_norm if norm == "batch norm" else layer_norm
    found = []
    for _ in range(steps):
        z = x @ weight.value
        y = normalize(z, eps=0).y
        if kind == "squared distance":
            loss, dy = (y - t) ** 2, 2 * (y - t) / t.size
        else:
            loss, dy = np.log1p(np.exp(-t * y)), -t / (1 + np.exp(t * y)) / t.size
        weight.grad = x.T @ BACKWARD[norm](dy, z, eps=0).dx
        found.append(np.mean(loss))
        rule.step()
    return np.array(found)


@conclusion(
    "plain SGD turns the weight in proportion to η / |w|², Adam in proportion to η / |w|",
    vary=each(
        optimizer=["SGD", "Adam"],
        norm=["batch norm", "layer norm"],
        kind=["squared distance", "logistic loss"],
        rate=[0.003, 0.1, 1],
        factor=[0.1, 30],
        seed=[0, 1],
    ),
)
def test_the_effective_rate(optimizer, norm, kind, rate, factor, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(64, 5)) * rng.uniform(0.5, 3, 5)
    t = np.sign(x @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(64, 4)))
    w = rng.normal(size=(5, 4))
    power, steps, tolerance = {"SGD": (2, 60, 1e-6), "Adam": (1, 30, 1e-4)}[optimizer]
    one, other = (losses(f * w, optimizer, f**power * rate, x, t, norm, kind, steps) for f in (1, factor))
    return np.allclose(one, other, atol=tolerance)


def late_length(make, features, factor, seed, steps=3000):
    """|w| in the last thousand steps of pure noise, and G."""
    start = np.random.default_rng(seed).normal(size=(features, 1))
    length, _, size = from_lesson("09", "train_with_decay")(factor * start / np.linalg.norm(start), make, steps)
    return np.mean(length[-1000:] ** 4) ** 0.25, size[0]


@conclusion(
    "SGD: |w|⁴ = η G / (2 λ)", vary=each(features=[5, 40], factor=[0.3, 3], rate=[0.1, 0.03], decay=[0.03], seed=[0, 1])
)
def test_the_balance_of_sgd(features, factor, rate, decay, seed):
    steps = int(2000 + 2 / (rate * decay))
    length, size = late_length(lambda p: SGD(p, lr=rate, weight_decay=decay), features, factor, seed, steps)
    return bool(0.85 < length / (rate * size / (2 * decay)) ** 0.25 < 1.15)


@conclusion("AdamW: |w|² = η d / (2 λ)", vary=each(features=[20, 100], factor=[0.1, 3], decay=[0.2, 0.5], seed=[0, 1]))
def test_the_balance_of_adamw(features, factor, decay, seed):
    length, _ = late_length(lambda p: AdamW(p, lr=0.01, weight_decay=decay, betas=(0.9, 0.95)), features, factor, seed)
    return bool(0.85 < length / np.sqrt(0.01 * features / (2 * decay)) < 1.15)
