"""Runs one submitted notebook and checks its exercises. tools/grade.py starts it, once for each notebook.

The order comes as one line of JSON on standard input; what happened goes back as lines of JSON on standard output,
which the notebook's own cells do not see: what they print goes nowhere. Helpers and exercises are loaded before the
first cell is run and kept where no `import` finds them, and with these the learner's functions are checked at the end.
While the cells run, files outside their folder cannot be changed, and no program can be started. This stops accidents
and pranks; it is no wall against somebody who knows Python well (class/assignments.md says what is).
"""

import json
import os
import re
import sys
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType

ROOT = Path(__file__).resolve().parent.parent
LARGEST_FILE = 100_000_000  # bytes
STARTS_PROGRAMS = {
    *("subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn"),
    *("os.startfile", "os.kill", "os.killpg"),
}
# event -> for each path among its arguments: (where it stands, where the folder it is relative to stands)
CHANGES_FILES = {
    "os.chmod": [(0, 2)],
    "os.chown": [(0, 3)],
    "os.link": [(0, 2), (1, 3)],
    "os.mkdir": [(0, 2)],
    "os.remove": [(0, 1)],
    "os.rename": [(0, 2), (1, 3)],
    "os.rmdir": [(0, 1)],
    "os.symlink": [(1, 2)],
    "os.truncate": [(0, None)],
    "os.utime": [(0, 3)],
    "sqlite3.connect": [(0, None)],
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main():
    order = json.loads(sys.stdin.buffer.readline())
    say = partial(write_line, quiet(), order["token"])
    try:
        say(step="start")
        checker, exercises, pristine = load_helpers(order["exercises"], order["seconds"] / 2)
        shell = new_shell()
        limit_resources(order["memory"])
        before = names_of_modules()
        guard(Path.cwd(), order["closed"])
    except Exception as error:
        say(trouble=f"{type(error).__name__}: {error}")
        raise

    errors, streams = {}, (sys.stdout, sys.stderr)
    for number, source in order["cells"]:
        say(step=number)
        sys.stdout, sys.stderr = streams
        errors[number] = run_cell(shell, source)
        if isinstance(errors[number], MemoryError):
            # The memory is still full: grade.py goes on without this cell, in a new process.
            say(ended="memory")
            return

    for names, old in before:  # whatever the cells have put in the place of a function of Python or NumPy
        names.update(old)
    sys.settrace(None)
    sys.modules.update(pristine)
    learner = shell.user_ns
    for name, thing in list(learner.items()):
        learner[name] = as_pristine(thing, pristine)
    for name, exercise in exercises.items():
        if name in learner:
            say(step=name)
            passed, text = check(checker, exercise, learner[name], pristine)
            say(exercise=name, passed=passed, text=text)
        else:
            reason = why_missing(name, order["cells"], errors)
            say(exercise=name, passed=False if reason else None, text=reason, missing=True)
    say(ended="well")


# ------------------------------------------------------------------------------------------- before the cells


def quiet():
    """Keep the way to tools/grade.py to ourselves; from here on, what is printed goes nowhere, input is at its end."""
    ours = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for theirs in (0, 1, 2):
        os.dup2(nowhere, theirs)
    return ours


def write_line(where, token, _write=os.write, _dumps=json.dumps, **message):
    _write(where, _dumps({"token": token, **message}).encode() + b"\n")


def load_helpers(names, seconds):
    """The checker, the exercises by name, and the modules they are made of, taken out of `sys.modules`.

    A correct solution is checked, so that what the references give has been computed before a cell is run.
    """
    sys.path.insert(0, str(ROOT))
    from helpers.exercises import all_exercises, checker

    checker.TIME_LIMIT = seconds
    exercises = {name: all_exercises()[name] for name in names}
    for name, exercise in exercises.items():
        passed, text = checker.diagnose(exercise, exercise.variants[0])
        if not passed:
            raise RuntimeError(f"a correct {name} is judged wrong here ({text}); do the tests pass on this machine?")
    modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "helpers"}
    for name in modules:
        del sys.modules[name]
    return checker, exercises, modules


def names_of_modules():
    """[(the names of a module, a copy of them)] for the modules of Python and NumPy that are loaded."""
    ours = {"numpy", *sys.stdlib_module_names} - {"__main__"}
    modules = [m for name, m in sys.modules.items() if name.split(".")[0] in ours and type(m) is ModuleType]
    return [(vars(module), dict(vars(module))) for module in modules]


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


def limit_resources(memory):
    """At most so many more bytes of memory and no giant files, where the system can; tools/grade.py watches, too."""
    with suppress(ImportError):  # there is no such module on Windows
        import resource

        import psutil

        memory += psutil.Process().memory_info().vms
        for what, most in (("RLIMIT_AS", memory), ("RLIMIT_FSIZE", LARGEST_FILE), ("RLIMIT_CORE", 0)):
            with suppress(ValueError, OSError):  # macOS limits no address space; a lower limit may hold already
                resource.setrlimit(getattr(resource, what), (most, most))


def guard(own, closed):
    """From now on no file outside the folder `own` is changed, none in those of `closed` read, no program started."""
    own, closed = os.path.realpath(own), [os.path.realpath(folder) for folder in closed]

    def lies_in(path, folder):
        return os.path.normcase(path + os.sep).startswith(os.path.normcase(folder + os.sep))

    def check_path(path, writes, folder=-1):
        if isinstance(path, int):  # a file that is open already
            return
        path = os.fsdecode(path)
        if isinstance(folder, int) and folder >= 0:
            path = os.path.join(path_of(folder), path)
        path = os.path.realpath(path)
        if any(lies_in(path, each) for each in closed):
            raise PermissionError(f"a graded notebook cannot open {path}")
        if writes and path != os.path.realpath(os.devnull) and not lies_in(path, own):
            raise PermissionError(f"a graded notebook cannot change {path}")

    def hook(event, arguments):
        if event in STARTS_PROGRAMS:
            raise PermissionError("a graded notebook can start no program and end none")
        if event == "open" and arguments[0] is not None:
            check_path(arguments[0], writes=arguments[2] & WRITING)
        elif event in ("os.listdir", "os.scandir") and arguments[0] is not None:
            check_path(arguments[0], writes=False)
        for where, folder in CHANGES_FILES.get(event, []):
            check_path(arguments[where], writes=True, folder=-1 if folder is None else arguments[folder])

    sys.addaudithook(hook)  # it cannot be taken away again


def path_of(open_folder):
    if os.path.exists("/proc/self/fd"):
        return os.readlink(f"/proc/self/fd/{open_folder}")
    import fcntl  # macOS; on Windows nothing is relative to an open folder

    return os.fsdecode(fcntl.fcntl(open_folder, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))


# ----------------------------------------------------------------------------------------- the cells, the checks


def run_cell(shell, source):
    """Run a cell as Jupyter does; return what it raised, or None."""
    try:
        result = shell.run_cell(source, silent=True)
        return result.error_before_exec or result.error_in_exec
    except BaseException as error:  # Ctrl-C raised by the cell itself, or trouble in showing its error
        return error


def as_pristine(thing, modules):
    """Of what a cell took from helpers: the same in the copy that no cell could change."""
    if type(thing) is ModuleType:
        return modules.get(thing.__name__, thing)
    if type(thing) in (FunctionType, type):
        return getattr(modules.get(thing.__module__), thing.__qualname__, thing)
    return thing


def check(checker, exercise, attempt, modules):
    """(True, False or None for "to do", the sentence)."""
    if type(attempt) in (FunctionType, type) and str(attempt.__module__).startswith("helpers."):
        return False, "it is taken from helpers; write the steps yourself"
    for kind in attempt.__mro__ if type(attempt) is type else ():
        if kind.__module__ == "__main__":
            kind.__bases__ = tuple(as_pristine(base, modules) for base in kind.__bases__)
    try:
        return checker.diagnose(exercise, attempt)
    except BaseException as error:
        return False, f"it raises {type(error).__name__}"


def why_missing(name, cells, errors):
    """Why there is no such name when all cells have run: its cell failed, or there is none."""
    definition = re.compile(rf"^(?:def|class) {name}\b|^{name} *=", re.MULTILINE)
    for number, source in cells:
        error = errors[number]
        if definition.search(source) and error is not None:
            line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
            text = error.msg if isinstance(error, SyntaxError) else error
            kind = type(error).__name__
            kind = "SyntaxError" if kind.startswith("_") else kind  # Python 3.13 raises a private kind of it, too
            return f"its cell stops with {kind}: {text}{line}"
    return ""


if __name__ == "__main__":
    main()
    sys.stdout = sys.stderr = None
    os._exit(0)  # at once, whatever the notebook has left running
