"""helpers/layers.py: every layer against difference quotients, PyTorch, its mode, and bad input."""

import copy

import numpy as np
import pytest

from helpers import layers, norms
from helpers.gradients import numerical_gradient
from helpers.layers import (
    BatchNorm,
    GroupNorm,
    Layer,
    LayerNorm,
    Linear,
    Parameter,
    ReLU,
    Residual,
    RMSNorm,
    Sequential,
    Sigmoid,
    Tanh,
)
from tests.shared import for_each


def draw(shape, seed=0):
    return np.random.default_rng(seed).normal(1.0, 2.0, shape)


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
    "residual": lambda: Residual(Sequential(Linear(6, 6, rng=0), Tanh())),
    "residual with scale": lambda: Residual(Sequential(Linear(6, 6, rng=0), Tanh()), scale=2.5),
    "pre-norm": lambda: Residual(Sequential(LayerNorm(6), block())),
    "post-norm": lambda: Sequential(Residual(block()), LayerNorm(6)),
}
NORMS = ["batch norm", "layer norm", "rms norm", "group norm"]
every_layer = for_each("name", MAKE)
both_modes = for_each("mode", ["train", "eval"])


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


def relative_error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


# ------------------------------------------------------------------ gradients


@every_layer
@both_modes
@for_each("shape", [(5, 6), (3, 6, 6)], ids=str)
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
            assert np.abs(gradient).max() < 1e-12
        else:
            assert relative_error(gradient, expected) < 1e-8


def test_only_inference_gives_that_bias_a_gradient():
    net = block()
    for mode, large in (("train", False), ("eval", True)):
        getattr(net, mode)()
        net.zero_grad()
        net.forward(draw((5, 6)))
        net.backward(draw((5, 6), 1))
        assert (np.abs(net.layers[0].bias.grad).max() > 1e-3) == large


@every_layer
def test_a_second_backward_adds_and_zero_grad_clears(name):
    layer, x = make(name), draw((5, 6))
    dy = draw(layer.forward(x).shape, 1)
    layer.backward(dy)
    once = [p.grad for p in layer.parameters()]
    kept = [grad.copy() for grad in once]
    layer.backward(dy)
    for parameter, grad, same in zip(layer.parameters(), once, kept, strict=True):
        np.testing.assert_allclose(parameter.grad, 2 * grad)
        np.testing.assert_array_equal(grad, same)  # the array that was held is not changed
    layer.zero_grad()
    assert not any(p.grad.any() for p in layer.parameters())


def test_gradients_of_halves_add_except_with_batch_norm():
    x, dy = draw((8, 6)), draw((8, 6), 1)
    for name, equal in (("layer norm", True), ("rms norm", True), ("group norm", True), ("batch norm", False)):
        layer = make(name)
        layer.forward(x)
        layer.backward(dy)
        whole = layer.gamma.grad
        layer.zero_grad()
        for half in (slice(4), slice(4, 8)):
            layer.forward(x[half])
            layer.backward(dy[half])
        assert np.allclose(layer.gamma.grad, whole) == equal


def test_backward_belongs_to_the_mode_of_its_forward():
    layer, x, dy = make("batch norm"), draw((5, 6)), draw((5, 6), 1)
    layer.forward(x)
    in_training = layer.backward(dy)
    layer.forward(x)
    layer.eval()
    np.testing.assert_array_equal(layer.backward(dy), in_training)
    layer.forward(x)
    layer.train()
    assert not np.allclose(layer.backward(dy), in_training)


# ------------------------------------------------------------------ worked by hand


def test_a_linear_worked_by_hand():
    layer = Linear(2, 1, rng=0)
    layer.weight.value, layer.bias.value = np.array([[2.0, 3.0]]), np.array([1.0])
    np.testing.assert_array_equal(layer.forward([[1, 1], [0, 2]]), [[6], [7]])
    np.testing.assert_array_equal(layer.backward([[1], [10]]), [[2, 3], [20, 30]])
    np.testing.assert_array_equal(layer.weight.grad, [[1, 21]])
    np.testing.assert_array_equal(layer.bias.grad, [11])


def test_linear_keeps_any_number_of_leading_axes():
    layer, x, dy = Linear(6, 4, rng=0), draw((2, 3, 6)), draw((2, 3, 4), 1)
    y, dx = layer.forward(x), layer.backward(dy)
    rows = Linear(6, 4, rng=0)
    np.testing.assert_allclose(y, rows.forward(x.reshape(6, 6)).reshape(2, 3, 4))
    np.testing.assert_allclose(dx, rows.backward(dy.reshape(6, 4)).reshape(x.shape))
    np.testing.assert_allclose(layer.weight.grad, rows.weight.grad)
    np.testing.assert_allclose(layer.bias.grad, rows.bias.grad)


@pytest.mark.parametrize(
    ("layer", "y", "dx"),
    [
        (ReLU(), [[0, 0, 2]], [[0, 0, 1]]),
        (Tanh(), [[np.tanh(-1), 0, np.tanh(2)]], [[1 - np.tanh(1) ** 2, 1, 1 - np.tanh(2) ** 2]]),
        (Sigmoid(), [[1 / (1 + np.e), 0.5, 1 / (1 + np.e**-2)]], [[np.e / (1 + np.e) ** 2, 0.25, 0.10499358540350652]]),
    ],
    ids=["relu", "tanh", "sigmoid"],
)
def test_activations_worked_by_hand_at_three_points(layer, y, dx):
    np.testing.assert_allclose(layer.forward([[-1, 0, 2]]), y)
    np.testing.assert_allclose(layer.backward(np.ones((1, 3))), dx)


def test_activations_of_huge_numbers_overflow_nowhere(recwarn):
    huge = np.array([[-1e300, 1e300]])
    np.testing.assert_array_equal(Sigmoid().forward(huge), [[0, 1]])
    np.testing.assert_array_equal(Tanh().forward(huge), [[-1, 1]])
    np.testing.assert_array_equal(ReLU().forward(huge), [[0, 1e300]])
    assert not recwarn.list


def test_overflow_shows_inf_or_nan_without_warnings(recwarn):
    net = Sequential(Linear(2, 2, rng=0, gain=1e200), Residual(Linear(2, 2, rng=1, gain=1e200)))
    assert not np.isfinite(net.forward(np.ones((3, 2)))).any()
    assert not np.isfinite(net.backward(np.full((3, 2), 1e200))).any()
    assert not recwarn.list


def test_a_residual_is_scaled_x_plus_the_block():
    inner = Linear(6, 6, rng=0)
    x = draw((5, 6))
    np.testing.assert_allclose(Residual(inner, scale=3).forward(x), 3 * x + inner.forward(x))
    np.testing.assert_allclose(Residual(inner).forward(x), x + inner.forward(x))
    np.testing.assert_allclose(Residual(inner, scale=0).forward(x), inner.forward(x))


def test_a_sequential_shows_both_directions_of_every_layer():
    net = block()
    assert net.outputs == net.gradients == []
    x, dy = draw((5, 6)), draw((5, 6), 1)
    y = net.forward(x)
    dx = net.backward(dy)
    assert net.outputs[-1] is y
    assert len(net.outputs) == len(net.gradients) == 4
    for i, layer in enumerate(net.layers):
        np.testing.assert_array_equal(layer.forward([x, *net.outputs][i]), net.outputs[i])
        np.testing.assert_array_equal(layer.backward(net.gradients[i]), [dx, *net.gradients][i])
    np.testing.assert_array_equal(net.gradients[-1], dy)


# ------------------------------------------------------------------ norms


@for_each("name", NORMS)
@for_each("shape", [(5, 6), (4, 6, 6)], ids=str)
def test_a_norm_layer_equals_the_function_it_names(name, shape):
    layer, x = make(name), draw(shape)
    parameters = [p.value for p in layer.parameters()]
    expected = {
        "batch norm": lambda: norms.batch_norm(x, *parameters),
        "layer norm": lambda: norms.layer_norm(x, *parameters),
        "rms norm": lambda: norms.rms_norm(x, *parameters),
        "group norm": lambda: norms.group_norm(x, 2, *parameters),
    }[name]()
    np.testing.assert_array_equal(layer.forward(x), expected.y)


@pytest.mark.parametrize("name", NORMS)
def test_gamma_begins_at_1_and_beta_at_0(name):
    layer = MAKE[name]()
    values = [p.value.tolist() for p in layer.parameters()]
    assert values == [[1.0] * 6, [0.0] * 6][: 1 if name == "rms norm" else 2]
    assert layer.parameters()[0] is layer.gamma


@pytest.mark.parametrize("cls", [BatchNorm, LayerNorm, RMSNorm, lambda n, **k: GroupNorm(2, n, **k)])
def test_eps_reaches_both_passes(cls):
    x, dy = 1e-3 * draw((5, 6)), draw((5, 6), 1)
    results = []
    for options in ({}, {"eps": 1e-5}, {"eps": 1.0}):
        layer = cls(6, **options)
        results.append((layer.forward(x), layer.backward(dy)))
    for default, same, other in zip(*results, strict=True):
        np.testing.assert_array_equal(default, same)
        assert np.abs(other).max() < 0.1 * np.abs(same).max()


@for_each("shape", [(5, 6), (4, 6, 3), (2, 6, 3, 2)], ids=str)
@for_each("momentum", [0.1, 0.0, 1.0, None])
def test_running_averages_are_those_of_running_stats(shape, momentum):
    layer, stats = BatchNorm(6, momentum=momentum), norms.RunningStats(6, momentum=momentum)
    for seed in range(3):
        layer.forward(draw(shape, seed))
        stats.update(draw(shape, seed))
    np.testing.assert_array_equal(layer.running_mean, stats.mean)
    np.testing.assert_array_equal(layer.running_var, stats.var)
    assert layer.momentum == momentum


def test_batch_norm_keeps_three_conventions_of_running_statistics():
    layer = BatchNorm(1, eps=0, momentum=0.1)
    np.testing.assert_allclose(layer.forward([[1], [3]]), [[-1], [1]])  # variance 1, by n
    np.testing.assert_allclose(layer.running_mean, [0.9 * 0 + 0.1 * 2])
    np.testing.assert_allclose(layer.running_var, [0.9 * 1 + 0.1 * 2])  # variance 2, by n - 1


@pytest.mark.parametrize("shape", [(5, 6), (4, 6, 3), (2, 6, 3, 2), (1, 6)], ids=str)
def test_batch_norm_at_inference_uses_the_running_averages(shape):
    layer, x = make("batch norm", "eval"), draw(shape)
    mean, var, gamma, beta = (
        values.reshape(1, 6, *[1] * (len(shape) - 2))
        for values in (layer.running_mean, layer.running_var, layer.gamma.value, layer.beta.value)
    )
    np.testing.assert_allclose(layer.forward(x), (x - mean) / np.sqrt(var + 1e-5) * gamma + beta)
    dy = draw(shape, 1)
    np.testing.assert_allclose(layer.backward(dy), dy * gamma / np.sqrt(var + 1e-5))


def test_one_row_in_training_is_refused_unchanged():
    layer = BatchNorm(6)
    with pytest.raises(ValueError, match="training needs more than 1 value per channel"):
        layer.forward(np.ones((1, 6)))
    assert layer.stats.num_batches == 0
    layer.forward(np.ones((1, 6, 2)))
    layer.eval()
    layer.forward(np.ones((1, 6)))


# ------------------------------------------------------------------ modes and state


def state(layer):
    """A copy of everything that the layer will compute with later."""
    return copy.deepcopy([[p.value for p in layer.parameters()], *(vars(s) for s in running_stats(layer))])


def running_stats(layer):
    return [inner.stats for inner in everything_in(layer) if isinstance(inner, BatchNorm)]


@every_layer
def test_a_forward_at_inference_changes_no_state(name):
    layer = make(name, "eval")
    before = state(layer)
    layer.forward(draw((5, 6), 3))
    np.testing.assert_equal(state(layer), before)


@every_layer
def test_rows_are_independent_at_inference(name):
    layer, x = make(name, "eval"), draw((5, 6))
    np.testing.assert_allclose(layer.forward(x)[:1], layer.forward(x[:1]), atol=1e-14)


@every_layer
def test_train_and_eval_reach_every_layer(name):
    layer = MAKE[name]()
    assert {inner.training for inner in everything_in(layer)} == {True}
    assert layer.eval() is layer
    assert {inner.training for inner in everything_in(layer)} == {False}
    assert layer.train() is layer
    assert {inner.training for inner in everything_in(layer)} == {True}


def test_each_layer_has_its_own_mode():
    first, second = BatchNorm(6), BatchNorm(6)
    first.eval()
    assert second.training


@every_layer
def test_only_batch_norms_output_follows_the_mode(name):
    x = draw((5, 6))
    outputs = [make(name, mode).forward(x) for mode in ("train", "eval")]
    has_batch_norm = bool(running_stats(MAKE[name]()))
    assert np.array_equal(*outputs) != has_batch_norm


@every_layer
def test_arguments_are_not_changed(name):
    layer, x = make(name), draw((5, 6))
    dy = draw(layer.forward(x).shape, 1)
    copies = x.copy(), dy.copy()
    layer.backward(dy)
    np.testing.assert_array_equal(x, copies[0])
    np.testing.assert_array_equal(dy, copies[1])


@every_layer
def test_lists_and_float32_are_computed_in_float64(name):
    x = np.arange(30.0).reshape(5, 6) ** 1.5
    exact = make(name).forward(x.astype(np.float32).astype(np.float64))
    for given in (x.astype(np.float32), x.astype(np.float32).tolist()):
        y = make(name).forward(given)
        assert y.dtype == np.float64
        np.testing.assert_array_equal(y, exact)


# ------------------------------------------------------------------ parameters


def test_parameters_come_once_and_first_layer_first():
    net = Sequential(
        Linear(6, 6, rng=0), Residual(Sequential(LayerNorm(6), Linear(6, 6, rng=1, bias=False))), RMSNorm(6)
    )
    linear, residual, rms = net.layers
    norm, inner = residual.block.layers
    expected = [linear.weight, linear.bias, norm.gamma, norm.beta, inner.weight, rms.gamma]
    assert len(net.parameters()) == 6
    assert all(got is parameter for got, parameter in zip(net.parameters(), expected, strict=True))


def test_a_parameters_gradient_starts_at_zero():
    parameter = Parameter([[1, 2]])
    assert parameter.value.dtype == parameter.grad.dtype == np.float64
    np.testing.assert_array_equal(parameter.grad, [[0, 0]])
    np.testing.assert_array_equal(Parameter([1, 2], [3, 4]).grad, [3, 4])


@pytest.mark.parametrize(("init", "gain", "variance"), [("he", 1, 2), ("lecun", 1, 1), ("he", 3, 18)])
def test_weights_have_their_initializations_variance(init, gain, variance):
    layer = Linear(400, 300, rng=0, init=init, gain=gain)
    assert layer.weight.value.shape == (300, 400)
    assert abs(layer.weight.value.var() * 400 / variance - 1) < 0.02
    assert abs(layer.weight.value.mean()) < 0.02 * layer.weight.value.std()
    assert not layer.bias.value.any() and layer.bias.value.shape == (300,)


def test_one_seed_draws_the_same_weights():
    rng = np.random.default_rng(7)
    first, second = Linear(4, 4, rng=rng), Linear(4, 4, rng=rng)
    np.testing.assert_array_equal(first.weight.value, Linear(4, 4, rng=7).weight.value)
    assert not np.array_equal(first.weight.value, second.weight.value)


def test_he_is_the_default_initialization():
    np.testing.assert_array_equal(Linear(4, 4, rng=0).weight.value, Linear(4, 4, rng=0, init="he").weight.value)
    assert Linear(4, 4, rng=0).bias is not None and Linear(4, 4, rng=0, bias=False).bias is None


def test_a_layer_shows_its_values_and_no_address():
    net = Sequential(Linear(2, 3, rng=0), Residual(ReLU()))
    assert repr(net) == "Sequential(Linear(weight (3, 2), bias (3,)), Residual(ReLU()))"
    assert repr(net.layers[0].weight) == "Parameter(shape=(3, 2))"


# ------------------------------------------------------------------ layers of one's own


def test_a_layer_of_ones_own_works_inside_others():
    class Scale(Layer):
        def __init__(self):
            self.factor = Parameter(2.0)

        def _forward(self, x):
            return self.factor.value * x, x

        def _backward(self, dy, x):
            self.factor.add_gradient(np.sum(dy * x))
            return self.factor.value * dy

    net = Sequential(Residual(Scale()), Tanh())
    x = draw((3, 2)) / 4
    net.forward(x)
    dx = net.backward(np.ones((3, 2)))
    assert relative_error(dx, numerical_gradient(lambda x: net.forward(x).sum(), x)) < 1e-8
    assert len(net.parameters()) == 1


def test_noisy_batch_norm_is_a_subclass_calling_super():
    class NoisyBatchNorm(BatchNorm):
        def forward(self, x):
            self.factor = np.linspace(1, 2, self.features)
            return super().forward(x) * self.factor + 3

        def backward(self, dy):
            return super().backward(dy * self.factor)

    net, x, dy = Sequential(NoisyBatchNorm(6)), draw((5, 6)), draw((5, 6), 1)
    for mode in ("train", "eval"):
        getattr(net, mode)()
        net.forward(x)
        dx = net.backward(dy)
        assert relative_error(dx, numerical_gradient(lambda x: np.sum(dy * net.forward(x)), x)) < 1e-8


# ------------------------------------------------------------------ bad input


def one_after_the_other(*calls):
    for call in calls:
        call()


same_relu = ReLU()


@for_each(
    ("call", "message"),
    [
        (lambda: ReLU().backward([1]), "ReLU.backward: call forward first; backward needs what forward has kept"),
        (lambda: block().backward(np.ones((5, 6))), "Sequential.backward: call forward first"),
        (lambda: Residual(ReLU()).backward([1]), "Residual.backward: call forward first"),
        (lambda: Linear(0, 3, rng=0), "Linear: inputs must be an int >= 1, got 0"),
        (lambda: Linear(3, 2.5, rng=0), "Linear: outputs must be an int >= 1, got 2.5"),
        (lambda: Linear(3, 3, rng=0, init="xavier"), "Linear: init must be 'he' or 'lecun', got 'xavier'"),
        (lambda: Linear(3, 3, rng=0, gain=0), "Linear: gain must be a finite number > 0, got 0"),
        (lambda: Linear(3, 3, rng=0, gain=np.nan), "Linear: gain must be a finite number > 0, got nan"),
        (lambda: Linear(3, 3, rng=0, gain=np.inf), "Linear: gain must be a finite number > 0, got inf"),
        (lambda: Linear(3, 3, rng=0, gain="2"), "Linear: gain must be a finite number > 0, got '2'"),
        (
            lambda: Linear(3, 3, rng=None),
            "Linear: rng must be np.random.default_rng(seed) or a seed, an int >= 0, got None",
        ),
        (
            lambda: Linear(3, 3, rng=-1),
            "Linear: rng must be np.random.default_rng(seed) or a seed, an int >= 0, got -1",
        ),
        (
            lambda: Linear(3, 3, rng=0).forward(np.ones((2, 4))),
            "Linear.forward: x has shape (2, 4), expected a batch with 3 entries on the last axis",
        ),
        (lambda: Linear(3, 3, rng=0).forward(np.ones(3)), "Linear.forward: x has shape (3,), expected a batch"),
        (
            lambda: BatchNorm(3).forward(np.ones((3, 2))),
            "BatchNorm.forward: x has shape (3, 2), expected a batch with 3 entries on axis 1",
        ),
        (lambda: LayerNorm(3).forward(np.ones((3, 2))), "LayerNorm.forward: x has shape (3, 2), expected a batch"),
        (lambda: RMSNorm(3).forward(np.ones((3, 2))), "RMSNorm.forward: x has shape (3, 2), expected a batch"),
        (lambda: GroupNorm(1, 3).forward(np.ones((3, 2))), "GroupNorm.forward: x has shape (3, 2), expected a batch"),
        (lambda: ReLU().forward(np.ones((0, 2))), "ReLU.forward: x must have no empty axis, got shape (0, 2)"),
        (lambda: Tanh().forward(["a"]), "Tanh.forward: x must hold real numbers, got dtype <U1"),
        (
            lambda: one_after_the_other(lambda: same_relu.forward([[1, 2]]), lambda: same_relu.backward([[1]])),
            "ReLU.backward: dy has shape (1, 1), expected (1, 2), the shape of the output",
        ),
        (
            lambda: one_after_the_other(lambda: same_relu.forward([[1, 2]]), lambda: same_relu.backward([[1j, 2]])),
            "ReLU.backward: dy must hold real numbers, got dtype complex128",
        ),
        (
            lambda: BatchNorm(3).forward(np.ones((1, 3))),
            "BatchNorm.forward: training needs more than 1 value per channel, got shape (1, 3); "
            "take a larger batch, or call eval() first",
        ),
        (lambda: BatchNorm(0), "BatchNorm: features must be an int >= 1, got 0"),
        (lambda: BatchNorm(3, eps=-1), "BatchNorm: eps must be a finite number >= 0, got -1"),
        (lambda: BatchNorm(3, momentum=2), "RunningStats: momentum must be None or a number in [0, 1], got 2"),
        (lambda: LayerNorm(True), "LayerNorm: features must be an int >= 1, got True"),
        (lambda: LayerNorm(3, eps="0"), "LayerNorm: eps must be a finite number >= 0, got '0'"),
        (lambda: RMSNorm((3,)), "RMSNorm: features must be an int >= 1, got (3,)"),
        (lambda: RMSNorm(3, eps=np.nan), "RMSNorm: eps must be a finite number >= 0, got nan"),
        (lambda: GroupNorm(0, 4), "GroupNorm: groups must be an int >= 1, got 0"),
        (lambda: GroupNorm(2, 0), "GroupNorm: features must be an int >= 1, got 0"),
        (lambda: GroupNorm(4, 6), "GroupNorm: groups=4 does not divide features=6"),
        (lambda: GroupNorm(2, 4, eps=-1), "GroupNorm: eps must be a finite number >= 0, got -1"),
        (lambda: Residual(np.tanh), "Residual: layer 0 must be a Layer, got ufunc"),
        (lambda: Residual(ReLU(), scale=np.inf), "Residual: scale must be a finite number, got inf"),
        (lambda: Residual(ReLU(), scale="2"), "Residual: scale must be a finite number, got '2'"),
        (
            lambda: Residual(Linear(3, 2, rng=0)).forward(np.ones((4, 3))),
            "Residual.forward: the block turns shape (4, 3) into (4, 2), expected no change",
        ),
        (lambda: Sequential(), "Sequential: needs at least one layer"),
        (lambda: Sequential(ReLU(), Tanh), "Sequential: layer 1 is the class Tanh; write Tanh(...)"),
        (lambda: Sequential([ReLU()]), "Sequential: layer 0 must be a Layer, got list; write Sequential(*layers)"),
        (lambda: Sequential(ReLU(), None), "Sequential: layer 1 must be a Layer, got NoneType"),
        (
            lambda: Sequential(same_relu, Tanh(), Residual(same_relu)),
            "Sequential: the same ReLU is in two places; make one for each",
        ),
        (lambda: Parameter("a"), "Parameter: value must hold real numbers, got dtype <U1"),
        (lambda: Parameter([1, 2], ["a", "b"]), "Parameter: grad must hold real numbers, got dtype <U1"),
        (lambda: Parameter([1, 2], [1]), "Parameter: grad has shape (1,), expected (2,), the shape of value"),
    ],
)
def test_bad_input_is_told_what_was_expected(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_only_lists_of_layers_are_told_to_unpack():
    with pytest.raises(ValueError, match="got NoneType$"):
        Sequential(ReLU(), None)


def test_every_public_layer_is_tested_here():
    made = {type(inner) for name in MAKE for inner in everything_in(MAKE[name]())}
    assert {cls.__name__ for cls in made} == set(layers.__all__) - {"Layer", "Parameter"}


# ------------------------------------------------------------------ against PyTorch


def in_torch(torch, layer):
    """The same layer in PyTorch, in float64, with the same parameters and running averages."""
    nn, kind = torch.nn, type(layer).__name__
    if kind == "Sequential":
        return nn.Sequential(*(in_torch(torch, inner) for inner in layer.layers))
    twin = {
        "Linear": lambda: nn.Linear(*layer.weight.value.shape[::-1], bias=layer.bias is not None),
        "BatchNorm": lambda: nn.BatchNorm1d(layer.features, momentum=layer.momentum),
        "LayerNorm": lambda: nn.LayerNorm(layer.features),
        "RMSNorm": lambda: nn.RMSNorm(layer.features, eps=layer.eps),
        "GroupNorm": lambda: nn.GroupNorm(layer.groups, layer.features),
        "ReLU": nn.ReLU,
        "Tanh": nn.Tanh,
        "Sigmoid": nn.Sigmoid,
    }[kind]().double()
    with torch.no_grad():
        for theirs, ours in zip(twin.parameters(), layer.parameters(), strict=True):
            theirs.copy_(torch.tensor(ours.value))
        if kind == "BatchNorm":
            twin.running_mean.copy_(torch.tensor(layer.running_mean))
            twin.running_var.copy_(torch.tensor(layer.running_var))
    return twin


@for_each("name", [*list(MAKE)[:9], "sequential"])
@both_modes
def test_pytorch_agrees_on_outputs_gradients_and_averages(name, mode):
    torch = pytest.importorskip("torch")
    layer = make(name, mode)
    twin = in_torch(torch, layer)
    getattr(twin, mode)()
    for seed in range(2):
        x = draw((5, 6), seed)
        y = layer.forward(x)
        dy = draw(y.shape, seed + 1)
        x_torch = torch.tensor(x, requires_grad=True)
        y_torch = twin(x_torch)
        y_torch.backward(torch.tensor(dy))
        np.testing.assert_allclose(y, y_torch.detach().numpy(), atol=1e-12)
        np.testing.assert_allclose(layer.backward(dy), x_torch.grad.numpy(), atol=1e-11)
    for ours, theirs in zip(layer.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), atol=1e-11)
    for ours, theirs in zip(
        running_stats(layer), [m for m in twin.modules() if hasattr(m, "running_mean")], strict=True
    ):
        np.testing.assert_allclose(ours.mean, theirs.running_mean.numpy(), atol=1e-13)
        np.testing.assert_allclose(ours.var, theirs.running_var.numpy(), atol=1e-13)


def test_pytorch_refuses_a_batch_of_one_too():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="more than 1 value per channel when training"):
        torch.nn.BatchNorm1d(6)(torch.ones(1, 6))
