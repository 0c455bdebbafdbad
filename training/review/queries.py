"""Reads for reviewing: all tries of a group side by side, and one try in full."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Prefetch, QuerySet

from training.models import Group, Score, Trajectory, TrajectoryRecord
from training.review.transcript import Turn, compared, shared_start, turns
from training.runs import words


@dataclass(frozen=True)
class GivenScore:
    """One score of a try. `is_reward` marks the one that the agent learns from."""

    source: str
    name: str
    value: float
    explanation: str
    is_reward: bool


@dataclass(frozen=True)
class Try:
    """One try of a group, ready to be shown. Rank 1 is the best; equal rewards share a rank."""

    trajectory: Trajectory
    rank: int
    scores: list[GivenScore]
    turns: list[Turn]
    ended: str

    @property
    def failed_to_finish(self) -> bool:
        return self.trajectory.ended != "answered"


@dataclass(frozen=True)
class GroupView:
    group: Group
    start: list[Turn]
    tries: list[Try]
    label: str
    judge: str
    previous: int | None
    next: int | None
    policy_step: int | None
    """Of the weights that sampled all its tries; None where they differ or nobody noted it."""


def group_view(group: Group) -> GroupView:
    """Best try first; what all tries begin with is told once."""
    records = TrajectoryRecord.objects.defer("segments")
    found = list(_with_scores(group.trajectories).prefetch_related(Prefetch("record", queryset=records)))
    conversations = [trajectory.record.messages for trajectory in found]
    alike = shared_start(conversations)
    ranks = _ranks([trajectory.reward for trajectory in found])
    tries = [
        _try(trajectory, rank, messages, alike)
        for trajectory, rank, messages in zip(found, ranks, conversations, strict=True)
    ]
    tries.sort(key=lambda one: (one.rank, one.trajectory.index))
    if tries:
        best = tries[0].turns
        tries[1:] = [replace(one, turns=compared(one.turns, best)) for one in tries[1:]]
    beside = Group.objects.filter(run=group.run_id, label=group.label)
    policies = {trajectory.policy_step for trajectory in found}
    return GroupView(
        group=group,
        start=turns(conversations[0][:alike]) if conversations else [],
        tries=tries,
        label=str(words.LABELS.get(group.label, group.label)),
        judge=words.judge_name(group.judge),
        previous=beside.filter(pk__lt=group.pk).order_by("-pk").values_list("pk", flat=True).first(),
        next=beside.filter(pk__gt=group.pk).order_by("pk").values_list("pk", flat=True).first(),
        policy_step=policies.pop() if len(policies) == 1 else None,
    )


def one_try(trajectory: Trajectory) -> Try:
    """A try in full, with its rank among the tries of its group."""
    beside = list(trajectory.group.trajectories.all())
    ranks = _ranks([other.reward for other in beside])
    rank = next(rank for other, rank in zip(beside, ranks, strict=True) if other.pk == trajectory.pk)
    found = _with_scores(Trajectory.objects.filter(pk=trajectory.pk).select_related("group__run")).get()
    return _try(found, rank, trajectory.record.messages, 0)


def _with_scores(trajectories: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
    return trajectories.select_related("group__run").prefetch_related(
        Prefetch("scores", queryset=Score.objects.order_by("id"))
    )


def _try(trajectory: Trajectory, rank: int, messages: list[dict[str, object]], alike: int) -> Try:
    reward_source = trajectory.group.run.config.get("reward", "ruler")
    scores = [
        GivenScore(
            source=score.source,
            name=str(words.SOURCES.get(score.source, score.source)),
            value=score.value,
            explanation=score.explanation,
            is_reward=score.source == reward_source,
        )
        for score in trajectory.scores.all()
    ]
    ended = str(words.ENDED.get(trajectory.ended, trajectory.ended))
    return Try(trajectory, rank, scores, turns(messages[alike:], first=alike), ended)


def _ranks(rewards: Sequence[float]) -> list[int]:
    return [1 + sum(other > reward for other in rewards) for reward in rewards]
