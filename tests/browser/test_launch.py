"""Review and start, and the line of waiting runs, in a real browser: once however often it is pressed."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import Site

SignIn = Callable[..., Page]


def test_the_agent_is_tried_checked_and_started_once(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("lou")
    agent = site.call("make_agent", user="lou")
    page.goto(f"{site.url}/agents/{agent}/review/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")
    page.set_default_timeout(60_000)
    page.locator("#smoke").get_by_role("button", name="Try it").press("Enter")
    expect(page.locator("#smoke .smoke-group")).to_have_count(4, timeout=240_000)
    expect(page.locator("#smoke .errand")).to_have_count(0)
    page.locator("#smoke summary").first.press("Enter")
    expect(page.locator("#smoke .smoke-try").first).to_be_visible()
    expect(page.locator("#checks .errand")).to_have_count(0, timeout=120_000)
    expect(page.locator("#checks")).to_contain_text(re.compile("No worker answers|training another run"))
    accessible(page)
    page.get_by_label("Name of the run").fill("twice")
    page.get_by_role("button", name="Start training").dblclick()
    page.wait_for_url("**/runs/*/")
    expect(page.get_by_role("heading", level=1)).to_have_text("twice")
    expect(page.locator("#run-head")).to_contain_text("in line")
    page.reload()
    assert site.call("runs", user="lou") == 1
    page.go_back()
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url("**/runs/*/")
    assert site.call("runs", user="lou") <= 2


def test_two_requests_of_one_form_that_overtake_each_other_start_one_run(site: Site, sign_in: SignIn) -> None:
    page = sign_in("mia")
    agent = site.call("make_agent", user="mia")
    page.goto(f"{site.url}/agents/{agent}/review/")
    places = page.evaluate(
        """async () => {
          const form = document.querySelector("form[data-once]");
          const send = () => fetch(form.action, { method: "POST", body: new FormData(form) });
          return (await Promise.all([send(), send(), send()])).map((answer) => answer.url);
        }"""
    )
    assert len(set(places)) == 1 and "/runs/" in places[0]
    assert site.call("runs", user="mia") == 1


def test_waiting_runs_change_places_by_keyboard_and_by_dragging(site: Site, sign_in: SignIn) -> None:
    page = sign_in("nia")
    runs = [site.call("make_run", user="nia") for _ in range(3)]
    page.goto(f"{site.url}/")
    order = page.locator("#queue li")
    expect(order).to_have_count(3)
    first = page.locator(f"#queued-{runs[0]}")
    back = page.locator(f"#later-{runs[0]}")
    back.focus()
    page.keyboard.press("Enter")
    expect(order.nth(1)).to_have_id(f"queued-{runs[0]}")
    expect(back).to_be_focused()
    page.keyboard.press("Enter")
    expect(order.nth(2)).to_have_id(f"queued-{runs[0]}")
    expect(back).to_have_attribute("aria-disabled", "true")
    expect(back).to_be_focused()
    page.keyboard.press("Enter")  # nowhere to go
    expect(order.nth(2)).to_have_id(f"queued-{runs[0]}")
    accessible(page)
    first.drag_to(page.locator(f"#queued-{runs[1]}"), target_position={"x": 20, "y": 5})
    expect(order.nth(0)).to_have_id(f"queued-{runs[0]}")
    page.reload()
    expect(order.nth(0)).to_have_id(f"queued-{runs[0]}")
    site.call("begin", run=runs[0])
    expect(order).to_have_count(2)
    expect(page.locator(f"#queued-{runs[1]}")).to_contain_text("in line")
