"""Lesson 16: backward through a scaled branch, how far units move, and how much a gradient changes along a step."""

import numpy as np

from ...exercises import Exercise, case

# -------------------------------------------------------------------------- my_scaled_branch_backward


def _scaled_cases(rng):
    def made(n, c, label, scale=None):
        scale = rng.uniform(0.5, 2.0, c) if scale is None else np.array(scale)
        return case(rng.standard_normal((n, c)), 1 + rng.standard_normal((n, c)), scale, label=label)

    return [
        made(5, 3, "five samples, three channels"),
        made(4, 4, "as many samples as channels"),
        made(1, 6, "one sample"),
        made(3, 5, "scale 0, as at the start", scale=np.zeros(5)),
        made(6, 2, "negative scale", scale=[-1.5, 0.5]),
    ]


def _scaled_by_einsum(dy, b, scale):
    return dy.copy(), np.einsum("nc,c->nc", dy, scale), np.einsum("nc,nc->c", dy, b)


SCALED_BRANCH = Exercise(
    solution="""
def my_scaled_branch_backward(dy, b, scale):
    d_skip = dy
    d_branch = dy * scale
    d_scale = np.sum(dy * b, axis=0)
    return d_skip, d_branch, d_scale
""",
    cases=_scaled_cases,
    results=("gradient along the skip path", "gradient of b", "gradient of scale"),
    variants=[_scaled_by_einsum, lambda dy, b, scale: (1.0 * dy, scale * dy, (b * dy).sum(0))],
    mistakes={
        "d_skip = dy -> d_skip = dy * scale": (
            "you multiplied the gradient along the skip path by scale; x is added as it is"
        ),
        "d_skip = dy -> d_skip = dy + dy * scale": (
            "you added the branch to the gradient along the skip path; the gradient there is dy alone"
        ),
        "d_branch = dy * scale -> d_branch = dy": (
            "you handed dy on to the branch as it is; the branch was multiplied by scale on the way forward"
        ),
        "dy * scale -> dy * b\nsum(dy * b, -> sum(dy * scale,": (
            "you exchanged b and scale: the gradient of each factor contains the other one"
        ),
        "np.sum(dy * b, axis=0) -> np.mean(dy * b, axis=0)": (
            "you averaged the gradient of scale over the samples; all samples share scale, so their gradients add up"
        ),
        "np.sum(dy * b, axis=0) -> np.sum(dy * b)": (
            "you summed the gradient of scale over everything; each channel has a scale of its own"
        ),
        "np.sum(dy * b, axis=0) -> np.sum(dy * b, axis=1)": (
            "you summed the gradient of scale over the channels; sum over the samples, axis 0"
        ),
        "np.sum(dy * b, axis=0) -> dy * b": (
            "you left the samples apart in the gradient of scale; it has the shape of scale, so sum over axis 0"
        ),
        "np.sum(dy * b, axis=0) -> np.sum(dy, axis=0)": ("you left b out of the gradient of scale; scale multiplies b"),
        "np.sum(dy * b, axis=0) -> np.sum(dy * b * scale, axis=0)": (
            "you multiplied the gradient of scale by scale; the slope of y in scale is b alone"
        ),
        "d_branch = dy * scale -> d_branch = dy * scale * b": (
            "your gradient of b has b in it; the slope of y in b is scale alone"
        ),
        "d_branch = dy * scale -> d_branch = dy / scale": (
            "you divided the gradient of b by scale; the branch was multiplied by it, and so is its gradient"
        ),
        "return d_skip, d_branch, -> return d_branch, d_skip,": (
            "the gradients of the skip path and of b have changed places; return that of the skip path first"
        ),
        (
            "d_skip = dy -> d_skip = 1",
            "d_skip = dy -> d_skip = np.ones_like(dy)",
        ): ("along the skip path you returned the factor 1; the gradient there is dy times 1"),
    },
)

# ------------------------------------------------------------------------------------------ my_shift


def _shift_cases(rng):
    def made(n, c, label, scale=1.0, shift=1.0):
        before = scale * rng.standard_normal((n, c)) + 3
        after = rng.uniform(0.5, 2.0, c) * before + shift * rng.standard_normal(c)
        return case(before, after, label=label)

    return [
        made(8, 3, "eight samples, three units"),
        made(4, 4, "as many samples as units"),
        made(5, 2, "units that move far", shift=-4.0),
        made(6, 5, "small outputs", scale=1e-3),
    ]


def _shift_by_var(before, after):
    return np.sqrt((np.mean(after - before, axis=0)) ** 2 / np.var(before, axis=0))


SHIFT = Exercise(
    solution="""
def my_shift(before, after):
    moved = after.mean(axis=0) - before.mean(axis=0)
    return np.abs(moved) / before.std(axis=0)
""",
    cases=_shift_cases,
    variants=[_shift_by_var, lambda before, after: abs((after - before).mean(0)) / before.std(0)],
    mistakes={
        "np.abs(moved) -> moved": (
            "your shift can be negative; how far a mean moved has no direction, so take the absolute value"
        ),
        " / before.std(axis=0) ->": (
            "you left out the division; measure the shift in units of the standard deviation before the step"
        ),
        "before.std -> before.var": "you divided by the variance; the unit is the standard deviation, its square root",
        "before.std -> after.std": "you divided by the standard deviation after the step; take the one before it",
        "np.abs(moved) -> np.abs(after - before).mean(axis=0)": (
            "you averaged how far each sample moved; take the absolute value of the difference between the means"
        ),
        "axis=0 -3-> axis=1": "you averaged over the units of a sample; each unit has its own mean, over the samples",
        "axis=0 -3->": "you took one mean over all units; each unit has its own mean, over the samples",
        "before.std(axis=0) -> before.std()": (
            "you divided by one standard deviation of all units; each unit has its own"
        ),
        "before.std(axis=0) -> before.std(axis=0, ddof=1)": (
            "your variance divides by N - 1; these samples are all there is, so divide by N"
        ),
        "before.std(axis=0) -> np.abs(before.mean(axis=0))": (
            "you divided by the mean before the step; the unit is the standard deviation"
        ),
        "return np.abs(moved) / before.std(axis=0) -> return moved**2 / before.var(axis=0)": (
            "you returned the square of the shift; divide the distance itself by the standard deviation"
        ),
        "return np.abs(moved) / before.std(axis=0) -> return np.linalg.norm(moved) / before.std()": (
            "you returned one number for all units; each unit has its own shift"
        ),
    },
)

# -------------------------------------------------------------------------------- my_gradient_change


def _quadratic(curvature):
    def gradient(w):
        return curvature * w

    return gradient


def _wave(w):
    return np.sin(3 * w) + 0.5 * w


def _change_cases(rng):
    w = rng.standard_normal(4)
    return [
        case(_quadratic(np.array([1.0, 2.0, 3.0, 4.0])), w, [0.1, 0.2], label="a bowl"),
        case(_wave, 2 * w, [0.1, 0.2, 0.4, 0.8], label="waves"),
        case(_wave, rng.standard_normal((3, 2)), [0.8, 0.4, 1.6, 0.1], label="a matrix, unsorted reaches"),
        case(_quadratic(np.array([5.0, 0.1])), np.array([1.0, -1.0]), [0.3], label="one reach"),
    ]


def _change_from_squares(gradient, w, reaches):
    g = np.ravel(gradient(w))
    there = [np.ravel(gradient(w - r * g.reshape(w.shape))) for r in reaches]
    return np.sqrt(max(((t - g) ** 2).sum() for t in there) / (g**2).sum())


def _change_relative_at_once(gradient, w, reaches):
    g = gradient(w)
    size = np.sqrt(np.sum(g * g))
    return max(np.sqrt(np.sum((gradient(w - r * g) - g) ** 2)) / size for r in reaches)


GRADIENT_CHANGE = Exercise(
    solution="""
def my_gradient_change(gradient, w, reaches):
    g = gradient(w)
    changes = []
    for reach in reaches:
        change = gradient(w - reach * g) - g
        changes.append(np.linalg.norm(change.ravel()))
    return max(changes) / np.linalg.norm(g.ravel())
""",
    cases=_change_cases,
    variants=[_change_from_squares, _change_relative_at_once],
    mistakes={
        "w - reach -> w + reach": "you walked along +g, uphill; a step of training goes to w - reach * g",
        " / np.linalg.norm(g.ravel()) ->": (
            "you left out the division by the length of g; the change is measured relative to it"
        ),
        "max(changes) -> np.mean(changes)": "you averaged over the reaches; the task asks for the largest change",
        "max(changes) -> min(changes)": "you took the smallest change; the task asks for the largest",
        "max(changes) -> sum(changes)": "you added the changes up; the task asks for the largest of them",
        "max(changes) -> changes[-1]": "you took the change at the last reach; the largest may be at another one",
        "gradient(w - reach * g) - g -> gradient(w - reach * g)": (
            "you took the length of the gradient there; subtract g first, to see how far the gradient has moved"
        ),
        "+ last = gradient(w)\n"
        "gradient(w - reach * g) - g -> gradient(w - reach * g) - last\n"
        "changes.append -> last = last + change; changes.append": (
            "you compared each gradient with the one before; compare all of them with g, the one at the start"
        ),
        "change = gradient(w - reach * g) - g -> w = w - reach * g; change = gradient(w) - g": (
            "you went on from the last point; every reach is measured from w"
        ),
        "w - reach * g -> w - reach * g / np.linalg.norm(g.ravel())": (
            "you divided g by its length before the step; the step is reach * g"
        ),
        """change.ravel() -> change, 2
g.ravel() -> g, 2""": (
            "np.linalg.norm(m, 2) of a matrix is its largest singular value; the length counts all entries, so ravel first"
        ),
        "w - reach * g -> w - reach": (
            "you subtracted the reach itself; the walk goes against g, so subtract reach * g"
        ),
        "max(changes) -> np.array(changes)": ("you returned the change at every reach; return the largest of them"),
        "np.linalg.norm(change.ravel()) -> np.abs(change).max()": (
            "you took the largest entry of the change; take its length"
        ),
    },
)

EXERCISES = [SCALED_BRANCH, SHIFT, GRADIENT_CHANGE]
