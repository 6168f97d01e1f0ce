"""Lesson 15: a network with four bugs, to be fixed."""

import itertools

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.steps import CANCELS, NORMALIZING, in_place_of

# The network: pixels normalized, a layer, ReLU, a layer normalized, ReLU, a layer. The notebook plants four bugs.
# Each is an edit of the solution, and so are the clumsy fixes of it.

NORMALIZE = "(z - mean) / np.sqrt(var + eps)"
STATISTICS = "z[real].mean(axis=0), z[real].var(axis=0)"
UPDATE = "momentum * old + (1 - momentum) * now"
WEIGHTS = "w1, w2, w3 = checkpoints[-1]"
SCORING = "mean, var, z_mean, z_var = stored"

FAULTS = {
    "normalize": f"{NORMALIZE} -> (z - mean) / (np.sqrt(var) + eps)",
    "statistics": f"{STATISTICS} -> z.mean(axis=0), z.var(axis=0)",
    "update": f"{UPDATE} -> (1 - momentum) * old + momentum * now",
    "choose": f"{WEIGHTS} -> w1, w2, w3 = checkpoints[0]\n{SCORING} -> {SCORING}; {WEIGHTS}",
}


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


def _by_sums(images, packets, filled, checkpoints, momentum, eps):
    """The same, the blank rows taken out by weights of 0."""
    w1, w2, w3 = checkpoints[-1]

    def counted(z, real):
        mean = real @ z / real.sum()
        return mean, real @ (z - mean) ** 2 / real.sum()

    kept = [np.zeros(len(w1)), np.ones(len(w1)), np.zeros(w2.shape[1]), np.ones(w2.shape[1])]
    for rows, real in zip(packets, filled.astype(float), strict=True):
        mean, var = counted(rows, real)
        z = np.maximum((rows - mean) / np.sqrt(var + eps) @ w1, 0) @ w2
        found = [mean, var, *counted(z, real)]
        kept = [old + (1 - momentum) * (now - old) for old, now in zip(kept, found, strict=True)]
    z = np.maximum((images - kept[0]) / np.sqrt(kept[1] + eps) @ w1, 0) @ w2
    return np.maximum((z - kept[2]) / np.sqrt(kept[3] + eps), 0) @ w3


# What a fix of a bug may look like that does not quite succeed.
CLUMSY = {
    "normalize": dict(list(in_place_of(NORMALIZE, NORMALIZING, x="z").items())[1:]),  # the first is the fault itself
    "statistics": in_place_of(
        STATISTICS,
        {
            "z[real].mean(axis=0), z.var(axis=0)": (
                "your mean leaves the blank rows out, your variance still counts them"
            ),
            "z.mean(axis=0), z[real].var(axis=0)": (
                "your variance leaves the blank rows out, your mean still counts them"
            ),
            "(z * real[:, None]).mean(axis=0), (z * real[:, None]).var(axis=0)": (
                "you set the blank rows to 0, but they are still counted; average over the images only"
            ),
            "z[real].mean(axis=0), ((z - z[real].mean(axis=0)) ** 2 * real[:, None]).mean(axis=0)": (
                "your variance divides by the number of all rows; divide by the number of images"
            ),
            "z[z.any(axis=1)].mean(axis=0), z[z.any(axis=1)].var(axis=0)": (
                "you find the blank rows by their zeros, but after the first norm they are no longer 0; use filled"
            ),
            "z[real].mean(axis=0), z[real].var(axis=0, ddof=1)": (
                "you divided by n - 1 in the variance; this network was trained with n"
            ),
            "z[real].mean(), z[real].var()": (
                "you took one mean and one variance for all features; each feature has its own, so average over axis 0"
            ),
            "z[~real if not real.all() else real].mean(axis=0), z[~real if not real.all() else real].var(axis=0)": (
                "you kept the blank rows and left the images out; filled is True where a row holds an image"
            ),
        },
    ),
    "update": in_place_of(
        UPDATE,
        {
            "now": "only the last packet is left in your running statistics",
            "momentum * old + now": "your two weights do not add up to 1, so the running statistics grow",
            "old + (1 - momentum) * now": (
                "you keep the old value whole, so the running statistics grow; the two weights have to add up to 1"
            ),
            "0.9 * old + 0.1 * now": (
                "you always give a new packet the weight 0.1; the argument momentum sets the weight"
            ),
        },
    ),
    "choose": {
        f"{WEIGHTS} -> w1, w2, w3 = checkpoints[0]": (
            "your scores come from the first weights; both, statistics and scores, need the last"
        ),
        f"{SCORING} -> {SCORING}; w1, w2, w3 = checkpoints[0]": (
            "your scores come from the first weights and your statistics from the last; both need the last"
        ),
    },
}


def _left(count):
    return f"{count} of 4 bugs {'is' if count == 1 else 'are'} left"


def _mistakes():
    """Every choice of bugs that are left, alone and beside one clumsy fix."""
    found = {}
    for count in range(5):
        for left in itertools.combinations(FAULTS, count):
            faults = [FAULTS[name] for name in left]
            if 0 < count < 4:
                found["\n".join(faults)] = _left(count)
            for name, edits in CLUMSY.items():
                for edit, sentence in edits.items() if name not in left else ():
                    found["\n".join([*faults, edit])] = f"{_left(count + 1)}; {sentence}"
    never = f"{UPDATE} -> old"
    found[never, f"{never}\n{FAULTS['normalize']}"] = "your running statistics never change, whatever the packets hold"
    one_pass = f"{STATISTICS} -> z[real].mean(axis=0), (z[real] ** 2).mean(axis=0) - z[real].mean(axis=0) ** 2"
    return found | {one_pass: Says(f"{_left(1)}; {CANCELS}", wrong_anyhow="B, large mean")}


def _probe(rng, label, *, padded=False, momentum=0.5, eps=0.0, checkpoints=1, mean=0.0, scale=1.0):
    """A small network and five packets. With the default settings all four bugs but one are without effect.

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


MENDED_NETWORK = Exercise(
    solution="""
def my_mended_network(images, packets, filled, checkpoints, momentum, eps):
    def normalize(z, mean, var):
        return (z - mean) / np.sqrt(var + eps)  # eps belongs to the variance

    def statistics(z, real):
        return z[real].mean(axis=0), z[real].var(axis=0)  # blank rows do not count

    def update(old, now):
        return momentum * old + (1 - momentum) * now  # Keras: momentum weighs old

    w1, w2, w3 = checkpoints[-1]  # the weights that will use the statistics
    m = w2.shape[1]
    stored = [np.zeros(len(w1)), np.ones(len(w1)), np.zeros(m), np.ones(m)]
    for rows, real in zip(packets, filled, strict=True):
        mean, var = statistics(rows, real)
        z = np.maximum(normalize(rows, mean, var) @ w1, 0) @ w2
        new = [mean, var, *statistics(z, real)]
        stored = [update(stored[k], new[k]) for k in range(4)]
    mean, var, z_mean, z_var = stored
    z = np.maximum(normalize(images, mean, var) @ w1, 0) @ w2
    return np.maximum(normalize(z, z_mean, z_var), 0) @ w3
""",
    given="\n".join(FAULTS.values()),
    cases=_cases,
    mistakes=_mistakes(),
    variants=[_in_one_go, _by_sums],
)

EXERCISES = [MENDED_NETWORK]
