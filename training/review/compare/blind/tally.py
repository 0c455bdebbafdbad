"""What a person's blind votes say: who won how often, how sure that is, and whether the reward agrees."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from django.contrib.auth.models import User

from training.models import BlindVote
from training.review.compare import statistics
from training.review.compare.blind import votes
from training.review.compare.contenders import Contender
from training.review.compare.report import Report
from training.review.compare.statistics import Result
from training.runs import intervals

Choice = BlindVote.Choice


@dataclass(frozen=True)
class Judged:
    """One vote, with the names. `reward` is the side that the reward prefers, or tie."""

    vote: BlindVote
    prompt: str
    left: Contender
    right: Contender
    reward: str

    @property
    def chosen(self) -> Contender | None:
        """None where the person saw a tie."""
        return self._on(self.vote.choice)

    @property
    def rewarded(self) -> Contender | None:
        return self._on(self.reward)

    @property
    def agrees(self) -> bool | None:
        """Whether the reward prefers the same; None unless both decided."""
        if self.chosen is None or self.rewarded is None:
            return None
        return self.chosen == self.rewarded

    def _on(self, choice: str) -> Contender | None:
        return self.left if choice == Choice.LEFT else self.right if choice == Choice.RIGHT else None


@dataclass(frozen=True)
class Agreement:
    """Of the pairs that both the person and the reward decided."""

    agreeing: int
    decided: int

    @property
    def share(self) -> float | None:
        return self.agreeing / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, Wilson's."""
        return intervals.wilson(self.agreeing, self.decided)


@dataclass(frozen=True)
class Row:
    """A contender against another one, as the person judged them."""

    contender: Contender
    against: Contender
    wins: int
    ties: int
    losses: int
    p: float
    """The sign test: McNemar's exact test of wins and losses."""
    agreement: Agreement
    corrected: float | None = None
    """p after Holm's correction, where there are several rows."""


class Tally:
    """One person's votes; what was skipped is none. Contenders keep the order of the report."""

    def __init__(self, report: Report, person: User) -> None:
        self.report = report
        self.votes = list(votes.of(report.comparison, person).exclude(choice=Choice.SKIP))

    @cached_property
    def judged(self) -> list[Judged]:
        """The latest first."""
        by_key = {one.key: one for one in self.report.contenders}
        prompts = {line.key: line.prompt for line in self.report.lines} if self.votes else {}
        return [
            Judged(
                vote=vote,
                prompt=prompts[vote.scenario_key],
                left=by_key[vote.left],
                right=by_key[vote.right],
                reward=self._rewarded(vote),
            )
            for vote in self.votes
        ]

    @cached_property
    def rows(self) -> list[Row]:
        """Every two contenders of whom a pair was judged."""
        both = combinations(self.report.contenders, 2)
        found = [_row(one, against, those) for against, one in both if (those := self._between(one, against))]
        if len(found) < 2:
            return found
        corrected = statistics.holm([row.p for row in found])
        return [replace(row, corrected=p) for row, p in zip(found, corrected, strict=True)]

    @cached_property
    def agreement(self) -> Agreement:
        return _agreement(self.judged)

    def _between(self, one: Contender, other: Contender) -> list[Judged]:
        return [judged for judged in self.judged if {judged.left, judged.right} == {one, other}]

    def _rewarded(self, vote: BlindVote) -> str:
        left, right = (self._result(key, vote.scenario_key) for key in (vote.left, vote.right))
        step = statistics.step(left, right, by_reward=True)
        return Choice.RIGHT if step > 0 else Choice.LEFT if step < 0 else Choice.TIE

    def _result(self, contender: str, scenario_key: str) -> Result:
        row = self.report.tries[contender, scenario_key]
        return Result(row.success, row.reward)


def _row(one: Contender, against: Contender, those: Sequence[Judged]) -> Row:
    won = Counter(judged.chosen for judged in those)
    wins, losses = won[one], won[against]
    p = statistics.mcnemar(wins, losses)
    return Row(one, against, wins, won[None], losses, p, _agreement(those))


def _agreement(judged: Sequence[Judged]) -> Agreement:
    said = [one.agrees for one in judged if one.agrees is not None]
    return Agreement(sum(said), len(said))
