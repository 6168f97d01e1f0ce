"""The rules of a lesson, each of which says in its words what to do. Whether outputs are still true is nbval's part.

A rule is a function of a `Page`, a lesson with names for its cells, that yields a sentence for whatever breaks it.
"""

import ast
import copy
import re
import sys
from importlib import metadata
from pathlib import Path
from statistics import median

import pytest

from helpers.exercises import all_exercises
from tests.shared import LESSONS, ROOT, every_lesson, is_hidden, printed, read
from tools.author.record import FOR_TORCH, VIEW, WIDGET_STATE, is_group, normalize, notebook_bytes
from tools.lessons import CLOSING, Lesson, LessonError, counts_of, minutes_of, tags_of

MAX_KILOBYTES = 410  # of which 8 are the marks of slides
MAX_CORE_MINUTES = 45
LONGER_CORES = {"09": 60}
STEP_OF_MINUTES = 5  # stated minutes are rounded up to a multiple of it
GOALS = 3
CELLS_TO_A_PICTURE = 4
MIN_SECTIONS = 3
MIN_PREDICTED = 0.7  # of the sections
MIN_CHECKS = 5  # questions of the skill check; in lesson 00, 3
EXERCISES = [3, 4]  # in lesson 00, and in 16 where it takes as long as three, 1
HINTS = 2  # for each exercise
MAX_LINES = 20  # of a cell whose code is visible
MAX_MEDIAN_LINES = 8
MAX_COLUMNS = 88

FOLDED = {"setup", "picture", "solution"}
DRAWING = r"\b(new_figure|show|Panel|lines|bars|points|cells|arrows|label_line)\(|\bax(es)?\b[.\[]|\bsns\."
SETUP = ("# Setup: imports; run this first\n", '(p / "helpers" / "norms.py").is_file()')
# What must not stand in code or in prose -> what to do.
IN_CODE = {
    r"check_true\(\s*\"[^\"]*\",\s*(True|False)\b": "give check_true something that is computed",
    r"%matplotlib|\b(interact|input|open)\(|plt\.show|clear_output|np\.random\.seed": "leave this out",
    r";\s*\Z": "write `_ =` before the last line instead of a semicolon after it",
    r"#[0-9A-Fa-f]{6}\b": "take the color from PALETTE",
}
APART = r"```.*?```|<details>.*?</details>|\$\$.*?\$\$|\$[^$]+\$|`[^`\n]+`"  # code, hints, formulas
IN_PROSE = [  # (what is left out first, what must not stand in the rest, what to do)
    (APART, "[√σ∑²³₀₁₂₃₄₅₆₇₈₉ᵀ‖≤≥∈]", "put it between dollar signs, as a formula"),
    (r"\[[^\]]*\]\([^)]*\)|<details>[^\n]*", r"\b[Ll]essons? \d\d", "link it, as in [lesson 04](04_layer_norm.ipynb)"),
    (r"<code>.*?</code>", r"(?m)^<details>.*(`|\*\*|\$|\]\()", "a hint is HTML: write <code>x</code> for `x`"),
    (r"\Z", "[\U0001f300-\U0001faff\u2014]", "no emoji and no em dash"),
]


# What a block of a Markdown cell is, by how it begins.
KINDS = {"a heading": "#+ ", "a takeaway": r"\*\*Takeaway", "a trap": "> ", "a table": r"\|", "hints": "<details"}


def kinds_of(source):
    """What a Markdown cell holds, one word for each kind in a row; the paragraph after a heading belongs to it."""
    whole = re.sub(
        r"```.*?```|<details>.*?</details>", lambda m: re.sub(r"\n\s*\n", "\n", m[0]), source, flags=re.DOTALL
    )
    whole = re.sub(r"(?m)^(#+ .*)\n(?=\S)", r"\1\n\n", whole)
    kinds, blocks = [], re.split(r"\n\s*\n", whole.strip())
    for number, block in enumerate(blocks):
        kind = next((kind for kind, begins in KINDS.items() if re.match(begins, block)), "text")
        after_heading = kind == "text" and number == 1 and kinds == ["a heading"]
        if not after_heading and (kinds[-1:] != [kind] or kind not in ("text", "hints")):
            kinds.append(kind)
    return kinds


class Page:
    """A lesson; `cells`, `code` and `texts` hold its cells as (name in a sentence, cell)."""

    def __init__(self, path, nb):
        self.path, self.nb, self.lesson = path, nb, Lesson(path.stem, nb)
        self.number = path.stem[:2]
        firsts = [next(filter(None, map(str.strip, cell.source.splitlines())), "empty") for cell in nb.cells]
        names = [f"cell {number} ({first[:40]})" for number, first in enumerate(firsts, 1)]
        self.cells = list(zip(names, nb.cells, strict=True))
        self.code = [(name, cell) for name, cell in self.cells if cell.cell_type == "code"]
        self.texts = [(name, cell) for name, cell in self.cells if cell.cell_type == "markdown"]
        self.prose, self.source = ("\n\n".join(cell.source for _, cell in cells) for cells in (self.texts, self.code))
        self.headings = [(part.level, part.title) for part in self.lesson.parts if part.level]

    def tagged(self, tag):
        return [(name, cell) for name, cell in self.code if tag in tags_of(cell)]


def if_broken(*rules):
    """The sentences of (whether a rule is broken, what to do)."""
    return [sentence for is_broken, sentence in rules if is_broken]


def title_and_goals(page):
    lesson, counts, step = page.lesson, counts_of(page.lesson.core), STEP_OF_MINUTES
    minutes, goals = minutes_of(lesson.core), len(lesson.goals)
    has_title = lesson.number == page.number and lesson.question
    rounded, limit = step * -(-minutes // step), LONGER_CORES.get(page.number, MAX_CORE_MINUTES)
    told = f"the core path takes {minutes:.1f} minutes ({counts})"
    return if_broken(
        (not has_title, f"first cell: begin with '# {page.number} Title: question?'"),
        (not lesson.promise, "first cell: say below the title, in a sentence, what is at stake"),
        (
            goals != GOALS,
            f"cell **You will be able to**: name {GOALS} goals, with a semicolon between them; there are {goals}",
        ),
        (not lesson.needs, "cell **You will be able to**: name after **You need** the lessons that come before"),
        (minutes > limit, f"{told}, the limit is {limit}: move cells under '### Deeper: ...'"),
        (
            lesson.minutes != rounded,
            f"cell **You will be able to**: write '**Time** about {rounded:.0f} minutes'; {told}",
        ),
        (
            (lesson.homework_minutes or 1) % step,
            f"cell **You will be able to**: write the exercises' minutes in steps of {step}",
        ),
    )


def parts(page):
    words = [words for level, words in page.headings if level == 2]
    sections = [word for word in words if word not in CLOSING]
    numbers = list(map(str, range(1, len(sections) + 1)))
    levels = [level for level, _ in page.headings]
    steps = zip(levels, page.headings[1:], strict=False)
    setup_name, setup = page.code[0]
    is_setup = "setup" in tags_of(setup) and all(text in setup.source for text in SETUP)
    early = [output.get("data", {}) for _, cell in page.code[:CELLS_TO_A_PICTURE] for output in cell.outputs]
    has_picture = any("image/png" in data for data in early)
    has_trap, has_explorer = "**Trap" in page.prose, re.search(r"^Explorer\(", page.source, flags=re.MULTILINE)
    return if_broken(
        (words[-len(CLOSING) :] != CLOSING, f"close with the headings ## {', ## '.join(CLOSING)}, in this order"),
        (len(sections) < MIN_SECTIONS, f"number of sections: {len(sections)}; a lesson has at least {MIN_SECTIONS}"),
        ([word.split()[0] for word in sections] != numbers, "number the sections from 1, '## 1 ...'"),
        (levels.count(1) != 1, "write one title, '# ...', in the first cell"),
        ("**The formula card.**" not in page.prose, "Recap: begin a line with '**The formula card.**'"),
        (not has_trap and page.number != "00", "warn in a box, '> **Trap: ...**', of what goes wrong without an error"),
        (not has_explorer, "add an explorer"),
        (not is_setup, f"{setup_name}: the first code cell is the setup; copy it from another lesson, with its tag"),
        (not has_picture, f"show a picture in the first {CELLS_TO_A_PICTURE} code cells"),
        *((after > before + 1, f"heading '{words}': leave out no level") for before, (after, words) in steps),
    )


def discussions(page):
    """What the slides ask a class in each numbered section; formulas are not typeset there."""
    for part in page.lesson.parts:
        words = part.metadata.get("discussion", {})
        is_asked = words.get("question") and words.get("good_answer") and "$" not in str(words)
        if part.level == 2 and part.title[0].isdigit() and not is_asked:
            yield f"heading '{part.title}': give its metadata a discussion, with question and good_answer, without $"


def nothing_to_fill_in(page):
    """`TODO` between backticks is told about the exercises."""
    lines = [(name, cell.source + str(cell.metadata.get("discussion", ""))) for name, cell in page.cells]
    for path in sorted((ROOT / "helpers" / "lessons" / page.path.stem).glob("*.*")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            lines.append((f"{path.relative_to(ROOT)}, line {number}", line))
    yield from (f"{name}: replace TODO" for name, line in lines if re.search(r"TODO(?!`)", line))


def short_code(page):
    lengths = {name: len(cell.source.splitlines()) for name, cell in page.code if not is_hidden(cell)}
    for name in [name for name, length in lengths.items() if length > MAX_LINES]:
        yield f"{name}: {lengths[name]} lines, the limit for visible code is {MAX_LINES}: split the cell"
    if median(lengths.values()) > MAX_MEDIAN_LINES:
        yield f"half of the visible cells have over {MAX_MEDIAN_LINES} lines: split the long ones"
    for name, cell in page.code:
        for line in [line for line in cell.source.splitlines() if len(line) > MAX_COLUMNS]:
            yield f"{name}: {len(line)} columns, the limit is {MAX_COLUMNS}: {line.strip()[:30]} ..."
        for node in ast.walk(ast.parse(cell.source)):
            several = isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple) for target in node.targets)
            if several and isinstance(node.value, ast.Tuple):
                yield f"{name}: one assignment a line: {ast.unparse(node)}"


def folded_code(page):
    for name, cell in page.code:
        tags, hidden = set(tags_of(cell)), is_hidden(cell)
        unknown, folded = ", ".join(tags - FOLDED - {"exercise", "answer", FOR_TORCH}), ", ".join(tags & FOLDED)
        # A check whose name or bounds would answer a prediction may be folded, too.
        unnamed = hidden and not folded and tags != {"answer"}
        told = re.match(r"# (Picture|Explorer|Computation): \S.{8}", cell.source)
        draws = not hidden and page.number != "00" and re.search(DRAWING, cell.source)
        yield from if_broken(
            (unknown, f"{name}: take out the tag {unknown}"),
            (folded and not hidden, f"{name}: fold the source of a cell tagged {folded}"),
            (unnamed, f"{name}: show its source, or tag the cell setup, picture or solution"),
            ("picture" in tags and not told, f"{name}: say in the first line what is drawn, '# Picture: ...'"),
            (draws, f"{name}: it draws: fold it and tag it picture, or move the drawing into a cell of its own"),
        )
        for pattern, advice in IN_CODE.items():
            if found := re.search(pattern, cell.source):
                yield f"{name}: {advice}: {found[0].strip()}"


def predictions(page):
    asked = None
    for name, cell in page.cells:
        heading = re.search("^#+ ", cell.source, flags=re.MULTILINE) if cell.cell_type == "markdown" else None
        is_asked = cell.cell_type == "code" and "only=" in cell.source
        if "answer" in tags_of(cell):
            asked = None
            if heading:
                yield f"{name}: a text that is covered until the guess holds no heading"
        elif is_asked or heading and heading[0] == "## ":
            if asked:
                yield f"{asked}: tag the cell behind it that shows the answer with answer"
            asked = name if is_asked else None
    checks, least = len(page.lesson.checks), 3 if page.number == "00" else MIN_CHECKS
    file = f"helpers/lessons/{page.path.stem}/questions.toml"
    if checks < least:
        yield f"{file}: number of questions of kind check: {checks}; a lesson has at least {least}"
    in_cells = set(re.findall(r'only="(\w+)"', page.source))
    in_file = {key for key, question in page.lesson.questions.items() if question["kind"] == "prediction"}
    yield from (f"prediction {key}: it belongs into a cell and into {file}" for key in sorted(in_cells ^ in_file))
    sections = {}
    for part in page.lesson.parts:
        if re.match(r"\d+ ", part.under) and part.level > 1 and page.number != "00":
            sections[part.under] = sections.get(part.under, "") + part.code
    without = [title for title, code in sections.items() if "only=" not in code]
    if len(without) > (1 - MIN_PREDICTED) * len(sections):
        yield f"ask for a prediction in {MIN_PREDICTED:.0%} of the sections; without one are: {', '.join(without)}"
    for title in [title for title, code in sections.items() if "check_" not in code]:
        yield f"section '{title}': check with a check_ function what it says"


def exercises(page):
    stubs, solutions = page.tagged("exercise"), page.tagged("solution")
    wanted = [1] if page.number in ("00", "16") else EXERCISES
    if len(stubs) not in wanted or len(stubs) != len(solutions):
        yield f"cells tagged exercise: {len(stubs)}, tagged solution: {len(solutions)}; of each, a lesson has {wanted}"
    if page.prose.count("<summary>") < HINTS * len(stubs):
        yield f"give {HINTS} hints for each exercise, <details><summary>...</summary>...</details>"
    for (name, stub), (solution_name, solution) in zip(stubs, solutions, strict=False):
        found = re.search(r'^check_exercise\("(my_\w+)", \1\)\Z', stub.source, flags=re.MULTILINE)
        if not found:
            yield f'{name}: end with check_exercise("my_name", my_name)'
            continue
        exercise = found[1]
        text = getattr(all_exercises().get(exercise), "solution", "(none)")
        as_is = solution.source.startswith(f"# Solution: {exercise}\n{text}")
        last = f"check_exercise('{exercise}', {exercise}, solution=True)"
        ends = ast.unparse(ast.parse(solution.source).body[-1]) == last  # a long name breaks it over lines
        begins = set(re.findall("^def .*", stub.source, flags=re.MULTILINE))
        yield from if_broken(
            (not as_is, f"{solution_name}: write '# Solution: {exercise}', then the solution as in exercises.py"),
            (not ends, f"{solution_name}: end with {last}"),
            (not begins <= set(solution.source.splitlines()), f"{name}: begin as the solution does, with its def"),
        )


def one_thing(page):
    for name, cell in page.texts[1:]:
        kinds = kinds_of(cell.source)
        if len(kinds) > 1:
            yield f"{name}: split it: {', '.join(kinds)}; one thing a cell"
        deeper, closed = re.match("#+ Deeper", cell.source), cell.metadata.get("jp-MarkdownHeadingCollapsed")
        if deeper and not closed:
            yield f"{name}: close it: set the cell's metadata jp-MarkdownHeadingCollapsed to true"
        if kinds == ["a takeaway"] and "answer" in tags_of(cell):
            yield f"{name}: take out the tag answer: a takeaway is never in a fold"


def prose(page):
    for name, cell in page.texts:
        for left_out, unwanted, advice in IN_PROSE:
            if found := re.search(unwanted, re.sub(left_out, "", cell.source, flags=re.DOTALL)):
                yield f"{name}: {advice}: {found[0][:40]}"
        for words, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", cell.source):
            if len(words) <= 3 and not target.startswith("glossary.md#"):
                yield f"{name}: give the link '{words}' more words"
            if not target.startswith("https://") and not (ROOT / "notebooks" / target.partition("#")[0]).is_file():
                yield f"{name}: the link leads nowhere: {target}"


def outputs(page):
    state = page.nb.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    for name, cell in page.code:
        if re.search("^ *FAIL - ", printed(cell), flags=re.MULTILINE) and "with not_counted():" not in cell.source:
            yield f"{name}: it prints FAIL; where that is meant, write `with not_counted():`"
        for output in cell.outputs:
            data, alt = output.get("data", {}), output.get("metadata", {}).get("image/png", {}).get("alt")
            failed = output.output_type == "error" or output.get("name") == "stderr"
            unnamed = "image/png" in data and alt != "".join(data["text/plain"])
            yield from if_broken(
                (failed, f"{name}: it raises or warns; mend that, and record the lesson"),
                (VIEW in data and data[VIEW]["model_id"] not in state, f"{name}: record the lesson with its widget"),
                (unnamed, f"{name}: show its picture with show(fig, caption), so that it has an alternative text"),
            )
    lines = "\n".join(printed(cell) for _, cell in page.code if "not_counted" not in cell.source)
    to_do = len(page.tagged("exercise"))
    groups = sum(is_group(output) for _, cell in page.code for output in cell.outputs)
    checks = max(0, len(re.findall("^ *PASS - ", lines, flags=re.MULTILINE)) - groups - to_do)
    told = f"{checks} of {checks} checks passed; exercises: {to_do} to do"
    name, last = page.cells[-1]
    if last.source != "summary()" or not " ".join(printed(last).split()).startswith(told):
        yield f"{name}: end with summary(); with a name of its own for every check, it says '{told}'"


def the_file(page):
    data = page.path.read_bytes()
    if len(data) > 1000 * MAX_KILOBYTES:
        yield f"the file has {len(data) / 1000:.0f} kB, the limit is {MAX_KILOBYTES}: take fewer slider positions"
    if notebook_bytes(normalize(copy.deepcopy(page.nb))) != data:
        yield f"it is not recorded, or was edited afterwards: run make check LESSON={page.number}"
    for place in re.findall(r"/home/|/root/|/Users/|/tmp/|/work/|:\\\\Users", data.decode("utf-8")):
        yield f"it names a place on a machine, {place}"


RULES = [
    title_and_goals,
    parts,
    discussions,
    nothing_to_fill_in,
    short_code,
    folded_code,
    predictions,
    exercises,
    one_thing,
    prose,
    outputs,
]


def broken(path, nb, rules=RULES):
    """A sentence for everything in a lesson that breaks a rule."""
    try:
        page = Page(path, nb)
    except (LessonError, ValueError) as error:  # the title, or the file of questions
        return [str(error)]
    return [sentence for rule in rules for sentence in rule(page)]


@every_lesson
def test_a_lesson_keeps_the_rules(lesson):
    if sentences := broken(lesson, read(lesson), [*RULES, the_file]):
        pytest.fail("\n".join([lesson.name, *sentences]), pytrace=False)


# What is spoiled in lesson 05 -> what its rules say then.
SPOILED = [
    ("**You need**", "**Read**", ": name after **You need**"),
    ("; ", ", ", "name 3 goals, with a semicolon between them; there are 1"),
    ("## 2 ", "## 3 ", "number the sections from 1"),
    ("# Picture: ", "# ", "say in the first line what is drawn"),
    ("summary()", "one, two = 1, 2", "one assignment a line: one, two = (1, 2)"),
    ("summary()", "show(fig)", "it draws: fold it"),
    ('only="', 'only="un', ": it belongs into a cell and into"),
    ("check_", "assert_", "check with a check_ function what it says"),
    ("**Takeaway.**", "Words.\n\n**Takeaway.**", "split it: text, a takeaway; one thing a cell"),
    ("# Solution: ", "# ", "write '# Solution: my_"),
    ("**Takeaway.**", "√2", "put it between dollar signs, as a formula: √"),
]


@pytest.mark.parametrize(("old", "new", "said"), SPOILED)
def test_a_broken_rule_says_what_to_do(old, new, said):
    nb = copy.deepcopy(read(LESSONS[5]))
    for cell in nb.cells:
        cell.source = cell.source.replace(old, new)
    assert said in "\n".join(broken(LESSONS[5], nb))


def test_the_template_is_told_what_it_lacks():
    said = "\n".join(broken(ROOT / "notebooks" / "17_x.ipynb", read(ROOT / "tools" / "author" / "template.ipynb")))
    wanted = ["number of sections: 1; ", "replace TODO", "cells tagged exercise: 1, ", "17_x/questions.toml"]
    assert [words for words in wanted if words not in said] == []


def test_start_here_names_the_packages_it_lacks(monkeypatch, capsys):
    def version(package):
        if package == "seaborn":
            raise metadata.PackageNotFoundError
        return "1.0" if package == "numpy" else "999"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.syspath_prepend(ROOT)
    source = "\n".join(cell.source for cell in read(LESSONS[0]).cells if "is_ready(" in cell.source)
    exec(source, {"Path": Path, "sys": sys})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines if line.startswith("FAIL - ")] == ["numpy", "seaborn"]
