"""What all exercises share: run an attempt on the cases, compare it with the reference, say what went wrong.

The result is one line, and a learner's mistake is never a traceback:

    TODO - my_layer_norm: ...                       the stub is untouched, or a `...` is left in it
    PASS - my_layer_norm: 8 cases
    FAIL - my_layer_norm: you divided by n - 1 ...  a known mistake gives the same outputs in every case
    FAIL - my_layer_norm: case square x [...]: ...  otherwise the first case that differs, and where
"""

import contextlib
import copy
import dis
import functools
import importlib
import inspect
import io
import itertools
import pkgutil
import signal
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType

import numpy as np

from ..checks import compare, describe, explain, record, shorten

TIME_LIMIT = 5.0  # seconds for all cases of one attempt
_HELPERS = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class Case:
    """One call that is tried: `args` and `kwargs`, and a few words that say what is special about it."""

    args: tuple
    kwargs: dict
    label: str = ""


def case(*args, label="", **kwargs):
    """Write a Case the way the call is written: `case(x, gamma, beta, eps=0.1, label="large eps")`."""
    return Case(args, kwargs, label)


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation, and the sentence that tells the learner what they did ("you ...").

    The sentence names the mistake and the idea behind it, not the code of the solution.
    """

    function: Callable
    sentence: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    name: the name of the function that the learner writes, "my_layer_norm", as in `check_exercise(name, attempt)`;
        unique over all lessons, and never the name of a helper.
    signature: the call as the learner writes it, for messages: "my_layer_norm(x, gamma, beta, eps=1e-5)".
    reference: a correct function, or a correct class where the learner writes a class. It may return a
        number, an array, True/False, a text, or a tuple of these.
    cases: a function of a seeded `np.random.Generator` that returns the list of Cases.
    mistakes: list of Mistake. The cases must tell each of them from the reference and from the others.
    variants: at least two correct solutions written differently, for the tests.
    results: what the items of a tuple are called in messages: ("weight", "bias").
    tol: tolerance as in `check_close`; wide enough for a solution that computes in float32.
    run: `run(attempt, *args, **kwargs)`, if trying a case is more than calling the attempt: driving a class
        through several updates, or bringing equivalent answers to one form. It passes on None and `...` and
        raises `WrongKind(sentence)` for an answer of the wrong kind.
    compare: `compare(result, expected, tol)` -> (bool, text), if the usual comparison does not fit.
    """

    name: str
    signature: str
    reference: Callable
    cases: Callable[[np.random.Generator], list[Case]]
    mistakes: list[Mistake] = field(default_factory=list)
    variants: list[Callable] = field(default_factory=list)
    results: tuple[str, ...] = ()
    tol: float = 1e-6
    run: Callable | None = None
    compare: Callable | None = None


class WrongKind(Exception):
    """Raised by an exercise's `run` for an answer of the wrong kind; the message is shown to the learner."""


def check_exercise(name, attempt, *, solution=False):
    """Check the learner's function `attempt` against the exercise `name`; print one line, return a bool.

    An untouched stub is TODO: it returns False, is listed by `summary()`, and never raises. A wrong attempt
    is FAIL with a diagnosis. The notebook's own solution is checked with `solution=True`: its line says so, and
    the learner's result stays as it is. ValueError if there is no such exercise.
    """
    exercises = all_exercises()
    if not isinstance(name, str) or name not in exercises:
        given = shorten(repr(name), 60) if isinstance(name, str) else describe(name)
        raise ValueError(f"no exercise is called {given}; there are: {', '.join(sorted(exercises))}")
    passed, text = diagnose(exercises[name], attempt)
    if solution:
        return record(f"solution of {name}", bool(passed), text, kind="solution")
    return record(name, passed, text, kind="exercise")


@functools.cache
def all_exercises():
    """Every exercise of every lesson file in this folder, by name."""
    found = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        lesson = importlib.import_module(f"{__package__}.{module.name}")
        for exercise in getattr(lesson, "EXERCISES", []):
            if exercise.name in found:
                raise ValueError(f"{module.name}.py: there is already an exercise called {exercise.name!r}")
            found[exercise.name] = exercise
    return found


# NumPy's own settings, whatever the notebook has asked for: np.seterr(all="raise") would stop a correct answer.
_USUAL = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


@np.errstate(**_USUAL)
def diagnose(exercise, attempt):
    """Judge an attempt: (True, False or None for "to do", the text for the line)."""
    to_do = f"write {exercise.signature}, then run this cell again"
    if attempt is ... or _is_blank(attempt):
        return None, to_do
    cases = exercise.cases(np.random.default_rng(0))
    problem = _unfit(exercise, attempt, cases)
    if problem:
        return False, problem

    printed = _Discard()
    try:
        with _time_limit(TIME_LIMIT):
            outcomes = [_outcome(exercise, attempt, c, printed) for c in cases]
    except _OutOfTime:
        return False, f"it was stopped after {TIME_LIMIT:g} seconds; does a loop never end?"
    if any(outcome.unfinished for outcome in outcomes):
        return None, to_do

    hidden = " (what it printed is not shown)" if printed.used else ""
    if all(outcome.value is None and not outcome.problem for outcome in outcomes):
        return False, "it returns None; is the return statement missing?" + hidden
    for outcome in outcomes:
        expected = _outcome(exercise, exercise.reference, outcome.case).value
        passed, text = _judge(exercise, outcome, expected)
        if not passed:
            sentence = outcome.changed or _known_mistake(exercise, outcomes)
            return False, (sentence or f"{_describe_case(exercise, outcome.case)}: {text}") + hidden
    return True, f"{len(cases)} cases" + hidden


# -------------------------------------------------------------------------------------- before it is run


def _is_blank(attempt):
    """Whether the body is only `...`, `pass` or a docstring (for a class: of all methods but `__init__`)."""
    if isinstance(attempt, type):
        methods = {name: m for name, m in vars(attempt).items() if isinstance(m, FunctionType)}
        methods.pop("__init__", None)
        return bool(methods) and all(_is_blank(m) for m in methods.values())
    code = getattr(attempt, "__code__", None)
    if code is None:
        return False
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("RESUME", "NOP", "CACHE", "RETURN_VALUE")]
    return all(s.opname in ("LOAD_CONST", "RETURN_CONST") and s.argval in (None, ...) for s in steps)


def _unfit(exercise, attempt, cases):
    """Why the attempt cannot even be called on the cases, or None."""
    a_class = isinstance(exercise.reference, type)
    what = "class" if a_class else "function"
    if not callable(attempt):
        return f"got {describe(attempt)}, expected the {what} itself: {exercise.signature}"
    if a_class != isinstance(attempt, type):
        return f"got {describe(attempt)}, expected a {what}: {exercise.signature}"
    if inspect.iscoroutinefunction(attempt):
        return "it is an async function; write it with a plain def"
    if inspect.isgeneratorfunction(attempt):
        return "it is a generator; use return, not yield"
    if a_class:
        return None
    try:
        signature = inspect.signature(attempt)
    except (TypeError, ValueError):  # some built-in functions have none
        return None
    for c in cases:
        try:
            signature.bind(*c.args, **c.kwargs)
        except TypeError:
            return f"it takes {shorten(str(signature), 80)}, expected the call {exercise.signature}"
    return None


# ------------------------------------------------------------------------------------------ running a case


@dataclass
class _Outcome:
    """What one case gave: a value, or a problem in words; `kind` tells two problems apart."""

    case: Case
    value: object = None
    problem: str = ""
    kind: object = None
    unfinished: bool = False
    changed: str = ""


def _outcome(exercise, attempt, c, printed=None):
    args, kwargs = copy.deepcopy((c.args, c.kwargs))
    call = exercise.run or (lambda f, *a, **k: f(*a, **k))
    stdout = printed or _Discard()
    outcome = _Outcome(c)
    quiet = contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stdout), warnings.catch_warnings()
    with quiet[0], quiet[1], quiet[2], np.errstate(**_USUAL):
        warnings.simplefilter("ignore")
        try:
            outcome.value = _frozen(call(attempt, *args, **kwargs))
        except WrongKind as error:
            outcome.problem = outcome.kind = str(error)
        except NotImplementedError:
            outcome.unfinished = True
        except (KeyboardInterrupt, _OutOfTime):
            raise
        except BaseException as error:  # also sys.exit(), which would end the notebook's cell without a word
            outcome.problem, outcome.kind = f"it raises {explain(error)}{_line(error)}", type(error)
            outcome.unfinished = isinstance(error, TypeError) and "ellipsis" in str(error)
    items = outcome.value if isinstance(outcome.value, (tuple, list)) else [outcome.value]
    outcome.unfinished |= any(item is ... for item in items)
    outcome.changed = _changed(exercise, c, args, kwargs)
    return outcome


def _frozen(result):
    """A copy of the arrays in a result, so that a later call cannot change them."""
    if type(result) in (tuple, list):
        return type(result)(_frozen(item) for item in result)
    return result.copy() if type(result) is np.ndarray else result


def _changed(exercise, c, args, kwargs):
    before, after = _arguments(exercise, c.args, c.kwargs), _arguments(exercise, args, kwargs)
    for (name, old), (_, new) in zip(before, after, strict=True):
        if not isinstance(old, np.ndarray) or old.dtype == object:
            continue
        if old.shape != new.shape or old.tobytes() != new.tobytes():
            return f"it changes its input {name}in place, and the caller's array with it; work on a copy"
    return ""


def _line(error):
    """Where in the learner's own code it happened, as " (line 3)", if that can be told."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [f for f in frames if not f[0].startswith(_HELPERS) and "site-packages" not in f[0]]
    lines = [line for file, line in theirs if file == theirs[0][0]]
    return f" (line {lines[-1]})" if lines else ""


class _Discard(io.TextIOBase):
    """Swallows what an attempt prints, which would bury the one line that matters."""

    used = False

    def write(self, text):
        self.used = True
        return len(text)


class _OutOfTime(BaseException):
    """Not an Exception, so that `except Exception` in the attempt does not swallow it."""


@contextlib.contextmanager
def _time_limit(seconds):
    """Stop an endless loop, where the system can: with a timer signal on the main thread, nobody else's."""
    main = threading.current_thread() is threading.main_thread()
    if not (hasattr(signal, "setitimer") and main and signal.getitimer(signal.ITIMER_REAL)[0] == 0):
        yield
        return

    def stop(signum, frame):
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if a bare except swallowed it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --------------------------------------------------------------------------------------------- judging it


def matches(result, expected, tol, names=()):
    """The usual comparison: (bool, text).

    Where one array is expected, a list counts as an array and a named tuple with a field `y` as its y. A tuple
    `expected` needs a tuple or list of the same length, compared item by item; `names` are those of its items.
    """
    if isinstance(expected, tuple):
        names = names or getattr(expected, "_fields", [f"item {i}" for i in range(len(expected))])
        if not isinstance(result, (tuple, list)) or len(result) != len(expected):
            return False, f"got {describe(result)}, expected {len(expected)} values"
        for i, name in enumerate(names):
            passed, text = matches(result[i], expected[i], tol)
            if not passed:
                return False, f"{name}: {text}"
        return True, ""
    if isinstance(result, tuple) and hasattr(result, "y"):
        result = result.y
    if isinstance(result, tuple):
        return False, f"got {describe(result)}, expected only one value"
    if expected is None or isinstance(expected, str):
        got = shorten(repr(result), 40) if isinstance(result, str) else describe(result)
        return type(result) is type(expected) and result == expected, f"got {got}, expected {expected!r}"
    kind = getattr(getattr(result, "dtype", None), "kind", None)
    if (kind == "c" or isinstance(result, complex)) and not np.iscomplexobj(expected):
        return False, "got complex numbers, expected real ones"
    return compare(result, expected, tol, broadcast=False)


def _judge(exercise, outcome, expected):
    if outcome.changed or outcome.problem:
        return False, outcome.problem
    if outcome.value is None and expected is not None:
        return False, "it returns None here; does every way through it end in a return?"
    try:
        if exercise.compare:
            return exercise.compare(outcome.value, expected, exercise.tol)
        return matches(outcome.value, expected, exercise.tol, exercise.results)
    except Exception as error:  # what a strange answer does when it is looked at
        return False, f"the answer could not be compared ({explain(error)})"


def _known_mistake(exercise, outcomes):
    """The sentence of the first known mistake that gives what the attempt gave in every case, or None."""
    for mistake in exercise.mistakes:
        if all(_same(exercise, o, _outcome(exercise, mistake.function, o.case)) for o in outcomes):
            return mistake.sentence
    return None


def _same(exercise, outcome, wrong):
    """Whether an attempt and a known mistake have the same problem or the same answer."""
    return wrong.kind == outcome.kind and (wrong.problem or _judge(exercise, outcome, wrong.value)[0])


def _arguments(exercise, args, kwargs):
    """The values of a case, each after its name, "x " and so on, or after "" where names do not apply."""
    names, values = [], [*args, *kwargs.values()]
    try:
        bound = inspect.signature(exercise.reference).bind(*args, **kwargs)
        if len(bound.arguments) == len(values):
            names, values = [f"{name} " for name in bound.arguments], [*bound.args, *bound.kwargs.values()]
    except (TypeError, ValueError):  # a class that is driven, a built-in function
        pass
    return list(itertools.zip_longest(names, values, fillvalue=""))


def _describe_case(exercise, c):
    """The case in short: its label, the shapes of arrays, the values of numbers and words."""
    parts = []
    for name, value in _arguments(exercise, c.args, c.kwargs):
        if isinstance(value, np.ndarray):
            kind = "" if value.dtype == np.float64 else f"{value.dtype} "
            parts.append(f"{name}{kind}{value.shape}")
        else:
            text = shorten(repr(value), 20) if isinstance(value, (int, float, str)) else describe(value)
            parts.append(f"{name.strip()}={text}" if name else text)
    inside = ", ".join(parts)
    return f"case {c.label} [{inside}]" if c.label else f"case {inside}"
