"""The battery of lesson 12 judges batch norms that the lesson does not know: correct ones pass, wrong ones do not."""

import contextlib
import io
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from helpers import batch_norm_backward
from helpers.exercises.checker import all_exercises
from tests.shared import ROOT, read

# A folder whose name begins with a digit cannot stand in an import statement.
GALLERY = import_module("helpers.lessons.12_bug_gallery.exercises")
LESSON = ROOT / "notebooks" / "12_bug_gallery.ipynb"
SKIPPED = ("# Picture:", "# Explorer:", "Quiz(", "summary(")
# Edits of the exercises' layer that are wrong in ways which neither the lesson nor its exercises show.
WRONG = {
    "gamma forgotten": "gamma * x_hat + beta -> x_hat + beta",
    "gamma before normalizing": "rows = -> x = x * gamma; rows =\ngamma * x_hat + beta -> x_hat + beta",
    "standard deviation clamped": "np.sqrt(var + 1e-5) -> np.maximum(np.sqrt(var), 0.01)",
    "each position alone": "(x - mean) / self.sd -> "
    "((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5) if training else (x - mean) / self.sd)",
    "each sample alone": "(x - mean) / self.sd -> ((x - x.mean(axis=2, keepdims=True)) / "
    "np.sqrt(x.var(axis=2, keepdims=True) + 1e-5) if training else (x - mean) / self.sd)",
    "ten times slower": "0.9, 0.1 -> 0.99, 0.01",  # Keras' momentum 0.99 converted to 0.01 where 0.1 was meant
    "first batch replaces": "old, new = 0.9, 0.1 -> old, new = (0.9, 0.1) if self._mean.any() else (0, 1)",
    "batch statistics in eval mode": "(mean, var) if training else before -> (mean, var)",
    "padding in the count": "rows.mean(axis=0) -> rows.sum(axis=0) / keep.size",
    "one pass, clipped at 0": "rows.var(axis=0) -> np.maximum((rows**2).mean(axis=0) - mean**2, 0)",
    "mean as a constant": "g - g.mean(axis=(0, 2), keepdims=True) - -> g -",
    "sums for means": "np.mean(g * -> np.sum(g *\ng.mean( -> g.sum(",
    "root forgotten in backward": "return g / self.sd -> return g / self.sd**2",  # right at spread 1
    "memory shared by all layers": "+ shared = {}\n"
    "before = -> vars(self).update(self.shared); before =\n"
    "self.training = training -> self.training = training; self.shared.update(_mean=self._mean, _var=self._var)",
}


@cache
def lesson():
    """The names that the lesson's code defines; pictures, questions and what the learner writes are left out."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in read(LESSON).cells:
            left_out = "exercise" in cell.metadata.get("tags", []) or cell.source.startswith(SKIPPED)
            if cell.cell_type == "code" and not left_out:
                exec(cell.source, names)
    return names


def caught_by(layer):
    """The names of the lesson's tests that catch a layer."""
    with np.errstate(all="ignore"):
        return [name for name, test in lesson()["tests"].items() if lesson()["error"](test, layer) > 1e-3]


def accepts(layer, trusted):
    with np.errstate(all="ignore"):
        return all_exercises()["my_battery"].reference(layer, trusted)


def test_correct_layers_pass_and_are_accepted():
    for candidate in GALLERY.RIGHT:
        assert caught_by(candidate.make) == [] and accepts(candidate.make, lesson()["BatchNorm"]), candidate.words


@pytest.mark.parametrize("edit", WRONG.values(), ids=WRONG)
def test_a_wrong_layer_is_caught_and_rejected(edit):
    assert caught_by(GALLERY.made(edit)) and not accepts(GALLERY.made(edit), lesson()["BatchNorm"])


def test_the_lesson_s_tests_miss_what_section_7_says():
    assert caught_by(GALLERY.made("astype(np.float64) -> astype(np.float64)[:1000]")) == []


def test_layers_of_the_lesson_are_accepted():
    for name in ["BatchNorm", "Another", "Float32"]:
        assert accepts(lesson()[name], lesson()["BatchNorm"]) and accepts(lesson()[name], GALLERY.BATCH_NORM)


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
