"""The judge lab in a real browser: a group ranked by keyboard alone, blind, revealed, undone; by pointer."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import serious_faults, width
from tests.browser.site import Site

SignIn = Callable[..., Page]


def recorded(site: Site, user: str) -> tuple[int, list[int]]:
    """A run that is done, and its groups that are not tied."""
    run = site.call("make_run", user=user)
    site.call("begin", run=run)
    site.call("tell", run=run)
    site.call("finish", run=run)
    return run, site.call("groups", run=run)


def places(page: Page) -> list[list[str]]:
    return page.locator(".lab-place").evaluate_all(
        "all => all.map(place => [...place.querySelectorAll('.lab-chip')].map(chip => chip.textContent))"
    )


@pytest.mark.slow
def test_a_group_is_ranked_by_keyboard_alone(site: Site, sign_in: SignIn) -> None:
    _run, groups = recorded(site, "kay")
    page = sign_in("kay")
    page.goto(f"{site.url}/groups/{groups[0]}/lab/")
    expect(page.get_by_text("Rank the tries first")).to_be_visible()
    assert serious_faults(page) == []
    names = page.locator(".lab-card").evaluate_all("cards => cards.map(card => card.dataset.name)")
    page.keyboard.press("j")
    expect(page.locator(".lab-card").first).to_be_focused()
    page.keyboard.press("1")
    expect(page.get_by_text(f"{names[0]} is at place 1 of 1. Still to be placed: 7.")).to_be_attached()
    expect(page.locator(".lab-card").nth(1)).to_be_focused()
    page.keyboard.press("1")
    page.keyboard.press("9")
    assert places(page) == [[names[1]], [names[0]], [names[2]]]
    page.keyboard.press("u")
    expect(page.locator(".lab-place")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.locator("[data-says=state]")).to_have_text("Saved")
    assert places(page) == [[names[1]], [names[0]], names[2:]]
    expect(page.get_by_role("cell", name="place 1").first).to_be_visible()  # revealed
    expect(page.get_by_text("The run's judge").first).to_be_visible()
    expect(page.locator("#lab-progress")).to_contain_text("1 of ")
    assert serious_faults(page) == []
    page.locator(".lab-card").first.focus()
    page.keyboard.press("=")
    expect(page.get_by_text(f"{names[0]} shares place 1 of 2 with {names[1]}.")).to_be_attached()
    page.keyboard.press("u")
    expect(page.get_by_text("Taken back.")).to_be_attached()
    assert places(page)[:2] == [[names[1]], [names[0]]]
    expect(page.locator("[data-says=state]")).to_have_text("Saved")
    page.reload()
    expect(page.locator(".lab-place")).to_have_count(3)
    assert places(page)[:2] == [[names[1]], [names[0]]]
    page.keyboard.press("n")
    expect(page).not_to_have_url(f"{site.url}/groups/{groups[0]}/lab/")


@pytest.mark.slow
def test_tries_are_dragged_to_places_and_onto_each_other(site: Site, sign_in: SignIn) -> None:
    _run, groups = recorded(site, "dee")
    page = sign_in("dee")
    page.goto(f"{site.url}/groups/{groups[0]}/lab/")

    def drag(name: str, target: str) -> None:
        page.locator(".lab-chip", has_text=name).drag_to(page.locator(target))

    drag("Try 1", ".lab-places")
    drag("Try 2", ".lab-gap[data-gap='0']")
    drag("Try 3", ".lab-place[data-place='1']")
    assert places(page) == [["Try 2"], ["Try 1", "Try 3"]]
    page.get_by_role("button", name="Try 3: one place worse").click()
    assert places(page) == [["Try 2"], ["Try 1"], ["Try 3"]]
    page.set_viewport_size({"width": 390, "height": 844})
    assert width(page, 390) <= 390
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert serious_faults(page) == []


@pytest.mark.slow
def test_judges_are_asked_and_a_rubric_shows_what_it_would_change(
    site: Site, sign_in: SignIn, desk: None
) -> None:
    run, _groups = recorded(site, "lou")
    page = sign_in("lou")
    page.goto(f"{site.url}/lab/?run={run}&groups=5")
    expect(page.get_by_text("15 questions to be asked.")).to_be_visible()
    page.get_by_role("button", name="Ask the judges").press("Enter")
    mine = page.get_by_role("row", name="default rubric").first
    expect(mine).to_contain_text("5 groups", timeout=120_000)
    reverse = mine.get_by_role("cell").nth(3)
    expect(reverse).to_contain_text(re.compile(r"\+1\.00|too few groups to say"), timeout=120_000)
    expect(page.get_by_text("All of these questions were answered before")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("All of these questions were answered before")).to_be_visible()
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert width(page, 390) <= 390
    page.get_by_role("link", name="Edit the rubric").press("Enter")
    page.get_by_role("textbox", name="Your edit").fill("Only brevity counts.")
    page.get_by_role("button", name="See what it would change").press("Enter")
    expect(page.get_by_text("In none of the groups judged so far")).to_be_visible(timeout=120_000)
    assert serious_faults(page) == []
    page.get_by_role("button", name="Keep as the agent's rubric").press("Enter")
    expect(page.get_by_text("It is the agent's rubric now.")).to_be_visible()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("default", exact=True)).to_be_visible()
