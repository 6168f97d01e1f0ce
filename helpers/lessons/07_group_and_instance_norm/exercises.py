"""Lesson 07: what lies between layer norm and instance norm?"""

import numpy as np

from ...exercises import Exercise, Says, case
from ...exercises.steps import LOST_AXES, NORMALIZING, ONE_PASS, VARIANCES, affine_case, in_place_of, norm_mistakes

# -------------------------------------------------------------------------------------------- my_group_norm


def _group_norm_cases(rng):
    def group_case(shape, groups, **more):
        affine = affine_case(rng, shape, shape[1], **more)
        x, gamma, beta = affine.args
        return case(x, groups, gamma, beta, label=affine.label, **affine.kwargs)

    shape = (int(rng.integers(2, 5)), 6, int(rng.integers(2, 5)), 5)
    return [
        group_case((3, 6, 2, 5), 2, label="C and W differ"),
        group_case((2, 4, 3, 4), 2, label="C equals W"),
        group_case(shape, 3, label="random shape"),
        group_case((2, 8, 2, 3), 4, label="four groups"),
        group_case((2, 4, 2, 3), 1, label="one group"),
        group_case((2, 4, 2, 3), 4, label="as many groups as channels"),
        group_case((2, 6, 3, 2), 2, mean=1e8, label="large mean"),
        group_case((2, 6, 2, 2), 3, scale=1e-3, label="tiny scale"),
        group_case((2, 6, 2, 2), 2, eps=0.5, label="large eps"),
        group_case((1, 6, 3, 4), 3, label="one image"),
    ]


def _group_norm_by_slices(x, groups, gamma, beta, eps=1e-5):
    parts = []
    for block in np.split(x, groups, axis=1):
        centered = block - block.mean(axis=(1, 2, 3), keepdims=True)
        parts.append(centered / np.sqrt((centered**2).mean(axis=(1, 2, 3), keepdims=True) + eps))
    return np.concatenate(parts, axis=1) * gamma[:, None, None] + beta[:, None, None]


def _group_norm_by_repeating(x, groups, gamma, beta, eps=1e-5):
    rows = x.reshape(len(x), groups, -1)
    size = x.shape[1] // groups
    mean = np.repeat(rows.mean(axis=-1), size, axis=1)[..., None, None]
    scale = gamma / np.sqrt(np.repeat(rows.var(axis=-1), size, axis=1) + eps)
    return np.einsum("nchw,nc->nchw", x - mean, scale) + beta.reshape(1, -1, 1, 1)


GROUP_NORM = Exercise(
    solution="""
def my_group_norm(x, groups, gamma, beta, eps=1e-5):
    rows = x.reshape(len(x), groups, -1)
    mean = rows.mean(axis=-1, keepdims=True)
    var = rows.var(axis=-1, keepdims=True)
    y = ((rows - mean) / np.sqrt(var + eps)).reshape(x.shape)
    return gamma[:, None, None] * y + beta[:, None, None]
""",
    cases=_group_norm_cases,
    tol=1e-4,
    variants=[_group_norm_by_slices, _group_norm_by_repeating],
    mistakes={
        """x.reshape(len(x), groups, -1) -> x.reshape(len(x), -1, groups, *x.shape[2:])
axis=-1 -2-> axis=(1, 3, 4)""": (
            "your groups are interleaved, with every second or third channel in one group; a group is a block "
            "of neighboring channels"
        ),
        "len(x), groups, -> len(x), x.shape[1] // groups,": (
            "you took groups for the number of channels in a group; it is the number of groups"
        ),
        "len(x), groups, -> groups,": (
            "you reshaped to (groups, -1), which cuts the whole batch into as many pieces as there are "
            "groups; every image has its own groups"
        ),
        (
            "+ size = x.shape[1] // groups; gamma = np.repeat(gamma[:groups], size); beta = "
            "np.repeat(beta[:groups], size)"
        ): ("you gave a whole group one gamma and one beta; each channel has its own, only the statistics are shared"),
        ("+ size = x.shape[1] // groups; gamma = np.tile(gamma[:size], groups); beta = np.tile(beta[:size], groups)"): (
            "you used the first entries of gamma and beta again in every group; each channel has its own"
        ),
        "[:, None, None] -2->": (
            "your gamma and beta line up with the last axis, W, and not with the channels; it goes unnoticed "
            "when C equals W"
        ),
        (
            "return gamma[:, None, None] * y + beta[:, None, None] -> y = gamma[:, None, None] * y + "
            "beta[:, None, None]; return y.reshape(len(x), groups, -1, *x.shape[2:])"
        ): ("your answer still has the axis of the groups; reshape it to the shape of x"),
        "axis=-1 -2-> axis=(0, 2)": (
            "your groups reach across the batch, so the images share a mean; each image has its own"
        ),
        "groups, -1) -> groups, -1, *x.shape[2:])\naxis=-1 -2-> axis=2": (
            "you averaged over the channels of a group only, so every pixel has its own mean; a group shares "
            "one over all its pixels"
        ),
        (
            "rows.var(axis=-1, keepdims=True) -> x.var(axis=(2, 3)).reshape(len(x), groups, "
            "-1).mean(axis=-1, keepdims=True)"
        ): ("your variance is the average of the channels' own variances; the distance between their means counts too"),
        "+ groups = x.shape[1]": "you gave every channel a mean of its own, whatever groups is; that is instance norm",
        "+ groups = 1": "you gave all channels of an image one mean, whatever groups is; that is layer norm",
        "x.reshape(len(x), groups, -1) -> x\naxis=-1 -2-> axis=(0, 2, 3)": (
            "you averaged over the batch and the pixels, whatever groups is; that is batch norm"
        ),
        **norm_mistakes(
            -1,
            x="rows",
            y="y",
            gamma="gamma[:, None, None]",
            beta="beta[:, None, None]",
            inner={
                "gamma": "np.repeat(gamma, x[0, 0].size).reshape(groups, -1)",
                "beta": "np.repeat(beta, x[0, 0].size).reshape(groups, -1)",
            },
            back=".reshape(x.shape)",
        ),
        """len(x), groups, -1 -> len(x), -1, groups
axis=-1 -2-> axis=1""": (
            "you put the groups last in the shape, so neighboring numbers go to different groups; a group is a block of channels"
        ),
        "axis=-1, keepdims=True -2-> axis=-1": Says(LOST_AXES, raises=True),
        ".reshape(x.shape) ->": (
            "your normalized numbers are still in rows; reshape them to the shape of x before gamma and beta"
        ),
        "axis=-1 -2-> axis=1": ("you averaged over the groups; average over the numbers within each group"),
    },
)

# ------------------------------------------------------------------------------------------------- my_adain

PIXELS = (1, 2)


def _adain_cases(rng):
    def pair(content, style, *, mean=0.0, scale=1.0, style_scale=1.0, **more):
        channels = (content[0], 1, 1)
        apart = rng.uniform(1, 3, channels)  # every channel has its own mean and spread
        own = mean + scale * (apart + rng.uniform(0.5, 2, channels) * rng.standard_normal(content))
        other = style_scale * (5 * apart + rng.uniform(2, 6, channels) * rng.standard_normal(style))
        return case(own, other, **more)

    sides = rng.integers(2, 6, 4).tolist()
    return [
        pair((3, 4, 5), (3, 2, 3), label="images of two sizes"),
        pair((3, 3, 3), (3, 3, 3), label="all equal"),
        pair((2, *sides[:2]), (2, *sides[2:]), label="random shape"),
        pair((2, 3, 4), (2, 4, 2), mean=1e8, label="large mean"),
        pair((2, 3, 4), (2, 4, 2), scale=1e-3, label="tiny scale"),
        pair((2, 3, 4), (2, 4, 2), style_scale=1e-3, label="style of tiny scale"),
        pair((2, 3, 4), (2, 4, 2), eps=0.5, label="large eps"),
    ]


def _adain_as_one_line(content, style, eps=1e-5):
    scale = np.sqrt((style.var(axis=PIXELS) + eps) / (content.var(axis=PIXELS) + eps))
    centered = content - content.mean(axis=PIXELS)[:, None, None]
    return scale[:, None, None] * centered + style.mean(axis=PIXELS)[:, None, None]


def _adain_channel_by_channel(content, style, eps=1e-5):
    y = np.empty_like(content)
    for c, (own, other) in enumerate(zip(content, style, strict=True)):
        centered = own - own.mean()
        hat = centered / (np.mean(centered**2) + eps) ** 0.5
        y[c] = hat * (np.mean((other - other.mean()) ** 2) + eps) ** 0.5 + other.mean()
    return y


def _in_both_variances(table):
    """The mistakes of a table, made with the variance of content and with that of style."""
    content = in_place_of("content.var(axis=(1, 2), keepdims=True)", table, x="content", axes="(1, 2)")
    style = in_place_of("style.var(axis=(1, 2), keepdims=True)", table, x="style", mean="style_mean", axes="(1, 2)")
    return {f"{one}\n{other}": content[one] for one, other in zip(content, style, strict=True)}


ADAIN = Exercise(
    solution="""
def my_adain(content, style, eps=1e-5):
    mean = content.mean(axis=(1, 2), keepdims=True)
    spread = np.sqrt(content.var(axis=(1, 2), keepdims=True) + eps)
    style_mean = style.mean(axis=(1, 2), keepdims=True)
    style_spread = np.sqrt(style.var(axis=(1, 2), keepdims=True) + eps)
    return style_spread * (content - mean) / spread + style_mean
""",
    cases=_adain_cases,
    tol=1e-4,
    variants=[_adain_as_one_line, _adain_channel_by_channel],
    mistakes={
        "+ content, style = style, content": (
            "content and style have changed places: the picture comes from content, its mean and standard deviation from style"
        ),
        "style_spread * (content -> (content": (
            "you did not multiply by the standard deviation of style, so every channel has standard deviation 1"
        ),
        "/ spread + style_mean -> / spread": "you did not add the mean of style, so every channel has mean 0",
        "style_spread * (content - mean) / spread + style_mean -> (content - mean) / spread": (
            "you normalized content but gave it neither the standard deviation nor the mean of style"
        ),
        (
            "style_spread * (content - mean) / spread + style_mean -> style_spread * ((content - "
            "mean) / spread + style_mean)"
        ): ("you added the mean of style before multiplying by its standard deviation; scale first, then shift"),
        (
            "style_spread * (content - mean) / spread + style_mean -> style_mean * (content - mean) / "
            "spread + style_spread"
        ): (
            "mean and standard deviation of style have changed places: the standard deviation multiplies, the "
            "mean is added"
        ),
        "style_spread * -> style_spread**2 *": "you multiplied by the variance of style; multiply by its square root",
        "style_spread * (content - mean) / spread -> (content - mean) / spread / style_spread": (
            "you divided by the standard deviation of style; divide by that of content, multiply by that of style"
        ),
        "axis=(1, 2) -4-> axis=(0, 1, 2)": (
            "your statistics run over all pixels of all channels; each channel has its own"
        ),
        "axis=(1, 2) -4-> axis=0": (
            "you averaged over the channels of each pixel; average over the pixels of each channel"
        ),
        "axis=(1, 2) -4-> axis=2": "you averaged over the last axis only, so every row of pixels has its own mean",
        "style_spread * (content - mean) / spread -> content - mean": (
            "you moved the means but left the standard deviation of content unchanged"
        ),
        "spread + style_mean -> spread + mean": "you added back the mean of content; add the mean of style",
        "keepdims=True) + eps) -2-> keepdims=True)) + eps": (
            "your epsilon is added to both standard deviations; it belongs to both variances, under the square root"
        ),
        """content.var(axis=(1, 2), keepdims=True) + eps) -> content.var(axis=(1, 2), keepdims=True)) + eps
style.var(axis=(1, 2), keepdims=True) + eps -> style.var(axis=(1, 2), keepdims=True)""": (
            "your epsilon is added to the standard deviation of content; here both variances get it, under the "
            "square root"
        ),
        "(content - mean) -> content - mean": (
            "without parentheses only the mean of content is divided; put content - mean in parentheses"
        ),
        "style_spread * (content - mean) / spread + style_mean -> (content - style_mean) / style_spread": (
            "you normalized content with the mean and standard deviation of style; normalize with its own, then "
            "apply those of style"
        ),
        "+ eps = 0": "you left out epsilon; it is added to both variances, under the square root",
        "+ eps = 1e-5": "you ignored the argument eps",
        "style.var(axis=(1, 2), keepdims=True) + eps -> style.var(axis=(1, 2), keepdims=True)": (
            "you added eps to the variance of content only; here both get it, so that an image used as its own style comes back unchanged"
        ),
        "+ content = content.astype(np.float32)": (
            "you converted content to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the "
            "differences"
        ),
        **_in_both_variances(ONE_PASS | VARIANCES),
        **in_place_of(
            "(content - mean) / spread", NORMALIZING, x="content", var="content.var(axis=(1, 2), keepdims=True)"
        ),
        "axis=(1, 2), keepdims=True -4-> axis=(1, 2)": LOST_AXES,
    },
)

# ------------------------------------------------------------------------------------ my_weight_standardize


def _weight_cases(rng):
    def weights(shape, *, mean=0.3, scale=1.0, **more):
        spread = scale * rng.uniform(0.5, 2, (shape[0], *[1] * (len(shape) - 1)))
        return case(mean + spread * rng.standard_normal(shape), rng.uniform(0.5, 2, shape[0]), **more)

    shape = (int(rng.integers(2, 5)), int(rng.integers(5, 8)))
    return [
        weights((4, 6), label="matrix"),
        weights((5, 5), label="square matrix"),
        weights(shape, label="random shape"),
        weights((4, 3, 2, 3), label="kernel"),
        weights((3, 3, 3, 3), label="kernel, all equal"),
        weights((3, 5), mean=1e8, label="large mean"),
        weights((4, 6), scale=1e-3, label="tiny scale"),
        weights((4, 6), eps=0.5, label="large eps"),
        weights((1, 7), label="one output"),
    ]


def _weights_as_rows(w, gain, eps=1e-5):
    rows = w.reshape(len(w), -1)
    centered = rows - rows.mean(axis=1)[:, None]
    scale = gain / np.sqrt((centered * centered).mean(axis=1) + eps)
    return (scale[:, None] * centered).reshape(w.shape)


def _weights_unit_by_unit(w, gain, eps=1e-5):
    return np.array([g * (unit - unit.mean()) / (unit.var() + eps) ** 0.5 for unit, g in zip(w, gain, strict=True)])


WEIGHT_STANDARDIZE = Exercise(
    solution="""
def my_weight_standardize(w, gain, eps=1e-5):
    rows = w.reshape(len(w), -1)
    mean = rows.mean(axis=1, keepdims=True)
    var = rows.var(axis=1, keepdims=True)
    return (gain[:, None] * (rows - mean) / np.sqrt(var + eps)).reshape(w.shape)
""",
    cases=_weight_cases,
    tol=1e-4,
    variants=[_weights_as_rows, _weights_unit_by_unit],
    mistakes={
        """reshape(len(w), -1) -> reshape(len(w), w.shape[1], -1)
axis=1 -2-> axis=(0, 2)
gain[:, None] -> gain[:, None, None]""": (
            "you averaged over the output units, so each input has its own mean; each output unit should have its own"
        ),
        "axis=1 -2-> axis=None": "you gave all weights one mean and variance; each output unit should have its own",
        "reshape(len(w), -1) -> reshape(len(w), w.shape[1], -1)\ngain[:, None] -> gain[:, None, None]": (
            "you averaged over axis 1 only; a unit of a convolution has its weights on all axes after the first"
        ),
        """reshape(len(w), -1) -> reshape(len(w), -1, w.shape[-1])
axis=1 -2-> axis=-1
gain[:, None] -> gain[:, None, None]""": (
            "you averaged over the last axis only; a unit of a convolution has its weights on all axes after the first"
        ),
        "axis=1 -2-> axis=0": "you averaged over axis 0, from unit to unit; average within each output unit",
        "gain[:, None] * (rows -> (rows": "you did not multiply by gain",
        "gain[:, None] * (rows -> gain[:, None] + (rows": "you added gain; it multiplies the standardized weights",
        "(gain[:, None] * (rows -> gain * ((rows": (
            "your gain lines up with the last axis, the inputs; it belongs to the output units, the first axis"
        ),
        "(gain[:, None] * (rows -> gain[:, None] * ((rows": (
            "your [:, None] fits a matrix; a kernel needs an axis of size 1 for each axis after the first"
        ),
        (
            "mean = w.mean(axis=(1, 2, 3), keepdims=True); var = w.var(axis=(1, 2, 3), "
            "keepdims=True); return gain[:, None, None, None] * (w - mean) / np.sqrt(var + eps)"
        ): ("your axes fit a kernel only; a matrix has no axis 2 and 3"),
        "np.sqrt(var + eps) -> np.linalg.norm(rows - mean, axis=1, keepdims=True)": (
            "you divided by the length of the centered weights; divide by their standard deviation"
        ),
        "mean = rows -> rows = gain[:, None] * rows; mean = rows\ngain[:, None] * (rows -> (rows": (
            "you multiplied by gain before standardizing, which undoes the scale; multiply after it"
        ),
        "/ np.sqrt(var + eps) -> / np.sqrt(var + eps) / np.sqrt(rows.shape[1])": (
            "you also divided by the square root of the number of weights; that is scaled weight standardization, "
            "which the task does not ask for"
        ),
        "(rows - mean) / np.sqrt(var + eps) -> rows / np.sqrt((rows**2).sum(axis=1, keepdims=True) + eps)": (
            "you divided by the length of the weights and subtracted no mean; that is weight norm"
        ),
        "(rows - mean) / np.sqrt(var + eps) -> rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + eps)": (
            "you divided by the root mean square and subtracted no mean; the weights of a unit have to sum to 0"
        ),
        "+ w = w.astype(np.float32)": (
            "you converted w to float32, which keeps 7 digits: with a mean of 1e8 nothing is left of the differences"
        ),
        **in_place_of("rows.var(axis=1, keepdims=True)", ONE_PASS | VARIANCES, x="rows", axes="1"),
        **in_place_of("(rows - mean) / np.sqrt(var + eps)", NORMALIZING, x="rows"),
        "gain[:, None] -> gain": (
            "gain lines up with the weights of one unit, not with the units; give it a second axis of size 1"
        ),
        "w.reshape(len(w), -1) -> w": (
            "you averaged over axis 1 only; in a kernel the weights of a unit lie along height and width too"
        ),
        ".reshape(w.shape) ->": ("your result is still in rows; reshape it to the shape of w"),
        "len(w), -1 -> -1, len(w)": (
            "you put the units last in the shape, which mixes their weights; in w they are axis 0"
        ),
    },
)

EXERCISES = [GROUP_NORM, ADAIN, WEIGHT_STANDARDIZE]
