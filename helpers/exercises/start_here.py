"""Lesson 00: how an exercise works, on the smallest one there is."""

import numpy as np

from .checker import Exercise, Mistake, case


def _standardize(x):
    """(x - mean) / standard deviation of one vector, the variance divided by the count."""
    x = np.asarray(x, dtype=float)
    return (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean())


def _cases(rng):
    return [
        case(np.array([1.0, 2.0, 6.0]), label="1, 2, 6"),
        case(rng.normal(5, 3, size=4), label="four numbers"),
        case(rng.normal(1e8, 1, size=10), label="large mean"),
    ]


STANDARDIZE = Exercise(
    name="my_standardize",
    signature="my_standardize(x)",
    reference=_standardize,
    cases=_cases,
    variants=[
        lambda x: (x - np.mean(x)) / np.std(x),
        lambda x: (x - x.sum() / len(x)) * len(x) ** 0.5 / np.linalg.norm(x - x.mean()),
    ],
    mistakes=[
        Mistake(
            lambda x: (x - x.mean()) / x.std(ddof=1),
            "you divided by the root of the sum of squares over n - 1; norms divide by n, the number of values",
        ),
        Mistake(lambda x: (x - x.mean()) / x.var(), "you divided by the variance, not by its root"),
        Mistake(lambda x: x - x.mean(), "the mean is right, but the standard deviation is not yet 1"),
        Mistake(lambda x: x / x.std(), "the standard deviation is right, but the mean is not yet 0"),
        Mistake(
            lambda x: x / x.std() - x.mean(), "you divided first and then subtracted the mean of the undivided numbers"
        ),
        Mistake(
            lambda x: x - x.mean() / x.std(),
            "without parentheses only the mean is divided: a quotient is computed before a difference",
        ),
        Mistake(
            lambda x: (x - x.mean()) / np.abs(x - x.mean()).mean(),
            "you divided by the mean of the absolute distances; the standard deviation is the root of the mean square",
        ),
        Mistake(
            lambda x: (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).sum()),
            "you took the root of the sum of squares; take the mean of the squares, so divide the sum by n",
        ),
        Mistake(
            lambda x: (x - x.mean()) / np.sqrt((x**2).mean()),
            "your divisor is the root mean square of x itself; subtract the mean before you square",
        ),
        Mistake(
            lambda x: (x - np.median(x)) / x.std(),
            "you subtracted the median; asked is mean 0",
        ),
        Mistake(
            lambda x: (x - x.mean()) / np.sqrt((x**2).mean() - x.mean() ** 2),
            "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits "
            "cancel; subtract the mean first, then square",
            wrong_anyhow="large mean",
        ),
        Mistake(
            lambda x: (x - x.min()) / (x.max() - x.min()),
            "you moved the numbers into the range 0 to 1; asked is mean 0 and standard deviation 1",
        ),
    ],
)
EXERCISES = [STANDARDIZE]
