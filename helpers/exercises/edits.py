"""What an exercise is: a solution as text, cases that tell wrong from right, and mistakes as edits of the solution.

A mistake is what a learner could have typed instead. Its key in `Exercise.mistakes` says how the solution changes:

    "x.std() -> x.var()"             the left side occurs once in the solution, the right side takes its place
    "axis=1 -2-> axis=0"             the left side occurs twice, and is replaced twice
    "beta ->"                        the right side may be empty
    "+ x = x.astype(np.float32)"     one more line, before the first one of the body
    "return x / x.max()"             without an arrow: the whole body, in one line
    "def my_name(x): ..."            the whole function or class, as text

The lines of one key are edits that are made one after the other. A tuple of keys holds several ways to make the same
mistake.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent

import numpy as np

_ARROW = re.compile(r" (?:-(\d+))?->(?: |$)")
_HEAD = re.compile(r"^(?:def|class) (\w+)(\(.*?\))?:", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Case:
    """One call that is tried: `args` and `kwargs`, and a few words that say what is special about it."""

    args: tuple
    kwargs: dict
    label: str = ""


def case(*args, label="", **kwargs):
    """Write a Case the way the call is written: `case(x, gamma, beta, eps=0.1, label="large eps")`."""
    return Case(args, kwargs, label)


@dataclass(frozen=True, eq=False)
class Mistake:
    """A wrong attempt as text, and its sentence: what the learner did ("you ..."), then the rule."""

    attempt: str
    sentence: str
    names: dict

    @cached_property
    def function(self):
        """The wrong attempt itself."""
        return compiled(self.attempt, self.names)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    solution: the text of a correct function or class, as a learner would write it; the notebook's solution cell is
        the same text. Its name, "my_layer_norm", is the name of the exercise, unique over all lessons.
    cases: a function of a seeded `np.random.Generator` that returns the list of Cases.
    mistakes: {edit of the solution: sentence}, as above. The cases must tell each mistake from the solution
        and from the others; of two that give the same the first is named.
    variants: correct solutions written differently, in the styles that people use (functions, or edits of the
        solution): for the tests, and as further bases of slips. A comment "# the ..." says what a line computes.
    worked: [(Case, the answer worked by hand)], for the tests.
    results: what the items of a tuple are called in messages: ("weight", "bias").
    tol: tolerance as in `check_close`; wide enough for a solution that computes in float32.
    names: what the solution needs besides `np`, {name: thing}.
    forbidden: {names: sentence}, what an attempt must not use: {"mean std": "the task asks for ..."}.
    run: `run(attempt, *args, **kwargs)`, if trying a case is more than calling the attempt: driving a class
        through several updates, or bringing equivalent answers to one form. It passes on None and `...` and
        raises `WrongKind(sentence)` for an answer of the wrong kind.
    compare: `compare(result, expected, tol)` -> (bool, text), if the usual comparison does not fit.
    given: where the learner fixes code that is handed over, the edits of the solution that put all its bugs in:
        an attempt that still does the same is TODO. Up to a comma, the label of a case names one bug, and the
        case shows this bug only; so a FAIL can say how many are left, without naming them.
    signature: the call for messages, if it is not the first line of the solution.
    """

    solution: str
    cases: Callable[[np.random.Generator], list[Case]]
    mistakes: dict = field(default_factory=dict)
    variants: list[Callable | str] = field(default_factory=list)
    worked: list[tuple[Case, object]] = field(default_factory=list)
    results: tuple[str, ...] = ()
    tol: float = 1e-6
    names: dict = field(default_factory=dict)
    forbidden: dict[str, str] = field(default_factory=dict)
    run: Callable | None = None
    compare: Callable | None = None
    given: str | None = None
    signature: str = ""

    def __post_init__(self):
        solution = dedent(self.solution).strip()
        name, rest = _HEAD.search(solution).groups()
        changed = {"solution": solution, "name": name, "signature": self.signature or name + rest}
        changed["mistakes"] = list(_mistakes(solution, self.mistakes, self.names))
        changed["variants"] = [v if callable(v) else self._variant(edited(solution, v)) for v in self.variants]
        for key, value in changed.items():
            object.__setattr__(self, key, value)

    def _variant(self, text):
        variant = compiled(text, self.names)
        variant.text = text
        return variant

    @cached_property
    def reference(self):
        """The solution as a function or class."""
        return compiled(self.solution, self.names)

    @cached_property
    def as_given(self):
        """The code that the learner is handed, a function with all bugs; None if there is none."""
        return self.given and compiled(edited(self.solution, self.given), self.names)


def _mistakes(solution, mistakes, names):
    for keys, sentence in mistakes.items():
        for key in keys if isinstance(keys, tuple) else (keys,):
            yield Mistake(edited(solution, key), sentence, names)


def edited(solution, key):
    """The text of the solution after the edits of a key (see above); ValueError if one does not fit."""
    head = _HEAD.search(solution)[0]
    if not (key.startswith("+ ") or _ARROW.search(key)):
        return key if _HEAD.match(key) else f"{head}\n    {key}"
    added = ""
    for edit in key.splitlines():
        if not _ARROW.search(edit):
            added += "\n    " + edit.removeprefix("+ ")
            continue
        old, count, new = _ARROW.split(edit, maxsplit=1)
        if solution.count(old) != int(count or 1):
            raise ValueError(
                f"the mistake {edit!r} expects {old!r} {count or 1} times in the solution, which has it "
                f"{solution.count(old)} times; write a longer piece of its text, or the number as in 'old -2-> new':\n"
                f"{solution}"
            )
        solution = solution.replace(old, new)
    return solution.replace(head, head + added, 1)


def compiled(code, names, name=""):
    """The function or class of this name that the code, a text or a syntax tree, defines; by default a text's last."""
    found = {"np": np, "__name__": "exercise", **(names or {})}
    exec(compile(code, "<exercise>", "exec"), found)
    return found[name or _HEAD.findall(code)[-1][0]]
