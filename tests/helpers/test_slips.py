"""Single slips: which there are, what they are called, and that the checker names them."""

import inspect

import numpy as np
import pytest

from helpers.checks import not_counted
from helpers.exercises import Exercise, all_exercises, bug_of_the_week, case, checker, slips
from helpers.exercises.checker import diagnose
from helpers.exercises.relations import relations

SOLUTION = """
def my_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=0)  # the mean
    var = np.mean((x - mean) ** 2, axis=0)  # the variance
    if eps < 0:  # no place: this comment has no article
        raise ValueError
    y = (x - mean) / np.sqrt(var + eps)  # the normalized values
    y *= 1
    return gamma * y + beta
"""


def _cases(rng):
    x = rng.standard_normal((2, 4, 4))
    return [case(x[0], x[1, 0], x[1, 1]), case(x[1], x[0, 0], x[0, 1], eps=0.5), case(1e-3 * x[0], x[1, 0], x[1, 1])]


EXERCISE = Exercise(solution=SOLUTION, cases=_cases, mistakes={"gamma * y + beta -> y": "no scale and shift"})


def written(old, new, text=SOLUTION):
    assert old in text
    names = {"np": np}
    exec(text.replace(old, new), names)
    return names["my_norm"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("x.mean(", "x.sum(", "in the mean the sum is taken instead of the mean"),
        ("x.mean(axis=0)", "x.mean()", "in the mean all entries are taken at once"),
        ("2, axis=0)", "2, axis=1)", "in the variance another axis is taken"),
        ("** 2", "", "in the variance a square is missing"),
        ("var + eps", "var", "in the normalized values epsilon is left out"),
        ("np.sqrt(var + eps)", "(np.sqrt(var) + eps)", "in the normalized values epsilon is outside the square root"),
        ("np.sqrt(var + eps)", "(var + eps)", "in the normalized values the square root is missing"),
        ("(x - mean) / np", "(mean - x) / np", "in the normalized values the difference has the wrong sign"),
        ("var + eps)", "beta + eps)", "in the normalized values a wrong variable is used"),
        ("gamma * y + beta", "gamma * (y + beta)", "the sum is multiplied, not only its first term"),
        ("gamma * y + beta", "gamma * y", "a term is missing"),
        ("x.mean(axis=0)", "x.astype(np.float32).mean(axis=0) + 1", None),
    ],
)
def test_a_slip_is_named_by_kind_and_place(monkeypatch, old, new, sentence):
    monkeypatch.setattr(checker, "SLIPS_TIME_LIMIT", 2 if sentence else 0.2)
    passed, text = diagnose(EXERCISE, written(old, new))
    assert passed is False
    if sentence:
        assert text.partition("; case x (4, 4), ")[0] == f"one slip from right: {sentence}"
    else:
        assert text.startswith("case x (4, 4)")


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ([("axis=0", "axis=1")], "one slip from right, made throughout: another axis is taken"),
        (
            [("x.mean(", "x.sum("), ("var + eps", "var")],
            "two slips from right: ",
        ),
        ([("gamma * y + beta", "3 * (gamma * y + beta)")], "your result is 3 times the right one; case x (4, 4)"),
        ([("gamma * y + beta", "(gamma * y + beta) * (1 if eps < 0.1 else 3)")], "right in 2 of 3 cases; "),
    ],
)
def test_what_several_slips_and_the_numbers_say(edits, sentence):
    text = SOLUTION
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    assert diagnose(EXERCISE, written("", "", text))[1].startswith(sentence)


@pytest.mark.parametrize(
    ("body", "old", "new", "sentence"),
    [
        ("z = x.copy()\n    z += y\n    return z", "+=", "-=", "a term has the wrong sign"),
        ("return x.mean(0)", "(0)", "(1)", "another axis is taken"),
        ("return x.min(), x.max()", ", x.max()", "", "one is missing"),
        ("return x, y, x + y", "x, y, x + y", "y, x + y, x", "the results stand in another order"),
    ],
)
def test_a_slip_in_a_statement_a_call_or_the_results_is_named(body, old, new, sentence):
    solution = f"def my_norm(x, y):\n    {body}"
    exercise = Exercise(solution=solution, cases=lambda rng: [case(*rng.standard_normal((2, 4, 4)))], mistakes={})
    assert diagnose(exercise, written(old, new, solution))[1].startswith(f"one slip from right: {sentence}")


RIGHT = np.array([[1.0, -2.0, 4.0], [3.0, 5.0, -8.0], [7.0, 9.0, 6.0]])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (-RIGHT, "the right one with the other sign"),
        (RIGHT.T, "the right one transposed"),
        (RIGHT / 2, "0.5 times the right one"),
        (RIGHT**2, "the square of the right one"),
        (RIGHT + 2, "off by 2 everywhere"),
        (RIGHT[::-1], "made of the right numbers in another order"),
    ],
)
def test_what_the_numbers_say(wrong, said):
    assert relations([(wrong, RIGHT, {})] * 2, (), 1e-6) == [f"your result is {said}"]
    both = [((RIGHT, wrong), (RIGHT, RIGHT), {})] * 2
    assert relations(both, ("mean", "m2"), 1e-6) == ["right: mean", f"m2 is {said}"]
    assert relations([(wrong, RIGHT, {}), (RIGHT + np.eye(3), RIGHT, {})], (), 1e-6) == [], "not in all cases"
    assert relations([(wrong, np.full((3, 3), np.nan), {})], (), 1e-6) == []


def test_a_factor_of_each_case_is_the_length_of_an_axis():
    cases = [(n * np.arange(4.0), np.arange(4.0), {"x": np.ones((n, 2))}) for n in (3, 5)]
    assert relations(cases, (), 1e-6) == ["your result is the right one times x.shape[0]"]
    cases = [(c * np.arange(4.0), np.arange(4.0), {"x": 1.0}) for c in (3, 5)]
    assert relations(cases, (), 1e-6) == ["your result is the right one up to a factor, another one in each case"]
    single = [(np.array(c), np.array(1.0), {}) for c in (3.0, 5.0, 7.0)]
    assert relations(single, (), 1e-6) == [], "any two numbers are equal up to a factor"


def test_a_known_mistake_comes_before_the_slip_that_it_is():
    assert diagnose(EXERCISE, written("gamma * y + beta", "y")) == (False, "no scale and shift")


def test_every_kind_of_place_is_changed():
    source = inspect.cleandoc("""
        def f(x, y, n):
            z = np.zeros(n)  # the start
            for k in range(n):
                z[k] += x[k] ** 3 if x[k] > 0 and not y[k] else -len(x) / 2.0
            if n == 1:
                return z, x
            return np.dot(x, y), z.var(axis=0, ddof=1, keepdims=True), np.linalg.norm(z, 0), x[:, None].T @ abs(y)
    """)
    base = slips.Base(source, {})
    found = {(slip.kind, slip.place) for slip in base.slips}
    assert len({kind for kind, _ in found}) >= 49, "a kind of slip is found no more"
    assert ("a step is left out", "the start") in found and ("ones stand instead of zeros", "the start") in found
    assert all(slip.function for slip in base.slips)
    assert slips.ast.unparse(base.tree) == slips.ast.unparse(slips.ast.parse(source)), "the base is as it was"
    assert (
        slips.Base("def f(x):\n    while x > 1:\n        x = x / 2", {}).slips[0].kind.startswith("it is computed in")
    )


def test_thin_evidence_names_no_slip(monkeypatch):
    nearly = Exercise(solution="def f(x):\n    return x + 5e-6", cases=lambda rng: [case(np.ones(2))], mistakes={})
    assert diagnose(nearly, lambda x: x)[1].startswith("case x"), "it differs by a few times the tolerance"
    steps = "\n".join(f"    x = x + {k}" for k in range(1, 6))
    shapes = dict(cases=lambda rng: [case(np.zeros(2))], mistakes={})
    many = Exercise(solution=f"def f(x):\n{steps.replace('x + ', 'x + 1 + 0 * ')}\n    return x", **shapes)
    assert diagnose(many, lambda x: x + 4)[1].startswith("case x"), "five lines may be the one that is left out"
    assert "in NumPy it is x.T" in diagnose(EXERCISE, lambda x, gamma, beta, eps=0: x.t())[1], "it never answers"
    monkeypatch.setattr(checker, "SLIPS_TIME_LIMIT", -1)
    assert diagnose(EXERCISE, written("var + eps", "var"))[1].startswith("case x"), "no time is left"


LIGHT = [e for e in all_exercises().values() if e.name != "my_battery"]  # half a second for each slip


@pytest.mark.parametrize("exercise", LIGHT, ids=lambda e: e.name)
def test_slips_of_every_exercise_are_rejected_and_named(monkeypatch, exercise):
    """One slip of each kind; where the cases cannot tell it from right, it counts as right."""
    base = slips.bases(exercise)[0]
    first = {slip.kind: slip for slip in reversed(base.slips) if slip.function}
    vars(base)["slips"] = sample = list(first.values())[:12]
    monkeypatch.setattr(slips, "bases", lambda exercise: [base])
    known = {m.sentence for m in exercise.mistakes} | {slip.sentence for slip in sample}
    unnamed = []
    for slip in sample:
        passed, text = diagnose(exercise, slip.function, from_any_cell=True)
        outcomes = [checker._known_outcome(exercise, slip.function, c) for c in checker._cases(exercise)]
        silent = all(o.problem for o in outcomes) or any(isinstance(o.kind, str) for o in outcomes)
        if (
            passed is False
            and text.partition("; case ")[0] not in known
            and not silent
            and checker._differs_clearly(exercise, slip.function)
        ):
            unnamed.append(f"{slip.sentence} (line {slip.line})\nbut a learner is told: {text}")
    assert exercise.given or len(unnamed) <= 1, "\n\n".join(unnamed)


def test_the_bug_of_the_week_can_be_told_by_its_outputs(capsys):
    """Each week another one; its slip is among the suggestions, and no other letter passes."""
    said = set()
    for week in range(12):
        bug = bug_of_the_week(week)
        text = str(bug)
        assert text == str(bug_of_the_week(week)) and text.count("\n  ") == 4
        with not_counted():
            assert sum(bug_of_the_week(week).name(letter) for letter in "ABCD") == 1
        said.add(text)
    assert len(said) > 9
    capsys.readouterr()


def test_the_bug_of_the_week_answers_three_probes():
    bug = bug_of_the_week(0)
    args = bug.exercise.worked[0][0].args
    for _ in range(3):
        bug(*args)
    with pytest.raises(RuntimeError, match="name the slip"):
        bug(*args)
