"""Lesson 14: what holds in its faulty networks, in its clouds of tokens and of its claim about rounding."""

import functools

import numpy as np

from helpers import SGD, BatchNorm, GroupNorm, batch_norm, cross_entropy, layer_norm, mlp, rms_norm
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, PIXELS, accuracy_on, train

forward, look_inside, explained, fp8, int4 = from_lesson("14", "forward", "look_inside", "explained", "fp8", "int4")
NETWORKS = each(seed=range(5), width=[32, 64, 256], samples=[128, 1024])


def patient(name, seed, width, samples):
    """Eight ReLU layers: A is healthy, the others have one change, as in the lesson."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(samples, width))
    weights = rng.normal(size=(8, width, width)) * np.sqrt(2 / width) * (0.5 if name == "E" else 1)
    biases = np.zeros((8, width))
    if name == "B":
        weights[3] *= 20
    if name == "C":
        biases[4, : int(0.8 * width)] = -12
    if name == "D":
        biases[2] = 12
    return inputs, weights, biases


@conclusion("Batch norm makes patients A to E look alike", vary=NETWORKS)
def test_batch_norm_hides_the_patients(seed, width, samples):
    patients = [patient(name, seed, width, samples) for name in "ABCDE"]
    return np.ptp([look_inside(forward(*parts, lambda z: batch_norm(z).y)) for parts in patients], axis=0).max() < 0.05


@conclusion("Layer norm still shows patient C", vary=NETWORKS)
def test_layer_norm_shows_c(seed, width, samples):
    dead = look_inside(forward(*patient("C", seed, width, samples), lambda z: layer_norm(z).y))[1]
    return dead.argmax() == 4 and dead[4] > 0.3


@conclusion(
    "In patient D, the first layer with a symptom is the changed one; healthy biases fix the network, and healthy "
    "weights do not",
    vary=NETWORKS,
)
def test_symptom_and_cause(seed, width, samples):
    inputs, weights, biases = patient("D", seed, width, samples)
    other = weights.copy()
    other[2] = np.random.default_rng(seed + 1000).normal(size=(width, width)) * np.sqrt(2 / width)
    networks = [(weights, biases), (other, biases), (weights, 0 * biases)]
    faulty, with_weights, healthy = (look_inside(forward(inputs, *parts)) for parts in networks)
    odd = (faulty[0] > 3 * healthy[0].max()) | (faulty[1:] > 0.5).any(axis=0)
    return odd.argmax() == 2 and with_weights[1].max() > 0.3 > healthy[1].max()


@functools.cache
def line_and_tanh(spread, seed, width, features):
    """What a line and the best tanh explain of the layer norm of 200 tokens whose sizes differ."""
    rng = np.random.default_rng(seed)
    draw = {"normal": rng.normal, "uniform": lambda size: rng.uniform(-1.7, 1.7, size), "laplace": rng.laplace}[
        features
    ]
    x = np.exp(spread * rng.normal(size=(200, 1))) * draw(size=(200, width))
    x, y = x.ravel(), layer_norm(x).y.ravel()
    return explained(y, x), max(explained(y, np.tanh(a / x.std() * x)) for a in np.logspace(-2, 2, 81))


CLOUDS = {"seed": range(3), "width": [16, 64, 256], "features": ["normal", "uniform", "laplace"]}


@conclusion(
    "When the sizes of tokens differ, a tanh fits layer norm better than a line, but only moderately well",
    vary=each(spread=[0.75, 1, 1.5], **CLOUDS),
)
def test_a_tanh_fits_moderately(**cloud):
    line, tanh = line_and_tanh(**cloud)
    return line + 0.05 < tanh < 0.9


@conclusion("With tokens of one size, a line and a tanh fit layer norm equally well", vary=each(spread=[0], **CLOUDS))
def test_equal_sizes(**cloud):
    line, tanh = line_and_tanh(**cloud)
    return abs(tanh - line) < 0.03


@conclusion(
    "Far from 0, layer norm in float32 loses more digits than RMSNorm",
    vary=each(mean=[30, 300, 1000, 3000], width=[16, 64, 1024], seed=range(3)),
)
def test_digits_lost(mean, width, seed):
    far = (mean + np.random.default_rng(seed).normal(size=(200, width))).astype(np.float32)
    errors = [np.abs(norm(far).y - norm(far.astype(float)).y).max() for norm in (layer_norm, rms_norm)]
    return errors[0] > 3 * errors[1]


NORMS = {"batch norm": "batch", "group norm": lambda width: GroupNorm(4, width)}


def small_network(norm, batch, seed, rate):
    """Accuracy of the lesson's network after two epochs of 1000 digits."""
    model = mlp([64, 32, 32, 32, 10], NORMS[norm], rng=seed)
    train(model, "SGD", rate, slice(1000), steps=2000 // batch, seed=seed, batch_size=batch)
    return accuracy_on(model, slice(1000, None))


@conclusion(
    "in a small network batch norm is ahead from a batch of 6 on, and far behind at 2",
    vary=each(batch=[2, 6, 8, 16, 32], first_seed=[0, 3]),
)
def test_who_is_ahead(batch, first_seed):
    seeds, rates = range(first_seed, first_seed + 3), (0.01, 0.03, 0.1, 0.3)
    batch_norms, group_norms = (
        max(np.mean([small_network(norm, batch, seed, rate) for seed in seeds]) for rate in rates) for norm in NORMS
    )
    lead = batch_norms - group_norms
    return bool(lead < -0.2 if batch == 2 else lead > 0.01)


@conclusion(
    "eight passes of 2 cost batch norm more than 30 points, at least a third fewer with eps 1, and group norm none",
    vary=each(rate=[0.1, 0.3], seed=range(3)),
)
def test_two_at_a_time(rate, seed):
    found = {}
    norms = NORMS | {"eps 1": lambda width: BatchNorm(width, eps=1)}
    for norm, at_once in ((norm, n) for norm in norms for n in (2, 16)):
        model = mlp([64, 32, 32, 32, 10], norms[norm], rng=seed)
        optimizer = SGD(model.parameters(), rate)
        rng = np.random.default_rng(seed)
        for chosen in np.concatenate([rng.permutation(1000) for _ in range(2)]).reshape(-1, 16):
            model.zero_grad()
            for rows in np.split(chosen, 16 // at_once):
                model.backward(cross_entropy(model.forward(PIXELS[rows]), KINDS[rows]).dlogits * at_once / 16)
            optimizer.step()
        found[norm, at_once] = accuracy_on(model.eval(), slice(1000, None))
    lost = {norm: found[norm, 16] - found[norm, 2] for norm in norms}
    return bool(lost["batch norm"] > max(0.3, 1.5 * lost["eps 1"]) and abs(lost["group norm"]) < 0.01)


def error_of_the_others(rounded, v):
    off = np.delete(rounded(v) - v, 5, axis=1)
    return np.sqrt(np.mean(off**2) / np.mean(np.delete(v, 5, axis=1) ** 2))


@conclusion(
    "one large gamma erases the other channels in 4 bits with one scale, not in FP8",
    vary=each(gamma=[30, 100], width=[64, 256], tokens=[50, 500], seed=range(3)),
)
def test_one_large_gamma(gamma, width, tokens, seed):
    y = rms_norm(np.random.default_rng(seed).normal(size=(tokens, width))).y
    v = y * np.where(np.arange(width) == 5, gamma, 1)
    erased = error_of_the_others(int4, v) == 1 and error_of_the_others(int4, y) < 0.25
    return bool(erased and error_of_the_others(fp8, v) < 0.05)
