"""A small network, its loss, three optimizers and a training loop, as short as they can be written.

    model = mlp([4, 32, 32, 3], norm="batch", rng=0)
    history = fit(model, x, labels, SGD(model.parameters(), lr=0.1), steps=200, batch_size=32, rng=0)
    model.eval()
    accuracy(model.forward(x), labels)

The same rng gives the same numbers.
"""

import math
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np

from ._numerics import check_count, is_number, quiet
from .layers import (
    BatchNorm,
    Layer,
    LayerNorm,
    Linear,
    Parameter,
    ReLU,
    RMSNorm,
    Sequential,
    Sigmoid,
    Tanh,
    as_float64,
    check_positive,
    check_rng,
)

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "CrossEntropy",
    "History",
    "accuracy",
    "cross_entropy",
    "fit",
    "mlp",
    "show_progress",
]

NORMS = {"batch": BatchNorm, "layer": LayerNorm, "rms": RMSNorm}
ACTIVATIONS = {"relu": ReLU, "tanh": Tanh, "sigmoid": Sigmoid}


class CrossEntropy(NamedTuple):
    """The mean loss of a batch, and its derivative with respect to the logits."""

    loss: float
    dlogits: np.ndarray


class History(NamedTuple):
    """What fit saw at every step, before it changed the parameters."""

    loss: np.ndarray
    accuracy: np.ndarray
    gradient_norms: np.ndarray


def mlp(sizes, norm=None, activation="relu", gain=1.0, *, rng):
    """A multilayer perceptron: Linear, norm, activation for every hidden layer, and a Linear at the end.

    Parameters
    ----------
    sizes : ints, the widths from input to output; [4, 32, 3] has one hidden layer of 32
    norm : None, "batch", "layer", "rms", or a function of the width that returns a Layer, e.g.
        lambda width: GroupNorm(4, width), or a class such as BatchNorm itself
    activation : "relu", "tanh", "sigmoid", or a function without arguments that returns a Layer
    gain : number > 0 that multiplies the weights of the hidden layers, not those of the last Linear
    rng : a Generator or an int seed

    Returns
    -------
    Sequential

    Notes
    -----
    Weights before a ReLU are drawn by He's rule, all others and the last ones by LeCun's. Nets of the same sizes,
    activation and rng have the same weights, whatever the norm. Before a batch norm there is no bias: subtracting the
    mean would remove it, and beta does its work. Before the other norms the bias stays.
    """
    if not isinstance(sizes, (list, tuple)):
        raise ValueError(f"mlp: sizes must be a list of ints, got {sizes!r}")
    if len(sizes) < 2:
        raise ValueError(f"mlp: sizes must hold at least the input and the output width, got {sizes}")
    sizes = [check_count("mlp", "every size", size) for size in sizes]
    rng = check_rng("mlp", rng)
    layers = []
    for inputs, outputs in pairwise(sizes[:-1]):
        after = [_make("activation", activation, ACTIVATIONS)]
        if norm is not None:
            after = [_make("norm", norm, NORMS, outputs), *after]
        init = "he" if isinstance(after[-1], ReLU) else "lecun"
        bias = not isinstance(after[0], BatchNorm)
        layers += [Linear(inputs, outputs, rng=rng, bias=bias, init=init, gain=gain), *after]
    return Sequential(*layers, Linear(sizes[-2], sizes[-1], rng=rng, init="lecun"))


def _make(what, maker, known, *arguments):
    """The layer that `maker` makes: a word of `known`, a class or a function."""
    if not callable(maker) or isinstance(maker, np.ufunc):  # np.tanh is a function, but of numbers
        if maker not in list(known):
            words = ", ".join(map(repr, known))
            raise ValueError(f"mlp: {what} must be one of {words}, or a function that returns a Layer, got {maker!r}")
        maker = known[maker]
    layer = maker(*arguments)
    if not isinstance(layer, Layer):
        raise ValueError(f"mlp: {what} must return a Layer, got {type(layer).__name__}")
    return layer


def cross_entropy(logits, labels):
    """Mean cross-entropy of softmax(logits), and its derivative with respect to the logits.

        p = exp(logits) / sum of exp(logits),    loss = mean of -log(p of the right class)
        dlogits = (p - 1 at the right class) / N

    Parameters
    ----------
    logits : array (N, K)
    labels : N ints from 0 to K - 1

    Returns
    -------
    CrossEntropy(loss, dlogits) : a float; an array like logits

    Raises
    ------
    ValueError : logits without two axes or empty, not as many labels as rows, or labels outside 0 to K - 1

    Source: Goodfellow, Bengio & Courville 2016, Deep Learning, section 6.2.2.3.
    """
    logits, labels = _check_labels("cross_entropy", logits, labels)
    rows = np.arange(len(labels))
    with quiet():
        shifted = logits - logits.max(axis=1, keepdims=True)  # the same p, and exp cannot overflow
        p = np.exp(shifted)
        total = p.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - shifted[rows, labels]).mean()
        p /= total
        p[rows, labels] -= 1
        return CrossEntropy(float(loss), p / len(labels))


def accuracy(logits, labels):
    """Fraction of the rows of logits (N, K) that are largest at their label; a float from 0 to 1."""
    logits, labels = _check_labels("accuracy", logits, labels)
    return np.count_nonzero(logits.argmax(axis=1) == labels) / len(labels)


def _check_labels(name, logits, labels):
    logits = as_float64(name, "logits", logits)
    if logits.ndim != 2 or logits.size == 0:
        raise ValueError(f"{name}: logits must have shape (N, K), got {logits.shape}")
    labels = np.asarray(labels)
    if labels.shape != logits.shape[:1]:
        raise ValueError(f"{name}: labels has shape {labels.shape}, expected ({len(logits)},), one for each row")
    if labels.dtype.kind not in ("i", "u"):
        raise ValueError(f"{name}: labels must be ints, got dtype {labels.dtype}")
    if labels.min() < 0 or labels.max() >= logits.shape[1]:
        raise ValueError(
            f"{name}: labels must be from 0 to {logits.shape[1] - 1}, got {labels.min()} to {labels.max()}"
        )
    return logits, labels


class SGD:
    """Gradient descent, with momentum and weight decay.

        g = grad + weight_decay * value
        velocity = momentum * velocity + g
        value = value - lr * velocity

    Parameters
    ----------
    parameters : list of Parameter, e.g. model.parameters()
    lr : number > 0, the learning rate; may be changed between steps
    momentum : number in [0, 1)
    weight_decay : number >= 0

    Source: Sutskever et al. 2013, section 2, in the form of torch.optim.SGD, whose lr is outside the velocity.
    """

    def __init__(self, parameters, lr, *, momentum=0.0, weight_decay=0.0):
        self.parameters = _check_parameters("SGD", parameters)
        self.lr = check_positive("SGD", "lr", lr)
        if not _is_fraction(momentum):
            raise ValueError(f"SGD: momentum must be a number from 0 to below 1, got {momentum!r}")
        self.momentum = float(momentum)
        self.weight_decay = _check_decay("SGD", weight_decay)
        self.velocities = [np.zeros(p.value.shape) for p in self.parameters]

    def step(self):
        """Change every parameter once, by its gradient."""
        with quiet():
            for i, p in enumerate(self.parameters):
                change = p.grad
                if self.weight_decay:
                    change = change + self.weight_decay * p.value
                if self.momentum:
                    change = self.velocities[i] = self.momentum * self.velocities[i] + change
                p.value = p.value - self.lr * change


class Adam:
    """Gradient descent with a step size for every number: the mean gradient over the gradient's root mean square.

        m = b1 * m + (1 - b1) * grad,    v = b2 * v + (1 - b2) * grad**2,    t the number of steps
        value = value - lr * (m / (1 - b1**t)) / (sqrt(v / (1 - b2**t)) + eps)

    Parameters
    ----------
    parameters : list of Parameter, e.g. model.parameters()
    lr : number > 0, the learning rate; may be changed between steps
    betas : (b1, b2), two numbers in [0, 1)
    eps : number > 0

    Source: Kingma & Ba 2014, arXiv:1412.6980, Algorithm 1.
    """

    def __init__(self, parameters, lr=1e-3, *, betas=(0.9, 0.999), eps=1e-8):
        name = type(self).__name__
        self.parameters = _check_parameters(name, parameters)
        self.lr = check_positive(name, "lr", lr)
        if not (isinstance(betas, (list, tuple)) and len(betas) == 2 and all(map(_is_fraction, betas))):
            raise ValueError(f"{name}: betas must be two numbers from 0 to below 1, got {betas!r}")
        self.betas = tuple(betas)
        self.eps = check_positive(name, "eps", eps)
        self.means = [np.zeros(p.value.shape) for p in self.parameters]
        self.squares = [np.zeros(p.value.shape) for p in self.parameters]
        self.steps = 0

    def step(self):
        """Change every parameter once, by its gradient."""
        self.steps += 1
        b1, b2 = self.betas
        with quiet():
            for i, p in enumerate(self.parameters):
                self.means[i] = b1 * self.means[i] + (1 - b1) * p.grad
                self.squares[i] = b2 * self.squares[i] + (1 - b2) * p.grad**2
                mean = self.means[i] / (1 - b1**self.steps)
                rms = np.sqrt(self.squares[i] / (1 - b2**self.steps))
                p.value = p.value - self.lr * mean / (rms + self.eps)


class AdamW(Adam):
    """Adam with weight decay beside it, not inside it: the decay is not divided by the gradient's root mean square.

        value = (1 - lr * weight_decay) * value, then the step of Adam

    Parameters
    ----------
    parameters, lr, betas, eps : as for Adam
    weight_decay : number >= 0; 0 is Adam

    Every parameter decays, as in torch.optim.AdamW.

    Source: Loshchilov & Hutter 2019, arXiv:1711.05101, Algorithm 2, in the form of torch.optim.AdamW.
    """

    def __init__(self, parameters, lr=1e-3, *, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(parameters, lr, betas=betas, eps=eps)
        self.weight_decay = _check_decay("AdamW", weight_decay)

    def step(self):
        """Change every parameter once, by its gradient and its own value."""
        with quiet():
            for p in self.parameters:
                p.value = (1 - self.lr * self.weight_decay) * p.value
        super().step()


def _check_decay(name, weight_decay):
    if not (is_number(weight_decay) and 0 <= weight_decay < math.inf):
        raise ValueError(f"{name}: weight_decay must be a finite number >= 0, got {weight_decay!r}")
    return float(weight_decay)


def _check_parameters(name, parameters):
    if (
        not isinstance(parameters, (list, tuple))
        or not parameters
        or not all(isinstance(p, Parameter) for p in parameters)
    ):
        raise ValueError(f"{name}: parameters must be a list of Parameter, at least one; write model.parameters()")
    return list(parameters)


def _is_fraction(value):
    return is_number(value) and 0 <= value < 1


def fit(model, x, labels, optimizer, *, steps, batch_size=None, rng=None, on_step=None, progress=False):
    """Train a model to name the class of every row of x, by cross-entropy.

    Parameters
    ----------
    model : Layer from x to logits (N, K); put into training mode here, and left in it
    x, labels : array whose first axis is the samples, and their classes, ints from 0 to K - 1
    optimizer : SGD, Adam or AdamW of model.parameters()
    steps : int >= 1, the number of optimizer steps
    batch_size : None for all samples in every step; or an int. Then the samples are shuffled, taken in turn, and
        shuffled again when fewer than batch_size are left.
    rng : a Generator or an int seed for the shuffling; needed with batch_size only
    on_step : None, or a function of the step's number (from 0), called when the gradients are known and before the
        parameters change; it may look at the model or set optimizer.lr
    progress : True prints a dot for every tenth of the steps

    Returns
    -------
    History(loss, accuracy, gradient_norms) : arrays (steps,), (steps,) and (steps, matrices). Loss and accuracy are
        those of the step's batch, in training mode. gradient_norms has one column for every weight matrix, first
        layer first. Training ends when the loss is inf or NaN: from then on the loss is inf and the rest is NaN.

    Raises
    ------
    ValueError : not as many labels as samples, steps or batch_size not an int >= 1, batch_size larger than
        the number of samples or without rng; otherwise as in the layers and in cross_entropy
    """
    if not isinstance(model, Layer):
        raise ValueError(f"fit: model must be a Layer, got {type(model).__name__}")
    if not any(p is own for p in getattr(optimizer, "parameters", []) for own in model.parameters()):
        raise ValueError("fit: optimizer has no parameter of this model; write e.g. SGD(model.parameters(), lr=0.1)")
    x, labels = np.asarray(x), np.asarray(labels)
    if x.ndim == 0:
        raise ValueError("fit: x must have an axis of samples, got shape ()")
    if labels.shape != x.shape[:1]:
        raise ValueError(f"fit: labels has shape {labels.shape}, expected ({len(x)},), one for each row of x")
    steps = check_count("fit", "steps", steps)
    batches = _batches(len(x), batch_size, rng)
    parameters = model.parameters()
    matrices = [p for p in parameters if p.value.ndim > 1]
    history = History(np.full(steps, np.inf), np.full(steps, np.nan), np.full((steps, len(matrices)), np.nan))
    model.train()
    for step in show_progress(range(steps)) if progress else range(steps):
        batch = next(batches)
        logits = model.forward(x[batch])
        loss, dlogits = cross_entropy(logits, labels[batch])
        if not math.isfinite(loss):
            break
        for p in parameters:
            p.zero_grad()
        model.backward(dlogits)
        history.loss[step] = loss
        history.accuracy[step] = accuracy(logits, labels[batch])
        with quiet():
            history.gradient_norms[step] = [math.sqrt(np.vdot(p.grad, p.grad)) for p in matrices]
        if on_step is not None:
            on_step(step)
        optimizer.step()
    return history


def _batches(count, batch_size, rng):
    """Checks at once, then yields the rows of one batch after the other, without end."""
    if batch_size is None:
        return repeat(slice(None))
    if check_count("fit", "batch_size", batch_size) > count:
        raise ValueError(f"fit: batch_size={batch_size} is more than the {count} samples")
    return _shuffled(count, batch_size, check_rng("fit", rng))


def _shuffled(count, batch_size, rng):
    while True:
        order = rng.permutation(count)
        for start in range(0, count - batch_size + 1, batch_size):
            yield order[start : start + batch_size]


def show_progress(items, title="training"):
    """Yield every item, and print a dot for each tenth of them: the same line on every machine.

    items : a list, a range, or whatever else has a length
    """
    print(title, end=" ", flush=True)
    try:
        for i, item in enumerate(items):
            yield item
            dots = 10 * (i + 1) // len(items) - 10 * i // len(items)
            print("." * dots, end="", flush=True)
    finally:
        print()
