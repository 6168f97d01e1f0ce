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
import os
import sys
from pathlib import Path

from tools.learner import widget_state
from tools.lessons import ROOT, LessonError, original_of, text, write_atomically

KEY = "normalization_notebooks"  # the entry in a copy's metadata
GUESS_FIRST = "Commit to your guess above, then run this cell (Shift+Enter).\n"
FOLDED = "<details><summary>After your guess</summary>\n\n{}\n\n</details>"
SEAL = "\n<!-- Copied by make lab, {} -->\n"  # closes the copy of a text, with the hash of what stands above


# ----------------------------------------------------------------------------------------------------
# Reading and comparing


def load(path):
    """The notebook as a dict, or None when the file is not a whole notebook."""
    try:
        nb = json.loads(Path(path).read_text(encoding="utf-8"))
        sources_of(nb)
        nb["metadata"].get(KEY)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return nb


def sources_of(nb):
    """A hash of what a learner writes: each cell's kind and text, not outputs, counts, ids or metadata.

    Empty cells do not count: running the last cell with Shift-Enter appends one.
    """
    cells = []
    for cell in nb["cells"]:
        source = text(cell["source"])
        if source.strip():
            cells.append([cell["cell_type"], source.rstrip()])
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def hash_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def remembered(copy):
    """What the copy says about its origin: {"sources": ..., "original": ...}, or {} when it says nothing."""
    entry = copy["metadata"].get(KEY)
    return entry if isinstance(entry, dict) else {}


# ----------------------------------------------------------------------------------------------------
# Writing


def copy_of(original):
    """The bytes of a fresh copy: the original with its answers hidden, and the note of what it was copied from."""
    nb = as_copied(json.loads(Path(original).read_text(encoding="utf-8")))
    nb["metadata"][KEY] = {"sources": sources_of(nb), "original": hash_of(original)}
    return (json.dumps(nb, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")


def as_copied(nb):
    """Hold back what cells tagged `answer` show, and let links lead to the learner's copies."""
    for cell in nb["cells"]:
        answers = "answer" in cell.get("metadata", {}).get("tags", [])
        if cell["cell_type"] == "markdown":
            source = text(cell["source"]).replace("](../notebooks/", "](")
            cell["source"] = FOLDED.format(source.strip()) if answers else source
        elif answers and cell.get("outputs"):
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [GUESS_FIRST]}]
            cell["execution_count"] = None
    return widget_state.complete(nb)


def sealed(words):
    """The copy of a text that no metadata can go with."""
    return words + SEAL.format(hashlib.sha256(words.encode()).hexdigest()[:16])


def copy_text(original, folder):
    """Copy a text, or let its copy follow, unless a learner has written in it."""
    copy = folder / original.name
    wanted = sealed(original.read_text(encoding="utf-8"))
    try:
        there = copy.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = sealed("")
    if there != wanted and there == sealed(there.rpartition(SEAL.partition("{")[0])[0]):
        write_atomically(copy, wanted.encode("utf-8"))


def keep_aside(path, word):
    """Give the file a name of its own, never that of another file; return it.

    02_batch_dependence becomes 02_mine-1_batch_dependence: beside the old one, and readable in a narrow file list.
    """
    number, _, rest = path.stem.partition("_")
    n = 1
    while True:
        aside = path.with_name(f"{number}_{word}-{n}_{rest}{path.suffix}")
        try:
            os.close(os.open(aside, os.O_CREAT | os.O_EXCL))  # reserve the name
        except FileExistsError:
            n += 1
            continue
        os.replace(path, aside)
        return aside


# ----------------------------------------------------------------------------------------------------
# The two commands


def lesson_of(path):
    """'02' of 02_batch_dependence.ipynb."""
    return path.name.split("_")[0]


def undo_interrupted_saves(folder, say):
    """Before JupyterLab writes over a file it copies it to `.~name`: there it is whole after a crash in mid-save."""
    for before in folder.glob(".~*.ipynb"):
        file = folder / before.name.removeprefix(".~")
        if load(file) is None and load(before) is not None:
            os.replace(before, file)
            say(f"The last save of workbook/{file.name} was interrupted; the file is as it was.")


def update(root=ROOT, say=print):
    """Bring workbook/ up to date; return the copies that may be trusted, because they are as we wrote them.

    What a learner saves, JupyterLab signs itself if all of it was trusted or run there.
    """
    root = Path(root)
    folder = root / "workbook"
    originals = sorted((root / "notebooks").glob("*.ipynb"))
    folder.mkdir(exist_ok=True)
    for leftover in folder.glob(".copying-*.tmp"):  # of an interrupted run; the copy itself is whole
        leftover.unlink()
    undo_interrupted_saves(folder, say)
    for words in sorted((root / "notebooks").glob("*.md")):
        copy_text(words, folder)
    trusted = []
    new, followed = [], []
    for original in originals:
        copy = folder / original.name
        source = load(original)
        if source is None:
            say(f"notebooks/{original.name} is damaged and was left out: restore it from git.")
            continue
        if not copy.exists():
            write_atomically(copy, copy_of(original))
            new.append(copy)
            trusted.append(copy)
            continue
        old = load(copy)
        if old is None:
            aside = keep_aside(copy, "unreadable")
            write_atomically(copy, copy_of(original))
            trusted.append(copy)
            say(f"workbook/{copy.name} could not be read; it is kept as {aside.name}; a new copy was made.")
            continue
        memory = remembered(old)
        mine, theirs = sources_of(old), sources_of(as_copied(source))
        if mine not in (memory.get("sources"), theirs):
            if theirs != memory.get("sources"):
                say(
                    f"workbook/{copy.name} holds your answers and was kept; its lesson has changed: "
                    f"`make reset LESSON={lesson_of(copy)}` takes the new one and keeps yours beside it."
                )
            continue
        if memory.get("original") != hash_of(original):
            write_atomically(copy, copy_of(original))
            followed.append(copy)
        if copy.read_bytes() == copy_of(original):
            trusted.append(copy)
    if new:
        say(f"Copied {len(new)} {'lesson' if len(new) == 1 else 'lessons'} to workbook/; work there.")
    if followed:
        say("Updated, since you had not changed them: " + ", ".join(copy.name for copy in followed))
    return trusted


def reset(lesson, root=ROOT, say=print):
    """Take a lesson again; the old copy stays beside it under a new name. Return both paths (old: or None)."""
    root = Path(root)
    original = original_of(lesson, root)
    if load(original) is None:
        raise LessonError(f"notebooks/{original.name} is damaged: restore it from git first.")
    folder = root / "workbook"
    folder.mkdir(exist_ok=True)
    copy = folder / original.name
    data = copy_of(original)
    aside = None
    if copy.exists() and copy.read_bytes() != data:
        aside = keep_aside(copy, "mine")
    write_atomically(copy, data)
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
        if options.command == "update":
            trust(update())
        elif not options.lesson:
            raise LessonError("Name the lesson, as in `make reset LESSON=02`.")
        else:
            copy, _ = reset(options.lesson)
            trust([copy])
    except LessonError as reason:
        print(reason, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"workbook/ could not be written ({error.strerror}: {error.filename}).", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
