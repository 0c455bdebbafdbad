"""How steeply one quantity grows with another: the exponent of a power law, by least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of log y over log x. 1 is linear, 2 quadratic. Raises ValueError where all x are the same."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = math.fsum(x for x, _ in logs) / len(logs)
    mean_y = math.fsum(y for _, y in logs) / len(logs)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in logs)
    if not spread:
        raise ValueError("a slope needs two different x")
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in logs) / spread
