"""Lesson 04: conclusions about one vector, tried with other widths, seeds, data, eps and number formats."""

import numpy as np

from helpers import Adam, LayerNorm, Linear, ReLU, Sequential, fit, iris, layer_norm, mlp
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import DATA, OPTIMIZERS

packs, alarm, is_alarm, growth, inputs = from_lesson("04", "packs", "alarm", "IS_ALARM", "growth", "inputs")
fraction_lost, healthy, cell_2_hot, broken = from_lesson("04", "fraction_lost", "healthy", "cell_2_hot", "broken")


@conclusion(
    "The other samples in the batch and the other tokens do not matter.",
    vary=each(data=DATA, d=[1, 2, 16, 1024], dtype=[np.float32, np.float64], eps=[1e-12, 1e-5, 1]),
)
def test_a_sample_does_not_depend_on_the_others(data, d, dtype, eps):
    x = data(np.random.default_rng(d), (32, 5, d)).astype(dtype)
    alone = layer_norm(x[:1, :1], eps=eps).y
    return bool(np.allclose(alone, layer_norm(x, eps=eps).y[:1, :1], rtol=1e-6, atol=1e-6))


@conclusion(
    "No, each sample lost a mean and a scale of its own",
    vary=each(data=DATA, samples=[3, 10, 200], features=[6, 64, 512], seed=range(3)),
)
def test_layer_norm_is_not_undone(data, samples, features, seed):
    return fraction_lost(data(np.random.default_rng(seed), (samples, features))).max() > 1e-4


@conclusion("In this network layer norm stops the explosion at gain 3", vary=each(d=[64, 256], seed=range(5)))
def test_layer_norm_stops_the_explosion(d, seed):
    with_norm, without = (growth(3, use_norm, seed, d=d)[-1] for use_norm in (True, False))
    return with_norm < 100 < 1e3 < without


@conclusion(
    "At gain 10 the change still grows, but far less than without a norm.", vary=each(d=[64, 256], seed=range(5))
)
def test_it_still_grows_at_a_large_gain(d, seed):
    with_norm, without = (growth(10, use_norm, seed, d=d)[-1] for use_norm in (True, False))
    return 1 < with_norm < 1e-6 * without


@conclusion("Layer norm does not stop the vanishing at gain 1", vary=each(d=[16, 64, 256], seed=range(5)))
def test_it_does_not_stop_the_vanishing(d, seed):
    return growth(1, True, seed, d=d)[-1] < 1e-4


def steps_to_goal(rate, seed, width, optimizer="SGD"):
    """With layer norm and without a norm: the first of 400 steps at which the mean of ten losses is below 0.25."""
    found = []
    for norm in ("layer", None):
        net = mlp([4, width, width, 3], norm=norm, rng=seed)
        rule = OPTIMIZERS[optimizer](net.parameters(), rate)
        losses = fit(net, *iris(), rule, steps=400, batch_size=32, rng=seed).loss
        below = np.convolve(losses, np.ones(10) / 10, "valid") < 0.25
        found.append(int(below.argmax()) if below.any() else 400)
    return found


@conclusion(
    "in this network, trained by plain SGD, layer norm is slower at the small learning rate",
    vary=each(lr=[0.015, 0.02, 0.03], width=[16, 32], seed=range(4)),
    least=21,
)
def test_layer_norm_can_be_slower(lr, width, seed):
    with_norm, without = steps_to_goal(lr, seed, width)
    return with_norm >= without and without < 400


@conclusion(
    "At the large one it reaches the goal, but the plain network does not.",
    vary=each(lr=[0.3], width=[16, 32], seed=range(4)),
    least=7,
)
def test_layer_norm_reaches_the_goal_at_large_rates(lr, width, seed):
    with_norm, without = steps_to_goal(lr, seed, width)
    return with_norm < without == 400


@conclusion(
    "With Adam at a rate of 0.003, layer norm is faster for most seeds, not for all.",
    vary=each(width=[16, 32], seed=range(12)),
    least=18,
)
def test_layer_norm_is_mostly_faster_with_adam(width, seed):
    with_norm, without = steps_to_goal(0.003, seed, width, "Adam")
    return with_norm < without


def trained(first, seed, width, rate=0.01, more=()):
    """The lesson's network with its layer norm "at the input" or "after a linear layer", and the same more inputs."""
    rng = np.random.default_rng(seed)
    hidden, last = Linear(8 + len(more), width, rng=rng), Linear(width, 2, rng=rng)
    at = {"at the input": [LayerNorm(8 + len(more)), hidden], "after a linear layer": [hidden, LayerNorm(width)]}
    network = Sequential(*at[first], ReLU(), last)
    kinds = list(is_alarm)[: 2 if first == "at the input" and not more else 3]
    x = np.concatenate([packs(kind, 1000, rng) for kind in kinds])
    labels = np.repeat([is_alarm[kind] for kind in kinds], 1000)
    fit(network, inputs(x, more), labels, Adam(network.parameters(), rate), steps=400, batch_size=64, rng=seed)
    return lambda *cells: alarm(network, inputs(np.stack(cells), more))


@conclusion(
    "The alarm stays silent when all cells are hot or uneven, and when a broken thermometer hides a hot one",
    vary=each(width=[16, 64], seed=range(10)),
    least=19,
)
def test_the_alarm_is_silent(width, seed):
    rings = trained("at the input", seed, width)
    one, *silent = rings(cell_2_hot, healthy, healthy + 60, 25 + 400 * (healthy - 25), broken)
    return bool(one > 0.5 > max(silent))


@conclusion(
    "Put a linear layer with a bias before layer norm: a shift of all inputs then changes the pattern",
    vary=each(width=[16, 64], rate=[0.003, 0.01], seed=range(10)),
    least=36,
)
def test_a_linear_layer_before_the_norm_sees_the_shift(width, rate, seed):
    silent, *faults = trained("after a linear layer", seed, width, rate)(healthy, cell_2_hot, healthy + 60, broken)
    return bool(silent < 0.5 < min(faults))


@conclusion(
    "0 and 100 as two more inputs tell hot packs from cool ones; either alone does not.",
    vary=each(width=[16, 64], seed=range(7)),
    least=13,
)
def test_two_marks_tell_the_level(width, seed):
    cool = packs("healthy", 200, np.random.default_rng(seed))
    alarms = [trained("at the input", seed, width, more=more) for more in ((0, 100), (0,), (100,))]
    both, *alone = [np.mean(rings(*cool + 60) > 0.5) - np.mean(rings(*cool) > 0.5) for rings in alarms]
    return bool(both > 0.95 and max(alone) < 0.3)
