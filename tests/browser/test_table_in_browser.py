"""The Table in JupyterLab before any cell runs: menus and search by keyboard, links, keys, and the table without it."""

import nbformat
import pytest

from helpers.widgets.table import Table
from tests.browser.conftest import ROOT
from tests.browser.test_lessons_in_browser import DEAD

SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from helpers import Table
"""
START = {"network": "language model, transformer", "depth": "9 to 100 blocks", "start": "train from scratch"}
SHOWN = "() => [...document.querySelectorAll('.filter-table tbody tr')].filter((e) => e.checkVisibility()).length"


@pytest.fixture(scope="module")
def notebook(lab):
    """A notebook with one table, run and stored as `make notebooks` stores it."""
    from nbclient import NotebookClient

    sources = [SETUP, f'Table("choosing", start={START})', "1 + 1"]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    NotebookClient(nb, kernel_name="python3", store_widget_state=True, timeout=120).execute()
    nbformat.write(nb, lab.folder / "notebooks" / "table.ipynb")
    return "notebooks/table.ipynb"


@pytest.fixture
def opened(lab, notebook, page):
    """The notebook with its table drawn; loaded again where JupyterLab lost the race with a kernel that starts."""
    lab.trust(notebook)
    drawn = f"document.querySelector('.table-status')?.textContent || document.body.innerText.includes('{DEAD}')"
    for _ in range(2):
        page.goto(lab.url(notebook))
        page.wait_for_function(drawn)
        if page.query_selector(".filter-table"):
            break
    return page


def wait_for_rows(page, count):
    page.wait_for_function(f"(count) => ({SHOWN})() == count", arg=count, timeout=5000)


def expected(choice):
    table = Table("choosing")
    table.close()
    return len(table.fitting(choice))


def test_menus_and_words_filter_by_keyboard(opened):
    wait_for_rows(opened, expected(START))
    assert f"{expected(START)} of " in opened.inner_text(".table-status")
    opened.locator(".filter-table select").nth(2).focus()  # depth
    opened.keyboard.press("ArrowDown")
    wait_for_rows(opened, expected(START | {"depth": "more than 100 blocks"}))
    opened.keyboard.press("Home")
    wait_for_rows(opened, expected({name: option for name, option in START.items() if name != "depth"}))
    cells = opened.locator(".jp-Cell").count()
    opened.locator(".filter-table input").focus()
    opened.keyboard.type("xadd deepnorm")  # x and dd would cut a cell
    wait_for_rows(opened, 0)
    assert "No row fits" in opened.inner_text(".table-status")
    opened.locator(".filter-table input").fill("")
    opened.keyboard.type("RMSNORM")
    wait_for_rows(opened, 1)
    assert opened.locator(".jp-Cell").count() == cells


def test_a_link_opens_the_lesson_in_a_tab(opened):
    link = opened.locator(".filter-table tbody tr:not([hidden]) a[href^='04_']").first
    with opened.expect_popup() as popup:
        link.click()
    lesson = popup.value
    lesson.wait_for_selector(".jp-Notebook h1:has-text('04 LayerNorm')", timeout=60_000)
    lesson.close()
    opened.set_viewport_size({"width": 600, "height": 900})
    wide = "(e) => e.scrollWidth - e.clientWidth"
    assert opened.locator(".filter-table .table-frame").evaluate(wide) <= 1, "cut off on a narrow page"


def test_untrusted_tables_show_every_row(lab, notebook, page):
    source = lab.folder / notebook
    copy = lab.folder / "notebooks" / "table_untrusted.ipynb"
    copy.write_text(source.read_text(encoding="utf-8").replace("1 + 1", "1 + 2"), encoding="utf-8")
    page.goto(lab.url("notebooks/table_untrusted.ipynb"))
    page.wait_for_selector(".jp-OutputArea-output table")
    assert page.query_selector(".filter-table") is None
    assert page.locator(".jp-OutputArea-output table tr").count() == expected({}) + 1
    assert page.locator(".jp-OutputArea-output table a").count() > 20
