"""What the frameworks answered: every stored output and gradient from NumPy. Lesson 13 checks the rest when it runs."""

import numpy as np
import pytest

import helpers
from tools.author import references

STORED = references.stored()
INPUTS = {name: np.array(values) for name, values in STORED["inputs"].items()}
EPS = {
    "pytorch": dict.fromkeys(references.NORMS, 1e-5) | {"rms_norm": 2.0**-23},
    "keras": dict.fromkeys(references.NORMS, 1e-3) | {"rms_norm": 1e-6},
    "flax": dict.fromkeys(references.NORMS, 1e-6) | {"batch_norm": 1e-5},
    "tensorflow": {"batch_norm": 1e-3},
}


@pytest.mark.parametrize(("name", "norm"), [(name, norm) for name in EPS for norm in EPS[name]])
def test_outputs_and_gradients_match_frameworks_at_their_eps(name, norm):
    eps, axis = EPS[name][norm], 1 if norm in ("batch_norm", "group_norm", "instance_norm") else -1
    x, dy = (np.moveaxis(INPUTS[key], -1, axis) for key in ("x", "dy"))
    groups, beta = [2] if norm == "group_norm" else [], [] if norm == "rms_norm" else [INPUTS["beta"]]
    y = getattr(helpers, norm)(x, *groups, INPUTS["gamma"], *beta, eps=eps).y
    dx, *others = getattr(helpers, norm + "_backward")(dy, x, *groups, INPUTS["gamma"], eps=eps)
    arrays = [np.moveaxis(y, axis, -1), np.moveaxis(dx, axis, -1), *others]
    for key, value in zip(("y", "dx", "dgamma", "dbeta"), arrays, strict=False):
        np.testing.assert_allclose(STORED[name][norm][key], value, atol=5e-6, err_msg=key)
    small = INPUTS["small"]
    np.testing.assert_allclose(STORED[name][norm]["small"], small / np.sqrt(small**2 + eps), rtol=1e-6)


def test_changes_are_told_and_rounding_is_not():
    old = {"norm": {"y": [1.0, 2.0], "shape": [3, 4]}, "one": 7.0}
    new = {"norm": {"y": [1.000001, 2.0], "shape": [4, 3]}, "one": "ValueError", "more": 5.0}
    assert references.differences(old, new) == [
        "norm shape: stored [3, 4], measured [4, 3]",
        "one: stored 7.0, measured ValueError",
        "more: stored None, measured 5.0",
    ]
    assert references.differences({"y": [1.0]}, {"y": [1.0001]}) and references.differences({"y": 7.0}, {})
    assert references.kept(old, new) == new | {"norm": {"y": [1.0, 2.0], "shape": [4, 3]}}
