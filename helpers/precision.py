"""What floating-point formats can hold, and what they do to a variance.

Three parts:

* the formats float16, bfloat16 and float32: facts, neighbors of a number, rounding to the format;
* five ways to compute a variance, each in the dtype it is given, so that what they lose can be seen;
* the orders in which RMSNorm implementations cast down from float32.

A float with p significand bits holds the numbers k * 2**e with whole |k| < 2**p and e not below a smallest
exponent. So numbers between two powers of two are equally spaced, the spacing doubles at every power of two,
and below the smallest normal number it stays what it was (the subnormal numbers). Sources: IEEE 754-2019;
Goldberg 1991, "What every computer scientist should know about floating-point arithmetic".

NumPy and _numerics.py only. bfloat16 comes from ml_dtypes where that is installed and from a few lines of bit
arithmetic where it is not, with the same results.
"""

import math
import numbers
from typing import NamedTuple

import numpy as np

from ._numerics import check_eps, divide, float_array, quiet, sum_in_pairs
from .checks import describe

__all__ = [
    "VARIANCES",
    "FloatInfo",
    "Moments",
    "Neighbors",
    "float_info",
    "merge_variances",
    "neighbors",
    "rms_norm_cast",
    "round_to",
    "to_bfloat16",
    "var_chan",
    "var_one_pass",
    "var_shifted",
    "var_two_pass",
    "var_welford",
]


# ---------------------------------------------------------------------------------------------
# Formats
# ---------------------------------------------------------------------------------------------


class FloatInfo(NamedTuple):
    """Facts of a format: bits in all, significand bits (the hidden one included), and four numbers."""

    bits: int
    precision: int
    max: float
    smallest_normal: float
    smallest_subnormal: float
    eps: float  # the spacing at 1


class Neighbors(NamedTuple):
    """The number a format stores for x, the next ones below and above it, and the spacing there."""

    below: float
    nearest: float
    above: float
    spacing: float


# name -> bits, precision, exponent of the smallest normal number
_FORMATS = {
    "float16": (16, 11, -14),
    "bfloat16": (16, 8, -126),
    "float32": (32, 24, -126),
}


def float_info(dtype):
    """Facts of "float16", "bfloat16" or "float32" (the name, or the dtype itself).

    Returns FloatInfo(bits, precision, max, smallest_normal, smallest_subnormal, eps), Python floats that
    are exact. Any other dtype is a ValueError.
    """
    try:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        bits, precision, min_exponent = _FORMATS[name]
    except (TypeError, KeyError):
        raise ValueError(f"float_info: dtype must be one of {', '.join(_FORMATS)}, got {dtype!r}") from None
    max_exponent = 1 - min_exponent
    return FloatInfo(
        bits=bits,
        precision=precision,
        max=(2.0 - 2.0 ** (1 - precision)) * 2.0**max_exponent,
        smallest_normal=2.0**min_exponent,
        smallest_subnormal=2.0 ** (min_exponent - precision + 1),
        eps=2.0 ** (1 - precision),
    )


def _spacing(x, info):
    """Distance between neighbors of the format around x: 2**(exponent of x - precision + 1), or the smallest."""
    _, exponent = np.frexp(x)  # |x| = m * 2**exponent with 0.5 <= m < 1
    spacing = np.ldexp(1.0, exponent - info.precision)
    return np.where(x == 0, info.smallest_subnormal, np.maximum(spacing, info.smallest_subnormal))


def round_to(x, dtype):
    """x rounded to the nearest number of a format, ties to the even neighbor, as float64.

        spacing = 2**(exponent(x) - precision + 1)        round(x / spacing) * spacing

    Parameters
    ----------
    x : number or array
    dtype : "float16", "bfloat16" or "float32"

    Returns
    -------
    float64 array like x, every value exactly one of the format; beyond its largest number, inf

    Raises
    ------
    ValueError : an unknown dtype, or x not real numbers
    """
    with quiet():
        info = float_info(dtype)
        x = float_array("round_to", "x", x).astype(np.float64, copy=False)
        spacing = _spacing(x, info)
        nearest = np.rint(x / spacing) * spacing
        return np.where(np.abs(nearest) > info.max, np.copysign(np.inf, x), nearest)


def neighbors(x, dtype):
    """What a format stores for the number x, and the numbers next to that.

    Parameters
    ----------
    x : number
    dtype : "float16", "bfloat16" or "float32"

    Returns
    -------
    Neighbors(below, nearest, above, spacing) : Python floats. below and above are the next numbers of the
        format under and over nearest (not x). spacing is the step away from zero; toward zero the step is half
        of it when nearest is a power of two. At the largest number, above is inf. Where x is stored as inf
        (or NaN) spacing is NaN.

    Raises
    ------
    ValueError : an unknown dtype, or x not one real number
    """
    info = float_info(dtype)
    if not isinstance(x, numbers.Real) and not (np.shape(x) == () and np.asarray(x).dtype.kind in "fiu"):
        raise ValueError(f"neighbors: x must be one real number, got {describe(x)}")
    nearest = float(round_to(float(x), dtype))
    below = -_next_above(-nearest, info)
    spacing = float(_spacing(nearest, info)) if math.isfinite(nearest) else math.nan
    return Neighbors(below, nearest, _next_above(nearest, info), spacing)


def _next_above(x, info):
    """The next number of the format above x, which is itself one of them."""
    if x == -math.inf:
        return -info.max
    step = float(_spacing(x, info))
    if x < -info.smallest_normal and math.frexp(x)[0] == -0.5:
        step /= 2  # toward zero from a power of two
    above = x + step  # inf and NaN stay what they are
    return math.inf if above > info.max else above


def to_bfloat16(x):
    """x rounded to bfloat16 (to nearest, ties to even), as float32 values.

    bfloat16 is the upper half of a float32: the same sign and 8 exponent bits, 7 instead of 23 fraction
    bits. So its range is float32's and its precision about 2.4 decimal digits. ml_dtypes does the rounding
    where it is installed; elsewhere integer arithmetic on the float32's bits does.

    x is a number or array (rounded to float32 first); returns a float32 array like x, inf and NaN kept.
    Raises a ValueError when x does not hold real numbers.
    """
    with quiet():
        x = float_array("to_bfloat16", "x", x).astype(np.float32)
        try:
            import ml_dtypes
        except ImportError:
            return _to_bfloat16_by_bits(x)
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def _to_bfloat16_by_bits(x):
    """Round float32 to bfloat16: add half of the last kept bit, then clear the 16 lower bits.

    Adding 0x7FFF carries into the upper half when the lower half is above its middle; adding the last kept bit as
    well makes the middle itself carry only from odd to even.
    """
    bits = x.view(np.uint32)
    last_kept = (bits >> 16) & 1
    rounded = (bits + 0x7FFF + last_kept) & 0xFFFF0000
    # The bits of a NaN could have carried into those of 0.
    return np.where(np.isnan(x), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))


# ---------------------------------------------------------------------------------------------
# Five ways to a variance
# ---------------------------------------------------------------------------------------------
#
# All take x (..., n) and return the biased variance (divide by n) over the last axis, shape (...), computed
# in the dtype of x: every product and every partial sum is rounded to it. Integers become float64. An empty
# last axis is a ValueError. Sums add the first half to the second half again and again, which is as accurate as
# NumPy's pairwise sum and gives the same digits on every machine.


def var_one_pass(x):
    """mean(x**2) - mean(x)**2, not clipped at 0.

    The textbook identity. It subtracts two numbers of size mean**2 to find one of size var, so the
    relative error is about eps * (mean / sd)**2, and the result can be 0 or negative.
    """
    with quiet():
        x = _values("var_one_pass", x)
        mean = _mean(x)
        return _mean(x * x) - mean * mean


def var_shifted(x):
    """The one-pass formula on x - x[0]: a shift does not change a variance, and a small mean does no harm.

    Source: Chan, Golub & LeVeque 1983, "Algorithms for computing the sample variance", section 3.
    """
    with quiet():
        x = _values("var_shifted", x)
        return var_one_pass(x - x[..., :1])


def var_two_pass(x):
    """mean((x - mean(x))**2): first the mean, then the squared deviations. What NumPy's var does."""
    with quiet():
        x = _values("var_two_pass", x)
        deviation = x - _mean(x)[..., None]
        return _mean(deviation * deviation)


def var_welford(x):
    """Welford's running update: one value at a time, never holding the data.

        delta = x_k - mean        mean += delta / k        m2 += delta * (x_k - mean)

    Stable, but each step rounds, so on long data it is less accurate than two passes.

    Source: Welford 1962, "Note on a method for calculating corrected sums of squares and products".
    """
    with quiet():
        x = _values("var_welford", x)
        mean = np.zeros_like(x[..., 0])
        m2 = np.zeros_like(mean)
        for k in range(x.shape[-1]):
            delta = x[..., k] - mean
            mean = mean + delta / x.dtype.type(k + 1)
            m2 = m2 + delta * (x[..., k] - mean)
        return divide(m2, x.shape[-1])


def var_chan(x):
    """Merge neighboring parts in pairs, from single values up to the whole (see merge_variances).

    Source: Chan, Golub & LeVeque 1979 and 1983, the pairwise algorithm.
    """
    with quiet():
        x = _values("var_chan", x)
        n = np.ones(x.shape[-1])
        mean = x
        m2 = np.zeros_like(x)
        while len(n) > 1:
            pairs = len(n) // 2
            first = slice(0, 2 * pairs, 2)
            second = slice(1, None, 2)
            rest = slice(2 * pairs, None)
            merged = merge_variances(
                (n[first], mean[..., first], m2[..., first]), (n[second], mean[..., second], m2[..., second])
            )
            n, mean, m2 = (
                np.concatenate([new, old[..., rest]], axis=-1)  # an odd one out waits
                for new, old in zip(merged, (n, mean, m2), strict=True)
            )
        return divide(m2[..., 0], x.shape[-1])


VARIANCES = {
    "one pass": var_one_pass,
    "shifted": var_shifted,
    "two pass": var_two_pass,
    "Welford": var_welford,
    "Chan": var_chan,
}


class Moments(NamedTuple):
    """Count, mean, and sum of squared deviations from the mean; `.var` is m2 / n."""

    n: int
    mean: np.ndarray
    m2: np.ndarray

    @property
    def var(self):
        return self.m2 / self.n


def merge_variances(a, b):
    """Count, mean and sum of squared deviations of two parts together, from those of each.

        n = n_a + n_b        delta = mean_b - mean_a
        mean = mean_a + delta * n_b / n
        m2 = m2_a + m2_b + delta**2 * n_a * n_b / n

    Parameters
    ----------
    a, b : (n, mean, m2), numbers or arrays; m2 is n times the biased variance. One part may be empty (n = 0).

    Returns
    -------
    Moments(n, mean, m2), computed in the dtype of the means

    Raises
    ------
    ValueError : not three entries, a negative count, or both parts empty

    Source: Chan, Golub & LeVeque 1979, "Updating formulae and a pairwise algorithm for computing
    sample variances"; the same merge joins the batches of several devices in synchronized batch norm.
    """
    with quiet():
        try:
            (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
        except (TypeError, ValueError):
            raise ValueError("merge_variances: expected two triples (n, mean, m2)") from None
        n = n_a + n_b
        if np.min(n_a) < 0 or np.min(n_b) < 0 or np.min(n) == 0:
            raise ValueError(f"merge_variances: counts must be >= 0 and not both 0, got {n_a} and {n_b}")
        delta = np.subtract(mean_b, mean_a)
        share = np.asarray(n_b / n).astype(delta.dtype)
        weight = np.asarray(n_a * (n_b / n)).astype(delta.dtype)
        return Moments(n, mean_a + delta * share, m2_a + m2_b + delta * delta * weight)


def _values(name, x):
    x = float_array(name, "x", x)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{name}: x must have at least one value on its last axis, got shape {x.shape}")
    return x


def _mean(x):
    return divide(sum_in_pairs(x), x.shape[-1])


# ---------------------------------------------------------------------------------------------
# Casting orders of RMSNorm
# ---------------------------------------------------------------------------------------------


def rms_norm_cast(x, weight, *, order="llama", dtype="bfloat16", eps=1e-6):
    """RMSNorm over the last axis of 16-bit values, with a choice of where float32 ends.

        "llama"  normalize in float32, cast down, then times weight        down(down(x / rms) * weight)
        "gemma"  times weight in float32, one cast at the end              down(x / rms * weight)
        "pure"   every operation in the low precision, sums and eps too

    Meta's LLaMA code casts before the weight, Gemma's after it (Gemma 1 to 3 store weight - 1 and add the 1 in
    float32). "llama" rounds twice, "gemma" once.

    Parameters
    ----------
    x : array (..., D), rounded to `dtype` first
    weight : array (D,), rounded to `dtype` first
    order : "llama", "gemma" or "pure"
    dtype : "bfloat16" or "float16"
    eps : number >= 0

    Returns
    -------
    float32 array like x, every value one of `dtype`

    Raises
    ------
    ValueError : an unknown order or dtype, weight not (D,), an empty last axis, eps negative or not finite

    Notes
    -----
    "pure" rounds each float32 result to `dtype`. float32 has more than twice the digits, so that equals
    arithmetic done in the 16-bit format.
    """
    with quiet():
        if order not in ("llama", "gemma", "pure"):
            raise ValueError(f"rms_norm_cast: order must be 'llama', 'gemma' or 'pure', got {order!r}")
        if float_info(dtype).bits != 16:
            raise ValueError(f"rms_norm_cast: dtype must be 'bfloat16' or 'float16', got {dtype!r}")
        eps = check_eps("rms_norm_cast", eps, np.float64)

        def down(values):
            return round_to(values, dtype).astype(np.float32)

        x = down(_values("rms_norm_cast", x))
        weight = down(float_array("rms_norm_cast", "weight", weight))
        if weight.shape != x.shape[-1:]:
            raise ValueError(f"rms_norm_cast: weight has shape {weight.shape}, expected {x.shape[-1:]}")

        if order == "pure":
            mean_square = down(sum_in_pairs(down(x * x), rounded=down)[..., None] / np.float32(x.shape[-1]))
            rms = down(np.sqrt(down(mean_square + down(eps))))
            return down(down(x / rms) * weight)

        rms = np.sqrt(_mean(x * x)[..., None] + np.float32(eps))
        if order == "llama":
            return down(down(x / rms) * weight)
        return down(x / rms * weight)
