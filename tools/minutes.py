"""How long a lesson takes: its parts, one for each heading, and the rates that make minutes of what they hold.

The lesson rules in tests/test_notebooks.py and the teaching pack stand on this.
"""

import re
import tomllib
from dataclasses import dataclass, field
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
                parts.append(Part(level, heading[2], left_out is None, metadata=cell["metadata"]))
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
