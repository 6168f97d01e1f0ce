"""Lesson 10: a pre-norm block, the constants of DeepNorm, and attention with QK-norm."""

import numpy as np

from ...exercises import Exercise, WrongKind, case

# ------------------------------------------------------------------------------------- my_pre_norm_block


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
            raise WrongKind(
                f"{name} takes one array: write {name}(...) and put the array that it reads into the parentheses"
            )
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


PRE_NORM_BLOCK = Exercise(
    solution="""
def my_pre_norm_block(x, attention, mlp, norm_1, norm_2):
    h = x + attention(norm_1(x))
    return h + mlp(norm_2(h))
""",
    cases=_block_cases,
    tol=1e-5,
    variants=[_block_in_a_loop, _block_by_branches],
    mistakes={
        "h = norm_1(x + attention(x)); return norm_2(h + mlp(h))": (
            "your norms come after the sums; that is post-norm, here each comes before its branch"
        ),
        "attention(norm_1(x)) -> norm_1(attention(x))": ("your first norm comes after attention; here it comes before"),
        "attention(norm_1(x)) -> norm_1(attention(x))\nmlp(norm_2(h)) -> norm_2(mlp(h))": (
            "your norms come after the branches, as in OLMo 2; here each comes before its branch"
        ),
        "attention(norm_1(x)) -> norm_2(attention(norm_1(x)))": (
            "you normalized the output of attention too; here only its input is normalized"
        ),
        "attention(norm_1(x)) -> norm_1(attention(norm_1(x)))\nmlp(norm_2(h)) -> norm_2(mlp(norm_2(h)))": (
            "you normalized before and after each branch, as in Peri-LN; here only before"
        ),
        "x + attention -> norm_1(x) + attention\nh + mlp -> norm_2(h) + mlp": (
            "in both halves your skip path carries the normalized numbers; only the branch should see them, the skip "
            "path keeps x"
        ),
        "mlp(norm_2(h)) -> norm_2(mlp(h))": "your second norm comes after the MLP; here it comes before",
        "h = x + attention(norm_1(x)) -> h = norm_1(x + attention(norm_1(x)))": (
            "the first sum is normalized, too; norm_1 belongs before attention and nowhere else"
        ),
        "x + attention -> x + norm_1(x) + attention": (
            "you added the normalized x to the stream beside x; only attention should read it"
        ),
        "x + attention -> norm_1(x) + attention": (
            "in the first half your skip path carries the normalized numbers; only the branch should see them, the "
            "skip path keeps x"
        ),
        "h + mlp -> norm_2(h) + mlp": (
            "in the second half your skip path carries the normalized numbers; it should keep the sum of x and attention"
        ),
        "x + attention -> attention\nh + mlp -> mlp": (
            "there is no skip path; add x to what attention gives, and that sum to what the MLP gives"
        ),
        "x + attention -> attention\nh + mlp -> x + mlp": (
            "one skip path goes around both branches; each branch has a sum of its own"
        ),
        "x + attention -> x * attention\nh + mlp -> h * mlp": "you multiplied where the paths meet; they are added",
        "h + mlp -> mlp": "the second skip path is missing; add the sum of x and attention to what the MLP gives",
        "x + attention -> attention": "the first skip path is missing; add x to what attention gives",
        "return h + -> return x +": (
            "your second skip path begins at x again, and so attention is lost from it; it should begin at x + attention"
        ),
        "norm_2(h) -> norm_2(x)": (
            "both of your branches read x, side by side; the MLP should read the stream, x + attention"
        ),
        "norm_2(h) -> norm_2(attention(norm_1(x)))": (
            "your MLP reads the output of attention alone; it should read the stream, x + attention"
        ),
        "return h -> return x + h": "x is added twice; the sum x + attention has it already",
        "return h + mlp(norm_2(h)) -> return h": "the MLP is missing; the block has two branches",
        "x + attention(norm_1(x)) -> x": "attention is missing; the block has two branches",
        "norm_1(x) -> x\nnorm_2(h) -> h": "you left out both norms; each branch needs its own before it",
        "norm_1(x) -> x": "norm_1 is missing; it belongs before attention",
        "norm_2(h) -> h": "norm_2 is missing; it belongs before the MLP",
        "norm_2(h) -> norm_1(h)": (
            "norm_1 comes before both branches; each norm has its own gamma and beta, so the MLP takes norm_2"
        ),
        "norm_1(x) -> norm_2(x)": (
            "norm_2 comes before both branches; each norm has its own gamma and beta, so attention takes norm_1"
        ),
        "norm_1(x) -> norm_2(x)\nnorm_2(h) -> norm_1(h)": (
            "the two norms have changed places; norm_1 belongs to attention, norm_2 to the MLP"
        ),
        "attention(norm_1(x)) -> mlp(norm_2(x))\nh + mlp(norm_2(h)) -> h + attention(norm_1(h))": (
            "your MLP comes first; attention should, with norm_1"
        ),
        "attention(norm_1(x)) -> mlp(norm_1(x))\nh + mlp(norm_2(h)) -> h + attention(norm_2(h))": (
            "the branches have changed places; attention comes first, then the MLP"
        ),
        "x + attention -> x - attention\nh + mlp -> h - mlp": "you subtracted what the branches give; it is added",
        "norm_2(h) -> norm_1(x)": (
            "your MLP reads norm_1(x), like attention; it should read norm_2 of the stream, x + attention"
        ),
        "norm_2(h) -> norm_2(norm_1(x))": (
            "your MLP reads the normalized x; it should read norm_2 of the stream, x + attention"
        ),
        "h + mlp(norm_2(h)) -> norm_2(h + mlp(h))": (
            "in the second half the norm comes after the sum, which is post-norm; norm_2 belongs before the MLP"
        ),
        "x + attention(norm_1(x)) -> norm_1(x + attention(x))": (
            "in the first half the norm comes after the sum, which is post-norm; norm_1 belongs before attention"
        ),
        "norm_2(h) -> norm_2(x + attention(x))": (
            "attention is called twice, and the second time it reads x itself; keep the first sum, and use it again"
        ),
        "h = norm_1(x) + attention(x); return norm_2(h) + mlp(h)": (
            "you normalized what the skip paths carry, and the branches read x and h themselves; it should be the other way round"
        ),
        "h = (x + attention(norm_1(x))) / 2; return (h + mlp(norm_2(h))) / 2": (
            "you averaged where the paths meet; they are added"
        ),
        "attention(norm_1(x)) -> norm_1(x + attention(norm_1(x)))": (
            "you normalized the sum of x and attention, too; normalize only what the branches read"
        ),
        (
            "h + mlp(norm_2(h)) -> norm_2(h + mlp(norm_2(h)))",
            "h + mlp(norm_2(h)) -> norm_1(h + mlp(norm_2(h)))",
        ): "the last sum is normalized; a pre-norm block returns that sum as it is, only the stack ends in a norm",
        (
            "+ norm_1 = norm_2 = lambda x: (x - x.mean(axis=-1, keepdims=True)) / "
            "np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)"
        ): ("your norms have no gamma and beta; call norm_1 and norm_2, which have their own"),
        "h = norm_1(x + attention(norm_1(x))); return norm_2(h + mlp(norm_2(h)))": (
            "you normalized before the branches and after the sums; here only before the branches"
        ),
    },
)

# ---------------------------------------------------------------------------------- my_deepnorm_constants


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


DEEPNORM_CONSTANTS = Exercise(
    solution="""
def my_deepnorm_constants(layers, sublayers=2):
    sums = layers * sublayers
    return sums**0.25, (4 * sums) ** -0.25
""",
    cases=_deepnorm_cases,
    results=("alpha", "beta"),
    tol=1e-6,
    variants=[_as_in_the_paper, _by_logarithms],
    mistakes={
        "layers * sublayers -> layers": (
            "you counted layers; every sub-layer adds to the stream, and a layer has `sublayers` of them"
        ),
        "layers * sublayers -> layers * 2": (
            "you always took 2 sub-layers for each layer; take as many as `sublayers` says"
        ),
        "4 * sums -> 8 * layers": (
            "your beta always takes 2 sub-layers for each layer; the 8 of (8N) is 4 times `sublayers`"
        ),
        "sums**0.25 -> (2 * layers) ** 0.25": (
            "your alpha always takes 2 sub-layers for each layer; take as many as `sublayers` says"
        ),
        "4 * sums -> 8 * sums": (
            "your beta has 8 times all sub-layers; the 8 of (8N) has the 2 sub-layers of a layer in it, so 4 is left"
        ),
        "4 * sums -> 4 * layers": "your beta counts layers; take 4 times the number of sub-layers",
        "sums**0.25 -> layers**0.25": "your alpha counts layers; take the number of sub-layers",
        "sums**0.25 -> sums**-0.25": "your alpha is below 1 and would weaken the skip path; its exponent is positive",
        "-0.25 -> 0.25": "your beta is above 1 and would enlarge the weights; its exponent is negative",
        "sums**0.25 -> sums**-0.25\n) ** -0.25 -> ) ** 0.25": (
            "both exponents have the wrong sign: alpha grows with depth, beta shrinks"
        ),
        "sums**0.25, (4 * sums) ** -0.25 -> (4 * sums) ** -0.25, sums**0.25": (
            "alpha and beta have changed places; return alpha first"
        ),
        "sums**0.25, (4 * sums) ** -0.25 -> (4 * sums) ** 0.25, sums**-0.25": "the 4 is in alpha; it belongs to beta",
        "(4 * sums) -> sums": "your beta is 1 / alpha; the 4 under its fourth root is missing",
        ("(4 * sums) ** -0.25 -> 4 * sums**-0.25", "(4 * sums) ** -0.25 -> 0.25 * sums**-0.25"): (
            "the 4 of your beta is outside the power; put 4 · sub-layers in parentheses"
        ),
        "sums**0.25 -> (4 * sums) ** 0.25": "your alpha has the 4 of beta under its fourth root",
        "0.25 -2-> 0.5": "you took square roots; both exponents are quarters",
        "0.25 -2-> 0.125": "you took eighth roots; both exponents are quarters",
        "0.25 -2-> (1 / 16)": "the exponent 1/16 belongs to the encoder of an encoder-decoder; here both are quarters",
        (
            "sums**0.25, (4 * sums) ** -0.25 -> 0.81 * (layers**4 * sublayers) ** (1 / 16), 0.87 * "
            "(layers**4 * sublayers) ** (-1 / 16)"
        ): (
            "0.81 and 0.87 belong to the encoder of an encoder-decoder; here alpha and beta come from one "
            "number of sums"
        ),
        "0.25 -2-> 4.0": "you took the fourth power; the exponents are quarters, 1/4 and -1/4",
        "(4 * sums) ** -0.25 -> 0.5 * sums**-0.25": (
            "your beta is 1 / (2 alpha); the 4 is under the fourth root, so it divides by the square root of 2"
        ),
        "(4 * sums) ** -0.25 -> 1 / (4 * sums)": "your beta is 1 / (4K); the fourth root is missing",
        "(4 * sums) ** -0.25 -> (4 * sums**0.25) ** -0.25": (
            "you put alpha into beta; beta is 1 over the fourth root of 4 times the number of sums"
        ),
        "0.25 -2-> 0.1": "the exponent 1/10 is a misprint that circulates; both exponents are quarters",
        "0.25 -2-> 1 / 4": (
            "x**1/4 is x / 4, since a power is computed before a quotient; write x**0.25 or x ** (1 / 4)"
        ),
        "-0.25 -> -1 / 4": "x**-1/4 is 1 / (4x), since a power is computed before a quotient; write x**-0.25",
        (
            "sums**0.25, (4 * sums) ** -0.25 -> layers * sublayers**0.25, 4 * sublayers * layers**-0.25",
            "sums**0.25, (4 * sums) ** -0.25 -> sublayers * layers**0.25, 4 * sublayers * layers**-0.25",
        ): "only the last factor is raised to the power; put the product in parentheses",
        "sums**0.25 -> sublayers * layers**0.25": (
            "in your alpha only the number of layers is raised to the power; put the product in parentheses"
        ),
        "0.25 -2-> (1 // 4)": "1 // 4 is 0 in Python, and every number to the power 0 is 1; write 1 / 4",
        "layers * sublayers -> float(layers**sublayers)": (
            "you raised the layers to the power of the sub-layers; the number of sums is layers times sublayers"
        ),
        "layers * sublayers -> layers / sublayers": (
            "you divided the layers by the sub-layers; the number of sums is layers times sublayers"
        ),
        "(4 * sums) ** -0.25 -> -((4 * sums) ** 0.25)": "your beta is negative; the minus belongs to the exponent",
        "layers * sublayers -> layers + sublayers": (
            "you added the layers and their sub-layers; the number of sums is layers times sublayers"
        ),
        "(4 * sums) ** -0.25 -> 1.0": "your beta is always 1; it should be below 1 and shrink the weights of the branches",
        "sums**0.25 -> 1.0": "your alpha is always 1; it should be above 1 and strengthen the skip path",
        "sums**0.25, (4 * sums) ** -0.25 -> sums**0.25": "alpha is right; return beta too",
        "sums**0.25 -> sums**1 / 4": (
            "in your alpha x**1/4 is x / 4, since a power is computed before a quotient; write x ** (1 / 4)"
        ),
        """sums**0.25 -> (2 * sums) ** 0.25
4 * sums -> 8 * sums""": (
            "you counted the sub-layers of a layer twice; the 2 in (2N) and the 8 in (8N) already contain them"
        ),
    },
)

# ------------------------------------------------------------------------------- my_qk_norm_attention


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


QK_NORM_ATTENTION = Exercise(
    solution="""
def my_qk_norm_attention(q, k, v, eps=1e-6):
    q_hat = q / np.sqrt(np.mean(q**2, axis=1, keepdims=True) + eps)
    k_hat = k / np.sqrt(np.mean(k**2, axis=1, keepdims=True) + eps)
    scores = q_hat @ k_hat.T / np.sqrt(q.shape[1])
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True) @ v
""",
    cases=_attention_cases,
    tol=1e-5,
    variants=[_token_by_token, _large_negative_mask],
    mistakes={
        "q_hat @ k_hat.T -> q @ k.T": "you did not normalize queries and keys",
        "k_hat.T -> k.T": "you normalized only the queries; normalize the keys, too",
        "q_hat @ -> q @": "you normalized only the keys; normalize the queries, too",
        "np.mean( -2-> np.sum(": (
            "you divided by the length; the root mean square has the mean under the square root, not the sum"
        ),
        "np.mean(q**2, axis=1, keepdims=True) -> q**2\nnp.mean(k**2, axis=1, keepdims=True) -> k**2": (
            "you squared but did not average; the root mean square of a token is one number"
        ),
        "np.mean(k**2 -> np.mean(q**2": (
            "you divided the keys by the root mean square of the queries; the keys have their own"
        ),
        "np.mean( -2-> np.sum(\nkeepdims=True) + eps -2-> keepdims=True)": (
            "you divided by the length, without eps; take the square root of the mean of the squares plus eps"
        ),
        "+ q = q - q.mean(axis=1, keepdims=True); k = k - k.mean(axis=1, keepdims=True)": (
            "you subtracted the mean; that is layer norm, RMSNorm does not"
        ),
        "axis=1, keepdims=True) + eps -2-> axis=0) + eps": (
            "your mean of squares runs over the tokens; take it over the features of one token"
        ),
        "axis=1, keepdims=True) + eps -2-> axis=None) + eps": (
            "you took one root mean square for all tokens; each token has its own"
        ),
        "keepdims=True) + eps -2-> keepdims=True)": "you left out eps; it is added to the mean square, under the square root",
        "np.sqrt(np.mean( -2-> (np.sqrt(np.mean(\nkeepdims=True) + eps) -2-> keepdims=True)) + eps)": (
            "your eps is outside the square root; it is added to the mean square"
        ),
        "+ eps = 1e-6": "you ignored the argument eps and always used 1e-6",
        "+ eps = 1e-5": "you ignored the argument eps and always used 1e-5",
        """np.mean(q**2, axis=1, keepdims=True) -> np.mean(q, axis=1, keepdims=True) ** 2
np.mean(k**2, axis=1, keepdims=True) -> np.mean(k, axis=1, keepdims=True) ** 2""": (
            "you squared the mean; it is the mean of the squares: square first, then average"
        ),
        "np.sqrt(np.mean( -2-> (np.mean(": "you divided by the mean square; take its square root",
        ".T / np.sqrt(q.shape[1]) -> .T": (
            "you did not divide the dot products by the square root of the number of features of q"
        ),
        "np.sqrt(q.shape[1]) -> q.shape[1]": "you divided by the number of features of q; take its square root",
        "np.sqrt(q.shape[1]) -> q.shape[1] ** 1 / 2": (
            "D**1/2 is not the square root, since a power is computed before a quotient; write np.sqrt(D)"
        ),
        "/ np.sqrt(q -> * np.sqrt(q": "you multiplied by the square root of the number of features; divide by it",
        "np.sqrt(q.shape[1]) -> np.sqrt(len(q))": (
            "you divided by the square root of the number of tokens; take the features of q"
        ),
        "np.sqrt(q.shape[1]) -> np.sqrt(v.shape[1])": (
            "you divided by the square root of the number of features of v; take those of q"
        ),
        "np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> scores": (
            "the mask is missing: tokens see what comes after them"
        ),
        "dtype=bool) -> dtype=bool).T": (
            "your mask is reversed: each token sees itself and what comes after; it should see itself and what came before"
        ),
        "np.tri(len(q), -> np.tri(len(q), k=-1,": (
            "your mask hides the token itself, so the first one sees nothing; a token sees itself, too"
        ),
        "np.tri(len(q), -> np.tri(len(q), k=1,": "your mask lets each token see one token too many, the next one",
        "scores, -np.inf -> -np.inf, scores": (
            "your mask hides what a token may see and shows the rest; np.where takes the values for True first"
        ),
        "np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> np.tril(scores)": (
            "your mask sets scores to 0, but the softmax gives weight to a score of 0; set them to minus infinity before it"
        ),
        "powers / powers.sum(axis=1, keepdims=True) @ v -> scores @ v": "the softmax is missing",
        (
            """scores - scores.max(axis=1, keepdims=True) -> scores
powers / powers.sum(axis=1, keepdims=True) @ v -> powers @ v""",
            "powers / powers.sum(axis=1, keepdims=True) @ v -> powers @ v",
        ): "you took exp but did not divide by the sum, so the weights of a token do not sum to 1",
        (
            """scores - scores.max(axis=1, keepdims=True) -> scores
powers.sum(axis=1, keepdims=True) -> powers.sum(axis=0)""",
            "powers.sum(axis=1, keepdims=True) -> powers.sum(axis=0)",
        ): "your softmax divides by the sums of the columns; the weights of each token, a row, sum to 1",
        (
            """scores - scores.max(axis=1, keepdims=True) -> scores
powers.sum(axis=1, keepdims=True) -> powers.sum(axis=1)""",
            "powers.sum(axis=1, keepdims=True) -> powers.sum(axis=1)",
        ): "the sums of your rows have lost an axis and line up with the columns; keep it with keepdims=True",
        (
            """scores - scores.max(axis=1, keepdims=True) -> scores
powers.sum(axis=1, keepdims=True) -> powers.sum()""",
            "powers.sum(axis=1, keepdims=True) -> powers.sum()",
        ): "your softmax divides by one sum for all tokens; each row sums to 1",
        """np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> scores
powers / powers.sum(axis=1, keepdims=True) @ v -> np.tril(powers / powers.sum(axis=1, keepdims=True)) @ v""": (
            "you masked after the softmax, so the weights that are left do not sum to 1; mask the scores before it"
        ),
        """np.where(np.tri(len(q), dtype=bool), scores, -np.inf) -> scores
powers / powers.sum(axis=1, keepdims=True) @ v -> np.where(np.tri(len(q), dtype=bool), powers / powers.sum(axis=1, keepdims=True), -np.inf) @ v""": (
            "you put minus infinity into the weights; it belongs in the scores, before the softmax"
        ),
        """def my_qk_norm_attention(q, k, v, eps=1e-6):
    q_hat = q / np.sqrt(np.mean(q**2, axis=1, keepdims=True) + eps)
    k_hat = k / np.sqrt(np.mean(k**2, axis=1, keepdims=True) + eps)
    out = np.zeros((len(q), v.shape[1]))
    for t in range(1, len(q)):
        powers = np.exp(q_hat[t] @ k_hat[:t].T / np.sqrt(q.shape[1]))
        out[t] = powers / powers.sum() @ v[:t]
    return out""": ("your tokens see only what came before them, and the first one nothing; a token sees itself, too"),
        "+ q = q / np.sqrt(q.shape[1])\n.T / np.sqrt(q.shape[1]) -> .T": (
            "you divided by the square root of D before the norm, which undoes it; divide the scores"
        ),
        "@ v -> @ (v / np.sqrt(np.mean(v**2, axis=1, keepdims=True) + eps))": (
            "the values are normalized, too; QK-norm normalizes queries and keys only"
        ),
        "np.mean( -2-> np.sum(\nkeepdims=True) + eps -2-> keepdims=True)\n.T / np.sqrt(q.shape[1]) -> .T": (
            "your queries and keys have length 1, and you did not divide by the square root of D; here "
            "they have a root mean square of 1, and the scores are divided by the square root of D"
        ),
        "q_hat @ k_hat.T -> k_hat @ q_hat.T": "your scores are transposed: rows belong to queries, so they are q · kᵀ",
        (
            "q_hat @ k_hat.T / np.sqrt(q.shape[1]) -> q @ k.T; scores = scores / "
            "np.sqrt(np.mean(scores**2, axis=1, keepdims=True) + 1e-6)"
        ): ("you normalized the scores; the norm belongs on the queries and the keys, before their dot products"),
        "keepdims=True) @ v -> keepdims=True)": "you returned the weights; multiply them by v",
        "powers / powers.sum(axis=1, keepdims=True) @ -> (powers / powers.sum(axis=1, keepdims=True)).T @": (
            "your weights are transposed; their rows belong to the tokens of the result"
        ),
    },
)

EXERCISES = [PRE_NORM_BLOCK, DEEPNORM_CONSTANTS, QK_NORM_ATTENTION]
