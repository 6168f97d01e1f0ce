"""What single exercises judge in a way of their own: another `run`, `compare` or code that is handed over."""

import itertools
import re
from collections import deque
from importlib import import_module

import numpy as np
import pytest

import helpers
from helpers import precision
from helpers.exercises import all_exercises, checker
from helpers.exercises.checker import diagnose
from helpers.exercises.edits import compiled, edited
from helpers.layers import BatchNorm, Layer

# A folder whose name begins with a digit cannot stand in an import statement.
GALLERY = import_module("helpers.lessons.12_bug_gallery.exercises")
PRACTICE = import_module("helpers.lessons.15_practice.exercises")
FRESH, EXACT = "a vector of your own", "comes from a full SVD"


def axes_but(instead):
    reference = all_exercises()["my_statistic_axes"].reference
    return lambda norm, ndim: instead if (norm, ndim) == ("layer", 2) else reference(norm, ndim)


@pytest.mark.parametrize("same", [(1,), [1], (-1,), {1}, range(1, 2), np.array([1]), 1, np.int64(-1)])
def test_statistic_axes_accepts_other_forms_of_answers(same):
    assert diagnose(all_exercises()["my_statistic_axes"], axes_but(same)) == (True, "9 cases")


@pytest.mark.parametrize(
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
def test_statistic_axes_says_what_is_wrong(answer, text):
    passed, said = diagnose(all_exercises()["my_statistic_axes"], axes_but(answer))
    assert passed is False and text in said


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (lambda w: np.random.default_rng(7).standard_normal(len(w)), FRESH),
        (lambda w: np.random.default_rng().standard_normal(len(w)), FRESH),
        (lambda w: np.linalg.svd(w)[0][:, 0], EXACT),
    ],
    ids=["own seed", "no seed", "svd"],
)
def test_an_iteration_not_from_u_is_told(own, sentence):
    for name in ("my_power_iteration", "my_spectral_norm"):
        exercise = all_exercises()[name]
        passed, text = diagnose(exercise, lambda w, u, *n, f=exercise.reference: f(w, own(w), *n))
        assert passed is False and sentence in text, text


def test_spectral_norm_training_hands_u_on():
    exercise = all_exercises()["my_spectral_norm"]
    for c in exercise.cases(np.random.default_rng(0)):
        w, u = c.args
        got, new = exercise.run(exercise.reference, w, u)
        for matrix in w:
            expected, u = exercise.reference(matrix, u)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(new, u)


GROUPS = {"SEEN": GALLERY.SEEN, "UNSEEN": GALLERY.UNSEEN}


BATTERY = all_exercises()["my_battery"]


def judge(name, attempt):
    passed, text = diagnose(all_exercises()[name], attempt)

    return passed, text


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("training", [True, False])
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


@pytest.mark.parametrize("right", GALLERY.RIGHT)
def test_rejecting_a_right_layer_is_told_the_difference(verdicts, right):
    passed, text = judge("my_battery", lambda layer, trusted: layer is not right.make and verdicts[layer])
    by_padding = right.make is GALLERY._Folded and text.startswith("you compare the outputs at padded positions too")
    rejected = f"it rejects 1 of {len(GALLERY.RIGHT)} correct layers. One {right.words}"
    assert passed is False and (by_padding or rejected in text)


@pytest.mark.parametrize("answer", [1.0, "yes", np.ones(2), [True], np.float64(1)], ids=repr)
def test_a_battery_is_told_its_two_answers(answer):
    passed, text = judge("my_battery", lambda layer, trusted: answer)
    assert passed is False and "expected True to accept a layer or False to reject it" in text


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


@pytest.mark.parametrize("fault", PRACTICE.FAULTS)
def test_a_fault_shows_only_in_its_own_cases(fault):
    attempt = with_edits(PRACTICE.FAULTS[fault])
    wrong = {
        c.label.partition(",")[0]
        for c in TO_MEND.cases(np.random.default_rng(0))
        if not checker._judge(TO_MEND, checker._outcome(TO_MEND, attempt, c), TO_MEND.reference(*c.args))[0]
    }
    assert len(wrong) == 1


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


def as_one_pass(var):
    """Layer norm with the variance var(x) along the last axis."""

    def attempt(x, gamma, beta, eps=1e-5):
        mean = x.mean(axis=-1, keepdims=True)
        return gamma * (x - mean) / np.sqrt(var(x) + eps) + beta

    return attempt


@pytest.mark.parametrize(
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


def read_by(read):
    def attempt(values):
        kept = read(values)
        return float(np.mean(kept)), float(np.var(kept))

    return attempt


@pytest.mark.parametrize(
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
        for c in exercise.cases(np.random.default_rng(0)):
            got, expected = helper(*c.args, **c.kwargs), exercise.reference(*c.args, **c.kwargs)
            assert checker.matches(got, expected, exercise.tol)[0], (name, c.label)
