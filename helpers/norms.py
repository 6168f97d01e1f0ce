"""Normalization layers as pure functions of NumPy arrays.

Every function here answers the same three questions:

1. Which numbers share one mean and one variance? (the statistic group)
2. How are they rescaled?  y = (x - mean) / sqrt(var + eps)
3. Which learned numbers come after?  y * gamma + beta

Only the first answer differs. For x of shape (N, C, H, W):

    ==============  ==========================  ===================
    norm            one mean and variance per   statistics' shape
    ==============  ==========================  ===================
    batch_norm      channel                     (1, C, 1, 1)
    layer_norm      sample (axis=(1, 2, 3))     (N, 1, 1, 1)
    group_norm      sample and group            (N, groups, 1, 1)
    instance_norm   sample and channel          (N, C, 1, 1)
    ==============  ==========================  ===================

What holds for all of them:

* Shapes are channels-first: N batch, C channels or features, then space. Statistics keep the
  reduced axes with size 1, because their shape says which numbers were averaged.
* The variance is the biased one: divide by the count, not by the count minus one.
* It is computed in two passes (first the mean, then the mean of the squared deviations). The
  one-pass formula mean(x**2) - mean(x)**2 loses all its digits when the mean is large.
* float16, float32 and float64 come back in the dtype they had; integers and booleans become float64.
* `compute_dtype=None` computes in the dtype of x all the way: every sum, eps too. In float16 that
  can overflow to inf, or lose eps to 0, and the result shows it, without a warning.
  `compute_dtype=np.float32` casts x up first and y down at the end. Statistics come back in the dtype
  they were computed in.
* No function changes its arguments. Bad input raises a ValueError that says what was expected.

This file needs nothing but NumPy and can be read on its own.
"""

import math
import numbers
from typing import NamedTuple

import numpy as np

__all__ = [
    "Normalized",
    "PowerIteration",
    "RMSNormalized",
    "RunningStats",
    "SpectralNormalized",
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "power_iteration",
    "rms_norm",
    "spectral_norm",
    "weight_norm",
]


class Normalized(NamedTuple):
    """Output y and the statistics that made it."""

    y: np.ndarray
    mean: np.ndarray
    var: np.ndarray


class RMSNormalized(NamedTuple):
    """Output y and its divisor rms = sqrt(mean(x**2) + eps)."""

    y: np.ndarray
    rms: np.ndarray


class PowerIteration(NamedTuple):
    """Estimate sigma of the largest singular value, its left vector u, right vector v, and sigma per step."""

    sigma: np.floating
    u: np.ndarray
    v: np.ndarray
    history: np.ndarray


class SpectralNormalized(NamedTuple):
    """The weight divided by sigma, the divisor sigma, and the left vector u that found it."""

    w: np.ndarray
    sigma: np.floating
    u: np.ndarray


# An inf or NaN in the result is the message; a warning beside it would only be noise.
_silent = np.errstate(all="ignore")


# ---------------------------------------------------------------------------------------------
# The norms
# ---------------------------------------------------------------------------------------------


@_silent
def batch_norm(x, gamma=None, beta=None, *, eps=1e-5, compute_dtype=None):
    """Batch normalization in training mode: one mean and variance per channel, over batch and space.

        y[n, c, ...] = (x[n, c, ...] - mean[c]) / sqrt(var[c] + eps) * gamma[c] + beta[c]

    Parameters
    ----------
    x : array (N, C), (N, C, L), (N, C, H, W), ...
    gamma, beta : array (C,), or any shape that broadcasts to (1, C, 1, ...), or None for 1 and 0
    eps : number >= 0, added to the variance inside the root
    compute_dtype : float dtype to compute in; None means the dtype of x

    Returns
    -------
    Normalized(y, mean, var) : y like x; mean and var of shape (1, C, 1, ...)

    Raises
    ------
    ValueError : fewer than 2 axes, an empty axis, eps negative or not finite, gamma or beta of a wrong shape

    Notes
    -----
    A batch with one value per channel has var 0 and returns beta. At inference a layer uses stored
    statistics instead (see RunningStats).

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, Algorithm 1.
    """
    x, out_dtype = _prepare("batch_norm", x, compute_dtype, min_ndim=2)
    eps = _check_eps("batch_norm", eps, x.dtype)
    y, mean, var = _standardize(x, axes=(0, *range(2, x.ndim)), eps=eps)
    y = _scale_and_shift("batch_norm", y, gamma, beta, axes=(1,), kind="channels of x")
    return Normalized(y.astype(out_dtype, copy=False), mean, var)


@_silent
def layer_norm(x, gamma=None, beta=None, *, axis=-1, eps=1e-5, compute_dtype=None):
    """Layer normalization: one mean and variance per sample (per token), over its features.

        y = (x - mean) / sqrt(var + eps) * gamma + beta,    mean and var taken over `axis`

    Parameters
    ----------
    x : array (..., D), at least one axis
    gamma, beta : array with the shape of the normalized axes, e.g. (D,), or any shape that broadcasts
        to them, e.g. (1, 1, D); None for 1 and 0
    axis : int or tuple of ints. -1 for (N, D) or (N, T, D); (1, 2, 3) for all of an image;
        1 with gamma (C,) for every pixel of (N, C, H, W) on its own
    eps : number >= 0, added to the variance inside the root
    compute_dtype : float dtype to compute in; None means the dtype of x

    Returns
    -------
    Normalized(y, mean, var) : y like x; mean and var like x with size 1 in `axis`

    Raises
    ------
    ValueError : an axis that x does not have, an empty axis, eps negative or not finite, gamma or beta
        of a wrong shape

    Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4 (eps is common practice).
    """
    x, out_dtype = _prepare("layer_norm", x, compute_dtype, min_ndim=1)
    eps = _check_eps("layer_norm", eps, x.dtype)
    axes = _check_axes("layer_norm", axis, x)
    y, mean, var = _standardize(x, axes, eps)
    y = _scale_and_shift("layer_norm", y, gamma, beta, axes)
    return Normalized(y.astype(out_dtype, copy=False), mean, var)


@_silent
def rms_norm(x, gamma=None, *, axis=-1, eps=1e-5, compute_dtype=None):
    """Root mean square normalization: divide by the RMS, do not subtract a mean.

        rms = sqrt(mean(x**2) + eps)        y = x / rms * gamma

    Parameters
    ----------
    x : array (..., D), at least one axis
    gamma : array with the shape of the normalized axes, e.g. (D,), or any shape that broadcasts to
        them; None for 1
    axis : int or tuple of ints, as in layer_norm
    eps : number >= 0, added to the mean square inside the root
    compute_dtype : float dtype to compute in; None means the dtype of x

    Returns
    -------
    RMSNormalized(y, rms) : y like x; rms (eps included) like x with size 1 in `axis`

    Raises
    ------
    ValueError : as in layer_norm

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4 (eps is common practice).
    """
    x, out_dtype = _prepare("rms_norm", x, compute_dtype, min_ndim=1)
    eps = _check_eps("rms_norm", eps, x.dtype)
    axes = _check_axes("rms_norm", axis, x)
    rms = np.sqrt(_mean_square(x, axes) + eps)
    y = _scale_and_shift("rms_norm", x / rms, gamma, None, axes)
    return RMSNormalized(y.astype(out_dtype, copy=False), rms)


@_silent
def group_norm(x, groups, gamma=None, beta=None, *, eps=1e-5, compute_dtype=None):
    """Group normalization: one mean and variance per sample and group of neighboring channels.

    Group k holds the channels k * C/groups up to (k + 1) * C/groups, with all their space.
    groups=1 is layer_norm over (C, *spatial), groups=C is instance_norm.

    Parameters
    ----------
    x : array (N, C), (N, C, L), (N, C, H, W), ...
    groups : int that divides C
    gamma, beta : array (C,), one per channel (not per group), or any shape that broadcasts to
        (1, C, 1, ...); None for 1 and 0
    eps : number >= 0, added to the variance inside the root
    compute_dtype : float dtype to compute in; None means the dtype of x

    Returns
    -------
    Normalized(y, mean, var) : y like x; mean and var of shape (N, groups, 1, ...), with as many axes
        as x, so that groups=1 gives layer_norm's shape and groups=C instance_norm's.
        `np.repeat(mean, C // groups, axis=1)` broadcasts against x.

    Raises
    ------
    ValueError : fewer than 2 axes, an empty axis, groups not an int >= 1 that divides C, eps negative
        or not finite, gamma or beta of a wrong shape

    Source: Wu & He 2018, arXiv:1803.08494, equation 7.
    """
    x, out_dtype = _prepare("group_norm", x, compute_dtype, min_ndim=2)
    eps = _check_eps("group_norm", eps, x.dtype)
    groups = _check_count("group_norm", "groups", groups)
    if x.shape[1] % groups:
        raise ValueError(f"group_norm: groups={groups} does not divide C={x.shape[1]} of x with shape {x.shape}")
    y, mean, var = _standardize_groups(x, groups, eps)
    y = _scale_and_shift("group_norm", y, gamma, beta, axes=(1,), kind="channels of x")
    return Normalized(y.astype(out_dtype, copy=False), mean, var)


@_silent
def instance_norm(x, gamma=None, beta=None, *, eps=1e-5, compute_dtype=None):
    """Instance normalization: one mean and variance per sample and channel, over space.

        y[n, c, ...] = (x[n, c, ...] - mean[n, c]) / sqrt(var[n, c] + eps) * gamma[c] + beta[c]

    Parameters
    ----------
    x : array (N, C, L), (N, C, H, W), ...; also (N, C), see Notes
    gamma, beta : array (C,), or any shape that broadcasts to (1, C, 1, ...); None for 1 and 0
    eps : number >= 0, added to the variance inside the root
    compute_dtype : float dtype to compute in; None means the dtype of x

    Returns
    -------
    Normalized(y, mean, var) : y like x; mean and var of shape (N, C, 1, ...)

    Raises
    ------
    ValueError : fewer than 2 axes, an empty axis, eps negative or not finite, gamma or beta of a wrong shape

    Notes
    -----
    On (N, C), or with one pixel, every value is alone in its group: mean is x, var is 0, and y is beta.

    Source: Ulyanov, Vedaldi & Lempitsky 2016, arXiv:1607.08022, equation 2.
    """
    x, out_dtype = _prepare("instance_norm", x, compute_dtype, min_ndim=2)
    eps = _check_eps("instance_norm", eps, x.dtype)
    y, mean, var = _standardize_groups(x, groups=x.shape[1], eps=eps)
    y = _scale_and_shift("instance_norm", y, gamma, beta, axes=(1,), kind="channels of x")
    return Normalized(y.astype(out_dtype, copy=False), mean, var)


@_silent
def weight_norm(v, g, *, axis=None, compute_dtype=None):
    """Weight normalization: a weight written as a length g times a direction v / |v|.

        w = g * v / |v|

    Parameters
    ----------
    v : array of any shape
    g : number; with axis=k also an array (v.shape[k],), one length per index of that axis
    axis : None, one norm for the whole array; or int k, the axis that is KEPT: |v| is taken over all the
        other axes. For a weight (out, in), axis=0 gives every output unit its own length. This is
        the meaning of `dim` in PyTorch, except that -1 is the last axis here (there: the whole array).
    compute_dtype : float dtype to compute in; None means the dtype of v

    Returns
    -------
    w : array like v

    Raises
    ------
    ValueError : |v| is 0, so there is no direction; an axis that v does not have; g of a wrong shape

    Source: Salimans & Kingma 2016, arXiv:1602.07868, equation 2.
    """
    v, out_dtype = _prepare("weight_norm", v, compute_dtype, min_ndim=1, what="v")
    if axis is None:
        kept_axes = ()
    elif isinstance(axis, numbers.Integral):
        kept_axes = _check_axes("weight_norm", axis, v)
    else:
        raise ValueError(f"weight_norm: axis must be None or one int, got {axis!r}")
    norm = np.sqrt(_sum_squares(v, axes=_other_axes(v, kept_axes)))
    if (norm == 0).any():
        raise ValueError(f"weight_norm: v with shape {v.shape} has norm 0 (axis={axis}), so no direction")
    g = _check_parameter("weight_norm", "g", g, v, kept_axes, kind="kept axis of v")
    return (g * (v / norm)).astype(out_dtype, copy=False)


@_silent
def power_iteration(w, *, n_iter=20, u=None, rng=None):
    """Largest singular value of a matrix by power iteration.

    One iteration is two products, each scaled to length 1:

        v = W^T u / |W^T u|        u = W v / |W v|        sigma = u^T W v

    The estimate never exceeds the true value. With singular values s1 > s2 its error shrinks by
    (s2/s1)**4 per iteration, that of the vectors by (s2/s1)**2.

    Parameters
    ----------
    w : array (rows, columns)
    n_iter : int >= 1
    u : array (rows,), the left start vector, scaled to length 1 here; None draws it from rng.
        Hand back the u of an earlier call to continue where that one stopped.
    rng : None for default_rng(0), so that a call repeats itself; or an int seed, or a Generator

    Returns
    -------
    PowerIteration(sigma, u, v, history) : the estimate; u (rows,) and v (columns,) of length 1;
        history (n_iter,), sigma after every iteration. Computed in the dtype of w, float16 in float32.

    Raises
    ------
    ValueError : w not 2-D, empty or not finite; n_iter < 1; u of a wrong length, zero or not finite

    Notes
    -----
    Where W^T u is 0 (a zero matrix, or u orthogonal to every column) sigma is 0, u stays as it was
    and v is zero.

    Source: Miyato et al. 2018, arXiv:1802.05957, Algorithm 1.
    """
    w = _check_matrix("power_iteration", w)
    n_iter = _check_count("power_iteration", "n_iter", n_iter)
    u = _start_vector("power_iteration", u, rng, w)
    scale = np.abs(w).max() or w.dtype.type(1)  # so that no square below leaves the dtype's range
    w = w / scale
    history = np.empty(n_iter, w.dtype)
    for i in range(n_iter):
        v = _unit(w.T @ u)
        if v.any():
            u = _unit(w @ v)
        history[i] = (u @ w @ v) * scale
    return PowerIteration(history[-1], u, v, history)


@_silent
def spectral_norm(w, *, n_iter=None, u=None, rng=None, compute_dtype=None):
    """Spectral normalization: divide a weight by its largest singular value.

        w / sigma(w), so that |w x| <= |x| for every x

    Parameters
    ----------
    w : array (out, in), or a convolution kernel (out, in, *spatial), which is read as the matrix
        (out, in * spatial) as in the paper; that bounds the matrix, not the convolution itself
    n_iter : None for the exact value by SVD; an int >= 1 for that many power iterations, whose sigma
        is at most the true one, so the result's largest singular value is at least 1
    u, rng : start of the power iteration (see power_iteration); not used when n_iter is None
    compute_dtype : float dtype to compute in; None means the dtype of w, and float32 for float16

    Returns
    -------
    SpectralNormalized(w, sigma, u) : w / sigma like w; the divisor; the left singular vector (out,).
        By SVD the sign of u is chosen so that its largest entry is positive.

    Raises
    ------
    ValueError : fewer than 2 axes, an empty axis, w not finite, sigma 0; or as in power_iteration

    Source: Miyato et al. 2018, arXiv:1802.05957, equation 8 and Algorithm 1.
    """
    w, out_dtype = _prepare("spectral_norm", w, compute_dtype, min_ndim=2, what="w")
    matrix = _check_matrix("spectral_norm", w.reshape(len(w), -1))
    if n_iter is None:
        left, singular_values, _ = np.linalg.svd(matrix, full_matrices=False)
        sigma, u = singular_values[0], left[:, 0]
        u = np.sign(u[np.abs(u).argmax()]) * u
    else:
        n_iter = _check_count("spectral_norm", "n_iter", n_iter)
        u = _start_vector("spectral_norm", u, rng, matrix)
        sigma, u, _, _ = power_iteration(matrix, n_iter=n_iter, u=u)
    if sigma == 0:
        raise ValueError(f"spectral_norm: w with shape {w.shape} has sigma 0, nothing to divide by")
    return SpectralNormalized((matrix / sigma).reshape(w.shape).astype(out_dtype, copy=False), sigma, u)


class RunningStats:
    """Running mean and variance per channel, what batch normalization uses at inference.

        mean = (1 - momentum) * mean + momentum * batch_mean        (var alike)

    Momentum weighs the NEW value, as in PyTorch; Keras's momentum of 0.99 is 0.01 here.

    Parameters
    ----------
    num_features : int >= 1, the number C of channels
    momentum : number in [0, 1]; 0.0 freezes mean and var; None takes the plain average of all batches
    unbiased : True divides the batch's sum of squares by n - 1 before it is stored, as PyTorch does;
        False divides by n, as in training mode's own normalization

    Attributes
    ----------
    mean, var : float64 arrays (C,), 0 and 1 before the first update. Every update binds new arrays, so
        one that was kept from before does not change.
    num_batches : int, the number of updates

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, Algorithm 2 (unbiased variance); the exponential
    average is what libraries do.
    """

    def __init__(self, num_features, *, momentum=0.1, unbiased=True):
        self.num_features = _check_count("RunningStats", "num_features", num_features)
        if momentum is not None and not (_is_number(momentum) and 0 <= momentum <= 1):
            raise ValueError(f"RunningStats: momentum must be None or a number in [0, 1], got {momentum!r}")
        self.momentum = momentum
        self.unbiased = bool(unbiased)
        self.mean = np.zeros(self.num_features)
        self.var = np.ones(self.num_features)
        self.num_batches = 0

    @_silent
    def update(self, x):
        """Take in one batch x of shape (N, C, *spatial), computed in float64. Returns None.

        Raises a ValueError, and changes nothing, when x has not C channels, or when unbiased=True
        and there is one value per channel (its variance would be 0 / 0).
        """
        x, _ = _prepare("RunningStats.update", x, np.float64, min_ndim=2)
        if x.shape[1] != self.num_features:
            raise ValueError(
                f"RunningStats.update: x has shape {x.shape}, expected {self.num_features} channels on axis 1"
            )
        count = x.size // self.num_features
        if self.unbiased and count == 1:
            raise ValueError(
                f"RunningStats.update: unbiased=True needs more than 1 value per channel, got shape {x.shape}"
            )
        _, mean, var = _center(x, axes=(0, *range(2, x.ndim)))
        if self.unbiased:
            var = var * (count / (count - 1))
        self.num_batches += 1
        weight = 1 / self.num_batches if self.momentum is None else self.momentum
        self.mean = (1 - weight) * self.mean + weight * mean.ravel()
        self.var = (1 - weight) * self.var + weight * var.ravel()

    def __repr__(self):
        return (
            f"RunningStats({self.num_features}, momentum={self.momentum}, unbiased={self.unbiased}, "
            f"num_batches={self.num_batches})"
        )


# ---------------------------------------------------------------------------------------------
# The arithmetic they share
# ---------------------------------------------------------------------------------------------


def _center(x, axes):
    """x - mean, mean and var over `axes`, in the dtype of x. Two passes."""
    mean = _divide_by_count(_sum(x, axes), _group_size(x, axes))
    y = x - mean
    return y, mean, _mean_square(y, axes)


def _standardize(x, axes, eps):
    """(x - mean) / sqrt(var + eps), mean and var over `axes`."""
    y, mean, var = _center(x, axes)
    y /= np.sqrt(var + eps)
    return y, mean, var


def _standardize_groups(x, groups, eps):
    """_standardize for every sample and group of C/groups channels; statistics (N, groups, 1, ...)."""
    rows = x.reshape(len(x), groups, -1)
    y, mean, var = _standardize(rows, axes=(2,), eps=eps)
    stats_shape = (len(x), groups) + (1,) * (x.ndim - 2)
    return y.reshape(x.shape), mean.reshape(stats_shape), var.reshape(stats_shape)


def _mean_square(x, axes):
    return _divide_by_count(_sum_squares(x, axes), _group_size(x, axes))


def _sum(x, axes):
    """Sum over `axes`, which keep size 1. Every partial sum is rounded to the dtype of x."""
    if _is_half(x.dtype):
        return _sum_in_pairs(x, axes)
    return x.sum(axis=axes, keepdims=True)


def _sum_squares(x, axes):
    """Sum of x**2 over `axes`, which keep size 1."""
    if _is_half(x.dtype):
        return _sum_in_pairs(x * x, axes)
    if axes == tuple(range(x.ndim - len(axes), x.ndim)):
        # The last axes: a dot product of every row with itself needs no array of squares, twice as fast.
        rows = x.reshape(*x.shape[: x.ndim - len(axes)], -1)
        return np.vecdot(rows, rows).reshape(_kept_shape(x, _other_axes(x, axes)))
    return np.square(x).sum(axis=axes, keepdims=True)


def _sum_in_pairs(x, axes):
    """Sum over `axes` by adding halves: a + b in the dtype of x, again and again.

    NumPy's float16 mean, dot and einsum add in float32 and round once at the end. This one rounds every
    partial sum, as arithmetic that stays in float16 does.
    """
    kept_axes = _other_axes(x, axes)
    terms = x.transpose(*kept_axes, *axes).reshape(*(x.shape[a] for a in kept_axes), -1)
    while terms.shape[-1] > 1:
        half = terms.shape[-1] // 2
        pairs = terms[..., :half] + terms[..., half : 2 * half]
        terms = np.concatenate([pairs, terms[..., 2 * half :]], axis=-1)  # an odd one out waits
    return terms.reshape(_kept_shape(x, kept_axes))


def _divide_by_count(total, count):
    """total / count in total's dtype. In float16 the count itself (70 000, say) need not fit."""
    if _is_half(total.dtype):
        return (total.astype(np.float64) / count).astype(total.dtype)
    return total / count


def _group_size(x, axes):
    return math.prod(x.shape[a] for a in axes)


def _other_axes(x, axes):
    return tuple(a for a in range(x.ndim) if a not in axes)


def _kept_shape(x, kept_axes):
    """Shape of x with size 1 wherever the axis is not kept."""
    return tuple(size if a in kept_axes else 1 for a, size in enumerate(x.shape))


def _unit(vector):
    """vector / |vector|; a zero vector stays zero."""
    norm = np.sqrt(vector @ vector)
    return vector / norm if norm > 0 else vector


# ---------------------------------------------------------------------------------------------
# Checks of what comes in
# ---------------------------------------------------------------------------------------------


def _prepare(name, x, compute_dtype, min_ndim, what="x"):
    """x in the dtype to compute in, and the dtype of the output."""
    x = _as_float_array(name, what, x)
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
        if dtype is None or not _is_float(dtype):
            raise ValueError(f"{name}: compute_dtype must be None or a float dtype, got {compute_dtype!r}")
    return x.astype(dtype, copy=False), x.dtype


def _check_eps(name, eps, dtype):
    """eps as a number of the dtype to compute in: in float16, 1e-8 is 0, and that is meant to be seen."""
    if not (_is_number(eps) and 0 <= eps < math.inf):
        raise ValueError(f"{name}: eps must be a finite number >= 0, got {eps!r}")
    return np.asarray(eps).astype(dtype)


def _scale_and_shift(name, y, gamma, beta, axes, kind="normalized axes of x"):
    """y * gamma + beta, in place (y is always our own array). `axes` are the axes that have parameters."""
    if gamma is not None:
        y *= _check_parameter(name, "gamma", gamma, y, axes, kind)
    if beta is not None:
        y += _check_parameter(name, "beta", beta, y, axes, kind)
    return y


def _check_parameter(name, what, value, x, axes, kind):
    """value in the dtype of x, shaped to broadcast along `axes` of x and along nothing else.

    Accepted: the sizes of `axes`, e.g. (C,); or what NumPy broadcasts to (1, C, 1, 1). With several
    axes a value of fewer axes is refused, for (C,) could silently line up with W.
    """
    value = _as_float_array(name, what, value).astype(x.dtype, copy=False)
    expected = tuple(x.shape[a] for a in axes)
    target = _kept_shape(x, axes)
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


def _check_axes(name, axis, x):
    """axis (an int or ints) as a sorted tuple of axes counted from the front."""
    try:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        if any(isinstance(a, (bool, np.bool_)) or not isinstance(a, numbers.Integral) for a in axes):
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


def _check_count(name, what, value):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name}: {what} must be an int >= 1, got {value!r}")
    return int(value)


def _check_matrix(name, w):
    """w as a finite, non-empty float32 or float64 matrix."""
    w = _as_float_array(name, "w", w)
    if w.ndim != 2:
        raise ValueError(f"{name}: w must be a matrix with 2 axes, got shape {w.shape}")
    if w.size == 0:
        raise ValueError(f"{name}: w must have no empty axis, got shape {w.shape}")
    if _is_half(w.dtype):
        w = w.astype(np.float32)  # NumPy's linear algebra has no 16-bit floats
    if not np.isfinite(w).all():
        raise ValueError(f"{name}: w must be finite, got NaN or inf in shape {w.shape}")
    return w


def _start_vector(name, u, rng, w):
    """The left start vector of a power iteration, of length 1."""
    if u is None:
        u = np.random.default_rng(0 if rng is None else rng).normal(size=len(w))
    u = _as_float_array(name, "u", u)
    if u.shape != (len(w),):
        raise ValueError(f"{name}: u has shape {u.shape}, expected ({len(w)},) for w with shape {w.shape}")
    largest = np.abs(u).max()
    if not (0 < largest < math.inf):
        raise ValueError(f"{name}: u must be finite and not all zero")
    return _unit((u / largest).astype(w.dtype))


def _as_float_array(name, what, value):
    """value as a float array; integers and booleans become float64."""
    value = np.asarray(value)
    if _is_float(value.dtype):
        return value
    if value.dtype.kind in "iub":
        return value.astype(np.float64)
    raise ValueError(f"{name}: {what} must hold real numbers, got dtype {value.dtype}")


def _is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"  # NumPy does not know that bfloat16 is a float


def _is_half(dtype):
    return dtype.itemsize == 2


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
