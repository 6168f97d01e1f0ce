"""The claims ledger: every row points to a check that a lesson prints, an experiment that was varied, or a paper."""

import functools
import importlib
import re

import pytest

from helpers.widgets.table import read_table
from tests.conclusions.conclusion import KNOWN
from tests.shared import ROOT, printed, read, without_measured

TABLE = read_table("claims")
ROWS = TABLE["rows"]
# Words that would name one of the texts or the people who wrote them.
NAMES = re.compile(r"https?://|\.(com|io|org)\b|tensorweaver|@", re.IGNORECASE)


@functools.cache
def passes(lesson):
    """The PASS lines of a stored lesson, each in one piece, with its bounds but without what was measured."""
    cells = read(ROOT / "notebooks" / f"{lesson}.ipynb").cells
    lines = "\n".join(without_measured(printed(cell)) for cell in cells).splitlines()
    return [line.strip() for line in lines if line.lstrip().startswith("PASS - ")]


def test_each_quoted_check_is_printed_by_its_lesson():
    quoted = [check for row in ROWS for check in row.get("checks", [])]
    missing = [c for c in quoted if f"PASS - {c['name']}: {c['line']}" not in passes(c["lesson"])]
    assert missing == [], "claims.toml: write name and line as the lesson prints them"


@pytest.fixture(scope="module")
def varied():
    """What tests/conclusions varies: {(two digits of the lesson, sentence): (vary, least)}."""
    for path in sorted((ROOT / "tests" / "conclusions").glob("test_*.py")):
        importlib.import_module(f"tests.conclusions.{path.stem}")
    return KNOWN


def test_each_quoted_conclusion_has_its_count_of_variations(varied):
    quoted = [each for row in ROWS for each in row.get("conclusions", [])]
    assert quoted
    for each in quoted:
        vary, least = varied[each["lesson"][:2], each["sentence"]]
        names = ", ".join(dict.fromkeys(name for variation in vary for name in variation))
        holds, rest = each["held"].split(" ", 1)
        assert least <= int(holds) <= len(vary), f"run tests/conclusions and write what it counts for {each}"
        assert rest == f"of {len(vary)} variations of {names}", each


def test_claims_have_verdict_subject_and_source():
    assert TABLE["filters"]["verdict"] == ["holds", "holds under conditions", "wrong", "no evidence"]
    for row in ROWS:
        assert {"verdict", "about", "said by"} <= set(row) and (row.get("checks") or row.get("references"))
        assert not NAMES.search(row["claim"] + row["what is known"]), "the texts are named neutrally"
    assert len({(row["claim"], row["said by"]) for row in ROWS}) == len(ROWS)
