"""Mistakes as edits of a solution: how an edit is written, and what becomes of it."""

import numpy as np
import pytest

from helpers.exercises import Exercise, case

SOLUTION = """
def my_mean(x, axis=0):
    total = x.sum(axis=axis)
    return total / x.shape[axis]
"""


def make(mistakes, **more):
    cases = lambda rng: [case(np.arange(6.0).reshape(2, 3))]  # noqa: E731
    return Exercise(solution=SOLUTION, cases=cases, mistakes=mistakes, **more)


def outcome(key):
    """What the only mistake of an exercise gives for [[0, 1, 2], [3, 4, 5]]."""
    (mistake,) = make({key: "you ..."}).mistakes
    return mistake.function(np.arange(6.0).reshape(2, 3)).tolist()


def test_the_solution_names_the_exercise_and_its_call():
    exercise = make({})
    assert (exercise.name, exercise.signature) == ("my_mean", "my_mean(x, axis=0)")
    assert exercise.solution == SOLUTION.strip()
    assert exercise.reference(np.ones((2, 3))).tolist() == [1, 1, 1]
    assert make({}, signature="forward of my_mean").signature == "forward of my_mean"


@pytest.mark.parametrize(
    ("key", "result"),
    [
        ("x.sum -> x.max", [1.5, 2, 2.5]),
        ("[axis] -> [0]\nsum(axis=axis) -> sum(axis=1)", [1.5, 6]),
        (" / x.shape[axis] ->", [3, 5, 7]),
        ("+ x = 2 * x\n+ x = x + 1", [4, 6, 8]),
        ("y = x + 1; return y[0]", [1, 2, 3]),
        ("def half(x):\n    return x / 2\n\ndef my_mean(x):\n    return half(x[1])", [1.5, 2, 2.5]),
    ],
)
def test_an_edit_changes_the_solution_as_it_says(key, result):
    assert outcome(key) == result


@pytest.mark.parametrize(
    ("key", "count"), [("x.min -> x.max", 0), ("total -> amount", 2), ("total -3-> amount", 2), ("axis=axis -2->", 1)]
)
def test_an_edit_that_does_not_fit_is_refused(key, count):
    with pytest.raises(ValueError, match=f" has it {count} times; .*\n*def my_mean"):
        make({key: "you ..."})
