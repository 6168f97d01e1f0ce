"""Measure what the collection promises and print a table: `python -m tools.author.bench`; it stores nothing.

An explorer: how long it takes to build, how large it is, how soon a key changes its picture in JupyterLab, beside the
same plot with `interact`. And the tests: how long `make test` takes.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tools.author.record import KERNELSPEC
from tools.lessons import ROOT

PLOT = """
import numpy as np
from helpers import Explorer, Panel, bars, batch_norm

x = np.random.default_rng(0).normal(0, 1e-3, size=(4000, 2))
edges = np.linspace(-3, 3, 31)

def heights(eps):
    return np.histogram(batch_norm(x, eps=eps).y[:, 0], edges)[0]

def explorer(frames):
    axes = Panel(xlabel="output", ylabel="count", ylim=(0, 4000))
    values = {f"{eps:.4e}": eps for eps in np.logspace(-12, 2, frames)}
    return Explorer({"eps": values}, lambda eps: [bars(edges, heights(eps))], "eps = {eps:.4e}".format, panels=axes)
"""
INTERACT = """
import matplotlib.pyplot as plt
from ipywidgets import SelectionSlider, interact

def plot(eps):
    fig, ax = plt.subplots(figsize=(6.8, 3))
    ax.bar(edges[:-1], heights(eps), np.diff(edges), align="edge")
    ax.set(xlabel="output", ylabel="count", ylim=(0, 4000), title=f"eps = {eps:.4e}")
    plt.show()

interact(plot, eps=SelectionSlider(options=[(f"{v:.4e}", v) for v in np.logspace(-12, 2, 57)]));
"""
BUILD = f"""
import json, time
import matplotlib.figure, matplotlib.ticker
from ipywidgets.embed import dependency_state
{PLOT}
start = time.perf_counter()
built = explorer(100)
seconds = time.perf_counter() - start
print(json.dumps([seconds, len(json.dumps(dependency_state([built]), default=str)) / 1000]))
"""
# In the page: milliseconds from the next key press to another picture: an svg, or an output's image.
CHANGED = """(root) => { window.changed = new Promise((resolve, reject) => {
  let start = 0;
  const picture = () => root.querySelector("img")?.src ?? root.parentNode.innerHTML;
  const old = picture();
  window.addEventListener("keydown", () => { start = performance.now(); }, { capture: true, once: true });
  new MutationObserver(() => {
    const drawn = root.tagName == "svg" || root.querySelector("img");
    if (start && drawn && picture() !== old) resolve(performance.now() - start);
  }).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["src"] });
  setTimeout(() => reject(new Error("no picture changed in 10 s")), 10000);
}); }"""


def measure_explorer():
    runs = [subprocess.run([sys.executable, "-c", BUILD], cwd=ROOT, capture_output=True, check=True) for _ in range(7)]
    seconds, size = zip(*(json.loads(run.stdout) for run in runs), strict=True)
    yield "building an explorer of 100 frames, median of 7", f"{median(seconds):.2f} s", "<= 0.3 s"
    yield "its state in the notebook", f"{median(size):.0f} kB", "<= 200 kB"


def measure_page():
    import nbformat
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM, CHROMIUM_ARGUMENTS, Lab

    with tempfile.TemporaryDirectory(prefix="bench-") as folder, sync_playwright() as playwright:
        sources = (f"import sys\nsys.path.append({str(ROOT)!r})", PLOT, "explorer(57)", INTERACT)
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        nb = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})
        nbformat.write(nb, Path(folder) / "bench.ipynb")
        lab = Lab(Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
            times = press_in_turn(browser.new_page(viewport={"width": 1200, "height": 1600}), lab.url("bench.ipynb"))
        finally:
            lab.stop()
    for name, own in times.items():
        yield f"{name}, key press to picture, median", f"{median(own):.0f} ms", f"slowest of 25: {max(own):.0f} ms"


def press_in_turn(page, address, presses=25):
    """{"explorer", "interact": milliseconds of each press}, taking turns in one page."""
    page.goto(address, timeout=120_000)
    page.wait_for_selector(".jp-StatusBar-Widget >> text=/Idle/")  # before that, JupyterLab asks for a kernel
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click("li[data-command='runmenu:run-all']")
    image = page.wait_for_selector(".widget-interact .jp-OutputArea:has(img)", timeout=120_000)
    pictures = {
        "explorer": (".explorer", page.query_selector(".explorer-stage svg")),
        "interact": (".widget-interact", image),
    }
    page.wait_for_timeout(3000)  # an explorer may redraw itself while the page settles
    times = {name: [] for name in pictures}
    for _ in range(presses + 2):
        for name, (widget, picture) in pictures.items():
            page.focus(f"{widget} .noUi-handle")
            page.evaluate(CHANGED, picture)
            page.keyboard.press("ArrowRight")
            times[name].append(page.evaluate("window.changed"))
            page.wait_for_timeout(100)  # what the press still causes is over before the next one
    return {name: own[2:] for name, own in times.items()}  # the first two warm up


def measure_suite():
    start = time.perf_counter()
    done = subprocess.run(["make", "test"], cwd=ROOT, capture_output=True, text=True)
    yield "make test", f"{time.perf_counter() - start:.0f} s", done.stdout.strip().splitlines()[-1].strip("= ")


if __name__ == "__main__":
    for group in (measure_explorer, measure_page, measure_suite):
        for what, value, beside in group():
            print(f"{what:50s} {value:>10s}   {beside}", flush=True)
