"""Reports of the loop as unsaved rows. What models, tools and judges said is cleaned here, once.

Transactions, order and fencing are the recorder's business.
"""

import math
from dataclasses import asdict
from typing import Any

from gpu_worker.types import Evaluation, GroupJudged, Segment, Trajectory
from training import models
from training.runs import intervals

LONGEST_LINE = 2000
"""Characters of a prompt, answer or explanation kept for lists."""


def group_row(run_id: int, report: GroupJudged) -> models.Group:
    group = report.group
    rewards = group.rewards or (0.0,)
    return models.Group(
        run_id=run_id,
        label=report.label,
        split=report.split,
        step=group.step,
        index=group.index,
        scenario_key=clean(group.scenario.id)[:80],
        prompt=_said_by("user", group.scenario.messages),
        tools=plain([asdict(tool) for tool in group.tools]),
        judge=clean(group.judge)[:200],
        tries=len(group.trajectories),
        successes=sum(t.success for t in group.trajectories),
        mean_reward=finite(sum(rewards) / len(rewards)) or 0.0,
        best_reward=finite(max(rewards)) or 0.0,
        tied=report.tied,
    )


def trajectory_row(group: models.Group, trajectory: Trajectory) -> models.Trajectory:
    return models.Trajectory(
        group=group,
        index=trajectory.index,
        ended=trajectory.ended,
        note=clean(trajectory.note)[:LONGEST_LINE],
        turns=trajectory.turns,
        sampled_tokens=sum(sum(segment.mask) for segment in trajectory.segments),
        reward=finite(trajectory.reward) or 0.0,
        success=trajectory.success,
        answer=_said_by("assistant", trajectory.messages[::-1]),
        policy_step=trajectory.policy_step,
    )


def record_row(row: models.Trajectory, trajectory: Trajectory) -> models.TrajectoryRecord:
    return models.TrajectoryRecord(
        trajectory=row,
        messages=[plain(message) for message in trajectory.messages],
        segments=[_segment(segment) for segment in trajectory.segments],
    )


def score_rows(row: models.Trajectory, trajectory: Trajectory) -> list[models.Score]:
    return [
        models.Score(
            trajectory=row,
            source=score.source,
            value=finite(score.value) or 0.0,
            explanation=clean(score.explanation)[:LONGEST_LINE],
        )
        for score in trajectory.scores
    ]


def evaluation_row(run_id: int, evaluation: Evaluation) -> models.Evaluation:
    count = len(evaluation.outcomes)
    low, high = intervals.wilson(sum(o.success for o in evaluation.outcomes), count)
    return models.Evaluation(
        run_id=run_id,
        label=evaluation.label,
        step=evaluation.step,
        split=evaluation.split,
        success=evaluation.success,
        reward=finite(evaluation.reward) or 0.0,
        count=count,
        low=low,
        high=high,
        outcomes=[[clean(o.scenario_id), o.success, finite(o.reward)] for o in evaluation.outcomes],
    )


def clean(text: str) -> str:
    """Text that every database takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def finite(value: float) -> float | None:
    """A number JSON knows; None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """JSON data with clean texts and finite numbers, whatever it was made from."""
    match value:
        case str():
            return clean(value)
        case float():
            return finite(value)
        case dict():
            return {clean(str(key)): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def _segment(segment: Segment) -> dict[str, list[Any]]:
    return {
        "ids": list(segment.ids),
        "logprobs": [finite(round(logprob, 6)) for logprob in segment.logprobs],
        "mask": [int(sampled) for sampled in segment.mask],
    }


def _said_by(role: str, messages: tuple[dict[str, Any], ...]) -> str:
    """What `role` said first, as text."""
    for message in messages:
        if message.get("role") == role and isinstance(message.get("content"), str):
            return clean(message["content"])[:LONGEST_LINE]
    return ""
