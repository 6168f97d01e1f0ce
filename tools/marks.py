"""Which cell of a lesson becomes a slide: `slideshow.slide_type`, as JupyterLab, nbconvert and RISE know it.

Recording writes the default on a cell that has no mark. From then on the mark is the author's, who changes it in
JupyterLab's property inspector; "-" there, and here, joins the slide before. The defaults, on a card:

* A heading joins what follows: one of level 2 or of a closed part begins a column (slide), another a slide (subslide).
* A question, an explorer, a picture, a result, a definition, a table, a formula, a trap, a takeaway: a slide each.
* The text directly before a question stands above it (subslide, and the question joins).
* The first text after a result explains it, and comes with the next key (fragment).
* All other text is said (notes). So is a folded check, unless it alone answers a question.
* Neither shown nor said: setup, code that shows and defines nothing or is folded, goals, what is done at home (skip).
"""

import re

from tools.lessons import GOALS, VIEW, is_hidden, role_of, tags_of, text

AT_HOME = ("Exercises", "Your notes", "References")
HEADING = re.compile(r"(#+) (.+)")
BEGINNINGS = {"heading": "#+ ", "takeaway": r"\*\*Takeaway", "trap": "> ", "table": r"\|", "hints": "<details"}
CHECK = re.compile(r"^ *(?:PASS|FAIL) - (.*(?:\n   +.*)*)\n?", re.MULTILINE)  # its line may go on, indented
SILENT = ("setup", "exercise", "solution", "summary", "facts", "hints", "nothing")
TEXTS = ("text", "formula")


def printed_by(cell):
    """What a cell prints, checks included, without the caption that repeats a picture's."""
    outputs = [(output, output.get("data", {})) for output in cell["outputs"]]
    captions = [output.get("metadata", {}).get("image/png", {}).get("alt") for output, _ in outputs]
    words = [
        text(output.get("text", "") or data.get("text/plain", ""))
        for output, data in outputs
        if not {VIEW, "image/png"} & {*data}
    ]
    return "\n".join(word.rstrip("\n") for word in words if word.strip() not in captions)


def kind_of(cell):
    """What a cell is to a class."""
    source = text(cell["source"])
    if cell["cell_type"] != "code":
        named = [kind for kind, start in BEGINNINGS.items() if re.match(start, source)]
        named += ["facts"] * source.startswith(GOALS) + ["formula"] * ("$$" in source)
        return [*named, "text"][0]
    shown = {kind for output in cell["outputs"] for kind in output.get("data", {})}
    printed = printed_by(cell)
    if (role := role_of(cell)) in SILENT:
        return role
    if VIEW in shown:
        return "question" if source.startswith("Quiz(") else "explorer"
    if "image/png" in shown:
        return "picture"
    if is_hidden(cell):
        return "result" if CHECK.sub("", printed).strip() else "check" if printed else "nothing"
    return "result" if printed else "definition" if re.search("^(def|class) ", source, re.MULTILINE) else "nothing"


def defaults(cells):
    """The slide type of each cell by the rules above."""
    kinds = [kind_of(cell) for cell in cells]
    marks, at_home, joins, explains, asked = [], False, False, False, False
    for k, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        following = next((other for other in kinds[k + 1 :] if other != "nothing"), "")
        if kind == "heading":
            signs, title = HEADING.match(text(cell["source"])).groups()
            level = len(signs)
            at_home = title in AT_HOME if level <= 2 else at_home
            begins = level <= 2 or cell["metadata"].get("jp-MarkdownHeadingCollapsed") or title.startswith("Deeper")
        answers = "answer" in tags_of(cell)
        leads = kind in TEXTS and following == "question" and not answers
        says = kind in ("text", "check") and not leads and not (kind == "check" and asked)
        prepares = kind in TEXTS and following == "explorer" and not answers
        if at_home or kind in SILENT:
            marks.append("skip")
            continue
        if kind == "heading":
            marks.append("slide" if begins else "subslide")
        elif kind in TEXTS and explains and not leads and not prepares:
            marks.append("fragment")
        elif says:
            marks.append("notes")
        else:
            marks.append("-" if joins else "subslide")
        if kind in TEXTS or marks[-1] != "notes":
            explains = kind in ("result", "check") and marks[-1] != "notes"
        if marks[-1] not in ("notes", "fragment"):
            joins = leads or (kind == "heading" and k > 0)
            asked = kind == "question" or (asked and kind not in ("result", "check", "picture", "explorer"))
    return marks


def mark_of(cell):
    """The author's mark, "-" for one that joins, or None."""
    mark = cell["metadata"].get("slideshow", {}).get("slide_type")
    return "-" if mark == "" else mark


def marks_of(cells):
    """The slide type of each cell: the author's, or else the default."""
    return [mark_of(cell) or default for cell, default in zip(cells, defaults(cells), strict=True)]


def write_marks(cells):
    """Give every cell without a mark its default, in place."""
    for cell, mark in zip(cells, marks_of(cells), strict=True):
        if mark_of(cell) is None:
            slideshow = dict(cell["metadata"].get("slideshow", {}))
            # JupyterLab's menu writes its "-" as an empty word.
            cell["metadata"]["slideshow"] = slideshow | {"slide_type": mark.removeprefix("-")}
