"""Four widgets: Quiz, questions beside the lesson; Solved, below an exercise that passed; Practice, which asks both
again; Progress, how far one has come.

`Quiz("01_axis_intuition")` shows a lesson's skill check, with `only="nan_probe"` one question of it, usually a
prediction made before the next cell runs; `Practice()` asks one question after another, those missed first;
`Progress()` shows for every lesson what was answered, missed and is due. Python sends the questions once and hears
nothing back: answers stay in the browser's localStorage under `normalization-notebooks/<lesson>/<key>`, so answering
changes no file and needs no kernel. Where widgets do not run (GitHub, print, an untrusted notebook) a static twin shows
the same questions, or says what there would be to see.
"""

import html
import textwrap
import time

import traitlets

from ..widget_code import TwinnedWidget, marked, read_bundle
from .questions import FOLDER as LESSON_FILES
from .questions import all_lessons, answer_keys, exercise_questions, lesson_names, read_questions

__all__ = ["Practice", "Progress", "Quiz", "Solved", "lesson_names", "read_questions"]

LETTERS = "ABCDE"


class Quiz(TwinnedWidget):
    """Questions of one lesson, with feedback on every answer.

    lesson   name of the lesson, "01_axis_intuition".
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
        names = lesson_names(LESSON_FILES)
        if lesson not in names:
            raise ValueError(f"Quiz: lesson must name one of {', '.join(map(repr, names))}, got {lesson!r}")
        _, questions = read_questions(LESSON_FILES / lesson / "questions.toml")
        field, wanted = ("kind", "check") if only is None else ("key", only)
        chosen = [question for question in questions if question[field] == wanted]
        if not chosen:
            keys = ", ".join(repr(question["key"]) for question in questions)
            raise ValueError(f"Quiz: lesson {lesson!r} has no question with {field} {wanted!r}; its keys are {keys}")
        # All chosen questions are of one kind, so it is sent once.
        kinds = [question.pop("kind") for question in chosen]
        super().__init__(lesson=lesson, kind=kinds[0], questions=chosen)

    def _numbered(self):
        """Each question with "1. ", "2. ", ... before it, or with nothing if it is the only one."""
        return [(f"{i}. " if len(self.questions) > 1 else "", q) for i, q in enumerate(self.questions, 1)]

    def _as_text(self):
        """Prompts and lettered options, without the answers."""
        lines = []
        for number, question in self._numbered():
            lines += ["", *textwrap.wrap(number + question["prompt"], 88)]
            lines += [f"    {line}" for line in question.get("code", "").splitlines()]
            for letter, option in zip(LETTERS, question["options"], strict=False):
                lines += textwrap.wrap(option, 88, initial_indent=f"  {letter}. ", subsequent_indent=" " * 5)
        return "\n".join(lines[1:])

    def _as_html(self):
        """Prompts and lettered options, the answers folded away.

        The letters are text, because the answers name them and a sanitizer may drop the type of a list.
        """
        asked, answers = [], []
        for number, question in self._numbered():
            asked.append(f"<p><strong>{number}{marked(question['prompt'])}</strong></p>")
            if "code" in question:
                asked.append(f"<pre>{html.escape(question['code'])}</pre>")
            options, whys = (zip(LETTERS, map(marked, question[name]), strict=False) for name in ("options", "whys"))
            asked.append("<p>" + "<br>\n".join(f"{letter}. {option}" for letter, option in options) + "</p>")
            answer = [f"{number}{LETTERS[question['right']]} is right.", *(f"{letter}: {why}" for letter, why in whys)]
            answers.append("<p>" + "<br>\n".join(answer) + "</p>")
        folded = ["<details><summary>Answers</summary>", *answers, "</details>"]
        return "<div>\n" + "\n".join(asked + folded) + "\n</div>"


class Solved(TwinnedWidget):
    """Below an exercise that passed: the browser keeps that, and says when Practice asks for it again.

    exercise   its name, "my_rms_norm". An exercise that cannot be written again says nothing.
    """

    javascript = read_bundle("solved.js")
    css = Quiz.css

    lesson = traitlets.Unicode().tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    at = traitlets.Float().tag(sync=True)  # milliseconds: a reload of the page solves nothing again

    def __init__(self, exercise):
        asked = {q["key"]: (lesson, q) for lesson in lesson_names() for q in exercise_questions(lesson)}
        lesson, question = asked.get(exercise, ("", {}))
        super().__init__(lesson=lesson, question=question, at=1000 * time.time())

    def _as_text(self):
        return "Practice will ask for it again."

    def _as_html(self):
        return f"<p>{self._as_text()}</p>"


class _OfAllLessons(TwinnedWidget):
    """A widget whose twins are a sentence, `_about`, and what there is to answer, a line for each lesson."""

    lessons = traitlets.List().tag(sync=True)

    def _lines(self):
        """A line for each lesson, without counts: another question would change what notebooks store."""
        return [f"{each['name'][:2]} {each['title']}" for each in self.lessons]

    def _as_text(self):
        return "\n".join([*textwrap.wrap(self._about, 88), *(f"  {line}" for line in self._lines())])

    def _as_html(self):
        first, *rest = map(html.escape, [self._about, *self._lines()])
        return f"<div>\n<p>{first}</p>\n<p>" + "<br>\n".join(rest) + "</p>\n</div>"


class Practice(_OfAllLessons):
    """Questions and solved exercises, one at a time: those missed first, then those that are due, then new ones.

    The browser chooses, from the answers that it keeps, and shows the progress in every lesson; answers can be
    saved to a file and loaded from one.
    """

    javascript = read_bundle("practice.js")
    css = read_bundle("practice.css")

    def __init__(self):
        super().__init__(lessons=all_lessons())

    _about = (
        "Practice: the questions of all lessons, those you missed first, then those that are due, then new ones. "
        "It asks them in a trusted notebook in JupyterLab and needs no kernel."
    )


class Progress(_OfAllLessons):
    """What the browser remembers of every lesson: questions answered, missed and due.

    All answers can be saved to a file, loaded from one and forgotten. A question is sent without its text.
    """

    javascript = read_bundle("progress.js")
    css = Practice.css

    practice = traitlets.Unicode().tag(sync=True)

    def __init__(self):
        lessons = [lesson | {"to": f"{lesson['name']}.ipynb"} for lesson in map(answer_keys, all_lessons())]
        super().__init__(lessons=lessons, practice="16_practice.ipynb")

    _about = (
        "Your progress: how many questions of each lesson you have answered and missed, and how many to "
        "answer again. A trusted notebook in JupyterLab shows it, and needs no kernel."
    )
