"""Lesson 00: how an exercise works, on the smallest one there is."""

import numpy as np

from ...exercises import Exercise, case


def _cases(rng):
    return [
        case(np.array([1.0, 2.0, 6.0]), label="1, 2, 6"),
        case(rng.normal(5, 3, size=4), label="four numbers"),
        case(rng.normal(1e8, 1, size=10), label="large mean"),
    ]


def _in_steps(x):
    centered = x - np.mean(x)  # the distances to the mean
    std = np.sqrt(np.mean(centered**2))  # the standard deviation
    return centered / std  # the output


STANDARDIZE = Exercise(
    solution="""
def my_standardize(x):
    return (x - x.mean()) / x.std()
""",
    cases=_cases,
    variants=[_in_steps],
    worked=[(case(np.array([2, 2, 2, 2, 7])), [-0.5, -0.5, -0.5, -0.5, 2])],
    mistakes={
        "x.std() -> x.std(ddof=1)": (
            "you divided by the root of the sum of squares over n - 1; norms divide by n, the number of values"
        ),
        "x.std() -> np.sqrt(x.var() + 1e-5)": "you added an epsilon, as norms do; here the deviation becomes exactly 1",
        "return (x - x.min()) / (x.max() - x.min())": (
            "you moved the numbers into the range 0 to 1; the result needs mean 0 and standard deviation 1"
        ),
    },
)

EXERCISES = [STANDARDIZE]
