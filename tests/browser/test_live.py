"""The run page in a browser: what it shows is what the database holds, whatever happens in between."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.site import Site

SignIn = Callable[[str], Page]


def open_run(page: Page, site: Site, run: int) -> None:
    page.goto(f"{site.url}/runs/{run}/")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")


def log(page: Page) -> list[int]:
    lines: list[int] = page.eval_on_selector_all("#log-lines > li", "found => found.map(e => +e.dataset.seq)")
    return lines


def wait_for_seq(page: Page, seq: int) -> None:
    expect(page.locator("#live")).to_have_attribute("data-seq", str(seq))


def test_groups_arrive_without_a_reload_and_a_reload_shows_the_same(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    open_run(page, site, run)
    expect(page.locator(".state")).to_have_text("Queued")
    site.call("begin", run=run)
    wait_for_seq(page, site.call("tell", run=run, reports=24))
    expect(page.locator("#wall-baseline .tile")).to_have_count(12)
    expect(page.locator("#feed > .card")).to_have_count(len(site.call("groups", run=run)))
    expect(page).to_have_title(re.compile(r"^\d+ % Training · run-"))
    seq = site.call("tell", run=run)
    seq = site.call("finish", run=run)
    wait_for_seq(page, seq)
    expect(page.locator(".state")).to_have_text("Done")
    expect(page.locator(".headline")).to_contain_text("on 12 unseen scenarios (95 % CI")
    expect(page.locator("#wall-trained .tile")).to_have_count(12)
    parts = ("#run-head", "#feed", "#log-lines", "#curve-rows", "#wall-baseline", "#wall-trained", "#numbers")
    before = {part: page.locator(part).inner_text() for part in parts}
    assert log(page) == site.call("seqs", run=run)
    page.reload()
    wait_for_seq(page, seq)
    for part, text in before.items():
        expect(page.locator(part)).to_have_text(text, use_inner_text=True)
    expect(page.locator("reward-chart canvas")).to_have_count(1)


def test_two_browsers_in_two_languages_see_the_same_run(site: Site, sign_in: SignIn) -> None:
    english, chinese = sign_in("ann"), sign_in("ann")
    chinese.context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": site.url}])
    run = site.call("make_run", user="ann")
    open_run(english, site, run)
    open_run(chinese, site, run)
    site.call("begin", run=run)
    seq = site.call("tell", run=run, reports=20)
    wait_for_seq(english, seq)
    wait_for_seq(chinese, seq)
    assert log(english) == log(chinese) == site.call("seqs", run=run)
    expect(english.locator("#feed-heading")).to_have_text("Groups as they are judged")
    expect(chinese.locator("#feed .card").first).to_contain_text(re.compile(r"[\u4e00-\u9fff]"))
    expect(chinese.locator(".happening")).to_contain_text(re.compile(r"[\u4e00-\u9fff]"))


def test_a_hidden_tab_keeps_up(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    open_run(page, site, run)
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    page.evaluate(hide % "true" + "document.dispatchEvent(new Event('visibilitychange'))")
    seq = site.call("say", run=run, text="while hidden", count=5)
    wait_for_seq(page, seq)
    page.evaluate(hide % "false" + "document.dispatchEvent(new Event('visibilitychange'))")
    seq = site.call("say", run=run, text="seen again", count=5)
    wait_for_seq(page, seq)
    assert log(page) == site.call("seqs", run=run)


def test_reconnects_after_the_web_server_is_killed_and_misses_nothing(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    open_run(page, site, run)
    wait_for_seq(page, site.call("say", run=run, text="before", count=5))
    site.kill_web()
    seq = site.call("say", run=run, text="nobody serves", count=20)
    expect(page.locator("#pill")).to_have_attribute("data-state", "reconnecting")
    site.start_web()
    wait_for_seq(page, seq)
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    assert log(page) == site.call("seqs", run=run)


def test_goes_on_without_redis_and_with_it_again(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    open_run(page, site, run)
    site.kill_redis()
    try:
        wait_for_seq(page, site.call("say", run=run, text="without", count=5))
        page.reload()
        wait_for_seq(page, site.call("say", run=run, text="still without", count=5))
    finally:
        site.start_redis()
    wait_for_seq(page, site.call("say", run=run, text="with", count=5))
    assert log(page) == site.call("seqs", run=run)


def test_far_behind_gets_the_page_anew(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    open_run(page, site, run)
    site.kill_web()
    seq = site.call("say", run=run, text="line", count=900)
    site.start_web()
    wait_for_seq(page, seq)
    assert log(page) == site.call("seqs", run=run)[-500:]
    page.get_by_role("button", name="Show earlier lines").click()
    expect(page.locator("#log-lines > li")).to_have_count(900)
    assert log(page) == site.call("seqs", run=run)


def test_the_feed_keeps_the_newest_fifty_groups(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann", steps=15)
    open_run(page, site, run)
    site.call("begin", run=run, steps=15, groups=4, tries=2)
    wait_for_seq(page, site.call("tell", run=run))
    shown = page.eval_on_selector_all("#feed > .card", "cards => cards.map(card => card.id)")
    assert shown == [f"group-{pk}" for pk in site.call("groups", run=run)[::-1][:50]]


def test_signing_out_closes_the_socket(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann-leaves")
    run = site.call("make_run", user="ann-leaves")
    open_run(page, site, run)
    site.call("forget_sessions", user="ann-leaves")
    expect(page.locator("#pill")).to_have_attribute("data-state", "offline")
    site.call("say", run=run, text="not for you")
    page.wait_for_timeout(1500)
    assert log(page) == []
