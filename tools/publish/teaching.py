"""The teaching pack: for each lesson a page for the teacher, and a handout of one printed page for the class.

    python -m tools.publish.teaching            writes teaching/
    python -m tools.publish.teaching FOLDER     writes FOLDER

All of it is made from the notebooks, their questions and their exercises. What only a person can write, one question
for the class in each section, stands in the metadata of the section's heading (`discussion`).
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from markupsafe import Markup, escape

from helpers import theme
from tools.lessons import ROOT, all_lessons
from tools.publish import plan
from tools.publish.cells import picture_of, size_of
from tools.publish.pages import copy_katex, environment, fill, need_packages, reader, run, without_links
from tools.publish.replace_folder import check_place, replace_folder
from tools.publish.typeset import WEB, typeset

CLASS = 45  # minutes
FIRST_MISTAKES = 6  # shown of an exercise; the others are folded


# ----------------------------------------------------------------------------------------------------
# What a lesson holds for a class


def takeaways(parts):
    source = "\n\n".join(part.text for part in parts)
    found = re.findall(r"^\*\*Takeaway\.\*\*\s+(.+?)(?=\n\n|\Z)", source, re.DOTALL | re.MULTILINE)
    # On another page "below" points nowhere.
    return [re.sub(r":$", ".", re.sub(r" \([^()]*\bbelow\b[^()]*\)", "", words)) for words in found]


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
            png, words = picture_of(output)
            width, height = size_of(png)
            if width >= 2 * height:
                return png, words
    return None


# ----------------------------------------------------------------------------------------------------
# Pages, from the templates in web/teaching


def ways(sections):
    """What of the lesson fits into a class of 45, 60 and 90 minutes, as sentences; the slides choose the same."""
    said = []
    for fit in (plan.fit(sections, minutes) for minutes in plan.CLASSES):
        talks = f"{len(fit.talks)} of {sum(bool(section.talk) for section in sections)} discussions"
        left = f", without {' and '.join(fit.left)}" if fit.left else ""
        said.append(f"A class of {fit.minutes} minutes: the lesson takes {fit.total} with {talks}{left}.")
    stop, total = next(section for section in sections if section.stop), sections[-1].total
    if total > CLASS:
        number = stop.title.split()[0]
        said.append(
            f"Two classes of {CLASS} minutes: {stop.total} to the end of section {number}, then {total - stop.total}."
        )
    return said


def rates():
    return (
        f"The minutes of a class: 1 for {plan.SPOKEN_WORDS_PER_MINUTE} words or {plan.CODE_LINES_PER_MINUTE} "
        f"lines of code, {plan.MINUTES_PER_VOTE} for each vote, {plan.MINUTES_PER_EXPLORER} for each explorer, "
        f"{plan.MINUTES_PER_QUESTION} for each question of the skill check, "
        f"{plan.MINUTES_PER_DISCUSSION} for each discussion. A learner alone takes less."
    )


def sentence(words):
    """A known mistake's sentence, which in a notebook follows the word FAIL, on its own."""
    return (words[0].upper() if re.match("[a-z]+ ", words) else words[0]) + words[1:] + "." * (words[-1] not in ".?")


def markdown_filters(formula):
    """Filters that make HTML of Markdown.

    `block` and `line` are for the text of notebooks, where dollars hold formulas; `words` is for all else.
    """
    end = "\ue000"  # marks the end of a formula until its place is known
    full = reader(lambda words, display: formula(words, display) + end, html=False)
    plain = reader(formula, html=False).disable(["math_inline", "math_block", "table"])

    def markup(made):
        """The sign after a formula goes into its element, so that no line breaks between the two."""
        made = re.sub(f"{end}</span>([.,:;)]*)", r"\1</span>", made).replace(end, "")
        return Markup(made.replace("<th></th>", "<td></td>"))  # a corner of a table is no heading

    return {
        "block": lambda source: markup(full.render(without_links(source))),
        "line": lambda source: markup(full.renderInline(without_links(source))),
        "words": lambda source: Markup(plain.renderInline(source)),
    }


def pages(lessons, formula=typeset):
    """{name of the file: its content}, text or bytes."""
    environment().filters |= markdown_filters(formula) | {
        "code": lambda name: Markup(f"<code>{escape(name)}</code>"),
        "sentence": sentence,
    }
    rows, files = [], {}
    for lesson in lessons:
        sections, exercises, picture = (
            plan.sections_of(lesson.parts),
            plan.homework(lesson),
            first_picture(lesson),
        )
        known = {"lesson": lesson, "sections": sections, "exercises": exercises, "ways": ways(sections)}
        known |= {"class_minutes": CLASS, "first_mistakes": FIRST_MISTAKES, "rates": rates(), "takeaways": takeaways}
        known["minutes_of"] = lambda parts: max(1, round(plan.class_minutes_of(parts)))
        known["at_home"] = [part for part in lesson.parts if part.under == "Exercises"]
        files[f"{lesson.name}.html"] = fill("teaching/teacher.html", **known)
        known |= {"card": formula_card(lesson), "picture": None}
        if picture:
            file = f"pictures/{lesson.name}.png"
            files[file], known["picture"] = picture[0], {"file": file, "words": picture[1]}
        files[f"{lesson.name}_handout.html"] = fill("teaching/handout.html", **known)
        alone = sum(section.minutes for section in sections)
        at_home = sum(exercise.minutes for exercise in exercises)
        rows.append({"lesson": lesson, "minutes": alone, "total": sections[-1].total, "homework": at_home})
    return files | {"index.html": fill("teaching/index.html", rows=rows, rates=rates())}


def colors():
    """The palette's colors for words, on a light screen and on paper, and on a dark screen."""
    light, dark = (
        "".join(f"--{name}:{words[name]};" for name in ("blue", "orange", "teal"))
        for words in (theme.WORDS, theme.DARK_WORDS)
    )
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def build(out):
    """Write the pack; return how many lessons it has."""
    out = Path(out).resolve()
    check_place(out)
    need_packages("katex")
    lessons = all_lessons()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "teaching"
        (made / "pictures").mkdir(parents=True)
        for name, content in pages(lessons).items():
            (made / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        css = (WEB / "teaching" / "teaching.css").read_text(encoding="utf-8")
        (made / "teaching.css").write_text(colors() + css, encoding="utf-8")
        copy_katex(made / "katex")
        replace_folder(made, out)
    return len(lessons)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write a page for the teacher and a handout for each lesson.")
    parser.add_argument("out", nargs="?", default=ROOT / "teaching", help="output folder (default: teaching/)")
    return run(lambda options: f"{build(options.out)} lessons", parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
