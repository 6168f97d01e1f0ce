"""Lesson 01: which numbers share a mean?"""

import operator

import numpy as np

from .checker import Exercise, Mistake, WrongKind, case
from .steps import AFFINE, MIXED_UP, NORMALIZING, VARIANCES, forms, in_float32, mistakes_with, one_pass

# ------------------------------------------------------------------------------------------ statistic_axes

NORMS = ("batch", "instance", "layer")


def _statistic_axes(norm, ndim):
    """The axes averaged over, for channels-first tensors (N, C, *spatial) of `ndim` axes.

    batch: all but C. instance: the spatial axes (none for ndim 2). layer: all but N, as in Wu & He 2018, Fig. 2.
    """
    spatial = tuple(range(2, ndim))
    return {"batch": (0, *spatial), "instance": spatial, "layer": (1, *spatial)}[norm]


def _axes_cases(rng):
    return [case(norm, ndim) for ndim in (4, 3, 2) for norm in NORMS]


def _run_axes(attempt, norm, ndim):
    """Bring an answer to sorted, non-negative axes: lists, NumPy integers, -1 and a bare 0 are fine."""
    axes = attempt(norm, ndim)
    if axes is None or axes is ...:
        return axes
    try:
        axes = [axes] if np.ndim(axes) == 0 and not isinstance(axes, (set, range)) else list(axes)
        if any(isinstance(axis, (bool, np.bool_)) for axis in axes):
            raise TypeError
        axes = [operator.index(axis) for axis in axes]
    except (TypeError, ValueError):
        raise WrongKind("the answer is not a tuple of whole numbers, the axes") from None
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise WrongKind(f"axis {axis} does not exist in a tensor with {ndim} axes")
    axes = sorted(axis % ndim for axis in axes)
    if len(set(axes)) < len(axes):
        raise WrongKind(f"an axis is named twice: {tuple(axes)}")
    return tuple(axes)


def _compare_axes(axes, expected, tol):
    return axes == expected, f"got {axes}, expected {expected}"


def _axes_with(**changed):
    """The right axes, except for the norms in `changed`, which map ndim to axes."""
    return lambda norm, ndim: changed.get(norm, lambda n: _statistic_axes(norm, n))(ndim)


def _axes_by_elimination(norm, ndim):
    kept = {"batch": {1}, "instance": {0, 1}, "layer": {0}}[norm]
    return [axis for axis in range(ndim) if axis not in kept]


def _axes_from_the_end(norm, ndim):
    axes = [-1, -2, -3, -4][: ndim - 2]
    if norm == "batch":
        axes.append(0)
    if norm == "layer":
        axes.append(1 - ndim)
    return np.array(axes, dtype=int)


STATISTIC_AXES = Exercise(
    name="my_statistic_axes",
    signature="my_statistic_axes(norm, ndim)",
    reference=_statistic_axes,
    cases=_axes_cases,
    run=_run_axes,
    compare=_compare_axes,
    variants=[_axes_by_elimination, _axes_from_the_end],
    mistakes=[
        Mistake(
            _axes_with(batch=lambda ndim: (0,)),
            "for batch norm you averaged over the batch axis only, so every position (pixel or time step) gets "
            "statistics of its own; in batch norm a channel shares them over all positions",
        ),
        Mistake(
            _axes_with(batch=lambda ndim: tuple(range(ndim))),
            "for batch norm you included the channel axis, so all channels share one mean; each channel has its own",
        ),
        Mistake(
            _axes_with(layer=lambda ndim: tuple(range(2, ndim))),
            "for layer norm you averaged over the spatial axes only; that is instance norm",
        ),
        Mistake(
            _axes_with(layer=lambda ndim: tuple(range(ndim))),
            "for layer norm you included the batch axis, so the samples share a mean; each sample has its own",
        ),
        Mistake(
            _axes_with(layer=lambda ndim: (ndim - 1,)),
            "for layer norm you took the last axis only, as for a sequence whose channels come last; here it is one "
            "mean per sample",
        ),
        Mistake(
            _axes_with(layer=lambda ndim: (1,)),
            "for layer norm you took the channel axis only, so every position has its own mean; here it is one mean "
            "per sample",
        ),
        Mistake(
            _axes_with(instance=lambda ndim: tuple(range(1, ndim))),
            "for instance norm you included the channel axis; that is layer norm",
        ),
        Mistake(
            _axes_with(instance=lambda ndim: (0, *range(2, ndim))),
            "for instance norm you included the batch axis; that is batch norm",
        ),
        Mistake(
            _axes_with(batch=lambda n: _statistic_axes("layer", n), layer=lambda n: _statistic_axes("batch", n)),
            "you swapped batch norm and layer norm: batch norm averages across the samples, layer norm within one",
        ),
        Mistake(
            lambda norm, ndim: {"batch": (1,), "instance": (0, 1), "layer": (0,)}[norm],
            "you named the axes that keep separate statistics; asked are the others, those that are averaged over",
        ),
        *forms(
            "your axes are those of a table (N, C); with more axes a channel has positions too, and they are averaged "
            "over or kept with it",
            _axes_with(batch=lambda ndim: (0,), layer=lambda ndim: (ndim - 1,), instance=lambda ndim: ()),
            _axes_with(batch=lambda ndim: (0,), layer=lambda ndim: (1,), instance=lambda ndim: ()),
        ),
        Mistake(
            _axes_with(
                batch=lambda ndim: tuple(range(ndim - 1)),
                layer=lambda ndim: tuple(range(1, ndim)),
                instance=lambda ndim: tuple(range(1, ndim - 1)),
            ),
            "your axes are those of channels-last tensors (N, H, W, C); here the channels are axis 1",
        ),
        Mistake(
            lambda norm, ndim: _statistic_axes(norm, 4),
            "your axes are those of an image whatever ndim is; count the spatial axes from ndim",
        ),
    ],
)

# ------------------------------------------------------------------ what layer_norm and batch_norm_nchw share


def _standardize(x, axes, eps):
    """(x - mean) / sqrt(var + eps) with statistics over `axes`."""
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def _norm_over(axes, per_feature, var=None, normalize=None, affine=None, whole=None):
    """The norm over `axes`, with a step replaced; `per_feature` reshapes gamma and beta."""
    var = var or (lambda x, mean, axes: x.var(axis=axes, keepdims=True))
    normalize = normalize or (lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps))
    affine = affine or (lambda y, gamma, beta: gamma * y + beta)
    whole = whole or (lambda x, mean, var, g, b, eps: affine(normalize(x, mean, var, eps), g, b))

    def attempt(x, gamma, beta, eps=1e-5):
        mean = x.mean(axis=axes, keepdims=True)
        return whole(x, mean, var(x, mean, axes), per_feature(gamma), per_feature(beta), eps)

    return attempt


def _shared_mistakes(axes, per_feature):
    """The mistakes of both exercises, for statistics over `axes`."""

    def norm_with(**steps):
        return _norm_over(axes, per_feature, **steps)

    def rms(x, mean, var, eps):
        return x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + eps)

    def gamma_first(x, gamma, beta, eps=1e-5):
        return _standardize(per_feature(gamma) * x, axes, eps) + per_feature(beta)

    def both_first(x, gamma, beta, eps=1e-5):
        return _standardize(per_feature(gamma) * x + per_feature(beta), axes, eps)

    def var_in_one_pass(x, mean, axes):
        return (x**2).mean(axis=axes, keepdims=True) - mean**2

    return [
        in_float32(norm_with()),
        one_pass(norm_with(var=var_in_one_pass)),
        *mistakes_with(lambda step: norm_with(var=step), VARIANCES),
        *mistakes_with(lambda step: norm_with(normalize=step), NORMALIZING),
        *mistakes_with(lambda step: norm_with(affine=step), AFFINE),
        *mistakes_with(lambda step: norm_with(whole=step), MIXED_UP),
        Mistake(
            norm_with(normalize=rms),
            "you divided by the root mean square without subtracting the mean; that is RMSNorm",
        ),
        Mistake(
            gamma_first,
            "you multiplied by gamma before normalizing; it has to come after, or the normalization undoes the scale",
        ),
        Mistake(
            both_first,
            "you applied gamma and beta before normalizing; they have to come after, or the normalization undoes them",
        ),
    ]


def _affine_case(rng, shape, features, *, mean=0.0, scale=1.0, label="", **kwargs):
    """Random x of a shape; gamma and beta differ from feature to feature and are never 1 and 0."""
    x = mean + scale * rng.standard_normal(shape)
    return case(x, rng.uniform(0.5, 2.0, features), rng.uniform(0.5, 2.0, features), label=label, **kwargs)


# ---------------------------------------------------------------------------------------------- layer_norm


def _layer_norm(x, gamma, beta, eps=1e-5):
    """Statistics over the last axis; gamma and beta have its length."""
    return gamma * _standardize(x, -1, eps) + beta


def _layer_norm_cases(rng):
    sequence = (int(rng.integers(2, 5)), int(rng.integers(5, 8)), 4)
    return [
        _affine_case(rng, (5, 3), 3, label="small x"),
        _affine_case(rng, (4, 4), 4, label="square x"),
        _affine_case(rng, sequence, 4, label="sequence"),
        _affine_case(rng, (3, 3, 3), 3, label="cube"),
        _affine_case(rng, (6, 5), 5, mean=1e8, label="large mean"),
        _affine_case(rng, (4, 6), 6, scale=1e-3, label="tiny scale"),
        _affine_case(rng, (4, 3), 3, eps=0.5, label="large eps"),
        _affine_case(rng, (1, 7), 7, label="one row"),
    ]


def _layer_norm_losing(*lost):
    """Statistics that lose the reduced axis: "mean", "var" or both."""

    def attempt(x, gamma, beta, eps=1e-5):
        mean = x.mean(axis=-1, keepdims="mean" not in lost)
        var = x.var(axis=-1, keepdims="var" not in lost)
        return gamma * (x - mean) / np.sqrt(var + eps) + beta

    return attempt


def _layer_norm_over_lost_axis_1(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(axis=1)) / np.sqrt(x.var(axis=1) + eps) + beta


def _layer_norm_rows_in_the_middle(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(axis=-1)[:, None], x.var(axis=-1)[:, None]
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def _layer_norm_einsum(x, gamma, beta, eps=1e-5):
    n = x.shape[-1]
    centered = x - np.einsum("...i->...", x)[..., None] / n
    var = np.einsum("...i,...i->...", centered, centered)[..., None] / n
    return np.einsum("i,...i->...i", gamma, centered * (var + eps) ** -0.5) + beta


def _layer_norm_row_by_row(x, gamma, beta, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        var = sum((value - mean) ** 2 for value in row) / len(row)
        rows.append([g * (v - mean) / (var + eps) ** 0.5 + b for v, g, b in zip(row, gamma, beta, strict=True)])
    return np.array(rows).reshape(x.shape)


LAYER_NORM = Exercise(
    name="my_layer_norm",
    signature="my_layer_norm(x, gamma, beta, eps=1e-5)",
    reference=_layer_norm,
    cases=_layer_norm_cases,
    tol=1e-4,
    variants=[_layer_norm_einsum, _layer_norm_row_by_row],
    mistakes=[
        Mistake(
            _norm_over(0, lambda p: p),
            "you averaged over axis 0, across the batch; layer norm averages over the last axis, within each row",
        ),
        Mistake(
            _layer_norm_losing("mean", "var"),
            "your mean and variance lost the axis you averaged over, so they no longer line up with the rows of x; "
            "keep it with size 1",
        ),
        Mistake(
            _layer_norm_losing("mean"),
            "your mean lost the axis you averaged over (your variance kept it), so it no longer lines up with the "
            "rows of x",
        ),
        Mistake(
            _layer_norm_losing("var"),
            "your variance lost the axis you averaged over (your mean kept it), so it no longer lines up with the "
            "rows of x",
        ),
        Mistake(
            _norm_over(None, lambda p: p),
            "you averaged over all entries of x, so the rows share one mean; each row has its own",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _norm_over(tuple(range(1, x.ndim)), lambda p: p)(x, gamma, beta, eps),
            "with three axes you averaged over the middle one too, so the tokens of a sample share a mean; each "
            "token has its own",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _norm_over(1, lambda p: p)(x, gamma, beta, eps),
            "you averaged over axis 1, which is the last axis only if x has two; count from the end",
        ),
        Mistake(
            _layer_norm_over_lost_axis_1,
            "you averaged over axis 1 and lost it; count from the end, axis=-1, and keep the axis with size 1",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _norm_over(-2, lambda p: p)(x, gamma, beta, eps),
            "you averaged over axis -2, across the rows; layer norm averages over the last axis, within each row",
        ),
        Mistake(
            _layer_norm_rows_in_the_middle,
            "your [:, None] puts the axis of size 1 where it belongs only if x has two axes; keepdims=True fits any x",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _norm_over(-1, lambda p: p[:, None])(x, gamma, beta, eps),
            "gamma and beta have one entry per feature and line up with the last axis as they are; they need no new "
            "axis",
            wrong_anyhow="square x",
        ),
        Mistake(
            _norm_over(-1, lambda p: p, var=lambda x, mean, axes: ((x - mean) ** 2).sum(-1, keepdims=True) / len(x)),
            "you divided the sum of squares by len(x), the number of rows; divide by the length of a row, x.shape[-1]",
        ),
        *_shared_mistakes(-1, lambda p: p),
    ],
)

# ----------------------------------------------------------------------------------------- batch_norm_nchw


def _batch_norm_nchw(x, gamma, beta, eps=1e-5):
    """x (N, C, H, W), gamma and beta (C,): one mean and variance per channel."""
    return _channel(gamma) * _standardize(x, (0, 2, 3), eps) + _channel(beta)


def _batch_norm_cases(rng):
    shape = (int(rng.integers(2, 6)), 3, int(rng.integers(2, 6)), 5)
    return [
        _affine_case(rng, (4, 3, 2, 5), 3, label="C and W differ"),
        _affine_case(rng, (3, 4, 2, 4), 4, label="C equals W"),
        _affine_case(rng, (3, 3, 3, 3), 3, label="all equal"),
        _affine_case(rng, shape, 3, label="random shape"),
        _affine_case(rng, (2, 3, 4, 2), 3, mean=1e8, label="large mean"),
        _affine_case(rng, (3, 2, 2, 3), 2, scale=1e-3, label="tiny scale"),
        _affine_case(rng, (2, 3, 2, 2), 3, eps=0.5, label="large eps"),
        _affine_case(rng, (1, 2, 3, 4), 2, label="one image"),
    ]


def _channel(p):
    return p.reshape(1, -1, 1, 1)


def _batch_norm_gamma_last(x, gamma, beta, eps=1e-5):
    return gamma * _standardize(x, (0, 2, 3), eps) + beta


def _batch_norm_without_keepdims(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    return _channel(gamma) * (x - mean) / np.sqrt(var + eps) + _channel(beta)


def _batch_norm_nothing_reshaped(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def _batch_norm_channels_as_rows(x, gamma, beta, eps=1e-5):
    n, c, h, w = x.shape
    rows = x.transpose(1, 0, 2, 3).reshape(c, n * h * w)
    centered = rows - rows.mean(axis=1)[:, None]
    var = (centered * centered).mean(axis=1)[:, None]
    y = gamma[:, None] * centered / np.sqrt(var + eps) + beta[:, None]
    return y.reshape(c, n, h, w).transpose(1, 0, 2, 3)


def _batch_norm_channel_loop(x, gamma, beta, eps=1e-5):
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        y[:, c] = gamma[c] * (x[:, c] - x[:, c].mean()) / (x[:, c].var() + eps) ** 0.5 + beta[c]
    return y


def _batch_norm_folded(x, gamma, beta, eps=1e-5):
    count = x.size / x.shape[1]
    mean = np.einsum("nchw->c", x) / count
    centered = x - _channel(mean)
    scale = gamma / np.sqrt(np.einsum("nchw,nchw->c", centered, centered) / count + eps)
    shift = beta - mean * scale
    return np.einsum("c,nchw->nchw", scale, x) + shift[:, None, None]


BATCH_NORM_NCHW = Exercise(
    name="my_batch_norm_nchw",
    signature="my_batch_norm_nchw(x, gamma, beta, eps=1e-5)",
    reference=_batch_norm_nchw,
    cases=_batch_norm_cases,
    tol=1e-4,
    variants=[_batch_norm_channels_as_rows, _batch_norm_channel_loop, _batch_norm_folded],
    mistakes=[
        Mistake(
            _norm_over(0, _channel),
            "you averaged over the batch axis only, so every pixel has its own mean; a channel shares one over all "
            "images and all pixels",
        ),
        Mistake(
            _norm_over((2, 3), _channel),
            "you averaged over the pixels of each image by itself; that is instance norm",
        ),
        Mistake(
            _norm_over((1, 2, 3), _channel),
            "you averaged within each image over all its channels; that is layer norm",
        ),
        Mistake(
            _norm_over((0, 1, 2, 3), _channel),
            "you averaged over all entries of x, so the channels share one mean; each channel has its own",
        ),
        Mistake(
            _norm_over((0, 1, 2), _channel),
            "you averaged over the channel axis and kept the last one; that is right for channels-last (N, H, W, C), "
            "here the channels are axis 1",
        ),
        Mistake(
            _norm_over(1, _channel),
            "you averaged over the channel axis; that axis is the one that keeps its own statistics",
        ),
        Mistake(
            _batch_norm_gamma_last,
            "your gamma and beta line up with the last axis, W, and not with the channels; it goes unnoticed when "
            "C equals W",
        ),
        Mistake(
            _norm_over((0, 2, 3), lambda p: p[:, None]),
            "your [:, None] lines gamma and beta up with H, the third axis; to reach the channels they need two axes "
            "of size 1 behind them, one for H and one for W",
        ),
        Mistake(
            _norm_over((0, 2, 3), lambda p: p.reshape(-1, 1, 1, 1)),
            "your gamma and beta line up with the first axis, N; to reach the channels they need two axes of size 1 "
            "behind them, and no third",
        ),
        Mistake(
            _batch_norm_without_keepdims,
            "your mean and variance lost the axes you averaged over, so they line up with the last axis, W, and not "
            "with the channels; it goes unnoticed when C equals W",
        ),
        Mistake(
            _batch_norm_nothing_reshaped,
            "neither your statistics nor gamma and beta line up with the channels: an array of shape (C,) meets the "
            "last axis of x, W; it goes unnoticed when C equals W",
        ),
        *_shared_mistakes((0, 2, 3), _channel),
    ],
)

EXERCISES = [STATISTIC_AXES, LAYER_NORM, BATCH_NORM_NCHW]
