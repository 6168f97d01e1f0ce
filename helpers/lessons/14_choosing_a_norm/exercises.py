"""Lesson 14: find the faulty layer of a network and the cause, and test which changes an unknown norm does not notice."""

import numpy as np

from ...exercises import Exercise, WrongKind, case

# ----------------------------------------------------------------------------------------- my_diagnosis


def _healthy(rng, samples, units, size=1.0):
    """ReLU outputs in which every unit is 0 for some samples and above 0 for others."""
    y = size * np.maximum(rng.standard_normal((samples, units)), 0)
    y[0], y[1] = 0, size
    return y


def _network(rng, samples=12, units=(6, 8, 5, 9, 7), size=1.0):
    return [_healthy(rng, samples, n, size) for n in units]


def _faulty(rng, layer, what, **more):
    """A network whose layer, counted from 1, has one fault."""
    outputs = _network(rng, **more)
    y = outputs[layer - 1]
    most = y.shape[1] // 2 + 1
    if what == "dead":
        y[:, :most] = 0
    if what == "always on":
        y[:, :most] += 0.5
    if what == "exploding":
        for later in outputs[layer - 1 :]:
            later *= 20
    return outputs


def _diagnosis_cases(rng):
    slow = [5.0**k * y for k, y in enumerate(_network(rng))]  # each layer 5 times the one before
    both = _faulty(rng, 2, "always on")
    both[3][:] = 0
    both[4] += 0.5
    one_dead, one_on = _network(rng), _network(rng)
    one_dead[2][:, 0] = 0
    one_on[3][:, 0] += 1
    half = _network(rng, units=(6, 8, 4, 6, 8))
    half[1][:, :4] = 0
    half[3][:, :3] += 1
    shrinking = [y / 100**k for k, y in enumerate(_network(rng))]
    wider = [size * _healthy(rng, 12, units) for size, units in ((1, 4), (6, 16))]
    silent = _network(rng, samples=20)
    for y in silent:
        y[2:] = np.where(rng.random(y[2:].shape) < 0.6, 0, y[2:])  # many zeros, no dead unit
        y[-4:] = 0  # four samples are 0 in every unit, one is not
    blank = [y.copy() for y in _network(rng, samples=9)]
    for y in blank:
        y[:5] = 0  # most samples are 0 in every unit
    awake = [y.copy() for y in _network(rng, samples=9)]
    for y in awake:
        y[1:7] += 0.5  # most samples are above 0 in every unit
        y[0] = 0
    raised = _network(rng)
    for k, y in enumerate(raised[2:]):  # nearly the same number everywhere, so that the spread grows less than tenfold
        y[:] = 20 + 0.1 * y
        y[k] = 0
    burst = _network(rng)
    burst[3][2, 0] = 80.0  # the root mean square grows more than tenfold, the mean less
    peak = _network(rng)
    peak[3][2, 0] = 25.0  # one large number; the root mean square grows less than tenfold
    return [
        case(_network(rng), label="all healthy"),
        case(_faulty(rng, 4, "dead"), label="dead"),
        case(_faulty(rng, 3, "always on"), label="always on"),
        case(_faulty(rng, 2, "exploding"), label="exploding"),
        case(_faulty(rng, 1, "dead"), label="first layer dead"),
        case(_network(rng, size=1e4), label="all large, none grows"),
        case(slow, label="slow growth"),
        case(both, label="three faulty layers"),
        case(one_dead, label="one dead unit"),
        case(one_on, label="one unit always on"),
        case(half, label="exactly half of the units"),
        case(wider, label="wider and larger"),
        case(shrinking, label="each layer 100 times smaller"),
        case(silent, label="many zeros"),
        case(blank, label="samples that are 0"),
        case(awake, label="samples above 0"),
        case(peak, label="one large number"),
        case(burst, label="one huge number"),
        case(raised, label="large and nearly equal"),
        case(_faulty(rng, 5, "exploding", size=1e-3), label="tiny numbers"),
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


def _by_counting(outputs):
    for k, y in enumerate(outputs):
        active = (y > 0).sum(axis=0)
        if 2 * np.count_nonzero(active == 0) > y.shape[1]:
            return (k + 1, "dead")
        if 2 * np.count_nonzero(active == len(y)) > y.shape[1]:
            return (k + 1, "always on")
        if k > 0 and np.linalg.norm(y) / np.sqrt(y.size) > 10 * np.linalg.norm(outputs[k - 1]) / np.sqrt(
            outputs[k - 1].size
        ):
            return (k + 1, "exploding")
    return (0, "healthy")


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
        size = np.sqrt(np.mean(y**2))
        if np.mean((y == 0).all(axis=0)) > 0.5:
            return layer, "dead"
        if np.mean((y > 0).all(axis=0)) > 0.5:
            return layer, "always on"
        if size > 10 * before:
            return layer, "exploding"
        before = size
    return 0, "healthy"
""",
    cases=_diagnosis_cases,
    results=("layer", "what"),
    run=_run_diagnosis,
    variants=[_by_counting, _by_extremes],
    mistakes={
        "(outputs, 1) -> (outputs)": (
            "you counted the layers from 0; the first one is layer 1, and 0 stands for a healthy network"
        ),
        """before = np.inf -> before = np.inf; found = 0, "healthy"
return layer, "dead" -> found = layer, "dead"
if np.mean((y > 0) -> elif np.mean((y > 0)
return layer, "always on" -> found = layer, "always on"
if size -> elif size
return layer, "exploding" -> found = layer, "exploding"
return 0, "healthy" -> return found""": (
            "you named the last faulty layer; return at the first symptom, because it may have caused the later ones"
        ),
        '''+ dead = [k for k, y in enumerate(outputs, 1) if np.mean((y == 0).all(axis=0)) > 0.5]
+ if dead: return dead[0], "dead"''': (
            "you looked for dead units in all layers first; the first faulty layer counts, whatever its fault"
        ),
        "(y == 0).all(axis=0) -> y == 0": (
            "you counted zeros, but half of a healthy ReLU layer is 0; a unit is dead if it is 0 for every sample"
        ),
        "(y > 0).all(axis=0) -> y > 0": (
            "you counted numbers above 0; a unit is always on if it is above 0 for every sample"
        ),
        "(y == 0).all(axis=0) -> y == 0\n(y > 0).all(axis=0) -> y > 0": (
            "you counted zeros and numbers above 0; ask of each unit whether it is 0, or above 0, for every sample"
        ),
        "all(axis=0) -2-> all(axis=1)": (
            "you asked of each sample whether all units are 0, or above 0; ask of each unit over all samples, along axis 0"
        ),
        "(y == 0).all -> (y == 0).any": (
            "you called a unit dead if it is 0 for some sample; it must be 0 for every sample"
        ),
        ("(y > 0).all -> (y > 0).any", "y > 0 -> y >= 0"): (
            "you called a unit always on even if it is 0 for some sample; it must be above 0 for every sample"
        ),
        "all(axis=0) -2-> all()": "you asked for all units of a layer; more than half of them are enough",
        "(y == 0).all(axis=0) -> (y == 0).all()": (
            "you called a layer dead only if all of its units are; more than half are enough"
        ),
        "(y > 0).all(axis=0) -> (y > 0).all()": (
            "you called a layer always on only if all of its units are; more than half are enough"
        ),
        "np.mean((y == -> np.any((y ==\nnp.mean((y > -> np.any((y >": (
            "one dead or always-on unit was enough for you; it takes more than half of the units"
        ),
        "np.mean((y == -> np.any((y ==": "one dead unit was enough for you; it takes more than half of the units",
        "np.mean((y > -> np.any((y >": "one always-on unit was enough for you; it takes more than half of the units",
        "> 0.5 -2-> >= 0.5": "exactly half of the units was enough for you; it takes more than half",
        "size > 10 * before -> False": (
            "you never find a layer that explodes; compare its root mean square with that of the layer before"
        ),
        ("before = np.inf -> before = 0", "size > 10 * before -> before > 10 * size"): (
            "your layer 1 explodes: you compared it with a size of 0, or the wrong way round; layer 1 has no layer before it"
        ),
        "before = size -> before = before if layer > 1 else size": (
            "you compared each size with that of layer 1; compare with the layer before; slower growth does not count as a fault here"
        ),
        "10 * before -> 10": (
            "you asked whether the size is above 10; ask whether it is more than 10 times that of the layer before"
        ),
        "np.sqrt(np.mean(y**2)) -> y.std()": (
            "you compared standard deviations, which subtract the mean; the root mean square includes it"
        ),
        'return layer, "exploding" -> return layer - 1, "exploding"': (
            "you named the layer before the jump; the layer that explodes is the one after it, whose size is larger"
        ),
        'before = size -> return 0, "healthy"': (
            "you answer after the first layer; is the last return inside the loop?"
        ),
        "np.sqrt(np.mean(y**2)) -> np.abs(y).max()": (
            "you compared the largest numbers; one large number need not make a layer explode, so take the root mean square"
        ),
        "np.sqrt(np.mean(y**2)) -> np.mean(y**2)": (
            "you compared mean squares; without the root, a factor of 4 counts as 16"
        ),
        "np.mean(y**2) -> np.sum(y**2)": (
            "you took the root of the sum of squares; layers with more units then look larger, so take the mean"
        ),
        "before = np.inf -> before = 0\nsize > 10 * before -> 10 * size < before": (
            "you compared the wrong way round: exploding means larger than 10 times the layer before"
        ),
        "np.sqrt(np.mean(y**2)) -> np.mean(y)": (
            "you compared means; a few large numbers weigh more in the root mean square"
        ),
    },
)

# --------------------------------------------------------------------------------------------- my_cause


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
    well = _parts(inputs=0.01, weights=0.02, biases=0.03)
    return [
        case(_Symptom(), _parts(inputs=0.01, weights=5, biases=0.03), well, label="weights"),
        case(_Symptom(), _parts(inputs=0.01, weights=0.02, biases=7), well, label="the last part"),
        case(_Symptom(), _parts(inputs=3, weights=0.02, biases=0.03), well, label="the first part"),
        case(_Symptom(), _parts(inputs=3, weights=4, biases=0.03), well, label="two causes"),
        case(_Symptom(), _parts(inputs=3, weights=4, biases=5), well, label="all parts"),
        case(
            _Symptom(_both_needed),
            _parts(weights=2, biases=4, inputs=3),
            _parts(weights=0.01, biases=0.02, inputs=0.03),
            label="any of three parts fixes it",
        ),
        case(
            _Symptom(_both_needed), _parts(gamma=2, beta=3), _parts(gamma=0.01, beta=0.02), label="either part fixes it"
        ),
        case(
            _Symptom(),
            _parts(gamma=0.02, beta=0.5, eps=0.01),
            _parts(gamma=0.0, beta=0.07, eps=0.0),
            label="exactly 0.1 is fixed",
        ),
        case(
            _Symptom(),
            _parts(inputs=0.01, weights=5),
            _parts(inputs=0.02, weights=0.03),
            label="a part that differs and is healthy",
        ),
        case(
            _Symptom(),
            _parts(gamma=0.01, beta=0.9),
            _parts(gamma=0.01, beta=0.4),
            label="better, but not fixed",
        ),
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


def _by_next(symptom, faulty, healthy):
    trials = ((name, {key: (healthy if key == name else faulty)[key] for key in faulty}) for name in faulty)
    return next((name for name, parts in trials if symptom(parts) <= 0.1), "none")


CAUSE = Exercise(
    solution="""
def my_cause(symptom, faulty, healthy):
    for name in faulty:
        if symptom({**faulty, name: healthy[name]}) <= 0.1:
            return name
    return "none"
""",
    cases=_cause_cases,
    run=_run_cause,
    variants=[_by_copies, _by_next],
    mistakes={
        """+ parts = dict(faulty)
symptom({**faulty, name: healthy[name]}) -> symptom(parts := {**parts, name: healthy[name]})""": (
            "your replacements add up; begin each trial with the unchanged faulty network, and replace one part"
        ),
        "{**faulty, name: healthy[name]}) <= 0.1 -> {**healthy, name: faulty[name]}) > 0.1": (
            "you put a faulty part into the healthy network; that shows which part causes a symptom, not which replacement fixes this network"
        ),
        "{**faulty, name: healthy[name]} -> {**healthy, name: faulty[name]}": (
            "you replaced all parts but one and named the one that stayed; replace one and leave the others"
        ),
        "return min(faulty, key=lambda name: symptom({**faulty, name: healthy[name]}))": (
            'you named the part whose replacement helps most; its replacement must fix the network, and if no part does, the answer is "none"'
        ),
        "<= 0.1 -> < symptom(faulty)": (
            "you named the first part whose replacement helps; the symptom must come down to 0.1"
        ),
        "in faulty: -> in reversed(faulty):": (
            "you named the last part whose replacement fixes the network; of several, return the first"
        ),
        "in faulty: -> in sorted(faulty):": (
            "you went through the names in alphabetical order; if several parts fix it, return the first of the dict"
        ),
        'return "none" -> return None': 'where no part fixes the network you return None; the answer is the word "none"',
        'in faulty: -> in ("weights", "biases"):': "you try weights and biases only; go through all names of faulty",
        "in faulty: -> in list(faulty)[:1]:": (
            'you answer after the first trial; return "none" after the loop, when all parts have been tried'
        ),
        "symptom({**faulty, name: healthy[name]}) <= 0.1 -> not np.array_equal(faulty[name], healthy[name])": (
            "you compared the parts; a part may differ and still be healthy, so call symptom"
        ),
        "<= 0.1 -> > 0.1": "you returned a part whose replacement does not fix the network; up to 0.1 it counts as fixed",
        "<= -> <": "you asked for less than 0.1; a symptom of exactly 0.1 counts as fixed",
        "return next(iter(faulty))": "you always return the first name; try the replacement, and call symptom",
        "<= 0.1 -> == 0": ("you asked for a symptom of exactly 0; up to 0.1 the network counts as fixed"),
    },
)

# --------------------------------------------------------------------------------------- my_invariances


def _layer(x):
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)


def _rms_norm(x):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)


def _batch(x):
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def _center(x):
    return x - x.mean(axis=-1, keepdims=True)


def _by_largest_of_all(x):
    return x / np.abs(x).max()


def _by_largest_of_row(x):
    return x / np.abs(x).max(axis=-1, keepdims=True)


def _center_batch(x):
    return x - x.mean(axis=0)


def _whole(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


def _slightly(x):
    """tanh of the sample, moved a little by what the others do: just above the tolerance."""
    return np.tanh(x / 10) + 0.01 * np.tanh(x.mean(axis=0))


def _invariance_cases(rng):
    def data(rows=6, features=8, mean=0.0, others=1.0):
        x = mean + 2 * rng.standard_normal((rows, features))
        x[1:] *= others  # louder, so that the largest number is not in sample 0, whatever replaces the others
        return x

    return [
        case(_layer, data(), label="layer norm"),
        case(_rms_norm, data(), label="RMSNorm"),
        case(_batch, data(), label="batch norm"),
        case(_center, data(), label="the mean subtracted"),
        case(np.tanh, data() / 3, label="tanh"),
        case(_by_largest_of_all, data(others=5), label="divided by the largest number"),
        case(_by_largest_of_row, data(), label="divided by the largest of the sample"),
        case(_center_batch, data(), label="the batch mean subtracted"),
        case(_whole, data(mean=4), label="one mean for the whole batch"),
        case(_slightly, data(mean=1), label="a little of the other samples"),
        case(lambda x: 0.002 * np.sin(x), data(), label="small outputs"),
        case(_layer, data(4, 5, mean=100), label="layer norm, large mean"),
        case(lambda x: 10 + 0.3 * np.tanh(x), data(), label="outputs near 10"),
        case(_by_largest_of_all, data(mean=20, others=3), label="positive numbers"),
        case(lambda x: x * (np.arange(x.shape[1]) > 0), data(), label="first feature 0"),
        case(lambda x: -np.abs(x), data(), label="minus the absolute value"),
        case(lambda x: x - x[:1], data(), label="the first sample subtracted"),
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


def _with_allclose(norm, x):
    expected = norm(x.copy())[0]
    others = x.copy()
    others[1:] = np.linspace(-30, 60, others[1:].size).reshape(others[1:].shape)
    scaled = np.vstack([3 * x[:1], x[1:]])
    return [np.allclose(norm(y)[0], expected, rtol=0, atol=1e-3) for y in (x * 3, x + 3.0, scaled, others)]


def _with_random_others(norm, x):
    rng = np.random.default_rng(5)
    replaced = rng.normal(50, 20, size=x.shape)
    replaced[0] = x[0]
    tripled = x * np.where(np.arange(len(x)) == 0, 3, 1)[:, None]
    before = norm(x)
    return tuple((abs(norm(y) - before)[0] < 1e-3).all() for y in (x + x + x, x + 3, tripled, replaced))


INVARIANCES = Exercise(
    solution="""
def my_invariances(norm, x):
    def stays(changed):
        return bool(np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3)

    louder = x.copy()
    louder[0] *= 3
    others = -7 * x + 5
    others[0] = x[0]
    return stays(3 * x), stays(x + 3), stays(louder), stays(others)
""",
    cases=_invariance_cases,
    results=("scale of all", "shift of all", "scale of one sample", "other samples"),
    run=_run_invariances,
    variants=[_with_allclose, _with_random_others],
    mistakes={
        "np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3 -> (norm(changed)[0] == norm(x)[0]).all()": (
            "you compared with ==; two results of rounded arithmetic are rarely equal to the last digit"
        ),
        "return bool( -> return not (": "your answers are the wrong way round: True means that the output stays the same",
        "norm(changed)[0] - norm(x)[0] -> norm(changed) - norm(x)": (
            "you compared the outputs of all samples; only that of sample 0 counts"
        ),
        "< 1e-3 -> < 0.1": "your tolerance is too wide; outputs that differ by more than 1e-3 are not the same",
        (
            "np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3 -> np.allclose(norm(changed)[0], "
            "norm(x)[0], rtol=0.1, atol=1e-3)"
        ): ("your tolerance grows with the numbers (rtol); each entry may differ by at most 1e-3, so set rtol=0"),
        "np.max(np.abs( -> abs(np.mean(": "you compared means, in which differences cancel; every entry counts",
        "np.max(np.abs(norm(changed)[0] - norm(x)[0])) -> np.max(norm(changed)[0] - norm(x)[0])": (
            "you forgot that a difference can be negative; take its absolute value"
        ),
        (
            "np.max(np.abs(norm(changed)[0] - norm(x)[0])) < 1e-3 -> np.any(np.abs(norm(changed)[0] - "
            "norm(x)[0]) < 1e-3)"
        ): ("you asked whether some entry stays the same; all of them must"),
        "norm(changed)[0] - norm(x)[0] -> norm(changed)[0, 0] - norm(x)[0, 0]": (
            "you compared the first feature only; all entries of sample 0 count"
        ),
        "- norm(x)[0] -> - x[0]": "you compared with x; compare with norm(x)",
        """def stays(changed): -> def stays(changed, scale=1, shift=0):
- norm(x)[0] -> - scale * norm(x)[0] - shift
stays(3 * x), stays(x + 3), stays(louder) -> stays(3 * x, 3), stays(x + 3, 1, 3), stays(louder, 3)""": (
            "you compared with 3 times the output, or the output plus 3; an invariant norm leaves the output as it was"
        ),
        "louder[0] *= 3 -> louder *= 3": "for the third answer you scaled all samples; scale sample 0 alone",
        "louder[0] -> louder[1:]": "for the third answer you scaled the others; scale sample 0 alone",
        "louder[0] -> louder[:, 0]": (
            "for the third answer you scaled the first feature of every sample; a sample is a row"
        ),
        "others[0] = x[0] -> pass": "for the fourth answer you replaced sample 0 too; it must stay as it was",
        ("-7 * x + 5 -> x + 1e-6", "-7 * x + 5 -> x.copy()"): (
            "for the fourth answer nothing was replaced, or too little; put quite different numbers into every row after row 0"
        ),
        "stays(others) -> stays(x[:1])": (
            "you left the other samples out instead of replacing them; a batch of one tests something else"
        ),
        "stays(3 * x), stays(x + 3) -> stays(x + 3), stays(3 * x)": (
            "the first two answers are exchanged: first 3 times x, then x + 3"
        ),
        "stays(louder), stays(others) -> stays(others), stays(louder)": (
            "the last two answers are exchanged: first sample 0 scaled, then the others replaced"
        ),
        "-7 * x + 5 -> x[::-1].copy()": (
            "for the fourth answer you used the old samples again, in another order; replace them by very different numbers"
        ),
        "louder[0] *= 3 -> louder[0] += 3": ("for the third answer you added 3 to sample 0; multiply it by 3"),
    },
)

EXERCISES = [DIAGNOSIS, CAUSE, INVARIANCES]
