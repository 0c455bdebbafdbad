"""95 % intervals of success rates, in closed form, so that the same outcomes always give the same numbers."""

from collections.abc import Iterable
from math import sqrt

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927); (0, 1) when nothing was tried."""
    if not count:
        return 0.0, 1.0
    rate, z2 = successes / count, Z * Z
    middle = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * sqrt(rate * (1 - rate) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(pairs: Iterable[tuple[bool, bool]]) -> tuple[float, float]:
    """Interval of `after - before` for (before, after) outcomes of the same scenarios, between -1 and 1.

    Newcombe's hybrid score method for paired data (Statistics in Medicine 17, 1998, p. 2635, method 10).
    """
    table = [[0, 0], [0, 0]]
    for before, after in pairs:
        table[int(after)][int(before)] += 1
    (neither, lost), (gained, both) = table
    count = neither + lost + gained + both
    if not count:
        return -1.0, 1.0
    after_rate, before_rate = (both + gained) / count, (both + lost) / count
    after_low, after_high = wilson(both + gained, count)
    before_low, before_high = wilson(both + lost, count)
    phi = _correlation(both, gained, lost, neither)
    down = _distance(after_rate - after_low, before_high - before_rate, phi)
    up = _distance(after_high - after_rate, before_rate - before_low, phi)
    difference = after_rate - before_rate
    return max(-1.0, difference - down), min(1.0, difference + up)


def _correlation(both: int, gained: int, lost: int, neither: int) -> float:
    """Phi of the two outcomes, corrected for continuity where positive."""
    product = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    if not product:
        return 0.0
    excess: float = both * neither - gained * lost
    if excess > 0:
        excess = max(excess - (both + gained + lost + neither) / 2, 0)
    return excess / sqrt(product)


def _distance(a: float, b: float, phi: float) -> float:
    return sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))
