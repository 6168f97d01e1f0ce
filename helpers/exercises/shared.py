"""What several lessons share: sentences of mistakes that have to be understood, random cases."""

import numpy as np

from .checker import matches
from .edits import case

RMS_NORM = "you divided by the root mean square without subtracting the mean; that is RMSNorm"
AFFINE_FIRST = (
    "you applied gamma and beta before normalizing; they have to come after, or they change what is normalized"
)

# The smallest x for cases by hand: its variance is 3e-5, with the usual eps 4e-5, so it becomes -HALF and HALF.
PAIR, HALF = np.sqrt(3e-5) * np.array([-1.0, 1.0]), np.sqrt(3 / 4)


def by_hand(*args, **kwargs):
    """A case with lists for arrays."""
    return case(*(np.array(value) if isinstance(value, list) else value for value in args), **kwargs)


def same_dtype(result, expected, tol):
    """The usual comparison, to the digits of the dtype, which counts too."""
    passed, text = matches(result, expected, tol if expected.dtype == np.float16 else tol / 100)
    dtype = getattr(getattr(result, "y", result), "dtype", type(result).__name__)
    if passed and dtype != expected.dtype:
        return False, f"the numbers are right, but got {dtype}, expected {expected.dtype}; cast back"
    return passed, text


def affine_case(rng, shape, features, *settings, mean=0.0, scale=1.0, **kwargs):
    """Random x of a shape, settings; gamma and beta differ from feature to feature and are never 1 and 0."""
    x = mean + scale * rng.standard_normal(shape)
    return case(x, *settings, rng.uniform(0.5, 2.0, features), rng.uniform(0.5, 2.0, features), **kwargs)


def affine_cases(rng, shapes, axis):
    """A case for each {label: shape} with the features on `axis`, and three special ones of the last shape."""
    usual = [affine_case(rng, shape, shape[axis], label=label) for label, shape in shapes.items()]
    special = {"large mean": {"mean": 1e8}, "tiny scale": {"scale": 1e-3}, "large eps": {"eps": 0.5}}
    shape = list(shapes.values())[-1]
    return usual + [affine_case(rng, shape, shape[axis], label=label, **more) for label, more in special.items()]
