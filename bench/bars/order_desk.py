"""order-desk: how long `manage.py train order-desk` takes to 0.9 success on its held-out test, five seeds."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def ours(work: Work, pair: int) -> Command:
    told = {"seed": pair, "steps": work.options["steps"]}
    return Command("bench.sides.order_desk", (json.dumps(told),), timeout=1200)


BARS = (
    Bar(
        id="order-desk",
        title="`train order-desk` to 0.9 success on unseen questions, whole command, five seeds",
        unit="s",
        must=90,
        aim=45,
        ours=ours,
        score="own",
        pairs=5,
        options={"steps": 0},
        small={"steps": 2},
    ),
)
