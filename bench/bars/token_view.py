"""token-view: from the click to a try's tokens that can be read, coloured and walked, in Chromium."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.token_view", (json.dumps(dict(work.options)),), timeout=300)


BARS = (
    Bar(
        id="token-view",
        title="the token view of a try of 8,192 tokens is usable in Chromium, the slowest of 5 visits",
        unit="ms",
        must=500,
        aim=200,
        ours=ours,
        score="own",
        pairs=1,
        options={"tokens": 8192, "visits": 5},
        small={"tokens": 512, "visits": 2},
    ),
)
