"""The long proof: ten killed web servers and five killed Redis servers while a run tells its story."""

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site
from tests.browser.test_live import log, open_run, wait_for_seq

SignIn = Callable[[str], Page]


@pytest.mark.slow
def test_ten_web_kills_and_five_redis_kills_lose_and_double_nothing(site: Site, sign_in: SignIn) -> None:
    first, second = sign_in("ann"), sign_in("ann")
    run = site.call("make_run", user="ann", steps=12)
    open_run(first, site, run)
    site.call("begin", run=run, steps=12, groups=4, tries=30)
    dice = random.Random(7)
    kills = ["web"] * 10 + ["redis"] * 5
    dice.shuffle(kills)
    for place, killed in enumerate(kills):
        site.call("tell", run=run, reports=dice.randint(2, 8))
        first.wait_for_timeout(dice.randint(0, 600))
        if killed == "web":
            site.kill_web()
            site.call("tell", run=run, reports=dice.randint(1, 6))
            site.start_web()
        else:
            site.kill_redis()
            site.call("tell", run=run, reports=dice.randint(1, 6))
            first.wait_for_timeout(500)
            site.start_redis()
        if place == 4:
            open_run(second, site, run)
    site.call("tell", run=run)
    seq = site.call("finish", run=run)
    for page in (first, second):
        wait_for_seq(page, seq)
        assert log(page) == site.call("seqs", run=run)
        expect(page.locator(".state")).to_have_text("Done")
        expect(page.locator("#wall-trained .tile")).to_have_count(30)
    assert len(log(first)) > 100
