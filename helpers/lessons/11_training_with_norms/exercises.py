"""Lesson 11: a batch norm layer that trains, gradients of a batch in pieces, and a step in float16."""

import numpy as np

from ...exercises import Exercise, Says, WrongKind, case
from ...exercises.shared import CANCELS
from ...layers import Layer, Parameter


def _drive(attempt, batches, dy, x, d_alone, gamma, beta, momentum=0.1, eps=1e-5):
    """Training mode, eval mode, and back: what comes out, what goes back, and what is remembered."""
    for method in ("forward", "backward"):
        if getattr(attempt, method, None) is getattr(Layer, method) and not hasattr(attempt, f"_{method}"):
            raise WrongKind(f"the class has no {method}; write it under this name")
    layer = attempt(len(gamma), momentum=momentum, eps=eps)
    for name, values in (("gamma", gamma), ("beta", beta)):
        _attribute(layer, name, Parameter).value = values.copy()

    def gradients():
        return [_gradient(layer, name) for name in ("gamma", "beta")]

    def buffers():
        return [np.array(_attribute(layer, name)) for name in ("running_mean", "running_var")]

    _switch(layer, "train")
    for batch in batches:
        y = _array(layer.forward(batch), "forward")
    dx, once = _array(layer.backward(dy), "backward"), gradients()
    layer.backward(dy)
    twice, stored = gradients(), buffers()
    _switch(layer, "eval")
    y_eval = _array(layer.forward(x), "forward")
    dx_eval, after = _array(layer.backward(d_alone), "backward"), buffers()
    _switch(layer, "train")
    dx_later = _array(layer.backward(d_alone), "backward")
    again = _array(layer.forward(batches[0]), "forward")
    return (y, dx, *once, *twice, *stored, y_eval, dx_eval, *after, dx_later, again)


RESULTS = (
    "output in training mode",
    "dx in training mode",
    "gradient of gamma",
    "gradient of beta",
    "gradient of gamma after two backward passes",
    "gradient of beta after two backward passes",
    "running_mean",
    "running_var",
    "output in eval mode",
    "dx in eval mode",
    "running_mean after eval mode",
    "running_var after eval mode",
    "dx of the eval forward, with train() called before backward",
    "output back in training mode",
)


def _attribute(layer, name, kind=object):
    value = getattr(layer, name, None)
    if value is None or not isinstance(value, kind):
        raise WrongKind(f"self.{name} is missing or of another kind; leave __init__ and self.{name} as they were")
    return value


def _switch(layer, mode):
    if not callable(getattr(layer, mode, None)):
        raise WrongKind(f"{mode}() is missing; leave Layer in the parentheses after the name of the class")
    getattr(layer, mode)()


def _array(value, method):
    if value is None:
        raise WrongKind(f"{method} returns None; is it still to be written, or is its return missing?")
    if isinstance(value, tuple):
        wanted = {"forward": "y", "backward": "dx; the other gradients go to add_gradient"}[method]
        raise WrongKind(f"{method} returns {len(value)} values; return only {wanted}")
    return value


def _gradient(layer, name):
    parameter = _attribute(layer, name, Parameter)
    shape, wanted = np.shape(parameter.grad), parameter.value.shape
    if shape != wanted:
        raise WrongKind(f"the gradient of {name} has shape {shape}, and {name} has {wanted}")
    return np.array(parameter.grad)


def _layer_case(rng, n, c, *, mean=0.0, scale=1.0, label="", **kwargs):
    """Three batches and one sample. dy leans toward the last batch, so that no term of dx is small by luck."""
    noise = rng.standard_normal((3, n, c))
    dy = 1 + 0.7 * noise[-1] + rng.standard_normal((n, c))
    x = mean + scale * rng.standard_normal((2, c))
    gamma, beta = rng.uniform(0.5, 2.0, c), rng.uniform(0.5, 2.0, c)
    d_alone = rng.standard_normal((2, c))
    return case(mean + scale * (noise + 0.5), dy, x, d_alone, gamma, beta, label=label, **kwargs)


def _layer_cases(rng):
    return [
        _layer_case(rng, 5, 3, label="batches of 5"),
        _layer_case(rng, 4, 4, label="as many features as samples", momentum=0.3),
        _layer_case(rng, int(rng.integers(6, 10)), 2, mean=1e8, scale=3.0, label="large mean", momentum=0.5),
        _layer_case(rng, 6, 3, scale=1e-3, label="tiny variance"),
        _layer_case(rng, 3, 1, label="one feature", momentum=1.0),
        _layer_case(rng, 4, 2, label="large eps", eps=0.5),
    ]


class _Fused(Layer):
    """A correct layer written differently: variance by NumPy, the gradient step by step."""

    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.gamma, self.beta = Parameter(np.ones(features)), Parameter(np.zeros(features))
        self.running_mean, self.running_var = np.zeros(features), np.ones(features)
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = np.mean(x, 0), np.var(x, 0)
            self.running_mean = self.running_mean + self.momentum * (mean - self.running_mean)
            self.running_var = self.running_var + self.momentum * (np.var(x, 0, ddof=1) - self.running_var)
        self.kept = x - mean, var + self.eps, self.training
        return self.kept[0] * (self.gamma.value / np.sqrt(var + self.eps)) + self.beta.value

    def backward(self, dy):
        c, var, training = self.kept
        self.beta.grad = self.beta.grad + np.sum(dy, 0)
        self.gamma.grad = self.gamma.grad + np.sum(dy * c, 0) / var**0.5
        g = dy * self.gamma.value
        if not training:
            return g / var**0.5
        d_var = np.sum(g * c, 0) * -0.5 * var**-1.5
        d_c = g / var**0.5 + d_var * 2 * c / len(dy)
        return d_c - d_c.mean(0)


NUMBERS, AFTER, SETTINGS = np.array([[1.0], [2], [3], [6]]), 4 + 22.5 / 11, {"momentum": 7.5 / 11, "eps": 0.5}
NEVER_CHANGE = """\
keep * self.running_mean + self.momentum * mean -> self.running_mean
keep * self.running_var + self.momentum * new_var -> self.running_var"""
SWAPPED = """\
keep = 1 - self.momentum -> keep = self.momentum
self.momentum * mean -> (1 - self.momentum) * mean
self.momentum * new_var -> (1 - self.momentum) * new_var"""
AXIS_1 = """\
x.mean(axis=0) -> x.mean(axis=1, keepdims=True)
x.var(axis=0) -> x.var(axis=1, keepdims=True)"""

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
    results=RESULTS,
    tol=1e-5,
    run=_drive,
    variants=[_Fused],
    worked=[
        # One batch: mean 3, variance 3.5, divisor 2. The running variance becomes 3.5 as well, so the divisor stays.
        (
            case([NUMBERS], np.array([[1.0], [0], [0], [0]]), [[AFTER]], [[3]], *np.array([[2.0], [1]]), **SETTINGS),
            (
                [[-1], [0], [1], [4]],
                [[0.5], [-0.375], [-0.25], [0.125]],
                *([-1], [1], [-2], [2], [22.5 / 11], [3.5], [[5]], [[3]], [22.5 / 11], [3.5], [[3]]),
                [[-1], [0], [1], [4]],
            ),
        )
    ],
    mistakes={
        "x.var(axis=0)  # -> (x**2).mean(axis=0) - mean**2  #": Says(CANCELS, wrong_anyhow="large mean"),
        "if self.training: -> if True:\nself.by_batch = self.training -> self.by_batch = True": (
            "your layer does not look at self.training: in eval mode, too, it uses the batch and updates the averages"
        ),
        "mean = self.running_mean -> mean = x.mean(axis=0)\nvar = self.running_var -> var = x.var(axis=0)": (
            "eval mode still uses the statistics of the batch; there take running_mean and running_var"
        ),
        (
            "self.by_batch = self.training -> mean, var = self.running_mean, self.running_var; self.by_batch = False",
            "self.by_batch = self.training -> mean, var = self.running_mean, self.running_var; "
            "self.by_batch = self.training",
        ): "your training mode normalizes with the running averages; use the batch's own mean and variance",
        NEVER_CHANGE: "running_mean and running_var never change; training mode has to update them with each batch",
        SWAPPED: "your weights are swapped: momentum is the weight of the new batch here, as in PyTorch",
        "new_var = x.var(axis=0, ddof=1) -> new_var = var": (
            "running_var holds the variance with divisor n; store that with divisor n - 1, as PyTorch does"
        ),
        "x.mean(axis=0) -> x.mean()\nx.var(axis=0) -> x.var()\nx.var(axis=0, ddof=1) -> x.var(ddof=1)": (
            "you took one mean and variance over all entries; each feature has its own, over the batch"
        ),
        AXIS_1: Says(
            "your statistics run along the features of a sample; batch norm's run over the batch", raises=True
        ),
        "if self.by_batch: -> if False:": (
            "backward treats mean and variance as constants; in training mode both depend on x, and add terms to dx"
        ),
        "if self.by_batch: -> if True:": (
            "backward subtracts its two terms in eval mode too; there the statistics are constants, and dx = g / root"
        ),
        "if self.by_batch: -> if self.training:": (
            "backward looks at self.training, which may have changed since forward; store the mode in forward"
        ),
        "np.mean(g * self.x_hat, axis=0) -> np.mean(dy * self.x_hat, axis=0)\ng.mean(axis=0) -> dy.mean(axis=0)": (
            "in backward you took the two means of dy; take them of g = dy · gamma"
        ),
        "np.mean(g * -> np.sum(g *\ng.mean(axis=0) -> g.sum(axis=0)": (
            "backward takes sums over the batch; take means, of g and of g · x̂"
        ),
        "self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> pass\n"
        "self.beta.add_gradient(np.sum(dy, axis=0)) -> pass": (
            "gamma and beta get no gradient; call add_gradient of self.gamma and of self.beta"
        ),
        "gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> gamma.grad = np.sum(dy * self.x_hat, axis=0)\n"
        "beta.add_gradient(np.sum(dy, axis=0)) -> beta.grad = np.sum(dy, axis=0)": (
            "your second backward pass overwrites the gradients of the first; add to them, with add_gradient"
        ),
        "np.sum(dy * -> np.mean(dy *\nnp.sum(dy, -> np.mean(dy,": (
            "you took means for the gradients of gamma and beta; take sums, because each sample adds its part"
        ),
    },
)


class _MeanSquares:
    """The gradient of mean((x @ w - t)**2) with respect to w, for as many rows as fit into memory."""

    def __init__(self, w, fits):
        self.w = w
        self.fits = fits

    def __call__(self, x, t):
        if np.ndim(x) != 2:
            raise WrongKind(
                "gradient takes a matrix of rows, even of a single row: x[i] has lost an axis, x[i : i + 1] keeps it"
            )
        if len(x) > self.fits:
            raise MemoryError(f"{len(x)} rows do not fit, only {self.fits} do")
        if len(x) == 0:
            raise ValueError("gradient was called without any rows")
        return 2 * x.T @ (x @ self.w - t) / len(x)


def _shares(gradient, x, t, rows):
    total = np.zeros(x.shape[1])
    start = 0
    while start < len(x):
        stop = min(start + rows, len(x))
        total += gradient(x[start:stop], t[start:stop]) * (stop - start) / len(x)
        start = stop
    return total


def _accumulation_case(rng, n, rows, features=3, label=""):
    x = rng.standard_normal((n, features)) + np.linspace(0, 2, n)[:, None]  # the last rows differ from the first
    return case(_MeanSquares(rng.standard_normal(features), rows), x, rng.standard_normal(n), rows, label=label)


def _accumulation_cases(rng):
    return [
        _accumulation_case(rng, 12, 4, label="12 rows, 4 fit"),
        _accumulation_case(rng, 13, 5, label="13 rows, 5 fit"),
        _accumulation_case(rng, int(rng.integers(3, 6)) * 3 + 1, 3, features=2, label="one row left over"),
        _accumulation_case(rng, 4, 1, label="one row fits"),
        _accumulation_case(rng, 5, 8, label="all rows fit"),
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
    variants=[_shares],
    # the loss is the mean of (x w - 1)², at w = 0
    worked=[(case(lambda x, t: -2 * x.T @ t / len(x), np.array([[1.0], [2], [3]]), np.ones(3), 2), [-4])],
    mistakes={
        "return gradient(x, t)": "you gave gradient more rows than fit into memory; give it pieces of at most `rows`",
        "len(x[piece]) * gradient -> gradient\nreturn total / len(x) -> return total": (
            "you added up the pieces: each is the gradient of a mean, so the sum grows with their number"
        ),
        "len(x[piece]) * gradient -> gradient\n/ len(x) -> / len(range(0, len(x), rows))": (
            "you gave every piece the same weight; the last one may have fewer rows"
        ),
        "len(x[piece]) * gradient -> gradient\n/ len(x) -> / rows": (
            "you divided the sum by `rows`; weight each gradient by its number of rows, then divide by len(x)"
        ),
        "/ len(x) -> / len(range(0, len(x), rows))": (
            "you divided by the number of pieces; after weighting by rows, divide by the number of all rows"
        ),
        (
            "total = total + len(x[piece]) * gradient -> return gradient",
            "t[piece]) -> t[piece]); return total / len(x)",
        ): "you returned after the first piece; is the return inside the loop?",
        "range(0, len(x), rows) -> range(0, max(len(x) // rows, 1) * rows, rows)": (
            "you left out the rows of the last, shorter piece"
        ),
        "count = max(len(x) // rows, 1); "
        "return sum(gradient(a, b) for a, b in zip(np.split(x, count), np.split(t, count))) / count": (
            "np.split makes equal pieces only; slice x[start : start + rows], which stops at the end of x"
        ),
    },
)


def _by_sum(w, scaled_dw, scale, rate):
    dw = scaled_dw.astype(np.float64)
    if np.isfinite(dw.sum()):
        return w - dw * rate / scale, scale
    return w, scale / 2


def _scaled_case(rng, scale, rate, shape=(3,), bad=None, label=""):
    w = rng.standard_normal(shape).astype(np.float32)
    scaled = rng.uniform(0.2, 1, shape) * rng.choice([-1, 1], shape)
    if bad is not None:
        scaled.flat[: np.size(bad)] = bad
    return case(w, scaled.astype(np.float16), scale, rate, label=label)


def _scaled_cases(rng):
    return [
        _scaled_case(rng, 8.0, 0.5, label="a small scale"),
        _scaled_case(rng, 2.0**12, 100.0, (2, 3), label="a larger scale"),
        _scaled_case(rng, 2.0**30, 1e9, label="a gradient too small for float16"),
        _scaled_case(rng, 1024.0, 0.1, bad=np.inf, label="an overflow"),
        _scaled_case(rng, 1024.0, 0.1, (2, 2), bad=-np.inf, label="a negative overflow"),
        _scaled_case(rng, 4.0, 0.1, bad=np.nan, label="a NaN"),
        _scaled_case(rng, 64.0, 0.1, (3,), bad=[np.inf, -np.inf, np.nan], label="nothing finite"),
        _scaled_case(rng, 1.0, 0.3, label="scale 1"),
    ]


UNSCALED_STEP = Exercise(
    solution="""
def my_unscaled_step(w, scaled_dw, scale, rate):
    if not np.all(np.isfinite(scaled_dw)):  # the test for inf and NaN
        return w, scale / 2  # the skipped step
    dw = scaled_dw.astype(np.float32) / scale  # the gradient in float32
    return w - rate * dw, scale  # the step
""",
    variants=[_by_sum],
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
            "dw = scaled_dw / scale; return (w - rate * dw, scale) if np.all(np.isfinite(dw)) else (w, scale / 2)",
        ): "you rounded the quotient to float16, where the small gradient becomes 0 again; divide in float32",
        "w - rate * dw -> w.astype(np.float16) - rate * dw.astype(np.float16)": (
            "you step in float16, where w itself loses digits; w is float32 and must stay float32"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isposinf(scaled_dw).any()": (
            "you find neither NaN nor -inf; use np.isfinite (a test with == np.nan never finds NaN)"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isnan(scaled_dw).any()": (
            "you look for NaN only; an overflow in float16 is inf"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isinf(scaled_dw).any()": (
            "you look for inf only; inf minus inf is NaN, so look for both, with np.isfinite"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> False": (
            "you step although the gradient is inf or NaN, which destroys w; leave w and halve the scale"
        ),
        "return w, scale / 2 -> scale = scale / 2": (
            "you halve the scale after an overflow, but step all the same; leave w as it is"
        ),
        "return w, scale / 2 -> return w - rate * np.nan_to_num(scaled_dw).astype(np.float32) / scale, scale / 2": (
            "np.nan_to_num turns an overflow into a huge number, and you step with it; leave w as it is"
        ),
        "return w, scale / 2 -> "
        "return w - rate * np.where(np.isfinite(scaled_dw), scaled_dw, 0).astype(np.float32) / scale, scale / 2": (
            "you stepped with the finite entries of a gradient that has overflowed; leave all of w as it is"
        ),
    },
)

EXERCISES = [BATCH_NORM_LAYER, GRADIENT_ACCUMULATION, UNSCALED_STEP]
