"""Lesson 05: RMSNorm, its float16 form in LLaMA's order of casts, and gamma folded into the next layer."""

import numpy as np

from ...exercises import Exercise, WrongKind, case

ACROSS = "you averaged over axis 0, across the batch; RMSNorm averages over the last axis, within each vector"
LOST_AXIS = "your mean square lost the axis you averaged over, so it no longer lines up with the rows of x; keep that axis with size 1"

# ------------------------------------------------------------------------------------------ my_rms_norm


def _case(rng, shape, *, mean=0.0, scale=1.0, label="", **kwargs):
    x = mean + scale * rng.standard_normal(shape)
    return case(x, rng.uniform(0.5, 2.0, shape[-1]), label=label, **kwargs)


def _rms_cases(rng):
    return [
        _case(rng, (5, 3), mean=2, label="small x"),
        _case(rng, (4, 4), mean=1, label="square x"),
        _case(rng, (2, 5, 4), mean=1, label="sequence"),
        _case(rng, (6, 5), mean=1e8, label="large mean"),
        _case(rng, (4, 6), scale=1e-3, label="tiny scale"),
        _case(rng, (4, 3), eps=0.5, label="large eps"),
        _case(rng, (1, 7), label="one row"),
        case(np.zeros((2, 3)), np.ones(3), label="zeros"),
    ]


def _einsum(x, gamma, eps=1e-6):
    square = np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1]
    return np.multiply(gamma, x) * (square + eps) ** -0.5


def _row_by_row(x, gamma, eps=1e-6):
    rows = [gamma * row / (np.dot(row, row) / len(row) + eps) ** 0.5 for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows).reshape(x.shape)


RMS_NORM = Exercise(
    solution="""
def my_rms_norm(x, gamma, eps=1e-6):
    mean_square = (x**2).mean(axis=-1, keepdims=True)
    return gamma * x / np.sqrt(mean_square + eps)
""",
    cases=_rms_cases,
    tol=1e-5,
    variants=[_einsum, _row_by_row],
    mistakes={
        (
            ".mean(axis=-1 -> .sum(axis=-1",
            ".mean(axis=-1 -> .sum(axis=-1\nnp.sqrt(mean_square + eps) -> (np.sqrt(mean_square) + eps)",
            ".mean(axis=-1 -> .sum(axis=-1\nmean_square + eps -> mean_square",
        ): "you took the sum of the squares, which gives length 1 before gamma; RMSNorm takes their mean, which gives √d",
        "np.sqrt(mean_square + eps) -> (np.sqrt(mean_square) + eps)": (
            "your epsilon is outside the root: you added it to the root mean square; add it to the mean square"
        ),
        "np.sqrt(mean_square + eps) -> (mean_square + eps)": (
            "you divided by the mean square; x and the root mean square have the same unit, so take the root"
        ),
        "+ x = x - x.mean(axis=-1, keepdims=True)": (
            "you subtracted the mean, as layer norm does; RMSNorm subtracts nothing"
        ),
        "gamma * x -> gamma * (x - x.mean(axis=-1, keepdims=True))": (
            "your root mean square is right, but you subtracted the mean from x; RMSNorm subtracts nothing"
        ),
        (
            "(x**2).mean -> x.var",
            "(x**2).mean -> x.std\nnp.sqrt(mean_square + eps) -> (mean_square + eps)",
        ): "you divided by the standard deviation, which leaves the mean out; the root mean square includes it",
        "/ np.sqrt -> * np.sqrt": "you multiplied by the root mean square; divide by it",
        "np.sqrt(mean_square + eps) -> np.sqrt(mean_square) + eps": (
            "your epsilon is added to the output; put mean square + eps in parentheses, under the root"
        ),
        "+ eps -> + eps**2": "you squared eps; it is added to the mean square as it is",
        "mean_square + eps -> np.sqrt(mean_square) + eps": (
            "you took the root twice; eps is added to the mean square, and then one root is taken"
        ),
        "np.sqrt(mean_square + eps) -> np.maximum(np.sqrt(mean_square), eps)": (
            "you took the larger of root mean square and eps; eps is added to the mean square"
        ),
        "+ eps -> + 1e-5": "you ignored the argument eps and always used 1e-5",
        "axis=-1 -> axis=1": "you averaged over axis 1, which is the last one only for a matrix; use axis -1",
        "(x**2) -> np.abs(x)\nnp.sqrt(mean_square + eps) -> (mean_square + eps)": (
            "you divided by the mean of the absolute values; square first, and take the root of the mean"
        ),
        "(x**2).mean(axis=-1, keepdims=True) -> x.mean(axis=-1, keepdims=True) ** 2": (
            "you squared the mean; RMSNorm takes the mean of the squares"
        ),
        "mean_square + eps -> mean_square": "you left out epsilon, so a vector of zeros becomes NaN",
        "+ eps -> + 1e-6": "you ignored the argument eps and always used 1e-6",
        "axis=-1 -> axis=0": ACROSS,
        ".mean(axis=-1, keepdims=True) -> .mean()": (
            "you averaged over all entries of x, so all vectors share one root mean square; each needs its own"
        ),
        "axis=-1, keepdims=True -> axis=-1": LOST_AXIS,
        ".mean(axis=-1, keepdims=True) -> .sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)": (
            "you divided the sum of squares by d - 1; the mean square divides by d"
        ),
        "gamma * x -> x": "you did not apply gamma",
        "gamma * x -> (1 + gamma) * x": (
            "you multiplied by 1 + gamma, as models that store gamma - 1 do; here gamma is the scale itself"
        ),
        "gamma * x -> x / gamma": "you divided by gamma; it multiplies the normalized vector",
        "gamma * x / np.sqrt(mean_square + eps) -> gamma + x / np.sqrt(mean_square + eps)": (
            "you added gamma; it multiplies the normalized vector"
        ),
        "+ x = gamma * x\ngamma * x / -> x /": (
            "you multiplied by gamma before normalizing; multiply after it, or gamma changes the root mean square too"
        ),
    },
)

# ------------------------------------------------------------------------------ my_rms_norm_llama_order


def _normalize_32(x, eps):
    x32 = x.astype(np.float32)
    return x32 / np.sqrt((x32 * x32).mean(axis=-1, keepdims=True) + np.float32(eps))


def _run_16(attempt, x, gamma, eps=1e-6):
    result = attempt(x, gamma, eps)
    if result is None or result is ...:
        return result
    result = getattr(result, "y", result)
    if isinstance(result, np.ma.MaskedArray):
        raise WrongKind("the result is a masked array, expected a plain one")
    if getattr(result, "dtype", None) != np.float16:
        got = getattr(result, "dtype", type(result).__name__)
        raise WrongKind(f"the result is {got}, expected float16; cast the normalized vector back before gamma")
    return result.astype(np.float64)


def _llama_cases(rng):
    def drawn(shape, scale, label, **kwargs):
        x = (scale * rng.standard_normal(shape)).astype(np.float16)
        return case(x, rng.uniform(0.5, 1.5, shape[-1]).astype(np.float16), label=label, **kwargs)

    return [
        drawn((8, 64), 1, "usual size"),
        drawn((4, 64), 1000, "squares beyond float16"),
        drawn((4, 64), 1e-3, "squares below float16", eps=1e-9),
        drawn((4, 16), 1, "large eps", eps=0.5),
        case(np.full((1, 4), 60000, np.float16), np.ones(4, np.float16), label="60 000"),
        case(np.zeros((2, 4), np.float16), np.ones(4, np.float16), label="zeros"),
    ]


def _in_float64(x, gamma, eps=1e-6):
    x64 = x.astype(np.float64)
    y = x64 / np.sqrt((x64**2).mean(axis=-1, keepdims=True) + eps)
    return np.multiply(y.astype(np.float32).astype(np.float16), gamma)


def _compare_16(result, expected, tol):
    """Nearly all values equal to the bit, the others one step of float16 away.

    A last bit of float32 that differs between processors moves one output in a thousand to the neighboring float16;
    casting in another order moves one in four.
    """
    if np.shape(result) != np.shape(expected):
        return False, f"got shape {np.shape(result)}, expected {np.shape(expected)}"
    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    near = np.abs(np.where(same, 0, result - expected)) <= tol * np.abs(expected) + 6e-8
    if np.all(same | near) and same.mean() >= 0.97:
        return True, ""
    return False, f"{np.count_nonzero(~same)} of {same.size} values are not the expected float16 numbers"


LLAMA_ORDER = Exercise(
    solution="""
def my_rms_norm_llama_order(x, gamma, eps=1e-6):
    x32 = x.astype(np.float32)
    mean_square = (x32 * x32).mean(axis=-1, keepdims=True)
    normalized = x32 / np.sqrt(mean_square + np.float32(eps))
    return gamma * normalized.astype(np.float16)
""",
    tol=1e-3,
    cases=_llama_cases,
    run=_run_16,
    compare=_compare_16,
    variants=[_in_float64, lambda x, gamma, eps=1e-6: np.multiply(_normalize_32(x, eps).astype(np.float16), gamma)],
    mistakes={
        "gamma * normalized.astype(np.float16) -> (gamma * normalized).astype(np.float16)": (
            "you multiplied by gamma in float32 and cast once at the end, as Gemma does; LLaMA casts first"
        ),
        (
            """(x32 * x32).mean(axis=-1, keepdims=True) -> (x * x).mean(axis=-1, keepdims=True, dtype=np.float16)
x32 / np.sqrt(mean_square + np.float32(eps)) -> x / np.sqrt(mean_square + np.float16(eps))""",
            "return gamma * (x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps))",
            "return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)",
        ): (
            "you computed the mean of the squares in float16, where the square of 300 is infinite and that of "
            "0.0001 is 0; cast x to float32 first"
        ),
        (
            (
                "x32 / np.sqrt(mean_square + np.float32(eps)) -> x / np.sqrt(mean_square + "
                "np.float32(eps)).astype(np.float16)"
            ),
            (
                "x32 / np.sqrt(mean_square + np.float32(eps)) -> x * (1 / np.sqrt(mean_square + "
                "np.float32(eps))).astype(np.float16)"
            ),
        ): (
            "you cast the root mean square, or 1 over it, to float16 too early; compute the normalized vector in "
            "float32, then cast it"
        ),
        "+ np.float32(eps) ->": "you left out epsilon, so a vector of zeros becomes NaN",
        "np.float32(eps) -> np.float16(eps)": "you cast eps to float16, where 1e-9 becomes 0; keep it in float32",
        "+ x = gamma * x\ngamma * normalized -> normalized": (
            "you multiplied by gamma before normalizing; multiply after it, or gamma changes the root mean square too"
        ),
        "(x32 * x32) -> (x * x).astype(np.float32)": (
            "you squared in float16 and cast afterwards; the square of 300 is already infinite then, so cast x first"
        ),
        "np.sqrt(mean_square + np.float32(eps)) -> (np.sqrt(mean_square) + np.float32(eps))": (
            "your epsilon is outside the root: you added it to the root mean square; add it to the mean square"
        ),
        ".mean(axis=-1 -> .sum(axis=-1": (
            "you took the sum of the squares, which gives length 1 before gamma; RMSNorm takes their mean, which gives √d"
        ),
        "x32 = x.astype(np.float32) -> x32 = x.astype(np.float32); x32 = x32 - x32.mean(axis=-1, keepdims=True)": (
            "you subtracted the mean, as layer norm does; RMSNorm subtracts nothing"
        ),
        "gamma * normalized -> normalized": "you did not apply gamma",
        "+ eps = 1e-6": "you ignored the argument eps and always used 1e-6",
        "(x32 * x32).mean -> (x * x).mean": ("you squared x in float16; cast x to float32 before you square"),
        "axis=-1, keepdims=True -> axis=-1": LOST_AXIS,
        "axis=-1 -> axis=0": ACROSS,
    },
)

# ------------------------------------------------------------------------------------------- my_fold_gamma


def _fold_cases(rng):
    def drawn(d, out, label):
        return case(rng.uniform(0.5, 2, d), rng.normal(size=(d, out)), rng.normal(size=out), label=label)

    return [
        drawn(4, 3, "four features, three outputs"),
        drawn(3, 3, "as many outputs as features"),
        drawn(2, 5, "more outputs than features"),
        drawn(6, 1, "one output"),
        case(np.array([0.0, -2.0]), np.ones((2, 3)), np.zeros(3), label="gamma zero or negative"),
    ]


FOLD_GAMMA = Exercise(
    solution="""
def my_fold_gamma(gamma, V, b):
    return gamma[:, None] * V, b
""",
    cases=_fold_cases,
    results=("V", "b"),
    variants=[
        lambda gamma, V, b: (np.diag(gamma) @ V, b.copy()),
        lambda gamma, V, b: [(V.T * gamma).T, b + 0],
    ],
    mistakes={
        ("gamma[:, None] * V -> gamma * V", "gamma[:, None] * V -> gamma[None, :] * V"): (
            "you lined up gamma with the columns of V, the outputs; feature i meets row i, so reshape gamma to (d, 1)"
        ),
        "* V, b -> * V, (gamma @ V) * b": "the bias is added after the multiplication by gamma, so it stays as it is",
        "* V, b -> * V, gamma * b": (
            "the bias belongs to the outputs and gamma to the features; the bias stays as it is"
        ),
        "gamma[:, None] * V -> V / gamma[:, None]": (
            "you divided V by gamma; multiply its rows by gamma; then the features need no gamma"
        ),
        "gamma[:, None] * V, b -> gamma[:, None] * V": "the new V is right; return the bias too, as a pair (V, b)",
        "* V, b -> * V, np.zeros_like(b)": (
            "you set the bias to 0; it is added after the multiplication by gamma, so it stays as it is"
        ),
        "* V, b -> * V, b + gamma @ V": (
            "you added gamma @ V to the bias, as one does with a beta; gamma only multiplies, so b is unchanged"
        ),
        "gamma[:, None] * V -> gamma[:, None] + V": (
            "you added gamma to V; multiply its rows by gamma; then the features need no gamma"
        ),
        "gamma[:, None] * V -> (1 + gamma)[:, None] * V": (
            "you multiplied by 1 + gamma, as models that store gamma - 1 do; here gamma is the scale itself"
        ),
        "gamma[:, None] * V -> gamma * V.T": (
            "the rows of V are multiplied by the right numbers, but V is transposed; return it with shape (d, out)"
        ),
        "gamma[:, None] * V -> gamma @ V": (
            "gamma @ V adds up the features and leaves one number for each output; multiply the rows of V by gamma"
        ),
        "gamma[:, None] * V, b -> b, gamma[:, None] * V": "you returned the pair in the other order; V comes first",
        "gamma[:, None] * V -> V": "you returned V as it was; its rows have to be multiplied by gamma",
        "gamma[:, None] * V -> np.diag(gamma) * V": (
            "you multiplied the diagonal matrix of gamma by V entry by entry; the product of two matrices is written @"
        ),
        "gamma[:, None] * V, b -> gamma[:, None] * V + b": (
            "you added the bias to V; return the two separately, as a pair (V, b)"
        ),
    },
)

EXERCISES = [RMS_NORM, LLAMA_ORDER, FOLD_GAMMA]
