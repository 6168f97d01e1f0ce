"""What our JupyterLab does beyond any other: a server extension that tools/lab.py turns on by tools/jupyter/."""

import copy
import inspect
import json
from pathlib import Path

import widget_state


def before_saving(model, path, contents_manager, **_):
    """Pre-save hook: the file gets the state of all widgets it shows. It never stops a save."""
    try:
        if model.get("type") != "notebook":
            return
        file = Path(contents_manager.root_dir) / path.strip("/")
        try:
            old = json.loads(file.read_text(encoding="utf-8"))
            model["content"] = widget_state.complete(copy.deepcopy(model["content"]), old)
        except Exception:  # a new name, or no whole notebook on disk
            model["content"] = widget_state.complete(copy.deepcopy(model["content"]))
    except Exception as error:
        contents_manager.log.warning(f"{path} is saved as it came: {type(error).__name__}: {error}")


def after_loading(model, log):
    """A notebook that lost widgets elsewhere comes with pictures and text in their place; the file stays as it is."""
    try:
        if model.get("type") == "notebook" and model.get("content"):
            model["content"] = widget_state.complete(copy.deepcopy(model["content"]))
    except Exception as error:
        log.warning(f"{model.get('path')} is opened as it is: {type(error).__name__}: {error}")
    return model


def wrap(get, log):
    """The contents manager's `get`, waited for or not, followed by `after_loading`."""

    async def later(model):
        return after_loading(await model, log)

    def loaded(*arguments, **options):
        model = get(*arguments, **options)
        return later(model) if inspect.isawaitable(model) else after_loading(model, log)

    return loaded


def say_address(app):
    """JupyterLab prints its address only with a token of its own making."""
    if not app.identity_provider.token_generated:
        print(f"JupyterLab is at {app.public_url.partition('?')[0]}", flush=True)


def _jupyter_server_extension_points():
    return [{"module": "lesson_server"}]


def _load_jupyter_server_extension(app):
    contents = app.contents_manager
    contents.register_pre_save_hook(before_saving)
    contents.get = wrap(contents.get, app.log)
    if app.ip == "localhost":
        # The default. Under two names the browser would keep two sets of answers, so one is opened and printed.
        app.ip = "127.0.0.1"
    app.io_loop.add_callback(say_address, app)  # once the server runs and has its port
