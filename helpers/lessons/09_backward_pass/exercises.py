"""Lesson 09: the backward passes of batch, layer, RMS and group norm."""

import numpy as np

from ...exercises import Exercise, case


def _case(rng, shape, *groups, features=-1, mean=0.0, scale=1.0, label="", **kwargs):
    """dy leans toward x and has a mean, so that no term of dx is small by luck."""
    noise = rng.standard_normal(shape)
    dy = 1 + noise + 0.7 * rng.standard_normal(shape)
    return case(dy, mean + scale * noise, *groups, rng.uniform(0.5, 2.0, shape[features]), label=label, **kwargs)


def _row_cases(rng, shapes, large=()):
    """The shapes {label: shape} at which this norm differs from others, and what tells scale, mean and eps."""
    return [
        _case(rng, (5, 3), label="small x"),
        _case(rng, (4, 4), mean=1, label="square x"),
        *(_case(rng, shape, mean=1, label=label) for label, shape in shapes.items()),
        _case(rng, (4, 6), scale=3e-3, label="small scale"),
        _case(rng, (4, 3), eps=0.5, label="large eps"),
        *(_case(rng, (6, 5), mean=mean, label="large mean") for mean in large),
    ]


CONSTANTS = "you treated mean and variance as constants; both depend on x, and each subtracts a part"
CONSTANT_VARIANCE = "you treated the variance as a constant: it moves with x, which subtracts a part along x̂"
ROOT_LOST = "the part along x̂ lacks a division by the root; in x̂ · mean(g · x̂) each x̂ holds one"
GAMMA_LAST = "you multiplied by gamma at the end; each feature has its own, so it belongs inside the means, in g"


BATCH_NORM_BACKWARD = Exercise(
    solution="""
def my_batch_norm_backward(dy, x, gamma, eps=1e-5):
    n = len(x)  # the number of samples
    c = x - x.mean(axis=0)  # the centered values
    s = np.sqrt(np.mean(c**2, axis=0) + eps)  # the root
    x_hat = c / s  # the normalized values
    dgamma = np.sum(dy * x_hat, axis=0)  # the slope of gamma
    dbeta = np.sum(dy, axis=0)  # the slope of beta
    g = dy * gamma  # the slope of x̂
    ds = -np.sum(g * c, axis=0) / s**2  # the slope of the root
    dvar = ds / (2 * s)  # the slope of the variance
    dc = g / s + dvar * 2 * c / n  # the slope of the centered values
    dmean = -np.sum(dc, axis=0)  # the slope of the mean
    dx = dc + dmean / n  # the slope of x
    return dx, dgamma, dbeta, dvar, dmean
""",
    cases=lambda rng: _row_cases(rng, {"wide x": (3, 7), "one feature": (8, 1)}, [1e8]),
    results=("dx", "dgamma", "dbeta", "dvar", "dmean"),
    tol=1e-4,
    variants=[
        "ds = -np.sum(g * c, axis=0) / s**2  # the slope of the root ->\n"
        "dvar = ds / (2 * s) -> dvar = np.sum(g * c, axis=0) * -0.5 / s**3\n"
        "dmean = -np.sum(dc, axis=0) -> dmean = -np.sum(g, axis=0) / s"
    ],
    worked=[
        # x̂ is -1/2 and 1/2, g is 40 and 20: ds = 5, dvar = 5/4, dc = 18.75 and 11.25, dmean = -30
        (
            case(np.array([[4], [2]]), np.array([[1], [3]]), np.array([10]), eps=3),
            ([[3.75], [-3.75]], [-1], [6], [1.25], [-30]),
        ),
    ],
    mistakes={
        "dx = dc + dmean / n -> dx = g / s": CONSTANTS,
        "dx = dc + dmean / n -> dx = g / s + dmean / n": CONSTANT_VARIANCE,
        "axis=0 -6-> axis=-1, keepdims=True\nlen(x) -> x.shape[-1]": "you averaged within each row; that is layer norm",
    },
)


LAYER_NORM_BACKWARD = Exercise(
    solution="""
def my_layer_norm_backward(dy, x, gamma, eps=1e-5):
    root = np.sqrt(x.var(axis=-1, keepdims=True) + eps)  # the root
    x_hat = (x - x.mean(axis=-1, keepdims=True)) / root  # the forward pass
    g = dy * gamma  # the slope of x̂
    overlap = np.mean(g * x_hat, axis=-1, keepdims=True)  # the mean of g · x̂
    dx = (g - g.mean(axis=-1, keepdims=True) - x_hat * overlap) / root  # the slope of x
    others = tuple(range(x.ndim - 1))  # the axes to sum over
    dgamma = np.sum(dy * x_hat, axis=others)  # the slope of gamma
    dbeta = np.sum(dy, axis=others)  # the slope of beta
    return dx, dgamma, dbeta
""",
    cases=lambda rng: _row_cases(rng, {"sequence": (2, 5, 4), "one row": (1, 7)}, [1e8]),
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=["np.mean(g * x_hat, axis=-1, keepdims=True) -> np.sum(g * x_hat, axis=-1, keepdims=True) / g.shape[-1]"],
    worked=[
        # x̂ is -1/2 and 1/2, g is 4 and 2: mean(g) = 3, mean(g · x̂) = -1/2
        (case(np.array([[2, 2]]), np.array([[1, 3]]), np.array([2, 1]), eps=3), ([[0.375, -0.375]], [-1, 1], [2, 2])),
    ],
    mistakes={
        "(g - g.mean(axis=-1, keepdims=True) - x_hat * overlap) -> g": CONSTANTS,
        " - x_hat * overlap ->": CONSTANT_VARIANCE,
        ("x_hat * overlap -> x_hat * overlap * root", "x_hat * overlap -> x_hat * overlap * root**2"): ROOT_LOST,
        "g = dy * gamma -> g = dy\nreturn dx, -> return gamma * dx,": GAMMA_LAST,
        (
            "axis=-1 -4-> axis=0",
            "(g * x_hat, axis=-1 -> (g * x_hat, axis=0\ng.mean(axis=-1 -> g.mean(axis=0\nrange(x.ndim - 1) -> range(1)",
        ): "you averaged over axis 0, across the batch; that is batch norm",
    },
)


RMS_NORM_BACKWARD = Exercise(
    solution="""
def my_rms_norm_backward(dy, x, gamma, eps=1e-5):
    rms = np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)  # the root mean square
    x_hat = x / rms  # the normalized values
    g = dy * gamma  # the slope of x̂
    overlap = np.mean(g * x_hat, axis=-1, keepdims=True)  # the mean of g · x̂
    dx = (g - x_hat * overlap) / rms  # the slope of x
    dgamma = np.sum(dy * x_hat, axis=tuple(range(x.ndim - 1)))  # the slope of gamma
    return dx, dgamma
""",
    cases=lambda rng: [
        *_row_cases(rng, {"sequence": (2, 5, 4), "one row": (1, 7)}),
        case(np.array([[1.0, 2, 4]]), np.zeros((1, 3)), np.array([1.0, 2, 3]), label="zeros"),
    ],
    results=("dx", "dgamma"),
    tol=1e-4,
    variants=["np.mean(g * x_hat, axis=-1, keepdims=True) -> np.sum(g * x_hat, axis=-1, keepdims=True) / g.shape[-1]"],
    worked=[
        # root 5, x̂ = 0.6 and 0.8, g = 1 and 0
        (case(np.array([[0.5, 0]]), np.array([[3, 4]]), np.array([2, 1]), eps=12.5), ([[0.164, -0.048]], [0.3, 0])),
    ],
    mistakes={
        (
            "(g - x_hat -> (g - g.mean(axis=-1, keepdims=True) - x_hat",
            "+ x = x - x.mean(axis=-1, keepdims=True)\n(g - x_hat -> (g - g.mean(axis=-1, keepdims=True) - x_hat",
        ): "you subtracted a mean, as layer norm does; RMSNorm subtracts none, neither forward nor backward",
        ("x_hat * overlap -> x_hat * overlap * rms", "x_hat * overlap -> x_hat * overlap * rms**2"): ROOT_LOST,
        "g = dy * gamma -> g = dy\nreturn dx, -> return gamma * dx,": GAMMA_LAST,
    },
)


def _group_cases(rng):
    def one(shape, groups, **more):
        return _case(rng, shape, groups, features=1, **more)

    return [
        one((3, 6, 2, 5), 2, label="C and W differ"),
        one((4, 4, 4, 4), 2, label="all sizes equal"),
        one((int(rng.integers(2, 5)), 6, int(rng.integers(2, 5)), 3), 3, label="random shape"),
        one((2, 8, 2, 3), 2, mean=100.0, label="large mean"),
        one((2, 6, 2, 3), 3, scale=1e-2, label="small scale"),
        one((2, 6, 2, 2), 2, eps=0.5, label="large eps"),
        one((1, 6, 3, 4), 3, label="one image"),
    ]


GROUP_NORM_BACKWARD = Exercise(
    solution="""
def my_group_norm_backward(dy, x, groups, gamma, eps=1e-5):
    rows = (len(x), groups, -1)  # the shape with one row for each group
    grouped = x.reshape(rows)
    root = np.sqrt(grouped.var(axis=2, keepdims=True) + eps)  # the root
    x_hat = (grouped - grouped.mean(axis=2, keepdims=True)) / root  # the forward pass
    g = (dy * gamma[:, None, None]).reshape(rows)  # the slope of x̂
    overlap = np.mean(g * x_hat, axis=2, keepdims=True)  # the mean of g · x̂
    dx = (g - g.mean(axis=2, keepdims=True) - x_hat * overlap) / root  # the slope of x
    dgamma = np.sum(dy * x_hat.reshape(x.shape), axis=(0, 2, 3))  # the slope of gamma
    dbeta = np.sum(dy, axis=(0, 2, 3))  # the slope of beta
    return dx.reshape(x.shape), dgamma, dbeta
""",
    cases=_group_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=["np.mean(g * x_hat, axis=2, keepdims=True) -> np.sum(g * x_hat, axis=2, keepdims=True) / g.shape[2]"],
    worked=[
        (
            case(np.array([[[[1, 0]], [[1, 0]]]]), np.array([[[[-1, 1]], [[-1, 1]]]]), 1, np.array([1, 2]), eps=0),
            ([[[[-0.5, 0]], [[0.5, 0]]]], [-1, -1], [1, 1]),
        ),
    ],
    mistakes={
        "(g - g.mean(axis=2, keepdims=True) - x_hat * overlap) -> g": CONSTANTS,
        "(dy * gamma[:, None, None]) -> dy\n"
        "return dx.reshape(x.shape) -> return dx.reshape(x.shape) * gamma[:, None, None]": GAMMA_LAST,
        "(len(x), groups, -> (len(x), x.shape[1],": "you gave each channel its own means; that is instance norm",
        "groups, -1) -> x.shape[1] // groups, -1)": "groups is the number of groups, not of channels in one",
        "+ order = np.arange(x.shape[1]).reshape(-1, groups).T.ravel()\n"
        "+ dy, x, gamma = dy[:, order], x[:, order], gamma[order]\n"
        "+ back = np.argsort(order)\n"
        "return dx.reshape(x.shape), dgamma, dbeta -> return dx.reshape(x.shape)[:, back], dgamma[back], dbeta[back]": (
            "your groups are interleaved; neighboring channels form a group"
        ),
        " - x_hat * overlap ->": CONSTANT_VARIANCE,
        "(len(x), groups, -1) -> (len(x), 1, -1)": "you took all channels at once; each group has its own mean",
        "return dx.reshape(x.shape) -> return dx": "your dx still has the shape with groups; give it that of x",
    },
)

EXERCISES = [BATCH_NORM_BACKWARD, LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD, GROUP_NORM_BACKWARD]
