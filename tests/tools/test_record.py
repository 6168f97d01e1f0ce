"""The recording of outputs: one normal form, the same bytes every time, all or nothing."""

import base64
import io
import json
import subprocess
import sys

import nbformat
import pytest
from PIL import Image

from tests.shared import ROOT, everything
from tools.author import record
from tools.author.record import VIEW, WIDGET_STATE


def hexes(n):
    """A random-looking model id."""
    return f"{n * 7919 + 0xABCDEF:032x}"[::-1]


def executed_notebook(seed):
    """A notebook as a kernel leaves it; `seed` changes what differs from run to run."""
    v4 = nbformat.v4
    box, left, right, layout, lost, link, stray = (hexes(seed * 100 + k) for k in range(7))

    def model(name, **state):
        return {"model_name": f"{name}Model", "state": state}

    def linked(one, other):
        return model("Link", source=[f"IPY_MODEL_{one}", "v"], target=[f"IPY_MODEL_{other}", "v"])

    state = {stray: linked(left, lost), link: linked(left, right), lost: model("IntSlider")}
    state[layout] = model("Layout", width=None, flex="1")
    state |= {key: model("IntSlider", value=k, layout=f"IPY_MODEL_{layout}") for k, key in enumerate((right, left))}
    state[box] = model("VBox", children=[f"IPY_MODEL_{left}", f"IPY_MODEL_{right}"])
    pieces = ["1\n", "2\n"] if seed % 2 else ["1", "\n2", "\n"]
    shown = [
        v4.new_output("execute_result", {VIEW: {"model_id": box}, "text/plain": "VBox()"}, execution_count=seed),
        v4.new_output("display_data", {"text/html": f'<div id="{box}"></div>'}),
    ]
    told = {"execution": {"t": str(seed)}, "tags": ["exercise"]}
    about = {"collapsed": True, "discussion": {"question": "Why?"}}
    cells = [
        v4.new_markdown_cell("# Title", id="title", metadata=about),
        v4.new_code_cell("box", id="box", execution_count=seed + 3, metadata=told, outputs=shown),
        v4.new_code_cell("print(1)", id="again", execution_count=seed, metadata={"scrolled": True, "tags": []}),
        v4.new_code_cell("", id="empty"),
    ]
    cells[2].outputs = [v4.new_output("stream", text=piece) for piece in pieces]
    metadata = {
        "kernelspec": {"name": f"kernel-{seed}", "display_name": "mine"},
        "language_info": {"name": "python", "version": f"3.11.{seed}"},
        "vscode": {"interpreter": {"hash": str(seed)}},
        "widgets": {WIDGET_STATE: {"state": dict(reversed(state.items())) if seed % 2 else state}},
    }
    return v4.new_notebook(cells=cells, metadata=metadata)


def test_two_runs_give_the_same_bytes():
    first, second = (record.notebook_bytes(record.normalize(executed_notebook(seed))) for seed in (3, 4))
    assert first == second
    again = record.normalize(nbformat.reads(first.decode(), as_version=4))
    assert record.notebook_bytes(again) == first
    assert first.endswith(b"}\n") and b"\r" not in first


def test_recordings_keep_widgets_that_readers_meet():
    nb = record.normalize(executed_notebook(5))
    state = nb.metadata.widgets[WIDGET_STATE]["state"]
    names = sorted(model["model_name"] for model in state.values())
    assert names == ["IntSliderModel", "IntSliderModel", "LayoutModel", "LinkModel", "VBoxModel"]
    box = nb.cells[1].outputs[0].data[VIEW]["model_id"]
    assert nb.cells[1].outputs[1].data["text/html"] == f'<div id="{box}"></div>'
    left, right = (reference.removeprefix("IPY_MODEL_") for reference in state[box]["state"]["children"])
    (link,) = [model["state"] for model in state.values() if model["model_name"] == "LinkModel"]
    assert link == {"source": [f"IPY_MODEL_{left}", "v"], "target": [f"IPY_MODEL_{right}", "v"]}
    layout = state[left]["state"]["layout"].removeprefix("IPY_MODEL_")
    assert state[layout]["state"] == {"flex": "1"}, "what is null is filled in by the front end"
    assert {state[end]["state"]["layout"] for end in (left, right)} == {f"IPY_MODEL_{layout}"}, "kept once"


def test_adding_a_cell_changes_no_other_cells_widgets():
    """Two cells show boxes that share one layout; then a third stands before them."""

    def ids_of(*cells):
        nb = nbformat.v4.new_notebook()
        layout, state = hexes(99), {hexes(99): {"model_name": "LayoutModel", "state": {}}}
        for number, name in enumerate(cells):
            state[hexes(number)] = {"model_name": "VBoxModel", "state": {"layout": f"IPY_MODEL_{layout}"}}
            view = {VIEW: {"model_id": hexes(number)}, "text/plain": ""}
            output = nbformat.v4.new_output("display_data", view)
            nb.cells.append(nbformat.v4.new_code_cell("box", id=name, outputs=[output]))
        nb.metadata["widgets"] = {WIDGET_STATE: {"state": state}}
        record.normalize(nb)
        models = nb.metadata.widgets[WIDGET_STATE]["state"]
        views = {cell.id: cell.outputs[0].data[VIEW]["model_id"] for cell in nb.cells}
        return views, {name: models[view] for name, view in views.items()}

    views, models = ids_of("first", "second")
    views_after, models_after = ids_of("new", "first", "second")
    del views_after["new"], models_after["new"]
    assert (views_after, models_after) == (views, models)


def test_widget_state_has_a_line_for_each_part():
    """Small models are a line; of a large one each part is, and of the questions of all lessons each lesson."""
    nb = executed_notebook(3)
    for model in nb.metadata.widgets[WIDGET_STATE]["state"].values():
        model["state"]["limit"] = 0.7692307692307692
    state = record.normalize(nb).metadata.widgets[WIDGET_STATE]["state"]
    assert {model["state"].pop("limit") for model in state.values()} == {0.769230769}, "nine digits"
    stage = {"spec": {"a": "b" * 900}, "lessons": [{"key": letter * 500} for letter in "xyz"], "of": [0.1234567894, 1]}
    state["57a9e" + "0" * 27] = {"buffers": [{"data": "A" * 500}] * 3, "model_name": "Stage", "state": stage}
    text = record.notebook_bytes(nb).decode()
    assert json.loads(text) == json.loads(nbformat.writes(nb))
    lines = [line.strip() for line in text.splitlines()]
    assert any(line.endswith('{"model_name": "LayoutModel", "state": {"flex": "1"}},') for line in lines)
    for begins in ('"buffers": [{"data"', '"spec": {"a"', '{"key": "xxx', '{"key": "yyy', '"of": [0.1'):
        assert sum(line.startswith(begins) for line in lines) == 1, begins


def with_output(text, source="x", png=None):
    outputs = [nbformat.v4.new_output("stream", text=text)]
    if png:
        outputs.append(nbformat.v4.new_output("display_data", {"image/png": png}, metadata={"drawn": png[:9]}))
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, id="a", outputs=outputs)])


@pytest.mark.parametrize(
    ("stored", "new", "kept"),
    [
        ("0.379, between 0 and 0.55", "0.179, between 0 and 0.55", True),
        ("0.379, between 0 and 0.55", "0.352, between 0 and 0.56", False),
        ("1e-17, at most 1e-12", "5e-17,\n       at most 1e-12", True),
        ("both values are at least 0, from 0.1 to 0.9", "both values are at least 0, from 0.15 to 0.9", True),
        ("0.3, at least 0\n31 of 95", "0.2, at least 0\n30 of 95", False),
    ],
)
def test_measured_values_stay_while_their_checks_pass(stored, new, kept):
    stored, new = (f"first\nPASS - in 2 batches: {line}\nlast\n" for line in (stored, new))
    nb = with_output(new)
    record.keep_stored(nb, with_output(stored))
    assert nb == with_output(stored if kept else new)
    nb = with_output(new, source="y")
    record.keep_stored(nb, with_output(stored))
    assert nb == with_output(new, source="y"), "a changed cell"


def test_what_a_cell_prints_and_checks_stays_or_goes_together():
    nb, stored = (with_output(words) for words in ("now 71%\n", "then 63%\n"))
    for each, measured in ((nb, "0.71"), (stored, "0.63")):
        said = dict.fromkeys(record.GROUP, f"PASS - share: {measured}, between 0 and 1")
        each.cells[0].outputs.append(nbformat.v4.new_output("display_data", said))
    record.keep_stored(nb, stored)
    assert "0.71" in nb.cells[0].outputs[1].data["text/plain"]


@pytest.mark.parametrize("has_torch", [True, False])
def test_what_pytorch_printed_stays_where_it_is_missing(has_torch, monkeypatch):
    monkeypatch.setattr(record, "find_spec", lambda name: has_torch or None)
    nb, stored = with_output("skipped\n"), with_output("0.9\n")
    nb.cells[0].metadata["tags"] = [record.FOR_TORCH]
    record.keep_stored(nb, stored)
    assert nb.cells[0].outputs[0].text == ("skipped\n" if has_torch else "0.9\n")


@pytest.mark.parametrize(("pixels", "kept"), [(1, True), (3, False)])
def test_a_picture_stays_unless_it_looks_different(pixels, kept):
    """One pixel in 50 000 may differ."""

    def png(changed):
        picture, file = Image.new("RGB", (400, 250)), io.BytesIO()
        for x in range(changed):
            picture.putpixel((x, 0), (255, 0, 0))
        picture.save(file, format="png")
        return base64.b64encode(file.getvalue()).decode()

    nb = with_output("", png=png(pixels))
    record.keep_stored(nb, with_output("", png=png(0)))
    assert nb == with_output("", png=png(0 if kept else pixels))


def test_a_cell_id_that_stands_twice_is_mended(tmp_path):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("a") for _ in range(2)])
    nb.cells[0].id = nb.cells[1].id = "same"
    (tmp_path / "a.ipynb").write_text(json.dumps(nb))
    with pytest.warns(nbformat.warnings.DuplicateCellId):
        ids = [cell.id for cell in record.read_notebook(tmp_path / "a.ipynb").cells]
    assert ids[0] == "same" and ids[1] != "same"


def test_recording_drops_counts_and_what_editors_leave():
    nb = record.normalize(executed_notebook(1))
    assert [cell.get("execution_count") for cell in nb.cells] == [None, 1, 1, None]
    assert [dict(cell.metadata) for cell in nb.cells] == [
        {"discussion": {"question": "Why?"}},
        {"tags": ["exercise"]},
        {},
        {},
    ]
    assert nb.metadata.kernelspec == {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    assert "version" not in nb.metadata.language_info and "vscode" not in nb.metadata
    assert [output.text for output in nb.cells[2].outputs] == ["1\n2\n"]


def run_record(*arguments):
    """The tool as make runs it: in a process of its own, with a real kernel."""
    command = [sys.executable, "-m", "tools.author.record", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)


SETUP = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom helpers import check_true"


def write_notebook(path, *sources):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources]), path)


@everything
def test_a_failing_check_stops_nbclient_and_recording(tmp_path):
    tiny, planted = tmp_path / "tiny.ipynb", tmp_path / "planted.ipynb"
    write_notebook(tiny, "import ipywidgets\nipywidgets.IntSlider(description='a')", "print('one')")
    write_notebook(planted, SETUP, "# one is two\ncheck_true('one is two', 1 == 2)")
    before = planted.read_bytes()
    result = run_record(planted, tiny)
    assert result.returncode == 1
    assert "planted.ipynb, cell 2 of 2: # one is two" in result.stderr
    assert "AssertionError" in result.stderr
    assert planted.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["planted.ipynb", "tiny.ipynb"]

    first = tiny.read_bytes()
    assert b"IntSliderModel" in first and b'"one\\n"' in first
    assert b'"slide_type"' in first, "recording marks what becomes a slide"
    again = run_record(tiny)
    assert (again.returncode, tiny.read_bytes()) == (0, first), again.stderr
    assert "unchanged" in again.stdout
