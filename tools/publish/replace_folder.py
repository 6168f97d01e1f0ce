"""Put a folder of made pages in place of the one made before, and never in place of anybody's own files."""

import shutil
from pathlib import Path

MARK = ".made"  # lies in every folder that was made here


class NotOurs(Exception):
    """The place is taken, in one sentence."""


def check_place(out):
    """Refuse a place where files are that were not made here. A folder of folders that were is one of ours."""
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise NotOurs(f"{out} is a file: name a folder.")
    if out.is_dir() and not (out / MARK).exists() and not all((inner / MARK).exists() for inner in out.iterdir()):
        raise NotOurs(f"{out} holds other files: name a folder that is empty or new, or empty this one yourself.")


def replace_folder(made, out, keep=()):
    """Put `made` in place of `out`; folders named in `keep`, if they were made here, stay as they are."""
    made, out = Path(made), Path(out)
    check_place(out)
    (made / MARK).touch()
    for old in out.iterdir() if out.exists() else ():
        if old.name in keep and (old / MARK).exists():
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    shutil.copytree(made, out, dirs_exist_ok=True)
