"""The rules for every exercise of every lesson; then the checker, with small exercises of its own."""

import copy
import functools
import inspect
import operator
import signal
import sys
from collections import namedtuple
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import helpers
from helpers import checks
from helpers.exercises import Exercise, all_exercises, attempts, case, check_exercise, checker
from helpers.exercises.checker import diagnose, exercises_of_lessons
from tests.shared import only_line as line

EXERCISES = list(all_exercises().values())
FUNCTIONS = [e for e in EXERCISES if not inspect.isclass(e.reference)]
every = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
every_function = pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda e: e.name)
timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")


def cases_of(exercise, seed=0):
    return exercise.cases(np.random.default_rng(seed))


def arrays_in(c):
    return [a for a in [*c.args, *c.kwargs.values()] if isinstance(a, np.ndarray)]


@pytest.fixture
def tried_once(monkeypatch):
    """An attempt is not tried again as the reference or the known mistake that it is."""
    tried = functools.cache(checker._outcome)
    monkeypatch.setattr(checker, "_outcome", lambda exercise, f, c, *_, **__: tried(exercise, f, c))


@every
def test_solution_and_variants_pass(capsys, tried_once, exercise):
    assert check_exercise(exercise.name, exercise.reference) is True
    assert line(capsys) == f"PASS - {exercise.name}: {len(cases_of(exercise))} cases"
    for variant in exercise.variants:
        assert diagnose(exercise, variant)[0] is True, (variant.__name__, diagnose(exercise, variant))


@every
def test_each_known_mistake_gets_its_own_sentence(tried_once, exercise):
    wrong = []
    for mistake in exercise.mistakes:
        found = diagnose(exercise, mistake.function)
        if found[0]:
            wrong.append(f"{mistake.attempt}\nis accepted as correct: take it out")
        elif found != (False, mistake.sentence):
            wrong.append(f"{mistake.attempt}\nits sentence: {mistake.sentence}\na learner is told: {found[1]}")
        elif all(checker._known_outcome(exercise, mistake.function, c).problem for c in checker._cases(exercise)):
            wrong.append(f"{mistake.attempt}\nnever answers: an error tells that by itself")
    if wrong:
        pytest.fail("\n\n".join(wrong) + "\n\nAnother mistake may give the same answers: join their keys.")


def test_no_two_lessons_have_exercises_of_one_name():
    assert len(EXERCISES) == sum(map(len, exercises_of_lessons().values()))


@every
def test_mistakes_variants_and_the_name_are_there(exercise):
    assert len({m.sentence for m in exercise.mistakes}) >= 3 and exercise.variants and len(cases_of(exercise)) >= 3
    assert all(len(f"FAIL - {exercise.name}: {m.sentence}") < checks.LONGEST_LINE for m in exercise.mistakes)
    assert exercise.name.startswith("my_") and not hasattr(helpers, exercise.name)


@every
def test_cases_hold_for_another_seed(exercise):
    for c, before in zip(cases_of(exercise, 1), checker._cases(exercise), strict=True):
        if c.args and all(map(operator.is_, c.args, before.args)) and not c.kwargs:
            continue  # nothing in it is drawn
        assert not checker._outcome(exercise, exercise.reference, c).problem


@every
def test_the_solution_gives_what_is_worked_by_hand(exercise):
    worked = exercise.worked
    assert worked, "work a case of this exercise by hand and enter it: Exercise(worked=[(case(...), answer)])"
    run = exercise.run or (lambda function, *args, **kwargs: function(*args, **kwargs))
    for c, expected in worked:
        got = run(exercise.reference, *c.args, **c.kwargs)
        got, expected = (value if isinstance(value, tuple) else (value,) for value in (got, expected))
        for item, wanted in zip(got, expected, strict=True):
            if isinstance(wanted, str):
                assert item == wanted
            else:
                np.testing.assert_allclose(item, wanted, rtol=1e-6)
            assert np.shape(item) == np.shape(wanted)


@every
def test_an_untouched_stub_is_to_do(capsys, monkeypatch, exercise):
    monkeypatch.setenv("HELPERS_STRICT", "1")
    stub = lambda *args, **kwargs: ...  # noqa: E731
    if inspect.isclass(exercise.reference):
        stub = type("Stub", (), {name: stub for name, m in vars(exercise.reference).items() if inspect.isfunction(m)})
    assert check_exercise(exercise.name, stub) is False
    assert line(capsys) == f"TODO - {exercise.name}: write {exercise.signature}, then run this cell again"
    assert checks._results["exercise", exercise.name][0] is None


@every_function
def test_an_attempt_without_an_answer_is_told(capsys, exercise):
    def raises(*args, **kwargs):
        raise KeyError("gamma")

    def forgets(*args, **kwargs):
        exercise.reference(*args, **kwargs)

    for attempt, text in (
        (raises, f": it raises KeyError: 'gamma' (line {raises.__code__.co_firstlineno + 1})"),
        (forgets, f"FAIL - {exercise.name}: it returns None; is the return statement missing?"),
        (lambda: 1, f"FAIL - {exercise.name}: it takes (), expected the call {exercise.signature}"),
    ):
        assert check_exercise(exercise.name, attempt) is False
        assert line(capsys).endswith(text)


SPOILED = {
    "shape": lambda y: np.ones((7, 7, 7)),
    "nan": lambda y: np.asarray(y) * np.nan,
    "text": lambda y: "text",
    "complex": lambda y: np.asarray(y) + 1j,
}


def spoiled(result, spoil):
    if isinstance(result, tuple) and not hasattr(result, "_fields"):
        return tuple(spoiled(item, spoil) for item in result) or (spoil(0),)
    return spoil(0.0 if isinstance(result, str) else result)  # no arithmetic with words


LIGHT = [e for e in FUNCTIONS if e.name != "my_battery"]  # a battery of a second is spoiled like the other two


@pytest.mark.parametrize("exercise", LIGHT, ids=lambda e: e.name)
def test_wrong_kinds_of_answers_get_one_line(capsys, monkeypatch, exercise):
    monkeypatch.setattr(checker.slips, "bases", lambda exercise: [])  # no slip gives these
    for kind, spoil in SPOILED.items():
        attempt = lambda *args, spoil=spoil, **kwargs: spoiled(exercise.reference(*args, **kwargs), spoil)  # noqa: E731
        assert check_exercise(exercise.name, attempt) is False, kind
        text = line(capsys)
        assert text.startswith(f"FAIL - {exercise.name}: case "), kind
        assert "raises" not in text and "could not be compared" not in text, kind


@pytest.mark.parametrize("exercise", [e for e in FUNCTIONS if all(map(arrays_in, cases_of(e)))], ids=lambda e: e.name)
def test_changing_an_input_is_told(exercise):
    def attempt(*args, **kwargs):
        result = copy.deepcopy(exercise.reference(*args, **kwargs))
        next(value for value in args if isinstance(value, np.ndarray))[...] += 1
        return result

    assert "in place, and the caller's array with it; work on a copy" in diagnose(exercise, attempt)[1]


def double(x):
    return 2 * x


def make(reference=None, **changed):
    """A small exercise: double an array."""
    parts = dict(
        solution="def double(x):\n    return 2 * x",
        cases=lambda rng: [case(rng.standard_normal(3)), case(rng.standard_normal((2, 2)), label="square")],
        mistakes={"2 * x -> 5 * x": "you took it five times"},
    )
    exercise = Exercise(**(parts | changed))
    vars(exercise).update({"reference": reference} if reference else {})
    return exercise


def test_a_solution_leaves_the_learners_result(capsys, monkeypatch):
    assert check_exercise("my_standardize", lambda x: x * 9) is False
    assert check_exercise("my_standardize", all_exercises()["my_standardize"].reference, solution=True) is True
    capsys.readouterr()
    assert checks.summary() is False
    assert line(capsys) == "exercises: 1 failed (my_standardize)"
    check_exercise("my_standardize", ..., solution=True)
    capsys.readouterr()
    checks.summary()
    assert line(capsys) == "failed: solution of my_standardize; exercises: 1 failed (my_standardize)"
    monkeypatch.setenv("HELPERS_STRICT", "1")
    with pytest.raises(AssertionError, match="^FAIL - solution of my_standardize: write my_standardize"):
        check_exercise("my_standardize", ..., solution=True)


def test_answers_may_be_off_by_a_millionth():
    zeros = make(cases=lambda rng: [case(np.zeros(3))])
    assert diagnose(zeros, lambda x: x + 0.9e-6)[0] is True
    assert diagnose(zeros, lambda x: x + 1.5e-6)[0] is False
    assert diagnose(make(cases=zeros.cases, tol=1e-3), lambda x: x + 1.5e-6)[0] is True


def blank_twice(x):
    """Double x."""
    pass
    ...


def blank_in_the_middle(x):
    factor = ...
    return factor * x


def blank_item(x):
    return x, ...


@pytest.mark.parametrize(
    "stub",
    [..., blank_twice, blank_in_the_middle, blank_item, lambda x: 2 * x if x.ndim == 1 else ...],
)
def test_an_unfinished_stub_is_to_do(stub):
    assert diagnose(make(), stub) == (None, "write double(x), then run this cell again")


def generator(x):
    yield 2 * x


@pytest.mark.parametrize(
    ("attempt", "text"),
    [
        (None, "got None, expected the function itself: double(x)"),
        (dict, "got the class dict, expected the function itself: double(x)"),
        (lambda x, y: x, "it takes (x, y), expected the call double(x)"),
        (generator, "it is a generator; use return, not yield"),
        (helpers.layer_norm, "it is the helper layer_norm itself; write the steps yourself"),
        (functools.partial(helpers.layer_norm), "it is the helper layer_norm itself; write the steps yourself"),
    ],
)
def test_only_functions_of_the_right_arguments_count(attempt, text):
    assert diagnose(make(), attempt) == (False, text)


def test_a_mistake_must_match_in_every_case():
    assert diagnose(make(), lambda x: 5.0 * x) == (False, "you took it five times")
    passed, text = diagnose(make(), lambda x: 5 * x if x.ndim == 1 else 4 * x)
    assert not passed and "; case x (3,): got [0.62865, -0.66052, 3.2021], expected [0.25" in text


@pytest.mark.parametrize("wrong_at", [1, 2, (1, 2), 3])
def test_faults_left_are_counted_and_not_named(wrong_at):
    exercise = make(
        cases=lambda rng: [case(k * np.ones(2), label=label) for k, label in ((1, "A"), (2, "A, again"), (3, "B"))],
        given="2 * x -> np.minimum(2 * x, 4)",
        mistakes={},
    )
    assert diagnose(exercise, lambda x: np.where(np.isin(x, wrong_at), 0, 2 * x)) == (False, "1 of 2 bugs is left")
    assert diagnose(exercise, exercise.as_given) == (None, "nothing is fixed yet; 1 of 2 bugs is left")
    everywhere = "2 of 2 bugs are left, or a change has brought in a new bug that every test meets"
    assert diagnose(exercise, lambda x: 3 * x) == (False, everywhere)
    for answer in ([1], np.full(2, np.nan)):
        assert diagnose(exercise, lambda x, answer=answer: answer)[1].startswith("case A [")


def test_an_attempts_prints_and_warnings_are_hidden(capsys):
    def chatty(x):
        print("debug", x)
        print("more", file=sys.stderr)
        np.log(np.zeros(1))
        return 2 * x

    with np.errstate(all="raise"):
        assert diagnose(make(), chatty) == (True, "2 cases (what it printed is not shown)")
    assert diagnose(make(), lambda x: print(x) or 5 * x)[1] == "you took it five times (what it printed is not shown)"
    assert capsys.readouterr() == ("", "")


def test_exits_are_stopped_and_interrupts_go_through():
    def interrupted(x):
        raise KeyboardInterrupt

    assert diagnose(make(), lambda x: sys.exit(3))[1].startswith("case x (3,): it raises SystemExit: 3 (line ")
    with pytest.raises(KeyboardInterrupt):
        diagnose(make(), interrupted)


@pytest.mark.parametrize("kind", [list, dict])
def test_lost_or_added_items_count_as_changes(kind):
    given = kind(enumerate([np.ones(2), np.zeros(3)])) if kind is dict else [np.ones(2), np.zeros(3)]
    exercise = make(reference=lambda parts: 2, cases=lambda rng: [case(given)])
    sentence = f"it changes its input parts in place, and the caller's {kind.__name__} with it; work on a copy"
    for change in (lambda parts: parts.pop(1), lambda parts: parts.__setitem__(0, 2 * parts[0])):
        assert diagnose(exercise, lambda parts, change=change: (change(parts), 2)[1]) == (False, sentence)
    assert diagnose(exercise, len) == (True, "1 cases")


def test_an_unknown_exercise_lists_the_names():
    with pytest.raises(ValueError, match="^no exercise is called 'layernorm'; there are: .*layer_norm, "):
        check_exercise("layernorm", double)


def test_none_in_one_case_only_is_told_there():
    text = "case square [x (2, 2)]: it returns None here; does every path through it end in a return?"
    said = f"right in 1 of 2 cases, wrong in: square; {text}"
    assert diagnose(make(), lambda x: 2 * x if x.ndim == 1 else None) == (False, said)


def test_mistakes_that_raise_are_told_by_their_error():
    def raises(kind, words="shapes"):
        def attempt(x):
            if x.ndim == 2:
                raise kind(words)
            return 7 * x

        return attempt

    raised = 'if x.ndim == 2: raise ValueError("shapes")\n    return 7 * x'
    exercise = make(mistakes={raised: "you lost an axis"})
    assert diagnose(exercise, raises(ValueError)) == (False, "you lost an axis")
    for other in (raises(KeyError), raises(ValueError, "no C in it"), lambda x: 7 * x):
        assert "case x (3,): got [" in diagnose(exercise, other)[1]


def test_an_error_points_at_the_learners_deepest_line():
    def fails(x):
        raise KeyError("deep\n" * 500)

    text = diagnose(make(), lambda x: fails(x))[1]
    assert text.endswith(f" (line {fails.__code__.co_firstlineno + 1})") and len(text) < 200
    assert diagnose(make(), np.linalg.inv)[1].startswith(
        "case x (3,): it raises LinAlgError: 1-dimensional array given"
    )


@timer
def test_an_endless_loop_is_stopped_by_a_timer_of_its_own(monkeypatch):
    def endless(x):
        while True:
            try:
                x = x + 1
            except Exception:
                pass

    timers = []
    attempt = lambda x: timers.append(signal.getitimer(signal.ITIMER_VIRTUAL)) or 2 * x  # noqa: E731
    diagnose(make(), attempt)
    assert 0 < timers[0][0] < 5.02 and timers[0][1] == 1  # rounded up to the clock that counts it
    monkeypatch.setattr(checker, "TIME_LIMIT", 0.05)
    before = signal.getsignal(signal.SIGVTALRM)
    said = "it was stopped after 0.05 seconds of computing; is there an endless loop?"
    assert diagnose(make(), endless) == (False, said)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
    try:
        diagnose(make(), attempt)
        assert timers[-1][0] > 900 and signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def test_an_attempt_may_reuse_its_buffer():
    buffer = np.empty(3)
    reuses = lambda x: np.multiply(2, x, out=buffer)  # noqa: E731
    three = make(cases=lambda rng: [case(rng.standard_normal(3)) for _ in range(3)])
    assert diagnose(three, reuses) == (True, "3 cases")
    pairs = make(reference=lambda x: (x, 2 * x), cases=three.cases)
    assert diagnose(pairs, lambda x: (x, reuses(x))) == (True, "3 cases")


def test_changed_inputs_are_named():
    def flattens(x):
        x.shape = (-1, 1)
        return 2 * x

    assert diagnose(make(), flattens)[1].startswith("it changes its input x in place")
    by_keyword = lambda rng: [case(rng.standard_normal(3), beta=np.ones(3), gamma=np.full(3, 2.0))]  # noqa: E731
    exercise = make(reference=lambda x, gamma, beta: x * gamma + beta, cases=by_keyword)
    attempt = lambda x, gamma, beta: np.multiply(gamma, x, out=gamma) + beta  # noqa: E731
    assert diagnose(exercise, attempt)[1].startswith("it changes its input gamma in place")


def test_a_case_shows_label_shapes_dtypes_and_settings():
    exercise = make(reference=lambda x, groups, eps=0.1, mode="a", rows=None: x)
    c = case(np.ones((2, 3), np.float16), 2, mode="b", eps=0.5, rows=[1, 2])
    text = "x float16 [[1, 1, 1], [1, 1, 1]], groups=2, eps=0.5, mode='b', rows=[1, 2]"
    assert checker._describe_case(exercise, c) == f"case {text}"
    assert checker._describe_case(exercise, replace(c, label="half")) == f"case half [{text}]"
    assert checker._describe_case(make(), case([1, 2], label="two")) == "case two [x=[1, 2]]"
    assert checker._describe_case(make(), case(np.full(2, 1 / 3))) == "case x (2,)"
    assert checker._describe_case(make(), case(np.array([-0.0]))) == "case x [0]"


Pair = namedtuple("Pair", "mean var")


@pytest.mark.parametrize(
    ("result", "expected", "text"),
    [
        ((1.0, 2.0), Pair(1.0, 2.0), ""),
        ((1.0, 3.0), Pair(1.0, 2.0), "var: got 3.0, expected 2.0, difference 1.0"),
        (False, True, "got False, expected True"),
        (np.array([True, False]), True, "got 2 values True or False, expected one; np.all reduces them to one"),
        ((1.0,), Pair(1.0, 2.0), "got a tuple of length 1, expected 2 values: mean, var"),
        ([[1, 2]], np.array([[1.0, 2.0]]), ""),
        (1, True, "got an int, expected True or False"),
        ((1.0, None), (1.0, 2.0), "item 1: got None, expected a float"),
        ("down", "up", "got 'down', expected 'up'"),
        (np.complex64(1), 1.0, "got complex numbers, expected real ones"),
        ((1.0, 2.0), np.array([1.0, 2.0]), "got a tuple of length 2, expected only one value"),
        (namedtuple("Normalized", "y mean")(1.0, 9.0), 1.0, ""),
    ],
)
def test_results_of_every_kind_are_compared(result, expected, text):
    passed, why = checker.matches(result, expected, 1e-6)
    assert passed == (not text) and (passed or why == text)


def test_tuple_items_have_the_exercises_names():
    for results, name in ((("weight", "bias"), "bias"), (("weight",), "item 1")):
        exercise = make(reference=lambda x: (x, 2 * x), results=results)
        right = "weight" if name == "bias" else "item 0"
        text = f"right: {right}; case x (3,): {name}: value has shape (7, 7), expected (3,)"
        assert diagnose(exercise, lambda x: (x, np.ones((7, 7)))) == (False, text)


def test_a_word_of_another_library_is_translated():
    attempt = lambda x: x ^ 2  # noqa: E731
    where = attempt.__code__.co_firstlineno
    assert diagnose(make(), attempt) == (False, f"^ is not the power operator in Python; write ** (line {where})")
    assert checker._translated("NameError: name 'torch' is not defined (line 7)").endswith("methods of x (line 7)")
    assert checker._translated("AttributeError: 'float' object has no attribute 'nothing_known' (line 7)") is None


def in_a_cell(source, names=None, file="cell 1"):
    """Run source as a notebook cell of its own; returns the names it defined."""
    names = {"np": np, "helpers": helpers, "check_exercise": check_exercise} if names is None else names
    exec(compile(source, file, "exec"), names)
    return names


ATTEMPT = "def my_standardize(x):\n    return (x - x.mean()) / x.std()\n"
CHECK = "check_exercise('my_standardize', my_standardize{})\n"


@pytest.fixture
def notebook(monkeypatch):
    """A shell whose cells share the names that in_a_cell gets."""
    names = {"np": np, "helpers": helpers, "check_exercise": check_exercise, "partial": functools.partial}
    shell = SimpleNamespace(user_global_ns=names, execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return names


def test_a_function_from_another_cell_is_told_so(capsys, notebook):
    in_a_cell(ATTEMPT, notebook)
    in_a_cell("def my_standardise(x): return x\n" + CHECK.format(""), notebook, "cell 2")
    sentence = "my_standardize comes from another cell; define it under this name in the cell that checks it"
    assert line(capsys) == f"FAIL - my_standardize: {sentence}"
    in_a_cell(CHECK.format(", graded=True"), notebook, "cell 2")
    assert line(capsys) == "PASS - my_standardize: 3 cases"
    in_a_cell("def my_standardize(x): ...", notebook)
    in_a_cell(CHECK.format(""), notebook, "cell 2")
    assert line(capsys).startswith("TODO - my_standardize: ")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return layer_norm(x).y", "it calls the helper layer_norm; write the steps yourself"),
        ("return (lambda x: layer_norm(x).y)(x)", "it calls the helper layer_norm; write the steps yourself"),
        ("check_close('x', x, x); return x", None),
        ("return own_layer_norm(x)", None),
        ("return (lambda a: np.average(a))(x)", "no mean here"),
    ],
)
def test_helpers_and_forbidden_tools_are_refused(body, told):
    source = "from helpers import check_close, layer_norm\ndef own_layer_norm(x): return x\ndef double(x):\n    " + body
    exercise = make(forbidden={"mean average": "no mean here"})
    assert attempts.not_written_here(exercise, in_a_cell(source)["double"], from_any_cell=False) == told


@pytest.mark.parametrize("cell", [ATTEMPT + CHECK.format(""), ATTEMPT + "check()"])
def test_a_function_of_its_own_cell_is_fresh(capsys, notebook, cell):
    in_a_cell("def my_standardize(x): return x\ndef check():\n    " + CHECK.format(""), notebook)
    in_a_cell(cell, notebook, "cell 2")
    assert line(capsys) == "PASS - my_standardize: 3 cases"
