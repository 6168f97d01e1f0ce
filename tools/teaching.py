"""The teaching pack: for each lesson a page for the teacher, and a handout of one printed page for the class.

    python tools/teaching.py            writes teaching/
    python tools/teaching.py FOLDER     writes FOLDER

All of it is made from the notebooks, their questions and their exercises. What only a person can write, one question
for the class in each section, stands in the metadata of the section's heading (`discussion`).
"""

import argparse
import base64
import json
import re
import shutil
import struct
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import minutes
from replace_folder import NotOurs, check_place, replace_folder
from typeset import KATEX, copy_katex, typeset
from widget_state import text

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "tools" / "web"
TITLE = re.compile(r"# (\d\d) ([^:\n]+)(?:: ([^\n]+))?")
TIME = re.compile(r"\*\*Time\*\*\D+(\d+) minutes\D+(\d+) minutes")
CLASS = 45  # minutes
FIRST_MISTAKES = 6  # shown of an exercise; the others are folded


# ----------------------------------------------------------------------------------------------------
# What a lesson holds


@dataclass
class Lesson:
    name: str
    parts: list  # as in minutes.py
    questions: dict  # by key
    exercises: dict  # by name

    @property
    def number(self):
        return self.name[:2]

    @property
    def first(self):
        return "\n".join(self.parts[0].lines)

    @property
    def title(self):
        return TITLE.match(self.first)[2]

    @property
    def question(self):
        return TITLE.match(self.first)[3] or ""

    @property
    def goals(self):
        return self.first.partition("**You will be able to**")[2].partition("**You need**")[0].strip()

    @property
    def needs(self):
        return self.first.partition("**You need**")[2].partition("**Time**")[0].strip()

    @property
    def note(self):
        return self.section("Your notes").removeprefix("Double-click here and write. ")

    def section(self, title):
        """The text under a heading, without the heading."""
        return "\n".join(line for part in self.parts if part.title == title for line in part.lines[1:]).strip()


def read_lesson(path):
    sys.path[:0] = [str(ROOT)] * (str(ROOT) not in sys.path)
    from helpers.exercises import all_exercises
    from helpers.quiz.questions import FOLDER, read_questions

    nb = json.loads(path.read_text(encoding="utf-8"))
    parts = minutes.parts_of(nb, minutes.checks_in(path.stem))
    _, questions = read_questions(FOLDER / f"{path.stem}.toml")
    return Lesson(path.stem, parts, {question["key"]: question for question in questions}, all_exercises())


def tagged(part, tag):
    return [cell for cell in part.cells if tag in cell["metadata"].get("tags", [])]


def predictions(lesson, parts):
    """The questions that some parts ask, in order."""
    code = "\n".join(text(cell["source"]) for part in parts for cell in part.cells)
    return [lesson.questions[key] for key in re.findall(r'^Quiz\(.*only="(\w+)"', code, re.MULTILINE)]


def takeaways(parts):
    source = "\n\n".join("\n".join(part.lines) for part in parts)
    found = re.findall(r"^\*\*Takeaway\.\*\*\s+(.+?)(?=\n\n|\Z)", source, re.DOTALL | re.MULTILINE)
    # On another page "below" points nowhere.
    return [re.sub(r":$", ".", re.sub(r" \([^()]*\bbelow\b[^()]*\)", "", words)) for words in found]


def without_links(words):
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", words)


def formula_card(lesson):
    """The recap's card, up to where something else begins: another bold word, or what comes next."""
    blocks = lesson.section("Recap").split("\n\n")
    ends = [k for k, block in enumerate(blocks) if k and re.match(r"\*\*|Next:|Coming:", block)]
    card = "\n\n".join(blocks[: ends[0] if ends else None])
    return without_links(re.sub(r"^\*\*The formula card\.\*\*\s*", "", card))


def first_picture(lesson):
    """(PNG, the words that tell it) of a lesson's first picture that is wide enough to be low and yet legible."""
    for output in (output for part in lesson.parts for cell in part.cells for output in cell["outputs"]):
        if "image/png" in output.get("data", {}):
            png = base64.b64decode(text(output["data"]["image/png"]))
            width, height = struct.unpack(">II", png[16:24])
            if width >= 2 * height:
                return png, output["metadata"]["image/png"]["alt"]
    return None


def mistakes_of(exercises, name):
    """The sentences of an exercise's known mistakes, those first that no other exercise has."""
    everywhere = Counter(sentence for other in exercises.values() for sentence in {m.sentence for m in other.mistakes})
    own = dict.fromkeys(mistake.sentence for mistake in exercises[name].mistakes)
    return sorted(own, key=lambda sentence: everywhere[sentence] > 1)


@dataclass
class Homework:
    """An exercise: its heading, its name, its minutes, the first hint, and the sentences of its known mistakes."""

    title: str
    name: str
    minutes: int
    nudge: str
    mistakes: list


def homework(lesson):
    """The exercises. Their minutes are those of the first cell, shared out by the length of the solutions."""
    parts = [part for part in lesson.parts if tagged(part, "exercise")]
    names = [re.search(r'check_exercise\("(\w+)"', text(tagged(part, "exercise")[0]["source"]))[1] for part in parts]
    lengths = [len(text(tagged(part, "solution")[0]["source"]).splitlines()) for part in parts]
    times = minutes.shared(int(TIME.search(lesson.first)[2]), lengths)
    nudges = [re.search(r"<summary>Hint: [^<]*</summary>(.*?)</details>", "\n".join(part.lines)) for part in parts]
    return [
        Homework(
            re.sub(r"^(Exercise( \d+)?: )?(.)", lambda found: found[3].upper(), part.title),
            name,
            time,
            nudge[1],
            mistakes_of(lesson.exercises, name),
        )
        for part, name, time, nudge in zip(parts, names, times, nudges, strict=True)
    ]


# ----------------------------------------------------------------------------------------------------
# Pages, from the templates in tools/web/teaching


def ways(sections):
    """How the lesson fits into a class, as sentences."""
    alone, total = sum(section.minutes for section in sections), sections[-1].total
    if total <= CLASS:
        return [f"One class of {CLASS} minutes holds all of it, with the discussions: it takes {total}."]
    stop = next(section for section in sections if section.stop)
    return [
        f"One class of {CLASS} minutes: without the discussions it takes {alone}. Give one of them as homework.",
        f"Two classes of {CLASS} minutes: {stop.total} to the end of section {stop.title.split()[0]}, then "
        f"{total - stop.total}. The rest of each is for optional parts, or to begin an exercise.",
        f"One class of {2 * CLASS} minutes: all of it takes {total} and leaves {2 * CLASS - total} for the same.",
    ]


def rates():
    return (
        f"The minutes: 1 for {minutes.WORDS_PER_MINUTE} words or {minutes.CODE_LINES_PER_MINUTE} lines of code, "
        f"{minutes.MINUTES_PER_QUESTION} for each question, {minutes.MINUTES_PER_EXPLORER} for each explorer, "
        f"{minutes.MINUTES_PER_DISCUSSION} for each discussion."
    )


def sentence(words):
    """A known mistake's sentence, which in a notebook follows the word FAIL, on its own."""
    return (words[0].upper() if re.match("[a-z]+ ", words) else words[0]) + words[1:] + "." * (words[-1] not in ".?")


def templates(formula):
    """The templates, with filters that make HTML of Markdown.

    `block` and `line` are for the text of notebooks, where dollars hold formulas; `words` is for all else.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markdown_it import MarkdownIt
    from markupsafe import Markup, escape
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    end = "\ue000"  # marks the end of a formula until its place is known

    def renderer(content, options):
        return formula(content, options["display_mode"]) + end

    def markup(made):
        """The sign after a formula goes into its element, so that no line breaks between the two."""
        made = re.sub(f"{end}</span>([.,:;)]*)", r"\1</span>", made).replace(end, "")
        return Markup(made.replace("<th></th>", "<td></td>"))  # a corner of a table is no heading

    plain = MarkdownIt("commonmark", {"html": False})
    full = MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin, renderer=renderer)
    folder = FileSystemLoader(WEB / "teaching")
    made = Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {
        "block": lambda source: markup(full.render(without_links(source))),
        "line": lambda source: markup(full.renderInline(without_links(source))),
        "words": lambda source: Markup(plain.renderInline(source)),
        "code": lambda name: Markup(f"<code>{escape(name)}</code>"),
        "sentence": sentence,
    }
    made.globals |= {
        "class_minutes": CLASS,
        "first_mistakes": FIRST_MISTAKES,
        "minutes_of": lambda parts: max(1, round(minutes.minutes_of(parts))),
        "predictions": predictions,
        "takeaways": takeaways,
        "rates": rates(),
    }
    return made


def pages(lessons, formula=typeset):
    """{name of the file: its content}, text or bytes."""
    made, rows, files = templates(formula), [], {}
    for lesson in lessons:
        sections, exercises, picture = minutes.sections_of(lesson.parts), homework(lesson), first_picture(lesson)
        known = {"lesson": lesson, "sections": sections, "exercises": exercises, "ways": ways(sections)}
        known["checks"] = [question for question in lesson.questions.values() if question["kind"] == "check"]
        known["at_home"] = [part for part in lesson.parts if part.under == "Exercises"]
        files[f"{lesson.name}.html"] = made.get_template("teacher.html").render(**known)
        if picture:
            files[f"pictures/{lesson.name}.png"], alt = picture
            known["picture"] = {"file": f"pictures/{lesson.name}.png", "words": alt}
        core = [part for part in lesson.parts if part.core]
        sheet = known | {"card": formula_card(lesson), "takeaways": takeaways(core), "picture": known.get("picture")}
        files[f"{lesson.name}_handout.html"] = made.get_template("handout.html").render(**sheet)
        alone = sum(section.minutes for section in sections)
        at_home = sum(exercise.minutes for exercise in exercises)
        rows.append({"lesson": lesson, "minutes": alone, "total": sections[-1].total, "homework": at_home})
    return files | {"index.html": made.get_template("index.html").render(rows=rows)}


def write(out):
    out = Path(out).resolve()
    check_place(out)
    files = pages([read_lesson(path) for path in sorted(ROOT.glob("notebooks/*.ipynb"))])
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "teaching"
        (made / "pictures").mkdir(parents=True)
        for name, content in files.items():
            (made / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        shutil.copy(WEB / "teaching" / "teaching.css", made)
        copy_katex(made / "katex")
        replace_folder(made, out)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write a page for the teacher and a handout for each lesson.")
    parser.add_argument("out", nargs="?", default=ROOT / "teaching", help="the folder to write, teaching/ if not said")
    out = parser.parse_args(arguments).out
    if not KATEX.is_dir():
        print("KaTeX is not installed: run `make teaching`, which needs Node and npm.", file=sys.stderr)
        return 1
    try:
        write(out)
    except NotOurs as reason:
        print(reason, file=sys.stderr)
        return 1
    print(f"Open {Path(out) / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
