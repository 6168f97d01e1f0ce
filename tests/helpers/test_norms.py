"""helpers/norms.py: every norm against its definition, by property and by hand-worked numbers."""

import importlib
import inspect
import shutil
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import norms
from helpers.norms import (
    RunningStats,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    power_iteration,
    rms_norm,
    spectral_norm,
    weight_norm,
    weight_standardization,
)
from tests.shared import for_each

few = settings(derandomize=True, deadline=None, max_examples=30)
SHAPES = [(4, 6), (3, 4, 6), (2, 4, 3, 3)]


def draw(shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(1.0, 2.0, shape).astype(dtype)


# Each norm as a function of x alone, and, coded apart from it, the number of the statistic group of
# every entry: entries with the same number share one mean and one variance.
def index(x, axis):
    return np.indices(x.shape)[axis]


NORMS = {
    "batch": (batch_norm, lambda x: index(x, 1)),
    "layer": (layer_norm, lambda x: np.arange(x.size) // x.shape[-1]),
    "layer, all but batch": (
        lambda x, **k: layer_norm(x, axis=tuple(range(1, np.ndim(x))), **k),
        lambda x: index(x, 0),
    ),
    "layer, axis 1": (
        lambda x, **k: layer_norm(x, axis=1, **k),
        lambda x: index(x, 0) * 1000 + np.arange(x.size).reshape(x.shape) % int(np.prod(x.shape[2:])),
    ),
    "rms": (rms_norm, lambda x: np.arange(x.size) // x.shape[-1]),
    "group 1": (lambda x, **k: group_norm(x, 1, **k), lambda x: index(x, 0)),
    "group 2": (
        lambda x, **k: group_norm(x, 2, **k),
        lambda x: index(x, 0) * 2 + index(x, 1) // (x.shape[1] // 2),
    ),
    "instance": (instance_norm, lambda x: index(x, 0) * 100 + index(x, 1)),
}
every_norm = for_each("name", NORMS)
every_shape = for_each("shape", SHAPES, ids=str)


def group_ids(name, x):
    return np.asarray(NORMS[name][1](x)).reshape(x.shape)


# ------------------------------------------------------------------ which numbers share statistics


@every_norm
@every_shape
def test_a_nan_reaches_exactly_its_statistic_group(name, shape):
    x = draw(shape)
    ids = group_ids(name, x)
    for probe in np.random.default_rng(1).permutation(x.size)[:8]:
        spoiled = x.copy()
        spoiled.flat[probe] = np.nan
        reached = np.isnan(NORMS[name][0](spoiled).y)
        np.testing.assert_array_equal(reached, ids == ids.flat[probe])


@every_norm
@every_shape
def test_every_group_is_standardized_by_its_own_statistics(name, shape):
    x = draw(shape)
    ids = group_ids(name, x)
    expected = np.empty_like(x)
    for group in np.unique(ids):
        members = x[ids == group]
        center = 0 if name == "rms" else sum(members) / len(members)
        spread = sum((members - center) ** 2) / len(members)
        expected[ids == group] = (members - center) / (spread + 1e-3) ** 0.5
    np.testing.assert_allclose(NORMS[name][0](x, eps=1e-3).y, expected, atol=1e-12)


@for_each(
    ("result", "shape"),
    [
        (batch_norm(draw((5, 3))), (1, 3)),
        (batch_norm(draw((5, 3, 4))), (1, 3, 1)),
        (batch_norm(draw((5, 3, 4, 2))), (1, 3, 1, 1)),
        (layer_norm(draw((5, 3))), (5, 1)),
        (layer_norm(draw((5, 3, 4))), (5, 3, 1)),
        (layer_norm(draw((5, 3, 4)), axis=(1, 2)), (5, 1, 1)),
        (layer_norm(draw((5, 3, 4, 2)), axis=1), (5, 1, 4, 2)),
        (layer_norm(draw((5, 3, 4, 2)), axis=(-1, 1)), (5, 1, 4, 1)),
        (layer_norm(draw((7,))), (1,)),
        (group_norm(draw((5, 4)), 2), (5, 2)),
        (group_norm(draw((5, 4, 3)), 2), (5, 2, 1)),
        (group_norm(draw((5, 4, 3, 3)), 2), (5, 2, 1, 1)),
        (instance_norm(draw((5, 4))), (5, 4)),
        (instance_norm(draw((5, 4, 3))), (5, 4, 1)),
        (instance_norm(draw((5, 4, 3, 3))), (5, 4, 1, 1)),
    ],
)
def test_statistics_keep_the_reduced_axes_with_size_one(result, shape):
    assert result.mean.shape == result.var.shape == shape


def test_rms_keeps_the_reduced_axes_with_size_one():
    assert rms_norm(draw((5, 3))).rms.shape == (5, 1)
    assert rms_norm(draw((5, 3, 4)), axis=(1, 2)).rms.shape == (5, 1, 1)


def test_one_group_is_layer_norm_over_all():
    x = draw((3, 4, 2, 5))
    for got, expected in zip(group_norm(x, 1), layer_norm(x, axis=(1, 2, 3)), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_group_norm_with_c_groups_is_instance_norm():
    x = draw((3, 4, 2, 5))
    for got, expected in zip(group_norm(x, 4), instance_norm(x), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_repeated_group_statistics_rebuild_the_output():
    x = draw((3, 6, 2, 5))
    y, mean, var = group_norm(x, 2, eps=1e-3)
    mean, var = np.repeat(mean, 3, axis=1), np.repeat(var, 3, axis=1)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(var + 1e-3), atol=1e-12)


def test_layer_norm_is_the_same_in_any_batch():
    x = draw((6, 8))
    np.testing.assert_array_equal(layer_norm(x).y[2], layer_norm(x[2:3]).y[0])


def test_batch_norm_depends_on_the_batch():
    x = draw((6, 8))
    assert np.abs(batch_norm(x).y[2] - batch_norm(x[:4]).y[2]).max() > 0.1


# ------------------------------------------------------------------ hand-worked numbers


def test_batch_norm_of_two_columns_worked_by_hand():
    y, mean, var = batch_norm([[1.0, 10.0], [3.0, 30.0]], eps=0)
    np.testing.assert_array_equal(mean, [[2, 20]])
    np.testing.assert_array_equal(var, [[1, 100]])
    np.testing.assert_array_equal(y, [[-1, -1], [1, 1]])


def test_layer_norm_of_one_row_worked_by_hand():
    # 1, 2, 3, 6: mean 3, deviations -2 -1 0 3, squares 4 1 0 9, variance 14/4
    y, mean, var = layer_norm([[1.0, 2.0, 3.0, 6.0]], eps=0.5)
    np.testing.assert_array_equal(mean, [[3]])
    np.testing.assert_array_equal(var, [[3.5]])
    np.testing.assert_array_equal(y, [[-1, -0.5, 0, 1.5]])  # sqrt(3.5 + 0.5) = 2


def test_the_variance_divides_by_the_count():
    assert layer_norm([[0.0, 2.0]]).var == 1
    assert batch_norm([[0.0], [2.0]]).var == 1


def test_rms_norm_of_one_row_worked_by_hand():
    # 1, 7: mean square 25
    y, rms = rms_norm([[1.0, 7.0]], eps=0)
    np.testing.assert_array_equal(rms, [[5]])
    np.testing.assert_array_equal(y, [[0.2, 1.4]])


def test_rms_norm_adds_eps_inside_the_root():
    y, rms = rms_norm([[1.0, 7.0]], eps=11.0)
    np.testing.assert_array_equal(rms, [[6]])
    np.testing.assert_allclose(y, [[1 / 6, 7 / 6]])


def test_rms_norm_keeps_a_mean():
    assert abs(rms_norm([[3.0, 4.0, 5.0]]).y.mean() - 4 / np.sqrt(50 / 3)) < 1e-6


def test_group_norm_of_one_row_worked_by_hand():
    # groups (0, 2) and (10, 30), neighbors and not interleaved
    y, mean, var = group_norm([[0.0, 2.0, 10.0, 30.0]], 2, eps=0)
    np.testing.assert_array_equal(mean, [[1, 20]])
    np.testing.assert_array_equal(var, [[1, 100]])
    np.testing.assert_array_equal(y, [[-1, 1, -1, 1]])


def test_instance_norm_of_two_channels_worked_by_hand():
    y, mean, var = instance_norm([[[0.0, 2.0], [10.0, 30.0]]], eps=0)
    np.testing.assert_array_equal(mean, [[[1], [20]]])
    np.testing.assert_array_equal(var, [[[1], [100]]])
    np.testing.assert_array_equal(y, [[[-1, 1], [-1, 1]]])


def test_output_sd_follows_var_over_var_plus_eps():
    x = draw((3, 50))
    for eps in (1e-5, 1e-2, 1.0, 100.0):
        y, _, var = layer_norm(x, eps=eps)
        np.testing.assert_allclose(y.std(axis=-1, keepdims=True), np.sqrt(var / (var + eps)), rtol=1e-12)


@for_each("norm", [batch_norm, layer_norm, rms_norm, group_norm, instance_norm])
def test_eps_is_1e_5_by_default(norm):
    parameters = inspect.signature(norm).parameters
    assert parameters["eps"].default == 1e-5
    assert parameters["compute_dtype"].default is None
    assert parameters["gamma"].default is None
    assert parameters["eps"].kind is inspect.Parameter.KEYWORD_ONLY


@every_norm
def test_the_stated_default_eps_is_used(name):
    x = draw((2, 4, 3, 3)) * 1e-3
    np.testing.assert_array_equal(NORMS[name][0](x).y, NORMS[name][0](x, eps=1e-5).y)
    assert np.abs(NORMS[name][0](x).y - NORMS[name][0](x, eps=2e-5).y).max() > 1e-3


def test_zero_variance_without_eps_is_nan_for_zeros():
    assert np.isnan(layer_norm(np.zeros((1, 6)), eps=0).y).all()
    assert np.isnan(rms_norm(np.zeros((1, 6)), eps=0).y).all()


def test_one_row_gives_variance_zero_and_beta():
    y, mean, var = batch_norm([[3.0, 4.0, 5.0]], beta=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(mean, [[3, 4, 5]])
    np.testing.assert_array_equal(var, [[0, 0, 0]])
    np.testing.assert_array_equal(y, [[1, 2, 3]])


def test_instance_norm_of_a_matrix_returns_beta():
    y, mean, var = instance_norm(draw((2, 3)), beta=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(mean, draw((2, 3)))
    np.testing.assert_array_equal(var, np.zeros((2, 3)))
    np.testing.assert_array_equal(y, [[1, 2, 3]] * 2)


def test_results_are_named_tuples():
    y, mean, var = result = batch_norm(draw((3, 2)))
    assert result.y is y is result[0] and result.mean is mean and result.var is var
    y, rms = result = rms_norm(draw((3, 2)))
    assert result.y is y is result[0] and result.rms is rms
    assert power_iteration(np.eye(2))._fields == ("sigma", "u", "v", "history")
    assert spectral_norm(np.eye(2))._fields == ("w", "sigma", "u")


# ------------------------------------------------------------------ invariances

matrices = arrays(
    np.float64,
    st.tuples(st.integers(2, 6), st.integers(2, 6)),
    elements=st.floats(-10, 10, allow_subnormal=False),
)


def spread_out(x):
    """x plus a ramp along both axes, so that no row and no column is constant."""
    return x + 25.0 * np.add(*np.ogrid[: x.shape[0], : x.shape[1]])


@few
@given(matrices, st.floats(-100, 100), st.floats(0.1, 10))
def test_layer_norm_ignores_shift_and_scale_of_rows(x, shift, scale):
    x = spread_out(x)
    np.testing.assert_allclose(layer_norm(x * scale + shift, eps=0).y, layer_norm(x, eps=0).y, atol=1e-8)


@few
@given(matrices, st.floats(-100, 100), st.floats(0.1, 10))
def test_batch_norm_ignores_shift_and_scale_of_columns(x, shift, scale):
    x = spread_out(x)
    ramp = 1 + np.arange(x.shape[1])
    changed = x * (scale * ramp) + shift * ramp
    np.testing.assert_allclose(batch_norm(changed, eps=0).y, batch_norm(x, eps=0).y, atol=1e-8)


@few
@given(matrices, st.floats(0.1, 10))
def test_rms_norm_ignores_scale_but_follows_signs(x, scale):
    x = spread_out(x) + 1
    np.testing.assert_allclose(rms_norm(-scale * x, eps=0).y, -rms_norm(x, eps=0).y, atol=1e-9)


def test_rms_norm_notices_a_shift():
    x = draw((3, 5))
    assert np.abs(rms_norm(x + 10).y - rms_norm(x).y).max() > 0.1


@few
@given(matrices, st.randoms(use_true_random=False))
def test_batch_norm_follows_permutations_of_batch_and_features(x, random):
    rows = random.sample(range(x.shape[0]), x.shape[0])
    columns = random.sample(range(x.shape[1]), x.shape[1])
    y = batch_norm(x, eps=1.0).y
    np.testing.assert_allclose(batch_norm(x[rows], eps=1.0).y, y[rows], atol=1e-10)
    np.testing.assert_allclose(batch_norm(x[:, columns], eps=1.0).y, y[:, columns], atol=1e-10)


@few
@given(matrices, st.randoms(use_true_random=False))
def test_layer_norm_follows_permutations_of_batch_and_features(x, random):
    rows = random.sample(range(x.shape[0]), x.shape[0])
    columns = random.sample(range(x.shape[1]), x.shape[1])
    y = layer_norm(x, eps=1.0).y
    np.testing.assert_allclose(layer_norm(x[rows], eps=1.0).y, y[rows], atol=1e-10)
    np.testing.assert_allclose(layer_norm(x[:, columns], eps=1.0).y, y[:, columns], atol=1e-10)


@few
@given(matrices, st.floats(1e-6, 1e3))
def test_normalized_outputs_have_mean_0_and_less_variance(x, eps):
    for result, axis in ((batch_norm(x, eps=eps), 0), (layer_norm(x, eps=eps), 1)):
        assert np.isfinite(result.y).all()
        np.testing.assert_allclose(result.y.mean(axis=axis), 0, atol=1e-8)
        assert (result.y.var(axis=axis) < 1 + 1e-12).all()


@few
@given(matrices)
def test_entries_stay_below_the_root_of_n_1(x):
    assert np.abs(batch_norm(x).y).max() <= np.sqrt(x.shape[0] - 1) + 1e-9
    assert np.abs(layer_norm(x).y).max() <= np.sqrt(x.shape[1] - 1) + 1e-9


# ------------------------------------------------------------------ gamma and beta


@for_each("shape", [(4,), (1, 4), (1, 4, 1, 1), (), (1,)], ids=str)
@for_each("norm", [batch_norm, lambda x, *a: group_norm(x, 2, *a), instance_norm])
def test_channel_norms_take_gamma_and_beta_per_channel(norm, shape):
    x = draw((2, 4)) if len(shape) == 2 else draw((2, 4, 3, 3))
    gamma, beta = draw(shape, seed=3), draw(shape, seed=4)
    per_channel = (1, -1) + (1,) * (x.ndim - 2)
    expected = norm(x).y * gamma.reshape(per_channel) + beta.reshape(per_channel)
    np.testing.assert_allclose(norm(x, gamma, beta).y, expected, atol=1e-12)


def test_channel_gamma_never_lines_up_with_the_width():
    x = draw((2, 3, 3, 3))
    gamma = np.array([1.0, 10.0, 100.0])
    np.testing.assert_allclose(batch_norm(x, gamma).y, batch_norm(x).y * gamma[:, None, None], atol=1e-12)
    y = layer_norm(x, gamma, axis=1).y
    np.testing.assert_allclose(y, layer_norm(x, axis=1).y * gamma[:, None, None], atol=1e-12)


@for_each(
    ("axis", "shape", "aligned"),
    [
        (-1, (5,), (5,)),
        (-1, (1, 1, 1, 5), (5,)),
        (1, (3,), (3, 1, 1)),
        (1, (3, 1, 1), (3, 1, 1)),
        ((1, 2, 3), (3, 4, 5), (3, 4, 5)),
        ((-1, -2), (4, 5), (4, 5)),
        ((1, 3), (3, 5), (3, 1, 5)),
        ((2, 3), (), ()),
        ((2, 3), (1, 5), (1, 5)),
        ((2, 3), (4, 1), (4, 1)),
    ],
)
def test_gamma_has_the_normalized_shape(axis, shape, aligned):
    x, gamma, beta = draw((2, 3, 4, 5)), draw(shape, seed=3), draw(shape, seed=4)
    expected = layer_norm(x, axis=axis).y * gamma.reshape(aligned) + beta.reshape(aligned)
    np.testing.assert_allclose(layer_norm(x, gamma, beta, axis=axis).y, expected, atol=1e-12)
    expected = rms_norm(x, axis=axis).y * gamma.reshape(aligned)
    np.testing.assert_allclose(rms_norm(x, gamma, axis=axis).y, expected, atol=1e-12)


def test_gamma_and_beta_leave_the_statistics_alone():
    x = draw((4, 6))
    for plain, scaled in (
        (batch_norm(x), batch_norm(x, 3 * np.ones(6), np.ones(6))),
        (layer_norm(x), layer_norm(x, 3 * np.ones(6), np.ones(6))),
        (rms_norm(x), rms_norm(x, 3 * np.ones(6))),
    ):
        for a, b in zip(plain[1:], scaled[1:], strict=True):
            np.testing.assert_array_equal(a, b)


# ------------------------------------------------------------------ the calls of an older notebook


def test_layer_norm_calls_accept_positions_indexing_and_unpacking():
    x = draw((4, 5))
    y, mu, var = layer_norm(x)
    np.testing.assert_array_equal(layer_norm(x)[0], y)
    np.testing.assert_allclose(layer_norm(x, np.ones(5), np.zeros(5))[0], y)
    assert mu.shape == var.shape == (4, 1)
    for eps in (1e-12, 1e-8, 1e-5, 1e-2):
        assert np.isfinite(layer_norm(np.array([[1.0, 1 + 1e-8, 1 - 1e-8]]), eps=eps)[0]).all()


def test_gamma_of_shape_1_c_rescales_the_columns():
    x = draw((100, 4))
    y = batch_norm(x, gamma=np.array([[1.0, 2.0, 3.0, 4.0]]))[0]
    np.testing.assert_allclose(y.std(axis=0), [1, 2, 3, 4], rtol=1e-4)
    x, gamma, beta = draw((4, 5)), np.ones((1, 5)) * 2, np.ones((1, 5)) * 0.5
    staged = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * gamma + beta
    np.testing.assert_allclose(batch_norm(x, gamma=gamma, beta=beta)[0], staged, atol=1e-12)


def test_gamma_broadcasts_over_batch_and_time():
    x, gamma, beta = draw((2, 3, 4)), np.arange(1, 5).reshape(1, 1, 4), np.zeros((1, 1, 4))
    expected = gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + beta
    np.testing.assert_allclose(layer_norm(x, gamma, beta).y, expected, atol=1e-12)


def test_groups_can_be_named_in_the_call():
    y = group_norm(np.array([[1.0, 2.0, 10.0, 12.0], [2.0, 4.0, 20.0, 24.0]]), groups=2).y
    np.testing.assert_allclose(y.reshape(2, 2, 2).mean(axis=2), 0, atol=1e-5)


# ------------------------------------------------------------------ dtypes


@every_norm
@for_each("dtype", [np.float16, np.float32, np.float64])
def test_float_dtypes_come_back(name, dtype):
    x = draw((2, 4, 3, 3), dtype=dtype)
    result = NORMS[name][0](x, eps=1e-5)
    assert {a.dtype for a in result} == {np.dtype(dtype)}
    result = NORMS[name][0](x, compute_dtype=np.float32)
    assert result.y.dtype == dtype
    assert {a.dtype for a in result[1:]} == {np.dtype(np.float32)}


@pytest.mark.parametrize("norm", [batch_norm, lambda x, *a: group_norm(x, 2, *a), instance_norm, layer_norm])
def test_float64_parameters_do_not_raise_the_dtype(norm):
    x = draw((3, 4), dtype=np.float16)
    assert norm(x, np.ones(4), np.ones(4)).y.dtype == np.float16
    assert rms_norm(x, np.ones(4), eps=np.float64(1e-5)).y.dtype == np.float16


@every_norm
@for_each("dtype", [np.int64, np.uint8, bool])
def test_integers_and_booleans_become_float64(name, dtype):
    x = (draw((2, 4, 3, 3)) > 1).astype(dtype)
    result = NORMS[name][0](x)
    assert {a.dtype for a in result} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(result.y, NORMS[name][0](x.astype(np.float64)).y)


def test_unsigned_integers_do_not_wrap_around():
    np.testing.assert_allclose(layer_norm(np.array([[0, 255]], np.uint8)).y, [[-1, 1]], atol=1e-5)


@every_norm
def test_lists_are_accepted(name):
    x = draw((4, 6))
    np.testing.assert_array_equal(NORMS[name][0](x.tolist()).y, NORMS[name][0](x).y)


@every_norm
def test_float16_upcast_to_float32_rounds_only_once(name):
    x = draw((2, 4, 3, 3), dtype=np.float16)
    exact = NORMS[name][0](x.astype(np.float64)).y
    y = NORMS[name][0](x, compute_dtype=np.float32).y
    np.testing.assert_allclose(y.astype(np.float64), exact, rtol=2**-11 * 1.01, atol=1e-6)


def test_float16_rms_norm_of_300_is_zero():
    y, rms = rms_norm(np.full((1, 8), 300, np.float16))
    assert np.isinf(rms).all()
    np.testing.assert_array_equal(y, np.zeros((1, 8)))


def test_float16_rms_norm_of_1e_4_is_inf():
    y, rms = rms_norm(np.full((1, 8), 1e-4, np.float16), eps=1e-8)
    assert rms == 0 and np.isposinf(y).all()


@every_norm
def test_float16_zeros_become_nan_with_rounded_eps(name):
    assert np.isnan(NORMS[name][0](np.zeros((2, 4, 3), np.float16), eps=1e-8).y).all()


@pytest.mark.parametrize("value", [300, 1e-4, 0])
def test_float16_rms_norm_is_right_after_an_upcast(value):
    x = np.full((1, 8), value, np.float16)
    y = rms_norm(x, eps=1e-8, compute_dtype=np.float32).y
    value = float(x[0, 0])
    np.testing.assert_allclose(y, value / np.sqrt(value**2 + 1e-8), rtol=1e-3)


def test_float16_layer_norm_of_300_is_zero():
    x = np.array([[300, -300] * 8], np.float16)
    y, _, var = layer_norm(x)
    assert np.isinf(var).all() and (y == 0).all()
    np.testing.assert_allclose(layer_norm(x, compute_dtype=np.float32).y, x / 300)


def test_float16_mean_overflows_where_the_sum_does():
    x = np.full((1, 1024), 100, np.float16)  # the sum, 102400, is beyond 65504; the mean is not
    assert np.isinf(layer_norm(x).mean).all()
    assert x.mean() == 100, "NumPy's own mean adds in float32"
    assert layer_norm(x, compute_dtype=np.float32).mean == 100


def test_float16_sums_round_every_partial_sum_to_float16():
    x = np.array([[2048, 0.5, 1, 0.5]], np.float16)  # 2048 + 1 is 2048 in float16, and so is 2048 + 1 again
    assert layer_norm(x).mean == 512
    assert x.mean(dtype=np.float32) == 512.5


def test_float16_batch_norm_stays_in_float16_too():
    x = np.array([[2048], [0.5], [1], [0.5]], np.float16)
    assert batch_norm(x).mean == 512
    assert group_norm(x.T, 1).mean == 512


def test_float16_squares_are_rounded_before_they_are_added():
    x = np.array([[2.0**-12, 2.0**-12, 2.0**-12, 2.0**-12]], np.float16)
    assert rms_norm(x, eps=0).rms == 2.0**-12  # 2**-24 is the smallest number float16 has
    assert rms_norm(x / 2, eps=0).rms == 0  # 2**-26 is less than half of it
    # 1.1875**2 = 1.41 rounds to 1 before the sum; four times 1.41, rounded once, would be 6 and its quarter 2
    assert rms_norm(x * np.float16(1.1875), eps=0).rms == 2.0**-12
    assert batch_norm(np.float16(1.1875) * x.T * np.array([[1], [1], [-1], [-1]], np.float16)).var == 2.0**-24


def test_float16_parameters_are_rounded_to_float16_too():
    x = np.array([[-1, 1]], np.float16)
    assert np.isinf(layer_norm(x, gamma=1e5, eps=3).y).all()
    np.testing.assert_allclose(layer_norm(x, gamma=1e5, eps=3, compute_dtype=np.float32).y, 5e4 * x, rtol=1e-3)


def test_float16_counts_beyond_65504_still_divide_right():
    x = np.full((70_000, 1), 0.5, np.float16)
    assert batch_norm(x).mean == 0.5
    assert batch_norm(np.full((3, 1), 2, np.float16)).mean == 2


def test_long_float16_sums_add_every_term_once():
    for count in range(1, 20):
        x = np.arange(1, count + 1, dtype=np.float16)
        assert layer_norm(x).mean == np.float16((count + 1) / 2)
        assert layer_norm(x.reshape(1, count, 1), axis=(0, 1)).mean == np.float16((count + 1) / 2)


def test_overflow_and_division_by_zero_emit_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (300, 6e4, 1e-4, 0):
            x = np.full((2, 4), value, np.float16)
            for name in NORMS:
                NORMS[name][0](x, eps=1e-8)
        layer_norm(np.array([[1e300, -1e300]]), compute_dtype=np.float16)
        rms_norm(np.full((1, 2), 1e200))
        rms_norm(np.array([[np.inf, 1.0]]))


@every_norm
def test_bfloat16_comes_back_as_bfloat16(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = draw((2, 4, 3, 3)).astype(ml_dtypes.bfloat16)
    result = NORMS[name][0](x)
    assert {a.dtype for a in result} == {np.dtype(ml_dtypes.bfloat16)}
    upcast = NORMS[name][0](x, compute_dtype=np.float32)
    exact = NORMS[name][0](x.astype(np.float64)).y
    assert upcast.y.dtype == ml_dtypes.bfloat16 and upcast[1].dtype == np.float32
    np.testing.assert_allclose(upcast.y.astype(np.float64), exact, rtol=2**-8 * 1.01, atol=1e-5)


# ------------------------------------------------------------------ accuracy, memory, purity


@every_norm
def test_a_large_mean_costs_no_digits_of_variance(name):
    x = (draw((4, 4, 8, 8)) + 1e4).astype(np.float32)
    result = NORMS[name][0](x)
    exact = NORMS[name][0](x.astype(np.float64))
    np.testing.assert_allclose(result[-1], exact[-1], rtol=1e-5)
    np.testing.assert_allclose(result.y, exact.y, atol=2e-3)


def test_float32_layer_norm_of_long_rows_is_accurate():
    x = draw((8, 5000), dtype=np.float32)
    np.testing.assert_allclose(layer_norm(x).y, layer_norm(x.astype(np.float64)).y, atol=2e-6)


def test_layer_norm_needs_twice_its_inputs_memory():
    x = draw((512, 1024), dtype=np.float32)
    layer_norm(x)
    tracemalloc.start()
    try:
        result = layer_norm(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.y.nbytes == x.nbytes
    assert peak <= 2 * x.nbytes


@every_norm
def test_inputs_stay_and_share_no_memory(name):
    x = draw((2, 4, 3, 3))
    before = x.copy()
    x.flags.writeable = False
    for array in NORMS[name][0](x):
        assert not np.shares_memory(array, x)
        array += 1
    np.testing.assert_array_equal(x, before)


def test_parameters_are_not_changed():
    x, gamma, beta = draw((3, 4)), np.full(4, 2.0), np.full(4, 3.0)
    for norm in (batch_norm, layer_norm, instance_norm):
        norm(x, gamma, beta)
    np.testing.assert_array_equal(gamma, np.full(4, 2.0))
    np.testing.assert_array_equal(beta, np.full(4, 3.0))


@every_norm
def test_memory_order_does_not_matter(name):
    x = draw((2, 4, 3, 3))
    fortran = NORMS[name][0](np.asfortranarray(x))
    np.testing.assert_allclose(fortran.y, NORMS[name][0](x).y, atol=1e-12)
    every_second = np.repeat(x, 2, axis=-1)[..., ::2]
    np.testing.assert_allclose(NORMS[name][0](every_second).y, NORMS[name][0](x).y, atol=1e-12)


# ------------------------------------------------------------------ bad input

X = draw((2, 3, 4))


@for_each(
    ("call", "message"),
    [
        (lambda: batch_norm(np.ones(3)), "batch_norm: x must have at least 2 axes, got shape (3,)"),
        (lambda: group_norm(np.ones(3), 1), "group_norm: x must have at least 2 axes, got shape (3,)"),
        (lambda: instance_norm(np.ones(3)), "instance_norm: x must have at least 2 axes, got shape (3,)"),
        (lambda: layer_norm(1.0), "layer_norm: x must have at least 1 axes, got shape ()"),
        (lambda: rms_norm(1.0), "rms_norm: x must have at least 1 axes, got shape ()"),
        (lambda: batch_norm(np.ones((0, 3))), "batch_norm: x must have no empty axis, got shape (0, 3)"),
        (lambda: layer_norm(np.ones((3, 0))), "layer_norm: x must have no empty axis, got shape (3, 0)"),
        (lambda: rms_norm(np.ones((3, 0))), "rms_norm: x must have no empty axis, got shape (3, 0)"),
        (lambda: group_norm(np.ones((3, 0)), 1), "group_norm: x must have no empty axis, got shape (3, 0)"),
        (lambda: instance_norm(np.ones((2, 3, 0))), "instance_norm: x must have no empty axis"),
        (lambda: batch_norm(X, eps=-1e-5), "batch_norm: eps must be a finite number >= 0, got -1e-05"),
        (lambda: layer_norm(X, eps=float("nan")), "layer_norm: eps must be a finite number >= 0, got nan"),
        (lambda: rms_norm(X, eps=float("inf")), "rms_norm: eps must be a finite number >= 0, got inf"),
        (lambda: group_norm(X, 3, eps=-1), "group_norm: eps must be a finite number >= 0, got -1"),
        (lambda: instance_norm(X, eps="1"), "instance_norm: eps must be a finite number >= 0, got '1'"),
        (lambda: layer_norm(X, eps=None), "layer_norm: eps must be a finite number >= 0, got None"),
        (lambda: layer_norm(X, eps=True), "layer_norm: eps must be a finite number >= 0, got True"),
        (lambda: layer_norm(X + 1j), "layer_norm: x must hold real numbers, got dtype complex128"),
        (lambda: batch_norm(X.astype(object)), "batch_norm: x must hold real numbers, got dtype object"),
        (lambda: rms_norm(["a", "b"]), "rms_norm: x must hold real numbers, got dtype <U1"),
        (lambda: layer_norm(None), "layer_norm: x must hold real numbers, got dtype object"),
        (lambda: layer_norm(X, compute_dtype=int), "layer_norm: compute_dtype must be None or a float dtype"),
        (
            lambda: layer_norm(X, compute_dtype="no"),
            "layer_norm: compute_dtype must be None or a float dtype",
        ),
        (
            lambda: layer_norm(X, gamma=np.ones(5)),
            "layer_norm: gamma has shape (5,), expected (4,) to match the normalized axes of x with shape (2, 3, 4)",
        ),
        (
            lambda: layer_norm(X, beta=np.ones((3, 4))),
            "layer_norm: beta has shape (3, 4), expected (4,) to match the normalized axes of x with shape (2, 3, 4)",
        ),
        (
            lambda: layer_norm(X, gamma=np.ones(4), axis=(1, 2)),
            "layer_norm: gamma has shape (4,), expected (3, 4) to match the normalized axes",
        ),
        (
            lambda: layer_norm(np.ones((5, 3, 2)), gamma=np.ones(2), axis=(1, 2)),
            "gamma has shape (2,), expected (3, 2)",
        ),
        (lambda: layer_norm(X, gamma=np.ones(4), axis=1), "gamma has shape (4,), expected (3,)"),
        (lambda: layer_norm(X[0, :1], np.ones((3, 4))), "gamma has shape (3, 4), expected (4,)"),
        (lambda: layer_norm(np.ones((1, 1)), np.ones(4)), "gamma has shape (4,), expected (1,)"),
        (lambda: layer_norm(X, gamma=np.ones((1, 2, 3, 4))), "gamma has shape (1, 2, 3, 4), expected (4,)"),
        (lambda: layer_norm(X, gamma=np.ones((1, 1, 1, 4))), "gamma has shape (1, 1, 1, 4), expected (4,)"),
        (lambda: layer_norm(X, gamma=np.ones(4) * 1j), "layer_norm: gamma must hold real numbers"),
        (
            lambda: rms_norm(X, gamma=np.ones(3)),
            "rms_norm: gamma has shape (3,), expected (4,) to match the normalized axes of x with shape (2, 3, 4)",
        ),
        (
            lambda: batch_norm(X, gamma=np.ones(4)),
            "batch_norm: gamma has shape (4,), expected (3,) to match the channels of x with shape (2, 3, 4)",
        ),
        (lambda: batch_norm(X, beta=np.ones((2, 3, 1))), "beta has shape (2, 3, 1), expected (3,)"),
        (lambda: batch_norm(X[:1, :1], gamma=np.ones((5, 1, 1))), "gamma has shape (5, 1, 1), expected (1,)"),
        (
            lambda: group_norm(X, 3, gamma=np.ones(2)),
            "group_norm: gamma has shape (2,), expected (3,) to match the channels of x with",
        ),
        (
            lambda: instance_norm(X, beta=np.ones(4)),
            "instance_norm: beta has shape (4,), expected (3,) to match the channels of x with",
        ),
        (lambda: group_norm(X, 2), "group_norm: groups=2 does not divide C=3 of x with shape (2, 3, 4)"),
        (lambda: group_norm(X, 4), "group_norm: groups=4 does not divide C=3"),
        (lambda: group_norm(X, 0), "group_norm: groups must be an int >= 1, got 0"),
        (lambda: group_norm(X, -1), "group_norm: groups must be an int >= 1, got -1"),
        (lambda: group_norm(X, 3.0), "group_norm: groups must be an int >= 1, got 3.0"),
        (lambda: group_norm(X, True), "group_norm: groups must be an int >= 1, got True"),
        (
            lambda: layer_norm(X, axis=3),
            "axis must be an int, or different ints, from -3 to 2 for x with shape (2, 3, 4), got 3",
        ),
        (lambda: layer_norm(X, axis=-4), "layer_norm: axis must be an int, or different ints, from -3 to 2"),
        (lambda: layer_norm(X, axis=(2, -1)), "for x with shape (2, 3, 4), got (2, -1)"),
        (lambda: layer_norm(X, axis=()), "got ()"),
        (lambda: layer_norm(X, axis=None), "got None"),
        (lambda: rms_norm(X, axis=1.0), "rms_norm: axis must be an int, or different ints"),
        (lambda: rms_norm(X, axis=True), "got True"),
        (lambda: rms_norm(X, axis=(0, 1.5)), "got (0, 1.5)"),
        (lambda: rms_norm(X, axis=(0, True)), "got (0, True)"),
        (lambda: weight_norm(np.zeros(3), 1.0), "weight_norm: v with shape (3,) has norm 0 (axis=None)"),
        (lambda: weight_norm([[1.0, 2.0], [0.0, 0.0]], 1.0, axis=0), "has norm 0 (axis=0)"),
        (
            lambda: weight_norm(np.ones((2, 3)), np.ones(3), axis=0),
            "weight_norm: g has shape (3,), expected (2,) to match the kept axis of v with shape (2, 3)",
        ),
        (
            lambda: weight_norm(np.ones((2, 3)), np.ones(2)),
            "weight_norm: g has shape (2,), expected one number",
        ),
        (lambda: weight_norm(np.ones((2, 3)), 1.0, axis=2), "weight_norm: axis must be an int"),
        (lambda: weight_norm(np.ones((2, 3)), 1.0, axis=(0, 1)), "weight_norm: axis must be None or one int"),
        (lambda: weight_norm(1.0, 1.0), "weight_norm: v must have at least 1 axes, got shape ()"),
        (lambda: weight_norm(np.ones((2, 0)), 1.0), "weight_norm: v must have no empty axis"),
        (lambda: weight_norm(np.ones(2), 1j), "weight_norm: g must hold real numbers, got dtype complex128"),
        (lambda: weight_standardization(np.ones(3)), "weight_standardization: w must have at least 2 axes, got"),
        (lambda: weight_standardization(np.ones((2, 0))), "weight_standardization: w must have no empty axis"),
        (lambda: weight_standardization(X, eps=-1), "weight_standardization: eps must be a finite number >= 0, got -1"),
        (
            lambda: weight_standardization(X, np.ones(4)),
            "weight_standardization: gain has shape (4,), expected (2,) to match the output units of w with shape",
        ),
        (
            lambda: power_iteration(np.ones(3)),
            "power_iteration: w must be a matrix with 2 axes, got shape (3,)",
        ),
        (lambda: power_iteration(np.ones((2, 2, 2))), "power_iteration: w must be a matrix with 2 axes"),
        (
            lambda: power_iteration(np.ones((0, 2))),
            "power_iteration: w must have no empty axis, got shape (0, 2)",
        ),
        (lambda: power_iteration([[np.nan, 1.0]]), "power_iteration: w must be finite"),
        (lambda: power_iteration([[np.inf, 1.0]]), "power_iteration: w must be finite"),
        (lambda: power_iteration(np.eye(2) * 1j), "power_iteration: w must hold real numbers"),
        (lambda: power_iteration(np.eye(2), n_iter=0), "power_iteration: n_iter must be an int >= 1, got 0"),
        (
            lambda: power_iteration(np.eye(2), n_iter=2.5),
            "power_iteration: n_iter must be an int >= 1, got 2.5",
        ),
        (
            lambda: power_iteration(np.ones((2, 3)), u=np.ones(3)),
            "power_iteration: u has shape (3,), expected (2,) for w with shape (2, 3)",
        ),
        (
            lambda: power_iteration(np.eye(2), u=[0.0, 0.0]),
            "power_iteration: u must be finite and not all zero",
        ),
        (lambda: power_iteration(np.eye(2), u=[np.nan, 0.0]), "power_iteration: u must be finite"),
        (lambda: power_iteration(np.eye(2), u=[1.0, -np.inf]), "power_iteration: u must be finite"),
        (lambda: power_iteration(np.eye(2), u=[1j, 0]), "power_iteration: u must hold real numbers, got"),
        (lambda: spectral_norm(np.ones(3)), "spectral_norm: w must have at least 2 axes, got shape (3,)"),
        (lambda: spectral_norm(np.ones((2, 0))), "spectral_norm: w must have no empty axis"),
        (lambda: spectral_norm(np.zeros((2, 2))), "spectral_norm: w with shape (2, 2) has sigma 0"),
        (lambda: spectral_norm(np.zeros((2, 2)), n_iter=3), "spectral_norm: w with shape (2, 2) has sigma 0"),
        (lambda: spectral_norm([[np.nan, 1.0]]), "spectral_norm: w must be finite"),
        (lambda: spectral_norm(np.eye(2), n_iter=0), "spectral_norm: n_iter must be an int >= 1, got 0"),
        (
            lambda: spectral_norm(np.eye(2), n_iter=1, u=[1.0]),
            "spectral_norm: u has shape (1,), expected (2,)",
        ),
        (lambda: RunningStats(0), "RunningStats: num_features must be an int >= 1, got 0"),
        (lambda: RunningStats(2.0), "RunningStats: num_features must be an int >= 1, got 2.0"),
        (lambda: RunningStats(2, momentum=1.1), "momentum must be None or a number in [0, 1], got 1.1"),
        (lambda: RunningStats(2, momentum=-0.1), "momentum must be None or a number in [0, 1], got -0.1"),
        (
            lambda: RunningStats(2, momentum=float("nan")),
            "momentum must be None or a number in [0, 1], got nan",
        ),
        (lambda: RunningStats(2, momentum="0.1"), "momentum must be None or a number in [0, 1], got '0.1'"),
        (
            lambda: RunningStats(2).update(np.ones((4, 3))),
            "RunningStats.update: x has shape (4, 3), expected 2 channels on axis 1",
        ),
        (
            lambda: RunningStats(3).update(np.ones((1, 3))),
            "RunningStats.update: unbiased=True needs more than 1 value per channel, got shape (1, 3)",
        ),
        (lambda: RunningStats(3).update(np.ones(3)), "RunningStats.update: x must have at least 2 axes"),
        (lambda: RunningStats(3).update(np.ones((0, 3))), "RunningStats.update: x must have no empty axis"),
        (
            lambda: RunningStats(3).update(np.ones((2, 3)) * 1j),
            "RunningStats.update: x must hold real numbers",
        ),
    ],
)
def test_bad_input_is_told_what_was_expected(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# ------------------------------------------------------------------ weight norm


def test_weight_norm_gives_3_4_the_length_g():
    np.testing.assert_allclose(weight_norm([3.0, 4.0], 2.0), [1.2, 1.6], rtol=1e-15)


def test_weight_norm_without_axis_takes_all():
    w = weight_norm(draw((3, 4, 2)), 5.0)
    assert abs(np.linalg.norm(w) - 5) < 1e-12


@pytest.mark.parametrize(("axis", "others"), [(0, (1, 2)), (1, (0, 2)), (2, (0, 1)), (-1, (0, 1))])
def test_weight_norm_keeps_its_axis(axis, others):
    v = draw((3, 4, 2))
    g = np.arange(1.0, v.shape[axis] + 1)
    w = weight_norm(v, g, axis=axis)
    np.testing.assert_allclose(np.sqrt((w**2).sum(axis=others)), g, rtol=1e-12)
    ratio = w / v
    for k in range(v.shape[axis]):
        assert np.ptp(ratio.take(k, axis=axis)) < 1e-12 and ratio.take(k, axis=axis).min() > 0


def test_weight_norm_accepts_two_shapes_of_g():
    v = draw((3, 4))
    np.testing.assert_array_equal(weight_norm(v, 2.0, axis=0), weight_norm(v, [2, 2, 2], axis=0))
    np.testing.assert_array_equal(weight_norm(v, [[2], [2], [2]], axis=0), weight_norm(v, 2.0, axis=0))


@few
@given(st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_weight_norm_ignores_the_length_of_v(scale, g):
    v = draw((3, 4))
    np.testing.assert_allclose(weight_norm(scale * v, g, axis=0), weight_norm(v, g, axis=0), atol=1e-12)


def test_weight_norm_leaves_v_and_its_dtype_alone():
    v = draw((3, 4), dtype=np.float16)
    before = v.copy()
    assert weight_norm(v, np.ones(3), axis=0).dtype == np.float16
    assert (weight_norm(np.float16([300, 300]), 1.0) == 0).all()
    upcast = weight_norm(np.float16([300, 400]), 5.0, compute_dtype=np.float32)
    np.testing.assert_allclose(upcast, [3, 4], rtol=1e-3)
    np.testing.assert_array_equal(v, before)


# ------------------------------------------------------------------ weight standardization


def test_weight_standardization_worked_by_hand():
    w = weight_standardization([[1.0, 3.0], [10.0, 30.0]], [2.0, 3.0], eps=0)
    np.testing.assert_array_equal(w, [[-2, 2], [-3, 3]])


@pytest.mark.parametrize("shape", [(4, 6), (4, 3, 5), (4, 2, 3, 3)], ids=str)
def test_weight_standardization_gives_mean_0_and_variance_1(shape):
    w = weight_standardization(draw(shape), eps=0).reshape(4, -1)
    np.testing.assert_allclose(w.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(w.var(axis=1), 1, rtol=1e-12)


def test_weight_standardization_adds_eps_inside_the_root():
    w = weight_standardization([[-1e-3, 1e-3]])
    np.testing.assert_allclose(w, [[-1, 1]] / np.sqrt(1 + 1e-5 / 1e-6), rtol=1e-12)


@pytest.mark.parametrize("gain_shape", [(4,), (4, 1, 1), ()], ids=str)
def test_weight_standardization_takes_one_gain_per_output_unit(gain_shape):
    w, gain = draw((4, 3, 5)), draw(gain_shape, seed=1)
    expected = weight_standardization(w) * gain.reshape(-1, 1, 1)
    np.testing.assert_allclose(weight_standardization(w, gain), expected, rtol=1e-12)


def test_single_weights_standardize_to_zero():
    np.testing.assert_array_equal(weight_standardization([[3.0], [4.0]]), [[0], [0]])


def test_weight_standardization_leaves_w_and_its_dtype_alone():
    w = (300 * draw((4, 6))).astype(np.float16)
    before = w.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (weight_standardization(w) == 0).all()  # in float16 the sum of squares is inf
    assert np.isnan(weight_standardization(0 * w, eps=1e-8)).all()  # eps is 0
    upcast = weight_standardization(w, compute_dtype=np.float32)
    assert upcast.dtype == np.float16
    np.testing.assert_allclose(upcast, weight_standardization(w.astype(np.float64)), atol=2e-3)
    np.testing.assert_array_equal(w, before)


# ------------------------------------------------------------------ power iteration, spectral norm


def matrix_with_singular_values(values, shape, seed=0):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.normal(size=(shape[0], shape[0])))[0][:, : len(values)]
    right = np.linalg.qr(rng.normal(size=(shape[1], shape[1])))[0][:, : len(values)]
    return (left * values) @ right.T, left, right


def test_power_iteration_follows_the_papers_products():
    w = draw((4, 3))
    u = np.array([1.0, 2.0, 3.0, 4.0])
    expected = []
    got = power_iteration(w, n_iter=3, u=u)
    for _ in range(3):
        v = w.T @ u / np.linalg.norm(w.T @ u)
        u = w @ v / np.linalg.norm(w @ v)
        expected.append(u @ w @ v)
    np.testing.assert_allclose(got.history, expected, rtol=1e-13)
    np.testing.assert_allclose(got.u, u, rtol=1e-13)
    np.testing.assert_allclose(got.v, v, rtol=1e-13)
    assert got.sigma == got.history[-1]
    assert got.u.shape == (4,) and got.v.shape == (3,)


def test_power_iteration_finds_value_and_both_vectors():
    w, left, right = matrix_with_singular_values([3.0, 1.0, 0.5], (5, 4))
    sigma, u, v, history = power_iteration(w)
    assert history.shape == (20,)
    assert abs(sigma - 3) < 1e-12
    assert abs(abs(u @ left[:, 0]) - 1) < 1e-12 and abs(abs(v @ right[:, 0]) - 1) < 1e-12
    np.testing.assert_allclose(w @ v, sigma * u, atol=1e-8)


@pytest.mark.parametrize("ratio", [0.5, 0.7, 0.8, 0.9])
def test_value_error_shrinks_by_the_fourth_power(ratio):
    w, _, _ = matrix_with_singular_values([1.0, ratio], (3, 3))
    errors = 1 - power_iteration(w, n_iter=12, rng=1).history
    usable = errors[:-1][errors[1:] > 1e-12]
    factors = errors[1:][errors[1:] > 1e-12] / usable
    assert abs(factors[-1] / ratio**4 - 1) < 0.05


@few
@given(arrays(np.float64, (4, 3), elements=st.floats(-10, 10, allow_subnormal=False)), st.integers(0, 99))
def test_the_estimate_never_exceeds_sigma_and_never_falls(w, seed):
    history = power_iteration(w, rng=seed).history
    exact = np.linalg.svd(w, compute_uv=False)[0]
    assert (history <= exact * (1 + 1e-12) + 1e-12).all()
    assert (np.diff(history) >= -1e-12 * exact - 1e-12).all()


def test_power_iteration_continues_from_its_own_u():
    w = draw((4, 4))
    first = power_iteration(w, n_iter=5)
    second = power_iteration(w, n_iter=5, u=first.u)
    np.testing.assert_allclose(np.concatenate([first.history, second.history]), power_iteration(w, n_iter=10).history)


def test_power_iteration_takes_seeds_and_generators():
    w = draw((4, 4))
    same = [power_iteration(w, n_iter=1, rng=r).sigma for r in (None, 0, np.random.default_rng(0))]
    assert same[0] == same[1] == same[2] == power_iteration(w, n_iter=1).sigma
    assert power_iteration(w, n_iter=1, rng=1).sigma != same[0]


def test_power_iteration_scales_u_without_changing_it():
    w, u = draw((3, 3)), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(power_iteration(w, u=u).history, power_iteration(w, u=1e200 * u).history)
    np.testing.assert_array_equal(u, [1, 2, 3])


def test_power_iteration_bears_zeros_in_its_start():
    sigma, u, v, _ = power_iteration([[0.0, 2.0], [3.0, 0.0]], n_iter=1, u=[1.0, 0.0])
    assert sigma == 2
    np.testing.assert_array_equal([u, v], [[1, 0], [0, 1]])


def test_power_iteration_of_a_zero_matrix_is_zero():
    sigma, u, v, history = power_iteration(np.zeros((2, 3)), n_iter=4, u=[3.0, 4.0])
    assert sigma == 0 and (history == 0).all()
    np.testing.assert_allclose(u, [0.6, 0.8])
    np.testing.assert_array_equal(v, [0, 0, 0])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_power_iteration_survives_extreme_scales(scale):
    np.testing.assert_allclose(power_iteration(scale * np.diag([2.0, 1.0])).sigma, 2 * scale)


@pytest.mark.parametrize(("dtype", "used"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8")])
def test_power_iteration_keeps_dtype_except_float16(dtype, used):
    result = power_iteration(np.diag([3, 1]).astype(dtype))
    assert {np.asarray(a).dtype for a in result} == {np.dtype(used)}
    assert abs(result.sigma - 3) < 1e-6


def test_spectral_norm_divides_by_the_largest_singular_value():
    result = spectral_norm([[3.0, 0.0], [0.0, 1.0]])
    assert abs(result.sigma - 3) < 1e-12
    np.testing.assert_allclose(result.w, [[1, 0], [0, 1 / 3]], atol=1e-12)
    np.testing.assert_allclose(result.u, [1, 0], atol=1e-12)


@few
@given(arrays(np.float64, (4, 3), elements=st.floats(0.1, 10)))
def test_spectral_norm_leaves_singular_value_one(w):
    result = spectral_norm(w)
    assert abs(np.linalg.svd(result.w, compute_uv=False)[0] - 1) < 1e-12
    np.testing.assert_allclose(result.w * result.sigma, w, atol=1e-12)
    assert result.u[np.abs(result.u).argmax()] > 0


def test_power_iterations_norm_divides_by_its_estimate():
    w = draw((4, 4))
    result = spectral_norm(w, n_iter=2, rng=3)
    expected = power_iteration(w, n_iter=2, rng=3)
    assert abs(result.sigma / expected.sigma - 1) < 1e-12
    np.testing.assert_allclose(result.u, expected.u)
    np.testing.assert_allclose(result.w, w / expected.sigma)
    assert np.linalg.svd(result.w, compute_uv=False)[0] > 1


def test_spectral_norm_follows_a_drifting_weight():
    rng = np.random.default_rng(0)
    w, u = rng.normal(size=(16, 16)), None
    for _ in range(60):
        w = w + 0.01 * rng.normal(size=w.shape)
        u = spectral_norm(w, n_iter=1, u=u).u
    assert abs(spectral_norm(w, n_iter=1, u=u).sigma / spectral_norm(w).sigma - 1) < 1e-2


def test_spectral_norm_reads_kernels_as_matrices():
    w = draw((3, 2, 2, 2))
    result = spectral_norm(w)
    assert result.w.shape == w.shape and result.u.shape == (3,)
    assert abs(result.sigma - np.linalg.svd(w.reshape(3, 8), compute_uv=False)[0]) < 1e-12


def test_spectral_norm_of_wide_matrices_saves_memory():
    w = draw((4, 2000))
    tracemalloc.start()
    try:
        spectral_norm(w)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * w.nbytes  # all 2000 right singular vectors would take 500 times as much


def test_spectral_norm_keeps_the_dtype_and_its_input():
    w = np.diag([3, 1]).astype(np.float16)
    result = spectral_norm(w)
    assert result.w.dtype == np.float16 and result.sigma.dtype == np.float32
    assert spectral_norm(w, compute_dtype=np.float64).sigma.dtype == np.float64
    np.testing.assert_array_equal(w, np.diag([3, 1]))


# ------------------------------------------------------------------ running statistics


def test_running_stats_start_at_0_and_1():
    stats = RunningStats(3)
    np.testing.assert_array_equal(stats.mean, [0, 0, 0])
    np.testing.assert_array_equal(stats.var, [1, 1, 1])
    assert stats.num_batches == 0 and stats.momentum == 0.1 and stats.unbiased is True
    assert repr(stats) == "RunningStats(3, momentum=0.1, unbiased=True, num_batches=0)"


def test_momentum_weighs_the_new_value():
    stats = RunningStats(1, momentum=0.1)
    assert stats.update([[9.0], [11.0]]) is None  # mean 10, unbiased variance 2
    np.testing.assert_allclose(stats.mean, [1.0])
    np.testing.assert_allclose(stats.var, [1.1])
    stats.update([[9.0], [11.0]])
    np.testing.assert_allclose(stats.mean, [1.9])
    np.testing.assert_allclose(stats.var, [1.19])
    assert stats.num_batches == 2


def test_momentum_none_averages_all_batches():
    batches = [draw((6, 2, 3), seed=s) for s in range(5)]
    stats = RunningStats(2, momentum=None)
    for batch in batches:
        stats.update(batch)
    np.testing.assert_allclose(stats.mean, np.mean([b.mean(axis=(0, 2)) for b in batches], axis=0))
    np.testing.assert_allclose(stats.var, np.mean([b.var(axis=(0, 2), ddof=1) for b in batches], axis=0))


@pytest.mark.parametrize(("momentum", "mean", "var"), [(0.0, 0.0, 1.0), (1.0, 10.0, 2.0)])
def test_momentum_zero_freezes_and_one_keeps_the_last(momentum, mean, var):
    stats = RunningStats(1, momentum=momentum)
    stats.update([[100.0], [0.0]])
    stats.update([[9.0], [11.0]])
    np.testing.assert_allclose([stats.mean, stats.var], [[mean], [var]])
    assert stats.num_batches == 2


def test_the_biased_variance_is_an_option():
    x = draw((4, 3, 2))
    stats = RunningStats(3, momentum=1.0, unbiased=False)
    stats.update(x)
    np.testing.assert_allclose(stats.var, x.var(axis=(0, 2)))
    stats = RunningStats(3, momentum=1.0)
    stats.update(x)
    np.testing.assert_allclose(stats.var, x.var(axis=(0, 2), ddof=1))


def test_one_value_per_channel_needs_the_biased_variance():
    stats = RunningStats(2, momentum=1.0, unbiased=False)
    stats.update([[3.0, 4.0]])
    np.testing.assert_array_equal(stats.mean, [3, 4])
    np.testing.assert_array_equal(stats.var, [0, 0])


def test_a_refused_batch_changes_nothing():
    stats = RunningStats(2)
    for bad in (np.ones((1, 2)), np.ones((4, 3))):
        with pytest.raises(ValueError):
            stats.update(bad)
    assert stats.num_batches == 0
    np.testing.assert_array_equal(stats.mean, [0, 0])


def test_an_update_leaves_batch_and_old_statistics_alone():
    x = draw((4, 2))
    before, stats = x.copy(), RunningStats(2, momentum=1.0)
    mean, var = stats.mean, stats.var
    stats.update(x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal([mean, var], [[0, 0], [1, 1]])
    assert not np.shares_memory(stats.mean, x)


def test_float16_batches_are_averaged_in_float64():
    stats = RunningStats(1, momentum=1.0)
    stats.update(np.full((4096, 1), 100, np.float16))
    assert stats.mean.dtype == stats.var.dtype == np.float64
    assert stats.mean == 100 and stats.var == 0


# ------------------------------------------------------------------ against PyTorch, where there is one


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_every_norm_agrees_with_pytorch(torch):
    x, gamma, beta = draw((3, 4, 5, 6)), draw(4, seed=1), draw(4, seed=2)
    t, tg, tb = (torch.from_numpy(a) for a in (x, gamma, beta))
    F = torch.nn.functional
    pairs = [
        (batch_norm(x, gamma, beta).y, F.batch_norm(t, None, None, tg, tb, training=True)),
        (group_norm(x, 2, gamma, beta).y, F.group_norm(t, 2, tg, tb)),
        (instance_norm(x, gamma, beta).y, F.instance_norm(t, weight=tg, bias=tb)),
        (layer_norm(x).y, F.layer_norm(t, (6,))),
        (layer_norm(x, axis=(1, 2, 3), eps=0.1).y, F.layer_norm(t, (4, 5, 6), eps=0.1)),
        (rms_norm(x, eps=1e-5).y, F.rms_norm(t, (6,), eps=1e-5)),
        (rms_norm(x, axis=(2, 3), eps=1e-5).y, F.rms_norm(t, (5, 6), eps=1e-5)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-12)


def test_layer_norm_parameters_agree_with_pytorch(torch):
    x, gamma, beta = draw((3, 4, 5)), draw((4, 5), seed=1), draw((4, 5), seed=2)
    theirs = torch.nn.functional.layer_norm(*map(torch.from_numpy, (x,)), (4, 5), *map(torch.from_numpy, (gamma, beta)))
    np.testing.assert_allclose(layer_norm(x, gamma, beta, axis=(1, 2)).y, theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize("dim", [None, 0, 1, 2])
def test_weight_norm_agrees_with_the_dim_of_pytorch(torch, dim):
    v = draw((3, 4, 2))
    sizes = () if dim is None else tuple(n if a == dim else 1 for a, n in enumerate(v.shape))
    g = np.abs(draw(sizes, seed=1)) + 0.5
    theirs = torch._weight_norm(torch.from_numpy(v), torch.from_numpy(np.asarray(g)), -1 if dim is None else dim)
    np.testing.assert_allclose(weight_norm(v, g if dim is None else g.ravel(), axis=dim), theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize("momentum", [0.1, 0.0, None])
def test_running_stats_agree_with_pytorch(torch, momentum):
    layer, ours = torch.nn.BatchNorm2d(3, momentum=momentum).double(), RunningStats(3, momentum=momentum)
    for seed in range(4):
        x = draw((5, 3, 2, 2), seed)
        ours.update(x)
        layer(torch.from_numpy(x))
    np.testing.assert_allclose(ours.mean, layer.running_mean.numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.var, layer.running_var.numpy(), atol=1e-12)
    assert ours.num_batches == int(layer.num_batches_tracked)


def test_running_stats_refuse_what_pytorch_refuses(torch):
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        torch.nn.BatchNorm1d(3)(torch.zeros(1, 3))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        RunningStats(3).update(np.zeros((1, 3)))


# ------------------------------------------------------------------ the module itself


def test_norms_can_be_copied_with_one_private_module(tmp_path, monkeypatch):
    package = tmp_path / "lifted_norms"
    package.mkdir()
    for name in ("norms.py", "_numerics.py"):
        shutil.copy(Path(norms.__file__).with_name(name), package)
    monkeypatch.syspath_prepend(tmp_path)
    lifted = importlib.import_module("lifted_norms.norms")
    np.testing.assert_array_equal(lifted.batch_norm([[1.0], [3.0]], eps=0).y, [[-1], [1]])


def test_functions_document_shapes_errors_and_source():
    for name in norms.__all__:
        text = inspect.getdoc(getattr(norms, name))
        assert text and "built-in" not in text
        if not issubclass(type(getattr(norms, name)), type):
            assert "Parameters" in text and "Returns" in text and "Raises" in text
            assert "arXiv:" in text


def test_power_iteration_bears_a_zero_column():
    w = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0]])
    assert norms.power_iteration(w, n_iter=60).sigma == pytest.approx(np.linalg.norm(w, 2))
