"""What every page must be: free of serious faults in both themes, and no wider than a phone."""

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Page

IMPACTS = ("minor", "moderate", "serious", "critical")
OF_COLOURS = ["color-contrast"]
"""What a theme can break: it changes colours and nothing else."""


def accessible(page: Page, impacts: tuple[str, ...] = ("serious", "critical")) -> None:
    """The light theme whole and the colours of the dark one, as axe-core sees them, then 390 pixels."""
    for theme, rules in (("light", None), ("dark", OF_COLOURS)):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        found = faults(page, impacts, rules)
        assert found == [], f"{page.url} in {theme}: {found}"
    page.set_viewport_size({"width": 390, "height": 844})
    assert width(page, 390) <= 390
    page.set_viewport_size({"width": 1280, "height": 900})


def width(page: Page, most: int) -> int:
    """How wide the page is, once charts have had a second's worth of frames to follow the window."""
    narrow = """most => new Promise(told => {
      const look = (left) => {
        const width = document.documentElement.scrollWidth;
        if (width <= most || !left) told(width);
        else requestAnimationFrame(() => look(left - 1));
      };
      look(60);
    })"""
    return int(page.evaluate(narrow, most))


def serious_faults(page: Page) -> list[tuple[str, list[str]]]:
    return faults(page, ("serious", "critical"))


def faults(
    page: Page, impacts: tuple[str, ...] = IMPACTS, rules: list[str] | None = None
) -> list[tuple[str, list[str]]]:
    """Name and places of each. What holds is not listed node by node, which takes longer than looking."""
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules is not None:
        options["runOnly"] = rules
    found = Axe().run(page, options=options)["violations"]
    return [(f["id"], [node["html"][:300] for node in f["nodes"]]) for f in found if f["impact"] in impacts]
