"""The Table widget: a table of claims, choices or dates that the reader filters in the browser.

Python sends all rows once and hears nothing back: menus and the search box hide rows in the browser, so filtering needs
no kernel. Where widgets do not run (GitHub, print, an untrusted notebook) a plain HTML table has the first rows, so
that a notebook does not hold a long table twice.
"""

import html
from itertools import product

import traitlets

from ..widget_code import TwinnedWidget, marked, read_bundle
from .rows import named, read_table

__all__ = ["Table", "read_table"]

MOST_ROWS = 20  # of the plain HTML table


class Table(TwinnedWidget):
    """A table with a menu for each filter and a box to search in.

    name    of a file in a folder of `helpers/lessons`: "claims" is claims.toml.
    start   {filter: option} that is chosen at first; every row is shown unless given.

    `rows` are the rows of the file as dicts. Raises ValueError, with the names that exist, for an unknown table,
    filter or option, and with the place and the fix for a file that breaks the format (see `rows.py`).
    """

    javascript = read_bundle("table.js")
    css = read_bundle("table.css")

    # {"title", "columns", "filters": [{"name", "options", "start": an option or None}], "cells": as rows.py makes them}
    table = traitlets.Dict().tag(sync=True)

    def __init__(self, name, start=None):
        table = read_table(name)
        self.rows, self._menus = table.pop("rows"), table["filters"]
        start = self._checked({} if start is None else start)
        filters = [{"name": menu, "options": names, "start": start.get(menu)} for menu, names in self._menus.items()]
        super().__init__(table=table | {"filters": filters})  # a list: a notebook does not keep the order of a dict

    def choices(self):
        """Every full choice {filter: option}, as a list."""
        return [dict(zip(self._menus, options, strict=True)) for options in product(*self._menus.values())]

    def fitting(self, choice):
        """The rows that a choice {filter: option} leaves, as the browser shows them."""
        wanted = self._checked(choice).items()
        return [row for row in self.rows if all(option in named(row, menu, [option]) for menu, option in wanted)]

    def _checked(self, choice):
        if not isinstance(choice, dict) or any(choice[menu] not in self._menus.get(menu, ()) for menu in choice):
            raise ValueError(f"Table: {choice!r} is no choice {{filter: option}}; the options are {self._menus}")
        return choice

    def _as_text(self):
        return f"{self.table['title']}: a table of {len(self.rows)} rows"

    def _as_html(self):
        """The first rows, and for which options each is there where that is not one of its columns."""
        columns = self.table["columns"]
        told = [menu for menu in self._menus if menu not in columns and any(menu in row for row in self.rows)]
        lines = [_row("th", [*told, *columns])]
        for row, cell in list(zip(self.rows, self.table["cells"], strict=True))[:MOST_ROWS]:
            when = [", ".join(named(row, menu, ["any"])) for menu in told]
            *texts, last = map(marked, cell["texts"])
            for link in cell["links"]:
                last += f' <a href="{html.escape(link["to"])}">{html.escape(link["text"])}</a>{marked(link["after"])}'
            lines.append(_row("td", [*map(html.escape, when), *texts, last]))
        if len(self.rows) > MOST_ROWS:
            lines.append(_row("td", [f"{len(self.rows) - MOST_ROWS} more rows: run this cell"]))
        return "\n".join([f"<p><strong>{marked(self.table['title'])}</strong></p>", "<table>", *lines, "</table>"])


def _row(tag, texts):
    return "<tr>" + "".join(f"<{tag}>{text.strip()}</{tag}>" for text in texts) + "</tr>"
