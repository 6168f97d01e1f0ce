"""The names a lesson imports.

Modules that compute or check (norms, backward passes, layers, nets, checks) need only NumPy and load at once. Modules
that draw (figures, explorers, quizzes) load when they are first asked for, so that `import helpers` stays as quick as
`import numpy`.
"""

from importlib import import_module

from .checks import check_all, check_between, check_close, check_raises, check_true, not_counted, summary
from .formatting import format_value
from .gradients import (
    batch_norm_backward,
    group_norm_backward,
    instance_norm_backward,
    layer_norm_backward,
    numerical_gradient,
    rms_norm_backward,
    spectral_norm_backward,
    weight_norm_backward,
)
from .layers import (
    BatchNorm,
    GroupNorm,
    Layer,
    LayerNorm,
    Linear,
    Parameter,
    ReLU,
    Residual,
    RMSNorm,
    Sequential,
    Sigmoid,
    Tanh,
)
from .nets import SGD, Adam, AdamW, accuracy, cross_entropy, fit, mlp, show_progress
from .norms import (
    RunningStats,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    power_iteration,
    rms_norm,
    spectral_norm,
    weight_norm,
    weight_standardization,
)
from .notebook import hide_check_values

# name -> the module that holds it, loaded on first use
_LAZY = {
    "bug_of_the_week": "exercises",
    "check_exercise": "exercises",
    "handed_over": "exercises",
    "Explorer": "widgets.explorer",
    "Panel": "widgets.explorer",
    "lines": "widgets.explorer",
    "bars": "widgets.explorer",
    "points": "widgets.explorer",
    "cells": "widgets.explorer",
    "arrows": "widgets.explorer",
    "text": "widgets.explorer",
    "handle": "widgets.explorer",
    "feature_bars": "widgets.explorer",
    "Panel3D": "widgets.explorer",
    "points3": "widgets.explorer",
    "lines3": "widgets.explorer",
    "surface3": "widgets.explorer",
    "Practice": "widgets.quiz",
    "Progress": "widgets.quiz",
    "Quiz": "widgets.quiz",
    "Table": "widgets.table",
    "PALETTE": "theme",
    "digits": "datasets",
    "ellipse": "datasets",
    "heatmaps": "figures",
    "histograms": "figures",
    "image_rows": "figures",
    "iris": "datasets",
    "label_line": "figures",
    "matrix_with": "datasets",
    "mean_cosine": "datasets",
    "new_figure": "figures",
    "plot_band": "figures",
    "scatters": "figures",
    "show": "figures",
    "OperationsView": "tensors",
    "SetsView": "tensors",
    "sets_of": "tensors",
    "table_with_statistics": "tensors",
}

__all__ = [
    "Adam",
    "AdamW",
    "BatchNorm",
    "GroupNorm",
    "Layer",
    "LayerNorm",
    "Linear",
    "Parameter",
    "RMSNorm",
    "ReLU",
    "Residual",
    "RunningStats",
    "SGD",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "accuracy",
    "batch_norm",
    "batch_norm_backward",
    "bug_of_the_week",
    "check_all",
    "check_between",
    "check_close",
    "check_raises",
    "check_true",
    "cross_entropy",
    "fit",
    "format_value",
    "group_norm",
    "group_norm_backward",
    "instance_norm",
    "instance_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "mlp",
    "not_counted",
    "numerical_gradient",
    "power_iteration",
    "rms_norm",
    "rms_norm_backward",
    "show_progress",
    "spectral_norm",
    "spectral_norm_backward",
    "summary",
    "weight_norm",
    "weight_norm_backward",
    "weight_standardization",
    *_LAZY,
]

hide_check_values()


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'helpers' has no attribute {name!r}")
    value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value  # the next look-up does not come here again
    return value


def __dir__():
    return sorted(__all__)
