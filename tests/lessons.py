"""Where the lessons are, and how tests run their cells without a kernel."""

import ast
import hashlib
import importlib.util
import os
import re
import tomllib
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# For tests that start servers and kernels: `make test-anywhere` runs them, so that `make test` stays quick.
EVERYTHING = bool(os.environ.get("EVERY_LESSON"))
slow = pytest.mark.skipif(not EVERYTHING, reason="slow: `make test-anywhere` runs it")

# The lessons that compute longest: `make test` runs them under nbval only, `make test-anywhere` draws them again, too.
LONG = (
    "02_batch_dependence",
    "03_running_averages",
    "07_group_and_instance_norm",
    "08_power_iteration",
    "09_backward_pass",
    "10_residual_placement",
    "11_training_with_norms",
)

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


def read(path):
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


# What a lesson's minutes are made of. Read by tests/test_notebooks.py, told to authors in CONTRIBUTING.md.
WORDS_PER_MINUTE = 120
CODE_LINES_PER_MINUTE = 6
MINUTES_PER_QUESTION = 1
MINUTES_PER_EXPLORER = 2
LEFT_OUT = ("Deeper", "Exercises", "References")


def core_path(nb):
    """(text, code cells) of the core path: all but what stands under a heading that begins with one of LEFT_OUT."""
    text, code, left_out = [], [], None
    for cell in nb.cells:
        if cell.cell_type == "code":
            code += [cell] if left_out is None else []
            continue
        for line in cell.source.splitlines():
            if heading := re.match(r"(#+) (.+)", line):
                level = len(heading[1])
                if left_out is None or level <= left_out:
                    left_out = level if heading[2].startswith(LEFT_OUT) else None
            text += [line] if left_out is None else []
    return "\n".join(text), code


def is_hidden(cell):
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def core_counts(path):
    """{"words": ..., "code lines": ..., "questions": ..., "explorers": ...} of a lesson's core path."""
    text, code = core_path(read(path))
    everything = "\n".join(cell.source for cell in code)
    visible = [line for cell in code if not is_hidden(cell) for line in cell.source.splitlines()]
    table = tomllib.loads((ROOT / "helpers" / "quiz" / f"{path.stem}.toml").read_text(encoding="utf-8"))
    in_check = sum(question["kind"] == "check" for question in table["question"])
    return {
        "words": len(re.findall(r"[^\W_]\S*", text)),
        "code lines": sum(bool(line.strip()) and not line.startswith("Quiz(") for line in visible),
        "questions": len(re.findall(r"^Quiz\(.*only=", everything, re.MULTILINE)) + in_check,
        "explorers": len(re.findall(r"^Explorer\(", everything, re.MULTILINE)),
    }


def core_minutes(path):
    """How long the core path takes, by the rates above."""
    counts = core_counts(path)
    reading = counts["words"] / WORDS_PER_MINUTE + counts["code lines"] / CODE_LINES_PER_MINUTE
    return reading + counts["questions"] * MINUTES_PER_QUESTION + counts["explorers"] * MINUTES_PER_EXPLORER


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
