"""The battery of lesson 12 judges batch norms that the lesson does not know: correct ones pass, wrong ones do not."""

import contextlib
import io
from functools import cache

import numpy as np
import pytest

from helpers import batch_norm_backward
from helpers.exercises.checker import all_exercises
from tests.lessons.batch_norms import CORRECT, WRONG
from tests.shared import ROOT, read

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


@pytest.fixture(params=["the solution", "the reference of the checker"])
def battery(request):
    chosen = lesson() if request.param == "the solution" else {"my_battery": all_exercises()["my_battery"].reference}

    def accepts(layer, trusted):
        with np.errstate(all="ignore"):
            return chosen["my_battery"](layer, trusted)

    return accepts


@pytest.mark.parametrize("layer", CORRECT)
def test_a_correct_layer_passes_and_is_accepted(layer, battery):
    assert caught_by(layer) == [] and battery(layer, lesson()["BatchNorm"])


@pytest.mark.parametrize("layer", WRONG)
def test_a_wrong_layer_is_rejected(layer, battery):
    assert not battery(layer, lesson()["BatchNorm"])


def test_lesson_tests_name_most_wrong_layers():
    assert {layer.__name__ for layer in WRONG if not caught_by(layer)} == SEEN_BY_THE_EXERCISE_ONLY


def test_layers_of_the_lesson_are_accepted(battery):
    for name in ["BatchNorm", "Another", "Float32"]:
        assert battery(lesson()[name], lesson()["BatchNorm"]) and battery(lesson()[name], CORRECT[0])


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
