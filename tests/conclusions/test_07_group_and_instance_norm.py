"""Lesson 07: conclusions about group and instance norm, tried with other images, changes, sizes, seeds and batches."""

from functools import cache

import numpy as np

from helpers import GroupNorm, accuracy, fit, mlp
from helpers.norms import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_standardization
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import IMAGES, OPTIMIZERS, normal, skewed

per_channel, take_photo, sun_column = from_lesson("07", "per_channel", "take_photo", "sun_column")
evening_guessed, adain, ghost_batch_norm = from_lesson("07", "evening_guessed", "adain", "ghost_batch_norm")
light_of = list(from_lesson("07", "EVERY_LIGHT").values())


def colored_digits(rng, shape):
    """Digits in inks and on papers of random colors, as photos with shape[1] channels of 8 by 8 pixels."""
    paper, ink = rng.uniform(0.3, 1, size=(2, shape[0], shape[1], 1, 1))
    chosen = IMAGES[rng.integers(0, 1797, size=shape[0])][:, None]
    return paper - ink * chosen + rng.normal(0, 0.02, size=(*shape[:2], 8, 8))


DATA = [normal, skewed, colored_digits]


def six_channels(data, seed, count):
    return data(np.random.default_rng(seed), (count, 6, 8, 8))


@conclusion(
    "The number of groups leads from layer norm over (C, H, W), with 1 group, to instance norm, with C groups.",
    vary=each(data=[normal, skewed], shape=[(1, 2, 3, 5), (4, 6, 8, 8), (3, 64, 2, 2)], eps=[1e-12, 1e-5, 1]),
)
def test_both_ends(data, shape, eps):
    x = data(np.random.default_rng(0), shape)
    one = np.allclose(group_norm(x, 1, eps=eps).y, layer_norm(x, axis=(1, 2, 3), eps=eps).y)
    return bool(one and np.allclose(group_norm(x, shape[1], eps=eps).y, instance_norm(x, eps=eps).y))


NORMS = {
    "1 group": lambda x: group_norm(x, 1, eps=0).y,
    "2 groups": lambda x: group_norm(x, 2, eps=0).y,
    "3 groups": lambda x: group_norm(x, 3, eps=0).y,
    "instance norm": lambda x: instance_norm(x, eps=0).y,
    "RMSNorm": lambda x: rms_norm(x, axis=(1, 2, 3), eps=0).y,
    "batch norm": lambda x: batch_norm(x, eps=0).y,
}
# What each light does at three strengths, and the norms that undo it.
DIM = [lambda x, factor=factor: factor * x for factor in (0.05, 0.35, 3)]
FOG = [lambda x, shift=shift: 0.4 * x + shift for shift in (0.5, -2, 20)]
CASTS = [((0.6, 0.8, 0.6), (0, 0, 0.4)), ((1, 1, 0.3), (0.1, 0.2, 0.3)), ((2, 1, 0.5), (0, 5, 0))]
CAST = [lambda x, cast=cast: per_channel(*cast[0]) * x + per_channel(*cast[1]) for cast in CASTS]
SHADOW = [lambda x, k=k: np.where(np.arange(8) < k, 0.4, 1) * x for k in (1, 4, 7)]
GROUPS = {"1 group", "2 groups", "3 groups", "instance norm"}
LIGHTS = {
    "dim": (DIM, GROUPS | {"RMSNorm"}),
    "fog": (FOG, GROUPS),
    "blue cast": (CAST, {"3 groups", "instance norm"}),
    "shadow": (SHADOW, set()),
}


@conclusion(
    "Any number of groups undoes dim and fog, RMSNorm dim only; three groups and instance norm undo the blue cast, no "
    "norm undoes the shadow, and batch norm undoes nothing for one photo.",
    vary=each(data=DATA, light=list(LIGHTS), strength=range(3), count=[2, 8, 64], seed=range(3)),
)
def test_which_norm_undoes_which_light(data, light, strength, count, seed):
    x = six_channels(data, seed, count)
    changes, undoing = LIGHTS[light]
    changed = np.concatenate([changes[strength](x[:1]), x[1:]])
    left_over = {name: np.sqrt(np.mean((norm(changed)[0] - norm(x)[0]) ** 2)) for name, norm in NORMS.items()}
    return {name for name in NORMS if left_over[name] < 1e-6} == undoing


@conclusion(
    "A group of two: if the variance is far above eps, the output says only which number is larger.",
    vary=each(data=[normal, skewed], size=[1, 1e3], eps=[0, 1e-12, 1e-5], seed=range(3)),
)
def test_groups_of_two(data, size, eps, seed):
    x = size * data(np.random.default_rng(seed), (50, 6))
    pairs = x.reshape(50, 3, 2)
    signs = np.sign(pairs - pairs.mean(axis=2, keepdims=True)).reshape(50, 6)
    far = np.repeat(pairs.var(axis=2) > 1000 * eps, 2, axis=1)
    return bool(np.abs(group_norm(x, 3, eps=eps).y - signs)[far].max() < 1e-3)


@conclusion(
    "After 3 groups and instance norm the probe can no longer tell evening from day; after layer norm and 2 groups it "
    "can",
    vary=each(error=[0.01, 0.02], groups=[1, 2, 3, 6], seed=range(5, 10)),
)
def test_evening(error, groups, seed):
    right = evening_guessed(lambda x: group_norm(x, groups).y, seed, error)
    return bool(0.3 < right < 0.7 if groups >= 3 else right > 0.9)


@conclusion(
    "AdaIN replaces the mean and the standard deviation of each channel.",
    vary=each(data=[normal, skewed], pixels=[(4, 9), (24, 24)], style=[(5, 5), (40, 8)], size=[0.3, 1, 100]),
)
def test_adain(data, pixels, style, size):
    rng = np.random.default_rng(0)
    content, look = 2 + size * data(rng, (6, *pixels)), 1 + data(rng, (6, *style))
    result = adain(content, look)
    same_places = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(result, content, strict=True)]
    means, sds = ([f(x, axis=(1, 2)) for x in (result, look)] for f in (np.mean, np.std))
    return bool(np.allclose(*means) and np.allclose(*sds, rtol=1e-3) and np.allclose(same_places, 1))


def variation(norm, data, n, seed):
    """Standard deviation of one sample's output over 200 batches of n."""
    rng = np.random.default_rng(seed)
    pool = data(rng, (1500, 1, 8, 8))
    outputs = []
    for _ in range(200):
        batch = pool[rng.integers(0, 1500, n)]
        batch[0] = pool[0]
        outputs.append(norm(batch)[0])
    return np.sqrt(np.var(outputs, axis=0).mean())


@conclusion(
    "With other samples drawn at random, the variation of batch norm's output shrinks as 1/√n.",
    vary=each(data=[normal, colored_digits], small=[4, 8], times=[4, 16], seed=range(4)),
)
def test_variation_falls_with_the_root(data, small, times, seed):
    few, many = (variation(lambda x: batch_norm(x).y, data, n, seed) for n in (small, small * times))
    return bool(0.6 < few / many / np.sqrt(times) < 1.5)


@conclusion(
    "Group norm's output does not vary with the batch.",
    vary=each(data=DATA, groups=[1, 2, 3, 6], count=[1, 2, 64], seed=range(3)),
)
def test_group_norm_does_not_vary(data, groups, count, seed):
    x = six_channels(data, seed, 64)
    return np.allclose(group_norm(x[:count], groups).y[0], group_norm(x, groups).y[0])


@conclusion(
    "The output varies about twice as much in a batch of 64 in ghosts of 16 as in a whole batch of 64.",
    vary=each(data=[normal, colored_digits], seed=range(4)),
)
def test_ghost_batch_norm(data, seed):
    ghosts, whole = (variation(norm, data, 64, seed) for norm in (ghost_batch_norm, lambda x: batch_norm(x).y))
    return bool(1.5 < ghosts / whole < 2.7)


@cache
def pictures(seed, lights):
    """2400 small photos, each in one of the first lights, as rows, and the sun's column of five."""
    numbers = [[seed, k] for k in range(2400)]
    drawn = np.random.default_rng(seed).integers(lights, size=2400)
    x = [light_of[k](take_photo(number, size=10))[::2].ravel() for k, number in zip(drawn, numbers, strict=True)]
    return (x - np.mean(x)) / np.std(x), np.array([sun_column(number) for number in numbers])


@cache
def sun_found(norm, n, seed, optimizer="Adam", width=64, depth=2, lights=5):
    x, labels = pictures(seed, lights)
    norm = {"batch": "batch", "layer": "layer", "group": lambda width: GroupNorm(4, width)}[norm]
    net = mlp([x.shape[1], *[width] * depth, 5], norm=norm, rng=seed)
    rule = OPTIMIZERS[optimizer](net.parameters(), lr=0.001 if optimizer == "Adam" else 0.002 * n)
    fit(net, x[:2000], labels[:2000], rule, steps=4000 // n, batch_size=n, rng=seed)
    net.eval()
    return accuracy(net.forward(x[2000:]), labels[2000:])


@conclusion(
    "With two photos at a time batch norm misses the sun in most of them; layer norm and group norm find it in most",
    vary=each(optimizer=["Adam", "SGD"], width=[32, 64], depth=[2, 4], seed=range(2)),
)
def test_two_photos_at_a_time(optimizer, width, depth, seed):
    batch, layer, group = (sun_found(norm, 2, seed, optimizer, width, depth) for norm in ("batch", "layer", "group"))
    return batch < 0.5 < 0.65 < min(layer, group)


@conclusion(
    "A small batch hurts batch norm most where its samples differ in something that should not matter.",
    vary=each(optimizer=["Adam", "SGD"], width=[32, 64], seed=range(3)),
)
def test_one_light_hurts_less(optimizer, width, seed):
    one, five = (sun_found("batch", 2, seed, optimizer, width, 2, lights) for lights in (1, 5))
    return one > five + 0.2


@conclusion(
    "Weight standardization brings the weights of all units to one scale, at any batch size.",
    vary=each(data=[normal, skewed], inputs=[64, 512], spread=[3, 30], seed=range(3)),
)
def test_one_scale(data, inputs, spread, seed):
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.1, spread, size=(32, 1)) * (data(rng, (32, inputs)) + rng.normal(size=(32, 1)))
    x = np.maximum(rng.normal(size=(2000, inputs)), 0)
    before, after = ((x @ weights.T).std(axis=0) for weights in (w, weight_standardization(w)))
    return bool(after.max() / after.min() < 1.25 < before.max() / before.min())
