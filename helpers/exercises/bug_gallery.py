"""Lesson 12: tests that accept right layers and reject wrong ones.

The learner's functions are tests, so the cases are layers: right ones written differently, the bugs of the lesson, and
bugs that the lesson does not show. Every layer is a batch norm for x of shape (N, C, L):

    layer = Layer(channels)                      gamma, beta: arrays (channels,), 1 and 0 at first
    layer(x, training=True, keep=None) -> y      keep, bool (N, L), is False at padding, whose outputs are free
    layer.backward(dy) -> dx                     for the last call, which had no padding
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..checks import describe, explain
from .checker import Exercise, Mistake, WrongKind, case
from .steps import forms

EPS = 1e-5


# ------------------------------------------------------------------------------------------ right layers


def _check_channels(channels):
    """A layer is made before it is called; whoever hands the batch to the class is told so."""
    if not isinstance(channels, (int, np.integer)):
        raise WrongKind("a layer is made with its number of channels, and the layer is called with the batch")


def _check_mode(training):
    if not isinstance(training, (bool, np.bool_)):
        raise WrongKind("the second argument of a layer is `training`; hand the mask over by its name, keep=keep")


def _check_backward(layer):
    if layer.padded is None:
        raise ValueError("backward needs a call before it: y = layer(x)")
    if layer.padded:
        raise WrongKind("backward follows a call without keep; call the layer once more before it")


class _BatchNorm:
    """Batch norm as in the lesson. A bug replaces one of its steps."""

    padded = None  # whether the last call had padding

    def __init__(self, channels):
        _check_channels(channels)
        self.gamma = np.ones(channels)
        self.beta = np.zeros(channels)
        self.mean = np.zeros(channels)
        self.var = np.ones(channels)

    def rows(self, x, keep):
        rows = np.moveaxis(x, 1, 2)
        return rows.reshape(-1, x.shape[1]) if keep is None else rows[keep]

    def statistics(self, rows):
        rows = rows.astype(np.float64)
        return rows.mean(axis=0), rows.var(axis=0)

    def remember(self, mean, var, n):
        if n > 1:
            self.mean = 0.9 * self.mean + 0.1 * mean
            self.var = 0.9 * self.var + 0.1 * var * n / (n - 1)

    def normalize(self, x, mean, var):
        return (x - mean) / np.sqrt(var + EPS)

    def scale(self, y):
        return self.gamma[:, None] * y + self.beta[:, None]

    def used(self, x, training, keep):
        """The mean and variance that normalize x; in training mode they are remembered too."""
        if not training:
            return self.mean, self.var
        rows = self.rows(x, keep)
        mean, var = self.statistics(rows)
        self.remember(mean, var, len(rows))
        return mean, var

    def __call__(self, x, training=True, keep=None):
        _check_mode(training)
        with np.errstate(all="ignore"):
            mean, var = (s[:, None] for s in self.used(x, training, keep))
            self.x_hat = self.normalize(x, mean, var)
            self.sd = np.sqrt(var + EPS)
            self.training, self.padded = training, keep is not None
            return self.scale(self.x_hat).astype(x.dtype)

    def backward(self, dy):
        _check_backward(self)
        g = dy * self.gamma[:, None]
        return self.through_statistics(g) / self.sd if self.training else g / self.sd

    def through_statistics(self, g):
        over = {"axis": (0, 2), "keepdims": True}
        return g - g.mean(**over) - self.x_hat * np.mean(g * self.x_hat, **over)


def _layer(base=_BatchNorm, **steps):
    """A layer with some steps replaced; its name gives nothing away."""
    return type("Layer", (base,), steps)


class _Folded(_BatchNorm):
    """y = a * x + b, rounded differently where the mean is large; 0 at padding."""

    def __call__(self, x, training=True, keep=None):
        _check_mode(training)
        with np.errstate(all="ignore"):
            mean, var = self.used(x, training, keep)
            a = self.gamma / np.sqrt(var + EPS)
            b = self.beta - a * mean
            self.sd, self.training, self.padded = np.sqrt(var + EPS)[:, None], training, keep is not None
            self.x_hat = (x - mean[:, None]) / self.sd
            y = a[:, None] * x + b[:, None]
            return (y if keep is None else y * keep[:, None]).astype(x.dtype)


class _OneByOne:
    """Welford's statistics, its memory under another name, the backward pass in steps."""

    padded = None

    def __init__(self, channels):
        _check_channels(channels)
        self.gamma, self.beta = np.ones(channels), np.zeros(channels)
        self._memory = [np.zeros(channels), np.ones(channels)]

    def _welford(self, rows):
        mean, m2 = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        for count, row in enumerate(rows, start=1):
            step = row - mean
            mean = mean + step / count
            m2 = m2 + step * (row - mean)
        return mean, m2

    def __call__(self, x, training=True, keep=None):
        _check_mode(training)
        rows = x.transpose(0, 2, 1).astype(np.float64)
        real = rows.reshape(-1, x.shape[1]) if keep is None else rows[keep]
        mean, var = self._memory
        if training:
            mean, m2 = self._welford(real)
            var = m2 / len(real)
            if len(real) > 1:
                now = mean, m2 / (len(real) - 1)
                self._memory = [old + 0.1 * (new - old) for old, new in zip(self._memory, now, strict=True)]
        self._inverse, self._rows, self._mean = (var + EPS) ** -0.5, real, mean
        self._training, self.padded = training, keep is not None
        y = (rows - mean) * (self.gamma * self._inverse) + self.beta
        return y.transpose(0, 2, 1).astype(x.dtype)

    def backward(self, dy):
        _check_backward(self)
        g = dy.transpose(0, 2, 1).reshape(self._rows.shape) * self.gamma * self._inverse
        if self._training:
            c, n = self._rows - self._mean, len(self._rows)
            g = g - c * (self._inverse**2 * (g * c).sum(axis=0) / n)
            g = g - g.sum(axis=0) / n
        return g.reshape(dy.transpose(0, 2, 1).shape).transpose(0, 2, 1)


def _long_statistics(self, rows):
    """All sums in the longest float there is, added in another order."""
    rows = rows[::-1].astype(np.longdouble)
    mean = rows.sum(axis=0) / len(rows)
    return mean.astype(float), (((rows - mean) ** 2).sum(axis=0) / len(rows)).astype(float)


_Long = _layer(statistics=_long_statistics)

# --------------------------------------------------------------------------------------- the lesson's bugs


def _one_pass(self, rows):
    rows = rows.astype(np.float64)
    return rows.mean(axis=0), (rows**2).mean(axis=0) - rows.mean(axis=0) ** 2


def _in_its_own_dtype(self, rows):
    return rows.mean(axis=0), rows.var(axis=0)


def _remember_one_value(self, mean, var, n):
    self.mean = 0.9 * self.mean + 0.1 * mean
    self.var = 0.9 * self.var + 0.1 * var * np.float64(n) / (n - 1)


def _remember_swapped(self, mean, var, n):
    if n > 1:
        self.mean = 0.1 * self.mean + 0.9 * mean
        self.var = 0.1 * self.var + 0.9 * var * n / (n - 1)


def _all_rows(self, x, keep):
    return np.moveaxis(x, 1, 2).reshape(-1, x.shape[1])


def _mean_of_means(self, rows):
    rows = rows.astype(np.float64)
    parts = [rows[k : k + 32] for k in range(0, len(rows), 32)]
    mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
    return mean, np.mean([((part - mean) ** 2).mean(axis=0) for part in parts], axis=0)


@dataclass(frozen=True)
class Candidate:
    """A layer to judge: how to make one, whether it is right, and what is said where the battery errs."""

    make: Callable
    right: bool
    words: str


def _wrong(words, **steps):
    return Candidate(_layer(**steps), False, words)


class _Group(tuple):
    """Layers that one case of my_battery tries; messages call it "a group"."""


_Group.__name__ = "group"
_BatchNorm.__name__ = _OneByOne.__name__ = "Layer"  # in messages, too

RIGHT = (
    Candidate(_BatchNorm, True, "is the trusted layer itself"),
    Candidate(_Long, True, "adds in another order, so the last digits differ; compare with a tolerance"),
    Candidate(
        _Folded,
        True,
        "computes a · x + b, which rounds otherwise at a large mean, and returns 0 at padding; compare with a "
        "tolerance, and where keep is True",
    ),
    Candidate(_OneByOne, True, "takes one row after the other, so the last digits differ; compare with a tolerance"),
)
SEEN = (
    _wrong("takes the variance in one pass; try a large mean, 1e8", statistics=_one_pass),
    _wrong(
        "adds eps to the standard deviation; try a tiny scale, 1e-3",
        normalize=lambda self, x, mean, var: (x - mean) / (np.sqrt(var) + EPS),
    ),
    _wrong("squares in float16; try a float16 batch with numbers of several hundred", statistics=_in_its_own_dtype),
    _wrong(
        "multiplies gamma along the last axis; try a batch with L other than C",
        scale=lambda self, y: self.gamma * y + self.beta,
    ),
    _wrong(
        "stores NaN after a single value; try stored mode after a batch of shape (1, C, 1)",
        remember=_remember_one_value,
    ),
    _wrong(
        "never stores its statistics; try stored mode after a training batch", remember=lambda self, mean, var, n: None
    ),
    _wrong("has the two weights of its memory swapped; try stored mode after two batches", remember=_remember_swapped),
    _wrong("counts the padding; try a batch with keep", rows=_all_rows),
    _wrong("averages the means of unequal parts; try a batch of 10 or 11 samples", statistics=_mean_of_means),
    _wrong("treats its statistics as constants in backward; try a gradient", through_statistics=lambda self, g: g),
)

# ------------------------------------------------------------------------------- bugs that nobody has seen


def _float32(self, rows):
    rows = rows.astype(np.float32)
    return rows.mean(axis=0).astype(float), rows.var(axis=0).astype(float)


def _guess_layout(self, x, keep):
    """Takes the last axis for the channels wherever it is as long as gamma."""
    rows = x if x.shape[2] == len(self.gamma) else np.moveaxis(x, 1, 2)
    return rows.reshape(-1, x.shape[1]) if keep is None or rows is x else rows[keep]


def _update_always(self, x, training, keep):
    stored = self.mean, self.var
    now = _BatchNorm.used(self, x, True, keep)
    return now if training else stored


def _remember_biased(self, mean, var, n):
    if n > 1:
        self.mean = 0.9 * self.mean + 0.1 * mean
        self.var = 0.9 * self.var + 0.1 * var


def _remember_sd(self, mean, var, n):
    if n > 1:
        self.mean = 0.9 * self.mean + 0.1 * mean
        self.var = 0.9 * self.var + 0.1 * np.sqrt(var * n / (n - 1))


def _zeros_expected(self, x, training, keep):
    """Sums over everything, divides by the number of real positions: right as long as the padding is 0."""
    if not training or keep is None:
        return _BatchNorm.used(self, x, training, keep)
    n = keep.sum()
    mean = x.sum(axis=(0, 2)) / n
    var = np.where(keep[:, None], (x - mean[:, None]) ** 2, 0).sum(axis=(0, 2)) / n
    self.remember(mean, var, n)
    return mean, var


def _remember_padding(self, x, training, keep):
    if not training:
        return self.mean, self.var
    everything = self.rows(x, None)
    self.remember(*self.statistics(everything), len(everything))
    return self.statistics(self.rows(x, keep))


def _normalize_with_padding(self, x, training, keep):
    if not training:
        return self.mean, self.var
    real = self.rows(x, keep)
    self.remember(*self.statistics(real), len(real))
    return self.statistics(self.rows(x, None))


def _in_place(self, x, mean, var):
    if x.dtype == np.float64:
        x -= mean
        return x / np.sqrt(var + EPS)
    return _BatchNorm.normalize(self, x, mean, var)


def _first_eight(self, x, keep):
    rows = np.moveaxis(x, 1, 2)[:8]
    return rows.reshape(-1, x.shape[1]) if keep is None else rows[keep[:8]]


def _batch_formula(self, dy):
    return self.through_statistics(dy * self.gamma[:, None]) / self.sd


def _same_batch_again(self, x, training, keep):
    """Keeps the statistics of the first batch for all that have its shape."""
    if training and getattr(self, "seen", None) == x.shape:
        return self.kept
    result = _BatchNorm.used(self, x, training, keep)
    if training:
        self.seen, self.kept = x.shape, result
    return result


UNSEEN = (
    _wrong(
        "divides the variance by n - 1; try a batch of few values",
        statistics=lambda self, rows: (
            rows.astype(float).mean(axis=0),
            rows.astype(float).var(axis=0) * len(rows) / max(len(rows) - 1, 1),
        ),
    ),
    _wrong(
        "takes another eps; try numbers so small that eps counts",
        normalize=lambda self, x, mean, var: (x - mean) / np.sqrt(var + 1e-3),
    ),
    _wrong("computes its statistics in float32; try float64 numbers with a large mean", statistics=_float32),
    _wrong("guesses the layout from the shape; try as many positions as channels", rows=_guess_layout),
    _wrong(
        "adds beta before it multiplies by gamma; try a gamma and a beta that are not 1 and 0",
        scale=lambda self, y: self.gamma[:, None] * (y + self.beta[:, None]),
    ),
    _wrong("updates its memory in stored mode too; call it in stored mode more than once", used=_update_always),
    _wrong("stores the variance divided by n; try stored mode after batches of few values", remember=_remember_biased),
    _wrong("stores the standard deviation; try stored mode after a batch whose spread is not 1", remember=_remember_sd),
    _wrong("trusts that the padding is 0; try padding that is not", used=_zeros_expected),
    _wrong("remembers the padding; try stored mode after a batch with padding", used=_remember_padding),
    _wrong("changes x in place; look at x after the call", normalize=_in_place),
    _wrong("measures the first 8 samples only; try a larger batch", rows=_first_eight),
    _wrong(
        "forgets gamma in backward; try a gradient with a gamma that is not 1",
        backward=lambda self, dy: (self.through_statistics(dy) if self.training else dy) / self.sd,
    ),
    _wrong(
        "uses the formula of training mode in every backward; try a gradient in stored mode", backward=_batch_formula
    ),
    _wrong(
        "measures only the first batch of a shape; try a second, different batch of the same shape",
        used=_same_batch_again,
    ),
)

# ----------------------------------------------------------------------------- what the exercises share

PROMISED = "a layer promises only calls, backward, gamma and beta; what it remembers shows in stored mode"


def _run(attempt, *args):
    """Call the attempt; whoever reads the inside of a layer is told so."""
    try:
        return attempt(*args)
    except AttributeError as error:
        if isinstance(error.obj, (_BatchNorm, _OneByOne)):
            raise WrongKind(f"it looks for .{error.name} in a layer, but {PROMISED}") from None
        raise


def _same(a, b):
    return np.allclose(a, b, rtol=1e-3, atol=1e-3)


# --------------------------------------------------------------------------------------- my_padding_test


def _changed(x, keep, value=50.0):
    return np.where(keep[:, None], x, value)


def _real(y, keep):
    return np.moveaxis(y, 1, 2)[keep]


def _padding_test(make, x, keep):
    """True if outputs at real positions, and what is remembered, stay when the padding changes."""
    one, other = make(x.shape[1]), make(x.shape[1])
    y, z = one(x, keep=keep), other(_changed(x, keep), keep=keep)
    stored = one(x, training=False), other(x, training=False)
    return bool(_same(_real(y, keep), _real(z, keep)) and _same(*stored))


def _padding_test_by_cutting(make, x, keep):
    """The real positions of one sample after the other: the same values without any padding."""
    full, cut = make(x.shape[1]), make(x.shape[1])
    values = np.concatenate([row[:, real] for row, real in zip(x, keep, strict=True)], axis=1)[None]
    y, z = full(_changed(x, keep, -7.0), keep=keep), cut(values)
    at = y.transpose(0, 2, 1)[keep] - z[0].T
    return np.abs(at).max() < 1e-3 and np.abs(full(values, training=False) - cut(values, training=False)).max() < 1e-3


def _padding_test_with(same=_same, value=50.0, where=_real, stored=True, make_new=True, real=True):
    def attempt(make, x, keep):
        one = make(x.shape[1])
        other = make(x.shape[1]) if make_new else one
        first, second = one(x, keep=keep), other(_changed(x, keep, value), keep=keep)
        if not same(where(first, keep), where(second, keep)):
            return False
        return not stored or bool(same(one(x, training=False), other(x, training=False)))

    return attempt


def _padding_in_stored_mode(make, x, keep):
    one, other = make(x.shape[1]), make(x.shape[1])
    one(x, keep=keep), other(_changed(x, keep), keep=keep)
    return _same(one(x, training=False), other(x, training=False))


def _second_without_keep(make, x, keep):
    return _same(_real(make(x.shape[1])(x, keep=keep), keep), _real(make(x.shape[1])(x), keep))


def _padding_cases(rng):
    keep = np.array([[True, True, True, True], [True, True, False, False], [True, True, True, False]])

    def one(label, make, padding):
        x = 2 + rng.normal(size=(3, 2, 4))
        return case(make, np.where(keep[:, None], x, padding), keep, label=label)

    ignores_keep = _layer(rows=_all_rows)
    normalizes_with_padding = _layer(used=_normalize_with_padding)
    return [
        one("a right layer", _BatchNorm, 0.0),
        one("a right layer with a memory of another name", _OneByOne, 3.0),
        one("a right layer that puts 0 at padding", _Folded, 3.0),
        one("a right layer whose outputs at padding follow x", _Long, 0.0),
        one("a layer that counts the padding", ignores_keep, 0.0),
        one("a layer that counts a padding of 3", ignores_keep, 3.0),
        one("a layer that is right while the padding is 0", _layer(used=_zeros_expected), 0.0),
        one("a layer that remembers the padding", _layer(used=_remember_padding), 0.0),
        one("a layer that counts the padding and remembers without it", normalizes_with_padding, 0.0),
    ]


PADDING_TEST = Exercise(
    name="my_padding_test",
    signature="my_padding_test(make, x, keep)",
    reference=_padding_test,
    cases=_padding_cases,
    run=_run,
    variants=[_padding_test_by_cutting, _padding_test_with(value=-7.0)],
    mistakes=[
        Mistake(lambda make, x, keep: True, "it says True for every layer; change the padding and compare"),
        Mistake(
            lambda make, x, keep: False,
            "it says False for every layer, right ones too; give both calls keep, change only the padding, and in "
            "stored mode give both layers the same x",
        ),
        Mistake(
            lambda make, x, keep: not _padding_test(make, x, keep),
            "your answer is the wrong way round: True means that the padding makes no difference",
        ),
        Mistake(
            _padding_test_with(value=0.0),
            "you set the padding to 0, but it often is 0 already, and then nothing has changed; put another number in",
        ),
        Mistake(
            _padding_in_stored_mode,
            "you compare in stored mode only; compare the outputs of training mode at real positions, too",
        ),
        Mistake(
            _second_without_keep,
            "you compare with a call without keep, which counts the padding; give keep to both, and change the padding",
        ),
        *forms(
            "it misses padding that reaches what the layer remembers; compare in stored mode too, with a new layer for "
            "each padding",
            _padding_test_with(stored=False),
            _padding_test_with(make_new=False),
        ),
        *forms(
            "you compare the outputs at padding too; they are free, so compare where keep is True",
            _padding_test_with(where=lambda y, keep: y),
            _padding_test_with(where=lambda y, keep: y, stored=False),
        ),
    ],
)

# -------------------------------------------------------------------------------------- my_gradient_test


def _slopes(layer, x, dy, h=1e-5):
    slopes = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        slopes[k] = np.sum(dy * (layer(x + step) - layer(x - step))) / (2 * h)
    return slopes


def _gradient_test(layer, x, dy):
    """True if layer.backward(dy) is the gradient of sum(dy * layer(x)), measured by difference quotients."""
    slopes = _slopes(layer, x, dy)
    layer(x)
    return bool(_same(layer.backward(dy), slopes))


def _gradient_test_along_directions(layer, x, dy):
    rng = np.random.default_rng(7)
    layer(x.copy())
    dx = layer.backward(dy)
    for _ in range(12):
        v = rng.normal(size=x.shape)
        rise = (np.vdot(dy, layer(x + 1e-5 * v)) - np.vdot(dy, layer(x - 1e-5 * v))) / 2e-5
        if abs(rise - np.vdot(dx, v)) > 1e-3 * (1 + abs(rise)):
            return False
    return True


def _gradient_test_one_sided(layer, x, dy):
    layer(x)
    dx = layer.backward(dy)
    base, slopes = np.sum(dy * layer(x)), []
    for k in range(x.size):
        moved = x.copy()
        moved.flat[k] += 1e-6
        slopes.append((np.sum(dy * layer(moved)) - base) / 1e-6)
    return np.allclose(dx.ravel(), slopes, rtol=1e-3, atol=1e-3)


def _compared(compare, h=1e-5, change=lambda dy: dy):
    def attempt(layer, x, dy):
        slopes = _slopes(layer, x, change(dy), h)
        layer(x)
        return bool(compare(layer.backward(change(dy)), slopes))

    return attempt


def _against_the_formula(layer, x, dy):
    right = _BatchNorm(x.shape[1])
    right.gamma = layer.gamma
    layer(x), right(x)
    return _same(layer.backward(dy), right.backward(dy))


def _wrong_last_channel(self, g):
    dx = _BatchNorm.through_statistics(self, g)
    dx[:, -1] = g[:, -1]
    return dx


def _gradient_cases(rng):
    def one(label, base=_BatchNorm, mean=0.0, gamma=(1.0, 1.0, 1.0), **steps):
        layer = _layer(base, **steps)(3)
        layer.gamma = np.array(gamma)
        x = mean + rng.normal(size=(3, 3, 2))
        return case(layer, x, 1 + rng.normal(size=x.shape), label=label)

    def no_gamma(self, dy):
        return self.through_statistics(dy) / self.sd

    return [
        one("a right layer"),
        one("a right layer with another gamma", gamma=(0.5, 2.0, -1.0)),
        one("a right layer, written differently", _OneByOne, gamma=(3.0, 0.5, 1.0)),
        one("a layer that divides by n - 1, in backward too", **_with_n_minus_1()),
        one("a layer that treats its statistics as constants", through_statistics=lambda self, g: g),
        one("a layer that forgets gamma in backward", gamma=(0.5, 2.0, 3.0), backward=no_gamma),
        one(
            "a layer whose gradient is twice as large",
            through_statistics=lambda self, g: 2 * _BatchNorm.through_statistics(self, g),
        ),
        one(
            "a layer whose gradient has the wrong sign",
            through_statistics=lambda self, g: -_BatchNorm.through_statistics(self, g),
        ),
        one("a layer that is wrong in the last channel", through_statistics=_wrong_last_channel),
        one(
            "a layer that forgets the part along x̂",
            through_statistics=lambda self, g: g - g.mean(axis=(0, 2), keepdims=True),
        ),
    ]


def _with_n_minus_1():
    """Wrong outputs with their right gradient: a gradient test must say True."""

    def statistics(self, rows):
        n = len(rows)
        self.shrink = (n - 1) / n
        return rows.mean(axis=0), rows.var(axis=0) / self.shrink

    def through_statistics(self, g):
        over = {"axis": (0, 2), "keepdims": True}
        return g - g.mean(**over) - self.x_hat * np.mean(g * self.x_hat, **over) / self.shrink

    return {"statistics": statistics, "through_statistics": through_statistics}


GRADIENT_TEST = Exercise(
    name="my_gradient_test",
    signature="my_gradient_test(layer, x, dy)",
    reference=_gradient_test,
    cases=_gradient_cases,
    run=_run,
    variants=[_gradient_test_along_directions, _gradient_test_one_sided],
    mistakes=[
        Mistake(
            lambda layer, x, dy: True,
            "it says True for every layer, wrong ones too; compare every entry of backward with its difference "
            "quotient, to about 1e-3",
        ),
        Mistake(
            _against_the_formula,
            "you compare with the formula of batch norm; a layer with other outputs has another gradient, so measure "
            "the slopes of its own outputs",
        ),
        *forms(
            "it says False for every layer, right ones too; move one entry of x at a time, by about 1e-5, measure the "
            "sum of dy times the outputs, and compare with np.allclose",
            _compared(np.array_equal),
            _compared(_same, h=1e-14),
            lambda layer, x, dy: False,
        ),
        Mistake(
            lambda layer, x, dy: not _gradient_test(layer, x, dy),
            "your answer is the wrong way round: True means that the gradient is right",
        ),
        *forms(
            "you add up the slopes, or put ones in the place of dy; a norm takes the mean off, so both give 0 for many "
            "wrong gradients: use dy, and compare every entry",
            _compared(lambda dx, slopes: _same(dx.sum(), slopes.sum())),
            _compared(_same, change=np.ones_like),
        ),
        Mistake(
            _compared(lambda dx, slopes: _same(dx, 2 * slopes)),
            "your slopes are twice too large; from one side of x to the other it is two steps, so divide by 2e-5",
        ),
        Mistake(
            _compared(lambda dx, slopes: _same(dx[0, 0, 0], slopes[0, 0, 0])),
            "you compare one entry; a gradient can be wrong in one channel only, so compare them all",
        ),
        Mistake(
            _compared(lambda dx, slopes: np.sum(dx * slopes) > 0),
            "you only look whether both gradients point the same way; a gradient that is half wrong does too",
        ),
    ],
)

# -------------------------------------------------------------------------------------------- my_battery


def _judged(battery, candidate, trusted):
    """The battery's verdict on a layer, and the error with which the layer ended it."""
    try:
        return _run(battery, candidate.make, trusted), ""
    except WrongKind:
        raise
    except Exception as error:
        if isinstance(error, AssertionError):
            raise WrongKind("it asserts; return False where a layer is wrong, and True at the end") from None
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__:
            raise
        return False, f" (it raised {explain(error)})"


def _run_battery(battery, layers, trusted):
    """True if the battery judges all layers rightly; else a WrongKind: how many it does not, and one of them."""
    verdicts = []
    for candidate in layers:
        verdict, error = _judged(battery, candidate, trusted)
        if verdict is None or verdict is ...:
            return verdict
        if not isinstance(verdict, (bool, np.bool_)):
            raise WrongKind(f"got {describe(verdict)}, expected True to accept a layer or False to reject it")
        verdicts.append((candidate, bool(verdict), error))
    missed = [(candidate, error) for candidate, verdict, error in verdicts if verdict != candidate.right]
    if not missed:
        return True
    candidate, error = missed[0]
    share = f"{len(missed)} of {len(layers)}"
    if candidate.right:
        raise WrongKind(f"it rejects {share} right layers. One {candidate.words}{error}")
    raise WrongKind(f"{share} slip through. One {candidate.words}")


def _pair(make, trusted, rng):
    """A layer under test and a trusted one, with the same gamma and beta."""
    layers = make(3), trusted(3)
    gamma, beta = rng.uniform(0.5, 2, size=(2, 3))
    for layer in layers:
        layer.gamma, layer.beta = gamma.copy(), beta.copy()
    return layers


def _agree(a, b, x, **how):
    """Whether both layers give the same y and leave x alone, and without padding the same dx."""
    given = x.copy()
    y_a, y_b = a(given, **how), b(x, **how)
    if "keep" in how:
        return _same(np.moveaxis(y_a, 1, 2)[how["keep"]], np.moveaxis(y_b, 1, 2)[how["keep"]])
    dy = np.cos(np.arange(x.size)).reshape(x.shape)
    return np.array_equal(given, x) and _same(y_a, y_b) and _same(a.backward(dy), b.backward(dy))


def _batches(rng):
    """(x, what is passed with it) for every test."""
    small = rng.normal(size=(4, 3, 2))
    keep = np.array([[True, True, True], [True, False, False], [True, True, False]])
    return [
        (small, {}),
        (rng.normal(size=(11, 3, 4)), {}),
        (rng.normal(size=(5, 3, 3)), {}),
        (1e8 + small, {}),
        (1e-3 * small, {}),
        ((300 * small).astype(np.float16), {}),
        (small[:1, :, :1], {}),
        (5 + rng.normal(size=(3, 3, 3)), {"keep": keep}),
    ]


def _battery(layer, trusted):
    """True for a layer that agrees with the trusted one on every batch, in both modes and twice in a row."""
    rng = np.random.default_rng(0)
    for x, how in _batches(rng):
        a, b = _pair(layer, trusted, rng)
        stored = {"training": False}
        for batch, options in [(x, how), (x, stored), (2 * x[::-1], {}), (x, stored)]:
            if not _agree(a, b, batch, **options):
                return False
    return True


def _battery_by_values(layer, trusted):
    """The same judgment from one long list of outputs."""

    def outputs(make):
        found = []
        for x, how in _batches(np.random.default_rng(3)):
            layer, v, fresh = make(3), x.copy(), 3 * x[::-1]
            layer.gamma, layer.beta = np.array([0.5, 3.0, 1.5]), np.array([1.0, -2.0, 0.25])
            y = layer(v, **how)
            found += [v - x, y[np.broadcast_to(how.get("keep", np.ones(x.shape[::2], bool))[:, None], y.shape)]]
            found += [layer(fresh), layer.backward(np.cos(np.arange(x.size)).reshape(x.shape))]
            found += [layer(x, training=False), layer.backward(fresh), layer(x, training=False)]
        return np.concatenate([np.ravel(values) for values in found])

    a, b = outputs(layer), outputs(trusted)
    return bool(np.linalg.norm((a - b) / (1 + np.abs(b)), ord=np.inf) < 2e-3)


def _only(*chosen, same=_same, training=(True,)):
    """A battery that tries some of the batches, with fresh layers."""

    def battery(layer, trusted):
        for k in chosen:
            x, how = _batches(np.random.default_rng(0))[k]
            a, b = layer(3), trusted(3)
            for mode in training:
                kept = how.get("keep", np.ones(x.shape[::2], bool))
                y_a, y_b = (np.moveaxis(one(x, training=mode, **how), 1, 2)[kept] for one in (a, b))
                if not same(y_a, y_b):
                    return False
        return True

    return battery


def _reads_memory(layer, trusted):
    a, b = layer(3), trusted(3)
    x = np.random.default_rng(0).normal(size=(4, 3, 2))
    a(x), b(x)
    return _same(a.mean, b.mean) and _same(a.var, b.var) and _battery(layer, trusted)


def _looks_at_padding(layer, trusted):
    x, how = _batches(np.random.default_rng(0))[-1]
    return _same(layer(3)(x, **how), trusted(3)(x, **how)) and _battery(layer, trusted)


BATTERY = Exercise(
    name="my_battery",
    signature="my_battery(layer, trusted)",
    reference=_battery,
    cases=lambda rng: [
        case(_Group(RIGHT), _BatchNorm, label="right layers"),
        case(_Group(SEEN), _BatchNorm, label="the ten bugs of the lesson"),
        case(_Group(UNSEEN), _BatchNorm, label="bugs you have not seen"),
    ],
    run=_run_battery,
    variants=[_battery, _battery_by_values],
    mistakes=[
        Mistake(
            lambda layer, trusted: True, "it accepts everything; return False where a layer and the trusted one differ"
        ),
        Mistake(
            lambda layer, trusted: False,
            "it rejects everything, right layers too; give both layers the same gamma, beta and batches, and return "
            "True at the end",
        ),
        Mistake(
            lambda layer, trusted: not _battery(layer, trusted),
            "your answer is the wrong way round: return True to accept a layer, False to reject it",
        ),
        Mistake(
            _only(0),
            "it tries one ordinary batch in training mode, which all ten bugs of the lesson pass; add the inputs that "
            "made them visible, one by one",
        ),
        Mistake(
            _only(0, 1, 2, 3, 4, 5, 6, 7, same=np.array_equal),
            "you compare with ==; right layers that add in another order differ in the last digits, so use np.allclose",
        ),
        Mistake(
            _reads_memory,
            "you read layer.mean and layer.var, but " + PROMISED,
        ),
        Mistake(
            _looks_at_padding,
            "you compare the outputs at padding too; nobody uses them, and right layers differ there, so compare where "
            "keep is True",
        ),
        Mistake(
            _only(0, 1, 2, 3, 4, 5, 6, 7),
            "it tries all kinds of batches, but only in training mode and without backward; what a layer remembers "
            "shows in stored mode, and a gradient in backward",
        ),
    ],
)

EXERCISES = [PADDING_TEST, GRADIENT_TEST, BATTERY]
