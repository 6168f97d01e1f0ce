"""Lesson 02: why does my prediction change with its neighbors?"""

import numpy as np

from .checker import Exercise, Mistake, case
from .steps import AFFINE, MIXED_UP, NORMALIZING, forms, in_float32, mistakes_with, one_pass

# ---------------------------------------------------------------------------------------------- batch_norm


def _batch_norm(x, gamma, beta, mean, var, training, eps=1e-5):
    """x (N, C), all others (C,): statistics of x in training, the stored mean and var otherwise."""
    if training:
        mean, var = x.mean(axis=0), x.var(axis=0)
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


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


def _batch_norm_with(statistics=None, normalize=None, affine=None, whole=None):
    """The reference with one of its steps replaced."""
    statistics = statistics or (lambda x, mean, var, training: (x.mean(0), x.var(0)) if training else (mean, var))
    normalize = normalize or (lambda x, mean, var, eps: (x - mean) / np.sqrt(var + eps))
    affine = affine or (lambda y, gamma, beta: gamma * y + beta)
    whole = whole or (lambda x, mean, var, g, b, eps: affine(normalize(x, mean, var, eps), g, b))

    def attempt(x, gamma, beta, mean, var, training, eps=1e-5):
        return whole(x, *statistics(x, mean, var, training), gamma, beta, eps)

    return attempt


def _of_rows(x, mean, var, training):
    return (x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)) if training else (mean, var)


def _of_everything(x, mean, var, training):
    return (x.mean(), x.var()) if training else (mean, var)


def _mixed(x, mean, var, training):
    return (0.9 * mean + 0.1 * x.mean(axis=0), 0.9 * var + 0.1 * x.var(axis=0)) if training else (mean, var)


def _standard_deviation(x, mean, var, training):
    return (x.mean(axis=0), x.std(axis=0)) if training else (mean, var)


def _unbiased(x, mean, var, training):
    return (x.mean(axis=0), x.var(axis=0, ddof=1)) if training else (mean, var)


def _sum_of_squares(x, mean, var, training):
    return (x.mean(axis=0), ((x - x.mean(axis=0)) ** 2).sum(axis=0)) if training else (mean, var)


def _one_pass(x, mean, var, training):
    return (x.mean(axis=0), (x**2).mean(axis=0) - x.mean(axis=0) ** 2) if training else (mean, var)


def _stored_mean_only(x, mean, var, training):
    return (mean, x.var(axis=0)) if training else (mean, var)


def _stored_var_only(x, mean, var, training):
    return (x.mean(axis=0), var) if training else (mean, var)


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
    name="my_batch_norm",
    signature="my_batch_norm(x, gamma, beta, mean, var, training, eps=1e-5)",
    reference=_batch_norm,
    cases=_batch_norm_cases,
    tol=1e-4,
    variants=[_batch_norm_scale_and_shift, _batch_norm_by_columns],
    mistakes=[
        Mistake(
            _batch_norm_with(_of_rows),
            "in training you averaged over axis 1, within each row; that is layer norm, batch norm averages down the "
            "columns",
        ),
        Mistake(
            _batch_norm_with(lambda x, mean, var, training: (x.mean(1), x.var(1)) if training else (mean, var)),
            "in training you averaged over axis 1, within each row, and one number per row does not line up with the "
            "columns; batch norm averages down the columns",
        ),
        Mistake(
            _batch_norm_with(lambda x, mean, var, training: (mean, var)),
            "you used the stored mean and variance in training too; there the statistics come from the batch x",
        ),
        Mistake(
            _batch_norm_with(lambda x, mean, var, training: (x.mean(0), x.var(0))),
            "you used the statistics of the batch also when training is False, so the output still depends on the "
            "neighbors",
        ),
        Mistake(
            _batch_norm_with(lambda x, mean, var, training: (mean, var) if training else (x.mean(0), x.var(0))),
            "you swapped the two modes: training uses the statistics of x, otherwise the stored ones are used",
        ),
        Mistake(
            _batch_norm_with(_stored_mean_only),
            "in training you took the variance from the batch but the stored mean; both come from the batch",
        ),
        Mistake(
            _batch_norm_with(_stored_var_only),
            "in training you took the mean from the batch but the stored variance; both come from the batch",
        ),
        Mistake(
            _batch_norm_with(_mixed),
            "in training you mixed the stored statistics with those of the batch; that updates the stored ones, the "
            "output uses those of the batch alone",
        ),
        Mistake(
            _batch_norm_with(_standard_deviation),
            "in training you took the standard deviation for var; its root is taken later, so here the variance is "
            "needed",
        ),
        Mistake(
            _batch_norm_with(_of_everything),
            "in training you averaged over all entries of x, so the features share one mean; each has its own",
        ),
        Mistake(
            _batch_norm_with(_unbiased),
            "in training you divided by n - 1 in the variance; batch norm divides by n, the number of rows",
        ),
        Mistake(
            _batch_norm_with(_sum_of_squares),
            "in training your variance is the sum of the squared distances; divide it by n, the number of rows",
        ),
        in_float32(_batch_norm),
        one_pass(_batch_norm_with(_one_pass)),
        *mistakes_with(lambda step: _batch_norm_with(normalize=step), NORMALIZING),
        *mistakes_with(lambda step: _batch_norm_with(affine=step), AFFINE),
        *mistakes_with(lambda step: _batch_norm_with(whole=step), MIXED_UP),
    ],
)

# ----------------------------------------------------------------------------------------- fold_batch_norm


def _fold(w, b, gamma, beta, mean, var, eps=1e-5):
    """gamma * (x @ w + b - mean) / sqrt(var + eps) + beta as one weight and one bias.

    w (in, out), all others (out,). Source: Jacob et al. 2017, arXiv:1712.05877, section 3.2.
    """
    scale = gamma / np.sqrt(var + eps)
    return w * scale, (b - mean) * scale + beta


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


def _fold_with(scale=None, new_w=None, new_b=None):
    """The reference with its scale, its weight or its bias replaced."""
    scale = scale or (lambda gamma, var, eps: gamma / np.sqrt(var + eps))
    new_w = new_w or (lambda w, s: w * s)
    new_b = new_b or (lambda b, mean, s, beta: (b - mean) * s + beta)

    def attempt(w, b, gamma, beta, mean, var, eps=1e-5):
        s = scale(gamma, var, eps)
        return new_w(w, s), new_b(b, mean, s, beta)

    return attempt


def _normalized(values, gamma, beta, mean, var, eps):
    return gamma * (values - mean) / np.sqrt(var + eps) + beta


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
    name="my_fold_batch_norm",
    signature="my_fold_batch_norm(w, b, gamma, beta, mean, var, eps=1e-5)",
    reference=_fold,
    cases=_fold_cases,
    tol=1e-5,
    results=("weight", "bias"),
    variants=[_fold_einsum, _fold_by_probing],
    mistakes=[
        Mistake(
            _fold_with(new_w=lambda w, s: w * s[:, None]),
            "you scaled the rows of w, one for each input; in x @ w every output is a column, so the scale goes along "
            "the last axis",
        ),
        Mistake(
            _fold_with(new_w=lambda w, s: w.T * s[:, None]),
            "your weight has shape (out, in), as PyTorch stores it; here w is (in, out), as in x @ w",
        ),
        *forms(
            "your @ multiplies and sums; here every column of w is multiplied by a number of its own, with *",
            _fold_with(new_w=lambda w, s: w @ s),
            _fold_with(new_w=lambda w, s: s @ w),
        ),
        *forms(
            "you sent the weight itself through batch norm; normalized is the output x @ w + b, so the mean and beta "
            "go into the bias and w is only multiplied",
            lambda w, b, gamma, beta, mean, var, eps=1e-5: (_normalized(w, gamma, beta, mean, var, eps), b),
            lambda w, b, gamma, beta, mean, var, eps=1e-5: (
                _normalized(w, gamma, beta, mean, var, eps),
                _normalized(b, gamma, beta, mean, var, eps),
            ),
            lambda w, b, gamma, beta, mean, var, eps=1e-5: (_normalized(w, gamma, 0, mean, var, eps), b + beta),
            lambda w, b, gamma, beta, mean, var, eps=1e-5: (
                _normalized(w, gamma, 0, mean, var, eps),
                _normalized(b, gamma, beta, 0, var, eps),
            ),
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: beta),
            "your bias is only beta; the old bias and the mean go through the scale and belong into it too",
        ),
        Mistake(
            _fold_with(new_w=lambda w, s: w),
            "your bias is right, but you returned the old weight; its outputs need the scale too",
        ),
        Mistake(
            lambda *args, **kwargs: _fold(*args, **kwargs)[::-1],
            "you returned (bias, weight); the weight comes first",
        ),
        Mistake(
            _fold_with(scale=lambda gamma, var, eps: gamma / np.sqrt(var)),
            "you folded without eps, so the folded layer differs wherever the variance is small",
        ),
        Mistake(
            _fold_with(scale=lambda gamma, var, eps: gamma / np.sqrt(var + 1e-5)),
            "you ignored the argument eps and always used 1e-5",
        ),
        Mistake(
            _fold_with(scale=lambda gamma, var, eps: gamma / (np.sqrt(var) + eps)),
            "your epsilon is outside the root: you added it to the standard deviation, it belongs to the variance",
        ),
        Mistake(
            _fold_with(scale=lambda gamma, var, eps: gamma / (var + eps)),
            "you divided by the variance, not by its root",
        ),
        Mistake(
            _fold_with(scale=lambda gamma, var, eps: 1 / np.sqrt(var + eps)),
            "you left gamma out of the scale",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: b * s + beta),
            "the mean is missing from your bias: batch norm subtracts it before it scales",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: (b + mean) * s + beta),
            "the mean has the wrong sign in your bias: it is subtracted before the scale",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: (mean - b) * s + beta),
            "in your bias, bias and mean have changed places: the bias is what comes in, the mean is subtracted",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: b + beta - mean * s),
            "you did not scale the old bias; it goes through batch norm together with x @ w",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: b * s - mean + beta),
            "you did not scale the mean; it is subtracted before the division, so the scale applies to it too",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: (b - mean + beta) * s),
            "you scaled beta too; it is added after the scale",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: beta - mean * s),
            "your bias is only batch norm's own shift; the old bias of the layer is missing",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: (b - mean) * s),
            "beta is missing from your bias",
        ),
        Mistake(
            _fold_with(new_b=lambda b, mean, s, beta: b),
            "you folded the weight but returned the old bias; the shift of batch norm belongs into it",
        ),
    ],
)

# --------------------------------------------------------------------------------------- masked_batch_norm


def _masked(x, mask, eps=1e-5):
    """x (N, L, C), mask (N, L) of booleans: one mean and variance per feature over the real tokens; 0 elsewhere."""
    real = x[mask]
    y = np.zeros_like(x)
    y[mask] = (real - real.mean(axis=0)) / np.sqrt(real.var(axis=0) + eps)
    return y


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


def _masked_per_sentence(x, mask, eps=1e-5):
    m = mask[..., None]
    count = m.sum(axis=1, keepdims=True)
    mean = (m * x).sum(axis=1, keepdims=True) / count
    var = (m * (x - mean) ** 2).sum(axis=1, keepdims=True) / count
    return m * (x - mean) / np.sqrt(var + eps)


def _without_new_axis(x, mask, eps=1e-5):
    mean = (mask * x).sum(axis=(0, 1)) / mask.sum()
    var = (mask * (x - mean) ** 2).sum(axis=(0, 1)) / mask.sum()
    return mask * (x - mean) / np.sqrt(var + eps)


def _masked_over_features(x, mask, eps=1e-5):
    real = x[mask]
    return mask[..., None] * (x - real.mean()) / np.sqrt(real.var() + eps)


def _of_each_token(x, eps):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def _masked_too_early(x, mask, eps):
    x = mask[..., None] * x
    mean = x.sum(axis=(0, 1)) / mask.sum()
    return (x - mean) / np.sqrt(((x - mean) ** 2).sum(axis=(0, 1)) / mask.sum() + eps)


def _quietly(attempt, *args):
    """Without the warning that a tensor without padding has nothing left when the mask is turned round."""
    with np.errstate(all="ignore"):
        return attempt(*args)


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


def _everything(x, eps=1e-5):
    return (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + eps)


MASKED_BATCH_NORM = Exercise(
    name="my_masked_batch_norm",
    signature="my_masked_batch_norm(x, mask, eps=1e-5)",
    reference=_masked,
    cases=_masked_cases,
    tol=1e-4,
    variants=[_masked_with_where, _masked_token_by_token, _masked_with()],
    mistakes=[
        Mistake(
            lambda x, mask, eps=1e-5: _everything(x, eps),
            "you ignored the mask: mean and variance count the padding, and the padding got outputs",
        ),
        Mistake(
            lambda x, mask, eps=1e-5: mask[..., None] * _everything(x, eps),
            "your output is 0 at the padding, but your mean and variance still count the padding",
        ),
        *forms(
            "your statistics are right, but the padding got outputs too; they must be 0 there",
            _masked_with(hide=False),
            lambda x, mask, eps=1e-5: np.where(mask[..., None], _masked(x, mask, eps), x),
            lambda x, mask, eps=1e-5: np.where(mask[..., None], _masked(x, mask, eps), np.nan),
        ),
        Mistake(
            lambda x, mask, eps=1e-5: ~mask[..., None] * _masked_with(hide=False)(x, mask, eps),
            "you set the real tokens to 0 and kept the padding; the mask is True where a token is real",
        ),
        Mistake(
            lambda x, mask, eps=1e-5: mask[..., None] * _of_each_token(x, eps),
            "you averaged over the features of each token; that is layer norm, batch norm averages over the tokens",
        ),
        Mistake(
            _masked_with(
                mean=lambda x, m: (m * x).mean(axis=(0, 1)), var=lambda x, m, mu: (m * (x - mu) ** 2).mean(axis=(0, 1))
            ),
            "you divided both sums by N times L; only the real tokens count, and the mask knows how many they are",
        ),
        Mistake(
            _masked_with(mean=lambda x, m: (m * x).mean(axis=(0, 1))),
            "the sum in your mean leaves the padding out, but you divided it by N times L and not by the number of "
            "real tokens",
        ),
        Mistake(
            _masked_with(var=lambda x, m, mu: (m * (x - mu) ** 2).mean(axis=(0, 1))),
            "your mean is right, but the sum in your variance is divided by N times L and not by the number of real "
            "tokens",
        ),
        *forms(
            "you masked x before subtracting the mean, so each padded place adds (0 − mean)² to your variance; mask "
            "after the square",
            _masked_with(var=lambda x, m, mu: ((m * x - mu) ** 2).sum(axis=(0, 1)) / m.sum()),
            lambda x, mask, eps=1e-5: _masked_too_early(x, mask, eps),
        ),
        Mistake(
            _masked_with(var=lambda x, m, mu: ((x - mu) ** 2).mean(axis=(0, 1))),
            "your mean leaves the padding out, your variance does not",
        ),
        Mistake(
            _masked_with(var=lambda x, m, mu: x.var(axis=(0, 1))),
            "your mean leaves the padding out, but your variance is that of the whole tensor",
        ),
        Mistake(
            _masked_with(var=lambda x, m, mu: (m * (x - mu) ** 2).sum(axis=(0, 1)) / (m.sum() - 1)),
            "you divided by the number of real tokens minus one in the variance; batch norm divides by the number",
        ),
        Mistake(
            lambda x, mask, eps=1e-5: mask[..., None] * _everything(mask[..., None] * x, eps),
            "you set the padding to 0 and then averaged over all places; these zeros count as values too, so divide "
            "the sums by the number of real tokens",
        ),
        Mistake(
            lambda x, mask, eps=1e-5: _everything(mask[..., None] * x, eps),
            "you set the padding to 0 and then averaged over all places, where these zeros count as values; and the "
            "padding got outputs",
        ),
        in_float32(_masked),
        one_pass(_masked_with(var=lambda x, m, mu: _over_tokens(x**2, m) - mu**2)),
        Mistake(
            _masked_with(var=lambda x, m, mu: (m * (x - mu) ** 2).sum(axis=(0, 1))),
            "your variance is the sum of the squared distances; divide it by the number of real tokens",
        ),
        Mistake(
            _without_new_axis,
            "your mask has shape (N, L) and meets the last axes of x, (L, C); it needs one more axis at the end (with "
            "all sizes equal nothing complains)",
            wrong_anyhow="all sizes equal",
        ),
        *forms(
            "you returned the real tokens only; y has the shape of x, with 0 where there is no token",
            lambda x, mask, eps=1e-5: _masked(x, mask, eps)[mask],
            lambda x, mask, eps=1e-5: _masked_over_features(x, mask, eps)[mask],
        ),
        Mistake(
            lambda x, mask, eps=1e-5: _quietly(_masked_with(), x, ~mask, eps),
            "you used the mask the wrong way round: it is True where a token is real",
        ),
        *forms(
            "you averaged over the features too, so they share one mean; each feature has its own",
            _masked_over_features,
            lambda x, mask, eps=1e-5: (x - x[mask].mean()) / np.sqrt(x[mask].var() + eps),
        ),
        Mistake(
            _masked_per_sentence,
            "each of your sentences has its own mean and variance; that is instance norm, batch norm shares them over "
            "the whole batch",
        ),
        *mistakes_with(lambda step: _masked_with(normalize=step), NORMALIZING),
        *mistakes_with(lambda step: _masked_with(normalize=step, hide=False), NORMALIZING),
    ],
)

EXERCISES = [BATCH_NORM, FOLD_BATCH_NORM, MASKED_BATCH_NORM]
