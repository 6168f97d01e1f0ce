"""Lesson 00: how an exercise works, on the smallest one there is."""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import NO_PARENTHESES, in_float32, one_pass


def _standardize(x):
    """(x - mean) / standard deviation of one vector, the variance divided by the count."""
    x = np.asarray(x, dtype=float)
    return (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean())


def _standardize_as_it_comes(x):
    return (x - x.mean()) / x.std()


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
            NO_PARENTHESES,
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
        Mistake(lambda x: (x.mean() - x) / x.std(), "your difference has the wrong sign: it is x minus its mean"),
        Mistake(lambda x: (x - x.mean()) * x.std(), "you multiplied by the standard deviation; divide by it"),
        Mistake(
            lambda x: x / np.linalg.norm(x),
            "you divided by the length of x as a vector; subtract the mean, then divide by the standard deviation",
        ),
        Mistake(
            lambda x: x / x.max(),
            "you divided by the largest value; asked is mean 0 and standard deviation 1",
        ),
        Mistake(
            lambda x: x / x.sum(),
            "you made the sum 1; asked is mean 0 and standard deviation 1",
        ),
        Mistake(
            lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5),
            "you added an epsilon to the variance, as norms do; here the answer has exactly standard deviation 1",
        ),
        Mistake(
            lambda x: (x - x.mean()) / (x.std() + 1e-5),
            "you added an epsilon to the standard deviation; here the answer has exactly standard deviation 1",
        ),
        Mistake(
            lambda x: x / np.sqrt((x**2).mean()),
            "you divided by the root mean square without subtracting the mean; the mean is not yet 0",
        ),
        Mistake(
            lambda x: (x - np.median(x)) / x.std(),
            "you subtracted the median; asked is mean 0",
        ),
        in_float32(_standardize_as_it_comes),
        one_pass(lambda x: (x - x.mean()) / np.sqrt((x**2).mean() - x.mean() ** 2)),
        Mistake(
            lambda x: (x - x.min()) / (x.max() - x.min()),
            "you moved the numbers into the range 0 to 1; asked is mean 0 and standard deviation 1",
        ),
    ],
)
EXERCISES = [STANDARDIZE]
