"""Lesson 10: conclusions about the placement of norms, tried at other widths, depths, seeds, rates and optimizers."""

from functools import cache

import numpy as np

from helpers import (
    SGD,
    Adam,
    LayerNorm,
    Linear,
    ReLU,
    Residual,
    Sequential,
    Tanh,
    cross_entropy,
    digits,
    fit,
    mean_cosine,
)
from tests.conclusions.conclusion import conclusion, each

CHANCE = np.log(10)
LEARNS = CHANCE / 2


def block(place, width, rng, activation=ReLU, scale=1, gain=1, last=1):
    first = Linear(width, width, rng=rng, bias=False, gain=gain, init="he" if activation is ReLU else "lecun")
    second = Linear(width, width, rng=rng, bias=False, gain=gain * last, init="he" if activation is ReLU else "lecun")
    if activation is ReLU:
        second.weight.value = second.weight.value / np.sqrt(2)  # after ReLU: variance 1 / inputs, as in the lesson
    branch = [first, activation(), second]
    if place == "no norm":
        return Residual(Sequential(*branch))
    if place == "pre-norm":
        return Residual(Sequential(LayerNorm(width), *branch))
    return Sequential(Residual(Sequential(*branch), scale=scale), LayerNorm(width))


def stack(place, depth, rng, width, **more):
    last = [LayerNorm(width)] if place == "pre-norm" else []
    return Sequential(*[block(place, width, rng, **more) for _ in range(depth)], *last)


def run(place, depth, seed, width, **more):
    """A stack with random weights after one forward and one backward pass."""
    rng = np.random.default_rng(seed)
    net = stack(place, depth, rng, width, **more)
    head = Linear(width, 10, rng=rng, init="lecun")
    logits = head.forward(net.forward(rng.normal(size=(32, width))))
    net.backward(head.backward(cross_entropy(logits, rng.integers(10, size=32)).dlogits))
    return net


def deepnorm(depth):
    return {"scale": depth**0.25, "gain": (4 * depth) ** -0.25}


def by_block(net):
    """The gradient's length for the second matrix of each block."""
    return np.array([np.linalg.norm(p.grad) for p in net.parameters() if p.grad.ndim == 2][1::2])


def first_over_last(width, seed, depth=32):
    lengths = [np.linalg.norm(g) for g in run("post-norm", depth, seed, width).gradients]
    return lengths[0] / lengths[depth - 1]


@cache
def images():
    chosen = np.random.default_rng(0).permutation(1797)[:60]
    x = digits().x[chosen].reshape(60, 64)
    return (x - x.mean()) / x.std(), digits().labels[chosen]


def network(place, depth, seed, width=32, **more):
    rng = np.random.default_rng(seed)
    more |= {"place": "post-norm", **deepnorm(depth)} if place == "DeepNorm" else {"place": place}
    first = Linear(64, width, rng=rng, init="lecun")
    blocks = stack(depth=depth, rng=rng, width=width, **more)
    return Sequential(first, blocks, Linear(width, 10, rng=rng, init="lecun"))


@cache
def loss(place, depth, rate, seed, steps=25, width=32, optimizer=SGD, warm_up=0, last=1):
    net = network(place, depth, seed, width, last=last)
    changing = optimizer(net.parameters(), lr=rate)

    def set_rate(step):
        changing.lr = rate * min(1, (step + 1) / max(warm_up, 1))

    return float(fit(net, *images(), changing, steps=steps, on_step=set_rate).loss[-1])


def learns(*args, **more):
    return loss(*args, **more) < LEARNS


@conclusion(
    "At the start of training the variance of the stream is 1 + L with pre-norm, and 1 with post-norm.",
    vary=each(width=[16, 64, 256], depth=[4, 32], seed=range(3)),
)
def test_the_size_of_the_stream(width, depth, seed):
    pre = run("pre-norm", depth, seed, width).outputs[depth - 1].var()
    post = run("post-norm", depth, seed, width).outputs[depth - 1].var()
    return 0.5 < pre / (1 + depth) < 2 and abs(post - 1) < 1e-3


@conclusion(
    "Along the skip path alone post-norm keeps about 2^(-L/2) of a gradient",
    vary=each(width=[64, 256], depth=[8, 32], seed=range(2)),
)
def test_what_the_skip_path_keeps(width, depth, seed):
    g = np.random.default_rng(seed).normal(size=(32, width))
    start = np.linalg.norm(g)
    for post_block in reversed(run("post-norm", depth, seed, width).layers):
        g = post_block.layers[1].backward(g)
    return 0.25 < np.linalg.norm(g) / start * 2 ** (depth / 2) < 4


@conclusion(
    "At the start of training the whole gradient of these post-norm networks does not vanish",
    vary=each(width=[16, 64, 256], depth=[16, 32, 64], seed=range(3)),
)
def test_the_whole_gradient_does_not_vanish(width, depth, seed):
    return 0.03 < first_over_last(width, seed, depth) < 30


@conclusion(
    "its first and last lengths are similar, and the more similar the wider the network",
    vary=each(depth=[16, 32], seeds=[(0, 1, 2, 3), (4, 5, 6, 7)]),
)
def test_wide_networks_scatter_less(depth, seeds):
    scatter = [np.std([np.log(first_over_last(width, s, depth)) for s in seeds]) for width in (16, 64, 256)]
    return scatter[0] > scatter[2]


@conclusion(
    "pre-norm's first blocks get the largest gradients", vary=each(width=[16, 64, 256], depth=[16, 32], seed=range(3))
)
def test_where_the_largest_gradient_is_under_pre_norm(width, depth, seed):
    return bool(by_block(run("pre-norm", depth, seed, width)).argmax() < depth / 4)


@conclusion(
    "under post-norm usually blocks of the second half", vary=each(width=[16, 64, 256], seed=range(8)), least=16
)
def test_where_the_largest_gradient_is_under_post_norm(width, seed):
    return bool(by_block(run("post-norm", 32, seed, width)).argmax() >= 16)


@conclusion(
    "under DeepNorm all blocks get about the same",
    vary=[
        *each(width=[32, 64, 256], depth=[16, 32], seed=range(3)),
        *each(width=[64], depth=[32], activation=["tanh"]),
    ],
)
def test_deepnorms_gradients_are_about_equal(width, depth, seed=0, activation="relu"):
    layer = {"relu": ReLU, "tanh": Tanh}[activation]
    found = by_block(run("post-norm", depth, seed, width, activation=layer, **deepnorm(depth)))
    return bool(found.max() / found.min() < 1.7)


@conclusion(
    "With 1/√N on the last matrix of each branch, pre-norm's stream ends at 2.",
    vary=each(width=[32, 64, 256], depth=[16, 32, 64], seed=range(2)),
)
def test_smaller_branches_keep_the_stream_small(width, depth, seed):
    return bool(1.5 < run("pre-norm", depth, seed, width, last=depth**-0.5).outputs[depth - 1].var() < 2.6)


def alike_after_a_step(place, rate, seed, width, depth, optimizer=SGD, clip=np.inf):
    net = network(place, depth, seed, width)

    def clip_gradient(step):
        length = np.sqrt(sum(np.sum(p.grad**2) for p in net.parameters()))
        for p in net.parameters():
            p.grad = p.grad * min(1, clip / length)

    fit(net, *images(), optimizer(net.parameters(), lr=rate), steps=1, on_step=clip_gradient)
    net.forward(images()[0])
    return mean_cosine(net.layers[1].outputs[depth - 1])


@conclusion(
    "One step at a rate that suits pre-norm made all images alike under deep post-norm",
    vary=each(width=[32, 128], depth=[32, 64], seed=range(4)),
)
def test_one_step_makes_images_alike_under_post_norm(width, depth, seed):
    pre, post = (alike_after_a_step(place, 0.1, seed, width, depth) for place in ("pre-norm", "post-norm"))
    return bool(pre < 0.95 and post > 0.99)


@conclusion("even five times the rate leaves", vary=each(width=[32, 128], seed=range(4)))
def test_a_larger_gradient_is_not_all(width, seed):
    pre, post = (
        1 - alike_after_a_step(place, rate, seed, width, 32) for place, rate in (("pre-norm", 0.5), ("post-norm", 0.1))
    )
    return bool(pre > 3 * post)


@conclusion(
    "Clipping makes SGD's first step shorter, and the images less alike after it. Adam undoes clipping.",
    vary=each(width=[32, 128], depth=[16, 32], seed=range(4)),
)
def test_clipping_saves_the_first_step_of_sgd_only(width, depth, seed):
    tried = [(SGD, 0.1, np.inf), (SGD, 0.1, 1), (Adam, 0.005, np.inf), (Adam, 0.005, 1)]
    sgd, clipped, adam, adam_clipped = (
        alike_after_a_step("post-norm", rate, seed, width, depth, optimizer, clip) for optimizer, rate, clip in tried
    )
    return bool(clipped < sgd and abs(adam - adam_clipped) < 1e-3)


RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)


@conclusion(
    "At about the same number at depth 2; with depth, pre-norm's lead grows",
    vary=each(seed=[2, 3], width=[32]) + each(seed=[2], width=[96]),
)
def test_the_lead_of_pre_norm_grows_with_depth(seed, width):
    def lead(depth):
        count = [sum(learns(p, depth, rate, seed, width=width) for rate in RATES) for p in ("pre-norm", "post-norm")]
        return count[0] - count[1]

    return 0 <= lead(2) <= 1 < lead(32)


@conclusion(
    "In these networks, trained by SGD, 32 post-norm blocks need a small rate and therefore more steps",
    vary=each(seed=[3, 4]),
)
def test_deep_post_norm_needs_small_rates(seed):
    fails_at_once = not any(learns("post-norm", 32, rate, seed) for rate in (0.01, 0.03, 0.1))
    fails_later = not learns("post-norm", 32, 0.1, seed, steps=150)
    return fails_at_once and fails_later and learns("post-norm", 32, 0.01, seed, steps=300)


@conclusion(
    "pre-norm and DeepNorm also work at larger rates",
    vary=each(place=["pre-norm", "DeepNorm"], rate=[0.03, 0.1], seed=[2, 3]),
)
def test_pre_norm_and_deepnorm_work_at_larger_rates(place, rate, seed):
    return learns(place, 32, rate, seed)


@conclusion("Warm-up can make a rate usable under Adam.", vary=each(depth=[16], rate=[0.01], seed=range(2, 8)), least=5)
def test_warm_up_widens_the_rates_of_adam(depth, rate, seed):
    def trains(warm_up):
        return min(loss("post-norm", depth, rate, seed, 100, 32, Adam, warm_up), 9) < LEARNS

    return trains(50) and not trains(0)


@conclusion(
    "SGD gains from warm-up as well if it is slow enough.",
    vary=[
        *each(depth=[8], rate=[1], ramp=[200], steps=[240], seed=range(2, 8)),
        *each(depth=[16], rate=[0.3], ramp=[240], steps=[300], seed=range(2, 6)),
    ],
)
def test_a_slow_warm_up_lets_sgd_use_a_larger_rate(depth, rate, ramp, steps, seed):
    def trains(warm_up):
        return learns("post-norm", depth, rate, seed, steps, 32, SGD, warm_up)

    return trains(ramp) and not trains(0) and not trains(60)


@conclusion(
    "Branches that start smaller fill the row in 25 steps.", vary=each(rate=[0.01, 0.03], width=[32, 96], seed=range(4))
)
def test_post_norm_with_smaller_branches_learns_at_once(rate, width, seed):
    return learns("post-norm", 32, rate, seed, width=width, last=32**-0.5)


@conclusion("at a rate three times smaller Adam needed no warm-up", vary=each(seed=[2, 3, 4]))
def test_a_smaller_rate_needs_no_warm_up(seed):
    return learns("post-norm", 16, 0.003, seed, 100, 32, Adam)
