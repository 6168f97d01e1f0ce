"""Where the lessons are, and how tests run their cells without a kernel."""

import ast
from pathlib import Path

import matplotlib
import nbformat
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


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
