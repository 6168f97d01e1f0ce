"""helpers/layers.py: every layer against difference quotients and its mode."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import norms
from helpers.gradients import numerical_gradient
from helpers.layers import (
    BatchNorm,
    GroupNorm,
    LayerNorm,
    Linear,
    ReLU,
    Residual,
    RMSNorm,
    Sequential,
    Sigmoid,
    Tanh,
)
from tests.shared import draw, relative_error


def block(seed=0):
    rng = np.random.default_rng(seed)
    return Sequential(Linear(6, 5, rng=rng), BatchNorm(5), Tanh(), Linear(5, 6, rng=rng, bias=False))


# name -> a function that makes the layer, for x with 6 channels and 6 features on the last axis
MAKE = {
    "linear": lambda: Linear(6, 4, rng=0),
    "linear without bias": lambda: Linear(6, 4, rng=0, bias=False),
    "batch norm": lambda: BatchNorm(6),
    "layer norm": lambda: LayerNorm(6),
    "rms norm": lambda: RMSNorm(6),
    "group norm": lambda: GroupNorm(2, 6),
    "relu": ReLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "sequential": block,
    "residual with scale": lambda: Residual(Sequential(Linear(6, 6, rng=0), Tanh()), scale=2.5),
    "pre-norm": lambda: Residual(Sequential(LayerNorm(6), block())),
    "post-norm": lambda: Sequential(Residual(block()), LayerNorm(6)),
}
NORMS = ["batch norm", "layer norm", "rms norm", "group norm"]
every_layer = pytest.mark.parametrize("name", MAKE)
both_modes = pytest.mark.parametrize("mode", ["train", "eval"])


def make(name, mode="train"):
    """The layer with parameters and running averages that are not those of the start, in the given mode."""
    layer = MAKE[name]()
    for i, parameter in enumerate(layer.parameters()):
        parameter.value = parameter.value + draw(parameter.value.shape, 10 + i) / 4
    for inner in everything_in(layer):
        if isinstance(inner, BatchNorm):
            inner.stats.update(draw((8, inner.features), 5))
    getattr(layer, mode)()
    return layer


def everything_in(layer):
    return [layer, *(inner for child in layer.children() for inner in everything_in(child))]


@every_layer
@both_modes
@pytest.mark.parametrize("shape", [(5, 6), (3, 6, 6)], ids=str)
def test_gradients_are_difference_quotients(name, mode, shape):
    if len(shape) == 3 and name in ("sequential", "pre-norm", "post-norm"):
        return  # a Linear counts features on the last axis, a BatchNorm on axis 1
    layer, x = make(name, mode), draw(shape)
    dy = draw(layer.forward(x).shape, 1)
    dx = layer.backward(dy)

    def loss(x):
        return np.sum(dy * layer.forward(x))

    assert relative_error(dx, numerical_gradient(loss, x)) < 1e-8
    for parameter in layer.parameters():
        gradient, value = parameter.grad, parameter.value

        def loss_of(value, parameter=parameter):
            parameter.value = value
            return loss(x)

        expected = numerical_gradient(loss_of, value)
        parameter.value = value
        if np.abs(expected).max() < 1e-8:  # the bias before a batch norm in training mode has no gradient
            assert np.abs(gradient).max() < 1e-12 and mode == "train"
        else:
            assert relative_error(gradient, expected) < 1e-8


@every_layer
def test_a_second_backward_adds_zero_grad_clears_and_nothing_is_changed_in_place(name):
    layer, x = make(name), draw((5, 6))
    dy = draw(layer.forward(x).shape, 1)
    layer.backward(dy)
    held = [x, dy, *(p.grad for p in layer.parameters())]
    kept = [array.copy() for array in held]
    layer.backward(dy)
    for parameter, grad in zip(layer.parameters(), kept[2:], strict=True):
        assert_allclose(parameter.grad, 2 * grad)
    layer.zero_grad()
    assert not any(p.grad.any() for p in layer.parameters())
    for array, before in zip(held, kept, strict=True):
        assert_array_equal(array, before)


def test_backward_belongs_to_the_mode_of_its_forward():
    layer, x, dy = make("batch norm"), draw((5, 6)), draw((5, 6), 1)
    layer.forward(x)
    in_training = layer.backward(dy)
    layer.forward(x)
    layer.eval()
    assert_array_equal(layer.backward(dy), in_training)
    layer.forward(x)
    layer.train()
    assert not np.allclose(layer.backward(dy), in_training)


def test_a_linear_worked_by_hand():
    layer = Linear(2, 1, rng=0)
    layer.weight.value, layer.bias.value = np.array([[2.0, 3.0]]), np.array([1.0])
    for leading in ((2,), (1, 2), (2, 1)):  # any number of leading axes
        layer.zero_grad()
        assert_array_equal(layer.forward(np.reshape([[1, 1], [0, 2]], (*leading, 2))).ravel(), [6, 7])
        assert_array_equal(
            layer.backward(np.reshape([1, 10], (*leading, 1))), np.reshape([2, 3, 20, 30], (*leading, 2))
        )
        assert_array_equal(layer.weight.grad, [[1, 21]])
        assert_array_equal(layer.bias.grad, [11])


def test_activations_worked_by_hand_at_three_points():
    e = np.e
    for layer, y, dx in (
        (ReLU(), [0, 0, 2], [0, 0, 1]),
        (Tanh(), [np.tanh(-1), 0, np.tanh(2)], [1 - np.tanh(1) ** 2, 1, 1 - np.tanh(2) ** 2]),
        (Sigmoid(), [1 / (1 + e), 0.5, 1 / (1 + e**-2)], [e / (1 + e) ** 2, 0.25, 0.10499358540350652]),
    ):
        assert_allclose(layer.forward([[-1, 0, 2]]), [y])
        assert_allclose(layer.backward(np.ones((1, 3))), [dx])


def test_overflow_shows_inf_or_nan_without_warnings(recwarn):
    huge = np.array([[-1e300, 1e300]])
    assert_array_equal(Sigmoid().forward(huge), [[0, 1]])
    assert_array_equal(Tanh().forward(huge), [[-1, 1]])
    assert_array_equal(ReLU().forward(huge), [[0, 1e300]])
    net = Sequential(Linear(2, 2, rng=0, gain=1e200), Residual(Linear(2, 2, rng=1, gain=1e200)))
    assert not np.isfinite(net.forward(np.ones((3, 2)))).any()
    assert not np.isfinite(net.backward(np.full((3, 2), 1e200))).any()
    assert not recwarn.list


def test_a_residual_is_scaled_x_plus_the_block():
    inner, x = Linear(6, 6, rng=0), draw((5, 6))
    for options, scale in (({"scale": 3}, 3), ({}, 1), ({"scale": 0}, 0)):
        assert_allclose(Residual(inner, **options).forward(x), scale * x + inner.forward(x))


def test_a_sequential_shows_both_directions_of_every_layer():
    net = block()
    assert net.outputs == net.gradients == []
    x, dy = draw((5, 6)), draw((5, 6), 1)
    y = net.forward(x)
    dx = net.backward(dy)
    assert net.outputs[-1] is y
    assert len(net.outputs) == len(net.gradients) == 4
    for i, layer in enumerate(net.layers):
        assert_array_equal(layer.forward([x, *net.outputs][i]), net.outputs[i])
        assert_array_equal(layer.backward(net.gradients[i]), [dx, *net.gradients][i])
    assert_array_equal(net.gradients[-1], dy)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_layer_begins_as_the_function_it_names(name):
    layer = MAKE[name]()
    parameters = [p.value for p in layer.parameters()]
    assert [p.tolist() for p in parameters] == [[1.0] * 6, [0.0] * 6][: 1 if name == "rms norm" else 2]
    assert layer.parameters()[0] is layer.gamma
    function = getattr(norms, name.replace(" ", "_"))
    groups = [2] if name == "group norm" else []
    for shape in ((5, 6), (4, 6, 6)):
        assert_array_equal(layer.forward(draw(shape)), function(draw(shape), *groups, *parameters).y)


@pytest.mark.parametrize("cls", [BatchNorm, LayerNorm, RMSNorm, lambda n, **k: GroupNorm(2, n, **k)])
def test_eps_reaches_both_passes(cls):
    x, dy = 1e-3 * draw((5, 6)), draw((5, 6), 1)
    results = []
    for options in ({}, {"eps": 1e-5}, {"eps": 1.0}):
        layer = cls(6, **options)
        results.append((layer.forward(x), layer.backward(dy)))
    for default, same, other in zip(*results, strict=True):
        assert_array_equal(default, same)
        assert np.abs(other).max() < 0.1 * np.abs(same).max()


@pytest.mark.parametrize("shape", [(5, 6), (4, 6, 3), (2, 6, 3, 2)], ids=str)
def test_running_averages_are_those_of_running_stats(shape):
    for options in ({}, {"momentum": 0.5}, {"momentum": None}):
        layer, stats = BatchNorm(6, **options), norms.RunningStats(6, **options)
        for seed in range(3):
            layer.forward(draw(shape, seed))
            stats.update(draw(shape, seed))
        assert_array_equal([layer.running_mean, layer.running_var], [stats.mean, stats.var])
        assert layer.momentum == stats.momentum


@pytest.mark.parametrize("shape", [(5, 6), (4, 6, 3), (2, 6, 3, 2), (1, 6)], ids=str)
def test_batch_norm_at_inference_uses_the_running_averages(shape):
    layer, x = make("batch norm", "eval"), draw(shape)
    mean, var, gamma, beta = (
        values.reshape(1, 6, *[1] * (len(shape) - 2))
        for values in (layer.running_mean, layer.running_var, layer.gamma.value, layer.beta.value)
    )
    assert_allclose(layer.forward(x), (x - mean) / np.sqrt(var + 1e-5) * gamma + beta)
    dy = draw(shape, 1)
    assert_allclose(layer.backward(dy), dy * gamma / np.sqrt(var + 1e-5))


def state(layer):
    """A copy of everything that the layer will compute with later."""
    return copy.deepcopy([[p.value for p in layer.parameters()], *(vars(s) for s in running_stats(layer))])


def running_stats(layer):
    return [inner.stats for inner in everything_in(layer) if isinstance(inner, BatchNorm)]


@every_layer
def test_inference_changes_no_state_and_sees_each_row_alone(name):
    layer, x = make(name, "eval"), draw((5, 6))
    before = state(layer)
    y = layer.forward(x)
    np.testing.assert_equal(state(layer), before)
    assert_allclose(y[:1], layer.forward(x[:1]), atol=1e-14)
    assert np.array_equal(y, make(name).forward(x)) != bool(running_stats(layer))  # the mode is batch norm's alone


@every_layer
def test_train_and_eval_reach_every_layer_and_no_other(name):
    layer, other = MAKE[name](), MAKE[name]()
    for switch, training in ((layer.__repr__, True), (layer.eval, False), (layer.train, True), (other.eval, True)):
        assert switch() in (layer, other, repr(layer))
        assert {inner.training for inner in everything_in(layer)} == {training}


@every_layer
def test_lists_and_float32_are_computed_in_float64(name):
    x = np.arange(30.0).reshape(5, 6) ** 1.5
    exact = make(name).forward(x.astype(np.float32).astype(np.float64))
    for given in (x.astype(np.float32), x.astype(np.float32).tolist()):
        y = make(name).forward(given)
        assert y.dtype == np.float64
        assert_array_equal(y, exact)


def test_parameters_come_once_and_first_layer_first():
    net = Sequential(
        Linear(6, 6, rng=0), Residual(Sequential(LayerNorm(6), Linear(6, 6, rng=1, bias=False))), RMSNorm(6)
    )
    linear, residual, rms = net.layers
    norm, inner = residual.block.layers
    expected = [linear.weight, linear.bias, norm.gamma, norm.beta, inner.weight, rms.gamma]
    assert [id(p) for p in net.parameters()] == [id(p) for p in expected]


@pytest.mark.parametrize(
    ("options", "variance"), [({}, 2), ({"init": "lecun"}, 1), ({"init": "he", "gain": 3}, 18)], ids=str
)
def test_weights_have_their_initializations_variance(options, variance):
    layer = Linear(400, 300, rng=0, **options)
    assert layer.weight.value.shape == (300, 400)
    assert abs(layer.weight.value.var() * 400 / variance - 1) < 0.02
    assert abs(layer.weight.value.mean()) < 0.02 * layer.weight.value.std()
    assert not layer.bias.value.any() and layer.bias.value.shape == (300,)


def test_a_layer_shows_its_values_and_no_address():
    net = Sequential(Linear(2, 3, rng=0), Residual(ReLU()))
    assert repr(net) == "Sequential(Linear(weight (3, 2), bias (3,)), Residual(ReLU()))"
    assert repr(net.layers[0].weight) == "Parameter(shape=(3, 2))"
