"""Cases worked by hand, by the name of the exercise: they move lesson by lesson into `Exercise(worked=[...])`."""

import numpy as np

from helpers.exercises import case

SMALL = np.sqrt(3e-5)  # -SMALL and SMALL have variance 3e-5, with the usual eps 4e-5, and become -HALF and HALF
HALF = np.sqrt(3 / 4)
PAIR = np.array([[-SMALL], [SMALL]])
ONE, NONE = np.ones(1), np.zeros(1)
TALL = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


# name of the exercise -> calls and their answers. 1 and 3 have mean 2 and variance 1, 5 and 7 mean 6 and variance 1;
# eps=3 makes the root 2.
BY_HAND = {
    "my_standardize": [(case(np.array([2, 4, 4, 4, 5, 5, 7, 9])), [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2])],
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
    "my_weight_norm": [(case(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([10.0, 3.0])), [[6, 8], [0, 3]])],
    "my_power_iteration": [
        # W^T u is (2, 1); W v is (4, 1, 0) / sqrt(5)
        (
            case(TALL, np.array([1.0, 1.0, 5.0]), 1),
            (np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17), np.array([2, 1]) / np.sqrt(5)),
        ),
        (
            case(TALL, np.array([1.0, 1.0, 5.0]), 2),
            (np.sqrt(257 / 65), np.array([16, 1, 0]) / np.sqrt(257), np.array([8, 1]) / np.sqrt(65)),
        ),
    ],
    "my_spectral_norm": [
        (
            case(TALL[None], np.array([1.0, 1.0, 5.0])),
            (TALL / np.sqrt(17 / 5), np.array([4, 1, 0]) / np.sqrt(17)),
        ),
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
    "my_group_norm": [
        # two groups of two channels with one pixel: 1 and 3 become -0.5 and 0.5, 5 and 7 too
        (
            case(np.array([1, 3, 5, 7]).reshape(1, 4, 1, 1), 2, *np.array([[2, 4, 6, 8], [10, 20, 30, 40]]), eps=3),
            np.reshape([9, 22, 27, 44], (1, 4, 1, 1)),
        ),
        # two channels of two pixels in one group: mean 3, variance 3.5
        (
            case(np.array([[[[1, 2]], [[3, 6]]]]), 1, np.array([1, 2]), np.array([10, 20]), eps=0.5),
            [[[[9, 9.5]], [[20, 23]]]],
        ),
        (case(PAIR.reshape(1, 1, 1, 2), 1, ONE, NONE), [[[[-HALF, HALF]]]]),
    ],
    "my_adain": [
        # content: mean 2, root of 1 + 3; style: mean 10, root of 1 + 3 and mean 8, root of 13 + 3
        (
            case(
                np.array([[[1, 3]], [[1, 3]]]), np.array([[[9], [11]], [[8 - np.sqrt(13)], [8 + np.sqrt(13)]]]), eps=3
            ),
            [[[9, 11]], [[6, 10]]],
        ),
        # sqrt(5) times PAIR has variance 15e-5, with the usual eps 16e-5
        (
            case(PAIR.reshape(1, 1, 2), 1 + np.sqrt(5) * PAIR[None]),
            [[[1 - np.sqrt(16e-5) * HALF, 1 + np.sqrt(16e-5) * HALF]]],
        ),
    ],
    "my_weight_standardize": [
        (case(np.array([[1, 3], [5, 7]]), np.array([2, 10]), eps=3), [[-1, 1], [-5, 5]]),
        (case(np.array([[[[1, 2]], [[3, 6]]]]), np.array([4]), eps=0.5), [[[[-4, -2]], [[0, 6]]]]),
        (case(PAIR.T, ONE), [[-HALF, HALF]]),
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
    "my_scaled_branch_backward": [
        (
            case(np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]), np.array([10, 0])),
            ([[1, 2], [3, 4]], [[10, 0], [30, 0]], [26, 44]),
        ),
    ],
    # means 2 and 2, standard deviations 1 and 2; afterwards all is 0
    "my_shift": [(case(np.array([[1, 0], [3, 4]]), np.zeros((2, 2))), [2, 1])],
    # g = (6, 8) is 10 long; at reach r the gradient is (1 - 2r) g, so it has moved by 2r times the length of g
    "my_gradient_change": [(case(lambda w: 2 * w, np.array([3.0, 4.0]), [0.5, 1.0]), 2)],
    # norm_1 gives 0 and 2, attention 0 and 20: the stream is 1 and 23; norm_2 gives 2 and 24, the MLP 4 and 48
    "my_pre_norm_block": [
        (
            case(np.array([[1.0, 3]]), lambda x: 10 * x, lambda x: 2 * x, lambda x: x - 1, lambda x: x + 1),
            [[5, 71]],
        ),
    ],
    # 16 and 81 sums: 64 and 324 are 4 · 2⁴ and 4 · 3⁴, and the fourth root of 4 is √2
    "my_deepnorm_constants": [
        (case(8), (2, 0.5**1.5)),
        (case(27, 3), (3, 0.5**0.5 / 3)),
    ],
    "my_qk_norm_attention": [
        # root 2: queries 1/2, keys 1/2 and -1/2, scores of the second token 1/4 and -1/4
        (
            case(np.ones((2, 1)), np.array([[1.0], [-1]]), np.array([[0.0], [1]]), eps=3),
            [[0], [1 / (1 + np.exp(0.5))]],
        ),
        # with the usual eps these are normalized to the root of 1/2: scores 1/2 and -1/2
        (
            case(1e-3 * np.ones((2, 1)), 1e-3 * np.array([[1.0], [-1]]), np.array([[0.0], [1]])),
            [[0], [1 / (1 + np.exp(1))]],
        ),
    ],
}
