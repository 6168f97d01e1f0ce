"""Re-execute notebooks in place and store them in one normal form.

    python -m tools.author.record                          every notebook in notebooks/
    python -m tools.author.record notebooks/01*.ipynb      only these

A notebook is overwritten only when all of its cells ran. A lesson that nobody touched keeps every byte: what is stored
does not depend on the clock, the processor, the editor, an earlier run, or other cells.
"""

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import nbformat

from tools.lessons import ROOT, VIEW, tags_of, write_atomically
from tools.marks import write_marks

CELL_TIMEOUT = 120  # seconds; the lessons' own budget is 2 s a cell, this only ends a cell that hangs
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# Without the Python version: it would change with every author's machine and nothing reads it.
LANGUAGE_INFO = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
MODEL_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
REFERENCE = re.compile(r"IPY_MODEL_([0-9a-f]{32})(?![0-9a-f])")
MEASURED = ROOT / "tests" / "measured.cfg"
KEPT_METADATA = ("discussion", "jp-MarkdownHeadingCollapsed", "slideshow", "tags")
GROUP = ("text/plain", "text/html")  # what check_all displays
FOR_TORCH = "nbval-ignore-output"  # the tag of a cell that prints something else where PyTorch is missing
LONG = 1000  # characters of a widget model that stand on one line
OPENED = (WIDGET_STATE, "state", "lessons")  # what has a line for each entry, if it is long


class RecordError(Exception):
    """A notebook that cannot be recorded; the message says where and why."""


def read_notebook(path):
    """The notebook, with an id for every cell that has none or that of another cell."""
    return nbformat.validator.normalize(nbformat.v4.upgrade(nbformat.read(path, as_version=4)))[1]


def execute(nb, folder, name):
    """Run every cell of `nb` (changed in place) in a fresh python3 kernel that works in `folder`."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    current = {"index": 0}
    nb.metadata.pop("widgets", None)
    nb.metadata.kernelspec = dict(KERNELSPEC)
    client = NotebookClient(
        nb,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # the kernel's remarks about its own transport are no one's concern
        store_widget_state=True,
        record_timing=False,
        on_cell_start=lambda cell, cell_index: current.update(index=cell_index),
    )
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HELPERS_STRICT": "1", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory(prefix="record-ipython-") as empty:  # no start-up files, no profile
        try:
            client.execute(env={**os.environ, **settings, "IPYTHONDIR": empty})
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise RecordError(f"{where(nb, name, current['index'])}\n{plain_traceback(error)}") from None


def where(nb, name, index):
    """`name, cell 7 of 31: first line of its source`"""
    line = next((line for line in nb.cells[index].source.splitlines() if line.strip()), "").strip()
    return f"{name}, cell {index + 1} of {len(nb.cells)}: {line}"


def plain_traceback(error):
    """The lines at which it was raised and what it says, without terminal colors."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", getattr(error, "traceback", "") or str(error)).strip().splitlines()
    return "\n".join([line for line in lines if re.match("-+> ", line)] + lines[-1:])


def normalize(nb):
    """Bring an executed notebook into its normal form, in place, and return it.

    Every cell counts as the first that was executed, so that an inserted cell changes no line of another.
    """
    for cell in nb.cells:
        kept = {key: cell.metadata[key] for key in KEPT_METADATA if cell.metadata.get(key)}
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            kept["jupyter"] = {"source_hidden": True}
        cell.metadata = nbformat.from_dict(kept)
        if cell.cell_type != "code":
            continue
        cell.execution_count = 1 if cell.source.strip() else None
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            output.pop("transient", None)
            if output.output_type == "execute_result":
                output.execution_count = 1
    widgets = nb.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    nb.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO})
    number_widgets(nb, widgets)
    return nb


def merge_streams(outputs):
    """Join neighboring pieces of one stream: how print's text is cut into messages depends on timing."""
    merged = []
    for output in outputs:
        if merged and output.output_type == merged[-1].output_type == "stream" and output.name == merged[-1].name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def without_measured(text):
    """The text without the digits that nbval leaves out of its comparison, and in long lines."""
    from nbval.plugin import get_sanitize_patterns

    for pattern, replacement in get_sanitize_patterns(MEASURED.read_text("ascii")):
        text = re.sub(pattern, replacement, text)
    return text


def keep_stored(nb, stored):
    """Give `nb` the stored output of an unchanged cell where only what depends on the processor differs.

    That is digits that check_between measured, while its checks pass, and single pixels; without PyTorch all it prints.
    """
    before = {cell.id: cell for cell in stored.cells}
    for cell in nb.cells:
        same = before.get(cell.id)
        if cell.cell_type != "code" or same is None or same.source != cell.source:
            continue
        alike = len(cell.outputs) == len(same.outputs) and all(map(looks_alike, cell.outputs, same.outputs))
        if alike or FOR_TORCH in tags_of(cell) and find_spec("torch") is None:
            cell.outputs = same.outputs


def looks_alike(new, old):
    """Whether two outputs of a cell differ in measured digits and single pixels only."""
    if new.output_type == old.output_type == "stream":
        return without_measured(new.text) == without_measured(old.text)
    if is_group(new) and is_group(old):
        return all(without_measured(new.data[kind]) == without_measured(old.data[kind]) for kind in GROUP)
    new, old = dict(new.get("data", {})), dict(old.get("data", {}))
    return new == old or same_picture(old.pop("image/png", None), new.pop("image/png", None)) and new == old


def is_group(output):
    """Whether `check_all` has displayed it."""
    data = output.get("data", {})
    return all(kind in data for kind in GROUP) and data["text/plain"].startswith(("PASS - ", "FAIL - "))


def same_picture(old, new):
    """Whether at most one pixel in 50 000 of two PNGs in base64 looks different."""
    if not old or not new or old == new:
        return False
    import numpy as np
    from PIL import Image

    pictures = [Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB") for png in (old, new)]
    old, new = (np.asarray(picture, dtype=int) for picture in pictures)
    return old.shape == new.shape and (np.abs(old - new).max(axis=2) > 20).mean() <= 1 / 50_000


def number_widgets(nb, models):
    """Keep only the widget models a reader can meet, under ids that follow from the cells that show them.

    Kept are the displayed models, everything they refer to, and the links between kept models; of their numbers nine
    digits, which are the same on every processor.
    """
    new_ids = stable_ids(nb, models)
    if not new_ids:
        return
    state = {key: without_nulls(models[key]) for key in new_ids}
    nb.metadata["widgets"] = {WIDGET_STATE: {"state": state, "version_major": 2, "version_minor": 0}}
    renamed = MODEL_ID.sub(lambda found: new_ids.get(found[0], found[0]), json.dumps(nb))
    nb.update(nbformat.from_dict(json.loads(renamed, parse_float=lambda digits: float(f"{float(digits):.9g}"))))


def stable_ids(nb, models):
    """{a kept model's random id: its stored one}, the same in every run, also when other cells come or go.

    A model's id is made of the id of the cell that shows it, and for one that several cells share, of its kind.
    """
    cells_of = {}
    for cell in nb.cells:
        for key in models_shown_in(cell, models):
            cells_of.setdefault(key, []).append(cell.id)
    count, new_ids = Counter(), {}

    def name(key, home):
        count[home] += 1
        new_ids[key] = hashlib.md5(f"{home} {count[home]}".encode(), usedforsecurity=False).hexdigest()

    for key, cells in cells_of.items():
        kind = [models[key]["model_name"], models[key]["state"].get("_anywidget_id")]
        name(key, cells[0] if len(cells) == 1 else f"shared {kind}")
    for key, ends in sorted(links_between(new_ids, models), key=lambda link: link[1]):
        name(key, f"link {ends}")
    return new_ids


def models_shown_in(cell, models):
    """The models that a cell's outputs show and, depth first in the order of their keys, all they refer to."""
    found = {}

    def follow(key):
        if key in models and key not in found:
            found[key] = True
            for reference in REFERENCE.findall(json.dumps(models[key].get("state", {}), sort_keys=True)):
                follow(reference)

    for output in cell.get("outputs", []):
        if VIEW in output.get("data", {}):
            follow(output.data[VIEW]["model_id"])
    return list(found)


def links_between(new_ids, models):
    """(id, what it joins) of every link between models that are kept."""
    for key in models.keys() - new_ids.keys():
        ends = [models[key]["state"].get(side) or [""] for side in ("source", "target")]
        kept = [new_ids.get(end[0].removeprefix("IPY_MODEL_")) for end in ends]
        if all(kept):
            yield key, [(model, end[1]) for model, end in zip(kept, ends, strict=True)]


def without_nulls(model):
    """The model in its normal form: a front end fills in what is null; a Layout alone has forty such entries."""
    model["state"] = {trait: value for trait, value in model["state"].items() if value is not None}
    if "buffers" in model:
        model["buffers"] = sorted(model["buffers"], key=lambda buffer: [str(part) for part in buffer["path"]])
    return model


def notebook_bytes(nb):
    """The file's bytes: keys sorted, one space of indent, newline at the end, the same on every platform."""
    nbformat.validate(nb)
    return (layout(json.loads(nbformat.writes(nb))) + "\n").encode("utf-8")


def layout(value, indent=0, key="", in_widgets=False):
    """JSON as nbformat writes it; in the widget state, a small model is one line, and so is each part of a large one.

    Of the questions of all lessons, each lesson is a line.
    """
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True)
    in_widgets = in_widgets or key == WIDGET_STATE
    opened = len(flat) > LONG and (key in OPENED or MODEL_ID.fullmatch(key)) if in_widgets else True
    if not value or not isinstance(value, (dict, list)) or not opened:
        return flat
    if isinstance(value, list):
        items = [layout(item, indent + 1, "", in_widgets) for item in value]
    else:
        pairs = sorted(value.items())
        items = [f"{json.dumps(name)}: {layout(item, indent + 1, name, in_widgets)}" for name, item in pairs]
    line = "\n" + " " * indent
    return flat[0] + line + " " + f",{line} ".join(items) + line + flat[-1]


def record(path):
    """Re-execute one notebook and return what happened; on RecordError nothing was written."""
    path = Path(path)
    stored, nb = read_notebook(path), read_notebook(path)
    execute(nb, path.resolve().parent, path.name)
    normalize(nb)
    write_marks(nb.cells)
    keep_stored(nb, stored)
    data = notebook_bytes(nb)
    if data == path.read_bytes():
        return "unchanged"
    write_atomically(path, data)
    return "written"


def record_all(paths):
    """Record notebooks one after the other, a line for each; return those that failed."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # not a kernel of the same name in the home folder
    failed = []
    for path in paths:
        start = time.perf_counter()
        try:
            outcome = record(path)
        except (RecordError, OSError, ValueError) as error:
            failed.append(path)
            print(error, file=sys.stderr, flush=True)
            outcome = "failed, not overwritten"
        seconds = time.perf_counter() - start
        print(f"{path.name:36s} {seconds:5.1f} s  {path.stat().st_size / 1000:4.0f} kB  {outcome}", flush=True)
    return failed


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: every notebook in notebooks/")
    notebooks = parser.parse_args(arguments).notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    return 1 if record_all(notebooks) else 0


if __name__ == "__main__":
    sys.exit(main())
