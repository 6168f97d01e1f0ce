"""Every handle of every lesson: wherever the slider can put it, dragging can put it too, in every layout."""

from tests.handles import UNREACHED, run, with_node
from tests.pictures import pictures_in
from tests.shared import LESSONS, read


@with_node
def test_dragging_reaches_every_position_of_every_handle():
    stages = [(spec, data) for path in LESSONS for spec, data, *_ in pictures_in(read(path)).stages]
    held = [(spec, data) for spec, data in stages if any(mark["kind"] == "handle" for mark in spec["marks"])]
    assert held and run(UNREACHED, held) == []
