"""What all exercises share: run an attempt on the cases, compare it with the reference, say what went wrong.

The result is one line, and a learner's mistake is never a traceback:

    TODO - ...                       the stub is untouched, or a `...` is left in it
    PASS - ...: 8 cases
    FAIL - ...: you divided by ...   a known mistake gives the same outputs in every case
    FAIL - ...: one slip from right  so does a correct solution changed in one place, or two, or throughout
    FAIL - ...: case [...]: ...      otherwise what is right, what the numbers are to the right ones, and a case
"""

import contextlib
import copy
import functools
import importlib
import inspect
import io
import re
import signal
import threading
import time
import tomllib
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..checks import compare, describe, explain, record, running_shell, shorten
from . import slips
from .attempts import is_blank, not_written_here, unfit
from .edits import Case
from .relations import relations

TIME_LIMIT = 5.0  # seconds of computing for all cases of one attempt, however busy the machine is
SLIPS_TIME_LIMIT = 2.0  # seconds of computing for all slips
PAIRS_TIME_LIMIT = 0.6  # and of these for two slips at once
FEW_NUMBERS = 8  # an array of so many is printed
MANY_NUMBERS = 12  # in the answers to all cases: with fewer only a single slip is named
CANCELS = (
    "mean(x²) − mean(x)² subtracts two numbers that are almost equal when the mean is large, and their digits cancel; "
    "subtract the mean first, then square"
)
_HELPERS = str(Path(__file__).resolve().parents[1])
_LESSONS = Path(_HELPERS) / "lessons"
_PACKAGE = __package__.split(".")[0]


class WrongKind(Exception):
    """Raised by an exercise's `run` for an answer of the wrong kind; the message is shown to the learner."""


def check_exercise(name, attempt, *, solution=False, graded=False):
    """Check the learner's function `attempt` against the exercise `name`; print one line, return a bool.

    An untouched stub is TODO: it returns False, is listed by `summary()`, and never raises. A wrong attempt
    is FAIL with a diagnosis. The notebook's own solution is checked with `solution=True`: its line says so, and
    the learner's result stays as it is. With `graded=True`, as in the locked test cell of an assignment, the attempt
    may come from another cell. ValueError if there is no such exercise.
    """
    exercises = all_exercises()
    if not isinstance(name, str) or name not in exercises:
        given = shorten(repr(name), 60) if isinstance(name, str) else describe(name)
        raise ValueError(f"no exercise is called {given}; there are: {', '.join(sorted(exercises))}")
    passed, text = diagnose(exercises[name], attempt, from_any_cell=graded)
    if solution:
        return record(f"solution of {name}", bool(passed), text, kind="solution")
    recorded = record(name, passed, text, kind="exercise")
    if passed and getattr(running_shell(), "kernel", None):  # the browser keeps it, and Practice asks for it again
        from IPython.display import display

        from ..widgets.quiz import Solved

        display(Solved(name))
    return recorded


@functools.cache
def exercises_of_lessons():
    """{name of a lesson: its exercises}, of every lesson that has some."""
    names = [path.parent.name for path in sorted(_LESSONS.glob("*/exercises.py"))]
    return {name: importlib.import_module(f"{_PACKAGE}.lessons.{name}.exercises").EXERCISES for name in names}


@functools.cache
def all_exercises():
    """Every exercise of every lesson, by name."""
    return {exercise.name: exercise for exercises in exercises_of_lessons().values() for exercise in exercises}


def handed_over(name):
    """The function that an exercise hands over to be fixed, with all its bugs."""
    return all_exercises()[name].as_given


# NumPy's own settings, whatever the notebook has asked for: np.seterr(all="raise") would stop a correct answer.
_USUAL = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


@np.errstate(**_USUAL)
def diagnose(exercise, attempt, from_any_cell=False):
    """Judge an attempt: (True, False or None for "to do", the text for the line)."""
    to_do = f"write {exercise.signature}, then run this cell again"
    if attempt is ... or is_blank(attempt):
        return None, to_do
    cases = _cases(exercise)
    problem = unfit(exercise, attempt, cases) or not_written_here(exercise, attempt, from_any_cell)
    if problem:
        return False, problem

    printed = _Discard()
    try:
        with _time_limit(TIME_LIMIT):
            outcomes = [_outcome(exercise, attempt, c, printed, look_for_changes=True) for c in cases]
    except _OutOfTime:
        return False, f"it was stopped after {TIME_LIMIT:g} seconds of computing; is there an endless loop?"
    if any(outcome.unfinished for outcome in outcomes):
        return None, to_do

    hidden = " (what it printed is not shown)" if printed.used else ""
    if all(outcome.value is None and not outcome.problem for outcome in outcomes):
        return False, "it returns None; is the return statement missing?" + hidden
    wrong = [outcome for outcome in outcomes if not _is_right(exercise, outcome)]
    if not wrong:
        return True, f"{len(cases)} cases" + hidden
    if exercise.given and _is_made(exercise, exercise.as_given, outcomes):
        return None, f"nothing is fixed yet; {_faults_left(exercise, outcomes, wrong).partition(',')[0]}"
    known = (m.sentence for m in exercise.mistakes if _is_made(exercise, m.function, outcomes))
    said = (
        next((outcome.changed for outcome in wrong if outcome.changed), None)
        or (None if wrong[0].problem else _other_default(exercise, attempt))
        or next(known, None)
        or _slip(exercise, attempt, outcomes, wrong)
        or _translated(wrong[0].problem)
        or (CANCELS if all(o.case.label.startswith("large mean") and not o.problem for o in wrong) else None)
        or _faults_left(exercise, outcomes, wrong)
        or _difference(exercise, attempt, outcomes, wrong)
    )
    return False, said + hidden


@functools.cache
def _cases(exercise):
    """The cases, drawn once: they are the same each time."""
    return exercise.cases(np.random.default_rng(0))


@functools.cache
def _known_outcome(exercise, function, c):
    """What the reference or a known mistake gives, kept for the next attempt at the same exercise."""
    return _outcome(exercise, function, c)


# What NumPy or Python says of a word -> the word, or another message -> what to do about it.
_EXPLAINED = {
    group["message"]: group["words"]
    for group in tomllib.loads(Path(__file__).with_name("errors.toml").read_text(encoding="utf-8"))["group"]
}


def _translated(problem):
    """The problem that an attempt raised as a sentence in NumPy's words, or None if it is another."""
    for pattern, words in _EXPLAINED.items():
        for word, sentence in words.items():
            found = re.search(pattern.replace("{word}", f"({word})"), problem)
            if found:
                line = re.search(r"( \(line \d+\))?$", problem)[0]
                return sentence.replace("{word}", next(filter(None, found.groups()))) + line
    return None


@dataclass(eq=False)
class _Outcome:
    """What one case gave: a value, or a problem in words; `kind` tells two problems apart."""

    case: Case
    value: object = None
    problem: str = ""
    kind: object = None
    unfinished: bool = False
    changed: str = ""


def _outcome(exercise, attempt, c, printed=None, look_for_changes=False):
    args, kwargs = copy.deepcopy((c.args, c.kwargs))
    call = exercise.run or (lambda f, *a, **k: f(*a, **k))
    stdout = printed or _Discard()
    outcome = _Outcome(c)
    quiet = contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stdout)
    with quiet[0], quiet[1], warnings.catch_warnings(action="ignore"), np.errstate(**_USUAL):
        try:
            outcome.value = _frozen(call(attempt, *args, **kwargs))
        except WrongKind as error:
            outcome.problem = outcome.kind = str(error)
        except NotImplementedError:
            outcome.unfinished = True
        except (KeyboardInterrupt, _OutOfTime):
            raise
        except BaseException as error:  # also sys.exit(), which would end the notebook's cell without a word
            outcome.problem = f"it raises {explain(error)}{_line(error)}"
            method = [code.co_name for code, _ in _their_steps(error)][:1] if isinstance(attempt, type) else []
            outcome.kind = type(error), sorted(str(error).split()), method
            outcome.unfinished = isinstance(error, TypeError) and "ellipsis" in str(error)
    items = outcome.value if isinstance(outcome.value, (tuple, list)) else [outcome.value]
    outcome.unfinished |= any(item is ... for item in items)
    if look_for_changes:
        outcome.changed = _changed(exercise, c, args, kwargs)
    return outcome


def _frozen(result):
    """A copy of the arrays in a result, so that a later call cannot change them."""
    if type(result) in (tuple, list):
        return type(result)(_frozen(item) for item in result)
    return result.copy() if type(result) is np.ndarray else result


def _changed(exercise, c, args, kwargs):
    after = _arguments(exercise, args, kwargs)
    for name, old in _arguments(exercise, c.args, c.kwargs).items():
        if _contents(old) != _contents(after[name]):
            kind = "array" if isinstance(old, np.ndarray) else type(old).__name__
            return f"it changes its input {name} in place, and the caller's {kind} with it; work on a copy"
    return ""


def _contents(thing):
    """What is in an array, or in a list or dict of arrays, for comparing; other things are not looked into."""
    if isinstance(thing, dict):
        return {key: _contents(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_contents(value) for value in thing]
    looked_into = isinstance(thing, np.ndarray) and thing.dtype != object
    return (thing.shape, thing.dtype, thing.tobytes()) if looked_into else None


def _line(error):
    """Where in the learner's own code it happened, as " (line 3)", if that can be told."""
    theirs = _their_steps(error)
    lines = [line for code, line in theirs if code.co_filename == theirs[0][0].co_filename]
    return f" (line {lines[-1]})" if lines else ""


def _their_steps(error):
    """[(code, line)] of the functions in which it happened that are neither ours nor a library's."""
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = (_HELPERS, "site-packages")
    return [(code, line) for code, line in steps if not any(part in code.co_filename for part in ours)]


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
    if not (hasattr(signal, "setitimer") and main and signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0):
        yield
        return

    def stop(signum, frame):
        raise _OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1.0)  # again, if a bare except swallowed it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def matches(result, expected, tol, names=()):
    """The usual comparison: (bool, text).

    Where one array is expected, a list counts as an array and a named tuple with a field `y` as its y. A tuple
    `expected` needs a tuple or list of the same length, compared item by item; `names` are those of its items.
    """
    if isinstance(expected, tuple):
        return _items_match(result, expected, tol, names if len(names) == len(expected) else ())
    if isinstance(result, tuple):
        if not hasattr(result, "y"):
            return False, f"got {describe(result)}, expected only one value"
        result = result.y
    if expected is None or isinstance(expected, str):
        got = shorten(repr(result), 40) if isinstance(result, str) else describe(result)
        return type(result) is type(expected) and result == expected, f"got {got}, expected {expected!r}"
    if result is None:
        return False, f"got None, expected {describe(expected)}"
    if isinstance(expected, (bool, np.bool_)):
        if isinstance(result, (bool, np.bool_)):
            return bool(result == expected), f"got {result}, expected {expected}"
        if isinstance(result, np.ndarray) and result.dtype == bool and result.ndim:
            return False, f"got {result.size} values True or False, expected one; np.all reduces them to one"
        return False, f"got {describe(result)}, expected True or False"
    a_complex = isinstance(result, complex) or getattr(getattr(result, "dtype", None), "kind", None) == "c"
    if a_complex and not np.iscomplexobj(expected):
        return False, "got complex numbers, expected real ones"
    passed, text = compare(result, expected, tol, broadcast=False)
    if text.startswith("at ["):
        got, wanted = _numbers(result), _numbers(expected)
        text = f"got {got}, expected {wanted}" if got and wanted and got != wanted else text
    return passed, text


def _numbers(array):
    """The numbers of a small array as text, or ""."""
    array = np.asarray(array)
    if not 0 < array.size <= FEW_NUMBERS or array.dtype.kind not in "biuf":
        return ""
    formats = {"float_kind": "{:.5g}".format, "int": str, "bool": str}
    return " ".join(np.array2string(array + 0, separator=", ", formatter=formats).split())


def _items_match(result, expected, tol, names):
    names = names or getattr(expected, "_fields", ())
    if not isinstance(result, (tuple, list)) or len(result) != len(expected):
        wanted = f"{len(expected)} values" + (f": {', '.join(names)}" if names else "")
        return False, f"got {describe(result)}, expected {wanted}"
    for i, (item, wanted) in enumerate(zip(result, expected, strict=True)):
        passed, text = matches(item, wanted, tol)
        if not passed:
            return False, f"{names[i] if names else f'item {i}'}: {text}"
    return True, ""


def _judge(exercise, outcome, expected, looser=1):
    """(bool, text): whether an outcome is the expected one, up to `looser` times the exercise's tolerance."""
    if outcome.changed or outcome.problem:
        return False, outcome.problem
    if outcome.value is None and expected is not None:
        return False, "it returns None here; does every path through it end in a return?"
    try:
        if exercise.compare:
            return exercise.compare(outcome.value, expected, looser * exercise.tol)
        return matches(outcome.value, expected, looser * exercise.tol, exercise.results)
    except Exception as error:  # what a strange answer does when it is looked at
        return False, f"the answer could not be compared ({explain(error)})"


def _right(exercise, c):
    """The right answer in a case."""
    return _known_outcome(exercise, exercise.reference, c).value


def _is_right(exercise, outcome):
    return _judge(exercise, outcome, _right(exercise, outcome.case))[0]


def _other_default(exercise, attempt):
    """The sentence about a default in the attempt's head that is not the task's, or None."""
    theirs = inspect.signature(attempt).parameters if inspect.isfunction(attempt) else {}
    for name, ours in inspect.signature(exercise.reference).parameters.items():
        given = theirs[name].default if name in theirs else ours.empty
        if ours.empty not in (given, ours.default) and repr(given) != repr(ours.default):
            wanted = f"{name}={ours.default}"
            return f"your {name} is {shorten(repr(given), 20)} if none is given; write {wanted} in the head"
    return None


def _slip(exercise, attempt, outcomes, wrong):
    """The sentence of a slip, unless the search takes too long: one slip may compute without end."""
    with contextlib.suppress(_OutOfTime), _time_limit(TIME_LIMIT):
        slip = _search(exercise, outcomes, wrong)
        if not slip or not slip.sentence.endswith(slips.VAGUE):
            return slip and slip.sentence
        seen = _first_difference(exercise, attempt, wrong)
        return None if wrong[0].problem or "has shape" in seen else f"{slip.sentence}; {seen}"


def _search(exercise, outcomes, wrong):
    """The slip that gives what the attempt gave in every case: a single one, repeated, or two; one with a place if any.

    None where the evidence is thin: the attempt never answers, the slip is told from right by rounding only, or slips
    in many lines give the same. Nor is a fault named in code that is handed over to find its faults.
    """
    if exercise.given or all(o.problem for o in outcomes) or any(isinstance(o.kind, str) for o in outcomes):
        return None
    answered_first = sorted(outcomes, key=lambda outcome: (bool(outcome.problem), outcome not in wrong))
    end = time.process_time() + SLIPS_TIME_LIMIT
    best = None
    for kind in ("slips", "repeated", "pairs") if _many_numbers(exercise, outcomes) else ("slips",):
        if kind == "pairs":
            end = min(end, time.process_time() + PAIRS_TIME_LIMIT)
        for base in slips.bases(exercise):
            found = []
            for slip in getattr(base, kind):
                if time.process_time() > end:
                    return best
                if slip.function and _is_made(exercise, slip.function, answered_first):
                    found.append(slip)
                    if kind != "slips":
                        break
            if found and (len({slip.line for slip in found}) > 3 or not _differs_clearly(exercise, found[0].function)):
                return None
            best = best or next(iter(found), None)
            if found and found[0].place and (found[0] is best or not found[0].sentence.endswith(slips.VAGUE)):
                return found[0]
        if best:
            return best
    return None


def _many_numbers(exercise, outcomes):
    """Whether the answers are numbers, and so many that two slips do not give the same by chance."""
    rights = [_right(exercise, outcome.case) for outcome in outcomes]
    parts = [np.asarray(part) for right in rights for part in (right if isinstance(right, tuple) else [right])]
    return sum(part.size for part in parts if part.dtype.kind == "f") >= MANY_NUMBERS


def _faults_left(exercise, outcomes, wrong):
    """ "2 of 4 bugs are left", for code that is to be fixed and answers in the right form everywhere; else None."""
    if not exercise.given:
        return None
    for value, expected in ((outcome.value, _right(exercise, outcome.case)) for outcome in outcomes):
        same_form = type(value) is np.ndarray and (value.shape, value.dtype) == (expected.shape, expected.dtype)
        if not (same_form and np.isfinite(value).all()):
            return None
    faults, left = ({o.case.label.partition(",")[0] for o in some} for some in (outcomes, wrong))
    new = ", or a change has brought in a new bug that every test meets" if left == faults else ""
    return f"{len(left)} of {len(faults)} bugs {'is' if len(left) == 1 else 'are'} left{new}"


def _difference(exercise, attempt, outcomes, wrong):
    """What is right, how the wrong numbers are related to the right ones, and a case that differs."""
    said = []
    rights = [outcome for outcome in outcomes if outcome not in wrong]
    if rights:
        said.append(f"right in {len(rights)} of {len(outcomes)} cases")
        for word, some in (("wrong in", wrong), ("only in", rights)):
            labels = list(dict.fromkeys(outcome.case.label for outcome in some))
            if all(labels) and len(labels) < 4:
                said[0] += f", {word}: {', '.join(labels)}"
                break
    if not exercise.compare and not any(outcome.problem for outcome in wrong):
        pairs = [(o.value, _right(exercise, o.case), _arguments(exercise, o.case.args, o.case.kwargs)) for o in wrong]
        said += relations(pairs, exercise.results, exercise.tol)
    return "; ".join([*said, _first_difference(exercise, attempt, wrong)])


def _first_difference(exercise, attempt, wrong):
    """A case that differs, with what came out: one that is worked by hand, if it can be."""
    by_hand = []
    if not wrong[0].problem:
        with contextlib.suppress(_OutOfTime), _time_limit(TIME_LIMIT):
            by_hand = [_outcome(exercise, attempt, c) for c, _ in exercise.worked]
    wrong = [o for o in by_hand if not o.problem and not _is_right(exercise, o)] + wrong
    _, text = _judge(exercise, wrong[0], _right(exercise, wrong[0].case))
    return f"{_describe_case(exercise, wrong[0].case)}: {text}"


def _differs_clearly(exercise, function):
    """Whether a function is wrong by more than rounding in some case."""
    given = [(_known_outcome(exercise, function, c), _right(exercise, c)) for c in _cases(exercise)]
    return not all(_judge(exercise, outcome, right, looser=10)[0] for outcome, right in given)


def _is_made(exercise, function, outcomes):
    """Whether an attempt has the same problem as a known wrong function, or the same answer, in every case."""
    for outcome in outcomes:
        wrong = _known_outcome(exercise, function, outcome.case)
        if wrong.kind != outcome.kind or not (wrong.problem or _judge(exercise, outcome, wrong.value)[0]):
            return False
    return True


def _arguments(exercise, args, kwargs):
    """{name: value} of a case."""
    called = exercise.reference
    if isinstance(called, type):  # a class is driven by `run`, which has the names
        called = functools.partial(exercise.run, called)
    return inspect.signature(called).bind(*args, **kwargs).arguments


def _describe_case(exercise, c):
    """The case in short: its label, small arrays or the shapes of all, the values of numbers and words."""
    given = _arguments(exercise, c.args, c.kwargs)
    arrays = {name: _numbers(value) for name, value in given.items() if isinstance(value, np.ndarray)}
    short = all(text and max(map(len, re.findall(r"[^\[\], ]+", text))) < 7 for text in arrays.values())
    parts = []
    for name, value in given.items():
        if name in arrays:
            kind = "" if value.dtype.kind in "bi" or value.dtype == np.float64 else f"{value.dtype} "
            parts.append(f"{name} {kind}{arrays[name] if short else value.shape}")
        elif isinstance(value, (int, float, str)) or re.fullmatch(r"[(\[][-\d., e]{1,30}[)\]]", repr(value)):
            parts.append(f"{name}={shorten(repr(value), 32)}")
    inside = ", ".join(parts)
    return f"case {c.label} [{inside}]".removesuffix(" []") if c.label else f"case {inside or 'by hand'}"
