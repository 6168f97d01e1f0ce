"""What the frameworks answered: the stored file, its values from NumPy, and the frameworks themselves where they are.

Lesson 13 reads the file. No test here needs a framework; the last ones run those that are installed.
"""

import json
import re
from importlib import metadata

import numpy as np
import pytest

import helpers
from helpers import RunningStats, batch_norm, instance_norm, spectral_norm, weight_norm
from helpers.precision import rms_norm_cast
from tests.shared import LESSONS, ROOT, for_each, read
from tools.author import references

STORED = references.stored()
LESSON = next(path for path in LESSONS if path.stem == "13_frameworks")
INPUTS = {name: np.array(values) for name, values in STORED["inputs"].items()}
NORMS = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm")
CHANNEL_NORMS = ("batch_norm", "group_norm", "instance_norm")
EPS = {
    "pytorch": dict.fromkeys(NORMS, 1e-5) | {"rms_norm": 2.0**-23},
    "keras": dict.fromkeys(NORMS, 1e-3) | {"rms_norm": 1e-6},
    "flax": dict.fromkeys(NORMS, 1e-6) | {"batch_norm": 1e-5},
    "tensorflow": {"batch_norm": 1e-3},
}
LAYERS = [(name, norm, eps) for name, norms in EPS.items() for norm, eps in norms.items()]
every_layer = for_each(("name", "norm", "eps"), LAYERS, ids=lambda value: str(value))


def answered(name, norm, what):
    return np.array(STORED[name][norm][what])


def run_norm(norm, x, eps, *parameters):
    groups = [2] if norm == "group_norm" else []
    return getattr(helpers, norm)(x, *groups, *parameters, eps=eps).y


# -------------------------------------------------------------------------------------------------- the stored file


def test_the_file_names_the_version_of_every_framework():
    assert list(STORED) == ["inputs", "pytorch", "keras", "flax", "tensorflow"]
    for name in EPS:
        assert re.fullmatch(r"\d+\.\d+(\.\d+)*", STORED[name]["version"])
    assert STORED["keras"]["backend"] == "tensorflow"


def test_the_inputs_are_those_of_the_tool():
    assert STORED["inputs"] == references.simple(references.INPUTS)


@for_each("key", ["x", "dy", "gamma", "beta", "half", "half_gamma", "updates", "large_mean"])
def test_the_inputs_are_exact_in_their_formats(key):
    dtype = np.float16 if key.startswith("half") else np.float32
    np.testing.assert_array_equal(INPUTS[key].astype(dtype).astype(float), INPUTS[key])


@every_layer
def test_a_layer_holds_every_answer_in_its_shape(name, norm, eps):
    values = STORED[name][norm]
    shapes = {"y": (2, 3, 4), "dx": (2, 3, 4), "dgamma": (4,), "small": (2,), "large_mean": (2,)}
    shapes |= {} if norm == "rms_norm" else {"dbeta": (4,)}
    shapes |= {} if name == "tensorflow" else {"block": (3,)}
    shapes |= {"running": (2,)} if norm == "batch_norm" else {}
    for key, shape in shapes.items():
        assert np.shape(values[key]) == shape, key
    assert ("one_value" in values) == (norm in ("batch_norm", "instance_norm"))


def test_the_file_is_small_with_values_on_lines():
    text = references.STORED.read_text(encoding="utf-8")
    assert len(text) < 20_000
    assert references.as_text(STORED) == text
    assert all(line.count("[") == line.count("]") for line in text.splitlines())


# ------------------------------------------------------------------------------------------ every value from NumPy


@every_layer
def test_outputs_and_gradients_match_frameworks_at_their_eps(name, norm, eps):
    axis = 1 if norm in CHANNEL_NORMS else -1
    x, dy = (np.moveaxis(INPUTS[key], -1, axis) for key in ("x", "dy"))
    gamma, beta = INPUTS["gamma"], INPUTS["beta"]
    y = run_norm(norm, x, eps, gamma, *([] if norm == "rms_norm" else [beta]))
    groups = [2] if norm == "group_norm" else []
    dx, *others = getattr(helpers, norm + "_backward")(dy, x, *groups, gamma, eps=eps)
    arrays = [np.moveaxis(y, axis, -1), np.moveaxis(dx, axis, -1), *others]
    for key, value in zip(("y", "dx", "dgamma", "dbeta"), arrays, strict=False):
        np.testing.assert_allclose(answered(name, norm, key), value, atol=5e-6, err_msg=key)


@every_layer
def test_eps_stands_inside_the_root(name, norm, eps):
    s = INPUTS["small"]
    np.testing.assert_allclose(answered(name, norm, "small"), s / np.sqrt(s**2 + eps), rtol=1e-6)


@every_layer
def test_one_pass_loses_a_large_mean(name, norm, eps):
    large = np.float32(INPUTS["large_mean"])
    if norm == "rms_norm":
        expected = large / np.sqrt(np.mean(large.astype(float) ** 2) + eps)
    else:
        one_pass = np.mean(large * large) - np.mean(large) ** 2
        var = max(one_pass, 0) if name == "flax" else large.astype(float).var()
        expected = (large - large.mean()) / np.sqrt(var + eps)
    # Keras multiplies x and the mean by the factor before it subtracts, which costs digits here.
    np.testing.assert_allclose(answered(name, norm, "large_mean"), expected, rtol=2e-5)


@pytest.mark.parametrize(
    ("name", "momentum", "unbiased"),
    [("pytorch", 0.1, True), ("keras", 0.01, False), ("flax", 0.01, False), ("tensorflow", 1, True)],
)
def test_buffers_are_those_of_running_stats(name, momentum, unbiased):
    stats = RunningStats(1, momentum=momentum, unbiased=unbiased)
    stats.update(INPUTS["updates"])
    np.testing.assert_allclose(answered(name, "batch_norm", "running"), [stats.mean[0], stats.var[0]], rtol=1e-6)


def test_tensorflow_told_0_1_has_pytorchs_buffers():
    told = answered("tensorflow", "batch_norm", "running_told_0.1")
    np.testing.assert_allclose(told, answered("pytorch", "batch_norm", "running"), rtol=1e-6)


@pytest.mark.parametrize("name", EPS)
def test_a_single_value_becomes_beta_or_an_error(name):
    beta = np.array([7.0])
    ours = batch_norm(INPUTS["one_value"], beta=beta).y.item()
    assert ours == instance_norm(INPUTS["one_value"][None], beta=beta).y.item() == 7
    told = [STORED[name][norm]["one_value"] for norm in ("batch_norm", "instance_norm") if norm in STORED[name]]
    assert set(told) == ({"ValueError"} if name == "pytorch" else {7.0})


@for_each(("name", "channel_axis"), [("pytorch", 1), ("keras", 2), ("flax", 2)])
@for_each("norm", NORMS)
def test_one_nan_spreads_as_in_our_norms(name, channel_axis, norm):
    x = np.random.default_rng(0).normal(size=(2, 4, 4))
    x[0, 0, 0] = np.nan
    axis = channel_axis if norm in CHANNEL_NORMS else 1
    reached = np.isnan(np.moveaxis(run_norm(norm, np.moveaxis(x, axis, 1), 1e-5), 1, axis))
    along = [reached.any(axis=others).sum() for others in ((1, 2), (0, 2), (0, 1))]
    assert along == STORED[name][norm]["block"]


@pytest.mark.parametrize("name", ["pytorch", "keras", "flax"])
def test_built_in_rms_norms_apply_gamma_before_casting(name):
    x, gamma = INPUTS["half"], INPUTS["half_gamma"]
    last = rms_norm_cast(x, gamma, order="gemma", dtype="float16")
    first = rms_norm_cast(x, gamma, order="llama", dtype="float16")
    assert np.any(first != last), "the inputs tell the two orders apart"
    np.testing.assert_allclose(answered(name, "rms_norm", "half"), last, rtol=1e-6)


def test_pytorchs_rms_norm_uses_its_computing_types_eps():
    for dtype, y in STORED["pytorch"]["rms_norm"]["small_by_dtype"].items():
        s = INPUTS["small_float64"][0] if dtype == "float64" else INPUTS["small"][1]
        eps = np.finfo(np.float64 if dtype == "float64" else np.float32).eps
        tolerance = {"float16": 1e-3, "bfloat16": 8e-3}.get(dtype, 1e-6)  # the output is rounded to 16 bits
        np.testing.assert_allclose(y, s / np.sqrt(s**2 + eps), rtol=tolerance, err_msg=dtype)


def test_kernels_are_turned_as_the_lesson_says():
    shapes = {name: STORED[name]["parameters"] for name in ("pytorch", "keras", "flax")}
    for name in ("keras", "flax"):
        conv, dense = (np.zeros(shapes[name][kind]["kernel"]) for kind in ("conv", "dense"))
        assert list(conv.transpose(3, 2, 0, 1).shape) == shapes["pytorch"]["conv"]["weight"]
        assert list(dense.T.shape) == shapes["pytorch"]["dense"]["weight"]


@pytest.mark.parametrize("name", ["pytorch", "keras", "flax"])
def test_many_calls_make_spectral_norm_exact(name):
    np.testing.assert_allclose(STORED[name]["weights"]["spectral_norm"], spectral_norm(INPUTS["weight"]).w, rtol=1e-5)


def test_new_weight_norms_differ_between_pytorch_and_flax():
    w = INPUTS["weight"]
    np.testing.assert_allclose(STORED["pytorch"]["weights"]["weight_norm"], w, rtol=1e-6)
    np.testing.assert_allclose(STORED["flax"]["weights"]["weight_norm"], weight_norm(w, np.ones(2), axis=0), rtol=1e-6)
    assert "weight_norm" not in STORED["keras"]["weights"]


def test_the_graph_grows_unless_the_buffer_is_detached():
    graph = STORED["pytorch"]["kept_graph"]
    assert np.diff(graph["as_is"]).min() > 0 and set(graph["detached"]) == {0}


def test_the_lessons_card_lists_these_eps():
    """A card's number is typed, so this holds it; what is typed here is held by the stored values above."""
    card = "\n".join(cell.source for cell in read(LESSON).cells if "**The formula card.**" in cell.source)
    rows = {
        cells[1]: cells[2:6] for cells in (re.split(r" *\| *", line) for line in card.splitlines() if line[:1] == "|")
    }
    names = list(EPS)
    assert [float(cell) for cell in rows["eps of batch norm"]] == [EPS[name]["batch_norm"] for name in names]
    for norm in ("layer_norm", "group_norm", "instance_norm"):
        listed = rows["eps of layer, group, instance norm"][:3]
        assert [float(cell) for cell in listed] == [EPS[name][norm] for name in names[:3]]
    assert [float(cell) for cell in rows["eps of RMSNorm"][1:3]] == [EPS[name]["rms_norm"] for name in names[1:3]]


# -------------------------------------------------------------------------------------------------------- the tool


def test_a_change_shows_both_values_but_ignores_rounding():
    old = {"norm": {"y": [1.0, 2.0], "shape": [3, 4]}, "version": "1.0"}
    new = {"norm": {"y": [1.000001, 2.0], "shape": [4, 3]}, "version": "1.1", "more": 5.0}
    assert references.differences(old, new) == [
        "norm shape: stored [3, 4], measured [4, 3]",
        "version: stored 1.0, measured 1.1",
        "more: stored nothing, measured 5.0",
    ]
    assert references.differences({"y": [1.0]}, {"y": [1.0001]}) == ["y: stored [1.0], measured [1.0001]"]
    assert references.differences({"y": 7.0}, {"y": "ValueError"}) == ["y: stored 7.0, measured ValueError"]
    assert references.differences({"y": 7.0}, {}) == ["y: stored 7.0, measured nothing"]
    assert references.differences({"y": [1.0]}, {"y": [1.0, 1.0]}) != []


def test_rounding_differences_keep_stored_digits():
    old = {"norm": {"y": [1.0, 2.0], "z": 3.0}}
    assert references.kept(old, {"norm": {"y": [1.000001, 2.0], "z": 4.0}}) == {"norm": {"y": [1.0, 2.0], "z": 4.0}}
    assert references.kept(None, {"y": 1.0}) == {"y": 1.0}


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The tool, working on a copy of the stored file and the README beside it."""
    for name in ("frameworks.json", "README.md"):
        (tmp_path / name).write_bytes((references.STORED.parent / name).read_bytes())
    monkeypatch.setattr(references, "STORED", tmp_path / "frameworks.json")
    monkeypatch.setattr(references, "ROOT", tmp_path)
    return tmp_path


def test_missing_frameworks_are_named_and_stay(copied, monkeypatch, capsys):
    before = [(copied / name).read_bytes() for name in ("frameworks.json", "README.md")]
    monkeypatch.setattr(references, "installed", list)
    assert references.main([]) == 0
    assert [(copied / name).read_bytes() for name in ("frameworks.json", "README.md")] == before
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if "skipped" in line] == [
        f"{name}: not installed, skipped" for name in EPS
    ]


def test_a_changed_value_is_stored_with_its_checksum(copied, monkeypatch, capsys):
    monkeypatch.setattr(references, "installed", lambda: ["flax"])
    changed = json.loads(json.dumps(STORED["flax"]))
    changed["batch_norm"]["running"] = [0.1, 1.3]
    monkeypatch.setattr(references, "measure", lambda name: changed)
    assert references.main(["--check"]) == 1
    assert references.stored() == STORED, "--check stores nothing"
    assert references.main([]) == 0
    line = "  batch_norm running: stored [0.02, 1.03], measured [0.1, 1.3]"
    assert capsys.readouterr().out.count(line) == 2
    assert references.stored() == STORED | {"flax": changed}
    before = (ROOT / "helpers" / "data" / "README.md").read_text(encoding="utf-8").splitlines()
    after = (copied / "README.md").read_text(encoding="utf-8").splitlines()
    assert [new.split("|")[1].strip() for old, new in zip(before, after, strict=True) if old != new] == [
        "`frameworks.json`"
    ]


# --------------------------------------------------------------------------------- the frameworks, where they are


@pytest.mark.parametrize("name", EPS)
@pytest.mark.filterwarnings("ignore")
def test_the_installed_framework_answers_as_stored(name):
    if name not in references.installed():
        pytest.skip(f"{name} is not installed")
    version = metadata.version(references.installed_as(name)).partition("+")[0]
    if version != STORED[name]["version"]:
        pytest.skip(f"{name} {version} is installed, {STORED[name]['version']} is stored: run `make references`")
    measured = references.measure(name)
    if measured.get("backend") != STORED[name].get("backend"):
        pytest.skip(f"{name} runs on {measured['backend']}, it was measured on {STORED[name]['backend']}")
    assert references.differences(STORED[name], measured) == []
