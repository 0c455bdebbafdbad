"""Reading one try in a browser: its views, its tokens by keyboard, notes, tags, playing it again."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import ROOT, Site

pytestmark = pytest.mark.slow

SignIn = Callable[[str], Page]


@pytest.fixture(scope="module")
def played(site: Site) -> dict[str, Any]:
    """A run of eva's with a group that the embedded model really played."""
    command = [sys.executable, "-m", "tests.browser.played", "eva"]
    done = subprocess.run(command, cwd=ROOT, env=site.environment, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def address(site: Site, played: dict[str, Any]) -> str:
    return f"{site.url}/trajectories/{played['trajectories'][0]}/"


def chosen(page: Page) -> int:
    place: int = page.evaluate("document.querySelector('.tok.chosen').place")
    return place


def test_tokens_are_walked_by_keyboard(address: str, sign_in: SignIn) -> None:
    page = sign_in("eva")
    page.goto(f"{address}?view=tokens")
    expect(page.locator("token-strip")).to_have_attribute("data-ready", "yes")
    drawn = page.evaluate("document.querySelector('token-strip').drawn")
    tokens, words = page.locator("token-strip .tokens"), page.locator(".token-words")
    tokens.focus()
    page.keyboard.press("ArrowRight")
    assert chosen(page) == drawn[0]
    expect(words).to_contain_text(f"token {drawn[0]}")
    expect(words).to_contain_text("probability")
    page.keyboard.press("ArrowRight")
    assert chosen(page) == drawn[1]
    page.keyboard.press("End")
    assert chosen(page) == drawn[-1]
    page.keyboard.press("ArrowLeft")
    assert chosen(page) == drawn[-2]
    page.keyboard.press("Home")
    assert chosen(page) == drawn[0]
    turns = page.evaluate(
        "document.querySelector('token-strip').told.stretches.filter(s => s[2]).map(s => s[0])"
    )
    if len(turns) > 1:
        page.keyboard.press("ArrowDown")
        assert chosen(page) == turns[1]
        expect(words).to_contain_text("message #4")
    accessible(page)
    page.get_by_role("link", name="As a table").click()
    expect(page.locator(".token-table tbody tr").first).to_be_visible()
    accessible(page)


def test_views_are_links_that_arrows_walk_through(address: str, sign_in: SignIn) -> None:
    page = sign_in("eva")
    page.goto(address)
    accessible(page)
    page.get_by_role("link", name="Transcript").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("view=timeline"))
    expect(page.locator(".course")).to_be_visible()
    accessible(page)
    page.keyboard.press("4")
    page.wait_for_url(re.compile("view=raw"))
    expect(page.locator("#raw-json")).to_contain_text('"messages"')
    accessible(page)


def test_what_is_hidden_stays_hidden_and_a_link_leads_to_a_message(address: str, sign_in: SignIn) -> None:
    page = sign_in("eva")
    page.goto(address)
    system = page.locator("#m0")
    expect(system).to_be_visible()
    page.get_by_label("Hide system").check()
    expect(system).to_be_hidden()
    page.reload()
    expect(system).to_be_hidden()
    page.get_by_role("link", name="Link to message 1").click()
    page.wait_for_url(re.compile("#m1$"))
    expect(page.locator("#m1")).to_be_in_viewport()


def test_notes_and_tags_are_written_and_taken_back_in_place(address: str, sign_in: SignIn) -> None:
    page = sign_in("eva")
    page.goto(address)
    note = page.locator("#notes-m1")
    note.get_by_text("Note on message 1").click()
    note.get_by_label("Note", exact=True).fill("Asks <b>twice</b>")
    note.get_by_role("button", name="Save note").click()
    expect(note.locator(".note-text")).to_have_text("Asks <b>twice</b>")
    note.get_by_role("button", name="Delete").click()
    expect(note.locator(".note-text")).to_have_count(0)
    note.get_by_role("button", name="Undo").click()
    expect(note.locator(".note-text")).to_have_count(1)
    tags = page.locator("#tags-of-try")
    tags.get_by_label("New tag").fill("odd one")
    page.keyboard.press("Enter")
    expect(tags.locator(".tag")).to_contain_text("odd one")
    tags.get_by_role("button", name="Remove the tag odd one").click()
    expect(tags).to_contain_text("is removed")
    tags.get_by_role("button", name="Undo").click()
    expect(tags.locator(".tag")).to_contain_text("odd one")
    accessible(page)


def test_a_try_is_played_again_by_the_desk(address: str, sign_in: SignIn, desk: None) -> None:
    page = sign_in("eva")
    page.goto(address)
    page.get_by_label("Seed").fill("5")
    page.get_by_role("button", name="Run again", exact=True).click()
    page.wait_for_url(re.compile("/replays/"))
    expect(page.get_by_role("heading", name="Recorded and run again")).to_be_visible(timeout=120_000)
    expect(page.locator(".sides-row").first).to_be_visible()
    expect(page.get_by_label("Seed", exact=True)).to_have_value("6")
    accessible(page)


def test_entropy_is_measured_by_the_desk_and_read_by_keyboard(
    address: str, sign_in: SignIn, desk: None
) -> None:
    page = sign_in("eva")
    page.goto(f"{address}?view=tokens")
    overlay = page.get_by_label("Colour by")
    expect(overlay.get_by_role("option", name="entropy")).to_have_count(0)
    accessible(page)
    page.get_by_role("button", name="Measure entropy").focus()
    page.keyboard.press("Enter")
    told = page.locator("#measured")
    expect(told).to_contain_text("Sampler and learner differ by at most", timeout=120_000)
    expect(told).to_contain_text("Mean entropy")
    page.locator("token-strip[data-ready] .tokens").focus()
    page.keyboard.press("ArrowRight")
    words = page.locator(".token-words")
    expect(words).to_contain_text(
        re.compile(r"log probability [−\d.]+ · entropy [\d.]+ · importance [01]\.\d{5}")
    )
    strip = page.evaluate("document.querySelector('token-strip').told")
    ratios = [ratio for ratio in strip["ratios"] if ratio is not None]
    assert len(ratios) == page.evaluate("document.querySelector('token-strip').drawn.length")
    assert all(abs(ratio - 1) < 1e-3 for ratio in ratios)
    overlay.select_option("entropy")
    expect(page.locator("token-strip")).to_have_attribute("data-overlay", "entropy")
    expect(page.locator("[data-legend=entropy]")).to_be_visible()
    accessible(page)
    page.goto(f"{address}?view=tokens&table=1")
    expect(page.get_by_role("columnheader", name="Entropy", exact=True)).to_be_visible()
    accessible(page)


def test_a_scenario_is_made_in_place(address: str, sign_in: SignIn) -> None:
    page = sign_in("eva")
    page.goto(address)
    part = page.locator("#scenario-of-try")
    part.get_by_role("button", name="Make a scenario").click()
    expect(part).to_contain_text("The scenario is added.")
    part.get_by_role("button", name="Undo").click()
    expect(part).to_contain_text("taken back")


def test_a_scenario_over_all_steps(site: Site, sign_in: SignIn) -> None:
    page = sign_in("eva")
    run = site.call("make_run", user="eva")
    site.call("begin", run=run, steps=3, groups=2, tries=6)
    site.call("tell", run=run)
    page.goto(f"{site.url}/runs/{run}/scenarios/")
    accessible(page)
    page.locator(".table tbody a").first.click()
    expect(page.locator(".sides-row").first).to_be_visible()
    accessible(page)
    first = page.url
    page.keyboard.press("]")
    page.wait_for_url(lambda url: "/scenarios/s7000" in url and url != first)
    now = page.locator("#j").input_value()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"[?&]j="))
    expect(page.locator("#j")).not_to_have_value(now)
