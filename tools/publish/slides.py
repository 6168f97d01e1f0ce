"""Build the slides: every lesson as a deck of reveal.js on which explorers and questions live without a kernel.

    python -m tools.publish.slides            writes site/slides/
    python -m tools.publish.slides FOLDER     writes FOLDER

What becomes a slide follows from the notebook by rule, and no cell is marked for it. A section is a column, one named
Deeper an optional column of its own. Text in front of a question or an explorer is what a class needs to predict: it is
on a slide. Code and what it printed share a slide, without checks. What explains a result stands below it where there
is room; all other prose is said, so it goes into the notes. The order is that of the lesson, so an answer never comes
before its question. Every section ends in its discussion and its takeaway, every deck in the homework.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from helpers import theme
from tools.learner.widget_state import needed
from tools.lessons import LEFT_OUT, ROOT, all_lessons, tags_of, text
from tools.publish import plan
from tools.publish.cells import prepared, state_on_page
from tools.publish.pages import copy_katex, environment, fill, need_packages, reader, run
from tools.publish.replace_folder import check_place, replace_folder
from tools.publish.shown_code import checked_words, printed_words, shown_code
from tools.publish.typeset import WEB, typeset

ROOM = 17  # lines of text on a slide
DENSE = 21  # with a picture, in the smallest letters
CARD = 20  # with a table
SHORT_LISTING = 3  # lines of code that stay on a slide when something else needs the room
BEFORE_DISCUSSION = 10  # lines above a discussion
ABOVE_EXPLORER = 3  # lines that join an explorer
PIXELS = 23  # of a line
LINE = 90  # letters of a line of text
LEAD_WORDS = 75  # a text above a question
ONE_LINE = 12
QUESTION_WORDS = 180  # with its question, its options and the longest answer
IDEA_WORDS = 40  # of what explains a result
WHOLE_WORDS = 75  # a paragraph with a word in bold stands on a slide up to this length
CODE_LINES = 22  # with what it printed; longer code is left to the lesson
ALONE = 8  # lines of code that prints nothing
COLUMNS = 100  # of a printed line
REFERENCES = 12  # on one slide
ROWS = 11  # of a table on one slide; a row with more than ROW letters counts as two
ROW = 95
TALL = 560  # pixels; beside a picture that is taller stands its caption
KEYS = r"Shift\+Enter"
GROUP = re.compile(r"<details(?: open)?><summary><code>((?:PASS|FAIL) - .*?)</code>")  # what check_all shows
NOTEBOOK = rf"{KEYS}|\b(this|next|setup) cell\b|\bcell below\b"
SHORT_CODE = 45  # letters of code inside a sentence that no line break divides
SECONDS = {"question": 60 * plan.MINUTES_PER_VOTE, "explorer": 60 * plan.MINUTES_PER_EXPLORER}


# ----------------------------------------------------------------------------------------------------
# What decks are made of


@dataclass
class Slide:
    kind: str
    body: list = field(default_factory=list)  # HTML
    notes: list = field(default_factory=list)  # HTML
    before: list = field(default_factory=list)  # HTML above a discussion
    cost: float = 0  # lines of text
    room: float = ROOM
    listings: list = field(default_factory=list)  # (HTML of code, its lines) that may be left to the lesson
    question: dict | None = None
    discussion: dict | None = None
    seconds: int = 0


@dataclass
class Column:
    """A section, or an optional part of one."""

    title: str
    section: str  # its title in the plan
    level: int = 2
    slides: list = field(default_factory=list)
    minutes: int = 0  # in the plan
    talk: int = 0
    begin: int = 0

    @property
    def optional(self):
        return self.title.startswith(("Deeper", "Exercises"))

    @property
    def core(self):
        return not self.title.startswith(LEFT_OUT) and self.section != "At home"

    @property
    def name(self):
        own = self.title.removeprefix("Deeper: ")
        return PAGE.renderInline(own[:1].upper() + own[1:])


# ----------------------------------------------------------------------------------------------------
# Text as HTML


# Formulas are typeset for the page, or as MathML for the speaker's window.
PAGE = reader(lambda words, display: typeset(words, display, "htmlAndMathml"), html=True)
NOTES = reader(lambda words, display: typeset(words, display, "mathml"), html=True)
PLAIN = reader(None, html=False).disable(["math_inline", "math_block", "table"])
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


def on_slide(source):
    """Markdown as HTML for a slide, where no line break divides short code."""
    return re.sub(rf"<code>(?=[^<]{{1,{SHORT_CODE}}}</code>)", '<code class="short">', PAGE.render(source))


def plain(words):
    """A text of a question or a discussion, in which dollars hold no formula."""
    return Markup(PLAIN.renderInline(words))


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


def cost_of(kind, block):
    """How many lines a block takes on a slide, about."""
    lines = [line for line in block.splitlines() if line.strip()]
    if kind == "formula":
        return 3
    if kind == "table":
        return 1.4 * len(lines)
    if kind == "list":
        return sum(-(-len(item) // LINE) + 0.5 for item in re.split(r"\n(?=\S)", block))
    return -(-len(" ".join(lines)) // LINE) + 0.7


def sentences(paragraph):
    """The sentences of a paragraph; a dot inside code or a formula ends none."""
    hidden = re.sub(r"`[^`]*`|\$[^$]*\$", lambda found: "x" * len(found[0]), paragraph)
    ends = [found.end() for found in re.finditer(r"(?<!et al)[.?!][)*\"]*(?=\s+[^a-z\s])", hidden)] + [len(paragraph)]
    return [paragraph[a:b].strip() for a, b in zip([0, *ends], ends, strict=False)]


def idea_of(paragraph):
    """The first sentences of a paragraph; one with a word in bold is not cut."""
    if "**" in paragraph and count_words(paragraph) <= WHOLE_WORDS:
        return paragraph
    taken = []
    for sentence in sentences(paragraph):
        if count_words(" ".join([*taken, sentence])) > IDEA_WORDS:
            break
        taken.append(sentence)
    return " ".join(taken).removesuffix(":")


def for_slide(paragraph, leaves_out=KEYS):
    """A paragraph without what holds in a notebook only: keys to press, and what announces code that is not here."""
    kept = [one for one in sentences(paragraph) if not re.search(leaves_out, one)]
    return " ".join(kept[:-1] if kept and kept[-1].endswith(":") else kept)


def tasks_of(paragraph):
    """What a text in front of an explorer asks to do: its sentences that are all in bold, and its questions."""
    return [one for one in sentences(paragraph) if re.fullmatch(r"\*\*.*\*\*", one) or one.rstrip("*").endswith("?")]


def repeats(paragraph, prompt):
    """Whether most words of a text stand in the question that follows it."""
    own, asked = (set(re.findall(r"[\w.]{3,}", words.lower())) for words in (paragraph, prompt))
    return len(own & asked) >= 0.5 * len(own)


def as_code(source):
    colored = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<pre class="code"><code>{colored.rstrip()}</code></pre>'


def as_printed(words):
    """What a cell printed, large where it is short. Lines break only where one is longer than COLUMNS."""
    lines = words.rstrip("\n").splitlines()
    longest = max(map(len, lines), default=0)
    kind = "wrapped" if longest > COLUMNS else "big" if longest <= 55 and len(lines) <= 3 else ""
    return f'<pre class="printed {kind}">{html.escape(words.rstrip())}</pre>'


# ----------------------------------------------------------------------------------------------------
# Widgets


def longest_words(model_id, models):
    """The longest caption or answer that a widget may show: its slide keeps the room for it."""
    states = [models[one]["state"] for one in needed(model_id, models) or ()]
    captions = [caption for state in states for caption in state.get("captions", [])]
    answers = [why for state in states for question in state.get("questions", []) for why in question["whys"]]
    # Letters differ in width: a few more than the longest words have.
    return max(captions + [f"Not quite. {why} {'m' * 16}" for why in answers], key=len, default="")


def with_room(shown, models):
    """The HTML of an output; the place of a widget says for which words it must have room."""

    def place(match):
        return f'{match[0]} data-longest="{html.escape(longest_words(match[1], models))}"'

    return re.sub(r'data-model="(\w+)"', place, shown.replace(' loading="lazy"', ""))


def kind_of(shown, models):
    """question, explorer, table, practice, figure or tall (figure)."""
    place = re.search(r'data-model="(\w+)"', shown)
    state = models.get(place[1], {}).get("state", {}) if place else {}
    named = {"questions": "question", "lessons": "practice", "table": "table", "children": "explorer"}
    height = re.search(r' height="(\d+)"', shown)
    still = "tall" if height and int(height[1]) > TALL else "figure"
    return next((kind for key, kind in named.items() if key in state), still)


def lines_of_picture(shown):
    """How many lines a picture with its caption takes."""
    return (int(re.search(r' height="(\d+)"', shown)[1]) + 45) / PIXELS


def one_by_one(shown, models):
    """(HTML, question) of each question of a quiz by itself. `models` gets what they hold."""
    place = re.search(r'data-model="(\w+)"', shown)
    quiz = models[place[1]]
    if len(quiz["state"]["questions"]) == 1:
        yield shown, quiz["state"]["questions"][0]
        return
    for number, question in enumerate(quiz["state"]["questions"]):
        model_id = f"{place[1]}q{number}"
        models[model_id] = {**quiz, "state": quiz["state"] | {"questions": [question]}}
        prompt = html.escape(question["prompt"])
        place = f'<div class="live" data-model="{model_id}">\n<p><strong>{prompt}</strong></p>\n</div>'
        yield place, question


# ----------------------------------------------------------------------------------------------------
# The rules


class Deck:
    """Takes the cells of a lesson one after the other; `columns` are what they became."""

    def __init__(self, title, models):
        self.models = models
        self.columns = [Column(title, "Opening")]
        self.references, self.reflection = [], ""
        self.begin_section()

    def begin_section(self, discussion=None):
        self.discussion, self.takeaways = discussion, []
        self.waiting = []  # paragraphs whose place depends on what comes next
        self.fresh = True  # nothing was shown yet: the text says what it takes to predict
        self.open = False  # whether more may join the last slide
        self.late = []  # (HTML, cost) of ideas for which a slide had no room
        self.asked = False  # the next result answers a question

    @property
    def column(self):
        return self.columns[-1]

    @property
    def slide(self):
        return self.column.slides[-1]

    def add(self, kind, *body, cost=0, joins=True):
        self.column.slides.append(Slide(kind, list(body), cost=cost))
        self.open = joins
        return self.slide

    def has_room(self, cost, room=0):
        """Whether so many lines fit on the last slide; its long listings are left to the lesson if that helps."""
        if not self.open:
            return False
        slide, room = self.slide, room or self.slide.room
        longer = [one for one in slide.listings if one[1] > SHORT_LISTING]
        if slide.cost + cost > room and slide.cost + cost - sum(lines for _, lines in longer) <= room:
            for listing, lines in longer:
                slide.body = [made.replace(listing, "") for made in slide.body]
                slide.cost -= lines
            slide.listings = []
        return slide.cost + cost <= room

    def pack(self, kind, made, cost):
        """Put HTML on the last slide if there is room, or else on a new one."""
        if self.has_room(cost):
            self.slide.body.append(made)
            self.slide.cost += cost
        else:
            before, self.late = self.late, []
            self.add(kind, *[late for late, _ in before], made, cost=cost + sum(lines for _, lines in before))

    def note(self, paragraph):
        if not self.column.slides:
            self.add("section", cost=2)
        self.slide.notes.append(NOTES.render(paragraph))

    # Text

    def say(self, paragraphs):
        """Text that belongs to what was shown, or begins a section: on the slide as far as it should, or said."""
        for paragraph in paragraphs:
            idea = for_slide(paragraph) if self.fresh else idea_of(for_slide(paragraph, NOTEBOOK))
            cost = cost_of("paragraph", idea)
            if idea and (self.fresh or self.has_room(cost) or self.asked or "**" in idea):
                self.pack("section" if not self.column.slides else "text", on_slide(idea), cost)
                if idea == paragraph:
                    continue
            elif idea and sum(lines for _, lines in self.late) + cost <= ROOM / 3:
                self.late.append((on_slide(idea), cost))
            self.note(paragraph)

    def settle(self):
        """Place all waiting paragraphs."""
        self.say(self.waiting)
        self.waiting = []

    def lead(self):
        """The waiting paragraph that announces what comes next, as HTML, and its cost."""
        last = self.waiting.pop() if self.waiting and self.waiting[-1].endswith(":") else ""
        self.settle()
        return (on_slide(last), cost_of("paragraph", last)) if last else ("", 0)

    def heading(self, block, metadata):
        marks, title = re.match(r"(#+)\s+(.*)", block).groups()
        level, here = len(marks), self.column
        if here.title == "Exercises" and level > 2:
            return
        self.settle()
        if level > 2 and not title.startswith("Deeper") and not (here.optional and level <= here.level):
            self.add("section", f"<h2>{PAGE.renderInline(title)}</h2>", cost=2)
            self.fresh = True
            return
        self.close()
        section = title if level <= 2 and title != "Your notes" else here.section
        self.columns.append(Column(title, section, level))
        self.begin_section(metadata.get("discussion") if level == 2 and title[0].isdigit() else None)

    def close(self):
        """End a section with its discussion, on which the takeaways appear when it is over."""
        slides = self.column.slides
        # What stands before it by itself joins it: a trap, or the explanation of what was asked last.
        short = slides and self.slide.kind in ("say", "text") and self.slide.cost < BEFORE_DISCUSSION
        trap = slides.pop() if self.discussion and short else None
        if self.discussion:
            self.add("discuss", *self.takeaways, joins=False)
            self.slide.discussion = self.discussion
        else:
            for takeaway in self.takeaways:
                self.pack("say", takeaway, cost_of("paragraph", re.sub("<.*?>", "", takeaway)))
        if trap:
            self.slide.before, self.slide.notes = trap.body, trap.notes
        if self.discussion:
            answer = plain(self.discussion["good_answer"])
            self.slide.notes.append(f"<p><b>A good answer:</b> {answer}</p>")
        self.discussion, self.takeaways = None, []

    def block(self, kind, block, metadata):
        if kind == "heading":
            self.heading(block, metadata)
        elif self.column.title == "Exercises" or kind == "other":
            return
        elif self.column.title == "References":
            self.references += re.split(r"\n(?=- )", block) if kind == "list" else []
        elif self.column.title == "Your notes":
            self.reflection += block.removeprefix("Double-click here and write.").strip() + " "
        elif self.takeaways and self.takeaways[-1].rstrip().endswith(":</p>"):
            self.takeaways[-1] += on_slide(block)
        elif block.startswith("**Takeaway"):
            self.settle()
            self.takeaways.append(on_slide(block))
        elif self.is_said(kind, block):
            self.settle()
            self.note(block)
        elif kind == "paragraph":
            self.waiting.append(block)
        elif kind == "table":
            self.table(block)
        else:
            lead, cost = self.lead() if kind != "formula" or not self.waiting else self.lead_of_formula()
            named = {"quote": "say", "list": "points", "fence": "result"}.get(kind, kind)
            made = f'<div class="{named}">{on_slide(block)}</div>'
            self.pack(named, lead + made, cost + cost_of(kind, block))

    def is_said(self, kind, block):
        """What comes next, and what of the recap stands below its card without room there."""
        if self.waiting and not self.waiting[-1].endswith(":") and self.column.title == "Recap":
            self.settle()
        words = kind in ("paragraph", "list")
        below_card = self.column.title == "Recap" and self.ends_in("table") and words
        return block.startswith("Next:") or (below_card and not self.has_room(cost_of(kind, block)))

    def lead_of_formula(self):
        last = self.waiting.pop()
        self.settle()
        idea = last if self.fresh or last.endswith(":") or count_words(last) <= LEAD_WORDS else idea_of(last)
        return (on_slide(idea), cost_of("paragraph", idea)) if idea else ("", 0)

    def table(self, block):
        lead, cost = self.lead()
        for k, part in enumerate(tables(block)):
            made, lines = (lead if k == 0 else "") + on_slide(part), cost * (k == 0) + cost_of("table", part)
            if k == 0 and self.has_room(lines, CARD):
                self.slide.body.append(made)
                self.slide.cost += lines
                self.slide.kind = "table"
            else:
                self.add("table", made, cost=lines)
            self.slide.room = CARD

    # Code

    def code(self, cell):
        source, role = text(cell["source"]), cell["metadata"]["role"]
        if role in ("setup", "exercise", "solution", "summary"):
            return
        printed, shown = outputs_of(cell)
        if role == "code" and self.column.title != "Exercises":
            self.result(source, printed, bool(shown))
        elif role == "picture" and not shown:
            self.result("", printed, False)
        for output in shown:
            self.show(kind_of(output, self.models), output)

    def result(self, source, printed, shows):
        """Code and what it printed on one slide; what checks found is shown where a question or a text leads to it."""
        words, code = printed_words(printed), shown_code(source)
        announced = self.waiting and self.waiting[-1].endswith(":")
        if not words.strip() and (self.asked or announced):
            words = checked_words(printed)
        prepares = not words.strip() and (len(code.splitlines()) > ALONE or printed or self.asked)
        if prepares or not code and not words.strip():
            return self.settle()
        lead, cost = self.lead()
        lines, more = len(code.splitlines()), len(words.splitlines())
        below_picture = self.ends_in("figure") and words.strip() and self.has_room(cost + more + 0.8)
        if lines + more > CODE_LINES or below_picture:
            code, lines = "", 0
        made = [as_code(code)] * bool(code) + [as_printed(words)] * bool(words.strip())
        self.open = self.open and (not self.ends_in("figure") or below_picture)
        self.pack("result", lead + "".join(made), cost + lines * 0.95 + more * 0.95 + 0.8)
        if not below_picture:
            self.slide.kind = "result"
        if code:
            self.slide.listings.append((made[0], lines * 0.95))
        self.fresh, self.asked = False, self.asked and shows

    def show(self, kind, output):
        if kind == "question":
            for one, question in one_by_one(output, self.models):
                self.ask(one, question)
            return
        task, said = "", []
        if kind == "explorer" and self.waiting:
            tasks = tasks_of(self.waiting[-1])
            if not self.fresh:
                for one in tasks:
                    self.waiting[-1] = self.waiting[-1].replace(one, "").strip()
                if tasks:
                    self.waiting, said = self.waiting[:-1], self.waiting[-1:]
            task = " ".join(tasks)
        facts = [paragraph for paragraph in self.waiting if paragraph] if task and self.fresh else []
        self.waiting = [] if facts else [paragraph for paragraph in self.waiting if paragraph]
        self.settle()
        above = f'<p class="task">{PAGE.renderInline(task)}</p>' if task else ""
        self.put(kind, above, with_room(output, self.models))
        self.slide.notes += [NOTES.render(paragraph) for paragraph in [*facts, *said] if paragraph]
        self.fresh = self.asked = False

    def put(self, kind, above, shown):
        """A picture joins what was printed just before, and what explains it may stand below."""
        cost = lines_of_picture(shown) if kind == "figure" else 0
        if kind == "figure" and self.ends_in("result", "text", "section") and self.has_room(cost, DENSE):
            self.slide.body.append(shown)
        elif kind == "explorer" and self.ends_in("text") and self.slide.cost <= ABOVE_EXPLORER:
            self.slide.kind = kind
            self.slide.body += [above, shown]
            self.open = False
        else:
            self.add(kind, above, shown, joins=kind == "figure")
        if kind == "figure":
            self.slide.kind, self.slide.room = kind, DENSE
            self.slide.cost += cost

    def ends_in(self, *kinds):
        return bool(self.column.slides) and self.slide.kind in kinds

    def ask(self, shown, question):
        """A question with what it takes to answer it: above it if that is short, or else on a slide before it."""
        is_check = question.get("kind") == "check" or self.column.title == "Skill check"
        setup = self.waiting if self.fresh else self.waiting[-1:]
        if not self.fresh:
            self.waiting = self.waiting[:-1]
            self.settle()
        self.waiting = []
        said = [one for one in setup if repeats(one, question["prompt"])]
        setup = [one for one in setup if one not in said]
        if setup and setup[0][0].islower() and self.open:  # it goes on with a sentence that a formula has interrupted
            first = setup.pop(0)
            self.pack("text", on_slide(first), cost_of("paragraph", first))
        above = self.line_of_section()
        own = [question["prompt"], *question["options"], max(question["whys"], key=len)]
        words = sum(map(count_words, setup))
        if words <= max(ONE_LINE, min(LEAD_WORDS, QUESTION_WORDS - sum(map(count_words, own)))):
            above += "".join(map(on_slide, setup))
        else:
            self.open = self.open and self.fresh
            for paragraph in setup:
                cost = cost_of("paragraph", paragraph)
                self.pack("text" if self.column.slides else "section", on_slide(paragraph), cost)
        self.add("question", above, with_room(shown, self.models), joins=False)
        self.slide.question = question
        self.slide.notes += [NOTES.render(one) for one in said] + [answers_of(question)]
        self.fresh, self.asked = False, not is_check

    def line_of_section(self):
        """The only line of a section so far, taken from its slide."""
        slides = self.column.slides
        alone = len(slides) == 1 and slides[0].kind == "section" and not slides[0].notes
        return "".join(slides.pop().body) if alone and slides[0].cost <= 2 else ""


def answers_of(question):
    """For the notes: the right letter, and what to say to each option."""
    letters = "ABCDE"
    rows = [f"<li><b>{letters[k]}</b> {plain(why)}</li>" for k, why in enumerate(question["whys"])]
    return f"<p><b>Right: {letters[question['right']]}.</b> What to say:</p><ul>{''.join(rows)}</ul>"


def outputs_of(cell):
    """(what a cell prints, the HTML of what else it shows)"""
    printed, shown = [], []
    for output in cell["outputs"]:
        data = output.get("data", {})
        made = text(data.get("text/html", ""))
        if group := GROUP.match(made):
            printed.append(html.unescape(group[1]))
        elif made:
            shown.append(made)
        else:
            printed.append(text(output.get("text", "") or data.get("text/plain", "")))
    return "".join(words if words.endswith("\n") else f"{words}\n" for words in printed if words), shown


def columns_of(lesson, cells, models):
    """The columns of a deck, from the prepared cells of a lesson after its first."""
    deck = Deck(lesson.title, models)
    deck.add("title", joins=False)
    deck.add("agenda", joins=False)
    for cell in cells[1:]:
        if cell["cell_type"] == "code":
            deck.code(cell)
        else:
            for kind, block in blocks(text(cell["source"])):
                deck.block(kind, block, cell["metadata"])
            if "answer" in tags_of(cell):  # it explains what was asked, and leads to nothing
                deck.settle()
    deck.settle()
    deck.close()
    columns = [column for column in deck.columns if column.slides]
    for start in range(0, len(deck.references), REFERENCES):
        part = "\n".join(deck.references[start : start + REFERENCES])
        columns += [Column("References", "References")] if start == 0 else []
        columns[-1].slides.append(Slide("points", [on_slide(part)]))
    home = Slide("home", [on_slide(deck.reflection)] if deck.reflection else [])
    return [*columns, Column("At home", "At home", slides=[home])]


# ----------------------------------------------------------------------------------------------------
# Time


def with_clock(columns, lesson):
    """The columns with the minutes of the plan, and each slide with its seconds."""
    sections = {section.title: section for section in plan.sections_of(lesson.parts)}
    groups = {group[0].title: group for section in sections.values() for group in section.optional}
    begin, seen = 0, set()
    for column in columns:
        section = sections.get(column.section)
        column.begin = begin
        if column.core and section and section.title not in seen:
            seen.add(section.title)
            column.minutes, column.talk = section.minutes, section.talk
            begin = section.total
        elif column.title in groups:
            column.minutes = max(1, round(plan.class_minutes_of(groups[column.title])))
        share_seconds(column)
    return columns


def share_seconds(column):
    """A vote and an explorer take what the plan gives them, the other slides share what is left, at least 15 s each."""
    fixed = [SECONDS.get(slide.kind, 0) for slide in column.slides]
    others = fixed.count(0) or len(fixed)
    share = max((60 * column.minutes - sum(fixed)) / others, 15 if 0 in fixed else 0)
    for slide, seconds in zip(column.slides, fixed, strict=True):
        own = round(seconds + share * (seconds == 0 or 0 not in fixed))
        slide.seconds = own + 60 * column.talk * (slide.kind == "discuss")


# ----------------------------------------------------------------------------------------------------
# Pages


def qr_code(address):
    """An address as an SVG that a phone can read."""
    need_packages("qrcode-generator")
    drawn = subprocess.run(["node", WEB / "qr.mjs", address], check=True, capture_output=True, encoding="utf-8").stdout
    return Markup(drawn.replace("<svg ", f'<svg role="img" aria-label="QR code of {html.escape(address)}" ', 1))


def deck_page(lesson, pictures, pages, address=""):
    """The HTML of a lesson's deck.

    `pages` is where the pages of the site lie, None if there are none; `address` is where they are in public.
    """
    cells, models = prepared(lesson.nb, lesson.name, pictures, "pictures")
    columns = with_clock(columns_of(lesson, cells, models), lesson)
    sections = plan.sections_of(lesson.parts)
    known = {"lesson": lesson, "columns": columns, "pages": pages, "state": Markup(state_on_page(models))}
    public = f"{address.rstrip('/')}/{lesson.name}.html" if address else ""
    known |= {"public": public, "qr": public and qr_code(public)}
    known |= {"sections": sections, "exercises": plan.homework(lesson), "plain": plain}
    environment().filters["line"] = lambda words: Markup(PAGE.renderInline(words))
    known["goals"] = Markup(on_slide("\n".join(f"- {goal}" for goal in lesson.goals)))
    known["promise"] = Markup(on_slide(lesson.promise))
    known["needs"] = Markup(NOTES.render(lesson.needs))
    known["fits"] = Markup(json.dumps([asdict(plan.fit(sections, minutes)) for minutes in plan.CLASSES]))
    return with_links(fill("slides/deck.html", **known), pages)


def with_links(page, pages):
    """Links to lessons lead to their decks, that to the glossary to its page, or nowhere if there is no site."""
    page = re.sub(r'(href="\d\d_\w+)\.ipynb', r"\1.html", page)
    glossary = r'<a href="[^"]*glossary\.md([^"]*)">(.*?)</a>'
    if not pages:
        return re.sub(glossary, r"\2", page)
    # JupyterLab keeps capitals in the name of a heading, the site's page does not.
    return re.sub(glossary, lambda m: f'<a href="{pages}/glossary.html{m[1].lower()}">{m[2]}</a>', page)


def write_assets(folder):
    """What all decks share: reveal.js, the style sheet and fonts of formulas, the host of the widgets, our own."""
    folder.mkdir()
    reveal = WEB / "node_modules" / "reveal.js" / "dist"
    copy_katex(folder)
    for file in (reveal / "reveal.js", reveal / "reveal.css", reveal / "plugin" / "notes.js"):
        shutil.copy(file, folder)
    for file in (WEB / "static" / "host.js", WEB / "bundle" / "deck.js", WEB / "slides" / "deck.css"):
        shutil.copy(file, folder)
    (folder / "theme.css").write_text(theme.css_variables("html"), encoding="utf-8")


def write(lessons, folder, pages, address=""):
    """Write all decks and their index into a new folder."""
    (folder / "pictures").mkdir(parents=True)
    write_assets(folder / "assets")
    for lesson in lessons:
        page = deck_page(lesson, folder / "pictures", pages, address)
        (folder / f"{lesson.name}.html").write_text(page, encoding="utf-8")
    keys = json.loads((WEB / "slides" / "keys.json").read_text(encoding="utf-8"))
    (folder / "index.html").write_text(fill("slides/decks.html", lessons=lessons, keys=keys), encoding="utf-8")


def build(out, pages, address=""):
    """Write the decks and their index; return how many there are."""
    out = Path(out).resolve()
    check_place(out)
    need_packages("katex", "reveal.js")
    lessons = all_lessons()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "slides"
        write(lessons, made, pages, address)
        replace_folder(made, out)
    return len(lessons)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build a deck of slides for each lesson.")
    parser.add_argument(
        "out", nargs="?", default=ROOT / "site" / "slides", help="output folder (default: site/slides/)"
    )
    parser.add_argument("--pages", help="where the lessons' pages are, seen from a deck (default: detected)")
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    parser.add_argument("--address", default=site["address"], help="the site's address (default: from pyproject.toml)")
    options = parser.parse_args(arguments)
    beside = (Path(options.out).resolve().parent / "index.html").exists()
    pages = options.pages or (".." if beside else None)
    return run(lambda options: f"{build(options.out, pages, options.address)} decks", options)


if __name__ == "__main__":
    sys.exit(main())
