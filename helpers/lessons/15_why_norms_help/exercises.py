"""Lesson 15: backward through a scaled branch, how far units move, and how much a gradient changes along a step."""

import numpy as np

from ...exercises import Exercise, case


def _scaled_cases(rng):
    def made(n, c, label, scale=None):
        scale = rng.uniform(0.5, 2.0, c) if scale is None else np.array(scale)
        return case(rng.standard_normal((n, c)), 1 + rng.standard_normal((n, c)), scale, label=label)

    return [
        made(5, 3, "five samples, three channels"),
        made(4, 4, "as many samples as channels"),
        made(1, 6, "one sample"),
        made(3, 5, "scale 0, as at the start", scale=np.zeros(5)),
        made(6, 2, "negative scale", scale=[-1.5, 0.5]),
    ]


SCALED_BRANCH = Exercise(
    solution="""
def my_scaled_branch_backward(dy, b, scale):
    d_skip = dy  # the gradient along the skip path
    d_branch = dy * scale  # the gradient of b
    d_scale = np.sum(dy * b, axis=0)  # the gradient of scale
    return d_skip, d_branch, d_scale
""",
    cases=_scaled_cases,
    results=("gradient along the skip path", "gradient of b", "gradient of scale"),
    variants=["np.sum(dy * b, axis=0) -> (b * dy).sum(0)"],
    worked=[(case(np.array([[1, 2]]), np.array([[5, 6]]), np.array([10, 0])), ([[1, 2]], [[10, 0]], [5, 12]))],
    mistakes={
        "d_skip = dy -> d_skip = dy * scale": "you scaled the gradient along the skip path; x is added as it is",
        "d_skip = dy -> d_skip = dy + dy * scale": "the branch is in your gradient along the skip path; it is dy alone",
        "d_skip = dy -> d_skip = np.ones_like(dy)\n= dy * scale -> = 0 * b + scale\nsum(dy * b -> sum(b": (
            "you returned how y changes; by the chain rule each of the three is multiplied by dy"
        ),
    },
)


def _shift_cases(rng):
    def made(n, c, label, scale=1.0, shift=1.0):
        before = scale * rng.standard_normal((n, c)) + 3
        return case(before, rng.uniform(0.5, 2.0, c) * before + shift * rng.standard_normal(c), label=label)

    return [
        made(8, 3, "eight samples, three units"),
        made(4, 4, "as many samples as units"),
        made(5, 2, "units that move far", shift=-4.0),
        made(6, 5, "small outputs", scale=1e-3),
    ]


SHIFT = Exercise(
    solution="""
def my_shift(before, after):
    moved = after.mean(axis=0) - before.mean(axis=0)  # the move of the mean
    return np.abs(moved) / before.std(axis=0)  # the shift
""",
    cases=_shift_cases,
    variants=["after.mean(axis=0) - before.mean(axis=0) -> (after - before).mean(axis=0)"],
    # means 2, 2 and 3, 0; standard deviations before 1, 2
    worked=[(case(np.array([[1, 0], [3, 4]]), np.array([[1, -3], [5, 3]])), [1, 1])],
    mistakes={
        "np.abs(moved) -> np.abs(after - before).mean(axis=0)": "take how far the mean moved, not each sample",
        "axis=0 -3-> axis=1": "you averaged over the units of a sample; each unit has its own mean, over the samples",
        "before.std(axis=0) -> (after - before).std(axis=0)": "divide by the spread before the step, not that of the moves",
    },
)


def _wave(w):
    return np.sin(3 * w) + 0.5 * w


def _change_cases(rng):
    w = rng.standard_normal(4)
    return [
        case(lambda w: np.arange(1.0, 5.0) * w, w, [0.1, 0.2], label="a bowl"),
        case(_wave, 2 * w, [0.1, 0.2, 0.4, 0.8], label="waves"),
        case(_wave, rng.standard_normal((3, 2)), [0.8, 0.4, 1.6, 0.1], label="a matrix, unsorted reaches"),
        case(lambda w: np.array([5.0, 0.1]) * w, np.array([1.0, -1.0]), [0.3], label="one reach"),
    ]


GRADIENT_CHANGE = Exercise(
    solution="""
def my_gradient_change(gradient, w, reaches):
    g = gradient(w)
    changes = []
    for reach in reaches:
        change = gradient(w - reach * g) - g  # the change at a reach
        changes.append(np.linalg.norm(change.ravel()))  # the length of the change
    return max(changes) / np.linalg.norm(g.ravel())  # the division by the length of g
""",
    cases=_change_cases,
    variants=[
        "np.linalg.norm(change.ravel()) -> np.sqrt(np.sum(change**2))\nnp.linalg.norm(g.ravel()) -> np.sqrt(np.sum(g * g))"
    ],
    # g = (6, 8) is 10 long; at reach r the gradient is (1 - 2r) g, so it has moved by 2r times the length of g
    worked=[(case(lambda w: 2 * w, np.array([3.0, 4.0]), [0.25, 0.75]), 1.5)],
    mistakes={
        "gradient(w - reach * g) - g  # the change at a reach -> -g + (g := gradient(w - reach * gradient(w)))\nlinalg.norm(g.ravel()) -> linalg.norm(gradient(w).ravel())": (
            "you compared each gradient with the one before; compare each with the one at w"
        ),
        "changes.append(np.linalg.norm(change.ravel())) -> "
        "return np.linalg.norm(change.ravel()) / np.linalg.norm(g.ravel())": (
            "is the return inside the loop? It ends after the first reach"
        ),
        "np.linalg.norm(change.ravel()) -> abs(change).max()\nnp.linalg.norm(g.ravel()) -> abs(g).max()": (
            "you took the largest entry; the length of an array counts all of them"
        ),
        "gradient(w - reach * g) - g -> np.linalg.norm(gradient(w - reach * g)) - np.linalg.norm(g)": (
            "you subtracted lengths; a gradient may turn and keep its length, so subtract the gradients"
        ),
        "change = gradient(w - reach * g) - g -> w = w - reach * g; change = gradient(w) - g": (
            "you went on from the last point; every reach is measured from w"
        ),
        "change.ravel() -> change, 2\ng.ravel() -> g, 2": (
            "np.linalg.norm(m, 2) of a matrix is its largest singular value; the length counts all entries"
        ),
    },
)

EXERCISES = [SCALED_BRANCH, SHIFT, GRADIENT_CHANGE]
