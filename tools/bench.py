"""Measure what the collection promises and print a table: `make bench`, or `.venv/bin/python tools/bench.py`.

    python tools/bench.py --only norms     only the groups whose name contains the word
    python tools/bench.py --quick          fewer repetitions, without `make test`

Groups: import, norms, build, lessons, browser, clone. Every figure stands beside a baseline taken in the same run.
A missed reach is printed, it is no error. Nothing is written into the repository: all work happens in a temporary
folder, on a copy of it.
"""

import argparse
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from statistics import linear_regression, median, quantiles
from typing import NamedTuple

sys.dont_write_bytecode = True  # tests/ and tools/ are imported from the repository itself
ROOT = Path(__file__).resolve().parent.parent
HEAVY = ["matplotlib", "pandas", "seaborn", "ipywidgets", "anywidget", "IPython"]

# One histogram, with a slider of 57 values, as an Explorer and as most courses do it.
PLOT = """
import numpy as np
from helpers import Explorer, Panel, bars, batch_norm

x = np.random.default_rng(0).normal(0, 1e-3, size=(4000, 2))
edges = np.linspace(-3, 3, 31)

def heights(eps):
    return np.histogram(batch_norm(x, eps=eps).y[:, 0], edges)[0]

def explorer(frames):
    values = np.logspace(-12, 2, frames)
    return Explorer(
        {"eps": {f"{eps:.4e}": eps for eps in values}},
        lambda eps: [bars(edges, heights(eps))],
        caption=lambda eps: f"eps = {eps:.4e}",
        panels=Panel(xlabel="output", ylabel="count", ylim=(0, 4000)),
        start={"eps": values[len(values) // 3]},
    )
"""
INTERACT = """
import matplotlib.pyplot as plt
from ipywidgets import SelectionSlider, interact

def plot(eps):
    fig, ax = plt.subplots(figsize=(6.8, 3))
    ax.bar(edges[:-1], heights(eps), np.diff(edges), align="edge")
    ax.set(xlabel="output", ylabel="count", ylim=(0, 4000), title=f"eps = {eps:.4e}")
    plt.show()

values = np.logspace(-12, 2, 57)
interact(plot, eps=SelectionSlider(options=[(f"{v:.4e}", v) for v in values], value=values[19]));
"""

# In the page: milliseconds from the next key press to another picture, an svg with its caption or an output's image.
CHANGED = """(root) => { window.changed = new Promise((resolve, reject) => {
  let start = 0;
  const picture = () => root.querySelector("img")?.src ?? root.parentNode.innerHTML;
  const old = picture();
  window.addEventListener("keydown", () => { start = performance.now(); }, { capture: true, once: true });
  const observer = new MutationObserver(() => {
    const [now, image] = [performance.now(), root.querySelector("img")];
    if (!start || (root.tagName != "svg" && !image) || picture() === old) return;
    observer.disconnect();
    if (!image || image.complete) resolve(now - start);
    else image.addEventListener("load", () => resolve(performance.now() - start));
  });
  observer.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["src"] });
  setTimeout(() => reject(new Error("a key press changed no picture in 10 s")), 10000);
}); }"""


class Row(NamedTuple):
    what: str
    measured: str
    reach: str = ""
    met: bool | None = None  # None: nothing was promised
    beside: str = ""  # the baseline, or what else explains the figure
    note: str = ""  # printed under the table when the reach was missed


class Bench(NamedTuple):
    copy: Path  # the repository's folders, to be imported, run and changed
    temp: Path
    quick: bool


def against(what, value, limit, unit, beside="", note=""):
    return Row(what, f"{value:.3g} {unit}", f"<= {limit} {unit}", value <= limit, beside, note)


def p95(values):
    return quantiles(values, n=20, method="inclusive")[-1]


def both(values, unit="ms"):
    """Seconds as "median / p95"."""
    scale = {"s": 1, "ms": 1e3, "us": 1e6}[unit]
    return f"{scale * median(values):.3g} / {scale * p95(values):.3g} {unit}"


def slope(sizes, values):
    """Of log(value) over log(size): 1 means that ten times as much takes ten times as long."""
    return linear_regression([math.log(s) for s in sizes], [math.log(v) for v in values]).slope


def say(words):
    print(words, file=sys.stderr, flush=True)


def in_fresh_process(bench, code):
    """Run code that ends in a value and return that value."""
    lines = code.strip().splitlines()
    lines[-1] = f"import json; print(); print(json.dumps({lines[-1]}))"
    path = os.pathsep.join(map(str, [bench.copy, ROOT / "tests", ROOT / "tools"]))
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(
        command, cwd=bench.copy, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


# ---------------------------------------------------------------------------------------------
# import


def measure_import(bench):
    code = f"""
import sys, time
times = [time.perf_counter()]
import numpy
times.append(time.perf_counter())
import helpers
times.append(time.perf_counter())
[times[1] - times[0], times[2] - times[1], sorted(set({HEAVY}) & set(sys.modules))]"""
    in_fresh_process(bench, code)  # compiles
    numpy, helpers, loaded = zip(*(in_fresh_process(bench, code) for _ in range(7)), strict=True)
    more = f"numpy alone {median(numpy):.3g} s; medians of 7 processes"
    yield against("import helpers, beyond import numpy", median(helpers), 0.15, "s", more)
    found = ", ".join(loaded[0])
    yield Row("  heavy packages it loads", found or "none", "none", not found, "of " + ", ".join(HEAVY))


# ---------------------------------------------------------------------------------------------
# norms


def plain_norms():
    """name -> (axis, the formulation one writes first)"""
    import numpy as np

    def standardize(x, axis):
        return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)

    def divide(x, axis):
        return x / np.sqrt((x**2).mean(axis, keepdims=True) + 1e-5)

    return {"layer_norm": (-1, standardize), "rms_norm": (-1, divide), "batch_norm": (0, standardize)}


def time_norm(name, shape, repeats):
    """Seconds of ours and of the plain formulation, alternating; and the memory of each in units of x."""
    import tracemalloc

    import numpy as np

    import helpers

    axis, plain = plain_norms()[name]
    x = np.random.default_rng(0).normal(3, 2, size=shape).astype(np.float32)
    calls = [lambda: getattr(helpers, name)(x), lambda: plain(x, axis)]
    seconds = [[], []]
    for _ in range(repeats + 3):
        for call, times in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    seconds = [times[3:] for times in seconds]  # the first three warm up
    memory = []
    for call in calls:
        tracemalloc.start()
        call()
        memory.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
    return seconds, memory


def measure_norms(bench):
    def measure(name, shape, repeats):
        return in_fresh_process(bench, f"import bench\nbench.time_norm({name!r}, {shape}, {repeats})")

    for name in plain_norms():
        say(f"  {name}")
        (ours, plain), (extra, extra_plain) = measure(name, (4096, 1024), 15 if bench.quick else 31)
        times = f"median / p95 {both(ours)}, plain {both(plain)}"
        what, ratio = f"{name}, float32 (4096, 1024)", median(ours) / median(plain)
        if name == "layer_norm":
            yield against(f"{what}, time over x.mean/x.var", ratio, 0.65, "x", times)
            memory = f"plain {extra_plain:.2f} x"
            yield against("  layer_norm, extra memory over x, y included", extra, 2, "x", memory)
        else:
            memory = f", memory {extra:.2f} x, plain {extra_plain:.2f} x"
            yield Row(f"{what}, time over the plain form", f"{ratio:.3g} x", beside=times + memory)
        sizes, medians = [10**k for k in range(3, 8)], []
        for size in sizes:
            (ours, plain), _ = measure(name, (size // 250, 250), 15 if size > 10**5 else 101)
            medians.append((median(ours), median(plain)))
            unit = "us" if size < 10**5 else "ms"
            beside = f"plain {both(plain, unit)}, ratio {median(ours) / median(plain):.2f}"
            yield Row(f"  {size:,} elements, ({size // 250}, 250), median / p95", both(ours, unit), beside=beside)
        ours, plain = zip(*medians, strict=True)
        for k in (0, 2):
            beside = f"plain {slope(sizes[k:], plain[k:]):.2f}"
            yield Row(
                f"  log-log slope, {sizes[k]:,} to 10,000,000", f"{slope(sizes[k:], ours[k:]):.2f}", beside=beside
            )


# ---------------------------------------------------------------------------------------------
# build


def state_size(explorer):
    """Bytes that a notebook stores for an explorer: frames, controls, links and the script."""
    from ipywidgets.embed import dependency_state

    models = dependency_state([explorer], drop_defaults=False)
    for model in models.values():
        model["state"] = {key: value for key, value in model["state"].items() if value is not None}
    return len(json.dumps(models))


def build(frames):
    """Seconds of a process's imports, its first explorer, the compute in it, its PNG; bytes of state."""
    times, names = [time.perf_counter()], {}
    exec("import matplotlib.figure, matplotlib.ticker" + PLOT, names)
    times.append(time.perf_counter())
    explorer = names["explorer"](frames)
    times.append(time.perf_counter())
    for position in explorer.positions():
        explorer.compute(**position)
    times.append(time.perf_counter())
    explorer._png  # noqa: B018 - drawn on first access
    times.append(time.perf_counter())
    return *(b - a for a, b in zip(times, times[1:], strict=False)), state_size(explorer)


def build_lesson(path):
    """Run a lesson's cells: [slider positions, seconds to build, bytes of state] of every explorer."""
    from lessons import run_lesson

    from helpers import Explorer

    built, plain_init = [], Explorer.__init__

    def timed(self, *args, **kwargs):
        start = time.perf_counter()
        plain_init(self, *args, **kwargs)
        seconds = time.perf_counter() - start
        built.append([len(list(self.positions())), seconds, state_size(self)])

    Explorer.__init__ = timed
    os.chdir(Path(path).parent)
    run_lesson(Path(path))
    return built


def measure_build(bench):
    counts, medians = [10, 30, 100, 300, 1000], []
    for frames in counts:
        say(f"  {frames} frames")
        repeats = 2 if bench.quick else 7 if frames == 100 else 3
        runs = [in_fresh_process(bench, f"import bench\nbench.build({frames})") for _ in range(repeats)]
        imports, seconds, compute, png, size = (median(values) for values in zip(*runs, strict=True))
        medians.append((seconds, size))
        more = f"compute alone {compute:.2g} s; not in it: imports {imports:.2g} s, still picture {png:.2g} s"
        if frames == 100:
            yield against("building an explorer of 100 frames", seconds, 0.3, "s", more)
            yield against("  state of 100 frames", size / 1000, 200, "kB")
        else:
            yield Row(f"  {frames} frames", f"{seconds:.3g} s", beside=f"{more}; state {size / 1000:.3g} kB")
    seconds, sizes = zip(*medians, strict=True)
    yield Row(
        "  log-log slope, 10 to 1000 frames",
        f"{slope(counts, seconds):.2f}",
        beside=f"state {slope(counts, sizes):.2f}",
    )
    for path in sorted((bench.copy / "notebooks").glob("*.ipynb")):
        say(f"  {path.stem}")
        built = in_fresh_process(bench, f"import bench\nbench.build_lesson({str(path)!r})")
        for k, (frames, seconds, size) in enumerate(built, start=1):
            more = f"built in {seconds:.2g} s, {1000 * seconds / frames:.2g} ms a frame"
            yield against(f"{path.stem}, explorer {k}, {frames} frames: state", size / 1000, 200, "kB", more)


# ---------------------------------------------------------------------------------------------
# lessons


def run_notebook(nb, folder):
    """Seconds of a whole run with kernel start, and [(seconds, In number, first line)] of its code cells."""
    from datetime import datetime

    from nbclient import NotebookClient

    start = time.perf_counter()
    options = {"timeout": 120, "kernel_name": "python3", "resources": {"metadata": {"path": str(folder)}}}
    NotebookClient(nb, extra_arguments=["--log-level=ERROR"], **options).execute()
    total, cells = time.perf_counter() - start, []
    for cell in nb.cells:
        if cell.cell_type == "code" and "execution" in cell.metadata:
            stamps = cell.metadata.execution
            ends = (datetime.fromisoformat(stamps[s]) for s in ("iopub.status.busy", "iopub.status.idle"))
            cells.append((-(next(ends) - next(ends)).total_seconds(), cell.execution_count, cell.source.split("\n")[0]))
    return total, cells


def measure_lessons(bench):
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    folder, repeats = bench.copy / "notebooks", 1 if bench.quick else 3
    runs = [run_notebook(new_notebook(cells=[new_code_cell("import numpy")]), folder) for _ in range(repeats + 1)]
    yield Row("baseline: a notebook that imports numpy", f"{median(t for t, _ in runs[1:]):.3g} s")
    for path in sorted(folder.glob("*.ipynb")):
        say(f"  {path.stem}")
        runs = [run_notebook(nbformat.read(path, as_version=4), folder) for _ in range(repeats)]
        totals = [total for total, _ in runs]
        more = f"median of {repeats}, longest {max(totals):.3g} s"
        yield against(f"{path.stem}, all cells, with kernel start", median(totals), 15, "s", more)
        cells = [(median(t for t, _, _ in same), *same[0][1:]) for same in zip(*(c for _, c in runs), strict=True)]
        seconds, number, line = max(cells)
        note = f"It begins: {line}"
        yield against(f"{path.stem}, slowest cell", seconds, 2, "s", f"In [{number}]", note)


# ---------------------------------------------------------------------------------------------
# browser


def press(page, control, picture, key):
    """Press a key on a control; seconds until the picture has changed."""
    control.focus()
    page.evaluate(CHANGED, picture)
    page.keyboard.press(key)
    milliseconds = page.evaluate("window.changed")
    page.wait_for_timeout(100)  # what the press still causes is over before the next one
    return milliseconds / 1000


def measure_browser(bench):
    from conftest import CHROMIUM, CHROMIUM_ARGUMENTS, Lab, missing

    if missing():
        yield Row("explorer, key press to changed picture", f"skipped: {missing()}")
        return
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook
    from playwright.sync_api import sync_playwright
    from record import KERNELSPEC

    nb = new_notebook(cells=[new_code_cell(source) for source in (PLOT.strip(), "explorer(57)", INTERACT.strip())])
    nb.metadata.kernelspec = KERNELSPEC
    nbformat.write(nb, bench.copy / "bench.ipynb")
    lab = Lab(bench.copy)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
            ours, baseline = press_in_turn(browser, lab)
            ratio = p95(ours) / p95(baseline)
            yield against("explorer over interact + plt.show(), p95, same plot", ratio, 0.15, "x")
            yield Row("  explorer, key press to changed picture, median / p95", both(ours))
            yield Row("  interact + plt.show(), the same plot, median / p95", both(baseline))
            for path in sorted((bench.copy / "notebooks").glob("*.ipynb")):
                say(f"  {path.stem}")
                for k, times in enumerate(press_in_lesson(browser, lab, path.stem), start=1):
                    beside = f"p95 {p95(times) / p95(baseline):.2f} x that of interact above"
                    yield Row(f"{path.stem}, explorer {k}, median / p95", both(times), beside=beside)
            browser.close()
    finally:
        lab.stop()


def new_page(browser):
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(120_000)
    return page


def press_in_turn(browser, lab, presses=25):
    """Seconds per press in the explorer and in interact, taking turns in one page."""
    page = new_page(browser)
    page.goto(lab.url("bench.ipynb"))
    page.wait_for_selector(".jp-StatusBar-Widget >> text=/Idle/")  # before that, JupyterLab asks for a kernel
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click("li[data-command='runmenu:run-all']")
    pictures = [page.wait_for_selector(s) for s in (".explorer-stage svg", ".widget-interact .jp-OutputArea:has(img)")]
    controls = [page.wait_for_selector(f"{s} .noUi-handle") for s in (".explorer", ".widget-interact")]
    page.wait_for_timeout(3000)  # an explorer redraws itself in its first two seconds
    times = [[], []]
    for k in range(presses + 2):
        for control, picture, seconds in zip(controls, pictures, times, strict=True):
            took = press(page, control, picture, "ArrowRight")
            if k >= 2:  # the first two warm up
                seconds.append(took)
    page.close()
    return times


def press_in_lesson(browser, lab, lesson, presses=15):
    """Seconds per press of the first control of each explorer, in a trusted lesson before anything is run."""
    from test_lessons_in_browser import keys_to_move, open_lesson

    page = new_page(browser)
    open_lesson(page, lab, lesson)
    page.wait_for_timeout(3000)
    for explorer in page.query_selector_all(".explorer"):
        picture = explorer.query_selector(".explorer-stage svg")
        control = explorer.query_selector("select, .noUi-handle, input[type=checkbox]")
        yield [press(page, control, picture, keys_to_move(control)[0]) for _ in range(presses)]
    page.close()


# ---------------------------------------------------------------------------------------------
# clone


@contextmanager
def make(folder, *arguments, log):
    """make in a process group of its own, without what an outer make has left in the environment; ended at the end."""
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
    process = subprocess.Popen(["make", *arguments], cwd=folder, env=env, **options)
    try:
        yield process
    finally:
        stop(process)


def cpu():
    """CPU seconds of the children that have ended: beside them one sees how long a program only waited for a core."""
    return sum(os.times()[2:4])


def stop(process):
    """End a process group: first politely, after 15 s by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            for _ in range(75):
                process.poll()  # make itself is ours to collect
                os.killpg(process.pid, 0)
                time.sleep(0.2)
        except ProcessLookupError:
            break
    process.wait()


def measure_clone(bench):
    from conftest import free_port

    changes = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout
    note = f"; {len(changes.splitlines())} uncommitted changes are not in it" if changes else ""
    seconds, folders = [], [bench.temp / "first clone", bench.temp / "second clone"]
    for folder in folders:
        start = time.perf_counter()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        seconds.append(time.perf_counter() - start)
    with open(bench.temp / "make.txt", "w+") as log:
        say("  make env, so that the packages are cached")
        with make(folders[0], "env", log=log) as process:
            if process.wait():
                raise RuntimeError("make env failed: " + (bench.temp / "make.txt").read_text()[-200:])
        say("  make lab")
        port, start, cpu_before = free_port(), time.perf_counter(), cpu()
        options = f"LAB_ARGS=--no-browser --port={port} --ServerApp.port_retries=0"
        with make(folders[1], "lab", options, log=log) as process:
            answer = wait_for(process, f"http://127.0.0.1:{port}/api")
            answered = time.perf_counter() - start
        used = f"{cpu() - cpu_before:.0f} s of CPU"
        more = f"clone {seconds[1]:.2g} s, Jupyter Server {answer['version']}, {used}{note}"
        yield against("clone of HEAD, then `make lab` answers, packages cached", seconds[1] + answered, 30, "s", more)
        if bench.quick:
            yield Row("`make test` after `make env`", "skipped by --quick")
            return
        say("  make test")
        start, cpu_before = time.perf_counter(), cpu()
        with make(folders[0], "test", "TEST_ARGS=-n 2", log=log) as process:
            code = process.wait(900)
            seconds = time.perf_counter() - start
    lines = (bench.temp / "make.txt").read_text().splitlines()
    closing = [line.strip("= ") for line in lines if " in " in line][-1:]
    more = "; ".join([*closing, f"exit code {code}", f"{cpu() - cpu_before:.0f} s of CPU"])
    note = "; ".join(line for line in lines if line.startswith("FAILED"))
    row = against("`make test` after `make env`, two workers", seconds, 90, "s", more, note)
    yield row._replace(met=row.met and code == 0)  # tests that fail have not been timed


def wait_for(process, url, limit=300):
    """The JSON at an address, as soon as it answers."""
    end = time.monotonic() + limit
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{url} did not answer in {limit} s or the program ended (exit code {process.poll()})")


# ---------------------------------------------------------------------------------------------

GROUPS = {
    "import": measure_import,
    "norms": measure_norms,
    "build": measure_build,
    "lessons": measure_lessons,
    "browser": measure_browser,
    "clone": measure_clone,
}


def collect(name, bench):
    """The rows of a group; one that crashes keeps the rows it had and says why."""
    rows = []
    say(f"{name} ...")
    try:
        for row in GROUPS[name](bench):
            rows.append(row)
    except Exception as error:
        words = " ".join(str(error).split())[:200]
        rows.append(Row(f"{name}: crashed", f"{type(error).__name__}: {words}"))
    return rows


def print_table(tables):
    rows = [row for rows in tables.values() for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    titles = Row("what", "measured", "reach", None, "beside it")
    for name, group in {"": [titles], **tables}.items():
        print(f"\n{name}".rstrip())
        for row in group:
            verdict = {None: "", True: "ok", False: "MISSED"}[row.met].ljust(6)
            cells = [word.ljust(width) for word, width in zip(row[:3], widths, strict=True)]
            print("  ".join([*cells, verdict, row.beside]).rstrip())
    missed = [row for row in rows if row.met is False]
    print(f"\n{len(missed)} of {sum(row.met is not None for row in rows)} reaches missed.")
    for row in missed:  # the notes
        print(f"- {row.what.strip()}: {row.measured} ({row.beside}), expected {row.reach}. {row.note}".rstrip())


def machine():
    """What the figures depend on, in one line."""
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {blas['name']} {blas['version']} with 1 thread"
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help=f"of the groups {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, without `make test`")
    options = parser.parse_args(arguments)
    names = [name for name in GROUPS if options.only in name]
    if not names:
        parser.error(f"no group has {options.only!r} in its name; there are {', '.join(GROUPS)}")
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as temp:
        bench = Bench(Path(temp) / "copy", Path(temp), options.quick)
        for part in ("helpers", "notebooks"):
            ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "kernel-*")  # sockets of a kernel
            shutil.copytree(ROOT / part, bench.copy / part, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", bench.copy)
        os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        folders = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
        os.environ |= {name: str(Path(temp) / name) for name in folders}  # nothing is left in the home folder
        os.environ |= {"JUPYTER_PREFER_ENV_PATH": "1", "HELPERS_STRICT": "1"}
        sys.path.insert(0, str(ROOT / "tests" / "browser"))
        before = machine()
        tables = {name: collect(name, bench) for name in names}
    print(f"{before} (before)\n{machine()} (after)\nA load above the number of cores makes every figure pessimistic.\n")
    print_table(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
