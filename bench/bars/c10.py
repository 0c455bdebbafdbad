"""C10: how late a live event is on the pages of many browsers while a training runs on the same machine.

Ours is the whole site as `up` starts it; the peer is what the Channels documentation builds, at the best of
its layers and servers. Both sides write a row for every event, and both train the order desk beside it.
"""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work


def ours(work: Work, pair: int) -> Command:
    return Command("bench.live.ours", (json.dumps(dict(work.options)),), timeout=600)


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return Command(
        "bench.live.stock", (json.dumps({**work.options, **setting}),), peer="channels", timeout=600
    )


BARS = (
    Bar(
        id="C10",
        title="live events on 200 browsers, 20 a second, with a training beside them: 99th percentile",
        unit="ms",
        must=5,
        aim=20,
        ours=ours,
        theirs=theirs,
        peer="Channels 4.3.2, group_send to each socket",
        needs=("channels",),
        settings=tuple(
            {"layer": layer, "server": server}
            for layer in ("pubsub", "core")
            for server in ("daphne", "uvicorn")
        ),
        options={"browsers": 200, "rate": 20, "seconds": 12},
        small={"browsers": 20, "seconds": 5},
        search={"seconds": 6},
    ),
)
