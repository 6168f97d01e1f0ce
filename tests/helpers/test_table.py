"""The Table widget: table files, what a broken one says, the rows that a choice leaves, and the static twins."""

import re
import tomllib
from html.parser import HTMLParser

import pytest

from helpers.widgets.table import MOST_ROWS, Table, read_table
from helpers.widgets.table.rows import FOLDER
from tests.shared import ROOT

TABLES = ["choosing", "claims", "timeline"]
GOOD = """
title = "Fruit"
columns = ["name", "taste"]
filters = ["color", "taste"]
options = { color = ["red", "green"] }

[[row]]
name = "apple"
taste = "sweet"
color = ["red", "green"]
lessons = ["04_layer_norm"]

[[row]]
name = "cherry"
taste = "sour"
color = "red"
references = ["ba2016"]

[[row]]
name = "`water`"
taste = "none"
checks = [{ lesson = "05_rms_norm", name = "it is 1", line = "1.0" }]
conclusions = [{ lesson = "05_rms_norm", sentence = "it stays", held = "4 of 5 variations of n" }]

[reference.ba2016]
author = "Ba"
year = 2016
url = "https://arxiv.org/abs/1607.06450"
"""


@pytest.fixture
def show(tmp_path, monkeypatch):
    """A Table of a file given as a text; closed afterwards."""
    tables = []
    (tmp_path / "77_test").mkdir()
    monkeypatch.setattr("helpers.widgets.table.read_table", lambda name: read_table(name, tmp_path))

    def show(text=GOOD, start=None):
        (tmp_path / "77_test" / "fruit.toml").write_text(text, encoding="utf-8")
        tables.append(Table("fruit", start))
        return tables[-1]

    yield show
    for table in tables:
        table.close()


class Page(HTMLParser):
    """The tags and links of a page, and the words of every table row."""

    def __init__(self, table):
        super().__init__()
        self.tags, self.links, self.rows = [], [], []
        self.feed(table._repr_mimebundle_()[0]["text/html"])

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name == "href"]
        self.rows += [""] if tag == "tr" else []

    def handle_data(self, data):
        if self.rows:
            self.rows[-1] += data


def test_a_choice_leaves_rows_that_fit_it(show):
    table = show(start={"taste": "sour"})
    found = {str(choice): [row["name"] for row in table.fitting(choice)] for choice in [{}, *table.choices()]}
    assert len(found) == 7 and found["{}"] == ["apple", "cherry", "`water`"]
    assert found["{'color': 'green', 'taste': 'none'}"] == ["`water`"]
    assert found["{'color': 'red', 'taste': 'sweet'}"] == ["apple"]
    assert found["{'color': 'green', 'taste': 'sour'}"] == []
    assert [row["name"] for row in table.fitting({"color": "green"})] == ["apple", "`water`"]


def test_the_browser_gets_rows_menus_and_their_start(show):
    table = show(start={"taste": "sour"})
    assert table.table["filters"] == [
        {"name": "color", "options": ["red", "green"], "start": None},
        {"name": "taste", "options": ["sweet", "sour", "none"], "start": "sour"},
    ]
    assert [cell["when"] for cell in table.table["cells"]] == [[[0, 1], [0]], [[0], [1]], [None, [2]]]


@pytest.mark.parametrize("choice", [{"color": "blue"}, {"size": "red"}, "sour", 3])
def test_an_unknown_choice_lists_the_existing_ones(show, choice):
    for attempt in (show().fitting, lambda start: show(start=start)):
        with pytest.raises(ValueError, match="^Table: .* is no choice .*'sour'"):
            attempt(choice)


def test_an_unknown_table_lists_the_existing_ones():
    with pytest.raises(ValueError, match="^Table: no table 'clams'; there are " + re.escape(str(TABLES))):
        Table("clams")


BROKEN = {
    "not valid TOML": ("title =", "title"),
    "row 2: unknown field 'colour'": ('color = "red"', 'colour = "red"'),
    "row 2: each of .* must be a text": ('taste = "sour"\n', ""),
    "row 3: each of .* must be a text, with backticks in pairs": ('name = "`water`"', 'name = "`water"'),
    r"row 2: color = 'blue' is not among its options \['red', 'green'\]": ('color = "red"', 'color = "blue"'),
    r"row 2: there is no \[reference.ba2017\]; add it": ('["ba2016"]', '["ba2017"]'),
    "reference.ba2016: expected author, year and a url": ("year = 2016\n", ""),
    "expected .* a url that begins with https": ("https://arxiv", "javascript:alert(1)//arxiv"),
    "row 1: '../secret' names no lesson": ('["04_layer_norm"]', '["../secret"]'),
}


def test_a_broken_file_is_told_with_the_place(show):
    for message, (before, after) in BROKEN.items():
        assert GOOD.count(before) == 1
        with pytest.raises(ValueError, match=f"^fruit.toml.*{message}"):
            show(GOOD.replace(before, after))


def test_the_twin_has_rows_links_and_options(show):
    page = Page(show())
    assert [row.strip() for row in page.rows[1:]] == [
        "red, greenapplesweet Lesson 04.",
        "redcherrysour Ba 2016.",
        "anywaternone Lesson 05: “it is 1: 1.0”. “it stays” held in 4 of 5 variations of n.",
    ]
    assert page.links == ["04_layer_norm.ipynb", "https://arxiv.org/abs/1607.06450", "05_rms_norm.ipynb"]
    assert show()._repr_mimebundle_()[0]["text/plain"] == "Fruit: a table of 3 rows"


def test_the_twin_of_a_long_table_has_its_first_rows():
    page = Page(Table("claims"))
    assert len(page.rows) == MOST_ROWS + 2
    assert page.rows[-1].strip() == f"{len(read_table('claims')['rows']) - MOST_ROWS} more rows: run this cell"


def test_what_a_file_says_stays_text(show):
    evil = "<img src=x onerror=planted(1)><script>planted(2)</script>"
    page = Page(show(GOOD.replace("apple", evil).replace("Fruit", evil).replace("it is 1", evil)))
    assert set(page.tags) == {"p", "strong", "table", "tr", "th", "td", "a", "code"}
    assert evil in page.rows[1] and evil in page.rows[3]


# The tables of lesson 14


def test_links_lead_to_lessons_or_to_papers():
    seen = {}
    for name in TABLES:
        table = tomllib.loads((FOLDER / "14_choosing_a_norm" / f"{name}.toml").read_text(encoding="utf-8"))
        assert set(table["reference"]) == {key for row in table["row"] for key in row.get("references", [])}
        for key, paper in table["reference"].items():
            assert seen.setdefault(key, paper) == paper
            assert key.startswith(re.split(r"[ ,]", paper["author"].lower())[0]) and str(paper["year"]) in key
        links = [link["to"] for cell in read_table(name)["cells"] for link in cell["links"]]
        assert all(to.startswith("https://") or (ROOT / "notebooks" / to).exists() for to in links)
    assert len({paper["url"] for paper in seen.values()}) == len(seen)


def test_each_network_choice_has_norm_place_and_numbers():
    table = Table("choosing")
    assert len(table.choices()) == 1248 and all(row.get("lessons") for row in table.rows)
    for choice in table.choices():
        assert sorted(row["part"] for row in table.fitting(choice)) == ["norm", "numbers", "place"], choice
    table.close()


def test_the_timeline_has_sources_in_order_of_years():
    rows = read_table("timeline")["rows"]
    assert all(row.get("references") for row in rows)
    assert rows == sorted(rows, key=lambda row: row["year"])
