"""Opens the token view of a long try again and again in a real Chromium, on a real site of its own.

    python -m bench.sides.token_view '{"tokens": 8192, "visits": 5}'

It counts as usable when every token is drawn, the keys work and two animation frames have passed, so that it
is painted. Milliseconds count from the start of the navigation: the server's time for the page and for the
tokens is in them. The first visit warms templates and tokenizer and is told apart. After the last visit the
arrow keys must walk, End must reach the last token, and n must find a surprising one, else nothing was
measured; how long a key takes to be answered is told too.
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
  const there = () => document.querySelector("token-strip[data-ready]");
  const painted = () => requestAnimationFrame(() => told(performance.now()));
  const watch = () => requestAnimationFrame(there() ? painted : watch);
  watch();
});
"""
KEY = """
key => new Promise((told) => {
  const began = performance.now();
  const pressed = new KeyboardEvent("keydown", { key, bubbles: true });
  document.querySelector("token-strip .tokens").dispatchEvent(pressed);
  requestAnimationFrame(() => requestAnimationFrame(() => told(performance.now() - began)));
})
"""
PLACE = "document.querySelector('.tok.chosen').place"


def visit(page: Page, address: str) -> dict[str, float]:
    """Milliseconds until the view was usable, and until page and tokens had been answered."""
    page.goto(address, wait_until="commit")
    usable = page.evaluate("window.usable")
    page_, tokens = page.evaluate(
        "[performance.getEntriesByType('navigation')[0].responseEnd, "
        "performance.getEntriesByType('resource').find(one => one.name.includes('/tokens/')).responseEnd]"
    )
    return {"usable": usable, "page": page_, "tokens": tokens}


def keys(page: Page, tokens: int) -> list[float]:
    """Milliseconds until a key was answered and painted."""
    page.locator("token-strip .tokens").focus()
    took = [page.evaluate(KEY, key) for key in ("ArrowRight", "ArrowRight", "ArrowDown", "n", "End")]
    assert page.evaluate(PLACE) == tokens - 1, "the keys did not work"
    assert page.evaluate("document.querySelectorAll('.tok').length") == tokens
    asked = "performance.getEntriesByType('resource').filter(one => one.name.includes('/tokens/')).length"
    assert page.evaluate(asked) == 1, "the tokens were asked for twice"
    return took


def main(tokens: int, visits: int) -> dict[str, Any]:
    data = Path(tempfile.mkdtemp(prefix="token-view-"))
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
            trajectory = site.call("long", run=site.call("make_run", user="ann"), tokens=tokens)
            page.add_init_script(WATCH)
            address = f"{site.url}/trajectories/{trajectory}/?view=tokens"
            first = visit(page, address)
            later = [visit(page, address) for _ in range(visits)]
            took = keys(page, tokens)
            browser.close()
    finally:
        site.stop()
        shutil.rmtree(data, ignore_errors=True)
    usable = [round(one["usable"], 1) for one in later]
    return {
        "figure": max(usable),
        "median_ms": statistics.median(usable),
        "visits_ms": usable,
        "page_answered_ms": [round(one["page"], 1) for one in later],
        "tokens_answered_ms": [round(one["tokens"], 1) for one in later],
        "first_visit_ms": round(first["usable"], 1),
        "slowest_key_ms": round(max(took), 1),
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
