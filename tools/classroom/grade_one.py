"""Grade one submitted notebook; grade.py starts this program once for each of them.

What is found out goes to standard output at once, as lines of JSON, so that it is known if the process ends.
"""

import importlib
import json
import os
import re
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from helpers.exercises import all_exercises, checker
from tools.lessons import ROOT, tags_of, text


class OutOfTime(BaseException):
    """Raised in a cell that has computed for too long."""


def main():
    ours, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for theirs in (1, 2):  # from here on, what is printed goes nowhere
        os.dup2(nowhere, theirs)
    grade(*sys.argv[1:], say=lambda **message: os.write(ours, json.dumps(message).encode() + b"\n"))


def grade(path, wanted, seconds, memory, say):
    try:
        cells = code_cells(Path(path))
        lesson, names = lesson_of(cells, all_lessons())
    except Exception:
        return say(notes=["the file is not a notebook, or a damaged one: ask for it again"])
    if not lesson or wanted not in ("", lesson):
        return say(notes=[f"this is lesson {lesson}" if lesson else "it names no exercise of any lesson"])
    say(lesson=lesson, results=dict.fromkeys(names))
    limit_memory(int(memory))
    shell, errors = new_shell(), {}
    for number, source in cells:
        say(step=f"cell {number}")
        error = errors[number] = run_cell(shell, source, float(seconds))
        if isinstance(error, (OutOfTime, MemoryError)):
            say(notes=[f"cell {number} {problem(error)}; the rest is graded without it"])
    for name in names:
        say(step=name)
        if name in shell.user_ns:
            passed, words = checker.diagnose(all_exercises()[name], shell.user_ns[name])
        else:
            words = why_missing(name, cells, errors)
            passed = False if words else None
            say(notes=[] if words else [f"{name} is not in the notebook"])
        say(results={name: {True: "PASS", None: "TODO", False: f"FAIL: {words}"}[passed]})


def code_cells(path):
    """[(number in the notebook, source)] of the code cells without the lesson's own solutions."""
    found = []
    for number, cell in enumerate(json.loads(path.read_bytes())["cells"], start=1):
        source, tags = text(cell["source"]), tags_of(cell)
        solution = "solution" in tags or "solution=True" in source and "exercise" not in tags
        if cell["cell_type"] == "code" and not solution:
            found.append((number, source))
    return found


def all_lessons():
    """{lesson: the names of its exercises}."""
    lessons = [path.parent.name for path in sorted((ROOT / "helpers" / "lessons").glob("*/exercises.py"))]
    modules = {lesson: importlib.import_module(f"helpers.lessons.{lesson}.exercises") for lesson in lessons}
    return {lesson: [exercise.name for exercise in module.EXERCISES] for lesson, module in modules.items()}


def lesson_of(cells, lessons):
    """(the lesson most of whose exercises are named in the cells, their names), or (None, [])."""
    words = set(re.findall(r"\w+", "\n".join(source for _, source in cells)))
    lesson = max(lessons, key=lambda lesson: len(words.intersection(lessons[lesson])))
    return (lesson, lessons[lesson]) if words.intersection(lessons[lesson]) else (None, [])


def new_shell():
    """What runs a notebook's cells in Jupyter, without a history and without pictures of results."""
    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=settings)
    shell.display_formatter.active_types = ["text/plain"]
    shell._tee = lambda channel: nullcontext()  # newer IPython keeps all that is printed, gigabytes if need be
    return shell


def limit_memory(megabytes):
    with suppress(ImportError, ValueError, OSError):  # Windows has no such module, and macOS no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 10**6, megabytes * 10**6))


def limit_time(seconds):
    """Raise OutOfTime after so many seconds of computing; 0 for never. On Windows, grade.py ends the notebook."""

    def stop(*_):
        raise OutOfTime

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def run_cell(shell, source, seconds):
    """Run a cell as Jupyter does; return what it raised, or None."""
    try:
        limit_time(seconds)
        result = shell.run_cell(source, silent=True)
        return result.error_before_exec or result.error_in_exec
    except BaseException as error:  # too long, Ctrl-C raised by the cell itself, or trouble in showing its error
        return error
    finally:
        limit_time(0)


def problem(error):
    if isinstance(error, SyntaxError):
        return f"stops with SyntaxError: {error.msg} (line {error.lineno})"
    known = {OutOfTime: "computes for too long", MemoryError: "needs too much memory"}
    return known.get(type(error), f"stops with {type(error).__name__}: {error}")


def why_missing(name, cells, errors):
    """Why there is no such name when all cells have run: its cell failed, or there is none."""
    made = re.compile(rf"^(?:def|class) {name}\b|^{name} *=", re.MULTILINE)
    return next((f"its cell {problem(errors[n])}" for n, source in cells if errors[n] and made.search(source)), "")


if __name__ == "__main__":
    main()
    os._exit(0)  # at once, whatever the notebook has left running
