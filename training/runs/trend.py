"""Whether numbers that jump about rise or fall: a robust slope, and a test that needs no bell curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import median

SURE = 1.96
"""Deviations of Kendall's S from zero; chance alone goes beyond in one of twenty windows."""


@dataclass(frozen=True)
class Trend:
    """How much the values changed over their window, and whether that is more than chance."""

    change: float
    sure: bool

    @property
    def rises(self) -> bool:
        return self.sure and self.change > 0

    @property
    def falls(self) -> bool:
        return self.sure and self.change < 0


@dataclass(frozen=True)
class Slope:
    """How much the values changed over their window, and how much chance alone would (one deviation)."""

    change: float
    chance: float


def slope(values: Sequence[float]) -> Slope:
    """The median slope, and what the scatter about a straight line lets one expect of a flat one."""
    count = len(values)
    if count < 3:
        return Slope(0.0, 0.0)
    places = [place - (count - 1) / 2 for place in range(count)]
    spread = sum(place * place for place in places)
    middle = sum(values) / count
    steepness = sum(place * value for place, value in zip(places, values, strict=True)) / spread
    left = [value - middle - steepness * place for place, value in zip(places, values, strict=True)]
    scatter = sqrt(sum(one * one for one in left) / (count - 2))
    return Slope(trend(values).change, scatter * (count - 1) / sqrt(spread))


def trend(values: Sequence[float]) -> Trend:
    """The median of all slopes between two values (Theil 1950, Sen 1968) times the window's length.

    Sure when Kendall's S is (Mann 1945); the variance is that without ties, which errs on the calm side.
    """
    count = len(values)
    if count < 3:
        return Trend(0.0, False)
    pairs = [
        ((late - early) / (after - before))
        for (before, early), (after, late) in combinations(enumerate(values), 2)
    ]
    score = sum((slope > 0) - (slope < 0) for slope in pairs)
    deviation = sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return Trend(median(pairs) * (count - 1), (abs(score) - 1) / deviation >= SURE)
