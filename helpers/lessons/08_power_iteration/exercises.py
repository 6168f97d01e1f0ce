"""Lesson 08: normalizing weights instead of activations."""

import numpy as np

from ...exercises import Exercise, WrongKind, case
from ...exercises.shared import by_hand

FROBENIUS = "you divided by the Frobenius norm, one length of the whole matrix, the root of the sum of all squares"
# For the cases worked by hand: W^T u is (2, 1), and W v is (4, 1, 0) / sqrt(5).
START, TALL = np.array([1, 1, 5.0]), np.array([[2.0, 0], [0, 1], [0, 0]])


def _weight_norm_cases(rng):
    def one(shape, *, scale=1.0, label):
        return case(scale * rng.standard_normal(shape), rng.uniform(0.5, 3.0, shape[0]), label=label)

    return [
        one((5, 3), label="tall v"),
        one((3, 3), label="square v"),
        one((int(rng.integers(2, 5)), int(rng.integers(5, 8))), label="wide v"),
        one((4, 6), scale=1e-3, label="tiny v"),
        one((2, 2), scale=100.0, label="large v"),
        one((1, 5), label="one row"),
    ]


WEIGHT_NORM = Exercise(
    solution="""
def my_weight_norm(v, g):
    length = np.sqrt((v**2).sum(axis=1, keepdims=True))  # the lengths of the rows
    return g[:, None] * v / length  # the output
""",
    cases=_weight_norm_cases,
    tol=1e-5,
    variants=[
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.linalg.norm(v, axis=1)\ng[:, None] * v / length -> v * (g / length)[:, None]"
    ],
    worked=[(by_hand([[3.0, 4], [0, 2]], [10.0, 3]), [[6, 8], [0, 3]])],
    mistakes={
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.linalg.norm(v)": FROBENIUS + "; each row has its own",
        "g[:, None] -> g\naxis=1, keepdims=True -> axis=1": "g and the lengths line up with the columns; give them an axis of size 1",
        "np.sqrt((v**2).sum(axis=1, keepdims=True)) -> np.linalg.norm(v, 2)": "you divided by sigma, as spectral norm does; each row has its own length",
    },
)

FRESH = "you start from a vector of your own; begin with the u you are given, and go on from it"
EXACT = "your u is exact whatever u you are given, so it comes from a full SVD; the task asks for iterations from u"


def _must_start_from(w, u, step, length):
    """Raise WrongKind if the new u, item 1 of `step(u)`, does not depend on u, or on more than u."""
    answers = [step(start.copy()) for start in (u, u, u[::-1])]
    if not all(_holds_a_start(answer, length, u.shape) for answer in answers):
        return  # the comparison says what is wrong with it
    first, again, other = (answer[1] for answer in answers)
    if not np.array_equal(first, again) or np.array_equal(first, other):
        exact = np.linalg.svd(w)[0][:, 0]
        raise WrongKind(EXACT if np.allclose(abs(first), abs(exact)) else FRESH)


def _holds_a_start(answer, length, shape):
    """Whether item 1 of an answer is something that the next iteration can begin with."""
    if not isinstance(answer, (tuple, list)) or len(answer) != length:
        return False
    u = answer[1]
    return type(u) is np.ndarray and u.shape == shape and u.dtype.kind == "f" and np.isfinite(u).all()


def _power_iteration_cases(rng):
    def one(shape, n_iter, *, scale=1.0, label):
        return case(scale * rng.standard_normal(shape), rng.standard_normal(shape[0]), n_iter, label=label)

    return [
        one((4, 4), 1, label="one iteration"),
        one((6, 3), 2, label="tall w"),
        one((3, 5), 5, label="wide w"),
        one((5, 5), 3, label="square w"),
        one((5, 4), 12, scale=1e30, label="huge w"),
        one((4, 3), 90, scale=1e-3, label="small w"),
    ]


def _run_power_iteration(attempt, w, u, n_iter):
    """Call it; then make sure with single iterations, which are far from the end, that it starts from u."""
    result = attempt(w, u, n_iter)
    _must_start_from(w, u, lambda start: attempt(w.copy(), start, 1), 3)
    return result


POWER_ITERATION = Exercise(
    solution="""
def my_power_iteration(w, u, n_iter):
    for _ in range(n_iter):
        v = w.T @ u  # the product with W transposed
        v = v / np.linalg.norm(v)  # the new v
        u = w @ v  # the product with W
        u = u / np.linalg.norm(u)  # the new u
    sigma = u @ w @ v  # the stretch
    return sigma, u, v
""",
    cases=_power_iteration_cases,
    results=("sigma", "u", "v"),
    run=_run_power_iteration,
    variants=["u / np.linalg.norm(u) -> u / np.sqrt(u @ u)\nu @ w @ v -> np.linalg.norm(w @ v)"],
    worked=[
        (case(TALL, START, 1), (np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17), np.array([2, 1]) / np.sqrt(5))),
        (case(TALL, START, 2), (257**0.5 / 65**0.5, np.array([16, 1, 0]) / 257**0.5, np.array([8, 1]) / 65**0.5)),
    ],
    mistakes={
        "v / np.linalg.norm(v) -> v\nu / np.linalg.norm(u) -> u\n"
        "sigma = -> u = u / np.linalg.norm(u); v = v / np.linalg.norm(v); sigma =": (
            "you scale the vectors only after the loop; by then a huge w has overflowed; scale after every product"
        ),
        "w.T @ u -> w @ u\nw @ v  # the product -> w.T @ v  # the product": "w and w.T have changed places: w.T takes u to v",
        "u @ w @ v -> np.linalg.norm(w)": "your sigma is the Frobenius norm; the task asks for the largest stretch",
        "u @ w @ v -> np.linalg.norm(w, 2)": "your sigma is the exact one; estimate it from your own u and v",
        """def my_power_iteration(w, u, n_iter):
    for _ in range(n_iter):
        u = w @ u
        u = u / np.linalg.norm(u)
    return u @ w @ u, u, u""": "you multiply by W alone, which looks for an eigenvalue; W transposed is needed too",
        "sigma = -> v = w.T @ u; v = v / np.linalg.norm(v); sigma =": "your v comes from the new u; it is too late",
        "range(n_iter) -> range(1)": "you return the result of one iteration; is a return inside the loop?",
        ("(n_iter) -> (20)", "(n_iter) -> (100)"): "you run a fixed number of iterations; run n_iter",
    },
)


def _spectral_norm_cases(rng):
    """Each case is a few training steps: a stack of weights, each a little different from the one before."""

    def one(shape, steps, *, scale=1.0, drift=0.1, label):
        w = rng.standard_normal(shape) + drift * rng.standard_normal((steps, *shape)).cumsum(axis=0)
        u = rng.standard_normal(shape[0])
        return case(scale * w, u / np.linalg.norm(u), label=label)

    return [
        one((5, 3), 1, label="tall w, 1 step"),
        one((4, 4), 4, label="square w, 4 steps"),
        one((3, 6), 5, label="wide w, 5 steps"),
        one((4, 5), 3, scale=100.0, label="large w, 3 steps"),
        one((4, 5), 3, scale=0.01, label="w with sigma below 1, 3 steps"),
        one((5, 5), 20, drift=0.0, label="w does not change, 20 steps"),
    ]


def _run_spectral_norm(attempt, w, u):
    """Train: one call per weight, the u of each call handed to the next. The result is that of the last call."""
    result = attempt(w[0], u)
    _must_start_from(w[0], u, lambda start: attempt(w[0].copy(), start), 2)
    for matrix in w[1:]:
        if not _holds_a_start(result, 2, u.shape):
            break
        result = attempt(matrix, result[1])
    return result


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
        "v = w.T @ u; v = v / np.linalg.norm(v); u = w @ v; u = u / np.linalg.norm(u); return w / (u @ w @ v), u"
    ],
    worked=[(case(TALL[None], START), (TALL / np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17)))],
    mistakes={
        "sigma, u, _ -> sigma, _, _": "you return the old u, so the next step starts where this one did",
        "sigma, u, _ -> sigma, _, u": "you return v in the place of u; the next step needs one entry per row of w",
        "/ sigma -> / np.linalg.norm(w)": FROBENIUS + "; it is too large, divide by sigma",
        "/ sigma -> / np.linalg.norm(w, 2)": "you divided by the exact value; divide by the estimate from u and v",
        (
            "1) -> 2)",
            "1) -> 5)",
            "1) -> 10)",
            "1) -> 20)",
            "1) -> 50)",
        ): "you run more than one iteration; one is enough, since u is kept",
    },
)

EXERCISES = [WEIGHT_NORM, POWER_ITERATION, SPECTRAL_NORM]
