"""Grade a folder of submitted notebooks into a table, without nbgrader.

    python tools/grade.py submissions                  one row for each notebook, in submissions_grades.csv
    python tools/grade.py submissions --lesson 02      what is not lesson 02 is said in the column `note`

submissions/ALICE.ipynb and submissions/ALICE/anything.ipynb are both the work of ALICE: a lesson as it is in workbook/,
or an assignment made by tools/assignment.py. Each notebook is run in a process of its own, in an empty folder, with
limits of time and memory (tools/grade_one.py); the lesson's solution cells are left out. Its exercises are then checked
with this repository's helpers, so nothing that the notebook prints or changes counts. The submissions are only read.
"""

import argparse
import csv
import functools
import importlib
import json
import os
import queue
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from workbook import ROOT, WorkbookError, find_lesson

ONE = Path(__file__).with_name("grade_one.py")
LARGEST_NOTEBOOK = 50_000_000  # bytes
LARGEST_FOLDER = 200_000_000  # bytes that a notebook may write
LONGEST_WORDS = 300
TRIES = 4  # a cell that ends the process is left out, and the notebook begun again
# The kinds of a result, as they stand in the table.
PASS, FAIL, TODO, TIME, MEMORY, CRASHED = "PASS", "FAIL", "TODO", "TIME", "MEMORY", "CRASHED"
# What a submission may know of the teacher's environment.
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "WINDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE")


class GradeError(Exception):
    """Ends the program with one sentence."""


@dataclass(frozen=True)
class Limits:
    seconds: float = 20  # of computing, for one cell or one check
    memory: int = 2000  # megabytes
    closed: str = ""  # the folder of the submissions, which none of them may read


@dataclass
class Row:
    """What the table says of one notebook: `results` has a text for each exercise of its lesson."""

    student: str
    notebook: str
    lesson: str = ""
    results: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)


# ------------------------------------------------------------------------------------------- what was submitted


def submissions(folder):
    """[(student, path of a notebook or None, its name for the table)] and the names of what is no notebook."""
    found, others = [], []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__MACOSX")):
            continue
        if path.is_dir():
            inside = sorted(
                p for p in path.rglob("*.ipynb") if not any(is_clutter(part) for part in p.relative_to(folder).parts)
            )
            found += [(path.name, p, p.relative_to(folder).as_posix()) for p in inside] or [
                (path.name, None, path.name)
            ]
        elif path.suffix == ".ipynb":
            found.append((path.stem, path, path.name))
        else:
            others.append(path.name)
    return found, others


def is_clutter(name):
    """What JupyterLab and unpacking leave beside the notebooks."""
    return name == "__MACOSX" or name.startswith((".ipynb_checkpoints", "._", ".~"))


def code_cells(path):
    """[(number in the notebook, source)] of the code cells, or ValueError with a sentence.

    The lesson's own solutions are left out: they would stand in the place of the learner's.
    """
    if not path.is_file():
        raise ValueError("this is not a file")
    if path.stat().st_size > LARGEST_NOTEBOOK:
        raise ValueError(f"the file is larger than {LARGEST_NOTEBOOK // 10**6} MB: ask for it without outputs")
    try:
        cells = json.loads(path.read_bytes())["cells"]
        found = []
        for number, cell in enumerate(cells, start=1):
            if cell["cell_type"] == "code":
                source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
                source.encode()
                if not is_solution(source, cell.get("metadata", {}).get("tags", [])):
                    found.append((number, source))
    except OSError as error:
        raise ValueError(f"the file cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("the file is not a notebook, or a damaged one: ask for it again") from None
    return found


def is_solution(source, tags):
    """Whether a cell is the lesson's solution, also where a program has dropped the tags."""
    return "solution" in tags or "solution=True" in source and "exercise" not in tags


def all_lessons():
    """{lesson: the names of its exercises}."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        exercises = importlib.import_module(f"helpers.exercises.{path.stem.split('_', 1)[1]}").EXERCISES
        found[path.stem] = [exercise.name for exercise in exercises]
    return found


def lesson_of(cells, lessons):
    """The lesson most of whose exercises are named in the cells, or None."""
    words = set(re.findall(r"\w+", "\n".join(source for _, source in cells)))
    named = {lesson: len(words.intersection(names)) for lesson, names in lessons.items()}
    best = max(named, key=named.get)
    return best if named[best] else None


# --------------------------------------------------------------------------------------------- running one notebook


def grade(student, path, name, lessons, wanted, limits, stop):
    """The Row of one submission. It never raises for what is in the notebook."""
    row = Row(student, name)
    if path is None:
        row.notes.append("no notebook (.ipynb) is in this folder")
        return row
    try:
        cells = code_cells(path)
    except ValueError as reason:
        row.notes.append(str(reason))
        return row
    lesson = lesson_of(cells, lessons)
    if wanted and lesson != wanted:
        row.notes.append(f"this is lesson {lesson}" if lesson else "it names no exercise of this lesson")
        return row
    if not lesson:
        row.notes.append("it names no exercise of any lesson" if cells else "it has no code cells")
        return row
    row.lesson = lesson
    try:
        run(row, cells, lessons[lesson], limits, stop)
    except GradeError:
        raise
    except Exception as error:  # whatever it is, the others are graded
        row.notes.append(f"it could not be graded ({type(error).__name__}: {error})")
    return row


def run(row, cells, exercises, limits, stop):
    """Fill the row's results and notes. A cell or check that ends the process is left out, and the rest begun again."""
    left_out = {}  # number of a cell, or name of an exercise -> what it did
    until = time.monotonic() + 30 * limits.seconds
    for _ in range(TRIES):
        kept = [cell for cell in cells if cell[0] not in left_out]
        names = [name for name in exercises if name not in left_out]
        answers, step, reason = run_once(kept, names, limits, until, stop)
        if reason is None:
            break
        left_out[step] = reason
    sources = dict(cells)
    for name in exercises:
        lost = [why for n, why in left_out.items() if n in sources and defines(sources[n], name)]
        answer = answers.get(name)
        if name in left_out or lost and (not answer or answer.get("missing")):
            row.results[name] = left_out.get(name) or lost[-1]
        elif answer:
            kind = {True: PASS, None: TODO, False: FAIL}[answer["passed"]]
            row.results[name] = f"{FAIL}: {answer['text']}" if kind == FAIL else kind
        else:
            row.results[name] = reason
    missing = [name for name in exercises if answers.get(name, {}).get("missing") and row.results[name] == TODO]
    if missing:
        row.notes.append(f"not in the notebook under this name: {', '.join(missing)}")
    row.notes += [f"{why}; the rest is graded without it" for step, why in left_out.items() if step in sources]


def defines(source, name):
    return re.search(rf"^(?:def|class) {name}\b|^{name} *=", source, re.MULTILINE)


def run_once(cells, exercises, limits, until, stop):
    """Run the cells and checks in a process of their own: ({exercise: answer}, the last step, why it ended there).

    The reason is None if all went well.
    """
    token, mark = secrets.token_hex(), secrets.token_hex()
    folder = Path(tempfile.mkdtemp(prefix="grading-")).resolve()
    order = {
        "token": token,
        "cells": cells,
        "exercises": exercises,
        "closed": [limits.closed],
        "memory": limits.memory * 10**6,
        "seconds": limits.seconds,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", str(ONE)],
        cwd=folder,
        env=environment(folder, mark),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    messages = queue.Queue()
    threading.Thread(target=listen, args=(process.stdout, token, messages), daemon=True).start()
    try:
        with suppress(OSError), process.stdin:  # it may have ended already
            process.stdin.write(json.dumps(order).encode() + b"\n")
        return follow(process, messages, folder, limits, until, stop)
    finally:
        end_all(process, mark)
        shutil.rmtree(folder, ignore_errors=True)


def environment(folder, mark):
    """Few of the teacher's variables, no one's settings, and a mark that everything it starts inherits."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    homes = dict.fromkeys(
        ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"), str(folder)
    )
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    quick = {"MPLBACKEND": "agg", "MPLCONFIGDIR": matplotlib_folder(), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **homes, **one_thread, **quick, "PYTHONHASHSEED": "0", "GRADING": mark}


@functools.cache
def matplotlib_folder():
    """Where matplotlib keeps its list of fonts. It takes seconds to make; the import makes it if there is none."""
    import matplotlib.font_manager

    return matplotlib.get_cachedir()


def listen(pipe, token, messages):
    """Put what comes from tools/grade_one.py into the queue; what does not know the token is not from there."""
    with suppress(ValueError, OSError), pipe:
        for _ in range(100_000):
            line = pipe.readline(1_000_000)
            if not line:
                break
            with suppress(ValueError, TypeError, AttributeError, RecursionError):
                message = json.loads(line)
                if message.pop("token", None) == token:
                    messages.put(message)
    messages.put(None)


def follow(process, messages, folder, limits, until, stop):
    """Wait for the end, or for a limit: (answers, last step, reason or None)."""
    answers, step = {}, "start"
    watched = psutil.Process(process.pid)
    computed, since, looked = 0.0, time.monotonic(), time.monotonic()
    while True:
        with suppress(queue.Empty):
            message = messages.get(timeout=0.05)
            if message is None:
                return answers, step, f"{CRASHED}: the process ended in the middle of {what(step)}"
            if "trouble" in message:
                raise GradeError(f"Nothing can be graded on this computer: {message['trouble']}")
            if "exercise" in message:
                answers[message["exercise"]] = message
            if "step" in message:
                step, since, computed = message["step"], time.monotonic(), computing(watched)
            if message.get("ended") == "memory":
                return answers, step, f"{MEMORY}: {what(step)} needs more than {limits.memory} MB"
            if message.get("ended") == "well":
                return answers, step, None
            continue
        now = time.monotonic()
        if stop.is_set():
            return answers, step, f"{CRASHED}: the grading was interrupted"
        if computing(watched) - computed > limits.seconds or now - since > 4 * limits.seconds or now > until:
            return answers, step, f"{TIME}: {what(step)} did not end within {limits.seconds:g} seconds"
        if memory_of(watched) > limits.memory * 10**6:
            return answers, step, f"{MEMORY}: {what(step)} needs more than {limits.memory} MB"
        if now - looked > 0.5:
            looked = now
            if size_of(folder) > LARGEST_FOLDER:
                return answers, step, f"{CRASHED}: {what(step)} writes more than {LARGEST_FOLDER // 10**6} MB"


def what(step):
    return f"cell {step}" if isinstance(step, int) else step


def computing(watched):
    """Seconds of processor time."""
    with suppress(psutil.Error):
        times = watched.cpu_times()
        return times.user + times.system
    return 0.0


def memory_of(watched):
    with suppress(psutil.Error):
        return watched.memory_info().rss
    return 0


def size_of(folder):
    with suppress(OSError):
        return sum(path.lstat().st_size for path in folder.rglob("*"))
    return 0


def end_all(process, mark):
    """End the process and whatever carries its mark, wherever it has gone."""
    process.kill()
    process.wait()
    for other in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if other.environ().get("GRADING") == mark:
                other.kill()


# ----------------------------------------------------------------------------------------------------- the table


def plain(text):
    """One line for a cell of a table: no control characters, nothing that a spreadsheet takes for a formula."""
    text = "".join("?" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in " ".join(str(text).split()))
    text = text if len(text) <= LONGEST_WORDS else text[: LONGEST_WORDS - 3] + "..."
    return "'" + text if text.startswith(("=", "+", "-", "@")) else text


def table(rows, lessons):
    """The rows as lists of texts, a heading first. The order of the rows does not depend on who was graded first."""
    rows = sorted(rows, key=lambda row: (row.student, row.lesson, row.notebook))
    times = Counter((row.student, row.lesson) for row in rows if row.lesson)
    used = {row.lesson for row in rows}
    names = [name for lesson, exercises in lessons.items() if lesson in used for name in exercises]
    lines = [["student", "lesson", *names, "passed", "of", "note", "notebook"]]
    for row in rows:
        count = times[row.student, row.lesson]
        notes = row.notes + ([f"one of {count} notebooks of this student for this lesson"] if count > 1 else [])
        counts = [count_passed(row), len(row.results)] if row.lesson else ["", ""]
        results = [row.results.get(name, "") for name in names]
        lines.append(
            [plain(text) for text in [row.student, row.lesson, *results, *counts, "; ".join(notes), row.notebook]]
        )
    return lines


def count_passed(row):
    return sum(result == PASS for result in row.results.values())


def write_table(path, lines):
    # With a byte order mark, so that Excel reads UTF-8; all in quotes, so that another separator finds no new cell.
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(lines)


def summary(rows):
    kinds = Counter(result.split(":")[0] for row in rows for result in row.results.values())
    unread = sum(not row.lesson for row in rows)
    counts = [f"{kinds[kind]} {kind}" for kind in (PASS, FAIL, TODO, TIME, MEMORY, CRASHED) if kinds[kind]]
    line = f"{len(rows)} {'notebook' if len(rows) == 1 else 'notebooks'}: {', '.join(counts) or 'no exercise graded'}"
    return line + (f"; {unread} not graded, see the column `note`" if unread else "")


# -------------------------------------------------------------------------------------------------------- command


def grade_all(found, grade_one, path, lessons, jobs, say):
    """Grade what was found, a few at once; write the table after each one; return the rows."""
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(grade_one, student, notebook, name) for student, notebook, name in found]
        try:
            for done in as_completed(waiting):
                row = done.result()
                rows.append(row)
                with suppress(OSError):  # open in another program; at the end it gets another name
                    write_table(path, table(rows, lessons))
                result = f"{count_passed(row)} of {len(row.results)} passed" if row.lesson else "not graded"
                say(f"[{len(rows):{len(str(len(found)))}d}/{len(found)}] {plain(row.notebook)}: {result}")
        except BaseException:
            grade_one.keywords["stop"].set()
            pool.shutdown(cancel_futures=True)
            raise
    return rows


def checked_folder(text):
    if not text.strip() or not Path(text).is_dir():
        said = f"There is no folder {text!r}" if text.strip() else "No folder is named"
        raise GradeError(f"{said}: say where the notebooks are, as in `make grade FOLDER=submissions`.")
    folder = Path(text).resolve()
    if any(Path(needed).resolve().is_relative_to(folder) for needed in (ROOT, sys.prefix, tempfile.gettempdir())):
        raise GradeError(
            f"{folder} holds more than submissions, which may not be read: give them a folder of their own."
        )
    return folder


def check_writable(path):
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        fix = "close it in the other program, or name another file with --csv"
        raise GradeError(f"{path} cannot be written ({error.strerror}): {fix}.") from None


def save(path, lines):
    """Write the table; under another name if the file has been opened in another program meanwhile."""
    try:
        write_table(path, lines)
    except OSError:
        path = path.with_name(f"{path.stem}_{time.strftime('%H%M%S')}{path.suffix}")
        write_table(path, lines)
    return path


def grade_folder(options, say=print):
    folder = checked_folder(options.folder)
    if min(options.jobs, options.seconds, options.memory) <= 0:
        raise GradeError("--jobs, --seconds and --memory must be more than 0.")
    wanted = find_lesson(ROOT, options.lesson).stem if options.lesson else None
    found, others = submissions(folder)
    if not any(notebook for _, notebook, _ in found):
        example = f"{folder.name}/ALICE.ipynb or {folder.name}/ALICE/02_batch_dependence.ipynb"
        raise GradeError(f"There is no notebook in {folder}: put them there, as in {example}.")
    if others:
        say(f"Left out, since they are no notebooks (.ipynb): {plain(', '.join(others))}")
    path = options.csv or folder.with_name(f"{folder.name}_grades.csv")
    check_writable(path)
    lessons = all_lessons()
    limits = Limits(options.seconds, options.memory, str(folder))
    one = functools.partial(grade, lessons=lessons, wanted=wanted, limits=limits, stop=threading.Event())
    rows = grade_all(found, one, path, lessons, options.jobs, say)
    path = save(path, table(rows, lessons))
    say(f"{summary(rows)}. The table: {path}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the folder with the submitted notebooks")
    parser.add_argument("--lesson", default="", help="the lesson they should be, as in 02; default: any")
    parser.add_argument("--csv", type=Path, help="the table to write; default: beside the folder, FOLDER_grades.csv")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many notebooks at once")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="of computing for each cell")
    parser.add_argument("--memory", type=int, default=Limits.memory, help="megabytes for each notebook")
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the screen cannot show must not end the grading
            stream.reconfigure(errors="replace")
    try:
        grade_folder(options, functools.partial(print, flush=True))
    except (GradeError, WorkbookError) as reason:
        print(str(reason).replace("make reset LESSON=02", "--lesson 02"), file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or 'A file'} could not be used ({error.strerror}): mend that.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: the table holds what was graded so far.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
