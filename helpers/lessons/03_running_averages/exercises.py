"""Lesson 03: what pushed the scores?"""

from ...exercises import Exercise, case
from ...exercises.shared import by_hand


def _update_cases(rng):
    def one(shape, *, mean=0.0, scale=1.0, **kwargs):
        """Random buffers that are neither 0 and 1 nor the statistics of x."""
        running_mean, running_var = rng.uniform(1.0, 2.0, shape[1]), rng.uniform(2.0, 3.0, shape[1])
        return case(running_mean, running_var, mean + scale * rng.standard_normal(shape), **kwargs)

    return [
        one((5, 3), label="small batch"),
        one((4, 4), label="square x", momentum=0.3),
        one((2, 3), label="two samples", momentum=0.25),
        one((7, 2), mean=1e8, scale=3.0, label="large mean", momentum=0.01),
        one((3, 2), label="momentum 0", momentum=0.0),
    ]


UPDATE_RUNNING_STATS = Exercise(
    solution="""
def my_update_running_stats(running_mean, running_var, x, momentum=0.1):
    batch_mean = x.mean(axis=0)  # the mean of the batch
    batch_var = x.var(axis=0, ddof=1)  # the variance of the batch
    mean = (1 - momentum) * running_mean + momentum * batch_mean  # the new mean
    var = (1 - momentum) * running_var + momentum * batch_var  # the new variance
    return mean, var
""",
    cases=_update_cases,
    results=("running mean", "running variance"),
    variants=[
        "(1 - momentum) * running_mean + momentum * batch_mean -> running_mean + momentum * (batch_mean - running_mean)"
    ],
    worked=[
        # batch means 10 and 2, variances 2 and 8, divided by n - 1 = 1
        (by_hand([1, 0], [1, 1], [[9, 0], [11, 4]], momentum=0.5), ([5.5, 1], [1.5, 4.5])),
        (by_hand([0], [1], [[9], [11]]), ([1], [1.1])),
    ],
    mistakes={
        (
            "(1 - momentum) -2-> momentum\nmomentum * batch -2-> (1 - momentum) * batch",
            "(1 - momentum) -2-> momentum\nmomentum * batch -2-> (1 - momentum) * batch\naxis=0, ddof=1 -> axis=0",
        ): "you gave momentum to the old value, as Keras does; in PyTorch it is the weight of the new batch",
        "axis=0, ddof=1 -> axis=0": "you stored the variance over n; PyTorch stores the one over n - 1",
        "return x.mean(axis=0), x.var(axis=0, ddof=1)": "you returned this batch's statistics; mix them with the old ones",
        "(1 - momentum) * running -2-> running": "you did not shrink the old value; the two weights must add up to 1",
        (
            "* batch_var -> * ((x - mean) ** 2).sum(axis=0) / (len(x) - 1)",
            "* batch_var -> * ((x - running_mean) ** 2).sum(axis=0) / (len(x) - 1)",
        ): "you measured the batch's variance around a running mean; take it around the batch's own mean",
    },
)


TORCH_MOMENTUM_FROM_KERAS = Exercise(
    solution="""
def my_torch_momentum_from_keras(keras_momentum):
    return 1 - keras_momentum
""",
    cases=lambda rng: [case(m) for m in (0.99, 0.9, 0.9997, 0.73, 0.5, 1.0, 0.0)],
    variants=["return -keras_momentum + 1.0"],
    worked=[(case(0.99), 0.01)],
    mistakes={
        "return keras_momentum": "you passed the number on unchanged; 0.99 would keep 1% of the history, not 99%",
        ("return 1 / keras_momentum", "return (1 - keras_momentum) / keras_momentum"): (
            "you divided; the two momenta are weights of one average, and weights add up to 1"
        ),
        ("return 0.1", "return 0.01"): "you always return a default; the answer depends on the momentum in Keras",
    },
)


def _eval_cases(rng):
    def one(shape, *, mean=0.0, scale=1.0, **kwargs):
        """Stored statistics that differ from those of the batch; gamma and beta are never 1 and 0."""
        gamma, beta, stored_var = rng.uniform(0.5, 2.0, (3, shape[1]))
        stored_mean = mean + rng.uniform(0.5, 1.5, shape[1])
        x = stored_mean[:, None, None] + scale * (1 + 1.5 * rng.standard_normal(shape))
        return case(x, gamma, beta, stored_mean, scale**2 * stored_var, **kwargs)

    return [
        one((4, 3, 2, 5), label="C and W differ"),
        one((3, 4, 2, 4), label="C equals W"),
        one((3, 3, 3, 3), label="all equal"),
        one((2, 3, 4, 5), mean=1e8, label="large mean"),
        one((2, 3, 2, 2), scale=1e-3, label="tiny variance"),
        one((2, 3, 2, 4), eps=0.5, label="large eps"),
    ]


BATCH_NORM_EVAL = Exercise(
    solution="""
def my_batch_norm_eval(x, gamma, beta, running_mean, running_var, eps=1e-5):
    mean = running_mean[:, None, None]  # the mean
    var = running_var[:, None, None]  # the variance
    y = (x - mean) / np.sqrt(var + eps)  # the normalized values
    return gamma[:, None, None] * y + beta[:, None, None]  # the scale and shift
""",
    cases=_eval_cases,
    tol=1e-5,
    variants=[
        "scale = gamma / np.sqrt(running_var + eps); return x * scale[:, None, None] + (beta - running_mean * scale)[:, None, None]"
    ],
    worked=[
        # means 1 and 1, variances 1 and 13: roots 2 and 4
        (by_hand([[[[1, 3]], [[5, 9]]]], [2, 10], [100, 200], [1, 1], [1, 13], eps=3), [[[[100, 102]], [[210, 220]]]]),
        # the usual eps: 2.6e-5 and 1e-5 make a root of 0.006
        (by_hand([[[[0.006]]]], [1], [0], [0], [2.6e-5]), [[[[1]]]]),
    ],
    mistakes={
        "running_mean[:, None, None] -> x.mean(axis=(0, 2, 3), keepdims=True)\n"
        "running_var[:, None, None] -> x.var(axis=(0, 2, 3), keepdims=True)": (
            "you normalized with the statistics of this batch; that is training mode; eval mode uses running ones"
        ),
        "running_var[:, None, None] -> running_var[:, None, None] * (1 - len(gamma) / x.size)": (
            "you turned the running variance into a biased one; eval mode uses it as it is stored"
        ),
        ("[:, None, None] -4->", "gamma[:, None, None] -> gamma\nbeta[:, None, None] -> beta"): (
            "vectors of shape (C,) line up with the last axis, W; it goes unnoticed when C equals W"
        ),
    },
)

EXERCISES = [UPDATE_RUNNING_STATS, TORCH_MOMENTUM_FROM_KERAS, BATCH_NORM_EVAL]
