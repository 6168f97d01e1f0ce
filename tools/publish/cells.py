"""What the cells of a lesson show, as HTML for a page without a kernel: pictures in files, and places for widgets."""

import base64
import html
import json
import re
import struct

from tools.learner import widget_state
from tools.lessons import VIEW, role_of, text


def picture_of(output):
    """(PNG, the words that tell it) of an output with a stored picture."""
    caption = output["metadata"].get("image/png", {}).get("alt") or text(output["data"].get("text/plain", ""))
    return base64.b64decode(text(output["data"]["image/png"])), caption


def picture(output, file, address):
    """HTML of a stored picture, written into a file; its words are the caption, and tell it to those who cannot see.

    It has its size, so that a page keeps the room until it is there.
    """
    png, caption = picture_of(output)
    file.write_bytes(png)
    words = html.escape(caption)
    kind = "still photo" if output["metadata"].get("needs_background") == "light" else "still"
    width, height = struct.unpack(">II", png[16:24])
    shown = output["metadata"].get("image/png", {}).get("width", width)
    return (
        f'<figure class="{kind}"><img src="{address}/{file.name}" alt="{words}" width="{shown}" '
        f'height="{round(height * shown / width)}" loading="lazy"><figcaption>{words}</figcaption></figure>'
    )


def shown(output, file, address):
    """The output as a page shows it: pictures and the places of widgets as HTML, all else as it is."""
    data = output.get("data", {})
    if "image/png" in data:
        still = picture(output, file, address)
    elif "text/html" in data:
        still = with_links_to_pages(text(data["text/html"]))
    elif VIEW in data:
        still = f"<pre>{html.escape(text(data.get('text/plain', '')))}</pre>"
    else:
        return output
    if VIEW in data:
        still = f'<div class="live" data-model="{data[VIEW]["model_id"]}">\n{still}\n</div>'
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": still}}


def without_captions(outputs):
    """The outputs without the line of text that only repeats the caption of the picture above it."""
    kept, caption = [], None
    for output in outputs:
        if output["output_type"] == "stream" and text(output["text"]).strip() == caption:
            continue
        kept.append(output)
        caption = output.get("metadata", {}).get("image/png", {}).get("alt")
    return kept


def with_links_to_pages(value):
    """Links to other lessons lead to their pages, also inside the state of a widget."""
    if isinstance(value, str):
        return re.sub(r"(?<![\w/])(\d\d_\w+)\.ipynb", r"\1.html", value)
    if isinstance(value, dict):
        return {key: with_links_to_pages(inner) for key, inner in value.items()}
    return [with_links_to_pages(inner) for inner in value] if isinstance(value, list) else value


def prepared(nb, name, pictures, address="_static/pictures"):
    """(cells of a notebook, with what they show as HTML and their role in the metadata; what its widgets hold)"""
    nb = widget_state.complete(json.loads(json.dumps(nb)))
    for number, cell in enumerate(nb["cells"]):
        cell["metadata"]["role"] = role_of(cell)
        if cell["cell_type"] == "code":
            outputs = enumerate(without_captions(cell["outputs"]))
            cell["outputs"] = [shown(output, pictures / f"{name}-{number}-{k}.png", address) for k, output in outputs]
    return nb["cells"], with_links_to_pages(widget_state.models_of(nb))


def html_of(cell):
    """The HTML that a prepared cell shows, without the blank lines that would end it inside Markdown."""
    shown = "\n".join(text(output["data"]["text/html"]) for output in cell["outputs"] if "data" in output)
    return re.sub(r"\n\s*\n", "\n", shown)


def state_on_page(models):
    state = json.dumps(models, ensure_ascii=False).replace("</", "<\\/")
    return f'<script type="application/json" id="widget-state">{state}</script>'
