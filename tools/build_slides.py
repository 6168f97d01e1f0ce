"""Build the slides: every lesson as a deck of reveal.js on which explorers and questions live without a kernel.

    python tools/build_slides.py            writes site/slides/
    python tools/build_slides.py FOLDER     writes FOLDER

What becomes a slide follows from the notebook by rule, and no cell is marked for it. `##` opens a column, a section
named Deeper one of its own. Predictions, explorers, pictures, code with what it prints, lists, tables, formulas, traps
and takeaways are slides; all other prose becomes the speaker's notes. The order is that of the lesson, so an answer
never comes before its question. Code of pictures, hints, stubs and solutions stay away.
"""

import argparse
import html
import json
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from build_site import WEB, SiteError, about, prepared, state_on_page, with_links_to_pages
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from minutes import CODE_LINES_PER_MINUTE, LEFT_OUT, MINUTES_PER_EXPLORER, MINUTES_PER_QUESTION, WORDS_PER_MINUTE
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from replace_folder import NotOurs, check_place, replace_folder
from typeset import KATEX, copy_katex, typeset
from widget_state import needed, text

ROOT = Path(__file__).resolve().parent.parent
SOURCES = WEB / "slides"

LEAD_WORDS = 60  # a first paragraph under a heading stands on the slide if it is no longer
CODE_LINES = 8  # and so does code without output
LINES = 19  # of code and what it prints, on one slide
COLUMNS = 100  # of a printed line
REFERENCES = 5  # on one slide
ROWS = 11  # of a table on one slide; a row with more than ROW letters counts as two
ROW = 95
TALL = 560  # pixels; beside a picture that is taller stands its caption
MINUTES = {"question": MINUTES_PER_QUESTION, "explorer": MINUTES_PER_EXPLORER}


# ----------------------------------------------------------------------------------------------------
# What decks are made of


@dataclass
class Slide:
    kind: str
    body: list = field(default_factory=list)  # HTML
    notes: list = field(default_factory=list)  # HTML
    head: str = ""  # the section it belongs to
    lines: int = 0  # of code and output that stand on it
    printed: bool = False
    minutes: float = 0


@dataclass
class Column:
    title: str
    level: int
    slides: list = field(default_factory=list)

    @property
    def optional(self):
        return self.title.startswith("Deeper")

    @property
    def core(self):
        return not self.title.startswith(LEFT_OUT)


# ----------------------------------------------------------------------------------------------------
# Text as HTML


def reader(output):
    """A reader of markdown; its formulas are typeset for the page, or as MathML for the speaker's window."""
    parser = MarkdownIt("commonmark").enable("table")
    formula = {"renderer": lambda words, how: typeset(words, how["display_mode"], output)}
    return parser.use(dollarmath_plugin, allow_digits=False, **formula)


PAGE, NOTES = reader("htmlAndMathml"), reader("mathml")
KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "math_block": "formula",
    "fence": "fence",
}


def blocks(source):
    """(kind, text) of every block of a text in markdown, in their order."""
    lines = source.splitlines()
    for token in PAGE.parse(source):
        if token.level == 0 and token.nesting >= 0:
            yield KINDS.get(token.type, "other"), "\n".join(lines[slice(*token.map)]).strip()


def tables(block):
    """A table as tables that fit on a slide, of about the same length, each with the head."""
    lines = block.splitlines()
    costs = [-(-len(line) // ROW) for line in lines[2:]]
    share = sum(costs) / -(-sum(costs) // ROWS)
    parts, filled = [[]], 0
    for line, cost in zip(lines[2:], costs, strict=True):
        if filled + cost / 2 > share * len(parts):
            parts.append([])
        parts[-1].append(line)
        filled += cost
    return ["\n".join([*lines[:2], *part]) for part in parts]


def count_words(source):
    return len(re.findall(r"[^\W_]\S*", source))


def squeezed(source):
    """Code with one empty line where there are two: on a slide they cost size."""
    return re.sub(r"\n{3,}", "\n\n", source)


def as_code(source):
    colored = highlight(squeezed(source), PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code"><code>{colored.rstrip()}</code></pre>'


def as_printed(words):
    """What a cell printed. It breaks its lines only where one is longer than COLUMNS."""
    kind = "printed wrapped" if any(len(line) > COLUMNS for line in words.splitlines()) else "printed"
    marked = re.sub(
        r"^(PASS|FAIL|TODO)\b", r'<b class="\1">\1</b>', html.escape(words.rstrip("\n")), flags=re.MULTILINE
    )
    return f'<pre class="{kind}">{marked}</pre>'


# ----------------------------------------------------------------------------------------------------
# Widgets


def longest_words(model_id, models):
    """The longest caption or answer that a widget may show: its slide keeps the room for it."""
    states = [models[one]["state"] for one in needed(model_id, models) or ()]
    captions = [caption for state in states for caption in state.get("captions", [])]
    answers = [why for state in states for question in state.get("questions", []) for why in question["whys"]]
    return max(captions + [f"Not quite. {why}" for why in answers], key=len, default="")


def with_room(shown, models):
    """The HTML of an output; the place of a widget says for which words it must have room."""

    def place(match):
        return f'{match[0]} data-longest="{html.escape(longest_words(match[1], models))}"'

    return re.sub(r'data-model="(\w+)"', place, shown.replace(' loading="lazy"', ""))


def kind_of(shown, models):
    """question, explorer, table, practice, figure or tall (figure)."""
    place = re.search(r'data-model="(\w+)"', shown)
    state = models.get(place[1], {}).get("state", {}) if place else {}
    named = {"questions": "question", "lessons": "practice", "cells": "table", "children": "explorer"}
    height = re.search(r' height="(\d+)"', shown)
    still = "tall" if height and int(height[1]) > TALL else "figure"
    return next((kind for key, kind in named.items() if key in state), still)


def one_by_one(shown, models):
    """The HTML of each question of a quiz by itself. `models` gets what they hold."""
    place = re.search(r'data-model="(\w+)"', shown)
    quiz = models[place[1]]
    if len(quiz["state"]["questions"]) == 1:
        yield shown
        return
    for number, question in enumerate(quiz["state"]["questions"]):
        model_id = f"{place[1]}q{number}"
        models[model_id] = {**quiz, "state": quiz["state"] | {"questions": [question]}}
        prompt = html.escape(question["prompt"])
        yield f'<div class="live" data-model="{model_id}">\n<p><strong>{prompt}</strong></p>\n</div>'


# ----------------------------------------------------------------------------------------------------
# The rules


class Deck:
    """Takes the cells of a lesson one after the other; `columns` are what they became."""

    def __init__(self, models):
        self.models = models
        self.columns = []
        self.leading = []  # paragraphs that stand above what comes next: a formula, or what their colon announces
        self.moving = None  # the slide whose last note belongs to a question or explorer that follows at once
        self.together = False  # code may join the slide before it

    @property
    def slide(self):
        return self.columns[-1].slides[-1]

    def add(self, kind, *body, lead=True):
        head = self.slide.head if self.columns[-1].slides else ""
        made = Slide(kind, [*(self.take_leading() if lead else []), *body], head=head)
        if self.moving is self.slide and kind in ("question", "explorer", "practice", "table"):
            made.notes.append(self.slide.notes.pop())
        self.columns[-1].slides.append(made)
        self.moving, self.together = None, False
        return made

    def take_leading(self):
        leading, self.leading = self.leading, []
        return [PAGE.render(paragraph) for paragraph in leading]

    def note(self, paragraph):
        self.slide.notes.append(NOTES.render(paragraph))
        self.moving = self.slide

    def note_leading(self):
        for paragraph in self.leading:
            self.note(paragraph)
        self.leading = []

    # Markdown

    def heading(self, block):
        marks, title = re.match(r"(#+)\s+(.*)", block).groups()
        level, open_level = len(marks), self.columns[-1].level if self.columns else 0
        self.note_leading()
        own = title.removeprefix("Deeper: ")
        name = PAGE.renderInline(own[:1].upper() + own[1:])
        if level == 1:
            name = name.partition(":")[0]
        if level <= 2 or title.startswith("Deeper") or (level <= open_level and self.columns[-1].optional):
            self.columns.append(Column(title, level))
            self.columns[-1].slides.append(Slide("title" if level == 1 else "section", head=name))
        else:
            self.columns[-1].slides.append(Slide("section", head=name))
        self.slide.kind = "exercise" if level > 2 and self.columns[-1].title == "Exercises" else self.slide.kind
        if level > 1:
            self.slide.body.append(f"<h2>{name}</h2>")
        self.moving, self.together = None, True

    def take_paragraph(self, block, following):
        slide = self.slide
        if block.startswith("**You will be able to**"):
            self.add("goals", PAGE.render(block))
        elif slide.kind == "goals" and block.startswith("**You need**"):
            slide.body.append(PAGE.render(block.replace("\n**", "\n\n**")))
        elif block.startswith("**Takeaway"):
            self.add("say", PAGE.render(block))
        elif is_bare_heading(slide) and count_words(block) <= LEAD_WORDS and following != "table":
            slide.body.append(PAGE.render(block))
        elif (block.endswith(":") or following == "formula") and count_words(block) <= LEAD_WORDS:
            self.leading.append(block)
        else:
            self.note(block)
            self.together = False

    def take_list(self, block):
        if self.slide.kind == "goals" and len(self.slide.body) == 1:
            self.slide.body.append(PAGE.render(block))
        elif self.columns[-1].title == "References":
            items = re.split(r"\n(?=- )", block)
            for start in range(0, len(items), REFERENCES):
                self.add("points", PAGE.render("\n".join(items[start : start + REFERENCES])))
        elif has_only_a_lead(self.slide) and not self.leading and count_words(block) <= LEAD_WORDS:
            self.slide.body.append(PAGE.render(block))
        else:
            self.add("points", PAGE.render(block))

    def block(self, kind, block, following):
        if kind == "heading":
            self.heading(block)
        elif self.slide.kind == "exercise":
            self.slide.body += [PAGE.render(block)] if kind != "other" else []
        elif kind == "paragraph":
            self.take_paragraph(block, following)
        elif kind == "list":
            self.take_list(block)
        elif kind == "table":
            for part in tables(block):
                self.add("table", PAGE.render(part))
        elif kind != "other":
            self.add({"quote": "say", "fence": "code"}.get(kind, kind), PAGE.render(block))
        self.slide.minutes += count_words(block) / WORDS_PER_MINUTE

    # Code

    def code(self, cell):
        source, tags = text(cell["source"]), cell["metadata"].get("tags", [])
        hidden = "hide-input" in tags or "hide-cell" in tags
        lines = [line for line in source.splitlines() if line.strip() and not line.startswith("Quiz(")]
        self.slide.minutes += len(lines) / CODE_LINES_PER_MINUTE * (not hidden)
        if {"setup", "exercise", "solution"} & set(tags) or source.startswith("summary("):
            return
        printed, shown = outputs_of(cell)
        if not hidden and "remove-input" not in tags:
            self.visible(source, "" if shown else printed)
            printed = printed if shown else ""
        for output in shown:
            self.show(kind_of(output, self.models), output)
        if printed:
            self.slide.body.append(as_printed(printed))

    def visible(self, source, printed):
        """Code and what it prints: on the slide before, if that is open and has room; on one; or on two."""
        lines, more = len(squeezed(source).splitlines()), len(printed.splitlines())
        slide = self.slide
        room = CODE_LINES if slide.kind in ("section", "title") else LINES
        joins = self.together and not slide.printed and slide.lines + lines + more <= room
        if not (joins and (slide.kind == "code" or not printed)):
            if lines + more > LINES - 3 * len(self.leading):
                self.note_leading()
            slide = self.add("code")
        slide.body += [*self.take_leading(), as_code(source)]
        slide.lines += lines
        if printed:
            slide = slide if slide.lines + more <= LINES else self.add("code")
            slide.body.append(as_printed(printed))
            slide.printed = True
        self.together = not printed

    def show(self, kind, output):
        each = list(one_by_one(output, self.models)) if kind == "question" else [output]
        for shown in each:
            slide = self.add(kind, lead=kind != "question")
            slide.body.append(with_room(shown, self.models))
            slide.minutes += MINUTES.get(kind, 0)


def is_bare_heading(slide):
    """Only a heading so far."""
    return not slide.notes and (
        slide.kind == "section" and len(slide.body) == 1 or slide.kind == "title" and not slide.body
    )


def has_only_a_lead(slide):
    """A heading and one paragraph so far."""
    return slide.kind == "section" and len(slide.body) == 2 and not slide.notes and not slide.lines


def outputs_of(cell):
    """(what a cell prints, the HTML of what else it shows)"""
    printed, shown = [], []
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            shown.append(text(data["text/html"]))
        else:
            printed.append(text(output.get("text", "") or data.get("text/plain", "")))
    return "".join(words if words.endswith("\n") else f"{words}\n" for words in printed if words), shown


def columns_of(cells, models):
    """The columns of a deck, from the cells of a prepared lesson."""
    deck = Deck(models)
    for cell in cells:
        if cell["cell_type"] == "code":
            deck.code(cell)
        else:
            found = list(blocks(text(cell["source"])))
            for (kind, block), (following, _) in zip(found, [*found[1:], ("", "")], strict=True):
                deck.block(kind, block, following)
    return deck.columns


# ----------------------------------------------------------------------------------------------------
# Pages


def time_of(column, before, whole):
    """The note on the first slide of a column: which minutes of the lesson it takes."""
    minutes = sum(slide.minutes for slide in column.slides)
    if column.optional:
        return f"Optional, not in the {whole:.0f} minutes: about {max(1, round(minutes))} more."
    if not column.core:
        return f"After the {whole:.0f} minutes of the lesson."
    return f"Minute {before:.0f} to {before + minutes:.0f} of about {whole:.0f}."


def slide_html(slide, column):
    first = slide.kind in ("title", "section")
    tag = '<span class="tag">Deeper, optional</span>' if column.optional else ""
    head = tag if first else f'<span class="where">{slide.head}</span>{tag}'
    notes = f'<aside class="notes">{"".join(slide.notes)}</aside>' if slide.notes else ""
    body = "\n".join(slide.body)
    return (
        f'<section>\n<div class="sheet is-{slide.kind}">\n<div class="head">{head}</div>\n'
        f'<div class="body"><div class="fit">{body}</div></div>\n</div>\n{notes}</section>'
    )


def title_slide(lesson, page):
    """What stands on the first slide: number, title, question, minutes, and the way to the page."""
    link = f'<a href="{page}">Read the lesson</a>' if page else ""
    minutes = f"<span>{lesson['minutes']} minutes</span>" if lesson["minutes"] else ""
    question = lesson["question"][:1].upper() + lesson["question"][1:]
    return [
        f'<p class="number">{lesson["number"]}</p>',
        f"<h1>{html.escape(lesson['title'])}</h1>",
        f'<p class="question">{html.escape(question)}</p>',
        f'<p class="facts">{minutes}{link}</p>',
    ]


def deck_page(name, nb, pictures, pages):
    """The HTML of a lesson's deck. `pages` is where the pages of the site lie, None if there are none."""
    lesson = about(name, nb)
    made, models = prepared(nb, name, pictures, "pictures")
    columns = columns_of(made["cells"], models)
    first = columns[0].slides[0]
    number, heading, question, facts = title_slide(lesson, pages and f"{pages}/{name}.html")
    first.body = [number, heading, question, *first.body, facts]
    whole = sum(slide.minutes for column in columns if column.core for slide in column.slides)
    before = 0
    for column in columns:
        column.slides[0].notes.insert(0, f"<p><b>{time_of(column, before, whole)}</b></p>")
        before += sum(slide.minutes for slide in column.slides) if column.core else 0
    sections = [
        f'<section class="{"optional" if column.optional else "core"}">\n'
        + "\n".join(slide_html(slide, column) for slide in column.slides)
        + "\n</section>"
        for column in columns
    ]
    parts = {
        "TITLE": html.escape(f"{lesson['number']} {lesson['title']}: slides"),
        "SLIDES": with_links(("\n".join(sections)), pages),
        "STATE": state_on_page(models),
    }
    return fill("deck.html", parts)


def with_links(page, pages):
    """Links to lessons lead to their decks, that to the glossary to its page, or nowhere if there is no site."""
    page = with_links_to_pages(page)
    glossary = r'<a href="[^"]*glossary\.md([^"]*)">(.*?)</a>'
    return re.sub(glossary, rf'<a href="{pages}/glossary.html\1">\2</a>' if pages else r"\2", page)


def fill(file, parts):
    page = (SOURCES / file).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)


def write_assets(folder):
    """What all decks share: reveal.js, the style sheet and fonts of formulas, the host of the widgets, our own."""
    folder.mkdir()
    packages = WEB / "node_modules"
    reveal = packages / "reveal.js" / "dist"
    if not reveal.is_dir() or not KATEX.is_dir():
        raise SiteError("reveal.js is not installed: run `make slides`, which needs Node and npm.")
    copy_katex(folder)
    for file in (reveal / "reveal.js", reveal / "reveal.css", reveal / "plugin" / "notes.js"):
        shutil.copy(file, folder)
    for file in (WEB / "static" / "host.js", SOURCES / "deck.js", SOURCES / "deck.css"):
        shutil.copy(file, folder)


def entry(lesson):
    """A row of the index."""
    kinds = ("number", "title", "question")
    spans = " ".join(f'<span class="{kind}">{html.escape(lesson[kind])}</span>' for kind in kinds)
    return f'<li><a href="{lesson["name"]}.html">{spans}</a></li>'


def build(out, pages):
    """Write the decks and their index; return how many there are."""
    out = Path(out).resolve()
    check_place(out)
    lessons = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("notebooks/*.ipynb"))
    }
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "slides"
        pictures = made / "pictures"
        pictures.mkdir(parents=True)
        write_assets(made / "assets")
        for name, nb in lessons.items():
            (made / f"{name}.html").write_text(deck_page(name, nb, pictures, pages), encoding="utf-8")
        index = fill("decks.html", {"LESSONS": "\n".join(entry(about(name, nb)) for name, nb in lessons.items())})
        (made / "index.html").write_text(index, encoding="utf-8")
        replace_folder(made, out)
    return len(lessons)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build a deck of slides for each lesson.")
    parser.add_argument("out", nargs="?", default=ROOT / "site" / "slides", help="the folder to write")
    parser.add_argument("--pages", help="where the lessons' pages are, seen from a deck; found out if not said")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    beside = (Path(options.out).resolve().parent / "index.html").exists()
    try:
        count = build(options.out, options.pages or (".." if beside else None))
    except (SiteError, NotOurs) as reason:
        print(reason, file=sys.stderr)
        return 1
    print(f"{count} decks in {time.monotonic() - began:.0f} s: open {Path(options.out) / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
