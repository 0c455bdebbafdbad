"""wizard: how long the wizard's pages take to answer while a training runs on the same machine."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def ours(work: Work, pair: int) -> Command:
    return Command("bench.sides.wizard", (json.dumps({"seconds": work.options["seconds"]}),), timeout=600)


BARS = (
    Bar(
        id="wizard",
        title="a wizard page while a training runs, 95th percentile of its six pages asked in turn",
        unit="ms",
        must=300,
        aim=150,
        ours=ours,
        score="own",
        pairs=3,
        options={"seconds": 40},
        small={"seconds": 5},
    ),
)
