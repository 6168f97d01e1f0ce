"""The code of the widgets, sent to the browser once for each kind of widget instead of with every widget.

A notebook stores what its widgets hold. Were the code part of that, a lesson would contain it a dozen times. So a
kernel has one hidden model with the code of all quizzes and one with that of all stages. A widget itself holds only a
reference to such a model and `loader.js`, which fetches the code from it.
"""

from pathlib import Path

import anywidget
import ipywidgets
import traitlets

from .theme import css_variables

FOLDER = Path(__file__).parent


def slim(path):
    """Text of a source file without its comment lines and indentation."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*"))) + "\n"


class WidgetCode(ipywidgets.Widget):
    """The code of one kind of widget. It is never displayed."""

    javascript = traitlets.Unicode().tag(sync=True)
    css = traitlets.Unicode().tag(sync=True)


class LoadedWidget(anywidget.AnyWidget):
    """A widget whose code the browser loads from the `WidgetCode` of its kind.

    A subclass names its code in two texts: `javascript`, a module with a default export as anywidget expects it, and
    `css`, which may use the variables of `theme.css_variables`. Every kind handles keys as `keys.js` says.
    """

    _esm = slim(FOLDER / "loader.js")

    # Read when the widget is made, so the code is in the browser before the first widget that needs it.
    code = traitlets.Instance(WidgetCode).tag(sync=True, **ipywidgets.widget_serialization)

    @traitlets.default("code")
    def _code_of_this_kind(self):
        return code_of(type(self))


_sent = {}  # the JavaScript of a kind of widget -> the model that holds it in this kernel


def code_of(kind):
    """The model with the code of a kind of widget: made for the first widget, and anew after it was closed."""
    held = _sent.get(kind.javascript)
    if held is None or held.comm is None:
        held = WidgetCode(javascript=slim(FOLDER / "keys.js") + kind.javascript, css=css_variables() + kind.css)
        _sent[kind.javascript] = held
    return held
