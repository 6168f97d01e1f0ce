"""Make an assignment for nbgrader from the exercises of a lesson.

    python -m tools.classroom.assignment 02                        into assignments/source/, 2 points an exercise
    python -m tools.classroom.assignment 02 --points 5             other points
    python -m tools.classroom.assignment 02 --course ../my_course  another course folder

The notebook holds, for each exercise of the lesson, its text, the stub with the solution marked for nbgrader, and a
locked test cell with a hidden test. Beside the course's `source/` an nbgrader_config.py is written, if there is none.
Students need no nbgrader. What to do next: tools/classroom/hub/assignments.md.
"""

import argparse
import ast
import builtins
import hashlib
import json
import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.author.record import notebook_bytes, read_notebook
from tools.lessons import ROOT, LessonError, original_of, write_atomically

KEY = "normalization_notebooks"  # the entry in the notebook's metadata
SCHEMA = 3  # of nbgrader's cell metadata, since nbgrader 0.6
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
INTRODUCTION = """\
# {title}: assignment

{points:g} points. {exercises}

Keep this notebook in a folder of the lessons, `workbook/` for example, or copy the folder `helpers` beside it. Leave
the names of the functions and the locked cells as they are.
"""
CONFIG = '''\
"""nbgrader's settings for this course; made by tools/classroom/assignment.py, which does not change it again."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.ClearSolutions.code_stub = {{"python": "..."}}
# Where helpers/ lies, for notebooks that are graded outside of the lessons' folder; and the programs nbgrader calls.
os.environ["PYTHONPATH"] = os.pathsep.join([{root!r}, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
'''


class AssignmentError(Exception):
    """Ends the program with one sentence."""


# --------------------------------------------------------------------------------------------- reading a lesson


def tags(cell):
    return cell.metadata.get("tags", [])


def exercise_name(cell):
    return re.search(r'check_exercise\(\s*"(\w+)"', cell.source)[1]


def text_before(cells, stub):
    """The text of an exercise: from the last heading above its stub on."""
    source = cells[cells.index(stub) - 1].source
    return source[source.rindex("### ") :]


def section_text(nb, heading):
    """What stands below a `## heading` before the next heading; empty when there is no such section."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            found = re.search(rf"^## {heading}\n+(.*?)(?=\n#|\Z)", cell.source, re.MULTILINE | re.DOTALL)
            if found:
                return found[1].strip()
    return ""


def loaded_and_made(source):
    """(the names that a piece of code looks up, the names it gives at its top level)."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    loaded = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    made = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    simple = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AugAssign, ast.Import, ast.ImportFrom))]
    for node in (each for statement in simple for each in ast.walk(statement)):
        if isinstance(node, ast.alias):
            made.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
    return loaded, made


def cells_needed(cells, stub, setup):
    """The lesson's cells between setup and stub in which names are made that the stub uses, and those that they use.

    An argument of the same name counts as well: what the lesson gives it is there to try the function on.
    """
    wanted = [loaded_and_made(stub.source)[0]]
    known = loaded_and_made(setup.source)[1] | set(dir(builtins))
    needed = []
    for cell in reversed(cells[: cells.index(stub)]):
        if cell.cell_type != "code" or cell is setup or {"picture", "exercise", "solution"} & set(tags(cell)):
            continue
        loaded, made = loaded_and_made(cell.source)
        if made & set().union(*wanted) - known:
            needed.insert(0, cell)
            wanted.append(loaded)
    return needed


def with_texts(cells, needed):
    """The needed cells, and the texts from the heading of their section to the last of them."""
    if not needed:
        return []
    first, last = cells.index(needed[0]), cells.index(needed[-1])
    while first and not (
        cells[first].cell_type == "markdown" and re.search(r"^## ", cells[first].source, re.MULTILINE)
    ):
        first -= 1
    heading = new_markdown_cell(re.search(r"^## .*", cells[first].source, re.MULTILINE | re.DOTALL)[0])
    return [heading, *(cell for cell in cells[first + 1 : last + 1] if cell.cell_type == "markdown" or cell in needed)]


# ---------------------------------------------------------------------------------------------- stub and solution


def functions(tree):
    """{("class", "function"): node} of the functions and methods of a cell."""
    found = {}
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        outer = node.name if isinstance(node, ast.ClassDef) else ""
        found |= {(outer, f.name): f for f in inside if isinstance(f, ast.FunctionDef)}
    return found


def is_dots(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def with_solution(stub, solution):
    """The stub's code with the solution's lines, marked, in the place of its dots."""
    lines, answers = stub.splitlines(), functions(ast.parse(solution))
    for key, function in reversed(functions(ast.parse(stub)).items()):
        for dots in filter(is_dots, function.body):
            body = answers[key].body
            indent = " " * dots.col_offset
            answer = solution.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
            lines[dots.lineno - 1 : dots.end_lineno] = [indent + BEGIN, *answer, indent + END]
    return "\n".join(lines)


# ----------------------------------------------------------------------------------------------- the assignment


def for_nbgrader(cell, grade_id, **more):
    """The cell with nbgrader's metadata; `grade_id` is its id, too, so that two runs give the same bytes."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    cell.metadata["nbgrader"] = {"schema_version": SCHEMA, "grade_id": grade_id, **plain, **more}
    cell.id = grade_id
    return cell


def copied(cell, grade_id):
    make = new_markdown_cell if cell.cell_type == "markdown" else new_code_cell
    return make(cell.source, id=grade_id)


def test_cell(name, points):
    source = f"""\
# Test of {name}, {points:g} points. The cell is locked: it is filled in when the work is graded.
### BEGIN HIDDEN TESTS
from helpers import check_exercise

passed = check_exercise("{name}", {name}, graded=True)
assert passed, "no points; the line above says why"
### END HIDDEN TESTS"""
    return for_nbgrader(new_code_cell(source), f"test-{name}", grade=True, locked=True, points=points)


def make_assignment(path, points):
    """The source notebook for nbgrader, from the lesson in the file `path`."""
    nb = read_notebook(path)
    cells = nb.cells
    setup = next(cell for cell in cells if "setup" in tags(cell))
    solutions = {exercise_name(cell): cell.source for cell in cells if "solution" in tags(cell)}
    stubs = [cell for cell in cells if "exercise" in tags(cell)]
    title = re.match(r"# ([^:\n]+)", cells[0].source)[1].strip()
    intro = INTRODUCTION.format(title=title, points=len(stubs) * points, exercises=section_text(nb, "Exercises"))
    made = [
        for_nbgrader(new_markdown_cell(intro), "introduction", locked=True),
        for_nbgrader(new_code_cell(setup.source, metadata=folded()), "setup", locked=True),
    ]
    for stub in stubs:
        name = exercise_name(stub)
        given = with_texts(cells, cells_needed(cells, stub, setup))
        made += [copied(cell, f"given-{number}-{name}") for number, cell in enumerate(given, start=1)]
        made.append(for_nbgrader(new_markdown_cell(text_before(cells, stub)), f"text-{name}", locked=True))
        source = with_solution(stub.source, solutions[name])
        if BEGIN in source:
            made.append(for_nbgrader(new_code_cell(source), f"answer-{name}", solution=True))
        else:  # what is handed in stands in the cells above; nbgrader would replace a cell without marks by "..."
            made.append(new_code_cell(source, id=f"answer-{name}"))
        made.append(test_cell(name, points))
    metadata = {key: nb.metadata[key] for key in ("kernelspec", "language_info")}
    assignment = new_notebook(cells=made, metadata=metadata)
    assignment.metadata[KEY] = {"assignment": path.stem, "made": digest(assignment)}
    return assignment


def folded():
    return {"jupyter": {"source_hidden": True}, "tags": ["setup"]}


def digest(nb):
    """A hash of what nbgrader reads: kinds, texts, and its own metadata with the points."""
    cells = [[cell.cell_type, cell.source, cell.metadata.get("nbgrader")] for cell in nb.cells]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def is_ours(path):
    """Whether the file is still as this program wrote it."""
    try:
        nb = nbformat.read(path, as_version=4)
        return nb.metadata[KEY]["made"] == digest(nb)
    except Exception:
        return False


def write_assignment(lesson, course, points, root=ROOT):
    """Write the source notebook and, if there is none, the settings; return the notebook's path."""
    path = original_of(lesson, root)
    assignment = make_assignment(path, points)
    target = course / "source" / path.stem / path.name
    if target.exists() and not is_ours(target):
        raise AssignmentError(
            f"{target} has been changed and was left as it is: move it away and run the command again."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, notebook_bytes(assignment))
    config = course / "nbgrader_config.py"
    if not config.exists():
        write_atomically(config, CONFIG.format(root=str(root)).encode())
    return target


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lesson", nargs="?", default="", help="the lesson's number, as in 02")
    parser.add_argument("--points", type=float, default=2, help="for each exercise")
    parser.add_argument("--course", type=Path, default=ROOT / "assignments", help="nbgrader's course folder")
    options = parser.parse_args(arguments)
    try:
        if not options.lesson.strip():
            raise AssignmentError("Name the lesson, as in `make assignment LESSON=02`.")
        if not 0 < options.points < float("inf"):
            raise AssignmentError("--points must be more than 0.")
        course = options.course.resolve()
        target = write_assignment(options.lesson, course, options.points)
    except (AssignmentError, LessonError) as reason:
        print(str(reason).replace("make reset", "make assignment"), file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename} could not be written ({error.strerror}).", file=sys.stderr)
        return 1
    print(f"{target} is written. In {course}: nbgrader generate_assignment {target.stem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
