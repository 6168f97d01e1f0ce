"""Lesson 02: why does my prediction change with its neighbors?"""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.edits import in_place_of
from ...exercises.steps import NORMALIZING, output_mistakes

# ---------------------------------------------------------------------------------------------- batch_norm


def _batch_norm_cases(rng):
    def one(n, c, training, *, offset=0.0, scale=1.0, **kwargs):
        x = offset + scale * rng.standard_normal((n, c))
        gamma, beta = rng.uniform(0.5, 2.0, c), rng.uniform(0.5, 2.0, c)
        stored = offset + scale * rng.standard_normal(c), scale**2 * rng.uniform(0.5, 3.0, c)
        return case(x, gamma, beta, *stored, training, **kwargs)

    return [
        one(5, 3, True, label="training"),
        one(5, 3, False, label="not training"),
        one(4, 4, True, label="square x, training"),
        one(4, 4, False, label="square x, not training"),
        one(1, 3, True, label="one row, training"),
        one(1, 3, False, label="one row, not training"),
        one(6, 2, True, offset=1e8, label="large mean, training"),
        one(6, 2, True, scale=1e-3, label="tiny scale, training"),
        one(6, 2, False, scale=1e-3, label="tiny scale, not training"),
        one(5, 3, True, eps=0.5, label="large eps, training"),
        one(5, 3, False, eps=0.5, label="large eps, not training"),
    ]


def _batch_norm_scale_and_shift(x, gamma, beta, mean, var, training, eps=1e-5):
    if training:
        mean = np.ones(len(x)) @ x / len(x)
        var = np.einsum("nc,nc->c", x - mean, x - mean) / len(x)
    scale = gamma * (var + eps) ** -0.5
    return x * scale + (beta - mean * scale)


def _batch_norm_by_columns(x, gamma, beta, mean, var, training, eps=1e-5):
    columns = []
    for k, column in enumerate(x.T):
        m = sum(column) / len(column) if training else mean[k]
        v = sum((value - m) ** 2 for value in column) / len(column) if training else var[k]
        columns.append([gamma[k] * (value - m) / (v + eps) ** 0.5 + beta[k] for value in column])
    return np.array(columns).T


BATCH_NORM = Exercise(
    solution="""
def my_batch_norm(x, gamma, beta, mean, var, training, eps=1e-5):
    if training:
        mean = x.mean(axis=0)
        var = x.var(axis=0)
    return gamma * (x - mean) / np.sqrt(var + eps) + beta
""",
    cases=_batch_norm_cases,
    tol=1e-4,
    variants=[_batch_norm_scale_and_shift, _batch_norm_by_columns],
    mistakes={
        "axis=0 -2-> axis=1, keepdims=True": (
            "in training you averaged over axis 1, within each row; that is layer norm, but batch norm averages "
            "down the columns"
        ),
        "axis=0 -2-> axis=1": (
            "in training you averaged over axis 1, within each row, and one number per row does not line up "
            "with the columns; batch norm averages down the columns"
        ),
        "if training: -> if False:": (
            "you used the given mean and variance in training too; there the statistics come from the batch x"
        ),
        "if training: -> if True:": (
            "you used the statistics of the batch even when training is False, so the output still depends on "
            "the neighbors"
        ),
        "if training: -> if not training:": (
            "you swapped the two modes: training uses the statistics of x, otherwise the given ones are used"
        ),
        "mean = x.mean(axis=0) -> pass": (
            "in training you took the variance from the batch but the given mean; both come from the batch"
        ),
        "var = x.var(axis=0) -> pass": (
            "in training you took the mean from the batch but the given variance; both come from the batch"
        ),
        """x.mean(axis=0) -> 0.9 * mean + 0.1 * x.mean(axis=0)
x.var(axis=0) -> 0.9 * var + 0.1 * x.var(axis=0)""": (
            "in training you mixed the given statistics with those of the batch; that updates the given "
            "ones, but the output uses those of the batch alone"
        ),
        "x.var -> x.std": (
            "in training you put the standard deviation into var; the square root is taken later, so "
            "var must be the variance"
        ),
        "axis=0 -2->": (
            "in training you averaged over all entries of x, so the features share one mean; each has its own"
        ),
        "x.var(axis=0) -> x.var(axis=0, ddof=1)": (
            "in training you divided by n - 1 in the variance; batch norm divides by n, the number of rows"
        ),
        "x.var(axis=0) -> ((x - mean) ** 2).sum(axis=0)": (
            "in training your variance is the sum of the squared distances; divide it by n, the number of rows"
        ),
        "+ x = x.astype(np.float32)": (
            "you converted x to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the differences"
        ),
        "x.var(axis=0) -> (x**2).mean(axis=0) - mean**2": Says(
            (
                "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and "
                "their digits cancel; subtract the mean first, then square"
            ),
            wrong_anyhow="large mean",
        ),
        **output_mistakes(),
    },
)

# ----------------------------------------------------------------------------------------- fold_batch_norm


def _fold_cases(rng):
    def one(inputs, outputs, *, scale=1.0, **kwargs):
        w, b = scale * rng.standard_normal((inputs, outputs)), rng.uniform(0.5, 2.0, outputs)
        gamma, beta = rng.uniform(1.5, 3.0, outputs), rng.uniform(0.5, 2.0, outputs)
        mean, var = rng.uniform(3.0, 5.0, outputs), scale**2 * rng.uniform(2.0, 4.0, outputs)
        return case(w, b, gamma, beta, mean, var, **kwargs)

    return [
        one(6, 4, label="more inputs than outputs"),
        one(2, 5, label="more outputs than inputs"),
        one(5, 5, label="square w"),
        one(6, 4, scale=1e-3, label="tiny variance"),
        one(6, 4, eps=0.5, label="large eps"),
    ]


def _fold_einsum(w, b, gamma, beta, mean, var, eps=1e-5):
    inverse = (var + eps) ** -0.5
    return [np.einsum("io,o->io", w, gamma * inverse), beta + gamma * inverse * b - gamma * inverse * mean]


def _fold_by_probing(w, b, gamma, beta, mean, var, eps=1e-5):
    """Push the unit vectors and 0 through both layers and read the folded layer off."""

    def both(x):
        return gamma * (x @ w + b - mean) / np.sqrt(var + eps) + beta

    at_zero = both(np.zeros((1, len(w))))
    return both(np.eye(len(w))) - at_zero, at_zero.ravel()


FOLD_BATCH_NORM = Exercise(
    solution="""
def my_fold_batch_norm(w, b, gamma, beta, mean, var, eps=1e-5):
    scale = gamma / np.sqrt(var + eps)
    return w * scale, (b - mean) * scale + beta
""",
    cases=_fold_cases,
    results=("weight", "bias"),
    tol=1e-5,
    variants=[_fold_einsum, _fold_by_probing],
    mistakes={
        "w * scale -> w * scale[:, None]": (
            "you scaled the rows of w, one for each input; in x @ w every output is a column, so the scale "
            "goes along the last axis"
        ),
        "w * scale -> w.T * scale[:, None]": (
            "your weight has shape (out, in), as PyTorch stores it; here w is (in, out), as in x @ w"
        ),
        ("w * scale -> w @ scale", "w * scale -> scale @ w"): (
            "your @ multiplies and sums; here every column of w is multiplied by a number of its own, with *"
        ),
        (
            "return gamma * (w - mean) / np.sqrt(var + eps) + beta, b",
            "return gamma * (w - mean) / np.sqrt(var + eps) + beta, gamma * (b - mean) / np.sqrt(var + eps) + beta",
            "return gamma * (w - mean) / np.sqrt(var + eps), b + beta",
            "return gamma * (w - mean) / np.sqrt(var + eps), gamma * b / np.sqrt(var + eps) + beta",
        ): (
            "you sent the weight itself through batch norm; batch norm normalizes the output x @ w + b, so the "
            "mean and beta go into the bias and w is only scaled"
        ),
        "(b - mean) * scale + beta -> beta": (
            "your bias is only beta; the old bias minus the mean, scaled, belongs in it too"
        ),
        "w * scale -> w": "your bias is right, but you returned the old weight; it needs the scale too",
        "return w * scale, (b - mean) * scale + beta -> return (b - mean) * scale + beta, w * scale": (
            "you returned (bias, weight); the weight comes first"
        ),
        "var + eps -> var": "you folded without eps, so the folded layer differs wherever the variance is small",
        "var + eps -> var + 1e-5": "you ignored the argument eps and always used 1e-5",
        "np.sqrt(var + eps) -> (np.sqrt(var) + eps)": (
            "your epsilon is outside the root: you added it to the standard deviation, not to the variance"
        ),
        "np.sqrt(var + eps) -> (var + eps)": "you divided by the variance, not by its square root",
        "gamma / -> 1 /": "you left gamma out of the scale",
        "(b - mean) -> b": "the mean is missing from your bias: batch norm subtracts it before it scales",
        "b - mean -> b + mean": "the mean has the wrong sign in your bias; batch norm subtracts it, before the scale",
        "b - mean -> mean - b": ("in your bias, b and the mean have changed places; subtract the mean from b"),
        "(b - mean) * scale + beta -> b + beta - mean * scale": (
            "you did not scale the old bias; it goes through batch norm together with x @ w"
        ),
        "(b - mean) * scale + beta -> b * scale - mean + beta": (
            "you did not scale the mean; it is subtracted before the division, so the scale applies to it too"
        ),
        "(b - mean) * scale + beta -> (b - mean + beta) * scale": "you scaled beta too; it is added after the scale",
        "(b - mean) * scale + beta -> beta - mean * scale": (
            "your bias is only batch norm's own shift; the old bias of the layer is missing"
        ),
        "(b - mean) * scale + beta -> (b - mean) * scale": "beta is missing from your bias",
        "(b - mean) * scale + beta -> b": (
            "you folded the weight but returned the old bias; the shift of batch norm belongs in it"
        ),
    },
)

# --------------------------------------------------------------------------------------- masked_batch_norm


def _masked_cases(rng):
    def one(n, length, c, lengths, *, offset=2.0, scale=1.0, padding=0.0, **kwargs):
        mask = np.arange(length) < np.array(lengths)[:, None]
        x = np.where(mask[..., None], offset + scale * rng.standard_normal((n, length, c)), padding)
        return case(x, mask, **kwargs)

    return [
        one(3, 6, 4, [6, 2, 4], label="zeros as padding"),
        one(4, 5, 5, [1, 5, 2, 3], label="L equals C"),
        one(3, 6, 4, [6, 2, 4], padding=50.0, label="other padding than zeros"),
        one(4, 4, 4, [2, 4, 3, 1], label="all sizes equal"),
        one(3, 5, 2, [5, 5, 5], label="no padding"),
        one(4, 6, 3, [2, 3, 1, 6], offset=1e8, label="large mean"),
        one(3, 6, 4, [2, 3, 5], scale=1e-3, label="tiny scale"),
        one(3, 6, 4, [2, 3, 5], eps=0.5, label="large eps"),
    ]


def _over_tokens(values, weights):
    """Weighted mean over N and L, weights of shape (N, L, 1)."""
    return (weights * values).sum(axis=(0, 1)) / weights.sum()


def _masked_with(mean=None, var=None, normalize=None, hide=True):
    """The reference with its mean, variance or last step replaced; `m` is the mask with shape (N, L, 1)."""
    mean = mean or (lambda x, m: _over_tokens(x, m))
    var = var or (lambda x, m, mu: _over_tokens((x - mu) ** 2, m))
    normalize = normalize or (lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps))

    def attempt(x, mask, eps=1e-5):
        m = mask[..., None]
        mu = mean(x, m)
        y = normalize(x, mu, var(x, m, mu), eps)
        return m * y if hide else y

    return attempt


def _masked_with_where(x, mask, eps=1e-5):
    where = np.broadcast_to(mask[..., None], x.shape)
    mean, var = x.mean(axis=(0, 1), where=where), x.var(axis=(0, 1), where=where)
    return np.where(where, (x - mean) / np.sqrt(var + eps), 0)


def _masked_token_by_token(x, mask, eps=1e-5):
    places = [(n, t) for n in range(len(x)) for t in range(x.shape[1]) if mask[n, t]]
    mean = sum(x[place] for place in places) / len(places)
    var = sum((x[place] - mean) ** 2 for place in places) / len(places)
    y = [[[0.0] * x.shape[2] for _ in range(x.shape[1])] for _ in range(len(x))]
    for n, t in places:
        y[n][t] = list((x[n, t] - mean) / (var + eps) ** 0.5)
    return y


MASKED_BATCH_NORM = Exercise(
    solution="""
def my_masked_batch_norm(x, mask, eps=1e-5):
    mask = mask[..., None]
    mean = (mask * x).sum(axis=(0, 1)) / mask.sum()
    var = (mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum()
    return mask * (x - mean) / np.sqrt(var + eps)
""",
    cases=_masked_cases,
    tol=1e-4,
    variants=[_masked_with_where, _masked_token_by_token, _masked_with()],
    mistakes={
        "return (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + eps)": (
            "you ignored the mask: mean and variance count the padding, and the padding got outputs"
        ),
        "return mask[..., None] * (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + eps)": (
            "your output is 0 at padded positions, but your mean and variance still count the padding"
        ),
        (
            "return mask * (x -> return (x",
            (
                "return mask * (x - mean) / np.sqrt(var + eps) -> return np.where(mask, (x - mean) / "
                "np.sqrt(var + eps), x)"
            ),
            (
                "return mask * (x - mean) / np.sqrt(var + eps) -> return np.where(mask, (x - mean) / "
                "np.sqrt(var + eps), np.nan)"
            ),
        ): "your statistics are right, but the padding got outputs too; they must be 0 there",
        "return mask * -> return ~mask *": (
            "you set the real tokens to 0 and kept the padding; the mask is True where a token is real"
        ),
        (
            "return mask[..., None] * (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, "
            "keepdims=True) + eps)"
        ): ("you averaged over the features of each token; that is layer norm; batch norm averages over tokens"),
        "sum(axis=(0, 1)) / mask.sum() -2-> mean(axis=(0, 1))": (
            "you divided both sums by N times L; only the real tokens count, and the mask knows how many they are"
        ),
        "(mask * x).sum(axis=(0, 1)) / mask.sum() -> (mask * x).mean(axis=(0, 1))": (
            "the sum in your mean leaves the padding out, but you divided it by N times L and not by the "
            "number of real tokens"
        ),
        "** 2).sum(axis=(0, 1)) / mask.sum() -> ** 2).mean(axis=(0, 1))": (
            "your mean is right, but the sum in your variance is divided by N times L and not by the number "
            "of real tokens"
        ),
        (
            "(mask * (x - mean) ** 2) -> ((mask * x - mean) ** 2)",
            "+ x = mask[..., None] * x\n(mask * (x - mean) ** 2) -> ((x - mean) ** 2)\nreturn mask * -> return",
        ): (
            "you masked x before subtracting the mean, so each padded position adds (0 − mean)² to your "
            "variance; mask after the square"
        ),
        "(mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() -> ((x - mean) ** 2).mean(axis=(0, 1))": (
            "your mean leaves the padding out, but your variance does not"
        ),
        "(mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() -> x.var(axis=(0, 1))": (
            "your mean leaves the padding out, but your variance is that of the whole tensor"
        ),
        "** 2).sum(axis=(0, 1)) / mask.sum() -> ** 2).sum(axis=(0, 1)) / (mask.sum() - 1)": (
            "you divided by the number of real tokens minus one in the variance; divide by the number itself"
        ),
        (
            "x = mask[..., None] * x; return mask[..., None] * (x - x.mean(axis=(0, 1))) / "
            "np.sqrt(x.var(axis=(0, 1)) + eps)"
        ): (
            "you set the padding to 0 and then averaged over all positions; these zeros count as values too; "
            "leave the padding out of both sums, and divide by the number of real tokens"
        ),
        "x = mask[..., None] * x; return (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + eps)": (
            "you set the padding to 0 and then averaged over all positions, where these zeros count as values; "
            "and the padding got outputs"
        ),
        "+ x = x.astype(np.float32)": (
            "you converted x to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the differences"
        ),
        (
            "(mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() -> (mask * x**2).sum(axis=(0, 1)) "
            "/ mask.sum() - mean**2"
        ): Says(
            (
                "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and "
                "their digits cancel; subtract the mean first, then square"
            ),
            wrong_anyhow="large mean",
        ),
        "** 2).sum(axis=(0, 1)) / mask.sum() -> ** 2).sum(axis=(0, 1))": (
            "your variance is the sum of the squared distances; divide it by the number of real tokens"
        ),
        "mask = mask[..., None] -> pass": Says(
            (
                "your mask has shape (N, L) and lines up with the last axes of x, (L, C); it needs one more "
                "axis at the end (with all sizes equal no error appears)"
            ),
            wrong_anyhow="all sizes equal",
        ),
        (
            ("return mask * (x - mean) / np.sqrt(var + eps) -> return ((x - mean) / np.sqrt(var + eps))[mask[..., 0]]"),
            "real = x[mask]; return (real - real.mean()) / np.sqrt(real.var() + eps)",
        ): "you returned the real tokens only; y has the shape of x, with 0 where there is no token",
        "+ mask = ~mask": "you used the mask the wrong way round: it is True where a token is real",
        (
            "real = x[mask]; return mask[..., None] * (x - real.mean()) / np.sqrt(real.var() + eps)",
            "real = x[mask]; return (x - real.mean()) / np.sqrt(real.var() + eps)",
        ): "you averaged over the features too, so they share one mean; each feature has its own",
        """sum(axis=(0, 1)) -2-> sum(axis=1, keepdims=True)
mask.sum() -2-> mask.sum(axis=1, keepdims=True)""": (
            "each of your sentences has its own mean and variance; that is instance norm; batch norm shares "
            "them over the whole batch"
        ),
        **in_place_of("(x - mean) / np.sqrt(var + eps)", NORMALIZING),
        **in_place_of("mask * (x - mean) / np.sqrt(var + eps)", NORMALIZING),
        "(mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() -> (mask * x).var(axis=(0, 1))": (
            "your mean is right, but your variance is that of x with zeros as padding; these zeros count as values too"
        ),
        "(mask * (x - mean) ** 2) -> ((x - mean) ** 2)": (
            "your mean leaves the padding out, but your variance adds up the squares of the padding too"
        ),
        "sum(axis=(0, 1)) -2-> sum(axis=1)": (
            "you summed over the tokens of each sentence only; batch norm sums over the sentences too, axes 0 and 1"
        ),
        "mask.sum() -2-> mask.sum(axis=1)": (
            "you divided by the tokens of each sentence; your sums run over the whole batch, so divide by all real tokens"
        ),
        "sum(axis=(0, 1)) -2-> sum(axis=(0, 2))": (
            "you summed over the features, not the positions; each feature has its own mean, over axes 0 and 1"
        ),
    },
)

EXERCISES = [BATCH_NORM, FOLD_BATCH_NORM, MASKED_BATCH_NORM]
