"""From a table to a training that has started, by keyboard, in both languages; forms that save themselves."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.browser.accessibility import IMPACTS, accessible
from tests.browser.fleeting import remembered
from tests.browser.site import Site

SignIn = Callable[..., Page]

MOST_PAGES, MOST_TYPED = 8, 5
"""What a new user may need from a CSV to "training started"."""
ENGLISH = "order,customer,status,total\n" + "".join(
    f"{number},{name} {last},{status},{number % 83}.50\n"
    for number, name, last, status in zip(
        range(1000, 1240),
        ["Ada", "Ben", "Clara", "David"] * 60,
        ["Reed", "Koch", "Park"] * 80,
        ["packed", "shipped", "delayed", "returned", "lost"] * 48,
        strict=True,
    )
)
CHINESE = "编号,姓名,状态,城市\n" + "".join(
    f"{number},{name}{number},{status},{city}\n"
    for number, name, status, city in zip(
        range(2000, 2240),
        ["张伟", "王芳", "李娜"] * 80,
        ["已发货", "待处理", "已签收", "已取消"] * 60,
        ["北京", "上海", "广州", "成都", "武汉"] * 48,
        strict=True,
    )
)
TYPED = """addEventListener("input", (event) => {
    const seen = new Set(JSON.parse(sessionStorage.getItem("typed") ?? "[]"));
    if (event.target.type !== "file") seen.add(location.pathname + event.target.name);
    sessionStorage.setItem("typed", JSON.stringify([...seen]));
}, true)"""


def tab_to(page: Page, target: Locator, most: int = 160) -> None:
    """Press Tab until the target has the focus; fails where a keyboard cannot get there."""
    expect(target).to_be_visible()
    for _ in range(most):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} cannot be reached by keyboard")


def press(page: Page, selector: str, key: str = "Enter") -> None:
    tab_to(page, page.locator(selector))
    page.keyboard.press(key)


def choose(page: Page, file: Path) -> None:
    """Choose a file by keyboard. On a busy machine the first press may come before the page listens."""
    tab_to(page, page.locator("#file"))
    for attempt in range(3):
        try:
            with page.expect_file_chooser(timeout=8_000) as chooser:
                page.keyboard.press("Enter")
        except TimeoutError:
            if attempt == 2:
                raise
        else:
            chooser.value.set_files(file)
            return


def in_chinese(page: Page) -> None:
    press(page, "details.menu > summary")
    press(page, "button[name=language][value=zh-hans]")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")


@pytest.mark.parametrize(
    ("user", "chinese", "content"), [("wim", False, ENGLISH), ("wei", True, CHINESE)], ids=["en", "zh"]
)
def test_from_a_table_to_training_by_keyboard(
    site: Site, sign_in: SignIn, desk: None, tmp_path: Path, user: str, chinese: bool, content: str
) -> None:
    page = sign_in(user)
    if chinese:
        in_chinese(page)
    table = tmp_path / "my_table.csv"
    table.write_text(content)
    page.context.add_init_script(TYPED)
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    page.reload()
    press(page, "a[href='/agents/new/']")
    page.wait_for_url("**/agents/new/")
    choose(page, table)
    press(page, ".file-form > button")
    page.wait_for_url(re.compile(r"/agents/\d+/review/"), timeout=120_000)
    expect(page.locator("#suggestions")).to_be_visible()
    press(page, ".launch-button")
    page.wait_for_url(re.compile(r"/runs/\d+/"))
    run = int(page.url.rstrip("/").rpartition("/")[2])
    assert site.call("state_and_wish", run=run)[0] == "queued"
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans" if chinese else "en")
    typed = page.evaluate("JSON.parse(sessionStorage.getItem('typed') ?? '[]')")
    assert len(loads) <= MOST_PAGES, loads
    assert len(typed) <= MOST_TYPED, typed


def blank(site: Site, page: Page) -> str:
    """A blank agent of whoever is signed in; the address of its pages."""
    page.goto(f"{site.url}/agents/new/")
    page.get_by_role("button", name="Start blank").click()
    page.wait_for_url(re.compile(r"/agents/\d+/describe/"))
    return page.url.removesuffix("describe/")


def saved(page: Page) -> None:
    expect(page.locator(".save-says[data-state=saved]")).to_be_visible()


def test_every_page_is_accessible_in_both_themes(
    site: Site, sign_in: SignIn, desk: None, tmp_path: Path
) -> None:
    page = sign_in("axel")
    table = tmp_path / "orders.csv"
    table.write_text(ENGLISH)
    page.goto(f"{site.url}/agents/new/")
    accessible(page, IMPACTS)
    page.set_input_files("#file", table)
    page.get_by_role("button", name="Use this file").click()
    page.wait_for_url(re.compile(r"/agents/\d+/review/"), timeout=120_000)
    agent = page.url.removesuffix("review/")
    for slug in ("describe", "tools", "scenarios", "reward", "compute", "review", "versions"):
        page.goto(f"{agent}{slug}/")
        accessible(page, IMPACTS)
    page.goto(f"{agent}compute/")
    page.locator("summary", has_text="Advanced").click()
    accessible(page, IMPACTS)
    page.goto(f"{site.url}/agents/")
    accessible(page, IMPACTS)


def test_what_is_typed_saves_itself_and_can_be_undone(site: Site, sign_in: SignIn) -> None:
    page = sign_in("sal")
    agent = blank(site, page)
    task = page.get_by_label("The task, in your own words")
    says = remembered(page.locator("#save-state"), ".save-says[data-state=unsaved]")
    task.fill("Answer questions about books.")
    saved(page)
    assert says.evaluate("says => says.some(words => words)")
    expect(page.locator("#needs")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(task).to_have_value("")
    expect(page.locator("#needs")).to_be_visible()
    task.fill("Typed just before leaving.")
    page.goto(f"{agent}reward/")
    for _ in range(20):  # what is sent while a page is left may arrive after the next page was asked for
        page.goto(f"{agent}describe/")
        if task.input_value() == "Typed just before leaving.":
            break
        page.wait_for_timeout(500)
    expect(task).to_have_value("Typed just before leaving.")
    page.go_back()
    expect(page.get_by_role("heading", name="Reward", exact=True)).to_be_visible()


def test_a_wrong_number_is_told_beside_its_field_and_kept(site: Site, sign_in: SignIn) -> None:
    page = sign_in("nic")
    agent = blank(site, page)
    page.goto(f"{agent}compute/")
    steps = page.get_by_label("Training steps", exact=True)
    steps.fill("lots")
    page.keyboard.press("Tab")
    expect(page.locator("#note-steps")).to_contain_text("must be a whole number from 1 to 10000")
    expect(steps).to_have_attribute("aria-invalid", "true")
    expect(steps).to_have_value("lots")
    before = page.locator("#rail").inner_text()
    steps.fill("7")
    page.keyboard.press("Enter")
    expect(page.locator("#note-steps")).to_contain_text("Default: 40.")
    expect(page.locator("#rail")).not_to_have_text(before)
    page.locator("#note-steps").get_by_role("button", name="Back to the default").click()
    expect(steps).to_have_value("40")
    expect(steps).to_be_focused()


def test_two_tabs_are_asked_which_text_to_keep(site: Site, sign_in: SignIn) -> None:
    first = sign_in("tab")
    agent = blank(site, first)
    second = first.context.new_page()
    second.goto(f"{agent}describe/")
    second.get_by_label("The task, in your own words").fill("From the second tab.")
    saved(second)
    task = first.get_by_label("The task, in your own words")
    task.fill("From the first tab.")
    expect(first.get_by_text("This was changed in another tab")).to_be_visible()
    expect(first.locator(".conflict-theirs")).to_have_text("From the second tab.")
    expect(task).to_have_value("From the first tab.")
    first.get_by_role("button", name="Take that text").click()
    expect(task).to_have_value("From the second tab.")
    expect(first.locator(".conflict")).to_have_count(0)


def test_signing_out_elsewhere_loses_nothing_that_was_typed(site: Site, sign_in: SignIn) -> None:
    page = sign_in("out")
    agent = blank(site, page)
    site.call("forget_sessions", user="out")
    task = page.get_by_label("The task, in your own words")
    task.fill("Typed after the session ended.")
    expect(page.locator(".save-says")).to_contain_text("you are signed out")
    expect(task).to_have_value("Typed after the session ended.")
    other = page.context.new_page()
    other.goto(site.url + site.call("sign_in_link", user="out"))
    other.get_by_role("button", name="Sign in").click()
    other.wait_for_url(f"{site.url}/")
    page.get_by_role("button", name="Save again").click()
    saved(page)
    other.goto(f"{agent}describe/")
    expect(other.get_by_label("The task, in your own words")).to_have_value("Typed after the session ended.")


def test_a_draft_is_marked_and_can_be_put_back(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("dra")
    agent = blank(site, page)
    page.get_by_label("The task, in your own words").fill("Customers ask about refunds and parcels.")
    page.get_by_role("button", name="Draft it for me").click()
    expect(page.locator("#suggestions form")).to_be_visible(timeout=120_000)
    expect(page.locator("#suggestions")).to_contain_text("2 tools")
    page.goto(f"{agent}reward/")
    rubric = page.get_by_label("What the judge looks at")
    expect(rubric).to_have_value(re.compile("refunds and parcels"))
    page.get_by_role("button", name="Put back what was there").click()
    expect(rubric).to_have_value("")
    page.get_by_role("button", name="Keep all").click()
    expect(page.locator("#suggestions form")).to_have_count(0)


def test_a_form_works_without_scripts(site: Site, sign_in: SignIn) -> None:
    page = sign_in("nos", java_script_enabled=False)
    blank(site, page)
    page.get_by_label("The task, in your own words").fill("Saved by a button.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("The task, in your own words")).to_have_value("Saved by a button.")
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Give the agent a name")).to_be_visible()


def test_a_file_of_no_known_kind_is_refused_before_it_is_sent(
    site: Site, sign_in: SignIn, tmp_path: Path
) -> None:
    page = sign_in("fil")
    page.goto(f"{site.url}/agents/new/")
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG")
    page.set_input_files("#file", picture)
    expect(page.locator("#file-says")).to_contain_text("Files of this kind are not read")
    page.get_by_role("button", name="Use this file").click()
    expect(page).to_have_url(f"{site.url}/agents/new/")
