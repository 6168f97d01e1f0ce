"""Lesson 13: a Keras batch norm for PyTorch, layer norm in any layout, and a dense layer after a flattened image."""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.shared import CANCELS, RMS_NORM

ONLY_SPLITS = "you used reshape to move an axis; it only splits the same sequence of numbers differently, so transpose"
DEFAULTS = "you left momentum or eps at a default; take them from the arguments, the trained layer may have others"
IN_ANY_CASE = "you take gamma or beta by a fixed place; with scale=False there is no gamma, with center=False no beta"


def _port_cases(rng):
    def one(channels, label, center=True, scale=True, **settings):
        """Trained values: none of the four arrays could be taken for another, or for ones and zeros."""
        gamma, beta = rng.uniform(1.2, 2, channels), rng.uniform(-2, -1, channels)
        statistics = [rng.uniform(3, 5, channels), rng.uniform(0.1, 0.9, channels)]
        weights = [gamma] * scale + [beta] * center + statistics
        return case(weights, label=label, center=center, scale=scale, **settings)

    return [
        one(3, "default settings"),
        one(4, "settings of its own", momentum=0.997, epsilon=1e-5),
        one(5, "without gamma", scale=False),
        one(5, "without beta", center=False),
        one(4, "without gamma and beta", center=False, scale=False, momentum=0.8),
    ]


def _port_from_the_end(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    mean, var = weights[-2:]
    weight = weights[0] if scale else np.ones(len(mean))  # the choice of gamma
    bias = weights[-3] if center else np.zeros(len(mean))  # the choice of beta
    return weight, bias, mean, var, 1 - momentum, epsilon  # the results


PORT_BATCH_NORM = Exercise(
    solution="""
def my_port_batch_norm(weights, momentum=0.99, epsilon=1e-3, center=True, scale=True):
    rest = list(weights)
    channels = len(rest[-1])  # the number of channels
    weight = rest.pop(0) if scale else np.ones(channels)  # the choice of gamma
    bias = rest.pop(0) if center else np.zeros(channels)  # the choice of beta
    mean, var = rest
    return weight, bias, mean, var, 1 - momentum, epsilon  # the results
""",
    cases=_port_cases,
    results=("weight", "bias", "running_mean", "running_var", "momentum", "eps"),
    variants=[_port_from_the_end],
    worked=[
        (case([*np.array([[2.0], [3], [4], [5]])], momentum=0.75, epsilon=0.5), ([2], [3], [4], [5], 0.25, 0.5)),
        (
            case([np.array([4.0, 6.0]), np.array([5.0, 7.0])], center=False, scale=False),
            ([1, 1], [0, 0], [4, 6], [5, 7], 0.01, 1e-3),
        ),
    ],
    mistakes={
        "1 - momentum -> momentum": (
            "you passed the momentum on unchanged; in Keras it weighs the old value, in PyTorch the new"
        ),
        ("1 - momentum -> 0.1", "momentum, epsilon -> momentum, 1e-5", "1 - momentum, epsilon -> 0.1, 1e-5"): DEFAULTS,
        "return weight, -> return weight / np.sqrt(var + epsilon),": "you divided gamma by the root; copy it as it is",
        (
            "gamma, beta, mean, var = weights; return gamma, beta, mean, var, 1 - momentum, epsilon",
            "return weights[0], weights[1], weights[-2], weights[-1], 1 - momentum, epsilon",
            "return weight, bias -> return weight, weights[1] if center else np.zeros(channels)",
        ): IN_ANY_CASE,
    },
)


def _layout_cases(rng):
    def one(layout, shape, label, *, mean=0.0, scale=1.0, **kwargs):
        gamma, beta = rng.uniform(0.5, 2, (2, shape[layout.index("C")]))
        return case(mean + scale * rng.standard_normal(shape), gamma, beta, layout, label=label, **kwargs)

    return [
        one("NLC", (2, 3, 5), "sequence, channels last"),
        one("NCL", (2, 5, 3), "sequence, channels first"),
        one("NCL", (3, 4, 4), "L equals C"),
        one("LNC", (4, 2, 3), "time first"),
        one("NCHW", (2, 3, 4, 5), "image, channels first"),
        one("NCL", (2, 3, 4), "large mean", mean=1e8, scale=3.0),
        one("NCL", (2, 3, 4), "tiny scale", scale=1e-3),
        one("NCL", (2, 3, 4), "large eps", eps=0.5),
    ]


def _layout_by_shape(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")  # the place of the channels
    shape = [1] * x.ndim
    shape[axis] = len(gamma)
    mean = x.mean(axis=axis, keepdims=True)  # the mean
    var = np.mean((x - mean) ** 2, axis=axis, keepdims=True)  # the variance
    x_hat = (x - mean) / np.sqrt(var + eps)  # the normalized values
    return gamma.reshape(shape) * x_hat + beta.reshape(shape)  # the scale and shift


CHANNELS_LAST_LAYER_NORM = Exercise(
    solution="""
def my_channels_last_layer_norm(x, gamma, beta, layout, eps=1e-6):
    axis = layout.index("C")  # the place of the channels
    last = np.moveaxis(x, axis, -1)  # the move to the end
    mean = last.mean(axis=-1, keepdims=True)  # the mean
    var = last.var(axis=-1, keepdims=True)  # the variance
    y = gamma * (last - mean) / np.sqrt(var + eps) + beta  # the output
    return np.moveaxis(y, -1, axis)  # the move back
""",
    cases=_layout_cases,
    tol=1e-4,
    variants=[_layout_by_shape],
    worked=[
        # the two channels of each place: mean 2 and variance 1, then mean 5 and variance 1
        (
            case(np.array([[[1, 6], [3, 4]]]), np.array([2, 10]), np.array([100, 200]), "NCL", eps=3),
            [[[99, 101], [205, 195]]],
        ),
    ],
    mistakes={
        'layout.index("C") -> -1': "you normalize the last axis whatever the layout says; it goes unnoticed if L is C",
        ('layout.index("C") -> 1', "y, -1, axis -> y, -1, 1"): (
            "you expect the channels on axis 1 whatever the layout says; find the place of the C in it"
        ),
        "np.moveaxis(x -> np.swapaxes(x": "you swapped two axes there, but moved one back; use the same function twice",
        "x, axis, -1 -> x, axis, axis\ny, -1, axis -> y, axis, axis\naxis=-1 -2-> axis=axis": (
            "your statistics are those of the channels, but gamma and beta of shape (C,) meet the last axis"
        ),
        "np.moveaxis(y, -1, axis) -> y.reshape(x.shape)": ONLY_SPLITS,
        "axis=-1 -2-> axis=tuple(range(x.ndim - 1))": "you averaged over all axes but the channels; that is batch norm",
        ("axis=-1 -2-> axis=tuple(range(1, x.ndim))", "axis=-1 -2-> axis=None"): (
            "you averaged over several axes; every place has its own mean, over its C numbers"
        ),
        "axis=-1, keepdims=True -2-> axis=-1": Says("mean and variance lost an axis; keep it with size 1", raises=True),
        "last.var(axis=-1, keepdims=True) -> (last**2).mean(axis=-1, keepdims=True)\n(last - mean) -> last": RMS_NORM,
        "last.var(axis=-1, keepdims=True) -> (last**2).mean(axis=-1, keepdims=True) - mean**2": Says(
            CANCELS, "large mean"
        ),
    },
)


def _dense_by_index(kernel, channels, height, width):
    image = np.arange(len(kernel)).reshape(height, width, channels)  # the places in Keras
    place = image.transpose(2, 0, 1).ravel()  # the order in PyTorch
    return kernel[place].T  # the weight


PORT_FLATTENED_DENSE = Exercise(
    solution="""
def my_port_flattened_dense(kernel, channels, height, width):
    units = kernel.shape[1]  # the number of units
    image = kernel.reshape(height, width, channels, units)  # the shape as an image
    return image.transpose(3, 2, 0, 1).reshape(units, -1)  # the order of the axes
""",
    cases=lambda rng: [
        case(rng.standard_normal((c * h * w, units)), c, h, w)
        for c, h, w, units in [(2, 3, 4, 5), (3, 2, 2, 4), (3, 3, 3, 3), (2, 3, 2, 12), (2, 3, 2, 1)]
    ],
    variants=[_dense_by_index],
    worked=[
        # inputs of Keras: pixel 1 channels a b, pixel 2 channels a b; of PyTorch: channel a pixels 1 2, channel b
        (case(np.array([[1], [2], [3], [4]]), 2, 1, 2), [[1, 3, 2, 4]]),
        (case(np.array([[1, 5], [2, 6]]), 2, 1, 1), [[1, 2], [5, 6]]),
    ],
    mistakes={
        "return kernel.T": "you only transposed the kernel; its inputs are still in the order (H, W, C)",
        (
            "return kernel.reshape(kernel.shape[1], -1)",
            "return kernel.reshape(-1, channels, height, width)",
        ): ONLY_SPLITS,
        "(3, 2, 0, 1) -> (2, 0, 1, 3)": "you left the units on the last axis and reshaped; move them to the front",
        "kernel.reshape(height, width, channels, units) -> kernel.T.reshape(units, channels, height, width)\n"
        "(3, 2, 0, 1) -> (0, 2, 3, 1)": "you went from (C, H, W) to (H, W, C); Keras has the channels last",
        "return kernel.transpose(3, 2, 0, 1)": Says(
            "the kernel has two axes; reshape its rows to (H, W, C) first, then transpose four", raises=True
        ),
    },
)

EXERCISES = [PORT_BATCH_NORM, CHANNELS_LAST_LAYER_NORM, PORT_FLATTENED_DENSE]
