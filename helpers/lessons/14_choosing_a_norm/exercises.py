"""Lesson 14: find the faulty layer of a network and the cause, and test what an unknown norm does not notice."""

import numpy as np

from ...exercises import Exercise, WrongKind, case


def _diagnosis_cases(rng):
    def one(label, *changes, factors=(1, 1, 1, 1)):
        """ReLU outputs of four layers, after changes: a layer, some of its entries, and 0 or what is added."""
        outputs = []
        for factor, units in zip(factors, (6, 8, 4, 16), strict=True):
            y = np.maximum(rng.standard_normal((12, units)), 0)
            y[0], y[1] = 0, 1  # every unit is 0 for one sample and above 0 for another
            outputs.append(factor * y)
        for layer, where, number in changes:
            y = outputs[layer]
            y[where] = number if number == 0 else y[where] + number
        return case(outputs, label=label)

    return [
        one("all healthy"),
        one("first layer dead", (0, np.s_[:, :4], 0)),
        one("always on", (2, np.s_[:, :3], 0.5)),
        one("exploding", factors=(1, 20, 400, 8000)),
        one("the last explodes, tiny numbers", factors=(1e-3, 1e-3, 1e-3, 2e-2)),
        one("slow growth from large numbers", factors=(1e4, 5e4, 25e4, 125e4)),
        one("three faulty layers", (1, np.s_[:, :5], 0), (2, np.s_[:, :4], 0.5), (3, np.s_[:, :9], 0.5)),
        one("half of the units, or one", (1, np.s_[:, :4], 0), (2, np.s_[:, :1], 1), (3, np.s_[:, :8], 1)),
        one("samples that are 0", *((layer, np.s_[:8], 0) for layer in range(4))),
        one("samples above 0", *((layer, np.s_[1:9], 0.5) for layer in range(4))),
        one("one huge number", (3, (2, 0), 130.0)),  # the root mean square grows more than tenfold, the mean less
        one("large and nearly equal", (2, np.s_[1:], 15.0), (3, np.s_[1:], 15.0)),  # the spread grows less than tenfold
    ]


DIAGNOSIS = Exercise(
    solution="""
def my_diagnosis(outputs):
    before = np.inf
    for layer, y in enumerate(outputs, 1):
        size = np.sqrt(np.mean(y**2))  # the size of a layer
        if np.mean((y == 0).all(axis=0)) > 0.5:  # the test for dead
            return layer, "dead"
        if np.mean((y > 0).all(axis=0)) > 0.5:  # the test for always on
            return layer, "always on"
        if size > 10 * before:  # the test for exploding
            return layer, "exploding"
        before = size
    return 0, "healthy"
""",
    cases=_diagnosis_cases,
    results=("layer", "what"),
    variants=[
        "(y == 0).all(axis=0) -> y.max(axis=0) == 0\n(y > 0).all(axis=0) -> y.min(axis=0) > 0\n"
        'return 0, "healthy" -> return [0, "healthy"]'
    ],
    worked=[
        # one of two units is above 0 for both samples
        (case([np.array([[1, 0], [2, 3]])], label="[[1, 0], [2, 3]]"), (0, "healthy")),
        (case([size * np.eye(2) for size in (1, 10, 101)], label="I, 10 I and 101 I"), (3, "exploding")),
    ],
    mistakes={
        "(outputs, 1) -> (outputs)": "you counted the layers from 0; the first is layer 1, and 0 means healthy",
        (
            "(y == 0).all(axis=0) -> y == 0\n(y > 0).all(axis=0) -> y > 0",
            "(y == 0).all(axis=0) -> y == 0",
            "(y > 0).all(axis=0) -> y > 0",
        ): "you counted numbers, and half of them are 0 in a healthy ReLU layer; ask of each unit about every sample",
        "all(axis=0) -2-> all(axis=1)": "you asked of each sample about all units; ask of each unit about all samples",
        "np.mean((y == -> np.any((y ==\nnp.mean((y > -> np.any((y >": "one unit is not enough; it takes over half",
        "before = size -> before = before if layer > 1 else size": "you compared with layer 1, not with the one before",
        "all(axis=0) -2-> any(axis=0)": "one sample is not enough; ask whether all samples give 0, or all give more",
        "size > 10 * before -> False": "no layer explodes for you; compare each size with that of the layer before",
        ("np.sqrt(np.mean(y**2)) -> y.std()", "np.sqrt(np.mean(y**2)) -> y.mean()"): "take the root mean square",
        'before = size -> return 0, "healthy"': "you answer after the first layer; is the last return inside the loop?",
    },
)


def _added_up(parts):
    """A symptom: the parts' sizes added up; it never sees which part is called healthy."""
    if not isinstance(parts, dict):
        raise WrongKind("symptom takes a whole dict with one part replaced, not one part")
    return float(sum(np.abs(part).max() for part in parts.values()))


def _all_needed(parts):
    """A symptom only while all parts but the smallest are large: replacing one of the others fixes it."""
    return float(sorted(np.abs(part).max() for part in parts.values())[-2])


def _cause_cases(rng):
    def one(label, faulty, healthy, symptom=_added_up):
        def parts(sizes):
            names = ("inputs", "weights", "biases")
            return {name: np.full((2, 3), size) for name, size in zip(names, sizes, strict=False)}

        return case(symptom, parts(faulty), parts(healthy), label=label)

    well = 0.01, 0.02, 0.03
    return [
        one("weights", (0.01, 5.0, 0.03), well),
        one("the first part", (3.0, 0.02, 0.03), well),
        one("two causes", (3.0, 4.0, 0.03), well),
        one("all parts", (3.0, 4.0, 5.0), well),
        one("either of two parts fixes it", (2.0, 3.0, 0.03), (0.05, 0.02, 0.03), _all_needed),
        one("exactly 0.1 is fixed", (0.03, 0.5), (0.0, 0.07)),
        one("a part differs", (0.01, 5.0), (0.02, 0.03)),
        one("better, but not fixed", (0.01, 0.9), (0.01, 0.4)),
    ]


CAUSE = Exercise(
    solution="""
def my_cause(symptom, faulty, healthy):
    for name in faulty:
        if symptom({**faulty, name: healthy[name]}) <= 0.1:  # the trial of one part
            return name
    return "none"
""",
    cases=_cause_cases,
    variants=[lambda s, bad, good: next((k for k in bad if s(bad | {k: good[k]}) <= 0.1), "none")],
    worked=[
        (case(lambda parts: sum(parts.values()), {"a": a, "b": 3}, {"a": 0, "b": 0.1}, label=label), answer)
        for a, label, answer in [
            (0, "a and b 0 and 3, healthy 0 and 0.1", "b"),
            (2, "2 and 3, healthy 0 and 0.1", "none"),
        ]
    ],
    mistakes={
        "+ parts = dict(faulty)\n"
        "symptom({**faulty, name: healthy[name]}) -> symptom(parts := {**parts, name: healthy[name]})": (
            "your replacements add up; begin each trial with the unchanged faulty network"
        ),
        "{**faulty, name: healthy[name]}) <= 0.1 -> {**healthy, name: faulty[name]}) > 0.1": (
            "you put a faulty part into the healthy network; that does not show what fixes this network"
        ),
        "in faulty: -> in reversed(faulty):": "of several parts that fix it, return the first in the dict",
        "in faulty: -> in list(faulty)[:1]:": 'you answer after the first trial; return "none" after the loop',
    },
)


def _standardized(x, axis=None):
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + 2e-4)


def _invariance_cases(rng):
    def data(mean=0.0, others=1.0):
        x = mean + 2 * rng.standard_normal((8, 6)).T
        x[1:] *= others  # louder, so that the largest number is not in sample 0, whatever replaces the others
        return x

    def slightly(x):
        """tanh of the sample, moved a little by what the others do: just above the tolerance."""
        return np.tanh(x / 10) + 0.01 * np.tanh(x.mean(axis=0))

    return [
        case(lambda x: _standardized(x, -1), data(mean=50), label="layer norm"),
        case(lambda x: x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5), data(), label="RMSNorm"),
        case(lambda x: _standardized(x, 0), data(), label="batch norm"),
        case(_standardized, data(mean=4), label="one mean for the whole batch"),
        case(lambda x: x - x.mean(axis=-1, keepdims=True), data(), label="the mean subtracted"),
        case(lambda x: x - x[:1], data(), label="the first sample subtracted"),
        case(lambda x: -np.abs(x), data(), label="minus the absolute value"),
        case(lambda x: x / np.abs(x).max(), data(others=5), label="divided by the largest number"),
        case(slightly, data(mean=1), label="a little of the other samples"),
        case(lambda x: 0.002 * np.sin(x), data(), label="small outputs"),
        case(lambda x: 10 + 0.3 * np.tanh(x), data(), label="outputs near 10"),
        case(lambda x: np.tanh(x) / len(x), data(), label="divided by the number of samples"),
    ]


SMALL = "np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3"
INVARIANCES = Exercise(
    solution="""
def my_invariances(norm, x):
    def stays(changed):
        return bool(np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3)

    louder = x.copy()
    louder[0] *= 3  # the louder sample
    others = -7 * x + 5  # the new samples
    others[0] = x[0]
    return stays(3 * x), stays(x + 3), stays(louder), stays(others)
""",
    cases=_invariance_cases,
    results=("scale of all", "shift of all", "scale of one sample", "other samples"),
    variants=["-7 * x + 5 -> np.random.default_rng(5).normal(50, 20, size=x.shape)"],
    worked=[
        (case(norm, np.array([[1.0, 3], [5, 9]]), label=label), answer)
        for norm, label, answer in [
            (lambda x: x - x.mean(axis=1, keepdims=True), "each sample's mean subtracted", (False, True, False, True)),
            (lambda x: x / np.abs(x).max(), "divided by the largest number", (True, False, False, False)),
        ]
    ],
    mistakes={
        ("< 1e-3 -> == 0", f"{SMALL} -> np.allclose(norm(changed)[0], norm(x)[0])"): (
            "your comparison is too strict; outputs that differ by less than 1e-3 count as the same"
        ),
        "np.abs( -> (": "take absolute values, or an output that falls counts as the same",
        "norm(changed)[0] - norm(x)[0] -> norm(changed) - norm(x)": "you compared all samples; only sample 0 counts",
        "np.max(np.abs( -> abs(np.mean(": "you compared means, in which differences cancel; every entry counts",
        "- norm(x)[0] -> - x[0]": "you compared with x; compare with norm(x)",
        "others[0] = x[0] -> pass": "for the fourth answer, leave sample 0 as it was",
        ("-7 * x + 5 -> x[::-1].copy()", "-7 * x + 5 -> -x"): "for the fourth answer, take very different samples",
    },
)

EXERCISES = [DIAGNOSIS, CAUSE, INVARIANCES]
