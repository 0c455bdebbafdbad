"""What success costs: the contenders as points, laid out for an SVG. The table beside it has the figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from training.review.compare.report import Column

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 24, 16, 36
TICKS = 4


@dataclass(frozen=True)
class Point:
    number: int
    title: str
    x: float
    y: float
    low: float
    high: float
    """Where the interval of the share ends, on the y axis."""


@dataclass(frozen=True)
class Tick:
    at: float
    value: float


@dataclass(frozen=True)
class Scatter:
    """`axis` is cost (dollars a try) or seconds (a try)."""

    axis: str
    points: list[Point]
    across: list[Tick]
    up: list[Tick]


def of(columns: Sequence[Column]) -> Scatter | None:
    """None where neither costs nor times tell two contenders apart."""
    costs = [(column, column.cost) for column in columns if column.cost is not None]
    times = [(column, column.seconds) for column in columns if column.seconds is not None]
    for axis, known in (("cost", costs), ("seconds", times)):
        most = max((value for _column, value in known), default=0.0)
        if len(known) > 1 and most > 0:
            return _drawn(axis, known, most)
    return None


def _drawn(axis: str, known: Sequence[tuple[Column, float]], most: float) -> Scatter:
    top = most * 1.1
    points = [
        Point(
            number=column.number,
            title=column.contender.title,
            x=_across(value / top),
            y=_up(column.share),
            low=_up(column.interval[0]),
            high=_up(column.interval[1]),
        )
        for column, value in known
    ]
    across = [Tick(_across(place / TICKS), top * place / TICKS) for place in range(TICKS + 1)]
    return Scatter(
        axis, points, across, [Tick(_up(place / TICKS), place / TICKS) for place in range(TICKS + 1)]
    )


def _across(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _up(share: float) -> float:
    return round(TOP + (1 - share) * (HEIGHT - TOP - BOTTOM), 1)
