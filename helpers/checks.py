"""Checks: one printed line for every claim a lesson makes, and a count of those that held.

A check prints `PASS - name: value` or `FAIL - name: what is wrong`, returns a bool, and is remembered under
its name, so that running a cell again updates its result instead of counting it twice. `summary()` counts
what really ran, exercises apart from checks. Lines are the same on every machine: numbers are rounded to the
tolerance of the comparison (what `check_between` measured is left out when stored outputs are compared), and a
long line goes on, indented, below.

With the environment variable `HELPERS_STRICT=1` a failing check also raises `AssertionError`, so that a
notebook fails under whatever executes it.
"""

import html
import os
import sys
import textwrap
import unicodedata
import warnings
from contextlib import contextmanager
from math import floor, log10

import numpy as np

SHORT_ARRAY = 6  # up to so many values are printed one by one
LONGEST_LINE = 300
WIDTH = 88  # columns of a printed line; a longer one is continued below, for JupyterLab breaks lines inside words
INDENT = " " * len("PASS - ")
MOST_VALUES = 10**7  # larger arrays are refused: comparing them could exhaust the kernel's memory

# (kind, name) -> (True, False or None for "to do", number of the cell that ran it)
# kind: "check", "exercise" for what a learner wrote, or "solution" for what the notebook shows
_results = {}
_group = None  # the lines of the check_all() block we are inside
_not_counted = 0  # how many not_counted() blocks we are inside


# ---------------------------------------------------------------------------------------------- the checks


def check_close(name, value, expected, tol=1e-6):
    """Check that `value` equals `expected` entry by entry: |value - expected| <= tol + tol * |expected|.

    The shapes must be equal, except that a single number `expected` is compared with every entry of `value`.
    NaN in `value` passes only where `expected` has NaN too; an infinity equals itself. Real and complex
    numbers are compared with each other, True/False only with True/False. With `tol=0` the values must be
    equal exactly. What cannot be compared (None, text, ragged lists, empty or masked arrays, a whole named
    tuple) is a FAIL, not an error.
    """
    return record(name, *compare(value, expected, tol))


def check_true(name, condition):
    """Check that `condition` is True: a bool, or a NumPy or torch bool with exactly one entry.

    Anything else is a FAIL, even if Python calls it truthy (a list, a function, the number 1), because
    such a check would pass by accident. For an array of conditions say `np.all(...)` or `np.any(...)`.
    """
    return record(name, *_guarded(_truth, condition))


def check_between(name, value, low, high):
    """Check that every entry of `value` lies between `low` and `high`, both included.

    The line shows what was measured and the bounds. Only the bounds decide: the measured digits may differ
    between processors, so the comparison of stored outputs leaves them out (`tests/measured.cfg`). `low`
    may be -np.inf or `high` np.inf, but not both. NaN is never between. What cannot be compared is a FAIL, not an
    error.
    """
    return record(name, *_guarded(_between, value, low, high))


def check_raises(name, error_type, function, /, *args, **kwargs):
    """Check that `function(*args, **kwargs)` raises `error_type` (an exception class or a tuple of them).

    `Exception` itself is refused, since a misspelled name would satisfy it.
    """
    types = error_type if isinstance(error_type, tuple) else (error_type,)
    if not types or not all(isinstance(t, type) and issubclass(t, Exception) for t in types):
        return record(name, False, f"error_type is {describe(error_type)}, expected an exception class")
    if Exception in types:
        return record(name, False, "Exception is too general, expected a class such as ValueError")
    if not callable(function):
        return record(name, False, f"got {describe(function)}, expected the function itself, not its result")
    wanted = " or ".join(t.__name__ for t in types)
    try:
        function(*args, **kwargs)
    except types as error:
        return record(name, True, f"raised {type(error).__name__}")
    except Exception as error:
        return record(name, False, f"raised {explain(error)}, expected {wanted}")
    return record(name, False, f"nothing was raised, expected {wanted}")


@contextmanager
def check_all(name):
    """Inside `with check_all("the noise follows its formula"):` the checks together show one line, which opens.

    It says how many passed; each is remembered and counted by itself, as outside. Where one fails, the group
    stands open, and in strict mode the first failure raises.
    """
    global _group
    outer, _group = _group, []
    group, failed = _group, True
    try:
        yield
        failed = any(line.startswith("FAIL") for line in group)
        if not group:
            record(name, False, "nothing was checked inside")
            failed = True
    finally:
        _group = outer
        passed = sum(line.startswith("PASS") for line in group)
        count = f"{passed} of {len(group)} checks passed" if failed else _some(len(group), "check")
        _show_group(f"{'FAIL' if failed else 'PASS'} - {_plain(name)}: {count}", group, failed)


def summary():
    """Print how many checks passed and which failed; then which exercises passed, failed or are still to do.

    Returns True if at least one of them ran and none failed. A solution that the notebook shows is named only
    if it failed.
    """
    checks, exercises, solutions = (_by_result(kind) for kind in ("check", "exercise", "solution"))
    ran = len(checks[True] + checks[False])
    parts = [f"{len(checks[True])} of {ran} checks passed"] if ran else []
    failed = checks[False] + solutions[False]
    if failed:
        parts.append(f"failed: {', '.join(failed)}")
    if any(exercises.values()):
        parts.append("exercises: " + _count_exercises(exercises))
    line = "; ".join(parts) or "no checks have run"
    print(_wrapped(line))
    all_passed = bool(ran or exercises[True]) and not failed and not exercises[False]
    if _strict() and not all_passed:
        raise AssertionError(line)
    return all_passed


def _by_result(kind):
    """The names of one kind: {True: those that passed, False: those that failed, None: those to do}."""
    found = {True: [], False: [], None: []}
    for (its_kind, name), (passed, _) in _results.items():
        if its_kind == kind:
            found[passed].append(name)
    return found


def _count_exercises(exercises):
    """ "1 passed, 1 failed (my_a), 2 to do (my_b, my_c)", without what there is none of."""
    counts = [f"{len(exercises[True])} passed"] if exercises[True] else []
    for result, words in ((False, "failed"), (None, "to do")):
        names = exercises[result]
        if names:
            counts.append(f"{len(names)} {words} ({', '.join(names)})")
    return ", ".join(counts)


@contextmanager
def not_counted():
    """Inside `with not_counted():` checks print as always, but are neither counted nor raised.

    Lessons use it to show what a FAIL looks like.
    """
    global _not_counted
    _not_counted += 1
    try:
        yield
    finally:
        _not_counted -= 1


def reset():
    """Forget every result."""
    _results.clear()


# ------------------------------------------------------------------------ what checks and exercises share


def record(name, passed, detail, kind="check"):
    """Print one result line and remember it. `passed` is True, False, or None for "to do". Returns a bool.

    The latest result of a name counts; but within one run of a notebook cell (a loop, say) a FAIL stays.
    `kind` is "check", "exercise" or "solution", which `summary()` counts apart.
    """
    if not isinstance(name, str) or not name.strip():
        given = "an empty text" if isinstance(name, str) else describe(name)
        name, passed, detail = "check without a name", False, f"the first argument is the name, got {given}"
    name = _plain(" ".join(name.split()))
    line = {True: "PASS", False: "FAIL", None: "TODO"}[passed] + f" - {name}" + (f": {detail}" if detail else "")
    line = shorten(line, LONGEST_LINE)
    if _group is None:
        print(_wrapped(line))
    else:
        _group.append(line)
    if _not_counted:
        return bool(passed)
    cell = _cell_number()
    before, where = _results.get((kind, name), (None, None))
    fail_sticks = before is False and cell is not None and cell == where
    _results[kind, name] = (False if fail_sticks else passed, cell)
    if passed is False and _strict():
        raise AssertionError(line)
    return bool(passed)


def compare(value, expected, tol, broadcast=True):
    """Compare as `check_close` does: returns (passed, the text that follows the name in its line).

    With `broadcast=False` a single number `expected` needs a single number `value`.
    """
    return _guarded(_compare, value, expected, tol, broadcast)


def describe(thing):
    """Say in a few words what was given, never printing its contents."""
    kind = type(thing).__name__
    if thing is None or isinstance(thing, (bool, np.bool_)):
        return str(thing)
    if isinstance(thing, np.ma.MaskedArray):
        return f"a masked array with shape {thing.shape}"
    if isinstance(thing, np.ndarray):
        return f"an array of {thing.dtype} with shape {thing.shape}"
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return f"{kind}({', '.join(thing._fields)})"
    if isinstance(thing, (list, tuple)):
        return f"a {kind} of length {len(thing)}"
    if isinstance(thing, int) and not -(2**63) <= thing < 2**64:  # neither an int64 nor a uint64
        return "an int of more than 64 bits"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def explain(error):
    """An exception in one short line: its type and message."""
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:
        return kind
    return f"{kind}: {shorten(message, 120)}" if message else kind


def shorten(text, length):
    """The text itself, or its beginning and "..." if it is longer than `length`."""
    return text if len(text) <= length else text[: length - 3] + "..."


def to_tolerance(x, tol=1e-6):
    """One number as text, rounded to `tol` (relative above 1); never "-0.0", never "np.float64(...)".

    Rounding twice, first to four more digits, keeps 0.125 from becoming 0.12 here and 0.13 there when two
    machines differ in the last bit.
    """
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if isinstance(x, (complex, np.complexfloating)):
        imag = to_tolerance(x.imag, tol)
        return to_tolerance(x.real, tol) + ("" if imag.startswith("-") else "+") + imag + "j"
    x = float(x)
    if x != x:
        return "NaN"
    if abs(x) >= 1e15:  # also the infinities
        return f"{x:.6g}"
    # 1e-9: a logarithm that comes out as -5.9999999 still means six digits
    digits = min(15, floor(1e-9 - log10((tol or 1e-12) * max(1.0, abs(x)))))
    return repr(round(round(x, digits + 4), digits) + 0.0)


# ------------------------------------------------------------------------------------------------ inside


def _wrapped(line):
    """The line in rows of at most WIDTH columns, broken between words only."""
    return textwrap.fill(line, WIDTH, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False)


def _some(count, noun):
    return f"{count} {noun}{'s' * (count != 1)}"


def _show_group(head, lines, is_open):
    """A group as text, its checks indented, and in a notebook also as HTML: a line that opens."""
    text = "\n".join([_wrapped(head), *(textwrap.indent(_wrapped(line), "  ") for line in lines)])
    if running_shell() is None:
        print(text)
        return
    from IPython.display import display

    head, inner = (html.escape(part, quote=False) for part in (head, "\n".join(map(_wrapped, lines))))
    opened = " open" if is_open else ""
    shown = f"<details{opened}><summary><code>{head}</code></summary>\n<pre>\n{inner}\n</pre></details>"
    display({"text/plain": text, "text/html": shown}, raw=True)


def _plain(text):
    """The text without control characters and broken halves of characters, which not every screen can be sent."""
    return "".join("?" if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)


class _Unusable(Exception):
    """A value that cannot be compared; the message says why."""


def _guarded(comparison, *args):
    """The comparison's result; whatever cannot be compared becomes a failure with its reason."""
    try:
        return comparison(*args)
    except _Unusable as problem:
        return False, str(problem)
    except Exception as error:  # what a strange object does when it is looked at, or too little memory
        return False, f"could not be compared ({explain(error)})"


def _truth(condition):
    if hasattr(condition, "__array__") and not isinstance(condition, (type, np.ma.MaskedArray)):
        array = np.asarray(condition)
        if array.dtype == bool and array.size != 1:
            false = array.size - np.count_nonzero(array)
            return False, f"got {array.size} conditions, {false} of them False, expected one; use np.all(...)"
        condition = array.item() if array.dtype == bool else condition
    if isinstance(condition, (bool, np.bool_)):
        return bool(condition), "" if condition else "the condition is False"
    hint = "call it" if callable(condition) else "compare it with something, or use np.all(...) for an array"
    return False, f"got {describe(condition)}, expected True or False; {hint}"


def _compare(value, expected, tol, broadcast):
    if isinstance(tol, bool) or not isinstance(tol, (int, float, np.number)):
        raise _Unusable(f"tol is {describe(tol)}, expected a number")
    if not (0 <= tol < np.inf):
        raise _Unusable(f"tol is {to_tolerance(tol)}, expected a finite number of at least 0")
    value, expected = _as_numbers("value", value), _as_numbers("expected", expected)
    if value.shape != expected.shape and (expected.ndim or not broadcast):
        raise _Unusable(f"value has shape {value.shape}, expected {expected.shape}")
    if value.size == 0:
        raise _Unusable(f"value has shape {value.shape}: there is nothing to compare")
    if (value.dtype == bool) != (expected.dtype == bool):
        raise _Unusable(f"value is {value.dtype}, expected {expected.dtype}: True/False is not a number here")

    kind = complex if "c" in value.dtype.kind + expected.dtype.kind else float
    with np.errstate(all="ignore"):
        v, e = value.astype(kind), expected.astype(kind)
        difference = np.abs(v - e)
        right = (value == expected) | (np.isnan(v) & np.isnan(e))
        if tol > 0:
            right |= np.isfinite(e) & (difference <= tol + tol * np.abs(e))
    if np.all(right):
        return True, _matching(value, expected, tol)

    wrong = np.flatnonzero(~np.atleast_1d(right))
    where = tuple(int(i) for i in np.unravel_index(wrong[0], value.shape))
    fine = 0.01 * tol or 1e-14  # finer than the tolerance, so that got and expected never look alike
    got = to_tolerance(value[where], fine)
    wanted = to_tolerance(np.broadcast_to(expected, value.shape)[where], fine)
    finite = difference[~right & np.isfinite(difference)]
    nan = int(np.count_nonzero(np.isnan(v) & ~right))
    infinite = int(np.count_nonzero(np.isinf(v) & ~right))
    largest = f"{float(f'{finite.max():.3g}')!r}" if finite.size else None
    if value.ndim == 0:
        return False, f"got {got}, expected {wanted}" + (f", difference {largest}" if largest else "")
    text = f"at {list(where)} got {got}, expected {wanted}; {wrong.size} of {value.size} values wrong"
    text += f", {nan} NaN" if nan else ""
    text += f", {infinite} infinite" if infinite else ""
    return False, text + (f", largest difference {largest}" if largest else "")


def _bound(x):
    """A bound with six digits, also a tiny one: 1e-13, 0.707107, 3, never "-0"."""
    return f"{float(x) + 0.0:.6g}"


def _between(value, low, high):
    for role, bound in (("low", low), ("high", high)):
        if isinstance(bound, (bool, np.bool_)) or not isinstance(bound, (int, float, np.number)) or bound != bound:
            raise _Unusable(f"{role} is {describe(bound)}, expected a number")
    if low > high or (low == -np.inf and high == np.inf):
        given = f"{_bound(low)} and {_bound(high)}"
        raise _Unusable(f"the bounds are {given}, expected the lower one first and at least one finite")
    if np.iscomplexobj(value):
        raise _Unusable(f"value is {describe(value)}, expected real numbers")
    value = _as_numbers("value", value)
    if value.size == 0:
        raise _Unusable(f"value has shape {value.shape}: there is nothing to compare")
    if value.dtype == bool:
        raise _Unusable("value is bool: True/False is not a number here")
    bounds = f"between {_bound(low)} and {_bound(high)}"
    if low == -np.inf:
        bounds = f"at most {_bound(high)}"
    if high == np.inf:
        bounds = f"at least {_bound(low)}"
    wrong = np.flatnonzero(~((value >= low) & (value <= high)))
    if wrong.size == 0 and value.size == 1:
        return True, f"{_measured(value.item(), low, high)}, {bounds}"
    if wrong.size == 0:
        least, most = (_measured(x.item(), low, high) for x in (value.min(), value.max()))
        return True, f"{_all(value.size)} {bounds}, from {least} to {most}"
    where = tuple(int(i) for i in np.unravel_index(wrong[0], value.shape))
    got = to_tolerance(value[where], 1e-8)
    if value.ndim == 0:
        return False, f"got {got}, expected {bounds}"
    return False, f"at {list(where)} got {got}, expected {bounds}; {wrong.size} of {value.size} values wrong"


def _all(count):
    return "both values are" if count == 2 else f"all {count} values are"


def _measured(x, low, high):
    """`x` with three significant digits; with up to six, as the bounds have, if it would seem to lie outside them."""
    if isinstance(x, int):
        return str(x)
    x = float(x) + 0.0  # never "-0"
    for digits in range(3, 7):
        whole = 10**digits - 0.5 <= abs(x) < 1e6
        text = f"{x:.0f}" if whole else f"{x:.{digits}g}"
        if float(_bound(low)) <= float(text) <= float(_bound(high)):
            break
    return text


def _as_numbers(role, x):
    """`x` as an array of real, complex or bool numbers, or _Unusable."""
    if x is None:
        hint = "; does the function return something?" if role == "value" else ""
        raise _Unusable(f"{role} is None{hint}")
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        hint = f"pick a field, for example .{x._fields[0]}"
        raise _Unusable(f"{role} is {describe(x)}, expected one array; {hint}")
    if isinstance(x, np.ma.MaskedArray):
        raise _Unusable(f"{role} is a masked array; compare x.compressed() or x.filled(...) instead")
    if _size(x) > MOST_VALUES:
        raise _Unusable(f"{role} has more than {MOST_VALUES} values; compare a part of it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.asarray(x)
    except Exception as error:
        why = "its rows differ in length" if "inhomogeneous" in str(error) else explain(error)
        raise _Unusable(f"{role} is {describe(x)} and cannot become an array of numbers: {why}") from None
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if array.dtype.kind not in "biufc":
        raise _Unusable(f"{role} is {describe(x)}, expected real or complex numbers")
    return array


def _size(x):
    """How many values there are, without making them: of nested lists, as many as the first of each level holds."""
    if isinstance(x, np.ndarray):
        return x.size
    size = 1
    for _ in range(64):  # as deep as an array can be; a list may also hold itself
        try:
            size *= len(x)
            x = x[0]
        except Exception:  # a single number, a generator, a 0-d tensor, an empty list
            break
        if not isinstance(x, (list, tuple, range, np.ndarray)):
            break
    return size


def _matching(value, expected, tol):
    if value.size > 1 and expected.ndim == 0:
        return f"all {value.size} values are {to_tolerance(expected[()], tol)}, shape {value.shape}"
    if value.size > SHORT_ARRAY or value.ndim > 2:
        return f"{value.size} values match, shape {value.shape}"
    return _nested(value, tol)


def _nested(array, tol):
    if array.ndim == 0:
        return to_tolerance(array[()], tol)
    return "[" + ", ".join(_nested(row, tol) for row in array) + "]"


def running_shell():
    """IPython's shell where this runs in a notebook or in IPython, else None."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _cell_number():
    """The number of the running notebook cell, or None outside a notebook."""
    return getattr(running_shell(), "execution_count", None)


def _strict():
    return os.environ.get("HELPERS_STRICT", "") not in ("", "0")
