"""A plan for a class: how long its sections take, where to stop, what fits, and the homework."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from tools.lessons import counts_of, text

# A class votes on a prediction, and talks once in each section; its lecturer says less than stands in the notebook.
SPOKEN_WORDS_PER_MINUTE = 150
CODE_LINES_PER_MINUTE = 6
MINUTES_PER_QUESTION = 1  # of a skill check, which each answers alone
MINUTES_PER_EXPLORER = 2
MINUTES_PER_VOTE = 2
MINUTES_PER_DISCUSSION = 4
CLASSES = (45, 60, 90)  # minutes


def class_minutes_of(parts):
    """How long some parts take a class: words said, code read aloud, a vote on each prediction, explorers."""
    counts, alone = counts_of(parts), sum(part.checks for part in parts)
    said = counts["words"] / SPOKEN_WORDS_PER_MINUTE + counts["code lines"] / CODE_LINES_PER_MINUTE
    votes = (counts["questions"] - alone) * MINUTES_PER_VOTE + alone * MINUTES_PER_QUESTION
    return said + votes + counts["explorers"] * MINUTES_PER_EXPLORER


# ----------------------------------------------------------------------------------------------------
# A plan for a class: the one clock of the teacher's page and of the slides


@dataclass
class Section:
    """What stands between two headings of level 2, in whole minutes of a class."""

    title: str
    core: list  # parts
    optional: list  # lists of parts, one for each heading "Deeper"
    minutes: int = 0  # without its discussion
    total: int = 0  # with discussions, from the beginning of the lesson to the end of this section
    stop: bool = False  # where the first of two classes ends

    @property
    def numbered(self):
        return self.title[0].isdigit()

    @property
    def discussion(self):
        return self.core[0].metadata.get("discussion") if self.numbered else None

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
    ends = [round(end) for end in accumulate(class_minutes_of(section.core) for section in sections)]
    talk = accumulate(section.talk for section in sections)
    for section, begin, end, talked in zip(sections, [0, *ends], ends, talk, strict=False):
        section.minutes = end - begin
        section.total = end + talked
    return sections


def with_stop(sections):
    """A lesson is halved where a section ends, as near to the middle as possible."""
    half = sections[-1].total / 2
    numbered = [section for section in sections if section.numbered]
    min(numbered, key=lambda section: abs(section.total - half)).stop = True
    return sections


@dataclass
class Fit:
    """What of a lesson fits into a class; `left` are the titles that do not."""

    minutes: int
    taken: list  # titles of sections, in order
    talks: list  # titles of sections that are discussed
    left: list
    total: int


def fit(sections, minutes):
    """Opening and recap, then the sections as far as they fit, then discussions, then the skill check."""
    taken = [section for section in sections if not section.numbered and section.title != "Skill check"]
    room = minutes - sum(section.minutes for section in taken)
    numbered = [section for section in sections if section.numbered]
    ends = accumulate(section.minutes for section in numbered)
    chosen = [section for section, end in zip(numbered, ends, strict=True) if end <= room]
    room -= sum(section.minutes for section in chosen)
    talks = [end for end in accumulate(section.talk for section in chosen) if end <= room]
    talked = [section.title for section in chosen if section.talk][: len([end for end in talks if end])]
    room -= max(talks, default=0)
    checks = [section for section in sections if section.title == "Skill check" and section.minutes <= room]
    checks = checks if len(chosen) == len(numbered) else []
    room -= sum(section.minutes for section in checks)
    titles = {section.title for section in [*taken, *chosen, *checks]}
    left = [section.title for section in sections if section.title not in titles]
    return Fit(minutes, [s.title for s in sections if s.title in titles], talked, left, minutes - room)


def shared(total, weights):
    """A whole number, shared out by weights into whole numbers."""
    ends = [round(total * end / sum(weights)) for end in accumulate(weights)]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


# ----------------------------------------------------------------------------------------------------
# Homework


def mistakes_of(name):
    """The sentences of an exercise's known mistakes, those first that no other exercise has."""
    from helpers.exercises import all_exercises

    exercises = all_exercises()
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
    parts = [part for part in lesson.parts if part.tagged("exercise")]
    names = [re.search(r'check_exercise\("(\w+)"', text(part.tagged("exercise")[0]["source"]))[1] for part in parts]
    lengths = [len(text(part.tagged("solution")[0]["source"]).splitlines()) for part in parts]
    times = shared(lesson.homework_minutes, lengths)
    nudges = [re.search(r"<summary>Hint: [^<]*</summary>(.*?)</details>", part.text) for part in parts]
    return [
        Homework(
            re.sub(r"^(Exercise( \d+)?: )?(.)", lambda found: found[3].upper(), part.title),
            name,
            time,
            nudge[1],
            mistakes_of(name),
        )
        for part, name, time, nudge in zip(parts, names, times, nudges, strict=True)
    ]
