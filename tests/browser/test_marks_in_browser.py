"""What stage.js draws is what matplotlib draws, mark by mark, on a plain page that only feeds it a model."""

import base64

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Annotation, Text

import helpers
from helpers import Explorer, Panel, Panel3D, points
from helpers.theme import PAPER, css_variables
from helpers.widgets.explorer.explorer import Stage, _frame
from helpers.widgets.explorer.layout import all_layouts
from helpers.widgets.explorer.picture import draw_figure
from helpers.widgets.widget_code import read_bundle
from tests.shared import EXAMPLES, run_lesson

CODE = Stage.javascript
STYLE = css_variables() + read_bundle("base.css") + Stage.css

# The stage in a box of a width, with a model that is only a table. `stages` keeps what tests ask for later.
SHOW = """async ({code, style, models, width}) => {
  document.body.innerHTML = "";
  document.head.innerHTML = `<style>${style}</style>`;
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  window.stages = [];
  for (const state of models) {
    const values = {...state, data: state.data.map(bytes), caption_of: bytes(state.caption_of)};
    const heard = {};
    const model = {
      get: (name) => values[name],
      on: (name, f) => (heard[name] = f),
      off: () => {},
      set: (name, value) => {
        values[name] = value;
        heard[`change:${name}`]();
      },
      move: (choices) => {
        choices.forEach((choice, k) => (values[`at_${k}`] = choice));
        heard["change:at_0"]();
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      },
    };
    const explorer = document.createElement("div");
    explorer.className = "explorer";
    explorer.style.width = `${width}px`;
    explorer.style.maxWidth = "none";
    const el = document.createElement("div");
    explorer.append(el);
    document.body.append(explorer);
    const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    const module = await import(url);  // evaluated again for every widget, as some hosts do
    module.default.render({model, el});
    window.stages.push({model, el, explorer});
  }
}"""

# What is drawn of every mark, then of the labels: [shape, numbers..., words, color]
READ = """() => {
  const shown = (e) => ["title", "tick"].every((name) => !e.classList.contains(name) || e.closest(".mark"));
  const number = (e, names) => names.map((name) => Number(e.getAttribute(name)));
  const read = (e) => {
    const style = getComputedStyle(e);
    if (e.tagName == "polyline") {
      return ["line", [...e.points].flatMap((p) => [p.x, p.y]), "", style.stroke];
    }
    if (e.tagName == "circle") return ["dot", [...number(e, ["cx", "cy"]), 2 * e.getAttribute("r")], "", style.stroke];
    if (e.tagName == "rect") {
      const painted = e.classList.contains("outline") ? style.stroke : style.fill;
      return ["box", number(e, ["x", "y", "width", "height"]), "", painted];
    }
    if (e.tagName == "polygon") return ["face", [...e.points].flatMap((p) => [p.x, p.y]), "", style.fill];
    if (e.tagName == "text") return ["words", number(e, ["x", "y"]), e.textContent, style.fill];
    const [foot, tip] = e.children;
    const point = tip.points[0];
    return ["arrow", [...number(foot, ["x1", "y1"]), point.x, point.y], "", getComputedStyle(foot).stroke];
  };
  const leaves = (group) => [...group.children].flatMap((e) =>
    e.tagName != "g" || e.querySelector("polygon") ? [e] : [...e.children]);
  const marks = [...document.querySelectorAll("g.mark")].map((group) => leaves(group).map(read));
  const labels = [...document.querySelectorAll("text.label")].map(read);
  const handles = [...document.querySelectorAll(".handle")].map((e) =>
    [...e.querySelectorAll(".halo, .knob")].map((e) =>
      ["dot", [...number(e, ["cx", "cy"]), 2 * e.getAttribute("r")], "", getComputedStyle(e).fill]));
  return {marks, labels, handles, box: document.querySelector("svg").getAttribute("viewBox")};
}"""


def state_of(explorer):
    stage = explorer.stage
    packed = [base64.b64encode(bytes(block)).decode() for block in stage.data]
    state = {"spec": stage.spec, "data": packed, "captions": stage.captions}
    state["caption_of"] = base64.b64encode(bytes(stage.caption_of)).decode()
    return state | {f"at_{k}": getattr(stage, f"at_{k}") for k in range(4)}


def open_stages(page, explorers, width):
    models = [state_of(explorer) for explorer in explorers]
    page.goto("about:blank")
    page.evaluate(SHOW, {"code": CODE, "style": STYLE, "models": models, "width": width})


def choices(explorer, index):
    """Which value of each slider the frame of this number shows."""
    sizes = [len(options) for options in explorer.sliders.values()]
    return [int(k) for k in np.unravel_index(index, sizes)]


def count(explorer):
    return len(list(explorer.positions()))


def read(artist):
    """What matplotlib draws, in the words of READ: a list, because one artist may be several dots."""
    if isinstance(artist, Annotation):
        return [("arrow", [*artist.xyann, *artist.xy], "", artist.arrow_patch.get_edgecolor())]
    if isinstance(artist, Text):
        return [("words", [*artist.get_position()], artist.get_text(), artist.get_color())]
    if isinstance(artist, Rectangle):
        x, y, width, height = artist.get_x(), artist.get_y(), artist.get_width(), artist.get_height()
        painted = artist.get_facecolor() if artist.get_fill() else artist.get_edgecolor()
        return [("box", [x, min(y, y + height), width, abs(height)], "", painted)]
    if isinstance(artist, Polygon):
        return [("face", artist.get_xy()[:-1].ravel().tolist(), "", artist.get_facecolor()[:3])]
    if artist.get_marker() == "o":
        held = artist.get_markeredgecolor() == PAPER["page"] or not artist.get_markeredgewidth()
        color = artist.get_markerfacecolor() if held else artist.get_markeredgecolor()
        return [("dot", [x, y, artist.get_markersize() * 100 / 72], "", color) for x, y in artist.get_xydata()]
    return [("line", artist.get_xydata().ravel().tolist(), "", artist.get_color())]


def rgb(css):
    return [float(part) / 255 for part in css[css.index("(") + 1 : -1].split(",")[:3]]


def assert_same(browser, picture, where):
    assert len(browser) == len(picture), where
    for (shape, numbers, words, color), (own_shape, own_numbers, own_words, own_color) in zip(
        browser, picture, strict=True
    ):
        assert (shape, words) == (own_shape, own_words), where
        np.testing.assert_allclose(numbers, np.array(own_numbers, dtype=float), atol=0.5, rtol=1e-5, err_msg=str(where))
        np.testing.assert_allclose(rgb(color), to_rgb(own_color), atol=1 / 200, err_msg=str(where))


def compare(page, explorer, name):
    """At the first, middle and last position, in every layout."""
    for number, (width, height, panels) in enumerate(all_layouts(explorer.stage.spec)):
        open_stages(page, [explorer], width)
        for index in (0, count(explorer) // 2, count(explorer) - 1):
            page.evaluate("(choices) => stages[0].model.move(choices)", choices(explorer, index))
            browser = page.evaluate(READ)
            assert browser["box"] == f"0 0 {width} {height:g}"
            marks = _frame(explorer.marks, index, number)
            _, drawn = draw_figure({"width": width, "height": height, "panels": panels}, marks)
            held = [k for k, mark in enumerate(marks) if mark["kind"] == "handle"]
            order = sorted(set(range(len(marks))) - set(held), key=lambda k: marks[k]["style"]["panel"])
            labels = {}
            for shown, k in zip(browser["marks"] + browser["handles"], order + held, strict=True):
                own = [one for artist in drawn[k] for one in read(artist)]
                if marks[k]["style"].get("label"):
                    labels[k] = own.pop()
                assert_same(shown, own, (name, marks[k]["kind"], width, index))
            labels = [labels[k] for k in sorted(labels, key=lambda k: marks[k]["style"]["panel"])]
            assert_same(browser["labels"], labels, (name, "labels", width, index))


# One row for every kind of mark, each at its most difficult.
KINDS = {
    "lines": lambda n: helpers.lines([0, n, 2], [1, 0, n], label="line", dashed=True),
    "points": lambda n: helpers.points([n, 2], [1, n], color="orange", label="dot", size=15, hollow=True),
    "bars": lambda n: helpers.bars(np.linspace(0, 0.1, 12), np.arange(11) - n, color="teal"),
    "arrows": lambda n: helpers.arrows([0, 1], [0, 0], [1, -n], [0.5, n], color="grey", label="arrow"),
    "text": lambda n: helpers.text([0, n], [1, 0], f"{n} <b>", color="red", align="end", bold=True),
    "cells": lambda n: helpers.cells([[n, -1.25], [0, 0.004]], limit=2, digits=1, outline=[[0, 1], [0, n == 1]]),
    "codes": lambda n: helpers.cells([[0, 1, 2, 3, 4]], names=("", "a", "b", "c", "d")),
    "handle": lambda n: helpers.handle(n, 2 * n, moves="n", color="teal"),
    # In space numbers that no float32 rounds, so that both sort by depth alike.
    "lines3": lambda n: helpers.lines3([0, n, 2], [1, 0, n], [0, 1, -n], label="line", dashed=True),
    "arrow3": lambda n: helpers.lines3([0, n], [1, 0], [0, n], arrow=True, color="orange", label="arrow"),
    "points3": lambda n: helpers.points3([0, 1, 2.5], [n, 2, -1], [1, 0.5, 0], color="teal"),
    "surface3": lambda n: helpers.surface3(*np.meshgrid([0.0, 2.5], [0.0, 2]), np.full((2, 2), n), color="blue"),
}
SPACE = Panel3D(names=("one", "two", "three"), title="space", view=(-50, 20))


@pytest.mark.parametrize("kind", KINDS)
def test_browser_and_matplotlib_draw_marks_alike(page, kind):
    panel = SPACE if "3" in kind else Panel(bare=kind in ("cells", "codes"))
    dot = helpers.points3(0, 0, 0) if "3" in kind else points(1, 0)
    compare(page, Explorer({"n": [1, 2, 3]}, lambda n: [dot, KINDS[kind](n)], lambda n: f"{n}", panels=panel), kind)


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def explorers(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.display.display", lambda *things, **more: None)
        return [shown for shown in run_lesson(request.param) if isinstance(shown, Explorer)]


# Where letters have their real widths: labels that touch another one or stick out, other words that stick out, and the
# size on the screen of the smallest words outside cells.
WORDS = """() => {
  const touching = [], out = [], sizes = [];
  document.querySelectorAll("svg").forEach((svg) => {
    const scale = svg.getScreenCTM().a, frame = svg.getBoundingClientRect();
    for (const e of svg.querySelectorAll("text")) {
      if (!e.closest(".cells")) sizes.push(parseFloat(getComputedStyle(e).fontSize) * scale);
      const own = e.getBoundingClientRect();
      if (own.left < frame.left - 1 || own.right > frame.right + 1 || own.bottom > frame.bottom + 1) {
        out.push(e.textContent);
      }
    }
    const labels = [...svg.querySelectorAll("text.label")].map((e) => [e.textContent, e.getBBox()]);
    labels.forEach(([words, b], k) => labels.slice(k + 1).forEach(([other, o]) => {
      const beside = b.x >= o.x + o.width || o.x >= b.x + b.width;
      if (!beside && Math.abs(b.y - o.y) < 14) touching.push([words, other]);
    }));
  });
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  return {smallest: Math.min(...sizes), touching, out, wide};
}"""


@pytest.mark.parametrize("width", [421, 700, 968])  # the first: JupyterLab at 150 % on 1280 pixels
def test_words_have_the_pages_size_uncut_and_apart(page, explorers, width):
    open_stages(page, explorers, width)
    for number, explorer in enumerate(explorers):
        for index in range(0, count(explorer), max(1, count(explorer) // 10)):
            page.evaluate(f"(choices) => stages[{number}].model.move(choices)", choices(explorer, index))
            words = page.evaluate(WORDS)
            assert words.pop("smallest") >= 14 - 0.01
            assert words == {"touching": [], "out": [], "wide": False}, (number, choices(explorer, index))


def test_vs_code_in_the_dark_stays_readable(page):
    explorer = Explorer({"n": [1, 2, 3]}, lambda n: [points(n, n, label="dot")], lambda n: f"n is {n}")
    open_stages(page, [explorer], 700)
    page.evaluate("document.body.className = 'vscode-dark'; document.body.style.background = 'black'")
    page.evaluate("document.body.style.setProperty('--jp-layout-color0', 'black')")
    look = "(e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e.querySelector('text')).fill]"
    ground, words = page.eval_on_selector(".explorer", look)
    assert ground == "rgb(255, 255, 255)" and max(rgb(words)) < 0.5
