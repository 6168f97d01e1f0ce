"""Lesson 10: conclusions about the placement of norms, tried at other widths, depths, seeds, rates and optimizers."""

from functools import cache

import numpy as np

from helpers import Linear, Sequential, fit, mean_cosine
from tests.conclusions.conclusion import conclusion, each
from tests.conclusions.lesson import from_lesson
from tests.conclusions.samples import OPTIMIZERS

stack, run, left_on_skip_path = from_lesson("10", "stack", "run", "left_on_skip_path")
images, labels = from_lesson("10", "images", "labels")
LEARNS = np.log(10) / 2  # half the loss of chance


def deepnorm(depth):
    return {"scale": depth**0.25, "gain": (4 * depth) ** -0.25}


def by_block(place, depth, seed, width, **more):
    """The gradient's length for the second matrix of each block."""
    net = run(place, depth, seed, width, **more)
    return np.array([np.linalg.norm(p.grad) for p in net.parameters() if p.grad.ndim == 2][1::2])


def first_over_last(width, seed, depth):
    lengths = [np.linalg.norm(g) for g in run("post-norm", depth, seed, width).gradients]
    return lengths[0] / lengths[depth - 1]


def network(place, depth, seed, width, **more):
    rng = np.random.default_rng(seed)
    more |= deepnorm(depth) if place == "DeepNorm" else {}
    first = Linear(64, width, rng=rng, init="lecun")
    return Sequential(first, stack(place, depth, rng, width, **more), Linear(width, 10, rng=rng, init="lecun"))


@cache
def learns(place, depth, rate, seed, steps=25, width=32, optimizer="SGD", warm_up=1, last=1):
    net = network(place, depth, seed, width, last=last)
    rule = OPTIMIZERS[optimizer](net.parameters(), lr=rate)

    def set_rate(step):
        rule.lr = rate * min(1, (step + 1) / warm_up)

    return bool(fit(net, images, labels, rule, steps=steps, on_step=set_rate).loss[-1] < LEARNS)


@conclusion(
    "At the start of training the variance of the stream is 1 + L with pre-norm, and 1 with post-norm.",
    vary=each(width=[16, 64, 256], depth=[4, 32], seed=range(3)),
)
def test_the_size_of_the_stream(width, depth, seed):
    pre, post = (run(place, depth, seed, width).outputs[depth - 1].var() for place in ("pre-norm", "post-norm"))
    return bool(0.5 < pre / (1 + depth) < 2 and abs(post - 1) < 1e-3)


@conclusion(
    "Along the skip path alone post-norm keeps about 2^(-L/2) of a gradient",
    vary=each(width=[64, 256], depth=[8, 32], seed=range(2)),
)
def test_what_the_skip_path_keeps(width, depth, seed):
    return 0.25 < left_on_skip_path(run("post-norm", depth, seed, width), seed, width) * 2 ** (depth / 2) < 4


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
    narrow, wide = (np.std([np.log(first_over_last(width, s, depth)) for s in seeds]) for width in (16, 256))
    return narrow > wide


@conclusion(
    "pre-norm's first blocks get the largest gradients", vary=each(width=[16, 64, 256], depth=[16, 32], seed=range(3))
)
def test_where_the_largest_gradient_is_under_pre_norm(width, depth, seed):
    return by_block("pre-norm", depth, seed, width).argmax() < depth / 4


@conclusion(
    "under post-norm usually blocks of the second half", vary=each(width=[16, 64, 256], seed=range(8)), least=16
)
def test_where_the_largest_gradient_is_under_post_norm(width, seed):
    return by_block("post-norm", 32, seed, width).argmax() >= 16


@conclusion(
    "under DeepNorm all blocks get about the same", vary=each(width=[32, 64, 256], depth=[16, 32], seed=range(3))
)
def test_deepnorms_gradients_are_about_equal(width, depth, seed):
    found = by_block("DeepNorm", depth, seed, width, **deepnorm(depth))
    return found.max() / found.min() < 1.7


@conclusion(
    "With 1/√N on the last matrix of each branch, pre-norm's stream ends at 2.",
    vary=each(width=[32, 64, 256], depth=[16, 32, 64], seed=range(2)),
)
def test_smaller_branches_keep_the_stream_small(width, depth, seed):
    return 1.5 < run("pre-norm", depth, seed, width, last=depth**-0.5).outputs[depth - 1].var() < 2.6


def alike_after_a_step(place, seed, width, depth, optimizer="SGD", rate=0.1, clip=np.inf):
    net = network(place, depth, seed, width)

    def clip_gradient(step):
        length = np.sqrt(sum(np.sum(p.grad**2) for p in net.parameters()))
        for p in net.parameters():
            p.grad = p.grad * min(1, clip / length)

    fit(net, images, labels, OPTIMIZERS[optimizer](net.parameters(), lr=rate), steps=1, on_step=clip_gradient)
    net.forward(images)
    return mean_cosine(net.layers[1].outputs[depth - 1])


@conclusion(
    "One step at a rate that suits pre-norm made all images alike under deep post-norm",
    vary=each(width=[32, 128], depth=[32, 64], seed=range(4)),
)
def test_one_step_makes_images_alike_under_post_norm(width, depth, seed):
    pre, post = (alike_after_a_step(place, seed, width, depth) for place in ("pre-norm", "post-norm"))
    return pre < 0.95 and post > 0.99


@conclusion("even five times the rate leaves", vary=each(width=[32, 128], seed=range(4)))
def test_a_larger_gradient_is_not_all(width, seed):
    pre, post = (
        1 - alike_after_a_step(place, seed, width, 32, rate=rate)
        for place, rate in (("pre-norm", 0.5), ("post-norm", 0.1))
    )
    return bool(pre > 3 * post)


@conclusion(
    "Clipping makes SGD's first step shorter, and the images less alike after it. Adam undoes clipping.",
    vary=each(width=[32, 128], depth=[16, 32], seed=range(4)),
)
def test_clipping_saves_the_first_step_of_sgd_only(width, depth, seed):
    steps = [("SGD", 0.1, np.inf), ("SGD", 0.1, 1), ("Adam", 0.005, np.inf), ("Adam", 0.005, 1)]
    sgd, clipped, adam, adam_clipped = (alike_after_a_step("post-norm", seed, width, depth, *step) for step in steps)
    return clipped < sgd and abs(adam - adam_clipped) < 1e-3


@conclusion(
    "At about the same number at depth 2; with depth, pre-norm's lead grows",
    vary=each(seed=[2, 3], width=[32]) + each(seed=[2], width=[96]),
)
def test_the_lead_of_pre_norm_grows_with_depth(seed, width):
    rates = (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
    lead = {}
    for depth in (2, 32):
        pre, post = ([learns(p, depth, r, seed, width=width) for r in rates] for p in ("pre-norm", "post-norm"))
        lead[depth] = sum(pre) - sum(post)
    return 0 <= lead[2] <= 1 < lead[32]


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


@conclusion("Warm-up can make a rate usable under Adam.", vary=each(seed=range(2, 8)), least=5)
def test_warm_up_widens_the_rates_of_adam(seed):
    cold, warm = (learns("post-norm", 16, 0.01, seed, 100, optimizer="Adam", warm_up=ramp) for ramp in (1, 50))
    return warm and not cold


@conclusion(
    "SGD gains from warm-up as well if it is slow enough.",
    vary=[
        *each(depth=[8], rate=[1], ramp=[200], steps=[240], seed=range(2, 8)),
        *each(depth=[16], rate=[0.3], ramp=[240], steps=[300], seed=range(2, 6)),
    ],
    least=9,
)
def test_a_slow_warm_up_lets_sgd_use_a_larger_rate(depth, rate, ramp, steps, seed):
    cold, fast, slow = (learns("post-norm", depth, rate, seed, steps, warm_up=w) for w in (1, 60, ramp))
    return slow and not cold and not fast


@conclusion(
    "Branches that start smaller fill the row in 25 steps.", vary=each(rate=[0.01, 0.03], width=[32, 96], seed=range(4))
)
def test_post_norm_with_smaller_branches_learns_at_once(rate, width, seed):
    return learns("post-norm", 32, rate, seed, width=width, last=32**-0.5)


@conclusion("at a rate three times smaller Adam needed no warm-up", vary=each(seed=[2, 3, 4]))
def test_a_smaller_rate_needs_no_warm_up(seed):
    return learns("post-norm", 16, 0.003, seed, 100, optimizer="Adam")
