"""Lesson 10: a pre-norm block, the constants of DeepNorm, and attention with QK-norm."""

import numpy as np

from ...exercises import Exercise, case
from ...norms import layer_norm


def _block_cases(rng):
    def one(tokens, features, *, scale=1.0, mean=0.0, label):
        x = mean + scale * rng.standard_normal((tokens, features))
        mixture = np.tril(rng.uniform(0.1, 1.0, (tokens, tokens)) / tokens)  # of the tokens up to itself
        w, w_1, w_2 = rng.standard_normal((3, features, features))
        affine = rng.uniform(0.5, 2.0, (2, 2, features))
        norms = [lambda x, g=g, b=b: layer_norm(x, g, -b).y for g, b in affine]
        return case(x, lambda x: mixture @ x @ w, lambda x: np.tanh(x @ w_1) @ w_2, *norms, label=label)

    return [
        one(5, 3, label="five tokens"),
        one(4, 4, label="square x"),
        one(3, 6, scale=20.0, label="large x"),
        one(4, 5, mean=3.0, label="mean 3"),
        one(1, 4, label="one token"),
    ]


BY_HAND = np.array([[1.0, 3]]), lambda x: 10 * x, lambda x: 2 * x, lambda x: x - 1, lambda x: x + 1
PRE_NORM_BLOCK = Exercise(
    solution="""
def my_pre_norm_block(x, attention, mlp, norm_1, norm_2):
    h = x + attention(norm_1(x))  # the half with attention
    return h + mlp(norm_2(h))  # the half with the MLP
""",
    cases=_block_cases,
    tol=1e-5,
    variants=[lambda x, f, g, norm_1, norm_2: (h := f(norm_1(x)) + x) + g(norm_2(h))],
    # norm_1 gives 0 and 2, attention 0 and 20: the stream is 1 and 23; norm_2 gives 2 and 24, the MLP 4 and 48
    worked=[(case(*BY_HAND, label="attention 10 x, MLP 2 x, norm_1 x - 1, norm_2 x + 1"), [[5, 71]])],
    mistakes={
        "h = norm_1(x + attention(x)); return norm_2(h + mlp(h))": (
            "your norms come after the sums; that is post-norm, here each comes before its branch"
        ),
        "norm_2(h) -> norm_2(x)": "both of your branches read x, side by side; the MLP reads the sum, x + attention",
        ("norm_2(h) -> norm_1(h)", "norm_1(x) -> norm_2(x)", "norm_1(x) -> norm_2(x)\nnorm_2(h) -> norm_1(h)"): (
            "norm_1 belongs to attention and norm_2 to the MLP; each has its own gamma and beta"
        ),
    },
)


def _deepnorm_cases(rng):
    return [
        case(6, label="six layers"),
        case(1, label="one layer"),
        case(18, 3, label="decoder of an encoder-decoder"),
        case(100, 2, label="hundred layers"),
        case(32, 1, label="this lesson's stack"),
        case(int(rng.integers(200, 400)), 2, label="deep"),
    ]


DEEPNORM_CONSTANTS = Exercise(
    solution="""
def my_deepnorm_constants(layers, sublayers=2):
    sums = layers * sublayers  # the number of sums
    alpha = sums**0.25  # the alpha
    beta = (4 * sums) ** -0.25  # the beta
    return alpha, beta
""",
    cases=_deepnorm_cases,
    results=("alpha", "beta"),
    variants=[lambda layers, k=2: (np.sqrt(np.sqrt(k * layers)), (k * layers) ** -0.25 / np.sqrt(2))],
    # 16 and 81 sums: 64 and 324 are 4 · 2⁴ and 4 · 3⁴, and the fourth root of 4 is √2
    worked=[(case(8), (2, 0.5**1.5)), (case(27, 3), (3, 0.5**0.5 / 3))],
    mistakes={
        ("layers * sublayers -> layers * 2", "4 * sums -> 8 * layers"): (
            "you always took 2 sub-layers a layer; take as many as `sublayers` says (the 8 of (8N) is 4 times 2)"
        ),
        ("4 * sums -> 8 * sums", "sums**0.25 -> (2 * sums) ** 0.25\n4 * sums -> 8 * sums"): (
            "the 8 of (8N) has the 2 sub-layers of a layer in it already, so 4 times the number of sums is left"
        ),
        "0.25  # the alpha -> (1 // 4)\n-0.25 -> (-1 // 4)": "1 // 4 is 0 and -1 // 4 is -1; write 1 / 4 and -1 / 4",
    },
)


def _attention_cases(rng):
    def one(tokens, features, outputs, *, scale=1.0, mean=0.0, **more):
        q, k = mean + scale * rng.standard_normal((2, tokens, features))
        return case(q, k, rng.standard_normal((tokens, outputs)), **more)

    return [
        one(6, 4, 3, mean=0.5, label="six tokens"),
        one(4, 4, 4, mean=0.5, label="square q, k and v"),
        one(5, 3, 7, scale=30.0, mean=10.0, label="large q and k"),
        one(5, 8, 2, scale=2e-3, label="tiny q and k"),
        one(3, 5, 4, mean=1.0, eps=0.5, label="large eps"),
        one(1, 4, 3, label="one token"),
    ]


QK_NORM_ATTENTION = Exercise(
    solution="""
def my_qk_norm_attention(q, k, v, eps=1e-6):
    q_hat = q / np.sqrt(np.mean(q**2, axis=1, keepdims=True) + eps)  # the queries
    k_hat = k / np.sqrt(np.mean(k**2, axis=1, keepdims=True) + eps)  # the keys
    scores = q_hat @ k_hat.T / np.sqrt(q.shape[1])  # the scores
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)  # the mask
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))  # the powers of e
    weights = powers / powers.sum(axis=1, keepdims=True)  # the softmax
    return weights @ v
""",
    cases=_attention_cases,
    tol=1e-5,
    variants=[
        "np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> scores - 1e9 * (np.tri(len(q)) == 0)\n"
        "scores - scores.max(axis=1, keepdims=True) -> scores"
    ],
    worked=[
        # root 2: queries 1/2, keys 1/2 and -1/2, scores of the second token 1/4 and -1/4
        (
            case(np.ones((2, 1)), np.array([[1.0], [-1]]), np.array([[0.0], [1]]), eps=3),
            [[0], [1 / (1 + np.exp(0.5))]],
        ),
    ],
    mistakes={
        "+ q = q - q.mean(axis=1, keepdims=True); k = k - k.mean(axis=1, keepdims=True)": (
            "you subtracted the mean; that is layer norm, RMSNorm does not"
        ),
        "axis=1, keepdims=True) + eps -2-> axis=0) + eps": (
            "your mean of squares runs over the tokens; take it over the features of one token"
        ),
        "dtype=bool) -> dtype=bool).T": (
            "your mask is reversed: each token sees itself and what comes after; it may see what came before"
        ),
        "np.tri(len(q), -> np.tri(len(q), k=-1,": "your mask hides the token itself; it sees itself, too",
        "np.tri(len(q), -> np.tri(len(q), k=1,": "your mask lets each token see one token too many, the next one",
        "np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> np.tril(scores)": (
            "your mask sets scores to 0, which softmax still gives weight; set them to minus infinity"
        ),
        "np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> scores\nweights @ v -> np.tril(weights) @ v": (
            "you masked after the softmax, so a token's weights do not sum to 1; mask the scores before it"
        ),
    },
)

EXERCISES = [PRE_NORM_BLOCK, DEEPNORM_CONSTANTS, QK_NORM_ATTENTION]
