"""The small things that several lessons compute with."""

import numpy as np
import pytest

from helpers import ellipse, matrix_with


def test_matrix_with_has_the_singular_values_asked_for():
    w = matrix_with([3, 0.5, 2, 0], np.random.default_rng(0))
    assert w.shape == (4, 4)
    np.testing.assert_allclose(np.linalg.svd(w, compute_uv=False), [3, 2, 0.5, 0], atol=1e-12)


def test_matrix_with_draws_from_the_generator_it_is_given():
    draws = [matrix_with([2, 1], np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.allclose(draws[0], draws[2])


@pytest.mark.parametrize("values", [[], [[1, 2]], [1, -1]])
def test_matrix_with_refuses_what_are_no_singular_values(values):
    with pytest.raises(ValueError, match="expected a list of numbers of at least 0"):
        matrix_with(values, np.random.default_rng(0))


def test_ellipse_is_the_image_of_the_unit_circle():
    points = ellipse([[2, 0], [0, 1]], points=5)
    np.testing.assert_allclose(points, [[2, 0, -2, 0, 2], [0, 1, 0, -1, 0]], atol=1e-12)
