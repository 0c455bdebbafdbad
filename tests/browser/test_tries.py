"""The list of tries in a browser: filters, chips, keys, search, saved views; usable by everybody."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import Site

SignIn = Callable[[str], Page]


@pytest.fixture(scope="module")
def run(site: Site) -> int:
    made: int = site.call("make_run", user="tess", steps=3)
    site.call("begin", run=made, steps=3, groups=3, tries=10)
    site.call("tell", run=made)
    site.call("finish", run=made)
    assert site.call("make_searchable")
    return made


def test_filters_become_chips_that_come_off_one_by_one(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}")
    expect(page.locator(".try-row")).to_have_count(50)
    page.get_by_label("Outcome").select_option("no")
    page.get_by_label("When").select_option("train")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(f"{site.url}/tries/?run={run}&label=train&success=no")
    failed = page.locator(".try-row").count()
    expect(page.locator(".try-row .chip.bad")).to_have_count(failed)
    page.get_by_role("link", name="Remove the filter: Failed").click()
    page.wait_for_url(re.compile(r"label=train$"))
    assert page.locator(".try-row").count() > failed


def test_a_filter_that_makes_no_sense_is_said_and_kept_in_its_field(
    site: Site, sign_in: SignIn, run: int
) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}&score_from=lots")
    expect(page.get_by_role("alert").filter(has_text="lots")).to_be_visible()
    expect(page.get_by_label("Score from")).to_have_value("lots")
    expect(page.locator(".try-row").first).to_be_visible()


def test_search_marks_what_it_found_and_keys_walk_the_list(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}")
    page.keyboard.press("/")
    page.keyboard.type("reach Lyon")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("text=reach"))
    expect(page.locator("mark").first).to_have_text("reach")
    page.keyboard.press("j")
    expect(page.locator(".try-link").nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".try-link").nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trajectories/\d+/$"))


def test_pages_are_turned_by_key_to_the_last_and_back(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}")
    last = page.get_by_role("link", name="Last page")
    place = str(last.get_attribute("href")).rpartition("?")[2]
    last.click()
    page.wait_for_url(lambda url: url.endswith(place))
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    page.keyboard.press("[")
    page.wait_for_url(re.compile(r"before="))
    page.keyboard.press("]")
    page.wait_for_url(re.compile(r"after="))


def test_a_view_is_saved_deleted_and_brought_back(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}&success=no")
    page.locator("summary", has_text="Saved views").click()
    page.get_by_placeholder("Name of the view").fill("Failed ones")
    page.get_by_role("button", name="Save these filters").click()
    expect(page.get_by_role("navigation", name="Saved views")).to_contain_text("Failed ones")
    page.locator("summary", has_text="Saved views").click()
    page.get_by_role("button", name="Delete Failed ones").click()
    expect(page.get_by_role("navigation", name="Saved views")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("navigation", name="Saved views")).to_contain_text("Failed ones")


def test_an_export_is_a_file_named_after_run_and_filter(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}&label=trained")
    page.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSONL").click()
    assert re.fullmatch(r"tries-run-\w+-label-trained\.jsonl", download.value.suggested_filename)
    assert len(download.value.path().read_text().splitlines()) == 10


def test_an_empty_list_says_what_to_do(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("nobody-yet")
    page.goto(f"{site.url}/tries/")
    expect(page.locator(".empty")).to_contain_text("Start a run")
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}&tool=nothing")
    page.get_by_role("link", name="Take all filters off").click()
    expect(page.locator(".try-row").first).to_be_visible()


def test_tries_of_a_run_under_way_show_up_by_themselves(site: Site, sign_in: SignIn) -> None:
    page = sign_in("tess")
    fresh = site.call("make_run", user="tess", steps=2)
    page.goto(f"{site.url}/tries/?run={fresh}")
    expect(page.locator(".empty")).to_contain_text("by themselves")
    site.call("begin", run=fresh, steps=2, groups=2, tries=2)
    site.call("tell", run=fresh, reports=8)
    expect(page.locator(".try-row").first).to_be_visible()


def test_everybody_can_use_it(site: Site, sign_in: SignIn, run: int) -> None:
    page = sign_in("tess")
    page.goto(f"{site.url}/tries/?run={run}&step_from=1&text=order")
    page.locator("summary", has_text="Saved views").click()
    accessible(page)
    page.goto(f"{site.url}/tries/?scenario=none")
    accessible(page)
