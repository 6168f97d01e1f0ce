"""Lesson 07: conclusions about group and instance norm, tried with other images, changes, sizes, seeds and batches."""

from functools import cache

import numpy as np

from helpers.datasets import digits
from helpers.layers import GroupNorm
from helpers.nets import SGD, Adam, accuracy, fit, mlp
from helpers.norms import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_standardization
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.samples import normal, skewed


def colored_digits(rng, shape):
    """Digits in inks and on papers of random colors, as photos with shape[1] channels of 8 by 8 pixels."""
    paper, ink = rng.uniform(0.3, 1, size=(2, shape[0], shape[1], 1, 1))
    chosen = digits().x[rng.integers(0, 1797, size=shape[0])][:, None]
    return paper - ink * chosen + rng.normal(0, 0.02, size=(*shape[:2], 8, 8))


DATA = [normal, skewed, colored_digits]
NORMS = {
    "1 group": lambda x: group_norm(x, 1, eps=0).y,
    "2 groups": lambda x: group_norm(x, 2, eps=0).y,
    "3 groups": lambda x: group_norm(x, 3, eps=0).y,
    "instance norm": lambda x: instance_norm(x, eps=0).y,
    "RMSNorm": lambda x: rms_norm(x, axis=(1, 2, 3), eps=0).y,
    "batch norm": lambda x: batch_norm(x, eps=0).y,
}


def left_over(norm, x, changed):
    """RMS change of the first image's output when it is changed and the other images are not."""
    batch = np.concatenate([changed[:1], x[1:]])
    return np.sqrt(np.mean((NORMS[norm](batch)[0] - NORMS[norm](x)[0]) ** 2))


def undone(norm, x, changed):
    return bool(left_over(norm, x, changed) < 1e-6)


def six_channels(data, seed, count=8):
    return data(np.random.default_rng(seed), (count, 6, 8, 8))


def by_color(red, green, blue):
    return np.repeat([red, green, blue], 2)[:, None, None]


@conclusion(
    "The number of groups leads from layer norm over (C, H, W), with 1 group, to instance norm, with C groups.",
    vary=each(data=[normal, skewed], shape=[(1, 2, 3, 5), (4, 6, 8, 8), (3, 64, 2, 2)], eps=[1e-12, 1e-5, 1]),
)
def test_both_ends(data, shape, eps):
    x = data(np.random.default_rng(0), shape)
    one = np.allclose(group_norm(x, 1, eps=eps).y, layer_norm(x, axis=(1, 2, 3), eps=eps).y)
    return bool(one and np.allclose(group_norm(x, shape[1], eps=eps).y, instance_norm(x, eps=eps).y))


@conclusion(
    "With eps = 0 a norm undoes one a x + b for each set of values that share a mean, so splitting each group into "
    "smaller ones undoes every change that the whole groups undo, and more.",
    vary=each(data=[normal, skewed], groups=[1, 2, 4], parts=[2, 3], size=[1, 30], seed=range(3)),
)
def test_splitting_groups(data, groups, parts, size, seed):
    rng = np.random.default_rng(seed)
    channels = 2 * groups * parts
    x = data(rng, (2, channels, 6, 6))

    def change(count):
        """An a x + b with a > 0 for each of `count` blocks of channels."""
        a, b = rng.uniform([0.1, -1], [3, 1], size=(count, 2)).T * [[1], [size]]
        return (np.repeat(v, channels // count)[:, None, None] for v in (a, b))

    def undoes(number, count):
        a, b = change(count)
        return np.allclose(group_norm(a * x + b, number, eps=0).y, group_norm(x, number, eps=0).y, atol=1e-6)

    small = groups * parts
    return bool(undoes(groups, groups) and undoes(small, groups) and undoes(small, small) and not undoes(groups, small))


@conclusion(
    "Dim and fog change all values in the same way, so any number of groups undoes them. RMSNorm subtracts nothing, so "
    "it undoes dim only.",
    vary=each(data=DATA, factor=[0.05, 0.35, 3], shift=[0.5, -2, 20], seed=range(3)),
)
def test_dim_and_fog(data, factor, shift, seed):
    x = six_channels(data, seed)
    groups = list(NORMS)[:4]
    dim, fog = factor * x, factor * x + shift
    any_number = all(undone(name, x, changed) for name in groups for changed in (dim, fog))
    return any_number and undone("RMSNorm", x, dim) and not undone("RMSNorm", x, fog)


@conclusion(
    "Three groups are the three colors; each of two groups mixes colors.",
    vary=each(
        data=DATA,
        factors=[(0.6, 0.8, 0.6), (1, 1, 0.3), (2, 1, 0.5)],
        shifts=[(0, 0, 0.4), (0.1, 0.2, 0.3), (0, 5, 0)],
        seed=range(3),
    ),
)
def test_a_color_cast(data, factors, shifts, seed):
    x = six_channels(data, seed)
    cast = by_color(*factors) * x + by_color(*shifts)
    undoing = {name for name in NORMS if undone(name, x, cast)}
    return undoing == {"3 groups", "instance norm"}


@conclusion(
    "The shadow has two factors within one channel. No norm here undoes it.",
    vary=each(data=DATA, factor=[0.1, 0.4, 0.8], columns=[1, 4, 7], seed=range(3)),
)
def test_a_shadow(data, factor, columns, seed):
    x = six_channels(data, seed)
    shadow = np.where(np.arange(8) < columns, factor, 1) * x
    return not any(undone(name, x, shadow) for name in NORMS)


@conclusion(
    "In this batch of eight, batch norm undoes none of them for one photo, because the mean it subtracts comes mostly "
    "from the other photos.",
    vary=each(data=DATA, count=[2, 8, 64], seed=range(3)),
)
def test_batch_norm_undoes_none(data, count, seed):
    x = six_channels(data, seed, count)
    cast = by_color(0.6, 0.8, 0.6) * x + by_color(0, 0, 0.4)
    shadow = np.where(np.arange(8) < 4, 0.4, 1) * x
    return all(left_over("batch norm", x, changed) > 0.01 for changed in (0.35 * x, 0.4 * x + 0.5, cast, shadow))


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
    vary=each(factor=[1.5, 2, 3], error=[0.01, 0.02], groups=[1, 2, 3, 6], seed=range(3)),
)
def test_evening(factor, error, groups, seed):
    rng = np.random.default_rng(seed)
    evening = np.arange(400) % 2
    x = photos(rng, 400)
    x[evening == 1, :2] *= factor
    y = group_norm(x, groups).y
    read = np.hstack([y.mean(axis=(2, 3)), y.std(axis=(2, 3)), np.ones((400, 1))])
    read += error * rng.normal(size=read.shape)
    weights = np.linalg.lstsq(read[:200], evening[:200] - 0.5, rcond=None)[0]
    right = np.mean((read[200:] @ weights > 0) == evening[200:])
    return bool(0.3 < right < 0.7 if groups >= 3 else right > 0.9)


def photos(rng, count):
    """Six channels: two areas of fixed colors that differ in size and light from photo to photo."""
    border = rng.integers(3, 6, size=(count, 1, 1, 1))
    sky, ground = (
        np.reshape(c, (6, 1, 1)) for c in ([0.45, 0.5, 0.6, 0.65, 0.85, 0.9], [0.35, 0.3, 0.55, 0.6, 0.2, 0.25])
    )
    tone = rng.uniform(0.8, 1, size=(count, 1, 1, 1))
    x = tone * np.where(np.arange(8)[:, None] < border, sky, ground)
    return x + rng.normal(0, 0.012, size=(count, 6, 8, 8))


@conclusion(
    "AdaIN replaces the mean and the standard deviation of each channel.",
    vary=each(data=[normal, skewed], pixels=[(4, 9), (24, 24)], style=[(5, 5), (40, 8)], size=[0.3, 1, 100]),
)
def test_adain(data, pixels, style, size):
    rng = np.random.default_rng(0)
    content, look = 2 + size * data(rng, (1, 6, *pixels)), 1 + data(rng, (6, *style))
    mean, sd = look.mean(axis=(1, 2), keepdims=True), look.std(axis=(1, 2), keepdims=True)
    result = sd * instance_norm(content).y[0] + mean
    same_places = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(result, content[0], strict=True)]
    exchanged = np.allclose(result.mean(axis=(1, 2)), mean.ravel()) and np.allclose(
        result.std(axis=(1, 2)), sd.ravel(), rtol=1e-3
    )
    return bool(exchanged and np.allclose(same_places, 1))


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
    return bool(np.allclose(group_norm(x[:count], groups).y[0], group_norm(x, groups).y[0]))


@conclusion(
    "The output varies about twice as much in a batch of 64 in ghosts of 16 as in a whole batch of 64.",
    vary=each(data=[normal, colored_digits], seed=range(4)),
)
def test_ghost_batch_norm(data, seed):
    def in_ghosts(x):
        return np.concatenate([batch_norm(ghost).y for ghost in np.split(x, 4)])

    whole = variation(lambda x: batch_norm(x).y, data, 64, seed)
    return bool(1.5 < variation(in_ghosts, data, 64, seed) / whole < 2.7)


SKY, HILL, SUN = [0.45, 0.6, 0.85], [0.35, 0.55, 0.2], [1, 0.9, 0.5]


def hills(seed, lights, count=2400, size=10):
    """Photos (count, 3 * size * size) of hills under five kinds of light, or one, and the sun's column of five."""
    rng = np.random.default_rng([seed, 3])
    row, column = np.mgrid[:size, :size] / (size - 1)
    sky, hill, sun = (np.reshape(c, (3, 1, 1)) for c in (SKY, HILL, SUN))
    places = [
        lambda x: x,
        lambda x: 0.35 * x,
        lambda x: 0.4 * x + 0.5,
        lambda x: np.reshape([0.6, 0.8, 0.6], (3, 1, 1)) * x + np.reshape([0, 0, 0.4], (3, 1, 1)),
        lambda x: np.where(np.arange(size) < size // 2, 0.4, 1) * x,
    ]
    photos, columns = [], rng.integers(5, size=count)
    for k in columns:
        up, wave, tone, inside = rng.uniform([0.12, 0, 0.8, 0.1], [0.3, 6, 1, 0.9])
        x = np.where(row > 0.62 + 0.12 * np.sin(4 * column + wave), hill * (1.3 - 0.6 * row), sky * (1 - 0.45 * row))
        left = 0.15 + 0.7 * (k + inside) / 5
        x = tone * np.where(np.hypot(row - up, column - left) < 0.13, sun, x) + rng.normal(0, 0.012, (3, size, size))
        photos.append(places[rng.integers(lights)](x).ravel())
    photos = np.array(photos)
    return (photos - photos.mean()) / photos.std(), columns


@cache
def sun_found(norm, n, seed, optimizer="Adam", width=64, depth=2, lights=5):
    x, labels = hills(seed, lights)
    norm = {"batch": "batch", "layer": "layer", "group": lambda width: GroupNorm(4, width)}[norm]
    net = mlp([x.shape[1], *[width] * depth, 5], norm=norm, rng=seed)
    made = Adam(net.parameters(), lr=0.001) if optimizer == "Adam" else SGD(net.parameters(), lr=0.002 * n)
    fit(net, x[:2000], labels[:2000], made, steps=4000 // n, batch_size=n, rng=seed)
    net.eval()
    return accuracy(net.forward(x[2000:]), labels[2000:])


@conclusion(
    "With two photos at a time batch norm misses the sun in most of them; layer norm and group norm find it in most",
    vary=each(optimizer=["Adam", "SGD"], width=[32, 64], depth=[2, 4], seed=range(2)),
)
def test_two_photos_at_a_time(optimizer, width, depth, seed):
    how = (2, seed, optimizer, width, depth)
    return bool(sun_found("batch", *how) < 0.5 < 0.65 < min(sun_found(norm, *how) for norm in ("layer", "group")))


@conclusion(
    "A small batch hurts batch norm most where its samples differ in something that should not matter.",
    vary=each(optimizer=["Adam", "SGD"], width=[32, 64], seed=range(3)),
)
def test_one_light_hurts_less(optimizer, width, seed):
    one, five = (sun_found("batch", 2, seed, optimizer, width, 2, lights) for lights in (1, 5))
    return bool(one > five + 0.2)


@conclusion(
    "Standardized weights do not change, up to eps, when all weights become a w + b",
    vary=each(data=[normal, skewed], shape=[(32, 64), (8, 3, 3, 3)], a=[0.5, 7, 100], b=[-5, 0.3]),
)
def test_shifted_weights(data, shape, a, b):
    w = data(np.random.default_rng(0), shape)
    return bool(np.abs(weight_standardization(a * w + b) - weight_standardization(w)).max() < 1e-3)


@conclusion(
    "If the weights of a unit sum to 0, adding a number to all its inputs does not change its output.",
    vary=each(data=[normal, skewed], units=[1, 32], inputs=[8, 512], added=[-3, 5, 100]),
)
def test_shifted_inputs(data, units, inputs, added):
    rng = np.random.default_rng(inputs)
    w = weight_standardization(data(rng, (units, inputs)))
    x = data(rng, (20, inputs))
    return bool(np.allclose((x + added) @ w.T, x @ w.T, atol=1e-6))


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
