"""Lesson 13: a Keras batch norm for PyTorch, layer norm in any layout, and a dense layer after a flattened image."""

import numpy as np

from ...exercises import Exercise, case

ONLY_SPLITS = "you used reshape to move an axis; it only splits the same sequence of numbers differently, so transpose"


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
    variants=[
        "rest = list(weights) -> rest = weights\nrest.pop(0) if scale -> weights[0] if scale\n"
        "rest.pop(0) if center -> weights[-3] if center\nmean, var = rest -> mean, var = weights[-2:]"
    ],
    worked=[(case([*np.array([[2.0], [3], [4], [5]])], momentum=0.75, epsilon=0.5), ([2], [3], [4], [5], 0.25, 0.5))],
    mistakes={
        "1 - momentum -> momentum": (
            "you passed the momentum on unchanged; in Keras it weighs the old value, in PyTorch the new"
        ),
        (
            "gamma, beta, mean, var = weights; return gamma, beta, mean, var, 1 - momentum, epsilon",
            "return weight, bias -> return weight, weights[1] if center else np.zeros(channels)",
        ): "you take gamma or beta by a fixed place; with scale=False there is no gamma, with center=False no beta",
        "np.ones(channels) -> None\nnp.zeros(channels) -> None": (
            "None stands for a missing gamma or beta; give weight and bias the numbers that change nothing"
        ),
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
    variants=[
        "y = gamma * (last - mean) / np.sqrt(var + eps) + beta  # the output -> "
        "x_hat = (last - mean) / np.sqrt(var + eps); y = gamma * x_hat + beta  # the scale and shift"
    ],
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
        "np.moveaxis(y, -1, axis) -> y.reshape(x.shape)": ONLY_SPLITS,
        "axis=-1 -2-> axis=tuple(range(x.ndim - 1))": "you averaged over all axes but the channels; that is batch norm",
        "axis=-1 -2-> axis=tuple(range(1, x.ndim))": (
            "you averaged over several axes; every place has its own mean, over its C numbers"
        ),
    },
)


def _dense_cases(rng):
    numbered = np.tensordot([1000.0, 100, 10, 1], np.indices((3, 4, 2, 5)), 1).reshape(-1, 5)
    drawn = [(3, 2, 2, 4), (3, 3, 3, 3), (2, 3, 2, 12), (2, 3, 2, 1)]
    return [
        case(numbered, 2, 3, 4, label="each number of four digits: height, width, channel, unit"),
        *(case(rng.standard_normal((c * h * w, units)), c, h, w) for c, h, w, units in drawn),
    ]


PORT_FLATTENED_DENSE = Exercise(
    solution="""
def my_port_flattened_dense(kernel, channels, height, width):
    units = kernel.shape[1]  # the number of units
    image = kernel.reshape(height, width, channels, units)  # the shape as an image
    return image.transpose(3, 2, 0, 1).reshape(units, -1)  # the order of the axes
""",
    cases=_dense_cases,
    variants=["image.transpose(3, 2, 0, 1) -> np.moveaxis(np.moveaxis(image, 3, 0), 3, 1)"],
    worked=[
        # inputs of Keras: pixel 1 channels a b, pixel 2 channels a b; of PyTorch: channel a pixels 1 2, channel b
        (case(np.array([[1], [2], [3], [4]]), 2, 1, 2), [[1, 3, 2, 4]]),
        (case(np.array([[1, 5], [2, 6]]), 2, 1, 1), [[1, 2], [5, 6]]),
    ],
    mistakes={
        "return kernel.T": "you only transposed the kernel; its inputs are still in the order (H, W, C)",
        (
            "return kernel.reshape(kernel.shape[1], -1)",
            "(height, width, channels, units) -> (units, height, width, channels)\n(3, 2, 0, 1) -> (0, 3, 1, 2)",
        ): ONLY_SPLITS,
        "(3, 2, 0, 1) -> (2, 0, 1, 3)": "you left the units on the last axis and reshaped; move them to the front",
    },
)

EXERCISES = [PORT_BATCH_NORM, CHANNELS_LAST_LAYER_NORM, PORT_FLATTENED_DENSE]
