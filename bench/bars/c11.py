"""C11: the list of tries at 100,000 and a million, filters on, to the last page, against a ListView."""

from __future__ import annotations

import json

from bench.bar import Bar, Command, Setting, Work


def prepare(work: Work) -> None:
    work.run(Command("bench.tries", (str(work.directory / "data"), str(work.options["tries"]))))


def ours(work: Work, pair: int) -> Command:
    return _side("ours", work, work.options["rounds"])


def theirs(work: Work, pair: int, setting: Setting) -> Command:
    return _side("theirs", work, work.options["peer_rounds"])


def within(work: Work, pair: int) -> Command:
    """The same figure, held against a number instead of the peer."""
    return ours(work, pair)


def _side(side: str, work: Work, rounds: int) -> Command:
    told = {"side": side, "data": str(work.directory / "data"), "rounds": rounds}
    return Command("bench.sides.list_page", (json.dumps(told),))


def _bars(name: str, tries: int, title: str) -> tuple[Bar, ...]:
    options = {"tries": tries, "rounds": 10, "peer_rounds": 3 if tries <= 100_000 else 1}
    small = {"tries": 20_000, "rounds": 2, "peer_rounds": 1}
    against = Bar(
        id=f"C11-{name}",
        title=f"a page of the list of {title} tries, filters on, last page too, 99th percentile",
        unit="ms",
        must=5,
        aim=10,
        ours=ours,
        theirs=theirs,
        peer="Django ListView and Paginator 5.2.19",
        prepare=prepare,
        options=options,
        small=small,
    )
    alone = Bar(
        id=f"C11-{name}-ms",
        title=f"the same at {title} tries, in milliseconds",
        unit="ms",
        must=20,
        aim=10,
        ours=within,
        score="own",
        prepare=prepare,
        options={"tries": tries, "rounds": 10},
        small={"tries": 20_000, "rounds": 2},
    )
    return against, alone


BARS = (*_bars("100k", 100_000, "100,000"), *_bars("1m", 1_000_000, "1,000,000"))
