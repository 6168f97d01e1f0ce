"""Lesson 11: a batch norm layer that trains, gradients of a batch in pieces, and a step in float16."""

import numpy as np

from ...exercises import Exercise, WrongKind, case
from ...layers import Layer, Parameter


def _drive(attempt, batches, dy, x, d_alone, gamma, beta, momentum=0.1, eps=1e-5):
    """Training mode, eval mode, and back: what comes out, what goes back, and what is remembered."""
    for method in ("forward", "backward"):
        if getattr(attempt, method, 0) is getattr(Layer, method) and not hasattr(attempt, f"_{method}"):
            raise WrongKind(f"the class has no {method}; write it under this name")
    new, layer = (attempt(len(gamma), momentum=momentum, eps=eps) for _ in range(2))
    for name, values in (("gamma", gamma), ("beta", beta)):
        getattr(layer, name).value = values.copy()

    def kept():
        arrays = layer.gamma.grad, layer.beta.grad, layer.running_mean, layer.running_var
        return tuple(np.array(array) for array in arrays)

    first = _array(new.forward(batches[0]), "forward")  # gamma and beta as __init__ leaves them
    layer.train()
    for batch in batches:
        y = _array(layer.forward(batch), "forward")
    dx, once = _array(layer.backward(dy), "backward"), kept()
    layer.backward(dy)
    twice = kept()
    layer.eval()
    y_eval = _array(layer.forward(x), "forward")
    dx_eval, after = _array(layer.backward(d_alone), "backward"), kept()
    layer.train()
    dx_later = _array(layer.backward(d_alone), "backward")
    return (y, dx, *once, *twice[:2], y_eval, dx_eval, *after[2:], dx_later, layer.forward(batches[0]), first)


def _array(value, method):
    if value is None:
        raise WrongKind(f"{method} returns None; is it still to be written, or is its return missing?")
    if isinstance(value, tuple):
        wanted = {"forward": "y", "backward": "dx; the other gradients go to add_gradient"}[method]
        raise WrongKind(f"{method} returns {len(value)} values; return only {wanted}")
    return value


def _layer_cases(rng):
    def one(label, n, c, mean=0.0, scale=1.0, **kwargs):
        """Three batches and one sample. dy leans toward the last batch, so that no term of dx is small by luck."""
        noise = rng.standard_normal((3, n, c))
        dy = 1 + 0.7 * noise[-1] + rng.standard_normal((n, c))
        x, d_alone = mean + scale * rng.standard_normal((2, c)), rng.standard_normal((2, c))
        gamma, beta = rng.uniform(0.5, 2.0, (2, c))
        return case(mean + scale * (noise + 0.5), dy, x, d_alone, gamma, beta, label=label, **kwargs)

    return [
        one("batches of 5", 5, 3),
        one("as many features as samples", 4, 4, momentum=0.3),
        one("large mean", 7, 2, mean=1e8, scale=3.0, momentum=0.5),
        one("tiny variance", 6, 3, scale=1e-3),
        one("large eps", 4, 2, eps=0.5),
    ]


RESULTS = (
    "y, dx, dgamma, dbeta, running_mean, running_var, dgamma of two backward passes, dbeta of two backward passes, "
    "y in eval mode, dx in eval mode, running_mean after eval mode, running_var after eval mode, "
    "dx if train() comes between forward and backward, y back in training mode, y of a new layer"
)
NUMBERS, AFTER, SETTINGS = np.array([[1.0], [2], [3], [6]]), 4 + 22.5 / 11, {"momentum": 7.5 / 11, "eps": 0.5}
BATCH_NORM_LAYER = Exercise(
    solution="""
class my_batch_norm_layer(Layer):
    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.gamma = Parameter(np.ones(features))
        self.beta = Parameter(np.zeros(features))
        self.running_mean = np.zeros(features)
        self.running_var = np.ones(features)
        self.momentum = momentum
        self.eps = eps

    def forward(self, x):
        mean = self.running_mean
        var = self.running_var
        if self.training:
            mean = x.mean(axis=0)  # the mean of the batch
            var = x.var(axis=0)  # the variance of the batch
            keep = 1 - self.momentum
            self.running_mean = keep * self.running_mean + self.momentum * mean
            new_var = x.var(axis=0, ddof=1)  # the variance to store
            self.running_var = keep * self.running_var + self.momentum * new_var
        self.by_batch = self.training
        self.root = np.sqrt(var + self.eps)  # the root
        self.x_hat = (x - mean) / self.root  # the normalized values
        return self.gamma.value * self.x_hat + self.beta.value  # the scale and shift

    def backward(self, dy):
        self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0))
        self.beta.add_gradient(np.sum(dy, axis=0))  # the gradient of beta
        g = dy * self.gamma.value  # the slope of x̂
        if self.by_batch:
            overlap = np.mean(g * self.x_hat, axis=0)  # the mean of g · x̂
            g = g - g.mean(axis=0) - self.x_hat * overlap
        return g / self.root  # the slope of x
""",
    signature="forward and backward of my_batch_norm_layer",
    names={"Layer": Layer, "Parameter": Parameter},
    cases=_layer_cases,
    results=tuple(RESULTS.split(", ")),
    tol=1e-5,
    run=_drive,
    variants=[
        "keep * self.running_mean + self.momentum * mean -> self.running_mean + self.momentum * (mean - self.running_mean)\n"
        "x.var(axis=0, ddof=1) -> var * len(x) / (len(x) - 1)\nself.gamma.add_gradient( -> self.gamma.grad += ("
    ],
    worked=[
        # One batch: mean 3, variance 3.5, divisor 2. The running variance becomes 3.5 as well, so the divisor stays.
        (
            case([NUMBERS], np.array([[1.0], [0], [0], [0]]), [[AFTER]], [[3]], *np.array([[2.0], [1]]), **SETTINGS),
            (
                [[-1], [0], [1], [4]],
                [[0.5], [-0.375], [-0.25], [0.125]],
                *([-1], [1], [22.5 / 11], [3.5], [-2], [2], [[5]], [[3]], [22.5 / 11], [3.5], [[3]]),
                [[-1], [0], [1], [4]],
                [[-1], [-0.5], [0], [1.5]],
            ),
        )
    ],
    mistakes={
        "if self.training: -> if True:\nself.by_batch = self.training -> self.by_batch = True": (
            "your layer does not look at self.training: in eval mode it takes the batch, and updates the averages"
        ),
        "mean = self.running_mean -> mean = x.mean(axis=0)\nvar = self.running_var -> var = x.var(axis=0)": (
            "eval mode still uses the statistics of the batch; there take running_mean and running_var"
        ),
        "keep * -2-> self.momentum *\n+ self.momentum * -2-> + keep *": (
            "your weights are swapped: momentum is the weight of the new batch here, as in PyTorch"
        ),
        "if self.by_batch: -> if False:": "backward treats mean and variance as constants; both depend on x",
        "if self.by_batch: -> if True:": "after an eval forward the statistics are constants, so there dx is g / root",
        "if self.by_batch: -> if self.training:": "self.training may change after forward; store the mode there",
        "add_gradient( -2-> grad + (": "gamma and beta get no gradient; call add_gradient of both",
        "self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> pass": "gamma gets no gradient; add it by add_gradient",
        "self.beta.add_gradient(np.sum(dy, axis=0)) -> pass": "beta gets no gradient; add it by add_gradient",
    },
)


class _MeanSquares:
    """The gradient of mean((x @ w - t)**2) with respect to w, for as many rows as fit into memory."""

    def __init__(self, w, fits):
        self.w, self.fits = w, fits

    def __call__(self, x, t):
        if np.ndim(x) != 2:
            raise WrongKind("gradient takes a matrix of rows: x[i] has lost an axis, x[i : i + 1] keeps it")
        if len(x) > self.fits:
            raise MemoryError(f"{len(x)} rows do not fit, only {self.fits} do")
        return 2 * x.T @ (x @ self.w - t) / len(x)


def _accumulation_cases(rng):
    def one(label, n, rows, features=3):
        x = rng.standard_normal((n, features)) + np.linspace(0, 2, n)[:, None]  # the last rows differ from the first
        return case(_MeanSquares(rng.standard_normal(features), rows), x, rng.standard_normal(n), rows, label=label)

    return [
        one("12 rows, 4 fit", 12, 4),
        one("13 rows, 5 fit", 13, 5),
        one("one row left over", 10, 3, features=2),
        one("one row fits", 4, 1),
        one("all rows fit", 5, 8),
    ]


GRADIENT_ACCUMULATION = Exercise(
    solution="""
def my_gradient_accumulation(gradient, x, t, rows):
    total = 0
    for start in range(0, len(x), rows):
        piece = slice(start, start + rows)
        total = total + len(x[piece]) * gradient(x[piece], t[piece])  # the sum
    return total / len(x)  # the mean over all rows
""",
    cases=_accumulation_cases,
    variants=[
        "gradient(x[piece], t[piece]) -> gradient(x[piece], t[piece]) / len(x)\nreturn total / len(x) -> return total"
    ],
    # the loss is the mean of (x w - 1)², at w = 0
    worked=[(case(lambda x, t: -2 * x.T @ t / len(x), np.array([[1.0], [2], [3]]), np.ones(3), 2), [-4])],
    mistakes={
        "return gradient(x, t)": "you gave gradient more rows than fit into memory; give it pieces of at most `rows`",
        ("len(x[piece]) * ->\n/ len(x) -> / len(range(0, len(x), rows))", "len(x[piece]) * -> rows *"): (
            "you gave every piece the same weight; the last one may have fewer rows"
        ),
        ("t[piece]) -> t[piece]); return total / len(x)", "return gradient(x[:rows], t[:rows])"): (
            "you took the first piece only; is a return inside the loop?"
        ),
        "len(x), rows) -> len(x) // rows * rows, rows)": "you left out the rows of the last, shorter piece",
        "t[piece]) -> t[: len(x[piece])])": "every piece needs its own targets; you took the first ones each time",
    },
)


def _scaled_cases(rng):
    def one(label, scale, rate, shape=(3,), bad=()):
        w = rng.standard_normal(shape).astype(np.float32)
        scaled = rng.uniform(0.2, 1, shape) * rng.choice([-1, 1], shape)
        scaled.flat[: len(bad)] = bad
        return case(w, scaled.astype(np.float16), scale, rate, label=label)

    return [
        one("a small scale", 8.0, 0.5),
        one("a larger scale", 2.0**12, 100.0, (2, 3)),
        one("a gradient too small for float16", 2.0**30, 1e9),
        one("an overflow", 1024.0, 0.1, bad=[np.inf]),
        one("a negative overflow", 1024.0, 0.1, (2, 2), bad=[-np.inf]),
        one("a NaN", 4.0, 0.1, bad=[np.nan]),
        one("nothing finite", 64.0, 0.1, bad=[np.inf, -np.inf, np.nan]),
    ]


UNSCALED_STEP = Exercise(
    solution="""
def my_unscaled_step(w, scaled_dw, scale, rate):
    if not np.all(np.isfinite(scaled_dw)):  # the test for inf and NaN
        return w, scale / 2  # the skipped step
    dw = scaled_dw.astype(np.float32) / scale  # the gradient in float32
    return w - rate * dw, scale  # the step
""",
    variants=[
        "not np.all(np.isfinite(scaled_dw)) -> not np.isfinite(np.sum(scaled_dw, dtype=float))\nrate * -> +rate *"
    ],
    worked=[
        (case(np.float32([1, 2]), np.float16([8, -4]), 4.0, 0.5), ([0, 2.5], 4)),
        (case(np.float32([1, 2]), np.float16([np.inf, -4]), 4.0, 0.5), ([1, 2], 2)),
    ],
    cases=_scaled_cases,
    results=("w", "scale"),
    tol=1e-4,
    mistakes={
        (
            "scaled_dw.astype(np.float32) / scale -> scaled_dw / scale",
            "scaled_dw.astype(np.float32) / scale -> (scaled_dw / scale).astype(np.float32)",
        ): "you rounded the quotient to float16, where the small gradient becomes 0 again; divide in float32",
        "not np.all(np.isfinite(scaled_dw)) -> False": "you step whatever the gradient is; look for inf and NaN first",
        "not np.all(np.isfinite(scaled_dw)) -> np.isnan(scaled_dw).any()": "you look for NaN only; an overflow is inf",
        "not np.all(np.isfinite(scaled_dw)) -> np.isinf(scaled_dw).any()": "you look for inf only; inf - inf is NaN",
    },
)

EXERCISES = [BATCH_NORM_LAYER, GRADIENT_ACCUMULATION, UNSCALED_STEP]
