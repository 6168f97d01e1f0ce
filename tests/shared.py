"""Where the lessons are, and how tests run their cells without a kernel."""

import ast
import base64
import functools
import os
import re
import zlib
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pytest

from helpers import checks
from tools.author.record import without_measured  # noqa: F401 - tests take it from here
from tools.lessons import Lesson, is_hidden  # noqa: F401 - tests take is_hidden from here

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# `make test-everything` sets it: then the costly tests run too, and those of one position take all of them.
EVERYTHING = bool(os.environ.get("EVERYTHING"))
everything = pytest.mark.skipif(not EVERYTHING, reason="slow: `make test-everything` runs it")
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
# For what costs too much to try on every lesson at each commit: one of the first pages, and one with long loops.
EXAMPLES = LESSONS if EVERYTHING else [path for path in LESSONS if path.stem[:2] in ("01", "03")]


@functools.cache
def read(path):
    """The notebook, read once for all tests, which must not change it."""
    return nbformat.read(path, as_version=4)


def question_file(folder, name):
    """Where a lesson of this name keeps its questions, below a folder of lessons that a test makes."""
    path = Path(folder) / name / "questions.toml"
    path.parent.mkdir(exist_ok=True)
    return path


def printed(cell):
    """The text of a code cell's outputs."""
    outputs = cell.get("outputs", [])
    return "\n".join("".join(o.get("text", "")) + "".join(o.get("data", {}).get("text/plain", "")) for o in outputs)


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


def draw(shape, seed=0, dtype=np.float64):
    """Random numbers around 1, for tests that compute."""
    return np.random.default_rng(seed).normal(1.0, 2.0, shape).astype(dtype)


def relative_error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def only_line(capsys):
    """The only line that a check has printed, its rows joined again."""
    text = capsys.readouterr().out.replace("\n" + checks.INDENT, " ")
    assert text.endswith("\n") and text.count("\n") == 1, f"not exactly one line: {text!r}"
    assert len(text) <= checks.LONGEST_LINE + 1
    return text[:-1]


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


def unpack(packed):
    """The text that `helpers.widgets.widget_code.pack` has packed."""
    return zlib.decompress(base64.b64decode(packed)).decode()


def slug(title):
    """The name of a heading in the address of its page, for Sphinx and for sections.js."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@functools.cache
def lesson_of(path):
    """The lesson, read once for all tests."""
    return Lesson(path.stem, read(path))


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
