"""What every page must be: free of serious faults in both themes, and no wider than a phone."""

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page


def accessible(page: Page) -> None:
    """Both themes, as axe-core sees them, then 390 pixels."""
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious_faults(page) == [], theme
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})


def serious_faults(page: Page) -> list[tuple[str, list[str]]]:
    """Name and places of each."""
    found = Axe().run(page)["violations"]
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    return [(fault["id"], [node["html"][:300] for node in fault["nodes"]]) for fault in serious]
