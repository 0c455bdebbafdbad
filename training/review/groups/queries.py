"""Reads for a group's page: all tries of one scenario side by side."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Prefetch

from training.judges import human
from training.models import Group, Trajectory, TrajectoryRecord
from training.review.groups import side_by_side
from training.review.groups.side_by_side import ShownRow
from training.review.queries import Try, ranks_of, shown_try, with_scores
from training.review.transcript import Turn, shared_start, turns
from training.runs import words


@dataclass(frozen=True)
class Column:
    """A try in its column. `place` is where this person ranked it; `more` counts turns that are not shown."""

    one: Try
    place: int | None
    compared_with: bool
    first_difference: int | None
    more: int


@dataclass(frozen=True)
class Beside:
    """Ids of the groups around it in its run, and the groups of the same scenario in the steps around."""

    previous: int | None
    next: int | None
    same_before: Group | None
    same_after: Group | None


@dataclass(frozen=True)
class GroupView:
    group: Group
    start: list[Turn]
    columns: list[Column]
    rows: list[ShownRow]
    compared_with: int | None
    """Index of the try that all others are compared with."""
    places: str
    """The tries' indexes by place, best first, as JSON: as this person ranked them, else by their scores."""
    by_score: str
    ranking: int | None
    """Id of that ranking."""
    label: str
    judge: str
    beside: Beside
    policy_step: int | None
    """Of the weights that sampled all its tries; None where they differ or nobody noted it."""


def group_view(group: Group, reader: User, compared_with: int | None = None) -> GroupView:
    """Best try first; what all tries begin with is told once."""
    found = _trajectories(group)
    conversations = [trajectory.record.messages for trajectory in found]
    alike = shared_start(conversations)
    ranks = ranks_of([trajectory.reward for trajectory in found])
    tries = [
        shown_try(trajectory, rank, messages, alike)
        for trajectory, rank, messages in zip(found, ranks, conversations, strict=True)
    ]
    ranking = human.ranking_of(reader, group)
    places = ranking.places if ranking else _by_rank(tries)
    place_of = {index: place for place, indexes in _places_of(places) for index in indexes}
    tries.sort(
        key=lambda one: (place_of.get(one.trajectory.index, len(tries)), one.rank, one.trajectory.index)
    )
    best = next((at for at, one in enumerate(tries) if one.trajectory.index == compared_with), 0)
    columns, rows = _laid_out(tries, best, place_of if ranking else {})
    policies = {trajectory.policy_step for trajectory in found}
    return GroupView(
        group=group,
        start=turns(conversations[0][:alike]) if conversations else [],
        columns=columns,
        rows=rows,
        compared_with=tries[best].trajectory.index if tries else None,
        places=json.dumps(places),
        by_score=json.dumps(_by_rank(tries)),
        ranking=ranking.pk if ranking else None,
        label=str(words.LABELS.get(group.label, group.label)),
        judge=words.judge_name(group.judge),
        policy_step=policies.pop() if len(policies) == 1 else None,
        beside=_beside(group),
    )


def message_of(group: Group, index: int, number: int) -> Turn | None:
    """One message of a try in full, as far as pages show any."""
    record = TrajectoryRecord.objects.defer("segments").filter(
        trajectory__group=group, trajectory__index=index
    )
    found = record.first()
    told = turns(found.messages) if found else []
    return told[number] if number < len(told) else None


def _trajectories(group: Group) -> list[Trajectory]:
    """The group's tries; their group is this very object, so that its run is not read again for each."""
    records = TrajectoryRecord.objects.defer("segments")
    tries = with_scores(group.trajectories.all()).select_related(None)
    return list(tries.prefetch_related(Prefetch("record", queryset=records)))


def _laid_out(
    tries: Sequence[Try], best: int, place_of: dict[int, int]
) -> tuple[list[Column], list[ShownRow]]:
    most = side_by_side.most_turns(len(tries))
    indexes = [one.trajectory.index for one in tries]
    rows = side_by_side.rows([one.turns[:most] for one in tries], indexes, best)
    columns = [
        Column(
            one=one,
            place=place_of.get(one.trajectory.index),
            compared_with=at == best,
            first_difference=None if at == best else side_by_side.first_difference(rows, at),
            more=max(0, len(one.turns) - most),
        )
        for at, one in enumerate(tries)
    ]
    return columns, rows


def _by_rank(tries: Sequence[Try]) -> list[list[int]]:
    """Indexes by rank; those of one rank in one list."""
    by_rank: dict[int, list[int]] = {}
    for one in sorted(tries, key=lambda one: (one.rank, one.trajectory.index)):
        by_rank.setdefault(one.rank, []).append(one.trajectory.index)
    return list(by_rank.values())


def _places_of(places: Sequence[Sequence[int]]) -> list[tuple[int, Sequence[int]]]:
    """Places as people count them: after two firsts comes the third."""
    counted, place = [], 1
    for indexes in places:
        counted.append((place, indexes))
        place += len(indexes)
    return counted


def _beside(group: Group) -> Beside:
    mine = Group.objects.filter(run=group.run_id, label=group.label)
    same = Group.objects.filter(run=group.run_id, scenario_key=group.scenario_key).defer("tools", "judging")
    return Beside(
        previous=mine.filter(pk__lt=group.pk).order_by("-pk").values_list("pk", flat=True).first(),
        next=mine.filter(pk__gt=group.pk).order_by("pk").values_list("pk", flat=True).first(),
        same_before=same.filter(step__lte=group.step, pk__lt=group.pk).order_by("-step", "-pk").first(),
        same_after=same.filter(step__gte=group.step, pk__gt=group.pk).order_by("step", "pk").first(),
    )
