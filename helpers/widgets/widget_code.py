"""The code of the widgets, sent to the browser once for each kind of widget instead of with every widget.

A notebook stores what its widgets hold. Were the code part of that, a lesson would contain it a dozen times. So a
kernel has one hidden model with the code of all quizzes and one with that of all stages, and one with the styles that
all kinds share. A widget itself holds only a reference to such a model and the loader, which fetches the code from it.

The modules lie beside this file; `make bundle` makes each kind's bundle of them, which is what is sent, packed.
"""

import html
import zlib
from base64 import b64encode
from pathlib import Path

import anywidget
import ipywidgets
import traitlets

from ..theme import css_variables

BUNDLES = Path(__file__).parent / "bundle"


def read_bundle(name):
    """Text of a bundle without its first line, which says what it is made of."""
    _, code = (BUNDLES / name).read_text(encoding="utf-8").split("\n", 1)
    return code


def pack(text):
    """Text as `unpack.js` reads it: deflated, then base64, a little over half as long."""
    return b64encode(zlib.compress(text.encode(), 9)).decode()


class WidgetBase(ipywidgets.Widget):
    """The styles that all kinds of widgets share, packed. It is never displayed."""

    css = traitlets.Unicode().tag(sync=True)


class WidgetCode(WidgetBase):
    """The code of one kind of widget with its own styles, packed. It is never displayed."""

    javascript = traitlets.Unicode().tag(sync=True)
    base = traitlets.Instance(WidgetBase).tag(sync=True, **ipywidgets.widget_serialization)


class LoadedWidget(anywidget.AnyWidget):
    """A widget whose code the browser loads from the `WidgetCode` of its kind.

    A subclass names its code in two texts: `javascript`, a module with a default export as anywidget expects it, and
    `css`, which may use the variables of `theme.css_variables`. Its `_anywidget_id` stays when a module moves.
    """

    _esm = read_bundle("loader.js")

    # Read when the widget is made, so the code is in the browser before the first widget that needs it.
    code = traitlets.Instance(WidgetCode).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(self, **state):
        super().__init__(_anywidget_id=f"normalization_notebooks.{type(self).__name__}", **state)

    @traitlets.default("code")
    def _code_of_this_kind(self):
        styles = css_variables() + read_bundle("base.css")
        base = _sent_once(styles, lambda: WidgetBase(css=pack(styles)))
        parts = {"javascript": pack(self.javascript), "css": pack(self.css), "base": base}
        return _sent_once(self.javascript, lambda: WidgetCode(**parts))

    @traitlets.default("layout")
    def _layout_of_all(self):
        return _sent_once("layout", ipywidgets.Layout)  # nothing is set in it, so one will do


class TwinnedWidget(LoadedWidget):
    """A widget with what a place without widgets shows, `_as_text()` and `_as_html()`: the same on every run."""

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": self._as_text(), "text/html": self._as_html()}, metadata


def marked(text):
    """HTML of a text in which only backticks mean something."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))


_sent = {}  # what it is -> the hidden model that this kernel has sent to the browser


def _sent_once(key, make):
    """The model under this key, made when it is first asked for, and again after it was closed."""
    if key not in _sent or _sent[key].comm is None:
        _sent[key] = make()
    return _sent[key]
