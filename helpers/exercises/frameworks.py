"""Lesson 13: a Keras batch norm for PyTorch, layer norm in any layout, and a dense layer behind a flattened image."""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import affine_mistakes, forms, standardize

# ------------------------------------------------------------------------------------ my_port_batch_norm


def _split(weights, center, scale):
    """gamma, beta, mean and variance of Keras's get_weights(), where what the layer does not have is missing."""
    rest = list(weights)
    gamma = rest.pop(0) if scale else np.ones_like(weights[-1])
    beta = rest.pop(0) if center else np.zeros_like(weights[-1])
    return gamma, beta, *rest


def _port_batch_norm(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    """The six values of PyTorch's BatchNorm2d that does what Keras's BatchNormalization does."""
    return *_split(weights, center, scale), 1 - momentum, epsilon


def _port_case(rng, channels, label="", **kwargs):
    """Trained values: none of the four arrays could be taken for another, or for ones and zeros."""
    gamma, beta = rng.uniform(1.2, 2, channels), rng.uniform(-2, -1, channels)
    mean, var = rng.uniform(3, 5, channels), rng.uniform(0.1, 0.9, channels)
    weights = [mean, var]
    if kwargs.get("center", True):
        weights.insert(0, beta)
    if kwargs.get("scale", True):
        weights.insert(0, gamma)
    return case(weights, label=label, **kwargs)


def _port_cases(rng):
    return [
        _port_case(rng, 3, label="default settings"),
        _port_case(rng, 4, momentum=0.9, epsilon=1e-5, label="settings of its own"),
        _port_case(rng, 3, momentum=0.999, epsilon=0.01, label="slow"),
        _port_case(rng, 5, scale=False, label="without gamma"),
        _port_case(rng, 5, center=False, label="without beta"),
        _port_case(rng, 4, center=False, scale=False, momentum=0.8, label="without gamma and beta"),
        _port_case(rng, 1, label="one channel"),
    ]


def _ported(change):
    """The right answer, changed: change(weight, bias, mean, var, momentum, eps) returns the six anew."""

    def attempt(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
        return change(*_port_batch_norm(weights, momentum, epsilon, center, scale))

    return attempt


def _port_with_missing(gamma, beta):
    """The answer, with other values where Keras has no gamma or no beta; each from the moving mean."""

    def attempt(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
        w, b, mean, var = _split(weights, center, scale)
        return (w if scale else gamma(mean)), (b if center else beta(mean)), mean, var, 1 - momentum, epsilon

    return attempt


def _port_four(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    gamma, beta, mean, var = weights
    return gamma, beta, mean, var, 1 - momentum, epsilon


def _port_four_folded(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    gamma, beta, mean, var = weights
    factor = gamma / np.sqrt(var + epsilon)
    return factor, beta - mean * factor, mean, var, 1 - momentum, epsilon


def _port_by_place(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    return weights[0], weights[1], weights[-2], weights[-1], 1 - momentum, epsilon


def _port_with_bias(bias):
    """The answer, with the bias found in another way: bias(weights, center, scale)."""

    def attempt(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
        right = _port_batch_norm(weights, momentum, epsilon, center, scale)
        return right[0], bias(weights, center, scale), *right[2:]

    return attempt


def _port_with_flags_exchanged(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    return _port_batch_norm(weights, momentum, epsilon, center=scale, scale=center)


def _port_with_iterator(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    items = iter(weights)
    channels = len(weights[-1])
    weight = next(items) if scale else np.full(channels, 1.0)
    bias = next(items) if center else np.full(channels, 0.0)
    return [weight, bias, *items, -momentum + 1.0, epsilon]


def _port_from_the_end(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    mean, var = weights[-2:]
    weight = weights[0] if scale else 0 * var + 1
    bias = weights[-3] if center else 0 * var
    return weight, bias, mean, var, 1 - momentum, epsilon


def _port_from_the_wrong_end(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    """pop() where pop(0) is meant."""
    rest = list(weights)
    weight = rest.pop() if scale else np.ones_like(weights[-1])
    bias = rest.pop() if center else np.zeros_like(weights[-1])
    return weight, bias, *rest, 1 - momentum, epsilon


def _port_beta_first(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    rest = list(weights)
    bias = rest.pop(0) if center else np.zeros_like(weights[-1])
    weight = rest.pop(0) if scale else np.ones_like(weights[-1])
    return weight, bias, *rest, 1 - momentum, epsilon


def _port_flags_inverted(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    """Takes from the list where the layer has nothing; what is left over is cut off."""
    rest = list(weights)
    weight = np.ones_like(weights[-1]) if scale else rest.pop(0)
    bias = np.zeros_like(weights[-1]) if center else rest.pop(0)
    return weight, bias, rest[0], rest[1], 1 - momentum, epsilon


def _port_by_length(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    """Three arrays are taken for gamma, mean and variance."""
    one, none = np.ones_like(weights[-1]), np.zeros_like(weights[-1])
    weight = weights[0] if len(weights) > 2 else one
    bias = weights[1] if len(weights) == 4 else none
    return weight, bias, *weights[-2:], 1 - momentum, epsilon


def _port_as_long_as_the_list(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    gamma, beta, mean, var = _split(weights, center, scale)
    gamma = gamma if scale else np.ones(len(weights))
    beta = beta if center else np.zeros(len(weights))
    return gamma, beta, mean, var, 1 - momentum, epsilon


def _port_folded(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    gamma, beta, mean, var = _split(weights, center, scale)
    factor = gamma / np.sqrt(var + epsilon)
    return factor, beta - mean * factor, mean, var, 1 - momentum, epsilon


PORT_BATCH_NORM = Exercise(
    name="my_port_batch_norm",
    signature="my_port_batch_norm(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True)",
    reference=_port_batch_norm,
    cases=_port_cases,
    results=("weight", "bias", "running_mean", "running_var", "momentum", "eps"),
    variants=[_port_with_iterator, _port_from_the_end],
    mistakes=[
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 1 - momentum, eps)),
            "you passed the momentum on unchanged; in Keras it is the weight of the old value, in PyTorch of the new",
        ),
        *forms(
            "you left the momentum at a default; take it from the argument, the trained layer may have another",
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 0.1, eps)),
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 0.01, eps)),
        ),
        *forms(
            "you left eps at a default; take it from the argument, the trained layer may have another",
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, momentum, 1e-5)),
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, momentum, 1e-3)),
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 0.1, 1e-5)),
            "you left momentum and eps at PyTorch's defaults; both have to come from the Keras layer",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 1 - momentum, 1e-5)),
            "your momentum still means the old value, and your eps is PyTorch's default; convert one, copy the other",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, eps, momentum)),
            "your last two results have changed places: first momentum, then eps",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (b, w, m, v, momentum, eps)),
            "gamma and beta have changed places: weight is gamma, bias is beta",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, v, m, momentum, eps)),
            "mean and variance have changed places; Keras lists the moving mean first",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (m, v, w, b, momentum, eps)),
            "your first four results are in another order; asked are weight, bias, running_mean, running_var",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, np.sqrt(v), momentum, eps)),
            "you stored a standard deviation; running_var is a variance, as Keras has it",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v + eps, momentum, eps)),
            "you added eps to the variance; PyTorch adds it again when it normalizes",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w / np.sqrt(v + eps), b, m, v, momentum, eps)),
            "you divided gamma by the standard deviation; PyTorch divides by it itself, gamma is copied as it is",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (np.ones_like(w), np.zeros_like(b), m, v, momentum, eps)),
            "you gave fresh ones and zeros; gamma and beta are trained, copy them where Keras has them",
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, 0 * m, 0 * v + 1, momentum, eps)),
            "you gave fresh statistics, 0 and 1; eval mode needs the moving mean and variance that Keras stored",
        ),
        Mistake(
            _port_with_flags_exchanged,
            "center and scale have changed places: scale means that there is a gamma, center that there is a beta",
        ),
        Mistake(
            _port_from_the_wrong_end,
            "pop() takes from the end, where mean and variance stand; gamma and beta come first, so take pop(0)",
        ),
        Mistake(
            _port_beta_first,
            "you take beta from the list before gamma; Keras lists gamma first",
        ),
        Mistake(
            _port_flags_inverted,
            "your ifs are the wrong way round: with scale=True the list has a gamma, with center=True a beta",
        ),
        Mistake(
            _port_by_length,
            "you take the first of three arrays for gamma; it may be beta, and scale and center say which",
        ),
        Mistake(
            _port_as_long_as_the_list,
            "your ones or zeros are as many as the list has arrays; they are one per channel, as many as means",
        ),
        *forms(
            "you folded mean and variance into gamma and beta; PyTorch normalizes by itself, so copy all four",
            _port_folded,
            _port_four_folded,
        ),
        Mistake(
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v * len(v) / max(len(v) - 1, 1), momentum, eps)),
            "you multiplied the variance by n / (n - 1); its n was the size of a batch, which is not known here: copy",
        ),
        Mistake(
            _port_four,
            "you unpack four arrays; a layer without gamma or beta stores three or two",
        ),
        Mistake(
            _port_by_place,
            "you count gamma and beta from the front whether they are there or not; ask scale and center first",
        ),
        Mistake(
            _port_with_bias(lambda weights, center, scale: weights[1] if center else 0 * weights[-1]),
            "your bias is the second array of the list also where there is no gamma; then beta is the first",
        ),
        Mistake(
            _port_with_bias(lambda weights, center, scale: weights[1] if center and scale else 0 * weights[-1]),
            "your bias is 0 in a layer that has no gamma; such a layer may have a beta, as the first of the list",
        ),
        *forms(
            "your momentum leaves the range from 0 to 1; both momenta are weights, and the two add up to 1",
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, 1 / (1 - momentum), eps)),
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, -momentum, eps)),
        ),
        *forms(
            "you changed eps on the way; it is added to the variance in both, so copy it as it is",
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, momentum, np.sqrt(eps))),
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, momentum, eps**2)),
            _ported(lambda w, b, m, v, momentum, eps: (w, b, m, v, momentum, 1 - eps)),
        ),
        Mistake(
            _port_with_missing(np.zeros_like, np.zeros_like),
            "your weight is 0 where Keras has no gamma, so the layer would forget its input; 1 changes nothing",
        ),
        Mistake(
            _port_with_missing(np.ones_like, np.ones_like),
            "your bias is 1 where Keras has no beta; 0 changes nothing",
        ),
        Mistake(
            _port_with_missing(np.zeros_like, np.ones_like),
            "where gamma or beta is missing you exchanged ones and zeros: a missing gamma is 1, a missing beta is 0",
        ),
        Mistake(
            _port_with_missing(lambda mean: 1.0, lambda mean: 0.0),
            "where gamma or beta is missing you return a single number; PyTorch has one per channel, as many as means",
        ),
        Mistake(
            _port_with_missing(lambda mean: None, lambda mean: None),
            "you return None where gamma or beta is missing; return ones or zeros, one per channel",
        ),
    ],
)

# ---------------------------------------------------------------------------- my_channels_last_layer_norm


def _channels_last_layer_norm(x, gamma, beta, layout, eps=1e-6):
    """Layer norm over the axis that `layout` calls C; gamma and beta (C,); the answer in the same layout."""
    axis = layout.index("C")
    y = standardize(np.moveaxis(x, axis, -1), -1, eps)
    return np.moveaxis(gamma * y + beta, -1, axis)


def _layout_case(rng, layout, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    channels = shape[layout.index("C")]
    x = mean + scale * rng.standard_normal(shape)
    gamma, beta = rng.uniform(0.5, 2, channels), rng.uniform(0.5, 2, channels)
    return case(x, gamma, beta, layout, label=label, **kwargs)


def _layout_cases(rng):
    return [
        _layout_case(rng, "NLC", (2, 3, 5), label="sequence, channels last"),
        _layout_case(rng, "NCL", (2, 5, 3), label="sequence, channels first"),
        _layout_case(rng, "NCL", (3, 4, 4), label="L equals C"),
        _layout_case(rng, "LNC", (4, 2, 3), label="time first"),
        _layout_case(rng, "NCHW", (2, 3, 4, 5), label="image, channels first"),
        _layout_case(rng, "NHWC", (2, 4, 5, 3), label="image, channels last"),
        _layout_case(rng, "NC", (4, 3), label="one vector each"),
        _layout_case(rng, "NCL", (2, 3, 4), mean=1e8, scale=3.0, label="large mean"),
        _layout_case(rng, "NCL", (2, 3, 4), scale=1e-3, label="tiny scale"),
        _layout_case(rng, "NCL", (2, 3, 4), eps=0.5, label="large eps"),
    ]


def _in_place_of_last(norm):
    """A norm of the last axis, norm(x, gamma, beta, eps), made to work on the axis that the layout calls C."""

    def attempt(x, gamma, beta, layout, eps=1e-6):
        axis = layout.index("C")
        return np.moveaxis(norm(np.moveaxis(x, axis, -1), gamma, beta, eps=eps), -1, axis)

    return attempt


def _always(axis):
    def attempt(x, gamma, beta, layout, eps=1e-6):
        return np.moveaxis(standardize(np.moveaxis(x, axis, -1), -1, eps) * gamma + beta, -1, axis)

    return attempt


def _layout_over(choose):
    """Statistics over other axes: choose(number of axes, axis of C)."""

    def attempt(x, gamma, beta, layout, eps=1e-6):
        axis = layout.index("C")
        y = standardize(x, choose(x.ndim, axis), eps)
        return np.moveaxis(np.moveaxis(y, axis, -1) * gamma + beta, -1, axis)

    return attempt


def _layout_not_back(x, gamma, beta, layout, eps=1e-6):
    return standardize(np.moveaxis(x, layout.index("C"), -1), -1, eps) * gamma + beta


def _layout_there_twice(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    return np.moveaxis(_layout_not_back(x, gamma, beta, layout, eps), axis, -1)


def _layout_wrong_way(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    return np.moveaxis(standardize(np.moveaxis(x, -1, axis), -1, eps) * gamma + beta, axis, -1)


def _layout_swapped_there_only(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    return np.moveaxis(standardize(np.swapaxes(x, axis, -1), -1, eps) * gamma + beta, -1, axis)


def _layout_for_images_only(x, gamma, beta, layout, eps=1e-6):
    y = standardize(x, layout.index("C"), eps)
    return gamma[:, None, None] * y + beta[:, None, None]


def _layout_turned_over(x, gamma, beta, layout, eps=1e-6):
    return (standardize(x.T, -1, eps) * gamma + beta).T


def _layout_by_swap(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    return np.swapaxes(standardize(np.swapaxes(x, axis, -1), -1, eps) * gamma + beta, axis, -1)


def _layout_by_reshape(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    y = standardize(x.reshape(np.moveaxis(x, axis, -1).shape), -1, eps) * gamma + beta
    return y.reshape(x.shape)


def _layout_reshaped_back(x, gamma, beta, layout, eps=1e-6):
    return _layout_not_back(x, gamma, beta, layout, eps).reshape(x.shape)


def _layout_affine_last(x, gamma, beta, layout, eps=1e-6):
    return standardize(x, layout.index("C"), eps) * gamma + beta


def _layout_by_shape(x, gamma, beta, layout, eps=1e-6):
    shape = [1] * x.ndim
    shape[layout.index("C")] = len(gamma)
    return standardize(x, layout.index("C"), eps) * gamma.reshape(shape) + beta.reshape(shape)


_over_the_axis_before = _in_place_of_last(lambda x, g, b, eps: standardize(x, -2, eps) * g + b)


CHANNELS_LAST_LAYER_NORM = Exercise(
    name="my_channels_last_layer_norm",
    signature="my_channels_last_layer_norm(x, gamma, beta, layout, eps=1e-6)",
    reference=_channels_last_layer_norm,
    cases=_layout_cases,
    tol=1e-4,
    variants=[_layout_by_shape, _layout_by_swap],
    mistakes=[
        Mistake(
            _always(-1),
            "you normalize the last axis whatever the layout says; in NCL that is the length, and it goes unnoticed "
            "when L equals C",
        ),
        Mistake(
            _always(1),
            "you normalize axis 1 whatever the layout says; find the place of the C in it",
        ),
        Mistake(
            _layout_not_back,
            "your result has its channels last; move them back to where the layout has them",
        ),
        Mistake(
            _layout_there_twice,
            "on the way back you move the axis as on the way there; from the last place it goes to that of the C",
        ),
        Mistake(
            _layout_wrong_way,
            "you moved the last axis to the place of the C; it is the C that has to go to the end",
        ),
        Mistake(
            _layout_swapped_there_only,
            "you swapped two axes on the way there and moved one on the way back; take the same of the two both times",
        ),
        Mistake(
            _layout_for_images_only,
            "your [:, None, None] puts gamma and beta on the third axis from the end; that is where NCHW has its "
            "channels, another layout has them elsewhere",
        ),
        Mistake(
            _layout_turned_over,
            "you turned the whole array over with T, which puts the first axis last; ask the layout where the C is",
        ),
        Mistake(
            _layout_by_reshape,
            "you used reshape to bring the channels to the end; it only cuts the same row of numbers anew, an axis is "
            "moved by moveaxis or transpose",
        ),
        Mistake(
            _layout_reshaped_back,
            "you used reshape for the way back; it only cuts the same row of numbers anew, an axis is moved by "
            "moveaxis or transpose",
        ),
        Mistake(
            _layout_affine_last,
            "your statistics are those of the channels, but gamma and beta of shape (C,) meet the last axis",
        ),
        Mistake(
            _layout_over(lambda n, axis: tuple(k for k in range(n) if k != axis)),
            "you average over every axis but the channels; that is batch norm",
        ),
        Mistake(
            _layout_over(lambda n, axis: tuple(range(n))),
            "you took one mean over all numbers; layer norm takes one for every place, over its channels",
        ),
        *forms(
            "you took one mean per sample, over its channels and all its places; layer norm takes one for every place",
            lambda x, gamma, beta, layout, eps=1e-6: _layout_over(
                lambda n, axis: tuple(k for k in range(n) if layout[k] != "N")
            )(x, gamma, beta, layout, eps),
            _in_place_of_last(lambda x, g, b, eps: standardize(x, tuple(range(1, x.ndim)), eps) * g + b),
        ),
        Mistake(
            lambda x, gamma, beta, layout, eps=1e-6: _layout_over(
                lambda n, axis: tuple(k for k in range(n) if layout[k] not in "NC")
            )(x, gamma, beta, layout, eps),
            "you average over the places and keep the channels apart; that is instance norm",
        ),
        Mistake(
            _over_the_axis_before,
            "you normalize along the axis before the last, after moving the channels to the end; take the last one",
        ),
        *(
            Mistake(_in_place_of_last(mistake.function), mistake.sentence, mistake.wrong_anyhow)
            for mistake in affine_mistakes(-1, lambda v: v)
        ),
    ],
)

# ------------------------------------------------------------------------------ my_port_flattened_dense


def _port_flattened_dense(kernel, channels, height, width):
    """Keras's kernel (H*W*C, units) behind a flattened (H, W, C) as PyTorch's weight (units, C*H*W)."""
    image = kernel.reshape(height, width, channels, -1)
    return image.transpose(3, 2, 0, 1).reshape(kernel.shape[1], -1)


def _dense_cases(rng):
    def one(channels, height, width, units, label=""):
        kernel = rng.standard_normal((height * width * channels, units))
        return case(kernel, channels, height, width, label=label)

    return [
        one(2, 3, 4, 5, "all sizes differ"),
        one(3, 2, 2, 4, "square image"),
        one(3, 3, 3, 3, "equal sizes"),
        one(2, 3, 2, 12, "as many units as inputs"),
        one(1, 2, 3, 2, "one channel"),
        one(4, 1, 1, 3, "one pixel"),
        one(2, 3, 2, 1, "one unit"),
    ]


def _dense_in_order(*order):
    """Every axis of (H, W, C, units) in another order."""

    def attempt(kernel, channels, height, width):
        image = kernel.reshape(height, width, channels, -1).transpose(order)
        return image.reshape(kernel.shape[1], -1)

    return attempt


def _dense_read_as(shape):
    """The kernel's rows read in another order: shape(c, h, w), then turned from there as if it were (H, W, C)."""

    def attempt(kernel, channels, height, width):
        image = kernel.reshape(*shape(channels, height, width), -1)
        return image.transpose(3, 2, 0, 1).reshape(kernel.shape[1], -1)

    return attempt


def _dense_column_by_column(kernel, channels, height, width):
    rows = [np.moveaxis(unit.reshape(height, width, channels), -1, 0).ravel() for unit in kernel.T]
    return np.stack(rows)


def _dense_by_index(kernel, channels, height, width):
    place = np.arange(len(kernel)).reshape(height, width, channels).transpose(2, 0, 1).ravel()
    return kernel[place].T


PORT_FLATTENED_DENSE = Exercise(
    name="my_port_flattened_dense",
    signature="my_port_flattened_dense(kernel, channels, height, width)",
    reference=_port_flattened_dense,
    cases=_dense_cases,
    variants=[_dense_column_by_column, _dense_by_index],
    mistakes=[
        Mistake(
            lambda kernel, channels, height, width: kernel.T,
            "you only turned the kernel over; its rows still count the channels fastest, as (H, W, C) is flattened",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel,
            "you changed nothing; PyTorch's weight is (units, inputs), and its inputs come from a flattened (C, H, W)",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel.reshape(kernel.shape[1], -1),
            "you reshaped where the two axes have to be exchanged; reshape only cuts the same row of numbers anew",
        ),
        Mistake(
            lambda kernel, channels, height, width: _port_flattened_dense(kernel, channels, height, width).T,
            "your inputs are in the right order, but the weight is (inputs, units); PyTorch has (units, inputs)",
        ),
        Mistake(
            lambda kernel, channels, height, width: (
                kernel.reshape(height, width, channels, -1).transpose(2, 0, 1, 3).reshape(kernel.shape[1], -1)
            ),
            "you left the units on the last axis and reshaped; move them to the front first",
        ),
        Mistake(
            lambda kernel, channels, height, width: (
                kernel.T.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(kernel.shape[1], -1)
            ),
            "you went the other way, from (C, H, W) to (H, W, C); the kernel comes from Keras, whose channels are last",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel.reshape(height, width, channels, -1).transpose(3, 2, 0, 1),
            "your weight still has four axes; the inputs (C, H, W) have to become one axis again",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel.transpose(3, 2, 0, 1),
            "the kernel of a dense layer has two axes; reshape its rows to (H, W, C) first, then turn four",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel.reshape(-1, channels, height, width),
            "you reshaped the kernel to (units, C, H, W), which only cuts the same row of numbers anew; no axis moves",
        ),
        Mistake(
            _dense_in_order(0, 1, 3, 2),
            "you exchanged units and channels, but height and width still stand in front; the units come first",
        ),
        Mistake(
            lambda kernel, channels, height, width: kernel.reshape(channels, height, width, -1).T.reshape(
                kernel.shape[1], -1
            ),
            "you read the kernel's rows as (C, H, W) and turned all axes over; Keras flattens (H, W, C)",
        ),
        Mistake(
            lambda kernel, channels, height, width: np.moveaxis(
                kernel.T.reshape(-1, height, width, channels), 1, -1
            ).reshape(kernel.shape[1], -1),
            "you moved the height to the end; it is the channels that move, from the end to the place behind the units",
        ),
        Mistake(
            lambda kernel, channels, height, width: (
                kernel.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(kernel.shape[1], -1)
            ),
            "you read the units as the first axis; the kernel has them last, so reshape it to (H, W, C, units)",
        ),
        Mistake(
            lambda kernel, channels, height, width: (
                kernel.reshape(height, width, channels, -1, order="F")
                .transpose(3, 2, 0, 1)
                .reshape(kernel.shape[1], -1)
            ),
            'order="F" counts the first axis fastest; Keras counts the channels fastest, as reshape does by itself',
        ),
        Mistake(
            _dense_in_order(3, 2, 1, 0),
            "your channels are first, but height and width have changed places",
        ),
        Mistake(
            _dense_in_order(3, 1, 0, 2),
            "you exchanged height and width; it is the channels that have to come first",
        ),
        Mistake(
            _dense_read_as(lambda c, h, w: (c, h, w)),
            "you read the kernel's rows as (C, H, W); Keras flattens (H, W, C), and the channels come first afterward",
        ),
    ],
)

EXERCISES = [PORT_BATCH_NORM, CHANNELS_LAST_LAYER_NORM, PORT_FLATTENED_DENSE]
