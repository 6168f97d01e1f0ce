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
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from ..checks import compare, describe, explain, record, running_shell, shorten

TIME_LIMIT = 5.0  # seconds for all cases of one attempt
_HELPERS = str(Path(__file__).resolve().parents[1])
_PACKAGE = __package__.split(".")[0]
# The parts of the package that do no exercise's work, so that an attempt may call them.
_ALLOWED = {
    "checks",
    "examples",
    "exercises",
    "explorer",
    "figures",
    "notebook",
    "quiz",
    "table",
    "theme",
    "widget_code",
}
# What a layer of the learner's own is made of, so that an attempt may use it.
_MATERIAL = {"Layer", "Parameter"}


@dataclass(frozen=True, eq=False)
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

    The sentence names the mistake and the idea behind it, not the code of the solution. An attempt is the mistake
    if it gives the same in every case; in cases whose label begins with `wrong_anyhow` any wrong answer will do,
    since there the answer is rounding noise, or depends on how exactly the mistake was written.
    """

    function: Callable
    sentence: str
    wrong_anyhow: str | None = None


@dataclass(frozen=True, eq=False)
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
    given: where the learner mends code that is handed over, a function with all its faults: an attempt that still does
        the same is TODO. Up to a comma, the label of a case stands for one fault, and the case shows this fault only;
        so a FAIL can say how many are left, without naming them.
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
    given: Callable | None = None


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
def diagnose(exercise, attempt, from_any_cell=False):
    """Judge an attempt: (True, False or None for "to do", the text for the line)."""
    to_do = f"write {exercise.signature}, then run this cell again"
    if attempt is ... or _is_blank(attempt):
        return None, to_do
    cases = _cases(exercise)
    problem = _unfit(exercise, attempt, cases) or _not_written_here(exercise, attempt, from_any_cell)
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
        expected = _known_outcome(exercise, exercise.reference, outcome.case).value
        passed, text = _judge(exercise, outcome, expected)
        if not passed:
            if exercise.given and _is_made(exercise, Mistake(exercise.given, ""), outcomes):
                return None, f"nothing is mended yet; {_faults_left(exercise, outcomes).partition(',')[0]}"
            sentence = outcome.changed or _known_mistake(exercise, outcomes) or _translated(outcome.problem)
            sentence = sentence or _faults_left(exercise, outcomes)
            return False, (sentence or f"{_describe_case(exercise, outcome.case)}: {text}") + hidden
    return True, f"{len(cases)} cases" + hidden


@functools.cache
def _cases(exercise):
    """The cases, drawn once: they are the same each time."""
    return exercise.cases(np.random.default_rng(0))


@functools.cache
def _known_outcome(exercise, function, c):
    """What the reference or a known mistake gives, kept for the next attempt at the same exercise."""
    return _outcome(exercise, function, c)


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
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("RESUME", "NOP", "RETURN_VALUE")]
    return all(s.opname.endswith("_CONST") and s.argval in (None, ...) for s in steps)


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


def _not_written_here(exercise, attempt, from_any_cell):
    """Why the attempt is not the learner's own work in the running cell, or None."""
    for built_on in attempt.__mro__ if isinstance(attempt, type) else ():
        if _is_helper(built_on):
            what = "is the helper itself" if built_on is attempt else f"is built on the helper {built_on.__name__}"
            return f"it {what}; write the steps yourself"
    for function in _functions(attempt):
        if _is_helper(function):
            return f"it is the helper {function.__name__} itself; write the steps yourself"
        if not from_any_cell and _comes_from_another_cell(function):
            return f"{exercise.name} comes from another cell; define it under this name in the cell that checks it"
        for name in _helpers_used(function):
            return f"it calls the helper {name}; write the steps yourself"
    return None


def _functions(attempt):
    """The functions written with def or lambda that an attempt consists of: one, or the methods of a class."""
    if isinstance(attempt, functools.partial):
        attempt = attempt.func
    if isinstance(attempt, type):
        return [method for method in vars(attempt).values() if isinstance(method, FunctionType)]
    attempt = attempt.__func__ if isinstance(attempt, MethodType) else attempt
    return [attempt] if isinstance(attempt, FunctionType) else []


def _instructions(function):
    """The steps of a function and of those that are defined inside it."""
    codes = [function.__code__]
    for code in codes:
        yield from dis.get_instructions(code)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _comes_from_another_cell(function):
    """Whether notebook cells define the function and check it, but not the same cell. False where that is unknown.

    IPython gives the code of every cell a file name of its own.
    """
    names = getattr(running_shell(), "user_global_ns", None)
    frame = sys._getframe()
    while frame and not (frame.f_globals is names and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    return bool(frame) and function.__globals__ is names and function.__code__.co_filename != frame.f_code.co_filename


def _is_helper(thing):
    """Whether something is one of the package's functions or classes that compute what exercises ask for."""
    if not isinstance(thing, (FunctionType, type)) or thing.__name__ in _MATERIAL:
        return False
    package, *inner = (thing.__module__ or "").split(".")
    return package == _PACKAGE and not (inner and inner[0] in _ALLOWED)


def _helpers_used(function):
    """The names of the helpers that a function calls, however it came to them."""
    steps = list(_instructions(function))
    global_names = [s.argval for s in steps if s.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    found = {name: function.__globals__.get(name) for name in global_names}
    modules = [thing for thing in found.values() if isinstance(thing, ModuleType)]
    modules += [sys.modules.get(s.argval) for s in steps if s.opname == "IMPORT_NAME"]
    for module in modules:
        if getattr(module, "__name__", "").split(".")[0] == _PACKAGE:
            names = [s.argval for s in steps if s.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")]
            found |= {name: vars(module).get(name) for name in names}
    return [name for name, thing in found.items() if _is_helper(thing)]


# ----------------------------------------------------------------------- errors, and words of other libraries

# What NumPy or Python says of a word -> the word, or another message -> what to do about it.
_EXPLAINED = {
    "name '{word}' is not defined|No module named '{word}'": {
        "torch": "torch is PyTorch, but x is a NumPy array; use np and the methods of x",
        "F": "F is PyTorch's torch.nn.functional; write the steps with np",
        "nn": "nn is PyTorch's torch.nn; write the steps with np",
        "tf|tensorflow": "tf is TensorFlow, but x is a NumPy array; use np, for example np.mean for tf.reduce_mean",
        "K|keras": "Keras is another library, but x is a NumPy array; use np and the methods of x",
        "jnp|jax": "jnp is JAX, but x is a NumPy array; write np",
        "numpy": "NumPy is imported as np; write np",
        "momentum|running_mean|running_var": "{word} has no value here; in a class write self.{word}",
        "math|sqrt": "math is not imported, and takes single numbers; NumPy's np.sqrt takes whole arrays",
    },
    "unexpected keyword argument '{word}'|'{word}' is an invalid keyword": {
        "dim": "dim= is PyTorch's word; NumPy says axis=",
        "keepdim": "keepdim= is PyTorch's word; NumPy says keepdims=",
        "keep_dims": "keep_dims= is an old word of TensorFlow; NumPy says keepdims=",
        "unbiased": "unbiased= is PyTorch's word; NumPy says ddof=0 to divide by n, and ddof=1 to divide by n - 1",
    },
    "has no attribute '{word}'": {
        "reduce_mean": "reduce_mean is TensorFlow's word; NumPy says mean",
        "reduce_sum": "reduce_sum is TensorFlow's word; NumPy says sum",
        "reduce_variance": "reduce_variance is TensorFlow's word; NumPy says var",
        "reduce_std": "reduce_std is TensorFlow's word; NumPy says std",
        "rsqrt": "rsqrt is a word of PyTorch and TensorFlow; in NumPy it is 1 / np.sqrt(...)",
        "softmax": "NumPy has no softmax; it is np.exp of the scores, divided by its sum along each row",
        "forward": "this is a function, no layer with a forward; call it as in f(x)",
        "permute": "permute is PyTorch's word; NumPy says transpose",
        "unsqueeze": "unsqueeze is PyTorch's word; in NumPy it is x[:, None] or np.expand_dims",
        "expand|expand_as": "{word} is PyTorch's word; NumPy says np.broadcast_to, and mostly broadcasts by itself",
        "clamp": "clamp is PyTorch's word; NumPy says np.clip",
        "cat": "cat is PyTorch's word; NumPy says np.concatenate",
        "masked_fill": "masked_fill is PyTorch's word; NumPy says np.where",
        "masked_select": "masked_select is PyTorch's word; in NumPy it is x[mask]",
        "norm": "the method norm is PyTorch's; NumPy says np.linalg.norm",
        "mm|mv|matmul": "the method {word} is PyTorch's; in NumPy it is x @ y",
        "t": "t() is PyTorch's word; in NumPy it is x.T",
        "pow": "the method pow is PyTorch's; NumPy says x**2",
        "square|sqrt|abs|exp": "the method {word} is PyTorch's; NumPy says np.{word}(x)",
        "numpy|detach|cpu|cuda": "{word}() is for tensors of other libraries; x is a NumPy array already",
        "to|type|float|half|double": "the method {word} is PyTorch's; NumPy says x.astype(np.float32)",
        "dim": "dim() is PyTorch's word; in NumPy it is x.ndim",
        "numel": "numel() is PyTorch's word; in NumPy it is x.size",
        "at": "at is JAX's; in NumPy y[i] = value changes the array",
    },
    "{word}": {
        r"operand type\(s\).*'Parameter'": "a Parameter is no array; its numbers are in .value, as in self.gamma.value",
        r"operand type\(s\) for \^": "^ is no power in Python; write **",
        r"ufunc 'bitwise_xor'": "^ is no power in Python; write **",
        "must be Tensor": "torch works on tensors, but x is a NumPy array; use np and the methods of x",
        "Cannot interpret 'True' as a data type": "PyTorch takes keepdim in this place; in NumPy write keepdims=True",
        "Cannot interpret '.*' as a data type|Type must be a sub-type": "view is PyTorch's word; NumPy says reshape",
        "'int' object is not callable": "a number is called like a function; PyTorch's x.size(0) is x.shape[0] in "
        "NumPy, and a product needs *",
        "'tuple' object is not callable": "shape is a tuple in NumPy; write x.shape[0]",
        r"with shapes [^a-z]*\)": "arrays {word} do not fit: shapes are compared from the last axis on, where two "
        "sizes must be equal or one of them 1",
        "mismatch in its core dimension": "the shapes at your @ do not fit: the last axis of the left one meets the "
        "first axis of the right one",
        "local variable '.*' where it is|local variable '.*' referenced": "a name has no value on this way through; is "
        "it set only in one branch of an if?",
        r"(?<=name ')\w+(?=' is not defined)": "{word} is not defined; it is misspelled, or made in a cell further up "
        "that has not run yet",
        "truth value of an array": "an array stands where one True or False is needed; np.all makes one of it",
        "boolean index did not match": "a mask picks from the first axes, with their shape; np.moveaxis moves axes",
        "inhomogeneous shape": "arrays of different shapes do not fit into one array; go through them in a loop",
        "list indices must be integers or slices, not str": "a list has no names; its items are counted, from 0",
        "ZeroDivisionError": "you divide by 0; is a count still 0 when it divides?",
        "only (length-1|0-dimensional) arrays": "functions of math take one number; np.sqrt takes whole arrays",
    },
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
            outcome.problem, outcome.kind = f"it raises {explain(error)}{_line(error)}", (type(error), str(error))
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
        if not _same_contents(old, new):
            kind = "array" if isinstance(old, np.ndarray) else type(old).__name__
            return f"it changes its input {name}in place, and the caller's {kind} with it; work on a copy"
    return ""


def _same_contents(old, new):
    """Whether an array, or a list or dict of arrays, is what it was; other things are not looked into."""
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(_same_contents(old[key], new[key]) for key in old)
    if isinstance(old, (list, tuple)):
        return len(old) == len(new) and all(map(_same_contents, old, new))
    if not isinstance(old, np.ndarray) or old.dtype == object:
        return True
    return isinstance(new, np.ndarray) and old.shape == new.shape and old.tobytes() == new.tobytes()


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
        named = names if len(names) == len(expected) else getattr(expected, "_fields", ())
        names = named or [f"item {i}" for i in range(len(expected))]
        if not isinstance(result, (tuple, list)) or len(result) != len(expected):
            wanted = f"{len(expected)} values" + (f": {', '.join(names)}" if named else "")
            return False, f"got {describe(result)}, expected {wanted}"
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
    if isinstance(expected, (bool, np.bool_)):
        if isinstance(result, (bool, np.bool_)):
            return bool(result == expected), f"got {result}, expected {expected}"
        if isinstance(result, np.ndarray) and result.dtype == bool and result.ndim:
            return False, f"got {result.size} times True or False, expected one; np.all makes one of them"
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
        if _is_made(exercise, mistake, outcomes):
            return mistake.sentence
    return None


def _faults_left(exercise, outcomes):
    """ "2 of 4 faults are left", for code that is to be mended and answers in the right form everywhere; else None."""
    if not exercise.given:
        return None
    left = {}
    for outcome in outcomes:
        expected = _known_outcome(exercise, exercise.reference, outcome.case).value
        value, fault = outcome.value, outcome.case.label.partition(",")[0]
        if type(value) is not np.ndarray or value.dtype != expected.dtype or value.shape != expected.shape:
            return None
        if not np.isfinite(value).all():
            return None
        left[fault] = left.get(fault, False) or not _judge(exercise, outcome, expected)[0]
    count = sum(left.values())
    new = ", or a change has brought in a new one that every test meets" if count == len(left) else ""
    return f"{count} of {len(left)} faults {'is' if count == 1 else 'are'} left{new}"


def _is_made(exercise, mistake, outcomes):
    return all(_made(exercise, mistake, outcome) for outcome in outcomes)


def _made(exercise, mistake, outcome):
    """Whether an attempt has the same problem as a known mistake in this case, or the same answer."""
    if mistake.wrong_anyhow and outcome.case.label.startswith(mistake.wrong_anyhow):
        right = _known_outcome(exercise, exercise.reference, outcome.case).value
        return not outcome.problem and not _judge(exercise, outcome, right)[0]
    wrong = _known_outcome(exercise, mistake.function, outcome.case)
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
