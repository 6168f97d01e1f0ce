"""Lesson 07: what lies between layer norm and instance norm?"""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import (
    NORMALIZING,
    VARIANCES,
    affine_case,
    affine_mistakes,
    in_float32,
    mistakes_with,
    norm_over,
    one_pass,
    standardize,
)

# -------------------------------------------------------------------------------------------- my_group_norm


def _channel(p):
    return p.reshape(1, -1, 1, 1)


def _in_groups(x, groups):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w)


def _group_norm(x, groups, gamma, beta, eps=1e-5):
    """x (N, C, H, W), gamma and beta (C,): one mean and variance per image and block of neighboring channels."""
    y = standardize(_in_groups(x, groups), (2, 3, 4), eps)
    return _channel(gamma) * y.reshape(x.shape) + _channel(beta)


def _group_norm_cases(rng):
    def group_case(shape, groups, **more):
        affine = affine_case(rng, shape, shape[1], **more)
        x, gamma, beta = affine.args
        return case(x, groups, gamma, beta, label=affine.label, **affine.kwargs)

    shape = (int(rng.integers(2, 5)), 6, int(rng.integers(2, 5)), 5)
    return [
        group_case((3, 6, 2, 5), 2, label="C and W differ"),
        group_case((2, 4, 3, 4), 2, label="C equals W"),
        group_case(shape, 3, label="random shape"),
        group_case((2, 8, 2, 3), 4, label="four groups"),
        group_case((2, 4, 2, 3), 1, label="one group"),
        group_case((2, 4, 2, 3), 4, label="as many groups as channels"),
        group_case((2, 6, 3, 2), 2, mean=1e8, label="large mean"),
        group_case((2, 6, 2, 2), 3, scale=1e-3, label="tiny scale"),
        group_case((2, 6, 2, 2), 2, eps=0.5, label="large eps"),
        group_case((1, 6, 3, 4), 3, label="one image"),
    ]


def _on_groups(attempt):
    """An attempt with x (N, groups, C/groups, H, W) and gamma (groups, C/groups, 1, 1), as my_group_norm."""

    def on_images(x, groups, gamma, beta, eps=1e-5):
        inner = (groups, x.shape[1] // groups, 1, 1)
        return attempt(_in_groups(x, groups), gamma.reshape(inner), beta.reshape(inner), eps).reshape(x.shape)

    return on_images


def _as_it_is(p):
    return p


def _whatever_groups(axes):
    """The norm over `axes` of (N, C, H, W); it never looks at `groups`."""
    attempt = norm_over(axes, _channel)
    return lambda x, groups, gamma, beta, eps=1e-5: attempt(x, gamma, beta, eps)


def _average_of_channel_variances(x, mean, axes):
    return x.var(axis=(3, 4), keepdims=True).mean(axis=2, keepdims=True)


def _group_norm_interleaved(x, groups, gamma, beta, eps=1e-5):
    n, c, h, w = x.shape
    y = standardize(x.reshape(n, c // groups, groups, h, w), (1, 3, 4), eps)
    return _channel(gamma) * y.reshape(x.shape) + _channel(beta)


def _group_norm_of_size(x, groups, gamma, beta, eps=1e-5):
    return _group_norm(x, x.shape[1] // groups, gamma, beta, eps)


def _group_norm_gamma_per_group(x, groups, gamma, beta, eps=1e-5):
    size = x.shape[1] // groups
    return _group_norm(x, groups, np.repeat(gamma[:groups], size), np.repeat(beta[:groups], size), eps)


def _group_norm_gamma_again_in_each_group(x, groups, gamma, beta, eps=1e-5):
    size = x.shape[1] // groups
    return _group_norm(x, groups, np.tile(gamma[:size], groups), np.tile(beta[:size], groups), eps)


def _group_norm_gamma_last(x, groups, gamma, beta, eps=1e-5):
    return gamma * standardize(_in_groups(x, groups), (2, 3, 4), eps).reshape(x.shape) + beta


def _group_norm_not_put_back(x, groups, gamma, beta, eps=1e-5):
    return _in_groups(_group_norm(x, groups, gamma, beta, eps), groups)


def _group_norm_rows_of_all_images(x, groups, gamma, beta, eps=1e-5):
    y = standardize(x.reshape(groups, -1), 1, eps).reshape(x.shape)
    return _channel(gamma) * y + _channel(beta)


def _group_norm_by_slices(x, groups, gamma, beta, eps=1e-5):
    parts = []
    for block in np.split(x, groups, axis=1):
        centered = block - block.mean(axis=(1, 2, 3), keepdims=True)
        parts.append(centered / np.sqrt((centered**2).mean(axis=(1, 2, 3), keepdims=True) + eps))
    return np.concatenate(parts, axis=1) * gamma[:, None, None] + beta[:, None, None]


def _group_norm_by_repeating(x, groups, gamma, beta, eps=1e-5):
    rows = x.reshape(len(x), groups, -1)
    size = x.shape[1] // groups
    mean = np.repeat(rows.mean(axis=-1), size, axis=1)[..., None, None]
    scale = gamma / np.sqrt(np.repeat(rows.var(axis=-1), size, axis=1) + eps)
    return np.einsum("nchw,nc->nchw", x - mean, scale) + beta.reshape(1, -1, 1, 1)


GROUP_NORM = Exercise(
    name="my_group_norm",
    signature="my_group_norm(x, groups, gamma, beta, eps=1e-5)",
    reference=_group_norm,
    cases=_group_norm_cases,
    tol=1e-4,
    variants=[_group_norm_by_slices, _group_norm_by_repeating],
    mistakes=[
        Mistake(
            _group_norm_interleaved,
            "your groups are interleaved, with every second or third channel in one group; a group is a block of "
            "neighbors",
        ),
        Mistake(
            _group_norm_of_size,
            "you took groups for the number of channels in a group; it is the number of groups",
        ),
        Mistake(
            _group_norm_rows_of_all_images,
            "you reshaped to (groups, -1), which cuts the whole batch into as many pieces as there are groups; every "
            "image has its own groups",
        ),
        Mistake(
            _group_norm_gamma_per_group,
            "you gave a whole group one gamma and one beta; each channel has its own, only the statistics are shared",
        ),
        Mistake(
            _group_norm_gamma_again_in_each_group,
            "you used the first entries of gamma and beta again in every group; each channel has its own",
        ),
        Mistake(
            _group_norm_gamma_last,
            "your gamma and beta line up with the last axis, W, and not with the channels; it goes unnoticed when "
            "C equals W",
        ),
        Mistake(
            _group_norm_not_put_back,
            "your answer still has the axis of the groups; bring it back to the shape of x",
        ),
        Mistake(
            _on_groups(norm_over((0, 2, 3, 4), _as_it_is)),
            "your groups reach across the batch, so the images share a mean; each image has its own",
        ),
        Mistake(
            _on_groups(norm_over(2, _as_it_is)),
            "you averaged over the channels of a group only, so every pixel has its own mean; a group shares one over "
            "all its pixels",
        ),
        Mistake(
            _on_groups(norm_over((2, 3, 4), _as_it_is, var=_average_of_channel_variances)),
            "your variance is the average of the channels' own variances; how far their means lie apart counts too",
        ),
        Mistake(
            _whatever_groups((2, 3)),
            "every channel has a mean of its own, whatever groups is; that is instance norm",
        ),
        Mistake(
            _whatever_groups((1, 2, 3)),
            "all channels of an image share one mean, whatever groups is; that is layer norm",
        ),
        Mistake(
            _whatever_groups((0, 2, 3)),
            "you averaged over the batch and the pixels, whatever groups is; that is batch norm",
        ),
        *[
            Mistake(_on_groups(shared.function), shared.sentence, shared.wrong_anyhow)
            for shared in affine_mistakes((2, 3, 4), _as_it_is)
        ],
    ],
)

# ------------------------------------------------------------------------------------------------- my_adain

PIXELS = (1, 2)


def _std(x, eps, axes=PIXELS):
    return np.sqrt(x.var(axis=axes, keepdims=True) + eps)


def _adain(content, style, eps=1e-5):
    """content (C, H, W), style (C, H', W'): content with the mean and the spread of each channel of style."""
    return _std(style, eps) * standardize(content, PIXELS, eps) + style.mean(axis=PIXELS, keepdims=True)


def _adain_cases(rng):
    def pair(content, style, *, mean=0.0, scale=1.0, style_scale=1.0, **more):
        channels = (content[0], 1, 1)
        apart = rng.uniform(1, 3, channels)  # every channel has its own mean and spread
        own = mean + scale * (apart + rng.uniform(0.5, 2, channels) * rng.standard_normal(content))
        other = style_scale * (5 * apart + rng.uniform(2, 6, channels) * rng.standard_normal(style))
        return case(own, other, **more)

    sides = rng.integers(2, 6, 4).tolist()
    return [
        pair((3, 4, 5), (3, 2, 3), label="images of two sizes"),
        pair((3, 3, 3), (3, 3, 3), label="all equal"),
        pair((2, *sides[:2]), (2, *sides[2:]), label="random shape"),
        pair((2, 3, 4), (2, 4, 2), mean=1e8, label="large mean"),
        pair((2, 3, 4), (2, 4, 2), scale=1e-3, label="tiny scale"),
        pair((2, 3, 4), (2, 4, 2), style_scale=1e-3, label="style of tiny scale"),
        pair((2, 3, 4), (2, 4, 2), eps=0.5, label="large eps"),
    ]


def _adain_with(normalize=None, var=None, axes=PIXELS, finish=None):
    """AdaIN with a step replaced; the variances of both images are taken in the same way."""
    normalize = normalize or (lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps))
    var = var or (lambda x, mean, axes: x.var(axis=axes, keepdims=True))
    finish = finish or (lambda y, mean, std: std * y + mean)

    def attempt(content, style, eps=1e-5):
        mean, style_mean = (x.mean(axis=axes, keepdims=True) for x in (content, style))
        y = normalize(content, mean, var(content, mean, axes), eps)
        return finish(y, style_mean, np.sqrt(var(style, style_mean, axes) + eps))

    return attempt


def _adain_one_pass(x, mean, axes):
    return (x**2).mean(axis=axes, keepdims=True) - mean**2


def _adain_means_only(content, style, eps=1e-5):
    return content - content.mean(axis=PIXELS, keepdims=True) + style.mean(axis=PIXELS, keepdims=True)


def _adain_mean_of_content(content, style, eps=1e-5):
    return _std(style, eps) * standardize(content, PIXELS, eps) + content.mean(axis=PIXELS, keepdims=True)


def _adain_plain_style(content, style, eps=1e-5):
    return _std(style, 0) * standardize(content, PIXELS, eps) + style.mean(axis=PIXELS, keepdims=True)


def _adain_eps_outside(content, style, eps=1e-5):
    centered = content - content.mean(axis=PIXELS, keepdims=True)
    return (_std(style, 0) + eps) * centered / (_std(content, 0) + eps) + style.mean(axis=PIXELS, keepdims=True)


def _adain_eps_on_the_divisor(content, style, eps=1e-5):
    centered = content - content.mean(axis=PIXELS, keepdims=True)
    return _std(style, 0) * centered / (_std(content, 0) + eps) + style.mean(axis=PIXELS, keepdims=True)


def _adain_without_parentheses(content, style, eps=1e-5):
    mean, style_mean = (x.mean(axis=PIXELS, keepdims=True) for x in (content, style))
    return _std(style, eps) * content - mean / _std(content, eps) + style_mean


def _adain_by_style(content, style, eps=1e-5):
    return (content - style.mean(axis=PIXELS, keepdims=True)) / _std(style, eps)


def _adain_without_eps(content, style, eps=1e-5):
    return _adain(content, style, 0.0)


def _adain_fixed_eps(content, style, eps=1e-5):
    return _adain(content, style)


def _adain_as_one_line(content, style, eps=1e-5):
    scale = np.sqrt((style.var(axis=PIXELS) + eps) / (content.var(axis=PIXELS) + eps))
    centered = content - content.mean(axis=PIXELS)[:, None, None]
    return scale[:, None, None] * centered + style.mean(axis=PIXELS)[:, None, None]


def _adain_channel_by_channel(content, style, eps=1e-5):
    y = np.empty_like(content)
    for c, (own, other) in enumerate(zip(content, style, strict=True)):
        centered = own - own.mean()
        hat = centered / (np.mean(centered**2) + eps) ** 0.5
        y[c] = hat * (np.mean((other - other.mean()) ** 2) + eps) ** 0.5 + other.mean()
    return y


ADAIN = Exercise(
    name="my_adain",
    signature="my_adain(content, style, eps=1e-5)",
    reference=_adain,
    cases=_adain_cases,
    tol=1e-4,
    variants=[_adain_as_one_line, _adain_channel_by_channel],
    mistakes=[
        Mistake(
            lambda content, style, eps=1e-5: _adain(style, content, eps),
            "content and style have changed places: content keeps its shapes and gets the statistics of style",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: y + mean),
            "you did not multiply by the standard deviation of style, so every channel has spread 1",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: std * y),
            "you did not add the mean of style, so every channel has mean 0",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: y),
            "you normalized content but gave it neither the spread nor the mean of style",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: std * (y + mean)),
            "you added the mean of style before multiplying by its standard deviation; scale first, then shift",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: mean * y + std),
            "mean and standard deviation of style have changed places: the standard deviation multiplies, the mean is "
            "added",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: std**2 * y + mean),
            "you multiplied by the variance of style; multiply by its root",
        ),
        Mistake(
            _adain_with(finish=lambda y, mean, std: y / std + mean),
            "you divided by the standard deviation of style; divide by that of content, multiply by that of style",
        ),
        Mistake(
            _adain_with(axes=(0, 1, 2)),
            "your statistics run over all pixels of all channels; each channel has its own",
        ),
        Mistake(
            _adain_with(axes=0),
            "you averaged over the channels of each pixel; average over the pixels of each channel",
        ),
        Mistake(
            _adain_with(axes=2),
            "you averaged over the last axis only, so every row of pixels has its own mean",
        ),
        Mistake(
            _adain_means_only,
            "you moved the means but left the spread of content as it was",
        ),
        Mistake(
            _adain_mean_of_content,
            "you added the mean of content again; add that of style",
        ),
        Mistake(
            _adain_eps_outside,
            "your epsilon is added to both standard deviations; it belongs to both variances, under the root",
        ),
        Mistake(
            _adain_eps_on_the_divisor,
            "your epsilon is added to the standard deviation of content; here both variances get it, under the root",
        ),
        Mistake(
            _adain_without_parentheses,
            "without parentheses only the mean of content is divided; put content - mean in parentheses",
        ),
        Mistake(
            _adain_by_style,
            "you normalized content with the mean and spread of style; its own go away, those of style come in",
        ),
        Mistake(
            _adain_without_eps,
            "you left out epsilon; it is added to both variances, under the root",
        ),
        Mistake(
            _adain_fixed_eps,
            "you ignored the argument eps",
        ),
        Mistake(
            _adain_plain_style,
            "you added eps to the variance of content only; here both get it, so that an image keeps its own look",
        ),
        in_float32(_adain),
        one_pass(_adain_with(var=_adain_one_pass)),
        *mistakes_with(lambda step: _adain_with(var=step), VARIANCES),
        *mistakes_with(lambda step: _adain_with(normalize=step), NORMALIZING),
    ],
)

# ------------------------------------------------------------------------------------ my_weight_standardize


def _unit(gain, w):
    return gain.reshape(-1, *[1] * (w.ndim - 1))


def _weight_standardize(w, gain, eps=1e-5):
    """w (out, in) or (out, in, kh, kw), gain (out,): the weights of every output unit to mean 0 and variance 1."""
    return _unit(gain, w) * standardize(w, tuple(range(1, w.ndim)), eps)


def _weight_cases(rng):
    def weights(shape, *, mean=0.3, scale=1.0, **more):
        spread = scale * rng.uniform(0.5, 2, (shape[0], *[1] * (len(shape) - 1)))
        return case(mean + spread * rng.standard_normal(shape), rng.uniform(0.5, 2, shape[0]), **more)

    shape = (int(rng.integers(2, 5)), int(rng.integers(5, 8)))
    return [
        weights((4, 6), label="matrix"),
        weights((5, 5), label="square matrix"),
        weights(shape, label="random shape"),
        weights((4, 3, 2, 3), label="kernel"),
        weights((3, 3, 3, 3), label="kernel, all equal"),
        weights((3, 5), mean=1e8, label="large mean"),
        weights((4, 6), scale=1e-3, label="tiny scale"),
        weights((4, 6), eps=0.5, label="large eps"),
        weights((1, 7), label="one output"),
    ]


def _weights_with(var=None, normalize=None, axes=None, gain=None):
    """Weight standardization with a step replaced; `axes` is a function of w."""
    var = var or (lambda w, mean, axes: w.var(axis=axes, keepdims=True))
    normalize = normalize or (lambda w, mean, var, eps: (w - mean) / np.sqrt(var + eps))
    axes = axes or (lambda w: tuple(range(1, w.ndim)))
    finish = gain or (lambda y, gain: _unit(gain, y) * y)

    def attempt(w, gain, eps=1e-5):
        mean = w.mean(axis=axes(w), keepdims=True)
        return finish(normalize(w, mean, var(w, mean, axes(w)), eps), gain)

    return attempt


def _weights_one_pass(w, mean, axes):
    return (w**2).mean(axis=axes, keepdims=True) - mean**2


def _all_but(kept):
    return lambda w: tuple(axis for axis in range(w.ndim) if axis != kept)


def _weights_scaled(w, gain, eps=1e-5):
    return _weight_standardize(w, gain, eps) / np.sqrt(w[0].size)


def _weights_to_length_one(w, gain, eps=1e-5):
    axes = tuple(range(1, w.ndim))
    return _unit(gain, w) * w / np.sqrt((w**2).sum(axis=axes, keepdims=True) + eps)


def _weights_over_rms(w, gain, eps=1e-5):
    axes = tuple(range(1, w.ndim))
    return _unit(gain, w) * w / np.sqrt((w**2).mean(axis=axes, keepdims=True) + eps)


def _weights_centered_to_length_one(w, gain, eps=1e-5):
    axes = tuple(range(1, w.ndim))
    centered = w - w.mean(axis=axes, keepdims=True)
    return _unit(gain, w) * centered / np.sqrt((centered**2).sum(axis=axes, keepdims=True))


def _weights_kernels_only(w, gain, eps=1e-5):
    return gain[:, None, None, None] * standardize(w, (1, 2, 3), eps)


def _weights_gain_first(w, gain, eps=1e-5):
    return standardize(_unit(gain, w) * w, tuple(range(1, w.ndim)), eps)


def _weights_as_rows(w, gain, eps=1e-5):
    rows = w.reshape(len(w), -1)
    centered = rows - rows.mean(axis=1)[:, None]
    scale = gain / np.sqrt((centered * centered).mean(axis=1) + eps)
    return (scale[:, None] * centered).reshape(w.shape)


def _weights_unit_by_unit(w, gain, eps=1e-5):
    return np.array([g * (unit - unit.mean()) / (unit.var() + eps) ** 0.5 for unit, g in zip(w, gain, strict=True)])


WEIGHT_STANDARDIZE = Exercise(
    name="my_weight_standardize",
    signature="my_weight_standardize(w, gain, eps=1e-5)",
    reference=_weight_standardize,
    cases=_weight_cases,
    tol=1e-4,
    variants=[_weights_as_rows, _weights_unit_by_unit],
    mistakes=[
        Mistake(
            _weights_with(axes=_all_but(1)),
            "you averaged over the output units, so each input has its own mean; each output unit has its own",
        ),
        Mistake(
            _weights_with(axes=lambda w: None),
            "all weights share one mean and variance; each output unit has its own",
        ),
        Mistake(
            _weights_with(axes=lambda w: 1),
            "you averaged over axis 1 only; a unit of a convolution has all the weights behind the first axis",
        ),
        Mistake(
            _weights_with(axes=lambda w: -1),
            "you averaged over the last axis only; a unit of a convolution has all the weights behind the first axis",
        ),
        Mistake(
            _weights_with(axes=lambda w: 0),
            "you averaged over axis 0, from unit to unit; average within each output unit",
        ),
        Mistake(
            _weights_with(gain=lambda y, gain: y),
            "you did not multiply by gain",
        ),
        Mistake(
            _weights_with(gain=lambda y, gain: y + _unit(gain, y)),
            "you added gain; it multiplies the standardized weights",
        ),
        Mistake(
            _weights_with(gain=lambda y, gain: gain * y),
            "your gain lines up with the last axis, the inputs; it belongs to the output units, the first axis",
        ),
        Mistake(
            _weights_with(gain=lambda y, gain: gain[:, None] * y),
            "your [:, None] fits a matrix; a kernel needs an axis of size 1 for each axis behind the first",
        ),
        Mistake(
            _weights_kernels_only,
            "your axes fit a kernel only; a matrix has no axis 2 and 3",
        ),
        Mistake(
            _weights_centered_to_length_one,
            "you divided by the length of the centered weights; divide by their standard deviation",
        ),
        Mistake(
            _weights_gain_first,
            "you multiplied by gain before standardizing, which undoes the scale; multiply after it",
        ),
        Mistake(
            _weights_scaled,
            "you also divided by the root of the number of weights; that is scaled weight standardization, and not "
            "asked for",
        ),
        Mistake(
            _weights_to_length_one,
            "you divided by the length of the weights and subtracted no mean; that is weight norm",
        ),
        Mistake(
            _weights_over_rms,
            "you divided by the root mean square and subtracted no mean; the weights of a unit have to sum to 0",
        ),
        in_float32(_weight_standardize),
        one_pass(_weights_with(var=_weights_one_pass)),
        *mistakes_with(lambda step: _weights_with(var=step), VARIANCES),
        *mistakes_with(lambda step: _weights_with(normalize=step), NORMALIZING),
    ],
)

EXERCISES = [GROUP_NORM, ADAIN, WEIGHT_STANDARDIZE]
