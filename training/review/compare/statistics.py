"""Paired statistics of two contenders at the same scenarios. Pure: numbers in, numbers out.

A scenario is the unit: it was drawn, the tries at it belong together. Whoever was not tried at a scenario
counts as having failed there; a missing case is not a passing case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np

RESAMPLES = 10_000
SEED = 12_345
"""Of the bootstrap: the same outcomes always give the same interval."""
ALIKE = 0.05
"""Rewards no further apart than this count as the same, where rewards decide."""
_AT_ONCE = 2_000_000
"""Draws that are held in memory at a time."""


@dataclass(frozen=True)
class Result:
    """One contender at one scenario."""

    success: bool
    reward: float
    missing: bool = False


MISSING = Result(False, 0.0, missing=True)


@dataclass(frozen=True)
class Paired:
    """A contender against a reference, over the same scenarios. Differences are contender - reference."""

    count: int
    wins: int
    """Scenarios at which the contender succeeded and the reference did not."""
    ties: int
    losses: int
    difference: float
    """Of the shares that succeeded, or of the mean rewards where these decide; -1 to 1."""
    interval: tuple[float, float]
    """95 %, by bootstrap over scenarios."""
    p: float
    """McNemar's exact test (a sign test where rewards decide): how likely so lopsided a split is."""
    reward: float
    """Mean difference of the rewards."""
    reward_interval: tuple[float, float]


def paired(reference: Sequence[Result], contender: Sequence[Result], *, by_reward: bool = False) -> Paired:
    """Both in the order of the scenarios. Raises ValueError if they are not equally many."""
    both = list(zip(reference, contender, strict=True))
    steps = [step(before, after, by_reward=by_reward) for before, after in both]
    successes = [float(after.success) - float(before.success) for before, after in both]
    rewards = [after.reward - before.reward for before, after in both]
    wins, losses = steps.count(1), steps.count(-1)
    return Paired(
        count=len(both),
        wins=wins,
        ties=len(both) - wins - losses,
        losses=losses,
        difference=_mean(rewards if by_reward else successes),
        interval=bootstrap(tuple(rewards if by_reward else successes)),
        p=mcnemar(wins, losses),
        reward=_mean(rewards),
        reward_interval=bootstrap(tuple(rewards)),
    )


def step(before: Result, after: Result, *, by_reward: bool = False) -> int:
    """1 where `after` did better, -1 where it did worse, 0 where both did alike.

    Success decides, or, where nothing can be checked, a reward that differs by more than ALIKE.
    """
    if not by_reward:
        return int(after.success) - int(before.success)
    difference = after.reward - before.reward
    return 0 if abs(difference) <= ALIKE else 1 if difference > 0 else -1


def mcnemar(wins: int, losses: int) -> float:
    """The two-sided exact p of McNemar's test: a fair coin decides each scenario on which they differ.

    Twice the smaller tail of Binomial(wins + losses, 1/2), at most 1 (McNemar 1947; exact form as in
    Fagerland, Lydersen, Laake 2013).
    """
    flips = wins + losses
    tail = sum(comb(flips, heads) for heads in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**flips))


def holm(chances: Sequence[float]) -> list[float]:
    """p values corrected for there being several (Holm 1979), in the order they came in."""
    corrected, largest = [0.0] * len(chances), 0.0
    for place, index in enumerate(sorted(range(len(chances)), key=lambda index: chances[index])):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[index]))
        corrected[index] = largest
    return corrected


@lru_cache(maxsize=256)
def bootstrap(
    differences: tuple[float, ...], *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """The 95 % percentile interval of the mean, over resampled scenarios; (0, 0) of nothing."""
    if not differences:
        return 0.0, 0.0
    values, dice = np.array(differences), np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // len(values))
    means = np.concatenate(
        [
            values[dice.integers(0, len(values), (min(rows, resamples - done), len(values)))].mean(axis=1)
            for done in range(0, resamples, rows)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
