"""The bug of the week: a function of an exercise with one slip in it, to be named from its outputs."""

import datetime

import numpy as np

from ..checks import record
from . import slips
from .checker import _arguments, _cases, _is_right, _outcome, all_exercises

PROBES = 3
SUGGESTIONS = 4
# Functions of one array or few, whose formula a learner has in mind.
ASKED = (
    *("my_layer_norm", "my_batch_norm_nchw", "my_batch_norm", "my_masked_batch_norm", "my_batch_norm_eval"),
    *("my_rms_norm", "my_group_norm", "my_adain", "my_weight_standardize", "my_layer_norm_backward"),
)


def bug_of_the_week(week=None):
    """A `Bug`, another one each week. week: any number, for that week's; by default this week's."""
    if week is None:
        year, number, _ = datetime.date.today().isocalendar()
        week = 53 * year + number
    return Bug(np.random.default_rng(week))


def _digits(value):
    """All numbers of an answer to six digits, for comparing it with another."""
    arrays = value if isinstance(value, tuple) else [value]
    return [np.round(np.asarray(array, dtype=float), 6).tobytes() for array in arrays]


class Bug:
    """A function with one slip. Call it at most three times, with arguments of your choice; then `name` the slip.

    `print(bug)` shows the call and the slips that it may be.
    """

    def __init__(self, rng):
        known = all_exercises()
        self.exercise = known[rng.choice([name for name in ASKED if name in known])]
        self._probes = 0
        chosen, seen = [], []
        for slip in rng.permutation(np.array(slips.bases(self.exercise)[0].slips, dtype=object)):
            told = slip.common and slip.place and slip.sentence not in [other.sentence for other in chosen]
            if not told or not slip.function or len(chosen) == SUGGESTIONS:
                continue
            outcomes = [_outcome(self.exercise, slip.function, c) for c in _cases(self.exercise)]
            given = [_digits(outcome.value) for outcome in outcomes if not outcome.problem]
            is_wrong = not all(_is_right(self.exercise, outcome) for outcome in outcomes)
            if len(given) == len(outcomes) and is_wrong and given not in seen:
                chosen.append(slip)
                seen.append(given)
        self._slip = chosen[0]
        words = [slip.sentence.partition(": ")[2] for slip in chosen]
        self.suggestions = [words[k] for k in rng.permutation(len(words))]

    def __call__(self, *args, **kwargs):
        if self._probes == PROBES:
            raise RuntimeError(f"you have used {PROBES} probes: name the slip, as in bug.name('A')")
        answer = self._slip.function(*args, **kwargs)  # a call that raises an error costs no probe
        self._probes += 1
        return answer

    def __str__(self):
        rows = [f"  {letter}. {words}" for letter, words in zip("ABCD", self.suggestions, strict=False)]
        call = _cases(self.exercise)[0]
        given = _arguments(self.exercise, call.args, call.kwargs)
        takes = ", ".join(f"{what} {np.shape(value)}" for what, value in given.items())
        told = f"{PROBES} probes, for example with shapes {takes}. It is one of these:"
        return "\n".join([f"{self.exercise.signature} with one slip.", told, *rows])

    def name(self, letter):
        """Say which slip it is, "A" to "D"; prints a PASS or FAIL line and returns a bool."""
        right = "ABCD"[self.suggestions.index(self._slip.sentence.partition(": ")[2])]
        found = str(letter).strip().upper() == right
        said = "found" if found else "with that slip it would give other outputs for some input"
        return record(f"bug of the week, {letter}", found, said)
