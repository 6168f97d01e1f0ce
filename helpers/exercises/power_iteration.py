"""Lesson 08: normalizing weights instead of activations."""

import numpy as np

from .checker import Exercise, Mistake, WrongKind, case
from .steps import forms


def _unit(vector):
    return vector / np.sqrt(vector @ vector)


# --------------------------------------------------------------------------------------------- weight_norm


def _weight_norm(v, g):
    """v (out, in), g (out,), positive: row i of the result has the direction of v[i] and the length g[i]."""
    return g[:, None] * v / np.sqrt((v**2).sum(axis=1, keepdims=True))


def _weight_norm_cases(rng):
    def one(shape, *, scale=1.0, label):
        return case(scale * rng.standard_normal(shape), rng.uniform(0.5, 3.0, shape[0]), label=label)

    shape = (int(rng.integers(2, 5)), int(rng.integers(5, 8)))
    return [
        one((5, 3), label="tall v"),
        one((3, 3), label="square v"),
        one(shape, label="wide v"),
        one((4, 6), scale=1e-3, label="tiny v"),
        one((2, 2), scale=100.0, label="large v"),
        one((1, 5), label="one row"),
    ]


def _with_lengths(lengths):
    """Weight norm with another idea of the length; `lengths(v)` must broadcast against v."""
    return lambda v, g: g[:, None] * v / lengths(v)


def _weight_norm_row_by_row(v, g):
    return [[g[i] * x / sum(y * y for y in row) ** 0.5 for x in row] for i, row in enumerate(v)]


def _weight_norm_einsum(v, g):
    return np.einsum("i,ij->ij", g / np.sqrt(np.einsum("ij,ij->i", v, v)), v)


WEIGHT_NORM = Exercise(
    name="my_weight_norm",
    signature="my_weight_norm(v, g)",
    reference=_weight_norm,
    cases=_weight_norm_cases,
    tol=1e-5,  # a tiny number added to the length is no mistake
    variants=[
        _weight_norm_row_by_row,
        _weight_norm_einsum,
        lambda v, g: (g * v.T / np.linalg.norm(v, axis=1)).T,
        lambda v, g: np.diag(g / np.linalg.norm(v, axis=1)) @ v,
    ],
    mistakes=[
        Mistake(
            _with_lengths(np.linalg.norm),
            "you divided by one length for the whole matrix (the Frobenius norm); each row has its own length and its "
            "own g",
        ),
        Mistake(
            _with_lengths(lambda v: np.linalg.norm(v, axis=0, keepdims=True)),
            "you took the length of each column, over the output units; here it is the length of each row",
        ),
        Mistake(
            lambda v, g: g * v / np.linalg.norm(v, axis=1),
            "g and the lengths have shape (out,), so they line up with the columns of v; give them a second axis of "
            "size 1",
        ),
        Mistake(
            lambda v, g: g * v / np.linalg.norm(v),
            "you divided by one length for the whole matrix, but each row has its own; and g has shape (out,), which "
            "lines up with the columns",
        ),
        Mistake(
            lambda v, g: g * v / np.linalg.norm(v, axis=1, keepdims=True),
            "your lengths line up with the rows, but g has shape (out,) and lines up with the columns; give it a "
            "second axis of size 1",
        ),
        Mistake(
            lambda v, g: g[:, None] * v / np.linalg.norm(v, axis=1),
            "g lines up with the rows, but your lengths lost the axis you summed over and line up with the columns",
        ),
        Mistake(
            _with_lengths(lambda v: (v**2).sum(axis=1, keepdims=True)),
            "you divided by the sum of squares; the length is its root",
        ),
        Mistake(
            _with_lengths(lambda v: np.sqrt((v**2).mean(axis=1, keepdims=True))),
            "you divided by the root of the mean square, so your rows are longer than g; a length uses the sum",
        ),
        Mistake(
            _with_lengths(lambda v: np.abs(v).sum(axis=1, keepdims=True)),
            "you divided by the sum of the absolute values; the length is the root of the sum of squares",
        ),
        Mistake(
            _with_lengths(lambda v: np.linalg.norm(v, 2)),
            "you divided by the largest singular value of v; that is spectral norm, here each row has its own length",
        ),
        Mistake(
            _with_lengths(lambda v: v.std(axis=1, keepdims=True)),
            "you divided by the standard deviation of each row; the length is the root of the sum of squares",
        ),
        Mistake(
            _with_lengths(lambda v: np.abs(v).max(axis=1, keepdims=True)),
            "you divided by the largest entry of each row; the length is the root of the sum of squares",
        ),
        Mistake(
            _with_lengths(lambda v: v.sum(axis=1, keepdims=True)),
            "you divided by the sum of each row; the length is the root of the sum of squares",
        ),
        Mistake(
            lambda v, g: g[:, None] * (v - v.mean(axis=1, keepdims=True)) / v.std(axis=1, keepdims=True),
            "you standardized the rows, as layer norm does with activations; weight norm only sets their length",
        ),
        Mistake(
            lambda v, g: g @ v / np.linalg.norm(v, axis=1, keepdims=True),
            "your @ multiplies and sums; here every row is multiplied by its own g, with *",
        ),
        Mistake(
            lambda v, g: v * np.linalg.norm(v, axis=1, keepdims=True) / g[:, None],
            "you divided by g and multiplied by the length; it is the other way round",
        ),
        Mistake(
            lambda v, g: v / (g[:, None] * np.linalg.norm(v, axis=1, keepdims=True)),
            "you divided by g; multiply by it and divide by the length",
        ),
        Mistake(
            lambda v, g: g[:, None] * v * np.linalg.norm(v, axis=1, keepdims=True),
            "you multiplied by the length of the row; divide by it",
        ),
        Mistake(
            lambda v, g: v / np.linalg.norm(v, axis=1, keepdims=True),
            "your rows have length 1: g is not applied, or applied before the division, which takes it out again",
        ),
        Mistake(
            lambda v, g: g[:, None] * v,
            "you multiplied by g but kept the length of v; divide each row by its length first",
        ),
    ],
)

# ----------------------------------------------------------------------------------------- power_iteration

FRESH = "the answer does not depend on the u it was given"
EXACT = "sigma is the exact one, whatever u is"


def _power_iteration(w, u, n_iter):
    """n_iter times v = W^T u, u = W v, each scaled to length 1; then sigma = u^T W v. Returns sigma, u, v."""
    for _ in range(n_iter):
        v = _unit(w.T @ u)
        u = _unit(w @ v)
    return u @ w @ v, u, v


def _power_iteration_cases(rng):
    def one(shape, n_iter, *, scale=1.0, label):
        return case(scale * rng.standard_normal(shape), rng.standard_normal(shape[0]), n_iter, label=label)

    return [
        one((4, 4), 1, label="one iteration"),
        one((6, 3), 2, label="tall w"),
        one((3, 5), 5, label="wide w"),
        one((5, 5), 3, label="square w"),
        one((5, 4), 12, scale=1e30, label="huge w"),
        one((4, 3), 12, scale=1e-30, label="tiny w"),
    ]


def _run_power_iteration(attempt, w, u, n_iter):
    """Call it; then make sure with single iterations, which are far from the end, that it starts from u."""
    result = attempt(w, u, n_iter)
    _must_start_from(u, lambda start: attempt(w.copy(), start, 1), 3, lambda sigma: sigma / np.linalg.norm(w, 2))
    return result


def _must_start_from(u, step, length, stretch):
    """Raise WrongKind if the new u is another one from the same u again, or the same one from another u.

    step(u): an answer of `length` items, the new u as item 1. stretch(item 0): 1 if that is exact.
    """
    answers = [step(start.copy()) for start in (u, u, u[::-1])]
    if not all(_holds_a_start(answer, length, u.shape) for answer in answers):
        return  # the comparison says what is wrong with it
    item, first = answers[0][:2]
    again, other = answers[1][1], answers[2][1]
    if not np.array_equal(first, again) or np.array_equal(first, other):
        try:
            exact = bool(np.isclose(stretch(item), 1))
        except (TypeError, ValueError):  # something else than a number or a matrix
            exact = False
        raise WrongKind(EXACT if exact else FRESH)


def _holds_a_start(answer, length, shape):
    """Whether item 1 of an answer is something that the next iteration can begin with."""
    if not isinstance(answer, (tuple, list)) or len(answer) != length:
        return False
    u = answer[1]
    return type(u) is np.ndarray and u.shape == shape and u.dtype.kind == "f" and np.isfinite(u).all()


def _fresh_in_every_iteration(w, u, n_iter):
    rng = np.random.default_rng(0)
    for _ in range(n_iter):
        sigma, u, v = _power_iteration(w, rng.standard_normal(len(w)), 1)
    return sigma, u, v


def _all_by_svd(w, u, n_iter):
    left, values, right = np.linalg.svd(w)
    return values[0], left[:, 0], right[0]


def _scaled_by(scale):
    """Power iteration with another way to scale the vectors."""

    def attempt(w, u, n_iter):
        for _ in range(n_iter):
            v = scale(w.T @ u)
            u = scale(w @ v)
        return u @ w @ v, u, v

    return attempt


def _normalized_after_the_loop(w, u, n_iter):
    for _ in range(n_iter):
        v = w.T @ u
        u = w @ v
    u, v = _unit(u), _unit(v)
    return u @ w @ v, u, v


def _only_u_normalized(w, u, n_iter):
    for _ in range(n_iter):
        v = w.T @ u
        u = _unit(w @ v)
    return u @ w @ v, u, v


def _products_entry_by_entry(w, u, n_iter):
    for _ in range(n_iter):
        v = w.T * u
        u = w * v
    return u @ w @ v, u, v


def _one_matrix_only(w, u, n_iter):
    for _ in range(n_iter):
        u = _unit(w @ u)
    return u @ w @ u, u, u


def _products_swapped(w, u, n_iter):
    for _ in range(n_iter):
        v = _unit(w @ u)
        u = _unit(w.T @ v)
    return u @ w @ v, u, v


def _sigma_by(value):
    """The right vectors, but another value from them: value(w, u, v)."""

    def attempt(w, u, n_iter):
        _, u, v = _power_iteration(w, u, n_iter)
        return value(w, u, v), u, v

    return attempt


def _sigma_with_the_old_u(w, u, n_iter):
    for _ in range(n_iter):
        v = _unit(w.T @ u)
        sigma = u @ w @ v
        u = _unit(w @ v)
    return sigma, u, v


def _u_and_v_swapped(w, u, n_iter):
    sigma, u, v = _power_iteration(w, u, n_iter)
    return sigma, v, u


def _power_iteration_by_lists(w, u, n_iter):
    rows, columns = w.tolist(), w.T.tolist()
    u = list(u)

    def apply(matrix, x):
        y = [sum(a * b for a, b in zip(line, x, strict=True)) for line in matrix]
        length = sum(a * a for a in y) ** 0.5
        return [a / length for a in y], length

    for _ in range(n_iter):
        v, _ = apply(columns, u)
        u, sigma = apply(rows, v)
    return sigma, np.array(u), np.array(v)


def _power_iteration_on_v(w, u, n_iter):
    w = w / (size := np.abs(w).max())
    v = _unit(w.T @ u)
    for _ in range(n_iter - 1):
        v = _unit(w.T @ (w @ v))
    u = w @ v
    return size * np.linalg.norm(u), u / np.linalg.norm(u), v


POWER_ITERATION = Exercise(
    name="my_power_iteration",
    signature="my_power_iteration(w, u, n_iter)",
    reference=_power_iteration,
    cases=_power_iteration_cases,
    results=("sigma", "u", "v"),
    run=_run_power_iteration,
    variants=[
        _power_iteration_by_lists,
        _power_iteration_on_v,
    ],
    mistakes=[
        Mistake(
            _all_by_svd,
            "your sigma is exact whatever u and n_iter are, so it comes from a full SVD; asked are n_iter iterations "
            "from u",
        ),
        Mistake(
            _fresh_in_every_iteration,
            "you draw a vector of your own instead of going on from u; drawn anew in every iteration it throws the "
            "progress away",
        ),
        Mistake(
            _scaled_by(lambda x: x),
            "you never scale the vectors back to length 1: they grow or shrink with every product, until nothing is "
            "left but inf, NaN or 0",
        ),
        Mistake(
            _normalized_after_the_loop,
            "you scale the vectors only after the loop; by then a huge w has overflowed and a tiny one has become 0; "
            "scale after every product",
        ),
        Mistake(_only_u_normalized, "you scale u to length 1, but not v; then u·(Wv) is no longer a stretch"),
        Mistake(
            lambda w, u, n_iter: (lambda sigma, u, v: (sigma, sigma * u, v))(*_power_iteration(w, u, n_iter)),
            "the u you return does not have length 1; scale it after the last product too",
        ),
        Mistake(
            _sigma_by(lambda w, u, v: np.sqrt(u @ w @ v)),
            "you took the root of u·(Wv); it is sigma already",
        ),
        Mistake(
            _sigma_by(lambda w, u, v: np.linalg.norm(w.T @ u)),
            "your sigma is the length of W transposed times the new u, half an iteration further than your v; use "
            "u·(Wv)",
        ),
        *forms(
            "you multiplied entry by entry; the products of matrix and vector need @",
            _sigma_by(lambda w, u, v: u * w * v),
            _products_entry_by_entry,
        ),
        Mistake(
            _scaled_by(lambda x: x / np.abs(x).max()),
            "you divide by the largest entry; the direction is right, but sigma needs vectors of length 1",
        ),
        Mistake(
            _scaled_by(lambda x: x / (x @ x)),
            "you divide by the sum of squares; the length is its root",
        ),
        Mistake(
            _sigma_by(lambda w, u, v: v @ w.T @ w @ v),
            "your sigma belongs to the product of W transposed and W: it is the square of what is asked; take the root",
        ),
        Mistake(
            _sigma_by(lambda w, u, v: np.linalg.norm(w)),
            "your sigma is the Frobenius norm, the root of the sum of all squared entries; asked is the largest "
            "stretch",
        ),
        Mistake(
            _sigma_by(lambda w, u, v: np.linalg.norm(w, 2)),
            "your sigma is the exact one; asked is the estimate from your own u and v after n_iter iterations",
        ),
        Mistake(
            _sigma_with_the_old_u,
            "you take sigma before u is renewed; use the u and v that you return",
        ),
        Mistake(
            _u_and_v_swapped,
            "you swapped u and v: u has one entry per row of w, v one per column; return sigma, u, v",
        ),
        Mistake(
            lambda w, u, n_iter: (lambda sigma, u, v: (u, v, sigma))(*_power_iteration(w, u, n_iter)),
            "you return sigma last; return sigma, u, v",
        ),
        Mistake(
            _products_swapped,
            "you swapped the two products: u has one entry per row, so W transposed takes u to v, and W takes v to u",
        ),
        Mistake(
            _one_matrix_only,
            "you multiply by W alone; that looks for an eigenvalue and needs a square w, a singular value needs W "
            "transposed too",
        ),
        Mistake(
            lambda w, u, n_iter: _power_iteration(w, u, 1),
            "you stop after the first iteration whatever n_iter is; does a return stand inside the loop?",
        ),
        Mistake(
            lambda w, u, n_iter: _power_iteration(w, u, n_iter + 1),
            "you run one iteration more than n_iter",
        ),
        Mistake(
            lambda w, u, n_iter: _power_iteration(w, u, 20),
            "you ignore n_iter and always run 20 iterations",
        ),
    ],
)

# ------------------------------------------------------------------------------------------- spectral_norm


def _spectral_norm(w, u):
    """One iteration from u: w / sigma, and the new u for the next training step."""
    sigma, u, _ = _power_iteration(w, u, 1)
    return w / sigma, u


def _spectral_norm_cases(rng):
    """Each case is a few training steps: a stack of weights, each a little different from the one before."""

    def one(shape, steps, *, scale=1.0, drift=0.1, label):
        w = rng.standard_normal(shape) + drift * rng.standard_normal((steps, *shape)).cumsum(axis=0)
        return case(scale * w, _unit(rng.standard_normal(shape[0])), label=label)

    return [
        one((5, 3), 1, label="tall w, 1 step"),
        one((4, 4), 4, label="square w, 4 steps"),
        one((3, 6), 5, label="wide w, 5 steps"),
        one((4, 5), 3, scale=100.0, label="large w, 3 steps"),
        one((5, 5), 20, drift=0.0, label="w stands still, 20 steps"),
    ]


def _run_spectral_norm(attempt, w, u):
    """Train: one call per weight, the u of each call handed to the next. The result is that of the last call."""
    result = attempt(w[0], u)
    _must_start_from(u, lambda start: attempt(w[0].copy(), start), 2, lambda w: np.linalg.norm(w, 2))
    for matrix in w[1:]:
        if not _holds_a_start(result, 2, u.shape):
            break
        result = attempt(matrix, result[1])
    return result


def _fresh_in_every_step(w, u):
    return _spectral_norm(w, np.random.default_rng(0).standard_normal(len(w)))


def _by_svd(w, u):
    left, values, _ = np.linalg.svd(w)
    return w / values[0], left[:, 0]


def _divided_by(sigma):
    """The right u, but w divided by something else: sigma(w, new u, v, old u)."""

    def attempt(w, u):
        _, new, v = _power_iteration(w, u, 1)
        return w / sigma(w, new, v, u), new

    return attempt


def _returning_v(w, u):
    sigma, _, v = _power_iteration(w, u, 1)
    return w / sigma, v


def _u_not_scaled(w, u):
    v = _unit(w.T @ u)
    u = w @ v
    return w / (_unit(u) @ w @ v), u


def _nothing_scaled(w, u):
    v = w.T @ u
    u = w @ v
    return w / (u @ w @ v), u


def _u_not_scaled_anywhere(w, u):
    v = _unit(w.T @ u)
    u = w @ v
    return w / (u @ w @ v), u


def _spectral_norm_rooted(w, u):
    v = w.T @ u
    v = v / (v**2).sum() ** 0.5
    stretched = w.dot(v)
    sigma = (stretched**2).sum() ** 0.5
    return w / sigma, stretched / sigma


SPECTRAL_NORM = Exercise(
    name="my_spectral_norm",
    signature="my_spectral_norm(w, u)",
    reference=_spectral_norm,
    cases=_spectral_norm_cases,
    results=("w", "u"),
    run=_run_spectral_norm,
    variants=[
        _spectral_norm_rooted,
        lambda w, u: [w / _power_iteration(w, u, 1)[0], _power_iteration(w, 5 * u, 1)[1]],
    ],
    mistakes=[
        Mistake(
            _by_svd,
            "your w has exactly norm 1 whatever u is, so it comes from a full SVD; asked is one power iteration from u",
        ),
        Mistake(
            _fresh_in_every_step,
            "you start from a vector of your own in every call instead of the u you are given, so the estimate never "
            "gets better from step to step",
        ),
        Mistake(
            lambda w, u: (_spectral_norm(w, u)[0], u.copy()),
            "you return the old u, so the next step starts where this one did; return the new one",
        ),
        Mistake(
            _returning_v,
            "you return v in the place of u; the next step needs the vector with one entry per row of w",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: np.linalg.norm(w)),
            "you divided by the Frobenius norm, the root of the sum of all squared entries; it is larger than the "
            "largest stretch, so your w is too small",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: np.linalg.norm(w, 2)),
            "your u is right, but you divided by the exact value; asked is the estimate from u and v",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: (new @ w @ v) ** 2),
            "you divided by the square of sigma, the value that belongs to the product of W transposed and W; take the "
            "root",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: np.sqrt(new @ w @ v)),
            "you divided by the root of u·(Wv); it is sigma already",
        ),
        Mistake(
            _nothing_scaled,
            "neither v nor u has length 1, so u·(Wv) is no stretch; scale after each product",
        ),
        Mistake(
            lambda w, u: (*_spectral_norm(w, u), _power_iteration(w, u, 1)[2]),
            "you return v too; asked are w / sigma and u",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: 1 / (new @ w @ v)),
            "you multiplied by sigma; to bring the largest stretch to about 1, divide",
        ),
        Mistake(
            _divided_by(lambda w, new, v, old: old @ w @ v),
            "you take sigma with the old u; use the new one, which is closer",
        ),
        Mistake(
            lambda w, u: (w.copy(), _spectral_norm(w, u)[1]),
            "your u is right, but w is returned as it came; divide it by sigma",
        ),
        Mistake(
            lambda w, u: (w / np.linalg.norm(w), u.copy()),
            "you divided by the Frobenius norm, the root of the sum of all squared entries, which is larger than the "
            "largest stretch; and u comes back as it went in",
        ),
        Mistake(
            lambda w, u: (w / np.linalg.norm(w, 2), u.copy()),
            "you divided by the exact value and return u as it came; asked is the estimate after one iteration, and "
            "the new u",
        ),
        Mistake(
            lambda w, u: (lambda sigma, u, v: (w / sigma, u))(*_power_iteration(w, u, 20)),
            "you run 20 iterations; the point of keeping u is that one per training step is enough",
        ),
        Mistake(
            lambda w, u: _spectral_norm(w, u)[::-1],
            "you return u first; return w / sigma, then u",
        ),
        Mistake(
            lambda w, u: _power_iteration(w, u, 1)[:2],
            "you return sigma; return w divided by it, and u",
        ),
        Mistake(
            _u_not_scaled,
            "the u you return does not have length 1; it would grow from step to step",
        ),
        Mistake(
            _u_not_scaled_anywhere,
            "your u does not have length 1, so u·(Wv) is the square of sigma; scale u before you use and return it",
        ),
    ],
)

EXERCISES = [WEIGHT_NORM, POWER_ITERATION, SPECTRAL_NORM]
