"""Lesson 12: tests that accept correct layers and reject wrong ones.

The learner's functions are tests, so the cases are layers: the correct ones, the bugs of the lesson and bugs that the
lesson does not show stand in RIGHT, SEEN and UNSEEN. Every layer is a batch norm for x of shape (N, C, L):

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


class _BatchNorm:
    """Batch norm as in the lesson. A bug replaces one of its operations or numbers."""

    momentum, fewest, eps = 0.1, 2, 1e-5  # batches of fewer rows are not stored
    padded = None  # whether the last call had padding

    def __init__(self, channels):
        if not isinstance(channels, (int, np.integer)):
            raise WrongKind("a layer is made with its number of channels, and the layer is called with the batch")
        self.gamma, self.beta = np.ones(channels), np.zeros(channels)
        self._stored = np.zeros(channels), np.ones(channels)

    def rows(self, x, keep):
        rows = np.moveaxis(x, 1, 2)
        return rows.reshape(-1, x.shape[1]) if keep is None else rows[keep]

    def statistics(self, rows):
        rows = rows.astype(np.float64)
        return rows.mean(axis=0), rows.var(axis=0)

    def stored_var(self, var, n):
        return var * n / (n - 1)

    def remember(self, mean, var, n):
        if n >= self.fewest:
            new = mean, self.stored_var(var, n)
            old_and_new = zip(self._stored, new, strict=True)
            self._stored = tuple((1 - self.momentum) * a + self.momentum * b for a, b in old_and_new)

    def used(self, x, training, keep):
        """The mean and variance that normalize x; in training mode the running statistics are updated too."""
        if not training:
            return self._stored
        rows = self.rows(x, keep)
        mean, var = self.statistics(rows)
        self.remember(mean, var, len(rows))
        return mean, var

    def normalize(self, x, mean, var):
        return (x - mean) / np.sqrt(var + self.eps)

    def scale(self, y, gamma, beta):
        return gamma * y + beta

    def output(self, x, mean, var):
        self.x_hat = self.normalize(x, mean, var)
        return self.scale(self.x_hat, self.gamma[:, None], self.beta[:, None])

    def cast(self, y, dtype):
        return y.astype(dtype)

    def __call__(self, x, training=True, keep=None):
        if not isinstance(training, (bool, np.bool_)):
            raise WrongKind("the second argument of a layer is `training`; pass the mask by name, keep=keep")
        with np.errstate(all="ignore"):
            mean, var = (s[:, None] for s in self.used(x, training, keep))
            self.sd = np.sqrt(var + self.eps)
            self.training, self.padded, self.dtype = training, keep is not None, x.dtype
            return self.cast(self.output(x, mean, var), x.dtype)

    def backward(self, dy):
        if self.padded is None:
            raise ValueError("backward needs a call before it: y = layer(x)")
        if self.padded:
            raise WrongKind("backward follows a call without keep; call the layer once more before it")
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

    def output(self, x, mean, var):
        super().output(x, mean, var)
        a = self.gamma[:, None] / self.sd
        return a * x + (self.beta[:, None] - a * mean)

    def __call__(self, x, training=True, keep=None):
        y = super().__call__(x, training, keep)
        return y if keep is None else y * keep[:, None]


class _InFloat32(_BatchNorm):
    """Everything with seven digits; gamma and beta say so."""

    def __init__(self, channels):
        super().__init__(channels)
        self.gamma, self.beta = np.float32(self.gamma), np.float32(self.beta)

    def statistics(self, rows):
        return rows.mean(axis=0), rows.var(axis=0)

    def __call__(self, x, training=True, keep=None):
        y = super().__call__(x.astype(np.float32), training, keep)
        self.dtype = x.dtype
        return y.astype(x.dtype)


def _welford(self, rows):
    mean, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for count, row in enumerate(rows.astype(np.float64), start=1):
        step = row - mean
        mean = mean + step / count
        squares = squares + step * (row - mean)
    return mean, squares / len(rows)


def _refuse_one_value(self, x, training, keep):
    if training and len(self.rows(x, keep)) == 1:
        raise ValueError(f"expected more than 1 value per channel in training mode, got shape {x.shape}")
    return _BatchNorm.used(self, x, training, keep)


@dataclass(frozen=True)
class Candidate:
    """A layer to judge: how to make one, whether it is right, and what is said where the battery errs."""

    make: Callable
    right: bool
    words: str


def _wrong(words, **steps):
    return Candidate(_layer(**steps), False, words)


_BatchNorm.__name__ = "Layer"  # in messages, too
_ONE_BY_ONE = _layer(statistics=_welford)

RIGHT = [
    Candidate(make, True, words)
    for make, words in [
        (_BatchNorm, "is the trusted layer itself"),
        (_InFloat32, "computes in float32, as its gamma says; take a mean of 1e3 for it, since 1e8 leaves no digits"),
        (
            _layer(used=_refuse_one_value),
            "refuses one value per channel in training mode, as PyTorch does; catch this ValueError and go on",
        ),
        (
            _Folded,
            "computes a · x + b and returns 0 at padded positions; compare with a tolerance, and where keep is True",
        ),
        (_ONE_BY_ONE, "takes one row after the other, so the last digits differ; compare with a tolerance"),
    ]
]


def _one_pass(self, rows):
    rows = rows.astype(np.float64)
    return rows.mean(axis=0), (rows**2).mean(axis=0) - rows.mean(axis=0) ** 2


def _mean_of_means(self, rows):
    parts = [rows[k : k + 32].astype(np.float64) for k in range(0, len(rows), 32)]
    mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
    return mean, np.mean([((part - mean) ** 2).mean(axis=0) for part in parts], axis=0)


def _eps_outside(self, x, mean, var):
    return (x - mean) / (np.sqrt(var) + self.eps)


_COUNTS_PADDING = {"rows": lambda self, x, keep: _BatchNorm.rows(self, x, None)}
_CONSTANT_STATISTICS = {"through_statistics": lambda self, g: g}

SEEN = (
    _wrong("takes the variance in one pass; try a large mean, 1e8", statistics=_one_pass),
    _wrong("adds eps to the standard deviation; try a tiny scale, 1e-3", normalize=_eps_outside),
    _wrong("squares in float16; try a float16 batch of several hundred", statistics=_InFloat32.statistics),
    _wrong("multiplies gamma along the last axis; try L other than C", scale=lambda self, y, g, b: g.T * y + b.T),
    _wrong("stores NaN after a single value; try eval mode after a batch of shape (1, C, 1)", fewest=1),
    _wrong("never stores its statistics; try eval mode after a training batch", momentum=0),
    _wrong("has the two weights of its running averages swapped; try eval mode after two batches", momentum=0.9),
    _wrong("counts the padding; try a batch with keep", **_COUNTS_PADDING),
    _wrong("averages the means of unequal parts; try a batch of 10 or 11 samples", statistics=_mean_of_means),
    _wrong("treats its statistics as constants in backward; try a gradient", **_CONSTANT_STATISTICS),
    _wrong("returns float64 whatever the dtype of x; look at the dtype of the outputs", cast=lambda self, y, dtype: y),
)


def _n_minus_1(self, rows):
    mean, var = _BatchNorm.statistics(self, rows)
    return mean, var * len(rows) / max(len(rows) - 1, 1)


def _float32(self, rows):
    return _BatchNorm.statistics(self, rows.astype(np.float32))


def _first_thousand(self, rows):
    return _BatchNorm.statistics(self, rows[:1000])


def _without_nan(self, rows):
    n = np.sum(~np.isnan(rows), axis=0)
    mean = np.nansum(rows, axis=0, dtype=float) / n
    return mean, np.nansum((rows - mean) ** 2, axis=0) / n


def _first_of_its_size(self, rows):
    kept = vars(self).setdefault("kept", {})
    return kept.setdefault(len(rows), _BatchNorm.statistics(self, rows))


def _guess_layout(self, x, keep):
    """Takes the last axis for the channels wherever it is as long as gamma."""
    guessed = keep is None and x.shape[2] == len(self.gamma)
    return x.reshape(-1, x.shape[1]) if guessed else _BatchNorm.rows(self, x, keep)


def _first_eight(self, x, keep):
    return _BatchNorm.rows(self, x[:8], keep if keep is None else keep[:8])


def _nonzero_rows(self, x, keep):
    rows = _BatchNorm.rows(self, x, None)
    return rows if keep is None else rows[rows.any(axis=1)]


def _update_always(self, x, training, keep):
    stored, now = self._stored, _BatchNorm.used(self, x, True, keep)
    return now if training else stored


def _remember_padding(self, x, training, keep):
    if not training:
        return self._stored
    _BatchNorm.used(self, x, True, None)
    return self.statistics(self.rows(x, keep))


def _in_place(self, x, mean, var):
    return np.subtract(x, mean, out=x, casting="unsafe") / np.sqrt(var + self.eps)


def _clipped(self, x, mean, var):
    return np.clip(_BatchNorm.normalize(self, x, mean, var), -6, 6)


def _always_by_batch(self, dy):
    return self.through_statistics(dy * self.gamma[:, None]) / self.sd


_NO_GAMMA = {"gradient": lambda self, dy: _BatchNorm.gradient(self, dy / self.gamma[:, None])}
_STORES_PADDING = {"used": _remember_padding}
_TRUSTS_ZEROS = {"rows": _nonzero_rows}

UNSEEN = (
    _wrong("divides the variance by n - 1; try a batch of few values", statistics=_n_minus_1),
    _wrong("uses a different eps; try numbers so small that eps matters", eps=1e-3),
    _wrong("computes its statistics in float32; try float64 numbers with a large mean", statistics=_float32),
    _wrong("guesses the layout from the shape; try as many positions as channels", rows=_guess_layout),
    _wrong("adds beta before it scales; try a gamma and a beta not 1 and 0", scale=lambda self, y, g, b: g * (y + b)),
    _wrong("updates its running statistics in eval mode too; call it in eval mode more than once", used=_update_always),
    _wrong("stores the variance divided by n; try eval mode after few values", stored_var=lambda self, var, n: var),
    _wrong(
        "stores the standard deviation; try eval mode after a batch whose standard deviation is not 1",
        stored_var=lambda self, var, n: np.sqrt(var * n / (n - 1)),
    ),
    _wrong("trusts that the padding is 0; try padding that is not", **_TRUSTS_ZEROS),
    _wrong("counts the padding in its running statistics; try eval mode after a padded batch", **_STORES_PADDING),
    _wrong("changes x in place; look at x after the call", normalize=_in_place),
    _wrong("averages over the first 8 samples only; try a larger batch", rows=_first_eight),
    _wrong("forgets gamma in backward; try a gradient with a gamma that is not 1", **_NO_GAMMA),
    _wrong("always takes the backward of training mode; try a gradient in eval mode", gradient=_always_by_batch),
    _wrong(
        "computes statistics only for the first batch of a shape; try a second, different batch of the same shape",
        statistics=_first_of_its_size,
    ),
    _wrong(
        "adds eps to the variance that it stores; try eval mode after a hundred batches of tiny numbers",
        stored_var=lambda self, var, n: var * n / (n - 1) + self.eps,
    ),
    _wrong("averages over the first 1000 rows only; try a batch with more", statistics=_first_thousand),
    _wrong("leaves NaN out of its statistics; try a batch with one NaN", statistics=_without_nan),
    _wrong("clips normalized numbers at 6; try one number far from all others", normalize=_clipped),
    _wrong("multiplies by |gamma|; try a negative gamma", scale=lambda self, y, g, b: np.abs(g) * y + b),
)


def _run(attempt, *args):
    """Call the attempt; whoever reads the inside of a layer is told so."""
    try:
        return attempt(*args)
    except AttributeError as error:
        if isinstance(error.obj, _BatchNorm):
            promised = "a layer promises only calls, backward, gamma and beta; its running statistics show in eval mode"
            raise WrongKind(f"it looks for .{error.name} in a layer, but {promised}") from None
        raise


def _same(a, b, tol=1e-3):
    """Whether a is b, up to `tol` times the largest number in b; NaN only where b has it."""
    if a.dtype != b.dtype or np.any(np.isnan(a) != np.isnan(b)):
        return False
    a, b = (np.nan_to_num(v.astype(float)) for v in (a, b))
    return bool(np.abs(a - b).max() <= tol * np.abs(b).max())


class _Times:
    """For cases worked by hand: multiplies by one number forward and by another one backward."""

    def __init__(self, forward, back):
        self.forward, self.back, self.gamma, self.beta = forward, back, np.ones(3), np.ones(3)

    def __call__(self, x, training=True, keep=None):
        return self.forward * x

    def backward(self, dy):
        return self.back * dy


def _padding_test(make, x, keep):
    one, other = make(x.shape[1]), make(x.shape[1])
    y, z = one(x, keep=keep), other(np.where(keep[:, None], x, -7.0), keep=keep)
    real = np.moveaxis(y, 1, 2)[keep], np.moveaxis(z, 1, 2)[keep]
    return _same(*real) and _same(one(x, training=False), other(x, training=False))


def _padding_cases(rng):
    keep = np.arange(4) < np.array([[4], [2], [3]])
    not_stored = _layer(**_COUNTS_PADDING, remember=lambda self, mean, var, n: None)
    layers = [
        ("a correct layer", _BatchNorm, 0.0),
        ("a correct layer that takes one row after the other", _ONE_BY_ONE, 3.0),
        ("a correct layer that puts 0 at padded positions", _Folded, 3.0),
        ("a layer that counts a padding of 3", _layer(**_COUNTS_PADDING), 3.0),
        ("a layer that is right while the padding is 0", _layer(**_TRUSTS_ZEROS), 0.0),
        ("a layer that counts the padding in its running statistics", _layer(**_STORES_PADDING), 0.0),
        ("a layer that counts the padding, but not in its running statistics", not_stored, 0.0),
    ]
    return [
        case(make, np.where(keep[:, None], 2 + rng.normal(size=(3, 2, 4)), padding), keep, label=label)
        for label, make, padding in layers
    ]


HALF_PADDED = np.array([[[1.0, 3, 9, 9]]]), np.array([[True, True, False, False]])
PADDING_TEST = Exercise(
    solution="""
def my_padding_test(make, x, keep):
    one = make(x.shape[1])
    other = make(x.shape[1])
    y = one(x, keep=keep)
    z = other(np.where(keep[:, None], x, 50), keep=keep)
    real = np.broadcast_to(keep[:, None], x.shape)
    outputs_agree = np.allclose(y[real], z[real])  # the outputs at real positions
    later_agree = np.allclose(one(x, training=False), other(x, training=False))
    return outputs_agree and later_agree  # the answer
""",
    variants=[_padding_test],
    cases=_padding_cases,
    run=_run,
    # the mean of the real positions 1 and 3 is 2, that of all four is not
    worked=[(case(_BatchNorm, *HALF_PADDED), True), (case(SEEN[7].make, *HALF_PADDED), False)],
    mistakes={
        "return True": "it says True for every layer; change the padding and compare the outputs",
        "return False": "it says False for every layer; give both calls keep, and change only the padding",
        "return outputs_agree and later_agree -> return not (outputs_agree and later_agree)": (
            "your answer is the wrong way round: True means that the padding makes no difference"
        ),
        "x, 50) -> x, 0)": "you set the padding to 0, but it is often 0 already; use a different number",
        "z = other(np.where(keep[:, None], x, 50), keep=keep) -> z = other(x)": (
            "you compare with a call without keep, which counts the padding; give keep to both"
        ),
        ("return outputs_agree and later_agree -> return outputs_agree", "other = make(x.shape[1]) -> other = one"): (
            "it misses padding that reaches the running statistics; compare two layers in eval mode, too"
        ),
        "y[real], z[real] -> y, z": "you compare the outputs at padded positions too; compare where keep is True",
        "keep[:, None], x, 50 -> keep, x, 50": Says(
            "keep has shape (N, L) and x (N, C, L); give keep an axis of size 1 in the middle", raises=True
        ),
    },
)


def _gradient_test_along_directions(layer, x, dy):
    rng = np.random.default_rng(7)
    layer(x.copy())
    dx = layer.backward(dy)
    found = []
    for v in 0.01 * rng.normal(size=(24, *x.shape)):
        found.append((np.vdot(dy, layer(x + v) - layer(x - v)) / 2, np.vdot(dx, v)))
    measured, computed = np.transpose(found)
    return np.abs(measured - computed).max() < 1e-2 * np.abs(measured).max()


def _against_the_formula(layer, x, dy):
    right = _BatchNorm(x.shape[1])
    right.gamma = layer.gamma
    layer(x), right(x)
    return _same(layer.backward(dy), right.backward(dy))


def _wrong_last_channel(self, g):
    return np.where(np.arange(3)[:, None] == 2, g, _BatchNorm.through_statistics(self, g))


def _through_n_minus_1(self, g):
    x_hat, n = self.x_hat, g.size / g.shape[1]
    return g - g.mean(axis=(0, 2), keepdims=True) - x_hat * np.sum(g * x_hat, axis=(0, 2), keepdims=True) / (n - 1)


def _gradient_cases(rng):
    def one(label, make, size=1.0):
        layer = make(3)
        layer.gamma = np.array([0.5, 2.0, -1.0], layer.gamma.dtype)
        x = size * rng.normal(size=(3, 3, 2))
        return case(layer, x, 1 + rng.normal(size=x.shape), label=label)

    def times(number):
        return _layer(through_statistics=lambda self, g: number * _BatchNorm.through_statistics(self, g))

    own = _layer(statistics=_n_minus_1, through_statistics=_through_n_minus_1)
    constant = _layer(**_CONSTANT_STATISTICS)
    return [
        one("a correct layer", _BatchNorm),
        one("a correct layer that computes in float32", _InFloat32),
        one("a correct layer on large numbers, where gradients are small", _BatchNorm, 1e4),
        one("a layer that treats its statistics as constants", constant),
        one("a layer that treats its statistics as constants, on large numbers", constant, 1e4),
        one("a layer that divides by n - 1, in backward too", own),
        one("a layer that forgets gamma in backward", _layer(**_NO_GAMMA)),
        one("a layer whose gradient is twice as large", times(2)),
        one("a layer whose gradient has the wrong sign", times(-1)),
        one("a layer that is wrong in the last channel", _layer(through_statistics=_wrong_last_channel)),
    ]


SMALL_STEP = "step[entry] = 0.01 -> step[entry] = 1e-6\n/ 0.02 -> / 2e-6"
ONE_ENTRY = (
    "np.abs(layer.backward(dy) - slopes).max() -> abs(layer.backward(dy) - slopes)[0, 0, 0]\n"
    "np.abs(slopes).max() -> abs(slopes[0, 0, 0])"
)
GRADIENT_TEST = Exercise(
    solution="""
def my_gradient_test(layer, x, dy):
    slopes = np.zeros(x.shape)
    for entry in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[entry] = 0.01
        rise = layer(x + step) - layer(x - step)
        slopes[entry] = np.sum(dy * rise) / 0.02  # the slopes
    layer(x)
    difference = np.abs(layer.backward(dy) - slopes).max()  # the largest difference
    return difference < 0.01 * np.abs(slopes).max()  # the comparison
""",
    cases=_gradient_cases,
    run=_run,
    variants=[_gradient_test_along_directions],
    worked=[
        (case(_Times(3, 3), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), True),
        (case(_Times(3, 2), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), False),
    ],
    mistakes={
        "return True": "it says True for every layer; compare the gradient with central differences",
        "return False": "it says False for every layer; compare with central differences, to a tolerance",
        _against_the_formula: (
            "you compare with the formula of batch norm; a layer with other outputs has another gradient"
        ),
        SMALL_STEP: "your step is so small that the rounding of float32 outputs spoils the slopes; take about 0.01",
        "0.01 * np.abs(slopes).max() -> 0.01": (
            "your tolerance is absolute, so a small gradient always passes; compare with the largest slope"
        ),
        "np.abs(layer.backward(dy) - slopes).max() -> abs(layer.backward(dy).sum() - slopes.sum())": (
            "you add up the gradient, but the sum is 0 for many wrong gradients too; compare every entry"
        ),
        ONE_ENTRY: "you compare one entry; a gradient can be wrong in one channel only, so compare them all",
    },
)


def _judged(battery, candidate, trusted):
    """The battery's verdict on a layer, and the error with which the layer ended it."""
    try:
        return _run(battery, candidate.make, trusted), ""
    except WrongKind:
        raise
    except AssertionError:
        raise WrongKind("it uses assert; return False where a layer is wrong, and True at the end") from None
    except Exception as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__:
            raise
        return False, f" (it raised {explain(error)})"


def _run_battery(battery, layers, trusted):
    """True if the battery judges all layers rightly; else a WrongKind: how many it does not, and one of them."""
    missed = []
    for candidate in layers:
        verdict, error = _judged(battery, candidate, trusted)
        if verdict is None or verdict is ...:
            return verdict
        if not isinstance(verdict, (bool, np.bool_)):
            raise WrongKind(f"got {describe(verdict)}, expected True to accept a layer or False to reject it")
        if verdict != candidate.right:
            missed.append((candidate, error))
    if not missed:
        return True
    candidate, error = missed[0]
    count = f"{len(missed)} of {len(layers)}"
    if candidate.right:
        raise WrongKind(f"it rejects {count} correct layers. One {candidate.words}{error}")
    raise WrongKind(f"{count} slip through. One {candidate.words}")


def _battery_side_by_side(layer, trusted):
    """Both layers take the same calls; False at the first difference."""
    rng = np.random.default_rng(7)
    small, many = rng.normal(size=(4, 3, 2)), rng.normal(size=(300, 3, 4))
    hole = small.copy()
    many[0, :, 0], hole[0, 0, 0] = 100, np.nan
    large = 1e8 if layer(3).gamma.dtype == np.float64 else 1e3
    batches = [small, large + small, 1e-3 * small, np.float16(300 * small), small[:1, :, :1]]
    keep, stored = np.arange(3) < np.array([[3], [1], [2]]), {"training": False}
    for x in [*batches, rng.normal(size=(11, 3, 4)), 5 + rng.normal(size=(3, 3, 3)), many, hole]:
        a, b = layer(3), trusted(3)
        for norm in (a, b):
            norm.gamma, norm.beta = np.array([[-3, 0.5, 2], [1, -2, 0.3]], norm.gamma.dtype)
        calls = [(x, {})] * (100 if np.abs(x).max() < 0.01 else 1) + [(2 * x[::-1], {}), (x, stored), (x, stored)]
        for batch, how in [(x, {"keep": keep}), *calls] if len(x) == 3 else calls:
            given, wanted = batch.copy(), b(batch, **how)
            try:
                y = a(given, **how)
            except ValueError:
                if x.size > 3 or how:
                    raise
                continue
            if "keep" in how:
                pairs = [(np.moveaxis(y, 1, 2)[keep], np.moveaxis(wanted, 1, 2)[keep])]
            else:
                dy = np.cos(np.arange(x.size)).reshape(x.shape)
                pairs = [(given, batch), (y, wanted), (a.backward(dy), b.backward(dy))]
            if not all(_same(*pair) for pair in pairs):
                return False
    return True


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
    variants=[_battery_side_by_side],
    cases=lambda rng: [
        case(RIGHT, _BatchNorm, label="correct layers"),
        case(SEEN, _BatchNorm, label="the eleven bugs of the lesson"),
        case(UNSEEN, _BatchNorm, label="bugs you have not seen"),
    ],
    run=_run_battery,
    worked=[
        (case([Candidate(lambda channels: _Times(3, 3), True, "")], lambda channels: _Times(3, 3)), True),
        (case([Candidate(lambda channels: _Times(4, 4), False, "")], lambda channels: _Times(3, 3)), True),
    ],
    mistakes={
        "return True": "it accepts everything; return False where a layer and the trusted one differ",
        "return False": "it rejects everything; give both layers the same gamma, beta and batches",
        "x = np.random.default_rng(0).normal(size=(4, 3, 2)); return np.allclose(layer(3)(x), trusted(3)(x), 1e-3)": (
            "it tries one ordinary batch in training mode, which all eleven bugs of the lesson pass; try other inputs"
        ),
        "return all(agree(a, b) -> return all(np.array_equal(a, b, equal_nan=True)": (
            "you compare to too many digits; correct layers differ in the last ones, so allow a tolerance"
        ),
        "y[np.broadcast_to(keep[:, None], y.shape)] -> y": (
            "you compare the outputs at padded positions too, where correct layers differ; compare where keep is True"
        ),
    },
)

EXERCISES = [PADDING_TEST, GRADIENT_TEST, BATTERY]
