"""helpers/precision.py: formats, five variances, casting orders."""

import importlib.util
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

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

every_variance = pytest.mark.parametrize("var", VARIANCES.values(), ids=VARIANCES)
every_order = pytest.mark.parametrize("order", ["llama", "gemma", "pure"])


def rows(mean, shape=(200, 256), seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(mean, 1.0, shape).astype(dtype)


def any_float32(count=20_000, seed=0):
    """Random bit patterns: every exponent, subnormals, inf and NaN among them."""
    bits = np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-45], np.float32)
    nan_that_would_carry = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    return np.concatenate([bits.view(np.float32), special, nan_that_would_carry])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_facts_agree_with_numpy_finfo(dtype):
    info, finfo = float_info(dtype), np.finfo(dtype)
    assert info.bits == finfo.bits and info.precision == finfo.nmant + 1
    assert info.max == finfo.max and info.eps == finfo.eps
    assert info.smallest_normal == finfo.smallest_normal
    assert info.smallest_subnormal == finfo.smallest_subnormal


def test_facts_of_bfloat16():
    info = float_info("bfloat16")
    assert info == (16, 8, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133, 2.0**-7)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    finfo = ml_dtypes.finfo(ml_dtypes.bfloat16)
    assert float_info(ml_dtypes.bfloat16) == info
    assert info[2:] == (finfo.max, finfo.smallest_normal, finfo.smallest_subnormal, finfo.eps)


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


def test_neighbors_take_any_one_real_number():
    for two in (np.array(2.0), np.float16(2), np.array(2), np.uint8(2), Fraction(2)):
        assert neighbors(two, "float16") == neighbors(2.0, "float16") == (2 - 2.0**-10, 2.0, 2 + 2.0**-9, 2.0**-9)
    assert neighbors(1, "bfloat16") == (1 - 2.0**-8, 1.0, 1 + 2.0**-7, 2.0**-7)
    assert neighbors(0, "bfloat16") == (-(2.0**-133), 0.0, 2.0**-133, 2.0**-133)


def test_neighbors_at_the_ends_of_the_range():
    assert neighbors(65504, "float16").above == np.inf
    assert neighbors(65472, "float16")[1:] == (65472, 65504, 32)
    assert neighbors(65519, "float16").nearest == 65504 and neighbors(65520, "float16").nearest == np.inf
    assert neighbors(-(2.0**-14), "float16").above == -1023 * 2.0**-24  # the smallest normal number
    beyond = neighbors(1e6, "float16")
    assert beyond[:3] == (65504, np.inf, np.inf) and np.isnan(beyond.spacing)
    assert neighbors(-1e6, "float16")[:3] == (-np.inf, -np.inf, -65504)
    assert np.isnan(neighbors(float("nan"), "float16")).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_round_to_agrees_with_numpy_casts(dtype):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = np.concatenate([rng.normal(size=5_000) * 10.0**power for power in (-42, -8, -5, 0, 4, 38)])
        x = np.concatenate([x, any_float32()])
        assert_array_equal(round_to(x, dtype), x.astype(dtype).astype(np.float64))


def test_bfloat16_by_bits_agrees_with_the_spacing_formula():
    x = any_float32()
    by_bits = precision._to_bfloat16_by_bits(x)
    assert_array_equal(by_bits, round_to(x, "bfloat16"))
    assert (np.signbit(by_bits) == np.signbit(x))[~np.isnan(x)].all()


@pytest.mark.parametrize("installed", [True, False])
def test_bfloat16_is_the_same_without_ml_dtypes(monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # makes the import fail
    elif importlib.util.find_spec("ml_dtypes") is None:
        pytest.skip("ml_dtypes is not installed")
    got = to_bfloat16([1.0, 1.0039, 1.004, 257, 1e39, -np.inf, np.nan])
    assert got.dtype == np.float32
    assert_array_equal(got, np.float32([1, 1, 1.0078125, 256, np.inf, -np.inf, np.nan]))
    assert to_bfloat16(3).shape == () and to_bfloat16(np.ones((2, 3))).shape == (2, 3)


@every_variance
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_variances_are_biased_at_every_length_and_keep_dtype_and_x(var, dtype):
    for n in (1, 2, 3, 4, 5, 7, 16, 33):
        x = rows(0.5, (2, 3, n), dtype=dtype)
        before = x.copy()
        x.flags.writeable = False
        result = var(x)
        assert result.shape == (2, 3) and result.dtype == dtype
        tolerance = 30 * np.finfo(dtype).eps
        assert_allclose(result, x.astype(np.float64).var(axis=-1), rtol=tolerance, atol=tolerance)
        assert_array_equal(x, before)


@every_variance
def test_variances_worked_by_hand(var):
    assert var([1.0, 2.0, 3.0, 6.0]) == 3.5
    assert var([5.0]) == 0
    assert var([[0, 2], [0, 4]]).tolist() == [1, 4]


@every_variance
def test_variances_of_tiny_numbers_have_all_their_digits(var):
    x = rows(0.5, (3, 9), dtype=np.float64)
    assert_array_equal(var(2.0**-80 * x), 2.0**-160 * var(x))  # a power of two changes no digit


@every_variance
def test_variances_take_bfloat16(var):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = rows(0.0, (3, 16)).astype(ml_dtypes.bfloat16)
    result = var(x)
    assert result.dtype == ml_dtypes.bfloat16
    assert_allclose(result.astype(np.float64), x.astype(np.float64).var(axis=-1), rtol=0.05)


def test_one_pass_loses_what_the_other_four_keep():
    x = rows(1e4)
    exact = x.astype(np.float64).var(axis=-1)
    error = {name: np.abs(var(x) - exact) / exact for name, var in VARIANCES.items()}
    assert np.median(error["one pass"]) > 3 and 0.15 < (var_one_pass(x) < 0).mean() < 0.45
    for name, bound in (("shifted", 3e-6), ("two pass", 3e-6), ("Chan", 1e-3), ("Welford", 3e-3)):
        assert error[name].max() < bound


def test_float16_variance_overflows_without_a_shift():
    x = np.full(4096, 100, np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.isfinite(var_two_pass(x))  # the sum, 409600, is inf
        assert var_shifted(x) == 0 and var_welford(x) == 0 and var_chan(x) == 0
        assert not np.isfinite(var_one_pass(np.float16([300, -300])))


def test_merging_two_parts_worked_by_hand():
    # (1, 3): mean 2, m2 2; (5, 7, 9): mean 7, m2 8; together mean 5, m2 16 + 4 + 0 + 4 + 16
    merged = merge_variances((2, 2.0, 2.0), (3, 7.0, 8.0))
    assert isinstance(merged, Moments) and merged._fields == ("n", "mean", "m2")
    assert_allclose([*merged, merged.var], [5, 5, 40, 8])
    for empty_first in ((0, 0.0, 0.0), (3, 7.0, 8.0)), ((3, 7.0, 8.0), (0, 0.0, 0.0)):
        assert_allclose(merge_variances(*empty_first), (3, 7, 8))


def test_merging_works_per_channel_and_keeps_float32():
    x = rows(10.0, (4, 12))
    halves = [(6, h.mean(axis=-1), ((h - h.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)) for h in np.split(x, 2, 1)]
    merged = merge_variances(*halves)
    assert merged.mean.dtype == merged.m2.dtype == np.float32
    assert_allclose(merged.mean, x.mean(axis=-1), rtol=1e-6)
    assert_allclose(merged.var, x.var(axis=-1), rtol=1e-5)


@every_order
def test_every_order_normalizes_rows_of_the_last_axis(order):
    x, weight = rows(0.0, (2, 3, 5)), rows(1.0, (5,), seed=1)
    row_by_row = [[rms_norm_cast(row, weight, order=order) for row in matrix] for matrix in x]
    assert_array_equal(rms_norm_cast(x, weight, order=order), row_by_row)
    assert rms_norm_cast(x, weight, order=order).dtype == np.float32
    assert_array_equal(rms_norm_cast([[3.0, -3.0]], [1, 2], order=order, eps=0), [[1, -2]])


def test_llama_and_gemma_round_as_their_formulas_say():
    x, weight = rows(0.0, (20, 32), dtype=np.float16), rows(1.0, (32,), seed=1, dtype=np.float16)
    y = norms.rms_norm(x, eps=1e-6, compute_dtype=np.float32).y  # normalized in float32, cast down
    assert_array_equal(rms_norm_cast(x, weight, dtype="float16"), y * weight)  # llama by default
    y = norms.rms_norm(x, weight, eps=1e-6, compute_dtype=np.float32).y
    assert_array_equal(rms_norm_cast(x, weight, order="gemma", dtype="float16"), y)
    # without a weight they agree; the default is bfloat16
    llama, gemma, pure = (rms_norm_cast(x, np.ones(32), order=order) for order in ("llama", "gemma", "pure"))
    assert_array_equal(llama, gemma)
    assert_array_equal(llama, round_to(llama, "bfloat16"))
    assert (pure != llama).any()
    small = np.full((1, 8), 1e-3)  # beside which the default eps of 1e-6 is seen
    assert_array_equal(rms_norm_cast(small, np.ones(8)), rms_norm_cast(small, np.ones(8), eps=1e-6))
    assert_allclose(rms_norm_cast(small, np.ones(8)), 0.5**0.5, rtol=0.01)


@pytest.mark.parametrize("n", [32, 33, 7, 1])
def test_pure_float16_equals_arithmetic_in_numpy_float16(n):
    x, weight = rows(0.0, (500, n), dtype=np.float16), rows(1.0, (n,), seed=1, dtype=np.float16)
    for eps in (1e-3, 0.3):
        y = norms.rms_norm(x, weight, eps=eps).y
        assert_array_equal(rms_norm_cast(x, weight, order="pure", dtype="float16", eps=eps), y)


def test_pure_bfloat16_equals_arithmetic_in_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = rows(0.0, (20, 33)).astype(ml_dtypes.bfloat16)
    weight = rows(1.0, (33,), seed=1).astype(ml_dtypes.bfloat16)
    y = norms.rms_norm(x, weight, eps=1e-3).y.astype(np.float32)
    assert_array_equal(rms_norm_cast(x, weight, order="pure", eps=1e-3), y)
