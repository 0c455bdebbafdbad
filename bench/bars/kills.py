"""kills: trainings killed with SIGKILL at seeded random moments end with the weights of an undisturbed one.

Three ways to play: all in one process, with sampling processes, and with those one step ahead.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.bar import Bar, Command, Work

KILLS = 200


def running(samplers: int, ahead: int) -> Callable[[Work, int], Command]:
    def ours(work: Work, pair: int) -> Command:
        told = {"kills": work.options["kills"], "samplers": samplers, "ahead": ahead, "seed": pair}
        return Command("bench.sides.kills", (json.dumps(told),), timeout=3600)

    return ours


def _bar(name: str, title: str, samplers: int, ahead: int) -> Bar:
    return Bar(
        id=f"kills-{name}",
        title=f"SIGKILL at {KILLS} random moments, {title}: same final hash",
        unit="kills",
        must=KILLS,
        aim=KILLS,
        ours=running(samplers, ahead),
        smaller=False,
        score="own",
        pairs=1,
        options={"kills": KILLS},
        small={"kills": 4},
    )


BARS = (
    _bar("off", "one process", 0, 0),
    _bar("on", "two sampling processes", 2, 0),
    _bar("ahead", "two sampling processes one step ahead", 2, 1),
)
