"""Lesson 06: what does epsilon do, and what does a number format keep?"""

import tracemalloc

import numpy as np

from ...exercises import Exercise, WrongKind, case
from ...exercises.shared import same_dtype


def _safe_cases(rng):
    def one(shape, scale=1.0, dtype=np.float16, first=None, **kwargs):
        x = (scale * rng.standard_normal(shape)).astype(dtype)
        x[..., 0] = x[..., 0] if first is None else first
        return case(x, rng.uniform(0.5, 2.0, shape[-1]).astype(dtype), **kwargs)

    return [
        one((2, 3, 4), label="sequence"),
        one((3, 6), scale=3000.0, label="large x"),
        one((4, 8), scale=1e-4, label="tiny x", eps=1e-8),
        one((4, 8), scale=2e-3, label="rms close to eps"),
        one((2, 4), scale=0.0, label="zeros", eps=1e-8),
        one((3, 16), scale=0.01, first=3.0, label="one large entry"),
        one((3, 16), first=500.0, label="one entry of 500"),  # only its square overflows, the mean square does not
        one((3, 5), scale=0.3, label="large eps", eps=0.5),
        one((3, 5), scale=1e4, dtype=np.float32, label="float32 x"),
    ]


SAFE_RMS_NORM = Exercise(
    solution="""
def my_safe_rms_norm(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    rms = np.sqrt((wide**2).mean(axis=-1, keepdims=True) + eps)  # the root mean square
    return (wide / rms * gamma).astype(x.dtype)  # the output
""",
    cases=_safe_cases,
    tol=2e-3,
    compare=same_dtype,
    variants=["np.float32 -> np.float64\n(wide / rms * gamma).astype(x.dtype) -> (wide / rms).astype(x.dtype) * gamma"],
    worked=[
        # mean square 25, with eps 36
        (case(np.float32([[[1, 7]]]), np.float32([6, 12]), eps=11), [[[1, 14]]]),
        (case(np.float16([[300, -300]]), np.float16([1, 2])), [[1, -2]]),
        # the variance 3e-5 and the usual eps add up to 4e-5
        (case(np.float32([np.sqrt(3e-5)]), np.float32([1])), [np.sqrt(3 / 4)]),
    ],
    mistakes={
        "x.astype(np.float32) -> x": "you computed in float16, where large squares are inf, small ones 0, as is 1e-8",
        (
            "(wide**2).mean -> (x * x).astype(np.float32).mean",
            "return x / np.sqrt((x * x).mean(axis=-1, keepdims=True, dtype=np.float32) + np.float32(eps)) * gamma",
        ): "you squared in float16; casting the squares or their sum is too late, they are already inf or 0",
        "+ eps) -> + np.float32(x.dtype.type(eps)))": "you rounded eps to float16, where 1e-8 is 0; zeros give 0 / 0",
        "(wide / rms * gamma).astype(x.dtype) -> wide / rms * gamma": "you did not cast back to the dtype of x",
        "+ x = np.clip(x, -255, 255)": "you clipped x, which changes the data; a wider dtype changes nothing",
    },
)

MANY = 5000  # numbers of the long stream; as an array they are 40 kB
MEMORY = 20_000  # bytes; a mean, a sum of squared deviations and a count need some hundred


def _welford_cases(rng):
    return [
        case(rng.normal(2.0, 1.5, 5).tolist(), label="five numbers"),
        case([3.0], label="one number"),
        case(rng.normal(0.0, 1e-4, 12).tolist(), label="tiny numbers"),
        case((1e9 + rng.standard_normal(60)).tolist(), label="large mean"),
        case(MANY, label="a long stream"),
    ]


def _run_welford(attempt, values):
    """The attempt gets an iterator: there is no second pass. On the long stream its memory is measured."""
    if values != MANY:
        return attempt(iter(values))
    result, memory = _with_memory(attempt)
    if memory > MEMORY and _with_memory(attempt)[1] > MEMORY:  # twice, for another thread may have used the memory
        raise WrongKind("it needs more memory for a longer stream, so it keeps the values")
    return result


def _with_memory(attempt):
    """The answer for the long stream, and how many bytes were in use at most on the way."""
    stream = (0.5 + (7 * k % 11) for k in range(MANY))
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()  # does nothing if it traces already
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = attempt(stream)
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()


WELFORD = Exercise(
    solution="""
def my_welford(values):
    n = 0  # the count at the start
    mean = 0.0
    m2 = 0.0
    for value in values:
        n += 1  # the count
        delta = value - mean  # the distance to the old mean
        mean += delta / n  # the mean
        m2 += delta * (value - mean)  # the sum of squared deviations
    return mean, m2 / n  # the result
""",
    cases=_welford_cases,
    results=("mean", "variance"),
    run=_run_welford,
    variants=["m2 += delta * (value - mean) -> m2 += (delta * (value - mean) - m2) / n\nm2 / n  # -> m2  #"],
    worked=[
        (case([1, 2, 3, 6]), (3, 3.5)),
        (case([1e9, 1e9 + 2]), (1e9 + 1, 1)),
        (case([1e-20, 3e-20]), (2e-20, 1e-40)),
    ],
    mistakes={
        "mean += delta / n -> mean += value\ndelta * (value - mean) -> value**2\n"
        "return mean, m2 / n -> return mean / n, m2 / n - (mean / n) ** 2": (
            "mean(x²) − mean(x)² loses its digits if the mean is large; add up old distance times new distance"
        ),
        "m2 / n -> m2 / (n + 1)": "your count is one too large at the end; start it at 0 and add 1 before you divide",
        "return next(values), 0.0": "you return after the first value; is there a return inside the loop?",
        "delta = value - mean -> mean += value\nmean += delta / n -> pass\nm2 += delta * (value - mean) -> pass\n"
        "return mean, m2 / n -> return mean / n, sum((value - mean / n) ** 2 for value in values)": (
            "you read the values twice; an iterator is empty after the first time, so the second loop adds nothing"
        ),
        ("delta * (value - mean) -> delta**2", "delta * (value - mean) -> (value - mean) ** 2"): (
            "you squared one distance; one factor is the distance to the old mean, the other to the new one"
        ),
        ("m2 / n -> m2 / (n - 1) if n > 1 else 0.0", "m2 / n -> m2 / (n - 1)"): "you divided by n - 1; divide by n",
    },
)


def _merge_cases(rng):
    def part(*shape, mean=0.0, scale=2.0):
        x = mean + scale * rng.standard_normal(shape)
        return shape[-1], x.mean(axis=-1), shape[-1] * x.var(axis=-1)

    return [
        case(part(6), part(6, mean=4), label="equal sizes"),
        case(part(9), part(4, mean=4), label="different sizes"),
        case(part(7, mean=1e8), part(3, mean=1e8), label="large mean"),
        case(part(3, 4), part(3, 10, mean=4), label="three channels"),
        case((0, 0.0, 0.0), part(5, mean=3), label="an empty first part"),
        case(part(5, mean=3), (0, 0.0, 0.0), label="an empty second part"),
    ]


MERGE_VARIANCES = Exercise(
    solution="""
def my_merge_variances(a, b):
    n_a, mean_a, m2_a = a
    n_b, mean_b, m2_b = b
    n = n_a + n_b  # the count
    delta = mean_b - mean_a  # the distance between the means
    mean = mean_a + delta * n_b / n  # the mean
    m2 = m2_a + m2_b + delta**2 * n_a * n_b / n  # the sum of squared deviations
    return n, mean, m2
""",
    cases=_merge_cases,
    results=("n", "mean", "m2"),
    variants=["delta**2 * n_a * n_b / n -> n_a * (mean_a - mean) ** 2 + n_b * (mean_b - mean) ** 2"],
    worked=[(case((2, 2.0, 2.0), (3, 7.0, 8.0)), (5, 5, 40))],  # of 1, 3 and of 5, 7, 9
    mistakes={
        (
            "m2_b + delta**2 * n_a * n_b / n -> m2_b",
            "m2_b + delta**2 * n_a * n_b / n -> m2_b\nmean_a + delta * n_b / n -> (mean_a + mean_b) / 2",
        ): "you only added the m2 of both parts; the distance between the two means adds to m2 too",
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> (n_a * m2_a + n_b * m2_b) / n + delta**2 * n_a * n_b / n**2": (
            "you weighted the m2 of both parts, as for variances; they are sums, so add them as they are"
        ),
        "return n, mean, m2 -> return n, mean, m2 / n": "you returned the variance; return m2, to be merged again",
        "mean_a + delta * n_b / n -> (mean_a + mean_b) / 2": "you averaged the two means; the larger part weighs more",
    },
)

EXERCISES = [SAFE_RMS_NORM, WELFORD, MERGE_VARIANCES]
