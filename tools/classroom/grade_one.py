"""Runs the cells of one submitted notebook and checks its exercises; grade.py starts it, once for each notebook.

The order comes as JSON on standard input, what happened goes back as lines of JSON on standard output.
"""

import json
import os
import re
import signal
import sys
from contextlib import nullcontext, suppress
from pathlib import Path


class OutOfTime(BaseException):
    """Raised in a cell that has computed for too long."""


def main():
    order = json.load(sys.stdin.buffer)
    ours, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for theirs in (0, 1, 2):  # from here on, what is printed goes nowhere, and input is at its end
        os.dup2(nowhere, theirs)

    def say(**message):
        os.write(ours, json.dumps(message).encode() + b"\n")

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from helpers.exercises import all_exercises, checker

    exercises, shell, errors = all_exercises(), new_shell(), {}
    limit_memory(order["memory"])
    for number, source in order["cells"]:
        say(step=f"cell {number}")
        error = errors[number] = run_cell(shell, source, order["seconds"])
        if isinstance(error, (OutOfTime, MemoryError)):
            say(note=f"cell {number} {problem(error)}; the rest is graded without it")
    for name in order["exercises"]:
        say(step=name)
        if name in shell.user_ns:
            passed, text = checker.diagnose(exercises[name], shell.user_ns[name])
        else:
            text = why_missing(name, order["cells"], errors)
            passed = False if text else None
            say(note="" if text else f"{name} is not in the notebook")
        say(exercise=name, result={True: "PASS", None: "TODO", False: f"FAIL: {text}"}[passed])
    say(step="")


def new_shell():
    """What runs a notebook's cells in Jupyter, without a history and without pictures of results."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=settings)
    shell.display_formatter.active_types = ["text/plain"]
    shell._tee = lambda channel: nullcontext()  # newer IPython keeps all that is printed, gigabytes if need be
    return shell


def limit_memory(memory):
    with suppress(ImportError, ValueError, OSError):  # Windows has no such module, macOS limits no address space
        import resource

        import psutil

        most = memory * 10**6 + psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run_cell(shell, source, seconds):
    """Run a cell as Jupyter does, for so many seconds of computing; return what it raised, or None."""

    def stop(*_):
        raise OutOfTime

    try:
        if hasattr(signal, "setitimer"):  # not on Windows, where grade.py ends the whole notebook instead
            signal.signal(signal.SIGPROF, stop)
            signal.setitimer(signal.ITIMER_PROF, seconds)
        result = shell.run_cell(source, silent=True)
        return result.error_before_exec or result.error_in_exec
    except BaseException as error:  # too long, Ctrl-C raised by the cell itself, or trouble in showing its error
        return error
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)


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
