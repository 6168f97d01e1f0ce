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
        parts = {"javascript": slim(FOLDER / "keys.js") + self.javascript, "css": css_variables() + self.css}
        return _sent_once(self.javascript, lambda: WidgetCode(**parts))

    @traitlets.default("layout")
    def _layout_of_all(self):
        return _sent_once("layout", ipywidgets.Layout)  # nothing is set in it, so one will do


_sent = {}  # what it is -> the hidden model that this kernel has sent to the browser


def _sent_once(key, make):
    """The model under this key, made when it is first asked for, and anew after it was closed."""
    if key not in _sent or _sent[key].comm is None:
        _sent[key] = make()
    return _sent[key]
