"""helpers/nets.py: the network, the loss, the optimizers and the training loop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import datasets
from helpers.layers import BatchNorm, GroupNorm, LayerNorm, Linear, Parameter, ReLU, Sequential, Tanh
from helpers.nets import SGD, Adam, AdamW, accuracy, cross_entropy, fit, mlp, show_progress
from tests.shared import draw


def flowers():
    x, labels = datasets.iris()
    return (x - x.mean(axis=0)) / x.std(axis=0), labels


def kinds(net):
    return [type(layer).__name__ for layer in net.layers]


@pytest.mark.parametrize(
    ("norm", "activation", "expected"),
    [
        (None, "relu", ["Linear", "ReLU"]),
        ("batch", "tanh", ["Linear", "BatchNorm", "Tanh"]),
        ("layer", "sigmoid", ["Linear", "LayerNorm", "Sigmoid"]),
        ("rms", ReLU, ["Linear", "RMSNorm", "ReLU"]),
        (lambda width: GroupNorm(2, width), "relu", ["Linear", "GroupNorm", "ReLU"]),
        (LayerNorm, lambda: Tanh(), ["Linear", "LayerNorm", "Tanh"]),
        (lambda n: BatchNorm(n), "relu", ["Linear", "BatchNorm", "ReLU"]),
    ],
)
def test_mlp_stacks_linear_norm_and_activation(norm, activation, expected):
    net, plain = mlp([3, 6, 4, 2], norm, activation, rng=0), mlp([3, 6, 4, 2], activation=activation, rng=0)
    assert isinstance(net, Sequential)
    assert kinds(net) == [*expected, *expected, "Linear"]
    assert net.forward(draw((5, 3))).shape == (5, 2)
    matrices, same = ([p.value for p in n.parameters() if p.value.ndim == 2] for n in (net, plain))
    assert [w.shape for w in matrices] == [(6, 3), (4, 6), (2, 4)]
    for w, without_norm in zip(matrices, same, strict=True):
        assert_array_equal(w, without_norm)  # every norm begins at the same weights
    first, last = (net.layers[i] for i in (0, -1))
    assert last.bias is not None
    assert (first.bias is None) == ("BatchNorm" in expected)  # which would subtract it again


@pytest.mark.parametrize(("activation", "variance"), [("relu", 2), (ReLU, 2), ("tanh", 1), ("sigmoid", 1)])
def test_mlp_draws_weights_by_activation_and_gain(activation, variance):
    net = mlp([300, 300, 300], activation=activation, gain=3, rng=0)
    hidden, last = (net.layers[i].weight.value for i in (0, -1))
    assert abs(hidden.var() * 300 / (variance * 9) - 1) < 0.02
    assert abs(last.var() * 300 - 1) < 0.02
    assert_allclose(hidden, 3 * mlp([300, 300, 300], activation=activation, rng=0).layers[0].weight.value)  # gain 1


def test_cross_entropy_worked_by_hand():
    # softmax of (0, log 3) is (1/4, 3/4); the second row is right with 1/2.
    logits = np.array([[0, np.log(3)], [5, 5]])
    before = logits.copy()
    loss, dlogits = cross_entropy(logits, [1, 0])
    assert isinstance(loss, float)
    assert_allclose(loss, -(np.log(3 / 4) + np.log(1 / 2)) / 2)
    assert_allclose(dlogits, [[1 / 8, -1 / 8], [-1 / 4, 1 / 4]])
    assert_array_equal(logits, before)


def test_cross_entropy_of_huge_logits_is_their_difference(recwarn):
    loss, dlogits = cross_entropy([[1e4, -1e4]], [1])
    assert loss == 2e4
    assert_array_equal(dlogits, [[1, -1]])
    assert cross_entropy([[1e4, -1e4]], [0]).loss == 0
    assert_allclose(cross_entropy([[1e4, 0], [0, 0]], [0, 1]).loss, np.log(2) / 2)
    assert np.isnan(cross_entropy([[np.inf, 0]], [0]).loss)
    assert not recwarn.list


def test_accuracy_counts_rows_largest_at_their_label():
    assert accuracy([[1, 2, 0], [3, 2, 1], [0, 0, 1], [5, 0, 0]], [1, 0, 2, 1]) == 0.75


@pytest.mark.parametrize(
    ("optimizer", "options", "gradients", "expected"),
    [
        (SGD, {"lr": 0.1}, [2.0, 1.0], [0.8, 0.7]),
        (SGD, {"lr": 0.1, "momentum": 0.5}, [2.0, 1.0], [0.8, 0.6]),  # velocity 2, then 0.5 * 2 + 1
        # g = 2 + 0.5 * 1, then 1 + 0.5 * 0.75
        (SGD, {"lr": 0.1, "weight_decay": 0.5}, [2.0, 1.0], [0.75, 0.6125]),
        # velocity 2.5, then 1.25 + 1.375
        (SGD, {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.5}, [2.0, 1.0], [0.75, 0.4875]),
        # m = 1, v = 2; hats 2 and 4: a step of 0.1 * 2 / 2. Then m = 0.5, v = 1, hats 2/3 and 4/3.
        (Adam, {"lr": 0.1, "betas": (0.5, 0.5), "eps": 1e-12}, [2.0, 0.0], [0.9, 0.9 - 0.1 * (2 / 3) / np.sqrt(4 / 3)]),
        (AdamW, {"lr": 0.1, "weight_decay": 0, "betas": (0.5, 0.5), "eps": 1.0}, [2.0], [0.9 + 0.1 / 3]),  # 2 / (2 + 1)
        # The first step is as long as lr, whatever the gradient; eps stands beside the root.
        (Adam, {}, [1e-3], [1 - 1e-3]),
        (Adam, {"lr": 1.0, "eps": 3.0}, [1.0], [0.75]),
        # m = 0.09, v = 0.000999; hats 0.9/1.9 and 0.999/1.999
        (Adam, {}, [1.0, 0.0], [1 - 1e-3, 1 - 1e-3 - 1e-3 * (0.9 / 1.9) / np.sqrt(0.999 / 1.999)]),
        # The decay leaves 1 - 0.1 * 0.5 = 0.95, Adam's first step is 0.1 long.
        (AdamW, {"lr": 0.1, "weight_decay": 0.5}, [4.0, 4.0], [0.95 - 0.1, 0.95 * 0.85 - 0.1]),
        (AdamW, {}, [4.0], [1 - 1e-3 * 1e-2 - 1e-3]),
    ],
)
def test_optimizers_worked_by_hand(optimizer, options, gradients, expected):
    parameter = Parameter([1.0])
    stepping, values = optimizer([parameter], **options), []
    for gradient in gradients:
        held = parameter.value, np.array([gradient])
        before = parameter.value.item()
        parameter.grad = held[1]
        stepping.step()
        assert (held[0], held[1]) == (before, gradient)  # nothing is changed in place
        values.append(parameter.value.item())
    assert_allclose(values, expected, rtol=1e-7, atol=0)


def test_eps_of_adam_is_1e_8_by_default_also_of_adamw():
    for optimizer, decay in ((Adam, 1), (AdamW, 1 - 1e-5)):
        parameter = Parameter([1.0], [1e-8])
        optimizer([parameter]).step()
        assert_allclose(parameter.value, decay - 1e-3 / 2, rtol=1e-9)


def trained(norm="batch", seed=0, **options):
    x, labels = flowers()
    net = mlp([4, 16, 3], norm, rng=seed)
    options = {"steps": 60, "batch_size": 32, "rng": seed} | options
    return net, fit(net, x, labels, SGD(net.parameters(), 0.1, momentum=0.9), **options)


def test_one_seed_or_its_generator_gives_one_run(capsys):
    for result, again, other in zip(
        trained()[1], trained(rng=np.random.default_rng(0))[1], trained(rng=1)[1], strict=True
    ):
        assert_array_equal(result, again)
        assert not np.array_equal(result, other)
    assert capsys.readouterr().out == ""
    _, shown = trained(progress=True)
    assert capsys.readouterr().out == "training ..........\n"
    assert_array_equal(shown.loss, trained()[1].loss)


def test_the_history_matches_a_loop_by_hand():
    x, labels = flowers()
    net, twin = mlp([4, 8, 3], "batch", rng=0), mlp([4, 8, 3], "batch", rng=0)
    net.eval()  # fit trains in training mode all the same
    history = fit(net, x.tolist(), labels.astype(np.uint8), Adam(net.parameters(), 0.01), steps=5)
    assert net.training and net.layers[1].stats.num_batches == 5
    optimizer = Adam(twin.parameters(), 0.01)
    for step in range(5):
        logits = twin.forward(x)
        loss, dlogits = cross_entropy(logits, labels)
        twin.zero_grad()
        twin.backward(dlogits)
        assert history.loss[step] == loss
        assert history.accuracy[step] == accuracy(logits, labels)
        norms = [np.linalg.norm(twin.layers[i].weight.grad) for i in (0, -1)]
        assert_allclose(history.gradient_norms[step], norms)
        optimizer.step()
    for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
        assert_array_equal(ours.value, theirs.value)


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
        assert rows != sorted(rows)
    assert batches[:3] != batches[3:]
    assert seen(3, steps=2) == [[0, 1, 2], [0, 1, 2]]
    assert [sorted(batch) for batch in seen(3, steps=2, batch_size=3, rng=0)] == [[0, 1, 2], [0, 1, 2]]


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
    assert_allclose([norm for _, _, norm in seen], history.gradient_norms[:, 0])
    assert_array_equal(first.value, seen[1][1])
    assert not np.array_equal(start, first.value)


def test_progress_prints_ten_dots_on_one_line_while_the_work_is_done(capsys):
    for count in (1, 3, 10, 25, 1000):
        assert list(show_progress(range(count))) == list(range(count))
        assert capsys.readouterr().out == "training ..........\n"
    printed = []
    for _ in show_progress(range(20), "sweep"):
        printed.append(capsys.readouterr().out)
    assert printed == ["sweep ", *["", "."] * 9, ""]
    assert capsys.readouterr().out == ".\n"
    for _ in show_progress([1, 2]):  # left early
        break
    assert capsys.readouterr().out == "training \n"


def test_progress_is_seen_at_once(monkeypatch):
    flushed = []
    monkeypatch.setattr("builtins.print", lambda *words, end="", flush=False: flushed.append(flush))
    assert list(show_progress(range(3))) == [0, 1, 2] and flushed == [True] * 4 + [False]
