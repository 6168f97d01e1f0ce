"""Exercises: what one is (`edits`), the checker that judges an attempt (`checker`), single slips (`slips`).

The exercises of a lesson are the list `EXERCISES` in `helpers/lessons/<lesson>/exercises.py`, which is found by its
being there; there is no list to keep. Each holds the solution as text, the cases that tell right from wrong, and the
known mistakes as edits of the solution; `shared` has what several lessons say, `errors.toml` what the checker says of
an error. Prompts and hints are in the notebook.
"""

from .bugs import bug_of_the_week
from .checker import WrongKind, all_exercises, check_exercise, exercises_of_lessons, handed_over
from .edits import Exercise, case

__all__ = [
    "Exercise",
    "WrongKind",
    "all_exercises",
    "bug_of_the_week",
    "case",
    "check_exercise",
    "exercises_of_lessons",
    "handed_over",
]
