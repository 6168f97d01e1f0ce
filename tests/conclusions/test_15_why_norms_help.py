"""Lesson 15's conclusions, tried with other seeds, widths, rates and optimizers."""

import numpy as np

from helpers import Linear, ReLU, cross_entropy, matrix_with, mean_cosine, mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, OPTIMIZERS, PIXELS, accuracy_on, split, train

GhostBatchNorm, ScaledBranch, gradient_change = from_lesson("15", "GhostBatchNorm", "ScaledBranch", "gradient_change")
residual_net, two_layers, unscaled, spirals = from_lesson("15", "residual_net", "two_layers", "unscaled", "spirals")
OnlyNoise, MeanOnly = from_lesson("15", "OnlyNoise", "MeanOnly")
LEARN, TEST = split()


def read_after(net, *, lr, steps, optimizer="SGD", x=PIXELS, seed=0):
    """Accuracy on the test digits after training."""
    train(net, optimizer, lr, LEARN, steps=steps, seed=seed, x=x, batch_size=64)
    return accuracy_on(net, TEST, x)


def growth(norm, width, seed, batch=64, gain=1):
    """Before training: the factor by which each of 30 ReLU layers makes the gradient longer on its way back."""
    net = mlp([64, *30 * [width], 10], norm=norm, gain=gain, rng=seed)
    rows = LEARN[:batch]
    net.backward(cross_entropy(net.forward(PIXELS[rows]), KINDS[rows]).dlogits)
    relus = [i for i, layer in enumerate(net.layers) if isinstance(layer, ReLU)]
    first, last = (np.linalg.norm(net.gradients[i]) for i in (relus[1], relus[-1]))
    return (first / last) ** (1 / 28)


@conclusion(
    "In a plain ReLU network with He's weights, before training, the gradient keeps its size without a norm and grows "
    "with batch norm.",
    vary=each(width=[64, 256], batch=[64, 256], seed=[1, 2]),
)
def test_the_gradient_grows_with_batch_norm(width, batch, seed):
    without, with_norm = (growth(norm, width, seed, batch) for norm in (None, "batch"))
    return 0.9 < without < 1.1 and 1.17 < with_norm < 1.27


@conclusion(
    "Without a norm it decides between fading and growing; with a norm it changes almost nothing",
    vary=each(norm=[None, "layer", "batch"], width=[32, 256], seed=[1, 2]),
)
def test_a_norm_divides_the_gain_out(norm, width, seed):
    small, usual, large = (growth(norm, width, seed, gain=gain) for gain in (0.7, 1, 1.4))
    if norm is None:
        return small < 0.8 and large > 1.25
    return np.allclose([small, large], usual, rtol=0.01)


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


@conclusion("Keeping the digits apart helps, and with SGD batch norm is still ahead.", vary=each(seed=range(4)))
def test_batch_norm_is_ahead_of_the_mean_alone(seed):
    nets = [mlp([64, *20 * [32], 10], norm=norm, rng=seed) for norm in (None, MeanOnly, "batch")]
    without, mean, batch = (read_after(net, lr=0.3, steps=100, seed=seed) for net in nets)
    return without < mean < batch


def orthogonal(activation, width, seed):
    """Forty hidden layers whose weights are parts of orthogonal matrices, times √2 before a ReLU."""
    rng = np.random.default_rng(seed)
    net = mlp([64, *40 * [width], 10], activation=activation, rng=seed)
    for layer in [layer for layer in net.layers if isinstance(layer, Linear)][:-1]:
        outputs, inputs = layer.weight.value.shape
        square = matrix_with(np.ones(max(outputs, inputs)), rng)
        layer.weight.value = square[:outputs, :inputs] * (np.sqrt(2) if activation == "relu" else 1)
    return net


CENTERED = PIXELS - PIXELS[LEARN].mean(axis=0)


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
    net = orthogonal("tanh", width, seed)
    return read_after(net, lr=lr, steps=150, optimizer=optimizer, x=CENTERED, seed=seed) > 0.7


@conclusion(
    "ReLU networks of 40 layers do not train here with orthogonal weights in 150 steps of SGD, at any of three rates.",
    vary=each(lr=[0.03, 0.1, 0.3], seed=[1, 2]),
)
def test_orthogonal_relu_does_not_train(lr, seed):
    return read_after(orthogonal("relu", 32, seed), lr=lr, steps=150, x=CENTERED) < 0.5


@conclusion(
    "Forty ReLU layers of width 32 with batch norm alone do not train in 60 steps",
    vary=[
        *each(optimizer=["SGD"], lr=[0.01, 0.1, 0.3], seed=[1, 2]),
        *each(optimizer=["Adam"], lr=[0.001, 0.01], seed=[1, 2]),
    ],
)
def test_batch_norm_alone_is_not_enough(optimizer, lr, seed):
    return read_after(mlp([64, *40 * [32], 10], norm="batch", rng=seed), lr=lr, steps=100, optimizer=optimizer) < 0.4


@conclusion(
    "Forty layers train here with skips whose branches start at 0.",
    vary=[
        *each(lr=[0.1, 0.3], optimizer=["SGD"], seed=[1, 2, 3]),
        *each(lr=[0.003], optimizer=["Adam"], seed=[1, 2]),
    ],
)
def test_small_branches_train_without_a_norm(lr, optimizer, seed):
    net = residual_net(lambda rng, width: ScaledBranch(two_layers(rng, width), 0), seed)
    return read_after(net, lr=lr, steps=150, optimizer=optimizer) > 0.8


@conclusion("Branches of the usual size, without a norm, fail under SGD.", vary=each(lr=[0.01, 0.1], seed=[1, 2, 3]))
def test_usual_branches_fail(lr, seed):
    return read_after(residual_net(unscaled, seed), lr=lr, steps=100) < 0.35


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
    def rule(parameters, **of_the_lesson):
        return OPTIMIZERS[optimizer](parameters, lr)

    watched_net = from_lesson("15", "watched_net", SGD=rule)
    (slow, still), (fast, moving) = (watched_net(*spirals(seed), 6 * [width], norm, seed) for norm in (None, "noisy"))
    return bool(moving > 1.2 * still and fast[25:35].mean() < slow[25:35].mean())


@conclusion(
    "Batch norm makes the gradient change less along a step in this network.",
    vary=each(width=[32, 128], optimizer=["SGD", "Adam"], seed=[1, 2, 3, 4]),
)
def test_the_gradient_changes_less_with_batch_norm(width, optimizer, seed):
    found = []
    for norm in (None, "batch"):
        net = mlp([64, *4 * [width], 10], norm=norm, rng=seed)
        rate = 0.1 if optimizer == "SGD" else 0.003
        train(net, optimizer, rate, LEARN, steps=60, seed=seed, batch_size=64)
        net.train()
        found.append(np.median([gradient_change(net, rows) for rows in np.split(LEARN[:192], 3)]))
    return found[1] < 0.8 * found[0]


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
    labels = KINDS.copy()
    labels[few] = np.where(wrong, (KINDS[few] + rng.integers(1, 10, 512)) % 10, KINDS[few])
    right = {}
    for size in (64, 4, 2):
        net = mlp([64, width, width, 10], norm=lambda features, size=size: GhostBatchNorm(features, size), rng=seed)
        rate = 0.3 if optimizer == "SGD" else 0.01
        train(net, optimizer, rate, few, steps=300, seed=seed, labels=labels, batch_size=64)
        right[size] = accuracy_on(net, TEST)
    return right[4] > max(right[64], right[2])


@conclusion(
    "Twenty ReLU layers with noise alone, or with layer norm, stay below 0.5 in 100 steps, at the best of three rates; "
    "with batch norm they do not.",
    vary=each(instead=["noise", "layer norm"], seed=range(4)),
)
def test_only_batch_norm_trains_the_opening(instead, seed):
    def best(norm):
        nets = [(mlp([64, *20 * [32], 10], norm=norm, rng=seed), lr) for lr in (0.03, 0.1, 0.3)]
        return max(read_after(net, lr=lr, steps=100) for net, lr in nets)

    rng = np.random.default_rng(seed)
    other = "layer" if instead == "layer norm" else lambda width: OnlyNoise(width, rng)
    return best(other) < 0.5 < best("batch")
