"""Lesson 03's conclusions about running averages, tried with other momenta, sizes, distributions and seeds."""

import numpy as np

from helpers import Linear, RunningStats, accuracy
from helpers.precision import round_to
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import DRAWN, train

FINITE = ["normal", "uniform", "exponential"]


def after(batches, momentum):
    """The running statistics after batches of shape (updates, n, streams)."""
    stats = RunningStats(batches.shape[-1], momentum=momentum)
    for batch in batches:
        stats.update(batch)
    return stats


@conclusion(
    "After t updates the initial value has the weight (1 − m)^t.",
    vary=each(momentum=[0.0, 0.01, 0.1, 0.5, 0.9, 1.0], updates=[1, 10, 44], n=[2, 32], mean=[-3.0, 5.0]),
)
def test_the_initial_value(momentum, updates, n, mean):
    batches = np.full((updates, n, 1), mean)
    return np.isclose(after(batches, momentum).mean[0], mean * (1 - (1 - momentum) ** updates))


@conclusion(
    "In the long run, with independent batches, the noise of the running mean is √(m / (2 − m)) · σ / √n.",
    vary=each(momentum=[0.05, 0.1, 0.5, 0.9, 1.0], n=[2, 8, 64], distribution=FINITE, seed=[0, 1]),
)
def test_the_noise(momentum, n, distribution, seed):
    updates = min(100, int(np.ceil(np.log(0.02) / np.log1p(-min(momentum, 0.99)))))
    batches = DRAWN[distribution](np.random.default_rng(seed), (updates, n, 1000))
    law = np.sqrt(momentum / (2 - momentum) / n)
    return 0.9 < after(batches, momentum).mean.std() / law < 1.1


@conclusion(
    "A wrong momentum of 0.9 is closer at update 10 if the buffer starts far away, and worse at update 300.",
    vary=each(mean=[-5.0, 5.0, 20.0], n=[8, 64], seed=[0, 1]),
)
def test_two_meanings(mean, n, seed):
    batches = np.random.default_rng(seed).normal(mean, 2, size=(300, n, 200))
    error = {(m, t): np.abs(after(batches[:t], m).mean - mean).mean() for m in (0.1, 0.9) for t in (10, 300)}
    return bool(error[0.9, 10] < error[0.1, 10] and error[0.9, 300] > error[0.1, 300])


@conclusion(
    "With noise and a true mean that wanders, the error falls and then rises with the momentum.",
    vary=each(step=[0.02, 0.05, 0.1], n=[4, 8], steps=["normal", "uniform"], seed=[0, 1]),
)
def test_the_best_momentum(step, n, steps, seed):
    rng = np.random.default_rng(seed)
    truth = np.cumsum(step * DRAWN[steps](rng, (400, 400)), axis=0)
    means = truth + rng.normal(0, 1 / np.sqrt(n), truth.shape)
    found = [after(np.stack([means, means], axis=1), m).mean for m in (0.01, 0.05, 0.1, 0.2, 0.8)]
    errors = np.sqrt(np.mean((found - truth[-1]) ** 2, axis=1))
    return bool(0 < errors.argmin() < 4 and min(errors[0], errors[-1]) > 1.1 * errors.min())


@conclusion(
    "On average the biased variance is σ² (n − 1) / n, and the unbiased variance is right.",
    vary=each(n=[2, 4, 16, 100], distribution=FINITE, sd=[0.1, 2.0]),
)
def test_biased_and_unbiased(n, distribution, sd):
    batches = sd * DRAWN[distribution](np.random.default_rng(n), (40_000, n))
    ratio = [batches.var(axis=1, ddof=ddof).mean() / sd**2 for ddof in (0, 1)]
    return np.allclose(ratio, [(n - 1) / n, 1], rtol=0.05)


def readings(rng, noise, sensors, shift=0.0):
    """600 parts and their kind, 1 if sound; a cracked part reads lower."""
    kind = rng.permutation(np.arange(600) % 2)
    x = shift + rng.normal(np.where(kind[:, None] == 1, 8, -8), noise, size=(600, sensors))
    return x + np.linspace(20, 70, sensors), kind


def says_sound(x, stats):
    return ((x - stats.mean) / np.sqrt(stats.var + 1e-5)).sum(axis=1) > 0


@conclusion(
    "Right in training mode and wrong in eval mode: running statistics from training batches repair it.",
    vary=each(momentum=[0.001, 0.01], sensors=[2, 6, 30], shift=[0.0, 20.0], seed=range(3)),
)
def test_the_repair(momentum, sensors, shift, seed):
    rng = np.random.default_rng(seed)
    x, _ = readings(rng, 6, sensors)
    new, _ = readings(rng, 6, sensors, shift)
    test, kind = readings(rng, 6, sensors, shift)
    wrong = after(np.array([x[rng.integers(600, size=60)] for _ in range(60)]), momentum)
    repaired = after(np.array(np.split(new, 10)), None)
    right = [np.mean(says_sound(test, stats) == kind) for stats in (wrong, repaired)]
    return bool(right[0] < 0.65 and right[1] > 0.9)


@conclusion(
    "With sound parts only, the running mean is that of sound parts, and about half of them look cracked.",
    vary=each(sensors=[2, 6, 30], batch=[20, 60], seed=range(3)),
)
def test_one_kind_alone(sensors, batch, seed):
    rng = np.random.default_rng(seed)
    x, its_kind = readings(rng, 10, sensors)
    test, kind = readings(rng, 10, sensors)
    sound = x[its_kind == 1]
    stats = after(np.array(np.split(sound, len(sound) // batch)), None)
    return bool(0.35 < np.mean(says_sound(test[kind == 1], stats)) < 0.65)


@conclusion(
    "A 16-bit buffer stops where m times the rest of the way is less than half the distance of neighboring numbers.",
    vary=each(momentum=[0.1, 0.01, 0.001], dtype=["float16", "bfloat16"], target=[1.0, -3.0, 50.0, 0.02]),
)
def test_where_a_buffer_stops(momentum, dtype, target):
    running, before = 0.0, None
    while running != before:
        before, running = running, float(round_to((1 - momentum) * running + momentum * target, dtype))
    bits = {"float16": 10, "bfloat16": 7}[dtype]
    spacing = 2.0 ** (np.floor(np.log2(abs(running))) - bits)
    return bool(momentum * abs(target - running) <= spacing / 2 and abs(running) < abs(target) + spacing)


@conclusion(
    "Buffers belong to one set of weights and one kind of input.",
    vary=each(optimizer=["SGD", "Adam"], missing=[0.2, 0.5], sensors=[6, 30], seed=range(3)),
)
def test_whose_buffers(optimizer, missing, sensors, seed):
    rng = np.random.default_rng(seed)
    (x, kind), (test, its_kind) = (readings(rng, 10, sensors) for _ in range(2))
    new, new_kind = readings(rng, 10, sensors, shift=20)
    augmented = x * (rng.random(x.shape) > missing)

    def normalized(data, buffers):
        return (data - buffers.mean(axis=0)) / buffers.std(axis=0)

    def trained(data, labels, buffers):
        layer, how = Linear(sensors, 2, rng=seed), {"x": normalized(data, buffers), "labels": labels}
        train(layer, optimizer, 0.03, slice(None), steps=300, seed=seed, batch_size=40, **how)
        return layer

    def right(layer, data, buffers):
        return accuracy(layer.forward(normalized(data, buffers)), its_kind)

    layer, frozen = trained(augmented, kind, augmented), trained(new, new_kind, x)
    lost = right(layer, test, x) - right(layer, test, augmented)
    harm = right(frozen, test + 20, x) - right(frozen, test + 20, new)
    return lost > 0.05 and harm > 0.2
