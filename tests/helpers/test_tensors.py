"""The sets of every norm, its four operations and what is written about them, against the norms themselves."""

import itertools
import re

import numpy as np
import pytest

from helpers import Explorer, batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from helpers.tensors import (
    OPERATIONS,
    OperationsView,
    SetsView,
    four_operations,
    sets_of,
    statistics_shape,
    table_with_statistics,
    tensor_places,
    written_out,
)

X = np.random.default_rng(0).integers(0, 10, size=(2, 4, 3)).astype(float)
GAMMA, BETA = np.array([1, 2, 0.5, -1.5]), np.array([0, 1, -1, 0.5])
ENTRY = (0, 3, 1)
APPLIED = {
    "batch norm": lambda x, *affine: batch_norm(x, *affine),
    "layer norm": lambda x, *affine: layer_norm(x, *affine, axis=1),
    "RMSNorm": lambda x, *affine: rms_norm(x, *affine[:1], axis=1),
    "group norm": lambda x, *affine: group_norm(x, 2, *affine),
    "instance norm": lambda x, *affine: instance_norm(x, *affine),
}
ALL = {**APPLIED, "layer norm of the sample": lambda x: layer_norm(x, axis=tuple(range(1, x.ndim)))}


@pytest.mark.parametrize("shape", [(5, 4), (2, 4, 3), (3, 4, 2, 2)])
@pytest.mark.parametrize("norm", ALL)
def test_a_set_is_what_one_nan_reaches(norm, shape):
    entry = tuple(size - 1 for size in shape)
    x = np.random.default_rng(1).normal(size=shape)
    x[entry] = np.nan
    sets = sets_of(norm, shape, groups=2)
    np.testing.assert_array_equal(np.isnan(ALL[norm](x)[0]), sets == sets[entry])


def test_statistics_have_the_kept_means_shape():
    for norm in set(ALL) - {"group norm"}:
        assert ALL[norm](X)[1].shape == statistics_shape(norm, X.shape)
    assert statistics_shape("group norm", (2, 6, 5, 5), groups=3) == (2, 3, 1, 1)
    assert sets_of("group norm", (1, 6), groups=3).tolist() == [[0, 0, 1, 1, 2, 2]]
    with pytest.raises(ValueError, match="^statistics_shape: 4 channels cannot be split into 3 groups"):
        sets_of("group norm", (2, 4), groups=3)
    with pytest.raises(ValueError, match="^statistics_shape: norm is 'BatchNorm', expected one of .*'batch norm'"):
        sets_of("BatchNorm", (2, 4))


@pytest.mark.parametrize("norm", APPLIED)
def test_the_four_operations_end_at_the_output(norm):
    done = four_operations(norm, X, GAMMA, BETA)
    np.testing.assert_allclose(done.y, APPLIED[norm](X, GAMMA, BETA)[0])
    np.testing.assert_allclose(done.normalized, APPLIED[norm](X)[0])
    for values in (done.mean, done.var):
        assert all(np.ptp(values[done.sets == k]) == 0 for k in range(done.sets.max() + 1))


TOKEN = np.array([[[2.0], [5], [4], [6]]])  # one sequence of one token with four channels


def test_a_calculation_is_written_with_its_numbers():
    written = [written_out(op, "layer norm", TOKEN, GAMMA, BETA, (0, 3, 0)) for op in OPERATIONS]
    assert written == [
        "(2 + 5 + 4 + 6) / 4 = 4.25",
        "(5.06 + 0.56 + 0.06 + 3.06) / 4 = 2.19",
        "(6 − 4.25) / √(2.19 + 1e−5) = 1.18",
        "−1.5 · 1.18 + 0.5 = −1.27",
    ]
    assert written_out("mean", "RMSNorm", TOKEN, GAMMA, BETA, (0, 3, 0)) == "RMSNorm subtracts no mean"
    assert written_out("normalize", "RMSNorm", TOKEN, GAMMA, BETA, (0, 3, 0)) == "6 / √(20.25 + 1e−5) = 1.33"
    assert written_out("scale and shift", "RMSNorm", TOKEN, GAMMA, BETA, (0, 1, 0)) == "2 · 1.11 = 2.22"
    # negative numbers get brackets in sums
    written = written_out("mean", "layer norm", -TOKEN, GAMMA, BETA, (0, 3, 0))
    assert written == "((−2) + (−5) + (−4) + (−6)) / 4 = −4.25"
    assert written_out("normalize", "layer norm", -TOKEN, GAMMA, BETA, (0, 3, 0)).startswith("(−6 − (−4.25)) / √")
    with pytest.raises(ValueError, match="^written_out: operation is 'root'"):
        written_out("root", "layer norm", TOKEN, GAMMA, BETA, (0, 3, 0))


def value(written):
    return eval(re.sub(r"√(\([^)]*\))", r"\1**0.5", written).replace("−", "-").replace("·", "*"))


@pytest.mark.parametrize("norm", APPLIED)
def test_written_calculations_hold_within_rounding(norm):
    for operation, entry in itertools.product(OPERATIONS, np.ndindex(X.shape)):
        left, equals, right = written_out(operation, norm, X, GAMMA, BETA, entry).partition(" = ")
        if equals:
            assert value(left) == pytest.approx(value(right), abs=0.02)


def test_entries_have_places_and_channels_run_right():
    for shape in [(8, 6), (2, 6, 4), (2, 6, 2, 2)]:
        assert len({*zip(*(place.ravel() for place in tensor_places(shape)), strict=True)}) == 48
    column, row = tensor_places((2, 3, 2))
    assert (column[1, 2, 0], row[1, 2, 0]) == (2, 4)
    assert tensor_places((2, 3, 2, 2))[0][0, 1, 0].tolist() == pytest.approx([2.4, 3.4])
    with pytest.raises(ValueError, match="^tensor_places: shape is"):
        tensor_places((3,))


def test_the_operations_view_chooses_its_entry_by_handle():
    view = OperationsView(X, GAMMA, BETA, ["layer norm", "batch norm"])
    explorer = Explorer(view.sliders, view.draw, view.caption, panels=view.panels, play="operation", height=390)
    at = {"norm": "batch norm", "operation": "scale and shift", "token": view.tokens["1 of sequence 0"], "channel": 3}
    x, knob, result, learned, *_ = explorer.marks_at(**at)
    own = four_operations("batch norm", X, GAMMA, BETA)
    np.testing.assert_allclose(result["data"]["values"], own.y.ravel(), rtol=1e-6)
    assert x["data"]["outline"].tolist() == (own.sets == own.sets[ENTRY]).ravel().tolist()
    assert learned["data"]["outline"].reshape(2, 4).tolist() == [[0, 0, 0, 1]] * 2
    assert (knob["data"]["x"], knob["data"]["y"]) == (3.8, 2.8)
    written = written_out("scale and shift", "batch norm", X, GAMMA, BETA, ENTRY)
    assert explorer.caption_at(**at).startswith(written)


def test_the_sets_view_counts_shared_means():
    view = SetsView({"(N, C)": (8, 6), "(N, C, L)": (2, 6, 4)}, ["group norm", "RMSNorm"], [1, 2], range(0, 48, 7))
    explorer = Explorer(view.sliders, view.draw, view.caption, panels=view.panels)
    caption = explorer.caption_at(norm="group norm", layout="(N, C, L)", groups=2, entry=14)
    assert caption == (
        "11 others share the mean of x[0, 3, 2]. There are 4 means, of shape (2, 2, 1); gamma has shape (6,)."
    )
    grid, words = explorer.marks_at(norm="group norm", layout="(N, C, L)", groups=2, entry=14)
    assert (grid["data"]["values"].sum(), grid["data"]["outline"].sum()) == (12, 1)
    assert words["string"] == "6 channels across, 2 samples down, 4 positions"


@pytest.mark.parametrize(("axis", "changed"), [(0, [2, 5]), (1, [1, 4])])
def test_statistics_that_differ_are_framed(axis, changed):
    before = np.array([[1.0, 2, 3], [10, 20, 30], [2, 4, 6]])
    table = before.copy()
    table[1, 2] = 5
    entries, statistics, *names = table_with_statistics(table, axis, before, limit=40)
    assert np.flatnonzero(entries.arrays["outline"]).tolist() == [5]
    assert np.flatnonzero(statistics.arrays["outline"]).tolist() == changed
    np.testing.assert_allclose(statistics.arrays["values"], [*table.mean(axis=axis), *table.std(axis=axis)])
    assert [mark.string for mark in names] == ["mean", "sd"]
