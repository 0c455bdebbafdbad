"""tools: how long an agent waits for a tool: a look-up in a large table, a Python function."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Work


def table(work: Work, pair: int) -> Command:
    return _side("table", work, pair)


def python(work: Work, pair: int) -> Command:
    return _side("python", work, pair)


def _side(what: str, work: Work, pair: int) -> Command:
    told = json.dumps(dict(work.options) | {"seed": pair})
    return Command("bench.sides.tool_calls", (what, told, str(work.directory)))


BARS = (
    Bar(
        id="tools-table",
        title="look-up in a table of 50,000 rows and 20 columns: slowest median of find and count",
        unit="ms",
        must=1.0,
        aim=0.1,
        ours=table,
        score="own",
        options={"rows": 50_000, "calls": 2_000},
        small={"rows": 2_000, "calls": 200},
    ),
    Bar(
        id="tools-python",
        title="call of a Python tool in its sandbox, median",
        unit="ms",
        must=1.0,
        aim=0.3,
        ours=python,
        score="own",
        options={"calls": 2_000},
        small={"calls": 100},
    ),
)
