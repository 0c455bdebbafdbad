"""The scenario studio in a real browser: made from a table, edited by keyboard, in bulk, from a file."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import serious_faults
from tests.browser.site import ROOT, Site

SignIn = Callable[..., Page]

MAKE_AGENT = """
import os, sys, tempfile
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"
import django
django.setup()
from django.contrib.auth.models import User
from training.authoring.toolbox import tables
from training.models import Agent
owner = User.objects.get_or_create(username="ann")[0]
agent = Agent.objects.create(owner=owner, name=sys.argv[1], environment="authored", description="Books.")
if len(sys.argv) > 2:
    file = Path(tempfile.mkdtemp()) / "books.csv"
    place, name = ("the hills", "the sea"), ("Ann", "Bo", "Cy", "Di")
    rows = [
        f"B-{n:03},Title {n} of {place[n % 2]},{name[n % 4]} Writer,{n % 9 + 1},{1900 + n}"
        for n in range(int(sys.argv[2]))
    ]
    file.write_text("code,title,author,shelf,year\\n" + "\\n".join(rows))
    tables.add_table(agent, file, "books.csv", hints={}, watch=lambda: None)
print(agent.pk)
"""


def make_agent(site: Site, name: str, rows: int = 0) -> int:
    arguments = [name, *([str(rows)] if rows else [])]
    done = subprocess.run(
        [sys.executable, "-c", MAKE_AGENT, *arguments],
        cwd=ROOT, env=site.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def fits(page: Page) -> None:
    """No part of the page's own content is wider than the screen, but for what scrolls by itself."""
    beyond = """() => [...document.querySelectorAll("main *")].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll-x, pre")
    ).map((e) => `${e.tagName}.${e.className}`)"""
    assert page.evaluate(beyond) == []


@pytest.mark.slow
def test_scenarios_are_made_from_a_table_and_the_page_is_accessible(
    site: Site, sign_in: SignIn, desk: None
) -> None:
    agent = make_agent(site, "Shelves", 120)
    page = sign_in("ann")
    page.goto(f"{site.url}/agents/{agent}/scenarios/")
    assert serious_faults(page) == []
    page.get_by_role("button", name="Make 60 scenarios").click()
    expect(page.get_by_text("60 scenarios were added.")).to_be_visible(timeout=120_000)
    expect(page.locator(".scenario")).to_have_count(50)
    expect(page.get_by_text("No duplicates, and nothing leaks between the splits.")).to_be_visible()
    page.get_by_text("What they cover").press("Enter")
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious_faults(page) == []
    page.locator("#scenario-older a").press("Enter")
    expect(page.locator(".scenario")).to_have_count(60)
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)


@pytest.mark.slow
def test_one_is_written_and_edited_by_keyboard_alone(site: Site, sign_in: SignIn) -> None:
    agent = make_agent(site, "Keys")
    page = sign_in("ann")
    page.goto(f"{site.url}/agents/{agent}/scenarios/")
    page.get_by_role("button", name="Write one by hand").press("Enter")
    question = page.get_by_label("What the agent is asked")
    expect(question).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(page.get_by_role("button", name="Write one by hand")).to_be_focused()
    page.keyboard.press("Enter")
    expect(question).to_be_focused()
    page.keyboard.press("Control+Enter")
    page.keyboard.type("Where is Dune?")
    page.keyboard.press("Tab")
    page.keyboard.type("shelf 4 | shelf four")
    assert serious_faults(page) == []
    page.keyboard.press("Control+Enter")
    edit = page.get_by_role("button", name="Edit Where is Dune?")
    expect(edit).to_be_focused()
    edit.press("Enter")
    expect(question).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("Where is Emma?")
    page.get_by_label("Tags, with commas between").focus()
    page.keyboard.type("novel, ")
    page.keyboard.press("Control+Enter")
    edited = page.get_by_role("button", name="Edit Where is Emma?")
    expect(edited).to_be_focused()
    expect(page.locator(".scenario .chip", has_text="novel")).to_be_visible()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("Where is Dune?").first).to_be_visible()
    expect(page.get_by_text("Undone.")).to_be_visible()


@pytest.mark.slow
def test_a_file_is_mapped_brought_in_and_changed_in_bulk_with_a_way_back(
    site: Site, sign_in: SignIn, desk: None, tmp_path: Path
) -> None:
    agent = make_agent(site, "Files")
    file = tmp_path / "mine.csv"
    rows = [f"Where does street number {n} end?;at {n};roads" for n in range(8)]
    file.write_text("first;second;third\n" + "\n".join(rows))
    page = sign_in("ann")
    page.goto(f"{site.url}/agents/{agent}/scenarios/")
    page.get_by_text("Bring a file", exact=True).press("Enter")
    page.get_by_label("CSV or JSONL with a question on each line").set_input_files(file)
    page.get_by_role("button", name="Look into the file").press("Enter")
    expect(page.get_by_role("heading", name="What stands where in mine.csv")).to_be_visible(timeout=120_000)
    page.get_by_label("What the answer must contain").select_option("second")
    expect(page.get_by_role("cell", name="at 3")).to_be_visible()
    page.get_by_label("Tags").select_option("third")
    expect(page.locator("td .chip", has_text="roads").first).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Bring them in").click()
    expect(page.get_by_text("8 scenarios were added.")).to_be_visible(timeout=120_000)
    page.get_by_role("searchbox", name="Text").fill("number 3")
    expect(page.locator(".scenario")).to_have_count(1)
    page.get_by_role("searchbox", name="Text").fill("")
    expect(page.locator(".scenario")).to_have_count(8)
    _change_in_bulk(page)


def _change_in_bulk(page: Page) -> None:
    action = page.get_by_label("With the chosen scenarios", exact=True).and_(page.locator("select"))
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Choose scenarios first")).to_be_visible()
    for number in (1, 2):
        page.get_by_label(f"Choose: Where does street number {number} end?").check()
    action.select_option("to-val")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".scenario .split-of-val")).not_to_have_count(0)
    page.get_by_label("All", exact=True).check()
    action.select_option("tag")
    page.get_by_label("Tag", exact=True).and_(page.locator("input")).fill("checked")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".scenario .chip", has_text="checked")).to_have_count(8)
    page.get_by_label("All", exact=True).check()
    page.get_by_label("Choose: Where does street number 1 end?").uncheck()
    action.select_option("delete")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("7 scenarios deleted.")).to_be_visible()
    expect(page.locator(".scenario")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".scenario")).to_have_count(8)


@pytest.mark.slow
def test_the_prompt_is_shown_as_the_model_reads_it(site: Site, sign_in: SignIn, desk: None) -> None:
    agent = make_agent(site, "Prompt")
    page = sign_in("ann")
    page.goto(f"{site.url}/agents/{agent}/prompt/")
    expect(page.locator(".prompt-final")).to_be_visible(timeout=120_000)
    page.get_by_label("What the agent is told first").fill("You know every book.")
    expect(page.locator("#save-state")).to_contain_text("Saved")
    expect(page.locator(".prompt-final")).to_contain_text("You know every book.", timeout=120_000)
    assert page.locator(".prompt-final mark").first.text_content() == "<|im_start|>"
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        assert serious_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
