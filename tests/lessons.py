"""Where the lessons are, and how tests run their cells without a kernel."""

import ast
import functools
import hashlib
import importlib.util
import os
from pathlib import Path

import matplotlib
import minutes
import nbformat
import numpy as np
import pytest
from minutes import is_hidden  # noqa: F401 - tests take it from here

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# For tests that start servers and kernels: `make test-anywhere` runs them, so that `make test` stays quick.
EVERYTHING = bool(os.environ.get("EVERY_LESSON"))
slow = pytest.mark.skipif(not EVERYTHING, reason="slow: `make test-anywhere` runs it")

# With ROTATE set (.ci/run sets it to the commit) a costly test takes some of the lessons, other ones at each commit, so
# that the time does not grow with their number. `make test-anywhere` and `make test-browser` take all.
ROTATE = os.environ.get("ROTATE", "")


def rotate(items, count, test):
    """All items, or with ROTATE `count` of them that depend on it and on the test's name."""
    if not ROTATE:
        return list(items)
    start = int(hashlib.sha256(f"{ROTATE} {test}".encode()).hexdigest(), 16)
    chosen = {(start + k) % len(items) for k in range(min(count, len(items)))}
    return [items[k] for k in sorted(chosen)]


def some_lessons(count, test):
    """A parametrization over `lesson`: every lesson, or `count` of them with ROTATE."""
    return pytest.mark.parametrize("lesson", rotate(LESSONS, count, test), ids=lambda path: path.stem)


@functools.cache
def read(path):
    """The notebook, read once for all tests, which must not change it."""
    return nbformat.read(path, as_version=4)


def load_tool(name, root=ROOT):
    """A fresh copy of a script in tools/, as a module."""
    spec = importlib.util.spec_from_file_location(f"fresh_{name}", root / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_lesson(path):
    """Run all code cells in one namespace; returns what each cell would display, as a list."""
    matplotlib.use("agg")
    namespace, shown = {"__name__": "lesson"}, []
    for cell in read(path).cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), namespace)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), namespace))
    return shown


def decode_frames(spec, data):
    """What an explorer sends to the browser, as stage.js reads it: for each mark {name: a row for each position}."""
    blocks, marks = iter(data), []
    for mark in spec["marks"]:
        arrays = {}
        for array in mark["arrays"]:
            rows = np.frombuffer(next(blocks), dtype=array["dtype"]).reshape(-1, array["size"])
            arrays[array["name"]] = rows[np.frombuffer(next(blocks), dtype=array["row_dtype"])]
        marks.append(arrays)
    return marks


def core_parts(path):
    return [part for part in minutes.parts_of(read(path), minutes.checks_in(path.stem)) if part.core]


def core_counts(path):
    """{"words": ..., "code lines": ..., "questions": ..., "explorers": ...} of a lesson's core path."""
    return minutes.counts_of(core_parts(path))


def core_minutes(path):
    """How long the core path takes."""
    return minutes.minutes_of(core_parts(path))


# The shortest good file of questions, for tests that spoil or extend it.
GOOD_FILE = """\
title = "Test"

[[question]]
key = "one"
kind = "check"
prompt = "What is `1 < 2`?"

[[question.option]]
text = "`True`"
right = true
why = "One is smaller."

[[question.option]]
text = "`False`"
why = "One is not larger."

[[question.option]]
text = "An error"
why = "Numbers compare."
"""
