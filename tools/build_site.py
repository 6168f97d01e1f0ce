"""Build the reading site: every lesson as a page on which explorers and questions live without a kernel.

    python tools/build_site.py            writes site/
    python tools/build_site.py FOLDER     writes FOLDER

Sphinx makes the pages, with the settings in `tools/web/`. What it cannot know is done here, on copies of the notebooks
before it reads them: what is folded, where widgets come to life and what stands there until then, and the pages that
are no lessons. The address of the repository is in pyproject.toml, under [tool.site].
"""

import argparse
import base64
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import widget_state
import workbook
from replace_folder import NotOurs, check_place, replace_folder
from typeset import KATEX, copy_katex
from widget_state import VIEW, text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from helpers.quiz.questions import all_lessons, answer_keys  # noqa: E402
from helpers.widget_code import slim  # noqa: E402

WEB = ROOT / "tools" / "web"
# The explorer of the landing page: its lesson, and a word of the first line of its cell.
LANDING = ("01_axis_intuition", "playground")


class SiteError(Exception):
    """Ends the program with one sentence."""


# ----------------------------------------------------------------------------------------------------
# Cells


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def fold(cell):
    """Give a code cell the tags and words by which myst-nb folds it: code of pictures, solutions.

    A line that only shows a widget says nothing to a reader.
    """
    tags = cell["metadata"].setdefault("tags", [])
    if any(VIEW in output.get("data", {}) for output in cell["outputs"]) and len(cell["source"]) == 1:
        tags.append("remove-input")
    elif "solution" in tags:
        tags.append("hide-cell")
    elif cell["metadata"].get("jupyter", {}).get("source_hidden"):
        tags.append("hide-input")
    first = text(cell["source"]).partition("\n")[0]
    cell["metadata"]["mystnb"] = {"code_prompt_show": first.lstrip("# ") if first.startswith("#") else "Code"}


def size_of(png, metadata):
    """The width and height at which a picture is shown, as HTML attributes: a page keeps the room until it is there."""
    width, height = struct.unpack(">II", png[16:24])
    shown = metadata.get("width", width)
    return f'width="{shown}" height="{round(height * shown / width)}"'


def picture(output, file, address):
    """HTML of a stored picture, written into a file; its words are the caption, and tell it to those who cannot see."""
    png = base64.b64decode(text(output["data"]["image/png"]))
    file.write_bytes(png)
    metadata = output["metadata"].get("image/png", {})
    caption = metadata.get("alt") or text(output["data"].get("text/plain", ""))
    words = html.escape(caption)
    kind = "still photo" if output["metadata"].get("needs_background") == "light" else "still"
    size = size_of(png, metadata)
    return (
        f'<figure class="{kind}"><img src="{address}/{file.name}" alt="{words}" {size} loading="lazy">'
        f"<figcaption>{words}</figcaption></figure>"
    )


def shown(output, file, address):
    """The output as the site shows it: pictures and the places of widgets as HTML, all else as it is."""
    data = output.get("data", {})
    if "image/png" in data:
        still = picture(output, file, address)
    elif "text/html" in data:
        still = with_links_to_pages(text(data["text/html"]))
    elif VIEW in data:
        still = f"<pre>{html.escape(text(data.get('text/plain', '')))}</pre>"
    else:
        return output
    if VIEW in data:
        still = f'<div class="live" data-model="{data[VIEW]["model_id"]}">\n{still}\n</div>'
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": still}}


def without_captions(outputs):
    """The outputs without the line of text that only repeats the caption of the picture above it."""
    kept, caption = [], None
    for output in outputs:
        if output["output_type"] == "stream" and text(output["text"]).strip() == caption:
            continue
        kept.append(output)
        caption = output.get("metadata", {}).get("image/png", {}).get("alt")
    return kept


def with_links_to_pages(value):
    """Links to other lessons lead to their pages, also inside the state of a widget."""
    if isinstance(value, str):
        return re.sub(r"(?<![\w/])(\d\d_\w+)\.ipynb", r"\1.html", value)
    if isinstance(value, dict):
        return {key: with_links_to_pages(inner) for key, inner in value.items()}
    return [with_links_to_pages(inner) for inner in value] if isinstance(value, list) else value


# ----------------------------------------------------------------------------------------------------
# Pages


def prepared(nb, name, pictures, address="_static/pictures"):
    """(a copy of the notebook with what its cells show as HTML, what its widgets hold). Pictures become files."""
    nb = widget_state.complete(json.loads(json.dumps(nb)))
    models = with_links_to_pages(widget_state.models_of(nb))
    nb["metadata"].pop("widgets", None)
    for number, cell in enumerate(nb["cells"]):
        if cell["cell_type"] == "code":
            fold(cell)
            outputs = enumerate(without_captions(cell["outputs"]))
            cell["outputs"] = [shown(output, pictures / f"{name}-{number}-{k}.png", address) for k, output in outputs]
    return nb, models


def state_on_page(models):
    state = json.dumps(models, ensure_ascii=False).replace("</", "<\\/")
    return f'<script type="application/json" id="widget-state">{state}</script>'


def page(nb, name, pictures):
    """The notebook as myst-nb shall read it, with what its widgets hold on the page itself."""
    nb, models = prepared(nb, name, pictures)
    if models:
        nb["cells"].append(markdown(state_on_page(models)))
    return nb | {"nbformat": 4, "nbformat_minor": 4}  # 4.4: a cell needs no id


def run_it_yourself(name, repository):
    """The block under the head of a lesson: the notebook, and how to run it. Services are named if they can work."""
    links = [f'<a href="download/{name}.ipynb" download>Download the notebook</a>']
    links += [f'<a href="slides/{name}.html">Slides</a>']
    get = '<p>With a copy of the repository and Python 3.11 or newer:</p>\n<pre tabindex="0">make env\nmake lab</pre>'
    github = re.fullmatch(r"https://github\.com/([\w.-]+/([\w.-]+?))(?:\.git)?/?", repository)
    if repository:
        folder = repository.rstrip("/").rpartition("/")[2].removesuffix(".git")
        command = f"git clone {repository}\nmake -C {folder} lab"
        get = f'<p>With git, make and Python 3.11 or newer:</p>\n<pre tabindex="0">{html.escape(command)}</pre>'
    if github:
        place, folder = github.groups()
        binder = f"https://mybinder.org/v2/gh/{place}/HEAD?urlpath=lab/tree/notebooks/{name}.ipynb"
        colab = f"https://colab.research.google.com/github/{place}/blob/HEAD/notebooks/{name}.ipynb"
        links += [f'<a href="{binder}">Open in Binder</a>', f'<a href="{colab}">Open in Colab</a>']
        first = f"!git clone {repository}\n%pip install anywidget\n%cd {folder}/notebooks"
        get += f'\n<p>In Colab, run this first:</p>\n<pre tabindex="0">{html.escape(first)}</pre>'
    get += (
        "\n<p>The first run downloads the packages. A notebook that you download needs the folder <code>helpers</code> "
        "of the repository: put it into the folder <code>workbook</code>.</p>"
    )
    return "\n".join(
        [
            '<div class="run-it">',
            f"<details><summary>Run it yourself</summary>\n{get}\n</details>",
            *links,
            "</div>",
        ]
    ).replace("\n\n", "\n")


# Stands after what it fills, so that nothing moves on a page that is already seen.
PROGRESS_SCRIPT = '<script src="_static/progress.js"></script>'


def progress_line(lesson):
    """A line for what the browser remembers of a lesson, or with "" of all; it stays empty until there is something."""
    return f'<p class="how-far"><a href="progress.html" data-lesson="{lesson}"></a></p>'


def progress_script():
    """What fills these lines, by the code of the widgets. No module: a page that is opened as a file loads none."""
    lessons = json.dumps(list(map(answer_keys, all_lessons())))
    code = [slim(ROOT / "helpers" / "quiz" / name) for name in ("answers.js", "lessons.js")]
    return "\n".join(["(() => {", *code, f"const LESSONS = {lessons};", slim(WEB / "progress.js"), "})();", ""])


def lesson_page(nb, name, pictures, repository):
    made = page(nb, name, pictures)
    under_the_head = [run_it_yourself(name, repository), progress_line(name), PROGRESS_SCRIPT]
    made["cells"].insert(1, markdown("\n".join(under_the_head)))
    return made


def about(name, nb):
    """Number, title, question and minutes of a lesson, from its first cell."""
    first = text(nb["cells"][0]["source"])
    heading = re.match(r"# (\d\d) ([^:\n]+)(?:: ([^\n]+))?", first)
    if not heading:
        raise SiteError(f"{name}.ipynb must begin with '# NN Title: question?'.")
    minutes = re.search(r"\*\*Time\*\* about (\d+) minutes", first)
    number, title, question = heading.groups()
    return {
        "name": name,
        "number": number,
        "title": title,
        "question": question or "",
        "minutes": minutes and minutes[1],
    }


def explorer_cell(lessons):
    """(notebook, cell) of the landing page's explorer: the chosen one, or else the first that there is."""
    wanted, word = LANDING
    explorers = [
        (name, nb, cell)
        for name, nb in lessons.items()
        for cell in nb["cells"]
        if any(VIEW in o.get("data", {}) and "image/png" in o["data"] for o in cell.get("outputs", []))
    ]
    chosen = [each for each in explorers if each[0] == wanted and word in text(each[2]["source"]).partition("\n")[0]]
    return (chosen or explorers or [(None, None, None)])[0][1:]


def alone(cell, nb, before, after):
    """A notebook with one cell of another one, without its code, between two texts."""
    cell = json.loads(json.dumps(cell))
    cell["metadata"] = {"tags": ["remove-input"]}
    return {**nb, "cells": [markdown(before), cell, markdown(after)]}


def lesson_list(lessons):
    """The lessons as an HTML list."""
    rows = []
    for each in (about(name, nb) for name, nb in lessons.items()):
        minutes = f"{each['minutes']} min" if each["minutes"] else ""
        parts = [
            ("number", each["number"]),
            ("title", each["title"]),
            ("question", each["question"]),
            ("minutes", minutes),
        ]
        spans = " ".join(f'<span class="{kind}">{html.escape(words)}</span>' for kind, words in parts)
        spans += f' <span class="how-far" data-lesson="{each["name"]}"></span>'
        rows.append(f'<li><a href="{each["name"]}.html">{spans}</a></li>')
    return "\n".join([progress_line(""), '<ol class="lessons">', *rows, "</ol>", PROGRESS_SCRIPT])


def landing_page(lessons, others, pictures):
    """The first page, from landing.md: a live explorer, for whom this is, the lessons."""
    entries = "\n".join(
        f"{about(name, nb)['number']} {about(name, nb)['title']} <{name}>" for name, nb in lessons.items()
    )
    source = (WEB / "landing.md").read_text(encoding="utf-8")
    source = source.replace("LESSONS", lesson_list(lessons)).replace("ENTRIES", entries)
    before, after = source.replace("OTHERS", "\n".join(others)).split("EXPLORER")
    nb, cell = explorer_cell(lessons)
    if cell is None:
        return {"cells": [markdown(before + after)], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return page(alone(cell, nb, before, after), "index", pictures)


def page_of(name, beginning, lessons, pictures):
    """A page with what a lesson shows whose text begins so, under NAME.md of tools/web/; None when no lesson does."""
    for lesson, nb in lessons.items():
        for cell in nb["cells"]:
            texts = [text(output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", [])]
            if any(text.startswith(beginning) for text in texts):
                before = (WEB / f"{name}.md").read_text(encoding="utf-8").replace("LESSON", f"{lesson}.ipynb")
                return page(alone(cell, nb, before.replace("TITLE", beginning), ""), name, pictures)
    return None


def claims_page(lessons, pictures):
    """The ledger of claims, as the lesson that has it shows it; None when there is none."""
    file = ROOT / "helpers" / "data" / "claims.toml"
    if not file.exists():
        return None
    return page_of("claims", tomllib.loads(file.read_text(encoding="utf-8"))["title"], lessons, pictures)


# ----------------------------------------------------------------------------------------------------
# Building


def write_source(source, static, repository):
    """The folder that Sphinx reads: all pages, and the files beside them. Returns how many lessons there are."""
    lessons = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("notebooks/*.ipynb"))
    }
    pictures = static / "pictures"
    pictures.mkdir(parents=True)
    pages = {name: lesson_page(nb, name, pictures, repository) for name, nb in lessons.items()}
    others = []
    (static / "progress.js").write_text(progress_script(), encoding="utf-8")
    if progress := page_of("progress", "Your progress", lessons, pictures):
        pages["progress"] = progress
        others.append("Your progress <progress>")
    if claims := claims_page(lessons, pictures):
        pages["claims"] = claims
        others.append("Claims <claims>")
    glossary = ROOT / "notebooks" / "glossary.md"
    if glossary.exists():
        shutil.copy(glossary, source)
        others.append("Glossary <glossary>")
    pages["index"] = landing_page(lessons, others, pictures)
    for name, nb in pages.items():
        # A lesson names the glossary so that the learner's copy in workbook/ finds it, too.
        text = json.dumps(nb).replace("../notebooks/glossary.md", "glossary.md")
        (source / f"{name}.ipynb").write_text(text, encoding="utf-8")
    if not KATEX.is_dir():
        raise SiteError("KaTeX is not installed: run `make site`, which needs Node and npm.")
    copy_katex(static / "katex")
    return len(lessons)


def build(out, repository):
    """Write the site; return (number of lessons, Sphinx's warnings)."""
    out = Path(out).resolve()
    check_place(out)
    with tempfile.TemporaryDirectory() as folder:
        source, static = Path(folder) / "source", Path(folder) / "static"
        source.mkdir()
        count = write_source(source, static, repository)
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", WEB, "-d", Path(folder) / "doctrees", "-q", "-a"]
        command += ["-w", Path(folder) / "warnings", source, Path(folder) / "site"]
        environment = os.environ | {"SITE_STATIC": str(static)}
        done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SiteError("Sphinx could not build the pages, see above.")
        warnings = (Path(folder) / "warnings").read_text(encoding="utf-8")
        made = Path(folder) / "site"
        download = made / "download"
        download.mkdir()
        for path in ROOT.glob("notebooks/*.ipynb"):
            (download / path.name).write_bytes(workbook.copy_of(path))
        slides = [sys.executable, ROOT / "tools" / "build_slides.py", made / "slides", "--pages", ".."]
        if subprocess.run(slides, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode:
            raise SiteError("The slides could not be built, see above.")
        shutil.rmtree(made / "_sources", ignore_errors=True)
        for unneeded in [".buildinfo", "objects.inv", "_static/scripts/fontawesome.js", *made.glob("_static/**/*.map")]:
            (made / unneeded).unlink(missing_ok=True)
        (made / ".nojekyll").touch()  # GitHub Pages leaves folders that begin with _ as they are
        replace_folder(made, out)
    return count, warnings


def main(arguments=None):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")).get("tool", {}).get("site", {})
    parser = argparse.ArgumentParser(description="Build the reading site.")
    parser.add_argument("out", nargs="?", default=ROOT / "site", help="the folder to write, site/ if not said")
    parser.add_argument(
        "--repository", default=settings.get("repository", ""), help="instead of that in pyproject.toml"
    )
    options = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        count, warnings = build(options.out, options.repository)
    except (SiteError, NotOurs) as reason:
        print(reason, file=sys.stderr)
        return 1
    print(f"{count} lessons in {time.monotonic() - began:.0f} s: open {Path(options.out) / 'index.html'}")
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
