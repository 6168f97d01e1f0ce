"""Lesson 08: normalizing weights instead of activations."""

import numpy as np

from ...exercises import Exercise, Says, WrongKind, case


def _unit(vector):
    return vector / np.sqrt(vector @ vector)


# --------------------------------------------------------------------------------------------- weight_norm


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


def _weight_norm_row_by_row(v, g):
    return [[g[i] * x / sum(y * y for y in row) ** 0.5 for x in row] for i, row in enumerate(v)]


def _weight_norm_einsum(v, g):
    return np.einsum("i,ij->ij", g / np.sqrt(np.einsum("ij,ij->i", v, v)), v)


WEIGHT_NORM = Exercise(
    solution="""
def my_weight_norm(v, g):
    length = np.sqrt((v**2).sum(axis=1, keepdims=True))
    return g[:, None] * v / length
""",
    cases=_weight_norm_cases,
    tol=1e-5,
    variants=[
        _weight_norm_row_by_row,
        _weight_norm_einsum,
        lambda v, g: (g * v.T / np.linalg.norm(v, axis=1)).T,
        lambda v, g: np.diag(g / np.linalg.norm(v, axis=1)) @ v,
    ],
    mistakes={
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.linalg.norm(v)": (
            "you divided by one length for the whole matrix (the Frobenius norm); each row has its own length "
            "and its own g"
        ),
        "axis=1 -> axis=0": (
            "you took the length of each column, over the output units; here it is the length of each row"
        ),
        "g[:, None] -> g\naxis=1, keepdims=True -> axis=1": (
            "g and the lengths have shape (out,), so they line up with the columns of v; give them a second "
            "axis of size 1"
        ),
        "g[:, None] -> g\naxis=1, keepdims=True ->": (
            "you divided by one length for the whole matrix, but each row has its own; and g has shape "
            "(out,), which lines up with the columns"
        ),
        "g[:, None] -> g": (
            "your lengths line up with the rows, but g has shape (out,) and lines up with the columns; give "
            "it a second axis of size 1"
        ),
        "axis=1, keepdims=True -> axis=1": (
            "g lines up with the rows, but your lengths lost the axis you summed over and line up with the columns"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> (v**2).sum(axis=1, keepdims=True)": (
            "you divided by the sum of squares; the length is its square root"
        ),
        ".sum( -> .mean(": (
            "you divided by the root of the mean square, so your rows are longer than g; a length uses the sum"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.abs(v).sum(axis=1, keepdims=True)": (
            "you divided by the sum of the absolute values; the length is the square root of the sum of squares"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.linalg.norm(v, 2)": (
            "you divided by the largest singular value of v; that is spectral norm, here each row has its own length"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> v.std(axis=1, keepdims=True)": (
            "you divided by the standard deviation of each row; the length is the square root of the sum of squares"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.abs(v).max(axis=1, keepdims=True)": (
            "you divided by the largest entry of each row; the length is the square root of the sum of squares"
        ),
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> v.sum(axis=1, keepdims=True)": (
            "you divided by the sum of each row; the length is the square root of the sum of squares"
        ),
        "v / length -> (v - v.mean(axis=1, keepdims=True)) / v.std(axis=1, keepdims=True)": (
            "you standardized the rows, as layer norm does with activations; weight norm only sets their length"
        ),
        "g[:, None] * v -> g @ v": "your @ multiplies and sums; here every row is multiplied by its own g, with *",
        "g[:, None] * v / length -> v * length / g[:, None]": (
            "you divided by g and multiplied by the length; it is the other way round"
        ),
        "g[:, None] * v / length -> v / (g[:, None] * length)": (
            "you divided by g; multiply by it and divide by the length"
        ),
        "/ length -> * length": "you multiplied by the length of the row; divide by it",
        "g[:, None] * v -> v": (
            "your rows have length 1: g is not applied, or applied before the division, which cancels it"
        ),
        "v / length -> v": "you multiplied by g but kept the length of v; divide each row by its length first",
    },
)

# ----------------------------------------------------------------------------------------- power_iteration

FRESH = "the answer does not depend on the u it was given"

EXACT = "sigma is the exact one, whatever u is"


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
    solution="""
def my_power_iteration(w, u, n_iter):
    for _ in range(n_iter):
        v = w.T @ u
        v = v / np.linalg.norm(v)
        u = w @ v
        u = u / np.linalg.norm(u)
    return u @ w @ v, u, v
""",
    cases=_power_iteration_cases,
    results=("sigma", "u", "v"),
    run=_run_power_iteration,
    variants=[
        _power_iteration_by_lists,
        _power_iteration_on_v,
    ],
    mistakes={
        "left, values, right = np.linalg.svd(w); return values[0], left[:, 0], right[0]": (
            "your sigma is exact whatever u and n_iter are, so it comes from a full SVD; the task asks for n_iter "
            "iterations from u"
        ),
        "+ rng = np.random.default_rng(0)\nv = w.T @ u -> u = rng.standard_normal(len(w)); v = w.T @ u": (
            "you use a vector of your own; begin the first iteration with the u you are given, and each later one "
            "with the u before it"
        ),
        "v / np.linalg.norm(v) -> v\nu / np.linalg.norm(u) -> u": (
            "you never scale the vectors back to length 1: they grow or shrink with every product, until "
            "nothing is left but inf, NaN or 0"
        ),
        """v / np.linalg.norm(v) -> v
u / np.linalg.norm(u) -> u
return u -> u = u / np.linalg.norm(u); v = v / np.linalg.norm(v); return u""": (
            "you scale the vectors only after the loop; by then a huge w has overflowed and a tiny one has "
            "become 0; scale after every product"
        ),
        "v / np.linalg.norm(v) -> v": "you scale u to length 1, but not v; then u·(Wv) is no longer a stretch",
        "@ v, u, v -> @ v, w @ v, v": "the u you return does not have length 1; scale it after the last product too",
        "u @ w @ v, -> np.sqrt(u @ w @ v),": "you took the square root of u·(Wv); it is sigma already",
        "u @ w @ v, -> np.linalg.norm(w.T @ u),": (
            "your sigma is the length of W transposed times the new u, half an iteration further than your v; "
            "use u·(Wv)"
        ),
        (
            "u @ w @ v, -> u * w * v,",
            "w.T @ u -> w.T * u\nu = w @ v -> u = w * v\nv / np.linalg.norm(v) -> v\nu / np.linalg.norm(u) -> u",
            "w.T @ u -> w.T * u\nu = w @ v -> u = w * v",
        ): "you multiplied entry by entry; the products of matrix and vector need @",
        "np.linalg.norm(v) -> np.abs(v).max()\nnp.linalg.norm(u) -> np.abs(u).max()": (
            "you divide by the largest entry; the direction is right, but sigma needs vectors of length 1"
        ),
        "np.linalg.norm(v) -> (v @ v)\nnp.linalg.norm(u) -> (u @ u)": (
            "you divide by the sum of squares; the length is its square root"
        ),
        "u @ w @ v, -> v @ w.T @ w @ v,": (
            "your sigma belongs to the product of W transposed and W: it is the square of sigma; take the square root"
        ),
        "u @ w @ v, -> np.linalg.norm(w),": (
            "your sigma is the Frobenius norm, the square root of the sum of all squared entries; the task asks "
            "for the largest stretch"
        ),
        "u @ w @ v, -> np.linalg.norm(w, 2),": (
            "your sigma is the exact one; the task asks for the estimate from your own u and v after n_iter iterations"
        ),
        "u = w @ v -> sigma = u @ w @ v; u = w @ v\nreturn u @ w @ v, -> return sigma,": (
            "you take sigma before u is updated; use the u and v that you return"
        ),
        "@ v, u, v -> @ v, v, u": (
            "you swapped u and v: u has one entry per row of w, v one per column; return sigma, u, v"
        ),
        "return u @ w @ v, u, v -> return u, v, u @ w @ v": "you return sigma last; return sigma, u, v",
        "w.T @ u -> w @ u\nu = w @ v -> u = w.T @ v": (
            "you swapped the two products: u has one entry per row, so W transposed takes u to v, and W takes v to u"
        ),
        """def my_power_iteration(w, u, n_iter):
    for _ in range(n_iter):
        u = w @ u
        u = u / np.linalg.norm(u)
    return u @ w @ u, u, u""": (
            "you multiply by W alone; that looks for an eigenvalue and needs a square w, a singular value "
            "needs W transposed too"
        ),
        """def my_power_iteration(w, u, n_iter):
    for _ in range(n_iter):
        u = w @ (w.T @ u)
        u = u / np.linalg.norm(u)
    v = w.T @ u
    v = v / np.linalg.norm(v)
    return u @ w @ v, u, v""": (
            "your v comes from the new u, half an iteration later; return the v of the last iteration"
        ),
        "range(n_iter) -> range(1)": (
            "you return the result of one iteration whatever n_iter is; is a return inside the loop, or does each "
            "iteration begin with the same u?"
        ),
        "range(n_iter) -> range(n_iter + 1)": "you run one iteration more than n_iter",
        "range(n_iter) -> range(20)": "you ignore n_iter and always run 20 iterations",
        "u / np.linalg.norm(u) -> u": ("you scale v to length 1, but not u; both are directions, of length 1"),
        "range(n_iter) -> range(n_iter - 1)": Says("you run one iteration fewer than n_iter", raises=True),
        (
            "range(n_iter) -> range(10)",
            "range(n_iter) -> range(100)",
        ): ("you ran a fixed number of iterations; run n_iter"),
    },
)

# ------------------------------------------------------------------------------------------- spectral_norm


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
        one((5, 5), 20, drift=0.0, label="w does not change, 20 steps"),
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


def _spectral_norm_rooted(w, u):
    v = w.T @ u
    v = v / (v**2).sum() ** 0.5
    stretched = w.dot(v)
    sigma = (stretched**2).sum() ** 0.5
    return w / sigma, stretched / sigma


SPECTRAL_NORM = Exercise(
    solution="""
def my_spectral_norm(w, u):
    sigma, u, _ = my_power_iteration(w, u, 1)
    return w / sigma, u
""",
    names={"my_power_iteration": POWER_ITERATION.reference},
    cases=_spectral_norm_cases,
    results=("w", "u"),
    run=_run_spectral_norm,
    variants=[
        _spectral_norm_rooted,
        lambda w, u: [w / POWER_ITERATION.reference(w, u, 1)[0], POWER_ITERATION.reference(w, 5 * u, 1)[1]],
    ],
    mistakes={
        "left, values, _ = np.linalg.svd(w); return w / values[0], left[:, 0]": (
            "your w has exactly norm 1 whatever u is, so it comes from a full SVD; the task asks for one power "
            "iteration from u"
        ),
        "+ u = np.random.default_rng(0).standard_normal(len(w))": (
            "you start from a vector of your own in every call instead of the u you are given, so the "
            "estimate never gets better from step to step"
        ),
        "sigma, u, _ -> sigma, _, _": (
            "you return the old u, so the next step starts where this one did; return the new one"
        ),
        "sigma, u, _ -> sigma, _, u": (
            "you return v in the place of u; the next step needs the vector with one entry per row of w"
        ),
        "/ sigma -> / np.linalg.norm(w)": (
            "you divided by the Frobenius norm, the square root of the sum of all squared entries; it is larger than "
            "the largest stretch, so your w is too small"
        ),
        "/ sigma -> / np.linalg.norm(w, 2)": (
            "your u is right, but you divided by the exact value; the task asks for the estimate from u and v"
        ),
        "/ sigma -> / sigma**2": (
            "you divided by the square of sigma, the value that belongs to the product of W transposed and W; "
            "take the square root"
        ),
        "/ sigma -> / np.sqrt(sigma)": "you divided by the square root of u·(Wv); it is sigma already",
        "v = w.T @ u; u = w @ v; return w / (u @ w @ v), u": (
            "neither v nor u has length 1, so u·(Wv) is not a stretch; scale after each product"
        ),
        "sigma, u, _ = -> sigma, u, v =\n/ sigma, u -> / sigma, u, v": "you return v too; return w / sigma and u",
        "/ sigma -> * sigma": "you multiplied by sigma; to bring the largest stretch to about 1, divide",
        (
            "sigma, u, _ = my_power_iteration(w, u, 1) -> old = u; _, u, v = my_power_iteration(w, u, "
            "1); sigma = old @ w @ v"
        ): ("you take sigma with the old u; use the new one, which is closer"),
        "w / sigma -> w": "your u is right, but you return w unchanged; divide it by sigma",
        "return w / np.linalg.norm(w), u": (
            "you divided by the Frobenius norm, the square root of the sum of all squared entries, which is larger "
            "than the largest stretch; and you return u unchanged"
        ),
        "return w / np.linalg.norm(w, 2), u": (
            "you divided by the exact value and return u unchanged; the task asks for the estimate after one "
            "iteration, and the new u"
        ),
        "u, 1) -> u, 20)": "you run 20 iterations; the point of keeping u is that one per training step is enough",
        "w / sigma, u -> u, w / sigma": "you return u first; return w / sigma, then u",
        "w / sigma -> sigma": "you return sigma; return w divided by it, and u",
        "/ sigma, u -> / sigma, sigma * u": "the u you return does not have length 1; divide it by its length",
        "v = w.T @ u; v = v / np.linalg.norm(v); u = w @ v; return w / (u @ w @ v), u": (
            "your u does not have length 1, so u·(Wv) is the square of sigma; scale u before you use and return it"
        ),
        "(w, u, 1) -> (w, u, 10)": (
            "you ran more than one iteration; one for each call is enough, since u goes on from step to step"
        ),
    },
)

EXERCISES = [WEIGHT_NORM, POWER_ITERATION, SPECTRAL_NORM]
