"""Two tries judged blind in a real browser, with keys alone: answered, taken back, resumed, revealed."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import Site
from tests.browser.test_compare import SignIn, finished_run

pytestmark = pytest.mark.slow


def started(site: Site, page: Page, run: int, scenarios: int) -> None:
    page.goto(f"{site.url}/runs/{run}/compare/")
    page.get_by_label("Scenarios", exact=True).fill(str(scenarios))
    page.get_by_role("button", name="Compare").press("Enter")
    page.wait_for_url("**/comparisons/*/")


def press(page: Page, key: str, judged: int) -> None:
    """One key, and the page that comes of it."""
    page.keyboard.press(key)
    expect(page.locator("#blind-progress")).to_contain_text(f"{judged} of 5 judged")


def test_pairs_are_judged_by_keys_and_then_revealed(site: Site, sign_in: SignIn) -> None:
    page = sign_in("fay")
    run = finished_run(site, "fay")
    started(site, page, run, 5)
    report = page.url
    page.get_by_role("link", name="Judge blind").press("Enter")
    expect(page.locator("#blind-progress")).to_contain_text("0 of 5 judged")
    assert "Untrained" not in page.content() and "Checkpoint" not in page.content()
    accessible(page)
    pair = page.locator("input[name=pair]")
    first = pair.input_value()
    press(page, "1", 1)
    press(page, "u", 0)
    expect(pair).to_have_value(first)
    press(page, "ArrowRight", 1)
    press(page, "0", 2)
    press(page, "s", 3)
    page.goto(f"{report}blind/")
    expect(page.locator("#blind-progress")).to_contain_text("3 of 5 judged · 1 of them skipped")
    press(page, "ArrowLeft", 4)
    press(page, "2", 5)
    expect(page.get_by_text("You have judged every pair")).to_be_visible()
    accessible(page)
    page.get_by_role("main").get_by_role("link", name="Show what I judged").first.press("Enter")
    page.wait_for_url("**/judged/")
    expect(page.locator(".compare-lines tbody tr")).to_have_count(4)
    expect(page.locator("main")).to_contain_text("Checkpoint of step")
    accessible(page)
    page.get_by_role("button", name="Take back the answer").first.press("Enter")
    expect(page.locator(".compare-lines tbody tr")).to_have_count(3)
    page.goto(report)
    expect(page.get_by_role("heading", name="Judged blind")).to_be_visible()
    accessible(page)


def test_on_a_phone_the_tries_stand_below_each_other(site: Site, sign_in: SignIn) -> None:
    page = sign_in("gus")
    started(site, page, finished_run(site, "gus"), 5)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("link", name="Judge blind").click()
    left, right = page.get_by_role("region", name="Left"), page.get_by_role("region", name="Right")
    above, below = left.bounding_box(), right.bounding_box()
    assert above and below and below["y"] >= above["y"] + above["height"] and above["x"] == below["x"]
    page.get_by_role("button", name="Left is better").click()
    expect(page.locator("#blind-progress")).to_contain_text("1 of 5 judged")
