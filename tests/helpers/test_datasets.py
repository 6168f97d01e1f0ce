"""The small things that several lessons compute with."""

import hashlib
import re

import numpy as np
import pytest

from helpers import digits, ellipse, iris, matrix_with, mean_cosine
from helpers.datasets import DATA


def test_matrix_with_has_the_singular_values_asked_for_and_draws_from_its_generator():
    draws = [matrix_with([3, 0.5, 2, 0], np.random.default_rng(seed)) for seed in (1, 1, 2)]
    for w in draws:
        np.testing.assert_allclose(np.linalg.svd(w, compute_uv=False), [3, 2, 0.5, 0], atol=1e-12)
    assert np.array_equal(draws[0], draws[1]) and not np.allclose(draws[0], draws[2])


@pytest.mark.parametrize("values", [[], [[1, 2]], [1, -1]])
def test_matrix_with_refuses_what_are_no_singular_values(values):
    with pytest.raises(ValueError, match="expected a list of numbers of at least 0"):
        matrix_with(values, np.random.default_rng(0))


def test_mean_cosine_worked_by_hand():
    assert mean_cosine([[1, 0], [0, 2]]) == pytest.approx(0)
    assert mean_cosine([[1, 0], [3, 0], [-1, 0]]) == pytest.approx((1 - 1 - 1) / 3)
    for rows in ([1, 2], [[1, 2]], [[0, 0], [1, 2]]):  # no two directions
        with pytest.raises(ValueError, match="mean_cosine: "):
            mean_cosine(rows)


def test_ellipse_is_the_image_of_the_unit_circle():
    points = ellipse([[2, 0], [0, 1]], points=5)
    np.testing.assert_allclose(points, [[2, 0, -2, 0, 2], [0, 1, 0, -1, 0]], atol=1e-12)


def test_the_data_are_those_that_their_readme_describes():
    table = re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", (DATA / "README.md").read_text(), re.MULTILINE)
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in DATA.iterdir() if path.suffix != ".md"
    }
    assert dict(table) == files


def test_iris_and_digits_are_what_they_are_known_for():
    x, labels = iris()
    assert x.shape == (150, 4) and np.bincount(labels).tolist() == [50, 50, 50]
    assert x[0].tolist() == [5.1, 3.5, 1.4, 0.2]
    x, labels = digits()
    assert x.shape == (1797, 8, 8) and sorted(set(labels)) == list(range(10))
    assert (x.min(), x.max()) == (0, 1)
    assert labels[0] == 0 and x[0, :, 0].max() == 0  # the first is a zero, and its left edge is empty
