"""Handles, the play button and panels in space: on a plain page, on a page of the site, and in JupyterLab."""

import json

import nbformat
import numpy as np
import pytest

from helpers import Explorer, Panel, Panel3D, handle, lines, points3, surface3
from tests.browser.conftest import ROOT
from tests.browser.test_marks_in_browser import choices, count, open_stages

KNOB = ".handle .knob"
SEEN = """document.querySelector('.explorer-stage svg').innerHTML
    .replace(/<text[^>]*class=.hint.*?<.text>/g, '').replace(/ data-lm-suppress-shortcuts=""/g, '')"""
CAPTION = ".explorer-caption"


def two():
    """One handle for two sliders, and another for one."""
    sliders = {"a": list(range(-3, 4)), "b": [0, 1, 2, 3], "c": [1, 10, 100]}
    return Explorer(
        sliders,
        lambda a, b, c: [
            lines([-3, a, 3], [0, b, 0]),
            handle(a, b, moves=("a", "b")),
            handle(2, c, moves="c", color="orange", panel=1),
        ],
        lambda a, b, c: f"a {a}, b {b}, c {c}, eps 1e-5",
        panels=[Panel(), Panel(yscale="log", xlim=(0, 4))],
        play="a",
    )


def turned():
    cloud = np.random.default_rng(0).normal(size=(3, 20))
    sheet = np.meshgrid([-2.0, 2], [-2.0, 2])
    return Explorer(
        {"n": [1, 2, 3]},
        lambda n: [surface3(*sheet, np.zeros((2, 2))), points3(*cloud * n)],
        lambda n: f"n is {n}",
        panels=Panel3D(title="cloud"),
    )


@pytest.fixture
def opened(page):
    explorer = two()
    open_stages(page, [explorer], 680)
    return page, explorer


def middle(page, number):
    box = page.query_selector_all(KNOB)[number].bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def settle(page):
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def places(page, explorer):
    """Where the first handle stands at every position, on the page, and what is seen there."""
    found = {}
    for index in range(count(explorer)):
        page.evaluate("(choices) => stages[0].model.move(choices)", choices(explorer, index))
        found[index] = middle(page, 0), page.evaluate(SEEN), page.inner_text(CAPTION)
    return found


def test_after_a_drag_picture_and_slider_agree(opened):
    page, explorer = opened
    found = places(page, explorer)
    for index in (0, 30, 47, 77, 10):
        c = choices(explorer, index)[2]
        page.evaluate("(choices) => stages[0].model.move(choices)", [3, 1, c])
        (x, y), seen, caption = found[index]
        page.mouse.move(*middle(page, 0))
        page.mouse.down()
        page.mouse.move(x + 9, y - 7, steps=3)  # nearer to this place than to any other
        page.mouse.up()
        settle(page)
        assert page.inner_text(CAPTION) == caption
        assert page.evaluate(SEEN) == seen


def test_a_finger_drags_without_scrolling_the_page(browser):
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True)
    page = context.new_page()
    explorer = two()
    open_stages(page, [explorer], 390)
    x, y = middle(page, 0)
    device = context.new_cdp_session(page)
    touch = lambda kind, points: device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})  # noqa: E731
    touch("touchStart", [{"x": x + 6, "y": y}])
    for step in range(1, 6):
        touch("touchMove", [{"x": x + 6 + 30 * step, "y": y - 20 * step}])
    touch("touchEnd", [])
    settle(page)
    assert page.inner_text(CAPTION) != "a -3, b 0, c 1, eps 1e-5"
    assert page.evaluate("scrollY") == 0
    context.close()


def test_keys_move_a_focused_handle_audibly(opened):
    page, _ = opened
    assert page.inner_text(f"{CAPTION} .nn-number") == "1e-5", "not broken"
    assert page.text_content(".hint") == "drag me" and page.is_visible(".hint")
    page.focus(".handle >> nth=0")
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    settle(page)
    assert not page.is_visible(".hint"), "someone has moved it"
    assert page.inner_text(CAPTION).startswith("a -1, b 1, c 1")
    first = page.query_selector(".handle")
    told = {name: first.get_attribute(name) for name in ("role", "aria-label", "aria-valuetext", "aria-valuenow")}
    assert told == {"role": "slider", "aria-label": "a and b", "aria-valuetext": "a −1, b 1", "aria-valuenow": "2"}
    page.keyboard.press("End")
    settle(page)
    assert first.get_attribute("aria-valuetext") == "a 3, b 1"
    assert page.evaluate("getComputedStyle(document.querySelector('.halo')).stroke") != "none", "the ring of the focus"
    page.focus(".handle >> nth=1")
    page.keyboard.press("ArrowRight")  # across its track, as on a slider
    settle(page)
    assert page.inner_text(CAPTION).startswith("a 3, b 1, c 10")


def test_a_space_panel_turns_by_mouse_and_keys(page):
    open_stages(page, [turned()], 680)
    assert page.text_content(".hint") == "drag to turn"
    start = page.evaluate(SEEN)
    box = page.query_selector(".turn").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 120, steps=4)
    page.mouse.up()
    settle(page)
    assert page.evaluate(SEEN) != start
    assert not page.is_visible(".hint")
    page.keyboard.press("Home")
    settle(page)
    assert page.evaluate(SEEN) == start
    seen = {start}
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        settle(page)
        seen.add(page.evaluate(SEEN))
    assert len(seen) == 4 and page.evaluate(SEEN) == start, "once around"
    assert page.get_attribute(".turn", "aria-label").startswith("cloud: turn it with the arrow keys")


# ------------------------------------------------------------------------------------------------ with its controls

PAGE = """<!doctype html><html lang="en"><title>x</title><main><div class="live" data-model="{model}"></div></main>
<script type="application/json" id="widget-state">{state}</script><script src="host.js"></script></html>"""


@pytest.fixture
def hosted(page, tmp_path):
    """An explorer on a page that is opened as a file, by what the reading site opens its widgets with."""
    from ipywidgets.embed import embed_data

    def host(explorer):
        state = embed_data([explorer], drop_defaults=False)["manager_state"]["state"]
        text = json.dumps(state).replace("</", "<\\/")
        (tmp_path / "page.html").write_text(PAGE.format(model=explorer.model_id, state=text), encoding="utf-8")
        script = ROOT / "tools" / "publish" / "web" / "static" / "host.js"
        (tmp_path / "host.js").write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector(".explorer-stage svg", timeout=15_000)
        return page

    return host


def test_slider_and_handle_follow_each_other(hosted):
    page = hosted(two())
    page.focus(".handle >> nth=0")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert [each.input_value() for each in page.query_selector_all("input[type=range]")] == ["1", "0", "0"]
    assert page.inner_text(".readout >> nth=0") == "−2"
    page.focus("input[type=range] >> nth=1")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.get_attribute(".handle >> nth=0", "aria-valuetext") == "a −2, b 1"


def test_play_takes_about_four_seconds(hosted):
    page = hosted(two())
    assert page.evaluate("document.querySelector('.explorer-play').parentNode.textContent").startswith("a")
    page.wait_for_timeout(300)
    assert page.inner_text(CAPTION).startswith("a -3"), "never by itself"
    begun = page.evaluate("performance.now()")
    page.click(".explorer-play")
    assert page.evaluate("document.activeElement.className") != "explorer-play", "the space bar stays the slide's"
    assert page.get_attribute(CAPTION, "aria-live") == "off"
    page.wait_for_function("document.querySelector('.explorer-play').textContent == '▶'", timeout=8000)
    assert 3500 < page.evaluate("performance.now()") - begun < 8000
    assert page.inner_text(CAPTION).startswith("a 3,") and page.get_attribute(CAPTION, "aria-live") == "polite"


def test_any_key_or_click_stops_it(hosted):
    for stop in (lambda page: page.keyboard.press("q"), lambda page: page.mouse.click(5, 5)):
        page = hosted(two())
        page.click(".explorer-play")
        page.wait_for_function("!document.querySelector('.explorer-caption').textContent.startsWith('a -3')")
        stop(page)
        stopped = page.inner_text(CAPTION)
        page.wait_for_timeout(800)
        assert page.inner_text(CAPTION) == stopped != "a 3, b 0, c 1, eps 1e-5"


def test_with_reduced_motion_a_press_is_a_step_and_axe_finds_nothing(hosted):
    page = hosted(two())
    page.emulate_media(reduced_motion="reduce")
    for expected in ("a -2", "a -1"):
        page.click(".explorer-play")
        settle(page)
        assert page.inner_text(CAPTION).startswith(expected)
    page.add_script_tag(path=ROOT / "tests" / "browser" / "node_modules" / "axe-core" / "axe.min.js")
    found = page.evaluate("axe.run('main').then(({ violations }) => violations.map((v) => [v.id, v.nodes[0].html]))")
    assert found == []


NOTEBOOK = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from helpers import Explorer, handle
explorer = Explorer({{"a": [1, 2, 3], "on": [False, True]}}, lambda a, on: [handle(a, a + on, moves="a")],
    lambda a, on: f"a is {{a}}", play="a")
explorer
"""


def test_in_jupyterlab_handle_and_slider_follow_each_other(lab, page):
    from nbclient import NotebookClient

    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK.strip())])
    NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
    nbformat.write(nb, lab.folder / "handle.ipynb")
    lab.trust("handle.ipynb")
    page.goto(lab.url("handle.ipynb"))
    page.wait_for_selector(".explorer-stage .handle")
    page.wait_for_selector(".explorer-play")
    x, y = middle(page, 0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5000, y - 5000, steps=4)
    page.mouse.up()
    page.wait_for_function("document.querySelector('.explorer-caption').textContent == 'a is 3'", timeout=5000)
    assert page.inner_text(".explorer .widget-readout") == "3"
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.querySelector('.explorer-caption').textContent == 'a is 2'", timeout=5000)
    for key, value in (("End", "3"), ("End", "3"), ("Home", "1"), ("Home", "1")):  # also where it is there already
        page.focus(".explorer .noUi-handle")
        page.keyboard.press(key)
        page.wait_for_timeout(200)
        assert page.get_attribute(".explorer .noUi-handle", "aria-valuetext") == value
    assert page.get_attribute(".explorer .handle", "aria-valuenow") == "0"
