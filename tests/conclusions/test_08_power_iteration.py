"""Lesson 08: conclusions about stretches, power iteration and bounded networks, tried with other matrices and seeds."""

import functools

import numpy as np

from helpers import Linear, ReLU, Sequential, matrix_with, power_iteration
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import KINDS, PIXELS, train

Times15, matrices, scores_of, jacobian = from_lesson("08", "Times15", "matrices", "scores_of", "jacobian")
promise, turned_by_one_step, track = from_lesson("08", "promise", "turned_by_one_step", "track")
INK = PIXELS - 0.5
PHOTOS, TESTS = {"x": np.vstack([INK[:1000], -INK[:1000]]), "labels": np.tile(KINDS[:1000], 2)}, INK[1000:]


def new_layers(seed, width=32):
    first = Linear(64, width, rng=seed)
    first.weight.value *= 0.1
    return [first, ReLU(), Linear(width, 10, init="lecun", rng=seed + 100)]


@functools.cache
def as_trained(seed, width=32):
    layers = new_layers(seed, width)
    train(Sequential(*layers), "SGD", 0.2, slice(None), steps=3000, seed=seed, **PHOTOS)
    return matrices(layers)


@functools.cache
def under_the_bound(seed):
    """Matrices of a network that is divided by its estimates in every step, and their stretches before the end."""
    layers = new_layers(seed)
    linears = layers[::2]
    kept = [np.random.default_rng(seed).normal(size=layer.bias.value.size) for layer in linears]

    def divide(step):
        for k, layer in enumerate(linears):
            sigma, kept[k], _, _ = power_iteration(layer.weight.value, n_iter=1, u=kept[k])
            layer.weight.value = layer.weight.value / sigma

    train(Sequential(*layers, Times15()), "SGD", 0.03, slice(None), steps=2000, seed=seed, on_step=divide, **PHOTOS)
    stretches = [np.linalg.norm(w, 2) for w, _ in matrices(layers)]
    return [(w / sigma, bias) for (w, bias), sigma in zip(matrices(layers), stretches, strict=True)], stretches


@conclusion("10,000 random nudges stay well below the worst", vary=each(seed=range(8), width=[8, 32, 128]))
def test_random_nudges(seed, width):
    w = as_trained(seed, width)[0][0]
    nudges = np.random.default_rng(seed).normal(size=(10_000, 64))
    found = np.linalg.norm(nudges @ w.T, axis=1) / np.linalg.norm(nudges, axis=1)
    return bool(found.max() < 0.85 * np.linalg.norm(w, 2))


@conclusion("With ReLU between them the matrices stretch more than without it", vary=each(seed=range(8)))
def test_relu_undoes_the_cancelling(seed):
    parts = as_trained(seed)
    together = np.linalg.norm(parts[1][0] @ parts[0][0], 2)
    return bool(np.median([np.linalg.norm(jacobian(parts, x), 2) for x in TESTS[:100]]) > 2 * together)


@conclusion(
    "The estimate rises toward σ and never passes it",
    vary=each(
        shape=[(1, 5), (5, 1), (5, 5), (64, 16)], scale=[1e-30, 1, 1e30], dtype=["float64", "float32"], seed=range(20)
    ),
)
def test_the_estimate(shape, scale, dtype, seed):
    w = (scale * np.random.default_rng(seed).normal(size=shape)).astype(dtype)
    ratio = power_iteration(w, n_iter=30, rng=seed).history.astype(float) / np.linalg.norm(w.astype(float), 2)
    rounding = 1e-12 if dtype == "float64" else 1e-5
    return bool(ratio.max() < 1 + rounding and np.diff(ratio).min() > -rounding)


@conclusion(
    "A small gap makes the vector slow. It does not make the value slow.",
    vary=each(gap=[1e-3, 1e-4, 0], size=[6, 32], seed=range(3)),
)
def test_near_a_tie(gap, size, seed):
    rng = np.random.default_rng(seed)
    off, error = [], []
    for _ in range(40):
        w = matrix_with([1, 1 - gap, *np.linspace(0.1, 0.6, size - 2)], rng)
        value, u, _, _ = power_iteration(w, n_iter=20, u=rng.normal(size=size))
        off.append(np.degrees(np.arccos(min(1, abs(u @ np.linalg.svd(w)[0][:, 0])))))
        error.append(1 - value)
    return bool(np.median(off) > 15 and max(error) < gap + 1e-3)


@conclusion(
    "After k iterations from a random start the value's relative error is of order log(n)/k, whatever the gap",
    vary=each(n=[8, 32, 256], k=[2, 5, 20, 50], ratio=[0.3, 0.8, 0.9, 0.95, 0.99, 0.999], others=["tied", "falling"]),
)
def test_no_gap_is_slow(n, k, ratio, others):
    axes = np.array([1, *np.linspace(ratio, ratio if others == "tied" else 0.1, n - 1)])
    v = np.random.default_rng(0).normal(size=(1000, n)) * axes ** (2 * k - 1)  # in the coordinates of the axes
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return bool(np.mean(1 - np.linalg.norm(v * axes, axis=1)) < 0.25 * np.log(n) / k)


@conclusion(
    "If you keep u, one iteration per step is enough for a weight that changes slowly.",
    vary=each(n=[16, 64, 128], drift=[0.001, 0.01], seed=range(5)),
)
def test_one_iteration_per_step(n, drift, seed):
    kept, _ = track(drift, np.random.default_rng(seed), n=n)
    return bool(np.median(kept[20:]) > 0.98 and min(kept[20:]) > 0.9)


@conclusion(
    "With random u and v the estimate is far below σ and of either sign", vary=each(n=[32, 64, 256], seed=range(3))
)
def test_a_layer_that_never_iterated(n, seed):
    rng = np.random.default_rng(seed)
    w, u, v = rng.normal(size=(n, n)), *rng.normal(size=(2, 1000, n))
    found = np.sum(u * (v @ w.T), axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    return bool(np.median(abs(found)) < 0.1 * np.linalg.norm(w, 2) and 0.4 < np.mean(found < 0) < 0.6)


@conclusion("Trained under the bound, the network promises more, at about the same accuracy", vary=each(seed=range(8)))
def test_the_bounded_network(seed):
    parts, stretches = under_the_bound(seed)
    before, now = promise(as_trained(seed)), promise(parts)  # 0 where the answer is wrong
    kept = np.mean(now > 0) > np.mean(before > 0) - 0.03 and np.allclose(stretches, 1, atol=0.05)
    return bool(kept and np.mean(now > 0.12) > np.mean(before > 0.12) + 0.05)


@conclusion(
    "No nudge shorter than its promise changes an answer", vary=each(seed=range(4), network=["first", "bounded"])
)
def test_promises_are_kept(seed, network):
    """Random nudges, and nudges along the gradients from the answer's score to each other one."""
    parts = as_trained(seed) if network == "first" else under_the_bound(seed)[0]
    rng = np.random.default_rng(seed)
    turned = 0
    for x, length in zip(TESTS[:200], promise(parts), strict=False):
        first, toward = scores_of(parts, x).argmax(), jacobian(parts, x)
        nudges = np.concatenate([rng.normal(size=(50, 64)), np.delete(toward, first, axis=0) - toward[first]])
        nudges *= 0.999 * length / np.linalg.norm(nudges, axis=1, keepdims=True)
        turned += np.sum(scores_of(parts, x + nudges).argmax(axis=1) != first)
    return bool(turned == 0)


@conclusion("Attacks on other photos still succeed, not much less often than before", vary=each(seed=range(6)))
def test_not_a_shield(seed):
    return turned_by_one_step(under_the_bound(seed)[0]) > 0.5 * turned_by_one_step(as_trained(seed))
