"""Lesson 13: a Keras batch norm for PyTorch, layer norm in any layout, and a dense layer after a flattened image."""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.steps import LOST_AXES, norm_mistakes, standardize

# ------------------------------------------------------------------------------------ my_port_batch_norm


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


PORT_BATCH_NORM = Exercise(
    solution="""
def my_port_batch_norm(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    rest = list(weights)
    channels = len(rest[-1])
    weight = rest.pop(0) if scale else np.ones(channels)
    bias = rest.pop(0) if center else np.zeros(channels)
    mean, var = rest
    return weight, bias, mean, var, 1 - momentum, epsilon
""",
    cases=_port_cases,
    results=("weight", "bias", "running_mean", "running_var", "momentum", "eps"),
    variants=[_port_with_iterator, _port_from_the_end],
    mistakes={
        "1 - momentum -> momentum": (
            "you passed the momentum on unchanged; in Keras it is the weight of the old value, in PyTorch of the new"
        ),
        ("1 - momentum -> 0.1", "1 - momentum -> 0.01"): (
            "you left the momentum at a default; take it from the argument, because the trained layer may have another"
        ),
        ("momentum, epsilon -> momentum, 1e-5", "momentum, epsilon -> momentum, 1e-3"): (
            "you left eps at a default; take it from the argument, because the trained layer may have another"
        ),
        "1 - momentum, epsilon -> 0.1, 1e-5": (
            "you left momentum and eps at PyTorch's defaults; both have to come from the Keras layer"
        ),
        "1 - momentum, epsilon -> momentum, 1e-5": (
            "your momentum is still the weight of the old value, and your eps is PyTorch's default; convert one, copy the other"
        ),
        "1 - momentum, epsilon -> epsilon, 1 - momentum": (
            "your last two results have changed places: first momentum, then eps"
        ),
        "return weight, bias -> return bias, weight": (
            "gamma and beta have changed places: weight is gamma, bias is beta"
        ),
        "bias, mean, var, 1 -> bias, var, mean, 1": (
            "mean and variance have changed places; Keras lists the moving mean first"
        ),
        "return weight, bias, mean, var -> return mean, var, weight, bias": (
            "your first four results are in the wrong order; return weight, bias, running_mean, running_var"
        ),
        "var, 1 - -> np.sqrt(var), 1 -": "you stored a standard deviation; running_var is a variance, as Keras has it",
        "var, 1 - -> var + epsilon, 1 -": "you added eps to the variance; PyTorch adds it again when it normalizes",
        "return weight, -> return weight / np.sqrt(var + epsilon),": (
            "you divided gamma by the standard deviation; PyTorch divides by it itself, so copy gamma as it is"
        ),
        "return weight, bias -> return np.ones(channels), np.zeros(channels)": (
            "you returned a new layer's gamma and beta, ones and zeros; they are trained, so copy them where Keras has them"
        ),
        "mean, var, 1 - -> np.zeros(channels), np.ones(channels), 1 -": (
            "you returned a new layer's statistics, 0 and 1; eval mode needs the moving mean and variance that Keras stored"
        ),
        """if scale else np.ones -> if center else np.ones
if center else np.zeros -> if scale else np.zeros""": (
            "center and scale have changed places: scale means that there is a gamma, center that there is a beta"
        ),
        "rest.pop(0) -2-> rest.pop()": (
            "pop() takes from the end, where mean and variance are; gamma and beta come first, so take pop(0)"
        ),
        "weight = rest.pop(0) -> weight = rest.pop(1 if center else 0)": (
            "you take beta from the list before gamma; Keras lists gamma first"
        ),
        """if scale else -> if not scale else
if center else -> if not center else
mean, var = rest -> mean, var = rest[0], rest[1]""": (
            "your ifs are the wrong way round: with scale=True the list has a gamma, with center=True a beta"
        ),
        "if scale else -> if len(weights) > 2 else\nif center else -> if len(weights) == 4 else": (
            "you take the first of three arrays for gamma; it may be beta, and scale and center say which"
        ),
        "len(rest[-1]) -> len(rest)": (
            "you made as many ones or zeros as the list has arrays; make one per channel, as many as there are means"
        ),
        (
            "return weight, bias -> factor = weight / np.sqrt(var + epsilon); return factor, bias - mean * factor",
            (
                "gamma, beta, mean, var = weights; factor = gamma / np.sqrt(var + epsilon); return "
                "factor, beta - mean * factor, mean, var, 1 - momentum, epsilon"
            ),
        ): "you folded mean and variance into gamma and beta; PyTorch normalizes by itself, so copy all four",
        "var, 1 - -> var * channels / max(channels - 1, 1), 1 -": (
            "you multiplied the variance by n / (n - 1); its n was the size of a batch, which is not known here: copy the variance"
        ),
        "gamma, beta, mean, var = weights; return gamma, beta, mean, var, 1 - momentum, epsilon": (
            "you unpack four arrays; a layer without gamma or beta stores three or two"
        ),
        "return weights[0], weights[1], weights[-2], weights[-1], 1 - momentum, epsilon": (
            "you count gamma and beta from the front whether they are there or not; ask scale and center first"
        ),
        "return weight, bias -> return weight, weights[1] if center else np.zeros(channels)": (
            "your bias is the second array of the list even where there is no gamma; then beta is the first"
        ),
        "return weight, bias -> return weight, weights[1] if center and scale else np.zeros(channels)": (
            "your bias is 0 in a layer that has no gamma; such a layer may have a beta, as the first of the list"
        ),
        (
            "1 - momentum -> 1 / momentum",
            "1 - momentum -> 1 / (1 - momentum)",
            "1 - momentum -> momentum - 1",
        ): "your momentum leaves the range from 0 to 1; both momenta are weights, and the two add up to 1",
        (
            "momentum, epsilon -> momentum, np.sqrt(epsilon)",
            "momentum, epsilon -> momentum, epsilon**2",
            "momentum, epsilon -> momentum, 1 - epsilon",
        ): "you changed eps on the way; it is added to the variance in both frameworks, so copy it as it is",
        "np.ones(channels) -> np.zeros(channels)": (
            "your weight is 0 where Keras has no gamma, so the layer would forget its input; 1 changes nothing"
        ),
        "np.zeros(channels) -> np.ones(channels)": "your bias is 1 where Keras has no beta; 0 changes nothing",
        "else np.ones(channels) -> else np.zeros(channels)\ncenter else np.zeros -> center else np.ones": (
            "where gamma or beta is missing you exchanged ones and zeros: a missing gamma is 1, a missing beta is 0"
        ),
        "np.ones(channels) -> 1.0\nnp.zeros(channels) -> 0.0": (
            "where gamma or beta is missing you return a single number; PyTorch has one per channel, as many as there are means"
        ),
        "np.ones(channels) -> None\nnp.zeros(channels) -> None": (
            "you return None where gamma or beta is missing; return ones or zeros, one per channel"
        ),
        "rest.pop(0) if scale else np.ones(channels) -> rest.pop(0)": (
            "you take gamma from the list in any case; with scale=False there is no gamma"
        ),
        """rest.pop(0) if scale else np.ones(channels) -> rest.pop(0)
rest.pop(0) if center else np.zeros(channels) -> rest.pop(0)""": (
            "you take gamma and beta from the list in any case; with scale=False there is no gamma, with center=False no beta"
        ),
    },
)

# ---------------------------------------------------------------------------- my_channels_last_layer_norm


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


def _layout_by_swap(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    return np.swapaxes(standardize(np.swapaxes(x, axis, -1), -1, eps) * gamma + beta, axis, -1)


def _layout_by_shape(x, gamma, beta, layout, eps=1e-6):
    shape = [1] * x.ndim
    shape[layout.index("C")] = len(gamma)
    return standardize(x, layout.index("C"), eps) * gamma.reshape(shape) + beta.reshape(shape)


CHANNELS_LAST_LAYER_NORM = Exercise(
    solution="""
def my_channels_last_layer_norm(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")
    last = np.moveaxis(x, axis, -1)
    mean = last.mean(axis=-1, keepdims=True)
    var = last.var(axis=-1, keepdims=True)
    y = gamma * (last - mean) / np.sqrt(var + eps) + beta
    return np.moveaxis(y, -1, axis)
""",
    cases=_layout_cases,
    tol=1e-4,
    variants=[_layout_by_shape, _layout_by_swap],
    mistakes={
        'layout.index("C") -> -1': (
            "you normalize the last axis whatever the layout says; in NCL that is the length, and it goes "
            "unnoticed when L equals C"
        ),
        'layout.index("C") -> 1': "you normalize axis 1 whatever the layout says; find the place of the C in it",
        "return np.moveaxis(y, -1, axis) -> return y": (
            "your result has its channels last; move them back to where the layout has them"
        ),
        "y, -1, axis -> y, axis, -1": (
            "on the way back you move the axis with the same arguments; move it from the last place to that of the C"
        ),
        "x, axis, -1 -> x, -1, axis\ny, -1, axis -> y, axis, -1": (
            "you moved the last axis to the place of the C; it is the C that has to go to the end"
        ),
        "np.moveaxis(x -> np.swapaxes(x": (
            "you swapped two axes on the way there and moved one on the way back; use the same function both times"
        ),
        'axis = layout.index("C"); y = (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + eps); return gamma[:, None, None] * y + beta[:, None, None]': (
            "your [:, None, None] puts gamma and beta on the third axis from the end; that is where NCHW has "
            "its channels, but other layouts have them elsewhere"
        ),
        "np.moveaxis(x, axis, -1) -> x.T\nnp.moveaxis(y, -1, axis) -> y.T": Says(
            "you reversed all axes with T, which puts the first axis last; ask the layout where the C is",
            raises=True,
        ),
        """np.moveaxis(x, axis, -1) -> x.reshape(np.moveaxis(x, axis, -1).shape)
np.moveaxis(y, -1, axis) -> y.reshape(x.shape)""": (
            "you used reshape to bring the channels to the end; it only splits the same sequence of numbers differently; "
            "to move an axis, use moveaxis or transpose"
        ),
        "np.moveaxis(y, -1, axis) -> y.reshape(x.shape)": (
            "you used reshape for the way back; it only splits the same sequence of numbers differently; to move an axis, "
            "use moveaxis or transpose"
        ),
        'axis = layout.index("C"); y = (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + eps); return gamma * y + beta': (
            "your statistics are those of the channels, but gamma and beta of shape (C,) are matched with the last axis"
        ),
        "axis=-1 -2-> axis=tuple(range(x.ndim - 1))": (
            "you average over every axis but the channels; that is batch norm"
        ),
        "axis=-1 -2-> axis=None": (
            "you took one mean over all numbers; layer norm takes one for every place, over its channels"
        ),
        'axis=-1 -2-> axis=tuple(k for k, name in enumerate(layout.replace("C", "") + "C") if name != "N")': (
            "you took one mean per sample, over its channels and all its places; layer norm takes one for every place"
        ),
        'axis=-1 -2-> axis=tuple(k for k, name in enumerate(layout.replace("C", "")) if name != "N")': (
            "you average over the places and keep the channels apart; that is instance norm"
        ),
        "axis=-1 -2-> axis=-2": (
            "you normalize along the axis before the last, after moving the channels to the end; take the last one"
        ),
        **norm_mistakes(-1, x="last"),
        "axis=-1 -2-> axis=1": (
            "you moved the channels to the end, but averaged over axis 1; after the move they are the last axis"
        ),
        "np.moveaxis(y, -1, axis) -> np.moveaxis(y, -1, 1)": (
            "you moved the channels back to axis 1 whatever the layout says; they go where the C stands in it"
        ),
        ("axis=-1 -2-> axis=(1, 2, 3)", "axis=-1 -2-> axis=tuple(range(1, x.ndim))"): (
            "you averaged over all axes but the first; every place has its own mean, over its C numbers"
        ),
        "axis=-1, keepdims=True -2-> axis=-1": Says(LOST_AXES, raises=True),
    },
)

# ------------------------------------------------------------------------------ my_port_flattened_dense


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


def _dense_column_by_column(kernel, channels, height, width):
    rows = [np.moveaxis(unit.reshape(height, width, channels), -1, 0).ravel() for unit in kernel.T]
    return np.stack(rows)


def _dense_by_index(kernel, channels, height, width):
    place = np.arange(len(kernel)).reshape(height, width, channels).transpose(2, 0, 1).ravel()
    return kernel[place].T


PORT_FLATTENED_DENSE = Exercise(
    solution="""
def my_port_flattened_dense(kernel, channels, height, width):
    units = kernel.shape[1]
    image = kernel.reshape(height, width, channels, units)
    return image.transpose(3, 2, 0, 1).reshape(units, -1)
""",
    cases=_dense_cases,
    variants=[_dense_column_by_column, _dense_by_index],
    mistakes={
        "return kernel.T": (
            "you only transposed the kernel; along its inputs the channel still varies fastest, as in a flattened (H, W, C)"
        ),
        "return kernel": (
            "you changed nothing; PyTorch's weight is (units, inputs), and its inputs come from a flattened (C, H, W)"
        ),
        "return kernel.reshape(kernel.shape[1], -1)": (
            "you reshaped where the two axes have to be exchanged; reshape only splits the same sequence of numbers differently"
        ),
        "reshape(units, -1) -> reshape(units, -1).T": (
            "your inputs are in the right order, but the weight is (inputs, units); PyTorch has (units, inputs)"
        ),
        "(3, 2, 0, 1) -> (2, 0, 1, 3)": (
            "you left the units on the last axis and reshaped; move them to the front first"
        ),
        """kernel.reshape(height, width, channels, units) -> kernel.T.reshape(units, channels, height, width)
(3, 2, 0, 1) -> (0, 2, 3, 1)""": (
            "you went the other way, from (C, H, W) to (H, W, C); the kernel comes from Keras, whose channels are last"
        ),
        ".reshape(units, -1) ->": "your weight still has four axes; the inputs (C, H, W) have to become one axis again",
        "return kernel.transpose(3, 2, 0, 1)": Says(
            "the kernel of a dense layer has two axes; reshape its rows to (H, W, C) first, then transpose four",
            raises=True,
        ),
        "return kernel.reshape(-1, channels, height, width)": (
            "you reshaped the kernel to (units, C, H, W), which only splits the same sequence of numbers differently; no axis moves"
        ),
        "(3, 2, 0, 1) -> (0, 1, 3, 2)": (
            "you exchanged units and channels, but height and width still come first; the units have to"
        ),
        """(height, width, channels, units) -> (channels, height, width, units)
image.transpose(3, 2, 0, 1) -> image.T""": (
            "you read the kernel's rows as (C, H, W) and reversed all axes; Keras flattens (H, W, C)"
        ),
        """kernel.reshape(height, width, channels, units) -> kernel.T.reshape(units, height, width, channels)
image.transpose(3, 2, 0, 1) -> np.moveaxis(image, 1, -1)""": (
            "you moved the height to the end; it is the channels that move, from the end to the place after the units"
        ),
        """(height, width, channels, units) -> (units, height, width, channels)
(3, 2, 0, 1) -> (0, 3, 1, 2)""": (
            "you read the units as the first axis; the kernel has them last, so reshape it to (H, W, C, units)"
        ),
        'channels, units) -> channels, units, order="F")': (
            'with order="F" the first axis varies fastest; in Keras the last one does, the channels, as in a plain reshape'
        ),
        "(3, 2, 0, 1) -> (3, 2, 1, 0)": "your channels are first, but height and width have changed places",
        "(3, 2, 0, 1) -> (3, 1, 0, 2)": "you exchanged height and width; it is the channels that have to come first",
        "(height, width, channels, units) -> (channels, height, width, units)": (
            "you read the kernel's rows as (C, H, W); Keras flattens (H, W, C), and the channels come first afterward"
        ),
    },
)

EXERCISES = [PORT_BATCH_NORM, CHANNELS_LAST_LAYER_NORM, PORT_FLATTENED_DENSE]
