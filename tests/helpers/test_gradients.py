"""helpers/gradients.py: every backward pass against difference quotients, by property, by hand and against PyTorch."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import gradients, norms
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
from tests.shared import for_each

few = settings(derandomize=True, deadline=None, max_examples=30)
X = np.ones((4, 6))


def draw(shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(1.0, 2.0, shape).astype(dtype)


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
every_norm = for_each("name", NORMS)
# No group of two values: its outputs are -1 and 1 whatever x is, and the gradient is what eps leaves.
SHAPES = [(4, 6), (3, 8), (3, 4, 6), (2, 4, 2, 3)]
every_shape = for_each("shape", SHAPES, ids=str)


def relative_error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def parameter_shape(name, x):
    return tuple(x.shape[a] for a in NORMS[name][2](x))


# ------------------------------------------------------------------ against difference quotients


@every_norm
@every_shape
@for_each("eps", [1e-5, 0.5])
def test_gradients_are_difference_quotients(name, shape, eps):
    if name == "instance" and len(shape) == 2:
        return  # every output is beta, and every gradient but dbeta is 0
    forward, backward, _ = NORMS[name]
    x, dy = draw(shape), draw(shape, 1)
    gamma, beta = draw(parameter_shape(name, x), 2), draw(parameter_shape(name, x), 3)
    got = backward(dy, x, gamma, eps=eps)

    def loss(x, gamma, beta):
        return np.sum(dy * forward(x, gamma, beta, eps=eps).y)

    assert relative_error(got.dx, numerical_gradient(lambda v: loss(v, gamma, beta), x)) < 1e-8
    assert relative_error(got.dgamma, numerical_gradient(lambda v: loss(x, v, beta), gamma)) < 1e-8
    if name != "rms":
        assert relative_error(got.dbeta, numerical_gradient(lambda v: loss(x, gamma, v), beta)) < 1e-8


matrices = st.builds(draw, st.tuples(st.integers(3, 6), st.integers(3, 6)), st.integers(0, 999))


@few
@given(matrices, st.sampled_from(["batch", "layer", "rms"]), st.floats(0.5, 20), st.floats(-5, 5))
def test_any_matrix_has_the_gradient_of_differences(x, name, scale, mean):
    forward, backward, _ = NORMS[name]
    x = scale * x + mean
    dy = draw(x.shape, 1)
    expected = numerical_gradient(lambda v: np.sum(dy * forward(v, None, None).y), x)
    assert np.abs(backward(dy, x).dx - expected).max() < 1e-7 * np.abs(dy).max() / scale


@for_each(("axis", "g_shape"), [(None, ()), (0, (4,)), (1, (3,)), (-1, (2,)), (0, ())])
def test_weight_norm_has_its_gradient_by_differences(axis, g_shape):
    v, dw, g = draw((4, 3, 2)), draw((4, 3, 2), 1), draw(g_shape, 2)
    got = weight_norm_backward(dw, v, g, axis=axis)
    over_v = numerical_gradient(lambda v: np.sum(dw * norms.weight_norm(v, g, axis=axis)), v)
    over_g = numerical_gradient(lambda g: np.sum(dw * norms.weight_norm(v, g, axis=axis)), g)
    assert relative_error(got.dv, over_v) < 1e-8
    assert relative_error(got.dg, over_g) < 1e-8
    assert got.dv.shape == v.shape and got.dg.shape == g_shape


@for_each("shape", [(4, 3), (3, 5), (1, 4), (4, 1), (3, 2, 2, 2)], ids=str)
def test_spectral_norm_has_its_gradient_by_differences(shape):
    w, dw = draw(shape), draw(shape, 1)
    got = spectral_norm_backward(dw, w)
    assert relative_error(got, numerical_gradient(lambda w: np.sum(dw * norms.spectral_norm(w).w), w)) < 1e-8
    assert got.shape == shape


# ------------------------------------------------------------------ worked by hand


def test_layer_norm_backward_worked_by_hand():
    # x = 1, 3: mean 2, variance 1, with eps = 3 the root is 2 and x_hat = -1/2, 1/2.
    # g = dy * gamma = 4, 2: mean(g) = 3, mean(g * x_hat) = (-2 + 1) / 2 = -1/2.
    # dx = (4 - 3 - 1/4, 2 - 3 + 1/4) / 2
    dx, dgamma, dbeta = layer_norm_backward([[2, 2]], [[1, 3]], [2, 1], eps=3)
    np.testing.assert_allclose(dx, [[0.375, -0.375]])
    np.testing.assert_allclose(dgamma, [-1, 1])
    np.testing.assert_allclose(dbeta, [2, 2])


def test_batch_norm_backward_worked_by_hand():
    dx, dgamma, dbeta = batch_norm_backward([[4], [2]], [[1], [3]], [10], eps=3)
    np.testing.assert_allclose(dx, [[3.75], [-3.75]])
    np.testing.assert_allclose(dgamma, [-1])
    np.testing.assert_allclose(dbeta, [6])


def test_rms_norm_backward_worked_by_hand():
    # mean square 12.5, with eps = 12.5 the root is 5 and x_hat = 0.6, 0.8; mean(g * x_hat) = 0.3.
    dx, dgamma = rms_norm_backward([[1, 0]], [[3, 4]], eps=12.5)
    np.testing.assert_allclose(dx, [[(1 - 0.18) / 5, -0.24 / 5]])
    np.testing.assert_allclose(dgamma, [0.6, 0])


def test_weight_norm_backward_worked_by_hand():
    dv, dg = weight_norm_backward([1, 0], [3, 4], 10)
    np.testing.assert_allclose(dv, [2 * 0.64, -2 * 0.48])
    np.testing.assert_allclose(dg, 0.6)


def test_spectral_norm_backward_worked_by_hand():
    # w / sigma = diag(1, 1/2); the sum of dw * w / sigma is 3/2, taken from the entry of sigma alone.
    np.testing.assert_allclose(
        spectral_norm_backward(np.ones((2, 2)), np.diag([4, 2])), [[-0.125, 0.25], [0.25, 0.25]], atol=1e-15
    )


@pytest.mark.parametrize(("x", "expected"), [(3.0, 6.0), ([1.0, -2.0], [2.0, -4.0]), ([[0]], [[0.0]])])
def test_a_sum_of_squares_has_gradient_2_x(x, expected):
    got = numerical_gradient(lambda v: np.sum(v**2), x)
    np.testing.assert_allclose(got, expected, atol=1e-9)
    assert got.shape == np.shape(x) and got.dtype == np.float64


def test_gradient_steps_grow_with_large_entries_only():
    seen = []
    numerical_gradient(lambda v: seen.append(v.copy()) or 0.0, np.array([0.01, -1000.0]), h=0.5)
    np.testing.assert_allclose(seen, [[0.51, -1000], [-0.49, -1000], [0.01, -500], [0.01, -1500]])


# ------------------------------------------------------------------ what holds for every input


@few
@given(matrices, st.sampled_from(["batch", "layer", "instance"]))
def test_dx_sums_to_zero_over_every_statistic_group(x, name):
    x, dy = np.stack([x, x[::-1] ** 2], axis=-1), draw((*x.shape, 2), 1)
    axis = {"batch": (0, 2), "layer": 2, "instance": 2}[name]
    dx = NORMS[name][1](dy, x).dx
    assert np.abs(dx.sum(axis=axis)).max() < 1e-12 * max(1, np.abs(dx).max())


def test_dx_of_rms_norm_keeps_a_sum():
    assert np.abs(rms_norm_backward(draw((4, 6), 1), draw((4, 6))).dx.sum(axis=-1)).min() > 1e-3


@few
@given(matrices)
def test_without_eps_dx_is_orthogonal_to_x_hat(x):
    dy = draw(x.shape, 1)
    for name, axis in (("batch", 0), ("layer", 1), ("rms", 1)):
        forward, backward, _ = NORMS[name]
        dx, x_hat = backward(dy, x, eps=0).dx, forward(x, None, None, eps=0).y
        assert np.abs(np.sum(dx * x_hat, axis=axis)).max() < 1e-12 * max(1, np.abs(dx).max())


def test_eps_tilts_dx_at_small_variances():
    x, dy = 1e-3 * draw((4, 6)), draw((4, 6), 1)
    dx, x_hat = layer_norm_backward(dy, x).dx, norms.layer_norm(x).y
    assert np.abs(np.sum(dx * x_hat, axis=1) / np.linalg.norm(dx, axis=1)).max() > 0.1


@few
@given(matrices, st.floats(0.1, 10))
def test_dx_shrinks_as_x_grows(x, scale):
    dy = draw(x.shape, 1)
    for name in ("batch", "layer", "rms"):
        backward = NORMS[name][1]
        small = backward(dy, x, eps=0).dx
        np.testing.assert_allclose(scale * backward(dy, scale * x, eps=0).dx, small, atol=1e-11 * np.abs(small).max())


@every_norm
def test_the_backward_pass_is_linear_in_dy(name):
    backward, x = NORMS[name][1], draw((2, 4, 3, 3))
    one, two = draw(x.shape, 1), draw(x.shape, 2)
    both = backward(one + 3 * two, x)
    for total, first, second in zip(both, backward(one, x), backward(two, x), strict=True):
        np.testing.assert_allclose(total, first + 3 * second, atol=1e-11)


@few
@given(matrices, st.floats(0.1, 10))
def test_weight_norms_gradient_is_orthogonal_to_v(v, scale):
    dw = draw(v.shape, 1)
    dv, dg = weight_norm_backward(dw, v, 2.0)
    assert abs(np.sum(dv * v)) < 1e-11
    longer = weight_norm_backward(dw, scale * v, 2.0)
    np.testing.assert_allclose(longer.dv, dv / scale, atol=1e-12)
    np.testing.assert_allclose(longer.dg, dg)


def test_spectral_norms_gradient_is_orthogonal_to_w():
    w = draw((4, 3))
    assert abs(np.sum(spectral_norm_backward(draw((4, 3), 1), w) * w)) < 1e-12


def test_group_norm_backward_has_layer_and_instance_limits():
    x, dy, gamma = draw((3, 4, 2, 5)), draw((3, 4, 2, 5), 1), draw(4, 2)
    per_entry = np.broadcast_to(gamma[:, None, None], x.shape[1:])
    one_group = group_norm_backward(dy, x, 1, gamma)
    layer = layer_norm_backward(dy, x, per_entry, axis=(1, 2, 3))
    np.testing.assert_allclose(one_group.dx, layer.dx, atol=1e-12)
    np.testing.assert_allclose(one_group.dgamma, layer.dgamma.sum(axis=(1, 2)))
    for got, expected in zip(group_norm_backward(dy, x, 4, gamma), instance_norm_backward(dy, x, gamma), strict=True):
        np.testing.assert_array_equal(got, expected)


# ------------------------------------------------------------------ shapes, dtypes, arguments


@every_norm
@every_shape
def test_gradients_have_their_owners_shapes(name, shape):
    x = draw(shape)
    got = NORMS[name][1](draw(shape, 1), x)
    assert got.dx.shape == shape
    assert {item.shape for item in got[1:]} == {parameter_shape(name, x)}


@every_norm
def test_missing_gamma_means_ones(name):
    x, dy = draw((2, 4, 3, 3)), draw((2, 4, 3, 3), 1)
    ones = np.ones(parameter_shape(name, x))
    for got, expected in zip(NORMS[name][1](dy, x), NORMS[name][1](dy, x, ones), strict=True):
        np.testing.assert_array_equal(got, expected)


@for_each("name", ["batch", "group 2", "instance"])
@for_each("shape", [(4,), (4, 1, 1), (1, 4, 1, 1), (), (1,)], ids=str)
def test_dgamma_has_the_shape_of_the_given_gamma(name, shape):
    backward = NORMS[name][1]
    x, dy, gamma = draw((2, 4, 3, 3)), draw((2, 4, 3, 3), 1), np.full(shape, 1.5)
    got = backward(dy, x, gamma)
    whole = backward(dy, x, np.full(4, 1.5))
    assert got.dgamma.shape == got.dbeta.shape == shape
    np.testing.assert_allclose(got.dgamma.ravel(), whole.dgamma if gamma.size == 4 else [whole.dgamma.sum()])
    np.testing.assert_array_equal(got.dx, whole.dx)


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_dgamma_keeps_all_axes_of_its_gamma(backward):
    x, dy = draw((2, 4, 3)), draw((2, 4, 3), 1)
    got, whole = backward(dy, x, np.full((1, 1, 3), 1.5)), backward(dy, x, np.full(3, 1.5))
    assert got.dgamma.shape == (1, 1, 3)
    np.testing.assert_array_equal(got.dgamma.ravel(), whole.dgamma)


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_one_vector_alone_is_enough(backward):
    x, dy = draw((1, 5)), draw((1, 5), 1)
    np.testing.assert_allclose(backward(dy[0], x[0]).dx, backward(dy, x).dx[0])


@every_norm
@for_each(("dtype", "tol"), [(np.float16, 0.05), (np.float32, 1e-5), (np.float64, 0)])
def test_gradients_have_dtype_and_accuracy_of_x(name, dtype, tol):
    x, dy = draw((2, 4, 3, 3), dtype=dtype), draw((2, 4, 3, 3), 1, dtype)
    exact = NORMS[name][1](dy.astype(np.float64), x.astype(np.float64))
    for got, expected in zip(NORMS[name][1](dy, x), exact, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, atol=tol * np.abs(expected).max() + 1e-15)


@every_norm
def test_float64_arguments_do_not_raise_the_dtype(name):
    x = draw((2, 4, 3), dtype=np.float32)
    for got in NORMS[name][1](draw((2, 4, 3), 1), x, draw(parameter_shape(name, x), 2)):
        assert got.dtype == np.float32


def test_weight_gradients_have_the_dtype_of_the_weight():
    w = draw((4, 3), dtype=np.float16)
    dv, dg = weight_norm_backward(draw((4, 3), 1), w, 2.0)
    assert dv.dtype == dg.dtype == spectral_norm_backward(draw((4, 3), 1), w).dtype == np.float16


def test_float16_sums_of_products_overflow_where_float16_does():
    rows = np.tile(np.float16([-1, 1]), (80000, 1))  # 80 000 products of 1, which float32 would add up
    assert np.all(layer_norm_backward(rows, rows).dgamma == np.inf)


def test_float32_sums_of_products_overflow_where_float32_does():
    dw, w = np.float32([[3e38, 3e38]]), np.float32([[1, 1]])
    assert not np.isfinite(spectral_norm_backward(dw, w)).any()
    np.testing.assert_allclose(spectral_norm_backward(dw.astype(np.float64), w.astype(np.float64)), 0, atol=1e24)


@every_norm
def test_eps_is_rounded_to_the_dtype_of_x(name):
    x, dy = draw((2, 4, 3), dtype=np.float16) * np.float16(1e-3), draw((2, 4, 3), 1, np.float16)
    for got, expected in zip(NORMS[name][1](dy, x, eps=1e-8), NORMS[name][1](dy, x, eps=0), strict=True):
        np.testing.assert_array_equal(got, expected)


@every_norm
def test_the_default_eps_is_1e_5(name):
    x, dy = 1e-3 * draw((2, 4, 3)), draw((2, 4, 3), 1)
    np.testing.assert_array_equal(NORMS[name][1](dy, x).dx, NORMS[name][1](dy, x, eps=1e-5).dx)


@every_norm
def test_lists_and_integers_are_accepted(name):
    x, dy = np.arange(24).reshape(2, 4, 3) ** 2, np.arange(24).reshape(2, 4, 3) % 5
    for got, expected in zip(NORMS[name][1](dy.tolist(), x.tolist()), NORMS[name][1](1.0 * dy, 1.0 * x), strict=True):
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, expected)


@every_norm
def test_arguments_stay_and_share_no_memory(name):
    x, dy = draw((2, 4, 3)), draw((2, 4, 3), 1)
    gamma = draw(parameter_shape(name, x), 2)
    before = [a.copy() for a in (x, dy, gamma)]
    for item in (*NORMS[name][1](dy, x, gamma), *NORMS[name][1](dy, x)):
        assert not any(np.shares_memory(item, a) for a in (x, dy, gamma))
    for array, copy in zip((x, dy, gamma), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_norm
def test_memory_order_does_not_matter(name):
    x, dy = draw((2, 4, 3)), draw((2, 4, 3), 1)
    turned = NORMS[name][1](np.asfortranarray(dy), np.asfortranarray(x))
    for got, expected in zip(turned, NORMS[name][1](dy, x), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-13)


def test_a_spoiled_argument_spoils_no_numerical_gradient():
    x = np.array([1.0, 2.0])

    def square(v):
        v *= v
        return v.sum()

    np.testing.assert_allclose(numerical_gradient(square, x), [2, 4])
    np.testing.assert_array_equal(x, [1, 2])


def test_zero_variance_without_eps_gives_silent_nan(recwarn):
    assert np.isnan(layer_norm_backward(np.ones((1, 3)), np.ones((1, 3)), eps=0).dx).all()
    assert not recwarn.list


def test_every_backward_pass_has_its_norm():
    for name in gradients.__all__:
        if name.endswith("_backward"):
            assert hasattr(norms, name.removesuffix("_backward"))


# ------------------------------------------------------------------ bad input


@for_each(
    ("call", "message"),
    [
        (lambda: numerical_gradient(np.sum, X, h=0), "numerical_gradient: h must be a finite number > 0, got 0"),
        (lambda: numerical_gradient(np.sum, X, h=float("inf")), "h must be a finite number > 0, got inf"),
        (lambda: numerical_gradient(np.sum, X, h=float("nan")), "h must be a finite number > 0, got nan"),
        (lambda: numerical_gradient(np.sum, X, h="1"), "h must be a finite number > 0, got '1'"),
        (lambda: numerical_gradient(np.sum, ["a"]), "numerical_gradient: x must hold real numbers, got dtype <U1"),
        (lambda: numerical_gradient(np.copy, X), "numerical_gradient: f must return one number, got shape (4, 6)"),
        (lambda: numerical_gradient(lambda x: None, X), "numerical_gradient: f(x) must hold real numbers"),
        (lambda: batch_norm_backward(np.ones(3), np.ones(3)), "batch_norm_backward: x must have at least 2 axes"),
        (lambda: group_norm_backward(np.ones(3), np.ones(3), 1), "group_norm_backward: x must have at least 2 axes"),
        (lambda: instance_norm_backward(np.ones(3), np.ones(3)), "instance_norm_backward: x must have at least 2"),
        (lambda: layer_norm_backward(1.0, 1.0), "layer_norm_backward: x must have at least 1 axes, got shape ()"),
        (lambda: rms_norm_backward(np.ones((3, 0)), np.ones((3, 0))), "rms_norm_backward: x must have no empty axis"),
        (lambda: batch_norm_backward(X * 1j, X), "batch_norm_backward: dy must hold real numbers, got dtype complex"),
        (lambda: layer_norm_backward(X, X * 1j), "layer_norm_backward: x must hold real numbers, got dtype complex"),
        (lambda: group_norm_backward(X, X, 4), "group_norm_backward: groups=4 does not divide C=6 of x with shape"),
        (lambda: group_norm_backward(X, X, 0), "group_norm_backward: groups must be an int >= 1, got 0"),
        (lambda: layer_norm_backward(X, X, axis=2), "layer_norm_backward: axis must be an int, or different ints"),
        (lambda: rms_norm_backward(X, X, axis=1.0), "rms_norm_backward: axis must be an int, or different ints"),
        (
            lambda: batch_norm_backward(X, X, np.ones(4)),
            "batch_norm_backward: gamma has shape (4,), expected (6,) to match the channels of x with shape (4, 6)",
        ),
        (
            lambda: layer_norm_backward(X, X, np.ones(4)),
            "layer_norm_backward: gamma has shape (4,), expected (6,) to match the normalized axes of x",
        ),
        (lambda: weight_norm_backward(X, 0 * X, 1), "weight_norm_backward: v with shape (4, 6) has norm 0 (axis=None)"),
        (lambda: weight_norm_backward(X.T, X, 1), "weight_norm_backward: dw has shape (6, 4), expected (4, 6)"),
        (lambda: weight_norm_backward(X, X, 1, axis=(0,)), "weight_norm_backward: axis must be None or one int"),
        (lambda: weight_norm_backward(X, X, 1, axis=2), "weight_norm_backward: axis must be an int"),
        (lambda: weight_norm_backward(1.0, 1.0, 1), "weight_norm_backward: v must have at least 1 axes, got shape ()"),
        (lambda: weight_norm_backward(X * 1j, X, 1), "weight_norm_backward: dw must hold real numbers, got dtype"),
        (
            lambda: weight_norm_backward(X, X, np.ones(6), axis=0),
            "weight_norm_backward: g has shape (6,), expected (4,) to match the kept axis of v with shape (4, 6)",
        ),
        (lambda: spectral_norm_backward(X * 1j, X), "spectral_norm_backward: dw must hold real numbers, got dtype"),
        (lambda: spectral_norm_backward(X.T, X), "spectral_norm_backward: dw has shape (6, 4), expected (4, 6)"),
        (lambda: spectral_norm_backward(X, 0 * X), "spectral_norm_backward: w with shape (4, 6) has sigma 0"),
        (lambda: spectral_norm_backward(X, np.nan * X), "spectral_norm_backward: w must be finite"),
        (lambda: spectral_norm_backward(X[0], X[0]), "spectral_norm_backward: w must have at least 2 axes"),
    ],
)
def test_bad_input_is_told_what_was_expected(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@every_norm
@for_each(
    ("dy", "more", "message"),
    [
        (np.ones(6), {}, "dy has shape (6,), expected (4, 6), the shape of x"),
        (X, {"eps": -1}, "eps must be a finite number >= 0, got -1"),
        (X, {"gamma": np.ones(3)}, "gamma has shape (3,), expected ({size},) to match the {axes} of x with shape"),
    ],
    ids=["dy", "eps", "gamma"],
)
def test_messages_begin_with_the_called_function(name, dy, more, message):
    axes = "normalized axes" if name.startswith(("layer", "rms")) else "channels"
    expected = f"{name.split()[0].strip(',')}_norm_backward: {message.format(size=6, axes=axes)}"
    with pytest.raises(ValueError) as error:
        NORMS[name][1](dy, X, **more)
    assert str(error.value).startswith(expected)


# ------------------------------------------------------------------ time and memory


def two_pass(dy, x, gamma, eps=1e-5):
    """Layer norm's backward pass as one writes it with care, without a helper."""
    mean = x.mean(axis=-1, keepdims=True)
    centered = x - mean
    sd = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
    x_hat = centered / sd
    g = dy * gamma
    dx = (g - g.mean(axis=-1, keepdims=True) - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) / sd
    return dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0)


@for_each("name", ["batch", "layer", "rms", "group 2", "instance"])
def test_backward_takes_three_times_xs_memory(name):
    x, dy = draw((64, 16, 32, 32)), draw((64, 16, 32, 32), 1)
    gamma = draw(parameter_shape(name, x), 2)
    tracemalloc.start()
    NORMS[name][1](dy, x, gamma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 * x.nbytes


def test_layer_norm_backward_is_about_as_fast():
    x, dy, gamma = draw((512, 1024)), draw((512, 1024), 1), draw(1024, 2)
    calls = (lambda: layer_norm_backward(dy, x, gamma), lambda: two_pass(dy, x, gamma))
    best = [np.inf, np.inf]
    for _ in range(15):  # in turn, and in time of the processor: other work on the machine is nobody's
        for which, call in enumerate(calls):
            start = time.process_time()
            call()
            best[which] = min(best[which], time.process_time() - start)
    assert best[0] <= 1.3 * best[1]


# ------------------------------------------------------------------ against PyTorch


@every_norm
@for_each("shape", [(4, 6), (2, 4, 3, 2)], ids=str)
def test_pytorch_gives_the_same_gradients(name, shape):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    arrays = draw(shape), draw(shape, 1)
    if name in ("layer, axis 1", "instance") and len(shape) == 2:
        return  # PyTorch has no such call
    gamma = draw(parameter_shape(name, arrays[0]), 2)
    x, weight = (torch.tensor(a, requires_grad=True) for a in (arrays[0], gamma))
    bias = torch.zeros_like(weight, requires_grad=True)
    calls = {
        "batch": lambda: functional.batch_norm(x, None, None, weight, bias, training=True, eps=1e-5),
        "layer": lambda: functional.layer_norm(x, weight.shape, weight, bias, 1e-5),
        "layer, all but batch": lambda: functional.layer_norm(x, weight.shape, weight, bias, 1e-5),
        "layer, axis 1": lambda: functional.layer_norm(x.movedim(1, -1), weight.shape, weight, bias, 1e-5).movedim(
            -1, 1
        ),
        "rms": lambda: functional.rms_norm(x, weight.shape, weight, 1e-5),
        "group 2": lambda: functional.group_norm(x, 2, weight, bias, 1e-5),
        "instance": lambda: functional.instance_norm(x, weight=weight, bias=bias, eps=1e-5),
    }
    calls[name]().backward(torch.tensor(arrays[1]))
    got = NORMS[name][1](arrays[1], arrays[0], gamma)
    for item, expected in zip(got, (x.grad, weight.grad, bias.grad), strict=False):
        np.testing.assert_allclose(item, expected.numpy(), atol=1e-11)


def test_pytorch_agrees_on_weight_and_spectral_gradients():
    torch = pytest.importorskip("torch")
    v, dw, g = draw((4, 3)), draw((4, 3), 1), draw(4, 2)
    tensors = [torch.tensor(a, requires_grad=True) for a in (v, g[:, None])]
    torch._weight_norm(*tensors, 0).backward(torch.tensor(dw))
    got = weight_norm_backward(dw, v, g, axis=0)
    np.testing.assert_allclose(got.dv, tensors[0].grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(got.dg, tensors[1].grad.numpy().ravel(), atol=1e-12)
    w = torch.tensor(v, requires_grad=True)
    (w / torch.linalg.matrix_norm(w, 2)).backward(torch.tensor(dw))
    np.testing.assert_allclose(spectral_norm_backward(dw, v), w.grad.numpy(), atol=1e-12)
