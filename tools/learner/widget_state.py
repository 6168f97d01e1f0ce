"""Keeps explorers and questions alive from one day to the next: which widget state a notebook's file must hold.

JupyterLab saves only the widgets of its running kernel. What an unrun cell still shows is in the file on disk.
"""

from tools.lessons import VIEW, text

STATE = "application/vnd.jupyter.widget-state+json"
LINKS = ("LinkModel", "DirectionalLinkModel")
WAKE = "To activate this, choose Run > Run All Above Selected Cell, then run this cell (Shift+Enter)."


def outputs_of(nb):
    return [output for cell in nb["cells"] for output in cell.get("outputs", [])]


def shown_by(output):
    """(id of the widget, its text), or None for an output without one."""
    data = output.get("data", {})
    return (data[VIEW]["model_id"], text(data.get("text/plain", ""))) if VIEW in data else None


def models_of(nb):
    """{id: model} of the stored widgets."""
    return nb["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})


def references(value):
    """The ids of all widgets that a piece of state names, however deep, those inside an Output widget too."""
    if isinstance(value, str):
        return {value.removeprefix("IPY_MODEL_")} if value.startswith("IPY_MODEL_") else set()
    if isinstance(value, dict):
        own = {value[VIEW]["model_id"]} if VIEW in value else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def needed(model_id, models):
    """The ids of a widget and of all it stands on; None when one of them is nowhere."""
    found, todo = set(), {model_id}
    while todo:
        one = todo.pop()
        if one not in models:
            return None
        found.add(one)
        todo |= references(models[one].get("state", {})) - found
    return found


def make_still(cell, output):
    """Leave the picture and the text of an output whose widget is lost, and say how to wake it."""
    del output["data"][VIEW]
    hidden = text(output["data"].get("text/plain", "")) if "image/png" in output["data"] else ""
    said = f"{hidden}\n{WAKE}".strip() + "\n"
    note = {"output_type": "stream", "name": "stdout", "text": said}
    cell["outputs"].insert(cell["outputs"].index(output) + 1, note)


def complete(nb, old=None):
    """Give a notebook (a dict, changed in place) the state of what it shows, no more; `old` is the file on disk.

    From `old` comes the state of what both show with the same text. What has its state nowhere becomes still.
    """
    mine = models_of(nb)
    before = models_of(old) if old else {}
    shown_before = {shown_by(output) for output in outputs_of(old)} if old else set()
    models, kept = {**before, **mine}, set()
    for cell in nb["cells"]:
        for output in list(cell.get("outputs", [])):
            shown = shown_by(output)
            if shown is None:
                continue
            ids = needed(shown[0], models if shown in shown_before else mine)
            if ids is None:
                make_still(cell, output)
            else:
                kept |= ids
    for key, model in models.items():  # a link names what it joins, and nobody names the link
        state = model.get("state", {})
        ends = references(state.get("source")) | references(state.get("target"))
        if model.get("model_name") in LINKS and ends and ends <= kept:
            kept.add(key)
    widgets = nb["metadata"].get("widgets", {})
    widgets.pop(STATE, None)
    if kept:
        state = {key: model for key, model in models.items() if key in kept}
        widgets[STATE] = {"state": state, "version_major": 2, "version_minor": 0}
        nb["metadata"]["widgets"] = widgets
    elif not widgets:
        nb["metadata"].pop("widgets", None)
    return nb
