"""Whatever is handed to a norm, a backward pass, a layer or an optimizer by mistake is refused in one line that begins
with the function's name.
"""

import functools
import re

import numpy as np
import pytest

from helpers import gradients, layers, nets, norms, precision

nan, inf, ones = np.nan, np.inf, np.ones
X = np.random.default_rng(0).normal(size=(2, 3, 4))
W = X[0]
SOME = [layers.Parameter([1.0])]


def some_fit(model=None, x=None, labels=(0, 1, 0), optimizer=None, **options):
    model = layers.Linear(2, 2, rng=0) if model is None else model
    optimizer = nets.SGD(model.parameters(), 0.1) if optimizer is None else optimizer
    nets.fit(model, ones((3, 2)) if x is None else x, labels, optimizer, **({"steps": 1} | options))


# Functions of x and options. A backward pass takes x for dy, too, unless dy is given.
FORWARD, BACKWARD = {}, {}
for name in ("batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm"):
    more = {"groups": 3} if name == "group_norm" else {}
    FORWARD[name] = functools.partial(getattr(norms, name), **more)
    backward = functools.partial(getattr(gradients, f"{name}_backward"), **more)
    BACKWARD[f"{name}_backward"] = lambda x, dy=None, *, f=backward, **k: f(dy=x if dy is None else dy, x=x, **k)
PASSES = FORWARD | BACKWARD
LAST = {name: f for name, f in PASSES.items() if name.startswith(("layer", "rms"))}  # these normalize the last axis
CHANNELS = {name: f for name, f in PASSES.items() if name not in LAST}
WEIGHTS = {
    "weight_norm: v": lambda v: norms.weight_norm(v, 1.0),
    "weight_norm_backward: v": lambda v: gradients.weight_norm_backward(v, v, 1.0),
    "weight_standardization: w": norms.weight_standardization,
    "power_iteration: w": norms.power_iteration,
    "spectral_norm: w": norms.spectral_norm,
    "spectral_norm_backward: w": lambda w: gradients.spectral_norm_backward(w, w),
}
NORM_LAYERS = {cls.__name__: cls for cls in (layers.BatchNorm, layers.LayerNorm, layers.RMSNorm)}
NORM_LAYERS["GroupNorm"] = functools.partial(layers.GroupNorm, 1)


def each(functions, values, option=None, x=X):
    """A row for each function: of its first argument or, where an option is named, of that option for this x."""
    for name, f in functions.items():
        yield name, f if option is None else lambda value, f=f: f(x, **{option: value}), values


NO_NUMBERS = [X * 1j, X.astype(object), ["a", "b"], object()]
NO_AXES = [3, -4, (2, -1), (), 1.0, True, (0, 1.5), (0, True), "0"]
NO_AXIS = [*NO_AXES, (0,), (0, 1)]
NO_COUNT = [0, -1, 2.5, True, "2", (3,)]
NO_EPS = [-1e-5, nan, inf, "1", None, True]
NOT_ABOVE_0 = [0, -1, nan, inf, "2", None, True]
NO_FRACTION = [1.1, -0.1, nan, "0.5", True]
NO_DECAY = [-1, inf, nan, "0", None, True]
NO_RNG = [None, -1, 2.5, True]
NO_PARAMETERS = [[], None, layers.ReLU(), [ones(2)]]
NO_MAKER = ["group", ["batch"], 3, lambda *width: "batch"]
NO_LAYER = [np.tanh, None, layers.Tanh, [layers.Tanh()]]
NO_LABELS = [[0, 1], [[0], [1], [0]], [0.0, 1.0, 0.0], [0, 1, 2], [0, -1, 0]]
NOTHING = ones((3, 0))
NO_CHANNELS = [ones(4), ones(2), ones((2, 3, 1)), ones((1, 1, 3, 1))]
NO_FEATURES = [ones(5), ones((3, 4)), ones((1, 2, 3, 4)), ones((1, 1, 1, 4))]
EMPTY = (0, 0.0, 0.0)
AFTER = layers.ReLU()
AFTER.forward([[1, 2]])
BLOCK = layers.Residual(layers.Linear(3, 2, rng=0))
same = layers.ReLU()

# How the error begins, a function, and values that it may not take.
TABLE = [
    *each(PASSES | WEIGHTS | {var.__name__: var for var in precision.VARIANCES.values()}, NO_NUMBERS),
    ("ReLU.forward", layers.ReLU().forward, NO_NUMBERS),
    ("weight_norm: g", lambda g: norms.weight_norm(W, g, axis=0), [*NO_NUMBERS, ones(4)]),
    ("weight_standardization: gain", lambda gain: norms.weight_standardization(W, gain), [*NO_NUMBERS, ones(4)]),
    ("weight_norm_backward: dw", lambda dw: gradients.weight_norm_backward(dw, W, 1), [*NO_NUMBERS, W.T]),
    ("weight_norm_backward: g", lambda g: gradients.weight_norm_backward(W, W, g, axis=0), [ones(4)]),
    ("spectral_norm_backward: dw", lambda dw: gradients.spectral_norm_backward(dw, W), [*NO_NUMBERS, W.T]),
    ("RunningStats.update: x", norms.RunningStats(3).update, [*NO_NUMBERS, ones((4, 2)), ones(3)]),
    ("numerical_gradient: x", lambda x: gradients.numerical_gradient(np.sum, x), NO_NUMBERS),
    ("numerical_gradient: f(x)", lambda y: gradients.numerical_gradient(lambda x: y, X), NO_NUMBERS),
    ("numerical_gradient: f must return", lambda f: gradients.numerical_gradient(f, X), [np.copy]),
    ("Parameter: value", layers.Parameter, NO_NUMBERS),
    ("Parameter: grad", lambda grad: layers.Parameter([1, 2], grad), [*NO_NUMBERS, [1]]),
    ("round_to: x", lambda x: precision.round_to(x, "float16"), NO_NUMBERS),
    ("to_bfloat16: x", precision.to_bfloat16, NO_NUMBERS),
    ("rms_norm_cast: x", lambda x: precision.rms_norm_cast(x, ones(0)), [*NO_NUMBERS, NOTHING]),
    ("rms_norm_cast: weight", lambda weight: precision.rms_norm_cast(X, weight), [*NO_NUMBERS, ones(2)]),
    ("rms_norm_cast: eps", lambda eps: precision.rms_norm_cast(X, ones(4), eps=eps), NO_EPS),
    ("rms_norm_cast: order", lambda order: precision.rms_norm_cast(X, ones(4), order=order), ["c"]),
    ("rms_norm_cast: dtype", lambda dtype: precision.rms_norm_cast(X, ones(4), dtype=dtype), ["float32"]),
    ("cross_entropy: logits", lambda x: nets.cross_entropy(x, [0, 1]), [*NO_NUMBERS, [1, 2], ones((0, 2))]),
    *each(PASSES, NO_NUMBERS, "gamma"),
    *each(CHANNELS, NO_CHANNELS, "gamma"),
    *each(LAST, NO_FEATURES, "gamma"),
    ("layer_norm: gamma", lambda gamma: norms.layer_norm(X, gamma, axis=(1, 2)), [ones(4)]),
    ("layer_norm: gamma", lambda gamma: norms.layer_norm(X[0, :1], gamma), [ones((3, 4))]),
    *each({name: f for name, f in FORWARD.items() if name != "rms_norm"}, [ones(5), ["a"]], "beta"),
    *each({f"{name}: dy": f for name, f in BACKWARD.items()}, [X * 1j, ones(4), X[:, :1]], "dy"),
    *each(PASSES | {"weight_standardization": norms.weight_standardization}, NO_EPS, "eps"),
    *each(NORM_LAYERS, NO_EPS, "eps", 3),
    *each(FORWARD, [int, "no", bool], "compute_dtype"),
    *each(LAST, [*NO_AXES, None], "axis"),
    ("weight_norm", lambda axis: norms.weight_norm(X, 1, axis=axis), NO_AXIS),
    ("weight_norm_backward", lambda axis: gradients.weight_norm_backward(X, X, 1, axis=axis), NO_AXIS),
    *each(PASSES | WEIGHTS, [1.0, NOTHING, NOTHING.T]),
    *each({name: f for name, f in (CHANNELS | WEIGHTS).items() if not name.startswith("weight_norm")}, [ones(3)]),
    *each({f"{name}.forward": cls(3).forward for name, cls in NORM_LAYERS.items()}, [ones(3), ones((3, 2)), NOTHING.T]),
    ("Linear.forward: x", layers.Linear(3, 3, rng=0).forward, [*NO_NUMBERS, ones(3), ones((3, 2)), NOTHING.T]),
    *each({f"{name}: features": cls for name, cls in NORM_LAYERS.items()}, NO_COUNT),
    ("group_norm: groups", lambda n: norms.group_norm(X, n), [*NO_COUNT, 2]),
    ("group_norm_backward: groups", lambda n: gradients.group_norm_backward(X, X, n), [*NO_COUNT, 4]),
    ("GroupNorm: groups", lambda n: layers.GroupNorm(n, 6), [*NO_COUNT, 4]),
    ("power_iteration: n_iter", lambda n: norms.power_iteration(W, n_iter=n), NO_COUNT),
    ("power_iteration: w", norms.power_iteration, [X, [[inf, 1.0]]]),
    ("power_iteration: u", lambda u: norms.power_iteration(W, u=u), [*NO_NUMBERS, ones(4), 0 * ones(3), [1, nan, 0]]),
    ("spectral_norm: n_iter", lambda n: norms.spectral_norm(W, n_iter=n), NO_COUNT),
    ("spectral_norm: u", lambda u: norms.spectral_norm(W, n_iter=1, u=u), [[1.0]]),
    ("spectral_norm: w", norms.spectral_norm, [0 * W, nan * W]),
    ("spectral_norm: w", lambda w: norms.spectral_norm(w, n_iter=3), [0 * W]),
    ("spectral_norm_backward: w", lambda w: gradients.spectral_norm_backward(W, w), [0 * W, nan * W]),
    ("weight_norm: v", lambda v: norms.weight_norm(v, 1.0, axis=0), [[[1.0, 2.0], [0.0, 0.0]]]),
    ("weight_norm_backward: v", lambda v: gradients.weight_norm_backward(W, v, 1, axis=0), [W * [[0], [1], [1]]]),
    ("RunningStats: num_features", norms.RunningStats, NO_COUNT),
    ("RunningStats: momentum", lambda momentum: norms.RunningStats(2, momentum=momentum), NO_FRACTION),
    ("RunningStats.update: unbiased=True", norms.RunningStats(3).update, [ones((1, 3))]),
    ("numerical_gradient: h", lambda h: gradients.numerical_gradient(np.sum, X, h=h), NOT_ABOVE_0),
    ("BatchNorm.forward: training", layers.BatchNorm(3).forward, [ones((1, 3))]),
    ("ReLU.backward: call forward first", layers.ReLU().backward, [[1]]),
    ("ReLU.backward: dy", AFTER.backward, [[[1]], [[1j, 2]]]),
    ("Linear: inputs", lambda n: layers.Linear(n, 2, rng=0), NO_COUNT),
    ("Linear: outputs", lambda n: layers.Linear(2, n, rng=0), NO_COUNT),
    ("Linear: gain", lambda gain: layers.Linear(3, 3, rng=0, gain=gain), NOT_ABOVE_0),
    ("Linear: rng", lambda rng: layers.Linear(3, 3, rng=rng), NO_RNG),
    ("Linear: init", lambda init: layers.Linear(3, 3, rng=0, init=init), ["xavier"]),
    ("Residual: scale", lambda scale: layers.Residual(layers.ReLU(), scale=scale), [inf, "2"]),
    ("Residual: layer 0", layers.Residual, NO_LAYER),
    ("Residual.forward: the block", BLOCK.forward, [ones((4, 3))]),
    ("Sequential: layer 1", lambda layer: layers.Sequential(layers.ReLU(), layer), NO_LAYER),
    ("Sequential: the same", lambda layer: layers.Sequential(same, layers.Tanh(), layer), [layers.Residual(same)]),
    ("mlp: every size", lambda n: nets.mlp([4, n, 3], rng=0), NO_COUNT),
    ("mlp: sizes", lambda sizes: nets.mlp(sizes, rng=0), [4, [4]]),
    ("mlp: rng", lambda rng: nets.mlp([4, 3], rng=rng), NO_RNG),
    ("mlp: norm", lambda norm: nets.mlp([4, 5, 3], norm, rng=0), NO_MAKER),
    ("mlp: activation", lambda name: nets.mlp([4, 5, 3], activation=name, rng=0), [*NO_MAKER, None]),
    *each({f.__name__: functools.partial(f, ones((3, 2))) for f in (nets.cross_entropy, nets.accuracy)}, NO_LABELS),
    *each({"SGD": lambda p: nets.SGD(p, 0.1), "AdamW": nets.AdamW}, NO_PARAMETERS),
    *each({f"{cls.__name__}: lr": cls for cls in (nets.SGD, nets.Adam, nets.AdamW)}, NOT_ABOVE_0, "lr", SOME),
    ("SGD: momentum", lambda momentum: nets.SGD(SOME, 0.1, momentum=momentum), [*NO_FRACTION, 1]),
    ("SGD: weight_decay", lambda decay: nets.SGD(SOME, 0.1, weight_decay=decay), NO_DECAY),
    ("AdamW: weight_decay", lambda decay: nets.AdamW(SOME, weight_decay=decay), NO_DECAY),
    ("Adam: eps", lambda eps: nets.Adam(SOME, eps=eps), NOT_ABOVE_0),
    ("Adam: betas", lambda beta: nets.Adam(SOME, betas=(0.5, beta)), NO_FRACTION),
    ("AdamW: betas", lambda betas: nets.AdamW(SOME, betas=betas), [0.9, (0.9, 0.9, 0.9), (1, 0.9)]),
    ("fit: model", lambda model: nets.fit(model, [[1]], [0], None, steps=1), NO_LAYER),
    ("fit: optimizer", lambda optimizer: some_fit(optimizer=optimizer), ["sgd", nets.SGD(SOME, 0.1)]),
    ("fit: labels", lambda labels: some_fit(labels=labels), [[0, 1]]),
    ("fit: x", lambda x: some_fit(x=x), [1.0]),
    ("fit: steps", lambda n: some_fit(steps=n), NO_COUNT),
    ("fit: batch_size", lambda n: some_fit(batch_size=n, rng=0), [*NO_COUNT, 4]),
    ("fit: rng", lambda rng: some_fit(batch_size=2, rng=rng), NO_RNG),
    ("var_two_pass: x", precision.var_two_pass, [3.0]),
    ("var_chan: x", precision.var_chan, [NOTHING]),
    ("neighbors: x", lambda x: precision.neighbors(x, "float16"), [[1.0, 2.0], "1", 1j, ones((2, 2))]),
    ("float_info: dtype", lambda dtype: precision.neighbors(1.0, dtype), ["float8", np.float64, 3, None]),
    ("merge_variances: counts", lambda a: precision.merge_variances(a, EMPTY), [EMPTY, (np.array([0, 1]), 0.0, 0.0)]),
    ("merge_variances: counts", lambda n: precision.merge_variances((n, 0.0, 0.0), EMPTY), [-1, np.array([3, -1])]),
    ("merge_variances: expected two", lambda a: precision.merge_variances(a, EMPTY), [(1, 0.0), 1]),
]


@pytest.mark.parametrize(("name", "function", "values"), TABLE)
def test_a_bad_value_is_refused_in_one_line(name, function, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{re.escape(name)}[^\n]*$"):
            function(value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: norms.batch_norm(ones(3)), "batch_norm: x must have at least 2 axes, got shape (3,)"),
        (lambda: norms.layer_norm(X, eps=True), "layer_norm: eps must be a finite number >= 0, got True"),
        (
            lambda: norms.layer_norm(X, beta=ones(3)),
            "layer_norm: beta has shape (3,), expected (4,) to match the normalized axes of x with shape (2, 3, 4)",
        ),
        (lambda: layers.Sequential(), "Sequential: needs at least one layer"),
        (lambda: layers.Sequential(layers.Tanh), "Sequential: layer 0 is the class Tanh; write Tanh(...)"),
        (lambda: nets.accuracy([[1, 2]], [2]), "accuracy: labels must be from 0 to 1, got 2 to 2"),
    ],
)
def test_what_was_expected_and_what_came_is_said(call, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call()
