"""C16: what the site and 200 browsers that watch a training cost it.

The peer is the same training by `train`, with no site at all. Steps a minute are the inverse of a step's
seconds, so at least 0.92 of the steps is at most 1 / 0.92 of the seconds.
"""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work


def ours(work: Work, pair: int) -> Command:
    return Command("bench.live.steps", (json.dumps(dict(work.options)),), timeout=600)


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return Command("bench.live.steps", (json.dumps({**work.options, "browsers": 0}),), timeout=600)


BARS = (
    Bar(
        id="C16",
        title="seconds of a training step with the site and 200 browsers that watch it, against without",
        unit="s",
        must=round(1 / 0.92, 4),
        aim=round(1 / 0.97, 4),
        score="share",
        ours=ours,
        theirs=theirs,
        peer="the same training with no site",
        options={"browsers": 200, "first": 4, "last": 34},
        small={"browsers": 20, "first": 2, "last": 4},
    ),
)
