"""unseen-csv: tables nobody has seen, from file to a trained agent; by how many points it gets better."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work

TABLES = ("german", "french", "chinese")


def ours(work: Work, pair: int) -> Command:
    told = {
        "table": TABLES[pair % len(TABLES)],
        "seed": pair // len(TABLES),
        "questions": 60,
        "steps": work.options["steps"],
        "more": work.options["more"],
    }
    return Command("bench.sides.unseen_csv", (json.dumps(told),), timeout=1200)


BARS = (
    Bar(
        id="unseen-csv",
        title="Points that held-out success rises by in 5 minutes, on tables never seen, two of three",
        unit="points",
        must=30,
        aim=50,
        ours=ours,
        smaller=False,
        score="own",
        by="median",
        pairs=3,
        options={"steps": 80, "more": 100},
        small={"steps": 2, "more": 0},
    ),
)
