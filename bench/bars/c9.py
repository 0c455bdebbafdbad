"""C9: how much of a step is waiting for a judge who takes 1.5 s a call, 32 groups of 8 tries.

A realistic step: every try takes 6 turns with a tool call each and some 64 tokens a turn, no group is a tie.
The provider's limit of questions at once is the product's own (16). Once on policy, where nothing can be
learned before the last group is judged, and once one step off, where the next step is played meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.bar import Bar, Command, Work

OPTIONS = {
    "groups": 32,
    "group": 8,
    "turns": 6,
    "tokens": 64,
    "steps": 3,
    "samplers": 2,
    "milliseconds": 1500,
    "at_once": 16,
}


def exposed(ahead: int) -> Callable[[Work, int], Command]:
    def ours(work: Work, pair: int) -> Command:
        told = dict(work.options) | {"ahead": ahead}
        return Command("bench.sides.judge_exposed", (json.dumps(told),), timeout=3600)

    return ours


def bar(name: str, title: str, ahead: int) -> Bar:
    return Bar(
        id=name,
        title=f"share of a step that waits for the judge (1.5 s a call, 32 groups), {title}",
        unit="%",
        must=5,
        aim=0,
        ours=exposed(ahead),
        score="own",
        options=OPTIONS,
        small={"steps": 1, "groups": 4, "turns": 2, "tokens": 16},
    )


BARS = (bar("C9", "on policy", 0), bar("C9-ahead", "one step off", 1))
