"""The claims ledger: every row points to a check that a lesson really prints, or to a paper."""

import functools
import re

from helpers.widgets.table import read_table
from tests.shared import ROOT, for_each, read, without_measured

TABLE = read_table("claims")
ROWS = TABLE["rows"]
CHECKS = [(row["claim"], check) for row in ROWS for check in row.get("checks", [])]
# Words that would name one of the texts or the people who wrote them.
NAMES = re.compile(r"https?://|\.(com|io|org)\b|tensorweaver|@", re.IGNORECASE)


@functools.cache
def passes(path):
    """The PASS lines of a stored lesson, each in one piece, with its bounds but without what was measured."""
    outputs = [output.get("text", "") for cell in read(path).cells for output in cell.get("outputs", [])]
    lines = "\n".join(map(without_measured, outputs)).splitlines()
    return [line for line in lines if line.startswith("PASS - ")]


@for_each("row", ROWS, ids=lambda row: row["claim"][:40])
def test_a_claim_has_a_check_or_a_reference(row):
    assert row.get("checks") or row.get("references")


@for_each(("claim", "check"), CHECKS, ids=lambda x: x if isinstance(x, str) else x["name"][:40])
def test_each_ledger_check_is_printed_by_its_lesson(claim, check):
    """With the very words that the ledger quotes."""
    assert f"PASS - {check['name']}: {check['line']}" in passes(ROOT / "notebooks" / f"{check['lesson']}.ipynb")


def test_claims_have_verdict_subject_and_text():
    assert TABLE["filters"]["verdict"] == ["holds", "holds under conditions", "wrong", "no evidence"]
    for row in ROWS:
        assert {"verdict", "about", "said by"} <= set(row)
    assert len({(row["claim"], row["said by"]) for row in ROWS}) == len(ROWS)


def test_the_texts_are_named_neutrally():
    assert {row["said by"] for row in ROWS} == {
        "a course chapter",
        "a blog post",
        "a course notebook",
        "a page of notes",
        "a primer",
    }
    for row in ROWS:
        assert not NAMES.search(row["claim"] + row["what is known"])
