"""Words that the lessons used once and that must not come back: each misled a reader, or stood for two things."""

import re

from tests.shared import LESSONS, ROOT, for_each, read

GONE = {
    r"stored mode": "eval mode",
    r"share right": "accuracy",
    r"\bcompany\b": "the other samples in the batch",
    r"\banew\b": "again",
    r"See the \w+ check": "a reason that names the thought and the fact",
    r"belongs? into": "belongs in",
    r"PyTorch 2\.\d": "PyTorch; lesson 13 names the version once",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "notebooks" / "glossary.md"]
TEXTS = [*PAGES, *sorted((ROOT / "helpers" / "lessons").glob("*/*.toml")), *sorted((ROOT / "helpers").rglob("*.py"))]


def found(text):
    return {words: instead for words, instead in GONE.items() if re.search(words, text)}


@for_each("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_uses_no_word_that_is_gone(lesson):
    assert found("\n".join(cell.source for cell in read(lesson).cells)) == {}


def test_other_texts_use_no_word_that_is_gone():
    texts = {str(path.relative_to(ROOT)): found(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {name: words for name, words in texts.items() if words} == {}


def test_a_word_that_is_gone_is_found():
    assert found("batch norm in stored mode") == {"stored mode": "eval mode"}
    assert found("batch norm in eval mode") == {}
