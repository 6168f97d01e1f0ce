"""Exercises: one file per lesson, each with a list `EXERCISES`, and the checker that judges an attempt.

A lesson file is found by its being in this folder; there is no list to keep. It holds the reference, the
cases that tell right from wrong, and the known mistakes with the sentence that names them; `steps` holds the
mistakes that several lessons share. Prompts, hints and solutions are in the notebook.
"""

from .checker import Case, Exercise, Mistake, WrongKind, all_exercises, case, check_exercise

__all__ = ["Case", "Exercise", "Mistake", "WrongKind", "all_exercises", "case", "check_exercise"]
