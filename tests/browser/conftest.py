"""A real Chromium against a real site. In CI a missing browser is a failure, never a skip."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.site import ROOT, Site

BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
SignIn = Callable[[str], Page]
PATIENCE = 30_000
"""Milliseconds a page is waited for: what is there is seen at once, however busy the machine is otherwise."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    # Unix socket paths are short: a directory of its own, near the root.
    found = Site(tmp_path_factory.mktemp("site"))
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="package")
def desk(site: Site) -> Iterator[None]:
    """A desk worker, which does what pages ask for and would have to wait for."""
    command = ("-m", "celery", "-q", "-A", "artweb", "worker", "-Q", "desk", "-P", "solo", "-l", "WARNING")
    with (site.data / "desk.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**site.environment, "ARTWEB_WORKER": "desk"},
            stdout=log,
            stderr=log,
        )
    yield
    process.terminate()
    process.wait()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("No Chromium is installed; in CI the browser tests may not be skipped.")
        pytest.skip("No Chromium is installed (Debian, Ubuntu: apt install chromium).")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def sign_in(site: Site, browser: Browser) -> Iterator[SignIn]:
    """sign_in("ann") -> a page of a fresh browser profile in which ann is signed in.

    Whatever a page writes to the console as an error fails the test, except failed connections.
    """
    contexts = []
    complaints: list[str] = []

    def enter(user: str, **options: object) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.goto(site.url + site.call("sign_in_link", user=user))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{site.url}/")
        return page

    yield enter
    for context in contexts:
        context.close()
    connection = ("WebSocket", "htmx:ws:error", "Failed to load resource", "Failed to fetch")
    assert [text for text in complaints if not any(word in text for word in connection)] == []
