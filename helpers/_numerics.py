"""What norms.py and precision.py share: arithmetic that stays in 16 bits, and the checks of what comes in.

Two parts:

* means and sums whose every partial result has the dtype of x. NumPy adds float16 in float32 and rounds once at the
  end, which hides what the lessons show;
* checks that turn an argument into the array or number that the formulas need, or raise a ValueError that says what
  was expected.

NumPy only.
"""

import math
import numbers

import numpy as np


def quiet():
    """A `with` block without warnings: an inf or NaN in the result is the message, a warning beside it only noise."""
    return np.errstate(all="ignore")


# ---------------------------------------------------------------------------------------------
# Means and sums
# ---------------------------------------------------------------------------------------------


def mean_over(x, axes, squared=False):
    """Mean of x, or of x squared, over `axes`, which keep size 1; computed in the dtype of x."""
    return divide(sum_over(x, axes, squared), math.prod(x.shape[a] for a in axes))


def sum_over(x, axes, squared):
    """Sum of x, or of x squared, over `axes`, which keep size 1; computed in the dtype of x."""
    if is_half(x.dtype):
        terms = x * x if squared else x
        kept_axes = other_axes(x, axes)
        rows = terms.transpose(*kept_axes, *axes).reshape(*(x.shape[a] for a in kept_axes), -1)
        return sum_in_pairs(rows).reshape(kept_shape(x, kept_axes))
    if not squared:
        return x.sum(axis=axes, keepdims=True)
    kept_sizes = x.shape[: x.ndim - len(axes)]
    if axes == tuple(range(len(kept_sizes), x.ndim)):
        # The last axes: a dot product of every row with itself needs no array of squares, twice as fast.
        rows = x.reshape(*kept_sizes, -1)
        return np.vecdot(rows, rows).reshape(*kept_sizes, *[1] * len(axes))
    return np.square(x).sum(axis=axes, keepdims=True)


def sum_in_pairs(x, rounded=lambda values: values):
    """Sum over the last axis: the first half plus the second half, again and again, every time `rounded`.

    Every partial sum has the dtype of x. That is as accurate as NumPy's pairwise sum, and gives the same digits on
    every machine.
    """
    while (n := x.shape[-1]) > 1:
        half = n // 2
        pairs = rounded(x[..., :half] + x[..., half : 2 * half])
        x = np.concatenate([pairs, x[..., 2 * half :]], axis=-1)  # an odd one out waits
    return x[..., 0]


def divide(total, count):
    """total / count in the dtype of total. In 16 bits the count itself (70 000, say) need not fit."""
    if is_half(total.dtype):
        return (total.astype(np.float64) / count).astype(total.dtype)
    return total / count


def unit(vector):
    """vector / |vector|; a zero vector stays zero."""
    norm = np.sqrt(vector @ vector)
    return vector / norm if norm > 0 else vector


def other_axes(x, axes):
    return tuple(a for a in range(x.ndim) if a not in axes)


def kept_shape(x, kept_axes):
    """Shape of x with size 1 wherever the axis is not kept."""
    return tuple(size if a in kept_axes else 1 for a, size in enumerate(x.shape))


# ---------------------------------------------------------------------------------------------
# Checks; `name` is the function that the message speaks for
# ---------------------------------------------------------------------------------------------


def check_input(name, x, compute_dtype, min_ndim, what="x"):
    """x in the dtype to compute in, and the dtype of the output."""
    x = float_array(name, what, x)
    if x.ndim < min_ndim:
        raise ValueError(f"{name}: {what} must have at least {min_ndim} axes, got shape {x.shape}")
    if x.size == 0:
        raise ValueError(f"{name}: {what} must have no empty axis, got shape {x.shape}")
    dtype = x.dtype
    if compute_dtype is not None:
        try:
            dtype = np.dtype(compute_dtype)
        except TypeError:
            dtype = None
        if dtype is None or not is_float(dtype):
            raise ValueError(f"{name}: compute_dtype must be None or a float dtype, got {compute_dtype!r}")
    return x.astype(dtype, copy=False), x.dtype


def check_eps(name, eps, dtype):
    """eps as a number of the dtype to compute in: in float16, 1e-8 is 0, and that is meant to be seen."""
    if not (is_number(eps) and 0 <= eps < math.inf):
        raise ValueError(f"{name}: eps must be a finite number >= 0, got {eps!r}")
    return np.asarray(eps).astype(dtype)


def check_parameters(name, x, axes, kind, **parameters):
    """check_parameter for every parameter that is not None."""
    return [
        value if value is None else check_parameter(name, what, value, x, axes, kind)
        for what, value in parameters.items()
    ]


def check_parameter(name, what, value, x, axes, kind):
    """value in the dtype of x, shaped to broadcast along `axes` of x and along nothing else.

    Accepted: the sizes of `axes`, e.g. (C,); or what NumPy broadcasts to (1, C, 1, 1). With several axes a value of
    fewer axes is refused, for (C,) could silently line up with W.
    """
    value = float_array(name, what, value).astype(x.dtype, copy=False)
    expected = tuple(x.shape[a] for a in axes)
    target = kept_shape(x, axes)
    if value.shape == expected:
        return value.reshape(target)
    try:
        fits = np.broadcast_shapes(value.shape, target) == target
    except ValueError:
        fits = False
    if not fits or (value.size > 1 and value.ndim < len(axes)):
        needed = f"{expected} to match the {kind} with shape {x.shape}" if axes else "one number"
        raise ValueError(f"{name}: {what} has shape {value.shape}, expected {needed}")
    return value


def check_axes(name, axis, x):
    """axis (an int or ints) as a sorted tuple of axes counted from the front."""
    try:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        if not all(is_int(a) for a in axes):
            raise ValueError
        axes = tuple(sorted(int(a) + x.ndim * (a < 0) for a in axes))
        if not axes or len(set(axes)) < len(axes) or axes[0] < 0 or axes[-1] >= x.ndim:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{name}: axis must be an int, or different ints, from {-x.ndim} to {x.ndim - 1} "
            f"for x with shape {x.shape}, got {axis!r}"
        ) from None
    return axes


def check_count(name, what, value):
    if not is_int(value) or value < 1:
        raise ValueError(f"{name}: {what} must be an int >= 1, got {value!r}")
    return int(value)


def check_matrix(name, w):
    """w as a finite, non-empty float32 or float64 matrix."""
    w = float_array(name, "w", w)
    if w.ndim != 2:
        raise ValueError(f"{name}: w must be a matrix with 2 axes, got shape {w.shape}")
    if w.size == 0:
        raise ValueError(f"{name}: w must have no empty axis, got shape {w.shape}")
    if is_half(w.dtype):
        w = w.astype(np.float32)  # NumPy's linear algebra has no 16-bit floats
    if not np.isfinite(w).all():
        raise ValueError(f"{name}: w must be finite, got NaN or inf in shape {w.shape}")
    return w


def start_vector(name, u, rng, w):
    """The left start vector of a power iteration on w, of length 1."""
    if u is None:
        u = np.random.default_rng(0 if rng is None else rng).normal(size=len(w))
    u = float_array(name, "u", u)
    if u.shape != (len(w),):
        raise ValueError(f"{name}: u has shape {u.shape}, expected ({len(w)},) for w with shape {w.shape}")
    largest = np.abs(u).max()
    if not (0 < largest < math.inf):
        raise ValueError(f"{name}: u must be finite and not all zero")
    return unit((u / largest).astype(w.dtype))


def float_array(name, what, value):
    """value as a float array; integers and booleans become float64."""
    value = np.asarray(value)
    if is_float(value.dtype):
        return value
    if value.dtype.kind in "iub":
        return value.astype(np.float64)
    raise ValueError(f"{name}: {what} must hold real numbers, got dtype {value.dtype}")


def is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"  # NumPy does not know that bfloat16 is a float


def is_half(dtype):
    return dtype.itemsize == 2


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_int(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
