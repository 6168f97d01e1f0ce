"""Lesson 04: layer norm over several axes, over the channels of an image, and as geometry."""

from dataclasses import replace

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import affine_case, affine_mistakes, forms, norm_over, standardize

# ------------------------------------------------------------------------------- my_layer_norm_tuple_axes


def _same(p):
    return p


def _layer_norm_tuple_axes(x, axis, gamma, beta, eps=1e-5):
    """One mean and variance over all axes of the tuple together."""
    return gamma * standardize(x, axis, eps) + beta


def _tuple_case(rng, shape, axis, **more):
    """gamma and beta have the sizes of the named axes and size 1 between them, so that they broadcast against x."""
    named = sorted(a % len(shape) for a in axis)
    sizes = [shape[a] if a in named else 1 for a in range(named[0], len(shape))]
    made = affine_case(rng, shape, sizes, **more)
    return case(made.args[0], axis, *made.args[1:], label=made.label, **made.kwargs)


def _tuple_cases(rng):
    return [
        _tuple_case(rng, (4, 5, 6), (1, 2), label="last two axes"),
        _tuple_case(rng, (2, 3, 4, 5), (-2, -1), label="counted from the end"),
        _tuple_case(rng, (2, 3, 4, 5), (1, 2, 3), label="three axes"),
        _tuple_case(rng, (3, 4, 5), (-1,), label="one axis"),
        _tuple_case(rng, (2, 3, 4, 5), (1, 3), label="axes with another between them"),
        _tuple_case(rng, (3, 4, 5), (1, 2), mean=1e8, label="large mean"),
        _tuple_case(rng, (3, 4, 5), (1, 2), scale=1e-3, label="tiny scale"),
        _tuple_case(rng, (3, 4, 5), (1, 2), eps=0.5, label="large eps"),
    ]


def _with_axis_of_the_case(k):
    """The k-th of the common mistakes, over the axes that the case names."""

    def attempt(x, axis, gamma, beta, eps=1e-5):
        return affine_mistakes(axis, _same)[k].function(x, gamma, beta, eps)

    return attempt


def _one_axis_after_the_other(x, axis, gamma, beta, eps=1e-5):
    for a in axis:
        x = standardize(x, a, eps)
    return gamma * x + beta


def _on(axes_of):
    """Layer norm over axes_of(x, axis) instead of axis."""

    def attempt(x, axis, gamma, beta, eps=1e-5):
        return gamma * standardize(x, axes_of(x, axis), eps) + beta

    return attempt


def _with_var(var):
    """The right mean, and var(x, axis) for the variance."""

    def attempt(x, axis, gamma, beta, eps=1e-5):
        return gamma * (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(var(x, axis) + eps) + beta

    return attempt


def _var_of_var(x, axis):
    for a in axis:
        x = x.var(axis=a, keepdims=True)
    return x


def _mean_of_vars(x, axis):
    return np.mean([x.var(axis=a, keepdims=True).mean(axis=axis, keepdims=True) for a in axis], axis=0)


def _reshaped(x, axis, gamma, beta, eps=1e-5):
    last = np.moveaxis(x, axis, range(-len(axis), 0))
    flat = last.reshape(*last.shape[: -len(axis)], -1)
    centered = flat - flat.mean(axis=-1, keepdims=True)
    y = centered / np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + eps)
    return gamma * np.moveaxis(y.reshape(last.shape), range(-len(axis), 0), axis) + beta


LAYER_NORM_TUPLE_AXES = Exercise(
    name="my_layer_norm_tuple_axes",
    signature="my_layer_norm_tuple_axes(x, axis, gamma, beta, eps=1e-5)",
    reference=_layer_norm_tuple_axes,
    cases=_tuple_cases,
    tol=1e-4,
    variants=[
        _reshaped,
        lambda x, axis, gamma, beta, eps=1e-5: gamma * standardize(x, tuple(axis), eps) + beta,
    ],
    mistakes=[
        Mistake(
            _on(lambda x, axis: -1),
            "you averaged over the last axis whatever `axis` says; pass `axis` on to mean and variance",
        ),
        Mistake(
            _on(lambda x, axis: axis[0]),
            "you averaged over the first of the axes only; all axes of the tuple share one mean",
        ),
        Mistake(
            _on(lambda x, axis: tuple(a for a in range(x.ndim) if a not in [b % x.ndim for b in axis])),
            "you averaged over the axes that are not in `axis`; those are the ones that keep their own statistics",
        ),
        Mistake(
            _on(lambda x, axis: None),
            "you averaged over all of x, so the samples share one mean; average over `axis` only",
        ),
        *forms(
            "you averaged over the same axes in every case; pass `axis` on to mean and variance",
            _on(lambda x, axis: (1, 2)),
            _on(lambda x, axis: (-2, -1)),
        ),
        Mistake(
            _on(lambda x, axis: 0),
            "you averaged over axis 0, across the samples; average over `axis`",
        ),
        Mistake(
            _with_var(lambda x, axis: x.var(axis=-1, keepdims=True)),
            "your variance is taken over the last axis only; mean and variance are both taken over `axis`",
        ),
        Mistake(
            _with_var(_var_of_var),
            "you took the variance axis by axis, so it is a variance of variances; give `axis` to one call of var",
        ),
        Mistake(
            _with_var(_mean_of_vars),
            "you averaged the variances of single axes, which misses how far their means are apart; give `axis` to one "
            "call of var",
        ),
        Mistake(
            _one_axis_after_the_other,
            "you normalized one axis after the other; all axes of the tuple share one mean and one variance",
        ),
        *[replace(m, function=_with_axis_of_the_case(k)) for k, m in enumerate(affine_mistakes(-1, _same))],
    ],
)

# ---------------------------------------------------------------------------------- my_channel_layer_norm


def _channel(p):
    """(C,) -> (C, 1, 1), in line with axis 1 of (N, C, H, W)."""
    return p[:, None, None]


def _channel_layer_norm(x, gamma, beta, eps=1e-6):
    """Each pixel over its channels (Liu et al. 2022, ConvNeXt); gamma and beta of shape (C,)."""
    return _channel(gamma) * standardize(x, 1, eps) + _channel(beta)


def _channel_cases(rng):
    return [
        affine_case(rng, (2, 3, 4, 5), 3, label="all sizes differ"),
        affine_case(rng, (2, 4, 4, 4), 4, label="C = H = W"),
        affine_case(rng, (3, 6, 1, 1), 6, label="one pixel"),
        affine_case(rng, (1, 5, 2, 3), 5, label="one image"),
        affine_case(rng, (2, 3, 4, 5), 3, mean=1e8, label="large mean"),
        affine_case(rng, (2, 3, 4, 5), 3, scale=1e-3, label="tiny scale"),
        affine_case(rng, (2, 3, 4, 5), 3, eps=0.5, label="large eps"),
    ]


def _channels_last(x, gamma, beta, eps=1e-6):
    last = x.transpose(0, 2, 3, 1)
    return (gamma * standardize(last, -1, eps) + beta).transpose(0, 3, 1, 2)


def _pixel_by_pixel(x, gamma, beta, eps=1e-6):
    y = np.empty(x.shape)
    for n, i, j in np.ndindex(x.shape[0], *x.shape[2:]):
        pixel = x[n, :, i, j]
        centered = pixel - pixel.mean()
        y[n, :, i, j] = gamma * centered / np.sqrt(np.dot(centered, centered) / len(pixel) + eps) + beta
    return y


def _back_by_reshape(x, gamma, beta, eps=1e-6):
    last = x.transpose(0, 2, 3, 1)
    return (gamma * standardize(last, -1, eps) + beta).reshape(x.shape)


def _var_over_pixels(x, gamma, beta, eps=1e-6):
    y = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=(2, 3), keepdims=True) + eps)
    return _channel(gamma) * y + _channel(beta)


def _eps_like_the_exercise(mistake):
    """The common mistakes have eps = 1e-5 unless told otherwise; this exercise has 1e-6."""

    def attempt(x, gamma, beta, eps=1e-6):
        return mistake.function(x, gamma, beta, eps)

    return replace(mistake, function=attempt)


def _gamma_on_the_width(x, gamma, beta, eps=1e-6):
    return gamma * standardize(x, 1, eps) + beta


_CHANNEL_MISTAKES = [
    Mistake(
        norm_over(-1, _channel),
        "you averaged over the last axis, the width; the channels are axis 1",
    ),
    Mistake(
        norm_over((2, 3), _channel),
        "you averaged over the pixels of a channel, which is instance norm; here each pixel averages its channels",
    ),
    Mistake(
        norm_over((1, 2, 3), _channel),
        "you averaged over channels and pixels together, as GroupNorm(1, C) does; here each pixel has its own mean",
    ),
    Mistake(
        norm_over((0, 2, 3), _channel),
        "you averaged over images and pixels; that is batch norm, here each pixel averages its channels",
    ),
    Mistake(norm_over(0, _channel), "you averaged over the batch; each pixel averages its own channels, axis 1"),
    Mistake(
        norm_over((0, 1), _channel),
        "you averaged over images and channels together; each pixel of each image has its own mean",
    ),
    Mistake(
        _var_over_pixels,
        "your variance runs over the pixels of a channel; mean and variance both run over the channels, axis 1",
    ),
    Mistake(
        _back_by_reshape,
        "reshape gives the right shape and mixes up the entries; bring the channels back with transpose or np.moveaxis",
    ),
    Mistake(
        lambda x, gamma, beta, eps=1e-6: _channel_layer_norm(x, gamma, beta),
        "you ignored the argument eps and always used 1e-6",
    ),
    Mistake(
        _gamma_on_the_width,
        "your gamma and beta line up with the last axis, the width, and not with the channels; it goes unnoticed "
        "when C equals W",
    ),
    *affine_mistakes(1, _channel),
]

CHANNEL_LAYER_NORM = Exercise(
    name="my_channel_layer_norm",
    signature="my_channel_layer_norm(x, gamma, beta, eps=1e-6)",
    reference=_channel_layer_norm,
    cases=_channel_cases,
    tol=1e-4,
    variants=[_channels_last, _pixel_by_pixel],
    mistakes=[_eps_like_the_exercise(mistake) for mistake in _CHANNEL_MISTAKES],
)

# -------------------------------------------------------------------------------------------- my_project


def _project(x):
    """x on the plane at right angles to (1, ..., 1), and that point moved to distance sqrt(d) from the origin."""
    x = np.asarray(x, dtype=float)
    on_plane = x - x.mean()
    return on_plane, np.sqrt(len(x)) * on_plane / np.linalg.norm(on_plane)


def _project_cases(rng):
    return [
        case(np.array([1.0, 2.0, 6.0]), label="1, 2, 6"),
        case(rng.normal(size=5), label="five features"),
        case(rng.normal(100, 1, size=8), label="large mean"),
        case(rng.normal(0, 1e-3, size=4), label="tiny scale"),
        case(np.array([3.0, -1.0]), label="two features"),
    ]


def _project_by_matrix(x):
    d = len(x)
    matrix = np.eye(d) - np.full((d, d), 1 / d)
    p = matrix @ x
    return p, p * (d / np.sum(p**2)) ** 0.5


def _project_by_unit_vector(x):
    u = np.full(len(x), len(x) ** -0.5)
    p = x - np.dot(u, x) * u
    return np.array([p, p / np.sqrt(np.mean(p**2))])


def _changed(plane=None, sphere=None):
    """The answer with one of its two parts made from (x, on_plane) by another function."""

    def attempt(x):
        on_plane = _project(x)[0]
        first = plane(x, on_plane) if plane else on_plane
        second = sphere(x, first) if sphere else np.sqrt(len(x)) * first / np.linalg.norm(first)
        return first, second

    return attempt


PROJECT = Exercise(
    name="my_project",
    signature="my_project(x)",
    reference=_project,
    cases=_project_cases,
    results=("the point on the plane", "the point on the sphere"),
    variants=[_project_by_matrix, lambda x: list(_project_by_unit_vector(x))],
    mistakes=[
        Mistake(
            _changed(sphere=lambda x, p: p / np.linalg.norm(p)),
            "your second vector has length 1; layer norm's outputs have length √d",
        ),
        Mistake(
            _changed(sphere=lambda x, p: len(x) * p / np.linalg.norm(p)),
            "your second vector has length d; layer norm's outputs have length √d, the root",
        ),
        Mistake(
            _changed(plane=lambda x, p: x - (x @ np.ones(len(x))) * np.ones(len(x))),
            "you subtracted (x · 1) from every feature; divide it by d first, the squared length of (1, ..., 1)",
        ),
        Mistake(
            _changed(plane=lambda x, p: x - (x @ np.ones(len(x))) / np.sqrt(len(x)) * np.ones(len(x))),
            "you divided (x · 1) by √d once; use the unit vector (1, ..., 1) / √d in both places, or divide by d",
        ),
        Mistake(
            _changed(plane=lambda x, p: x - p, sphere=lambda x, q: np.sqrt(len(x)) * (x - q) / np.linalg.norm(x - q)),
            "your first vector is the part along (1, ..., 1); the plane holds what is left when you take that away",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(3) * p / np.linalg.norm(p)),
            "your second vector has length √3, which is right for three features only; the length is √d",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(len(x) - 1) * p / np.linalg.norm(p)),
            "your second vector has length √(d - 1), as if the variance were divided by d - 1; it is √d",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(len(x)) * p / (p @ p)),
            "you divided by the squared length of the projection; take the root of it first",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(len(x)) * p * np.linalg.norm(p)),
            "you multiplied by the length of the projection; divide by it",
        ),
        Mistake(
            _changed(plane=lambda x, p: x - (x @ np.ones(len(x))) / (x @ x) * np.ones(len(x))),
            "you divided by the squared length of x; divide by that of (1, ..., 1), which is d",
        ),
        Mistake(
            _changed(plane=lambda x, p: x - (x @ np.ones(len(x))) / len(x) * x),
            "you subtracted a multiple of x; subtract the same multiple of (1, ..., 1)",
        ),
        Mistake(
            _changed(plane=lambda x, p: x + (x @ np.ones(len(x))) / len(x) * np.ones(len(x))),
            "you added what x has in the direction (1, ..., 1); take it away",
        ),
        Mistake(
            _changed(plane=lambda x, p: p / np.linalg.norm(p)),
            "you gave the projection length 1 before returning it; the first vector is the projection as it is",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(len(x)) * x / np.linalg.norm(x)),
            "you moved x itself to the sphere, which is RMSNorm; move its projection",
        ),
        Mistake(
            _changed(sphere=lambda x, p: np.sqrt(len(x)) * p / np.linalg.norm(x)),
            "you divided by the length of x; divide by the length of its projection",
        ),
        Mistake(
            lambda x: _project(x)[::-1],
            "you returned the two vectors in the other order; the point on the plane comes first",
        ),
        Mistake(lambda x: _project(x)[1], "you returned only the second vector; return both, the projection first"),
        Mistake(lambda x: _project(x)[0], "you returned only the first vector; return both, the projection first"),
    ],
)

EXERCISES = [LAYER_NORM_TUPLE_AXES, CHANNEL_LAYER_NORM, PROJECT]
