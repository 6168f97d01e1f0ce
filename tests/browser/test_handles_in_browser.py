"""Handles, the play button and panels in space: on a plain page, and on a page of the site."""

import json

import numpy as np
import pytest

from helpers import Explorer, Panel, Panel3D, handle, lines, points3, surface3
from tests.browser.conftest import ROOT, serious, settle
from tests.browser.test_marks_in_browser import choices, open_stages

KNOB, CAPTION = ".handle .knob", ".explorer-caption"
SEEN = """document.querySelector('.explorer-stage svg').innerHTML
    .replace(/<text[^>]*class=.hint.*?<.text>/g, '').replace(/ data-lm-suppress-shortcuts=""/g, '')"""


def two():
    """One handle for two sliders, and another for one."""
    return Explorer(
        {"a": list(range(-3, 4)), "b": [0, 1, 2, 3], "c": [1, 10, 100]},
        lambda a, b, c: [
            lines([-3, a, 3], [0, b, 0]),
            handle(a, b, moves=("a", "b")),
            handle(2, c, moves="c", color="orange", panel=1),
        ],
        lambda a, b, c: f"a {a}, b {b}, c {c}, eps 1e-5",
        panels=[Panel(), Panel(yscale="log", xlim=(0, 4))],
        play="a",
    )


def middle(page, number):
    box = page.query_selector_all(KNOB)[number].bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    settle(page)


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def test_after_a_drag_picture_and_slider_agree(page):
    explorer = two()
    open_stages(page, [explorer], 680)
    found = {}
    for index in (0, 30, 47, 77, 10):
        page.evaluate("(choices) => stages[0].model.move(choices)", choices(explorer, index))
        found[index] = middle(page, 0), page.evaluate(SEEN), page.inner_text(CAPTION)
    for index in found:
        page.evaluate("(choices) => stages[0].model.move(choices)", [3, 1, choices(explorer, index)[2]])
        (x, y), seen, caption = found[index]
        drag(page, middle(page, 0), (x + 9, y - 7))  # nearer to this place than to any other
        assert (page.inner_text(CAPTION), page.evaluate(SEEN)) == (caption, seen)


def test_keys_move_a_focused_handle_audibly(page):
    open_stages(page, [two()], 680)
    assert page.inner_text(f"{CAPTION} .nn-number") == "1e-5", "not broken"
    assert page.text_content(".hint") == "drag me" and page.is_visible(".hint")
    page.focus(".handle >> nth=0")
    press(page, "ArrowRight", "ArrowRight", "ArrowUp")
    assert not page.is_visible(".hint"), "someone has moved it"
    assert page.inner_text(CAPTION).startswith("a -1, b 1, c 1")
    first = page.query_selector(".handle")
    told = [first.get_attribute(name) for name in ("role", "aria-label", "aria-valuetext", "aria-valuenow")]
    assert told == ["slider", "a and b", "a −1, b 1", "2"]
    press(page, "End")
    assert first.get_attribute("aria-valuetext") == "a 3, b 1"
    assert page.evaluate("getComputedStyle(document.querySelector('.halo')).stroke") != "none", "the ring of the focus"
    page.focus(".handle >> nth=1")
    press(page, "ArrowRight")  # across its track, as on a slider
    assert page.inner_text(CAPTION).startswith("a 3, b 1, c 10")


def test_a_space_panel_turns_by_mouse_and_keys(page):
    plane = surface3(*np.meshgrid([-2.0, 2], [-2.0, 2]), np.zeros((2, 2)))
    cloud = np.random.default_rng(0).normal(size=(3, 20))
    marks = [plane, points3(*cloud)]
    open_stages(page, [Explorer({"n": [1, 2]}, lambda n: marks, lambda n: f"{n}", panels=Panel3D(title="cloud"))], 680)
    start = page.evaluate(SEEN)
    box = page.query_selector(".turn").bounding_box()
    drag(page, (box["x"] + 200, box["y"] + 100), (box["x"] + 260, box["y"] + 120))
    assert page.evaluate(SEEN) != start
    press(page, "Home")
    assert page.evaluate(SEEN) == start
    seen = {start}
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        press(page, key)
        seen.add(page.evaluate(SEEN))
    assert len(seen) == 4 and page.evaluate(SEEN) == start, "once around"
    assert page.get_attribute(".turn", "aria-label").startswith("cloud: turn it with the arrow keys")


# ------------------------------------------------------------------------------------------------ with its controls

PAGE = """<!doctype html><html lang="en"><title>x</title><main><div class="live" data-model="{model}"></div></main>
<script type="application/json" id="widget-state">{state}</script><script>{host}</script></html>"""


@pytest.fixture
def hosted(page, tmp_path):
    """An explorer on a page that is opened as a file, by what the reading site opens its widgets with."""
    from ipywidgets.embed import embed_data

    explorer = two()
    state = json.dumps(embed_data([explorer], drop_defaults=False)["manager_state"]["state"]).replace("</", "<\\/")
    host = (ROOT / "tools" / "publish" / "web" / "static" / "host.js").read_text(encoding="utf-8")
    html = PAGE.format(model=explorer.model_id, state=state, host=host.replace("</script", "<\\/script"))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector(".explorer-stage svg", timeout=15_000)
    return page


def test_play_takes_about_four_seconds_and_slider_and_handle_follow(hosted):
    page = hosted
    page.wait_for_timeout(300)
    assert page.inner_text(CAPTION).startswith("a -3"), "never by itself"
    begun = page.evaluate("performance.now()")
    page.click(".explorer-play")
    assert page.evaluate("document.activeElement.className") != "explorer-play", "the space bar stays the slide's"
    assert page.get_attribute(CAPTION, "aria-live") == "off"
    page.wait_for_function("document.querySelector('.explorer-play').textContent == '▶'", timeout=8000)
    assert 3500 < page.evaluate("performance.now()") - begun < 8000
    assert page.inner_text(CAPTION).startswith("a 3,") and page.get_attribute(CAPTION, "aria-live") == "polite"
    page.focus(".handle >> nth=0")
    press(page, "ArrowLeft")
    assert [each.input_value() for each in page.query_selector_all("input[type=range]")] == ["5", "0", "0"]
    assert page.inner_text(".readout >> nth=0") == "2"
    page.focus("input[type=range] >> nth=1")
    press(page, "ArrowRight")
    assert page.get_attribute(".handle >> nth=0", "aria-valuetext") == "a 2, b 1"


def test_any_press_stops_it_and_with_reduced_motion_it_is_a_step(hosted):
    page = hosted
    for stop in (lambda: page.keyboard.press("q"), lambda: page.mouse.click(5, 5)):
        page.click(".explorer-play")
        page.wait_for_function("!document.querySelector('.explorer-caption').textContent.startsWith('a -3')")
        stop()
        settle(page)
        stopped = page.inner_text(CAPTION)
        page.wait_for_timeout(800)
        assert page.inner_text(CAPTION) == stopped != "a 3, b 0, c 1, eps 1e-5"
    page.emulate_media(reduced_motion="reduce")
    page.focus("input[type=range] >> nth=0")
    press(page, "Home")
    for expected in ("a -2", "a -1"):
        page.click(".explorer-play")
        settle(page)
        assert page.inner_text(CAPTION).startswith(expected)
    assert serious(page, "main") == []
