"""C5: training seconds until order desk is solved with a held-out reward of 0.8, against TRL's tools path.

A pair is a seed. Both sides start from the shipped model and get the same conversations, tools, tries a
step and reward; ours learns at its default rate, TRL at the best of three and of the ways to use the
cores, tried on the first seed. The median counts, because seeds differ. A side that does not get there within
`limit` seconds is counted as if it had just done so.
"""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work

RATES = (5e-4, 1.5e-3, 3e-3)
SETTINGS: tuple[Setting, ...] = tuple(
    {"learning_rate": rate, "threads": 2, "micro_batch": 32, "dtype": "autocast"} for rate in RATES
)
"""Two threads, micro-batches of 32 and bf16 autocast were the fastest of C4-desk's settings."""
EXAMS = 900
"""Seconds for starting a side and for examining what it learned."""


def _options(work: Work, pair: int) -> str:
    return json.dumps({"seed": work.options["first_seed"] + pair, **dict(work.options)})


def ours(work: Work, pair: int) -> Command:
    arguments = ("ours", _options(work, pair))
    return Command("bench.sides.desk_racer", arguments, timeout=work.options["limit"] + EXAMS)


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    arguments = ("theirs", _options(work, pair), json.dumps(dict(setting)))
    return Command("bench.sides.desk_racer", arguments, timeout=work.options["limit"] + EXAMS)


BARS = (
    Bar(
        id="C5",
        title="training seconds until order desk's held-out reward is 0.8",
        unit="s",
        must=6,
        aim=15,
        by="median",
        peer="TRL GRPOTrainer 1.16.0, tools path, best of three learning rates",
        needs=("trl",),
        ours=ours,
        theirs=theirs,
        settings=SETTINGS,
        options={"limit": 600, "first_seed": 0, "samplers": 2},
        small={"limit": 60},
        search={"limit": 400},
    ),
)
