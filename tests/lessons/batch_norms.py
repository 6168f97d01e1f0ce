"""Batch norms for x (N, C, L), correct and wrong, written apart from lesson 12 and its exercises, to judge its battery.

They follow the contract of the lesson's exercises: `layer(x, training=True, keep=None)`, `layer.backward(dy)`,
`layer.gamma`, `layer.beta`; y and dx have the dtype of x; the dtype of gamma says how precisely the layer computes.
"""

import numpy as np

EPS = 1e-5


class Correct:
    """Batch norm from sums over axes 0 and 2; every wrong layer changes one thing."""

    momentum = 0.1

    def __init__(self, channels):
        self.gamma = np.ones(channels)
        self.beta = np.zeros(channels)
        self.running_mean = np.zeros(channels)
        self.running_var = np.ones(channels)

    def moments(self, x, real):
        """mean, biased variance (C, 1) and the number of values; `real` is (N, 1, L), 1.0 where a position counts."""
        n = real.sum()
        mean = np.where(real > 0, x, 0).sum(axis=(0, 2)) / n
        square = np.where(real > 0, (x - mean[:, None]) ** 2, 0).sum(axis=(0, 2))
        return mean[:, None], square[:, None] / n, n

    def update(self, mean, var, n):
        if n > 1:
            self.running_mean = self.running_mean + self.momentum * (mean[:, 0] - self.running_mean)
            self.running_var = self.running_var + self.momentum * (var[:, 0] * n / (n - 1) - self.running_var)

    def stored(self):
        return self.running_mean[:, None], self.running_var[:, None]

    def scale(self, var):
        return 1 / np.sqrt(var + EPS)

    def affine(self, x_hat):
        return x_hat * self.gamma[:, None] + self.beta[:, None]

    def forward(self, x, training, real):
        if training:
            mean, var, n = self.moments(x, real)
            self.update(mean, var, n)
        else:
            mean, var = self.stored()
        self.inverse, self.training = self.scale(var), training
        self.x_hat = (x - mean) * self.inverse
        return self.affine(self.x_hat)

    def __call__(self, x, training=True, keep=None):
        self.kind = x.dtype
        real = np.ones((len(x), 1, x.shape[2])) if keep is None else keep[:, None].astype(float)
        with np.errstate(all="ignore"):
            return self.forward(x.astype(np.float64), training, real).astype(x.dtype)

    def gradient(self, dy):
        g = dy * self.gamma[:, None]
        if not self.training:
            return g * self.inverse
        a, b = (np.mean(each, axis=(0, 2), keepdims=True) for each in (g, g * self.x_hat))
        return self.inverse * (g - a - self.x_hat * b)

    def backward(self, dy):
        return self.gradient(dy.astype(np.float64)).astype(self.kind)


# Correct, written differently


class Float32(Correct):
    """All arithmetic with 7 digits."""

    def __init__(self, channels):
        super().__init__(channels)
        for name in ("gamma", "beta", "running_mean", "running_var"):
            setattr(self, name, getattr(self, name).astype(np.float32))

    def __call__(self, x, training=True, keep=None):
        self.kind = x.dtype
        self.gamma, self.beta = np.float32(self.gamma), np.float32(self.beta)
        real = np.ones((len(x), 1, x.shape[2])) if keep is None else keep[:, None]
        return self.forward(x.astype(np.float32), training, real.astype(np.float32)).astype(x.dtype)

    def backward(self, dy):
        return self.gradient(dy.astype(np.float32)).astype(self.kind)


def rows(x, real):
    """The values that count, channels last."""
    return np.moveaxis(x, 1, 2)[np.broadcast_to(real > 0, (len(x), 1, x.shape[2]))[:, 0]]


class Welford(Correct):
    """One value after the other."""

    def moments(self, x, real):
        mean, m2 = np.zeros(x.shape[1]), np.zeros(x.shape[1])
        for n, value in enumerate(rows(x, real), start=1):
            before = value - mean
            mean = mean + before / n
            m2 = m2 + before * (value - mean)
        return mean[:, None], m2[:, None] / n, n


class Einsum(Correct):
    def moments(self, x, real):
        chosen = rows(x, real)
        mean = np.einsum("rc->c", chosen) / len(chosen)
        return mean[:, None], np.einsum("rc,rc->c", chosen - mean, chosen - mean)[:, None] / len(chosen), len(chosen)

    def gradient(self, dy):
        g = np.einsum("ncl,c->ncl", dy, self.gamma * self.inverse[:, 0])
        if self.training:
            n = dy.shape[0] * dy.shape[2]
            along = np.einsum("ncl,ncl->c", g, self.x_hat) / n
            g = g - np.einsum("ncl->c", g)[:, None] / n - np.einsum("c,ncl->ncl", along, self.x_hat)
        return g


class Folded(Correct):
    """a * x + b, which rounds differently where the mean is large."""

    def forward(self, x, training, real):
        super().forward(x, training, real)
        mean = self.moments(x, real)[0] if training else self.stored()[0]
        a = self.gamma[:, None] * self.inverse
        return a * x + (self.beta[:, None] - a * mean)


class RefusesOneValue(Correct):
    """As PyTorch does."""

    def forward(self, x, training, real):
        if training and real.sum() < 2:
            raise ValueError("Expected more than 1 value per channel when training")
        return super().forward(x, training, real)


CORRECT = [Correct, Float32, Welford, Einsum, Folded, RefusesOneValue]

# Wrong: each has one method of its own.


def each_position_alone(self, x, real):
    """Statistics over the samples only; the running averages are right."""
    self.all = Correct.moments(self, x, real)
    n = np.maximum(real.sum(axis=0), 1)
    mean = (x * real).sum(axis=0) / n
    return mean, (real * (x - mean) ** 2).sum(axis=0) / n, real.sum()


def each_sample_alone(self, x, training, real):
    """Instance norm under another name; the running averages are right."""
    if not training:
        return Correct.forward(self, x, training, real)
    self.update(*self.moments(x, real))
    n = np.maximum(real.sum(axis=2, keepdims=True), 1)
    mean = (x * real).sum(axis=2, keepdims=True) / n
    self.inverse, self.training = self.scale((real * (x - mean) ** 2).sum(axis=2, keepdims=True) / n), training
    self.x_hat = (x - mean) * self.inverse
    return self.affine(self.x_hat)


def without_nan(self, x, real):
    real = real * ~np.isnan(x)
    n = real.sum(axis=(0, 2))
    mean = np.nansum(x * real, axis=(0, 2)) / n
    return mean[:, None], (np.nansum(real * (x - mean[:, None]) ** 2, axis=(0, 2)) / n)[:, None], n[0]


def in_float16(self, x, training=True, keep=None):
    if x.dtype != np.float16:
        return Correct.__call__(self, x, training, keep)
    self.kind = x.dtype
    real = np.ones((len(x), 1, x.shape[2])) if keep is None else keep[:, None]
    with np.errstate(all="ignore"):
        mean = x.mean(axis=(0, 2), dtype=np.float16)[:, None]
        var = ((x - mean) ** 2).mean(axis=(0, 2), dtype=np.float16)[:, None]
    self.update(mean.astype(float), var.astype(float), real.sum())
    self.inverse, self.training = self.scale(var.astype(float)), training
    self.x_hat = (x - mean) * self.inverse
    return self.affine(self.x_hat).astype(x.dtype)


def first_batch_replaces(self, mean, var, n):
    self.momentum = 0.1 if hasattr(self, "seen") else 1.0
    self.seen = True
    Correct.update(self, mean, var, n)


def updates_in_eval_mode(self, x, training, real):
    y = Correct.forward(self, x, training, real)
    if not training:
        self.update(*self.moments(x, real))
    return y


def batch_statistics_in_eval_mode(self, x, training, real):
    """The mode is ignored in forward."""
    before = self.running_mean, self.running_var
    y = Correct.forward(self, x, True, real)
    if not training:
        self.running_mean, self.running_var = before
    return y


class SharedMemory(Correct):
    """All layers of the class write to the same arrays."""

    shared_mean, shared_var = np.zeros(64), np.ones(64)

    def __init__(self, channels):
        super().__init__(channels)
        self.running_mean, self.running_var = self.shared_mean[:channels], self.shared_var[:channels]

    def update(self, mean, var, n):
        if n > 1:
            self.running_mean += 0.1 * (mean[:, 0] - self.running_mean)
            self.running_var += 0.1 * (var[:, 0] * n / (n - 1) - self.running_var)


def padding_in_the_count(self, x, real):
    """Sums over real positions, divided by the number of all positions."""
    mean, var, n = Correct.moments(self, x, real)
    share = n / (len(x) * x.shape[2])
    return mean * share, share * (var + (mean - mean * share) ** 2), len(x) * x.shape[2]


def mean_square_minus_square(self, x, real):
    """E[x²] − E[x]², clipped at 0."""
    n = real.sum()
    first, second = (np.where(real > 0, each, 0).sum(axis=(0, 2))[:, None] / n for each in (x, x**2))
    return first, np.maximum(second - first**2, 0), n


def gradient_with(average, keep_mean=True):
    """The gradient with another sum in place of the mean, or without the term of the mean."""

    def gradient(self, dy):
        g = dy * self.gamma[:, None]
        if not self.training:
            return g * self.inverse
        a, b = (average(each, axis=(0, 2), keepdims=True) for each in (g, g * self.x_hat))
        return self.inverse * (g - keep_mean * a - self.x_hat * b)

    return gradient


def training_formula_in_eval_mode(self, dy):
    self.training = True
    return Correct.gradient(self, dy)


CHANGES = {
    "GammaForgotten": {"affine": lambda self, x_hat: x_hat + self.beta[:, None]},
    "SignOfGammaLost": {"affine": lambda self, x_hat: np.abs(self.gamma[:, None]) * x_hat + self.beta[:, None]},
    "GammaBeforeNormalizing": {  # and the normalization undoes it
        "forward": lambda self, x, training, real: Correct.forward(self, x * self.gamma[:, None], training, real),
        "affine": lambda self, x_hat: x_hat + self.beta[:, None],
    },
    "FloatSixteenInFloatSixtyFourOut": {
        "__call__": lambda self, x, training=True, keep=None: Correct.__call__(self, np.float64(x), training, keep)
    },
    "ClampedDeviation": {"scale": lambda self, var: 1 / np.maximum(np.sqrt(var), 0.01)},  # in the place of eps
    "EachPositionAlone": {
        "moments": each_position_alone,
        "update": lambda self, mean, var, n: Correct.update(self, *self.all),
    },
    "EachSampleAlone": {"forward": each_sample_alone},
    "FirstThousandRows": {  # a subsample for speed
        "moments": lambda self, x, real: (
            rows(x, real)[:1000].mean(axis=0)[:, None],
            rows(x, real)[:1000].var(axis=0)[:, None],
            len(rows(x, real)),
        )
    },
    "HidesNaN": {"moments": without_nan},
    "ClipsOutliers": {"affine": lambda self, x_hat: Correct.affine(self, np.clip(x_hat, -6, 6))},
    "ComputesInFloat16": {"__call__": in_float16},
    "StoresEps": {"update": lambda self, mean, var, n: Correct.update(self, mean, var + EPS * (n > 1), n)},
    "TenTimesSlower": {"momentum": 0.01},  # Keras' momentum 0.99 converted to 0.01 where 0.1 was meant
    "FirstBatchReplaces": {"update": first_batch_replaces},
    "UpdatesInEvalMode": {"forward": updates_in_eval_mode},
    "BatchStatisticsInEvalMode": {"forward": batch_statistics_in_eval_mode},
    "PaddingInTheCount": {"moments": padding_in_the_count},
    "NegativeVariance": {"moments": mean_square_minus_square},
    "MeanAsConstant": {"gradient": gradient_with(np.mean, keep_mean=False)},
    "TrainingFormulaInEvalMode": {"gradient": training_formula_in_eval_mode},
    "SumsForMeans": {"gradient": gradient_with(np.sum)},
    "GammaMissingInBackward": {"gradient": lambda self, dy: Correct.gradient(self, dy) / self.gamma[:, None]},
    "ForgetsTheRoot": {"gradient": lambda self, dy: Correct.gradient(self, dy) * self.inverse},  # right at spread 1
}
WRONG = [SharedMemory, *(type(name, (Correct,), change) for name, change in CHANGES.items())]
