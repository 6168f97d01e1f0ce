"""Lesson 05: RMSNorm, its float16 form in LLaMA's order of casts, and gamma folded into the next layer."""

import numpy as np

from ...exercises import Exercise, case
from ...exercises.shared import by_hand, same_dtype

NOTHING = "you subtracted the mean, as layer norm does; RMSNorm subtracts nothing"
GAMMA_FIRST = "you multiplied by gamma before normalizing, which changes the root mean square too; multiply after it"
ONE_MORE = "you multiplied by 1 + gamma, as models that store gamma - 1 do; here gamma is the scale itself"
ROUNDED = "right to three digits only; some step is rounded to float16 that should not be, or not at its place"


def _rms_cases(rng):
    def one(shape, mean=0.0, scale=1.0, **kwargs):
        return case(mean + scale * rng.standard_normal(shape), rng.uniform(0.5, 2.0, shape[-1]), **kwargs)

    return [
        one((5, 3), mean=2, label="small x"),
        one((2, 5, 4), mean=1, label="sequence"),
        one((4, 6), scale=1e-3, label="tiny scale"),
        one((4, 3), eps=0.5, label="large eps"),
        case(np.zeros((2, 3)), np.ones(3), label="zeros"),
    ]


RMS_NORM = Exercise(
    solution="""
def my_rms_norm(x, gamma, eps=1e-6):
    mean_square = (x**2).mean(axis=-1, keepdims=True)  # the mean square
    return gamma * x / np.sqrt(mean_square + eps)  # the output
""",
    cases=_rms_cases,
    tol=1e-5,
    variants=["(x**2).mean(axis=-1, keepdims=True) -> np.sum(x**2, axis=-1, keepdims=True) / x.shape[-1]"],
    worked=[(by_hand([[1, 7]], [1, 2], eps=0), [[0.2, 2.8]])],
    mistakes={
        "+ x = x - x.mean(axis=-1, keepdims=True)": NOTHING,
        "(x**2).mean -> x.var": "you divided by the standard deviation; the root mean square includes the mean",
        "gamma * x -> (1 + gamma) * x": ONE_MORE,
        "+ x = gamma * x\ngamma * x / -> x /": GAMMA_FIRST,
    },
)


def _compare_16(result, expected, tol):
    """Nearly all values equal to the bit, the others one step of float16 away.

    A last bit of float32 that differs between processors moves one output in a thousand to the neighboring float16;
    casting in another order moves one in four.
    """
    passed, text = same_dtype(result, expected, tol)
    if passed and np.mean((getattr(result, "y", result) == expected) | np.isnan(expected)) < 0.97:
        return False, ROUNDED
    return passed, text


def _llama_cases(rng):
    def one(shape, scale, label, **kwargs):
        x = (scale * rng.standard_normal(shape)).astype(np.float16)
        return case(x, rng.uniform(0.5, 1.5, shape[-1]).astype(np.float16), label=label, **kwargs)

    return [
        one((8, 64), 1, "usual size"),
        one((4, 64), 1000, "squares beyond float16"),
        one((4, 64), 1e-3, "squares below float16", eps=1e-9),
        one((2, 3, 64), 1, "sequence"),
        one((4, 16), 1, "large eps", eps=0.5),
        one((2, 4), 0, "zeros"),
    ]


LLAMA_ORDER = Exercise(
    solution="""
def my_rms_norm_llama_order(x, gamma, eps=1e-6):
    x32 = x.astype(np.float32)
    mean_square = (x32 * x32).mean(axis=-1, keepdims=True)  # the mean square
    normalized = x32 / np.sqrt(mean_square + np.float32(eps))  # the normalized values
    return gamma * normalized.astype(np.float16)  # the output
""",
    tol=1e-3,
    cases=_llama_cases,
    compare=_compare_16,
    variants=["np.float32 -2-> np.float64\nnormalized.astype( -> normalized.astype(np.float32).astype("],
    worked=[
        (case(np.float16([[3, 3]]), np.float16([1, 2]), eps=27), [[0.5, 1.0]]),
        (case(np.float16([[300, -300]]), np.float16([1, 2])), [[1, -2]]),
    ],
    mistakes={
        "gamma * normalized.astype(np.float16) -> (gamma * normalized).astype(np.float16)": (
            "you multiplied by gamma in float32 and cast once at the end, as Gemma does; LLaMA casts first"
        ),
        (
            "x.astype(np.float32) -> x",
            "x.astype(np.float32) -> x\nnp.float32(eps) -> eps",
            "(x32 * x32) -> (x * x).astype(np.float32)",
        ): ("you squared in float16, where the square of 300 is infinite and that of 0.0001 is 0; cast x up first"),
        "x32 / np.sqrt(mean_square + np.float32(eps)) -> x / np.sqrt(mean_square + eps).astype(np.float16)": (
            "you cast the root mean square to float16; divide in float32, then cast the normalized vector"
        ),
        "np.float32(eps) -> np.float16(eps)": "you cast eps to float16, where 1e-9 becomes 0; keep it in float32",
        "+ x = gamma * x\ngamma * normalized -> normalized": GAMMA_FIRST,
        "mean_square = -> x32 = x32 - x32.mean(axis=-1, keepdims=True); mean_square =": NOTHING,
    },
)


FOLD_GAMMA = Exercise(
    solution="""
def my_fold_gamma(gamma, V, b):
    return gamma[:, None] * V, b  # the result
""",
    cases=lambda rng: [
        case(rng.uniform(0.5, 2, d), rng.normal(size=(d, out)), rng.normal(size=out))
        for d, out in [(4, 3), (3, 3), (2, 5), (6, 1)]
    ],
    results=("V", "b"),
    variants=["return [np.diag(gamma) @ V, b.copy()]"],
    worked=[(by_hand([2, 3], [[1, 10], [100, 1000]], [5, 6]), ([[2, 20], [300, 3000]], [5, 6]))],
    mistakes={
        "gamma[:, None] * V -> gamma * V": "you lined up gamma with the columns of V, the outputs; feature i meets row i",
        "* V, b -> * V, b + gamma @ V": "you added gamma @ V to the bias, as for a beta; gamma only multiplies",
        "gamma[:, None] * V -> (1 + gamma)[:, None] * V": ONE_MORE,
        "gamma[:, None] * V -> gamma @ V": "you added up the features; multiply the rows of V by gamma instead",
    },
)

EXERCISES = [RMS_NORM, LLAMA_ORDER, FOLD_GAMMA]
