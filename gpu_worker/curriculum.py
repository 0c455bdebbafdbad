"""Which scenarios are practised: all in turn, less those that teach nothing now, more of those that do.

A group whose tries all succeed, or all fail, teaches nothing. So each scenario's running solve rate is
kept: nearly always or hardly ever solved ones rest and are re-checked later, and tied groups are replaced
by scenarios known to be solved sometimes, the likeliest to bring different tries first.

Sources: DAPO's dynamic sampling, arXiv 2503.14476; difficulty-targeted selection, arXiv 2506.05316.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_worker.seeds import seed_for, shuffled
from gpu_worker.types import VERIFIABLE, Group, Job, Scenario

USEFUL = (0.1, 0.9)
"""Solve rates between which a scenario is worth practising."""
REST = 8
"""Steps a scenario rests at first; twice as long each time a re-check finds it unchanged."""
LONGEST_REST = 64


@dataclass(frozen=True)
class Standing:
    """What is known of one scenario."""

    rate: float
    """Running share of solved tries: the mean of the last play and of what was known before."""
    step: int
    """When it was last played."""
    rest_until: int = 0
    """Step before which it is not drawn."""
    rest: int = 0
    """How long its last rest was."""


@dataclass
class Curriculum:
    """The draws of one run. Every choice follows from the job and from what was noted."""

    job: Job
    scenarios: Sequence[Scenario]
    cursor: int = 0
    """Places of the order that were passed."""
    known: dict[str, Standing] = field(default_factory=dict)

    def copy(self) -> "Curriculum":
        return replace(self, known=dict(self.known))

    def draw(self, count: int, step: int) -> list[Scenario]:
        """The next scenarios in order, without those that rest, as long as there are others."""
        drawn: list[Scenario] = []
        for _ in range(len(self.scenarios)):
            if len(drawn) == count:
                return drawn
            scenario = self._next()
            if not self._rests(scenario.id, step):
                drawn.append(scenario)
        return drawn + [self._next() for _ in range(count - len(drawn))]

    def replacements(self, count: int, step: int, solved: float) -> list[Scenario]:
        """Scenarios for groups that came out tied: the most useful ones known, then the next in order.

        `solved` is the solve rate of the step so far. Where nearly everything is solved there are none:
        they would only come out tied again, those known as useful too, as the agent is better by now.
        """
        if self.job.curriculum and solved > USEFUL[1]:
            return []
        useful = [key for key, standing in self.known.items() if self._is_useful(standing, step)]
        useful.sort(key=lambda key: (-self._usefulness(self.known[key].rate), self.known[key].step, key))
        by_id = {scenario.id: scenario for scenario in self.scenarios}
        found = [by_id[key] for key in useful[:count] if key in by_id]
        return found + self.draw(count - len(found), step)

    def note(self, groups: Iterable[Group], step: int) -> None:
        """Learn from how groups went."""
        for group in groups:
            key, rate = group.scenario.id, solve_rate(group)
            before = self.known.get(key)
            if before is not None:
                rate = (before.rate + rate) / 2
            rest = 0
            if not USEFUL[0] <= rate <= USEFUL[1]:
                rest = min(LONGEST_REST, 2 * before.rest if before and before.rest else REST)
            self.known[key] = Standing(rate, step, step + 1 + rest if rest else 0, rest)

    def resting(self, step: int) -> int:
        """How many scenarios are not drawn in this step."""
        return sum(self._rests(key, step) for key in self.known)

    def to_json(self) -> dict[str, Any]:
        known = {key: [s.rate, s.step, s.rest_until, s.rest] for key, s in self.known.items()}
        return {"cursor": self.cursor, "known": known}

    @classmethod
    def from_json(cls, state: dict[str, Any], job: Job, scenarios: Sequence[Scenario]) -> "Curriculum":
        known = {key: Standing(*standing) for key, standing in state["known"].items()}
        return cls(job, scenarios, state["cursor"], known)

    def _next(self) -> Scenario:
        """Every pass takes each scenario once, in an order of its own."""
        pass_, place = divmod(self.cursor, len(self.scenarios))
        self.cursor += 1
        order = shuffled(len(self.scenarios), seed_for(self.job.seed, "order", pass_))
        return self.scenarios[order[place]]

    def _rests(self, key: str, step: int) -> bool:
        return self.job.curriculum and key in self.known and step < self.known[key].rest_until

    def _is_useful(self, standing: Standing, step: int) -> bool:
        """Solved sometimes, and not played in this step or the one before."""
        return self.job.curriculum and USEFUL[0] <= standing.rate <= USEFUL[1] and standing.step < step - 1

    def _usefulness(self, rate: float) -> float:
        """How likely tries differ: 1 - p^G - (1 - p)^G."""
        return 1 - rate**self.job.group_size - (1 - rate) ** self.job.group_size


def solve_rate(group: Group) -> float:
    """Share of solved tries; their mean reward where nothing can be verified."""
    tries = group.trajectories
    verified = any(score.source in VERIFIABLE for t in tries for score in t.scores)
    return sum(float(t.success) if verified else t.reward for t in tries) / max(1, len(tries))
