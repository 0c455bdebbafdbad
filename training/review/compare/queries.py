"""What the pages of comparisons show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from training.models import Comparison, ComparisonTry, Errand, Run
from training.review.compare import scatter
from training.review.compare.contenders import Contender
from training.review.compare.report import Line, Report
from training.review.groups.alignment import Mark, mark, rows
from training.review.transcript import Turn, shared_start, turns
from training.runs import words

SHOWN = ("changed", "lost", "won", "missing", "all")
ENOUGH = 5
"""Tries before anybody says how long the rest takes."""
UNSURE = (0.7, 1.6)


def of(run: Run) -> QuerySet[Comparison]:
    """Those that are not in the bin, the newest first."""
    living = Comparison.objects.filter(run=run, deleted_at=None)
    return living.select_related("errand", "run").order_by("-pk")


@dataclass(frozen=True)
class Summary:
    """One comparison in a list: what its contenders reached."""

    comparison: Comparison
    report: Report


def summaries(run: Run) -> list[Summary]:
    return [Summary(one, Report(one)) for one in of(run)[:50]]


def page(comparison: Comparison, query: Mapping[str, str]) -> dict[str, Any]:
    """The report with what is to be shown of it."""
    report = Report(comparison, query.get("against", ""))
    show = query.get("show", "")
    show = show if show in SHOWN else "changed"
    of_ = query.get("of", "")
    known = {one.key for one in report.contenders}
    of_ = of_ if of_ in known else ""
    return {
        "comparison": comparison,
        "run": comparison.run,
        "report": report,
        "scatter": scatter.of(report.columns),
        "show": show,
        "of": of_,
        "lines": report.shown(show, of_),
        "counts": {kind: len(report.shown(kind)) for kind in SHOWN},
        "remaining": remaining(comparison.errand),
    }


def remaining(errand: Errand | None) -> tuple[float, float] | None:
    """Seconds that the rest will take, as a range; None until enough is known."""
    if errand is None or errand.state != Errand.State.WORKING or errand.started_at is None:
        return None
    if errand.done < ENOUGH:
        return None
    gone: timedelta = timezone.now() - errand.started_at
    usual = gone.total_seconds() / errand.done * (errand.total - errand.done)
    return usual * UNSURE[0], usual * UNSURE[1]


@dataclass(frozen=True)
class Side:
    """One contender's try, ready to be read."""

    contender: Contender
    row: ComparisonTry | None
    turns: list[Turn]
    ended: str

    @property
    def scores(self) -> list[tuple[str, float, str]]:
        if self.row is None:
            return []
        return [
            (str(words.SOURCES.get(source, source)), value, why) for source, value, why in self.row.scores
        ]


@dataclass(frozen=True)
class Placed:
    """A turn beside that of the other contender, or the gap where there is none."""

    contender: Contender
    prefix: str
    turns: list[Turn]
    """The turn, or nothing."""
    mark: Mark


@dataclass(frozen=True)
class Case:
    """One scenario, two contenders side by side; what both begin with is told once."""

    line: Line
    start: list[Turn]
    sides: list[Side]
    rows: list[list[Placed]]
    """Turns that answer each other stand in one row; marks compare the right one with the left."""
    previous: str
    next: str


def case(report: Report, key: str, ones: Sequence[Contender]) -> Case:
    """Raises StopIteration for a scenario that is not compared."""
    keys = [line.key for line in report.lines]
    line = next(line for line in report.lines if line.key == key)
    found = ComparisonTry.objects.filter(comparison=report.comparison, scenario_key=key)
    by_key = {row.contender: row for row in found if not row.error}
    spoken = [by_key[one.key].messages for one in ones if one.key in by_key]
    alike = shared_start(spoken) if spoken else 0
    sides = [_side(one, by_key.get(one.key), alike) for one in ones]
    place = keys.index(key)
    return Case(
        line=line,
        start=turns(spoken[0][:alike]) if spoken else [],
        sides=sides,
        rows=_beside(sides),
        previous=keys[place - 1] if place else "",
        next=keys[place + 1] if place + 1 < len(keys) else "",
    )


def _side(one: Contender, row: ComparisonTry | None, alike: int) -> Side:
    if row is None:
        return Side(one, None, [], "")
    ended = str(words.ENDED.get(row.ended, row.ended))
    return Side(one, row, turns(row.messages[alike:], first=alike), ended)


def _beside(sides: Sequence[Side]) -> list[list[Placed]]:
    found = []
    for row in rows([side.turns for side in sides]):
        those = [None if at is None else side.turns[at] for side, at in zip(sides, row, strict=True)]
        marks = [Mark.NOTHING, mark(those[1], those[0])]
        found.append(
            [
                Placed(side.contender, f"c{number}", [turn] if turn else [], marked)
                for number, (side, turn, marked) in enumerate(zip(sides, those, marks, strict=True), 1)
            ]
        )
    return found
