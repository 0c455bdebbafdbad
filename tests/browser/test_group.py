"""A group's page in a browser: tries read, scored and ranked by keyboard, on a screen and on a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible, serious_faults, width
from tests.browser.site import Site

SignIn = Callable[..., Page]


@pytest.fixture
def group(site: Site, sign_in: SignIn) -> tuple[Page, int]:
    """A page that shows a group of six tries with five turns, and the group's id."""
    page = sign_in("ann")
    found = site.call("wide", run=site.call("make_run", user="ann"), size=6, turns=5)
    page.goto(f"{site.url}/groups/{found}/")
    return page, found


def order(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("th.try", "heads => heads.map(head => head.id)")
    return found


def said(page: Page) -> None:
    """Wait until the page has said what became of the last wish."""
    expect(page.locator(".review-toast")).to_have_class(re.compile("said-something"))


def test_a_try_is_scored_undone_and_scored_again_without_a_mouse(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator("#score-value")).to_be_focused()
    page.keyboard.type("2")
    expect(page.locator(".score-editor output")).to_have_text("= 0.22")
    page.keyboard.press("Tab")
    page.keyboard.type("Slow, and j k u d stay text.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#try-1 .try-human")).to_have_text("0.22")
    expect(page.locator("#try-1 .try-reward")).to_have_text("0.90")
    expect(page.locator("#try-2")).to_be_focused()
    expect(page.locator(".review-toast")).to_contain_text("You scored this try 0.22.")
    assert site.call("scores_of", group=pk) == [[1, 0.22, "Slow, and j k u d stay text.", "reward", False]]
    page.keyboard.press("u")
    expect(page.locator("#try-1 .human")).to_be_hidden()
    expect(page.locator(".review-toast")).to_contain_text("taken back")
    assert site.call("scores_of", group=pk)[0][-1] is True
    page.keyboard.press("u")
    expect(page.locator(".review-toast")).to_contain_text("There is nothing to undo.")
    page.keyboard.press("e")
    page.keyboard.type("0.85")
    page.keyboard.press("Enter")
    expect(page.locator("#try-2 .try-human")).to_have_text("0.85")
    page.locator(".review-toast").get_by_role("button", name="Undo").click()
    expect(page.locator("#try-2 .human")).to_be_hidden()
    page.reload()
    expect(page.locator("#try-1 .human")).to_be_hidden()
    expect(page.locator("tr.verdicts")).to_contain_text("Slow, and j k u d stay text.")


def test_number_keys_put_the_try_at_its_place(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    before = order(page)
    page.keyboard.press("4")
    expect(page.locator(".review-toast")).to_contain_text("Choose a try first")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("1")
    expect(page.locator(".review-toast")).to_contain_text("Your ranking is saved.")
    assert order(page) == ["try-2", "try-0", "try-1", "try-3", "try-4", "try-5"]
    assert site.call("ranking_of", group=pk) == [[2], [0], [1], [3], [4], [5]]
    expect(page.locator("#try-2")).to_be_focused()
    expect(page.locator("#try-2 .my-place")).to_have_text("your place 1")
    cells = page.eval_on_selector_all(".rows tr:not(.folded)", "rows => rows.map(row => row.cells[1].id)")
    assert all(cell == "" or cell.startswith("t2m") for cell in cells), "cells went with their heads"
    page.keyboard.press("9")
    expect(page.locator(".review-toast")).to_contain_text("Only places from 1 to 6")
    page.locator("#try-5").get_by_role("button", name="One place better").click()
    expect(page.locator("#try-5 .my-place")).to_have_text("your place 5")
    expect(page.locator(".review-toast")).to_contain_text("Your ranking is saved.")
    page.reload()
    assert order(page) == ["try-2", "try-0", "try-1", "try-3", "try-5", "try-4"]
    page.keyboard.press("j")
    page.keyboard.press("3")
    said(page)
    page.keyboard.press("u")
    expect(page.locator("th.try").first).to_have_id("try-2")
    assert before == [f"try-{index}" for index in range(6)]


def test_columns_are_dragged_to_their_place(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    page.locator("#try-2 .try-name").drag_to(page.locator("#try-0 .try-name"))
    expect(page.locator(".review-toast")).to_contain_text("Your ranking is saved.")
    assert order(page)[:3] == ["try-2", "try-0", "try-1"]
    assert site.call("ranking_of", group=pk)[:2] == [[2], [0]]


def test_what_the_server_refuses_is_taken_back_and_said(group: tuple[Page, int]) -> None:
    page, _ = group
    refusal = {"status": 400, "content_type": "application/json", "body": '{"error": "Not like this."}'}
    page.route("**/score/", lambda route: route.fulfill(**refusal))
    page.route("**/rank/", lambda route: route.fulfill(**refusal))
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.type("x")
    page.keyboard.press("Enter")
    expect(page.locator(".score-editor [role=alert]")).to_contain_text("a number between 0 and 1")
    page.locator("#score-value").fill("0.5")
    page.locator("#score-reason").fill("Kept.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".score-editor [role=alert]")).to_have_text("Not like this.")
    expect(page.locator("#score-reason")).to_have_value("Kept.")
    expect(page.locator("#try-0 .human")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#try-0")).to_be_focused()
    before = order(page)
    page.keyboard.press("3")
    expect(page.locator(".review-toast")).to_contain_text("Not like this.")
    assert order(page) == before
    expect(page.locator("#try-0 .my-place")).to_be_hidden()
    page.unroute("**/rank/")
    page.context.set_offline(True)
    page.keyboard.press("3")
    expect(page.locator(".review-toast")).to_contain_text("ArtWeb does not answer")
    assert order(page) == before


def test_only_what_differs(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    pk = site.call("wide", run=site.call("make_run", user="ann"), size=2, turns=6)
    page.goto(f"{site.url}/groups/{pk}/")
    equal = page.locator("tr.equal")
    assert equal.count()
    expect(equal.first).to_be_visible()
    page.keyboard.press("d")
    expect(equal.first).to_be_hidden()
    expect(page.locator("tr.folded").first).to_contain_text("the same in all tries")
    page.reload()
    expect(equal.first).to_be_hidden()
    page.locator("tr.folded button").first.click()
    expect(equal.first).to_be_visible()
    differing = page.locator("td.arguments mark").first
    expect(differing).to_be_visible()


def test_links_lead_to_the_try_and_the_message(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#t5m10 a.here").click()
    expect(page.locator(".review-toast")).to_contain_text("The link is copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{site.url}/groups/{pk}/?t=5#t5m10"
    page.goto(f"{site.url}/")
    page.goto(copied)
    expect(page.locator("#t5m10")).to_be_in_viewport()
    expect(page.locator("#t5m10")).to_be_focused()
    page.goto(f"{site.url}/groups/{pk}/?t=4")
    expect(page.locator("#try-4")).to_be_focused()
    expect(page.locator("#try-4")).to_be_in_viewport()
    quote = page.locator(".score-reason a").first
    expect(quote).to_have_attribute("href", "#t0m10")
    quote.click()
    expect(page.locator("#t0m10")).to_be_in_viewport()


def test_a_long_message_is_shown_whole_when_asked(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    text = "</td><script>window.hit=1</script>\u202e" + "word " * 400 + "the end"
    ids = site.call("hostile", run=site.call("make_run", user="ann"), text=text)
    page.goto(f"{site.url}/groups/{ids['group']}/")
    cell = page.locator("#t0m2")
    expect(cell).not_to_contain_text("the end")
    cell.get_by_role("button", name="Show all").click()
    expect(cell).to_contain_text("the end")
    expect(cell.get_by_role("button", name="Show all")).to_have_count(0)
    expect(cell.locator("a.here")).to_be_focused()
    assert page.evaluate("window.hit") is None
    assert page.locator("main script").count() == 0
    accessible(page)


def test_up_and_around(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    page.keyboard.press("]")
    page.wait_for_url(lambda url: not url.endswith(f"/groups/{pk}/"))
    page.keyboard.press("[")
    page.wait_for_url(f"{site.url}/groups/{pk}/")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("put the try at this place")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_url(re.compile(r"/runs/\d+/$"))


def test_one_try_at_a_time_on_a_phone(site: Site, group: tuple[Page, int]) -> None:
    page, pk = group
    accessible(page)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#try-0")).to_be_visible()
    expect(page.locator("#try-1")).to_be_hidden()
    page.get_by_role("group", name="Show a try").get_by_role("button").nth(3).click()
    expect(page.locator("#try-3")).to_be_visible()
    expect(page.locator("#try-0")).to_be_hidden()
    expect(page.locator("#t3m2")).to_be_visible()
    page.locator("#try-3").get_by_role("button", name="Score").click()
    expect(page.locator("#score-value")).to_be_focused()
    assert width(page, 390) <= 390
    assert serious_faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("#try-4")).to_be_focused()
    page.goto(f"{site.url}/groups/{pk}/?t=2#t2m4")
    expect(page.locator("#t2m4")).to_be_visible()
    assert width(page, 390) <= 390


def test_places_and_digits_mean_what_people_expect(group: tuple[Page, int]) -> None:
    page, _ = group
    told = page.evaluate(
        """async () => {
             const { moved } = await import("/static/js/group-columns.js");
             const { valueOf } = await import("/static/js/group-scores.js");
             return [
               [[2, 2], [2, 1], [0, 3]].map(([index, place]) => moved([[0, 1], [2]], index, place)),
               ["0", "9", "7", "1.0", " .5 ", "0,25", "2.0", "-1", "", "x", "1e-1"].map(valueOf),
             ];
           }"""
    )
    assert told[0] == [[[0], [2], [1]], [[2], [0, 1]], [[1], [2], [0]]]
    assert told[1] == [0, 1, 0.78, 1, 0.5, 0.25, None, None, None, None, 0.1]


def test_a_finger_goes_to_the_next_try(group: tuple[Page, int]) -> None:
    page, _ = group
    page.set_viewport_size({"width": 390, "height": 844})
    swipe = """([from, to]) => {
      const region = document.querySelector(".tries");
      const at = (x) => [new Touch({ identifier: 1, target: region, clientX: x, clientY: 300 })];
      region.dispatchEvent(new TouchEvent("touchstart", { touches: at(from), bubbles: true }));
      region.dispatchEvent(new TouchEvent("touchend", { changedTouches: at(to), bubbles: true }));
    }"""
    page.evaluate(swipe, [300, 100])
    expect(page.locator("#try-1")).to_be_visible()
    expect(page.locator("#try-0")).to_be_hidden()
    page.evaluate(swipe, [100, 130])
    expect(page.locator("#try-1")).to_be_visible()
    page.evaluate(swipe, [100, 300])
    expect(page.locator("#try-0")).to_be_visible()
