"""work: the time of a step against the tokens it has to compute, as groups, turns and prompts double."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def ours(work: Work, pair: int) -> Command:
    told = (json.dumps(dict(work.options)), str(work.directory))
    return Command("bench.sides.work_cost", told, timeout=1800)


BARS = (
    Bar(
        id="work",
        title="growth of a step's time with its different tokens (exponent; 1 is linear)",
        unit="",
        must=1.1,
        aim=1.0,
        ours=ours,
        score="own",
        pairs=1,
        options={"steps": 3, "doublings": 3},
        small={"steps": 1, "doublings": 1},
    ),
)
