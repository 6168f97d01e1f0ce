"""Lesson 15's conclusions, tried with other seeds, widths, rates and optimizers."""

import numpy as np

from helpers.datasets import digits, matrix_with, mean_cosine
from helpers.gradients import instance_norm_backward
from helpers.layers import BatchNorm, Layer, Linear, Parameter, ReLU, Residual, Sequential
from helpers.nets import SGD, Adam, accuracy, cross_entropy, fit, mlp
from helpers.norms import instance_norm
from tests.conclusions.conclusion import conclusion, each

DRAWINGS, DIGIT = digits()
PIXELS = DRAWINGS.reshape(-1, 64)
LEARN, TEST = np.split(np.random.default_rng(0).permutation(1797), [1198])
CENTERED = PIXELS - PIXELS[LEARN].mean(axis=0)


OPTIMIZERS = {"SGD": SGD, "Adam": Adam}


def trained(net, *, lr, steps, optimizer="SGD", x=PIXELS, seed=0):
    fit(
        net,
        x[LEARN],
        DIGIT[LEARN],
        OPTIMIZERS[optimizer](net.parameters(), lr=lr),
        steps=steps,
        batch_size=64,
        rng=seed,
    )
    net.eval()
    return accuracy(net.forward(x[TEST]), DIGIT[TEST])


def gradients(net, rows):
    net.zero_grad()
    net.backward(cross_entropy(net.forward(PIXELS[rows]), DIGIT[rows]).dlogits)
    return [p.grad for p in net.parameters()]


@conclusion(
    "In a plain ReLU network with He's weights, before training, the gradient keeps its size without a norm and grows "
    "with batch norm.",
    vary=each(width=[64, 256], batch=[64, 256], seed=[1, 2]),
)
def test_the_gradient_grows_with_batch_norm(width, batch, seed):
    growth = {}
    for norm in (None, "batch"):
        net = mlp([64, *30 * [width], 10], norm=norm, rng=seed)
        gradients(net, LEARN[:batch])
        relus = [i for i, layer in enumerate(net.layers) if isinstance(layer, ReLU)]
        sizes = [np.linalg.norm(net.gradients[i]) for i in relus]
        growth[norm] = (sizes[1] / sizes[-1]) ** (1 / 28)
    return bool(0.9 < growth[None] < 1.1 and 1.17 < growth["batch"] < 1.27)


@conclusion(
    "Without a norm it decides between fading and growing; with a norm it changes almost nothing",
    vary=each(norm=[None, "layer", "batch"], width=[32, 256], seed=[1, 2]),
)
def test_a_norm_divides_the_gain_out(norm, width, seed):
    growth = {}
    for gain in (0.7, 1, 1.4):
        net = mlp([64, *30 * [width], 10], norm=norm, gain=gain, rng=seed)
        gradients(net, LEARN[:64])
        relus = [i for i, layer in enumerate(net.layers) if isinstance(layer, ReLU)]
        sizes = [np.linalg.norm(net.gradients[i]) for i in relus]
        growth[gain] = (sizes[1] / sizes[-1]) ** (1 / 28)
    if norm is None:
        return bool(growth[0.7] < 0.8 and growth[1.4] > 1.25)
    return bool(0.99 < growth[0.7] / growth[1] < 1.01 and 0.99 < growth[1.4] / growth[1] < 1.01)


@conclusion(
    "In a deep plain ReLU network without a norm, or with layer norm, the activations of all digits end up pointing "
    "in nearly the same direction.",
    vary=each(norm=[None, "layer", "batch"], width=[64, 256], seed=[1, 2]),
)
def test_only_batch_norm_keeps_digits_apart(norm, width, seed):
    net = mlp([64, *30 * [width], 10], norm=norm, rng=seed)
    net.forward(PIXELS[LEARN[:64]])
    cosine = mean_cosine(net.outputs[-2])
    return cosine < 0.5 if norm == "batch" else cosine > 0.85


@conclusion(
    "Forty layers train here with tanh and orthogonal weights.",
    vary=[
        *each(seed=[1, 2], optimizer=["SGD"], lr=[0.03, 0.05, 0.1], width=[32]),
        *each(seed=[1, 2], optimizer=["Adam"], lr=[0.001, 0.003], width=[32]),
        {"seed": 1, "optimizer": "SGD", "lr": 0.05, "width": 64},
    ],
    least=10,  # at a rate of 0.1 not every seed
)
def test_orthogonal_tanh_trains(seed, optimizer, lr, width):
    rng = np.random.default_rng(seed)
    net = mlp([64, *40 * [width], 10], activation="tanh", rng=seed)
    for layer in [layer for layer in net.layers if isinstance(layer, Linear)][:-1]:
        outputs, inputs = layer.weight.value.shape
        layer.weight.value = matrix_with(np.ones(max(outputs, inputs)), rng)[:outputs, :inputs]
    return trained(net, lr=lr, steps=150, optimizer=optimizer, x=CENTERED, seed=seed) > 0.7


@conclusion(
    "ReLU networks of 40 layers do not train here with orthogonal weights in 150 steps of SGD, at any of three rates.",
    vary=each(lr=[0.03, 0.1, 0.3], seed=[1, 2]),
)
def test_orthogonal_relu_does_not_train(lr, seed):
    rng = np.random.default_rng(seed)
    net = mlp([64, *40 * [32], 10], rng=seed)
    for layer in [layer for layer in net.layers if isinstance(layer, Linear)][:-1]:
        outputs, inputs = layer.weight.value.shape
        layer.weight.value = np.sqrt(2) * matrix_with(np.ones(max(outputs, inputs)), rng)[:outputs, :inputs]
    return trained(net, lr=lr, steps=150, x=CENTERED) < 0.5


@conclusion(
    "Forty ReLU layers of width 32 with batch norm alone do not train in 60 steps",
    vary=[
        *each(optimizer=["SGD"], lr=[0.01, 0.1, 0.3], seed=[1, 2]),
        *each(optimizer=["Adam"], lr=[0.001, 0.01], seed=[1, 2]),
    ],
)
def test_batch_norm_alone_is_not_enough(optimizer, lr, seed):
    return trained(mlp([64, *40 * [32], 10], norm="batch", rng=seed), lr=lr, steps=100, optimizer=optimizer) < 0.4


class Branch(Layer):
    """x + scale * block(x), with one learned number or one for each channel."""

    def __init__(self, block, start, width=1):
        self.block = block
        self.scale = Parameter(np.full(width, float(start)))

    def children(self):
        return [self.block]

    def _forward(self, x):
        branch = self.block.forward(x)
        return x + self.scale.value * branch, branch

    def _backward(self, dy, branch):
        product = (dy * branch).sum(axis=0)
        self.scale.add_gradient(product if self.scale.value.size > 1 else product.sum(keepdims=True))
        return dy + self.block.backward(self.scale.value * dy)


def residual(make, *, blocks=20, width=32, seed=0):
    rng = np.random.default_rng(seed)
    layers = [Linear(64, width, rng=rng)]
    for _ in range(blocks):
        first, second = (Linear(width, width, rng=rng) for _ in range(2))
        layers.append(make(Sequential(ReLU(), first, ReLU(), second), width))
    return Sequential(*layers, ReLU(), Linear(width, 10, rng=rng, init="lecun"))


@conclusion(
    "Forty layers train here with skips whose branches start at 0.",
    vary=[
        *each(kind=["one number, 0", "one per channel, 1e-4"], lr=[0.1, 0.3], optimizer=["SGD"], seed=[1]),
        *each(kind=["one number, 0", "one per channel, 1e-4"], lr=[0.003], optimizer=["Adam"], seed=[1, 2]),
    ],
)
def test_small_branches_train_without_a_norm(kind, lr, optimizer, seed):
    def make(block, width):
        return Branch(block, 0) if kind == "one number, 0" else Branch(block, 1e-4, width)

    return trained(residual(make, seed=seed), lr=lr, steps=150, optimizer=optimizer) > 0.8


@conclusion("Branches of the usual size, without a norm, fail under SGD.", vary=each(lr=[0.01, 0.1], seed=[1, 2, 3]))
def test_usual_branches_fail(lr, seed):
    return trained(residual(lambda block, width: Residual(block), seed=seed), lr=lr, steps=100) < 0.35


class Noisy(BatchNorm):
    """Batch norm, then a random scale and shift; the last ones again when `fresh` is False."""

    fresh = True

    def __init__(self, width, rng):
        super().__init__(width)
        self.draw = lambda: rng.normal(0, 0.25, width)

    def forward(self, x):
        if self.fresh:
            self.scale, self.move = np.exp(self.draw()), self.draw()
        return super().forward(x) * self.scale + self.move

    def backward(self, dy):
        return super().backward(dy * self.scale)


def spirals(seed):
    rng = np.random.default_rng(seed)
    radius, arm = np.tile(np.linspace(0.1, 1, 200), 3), np.repeat(np.arange(3), 200)
    angle = 4 * radius + 2 * np.pi * arm / 3 + rng.normal(0, 0.15, 600)
    return radius[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1), arm


@conclusion(
    "The noisy network shifts more than the one without a norm, and its loss still falls faster at first.",
    vary=[
        *each(seed=range(4, 8), lr=[0.1], width=[64], optimizer=["SGD"]),
        *each(seed=[4], lr=[0.03], width=[64], optimizer=["SGD"]),
        *each(seed=[4], lr=[0.1], width=[128], optimizer=["SGD"]),
        *each(seed=[4, 5], lr=[0.003], width=[64], optimizer=["Adam"]),
    ],
    least=7,  # under Adam the noise may cost as much as the norm gains
)
def test_more_shift_and_still_faster(seed, lr, width, optimizer):
    x, labels = spirals(seed)
    found = []
    for noisy in (False, True):
        rng = np.random.default_rng(seed)
        norm = (lambda features, rng=rng: Noisy(features, rng)) if noisy else None
        net = mlp([2, *6 * [width], 3], norm=norm, rng=seed)
        place = [i for i, layer in enumerate(net.layers) if isinstance(layer, ReLU)][3] - 1
        seen = []

        def look(step, net=net, place=place, seen=seen):
            for layer in net.layers:
                layer.fresh = False
            net.forward(x[::3])
            for layer in net.layers:
                layer.fresh = True
            seen.append((net.outputs[place].mean(axis=0), net.outputs[place].std(axis=0)))

        how = {"steps": 45, "batch_size": 64, "rng": seed, "on_step": look}
        loss = fit(net, x, labels, OPTIMIZERS[optimizer](net.parameters(), lr=lr), **how).loss[25:35].mean()
        means, sds = np.array(seen).swapaxes(0, 1)
        shift = np.median(np.abs(np.diff(means, axis=0)).mean(axis=0) / sds.mean(axis=0))
        found.append((shift, loss))
    (still, slow), (moving, fast) = found
    return bool(moving > 1.2 * still and fast < slow)


@conclusion(
    "Batch norm makes the gradient change less along a step in this network.",
    vary=each(width=[32, 128], optimizer=["SGD", "Adam"], unit=[0.02, 0.1], seed=[1, 2]),
)
def test_the_gradient_changes_less_with_batch_norm(width, optimizer, unit, seed):
    def length(parts):
        return np.sqrt(sum(np.sum(part**2) for part in parts))

    def change(norm):
        net = mlp([64, *4 * [width], 10], norm=norm, rng=seed)
        lr = 0.1 if optimizer == "SGD" else 0.003
        rule = OPTIMIZERS[optimizer](net.parameters(), lr=lr)
        fit(net, PIXELS[LEARN], DIGIT[LEARN], rule, steps=60, batch_size=64, rng=seed)
        found = []
        for rows in np.split(LEARN[:192], 3):
            start, g = [p.value for p in net.parameters()], gradients(net, rows)
            for reach in unit * np.array([1, 2, 4, 8]):
                for p, value, part in zip(net.parameters(), start, g, strict=True):
                    p.value = value - reach * part
                moved = [a - b for a, b in zip(gradients(net, rows), g, strict=True)]
                found.append(length(moved) / length(g))
            for p, value in zip(net.parameters(), start, strict=True):
                p.value = value
        return np.median(np.array(found).reshape(3, 4).max(axis=1))

    return bool(change("batch") < 0.8 * change(None))


class Ghost(BatchNorm):
    """Batch norm with statistics of `size` samples each, in training mode."""

    def __init__(self, width, size):
        super().__init__(width)
        self.size = size

    def cut(self, x):
        return x.reshape(-1, self.size, self.features).swapaxes(1, 2)

    def join(self, groups):
        return groups.swapaxes(1, 2).reshape(-1, self.features)

    def forward(self, x):
        y = super().forward(x)
        if not self.training:
            return y
        self.groups = self.cut(x)
        return self.join(instance_norm(self.groups, self.gamma.value, self.beta.value).y)

    def backward(self, dy):
        dx, dgamma, dbeta = instance_norm_backward(self.cut(dy), self.groups, self.gamma.value)
        self.gamma.add_gradient(dgamma)
        self.beta.add_gradient(dbeta)
        return self.join(dx)


@conclusion(
    "Here, where a fifth of the labels are wrong, in 300 steps of SGD it helps in groups of 4 and harms in groups of "
    "2.",
    vary=[
        *each(width=[64], optimizer=["SGD"], part=[0.2], seed=[2, 3, 4]),
        *each(width=[128], optimizer=["SGD"], part=[0.2], seed=[2]),
        *each(width=[64], optimizer=["SGD"], part=[0.4], seed=[2]),
        *each(width=[64], optimizer=["Adam"], part=[0.2], seed=[2, 3]),
    ],
)
def test_noise_keeps_a_network_from_fitting_wrong_labels(width, optimizer, part, seed):
    rng = np.random.default_rng(seed)
    few = rng.permutation(LEARN)[:512]
    wrong = rng.random(512) < part
    labels = np.where(wrong, (DIGIT[few] + rng.integers(1, 10, 512)) % 10, DIGIT[few])
    right = {}
    for size in (64, 4, 2):
        net = mlp([64, width, width, 10], norm=lambda features, size=size: Ghost(features, size), rng=seed)
        rule = OPTIMIZERS[optimizer](net.parameters(), lr=0.3 if optimizer == "SGD" else 0.01)
        fit(net, PIXELS[few], labels, rule, steps=300, batch_size=64, rng=seed)
        net.eval()
        right[size] = accuracy(net.forward(PIXELS[TEST]), DIGIT[TEST])
    return bool(right[4] > right[64] and right[4] > right[2])


class OnlyNoise(Layer):
    """A random scale and shift of every unit in training mode, and no norm."""

    def __init__(self, width, rng, sd):
        self.draw = lambda: rng.normal(0, sd, width)

    def forward(self, x):
        if not self.training:
            return x
        self.scale = np.exp(self.draw())
        return x * self.scale + self.draw()

    def backward(self, dy):
        return dy * self.scale


@conclusion(
    "Twenty ReLU layers with noise alone, or with layer norm, stay below 0.5 in 100 steps, at the best of three rates; "
    "with batch norm they do not.",
    vary=each(instead=["noise 0.05", "noise 0.25", "layer norm"], seed=range(4)),
)
def test_only_batch_norm_trains_the_opening(instead, seed):
    def best(norm):
        nets = [(mlp([64, *20 * [32], 10], norm=norm, rng=seed), lr) for lr in (0.03, 0.1, 0.3)]
        return max(trained(net, lr=lr, steps=100) for net, lr in nets)

    rng = np.random.default_rng(seed)
    noise = float(instead.split()[1]) if "noise" in instead else None
    other = "layer" if noise is None else lambda width: OnlyNoise(width, rng, noise)
    return best(other) < 0.5 < best("batch")
