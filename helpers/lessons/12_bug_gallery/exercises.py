"""Lesson 12: tests that accept correct layers and reject wrong ones.

The learner's functions are tests, so the cases are layers: LAYER, a batch norm for x of shape (N, C, L), and edits of
its text that leave it right, are the bugs of the lesson, or bugs that the lesson does not show. Every one has

    layer = Layer(channels)                      gamma, beta: (channels,), 1 and 0 at first; computes in gamma's dtype or better
    layer(x, training=True, keep=None) -> y      keep, bool (N, L), is False at padding, whose outputs may be anything;
                                                 one value per channel in training mode may raise ValueError
    layer.backward(dy) -> dx                     for the last call, without padding; sets layer.dgamma and layer.dbeta
"""

import traceback
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...checks import describe, explain
from ...exercises import Exercise, WrongKind, case
from ...exercises.edits import compiled, edited


class Promised:
    """What every layer has, and what is said of a call that is not promised."""

    precision = np.float64
    refuses_one_value = False
    padded = None  # whether the last call had padding

    def __init__(self, channels):
        if not isinstance(channels, (int, np.integer)):
            raise WrongKind("a layer is made with its number of channels, and the layer is called with the batch")
        self.gamma, self.beta = np.ones(channels, self.precision), np.zeros(channels, self.precision)
        self._mean, self._var = np.zeros(channels), np.ones(channels)

    def __call__(self, x, training=True, keep=None):
        if not isinstance(training, (bool, np.bool_)):
            raise WrongKind("the second argument of a layer is `training`; pass the mask by name, keep=keep")
        self.padded, self.dtype = keep is not None, x.dtype
        keep = np.ones((len(x), x.shape[2]), bool) if keep is None else keep
        if self.refuses_one_value and training and keep.sum() == 1:
            raise ValueError(f"expected more than 1 value per channel in training mode, got shape {x.shape}")
        with np.errstate(all="ignore"):
            return self.forward(x, training, keep)

    def backward(self, dy):
        if self.padded is not False:
            raise WrongKind("backward follows a call without keep; call y = layer(x) before it")
        return self.gradient(np.float64(dy)).astype(self.dtype)


LAYER = """
class Layer(Promised):
    def forward(self, x, training, keep):
        gamma, beta = self.gamma[:, None], self.beta[:, None]
        before = self._mean, self._var
        rows = np.moveaxis(x, 1, 2)[keep].astype(np.float64)
        n = len(rows)
        mean = rows.mean(axis=0)
        var = rows.var(axis=0)
        if training and n > 1:
            old, new = 0.9, 0.1
            self._mean = old * self._mean + new * mean
            self._var = old * self._var + new * (var * n / (n - 1))
        self.training = training
        mean, var = np.reshape((mean, var) if training else before, (2, -1, 1))
        self.sd = np.sqrt(var + 1e-5)
        x_hat = (x - mean) / self.sd
        self.x_hat = x_hat
        return (gamma * x_hat + beta).astype(x.dtype)

    def gradient(self, dy):
        self.dgamma = np.sum(dy * self.x_hat, axis=(0, 2))
        self.dbeta = np.sum(dy, axis=(0, 2))
        g = dy * self.gamma[:, None]
        if self.training:
            overlap = np.mean(g * self.x_hat, axis=(0, 2), keepdims=True)
            g = g - g.mean(axis=(0, 2), keepdims=True) - self.x_hat * overlap
        return g / self.sd
"""


def made(edit=""):
    """The layer after an edit; its name gives nothing away."""
    return compiled(edited(LAYER, edit) if edit else LAYER, {"Promised": Promised})


class Candidate(NamedTuple):
    """A layer to judge: how to make one, whether it is right, and what is said where the battery errs."""

    make: Callable
    right: bool
    words: str


# Edits that exercises 1 and 2 try, too.
FLOAT32 = "+ precision = np.float32\nfloat64 -> float32\n(x - mean) -> (np.float32(x) - np.float32(mean))"
BACKWARD = "rows.mean(axis=0) -> rows[::-1].mean(axis=0)\nrows.var(axis=0) -> rows[::-1].var(axis=0)"
FOLDED = "(gamma * x_hat + beta) -> ((gamma / self.sd * x + (beta - gamma / self.sd * mean)) * keep[:, None])"
COUNTS_PADDING, TRUSTS_ZEROS = "[keep] -> [keep | True]", "[keep] -> [x.any(axis=1)]"
EACH_SAMPLE = "(x - mean) / self.sd -> (x - x.mean(axis=2, keepdims=True) * training) / self.sd"
STORES_PADDING = "new * mean -> new * x.astype(float).mean(axis=(0, 2))"
CONSTANTS, NO_GAMMA = "if self.training: -> if False:", "g = dy * self.gamma[:, None] -> g = dy"
ENDS_EARLY = "return g / self.sd -> return g / self.sd * (np.arange(len(self.sd)) < len(self.sd) - 1)[:, None]"
DIVIDES_BY_N_MINUS_1 = "rows.var(axis=0) -> rows.var(axis=0) * n / max(n - 1, 1)"

# {edit: what is said of the layer}; of several correct layers that are rejected the first is named
CORRECT = {
    "": "is the trusted layer itself",
    BACKWARD: "adds the numbers in another order, so the last digits differ; compare with a tolerance",
    FOLDED: "computes a · x + b and returns 0 at padded positions; compare with a tolerance, and where keep is True",
    "+ refuses_one_value = True": "refuses one value per channel in training mode; catch this ValueError and go on",
    FLOAT32: "computes in float32, as its gamma says; allow a thousandth, and as a large mean take 100 for this layer",
}
BUGS = {
    "n > 1 -> n > 0": "stores NaN after a single value; try eval mode after a batch of shape (1, C, 1)",
    "rows.var(axis=0) -> (rows**2).mean(axis=0) - mean**2": "takes the variance in one pass; try a large mean, 1e8",
    "np.sqrt(var + 1e-5) -> np.sqrt(var) + 1e-5": "adds eps to the standard deviation; try a tiny scale, 1e-3",
    ".astype(np.float64) ->": "squares in float16; try a float16 batch of several hundred",
    "gamma * x_hat + beta -> gamma.T * x_hat + beta.T": "multiplies gamma along the last axis; try L other than C",
    COUNTS_PADDING: "counts the padding; try a batch with keep",
    "rows.mean(axis=0) -> np.mean([rows[k : k + 32].mean(axis=0) for k in range(0, n, 32)], axis=0)": (
        "averages the means of unequal parts; try a batch of 10 or 11 samples"
    ),
    "0.9, 0.1 -> 0.1, 0.9": "has the two weights of its running averages swapped; try eval mode after two batches",
    CONSTANTS: "treats its statistics as constants in backward; try a gradient",
    "np.sum(dy * self -> np.mean(dy * self": "averages the gradient of gamma; look at layer.dgamma after backward",
    ENDS_EARLY: "leaves out the last channel in backward; try a gradient",
}
MORE_BUGS = {
    DIVIDES_BY_N_MINUS_1: "divides the variance by n - 1; try a batch of few values",
    "float64 -> float32": "computes its statistics in float32; try float64 numbers with a large mean",
    "np.moveaxis(x, 1, 2)[keep] -> (x if x.shape[1] == x.shape[2] else np.moveaxis(x, 1, 2))[keep]": (
        "guesses the layout from the shape; try as many positions as channels"
    ),
    "gamma * x_hat + beta -> gamma * (x_hat + beta)": "adds beta before it scales; try a beta that is not 0",
    "if training and -> if": "updates its running statistics in eval mode too; call it in eval mode more than once",
    "n > 1 -> n < 1": "never stores its statistics; try eval mode after a training batch",
    "(var * n / (n - 1)) -> var": "stores the variance with the divisor n; try eval mode after few values",
    TRUSTS_ZEROS: "trusts that the padding is 0; try padding that is not",
    STORES_PADDING: "counts the padding in its running statistics; try eval mode after a padded batch",
    '(x - mean) -> np.subtract(x, mean, out=x, casting="unsafe")': "changes x in place; look at x after the call",
    ".astype(x.dtype) ->": "returns float64 whatever the dtype of x; look at the dtype of the outputs",
    NO_GAMMA: "forgets gamma in backward; try a gradient with a gamma that is not 1",
    "if self.training: -> if True:": "always takes the backward of training mode; try a gradient in eval mode",
    "* self.x_hat, axis=(0, 2)) -> * self.x_hat, axis=0)[:, 0]": "sums dgamma over samples only; try several positions",
    "np.sum(dy * self.x_hat, axis=(0, 2)) -> np.sum(np.array(dy * self.x_hat, self.dtype), axis=(0, 2))": (
        "adds up the gradient of gamma in the dtype of x; try many rows in float16"
    ),
    "var + 1e-5 -> var + 1e-5 * max(1, var.max())": "scales eps with the largest variance; try channels of other sizes",
    "self.training = -> mean, var = vars(self).setdefault(str(n), (mean, var)); self.training =": (
        "computes statistics only for the first batch of a shape; try a second, different batch of the same shape"
    ),
    "astype(np.float64) -> astype(np.float64)[:1000]": "averages over the first 1000 rows only; try a batch with more",
    "rows.mean( -> np.nanmean(rows, \nrows.var( -> np.nanvar(rows, ": "leaves NaN out; try a batch with one NaN",
    "gamma * x_hat -> gamma * np.clip(x_hat, -6, 6)": "clips at 6; try one number far from all others",
}
RIGHT, SEEN, UNSEEN = (
    [Candidate(made(edit), words is CORRECT, said) for edit, said in words.items()]
    for words in (CORRECT, BUGS, MORE_BUGS)
)
BATCH_NORM = RIGHT[0].make


def _run(attempt, *args):
    """Call the attempt; whoever reads the inside of a layer is told so."""
    try:
        return attempt(*args)
    except AttributeError as error:
        if isinstance(error.obj, Promised):
            promised = "a layer promises gamma and beta, and dgamma and dbeta after backward"
            raise WrongKind(f"it looks for .{error.name}, but {promised}; the rest shows in eval mode") from None
        raise


def _times(forward, back):
    """For cases worked by hand: multiplies by one number forward and by another one backward."""
    return made(f"(gamma * x_hat + beta) -> ({forward} * x)\nreturn g / self.sd -> return {back} * dy")


def _padding_cases(rng):
    keep = np.arange(4) < np.array([[4], [2], [3]])
    layers = [
        ("a correct layer", "", 0.0),
        ("a correct layer that adds in another order", BACKWARD, 3.0),
        ("a correct layer that puts 0 at padded positions", FOLDED, 3.0),
        ("a layer that counts a padding of 3", COUNTS_PADDING, 3.0),
        ("a layer that is right while the padding is 0", TRUSTS_ZEROS, 0.0),
        ("a layer that counts the padding in its running statistics", STORES_PADDING, 0.0),
        ("a layer that counts the padding, and stores nothing", f"{COUNTS_PADDING}\nn > 1 -> n < 1", 0.0),
        ("a layer that counts the padding of each sample by itself", EACH_SAMPLE, 0.0),
    ]
    return [
        case(made(edit), np.where(keep[:, None], 2 + rng.normal(size=(3, 2, 4)), padding), keep, label=label)
        for label, edit, padding in layers
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
    variants=["np.allclose(y[real], z[real]) -> np.ptp(y[real] - z[real]) < 1e-6"],
    cases=_padding_cases,
    run=_run,
    # the mean of the real positions 1 and 3 is 2, that of all four is not
    worked=[
        (case(BATCH_NORM, *HALF_PADDED, label="a correct layer"), True),
        (case(made(COUNTS_PADDING), *HALF_PADDED, label="a layer that counts the padding"), False),
    ],
    mistakes={
        "return False": "it says False for every layer; change the padding only, hand keep to both, and x to both in eval mode",
        "x, 50) -> x, 0)": "you set the padding to 0, but it is often 0 already; use a different number",
        ("return outputs_agree and later_agree -> return outputs_agree", "other = make(x.shape[1]) -> other = one"): (
            "it misses padding that reaches the running statistics; compare two layers in eval mode, too"
        ),
        "y[real], z[real] -> y, z": "you compare the outputs at padded positions too; compare where keep is True",
    },
)


def _gradient_cases(rng):
    def one(label, edit="", size=1.0, gamma=(0.5, 2.0, -1.0)):
        layer = made(edit)(3)
        layer.gamma = np.array(gamma, layer.gamma.dtype)
        x = np.reshape(size, (-1, 1)) * rng.normal(size=(3, 3, 2))
        return case(layer, x, 1 + rng.normal(size=x.shape), label=label)

    return [
        one("a correct layer"),
        one("a correct layer that computes in float32", FLOAT32),
        one("a correct layer on large numbers, where gradients are small", size=1e4),
        one("a layer that treats its statistics as constants", CONSTANTS),
        one("a layer that treats its statistics as constants, on large numbers", CONSTANTS, 1e4),
        one("a layer that divides by n - 1 throughout", f"{DIVIDES_BY_N_MINUS_1}\noverlap = -> overlap = 6 / 5 *"),
        one("a layer that forgets gamma in backward", NO_GAMMA),
        one("a layer whose gradient is twice as large", "return g -> return 2 * g"),
        one("a layer whose gradient has the wrong sign", "return g -> return -g"),
        one("a layer whose gradient is too small everywhere", "return g / self.sd -> return g / self.sd - 1"),
        one("a layer that is wrong in the last channel", "overlap = -> overlap = (np.arange(3) < 2)[:, None] *"),
        one("a correct layer, and a last channel 300 times larger", size=[1, 1, 300]),
        one("a layer whose last channel, 300 times larger, has no gradient", ENDS_EARLY, [1, 1, 300]),
        one("a layer whose last channel, with a small gamma, has no gradient", ENDS_EARLY, gamma=(0.5, 2.0, 0.005)),
    ]


COMPARISON = "return np.all(difference < 0.01 * np.abs(slopes).max(axis=(0, 2)))"
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
    difference = np.abs(layer.backward(dy) - slopes).max(axis=(0, 2))  # the differences
    return np.all(difference < 0.01 * np.abs(slopes).max(axis=(0, 2)))  # the comparison
""",
    cases=_gradient_cases,
    run=_run,
    variants=["= 0.01 -> = 0.02\n/ 0.02 -> / 0.04\nmax(axis -2-> sum(axis"],
    worked=[
        (case(_times(3, b)(1), *np.array([[[[1.0, 2]]], [[[5, 7]]]]), label=f"y = 3 x, dx = {b} dy"), b == 3)
        for b in (3, 2)
    ],
    mistakes={
        "return True": "it says True for every layer; compare the gradient with central differences",
        "return False": "it says False for every layer; compare with slopes of np.sum(dy * layer(x)), to a tolerance",
        "layer(x) -> pass": "your backward follows the call with the last step; call layer(x) once more before it",
        f"{COMPARISON} -> return np.allclose(layer.backward(dy), slopes)": (
            "np.allclose allows 0.00001, but the slopes are only nearly right; allow a hundredth of the channel's largest"
        ),
        "max(axis=(0, 2)) -2-> max()": (
            "beside the largest slope of all, the gradient of one channel may be 0 unnoticed; compare each with its own"
        ),
        "= 0.01 -> = 1e-6\n/ 0.02 -> / 2e-6": "a step this small spoils the slopes by float32's rounding; take about 0.01",
        "max(axis=(0, 2)) -2-> max(axis=(0, 2))[0]": (
            "one right channel is not enough; a gradient can be wrong in another one only, so compare them all"
        ),
    },
)


def _run_battery(battery, layers, trusted):
    """True if the battery judges all layers rightly; else a WrongKind: how many it does not, and one of them."""
    missed, used = [], []
    for candidate in layers:
        error = ""
        try:
            verdict = _run(battery, candidate.make, lambda channels: used.append(channels) or trusted(channels))
        except WrongKind:
            raise
        except AssertionError:
            raise WrongKind("it uses assert; return False where a layer is wrong, and True at the end") from None
        except Exception as raised:
            frames = [frame for frame, _ in traceback.walk_tb(raised.__traceback__)]
            if not any(isinstance(frame.f_locals.get("self"), Promised) for frame in frames):
                raise
            verdict, error = False, f" (it raised {explain(raised)})"
        if verdict is None or verdict is ...:
            return verdict
        if not isinstance(verdict, (bool, np.bool_)):
            raise WrongKind(f"got {describe(verdict)}, expected True to accept a layer or False to reject it")
        if verdict != candidate.right:
            missed.append(candidate.words + error)
    count = f"{len(missed)} of {len(layers)}"
    verdict = f"it rejects {count} correct layers" if layers[0].right else f"{count} slip through"
    if len(missed) > 1 and not used:
        raise WrongKind("it never makes the trusted layer; compare with it, and return False where a layer differs")
    if missed:
        raise WrongKind(f"{verdict}. One {missed[0]}")
    return True


BATTERY = Exercise(
    solution="""
def my_battery(layer, trusted):
    rng = np.random.default_rng(0)
    small = rng.normal(size=(4, 3, 2))
    many = rng.normal(size=(300, 3, 4))
    many[0, :, 0] = 100
    hole = small.copy()
    hole[0, 0, 0] = np.nan
    units = np.array([1, 300, 0.1])[:, None] * small
    large = 1e8 if layer(3).gamma.dtype == np.float64 else 100
    batches = [small, large + small, 1e-3 * small, units, many, hole]
    batches += [(300 * small).astype(np.float16), many.astype(np.float16)]
    batches += [rng.normal(size=(11, 3, 4)), 5 + rng.normal(size=(3, 3, 3))]
    batches += [small[:1, :, :1]]
    keep = np.array([[True, True, True], [True, False, False], [True, True, False]])

    def results(make, x):
        norm = make(3)
        norm.gamma = np.array([0.5, 2.0, -1.5], norm.gamma.dtype)
        norm.beta = np.array([1.0, -1.0, 0.3], norm.beta.dtype)
        if x.size == 3:
            try:
                norm(x)
            except ValueError:
                pass
            return [norm(small, training=False)]
        given = x.copy()
        found = [given]
        if len(x) == 3:
            found.append(np.moveaxis(norm(given, keep=keep), 1, 2)[keep])
        calls = [(given, True), (2 * x[::-1], True), (given, False), (given, False)]
        for batch, training in calls:
            found.append(norm(batch, training=training))
            found.append(norm.backward(1 + np.cos(np.arange(x.size)).reshape(x.shape)))
            found += [norm.dgamma[None], norm.dbeta[None]]
        return found

    for x in batches:
        for a, b in zip(results(layer, x), results(trusted, x), strict=True):
            others = (0, *range(2, b.ndim))
            size = np.nanmax(np.abs(np.float64(b)), others, keepdims=True, initial=0)
            close = np.allclose(a, b, rtol=0, atol=1e-3 * size, equal_nan=True)
            if a.dtype != b.dtype or not close:
                return False
    return True
""",
    # other numbers, and an allowance for each number beside that for its channel
    variants=[f"rng(0) -> rng({seed})\nrtol=0 -> rtol=1e-3" for seed in (1, 2)],
    cases=lambda rng: [
        case(RIGHT, BATCH_NORM, label="correct layers"),
        case(SEEN, BATCH_NORM, label="the eleven bugs of the lesson"),
        case(UNSEEN, BATCH_NORM, label="bugs you have not seen"),
    ],
    run=_run_battery,
    worked=[(case([Candidate(_times(k, k), k == 3, "")], _times(3, 3)), True) for k in (3, 4)],
    mistakes={
        "trusted(3); return True": "it accepts everything; return False where a layer and the trusted one differ",
        "trusted(3); return False": "it rejects everything; give both layers the same gamma, beta and batches",
        "np.moveaxis(norm(given, keep=keep), 1, 2)[keep] -> norm(given, keep=keep)": (
            "you compare the outputs at padded positions too, where correct layers differ; compare where keep is True"
        ),
    },
)

EXERCISES = [PADDING_TEST, GRADIENT_TEST, BATTERY]
