"""Lesson 12: tests that accept correct layers and reject wrong ones.

The learner's functions are tests, so the cases are layers: correct ones written differently, the bugs of the lesson,
and bugs that the lesson does not show. All of them stand in RIGHT, SEEN and UNSEEN. Every layer is a batch norm for x
of shape (N, C, L):

    layer = Layer(channels)                      gamma, beta: arrays (channels,), 1 and 0 at first; the layer computes
                                                 at least as precisely as the dtype of gamma
    layer(x, training=True, keep=None) -> y      keep, bool (N, L), is False at padding, whose outputs may be anything;
                                                 one value per channel in training mode may raise ValueError
    layer.backward(dy) -> dx                     for the last call, which had no padding

y and dx have the dtype of x.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...checks import describe, explain
from ...exercises import Exercise, Says, WrongKind, case

EPS = 1e-5

# ------------------------------------------------------------------------------------------ correct layers


def _check_channels(channels):
    """A layer is made before it is called; whoever hands the batch to the class is told so."""
    if not isinstance(channels, (int, np.integer)):
        raise WrongKind("a layer is made with its number of channels, and the layer is called with the batch")


def _check_mode(training):
    if not isinstance(training, (bool, np.bool_)):
        raise WrongKind("the second argument of a layer is `training`; pass the mask by name, keep=keep")


def _check_backward(layer):
    if layer.padded is None:
        raise ValueError("backward needs a call before it: y = layer(x)")
    if layer.padded:
        raise WrongKind("backward follows a call without keep; call the layer once more before it")


class _BatchNorm:
    """Batch norm as in the lesson. A bug replaces one of its operations."""

    padded = None  # whether the last call had padding

    def __init__(self, channels):
        _check_channels(channels)
        self.gamma = np.ones(channels)
        self.beta = np.zeros(channels)
        self.mean = np.zeros(channels)
        self.var = np.ones(channels)

    def rows(self, x, keep):
        rows = x.transpose(0, 2, 1)
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

    def cast(self, y, dtype):
        return y.astype(dtype)

    def used(self, x, training, keep):
        """The mean and variance that normalize x; in training mode the running statistics are updated too."""
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
            self.training, self.padded, self.dtype = training, keep is not None, x.dtype
            return self.cast(self.scale(self.x_hat), x.dtype)

    def backward(self, dy):
        _check_backward(self)
        return self.gradient(dy).astype(self.dtype)

    def gradient(self, dy):
        g = dy * self.gamma[:, None]
        return self.through_statistics(g) / self.sd if self.training else g / self.sd

    def through_statistics(self, g):
        over = {"axis": (0, 2), "keepdims": True}
        return g - g.mean(**over) - self.x_hat * np.mean(g * self.x_hat, **over)


def _layer(base=_BatchNorm, **steps):
    """A layer with some steps replaced; its name gives nothing away."""
    return type("Layer", (base,), steps)


class _Folded(_BatchNorm):
    """y = a * x + b, rounded differently where the mean is large; 0 at padded positions."""

    def __call__(self, x, training=True, keep=None):
        _check_mode(training)
        with np.errstate(all="ignore"):
            mean, var = self.used(x, training, keep)
            a = self.gamma / np.sqrt(var + EPS)
            b = self.beta - a * mean
            self.sd, self.training, self.padded = np.sqrt(var + EPS)[:, None], training, keep is not None
            self.x_hat, self.dtype = (x - mean[:, None]) / self.sd, x.dtype
            y = a[:, None] * x + b[:, None]
            return (y if keep is None else y * keep[:, None]).astype(x.dtype)


class _OneByOne:
    """Welford's statistics, its running statistics under another name, the backward pass in steps."""

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
        self._inverse, self._rows, self._mean, self._dtype = (var + EPS) ** -0.5, real, mean, x.dtype
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
        return g.reshape(dy.transpose(0, 2, 1).shape).transpose(0, 2, 1).astype(self._dtype)


def _long_statistics(self, rows):
    """All sums in the longest float there is, added in another order."""
    rows = rows[::-1].astype(np.longdouble)
    mean = rows.sum(axis=0) / len(rows)
    return mean.astype(float), (((rows - mean) ** 2).sum(axis=0) / len(rows)).astype(float)


_Long = _layer(statistics=_long_statistics)


class _InFloat32(_BatchNorm):
    """Everything with seven digits; gamma and beta say so."""

    def __init__(self, channels):
        super().__init__(channels)
        self.gamma, self.beta = np.float32(self.gamma), np.float32(self.beta)

    def statistics(self, rows):
        rows = rows.astype(np.float32)
        return rows.mean(axis=0), rows.var(axis=0)

    def __call__(self, x, training=True, keep=None):
        y = super().__call__(x.astype(np.float32), training, keep)
        self.dtype = x.dtype
        return y.astype(x.dtype)


def _refuse_one_value(self, x, training, keep):
    if training and len(self.rows(x, keep)) == 1:
        raise ValueError(f"expected more than 1 value per channel in training mode, got shape {x.shape}")
    return _BatchNorm.used(self, x, training, keep)


_Refusing = _layer(used=_refuse_one_value)

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
    Candidate(
        _InFloat32,
        True,
        "computes in float32, as the dtype of its gamma says; at a mean of 1e8 float32 keeps no differences, so take a "
        "mean of 1e3 for it",
    ),
    Candidate(
        _Refusing,
        True,
        "refuses one value per channel in training mode, as PyTorch does; catch this ValueError and go on",
    ),
    Candidate(_Long, True, "adds in a different order, so the last digits differ; compare with a tolerance"),
    Candidate(
        _Folded,
        True,
        "computes a · x + b, which rounds differently at a large mean, and returns 0 at padded positions; "
        "compare with a tolerance, and only where keep is True",
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
        "stores NaN after a single value; try eval mode after a batch of shape (1, C, 1)",
        remember=_remember_one_value,
    ),
    _wrong(
        "never stores its statistics; try eval mode after a training batch", remember=lambda self, mean, var, n: None
    ),
    _wrong(
        "has the two weights of its running averages swapped; try eval mode after two batches",
        remember=_remember_swapped,
    ),
    _wrong("counts the padding; try a batch with keep", rows=_all_rows),
    _wrong("averages the means of unequal parts; try a batch of 10 or 11 samples", statistics=_mean_of_means),
    _wrong("treats its statistics as constants in backward; try a gradient", through_statistics=lambda self, g: g),
    _wrong("returns float64 whatever the dtype of x; look at the dtype of the outputs", cast=lambda self, y, dtype: y),
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


def _remember_eps(self, mean, var, n):
    if n > 1:
        self.mean = 0.9 * self.mean + 0.1 * mean
        self.var = 0.9 * self.var + 0.1 * (var * n / (n - 1) + EPS)


def _first_thousand(self, rows):
    return _BatchNorm.statistics(self, rows[:1000])


def _without_nan(self, rows):
    n = np.sum(~np.isnan(rows), axis=0)
    mean = np.nansum(rows, axis=0, dtype=float) / n
    return mean, np.nansum((rows - mean) ** 2, axis=0) / n


def _cut_outliers(self, x, mean, var):
    return np.clip(_BatchNorm.normalize(self, x, mean, var), -6, 6)


UNSEEN = (
    _wrong(
        "divides the variance by n - 1; try a batch of few values",
        statistics=lambda self, rows: (
            rows.astype(float).mean(axis=0),
            rows.astype(float).var(axis=0) * len(rows) / max(len(rows) - 1, 1),
        ),
    ),
    _wrong(
        "uses a different eps; try numbers so small that eps matters",
        normalize=lambda self, x, mean, var: (x - mean) / np.sqrt(var + 1e-3),
    ),
    _wrong("computes its statistics in float32; try float64 numbers with a large mean", statistics=_float32),
    _wrong("guesses the layout from the shape; try as many positions as channels", rows=_guess_layout),
    _wrong(
        "adds beta before it multiplies by gamma; try a gamma and a beta that are not 1 and 0",
        scale=lambda self, y: self.gamma[:, None] * (y + self.beta[:, None]),
    ),
    _wrong("updates its running statistics in eval mode too; call it in eval mode more than once", used=_update_always),
    _wrong("stores the variance divided by n; try eval mode after batches of few values", remember=_remember_biased),
    _wrong(
        "stores the standard deviation; try eval mode after a batch whose standard deviation is not 1",
        remember=_remember_sd,
    ),
    _wrong("trusts that the padding is 0; try padding that is not", used=_zeros_expected),
    _wrong(
        "counts the padding in its running statistics; try eval mode after a batch with padding", used=_remember_padding
    ),
    _wrong("changes x in place; look at x after the call", normalize=_in_place),
    _wrong("averages over the first 8 samples only; try a larger batch", rows=_first_eight),
    _wrong(
        "forgets gamma in backward; try a gradient with a gamma that is not 1",
        gradient=lambda self, dy: (self.through_statistics(dy) if self.training else dy) / self.sd,
    ),
    _wrong("uses the formula of training mode in every backward; try a gradient in eval mode", gradient=_batch_formula),
    _wrong(
        "computes statistics only for the first batch of a shape; try a second, different batch of the same shape",
        used=_same_batch_again,
    ),
    _wrong(
        "adds eps to the variance that it stores; try eval mode after a hundred batches of tiny numbers",
        remember=_remember_eps,
    ),
    _wrong("averages over the first 1000 rows only; try a batch with more", statistics=_first_thousand),
    _wrong("leaves NaN out of its statistics; try a batch with one NaN", statistics=_without_nan),
    _wrong("clips normalized numbers at 6; try a batch with one number far from all others", normalize=_cut_outliers),
    _wrong(
        "multiplies by the absolute value of gamma; try a negative gamma",
        scale=lambda self, y: np.abs(self.gamma[:, None]) * y + self.beta[:, None],
    ),
)

# ----------------------------------------------------------------------------- what the exercises share

PROMISED = "a layer promises only calls, backward, gamma and beta; its running statistics show in eval mode"


def _run(attempt, *args):
    """Call the attempt; whoever reads the inside of a layer is told so."""
    try:
        return attempt(*args)
    except AttributeError as error:
        if isinstance(error.obj, (_BatchNorm, _OneByOne)):
            raise WrongKind(f"it looks for .{error.name} in a layer, but {PROMISED}") from None
        raise


def _same(a, b, tol=1e-3):
    """Whether a is b, up to `tol` times the largest number in b; NaN only where b has it."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or np.any(np.isnan(a) != np.isnan(b)):
        return False
    with np.errstate(all="ignore"):
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        return bool(np.abs(a - b).max() <= tol * np.abs(b).max())


# --------------------------------------------------------------------------------------- my_padding_test


def _changed(x, keep, value=50.0):
    return np.where(keep[:, None], x, value)


def _real(y, keep):
    return np.moveaxis(y, 1, 2)[keep]


def _padding_test(make, x, keep):
    """True if outputs at real positions and the running statistics stay when the padding changes."""
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


def _padding_cases(rng):
    keep = np.array([[True, True, True, True], [True, True, False, False], [True, True, True, False]])

    def one(label, make, padding):
        x = 2 + rng.normal(size=(3, 2, 4))
        return case(make, np.where(keep[:, None], x, padding), keep, label=label)

    ignores_keep = _layer(rows=_all_rows)
    normalizes_with_padding = _layer(used=_normalize_with_padding)
    return [
        one("a correct layer", _BatchNorm, 0.0),
        one("a correct layer with other names for its running statistics", _OneByOne, 3.0),
        one("a correct layer that puts 0 at padded positions", _Folded, 3.0),
        one("a correct layer whose outputs at padded positions follow x", _Long, 0.0),
        one("a layer that counts the padding", ignores_keep, 0.0),
        one("a layer that counts a padding of 3", ignores_keep, 3.0),
        one("a layer that is right while the padding is 0", _layer(used=_zeros_expected), 0.0),
        one("a layer that counts the padding in its running statistics", _layer(used=_remember_padding), 0.0),
        one("a layer that counts the padding, but not in its running statistics", normalizes_with_padding, 0.0),
    ]


PADDING_TEST = Exercise(
    solution="""
def my_padding_test(make, x, keep):
    one = make(x.shape[1])
    other = make(x.shape[1])
    y = one(x, keep=keep)
    z = other(np.where(keep[:, None], x, 50), keep=keep)
    real = np.broadcast_to(keep[:, None], x.shape)
    outputs_agree = np.allclose(y[real], z[real])
    later_agree = np.allclose(one(x, training=False), other(x, training=False))
    return outputs_agree and later_agree
""",
    variants=[_padding_test_by_cutting, _padding_test],
    cases=_padding_cases,
    run=_run,
    mistakes={
        "return True": "it says True for every layer; change the padding and compare the outputs",
        "return False": (
            "it says False for every layer, correct ones too; give both calls keep, change only the padding, "
            "and in eval mode give both layers the same x"
        ),
        "return outputs_agree and later_agree -> return not (outputs_agree and later_agree)": (
            "your answer is the wrong way round: True means that the padding makes no difference"
        ),
        "x, 50) -> x, 0)": (
            "you set the padding to 0, but it is often 0 already, and then nothing has changed; use a different number"
        ),
        "return outputs_agree and later_agree -> return later_agree": (
            "you compare in eval mode only; compare the outputs of training mode at real positions, too"
        ),
        (
            "y = make(x.shape[1])(x, keep=keep); z = make(x.shape[1])(x); real = "
            "np.broadcast_to(keep[:, None], x.shape); return np.allclose(y[real], z[real])"
        ): (
            "you compare with a call without keep, which counts the padding; give keep to both, and change the padding"
        ),
        ("return outputs_agree and later_agree -> return outputs_agree", "other = make(x.shape[1]) -> other = one"): (
            "it misses padding that reaches the layer's running statistics; compare in eval mode too, with a new "
            "layer for each padding"
        ),
        (
            "y[real], z[real] -> y, z",
            "y[real], z[real] -> y, z\nreturn outputs_agree and later_agree -> return outputs_agree",
        ): "you compare the outputs at padded positions too; they may be anything, so compare where keep is True",
        "keep[:, None], x, 50 -> keep, x, 50": Says(
            "keep has shape (N, L) and x (N, C, L); give keep an axis of size 1 in the middle", raises=True
        ),
        "outputs_agree and -> outputs_agree or": (
            "you ask whether the outputs or the later outputs agree; ask whether both do"
        ),
    },
)

# -------------------------------------------------------------------------------------- my_gradient_test

STEP = 1e-2  # large enough for a layer in float32


def _slopes(layer, x, dy, h=STEP):
    slopes = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        slopes[k] = np.sum(dy * (layer(x + step) - layer(x - step))) / (2 * h)
    return slopes


def _gradient_test_along_directions(layer, x, dy):
    rng = np.random.default_rng(7)
    layer(x.copy())
    dx = layer.backward(dy)
    found = []
    for _ in range(24):
        v = rng.normal(size=x.shape)
        rise = (np.vdot(dy, layer(x + STEP * v)) - np.vdot(dy, layer(x - STEP * v))) / (2 * STEP)
        found.append((rise, np.vdot(dx, v)))
    measured, computed = np.transpose(found)
    return np.abs(measured - computed).max() < 1e-2 * np.abs(measured).max()


def _gradient_test_in_two_steps(layer, x, dy):
    """The errors of two steps cancel (Richardson)."""
    layer(x)
    dx = layer.backward(dy)
    slopes = (4 * _slopes(layer, x, dy, h=0.02) - _slopes(layer, x, dy, h=0.04)) / 3
    return np.linalg.norm(dx - slopes) < 1e-2 * np.linalg.norm(slopes)


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
    def one(label, base=_BatchNorm, size=1.0, gamma=(1.0, 1.0, 1.0), **steps):
        layer = _layer(base, **steps)(3)
        layer.gamma = np.array(gamma, layer.gamma.dtype)
        x = size * rng.normal(size=(3, 3, 2))
        return case(layer, x, 1 + rng.normal(size=x.shape), label=label)

    def no_gamma(self, dy):
        return self.through_statistics(dy) / self.sd

    return [
        one("a correct layer"),
        one("a correct layer with another gamma", gamma=(0.5, 2.0, -1.0)),
        one("a correct layer, written differently", _OneByOne, gamma=(3.0, 0.5, 1.0)),
        one("a correct layer that computes in float32", _InFloat32, gamma=(0.5, 2.0, -1.0)),
        one("a correct layer on large numbers, where gradients are small", size=1e4),
        one(
            "a layer that treats its statistics as constants, on large numbers",
            size=1e4,
            through_statistics=lambda self, g: g,
        ),
        one("a layer that divides by n - 1, in backward too", **_with_n_minus_1()),
        one("a layer that treats its statistics as constants", through_statistics=lambda self, g: g),
        one("a layer that forgets gamma in backward", gamma=(0.5, 2.0, 3.0), gradient=no_gamma),
        one(
            "a layer whose gradient is twice as large",
            through_statistics=lambda self, g: 2 * _BatchNorm.through_statistics(self, g),
        ),
        one(
            "a layer whose gradient has the wrong sign",
            through_statistics=lambda self, g: -_BatchNorm.through_statistics(self, g),
        ),
        one(
            "a layer whose gradient is too small everywhere",
            through_statistics=lambda self, g: _BatchNorm.through_statistics(self, g) - 1,
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
    solution="""
def my_gradient_test(layer, x, dy):
    slopes = np.zeros(x.shape)
    for entry in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[entry] = 0.01
        rise = layer(x + step) - layer(x - step)
        slopes[entry] = np.sum(dy * rise) / 0.02
    layer(x)
    difference = np.abs(layer.backward(dy) - slopes).max()
    return difference < 0.01 * np.abs(slopes).max()
""",
    cases=_gradient_cases,
    run=_run,
    variants=[_gradient_test_along_directions, _gradient_test_in_two_steps],
    mistakes={
        "return True": (
            "it says True for every layer, wrong ones too; compare every entry of the gradient with its "
            "central difference, to a hundredth of the largest slope"
        ),
        _against_the_formula: (
            "you compare with the formula of batch norm; a layer with other outputs has another gradient, so "
            "measure the slopes of its own outputs"
        ),
        (
            "return difference < 0.01 * np.abs(slopes).max() -> return difference == 0",
            "step[entry] = 0.01 -> step[entry] = 1e-17\n/ 0.02 -> / 2e-17",
            "return False",
        ): (
            "it says False for every layer, correct ones too; move one entry of x at a time, by about 0.01, "
            "measure the sum of dy times the outputs, and compare with a tolerance"
        ),
        "step[entry] = 0.01 -> step[entry] = 1e-6\n/ 0.02 -> / 2e-6": (
            "it rejects a correct layer that computes in float32: the rounding of its outputs, divided by a "
            "tiny step, is larger than your tolerance; take a step of about 0.01"
        ),
        (
            "return difference < 0.01 * np.abs(slopes).max() -> return "
            "np.allclose(layer.backward(dy), slopes, rtol=1e-3, atol=1e-3)"
        ): ("your tolerance is absolute, so a small gradient passes whatever it is; compare with the largest slope"),
        """step[entry] = 0.01 -> step[entry] = 1e-6
/ 0.02 -> / 2e-6
return difference < 0.01 * np.abs(slopes).max() -> return np.allclose(layer.backward(dy), slopes, rtol=1e-3, atol=1e-3)""": (
            "your tolerance is absolute, so a small gradient passes whatever it is, and your step is too "
            "small for a layer that computes in float32; compare with the largest slope, and take a step of "
            "about 0.01"
        ),
        "return difference -> return not difference": (
            "your answer is the wrong way round: True means that the gradient is right"
        ),
        (
            (
                "return difference < 0.01 * np.abs(slopes).max() -> return "
                "np.allclose(layer.backward(dy).sum(), slopes.sum(), rtol=1e-3, atol=1e-3)"
            ),
            """np.sum(dy * rise) -> np.sum(rise)
return difference < 0.01 * np.abs(slopes).max() -> return np.allclose(layer.backward(np.ones_like(dy)), slopes, rtol=1e-3, atol=1e-3)""",
        ): (
            "you add up the slopes, or put ones in the place of dy; a norm subtracts the mean, so both give 0 "
            "for many wrong gradients: use dy, and compare every entry"
        ),
        "/ 0.02 -> / 0.01": (
            "your slopes are twice as large as they should be; the two sides of x are two steps apart, so divide by 2 · 0.01"
        ),
        """np.abs(layer.backward(dy) - slopes).max() -> abs(layer.backward(dy) - slopes)[0, 0, 0]
np.abs(slopes).max() -> abs(slopes[0, 0, 0])""": (
            "you compare one entry; a gradient can be wrong in one channel only, so compare them all"
        ),
        "return difference < 0.01 * np.abs(slopes).max() -> return np.sum(layer.backward(dy) * slopes) > 0": (
            "you only check whether both gradients point the same way; a gradient that is half wrong does too"
        ),
        "layer(x) -> pass": (
            "you call backward after a layer call with a shifted x; backward refers to the last call, so call layer(x) first"
        ),
        (
            "0.01 * np.abs(slopes).max() -> 1e-6",
            "return difference < 0.01 * np.abs(slopes).max() -> return np.allclose(layer.backward(dy), slopes)",
        ): ("your tolerance is smaller than the error of a central difference; allow a hundredth of the largest slope"),
        "np.abs(layer.backward(dy) - slopes).max() -> (layer.backward(dy) - slopes).max()": (
            "you forgot that a difference can be negative; take its absolute value"
        ),
    },
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
            raise WrongKind("it uses assert; return False where a layer is wrong, and True at the end") from None
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
        raise WrongKind(f"it rejects {share} correct layers. One {candidate.words}{error}")
    raise WrongKind(f"{share} slip through. One {candidate.words}")


def _large(make):
    """A mean at which the precision of the layer still keeps differences of 1."""
    return 1e8 if make(3).gamma.dtype == np.float64 else 1e3


def _with_parameters(layer, gamma, beta):
    layer.gamma, layer.beta = gamma.astype(layer.gamma.dtype), beta.astype(layer.beta.dtype)
    return layer


def _pair(make, trusted, rng):
    """A layer under test and a trusted one, with the same gamma and beta."""
    gamma, beta = rng.uniform(0.5, 2, size=(2, 3)) * [1, -1, 1]
    return [_with_parameters(each(3), gamma, beta) for each in (make, trusted)]


def _alike(a, b):
    return a.dtype == b.dtype and _same(a, b)


def _agree(a, b, x, **how):
    """Whether both layers give the same y and leave x alone, and without padding the same dx."""
    given = x.copy()
    y_b = b(x, **how)
    try:
        y_a = a(given, **how)
    except ValueError:
        if x.size == x.shape[1] and how.get("training", True):  # it refuses a single value
            return True
        raise
    if "keep" in how:
        return _same(_real(y_a, how["keep"]), _real(y_b, how["keep"]))
    dy = np.cos(np.arange(x.size)).reshape(x.shape)
    untouched = np.array_equal(given, x, equal_nan=True)
    return untouched and _alike(y_a, y_b) and _alike(a.backward(dy), b.backward(dy))


def _batches(rng, large=1e8):
    """(x, what is passed with it) for every test."""
    small = rng.normal(size=(4, 3, 2))
    keep = np.array([[True, True, True], [True, False, False], [True, True, False]])
    outlier, hole = rng.normal(size=(300, 3, 4)), small.copy()
    outlier[0, :, 0], hole[0, 0, 0] = 100, np.nan
    return [
        (small, {}),
        (rng.normal(size=(11, 3, 4)), {}),
        (rng.normal(size=(5, 3, 3)), {}),
        (large + small, {}),
        (1e-3 * small, {}),
        ((300 * small).astype(np.float16), {}),
        (small[:1, :, :1], {}),
        (5 + rng.normal(size=(3, 3, 3)), {"keep": keep}),
        (outlier, {}),
        (hole, {}),
    ]


def _battery(layer, trusted):
    """True for a layer that agrees with the trusted one on every batch, in both modes and many times in a row."""
    rng = np.random.default_rng(0)
    for x, how in _batches(rng, _large(layer)):
        a, b = _pair(layer, trusted, rng)
        if np.abs(x).max() < 0.01:
            for _ in range(100):
                a(x), b(x)
        stored = {"training": False}
        for batch, options in [(x, how), (x, stored), (2 * x[::-1], {}), (x, stored)]:
            if not _agree(a, b, batch, **options):
                return False
    return True


def _battery_by_values(layer, trusted):
    """The same judgment from one long list of outputs."""

    def outputs(make):
        found = []
        for x, how in _batches(np.random.default_rng(3), _large(layer)):
            one, v, fresh = make(3), x.copy(), 3 * x[::-1]
            _with_parameters(one, np.array([0.5, -3.0, 1.5]), np.array([1.0, -2.0, 0.25]))
            try:
                y = one(v, **how)
                found += [v, y[np.broadcast_to(how.get("keep", np.ones(x.shape[::2], bool))[:, None], y.shape)]]
                found += [one(fresh), one.backward(np.cos(np.arange(x.size)).reshape(x.shape))]
            except ValueError:
                found += [v, np.tile(one.beta, 1), one.beta.reshape(x.shape), np.zeros(x.shape)]
            for _ in range(100 * (np.abs(x).max() < 0.01)):
                one(x)
            found += [one(x, training=False), one.backward(fresh), one(x, training=False)]
        return found

    def distance(a, b):
        return np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(b)), 1e-30)

    pairs = list(zip(outputs(layer), outputs(trusted), strict=True))
    same_kind = all(a.dtype == b.dtype and np.array_equal(np.isnan(a), np.isnan(b)) for a, b in pairs)
    return bool(same_kind and max(distance(a.astype(float), b.astype(float)) for a, b in pairs) < 2e-3)


BATTERY = Exercise(
    solution="""
def my_battery(layer, trusted):
    rng = np.random.default_rng(0)
    small = rng.normal(size=(4, 3, 2))
    large = 1e8 if layer(3).gamma.dtype == np.float64 else 1e3
    many = rng.normal(size=(300, 3, 4))
    many[0, :, 0] = 100
    hole = small.copy()
    hole[0, 0, 0] = np.nan
    batches = [small, large + small, 1e-3 * small, (300 * small).astype(np.float16)]
    batches += [rng.normal(size=(11, 3, 4)), 5 + rng.normal(size=(3, 3, 3))]
    batches += [many, hole]
    keep = np.array([[True, True, True], [True, False, False], [True, True, False]])

    def new(make):
        norm = make(3)
        norm.gamma = np.array([0.5, 2.0, -1.5], norm.gamma.dtype)
        norm.beta = np.array([1.0, -1.0, 0.3], norm.beta.dtype)
        return norm

    def results(make, x):
        norm = new(make)
        given = x.copy()
        found = []
        if len(x) == 3:
            y = norm(given, keep=keep)
            found.append(y[np.broadcast_to(keep[:, None], y.shape)])
        if np.abs(x).max() < 0.01:
            for _ in range(100):
                norm(given)
        calls = [(given, True), (2 * x[::-1], True), (given, False), (given, False)]
        for batch, training in calls:
            found.append(norm(batch, training=training))
            found.append(norm.backward(np.cos(np.arange(x.size)).reshape(x.shape)))
        return [*found, given]

    def after_one_value(make):
        norm = new(make)
        try:
            norm(small[:1, :, :1])
        except ValueError:
            pass
        return [norm(small, training=False)]

    def agree(a, b):
        if a.dtype != b.dtype or np.any(np.isnan(a) != np.isnan(b)):
            return False
        a = np.nan_to_num(a.astype(float))
        b = np.nan_to_num(b.astype(float))
        return np.abs(a - b).max() <= 1e-3 * np.abs(b).max()

    pairs = list(zip(after_one_value(layer), after_one_value(trusted), strict=True))
    for x in batches:
        pairs += zip(results(layer, x), results(trusted, x), strict=True)
    return all(agree(a, b) for a, b in pairs)
""",
    variants=[_battery, _battery_by_values],
    cases=lambda rng: [
        case(_Group(RIGHT), _BatchNorm, label="correct layers"),
        case(_Group(SEEN), _BatchNorm, label="the eleven bugs of the lesson"),
        case(_Group(UNSEEN), _BatchNorm, label="bugs you have not seen"),
    ],
    run=_run_battery,
    mistakes={
        "return True": "it accepts everything; return False where a layer and the trusted one differ",
        "return False": (
            "it rejects everything, correct layers too; give both layers the same gamma, beta and batches, "
            "and return True at the end"
        ),
        "return all( -> return not all(": (
            "your answer is the wrong way round: return True to accept a layer, False to reject it"
        ),
        (
            "x = np.random.default_rng(0).normal(size=(4, 3, 2)); a, b = layer(3)(x), trusted(3)(x); "
            "return np.abs(a - b).max() <= 1e-3 * np.abs(b).max()"
        ): (
            "it tries one ordinary batch in training mode, which all eleven bugs of the lesson pass; add the "
            "inputs that made them visible, one by one"
        ),
        "return all(agree(a, b) -> return all(np.array_equal(a, b, equal_nan=True)": (
            "you compare with ==, or to too many digits; correct layers that add in another order differ in the "
            "last ones, so allow a tolerance"
        ),
        "norm = make(3) -> norm = make(3); norm.mean": (
            "you read layer.mean and layer.var, but a layer promises only calls, backward, gamma and beta; "
            "its running statistics show in eval mode"
        ),
        "y[np.broadcast_to(keep[:, None], y.shape)] -> y": (
            "you compare the outputs at padded positions too; nobody uses them, and correct layers differ there, so "
            "compare where keep is True"
        ),
        """calls = [(given, True), (2 * x[::-1], True), (given, False), (given, False)] -> calls = [(given, True), (2 * x[::-1], True)]
found.append(norm.backward(np.cos(np.arange(x.size)).reshape(x.shape))) -> pass
return [norm(small, training=False)] -> return []""": (
            "it tries all kinds of batches, but only in training mode and without backward; a layer's running statistics show in eval mode, and a wrong gradient in backward"
        ),
    },
)

EXERCISES = [PADDING_TEST, GRADIENT_TEST, BATTERY]
