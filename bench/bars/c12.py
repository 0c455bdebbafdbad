"""C12: recording tries of one kilobyte while a reader polls, against Django's `.create()`."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work


def ours(work: Work, pair: int) -> Command:
    return _side("ours", work, {})


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return _side("theirs", work, setting)


def _side(side: str, work: Work, setting: Setting) -> Command:
    told = {"side": side, "groups": work.options["groups"], "tries": work.options["tries"], **setting}
    return Command("bench.sides.ingest", (json.dumps(told),))


BARS = (
    Bar(
        id="C12",
        title="recording tries of 1 KB in groups of 16, a reader polling",
        unit="tries/s",
        must=5,
        aim=15,
        ours=ours,
        theirs=theirs,
        settings=({"atomic": False}, {"atomic": True}),
        peer="Django .create() 5.2.19",
        smaller=False,
        options={"groups": 500, "tries": 16},
        small={"groups": 60},
        search={"groups": 60},
    ),
)
