"""Cases worked by hand, by the name of the exercise: they move lesson by lesson into `Exercise(worked=[...])`."""

from importlib import import_module

import numpy as np

from helpers.exercises import case

GALLERY = import_module("helpers.lessons.12_bug_gallery.exercises")

SMALL = np.sqrt(3e-5)  # -SMALL and SMALL have variance 3e-5, with the usual eps 4e-5, and become -HALF and HALF
HALF = np.sqrt(3 / 4)
PAIR = np.array([[-SMALL], [SMALL]])
ONE, NONE = np.ones(1), np.zeros(1)


class Subtracts:
    """Takes off the mean of the real positions, in eval mode that of the last batch."""

    def __init__(self, channels):
        self.mean = 0.0

    def __call__(self, x, training=True, keep=None):
        self.mean = self.of(x, keep) if training else self.mean
        return x - self.mean

    def of(self, x, keep):
        return x[:, 0][keep].mean()


class SubtractsAll(Subtracts):
    def of(self, x, keep):
        return x.mean()


class Times:
    """Multiplies by one number forward and by another one backward."""

    def __init__(self, forward, back):
        self.forward, self.back = forward, back
        self.gamma = self.beta = np.ones(3)

    def __call__(self, x, training=True, keep=None):
        return self.forward * x

    def backward(self, dy):
        return self.back * dy


def three(channels):
    return Times(3, 3)


def four(channels):
    return Times(4, 4)


# name of the exercise -> calls and their answers. 1 and 3 have mean 2 and variance 1, 5 and 7 mean 6 and variance 1;
# eps=3 makes the root 2.
BY_HAND = {
    "my_statistic_axes": [(case("batch", 4), (0, 2, 3)), (case("instance", 3), (2,)), (case("layer", 2), (1,))],
    "my_layer_norm": [
        # mean 3, variance 3.5
        (case(*map(np.array, ([[1, 2, 3, 6]], [1, 2, 3, 4], [10, 20, 30, 40])), eps=0.5), [[9, 19, 30, 46]]),
        (case(PAIR.T, np.ones(2), np.zeros(2)), [[-HALF, HALF]]),
    ],
    "my_batch_norm_nchw": [
        (
            case(
                np.array([[[[1, 3]], [[5, 5]]], [[[3, 1]], [[7, 7]]]]), np.array([2, 10]), np.array([100, 200]), eps=3
            ),
            [[[[99, 101]], [[195, 195]]], [[[101, 99]], [[205, 205]]]],
        ),
        (case(PAIR[..., None, None], ONE, NONE), [[[[-HALF]]], [[[HALF]]]]),
    ],
    "my_update_running_stats": [
        # batch means 10 and 2, variances 2 and 8, divided by n - 1 = 1
        (
            case(np.array([1, 0]), np.array([1, 1]), np.array([[9, 0], [11, 4]]), momentum=0.5),
            ([5.5, 1], [1.5, 4.5]),
        ),
        (case(NONE, ONE, np.array([[9], [11]])), ([1], [1.1])),
    ],
    "my_torch_momentum_from_keras": [(case(0.99), 0.01)],
    "my_batch_norm_eval": [
        (
            case(np.array([[[[1, 3]], [[5, 9]]]]), *np.array([[2, 10], [100, 200], [1, 1], [1, 13]]), eps=3),
            [[[[100, 102]], [[210, 220]]]],
        ),
        (case(SMALL * np.ones((1, 1, 1, 1)), ONE, NONE, NONE, 3e-5 * ONE), [[[[HALF]]]]),
    ],
    "my_safe_rms_norm": [
        # mean square 25, with eps 36
        (case(np.float32([[[1, 7]]]), np.float32([6, 12]), eps=11), [[[1, 14]]]),
        (case(np.float16([[300, -300]]), np.float16([1, 2])), [[1, -2]]),
        (case(np.float32([SMALL]), np.float32([1])), [HALF]),
    ],
    "my_welford": [
        (case([1, 2, 3, 6]), (3, 3.5)),
        (case([1e9, 1e9 + 2]), (1e9 + 1, 1)),
        (case([1e-20, 3e-20]), (2e-20, 1e-40)),
    ],
    "my_merge_variances": [(case((2, 2.0, 2.0), (3, 7.0, 8.0)), (5, 5, 40))],  # of 1, 3 and of 5, 7, 9
    # the mean of the real positions 1 and 3 is 2, that of all four is not
    "my_padding_test": [
        (case(Subtracts, np.array([[[1.0, 3, 9, 9]]]), np.array([[True, True, False, False]])), True),
        (case(SubtractsAll, np.array([[[1.0, 3, 9, 9]]]), np.array([[True, True, False, False]])), False),
    ],
    "my_gradient_test": [
        (case(Times(3, 3), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), True),
        (case(Times(3, 2), np.array([[[1.0, 2]]]), np.array([[[5.0, 7]]])), False),
    ],
    "my_battery": [
        (case((GALLERY.Candidate(three, True, ""), GALLERY.Candidate(four, False, "")), three), True),
        (case((GALLERY.Candidate(three, False, ""),), four), True),
    ],
    "my_layer_norm_tuple_axes": [
        # mean 3, variance 3.5 over both axes
        (
            case(
                np.array([[[1, 2], [3, 6]]]),
                (1, 2),
                np.array([[1, 2], [3, 4]]),
                np.array([[10, 20], [30, 40]]),
                eps=0.5,
            ),
            [[[9, 19], [30, 46]]],
        ),
    ],
    "my_channel_layer_norm": [
        (
            case(np.array([[[[1, 5]], [[3, 5]]]]), np.array([2, 10]), np.array([100, 200]), eps=3),
            [[[[99, 100]], [[205, 200]]]],
        ),
    ],
    "my_project": [
        (case(np.array([1.0, 3.0])), ([-1, 1], [-1, 1])),
        (case(np.array([6.0, 6, 0])), ([2, 2, -4], [0.5**0.5, 0.5**0.5, -(2**0.5)])),
    ],
    "my_rms_norm": [(case(np.array([[1.0, 7]]), np.array([1, 2]), eps=0), [[0.2, 2.8]])],
    "my_rms_norm_llama_order": [
        (case(np.array([[3, 3]], np.float16), np.array([1, 2], np.float16), eps=27), [[0.5, 1.0]]),
    ],
    "my_fold_gamma": [
        (case(np.array([2, 3]), np.array([[1, 10], [100, 1000]]), np.array([5, 6])), ([[2, 20], [300, 3000]], [5, 6])),
    ],
    # The packet holds 1 and 3: mean 2, variance 1, root 2; then 0 and 2 with mean 1, variance 1. A quarter of that is
    # stored: means 0.5 and 0.25, variances 1. The image: (3 - 0.5)/2 · 2 · 2 = 5, then (5 - 0.25)/2 · 8.
    "my_mended_network": [
        (
            case(
                np.array([[3.0]]),
                np.array([[[1.0], [3], [0]]]),
                np.array([[True, True, False]]),
                [[np.ones((1, 1))] * 3, [np.array([[2.0]]), np.array([[2.0]]), np.array([[8.0]])]],
                momentum=0.75,
                eps=3,
            ),
            [[19]],
        ),
    ],
    "my_port_batch_norm": [
        (
            case([np.array([2.0]), np.array([3.0]), np.array([4.0]), np.array([5.0])], momentum=0.75, epsilon=0.5),
            ([2], [3], [4], [5], 0.25, 0.5),
        ),
        (
            case([np.array([4.0, 6.0]), np.array([5.0, 7.0])], center=False, scale=False),
            ([1, 1], [0, 0], [4, 6], [5, 7], 0.01, 1e-3),
        ),
    ],
    "my_channels_last_layer_norm": [
        # the two channels of each place: mean 2 and variance 1, then mean 5 and variance 1
        (
            case(np.array([[[1, 6], [3, 4]]]), np.array([2, 10]), np.array([100, 200]), "NCL", eps=3),
            [[[99, 101], [205, 195]]],
        ),
        (case(np.array([[1, 3]]), np.array([2, 10]), np.array([100, 200]), "NC", eps=3), [[99, 205]]),
    ],
    "my_port_flattened_dense": [
        # inputs of Keras: pixel 1 channels a b, pixel 2 channels a b; of PyTorch: channel a pixels 1 2, channel b
        (case(np.array([[1], [2], [3], [4]]), 2, 1, 2), [[1, 3, 2, 4]]),
        (case(np.array([[1, 5], [2, 6]]), 2, 1, 1), [[1, 2], [5, 6]]),
    ],
    # two of three units are 0 for both samples; then one of two is above 0 for both, then both are
    "my_diagnosis": [
        (case([np.array([[0, 0, 1], [0, 0, 2]])]), (1, "dead")),
        (case([np.array([[1, 0], [2, 3]])]), (0, "healthy")),
        (case([np.array([[1, 0], [0, 1]]), np.array([[1, 2], [2, 3]])]), (2, "always on")),
        # root mean squares 1, 10 and 101
        (case([size * np.array([[2, 0], [0, 0]]) for size in (1, 10, 101)]), (3, "exploding")),
    ],
    "my_cause": [
        (case(lambda parts: parts["a"] + parts["b"], {"a": 0.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "b"),
        (case(lambda parts: parts["a"] + parts["b"], {"a": 2.0, "b": 3.0}, {"a": 0.0, "b": 0.1}), "none"),
    ],
    "my_invariances": [
        (case(lambda x: x - x.mean(axis=1, keepdims=True), np.array([[1.0, 3], [5, 9]])), (False, True, False, True)),
        (case(lambda x: x / np.abs(x).max(), np.array([[1.0, 3], [5, 9]])), (True, False, False, False)),
    ],
    "my_batch_norm_layer": [
        # One batch: mean 3, variance 3.5, divisor 2. The running variance becomes 3.5 as well, so the divisor stays.
        (
            case(
                np.array([[[1.0], [2], [3], [6]]]),
                np.array([[1.0], [0], [0], [0]]),
                np.array([[4 + 22.5 / 11]]),
                np.array([[3.0]]),
                np.array([2.0]),
                np.array([1.0]),
                momentum=7.5 / 11,
                eps=0.5,
            ),
            (
                [[-1], [0], [1], [4]],
                [[0.5], [-0.375], [-0.25], [0.125]],
                [-1],
                [1],
                [-2],
                [2],
                [22.5 / 11],
                [3.5],
                [[5]],
                [[3]],
                [22.5 / 11],
                [3.5],
                [[3]],
                [[-1], [0], [1], [4]],
            ),
        )
    ],
    # the loss is the mean of (x w - 1)², at w = 0
    "my_gradient_accumulation": [
        (case(lambda x, t: -2 * x.T @ t / len(x), np.array([[1.0], [2], [3]]), np.ones(3), 2), [-4])
    ],
    "my_unscaled_step": [
        (case(np.float32([1, 2]), np.float16([8, -4]), 4.0, 0.5), ([0, 2.5], 4)),
        (case(np.float32([1, 2]), np.float16([np.inf, -4]), 4.0, 0.5), ([1, 2], 2)),
    ],
}
