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

This file needs nothing but NumPy and _numerics.py beside it: checks of what comes in, and sums in 16 bits.
"""

import numbers
from typing import NamedTuple

import numpy as np

from ._numerics import (
    check_axes,
    check_count,
    check_eps,
    check_input,
    check_matrix,
    check_parameter,
    check_parameters,
    is_number,
    mean_over,
    other_axes,
    quiet,
    start_vector,
    sum_over,
    unit,
)

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
    "weight_standardization",
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


def _standardize(x, axes, eps):
    """(x - mean) / sqrt(var + eps), with one mean and variance over `axes`."""
    mean = mean_over(x, axes)
    y = x - mean
    var = mean_over(y, axes, squared=True)
    y /= np.sqrt(var + eps)
    return y, mean, var


def _scale_and_shift(y, gamma, beta):
    """y * gamma + beta, in place; None leaves out its step."""
    if gamma is not None:
        y *= gamma
    if beta is not None:
        y += beta
    return y


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
    A batch with one value per channel has var 0 and returns beta. In eval mode a layer uses running
    statistics instead (see RunningStats).

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, Algorithm 1.
    """
    with quiet():
        x, out_dtype = check_input("batch_norm", x, compute_dtype, min_ndim=2)
        eps = check_eps("batch_norm", eps, x.dtype)
        gamma, beta = check_parameters("batch_norm", x, (1,), "channels of x", gamma=gamma, beta=beta)
        y, mean, var = _standardize(x, (0, *range(2, x.ndim)), eps)
        y = _scale_and_shift(y, gamma, beta)
        return Normalized(y.astype(out_dtype, copy=False), mean, var)


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
    with quiet():
        x, out_dtype = check_input("layer_norm", x, compute_dtype, min_ndim=1)
        eps = check_eps("layer_norm", eps, x.dtype)
        axes = check_axes("layer_norm", axis, x)
        gamma, beta = check_parameters("layer_norm", x, axes, "normalized axes of x", gamma=gamma, beta=beta)
        y, mean, var = _standardize(x, axes, eps)
        y = _scale_and_shift(y, gamma, beta)
        return Normalized(y.astype(out_dtype, copy=False), mean, var)


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
    with quiet():
        x, out_dtype = check_input("rms_norm", x, compute_dtype, min_ndim=1)
        eps = check_eps("rms_norm", eps, x.dtype)
        axes = check_axes("rms_norm", axis, x)
        [gamma] = check_parameters("rms_norm", x, axes, "normalized axes of x", gamma=gamma)
        rms = np.sqrt(mean_over(x, axes, squared=True) + eps)
        y = _scale_and_shift(x / rms, gamma, None)
        return RMSNormalized(y.astype(out_dtype, copy=False), rms)


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
    with quiet():
        x, out_dtype = check_input("group_norm", x, compute_dtype, min_ndim=2)
        eps = check_eps("group_norm", eps, x.dtype)
        groups = check_count("group_norm", "groups", groups)
        if x.shape[1] % groups:
            raise ValueError(f"group_norm: groups={groups} does not divide C={x.shape[1]} of x with shape {x.shape}")
        gamma, beta = check_parameters("group_norm", x, (1,), "channels of x", gamma=gamma, beta=beta)
        y, mean, var = _standardize_groups(x, groups, eps)
        y = _scale_and_shift(y, gamma, beta)
        return Normalized(y.astype(out_dtype, copy=False), mean, var)


def _standardize_groups(x, groups, eps):
    """_standardize for every sample and group of C/groups channels; statistics (N, groups, 1, ...)."""
    rows = x.reshape(len(x), groups, -1)
    y, mean, var = _standardize(rows, (2,), eps)
    statistics_shape = (len(x), groups) + (1,) * (x.ndim - 2)
    return y.reshape(x.shape), mean.reshape(statistics_shape), var.reshape(statistics_shape)


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

    Source: Ulyanov, Vedaldi & Lempitsky 2016, arXiv:1607.08022, equation 3 (equation 2 is batch norm).
    """
    with quiet():
        x, out_dtype = check_input("instance_norm", x, compute_dtype, min_ndim=2)
        eps = check_eps("instance_norm", eps, x.dtype)
        gamma, beta = check_parameters("instance_norm", x, (1,), "channels of x", gamma=gamma, beta=beta)
        y, mean, var = _standardize_groups(x, x.shape[1], eps)
        y = _scale_and_shift(y, gamma, beta)
        return Normalized(y.astype(out_dtype, copy=False), mean, var)


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
    with quiet():
        v, out_dtype = check_input("weight_norm", v, compute_dtype, min_ndim=1, what="v")
        if axis is not None and not isinstance(axis, numbers.Integral):
            raise ValueError(f"weight_norm: axis must be None or one int, got {axis!r}")
        kept_axes = () if axis is None else check_axes("weight_norm", axis, v)
        norm = np.sqrt(sum_over(v, other_axes(v, kept_axes), squared=True))
        if (norm == 0).any():
            raise ValueError(f"weight_norm: v with shape {v.shape} has norm 0 (axis={axis}), so no direction")
        g = check_parameter("weight_norm", "g", g, v, kept_axes, kind="kept axis of v")
        return (g * (v / norm)).astype(out_dtype, copy=False)


def weight_standardization(w, gain=None, *, eps=1e-5, compute_dtype=None):
    """Weight standardization: every output unit's weights get mean 0 and variance 1.

        (w[k] - mean[k]) / sqrt(var[k] + eps) * gain[k],    mean and var taken over all axes but the first

    Parameters
    ----------
    w : array (out, in), or a convolution kernel (out, in, *spatial)
    gain : array (out,), or any shape that broadcasts to (out, 1, ...), or None for 1
    eps : number >= 0, added to the variance inside the root
    compute_dtype : float dtype to compute in; None means the dtype of w

    Returns
    -------
    w : array like w

    Raises
    ------
    ValueError : fewer than 2 axes, an empty axis, eps negative or not finite, gain of a wrong shape

    Notes
    -----
    An output unit with one weight has variance 0 and becomes 0.

    Source: Qiao et al. 2019, arXiv:1903.10520 (the place of eps and the gain are common practice).
    """
    with quiet():
        w, out_dtype = check_input("weight_standardization", w, compute_dtype, min_ndim=2, what="w")
        eps = check_eps("weight_standardization", eps, w.dtype)
        [gain] = check_parameters("weight_standardization", w, (0,), "output units of w", gain=gain)
        y, _, _ = _standardize(w, tuple(range(1, w.ndim)), eps)
        return _scale_and_shift(y, gain, None).astype(out_dtype, copy=False)


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
        history (n_iter,), sigma after every iteration. Computed in the dtype of w; float16 is computed in float32.

    Raises
    ------
    ValueError : w not 2-D, empty or not finite; n_iter < 1; u of a wrong length, zero or not finite

    Notes
    -----
    Where W^T u is 0 (a zero matrix, or u orthogonal to every column) sigma is 0, u stays as it was
    and v is zero.

    Source: Miyato et al. 2018, arXiv:1802.05957, Algorithm 1.
    """
    with quiet():
        w = check_matrix("power_iteration", w)
        n_iter = check_count("power_iteration", "n_iter", n_iter)
        u = start_vector("power_iteration", u, rng, w)
        scale = np.abs(w).max() or w.dtype.type(1)  # so that no square below leaves the dtype's range
        w = w / scale
        history = np.empty(n_iter, w.dtype)
        for i in range(n_iter):
            v = unit(w.T @ u)
            if v.any():
                u = unit(w @ v)
            history[i] = (u @ w @ v) * scale
        return PowerIteration(history[-1], u, v, history)


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
    with quiet():
        w, out_dtype = check_input("spectral_norm", w, compute_dtype, min_ndim=2, what="w")
        matrix = check_matrix("spectral_norm", w.reshape(len(w), -1))
        if n_iter is None:
            left, singular_values, _ = np.linalg.svd(matrix, full_matrices=False)
            sigma, u = singular_values[0], left[:, 0]
            u = np.sign(u[np.abs(u).argmax()]) * u
        else:
            n_iter = check_count("spectral_norm", "n_iter", n_iter)
            u = start_vector("spectral_norm", u, rng, matrix)
            sigma, u, _, _ = power_iteration(matrix, n_iter=n_iter, u=u)
        if sigma == 0:
            raise ValueError(f"spectral_norm: w with shape {w.shape} has sigma 0, nothing to divide by")
        return SpectralNormalized((matrix / sigma).reshape(w.shape).astype(out_dtype, copy=False), sigma, u)


class RunningStats:
    """Running mean and variance per channel, which batch normalization uses in eval mode.

        mean = (1 - momentum) * mean + momentum * batch_mean        (var likewise)

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
    average is what libraries use.
    """

    def __init__(self, num_features, *, momentum=0.1, unbiased=True):
        self.num_features = check_count("RunningStats", "num_features", num_features)
        if momentum is not None and not (is_number(momentum) and 0 <= momentum <= 1):
            raise ValueError(f"RunningStats: momentum must be None or a number in [0, 1], got {momentum!r}")
        self.momentum = momentum
        self.unbiased = bool(unbiased)
        self.mean = np.zeros(self.num_features)
        self.var = np.ones(self.num_features)
        self.num_batches = 0

    def update(self, x):
        """Take in one batch x of shape (N, C, *spatial), computed in float64. Returns None.

        Raises a ValueError, and changes nothing, when x has not C channels, or when unbiased=True
        and there is one value per channel (its variance would be 0 / 0).
        """
        with quiet():
            x, _ = check_input("RunningStats.update", x, np.float64, min_ndim=2)
            if x.shape[1] != self.num_features:
                raise ValueError(
                    f"RunningStats.update: x has shape {x.shape}, expected {self.num_features} channels on axis 1"
                )
            count = x.size // self.num_features
            if self.unbiased and count == 1:
                raise ValueError(
                    f"RunningStats.update: unbiased=True needs more than 1 value per channel, got shape {x.shape}"
                )
            axes = (0, *range(2, x.ndim))
            mean = mean_over(x, axes)
            var = mean_over(x - mean, axes, squared=True)
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
