"""Lesson 09: the backward passes of layer, RMS, batch and group norm."""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.edits import in_place_of
from ...exercises.steps import FLOAT32, ONE_PASS, VARIANCES


def _case(rng, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    """dy leans toward x, so that no term of dx is small by luck."""
    noise = rng.standard_normal(shape)
    dy = 1 + noise + 0.7 * rng.standard_normal(shape)
    return case(dy, mean + scale * noise, rng.uniform(0.5, 2.0, shape[-1]), label=label, **kwargs)


# Instead of dx; mean_g is the mean of g, overlap the mean of g * x_hat, n how many numbers share one.

DX = {
    "g / root": "you treated mean and variance as constants; both depend on x, and each subtracts a part",
    "(g - x_hat * overlap) / root": (
        "you treated the mean as a constant: when x moves, the mean moves along, which subtracts mean(g)"
    ),
    "(g - mean_g) / root": (
        "you treated the variance as a constant: when x moves, it moves too, which subtracts a part along x̂"
    ),
    "(g - n * mean_g - x_hat * overlap) / root": "you took the sum of g; subtract its mean",
    "(g - n * mean_g - n * x_hat * overlap) / root": "you took two sums; both are means, of g and of g · x̂",
    "(g + mean_g - x_hat * overlap) / root": "mean(g) has the wrong sign: it is subtracted, not added",
    "g - mean_g - x_hat * overlap / root": (
        "you divided only a part of dx by the square root of var + eps; put the whole difference in parentheses"
    ),
    "(g - mean_g - n * x_hat * overlap) / root": "you took the sum of g · x̂; take the mean",
    "x_hat * overlap / root": "you returned the part along x̂; dx is what is left without it",
    "(g - mean_g - x_hat * overlap * n / (n - 1)) / root": "you divided the sum of g · x̂ by n - 1; its mean divides by n",
    "(g - mean_g + x_hat * overlap) / root": "the part along x̂ has the wrong sign: it is subtracted, not added",
    "(g - mean_g - overlap) / root": "mean(g · x̂) says how much of x̂ to subtract; multiply it by x̂",
    "(g - mean_g - x_hat * mean_g) / root": "you multiplied x̂ by mean(g); multiply it by mean(g · x̂)",
    "(g - mean_g - x_hat * overlap * root**2) / root": (
        "you used x - mean in place of x̂; divide it by the square root of var + eps first"
    ),
    "g - mean_g - x_hat * overlap": (
        "you did not divide dx by the square root of var + eps; when x is large, the same step changes y less"
    ),
    "(g - mean_g - x_hat * overlap) * root": "you multiplied dx by the square root of var + eps; divide by it",
    "(g - mean_g - x_hat * overlap) / root**2": "you divided dx by var + eps; divide by its square root",
}

SUMMED_OVER_0 = "you summed over axis 0 only; a sequence has two axes before the features, so sum over both"

# Instead of np.sqrt(var + eps).

DIVISORS = {
    "np.sqrt(var)": "you left out epsilon; the forward pass had it under the square root",
    "np.sqrt(var) + eps": (
        "your epsilon is outside the square root: you added it to the standard deviation, it belongs to the variance"
    ),
    "np.sqrt(var + 1e-5)": "you ignored the argument eps and always used 1e-5",
    "var + eps": "you divided by the variance, for x̂ and for dx; take the square root of var + eps",
}

# Instead of np.sum(dy * x_hat, axis=others).

DGAMMAS = {
    "np.sum(dy, axis=others)": "your dgamma is the sum of dy; gamma is multiplied by x̂, so sum dy · x̂",
    "np.sum(dy * gamma * x_hat, axis=others)": (
        "your dgamma has gamma in it; the slope of y = gamma · x̂ + beta in gamma is x̂ alone"
    ),
    "np.sum(dy * x, axis=others)": "your dgamma uses x; gamma is multiplied by x̂",
    "np.mean(dy * x_hat, axis=others)": (
        "your dgamma is a mean; one gamma serves many entries, and their contributions add up"
    ),
    "dy * x_hat": "your dgamma is not summed; it has one number for each gamma",
    "np.sum(dy * x_hat, axis=-1)": (
        "your dgamma is summed over the features; every feature keeps its own, so sum over all other axes"
    ),
}

# Instead of np.sum(dy, axis=others).

DBETAS = {
    "np.sum(dy * gamma, axis=others)": "your dbeta has gamma in it; the slope of y = gamma · x̂ + beta in beta is 1",
    "np.mean(dy, axis=others)": "your dbeta is a mean; one beta serves many entries, and their contributions add up",
    "dy": "your dbeta is not summed; it has one number for each beta",
    "np.sum(dy, axis=-1)": (
        "your dbeta is summed over the features; every feature keeps its own, so sum over all other axes"
    ),
}

# Instead of both, and of the order of the three.

RESULTS = {
    "dx, np.sum(dy * x_hat, axis=-1), np.sum(dy, axis=-1)": (
        "your dgamma and dbeta are summed over the features; every feature keeps its own, so sum over all other axes"
    ),
    "dx, np.mean(dy * x_hat, axis=others), np.mean(dy, axis=others)": (
        "your dgamma and dbeta are means; one gamma serves many entries, and their contributions add up"
    ),
    "dx, np.sum(g * x_hat, axis=others), np.sum(g, axis=others)": (
        "your dgamma and dbeta have gamma in them; sum dy · x̂ and dy, without gamma"
    ),
    "dx, dy * x_hat, dy": "your dgamma and dbeta are not summed; each has one number per feature",
    "dx, np.sum(dy, axis=others), np.sum(dy * x_hat, axis=others)": (
        "dgamma and dbeta have changed places; return dx, dgamma, dbeta"
    ),
    "dx": "dx is right; return dgamma and dbeta too",
    "dx, np.sum(dy * x_hat, axis=others)": "dx and dgamma are right; return dbeta too",
    "-dx, -np.sum(dy * x_hat, axis=others), -np.sum(dy, axis=others)": (
        "all signs are reversed; the step against the gradient is the optimizer's part"
    ),
}


def _mistakes_with_a_mean(axis, overlap, others, n):
    """What layer norm and batch norm have in common, with the words that differ in the two solutions."""
    var, mean, mean_g = (f"{name}(axis={axis})" for name in ("x.var", "x.mean", "g.mean"))
    variance = {"x": "x", "mean": mean, "axes": axis.partition(",")[0]}
    both = f"np.sum(dy * x_hat, axis={others})", f"np.sum(dy, axis={others})"
    return {
        "+ x = x.astype(np.float32)": FLOAT32,
        **in_place_of(var, ONE_PASS, **variance),
        **in_place_of(f"(g - {mean_g} - x_hat * {overlap}) / root", DX, mean_g=mean_g, overlap=overlap, n=n),
        **in_place_of(var, VARIANCES, **variance),
        **in_place_of(f"np.sqrt({var} + eps)", DIVISORS, var=var),
        "g = dy * gamma -> g = dy": "gamma is missing from dx; begin with g = dy · gamma",
        "g = dy * gamma -> g = dy / gamma": "you divided dy by gamma; the slope of y in x̂ is gamma, so multiply",
        **in_place_of(both[0], DGAMMAS, others=others),
        **in_place_of(both[1], DBETAS, others=others),
        **in_place_of(f"dx, {both[0]}, {both[1]}", RESULTS, others=others),
    }


# ------------------------------------------------------------------------------- my_layer_norm_backward


def _layer_cases(rng):
    return [
        _case(rng, (5, 3), label="small x"),
        _case(rng, (4, 4), mean=1, label="square x"),
        _case(rng, (2, 5, 4), mean=1, label="sequence"),
        _case(rng, (1, 7), label="one row"),
        _case(rng, (6, 5), mean=1e8, label="large mean"),
        _case(rng, (4, 6), scale=3e-3, label="small scale"),
        _case(rng, (4, 3), eps=0.5, label="large eps"),
    ]


def _layer_in_steps(dy, x, gamma, eps=1e-5):
    d = x.shape[-1]
    c = x - x.mean(-1, keepdims=True)
    sd = (np.einsum("...i,...i->...", c, c)[..., None] / d + eps) ** 0.5
    g = gamma * dy
    d_sd = -(g * c).sum(-1, keepdims=True) / sd**2
    d_var = d_sd / (2 * sd)
    d_c = g / sd + d_var * 2 * c / d
    d_mean = -d_c.sum(-1, keepdims=True)
    dx = d_c + d_mean / d
    rows = (c / sd).reshape(-1, d)
    return dx, np.einsum("ni,ni->i", dy.reshape(-1, d), rows), dy.reshape(-1, d).sum(0)


def _layer_by_matrix(dy, x, gamma, eps=1e-5):
    """Row by row, with the matrix of all derivatives of the outputs with respect to the inputs."""
    d = x.shape[-1]
    dx, dgamma, dbeta = np.empty(x.shape), np.zeros(d), np.zeros(d)
    for n in np.ndindex(x.shape[:-1]):
        sd = np.sqrt(np.var(x[n]) + eps)
        h = (x[n] - np.mean(x[n])) / sd
        matrix = (np.eye(d) - 1 / d - np.outer(h, h) / d) / sd
        dx[n] = matrix @ (gamma * dy[n])
        dgamma += dy[n] * h
        dbeta += dy[n]
    return [dx, dgamma, dbeta]


LAYER_NORM_BACKWARD = Exercise(
    solution="""
def my_layer_norm_backward(dy, x, gamma, eps=1e-5):
    root = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    x_hat = (x - x.mean(axis=-1, keepdims=True)) / root
    g = dy * gamma
    overlap = np.mean(g * x_hat, axis=-1, keepdims=True)
    dx = (g - g.mean(axis=-1, keepdims=True) - x_hat * overlap) / root
    others = tuple(range(x.ndim - 1))
    return dx, np.sum(dy * x_hat, axis=others), np.sum(dy, axis=others)
""",
    cases=_layer_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=[_layer_in_steps, _layer_by_matrix],
    mistakes={
        **_mistakes_with_a_mean("-1, keepdims=True", overlap="overlap", others="others", n="x.shape[-1]"),
        "g = dy * gamma -> g = dy\nreturn dx, -> return gamma * dx,": (
            "you multiplied by gamma at the end; each feature has its own, so it belongs inside the means, in g"
        ),
        "g = dy * gamma -> g = dy\nreturn dx, -> return gamma * dx,\nrange(x.ndim - 1) -> range(1)": (
            "two things at once: gamma belongs inside the means, in g, and a sequence has two axes to sum over for "
            "dgamma and dbeta"
        ),
        "np.mean(g * x_hat, axis=-1 -> np.mean(g * x_hat, axis=0\ng.mean(axis=-1 -> g.mean(axis=0": (
            "the two means in your dx run over axis 0, across the batch; layer norm's run over the last axis"
        ),
        "np.mean(g * x_hat, axis=-1 -> np.mean(g * x_hat, axis=None\ng.mean(axis=-1 -> g.mean(axis=None": (
            "the two means in your dx run over all of x; each row has its own statistics, so each row has its own means"
        ),
        "axis=-1 -4-> axis=0": (
            "you averaged over axis 0, across the batch; that is batch norm, layer norm averages over the last axis"
        ),
        "range(x.ndim - 1) -> range(1)": SUMMED_OVER_0,
    },
)

# --------------------------------------------------------------------------------- my_rms_norm_backward


def _rms_cases(rng):
    return [
        _case(rng, (5, 3), mean=1, label="small x"),
        _case(rng, (4, 4), mean=1, label="square x"),
        _case(rng, (2, 5, 4), mean=-1, label="sequence"),
        _case(rng, (1, 7), label="one row"),
        _case(rng, (4, 6), scale=3e-3, label="small scale"),
        _case(rng, (4, 3), eps=0.5, label="large eps"),
        case(np.array([[1.0, 2, 4]]), np.zeros((1, 3)), np.array([1.0, 2, 3]), label="zeros"),
    ]


def _rms_row_by_row(dy, x, gamma, eps=1e-5):
    dx, dgamma = np.empty(x.shape), np.zeros(x.shape[-1])
    for n in np.ndindex(x.shape[:-1]):
        inverse = (np.dot(x[n], x[n]) / len(x[n]) + eps) ** -0.5
        g = dy[n] * gamma
        dx[n] = inverse * g - inverse**3 * x[n] * np.dot(g, x[n]) / len(x[n])
        dgamma += dy[n] * x[n] * inverse
    return dx, dgamma


def _rms_einsum(dy, x, gamma, eps=1e-5):
    d = x.shape[-1]
    rms = np.sqrt(np.einsum("...i,...i->...", x, x) / d + eps)[..., None]
    h = x / rms
    g = gamma * dy
    overlap = np.einsum("...i,...i->...", g, h)[..., None] / d
    return [(g - overlap * h) / rms, np.einsum("ni,ni->i", dy.reshape(-1, d), h.reshape(-1, d))]


RMS_NORM_BACKWARD = Exercise(
    solution="""
def my_rms_norm_backward(dy, x, gamma, eps=1e-5):
    rms = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)
    x_hat = x / rms
    g = dy * gamma
    dx = (g - x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)) / rms
    return dx, np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1)))
""",
    cases=_rms_cases,
    results=("dx", "dgamma"),
    tol=1e-4,
    variants=[_rms_row_by_row, _rms_einsum],
    mistakes={
        "(g - x_hat * np.mean(g * x_hat, axis=-1, keepdims=True)) -> g": (
            "you treated the root mean square as a constant; it depends on x, which subtracts a part along x̂"
        ),
        "(g - x_hat -> (g - g.mean(axis=-1, keepdims=True) - x_hat": (
            "you subtracted mean(g), as layer norm does; RMSNorm subtracts no mean forward, so it subtracts none backward"
        ),
        "x_hat * np.mean(g * x_hat, -> np.mean(g,": (
            "you subtracted mean(g); RMSNorm has no mean, but a root mean square, which subtracts a part along x̂"
        ),
        """+ x = x - x.mean(axis=-1, keepdims=True)
(g - x_hat -> (g - g.mean(axis=-1, keepdims=True) - x_hat""": (
            "you subtracted the mean; that is layer norm, RMSNorm subtracts nothing"
        ),
        "np.mean(x**2, axis=-1, keepdims=True) -> x.var(axis=-1, keepdims=True)": (
            "you divided by the standard deviation; the root mean square does not subtract the mean"
        ),
        "np.mean(x**2 -> np.sum(x**2": "you took the sum of the squares; RMSNorm takes their mean",
        "x_hat * np.mean( -> x_hat * np.sum(": "you took the sum of g · x̂; take the mean",
        (
            "np.mean(g * x_hat, axis=-1, keepdims=True) -> np.sum(g * x_hat, axis=-1, keepdims=True) "
            "/ (x.shape[-1] - 1)"
        ): ("you divided the sum of g · x̂ by n - 1; its mean divides by n"),
        "g - x_hat -> g + x_hat": "the part along x̂ has the wrong sign: it is subtracted, not added",
        "g - x_hat * np -> g - np": "mean(g · x̂) says how much of x̂ to subtract; multiply it by x̂",
        "g - x_hat * np.mean(g * x_hat -> g - x * np.mean(g * x": (
            "you used x in place of x̂; divide it by the root mean square first"
        ),
        "keepdims=True)) / rms -> keepdims=True))": (
            "you did not divide dx by the root mean square; when x is large, the same step changes y less"
        ),
        "keepdims=True)) / rms -> keepdims=True)) * rms": "you multiplied dx by the root mean square; divide by it",
        "keepdims=True) + eps -> keepdims=True)": "you left out epsilon, so a vector of zeros becomes NaN",
        "+ eps) -> ) + eps": (
            "your epsilon is outside the square root: you added it to the root mean square, it belongs to the mean square"
        ),
        "+ eps) -> + 1e-5)": "you ignored the argument eps and always used 1e-5",
        "np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) -> np.mean(x**2, axis=-1, keepdims=True) + eps": (
            "you divided by the mean square; take its square root"
        ),
        "g = dy * gamma -> g = dy": "gamma is missing from dx; begin with g = dy · gamma",
        "g = dy * gamma -> g = dy\nreturn dx, -> return gamma * dx,": (
            "you multiplied by gamma at the end; each feature has its own, so it belongs inside the mean, in g"
        ),
        "g * x_hat, axis=-1 -> g * x_hat, axis=0": (
            "your mean of g · x̂ runs over axis 0, across the batch; take it over the last axis, as for the mean square"
        ),
        "g * x_hat, axis=-1 -> g * x_hat, axis=None": (
            "your mean of g · x̂ runs over all of x; each row has its own root mean square, so each row has its own mean"
        ),
        **in_place_of("np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1)))", DGAMMAS, others="tuple(range(x.ndim - 1))"),
        "return dx, np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1))) -> return dx": "dx is right; return dgamma too",
        (
            "return dx, np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1))) -> return np.sum(dy * "
            "x_hat, axis=tuple(range(x.ndim - 1))), dx"
        ): ("dx and dgamma have changed places; return dx first"),
        (
            "return dx, -> return dx, np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1))), np.sum(dy, "
            "axis=tuple(range(x.ndim - 1))) #"
        ): ("RMSNorm has no beta, so there is no dbeta; return dx and dgamma"),
        "range(x.ndim - 1) -> range(1)": SUMMED_OVER_0,
        "x_hat * np.mean(g -> x * np.mean(g": ("you multiplied mean(g · x̂) by x; it says how much of x̂ to subtract"),
    },
)

# ------------------------------------------------------------------------------- my_batch_norm_backward


def _batch_cases(rng):
    return [
        _case(rng, (5, 3), label="small x"),
        _case(rng, (4, 4), mean=1, label="square x"),
        _case(rng, (3, 7), mean=1, label="wide x"),
        _case(rng, (8, 1), label="one feature"),
        _case(rng, (6, 5), mean=1e8, label="large mean"),
        _case(rng, (6, 4), scale=3e-3, label="small scale"),
        _case(rng, (4, 3), eps=0.5, label="large eps"),
    ]


def _batch_in_steps(dy, x, gamma, eps=1e-5):
    n = len(x)
    c = x - x.mean(0)
    sd = np.sqrt((c * c).mean(0) + eps)
    d_c = gamma * dy / sd - c * (gamma * dy * c).sum(0) / (n * sd**3)
    return d_c - d_c.sum(0) / n, np.einsum("nc,nc->c", dy, c / sd), np.ones(n) @ dy


def _batch_by_dgamma(dy, x, gamma, eps=1e-5):
    """dbeta and dgamma are n times the two means, up to gamma."""
    inverse = (np.var(x, axis=0) + eps) ** -0.5
    h = (x - np.mean(x, axis=0)) * inverse
    dbeta, dgamma = dy.sum(axis=0), (dy * h).sum(axis=0)
    return [gamma * inverse / len(x) * (len(x) * dy - dbeta - h * dgamma), dgamma, dbeta]


BATCH_NORM_BACKWARD = Exercise(
    solution="""
def my_batch_norm_backward(dy, x, gamma, eps=1e-5):
    root = np.sqrt(x.var(axis=0) + eps)
    x_hat = (x - x.mean(axis=0)) / root
    g = dy * gamma
    dx = (g - g.mean(axis=0) - x_hat * np.mean(g * x_hat, axis=0)) / root
    return dx, np.sum(dy * x_hat, axis=0), np.sum(dy, axis=0)
""",
    cases=_batch_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=[_batch_in_steps, _batch_by_dgamma],
    mistakes={
        **_mistakes_with_a_mean("0", overlap="np.mean(g * x_hat, axis=0)", others="0", n="len(x)"),
        """np.mean(g * x_hat, axis=0) -> np.mean(g * x_hat, axis=-1, keepdims=True)
g.mean(axis=0) -> g.mean(axis=-1, keepdims=True)""": (
            "the two means in your dx run over the features; batch norm's run over axis 0, the batch"
        ),
        "np.mean(g * x_hat, axis=0) -> np.mean(g * x_hat)\ng.mean(axis=0) -> g.mean()": (
            "the two means in your dx run over all of x; each feature has its own statistics, and so its own two means"
        ),
        (
            """x.var(axis=0) -> x.var(axis=-1, keepdims=True)
x.mean(axis=0) -> x.mean(axis=-1, keepdims=True)
np.mean(g * x_hat, axis=0) -> np.mean(g * x_hat, axis=-1, keepdims=True)
g.mean(axis=0) -> g.mean(axis=-1, keepdims=True)""",
            "axis=0 -6-> axis=-1, keepdims=True",
            "axis=0 -6-> axis=-1",
        ): ("you averaged over the last axis, within each row; that is layer norm, batch norm averages over axis 0"),
    },
)

# -------------------------------------------------------------------------------- my_group_norm_backward


def _group_case(rng, shape, groups, *, mean=0.0, scale=1.0, label="", **kwargs):
    """dy leans toward x and has a mean, so that no term of dx is small by luck."""
    noise = rng.standard_normal(shape)
    dy = 1 + noise + 0.7 * rng.standard_normal(shape)
    return case(dy, mean + scale * noise, groups, rng.uniform(0.5, 2.0, shape[1]), label=label, **kwargs)


def _group_cases(rng):
    shape = (int(rng.integers(2, 5)), 6, int(rng.integers(2, 5)), 3)
    return [
        _group_case(rng, (3, 6, 2, 5), 2, label="C and W differ"),
        _group_case(rng, (4, 4, 4, 4), 2, label="all sizes equal"),
        _group_case(rng, shape, 3, label="random shape"),
        _group_case(rng, (2, 8, 2, 3), 2, mean=100.0, label="large mean"),
        _group_case(rng, (2, 6, 2, 3), 3, scale=1e-2, label="small scale"),
        _group_case(rng, (2, 6, 2, 2), 2, eps=0.5, label="large eps"),
        _group_case(rng, (1, 6, 3, 4), 3, label="one image"),
    ]


def _group_by_group(dy, x, groups, gamma, eps=1e-5):
    dx, h = np.empty_like(x), np.empty_like(x)
    for image in range(len(x)):
        for channels in np.split(np.arange(x.shape[1]), groups):
            values = x[image, channels]
            s = (np.var(values) + eps) ** 0.5
            h[image, channels] = (values - np.mean(values)) / s
            g = dy[image, channels] * gamma[channels, None, None]
            along = h[image, channels]
            dx[image, channels] = (g - np.mean(g) - along * np.mean(g * along)) / s
    return dx, np.einsum("nchw,nchw->c", dy, h), np.einsum("nchw->c", dy)


def _group_in_five_axes(dy, x, groups, gamma, eps=1e-5):
    n, c, h, w = x.shape
    inner, shared = (n, groups, c // groups, h, w), (2, 3, 4)
    centered = x.reshape(inner) - x.reshape(inner).mean(axis=shared, keepdims=True)
    var = np.mean(centered**2, axis=shared, keepdims=True)
    g = dy.reshape(inner) * gamma.reshape(groups, c // groups, 1, 1)
    d_c = g / np.sqrt(var + eps)
    d_c = d_c - centered * np.mean(g * centered, axis=shared, keepdims=True) / (var + eps) ** 1.5
    dx = d_c - d_c.mean(axis=shared, keepdims=True)
    x_hat = (centered / np.sqrt(var + eps)).reshape(x.shape)
    return [dx.reshape(x.shape), (dy * x_hat).sum(axis=(0, 2, 3)), dy.sum(axis=(0, 2, 3))]


GROUP_NORM_BACKWARD = Exercise(
    solution="""
def my_group_norm_backward(dy, x, groups, gamma, eps=1e-5):
    rows = (len(x), groups, -1)
    grouped = x.reshape(rows)
    root = np.sqrt(grouped.var(axis=2, keepdims=True) + eps)
    x_hat = (grouped - grouped.mean(axis=2, keepdims=True)) / root
    g = (dy * gamma[:, None, None]).reshape(rows)
    overlap = np.mean(g * x_hat, axis=2, keepdims=True)
    dx = (g - g.mean(axis=2, keepdims=True) - x_hat * overlap) / root
    dgamma = np.sum(dy * x_hat.reshape(x.shape), axis=(0, 2, 3))
    dbeta = np.sum(dy, axis=(0, 2, 3))
    return dx.reshape(x.shape), dgamma, dbeta
""",
    cases=_group_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=[_group_by_group, _group_in_five_axes],
    mistakes={
        "g - g.mean(axis=2, keepdims=True) - x_hat * overlap -> g": (
            "you left out both means in dx, as if mean and variance were constants; they change with x"
        ),
        "g - g.mean(axis=2, keepdims=True) - -> g -": (
            "you left out mean(g), as if the mean of x were a constant; it changes with x"
        ),
        " - x_hat * overlap ->": (
            "you left out the part along x̂, as if the variance were a constant; it changes with x"
        ),
        "- x_hat * overlap -> + x_hat * overlap": "you added the part along x̂; it is subtracted",
        "(dy * gamma[:, None, None]).reshape(rows) -> dy.reshape(rows)": (
            "your dx has no gamma in it; start from g = dy · gamma"
        ),
        (
            "(dy * gamma[:, None, None]).reshape(rows) -> dy.reshape(rows)\n"
            "return dx.reshape(x.shape) -> return dx.reshape(x.shape) * gamma[:, None, None]"
        ): "you multiplied by gamma after the means; the channels of a group differ in gamma, so multiply dy first",
        "rows = (len(x), groups, -1) -> rows = (len(x), x.shape[1], -1)": (
            "you gave each channel its own means; that is instance norm, and group norm shares them within a group"
        ),
        "rows = (len(x), groups, -1) -> rows = (len(x), 1, -1)": (
            "you took the means over all channels of an image; in group norm each group has its own"
        ),
        "rows = (len(x), groups, -1) -> rows = (len(x), x.shape[1] // groups, -1)": (
            "you made groups of `groups` channels; groups says how many groups there are"
        ),
        ".mean(axis=2, keepdims=True) - x_hat -> .sum(axis=2, keepdims=True) - x_hat": (
            "you subtracted the sum of g; the formula takes its mean"
        ),
        "overlap = np.mean( -> overlap = np.sum(": "you took the sum of g · x̂; the formula takes its mean",
        "var(axis=2, keepdims=True) -> var(axis=2, keepdims=True, ddof=1)": (
            "you divided the variance by n - 1; a norm divides by n"
        ),
        "np.sqrt(grouped.var(axis=2, keepdims=True) + eps) -> (grouped.var(axis=2, keepdims=True) + eps)": (
            "you divided by the variance, for x̂ and for dx; take the square root of var + eps"
        ),
        "np.sqrt(grouped.var(axis=2, keepdims=True) + eps) -> (grouped.std(axis=2, keepdims=True) + eps)": (
            "you added epsilon to the standard deviation; add it to the variance, under the square root"
        ),
        "+ eps -> + 1e-5": "you ignored the argument eps and always used 1e-5",
        "dgamma = np.sum(dy * x_hat.reshape(x.shape), -> dgamma = np.sum(dy,": (
            "your dgamma is the sum of dy; gamma is multiplied by x̂, so sum dy · x̂"
        ),
        "dgamma = np.sum(dy -> dgamma = np.sum(g.reshape(x.shape)": (
            "your dgamma has gamma in it; the slope of y = gamma · x̂ + beta in gamma is x̂ alone"
        ),
        "axis=(0, 2, 3) -2-> axis=(2, 3)": (
            "your dgamma and dbeta have a row for each image; one gamma serves the whole batch, so sum over axis 0 too"
        ),
        "np.sum( -2-> np.mean(": (
            "your dgamma and dbeta are means; one gamma serves many entries, and their contributions add up"
        ),
        "return dx.reshape(x.shape) -> return dx": ("your dx is still in rows; reshape it to the shape of x"),
        "gamma[:, None, None] -> gamma": (
            "your gamma lines up with the last axis, W, and not with the channels; give it the shape (C, 1, 1)"
        ),
        "axis=(0, 2, 3) -2-> axis=0": (
            "you summed dgamma and dbeta over the batch only; one gamma serves all pixels, so sum over axes 2 and 3 too"
        ),
        "dy * x_hat.reshape(x.shape) -> dy * x": ("your dgamma uses x; gamma is multiplied by x̂"),
        "groups, -1) -> -1, groups)": (
            "you put the groups last in the shape, which deals the numbers out in turn; a group is a block of channels"
        ),
        "(dy * gamma[:, None, None]).reshape(rows) -> dy.reshape(rows) * gamma.reshape(1, groups, -1)": Says(
            "you multiplied by gamma in rows, which hold several channels side by side; multiply dy first, then regroup",
            raises=True,
        ),
        "x_hat * overlap) / root -> x_hat * overlap)": (
            "you did not divide dx by the square root of var + eps; when x is large, the same step changes y less"
        ),
    },
)

EXERCISES = [LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD, BATCH_NORM_BACKWARD, GROUP_NORM_BACKWARD]
