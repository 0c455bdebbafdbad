"""Recorded groups as the engine room knows them, to be judged, previewed or learned from again."""

from collections.abc import Mapping

from django.db.models import Prefetch

from gpu_worker.types import Group, Scenario, Score, Segment, ToolSpec, Trajectory
from training import models
from training.runs.jobs import scenario


def scenarios_of(run: models.Run) -> dict[str, Scenario]:
    """The scenarios as they were when the run was started, by key."""
    return {value["id"]: scenario(value) for value in run.scenarios.values}


def group_of(
    row: models.Group, scenarios: Mapping[str, Scenario], *, with_tokens: bool = False, scored: bool = False
) -> Group:
    """A recorded group. Without tokens its tries have no segments; `scored` keeps the scores they were given.

    Raises KeyError for a scenario that is not among `scenarios`.
    """
    records = (
        models.TrajectoryRecord.objects.all()
        if with_tokens
        else models.TrajectoryRecord.objects.defer("segments")
    )
    given = models.Score.objects.exclude(source="human").order_by("id")
    tries = row.trajectories.prefetch_related(
        Prefetch("record", queryset=records), Prefetch("scores", queryset=given)
    )
    return Group(
        step=row.step,
        index=row.index,
        scenario=scenarios[row.scenario_key],
        tools=tuple(ToolSpec(t["name"], t["description"], t["parameters"]) for t in row.tools),
        trajectories=tuple(_trajectory(one, with_tokens, scored) for one in tries),
        judge=row.judge,
    )


def _trajectory(row: models.Trajectory, with_tokens: bool, scored: bool) -> Trajectory:
    segments = row.record.segments if with_tokens else ()
    return Trajectory(
        scenario_id=row.scenario_key,
        index=row.index,
        messages=tuple(row.record.messages),
        segments=tuple(_segment(segment) for segment in segments),
        ended=row.ended,
        note=row.note,
        turns=row.turns,
        scores=tuple(Score(s.source, s.value, s.explanation) for s in row.scores.all()) if scored else (),
        reward=row.reward,
        success=row.success,
        policy_step=row.policy_step or 0,
    )


def _segment(kept: dict[str, list[float]]) -> Segment:
    logprobs = tuple(float(value or 0.0) for value in kept["logprobs"])
    return Segment(tuple(int(i) for i in kept["ids"]), logprobs, tuple(bool(m) for m in kept["mask"]))
