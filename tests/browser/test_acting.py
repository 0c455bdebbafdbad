"""What a person does in the browser: coming in, asking things of a run, reading by keyboard."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from tests.browser.site import Site

SignIn = Callable[[str], Page]


def test_a_sign_in_link_works_once_and_looking_at_it_does_not_use_it_up(site: Site, browser: Browser) -> None:
    link = site.url + site.call("sign_in_link", user="cleo")
    first, second = browser.new_context(), browser.new_context()
    for _ in range(2):
        first.request.get(link)
    page = first.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{site.url}/")
    late = second.new_page()
    late.goto(link)
    late.get_by_role("button", name="Sign in").click()
    expect(late.get_by_role("heading", level=1)).to_have_text("This link cannot be used any more")
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{site.url}/sign-in/")
    page.goto(site.url)
    expect(page).to_have_url(re.compile("/sign-in/"))
    first.close()
    second.close()


def test_pause_keep_running_and_stop(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    page.goto(f"{site.url}/runs/{run}/")
    site.call("begin", run=run)
    site.call("tell", run=run, reports=18)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".happening")).to_contain_text("Pausing:")
    assert site.call("state_and_wish", run=run) == ["training", "pause"]
    page.get_by_role("button", name="Keep running").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert site.call("state_and_wish", run=run) == ["training", ""]
    page.get_by_role("button", name="Stop and save").click()
    expect(page.locator(".happening")).to_contain_text("Stopping:")
    site.call("finish", run=run, state="cancelled")
    expect(page.locator(".state")).to_have_text("Cancelled")
    expect(page.locator("#run-actions button")).to_have_count(0)


def test_home_follows_the_runs(site: Site, sign_in: SignIn) -> None:
    page = sign_in("dora")
    expect(page.get_by_text("Nothing has been trained yet")).to_be_visible()
    run = site.call("make_run", user="dora")
    expect(page.get_by_role("region", name="Waiting").locator(".state")).to_have_text("Queued")
    site.call("begin", run=run)
    site.call("tell", run=run, reports=20)
    expect(page.locator(".run-card .state")).to_have_text("Training")
    site.call("tell", run=run)
    site.call("finish", run=run)
    expect(page.locator(".run-row")).to_contain_text("unseen scenarios")


def test_a_wish_that_gets_no_answer_is_told(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    page.goto(f"{site.url}/runs/{run}/")
    page.context.set_offline(True)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert")).to_contain_text("ArtWeb does not answer")
    page.context.set_offline(False)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".state")).to_have_text("Paused")
    expect(page.locator("#no-answer")).to_be_hidden()


def test_signed_out_elsewhere_no_page_lands_inside_another(site: Site, sign_in: SignIn) -> None:
    page = sign_in("finn")
    run = site.call("make_run", user="finn")
    other = page.context.new_page()
    other.goto(f"{site.url}/runs/{run}/")
    expect(other.locator("#pill")).to_have_text("Live")
    site.call("forget_sessions", user="finn")
    expect(page).to_have_url(re.compile("/sign-in/"))
    other.get_by_role("button", name="Pause").click()
    expect(other).to_have_url(re.compile("/sign-in/"))
    expect(other.locator("main")).to_have_count(1)


def test_a_paused_run_is_resumed(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    page.goto(f"{site.url}/runs/{run}/")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".state")).to_have_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".state")).to_have_text("Queued")


def test_a_run_of_somebody_else_is_not_there(site: Site, sign_in: SignIn) -> None:
    page = sign_in("bob")
    run = site.call("make_run", user="ann")
    answer = page.goto(f"{site.url}/runs/{run}/")
    assert answer and answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing here")
    opened = page.evaluate(
        """run => new Promise(told => {
             const socket = new WebSocket(`ws://${location.host}/ws/runs/${run}/`);
             socket.onopen = () => told("open");
             socket.onclose = () => told("closed");
           })""",
        run,
    )
    assert opened == "closed"


def test_what_agents_say_stays_text(site: Site, sign_in: SignIn) -> None:
    text = (
        "</p><script>window.hit=1</script><img src=x onerror='window.hit=1'>"
        '"><svg onload=window.hit=1> <hx-partial hx-target="body">gone</hx-partial>'
        "<div hx-get='/' hx-trigger='load' hx-swap-oob='true' id='main'>gone</div> {{7*7}}"
    )
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    page.goto(f"{site.url}/runs/{run}/")
    expect(page.locator("#pill")).to_have_attribute("data-state", "live")
    ids = site.call("hostile", run=run, text=text)
    site.call("say", run=run, text=text)
    expect(page.locator("#feed .card-prompt")).to_contain_text("<script>window.hit=1</script>")
    expect(page.locator("#log-lines li").last).to_contain_text("<hx-partial hx-target")
    for address in (f"/runs/{run}/", f"/groups/{ids['group']}/", f"/trajectories/{ids['trajectory']}/"):
        page.goto(site.url + address)
        expect(page.locator("main")).to_contain_text("<script>window.hit=1</script>")
    page.goto(f"{site.url}/trajectories/{ids['trajectory']}/?view=tokens")
    expect(page.locator(".tok")).to_have_count(2)
    assert page.evaluate("window.hit") is None
    assert page.locator("main script, main img").count() == 0


def test_tries_are_walked_by_keyboard(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    site.call("begin", run=run, groups=3, tries=2)
    site.call("tell", run=run, reports=9)
    first, second = site.call("groups", run=run)[:2]
    page.goto(f"{site.url}/groups/{first}/")
    names = page.eval_on_selector_all(".try", "tries => tries.map(one => one.id)")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == names[1]
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == names[0]
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("]")
    page.wait_for_url(f"{site.url}/groups/{second}/")
    page.keyboard.press("[")
    page.wait_for_url(f"{site.url}/groups/{first}/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/trajectories/"))
    page.keyboard.press("u")
    page.wait_for_url(re.compile(f"/groups/{first}/"))


def test_a_link_to_a_try_shows_its_head_below_the_top_bar(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    run = site.call("make_run", user="ann")
    site.call("begin", run=run)
    site.call("tell", run=run)
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto(f"{site.url}/groups/{site.call('groups', run=run)[0]}/#try-3")
    expect(page.locator("#try-3 .rank")).to_be_in_viewport()
    top, bar = page.locator("#try-3").bounding_box(), page.locator(".topbar").bounding_box()
    assert top and bar and top["y"] >= bar["height"]


def test_language_and_theme_are_remembered(site: Site, sign_in: SignIn) -> None:
    page = sign_in("ann")
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", re.compile("zh"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
