"""Backward passes: how a loss changes when what went into a norm changes.

A backward pass gets dy, the derivative of the loss with respect to every output of the norm, and returns the
derivative with respect to every input, dx, and to gamma and beta. Batch, layer, group and instance norm share one
formula. With g = dy * gamma, and every mean taken over the numbers that share a statistic:

    x_hat = (x - mean) / sqrt(var + eps)
    dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps)

It is exact for every eps. What holds for all of them:

* dx has the shape and the dtype of x, dgamma and dbeta the shape of gamma (without gamma: the shape it would have).
* Everything is computed in the dtype of x; statistics are computed again from x, as in norms.py.
* No function changes its arguments. Bad input raises a ValueError that says what was expected.

This file needs nothing but NumPy and _numerics.py beside it.
"""

import math
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
    float_array,
    is_number,
    mean_over,
    other_axes,
    quiet,
    sum_over,
)

__all__ = [
    "Gradients",
    "RMSGradients",
    "WeightNormGradients",
    "batch_norm_backward",
    "group_norm_backward",
    "instance_norm_backward",
    "layer_norm_backward",
    "numerical_gradient",
    "rms_norm_backward",
    "spectral_norm_backward",
    "weight_norm_backward",
]


class Gradients(NamedTuple):
    """Derivatives of the loss with respect to x, gamma and beta."""

    dx: np.ndarray
    dgamma: np.ndarray
    dbeta: np.ndarray


class RMSGradients(NamedTuple):
    """Derivatives of the loss with respect to x and gamma."""

    dx: np.ndarray
    dgamma: np.ndarray


class WeightNormGradients(NamedTuple):
    """Derivatives of the loss with respect to the direction v and the length g."""

    dv: np.ndarray
    dg: np.ndarray


def numerical_gradient(f, x, h=1e-5):
    """The derivative of f with respect to every entry of x, by central differences.

        (f(x + h) - f(x - h)) / (2 h),    one entry of x moved at a time, h times max(1, |entry|)

    Parameters
    ----------
    f : function of an array like x that returns one number
    x : array of any shape
    h : number > 0, the step. The formula's own error grows with h**2, that of rounding with 1 / h; 1e-5 is
        close to the best for float64 and numbers around 1.

    Returns
    -------
    array of the shape of x, float64

    Raises
    ------
    ValueError : h not a finite number > 0, x without real numbers, f returns anything but one number
    """
    if not (is_number(h) and 0 < h < math.inf):
        raise ValueError(f"numerical_gradient: h must be a finite number > 0, got {h!r}")
    x = float_array("numerical_gradient", "x", x).astype(np.float64)
    gradient = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = h * max(1.0, abs(x[i]))
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (_number(f(up)) - _number(f(down))) / (2 * step)
    return gradient


def _number(value):
    value = float_array("numerical_gradient", "f(x)", value)
    if value.size != 1:
        raise ValueError(f"numerical_gradient: f must return one number, got shape {value.shape}")
    return value.item()


def _center_and_scale(x, axes, eps):
    """x_hat and sqrt(var + eps), with one mean and variance over `axes`."""
    x_hat = x - mean_over(x, axes)
    sd = np.sqrt(mean_over(x_hat, axes, squared=True) + eps)
    x_hat /= sd
    return x_hat, sd


def _through_statistics(g, x_hat, sd, axes):
    """dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sd, means over `axes`.

    In place, to save memory: g becomes dx, and x_hat is used up.
    """
    x_hat *= mean_over(g * x_hat, axes)
    g -= mean_over(g, axes)
    g -= x_hat
    g /= sd
    return g


def _scaled(dy, gamma):
    """A new array dy * gamma."""
    return dy.copy() if gamma is None else dy * gamma


def _check_dy(name, dy, x):
    dy = float_array(name, "dy", dy)
    if dy.shape != x.shape:
        raise ValueError(f"{name}: dy has shape {dy.shape}, expected {x.shape}, the shape of x")
    return dy.astype(x.dtype, copy=False)


def _parameter_gradients(dy, x_hat, axes, gamma):
    """dgamma and dbeta: dy * x_hat and dy, summed over all axes that gamma, which has the sizes of `axes`, lacks."""
    summed = other_axes(dy, axes)
    totals = sum_over(dy * x_hat, summed, squared=False), sum_over(dy, summed, squared=False)
    return [_like(gamma, total, tuple(dy.shape[a] for a in axes)) for total in totals]


def _like(gamma, total, sizes):
    """total in the shape of gamma, as the caller wrote it; where gamma is shared by several entries, their sum."""
    shape = sizes if gamma is None else np.shape(gamma)
    if shape != sizes:
        padded = (1,) * (total.ndim - len(shape)) + shape
        total = sum_over(total, tuple(a for a, size in enumerate(padded) if size == 1), squared=False)
    return total.reshape(shape)


def batch_norm_backward(dy, x, gamma=None, *, eps=1e-5):
    """Backward pass of batch_norm in training mode: means over batch and space, one per channel.

        g = dy * gamma
        dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps)
        dgamma = sum of dy * x_hat,    dbeta = sum of dy,    both over batch and space

    Parameters
    ----------
    dy : array like x, derivative of the loss with respect to the output
    x : array (N, C), (N, C, L), (N, C, H, W), ..., the input of the forward pass
    gamma, eps : as in batch_norm

    Returns
    -------
    Gradients(dx, dgamma, dbeta) : dx like x; dgamma and dbeta like gamma, (C,) if it is None

    Raises
    ------
    ValueError : dy not of the shape of x; otherwise as in batch_norm

    Notes
    -----
    In eval mode, with running statistics, mean and var are constants and dx = dy * gamma / sqrt(var + eps).

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, section 3 (in six steps; here in one line).
    """
    with quiet():
        x, _ = check_input("batch_norm_backward", x, None, min_ndim=2)
        dy = _check_dy("batch_norm_backward", dy, x)
        eps = check_eps("batch_norm_backward", eps, x.dtype)
        [scale] = check_parameters("batch_norm_backward", x, (1,), "channels of x", gamma=gamma)
        axes = (0, *range(2, x.ndim))
        x_hat, sd = _center_and_scale(x, axes, eps)
        parameter_gradients = _parameter_gradients(dy, x_hat, (1,), gamma)
        return Gradients(_through_statistics(_scaled(dy, scale), x_hat, sd, axes), *parameter_gradients)


def layer_norm_backward(dy, x, gamma=None, *, axis=-1, eps=1e-5):
    """Backward pass of layer_norm: means over the features of each sample.

        g = dy * gamma
        dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps),    means over `axis`
        dgamma = sum of dy * x_hat,    dbeta = sum of dy,    both over all other axes

    Parameters
    ----------
    dy : array like x, derivative of the loss with respect to the output
    x : array (..., D), the input of the forward pass
    gamma, axis, eps : as in layer_norm

    Returns
    -------
    Gradients(dx, dgamma, dbeta) : dx like x; dgamma and dbeta like gamma, the normalized shape if it is None

    Raises
    ------
    ValueError : dy not of the shape of x; otherwise as in layer_norm

    Source: the chain rule on Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4; derived step by step
    in lesson 09.
    """
    with quiet():
        x, _ = check_input("layer_norm_backward", x, None, min_ndim=1)
        dy = _check_dy("layer_norm_backward", dy, x)
        eps = check_eps("layer_norm_backward", eps, x.dtype)
        axes = check_axes("layer_norm_backward", axis, x)
        [scale] = check_parameters("layer_norm_backward", x, axes, "normalized axes of x", gamma=gamma)
        x_hat, sd = _center_and_scale(x, axes, eps)
        parameter_gradients = _parameter_gradients(dy, x_hat, axes, gamma)
        return Gradients(_through_statistics(_scaled(dy, scale), x_hat, sd, axes), *parameter_gradients)


def group_norm_backward(dy, x, groups, gamma=None, *, eps=1e-5):
    """Backward pass of group_norm: means over each group of channels, and its space, of each sample.

        g = dy * gamma
        dx = (g - mean(g) - x_hat * mean(g * x_hat)) / sqrt(var + eps),    means per sample and group
        dgamma = sum of dy * x_hat,    dbeta = sum of dy,    both over batch and space, one per channel

    Parameters
    ----------
    dy : array like x, derivative of the loss with respect to the output
    x : array (N, C), (N, C, L), (N, C, H, W), ..., the input of the forward pass
    groups, gamma, eps : as in group_norm

    Returns
    -------
    Gradients(dx, dgamma, dbeta) : dx like x; dgamma and dbeta like gamma, (C,) if it is None

    Raises
    ------
    ValueError : dy not of the shape of x; otherwise as in group_norm

    Source: the chain rule on Wu & He 2018, arXiv:1803.08494, equation 7.
    """
    with quiet():
        x, _ = check_input("group_norm_backward", x, None, min_ndim=2)
        groups = check_count("group_norm_backward", "groups", groups)
        if x.shape[1] % groups:
            raise ValueError(
                f"group_norm_backward: groups={groups} does not divide C={x.shape[1]} of x with shape {x.shape}"
            )
        return _groups_backward("group_norm_backward", dy, x, groups, gamma, eps)


def instance_norm_backward(dy, x, gamma=None, *, eps=1e-5):
    """Backward pass of instance_norm: means over the space of each sample and channel.

        dx = gamma * (dy - mean(dy) - x_hat * mean(dy * x_hat)) / sqrt(var + eps)
        dgamma = sum of dy * x_hat,    dbeta = sum of dy,    both over batch and space

    Parameters
    ----------
    dy : array like x, derivative of the loss with respect to the output
    x : array (N, C, L), (N, C, H, W), ...; also (N, C), where dx and dgamma are 0
    gamma, eps : as in instance_norm

    Returns
    -------
    Gradients(dx, dgamma, dbeta) : dx like x; dgamma and dbeta like gamma, (C,) if it is None

    Raises
    ------
    ValueError : dy not of the shape of x; otherwise as in instance_norm

    Source: the chain rule on Ulyanov, Vedaldi & Lempitsky 2016, arXiv:1607.08022, equation 3.
    """
    with quiet():
        x, _ = check_input("instance_norm_backward", x, None, min_ndim=2)
        return _groups_backward("instance_norm_backward", dy, x, x.shape[1], gamma, eps)


def _groups_backward(name, dy, x, groups, gamma, eps):
    """Backward pass with one mean and variance for every sample and group of C/groups channels."""
    dy = _check_dy(name, dy, x)
    eps = check_eps(name, eps, x.dtype)
    [scale] = check_parameters(name, x, (1,), "channels of x", gamma=gamma)
    rows = (len(x), groups, -1)
    x_hat, sd = _center_and_scale(x.reshape(rows), (2,), eps)
    parameter_gradients = _parameter_gradients(dy, x_hat.reshape(x.shape), (1,), gamma)
    dx = _through_statistics(_scaled(dy, scale).reshape(rows), x_hat, sd, (2,))
    return Gradients(dx.reshape(x.shape), *parameter_gradients)


def rms_norm_backward(dy, x, gamma=None, *, axis=-1, eps=1e-5):
    """Backward pass of rms_norm. rms_norm subtracts no mean, so this subtracts no mean of g.

        rms = sqrt(mean(x**2) + eps),    x_hat = x / rms,    g = dy * gamma
        dx = (g - x_hat * mean(g * x_hat)) / rms,    means over `axis`
        dgamma = sum of dy * x_hat over all other axes

    Parameters
    ----------
    dy : array like x, derivative of the loss with respect to the output
    x : array (..., D), the input of the forward pass
    gamma, axis, eps : as in rms_norm

    Returns
    -------
    RMSGradients(dx, dgamma) : dx like x; dgamma like gamma, the normalized shape if it is None

    Raises
    ------
    ValueError : dy not of the shape of x; otherwise as in rms_norm

    Source: the chain rule on Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.
    """
    with quiet():
        x, _ = check_input("rms_norm_backward", x, None, min_ndim=1)
        dy = _check_dy("rms_norm_backward", dy, x)
        eps = check_eps("rms_norm_backward", eps, x.dtype)
        axes = check_axes("rms_norm_backward", axis, x)
        [scale] = check_parameters("rms_norm_backward", x, axes, "normalized axes of x", gamma=gamma)
        rms = np.sqrt(mean_over(x, axes, squared=True) + eps)
        x_hat = x / rms
        dgamma, _ = _parameter_gradients(dy, x_hat, axes, gamma)
        dx = _scaled(dy, scale)
        x_hat *= mean_over(dx * x_hat, axes)
        dx -= x_hat
        dx /= rms
        return RMSGradients(dx, dgamma)


def weight_norm_backward(dw, v, g, *, axis=None):
    """Backward pass of weight_norm, w = g * v / |v|.

        dg = sum of dw * v / |v|
        dv = g / |v| * (dw - dg * v / |v|),    at right angles to v

    Parameters
    ----------
    dw : array like v, derivative of the loss with respect to the weight w
    v, g, axis : as in weight_norm

    Returns
    -------
    WeightNormGradients(dv, dg) : dv like v, dg like g

    Raises
    ------
    ValueError : dw not of the shape of v; otherwise as in weight_norm

    Source: Salimans & Kingma 2016, arXiv:1602.07868, equation 3.
    """
    with quiet():
        v, _ = check_input("weight_norm_backward", v, None, min_ndim=1, what="v")
        dw = float_array("weight_norm_backward", "dw", dw).astype(v.dtype, copy=False)
        if dw.shape != v.shape:
            raise ValueError(f"weight_norm_backward: dw has shape {dw.shape}, expected {v.shape}, the shape of v")
        if axis is not None and not isinstance(axis, numbers.Integral):
            raise ValueError(f"weight_norm_backward: axis must be None or one int, got {axis!r}")
        kept_axes = () if axis is None else check_axes("weight_norm_backward", axis, v)
        summed = other_axes(v, kept_axes)
        norm = np.sqrt(sum_over(v, summed, squared=True))
        if (norm == 0).any():
            raise ValueError(f"weight_norm_backward: v with shape {v.shape} has norm 0 (axis={axis}), so no direction")
        length = check_parameter("weight_norm_backward", "g", g, v, kept_axes, kind="kept axis of v")
        direction = v / norm
        dg = sum_over(dw * direction, summed, squared=False)
        dv = length / norm * (dw - dg * direction)
        return WeightNormGradients(dv, _like(g, dg, tuple(v.shape[a] for a in kept_axes)))


def spectral_norm_backward(dw, w):
    """Backward pass of spectral_norm: from the normalized weight w / sigma back to w.

        (dw - (sum of dw * w / sigma) * u v^T) / sigma,    sigma = u^T w v the largest singular value

    Parameters
    ----------
    dw : array like w, derivative of the loss with respect to w / sigma
    w : array (out, in), or a convolution kernel (out, in, *spatial), read as the matrix (out, in * spatial)

    Returns
    -------
    array like w

    Raises
    ------
    ValueError : dw not of the shape of w, fewer than 2 axes, an empty axis, w not finite, sigma 0

    Notes
    -----
    Exact where one singular value is larger than all others; where two tie, sigma has no derivative. Computed in
    float32 for float16, which NumPy's linear algebra does not know.

    Source: Miyato et al. 2018, arXiv:1802.05957, section on the gradient of the normalized weight.
    """
    with quiet():
        w, out_dtype = check_input("spectral_norm_backward", w, None, min_ndim=2, what="w")
        dw = float_array("spectral_norm_backward", "dw", dw)
        if dw.shape != w.shape:
            raise ValueError(f"spectral_norm_backward: dw has shape {dw.shape}, expected {w.shape}, the shape of w")
        matrix = check_matrix("spectral_norm_backward", w.reshape(len(w), -1))
        left, singular_values, right = np.linalg.svd(matrix, full_matrices=False)
        sigma, u, v = singular_values[0], left[:, 0], right[0]
        if sigma == 0:
            raise ValueError(f"spectral_norm_backward: w with shape {w.shape} has sigma 0, nothing to divide by")
        dw = dw.reshape(matrix.shape).astype(matrix.dtype, copy=False)
        gradient = (dw - np.vdot(dw, matrix / sigma) * np.outer(u, v)) / sigma
        return gradient.reshape(w.shape).astype(out_dtype, copy=False)
