"""notebooks/glossary.md names the terms; no lesson may use one before the lesson that introduces it."""

import re
from typing import NamedTuple

import pytest
from lessons import LESSONS, ROOT, read

FILE = ROOT / "notebooks" / "glossary.md"


class Term(NamedTuple):
    words: list  # the term, then other forms of it
    meaning: str
    lesson: str  # the file that introduces it


def terms():
    rows = re.findall(r"^\| (.+?) \| (.+?) \| \[\d\d\]\((.+)\) \|$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    return [Term(words.split(", "), meaning, lesson) for words, meaning, lesson in rows]


def telling(lesson):
    """What a lesson tells: its Markdown without the first cell (what it is going to teach), references and links."""
    text = "\n\n".join(cell.source for cell in read(lesson).cells[1:] if cell.cell_type == "markdown")
    text = text.split("\n## References")[0]
    lines = [
        line for line in text.splitlines() if "http" not in line and ".ipynb" not in line and "Planned" not in line
    ]
    return re.sub(r"```.*?```|`[^`]*`", "", "\n".join(lines), flags=re.DOTALL)


TEXTS = {lesson.name: telling(lesson) for lesson in LESSONS}


def uses(term, text):
    for longer in sum((other.words for other in terms()), []):
        if any(word in longer and word != longer for word in term.words):
            text = re.sub(re.escape(longer), "", text, flags=re.IGNORECASE)
    return any(re.search(rf"(?<![\w-]){re.escape(word)}", text, re.IGNORECASE) for word in term.words)


def introduces(term, text):
    """In *italics* or **bold**, with other words or without; or the subject of a row of a table."""
    return any(
        re.search(
            rf"\*[^*\n]*\b{re.escape(word)}[^*\n]*\*|\| [^|\n]*\b{re.escape(word)}[^|\n]* \|", text, re.IGNORECASE
        )
        for word in term.words
    )


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.words[0])
def test_a_term_is_introduced_by_its_lesson_and_used_by_none_before(term):
    assert [name for name, text in TEXTS.items() if name < term.lesson and uses(term, text)] == []
    assert introduces(term, TEXTS[term.lesson]), (
        f"{term.lesson} should set {term.words[0]} in italics where it says what it is"
    )


def test_the_glossary_is_sorted_and_every_lesson_has_a_term_in_it():
    first = [term.words[0].lower() for term in terms()]
    assert first == sorted(set(first))
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert len(first) == sum(line.startswith("| ") for line in lines) - 2


def test_a_term_that_comes_too_early_is_found():
    early = Term(["Welford"], "", "06_epsilon_and_float16.ipynb")
    assert uses(early, "as welford's method") and not uses(early, "nothing of the kind")
    assert introduces(early, "which is *Welford's method*") and not introduces(early, "Welford's method")
