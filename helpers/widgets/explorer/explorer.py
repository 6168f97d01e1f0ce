"""The Explorer: sliders, a picture and a caption, with every frame computed when the cell runs."""

import sys
from base64 import b64encode
from functools import cached_property
from itertools import product
from math import isclose

import ipywidgets as widgets
import numpy as np
import traitlets

from ...checks import describe
from ...formatting import format_value
from ..widget_code import LoadedWidget, read_bundle
from .labels import place_labels
from .layout import WIDTH, ExplorerError, all_layouts, lay_out_widths
from .marks import KINDS, Mark, Panel, Panel3D
from .picture import draw_png

MAX_BYTES = 200_000  # of one explorer's frames, so that a notebook stays small enough to share
MAX_POSITIONS = 5_000
LARGEST = 1e38  # what float32, in which frames are sent, still holds
_NUMBERS = int | float | np.integer | np.floating


class Stage(LoadedWidget):
    """The picture and its caption in the browser. It only looks frames up; `Explorer` fills it."""

    javascript = read_bundle("stage.js")
    css = read_bundle("stage.css")
    spec = traitlets.Dict().tag(sync=True)  # panels, marks, labels: the same in every frame
    data = traitlets.List().tag(sync=True)  # two blocks of bytes per array: its different rows; position -> row
    captions = traitlets.List().tag(sync=True)
    caption_of = traitlets.Bytes().tag(sync=True)  # uint16: slider position -> caption
    # One per control: which of its values is chosen. The browser links them to the controls.
    at_0 = traitlets.Int(0).tag(sync=True)
    at_1 = traitlets.Int(0).tag(sync=True)
    at_2 = traitlets.Int(0).tag(sync=True)
    at_3 = traitlets.Int(0).tag(sync=True)


class Explorer(widgets.VBox):
    """Sliders that choose one of many pictures computed in advance.

    sliders: {name: values}, 1 to 4 of them. Numbers become a slider, strings a menu; {label: value} names the values.
        `compute` and `caption` get one value of each, by name.
    compute: function of the slider values to a list of marks (`lines`, `bars`, `points`, `cells`, `arrows`, `text`,
        `handle`; in a Panel3D `points3`, `lines3`, `surface3`), called once for every position when the cell runs.
        Every frame has the same marks with arrays of the same shapes; all numbers are finite.
    caption: function of the slider values to one sentence, the number that matters first.
    panels: a Panel or Panel3D, or a list of them; a mark's `panel` is its number in the list. Limits are the same
        in all frames.
    start: {name: value} of the first view; the first value of each slider unless given.
    height: of the picture, in pixels.
    play: name of a slider that gets a button beside it, which runs through its values once.

    Raises ValueError, naming the slider position, when `compute` raises, returns NaN or infinity, or changes its marks.
    Without widgets (GitHub, an untrusted notebook, print) the first view appears as a PNG, its caption as text.
    """

    def __init__(self, sliders, compute, caption, *, panels=None, start=None, height=300, play=None):
        self.sliders = _read_sliders(sliders)
        self.panels = _read_panels(panels)
        if isinstance(height, bool) or not isinstance(height, (int, float)) or not 60 <= height <= 2000:
            raise ExplorerError(f"height is {height!r}, expected 60 to 2000 pixels")
        if play is not None and play not in self.sliders:
            raise ExplorerError(f"play is {play!r}, expected one of {list(self.sliders)}")
        self._play = play
        self.compute, self.caption = compute, caption
        named = {} if start is None else start
        self._start = dict.fromkeys(self.sliders, 0) | _read_position(named, self.sliders, "start")
        frames, texts = [], []
        for position, where in zip(self.positions(), _positions_in_words(self.sliders), strict=True):
            frames.append(_compute_frame(compute, position, where))
            texts.append(_compute_caption(caption, position, where))
            _check_frame(frames[-1], frames[0], where, len(self.panels), self.sliders)
        self.marks = _stack(frames)
        self.captions, self._caption_of = _unique(texts)
        self._spec = lay_out_widths(self.panels, self.marks, height)
        self._add_label_places(len(frames))
        self.stage = self._make_stage()
        row = widgets.HBox(_make_controls(self.sliders, self._start))
        row.add_class("explorer-controls")
        super().__init__([row, self.stage])
        self.add_class("explorer")
        moved = {play, *(name for mark in self.marks for name in mark["style"].get("moves", ()))}
        for k, (name, control) in enumerate(zip(self.sliders, row.children, strict=True)):
            # What a handle or the play button moves goes both ways.
            link = widgets.jslink if name in moved else widgets.jsdlink
            link((control, "index"), (self.stage, f"at_{k}"))

    def positions(self):
        """Every slider position as {name: value}, the last slider fastest."""
        named = [[(name, value) for value in options.values()] for name, options in self.sliders.items()]
        return map(dict, product(*named))

    def _index(self, position):
        """Number of a slider position in the order of `positions`; sliders not named stay at the first view."""
        chosen = self._start | _read_position(position, self.sliders, "the position")
        return np.ravel_multi_index(list(chosen.values()), [len(options) for options in self.sliders.values()])

    @property
    def start(self):
        """The slider position of the first view."""
        return {name: list(self.sliders[name].values())[k] for name, k in self._start.items()}

    def caption_at(self, **position):
        """The caption at one slider position; sliders not named stay at the first view."""
        return self.captions[self._caption_of[self._index(position)]]

    def marks_at(self, **position):
        """The marks drawn there, likewise, as [{"kind", "style", "data": {name: array}, "string"}]."""
        return _frame(self.marks, self._index(position))

    @cached_property
    def _png(self):
        return draw_png(self._spec, self.marks_at())

    def _add_label_places(self, count):
        """Give each mark with a label its places: "label_0" in the still picture, "label_1", ... in other widths."""
        for number, (_, _, panels) in enumerate(all_layouts(self._spec)):
            for index, panel in enumerate(panels):
                here = [mark for mark in self.marks if mark["style"]["panel"] == index]
                named = [mark for mark in here if mark["style"].get("label") and not KINDS[mark["kind"]].space]
                places = _label_places(panel, here, count) if named else ()
                for mark, own in zip(named, zip(*places, strict=True), strict=True):
                    mark["label_places"][f"label_{number}"] = np.array(own)

    def _make_stage(self):
        """Pack the frames for the browser."""
        packed, data = [], []
        for mark in self.marks:
            arrays = mark["data"] | mark["label_places"]
            strings, codes = _unique(mark["strings"])
            if mark["kind"] == "text":
                arrays["string"] = np.array(codes)[:, None]
            packed.append({"kind": mark["kind"], **mark["style"], "arrays": [], "strings": strings})
            if "moves" in mark["style"]:
                packed[-1]["moves"] = [list(self.sliders).index(name) for name in mark["style"]["moves"]]
            for name, array in arrays.items():
                rows, row_of = _pack(array)
                data += [rows.tobytes(), row_of.tobytes()]
                size = int(np.prod(rows.shape[1:]))
                types = {"dtype": rows.dtype.str, "row_dtype": row_of.dtype.str}
                packed[-1]["arrays"].append({"name": name, "size": size, **types})
        size = sum(map(len, data))
        if size > MAX_BYTES:
            raise ExplorerError(f"frames of {size:,} bytes, expected at most {MAX_BYTES:,}; use fewer values")
        spec = {
            **self._spec,
            "marks": packed,
            "names": [name.replace("_", " ") for name in self.sliders],
            "options": [list(options) for options in self.sliders.values()],
            "kinds": [_kind(options) for options in self.sliders.values()],
            **({} if self._play is None else {"play": list(self.sliders).index(self._play)}),
        }
        caption_of = np.array(self._caption_of, dtype="<u2").tobytes()
        chosen = {f"at_{k}": value for k, value in enumerate(self._start.values())}
        return Stage(spec=spec, data=data, captions=self.captions, caption_of=caption_of, **chosen)

    def _repr_mimebundle_(self, **kwargs):
        """The live widget first; for places that show none its caption and a picture."""
        caption = self.caption_at()
        data, metadata = {**super()._repr_mimebundle_(**kwargs), "text/plain": caption}, {}
        if sys.platform != "emscripten":  # in the browser, where nobody sees the picture, drawing it would take time
            data["image/png"] = b64encode(self._png).decode()
            metadata["image/png"] = {"alt": caption, "width": WIDTH}
        return data, metadata


def _positions_in_words(sliders):
    """Every slider position as in "eps = 1e−5, n = 8"."""
    return map(", ".join, product(*([f"{name} = {label}" for label in options] for name, options in sliders.items())))


def _read_sliders(sliders):
    """Every slider as {label: value}."""
    if not isinstance(sliders, dict) or not 1 <= len(sliders) <= 4:
        raise ExplorerError("expected a dict of 1 to 4 sliders, {name: values}")
    read = {}
    for name, values in sliders.items():
        if isinstance(values, dict):
            options = {str(label): value for label, value in values.items()}
        else:
            values = _read_values(name, values)
            options = {v if isinstance(v, str) else format_value(v): v for v in values}
        if len(options) < 2 or len(options) < len(values):
            raise ExplorerError(f"slider {name!r} needs at least two values with different labels")
        read[name] = options
    count = int(np.prod([len(options) for options in read.values()]))
    if count > MAX_POSITIONS:
        raise ExplorerError(f"{count:,} slider positions, expected at most {MAX_POSITIONS:,}; use fewer values")
    return read


def _read_values(name, values):
    """The values of one slider as a list of Python's own numbers and words."""
    if not isinstance(values, list | tuple | range | np.ndarray) or getattr(values, "ndim", 1) == 0:
        raise ExplorerError(f"slider {name!r} needs a list of values, as in {{{name!r}: [1, 2, 3]}}")
    values = [v.item() if isinstance(v, np.generic) else v for v in values]
    for v in values:
        if not isinstance(v, (bool, int, float, str)):
            what = f"slider {name!r} has {describe(v)} as a value, expected numbers or words"
            raise ExplorerError(f"{what}; other values need names, {{label: value}}")
    return values


def _read_panels(panels):
    panels = [Panel()] if panels is None else [panels] if isinstance(panels, Panel | Panel3D) else panels
    if not isinstance(panels, (list, tuple)) or not panels or not all(isinstance(p, Panel | Panel3D) for p in panels):
        raise ExplorerError(f"panels is {describe(panels)}, expected a Panel or a list of them")
    return list(panels)


def _read_position(position, sliders, what):
    """{name: which of its values is chosen}, for the sliders that `position` names."""
    if not isinstance(position, dict):
        raise ExplorerError(f"{what} is {describe(position)}, expected a dict, {{name: value}}")
    for name in position:
        if name not in sliders:
            raise ExplorerError(f"{what} names {name!r}, expected one of {list(sliders)}")
    return {name: _find(value, sliders[name]) for name, value in position.items()}


def _find(value, options):
    """Which option a value is: by equality, or the nearest for floats written with fewer digits."""
    values = list(options.values())
    for k, v in enumerate(values):
        # Values that have names may be arrays, which == compares entry by entry.
        if v is value or isinstance(v, str | _NUMBERS) and isinstance(value, str | _NUMBERS) and v == value:
            return k
    if all(isinstance(v, _NUMBERS) for v in [value, *values]):
        nearest = min(range(len(values)), key=lambda k: abs(values[k] - value))
        if isclose(values[nearest], value, rel_tol=1e-6):
            return nearest
    shown = value if isinstance(value, (int, float, str)) else describe(value)
    raise ExplorerError(f"{shown!r} is not one of the slider's values {list(options)}")


def _compute_frame(compute, position, where):
    frame = _call("compute", compute, position, where)
    frame = [frame] if isinstance(frame, Mark) else list(frame) if isinstance(frame, (list, tuple)) else frame
    if not isinstance(frame, list) or not frame or not all(isinstance(mark, Mark) for mark in frame):
        raise ExplorerError(f"compute returned {type(frame).__name__} at {where}, expected a list of marks")
    return frame


def _compute_caption(caption, position, where):
    words = _call("caption", caption, position, where)
    if not isinstance(words, str) or not words.strip():
        raise ExplorerError(f"caption returned {words!r} at {where}, expected a sentence")
    return words


def _call(name, function, position, where):
    try:
        return function(**position)
    except Exception as error:
        raise ExplorerError(f"{name} failed at {where}: {type(error).__name__}: {error}") from error


def _check_frame(frame, first, where, panels, sliders):
    """Every frame is finite and has the marks of the first one."""
    if len(frame) != len(first):
        raise ExplorerError(f"{len(frame)} marks at {where}, expected {len(first)} as in the first frame")
    for k, (mark, model) in enumerate(zip(frame, first, strict=True)):
        named = f"mark {k} ({mark.kind}) at {where}"
        if mark.kind != model.kind or mark.style != model.style:
            raise ExplorerError(f"{named} differs in kind or style from the first frame")
        if mark.style["panel"] not in range(panels):
            raise ExplorerError(f"{named} is for panel {mark.style['panel']!r}, but there are {panels}")
        for name in mark.style.get("moves", ()):
            if name not in sliders:
                raise ExplorerError(f"{named} moves {name!r}, expected one of {list(sliders)}")
        for name, array in mark.arrays.items():
            expected = model.arrays[name].shape
            if array.shape != expected:
                raise ExplorerError(f"{named} has {name} of shape {array.shape}, expected {expected}")
            if array.size == 0 or not np.isfinite(array).all():
                raise ExplorerError(f"{named} has an empty, NaN or infinite {name}")
            if np.abs(array).max() > LARGEST:
                raise ExplorerError(f"{named} has {name} beyond {LARGEST:.0e}, more than a browser draws")


def _stack(frames):
    """One array per number of a mark, with the frames first."""
    first, *_ = frames
    return [
        {
            "kind": mark.kind,
            "style": mark.style,
            "data": {name: np.stack([frame[k].arrays[name] for frame in frames]) for name in mark.arrays},
            "strings": [frame[k].string for frame in frames],
            "label_places": {},
        }
        for k, mark in enumerate(first)
    ]


def _frame(marks, index, layout=0):
    return [
        {
            "kind": mark["kind"],
            "style": mark["style"],
            "data": {name: array[index] for name, array in mark["data"].items()},
            "string": mark["strings"][index],
            "label_at": mark["label_places"][f"label_{layout}"][index].tolist() if mark["label_places"] else None,
        }
        for mark in marks
    ]


def _label_places(panel, marks, count):
    """What `place_labels` finds for every frame; frames that look alike are tried once."""
    found, places = {}, []
    for index in range(count):
        frame = [{**mark, "data": {name: array[index] for name, array in mark["data"].items()}} for mark in marks]
        key = b"".join(array.tobytes() for mark in frame for array in mark["data"].values())
        if key not in found:
            found[key] = place_labels(panel, frame)
        places.append(found[key])
    return places


def _pack(array):
    """(different rows, which row each position shows): a row that comes again is stored once, small codes in a byte."""
    codes = array.min() >= 0 and array.max() <= 255 and np.array_equal(array, np.rint(array))
    array = array.astype("u1" if codes else "<f4")
    rows, row_of = _unique([row.tobytes() for row in array])
    first = [row_of.index(k) for k in range(len(rows))]
    return array[first], np.array(row_of, dtype="u1" if len(rows) <= 256 else "<u2")


def _unique(items):
    """(the different items in order of appearance, which of them each item is)"""
    numbers = {}
    which = [numbers.setdefault(item, len(numbers)) for item in items]
    return list(numbers), which


def _kind(options):
    """Which control suits the values."""
    return "menu" if all(isinstance(value, str) for value in options.values()) else "slider"


def _make_controls(sliders, start):
    # All names take the room of the longest, so that the handles begin below each other.
    style = {"description_width": f"{max(map(len, sliders)) + 1}ch"}
    made = []
    for name, options in sliders.items():
        kind = widgets.Dropdown if _kind(options) == "menu" else widgets.SelectionSlider
        choices = [(label, k) for k, label in enumerate(options)]
        made.append(kind(options=choices, index=start[name], description=name.replace("_", " "), style=style))
    return made
