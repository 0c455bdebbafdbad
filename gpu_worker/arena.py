"""Where tries are played and judged: groups of scenarios at once, each reported as soon as it is judged.

Every group goes to the judge the moment its last try ends, while others are still playing. Results come
back in the order of the scenarios, whatever finished first. What is learned from them is the loop's part.
"""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpu_worker.ahead import Ahead
from gpu_worker.grpo import is_tied
from gpu_worker.rollout import at_once
from gpu_worker.types import (
    Evaluation,
    Group,
    GroupDropped,
    GroupJudged,
    Job,
    Judge,
    JudgeFailed,
    Log,
    Outcome,
    Place,
    Players,
    Progress,
    Record,
    Report,
    Scenario,
    Split,
    Wish,
)

Exam = Literal["baseline", "validation", "trained"]
Label = Literal["train", "baseline", "validation", "trained"]
SPLITS: dict[Label, Split] = {"train": "train", "baseline": "test", "validation": "val", "trained": "test"}
SHOWN: dict[Label, Literal["rollouts", "baseline", "evaluating"]] = {
    "train": "rollouts",
    "baseline": "baseline",
    "validation": "evaluating",
    "trained": "evaluating",
}
"""What a round is called in the progress that is shown of it."""


@dataclass(frozen=True)
class Played:
    """The judged groups of a round in the order of their scenarios, and how long it took."""

    groups: tuple[Group, ...]
    dropped: int
    sample_seconds: float
    judge_seconds: float
    """Time the judge took after the last try had ended; what it took before, or while the trainer was
    learning already, costs nothing."""
    ahead_seconds: float
    """How long the trainer was learning after the last try had ended."""


class Arena:
    """One job's players and judge, and the `record` they report to."""

    def __init__(self, job: Job, players: Players, judge: Judge, record: Record) -> None:
        self.job, self.players, self.judge = job, players, judge
        self.wish: Wish = "go"
        self._record = record

    def tell(self, report: Report) -> None:
        """Report, and remember what the run's owner wishes."""
        self.wish = self._record(report)

    async def practise(
        self, scenarios: Sequence[Scenario], step: int, first: int, ahead: Ahead | None = None
    ) -> Played:
        """Play one group of job.group_size tries at each scenario; `first` is the first group's index.
        `ahead` hears of every judgement as it comes."""
        return await self._play(_Round(self, "train", step, first, self.job.group_size, ahead), scenarios)

    async def examine(self, scenarios: Sequence[Scenario], label: Exam, step: int) -> Evaluation:
        """One try at each held-out scenario; the same seeds every time, so that evaluations are paired."""
        played = await self._play(_Round(self, label, step, 0, 1), scenarios)
        tries = [trajectory for group in played.groups for trajectory in group.trajectories]
        outcomes = tuple(Outcome(t.scenario_id, t.success, t.reward) for t in tries)
        return Evaluation(label, step, SPLITS[label], outcomes)

    async def _play(self, round_: "_Round", scenarios: Sequence[Scenario]) -> Played:
        began = time.monotonic()
        round_.total = len(scenarios) * round_.tries
        if round_.ahead:
            round_.ahead.playing(True)
        places = [(scenario, round_.place(at)) for at, scenario in enumerate(scenarios)]
        groups = self.players.play(places, round_.tries, round_.try_ended)
        judged = await at_once([round_.judged(*one) for one in zip(groups, places, strict=True)])
        over = time.monotonic()
        usable = tuple(group for group in judged if group is not None)
        ahead = round_.ahead.seconds() if round_.ahead else 0.0
        dropped, waited = len(judged) - len(usable), max(0.0, over - round_.last_try - ahead)
        return Played(usable, dropped, round_.last_try - began, waited, ahead)


class _Round:
    """Groups that are played at once, and how far they are."""

    def __init__(
        self, arena: Arena, label: Label, step: int, first: int, tries: int, ahead: Ahead | None = None
    ) -> None:
        self.arena, self.label, self.step, self.first, self.tries = arena, label, step, first, tries
        self.ahead = ahead
        self.done = self.total = 0
        self.last_try = time.monotonic()

    def place(self, at: int) -> Place:
        """Where the at-th group is played; examinations are the same at any step."""
        return Place(SPLITS[self.label], self.step if self.label == "train" else 0, self.first + at)

    async def judged(self, playing: Awaitable[Group], where: tuple[Scenario, Place]) -> Group | None:
        """Have a group judged when it is over, and report it; None when there was no usable answer."""
        arena, (scenario, place) = self.arena, where
        played, group = await playing, None
        try:
            group = await arena.judge(replace(played, step=self.step))
        except JudgeFailed as error:
            arena.tell(self._dropped(scenario, place.index, str(error)))
        else:
            tied = self.tries > 1 and is_tied(group.rewards, arena.job.tie_tolerance)
            arena.tell(GroupJudged(group, SPLITS[self.label], self.label, tied))
        if self.ahead:
            self.ahead.judged(place.index, group)
        return group

    def try_ended(self) -> None:
        self.done += 1
        self.last_try = time.monotonic()
        if self.ahead and self.done == self.total:
            self.ahead.playing(False)
        all_played = self.label == "train" and self.done == self.total
        what = "judging" if all_played else SHOWN[self.label]
        self.arena.tell(Progress(self.step, self.done, self.total, what))

    def _dropped(self, scenario: Scenario, index: int, reason: str) -> Report:
        if self.label == "train":
            return GroupDropped(self.step, index, scenario.id, reason)
        text = f"The {self.label} try at {scenario.id} was left out: {reason}"
        return Log("warning", text, f"unjudged-{self.label}-{self.step}-{index}")
