"""The learner's charts and the doctor in a browser: they follow a run that is watched, without a reload."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.site import Site
from tests.browser.test_live import open_run, wait_for_seq

SignIn = Callable[[str], Page]


def told_to(site: Site, page: Page, run: int, step: int) -> None:
    wait_for_seq(page, site.call("tell_until", run=run, step=step))
    expect(page.locator("#learner-rows > tr")).to_have_count(step)


def a_run_under_way(site: Site, page: Page, steps: int = 12) -> int:
    run: int = site.call("make_run", user="ann", steps=steps)
    open_run(page, site, run)
    site.call("begin", run=run, steps=steps, groups=2, tries=2)
    return run


def test_charts_appear_with_the_first_step_and_grow_with_the_run(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    expect(page.locator(".learner-empty")).to_be_visible()
    told_to(site, page, run, 1)
    page.locator("#learner").scroll_into_view_if_needed()
    page.locator("#chart-time").scroll_into_view_if_needed()
    expect(page.locator("learner-charts canvas")).to_have_count(12)
    expect(page.locator(".learner-empty")).to_be_hidden()
    first = page.locator("#chart-entropy b").inner_text()
    told_to(site, page, run, 4)
    site.call("stay_busy", run=run)
    expect(page.locator("#chart-entropy b")).not_to_have_text(first)
    expect(page.locator("#spending")).to_contain_text("groups were ties")
    expect(page.locator("#doctor-says")).to_have_text("Nothing looks wrong.")
    parts = ("#learner-rows", "#spending", "#doctor-says", "#chart-ratio", "#chart-time")
    before = {part: page.locator(part).inner_text() for part in parts}
    page.reload()
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    for part, text in before.items():
        expect(page.locator(part)).to_have_text(text, use_inner_text=True)


def test_arrow_keys_read_the_charts_step_by_step(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    told_to(site, page, run, 4)
    box = page.get_by_role("slider", name="Entropy")
    box.focus()
    expect(box).to_have_attribute("aria-valuetext", "Step 4: entropy 0.51")
    box.press("ArrowLeft")
    expect(box).to_have_attribute("aria-valuenow", "3")
    box.press("Home")
    expect(box).to_have_attribute("aria-valuetext", "Step 1: entropy 0.61")
    expect(page.get_by_role("slider", name="Reward and checks")).to_have_attribute("aria-valuenow", "1")
    box.press("Tab")
    expect(box).to_have_attribute("aria-valuenow", "4")
    box.press("ArrowLeft")
    box.press("ArrowLeft")
    box.press("Enter")
    expect(page.get_by_role("heading", name="Groups of step 2")).to_be_visible()


def test_arrow_keys_read_a_chart_that_is_not_drawn_yet(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    page.evaluate("for (const box of document.querySelectorAll('.small-chart-box')) box.style.width = '0'")
    told_to(site, page, run, 4)
    box = page.get_by_role("slider", name="Entropy")
    box.press("ArrowLeft")
    expect(box).to_have_attribute("aria-valuenow", "3")
    expect(page.get_by_role("slider", name="Reward and checks")).to_have_attribute("aria-valuenow", "3")


def test_a_stall_is_told_on_an_open_page_and_taken_back(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    told_to(site, page, run, 2)
    expect(page.locator("#doctor-says")).to_have_text("Nothing looks wrong.")
    before = site.call("newest", run=run)
    site.call("fall_silent", run=run, seconds=120)
    finding = page.locator("#finding-stall")
    expect(finding).to_contain_text("Nothing has been reported for a long time.")
    expect(finding).to_contain_text("A step usually takes 3.2 s.")
    expect(page.locator("#doctor-says")).to_have_attribute("role", "status")
    assert site.call("newest", run=run) == before
    page.context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": site.url}])
    page.reload()
    expect(finding).to_contain_text("很久没有任何报告")
    site.call("tell", run=run, reports=1)
    expect(finding).to_have_count(0)
    expect(page.locator("#doctor-says")).to_have_text("没有发现问题。")


def test_a_long_step_is_no_stall(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = a_run_under_way(site, page)
    told_to(site, page, run, 2)
    site.call("fall_silent", run=run, seconds=8)  # a stall would be six steps' time, 19 s
    seq = site.call("say", run=run, text="still here")
    wait_for_seq(page, seq)
    expect(page.locator("#doctor-says")).to_have_text("Nothing looks wrong.")
