"""Lesson 03: what does eval mode use?"""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.steps import output_mistakes

# ------------------------------------------------------------------------------------ update_running_stats


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
    solution="""
def my_update_running_stats(running_mean, running_var, x, momentum=0.1):
    mean = (1 - momentum) * running_mean + momentum * x.mean(axis=0)
    var = (1 - momentum) * running_var + momentum * x.var(axis=0, ddof=1)
    return mean, var
""",
    cases=_update_cases,
    results=("running mean", "running variance"),
    variants=[_update_by_the_difference, _update_channel_by_channel],
    mistakes={
        "(1 - momentum) -2-> momentum\nmomentum * x -2-> (1 - momentum) * x": (
            "your weights are swapped: you gave momentum to the old value, as Keras does; in PyTorch it is "
            "the weight of the new batch"
        ),
        "axis=0, ddof=1 -> axis=0": (
            "you stored the biased variance, divided by n; PyTorch stores the unbiased one, divided by n - 1"
        ),
        "x.var(axis=0, ddof=1) -> ((x**2).mean(axis=0) - x.mean(axis=0) ** 2) * len(x) / (len(x) - 1)": Says(
            (
                "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and "
                "their digits cancel; subtract the mean first, then square"
            ),
            wrong_anyhow="large mean",
        ),
        "x.var(axis=0, ddof=1) -> ((x - x.mean(axis=0)) ** 2).sum(axis=0)": (
            "your variance is the sum of the squared distances; divide it by n - 1"
        ),
        "(1 - momentum) -2-> momentum\nmomentum * x -2-> (1 - momentum) * x\naxis=0, ddof=1 -> axis=0": (
            "two things at once: you gave momentum to the old value, as Keras does, and you stored the biased "
            "variance; PyTorch gives momentum to the new batch and divides by n - 1"
        ),
        ("axis=0 -2-> axis=1", "axis=0, ddof=1 -> axis=0\naxis=0 -2-> axis=1"): (
            "you averaged over axis 1, the channels of one sample; each channel has its own statistics, over the batch"
        ),
        ("x.var -> x.std", "x.var(axis=0, ddof=1) -> x.std(axis=0)"): (
            "you mixed the standard deviation of the batch into the running variance"
        ),
        (
            "(1 - momentum) * running_var + momentum * x.var(axis=0, ddof=1) -> ((1 - momentum) * "
            "np.sqrt(running_var) + momentum * x.std(axis=0, ddof=1)) ** 2"
        ): ("you averaged standard deviations and squared the result; the buffer averages variances"),
        ("return x.mean(axis=0), x.var(axis=0, ddof=1)", "return x.mean(axis=0), x.var(axis=0)"): (
            "you returned the statistics of this batch; use the old buffers and momentum too"
        ),
        ("(1 - momentum) * running -2-> running", "(1 - momentum) * running -2-> running\naxis=0, ddof=1 -> axis=0"): (
            "you added the new batch without shrinking the old value, so the buffers grow without end; the "
            "two weights must add up to 1"
        ),
        ("(1 - momentum) -2-> 1 - momentum", "(1 - momentum) -2-> 1 - momentum\naxis=0, ddof=1 -> axis=0"): (
            "without parentheses 1 - momentum * old is not (1 - momentum) * old: a product is computed before "
            "a difference"
        ),
        "x.mean(axis=0) -> x\nx.var(axis=0, ddof=1) -> x": (
            "you mixed in the batch itself; mix in its mean and its variance, one number per channel"
        ),
        "x.var(axis=0, ddof=1) -> x.var(axis=0) * (len(x) - 1) / len(x)": (
            "you multiplied by (n - 1) / n, which makes the biased variance smaller still; the unbiased one "
            "is n / (n - 1) times as large"
        ),
        "x.var(axis=0, ddof=1) -> x.var(axis=0) * x.size / (x.size - 1)": (
            "your n is the number of all entries; n is the number of rows, len(x)"
        ),
        "ddof=1) -> ddof=1) ** 2": "you squared the variance of the batch; it is a square already",
        "axis=0 -2-> axis=0, keepdims=True": (
            "your statistics kept the batch axis; the buffers have shape (C,), so leave out keepdims"
        ),
        "(1 - momentum) -2-> momentum": (
            "you gave momentum to both, the old value and the batch; the two weights must add up to 1"
        ),
        (
            "(1 - momentum) -2-> 0.5\nmomentum * x -2-> 0.5 * x",
            "(1 - momentum) -2-> 0.5\nmomentum * x -2-> 0.5 * x\naxis=0, ddof=1 -> axis=0",
        ): "you took the plain average of old and new; momentum is the weight of the new batch",
        (
            "(1 - momentum) -2-> 0.9\nmomentum * x -2-> 0.1 * x",
            "(1 - momentum) -2-> 0.9\nmomentum * x -2-> 0.1 * x\naxis=0, ddof=1 -> axis=0",
        ): "you ignored the argument momentum and always used 0.1",
        "return mean, var -> return mean, running_var": (
            "the running mean is right, but the running variance did not move"
        ),
        "return mean, var -> return var, mean": (
            "both values are right, but in the wrong order: return the mean first, then the variance"
        ),
        (
            "x.var(axis=0, ddof=1) -> ((x - mean) ** 2).sum(axis=0) / (len(x) - 1)",
            "x.var(axis=0, ddof=1) -> ((x - mean) ** 2).mean(axis=0)",
        ): ("your variance is taken around the running mean; the variance of a batch is taken around its own mean"),
        (
            "axis=0, ddof=1 -> ddof=1\nx.mean(axis=0) -> x.mean()",
            "axis=0, ddof=1 -> \nx.mean(axis=0) -> x.mean()",
        ): "you averaged over all entries of x, so the channels share one mean and variance; each has its own",
    },
)

# ------------------------------------------------------------------------------- torch_momentum_from_keras


def _momentum_cases(rng):
    fixed = [case(m) for m in (0.99, 0.9, 0.999, 0.5, 1.0, 0.0)]
    return [*fixed, case(float(rng.uniform(0.6, 0.98)), label="any")]


TORCH_MOMENTUM_FROM_KERAS = Exercise(
    solution="""
def my_torch_momentum_from_keras(keras_momentum):
    return 1 - keras_momentum
""",
    cases=_momentum_cases,
    variants=[
        lambda keras_momentum: -keras_momentum + 1.0,
        lambda keras_momentum: float(np.float32(1) - np.float32(keras_momentum)),
    ],
    mistakes={
        "return keras_momentum": (
            "you passed the number on unchanged, so 0.99 would keep 1% of the history instead of 99%"
        ),
        "return keras_momentum - 1": "your difference has the wrong sign; a momentum lies between 0 and 1",
        ("return -keras_momentum", "return 1 + keras_momentum"): (
            "your result leaves the range from 0 to 1; both momenta are weights, and the two weights add up to 1"
        ),
        "return (1 - keras_momentum) * keras_momentum": (
            "you multiplied the two weights by each other; return one of them, the weight of the new batch"
        ),
        ("return 1 - keras_momentum**2", "return keras_momentum**2"): (
            "you squared momentum; return the weight of the new batch, which needs no square"
        ),
        "return 1 / keras_momentum": (
            "you took the reciprocal; the two momenta are weights of one average, and weights add up to 1"
        ),
        (
            "return (1 - keras_momentum) / keras_momentum if keras_momentum else np.inf",
            "return (1 - keras_momentum) / keras_momentum",
        ): "you took the ratio of the two weights; return one of them, the weight of the new batch",
        "return 0.1": "you always return 0.1, PyTorch's default; a momentum of 0.99 in Keras is ten times slower",
        "return 0.01": "you always return 0.01, which fits Keras's default of 0.99 and nothing else",
        "return round(1 - keras_momentum, 2)": (
            "you rounded to two digits, which turns 0.999 into a momentum of 0 and freezes the buffers"
        ),
        "return keras_momentum / (1 - keras_momentum)": (
            "you divided one weight by the other; the two weights add up to 1, so subtract"
        ),
    },
)

# ----------------------------------------------------------------------------------------- batch_norm_eval


def _channel(v):
    return v.reshape(1, -1, 1, 1)


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
    solution="""
def my_batch_norm_eval(x, gamma, beta, running_mean, running_var, eps=1e-5):
    mean = running_mean[:, None, None]
    var = running_var[:, None, None]
    y = (x - mean) / np.sqrt(var + eps)
    return gamma[:, None, None] * y + beta[:, None, None]
""",
    cases=_eval_cases,
    tol=1e-5,
    variants=[_eval_folded, _eval_channel_by_channel, _eval_channels_last],
    mistakes={
        """running_mean[:, None, None] -> x.mean(axis=(0, 2, 3), keepdims=True)
running_var[:, None, None] -> x.var(axis=(0, 2, 3), keepdims=True)""": (
            "you normalized with the statistics of this batch; that is training mode; eval mode uses running ones"
        ),
        (
            "running_var[:, None, None] -> running_var[:, None, None] * (x[:, 0].size - 1) / x[:, 0].size",
            "running_var[:, None, None] -> running_var[:, None, None] * (len(x) - 1) / len(x)",
        ): "you turned the running variance into a biased one; eval mode uses it as it is stored",
        "running_mean[:, None, None] -> x.mean(axis=0)\nrunning_var[:, None, None] -> x.var(axis=0)": (
            "you normalized with statistics of this batch, and per pixel; eval mode uses the running ones, one "
            "per channel"
        ),
        "[:, None, None] -4-> [:, None]": (
            "your [:, None] lines the vectors up with H, the third axis; to reach the channels they need two "
            "axes of size 1 after them, one for H and one for W"
        ),
        "[:, None, None] -4-> [:, None, None, None]": (
            "your vectors line up with the first axis, N; to reach the channels they need two axes of size 1 after them, not three"
        ),
        "running_mean[:, None, None] -> x.mean(axis=(0, 2, 3), keepdims=True)": (
            "you subtracted the mean of this batch; eval mode subtracts the running mean"
        ),
        "running_var[:, None, None] -> x.var(axis=(0, 2, 3), keepdims=True)": (
            "you divided by the standard deviation of this batch; eval mode uses the running variance"
        ),
        """running_mean[:, None, None] -> 0.9 * running_mean[:, None, None] + 0.1 * x.mean(axis=(0, 2, 3), keepdims=True)
running_var[:, None, None] -> 0.9 * running_var[:, None, None] + 0.1 * x.var(axis=(0, 2, 3), keepdims=True)""": (
            "you updated the running statistics with this batch first; eval mode only reads the buffers"
        ),
        "gamma[:, None, None] -> gamma\nbeta[:, None, None] -> beta": (
            "your statistics line up with the channels, but gamma and beta of shape (C,) line up with the last "
            "axis, W; the mistake goes unnoticed when C equals W"
        ),
        **output_mistakes(y="y", gamma="gamma[:, None, None]", beta="beta[:, None, None]"),
        (
            "running_var[:, None, None] -> running_var[:, None, None] * (x.size / x.shape[1]) / "
            "max(x.size / x.shape[1] - 1, 1)"
        ): (
            "you multiplied the running variance by n / (n - 1); it was stored unbiased already, and the n of "
            "this batch has no part in it"
        ),
        "[:, None, None] -4->": (
            "your vectors of shape (C,) line up with the last axis, W, and not with the channels; the "
            "mistake goes unnoticed when C equals W"
        ),
        "[:, None, None] -4-> [None, None, :]": (
            "your axes of size 1 come before C, so the vectors line up with the last axis, W; put these axes after C"
        ),
    },
)

EXERCISES = [UPDATE_RUNNING_STATS, TORCH_MOMENTUM_FROM_KERAS, BATCH_NORM_EVAL]
