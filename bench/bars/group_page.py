"""group-page: from the click to a group's page that can be read, scored and walked, in Chromium."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.group_page", (json.dumps(dict(work.options)),), timeout=300)


BARS = (
    Bar(
        id="group-page",
        title="a group's page with 16 tries of 20 turns is usable in Chromium, the slowest of 5 visits",
        unit="ms",
        must=500,
        aim=200,
        ours=ours,
        score="own",
        pairs=1,
        options={"tries": 16, "turns": 20, "visits": 5},
        small={"tries": 4, "turns": 5, "visits": 2},
    ),
)
