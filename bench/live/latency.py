"""From when events happened and when browsers had them: percentiles of the delay, and what was lost."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

AFTERWARDS = 2.0
"""Seconds that the last events have to arrive."""


def delays(happened: list[tuple[int, float]], arrivals: list[tuple[int, float]]) -> list[float | None]:
    """For each event the seconds until a browser had it; None for one it never had."""
    seqs = [seq for seq, _when in arrivals]
    found: list[float | None] = []
    for seq, when in happened:
        at = bisect_left(seqs, seq)
        found.append(arrivals[at][1] - when if at < len(arrivals) else None)
    return found


def told(happened: Path, arrived: Path, *, exact: bool) -> dict[str, Any]:
    """The figure is the 99th percentile in milliseconds over all events and browsers.

    `exact`: each event comes in a message of its own, so one that is not there by its number is lost; else
    a message holds all events up to its number, and gaps are counted by the browsers.
    """
    events = [tuple(map(float, line.split())) for line in happened.read_text().splitlines()]
    times = [(int(seq), when) for seq, when in events]
    record = json.loads(arrived.read_text())
    everything: list[float] = []
    lost = 0
    for arrivals in record["arrivals"]:
        had = {seq for seq, _when in arrivals}
        for (seq, _when), delay in zip(times, delays(times, arrivals), strict=True):
            if delay is None or (exact and seq not in had):
                lost += 1
            else:
                everything.append(1000 * delay)
    everything.sort()
    return {
        "figure": everything[int(0.99 * len(everything))] if everything else 1e9,
        "p50_ms": everything[len(everything) // 2] if everything else None,
        "worst_ms": everything[-1] if everything else None,
        "events": len(times),
        "browsers": len(record["arrivals"]),
        "lost": lost,
        "gaps": record["gaps"],
        "frames": sum(map(len, record["arrivals"])) / max(1, len(record["arrivals"])),
    }
