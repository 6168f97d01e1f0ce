"""What is alive when a lesson is saved is alive when it is opened the next day, after JupyterLab has been stopped.

A day is a start of tools/learner/lab.py in one copy of the repository, in one browser.
"""

import json
import urllib.error
import urllib.request

import pytest

from tests.browser.conftest import DEAD, STAGE, move_every_control, open_alive, open_closed_parts, settled
from tools.lessons import VIEW

OWN_CELL = """from helpers import points
Explorer({"n": [1, 2]}, lambda n: [points([n], [0.625 * n])], lambda n: f"my own picture {n}")"""
ANSWERED = "[...document.querySelectorAll('.quiz [role=status]')].map((e) => e.textContent).filter((t) => t)"
# Give the first cell with these words another text, or put a cell above it; then run it.
WRITE_AND_RUN = """async ([words, source, above]) => {
  const { content } = jupyterapp.shell.currentWidget;
  content.activeCellIndex = content.widgets.findIndex((e) => e.model.sharedModel.getSource().includes(words));
  if (above) await jupyterapp.commands.execute("notebook:insert-cell-above");
  content.activeCell.model.sharedModel.setSource(source);
  await jupyterapp.commands.execute("notebook:run-cell");
  return content.activeCell.node.innerText;
}"""


@pytest.fixture(scope="module")
def house(make_lab):
    """A JupyterLab that is stopped and started, and whose files are changed."""
    return make_lab("house")


def next_day(house):
    house.stop()
    house.start()


def file_of(house, name):
    return house.folder / "workbook" / f"{name}.ipynb"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def open_lesson(page, house, name):
    """Open a copy; returns what is alive in it, once that is every explorer that its file shows."""
    outputs = [output for cell in read(file_of(house, name))["cells"] for output in cell.get("outputs", [])]
    views = [output["data"] for output in outputs if VIEW in output.get("data", {})]
    seen = open_alive(page, lambda: page.goto(house.url(f"workbook/{name}.ipynb")))
    assert len(seen["stages"]) == sum("image/png" in view for view in views)
    return seen


def living(page):
    """What is alive in a notebook in which nothing is dead."""
    seen = settled(page)
    assert DEAD not in page.inner_text(".jp-Notebook")
    return seen


def run(page, command):
    """Run by one line of the menu Run, which our sentences name, until all has run."""
    page.click("li.lm-MenuBar-item:has-text('Run')")
    page.click(f".lm-Menu-itemLabel:text-is('{command}')")
    page.wait_for_timeout(300)
    page.wait_for_function(
        "![...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].some((e) => e.textContent.includes('*'))",
        timeout=90_000,
    )
    return living(page)


def save(page, house, name):
    before = file_of(house, name).stat().st_mtime_ns
    page.keyboard.press("Control+s")
    for _ in range(100):
        if file_of(house, name).stat().st_mtime_ns != before:
            return living(page)
        page.wait_for_timeout(50)
    pytest.fail(f"{name} was not saved")


@pytest.mark.smoke
def test_a_lesson_its_exercise_and_its_second_day(house, page):
    name = "00_start_here"
    assert f"JupyterLab is at http://127.0.0.1:{house.port}/lab" in house.said()
    with pytest.raises(urllib.error.HTTPError, match="403"):  # nobody is answered without the token
        urllib.request.urlopen(f"http://127.0.0.1:{house.port}/api/contents")
    recorded = open_lesson(page, house, name)
    assert len(recorded["stages"]) >= 1 and "Commit to your guess above" in page.inner_text(".jp-Notebook")
    question = page.locator(".quiz fieldset").first
    question.locator("input").nth(1).check()
    question.locator("button").first.click()
    answered = page.evaluate(ANSWERED)
    run(page, "Run All Cells")
    for line, verdict in (("x - x.mean()", "FAIL - my_standardize"), ("(x - x.mean()) / x.std()", "PASS - my_stand")):
        attempt = f"def my_standardize(x):\n    return {line}\n\n\ncheck_exercise('my_standardize', my_standardize)"
        assert verdict in page.evaluate(WRITE_AND_RUN, ["def my_standardize", attempt, False])
    page.evaluate(WRITE_AND_RUN, ["summary()", OWN_CELL, True])
    page.wait_for_selector(".explorer-caption:has-text('my own picture')")
    first = living(page)
    assert len(first["stages"]) == len(recorded["stages"]) + 1
    assert save(page, house, name) == first
    next_day(house)
    assert open_lesson(page, house, name) == first
    assert page.evaluate(ANSWERED) == answered != []
    assert "PASS - my_standardize" in page.inner_text(".jp-Notebook")
    assert move_every_control(page) >= 2


def test_a_lesson_that_ran_in_part_and_one_that_was_only_saved(house, page):
    half, unrun = "01_axis_intuition", "02_batch_dependence"  # with an explorer in a closed part
    open_lesson(page, house, half)
    cells = page.locator(".jp-CodeCell .jp-InputPrompt:visible")
    cells.nth(cells.count() // 2).click()
    page.keyboard.press("Escape")
    run(page, "Run All Above Selected Cell")
    first = save(page, house, half)
    widgets = read(file_of(house, unrun))["metadata"]["widgets"]
    second = open_lesson(page, house, unrun)
    save(page, house, unrun)
    assert read(file_of(house, unrun))["metadata"]["widgets"] == widgets
    next_day(house)
    assert open_lesson(page, house, half) == first
    file_of(house, unrun).rename(file_of(house, "renamed"))
    assert open_lesson(page, house, "renamed") == second
    assert min(len(day["stages"]) for day in (first, second)) >= 1
    assert min(day["inputs"] for day in (first, second)) >= 3
    closed = [stage for stage in page.locator(STAGE).all() if not stage.is_visible()]
    open_closed_parts(page)
    assert closed and all(stage.is_visible() for stage in closed)
    assert move_every_control(page) >= len(second["stages"])
