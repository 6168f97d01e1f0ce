"""The learner's own copies of the lessons.

    python -m tools.learner.workbook              bring workbook/ up to date
    python -m tools.learner.workbook reset 02     take lesson 02 again and keep the old copy beside it

A learner works in workbook/, never in notebooks/. Each copy remembers, in its own metadata, what it was
copied from. A copy whose cells are still as they were copied follows its original; running it does not count
as a change. One with other cells holds answers and stays, whatever happens to its original. No file with
answers is ever overwritten. In a copy, what answers a prediction (cells tagged `answer`) stays back: code comes
without its outputs, text is folded. Links lead to other copies, of the glossary too.
"""

import argparse
import hashlib
import json
import sys

from tools.learner import widget_state
from tools.lessons import ROOT, LessonError, original_of, parts_of, text, waiting_classes, with_place, write_atomically

KEY = "normalization_notebooks"  # the entry in a copy's metadata
RENAMED = {"15_practice": "16_practice", "16_why_norms_help": "15_why_norms_help"}  # copies follow their lesson
GUESS_FIRST = "Commit to your guess above, then run this cell (Shift+Enter)."
# What waits for a guess has two classes, by which the question finds it (helpers/widgets/quiz/quiz.js).
LINE = '<p class="{}">' + GUESS_FIRST + "</p>"
FOLD = '<details class="{}"><summary>After your guess</summary>'
END_OF_FOLD = "\n\n</details>"


def load(path):
    """The notebook as a dict, or None when the file is not a whole notebook."""
    try:
        nb = json.loads(path.read_text(encoding="utf-8"))
        sources_of(nb)
        nb["metadata"].get(KEY)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return nb


def sources_of(nb):
    """A hash of what a learner writes: each cell's kind and text, not outputs, counts, ids or metadata.

    Empty cells do not count: running the last cell with Shift-Enter appends one.
    """
    cells = [[cell["cell_type"], text(cell["source"]).rstrip()] for cell in nb["cells"]]
    return hashlib.sha256(json.dumps([cell for cell in cells if cell[1]]).encode()).hexdigest()


def remembered(copy):
    """What the copy says about its origin: {"sources": ..., "original": ...}, or {} when it says nothing."""
    entry = copy["metadata"].get(KEY)
    return entry if isinstance(entry, dict) else {}


def copy_of(original):
    """The bytes of a fresh copy: the original with its answers hidden, and the note of what it was copied from."""
    data = original.read_bytes()
    nb = as_copied(json.loads(data))
    nb["metadata"][KEY] = {"sources": sources_of(nb), "original": hashlib.sha256(data).hexdigest()}
    return (json.dumps(nb, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")


def as_copied(nb):
    """Hold back what cells tagged `answer` show, and let links lead to the learner's copies."""
    cells, core = [], [part for part in parts_of(nb) if part.core]
    for cell, waits in zip(nb["cells"], waiting_classes(nb["cells"]), strict=True):
        before = text(cells[-1]["source"]) if cells else ""
        if cell["cell_type"] == "markdown":
            cell["source"] = with_place(text(cell["source"]).replace("](../notebooks/", "]("), core)
            if waits and before.startswith(FOLD.format(waits)):  # two texts in a row are one fold
                cells[-1]["source"] = before.removesuffix(END_OF_FOLD) + f"\n\n{cell['source'].strip()}" + END_OF_FOLD
                continue
            if waits:
                cell["source"] = FOLD.format(waits) + f"\n\n{cell['source'].strip()}" + END_OF_FOLD
        elif waits and cell.get("outputs"):
            data = {"text/plain": GUESS_FIRST, "text/html": LINE.format(waits)}
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
            cell["execution_count"] = None
        cells.append(cell)
    return widget_state.complete(nb | {"cells": cells})


def copy_text(original, folder):
    """Let the copy of the glossary follow: a text to read, which nobody can lose work in, since it is read-only."""
    copy = folder / original.name
    if not copy.exists() or copy.read_bytes() != original.read_bytes():
        if copy.exists():
            copy.chmod(0o644)  # Windows does not replace a read-only file
        write_atomically(copy, original.read_bytes())
    copy.chmod(0o444)


def keep_aside(path, word):
    """Give the file a name of its own, never that of another file; return it.

    02_batch_dependence becomes 02_mine-1_batch_dependence: beside the old one, and readable in a narrow file list.
    """
    number, _, rest = path.stem.partition("_")
    n = 1
    while (aside := path.with_name(f"{number}_{word}-{n}_{rest}{path.suffix}")).exists():
        n += 1
    return path.rename(aside)


def update(root=ROOT, say=print):
    """Bring workbook/ up to date; return the copies that may be trusted, because they are as we wrote them.

    What a learner saves, JupyterLab signs itself if all of it was trusted or run there.
    """
    folder = root / "workbook"
    folder.mkdir(exist_ok=True)
    for leftover in folder.glob(".copying-*.tmp"):  # of an interrupted run; the copy itself is whole
        leftover.unlink()
    for words in (root / "notebooks").glob("*.md"):
        copy_text(words, folder)
    for was, name in RENAMED.items():
        if (folder / f"{was}.ipynb").exists() and not (folder / f"{name}.ipynb").exists():
            (folder / f"{was}.ipynb").rename(folder / f"{name}.ipynb")
    new, followed, trusted = [], [], []
    for original in sorted((root / "notebooks").glob("*.ipynb")):
        if load(original) is None:
            say(f"notebooks/{original.name} is damaged and was left out: restore it from git.")
            continue
        copy, fresh = folder / original.name, copy_of(original)
        saved = copy.with_name(f".~{copy.name}")  # JupyterLab keeps it there while it writes: left by a crash
        if copy.exists() and load(copy) is None and load(saved) is not None:
            saved.replace(copy)
        if copy.exists() and load(copy) is None:
            aside = keep_aside(copy, "unreadable")
            say(f"workbook/{copy.name} could not be read; it is kept as {aside.name}; a new copy was made.")
            write_atomically(copy, fresh)
        elif not copy.exists():
            write_atomically(copy, fresh)
            new.append(copy)
        elif follows(load(copy), json.loads(fresh), copy, say):
            write_atomically(copy, fresh)
            followed.append(copy)
        if copy.read_bytes() == fresh:
            trusted.append(copy)
    if new:
        say(f"Copied {len(new)} {'lesson' if len(new) == 1 else 'lessons'} to workbook/; work there.")
    if followed:
        say("Updated, since you had not changed them: " + ", ".join(copy.name for copy in followed))
    return trusted


def follows(old, fresh, path, say):
    """Whether a fresh copy may take the place of the old one; says so where answers keep a new lesson out."""
    memory, wanted = remembered(old), remembered(fresh)
    if sources_of(old) in (memory.get("sources"), wanted["sources"]):
        return memory.get("original") != wanted["original"]
    if memory.get("sources") != wanted["sources"]:
        say(
            f"workbook/{path.name} holds your answers and was kept; its lesson has changed: "
            f"`make reset LESSON={path.name[:2]}` takes the new one and keeps yours beside it."
        )
    return False


def reset(lesson, root=ROOT, say=print):
    """Take a lesson again; the old copy stays beside it under a new name. Return both paths (old: or None)."""
    original = original_of(lesson, root)
    if load(original) is None:
        raise LessonError(f"notebooks/{original.name} is damaged: restore it from git first.")
    copy, fresh, aside = root / "workbook" / original.name, copy_of(original), None
    copy.parent.mkdir(exist_ok=True)
    if copy.exists() and copy.read_bytes() != fresh:
        aside = keep_aside(copy, "mine")
    write_atomically(copy, fresh)
    kept = f"; your old copy is workbook/{aside.name}" if aside else ""
    say(f"workbook/{copy.name} is new{kept}. If it is open, reload it (File, Reload Notebook from Disk).")
    say("Your guesses stay in the browser: 'Clear my answers' at the end of the lesson deletes them.")
    return copy, aside


def trust(paths, say=print):
    """Sign notebooks as `jupyter trust` does, so that their widgets live before anything is run."""
    try:
        import nbformat
        from nbformat.sign import NotebookNotary

        notary = NotebookNotary()
        try:
            for path in paths:
                notary.sign(nbformat.read(path, as_version=4))
        finally:
            notary.store.close()
    except Exception as error:  # a read-only home, a damaged database: the lessons work, their pictures are static
        say(f"The lessons could not be marked as trusted ({error}); run their cells to activate their widgets.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Bring workbook/ up to date, or reset one lesson.")
    parser.add_argument("command", nargs="?", choices=["update", "reset"], default="update")
    parser.add_argument("lesson", nargs="?", default="", help="for reset: the lesson's number, as in 02")
    options = parser.parse_args(arguments)
    try:
        if options.command == "reset" and not options.lesson:
            raise LessonError("Name the lesson, as in `make reset LESSON=02`.")
        trust(update() if options.command == "update" else [reset(options.lesson)[0]])
    except LessonError as reason:
        print(reason, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"workbook/ could not be written ({error.strerror}: {error.filename}).", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
