"""What judging cost, on the page of a run that is watched."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import Site
from tests.browser.test_learner import a_run_under_way, told_to

SignIn = Callable[[str], Page]


def test_the_sum_grows_with_the_run_and_fits_a_phone(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    panel = page.get_by_role("region", name="What judging cost")
    expect(panel).to_contain_text("counted from the first step on")
    told_to(site, page, run, 1)
    expect(panel).to_contain_text("Questions")
    before = panel.inner_text()
    told_to(site, page, run, 3)
    expect(panel.get_by_role("img")).to_be_visible()
    expect(panel).not_to_have_text(before, use_inner_text=True)
    expect(page.locator("#numbers")).to_contain_text("questions")
    accessible(page)
