"""Whatever is handed to a norm, a backward pass, a layer or an optimizer by mistake is refused in one line that begins
with the function's name.
"""

import functools

import numpy as np
import pytest

from helpers import gradients, layers, nets, norms, precision

nan, inf, ones = np.nan, np.inf, np.ones
X = np.random.default_rng(0).normal(size=(2, 3, 4))
W = X[0]
SOME = [layers.Parameter([1.0])]


def refused(name, call):
    with pytest.raises(ValueError) as error:
        call()
    words = str(error.value)
    assert words.startswith(name) and "\n" not in words, words
    return words


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
NORM_LAYERS = {
    "BatchNorm": layers.BatchNorm,
    "LayerNorm": layers.LayerNorm,
    "RMSNorm": layers.RMSNorm,
    "GroupNorm": lambda features, **options: layers.GroupNorm(1, features, **options),
}


def option(option, functions, x=X):
    """The functions of x as functions of one of their options."""
    return {name: lambda value, f=f: f(x, **{option: value}) for name, f in functions.items()}


# What an argument is: the values that it may not have, and functions of such a value by the name they must give.
NO_NUMBERS = [X * 1j, X.astype(object), ["a", "b"], object()]
NO_AXES = [3, -4, (2, -1), (), 1.0, True, (0, 1.5), (0, True), "0"]
TABLE = {
    "numbers": (
        NO_NUMBERS,
        PASSES
        | WEIGHTS
        | {var.__name__: var for var in precision.VARIANCES.values()}
        | {
            "ReLU.forward": layers.ReLU().forward,
            "weight_norm: g": lambda g: norms.weight_norm(W, g),
            "weight_standardization: gain": lambda gain: norms.weight_standardization(W, gain),
            "power_iteration: u": lambda u: norms.power_iteration(W, u=u),
            "weight_norm_backward: dw": lambda dw: gradients.weight_norm_backward(dw, W, 1),
            "spectral_norm_backward: dw": lambda dw: gradients.spectral_norm_backward(dw, W),
            "RunningStats.update: x": lambda x: norms.RunningStats(3).update(x),
            "numerical_gradient: x": lambda x: gradients.numerical_gradient(np.sum, x),
            "numerical_gradient: f(x)": lambda y: gradients.numerical_gradient(lambda x: y, X),
            "Parameter: value": layers.Parameter,
            "Parameter: grad": lambda grad: layers.Parameter([1, 2], grad),
            "round_to: x": lambda x: precision.round_to(x, "float16"),
            "to_bfloat16: x": precision.to_bfloat16,
            "rms_norm_cast: x": lambda x: precision.rms_norm_cast(x, ones(4)),
            "rms_norm_cast: weight": lambda weight: precision.rms_norm_cast(X, weight),
            "cross_entropy: logits": lambda logits: nets.cross_entropy(logits, [0, 1]),
        },
    ),
    "gamma": (NO_NUMBERS, option("gamma", PASSES)),
    "gamma of 3 channels": ([ones(4), ones(2), ones((2, 3, 1)), ones((1, 1, 3, 1))], option("gamma", CHANNELS)),
    "gamma of 4 features": ([ones(5), ones((3, 4)), ones((1, 2, 3, 4)), ones((1, 1, 1, 4))], option("gamma", LAST)),
    "beta": ([ones(5), ["a"]], option("beta", {name: f for name, f in FORWARD.items() if name != "rms_norm"})),
    "dy": ([X * 1j, ones(4), X[:, :1]], option("dy", BACKWARD)),
    "eps": (
        [-1e-5, nan, inf, "1", None, True],
        option("eps", PASSES)
        | option("eps", NORM_LAYERS, 3)
        | option("eps", {"weight_standardization": norms.weight_standardization})
        | {"rms_norm_cast": lambda eps: precision.rms_norm_cast(X, ones(4), eps=eps)},
    ),
    "compute_dtype": ([int, "no", bool], option("compute_dtype", FORWARD)),
    "axis": ([*NO_AXES, None], option("axis", LAST)),
    "one axis": (
        [*NO_AXES, (0,), (0, 1)],
        {
            "weight_norm": lambda axis: norms.weight_norm(X, 1, axis=axis),
            "weight_norm_backward": lambda axis: gradients.weight_norm_backward(X, X, 1, axis=axis),
        },
    ),
    "shape": ([1.0, ones((3, 0)), ones((0, 3))], PASSES | WEIGHTS),
    "two axes": (
        [ones(3)],
        {name: f for name, f in (CHANNELS | WEIGHTS).items() if not name.startswith("weight_norm")}
        | {"RunningStats.update": norms.RunningStats(3).update},
    ),
    "shape of a layer's x": (
        [ones(3), ones((3, 2)), ones((0, 3))],
        {f"{name}.forward": cls(3).forward for name, cls in NORM_LAYERS.items()}
        | {"Linear.forward": layers.Linear(3, 3, rng=0).forward},
    ),
    "count": (
        [0, -1, 2.5, True, "2", (3,)],
        NORM_LAYERS
        | {
            "group_norm: groups": lambda n: norms.group_norm(X, n),
            "group_norm_backward: groups": lambda n: gradients.group_norm_backward(X, X, n),
            "power_iteration: n_iter": lambda n: norms.power_iteration(W, n_iter=n),
            "spectral_norm: n_iter": lambda n: norms.spectral_norm(W, n_iter=n),
            "RunningStats: num_features": norms.RunningStats,
            "Linear: inputs": lambda n: layers.Linear(n, 2, rng=0),
            "Linear: outputs": lambda n: layers.Linear(2, n, rng=0),
            "GroupNorm: groups": lambda n: layers.GroupNorm(n, 6),
            "mlp: every size": lambda n: nets.mlp([4, n, 3], rng=0),
            "fit: steps": lambda n: some_fit(steps=n),
            "fit: batch_size": lambda n: some_fit(batch_size=n, rng=0),
        },
    ),
    "above 0": (
        [0, -1, nan, inf, "2", None, True],
        {
            "numerical_gradient: h": lambda h: gradients.numerical_gradient(np.sum, X, h=h),
            "Linear: gain": lambda gain: layers.Linear(3, 3, rng=0, gain=gain),
            "SGD: lr": lambda lr: nets.SGD(SOME, lr),
            "Adam: lr": lambda lr: nets.Adam(SOME, lr),
            "AdamW: lr": lambda lr: nets.AdamW(SOME, lr),
            "Adam: eps": lambda eps: nets.Adam(SOME, eps=eps),
        },
    ),
    "fraction": (
        [1.1, -0.1, nan, "0.5", True],
        {
            "RunningStats: momentum": lambda momentum: norms.RunningStats(2, momentum=momentum),
            "SGD: momentum": lambda momentum: nets.SGD(SOME, 0.1, momentum=momentum),
            "Adam: betas": lambda beta: nets.Adam(SOME, betas=(0.5, beta)),
        },
    ),
    "weight decay": (
        [-1, inf, nan, "0", None, True],
        {
            "SGD: weight_decay": lambda decay: nets.SGD(SOME, 0.1, weight_decay=decay),
            "AdamW: weight_decay": lambda decay: nets.AdamW(SOME, weight_decay=decay),
        },
    ),
    "parameters": ([[], None, layers.ReLU(), [ones(2)]], {"SGD": lambda p: nets.SGD(p, 0.1), "AdamW": nets.AdamW}),
    "rng": (
        [None, -1, 2.5, True],
        {
            "Linear: rng": lambda rng: layers.Linear(3, 3, rng=rng),
            "mlp: rng": lambda rng: nets.mlp([4, 3], rng=rng),
            "fit: rng": lambda rng: some_fit(batch_size=2, rng=rng),
        },
    ),
    "maker of layers": (
        ["group", ["batch"], 3, lambda *width: "batch"],
        {
            "mlp: norm": lambda norm: nets.mlp([4, 5, 3], norm, rng=0),
            "mlp: activation": lambda activation: nets.mlp([4, 5, 3], activation=activation, rng=0),
        },
    ),
    "layer": (
        [np.tanh, None, layers.Tanh, [layers.Tanh()]],
        {
            "Sequential: layer 1": lambda layer: layers.Sequential(layers.ReLU(), layer),
            "Residual: layer 0": layers.Residual,
            "fit: model": lambda model: nets.fit(model, [[1]], [0], None, steps=1),
        },
    ),
    "labels": (
        [[0, 1], [[0], [1], [0]], [0.0, 1.0, 0.0], [0, 1, 2], [0, -1, 0]],
        {f.__name__: functools.partial(f, ones((3, 2))) for f in (nets.cross_entropy, nets.accuracy)},
    ),
    "format": (["float8", np.float64, 3, None], {"dtype must be one of": lambda d: precision.neighbors(1.0, d)}),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in TABLE for name in TABLE[kind][1]])
def test_a_bad_value_is_refused_in_one_line(kind, name):
    values, functions = TABLE[kind]
    for value in values:
        refused(name, lambda value=value: functions[name](value))


same = layers.ReLU()
EMPTY = (0, 0.0, 0.0)
AFTER = layers.ReLU()
AFTER.forward([[1, 2]])
BLOCK = layers.Residual(layers.Linear(3, 2, rng=0))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("layer_norm: gamma", lambda: norms.layer_norm(X, gamma=ones(4), axis=(1, 2))),
        ("layer_norm: gamma", lambda: norms.layer_norm(ones((5, 3, 2)), gamma=ones(2), axis=(1, 2))),
        ("layer_norm: gamma", lambda: norms.layer_norm(X[0, :1], ones((3, 4)))),
        ("layer_norm: gamma", lambda: norms.layer_norm(ones((1, 1)), ones(4))),
        ("batch_norm: gamma", lambda: norms.batch_norm(X[:1, :1], gamma=ones((5, 1, 1)))),
        ("group_norm: groups=4 does not divide C=3", lambda: norms.group_norm(X, 4)),
        ("group_norm_backward: groups=4 does", lambda: gradients.group_norm_backward(X, X, 4)),
        ("weight_norm: v", lambda: norms.weight_norm(np.zeros(3), 1.0)),
        ("weight_norm: v", lambda: norms.weight_norm([[1.0, 2.0], [0.0, 0.0]], 1.0, axis=0)),
        ("weight_norm: g", lambda: norms.weight_norm(W, ones(4), axis=0)),
        ("weight_norm: g", lambda: norms.weight_norm(W, ones(3))),
        ("weight_standardization: gain", lambda: norms.weight_standardization(W, ones(4))),
        ("weight_norm_backward: v", lambda: gradients.weight_norm_backward(W, 0 * W, 1)),
        ("weight_norm_backward: v", lambda: gradients.weight_norm_backward(W, W * [[0], [1], [1]], 1, axis=0)),
        ("weight_norm_backward: g", lambda: gradients.weight_norm_backward(W, W, ones(4), axis=0)),
        ("weight_norm_backward: dw", lambda: gradients.weight_norm_backward(W.T, W, 1)),
        ("spectral_norm_backward: dw", lambda: gradients.spectral_norm_backward(W.T, W)),
        ("spectral_norm_backward: w", lambda: gradients.spectral_norm_backward(W, 0 * W)),
        ("spectral_norm_backward: w", lambda: gradients.spectral_norm_backward(W, nan * W)),
        ("power_iteration: w", lambda: norms.power_iteration(X)),
        ("power_iteration: w", lambda: norms.power_iteration([[inf, 1.0]])),
        ("power_iteration: u", lambda: norms.power_iteration(W, u=ones(4))),
        ("power_iteration: u", lambda: norms.power_iteration(W, u=[0.0, 0.0, 0.0])),
        ("power_iteration: u", lambda: norms.power_iteration(W, u=[1.0, -inf, 0.0])),
        ("power_iteration: u", lambda: norms.power_iteration(W, u=[nan, 1.0, 0.0])),
        ("spectral_norm: u", lambda: norms.spectral_norm(W, n_iter=1, u=[1.0])),
        ("spectral_norm: w", lambda: norms.spectral_norm(0 * W)),
        ("spectral_norm: w", lambda: norms.spectral_norm(0 * W, n_iter=3)),
        ("spectral_norm: w", lambda: norms.spectral_norm(nan * W)),
        ("RunningStats.update: x", lambda: norms.RunningStats(2).update(ones((4, 3)))),
        ("RunningStats.update: unbiased=True", lambda: norms.RunningStats(3).update(ones((1, 3)))),
        ("numerical_gradient: f", lambda: gradients.numerical_gradient(np.copy, X)),
        ("Parameter: grad", lambda: layers.Parameter([1, 2], [1])),
        ("ReLU.backward: call forward first", lambda: layers.ReLU().backward([1])),
        ("ReLU.backward: dy", lambda: AFTER.backward([[1]])),
        ("ReLU.backward: dy", lambda: AFTER.backward([[1j, 2]])),
        ("BatchNorm.forward: training", lambda: layers.BatchNorm(3).forward(ones((1, 3)))),
        ("GroupNorm: groups=4 does", lambda: layers.GroupNorm(4, 6)),
        ("Linear: init", lambda: layers.Linear(3, 3, rng=0, init="xavier")),
        ("Residual: scale", lambda: layers.Residual(layers.ReLU(), scale=inf)),
        ("Residual: scale", lambda: layers.Residual(layers.ReLU(), scale="2")),
        ("Residual.forward: the block", lambda: BLOCK.forward(ones((4, 3)))),
        ("Sequential: needs", lambda: layers.Sequential()),
        ("Sequential: the same", lambda: layers.Sequential(same, layers.Tanh(), layers.Residual(same))),
        ("mlp: sizes", lambda: nets.mlp([4], rng=0)),
        ("mlp: sizes", lambda: nets.mlp(4, rng=0)),
        ("mlp: activation", lambda: nets.mlp([4, 5, 3], activation=None, rng=0)),
        ("cross_entropy: logits", lambda: nets.cross_entropy([1, 2], [0, 1])),
        ("cross_entropy: logits", lambda: nets.cross_entropy(ones((0, 2)), [])),
        ("SGD: momentum", lambda: nets.SGD(SOME, 1, momentum=1)),
        ("AdamW: betas", lambda: nets.AdamW(SOME, betas=(1, 0.9))),
        ("Adam: betas", lambda: nets.Adam(SOME, betas=0.9)),
        ("Adam: betas", lambda: nets.Adam(SOME, betas=(0.9, 0.9, 0.9))),
        ("fit: optimizer", lambda: some_fit(optimizer="sgd")),
        ("fit: optimizer", lambda: some_fit(optimizer=nets.SGD(SOME, 0.1))),
        ("fit: labels", lambda: some_fit(labels=[0, 1])),
        ("fit: x", lambda: some_fit(x=1.0)),
        ("fit: batch_size=4 is more", lambda: some_fit(batch_size=4, rng=0)),
        ("var_two_pass: x", lambda: precision.var_two_pass(3.0)),
        ("var_chan: x", lambda: precision.var_chan(ones((2, 0)))),
        ("rms_norm_cast: x", lambda: precision.rms_norm_cast(ones((2, 0)), ones(0))),
        ("rms_norm_cast: weight", lambda: precision.rms_norm_cast(ones((2, 2, 3)), ones(2))),
        ("rms_norm_cast: order", lambda: precision.rms_norm_cast(ones(3), ones(3), order="c")),
        ("rms_norm_cast: dtype", lambda: precision.rms_norm_cast(ones(3), ones(3), dtype="float32")),
        ("neighbors: x", lambda: precision.neighbors([1.0, 2.0], "float16")),
        ("neighbors: x", lambda: precision.neighbors("1", "float16")),
        ("neighbors: x", lambda: precision.neighbors(1j, "float16")),
        ("merge_variances: counts", lambda: precision.merge_variances(EMPTY, EMPTY)),
        ("merge_variances: counts", lambda: precision.merge_variances((-1, 0.0, 0.0), (2, 0.0, 0.0))),
        ("merge_variances: counts", lambda: precision.merge_variances((2, 0.0, 0.0), (np.array([3, -1]), 0.0, 0.0))),
        ("merge_variances: counts", lambda: precision.merge_variances((np.array([0, 1]), 0.0, 0.0), EMPTY)),
        ("merge_variances: expected two", lambda: precision.merge_variances((1, 0.0), (2, 0.0, 0.0))),
        ("merge_variances: expected two", lambda: precision.merge_variances(1, (2, 0.0, 0.0))),
    ],
)
def test_a_bad_combination_is_refused_in_one_line(name, call):
    refused(name, call)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: norms.batch_norm(ones(3)), "batch_norm: x must have at least 2 axes, got shape (3,)"),
        (lambda: norms.layer_norm(X, eps=True), "layer_norm: eps must be a finite number >= 0, got True"),
        (
            lambda: norms.layer_norm(X, beta=ones(3)),
            "layer_norm: beta has shape (3,), expected (4,) to match the normalized axes of x with shape (2, 3, 4)",
        ),
        (
            lambda: norms.rms_norm(X, axis=-4),
            "rms_norm: axis must be an int, or different ints, from -3 to 2 for x with shape (2, 3, 4), got -4",
        ),
        (lambda: norms.group_norm(X, 2), "group_norm: groups=2 does not divide C=3 of x with shape (2, 3, 4)"),
        (lambda: norms.weight_norm(W, ones(3)), "weight_norm: g has shape (3,), expected one number"),
        (lambda: layers.Sequential(layers.Tanh), "Sequential: layer 0 is the class Tanh; write Tanh(...)"),
        (
            lambda: layers.Sequential([layers.Tanh()]),
            "Sequential: layer 0 must be a Layer, got list; write Sequential(*layers)",
        ),
        (
            lambda: layers.Linear(3, 3, rng=0).forward(W),
            "Linear.forward: x has shape (3, 4), expected a batch with 3 entries on the last axis",
        ),
        (lambda: nets.accuracy([[1, 2]], [2]), "accuracy: labels must be from 0 to 1, got 2 to 2"),
    ],
)
def test_what_was_expected_and_what_came_is_said(call, sentence):
    assert refused("", call) == sentence
