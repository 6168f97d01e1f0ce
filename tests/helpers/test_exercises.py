"""Every exercise of every lesson file, judged by the same rules; then lesson 01's own; then the checker."""

import copy
import functools
import inspect
import itertools
import math as pymath
import re
import signal
import sys
import threading
import time
import tracemalloc
from collections import deque, namedtuple
from dataclasses import FrozenInstanceError, replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import helpers
from helpers import checks, precision
from helpers.exercises import Exercise, Says, WrongKind, all_exercises, attempts, case, check_exercise, checker
from helpers.exercises.checker import diagnose
from helpers.exercises.edits import compiled, edited
from helpers.layers import BatchNorm, Layer
from tests import shared

# A folder whose name begins with a digit cannot stand in an import statement.
GALLERY = import_module("helpers.lessons.12_bug_gallery.exercises")
PRACTICE = import_module("helpers.lessons.15_practice.exercises")

for_each = functools.partial(shared.for_each, before=checks.reset)
EXERCISES = list(all_exercises().values())
FUNCTIONS = [e for e in EXERCISES if not inspect.isclass(e.reference)]
every = for_each("exercise", EXERCISES, ids=lambda e: e.name)
every_function = for_each("exercise", FUNCTIONS, ids=lambda e: e.name)


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(checks, "_results", {})
    monkeypatch.delenv("HELPERS_STRICT", raising=False)


def line(capsys):
    """The only line that was printed, its rows joined again."""
    text = capsys.readouterr().out.replace("\n" + checks.INDENT, " ")
    assert text.endswith("\n") and text.count("\n") == 1, f"not exactly one line: {text!r}"
    assert len(text) <= checks.LONGEST_LINE + 1
    return text[:-1]


def cases_of(exercise, seed=0):
    return exercise.cases(np.random.default_rng(seed))


def arrays_in(c):
    return [a for a in [*c.args, *c.kwargs.values()] if isinstance(a, np.ndarray)]


# ------------------------------------------------------------------- every exercise of every lesson file


@every
def test_the_reference_passes(capsys, exercise):
    assert check_exercise(exercise.name, exercise.reference) is True
    assert line(capsys) == f"PASS - {exercise.name}: {len(cases_of(exercise))} cases"


@every
def test_a_solution_leaves_the_learners_result(capsys, exercise):
    assert check_exercise(exercise.name, exercise.mistakes[0].function) is False
    capsys.readouterr()
    assert check_exercise(exercise.name, exercise.reference, solution=True) is True
    assert line(capsys) == f"PASS - solution of {exercise.name}: {len(cases_of(exercise))} cases"
    assert checks.summary() is False
    assert line(capsys) == f"exercises: 1 failed ({exercise.name})"


@every
def test_correct_solutions_written_differently_pass(exercise):
    wanted = True, f"{len(cases_of(exercise))} cases"
    wrong = {variant.__name__: diagnose(exercise, variant) for variant in exercise.variants}
    assert not {name: found for name, found in wrong.items() if found != wanted}


@every
def test_each_known_mistake_gets_its_own_sentence(monkeypatch, exercise):
    tried = functools.cache(checker._outcome)  # an attempt is tried once, not again as the known mistake that it is
    monkeypatch.setattr(checker, "_outcome", lambda exercise, f, c, printed=None: tried(exercise, f, c))
    wrong = []
    started = time.process_time()
    for mistake in exercise.mistakes:
        found = diagnose(exercise, mistake.function)
        outcomes = [checker._known_outcome(exercise, mistake.function, c) for c in checker._cases(exercise)]
        always = all(isinstance(outcome.kind, tuple) for outcome in outcomes)
        told = f"its sentence: {mistake.sentence}\na learner is told: {found[1]}"
        if found[0]:
            wrong.append(f"{mistake.attempt}\nis accepted as correct: take it out")
        elif found != (False, mistake.sentence):
            wrong.append(f"{mistake.attempt}\n{told}\nAnother mistake may give the same answers: join their keys.")
        elif always != mistake.raises:
            raises = f"always raises ({outcomes[0].problem})" if always else "does not always raise"
            wrong.append(f"{mistake.attempt}\n{told}\nIt {raises}: write `Says(sentence, raises={always})`.")
    if wrong:
        pytest.fail("\n\n".join(wrong))
    # Half a second for a battery that trains some forty layers, mostly 10 ms; the rest is room for a busy machine.
    assert time.process_time() - started < 2 + len(exercise.mistakes)


@every
def test_an_exercise_is_complete(exercise):
    sentences = [m.sentence for m in exercise.mistakes]
    assert len(set(sentences)) >= 3
    for sentence in sentences:
        assert sentence == " ".join(sentence.split()) and not sentence.endswith(".")
        assert len(f"FAIL - {exercise.name}: {sentence}") < checks.LONGEST_LINE
    assert len(exercise.variants) >= 2
    assert exercise.name.startswith("my_") and not hasattr(helpers, exercise.name)
    assert exercise.signature.startswith(f"{exercise.name}(") or inspect.isclass(exercise.reference)
    assert len(cases_of(exercise)) >= 3


@every
def test_cases_are_repeatable_and_hold_for_other_seeds(exercise):
    first, again = cases_of(exercise), cases_of(exercise)
    for a, b in zip(first, again, strict=True):
        for left, right in zip(arrays_in(a), arrays_in(b), strict=True):
            np.testing.assert_array_equal(left, right)
    for seed in range(1, 4):
        for c in cases_of(exercise, seed):
            assert not checker._outcome(exercise, exercise.reference, c).problem


@every
def test_an_untouched_stub_is_to_do(capsys, monkeypatch, exercise):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    if inspect.isclass(exercise.reference):
        methods = [name for name, m in vars(exercise.reference).items() if inspect.isfunction(m)]
        stub = type("Stub", (), {name: (lambda *args, **kwargs: ...) for name in methods})
    else:

        def stub(*args, **kwargs):
            """What it should do."""
            ...

    assert check_exercise(exercise.name, stub) is False
    text = f"TODO - {exercise.name}: write {exercise.signature}, then run this cell again"
    assert line(capsys) == text
    assert checks._results["exercise", exercise.name][0] is None


@every_function
def test_raising_is_told_what_and_where(capsys, exercise):
    def attempt(*args, **kwargs):
        raise KeyError("gamma")

    assert check_exercise(exercise.name, attempt) is False
    where = attempt.__code__.co_firstlineno + 1
    assert line(capsys).endswith(f": it raises KeyError: 'gamma' (line {where})")


@every_function
def test_a_forgotten_return_is_told(capsys, exercise):
    def attempt(*args, **kwargs):
        exercise.reference(*args, **kwargs)

    assert check_exercise(exercise.name, attempt) is False
    assert line(capsys) == f"FAIL - {exercise.name}: it returns None; is the return statement missing?"


@every_function
def test_returning_none_in_one_case_is_told(capsys, exercise):
    calls = []

    def attempt(*args, **kwargs):
        calls.append(1)
        return exercise.reference(*args, **kwargs) if len(calls) > 1 else None

    assert check_exercise(exercise.name, attempt) is False
    assert line(capsys).endswith(": it returns None here; does every path through it end in a return?")


def spoiled(result, spoil):
    if isinstance(result, tuple) and not hasattr(result, "_fields"):
        return tuple(spoiled(item, spoil) for item in result) or (spoil(0),)
    return spoil(0.0 if isinstance(result, str) else result)  # no arithmetic with words


SPOILED = {
    "shape": lambda y: np.ones((7, 7, 7)),
    "nan": lambda y: np.asarray(y) * np.nan,
    "text": lambda y: "text",
    "complex": lambda y: np.asarray(y) + 1j,
    "ragged": lambda y: [[1.0], [1.0, 2.0]],
    "dict": lambda y: {"y": y},
    "object": lambda y: object(),
    "masked": lambda y: np.ma.masked_array(y),
    "iterator": lambda y: iter([1.5]),
}


@every_function
def test_wrong_kinds_of_answers_get_one_line(capsys, exercise):
    for kind, spoil in SPOILED.items():
        attempt = lambda *args, spoil=spoil, **kwargs: spoiled(exercise.reference(*args, **kwargs), spoil)  # noqa: E731
        assert check_exercise(exercise.name, attempt) is False, kind
        text = line(capsys)
        assert text.startswith(f"FAIL - {exercise.name}: case "), kind
        assert "raises" not in text and "could not be compared" not in text, kind


@for_each("exercise", [e for e in FUNCTIONS if all(arrays_in(c) for c in cases_of(e))], ids=lambda e: e.name)
def test_changing_an_input_is_told(capsys, exercise):
    def attempt(*args, **kwargs):
        result = copy.deepcopy(exercise.reference(*args, **kwargs))
        for value in args:
            if isinstance(value, np.ndarray):
                value += 1
                break
        return result

    assert check_exercise(exercise.name, attempt) is False
    assert "in place, and the caller's array with it; work on a copy" in line(capsys)


@every
def test_strict_mode_raises_the_line(capsys, monkeypatch, exercise):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError) as error:
        check_exercise(exercise.name, exercise.mistakes[0].function)
    assert str(error.value) == line(capsys)


def test_a_failing_or_missing_solution_is_a_failure(capsys, monkeypatch):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    for attempt, words in ((lambda x: x, "case "), (..., "write my_standardize")):
        with pytest.raises(AssertionError, match=f"^FAIL - solution of my_standardize: {words}"):
            check_exercise("my_standardize", attempt, solution=True)
    capsys.readouterr()
    with pytest.raises(AssertionError):
        checks.summary()
    assert line(capsys) == "failed: solution of my_standardize"


@every_function
def test_a_wrong_number_of_arguments_names_the_call(capsys, exercise):
    assert check_exercise(exercise.name, lambda: 1) is False
    assert line(capsys) == f"FAIL - {exercise.name}: it takes (), expected the call {exercise.signature}"


# ------------------------------------------------------------------------------------------------ lesson 01


@for_each(
    ("norm", "ndim", "axes"),
    [
        ("batch", 2, (0,)),
        ("batch", 3, (0, 2)),
        ("batch", 4, (0, 2, 3)),
        ("instance", 2, ()),
        ("instance", 3, (2,)),
        ("instance", 4, (2, 3)),
        ("layer", 2, (1,)),
        ("layer", 3, (1, 2)),
        ("layer", 4, (1, 2, 3)),
    ],
)
def test_statistic_axes_are_these(norm, ndim, axes):
    assert all_exercises()["my_statistic_axes"].reference(norm, ndim) == axes


def axes_but(instead):
    reference = all_exercises()["my_statistic_axes"].reference
    return lambda norm, ndim: instead if (norm, ndim) == ("layer", 2) else reference(norm, ndim)


@for_each("same", [(1,), [1], (-1,), {1}, range(1, 2), np.array([1]), 1, np.int64(-1)])
def test_statistic_axes_accepts_other_forms_of_answers(same):
    assert diagnose(all_exercises()["my_statistic_axes"], axes_but(same)) == (True, "9 cases")


def test_statistic_axes_may_be_counted_from_the_end():
    reference = all_exercises()["my_statistic_axes"].reference
    from_the_end = lambda norm, ndim: [axis - ndim for axis in reference(norm, ndim)]  # noqa: E731
    assert diagnose(all_exercises()["my_statistic_axes"], from_the_end) == (True, "9 cases")


@for_each(
    ("answer", "text"),
    [
        ((0,), "got (0,), expected (1,)"),
        ((), "got (), expected (1,)"),
        ((2,), "axis 2 does not exist in a tensor with 2 axes"),
        ((1, -1), "an axis is named twice: (1, 1)"),
        ((1.0,), "the answer is not a tuple of whole numbers, the axes"),
        ((True,), "the answer is not a tuple of whole numbers, the axes"),
        ("1", "the answer is not a tuple of whole numbers, the axes"),
        ([[1]], "the answer is not a tuple of whole numbers, the axes"),
    ],
)
def test_statistic_axes_says_what_is_wrong(capsys, answer, text):
    assert not check_exercise("my_statistic_axes", axes_but(answer))
    assert line(capsys) == f"FAIL - my_statistic_axes: case norm='layer', ndim=2: {text}"


def test_unknown_layer_norm_mistakes_name_case_and_place(capsys):
    def attempt(x, gamma, beta, eps=1e-5):
        y = all_exercises()["my_layer_norm"].reference(x, gamma, beta, eps).copy()
        y[-1, 0] = 7.0
        return y

    assert not check_exercise("my_layer_norm", attempt)
    text = line(capsys)
    assert text.startswith(
        "FAIL - my_layer_norm: case small x [x (5, 3), gamma (3,), beta (3,)]: at [4, 0] got 7.0, expected "
    )
    assert "; 1 of 15 values wrong, largest difference " in text


@pytest.mark.parametrize("name", ["my_layer_norm", "my_batch_norm_nchw"])
def test_an_answer_off_by_a_thousandth_is_rejected(name):
    exercise = all_exercises()[name]
    assert diagnose(exercise, lambda x, g, b, eps=1e-5: 1.001 * exercise.reference(x, g, b, eps))[0] is False


def test_returning_statistics_too_is_named_for_layer_norm(capsys):
    reference = all_exercises()["my_layer_norm"].reference
    assert not check_exercise("my_layer_norm", lambda x, g, b, eps=1e-5: (reference(x, g, b, eps), x.mean(), x.var()))
    assert line(capsys).endswith(": got a tuple of length 3, expected only one value")


def test_both_norms_have_cases_against_lucky_shapes():
    for c in cases_of(all_exercises()["my_batch_norm_nchw"])[:1]:
        assert c.args[0].shape[1] != c.args[0].shape[3]
    shapes = [c.args[0].shape for c in cases_of(all_exercises()["my_batch_norm_nchw"])]
    assert any(shape[1] == shape[3] for shape in shapes) and any(shape[1] != shape[3] for shape in shapes)
    assert (4, 4) in [c.args[0].shape for c in cases_of(all_exercises()["my_layer_norm"])]


# What the two exercises of lesson 08 that carry a u say of an answer that does not start from it.
FRESH, EXACT = "a vector of your own", "comes from a full SVD"


def start_of_one_s_own(rows, seed):
    return np.random.default_rng(seed).standard_normal(rows)


@for_each(
    ("own", "sentence"),
    [
        (lambda w: start_of_one_s_own(len(w), 7), FRESH),
        (lambda w: start_of_one_s_own(len(w), None), FRESH),
        (lambda w: np.ones(len(w)), FRESH),
        (lambda w: np.linalg.svd(w)[0][:, 0], EXACT),
        (lambda w: np.linalg.eigh(w @ w.T)[1][:, -1], EXACT),
    ],
    ids=["own seed", "no seed", "ones", "svd", "eigh"],
)
def test_an_iteration_not_from_u_is_told(own, sentence):
    power_iteration, spectral_norm = (all_exercises()[n] for n in ("my_power_iteration", "my_spectral_norm"))
    for exercise, attempt in (
        (power_iteration, lambda w, u, n_iter: power_iteration.reference(w, own(w), n_iter)),
        (spectral_norm, lambda w, u: spectral_norm.reference(w, own(w))),
    ):
        passed, text = diagnose(exercise, attempt)
        assert passed is False and sentence in text, text


def test_exact_answers_are_told_from_others_by_size():
    exercise = all_exercises()["my_power_iteration"]
    (first, *_) = cases_of(exercise)
    exact, elsewhere = exercise.mistakes[:2]
    with pytest.raises(WrongKind, match="sigma is the exact one"):
        exercise.run(exact.function, *first.args)
    with pytest.raises(WrongKind, match="does not depend on the u it was given"):
        exercise.run(elsewhere.function, *first.args)


@for_each(
    "item", ["a text", None, np.ones(2), [1.0, 2.0], np.ones((2, 2, 2))], ids=["text", "None", "vector", "list", "cube"]
)
def test_an_own_start_is_told_beside_other_answers(item):
    for name, attempt in (
        ("my_power_iteration", lambda w, u, n_iter: (item, start_of_one_s_own(len(w), 7), u)),
        ("my_spectral_norm", lambda w, u: (item, start_of_one_s_own(len(w), 7))),
    ):
        _, text = diagnose(all_exercises()[name], attempt)
        assert FRESH in text, text


@for_each(
    ("name", "spoil", "text"),
    [
        ("my_power_iteration", lambda u: u[:, None], "u: value has shape ("),
        ("my_power_iteration", lambda u: np.zeros(u.shape, int), " u: "),
        ("my_power_iteration", lambda u: np.append(u, np.nan)[1:], " u: "),
        ("my_spectral_norm", lambda u: u[:, None], "u: value has shape ("),
        ("my_spectral_norm", lambda u: np.zeros(u.shape, int), " u: "),
        ("my_spectral_norm", lambda u: np.append(u, np.nan)[1:], " u: "),
    ],
)
def test_an_impossible_u_is_described(name, spoil, text):
    exercise = all_exercises()[name]

    def attempt(w, u, *n_iter):
        assert u.shape == (len(w),) and u.dtype == float and np.isfinite(u).all(), "handed on"
        answer = list(exercise.reference(w, u, *n_iter))
        answer[1] = spoil(answer[1])
        return answer

    passed, line = diagnose(exercise, attempt)
    assert passed is False and text in line and "handed on" not in line, line


@pytest.mark.parametrize(("name", "length"), [("my_power_iteration", 3), ("my_spectral_norm", 2)])
@pytest.mark.parametrize("more", [-1, 1])
def test_wrong_numbers_of_items_are_told(name, length, more):
    _, text = diagnose(all_exercises()[name], lambda w, u, *_: [1.0, np.ones(len(w)), 1.0, 1.0][: length + more])
    assert f"expected {length} values" in text, text


@pytest.mark.parametrize("right", range(3))
def test_answers_starting_right_sometimes_are_left_to_comparison(right):
    """Of the three calls that try whether u is used, one gives a vector and the others a text."""
    exercise = all_exercises()["my_spectral_norm"]
    calls = itertools.count()

    def attempt(w, u):
        return w, (np.ones(len(w)) if next(calls) == 1 + right else "no vector")

    _, text = diagnose(exercise, attempt)
    assert " w: " in text, text


def test_single_iterations_reveal_whether_u_is_used():
    exercise = all_exercises()["my_power_iteration"]
    seen = []

    def attempt(w, u, n_iter):
        seen.append(n_iter)
        return exercise.reference(w, u, n_iter)

    assert diagnose(exercise, attempt)[0] is True
    assert seen == [n for c in cases_of(exercise) for n in (c.args[2], 1, 1, 1)]


def test_spectral_norm_training_hands_u_on():
    exercise = all_exercises()["my_spectral_norm"]
    for c in cases_of(exercise):
        w, u = c.args
        calls = []

        def attempt(matrix, start, calls=calls):
            calls.append((matrix.copy(), start.copy(), exercise.reference(matrix, start)))
            return calls[-1][2]

        result = exercise.run(attempt, w, u)
        training = [calls[0], *calls[4:]]  # the three between try whether u is used
        assert [np.array_equal(matrix, one) for (matrix, _, _), one in zip(training, w, strict=True)] == [True] * len(w)
        starts = [u, *(new for _, _, (_, new) in training[:-1])]
        assert all(np.array_equal(start, one) for (_, start, _), one in zip(training, starts, strict=True))
        assert result is training[-1][2]


# ------------------------------------------------------------- lesson 12, whose exercises are tests of layers

GROUPS = {"SEEN": GALLERY.SEEN, "UNSEEN": GALLERY.UNSEEN}
BATTERY = all_exercises()["my_battery"]


def judge(name, attempt):
    passed, text = diagnose(all_exercises()[name], attempt)
    assert len(f"FAIL - {name}: {text}") <= checks.LONGEST_LINE
    return passed, text


@for_each("seed", range(5))
@for_each("training", [True, False])
def test_lesson_12s_right_layers_agree_with_helpers(seed, training):
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(3, 2, size=(2, 5, 3, 4))
    gamma, beta = rng.normal(size=(2, 3))
    memory = helpers.RunningStats(3)
    memory.update(x)
    by_memory = (x - memory.mean[:, None]) / np.sqrt(memory.var[:, None] + 1e-5)
    for candidate in GALLERY.RIGHT:
        layer = candidate.make(3)
        layer.gamma, layer.beta = gamma, beta
        tol = 1e-9 if candidate.make(3).gamma.dtype == np.float64 else 1e-5
        y = layer(x)
        wanted = helpers.batch_norm(x, gamma, beta).y
        dx = helpers.batch_norm_backward(dy, x, gamma).dx
        if not training:
            y, wanted = layer(x, training=False), gamma[:, None] * by_memory + beta[:, None]
            dx = dy * gamma[:, None] / np.sqrt(memory.var[:, None] + 1e-5)
        np.testing.assert_allclose(y, wanted, rtol=tol, atol=tol)
        np.testing.assert_allclose(layer.backward(dy), dx, rtol=tol, atol=tol)


def test_right_layers_count_only_real_positions():
    x, keep = np.array([[[1.0, 3, 50]], [[5, 70, 90]]]), np.array([[True, True, False], [True, False, False]])
    for candidate in GALLERY.RIGHT:
        layer = candidate.make(1)
        y = np.moveaxis(layer(x, keep=keep), 1, 2)[keep].ravel()
        np.testing.assert_allclose(y, np.array([-2, 0, 2]) / np.sqrt(8 / 3 + 1e-5), rtol=1e-5)
        alone = candidate.make(1)
        try:
            assert alone(np.full((1, 1, 1), 7.0)) == 0
        except ValueError:
            assert candidate.make is GALLERY._Refusing
        np.testing.assert_allclose(alone(x, training=False), x / np.sqrt(1 + 1e-5), rtol=1e-5)


@pytest.fixture(scope="module")
def verdicts():
    """What the solution's battery says of each layer of the cases."""
    layers = [layer for group in (GALLERY.RIGHT, *GROUPS.values()) for layer in group]
    return {layer.make: GALLERY._judged(BATTERY.reference, layer, GALLERY._BatchNorm)[0] for layer in layers}


@pytest.mark.parametrize("group", GROUPS)
def test_a_passed_bug_names_the_input_showing_it(verdicts, group):
    for bug in GROUPS[group]:
        passed, text = judge("my_battery", lambda layer, trusted, bug=bug: layer is bug.make or verdicts[layer])
        assert passed is False
        assert f"1 of {len(GROUPS[group])} slip through. One {bug.words}" in text
        assert re.search("; (try|call|look) ", bug.words)


@for_each("right", GALLERY.RIGHT)
def test_rejecting_a_right_layer_is_told_the_difference(verdicts, right):
    passed, text = judge("my_battery", lambda layer, trusted: layer is not right.make and verdicts[layer])
    by_padding = right.make is GALLERY._Folded and text.startswith("you compare the outputs at padded positions too")
    rejected = f"it rejects 1 of {len(GALLERY.RIGHT)} correct layers. One {right.words}"
    assert passed is False and (by_padding or rejected in text)


def test_lesson_12s_bugs_pass_the_ordinary_test():
    x = np.random.default_rng(0).normal(size=(8, 4, 4))
    for candidate in GALLERY.SEEN:
        np.testing.assert_allclose(candidate.make(4)(x), GALLERY._BatchNorm(4)(x), atol=1e-3)
    assert (len(GALLERY.SEEN), len(GALLERY.UNSEEN)) == (11, 20), "the lesson says so"
    assert all(not candidate.right for candidate in GALLERY.SEEN + GALLERY.UNSEEN)


def test_exceptions_in_layers_reject_and_in_batteries_tell():
    def calls_once(layer, trusted):
        return layer(3)(np.ones((2, 3, 5))).shape == (2, 3, 5)

    def feeds_nonsense(layer, trusted):
        return layer(3)(np.ones((2, 4, 5))) is not None

    def calls_wrongly(layer, trusted):
        return layer(3)(np.ones((2, 3, 5)), train=True) is not None

    assert "10 of 11 slip through" in judge("my_battery", calls_once)[1], "gamma on the last axis does not fit there"
    assert "do not fit" in judge("my_battery", feeds_nonsense)[1]
    assert "it raises TypeError: " in judge("my_battery", calls_wrongly)[1]


@for_each("answer", [1.0, "yes", np.ones(2), [True], np.float64(1)], ids=repr)
def test_a_battery_is_told_its_two_answers(answer):
    passed, text = judge("my_battery", lambda layer, trusted: answer)
    assert passed is False and "expected True to accept a layer or False to reject it" in text


def test_reading_a_layers_inside_is_advised_against():
    def reads(make, x, keep):
        layer = make(x.shape[1])
        return layer(x, keep=keep) is not None and layer.mean is not None

    def asserts(layer, trusted):
        assert layer is trusted
        return True

    assert "it looks for .mean in a layer, but a layer promises only calls" in judge("my_padding_test", reads)[1]
    assert "it uses assert; return False where a layer is wrong" in judge("my_battery", asserts)[1]


def test_gradient_tests_must_call_the_layer_first():
    passed, text = judge("my_gradient_test", lambda layer, x, dy: np.allclose(layer.backward(dy), 0))
    assert passed is False and "backward needs a call before it: y = layer(x)" in text


# --------------------------------------------------------- lesson 15: a network with four faults, to be mended

TO_MEND = all_exercises()["my_mended_network"]


def with_edits(*edits):
    """The network of lesson 15 with some of its faults and clumsy fixes put in again."""
    return compiled(edited(TO_MEND.solution, "\n".join(edits)), {}) if edits else TO_MEND.reference


def test_remaining_faults_are_counted_and_not_named():
    assert diagnose(TO_MEND, TO_MEND.as_given) == (None, "nothing is fixed yet; 4 of 4 bugs are left")
    for left in range(1, 4):
        for chosen in itertools.combinations(PRACTICE.FAULTS.values(), left):
            wanted = False, f"{left} of 4 bugs {'is' if left == 1 else 'are'} left"
            assert diagnose(TO_MEND, with_edits(*chosen)) == wanted


def test_two_clumsy_mends_count_as_two_faults():
    clumsy = [next(iter(PRACTICE.CLUMSY[name])) for name in ("normalize", "statistics")]
    assert diagnose(TO_MEND, with_edits(*clumsy)) == (False, "2 of 4 bugs are left")


def test_no_passing_test_may_mean_new_faults():
    left = "4 of 4 bugs are left, or a change has brought in a new bug that every test meets"
    no_relu = f"{PRACTICE.NORMALIZE} -> np.abs({PRACTICE.NORMALIZE})"
    assert diagnose(TO_MEND, with_edits(no_relu)) == (False, left)


@pytest.mark.parametrize("fault", PRACTICE.FAULTS)
def test_a_fault_shows_only_in_its_own_cases(fault):
    attempt = with_edits(PRACTICE.FAULTS[fault])
    wrong = {
        c.label.partition(",")[0]
        for c in TO_MEND.cases(np.random.default_rng(0))
        if not checker._judge(TO_MEND, checker._outcome(TO_MEND, attempt, c), TO_MEND.reference(*c.args))[0]
    }
    assert len(wrong) == 1


def test_code_to_be_mended_names_another_form():
    def transposed(*args):
        return TO_MEND.as_given(*args).T

    passed, text = diagnose(TO_MEND, transposed)
    assert passed is False and "has shape (3, 7), expected (7, 3)" in text


# ---------------------------------------------------------------------------------------------- the checker


def double(x):
    return 2 * x


def make(reference=None, **changed):
    """A small exercise: double an array."""
    parts = dict(
        solution="def double(x):\n    return 2 * x",
        cases=lambda rng: [case(rng.standard_normal(3)), case(rng.standard_normal((2, 2)), label="square")],
        mistakes={"2 * x -> 3 * x": "you tripled it"},
    )
    exercise = Exercise(**(parts | changed))
    vars(exercise).update({"reference": reference} if reference else {})
    return exercise


@pytest.mark.parametrize("wrong_at", [1, 2, 3])
def test_a_fault_remains_while_one_case_shows_it(wrong_at):
    exercise = make(
        cases=lambda rng: [case(k * np.ones(2), label=label) for k, label in ((1, "A"), (2, "A, again"), (3, "B"))],
        given="2 * x -> np.minimum(2 * x, 4)",
        mistakes={},
    )
    assert diagnose(exercise, lambda x: np.where(x == wrong_at, 0, 2 * x)) == (False, "1 of 2 bugs is left")
    assert diagnose(exercise, exercise.as_given) == (None, "nothing is fixed yet; 1 of 2 bugs is left")
    everywhere = "2 of 2 bugs are left, or a change has brought in a new bug that every test meets"
    assert diagnose(exercise, lambda x: 0 * x) == (False, everywhere)


PAIRED = dict(
    solution="def double(x):\n    y = 2 * x\n    return y + 0",
    mistakes={
        "2 * x -> 3 * x": "you tripled it",
        "2 * x -> -x": "you changed the sign",
        "y + 0 -> y + 1": "you added 1",
    },
)


@pytest.mark.parametrize(
    "attempt, first", [(lambda x: 3 * x + 1, "you tripled it"), (lambda x: 1 - x, "you changed the sign")]
)
def test_two_mistakes_at_once_are_named_when_asked(attempt, first):
    assert diagnose(make(**PAIRED), attempt, pairs=True) == (False, first + checker.AND_ONE_MORE)
    assert first not in diagnose(make(**PAIRED), attempt)[1]


def test_what_pairs_do_not_give_is_shown():
    assert "you" not in diagnose(make(**PAIRED), lambda x: 5 * x, pairs=True)[1]
    assert "you" not in diagnose(make(**PAIRED, given="y + 0 -> y + 7"), lambda x: 3 * x + 1, pairs=True)[1]


def test_the_search_for_pairs_ends_in_time(monkeypatch):
    monkeypatch.setattr(checker, "PAIRS_TIME_LIMIT", 0.05)
    second = "y + 0 -> y if (y == 2 * x).all() else sum(0 for _ in iter(int, 1))"  # endless after the first
    pair = make(**PAIRED | {"mistakes": {"2 * x -> 3 * x": "you tripled it", second: "endless"}})
    assert "you tripled it" not in diagnose(pair, lambda x: 3 * x + 1, pairs=True)[1]


def test_an_unknown_exercise_lists_the_names():
    with pytest.raises(ValueError, match="^no exercise is called 'layernorm'; there are: .*layer_norm, "):
        check_exercise("layernorm", double)


def test_long_unknown_names_are_cut_at_60():
    with pytest.raises(ValueError, match=f"^no exercise is called '{'a' * 58}'; there are: "):
        check_exercise("a" * 58, double)
    with pytest.raises(ValueError, match=f"^no exercise is called '{'a' * 56}[.]{{3}}; there are: "):
        check_exercise("a" * 59, double)


@pytest.mark.parametrize(
    ("part", "name"), [(make(), "tol"), (make().mistakes[0], "sentence"), (case(1), "label")], ids=["e", "m", "c"]
)
def test_exercises_mistakes_and_cases_are_frozen(part, name):
    with pytest.raises(FrozenInstanceError):
        setattr(part, name, "other")


def test_cases_are_drawn_with_seed_0():
    seen = []
    diagnose(make(), lambda x: seen.append(x) or 2 * x)
    np.testing.assert_array_equal(seen[0], np.random.default_rng(0).standard_normal(3))


def test_answers_may_be_off_by_a_millionth():
    zeros = make(cases=lambda rng: [case(np.zeros(3))])
    assert diagnose(zeros, lambda x: x + 0.9e-6)[0] is True
    assert diagnose(zeros, lambda x: x + 1.5e-6)[0] is False
    assert diagnose(make(cases=zeros.cases, tol=1e-3), lambda x: x + 1.5e-6)[0] is True


def test_lessons_are_found_by_their_folder():
    found = checker._found_exercises()
    assert {"my_statistic_axes", "my_layer_norm", "my_batch_norm_nchw"} <= set(found)
    assert all(exercise.name == name for name, exercise in found.items())


def test_two_exercises_of_the_same_name_are_refused(monkeypatch):
    lesson = import_module("helpers.lessons.01_axis_intuition.exercises")
    monkeypatch.setattr(lesson, "EXERCISES", lesson.EXERCISES + lesson.EXERCISES[:1])
    with pytest.raises(ValueError, match="already an exercise called 'my_statistic_axes'"):
        checker._found_exercises()


def blank_pass(x):
    pass


def blank_twice(x):
    pass
    ...


def blank_with_docstring(x):
    """Double x."""
    ...


def blank_in_the_middle(x):
    factor = ...
    return factor * x


def blank_result(x):
    y = ...
    return y


def blank_item(x):
    return x, ...


def blank_in_one_branch(x):
    return 2 * x if x.ndim == 1 else ...


def not_implemented(x):
    raise NotImplementedError


@for_each(
    "stub",
    [
        *(
            ...,
            blank_pass,
            blank_twice,
            blank_with_docstring,
            blank_in_the_middle,
            blank_result,
            blank_item,
            blank_in_one_branch,
        ),
        not_implemented,
    ],
)
def test_an_unfinished_stub_is_to_do(stub):
    assert diagnose(make(), stub) == (None, "write double(x), then run this cell again")


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (None, "got None, expected the function itself: double(x)"),
        (np.ones(3), "got an array of float64 with shape (3,), expected the function itself: double(x)"),
        (dict, "got the class dict, expected a function: double(x)"),
        (lambda x, y: x, "it takes (x, y), expected the call double(x)"),
    ],
)
def test_only_functions_of_the_right_arguments_count(attempt, text):
    assert diagnose(make(), attempt) == (False, text)


def test_an_error_without_an_ellipsis_is_a_failure():
    def wrong_value(x):
        raise ValueError("an ellipsis is no reason to stop")

    assert diagnose(make(), lambda x: len(3))[1].startswith("case x (3,): it raises TypeError: ")
    assert diagnose(make(), wrong_value)[1].startswith("case x (3,): it raises ValueError: an ellipsis ")


def test_generators_and_async_functions_are_refused_unrun():
    def generator(x):
        yield 2 * x

    async def coroutine(x):
        return 2 * x

    assert diagnose(make(), generator) == (False, "it is a generator; use return, not yield")
    assert diagnose(make(), coroutine) == (False, "it is an async function; write it with a plain def")


def test_positional_arguments_may_have_any_name():
    assert diagnose(make(), lambda anything: anything + anything)[0] is True
    assert diagnose(make(reference=np.sign), np.sign)[0] is True


def test_a_mistake_must_match_in_every_case():
    def half_tripled(x):
        return 3 * x if x.ndim == 1 else 4 * x

    assert diagnose(make(), lambda x: 3.0 * x) == (False, "you tripled it")
    passed, text = diagnose(make(), half_tripled)
    assert not passed and text.startswith("case x (3,): at [0] got ")


def test_differently_raising_mistakes_differ():
    def raises(kind, words="shapes"):
        def attempt(x):
            if x.ndim == 2:
                raise kind(words)
            return 3 * x

        return attempt

    exercise = make(mistakes={raises(ValueError): "you lost an axis"})
    assert diagnose(exercise, raises(ValueError)) == (False, "you lost an axis")
    assert diagnose(exercise, raises(KeyError))[1].startswith("case x (3,): at [0] got ")
    assert diagnose(exercise, raises(ValueError, "no C in it"))[1].startswith("case x (3,): at [0] got ")


def test_raising_and_answering_mistakes_differ():
    def raises(x):
        raise ValueError("shapes")

    def any_answer(result, expected, tol):
        return expected is None or bool(np.all(result == expected)), "another"

    exercise = make(mistakes={raises: "you lost an axis"}, compare=any_answer)
    assert diagnose(exercise, lambda x: 3 * x) == (False, "case x (3,): another")
    tripled = make(compare=any_answer)
    assert diagnose(tripled, raises)[1].startswith("case x (3,): it raises ValueError: shapes")


def test_a_mistake_may_return_nothing_sometimes():
    def only_vectors(x):
        return 2 * x if x.ndim == 1 else None

    exercise = make(mistakes={only_vectors: "you forgot matrices"})
    assert diagnose(exercise, only_vectors) == (False, "you forgot matrices")
    assert diagnose(exercise, lambda x: 3 * x)[1].startswith("case x (3,): at [0] got ")


def test_an_attempts_prints_and_warnings_are_hidden(capsys):
    def chatty(x):
        print("debug", x)
        print("more", file=sys.stderr)
        sys.stderr.write("most")
        np.log(np.zeros(1))
        return 2 * x

    assert diagnose(make(), chatty) == (True, "2 cases (what it printed is not shown)")
    assert diagnose(make(), lambda x: print(x) or 3 * x)[1] == "you tripled it (what it printed is not shown)"
    assert capsys.readouterr() == ("", "")


def test_exits_are_stopped_and_interrupts_go_through():
    def interrupted(x):
        raise KeyboardInterrupt

    assert diagnose(make(), lambda x: sys.exit(3))[1].startswith("case x (3,): it raises SystemExit: 3 (line ")
    with pytest.raises(KeyboardInterrupt) as error:
        diagnose(make(), interrupted)
    assert error.value._render_traceback_() == ["KeyboardInterrupt: double was interrupted"], "IPython shows this"


def helper_that_fails(x):
    raise KeyError("deep")


def test_an_error_points_at_the_learners_deepest_line():
    def attempt(x):
        return helper_that_fails(x)

    where = helper_that_fails.__code__.co_firstlineno + 1
    assert diagnose(make(), attempt)[1].endswith(f"it raises KeyError: 'deep' (line {where})")
    in_numpy = lambda x: np.linalg.inv(x[0])  # noqa: E731
    where = in_numpy.__code__.co_firstlineno
    assert diagnose(make(), in_numpy)[1].endswith(f"(line {where})")
    problem = "it raises LinAlgError: 1-dimensional array given. Array must be at least two-dimensional"
    assert diagnose(make(), np.linalg.inv)[1] == f"case x (3,): {problem}"


class Fragile:
    def __getattr__(self, name):
        raise OSError("do not touch")


def test_the_largest_difference_is_located():
    odd = make(cases=lambda rng: [case(np.zeros((2, 3)))])
    answer = np.array([[0, 1, 0], [0, -4, np.nan]])
    found = diagnose(odd, lambda x: answer)[1]
    assert found == (
        "case x (2, 3): at [0, 1] got 1.0, expected 0.0; 3 of 6 values wrong, 1 NaN, largest difference 4.0 at [1, 1]"
    )
    result, expected = np.array([[np.inf, 4, 2], [np.inf, 4.25, 2.5]])
    assert checker.matches(result, expected, 1e-6)[1].endswith("largest difference 0.5 at [2]")
    assert checker.matches(result + 1j, expected + 1j, 1e-6)[1].endswith("largest difference 0.5 at [2]")


def test_forbidden_tools_are_refused_under_any_name():
    exercise = all_exercises()["my_project"]
    for point in ("x - x.mean()", "x - np.mean(x)", "x - np.average(x)", "(lambda a: a - a.mean())(x)"):
        attempt = in_a_cell(f"def my_project(x):\n    p = {point}\n    return p, p * len(x)**0.5 / (p @ p)**0.5")
        found = diagnose(exercise, attempt["my_project"])
        assert found == (False, "you used a mean or a standard deviation; use dot products and lengths only")
    assert diagnose(exercise, exercise.reference)[0] is True


def test_class_mistakes_that_raise_differ_by_method():
    class Own(LAYER.reference):
        def forward(self, x):
            return self.one_call_deeper(x)

        def one_call_deeper(self, x):
            mean, var = self.running_mean, self.running_var
            if self.training:
                mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
                self.running_mean = 0.5 * self.running_mean + 0.5 * mean
                self.running_var = 0.5 * self.running_var + 0.5 * var
            self.by_batch, self.root = self.training, np.sqrt(var + self.eps)
            self.x_hat = (x - mean) / self.root
            return self.gamma.value * self.x_hat + self.beta.value

    _, text = diagnose(LAYER, Own)
    assert text.startswith("in training mode your mean and variance run along the features of a sample, axis=1"), text


def test_a_class_case_names_what_drives_it():
    text = diagnose(LAYER, layer_with(forward=lambda self, x: x - x.mean(axis=0), backward=lambda self, dy: dy))[1]
    assert text.startswith(
        "case batches of 5 [batches (3, 5, 3), dy (5, 3), x (2, 3), d_alone (2, 3), gamma (3,), beta"
    )


def test_an_answer_raising_at_every_touch_fails():
    passed, text = diagnose(make(), lambda x: Fragile())
    assert (passed, text) == (False, "case x (3,): the answer could not be compared (OSError: do not touch)")


def test_a_long_error_message_is_cut():
    def attempt(x):
        raise ValueError("long\n" * 500)

    assert len(diagnose(make(), attempt)[1]) < 200


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_an_endless_loop_is_stopped_without_traces(monkeypatch):
    def endless(x):
        while True:
            try:
                x = x + 1
            except Exception:
                pass

    monkeypatch.setattr(checker, "TIME_LIMIT", 0.05)
    before = signal.getsignal(signal.SIGVTALRM)
    said = "it was stopped after 0.05 seconds of computing; is there an endless loop?"
    assert diagnose(make(), endless) == (False, said)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_an_attempt_is_stopped_after_five_seconds():
    timers = []
    diagnose(make(), lambda x: timers.append(signal.getitimer(signal.ITIMER_VIRTUAL)) or 2 * x)
    left, again = timers[0]
    assert 0 < left < 5.02 and again == 1  # rounded up to the clock that counts it


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_a_timer_set_by_others_is_left_alone():
    timers = []
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
    try:
        diagnose(make(), lambda x: timers.append(signal.getitimer(signal.ITIMER_VIRTUAL)) or 2 * x)
        assert timers[0][0] > 900 and signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def test_an_attempt_can_be_checked_on_another_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(diagnose(make(), double)))
    thread.start()
    thread.join()
    assert results == [(True, "2 cases")]


def test_an_attempt_may_reuse_its_buffer():
    buffer = np.empty(3)

    def reuses(x):
        buffer[:] = 2 * x
        return buffer

    three = make(cases=lambda rng: [case(rng.standard_normal(3)) for _ in range(3)])
    assert diagnose(three, reuses) == (True, "3 cases")
    pairs = make(reference=lambda x: (x, 2 * x), cases=three.cases)
    assert diagnose(pairs, lambda x: (x, reuses(x))) == (True, "3 cases")


def test_changing_an_inputs_shape_counts_as_a_change():
    def flattens(x):
        y = 2 * x
        x.shape = (-1, 1)
        return y

    assert diagnose(make(), flattens)[1].startswith("it changes its input x in place")


@pytest.mark.parametrize("kind", [list, dict])
def test_lost_or_added_items_count_as_changes(kind):
    given = kind(enumerate([np.ones(2), np.zeros(3)])) if kind is dict else [np.ones(2), np.zeros(3)]
    exercise = make(reference=lambda parts: 2, cases=lambda rng: [case(given)])

    def pops(parts):
        parts.pop(1)
        return 2

    def replaces(parts):
        parts[0] = 2 * parts[0]
        return 2

    sentence = f"it changes its input parts in place, and the caller's {kind.__name__} with it; work on a copy"
    assert diagnose(exercise, pops) == diagnose(exercise, replaces) == (False, sentence)
    assert diagnose(exercise, len) == (True, "1 cases")


def test_arrays_of_objects_are_accepted():
    ragged = make(reference=len, cases=lambda rng: [case(np.array([[1, 2], [3]], dtype=object))])
    assert diagnose(ragged, lambda rows: sum(1 for row in rows)) == (True, "1 cases")


def test_settings_are_named_in_any_order():
    exercise = make(reference=lambda x, eps=0.1, mode="a", *, rows=1: x)
    c = case(np.ones(3), rows=2, mode="b", eps=0.5)
    assert checker._describe_case(exercise, c) == "case x (3,), eps=0.5, mode='b', rows=2"
    named = make(reference=lambda x, y, /: x)
    assert checker._describe_case(named, case(np.ones(3), np.ones(2))) == "case x (3,), y (2,)"


def test_unnamed_values_are_shown_alone():
    exercise = make(reference=lambda *values, eps: values)
    assert checker._describe_case(exercise, case(1, np.ones(2), eps=0.5)) == "case 1, (2,), 0.5"


def test_changed_inputs_are_named_in_any_order():
    exercise = make(
        reference=lambda x, gamma, beta: x * gamma + beta,
        cases=lambda rng: [case(rng.standard_normal(3), beta=np.ones(3), gamma=np.full(3, 2.0))],
    )

    def attempt(x, gamma, beta):
        gamma *= x
        gamma += beta
        return gamma

    assert diagnose(exercise, attempt)[1].startswith("it changes its input gamma in place")


@for_each(
    ("value", "text"),
    [
        ("a" * 18, f"'{'a' * 18}'"),
        ("a" * 19, f"'{'a' * 16}..."),
        (None, "None"),
        (True, "True"),
        (0.5, "0.5"),
        ([1, 2], "a list of length 2"),
        (np.ones((2, 1), np.int8), "int8 (2, 1)"),
    ],
)
def test_values_of_cases_are_short_or_described(value, text):
    assert checker._describe_case(make(reference=np.sign), case(value)).endswith(text)


def test_a_case_shows_label_shapes_dtypes_and_settings():
    def reference(x, groups, eps=0.1, mode="a", rows=None):
        return x

    exercise = make(reference=reference)
    c = case(np.ones((2, 3), np.float16), 2, eps=0.5, mode="b", rows=[1, 2])
    text = "x float16 (2, 3), groups=2, eps=0.5, mode='b'"
    assert checker._describe_case(exercise, c) == f"case {text}, rows=a list of length 2"
    assert checker._describe_case(exercise, replace(c, label="half")) == f"case half [{text}]", (
        "the label names the rest"
    )
    assert checker._describe_case(exercise, case([1, 2], 2, label="two")) == "case two [groups=2]"
    assert checker._describe_case(make(reference=np.sign), case([1, 2], label="two")) == "case two"


Pair = namedtuple("Pair", "mean var")


@for_each(
    ("result", "expected", "text"),
    [
        ((1.0, 2.0), Pair(1.0, 2.0), ""),
        ([1.0, np.full(3, 2.0)], (1.0, np.full(3, 2.0)), ""),
        ((1.0, 3.0), Pair(1.0, 2.0), "var: got 3.0, expected 2.0, difference 1.0"),
        ((1, 3), (1, 2), "item 1: got 3, expected 2, difference 1.0"),
        (False, True, "got False, expected True"),
        (np.array([True, False]), True, "got 2 values True or False, expected one; np.all reduces them to one"),
        ((1.0,), Pair(1.0, 2.0), "got a tuple of length 1, expected 2 values: mean, var"),
        (1.0, (1.0, 2.0), "got a float, expected 2 values"),
        (np.float32(1.5), 1.5, ""),
        ([1.5], 1.5, "value has shape (1,), expected ()"),
        ([[1, 2]], np.array([[1.0, 2.0]]), ""),
        (True, True, ""),
        (1, True, "value is int64, expected bool: True/False is not a number here"),
        ("up", "up", ""),
        ("down", "up", "got 'down', expected 'up'"),
        (3, "up", "got an int, expected 'up'"),
        ("d" * 38, "up", f"got '{'d' * 38}', expected 'up'"),
        ("d" * 39, "up", f"got '{'d' * 36}..., expected 'up'"),
        (1j, 1.0, "got complex numbers, expected real ones"),
        (np.complex64(1), 1.0, "got complex numbers, expected real ones"),
        (np.array([1j]), np.array([1.0]), "got complex numbers, expected real ones"),
        (1j, 1j, ""),
        (1.0, 1 + 0j, ""),
        ((1.0, 2.0), np.array([1.0, 2.0]), "got a tuple of length 2, expected only one value"),
        (namedtuple("Normalized", "y mean")(1.0, 9.0), 1.0, ""),
    ],
)
def test_results_of_every_kind_are_compared(result, expected, text):
    passed, why = checker.matches(result, expected, 1e-6)
    assert passed == (not text)
    assert passed or why == text


def test_agreeing_tuples_need_no_words():
    assert checker.matches((1.0, [2.0]), (1.0, np.array([2.0])), 1e-6) == (True, "")


def test_tuple_items_have_the_exercises_names():
    exercise = make(reference=lambda x: (x, 2 * x), results=("weight", "bias"))
    _, text = diagnose(exercise, lambda x: (x, np.ones((7, 7))))
    assert text == "case x (3,): bias: value has shape (7, 7), expected (3,)"


def test_too_few_names_of_items_are_not_used():
    exercise = make(reference=lambda x: (x, 2 * x), results=("weight",))
    passed, text = diagnose(exercise, lambda x: (x, np.ones((7, 7))))
    assert passed is False and "shape (7, 7)" in text and "IndexError" not in text


class Counter:
    """A reference that is a class: counts and sums what it is given."""

    def __init__(self, start=0):
        self.total = start
        self.count = 0

    def update(self, value):
        self.total += value
        self.count += 1


def drive(attempt, start, values):
    counter = attempt(start)
    for value in values:
        counter.update(value)
    return counter.total, counter.count


def counting(**changed):
    return make(
        solution=inspect.getsource(Counter),
        signature="class Counter: __init__(start), update(value)",
        cases=lambda rng: [case(0, (1, 2)), case(5, ())],
        run=drive,
        **({"mistakes": {}} | changed),
    )


def test_an_exercise_may_ask_for_a_class():
    class Forgetful(Counter):
        def update(self, value):
            self.total = value
            self.count += 1

    class Lost(Counter):
        def update(self, value):
            self.sum = value

    class Stub:
        def __init__(self, start=0):
            self.total = start

        def update(self, value): ...

    class Own(Counter):
        def update(self, value):
            super().update(value)

        def reset(self):
            pass

    mistake = {Forgetful: "you replaced the total"}
    assert diagnose(counting(), Counter) == (True, "2 cases")
    assert diagnose(counting(), Own) == (True, "2 cases")
    assert diagnose(counting(mistakes=mistake), Forgetful) == (False, "you replaced the total")
    assert diagnose(counting(mistakes=mistake), Lost)[1].endswith(": item 0: got 0, expected 3, difference 3.0")
    assert diagnose(counting(), Stub)[0] is None
    assert diagnose(counting(), double) == (
        False,
        "got a function, expected a class: class Counter: __init__(start), update(value)",
    )


LAYER = all_exercises()["my_batch_norm_layer"]


def layer_with(**methods):
    """The learner's class with some methods; the others are left as stubs."""
    stubs = {"forward": lambda self, x: ..., "backward": lambda self, dy: ...}
    return type("Own", (Layer,), {"__init__": LAYER.reference.__init__, **stubs, **methods})


def test_an_unfinished_class_names_its_missing_method():
    _, text = diagnose(LAYER, layer_with(forward=lambda self, x: x - x.mean(axis=0)))
    assert text is not None and "write forward and backward" in text
    _, text = diagnose(LAYER, layer_with(forward=lambda self, x: x - x.mean(axis=0), backward=lambda self, dy: None))
    assert text.endswith(": backward returns None; is it still to be written, or is its return missing?")


def test_a_class_may_use_layer_but_no_helper():
    own = type("Own", (BatchNorm,), {"forward": lambda self, x: 2 * x})
    assert diagnose(LAYER, own) == (False, "it is built on the helper BatchNorm; write the steps yourself")
    assert diagnose(LAYER, BatchNorm) == (False, "it is the helper itself; write the steps yourself")
    assert diagnose(LAYER, LAYER.reference)[0] is True


def test_a_parameter_taken_for_an_array_is_named():
    own = layer_with(forward=lambda self, x: self.gamma * x, backward=lambda self, dy: dy)
    sentence = "a Parameter is not an array; its numbers are in .value, as in self.gamma.value"
    assert diagnose(LAYER, own)[1].startswith(sentence)


def test_gradients_may_be_added_in_place():
    in_place = "gamma.add_gradient(np.sum(dy * self.x_hat, axis=0)) -> gamma.grad += np.sum(dy * self.x_hat, axis=0)"
    assert diagnose(LAYER, compiled(edited(LAYER.solution, in_place), LAYER.names))[0] is True


def test_run_may_call_an_answer_unsuitable():
    def run(attempt, x):
        y = attempt(x)
        if y is not ... and np.min(y) < -100:
            raise WrongKind("an answer below -100 cannot be")
        return y

    exercise = make(run=run)
    assert diagnose(exercise, lambda x: x - 1000) == (False, "case x (3,): an answer below -100 cannot be")
    assert diagnose(exercise, blank_pass)[0] is None


def test_an_exercise_may_bring_its_own_comparison():
    exercise = make(compare=lambda result, expected, tol: (abs(result).sum() > 0, "all zero"))
    assert diagnose(exercise, lambda x: x + 1)[0] is True
    assert diagnose(exercise, lambda x: 0 * x) == (False, "case x (3,): all zero")
    by_size = make(compare=lambda result, expected, tol: (np.allclose(abs(result), abs(expected)), "another size"))
    assert diagnose(by_size, lambda x: -3 * x) == (False, "you tripled it")


def test_answers_that_begin_otherwise_are_compared_no_further(monkeypatch):
    compared = []
    monkeypatch.setattr(checker, "matches", lambda result, *rest: (compared.append(result), "another"))
    diagnose(make(), lambda x: 5 * x)
    assert len(compared) == 1, "with the reference, not with the mistake"


def test_a_mistake_is_named_up_to_the_tolerance():
    zeroed = make(cases=lambda rng: [case(np.full(2, 4.0))], mistakes={"2 * x -> 0 * x": "you erased it"}, tol=0.5)
    assert diagnose(zeroed, lambda x: 0 * x + 0.5) == (False, "you erased it")


# ------------------------------------------------------------- mistakes that can be written in many ways

RAISED = [
    (lambda x: x ^ 2, "^ is not the power operator in Python; write **"),
    (lambda x: 2 ^ 0.5, "^ is not the power operator in Python; write **"),
    (lambda x: x.mean(dim=0), "dim= is PyTorch's word; NumPy says axis="),
    (lambda x: np.mean(x, dim=0), "dim= is PyTorch's word; NumPy says axis="),
    (lambda x: np.sum(x, -1, keepdim=True), "keepdim= is PyTorch's word; NumPy says keepdims="),
    (lambda x: x.mean(-1, True), "PyTorch takes keepdim as the second argument; in NumPy write keepdims=True"),
    (
        lambda x: x.var(unbiased=False),
        "unbiased= is PyTorch's word; NumPy says ddof=0 to divide by n, and ddof=1 to divide by n - 1",
    ),
    (lambda x: x.permute(0), "permute is PyTorch's word; NumPy says transpose"),
    (lambda x: x.view(-1), "view is PyTorch's word; NumPy says reshape"),
    (lambda x: x.view(1, -1), "view is PyTorch's word; NumPy says reshape"),
    (lambda x: x.numpy(), "numpy() is for tensors of other libraries; x is a NumPy array already"),
    (lambda x: x.sqrt(), "the method sqrt is PyTorch's; NumPy says np.sqrt(x)"),
    (lambda x: np.reduce_mean(x), "reduce_mean is TensorFlow's word; NumPy says mean"),
    (
        lambda x: x / x.size(0),
        "a number is called like a function; PyTorch's x.size(0) is x.shape[0] in NumPy, and a product needs *",
    ),
    (lambda x: x / x.shape(0), "shape is a tuple in NumPy; write x.shape[0]"),
    (lambda x: x.astype(float).rsqrt(), "rsqrt is a word of PyTorch and TensorFlow; in NumPy it is 1 / np.sqrt(...)"),
    (lambda x: torch.sqrt(x), "torch is PyTorch, but x is a NumPy array; use np and the methods of x"),  # noqa: F821
    (
        lambda x: tf.reduce_mean(x),  # noqa: F821
        "tf is TensorFlow, but x is a NumPy array; use np, for example np.mean for tf.reduce_mean",
    ),
    (lambda x: F.layer_norm(x, 3), "F is PyTorch's torch.nn.functional; write the steps with np"),  # noqa: F821
    (lambda x: jnp.mean(x), "jnp is JAX, but x is a NumPy array; write np"),  # noqa: F821
    (lambda x: numpy.mean(x), "NumPy is imported as np; write np"),  # noqa: F821
    (lambda x: dim * x, "dim is not defined; it is misspelled, or defined in an earlier cell that has not run yet"),  # noqa: F821
    (
        lambda x: x + np.ones(2),
        "arrays with shapes (3,) (2,) do not fit: shapes are compared from the last axis on, "
        "where two sizes must be equal, or one of them 1",
    ),
    (
        lambda x: x[:, None] @ x[:, None],
        "the shapes at your @ do not fit: the last axis of the left one must be as long as the first of the right one",
    ),
    (
        lambda x: (x.ndim > 5 and (y := x), y),
        "a variable has no value on this path; is it set only in one branch of an if?",
    ),
    (lambda x: x / (1 // (x.ndim - 1)), "you divide by 0; is a count still 0 when it divides?"),
    (lambda x: x if x > 0 else -x, "an array is used where one True or False is needed; np.all reduces it to one"),
    (
        lambda x: x[np.ones(2, bool)],
        "a mask selects along the first axes and needs their shape; np.moveaxis moves axes",
    ),
    (lambda x: np.array([x, x[:2]]), "arrays of different shapes do not fit into one array; go through them in a loop"),
    (lambda x: list(x)["gamma"], "a list has no names; its items are numbered from 0"),
    (
        lambda x: 2 * x * pymath.sqrt(x),
        "functions of math take one number; NumPy's functions, such as np.sqrt, take whole arrays",
    ),
]


@for_each(("attempt", "sentence"), RAISED, ids=range(len(RAISED)))
def test_a_word_of_another_library_is_translated(attempt, sentence):
    where = attempt.__code__.co_firstlineno
    assert diagnose(make(), attempt) == (False, f"{sentence} (line {where})")


@pytest.mark.parametrize("pattern", [p for p in checker._EXPLAINED if p != "{word}"])
def test_a_word_is_found_in_its_message(pattern):
    for words, sentence in checker._EXPLAINED[pattern].items():
        for word in words.split("|"):
            message = pattern.split("|")[0].replace("{word}", word)
            assert checker._translated(f"{message} (line 7)") == sentence.replace("{word}", word) + " (line 7)"
            other = checker._translated(message.replace(word, f"{word}s"))
            assert other is None or other.startswith(f"{word}s is not defined; ")


def test_every_explanation_is_short():
    for sentence in [s for words in checker._EXPLAINED.values() for s in words.values()]:
        assert len(sentence) < 130 and not sentence.endswith(".")


def test_an_error_about_other_words_stays_unchanged():
    for attempt in (lambda x: x.mean(dimension=0), lambda x: x.permuted(0)):
        assert diagnose(make(), attempt)[1].startswith("case x (3,): it raises ")


def as_one_pass(var):
    """Layer norm with the variance var(x) along the last axis."""

    def attempt(x, gamma, beta, eps=1e-5):
        mean = x.mean(axis=-1, keepdims=True)
        return gamma * (x - mean) / np.sqrt(var(x) + eps) + beta

    return attempt


@for_each(
    "var",
    [
        lambda x: (x * x).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2,
        lambda x: np.maximum((x**2).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2, 0),
        lambda x: np.abs((x**2).sum(-1, keepdims=True) / x.shape[-1] - (x.sum(-1, keepdims=True) / x.shape[-1]) ** 2),
        lambda x: ((x**2).sum(-1, keepdims=True) - x.sum(-1, keepdims=True) ** 2 / x.shape[-1]) / x.shape[-1],
        lambda x: np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1] - x.mean(-1, keepdims=True) ** 2,
    ],
)
def test_one_pass_variances_are_named_in_any_form(var):
    passed, text = diagnose(all_exercises()["my_layer_norm"], as_one_pass(var))
    assert passed is False and text.startswith("mean(x²) − mean(x)² subtracts two numbers that are almost equal")


def test_variance_exercises_have_a_large_mean_case():
    names = {e.name for e in EXERCISES if any(m.sentence.startswith("mean(x²) − mean(x)²") for m in e.mistakes)}
    assert names >= {
        "my_standardize",
        "my_layer_norm",
        "my_batch_norm_nchw",
        "my_batch_norm",
        "my_masked_batch_norm",
        "my_update_running_stats",
        "my_welford",
        "my_layer_norm_tuple_axes",
        "my_channel_layer_norm",
        "my_layer_norm_backward",
        "my_batch_norm_backward",
    }
    for name in names:
        (large,) = [c for c in cases_of(all_exercises()[name]) if c.label.startswith("large mean")]
        assert any(np.ndim(a) and np.max(a) >= 1e8 for a in large.args)


def test_any_wrong_answer_may_name_some_mistakes():
    def attempt(in_a_vector):
        return lambda x: 3 * x if x.ndim == 2 else in_a_vector(x)

    cases = lambda rng: [case(np.ones(3), label="vector"), case(np.ones((2, 2)))]  # noqa: E731
    exercise = make(cases=cases, mistakes={lambda x: 3 * x: Says("you tripled it", wrong_anyhow="vec")})
    assert diagnose(exercise, attempt(lambda x: 5 * x)) == (False, "you tripled it")
    assert diagnose(exercise, attempt(lambda x: x * np.nan)) == (False, "you tripled it")
    assert diagnose(exercise, attempt(lambda x: 2 * x))[1].startswith("case x (2, 2): ")
    assert diagnose(exercise, attempt(lambda x: x.none))[1].startswith("case vector [x (3,)]: it raises Attr")


# -------------------------------------------------------------------- the memory that Welford's method needs


def read_by(read):
    def attempt(values):
        kept = read(values)
        return float(np.mean(kept)), float(np.var(kept))

    return attempt


@for_each(
    "read",
    [
        list,
        tuple,
        lambda values: np.array(list(values)),
        lambda values: np.fromiter(values, float),
        lambda values: [value for value in values],
        lambda values: deque(values),
        lambda values: list(itertools.tee(values)[0]),
    ],
)
def test_welford_that_keeps_the_values_is_told(read):
    passed, text = diagnose(all_exercises()["my_welford"], read_by(read))
    assert passed is False and text.startswith("you keep all values, in a list or an array")


def test_two_welford_mistakes_are_told_in_turn():
    passed, text = diagnose(all_exercises()["my_welford"], lambda values: (len(list(values)), 0.0))
    assert passed is False and text.startswith("case five numbers: ")


def test_welfords_memory_is_measured_twice():
    """Another thread may use memory at the same moment."""
    exercise = all_exercises()["my_welford"]
    calls = []

    def attempt(values):
        calls.append(1)
        other = bytes(1_000_000) if len(calls) == len(cases_of(exercise)) else None
        return exercise.reference(values) + (() if other is None else ())

    assert diagnose(exercise, attempt)[0] is True
    assert len(calls) == len(cases_of(exercise)) + 1


def test_a_running_trace_of_memory_goes_on():
    tracemalloc.start()
    try:
        assert diagnose(all_exercises()["my_welford"], all_exercises()["my_welford"].reference)[0] is True
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    diagnose(all_exercises()["my_welford"], all_exercises()["my_welford"].reference)
    assert not tracemalloc.is_tracing()


# --------------------------------------------------------------- an attempt is the learner's own, in this cell


def in_a_cell(source, names=None, file="cell 1"):
    """Run source as a notebook cell of its own; returns the names it defined."""
    names = {"np": np, "helpers": helpers, "check_exercise": check_exercise} if names is None else names
    exec(compile(source, file, "exec"), names)
    return names


ATTEMPT = "def my_standardize(x):\n    return (x - x.mean()) / x.std()\n"
CHECK = "check_exercise('my_standardize', my_standardize)\n"


@pytest.fixture
def notebook(monkeypatch):
    """A shell whose cells share the names that in_a_cell gets."""
    names = {"np": np, "helpers": helpers, "check_exercise": check_exercise, "partial": functools.partial}
    shell = SimpleNamespace(user_global_ns=names, execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return names


OTHER_CELL = "FAIL - my_standardize: my_standardize comes from another cell; define it under this name in the cell "


def test_a_function_from_another_cell_is_told_so(capsys, notebook):
    in_a_cell(ATTEMPT, notebook)
    in_a_cell("def my_standardise(x): return x\n" + CHECK, notebook, "cell 2")
    assert line(capsys) == OTHER_CELL + "that checks it"
    notebook.update(diagnose=diagnose, exercise=all_exercises()["my_standardize"])
    in_a_cell("passed, text = diagnose(exercise, my_standardize)", notebook, "cell 2")
    assert (notebook["passed"], notebook["text"]) == (False, OTHER_CELL.partition(": ")[2] + "that checks it")


def test_a_method_from_another_cell_is_named(capsys, notebook):
    in_a_cell("class A:\n    def f(self, x): return (x - x.mean()) / x.std()\nmy_standardize = A().f", notebook)
    in_a_cell(CHECK, notebook, "cell 2")
    assert line(capsys) == OTHER_CELL + "that checks it"


def test_a_long_signature_is_cut():
    attempt = in_a_cell(f"def double({', '.join(f'argument_{k}' for k in range(20))}): pass; return 1")["double"]
    found = diagnose(make(), attempt)[1]
    assert found.startswith("it takes (argument_0, ") and found.endswith("..., expected the call double(x)")
    assert len(found.removeprefix("it takes ").removesuffix(", expected the call double(x)")) == 80


def test_assignment_tests_check_another_cells_work(capsys, notebook):
    in_a_cell(ATTEMPT, notebook)
    in_a_cell("check_exercise('my_standardize', my_standardize, graded=True)", notebook, "cell 2")
    assert line(capsys) == "PASS - my_standardize: 3 cases"


@for_each(
    "cell",
    [
        ATTEMPT + CHECK,
        "my_standardize = lambda x: (x - x.mean()) / x.std()\n" + CHECK,
        "my_standardize = partial(lambda y, x: (x - x.mean()) / x.std(), 1)\n" + CHECK,
        ATTEMPT + "for _ in range(1):\n    " + CHECK,
        ATTEMPT + "def check():\n    " + CHECK + "check()",
        ATTEMPT + "check()",
        "class A:\n    def f(self, x): return (x - x.mean()) / x.std()\nmy_standardize = A().f\n" + CHECK,
    ],
)
def test_a_function_of_its_own_cell_is_fresh(capsys, notebook, cell):
    in_a_cell("def my_standardize(x): return x\ndef check():\n    " + CHECK, notebook)
    in_a_cell(cell, notebook, "cell 2")
    assert line(capsys) == "PASS - my_standardize: 3 cases"


def test_an_untouched_stub_is_to_do_anywhere(capsys, notebook):
    in_a_cell("def my_standardize(x): ...", notebook)
    in_a_cell(CHECK, notebook, "cell 2")
    assert line(capsys).startswith("TODO - my_standardize: ")


def test_functions_outside_notebooks_are_never_stale(capsys, notebook):
    own = in_a_cell(ATTEMPT, {}, "module.py")["my_standardize"]
    in_a_cell(CHECK, notebook | {"my_standardize": own})  # other names than the shell's
    assert line(capsys) == "PASS - my_standardize: 3 cases"
    notebook["my_standardize"] = own
    in_a_cell(CHECK, notebook)
    assert line(capsys) == "PASS - my_standardize: 3 cases"


def test_without_ipython_there_are_no_cells_either(capsys, notebook, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    in_a_cell(ATTEMPT, notebook)
    in_a_cell(CHECK, notebook, "cell 2")
    assert line(capsys) == "PASS - my_standardize: 3 cases"


def test_an_attempt_importing_nothing_real_is_told():
    attempt = in_a_cell("def double(x):\n    import a_module_that_is_nowhere\n    return 2 * x")["double"]
    assert "No module named 'a_module_that_is_nowhere'" in diagnose(make(), attempt)[1]


def test_in_a_script_there_are_no_cells(capsys):
    names = in_a_cell(ATTEMPT)
    in_a_cell(CHECK, names, "other.py")
    assert line(capsys) == "PASS - my_standardize: 3 cases"


HELPER = """
from helpers import layer_norm
from helpers import norms
import helpers as h
def my_layer_norm(x, gamma, beta, eps=1e-5):
    {}
"""


@for_each(
    "body",
    [
        "return layer_norm(x, gamma, beta, eps=eps).y",
        "return norms.layer_norm(x, gamma, beta, eps=eps).y",
        "return h.norms.layer_norm(x, gamma, beta, eps=eps).y",
        "return h.layer_norm(x, gamma, beta, eps=eps).y",
        "from helpers import layer_norm as ln; return ln(x, gamma, beta, eps=eps).y",
        "import helpers.norms as own; return own.layer_norm(x, gamma, beta, eps=eps).y",
        "return (lambda x: layer_norm(x, gamma, beta, eps=eps).y)(x)",
        "return np.array([layer_norm(row, gamma, beta, eps=eps).y for row in x])",
        "h.check_true; return layer_norm(x, gamma, beta, eps=eps).y",
        "class A: f = staticmethod(layer_norm)\n    return A.f(x, gamma, beta, eps=eps).y",
    ],
)
def test_calling_the_helper_is_told(body):
    attempt = in_a_cell(HELPER.format(body))["my_layer_norm"]
    assert diagnose(all_exercises()["my_layer_norm"], attempt) == (
        False,
        "it calls the helper layer_norm; write the steps yourself",
    )


@pytest.mark.parametrize("attempt", [helpers.layer_norm, functools.partial(helpers.layer_norm, axis=-1)])
def test_a_helper_used_as_the_answer_is_named(attempt):
    assert diagnose(make(), attempt) == (False, "it is the helper layer_norm itself; write the steps yourself")


@for_each(
    "body",
    [
        "layer_norm = gamma; return layer_norm * x + beta",
        "check_close('x', x, x); return gamma * x + beta",
        "return own_layer_norm(x, gamma, beta)",
        "return Own().layer_norm(x, gamma, beta)",
        "'layer_norm'; return gamma * x + beta",
    ],
)
def test_own_names_and_checks_are_no_helpers(body):
    source = "from helpers import check_close\ndef own_layer_norm(x, g, b): return g * x + b\n"
    source += "class Own:\n    def layer_norm(self, x, g, b): return g * x + b\n" + HELPER.format(body)
    assert attempts.not_written_here(make(), in_a_cell(source)["my_layer_norm"], from_any_cell=False) is None


def test_a_helper_in_a_method_is_found():
    source = HELPER.format("...") + "class Own:\n    def update(self, x): return layer_norm(x).y\n"
    assert "helper layer_norm" in diagnose(counting(), in_a_cell(source)["Own"])[1]


def test_references_agree_with_helpers():
    same = {
        "my_layer_norm": lambda x, g, b, eps=1e-5: helpers.layer_norm(x, g, b, eps=eps).y,
        "my_batch_norm_nchw": lambda x, g, b, eps=1e-5: helpers.batch_norm(x, g, b, eps=eps).y,
        "my_weight_norm": lambda v, g: helpers.weight_norm(v, g, axis=0),
        "my_power_iteration": lambda w, u, n_iter: tuple(helpers.power_iteration(w, n_iter=n_iter, u=u)[:3]),
        "my_safe_rms_norm": lambda x, g, eps=1e-5: helpers.rms_norm(x, g, eps=eps, compute_dtype=np.float32).y,
        "my_layer_norm_backward": lambda dy, x, g, eps=1e-5: tuple(helpers.layer_norm_backward(dy, x, g, eps=eps)),
        "my_rms_norm_backward": lambda dy, x, g, eps=1e-5: tuple(helpers.rms_norm_backward(dy, x, g, eps=eps)),
        "my_batch_norm_backward": lambda dy, x, g, eps=1e-5: tuple(helpers.batch_norm_backward(dy, x, g, eps=eps)),
        "my_group_norm_backward": lambda dy, x, groups, g, eps=1e-5: tuple(
            helpers.group_norm_backward(dy, x, groups, g, eps=eps)
        ),
        "my_merge_variances": lambda a, b: tuple(precision.merge_variances(a, b)),
    }
    for name, helper in same.items():
        exercise = all_exercises()[name]
        for c in cases_of(exercise):
            got, expected = helper(*c.args, **c.kwargs), exercise.reference(*c.args, **c.kwargs)
            assert checker.matches(got, expected, exercise.tol)[0], (name, c.label)


# -------------------------------------------------------------------------- the references, worked by hand

SMALL = np.sqrt(3e-5)  # -SMALL and SMALL have variance 3e-5, with the usual eps 4e-5, and become -HALF and HALF
HALF = np.sqrt(3 / 4)
PAIR = np.array([[-SMALL], [SMALL]])
ONE, NONE = np.ones(1), np.zeros(1)
TALL = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


class Subtracts:
    """Takes off the mean of the real positions, in eval mode that of the last batch."""

    def __init__(self, channels):
        self.mean = 0.0

    def __call__(self, x, training=True, keep=None):
        self.mean = self.of(x, keep) if training else self.mean
        return x - self.mean

    def of(self, x, keep):
        return x[:, 0][keep].mean()


class SubtractsAll(Subtracts):
    def of(self, x, keep):
        return x.mean()


class Times:
    """Multiplies by one number forward and by another one backward."""

    def __init__(self, forward, back):
        self.forward, self.back = forward, back
        self.gamma = self.beta = np.ones(3)

    def __call__(self, x, training=True, keep=None):
        return self.forward * x

    def backward(self, dy):
        return self.back * dy


def three(channels):
    return Times(3, 3)


def four(channels):
    return Times(4, 4)


# name of the exercise -> calls and their answers. 1 and 3 have mean 2 and variance 1, 5 and 7 mean 6 and variance 1;
# eps=3 makes the root 2.
BY_HAND = {
    "my_standardize": [(case(np.array([2, 4, 4, 4, 5, 5, 7, 9])), [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2])],
    "my_statistic_axes": [(case("batch", 4), (0, 2, 3)), (case("instance", 3), (2,)), (case("layer", 2), (1,))],
    "my_layer_norm": [
        # mean 3, variance 3.5
        (case(*map(np.array, ([[1, 2, 3, 6]], [1, 2, 3, 4], [10, 20, 30, 40])), eps=0.5), [[9, 19, 30, 46]]),
        (case(PAIR.T, np.ones(2), np.zeros(2)), [[-HALF, HALF]]),
    ],
    "my_batch_norm_nchw": [
        (
            case(
                np.array([[[[1, 3]], [[5, 5]]], [[[3, 1]], [[7, 7]]]]), np.array([2, 10]), np.array([100, 200]), eps=3
            ),
            [[[[99, 101]], [[195, 195]]], [[[101, 99]], [[205, 205]]]],
        ),
        (case(PAIR[..., None, None], ONE, NONE), [[[[-HALF]]], [[[HALF]]]]),
    ],
    "my_batch_norm": [
        (
            case(np.array([[1, 5], [3, 7]]), np.array([2, 10]), np.array([100, 200]), 0, 0, True, eps=3),
            [[99, 195], [101, 205]],
        ),
        # stored means 0 and 1, variances 6 and 13: roots 3 and 4
        (
            case(np.array([[3, 5]]), np.array([2, 10]), np.array([1, 2]), [0, 1], np.array([6, 13]), False, eps=3),
            [[3, 12]],
        ),
        (case(PAIR, ONE, NONE, NONE, ONE, True), [[-HALF], [HALF]]),
        (case(PAIR, ONE, NONE, NONE, 3e-5 * ONE, False), [[-HALF], [HALF]]),
    ],
    "my_fold_batch_norm": [
        # gamma / sqrt(var + eps) is 1 for the first output and 2 for the second
        (
            case(np.array([[2, 3]]), *np.array([[1, 2], [3, 4], [4, 5], [5, 0], [8, 3]]), eps=1),
            ([[2, 6]], [0, 9]),
        ),
        (case(SMALL * np.ones((1, 1)), NONE, ONE, NONE, NONE, 3e-5 * ONE), ([[HALF]], [0])),
    ],
    "my_masked_batch_norm": [
        (
            case(
                np.array([[[1.0, 5.0], [9.0, 9.0]], [[3.0, 7.0], [8.0, 8.0]]]),
                np.array([[True, False], [True, False]]),
                eps=3,
            ),
            [[[-0.5, -0.5], [0, 0]], [[0.5, 0.5], [0, 0]]],
        ),
        (case(PAIR[None], np.array([[True, True]])), [[[-HALF], [HALF]]]),
    ],
    "my_update_running_stats": [
        # batch means 10 and 2, variances 2 and 8, divided by n - 1 = 1
        (
            case(np.array([1, 0]), np.array([1, 1]), np.array([[9, 0], [11, 4]]), momentum=0.5),
            ([5.5, 1], [1.5, 4.5]),
        ),
        (case(NONE, ONE, np.array([[9], [11]])), ([1], [1.1])),
    ],
    "my_torch_momentum_from_keras": [(case(0.99), 0.01)],
    "my_batch_norm_eval": [
        (
            case(np.array([[[[1, 3]], [[5, 9]]]]), *np.array([[2, 10], [100, 200], [1, 1], [1, 13]]), eps=3),
            [[[[100, 102]], [[210, 220]]]],
        ),
        (case(SMALL * np.ones((1, 1, 1, 1)), ONE, NONE, NONE, 3e-5 * ONE), [[[[HALF]]]]),
    ],
    "my_safe_rms_norm": [
        # mean square 25, with eps 36
        (case(np.float32([[[1, 7]]]), np.float32([6, 12]), eps=11), [[[1, 14]]]),
        (case(np.float16([[300, -300]]), np.float16([1, 2])), [[1, -2]]),
        (case(np.float32([SMALL]), np.float32([1])), [HALF]),
    ],
    "my_welford": [
        (case([1, 2, 3, 6]), (3, 3.5)),
        (case([1e9, 1e9 + 2]), (1e9 + 1, 1)),
        (case([1e-20, 3e-20]), (2e-20, 1e-40)),
    ],
    "my_merge_variances": [(case((2, 2.0, 2.0), (3, 7.0, 8.0)), (5, 5, 40))],  # of 1, 3 and of 5, 7, 9
    # the mean of the real positions 1 and 3 is 2, that of all four is not
    "my_padding_test": [
        (case(Subtracts, np.array([[[1.0, 3, 9, 9]]]), np.array([[True, True, False, False]])), True),
        (case(SubtractsAll, np.array([[[1.0, 3, 9, 9]]]), np.array([[True, True, False, False]])), False),
    ],
    "my_gradient_test": [
        (case(Times(3, 3), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), True),
        (case(Times(3, 2), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), False),
    ],
    "my_battery": [
        (case((GALLERY.Candidate(three, True, ""), GALLERY.Candidate(four, False, "")), three), True),
        (case((GALLERY.Candidate(three, False, ""),), four), True),
    ],
    "my_weight_norm": [(case(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([10.0, 3.0])), [[6, 8], [0, 3]])],
    "my_power_iteration": [
        # W^T u is (2, 1); W v is (4, 1, 0) / sqrt(5)
        (
            case(TALL, np.array([1.0, 1.0, 5.0]), 1),
            (np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17), np.array([2, 1]) / np.sqrt(5)),
        ),
        (
            case(TALL, np.array([1.0, 1.0, 5.0]), 2),
            (np.sqrt(257 / 65), np.array([16, 1, 0]) / np.sqrt(257), np.array([8, 1]) / np.sqrt(65)),
        ),
    ],
    "my_spectral_norm": [
        (
            case(TALL[None], np.array([1.0, 1.0, 5.0])),
            (TALL / np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17)),
        ),
    ],
    "my_layer_norm_tuple_axes": [
        # mean 3, variance 3.5 over both axes
        (
            case(
                np.array([[[1, 2], [3, 6]]]),
                (1, 2),
                np.array([[1, 2], [3, 4]]),
                np.array([[10, 20], [30, 40]]),
                eps=0.5,
            ),
            [[[9, 19], [30, 46]]],
        ),
    ],
    "my_channel_layer_norm": [
        (
            case(np.array([[[[1, 5]], [[3, 5]]]]), np.array([2, 10]), np.array([100, 200]), eps=3),
            [[[[99, 100]], [[205, 200]]]],
        ),
    ],
    "my_project": [
        (case(np.array([1.0, 3.0])), ([-1, 1], [-1, 1])),
        (case(np.array([6.0, 6, 0])), ([2, 2, -4], [0.5**0.5, 0.5**0.5, -(2**0.5)])),
    ],
    "my_rms_norm": [(case(np.array([[1.0, 7]]), np.array([1, 2]), eps=0), [[0.2, 2.8]])],
    "my_rms_norm_llama_order": [
        (case(np.array([[3, 3]], np.float16), np.array([1, 2], np.float16), eps=27), [[0.5, 1.0]]),
    ],
    "my_fold_gamma": [
        (case(np.array([2, 3]), np.array([[1, 10], [100, 1000]]), np.array([5, 6])), ([[2, 20], [300, 3000]], [5, 6])),
    ],
    "my_group_norm": [
        # two groups of two channels with one pixel: 1 and 3 become -0.5 and 0.5, 5 and 7 too
        (
            case(np.array([1, 3, 5, 7]).reshape(1, 4, 1, 1), 2, *np.array([[2, 4, 6, 8], [10, 20, 30, 40]]), eps=3),
            np.reshape([9, 22, 27, 44], (1, 4, 1, 1)),
        ),
        # two channels of two pixels in one group: mean 3, variance 3.5
        (
            case(np.array([[[[1, 2]], [[3, 6]]]]), 1, np.array([1, 2]), np.array([10, 20]), eps=0.5),
            [[[[9, 9.5]], [[20, 23]]]],
        ),
        (case(PAIR.reshape(1, 1, 1, 2), 1, ONE, NONE), [[[[-HALF, HALF]]]]),
    ],
    "my_adain": [
        # content: mean 2, root of 1 + 3; style: mean 10, root of 1 + 3 and mean 8, root of 13 + 3
        (
            case(
                np.array([[[1, 3]], [[1, 3]]]), np.array([[[9], [11]], [[8 - np.sqrt(13)], [8 + np.sqrt(13)]]]), eps=3
            ),
            [[[9, 11]], [[6, 10]]],
        ),
        # sqrt(5) times PAIR has variance 15e-5, with the usual eps 16e-5
        (
            case(PAIR.reshape(1, 1, 2), 1 + np.sqrt(5) * PAIR[None]),
            [[[1 - np.sqrt(16e-5) * HALF, 1 + np.sqrt(16e-5) * HALF]]],
        ),
    ],
    "my_weight_standardize": [
        (case(np.array([[1, 3], [5, 7]]), np.array([2, 10]), eps=3), [[-1, 1], [-5, 5]]),
        (case(np.array([[[[1, 2]], [[3, 6]]]]), np.array([4]), eps=0.5), [[[[-4, -2]], [[0, 6]]]]),
        (case(PAIR.T, ONE), [[-HALF, HALF]]),
    ],
    # x̂ is -1/2 and 1/2, g is 4 and 2: mean(g) = 3, mean(g · x̂) = -1/2
    "my_layer_norm_backward": [
        (
            case(np.array([[2.0, 2]]), np.array([[1.0, 3]]), np.array([2.0, 1]), eps=3),
            ([[0.375, -0.375]], [-1, 1], [2, 2]),
        ),
        # with the usual eps x̂ is -HALF and HALF: mean(g) = 1/2, mean(g · x̂) = HALF/2, and 1/2 - 3/8 = 1/8 is left
        (
            case(np.array([[0.0, 1]]), PAIR.T, np.ones(2)),
            ([[-0.125 / np.sqrt(4e-5), 0.125 / np.sqrt(4e-5)]], [0, HALF], [0, 1]),
        ),
    ],
    # The packet holds 1 and 3: mean 2, variance 1, root 2; then 0 and 2 with mean 1, variance 1. A quarter of that is
    # stored: means 0.5 and 0.25, variances 1. The image: (3 - 0.5)/2 · 2 · 2 = 5, then (5 - 0.25)/2 · 8.
    "my_mended_network": [
        (
            case(
                np.array([[3.0]]),
                np.array([[[1.0], [3], [0]]]),
                np.array([[True, True, False]]),
                [[np.ones((1, 1))] * 3, [np.array([[2.0]]), np.array([[2.0]]), np.array([[8.0]])]],
                momentum=0.75,
                eps=3,
            ),
            [[19]],
        ),
    ],
    # root 5, x̂ = 0.6 and 0.8, g = 1 and 0
    "my_rms_norm_backward": [
        (
            case(np.array([[0.5, 0]]), np.array([[3.0, 4]]), np.array([2.0, 1]), eps=12.5),
            ([[0.164, -0.048]], [0.3, 0]),
        ),
        # without squares in the way: g over the root of the usual eps
        (case(np.array([[1.0, 2]]), np.zeros((1, 2)), np.ones(2)), ([[1e5**0.5, 2 * 1e5**0.5]], [0, 0])),
    ],
    "my_group_norm_backward": [
        (
            case(
                np.array([[[[1.0, 0]], [[1, 0]]]]), np.array([[[[-1.0, 1]], [[-1, 1]]]]), 1, np.array([1.0, 2]), eps=0
            ),
            ([[[[-0.5, 0]], [[0.5, 0]]]], [-1, -1], [1, 1]),
        ),
    ],
    "my_batch_norm_backward": [
        (
            case(np.array([[4.0], [2]]), np.array([[1.0], [3]]), np.array([10.0]), eps=3),
            ([[3.75], [-3.75]], [-1], [6]),
        ),
        (
            case(np.array([[0.0], [1]]), PAIR, ONE),
            ([[-0.125 / np.sqrt(4e-5)], [0.125 / np.sqrt(4e-5)]], [HALF], [1]),
        ),
    ],
    "my_port_batch_norm": [
        (
            case([np.array([2.0]), np.array([3.0]), np.array([4.0]), np.array([5.0])], momentum=0.75, epsilon=0.5),
            ([2], [3], [4], [5], 0.25, 0.5),
        ),
        (
            case([np.array([4.0, 6.0]), np.array([5.0, 7.0])], center=False, scale=False),
            ([1, 1], [0, 0], [4, 6], [5, 7], 0.01, 1e-3),
        ),
    ],
    "my_channels_last_layer_norm": [
        # the two channels of each place: mean 2 and variance 1, then mean 5 and variance 1
        (
            case(np.array([[[1, 6], [3, 4]]]), np.array([2, 10]), np.array([100, 200]), "NCL", eps=3),
            [[[99, 101], [205, 195]]],
        ),
        (case(np.array([[1, 3]]), np.array([2, 10]), np.array([100, 200]), "NC", eps=3), [[99, 205]]),
    ],
    "my_port_flattened_dense": [
        # inputs of Keras: pixel 1 channels a b, pixel 2 channels a b; of PyTorch: channel a pixels 1 2, channel b
        (case(np.array([[1], [2], [3], [4]]), 2, 1, 2), [[1, 3, 2, 4]]),
        (case(np.array([[1, 5], [2, 6]]), 2, 1, 1), [[1, 2], [5, 6]]),
    ],
    # two of three units are 0 for both samples; then one of two is above 0 for both, then both are
    "my_diagnosis": [
        (case([np.array([[0, 0, 1], [0, 0, 2]])]), (1, "dead")),
        (case([np.array([[1, 0], [2, 3]])]), (0, "healthy")),
        (case([np.array([[1, 0], [0, 1]]), np.array([[1, 2], [2, 3]])]), (2, "always on")),
        # root mean squares 1, 10 and 101
        (case([size * np.array([[2, 0], [0, 0]]) for size in (1, 10, 101)]), (3, "exploding")),
    ],
    "my_cause": [
        (case(lambda parts: parts["a"] + parts["b"], {"a": 0.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "b"),
        (case(lambda parts: parts["a"] + parts["b"], {"a": 2.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "none"),
    ],
    "my_invariances": [
        (case(lambda x: x - x.mean(axis=1, keepdims=True), np.array([[1.0, 3], [5, 9]])), (False, True, False, True)),
        (case(lambda x: x / np.abs(x).max(), np.array([[1.0, 3], [5, 9]])), (True, False, False, False)),
    ],
    "my_batch_norm_layer": [
        # One batch: mean 3, variance 3.5, divisor 2. The running variance becomes 3.5 as well, so the divisor stays.
        (
            case(
                np.array([[[1.0], [2], [3], [6]]]),
                np.array([[1.0], [0], [0], [0]]),
                np.array([[4 + 22.5 / 11]]),
                np.array([[3.0]]),
                np.array([2.0]),
                np.array([1.0]),
                momentum=7.5 / 11,
                eps=0.5,
            ),
            (
                [[-1], [0], [1], [4]],
                [[0.5], [-0.375], [-0.25], [0.125]],
                [-1],
                [1],
                [-2],
                [2],
                [22.5 / 11],
                [3.5],
                [[5]],
                [[3]],
                [22.5 / 11],
                [3.5],
                [[3]],
                [[-1], [0], [1], [4]],
            ),
        )
    ],
    # the loss is the mean of (x w - 1)², at w = 0
    "my_gradient_accumulation": [
        (case(lambda x, t: -2 * x.T @ t / len(x), np.array([[1.0], [2], [3]]), np.ones(3), 2), [-4])
    ],
    "my_unscaled_step": [
        (case(np.float32([1, 2]), np.float16([8, -4]), 4.0, 0.5), ([0, 2.5], 4)),
        (case(np.float32([1, 2]), np.float16([np.inf, -4]), 4.0, 0.5), ([1, 2], 2)),
    ],
    "my_scaled_branch_backward": [
        (
            case(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]), np.array([10, 0])),
            ([[1, 2], [3, 4]], [[10, 0], [30, 0]], [26, 44]),
        ),
    ],
    # means 2 and 2, standard deviations 1 and 2; afterwards all is 0
    "my_shift": [(case(np.array([[1, 0], [3, 4]]), np.zeros((2, 2))), [2, 1])],
    # g = (6, 8) is 10 long; at reach r the gradient is (1 - 2r) g, so it has moved by 2r times the length of g
    "my_gradient_change": [(case(lambda w: 2 * w, np.array([3.0, 4.0]), [0.5, 1.0]), 2)],
    # norm_1 gives 0 and 2, attention 0 and 20: the stream is 1 and 23; norm_2 gives 2 and 24, the MLP 4 and 48
    "my_pre_norm_block": [
        (
            case(np.array([[1.0, 3]]), lambda x: 10 * x, lambda x: 2 * x, lambda x: x - 1, lambda x: x + 1),
            [[5, 71]],
        ),
    ],
    # 16 and 81 sums: 64 and 324 are 4 · 2⁴ and 4 · 3⁴, and the fourth root of 4 is √2
    "my_deepnorm_constants": [
        (case(8), (2, 0.5**1.5)),
        (case(27, 3), (3, 0.5**0.5 / 3)),
    ],
    "my_qk_norm_attention": [
        # root 2: queries 1/2, keys 1/2 and -1/2, scores of the second token 1/4 and -1/4
        (
            case(np.ones((2, 1)), np.array([[1.0], [-1]]), np.array([[0.0], [1]]), eps=3),
            [[0], [1 / (1 + np.exp(0.5))]],
        ),
        # with the usual eps these are normalized to the root of 1/2: scores 1/2 and -1/2
        (
            case(1e-3 * np.ones((2, 1)), 1e-3 * np.array([[1.0], [-1]]), np.array([[0.0], [1]])),
            [[0], [1 / (1 + np.exp(1))]],
        ),
    ],
}


@every
def test_the_reference_gives_what_is_worked_by_hand(exercise):
    if exercise.name not in BY_HAND:
        pytest.fail("work a case of this exercise by hand and enter it in BY_HAND of tests/helpers/test_exercises.py")
    run = exercise.run or (lambda function, *args, **kwargs: function(*args, **kwargs))
    for c, expected in BY_HAND[exercise.name]:
        got = run(exercise.reference, *c.args, **c.kwargs)
        got, expected = (value if isinstance(value, tuple) else (value,) for value in (got, expected))
        for item, wanted in zip(got, expected, strict=True):
            if isinstance(wanted, str):
                assert item == wanted
            else:
                np.testing.assert_allclose(item, wanted, rtol=1e-6)
            assert np.shape(item) == np.shape(wanted)
