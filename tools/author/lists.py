"""Bring what lists all lessons up to date, without running a cell: `python -m tools.author.lists`.

That is README's table, the map in lesson 00, and the questions that the widgets Practice and Progress hold.
"""

import re

from helpers.widgets.quiz import Practice, Progress
from tools.author.record import WIDGET_STATE, notebook_bytes, read_notebook
from tools.lessons import ROOT, all_lessons, write_atomically

MARKS = "<!-- lessons: made by make notebooks -->\n\n", "\n<!-- end of lessons -->"
MAP = "| lesson | the question | after | minutes |"


def with_table(text, lessons):
    """README's text with number, title and question of each lesson between its two marks."""
    rows = ["| | lesson | the question |", "| --- | --- | --- |"]
    rows += [f"| {each.number} | [{each.title}](notebooks/{each.name}.ipynb) | {each.question} |" for each in lessons]
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    return before + MARKS[0] + "\n".join(rows) + "\n" + MARKS[1] + after


def with_map(source, lessons):
    """The text of the map in lesson 00 with a row for each lesson; its own row, and what comes first, stay.

    A new lesson comes after the last one that it needs.
    """
    row = re.compile(r"^\| \[?(\d\d) .*\| (.*) \| \d+ \|$", re.MULTILINE)
    stored = {found[1]: found for found in row.finditer(source)}
    rows = [stored["00"][0]]
    for each in lessons[1:]:
        needed = re.findall(r"\b\d\d\b", each.needs)
        after = stored[each.number][2] if each.number in stored else (needed or [""])[-1]
        rows.append(f"| [{each.number} {each.title}]({each.name}.ipynb) | {each.question} | {after} | {each.minutes} |")
    return source[: stored["00"].start()] + "\n".join(rows) + source[list(stored.values())[-1].end() :]


def with_lists(nb, lessons):
    """A notebook (changed in place) with today's lessons in its map and today's questions in its widgets."""
    today = {f"normalization_notebooks.{kind.__name__}": kind().lessons for kind in (Practice, Progress)}
    for cell in nb.cells:
        if MAP in cell.source:
            cell.source = with_map(cell.source, lessons)
    for model in nb.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {}).values():
        if model["state"].get("_anywidget_id") in today:
            model["state"]["lessons"] = today[model["state"]["_anywidget_id"]]
    return nb


def outdated(root=ROOT):
    """{path: its new bytes} of README and the notebooks whose lists are not those of today's lessons."""
    lessons, readme = all_lessons(root), root / "README.md"
    new = {readme: with_table(readme.read_text(encoding="utf-8"), lessons).encode("utf-8")}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        if "normalization_notebooks.Pr" in path.read_text(encoding="utf-8"):  # Practice or Progress
            new[path] = notebook_bytes(with_lists(read_notebook(path), lessons))
    return {path: data for path, data in new.items() if data != path.read_bytes()}


def main():
    for path, data in outdated().items():
        write_atomically(path, data)
        print(f"{path.relative_to(ROOT)}: its list of lessons or questions is updated.")


if __name__ == "__main__":
    main()
