"""Providers and the page Reward in a real browser: keyboard, both themes, a phone's width."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible, width
from tests.browser.site import ROOT, Site

pytestmark = pytest.mark.slow

SignIn = Callable[..., Page]
PHONE = {"width": 390, "height": 844}


def shoot(page: Page, name: str) -> None:
    """A picture to look at, where somebody wants them."""
    if os.environ.get("ARTWEB_SHOTS"):
        page.screenshot(path=f"{os.environ['ARTWEB_SHOTS']}/{name}.png", full_page=True)


def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways on a phone."""
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert width(page, PHONE["width"]) <= PHONE["width"]


def test_a_provider_is_added_refused_kept_and_deleted_by_keyboard(site: Site, sign_in: SignIn) -> None:
    page = sign_in("prue")
    page.goto(f"{site.url}/providers/")
    expect(page.get_by_text("No providers yet")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="OpenAI", exact=True).press("Enter")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This provider wants a key.")
    expect(page.get_by_label("Key")).to_be_focused()
    accessible(page)
    page.keyboard.type("sk-browser-canary-9876")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    provider = page.get_by_role("article", name="openai")
    expect(provider).to_contain_text("key ends in 9876")
    assert "sk-browser" not in page.content()
    accessible(page)
    shoot(page, "providers")
    fits(page)
    shoot(page, "providers-phone")
    provider.get_by_role("button", name="Delete openai").press("Enter")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_role("article", name="openai")).to_be_visible()


def test_a_test_says_what_is_wrong_without_leaving_the_page(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("pia", color_scheme="dark")
    make_operator("pia", site)
    page.goto(f"{site.url}/providers/new/ollama/")
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.get_by_role("button", name="Save and test").press("Enter")
    provider = page.get_by_role("article", name="ollama")
    expect(provider).to_contain_text("Nothing answers at http://127.0.0.1:9/v1.", timeout=120_000)
    expect(provider).to_contain_text("Is the server running")
    provider.get_by_role("button", name="Test ollama").press("Enter")
    expect(provider.get_by_role("button", name="Test ollama")).to_be_visible(timeout=120_000)
    accessible(page)
    shoot(page, "providers-dark")


RUN = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"
import django
django.setup()
from django.contrib.auth.models import User
User.objects.filter(username=sys.argv[1]).update(is_superuser=True)
"""


def make_operator(user: str, site: Site) -> None:
    """Only the operator may name addresses of the machine itself."""
    subprocess.run([sys.executable, "-c", RUN, user], cwd=ROOT, env=site.environment, check=True)


@pytest.fixture
def reward(site: Site, sign_in: SignIn) -> Page:
    """The page Reward of an agent with a recorded run."""
    page = sign_in("rhea")
    run = site.call("make_run", user="rhea")
    site.call("begin", run=run)
    site.call("tell", run=run)
    site.call("finish", run=run)
    page.goto(f"{site.url}/agents/")
    page.get_by_role("link", name="Order desk").first.click()
    page.wait_for_url("**/describe/")
    page.goto(page.url.replace("/describe/", "/reward/"))
    return page


def test_a_mix_is_weighed_and_its_preview_follows(site: Site, reward: Page) -> None:
    page = reward
    preview = page.get_by_role("region", name="What this reward would change")
    expect(preview).to_contain_text("newest group")
    expect(page.get_by_label("Penalty for length").last).to_be_hidden()
    page.get_by_role("radio", name="Checks alone").check()
    expect(page.locator(".save-says")).to_contain_text("Saved")
    expect(preview.get_by_text("changes", exact=True).first).to_be_visible()
    page.get_by_role("radio", name="A mix of these").check()
    number = page.locator("#f-mix-length")
    expect(number).to_be_visible()
    expect(page.locator("#f-mix-ruler")).to_have_value("1")
    number.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    expect(page.locator("weight-slider input").nth(3)).to_have_value("0.5")
    expect(page.locator(".save-says")).to_contain_text("Saved")
    accessible(page)
    shoot(page, "reward")
    page.emulate_media(color_scheme="dark")
    accessible(page)
    shoot(page, "reward-dark")
    fits(page)
    shoot(page, "reward-phone")


def test_a_rubric_is_kept_changed_and_taken_back(site: Site, reward: Page) -> None:
    page = reward
    rubric = page.get_by_label("What the judge looks at")
    rubric.fill("- Be kind.")
    page.get_by_label("What is new in it, if you like").fill("kinder")
    page.get_by_role("button", name="Keep this version").press("Enter")
    history = page.get_by_role("region", name="Versions of the rubric")
    expect(history).to_contain_text("kinder")
    rubric.fill("- Be brief.")
    page.get_by_role("button", name="Keep this version").press("Enter")
    expect(history).to_contain_text("Version 2")
    history.get_by_role("button", name="Take this one back Version 1").press("Enter")
    expect(page.get_by_text("Version 1 of the rubric is in use again.")).to_be_visible()
    expect(page.get_by_label("What the judge looks at")).to_have_value("- Be kind.")
    accessible(page)
