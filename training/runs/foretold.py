"""What was foretold of a run at its start, and what came of it."""

from dataclasses import dataclass
from typing import Any

from training.models import Run
from training.runs import budget

Range = tuple[float, float]


@dataclass(frozen=True)
class Foretold:
    """Ranges of the start; the truth where it is known. `inside` tells whether the time lay in its range."""

    seconds: Range
    tries: int
    dollars: Range | None
    how: list[str]
    spent: float
    budget: float
    truth: dict[str, Any] | None = None
    inside: bool = False


def of(run: Run) -> Foretold | None:
    """None for a run of before estimates were kept."""
    told = run.estimate
    if not told:
        return None
    after = run.summary.get("foretold") or {}
    low, high = told["seconds"]
    dollars = told["dollars"]
    return Foretold(
        seconds=(low, high),
        tries=told["tries"],
        dollars=(dollars[0], dollars[1]) if dollars else None,
        how=told["how"],
        spent=budget.spent(run),
        budget=run.config.get("budget", 0.0),
        truth=after.get("truth"),
        inside=after.get("inside", False),
    )
