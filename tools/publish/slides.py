"""Build the slides: every lesson as a deck of reveal.js on which explorers and questions live without a kernel.

    python -m tools.publish.slides            writes site/slides/
    python -m tools.publish.slides FOLDER     writes FOLDER

What becomes a slide is said by the mark of each cell (tools/marks.py). Three kinds of slides come from elsewhere: the
agenda from goals and headings, a section's discussion from the metadata of its heading, the homework from the
exercises. In the browser a deck finds the size of its words and counts its minutes.
"""

import argparse
import re
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

from helpers import theme
from tools.learner.widget_state import needed
from tools.lessons import ROOT, all_lessons, tags_of, text
from tools.marks import HEADING, kind_of, marks_of, printed_by
from tools.publish.cells import prepared, state_on_page
from tools.publish.pages import copy_katex, fill, reader, run
from tools.publish.replace_folder import check_place, replace_folder
from tools.publish.shown_code import code_of, found_by
from tools.publish.typeset import WEB, typeset

# Seconds of a class, timed by a lecturer; what is not named here takes as long as its words and code, and 30 at least.
SECONDS = {"question": 240, "skill check": 90, "explorer": 120, "picture": 30, "discussion": 240}
WORDS_A_MINUTE, LINES_A_MINUTE = 130, 6
# What the notes say where the lesson says nothing.
ADVICE = {
    "title": "Read the question of the title aloud and collect first answers. Do not judge them yet.",
    "picture": "Say first what is drawn and what the colors mean, then ask what the class sees.",
    "trap": "Ask who has met this trap, or would have believed it.",
    "takeaway": "Ask somebody to say what the section showed, then compare.",
    "guessed": "Compare it with the guesses: who was right, and for the right reason?",
    "shown": "Read it aloud, then let somebody say what it means for the question of the lesson.",
}
PAGE = reader(lambda words, display: typeset(words, display, "htmlAndMathml"), html=True)
NOTES = reader(lambda words, display: typeset(words, display, "mathml"), html=True)  # no style sheet reaches notes
PLAIN = reader(None, html=False).disable(["math_inline", "math_block", "table"])  # in questions dollars hold no formula


@dataclass(eq=False)
class Slide:
    kind: str
    section: str  # the heading of level 2 above it
    heading: str  # the nearest heading, as HTML
    core: bool = True
    opens: bool = False  # whether it shows that heading
    cells: list = field(default_factory=list)  # numbers of the cells that it shows
    body: list = field(default_factory=lambda: [[]])  # lists of HTML; all but the first are fragments
    notes: list = field(default_factory=list)  # HTML
    checked: list = field(default_factory=list)  # what checks found
    words: int = 0  # shown or said
    lines: int = 0  # of code
    label: str = ""  # by which to find it on paper
    name: str = ""  # in the address: that of its first cell, which no repair of another slide changes

    @property
    def seconds(self):
        kind = "skill check" if self.kind == "question" and self.section == "Skill check" else self.kind
        return SECONDS.get(kind, max(30, round(60 * (self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE))))


# ----------------------------------------------------------------------------------------------------
# Cells as HTML


def plain(words):
    return Markup(PLAIN.renderInline(words))


def on_slide(source):
    """Markdown as HTML in which no line break divides short code."""
    return re.sub(r"<code>(?=[^<]{1,45}</code>)", '<code class="short">', PAGE.render(source))


def controls_of(model, models):
    """For the notes: what can be moved, and how far."""
    states = [models[one]["state"] for one in sorted(needed(model, models) or ())]
    ends = [(state["description"], state["_options_labels"]) for state in states if "_options_labels" in state]
    told = [f"<b>{name}</b> ({', '.join(all if len(all) < 4 else [all[0], '…', all[-1]])})" for name, all in ends]
    return [f"<p>To move: {', '.join(told)}.</p>"] * bool(told)


def one_by_one(model, models):
    """(HTML, question) of each question of a quiz by itself. `models` gets what they hold."""
    for number, question in enumerate(models[model]["state"]["questions"]):
        own = {"questions": [question]}
        models[f"{model}q{number}"] = {**models[model], "state": models[model]["state"] | own}
        yield f'<div class="live" data-model="{model}q{number}"><p>{plain(question["prompt"])}</p></div>', question


def answers_of(question):
    """For the notes: the right letter, and what to say to each option."""
    options = zip("ABCDE", question["options"], question["whys"], strict=False)
    rows = [f"<li><b>{letter}</b> <i>{plain(option)}:</i> {plain(why)}</li>" for letter, option, why in options]
    return f"<p><b>Right: {'ABCDE'[question['right']]}.</b> What to say:</p><ul>{''.join(rows)}</ul>"


def label_of(kind, source):
    """A few words by which to find a slide on paper: the comment on its code, or how its text begins."""
    line = source.partition("\n")[0]
    begin = f"{kind.capitalize()}: " if kind in ("definition", "result") and not line.startswith("#") else ""
    words = re.sub(r"\]\(.*?\)|[][*`$|]|^[#>]+", "", begin + line).split()
    return " ".join(words[:9]) + " …" * (len(words) > 9)


# ----------------------------------------------------------------------------------------------------
# From cells to slides


class Deck:
    """The columns of a lesson's slides, made of its prepared cells by their marks."""

    def __init__(self, lesson, cells, models):
        self.models, self.columns, self.parts, self.lead = models, [], iter(lesson.parts), ""
        raw = lesson.nb["cells"]
        for number, (cell, made, mark) in enumerate(zip(raw, cells, marks_of(raw), strict=True)):
            kind = kind_of(cell) if number else "title"
            if kind in ("title", "heading"):
                title = HEADING.match(text(cell["source"]))[2]
                self.part = next(part for part in self.parts if part.title == title)
            if mark == "notes" and self.columns:
                self.say(cell)
            elif mark != "skip":
                if mark in ("slide", "subslide") or not self.columns:
                    self.begin(kind, mark == "slide" or not self.columns)
                self.slide.body += [[]] * (mark == "fragment")
                self.show(kind, number, cell, made)
        self.discuss(lesson)
        goals = on_slide("\n".join(f"- {goal}" for goal in lesson.goals))
        agenda = Slide("agenda", "Opening", lesson.title, body=[[goals]], label="Agenda", name="agenda")
        self.columns[0].insert(1, agenda)
        self.columns.append([Slide("home", "At home", "At home", label="At home", name="home")])

    @property
    def slide(self):
        return self.columns[-1][-1]

    def begin(self, kind, in_new_column=False):
        """A new slide; what leads to a picture or an explorer is said with it."""
        section = self.part.under if self.part.level > 1 else "Opening"
        name = self.part.title.removeprefix("Deeper: ")
        heading = PAGE.renderInline(name[:1].upper() + name[1:])
        slide = Slide(kind, section, heading, self.part.core, kind == "heading")
        if kind in ("explorer", "picture") and self.lead:
            self.slide.notes.remove(self.lead)
            slide.notes.append(self.lead)
        if in_new_column:
            self.columns.append([])
        self.columns[-1].append(slide)

    def say(self, cell):
        """A cell becomes notes of the slide."""
        if "outputs" in cell:
            self.slide.checked += found_by(printed_by(cell))
            return
        source = text(cell["source"])
        self.slide.words += len(source.split())
        self.slide.notes.append(NOTES.render(source))
        self.lead = "" if "answer" in tags_of(cell) else self.slide.notes[-1]

    def show(self, kind, number, cell, made):
        """A cell becomes a part of the slide."""
        slide, source, self.lead = self.slide, text(cell["source"]), ""
        slide.cells.append(number)
        slide.kind = kind if len(slide.body) == 1 and kind != "heading" else slide.kind
        slide.label = slide.label or label_of(kind, source)
        slide.name = slide.name or f"s-{cell.get('id', number)}"
        if "outputs" not in cell:
            written = source.partition("\n")[2] if kind in ("title", "heading") else source
            slide.words += len(written.split())
            slide.notes += [NOTES.render(written)] * (len(slide.body) > 1)
            slide.body[-1] += [f'<div class="{kind}">{on_slide(written)}</div>'] * bool(written.strip())
            return
        shown = [text(output["data"]["text/html"]) for output in made["outputs"] if "data" in output]
        shown = [one for one in shown if one.startswith(("<figure", '<div class="live"'))]
        model = "".join(re.findall(r'data-model="(\w+)"', "".join(shown))[:1])
        if kind == "question":
            self.ask(number, one_by_one(model, self.models))
            return
        listed, lines = ([], 0) if kind in ("explorer", "picture") else code_of(cell)
        slide.lines += lines
        slide.body[-1] += [one.replace(' loading="lazy"', "") for one in listed + shown]
        slide.notes += controls_of(model, self.models) if kind == "explorer" else []

    def ask(self, number, questions):
        """Each question of a quiz is a slide."""
        first = self.slide
        for k, (shown, question) in enumerate(questions):
            if k:
                self.begin("question")
                self.slide.cells.append(number)
                self.slide.name = f"{first.name}-{k}"
            self.slide.body[-1].append(shown)
            self.slide.label = question["prompt"]
            self.slide.notes.append(answers_of(question))

    def discuss(self, lesson):
        """A section's discussion comes before its takeaway."""
        for part in [part for part in lesson.parts if part.level == 2 and "discussion" in part.metadata]:
            mine = [(all, one) for all in self.columns for one in all if one.section == part.title and one.core]
            column, last = ([pair for pair in mine if pair[1].kind == "takeaway"] or mine)[-1]
            words = {key: plain(value) for key, value in part.metadata["discussion"].items()}
            slide = Slide("discussion", part.title, last.heading, body=[[f"<p>{words['question']}</p>"]])
            slide.label, slide.name = part.metadata["discussion"]["question"], f"discussion-{part.title.split()[0]}"
            slide.notes = [f"<p><b>A good answer:</b> {words['good_answer']}</p>"]
            column.insert(column.index(last) + (last.kind != "takeaway"), slide)


# ----------------------------------------------------------------------------------------------------
# Pages


def deck_page(lesson, pictures, pages, address=""):
    """A lesson's deck as HTML; the site's pages lie at `pages`, if there are any, and in public at `address`."""
    cells, models = prepared(lesson.nb, lesson.name, pictures, "pictures")
    columns = Deck(lesson, cells, models).columns
    known = {"lesson": lesson, "columns": columns, "advice": ADVICE, "needs": Markup(NOTES.renderInline(lesson.needs))}
    known["home"] = f"{address.rstrip('/')}/{lesson.name}.html" if address else pages and f"{pages}/{lesson.name}.html"
    known["sections"] = [part.title for part in lesson.parts if part.level == 2 and re.match(r"\d|Skill", part.title)]
    known["exercises"] = [part.title for part in lesson.parts if part.tagged("exercise")]
    return with_links(fill("slides/deck.html", **known, state=Markup(state_on_page(models))), pages)


def with_links(page, pages):
    """Links to lessons lead to their decks, that to the glossary to its page, or nowhere if there is no site."""
    page = re.sub(r'(href="\d\d_\w+)\.ipynb', r"\1.html", page)
    glossary = r'<a href="[^"]*glossary\.md([^"]*)">(.*?)</a>'
    # JupyterLab keeps capitals in the name of a heading, the site's page does not.
    there = f'<a href="{pages}/glossary.html{{}}">{{}}</a>' if pages else "{1}"
    return re.sub(glossary, lambda found: there.format(found[1].lower(), found[2]), page)


def write(lessons, folder, pages, address=""):
    """Write all decks, what they share, and their index into a new folder."""
    (folder / "pictures").mkdir(parents=True)
    assets, reveal = folder / "assets", WEB / "node_modules" / "reveal.js" / "dist"
    copy_katex(assets)
    ours = [WEB / name for name in ("static/host.js", "static/host.css", "bundle/deck.js", "slides/deck.css")]
    for file in (reveal / "reveal.js", reveal / "reveal.css", reveal / "plugin" / "notes.js", *ours):
        shutil.copy(file, assets)
    (assets / "theme.css").write_text(theme.css_variables("html"), encoding="utf-8")
    for lesson in lessons:
        page = deck_page(lesson, folder / "pictures", pages, address)
        (folder / f"{lesson.name}.html").write_text(page, encoding="utf-8")
    (folder / "index.html").write_text(fill("slides/decks.html", lessons=lessons), encoding="utf-8")


def too_tall(folder):
    """(deck, cell, words) of each slide that does not fit at a readable size; none where there is no Chromium."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for deck in sorted(folder.glob("[0-9]*.html")) if chromium else ():
            page.goto(deck.as_uri())
            page.wait_for_function("document.documentElement.dataset.deck")
            for slide in page.query_selector_all("[data-too-tall]"):
                yield deck.stem, slide.get_attribute("data-cell"), slide.get_attribute("data-label")
        browser.close()


def build(out, pages, address=""):
    """Write the decks and their index; return how many there are."""
    check_place(out)
    lessons = all_lessons()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "slides"
        write(lessons, made, pages, address)
        for deck, cell, words in too_tall(made):
            print(f"{deck}, cell {cell}: too much for a slide at 20 pixels; shorten it, or mark a part of it: {words}")
        replace_folder(made, out)
    return len(lessons)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build a deck of slides for each lesson.")
    slides = ROOT / "site" / "slides"
    parser.add_argument("out", nargs="?", default=slides, help="output folder (default: site/slides/)")
    options = parser.parse_args(arguments)
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    pages = ".." if (Path(options.out).resolve().parent / "index.html").exists() else None
    return run(lambda options: f"{build(options.out, pages, site['address'])} decks", options)


if __name__ == "__main__":
    sys.exit(main())
