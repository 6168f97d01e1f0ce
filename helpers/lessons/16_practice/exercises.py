"""Lesson 16: a network with four bugs, to be fixed."""

import itertools

import numpy as np

from ...exercises import Exercise, case

# The network: pixels normalized, a layer, ReLU, a layer normalized, ReLU, a layer. The notebook plants four bugs.
# Each is an edit of the solution, and so are fixes that do not quite succeed.
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

CLUMSY = {
    f"{NORMALIZE} -> (z - mean) / np.sqrt(var)": "you left out epsilon, so a tiny variance makes the output too large",
    f"{STATISTICS} -> z[real].mean(axis=0), z.var(axis=0)": (
        "your mean leaves the blank rows out, your variance still counts them"
    ),
    f"{SCORING} -> {SCORING}; w1, w2, w3 = checkpoints[0]": (
        "your scores come from the first weights and your statistics from the last; both need the last"
    ),
}


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


ONE = np.ones((1, 1))
PACKET = np.array([[[1.0], [3], [0]]]), np.array([[True, True, False]])
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
    mistakes={fix: f"1 of 4 bugs is left; {sentence}" for fix, sentence in CLUMSY.items()},
    variants=[
        f"{STATISTICS} -> (mean := real @ z / real.sum()), real @ (z - mean) ** 2 / real.sum()\n"
        f"{UPDATE} -> old + (1 - momentum) * (now - old)"
    ],
    # The packet holds 1 and 3: mean 2, variance 1, root 2; then 0 and 2 with mean 1, variance 1. A quarter of that is
    # stored: means 0.5 and 0.25, variances 1. The image: (3 - 0.5)/2 · 2 · 2 = 5, then (5 - 0.25)/2 · 8.
    worked=[(case([[3]], *PACKET, [[ONE] * 3, [2 * ONE, 2 * ONE, 8 * ONE]], momentum=0.75, eps=3), [[19]])],
)

EXERCISES = [MENDED_NETWORK]
