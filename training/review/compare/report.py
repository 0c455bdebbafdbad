"""A comparison in figures: every contender against the reference, by tag, and scenario by scenario.

While tries are still played only scenarios that all contenders have been at count; once it is over, all do,
and a contender that has no outcome at one has failed there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Literal

from gpu_worker.types import VERIFIABLE, Scenario
from judging.checks import text_of
from training.models import Comparison, ComparisonTry, Errand
from training.review.compare import contenders, held_out, statistics
from training.review.compare.contenders import Contender
from training.review.compare.statistics import MISSING, Paired, Result
from training.runs import intervals

LONGEST_PROMPT = 200
MOST_TAGS = 40
SIGNIFICANT = 0.05
Outcome = Literal["success", "failure", "missing", "waiting"]
Change = Literal["lost", "won", ""]


@dataclass(frozen=True)
class Cell:
    """One contender at one scenario. `change` is against the reference."""

    contender: Contender
    outcome: Outcome
    reward: float | None
    error: str
    change: Change


@dataclass(frozen=True)
class Line:
    """One scenario."""

    key: str
    prompt: str
    tags: tuple[str, ...]
    cells: list[Cell]

    @property
    def lost(self) -> int:
        """How many contenders fail where the reference succeeded."""
        return sum(cell.change == "lost" for cell in self.cells)

    @property
    def won(self) -> int:
        return sum(cell.change == "won" for cell in self.cells)

    @property
    def missing(self) -> bool:
        return any(cell.outcome == "missing" for cell in self.cells)


@dataclass(frozen=True)
class Column:
    """One contender. Means are over its tries that have an outcome; None where nothing is known."""

    number: int
    contender: Contender
    results: list[Result]
    successes: int
    share: float
    """That succeeded; the mean score where nothing can be checked."""
    interval: tuple[float, float]
    """95 %: Wilson's of a share, by bootstrap of a mean score."""
    reward: float | None
    missing: int
    tokens: float | None
    turns: float | None
    seconds: float | None
    cost: float | None
    paired: Paired | None
    """None for the reference."""
    corrected: float | None
    """p after Holm's correction, where several contenders are held against the reference."""

    @property
    def verdict(self) -> Literal["better", "worse", "open", "absent", ""]:
        """Better or worse only where interval and p, corrected if need be, agree; absent without outcomes.

        The percentile bootstrap is too sure of itself where scenarios are few, the exact test is not.
        """
        if self.paired is None or not self.results:
            return ""
        if self.missing == len(self.results):
            return "absent"
        low, high = self.paired.interval
        if (self.paired.p if self.corrected is None else self.corrected) >= SIGNIFICANT:
            return "open"
        return "better" if low > 0 else "worse" if high < 0 else "open"


@dataclass(frozen=True)
class TagRow:
    tag: str
    count: int
    shares: list[float]


class Report:
    """`reference` is the key of the contender that the others are held against; the first one by default."""

    def __init__(self, comparison: Comparison, reference: str = "") -> None:
        self.comparison = comparison
        self.errand = comparison.errand
        self.over = self.errand is None or self.errand.state in Errand.OVER
        chosen = contenders.of(comparison)
        first = next((one for one in chosen if one.key == reference), chosen[0])
        self.reference = first
        self.contenders = [first, *(one for one in chosen if one is not first)]

    @cached_property
    def tries(self) -> dict[tuple[str, str], ComparisonTry]:
        rows = self.comparison.tries.defer("messages")
        return {(row.contender, row.scenario_key): row for row in rows}

    @cached_property
    def scenarios(self) -> dict[str, Scenario]:
        return {one.id: one for one in held_out.of(self.comparison.run).scenarios}

    @cached_property
    def counted(self) -> list[str]:
        """Keys of the scenarios that count."""
        keys: list[str] = self.comparison.scenario_keys
        if self.over:
            return keys
        return [key for key in keys if all((one.key, key) in self.tries for one in self.contenders)]

    @cached_property
    def by_reward(self) -> bool:
        """Whether nothing can be checked, so that scores decide who did better."""
        sources = {score[0] for row in self.tries.values() for score in row.scores}
        return bool(sources) and not sources & set(VERIFIABLE)

    @cached_property
    def columns(self) -> list[Column]:
        reference = self._results(self.reference)
        pairs = {
            one.key: statistics.paired(reference, self._results(one), by_reward=self.by_reward)
            for one in self.contenders[1:]
        }
        corrected = dict(
            zip(pairs, statistics.holm([pair.p for pair in pairs.values()]), strict=True)
            if len(pairs) > 1
            else ()
        )
        return [
            self._column(number, one, pairs.get(one.key), corrected.get(one.key))
            for number, one in enumerate(self.contenders, 1)
        ]

    @cached_property
    def lines(self) -> list[Line]:
        """Every scenario, those first at which most contenders do worse than the reference, then better."""
        lines = [self._line(key) for key in self.comparison.scenario_keys]
        return sorted(lines, key=lambda line: (-line.lost, -line.won))

    def shown(self, show: str, key: str = "") -> list[Line]:
        """Lines of one kind (lost, won, changed, missing, all), of one contender or any."""
        return [line for line in self.lines if _fits(line, show, key)]

    @cached_property
    def tags(self) -> list[TagRow]:
        """Shares by tag, the commonest first; empty where no scenario bears one."""
        keys: dict[str, list[str]] = {}
        for key in self.counted:
            for tag in dict.fromkeys(self.scenarios[key].tags if key in self.scenarios else ()):
                keys.setdefault(tag, []).append(key)
        commonest = sorted(keys.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TAGS]
        return [
            TagRow(tag, len(those), [self._share(one, those) for one in self.contenders])
            for tag, those in commonest
        ]

    @cached_property
    def missing(self) -> int:
        return sum(column.missing for column in self.columns)

    @cached_property
    def several(self) -> bool:
        return len(self.contenders) > 2

    def _result(self, contender: Contender, key: str) -> Result:
        row = self.tries.get((contender.key, key))
        return MISSING if row is None or row.error else Result(row.success, row.reward)

    def _results(self, contender: Contender) -> list[Result]:
        return [self._result(contender, key) for key in self.counted]

    def _share(self, contender: Contender, keys: Sequence[str]) -> float:
        results = [self._result(contender, key) for key in keys]
        values = [one.reward if self.by_reward else float(one.success) for one in results]
        return fmean(values) if values else 0.0

    def _column(self, number: int, one: Contender, pair: Paired | None, corrected: float | None) -> Column:
        results = self._results(one)
        rows = [self.tries.get((one.key, key)) for key in self.counted]
        there = [row for row in rows if row is not None and not row.error]
        successes = sum(result.success for result in results)
        costs = [row.cost for row in there]
        rewards = tuple(result.reward for result in results)
        mean, count = _mean(rewards), max(1, len(results))
        return Column(
            number=number,
            contender=one,
            results=results,
            successes=successes,
            share=(mean or 0.0) if self.by_reward else successes / count,
            interval=(
                statistics.bootstrap(rewards) if self.by_reward else intervals.wilson(successes, len(results))
            ),
            reward=mean,
            missing=sum(result.missing for result in results),
            tokens=_mean(row.tokens for row in there),
            turns=_mean(row.turns for row in there),
            seconds=_mean(row.seconds for row in there if row.seconds),
            cost=None if None in costs else _mean(cost for cost in costs if cost is not None),
            paired=pair,
            corrected=corrected,
        )

    def _line(self, key: str) -> Line:
        scenario = self.scenarios.get(key)
        asked = [text_of(m) for m in scenario.messages if m.get("role") == "user"] if scenario else []
        return Line(
            key=key,
            prompt=(asked[-1] if asked else key)[:LONGEST_PROMPT],
            tags=scenario.tags if scenario else (),
            cells=[self._cell(one, key) for one in self.contenders],
        )

    def _cell(self, one: Contender, key: str) -> Cell:
        row = self.tries.get((one.key, key))
        if row is None:
            outcome: Outcome = "missing" if self.over else "waiting"
        else:
            outcome = "missing" if row.error else "success" if row.success else "failure"
        return Cell(
            contender=one,
            outcome=outcome,
            reward=row.reward if row is not None and not row.error else None,
            error=row.error if row is not None else "",
            change=self._change(one, key) if one is not self.reference and outcome != "waiting" else "",
        )

    def _change(self, one: Contender, key: str) -> Change:
        if not self.over and (self.reference.key, key) not in self.tries:
            return ""
        step = statistics.step(
            self._result(self.reference, key), self._result(one, key), by_reward=self.by_reward
        )
        return "won" if step > 0 else "lost" if step < 0 else ""


def _fits(line: Line, show: str, key: str) -> bool:
    cells = [cell for cell in line.cells if not key or cell.contender.key == key]
    tests: Mapping[str, bool] = {
        "lost": any(cell.change == "lost" for cell in cells),
        "won": any(cell.change == "won" for cell in cells),
        "changed": any(cell.change for cell in cells),
        "missing": any(cell.outcome == "missing" for cell in cells),
    }
    return tests.get(show, True)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None
