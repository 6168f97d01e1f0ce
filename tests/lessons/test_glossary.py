"""notebooks/glossary.md names the terms; no lesson may use one before the lesson that introduces it."""

import re
from typing import NamedTuple

from tests.shared import LESSONS, ROOT, read

FILE = ROOT / "notebooks" / "glossary.md"


class Term(NamedTuple):
    words: list  # the term, then other forms of it that the lessons use
    lesson: str  # the file that introduces it


ENTRY = re.compile(r"^### (.+)\n\n(.+) \[Lesson (\d\d)\]\((\3_\w+\.ipynb)\)$", re.MULTILINE)


TERMS = [
    Term([term, *re.findall(r" Also: \*(.+?)\*\.", meaning)], lesson)
    for term, meaning, _, lesson in ENTRY.findall(FILE.read_text(encoding="utf-8"))
]


def telling(lesson):
    """What a lesson tells: its Markdown without the first cell (what it is going to teach), references and links."""
    text = "\n\n".join(cell.source for cell in read(lesson).cells[1:] if cell.cell_type == "markdown")
    text = text.split("\n## References")[0]
    lines = [line for line in text.splitlines() if not re.search(r"http|\.ipynb", line)]
    return re.sub(r"```.*?```|`[^`]*`", "", "\n".join(lines), flags=re.DOTALL)


TEXTS = {lesson.name: telling(lesson) for lesson in LESSONS}


def uses(term, text):
    for longer in sum((other.words for other in TERMS), []):
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


def test_terms_are_introduced_before_they_are_used():
    for term in TERMS:
        early = [name for name, text in TEXTS.items() if name < term.lesson and uses(term, text)]
        assert early == [], f"{term.words[0]} is introduced in {term.lesson} and used before"
        assert introduces(term, TEXTS[term.lesson]), f"{term.lesson}: set {term.words[0]} in italics where it is said"


def test_the_glossary_is_sorted_and_its_links_work():
    first = [term.words[0].lower() for term in TERMS]
    assert first == sorted(set(first)) and len(first) == FILE.read_text(encoding="utf-8").count("\n### ")
    anchors = {term.words[0].replace(" ", "-") for term in TERMS}  # as JupyterLab makes them of a heading
    text = "\n".join(cell.source for lesson in LESSONS for cell in read(lesson).cells if cell.cell_type == "markdown")
    assert set(re.findall(r"\(glossary\.md#([^)]+)\)", text)) <= anchors
