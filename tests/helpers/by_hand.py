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
