"""What a lesson itself defines, for conclusions that try it on more than the lesson's own numbers."""

import ast
import dis
import functools
from types import CodeType

from tests.shared import ROOT, read


def from_lesson(lesson, *names, **given):
    """Functions, classes and constants of a notebook: packs, alarm = from_lesson("04", "packs", "alarm").

    What they use is taken along, with one exception: a name that is given has the given value.
    """
    defined = _definitions(lesson)
    needed, to_do = set(), list(names)
    while to_do:
        name = to_do.pop()
        if name in defined and name not in needed and name not in given:
            needed.add(name)
            to_do += [used for code in defined[name] for used in _globals(code)]
    namespace = dict(given, __name__=f"lesson {lesson}")
    for code in dict.fromkeys(code for name, codes in defined.items() if name in needed for code in codes):
        exec(code, namespace)
    namespace |= given
    missing = [name for name in names if name not in namespace]
    assert not missing, f"lesson {lesson} no longer defines {missing}: tests/conclusions took it from there"
    return namespace[names[0]] if len(names) == 1 else [namespace[name] for name in names]


@functools.cache
def _definitions(lesson):
    """For each name of a notebook the code that makes it, from the first cell that does, in the order of the cells."""
    path = next((ROOT / "notebooks").glob(f"{lesson}_*.ipynb"))
    made = {}
    for cell in (cell for cell in read(path).cells if cell.cell_type == "code"):
        in_cell = {}
        for statement in ast.parse(cell.source).body:
            for name, tree in _made_by(statement):
                in_cell.setdefault(name, []).append(compile(ast.Module([tree], []), f"<lesson {lesson}>", "exec"))
        made |= {name: codes for name, codes in in_cell.items() if name not in made}
    return made


def _made_by(statement):
    """The names that a statement defines or changes, each with the code that does it."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        where = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
        names = [(alias.asname or alias.name, ast.unparse(alias)) for alias in statement.names]
        return [(name, ast.parse(f"{where}import {written}").body[0]) for name, written in names]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [(statement.name, statement)]
    targets = getattr(statement, "targets", [])
    return [(node.id, statement) for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _globals(code):
    """The names that code takes from outside, with those of the functions in it."""
    steps = [step for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [step.argval for step in steps] + [name for part in inner for name in _globals(part)]
