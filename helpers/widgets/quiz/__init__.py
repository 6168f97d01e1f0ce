"""Three widgets: Quiz, questions beside the lesson; Practice, which asks them again; Progress, how far one has come.

`Quiz("01")` shows a lesson's skill check, `Quiz("01", only="nan_probe")` one question of it, usually a
prediction made before the next cell runs; `Practice()` asks one question after another, those missed first;
`Progress()` shows for every lesson what was answered, missed and is due. Python sends the questions once and hears
nothing back: answers stay in the browser's localStorage under `normalization-notebooks/<lesson>/<key>`, so answering
changes no file and needs no kernel. Where widgets do not run (GitHub, print, an untrusted notebook) a static twin shows
the same questions, or says what there would be to see.
"""

import html
import textwrap

import traitlets

from ...checks import describe
from ..widget_code import LoadedWidget, read_bundle
from .questions import FOLDER as LESSON_FILES
from .questions import all_lessons, answer_keys, find_lesson, lesson_names, read_questions

__all__ = ["Practice", "Progress", "Quiz", "find_lesson", "lesson_names", "read_questions"]

LETTERS = "ABCDE"


class _Twinned(LoadedWidget):
    """A widget beside which stands what a place without widgets shows: the same text on every run."""

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": self._as_text(), "text/html": self._as_html()}, metadata


class _OfAllLessons(_Twinned):
    """A widget whose twins are the lines of `_lines()`."""

    def _as_text(self):
        first, *rest = self._lines()
        return "\n".join([*textwrap.wrap(first, 88), *(f"  {line}" for line in rest)])

    def _as_html(self):
        first, *rest = map(html.escape, self._lines())
        return f"<div>\n<p>{first}</p>\n<p>" + "<br>\n".join(rest) + "</p>\n</div>"


class Quiz(_Twinned):
    """Questions of one lesson, with feedback on every answer.

    lesson   name of the lesson, or a beginning that only one lesson has: "01_axis_intuition" or "01".
    only     key of one question; without it, all questions of the skill check (kind "check"), with a score.

    Raises ValueError, with the names that exist, for an unknown lesson or key, and with the place and the fix
    for a question file that breaks the format (see `helpers/widgets/quiz/questions.py`).
    """

    javascript = read_bundle("quiz.js")
    css = read_bundle("quiz.css")

    lesson = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List().tag(sync=True)

    def __init__(self, lesson, only=None):
        lesson = find_lesson(lesson)
        _, questions = read_questions(LESSON_FILES / lesson / "questions.toml")
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


class Practice(_OfAllLessons):
    """The questions of all lessons, one at a time: those missed first, then those that are due, then new ones.

    The browser chooses, from the answers that it keeps, and shows the progress in every lesson; answers can be
    saved to a file and loaded from one. `days[box]` is how many days a question waits in each of the boxes.
    """

    javascript = read_bundle("practice.js")
    css = read_bundle("practice.css")
    days = (1, 3, 7, 14, 30)  # as in answers.js

    lessons = traitlets.List().tag(sync=True)

    def __init__(self):
        super().__init__(lessons=all_lessons())

    def __repr__(self):
        return "Practice()"

    def _lines(self):
        """What there is to practice, in one line and then a line for each lesson."""
        yield (
            "Practice: the questions of all lessons, those you missed first, then those that are due, then new ones. "
            "It asks them in a trusted notebook in JupyterLab and needs no kernel."
        )
        yield from _lesson_lines(self.lessons)


class Progress(_OfAllLessons):
    """What the browser remembers of every lesson: questions answered, missed and due.

    All answers can be saved to a file, loaded from one and forgotten. A question is sent without its text.
    """

    javascript = read_bundle("progress.js")
    css = Practice.css

    lessons = traitlets.List().tag(sync=True)
    practice = traitlets.Unicode().tag(sync=True)

    def __init__(self):
        lessons = [lesson | {"to": f"{lesson['name']}.ipynb"} for lesson in map(answer_keys, all_lessons())]
        super().__init__(lessons=lessons, practice=f"{find_lesson('15')}.ipynb")

    def __repr__(self):
        return "Progress()"

    def _lines(self):
        """What there is to answer, in one line and then a line for each lesson."""
        yield (
            "Your progress: how many questions of each lesson you have answered and missed, and how many to "
            "answer again. A trusted notebook in JupyterLab shows it, and needs no kernel."
        )
        yield from _lesson_lines(self.lessons)


def _lesson_lines(lessons):
    for lesson in lessons:
        yield f"{lesson['name'][:2]} {lesson['title']}"  # no counts: another question would change stored outputs


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
