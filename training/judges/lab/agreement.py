"""How much two ways of scoring the same tries agree, and how sure that is. Plain numbers; no database.

A way of scoring gives each try of a group a value, higher is better; only the order within a group counts
for agreement. Everything is taken within groups and averaged over groups, and intervals come from drawing
groups again with replacement (percentile bootstrap), since tries of one group are not independent.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import numpy.typing as npt

Values = Mapping[int, float]
"""Index of a try → its value."""
Two = tuple[Values, Values]
"""One group as two ways of scoring see it."""

FEWEST = 5
"""With fewer groups nothing is said."""
DRAWS = 1000
"""How often groups are drawn again for an interval."""
COVERAGE = 0.95


@dataclass(frozen=True)
class Estimate:
    """`value` over `n` groups with its 95 % interval; all None where no group says anything."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def enough(self) -> bool:
        return self.n >= FEWEST


@dataclass(frozen=True)
class Shown:
    """One judgement: the tries in the order the judge read them, panel by panel, and what it gave them."""

    panels: Sequence[Sequence[int]]
    values: Values


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's τ-b (Kendall 1945, ties counted): 1 the same order, −1 the reverse, 0 neither.

    None where either holds nothing but ties, which has no order to compare.
    """
    x_up, x_down = _order(tuple(x))
    y_up, y_down = _order(tuple(y))
    concordant = (x_up & y_up | x_down & y_down).bit_count()
    discordant = (x_up & y_down | x_down & y_up).bit_count()
    ordered_x, ordered_y = (x_up | x_down).bit_count(), (y_up | y_down).bit_count()
    if not ordered_x or not ordered_y:
        return None
    return (concordant - discordant) / sqrt(ordered_x * ordered_y)


def alike(x: Sequence[float], y: Sequence[float]) -> tuple[float, int]:
    """(pairs ordered alike, pairs). What both tie is left out; what only one ties counts half."""
    x_up, x_down = _order(tuple(x))
    y_up, y_down = _order(tuple(y))
    concordant = (x_up & y_up | x_down & y_down).bit_count()
    tied_by_one = ((x_up | x_down) ^ (y_up | y_down)).bit_count()
    return concordant + 0.5 * tied_by_one, (x_up | x_down | y_up | y_down).bit_count()


def tau(groups: Iterable[Two]) -> Estimate:
    """Mean of Kendall's τ-b over the groups that have an order on both sides."""
    found = [kendall_tau_b(*common(one, other)) for one, other in groups]
    return mean([value for value in found if value is not None])


def pairwise(groups: Iterable[Two]) -> Estimate:
    """Share of pairs of tries that both order alike, all pairs of all groups together."""
    counted = [alike(*common(one, other)) for one, other in groups]
    return ratio([(points, pairs) for points, pairs in counted if pairs])


def same_best(groups: Iterable[Two]) -> Estimate:
    """How far the same tries are best: those both put first, of all that either does."""
    tops = [(best(one), best(other)) for one, other in groups if one and other]
    return mean([len(one & other) / len(one | other) for one, other in tops])


def position_bias(groups: Iterable[tuple[Shown, Shown]]) -> Estimate:
    """What a place in the first half of the prompt earns over one in the second half, in points of score.

    Of each group two judgements in different orders are needed. A try's own worth is its mean over both;
    what a judgement gives it beyond that is the doing of its place. Above 0 the judge favours early tries.
    """
    found = [_early_minus_late(first, second) for first, second in groups]
    return mean([value for value in found if value is not None])


def bias_by_position(groups: Sequence[tuple[Shown, Shown]]) -> list[float]:
    """Mean score beyond a try's own worth at each place of the prompt, first place first."""
    at: dict[int, list[float]] = {}
    for first, second in groups:
        for place, _count, beyond in _beyond_worth(first, second):
            at.setdefault(place, []).append(beyond)
    return [sum(at[place]) / len(at[place]) for place in sorted(at)]


def flipped_pairs(before: Values, after: Values) -> list[tuple[int, int]]:
    """Pairs (better before, better after) of tries whose order was reversed."""
    turned = []
    for a, b in combinations(sorted(before.keys() & after.keys()), 2):
        was, now = before[a] - before[b], after[a] - after[b]
        if was and now and (was > 0) != (now > 0):
            turned.append((a, b) if was > 0 else (b, a))
    return turned


def best(values: Values) -> frozenset[int]:
    """The tries with the highest value."""
    top = max(values.values(), default=0.0)
    return frozenset(index for index, value in values.items() if value == top)


def places_of(values: Values) -> list[list[int]]:
    """Values as places, best first; equal values share one."""
    return [
        sorted(index for index, other in values.items() if other == value)
        for value in sorted(set(values.values()), reverse=True)
    ]


def ranks_of(values: Values) -> dict[int, int]:
    """1 is the best; equal values share a rank, and the next one counts them all."""
    return {index: 1 + sum(other > value for other in values.values()) for index, value in values.items()}


def values_of(places: Sequence[Sequence[int]]) -> dict[int, float]:
    """Places, best first, as values: the last place is 1."""
    return {index: float(len(places) - place) for place, tied in enumerate(places) for index in tied}


def common(one: Values, other: Values) -> tuple[list[float], list[float]]:
    """Both values of the tries that both have scored."""
    both = sorted(one.keys() & other.keys())
    return [one[index] for index in both], [other[index] for index in both]


def mean(values: Sequence[float]) -> Estimate:
    """The mean of one number per group."""
    return ratio([(value, 1) for value in values])


def ratio(groups: Sequence[tuple[float, float]]) -> Estimate:
    """Sum of the first numbers over the sum of the second ones, which are above 0."""
    if not groups:
        return Estimate(None, None, None, 0)
    tops, bottoms = np.array(groups, dtype=float).T
    draws = _draws(len(groups))
    drawn = np.sort(tops[draws].sum(axis=0) / bottoms[draws].sum(axis=0))
    tail = round((1 - COVERAGE) / 2 * DRAWS)
    value = sum(top for top, _ in groups) / sum(bottom for _, bottom in groups)
    return Estimate(value, float(drawn[tail]), float(drawn[-1 - tail]), len(groups))


@functools.lru_cache(maxsize=64)
def _draws(count: int) -> npt.NDArray[np.intp]:
    """(count, DRAWS) numbers of groups. The same are always drawn, so that a page shows the same interval."""
    dice = np.random.RandomState([count])  # a list seeds it as `random` is seeded, and its stream is frozen
    return np.ascontiguousarray((dice.random_sample((DRAWS, count)) * count).astype(np.intp).T)


@functools.lru_cache(maxsize=4096)
def _order(values: tuple[float, ...]) -> tuple[int, int]:
    """Two numbers with a bit for each pair: where its first value is the higher one, and where the lower."""
    up = down = 0
    for bit, (a, b) in enumerate(combinations(values, 2)):
        up |= (a > b) << bit
        down |= (a < b) << bit
    return up, down


def _early_minus_late(first: Shown, second: Shown) -> float | None:
    early: list[float] = []
    late: list[float] = []
    for place, count, beyond in _beyond_worth(first, second):
        if 2 * place + 1 != count:  # the place in the middle is neither
            (early if 2 * place < count else late).append(beyond)
    if not early or not late:
        return None
    return sum(early) / len(early) - sum(late) / len(late)


def _beyond_worth(first: Shown, second: Shown) -> Iterable[tuple[int, int, float]]:
    """(place from 0, how many places there are, score beyond the try's mean) of every try in both orders."""
    for shown, other in ((first, second), (second, first)):
        for panel in shown.panels:
            for place, index in enumerate(panel):
                if index in shown.values and index in other.values:
                    worth = (shown.values[index] + other.values[index]) / 2
                    yield place, len(panel), shown.values[index] - worth
