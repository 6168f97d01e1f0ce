"""Put a folder of made pages in place of the one made before, and never in place of anybody's own files."""

import shutil
from pathlib import Path

MARK = ".made"  # lies in every folder that was made here


class NotOurs(Exception):
    """The place is taken, in one sentence."""


def check_place(out):
    """Refuse a folder that holds files which were not made here."""
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise NotOurs(f"{out} holds other files: name a folder that is empty or new, or empty this one yourself.")
    if out.exists() and not out.is_dir():
        raise NotOurs(f"{out} is a file: name a folder.")


def replace_folder(made, out):
    check_place(out)
    (Path(made) / MARK).touch()
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(made, out)
