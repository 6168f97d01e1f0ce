"""Lesson 06: what does epsilon do, and what does a number format keep?"""

import tracemalloc
from math import sqrt

import numpy as np

from .checker import Exercise, Mistake, WrongKind, case, matches
from .steps import forms, mistakes_with

# ------------------------------------------------------------------------------------------- safe_rms_norm


def _safe_rms_norm(x, gamma, eps=1e-5):
    """RMSNorm over the last axis, computed in float32 whatever the dtype of x, returned in the dtype of x."""
    wide = x.astype(np.float32)
    y = wide / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + np.float32(eps)) * gamma.astype(np.float32)
    return y.astype(x.dtype)


def _safe_cases(rng):
    def one(shape, scale=1.0, dtype=np.float16, label="", **kwargs):
        x = (scale * rng.standard_normal(shape)).astype(dtype)
        return case(x, rng.uniform(0.5, 2.0, shape[-1]).astype(dtype), label=label, **kwargs)

    zeros = one((2, 4), label="a row of zeros", eps=1e-8)
    zeros.args[0][1] = 0
    spike = one((3, 16), scale=0.01, label="one large entry")
    spike.args[0][:, 0] = 3.0
    outlier = one((3, 16), label="one entry of 500")  # its square overflows float16, the mean square does not
    outlier.args[0][:, 0] = 500.0
    return [
        one((3, 5), label="small x"),
        one((4, 4), label="square x"),
        one((2, 3, 4), label="sequence"),
        one((3, 6), scale=3000.0, label="large x"),
        one((4, 8), scale=1e-4, label="tiny x", eps=1e-8),
        one((4, 8), scale=2e-3, label="rms close to eps"),
        zeros,
        spike,
        outlier,
        one((3, 5), scale=0.3, label="large eps", eps=0.5),
        one((3, 5), scale=1e4, dtype=np.float32, label="float32 x"),
    ]


def _same_dtype(result, expected, tol):
    """The usual comparison, and the dtype counts."""
    passed, text = matches(result, expected, tol)
    dtype = getattr(getattr(result, "y", result), "dtype", None)
    if passed and dtype != expected.dtype:
        return False, f"the numbers are right, but got {dtype or type(result).__name__}, expected {expected.dtype} as x"
    return passed, text


def _rms_norm_all_half(x, gamma, eps=1e-5):
    squares = x * x
    return x / np.sqrt(squares.mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma


def _rms_norm_squared_too_early(x, gamma, eps=1e-5):
    mean_square = (x * x).astype(np.float32).mean(axis=-1, keepdims=True)
    return (x.astype(np.float32) / np.sqrt(mean_square + np.float32(eps)) * gamma).astype(x.dtype)


def _rms_norm_wide_sum_only(x, gamma, eps=1e-5):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True, dtype=np.float32) + np.float32(eps)) * gamma


def _rms_norm_lost_axis(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    return (wide / np.sqrt((wide**2).mean(axis=-1) + np.float32(eps)) * gamma).astype(x.dtype)


def _rms_norm_rescaled_in_half(x, gamma, eps=1e-5):
    scaled = x / np.abs(x).max(axis=-1, keepdims=True)
    return scaled / np.sqrt((scaled * scaled).mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma


def _rms_norm_half_eps(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    rms = np.sqrt((wide**2).mean(axis=-1, keepdims=True) + np.float32(x.dtype.type(eps)))
    return (wide / rms * gamma).astype(x.dtype)


def _rms_norm_half_divisor(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    divisor = ((wide**2).mean(axis=-1, keepdims=True) + np.float32(eps)).astype(x.dtype)
    return (x / np.sqrt(divisor) * gamma).astype(x.dtype)


def _rms_norm_not_cast_back(x, gamma, eps=1e-5):
    return _safe_rms_norm(x.astype(np.float32), gamma, eps)


def _rms_norm_always_half(x, gamma, eps=1e-5):
    return _safe_rms_norm(x, gamma, eps).astype(np.float16)


def _rms_norm_eps_after_rescaling(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    scaled = wide / np.maximum(np.abs(wide).max(axis=-1, keepdims=True), np.float32(1e-30))
    return _safe_rms_norm(scaled, gamma, eps).astype(x.dtype)


def _rms_norm_zero_maximum(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    largest = np.abs(wide).max(axis=-1, keepdims=True)
    scaled = wide / largest
    return (scaled / np.sqrt((scaled**2).mean(axis=-1, keepdims=True) + eps / largest**2) * gamma).astype(x.dtype)


def _rms_norm_clipped(x, gamma, eps=1e-5):
    return _safe_rms_norm(np.clip(x, -255, 255), gamma, eps).astype(x.dtype)


def _rms_norm_eps_outside(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    return (wide / (np.sqrt((wide**2).mean(axis=-1, keepdims=True)) + np.float32(eps)) * gamma).astype(x.dtype)


# (x in float32, eps) -> y
RMS_DIVISORS = [
    (
        lambda x, eps: x / np.sqrt((x**2).mean(keepdims=True) + eps),
        "you averaged over all entries of x, so the rows share one rms; each row has its own",
    ),
    (
        lambda x, eps: x / np.sqrt((x**2).mean(axis=0, keepdims=True) + eps),
        "you averaged over axis 0, across the batch; RMSNorm averages over the last axis, within each row",
    ),
    (
        lambda x, eps: x / ((x**2).mean(axis=-1, keepdims=True) + eps),
        "you divided by the mean square; the rms is its root",
    ),
    (
        lambda x, eps: x / np.sqrt(x.var(axis=-1, keepdims=True) + eps),
        "you divided by the standard deviation, which subtracts the mean; RMSNorm takes the mean of x² as it is",
    ),
    (
        lambda x, eps: x / np.sqrt(x.mean(axis=-1, keepdims=True) ** 2 + eps),
        "you squared the mean of x; square first, then take the mean",
    ),
    (
        lambda x, eps: x * np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps),
        "you multiplied by the rms; divide by it",
    ),
    (
        lambda x, eps: x / np.sqrt((x**2).mean(axis=-1, keepdims=True)) + eps,
        "your epsilon is added after the division; put the mean square + eps in parentheses, under the root",
    ),
]


def _rms_norm_by(divide):
    """RMSNorm in float32 with another division: divide(x, eps)."""

    def attempt(x, gamma, eps=1e-5):
        return (divide(x.astype(np.float32), eps) * gamma).astype(x.dtype)

    return attempt


def _rms_norm_sum(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    return (wide / np.sqrt((wide**2).sum(axis=-1, keepdims=True) + np.float32(eps)) * gamma).astype(x.dtype)


def _rms_norm_centered(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    return _safe_rms_norm(wide - wide.mean(axis=-1, keepdims=True), gamma, eps).astype(x.dtype)


def _safe_rms_norm_float64(x, gamma, eps=1e-5):
    wide = np.array(x, dtype=np.float64)
    mean_square = np.einsum("...i,...i->...", wide, wide)[..., None] / x.shape[-1]
    return np.array(gamma * wide * (mean_square + eps) ** -0.5, dtype=x.dtype)


def _safe_rms_norm_rescaled(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    largest = np.maximum(np.abs(wide).max(axis=-1, keepdims=True), np.float32(1e-6))
    scaled = wide / largest
    rms = np.sqrt((scaled**2).mean(axis=-1, keepdims=True) + np.float32(eps) / largest**2)
    return (scaled / rms).astype(x.dtype) * gamma  # cast down before the weight, as LLaMA does


SAFE_RMS_NORM = Exercise(
    name="my_safe_rms_norm",
    signature="my_safe_rms_norm(x, gamma, eps=1e-5)",
    reference=_safe_rms_norm,
    cases=_safe_cases,
    tol=2e-3,
    compare=_same_dtype,
    variants=[_safe_rms_norm_float64, _safe_rms_norm_rescaled],
    mistakes=[
        Mistake(
            _rms_norm_all_half,
            "you computed in the dtype of x: in float16 a square above 65504 is inf, a small one is 0, and so is "
            "eps = 1e-8",
        ),
        Mistake(
            _rms_norm_squared_too_early,
            "you squared in float16 and cast up afterwards, when the squares were already inf or 0",
        ),
        Mistake(
            _rms_norm_wide_sum_only,
            "you squared in float16; dtype=np.float32 in the mean helps the sum, not the squares that go into it",
        ),
        Mistake(
            _rms_norm_lost_axis,
            "your mean square lost the axis you averaged over, so it no longer lines up with the rows of x; keep it "
            "with size 1",
        ),
        Mistake(
            _rms_norm_rescaled_in_half,
            "you divided x by its largest entry and stayed in float16: the same eps now weighs differently, and a row "
            "of zeros is 0 / 0",
        ),
        Mistake(
            _rms_norm_half_eps,
            "you rounded eps to float16, where 1e-8 is 0, so a row of zeros gives 0 / 0",
        ),
        Mistake(
            _rms_norm_half_divisor,
            "you cast the mean square back to float16 before the root; it reaches beyond 65504 and below 6e-8, so "
            "the division belongs to float32 too",
        ),
        Mistake(
            _rms_norm_not_cast_back,
            "the numbers are right, but you did not cast them back: float16 went in and float32 comes out",
        ),
        Mistake(
            _rms_norm_always_half,
            "you always return float16; the result has the dtype of x, and x can be float32",
        ),
        Mistake(
            _rms_norm_eps_after_rescaling,
            "you divided x by its largest entry and then added the same eps; that multiplies eps by the square of "
            "that entry",
        ),
        Mistake(
            _rms_norm_zero_maximum,
            "you divided by the largest entry, which is 0 in a row of zeros",
        ),
        Mistake(
            _rms_norm_clipped,
            "you clipped x so that its square is finite; that changes the data, a wider dtype does not",
        ),
        Mistake(
            _rms_norm_eps_outside,
            "your epsilon is outside the root: you added it to the rms, it belongs to the mean square",
        ),
        Mistake(
            lambda x, gamma, eps=1e-5: _safe_rms_norm(x, gamma, 0.0),
            "you left out epsilon",
        ),
        Mistake(
            lambda x, gamma, eps=1e-5: _safe_rms_norm(x, gamma),
            "you ignored the argument eps and always used 1e-5",
        ),
        Mistake(
            lambda x, gamma, eps=1e-5: _safe_rms_norm(x, np.ones_like(gamma), eps),
            "you did not multiply by gamma",
        ),
        *mistakes_with(_rms_norm_by, RMS_DIVISORS),
        Mistake(_rms_norm_sum, "you took the sum of the squares; the rms is the root of their mean"),
        Mistake(_rms_norm_centered, "you subtracted the mean; RMSNorm only divides"),
    ],
)

# ------------------------------------------------------------------------------------------------- welford


def _welford(values):
    """Mean and biased variance of numbers that can be read only once, one after the other (Welford 1962)."""
    n, mean, m2 = 0, 0.0, 0.0
    for value in values:
        n += 1
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
    return mean, m2 / n


def _welford_cases(rng):
    return [
        case(rng.normal(2.0, 1.5, 5).tolist(), label="five numbers"),
        case([3.0], label="one number"),
        case(rng.normal(-4.0, 3.0, 40).tolist(), label="negative mean"),
        case(rng.normal(0.0, 1e-4, 12).tolist(), label="tiny numbers"),
        case([7.5] * 6, label="constant"),
        case((1e9 + rng.standard_normal(60)).tolist(), label="large mean"),
        case(MANY, label="a long stream"),
    ]


MANY = 5000  # numbers of the long stream; as an array they are 40 kB
MEMORY = 20_000  # bytes; a mean, a sum of squares and a count need some hundred
KEEPS = "it needs more memory for a longer stream, so it keeps the values"


def _run_welford(attempt, values):
    """The attempt gets an iterator: there is no second pass. On the long stream its memory is measured."""
    if values != MANY:
        return attempt(iter(values))
    result, memory = _with_memory(attempt)
    if memory > MEMORY and _with_memory(attempt)[1] > MEMORY:  # twice, for another thread may have used the memory
        raise WrongKind(KEEPS)
    return result


def _with_memory(attempt):
    """The answer for the long stream, and how many bytes were in use at most on the way."""
    stream = (0.5 + (7 * k % 11) for k in range(MANY))
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = attempt(stream)
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()


def _online(step, finish=lambda n, mean, m2: (mean, m2 / n)):
    """A one-pass function from its step (n, mean, m2, value) -> (mean, m2); n counts the value."""

    def attempt(values):
        n, mean, m2 = 0, 0.0, 0.0
        for value in values:
            n += 1
            mean, m2 = step(n, mean, m2, value)
        return finish(n, mean, m2)

    return attempt


def _step(n, mean, m2, value):
    new_mean = mean + (value - mean) / n
    return new_mean, m2 + (value - mean) * (value - new_mean)


def _step_old_mean_twice(n, mean, m2, value):
    return mean + (value - mean) / n, m2 + (value - mean) ** 2


def _step_new_mean_twice(n, mean, m2, value):
    new_mean = mean + (value - mean) / n
    return new_mean, m2 + (value - new_mean) ** 2


def _step_late_count(n, mean, m2, value):
    new_mean = mean + (value - mean) / (n + 1)
    return new_mean, m2 + (value - mean) * (value - new_mean)


def _step_without_count(n, mean, m2, value):
    return value, m2 + (value - mean) * 0.0


def _step_without_parentheses(n, mean, m2, value):
    new_mean = mean + value - mean / n
    return new_mean, m2 + (value - mean) * (value - new_mean)


def _step_replaces_m2(n, mean, m2, value):
    return _step(n, mean, 0.0, value)


def _one_pass_means(values):
    n, total, squares = 0, 0.0, 0.0
    for value in values:
        n, total, squares = n + 1, total + value, squares + value * value
    mean = total / n
    return mean, squares / n - mean * mean


def _all_kept(values):
    values = list(values)
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def _read_as_an_array(values):
    values = np.array(values)
    return values.mean(), values.var()


def _two_passes_over_an_iterator(values):
    n, total, m2 = 0, 0.0, 0.0
    for value in values:
        n, total = n + 1, total + value
    mean = total / n
    for value in values:
        m2 += (value - mean) ** 2
    return mean, m2 / n


def _stopped_after_one(values):
    return next(values), 0.0


def _counted_too_late(values):
    raise ZeroDivisionError


def _welford_running_variance(values):
    mean = var = 0.0
    for k, value in enumerate(values, start=1):
        before, mean = mean, mean + (value - mean) / k
        var += ((value - before) * (value - mean) - var) / k
    return mean, var


def _welford_weighted(values):
    mean, m2, k = 0.0, 0.0, 0
    for value in values:
        delta = value - mean
        m2 += delta * delta * k / (k + 1)
        k += 1
        mean += delta / k
    return [mean, m2 / k]


def _welford_shifted(values):
    shift, n, total, squares = None, 0, 0.0, 0.0
    for value in values:
        shift = value if shift is None else shift
        n, total, squares = n + 1, total + (value - shift), squares + (value - shift) ** 2
    return shift + total / n, squares / n - (total / n) ** 2


WELFORD = Exercise(
    name="my_welford",
    signature="my_welford(values)",
    reference=_welford,
    cases=_welford_cases,
    results=("mean", "variance"),
    run=_run_welford,
    variants=[_welford_running_variance, _welford_weighted, _welford_shifted],
    mistakes=[
        Mistake(
            _one_pass_means,
            "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits "
            "cancel; add up squared distances to the running mean",
            wrong_anyhow="large mean",
        ),
        Mistake(
            _all_kept,
            "you keep all values, in a list or an array; use each value once and keep only the count, the mean and "
            "the sum of squares",
        ),
        *forms(
            "an iterator is not an array: it has no length and no mean; take the values one by one with a for loop",
            _read_as_an_array,
            lambda values: (values.mean(), values.var()),
        ),
        Mistake(
            _stopped_after_one,
            "you return after the first value; does a return stand inside the loop?",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (n, mean, m2)),
            "you returned the count too; asked are the mean and the variance",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (mean, m2 / (n + 1))),
            "your count is one too large at the end; start it at 0 and raise it before it divides",
        ),
        Mistake(
            _online(
                lambda n, mean, m2, value: (_step(n, mean, m2, value)[0], m2 + _step(n, mean, 0.0, value)[1] / n),
                lambda n, mean, m2: (mean, m2),
            ),
            "you divided every step of the sum of squares by its own count; add up first and divide once, at the end",
        ),
        Mistake(
            _counted_too_late,
            "you raise the count after it has divided, so the first value is divided by 0; raise it first",
        ),
        Mistake(
            _two_passes_over_an_iterator,
            "you read the values twice; an iterator is empty after the first time, so the second loop adds nothing",
        ),
        Mistake(
            _online(_step_old_mean_twice),
            "you squared the distance to the old mean; one factor is the distance to the old mean, the other to the "
            "new one",
        ),
        Mistake(
            _online(_step_new_mean_twice),
            "you squared the distance to the new mean; one factor is the distance to the old mean, the other to the "
            "new one",
        ),
        Mistake(
            _online(_step_late_count),
            "your count is one too large when it divides, so every value gets too little weight; the first value "
            "must become the mean",
        ),
        Mistake(
            _online(_step_without_count),
            "you added the whole distance to the mean, so the mean is always the last value; divide it by the count",
        ),
        Mistake(
            _online(_step_without_parentheses),
            "without parentheses only the old mean is divided: a quotient is computed before a difference",
        ),
        Mistake(
            _online(lambda n, mean, m2, value: ((mean + value) / 2, _step(n, mean, m2, value)[1])),
            "you halved the way to every value, so the last ones count most; the way to the n-th value is divided by n",
        ),
        Mistake(
            _online(_step_replaces_m2),
            "you replaced the sum of squares at every step; it has to grow",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (mean, m2 / (n - 1) if n > 1 else 0.0)),
            "you divided by n - 1; normalization uses the biased variance, divided by n",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (mean, m2)),
            "you returned the sum of squares; divide it by the count",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (mean, sqrt(m2 / n))),
            "you returned the standard deviation; asked is the variance",
        ),
        Mistake(
            _online(_step, lambda n, mean, m2: (m2 / n, mean)),
            "you returned the variance first; the order is mean, variance",
        ),
    ],
)

# ----------------------------------------------------------------------------------------- merge_variances


def _merge_variances(a, b):
    """(n, mean, m2) of two parts together; m2 is the sum of squared deviations (Chan, Golub & LeVeque 1979)."""
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    n = n_a + n_b
    delta = mean_b - mean_a
    return n, mean_a + delta * (n_b / n), m2_a + m2_b + delta**2 * (n_a * n_b / n)


def _summary_of(x):
    mean = x.mean(axis=-1)
    m2 = ((x - mean[..., None]) ** 2).sum(axis=-1)
    return (x.shape[-1], float(mean), float(m2)) if x.ndim == 1 else (x.shape[-1], mean, m2)


def _merge_cases(rng):
    def one(n_a, n_b, mean=0.0, shift=4.0, label="", channels=()):
        a = mean + rng.standard_normal((*channels, n_a))
        b = mean + shift + 2.0 * rng.standard_normal((*channels, n_b))
        return case(_summary_of(a), _summary_of(b), label=label)

    return [
        one(6, 6, label="equal sizes"),
        one(9, 4, label="different sizes"),
        one(1, 8, label="one value and eight"),
        one(5, 12, shift=0.0, label="almost equal means"),
        one(7, 3, mean=1e8, label="large mean"),
        one(4, 10, channels=(3,), label="three channels"),
        case((0, 0.0, 0.0), _summary_of(3.0 + rng.standard_normal(5)), label="an empty part"),
    ]


def _merged(mean=None, m2=None, n=None):
    """The right merge, but for the parts given: functions of (n_a, mean_a, m2_a, n_b, mean_b, m2_b)."""

    def attempt(a, b):
        all_six = (*a, *b)
        right = _merge_variances(a, b)
        return tuple(value if f is None else f(*all_six) for value, f in zip(right, (n, mean, m2), strict=True))

    return attempt


def _weighted_mean(n_a, mean_a, n_b, mean_b):
    return mean_a + (mean_b - mean_a) * (n_b / (n_a + n_b))


def _merge_by_sums(a, b):
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    n = n_a + n_b
    mean = (n_a * mean_a + n_b * mean_b) / n
    squares = (m2_a + n_a * mean_a**2) + (m2_b + n_b * mean_b**2)
    return n, mean, squares - n * mean**2


def _merge_to_the_mean(a, b):
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    n = n_a + n_b
    mean = (n_a * mean_a + n_b * mean_b) / n
    return n, mean, m2_a + n_a * (mean_a - mean) ** 2 + m2_b + n_b * (mean_b - mean) ** 2


def _merge_from_b(a, b):
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    delta = mean_a - mean_b
    mean = mean_b + delta * n_a / (n_a + n_b)
    return [n_a + n_b, mean, m2_b + m2_a + delta * (mean_a - mean) * n_a]


MERGE_VARIANCES = Exercise(
    name="my_merge_variances",
    signature="my_merge_variances(a, b)",
    reference=_merge_variances,
    cases=_merge_cases,
    results=("n", "mean", "m2"),
    variants=[_merge_to_the_mean, _merge_from_b],
    mistakes=[
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b),
            "you added the two sums of squares and nothing else; the distance between the two means is spread too",
        ),
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (m2_a + m2_b) / 2),
            "you averaged the two sums of squares; sums are added, and the distance between the means comes on top",
        ),
        Mistake(
            _merged(
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (
                    m2_a + m2_b + (mean_b - mean_a) * n_a * n_b / (n_a + n_b)
                )
            ),
            "you did not square the distance between the means",
        ),
        Mistake(
            _merged(
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (
                    m2_a + m2_b + (mean_a - mean_b) * n_a * n_b / (n_a + n_b)
                )
            ),
            "you did not square the distance between the means, so it can even be negative",
        ),
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (n_a * m2_a + n_b * m2_b) / (n_a + n_b)),
            "you weighed the two sums of squares by their counts, as if they were variances; sums are added, and the "
            "distance between the means comes on top",
        ),
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b + (mean_b - mean_a) ** 2),
            "you added the squared distance between the means without its weight; it depends on both counts",
        ),
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b + (mean_b - mean_a) ** 2 * n_a * n_b),
            "your weight of the squared distance is the product of the counts; divide it by the total count",
        ),
        Mistake(
            _merged(
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b + (mean_b - mean_a) ** 2 * (n_a + n_b) / 4
            ),
            "your weight of the squared distance is right only when the two parts are equally large",
        ),
        Mistake(
            _merged(
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (
                    (m2_a + m2_b + (mean_b - mean_a) ** 2 * n_a * n_b / (n_a + n_b)) / (n_a + n_b)
                )
            ),
            "you returned the variance in the third place; asked is m2, the sum of squares, so that a merge can be "
            "merged again",
        ),
        Mistake(
            _merged(mean=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (mean_a + mean_b) / 2),
            "your mean is the plain average of the two means; the larger part counts for more",
        ),
        Mistake(
            _merged(mean=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: _weighted_mean(n_b, mean_a, n_a, mean_b)),
            "your mean has the weights swapped: each mean is weighed by its own count",
        ),
        Mistake(
            _merged(
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (
                    (n_a * m2_a + n_b * m2_b) / (n_a + n_b) + (mean_b - mean_a) ** 2 * n_a * n_b / (n_a + n_b) ** 2
                )
            ),
            "your formula merges variances; a and b hold sums of squares, which are added, and only the distance of "
            "the means gets a weight",
        ),
        Mistake(
            _merged(m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b + (mean_b - mean_a) ** 2 * (n_a + n_b)),
            "you weighed the squared distance between the means by the total count; its weight is the product of the "
            "counts divided by their sum",
        ),
        Mistake(
            lambda a, b: _merge_variances(a, b)[1:],
            "you left out the count; return n, mean and m2, so that the result can be merged again",
        ),
        Mistake(
            lambda a, b: (lambda n, mean, m2: (mean, n, m2))(*_merge_variances(a, b)),
            "you returned the mean first; the order is n, mean, m2",
        ),
        Mistake(
            lambda a, b: (lambda n, mean, m2: (mean, m2 / n))(*_merge_variances(a, b)),
            "you returned the mean and the variance; asked are n, mean and m2, so that the result can be merged again",
        ),
        Mistake(
            lambda a, b: a + b,
            "+ puts two tuples behind each other; take them apart first: n_a, mean_a, m2_a = a",
        ),
        Mistake(
            _merged(mean=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: mean_a + mean_b),
            "you added the two means; the mean of both is between them",
        ),
        Mistake(
            _merged(
                mean=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: (mean_a + mean_b) / 2,
                m2=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: m2_a + m2_b,
            ),
            "two things at once: the larger part counts for more in the mean, and the distance between the two means "
            "is spread too",
        ),
        Mistake(
            lambda a, b: (lambda n, mean, m2: (n, mean, np.sqrt(m2)))(*_merge_variances(a, b)),
            "you took the root of m2; asked is the sum of squares itself",
        ),
        Mistake(
            _merge_by_sums,
            "you went back to sums of x squared; with a large mean the digits cancel, as in the one-pass formula",
        ),
        Mistake(
            _merged(n=lambda n_a, mean_a, m2_a, n_b, mean_b, m2_b: max(n_a, n_b)),
            "your count is that of one part; both parts count",
        ),
    ],
)

EXERCISES = [SAFE_RMS_NORM, WELFORD, MERGE_VARIANCES]
