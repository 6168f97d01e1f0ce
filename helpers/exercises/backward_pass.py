"""Lesson 09: the backward passes of layer, RMS and batch norm."""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import FLOAT32, VARIANCES, mistakes_with, one_pass

# What goes wrong is the same in all three, so each exercise is `_backward` with one step replaced.
#
#   spread(x, mean, axes) -> var       divisor(var, eps) -> sd        dx(g, x_hat, sd, m, n) -> dx
#   dgamma(dy, x_hat, gamma, x, total) -> dgamma                      dbeta(dy, gamma, total) -> dbeta
#
# m takes the mean over the n numbers that share a statistic; total sums over the axes that gamma lacks.


def _variance(x, mean, axes):
    return x.var(axis=axes, keepdims=True)


def _root(var, eps):
    return np.sqrt(var + eps)


def _fused(g, x_hat, sd, m, n):
    return (g - m(g) - x_hat * m(g * x_hat)) / sd


def _dgamma(dy, x_hat, gamma, x, total):
    return total(dy * x_hat)


def _dbeta(dy, gamma, total):
    return total(dy)


def _upstream(dy, gamma):
    return dy * gamma


def _center(x, axes):
    return x.mean(axis=axes, keepdims=True)


def _backward(
    axes,
    *,
    center=_center,
    spread=_variance,
    divisor=_root,
    upstream=_upstream,
    dx=_fused,
    dgamma=_dgamma,
    dbeta=_dbeta,
    mean_axes=None,
    total=None,
):
    def attempt(dy, x, gamma, eps=1e-5):
        with np.errstate(all="ignore"):
            mean = center(x, axes)
            sd = divisor(spread(x, mean, axes), eps)
            x_hat = (x - mean) / sd
            add_up = total or (lambda a: a.sum(axis=tuple(range(a.ndim - 1))))
            over = axes if mean_axes is None else mean_axes(x)

            def m(a):
                return a.mean(axis=over, keepdims=True)

            along = dx(upstream(dy, gamma), x_hat, sd, m, x.shape[axes])
            return along, dgamma(dy, x_hat, gamma, x, add_up), dbeta(dy, gamma, add_up)

    return attempt


def _case(rng, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    """dy leans toward x, so that no term of dx is small by luck."""
    noise = rng.standard_normal(shape)
    dy = 1 + noise + 0.7 * rng.standard_normal(shape)
    return case(dy, mean + scale * noise, rng.uniform(0.5, 2.0, shape[-1]), label=label, **kwargs)


MEAN_OF_G = "you treated the mean as a constant: when x moves, the mean moves along, which takes mean(g) off"
ALONG_X_HAT = "you treated the variance as a constant: when x moves, it moves too, which takes off a part along x̂"

# (g, x_hat, sd, m, n) -> dx
DX = [
    (lambda g, h, s, m, n: (g - m(g) - n * h * m(g * h)) / s, "you took the sum of g · x̂; take the mean"),
    (lambda g, h, s, m, n: h * m(g * h) / s, "you returned the part along x̂; dx is what is left without it"),
    (
        lambda g, h, s, m, n: (g - m(g) - h * m(g * h) * n / (n - 1)) / s,
        "you divided the sum of g · x̂ by n - 1; its mean divides by n",
    ),
    (
        lambda g, h, s, m, n: (g - m(g) + h * m(g * h)) / s,
        "the part along x̂ has the wrong sign: it is taken off, not added",
    ),
    (lambda g, h, s, m, n: (g - m(g) - m(g * h)) / s, "mean(g · x̂) says how much of x̂ to take off; multiply it by x̂"),
    (lambda g, h, s, m, n: (g - m(g) - h * m(g)) / s, "you multiplied x̂ by mean(g); it is the mean of g · x̂"),
    (
        lambda g, h, s, m, n: (g - m(g) - h * s * m(g * h * s)) / s,
        "you used x - mean in place of x̂; divide it by the root of var + eps first",
    ),
    (
        lambda g, h, s, m, n: g - m(g) - h * m(g * h),
        "you did not divide dx by the root of var + eps; when x is large, its step counts less",
    ),
    (
        lambda g, h, s, m, n: (g - m(g) - h * m(g * h)) * s,
        "you multiplied dx by the root of var + eps; divide by it",
    ),
    (
        lambda g, h, s, m, n: (g - m(g) - h * m(g * h)) / s**2,
        "you divided dx by var + eps; divide by its root",
    ),
]
DX_WITH_MEAN = [
    (
        lambda g, h, s, m, n: g / s,
        "you treated mean and variance as constants; both depend on x, and each takes a part off",
    ),
    (lambda g, h, s, m, n: (g - h * m(g * h)) / s, MEAN_OF_G),
    (lambda g, h, s, m, n: (g - m(g)) / s, ALONG_X_HAT),
    (lambda g, h, s, m, n: (g - n * m(g) - h * m(g * h)) / s, "you took the sum of g; take off its mean"),
    (
        lambda g, h, s, m, n: (g - n * m(g) - n * h * m(g * h)) / s,
        "you took two sums; both are means, of g and of g · x̂",
    ),
    (lambda g, h, s, m, n: (g + m(g) - h * m(g * h)) / s, "mean(g) has the wrong sign: it is taken off, not added"),
    (
        lambda g, h, s, m, n: (g * s - m(g * s) - h * m(g * h)) / s,
        "you divided only a part of dx by the root of var + eps; put the whole difference in parentheses",
    ),
]

# (var, eps) -> sd
DIVISORS = [
    (lambda var, eps: np.sqrt(var), "you left out epsilon; the forward pass had it under the root"),
    (
        lambda var, eps: np.sqrt(var) + eps,
        "your epsilon is outside the root: you added it to the standard deviation, it belongs to the variance",
    ),
    (lambda var, eps: np.sqrt(var + 1e-5), "you ignored the argument eps and always used 1e-5"),
    (
        lambda var, eps: var + eps,
        "you divided by the variance, for x̂ and for dx; take the root of var + eps",
    ),
]

DGAMMAS = [
    (lambda dy, h, gamma, x, total: total(dy), "your dgamma is the sum of dy; gamma is multiplied by x̂, so sum dy · x̂"),
    (
        lambda dy, h, gamma, x, total: total(dy * gamma * h),
        "your dgamma has gamma in it; y = gamma · x̂ + beta grows with gamma by x̂ alone",
    ),
    (lambda dy, h, gamma, x, total: total(dy * x), "your dgamma uses x; gamma is multiplied by x̂"),
    (
        lambda dy, h, gamma, x, total: total(dy * h) * h.shape[-1] / h.size,
        "your dgamma is a mean; one gamma serves many entries, and their shares add up",
    ),
    (lambda dy, h, gamma, x, total: dy * h, "your dgamma is not summed; it has one number for each gamma"),
    (
        lambda dy, h, gamma, x, total: (dy * h).sum(axis=-1),
        "your dgamma is summed over the features; every feature keeps its own, so sum over all other axes",
    ),
]
DBETAS = [
    (
        lambda dy, gamma, total: total(dy * gamma),
        "your dbeta has gamma in it; y = gamma · x̂ + beta grows with beta by 1",
    ),
    (
        lambda dy, gamma, total: total(dy) * dy.shape[-1] / dy.size,
        "your dbeta is a mean; one beta serves many entries, and their shares add up",
    ),
    (lambda dy, gamma, total: dy, "your dbeta is not summed; it has one number for each beta"),
    (
        lambda dy, gamma, total: dy.sum(axis=-1),
        "your dbeta is summed over the features; every feature keeps its own, so sum over all other axes",
    ),
]
BOTH_TOTALS = [
    (
        lambda a: a.sum(axis=-1),
        "your dgamma and dbeta are summed over the features; every feature keeps its own, so sum over all other axes",
    ),
    (
        lambda a: a.mean(axis=tuple(range(a.ndim - 1))),
        "your dgamma and dbeta are means; one gamma serves many entries, and their shares add up",
    ),
    (lambda a: a, "your dgamma and dbeta are not summed; each has one number per feature"),
]


def _in_float32(axes):
    right = _backward(axes)
    return Mistake(lambda dy, x, gamma, eps=1e-5: right(dy, x.astype(np.float32), gamma, eps), FLOAT32)


def _one_pass_var(x, mean, axes):
    return (x**2).mean(axis=axes, keepdims=True) - mean**2


def _whole(right, change):
    return lambda dy, x, gamma, eps=1e-5: change(*right(dy, x, gamma, eps))


def _mistakes_with_a_mean(axes):
    def changed(**steps):
        return _backward(axes, **steps)

    return [
        _in_float32(axes),
        one_pass(changed(spread=_one_pass_var)),
        *mistakes_with(lambda step: changed(dx=step), DX_WITH_MEAN),
        *mistakes_with(lambda step: changed(dx=step), DX),
        *mistakes_with(lambda step: changed(spread=step), VARIANCES),
        *mistakes_with(lambda step: changed(divisor=step), DIVISORS),
        Mistake(changed(upstream=lambda dy, gamma: dy), "gamma is missing from dx; begin with g = dy · gamma"),
        Mistake(
            changed(upstream=lambda dy, gamma: dy / gamma),
            "you divided dy by gamma; y grows with x̂ by gamma, so multiply",
        ),
        *_parameter_mistakes(changed),
        *_order_mistakes(changed()),
    ]


def _parameter_mistakes(changed):
    return [
        *mistakes_with(lambda step: changed(dgamma=step), DGAMMAS),
        *mistakes_with(lambda step: changed(dbeta=step), DBETAS),
        *mistakes_with(lambda step: changed(total=step), BOTH_TOTALS),
    ]


def _order_mistakes(right):
    return [
        Mistake(
            _whole(right, lambda dx, dgamma, dbeta: (dx, dbeta, dgamma)),
            "dgamma and dbeta have changed places; return dx, dgamma, dbeta",
        ),
        Mistake(_whole(right, lambda dx, dgamma, dbeta: dx), "dx is right; return dgamma and dbeta too"),
        Mistake(_whole(right, lambda dx, dgamma, dbeta: (dx, dgamma)), "dx and dgamma are right; return dbeta too"),
        Mistake(
            _whole(right, lambda dx, dgamma, dbeta: (-dx, -dgamma, -dbeta)),
            "all signs are turned round; the step against the gradient is the optimizer's part",
        ),
    ]


# ------------------------------------------------------------------------------- my_layer_norm_backward


def _layer_norm_backward(dy, x, gamma, eps=1e-5):
    """dx, dgamma, dbeta of y = gamma * x_hat + beta, means over the last axis."""
    return _backward(-1)(dy, x, gamma, eps)


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
    name="my_layer_norm_backward",
    signature="my_layer_norm_backward(dy, x, gamma, eps=1e-5)",
    reference=_layer_norm_backward,
    cases=_layer_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=[_layer_in_steps, _layer_by_matrix],
    mistakes=[
        *_mistakes_with_a_mean(-1),
        Mistake(
            lambda dy, x, gamma, eps=1e-5: (
                gamma * _layer_norm_backward(dy, x, np.ones_like(gamma), eps)[0],
                *_layer_norm_backward(dy, x, gamma, eps)[1:],
            ),
            "you multiplied by gamma at the end; each feature has its own, so it belongs inside the means, in g",
        ),
        Mistake(
            _backward(-1, mean_axes=lambda x: 0),
            "your two means of g run over axis 0, across the batch; layer norm's run over the last axis",
        ),
        Mistake(
            _backward(-1, mean_axes=lambda x: None),
            "your two means of g run over all of x; each row has its own statistics, so each row has its own means",
        ),
        Mistake(
            _backward(0),
            "you averaged over axis 0, across the batch; that is batch norm, layer norm averages over the last axis",
        ),
    ],
)

# --------------------------------------------------------------------------------- my_rms_norm_backward


def _no_mean(x, axes):
    return np.zeros(())


def _mean_square(x, mean, axes):
    return (x**2).mean(axis=axes, keepdims=True)


def _rms_fused(g, x_hat, rms, m, n):
    return (g - x_hat * m(g * x_hat)) / rms


def _rms_backward(**steps):
    steps = {"center": _no_mean, "spread": _mean_square, "dx": _rms_fused} | steps
    attempt = _backward(-1, **steps)
    return lambda dy, x, gamma, eps=1e-5: attempt(dy, x, gamma, eps)[:2]


def _rms_norm_backward(dy, x, gamma, eps=1e-5):
    """dx and dgamma of y = gamma * x / rms, means over the last axis."""
    return _rms_backward()(dy, x, gamma, eps)


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
    name="my_rms_norm_backward",
    signature="my_rms_norm_backward(dy, x, gamma, eps=1e-5)",
    reference=_rms_norm_backward,
    cases=_rms_cases,
    results=("dx", "dgamma"),
    tol=1e-4,
    variants=[_rms_row_by_row, _rms_einsum],
    mistakes=[
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: g / s),
            "you treated the root mean square as a constant; it depends on x, which takes off a part along x̂",
        ),
        Mistake(
            _rms_backward(dx=_fused),
            "you took off mean(g), as layer norm does; RMSNorm subtracts no mean, so nothing sends one back",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - m(g)) / s),
            "you took off mean(g); RMSNorm has no mean, but a root mean square, which takes off a part along x̂",
        ),
        Mistake(
            _rms_backward(center=_center, spread=_variance, dx=_fused),
            "you subtracted the mean; that is layer norm, RMSNorm subtracts nothing",
        ),
        Mistake(
            _rms_backward(spread=_variance),
            "you divided by the standard deviation; the root mean square does not subtract the mean",
        ),
        Mistake(
            _rms_backward(spread=lambda x, mean, axes: (x**2).sum(axis=axes, keepdims=True)),
            "you took the sum of the squares; RMSNorm takes their mean",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - n * h * m(g * h)) / s),
            "you took the sum of g · x̂; take the mean",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - h * m(g * h) * n / (n - 1)) / s),
            "you divided the sum of g · x̂ by n - 1; its mean divides by n",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g + h * m(g * h)) / s),
            "the part along x̂ has the wrong sign: it is taken off, not added",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - m(g * h)) / s),
            "mean(g · x̂) says how much of x̂ to take off; multiply it by x̂",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - h * s * m(g * h * s)) / s),
            "you used x in place of x̂; divide it by the root mean square first",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: g - h * m(g * h)),
            "you did not divide dx by the root mean square; when x is large, its step counts less",
        ),
        Mistake(
            _rms_backward(dx=lambda g, h, s, m, n: (g - h * m(g * h)) * s),
            "you multiplied dx by the root mean square; divide by it",
        ),
        *mistakes_with(
            lambda step: _rms_backward(divisor=step),
            [
                (lambda square, eps: np.sqrt(square), "you left out epsilon, so a vector of zeros becomes NaN"),
                (
                    lambda square, eps: np.sqrt(square) + eps,
                    "your epsilon is outside the root: you added it to the root mean square, it belongs to the mean "
                    "square",
                ),
                (
                    lambda square, eps: np.sqrt(square + 1e-5),
                    "you ignored the argument eps and always used 1e-5",
                ),
                (lambda square, eps: square + eps, "you divided by the mean square; take its root"),
            ],
        ),
        Mistake(_rms_backward(upstream=lambda dy, gamma: dy), "gamma is missing from dx; begin with g = dy · gamma"),
        Mistake(
            lambda dy, x, gamma, eps=1e-5: (
                gamma * _rms_norm_backward(dy, x, np.ones_like(gamma), eps)[0],
                _rms_norm_backward(dy, x, gamma, eps)[1],
            ),
            "you multiplied by gamma at the end; each feature has its own, so it belongs inside the mean, in g",
        ),
        Mistake(
            _rms_backward(mean_axes=lambda x: 0),
            "your mean of g · x̂ runs over axis 0, across the batch; it runs over the last axis, as the mean square did",
        ),
        Mistake(
            _rms_backward(mean_axes=lambda x: None),
            "your mean of g · x̂ runs over all of x; each row has its own root mean square, so each row has its own",
        ),
        *mistakes_with(lambda step: _rms_backward(dgamma=step), DGAMMAS),
        Mistake(lambda *args, **k: _rms_norm_backward(*args, **k)[0], "dx is right; return dgamma too"),
        Mistake(
            lambda *args, **k: _rms_norm_backward(*args, **k)[::-1],
            "dx and dgamma have changed places; return dx first",
        ),
        Mistake(
            lambda dy, x, gamma, eps=1e-5: (*_rms_norm_backward(dy, x, gamma, eps), dy.sum(tuple(range(dy.ndim - 1)))),
            "RMSNorm has no beta, so there is no dbeta; return dx and dgamma",
        ),
    ],
)

# ------------------------------------------------------------------------------- my_batch_norm_backward


def _batch_norm_backward(dy, x, gamma, eps=1e-5):
    """dx, dgamma, dbeta of y = gamma * x_hat + beta in training mode, x (N, C), means over the batch."""
    return _backward(0)(dy, x, gamma, eps)


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
    name="my_batch_norm_backward",
    signature="my_batch_norm_backward(dy, x, gamma, eps=1e-5)",
    reference=_batch_norm_backward,
    cases=_batch_cases,
    results=("dx", "dgamma", "dbeta"),
    tol=1e-4,
    variants=[_batch_in_steps, _batch_by_dgamma],
    mistakes=[
        *_mistakes_with_a_mean(0),
        Mistake(
            _backward(0, mean_axes=lambda x: -1),
            "your two means of g run over the features; batch norm's run over axis 0, the batch",
        ),
        Mistake(
            _backward(0, mean_axes=lambda x: None),
            "your two means of g run over all of x; each feature has its own statistics, and so its own two means",
        ),
        Mistake(
            _backward(-1),
            "you averaged over the last axis, within each row; that is layer norm, batch norm averages over axis 0",
        ),
    ],
)

EXERCISES = [LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD, BATCH_NORM_BACKWARD]
