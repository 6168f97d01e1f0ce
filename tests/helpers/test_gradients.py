"""helpers/gradients.py: every backward pass against difference quotients, by property and by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import norms
from helpers.gradients import (
    batch_norm_backward,
    group_norm_backward,
    instance_norm_backward,
    layer_norm_backward,
    numerical_gradient,
    rms_norm_backward,
    spectral_norm_backward,
    weight_norm_backward,
)
from tests.shared import draw, relative_error

# name -> forward(x, gamma, beta, eps), backward(dy, x, gamma, eps), the axes that gamma belongs to
NORMS = {
    "batch": (norms.batch_norm, batch_norm_backward, lambda x: (1,)),
    "layer": (norms.layer_norm, layer_norm_backward, lambda x: (x.ndim - 1,)),
    "layer, all but batch": (
        lambda x, *p, **k: norms.layer_norm(x, *p, axis=tuple(range(1, x.ndim)), **k),
        lambda dy, x, *p, **k: layer_norm_backward(dy, x, *p, axis=tuple(range(1, np.ndim(x))), **k),
        lambda x: tuple(range(1, x.ndim)),
    ),
    "layer, axis 1": (
        lambda x, *p, **k: norms.layer_norm(x, *p, axis=1, **k),
        lambda dy, x, *p, **k: layer_norm_backward(dy, x, *p, axis=1, **k),
        lambda x: (1,),
    ),
    "rms": (lambda x, gamma, beta, **k: norms.rms_norm(x, gamma, **k), rms_norm_backward, lambda x: (x.ndim - 1,)),
    "group 2": (
        lambda x, *p, **k: norms.group_norm(x, 2, *p, **k),
        lambda dy, x, *p, **k: group_norm_backward(dy, x, 2, *p, **k),
        lambda x: (1,),
    ),
    "instance": (norms.instance_norm, instance_norm_backward, lambda x: (1,)),
}
every_norm = pytest.mark.parametrize("name", NORMS)


def parameter_shape(name, x):
    return tuple(x.shape[a] for a in NORMS[name][2](x))


@every_norm
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 6), (2, 4, 2, 3)], ids=str)
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_gradients_are_difference_quotients(name, shape, eps):
    # No group of two values: its outputs are -1 and 1 whatever x is, and the gradient is what eps leaves.
    forward, backward, _ = NORMS[name]
    x, dy = draw(shape), draw(shape, 1)
    gamma, beta = draw(parameter_shape(name, x), 2), draw(parameter_shape(name, x), 3)
    got = backward(dy, x, gamma, eps=eps)

    def loss(x, gamma, beta):
        return np.sum(dy * forward(x, gamma, beta, eps=eps).y)

    expected = [
        numerical_gradient(lambda v: loss(v, gamma, beta), x),
        numerical_gradient(lambda v: loss(x, v, beta), gamma),
        numerical_gradient(lambda v: loss(x, gamma, v), beta),
    ]
    for ours, quotient in zip(got, expected, strict=False):  # rms norm has no beta
        assert ours.shape == quotient.shape
        assert_allclose(ours, quotient, atol=1e-8 * max(1, np.abs(quotient).max()))
        assert name == "instance" or relative_error(ours, quotient) < 1e-8


@pytest.mark.parametrize(("axis", "g_shape"), [(None, ()), (0, (4,)), (1, (3,)), (-1, (2,)), (0, ())])
def test_weight_norm_has_its_gradient_by_differences(axis, g_shape):
    v, dw, g = draw((4, 3, 2)), draw((4, 3, 2), 1), draw(g_shape, 2)
    got = weight_norm_backward(dw, v, g, axis=axis)
    over_v = numerical_gradient(lambda v: np.sum(dw * norms.weight_norm(v, g, axis=axis)), v)
    over_g = numerical_gradient(lambda g: np.sum(dw * norms.weight_norm(v, g, axis=axis)), g)
    assert relative_error(got.dv, over_v) < 1e-8
    assert relative_error(got.dg, over_g) < 1e-8
    assert got.dv.shape == v.shape and got.dg.shape == g_shape


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (1, 4), (4, 1), (3, 2, 2, 2)], ids=str)
def test_spectral_norm_has_its_gradient_by_differences(shape):
    w, dw = draw(shape), draw(shape, 1)
    got = spectral_norm_backward(dw, w)
    assert relative_error(got, numerical_gradient(lambda w: np.sum(dw * norms.spectral_norm(w).w), w)) < 1e-8
    assert got.shape == shape
    assert abs(np.sum(got * w)) < 1e-12


@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        # x = 1, 3: mean 2, variance 1, with eps = 3 the root is 2 and x_hat = -1/2, 1/2.
        # g = dy * gamma = 4, 2: mean(g) = 3, mean(g * x_hat) = (-2 + 1) / 2 = -1/2.
        # dx = (4 - 3 - 1/4, 2 - 3 + 1/4) / 2
        (lambda: layer_norm_backward([[2, 2]], [[1, 3]], [2, 1], eps=3), ([[0.375, -0.375]], [-1, 1], [2, 2])),
        (lambda: batch_norm_backward([[4], [2]], [[1], [3]], [10], eps=3), ([[3.75], [-3.75]], [-1], [6])),
        # mean square 12.5, with eps = 12.5 the root is 5 and x_hat = 0.6, 0.8; mean(g * x_hat) = 0.3
        (lambda: rms_norm_backward([[1, 0]], [[3, 4]], eps=12.5), ([[(1 - 0.18) / 5, -0.24 / 5]], [0.6, 0])),
        (lambda: weight_norm_backward([1, 0], [3, 4], 10), ([2 * 0.64, -2 * 0.48], 0.6)),
        # w / sigma = diag(1, 1/2); the sum of dw * w / sigma is 3/2, taken from the entry of sigma alone
        (lambda: spectral_norm_backward(np.ones((2, 2)), np.diag([4, 2])), [[-0.125, 0.25], [0.25, 0.25]]),
    ],
)
def test_backward_passes_worked_by_hand(backward, expected):
    for item, by_hand in zip(backward(), expected, strict=True):
        assert_allclose(item, by_hand, atol=1e-15)


def test_a_sum_of_squares_has_gradient_2_x():
    for x in (3.0, [1.0, -2.0], [[0]]):
        got = numerical_gradient(lambda v: np.sum(v**2), x)
        assert_allclose(got, 2 * np.array(x), atol=1e-9)
        assert got.shape == np.shape(x) and got.dtype == np.float64


def test_gradient_steps_grow_with_large_entries_only():
    seen = []
    numerical_gradient(lambda v: seen.append(v.copy()) or 0.0, np.array([0.01, -1000.0]), h=0.5)
    assert_allclose(seen, [[0.51, -1000], [-0.49, -1000], [0.01, -500], [0.01, -1500]])


def test_a_spoiled_argument_spoils_no_numerical_gradient():
    x = np.array([1.0, 2.0])

    def square(v):
        v *= v
        return v.sum()

    assert_allclose(numerical_gradient(square, x), [2, 4])
    assert_array_equal(x, [1, 2])


@pytest.mark.parametrize("name", ["batch", "group 2", "instance"])
@pytest.mark.parametrize("shape", [(4,), (4, 1, 1), (1, 4, 1, 1), (), (1,)], ids=str)
def test_dgamma_has_the_shape_of_the_given_gamma(name, shape):
    backward = NORMS[name][1]
    x, dy, gamma = draw((2, 4, 3, 3)), draw((2, 4, 3, 3), 1), np.full(shape, 1.5)
    got = backward(dy, x, gamma)
    whole = backward(dy, x, np.full(4, 1.5))
    assert got.dgamma.shape == got.dbeta.shape == shape
    assert_allclose(got.dgamma.ravel(), whole.dgamma if gamma.size == 4 else [whole.dgamma.sum()])
    assert_array_equal(got.dx, whole.dx)


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_dgamma_keeps_all_axes_of_its_gamma(backward):
    x, dy = draw((2, 4, 3)), draw((2, 4, 3), 1)
    got, whole = backward(dy, x, np.full((1, 1, 3), 1.5)), backward(dy, x, np.full(3, 1.5))
    assert got.dgamma.shape == (1, 1, 3)
    assert_array_equal(got.dgamma.ravel(), whole.dgamma)
    assert_allclose(backward(dy[0, 0], x[0, 0]).dx, backward(dy, x).dx[0, 0])  # one vector is enough


@every_norm
def test_gamma_is_ones_and_eps_1e_5_by_default(name):
    backward, x, dy = NORMS[name][1], 1e-3 * draw((2, 4, 3, 3)), draw((2, 4, 3, 3), 1)
    ones = np.ones(parameter_shape(name, x))
    for got, expected in zip(backward(dy, x), backward(dy, x, ones, eps=1e-5), strict=True):
        assert_array_equal(got, expected)


@every_norm
@pytest.mark.parametrize(("dtype", "tol"), [(np.float16, 0.05), (np.float32, 1e-5), (np.int64, 0)])
def test_gradients_have_dtype_and_accuracy_of_x(name, dtype, tol):
    backward, x, dy = NORMS[name][1], draw((2, 4, 3, 3), dtype=dtype), draw((2, 4, 3, 3), 1, dtype)
    x_64, dy_64 = x.astype(np.float64), dy.astype(np.float64)
    gamma = draw(parameter_shape(name, x), 2)  # float64, which does not raise the dtype
    for got, expected in zip(backward(dy_64, x, gamma), backward(dy_64, x_64, gamma), strict=True):
        assert got.dtype == (dtype if tol else np.float64)
        assert_allclose(got, expected, atol=tol * np.abs(expected).max() + 1e-13)


def test_weight_gradients_have_the_dtype_of_the_weight():
    w = draw((4, 3), dtype=np.float16)
    dv, dg = weight_norm_backward(draw((4, 3), 1), w, 2.0)
    assert dv.dtype == dg.dtype == spectral_norm_backward(draw((4, 3), 1), w).dtype == np.float16


def test_sums_of_products_overflow_where_the_dtype_does():
    rows = np.tile(np.float16([-1, 1]), (80000, 1))  # 80 000 products of 1, which float32 would add up
    assert np.all(layer_norm_backward(rows, rows).dgamma == np.inf)
    dw, w = np.float32([[3e38, 3e38]]), np.float32([[1, 1]])
    assert not np.isfinite(spectral_norm_backward(dw, w)).any()
    assert_allclose(spectral_norm_backward(dw.astype(np.float64), w.astype(np.float64)), 0, atol=1e24)


@every_norm
def test_eps_is_rounded_to_the_dtype_of_x(name):
    x, dy = draw((2, 4, 3), dtype=np.float16) * np.float16(1e-3), draw((2, 4, 3), 1, np.float16)
    for got, expected in zip(NORMS[name][1](dy, x, eps=1e-8), NORMS[name][1](dy, x, eps=0), strict=True):
        assert_array_equal(got, expected)


@every_norm
def test_arguments_stay_in_any_form_and_order(name):
    backward, x, dy = NORMS[name][1], draw((2, 4, 3)), draw((2, 4, 3), 1)
    gamma = draw(parameter_shape(name, x), 2)
    before = [a.copy() for a in (x, dy, gamma)]
    for got in (backward(dy, x, gamma), backward(dy, x)):
        assert not any(np.shares_memory(item, a) for item in got for a in (x, dy, gamma))
    for array, copy in zip((x, dy, gamma), before, strict=True):
        assert_array_equal(array, copy)
    for same in (backward(np.asfortranarray(dy), np.asfortranarray(x)), backward(dy.tolist(), x.tolist())):
        for item, expected in zip(same, got, strict=True):
            assert_allclose(item, expected, atol=1e-13)


def test_zero_variance_without_eps_gives_silent_nan(recwarn):
    assert np.isnan(layer_norm_backward(np.ones((1, 3)), np.ones((1, 3)), eps=0).dx).all()
    assert not recwarn.list
