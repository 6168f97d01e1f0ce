"""Reading and checking the tables that lie beside a lesson's questions; standard library only.

    title = "Which norm?"
    columns = ["take", "why"]                   # the fields shown, in this order
    filters = ["network", "batch"]              # the fields that menus filter by
    options = { batch = ["1", "2 to 8"] }       # the order of a menu; without it the order in which rows name them

    [[row]]
    take = "group norm"
    why = "..."
    network = "convolutional"                   # one option, a list of them, or no such field: every option fits
    lessons = ["04_layer_norm"]                 # links, behind the last column: lessons,
    checks = [{ lesson = "04_layer_norm", name = "...", line = "0.0" }]  # checks with what their PASS line says,
    conclusions = [{ lesson = "04_layer_norm", sentence = "...", held = "8 of 8 variations of seed" }]
    references = ["wu2018"]                     # and papers: [reference.wu2018] has author, year and url

Text between backticks is shown as code. Nothing is ever read as HTML.
"""

import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "lessons"


def read_table(name, folder=FOLDER):
    """One table: {"title", "columns", "filters": {name: options}, "rows": dicts, "cells": what the browser gets}.

    Raises ValueError naming file, row and fix for anything the format does not allow.
    """
    paths = {path.stem: path for path in sorted(folder.glob("*/*.toml")) if path.stem != "questions"}
    if name not in paths:
        raise ValueError(f"Table: no table {name!r}; there are {sorted(paths)}")
    file = paths[name].name
    try:
        table = tomllib.loads(paths[name].read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: not valid TOML: {error}") from error
    columns, rows, papers = table["columns"], table["row"], table.get("reference", {})
    for key, paper in papers.items():
        if set(paper) != {"author", "year", "url"} or not re.match(r"^https://[^\s\"'<>]+$", paper["url"]):
            raise ValueError(f"{file}, reference.{key}: expected author, year and a url that begins with https://")
    menus = {menu: list(dict.fromkeys(each for row in rows for each in named(row, menu))) for menu in table["filters"]}
    menus |= table.get("options", {})
    for number, row in enumerate(rows, 1):
        for problem in _problems(row, columns, menus, papers):
            raise ValueError(f"{file}, row {number}: {problem}")
    cells = [_cell(row, columns, menus, papers) for row in rows]
    return {"title": table["title"], "columns": columns, "filters": menus, "rows": rows, "cells": cells}


def named(row, menu, default=()):
    """The options of a menu that a row is for; `default` where it names none, as it is for all of them."""
    options = row.get(menu, default)
    return [options] if isinstance(options, str) else list(options)


def _problems(row, columns, menus, papers):
    """What the format does not allow in a row, in words."""
    known = {*columns, *menus, "checks", "conclusions", "lessons", "references"}
    yield from (f"unknown field {field!r}; the fields here are {sorted(known)}" for field in sorted(set(row) - known))
    for text in map(row.get, columns):
        if not isinstance(text, str) or not text.strip() or text.count("`") % 2:
            yield f"each of {columns} must be a text, with backticks in pairs, got {text!r}"
    for menu, options in menus.items():
        strangers = sorted(set(named(row, menu)) - set(options))
        yield from (f"{menu} = {option!r} is not among its options {options}" for option in strangers)
    unknown = sorted(set(row.get("references", [])) - set(papers))
    yield from (f"there is no [reference.{key}]; add it with author, year and url" for key in unknown)
    lessons = [lesson for lesson in _said(row) if not re.fullmatch(r"\d\d_[a-z0-9_]+", lesson)]
    yield from (f"{lesson!r} names no lesson, expected one such as '04_layer_norm'" for lesson in lessons)


def _said(row):
    """What a row quotes of each lesson that it links."""
    said = {}
    for each in row.get("checks", []):
        said.setdefault(each["lesson"], []).append(f"“{each['name']}: {each['line']}”. ")
    for each in row.get("conclusions", []):
        said.setdefault(each["lesson"], []).append(f"“{each['sentence']}” held in {each['held']}. ")
    return said | {lesson: said.get(lesson, []) for lesson in row.get("lessons", [])}


def _cell(row, columns, menus, papers):
    """What the browser gets of one row. `when` has, for each menu, the numbers of the options that fit, or None."""
    links = [
        {"text": f"Lesson {lesson[:2]}", "to": f"{lesson}.ipynb", "after": ": " + "".join(quotes) if quotes else ". "}
        for lesson, quotes in _said(row).items()
    ]
    for paper in (papers[key] for key in row.get("references", [])):
        links.append({"text": f"{paper['author']} {paper['year']}", "to": paper["url"], "after": ". "})
    when = [[options.index(option) for option in named(row, menu)] or None for menu, options in menus.items()]
    return {"texts": [row[column] for column in columns], "links": links, "when": when}
