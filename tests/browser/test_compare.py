"""Comparisons in a real browser: started with the keyboard, read, filtered, printed, usable on a phone."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import accessible
from tests.browser.site import ROOT, Site

pytestmark = pytest.mark.slow

SignIn = Callable[..., Page]

GIVE_SCENARIOS = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "artweb.settings"
import django
django.setup()
from tests import stories
from training.models import RunScenarios
values = []
for index in range(12):
    one = stories.scenario(70_000 + index)
    tags = ["late" if index % 2 else "refund"]
    told = {"id": one.id, "split": "test", "messages": list(one.messages), "tags": tags}
    values.append({**told, "expect": one.expect})
RunScenarios.objects.filter(run=int(sys.argv[1])).update(values=values)
"""


def finished_run(site: Site, user: str) -> int:
    """A run that is done, with evaluations of 12 unseen scenarios before and after, and its checkpoints."""
    run = site.call("make_run", user=user)
    site.call("begin", run=run)
    site.call("tell", run=run)
    site.call("finish", run=run)
    site.call("keep_checkpoints", run=run)
    done = subprocess.run(
        [sys.executable, "-c", GIVE_SCENARIOS, str(run)],
        cwd=ROOT, env=site.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(run)


def test_a_comparison_is_started_with_the_keyboard_and_read(site: Site, sign_in: SignIn) -> None:
    page = sign_in("cora")
    run = finished_run(site, "cora")
    page.goto(f"{site.url}/runs/{run}/")
    page.locator("#offer").get_by_role("link", name="Compare it with").press("Enter")
    expect(page.get_by_text("Nothing has been compared yet")).to_be_visible()
    expect(page.locator("#forecast")).to_contain_text("24 more are taken over")
    page.get_by_label("Scenarios", exact=True).fill("8")
    expect(page.locator("#forecast")).to_contain_text("16 more are taken over")
    page.get_by_label("Scenarios", exact=True).fill("12")
    accessible(page)
    page.get_by_role("button", name="Compare").press("Enter")
    page.wait_for_url("**/comparisons/*/")
    figures = page.locator(".compare-figures tbody tr")
    expect(figures).to_have_count(2)
    expect(figures.first).to_contain_text("reference")
    accessible(page)
    page.get_by_label("Show", exact=True).select_option("all")
    page.wait_for_url("**show=all**")
    expect(page.locator(".compare-lines tbody tr")).to_have_count(12)
    page.locator(".compare-lines tbody a").first.press("Enter")
    expect(page.locator(".compare-head")).to_have_count(2)
    accessible(page)
    first, address = page.get_by_role("heading", level=1).inner_text(), page.url
    page.keyboard.press("]")
    page.wait_for_url(lambda url: url != address)
    expect(page.get_by_role("heading", level=1)).not_to_have_text(first)
    page.keyboard.press("u")
    expect(page.locator(".compare-figures")).to_be_visible()


def test_the_report_prints_without_its_frame(site: Site, sign_in: SignIn) -> None:
    page = sign_in("dora")
    run = finished_run(site, "dora")
    page.goto(f"{site.url}/runs/{run}/compare/")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/comparisons/*/")
    page.emulate_media(media="print")
    for part in (".topbar", ".compare-tools", ".compare-filter"):
        expect(page.locator(part).first).to_be_hidden()
    expect(page.locator(".compare-figures")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.emulate_media(media="screen")
    with page.expect_download() as report:
        page.get_by_role("link", name="Markdown").click()
    assert report.value.path().read_text().startswith("# Untrained model against")


def test_what_cannot_be_reached_is_shown_as_missing(site: Site, sign_in: SignIn, desk: None) -> None:
    page = sign_in("elsa")
    run = finished_run(site, "elsa")
    page.goto(f"{site.url}/runs/{run}/compare/")
    page.get_by_label("Others, by the name litellm knows").fill("nowhere/nothing")
    page.get_by_label("Cap in dollars").fill("0")
    page.get_by_label("Scenarios", exact=True).fill("4")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/comparisons/*/")
    expect(page.locator("#report")).to_contain_text("4 cases are missing", timeout=120_000)
    expect(page.locator(".compare-figures tbody tr")).to_have_count(3)
    expect(page.get_by_role("button", name="Play what is missing")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**/comparisons/*/")
