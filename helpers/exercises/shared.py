"""What several lessons share: sentences of mistakes that have to be understood, a correct norm, a random case."""

import numpy as np

from .edits import case

CANCELS = (
    "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits cancel; "
    "subtract the mean first, then square"
)
RMS_NORM = "you divided by the root mean square without subtracting the mean; that is RMSNorm"
AFFINE_FIRST = (
    "you applied gamma and beta before normalizing; they have to come after, or they change what is normalized"
)


def standardize(x, axes, eps):
    """(x - mean) / sqrt(var + eps) with statistics over `axes`, for correct solutions written differently."""
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def affine_case(rng, shape, features, *, mean=0.0, scale=1.0, label="", **kwargs):
    """Random x of a shape; gamma and beta differ from feature to feature and are never 1 and 0."""
    x = mean + scale * rng.standard_normal(shape)
    return case(x, rng.uniform(0.5, 2.0, features), rng.uniform(0.5, 2.0, features), label=label, **kwargs)


def affine_cases(rng, shapes, axis):
    """A case for each {label: shape} with the features on `axis`, and three special ones of the last shape."""
    usual = [affine_case(rng, shape, shape[axis], label=label) for label, shape in shapes.items()]
    special = {"large mean": {"mean": 1e8}, "tiny scale": {"scale": 1e-3}, "large eps": {"eps": 0.5}}
    shape = list(shapes.values())[-1]
    return usual + [affine_case(rng, shape, shape[axis], label=label, **more) for label, more in special.items()]
