"""Where one scenario's behaviour turned over the steps of a run. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")

Kind = Literal["improved", "regressed", "unsteady", "steady", "once"]
CHANGED = 0.2
"""A mean score must move by so much to count as a change."""
SOLVED = 0.5
"""Share of tries that must succeed for a scenario to count as solved in a step."""


class Point(NamedTuple):
    """The tries at the scenario in one step. `worst` to `best` is their spread."""

    group: int
    label: str
    step: int
    tries: int
    successes: int
    mean: float
    best: float
    worst: float

    @property
    def success(self) -> float:
        return self.successes / self.tries if self.tries else 0.0

    @property
    def solved(self) -> bool:
        return self.success >= SOLVED


def turned(sides: Sequence[T]) -> int | None:
    """The place from which everything is like the last, and the one before is not; None if all are alike."""
    for place in range(len(sides) - 1, 0, -1):
        if sides[place - 1] != sides[-1]:
            return place
    return None


def turns(sides: Sequence[T]) -> int:
    """How often neighbours differ."""
    return sum(one != other for one, other in zip(sides, sides[1:], strict=False))


def change(points: Sequence[Point]) -> float:
    """How far the mean score moved from the first to the last step."""
    return points[-1].mean - points[0].mean if points else 0.0


def kind(points: Sequence[Point]) -> Kind:
    """Success decides; where it never turned, the mean score does."""
    if len(points) < 2:
        return "once"
    solved = [point.solved for point in points]
    if solved[0] != solved[-1]:
        return "improved" if solved[-1] else "regressed"
    if turns(solved):
        return "unsteady"
    moved = change(points)
    if abs(moved) < CHANGED:
        return "steady"
    return "improved" if moved > 0 else "regressed"
