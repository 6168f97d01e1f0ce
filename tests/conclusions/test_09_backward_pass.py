"""Lesson 09: conclusions about gradients, tried with other sizes, seeds, losses, norms and optimizers."""

import numpy as np

from helpers.datasets import digits
from helpers.gradients import batch_norm_backward, layer_norm_backward, numerical_gradient, rms_norm_backward
from helpers.layers import BatchNorm, Linear, Parameter
from helpers.nets import SGD, Adam, AdamW, cross_entropy, fit, mlp
from helpers.norms import batch_norm, layer_norm
from tests.conclusions.conclusion import conclusion, each


def squares(y, rng):
    return y - rng.normal(size=y.shape)


def softmax_head(y, rng):
    weight = rng.normal(size=(y.shape[1], 10)) / np.sqrt(y.shape[1])
    found = cross_entropy(np.maximum(y, 0) @ weight, rng.integers(10, size=len(y)))
    return found.dlogits @ weight.T * (y > 0)


LOSSES = {"squared distance": squares, "softmax head": softmax_head}


@conclusion(
    "a central difference with a step near 1e−5 gives about ten digits of a slope",
    vary=each(size=[4, 6, 64, 512], seed=range(3), scale=[0.5, 1, 4]),
)
def test_how_many_digits_a_central_difference_gives(size, seed, scale):
    rng = np.random.default_rng(seed)
    dy, x = rng.normal(size=(2, size))
    x = scale * x
    exact = layer_norm_backward(dy, x).dx
    found = numerical_gradient(lambda x: np.sum(dy * layer_norm(x).y), x)
    return 8 < -np.log10(np.linalg.norm(found - exact) / np.linalg.norm(exact)) < 13


@conclusion(
    "In training mode the gradient through batch norm involves the whole batch.",
    vary=each(n=[3, 5, 64], features=[1, 8], loss=list(LOSSES), seed=range(3)),
)
def test_all_samples_get_a_gradient(n, features, loss, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    dy = LOSSES[loss](batch_norm(x).y, rng)
    dy[1:] = 0
    if not dy[0].any():
        dy[0] = 1  # ReLU can silence the only sample
    return bool(batch_norm_backward(dy, x).dx.any(axis=1).all())


@conclusion(
    "Here all outputs are right, and the gradient is wrong.",
    vary=each(n=[8, 32, 1024], loss=list(LOSSES), seed=range(3)),
)
def test_detached_statistics_give_another_gradient(n, loss, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8))
    y, _, var = batch_norm(x)
    dy = LOSSES[loss](y, rng)
    full = batch_norm_backward(dy, x).dx
    return bool(np.linalg.norm(dy / np.sqrt(var + 1e-5) - full) > 0.03 * np.linalg.norm(full))


class Obvious(BatchNorm):
    """Batch norm whose backward pass counts mean and variance as constants."""

    def _backward(self, dy, kept):
        super()._backward(dy, kept)
        return dy * self.gamma.value / np.sqrt(kept[0].var(axis=0) + self.eps)


OPTIMIZERS = {"SGD": (SGD, 0.3), "Adam": (Adam, 0.01)}


def digits_in_rows():
    x = digits().x.reshape(-1, 64)
    return (x - x.mean()) / x.std(), digits().labels


def last_losses(activation, width, depth, optimizer, seed, rate=None):
    """The mean loss of the last 20 of 150 steps: with the framework's gradient, with the obvious line."""
    x, labels = digits_in_rows()
    make, usual = OPTIMIZERS[optimizer]
    found = []
    for norm in (BatchNorm, Obvious):
        net = mlp([64, *[width] * depth, 10], norm, activation, rng=seed)
        how = {"steps": 150, "batch_size": 64, "rng": seed}
        run = fit(net, x[:1000], labels[:1000], make(net.parameters(), lr=rate or usual), **how)
        found.append(run.loss[-20:].mean())
    return found


@conclusion(
    "With batch norm before ReLU the obvious line ended with the larger loss",
    vary=each(width=[32, 128], depth=[2, 4, 8], optimizer=list(OPTIMIZERS), seed=range(2)),
)
def test_the_obvious_line_ends_with_the_larger_loss(width, depth, optimizer, seed):
    full, obvious = last_losses("relu", width, depth, optimizer, seed)
    return bool(full < obvious)


@conclusion(
    "They are nearly the same",
    vary=each(width=[32, 128], depth=[2, 8], rate=[0.1, 0.3], seed=range(3)),
)
def test_with_tanh_no_loss_curve_shows_it(width, depth, rate, seed):
    full, obvious = last_losses("tanh", width, depth, "SGD", seed, rate)
    return bool(abs(full - obvious) < 0.15)


def hidden_bias(norm, activation, width, depth, seed):
    """The part of each weight's first gradient along the mean input, without the first and the last layer."""
    x, labels = digits_in_rows()
    chosen = np.random.default_rng(seed).permutation(len(x))[:64]
    net = mlp([64, *[width] * depth, 10], norm, activation, rng=seed)
    logits = net.forward(x[chosen])
    z, found = x[chosen], []
    net.zero_grad()
    net.backward(cross_entropy(logits, labels[chosen]).dlogits)
    for layer in net.layers:
        if isinstance(layer, Linear):
            mean, grad = z.mean(axis=0), layer.weight.grad
            found.append(np.sum((grad @ mean) ** 2) / np.sum(mean**2) / np.sum(grad**2))
        z = layer.forward(z)
    return np.array(found[1:-1])


@conclusion(
    "With ReLU the obvious line trains a hidden bias, with tanh hardly",
    vary=each(width=[32, 128], depth=[3, 8, 16], seed=range(4)),
)
def test_the_obvious_line_trains_a_hidden_bias(width, depth, seed):
    full, obvious = (hidden_bias(norm, "relu", width, depth, seed) for norm in (BatchNorm, Obvious))
    tanh = hidden_bias(Obvious, "tanh", width, depth, seed)
    return bool(full.max() < 0.25 < obvious.mean() and tanh.mean() < 0.15)


@conclusion(
    "b is far away, and the loss is what it was",
    vary=each(n=[3, 5, 64], gamma=[0.5, 2], rate=[0.01, 1], seed=range(3)),
)
def test_a_bias_runs_away(n, gamma, rate, seed):
    rng = np.random.default_rng(seed)
    x, target = rng.normal(size=(2, n))
    b, losses = 0.0, []
    for _ in range(200):
        y = gamma * batch_norm((x + b)[:, None]).y[:, 0]
        losses.append(np.sum((y - target) ** 2) / 2)
        b -= rate * np.sum((y - target) * gamma / np.sqrt((x + b).var() + 1e-5))
    return bool(abs(b) > 190 * rate * abs(gamma * target.sum() / x.std()) * 0.99 and np.ptp(losses) < 1e-6)


@conclusion(
    "So a norm can multiply a gradient by up to 1/√eps",
    vary=each(
        norm=["batch norm", "layer norm", "RMSNorm"], eps=[1e-8, 1e-5, 0.1], size=[0, 1e-4, 1e-2, 1], seed=[0, 1]
    ),
)
def test_eps_bounds_the_gain_of_the_backward_pass(norm, eps, size, seed):
    rng = np.random.default_rng(seed)
    dy, x = rng.normal(size=(2, 8, 5))
    backward = {"batch norm": batch_norm_backward, "layer norm": layer_norm_backward, "RMSNorm": rms_norm_backward}[
        norm
    ]
    dx = backward(dy, size * x, eps=eps).dx
    gain = np.linalg.norm(dx) / np.linalg.norm(dy) * np.sqrt(eps)
    return bool(gain <= 1 + 1e-9 and (size > 0 or gain > 0.5))


def loss_and_gradient(w, x, t, norm="batch norm", kind="squared distance"):
    """A weight before a norm; eps is 0. Layer norm runs over the outputs of a matrix, batch norm over the samples."""
    z = x @ w
    normalize, backward = (
        (batch_norm, batch_norm_backward) if norm == "batch norm" else (layer_norm, layer_norm_backward)
    )
    y = normalize(z, eps=0).y
    if kind == "squared distance":
        loss, dy = np.mean((y - t) ** 2), 2 * (y - t) / t.size
    else:
        loss, dy = np.mean(np.log1p(np.exp(-t * y))), -t / (1 + np.exp(t * y)) / t.size
    return loss, x.T @ backward(dy, z, eps=0).dx


def train(w, make, x, t, steps=60, **more):
    weight = Parameter(w)
    changing = make([weight])
    losses = []
    for _ in range(steps):
        loss, weight.grad = loss_and_gradient(weight.value, x, t, **more)
        losses.append(loss)
        changing.step()
    return np.array(losses), weight.value


def problem(features, outputs, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(64, features)) * rng.uniform(0.5, 3, features)
    t = np.sign(x @ rng.normal(size=(features, outputs)) + 0.5 * rng.normal(size=(64, outputs)))
    return x, t, rng.normal(size=(features, outputs))


SETTINGS = each(
    norm=["batch norm", "layer norm"],
    kind=["squared distance", "logistic loss"],
    rate=[0.003, 0.1, 1],
    factor=[0.1, 30],
    seed=[0, 1],
)


@conclusion("plain SGD turns the weight in proportion to η / |w|²", vary=SETTINGS)
def test_the_effective_rate_of_sgd(norm, kind, rate, factor, seed):
    x, t, w = problem(5, 4, seed)
    one = train(w, lambda p: SGD(p, lr=rate), x, t, norm=norm, kind=kind)[0]
    other = train(factor * w, lambda p: SGD(p, lr=factor**2 * rate), x, t, norm=norm, kind=kind)[0]
    return bool(np.allclose(one, other, atol=1e-6))


@conclusion("Adam in proportion to η / |w|", vary=SETTINGS)
def test_the_effective_rate_of_adam(norm, kind, rate, factor, seed):
    x, t, w = problem(5, 4, seed)
    one = train(w, lambda p: Adam(p, lr=rate), x, t, norm=norm, kind=kind, steps=30)[0]
    other = train(factor * w, lambda p: Adam(p, lr=factor * rate), x, t, norm=norm, kind=kind, steps=30)[0]
    return bool(np.allclose(one, other, atol=1e-4))


@conclusion(
    "So a step of plain SGD never shortens w",
    vary=each(norm=["batch norm"], rate=[0.001, 1, 1000], features=[2, 50], seed=range(3)),
)
def test_a_step_of_sgd_never_shortens_the_weight(norm, rate, features, seed):
    x, t, w = problem(features, 1, seed)
    return bool(np.linalg.norm(train(w, lambda p: SGD(p, lr=rate), x, t, steps=1)[1]) >= np.linalg.norm(w))


def late_length(make, features, factor, seed, steps=3000):
    """|w| in the last thousand steps of pure noise, and G."""
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(features, 1))
    weight = Parameter(factor * start / np.linalg.norm(start))
    changing = make([weight])
    lengths, sizes = [], []
    for _ in range(steps):
        x, t = rng.normal(size=(16, features)), rng.normal(size=(16, 1))
        weight.grad = loss_and_gradient(weight.value, x, t)[1]
        sizes.append(np.sum(weight.grad**2) * np.sum(weight.value**2))
        changing.step()
        lengths.append(np.linalg.norm(weight.value))
    return np.mean(np.power(lengths[2000:], 4)) ** 0.25, np.mean(sizes[1000:])


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
