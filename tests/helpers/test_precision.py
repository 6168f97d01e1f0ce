"""helpers/precision.py: formats, five variances, casting orders."""

import importlib.util
import inspect
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import norms, precision
from helpers.precision import (
    VARIANCES,
    Moments,
    float_info,
    merge_variances,
    neighbors,
    rms_norm_cast,
    round_to,
    to_bfloat16,
    var_chan,
    var_one_pass,
    var_shifted,
    var_two_pass,
    var_welford,
)
from tests.shared import for_each

few = settings(derandomize=True, deadline=None, max_examples=50)
every_variance = for_each("var", VARIANCES.values(), ids=VARIANCES)
stable_variance = pytest.mark.parametrize("var", [var_shifted, var_two_pass, var_welford, var_chan])


def rows(mean, shape=(200, 256), seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(mean, 1.0, shape).astype(dtype)


def any_float32(count=100_000, seed=0):
    """Random bit patterns: every exponent, subnormals, inf and NaN among them."""
    bits = np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-45], np.float32)
    nan_that_would_carry = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    return np.concatenate([bits.view(np.float32), special, nan_that_would_carry])


# ------------------------------------------------------------------ formats


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_facts_agree_with_numpy_finfo(dtype):
    info, finfo = float_info(dtype), np.finfo(dtype)
    assert info.bits == finfo.bits and info.precision == finfo.nmant + 1
    assert info.max == finfo.max and info.eps == finfo.eps
    assert info.smallest_normal == finfo.smallest_normal
    assert info.smallest_subnormal == finfo.smallest_subnormal


def test_facts_of_bfloat16():
    info = float_info("bfloat16")
    assert (info.bits, info.precision, info.eps) == (16, 8, 2.0**-7)
    assert info.smallest_normal == 2.0**-126 and info.smallest_subnormal == 2.0**-133
    assert info.max == (2 - 2.0**-7) * 2.0**127


def test_facts_of_bfloat16_agree_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    info, finfo = float_info(ml_dtypes.bfloat16), ml_dtypes.finfo(ml_dtypes.bfloat16)
    assert info.max == float(finfo.max) and info.eps == float(finfo.eps)
    assert info.smallest_normal == float(finfo.smallest_normal)
    assert info.smallest_subnormal == float(finfo.smallest_subnormal)


@for_each(
    ("x", "stored"),
    [(1e-5, 168 * 2.0**-24), (1e-6, 17 * 2.0**-24), (1e-7, 2 * 2.0**-24), (1e-8, 0.0), (1e-12, 0.0)],
)
def test_common_eps_values_as_float16_stores_them(x, stored):
    assert neighbors(x, "float16").nearest == stored == float(np.float16(x))


def test_float16_rounds_up_above_half_its_smallest_number():
    assert neighbors(2.0**-25, "float16").nearest == 0
    assert neighbors(2.99e-8, "float16").nearest == 2.0**-24


def test_bfloat16_keeps_a_small_eps_to_three_digits():
    assert [f"{neighbors(10.0**-k, 'bfloat16').nearest:.3e}" for k in (5, 6, 8, 12)] == [
        "1.001e-05",
        "9.984e-07",
        "1.001e-08",
        "1.002e-12",
    ]


@for_each("dtype", ["float16", "float32"])
@for_each(
    "x", [0.0, 1.0, -1.0, 1.5, 2.0, -2.0, 0.1, 1e-5, 6.2e-5, 2.0**-14, -(2.0**-14), 6e-8, 65504.0, -65504.0, 1e30]
)
def test_neighbors_agree_with_numpy_nextafter_and_spacing(dtype, x):
    with np.errstate(over="ignore"):
        stored = np.dtype(dtype).type(x)
        below, above = np.nextafter(stored, stored.dtype.type(-np.inf)), np.nextafter(stored, stored.dtype.type(np.inf))
        got = neighbors(x, dtype)
    assert (got.below, got.nearest, got.above) == (below, stored, above)
    if abs(x) < 65504:
        assert got.spacing == np.spacing(abs(stored))
    assert all(type(value) is float for value in got)


@few
@given(st.floats(-1e5, 1e5), st.sampled_from(["float16", "bfloat16", "float32"]))
def test_no_number_of_the_format_lies_between_neighbors(x, dtype):
    below, nearest, above, spacing = neighbors(x, dtype)
    if not np.isfinite([below, nearest, above]).all():
        return
    assert below < nearest < above
    assert abs(Fraction(x) - Fraction(nearest)) <= Fraction(spacing) / 2
    for low, high in ((below, nearest), (nearest, above)):
        assert round_to([low, high], dtype).tolist() == [low, high]
        assert round_to((low + high) / 2, dtype) in (low, high)
    assert neighbors(above, dtype).below == nearest and neighbors(below, dtype).above == nearest


def test_neighbors_of_bfloat16_one():
    assert neighbors(1, "bfloat16") == (1 - 2.0**-8, 1.0, 1 + 2.0**-7, 2.0**-7)
    assert neighbors(0, "bfloat16") == (-(2.0**-133), 0.0, 2.0**-133, 2.0**-133)


@for_each("one_number", [np.array(2.0), np.float16(2), np.array(2), np.uint8(2), Fraction(2)])
def test_neighbors_take_any_one_real_number(one_number):
    assert neighbors(one_number, "float16") == neighbors(2.0, "float16") == (2 - 2.0**-10, 2.0, 2 + 2.0**-9, 2.0**-9)


def test_neighbors_at_the_ends_of_the_range():
    assert neighbors(65504, "float16").above == np.inf
    assert neighbors(65472, "float16")[1:] == (65472, 65504, 32)
    assert neighbors(65519, "float16").nearest == 65504 and neighbors(65520, "float16").nearest == np.inf
    beyond = neighbors(1e6, "float16")
    assert beyond[:3] == (65504, np.inf, np.inf) and np.isnan(beyond.spacing)
    assert neighbors(-1e6, "float16")[:3] == (-np.inf, -np.inf, -65504)
    assert np.isnan(neighbors(float("nan"), "float16")).all()


def test_float16_squares_have_narrow_limits():
    finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16)  # every float16 from 0 to the largest
    with np.errstate(all="ignore"):
        squares = finite * finite
    assert finite[np.isfinite(squares)].max() == 255.875
    assert finite[squares > 0].min() == np.float16(1.7273e-4)
    assert neighbors(256, "float16").below == 255.875
    assert 1.7e-4 < neighbors(float(finite[squares > 0].min()), "float16").below < 1.7264e-4


def test_values_a_ten_thousandth_apart_collapse_to_one():
    assert round_to([1.0001, 1.0002, 1.0003, 1.0004], "float16").tolist() == [1, 1, 1, 1]
    assert round_to(1.0039, "bfloat16") == 1
    assert len(set(round_to([1.0001, 1.0002, 1.0003, 1.0004], "float32"))) == 4


# ------------------------------------------------------------------ rounding


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_round_to_agrees_with_numpy_casts(dtype):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = np.concatenate([rng.normal(size=20_000) * 10.0**power for power in (-42, -8, -5, 0, 4, 38)])
        x = np.concatenate([x, any_float32(20_000)])
        np.testing.assert_array_equal(round_to(x, dtype), x.astype(dtype).astype(np.float64))


def test_round_to_takes_ties_to_the_even_neighbor():
    assert round_to([2049, 2051, -2049], "float16").tolist() == [2048, 2052, -2048]
    assert round_to([257, 259], "bfloat16").tolist() == [256, 260]


def test_bfloat16_by_bits_agrees_with_the_spacing_formula():
    x = any_float32()
    by_bits = precision._to_bfloat16_by_bits(x)
    assert by_bits.dtype == np.float32
    np.testing.assert_array_equal(by_bits, round_to(x, "bfloat16").astype(np.float32))
    assert (np.signbit(by_bits) == np.signbit(x))[~np.isnan(x)].all()


def test_bfloat16_by_bits_agrees_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = any_float32()
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(precision._to_bfloat16_by_bits(x), expected)
    np.testing.assert_array_equal(to_bfloat16(x), expected)


@pytest.mark.parametrize("installed", [True, False])
def test_bfloat16_is_the_same_without_ml_dtypes(monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # makes the import fail
    elif importlib.util.find_spec("ml_dtypes") is None:
        pytest.skip("ml_dtypes is not installed")
    got = to_bfloat16([1.0, 1.0039, 1.004, 257, 1e39, -np.inf, np.nan])
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.float32([1, 1, 1.0078125, 256, np.inf, -np.inf, np.nan]))
    assert to_bfloat16(3).shape == () and to_bfloat16(np.ones((2, 3))).shape == (2, 3)


def test_one_plus_w_loses_w_in_bfloat16():
    assert to_bfloat16(1 + to_bfloat16(0.0039)) == 1
    assert to_bfloat16(np.float32(16.8125)) == 16.75


def test_a_bfloat16_sum_of_ones_stalls_at_256():
    total = np.float32(0)
    for _ in range(300):
        total = to_bfloat16(total + 1)
    assert total == 256


# ------------------------------------------------------------------ variances


@every_variance
@for_each("n", [1, 2, 3, 4, 5, 7, 16, 33])
def test_variances_are_biased_at_every_length(var, n):
    x = rows(0.5, (3, n), dtype=np.float64)
    np.testing.assert_allclose(var(x), x.var(axis=-1), atol=1e-14)


@every_variance
def test_variances_worked_by_hand(var):
    assert var([1.0, 2.0, 3.0, 6.0]) == 3.5
    assert var([5.0]) == 0
    assert var([[0, 2], [0, 4]]).tolist() == [1, 4]


@every_variance
@for_each("dtype", [np.float16, np.float32, np.float64])
def test_variances_keep_dtype_and_x(var, dtype):
    x = rows(1.0, (2, 3, 9), dtype=dtype)
    before = x.copy()
    x.flags.writeable = False
    result = var(x)
    assert result.shape == (2, 3) and result.dtype == dtype
    np.testing.assert_allclose(result, x.astype(np.float64).var(axis=-1), rtol=30 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(x, before)


@every_variance
def test_variances_of_tiny_numbers_have_all_their_digits(var):
    x = rows(0.5, (3, 9), dtype=np.float64)
    np.testing.assert_array_equal(var(2.0**-80 * x), 2.0**-160 * var(x))  # a power of two changes no digit


@every_variance
def test_variances_take_bfloat16(var):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = rows(0.0, (3, 16)).astype(ml_dtypes.bfloat16)
    result = var(x)
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(result.astype(np.float64), x.astype(np.float64).var(axis=-1), rtol=0.05)


def test_one_pass_variance_can_be_negative():
    var = var_one_pass(rows(1e4))
    assert 0.15 < (var < 0).mean() < 0.45
    exact = rows(1e4).astype(np.float64).var(axis=-1)
    assert np.median(np.abs(var - exact) / exact) > 3


def test_one_pass_error_grows_with_the_squared_mean():
    errors = []
    for mean in (100, 1000):
        exact = rows(mean).astype(np.float64).var(axis=-1)
        errors.append(np.median(np.abs(var_one_pass(rows(mean)) - exact) / exact))
    assert 1e-4 < errors[0] < 3e-3 and 1e-2 < errors[1] < 0.3
    assert 30 < errors[1] / errors[0] < 300


@pytest.mark.parametrize(
    ("var", "bound"), [(var_shifted, 3e-6), (var_two_pass, 3e-6), (var_chan, 1e-3), (var_welford, 3e-3)]
)
def test_four_methods_stay_accurate_at_mean_10_000(var, bound):
    exact = rows(1e4).astype(np.float64).var(axis=-1)
    assert (np.abs(var(rows(1e4)) - exact) / exact).max() < bound


def test_welford_is_less_accurate_than_two_passes():
    exact = rows(1e4).astype(np.float64).var(axis=-1)
    error = {name: np.median(np.abs(var(rows(1e4)) - exact)) for name, var in VARIANCES.items()}
    assert error["two pass"] < 0.01 * error["Welford"] and error["shifted"] < 0.01 * error["Welford"]
    assert error["Chan"] < error["Welford"] < 1e-4 * error["one pass"]


@stable_variance
@few
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20))
def test_stable_variances_are_nonnegative_and_ignore_constants(var, values):
    x = np.array(values)
    assert var(x) >= -1e-9
    np.testing.assert_allclose(var(x + 1024), x.var(), rtol=1e-8, atol=1e-8)


@stable_variance
def test_stable_variances_of_a_constant_row_are_zero(var):
    assert (var(np.full((2, 64), 1234.5, np.float32)) == 0).all()


def test_float16_variance_overflows_without_a_shift():
    x = np.full(4096, 100, np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.isfinite(var_two_pass(x))  # the sum, 409600, is inf
        assert var_shifted(x) == 0 and var_welford(x) == 0 and var_chan(x) == 0
        assert np.isnan(var_one_pass(np.float16([300, -300]))) or np.isinf(var_one_pass(np.float16([300, -300])))


def test_numpy_widens_float16_means_but_not_variances():
    x = np.full(4096, 100, np.float16)
    with np.errstate(all="ignore"):
        assert x.mean() == 100
        assert np.isinf(x.sum())
        assert not np.isfinite(x.var())
        assert x.var(dtype=np.float32) == 0


def test_variances_round_sums_to_xs_dtype():
    x = np.float16([2048, 0.5, 1, 0.5])  # 2048 + 1 is 2048 in float16
    assert precision._mean(x) == 512
    assert precision._mean(x.astype(np.float32)) == 512.5


@for_each("var", VARIANCES.values(), ids=VARIANCES)
@for_each(
    ("x", "message"),
    [
        (3.0, "x must have at least one value on its last axis, got shape ()"),
        (np.ones((2, 0)), "x must have at least one value on its last axis, got shape (2, 0)"),
        ([1j, 2], "x must hold real numbers, got dtype complex128"),
        (["a"], "x must hold real numbers, got dtype <U1"),
    ],
)
def test_variances_refuse_bad_input(var, x, message):
    with pytest.raises(ValueError) as error:
        var(x)
    assert str(error.value) == f"{var.__name__}: {message}"


# ------------------------------------------------------------------ merging


def parts(values):
    values = np.asarray(values, np.float64)
    return len(values), values.mean(), ((values - values.mean()) ** 2).sum()


def test_merging_two_parts_worked_by_hand():
    # (1, 3): mean 2, m2 2; (5, 7, 9): mean 7, m2 8; together mean 5, m2 16 + 4 + 0 + 4 + 16
    merged = merge_variances((2, 2.0, 2.0), (3, 7.0, 8.0))
    assert isinstance(merged, Moments) and merged._fields == ("n", "mean", "m2")
    assert merged.n == 5
    np.testing.assert_allclose([merged.mean, merged.m2, merged.var], [5, 40, 8])


@few
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9), st.lists(st.floats(-100, 100), min_size=1, max_size=9))
def test_merging_parts_gives_the_moments_of_the_whole(a, b):
    for merged in (merge_variances(parts(a), parts(b)), merge_variances(parts(b), parts(a))):
        np.testing.assert_allclose(merged, parts(a + b), atol=1e-7)


def test_merging_with_an_empty_part_changes_nothing():
    np.testing.assert_allclose(merge_variances((0, 0.0, 0.0), (3, 7.0, 8.0)), (3, 7, 8))
    np.testing.assert_allclose(merge_variances((3, 7.0, 8.0), (0, 0.0, 0.0)), (3, 7, 8))


def test_merging_works_per_channel_and_keeps_float32():
    x = rows(10.0, (4, 12))
    halves = [(6, h.mean(axis=-1), ((h - h.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)) for h in np.split(x, 2, 1)]
    merged = merge_variances(*halves)
    assert merged.mean.dtype == merged.m2.dtype == np.float32
    np.testing.assert_allclose(merged.mean, x.mean(axis=-1), rtol=1e-6)
    np.testing.assert_allclose(merged.var, x.var(axis=-1), rtol=1e-5)


@for_each(
    ("a", "b", "message"),
    [
        ((0, 0.0, 0.0), (0, 0.0, 0.0), "counts must be >= 0 and not both 0, got 0 and 0"),
        ((-1, 0.0, 0.0), (2, 0.0, 0.0), "counts must be >= 0 and not both 0, got -1 and 2"),
        ((1, 0.0), (2, 0.0, 0.0), "expected two triples (n, mean, m2)"),
        (1, (2, 0.0, 0.0), "expected two triples (n, mean, m2)"),
        ((np.array([3, -1]), 0.0, 0.0), (2, 0.0, 0.0), "counts must be >= 0 and not both 0, got [ 3 -1] and 2"),
        ((2, 0.0, 0.0), (np.array([3, -1]), 0.0, 0.0), "counts must be >= 0 and not both 0, got 2 and [ 3 -1]"),
        ((np.array([0, 1]), 0.0, 0.0), (0, 0.0, 0.0), "counts must be >= 0 and not both 0, got [0 1] and 0"),
    ],
)
def test_merging_refuses_bad_parts(a, b, message):
    with pytest.raises(ValueError) as error:
        merge_variances(a, b)
    assert str(error.value) == f"merge_variances: {message}"


# ------------------------------------------------------------------ casting orders of RMSNorm

HALF_FORMATS = for_each("dtype", ["float16", "bfloat16"])


@HALF_FORMATS
@for_each("order", ["llama", "gemma", "pure"])
def test_every_order_is_near_the_exact_result(order, dtype):
    x, weight = round_to(rows(0.0, (50, 64)), dtype), round_to(rows(1.0, (64,), seed=1), dtype)
    exact = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * weight
    got = rms_norm_cast(x, weight, order=order, dtype=dtype)
    assert got.dtype == np.float32 and got.shape == x.shape
    np.testing.assert_array_equal(got, round_to(got, dtype))
    error = np.abs(got - exact) / np.abs(exact)
    half_spacing = float_info(dtype).eps / 2
    assert error.max() < {"gemma": 1.01, "llama": 2.01, "pure": 8}[order] * half_spacing + 1e-4 * (dtype == "float16")


@pytest.mark.parametrize("order", ["llama", "gemma", "pure"])
def test_every_order_normalizes_rows_of_the_last_axis(order):
    x, weight = rows(0.0, (2, 3, 5)), rows(1.0, (5,), seed=1)
    row_by_row = [[rms_norm_cast(row, weight, order=order) for row in matrix] for matrix in x]
    np.testing.assert_array_equal(rms_norm_cast(x, weight, order=order), row_by_row)


@HALF_FORMATS
def test_one_cast_is_more_accurate_than_two(dtype):
    x, weight = round_to(rows(0.0, (300, 256)), dtype), round_to(1 + 0.2 * rows(0.0, (256,), seed=1), dtype)
    exact = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * weight
    outputs = {o: rms_norm_cast(x, weight, order=o, dtype=dtype) for o in ("gemma", "llama", "pure")}
    gemma, llama, pure = (np.mean(np.abs(y - exact) / np.abs(exact)) for y in outputs.values())
    assert gemma < llama < pure
    assert 1.2 < llama / gemma < 1.6
    assert 0.15 < (outputs["llama"] != outputs["gemma"]).mean() < 0.4


def test_llama_and_gemma_round_as_their_formulas_say():
    x, weight = rows(0.0, (20, 32), dtype=np.float16), rows(1.0, (32,), seed=1, dtype=np.float16)
    y = norms.rms_norm(x, eps=1e-6, compute_dtype=np.float32).y  # normalized in float32, cast down
    np.testing.assert_array_equal(rms_norm_cast(x, weight, order="llama", dtype="float16"), y * weight)
    y = norms.rms_norm(x, weight, eps=1e-6, compute_dtype=np.float32).y
    np.testing.assert_array_equal(rms_norm_cast(x, weight, order="gemma", dtype="float16"), y)


def test_llama_and_gemma_agree_at_weight_one():
    x, one = rows(0.0, (20, 32)), np.ones(32)
    np.testing.assert_array_equal(
        rms_norm_cast(x, one, order="llama"), rms_norm_cast(x, one, order="gemma", dtype="bfloat16")
    )
    assert (rms_norm_cast(x, one, order="pure") != rms_norm_cast(x, one, order="llama")).any()


@pytest.mark.parametrize("n", [32, 33, 7, 1])
def test_pure_float16_equals_arithmetic_in_numpy_float16(n):
    x, weight = rows(0.0, (500, n), dtype=np.float16), rows(1.0, (n,), seed=1, dtype=np.float16)
    for eps in (1e-3, 0.3):
        y = norms.rms_norm(x, weight, eps=eps).y
        np.testing.assert_array_equal(rms_norm_cast(x, weight, order="pure", dtype="float16", eps=eps), y)


def test_pure_bfloat16_equals_arithmetic_in_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = rows(0.0, (20, 33)).astype(ml_dtypes.bfloat16)
    weight = rows(1.0, (33,), seed=1).astype(ml_dtypes.bfloat16)
    y = norms.rms_norm(x, weight, eps=1e-3).y.astype(np.float32)
    np.testing.assert_array_equal(rms_norm_cast(x, weight, order="pure", eps=1e-3), y)


@pytest.mark.parametrize(("value", "pure"), [(300, 0.0), (1e-4, np.inf), (0, np.nan)])
def test_pure_float16_fails_unlike_llama_and_gemma(value, pure):
    x, one = np.full((1, 8), value), np.ones(8)
    np.testing.assert_array_equal(rms_norm_cast(x, one, order="pure", dtype="float16", eps=1e-8), np.full((1, 8), pure))
    stored = float(np.float16(value))
    for order in ("llama", "gemma"):
        got = rms_norm_cast(x, one, order=order, dtype="float16", eps=1e-8)
        np.testing.assert_allclose(got, stored / np.sqrt(stored**2 + 1e-8), rtol=1e-3)


def test_llama_order_of_1e_4_in_float16():
    got = rms_norm_cast(np.full((1, 8), 1e-4), np.ones(8), order="llama", dtype="float16", eps=1e-6)
    np.testing.assert_allclose(got, 0.0995, atol=1e-4)


@pytest.mark.parametrize("order", ["llama", "gemma", "pure"])
def test_every_order_may_do_without_eps(order):
    np.testing.assert_array_equal(rms_norm_cast([[3.0, -3.0]], [1, 2], order=order, eps=0), [[1, -2]])


def test_rms_norm_cast_defaults():
    defaults = {k: p.default for k, p in inspect.signature(rms_norm_cast).parameters.items()}
    assert (defaults["order"], defaults["dtype"], defaults["eps"]) == ("llama", "bfloat16", 1e-6)


# ------------------------------------------------------------------ bad input


@for_each(
    ("call", "message"),
    [
        (lambda: float_info("float8"), "dtype must be one of float16, bfloat16, float32, got 'float8'"),
        (lambda: float_info(np.float64), "dtype must be one of float16, bfloat16, float32, got <class"),
        (lambda: float_info(3), "dtype must be one of float16, bfloat16, float32, got 3"),
        (lambda: neighbors(1.0, "half"), "dtype must be one of"),
        (lambda: neighbors([1.0, 2.0], "float16"), "neighbors: x must be one real number, got [1.0, 2.0]"),
        (lambda: neighbors("1", "float16"), "neighbors: x must be one real number, got '1'"),
        (lambda: neighbors(1j, "float16"), "neighbors: x must be one real number, got 1j"),
        (lambda: round_to(1.0, "float64"), "dtype must be one of"),
        (lambda: round_to([1j], "float16"), "round_to: x must hold real numbers, got dtype complex128"),
        (lambda: to_bfloat16(["a"]), "to_bfloat16: x must hold real numbers, got dtype <U1"),
        (
            lambda: rms_norm_cast(np.ones(3), np.ones(3), order="c"),
            "rms_norm_cast: order must be 'llama', 'gemma' or 'pure', got 'c'",
        ),
        (
            lambda: rms_norm_cast(np.ones(3), np.ones(3), dtype="float32"),
            "rms_norm_cast: dtype must be 'bfloat16' or 'float16', got 'float32'",
        ),
        (lambda: rms_norm_cast(np.ones((2, 2, 3)), np.ones(2)), "rms_norm_cast: weight has shape (2,), expected (3,)"),
        (lambda: rms_norm_cast(np.ones(3), ["a"] * 3), "rms_norm_cast: weight must hold real numbers, got dtype <U1"),
        (lambda: rms_norm_cast(np.ones((2, 0)), np.ones(0)), "rms_norm_cast: x must have at least one value"),
        (
            lambda: rms_norm_cast(np.ones(3), np.ones(3), eps=-1.0),
            "rms_norm_cast: eps must be a finite number >= 0, got -1.0",
        ),
        (
            lambda: rms_norm_cast(np.ones(3), np.ones(3), eps=np.nan),
            "rms_norm_cast: eps must be a finite number >= 0, got nan",
        ),
        (
            lambda: rms_norm_cast(np.ones(3), np.ones(3), eps=np.inf),
            "rms_norm_cast: eps must be a finite number >= 0, got inf",
        ),
    ],
)
def test_bad_input_is_told_what_was_expected(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert message in str(error.value)
