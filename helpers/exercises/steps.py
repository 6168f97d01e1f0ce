"""The mistakes that every norm written by hand invites, step by step, for the lessons that ask for one.

Each table holds pairs of a wrong step and the sentence that names it. An exercise puts each into its own solution
in the place of the right step; `mistakes_with` makes the list.
"""

import numpy as np

from .checker import Mistake

NO_PARENTHESES = "without parentheses only the mean is divided: a quotient is computed before a difference"
CANCELS = (
    "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits cancel; "
    "subtract the mean first, then square"
)
FLOAT32 = "you converted x to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the differences"

# (x, mean, var, eps) -> y
NORMALIZING = [
    (
        lambda x, mean, var, eps: (x - mean) / (np.sqrt(var) + eps),
        "your epsilon is outside the root: you added it to the standard deviation, it belongs to the variance",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(var) + eps,
        "your epsilon is added after the division; put var + eps in parentheses, under the root",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(var),
        "you left out epsilon, so a tiny variance blows up what is divided by it",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(var + 1e-5),
        "you ignored the argument eps and always used 1e-5",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / (var + eps),
        "you divided by the variance; x and the standard deviation have the same unit, the variance is its square",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / var,
        "you divided by the variance itself; divide by the root of the variance plus eps",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(np.sqrt(var) + eps),
        "you took the root twice: std is the root of the variance already, and eps is added to the variance",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps**2),
        "you squared eps; it is added to the variance as it is",
    ),
    (
        lambda x, mean, var, eps: (x - mean) / np.sqrt(var**2 + eps),
        "you squared the variance; it is a square already, of the standard deviation",
    ),
    (
        lambda x, mean, var, eps: (x - mean) * np.sqrt(var + eps),
        "you multiplied by the standard deviation; divide by it",
    ),
    (
        lambda x, mean, var, eps: x - mean + 0 * var,
        "you subtracted the mean but did not divide by the root of var + eps",
    ),
    (
        lambda x, mean, var, eps: (mean - x) / np.sqrt(var + eps),
        "your difference has the wrong sign: it is x - mean, not mean - x",
    ),
    (lambda x, mean, var, eps: x / np.sqrt(var + eps) + 0 * mean, "you did not subtract the mean"),
    (lambda x, mean, var, eps: x - mean / np.sqrt(var + eps), NO_PARENTHESES),
]

# (y, gamma, beta) -> the output
AFFINE = [
    (lambda y, gamma, beta: y, "you did not apply gamma and beta"),
    (lambda y, gamma, beta: gamma * y, "you applied gamma but not beta"),
    (lambda y, gamma, beta: y + beta, "you applied beta but not gamma"),
    (
        lambda y, gamma, beta: gamma * (y + beta),
        "you added beta before multiplying by gamma; the scale comes first, then the shift",
    ),
    (lambda y, gamma, beta: beta * y + gamma, "gamma and beta have changed places: gamma multiplies, beta is added"),
    (lambda y, gamma, beta: gamma * y - beta, "you subtracted beta; it is added"),
    (lambda y, gamma, beta: y + gamma * beta, "you multiplied beta by gamma; gamma multiplies y, and beta is added"),
]

# (x, mean, var, gamma, beta, eps) -> the output
MIXED_UP = [
    (
        lambda x, mean, var, gamma, beta, eps: gamma * x - mean / np.sqrt(var + eps) + beta,
        "without parentheses gamma multiplies x alone and the root divides the mean alone; put x - mean in parentheses",
    ),
    (
        lambda x, mean, var, gamma, beta, eps: (gamma * x - mean) / np.sqrt(var + eps) + beta,
        "you multiplied only x by gamma; gamma multiplies the difference x - mean",
    ),
    (
        lambda x, mean, var, gamma, beta, eps: gamma * (x - mean) / np.sqrt(var) + eps + beta,
        "your epsilon is added to the output; put var + eps in parentheses, under the root",
    ),
    (
        lambda x, mean, var, gamma, beta, eps: x - mean * gamma + beta + 0 * var,
        "without parentheses gamma multiplies the mean alone, and nothing is divided by the root of var + eps",
    ),
    (
        lambda x, mean, var, gamma, beta, eps: (x - mean) / np.sqrt(var + eps) * (gamma + beta),
        "you multiplied by gamma + beta; gamma multiplies, then beta is added",
    ),
]

# (x, mean, axes) -> var
VARIANCES = [
    (
        lambda x, mean, axes: x.var(axis=axes, keepdims=True, ddof=1),
        "you divided by n - 1 in the variance; normalization uses the biased variance, divided by n",
    ),
    (
        lambda x, mean, axes: ((x - mean) ** 2).sum(axis=axes, keepdims=True),
        "your variance is the sum of the squared distances; divide it by how many there are",
    ),
    (
        lambda x, mean, axes: (x - mean) ** 2,
        "you squared the distances to the mean but did not average them; the variance is their mean",
    ),
    (
        lambda x, mean, axes: (x**2).mean(axis=axes, keepdims=True),
        "your variance is the mean of x²; subtract the mean before you square",
    ),
    (
        lambda x, mean, axes: np.abs(x - mean).mean(axis=axes, keepdims=True) ** 2,
        "your spread is the mean of the absolute distances; the variance is the mean of the squared ones",
    ),
]


def mistakes_with(put_in, table):
    """The mistakes of a table; put_in(wrong step) is the solution with this step in the place of the right one."""
    return [Mistake(put_in(step), sentence) for step, sentence in table]


def forms(sentence, *functions):
    """One mistake that can be written in several ways."""
    return [Mistake(function, sentence) for function in functions]


def one_pass(attempt):
    """The mistake of an attempt that takes mean(x²) − mean(x)² for the variance."""
    return Mistake(attempt, CANCELS, wrong_anyhow="large mean")


def in_float32(reference):
    """The mistake of an attempt that casts its first argument down; it comes before `one_pass`."""
    return Mistake(lambda x, *args, **kwargs: reference(x.astype(np.float32), *args, **kwargs), FLOAT32)
