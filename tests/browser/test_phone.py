"""What every page has on a phone: the whole navigation, and nothing wider than the screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import width
from tests.browser.site import Site

pytestmark = pytest.mark.slow

SignIn = Callable[..., Page]


@pytest.mark.parametrize("screen", [390, 360])
def test_every_section_can_be_seen_and_reached(site: Site, sign_in: SignIn, screen: int) -> None:
    page = sign_in("pho")
    page.set_viewport_size({"width": screen, "height": 844})
    page.goto(f"{site.url}/runs/{site.call('make_run', user='pho')}/")
    sections = page.locator(".topnav a")
    expect(sections).to_have_count(6)
    for box in sections.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())"):
        assert box["left"] >= 0 and box["right"] <= screen and box["height"] >= 44
    expect(page.locator("#pill")).to_be_in_viewport()


def test_one_endless_word_does_not_widen_the_page(site: Site, sign_in: SignIn) -> None:
    page = sign_in("wor")
    made = site.call("hostile", run=site.call("make_run", user="wor"), text="x" * 300)
    page.set_viewport_size({"width": 390, "height": 844})
    for address in (f"groups/{made['group']}", f"trajectories/{made['trajectory']}"):
        page.goto(f"{site.url}/{address}/")
        assert width(page, 390) <= 390


def test_the_button_that_offers_a_comparison_fits(site: Site, sign_in: SignIn) -> None:
    page = sign_in("off")
    run = site.call("make_run", user="off", steps=2)
    site.call("begin", run=run, steps=2, groups=1, tries=2)
    site.call("tell", run=run)
    site.call("keep_checkpoints", run=run)
    site.call("finish", run=run)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.url}/runs/{run}/")
    expect(page.get_by_role("link", name="Compare it with")).to_be_visible()
    assert width(page, 390) <= 390
    page.goto(f"{site.url}/runs/{run}/compare/")
    assert width(page, 390) <= 390
