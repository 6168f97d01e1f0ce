"""Layers: functions with parameters, a forward pass and a backward pass. The arithmetic of norms is in norms.py.

Every layer answers the same four calls:

    y = layer.forward(x)        keeps what the backward pass needs
    dx = layer.backward(dy)     dy and dx are the derivatives of the loss with respect to y and x
    layer.parameters()          list of Parameter(value, grad)
    layer.train(), .eval()      the mode; only BatchNorm computes differently in the two

What holds for all of them:

* backward adds to every `grad`, so that several batches can be summed; zero_grad() sets all of them to 0.
* backward belongs to the last forward, in the mode of that forward.
* x, y, parameters and gradients are float64.
* Nothing is changed in place: a value, a gradient or a statistic that was kept from before stays as it was.
* Bad input raises a ValueError that says what was expected. An overflow shows as inf or NaN, without a warning.

A layer of your own is a class with Layer as its base that has _forward and _backward, or one with BatchNorm as its
base whose forward and backward call super().
"""

import math

import numpy as np

from ._numerics import check_count, check_eps, float_array, is_int, is_number, quiet
from .gradients import batch_norm_backward, group_norm_backward, layer_norm_backward, rms_norm_backward
from .norms import RunningStats, batch_norm, group_norm, layer_norm, rms_norm

__all__ = [
    "BatchNorm",
    "GroupNorm",
    "Layer",
    "LayerNorm",
    "Linear",
    "Parameter",
    "ReLU",
    "RMSNorm",
    "Residual",
    "Sequential",
    "Sigmoid",
    "Tanh",
]


class Parameter:
    """A learned array and the derivative of the loss with respect to it.

    Attributes
    ----------
    value : float64 array
    grad : float64 array of the same shape, 0 at first
    """

    def __init__(self, value, grad=None):
        self.value = as_float64("Parameter", "value", value)
        self.grad = np.zeros(self.value.shape) if grad is None else as_float64("Parameter", "grad", grad)
        if self.grad.shape != self.value.shape:
            raise ValueError(
                f"Parameter: grad has shape {self.grad.shape}, expected {self.value.shape}, the shape of value"
            )

    def add_gradient(self, gradient):
        self.grad = self.grad + gradient

    def zero_grad(self):
        self.grad = np.zeros(self.value.shape)

    def __repr__(self):
        return f"Parameter(shape={self.value.shape})"


class Layer:
    """The base of every layer. A layer of your own writes two methods:

        _forward(x) -> y, kept          kept is whatever the backward pass needs
        _backward(dy, kept) -> dx       and adds to every Parameter's gradient by add_gradient

    Attributes
    ----------
    training : True after train() and at first, False after eval()
    """

    training = True
    axis = None  # the axis of x that must have `features` entries; None for a layer that takes any shape
    _last = None  # shape of the last output, and what backward needs

    def forward(self, x):
        """y, computed from x; keeps what backward needs."""
        with quiet():
            y, kept = self._forward(self._check_x(x))
            self._last = y.shape, kept
            return y

    def backward(self, dy):
        """dx, computed from dy, which has the shape of y; adds to the gradient of every parameter."""
        name = f"{type(self).__name__}.backward"
        if self._last is None:
            raise ValueError(f"{name}: call forward first; backward needs what forward has kept")
        shape, kept = self._last
        dy = as_float64(name, "dy", dy)
        if dy.shape != shape:
            raise ValueError(f"{name}: dy has shape {dy.shape}, expected {shape}, the shape of the output")
        with quiet():
            return self._backward(dy, kept)

    def children(self):
        """The layers inside this one, a list."""
        return []

    def parameters(self):
        """Every Parameter of this layer and of the layers inside it, first layer first."""
        own = [value for value in vars(self).values() if isinstance(value, Parameter)]
        return own + [parameter for child in self.children() for parameter in child.parameters()]

    def zero_grad(self):
        """Set the gradient of every parameter to 0."""
        for parameter in self.parameters():
            parameter.zero_grad()

    def train(self):
        """Switch this layer and those inside it to training mode. Returns the layer."""
        self.training = True
        for child in self.children():
            child.train()
        return self

    def eval(self):
        """Switch this layer and those inside it to eval mode. Returns the layer."""
        self.training = False
        for child in self.children():
            child.eval()
        return self

    def __repr__(self):
        own = [f"{name} {value.value.shape}" for name, value in vars(self).items() if isinstance(value, Parameter)]
        return f"{type(self).__name__}({', '.join(own + [repr(child) for child in self.children()])})"

    def _check_x(self, x):
        name = f"{type(self).__name__}.forward"
        x = as_float64(name, "x", x)
        if x.size == 0:
            raise ValueError(f"{name}: x must have no empty axis, got shape {x.shape}")
        if self.axis is not None and (x.ndim < 2 or x.shape[self.axis] != self.features):
            where = "the last axis" if self.axis == -1 else f"axis {self.axis}"
            raise ValueError(f"{name}: x has shape {x.shape}, expected a batch with {self.features} entries on {where}")
        return x


def as_float64(name, what, value):
    return float_array(name, what, value).astype(np.float64, copy=False)


def check_positive(name, what, value):
    if not (is_number(value) and 0 < value < math.inf):
        raise ValueError(f"{name}: {what} must be a finite number > 0, got {value!r}")
    return float(value)


def check_rng(name, rng):
    if not (isinstance(rng, np.random.Generator) or (is_int(rng) and rng >= 0)):
        raise ValueError(f"{name}: rng must be np.random.default_rng(seed) or a seed, an int >= 0, got {rng!r}")
    return np.random.default_rng(rng)


class Linear(Layer):
    """A matrix product and a bias: y = x @ weight.T + bias.

        dx = dy @ weight,    dweight = dy.T @ x,    dbias = sum of dy over all axes but the last

    Parameters
    ----------
    inputs, outputs : ints >= 1; x is (N, inputs) or (..., inputs), y then (..., outputs)
    bias : False leaves the bias out, as before a BatchNorm, which would subtract it again
    init : "he" draws weights with variance 2 / inputs, right before a ReLU; "lecun" 1 / inputs, which keeps the
        variance if no activation follows
    gain : number > 0 that multiplies all weights
    rng : a Generator or an int seed. There is no default: two layers from one seed would be the same layer.

    Attributes
    ----------
    weight : Parameter (outputs, inputs), normal
    bias : Parameter (outputs,), 0 at first; None without one

    Source: He et al. 2015, arXiv:1502.01852, section 2.2; LeCun et al. 1998, Efficient BackProp, section 4.6.
    """

    axis = -1

    def __init__(self, inputs, outputs, *, rng, bias=True, init="he", gain=1.0):
        self.features = check_count("Linear", "inputs", inputs)
        outputs = check_count("Linear", "outputs", outputs)
        if init not in ("he", "lecun"):
            raise ValueError(f"Linear: init must be 'he' or 'lecun', got {init!r}")
        sd = check_positive("Linear", "gain", gain) * math.sqrt((2 if init == "he" else 1) / inputs)
        self.weight = Parameter(sd * check_rng("Linear", rng).normal(size=(outputs, inputs)))
        self.bias = Parameter(np.zeros(outputs)) if bias else None

    def _forward(self, x):
        y = x @ self.weight.value.T
        return y if self.bias is None else y + self.bias.value, x

    def _backward(self, dy, x):
        rows = dy.reshape(-1, dy.shape[-1])
        self.weight.add_gradient(rows.T @ x.reshape(-1, x.shape[-1]))
        if self.bias is not None:
            self.bias.add_gradient(rows.sum(axis=0))
        return dy @ self.weight.value


class _Norm(Layer):
    """What the norms share: checked sizes, gamma and beta, and where their gradients go."""

    def __init__(self, features, eps, beta=True):
        name = type(self).__name__
        self.features = check_count(name, "features", features)
        self.eps = float(check_eps(name, eps, np.float64))
        self.gamma = Parameter(np.ones(features))
        if beta:
            self.beta = Parameter(np.zeros(features))

    def _backward(self, dy, kept):
        dx, *gradients = self._gradients(dy, kept)
        for parameter, gradient in zip(self.parameters(), gradients, strict=True):
            parameter.add_gradient(gradient)
        return dx


class BatchNorm(_Norm):
    """Batch norm with running averages: one mean and variance per channel.

    In training mode: batch_norm with the batch's own statistics, and one update of the running averages.
    After eval(): y = (x - running_mean) / sqrt(running_var + eps) * gamma + beta. The running averages are
    constants there: nothing is updated, and dx = dy * gamma / sqrt(running_var + eps).

    Parameters
    ----------
    features : int >= 1, the number C of channels; x is (N, C), (N, C, L), (N, C, H, W), ...
    eps : number >= 0, added to the variance inside the root
    momentum : weight of the NEW value in the running averages, a number in [0, 1]; None for the plain average of
        all batches (see RunningStats)

    Attributes
    ----------
    gamma, beta : Parameters (C,), 1 and 0 at first
    stats : RunningStats(C, momentum=momentum). As in PyTorch the batch's variance is divided by n to normalize,
        but by n - 1 before it is stored.
    running_mean, running_var, momentum : those of stats

    Raises
    ------
    ValueError : in training mode, a batch with one value per channel: its output would be beta whatever x is, and
        it has no variance to store (PyTorch refuses it, too)

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, Algorithms 1 and 2.
    """

    axis = 1

    def __init__(self, features, *, eps=1e-5, momentum=0.1):
        super().__init__(features, eps)
        self.stats = RunningStats(features, momentum=momentum)

    running_mean = property(lambda self: self.stats.mean)
    running_var = property(lambda self: self.stats.var)
    momentum = property(lambda self: self.stats.momentum)

    def _forward(self, x):
        if not self.training:
            return self._forward_eval(x)
        if x.size == self.features:
            raise ValueError(
                f"BatchNorm.forward: training needs more than 1 value per channel, got shape {x.shape}; "
                "take a larger batch, or call eval() first"
            )
        self.stats.update(x)
        return batch_norm(x, self.gamma.value, self.beta.value, eps=self.eps).y, (x, None, None)

    def _forward_eval(self, x):
        mean, var, gamma, beta = (
            values.reshape(self.features, *[1] * (x.ndim - 2))
            for values in (self.running_mean, self.running_var, self.gamma.value, self.beta.value)
        )
        sd = np.sqrt(var + self.eps)
        x_hat = (x - mean) / sd
        return x_hat * gamma + beta, (None, x_hat, gamma / sd)

    def _gradients(self, dy, kept):
        x, x_hat, slope = kept
        if x is not None:
            return batch_norm_backward(dy, x, self.gamma.value, eps=self.eps)
        others = (0, *range(2, dy.ndim))
        return dy * slope, (dy * x_hat).sum(axis=others), dy.sum(axis=others)


class LayerNorm(_Norm):
    """layer_norm over the last axis, with learned gamma and beta.

    Parameters
    ----------
    features : int >= 1, the size D of the last axis; x is (N, D), (N, T, D), ...
    eps : number >= 0, added to the variance inside the root

    Attributes
    ----------
    gamma, beta : Parameters (D,), 1 and 0 at first

    Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4.
    """

    axis = -1

    def __init__(self, features, *, eps=1e-5):
        super().__init__(features, eps)

    def _forward(self, x):
        return layer_norm(x, self.gamma.value, self.beta.value, eps=self.eps).y, x

    def _gradients(self, dy, x):
        return layer_norm_backward(dy, x, self.gamma.value, eps=self.eps)


class RMSNorm(_Norm):
    """rms_norm over the last axis, with learned gamma.

    Parameters
    ----------
    features : int >= 1, the size D of the last axis; x is (N, D), (N, T, D), ...
    eps : number >= 0, added to the mean square inside the root

    Attributes
    ----------
    gamma : Parameter (D,), 1 at first

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.
    """

    axis = -1

    def __init__(self, features, *, eps=1e-5):
        super().__init__(features, eps, beta=False)

    def _forward(self, x):
        return rms_norm(x, self.gamma.value, eps=self.eps).y, x

    def _gradients(self, dy, x):
        return rms_norm_backward(dy, x, self.gamma.value, eps=self.eps)


class GroupNorm(_Norm):
    """group_norm with learned gamma and beta, one of each per channel.

    Parameters
    ----------
    groups : int that divides features
    features : int >= 1, the number C of channels; x is (N, C), (N, C, L), (N, C, H, W), ...
    eps : number >= 0, added to the variance inside the root

    Attributes
    ----------
    gamma, beta : Parameters (C,), 1 and 0 at first

    Source: Wu & He 2018, arXiv:1803.08494, equation 7.
    """

    axis = 1

    def __init__(self, groups, features, *, eps=1e-5):
        self.groups = check_count("GroupNorm", "groups", groups)
        super().__init__(features, eps)
        if features % groups:
            raise ValueError(f"GroupNorm: groups={groups} does not divide features={features}")

    def _forward(self, x):
        return group_norm(x, self.groups, self.gamma.value, self.beta.value, eps=self.eps).y, x

    def _gradients(self, dy, x):
        return group_norm_backward(dy, x, self.groups, self.gamma.value, eps=self.eps)


class ReLU(Layer):
    """y = max(x, 0), of every number; the derivative is 1 where x > 0, else 0 (also at 0)."""

    def _forward(self, x):
        return np.maximum(x, 0), x > 0

    def _backward(self, dy, positive):
        return dy * positive


class Tanh(Layer):
    """y = tanh(x), of every number; the derivative is 1 - y**2."""

    def _forward(self, x):
        y = np.tanh(x)
        return y, y

    def _backward(self, dy, y):
        return dy * (1 - y * y)


class Sigmoid(Layer):
    """y = 1 / (1 + exp(-x)), of every number; the derivative is y * (1 - y)."""

    def _forward(self, x):
        y = 0.5 + 0.5 * np.tanh(0.5 * x)  # the same number; exp(-x) would overflow at -1000
        return y, y

    def _backward(self, dy, y):
        return dy * y * (1 - y)


class Residual(Layer):
    """A skip path around a block: y = scale * x + block(x), so dx = scale * dy + block.backward(dy).

    Parameters
    ----------
    block : Layer whose output has the shape of its input
    scale : number, 1 for the plain residual block, alpha for DeepNorm

    With f a block and LN a LayerNorm the three placements are

        pre-norm     Residual(Sequential(LN, f))
        post-norm    Sequential(Residual(f), LN)
        DeepNorm     Sequential(Residual(f, scale=alpha), LN)

    Source: He et al. 2016, arXiv:1512.03385, equation 1; scale: Wang et al. 2022, arXiv:2203.00555.
    """

    def __init__(self, block, *, scale=1.0):
        self.block = block
        _check_children("Residual", [block])
        if not (is_number(scale) and math.isfinite(scale)):
            raise ValueError(f"Residual: scale must be a finite number, got {scale!r}")
        self.scale = float(scale)

    def children(self):
        return [self.block]

    def _forward(self, x):
        y = self.block.forward(x)
        if y.shape != x.shape:
            raise ValueError(f"Residual.forward: the block turns shape {x.shape} into {y.shape}, expected no change")
        return self.scale * x + y, None

    def _backward(self, dy, kept):
        return self.scale * dy + self.block.backward(dy)


class Sequential(Layer):
    """Layers one after the other.

    Parameters
    ----------
    layers : one Layer or more, first layer first: Sequential(Linear(...), ReLU(), Linear(...))

    Attributes
    ----------
    layers : list of the layers
    outputs : list after forward; outputs[i] is what layers[i] gave
    gradients : list after backward; gradients[i] is the derivative of the loss with respect to outputs[i]
    """

    def __init__(self, *layers):
        _check_children("Sequential", layers)
        self.layers = list(layers)
        self.outputs = []
        self.gradients = []

    def children(self):
        return self.layers

    def _forward(self, x):
        self.outputs = []
        for layer in self.layers:
            x = layer.forward(x)
            self.outputs.append(x)
        return x, None

    def _backward(self, dy, kept):
        self.gradients = []
        for layer in reversed(self.layers):
            self.gradients.insert(0, dy)
            dy = layer.backward(dy)
        return dy


def _check_children(name, layers):
    """Layers, at least one, and no object twice, for it would keep the input of its second place only."""
    if not layers:
        raise ValueError(f"{name}: needs at least one layer")
    for i, layer in enumerate(layers):
        if isinstance(layer, type) and issubclass(layer, Layer):
            raise ValueError(f"{name}: layer {i} is the class {layer.__name__}; write {layer.__name__}(...)")
        if not isinstance(layer, Layer):
            hint = f"; write {name}(*layers)" if isinstance(layer, (list, tuple)) else ""
            raise ValueError(f"{name}: layer {i} must be a Layer, got {type(layer).__name__}{hint}")
    seen = set()
    for layer in (inner for child in layers for inner in _all_layers(child)):
        if id(layer) in seen:
            raise ValueError(f"{name}: the same {type(layer).__name__} is in two places; make one for each")
        seen.add(id(layer))


def _all_layers(layer):
    return [layer, *(inner for child in layer.children() for inner in _all_layers(child))]
