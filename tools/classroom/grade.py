"""Grade a folder of submitted notebooks into a table, without nbgrader: `make grade FOLDER=submissions`.

submissions/ALICE.ipynb and submissions/ALICE/anything.ipynb are both the work of ALICE. Each notebook runs in a process
of its own, in an empty folder, with limits of time and memory, so that one that loops or crashes costs only its own
results. This is no protection against bad intent: hub/assignments.md names the container for that.
"""

import argparse
import csv
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tools.lessons import ROOT, LessonError, original_of


class GradeError(Exception):
    """Ends the program with one sentence."""


@dataclass
class Row:
    """What the table says of one notebook: `results` has a text for each exercise of its lesson."""

    student: str
    notebook: str
    lesson: str = ""
    results: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    @property
    def passed(self):
        return list(self.results.values()).count("PASS")


def submissions(folder):
    """[(student, path of a notebook)]: of a file the student is its name, of a folder the folder's."""
    clutter = re.compile(r"__MACOSX|\.ipynb_checkpoints|\._.*|\.~.*|\..*")  # of JupyterLab and of unpacking
    found = []
    for path in sorted(folder.rglob("*.ipynb")):
        parts = path.relative_to(folder).parts
        if not any(clutter.fullmatch(part) for part in parts):
            found.append((path.stem if len(parts) == 1 else parts[0], path))
    return found


def code_cells(path):
    """[(number in the notebook, source)] of the code cells without the lesson's own solutions, or ValueError."""
    try:
        cells, found = json.loads(path.read_bytes())["cells"], []
        for number, cell in enumerate(cells, start=1):
            source = "".join(cell["source"])
            source.encode()
            tags = cell.get("metadata", {}).get("tags", [])
            solution = "solution" in tags or "solution=True" in source and "exercise" not in tags
            if cell["cell_type"] == "code" and not solution:
                found.append((number, source))
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("the file is not a notebook, or a damaged one: ask for it again") from None


def all_lessons():
    """{lesson: the names of its exercises}."""
    names = [path.stem for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
    modules = {name: importlib.import_module(f"helpers.lessons.{name}.exercises") for name in names}
    return {name: [exercise.name for exercise in module.EXERCISES] for name, module in modules.items()}


def lesson_of(cells, lessons):
    """The lesson most of whose exercises are named in the cells, or None."""
    words = set(re.findall(r"\w+", "\n".join(source for _, source in cells)))
    best = max(lessons, key=lambda lesson: len(words.intersection(lessons[lesson])))
    return best if words.intersection(lessons[best]) else None


def grade(student, path, lessons, wanted, options):
    """The Row of one submission. It never raises for what is in the notebook."""
    row = Row(student, path.relative_to(options.folder).as_posix())
    try:
        cells = code_cells(path)
        lesson = lesson_of(cells, lessons)
        if not lesson or wanted not in (None, lesson):
            row.notes.append(f"this is lesson {lesson}" if lesson else "it names no exercise of any lesson")
        else:
            row.lesson = lesson
            run(row, cells, lessons[lesson], options)
    except Exception as error:  # whatever it is, the others are graded
        row.notes.append(str(error) if isinstance(error, ValueError) else f"it could not be graded ({error!r})")
    return row


def run(row, cells, names, options):
    """Run cells and checks in a process of their own and fill the row's results and notes."""
    order = {"cells": cells, "exercises": names, "memory": options.memory, "seconds": options.seconds}
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        homes = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR"), folder)
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("grade_one.py"))],
            cwd=folder,
            env={**os.environ, **homes, **threads, "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "HELPERS_STRICT": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            said, lost = process.communicate(json.dumps(order).encode(), timeout=10 * options.seconds)[0], "CRASHED"
        except subprocess.TimeoutExpired:
            end(process)
            said, lost = process.communicate()[0], "TIME"
        finally:
            end(process)
    step = "the start"
    for message in map(json.loads, said.splitlines()):
        step = message.get("step", step)
        row.notes += filter(None, [message.get("note")])
        if "exercise" in message:
            row.results[message["exercise"]] = message["result"]
    for name in names:
        row.results.setdefault(name, f"{lost}: the process ended in the middle of {step}")


def end(process):
    """End the process and, where the system can, what it has started."""
    with suppress(OSError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def plain(text):
    """One line for a cell of a table: no control characters, nothing that a spreadsheet takes for a formula."""
    line = " ".join(str(text).split())
    line = "".join("?" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in line)[:300]
    return "'" + line if line.startswith(("=", "+", "-", "@")) else line


def table(rows, lessons):
    """The rows as lists of texts, a heading first, in an order that does not depend on who was graded first."""
    times = Counter((row.student, row.lesson) for row in rows if row.lesson)
    names = [name for lesson in lessons if any(row.lesson == lesson for row in rows) for name in lessons[lesson]]
    lines = [["student", "lesson", *names, "passed", "of", "note", "notebook"]]
    for row in sorted(rows, key=lambda row: (row.student, row.lesson, row.notebook)):
        twice = times[row.student, row.lesson] > 1
        notes = row.notes + ["this student has several notebooks for this lesson"] * twice
        passed = [row.passed, len(row.results)] if row.lesson else ["", ""]
        results = [row.results.get(name, "") for name in names]
        lines.append(
            [plain(cell) for cell in (row.student, row.lesson, *results, *passed, "; ".join(notes), row.notebook)]
        )
    return lines


def by_mistake(rows):
    """ "9 of 25 my_layer_norm: FAIL: ...", the most frequent first."""
    tried = Counter(name for row in rows for name in row.results)
    said = [(name, plain(text)) for row in rows for name, text in row.results.items()]
    made = Counter(one for one in said if one[1] not in ("PASS", "TODO"))
    return [f"{count} of {tried[name]} {name}: {text}" for (name, text), count in made.most_common()]


def feedback(rows):
    """{student: a text that says of each notebook how many exercises passed, and the result of each}."""
    texts = {}
    for row in sorted(rows, key=lambda row: row.notebook):
        lines = [f"{row.notebook}: {row.passed} of {len(row.results)} passed" if row.lesson else row.notebook]
        lines += [f"{name}: {plain(text)}" for name, text in row.results.items()]
        lines += [f"Note: {plain(note)}" for note in row.notes]
        texts[row.student] = texts.get(row.student, "") + "\n  ".join(lines) + "\n"
    return texts


def write_results(folder, lines, texts):
    """The table beside the folder of submissions, and a text for each student in a folder beside it."""
    with open(folder.with_name(f"{folder.name}_grades.csv"), "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(lines)
    beside = folder.with_name(f"{folder.name}_feedback")
    beside.mkdir(exist_ok=True)
    for student, text in texts.items():
        (beside / f"{student}.txt").write_text(text, encoding="utf-8")


def grade_folder(options, say):
    found = submissions(options.folder) if options.folder.is_dir() else []
    if not found:
        raise GradeError(
            f"There are no notebooks in {options.folder}: put them there, as in {options.folder}/ALICE.ipynb."
        )
    wanted = original_of(options.lesson).stem if options.lesson else None
    lessons, rows = all_lessons(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(grade, *one, lessons, wanted, options) for one in found]
        for done in as_completed(waiting):
            row = done.result()
            rows.append(row)
            passed = f"{row.passed} of {len(row.results)} passed" if row.lesson else "not graded"
            say(f"[{len(rows)}/{len(found)}] {plain(row.notebook)}: {passed}")
    write_results(options.folder, table(rows, lessons), feedback(rows))
    for line in by_mistake(rows):
        say(line)
    say(f"The table is {options.folder}_grades.csv; {options.folder}_feedback/ has a text for each student.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder with the submitted notebooks")
    parser.add_argument("--lesson", default="", help="the lesson that they must be, as in 02; default: any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many notebooks at once")
    parser.add_argument("--seconds", type=float, default=20, help="of computing for each cell")
    parser.add_argument("--memory", type=int, default=2000, help="megabytes for each notebook")
    options = parser.parse_args(arguments)
    try:
        grade_folder(options, partial(print, flush=True))
    except (GradeError, LessonError, OSError) as reason:
        print(str(reason).replace("make reset LESSON=02", "--lesson 02"), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
