"""Lesson 15: a network with four faults, to be mended."""

import itertools

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import CANCELS, NORMALIZING

# The network: pixels normalized, a layer, ReLU, a layer normalized, ReLU, a layer. It is made of four steps, and each
# has a right form, the fault that the notebook plants, and clumsy mends.


def _inside(z, mean, var, eps):
    return (z - mean) / np.sqrt(var + eps)


def _outside(z, mean, var, eps):
    return (z - mean) / (np.sqrt(var) + eps)


def _of_images(z, real):
    return z[real].mean(axis=0), z[real].var(axis=0)


def _of_all_rows(z, real):
    return z.mean(axis=0), z.var(axis=0)


def _keeps(stored, new, momentum):
    return momentum * stored + (1 - momentum) * new


def _takes(stored, new, momentum):
    return (1 - momentum) * stored + momentum * new


def _last(checkpoints):
    return checkpoints[-1], checkpoints[-1]


def _first(checkpoints):
    """The weights for the statistics, the weights for the scores."""
    return checkpoints[0], checkpoints[-1]


RIGHT = {"normalize": _inside, "statistics": _of_images, "update": _keeps, "choose": _last}
FAULTS = {"normalize": _outside, "statistics": _of_all_rows, "update": _takes, "choose": _first}


def _network(normalize, statistics, update, choose):
    """`my_mended_network`, made of these four steps."""

    def attempt(images, packets, filled, checkpoints, momentum, eps):
        (w1, w2, _), scoring = choose(checkpoints)
        stored = [np.zeros(w1.shape[0]), np.ones(w1.shape[0]), np.zeros(w2.shape[1]), np.ones(w2.shape[1])]
        for rows, real in zip(packets, filled, strict=True):
            of_pixels = statistics(rows, real)
            hidden = np.maximum(normalize(rows, *of_pixels, eps) @ w1, 0) @ w2
            new = [*of_pixels, *statistics(hidden, real)]
            stored = [update(old, found, momentum) for old, found in zip(stored, new, strict=True)]
        w1, w2, w3 = scoring
        hidden = np.maximum(normalize(images, *stored[:2], eps) @ w1, 0) @ w2
        return np.maximum(normalize(hidden, *stored[2:], eps), 0) @ w3

    return attempt


def _in_one_go(images, packets, filled, checkpoints, momentum, eps):
    """The same, the packets first all normalized, then averaged with weights written out."""
    w1, w2, w3 = checkpoints[-1]
    real = [rows[mask] for rows, mask in zip(packets, filled, strict=True)]

    def stored(values):
        ages = np.arange(len(values))[::-1]
        weights = (1 - momentum) * momentum**ages
        pairs = []
        for power, start in ((np.mean, 0.0), (np.var, 1.0)):
            found = np.stack([power(value, axis=0) for value in values])
            pairs.append(momentum ** len(values) * start + weights @ found)
        return pairs

    def layers(rows):
        return np.maximum(rows @ w1, 0) @ w2

    hidden = [layers((rows - rows.mean(axis=0)) / (rows.var(axis=0) + eps) ** 0.5) for rows in real]
    mean, var = stored(real)
    mean_hidden, var_hidden = stored(hidden)
    z = layers((images - mean) / (var + eps) ** 0.5)
    return np.maximum((z - mean_hidden) / (var_hidden + eps) ** 0.5, 0) @ w3


def _of_images_by_sums(z, real):
    count = real.sum()
    mean = (z * real[:, None]).sum(axis=0) / count
    return mean, ((z - mean) ** 2 * real[:, None]).sum(axis=0) / count


def _mean_of_images(z, real):
    return z[real].mean(axis=0)


# What a mend of a step may look like that does not quite succeed.
CLUMSY = {
    "normalize": NORMALIZING[1:],  # the first is the fault itself
    "statistics": [
        (
            lambda z, real: (_mean_of_images(z, real), z.var(axis=0)),
            "your mean leaves the blank rows out, your variance still counts them",
        ),
        (
            lambda z, real: (z.mean(axis=0), z[real].var(axis=0)),
            "your variance leaves the blank rows out, your mean still counts them",
        ),
        (
            lambda z, real: _of_all_rows(z * real[:, None], real),
            "you set the blank rows to 0, but they are still counted; average over the images only",
        ),
        (
            lambda z, real: (
                _mean_of_images(z, real),
                ((z - _mean_of_images(z, real)) ** 2 * real[:, None]).mean(axis=0),
            ),
            "your variance divides by the number of all rows; divide by the number of images",
        ),
        (
            lambda z, real: _of_images(z, z.any(axis=1)),
            "you find the blank rows by their zeros, but after the first norm they are no longer 0; filled tells them",
        ),
        (
            lambda z, real: (z[real].mean(axis=0), z[real].var(axis=0, ddof=1)),
            "you divided by n - 1 in the variance; this network was trained with n",
        ),
        (
            lambda z, real: (z[real].mean(), z[real].var()),
            "you took one mean and one variance for all features; each feature has its own, so average over axis 0",
        ),
        (
            lambda z, real: _of_images(z, ~real if not real.all() else real),
            "you kept the blank rows and left the images out; filled is True where a row holds an image",
        ),
    ],
    "update": [
        (lambda stored, new, momentum: new, "only the last packet is left in your stored statistics"),
        (
            lambda stored, new, momentum: momentum * stored + new,
            "your two weights do not add up to 1, so the stored statistics grow",
        ),
        (
            lambda stored, new, momentum: 0.9 * stored + 0.1 * new,
            "you always give a new packet the weight 0.1; the argument momentum says the weight",
        ),
    ],
    "choose": [
        (
            lambda checkpoints: (checkpoints[0], checkpoints[0]),
            "your scores come from the first weights; both, statistics and scores, need the last",
        ),
        (
            lambda checkpoints: (checkpoints[-1], checkpoints[0]),
            "your scores come from the first weights and your statistics from the last; both need the last",
        ),
    ],
}


def _left(steps):
    """How many steps are not right, in words."""
    count = sum(steps[name] is not RIGHT[name] for name in RIGHT)
    return f"{count} of 4 faults {'is' if count == 1 else 'are'} left"


def _mistakes():
    """Every choice of faults that are left, alone and beside one clumsy mend."""
    for names in itertools.product(*[(False, True)] * 4):
        steps = {name: (FAULTS if left else RIGHT)[name] for name, left in zip(RIGHT, names, strict=True)}
        if 0 < sum(names) < 4:
            yield Mistake(_network(**steps), _left(steps))
        for name, left in zip(RIGHT, names, strict=True):
            for step, sentence in CLUMSY[name] if left else []:
                mended = steps | {name: step}
                yield Mistake(_network(**mended), f"{_left(mended)}; {sentence}")
    never = RIGHT | {"update": lambda stored, new, momentum: stored}
    for steps in (never, never | {"normalize": _outside}):
        yield Mistake(_network(**steps), "your stored statistics never change, whatever the packets hold")
    one_pass = RIGHT | {"statistics": lambda z, real: (z[real].mean(0), (z[real] ** 2).mean(0) - z[real].mean(0) ** 2)}
    yield Mistake(_network(**one_pass), f"{_left(one_pass)}; {CANCELS}", wrong_anyhow="B, large mean")


def _probe(rng, label, *, padded=False, momentum=0.5, eps=0.0, checkpoints=1, mean=0.0, scale=1.0):
    """A small network and five packets. With the default settings all four faults but one are without effect.

    At momentum 0.5 both meanings agree, at eps 0 both places, without padding both statistics, and when the first
    weights are the last, both choices.
    """
    sizes = (6, 5, 4, 3)
    packets = mean + scale * rng.normal(1, 2, size=(5, 8, sizes[0]))
    filled = np.arange(8) < rng.integers(4 if padded else 8, 8, size=(5, 1), endpoint=not padded)
    packets = packets * filled[..., None]
    weights = [[rng.normal(size=shape) for shape in itertools.pairwise(sizes)] for _ in range(checkpoints)]
    images = mean + scale * rng.normal(1, 2, size=(7, sizes[0]))
    return case(images, packets, filled, [weights[0], weights[-1]], momentum, eps, label=label)


def _cases(rng):
    return [
        _probe(rng, "A", eps=0.5),
        _probe(rng, "A, tiny scale", eps=1e-3, scale=1e-3),
        _probe(rng, "B", padded=True),
        _probe(rng, "B, large mean", padded=True, mean=1e8),
        _probe(rng, "C", momentum=0.9),
        _probe(rng, "C, slow", momentum=0.99),
        _probe(rng, "D", checkpoints=2),
    ]


EXERCISES = [
    Exercise(
        name="my_mended_network",
        signature="my_mended_network(images, packets, filled, checkpoints, momentum, eps)",
        reference=_network(**RIGHT),
        given=_network(**FAULTS),
        cases=_cases,
        mistakes=list(_mistakes()),
        variants=[_in_one_go, _network(**RIGHT | {"statistics": _of_images_by_sums})],
    )
]
