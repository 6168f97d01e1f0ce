"""Take README's picture: the explorer of lesson 01 that shows the four operations, as a page of the site.

python -m tools.author.picture     after `make site`; writes .github/lesson.png (needs Node and Chromium)
"""

import shutil
import sys

from playwright.sync_api import sync_playwright

from tools.lessons import ROOT

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
READY = "document.documentElement.dataset.widgets == 'ready'"


def main():
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("No Chromium was found: install your system's package `chromium`.", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1200, "height": 1000}, device_scale_factor=1.5)
        page.goto((ROOT / "site" / "01_axis_intuition.html").as_uri())
        page.wait_for_function(READY)
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        explorer = page.locator('.explorer:has(.explorer-caption:has-text("layer norm, normalize"))').first
        explorer.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        explorer.screenshot(path=ROOT / ".github" / "lesson.png")
        chromium.close()
    print(".github/lesson.png is written: look at it, and at its alt text in README.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
