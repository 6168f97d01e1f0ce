"""A lesson, read once: what all tools and the lesson rules know of it; and how a file is written.

`read_lesson(path)` parses the first cell, that of the goals, and the headings of a notebook; nothing else does. A part
is what stands under one heading. The role of a cell says what a page does with it, and follows from its tags and what
it shows.
"""

import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VIEW = "application/vnd.jupyter.widget-view+json"
HEADING = re.compile(r"# (\d\d) ([^:\n]+)(?:: ([^\n]+))?(?:\n|\Z)")
GOALS = "**You will be able to**"
TIME = re.compile(r"\*\*Time\*\*\D+(\d+) minutes(?:\D+(\d+) minutes)?")
ROLES = ("setup", "exercise", "solution")  # named by a tag
LEFT_OUT = ("Deeper", "Exercises", "References")  # not on the core path
AFTERWARDS = ("Skill check", "Your notes")  # after the exercises; what one does there takes as long as one likes
# What a learner's minutes are made of, measured on readers; told to authors in CONTRIBUTING.md.
WORDS_PER_MINUTE = 100
CODE_LINES_PER_MINUTE = 4
MINUTES_PER_QUESTION = 2
MINUTES_PER_EXPLORER = 3
MINUTES_PER_OPEN_CHECK = 0.25
CLOSING = ["Exercises", "Skill check", "Recap", "Your notes", "References"]


class LessonError(Exception):
    """What a lesson lacks, in one sentence."""


# ----------------------------------------------------------------------------------------------------
# Cells


def text(value):
    """A text as one string; files hold a list of lines or one string."""
    return value if isinstance(value, str) else "".join(value)


def tags_of(cell):
    """What an author calls a cell: setup, picture, exercise, solution, answer."""
    return cell["metadata"].get("tags", [])


def is_hidden(cell):
    """Whether the cell's source is folded."""
    return bool(cell["metadata"].get("jupyter", {}).get("source_hidden"))


def role_of(cell):
    """text, setup, exercise, solution, summary, widget (a line that only shows one), picture (folded) or code."""
    if cell["cell_type"] != "code":
        return "text"
    source = text(cell["source"])
    named = next((role for role in ROLES if role in tags_of(cell)), None)
    only_shows = "\n" not in source and any(VIEW in output.get("data", {}) for output in cell["outputs"])
    unnamed = "widget" if only_shows else "picture" if is_hidden(cell) else "code"
    return named or ("summary" if source.startswith("summary(") else unnamed)


def waiting_classes(cells):
    """For each cell: the HTML classes of what waits for the guess above it, or "" if it does not answer one.

    A takeaway waits, too, if its section asks for a guess: it would answer the question.
    """
    asked, in_section, classes = "", "", []
    for cell in cells:
        source = text(cell["source"])
        if cell["cell_type"] == "markdown" and re.match("##+ ", source):
            in_section = ""
        if found := re.match(r'Quiz\("(\w+)", only="(\w+)"', source):
            asked = in_section = f"after-guess after-{found[1]}-{found[2]}"
        takeaway = cell["cell_type"] == "markdown" and source.startswith("**Takeaway")
        answers = "answer" in tags_of(cell)
        classes.append((asked or "after-guess") if answers else in_section if takeaway else "")
    return classes


# ----------------------------------------------------------------------------------------------------
# Parts


@dataclass
class Part:
    """What stands under one heading, down to the next: its text, its code cells, the metadata of the heading's cell."""

    level: int = 0
    title: str = ""
    under: str = ""  # the heading of level 2 that it belongs to
    core: bool = True
    lines: list = field(default_factory=list)
    cells: list = field(default_factory=list)
    metadata: dict = field(default_factory=dict)
    checks: int = 0  # questions of the skill check

    @property
    def text(self):
        """The heading and what stands under it."""
        return "\n".join(self.lines)

    @property
    def code(self):
        """The source of its code cells."""
        return "\n".join(text(cell["source"]) for cell in self.cells)

    def tagged(self, tag):
        """Its code cells with a tag."""
        return [cell for cell in self.cells if tag in tags_of(cell)]


def parts_of(nb, checks=0):
    """The parts of a notebook in order. Under a heading that begins with one of LEFT_OUT nothing is core path."""
    parts, left_out = [Part()], None
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            parts[-1].cells.append(cell)
            continue
        for line in text(cell["source"]).splitlines():
            if heading := re.match(r"(#+) (.+)", line):
                level = len(heading[1])
                if left_out is None or level <= left_out:
                    left_out = level if heading[2].startswith(LEFT_OUT) else None
                under = heading[2] if level <= 2 else parts[-1].under
                parts.append(Part(level, heading[2], under, left_out is None, metadata=cell["metadata"]))
            parts[-1].lines.append(line)
    for part in parts:
        part.checks = checks if part.title == "Skill check" else 0
    return [part for part in parts if part.lines or part.cells]


# ----------------------------------------------------------------------------------------------------
# Minutes


def counts_of(parts):
    """{"words": ..., "code lines": ..., "questions": ..., "explorers": ..., "open checks": ...} of some parts."""
    cells = [cell for part in parts for cell in part.cells]
    everything = "\n".join(part.code for part in parts)
    visible = [line for cell in cells if not is_hidden(cell) for line in text(cell["source"]).splitlines()]
    printed = [text(output.get("text", "")) for cell in cells for output in cell.get("outputs", [])]
    asked = len(re.findall(r"^Quiz\(.*only=", everything, re.MULTILINE))
    return {
        "words": len(re.findall(r"[^\W_]\S*", "\n".join(part.text for part in parts))),
        "code lines": sum(bool(line.strip()) and not line.startswith("Quiz(") for line in visible),
        "questions": asked + sum(part.checks for part in parts),
        "explorers": len(re.findall(r"^Explorer\(", everything, re.MULTILINE)),
        "open checks": sum(len(re.findall(r"^PASS", words, re.MULTILINE)) for words in printed),
    }


def minutes_of(parts):
    """How long some parts take one who reads, runs and answers, by the rates above."""
    counts = counts_of([part for part in parts if part.title not in AFTERWARDS])
    minutes = counts["words"] / WORDS_PER_MINUTE + counts["code lines"] / CODE_LINES_PER_MINUTE
    minutes += counts["questions"] * MINUTES_PER_QUESTION + counts["explorers"] * MINUTES_PER_EXPLORER
    return minutes + counts["open checks"] * MINUTES_PER_OPEN_CHECK


def with_place(source, parts):
    """The text of a cell; below a numbered section's heading, which section it is and how long the core still takes.

    parts: the lesson's parts on the core path.
    """
    found = re.match(r"## (\d+) .*", source)
    titles = [part.title for part in parts if part.level == 2 and re.match(r"\d+ ", part.title)]
    if not found or found[0].removeprefix("## ") not in titles:
        return source
    here = next(k for k, part in enumerate(parts) if part.title == found[0].removeprefix("## "))
    left = 5 * max(1, round(minutes_of(parts[here:]) / 5))
    line = f'<small class="place">Section {found[1]} of {len(titles)}, about {left} minutes left</small>'
    return f"{found[0]}\n\n{line}{source.removeprefix(found[0])}"


# ----------------------------------------------------------------------------------------------------
# A lesson


class Lesson:
    """A notebook (a dict) under its name; what it holds is read when it is first asked for."""

    def __init__(self, name, nb):
        self.name, self.nb = name, nb
        sources = [text(cell["source"]) for cell in nb["cells"]]
        self.first = sources[0]
        # Goals, needs and minutes: a cell of three lines, after the scene with which a lesson opens.
        self.facts = next((source for source in sources if source.startswith(GOALS)), "")
        heading = HEADING.match(self.first)
        if not heading:
            raise LessonError(f"{name}.ipynb must begin with '# NN Title: question?'.")
        self.number, self.title, question = heading.groups()
        self.question = question or ""
        times = TIME.search(self.facts)
        self.minutes, self.homework_minutes = (
            (found and int(found) for found in times.groups()) if times else (None, None)
        )

    @property
    def promise(self):
        """What stands below the title: the stake."""
        return self.first.partition("\n")[2].strip()

    @property
    def goals(self):
        """A list of what one will be able to do."""
        line = self.facts.partition(GOALS)[2].partition("**You need**")[0]
        return [goal.strip(" \\\n.") for goal in line.split(";") if goal.strip(" \\\n.")]

    @property
    def needs(self):
        """The lessons that come before."""
        return self.facts.partition("**You need**")[2].partition("**Time**")[0].strip(" \\\n")

    @cached_property
    def questions(self):
        """{key: question} of its file of questions; none while it has no file."""
        from helpers.widgets.quiz.questions import FOLDER, read_questions

        path = FOLDER / self.name / "questions.toml"
        return {question["key"]: question for question in read_questions(path)[1]} if path.exists() else {}

    @property
    def checks(self):
        """The questions of its skill check."""
        return [question for question in self.questions.values() if question["kind"] == "check"]

    @cached_property
    def parts(self):
        return parts_of(self.nb, len(self.checks))

    @property
    def core(self):
        """The parts of the core path."""
        return [part for part in self.parts if part.core]

    def section(self, title):
        """The text under a heading, without the heading."""
        return "\n".join(line for part in self.parts if part.title == title for line in part.lines[1:]).strip()

    def predictions(self, parts):
        """The questions that some parts ask, in order."""
        code = "\n".join(part.code for part in parts)
        return [self.questions[key] for key in re.findall(r'^Quiz\(.*only="(\w+)"', code, re.MULTILINE)]


def read_lesson(path):
    """The lesson in a file."""
    return Lesson(path.stem, json.loads(path.read_text(encoding="utf-8")))


def all_lessons(root=ROOT):
    """Every lesson, in order."""
    return [read_lesson(path) for path in sorted((root / "notebooks").glob("*.ipynb"))]


def original_of(lesson, root=ROOT):
    """The original that `lesson` names: 2, 02, 02_batch_dependence or the file's name."""
    originals = sorted((Path(root) / "notebooks").glob("*.ipynb"))
    wanted = Path(lesson.strip()).name.removesuffix(".ipynb")
    number = wanted.zfill(2) if wanted.isdigit() else None
    found = [path for path in originals if wanted == path.stem or number == path.name[:2]]
    if len(found) != 1:
        known = " ".join(path.name[:2] for path in originals) or "none"
        raise LessonError(f"There is no lesson {lesson!r}; there are: {known}. Name one by its number, as in 02.")
    return found[0]


# ----------------------------------------------------------------------------------------------------
# Files


def write_atomically(path, data):
    """Replace the file in one step, so that an interruption leaves the old one whole."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".copying-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
