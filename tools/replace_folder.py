"""Put a folder of made pages in place of the one made before, and never in place of anybody's own files."""

import shutil
from pathlib import Path

MARK = ".made"  # lies in every folder that was made here


class NotOurs(Exception):
    """The place is taken, in one sentence."""


def is_ours(folder):
    """Whether all that is in a folder was made here; nothing may be in it."""
    return (folder / MARK).exists() or all((inner / MARK).exists() for inner in folder.iterdir())


def check_place(out):
    """Refuse a place where files are that were not made here."""
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise NotOurs(f"{out} is a file: name a folder.")
    if out.is_dir() and not is_ours(out):
        raise NotOurs(f"{out} holds other files: name a folder that is empty or new, or empty this one yourself.")


def replace_folder(made, out):
    check_place(out)
    (Path(made) / MARK).touch()
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(made, out)
