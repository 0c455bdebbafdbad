"""The curve of a run in a browser: what it draws of few steps."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site

pytestmark = pytest.mark.slow

SignIn = Callable[..., Page]
DOTS = """() => {
    const { plot } = document.querySelector("reward-chart");
    return [1, 2].map((series) => plot.series[series].points.filter(plot, series));
}"""


def test_a_step_that_stands_alone_is_a_dot_and_two_are_a_line(site: Site, sign_in: SignIn) -> None:
    page = sign_in("cur")
    run = site.call("make_run", user="cur")
    site.call("begin", run=run)
    for step, dots in ((1, [[1], [1]]), (2, [[], []])):
        site.call("tell_until", run=run, step=step)
        page.goto(f"{site.url}/runs/{run}/")
        expect(page.locator("reward-chart canvas")).to_be_visible()
        assert page.evaluate(DOTS) == dots
