"""The mistakes that every norm written by hand invites, step by step, as tables of wrong steps.

Single slips (slips.py) name nearly all of these by now: a lesson whose mistakes are cut to what has to be understood no
longer imports this file, and with the last one it goes.
"""

import re

from .edits import Says
from .shared import CANCELS, FLOAT32, affine_case, standardize

__all__ = ["CANCELS", "FLOAT32", "affine_case", "standardize"]

NO_PARENTHESES = "without parentheses only the mean is divided: Python divides before it subtracts"
LOST_AXES = (
    "your mean and variance lost the axes you averaged over, so they no longer line up with the values; "
    "keep them with size 1"
)

# Instead of (x - mean) / np.sqrt(var + eps).
NORMALIZING = {
    "((x - mean) / (np.sqrt(var) + eps))": (
        "your epsilon is outside the square root: you added it to the standard deviation; add it to the variance"
    ),
    "((x - mean) / np.sqrt(var) + eps)": (
        "your epsilon is added after the division; put var + eps in parentheses, under the square root"
    ),
    "((x - mean) / np.sqrt(var))": "you left out epsilon, so with a tiny variance the output is too large",
    "((x - mean) / np.sqrt(var + 1e-5))": "you ignored the argument eps and always used 1e-5",
    "((x - mean) / (var + eps))": (
        "you divided by the variance; divide by its square root, which has the unit of the values"
    ),
    "((x - mean) / var + eps)": "you divided by the variance, then added eps; divide by the square root of var + eps",
    "((x - mean) / var)": "you divided by the variance itself; divide by the square root of the variance plus eps",
    "((x - mean) / np.sqrt(np.sqrt(var) + eps))": (
        "you took the square root twice: std is already sqrt(var), and eps is added to the variance"
    ),
    "((x - mean) / np.sqrt(var + eps**2))": "you squared eps; it is added to the variance as it is",
    "((x - mean) / np.sqrt(var**2 + eps))": (
        "you squared the variance, which is already the square of the standard deviation"
    ),
    "((x - mean) * np.sqrt(var + eps))": "you multiplied by the standard deviation; divide by it",
    "(x - mean + 0 * var)": "you subtracted the mean but did not divide by the square root of var + eps",
    "((mean - x) / np.sqrt(var + eps))": (
        "your difference has the wrong sign; subtract the mean from each value, not each value from the mean"
    ),
    "(x / np.sqrt(var + eps) + 0 * mean)": "you did not subtract the mean",
    "(x - mean / np.sqrt(var + eps))": NO_PARENTHESES,
}

# Instead of gamma * y + beta.
AFFINE = {
    "y": "you did not apply gamma and beta",
    "gamma * y": "you applied gamma but not beta",
    "y + beta": "you applied beta but not gamma",
    "gamma * (y + beta)": ("you added beta before multiplying by gamma; the scale comes first, then the shift"),
    "beta * y + gamma": "gamma and beta have changed places: gamma multiplies, beta is added",
    "gamma * y - beta": "you subtracted beta; it is added",
    "y + gamma * beta": "you multiplied beta by gamma; gamma multiplies the normalized values, and beta is added",
}

# Instead of both.
MIXED_UP = {
    "gamma * x - mean / np.sqrt(var + eps) + beta": (
        "without parentheses gamma multiplies only the values and the square root divides only the mean; put "
        "the difference in parentheses"
    ),
    "(gamma * x - mean) / np.sqrt(var + eps) + beta": (
        "you multiplied only the values by gamma; gamma multiplies their difference from the mean"
    ),
    "gamma * (x - mean) / np.sqrt(var) + eps + beta": (
        "your epsilon is added to the output; put var + eps in parentheses, under the square root"
    ),
    "x - mean * gamma + beta + 0 * var": (
        "without parentheses gamma multiplies the mean alone, and nothing is divided by the square root of var + eps"
    ),
    "(x - mean) / np.sqrt(var + eps) * (gamma + beta)": (
        "you multiplied by gamma + beta; gamma multiplies, then beta is added"
    ),
}

# Instead of x.var(axis=axes, keepdims=True).
ONE_PASS = {"(x**2).mean(axis=axes, keepdims=True) - mean**2": Says(CANCELS, wrong_anyhow="large mean")}
VARIANCES = {
    "x.var(axis=axes, keepdims=True, ddof=1)": (
        "you divided by n - 1 in the variance; normalization uses the biased variance, divided by n"
    ),
    "((x - mean) ** 2).sum(axis=axes, keepdims=True)": (
        "your variance is the sum of the squared distances; divide it by how many there are"
    ),
    "(x - mean) ** 2": ("you squared the distances to the mean but did not average them; the variance is their mean"),
    "(x**2).mean(axis=axes, keepdims=True)": (
        "your variance is the mean of the squares; subtract the mean before you square"
    ),
    "np.abs(x - mean).mean(axis=axes, keepdims=True) ** 2": (
        "you averaged the absolute distances; the variance is the mean of the squared ones"
    ),
}


def norm_mistakes(axes, x="x", **steps):
    """The mistakes of a norm with gamma and beta, whose solution has these three steps:

    mean = x.mean(axis=axes, keepdims=True); var = x.var(axis=axes, keepdims=True); and those of `output_mistakes`,
    which the other settings are for.
    """
    variance = f"{x}.var(axis={axes}, keepdims=True)"
    normalized, output, y, inner = _steps(x, **steps)
    gamma, beta = inner["gamma"], inner["beta"]
    return {
        "+ x = x.astype(np.float32)": FLOAT32,
        **in_place_of(variance, ONE_PASS | VARIANCES, x=x, axes=str(axes)),
        **output_mistakes(x, **steps),
        f"{variance} -> ({x}**2).mean(axis={axes}, keepdims=True)\n({x} - mean) / -> {x} /": (
            "you divided by the root mean square without subtracting the mean; that is RMSNorm"
        ),
        f"mean = {x}.mean -> {x} = {gamma} * {x}; mean = {x}.mean\n{output} -> {y} + {steps.get('beta', 'beta')}": (
            "you multiplied by gamma before normalizing; it has to come after, or it changes what is normalized"
        ),
        f"mean = {x}.mean -> {x} = {gamma} * {x} + {beta}; mean = {x}.mean\n{output} -> {y}": (
            "you applied gamma and beta before normalizing; they have to come after, or they change what is normalized"
        ),
    }


def output_mistakes(x="x", **steps):
    """The mistakes in gamma * (x - mean) / np.sqrt(var + eps) + beta, where the solution has this.

    y: the name of (x - mean) / np.sqrt(var + eps), if the solution gives it one and then has gamma * y + beta.
    gamma, beta: what stands for them in the solution, as "gamma[:, None, None]".
    inner, back: if y differs in shape from x, what stands for gamma and beta beside x, and what x lacks, as
        ".reshape(x.shape)".
    """
    normalized, output, y, inner = _steps(x, **steps)
    words = {"x": x, "y": y, "gamma": steps.get("gamma", "gamma"), "beta": steps.get("beta", "beta")}
    mixed_up = in_place_of(output, {f"({new})": said for new, said in MIXED_UP.items()}, **words | inner)
    return {
        **in_place_of(normalized, NORMALIZING, **words),
        **in_place_of(output, AFFINE, **words),
        **{edit + steps.get("back", ""): said for edit, said in mixed_up.items()},
    }


def _steps(x, y=None, gamma="gamma", beta="beta", inner=None, back=""):
    normalized = f"({x} - mean) / np.sqrt(var + eps)"
    output = f"{gamma} * {y or normalized} + {beta}"
    return normalized, output, y or f"({normalized})", inner or {"gamma": gamma, "beta": beta}


def in_place_of(old, table, **words):
    """The table {new: sentence} as mistakes {"old -> new": sentence}, with other words in `new`.

    `in_place_of("(x - mean) / sd", {"x - mean / sd": "without parentheses ..."}, sd="np.sqrt(var + eps)")`.
    """
    return {f"{old} -> {_renamed(new, words)}": said for new, said in table.items()}


def _renamed(text, words):
    return re.sub(r"(?<!\.)\b\w+\b", lambda found: words.get(found[0], found[0]), text)
