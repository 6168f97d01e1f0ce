"""The Table in JupyterLab before any cell runs: menus and search by keyboard, and links."""

from helpers.widgets.table import Table
from tests.browser.conftest import open_alive

START = {"network": "language model, transformer", "depth": "9 to 100 blocks", "start": "train from scratch"}
SHOWN = "[...document.querySelectorAll('.filter-table tbody tr')].filter((e) => e.checkVisibility()).length"


def wait_for_rows(page, count):
    page.wait_for_function(f"(count) => {SHOWN} == count", arg=count, timeout=5000)


def expected(choice):
    table = Table("choosing")
    table.close()
    return len(table.fitting(choice))


def test_menus_and_words_filter_by_keyboard_and_links_open_lessons(lab, page):
    lab.write("notebooks/table.ipynb", f'from helpers import Table\nTable("choosing", start={START})', "1 + 1")
    open_alive(page, lambda: page.goto(lab.url("notebooks/table.ipynb")), ".filter-table tbody")
    wait_for_rows(page, expected(START))
    assert f"{expected(START)} of " in page.inner_text(".table-status")
    page.locator(".filter-table select").nth(2).focus()  # depth
    page.keyboard.press("ArrowDown")
    wait_for_rows(page, expected(START | {"depth": "more than 100 blocks"}))
    page.keyboard.press("Home")
    wait_for_rows(page, expected({name: option for name, option in START.items() if name != "depth"}))
    cells = page.locator(".jp-Cell").count()
    page.locator(".filter-table input").focus()
    page.keyboard.type("xadd deepnorm")  # x and dd would cut a cell
    wait_for_rows(page, 0)
    assert "No row fits" in page.inner_text(".table-status")
    page.locator(".filter-table input").fill("")
    page.keyboard.type("RMSNORM")
    wait_for_rows(page, 1)
    assert page.locator(".jp-Cell").count() == cells
    page.locator(".filter-table input").fill("")
    with page.expect_popup() as popup:
        page.locator(".filter-table tbody tr:not([hidden]) a[href^='04_']").first.click()
    popup.value.wait_for_selector(".jp-Notebook h1:has-text('04 LayerNorm')", timeout=60_000)
    popup.value.close()
