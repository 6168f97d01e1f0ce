"""What single exercises judge in a way of their own: another `run`, `compare` or code that is handed over."""

import itertools
import re
from collections import deque
from importlib import import_module

import numpy as np
import pytest

from helpers.exercises import all_exercises, checker
from helpers.exercises.checker import diagnose
from helpers.exercises.edits import compiled, edited
from helpers.layers import BatchNorm, Layer

# A folder whose name begins with a digit cannot stand in an import statement.
GALLERY = import_module("helpers.lessons.12_bug_gallery.exercises")
PRACTICE = import_module("helpers.lessons.16_practice.exercises")
FRESH, EXACT = "a vector of your own", "comes from a full SVD"


def judged_axes(instead):
    """What is said of a solution that answers `instead` for layer norm of a table."""
    exercise = all_exercises()["my_statistic_axes"]
    return diagnose(exercise, lambda *call: instead if call == ("layer", 2) else exercise.reference(*call))


def test_statistic_axes_accepts_other_forms_of_answers():
    for same in ((1,), [1], (-1,), {1}, range(1, 2), np.array([1]), 1, np.int64(-1)):
        assert judged_axes(same) == (True, "9 cases")


def test_statistic_axes_says_what_is_wrong():
    said = {(0,): "got (0,), expected (1,)", (2,): "axis 2 does not exist in a tensor with 2 axes"}
    said |= {(-3,): "axis -3 does not exist in a tensor with 2 axes", (1, -1): "got (1, 1), expected (1,)"}
    said |= dict.fromkeys([(1.0,), (True,), "1", ((1,),)], "the answer is not a tuple of whole numbers, the axes")
    for answer, text in said.items():
        passed, line = judged_axes(answer)
        assert passed is False and text in line


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


BATTERY, TO_MEND, LAYER = (all_exercises()[n] for n in ("my_battery", "my_mended_network", "my_batch_norm_layer"))


def test_a_battery_that_errs_once_is_told_the_input():
    layers = [*GALLERY.RIGHT, *GALLERY.SEEN, *GALLERY.UNSEEN]
    right = {layer.make: layer.right for layer in layers}
    for one in layers:
        passed, text = diagnose(BATTERY, lambda layer, trusted, one=one: right[layer] is not (layer is one.make))
        padding = "you compare the outputs at padded positions too"
        assert passed is False
        assert re.search(rf"1 of (5 correct layers|(11|20) slip through)\. One {re.escape(one.words)}|^{padding}", text)
        assert one.right or re.search("; (try|call|look) ", one.words)


@pytest.mark.parametrize("answer", [1.0, "yes", np.ones(2)], ids=repr)
def test_a_battery_is_told_its_two_answers(answer):
    passed, text = diagnose(BATTERY, lambda layer, trusted: answer)
    assert passed is False and "expected True to accept a layer or False to reject it" in text


def test_a_battery_must_make_the_trusted_layer():
    passed, text = diagnose(BATTERY, lambda layer, trusted: bool(np.isfinite(layer(3)(np.zeros((4, 3, 2)))).all()))
    assert passed is False and "it never makes the trusted layer" in text


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("my_gradient_test", "np.abs(layer.backward(dy) - slopes) -> (layer.backward(dy) - slopes)"),
        ("my_cause", "in faulty: -> in sorted(faulty, key=lambda name: symptom({**faulty, name: healthy[name]})):"),
        ("my_invariances", "np.max(np.abs( -> np.allclose(\n - norm(x)[0])) < 1e-3 -> , norm(x)[0])"),
    ],
)
def test_what_only_one_case_rejects_is_rejected(monkeypatch, name, edit):
    monkeypatch.setattr(checker, "SLIPS_TIME_LIMIT", -1)  # what it is called does not matter
    exercise = all_exercises()[name]
    assert diagnose(exercise, compiled(edited(exercise.solution, edit), exercise.names))[0] is False


def with_faults(*edits):
    """The network of lesson 16 with some of its faults put in again."""
    return compiled(edited(TO_MEND.solution, "\n".join(edits)), {})


def test_remaining_faults_are_counted_and_not_named():
    assert diagnose(TO_MEND, TO_MEND.as_given) == (None, "nothing is fixed yet; 4 of 4 bugs are left")
    for left in range(1, 4):
        for chosen in itertools.combinations(PRACTICE.FAULTS.values(), left):
            wanted = False, f"{left} of 4 bugs {'is' if left == 1 else 'are'} left"
            assert diagnose(TO_MEND, with_faults(*chosen)) == wanted


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
    assert diagnose(LAYER, len)[1].endswith(f"expected the class itself: {LAYER.signature}")


def test_a_one_pass_variance_is_named_in_any_form(monkeypatch):
    monkeypatch.setattr(checker, "SLIPS_TIME_LIMIT", 0.2)  # it is none

    def attempt(x, gamma, beta, eps=1e-5):
        mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
        var = np.abs(np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1] - mean**2)
        return gamma * (x - mean) / np.sqrt(var + eps) + beta

    passed, text = diagnose(all_exercises()["my_layer_norm"], attempt)
    assert passed is False and text.startswith("mean(x²) − mean(x)² subtracts two numbers that are almost equal")


@pytest.mark.parametrize("read", [list, deque, lambda values: np.fromiter(values, float)])
def test_welford_that_keeps_the_values_is_told(read):
    def attempt(values):
        kept = read(values)
        return float(np.mean(kept)), float(np.var(kept))

    passed, text = diagnose(all_exercises()["my_welford"], attempt)
    assert passed is False and text.endswith("it needs more memory for a longer stream, so it keeps the values")
