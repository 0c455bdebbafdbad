"""What another reward would have given tries that were recorded: before and after, rank by rank.

Scores of checks and environment are those of the run. RULER's are what the agent's judge says by the agent's
rubric where it was asked for a trial (the judge lab keeps those), and else what the run recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.types import Group, Job, Scenario, Score, Source
from judging import mix
from training import models
from training.judges import providers, stored
from training.judges.lab.sources import SEEDED, sha256_of
from training.models import Agent, JudgeTrial, Run
from training.phrasebook import said

GROUPS = 12
"""Newest groups of practice that are looked at."""
RULER: Source = "ruler"


class Missing(ValueError):
    """A reward cannot be had for a group; the sentence says why."""


@dataclass(frozen=True)
class Shift:
    """One try: what it got and would get, its place among the others, and the sign of its advantage."""

    index: int
    before: float
    after: float
    rank_before: int
    rank_after: int
    sign_before: int
    sign_after: int

    @property
    def climbs(self) -> int:
        """Places won; below zero for places lost."""
        return self.rank_before - self.rank_after

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def learned(self) -> str:
        """What the agent would learn from it, before and after, in words."""
        words = {-1: _("less of this"), 0: _("nothing"), 1: _("more of this")}
        before, after = words[self.sign_before], words[self.sign_after]
        return after if before == after else _("%(before)s → %(after)s") % {"before": before, "after": after}

    @property
    def turns(self) -> bool:
        """Whether the agent would learn the opposite from it."""
        return self.sign_before * self.sign_after < 0


@dataclass(frozen=True)
class Stroke:
    """Heights in a drawing of 100, the best on top."""

    y1: float
    y2: float
    turns: bool
    moves: bool


@dataclass(frozen=True)
class Shifted:
    """A group with its tries. `asked` if the judge was asked anew; `missing` says why there is no after."""

    row: models.Group
    tries: Sequence[Shift] = ()
    asked: bool = False
    missing: str = ""

    @property
    def changes(self) -> bool:
        return any(one.climbs or one.turns for one in self.tries)

    @property
    def plot(self) -> list[Stroke]:
        """A line for each try, from its reward before on the left to the one after on the right."""
        return [
            Stroke(_height(one.before), _height(one.after), one.turns, bool(one.climbs)) for one in self.tries
        ]

    @property
    def tied_before(self) -> bool:
        return bool(self.tries) and not any(one.sign_before for one in self.tries)

    @property
    def tied_after(self) -> bool:
        return bool(self.tries) and not any(one.sign_after for one in self.tries)


@dataclass(frozen=True)
class Preview:
    """`groups` with their counts; `run` is where they come from."""

    run: Run
    groups: Sequence[Shifted]
    wants_judge: bool

    @property
    def known(self) -> list[Shifted]:
        return [group for group in self.groups if not group.missing]

    @property
    def changed(self) -> int:
        return sum(group.changes for group in self.known)

    @property
    def turned(self) -> int:
        return sum(one.turns for group in self.known for one in group.tries)

    @property
    def tries(self) -> int:
        return sum(len(group.tries) for group in self.known)

    @property
    def new_best(self) -> int:
        return sum(_best(group, "rank_before") != _best(group, "rank_after") for group in self.known)

    @property
    def tied_before(self) -> int:
        return sum(group.tied_before for group in self.known)

    @property
    def tied_after(self) -> int:
        return sum(group.tied_after for group in self.known)

    @property
    def unasked(self) -> list[int]:
        """Ids of groups whose judge was not asked anew."""
        return [group.row.pk for group in self.groups if self.wants_judge and not group.asked]


def preview(agent: Agent) -> Preview | None:
    """Of the newest run of the agent that has groups; None if there is none."""
    newest = models.Group.objects.filter(
        run__agent=agent, run__owner=agent.owner_id, label="train", tries__gt=1
    )
    last = newest.order_by("-pk").values_list("run", flat=True).first()
    if last is None:
        return None
    run = Run.objects.get(pk=last)
    rows = list(newest.filter(run=run).order_by("-pk")[:GROUPS])
    trials = _trials(agent, rows)
    wants_judge = providers.judged(agent)
    shifted = [_shifted(agent, row, trials.get(row.pk) if wants_judge else None) for row in rows]
    return Preview(run, shifted, wants_judge)


def rewards(group: Group, reward: str, weights: Mapping[str, float]) -> list[float]:
    """What each try would get. Raises Missing."""
    parts = mix.parts(group)
    try:
        if reward == "mix":
            return [mix.mixed(one, weights) for one in parts]
        return [one[reward] for one in parts]
    except (KeyError, mix.NothingToMix):
        raise Missing(_missing(reward)) from None


def shifts(before: Sequence[float], after: Sequence[float], tolerance: float) -> list[Shift]:
    """The tries in their order."""
    was, would = (_ranks(values, tolerance) for values in (before, after))
    had, has = (_signs(values, tolerance) for values in (before, after))
    rows = zip(before, after, was, would, had, has, strict=True)
    return [Shift(index, *row) for index, row in enumerate(rows)]


def with_judge(group: Group, scores: Mapping[str, Sequence[Any]]) -> Group:
    """The group with a trial's scores in place of RULER's."""
    tries = []
    for one in group.trajectories:
        rest = [score for score in one.scores if score.source != RULER]
        value = float(scores[str(one.index)][0])
        tries.append(replace(one, scores=(*rest, Score(RULER, value))))
    return replace(group, trajectories=tuple(tries))


def _shifted(agent: Agent, row: models.Group, trial: JudgeTrial | None) -> Shifted:
    known = {row.scenario_key: Scenario(row.scenario_key, "train", (), rubric=row.rubric)}
    group = stored.group_of(row, known, scored=True)
    judged = with_judge(group, trial.scores) if trial else group
    tolerance = float(agent.config.get("tie_tolerance", Job.tie_tolerance))
    try:
        after = rewards(judged, agent.config.get("reward", Job.reward), agent.config.get("mix") or {})
    except Missing as missing:
        return Shifted(row, asked=trial is not None, missing=said(str(missing)))
    return Shifted(row, shifts(group.rewards, after, tolerance), asked=trial is not None)


def _trials(agent: Agent, rows: Sequence[models.Group]) -> dict[int, JudgeTrial]:
    """The newest usable trial of each group by the agent's judge and rubric."""
    found = JudgeTrial.objects.filter(
        owner=agent.owner_id,
        group__in=[row.pk for row in rows],
        judge_model=agent.judge_model,
        rubric_sha256=sha256_of(agent.rubric),
        order=SEEDED,
        error="",
    )
    sizes = {row.pk: row.tries for row in rows}
    return {one.group_id: one for one in found.order_by("pk") if len(one.scores) == sizes[one.group_id]}


def _ranks(values: Sequence[float], tolerance: float) -> list[int]:
    """1 is the best; equal ones share a place."""
    return [1 + sum(other > value + tolerance for other in values) for value in values]


def _signs(values: Sequence[float], tolerance: float) -> list[int]:
    """Of the advantages; all 0 in a tied group."""
    if max(values) - min(values) <= tolerance:
        return [0] * len(values)
    mean = fmean(values)
    return [(value > mean + tolerance) - (value < mean - tolerance) for value in values]


def _height(reward: float) -> float:
    return round(94 - 88 * min(1.0, max(0.0, reward)), 1)


def _best(group: Shifted, rank: str) -> set[int]:
    return {one.index for one in group.tries if getattr(one, rank) == 1}


def _missing(reward: str) -> str:
    if reward == RULER:
        return _("No judge has scored these tries; ask it below.")
    if reward == "checks":
        return _("Its scenario expected nothing that could be checked.")
    if reward == "environment":
        return _("Its task has no score of its own.")
    return _("It has none of the scores that the mix gives a weight.")
