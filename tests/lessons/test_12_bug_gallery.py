"""The battery of lesson 12 judges batch norms that the lesson does not know: correct ones pass, wrong ones do not."""

import contextlib
import io
from functools import cache

import numpy as np

from helpers import batch_norm_backward
from helpers.exercises.checker import all_exercises
from tests.lessons.batch_norms import CORRECT, WRONG
from tests.shared import ROOT, for_each, read

LESSON = ROOT / "notebooks" / "12_bug_gallery.ipynb"
SKIPPED = {"picture", "exercise"}
# They need a batch that the lesson's tests do not take; its last exercise does.
SEEN_BY_THE_EXERCISE_ONLY = {"FirstThousandRows", "HidesNaN", "ClipsOutliers", "StoresEps"}


@cache
def lesson():
    """The names that the lesson's code defines; pictures, questions and what the learner writes are left out."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in read(LESSON).cells:
            left_out = SKIPPED & set(cell.metadata.get("tags", [])) or cell.source.startswith(("Quiz(", "summary("))
            if cell.cell_type == "code" and not left_out:
                exec(cell.source, names)
    return names


def caught_by(layer):
    """The names of the lesson's tests that catch a layer."""
    with np.errstate(all="ignore"):
        return [name for name, test in lesson()["tests"].items() if lesson()["error"](test, layer) > 1e-3]


def accepts(battery, layer, trusted):
    with np.errstate(all="ignore"):
        return battery(layer, trusted)


BATTERIES = {
    "the solution": lambda *layers: lesson()["my_battery"](*layers),
    "the reference of the checker": lambda *layers: all_exercises()["my_battery"].reference(*layers),
}
every_battery = for_each("battery", BATTERIES.values(), ids=BATTERIES)


@for_each("layer", CORRECT)
def test_a_correct_layer_passes_all_tests(layer):
    assert caught_by(layer) == []


@every_battery
@for_each("layer", CORRECT)
def test_a_correct_layer_is_accepted(layer, battery):
    assert accepts(battery, layer, lesson()["BatchNorm"])


@every_battery
@for_each("layer", WRONG)
def test_a_wrong_layer_is_rejected(layer, battery):
    assert not accepts(battery, layer, lesson()["BatchNorm"])


def test_lesson_tests_name_most_wrong_layers():
    missed = {layer.__name__ for layer in WRONG if not caught_by(layer)}
    assert len(WRONG) >= 22 and missed == SEEN_BY_THE_EXERCISE_ONLY and len(missed) <= len(WRONG) / 4


@every_battery
@for_each("name", ["BatchNorm", "Another", "Float32"])
def test_layers_of_the_lesson_are_accepted(name, battery):
    assert accepts(battery, lesson()[name], lesson()["BatchNorm"])
    assert accepts(battery, lesson()[name], CORRECT[0])


def test_the_trusted_layer_has_eval_and_float16_gradients():
    layer = lesson()["BatchNorm"](4)
    x = np.random.default_rng(0).normal(size=(8, 4, 4))
    layer(x, training=False)
    np.testing.assert_allclose(layer.backward(np.ones(x.shape)), 1, atol=1e-4)
    half = (300 * x).astype(np.float16)
    layer(half)
    dy = np.random.default_rng(1).normal(size=x.shape)
    dx = layer.backward(dy)
    wanted = batch_norm_backward(dy, half.astype(np.float64)).dx
    assert dx.dtype == np.float16
    np.testing.assert_allclose(dx, wanted, atol=1e-3 * np.abs(wanted).max())


def test_the_gradient_test_judges_small_gradients():
    """On numbers of size 10,000 every gradient is near 1e-4, and an absolute tolerance would accept anything."""
    layer, wrong = lesson()["BatchNorm"](4), lesson()["bugs"]["constants"](4)
    x, dy = 1e4 * np.random.default_rng(0).normal(size=(2, 2, 4, 2))
    attempt = lesson()["my_gradient_test"]
    assert attempt(layer, x, dy / 1e4) and not attempt(wrong, x, dy / 1e4)
