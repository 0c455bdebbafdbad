"""Opens a group's page again and again in a real Chromium, on a real site in a directory of its own.

    python -m bench.sides.group_page '{"tries": 16, "turns": 20, "visits": 5}'

A page counts as usable when its table is painted and its keys work: the second animation frame after
<group-review> is there and every row is in the document. Milliseconds count from the start of the navigation,
so the server's time is in them. The first visit warms the templates and is told apart. After the last visit
`j` must focus the best try, else nothing was measured.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import BROWSERS
from tests.browser.site import Site

WATCH = """
window.usable = new Promise((told) => {
  const whole = () => document.readyState !== "loading";
  const there = () => whole() && document.querySelector("group-review:defined .rows");
  const watch = () => requestAnimationFrame(there() ? () => told(performance.now()) : watch);
  watch();
});
"""


def visit(page: Page, address: str) -> dict[str, float]:
    """Milliseconds until the page was usable, and until the server had answered."""
    page.goto(address, wait_until="commit")
    usable = page.evaluate("window.usable")
    answered = page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd")
    return {"usable": usable, "answered": answered}


def main(tries: int, turns: int, visits: int) -> dict[str, Any]:
    data = Path(tempfile.mkdtemp(prefix="group-page-"))
    site = Site(data)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    try:
        site.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(site.url + site.call("sign_in_link", user="ann"))
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"{site.url}/")
            group = site.call("wide", run=site.call("make_run", user="ann"), size=tries, turns=turns)
            page.add_init_script(WATCH)
            address = f"{site.url}/groups/{group}/"
            first = visit(page, address)
            later = [visit(page, address) for _ in range(visits)]
            page.keyboard.press("j")
            assert page.evaluate("document.activeElement.id") == "try-0", "the keys did not work"
            elements = page.evaluate("document.querySelectorAll('*').length")
            browser.close()
    finally:
        site.stop()
        shutil.rmtree(data, ignore_errors=True)
    usable = [round(one["usable"], 1) for one in later]
    return {
        "figure": max(usable),
        "median_ms": statistics.median(usable),
        "visits_ms": usable,
        "answered_ms": [round(one["answered"], 1) for one in later],
        "first_visit_ms": round(first["usable"], 1),
        "elements": elements,
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
