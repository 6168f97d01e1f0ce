"""No name is used for two things in a lesson, so that cells run again in another order give the stored text."""

import os
import symtable
import sys
from pathlib import Path

from tests.robustness.conftest import ROOT, load_tool
from tests.robustness.execute import CellExecutionError, Run, record
from tests.shared import every_lesson, example_lessons

made_by = load_tool("missing_name").names_made_by


def read_by(source):
    """The names that a cell needs from others; one that it makes as well counts as its own."""
    todo, found = [symtable.symtable(source, "cell", "exec")], set()
    while todo:
        table = todo.pop()
        top = table.get_type() == "module"
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
        todo += table.get_children()
    return found - made_by(source)


def used_for_two_things(sources):
    """{name: (cells that make it, a cell that reads it)} where a cell reads what more than one other cell makes."""
    found = {}
    for reader, source in enumerate(sources):
        for name in read_by(source):
            makers = [k for k, other in enumerate(sources) if name in made_by(other)]
            if len(makers) > 1:
                found[name] = (makers, reader)
    return found


def lesson_cells(nb):
    """Numbers of the code cells without exercises, which make one function twice, and without the count of all."""
    code = [k for k, cell in enumerate(nb.cells) if cell.cell_type == "code" and cell.source.strip()]
    exercises = [k for k in code if {"exercise", "solution"} & set(nb.cells[k].metadata.get("tags", []))]
    return [k for k in code if k not in exercises and nb.cells[k].source.strip() != "summary()"]


@every_lesson
def test_names_are_made_by_one_other_cell(lesson):
    nb = record.read_notebook(lesson)
    cells = lesson_cells(nb)
    found = used_for_two_things([nb.cells[k].source for k in cells])
    words = [
        f"{name!r} is made in {' and in '.join(record.where(nb, lesson.name, cells[k]) for k in makers)}"
        for name, (makers, _) in found.items()
    ]
    assert words == [], "give the second thing a name of its own"


@every_lesson
def test_no_cell_shares_anothers_generator(lesson):
    """It would draw other numbers when it is run again."""
    nb = record.read_notebook(lesson)
    taken = [record.where(nb, lesson.name, k) for k in lesson_cells(nb) if "rng" in read_by(nb.cells[k].source)]
    assert taken == [], "begin the cell with a generator of its own, rng = np.random.default_rng(...)"


def backwards(lesson):
    """The whole lesson, then each cell once more, the last one first: what differs from the stored text."""
    run = Run(lesson, lesson.parent, ipc=False)
    with run.client.setup_kernel():
        run.everything("run once")
        for k in reversed(lesson_cells(run.nb)):
            try:
                run.cell(k)
                run.compare([k], "backwards")
            except CellExecutionError as error:
                run.findings.append(f"{record.where(run.nb, run.name, k)}: {error.ename}: {error.evalue}")
    return run.findings


@example_lessons
def test_cells_run_from_last_to_first(lesson, run):
    """Each cell meets what later cells have left behind. In a process of its own, as in execute.py."""
    folders = [str(ROOT)]
    result = run(sys.executable, __file__, lesson, PYTHONPATH=os.pathsep.join(folders))
    assert (result.returncode, result.stdout.strip()) == (0, ""), result.stdout + result.stderr[-2000:]


def test_a_name_used_for_two_things_is_noticed():
    sources = ["theory = [1]", "print(theory)", "theory = {0: 1}", "f = lambda: theory[0]", "theory = 3; theory + 1"]
    assert used_for_two_things(sources) == {"theory": ([0, 2, 4], 3)}
    assert used_for_two_things(["x = 1", "x = 2; print(x)", "y = 1", "print(y)"]) == {}
    assert read_by("def f(a):\n    b = a + c\n    return [d for e in b]") == {"c", "d"}


if __name__ == "__main__":
    print("\n".join(backwards(Path(sys.argv[1]))))
