"""Where the lessons are, and how tests run their cells without a kernel."""

import ast
import base64
import contextlib
import functools
import importlib.util
import inspect
import os
import traceback
import zlib
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pytest

from tools import lessons
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
example_lessons = pytest.mark.parametrize("lesson", EXAMPLES, ids=lambda path: path.stem)
# And for what is the same for all lessons: the one with long loops.
one_lesson = pytest.mark.parametrize("lesson", LESSONS if EVERYTHING else EXAMPLES[1:], ids=lambda path: path.stem)

# `make check` sets it to the names of one lesson and of its exercises: for_each then tries only these.
ONLY = os.environ.get("ONLY", "").split()


def for_each(names, values, *, ids=None, before=None):
    """Try a test with every value, as one test that names all values that fail, each with its own words.

    For lists whose items together have the value of one test; an item of its own costs pytest more time than most of
    them take. `names`, `values` and `ids` are as in `pytest.mark.parametrize`; `before` is called before each value.
    What monkeypatch, capsys and tmp_path give is new for each value. Where ONLY names some of the values, the others
    are left out, and `pytest -k of_this_lesson` finds the test.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    values = list(values)
    assert values, "a test of nothing"
    ids = ids or _shown
    if not callable(ids):
        ids = list(ids)
    wanted = [value for value in values if _name(value if len(names) == 1 else value[0]) in ONLY]
    values = wanted or values

    def decorate(test):
        def of_all(**fixtures):
            failures = {}
            for number, value in enumerate(values):
                chosen = dict(zip(names, [value] if len(names) == 1 else value, strict=True))
                if before:
                    before()
                try:
                    with _new_for_one(fixtures, number) as own:
                        test(**own, **chosen)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
                    if isinstance(failure, pytest.skip.Exception) and not number:
                        raise
                    if "MUTANT_UNDER_TEST" in os.environ:  # one failure is enough for `make mutants`
                        raise
                    named = ", ".join(map(str, map(ids, chosen.values()))) if callable(ids) else ids[number]
                    failures[f"{number}: {named}"] = failure
            if failures:
                told = [f"{len(failures)} of {len(values)} fail:"]
                told += [f"[{name}]\n{_said(failure)}" for name, failure in failures.items()]
                raise AssertionError("\n".join(told)) from next(iter(failures.values()))

        functools.update_wrapper(of_all, test)
        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        of_all.__signature__ = signature.replace(parameters=left)
        if wanted:
            of_all.of_this_lesson = True  # pytest's -k looks at the attributes of a function, too
        return of_all

    return decorate


@contextlib.contextmanager
def _new_for_one(fixtures, number):
    """The fixtures of a test for one of its values."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / str(number)
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        yield own


def _name(value):
    """The name of a lesson, an exercise or a function; None if the value has none."""
    name = getattr(value, "stem", None) or getattr(value, "name", None) or getattr(value, "__name__", None) or value
    return name if isinstance(name, str) else None


def _shown(value):
    """What names a value among others."""
    return repr(value)[:60] if isinstance(value, str) else _name(value) or repr(value)[:60]


def _said(failure):
    """The line of a test that failed, and its words."""
    line = traceback.extract_tb(failure.__traceback__)[1]
    where = "" if line.name == "of_all" else f"line {line.lineno}: {line.line}\n"
    kind = "" if isinstance(failure, AssertionError) else f"{type(failure).__name__}: "
    return f"{where}{kind}{failure}"


in_every_lesson = for_each("lesson", LESSONS)


@functools.cache
def read(path):
    """The notebook, read once for all tests, which must not change it."""
    return nbformat.read(path, as_version=4)


def load_tool(name, root=ROOT):
    """A fresh copy of a script in tools/, as a module."""
    spec = importlib.util.spec_from_file_location(f"fresh_{name}", next((root / "tools").rglob(f"{name}.py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def question_file(folder, name):
    """Where a lesson of this name keeps its questions, below a folder of lessons that a test makes."""
    path = Path(folder) / name / "questions.toml"
    path.parent.mkdir(exist_ok=True)
    return path


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


def unpack(packed):
    """The text that `helpers.widgets.widget_code.pack` has packed."""
    return zlib.decompress(base64.b64decode(packed)).decode()


@functools.cache
def lesson_of(path):
    """The lesson, read once for all tests."""
    return Lesson(path.stem, read(path))


def core_counts(path):
    """{"words": ..., "code lines": ..., "questions": ..., "explorers": ...} of a lesson's core path."""
    return lessons.counts_of(lesson_of(path).core)


def core_minutes(path):
    """How long the core path takes."""
    return lessons.minutes_of(lesson_of(path).core)


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
