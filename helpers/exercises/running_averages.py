"""Lesson 03: what does eval mode use?"""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import AFFINE, MIXED_UP, NORMALIZING, forms, mistakes_with, one_pass

# ------------------------------------------------------------------------------------ update_running_stats


def _update_running_stats(running_mean, running_var, x, momentum=0.1):
    """PyTorch's update for x (N, C): the batch's mean and unbiased variance get the weight `momentum`."""
    mean = (1 - momentum) * running_mean + momentum * x.mean(axis=0)
    var = (1 - momentum) * running_var + momentum * x.var(axis=0, ddof=1)
    return mean, var


def _update_case(rng, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    """Random buffers that are neither 0 and 1 nor the statistics of x."""
    features = shape[1]
    running_mean, running_var = rng.uniform(1.0, 2.0, features), rng.uniform(2.0, 3.0, features)
    return case(running_mean, running_var, mean + scale * rng.standard_normal(shape), label=label, **kwargs)


def _update_cases(rng):
    return [
        _update_case(rng, (5, 3), label="small batch"),
        _update_case(rng, (4, 4), label="square x", momentum=0.3),
        _update_case(rng, (2, 3), label="two samples", momentum=0.25),
        _update_case(rng, (int(rng.integers(6, 10)), 2), mean=1e8, scale=3.0, label="large mean", momentum=0.01),
        _update_case(rng, (6, 1), label="one channel", momentum=0.9),
        _update_case(rng, (3, 2), label="momentum 0", momentum=0.0),
        _update_case(rng, (3, 2), label="momentum 1", momentum=1.0),
    ]


def _updating(mean=lambda x: x.mean(axis=0), var=lambda x: x.var(axis=0, ddof=1), weights=lambda m: (1 - m, m)):
    """The update with other batch statistics or other weights (of the old, of the new)."""

    def attempt(running_mean, running_var, x, momentum=0.1):
        old, new = weights(momentum)
        return old * running_mean + new * mean(x), old * running_var + new * var(x)

    return attempt


def _update_without_parentheses(ddof, running_mean, running_var, x, momentum=0.1):
    mean = 1 - momentum * running_mean + momentum * x.mean(axis=0)
    return mean, 1 - momentum * running_var + momentum * x.var(axis=0, ddof=ddof)


def _update_mean_only(running_mean, running_var, x, momentum=0.1):
    return _update_running_stats(running_mean, running_var, x, momentum)[0], running_var.copy()


def _update_in_the_wrong_order(running_mean, running_var, x, momentum=0.1):
    return _update_running_stats(running_mean, running_var, x, momentum)[::-1]


def _update_around_the_running_mean(running_mean, running_var, x, momentum=0.1):
    mean, _ = _update_running_stats(running_mean, running_var, x, momentum)
    var = ((x - mean) ** 2).sum(axis=0) / (len(x) - 1)
    return mean, (1 - momentum) * running_var + momentum * var


def _update_through_the_standard_deviation(running_mean, running_var, x, momentum=0.1):
    mean, _ = _update_running_stats(running_mean, running_var, x, momentum)
    return mean, ((1 - momentum) * np.sqrt(running_var) + momentum * x.std(axis=0, ddof=1)) ** 2


def _update_by_the_difference(running_mean, running_var, x, momentum=0.1):
    batch = x.mean(axis=0)
    var = ((x - batch) ** 2).sum(axis=0) / (x.shape[0] - 1)
    return running_mean + momentum * (batch - running_mean), running_var - momentum * (running_var - var)


def _update_channel_by_channel(running_mean, running_var, x, momentum=0.1):
    means, variances = [], []
    for old_mean, old_var, column in zip(running_mean, running_var, x.T, strict=True):
        mean = sum(column) / len(column)
        var = sum((value - mean) ** 2 for value in column) / (len(column) - 1)
        means.append((1 - momentum) * old_mean + momentum * mean)
        variances.append((1 - momentum) * old_var + momentum * var)
    return means, variances


UPDATE_RUNNING_STATS = Exercise(
    name="my_update_running_stats",
    signature="my_update_running_stats(running_mean, running_var, x, momentum=0.1)",
    reference=_update_running_stats,
    cases=_update_cases,
    results=("running mean", "running variance"),
    variants=[_update_by_the_difference, _update_channel_by_channel],
    mistakes=[
        Mistake(
            _updating(weights=lambda m: (m, 1 - m)),
            "your weights are swapped: you gave momentum to the old value, as Keras does; in PyTorch it is the weight "
            "of the new batch",
        ),
        Mistake(
            _updating(var=lambda x: x.var(axis=0)),
            "you stored the biased variance, divided by n; PyTorch stores the unbiased one, divided by n - 1",
        ),
        one_pass(_updating(var=lambda x: ((x**2).mean(axis=0) - x.mean(axis=0) ** 2) * len(x) / (len(x) - 1))),
        Mistake(
            _updating(var=lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=0)),
            "your variance is the sum of the squared distances; divide it by n - 1",
        ),
        Mistake(
            _updating(var=lambda x: x.var(axis=0), weights=lambda m: (m, 1 - m)),
            "two things at once: you gave momentum to the old value, as Keras does, and you stored the biased "
            "variance; PyTorch weighs the new batch with momentum and divides by n - 1",
        ),
        *forms(
            "you averaged over axis 1, the channels of one sample; each channel has its own statistics, over the batch",
            _updating(mean=lambda x: x.mean(axis=1), var=lambda x: x.var(axis=1, ddof=1)),
            _updating(mean=lambda x: x.mean(axis=1), var=lambda x: x.var(axis=1)),
        ),
        *forms(
            "you mixed the standard deviation of the batch into the running variance",
            _updating(var=lambda x: x.std(axis=0, ddof=1)),
            _updating(var=lambda x: x.std(axis=0)),
        ),
        Mistake(
            _update_through_the_standard_deviation,
            "you averaged standard deviations and squared the result; the buffer averages variances",
        ),
        *forms(
            "you returned the statistics of this batch; the old buffers and momentum have no part in it",
            _updating(weights=lambda m: (0, 1)),
            _updating(weights=lambda m: (0, 1), var=lambda x: x.var(axis=0)),
        ),
        *forms(
            "you added the new batch without shrinking the old value, so the buffers grow without end; the two "
            "weights must add up to 1",
            _updating(weights=lambda m: (1, m)),
            _updating(weights=lambda m: (1, m), var=lambda x: x.var(axis=0)),
        ),
        *forms(
            "without parentheses 1 - momentum * old is not (1 - momentum) * old: a product is computed before a "
            "difference",
            lambda *args, **kwargs: _update_without_parentheses(1, *args, **kwargs),
            lambda *args, **kwargs: _update_without_parentheses(0, *args, **kwargs),
        ),
        Mistake(
            _updating(mean=lambda x: x, var=lambda x: x),
            "you mixed in the batch itself; mixed in are its mean and its variance, one number per channel",
        ),
        Mistake(
            _updating(var=lambda x: x.var(axis=0) * (len(x) - 1) / len(x)),
            "you multiplied by (n - 1) / n, which makes the biased variance smaller still; the unbiased one is n / (n "
            "- 1) times as large",
        ),
        Mistake(
            _updating(var=lambda x: x.var(axis=0) * x.size / (x.size - 1)),
            "your n is the number of all entries; n is the number of rows, len(x)",
        ),
        Mistake(
            _updating(var=lambda x: x.var(axis=0, ddof=1) ** 2),
            "you squared the variance of the batch; it is a square already",
        ),
        Mistake(
            _updating(mean=lambda x: x.mean(axis=0, keepdims=True), var=lambda x: x.var(0, ddof=1, keepdims=True)),
            "your statistics kept the batch axis; the buffers have shape (C,), so leave out keepdims",
        ),
        Mistake(
            _updating(weights=lambda m: (m, m)),
            "you gave momentum to both, the old value and the batch; the two weights must add up to 1",
        ),
        *forms(
            "you took the plain average of old and new; momentum is the weight of the new batch",
            _updating(weights=lambda m: (0.5, 0.5)),
            _updating(weights=lambda m: (0.5, 0.5), var=lambda x: x.var(axis=0)),
        ),
        *forms(
            "you ignored the argument momentum and always used 0.1",
            _updating(weights=lambda m: (0.9, 0.1)),
            _updating(weights=lambda m: (0.9, 0.1), var=lambda x: x.var(axis=0)),
        ),
        Mistake(
            _update_mean_only,
            "the running mean is right, but the running variance did not move",
        ),
        Mistake(
            _update_in_the_wrong_order,
            "both values are right, but in the wrong order: return the mean first, then the variance",
        ),
        Mistake(
            _update_around_the_running_mean,
            "your variance is taken around the running mean; the variance of a batch is taken around its own mean",
        ),
        *forms(
            "you averaged over all entries of x, so the channels share one mean and variance; each has its own",
            _updating(mean=lambda x: x.mean(), var=lambda x: x.var(ddof=1)),
            _updating(mean=lambda x: x.mean(), var=lambda x: x.var()),
        ),
    ],
)

# ------------------------------------------------------------------------------- torch_momentum_from_keras


def _torch_momentum_from_keras(keras_momentum):
    """Keras weighs the old value, PyTorch the new one."""
    return 1 - keras_momentum


def _momentum_cases(rng):
    fixed = [case(m) for m in (0.99, 0.9, 0.999, 0.5, 1.0, 0.0)]
    return [*fixed, case(float(rng.uniform(0.6, 0.98)), label="any")]


TORCH_MOMENTUM_FROM_KERAS = Exercise(
    name="my_torch_momentum_from_keras",
    signature="my_torch_momentum_from_keras(keras_momentum)",
    reference=_torch_momentum_from_keras,
    cases=_momentum_cases,
    variants=[
        lambda keras_momentum: -keras_momentum + 1.0,
        lambda keras_momentum: float(np.float32(1) - np.float32(keras_momentum)),
    ],
    mistakes=[
        Mistake(
            lambda keras_momentum: keras_momentum,
            "you passed the number on unchanged, so 0.99 would keep 1 % of the history instead of 99 %",
        ),
        Mistake(
            lambda keras_momentum: keras_momentum - 1,
            "your difference has the wrong sign; a momentum lies between 0 and 1",
        ),
        *forms(
            "your result leaves the range from 0 to 1; both momenta are weights, and the two weights add up to 1",
            lambda keras_momentum: -keras_momentum,
            lambda keras_momentum: 1 + keras_momentum,
        ),
        *forms(
            "you multiplied momentum by itself or by the other weight; asked is the other weight itself",
            lambda keras_momentum: (1 - keras_momentum) * keras_momentum,
            lambda keras_momentum: 1 - keras_momentum**2,
            lambda keras_momentum: keras_momentum**2,
        ),
        Mistake(
            lambda keras_momentum: 1 / keras_momentum,
            "you took the reciprocal; the two are weights of one average, and weights add up to 1",
        ),
        Mistake(
            lambda keras_momentum: (1 - keras_momentum) / keras_momentum if keras_momentum else np.inf,
            "you took the ratio of the two weights; asked is one of them, the weight of the new batch",
        ),
        Mistake(
            lambda keras_momentum: 0.1,
            "you always return 0.1, PyTorch's default; a momentum of 0.99 in Keras is ten times slower",
        ),
        Mistake(
            lambda keras_momentum: 0.01,
            "you always return 0.01, which fits Keras's default of 0.99 and nothing else",
        ),
        Mistake(
            lambda keras_momentum: round(1 - keras_momentum, 2),
            "you rounded to two digits, which turns 0.999 into a momentum of 0 and freezes the buffers",
        ),
    ],
)

# ----------------------------------------------------------------------------------------- batch_norm_eval


def _channel(v):
    return v.reshape(1, -1, 1, 1)


def _batch_norm_eval(x, gamma, beta, running_mean, running_var, eps=1e-5):
    """x (N, C, H, W), everything else (C,): normalize with the stored statistics."""
    y = (x - _channel(running_mean)) / np.sqrt(_channel(running_var) + eps)
    return _channel(gamma) * y + _channel(beta)


def _eval_case(rng, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    """Stored statistics that differ from those of the batch; gamma and beta are never 1 and 0."""
    c = shape[1]
    stored_mean, stored_var = mean + rng.uniform(0.5, 1.5, c), scale**2 * rng.uniform(0.5, 2.0, c)
    x = _channel(stored_mean) + scale * (1 + 1.5 * rng.standard_normal(shape))
    gamma, beta = rng.uniform(0.5, 2.0, c), rng.uniform(0.5, 2.0, c)
    return case(x, gamma, beta, stored_mean, stored_var, label=label, **kwargs)


def _eval_cases(rng):
    shape = (int(rng.integers(2, 6)), 3, int(rng.integers(2, 6)), 5)
    return [
        _eval_case(rng, (4, 3, 2, 5), label="C and W differ"),
        _eval_case(rng, (3, 4, 2, 4), label="C equals W"),
        _eval_case(rng, (3, 3, 3, 3), label="all equal"),
        _eval_case(rng, shape, mean=1e8, label="large mean"),
        _eval_case(rng, (1, 2, 1, 1), label="one number per channel"),
        _eval_case(rng, (2, 3, 2, 2), scale=1e-3, label="tiny variance"),
        _eval_case(rng, (2, 3, 2, 4), eps=0.5, label="large eps"),
    ]


def _evaluating(mean=None, var=None, normalize=None, affine=None, whole=None, shape=_channel):
    """Eval mode with other statistics, another step, or vectors on another axis."""
    normalize = normalize or (lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps))
    affine = affine or (lambda y, gamma, beta: gamma * y + beta)
    whole = whole or (lambda x, mean, var, g, b, eps: affine(normalize(x, mean, var, eps), g, b))

    def attempt(x, gamma, beta, running_mean, running_var, eps=1e-5):
        mu = running_mean if mean is None else mean(x, running_mean)
        v = running_var if var is None else var(x, running_var)
        return whole(x, *map(shape, (mu, v, gamma, beta)), eps)

    return attempt


def _batch_mean(x, _):
    return x.mean(axis=(0, 2, 3))


def _batch_var(x, _):
    return x.var(axis=(0, 2, 3))


def _eval_folded(x, gamma, beta, running_mean, running_var, eps=1e-5):
    scale = gamma * (running_var + eps) ** -0.5
    return x * scale[:, None, None] + (beta - running_mean * scale)[:, None, None]


def _eval_channel_by_channel(x, gamma, beta, running_mean, running_var, eps=1e-5):
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        y[:, c] = gamma[c] * (x[:, c] - running_mean[c]) / (running_var[c] + eps) ** 0.5 + beta[c]
    return y


def _eval_channels_last(x, gamma, beta, running_mean, running_var, eps=1e-5):
    y = (np.moveaxis(x, 1, -1) - running_mean) / np.sqrt(running_var + eps) * gamma + beta
    return np.moveaxis(y, -1, 1)


BATCH_NORM_EVAL = Exercise(
    name="my_batch_norm_eval",
    signature="my_batch_norm_eval(x, gamma, beta, running_mean, running_var, eps=1e-5)",
    reference=_batch_norm_eval,
    cases=_eval_cases,
    tol=1e-5,
    variants=[_eval_folded, _eval_channel_by_channel, _eval_channels_last],
    mistakes=[
        Mistake(
            _evaluating(_batch_mean, _batch_var),
            "you normalized with the statistics of this batch; that is train mode, eval mode uses the stored ones",
        ),
        Mistake(
            lambda x, gamma, beta, running_mean, running_var, eps=1e-5: (
                _channel(gamma) * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) + _channel(beta)
            ),
            "you normalized with statistics of this batch, and per pixel; eval mode uses the stored ones, one per "
            "channel",
        ),
        Mistake(
            _evaluating(shape=lambda v: v[:, None]),
            "your [:, None] lines the vectors up with H, the third axis; to reach the channels they need two axes of "
            "size 1 behind them, one for H and one for W",
        ),
        Mistake(
            _evaluating(shape=lambda v: v.reshape(-1, 1, 1, 1)),
            "your vectors line up with the first axis, N; to reach the channels they need two axes of size 1 behind "
            "them, and no third",
        ),
        Mistake(
            _evaluating(mean=_batch_mean),
            "you subtracted the mean of this batch; eval mode subtracts the stored mean",
        ),
        Mistake(
            _evaluating(var=_batch_var),
            "you divided by the spread of this batch; eval mode uses the stored variance",
        ),
        Mistake(
            _evaluating(
                lambda x, stored: 0.9 * stored + 0.1 * _batch_mean(x, stored),
                lambda x, stored: 0.9 * stored + 0.1 * _batch_var(x, stored),
            ),
            "you updated the running statistics with this batch first; eval mode only reads the buffers",
        ),
        Mistake(
            lambda x, gamma, beta, running_mean, running_var, eps=1e-5: (
                (x - _channel(running_mean)) / np.sqrt(_channel(running_var) + eps) * gamma + beta
            ),
            "your statistics line up with the channels, but gamma and beta of shape (C,) meet the last axis, W; it "
            "goes unnoticed when C equals W",
        ),
        *mistakes_with(lambda step: _evaluating(normalize=step), NORMALIZING),
        *mistakes_with(lambda step: _evaluating(affine=step), AFFINE),
        *mistakes_with(lambda step: _evaluating(whole=step), MIXED_UP),
        Mistake(
            _evaluating(var=lambda x, v: v * (x.size / x.shape[1]) / max(x.size / x.shape[1] - 1, 1)),
            "you multiplied the stored variance by n / (n - 1); it was stored unbiased already, and the n of this "
            "batch has no part in it",
        ),
        Mistake(
            _evaluating(shape=lambda v: v),
            "your vectors of shape (C,) line up with the last axis, W, and not with the channels; it goes unnoticed "
            "when C equals W",
        ),
    ],
)

EXERCISES = [UPDATE_RUNNING_STATS, TORCH_MOMENTUM_FROM_KERAS, BATCH_NORM_EVAL]
