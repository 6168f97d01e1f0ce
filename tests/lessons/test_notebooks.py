"""The rules that every lesson keeps. Whether its outputs are still true is nbval's part, in the same pytest call."""

import ast
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from statistics import median

import nbformat

from helpers.exercises import all_exercises
from tests.shared import LESSONS, ROOT, core_counts, core_minutes, in_every_lesson, is_hidden, lesson_of, read
from tools.lessons import CLOSING

MAX_BYTES = 400_000
MAX_CORE_MINUTES = 45
MAX_VISIBLE_LINES = 20
MAX_COLUMNS = 88
DRAWING = r"\b(new_figure|show|Panel|lines|bars|points|cells|arrows|label_line)\(|\bax(es)?\b[.\[]|\bsns\."
MATHEMATICS = "√σ∑²³₀₁₂₃₄₅₆₇₈₉ᵀ‖≤≥∈"  # belongs between dollar signs, or into code


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path):
    return "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def headings(path):
    """[(level, words)] of all headings, code fences left out."""
    text = re.sub(r"```.*?```", "", prose(path), flags=re.DOTALL)
    return [(len(marks), words.strip()) for marks, words in re.findall(r"^(#+) (.+)$", text, flags=re.MULTILINE)]


def streams(path, name):
    return [
        output.text
        for cell in code_cells(path)
        for output in cell.outputs
        if output.output_type == "stream" and output.name == name
    ]


def test_there_are_lessons():
    assert [path.stem for path in LESSONS][:2] == ["00_start_here", "01_axis_intuition"]


@in_every_lesson
def test_notebooks_are_valid_and_small_enough(lesson):
    nbformat.validate(read(lesson))
    assert lesson.stat().st_size <= MAX_BYTES


def tags(cell):
    return set(cell.metadata.get("tags", []))


@in_every_lesson
def test_lessons_begin_with_their_fixed_parts(lesson):
    first = read(lesson).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith(f"# {lesson.stem[:2]} ")
    for part in ("**You will be able to**", "**You need**", "**Time**"):
        assert part in first.source
    assert len(re.findall(r"^- ", lesson_of(lesson).goals, flags=re.MULTILINE)) == 3
    assert lesson_of(lesson).promise and lesson_of(lesson).needs and lesson_of(lesson).question


@in_every_lesson
def test_its_minutes_are_those_of_its_core_path(lesson):
    """Rounded up to 5; the exercises say their own."""
    minutes = core_minutes(lesson)
    assert minutes <= MAX_CORE_MINUTES, core_counts(lesson)
    stated = lesson_of(lesson)
    assert stated.minutes == 5 * -(-minutes // 5), f"{minutes:.1f}: {core_counts(lesson)}"
    assert stated.homework_minutes % 5 == 0


def test_the_map_names_all_lessons_with_minutes():
    """The minutes are those that the lesson itself states; a row without a link is the map's own lesson."""
    listed = {}
    for number, words, minutes in re.findall(r"^\| \[?(\d\d) (.+) \| (\d+) \|$", prose(LESSONS[0]), flags=re.MULTILINE):
        listed[number] = (words, minutes)
    for path in LESSONS:
        lesson = lesson_of(path)
        words, minutes = listed[lesson.number]
        link = lesson.title if path == LESSONS[0] else f"{lesson.title}]({path.name})"
        assert words.startswith(link + " | ") and minutes == str(lesson.minutes)
        assert path == LESSONS[0] or f" | {lesson.question} | " in words


def test_start_here_explains_outputs_and_folded_cells():
    """A learner sees PASS lines before anything has run, and arrow keys pass folded cells by."""
    first, second = re.split(r"^## 1 ", prose(LESSONS[0]), maxsplit=1, flags=re.MULTILINE)
    assert "runs without being opened: press Shift+Enter" in first
    assert "stored when the lesson was written" in second.partition("\n## ")[0]


def test_start_here_names_the_packages_it_lacks(monkeypatch, capsys):
    """The stored lines say OK; run again, each says what was found: here one package is missing and one is old."""
    here = [cell for cell in code_cells(LESSONS[0]) if "is_ready(" in cell.source]
    assert all(line.startswith("OK - ") for line in here[-1].outputs[0].text.splitlines())

    def version(package):
        if package == "seaborn":
            raise metadata.PackageNotFoundError(package)
        return "1.0" if package == "numpy" else "999"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.syspath_prepend(ROOT)
    namespace = {"Path": Path, "sys": sys}
    for cell in here:
        exec(cell.source, namespace)
    lines = capsys.readouterr().out.splitlines()
    failed = [line.split()[2] for line in lines if line.startswith("FAIL - ")]
    assert failed == ["numpy", "seaborn"] and "OK - matplotlib" in lines


@in_every_lesson
def test_the_setup_comes_first_and_is_folded(lesson):
    setup = code_cells(lesson)[0]
    assert tags(setup) == {"setup"} and is_hidden(setup)
    assert setup.source.startswith("# Setup: imports; run this first\n")
    assert '(p / "helpers" / "norms.py").is_file()' in setup.source


@in_every_lesson
def test_a_picture_is_among_the_first_cells(lesson):
    shown = [
        cell for cell in code_cells(lesson)[:4] for output in cell.outputs if "image/png" in output.get("data", {})
    ]
    assert shown


@in_every_lesson
def test_sections_and_closing_parts_come_in_order(lesson):
    words = [words for level, words in headings(lesson) if level == 2]
    assert words[-len(CLOSING) :] == CLOSING
    sections = words[: -len(CLOSING)]
    assert [int(section.split()[0]) for section in sections] == list(range(1, len(sections) + 1))
    assert len(sections) >= 3
    assert "**The formula card.**" in prose(lesson)


@in_every_lesson
def test_one_title_and_no_skipped_heading_level(lesson):
    levels = [level for level, _ in headings(lesson)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@in_every_lesson
def test_visible_cells_are_short(lesson):
    lengths = [len(cell.source.splitlines()) for cell in code_cells(lesson) if not is_hidden(cell)]
    assert median(lengths) <= 8
    assert max(lengths) <= MAX_VISIBLE_LINES


@in_every_lesson
def test_code_lines_fit_a_projector(lesson):
    lines = [line for cell in code_cells(lesson) for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []


@in_every_lesson
def test_a_line_of_code_assigns_one_thing(lesson):
    """`y, mean, var = batch_norm(x)` unpacks a result; `a, b = 1, 2` packs two assignments into a line."""
    packed = []
    for cell in code_cells(lesson):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                packed += [ast.unparse(node) for target in node.targets if isinstance(target, ast.Tuple)]
        packed += [line for line in cell.source.splitlines() if re.search(r";\s*\w", line.split("#")[0].split('"')[0])]
    assert packed == []


@in_every_lesson
def test_drawing_is_folded_and_named(lesson):
    for cell in code_cells(lesson):
        if "picture" in tags(cell):
            assert is_hidden(cell)
            assert re.match(r"# (Picture|Explorer|Computation): \S.{8,66}\n", cell.source), cell.source[:100]
        elif not is_hidden(cell) and not lesson.stem.startswith("00"):
            assert not re.search(DRAWING, cell.source), cell.source


@in_every_lesson
def test_only_setup_pictures_and_solutions_are_folded(lesson):
    for cell in code_cells(lesson):
        # A check whose name or bounds would answer a prediction may be folded, too.
        may_be = tags(cell) & {"setup", "picture", "solution"} or (tags(cell) == {"answer"} and is_hidden(cell))
        assert is_hidden(cell) == bool(may_be), cell.source[:100]
        assert tags(cell) <= {"setup", "picture", "solution", "exercise", "answer"}


@in_every_lesson
def test_every_prediction_is_answered_by_a_cell(lesson):
    """Between a prediction and the next one, or the next section, stands a cell with the tag `answer`."""
    asked = None
    for cell in read(lesson).cells:
        ends = cell.cell_type == "markdown" and re.search("^## ", cell.source, flags=re.MULTILINE)
        if asked and (ends or "only=" in cell.source):
            raise AssertionError(f"no cell with the tag answer follows {asked}")
        if cell.cell_type == "code" and "only=" in cell.source:
            asked = cell.source
        elif "answer" in tags(cell):
            asked = None
    assert asked is None


@in_every_lesson
def test_an_answering_text_has_no_heading(lesson):
    """It is covered until the guess; a heading opens what is not."""
    for cell in read(lesson).cells:
        if cell.cell_type == "markdown" and "answer" in tags(cell):
            assert not re.search("^#", cell.source, flags=re.MULTILINE), cell.source[:100]


@in_every_lesson
def test_formulas_are_typeset(lesson):
    # Hints are one line of plain words and code, handed on as it is.
    apart = r"```.*?```|<details>.*?</details>|\$\$.*?\$\$|\$[^$]+\$|`[^`\n]+`"
    text = re.sub(apart, "", prose(lesson), flags=re.DOTALL)
    found = [line for line in text.splitlines() if set(line) & set(MATHEMATICS)]
    assert found == []


@in_every_lesson
def test_no_lesson_has_colors_of_its_own(lesson):
    for cell in code_cells(lesson):
        assert not re.search(r"#[0-9A-Fa-f]{6}\b", cell.source)


@in_every_lesson
def test_sections_have_a_prediction_and_a_check(lesson):
    """Start here shows each part once; every other lesson predicts in most sections and checks in all."""
    sections, current = [], None
    for cell in read(lesson).cells:
        if cell.cell_type == "markdown" and (found := re.findall(r"^## (.+)$", cell.source, flags=re.MULTILINE)):
            current = [found[-1], ""]
            sections.append(current)
        elif current and cell.cell_type == "code":
            current[1] += cell.source + "\n"
    numbered = [(title, code) for title, code in sections if title[0].isdigit()]
    predicted = [title for title, code in numbered if "only=" in code]
    if not lesson.stem.startswith("00"):
        assert len(predicted) >= 0.7 * len(numbered)
        assert [title for title, code in numbered if "check_" not in code] == []


@in_every_lesson
def test_it_has_explorers_and_exercises(lesson):
    code = "\n".join(cell.source for cell in code_cells(lesson))
    first, last = lesson.stem.startswith("00"), lesson.stem == "15_practice"
    assert re.findall(r"^Explorer\(", code, flags=re.MULTILINE)
    # Start here shows what an exercise is; the last one takes as long as three, and needs five lessons.
    assert len(tagged(lesson, "exercise")) in ((1,) if first or last else (3, 4))
    assert "**Trap" in prose(lesson) or first


def tagged(path, tag):
    return [cell for cell in code_cells(path) if tag in cell.metadata.get("tags", [])]


def exercise_names(path):
    return [re.search(r'check_exercise\("(\w+)"', cell.source)[1] for cell in tagged(path, "exercise")]


def defined(cell, name):
    return next(n for n in ast.parse(cell.source).body if getattr(n, "name", "") == name)


@in_every_lesson
def test_exercises_are_stubs_with_hidden_solutions(lesson):
    stubs, solutions = tagged(lesson, "exercise"), tagged(lesson, "solution")
    for name, stub, solution in zip(exercise_names(lesson), stubs, solutions, strict=True):
        assert name.startswith("my_")
        assert stub.source.splitlines()[-1] == f'check_exercise("{name}", {name})'
        assert solution.source.startswith(f"# Solution: {name}\n"), "what the folded bar shows"
        checked = ast.unparse(ast.parse(solution.source).body[-1])  # a long name breaks it over lines
        assert checked == f"check_exercise('{name}', {name}, solution=True)"
        assert stub.outputs[0].text.startswith(f"TODO - {name}: ")
        assert solution.outputs[0].text.startswith(f"PASS - solution of {name}: ")
        text = getattr(all_exercises()[name], "solution", "")
        told = "the solution in the lesson's exercises.py is the same text"
        assert solution.source.startswith(f"# Solution: {name}\n{text}"), told
        assert solution.metadata.get("jupyter", {}).get("source_hidden") is True
        function, solved = defined(stub, name), defined(solution, name)
        if isinstance(function, ast.FunctionDef):
            assert ast.dump(function.args) == ast.dump(solved.args), "stub and solution have the same arguments"
    assert prose(lesson).count("<summary>") >= 2 * len(stubs), "hints"


@in_every_lesson
def test_an_exercise_has_one_name_everywhere(lesson):
    """Also in the text: `layer_norm(...)` would be the helper."""
    told = "\n".join(cell.source for cell in read(lesson).cells if "write" in cell.source.lower())
    for name in exercise_names(lesson):
        assert not re.search(rf"[Ww]rite `{name.removeprefix('my_')}\b", told)


@in_every_lesson
def test_lessons_end_with_a_summary_of_passed_checks(lesson):
    """Two checks of one name would count once, so this also holds their names apart."""
    last = read(lesson).cells[-1]
    assert last.source == "summary()"
    line = " ".join(last.outputs[0].text.split())
    passed, ran, exercises = re.fullmatch(r"(\d+) of (\d+) checks passed; exercises: (.*)", line).groups()
    assert passed == ran
    names = exercise_names(lesson)
    assert exercises == f"{len(names)} to do ({', '.join(names)})"
    lines = "".join(streams(lesson, "stdout")).splitlines()
    not_counted = sum(
        line.startswith("PASS - ")
        for cell in code_cells(lesson)
        if "not_counted" in cell.source
        for o in cell.outputs
        for line in o.get("text", "").splitlines()
    )
    assert int(ran) + len(names) == sum(line.startswith("PASS - ") for line in lines) - not_counted


@in_every_lesson
def test_a_fail_stands_only_where_it_is_rehearsed(lesson):
    for cell in code_cells(lesson):
        if any(re.search("^FAIL", o.get("text", ""), flags=re.MULTILINE) for o in cell.outputs):
            assert "with not_counted():" in cell.source


@in_every_lesson
def test_nothing_went_to_stderr_and_nothing_raised(lesson):
    assert streams(lesson, "stderr") == []
    assert [o for cell in code_cells(lesson) for o in cell.outputs if o.output_type == "error"] == []


@in_every_lesson
def test_it_is_stored_in_normal_form(lesson):
    nb = read(lesson)
    assert nb.metadata.kernelspec.name == "python3"
    assert [cell.execution_count for cell in code_cells(lesson)] == list(range(1, len(code_cells(lesson)) + 1))
    assert len({cell.id for cell in nb.cells}) == len(nb.cells)
    for cell in nb.cells:
        assert set(cell.metadata) <= {"tags", "jupyter"} | ({"discussion"} if cell.cell_type == "markdown" else set())


@in_every_lesson
def test_it_names_no_place_on_a_machine(lesson):
    raw = lesson.read_text(encoding="utf-8")
    assert [place for place in ("/home/", "/root/", "/Users/", "/tmp/", "/work/", ":\\\\Users") if place in raw] == []


@in_every_lesson
def test_code_spares_nbval_and_the_learner(lesson):
    for cell in code_cells(lesson):
        assert not cell.source.rstrip().endswith(";")
        for word in ("%matplotlib", "interact(", "plt.show", "clear_output", "np.random.seed", "input(", "open("):
            assert word not in cell.source
        assert "nbval-ignore-output" not in cell.metadata.get("tags", [])


@in_every_lesson
def test_check_true_is_never_given_a_constant(lesson):
    for cell in code_cells(lesson):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check_true":
                assert not isinstance(node.args[1], ast.Constant)


@in_every_lesson
def test_reference_links_lead_to_lessons_or_papers(lesson):
    for words, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", prose(lesson)):
        assert len(words) > 3 or target.startswith("glossary.md#")
        if not target.startswith("https://"):
            assert (lesson.parent / target.partition("#")[0]).is_file(), target


@in_every_lesson
def test_each_mention_of_another_lesson_leads_there(lesson):
    """Hints are HTML, in which a path would not be found everywhere."""
    unlinked = re.sub(r"\[[^\]]*\]\([^)]*\)|<details>.*", "", prose(lesson))
    without_link = re.findall(r"[^.]*\b[Ll]essons? \d\d[^.]*", unlinked)
    assert without_link == [], "write each one as [lesson 04](04_layer_norm.ipynb)"


@in_every_lesson
def test_hints_are_written_in_html(lesson):
    """A line that begins with <details> is handed on as it is: backticks and asterisks would stand there."""
    hints = re.findall(r"^<details>.*$", re.sub(r"<code>.*?</code>", "", prose(lesson)), flags=re.MULTILINE)
    assert [hint for hint in hints if re.search(r"`|\*\*|\$|\]\(", hint)] == []


@in_every_lesson
def test_prose_has_no_emoji_and_no_long_dash(lesson):
    assert not re.search("[\U0001f300-\U0001faff\u2014]", prose(lesson))


@in_every_lesson
def test_every_question_of_the_lesson_is_asked(lesson):
    asked = set(re.findall(r'only="(\w+)"', "\n".join(cell.source for cell in code_cells(lesson))))
    questions = lesson_of(lesson).questions.values()
    assert asked == {question["key"] for question in questions if question["kind"] == "prediction"}
    assert len(lesson_of(lesson).checks) >= (3 if lesson.stem.startswith("00") else 5)


@in_every_lesson
def test_widget_state_is_stored_for_every_widget_shown(lesson):
    nb = json.loads(lesson.read_text(encoding="utf-8"))
    state = nb["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    for cell in nb["cells"]:
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get("application/vnd.jupyter.widget-view+json")
            assert view is None or view["model_id"] in state


@in_every_lesson
def test_every_picture_has_an_alternative_text(lesson):
    for cell in code_cells(lesson):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                assert output.metadata["image/png"]["alt"] == "".join(output.data["text/plain"])


def test_a_captions_bound_holds_for_its_outputs():
    """It once told how far the outputs had *moved*, up to 2.00, beside a bound of 1.00 for the outputs themselves."""
    (path,) = (path for path in LESSONS if path.stem.startswith("02_"))
    models = read(path).metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    captions = [caption for m in models for caption in m["state"].get("captions", []) if "none can pass" in caption]
    assert captions
    for caption in captions:
        low, high, bound = re.search(r"between (\S+) and (\S+);.* pass ±(\d+\.\d+)\.", caption).groups()
        assert all(abs(float(end.replace("−", "-"))) <= float(bound) for end in (low, high)), caption
