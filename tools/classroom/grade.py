"""Grade a folder of submitted notebooks into a table: `make grade FOLDER=submissions`.

submissions/ALICE.ipynb and submissions/ALICE/anything.ipynb are both the work of ALICE. Each notebook runs in a process
of its own, in an empty folder, with limits of time and memory, so that one that loops or crashes costs only its own
results. This is no protection against bad intent: README.md names the container for that.
"""

import argparse
import csv
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
from pathlib import Path

from tools.lessons import ROOT, LessonError, original_of

CLUTTER = re.compile(r"__MACOSX|\..*")  # of unpacking, and of JupyterLab


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

    @property
    def summary(self):
        score = f"{self.passed} of {len(self.results)} passed" if self.lesson else "not graded"
        return f"{plain(self.notebook)}: {score}"


def submissions(folder):
    """[(student, path of a notebook)]: of a file the student is its name, of a folder the folder's."""
    found = [(path.relative_to(folder).parts, path) for path in sorted(folder.rglob("*.ipynb"))]
    wanted = [(parts, path) for parts, path in found if not any(map(CLUTTER.fullmatch, parts))]
    return [(parts[0].removesuffix(".ipynb"), path) for parts, path in wanted]


def grade(student, path, options):
    """The Row of one submission, from a process of its own."""
    row = Row(student, path.relative_to(options.folder).as_posix())
    said, lost = run(path, options)
    step = "the start"
    with suppress(ValueError, AttributeError):  # of a notebook that writes where only grade_one.py should
        for message in map(json.loads, said.splitlines()):
            step, row.lesson = message.get("step", step), message.get("lesson", row.lesson)
            row.notes += message.get("notes", [])
            row.results |= message.get("results", {})
    lost = f"{lost}: the process ended in the middle of {step}"
    row.results = {name: text or lost for name, text in row.results.items()}
    row.notes = row.notes if row.lesson else row.notes or [lost]
    return row


def run(path, options):
    """What grade_one.py says of a notebook, and what to call it if that is not all."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    ours = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "HELPERS_STRICT": ""}
    order = [path.resolve(), options.lesson, options.seconds, options.memory]
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        homes = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR"), folder)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tools.classroom.grade_one", *map(str, order)],
            cwd=folder,
            env={**os.environ, **threads, **ours, **homes},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.communicate(timeout=10 * options.seconds)[0], "CRASHED"
        except subprocess.TimeoutExpired:
            end(process)
            return process.communicate()[0], "TIME"
        finally:
            end(process)


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


def write_table(path, rows):
    """A line for each row, and a column for each exercise of their lessons."""
    times = Counter((row.student, row.lesson) for row in rows if row.lesson)
    names = dict.fromkeys(name for row in sorted(rows, key=lambda row: row.lesson) for name in row.results)
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, ["student", "lesson", *names, "passed", "of", "note", "notebook"])
        table.writeheader()
        for row in rows:
            twice = times[row.student, row.lesson] > 1
            notes = "; ".join(row.notes + ["this student has several notebooks for this lesson"] * twice)
            counts = {"passed": row.passed, "of": len(row.results)} if row.lesson else {}
            line = {"student": row.student, "lesson": row.lesson, "note": notes, "notebook": row.notebook}
            table.writerow({name: plain(cell) for name, cell in (line | counts | row.results).items()})


def write_feedback(folder, rows):
    """A text for each student: of each notebook how many exercises passed, and the result of each."""
    folder.mkdir(exist_ok=True)
    texts = {}
    for row in rows:
        lines = [row.summary, *(f"{name}: {plain(text)}" for name, text in row.results.items())]
        lines += [f"Note: {plain(note)}" for note in row.notes]
        texts[row.student] = texts.get(row.student, "") + "\n  ".join(lines) + "\n"
    for student, text in texts.items():
        (folder / f"{student}.txt").write_text(text, encoding="utf-8")


def by_mistake(rows):
    """ "9 of 25 my_layer_norm: FAIL: ...", the most frequent first."""
    results = [(name, plain(text)) for row in rows for name, text in row.results.items()]
    tried = Counter(name for name, _ in results)
    made = Counter(result for result in results if result[1] not in ("PASS", "TODO"))
    return [f"{count} of {tried[name]} {name}: {text}" for (name, text), count in made.most_common()]


def grade_folder(options):
    folder, rows = options.folder, []
    found = submissions(folder)
    if not found:
        raise LessonError(f"There are no notebooks in {folder}: put them there, as in {folder}/ALICE.ipynb.")
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(grade, *one, options) for one in found]):
            rows.append(done.result())
            print(f"[{len(rows)}/{len(found)}] {rows[-1].summary}", flush=True)
    rows.sort(key=lambda row: (row.student, row.lesson, row.notebook))
    write_table(folder.with_name(f"{folder.name}_grades.csv"), rows)
    write_feedback(folder.with_name(f"{folder.name}_feedback"), rows)
    for line in by_mistake(rows):
        print(line)
    print(f"The table is {folder}_grades.csv; {folder}_feedback/ has a text for each student.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder with the submitted notebooks")
    parser.add_argument("--lesson", default="", help="the lesson that they must be, as in 02; default: any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many notebooks at once")
    parser.add_argument("--seconds", type=float, default=20, help="of computing for each cell")
    parser.add_argument("--memory", type=int, default=2000, help="megabytes for each notebook")
    options = parser.parse_args(arguments)
    try:
        options.lesson = options.lesson and original_of(options.lesson).stem
        grade_folder(options)
    except (LessonError, OSError) as reason:
        print(reason, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
