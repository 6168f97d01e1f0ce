"""helpers/nets.py: the network, the loss, both optimizers and the training loop."""

import io

import numpy as np
import pytest

from helpers import datasets
from helpers.gradients import numerical_gradient
from helpers.layers import BatchNorm, GroupNorm, LayerNorm, Linear, Parameter, ReLU, Sequential, Tanh
from helpers.nets import SGD, Adam, AdamW, accuracy, cross_entropy, fit, mlp, show_progress
from tests.shared import for_each


def draw(shape, seed=0):
    return np.random.default_rng(seed).normal(1.0, 2.0, shape)


def flowers():
    x, labels = datasets.iris()
    return (x - x.mean(axis=0)) / x.std(axis=0), labels


def relative_error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


# ------------------------------------------------------------------ mlp


def kinds(net):
    return [type(layer).__name__ for layer in net.layers]


@for_each(
    ("norm", "activation", "expected"),
    [
        (None, "relu", ["Linear", "ReLU"]),
        ("batch", "tanh", ["Linear", "BatchNorm", "Tanh"]),
        ("layer", "sigmoid", ["Linear", "LayerNorm", "Sigmoid"]),
        ("rms", ReLU, ["Linear", "RMSNorm", "ReLU"]),
        (lambda width: GroupNorm(2, width), "relu", ["Linear", "GroupNorm", "ReLU"]),
        (LayerNorm, lambda: Tanh(), ["Linear", "LayerNorm", "Tanh"]),
    ],
)
def test_mlp_stacks_linear_norm_and_activation(norm, activation, expected):
    net = mlp([3, 6, 4, 2], norm, activation, rng=0)
    assert isinstance(net, Sequential)
    assert kinds(net) == [*expected, *expected, "Linear"]
    assert net.forward(draw((5, 3))).shape == (5, 2)
    assert [p.value.shape for p in net.parameters() if p.value.ndim == 2] == [(6, 3), (4, 6), (2, 4)]


def test_mlp_defaults_to_relu_and_gain_1():
    net = mlp([3, 6, 2], rng=0)
    assert kinds(net) == ["Linear", "ReLU", "Linear"]
    same = mlp([3, 6, 2], None, "relu", 1.0, rng=0)
    np.testing.assert_array_equal(net.layers[0].weight.value, same.layers[0].weight.value)


def test_mlp_of_two_sizes_is_one_linear():
    assert kinds(mlp([3, 2], norm="batch", rng=0)) == ["Linear"]


@for_each(
    ("norm", "has_bias"),
    [(None, True), ("batch", False), (lambda n: BatchNorm(n), False), ("layer", True), ("rms", True)],
)
def test_mlp_drops_the_bias_before_batch_norm(norm, has_bias):
    first, last = (mlp([3, 4, 2], norm, rng=0).layers[i] for i in (0, -1))
    assert (first.bias is not None) == has_bias
    assert last.bias is not None


@for_each(("activation", "variance"), [("relu", 2), (ReLU, 2), ("tanh", 1), ("sigmoid", 1)])
@for_each("gain", [1, 3])
def test_mlp_draws_weights_by_activation_and_gain(activation, variance, gain):
    net = mlp([300, 300, 300], activation=activation, gain=gain, rng=0)
    hidden, last = (net.layers[i].weight.value for i in (0, -1))
    assert abs(hidden.var() * 300 / (variance * gain**2) - 1) < 0.02
    assert abs(last.var() * 300 - 1) < 0.02


def test_mlp_has_the_same_weights_with_every_norm():
    nets = [mlp([3, 4, 4, 2], norm, rng=5) for norm in (None, "batch", "layer", "rms")]
    weights = [[p.value for p in net.parameters() if p.value.ndim == 2] for net in nets]
    for others in weights[1:]:
        for w, same in zip(weights[0], others, strict=True):
            np.testing.assert_array_equal(w, same)


@for_each("norm", [None, "batch", "layer", "rms", lambda width: GroupNorm(2, width)])
@for_each("activation", ["relu", "tanh", "sigmoid"])
@for_each("mode", ["train", "eval"])
def test_a_nets_gradients_are_difference_quotients(norm, activation, mode):
    net, x, labels = mlp([3, 6, 6, 3], norm, activation, rng=1), draw((7, 3)), np.arange(7) % 3
    net.forward(x)  # so that the running averages are not those of the start
    getattr(net, mode)()

    def loss(x):
        return cross_entropy(net.forward(x), labels).loss

    got = [net.backward(cross_entropy(net.forward(x), labels).dlogits)]
    expected = [numerical_gradient(loss, x)]
    for parameter in net.parameters():
        gradient, value = parameter.grad, parameter.value

        def loss_of(value, parameter=parameter):
            parameter.value = value
            return loss(x)

        got.append(gradient)
        expected.append(numerical_gradient(loss_of, value))
        parameter.value = value
    # All in one, for a gradient of 1e-3 beside a loss of 1 is known to 1e-8 of itself at best.
    assert relative_error(*(np.concatenate([g.ravel() for g in all_of]) for all_of in (got, expected))) < 1e-8


# ------------------------------------------------------------------ loss and accuracy


def test_cross_entropy_worked_by_hand():
    # softmax of (0, log 3) is (1/4, 3/4); the second row is right with 1/2.
    loss, dlogits = cross_entropy([[0, np.log(3)], [5, 5]], [1, 0])
    assert isinstance(loss, float)
    np.testing.assert_allclose(loss, -(np.log(3 / 4) + np.log(1 / 2)) / 2)
    np.testing.assert_allclose(dlogits, [[1 / 8, -1 / 8], [-1 / 4, 1 / 4]])


def test_cross_entropy_has_its_gradient_by_differences():
    logits, labels = draw((5, 4)), np.array([0, 3, 1, 1, 2])
    expected = numerical_gradient(lambda z: cross_entropy(z, labels).loss, logits)
    assert relative_error(cross_entropy(logits, labels).dlogits, expected) < 1e-8


def test_cross_entropy_of_huge_logits_is_their_difference(recwarn):
    loss, dlogits = cross_entropy([[1e4, -1e4]], [1])
    assert loss == 2e4
    np.testing.assert_array_equal(dlogits, [[1, -1]])
    assert cross_entropy([[1e4, -1e4]], [0]).loss == 0
    np.testing.assert_allclose(cross_entropy([[1e4, 0], [0, 0]], [0, 1]).loss, np.log(2) / 2)
    assert np.isnan(cross_entropy([[np.inf, 0]], [0]).loss)
    assert not recwarn.list


def test_cross_entropy_of_float16_is_computed_in_float64():
    logits = draw((5, 4)).astype(np.float16)
    got, exact = (cross_entropy(z, [0, 1, 2, 3, 0]) for z in (logits, logits.astype(np.float64)))
    assert got.loss == exact.loss
    assert got.dlogits.dtype == np.float64


def test_cross_entropy_does_not_change_its_arguments():
    logits = draw((5, 4))
    before = logits.copy()
    cross_entropy(logits, [0, 1, 2, 3, 0])
    np.testing.assert_array_equal(logits, before)


def test_accuracy_counts_rows_largest_at_their_label():
    assert accuracy([[1, 2, 0], [3, 2, 1], [0, 0, 1], [5, 0, 0]], [1, 0, 2, 1]) == 0.75


def test_pytorch_gives_the_same_cross_entropy():
    torch = pytest.importorskip("torch")
    logits, labels = torch.tensor(draw((5, 4)), requires_grad=True), torch.tensor([0, 3, 1, 1, 2])
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    got = cross_entropy(draw((5, 4)), labels.numpy())
    np.testing.assert_allclose(got.loss, loss.item())
    np.testing.assert_allclose(got.dlogits, logits.grad.numpy(), atol=1e-15)


# ------------------------------------------------------------------ optimizers


def after_steps(make_optimizer, gradients, start=1.0):
    parameter = Parameter([start])
    optimizer = make_optimizer([parameter])
    values = []
    for gradient in gradients:
        parameter.grad = np.array([gradient])
        optimizer.step()
        values.append(parameter.value.item())
    return values


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.8, 0.7]),
        ({"momentum": 0.5}, [0.8, 0.6]),  # velocity 2, then 0.5 * 2 + 1
        ({"weight_decay": 0.5}, [0.75, 0.6125]),  # g = 2 + 0.5 * 1, then 1 + 0.5 * 0.75
        ({"momentum": 0.5, "weight_decay": 0.5}, [0.75, 0.4875]),  # velocity 2.5, then 1.25 + 1.375
    ],
    ids=str,
)
def test_sgd_worked_by_hand(options, expected):
    np.testing.assert_allclose(after_steps(lambda p: SGD(p, 0.1, **options), [2.0, 1.0]), expected)


def test_adam_worked_by_hand():
    # m = 1, v = 2; hats 2 and 4: a step of 0.1 * 2 / 2. Then m = 0.5, v = 1, hats 2/3 and 4/3.
    got = after_steps(lambda p: Adam(p, 0.1, betas=(0.5, 0.5), eps=1e-12), [2.0, 0.0])
    np.testing.assert_allclose(got, [0.9, 0.9 - 0.1 * (2 / 3) / np.sqrt(4 / 3)])


@pytest.mark.parametrize("gradient", [1e-3, -5.0])
def test_adams_first_step_has_the_size_lr(gradient):
    np.testing.assert_allclose(after_steps(Adam, [gradient]), [1 - 1e-3 * np.sign(gradient)], rtol=1e-7)


def test_the_eps_of_adam_stands_beside_the_root():
    np.testing.assert_allclose(after_steps(lambda p: Adam(p, 1.0, eps=3.0), [1.0]), [0.75])


def test_adamw_worked_by_hand():
    # From 1: the decay leaves 1 - 0.1 * 0.5 = 0.95 of it; Adam's first step is 0.1 long, whatever the gradient.
    got = after_steps(lambda p: AdamW(p, 0.1, weight_decay=0.5), [4.0])
    np.testing.assert_allclose(got, [0.95 - 0.1], rtol=1e-7)
    np.testing.assert_allclose(after_steps(AdamW, [4.0]), [1 - 1e-3 * 1e-2 - 1e-3], rtol=1e-7)


def test_adamw_without_decay_is_adam():
    gradients = [2.0, -1.0, 0.5]
    options = {"betas": (0.5, 0.8), "eps": 0.1}
    got = after_steps(lambda p: AdamW(p, 0.1, weight_decay=0, **options), gradients)
    np.testing.assert_array_equal(got, after_steps(lambda p: Adam(p, 0.1, **options), gradients))


def test_lr_may_be_set_anew_between_steps():
    parameter = Parameter([1.0], [1.0])
    for optimizer in (SGD([parameter], 0.1), Adam([parameter], 0.1)):
        optimizer.step()
        before = parameter.value
        optimizer.lr = 0.0
        optimizer.step()
        np.testing.assert_array_equal(parameter.value, before)


@pytest.mark.parametrize("make", [lambda p: SGD(p, 0.1, momentum=0.9, weight_decay=0.1), Adam, AdamW])
def test_a_step_changes_no_array_that_was_held(make):
    parameter = Parameter([1.0, 2.0], [3.0, 4.0])
    value, grad = parameter.value, parameter.grad
    optimizer = make([parameter])
    optimizer.step()
    optimizer.step()
    np.testing.assert_array_equal(value, [1, 2])
    np.testing.assert_array_equal(grad, [3, 4])
    assert not np.array_equal(parameter.value, value)


OPTIMIZERS = {
    "sgd": (SGD, {"lr": 0.1}),
    "sgd, momentum": (SGD, {"lr": 0.1, "momentum": 0.9}),
    "sgd, momentum and weight decay": (SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05}),
    "adam": (Adam, {"lr": 0.01}),
    "adam, betas and eps": (Adam, {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-2}),
    "adamw": (AdamW, {"lr": 0.01}),
    "adamw, weight decay": (AdamW, {"lr": 0.01, "weight_decay": 0.3}),
}


@for_each("name", OPTIMIZERS)
def test_pytorch_takes_the_same_steps(name):
    torch = pytest.importorskip("torch")
    cls, options = OPTIMIZERS[name]
    ours = [Parameter(draw((3, 2))), Parameter(draw(4, 1))]
    theirs = [torch.tensor(p.value.copy(), requires_grad=True) for p in ours]
    optimizers = cls(ours, **options), getattr(torch.optim, cls.__name__)(theirs, **options)
    for seed in range(10):
        for p, q in zip(ours, theirs, strict=True):
            p.grad = draw(p.value.shape, 10 + seed)
            q.grad = torch.tensor(p.grad)
        for optimizer in optimizers:
            optimizer.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.value, q.detach().numpy(), atol=1e-13)


# ------------------------------------------------------------------ fit


def trained(norm="batch", seed=0, **options):
    x, labels = flowers()
    net = mlp([4, 16, 3], norm, rng=seed)
    options = {"steps": 60, "batch_size": 32, "rng": seed} | options
    return net, fit(net, x, labels, SGD(net.parameters(), 0.1, momentum=0.9), **options)


@pytest.mark.parametrize("norm", [None, "batch", "layer", "rms"])
def test_a_net_learns_the_flowers(norm):
    net, history = trained(norm, steps=200)
    x, labels = flowers()
    net.eval()
    assert accuracy(net.forward(x), labels) > 0.95
    assert history.loss[-20:].mean() < 0.3 < 0.7 < history.loss[0]


def test_one_rng_gives_one_run():
    for result, again, other in zip(trained()[1], trained()[1], trained(rng=1)[1], strict=True):
        np.testing.assert_array_equal(result, again)
        assert not np.array_equal(result, other)


def test_a_seed_and_its_generator_run_alike():
    np.testing.assert_array_equal(trained(rng=3)[1].loss, trained(rng=np.random.default_rng(3))[1].loss)


def test_the_history_matches_a_loop_by_hand():
    x, labels = flowers()
    net, twin = mlp([4, 8, 3], "batch", rng=0), mlp([4, 8, 3], "batch", rng=0)
    history = fit(net, x, labels, Adam(net.parameters(), 0.01), steps=5)
    optimizer = Adam(twin.parameters(), 0.01)
    for step in range(5):
        logits = twin.forward(x)
        loss, dlogits = cross_entropy(logits, labels)
        twin.zero_grad()
        twin.backward(dlogits)
        assert history.loss[step] == loss
        assert history.accuracy[step] == accuracy(logits, labels)
        norms = [np.linalg.norm(twin.layers[i].weight.grad) for i in (0, -1)]
        np.testing.assert_allclose(history.gradient_norms[step], norms)
        optimizer.step()
    for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(ours.value, theirs.value)


class Spy(Linear):
    """A Linear that remembers the first column of every batch."""

    def forward(self, x):
        vars(self).setdefault("seen", []).append(x[:, 0].astype(int).tolist())
        return super().forward(x)


def seen(count, **options):
    net = Sequential(Spy(1, 2, rng=0))
    fit(net, np.arange(count)[:, None], np.zeros(count, int), SGD(net.parameters(), 1e-9), **options)
    return net.layers[0].seen


def test_samples_come_once_before_any_comes_again():
    batches = seen(7, steps=6, batch_size=2, rng=0)
    assert {len(batch) for batch in batches} == {2}
    for start in (0, 3):
        rows = sum(batches[start : start + 3], [])
        assert len(set(rows)) == 6
    assert batches[:3] != batches[3:]
    assert sum(batches[:3], []) != sorted(sum(batches[:3], []))


def test_without_batch_size_steps_take_all_samples():
    assert seen(3, steps=2) == [[0, 1, 2], [0, 1, 2]]


def test_a_batch_may_hold_all_samples():
    assert [sorted(batch) for batch in seen(3, steps=2, batch_size=3, rng=0)] == [[0, 1, 2], [0, 1, 2]]


def test_fit_trains_in_training_mode_and_stays_there():
    x, labels = flowers()
    net = mlp([4, 8, 3], "batch", rng=0)
    net.eval()
    fit(net, x, labels, SGD(net.parameters(), 0.1), steps=3)
    assert net.training and net.layers[1].training
    assert net.layers[1].stats.num_batches == 3


def test_training_ends_where_the_loss_is_not_finite(recwarn):
    x, labels = flowers()
    net = mlp([4, 16, 16, 3], rng=0)
    optimizer = SGD(net.parameters(), 1e150)
    history = fit(net, x, labels, optimizer, steps=10)
    ended = int(np.argmax(~np.isfinite(history.loss)))
    assert 1 <= ended < 5
    assert np.all(history.loss[ended:] == np.inf)
    assert np.isfinite(history.loss[:ended]).all() and np.isfinite(history.accuracy[:ended]).all()
    assert np.isnan(history.accuracy[ended:]).all() and np.isnan(history.gradient_norms[ended:]).all()
    assert history.loss.shape == history.accuracy.shape == (10,)
    assert history.gradient_norms.shape == (10, 3)
    assert not recwarn.list


def test_on_step_sees_gradients_and_may_set_lr():
    x, labels = flowers()
    net = mlp([4, 8, 3], rng=0)
    optimizer = SGD(net.parameters(), 0.1)
    first = net.layers[0].weight
    seen = []

    def look(step):
        seen.append((step, first.value, np.linalg.norm(first.grad)))
        optimizer.lr = 0.0 if step else 0.5

    start = first.value
    history = fit(net, x, labels, optimizer, steps=3, on_step=look)
    assert [step for step, _, _ in seen] == [0, 1, 2]
    assert seen[0][1] is start
    np.testing.assert_allclose([norm for _, _, norm in seen], history.gradient_norms[:, 0])
    np.testing.assert_array_equal(first.value, seen[1][1])
    assert not np.array_equal(start, first.value)


def test_x_has_any_axes_and_labels_lists():
    net = Sequential(Linear(2, 3, rng=0))
    flat = Linear(2, 3, rng=0)
    labels = [0, 1, 2]
    x = draw((3, 2))
    one = fit(net, x.tolist(), labels, SGD(net.parameters(), 0.1), steps=2)
    two = fit(flat, x, np.array(labels, np.uint8), SGD(flat.parameters(), 0.1), steps=2)
    np.testing.assert_array_equal(one.loss, two.loss)


# ------------------------------------------------------------------ progress


@for_each("count", [1, 3, 10, 25, 1000])
def test_progress_prints_ten_dots_on_one_line(count, capsys):
    assert list(show_progress(range(count))) == list(range(count))
    assert capsys.readouterr().out == "training ..........\n"


def test_progress_grows_while_the_work_is_done(capsys):
    printed = []
    for _ in show_progress(range(20), "sweep"):
        printed.append(capsys.readouterr().out)
    assert printed == ["sweep ", *["", "."] * 9, ""]
    assert capsys.readouterr().out == ".\n"


def test_progress_is_seen_at_once(monkeypatch):
    class Page(io.StringIO):
        flushed = 0

        def flush(self):
            self.flushed += 1

    page = Page()
    monkeypatch.setattr("sys.stdout", page)
    assert [page.flushed for _ in show_progress(range(3))] == [1, 2, 3]


def test_progress_that_is_left_early_ends_its_line(capsys):
    for _ in show_progress([1, 2]):
        break
    assert capsys.readouterr().out == "training \n"


def test_fit_is_silent_unless_asked_for_progress(capsys):
    _, silent = trained()
    assert capsys.readouterr().out == ""
    _, history = trained(progress=True)
    assert capsys.readouterr().out == "training ..........\n"
    np.testing.assert_array_equal(history.loss, silent.loss)


# ------------------------------------------------------------------ bad input


def bad_fit(model=None, x=None, labels=(0, 1, 0), optimizer=None, **options):
    model = Linear(2, 2, rng=0) if model is None else model
    x = np.ones((3, 2)) if x is None else x
    optimizer = SGD(model.parameters(), 0.1) if optimizer is None else optimizer
    fit(model, x, labels, optimizer, **({"steps": 1} | options))


SOME = [Parameter([1.0])]


@for_each(
    ("call", "message"),
    [
        (lambda: mlp([4], rng=0), "mlp: sizes must hold at least the input and the output width, got [4]"),
        (lambda: mlp([4, 0, 3], rng=0), "mlp: every size must be an int >= 1, got 0"),
        (lambda: mlp(4, rng=0), "mlp: sizes must be a list of ints, got 4"),
        (
            lambda: mlp([4, 3], rng=None),
            "mlp: rng must be np.random.default_rng(seed) or a seed, an int >= 0, got None",
        ),
        (
            lambda: mlp([4, 5, 3], "group", rng=0),
            "mlp: norm must be one of 'batch', 'layer', 'rms', or a function that returns a Layer, got 'group'",
        ),
        (
            lambda: mlp([4, 5, 3], activation=None, rng=0),
            "mlp: activation must be one of 'relu', 'tanh', 'sigmoid', or a function that returns a Layer, got None",
        ),
        (lambda: mlp([4, 5, 3], norm=["batch"], rng=0), "mlp: norm must be one of 'batch'"),
        (lambda: mlp([4, 5, 3], activation=np.tanh, rng=0), "mlp: activation must be one of 'relu'"),
        (lambda: mlp([4, 5, 3], norm=lambda width: "batch", rng=0), "mlp: norm must return a Layer, got str"),
        (lambda: mlp([4, 5, 3], gain=-1, rng=0), "Linear: gain must be a finite number > 0, got -1"),
        (lambda: cross_entropy([1, 2], [0, 1]), "cross_entropy: logits must have shape (N, K), got (2,)"),
        (lambda: cross_entropy(np.ones((0, 2)), []), "cross_entropy: logits must have shape (N, K), got (0, 2)"),
        (
            lambda: cross_entropy([[1, 2]], [0, 1]),
            "cross_entropy: labels has shape (2,), expected (1,), one for each row",
        ),
        (lambda: cross_entropy([[1, 2]], [0.0]), "cross_entropy: labels must be ints, got dtype float64"),
        (lambda: cross_entropy([[1, 2]], [2]), "cross_entropy: labels must be from 0 to 1, got 2 to 2"),
        (lambda: cross_entropy([[1, 2]], [-1]), "cross_entropy: labels must be from 0 to 1, got -1 to -1"),
        (lambda: cross_entropy([["a"]], [0]), "cross_entropy: logits must hold real numbers"),
        (lambda: accuracy([[1, 2]], [[0]]), "accuracy: labels has shape (1, 1), expected (1,)"),
        (lambda: SGD([], 0.1), "SGD: parameters must be a list of Parameter, at least one; write model.parameters()"),
        (lambda: SGD(ReLU(), 0.1), "SGD: parameters must be a list of Parameter"),
        (lambda: SGD([np.ones(2)], 0.1), "SGD: parameters must be a list of Parameter"),
        (lambda: SGD(SOME, 0), "SGD: lr must be a finite number > 0, got 0"),
        (lambda: SGD(SOME, 0.1, momentum=1), "SGD: momentum must be a number from 0 to below 1, got 1"),
        (lambda: SGD(SOME, 0.1, momentum=-0.1), "SGD: momentum must be a number from 0 to below 1, got -0.1"),
        (lambda: SGD(SOME, 0.1, weight_decay=-1), "SGD: weight_decay must be a finite number >= 0, got -1"),
        (lambda: SGD(SOME, 0.1, weight_decay=np.inf), "SGD: weight_decay must be a finite number >= 0, got inf"),
        (lambda: Adam(None), "Adam: parameters must be a list of Parameter"),
        (lambda: Adam(SOME, "fast"), "Adam: lr must be a finite number > 0, got 'fast'"),
        (lambda: Adam(SOME, betas=(1, 0.9)), "Adam: betas must be two numbers from 0 to below 1, got (1, 0.9)"),
        (lambda: Adam(SOME, betas=(0.9, 1.5)), "Adam: betas must be two numbers from 0 to below 1, got (0.9, 1.5)"),
        (lambda: Adam(SOME, betas=0.9), "Adam: betas must be two numbers from 0 to below 1, got 0.9"),
        (lambda: AdamW(SOME, 0), "AdamW: lr must be a finite number > 0, got 0"),
        (lambda: AdamW(SOME, weight_decay=-1), "AdamW: weight_decay must be a finite number >= 0, got -1"),
        (lambda: Adam(SOME, eps=0), "Adam: eps must be a finite number > 0, got 0"),
        (lambda: fit(np.tanh, [[1]], [0], None, steps=1), "fit: model must be a Layer, got ufunc"),
        (lambda: bad_fit(optimizer="sgd"), "fit: optimizer has no parameter of this model; write e.g. SGD(model."),
        (lambda: bad_fit(optimizer=SGD(SOME, 0.1)), "fit: optimizer has no parameter of this model"),
        (lambda: bad_fit(labels=[0, 1]), "fit: labels has shape (2,), expected (3,), one for each row of x"),
        (lambda: bad_fit(x=1.0), "fit: x must have an axis of samples, got shape ()"),
        (lambda: bad_fit(labels=[0, 1, 2]), "cross_entropy: labels must be from 0 to 1, got 0 to 2"),
        (lambda: bad_fit(steps=0), "fit: steps must be an int >= 1, got 0"),
        (lambda: bad_fit(batch_size=0, rng=0), "fit: batch_size must be an int >= 1, got 0"),
        (lambda: bad_fit(batch_size=4, rng=0), "fit: batch_size=4 is more than the 3 samples"),
        (
            lambda: bad_fit(batch_size=2),
            "fit: rng must be np.random.default_rng(seed) or a seed, an int >= 0, got None",
        ),
        (
            lambda: bad_fit(mlp([2, 4, 2], "batch", rng=0), batch_size=1, rng=0),
            "BatchNorm.forward: training needs more than 1 value per channel, got shape (1, 4)",
        ),
    ],
)
def test_bad_input_is_told_what_was_expected(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
