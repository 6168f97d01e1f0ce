"""What the numbers of a wrong answer say: how they are related to the right ones in all cases that are wrong."""

import numpy as np

# What is done to the right answer, and the words.
CHANGES = {
    np.negative: "the right one with the other sign",
    np.transpose: "the right one transposed",
    np.square: "the square of the right one",
    np.sqrt: "the square root of the right one",
    np.reciprocal: "1 over the right one",
    np.abs: "the right one without its signs",
}
POWERS = {1: "times", -1: "divided by", 0.5: "times the square root of", -0.5: "divided by the square root of"}


def relations(cases, names, tol):
    """The sentences about wrong answers: which parts of a tuple are right, and how the others are related.

    cases: (answer, right answer, {argument: value}) of every wrong case. names: what the parts of an answer are called.
    """
    right = cases[0][1]
    if not isinstance(right, tuple):
        said = _relation(cases, tol)
        return [f"your result is {said}"] if said and said != "right" else []
    if any(not isinstance(got, (tuple, list)) or len(got) != len(right) for got, *_ in cases):
        return []
    if len(names) != len(right):
        names = getattr(right, "_fields", [f"item {i}" for i in range(len(right))])
    parts = {name: _relation([(got[i], wanted[i], g) for got, wanted, g in cases], tol) for i, name in enumerate(names)}
    right_ones = [name for name, said in parts.items() if said == "right"]
    found = [f"{name} is {said}" for name, said in parts.items() if said and said != "right"]
    word, some = ("right", right_ones) if len(right_ones) < 4 else ("wrong", [n for n in parts if n not in right_ones])
    return ([f"{word}: {', '.join(some)}"] if right_ones else []) + found


def _relation(cases, tol):
    """What all the answers are, as "2 times the right one", "right", or None where there is nothing to say."""
    if not all(isinstance(value, (np.ndarray, np.number, int, float)) for pair in cases for value in pair[:2]):
        return None  # a list may be endless
    pairs = [(np.asarray(got), np.asarray(right)) for got, right, _ in cases]
    if any(a.dtype.kind not in "fiu" or not np.isfinite(a).all() or not a.size for pair in pairs for a in pair):
        return None
    pairs = [(got.astype(float), right.astype(float)) for got, right in pairs]
    if all(_close(got, right, tol) for got, right in pairs):
        return "right"
    wrong = [(*pair, given) for pair, (*_, given) in zip(pairs, cases, strict=True) if not _close(*pair, tol)]
    pairs = [(got, right) for got, right, _ in wrong]
    if any(got.size != right.size for got, right in pairs) or sum(right.size for _, right in pairs) < 3:
        return None
    with np.errstate(all="ignore"):
        for change, words in CHANGES.items():
            if all(_close(got, change(right), tol) for got, right in pairs):
                return words
        if any(got.shape != right.shape for got, right in pairs):
            return None
        return _scaled(wrong, tol) or _shifted(pairs, tol) or _reordered(pairs, tol)


def _scaled(wrong, tol):
    """The answers as multiples of the right ones, in words, or None."""
    factors = np.array([np.sum(got * right) / np.sum(right**2) for got, right, _ in wrong])
    if not all(_close(got, c * right, tol) for (got, right, _), c in zip(wrong, factors, strict=True)):
        return None
    if min(abs(factors)) <= tol:
        return None
    if np.allclose(factors, factors[0], rtol=tol, atol=0):
        return f"{factors[0]:.4g} times the right one"
    if len(wrong) < 2 or any(right.size < 2 for _, right, _ in wrong):
        return None  # any two single numbers are equal up to a factor
    for name in wrong[0][2]:
        shapes = [np.shape(given.get(name)) for *_, given in wrong]
        for axis in range(min(map(len, shapes))):
            for power, words in POWERS.items():
                if np.allclose(factors, [float(shape[axis]) ** power for shape in shapes], rtol=tol, atol=0):
                    return f"the right one {words} {name}.shape[{axis}]"
    return "the right one up to a factor, another one in each case"


def _shifted(pairs, tol):
    """The answers as the right ones plus a number, in words, or None."""
    shifts = [np.mean(got - right) for got, right in pairs]
    if not all(_close(got, right + c, tol) for (got, right), c in zip(pairs, shifts, strict=True)):
        return None
    if np.allclose(shifts, shifts[0], rtol=1e-3, atol=0):
        return f"off by {shifts[0]:.4g} everywhere"
    several = all(right.size > 1 for _, right in pairs)
    return "off by the same number everywhere, another one in each case" if several else None


def _reordered(pairs, tol):
    """Whether the numbers stand in another order, in words, or None."""
    same = all(_close(np.sort(got, axis=None), np.sort(right, axis=None), tol) for got, right in pairs)
    return "made of the right numbers in another order" if same and all(right.size > 2 for _, right in pairs) else None


def _close(got, wanted, tol):
    """Whether two arrays are equal up to rounding."""
    if got.shape != wanted.shape or not np.isfinite(wanted).all():
        return False
    return np.max(np.abs(got - wanted)) <= tol * np.max(np.abs(wanted))
