"""Build the reading site: every lesson as a page on which explorers and questions live without a kernel.

    python -m tools.publish.site            writes site/
    python -m tools.publish.site FOLDER     writes FOLDER

Sphinx makes the pages, with the settings in `web/`. What it cannot know is done here, on copies of the notebooks
before it reads them: what is folded, where widgets come to life and what stands there until then, and the pages that
are no lessons. The address of the repository is in pyproject.toml, under [tool.site].
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from markupsafe import Markup

from helpers import theme
from tools.learner import workbook
from tools.lessons import GOALS, ROOT, VIEW, LessonError, all_lessons, tags_of, text, waiting_classes, with_place
from tools.publish import lite, slides
from tools.publish.cells import html_of, prepared, state_on_page
from tools.publish.pages import PublishError, copy_katex, fill, known_questions, run
from tools.publish.replace_folder import MARK, check_place, replace_folder
from tools.publish.typeset import WEB

# By which tags myst-nb folds a cell; a line that only shows a widget says nothing to a reader.
FOLDS = {"widget": "remove-input", "solution": "hide-cell", "setup": "hide-input", "picture": "hide-input"}
# What answers a prediction stands between these two.
COVER = """<details class="answer {}">
<summary><span class="closed">{}</span><span class="opened">The answer</span></summary>"""
DEEPER = """<details class="deeper">
<summary><span class="closed">Open this part</span><span class="opened">Close it</span></summary>"""
END_OF_FOLD = "</details>"
# Where a learner writes into the cell, a page has a box, whose text host.js keeps; without scripts nobody would.
NOTES = '<label class="notes">Your answer:<textarea data-notes="{}" rows="6" disabled></textarea></label>'


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


# ----------------------------------------------------------------------------------------------------
# Pages


def for_myst(cell, lesson):
    """A prepared cell as myst-nb shall read it: with the tags and words by which it folds code, with links to pages."""
    source, tags = text(cell["source"]), tags_of(cell)
    if cell["cell_type"] == "code":
        first = source.partition("\n")[0]
        prompt = {"code_prompt_show": first.lstrip("# ") if first.startswith("#") else "Code"}
        fold = FOLDS.get(cell["metadata"]["role"])
        return cell | {"metadata": cell["metadata"] | {"tags": tags + [fold] * bool(fold), "mystnb": prompt}}
    # A lesson names the glossary so that the learner's copy in workbook/ finds it, too.
    source = source.replace("../notebooks/glossary.md", "glossary.md")
    # JupyterLab keeps capitals in the name of a heading, Sphinx does not.
    source = re.sub(r"(?<=glossary\.md#)[\w-]+", lambda entry: entry[0].lower(), source)
    source = re.sub(r'(href="\d\d_\w+)\.ipynb', r"\1.html", source)
    source = source.replace("; select the cell below, press Enter and write at its end", "")
    if "notes" in tags:
        source = source.replace("*Your answer:*", NOTES.format(lesson))
    return markdown(source) | {"metadata": {"tags": tags}}


def with_covers(cells):
    """The cells, with what answers a prediction in a fold."""
    made = []
    for waits, group in groupby(zip(waiting_classes(cells), cells, strict=True), key=itemgetter(0)):
        group = [cell for _, cell in group]
        if waits:
            words = "Guess first, or open the answer" if group[0]["cell_type"] == "code" else "After your guess"
            group = [markdown(COVER.format(waits, words)), *group, markdown(END_OF_FOLD)]
        made += group
    return made


def with_deeper_closed(cells):
    """The cells, with what stands under a heading "Deeper: ..." in a fold below that heading."""
    made, is_open = [], False
    for cell in cells:
        heading = cell["cell_type"] == "markdown" and re.match("#+ (Deeper)?", cell["source"])
        if heading and is_open:
            made.append(markdown(END_OF_FOLD))
        made.append(cell)
        if heading:
            is_open = bool(heading[1])
            made += [markdown(DEEPER)] * is_open
    return made + [markdown(END_OF_FOLD)] * is_open


def lesson_page(lesson, pictures, repository="", run=""):
    """The notebook as myst-nb shall read it, with its head, and with what its widgets hold on the page itself."""
    cells, models = prepared(lesson.nb, lesson.name, pictures)
    cells = [cell | {"source": with_place(text(cell["source"]), lesson.core)} for cell in cells]
    cells = with_deeper_closed(with_covers([for_myst(cell, lesson.name) for cell in cells]))
    facts = next((k for k, cell in enumerate(cells) if cell["source"].startswith(GOALS)), 0)
    cells.insert(facts + 1, markdown(head(lesson.name, repository, run)))
    metadata = {key: value for key, value in lesson.nb["metadata"].items() if key != "widgets"}
    cells += [markdown(state_on_page(models))] * bool(models)
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}  # 4.4: a cell needs no id


def head(name, repository, run=""):
    made = fill("lesson_head.html", lesson=name, run=run, repository=repository)
    return re.sub(r"\n\s*\n", "\n", made).strip()


def other_page(page, lessons, wanted, pictures, **known):
    """A page made from PAGE.md of web/ around what one cell of a lesson shows: the first for which wanted() holds."""
    chosen = ((lesson, cell) for lesson in lessons for cell in lesson.nb["cells"] if wanted(lesson, cell))
    lesson, cell = next(chosen, (None, None))
    if cell is None:
        raise LessonError(f"No lesson has the cell that the page {page!r} shows.")
    (cell,), models = prepared(lesson.nb | {"cells": [cell]}, page, pictures)
    shown, state = Markup(html_of(cell)), Markup(state_on_page(models))
    return fill(f"{page}.md", lesson=lesson, lessons=lessons, shown=shown, state=state, **known)


# The landing page begins with the first pictures of three lessons, under these headlines.
RESULTS = {
    "02": "One image, one network, two answers",
    "13": "One number, three frameworks, three answers",
    "12": "Every test passes, and the layer is wrong",
}


def results(lessons, pictures):
    """[(headline, lesson, its first picture as HTML)] for the landing page."""
    made = []
    for number, headline in RESULTS.items():
        lesson = next(lesson for lesson in lessons if lesson.number == number)
        cells = prepared(lesson.nb, lesson.name, pictures)[0]
        shown = "".join(html_of(cell) for cell in cells if "outputs" in cell)
        made.append((headline, lesson, Markup(re.search(r"<img [^>]+>", shown)[0])))
    return made


def is_progress(lesson, cell):
    """What the page of the learner's progress shows."""
    texts = [text(output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", [])]
    return any(words.startswith("Your progress") for words in texts)


def is_playground(lesson, cell):
    """The explorer of the landing page."""
    alive = any(VIEW in output.get("data", {}) for output in cell.get("outputs", []))
    return lesson.number == "02" and alive and "move one neighbor" in text(cell["source"])


def other_pages(lessons, pictures, run=""):
    """{name: Markdown} of the pages that are no lessons, but for the glossary, which is a file."""
    first = {"run": run, "results": results(lessons, pictures)}
    return {
        "index": other_page("landing", lessons, is_playground, pictures, **first),
        "progress": other_page("progress", lessons, is_progress, pictures),
    }


def how_far_script():
    """What fills these lines, by the code of the widgets. No module: a page that is opened as a file loads none."""
    return known_questions() + (WEB / "bundle" / "how_far.js").read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------------------------
# Building


def write_source(lessons, source, static, repository, run):
    """The folder that Sphinx reads: all pages, and the files beside them."""
    pictures = static / "pictures"
    for folder in (source, pictures):
        folder.mkdir(parents=True)
    for lesson in lessons:
        page = json.dumps(lesson_page(lesson, pictures, repository, run))
        (source / f"{lesson.name}.ipynb").write_text(page, encoding="utf-8")
    for name, page in other_pages(lessons, pictures, run).items():
        (source / f"{name}.md").write_text(page, encoding="utf-8")
    shutil.copy(ROOT / "notebooks" / "glossary.md", source)
    (static / "how_far.js").write_text(how_far_script(), encoding="utf-8")
    (static / "theme.css").write_text(theme.css_variables("html"), encoding="utf-8")
    copy_katex(static / "katex")


def run_sphinx(folder, source, static, made):
    """Make the pages; a warning counts as an error."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", WEB, "-d", folder / "doctrees", "-q", "-W"]
    environment = os.environ | {"SITE_STATIC": str(static)}
    done = subprocess.run([*command, "--keep-going", source, made], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise PublishError("Sphinx could not build the pages, see above.")
    shutil.rmtree(made / "_sources", ignore_errors=True)
    for unneeded in [".buildinfo", "objects.inv", "_static/scripts/fontawesome.js", *made.glob("_static/**/*.map")]:
        (made / unneeded).unlink(missing_ok=True)


def build(out, repository, run="", address=""):
    """Write the site; return the number of lessons.

    run: where the lessons of `make lite` are; if they are in the site's own folder, they stay, and count.
    """
    out = Path(out).resolve()
    check_place(out)
    lessons = all_lessons()
    run = f"{lite.FOLDER}/" if (out / lite.FOLDER / "lab" / "index.html").exists() else run
    with tempfile.TemporaryDirectory() as folder:
        source, static, made = (Path(folder) / name for name in ("source", "static", "site"))
        write_source(lessons, source, static, repository, run)
        run_sphinx(Path(folder), source, static, made)
        (made / "download").mkdir()
        for lesson in lessons:
            original = ROOT / "notebooks" / f"{lesson.name}.ipynb"
            (made / "download" / original.name).write_bytes(workbook.copy_of(original))
        slides.write(lessons, made / "slides", "..", address)
        (made / "slides" / MARK).touch()  # so that `make slides` may put new ones there
        (made / ".nojekyll").touch()  # GitHub Pages leaves folders that begin with _ as they are
        replace_folder(made, out, keep=[lite.FOLDER])
    return len(lessons)


def main(arguments=None):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["site"]
    parser = argparse.ArgumentParser(description="Build the reading site.")
    parser.add_argument("out", nargs="?", default=ROOT / "site", help="output folder (default: site/)")
    options = parser.parse_args(arguments)
    where = (settings["repository"], settings["run"] and settings["run"].rstrip("/") + "/", settings["address"])
    return run(lambda options: f"{build(options.out, *where)} lessons", options)


if __name__ == "__main__":
    sys.exit(main())
