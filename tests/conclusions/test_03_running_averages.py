"""Lesson 03's conclusions about running averages, tried with other momenta, sizes, distributions and seeds."""

import numpy as np

from helpers import SGD, Adam, Linear, RunningStats, accuracy, batch_norm, fit
from helpers.precision import round_to
from tests.conclusions.conclusion import conclusion, each

DRAWN = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "exponential": lambda rng, shape: rng.exponential(1, shape) - 1,
}


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
    "At momentum 0.1 and below, a tenth of the momentum needs about ten times as many updates.",
    vary=each(momentum=[0.1, 0.05, 0.01, 0.001], left=[0.5, 0.1, 0.01]),
)
def test_ten_times_as_many(momentum, left):
    needed = [np.log(left) / np.log1p(-m) for m in (momentum, momentum / 10)]
    return 9.5 < needed[1] / needed[0] < 11


@conclusion(
    "In the long run, with independent batches, the noise of the running mean is √(m / (2 − m)) · σ / √n.",
    vary=each(momentum=[0.05, 0.1, 0.5, 0.9, 1.0], n=[2, 8, 64], distribution=list(DRAWN), seed=[0, 1]),
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
    "A running mean lags (1 − m) / m updates behind a steady drift, the plain mean half of all updates.",
    vary=each(momentum=[0.05, 0.1, 0.5, None], slope=[0.01, 1.0, -5.0]),
)
def test_the_lag(momentum, slope):
    ramp = slope * np.arange(600.0)
    lag = (ramp[-1] - after(np.tile(ramp[:, None, None], (1, 2, 1)), momentum).mean[0]) / slope
    return np.isclose(lag, 599 / 2 if momentum is None else (1 - momentum) / momentum)


@conclusion(
    "With noise and a true mean that wanders, the error falls and then rises with the momentum.",
    vary=each(step=[0.02, 0.05, 0.1], noise=["batches of 8", "batches of 4"], steps=["normal", "uniform"], seed=[0, 1]),
)
def test_the_best_momentum(step, noise, steps, seed):
    rng = np.random.default_rng(seed)
    n = int(noise.split()[-1])
    truth = np.cumsum(step * DRAWN[steps](rng, (400, 400)), axis=0)
    means = truth + rng.normal(0, 1 / np.sqrt(n), truth.shape)
    errors = []
    for m in (0.01, 0.05, 0.1, 0.2, 0.8):
        error = after(np.stack([means, means], axis=1), m).mean - truth[-1]
        errors.append(np.sqrt(np.mean(error**2)))
    best = int(np.argmin(errors))
    return bool(0 < best < 4 and errors[0] > 1.1 * min(errors) and errors[-1] > 1.1 * min(errors))


@conclusion(
    "On average the biased variance is σ² (n − 1) / n, and the unbiased variance is right.",
    vary=each(n=[2, 4, 16, 100], distribution=list(DRAWN), sd=[0.1, 2.0]),
)
def test_biased_and_unbiased(n, distribution, sd):
    batches = sd * DRAWN[distribution](np.random.default_rng(n), (40_000, n))
    ratio = [batches.var(axis=1, ddof=ddof).mean() / sd**2 for ddof in (0, 1)]
    return np.allclose(ratio, [(n - 1) / n, 1], rtol=0.05)


@conclusion(
    "In the same batch, linear layers in between, the unbiased variance shrinks by √((n − 1) / n) per batch norm.",
    vary=each(n=[32, 64, 256], width=[4, 16], layers=[1, 20], seed=[0, 1]),
)
def test_the_same_batch(n, width, layers, seed):
    rng = np.random.default_rng(seed)
    in_training = in_eval = rng.normal(size=(n, width))
    for _ in range(layers):
        rotation = np.linalg.qr(rng.normal(size=(width, width)))[0]
        z = in_training @ rotation
        in_training = batch_norm(z, eps=0).y
        in_eval = (in_eval @ rotation - z.mean(axis=0)) / z.std(axis=0, ddof=1)
    return np.allclose(in_eval.std(axis=0), ((n - 1) / n) ** (layers / 2))


def readings(rng, apart, noise, sensors, shift=0.0):
    kind = rng.permutation(np.arange(600) % 2)
    x = shift + rng.normal(np.where(kind[:, None] == 1, apart, -apart), noise, size=(600, sensors))
    return x + np.linspace(20, 70, sensors), kind


@conclusion(
    "Right in training mode and wrong in eval mode: running statistics from training batches repair it.",
    vary=each(momentum=[0.001, 0.01], sensors=[2, 6, 30], shift=[0.0, 20.0], seed=range(3)),
)
def test_the_repair(momentum, sensors, shift, seed):
    rng = np.random.default_rng(seed)
    x, _ = readings(rng, 8, 6, sensors)
    new, _ = readings(rng, 8, 6, sensors, shift)
    test, kind = readings(rng, 8, 6, sensors, shift)
    wrong = after(np.array([x[rng.integers(600, size=60)] for _ in range(60)]), momentum)
    right = after(np.array(np.split(new, 10)), None)

    def accuracy(stats):
        z = (test - stats.mean) / np.sqrt(stats.var + 1e-5)
        return np.mean((z.sum(axis=1) > 0) == kind)

    return bool(accuracy(wrong) < 0.65 and accuracy(right) > 0.9)


@conclusion(
    "With sound parts only, the running mean is that of sound parts, and about half of them look cracked.",
    vary=each(sensors=[2, 6, 30], batch=[20, 60], seed=range(3)),
)
def test_one_kind_alone(sensors, batch, seed):
    rng = np.random.default_rng(seed)
    x, its_kind = readings(rng, 8, 10, sensors)
    test, kind = readings(rng, 8, 10, sensors)
    sound = x[its_kind == 1]
    stats = after(np.array(np.split(sound, len(sound) // batch)), None)
    z = (test - stats.mean) / np.sqrt(stats.var + 1e-5)
    refused = np.mean(z.sum(axis=1)[kind == 1] < 0)
    return bool(0.35 < refused < 0.65)


@conclusion(
    "With k passes over one batch, momentum m acts like 1 − (1 − m)^k.",
    vary=each(momentum=[0.01, 0.1, 0.5], k=[2, 3, 8], n=[2, 40]),
)
def test_several_passes(momentum, k, n):
    batch = np.random.default_rng(n).normal(5, 2, size=(n, 4))
    moved = after(np.array([batch] * k), momentum).mean / batch.mean(axis=0)
    return np.allclose(moved, 1 - (1 - momentum) ** k)


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
    vary=each(optimizer=[SGD, Adam], missing=[0.2, 0.5], sensors=[6, 30], seed=range(3)),
)
def test_whose_buffers(optimizer, missing, sensors, seed):
    rng = np.random.default_rng(seed)
    (x, kind), (test, its_kind) = (readings(rng, 8, 10, sensors) for _ in range(2))
    new, new_kind = readings(rng, 8, 10, sensors, shift=20)
    augmented = x * (rng.random(x.shape) > missing)

    def trained(data, labels, buffers):
        layer = Linear(sensors, 2, rng=seed)
        run = optimizer(layer.parameters(), 0.03)
        fit(layer, normalized(data, buffers), labels, run, steps=300, batch_size=40, rng=seed)
        return layer

    def normalized(data, buffers):
        return (data - buffers.mean(axis=0)) / buffers.std(axis=0)

    def right(layer, data, buffers, labels):
        return accuracy(layer.forward(normalized(data, buffers)), labels)

    layer, frozen = trained(augmented, kind, augmented), trained(new, new_kind, x)
    lost = right(layer, test, x, its_kind) - right(layer, test, augmented, its_kind)
    harm = right(frozen, test + 20, x, its_kind) - right(frozen, test + 20, new, its_kind)
    return bool(lost > 0.05 and harm > 0.2)
