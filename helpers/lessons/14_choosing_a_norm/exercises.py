"""Lesson 14: find the faulty layer of a network and the cause, and test what an unknown norm does not notice."""

import numpy as np

from ...exercises import Exercise, WrongKind, case


def _healthy(rng, samples, units, size=1.0):
    """ReLU outputs in which every unit is 0 for some samples and above 0 for others."""
    y = size * np.maximum(rng.standard_normal((samples, units)), 0)
    y[0], y[1] = 0, size
    return y


def _network(rng, size=1.0, units=(6, 8, 4, 6)):
    return [_healthy(rng, 12, n, size) for n in units]


def _diagnosis_cases(rng):
    def one(label, *changes, **settings):
        """A network after changes: a layer, some of its entries, and 0 for them or the number that is added."""
        outputs = _network(rng, **settings)
        for layer, where, number in changes:
            y = outputs[layer]
            y[where] = number if number == 0 else y[where] + number
        return case(outputs, label=label)

    def growing(label, *factors, **settings):
        network = zip(factors, _network(rng, **settings), strict=True)
        return case([factor * y for factor, y in network], label=label)

    def first(units):
        return np.s_[:, :units]

    return [
        one("all healthy"),
        one("first layer dead", (0, first(4), 0)),
        one("always on", (2, first(3), 0.5)),
        growing("exploding", 1, 20, 20, 20),
        growing("the last explodes, tiny numbers", 1e-3, 1e-3, 1e-3, 2e-2),
        growing("all large, none grows", 1e4, 1e4, 1e4, 1e4),
        growing("slow growth", 1, 5, 25, 125),
        growing("wider and larger", 1, 6, 6, 6, units=(4, 16, 16, 16)),
        one("three faulty layers", (1, first(5), 0.5), (2, first(4), 0), (3, first(4), 0.5)),
        one("one dead unit, one unit always on", (2, first(1), 0), (3, first(1), 1)),
        one("exactly half of the units", (1, first(4), 0), (3, first(3), 1)),
        one("samples that are 0", *((layer, np.s_[:8], 0) for layer in range(4))),
        one("samples above 0", *((layer, np.s_[1:9], 0.5) for layer in range(4))),
        one("one large number", (3, (2, 0), 25.0)),  # the root mean square grows less than tenfold
        one("one huge number", (3, (2, 0), 80.0)),  # it grows more than tenfold, the mean less
        one("large and nearly equal", (2, np.s_[1:], 20.0), (3, np.s_[1:], 20.0)),  # the spread grows less than tenfold
    ]


def _run_diagnosis(attempt, outputs):
    answer = attempt(outputs)
    if answer is None or answer is ...:
        return answer
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise WrongKind('it does not return a pair such as (3, "dead") or (0, "healthy")')
    layer, what = answer
    if isinstance(layer, str) and not isinstance(what, str):
        raise WrongKind('it returns (what, layer); the layer comes first, as in (3, "dead")')
    if not isinstance(what, str) or what not in ("dead", "always on", "exploding", "healthy"):
        given = repr(what[:30]) if isinstance(what, str) else "not a string"
        raise WrongKind(f'the second part is {given}; it must be "dead", "always on", "exploding" or "healthy"')
    return layer, what


def _by_extremes(outputs):
    before = np.inf
    for layer, y in enumerate(outputs, 1):
        size = float(np.mean(np.square(y))) ** 0.5
        signs = {"dead": y.max(axis=0) == 0, "always on": y.min(axis=0) > 0}
        for what, units in signs.items():
            if units.mean() > 0.5:
                return [layer, what]
        if size > before * 10:
            return [layer, "exploding"]
        before = size
    return [0, "healthy"]


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
    run=_run_diagnosis,
    variants=[_by_extremes],
    worked=[
        # two of three units are 0 for both samples; then one of two is above 0 for both, then both are
        (case([np.array([[0, 0, 1], [0, 0, 2]])]), (1, "dead")),
        (case([np.array([[1, 0], [2, 3]])]), (0, "healthy")),
        (case([np.array([[1, 0], [0, 1]]), np.array([[1, 2], [2, 3]])]), (2, "always on")),
        # root mean squares 1, 10 and 101
        (case([size * np.array([[2, 0], [0, 0]]) for size in (1, 10, 101)]), (3, "exploding")),
    ],
    mistakes={
        "(outputs, 1) -> (outputs)": "you counted the layers from 0; the first is layer 1, and 0 means healthy",
        "+ dead = [k for k, y in enumerate(outputs, 1) if np.mean((y == 0).all(axis=0)) > 0.5]\n"
        '+ if dead: return dead[0], "dead"': (
            "you looked for dead units in all layers first; the first faulty layer counts, whatever its fault"
        ),
        "(y == 0).all(axis=0) -> y == 0\n(y > 0).all(axis=0) -> y > 0": (
            "you counted zeros and numbers above 0; ask of each unit whether it is so for every sample"
        ),
        "(y == 0).all(axis=0) -> y == 0": (
            "you counted zeros, but half of a healthy ReLU layer is 0; a unit is dead if it is 0 for every sample"
        ),
        "(y > 0).all(axis=0) -> y > 0": (
            "you counted numbers above 0; a unit is always on if it is above 0 for every sample"
        ),
        "all(axis=0) -2-> all(axis=1)": (
            "you asked of each sample whether all units are 0, or above 0; ask of each unit over all samples"
        ),
        "np.mean((y == -> np.any((y ==\nnp.mean((y > -> np.any((y >": (
            "one dead or always-on unit was enough for you; it takes more than half of the units"
        ),
        "before = size -> before = before if layer > 1 else size": (
            "you compared each size with that of layer 1; compare with the layer before"
        ),
        "10 * before -> 10": "you asked whether the size is above 10; compare it with that of the layer before",
        "np.sqrt(np.mean(y**2)) -> y.std()": (
            "you compared standard deviations, which subtract the mean; the root mean square includes it"
        ),
        'before = size -> return 0, "healthy"': "you answer after the first layer; is the last return inside the loop?",
    },
)


class _Symptom:
    """Adds up what each part does to the patient; it never sees which part is called healthy."""

    def __init__(self, together=None):
        self.together = together

    def __call__(self, parts):
        if not isinstance(parts, dict):
            raise WrongKind("symptom takes a whole dict, with one part replaced; you gave it something else")
        total = float(sum(np.abs(part).max() for part in parts.values()))
        return min(total, self.together(parts)) if self.together else total


def _parts(**sizes):
    return {name: np.full((2, 3), float(size)) for name, size in sizes.items()}


def _both_needed(parts):
    """Faulty only while both are large: replacing either of them fixes it."""
    return float(min(np.abs(part).max() for part in parts.values()))


def _cause_cases(rng):
    well, both = _parts(inputs=0.01, weights=0.02, biases=0.03), _Symptom(_both_needed)
    return [
        case(_Symptom(), _parts(inputs=0.01, weights=5, biases=0.03), well, label="weights"),
        case(_Symptom(), _parts(inputs=3, weights=0.02, biases=0.03), well, label="the first part"),
        case(_Symptom(), _parts(inputs=3, weights=4, biases=0.03), well, label="two causes"),
        case(_Symptom(), _parts(inputs=3, weights=4, biases=5), well, label="all parts"),
        case(both, _parts(weights=2, biases=4, inputs=3), well, label="any of three parts fixes it"),
        case(both, _parts(gamma=2, beta=3), _parts(gamma=0.01, beta=0.02), label="either part fixes it"),
        case(_Symptom(), _parts(gamma=0.03, beta=0.5), _parts(gamma=0.0, beta=0.07), label="exactly 0.1 is fixed"),
        case(_Symptom(), _parts(inputs=0.01, weights=5), _parts(inputs=0.02, weights=0.03), label="a part differs"),
        case(_Symptom(), _parts(gamma=0.01, beta=0.9), _parts(gamma=0.01, beta=0.4), label="better, but not fixed"),
    ]


def _run_cause(attempt, symptom, faulty, healthy):
    answer = attempt(symptom, faulty, healthy)
    if answer is None or answer is ...:
        return answer
    if not isinstance(answer, str):
        raise WrongKind('it does not return a name such as "weights" or "none"')
    return answer


def _by_copies(symptom, faulty, healthy):
    fixes = []
    for name in faulty:
        trial = faulty.copy()
        trial[name] = healthy[name]
        fixes += [name] * (not symptom(trial) > 0.1)
    return fixes[0] if fixes else "none"


CAUSE = Exercise(
    solution="""
def my_cause(symptom, faulty, healthy):
    for name in faulty:
        if symptom({**faulty, name: healthy[name]}) <= 0.1:  # the trial of one part
            return name
    return "none"
""",
    cases=_cause_cases,
    run=_run_cause,
    variants=[_by_copies],
    worked=[
        (case(lambda parts: parts["a"] + parts["b"], {"a": 0.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "b"),
        (case(lambda parts: parts["a"] + parts["b"], {"a": 2.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "none"),
    ],
    mistakes={
        "+ parts = dict(faulty)\n"
        "symptom({**faulty, name: healthy[name]}) -> symptom(parts := {**parts, name: healthy[name]})": (
            "your replacements add up; begin each trial with the unchanged faulty network"
        ),
        "{**faulty, name: healthy[name]}) <= 0.1 -> {**healthy, name: faulty[name]}) > 0.1": (
            "you put a faulty part into the healthy network; that does not show what fixes this network"
        ),
        "{**faulty, name: healthy[name]} -> {**healthy, name: faulty[name]}": (
            "you replaced all parts but one and named the one that stayed; replace one and leave the others"
        ),
        "return min(faulty, key=lambda name: symptom({**faulty, name: healthy[name]}))": (
            'you named the part whose replacement helps most; if no part fixes the network, the answer is "none"'
        ),
        "<= 0.1 -> < symptom(faulty)": (
            "you named the first part whose replacement helps; the symptom must come down to 0.1"
        ),
        "in faulty: -> in reversed(faulty):": (
            "you named the last part whose replacement fixes the network; of several, return the first"
        ),
        "in faulty: -> in list(faulty)[:1]:": 'you answer after the first trial; return "none" after the loop',
        "symptom({**faulty, name: healthy[name]}) <= 0.1 -> not np.array_equal(faulty[name], healthy[name])": (
            "you compared the parts; a part may differ and still be healthy, so call symptom"
        ),
    },
)


def _standardized(x, axis=None):
    return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(x.var(axis=axis, keepdims=True) + 1e-5)


def _invariance_cases(rng):
    def data(mean=0.0, others=1.0):
        x = mean + 2 * rng.standard_normal((6, 8))
        x[1:] *= others  # louder, so that the largest number is not in sample 0, whatever replaces the others
        return x

    def by_largest(x):
        return x / np.abs(x).max()

    def slightly(x):
        """tanh of the sample, moved a little by what the others do: just above the tolerance."""
        return np.tanh(x / 10) + 0.01 * np.tanh(x.mean(axis=0))

    return [
        case(lambda x: _standardized(x, -1), data(mean=50), label="layer norm"),
        case(lambda x: x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5), data(), label="RMSNorm"),
        case(lambda x: _standardized(x, 0), data(), label="batch norm"),
        case(_standardized, data(mean=4), label="one mean for the whole batch"),
        case(lambda x: x - x.mean(axis=-1, keepdims=True), data(), label="the mean subtracted"),
        case(lambda x: x - x.mean(axis=0), data(), label="the batch mean subtracted"),
        case(lambda x: x - x[:1], data(), label="the first sample subtracted"),
        case(np.tanh, data() / 3, label="tanh"),
        case(by_largest, data(others=5), label="divided by the largest number"),
        case(by_largest, data(mean=20, others=3), label="positive numbers"),
        case(slightly, data(mean=1), label="a little of the other samples"),
        case(lambda x: 0.002 * np.sin(x), data(), label="small outputs"),
        case(lambda x: 10 + 0.3 * np.tanh(x), data(), label="outputs near 10"),
        case(lambda x: x * (np.arange(x.shape[1]) > 0), data(), label="first feature 0"),
        case(lambda x: np.tanh(x) / len(x), data(), label="divided by the number of samples"),
    ]


def _run_invariances(attempt, norm, x):
    answer = attempt(norm, x)
    if answer is None or answer is ...:
        return answer
    if isinstance(answer, dict):
        raise WrongKind("it returns a dict; return four values, each True or False, in the order of the text")
    try:
        answer = tuple(answer)
    except TypeError:
        raise WrongKind("it returns one answer; return four, in the order of the text") from None
    if len(answer) != 4:
        raise WrongKind(f"it returns {len(answer)} answers; return four, in the order of the text")
    if any(isinstance(item, np.ndarray) and item.ndim for item in answer):
        raise WrongKind("an answer is an array; ask whether all entries stay the same, with np.all or np.allclose")
    if not all(isinstance(item, (bool, np.bool_)) for item in answer):
        raise WrongKind("an answer is neither True nor False; compare the outputs, with np.allclose for example")
    return tuple(bool(item) for item in answer)


def _with_random_others(norm, x):
    rng = np.random.default_rng(5)
    replaced = rng.normal(50, 20, size=x.shape)
    replaced[0] = x[0]
    tripled = x * np.where(np.arange(len(x)) == 0, 3, 1)[:, None]
    before = norm(x)
    return tuple((abs(norm(y) - before)[0] < 1e-3).all() for y in (x + x + x, x + 3, tripled, replaced))


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
    run=_run_invariances,
    variants=[_with_random_others],
    worked=[
        (case(lambda x: x - x.mean(axis=1, keepdims=True), np.array([[1.0, 3], [5, 9]])), (False, True, False, True)),
        (case(lambda x: x / np.abs(x).max(), np.array([[1.0, 3], [5, 9]])), (True, False, False, False)),
    ],
    mistakes={
        f"{SMALL} -> (norm(changed)[0] == norm(x)[0]).all()": (
            "you compared with ==; two results of rounded arithmetic are rarely equal to the last digit"
        ),
        f"{SMALL} -> np.allclose(norm(changed)[0], norm(x)[0], rtol=0.1, atol=1e-3)": (
            "your tolerance grows with the numbers (rtol); each entry may differ by at most 1e-3, so set rtol=0"
        ),
        "norm(changed)[0] - norm(x)[0] -> norm(changed) - norm(x)": (
            "you compared the outputs of all samples; only that of sample 0 counts"
        ),
        "< 1e-3 -> < 0.1": "your tolerance is too wide; outputs that differ by more than 1e-3 are not the same",
        "np.max(np.abs( -> abs(np.mean(": "you compared means, in which differences cancel; every entry counts",
        "- norm(x)[0] -> - x[0]": "you compared with x; compare with norm(x)",
        "louder[0] *= 3 -> louder *= 3": "for the third answer you scaled all samples; scale sample 0 alone",
        "others[0] = x[0] -> pass": "for the fourth answer you replaced sample 0 too; it must stay as it was",
        "-7 * x + 5 -> x[::-1].copy()": (
            "for the fourth answer you used the old samples again; replace them by very different numbers"
        ),
        "stays(others) -> stays(x[:1])": (
            "you left the other samples out instead of replacing them; a batch of one tests something else"
        ),
    },
)

EXERCISES = [DIAGNOSIS, CAUSE, INVARIANCES]
