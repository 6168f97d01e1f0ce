"""How long a lesson takes: its parts, one for each heading, and the rates that make minutes of what they hold.

The lesson rules in tests/test_notebooks.py and the teaching pack stand on this.
"""

import re
import tomllib
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from widget_state import text

ROOT = Path(__file__).resolve().parent.parent
# What a lesson's minutes are made of; told to authors in CONTRIBUTING.md.
WORDS_PER_MINUTE = 120
CODE_LINES_PER_MINUTE = 6
MINUTES_PER_QUESTION = 1
MINUTES_PER_EXPLORER = 2
# A class also talks, once in each section; a learner alone does not.
MINUTES_PER_DISCUSSION = 4
LEFT_OUT = ("Deeper", "Exercises", "References")


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


def parts_of(nb, checks=0):
    """The parts of a lesson in order. Under a heading that begins with one of LEFT_OUT nothing is core path."""
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


def is_hidden(cell):
    return bool(cell["metadata"].get("jupyter", {}).get("source_hidden"))


def counts_of(parts):
    """{"words": ..., "code lines": ..., "questions": ..., "explorers": ...} of some parts."""
    cells = [cell for part in parts for cell in part.cells]
    everything = "\n".join(text(cell["source"]) for cell in cells)
    visible = [line for cell in cells if not is_hidden(cell) for line in text(cell["source"]).splitlines()]
    asked = len(re.findall(r"^Quiz\(.*only=", everything, re.MULTILINE))
    return {
        "words": len(re.findall(r"[^\W_]\S*", "\n".join(line for part in parts for line in part.lines))),
        "code lines": sum(bool(line.strip()) and not line.startswith("Quiz(") for line in visible),
        "questions": asked + sum(part.checks for part in parts),
        "explorers": len(re.findall(r"^Explorer\(", everything, re.MULTILINE)),
    }


def minutes_of(parts):
    """How long some parts take one who reads and answers, by the rates above."""
    counts = counts_of(parts)
    reading = counts["words"] / WORDS_PER_MINUTE + counts["code lines"] / CODE_LINES_PER_MINUTE
    return reading + counts["questions"] * MINUTES_PER_QUESTION + counts["explorers"] * MINUTES_PER_EXPLORER


def checks_in(name):
    """How many questions the skill check of a lesson has."""
    table = tomllib.loads((ROOT / "helpers" / "quiz" / f"{name}.toml").read_text(encoding="utf-8"))
    return sum(question["kind"] == "check" for question in table["question"])


# ----------------------------------------------------------------------------------------------------
# A plan for a class


@dataclass
class Section:
    """What stands between two headings of level 2. Minutes are whole; those of the core add up to the lesson's."""

    title: str
    core: list  # parts
    optional: list  # lists of parts, one for each heading "Deeper"
    minutes: int = 0
    total: int = 0  # with discussions, from the beginning of the lesson to the end of this section
    stop: bool = False  # where the first of two classes ends

    @property
    def discussion(self):
        return self.core[0].metadata.get("discussion") if self.title[0].isdigit() else None

    @property
    def talk(self):
        return MINUTES_PER_DISCUSSION if self.discussion else 0

    @property
    def holds(self):
        """Its questions and explorers, in words."""
        counts = counts_of(self.core)
        named = [(counts[f"{what}s"], what) for what in ("question", "explorer")]
        return ", ".join(f"{count} {what}{'s' * (count > 1)}" for count, what in named if count)


def sections_of(parts):
    """The sections of the plan in order; exercises and references are none."""
    sections = [Section("Opening", [], [])]
    for part in parts:
        if part.level == 2 and part.title != "Your notes":
            sections.append(Section(part.title, [], []))
        if part.core:
            sections[-1].core.append(part)
        elif part.title.startswith("Deeper"):
            sections[-1].optional.append([part])
        elif sections[-1].optional:
            sections[-1].optional[-1].append(part)
    return with_stop(with_minutes([section for section in sections if section.core]))


def with_minutes(sections):
    """Whole minutes: the sums are rounded, not the parts, so no minute is lost or won."""
    ends = [round(end) for end in accumulate(minutes_of(section.core) for section in sections)]
    talk = accumulate(section.talk for section in sections)
    for section, begin, end, talked in zip(sections, [0, *ends], ends, talk, strict=False):
        section.minutes = end - begin
        section.total = end + talked
    return sections


def with_stop(sections):
    """A lesson is halved where a section ends, as near to the middle as possible."""
    half = sections[-1].total / 2
    numbered = [section for section in sections if section.title[0].isdigit()]
    min(numbered, key=lambda section: abs(section.total - half)).stop = True
    return sections


def shared(total, weights):
    """A whole number, shared out by weights into whole numbers."""
    ends = [round(total * end / sum(weights)) for end in accumulate(weights)]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
