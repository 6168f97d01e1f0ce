"""Re-execute notebooks in place and store them in one normal form.

    python -m tools.author.record                          every notebook in notebooks/
    python -m tools.author.record notebooks/01*.ipynb      only these

A notebook is overwritten only when all of its cells ran. Others that show a changed question (00 and 15 show something
of every lesson) are then recorded, too. Two runs give the same bytes: execution counts,
widget model ids and metadata do not depend on the clock, the machine, the editor or an earlier run. What check_between
measures does, so its stored line stays if nothing else in its output has changed, and its value only a little.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import nbformat

from tools.author import stale

ROOT = Path(__file__).resolve().parents[2]
CELL_TIMEOUT = 120  # seconds; the lessons' own budget is 2 s a cell, this only ends a cell that hangs
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# Without the Python version: it would change with every author's machine and nothing reads it.
LANGUAGE_INFO = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
MODEL_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
REFERENCE = re.compile(r"IPY_MODEL_([0-9a-f]{32})(?![0-9a-f])")
NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]\d+)?")
SAME_LINE = re.compile(r"\n(?! {7})")  # what follows seven spaces continues the line before it


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
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS")}
    with tempfile.TemporaryDirectory(prefix="record-ipython-") as empty:  # no start-up files, no profile
        personal = {"HELPERS_STRICT": "1", "PYTHONHASHSEED": "0", "IPYTHONDIR": empty}
        try:
            client.execute(env={**os.environ, **one_thread, **personal})
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise RecordError(f"{where(nb, name, current['index'])}\n{plain_traceback(error)}") from None


def where(nb, name, index):
    """`name, cell 7 of 31 (In [3]): first line of its source`"""
    cell = nb.cells[index]
    count = sum(1 for c in nb.cells[: index + 1] if c.cell_type == "code" and c.source.strip())
    line = next((line for line in cell.source.splitlines() if line.strip()), "").strip()
    return f"{name}, cell {index + 1} of {len(nb.cells)} (In [{count}]): {line}"


def plain_traceback(error):
    """The traceback without terminal colors, at most its last 30 lines."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", getattr(error, "traceback", "") or str(error))
    return "\n".join(text.strip().splitlines()[-30:])


def normalize(nb):
    """Bring an executed notebook into its normal form, in place, and return it.

    Of a cell's metadata only its tags, a folded source and a section's question for the class stay.
    """
    count = 0
    for cell in nb.cells:
        folded = cell.metadata.get("jupyter", {}).get("source_hidden")
        tags = cell.metadata.get("tags")
        discussion = cell.metadata.get("discussion")
        metadata = ({"jupyter": {"source_hidden": True}} if folded else {}) | ({"tags": tags} if tags else {})
        cell.metadata = nbformat.from_dict(metadata | ({"discussion": discussion} if discussion else {}))
        if cell.cell_type != "code":
            continue
        count += bool(cell.source.strip())
        cell.execution_count = count if cell.source.strip() else None
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            output.pop("transient", None)
            if output.output_type == "execute_result":
                output.execution_count = count
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

    for pattern, replacement in get_sanitize_patterns((Path(__file__).parent / "measured.cfg").read_text("ascii")):
        text = re.sub(pattern, replacement, text)
    return text


def keep_measured(nb, stored):
    """Give `nb` the stored text of each output in which nothing but check_between's values moved, and these little.

    A text whose cell or other lines have changed is taken whole: half of it would contradict the other half.
    """
    before = {cell.id: cell for cell in stored.cells}
    for cell in nb.cells:
        same = before.get(cell.id)
        if same is None or same.source != cell.source:
            continue
        for new, old in zip(cell.get("outputs", []), same.get("outputs", []), strict=False):
            if new.output_type == old.output_type == "stream":
                lines, old_lines = SAME_LINE.split(new.text), SAME_LINE.split(old.text)
                if len(lines) == len(old_lines) and all(map(hardly_moved, lines, old_lines)):
                    new.text = old.text


def hardly_moved(new, old):
    """Whether two lines are the same, or differ in numbers that moved by at most a tenth of the largest one."""
    if new == old or without_measured(new) != without_measured(old):
        return new == old
    numbers, old_numbers = ([float(n) for n in NUMBER.findall(line.rpartition(": ")[2])] for line in (new, old))
    largest = max(map(abs, numbers + old_numbers))
    moved = [abs(a - b) for a, b in zip(numbers, old_numbers, strict=True)]
    return max(moved) <= largest / 10


def number_widgets(nb, models):
    """Keep only the widget models a reader can meet, under ids that follow from the cells that show them.

    Kept are the displayed models, everything they refer to, and the links between kept models.
    """
    new_ids = stable_ids(nb, models)
    if not new_ids:
        return
    state = {key: without_nulls(models[key]) for key in new_ids}
    nb.metadata["widgets"] = {WIDGET_STATE: {"state": state, "version_major": 2, "version_minor": 0}}
    renamed = MODEL_ID.sub(lambda found: new_ids.get(found[0], found[0]), json.dumps(nb))
    nb.update(nbformat.from_dict(json.loads(renamed)))


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
        if WIDGET_VIEW in output.get("data", {}):
            follow(output.data[WIDGET_VIEW]["model_id"])
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


def layout(value, indent=0, width=0):
    """JSON as nbformat writes it; in the widget state, what fits into 1000 characters stands on one line."""
    flat = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not value or not isinstance(value, (dict, list)) or len(flat) <= width:
        return flat
    if isinstance(value, list):
        items = [layout(item, indent + 1, width) for item in value]
    else:
        widths = {WIDGET_STATE: 1000}
        pairs = sorted(value.items())
        items = [f"{json.dumps(key)}: {layout(item, indent + 1, widths.get(key, width))}" for key, item in pairs]
    line = "\n" + " " * indent
    return flat[0] + line + " " + f",{line} ".join(items) + line + flat[-1]


def record(path, nb=None):
    """Re-execute one notebook, or `nb` in its place, and return what happened; on RecordError nothing was written."""
    path = Path(path)
    stored = read_notebook(path)
    nb = nb or read_notebook(path)
    execute(nb, path.resolve().parent, path.name)
    normalize(nb)
    keep_measured(nb, stored)
    data = notebook_bytes(nb)
    if data == path.read_bytes():
        return "unchanged"
    new = path.with_suffix(".recording.tmp")  # replaced in one step: an interruption leaves the old one whole
    new.write_bytes(data)
    os.replace(new, path)
    return "written"


def record_all(paths, edited=None):
    """Record notebooks one after the other, a line for each; return those that failed.

    `edited` is a notebook that takes the place of the stored one, if there is only one path.
    """
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # not a kernel of the same name in the home folder
    failed = []
    for path in paths:
        print(f"{path.name:36s} ", end="", flush=True)
        start = time.perf_counter()
        try:
            outcome = record(path, edited)
        except (RecordError, OSError, ValueError) as error:
            failed.append(path)
            print("failed, not overwritten", flush=True)
            print(error, file=sys.stderr, flush=True)
            continue
        cells, seconds = len(read_notebook(path).cells), time.perf_counter() - start
        print(f"{cells:3d} cells  {seconds:5.1f} s  {path.stat().st_size / 1000:4.0f} kB  {outcome}", flush=True)
    return failed


def record_others(failed=()):
    """Record what else shows a question that has changed; return those that failed."""
    try:
        others = [path for path, _ in stale.stale_notebooks(ROOT) if path not in failed]
    except ValueError as error:  # a file of questions breaks the format; the message says where
        print(error, file=sys.stderr, flush=True)
        return ["the questions"]
    if not others:
        return []
    print("These lessons show a question that has changed, so they are recorded, too:", flush=True)
    return record_all(others)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: every notebook in notebooks/")
    notebooks = parser.parse_args(arguments).notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    failed = record_all(notebooks)
    if any(path.resolve().parent == ROOT / "notebooks" for path in notebooks):
        failed += record_others(failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
