"""Lesson 11: a batch norm layer that trains, gradients of a batch in pieces, and a step in float16."""

import numpy as np

from ..layers import Layer, Parameter
from .checker import Exercise, Mistake, WrongKind, case
from .steps import AFFINE, CANCELS, NO_PARENTHESES, forms, mistakes_with

# ------------------------------------------------------------------------------------- my_batch_norm_layer

# A mistake is the class below with one of its steps replaced. The learner's class has only __init__, forward and
# backward.


class _BatchNormLayer(Layer):
    """Batch norm for x (N, C), with gamma and beta that learn and PyTorch's running statistics."""

    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.gamma = Parameter(np.ones(features))
        self.beta = Parameter(np.zeros(features))
        self.running_mean = np.zeros(features)
        self.running_var = np.ones(features)
        self.momentum = momentum
        self.eps = eps

    def mean(self, x):
        return x.mean(axis=0)

    def var(self, x, mean):
        return ((x - mean) ** 2).mean(axis=0)

    def stored_var(self, x, var):
        return var * len(x) / (len(x) - 1)

    def mix(self, old, new):
        return (1 - self.momentum) * old + self.momentum * new

    def remember(self, x):
        self.running_mean = self.mix(self.running_mean, self.mean(x))
        self.running_var = self.mix(self.running_var, self.stored_var(x, self.var(x, self.mean(x))))

    def statistics(self, x):
        if not self.training:
            return self.running_mean, self.running_var
        self.remember(x)
        return self.mean(x), self.var(x, self.mean(x))

    def divisor(self, var):
        return np.sqrt(var + self.eps)

    def affine(self, y, gamma, beta):
        return gamma * y + beta

    def forward(self, x):
        self.x = x
        mean, var = self.statistics(x)
        self.constants = not self.training
        self.s = self.divisor(var)
        self.x_hat = (x - mean) / self.s
        return self.affine(self.x_hat, self.gamma.value, self.beta.value)

    def upstream(self, dy):
        return dy * self.gamma.value

    def dx(self, g):
        return (g - g.mean(axis=0) - self.x_hat * (g * self.x_hat).mean(axis=0)) / self.s

    def dx_eval(self, g):
        return g / self.s

    def learn(self, dy):
        self.gamma.add_gradient((dy * self.x_hat).sum(axis=0))
        self.beta.add_gradient(dy.sum(axis=0))

    def backward(self, dy):
        self.learn(dy)
        g = self.upstream(dy)
        return self.dx_eval(g) if self.constants else self.dx(g)


def _with(**steps):
    """The class with steps replaced."""
    return type("Attempt", (Layer,), {**vars(_BatchNormLayer), **steps})


def _drive(attempt, batches, dy, x, d_alone, gamma, beta, momentum=0.1, eps=1e-5):
    """Training mode, stored mode, and back: what comes out, what goes back, and what is remembered."""
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
    "output in stored mode",
    "dx in stored mode",
    "running_mean after stored mode",
    "running_var after stored mode",
    "dx in stored mode, asked for after train()",
    "output back in training mode",
)


def _set(layer, name, values):
    if not isinstance(getattr(layer, name, None), Parameter):
        raise WrongKind(f"self.{name} is no Parameter; leave __init__ as it was")
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
        raise WrongKind(f"self.{name} is no Parameter any more; keep it and call self.{name}.add_gradient(...)")
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


class _Fused(Layer):
    """A correct layer written differently: variance by NumPy, the gradient step by step."""

    __init__ = _BatchNormLayer.__init__

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

    __init__ = _BatchNormLayer.__init__

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


def _norm_of_rows(self, x):
    self.x = x
    self.constants = False
    self.s = np.sqrt(x.var(axis=1, keepdims=True) + self.eps)
    self.x_hat = (x - x.mean(axis=1, keepdims=True)) / self.s
    return self.gamma.value * self.x_hat + self.beta.value


def _remember_always(self, x):
    if self.training:
        self.remember(x)
        return self.mean(x), self.var(x, self.mean(x))
    before = self.running_mean, self.running_var
    self.remember(x)
    return before


def _remember_first(self, x):
    if self.training:
        self.remember(x)
    return self.running_mean, self.running_var


def _remember_the_mean_only(self, x):
    self.running_mean = self.mix(self.running_mean, self.mean(x))


def _without_parentheses(self, x):
    y = _BatchNormLayer.forward(self, x)
    mean, var = (self.mean(x), self.var(x, self.mean(x))) if self.training else (self.running_mean, self.running_var)
    return y * 0 + self.gamma.value * (x - mean / np.sqrt(var + self.eps)) + self.beta.value


def _by_the_present_mode(self, dy):
    self.learn(dy)
    g = self.upstream(dy)
    return self.dx(g) if self.training else self.dx_eval(g)


def _always_train(self, x):
    self.remember(x)
    return self.mean(x), self.var(x, self.mean(x))


def _batch_statistics_always(self, x):
    if self.training:
        self.remember(x)
    return self.mean(x), self.var(x, self.mean(x))


def _keeps_in_training_only(self, x):
    """x̂ and the root of a stored-mode pass are used, but not kept."""
    if self.training:
        return _BatchNormLayer.forward(self, x)
    self.constants = True
    y = (x - self.running_mean) / self.divisor(self.running_var)
    return self.affine(y, self.gamma.value, self.beta.value)


def _learn_x_hat_first(self, dy):
    self.gamma.add_gradient((self.x_hat * dy).sum(axis=0))
    self.beta.add_gradient(dy.sum(axis=0))


def _remember_var_swapped(self, x):
    self.running_mean = self.mix(self.running_mean, self.mean(x))
    var = self.stored_var(x, self.var(x, self.mean(x)))
    self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var


def _dx_means_of_dy(self, g):
    """The two means run over dy, without gamma."""
    dy = g / self.gamma.value
    return (g - dy.mean(axis=0) - self.x_hat * (dy * self.x_hat).mean(axis=0)) / self.s


def _dx_over_features(self, g):
    n = g.shape[1]
    return (g - g.sum(axis=0) / n - self.x_hat * (g * self.x_hat).sum(axis=0) / n) / self.s


def _learn(gamma=lambda d: d.sum(axis=0), beta=lambda d: d.sum(axis=0), kept=lambda self: self.x_hat):
    def learn(self, dy):
        self.gamma.add_gradient(gamma(dy * kept(self)))
        self.beta.add_gradient(beta(dy))

    return learn


def _overwrite(self, dy):
    self.gamma.grad = (dy * self.x_hat).sum(axis=0)
    self.beta.grad = dy.sum(axis=0)


def _learn_at_once(self, dy):
    self.gamma.value = self.gamma.value - (dy * self.x_hat).sum(axis=0)
    self.beta.value = self.beta.value - dy.sum(axis=0)


def _swapped(self, dy):
    self.gamma.add_gradient(dy.sum(axis=0))
    self.beta.add_gradient((dy * self.x_hat).sum(axis=0))


def _beta_only(self, dy):
    self.beta.add_gradient(dy.sum(axis=0))


def _gamma_only(self, dy):
    self.gamma.add_gradient((dy * self.x_hat).sum(axis=0))


def _learn_with_gamma(self, dy):
    _BatchNormLayer.learn(self, dy * self.gamma.value)


def _dx(formula):
    """dx from g, x_hat, s and a function for the mean over the batch."""

    def dx(self, g):
        return formula(g, self.x_hat, self.s, lambda a: a.mean(axis=0))

    return dx


def _dx_sums(self, g):
    return (g - g.sum(axis=0) - self.x_hat * (g * self.x_hat).sum(axis=0)) / self.s


def _dx_rows(self, g):
    along = (g * self.x_hat).mean(axis=1, keepdims=True)
    return (g - g.mean(axis=1, keepdims=True) - self.x_hat * along) / self.s


def _dx_stored(self, g):
    s = np.sqrt(self.running_var + self.eps)
    return (g - g.mean(axis=0) - self.x_hat * (g * self.x_hat).mean(axis=0)) / s


BATCH_NORM_LAYER = Exercise(
    name="my_batch_norm_layer",
    signature="forward and backward of my_batch_norm_layer",
    reference=_BatchNormLayer,
    cases=_layer_cases,
    run=_drive,
    results=RESULTS,
    tol=1e-5,
    variants=[_Fused, _ByColumns],
    mistakes=[
        Mistake(_with(var=lambda self, x, mean: (x**2).mean(axis=0) - mean**2), CANCELS, wrong_anyhow="large mean"),
        *forms(
            "stored mode still uses the statistics of the batch; where self.training is False, take running_mean and "
            "running_var",
            _with(statistics=_batch_statistics_always),
            _with(statistics=_batch_statistics_always, dx_eval=_BatchNormLayer.dx),
        ),
        Mistake(
            _with(statistics=_always_train, dx_eval=_BatchNormLayer.dx),
            "your layer does not look at self.training: it uses the batch, and remembers it, in stored mode too",
        ),
        *forms(
            "stored mode changes running_mean and running_var; only training mode may",
            _with(statistics=_remember_always),
            _with(statistics=_remember_always, dx_eval=_BatchNormLayer.dx),
        ),
        Mistake(
            _with(statistics=_remember_first, dx=_BatchNormLayer.dx_eval),
            "training mode normalizes with running_mean and running_var; there it takes mean and variance of the batch",
        ),
        Mistake(
            _with(statistics=_remember_first),
            "training mode normalizes with the running averages; it only updates them, and takes the batch's own "
            "mean and variance",
        ),
        Mistake(
            _with(remember=lambda self, x: None),
            "running_mean and running_var never change; training mode has to mix each batch into them",
        ),
        Mistake(_with(remember=_remember_the_mean_only), "running_mean is right, but running_var never changes"),
        Mistake(
            _with(mix=lambda self, old, new: self.momentum * old + (1 - self.momentum) * new),
            "your weights are swapped: momentum is the weight of the new batch here, as in PyTorch",
        ),
        Mistake(
            _with(remember=_remember_var_swapped),
            "the weights of running_var are swapped; those of running_mean are right",
        ),
        Mistake(
            _with(stored_var=lambda self, x, var: var * (len(x) - 1) / len(x)),
            "you multiplied by (n - 1) / n; from n to n - 1 the variance grows, so multiply by n / (n - 1)",
        ),
        Mistake(
            _with(mix=lambda self, old, new: 0.9 * old + 0.1 * new),
            "you always mix with 0.9 and 0.1; use self.momentum",
        ),
        Mistake(
            _with(mix=lambda self, old, new: old + self.momentum * new),
            "the running averages grow without end: the old value has to shrink, by 1 - momentum",
        ),
        Mistake(
            _with(mix=lambda self, old, new: new),
            "you store the last batch alone; mix it with the old value, by momentum",
        ),
        Mistake(
            _with(stored_var=lambda self, x, var: var),
            "running_var holds the variance divided by n; store it divided by n - 1, as PyTorch does",
        ),
        Mistake(
            _with(var=lambda self, x, mean: x.var(axis=0, ddof=1), stored_var=lambda self, x, var: var),
            "you normalize with the variance divided by n - 1; normalize with n, and store with n - 1",
        ),
        Mistake(
            _with(stored_var=lambda self, x, var: np.sqrt(var * len(x) / (len(x) - 1))),
            "running_var holds a standard deviation; store the variance",
        ),
        *forms(
            "your statistics run along the features of a sample, axis=1; that is layer norm",
            _with(forward=_norm_of_rows),
            _with(forward=_norm_of_rows, dx=_dx_rows),
        ),
        *forms(
            "you took one mean and variance over all entries; each feature has its own, over the batch",
            _with(mean=lambda self, x: x.mean(), var=lambda self, x, mean: x.var()),
            _with(
                mean=lambda self, x: x.mean(),
                var=lambda self, x, mean: x.var(),
                stored_var=lambda self, x, var: x.var(ddof=1),
            ),
            _with(
                mean=lambda self, x: x.mean(),
                var=lambda self, x, mean: x.var(),
                stored_var=lambda self, x, var: x.var(axis=0, ddof=1),
            ),
        ),
        *forms(
            "running_mean has become (1, C); the statistics have shape (C,), so leave out keepdims",
            _with(
                mean=lambda self, x: x.mean(axis=0, keepdims=True),
                var=lambda self, x, mean: x.var(axis=0, keepdims=True),
            ),
            _with(
                mean=lambda self, x: x.mean(axis=0, keepdims=True),
                var=lambda self, x, mean: x.var(axis=0, keepdims=True),
                stored_var=lambda self, x, var: x.var(axis=0, ddof=1),
            ),
        ),
        Mistake(_with(forward=_without_parentheses), NO_PARENTHESES),
        Mistake(
            _with(divisor=lambda self, var: np.sqrt(var) + self.eps),
            "your epsilon is outside the root; add it to the variance",
        ),
        Mistake(
            _with(divisor=lambda self, var: np.sqrt(var)),
            "you left out epsilon; it is added to the variance, under the root",
        ),
        Mistake(
            _with(divisor=lambda self, var: np.sqrt(var + 1e-5)),
            "you always use 1e-5; the layer's own eps is self.eps",
        ),
        Mistake(_with(divisor=lambda self, var: var + self.eps), "you divide by the variance; divide by its root"),
        *mistakes_with(lambda step: _with(affine=lambda self, y, g, b: step(y, g, b)), AFFINE),
        Mistake(
            _with(dx=_BatchNormLayer.dx_eval),
            "backward treats mean and variance as constants; in training mode both depend on x, and each takes a part "
            "off",
        ),
        Mistake(
            _with(dx_eval=_BatchNormLayer.dx),
            "backward takes mean(g) and the part along x̂ off in stored mode too; there the statistics are constants, "
            "and dx = g / s",
        ),
        Mistake(
            _with(backward=_by_the_present_mode),
            "backward looks at self.training; the mode may have changed since: keep in forward which mode it was",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: (g - h * m(g * h)) / s)),
            "backward treats the mean as a constant; when x moves, the mean moves along, which takes mean(g) off",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: (g - m(g)) / s)),
            "backward treats the variance as a constant; when x moves, it moves too, which takes off a part along x̂",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: g - m(g) - h * m(g * h)), dx_eval=lambda self, g: g),
            "you did not divide dx by the root of var + eps",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: g - m(g) - h * m(g * h))),
            "in training mode you did not divide dx by the root of var + eps",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: (g - m(g) + h * m(g * h)) / s)),
            "backward adds the part along x̂; it is taken off, like the mean",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: (g + m(g) + h * m(g * h)) / s)),
            "backward adds the mean and the part along x̂; both are taken off",
        ),
        Mistake(
            _with(dx=_dx(lambda g, h, s, m: (g - m(g) - m(g * h)) / s)),
            "the last term of backward lacks its x̂: the part along x̂ is x̂ times mean(g · x̂)",
        ),
        Mistake(_with(dx=_dx_means_of_dy), "the two means of backward are of g = dy · gamma; yours are of dy"),
        Mistake(
            _with(dx=lambda self, g: _BatchNormLayer.dx(self, g) / self.s, dx_eval=lambda self, g: g / self.s**2),
            "backward divides by var + eps; divide by its root, as forward does",
        ),
        Mistake(
            _with(dx=_dx_over_features),
            "backward divides its sums by the number of features; they run over the batch, so divide by its rows",
        ),
        *forms(
            "backward uses x̂ and the root of an earlier training batch; in stored mode forward has to keep them, too",
            _with(forward=_keeps_in_training_only),
            _with(forward=_keeps_in_training_only, learn=_learn_x_hat_first),
        ),
        Mistake(_with(dx=_dx_sums), "backward takes sums over the batch; both are means, of g and of g · x̂"),
        *forms(
            "a mean of backward runs over all entries; each feature has its own, over the batch",
            _with(dx=_dx(lambda g, h, s, m: (g - m(g) - h * np.mean(g * h)) / s)),
            _with(dx=_dx(lambda g, h, s, m: (g - np.mean(g) - h * np.mean(g * h)) / s)),
        ),
        Mistake(_with(dx=_dx_rows), "the means of backward run along the features; they run over the batch, axis=0"),
        Mistake(
            _with(dx=_dx_stored),
            "backward divides by the root of running_var; in training mode forward divided by that of the batch",
        ),
        Mistake(
            _with(upstream=lambda self, dy: dy),
            "dx ignores gamma; the slope for x̂ is dy · gamma",
        ),
        Mistake(
            _with(learn=lambda self, dy: None),
            "gamma and beta get no gradient; call self.gamma.add_gradient(...) and self.beta.add_gradient(...)",
        ),
        Mistake(_with(learn=_beta_only), "gamma gets no gradient; it is the sum of dy · x̂ over the batch"),
        Mistake(_with(learn=_gamma_only), "beta gets no gradient; it is the sum of dy over the batch"),
        Mistake(
            _with(learn=_overwrite),
            "your second backward pass overwrites the gradients of the first; add to them, by add_gradient",
        ),
        Mistake(
            _with(learn=_learn_at_once),
            "backward changes gamma and beta themselves; it only hands their gradients over, by add_gradient",
        ),
        Mistake(
            _with(learn=_swapped),
            "the two gradients have changed places: gamma's is the sum of dy · x̂, beta's the sum of dy",
        ),
        Mistake(
            _with(learn=_learn(gamma=lambda d: d.mean(axis=0), beta=lambda d: d.mean(axis=0))),
            "the gradients of gamma and beta are means over the batch; they are sums: each sample adds its share",
        ),
        Mistake(
            _with(learn=_learn(kept=lambda self: self.x)),
            "the gradient of gamma multiplies dy by x; gamma multiplied x̂",
        ),
        Mistake(
            _with(learn=_learn_with_gamma),
            "the gradients of gamma and beta come from dy itself; gamma belongs into dx only",
        ),
        Mistake(
            _with(learn=_learn(gamma=lambda d: d, beta=lambda d: d)),
            "the gradients of gamma and beta still have one row per sample; sum over the batch",
        ),
    ],
)

# ------------------------------------------------------------------------------- my_gradient_accumulation


class _MeanSquares:
    """The gradient of mean((x @ w - t)**2) with respect to w, for as many rows as fit into memory."""

    def __init__(self, w, fits):
        self.w = w
        self.fits = fits

    def __call__(self, x, t):
        if np.ndim(x) != 2:
            raise WrongKind("gradient takes rows, also where it is one: x[i] has lost an axis, x[i : i + 1] keeps it")
        if len(x) > self.fits:
            raise MemoryError(f"{len(x)} rows do not fit, only {self.fits} do")
        if len(x) == 0:
            raise ValueError("the gradient of no rows at all")
        return 2 * x.T @ (x @ self.w - t) / len(x)


def _my_gradient_accumulation(gradient, x, t, rows):
    total = 0
    for start in range(0, len(x), rows):
        piece = slice(start, start + rows)
        total = total + len(x[piece]) * gradient(x[piece], t[piece])
    return total / len(x)


def _pieces(gradient, x, t, rows):
    """The gradient and the number of rows of every piece."""
    starts = range(0, len(x), rows)
    return [(gradient(x[i : i + rows], t[i : i + rows]), len(x[i : i + rows])) for i in starts]


def _combined(how):
    """how(gradients, counts, rows, n) -> the answer."""

    def attempt(gradient, x, t, rows):
        gradients, counts = zip(*_pieces(gradient, x, t, rows), strict=True)
        return how(np.array(gradients), np.array(counts)[:, None], rows, len(x))

    return attempt


def _without_the_rest(gradient, x, t, rows):
    full = max(len(x) // rows, 1)
    parts = [gradient(x[i * rows : (i + 1) * rows], t[i * rows : (i + 1) * rows]) for i in range(full)]
    return sum(parts) / full


def _rest_left_out(gradient, x, t, rows):
    full = len(x) // rows
    parts = [gradient(x[i * rows : (i + 1) * rows], t[i * rows : (i + 1) * rows]) for i in range(full)]
    return sum(parts) / full


def _dropped_rest_over_all(gradient, x, t, rows):
    full = len(x) // rows
    parts = [rows * gradient(x[i * rows : (i + 1) * rows], t[i * rows : (i + 1) * rows]) for i in range(full)]
    return sum(parts, np.zeros(x.shape[1])) / len(x)


def _first_piece_by_rows(gradient, x, t, rows):
    """Begins with the first piece, as if it were full."""
    total = rows * gradient(x[:rows], t[:rows])
    for i in range(rows, len(x), rows):
        total = total + len(x[i : i + rows]) * gradient(x[i : i + rows], t[i : i + rows])
    return total / len(x)


def _without_last_rows(gradient, x, t, rows):
    """Each piece ends a row too early."""
    total = 0
    for i in range(0, len(x), rows):
        piece = slice(i, i + rows - 1)
        total = total + len(x[piece]) * gradient(x[piece], t[piece])
    return total / len(x)


def _equal_split(gradient, x, t, rows):
    count = max(len(x) // rows, 1)
    pieces = zip(np.split(x, count), np.split(t, count), strict=True)
    return sum(gradient(a, b) for a, b in pieces) / count


def _split_into_rows_pieces(gradient, x, t, rows):
    return [gradient(a, b) for a, b in zip(np.split(x, rows), np.split(t, rows), strict=True)]


def _overlapping(gradient, x, t, rows):
    starts = range(len(x))
    return sum(len(x[i : i + rows]) * gradient(x[i : i + rows], t[i : i + rows]) for i in starts) / len(x)


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
    name="my_gradient_accumulation",
    signature="my_gradient_accumulation(gradient, x, t, rows)",
    reference=_my_gradient_accumulation,
    cases=_accumulation_cases,
    variants=[_array_split, _row_by_row, _shares],
    mistakes=[
        Mistake(
            lambda gradient, x, t, rows: gradient(x, t),
            "you gave gradient more rows than fit into memory; give it pieces of at most `rows` rows",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g.sum(axis=0)),
            "you added up the pieces: each is the gradient of a mean already, so the sum grows with their number",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g.mean(axis=0)),
            "you gave every piece the same weight; the last one may have fewer rows, so weigh each by its rows",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: (n * g).sum(axis=0)),
            "you added up all rows but did not divide by their number",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g.sum(axis=0) / total),
            "you divided the gradients of means by the number of rows; multiply each by its own rows first",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: rows * g.sum(axis=0) / total),
            "you weighed every piece with `rows`; the last one may have fewer rows",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g.sum(axis=0) / rows),
            "you divided by `rows`; the rows of all pieces together are len(x)",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: (n * g).sum(axis=0) / (rows * len(g))),
            "you divided by rows times pieces; the last piece may have fewer rows, so divide by len(x)",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: (n * g).sum(axis=0) / rows),
            "you divided by the rows of one piece; divide by the rows of all, len(x)",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: (n * g).mean(axis=0)),
            "you divided by the number of pieces; after weighing by rows, divide by the rows of all, len(x)",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g[-1]),
            "you returned the gradient of the last piece; add up the shares of all",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: g[0]),
            "you returned after the first piece; does the return stand inside the loop?",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: list(g)),
            "you returned the list of gradients; return one gradient, their weighted mean",
        ),
        Mistake(
            _combined(lambda g, n, rows, total: (n * g).sum(axis=0) / total**2),
            "you divided by the number of all rows twice",
        ),
        Mistake(
            lambda gradient, x, t, rows: _my_gradient_accumulation(gradient, x, t, rows) / x.shape[1],
            "x.size counts all numbers of x; the number of rows is len(x)",
        ),
        Mistake(
            _first_piece_by_rows,
            "you weighed the first piece with `rows`; if all rows fit, it has fewer",
        ),
        Mistake(
            _without_last_rows,
            "your pieces end a row too early; the end of a slice is left out already, so write start + rows",
        ),
        *forms(
            "you left out the rows of the last, shorter piece",
            _rest_left_out,
            _without_the_rest,
            _dropped_rest_over_all,
        ),
        *forms(
            "the second argument of np.split is the number of pieces, not that of the rows in a piece",
            lambda *args: sum(_split_into_rows_pieces(*args)),
            lambda *args: np.mean(_split_into_rows_pieces(*args), axis=0),
        ),
        Mistake(
            _overlapping,
            "your pieces overlap; range(0, len(x), rows) goes from the start of one piece to the start of the next",
        ),
        Mistake(
            _equal_split,
            "np.split makes equal pieces only; slice x[start : start + rows], which ends by itself",
        ),
    ],
)

# ---------------------------------------------------------------------------------------- my_unscaled_step


def _my_unscaled_step(w, scaled_dw, scale, rate):
    if not np.all(np.isfinite(scaled_dw)):
        return w.copy(), scale / 2
    dw = scaled_dw.astype(np.float32) / scale
    return w - rate * dw, scale


def _stepping(
    bad=lambda dw: not np.all(np.isfinite(dw)),
    unscale=lambda dw, scale: dw.astype(np.float32) / np.float32(scale),
    skip=lambda w, scale: (w.copy(), scale / 2),
    step=lambda w, rate, dw: w - rate * dw,
    after=lambda scale: scale,
):
    def attempt(w, scaled_dw, scale, rate):
        with np.errstate(all="ignore"):
            if bad(scaled_dw):
                return skip(w, scale)
            return step(w, rate, unscale(scaled_dw, scale)), after(scale)

    return attempt


def _bad_after_unscaling(w, scaled_dw, scale, rate):
    with np.errstate(all="ignore"):
        dw = scaled_dw / scale  # stays float16
        if not np.all(np.isfinite(dw)):
            return w.copy(), scale / 2
        return w - rate * dw, scale


def _halves_and_steps(unscale):
    """A step after an overflow, too; unscale(dw, old scale, new scale)."""

    def attempt(w, scaled_dw, scale, rate):
        new = scale if np.all(np.isfinite(scaled_dw)) else scale / 2
        with np.errstate(all="ignore"):
            return w - rate * unscale(scaled_dw, scale, new), new

    return attempt


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
    name="my_unscaled_step",
    signature="my_unscaled_step(w, scaled_dw, scale, rate)",
    reference=_my_unscaled_step,
    cases=_scaled_cases,
    results=("w", "scale"),
    tol=1e-4,
    variants=[_no_copy, _by_sum, _stepping()],
    mistakes=[
        *forms(
            "you divided in float16, where the small gradient becomes 0 again; go to float32 first",
            _stepping(unscale=lambda dw, scale: dw / np.float16(scale)),
            _stepping(unscale=lambda dw, scale: (dw.astype(np.float32) / scale).astype(np.float16)),
            _bad_after_unscaling,
        ),
        *forms(
            "you multiplied in float16, which keeps three digits; go to float32 first",
            lambda w, dw, scale, rate: _stepping(step=lambda w, rate, _: w - rate / scale * dw)(w, dw, scale, rate),
            lambda w, dw, scale, rate: _stepping(step=lambda w, rate, _: w - rate * dw / np.float32(scale))(
                w, dw, scale, rate
            ),
        ),
        Mistake(
            lambda w, dw, scale, rate: _my_unscaled_step(w, dw, scale, rate)[::-1],
            "your two results have changed places: first w, then the scale",
        ),
        Mistake(
            _stepping(bad=lambda dw: np.isposinf(dw).any()),
            "you do not find NaN; dw == np.nan is never True, so use np.isfinite, which finds -inf, too",
        ),
        Mistake(
            _stepping(bad=lambda dw: np.all(np.isfinite(dw))),
            "your condition is the wrong way round: step if all entries are finite",
        ),
        *forms(
            "you halve the scale after an overflow, but step all the same; leave w as it is",
            _halves_and_steps(lambda dw, old, new: dw.astype(np.float32) / np.float32(new)),
            _halves_and_steps(lambda dw, old, new: dw.astype(np.float32) / np.float32(old)),
        ),
        *forms(
            "np.nan_to_num turns an overflow into a huge number, and you step with it; leave w as it is",
            _halves_and_steps(lambda dw, old, new: np.nan_to_num(dw).astype(np.float32) / np.float32(old)),
            _halves_and_steps(lambda dw, old, new: np.nan_to_num(dw).astype(np.float32) / np.float32(new)),
        ),
        Mistake(
            lambda w, dw, scale, rate: _stepping(
                step=lambda w, rate, dw: w.astype(np.float16) - rate * dw.astype(np.float16)
            )(w, dw, scale, rate),
            "you step in float16, where w itself loses digits; w is float32, and stays it",
        ),
        Mistake(
            _stepping(unscale=lambda dw, scale: dw.astype(np.float32)),
            "you did not divide by the scale, so the step is that many times too long",
        ),
        Mistake(
            _stepping(unscale=lambda dw, scale: dw.astype(np.float32) * scale),
            "you multiplied by the scale once more; the loss was multiplied, so divide the gradient",
        ),
        Mistake(
            _stepping(bad=lambda dw: False),
            "you step although the gradient is inf or NaN, which destroys w; leave w as it is and halve the scale",
        ),
        Mistake(
            _stepping(bad=lambda dw: np.isnan(dw).any()),
            "you look for NaN only; an overflow in float16 is inf",
        ),
        Mistake(
            _stepping(bad=lambda dw: np.isinf(dw).any()),
            "you look for inf only; inf minus inf is NaN, so look for both, with np.isfinite",
        ),
        Mistake(
            _stepping(bad=lambda dw: np.isposinf(dw).any() or np.isnan(dw).any()),
            "you look for +inf only; an overflow can be negative",
        ),
        Mistake(
            _stepping(bad=lambda dw: not np.any(np.isfinite(dw))),
            "you skip the step only if all entries are inf or NaN; a single one is enough",
        ),
        Mistake(
            _stepping(skip=lambda w, scale: (w.copy(), scale)),
            "after an overflow the scale stays, so the next step will overflow as well; halve it",
        ),
        Mistake(
            _stepping(skip=lambda w, scale: (w.copy(), 2 * scale)),
            "after an overflow you doubled the scale; the gradients are too large already, so halve it",
        ),
        Mistake(
            _stepping(skip=lambda w, scale: (w.copy(), 1.0)),
            "after an overflow you gave up the scale altogether; halve it",
        ),
        Mistake(
            _stepping(after=lambda scale: scale / 2),
            "you halved the scale although nothing overflowed",
        ),
        Mistake(
            _stepping(after=lambda scale: 2 * scale),
            "you doubled the scale after a good step; leave it as it is",
        ),
        *forms(
            "you stepped with the finite entries of a gradient that has overflowed; leave all of w as it is",
            _stepping(
                bad=lambda dw: False,
                unscale=lambda dw, s: np.where(np.isfinite(dw), dw, 0).astype(np.float32) / np.float32(s),
            ),
            lambda w, dw, scale, rate: (
                w - rate * np.where(np.isfinite(dw), dw, 0).astype(np.float32) / np.float32(scale),
                scale if np.all(np.isfinite(dw)) else scale / 2,
            ),
        ),
        Mistake(
            _stepping(step=lambda w, rate, dw: w + rate * dw),
            "you stepped uphill; the step goes against the gradient",
        ),
        Mistake(
            _stepping(step=lambda w, rate, dw: w - dw),
            "you left out the learning rate",
        ),
        Mistake(
            _stepping(skip=lambda w, scale: (np.zeros_like(w), scale / 2)),
            "after an overflow you returned zeros; return w as it was",
        ),
    ],
)

EXERCISES = [BATCH_NORM_LAYER, GRADIENT_ACCUMULATION, UNSCALED_STEP]
