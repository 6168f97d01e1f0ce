"""Lesson 01: which numbers share a mean?"""

import operator

import numpy as np

from .checker import Exercise, Mistake, WrongKind, case

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


def _standardize_n_minus_1(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=axes, keepdims=True, ddof=1) + eps)


def _standardize_eps_outside(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / (x.std(axis=axes, keepdims=True) + eps)


def _standardize_by_variance(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / (x.var(axis=axes, keepdims=True) + eps)


def _standardize_one_pass(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt((x**2).mean(axis=axes, keepdims=True) - mean**2 + eps)


def _standardize_float32(x, axes, eps):
    return _standardize(x.astype(np.float32), axes, eps)


def _standardize_without_parentheses(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return x - mean / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def _standardize_eps_last(x, axes, eps):
    return _standardize(x, axes, 0.0) + eps


def _standardize_uncentered(x, axes, eps):
    return x / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def _rms(x, axes, eps):
    return x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + eps)


def _shared_mistakes(axes, per_feature):
    """The mistakes of both exercises, for statistics over `axes`; `per_feature` reshapes gamma and beta."""

    def affine(standardize):
        def attempt(x, gamma, beta, eps=1e-5):
            return per_feature(gamma) * standardize(x, axes, eps) + per_feature(beta)

        return attempt

    def without_any_parentheses(x, gamma, beta, eps=1e-5):
        mean, var = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
        return per_feature(gamma) * x - mean / np.sqrt(var + eps) + per_feature(beta)

    def without_gamma_and_beta(x, gamma, beta, eps=1e-5):
        return _standardize(x, axes, eps)

    def without_beta(x, gamma, beta, eps=1e-5):
        return per_feature(gamma) * _standardize(x, axes, eps)

    def beta_first(x, gamma, beta, eps=1e-5):
        return per_feature(gamma) * (_standardize(x, axes, eps) + per_feature(beta))

    def gamma_first(x, gamma, beta, eps=1e-5):
        return _standardize(per_feature(gamma) * x, axes, eps) + per_feature(beta)

    def both_first(x, gamma, beta, eps=1e-5):
        return _standardize(per_feature(gamma) * x + per_feature(beta), axes, eps)

    return [
        Mistake(
            affine(_standardize_n_minus_1),
            "you divided by n - 1 in the variance; normalization uses the biased variance, divided by n",
        ),
        Mistake(
            affine(_standardize_float32),
            "you converted x to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the differences",
        ),
        Mistake(
            affine(_standardize_one_pass),
            "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits "
            "cancel; subtract the mean first, then square",
            wrong_anyhow="large mean",
        ),
        Mistake(
            affine(_standardize_without_parentheses),
            "without parentheses only the mean is divided: a quotient is computed before a difference",
        ),
        Mistake(
            without_any_parentheses,
            "without parentheses gamma multiplies x alone and the root divides the mean alone; put x - mean in "
            "parentheses",
        ),
        Mistake(
            affine(_standardize_eps_last),
            "your epsilon is added after the division; put var + eps in parentheses, under the root",
        ),
        Mistake(
            affine(_standardize_eps_outside),
            "your epsilon is outside the root: you added it to the standard deviation, it belongs to the variance",
        ),
        Mistake(
            affine(lambda x, axes, eps: _standardize(x, axes, 0.0)),
            "you left out epsilon, so a group with a tiny variance is blown up",
        ),
        Mistake(
            affine(lambda x, axes, eps: _standardize(x, axes, 1e-5)),
            "you ignored the argument eps and always used 1e-5",
        ),
        Mistake(
            affine(_standardize_by_variance),
            "you divided by the variance; x and the standard deviation have the same unit, the variance is its square",
        ),
        Mistake(
            affine(_standardize_uncentered),
            "you did not subtract the mean, so it is still there after normalizing",
        ),
        Mistake(
            affine(_rms),
            "you divided by the root mean square without subtracting the mean; that is RMSNorm",
        ),
        Mistake(without_gamma_and_beta, "you did not apply gamma and beta"),
        Mistake(without_beta, "you applied gamma but not beta"),
        Mistake(beta_first, "you added beta before multiplying by gamma; the scale comes first, then the shift"),
        Mistake(
            gamma_first,
            "you multiplied by gamma before normalizing; it has to come after, or the normalization undoes the scale",
        ),
        Mistake(
            both_first,
            "you applied gamma and beta before normalizing; they have to come after, or the normalization undoes them",
        ),
    ]


def _wrong_axes(axes, per_feature):
    def attempt(x, gamma, beta, eps=1e-5):
        return per_feature(gamma) * _standardize(x, axes, eps) + per_feature(beta)

    return attempt


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
            _wrong_axes(0, lambda p: p),
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
            _wrong_axes(None, lambda p: p),
            "you averaged over all entries of x, so the rows share one mean; each row has its own",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _wrong_axes(tuple(range(1, x.ndim)), lambda p: p)(x, gamma, beta, eps),
            "with three axes you averaged over the middle one too, so the tokens of a sample share a mean; each "
            "token has its own",
        ),
        Mistake(
            lambda x, gamma, beta, eps=1e-5: _wrong_axes(1, lambda p: p)(x, gamma, beta, eps),
            "you averaged over axis 1, which is the last axis only if x has two; count from the end",
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
            _wrong_axes(0, _channel),
            "you averaged over the batch axis only, so every pixel has its own mean; a channel shares one over all "
            "images and all pixels",
        ),
        Mistake(
            _wrong_axes((2, 3), _channel),
            "you averaged over the pixels of each image by itself; that is instance norm",
        ),
        Mistake(
            _wrong_axes((1, 2, 3), _channel),
            "you averaged within each image over all its channels; that is layer norm",
        ),
        Mistake(
            _wrong_axes((0, 1, 2, 3), _channel),
            "you averaged over all entries of x, so the channels share one mean; each channel has its own",
        ),
        Mistake(
            _wrong_axes((0, 1, 2), _channel),
            "you averaged over the channel axis and kept the last one; that is right for channels-last (N, H, W, C), "
            "here the channels are axis 1",
        ),
        Mistake(
            _wrong_axes(1, _channel),
            "you averaged over the channel axis; that axis is the one that keeps its own statistics",
        ),
        Mistake(
            _batch_norm_gamma_last,
            "your gamma and beta line up with the last axis, W, and not with the channels; it goes unnoticed when "
            "C equals W",
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
