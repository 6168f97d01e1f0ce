"""Explorers: Python computes every frame in advance, the browser draws the one the sliders point at."""

from .explorer import Explorer
from .marks import Panel, arrows, bars, cells, lines, points, text

__all__ = ["Explorer", "Panel", "arrows", "bars", "cells", "lines", "points", "text"]
