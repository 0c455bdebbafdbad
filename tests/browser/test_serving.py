"""The Endpoint page and the offer on a finished run, as a person uses them."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.accessibility import width
from tests.browser.fleeting import remembered
from tests.browser.site import Site

SignIn = Callable[[str], Page]
KEY = re.compile(r"art_[\w-]{43}")


def finished_run(site: Site, user: str) -> int:
    run = int(site.call("make_run", user=user, steps=2))
    site.call("begin", run=run, steps=2, groups=1, tries=2)
    site.call("tell", run=run)
    site.call("keep_checkpoints", run=run)
    site.call("finish", run=run)
    return run


def copied(page: Page, button: str) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pressed = page.get_by_role("button", name=button, exact=True)
    says = remembered(pressed, ":scope")
    pressed.click()
    page.wait_for_function("says => says.some(words => words.includes('Copied'))", arg=says)
    text: str = page.evaluate("navigator.clipboard.readText()")
    expect(page.get_by_role("button", name=button, exact=True)).to_be_visible()
    return text


def test_a_run_that_is_watched_to_its_end_offers_a_key_and_requests(site: Site, sign_in: SignIn) -> None:
    page = sign_in("gia")
    run = site.call("make_run", user="gia", steps=2)
    site.call("foretell", run=run)
    page.goto(f"{site.url}/runs/{run}/")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    site.call("begin", run=run, steps=2, groups=1, tries=2)
    site.call("tell", run=run)
    expect(page.locator("#talk")).to_have_count(0)
    site.call("keep_checkpoints", run=run)
    site.call("finish", run=run)
    expect(page.get_by_role("heading", name="Talk to what it learned")).to_be_visible()
    expect(page.locator("#foretold")).to_contain_text("as foretold")
    page.get_by_role("button", name="Make a key").click()
    expect(page.locator("#fresh-key")).to_be_visible()
    expect(page.get_by_role("button", name="Copy the key")).to_be_focused()
    key = copied(page, "Copy the key")
    assert KEY.fullmatch(key)
    curl = copied(page, "Copy curl")
    assert curl.startswith(f"curl -sS {site.url}/v1/chat/completions") and key in curl
    assert key in copied(page, "Copy Python")
    page.reload()
    expect(page.locator("#talk")).to_be_visible()
    assert key not in page.content()


def test_keys_are_made_and_revoked_by_keyboard(site: Site, sign_in: SignIn) -> None:
    page = sign_in("hal")
    page.goto(f"{site.url}/endpoint/")
    page.get_by_label("Name of a new key").fill("shop")
    page.keyboard.press("Enter")
    expect(page.locator("#fresh-key")).to_have_text(KEY)
    expect(page.get_by_role("navigation").get_by_role("link", name="Endpoint")).to_be_visible()
    page.goto(f"{site.url}/endpoint/")
    summary = page.locator("summary", has_text="Revoke")
    summary.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Type “shop” to confirm").fill("something else")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing was changed")).to_be_visible()
    page.locator("summary", has_text="Revoke").click()
    page.get_by_label("Type “shop” to confirm").fill("shop")
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text("No keys yet")).to_be_visible()


def test_another_step_is_promoted(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ivy")
    finished_run(site, "ivy")
    page.goto(f"{site.url}/endpoint/")
    names = page.get_by_role("region", name="Names that answer")
    expect(names.get_by_role("listitem")).to_have_count(1)
    expect(names).to_contain_text("step 2")
    names.get_by_label(re.compile("^Step that")).select_option(index=1)
    names.get_by_role("button", name="Promote").click()
    expect(page.locator(".notices")).to_contain_text("step 1")


def test_the_page_fits_a_phone_and_speaks_chinese(site: Site, sign_in: SignIn) -> None:
    page = sign_in("jin")
    finished_run(site, "jin")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{site.url}/endpoint/")
    assert width(page, 360) <= 360
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    for english in ("Endpoint", "Keys", "Promote", "Copy", "Names that answer"):
        assert page.get_by_text(english, exact=True).count() == 0, english
    assert width(page, 360) <= 360
