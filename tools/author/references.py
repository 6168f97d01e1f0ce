"""Run the norms of each installed framework and store what they answered, for lesson 13 and the tests.

The frameworks are PyTorch, Keras 3 on TensorFlow, Flax and TensorFlow. Nothing is read from their documentation or
their default arguments: every stored value is an output, a gradient, a buffer or a shape. A framework that is not
installed keeps the values it has, and a value that differs only by rounding keeps its stored digits.
"""

import hashlib
import json
import os
import re
import warnings
from importlib import metadata
from importlib.util import find_spec

import numpy as np

from tools.lessons import ROOT

STORED = ROOT / "helpers" / "data" / "frameworks.json"
PACKAGES = {"pytorch": "torch", "keras": "keras", "flax": "flax", "tensorflow": "tensorflow"}
NORMS = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm")
GROUPS = 2
CALLS = 100  # of a layer under spectral norm, which takes one step of power iteration in each
TOLERANCE = 2e-5  # float32 sums in another order stay below it, every convention is above it

# Eighths and quarters, which every format holds exactly. x is (N, L, C), the channels last.
INPUTS = {
    "x": ((np.arange(24) * 37 % 23 - 9) / 8).reshape(2, 3, 4),
    "dy": ((np.arange(24) * 29 % 19 - 7) / 8).reshape(2, 3, 4),
    "gamma": np.array([0.5, 1.0, 1.5, 2.0]),
    "beta": np.array([1.0, -0.5, 0.25, 0.0]),
    "small": np.array([1e-2, 1e-4]),
    "small_float64": np.array([1e-8]),
    "updates": np.array([[0.0], [4.0]]),
    "one_value": np.array([[3.0]]),
    "large_mean": np.array([4095.0, 4097.0]),
    "half": (np.arange(8) * 5 % 8 + 1) / 4,
    "half_gamma": (np.arange(8) * 3 % 8 + 9) / 8,
    "weight": np.array([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]]),
}


def float32(*arrays):
    return [None if a is None else np.asarray(a, np.float32) for a in arrays]


class PyTorch:
    """torch.nn, channels first: `call` moves the channels of (N, L, C) to axis 1 and back."""

    def __init__(self):
        import torch

        self.torch = torch

    def layer(self, norm, channels, groups=GROUPS):
        nn = self.torch.nn
        return {
            "batch_norm": lambda: nn.BatchNorm1d(channels),
            "layer_norm": lambda: nn.LayerNorm(channels),
            "group_norm": lambda: nn.GroupNorm(groups, channels),
            "instance_norm": lambda: nn.InstanceNorm1d(channels, affine=True),
            "rms_norm": lambda: nn.RMSNorm(channels),
        }[norm]()

    def call(self, norm, x, gamma=None, beta=None, dy=None, as_is=False, **options):
        layer = self.layer(norm, np.shape(x)[-1], **options)
        if gamma is not None:
            layer.weight.data = self.torch.tensor(gamma)
        if beta is not None and norm != "rms_norm":
            layer.bias.data = self.torch.tensor(beta)
        x = self.torch.tensor(x, requires_grad=True)
        turn = not as_is and x.ndim == 3 and norm in ("batch_norm", "group_norm", "instance_norm")
        y = layer(x.movedim(-1, 1)).movedim(1, -1) if turn else layer(x)
        if dy is None:
            return y.detach().numpy()
        y.backward(self.torch.tensor(dy))
        gradients = [x.grad, layer.weight.grad, *([] if norm == "rms_norm" else [layer.bias.grad])]
        return [part.detach().numpy() for part in (y, *gradients)]

    def running(self, batch):
        layer = self.layer("batch_norm", 1)
        layer(self.torch.tensor(batch))
        return layer.running_mean.item(), layer.running_var.item()

    def parameters(self):
        nn = self.torch.nn
        layers = {norm: self.layer(norm, 4) for norm in NORMS}
        layers |= {"dense": nn.Linear(4, 3), "conv": nn.Conv2d(4, 3, (5, 7))}
        return {name: {k: list(v.shape) for k, v in layer.state_dict().items()} for name, layer in layers.items()}

    def weights(self, w):
        """A dense weight (out, in), new under weight norm, and under spectral norm after many calls in training."""
        wrap = self.torch.nn.utils.parametrizations
        layers = [self.torch.nn.Linear(*w.shape[::-1]) for _ in range(2)]
        for layer in layers:
            layer.weight.data = self.torch.tensor(w)
        lengths, spectral = wrap.weight_norm(layers[0]), wrap.spectral_norm(layers[1])
        for _ in range(CALLS):
            spectral(self.torch.ones(1, w.shape[1]))
        found = {"weight_norm": lengths.weight, "spectral_norm": spectral.eval().weight}
        return {norm: weight.detach().numpy() for norm, weight in found.items()}

    def kept_graph(self, detached):
        """How many nodes of the graph a buffer keeps alive after 1, 2, ... 5 updates by assignment."""
        layer = self.torch.nn.Conv1d(1, 1, 1)
        running, counts = self.torch.zeros(1), []
        for _ in range(5):
            mean = layer(self.torch.ones(2, 1, 3)).mean((0, 2))
            running = 0.9 * running + 0.1 * (mean.detach() if detached else mean)
            counts.append(nodes(running.grad_fn))
        return counts

    def half(self, x, gamma, dtype="float16"):
        """RMSNorm of a layer that is float16 as a whole: (dtype of the output, output)."""
        layer = self.torch.nn.RMSNorm(len(gamma), dtype=getattr(self.torch, dtype))
        layer.weight.data = self.torch.tensor(gamma).to(layer.weight.dtype)
        y = layer(self.torch.tensor(x).to(layer.weight.dtype))
        return str(y.dtype).removeprefix("torch."), y.detach().to(self.torch.float64).numpy()


class Keras:
    """keras.layers, channels last; the gradients come from TensorFlow, its backend."""

    def __init__(self):
        os.environ["KERAS_BACKEND"] = "tensorflow"
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import keras

        self.keras = keras

    def layer(self, norm, groups=GROUPS, **options):
        layers = self.keras.layers
        return {
            "batch_norm": lambda: layers.BatchNormalization(**options),
            "layer_norm": lambda: layers.LayerNormalization(**options),
            "group_norm": lambda: layers.GroupNormalization(groups, **options),
            "instance_norm": lambda: layers.GroupNormalization(-1, **options),
            "rms_norm": lambda: layers.RMSNormalization(**options),
        }[norm]()

    def call(self, norm, x, gamma=None, beta=None, dy=None, as_is=False, **options):
        layer = self.layer(norm, **options)
        layer.build(np.shape(x))
        training = {"training": True} if norm == "batch_norm" else {}
        self.set(layer, gamma, beta, norm)
        if dy is None:
            return np.array(self.keras.ops.convert_to_numpy(layer(x, **training)))
        return self.gradients(layer, x, dy, training)

    def set(self, layer, gamma, beta, norm):
        values = layer.get_weights()
        if gamma is not None:
            values[0] = gamma
        if beta is not None and norm != "rms_norm":
            values[1] = beta
        layer.set_weights(values)

    def gradients(self, layer, x, dy, training):
        import tensorflow as tf

        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, **training)
        parts = [y, *tape.gradient(y, [x, *(w.value for w in layer.trainable_variables)], tf.constant(dy))]
        return [part.numpy() for part in parts]

    def running(self, batch):
        layer = self.layer("batch_norm")
        layer(batch, training=True)
        return [float(v[0]) for v in layer.get_weights()[2:]]

    def parameters(self):
        layers = {norm: self.layer(norm) for norm in NORMS}
        layers |= {"dense": self.keras.layers.Dense(3), "conv": self.keras.layers.Conv2D(3, (5, 7))}
        shapes = {}
        for name, layer in layers.items():
            layer.build((2, 9, 9, 4) if name == "conv" else (2, 4) if name == "dense" else (2, 3, 4))
            shapes[name] = {w.name: list(w.shape) for w in layer.weights}
        return shapes

    def weights(self, w):
        """As in PyTorch; Keras has no weight norm."""
        dense = self.keras.layers.Dense(len(w), use_bias=False)
        layer = self.keras.layers.SpectralNormalization(dense)
        layer.build((1, w.shape[1]))
        dense.kernel.assign(w.T)
        for _ in range(CALLS):
            y = layer(np.eye(w.shape[1], dtype=np.float32), training=True)
        return {"spectral_norm": np.array(self.keras.ops.convert_to_numpy(y)).T}

    def half(self, x, gamma, dtype="float16"):
        """RMSNorm under the policy mixed_float16: parameters in float32, the layer computes in float16."""
        layer = self.layer("rms_norm", dtype="mixed_float16")
        layer.build((1, len(gamma)))
        layer.set_weights([gamma])
        y = np.array(self.keras.ops.convert_to_numpy(layer(np.asarray(x, dtype))))
        return str(y.dtype), y.astype(float)


class Flax:
    """flax.nnx, channels last; flax.linen gives the same values."""

    def __init__(self):
        import jax
        from flax import nnx

        self.jax, self.nnx = jax, nnx

    def layer(self, norm, channels, groups=GROUPS, **options):
        nnx = self.nnx
        options["rngs"] = nnx.Rngs(0)
        return {
            "batch_norm": lambda: nnx.BatchNorm(channels, **options),
            "layer_norm": lambda: nnx.LayerNorm(channels, **options),
            "group_norm": lambda: nnx.GroupNorm(channels, groups, **options),
            "instance_norm": lambda: nnx.InstanceNorm(channels, **options),
            "rms_norm": lambda: nnx.RMSNorm(channels, **options),
        }[norm]()

    def call(self, norm, x, gamma=None, beta=None, dy=None, as_is=False, **options):
        x = self.jax.numpy.asarray(x)
        names = ["scale"] if norm == "rms_norm" else ["scale", "bias"]
        given = [self.jax.numpy.asarray(v) for v in (gamma, beta)[: len(names)] if v is not None]

        def run(x, *values):
            layer = self.layer(norm, x.shape[-1], **options)
            for name, value in zip(names, values, strict=False):
                setattr(layer, name, self.nnx.Param(value))
            return layer(x)

        if dy is None:
            return np.array(run(x, *given))
        y, back = self.jax.vjp(run, x, *given)
        return [np.array(part) for part in (y, *back(self.jax.numpy.asarray(dy)))]

    def running(self, batch):
        layer = self.layer("batch_norm", 1)
        layer(self.jax.numpy.asarray(batch))
        return float(layer.mean[0]), float(layer.var[0])

    def parameters(self):
        nnx, rngs = self.nnx, self.nnx.Rngs(0)
        layers = {norm: self.layer(norm, 4) for norm in NORMS}
        layers |= {"dense": nnx.Linear(4, 3, rngs=rngs), "conv": nnx.Conv(4, 3, (5, 7), rngs=rngs)}
        names = ("kernel", "scale", "bias", "mean", "var")
        return {
            name: {k: list(getattr(layer, k).shape) for k in names if getattr(layer, k, None) is not None}
            for name, layer in layers.items()
        }

    def weights(self, w):
        """As in PyTorch."""
        nnx, rngs, unit = self.nnx, self.nnx.Rngs(0), self.jax.numpy.eye(w.shape[1])
        dense = [nnx.Linear(*w.shape[::-1], use_bias=False, rngs=rngs) for _ in range(2)]
        for layer in dense:
            layer.kernel = nnx.Param(self.jax.numpy.asarray(w.T))
        lengths, spectral = nnx.WeightNorm(dense[0], rngs=rngs), nnx.SpectralNorm(dense[1], rngs=rngs)
        for _ in range(CALLS):
            y = spectral(unit)
        return {"weight_norm": np.array(lengths(unit)).T, "spectral_norm": np.array(y).T}

    def half(self, x, gamma, dtype="float16"):
        """RMSNorm with dtype=float16: parameters in float32, the output in float16."""
        layer = self.layer("rms_norm", len(gamma), dtype=getattr(self.jax.numpy, dtype))
        layer.scale = self.nnx.Param(self.jax.numpy.asarray(gamma))
        y = layer(self.jax.numpy.asarray(x, dtype))
        return str(y.dtype), np.array(y, float)


class TensorFlow:
    """TensorFlow's own operation; its layers are those of Keras. Batch norm of (N, H, W, C) only."""

    def __init__(self):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        self.tf = tf

    def call(self, norm, x, gamma=None, beta=None, dy=None, as_is=False):
        tf, shape = self.tf, np.shape(x)
        channels = shape[-1]
        gamma = np.ones(channels, np.float32) if gamma is None else gamma
        beta = np.zeros(channels, np.float32) if beta is None else beta
        x, gamma, beta = (tf.constant(v) for v in (np.reshape(x, (-1, 1, 1, channels)), gamma, beta))
        with tf.GradientTape() as tape:
            tape.watch([x, gamma, beta])
            y = tf.compat.v1.nn.fused_batch_norm(x, gamma, beta)[0]
        if dy is None:
            return y.numpy().reshape(shape)
        dx, *others = tape.gradient(y, [x, gamma, beta], tf.constant(np.reshape(dy, x.shape)))
        return [y.numpy().reshape(shape), dx.numpy().reshape(shape), *(part.numpy() for part in others)]

    def running(self, batch, **options):
        """The new statistics when the stored ones are 0 and 1."""
        tf = self.tf
        images = tf.constant(np.reshape(batch, (-1, 1, 1, 1)))
        start = [tf.constant([v], tf.float32) for v in (1, 0, 0, 1)]
        _, mean, var = tf.compat.v1.nn.fused_batch_norm(images, *start, **options)
        return float(mean[0]), float(var[0])


def nodes(function, seen=None):
    """The nodes of an autograd graph."""
    seen = set() if seen is None else seen
    if function is not None and function not in seen:
        seen.add(function)
        for earlier, _ in function.next_functions:
            nodes(earlier, seen)
    return len(seen)


FRAMEWORKS = {"pytorch": PyTorch, "keras": Keras, "flax": Flax, "tensorflow": TensorFlow}


def measure_norm(framework, norm):
    """Outputs, gradients and the answers to the small questions, of one norm with default settings."""
    x, gamma, beta, dy = float32(*(INPUTS[key] for key in ("x", "gamma", "beta", "dy")))
    parts = framework.call(norm, x, gamma, beta, dy)
    found = dict(zip(("y", "dx", "dgamma", "dbeta"), parts, strict=False))

    def pair(value):
        """-s and s, in the two places that this norm compares."""
        low, high = (-value, value) if np.ndim(value) == 0 else value
        shapes = {"batch_norm": (2, 1), "group_norm": (1, 1, 2), "instance_norm": (1, 2, 1)}
        x = np.array([low, high], np.float32).reshape(shapes.get(norm, (1, 2)))
        options = {"groups": 1} if norm == "group_norm" else {}
        return framework.call(norm, x, **options).ravel()

    found["small"] = [pair(s)[1] for s in INPUTS["small"]]
    found["large_mean"] = pair(INPUTS["large_mean"])
    if norm in ("batch_norm", "instance_norm"):
        one = float32(INPUTS["one_value"])[0].reshape((1, 1) if norm == "batch_norm" else (1, 1, 1))
        found["one_value"] = outcome(lambda: framework.call(norm, one, *float32([1.0], [7.0])).item())
    if not isinstance(framework, TensorFlow):
        found["block"] = block(framework, norm)
    return found


def outcome(call):
    """What a call gives, or the kind of its error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def block(framework, norm):
    """How far one NaN spreads along each axis of (2, 4, 4), where no size tells the axes apart."""
    x = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    x[0, 0, 0] = np.nan
    reached = np.isnan(framework.call(norm, x, as_is=True))
    return [int(reached.any(axis=tuple({0, 1, 2} - {k})).sum()) for k in range(3)]


def measure(name):
    """All values of one installed framework, as plain numbers, lists and texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        framework = FRAMEWORKS[name]()
        norms = NORMS[:1] if name == "tensorflow" else NORMS
        found = {norm: measure_norm(framework, norm) for norm in norms}
        found["batch_norm"]["running"] = framework.running(*float32(INPUTS["updates"]))
        if name != "tensorflow":
            found["parameters"] = framework.parameters()
            found["weights"] = framework.weights(*float32(INPUTS["weight"]))
            x, gamma = float32(INPUTS["half"][None], INPUTS["half_gamma"])
            found["rms_norm"]["half"] = framework.half(x, gamma)[1][0]
            into = outcome(lambda: str(framework.call("rms_norm", x.astype(np.float16)).dtype))
            found["rms_norm"]["half_into_default"] = into
        if name == "tensorflow":  # its default, 1, keeps no history
            told = framework.running(*float32(INPUTS["updates"]), exponential_avg_factor=0.1)
            found["batch_norm"]["running_told_0.1"] = told
        if name == "pytorch":
            found["rms_norm"]["small_by_dtype"] = small_by_dtype(framework)
            found["kept_graph"] = {name: framework.kept_graph(name == "detached") for name in ("as_is", "detached")}
    plain = simple(found)
    version = {"version": metadata.version(installed_as(name)).partition("+")[0]}
    return version | ({"backend": "tensorflow"} if name == "keras" else {}) | plain


def small_by_dtype(framework):
    """RMSNorm of -s and s where its eps shows, in each dtype, since PyTorch's default eps depends on it."""
    found = {}
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        s = INPUTS["small_float64"][0] if dtype == "float64" else INPUTS["small"][1]
        found[dtype] = framework.half(np.array([[-s, s]]), np.ones(2), dtype)[1][0, 1]
    return found


def simple(value):
    """Arrays as lists, numbers with seven digits."""
    if isinstance(value, dict):
        return {key: simple(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [simple(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.7g}") + 0.0
    return value


# ------------------------------------------------------------------------------------------- stored and measured


def installed_as(name):
    """The distribution that holds a framework: TensorFlow comes under several names."""
    return (metadata.packages_distributions().get(PACKAGES[name]) or [PACKAGES[name]])[0]


def installed():
    """The frameworks that can be run here; Keras needs TensorFlow."""
    found = [name for name, package in PACKAGES.items() if find_spec(package)]
    return [name for name in found if name != "keras" or "tensorflow" in found]


def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


def differences(old, new, where=""):
    """One sentence for each value that is more than a rounding apart, or is there on one side only."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in [*old, *(key for key in new if key not in old)]:
            found += differences(old.get(key), new.get(key), f"{where} {key}".strip())
        return found
    return [] if close(old, new) else [f"{where}: stored {str(old)[:60]}, measured {str(new)[:60]}"]


def close(old, new):
    """Equal shapes and texts, and numbers that differ by a rounding at most."""
    try:
        old, new = np.asarray(old, float), np.asarray(new, float)
    except (TypeError, ValueError):
        return old == new
    return old.shape == new.shape and np.allclose(old, new, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def kept(old, new):
    """The new values, but the old digits where nothing changed."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: kept(old.get(key), item) for key, item in new.items()}
    return old if old is not None and close(old, new) else new


def as_text(value, indent=1):
    """JSON with one value to a line, so that a change shows as one line."""
    if not isinstance(value, dict):
        return json.dumps(value)
    lines = [f"{' ' * indent}{json.dumps(key)}: {as_text(item, indent + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + " " * (indent - 1) + "}" + ("\n" if indent == 1 else "")


def write_checksum():
    """Bring the stored file's sha256 into the row of the README beside it."""
    readme = STORED.with_name("README.md")
    row = re.compile(rf"^(\| `{STORED.name}` \|.*\| `)[0-9a-f]*(` \|)$", re.MULTILINE)
    checksum = hashlib.sha256(STORED.read_bytes()).hexdigest()
    text = row.sub(rf"\g<1>{checksum}\g<2>", readme.read_text(encoding="utf-8"))
    readme.write_bytes(text.encode("utf-8"))


def main():
    old, new = stored(), {"inputs": simple(INPUTS)}
    for name in FRAMEWORKS:
        if name not in installed():
            print(f"{name}: not installed, skipped")
            new |= {name: old[name]} if name in old else {}
            continue
        values = measure(name)
        found = differences(old.get(name, {}), values)
        print(f"{name} {values['version']}: {len(found)} changed", *found, sep="\n  ")
        new[name] = kept(old.get(name), values)
    STORED.write_bytes(as_text(new).encode("utf-8"))
    write_checksum()
    print(f"Stored in {STORED.relative_to(ROOT)}, its checksum in the README beside it.")


if __name__ == "__main__":
    main()
