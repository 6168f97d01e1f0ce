"""Mutation tests: change one thing in a helper, and a test or a lesson must fail.

    make mutants                                  all of them, two at a time
    make mutants MUTANTS_ARGS="--module norms"    one module
    make mutants MUTANTS_ARGS="--sample 40"       the same forty every time, as CI does

A mutant is a helper with one operator, comparison, constant, condition or reduction changed; words are left alone.
In the exercises of a lesson only what judges an answer changes, with what it calls in its file: cases and known
mistakes are data of the tests.
Each runs in a copy of the repository: first the unit tests that execute the changed line, those of the module's own
file before the others, quickest first; if none fails, the lessons that execute it, compared with their stored outputs.
It is caught when something fails or does not end. One that survives needs a test, or an entry in
`mutants_equivalent.toml` that says why no test can tell it from the original.

What is found is kept in `.mutants_cache/` and used again: a caught mutant as long as the file that caught it is the
same, a survivor as long as all tests, lessons and helpers are. An interrupted run goes on where it stopped.

Why not a ready-made tool: mutmut changes no decorated function (here: most norms), nothing outside a function, and
words too; cosmic-ray starts a fresh pytest for every mutant, which here takes longer than the tests. Needs fork, so
not Windows.
"""

import argparse
import ast
import compileall
import functools
import hashlib
import importlib
import json
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOT = ROOT  # during a run: the copy made at its beginning, so that nobody's editing gets into it
CACHE = ROOT / ".mutants_cache"
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.toml")

# module of helpers -> the test file that is about it
MODULES = {
    "norms.py": "test_norms.py",
    "precision.py": "test_precision.py",
    "checks.py": "test_checks.py",
    "notebook.py": "test_checks.py",
    "figures.py": "test_figures.py",
    **{f"exercises/{p.name}": "test_exercises.py" for p in sorted(ROOT.glob("helpers/exercises/[!_]*.py"))},
    "explorer/explorer.py": "test_explorers.py",
    "explorer/layout.py": "test_explorers.py",
    "explorer/marks.py": "test_explorers.py",
    "explorer/picture.py": "test_pictures.py",
    "quiz/questions.py": "test_quiz.py",
}
JUDGES = ("reference", "run", "compare")  # what decides whether an answer to an exercise is right
# Not about the helpers but about the commands and what surrounds them.
NOT_THESE = ("test_house.py", "test_security.py")
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line"]
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of plugins that were imported before the fork
NBVAL = [*PYTEST, "-p", "nbval.plugin", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"]

# Imported once, before any fork; never the helpers themselves.
PRELOAD = """numpy hypothesis.extra.numpy pytest _pytest.assertion.rewrite matplotlib.pyplot
    matplotlib.backends.backend_agg ipywidgets anywidget IPython.display PIL.Image nbformat nbval.plugin""".split()


# ---------------------------------------------------------------------------------------- what is changed

OPERATORS = {
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*")},
    **{ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"), ast.MatMult: ("@", "*")},
    **{ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<")},
    **{ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&")},
}
COMPARISONS = {
    **{ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")},
    **{ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is")},
}
_PAIRS = (
    "mean sum, min max, any all, argmin argmax, minimum maximum, floor ceil, zeros ones, "
    "zeros_like ones_like, isnan isinf"
)
SWAPPED = {a: b for pair in _PAIRS.split(",") for a, b in (pair.split(), pair.split()[::-1])}


@functools.cache
def source_of(module):
    return (SNAPSHOT / "helpers" / module).read_bytes()


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the bytes `start` to `end` become `new`."""

    module: str
    function: str
    line: int
    start: int
    end: int
    new: bytes
    lines: tuple  # of the statement it is in: first, last
    at_import: tuple | None  # lines whose execution shows that a test uses it, where its own run at import

    @property
    def original(self):
        return source_of(self.module)

    @cached_property
    def source(self):
        return self.original[: self.start] + self.new + self.original[self.end :]

    @cached_property
    def key(self):
        return hashlib.sha256(self.module.encode() + b"\0" + self.source).hexdigest()[:20]

    @cached_property
    def texts(self):
        """The changed line before and after, as it stands in mutants_equivalent.toml."""
        first = self.original.rfind(b"\n", 0, self.start) + 1
        last = self.original.find(b"\n", self.end)
        after = self.original[first : self.start] + self.new + self.original[self.end : last]
        return tuple(" ".join(t.decode().split()) for t in (self.original[first:last], after))

    @property
    def name(self):
        return (self.module, self.function, *self.texts)


def judges(tree):
    """What the exercises of a module have as JUDGES, and the functions and classes of the module that they use."""
    own = {part.name: part for part in tree.body if isinstance(part, (ast.FunctionDef, ast.ClassDef))}

    def used(part):
        return [node.id for node in ast.walk(part) if isinstance(node, ast.Name) and node.id in own]

    wanted = [name for node in ast.walk(tree) if getattr(node, "arg", "") in JUDGES for name in used(node)]
    for name in wanted:  # which grows on the way
        wanted += [more for more in dict.fromkeys(used(own[name])) if more not in wanted]
    return [part for name, part in own.items() if name in wanted]


def called(node):
    """The functions that run when this does; for a module, at import."""
    if isinstance(node, ast.Call):
        yield getattr(node.func, "id", None)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield from called(child)


class _Finder(ast.NodeVisitor):
    """Collects every mutant of one module, as changes of its text, so that line numbers stay the same."""

    def __init__(self, module):
        self.module, self.found, self.function, self.same = module, [], [], set()
        self.source = source_of(module)
        self.begins = [0]
        for line in self.source.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))
        self.lines, self.at_import = (1, 1), ()
        tree = ast.parse(self.source)
        self.importing = set(called(tree))
        lesson = module.startswith("exercises/") and module != "exercises/machinery.py"
        for part in judges(tree) if lesson else [tree]:
            self.visit(part)

    def span(self, node):
        first = self.begins[node.lineno - 1] + node.col_offset
        return first, self.begins[node.end_lineno - 1] + node.end_col_offset

    def add(self, start, end, new):
        line = self.source.count(b"\n", 0, start) + 1
        new = new.encode() if isinstance(new, str) else new
        place = (self.module, ".".join(self.function), line, start, end, new, self.lines)
        mutant = Mutant(*place, self.at_import)
        try:
            compile(mutant.source, self.module, "exec")
        except SyntaxError:
            return
        self.found.append(mutant)

    def between(self, left, right, old, *news):
        start, end = self.span(left)[1], self.span(right)[0]
        token = re.compile(rb"(?<![\w*/<>])" + rb"\s+".join(map(re.escape, old.encode().split())) + rb"(?![\w*/<>=])")
        code = re.sub(rb"#[^\n]*", lambda m: b" " * len(m[0]), self.source[start:end])
        match = token.search(code)
        for new in news:
            self.add(start + match.start(), start + match.end(), new)

    # -- where we are

    def visit(self, node):
        if isinstance(node, ast.stmt):
            before = self.lines, self.at_import
            blocks = [b for name in ("body", "orelse", "finalbody", "handlers") for b in getattr(node, name, [])]
            last = min((b.lineno - 1 for b in blocks), default=node.end_lineno)
            self.lines = (node.lineno, max(last, node.lineno))
            super().visit(node)
            self.lines, self.at_import = before
        else:
            super().visit(node)

    def visit_FunctionDef(self, node):
        self.function.append(node.name)
        outer = self.at_import
        if outer is not None:  # defaults and decorators run at import; the tests that matter are those of the body
            self.at_import = (node.body[0].lineno, node.end_lineno)
        self.visit(node.args)
        self.at_import = () if node.name in self.importing else None
        for statement in node.body:
            self.visit(statement)
        self.at_import = outer
        self.function.pop()

    def visit_ClassDef(self, node):
        self.function.append(node.name)
        self.generic_visit(node)
        self.function.pop()

    def visit_Lambda(self, node):
        outer, self.at_import = self.at_import, None
        self.generic_visit(node)
        self.at_import = outer

    # -- what is left alone

    def visit_JoinedStr(self, node):
        pass

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node):
        pass

    def visit_keyword(self, node):
        if node.arg != "copy":  # of astype: decides about time and memory, not about results
            self.visit(node.value)

    # -- what is changed

    def visit_BinOp(self, node):
        words = (ast.JoinedStr, ast.Constant)
        if not (isinstance(node.op, ast.Mod) and isinstance(node.left, words)):
            old, new = OPERATORS[type(node.op)]
            self.between(node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        old, new = OPERATORS[type(node.op)]
        start, end = self.span(node.target)[1], self.span(node.value)[0]
        at = self.source.index(old.encode() + b"=", start, end)
        self.add(at, at + len(old), new)
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, *new = COMPARISONS[type(operator)]
            self.between(left, right, old, *new)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            self.add(self.span(node)[0], self.span(node.operand)[0], "(" if self.parenthesized(node) else "")
        self.generic_visit(node)

    def parenthesized(self, node):
        return b"(" in self.source[self.span(node)[0] : self.span(node.operand)[0]]

    def visit_Call(self, node):
        if getattr(node.func, "attr", None) == "reshape":  # NumPy reads any negative size as -1, "as it comes out"
            unknown = [a.operand for a in node.args if isinstance(a, ast.UnaryOp) and isinstance(a.op, ast.USub)]
            self.same.update(map(id, unknown))
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value if id(node) not in self.same else None
        if isinstance(value, bool):
            new = str(not value)
        elif isinstance(value, int):
            new = str(value + 1)
        elif isinstance(value, float):
            new = repr(value * 2 or 1.0)
        else:
            return
        self.add(*self.span(node), new)

    def condition(self, test):
        """Turned around, unless the comparison, `not`, `and` or `or` in it is changed anyway."""
        if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):
            start, end = self.span(test)
            self.add(start, end, b"(not " + self.source[start:end] + b")")

    def visit_If(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    visit_IfExp = visit_While = visit_If

    def visit_comprehension(self, node):
        for test in node.ifs:
            self.condition(test)
        self.generic_visit(node)

    def visit_Attribute(self, node):
        if node.attr in SWAPPED:
            end = self.span(node)[1]
            self.add(end - len(node.attr), end, SWAPPED[node.attr])
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in SWAPPED and isinstance(node.ctx, ast.Load):
            self.add(*self.span(node), SWAPPED[node.id])


def test_files():
    return sorted(p.name for p in (SNAPSHOT / "tests").glob("test_*.py") if p.name not in NOT_THESE)


def all_mutants():
    return [mutant for module in MODULES for mutant in _Finder(module).found]


# ------------------------------------------------------------------------------------ running in a copy


@dataclass
class Job:
    """Something done in a forked process in one of the copies; `answer` is what it returned, None if it was killed."""

    work: object
    cpu: float  # seconds of processor time allowed
    then: object  # called with the answer
    mutant: object = None  # what to put into the copy before


def run_jobs(jobs, trees, wall=1200):
    """Run the jobs, one at a time in each copy, starting the next when one ends."""
    jobs, free, running = iter(jobs), list(trees), {}
    try:
        while True:
            while free and (job := next(jobs, None)) is not None:
                tree = free.pop()
                running[_fork(job, tree)] = (job, tree, time.monotonic())
            if not running:
                return
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                for child, (_, _, since) in running.items():
                    if time.monotonic() - since > wall:
                        _kill_group(child)
                time.sleep(0.01)
                continue
            job, tree, _ = running.pop(pid)
            free.append(tree)
            _kill_group(pid)
            answer = tree / "answer.json"
            if not answer.exists() and not os.WIFSIGNALED(status):
                raise RuntimeError("the runner itself failed:\n" + (tree / "log.txt").read_text()[-3000:])
            job.then(json.loads(answer.read_text()) if answer.exists() else None)
    finally:
        for child in running:
            _kill_group(child)
            os.waitpid(child, 0)


def _kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _fork(job, tree):
    for old in (tree / "answer.json", tree / "tmp"):
        shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)
    (tree / "tmp").mkdir()
    for module in MODULES:  # the one before is put back
        file, source = tree / "tree" / "helpers" / module, source_of(module)
        source = job.mutant.source if job.mutant and job.mutant.module == module else source
        if file.read_bytes() != source:
            file.write_bytes(source)
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        log = os.open(tree / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for mine, standard in ((null, 0), (log, 1), (log, 2)):
            os.dup2(mine, standard)
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))
        os.environ.update(TMPDIR=str(tree / "tmp"), HELPERS_STRICT="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        tempfile.tempdir = None
        os.chdir(tree / "tree")
        sys.path[:0] = [str(tree / "tree"), str(tree / "tree" / "tests")]
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
        allow(job.cpu)
        answer = json.dumps(job.work())
        (tree / "answer.part").write_text(answer)
        (tree / "answer.part").rename(tree / "answer.json")
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def allow(seconds):
    """From now on so much processor time, however busy the machine is; then the process is killed."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def make_copies(folder, count):
    """Copies of the repository, with bytecode that a change of one module does not mislead."""
    patterns = (
        *(".git", ".venv*", ".*_cache", ".hypothesis", ".ipynb_checkpoints", "__pycache__", "node_modules"),
        "workbook",
    )
    by_name = shutil.ignore_patterns(*patterns)

    def unwanted(place, names):  # also what running kernels leave for a while: sockets
        return by_name(place, names) | {n for n in names if not (Path(place, n).is_file() or Path(place, n).is_dir())}

    global SNAPSHOT
    pristine, trees = folder / "pristine", [folder / str(k) for k in range(count)]
    shutil.copytree(ROOT, pristine, ignore=unwanted)
    SNAPSHOT = pristine
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(pristine / "helpers", quiet=1, invalidation_mode=checked)
    shutil.copytree(pristine, trees[0] / "tree")
    run_jobs([Job(collect_tests, 600, lambda answer: None)], trees[:1])  # pytest keeps its bytecode of the tests
    for tree in trees[1:]:
        shutil.copytree(trees[0] / "tree", tree / "tree")
    return trees


def collect_tests():
    import pytest

    return int(pytest.main([*PYTEST, "--collect-only", *(f"tests/{name}" for name in test_files())]))


# ------------------------------------------------------------------------------ which test runs which line


class _Tracer:
    """A pytest plugin: for every test its time, its result, and the lines of the helpers that it runs."""

    def __init__(self):
        self.prefix = os.path.join(os.getcwd(), "helpers") + os.sep
        self.lines, self.tests, self.failed = set(), {}, []

    def enter(self, frame, event, arg):
        name = frame.f_code.co_filename
        if not name.startswith(self.prefix):
            return None
        name = name[len(self.prefix) :]
        if name not in MODULES:
            return None
        if frame.f_code in self.complete:
            return None
        self.lines.add((name, frame.f_lineno))

        def step(frame, event, arg):
            if event == "line":
                self.lines.add((name, frame.f_lineno))
            elif event == "return" and {line for *_, line in frame.f_code.co_lines() if line} <= {
                line for module, line in self.lines if module == name
            }:
                self.complete.add(frame.f_code)  # every line is known: look no more, it only takes time
            return step

        return step

    def start(self):
        self.lines, self.complete = set(), set()
        threading.settrace(self.enter)
        sys.settrace(self.enter)

    def stop(self):
        sys.settrace(None)
        threading.settrace(None)
        return sorted(self.lines)

    def pytest_collection_modifyitems(self, items):
        items.reverse()  # tests are independent of their order; here is where one that is not would fail

    def pytest_runtest_setup(self, item):
        if item.nodeid not in self.tests:
            self.since = time.process_time()
            self.start()

    def pytest_runtest_logfinish(self, nodeid):
        self.tests[nodeid] = (time.process_time() - self.since, self.stop())

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def trace_tests(name):
    import pytest

    sys.dont_write_bytecode = True
    tracer = _Tracer()
    code = pytest.main([*PYTEST[1:], f"tests/{name}"], plugins=[tracer])
    unsure = set(tracer.failed)
    if unsure:  # perhaps only because tracing takes time: again without; what they run is then not known exactly
        code = pytest.main([*PYTEST, f"tests/{name}"], plugins=[_Chosen(sorted(unsure))])
    lines = sorted(set().union(*(found for _, found in tracer.tests.values())))
    tests = {test: (took, lines if test in unsure else found) for test, (took, found) in tracer.tests.items()}
    return {"tests": tests, "failed": sorted(unsure) or [f"{name}: exit code {code}"] if code else []}


def trace_lesson(name):
    from lessons import run_lesson

    os.chdir("notebooks")
    tracer = _Tracer()
    tracer.prefix = str(Path.cwd().parent / "helpers") + os.sep
    os.environ.pop("HELPERS_STRICT")
    tracer.start()
    run_lesson(Path(name))
    return {"lines": tracer.stop(), "failed": []}


def learn(trees, say):
    """{test file or lesson: what trace_tests or trace_lesson found}, as far as it is not known from earlier runs."""
    file = CACHE / "lines.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    common = [p for p in (SNAPSHOT / "helpers").rglob("*.*") if p.suffix in (".py", ".toml", ".js", ".css")]
    common += [SNAPSHOT / "tests" / "conftest.py", SNAPSHOT / "tests" / "lessons.py"]
    lessons = sorted((SNAPSHOT / "notebooks").glob("*.ipynb"))
    tests = [SNAPSHOT / "tests" / name for name in test_files()]
    rests_on = {p.name: [*common, p] for p in [*tests, *lessons]}
    rests_on["test_pictures.py"] += lessons
    rests_on["test_notebooks.py"] += lessons
    state = {name: digest(*paths) for name, paths in rests_on.items()}
    learned = {name: known[name] for name in state if name in known and known[name]["state"] == state[name]}
    left = sorted(set(state) - set(learned), key=lambda name: (name != "test_pictures.py", name))  # the longest first
    failed = []
    say(f"tracing {len(left)} of {len(state)} test files and lessons without a mutant")

    def keep(name):
        def then(answer):
            say(f"  {name}")
            if answer is None or answer["failed"]:
                failed.extend(answer["failed"] if answer else [name])
                return
            learned[name] = {**answer, "state": state[name]}
            CACHE.mkdir(exist_ok=True)
            write(file, learned)

        return then

    run_jobs(
        [
            Job(functools.partial(trace_tests if name.endswith(".py") else trace_lesson, name), 900, keep(name))
            for name in left
        ],
        trees,
    )
    if failed:
        sys.exit(f"these fail without any mutant: {', '.join(failed)}")
    return learned


class Plan:
    """For a mutant, the tests and lessons that can tell it from the original."""

    def __init__(self, learned):
        tests = {name: found for part in learned.values() for name, found in part.get("tests", {}).items()}
        lessons = {name: part["lines"] for name, part in learned.items() if "lines" in part}
        self.seconds = {test: seconds for test, (seconds, _) in tests.items()}
        self.tests = self._by_line({test: lines for test, (_, lines) in tests.items()})
        self.lessons = self._by_line(lessons)
        self.all_lessons = sorted(lessons)

    @staticmethod
    def _by_line(traced):
        where = {}
        for name, lines in traced.items():
            for module, line in lines:
                where.setdefault((module, line), set()).add(name)
        return where

    def _running(self, where, mutant, everything):
        first, last = mutant.lines if mutant.at_import is None else mutant.at_import or (0, -1)
        found = set().union(*(where.get((mutant.module, line), ()) for line in range(first, last + 1)))
        return set(everything) if mutant.at_import == () else found

    def order(self, mutant):
        own = f"tests/{MODULES[mutant.module]}"
        tests = self._running(self.tests, mutant, self.seconds)
        return sorted(tests, key=lambda t: (not t.startswith(own), self.seconds[t], t))

    def notebooks(self, mutant):
        if mutant.module == "notebook.py":  # what it does, only a kernel shows
            return self.all_lessons
        return sorted(self._running(self.lessons, mutant, self.all_lessons))


# ---------------------------------------------------------------------------------------- trying a mutant


class _Chosen:
    """A pytest plugin: only these tests, in this order; remembers the first that fails."""

    def __init__(self, order=None):
        self.rank = None if order is None else {test: k for k, test in enumerate(order)}
        self.by = None

    def pytest_collection_modifyitems(self, items):
        if self.rank is not None:
            items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda i: self.rank[i.nodeid])

    def pytest_configure(self, config):
        from hypothesis import Phase, settings

        quick = settings(phases=[Phase.explicit, Phase.generate])  # that it fails is enough: no smallest example
        settings.register_profile("mutants", quick)
        settings.load_profile("mutants")

    def pytest_collectreport(self, report):
        if report.failed:
            self.by = self.by or report.nodeid

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.by = self.by or report.nodeid


def try_mutant(order, seconds, lessons):
    """Runs in the forked process: {"by": what failed first or None}."""
    import pytest

    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    first = order[0].split("::")[0] if order else None  # alone at first: collecting the other files takes time
    for part in ([t for t in order if t.startswith(first)], [t for t in order if not t.startswith(first)]):
        if not part:
            continue
        allow(4 * seconds + 10)
        chosen = _Chosen(part)
        code = pytest.main([*PYTEST, *sorted({test.split("::")[0] for test in part})], plugins=[chosen])
        if code != 0:
            return {"by": chosen.by or part[0]}
    if lessons:
        allow(300)
        chosen = _Chosen()
        code = pytest.main([*NBVAL, *(f"notebooks/{name}" for name in lessons)], plugins=[chosen])
        if code != 0:
            return {"by": chosen.by or f"notebooks/{lessons[0]}"}
    return {"by": None}


# ---------------------------------------------------------------------------------------- what is remembered


def digest(*paths):
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.relative_to(SNAPSHOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:20]


def everything():
    """A digest of all that decides whether a mutant survives: helpers, tests, lessons."""
    files = [path for folder in ("helpers", "tests") for path in (SNAPSHOT / folder).rglob("*.*")]
    wanted = [p for p in files if p.suffix in (".py", ".toml", ".js", ".css") and "browser" not in p.parts]
    wanted = [p for p in wanted if not p.name.startswith("mutants")]
    return digest(*wanted, *(SNAPSHOT / "notebooks").glob("*.ipynb"))


def write(file, content):
    part = file.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.rename(file)


class Results:
    """What became of each mutant, kept in a file."""

    def __init__(self, fresh=False):
        self.file, self.state = CACHE / "results.json", everything()
        self.known = json.loads(self.file.read_text()) if self.file.exists() and not fresh else {}
        self.files, self.new = {}, set()

    def state_of(self, by):
        """What a result rests on: the file that caught the mutant, or, without one, everything."""
        name = (by or "").split("::")[0]
        if not (SNAPSHOT / name).is_file():
            return self.state
        if name not in self.files:
            self.files[name] = digest(SNAPSHOT / name)
        return self.files[name]

    def get(self, mutant):
        """The result, if what it rests on has not changed since."""
        found = self.known.get(mutant.key)
        return found if found and (mutant.key in self.new or found["state"] == self.state_of(found["by"])) else None

    def caught_by(self, mutant):
        """Which test caught it last time, to begin with."""
        return (self.known.get(mutant.key) or {}).get("by")

    def put(self, mutant, caught, by, final=True):
        self.known[mutant.key] = {"caught": caught, "by": by, "state": self.state_of(by) if final else "not final"}
        self.new.add(mutant.key)
        CACHE.mkdir(exist_ok=True)
        write(self.file, self.known)


def read_equivalent():
    """{name of a mutant: why no test can tell it from the original}"""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    found = {(e["module"], e["function"], e["line"], e["becomes"]): e["reason"] for e in entries}
    assert len(found) == len(entries) and all(reason.strip() for reason in found.values())
    return found


# ------------------------------------------------------------------------------------------------- the run


def kind_of(result, listed):
    if not result["caught"]:
        return "equivalent" if listed else "survived"
    return "notebooks" if (result["by"] or "").startswith("notebooks") else "unit"


def table(mutants, results, equivalent):
    columns = ("mutants", "unit tests", "notebooks only", "equivalent", "survived")
    rows = {module: Counter() for module in MODULES}
    for m in mutants:
        rows[m.module]["mutants"] += 1
        if result := results.get(m):
            rows[m.module][kind_of(result, m.name in equivalent)] += 1
    rows = {module: row for module, row in rows.items() if row["mutants"]}
    rows["all"] = sum(rows.values(), Counter())
    keys = ("mutants", "unit", "notebooks", "equivalent", "survived")
    lines = [f"{'helpers/':24}" + "".join(f"{c:>16}" for c in columns)]
    lines += [f"{name:24}" + "".join(f"{row[key]:16}" for key in keys) for name, row in rows.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--module", action="append", help="only modules whose name holds this (may be repeated)")
    parser.add_argument("--sample", type=int, help="only so many, always the same ones")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--unit", action="store_true", help="without the lessons: a quick first look, for authors")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    options = parser.parse_args()
    if not hasattr(os, "fork"):
        sys.exit("mutants: needs an operating system with fork (Linux or macOS)")

    if options.list:
        mutants = choose(all_mutants(), options)
        for m in mutants:
            print(f"{m.module}:{m.line} {m.function}\n    {m.texts[0]}\n    {m.texts[1]}")
        print(len(mutants), "mutants")
        return 0
    for name in PRELOAD:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        return run(options, Path(folder))


def choose(mutants, options):
    mutants = [m for m in mutants if not options.module or any(word in m.module for word in options.module)]
    return random.Random(0).sample(mutants, min(options.sample, len(mutants))) if options.sample else mutants


def run(options, folder):
    begun = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - begun:5.0f} s] {text}", flush=True)

    trees = make_copies(folder, options.workers)
    mutants = choose(all_mutants(), options)
    equivalent, results = read_equivalent(), Results(options.fresh)
    plan = Plan(learn(trees, say))
    left = [m for m in mutants if not results.get(m)]
    say(f"{len(mutants)} mutants, {len(mutants) - len(left)} known from earlier runs")
    done, began = Counter(), time.monotonic()

    def jobs():
        for m in left:
            order, first = plan.order(m), results.caught_by(m)
            order = sorted(order, key=lambda test: test != first)  # what caught it last time begins
            lessons = [] if m.name in equivalent or options.unit else plan.notebooks(m)
            seconds = sum(plan.seconds[test] for test in order)
            work = functools.partial(try_mutant, order, seconds, lessons)
            yield Job(work, 600, functools.partial(note, m), m)

    def note(m, answer):
        answer = answer or {"by": "time-out"}
        final = bool(answer["by"]) or not options.unit or m.name in equivalent
        results.put(m, answer["by"] is not None, answer["by"], final)
        done[kind_of(results.get(m), m.name in equivalent)] += 1
        count = sum(done.values())
        if answer["by"] is None and m.name not in equivalent:
            say("survived: " + shown(m))
        if count % 20 == 0 or count == len(left):
            rest = (time.monotonic() - began) / count * (len(left) - count) / 60
            say(f"{count} of {len(left)}, {done['survived']} survived, about {rest:.0f} min left")

    try:
        run_jobs(jobs(), trees)
    except KeyboardInterrupt:
        say("interrupted; what was found is kept")
        return 130
    finally:
        print("\n" + table(mutants, results, equivalent))
    whole = {m.module for m in mutants} if not options.sample else set()
    return judge(mutants, results, equivalent, whole)


def shown(m):
    return f"helpers/{m.module}:{m.line} {m.function}\n    {m.texts[0]}\n    {m.texts[1]}"


def judge(mutants, results, equivalent, whole):
    """Print what is wrong, if anything; the exit code."""
    wrong = [f"survived: {shown(m)}" for m in mutants if not results.get(m)["caught"] and m.name not in equivalent]
    names = {m.name for m in mutants}
    wrong += [
        f"listed as equivalent, but {results.get(m)['by']} caught it: {' | '.join(m.name)}"
        for m in mutants
        if m.name in equivalent and results.get(m)["caught"]
    ]
    wrong += [
        f"listed as equivalent, but there is no such mutant any more: {' | '.join(name)}"
        for name in equivalent
        if name[0] in whole and name not in names
    ]
    print("\n" + "\n".join(wrong) if wrong else "no mutant survived")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main())
