"""Lesson 06: what does epsilon do, and what does a number format keep?"""

import tracemalloc

import numpy as np

from ...exercises import Exercise, Says, WrongKind, case
from ...exercises.checker import matches

# ------------------------------------------------------------------------------------------- safe_rms_norm


def _safe_cases(rng):
    def one(shape, scale=1.0, dtype=np.float16, label="", **kwargs):
        x = (scale * rng.standard_normal(shape)).astype(dtype)
        return case(x, rng.uniform(0.5, 2.0, shape[-1]).astype(dtype), label=label, **kwargs)

    zeros = one((2, 4), label="a vector of zeros", eps=1e-8)
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
        return (
            False,
            f"the numbers are right, but got {dtype or type(result).__name__}, expected {expected.dtype}, as in x",
        )
    return passed, text


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
    solution="""
def my_safe_rms_norm(x, gamma, eps=1e-5):
    wide = x.astype(np.float32)
    rms = np.sqrt((wide**2).mean(axis=-1, keepdims=True) + eps)
    return (wide / rms * gamma).astype(x.dtype)
""",
    cases=_safe_cases,
    tol=2e-3,
    compare=_same_dtype,
    variants=[_safe_rms_norm_float64, _safe_rms_norm_rescaled],
    mistakes={
        (
            "x.astype(np.float32) -> x",
            "return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma",
        ): (
            "you computed in the dtype of x: in float16 a square above 65504 is inf, a small one is 0, and so "
            "is eps = 1e-8"
        ),
        "(wide**2).mean -> (x * x).astype(np.float32).mean": (
            "you squared in float16 and cast up afterwards, when the squares were already inf or 0"
        ),
        "return x / np.sqrt((x * x).mean(axis=-1, keepdims=True, dtype=np.float32) + np.float32(eps)) * gamma": (
            "you squared in float16; dtype=np.float32 in the mean helps the sum, not the squares that go into it"
        ),
        "axis=-1, keepdims=True -> axis=-1": (
            "your mean square lost the axis you averaged over, so it no longer lines up with x; keep it with size 1"
        ),
        (
            "scaled = x / np.abs(x).max(axis=-1, keepdims=True); return scaled / np.sqrt((scaled * "
            "scaled).mean(axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma"
        ): (
            "you divided x by its largest entry and stayed in float16: the same eps now weighs differently, "
            "and a vector of zeros is 0 / 0"
        ),
        "+ eps) -> + np.float32(x.dtype.type(eps)))": (
            "you rounded eps to float16, where 1e-8 is 0, so a vector of zeros gives 0 / 0"
        ),
        """np.sqrt((wide**2).mean(axis=-1, keepdims=True) + eps) -> np.sqrt(((wide**2).mean(axis=-1, keepdims=True) + eps).astype(x.dtype))
wide / rms -> x / rms""": (
            "you cast the mean square back to float16 before the square root; it can be above 65504 or below "
            "6e-8, so divide in float32 too"
        ),
        "return (wide / rms * gamma).astype(x.dtype) -> return wide / rms * gamma": (
            "the numbers are right, but you did not cast them back: float16 went in and float32 comes out"
        ),
        ".astype(x.dtype) -> .astype(np.float16)": (
            "you always return float16; the result has the dtype of x, and x can be float32"
        ),
        (
            "x.astype(np.float32) -> x.astype(np.float32); wide = wide / "
            "np.maximum(np.abs(wide).max(axis=-1, keepdims=True), np.float32(1e-30))"
        ): (
            "you divided x by its largest entry and then added the same eps; that multiplies eps by the "
            "square of that entry"
        ),
        """x.astype(np.float32) -> x.astype(np.float32); largest = np.abs(wide).max(axis=-1, keepdims=True); wide = wide / largest
+ eps -> + eps / largest**2""": ("you divided by the largest entry, which is 0 in a vector of zeros"),
        "+ x = np.clip(x, -255, 255)": (
            "you clipped x so that its square is finite; that changes the data, but a wider dtype does not"
        ),
        "+ eps) -> ) + eps": "your epsilon is outside the root: you added it to the rms, not to the mean square",
        "keepdims=True) + eps -> keepdims=True)": "you left out epsilon",
        "+ eps = 1e-5": "you ignored the argument eps and always used 1e-5",
        "rms * gamma -> rms": "you did not multiply by gamma",
        "axis=-1, keepdims=True -> keepdims=True": (
            "you averaged over all entries of x, so the vectors share one rms; each vector has its own"
        ),
        "axis=-1 -> axis=0": (
            "you averaged over axis 0, across the batch; RMSNorm averages over the last axis, within each vector"
        ),
        "np.sqrt((wide**2).mean(axis=-1, keepdims=True) + eps) -> (wide**2).mean(axis=-1, keepdims=True) + eps": (
            "you divided by the mean square; the rms is its square root"
        ),
        "(wide**2).mean -> wide.var": (
            "you divided by the standard deviation, which subtracts the mean; RMSNorm takes the mean of x² as it is"
        ),
        "(wide**2).mean(axis=-1, keepdims=True) -> wide.mean(axis=-1, keepdims=True) ** 2": (
            "you squared the mean of x; square first, then take the mean"
        ),
        "wide / rms -> wide * rms": "you multiplied by the rms; divide by it",
        "keepdims=True) + eps -> keepdims=True)\nwide / rms * -> (wide / rms + eps) *": (
            "your epsilon is added after the division; put the mean square + eps in parentheses, under the root"
        ),
        ".mean( -> .sum(": "you took the sum of the squares; the rms is the square root of their mean",
        "x.astype(np.float32) -> x.astype(np.float32); wide = wide - wide.mean(axis=-1, keepdims=True)": (
            "you subtracted the mean; RMSNorm only divides"
        ),
    },
)

# ------------------------------------------------------------------------------------------------- welford


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

MEMORY = 20_000  # bytes; a mean, a sum of squared deviations and a count need some hundred

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
    solution="""
def my_welford(values):
    n = 0
    mean = 0.0
    m2 = 0.0
    for value in values:
        n += 1
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
    return mean, m2 / n
""",
    cases=_welford_cases,
    results=("mean", "variance"),
    run=_run_welford,
    variants=[_welford_running_variance, _welford_weighted, _welford_shifted],
    mistakes={
        """mean += delta / n -> mean += value
m2 += delta * (value - mean) -> m2 += value * value
return mean, m2 / n -> return mean / n, m2 / n - (mean / n) ** 2""": Says(
            (
                "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and "
                "their digits cancel; add up the distance to the old mean times the distance to the new one"
            ),
            wrong_anyhow="large mean",
        ),
        (
            "values = list(values); mean = sum(values) / len(values); return mean, sum((value - mean) "
            "** 2 for value in values) / len(values)"
        ): (
            "you keep all values, in a list or an array; use each value once and keep only the count, the "
            "mean and m2, the sum of squared deviations"
        ),
        ("values = np.array(values); return values.mean(), values.var()", "return values.mean(), values.var()"): Says(
            "an iterator is not an array: it has no length and no mean; take the values one by one with a for loop",
            raises=True,
        ),
        ("return next(values), 0.0", "(value - mean) -> (value - mean); return mean, m2 / n"): (
            "you return after the first value; is there a return inside the loop?"
        ),
        ("return mean, -> return n, mean,", "return mean, m2 / n -> return n, mean, m2"): (
            "you returned the count too; return the mean and the variance"
        ),
        "m2 / n -> m2 / (n + 1)": (
            "your count is one too large at the end; start it at 0 and add 1 before you divide by it"
        ),
        """m2 += delta * (value - mean) -> m2 += delta * (value - mean) / n
return mean, m2 / n -> return mean, m2""": (
            "you divided every term of m2 by its own count; add up first and divide once, at the end"
        ),
        "n += 1 -> pass\n(value - mean) -> (value - mean); n += 1": Says(
            "you add 1 to the count after dividing by it, so the first value is divided by 0; add 1 first", raises=True
        ),
        """def my_welford(values):
    n, mean, m2 = 0, 0.0, 0.0
    for value in values:
        n += 1
        mean += value
    mean = mean / n
    for value in values:
        m2 += (value - mean) ** 2
    return mean, m2 / n""": (
            "you read the values twice; an iterator is empty after the first time, so the second loop adds nothing"
        ),
        "delta * (value - mean) -> delta**2": (
            "you squared the distance to the old mean; one factor is the distance to the old mean, the other "
            "to the new one"
        ),
        "delta * (value - mean) -> (value - mean) ** 2": (
            "you squared the distance to the new mean; one factor is the distance to the old mean, the other "
            "to the new one"
        ),
        "mean += delta / n -> mean += delta / (n + 1)": (
            "your count is one too large when you divide by it, so every value gets too little weight; the first "
            "value must become the mean"
        ),
        "mean += delta / n -> mean += delta": (
            "you added the whole distance to the mean, so the mean is always the last value; divide it by the count"
        ),
        "mean += delta / n -> mean += value - mean / n": (
            "without parentheses only the old mean is divided: a quotient is computed before a difference"
        ),
        (
            "mean += delta / n -> mean += delta / 2",
            "mean += delta / n -> mean += delta / 2\n(value - mean) -> (delta - delta / n)",
        ): "you halved the distance to every value, so the last ones count most; divide the n-th distance by n",
        "m2 += -> m2 =": "you replaced m2 at every step; add to it, so that it grows",
        ("m2 / n -> m2 / (n - 1) if n > 1 else 0.0", "m2 / n -> m2 / (n - 1)"): (
            "you divided by n - 1; normalization uses the biased variance, divided by n"
        ),
        "m2 / n -> m2": "you returned m2, the sum of squared deviations; divide it by the count",
        "m2 / n -> np.sqrt(m2 / n)": "you returned the standard deviation; return the variance",
        "mean, m2 / n -> m2 / n, mean": "you returned the variance first; the order is mean, variance",
    },
)

# ----------------------------------------------------------------------------------------- merge_variances


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
    solution="""
def my_merge_variances(a, b):
    n_a, mean_a, m2_a = a
    n_b, mean_b, m2_b = b
    n = n_a + n_b
    delta = mean_b - mean_a
    return n, mean_a + delta * n_b / n, m2_a + m2_b + delta**2 * n_a * n_b / n
""",
    cases=_merge_cases,
    results=("n", "mean", "m2"),
    variants=[_merge_to_the_mean, _merge_from_b],
    mistakes={
        "m2_b + delta**2 * n_a * n_b / n -> m2_b": (
            "you added the m2 of both parts and nothing else; the distance between the two means adds to m2 too"
        ),
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> (m2_a + m2_b) / 2": (
            "you averaged the m2 of both parts; add them, and add the part for the distance between the means"
        ),
        "delta**2 -> delta": "you did not square the distance between the means",
        "delta**2 -> (mean_a - mean_b)": (
            "you did not square the distance between the means, so it can even be negative"
        ),
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> (n_a * m2_a + n_b * m2_b) / n": (
            "you weighted the m2 of both parts by their counts, as if they were variances; add them, and "
            "add the part for the distance between the means"
        ),
        "delta**2 * n_a * n_b / n -> delta**2": (
            "you added the squared distance between the means without its weight; it depends on both counts"
        ),
        "n_a * n_b / n -> n_a * n_b": (
            "your weight of the squared distance is the product of the counts; divide it by the total count"
        ),
        "n_a * n_b / n -> n / 4": (
            "your weight of the squared distance is right only when the two parts are equally large"
        ),
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> (m2_a + m2_b + delta**2 * n_a * n_b / n) / n": (
            "you returned the variance in the third place; return m2, the sum of squared deviations, so that the "
            "result can be merged again"
        ),
        "mean_a + delta * n_b / n -> (mean_a + mean_b) / 2": (
            "your mean is the plain average of the two means; the larger part counts for more"
        ),
        "delta * n_b / n -> delta * n_a / n": (
            "your mean has the weights swapped: each mean is weighted by its own count"
        ),
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> (n_a * m2_a + n_b * m2_b) / n + delta**2 * n_a * n_b / n**2": (
            "your formula merges variances; a and b hold sums of squared deviations, which are added, and only the "
            "distance between the means gets a weight"
        ),
        "n_a * n_b / n -> n": (
            "you weighted the squared distance between the means by the total count; its weight is the product "
            "of the counts divided by their sum"
        ),
        "return n, mean_a -> return mean_a": (
            "you left out the count; return n, mean and m2, so that the result can be merged again"
        ),
        "return n, mean_a + delta * n_b / n, -> return mean_a + delta * n_b / n, n,": (
            "you returned the mean first; the order is n, mean, m2"
        ),
        """return n, mean_a -> return mean_a
m2_a + m2_b + delta**2 * n_a * n_b / n -> (m2_a + m2_b + delta**2 * n_a * n_b / n) / n""": (
            "you returned the mean and the variance; return n, mean and m2, so that the result can be merged again"
        ),
        "return a + b": "+ joins two tuples; take them apart first: n_a, mean_a, m2_a = a",
        "mean_a + delta * n_b / n -> mean_a + mean_b": "you added the two means; the mean of both is between them",
        "mean_a + delta * n_b / n -> (mean_a + mean_b) / 2\nm2_b + delta**2 * n_a * n_b / n -> m2_b": (
            "two things at once: the larger part counts for more in the mean, and the distance between the "
            "two means adds to m2 too"
        ),
        "m2_a + m2_b + delta**2 * n_a * n_b / n -> np.sqrt(m2_a + m2_b + delta**2 * n_a * n_b / n)": (
            "you took the square root of m2; return m2 itself"
        ),
        (
            "return n, mean_a + delta * n_b / n, m2_a + m2_b + delta**2 * n_a * n_b / n -> mean = "
            "(n_a * mean_a + n_b * mean_b) / n; return n, mean, m2_a + n_a * mean_a**2 + m2_b + n_b * "
            "mean_b**2 - n * mean**2"
        ): Says(
            "you went back to sums of x squared; with a large mean the digits cancel, as in the one-pass formula",
            wrong_anyhow="large mean",
        ),
        "return n, -> return max(n_a, n_b),": "your count is that of one part; add both counts",
        "mean_b - mean_a -> mean_a - mean_b": (
            "your difference of the means has the wrong sign: it is mean_b - mean_a"
        ),
        "+ delta**2 -> - delta**2": ("you subtracted the squared distance between the means; it adds to m2"),
    },
)

EXERCISES = [SAFE_RMS_NORM, WELFORD, MERGE_VARIANCES]
