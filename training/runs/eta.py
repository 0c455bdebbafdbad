"""How much longer a run takes, as a range, from the steps it has finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

ENOUGH_STEPS = 3
RECENT_STEPS = 10


@dataclass(frozen=True)
class Remaining:
    """Seconds left: a quarter of recent steps were faster than `low`, a quarter slower than `high`."""

    low: float
    high: float


def remaining(step_seconds: Sequence[float], steps_left: int) -> Remaining | None:
    """None while fewer than three steps are finished: an estimate would be a guess."""
    if len(step_seconds) < ENOUGH_STEPS:
        return None
    fast, _median, slow = quantiles(step_seconds[-RECENT_STEPS:], n=4, method="inclusive")
    return Remaining(low=fast * steps_left, high=slow * steps_left)
