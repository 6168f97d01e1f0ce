"""Re-execute notebooks in place and store them in one normal form.

    python tools/record.py                          every notebook in notebooks/
    python tools/record.py notebooks/01*.ipynb      only these
    python tools/record.py --check                  change nothing, fail if a text output would change

A notebook is overwritten only when all of its cells ran. Two runs give the same bytes: execution counts,
cell ids, widget model ids and image metadata do not depend on the clock, the machine or an earlier run.
"""

import argparse
import base64
import binascii
import copy
import hashlib
import json
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
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

# What editors and executors leave behind.
NOTEBOOK_NOISE = (
    "accelerator",
    "celltoolbar",
    "colab",
    "interpreter",
    "jupytext",
    "orig_nbformat",
    "papermill",
    "signature",
    "toc",
    "vscode",
)
CELL_NOISE = (
    "ExecuteTime",
    "autoscroll",
    "collapsed",
    "execution",
    "id",
    "lines_to_next_cell",
    "papermill",
    "pycharm",
    "scrolled",
    "trusted",
    "vscode",
)

WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LINKS = ("LinkModel", "DirectionalLinkModel")
MODEL_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
REFERENCE = re.compile(r"IPY_MODEL_([0-9a-f]{32})(?![0-9a-f])")
VALID_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


class RecordError(Exception):
    """A notebook that cannot be recorded; the message says where and why."""


# ----------------------------------------------------------------------------------------------------
# Reading and writing


def read_notebook(path):
    """Read a notebook as version 4.5, with an id for every cell that has none, a wrong one or a repeated one.

    nbformat's own reader would fill a missing id with a random one, which would differ from run to run.
    """
    path = Path(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        nb = nbformat.from_dict(raw)
        if nb.get("nbformat") != 4:
            nb = nbformat.convert(nb, 4)
        cells = nb.cells
    except (OSError, ValueError, AttributeError, KeyError) as error:
        raise RecordError(f"{path}: not a notebook that can be read ({error})") from None
    nb.nbformat, nb.nbformat_minor = 4, 5
    for cell in cells:
        if isinstance(cell.source, list):
            cell.source = "".join(cell.source)
        for output in cell.get("outputs", []):
            join_lines(output)
    fix_cell_ids(nb)
    return nb


def join_lines(output):
    """Files hold text as lists of lines, nbformat's objects hold it as one string."""
    if isinstance(output.get("text"), list):
        output.text = "".join(output.text)
    for mime, value in output.get("data", {}).items():
        if isinstance(value, list) and not mime.endswith("json"):
            output.data[mime] = "".join(value)


def notebook_bytes(nb):
    """The file's bytes: keys sorted, one space of indent, newline at the end, the same on every platform."""
    nbformat.validate(nb)
    return (nbformat.writes(nb, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode("utf-8")


def write_atomically(path, data):
    """Replace the file in one step, so that an interruption leaves the old one whole."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".recording-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# ----------------------------------------------------------------------------------------------------
# Execution


def kernel_environment():
    """Settings that make a recording independent of the person who runs it."""
    empty = tempfile.mkdtemp(prefix="record-ipython-")
    return (
        empty,
        {
            "HELPERS_STRICT": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "IPYTHONDIR": empty,  # no start-up files, no profile
            "JUPYTER_PREFER_ENV_PATH": "1",  # not a kernel of the same name in the home folder
        },
    )


def execute(nb, folder, name, timeout=CELL_TIMEOUT):
    """Run every cell of `nb` (changed in place) in a fresh python3 kernel that works in `folder`."""
    import shutil

    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    current = {"index": 0}
    nb.metadata.pop("widgets", None)
    nb.metadata.kernelspec = dict(KERNELSPEC)
    empty, settings = kernel_environment()
    before = {key: os.environ.get(key) for key in settings}
    os.environ.update(settings)
    client = NotebookClient(
        nb,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # the kernel's remarks about its own transport are no one's concern
        store_widget_state=True,
        record_timing=False,
        on_cell_start=lambda cell, cell_index: current.update(index=cell_index),
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise RecordError(f"{where(nb, name, current['index'])}\n{plain_traceback(error)}") from None
    except CellTimeoutError:
        raise RecordError(f"{where(nb, name, current['index'])}\nthe cell ran longer than {timeout} s") from None
    except DeadKernelError:
        raise RecordError(f"{where(nb, name, current['index'])}\nthe kernel died") from None
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        shutil.rmtree(empty, ignore_errors=True)


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


# ----------------------------------------------------------------------------------------------------
# Normal form


def normalize(nb, name="notebook"):
    """Bring an executed notebook into its normal form, in place, and return it."""
    metadata = {key: value for key, value in nb.metadata.items() if key not in NOTEBOOK_NOISE}
    metadata["kernelspec"] = copy.deepcopy(KERNELSPEC)
    metadata["language_info"] = copy.deepcopy(LANGUAGE_INFO)
    nb.metadata = nbformat.from_dict(metadata)
    nb.nbformat, nb.nbformat_minor = 4, 5
    fix_cell_ids(nb)
    count = 0
    for cell in nb.cells:
        clean_cell_metadata(cell)
        if cell.cell_type != "code":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
            continue
        if cell.source.strip():
            count += 1
            cell.execution_count = count
        else:
            cell.execution_count, cell.outputs = None, []
        cell.outputs = [clean_output(output, cell.execution_count) for output in merge_streams(cell.outputs)]
    number_widgets(nb, name)
    return nb


def fix_cell_ids(nb):
    """Keep an id that is valid and not used before; make the others from the cell's kind and source."""
    kept = set()
    missing = []
    for cell in nb.cells:
        old = cell.get("id")
        if isinstance(old, str) and VALID_CELL_ID.match(old) and old not in kept:
            kept.add(old)
        else:
            missing.append(cell)
    for cell in missing:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        new, n = digest, 1
        while new in kept:
            n += 1
            new = f"{digest}-{n}"
        kept.add(new)
        cell["id"] = new


def clean_cell_metadata(cell):
    metadata = cell.metadata
    for key in CELL_NOISE:
        metadata.pop(key, None)
    # What JupyterLab's property inspector leaves when nothing was chosen.
    if metadata.get("editable") is True:
        del metadata["editable"]
    if not metadata.get("tags", True):
        del metadata["tags"]
    if "slideshow" in metadata and not metadata["slideshow"].get("slide_type"):
        del metadata["slideshow"]
    if "jupyter" in metadata:
        metadata["jupyter"].pop("outputs_hidden", None)
        if not metadata["jupyter"].get("source_hidden", True):
            del metadata["jupyter"]["source_hidden"]
        if not metadata["jupyter"]:
            del metadata["jupyter"]


def merge_streams(outputs):
    """Join neighboring pieces of one stream: how print's text is cut into messages depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        both = last is not None and last.output_type == output.output_type == "stream"
        if both and last.name == output.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def clean_output(output, execution_count):
    if output.output_type == "execute_result":
        output.execution_count = execution_count
    output.pop("transient", None)
    data = output.get("data", {})
    if "image/png" in data:
        data["image/png"] = clean_png(data["image/png"])
    return output


def clean_png(text):
    """Base64 on one line, without the chunks that name the writing program or the time."""
    try:
        png = base64.b64decode(text, validate=False)
    except binascii.Error:
        return text
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        return text
    kept, position = [png[:8]], 8
    while position + 12 <= len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        kind = png[position + 4 : position + 8]
        chunk = png[position : position + 12 + length]
        if kind not in (b"tEXt", b"iTXt", b"zTXt", b"tIME"):
            kept.append(chunk)
        position += 12 + length
    return base64.b64encode(b"".join(kept)).decode("ascii")


def number_widgets(nb, name="notebook"):
    """Keep only the widget models a reader can meet and number them in the order in which they appear.

    Kept are the displayed models, everything they refer to, and the links between kept models.
    """
    stored = nb.metadata.get("widgets", {}).get(WIDGET_STATE, {})
    models = stored.get("state", {})
    outputs = [output for cell in nb.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data[WIDGET_VIEW]["model_id"] for output in outputs if WIDGET_VIEW in output.get("data", {})]

    order = []
    for model_id in shown:
        follow(model_id, models, order)
    links = [key for key in models if models[key].get("model_name") in LINKS]
    ends = {key: [end for end, _ in link_ends(models[key])] for key in links}
    for key in sorted(
        (key for key in links if key not in order and all(end in order for end in ends[key])),
        key=lambda key: [
            (order.index(end), str(trait)) for end, trait in link_ends(models[key])
        ],  # not their random ids
    ):
        order.append(key)

    output_widgets = [key for key in order if models[key].get("model_name") == "OutputModel"]
    if output_widgets:
        raise RecordError(
            f"{name}: shows an ipywidgets Output widget, whose content strict nbval cannot compare; "
            "use the Explorer or a widget without Output instead"
        )

    new_ids = {old: f"{n:032x}" for n, old in enumerate(order, start=1)}

    def renumber(value):
        if isinstance(value, str):
            return MODEL_ID.sub(lambda match: new_ids.get(match[0], match[0]), value)
        if isinstance(value, dict):
            return {key: renumber(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [renumber(item) for item in value]
        return value

    for cell in nb.cells:
        if cell.cell_type == "code" and models:
            cell.outputs = [nbformat.from_dict(renumber(output)) for output in cell.outputs]
    nb.metadata.pop("widgets", None)
    if order:
        state = {new_ids[key]: renumber(models[key]) for key in order}
        for model in state.values():
            # A front end fills these defaults in itself; a Layout alone has forty of them.
            model["state"] = {key: value for key, value in model["state"].items() if value is not None}
            if "buffers" in model:
                model["buffers"] = sorted(model["buffers"], key=lambda buffer: [str(p) for p in buffer["path"]])
        nb.metadata["widgets"] = nbformat.from_dict(
            {WIDGET_STATE: {"state": state, "version_major": 2, "version_minor": 0}}
        )


def follow(model_id, models, order):
    """Append `model_id` and, depth first in the order of their sorted keys, all models it refers to."""
    if model_id in order or model_id not in models:
        return
    order.append(model_id)
    text = json.dumps(models[model_id].get("state", {}), sort_keys=True)
    for reference in REFERENCE.findall(text):
        follow(reference, models, order)


def link_ends(model):
    """[(model id, trait), (model id, trait)] of a jslink or jsdlink."""
    ends = []
    for side in ("source", "target"):
        reference, trait = (model.get("state", {}).get(side) or ["", ""])[:2]
        ends.append((str(reference).removeprefix("IPY_MODEL_"), trait))
    return ends


# ----------------------------------------------------------------------------------------------------
# --check


def text_of(output):
    """What a reader reads of an output: no pixels, no widget ids, no traceback."""
    if output.output_type == "stream":
        return (output.name, output.text)
    if output.output_type == "error":
        return ("error", output.ename, output.evalue)
    texts = {m: v for m, v in output.data.items() if m.startswith("text/")}
    return (output.output_type, tuple(sorted(output.data)), texts)


def differences(stored, fresh, name):
    """One sentence for each cell whose text outputs differ."""
    found = []
    for index, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type == "code":
            before = [text_of(output) for output in merge_streams(copy.deepcopy(old.outputs))]
            if before != [text_of(output) for output in new.outputs]:
                found.append(f"{where(fresh, name, index)}: the stored text output is not what the cell gives now")
    return found


# ----------------------------------------------------------------------------------------------------


def record(path, *, check=False, timeout=CELL_TIMEOUT):
    """Re-execute one notebook and return what happened; on RecordError nothing was written."""
    path = Path(path)
    name = path.name
    stored = read_notebook(path)
    fresh = copy.deepcopy(stored)
    execute(fresh, path.resolve().parent, name, timeout)
    normalize(fresh, name)
    if check:
        found = differences(stored, fresh, name)
        if found:
            raise RecordError("\n".join(found) + "\nrun `make notebooks` and look at what changed")
        return "same text"
    data = notebook_bytes(fresh)
    if data == path.read_bytes():
        return "unchanged"
    write_atomically(path, data)
    return "written"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: every notebook in notebooks/")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a text output would change")
    parser.add_argument("--timeout", type=int, default=CELL_TIMEOUT, help="seconds for one cell (default %(default)s)")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not paths:
        print("record: no notebook in notebooks/, nothing to do")
        return 0
    failed = 0
    for path in paths:
        print(f"{path.name:36s} ", end="", flush=True)
        start = time.perf_counter()
        try:
            outcome = record(path, check=options.check, timeout=options.timeout)
        except RecordError as error:
            failed += 1
            print("failed, not overwritten", flush=True)
            print(error, file=sys.stderr, flush=True)
            continue
        seconds = time.perf_counter() - start
        cells = len(json.loads(path.read_text(encoding="utf-8"))["cells"])
        size = path.stat().st_size / 1000
        print(f"{cells:3d} cells  {seconds:5.1f} s  {size:4.0f} kB  {outcome}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
