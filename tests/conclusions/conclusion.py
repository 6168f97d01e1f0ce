"""A sentence that rests on an experiment, tried where the sentence names no condition.

    from tests.conclusions.conclusion import conclusion, each

    @conclusion("post-norm's stream keeps its size at any depth", vary=each(width=[16, 64, 256], seed=range(5)))
    def test_the_streams_size(width, seed):
        ...
        return bool(low < size < high)      # True: the sentence holds here

One test tries every variation, counts "holds in k of n" and fails below `least` (all of them unless given). The run
ends with a table of all conclusions. The file's name tells the lesson; the sentence is as the lesson says it. What the
lesson defines is taken from there (lesson.py); samples.py has the digits and the loop that trains on them.

Where lesson 14's ledger quotes a sentence, it says what was counted: held = "15 of 15 variations of width, seed" in
helpers/lessons/14_choosing_a_norm/claims.toml. tests/lessons/test_claims.py compares it with `vary` and `least`.
"""

import re
import time
from itertools import product

import numpy as np

KNOWN = {}  # (two digits of the lesson, sentence): (vary, least), of all conclusions whose files were imported


def each(**values):
    """Every combination of the values, as a list of dicts: each(width=[16, 64], seed=range(5)) has ten."""
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def conclusion(sentence, *, vary, least=None):
    """Make one test of a function that says whether the sentence holds under one variation.

    sentence  as the lesson says it.
    vary      list of dicts, the keyword arguments of each variation; see `each`.
    least     in how many variations it has to hold; all of them unless given.

    The function returns True or False; anything else, an error too, fails the test with the variation that caused it.
    Overflow and invalid values give no warning: a diverging training is a result.
    """
    vary = [dict(variation) for variation in vary]
    least = len(vary) if least is None else least
    if not vary or not 0 < least <= len(vary):
        raise ValueError(f"conclusion: at least one variation and 0 < least <= {len(vary)}, got least = {least}")

    def decorate(function):
        lesson = re.search(r"test_(\d\d)_|$", function.__module__)[1]
        if (lesson, sentence) in KNOWN:
            raise ValueError(f"conclusion: lesson {lesson} says {sentence!r} twice")
        KNOWN[lesson, sentence] = vary, least

        def test(record_property):
            start = time.perf_counter()
            failed = [variation for variation in vary if not _holds(function, variation)]
            result = {
                "lesson": lesson,
                "sentence": sentence,
                "varied": varied(vary),
                "holds": len(vary) - len(failed),
                "of": len(vary),
            }
            record_property("conclusion", {**result, "least": least, "seconds": time.perf_counter() - start})
            holds = f"“{sentence}” holds in {result['holds']} of {result['of']} variations"
            assert result["holds"] >= least, f"{holds}, at least {least} expected; not with {_some(failed)}"

        # Not functools.wraps: pytest would take the variation's names for fixtures.
        test.__name__ = function.__name__
        test.__doc__ = function.__doc__
        test.__module__ = function.__module__
        return test

    return decorate


def _holds(function, variation):
    try:
        with np.errstate(all="ignore"):
            answer = function(**variation)
    except Exception as error:
        error.add_note(f"with {variation}")
        raise
    if not isinstance(answer, bool | np.bool_):
        raise TypeError(f"{function.__name__} returned {answer!r} with {variation}, expected True or False")
    return bool(answer)


def _some(variations, most=5):
    rest = f" and {len(variations) - most} more" if len(variations) > most else ""
    return "; ".join(_said(variation) for variation in variations[:most]) + rest


def _said(variation):
    return ", ".join(f"{name} = {_value(value)}" for name, value in variation.items())


def varied(vary):
    """What was varied, in words: "width 16, 64 or 256; seed 0 to 4"."""
    values = {}
    for variation in vary:
        for name, value in variation.items():
            values.setdefault(name, {})[_value(value)] = value
    return "; ".join(f"{name.replace('_', ' ')} {_values(seen)}" for name, seen in values.items())


def _values(seen):
    numbers = [value for value in seen.values() if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(seen) > 3:
        return f"{_value(min(numbers))} to {_value(max(numbers))}"
    *most, last = seen
    return f"{', '.join(most)} or {last}" if most else last


def _value(value):
    if isinstance(value, type | np.dtype):
        return np.dtype(value).name
    return getattr(value, "__name__", None) or (f"{value:g}" if isinstance(value, float) else str(value))


def table(results):
    """The lines printed after a run: lesson, conclusion, what was varied, in how many variations it holds, seconds."""
    head = ("lesson", "holds in", "seconds", "conclusion", "varied")
    rows = [
        (r["lesson"], f"{r['holds']} of {r['of']}", f"{r['seconds']:.1f}", r["sentence"], r["varied"])
        for r in sorted(results, key=lambda r: (r["lesson"], r["sentence"]))
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
