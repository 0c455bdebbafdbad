"""A training as its doctor sees it: the figures of its steps, what else is known, what was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Literal

from training.runs.learner import Metrics, measured

LATEST = 3
"""Steps that must agree, by their median, before anything is said about a level."""
SOLVED = 0.9
"""From this mean reward on, ties and low entropy are what success looks like."""

Severity = Literal["alarm", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("alarm", "warning", "note")


@dataclass(frozen=True)
class Facts:
    """What the figures of the steps do not say. `stalled_since` is set by who has a clock."""

    on_policy: bool = True
    stalled_since: datetime | None = None
    step_seconds: float | None = None
    held: bool = True
    budget: float = 0.0
    """Dollars the run may spend; 0 is no limit."""
    spent: float = 0.0


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `chart` is the id of the chart that shows it, or "groups" or "log"."""

    key: str
    severity: Severity
    title: str
    text: str
    advice: str
    chart: str = ""
    since: datetime | None = None


class Figures:
    """The figures of the steps, oldest first, by name; what was not measured is left out."""

    def __init__(self, metrics_by_step: Mapping[int, Metrics]) -> None:
        self.steps = [measured(metrics_by_step[step]) for step in sorted(metrics_by_step)]

    def known(self, name: str, last: int | None = None) -> list[float]:
        rows = self.steps[-last:] if last else self.steps
        return [value for row in rows if (value := row.get(name)) is not None]

    def level(self, name: str) -> float | None:
        """The median of the latest steps; None unless all of them were measured."""
        values = self.known(name, LATEST)
        return median(values) if len(values) == LATEST else None

    def above(self, name: str, bound: float) -> float | None:
        """The level, if it is above the bound."""
        level = self.level(name)
        return level if level is not None and level > bound else None

    @property
    def solved(self) -> bool:
        return self.above("reward", SOLVED) is not None
