"""Reading and checking the question files: one TOML file per lesson, standard library only.

A file looks like this; every option, right or wrong, says why:

    title = "Axis intuition"

    [[question]]
    key = "nan_probe"            # unique in the file; names the answer kept in the browser
    kind = "prediction"          # or "check", a question of the skill check
    prompt = "What becomes of `x`?"
    code = "x = np.zeros(3)"     # optional, shown under the prompt as it stands
    giveaway = ['all NaN']       # predictions only: patterns that nothing visible before the guess may match

    [[question.option]]          # 3 to 5 of them
    text = "..."
    right = true                 # on exactly one option; leave it out on the others
    why = "..."

Text between backticks is shown as code. Nothing is ever read as HTML.
"""

import hashlib
import json
import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "lessons"


def lesson_names(folder=FOLDER):
    """Names of the lessons that have a question file, sorted."""
    return sorted(path.parent.name for path in Path(folder).glob("*/questions.toml"))


def read_questions(path):
    """Read one question file and check all of it.

    Returns (title, questions). A question is a dict of plain text, numbers and lists: `key`, `kind`,
    `prompt`, `code` (only where given), `options` and `whys` (lists of the same length), `right` (index into
    them) and `mark`, a short fingerprint of what was asked: a saved answer counts only while it is the same.

    Raises ValueError naming file, question and fix for anything the format does not allow.
    """
    path = Path(path)
    file = f"{path.parent.name}/{path.name}" if path.name == "questions.toml" else path.name
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin with a mark
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{file}: not valid TOML in UTF-8: {error}") from error
    _only_fields(table, ("title", "question"), file)
    title = _text(table, "title", file)
    entries = _tables(table, "question", "question", file)
    questions = [_question(entry, f"{file}, question {i}") for i, entry in enumerate(entries, 1)]
    keys = [question["key"] for question in questions]
    if not keys or len(set(keys)) < len(keys):
        raise ValueError(f"{file}: expected one or more [[question]], each with its own key, got the keys {keys}")
    return title, questions


def all_lessons():
    """Of every lesson that has a question file: `name`, `title` and `questions`, those of its exercises last."""
    found = {name: read_questions(FOLDER / name / "questions.toml") for name in lesson_names()}
    return [
        {"name": name, "title": title, "questions": questions + exercise_questions(name)}
        for name, (title, questions) in found.items()
    ]


# How it went to write a function again, and what follows.
AGAIN = {
    "It passed, from memory": "So it waits longer.",
    "It passed with the lesson's help": "So it comes soon.",
    "Not yet": "The lesson has hints.",
}


def exercise_questions(lesson):
    """The exercises of a lesson as questions that come back once they were solved; the learner says how it went."""
    from ...exercises import exercises_of_lessons

    asked = []
    for exercise in exercises_of_lessons().get(lesson, []):
        if exercise.given is None:  # of code that is handed over there is nothing to write again
            head = re.match(r"\s*(.*)", exercise.solution)[1]
            code = f'{head}\n    ...\n\n\ncheck_exercise("{exercise.name}", {exercise.name})'
            prompt = f"Write `{exercise.signature}` again, from memory, in an empty cell."
            mark = hashlib.sha256(exercise.signature.encode()).hexdigest()[:8]
            question = {"key": exercise.name, "kind": "exercise", "prompt": prompt, "code": code, "mark": mark}
            asked.append(question | {"options": list(AGAIN), "whys": list(AGAIN.values()), "right": 0})
    return asked


def answer_keys(lesson):
    """The lesson with what it takes to judge an answer, without the texts of its questions; options are letters."""
    keys = [
        {"key": q["key"], "right": q["right"], "mark": q["mark"], "options": "ABCDE"[: len(q["options"])]}
        for q in lesson["questions"]
    ]
    return lesson | {"questions": keys}


def _question(entry, where):
    """One checked question; `where` opens every message."""
    key = _text(entry, "key", where)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise ValueError(f"{where}: key {key!r} must be lower-case letters, digits and _, such as 'nan_probe'")
    where = f"{where} ({key})"
    _only_fields(entry, ("key", "kind", "prompt", "code", "giveaway", "option"), where)
    kind = _text(entry, "kind", where)
    if kind not in ("prediction", "check"):
        raise ValueError(f"{where}: kind must be 'prediction' or 'check', got {kind!r}")

    options = _tables(entry, "option", "question.option", where)
    texts, whys = [], []
    for number, option in enumerate(options, 1):
        here = f"{where}, option {number}"
        _only_fields(option, ("text", "right", "why"), here)
        texts.append(_text(option, "text", here))
        whys.append(_text(option, "why", here))
    right = [option.get("right", False) for option in options]
    if not 3 <= len(set(texts)) == len(texts) <= 5:
        raise ValueError(f"{where}: expected 3 to 5 [[question.option]] with different texts, got {texts}")
    if any(not isinstance(flag, bool) for flag in right) or sum(right) != 1:
        raise ValueError(f"{where}: expected right = true, without quotes, on exactly 1 option, got {right}")

    question = {"key": key, "kind": kind, "prompt": _text(entry, "prompt", where)}
    if "code" in entry:
        question["code"] = _text(entry, "code", where, backticks=False).strip("\n")
    asked = json.dumps([question["prompt"], question.get("code"), texts, [right.index(True)]])
    mark = hashlib.sha256(asked.encode()).hexdigest()[:8]
    return question | {"options": texts, "whys": whys, "right": right.index(True), "mark": mark}


def _only_fields(table, allowed, where):
    unknown = sorted(set(table) - set(allowed))
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r}; the fields here are {', '.join(allowed)}")


def _text(table, field, where, backticks=True):
    """The field's text. Missing, empty and other types are refused, and a backtick without its partner."""
    value = table.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'{where}: {field} = "..." must be text between quotes and not empty, got {value!r}')
    if backticks and value.count("`") % 2:
        raise ValueError(f"{where}: {field} has a backtick without a partner; write `code` between two")
    return " ".join(value.split()) if backticks else value  # only code keeps its line breaks


def _tables(table, field, heading, where):
    """The list of tables under [[heading]]; [] if there are none."""
    value = table.get(field, [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError(f"{where}: {field} must be written as [[{heading}]], got {value!r}")
    return value
