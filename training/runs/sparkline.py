"""A small drawing of a curve, made on the server: the points of an SVG polyline."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 120
HEIGHT = 28
MARGIN = 2


@dataclass(frozen=True)
class Sparkline:
    """`points` fits a view box of WIDTH × HEIGHT; `first` and `last` are the values at its ends."""

    points: str
    first: float
    last: float


def sparkline(values: Sequence[float]) -> Sparkline | None:
    """None for fewer than two values: there is no curve yet."""
    if len(values) < 2:
        return None
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    pairs = []
    for place, value in enumerate(values):
        x = MARGIN + (WIDTH - 2 * MARGIN) * place / (len(values) - 1)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value - low) / span
        pairs.append(f"{x:.1f},{y:.1f}")
    return Sparkline(points=" ".join(pairs), first=values[0], last=values[-1])
