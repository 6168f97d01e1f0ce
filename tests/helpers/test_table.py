"""The Table widget: table files, what a broken one says, the rows that a choice leaves, and the static twins."""

import json
import re
from html.parser import HTMLParser

import pytest

from helpers import theme
from helpers.widgets.table import Table, read_table, table_names
from helpers.widgets.widget_code import LoadedWidget
from tests.shared import ROOT, for_each

TABLES = table_names()
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

[reference.ba2016]
author = "Ba"
year = 2016
url = "https://arxiv.org/abs/1607.06450"
"""


@pytest.fixture
def show(tmp_path, monkeypatch):
    """A Table of a file given as a text; closed afterwards."""
    tables = []

    def show(text, start=None):
        (tmp_path / "fruit.toml").write_text(text, encoding="utf-8")
        monkeypatch.setattr("helpers.widgets.table.read_table", lambda name: read_table(name, tmp_path))
        tables.append(Table("fruit", start))
        return tables[-1]

    yield show
    for table in tables:
        table.close()


def names(rows):
    return [row["name"] for row in rows]


class Page(HTMLParser):
    """The tags and links of a page, and the words of every table row."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.rows = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "a":
            self.links.append(dict(attributes)["href"])
        if tag == "tr":
            self.rows.append("")

    def handle_data(self, data):
        if self.rows:
            self.rows[-1] += data


# ------------------------------------------------------------------------------------------------ which rows fit


def test_without_a_choice_every_row_is_shown(show):
    assert names(show(GOOD).fitting({})) == ["apple", "cherry", "`water`"]


def test_rows_match_each_of_their_options_or_all(show):
    table = show(GOOD)
    assert names(table.fitting({"color": "green"})) == ["apple", "`water`"]
    assert names(table.fitting({"color": "red"})) == ["apple", "cherry", "`water`"]


def test_two_choices_must_both_fit(show):
    assert names(show(GOOD).fitting({"color": "red", "taste": "sour"})) == ["cherry"]


def test_full_choices_take_one_option_per_menu(show):
    choices = show(GOOD).choices()
    assert len(choices) == 6
    assert {"color": "green", "taste": "none"} in choices


def test_menu_options_keep_their_given_order(show):
    options = {menu["name"]: menu["options"] for menu in show(GOOD).filters}
    assert options == {"color": ["red", "green"], "taste": ["sweet", "sour", "none"]}


def test_start_chooses_an_option_of_a_menu(show):
    assert [menu["start"] for menu in show(GOOD, start={"taste": "sour"}).filters] == [-1, 1]


@pytest.mark.parametrize("choice", [{"color": "blue"}, {"size": "red"}])
def test_unknown_menus_and_options_list_the_existing_ones(show, choice):
    with pytest.raises(ValueError, match="^Table: there is no .*'red'.*'sour'"):
        show(GOOD).fitting(choice)
    with pytest.raises(ValueError, match="^Table: start has .*'red'.*'sour'"):
        show(GOOD, start=choice)


def test_a_start_of_the_wrong_kind_is_told(show):
    with pytest.raises(ValueError, match="^Table: start is .*expected a dict"):
        show(GOOD, start="sour")


def test_an_unknown_table_lists_the_existing_ones():
    with pytest.raises(ValueError, match="^Table: no table 'clams'; there are .*'claims'"):
        Table("clams")


# ---------------------------------------------------------------------------------------- what a broken file says

BROKEN = {
    "not valid TOML": ("title =", "title"),
    "unknown field 'colour'": ('color = "red"', 'colour = "red"'),
    "taste must be a text": ('taste = "sour"\n', ""),
    "name must be a text": ('name = "`water`"', 'name = "`water"'),
    r"color = 'blue' is not among its options \['red', 'green'\]": ('color = "red"', 'color = "blue"'),
    r"there is no \[reference.ba2017\]; add it": ('["ba2016"]', '["ba2017"]'),
    "year is '2016', expected a int": ("year = 2016", 'year = "2016"'),
    "expected an address that begins with https": ("https://arxiv", "javascript:alert(1)//arxiv"),
    "a check has lesson, name and line, got": (', line = "1.0"', ""),
    "'../secret' names no lesson": ('["04_layer_norm"]', '["../secret"]'),
    "columns: got .*, expected a list of texts": ('columns = ["name", "taste"]', "columns = []"),
}


def test_a_conclusion_counts_the_variations_it_held_in(show, tmp_path):
    text = GOOD.replace('color = "red"', 'conclusions = [{ lesson = "04_layer_norm", sentence = "it holds" }]')
    with pytest.raises(ValueError, match="^fruit.toml, row 2: conclusions.json has no count of 'it holds'"):
        show(text)
    counts = [{"lesson": "04", "sentence": "it holds", "varied": "seed 0 to 4; n 2 or 8", "holds": 4, "of": 5}]
    (tmp_path / "conclusions.json").write_text(json.dumps(counts), encoding="utf-8")
    data, _ = show(text)._repr_mimebundle_()
    assert "Lesson 04: “it holds” held in 4 of 5 variations of seed, n." in Page(data["text/html"]).rows[2]
    with pytest.raises(ValueError, match="^fruit.toml, row 2: a conclusion has lesson and sentence, got"):
        show(text.replace('sentence = "it holds"', 'name = "it holds"'))


@for_each("message", BROKEN)
def test_a_broken_file_is_told_with_the_place(show, message):
    before, after = BROKEN[message]
    assert GOOD.count(before) == 1
    with pytest.raises(ValueError, match=f"^fruit.toml.*{message}"):
        show(GOOD.replace(before, after))


# ------------------------------------------------------------------------------------------------------- the twins


def test_the_twin_has_rows_links_and_options(show):
    data, _ = show(GOOD)._repr_mimebundle_()
    page = Page(data["text/html"])
    assert [row.strip() for row in page.rows[1:]] == [
        "red, greenapplesweet Lesson 04.",
        "redcherrysour Ba 2016.",
        "anywaternone Lesson 05: “it is 1: 1.0”.",
    ]
    assert page.links == ["04_layer_norm.ipynb", "https://arxiv.org/abs/1607.06450", "05_rms_norm.ipynb"]
    assert data["text/plain"] == "Fruit: a table of 3 rows"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_what_a_file_says_stays_text(show):
    evil = "<img src=x onerror=planted(1)><script>planted(2)</script>"
    data, _ = show(GOOD.replace("apple", evil).replace("Fruit", evil).replace("it is 1", evil))._repr_mimebundle_()
    page = Page(data["text/html"])
    assert set(page.tags) == {"p", "strong", "table", "tr", "th", "td", "a", "code"}
    assert evil in page.rows[1] and evil in page.rows[3]


def test_the_browsers_code_makes_text_and_no_markup():
    code = (ROOT / "helpers" / "widgets" / "table" / "table.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", code)


def test_the_tables_style_sheet_uses_defined_variables():
    defined = set(re.findall(r"(--nn-[\w-]+):", theme.css_variables()))
    used = set(re.findall(r"var\((--nn-[\w-]+)", Table.css))
    assert used and used <= defined
    assert ".filter-table" in theme.WIDGETS
    assert issubclass(Table, LoadedWidget)


# ---------------------------------------------------------------------------------------- the tables of the lessons


@pytest.mark.parametrize("name", TABLES)
def test_table_links_lead_to_lessons_or_https(name):
    """A lesson that is not written yet has no notebook of its number."""
    notebooks = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    for cell in read_table(name)["cells"]:
        for link in cell["links"]:
            if not link["to"].startswith("https://"):
                written = [file for file in notebooks if file[:2] == link["to"][:2]]
                assert written in ([link["to"]], [])


def test_a_reference_is_the_same_in_every_table():
    import tomllib

    seen = {}
    for name in TABLES:
        text = (ROOT / "helpers" / "data" / f"{name}.toml").read_text(encoding="utf-8")
        for key, reference in tomllib.loads(text)["reference"].items():
            assert seen.setdefault(key, reference) == reference
            assert key.startswith(re.split(r"[ ,]", reference["author"].lower())[0])
            assert str(reference["year"]) in key
    assert len({reference["url"] for reference in seen.values()}) == len(seen)


@pytest.mark.parametrize("name", TABLES)
def test_every_reference_of_a_table_is_used(name):
    import tomllib

    table = tomllib.loads((ROOT / "helpers" / "data" / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(table["reference"]) == {key for row in table["row"] for key in row.get("references", [])}


def test_each_network_choice_has_norm_place_and_numbers():
    table = Table("choosing")
    choices = table.choices()
    assert len(choices) == 936
    for choice in choices:
        parts = sorted(row["part"] for row in table.fitting(choice))
        assert parts == ["norm", "numbers", "place"], choice
    table.close()


def test_every_advice_links_a_lesson():
    assert all(row.get("lessons") for row in read_table("choosing")["rows"])


def test_the_timeline_has_sources_in_order_of_years():
    rows = read_table("timeline")["rows"]
    assert all(row.get("references") for row in rows)
    years = [int(row["year"]) for row in rows]
    assert years == sorted(years) and 2015 <= years[0] and years[-1] <= 2026
