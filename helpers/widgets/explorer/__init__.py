"""Explorers: Python computes every frame in advance, the browser draws the one the sliders point at."""

# ruff: noqa: F401 - the names that `helpers` takes from here
from .explorer import Explorer
from .features import feature_bars
from .marks import Panel, Panel3D, arrows, bars, cells, handle, lines, lines3, points, points3, surface3, text
