"""What our JupyterLab does beyond any other: a server extension that lab.py turns on by jupyter/."""

import copy
import json
from pathlib import Path

from tools.learner import widget_state


def before_saving(model, path, contents_manager, **_):
    """Pre-save hook: the file gets the state of all widgets it shows. It never stops a save."""
    if model.get("type") != "notebook":
        return
    try:
        try:
            old = json.loads((Path(contents_manager.root_dir) / path.strip("/")).read_text(encoding="utf-8"))
            model["content"] = widget_state.complete(copy.deepcopy(model["content"]), old)
        except Exception:  # a new name, or no whole notebook on disk
            model["content"] = widget_state.complete(copy.deepcopy(model["content"]))
    except Exception as error:
        contents_manager.log.warning(f"{path} is saved unchanged: {type(error).__name__}: {error}")


def say_address(app, wanted):
    """JupyterLab prints its address only with a token of its own making, and takes another port without a word."""
    if app.port != wanted:
        print(
            f"Port {wanted} is in use by another program, so JupyterLab is on port {app.port} this time. Guesses are "
            f"kept for each address: those made on port {wanted} are there when it is free again.",
            flush=True,
        )
    if not app.identity_provider.token_generated:
        print(f"JupyterLab is at {app.public_url.partition('?')[0]}", flush=True)


def _jupyter_server_extension_points():
    return [{"module": "tools.learner.lesson_server"}]


def _load_jupyter_server_extension(app):
    app.contents_manager.register_pre_save_hook(before_saving)
    app.io_loop.add_callback(say_address, app, app.port)  # once the server runs and has its port
