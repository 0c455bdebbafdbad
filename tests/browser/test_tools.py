"""Tools made, called and mended in a real browser, by keyboard."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import ROOT, Site

SignIn = Callable[..., Page]

MAKE_AGENT = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"
import django
django.setup()
from django.contrib.auth.models import User
from training.models import Agent
owner = User.objects.get_or_create(username=sys.argv[1])[0]
print(Agent.objects.create(owner=owner, name=sys.argv[2], environment="authored", description="Stock.").pk)
"""
BOOKS = "code,title,shelf\nB-1,The sea,4\nB-2,The hills,7\nB-3,The sea,9\n"


def tools_page(site: Site, page: Page, user: str, name: str) -> str:
    """Open the Tools page of a fresh agent of this user; its address."""
    made = subprocess.run(
        [sys.executable, "-c", MAKE_AGENT, user, name],
        cwd=ROOT, env=site.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    address = f"{site.url}/agents/{int(made.stdout.split()[-1])}/tools/"
    page.goto(address)
    return address


def opened(page: Page) -> None:
    """Wait until a tool's page has loaded: before, its scripts hear no key."""
    page.wait_for_url(re.compile(r"/tools/\d+/$"))


def type_into(page: Page, label: str | re.Pattern[str], text: str) -> None:
    """As a person at a keyboard does."""
    page.get_by_label(label, exact=isinstance(label, str)).last.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)


@pytest.mark.slow
def test_a_simulated_tool_is_made_and_called_by_keyboard(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("ula")
    address = tools_page(site, page, "ula", "Stock by keyboard")
    accessible(page)
    page.locator("summary", has_text="Simulated").press("Enter")
    type_into(page, "Name of the simulated tool", "stock_level")
    page.keyboard.press("Enter")
    opened(page)
    expect(page.get_by_role("heading", name="stock_level")).to_be_visible()
    type_into(page, "Description", "How many pieces of an item are in stock.")
    page.locator("#row-0-name").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("item")
    page.get_by_role("button", name="Add an example").press("Enter")
    expect(page.get_by_label("When called with")).to_be_focused()
    page.keyboard.type('{"item": "A-1"}')
    page.keyboard.press("Tab")
    page.keyboard.type("12 pieces")
    expect(page.locator("#save-state")).to_contain_text("Saved")
    item = page.locator("#console-fields").get_by_label("item")
    expect(item).to_be_visible()
    item.press_sequentially("A-1")
    page.keyboard.press("Enter")
    expect(page.locator("#latest-result")).to_have_text("12 pieces")
    expect(page.locator("#tool-head")).to_contain_text("tested since last edit")
    expect(page.locator("#console-result")).to_contain_text('"name": "stock_level"')
    accessible(page)
    page.get_by_role("button", name="Keep as a test").press("Enter")
    page.get_by_role("button", name="Run 1 test").press("Enter")
    expect(page.locator("#console-result")).to_contain_text("same answer")
    page.goto(address)
    expect(page.locator("#tools-list")).to_contain_text("tested since last edit")
    page.get_by_role("button", name="Remove stock_level").press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#tools-list").get_by_role("link", name="stock_level")).to_be_visible()


@pytest.mark.slow
def test_a_table_becomes_tools_that_are_called_by_keyboard(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("vera")
    address = tools_page(site, page, "vera", "Books by keyboard")
    page.get_by_label("File: CSV").set_input_files(
        {"name": "Books.csv", "mimeType": "text/csv", "buffer": BOOKS.encode()}
    )
    page.get_by_role("button", name="Upload").press("Enter")
    expect(page).not_to_have_url(address, timeout=120_000)
    page.wait_for_url(re.compile(rf"^{site.url}/(tables/\d+|agents/\d+/tools)/$"), timeout=120_000)
    page.goto(address)
    page.get_by_role("link", name="Books.csv").press("Enter")
    expect(page.get_by_label("Type of shelf")).to_have_value("whole number")
    accessible(page)
    page.get_by_role("link", name="find_books").press("Enter")
    opened(page)
    expect(page.get_by_role("heading", name="find_books")).to_be_visible()
    page.locator("#console-fields").get_by_label("column").focus()
    page.keyboard.type("title")
    page.keyboard.press("Tab")
    page.keyboard.type("The sea")
    page.keyboard.press("Enter")
    expect(page.locator("#latest-result")).to_contain_text("code: B-1; title: The sea; shelf: 4")
    accessible(page)


@pytest.mark.slow
def test_nothing_typed_is_lost_when_it_is_wrong(site: Site, sign_in: SignIn) -> None:
    page = sign_in("wim")
    tools_page(site, page, "wim", "Mistakes")
    page.locator("summary", has_text="Simulated").press("Enter")
    type_into(page, "Name of the simulated tool", "ask")
    page.keyboard.press("Enter")
    opened(page)
    page.get_by_role("button", name="Edit as JSON").press("Enter")
    json_text = page.get_by_label("Parameters as a JSON schema")
    json_text.fill('{\n  "type": "object",,\n}')
    expect(page.locator("#tool-mark")).to_contain_text("Line 2")
    expect(json_text).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Edit as rows").press("Enter")
    expect(page.locator("#parameters-panel")).to_contain_text("Line 2, character 20")
    expect(json_text).to_have_value('{\n  "type": "object",,\n}')
    json_text.fill('{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}')
    page.get_by_role("button", name="Edit as rows").press("Enter")
    expect(page.locator("#row-0-name")).to_have_value("n")
    expect(page.locator("#save-state")).to_contain_text("Saved")
    expect(page.locator("#tool-json")).to_contain_text('"minimum": 1')
    page.get_by_role("button", name="Remove this parameter").press("Enter")
    expect(page.locator("#row-0-name")).to_have_count(0)
    page.locator("#parameters-panel").get_by_role("button", name="Undo").press("Enter")
    expect(page.locator("#row-0-name")).to_be_focused()


@pytest.mark.slow
def test_code_is_written_with_tab_and_left_with_escape(site: Site, sign_in: SignIn) -> None:
    page = sign_in("xia")
    tools_page(site, page, "xia", "Code")
    page.locator("summary", has_text="Python").press("Enter")
    page.get_by_label("Start from").select_option("shipping_price")
    page.get_by_role("button", name="Add Python").press("Enter")
    opened(page)
    code = page.get_by_label("The function")
    expect(code).to_have_value(re.compile("def shipping_price"))
    accessible(page)
    code.fill("def double(n: int) -> int:")
    code.press("End")
    code.press("Enter")
    page.keyboard.type('"""Doubles."""')
    code.press("Enter")
    page.keyboard.type("return n * wrong")
    expect(code).to_have_value('def double(n: int) -> int:\n    """Doubles."""\n    return n * wrong')
    expect(page.locator("#tool-lint")).to_contain_text("Line 3")
    expect(page.locator("#tool-head")).to_contain_text("double")
    code.press("Escape")
    page.keyboard.press("Tab")
    expect(code).not_to_be_focused()
    page.locator("#tool-lint").get_by_role("button", name="Line 3").press("Enter")
    expect(code).to_be_focused()


@pytest.mark.slow
def test_secrets_are_kept_by_keyboard(site: Site, sign_in: SignIn) -> None:
    page = sign_in("yun")
    page.goto(f"{site.url}/secrets/")
    type_into(page, "Name, in capital letters", "SHOP_KEY")
    type_into(page, "Value", "sk-0123456789abcdef")
    page.keyboard.press("Enter")
    expect(page.get_by_text("ends in cdef")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Delete SHOP_KEY").press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("ends in cdef")).to_be_visible()
