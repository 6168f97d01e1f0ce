"""The Quiz widget, questions beside the lesson, and the Practice widget, which asks those of all lessons again.

`Quiz("01")` shows a lesson's skill check, `Quiz("01", only="nan_probe")` one question of it, usually a
prediction made before the next cell runs; `Practice()` asks one question after another, those missed first. Python
sends the questions once and hears nothing back: answers stay in the browser's localStorage under
`normalization-notebooks/<lesson>/<key>`, so answering changes no file and needs no kernel. Where widgets do not run
(GitHub, print, an untrusted notebook) a static twin shows the same questions, or says what the practice would ask.
"""

import html
import json
import re
import textwrap

import traitlets

from ..checks import describe
from ..widget_code import LoadedWidget, slim
from .questions import FOLDER, find_lesson, lesson_names, read_questions

__all__ = ["Practice", "Quiz", "find_lesson", "lesson_names", "read_questions"]

LETTERS = "ABCDE"
# What draws one question and keeps its answer; the quizzes and the practice share it.
QUESTION = slim(FOLDER / "question.js")


class _Twinned(LoadedWidget):
    """A widget beside which stands what a place without widgets shows: the same text on every run."""

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": self._as_text(), "text/html": self._as_html()}, metadata


class Quiz(_Twinned):
    """Questions of one lesson, with feedback on every answer.

    lesson   name of the lesson, or a beginning that only one lesson has: "01_axis_intuition" or "01".
    only     key of one question; without it, all questions of the skill check (kind "check"), with a score.

    Raises ValueError, with the names that exist, for an unknown lesson or key, and with the place and the fix
    for a question file that breaks the format (see `helpers/quiz/questions.py`).
    """

    javascript = QUESTION + slim(FOLDER / "quiz.js")
    css = slim(FOLDER / "quiz.css")

    lesson = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List().tag(sync=True)

    def __init__(self, lesson, only=None):
        lesson = find_lesson(lesson)
        _, questions = read_questions(FOLDER / f"{lesson}.toml")
        if only is None:
            chosen = [question for question in questions if question["kind"] == "check"]
            wanted = "questions of kind 'check'"
        else:
            chosen = [question for question in questions if isinstance(only, str) and question["key"] == only]
            wanted = "question " + (repr(only[:40]) if isinstance(only, str) else describe(only))
        if not chosen:
            keys = ", ".join(repr(question["key"]) for question in questions)
            raise ValueError(f"Quiz: lesson {lesson!r} has no {wanted}; its keys are {keys}")
        self._only = only
        # All chosen questions are of one kind, so it is sent once.
        kinds = [question.pop("kind") for question in chosen]
        super().__init__(lesson=lesson, kind=kinds[0], questions=chosen)

    def __repr__(self):
        only = "" if self._only is None else f", only={self._only!r}"
        return f"Quiz({self.lesson!r}{only})"

    def _as_text(self):
        return _as_text(self.questions)

    def _as_html(self):
        return _as_html(self.questions)


class Practice(_Twinned):
    """The questions of all lessons, one at a time: those missed first, then those that are due, then new ones.

    The browser chooses, from the answers that it keeps, and shows the progress in every lesson; answers can be
    saved to a file and loaded from one. `days[box]` is how many days a question waits in each of the boxes.
    """

    javascript = QUESTION + slim(FOLDER / "practice.js")
    css = slim(FOLDER / "quiz.css") + slim(FOLDER / "practice.css")
    # Said in the browser's code, because that runs without Python.
    days = tuple(json.loads(re.search(r"const DAYS = (\[[\d, ]+\]);", QUESTION)[1]))

    lessons = traitlets.List().tag(sync=True)

    def __init__(self):
        lessons = []
        for name in lesson_names():
            title, questions = read_questions(FOLDER / f"{name}.toml")
            lessons.append({"name": name, "title": title, "questions": questions})
        super().__init__(lessons=lessons)

    def __repr__(self):
        return "Practice()"

    def _lines(self):
        """What there is to practice, in one line and then a line for each lesson."""
        count = sum(len(lesson["questions"]) for lesson in self.lessons)
        yield (
            f"Practice: the {count} questions of {len(self.lessons)} lessons, those you missed first, then those that "
            "are due, then new ones. It asks them in a trusted notebook in JupyterLab and needs no kernel."
        )
        for lesson in self.lessons:
            yield f"{lesson['name'][:2]} {lesson['title']}: {len(lesson['questions'])} questions"

    def _as_text(self):
        first, *rest = self._lines()
        return "\n".join([*textwrap.wrap(first, 88), *(f"  {line}" for line in rest)])

    def _as_html(self):
        first, *rest = map(html.escape, self._lines())
        return f"<div>\n<p>{first}</p>\n<p>" + "<br>\n".join(rest) + "</p>\n</div>"


def _number(index, questions):
    return f"{index}. " if len(questions) > 1 else ""


def _as_text(questions):
    """Prompts and lettered options, without the answers."""
    lines = []
    for index, question in enumerate(questions, 1):
        lines += ["", *textwrap.wrap(_number(index, questions) + question["prompt"], 88)]
        lines += [f"    {line}" for line in question.get("code", "").splitlines()]
        for letter, option in zip(LETTERS, question["options"], strict=False):
            lines += textwrap.wrap(option, 88, initial_indent=f"  {letter}. ", subsequent_indent=" " * 5)
    return "\n".join(lines[1:])


def _as_html(questions):
    """Prompts and lettered options, the answers folded away.

    The letters are text, because the answers name them and a sanitizer may drop the type of a list.
    """
    parts = []
    for index, question in enumerate(questions, 1):
        parts.append(f"<p><strong>{_number(index, questions)}{_escaped(question['prompt'])}</strong></p>")
        if "code" in question:
            parts.append(f"<pre>{html.escape(question['code'])}</pre>")
        lettered = zip(LETTERS, map(_escaped, question["options"]), strict=False)
        parts.append("<p>" + "<br>\n".join(f"{letter}. {option}" for letter, option in lettered) + "</p>")
    parts.append("<details><summary>Answers</summary>")
    for index, question in enumerate(questions, 1):
        right = question["right"]
        answer = [f"{_number(index, questions)}{LETTERS[right]} is right."]
        whys = zip(LETTERS, map(_escaped, question["whys"]), strict=False)
        answer += [f"{letter}: {why}" for letter, why in whys]
        parts.append("<p>" + "<br>\n".join(answer) + "</p>")
    parts.append("</details>")
    return "<div>\n" + "\n".join(parts) + "\n</div>"


def _escaped(text):
    """HTML of a text in which only backticks mean something."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
