"""Lesson 11: a batch norm layer that trains, gradients of a batch in pieces, and a step in float16."""

import numpy as np

from ...exercises import Exercise, Says, WrongKind, case
from ...exercises.steps import AFFINE, in_place_of
from ...layers import Layer, Parameter

# ------------------------------------------------------------------------------------- my_batch_norm_layer


def _drive(attempt, batches, dy, x, d_alone, gamma, beta, momentum=0.1, eps=1e-5):
    """Training mode, eval mode, and back: what comes out, what goes back, and what is remembered."""
    for method in ("forward", "backward"):
        if getattr(attempt, method, None) is getattr(Layer, method) and not hasattr(attempt, f"_{method}"):
            raise WrongKind(f"the class has no {method}; write it under this name")
    layer = attempt(len(gamma), momentum=momentum, eps=eps)
    _set(layer, "gamma", gamma)
    _set(layer, "beta", beta)
    _switch(layer, "train")
    for batch in batches:
        y = _array(layer.forward(batch), "forward")
    dx = _array(layer.backward(dy), "backward")
    gradients = [_gradient(layer, name) for name in ("gamma", "beta")]
    layer.backward(dy)
    twice = [_gradient(layer, name) for name in ("gamma", "beta")]
    buffers = [_buffer(layer, name) for name in ("running_mean", "running_var")]
    _switch(layer, "eval")
    y_eval = _array(layer.forward(x), "forward")
    dx_eval = _array(layer.backward(d_alone), "backward")
    after = [_buffer(layer, name) for name in ("running_mean", "running_var")]
    _switch(layer, "train")
    dx_later = _array(layer.backward(d_alone), "backward")
    again = _array(layer.forward(batches[0]), "forward")
    return (y, dx, *gradients, *twice, *buffers, y_eval, dx_eval, *after, dx_later, again)


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


def _set(layer, name, values):
    if not isinstance(getattr(layer, name, None), Parameter):
        raise WrongKind(f"self.{name} is not a Parameter; leave __init__ as it was")
    getattr(layer, name).value = values.copy()


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
    if not isinstance(getattr(layer, name), Parameter):
        raise WrongKind(f"self.{name} is no longer a Parameter; keep it and call self.{name}.add_gradient(...)")
    gradient, value = getattr(layer, name).grad, getattr(layer, name).value
    if np.shape(gradient) != value.shape:
        raise WrongKind(f"the gradient of {name} has shape {np.shape(gradient)}, and {name} has {value.shape}")
    return np.array(gradient)


def _buffer(layer, name):
    if not hasattr(layer, name):
        raise WrongKind(f"self.{name} is missing; leave __init__ as it was")
    return np.array(getattr(layer, name))


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


def _init(self, features, momentum=0.1, eps=1e-5):
    self.gamma, self.beta = Parameter(np.ones(features)), Parameter(np.zeros(features))
    self.running_mean, self.running_var = np.zeros(features), np.ones(features)
    self.momentum, self.eps = momentum, eps


class _Fused(Layer):
    """A correct layer written differently: variance by NumPy, the gradient step by step."""

    __init__ = _init

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


class _ByColumns:
    """A correct layer that is no Layer underneath, feature by feature."""

    __init__ = _init

    def train(self):
        self.training = True

    def eval(self):
        self.training = False

    def forward(self, x):
        self.mode = self.training
        if self.training:
            var = x.var(axis=0, ddof=1)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * x.mean(axis=0)
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
        columns = []
        self.roots = []
        for c, column in enumerate(x.T):
            mean = column.mean() if self.training else self.running_mean[c]
            var = column.var() if self.training else self.running_var[c]
            self.roots.append(np.sqrt(var + self.eps))
            columns.append((column - mean) / self.roots[-1])
        self.x_hat = np.array(columns).T
        return self.gamma.value * self.x_hat + self.beta.value

    def backward(self, dy):
        self.gamma.add_gradient(np.einsum("nc,nc->c", dy, self.x_hat))
        self.beta.add_gradient(dy.sum(0))
        g = dy * self.gamma.value
        if self.mode:
            g = g - g.mean(0) - self.x_hat * np.mean(g * self.x_hat, 0)
        return g / np.array(self.roots)


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
            mean = x.mean(axis=0)
            var = x.var(axis=0)
            keep = 1 - self.momentum
            self.running_mean = keep * self.running_mean + self.momentum * mean
            new_var = x.var(axis=0, ddof=1)
            self.running_var = keep * self.running_var + self.momentum * new_var
        self.by_batch = self.training
        self.root = np.sqrt(var + self.eps)
        self.x_hat = (x - mean) / self.root
        return self.gamma.value * self.x_hat + self.beta.value

    def backward(self, dy):
        self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0))
        self.beta.add_gradient(np.sum(dy, axis=0))
        g = dy * self.gamma.value
        if self.by_batch:
            overlap = np.mean(g * self.x_hat, axis=0)
            g = g - g.mean(axis=0) - self.x_hat * overlap
        return g / self.root
""",
    signature="forward and backward of my_batch_norm_layer",
    names={"Layer": Layer, "Parameter": Parameter},
    cases=_layer_cases,
    results=RESULTS,
    tol=1e-5,
    run=_drive,
    variants=[_Fused, _ByColumns],
    mistakes={
        "x.var(axis=0) -> (x**2).mean(axis=0) - mean**2": Says(
            (
                "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and "
                "their digits cancel; subtract the mean first, then square"
            ),
            wrong_anyhow="large mean",
        ),
        (
            "mean = self.running_mean -> mean = x.mean(axis=0)\nvar = self.running_var -> var = x.var(axis=0)",
            """mean = self.running_mean -> mean = x.mean(axis=0)
var = self.running_var -> var = x.var(axis=0)
self.by_batch = self.training -> self.by_batch = True""",
        ): (
            "eval mode still uses the statistics of the batch; where self.training is False, take "
            "running_mean and running_var"
        ),
        "if self.training: -> if True:\nself.by_batch = self.training -> self.by_batch = True": (
            "your layer does not look at self.training: in eval mode, too, it uses the batch and updates the running averages"
        ),
        (
            (
                "self.by_batch = self.training -> self.by_batch = self.training; a = 0 if self.training "
                "else self.momentum; self.running_mean = (1 - a) * self.running_mean + a * "
                "x.mean(axis=0); self.running_var = (1 - a) * self.running_var + a * x.var(axis=0, "
                "ddof=1)"
            ),
            (
                "self.by_batch = self.training -> self.by_batch = True; a = 0 if self.training else "
                "self.momentum; self.running_mean = (1 - a) * self.running_mean + a * x.mean(axis=0); "
                "self.running_var = (1 - a) * self.running_var + a * x.var(axis=0, ddof=1)"
            ),
        ): "eval mode changes running_mean and running_var; only training mode may change them",
        ("self.by_batch = self.training -> mean, var = self.running_mean, self.running_var; self.by_batch = False"): (
            "your training mode normalizes with running_mean and running_var; use the mean and variance of the batch there"
        ),
        (
            "self.by_batch = self.training -> mean, var = self.running_mean, self.running_var; "
            "self.by_batch = self.training"
        ): (
            "your training mode normalizes with the running averages; it should only update them, and use the batch's own mean and variance"
        ),
        """keep * self.running_mean + self.momentum * mean -> self.running_mean
keep * self.running_var + self.momentum * new_var -> self.running_var""": (
            "running_mean and running_var never change; training mode has to update them with each batch"
        ),
        "keep * self.running_var + self.momentum * new_var -> self.running_var": (
            "running_mean is right, but running_var never changes"
        ),
        """keep = 1 - self.momentum -> keep = self.momentum
self.momentum * mean -> (1 - self.momentum) * mean
self.momentum * new_var -> (1 - self.momentum) * new_var""": (
            "your weights are swapped: momentum is the weight of the new batch here, as in PyTorch"
        ),
        "keep * self.running_var + self.momentum * new_var -> self.momentum * self.running_var + keep * new_var": (
            "the weights of running_var are swapped; those of running_mean are right"
        ),
        "x.var(axis=0, ddof=1) -> var * (len(x) - 1) / len(x)": (
            "you multiplied by (n - 1) / n; dividing by n - 1 gives a larger variance, so multiply by n / (n - 1)"
        ),
        """keep = 1 - self.momentum -> keep = 0.9
self.momentum * mean -> 0.1 * mean
self.momentum * new_var -> 0.1 * new_var""": ("you always mix with 0.9 and 0.1; use self.momentum"),
        "keep = 1 - self.momentum -> keep = 1": (
            "the running averages grow without end: the old value has to shrink, by the factor 1 - momentum"
        ),
        """self.running_mean = keep -> self.running_mean += keep
self.running_var = keep -> self.running_var += keep""": (
            "the running averages grow without end: `+=` adds to the old value, and `keep * old` counts it again"
        ),
        """keep * self.running_mean + self.momentum * mean -> mean
keep * self.running_var + self.momentum * new_var -> new_var""": (
            "you store the last batch alone; mix it with the old value, weighted by momentum"
        ),
        "x.var(axis=0, ddof=1) -> var": (
            "running_var holds the variance with divisor n; store that with divisor n - 1, as PyTorch does"
        ),
        "x.var(axis=0) -> x.var(axis=0, ddof=1)": (
            "your variance for normalizing has divisor n - 1; divide by n to normalize, and by n - 1 to store"
        ),
        "x.var(axis=0, ddof=1) -> x.std(axis=0, ddof=1)": "running_var holds a standard deviation; store the variance",
        (
            """keep * self.running_mean + self.momentum * mean -> self.running_mean
keep * self.running_var + self.momentum * new_var -> self.running_var
self.by_batch = self.training -> mean = x.mean(axis=1, keepdims=True); var = x.var(axis=1, keepdims=True); self.by_batch = True""",
            """keep * self.running_mean + self.momentum * mean -> self.running_mean
keep * self.running_var + self.momentum * new_var -> self.running_var
self.by_batch = self.training -> mean = x.mean(axis=1, keepdims=True); var = x.var(axis=1, keepdims=True); self.by_batch = True
overlap = np.mean(g * self.x_hat, axis=0) -> overlap = np.mean(g * self.x_hat, axis=1, keepdims=True)
g.mean(axis=0) -> g.mean(axis=1, keepdims=True)""",
        ): "your statistics run along the features of a sample, axis=1; that is layer norm",
        (
            "x.mean(axis=0) -> x.mean(axis=1, keepdims=True)\nx.var(axis=0) -> x.var(axis=1, keepdims=True)",
            """x.mean(axis=0) -> x.mean(axis=1, keepdims=True)
x.var(axis=0) -> x.var(axis=1, keepdims=True)
x.var(axis=0, ddof=1) -> x.var(axis=1, ddof=1, keepdims=True)""",
        ): Says(
            (
                "in training mode your mean and variance run along the features of a sample, axis=1; batch "
                "norm's run over the batch, axis=0"
            ),
            raises=True,
        ),
        (
            """x.mean(axis=0) -> x.mean()
x.var(axis=0) -> x.var()
x.var(axis=0, ddof=1) -> var * len(x) / (len(x) - 1)""",
            "x.mean(axis=0) -> x.mean()\nx.var(axis=0) -> x.var()\nx.var(axis=0, ddof=1) -> x.var(ddof=1)",
            "x.mean(axis=0) -> x.mean()\nx.var(axis=0) -> x.var()",
        ): "you took one mean and variance over all entries; each feature has its own, over the batch",
        (
            """x.mean(axis=0) -> x.mean(axis=0, keepdims=True)
x.var(axis=0) -> x.var(axis=0, keepdims=True)
ddof=1 -> ddof=1, keepdims=True""",
            "x.mean(axis=0) -> x.mean(axis=0, keepdims=True)\nx.var(axis=0) -> x.var(axis=0, keepdims=True)",
        ): "running_mean has become (1, C); the statistics have shape (C,), so leave out keepdims",
        (
            "return self.gamma.value * self.x_hat + -> return self.gamma.value * (x - mean / self.root) +",
            "(x - mean) / self.root -> x - mean / self.root",
        ): "without parentheses only the mean is divided: a quotient is computed before a difference",
        "np.sqrt(var + self.eps) -> np.sqrt(var) + self.eps": (
            "your epsilon is outside the root; add it to the variance"
        ),
        "var + self.eps -> var": "you left out epsilon; it is added to the variance, under the root",
        "var + self.eps -> var + 1e-5": "you always use 1e-5; the layer's own eps is self.eps",
        "np.sqrt(var + self.eps) -> var + self.eps": "you divide by the variance; divide by its square root",
        **in_place_of(
            "self.gamma.value * self.x_hat + self.beta.value",
            AFFINE,
            y="self.x_hat",
            gamma="self.gamma.value",
            beta="self.beta.value",
        ),
        "if self.by_batch: -> if False:": (
            "backward treats mean and variance as constants; in training mode both depend on x, and each adds a term to dx"
        ),
        "if self.by_batch: -> if True:": (
            "backward subtracts mean(g) and the part along x̂ in eval mode too; there the statistics are "
            "constants, and dx = g / root"
        ),
        "if self.by_batch: -> if self.training:": (
            "backward looks at self.training; the mode may have changed since forward, so store in forward which mode it was"
        ),
        "g - g.mean(axis=0) - self.x_hat -> g - self.x_hat": (
            "backward treats the mean as a constant; when x moves, the mean moves too, so subtract mean(g) from g"
        ),
        "g.mean(axis=0) - self.x_hat * overlap -> g.mean(axis=0)": (
            "backward treats the variance as a constant; when x moves, the variance moves too, so subtract a part along x̂"
        ),
        "return g / self.root -> return g": "you did not divide dx by the root of var + eps",
        "return g / self.root -> return g if self.by_batch else g / self.root": (
            "in training mode you did not divide dx by the root of var + eps"
        ),
        "- self.x_hat * overlap -> + self.x_hat * overlap": (
            "backward adds the part along x̂; subtract it, like the mean"
        ),
        "g - g.mean(axis=0) - self.x_hat -> g + g.mean(axis=0) + self.x_hat": (
            "backward adds the mean and the part along x̂; subtract both"
        ),
        "self.x_hat * overlap -> overlap": (
            "the last term of backward lacks its x̂: the part along x̂ is x̂ times mean(g · x̂)"
        ),
        """np.mean(g * self.x_hat, axis=0) -> np.mean(dy * self.x_hat, axis=0)
g.mean(axis=0) -> dy.mean(axis=0)""": ("in backward you took the two means of dy; take them of g = dy · gamma"),
        "g / self.root -> g / self.root**2": "backward divides by var + eps; divide by its root, as forward does",
        """np.mean(g * self.x_hat, axis=0) -> np.sum(g * self.x_hat, axis=0) / g.shape[1]
g.mean(axis=0) -> g.sum(axis=0) / g.shape[1]""": (
            "backward divides its sums by the number of features; they run over the batch, so divide by the number of samples"
        ),
        (
            """self.root = np.sqrt(var + self.eps) -> root = np.sqrt(var + self.eps)
self.x_hat = (x - mean) / self.root -> x_hat = (x - mean) / root; self.root, self.x_hat = (root, x_hat) if self.training else (self.root, self.x_hat)
self.gamma.value * self.x_hat + -> self.gamma.value * x_hat +""",
            """self.root = np.sqrt(var + self.eps) -> root = np.sqrt(var + self.eps)
self.x_hat = (x - mean) / self.root -> x_hat = (x - mean) / root; self.root, self.x_hat = (root, x_hat) if self.training else (self.root, self.x_hat)
self.gamma.value * self.x_hat + -> self.gamma.value * x_hat +
np.sum(dy * self.x_hat -> np.sum(self.x_hat * dy""",
        ): Says(
            "backward uses x̂ and the root of an earlier training batch; in eval mode, too, forward has to store its own x̂ and root",
            raises=True,
        ),
        "np.mean(g * -> np.sum(g *\ng.mean(axis=0) -> g.sum(axis=0)": (
            "backward takes sums over the batch; take means, of g and of g · x̂"
        ),
        (
            "np.mean(g * self.x_hat, axis=0) -> np.mean(g * self.x_hat)",
            "np.mean(g * self.x_hat, axis=0) -> np.mean(g * self.x_hat)\ng.mean(axis=0) -> g.mean()",
        ): "a mean in backward runs over all entries; each feature has its own mean, over the batch",
        """np.mean(g * self.x_hat, axis=0) -> np.mean(g * self.x_hat, axis=1, keepdims=True)
g.mean(axis=0) -> g.mean(axis=1, keepdims=True)""": (
            "your means in backward run along the features; take them over the batch, axis=0"
        ),
        ("return g / self.root -> return g / (np.sqrt(self.running_var + self.eps) if self.by_batch else self.root)"): (
            "in training mode backward divides by √(running_var + eps); divide by √(var of the batch + eps), as forward did"
        ),
        "g = dy * self.gamma.value -> g = dy": "dx ignores gamma; the gradient of x̂ is dy · gamma",
        """self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> pass
self.beta.add_gradient(np.sum(dy, axis=0)) -> pass""": (
            "gamma and beta get no gradient; call self.gamma.add_gradient(...) and self.beta.add_gradient(...)"
        ),
        "self.gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> pass": (
            "gamma gets no gradient; its gradient is the sum of dy · x̂ over the batch"
        ),
        "self.beta.add_gradient(np.sum(dy, axis=0)) -> pass": (
            "beta gets no gradient; its gradient is the sum of dy over the batch"
        ),
        """gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> gamma.grad = np.sum(dy * self.x_hat, axis=0)
beta.add_gradient(np.sum(dy, axis=0)) -> beta.grad = np.sum(dy, axis=0)""": (
            "your second backward pass overwrites the gradients of the first; add to them, with add_gradient"
        ),
        """gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> gamma.value = self.gamma.value - np.sum(dy * self.x_hat, axis=0)
beta.add_gradient(np.sum(dy, axis=0)) -> beta.value = self.beta.value - np.sum(dy, axis=0)""": (
            "backward changes gamma and beta themselves; only hand over their gradients, with add_gradient"
        ),
        """gamma.add_gradient(np.sum(dy * -> beta.add_gradient(np.sum(dy *
beta.add_gradient(np.sum(dy, -> gamma.add_gradient(np.sum(dy,""": (
            "the two gradients have changed places: gamma's is the sum of dy · x̂, beta's the sum of dy"
        ),
        "np.sum(dy * -> np.mean(dy *\nnp.sum(dy, -> np.mean(dy,": (
            "you took means over the batch for the gradients of gamma and beta; take sums, because each sample adds its part"
        ),
        "np.sum(dy * -> np.mean(dy *": (
            "you took a mean over the batch for the gradient of gamma; take the sum, because each sample adds its part"
        ),
        "np.sum(dy, -> np.mean(dy,": (
            "you took a mean over the batch for the gradient of beta; take the sum, because each sample adds its part"
        ),
        """np.sum(dy * self.x_hat -> np.sum(dy * self.x
self.by_batch = self.training -> self.by_batch = self.training; self.x = x""": (
            "you multiplied dy by x for the gradient of gamma; multiply dy by x̂, as gamma multiplies x̂"
        ),
        """np.sum(dy * self.x_hat, axis=0) -> np.sum(dy * self.gamma.value * self.x_hat, axis=0)
np.sum(dy, axis=0) -> np.sum(dy * self.gamma.value, axis=0)""": (
            "the gradients of gamma and beta come from dy itself; gamma belongs in dx only"
        ),
        "np.sum(dy * self.x_hat, axis=0) -> dy * self.x_hat\nnp.sum(dy, axis=0) -> dy": (
            "the gradients of gamma and beta still have one row per sample; sum over the batch"
        ),
        "if self.training -> if True": (
            "in eval mode your forward normalizes with the batch and updates running_mean and running_var; normalize with these two and change nothing"
        ),
        "self.running_mean = keep * self.running_mean + self.momentum * mean -> pass": (
            "forward does not update running_mean; in training mode, mix the mean of the batch into it"
        ),
    },
)

# ------------------------------------------------------------------------------- my_gradient_accumulation


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


def _array_split(gradient, x, t, rows):
    count = -(-len(x) // rows)
    pieces = zip(np.array_split(x, count), np.array_split(t, count), strict=True)
    return sum(gradient(a, b) * len(a) for a, b in pieces) / len(x)


def _row_by_row(gradient, x, t, rows):
    return np.mean([gradient(x[i : i + 1], t[i : i + 1]) for i in range(len(x))], axis=0)


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
        total = total + len(x[piece]) * gradient(x[piece], t[piece])
    return total / len(x)
""",
    cases=_accumulation_cases,
    variants=[_array_split, _row_by_row, _shares],
    mistakes={
        "return gradient(x, t)": (
            "you gave gradient more rows than fit into memory; give it pieces of at most `rows` rows"
        ),
        "len(x[piece]) * gradient -> gradient\nreturn total / len(x) -> return total": (
            "you added up the pieces: each is the gradient of a mean already, so the sum grows with their number"
        ),
        "len(x[piece]) * gradient -> gradient\n/ len(x) -> / len(range(0, len(x), rows))": (
            "you gave every piece the same weight; the last one may have fewer rows, so weight each by its number of rows"
        ),
        "return total / len(x) -> return total": "you added up all rows but did not divide by their number",
        "len(x[piece]) * gradient -> gradient": (
            "you divided the gradients of means by the number of rows; multiply each by its own number of rows first"
        ),
        "len(x[piece]) * -> rows *": "you weighted every piece by `rows`; the last one may have fewer rows",
        "len(x[piece]) * gradient -> gradient\n/ len(x) -> / rows": (
            "you divided the sum by `rows`; weight each gradient by its number of rows, then divide by len(x)"
        ),
        "/ len(x) -> / (rows * len(range(0, len(x), rows)))": (
            "you divided by rows times pieces; the last piece may have fewer rows, so divide by len(x)"
        ),
        "/ len(x) -> / rows": "you divided by the number of rows in one piece; divide by the number of all rows, len(x)",
        "/ len(x) -> / len(range(0, len(x), rows))": (
            "you divided by the number of pieces; after weighting by rows, divide by the number of all rows, len(x)"
        ),
        "total + len(x[piece]) * gradient -> gradient\ntotal / len(x) -> total": (
            "you returned the gradient of the last piece; add up the weighted gradients of all pieces"
        ),
        (
            "total = total + len(x[piece]) * gradient -> return gradient",
            "t[piece]) -> t[piece]); return total / len(x)",
        ): "you returned after the first piece; is the return inside the loop?",
        "return [gradient(x[i : i + rows], t[i : i + rows]) for i in range(0, len(x), rows)]": (
            "you returned the list of gradients; return one gradient, their weighted mean"
        ),
        "/ len(x) -> / len(x) ** 2": "you divided by the number of all rows twice",
        "/ len(x) -> / x.size": "x.size counts all numbers of x; the number of rows is len(x)",
        "total = 0 -> total = (rows - len(x[:rows])) * gradient(x[:rows], t[:rows])": (
            "you weighted the first piece by `rows`; if all rows fit, it has fewer"
        ),
        "start + rows -> start + rows - 1": (
            "your pieces end a row too early; the end of a slice is left out already, so write start + rows"
        ),
        (
            """range(0, len(x), rows) -> range(0, len(x) - rows + 1, rows)
len(x[piece]) * gradient -> gradient
/ len(x) -> / (len(x) // rows)""",
            """range(0, len(x), rows) -> range(0, max(len(x) // rows, 1) * rows, rows)
len(x[piece]) * gradient -> gradient
/ len(x) -> / max(len(x) // rows, 1)""",
            """total = 0 -> total = np.zeros(x.shape[1])
range(0, len(x), rows) -> range(0, len(x) - rows + 1, rows)""",
            "range(0, len(x), rows) -> range(0, len(x) - rows + 1, rows)",
        ): "you left out the rows of the last, shorter piece",
        (
            "return sum(gradient(a, b) for a, b in zip(np.split(x, rows), np.split(t, rows)))",
            "return np.mean([gradient(a, b) for a, b in zip(np.split(x, rows), np.split(t, rows))], axis=0)",
        ): "the second argument of np.split is the number of pieces, not the number of rows in a piece",
        "range(0, len(x), rows) -> range(len(x))": (
            "your pieces overlap; range(0, len(x), rows) goes from the start of one piece to the start of the next"
        ),
        (
            "count = max(len(x) // rows, 1); return sum(gradient(a, b) for a, b in zip(np.split(x, "
            "count), np.split(t, count))) / count"
        ): ("np.split makes equal pieces only; slice x[start : start + rows], which stops at the end of x"),
        """len(x[piece]) * gradient -> gradient
return total / len(x) -> return total / (len(x) // rows)""": (
            "you divided by the number of full pieces and gave every piece the same weight; weight each by its number of rows"
        ),
        "total = total + -> total =": ("you kept the last piece only; add up all pieces"),
        "t[piece] -> t": ("you gave gradient a piece of x with all of t; cut both in the same way"),
    },
)

# ---------------------------------------------------------------------------------------- my_unscaled_step


def _no_copy(w, scaled_dw, scale, rate):
    dw = np.float32(scaled_dw)
    if np.isnan(dw).any() or np.isinf(dw).any():
        return w, 0.5 * scale
    return (w - dw * np.float32(rate / scale)).astype(np.float32), scale


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
    if not np.all(np.isfinite(scaled_dw)):
        return w, scale / 2
    dw = scaled_dw.astype(np.float32) / scale
    return w - rate * dw, scale
""",
    variants=[_no_copy, _by_sum],
    cases=_scaled_cases,
    results=("w", "scale"),
    tol=1e-4,
    mistakes={
        (
            "scaled_dw.astype(np.float32) / scale -> scaled_dw / np.float16(scale)",
            "scaled_dw.astype(np.float32) / scale -> (scaled_dw.astype(np.float32) / scale).astype(np.float16)",
            "dw = scaled_dw / scale; return (w - rate * dw, scale) if np.all(np.isfinite(dw)) else (w, scale / 2)",
            "scaled_dw.astype(np.float32) / scale -> scaled_dw / scale",
            "scaled_dw.astype(np.float32) / scale -> (scaled_dw / np.float16(scale)).astype(np.float32)",
            "scaled_dw.astype(np.float32) / scale -> (scaled_dw / scale).astype(np.float32)",
        ): "you rounded the quotient to float16, where the small gradient becomes 0 again; divide in float32 and keep that",
        (
            "rate * dw -> rate / scale * scaled_dw",
            "rate * dw -> rate * scaled_dw / np.float32(scale)",
        ): "you multiplied in float16, which keeps three digits; convert to float32 first",
        """return w, scale / 2 -> return scale / 2, w
return w - rate * dw, scale -> return scale, w - rate * dw""": (
            "your two results have changed places: first w, then the scale"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isposinf(scaled_dw).any()": (
            "you find neither NaN nor -inf; use np.isfinite (a test with == np.nan never finds NaN)"
        ),
        "not np.all -> np.all": "your condition is the wrong way round: step if all entries are finite",
        (
            "return w, scale / 2 -> scale = scale / 2",
            "return w, scale / 2 -> return w - rate * scaled_dw.astype(np.float32) / scale, scale / 2",
        ): "you halve the scale after an overflow, but step all the same; leave w as it is",
        (
            ("return w, scale / 2 -> return w - rate * np.nan_to_num(scaled_dw).astype(np.float32) / scale, scale / 2"),
            (
                "return w, scale / 2 -> return w - rate * np.nan_to_num(scaled_dw).astype(np.float32) / "
                "(scale / 2), scale / 2"
            ),
            "return w, scale / 2 -> return w - rate * np.nan_to_num(scaled_dw.astype(np.float32)) / scale, scale / 2",
        ): "np.nan_to_num turns an overflow into a huge number, and you step with it; leave w as it is",
        "w - rate * dw -> w.astype(np.float16) - rate * dw.astype(np.float16)": (
            "you step in float16, where w itself loses digits; w is float32 and must stay float32"
        ),
        ("np.float32) / scale -> np.float32)", "scaled_dw.astype(np.float32) / scale -> scaled_dw"): (
            "you did not divide by the scale, so the step is `scale` times too long"
        ),
        "np.float32) / scale -> np.float32) * scale": (
            "you multiplied by the scale once more; the loss was multiplied, so divide the gradient"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> False": (
            "you step although the gradient is inf or NaN, which destroys w; leave w as it is and halve the scale"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isnan(scaled_dw).any()": (
            "you look for NaN only; an overflow in float16 is inf"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isinf(scaled_dw).any()": (
            "you look for inf only; inf minus inf is NaN, so look for both, with np.isfinite"
        ),
        "not np.all(np.isfinite(scaled_dw)) -> np.isposinf(scaled_dw).any() or np.isnan(scaled_dw).any()": (
            "you miss -inf; an overflow can be negative"
        ),
        "np.all -> np.any": "you skip the step only if all entries are inf or NaN; a single one is enough",
        "return w, scale / 2 -> return w, scale": (
            "after an overflow the scale stays, so the next step will overflow as well; halve it"
        ),
        "scale / 2 -> scale * 2": (
            "after an overflow you doubled the scale; the gradients are too large already, so halve it"
        ),
        "return w, scale / 2 -> return w, 1.0": "after an overflow you gave up the scale altogether; halve it",
        "rate * dw, scale -> rate * dw, scale / 2": "you halved the scale although nothing overflowed",
        "rate * dw, scale -> rate * dw, scale * 2": "you doubled the scale after a good step; leave it as it is",
        (
            "return w - rate * np.where(np.isfinite(scaled_dw), scaled_dw, 0).astype(np.float32) / scale, scale",
            (
                "return w, scale / 2 -> return w - rate * np.where(np.isfinite(scaled_dw), scaled_dw, "
                "0).astype(np.float32) / scale, scale / 2"
            ),
        ): "you stepped with the finite entries of a gradient that has overflowed; leave all of w as it is",
        "w - rate -> w + rate": "you stepped uphill; the step goes against the gradient",
        "rate * dw -> dw": "you left out the learning rate",
        "return w, -> return np.zeros_like(w),": "after an overflow you returned zeros; return w as it was",
    },
)

EXERCISES = [BATCH_NORM_LAYER, GRADIENT_ACCUMULATION, UNSCALED_STEP]
