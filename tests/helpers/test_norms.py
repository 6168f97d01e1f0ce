"""helpers/norms.py: every norm against its definition, by property and by hand-worked numbers."""

import importlib
import shutil
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

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
from tests.shared import draw


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
    "group 2": (lambda x, **k: group_norm(x, 2, **k), lambda x: index(x, 0) * 2 + index(x, 1) // (x.shape[1] // 2)),
    "instance": (instance_norm, lambda x: index(x, 0) * 100 + index(x, 1)),
}
every_norm = pytest.mark.parametrize("name", NORMS)
every_shape = pytest.mark.parametrize("shape", [(4, 6), (3, 4, 6), (2, 4, 3, 3)], ids=str)


@every_norm
@every_shape
def test_every_group_is_standardized_by_its_own_statistics(name, shape):
    x = draw(shape)
    ids = NORMS[name][1](x).reshape(x.shape)
    expected = np.empty_like(x)
    for group in np.unique(ids):
        members = x[ids == group]
        center = 0 if name == "rms" else sum(members) / len(members)
        spread = sum((members - center) ** 2) / len(members)
        expected[ids == group] = (members - center) / (spread + 1e-3) ** 0.5
    result = NORMS[name][0](x, eps=1e-3)
    assert_allclose(result.y, expected, atol=1e-12)
    assert {(kept.ndim, kept.size) for kept in result[1:]} == {(x.ndim, len(np.unique(ids)))}


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        (lambda: batch_norm([[1.0, 10.0], [3.0, 30.0]], eps=0), ([[-1, -1], [1, 1]], [[2, 20]], [[1, 100]])),
        # 1, 2, 3, 6: mean 3, deviations -2 -1 0 3, squares 4 1 0 9, variance 14/4; sqrt(3.5 + 0.5) = 2
        (lambda: layer_norm([1.0, 2.0, 3.0, 6.0], eps=0.5), ([-1, -0.5, 0, 1.5], [3], [3.5])),
        # 1, 7: mean square 25, with eps 36
        (lambda: rms_norm([[1.0, 7.0]], eps=0), ([[0.2, 1.4]], [[5]])),
        (lambda: rms_norm([1.0, 7.0], eps=11.0), ([1 / 6, 7 / 6], [6])),
        # groups (0, 2) and (10, 30), neighbors and not interleaved
        (lambda: group_norm([[0.0, 2.0, 10.0, 30.0]], 2, eps=0), ([[-1, 1, -1, 1]], [[1, 20]], [[1, 100]])),
        (
            lambda: instance_norm([[[0.0, 2.0], [10.0, 30.0]]], eps=0),
            ([[[-1, 1], [-1, 1]]], [[[1], [20]]], [[[1], [100]]]),
        ),
        # one value for each mean: variance 0, and beta is what remains
        (lambda: batch_norm([[3.0, 4.0]], beta=[1.0, 2.0]), ([[1, 2]], [[3, 4]], [[0, 0]])),
        (lambda: instance_norm([[3.0], [4.0]], beta=[1.0]), ([[1], [1]], [[3], [4]], [[0], [0]])),
    ],
)
def test_norms_worked_by_hand(norm, expected):
    for got, by_hand in zip(norm(), expected, strict=True):
        assert_allclose(got, by_hand, rtol=1e-15)


@every_norm
def test_the_stated_default_eps_is_used(name):
    norm, x = NORMS[name][0], draw((2, 4, 3, 3)) * 1e-3
    assert_array_equal(norm(x).y, norm(x, eps=1e-5).y)
    assert np.abs(norm(x).y - norm(x, eps=2e-5).y).max() > 1e-3
    assert np.isnan(norm(0 * x, eps=0).y).all()
    assert np.isnan(norm(np.float16(0 * x), eps=1e-8).y).all()  # which is 0 in float16


@pytest.mark.parametrize("shape", [(4,), (1, 4), (1, 4, 1, 1), (), (1,)], ids=str)
@pytest.mark.parametrize("norm", [batch_norm, lambda x, *a: group_norm(x, 2, *a), instance_norm])
def test_channel_norms_take_gamma_and_beta_per_channel(norm, shape):
    x = draw((2, 4)) if len(shape) == 2 else draw((2, 4, 3, 4))  # as wide as there are channels
    gamma, beta = draw(shape, seed=3), draw(shape, seed=4)
    per_channel = (1, -1) + (1,) * (x.ndim - 2)
    expected = norm(x).y * gamma.reshape(per_channel) + beta.reshape(per_channel)
    assert_allclose(norm(x, gamma, beta).y, expected, atol=1e-12)


@pytest.mark.parametrize(
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
    plain, scaled = layer_norm(x, axis=axis), layer_norm(x, gamma, beta, axis=axis)
    assert_allclose(scaled.y, plain.y * gamma.reshape(aligned) + beta.reshape(aligned), atol=1e-12)
    assert_array_equal(scaled[1:], plain[1:])  # the statistics do not notice
    assert_allclose(rms_norm(x, gamma, axis=axis).y, rms_norm(x, axis=axis).y * gamma.reshape(aligned), atol=1e-12)


@every_norm
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, bool])
def test_floats_come_back_and_integers_become_float64(name, dtype):
    norm, x = NORMS[name][0], (3 * draw((2, 4, 3, 3)) + 99 * (dtype == np.uint8)).astype(dtype)
    expected = np.dtype(dtype if np.dtype(dtype).kind == "f" else np.float64)
    result, upcast = norm(x), norm(x, compute_dtype=np.float32)
    assert {a.dtype for a in result} == {expected}
    assert upcast.y.dtype == expected
    assert {a.dtype for a in upcast[1:]} == {np.dtype(np.float32)}
    if dtype != np.float16:
        assert_allclose(result.y, norm(x.astype(np.float64)).y, atol=1e-5)


@every_norm
def test_lists_and_any_memory_order_are_accepted(name):
    norm, x = NORMS[name][0], draw((2, 4, 3, 6))
    for same in (x.tolist(), np.asfortranarray(x), np.repeat(x, 2, axis=-1)[..., ::2]):
        assert_allclose(norm(same).y, norm(x).y, atol=1e-12)


@every_norm
def test_float16_upcast_to_float32_rounds_only_once(name):
    x = draw((2, 4, 3, 3), dtype=np.float16)
    exact = NORMS[name][0](x.astype(np.float64)).y
    y = NORMS[name][0](x, compute_dtype=np.float32).y
    assert_allclose(y.astype(np.float64), exact, rtol=2**-11 * 1.01, atol=1e-6)


@pytest.mark.parametrize(("value", "y", "rms"), [(300, 0, np.inf), (1e-4, np.inf, 0), (0, np.nan, 0)])
def test_float16_rms_norm_fails_beyond_its_range_and_not_after_an_upcast(value, y, rms):
    x = np.full((1, 8), value, np.float16)
    assert_array_equal(rms_norm(x, eps=1e-8).y, np.full((1, 8), y))
    assert rms_norm(x, eps=1e-8).rms == rms
    value = float(x[0, 0])
    upcast = rms_norm(x, eps=1e-8, compute_dtype=np.float32).y
    assert_allclose(upcast, value / np.sqrt(value**2 + 1e-8), rtol=1e-3)


def test_float16_sums_round_every_partial_sum_to_float16():
    x = np.array([[2048, 0.5, 1, 0.5]], np.float16)  # 2048 + 1 is 2048 in float16, and so is 2048 + 1 again
    assert layer_norm(x).mean == batch_norm(x.T).mean == group_norm(x, 1).mean == 512
    assert x.mean(dtype=np.float32) == 512.5


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
    assert_allclose(layer_norm(x, gamma=1e5, eps=3, compute_dtype=np.float32).y, 5e4 * x, rtol=1e-3)


def test_long_float16_sums_add_every_term_once_and_divide_by_any_count():
    for count in range(1, 20):
        x = np.arange(1, count + 1, dtype=np.float16)
        assert layer_norm(x).mean == np.float16((count + 1) / 2)
        assert layer_norm(x.reshape(1, count, 1), axis=(0, 1)).mean == np.float16((count + 1) / 2)
    assert batch_norm(np.full((70_000, 1), 0.5, np.float16)).mean == 0.5  # 70 000 is beyond float16


def test_overflow_and_division_by_zero_emit_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (300, 6e4, 1e-4, 0):
            for norm, _ in NORMS.values():
                norm(np.full((2, 4), value, np.float16), eps=1e-8)
        layer_norm(np.array([[1e300, -1e300]]), compute_dtype=np.float16)
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
    assert_allclose(upcast.y.astype(np.float64), exact, rtol=2**-8 * 1.01, atol=1e-5)


@every_norm
def test_a_large_mean_costs_no_digits_of_variance(name):
    x = (draw((4, 4, 8, 8)) + 1e4).astype(np.float32)
    result = NORMS[name][0](x)
    exact = NORMS[name][0](x.astype(np.float64))
    assert_allclose(result[-1], exact[-1], rtol=1e-5)
    assert_allclose(result.y, exact.y, atol=2e-3)


def test_layer_norm_of_long_float32_rows_is_accurate_in_twice_their_memory():
    x = draw((512, 1024), dtype=np.float32)
    assert_allclose(layer_norm(x).y, layer_norm(x.astype(np.float64)).y, atol=2e-6)
    assert peak_memory(lambda: layer_norm(x)) <= 2 * x.nbytes


def peak_memory(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every_norm
def test_inputs_stay_and_share_no_memory(name):
    x = draw((2, 4, 3, 3))
    before = x.copy()
    x.flags.writeable = False
    for array in NORMS[name][0](x):
        assert not np.shares_memory(array, x)
        array += 1
    assert_array_equal(x, before)


def test_weight_norm_gives_3_4_the_length_g():
    assert_allclose(weight_norm([3.0, 4.0], 2.0), [1.2, 1.6], rtol=1e-15)
    assert abs(np.linalg.norm(weight_norm(draw((3, 4, 2)), 5.0)) - 5) < 1e-12


@pytest.mark.parametrize(("axis", "others"), [(0, (1, 2)), (1, (0, 2)), (2, (0, 1)), (-1, (0, 1))])
def test_weight_norm_keeps_its_axis(axis, others):
    v = draw((3, 4, 2))
    g = np.arange(1.0, v.shape[axis] + 1)
    w = weight_norm(v, g, axis=axis)
    assert_allclose(np.sqrt((w**2).sum(axis=others)), g, rtol=1e-12)
    ratio = w / v
    for k in range(v.shape[axis]):
        assert np.ptp(ratio.take(k, axis=axis)) < 1e-12 and ratio.take(k, axis=axis).min() > 0


@given(st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_weight_norm_ignores_the_length_of_v_and_the_shape_of_g(scale, g):
    v = draw((3, 4))
    for same in (g, [g] * 3, [[g]] * 3):
        assert_allclose(weight_norm(scale * v, same, axis=0), weight_norm(v, g, axis=0), atol=1e-12)


def test_weight_standardization_worked_by_hand():
    assert_array_equal(weight_standardization([[1.0, 3.0], [10.0, 30.0]], [2.0, 3.0], eps=0), [[-2, 2], [-3, 3]])
    assert_array_equal(weight_standardization([[3.0], [4.0]]), [[0], [0]])
    assert_allclose(weight_standardization([[-1e-3, 1e-3]]), [[-1, 1]] / np.sqrt(1 + 1e-5 / 1e-6), rtol=1e-12)


@pytest.mark.parametrize("gain_shape", [(4,), (4, 1, 1), ()], ids=str)
def test_weight_standardization_gives_mean_0_and_variance_gain_squared(gain_shape):
    gain = draw(gain_shape, seed=1)
    w = weight_standardization(draw((4, 3, 5)), gain, eps=0).reshape(4, -1)
    assert_allclose(w.mean(axis=1), 0, atol=1e-12)
    assert_allclose(w.var(axis=1), gain.ravel() ** 2 * np.ones(4), rtol=1e-12)


def test_float16_weights_overflow_where_float16_does():
    v, w = np.float16([300, 400]), (300 * draw((4, 6))).astype(np.float16)
    before = w.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (weight_norm(v, 1.0) == 0).all()
        assert (weight_standardization(w) == 0).all()  # the sum of squares is inf
        assert np.isnan(weight_standardization(0 * w, eps=1e-8)).all()  # eps is 0
    for upcast, exact in (
        (weight_norm(v, 5.0, compute_dtype=np.float32), [3, 4]),
        (weight_standardization(w, compute_dtype=np.float32), weight_standardization(w.astype(np.float64))),
    ):
        assert upcast.dtype == np.float16
        assert_allclose(upcast, exact, atol=2e-3)
    assert_array_equal(w, before)


def test_power_iteration_follows_the_papers_products():
    w = draw((4, 3))
    u = start = np.array([1.0, 2.0, 3.0, 4.0])
    expected = []
    got = power_iteration(w, n_iter=3, u=u)
    for _ in range(3):
        v = w.T @ u / np.linalg.norm(w.T @ u)
        u = w @ v / np.linalg.norm(w @ v)
        expected.append(u @ w @ v)
    for ours, by_hand in zip((got.history, got.u, got.v, got.sigma), (expected, u, v, expected[-1]), strict=True):
        assert_allclose(ours, by_hand, rtol=1e-13)
    assert_allclose(power_iteration(w, n_iter=3, u=1e200 * start).history, expected)
    assert_array_equal(start, [1, 2, 3, 4])


def test_power_iteration_takes_seeds_and_generators():
    w = draw((4, 4))
    assert len(power_iteration(w).history) == 20
    same = {power_iteration(w, n_iter=1, rng=r).sigma for r in (None, 0, np.random.default_rng(0))}
    assert same == {power_iteration(w, n_iter=1).sigma} != {power_iteration(w, n_iter=1, rng=1).sigma}


def test_power_iteration_bears_zeros_and_extreme_scales():
    sigma, u, v, _ = power_iteration([[0.0, 2.0], [3.0, 0.0]], n_iter=1, u=[1.0, 0.0])
    assert sigma == 2
    assert_array_equal([u, v], [[1, 0], [0, 1]])
    sigma, u, v, history = power_iteration(np.zeros((2, 3)), n_iter=4, u=[3.0, 4.0])
    assert sigma == 0 and (history == 0).all()
    assert_allclose(u, [0.6, 0.8])
    assert_array_equal(v, [0, 0, 0])
    w = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0]])
    assert_allclose(power_iteration(w, n_iter=60).sigma, np.linalg.norm(w, 2))
    for scale in (1e-200, 1e200):
        assert_allclose(power_iteration(scale * np.diag([2.0, 1.0])).sigma, 2 * scale)


@pytest.mark.parametrize(("dtype", "used"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8")])
def test_linear_algebra_keeps_dtype_except_float16(dtype, used):
    w = np.diag([3, 1]).astype(dtype)
    result, divided = power_iteration(w), spectral_norm(w)
    assert {np.asarray(a).dtype for a in (*result, divided.sigma)} == {np.dtype(used)}
    assert divided.w.dtype == (dtype if dtype != "i4" else "f8")
    assert abs(result.sigma - 3) < 1e-6
    assert spectral_norm(w, compute_dtype=np.float64).sigma.dtype == np.float64
    assert_array_equal(w, np.diag([3, 1]))


@given(arrays(np.float64, (4, 3), elements=st.floats(0.1, 10)), st.sampled_from([-1, 1]))
def test_spectral_norm_leaves_singular_value_one(w, sign):
    result = spectral_norm((sign * w).reshape(4, 3, 1))
    assert abs(np.linalg.svd(result.w[..., 0], compute_uv=False)[0] - 1) < 1e-12
    assert_allclose(result.w[..., 0] * result.sigma, sign * w, atol=1e-12)
    assert result.u[np.abs(result.u).argmax()] > 0
    assert_allclose(np.linalg.norm(result.u @ result.w[..., 0]), 1)


def test_power_iterations_norm_divides_by_its_estimate():
    w = draw((4, 4))
    result = spectral_norm(w, n_iter=2, rng=3)
    expected = power_iteration(w, n_iter=2, rng=3)
    assert abs(result.sigma / expected.sigma - 1) < 1e-12
    assert_allclose(result.u, expected.u)
    assert_allclose(result.w, w / expected.sigma)
    assert np.linalg.svd(result.w, compute_uv=False)[0] > 1


def test_spectral_norm_of_wide_matrices_saves_memory():
    w = draw((4, 2000))  # all 2000 right singular vectors would take 500 times as much
    assert peak_memory(lambda: spectral_norm(w)) < 10 * w.nbytes


def test_momentum_weighs_the_new_value():
    stats = RunningStats(1)
    assert repr(stats) == "RunningStats(1, momentum=0.1, unbiased=True, num_batches=0)"
    assert (stats.mean, stats.var, stats.num_batches) == (0, 1, 0)
    assert stats.update([[9.0], [11.0]]) is None  # mean 10, unbiased variance 2
    assert_allclose([stats.mean, stats.var], [[1.0], [1.1]])
    stats.update([[9.0], [11.0]])
    assert_allclose([stats.mean, stats.var], [[1.9], [1.19]])
    assert stats.num_batches == 2


@pytest.mark.parametrize("unbiased", [True, False])
def test_momentum_none_averages_all_batches_and_1_keeps_the_last(unbiased):
    batches = [draw((6, 2, 3), seed=s) for s in range(5)]
    average, last, frozen = (RunningStats(2, momentum=m, unbiased=unbiased) for m in (None, 1.0, 0))
    for batch in batches:
        for stats in (average, last, frozen):
            stats.update(batch)
    means, variances = zip(
        *((b.mean(axis=(0, 2)), b.var(axis=(0, 2), ddof=int(unbiased))) for b in batches), strict=True
    )
    assert_allclose([average.mean, average.var], [np.mean(means, axis=0), np.mean(variances, axis=0)])
    assert_allclose([last.mean, last.var], [means[-1], variances[-1]])
    assert_array_equal([frozen.mean, frozen.var], [[0, 0], [1, 1]])


def test_one_value_per_channel_needs_the_biased_variance():
    biased, stats = RunningStats(2, momentum=1.0, unbiased=False), RunningStats(2)
    biased.update([[3.0, 4.0]])
    assert_array_equal([biased.mean, biased.var], [[3, 4], [0, 0]])
    for bad in (np.ones((1, 2)), np.ones((4, 3))):
        with pytest.raises(ValueError):
            stats.update(bad)
    assert (stats.num_batches, *stats.mean) == (0, 0, 0)  # a refused batch changes nothing


def test_an_update_leaves_batch_and_old_statistics_alone():
    x = np.full((4096, 1), 100, np.float16)  # averaged in float64
    stats = RunningStats(1, momentum=1.0)
    mean, var = stats.mean, stats.var
    stats.update(x)
    assert (x == 100).all() and (mean, var) == (0, 1)
    assert stats.mean.dtype == stats.var.dtype == np.float64
    assert (stats.mean, stats.var) == (100, 0)


def test_norms_can_be_copied_with_one_private_module(tmp_path, monkeypatch):
    package = tmp_path / "lifted_norms"
    package.mkdir()
    for name in ("norms.py", "_numerics.py"):
        shutil.copy(Path(norms.__file__).with_name(name), package)
    monkeypatch.syspath_prepend(tmp_path)
    lifted = importlib.import_module("lifted_norms.norms")
    assert_array_equal(lifted.batch_norm([[1.0], [3.0]], eps=0).y, [[-1], [1]])
