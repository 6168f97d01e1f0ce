"""Lesson 10: a pre-norm block, the constants of DeepNorm, and attention with QK-norm."""

import numpy as np

from .checker import Exercise, Mistake, WrongKind, case
from .steps import forms, mistakes_with

# ------------------------------------------------------------------------------------- my_pre_norm_block


def _pre_norm_block(x, attention, mlp, norm_1, norm_2):
    """x (T, D); the other four are functions of an array of this shape."""
    h = x + attention(norm_1(x))
    return h + mlp(norm_2(h))


def _random_norm(rng, features):
    """A layer norm with its own gamma and beta, so that no two norms are alike and none undoes the other."""
    gamma = rng.uniform(0.5, 2.0, features)
    beta = rng.uniform(-1.0, 1.0, features)

    def norm(x):
        centered = x - x.mean(axis=-1, keepdims=True)
        return gamma * centered / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) + beta

    return norm


def _random_attention(rng, tokens, features):
    """Every token gets a mixture of the tokens up to itself."""
    mixture = np.tril(rng.uniform(0.1, 1.0, (tokens, tokens)))
    mixture /= mixture.sum(axis=1, keepdims=True)
    weight = rng.standard_normal((features, features))
    return lambda x: mixture @ x @ weight


def _random_mlp(rng, features):
    weight_1 = rng.standard_normal((features, 2 * features))
    weight_2 = rng.standard_normal((2 * features, features))
    return lambda x: np.tanh(x @ weight_1) @ weight_2


def _of_one_array(name, function):
    """The function, with a plain message for who hands it something else."""

    def checked(*args):
        if len(args) != 1 or not isinstance(args[0], np.ndarray):
            raise WrongKind(f"{name} takes one array: write {name}(...), with what it reads between the parentheses")
        return function(args[0])

    return checked


def _block_cases(rng):
    def one(tokens, features, *, scale=1.0, mean=0.0, label):
        x = mean + scale * rng.standard_normal((tokens, features))
        parts = {
            "attention": _random_attention(rng, tokens, features),
            "mlp": _random_mlp(rng, features),
            "norm_1": _random_norm(rng, features),
            "norm_2": _random_norm(rng, features),
        }
        return case(x, *(_of_one_array(name, function) for name, function in parts.items()), label=label)

    return [
        one(5, 3, label="five tokens"),
        one(4, 4, label="square x"),
        one(3, 6, scale=20.0, label="large x"),
        one(4, 5, mean=3.0, label="mean 3"),
        one(1, 4, label="one token"),
    ]


def _block_in_a_loop(x, attention, mlp, norm_1, norm_2):
    for norm, branch in [(norm_1, attention), (norm_2, mlp)]:
        x = x + branch(norm(x))
    return x


def _block_by_branches(x, attention, mlp, norm_1, norm_2):
    first = attention(norm_1(np.array(x)))
    second = mlp(norm_2(np.add(first, x)))
    return np.sum([x, first, second], axis=0)


SKIP_FROM_NORM = "the skip path carries the normalized numbers; only the branch sees them, the skip path keeps x"

# (x, attention, mlp, norm_1, norm_2) -> the output
BLOCKS = [
    (
        lambda x, a, m, n1, n2: n2(n1(x + a(x)) + m(n1(x + a(x)))),
        "your norms stand after the sums, on the skip path; that is post-norm, here each stands before its branch",
    ),
    (
        lambda x, a, m, n1, n2: x + n1(a(x)) + m(n2(x + n1(a(x)))),
        "your first norm stands behind attention; here it stands before",
    ),
    (
        lambda x, a, m, n1, n2: x + n1(a(x)) + n2(m(x + n1(a(x)))),
        "your norms stand behind the branches, as in OLMo 2; here each stands before its branch",
    ),
    (
        lambda x, a, m, n1, n2: x + n2(a(n1(x))) + m(n2(x + n2(a(n1(x))))),
        "the output of attention is normalized too; here only its input is",
    ),
    (
        lambda x, a, m, n1, n2: x + n1(a(n1(x))) + n2(m(n2(x + n1(a(n1(x)))))),
        "you normalized before and behind each branch, as in Peri-LN; here only before",
    ),
    (
        lambda x, a, m, n1, n2: n2(n1(x) + a(n1(x))) + m(n2(n1(x) + a(n1(x)))),
        f"in both halves {SKIP_FROM_NORM}",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + n2(m(x + a(n1(x)))),
        "your second norm stands behind the MLP; here it stands before",
    ),
    (
        lambda x, a, m, n1, n2: n1(x + a(n1(x))) + m(n2(n1(x + a(n1(x))))),
        "the first sum is normalized, too; norm_1 stands before attention and nowhere else",
    ),
    (
        lambda x, a, m, n1, n2: x + n1(x) + a(n1(x)) + m(n2(x + n1(x) + a(n1(x)))),
        "the normalized x is added to the stream beside x; only attention reads it",
    ),
    (
        lambda x, a, m, n1, n2: n1(x) + a(n1(x)) + m(n2(n1(x) + a(n1(x)))),
        f"in the first half {SKIP_FROM_NORM}",
    ),
    (
        lambda x, a, m, n1, n2: n2(x + a(n1(x))) + m(n2(x + a(n1(x)))),
        "in the second half the skip path carries the normalized numbers; it keeps the sum of x and attention",
    ),
    (
        lambda x, a, m, n1, n2: m(n2(a(n1(x)))),
        "there is no skip path; add x to what attention gives, and that sum to what the MLP gives",
    ),
    (
        lambda x, a, m, n1, n2: x + m(n2(a(n1(x)))),
        "one skip path leads around both branches; each branch has a sum of its own",
    ),
    (
        lambda x, a, m, n1, n2: x * a(n1(x)) * m(n2(x * a(n1(x)))),
        "you multiplied where the paths meet; they are added",
    ),
    (
        lambda x, a, m, n1, n2: m(n2(x + a(n1(x)))),
        "the second skip path is missing; add the sum of x and attention to what the MLP gives",
    ),
    (
        lambda x, a, m, n1, n2: a(n1(x)) + m(n2(a(n1(x)))),
        "the first skip path is missing; add x to what attention gives",
    ),
    (
        lambda x, a, m, n1, n2: x + m(n2(x + a(n1(x)))),
        "your second skip path begins at x again, and so attention is lost from it; it begins at x + attention",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n2(x)),
        "both branches read x, side by side; the MLP reads what attention has added to the stream",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n2(a(n1(x)))),
        "the MLP reads the output of attention alone; it reads the stream, x + attention",
    ),
    (
        lambda x, a, m, n1, n2: x + (x + a(n1(x))) + m(n2(x + a(n1(x)))),
        "x is added twice; the sum x + attention has it already",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)),
        "the MLP is missing; the block has two branches",
    ),
    (
        lambda x, a, m, n1, n2: x + m(n2(x)),
        "attention is missing; the block has two branches",
    ),
    (
        lambda x, a, m, n1, n2: x + a(x) + m(x + a(x)),
        "there is no norm; each branch has its own before it",
    ),
    (
        lambda x, a, m, n1, n2: x + a(x) + m(n2(x + a(x))),
        "norm_1 is missing; it stands before attention",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(x + a(n1(x))),
        "norm_2 is missing; it stands before the MLP",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n1(x + a(n1(x)))),
        "norm_1 stands before both branches; each norm has its own gamma and beta, so the MLP takes norm_2",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n2(x)) + m(n2(x + a(n2(x)))),
        "norm_2 stands before both branches; each norm has its own gamma and beta, so attention takes norm_1",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n2(x)) + m(n1(x + a(n2(x)))),
        "the two norms have changed places; norm_1 belongs to attention, norm_2 to the MLP",
    ),
    (
        lambda x, a, m, n1, n2: x + m(n2(x)) + a(n1(x + m(n2(x)))),
        "the MLP comes first; attention does, with norm_1",
    ),
    (
        lambda x, a, m, n1, n2: x + m(n1(x)) + a(n2(x + m(n1(x)))),
        "the branches have changed places; attention comes first, then the MLP",
    ),
    (
        lambda x, a, m, n1, n2: x - a(n1(x)) - m(n2(x - a(n1(x)))),
        "you subtracted what the branches give; it is added",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n1(x)),
        "the MLP reads norm_1(x), like attention; it reads norm_2 of the stream, x + attention",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n2(n1(x))),
        "the MLP reads the normalized x; it reads norm_2 of the stream, x + attention",
    ),
    (
        lambda x, a, m, n1, n2: n2(x + a(n1(x)) + m(x + a(n1(x)))),
        "in the second half the norm stands behind the sum, which is post-norm; norm_2 stands before the MLP",
    ),
    (
        lambda x, a, m, n1, n2: n1(x + a(x)) + m(n2(n1(x + a(x)))),
        "in the first half the norm stands behind the sum, which is post-norm; norm_1 stands before attention",
    ),
    (
        lambda x, a, m, n1, n2: x + a(n1(x)) + m(n2(x + a(x))),
        "attention is called twice, and the second time it reads x itself; keep the first sum, and use it again",
    ),
    (
        lambda x, a, m, n1, n2: n2(n1(x) + a(x)) + m(n1(x) + a(x)),
        "the norms stand on the skip path, and the branches read the stream as it is; it is the other way round",
    ),
    (
        lambda x, a, m, n1, n2: ((x + a(n1(x))) / 2 + m(n2((x + a(n1(x))) / 2))) / 2,
        "you averaged where the paths meet; they are added",
    ),
    (
        lambda x, a, m, n1, n2: x + n1(x + a(n1(x))) + m(n2(x + n1(x + a(n1(x))))),
        "a norm stands on the sum of x and attention, too; only what the branches read is normalized",
    ),
]


def _plain_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def _normed_at_the_end(x, attention, mlp, norm_1, norm_2):
    return norm_2(_pre_norm_block(x, attention, mlp, norm_1, norm_2))


def _post_norm_after_pre_norm(x, attention, mlp, norm_1, norm_2):
    h = norm_1(x + attention(norm_1(x)))
    return norm_2(h + mlp(norm_2(h)))


PRE_NORM_BLOCK = Exercise(
    name="my_pre_norm_block",
    signature="my_pre_norm_block(x, attention, mlp, norm_1, norm_2)",
    reference=_pre_norm_block,
    cases=_block_cases,
    tol=1e-5,
    variants=[_block_in_a_loop, _block_by_branches],
    mistakes=[
        *mistakes_with(lambda block: block, BLOCKS),
        *forms(
            "the last sum is normalized; a pre-norm block leaves the stream as it is, only the stack ends in a norm",
            _normed_at_the_end,
            lambda x, a, m, n1, n2: n1(_pre_norm_block(x, a, m, n1, n2)),
        ),
        Mistake(
            lambda x, a, m, n1, n2: _pre_norm_block(x, a, m, _plain_norm, _plain_norm),
            "your norms have no gamma and beta; call norm_1 and norm_2, which have their own",
        ),
        Mistake(
            _post_norm_after_pre_norm,
            "you normalized before the branches and after the sums; here only before the branches",
        ),
    ],
)

# ---------------------------------------------------------------------------------- my_deepnorm_constants


def _deepnorm_constants(layers, sublayers=2):
    """(alpha, beta) of a stack with layers * sublayers residual sums."""
    sums = layers * sublayers
    return sums**0.25, (4 * sums) ** -0.25


def _deepnorm_cases(rng):
    return [
        case(6, label="six layers"),
        case(1, label="one layer"),
        case(18, 3, label="decoder of an encoder-decoder"),
        case(100, 2, label="hundred layers"),
        case(32, 1, label="this lesson's stack"),
        case(int(rng.integers(200, 400)), 2, label="deep"),
    ]


def _as_in_the_paper(layers, sublayers=2):
    """(2N)^(1/4) and (8N)^(-1/4) for two sub-layers; (3M)^(1/4) and (12M)^(-1/4) for three."""
    return np.sqrt(np.sqrt(sublayers * layers)), 1 / np.power(4 * sublayers * layers, 1 / 4)


def _by_logarithms(layers, sublayers=2):
    log = (np.log(layers) + np.log(sublayers)) / 4
    return [np.exp(log), np.exp(-log) / np.sqrt(2)]


# (layers, sublayers) -> (alpha, beta); k is the number of sums
CONSTANTS = [
    (
        lambda n, s: (n**0.25, (4 * n) ** -0.25),
        "you counted layers; every sub-layer adds to the stream, and a layer has `sublayers` of them",
    ),
    (
        lambda n, s: ((2 * n) ** 0.25, (8 * n) ** -0.25),
        "you always took 2 sub-layers for each layer; take as many as `sublayers` says",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (8 * n) ** -0.25),
        "your beta always takes 2 sub-layers for each layer; the 8 of (8N) is 4 times `sublayers`",
    ),
    (
        lambda n, s: ((2 * n) ** 0.25, (4 * s * n) ** -0.25),
        "your alpha always takes 2 sub-layers for each layer; take as many as `sublayers` says",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (8 * s * n) ** -0.25),
        "your beta has 8 times all sub-layers; the 8 of (8N) has the 2 sub-layers of a layer in it, so 4 is left",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (4 * n) ** -0.25),
        "your beta counts layers; it has 4 times the number of sub-layers",
    ),
    (
        lambda n, s: (n**0.25, (4 * s * n) ** -0.25),
        "your alpha counts layers; take the number of sub-layers",
    ),
    (
        lambda n, s: ((s * n) ** -0.25, (4 * s * n) ** -0.25),
        "your alpha is below 1 and would weaken the skip path; its exponent is positive",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (4 * s * n) ** 0.25),
        "your beta is above 1 and would enlarge the weights; its exponent is negative",
    ),
    (
        lambda n, s: ((s * n) ** -0.25, (4 * s * n) ** 0.25),
        "both exponents have the wrong sign: alpha grows with depth, beta shrinks",
    ),
    (
        lambda n, s: ((4 * s * n) ** -0.25, (s * n) ** 0.25),
        "alpha and beta have changed places; return alpha first",
    ),
    (
        lambda n, s: ((4 * s * n) ** 0.25, (s * n) ** -0.25),
        "the 4 is in alpha; it belongs to beta",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (s * n) ** -0.25),
        "your beta is 1 / alpha; the 4 under its root is missing",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, 4 * (s * n) ** -0.25),
        "the 4 of your beta stands outside the power; put 4 · sub-layers in parentheses",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, 0.25 * (s * n) ** -0.25),
        "the 4 of your beta stands outside the power; put 4 · sub-layers in parentheses",
    ),
    (
        lambda n, s: ((4 * s * n) ** 0.25, (4 * s * n) ** -0.25),
        "your alpha has the 4 of beta under its root",
    ),
    (
        lambda n, s: ((s * n) ** 0.5, (4 * s * n) ** -0.5),
        "you took square roots; both exponents are quarters",
    ),
    (
        lambda n, s: ((s * n) ** 0.125, (4 * s * n) ** -0.125),
        "you took eighth roots; both exponents are quarters",
    ),
    (
        lambda n, s: ((s * n) ** (1 / 16), (4 * s * n) ** (-1 / 16)),
        "the exponent 1/16 belongs to the encoder of an encoder-decoder; here both are quarters",
    ),
    (
        lambda n, s: (0.81 * (n**4 * s) ** (1 / 16), 0.87 * (n**4 * s) ** (-1 / 16)),
        "0.81 and 0.87 belong to the encoder of an encoder-decoder; here alpha and beta come from one number of sums",
    ),
    (
        lambda n, s: ((s * n) ** 4.0, (4 * s * n) ** -4.0),
        "you took the fourth power; the exponents are quarters, 1/4 and -1/4",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, 0.5 * (s * n) ** -0.25),
        "your beta is 1 / (2 alpha); the 4 stands under the fourth root, so it divides by the root of 2",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, 1 / (4 * s * n)),
        "your beta is 1 / (4K); the fourth root is missing",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (4 * (s * n) ** 0.25) ** -0.25),
        "you put alpha into beta; under its fourth root stands 4 times the number of sums",
    ),
    (
        lambda n, s: ((s * n) ** 0.1, (4 * s * n) ** -0.1),
        "the exponent 1/10 is a misprint that circulates; both exponents are quarters",
    ),
    (
        lambda n, s: ((s * n) ** 1 / 4, (4 * s * n) ** -1 / 4),
        "x**1/4 is x / 4, since a power is computed before a quotient; write x**0.25 or x ** (1 / 4)",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (4 * s * n) ** -1 / 4),
        "x**-1/4 is 1 / (4x), since a power is computed before a quotient; write x**-0.25",
    ),
    (
        lambda n, s: (n * s**0.25, 4 * s * n**-0.25),
        "only the last factor is raised to the power; put the product in parentheses",
    ),
    (
        lambda n, s: (s * n**0.25, (4 * s) * n**-0.25),
        "only the last factor is raised to the power; put the product in parentheses",
    ),
    (
        lambda n, s: (s * n**0.25, (4 * s * n) ** -0.25),
        "in your alpha only the number of layers is raised to the power; put the product in parentheses",
    ),
    (
        lambda n, s: ((s * n) ** (1 // 4), (4 * s * n) ** -(1 // 4)),
        "1 // 4 is 0 in Python, and every number to the power 0 is 1; write 1 / 4",
    ),
    (
        lambda n, s: (float(n**s) ** 0.25, (4 * float(n**s)) ** -0.25),
        "you raised the layers to the power of the sub-layers; there are layers times sublayers of them",
    ),
    (
        lambda n, s: ((n / s) ** 0.25, (4 * n / s) ** -0.25),
        "you divided the layers by the sub-layers; there are layers times sublayers of them",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, -((4 * s * n) ** 0.25)),
        "your beta is negative; the minus belongs to the exponent",
    ),
    (
        lambda n, s: ((s + n) ** 0.25, (4 * (s + n)) ** -0.25),
        "you added the layers and their sub-layers; there are layers times sublayers of them",
    ),
    (
        lambda n, s: ((s * n) ** 0.25, (s * n) ** 0.25 * 0 + 1),
        "your beta is always 1; it shrinks the weights of the branches",
    ),
    (
        lambda n, s: (1.0, (4 * s * n) ** -0.25),
        "your alpha is always 1; it strengthens the skip path",
    ),
]


def _with_default(constants):
    return lambda layers, sublayers=2: constants(layers, sublayers)


DEEPNORM_CONSTANTS = Exercise(
    name="my_deepnorm_constants",
    signature="my_deepnorm_constants(layers, sublayers=2)",
    reference=_deepnorm_constants,
    cases=_deepnorm_cases,
    results=("alpha", "beta"),
    tol=1e-6,
    variants=[_as_in_the_paper, _by_logarithms],
    mistakes=[
        *mistakes_with(_with_default, CONSTANTS),
        Mistake(
            lambda layers, sublayers=2: _deepnorm_constants(layers, sublayers)[0],
            "alpha is right; return beta too",
        ),
    ],
)

# ------------------------------------------------------------------------------- my_qk_norm_attention


def _rms(x, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)


def _scaled(dots, q, v):
    return dots / np.sqrt(q.shape[-1])


def _causal(scores):
    return np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)


def _softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _mix(weights, v):
    return weights @ v


def _both(q, k, eps):
    return _rms(q, eps), _rms(k, eps)


def _dots(q, k):
    return q @ k.T


def _attention(*, norms=_both, dots=_dots, scale=_scaled, mask=_causal, softmax=_softmax, mix=_mix):
    """Causal attention with QK-norm, with a step replaced."""

    def attempt(q, k, v, eps=1e-6):
        with np.errstate(all="ignore"):
            q_hat, k_hat = norms(q, k, eps)
            return mix(softmax(mask(scale(dots(q_hat, k_hat), q, v))), v)

    return attempt


def _qk_norm_attention(q, k, v, eps=1e-6):
    """q, k (T, D), v (T, E): token t sees tokens 0 to t; the result is (T, E)."""
    return _attention()(q, k, v, eps)


def _attention_cases(rng):
    def one(tokens, features, outputs, *, scale=1.0, mean=0.0, label, **kwargs):
        q, k = mean + scale * rng.standard_normal((2, tokens, features))
        return case(q, k, rng.standard_normal((tokens, outputs)), label=label, **kwargs)

    return [
        one(6, 4, 3, mean=0.5, label="six tokens"),
        one(4, 4, 4, mean=0.5, label="square q, k and v"),
        one(5, 3, 7, scale=30.0, mean=10.0, label="large q and k"),
        one(5, 8, 2, scale=2e-3, label="tiny q and k"),
        one(3, 5, 4, mean=1.0, eps=0.5, label="large eps"),
        one(1, 4, 3, label="one token"),
    ]


def _token_by_token(q, k, v, eps=1e-6):
    out = np.empty((len(q), v.shape[1]))
    for t in range(len(q)):
        scores = []
        for s in range(t + 1):
            lengths = (q[t] @ q[t] / q.shape[1] + eps) * (k[s] @ k[s] / q.shape[1] + eps)
            scores.append(q[t] @ k[s] / (lengths * q.shape[1]) ** 0.5)
        powers = np.exp(scores)
        out[t] = powers / powers.sum() @ v[: t + 1]
    return out


def _large_negative_mask(q, k, v, eps=1e-6):
    q_hat = q / (np.einsum("td,td->t", q, q) / q.shape[1] + eps)[:, None] ** 0.5
    k_hat = k / (np.einsum("td,td->t", k, k) / k.shape[1] + eps)[:, None] ** 0.5
    scores = np.einsum("td,sd->ts", q_hat, k_hat) * q.shape[1] ** -0.5
    powers = np.exp(scores - 1e9 * np.triu(np.ones(scores.shape), 1))
    return np.einsum("ts,se->te", powers, v) / powers.sum(axis=1, keepdims=True)


def _mask_after(scores):
    """Softmax over all tokens; the later ones are set to 0 afterwards."""
    return np.tril(_softmax(scores))


def _infinite_after(scores):
    return np.where(np.tri(len(scores), dtype=bool), _softmax(scores), -np.inf)


def _sees_nothing_at_first(q, k, v, eps=1e-6):
    """A loop over range(t); the sum over no tokens is 0."""
    out = np.zeros((len(q), v.shape[1]))
    for t in range(1, len(q)):
        scores = _scaled(_rms(q[[t]], eps) @ _rms(k[:t], eps).T, q, v)
        out[t] = _softmax(scores)[0] @ v[:t]
    return out


def _to_length_1(q, k, eps):
    return q / np.linalg.norm(q, axis=-1, keepdims=True), k / np.linalg.norm(k, axis=-1, keepdims=True)


# (q, k, eps) -> the normalized q and k
QK_NORMS = [
    (lambda q, k, eps: (q, k), "queries and keys are not normalized"),
    (lambda q, k, eps: (_rms(q, eps), k), "only the queries are normalized; the keys are, too"),
    (lambda q, k, eps: (q, _rms(k, eps)), "only the keys are normalized; the queries are, too"),
    (
        lambda q, k, eps: (
            q / np.sqrt((q**2).sum(-1, keepdims=True) + eps),
            k / np.sqrt((k**2).sum(-1, keepdims=True) + eps),
        ),
        "you divided by the length; the root mean square has the mean under the root, not the sum",
    ),
    (
        lambda q, k, eps: (q / np.sqrt(q**2 + eps), k / np.sqrt(k**2 + eps)),
        "you squared but did not average; the root mean square of a token is one number",
    ),
    (
        lambda q, k, eps: (_rms(q, eps), k / np.sqrt(np.mean(q**2, axis=-1, keepdims=True) + eps)),
        "you divided the keys by the root mean square of the queries; the keys have their own",
    ),
    (
        _to_length_1,
        "you divided by the length, without eps; under the root belongs the mean of the squares, plus eps",
    ),
    (
        lambda q, k, eps: tuple(
            (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + eps) for a in (q, k)
        ),
        "you subtracted the mean; that is layer norm, RMSNorm does not",
    ),
    (
        lambda q, k, eps: tuple(a / np.sqrt((a**2).mean(0) + eps) for a in (q, k)),
        "your mean of squares runs over the tokens; it runs over the features of one token",
    ),
    (
        lambda q, k, eps: tuple(a / np.sqrt((a**2).mean() + eps) for a in (q, k)),
        "you took one root mean square for all tokens; each token has its own",
    ),
    (
        lambda q, k, eps: tuple(a / np.sqrt((a**2).mean(-1, keepdims=True)) for a in (q, k)),
        "you left out eps; it is added to the mean square, under the root",
    ),
    (
        lambda q, k, eps: tuple(a / (np.sqrt((a**2).mean(-1, keepdims=True)) + eps) for a in (q, k)),
        "your eps is outside the root; it is added to the mean square",
    ),
    (
        lambda q, k, eps: (_rms(q, 1e-6), _rms(k, 1e-6)),
        "you ignored the argument eps and always used 1e-6",
    ),
    (
        lambda q, k, eps: (_rms(q, 1e-5), _rms(k, 1e-5)),
        "you ignored the argument eps and always used 1e-5",
    ),
    (
        lambda q, k, eps: tuple(a / np.sqrt(a.mean(-1, keepdims=True) ** 2 + eps) for a in (q, k)),
        "you squared the mean; it is the mean of the squares: square first, then average",
    ),
    (
        lambda q, k, eps: tuple(a / ((a**2).mean(-1, keepdims=True) + eps) for a in (q, k)),
        "you divided by the mean square; take its root",
    ),
]

# (dot products, q, v) -> scores
SCALES = [
    (lambda dots, q, v: dots, "you did not divide the dot products by the root of the number of features of q"),
    (lambda dots, q, v: dots / q.shape[-1], "you divided by the number of features of q; take its root"),
    (
        lambda dots, q, v: dots / q.shape[-1] ** 1 / 2,
        "D**1/2 is not the root, since a power is computed before a quotient; write np.sqrt(D)",
    ),
    (
        lambda dots, q, v: dots * np.sqrt(q.shape[-1]),
        "you multiplied by the root of the number of features; divide by it",
    ),
    (
        lambda dots, q, v: dots / np.sqrt(len(q)),
        "you divided by the root of the number of tokens; take the features of q",
    ),
    (
        lambda dots, q, v: dots / np.sqrt(v.shape[-1]),
        "you divided by the root of the number of features of v; take those of q",
    ),
]

# scores -> masked scores
MASKS = [
    (lambda scores: scores, "the mask is missing: tokens see what comes after them"),
    (
        lambda scores: np.where(np.tri(len(scores), dtype=bool).T, scores, -np.inf),
        "your mask is turned round: each token sees itself and what comes after; it sees itself and what came before",
    ),
    (
        lambda scores: np.where(np.tri(len(scores), k=-1, dtype=bool), scores, -np.inf),
        "your mask hides the token itself, so the first one sees nothing; a token sees itself, too",
    ),
    (
        lambda scores: np.where(np.tri(len(scores), k=1, dtype=bool), scores, -np.inf),
        "your mask lets each token see one token too many, the next one",
    ),
    (
        lambda scores: np.where(np.tri(len(scores), dtype=bool), -np.inf, scores),
        "your mask hides what a token may see and shows the rest; np.where takes first what stands where it is True",
    ),
    (
        np.tril,
        "your mask sets scores to 0, and exp(0) is 1; set them to minus infinity before the softmax",
    ),
]

# scores -> weights
SOFTMAXES = [
    (lambda scores: scores, "the softmax is missing"),
    (
        lambda scores: np.exp(scores),
        "you took exp but did not divide by the sum, so the weights of a token do not sum to 1",
    ),
    (
        lambda scores: np.exp(scores) / np.exp(scores).sum(axis=0),
        "your softmax divides by the sums of the columns; the weights of each token, a row, sum to 1",
    ),
    (
        lambda scores: np.exp(scores) / np.exp(scores).sum(axis=1),
        "the sums of your rows have lost an axis and line up with the columns; keep it with keepdims=True",
    ),
    (
        lambda scores: np.exp(scores) / np.exp(scores).sum(),
        "your softmax divides by one sum for all tokens; each row sums to 1",
    ),
]

QK_NORM_ATTENTION = Exercise(
    name="my_qk_norm_attention",
    signature="my_qk_norm_attention(q, k, v, eps=1e-6)",
    reference=_qk_norm_attention,
    cases=_attention_cases,
    tol=1e-5,
    variants=[_token_by_token, _large_negative_mask],
    mistakes=[
        *mistakes_with(lambda step: _attention(norms=step), QK_NORMS),
        *mistakes_with(lambda step: _attention(scale=step), SCALES),
        *mistakes_with(lambda step: _attention(mask=step), MASKS),
        *mistakes_with(lambda step: _attention(softmax=step), SOFTMAXES),
        Mistake(
            _attention(mask=lambda scores: scores, softmax=_mask_after),
            "you masked after the softmax, so the weights that are left do not sum to 1; mask the scores before it",
        ),
        Mistake(
            _attention(mask=lambda scores: scores, softmax=_infinite_after),
            "you put minus infinity into the weights; it belongs into the scores, before the softmax",
        ),
        Mistake(
            _sees_nothing_at_first,
            "your tokens see only what came before them, and the first one nothing; a token sees itself, too",
        ),
        Mistake(
            _attention(norms=lambda q, k, eps: _both(q / np.sqrt(q.shape[1]), k, eps), scale=lambda dots, q, v: dots),
            "you divided by the root of D before the norm, which undoes it; divide the scores",
        ),
        Mistake(
            lambda q, k, v, eps=1e-6: _qk_norm_attention(q, k, _rms(v, eps), eps),
            "the values are normalized, too; QK-norm normalizes queries and keys only",
        ),
        Mistake(
            _attention(norms=_to_length_1, scale=lambda dots, q, v: dots),
            "your queries and keys have length 1, and you did not scale, as in the first paper on it; here they have a "
            "root mean square of 1, and the scores are divided by the root of D",
        ),
        Mistake(
            _attention(dots=lambda q, k: k @ q.T),
            "your scores are transposed: rows belong to queries, so they are q · kᵀ",
        ),
        Mistake(
            _attention(norms=lambda q, k, eps: (q, k), scale=lambda dots, q, v: _rms(dots, 1e-6)),
            "you normalized the scores; the norm belongs on the queries and the keys, before their dot products",
        ),
        Mistake(
            _attention(mix=lambda weights, v: weights),
            "you returned the weights; multiply them by v",
        ),
        Mistake(
            _attention(mix=lambda weights, v: weights.T @ v),
            "your weights are transposed; their rows belong to the tokens of the result",
        ),
    ],
)

EXERCISES = [PRE_NORM_BLOCK, DEEPNORM_CONSTANTS, QK_NORM_ATTENTION]
