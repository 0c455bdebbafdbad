"""Reports of the loop as rows. What models, tools and judges said is cleaned here, once.

Groups and tries come by the hundred while the agent learns, so they are tuples for `bulk`, in the order of
the columns of their table. Transactions, order and fencing are the recorder's business.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpu_worker.types import Evaluation, GroupJudged, Message, Segment, Trajectory
from judging.checks import text_of
from judging.transcripts import is_error
from training import models
from training.runs import intervals
from training.runs.bulk import Table, Values

LONGEST_LINE = 2000
"""Characters of a prompt, answer or explanation kept for lists."""

GROUPS = Table(
    models.Group,
    ("id", "run_id", "label", "split", "step", "index", "scenario_key", "prompt", "tools", "judge")
    + ("judging", "rubric", "tries", "successes", "mean_reward", "best_reward", "tied", "created_at"),
)
TRIES = Table(
    models.Trajectory,
    ("id", "group_id", "run_id", "label", "step", "scenario_key", "index", "ended", "note", "turns")
    + ("sampled_tokens", "calls", "failed_calls", "reward", "success", "answer", "policy_step"),
)
RECORDS = Table(models.TrajectoryRecord, ("trajectory_id", "messages", "segments"))
TOOLS = Table(models.TrajectoryTool, ("trajectory_id", "run_id", "tool"))
SCORES = Table(models.Score, ("trajectory_id", "source", "value", "explanation", "use", "created_at"))


def group_row(pk: int, run_id: int, report: GroupJudged, now: object) -> Values:
    """Of GROUPS."""
    group = report.group
    rewards = group.rewards or (0.0,)
    return (
        pk,
        run_id,
        report.label,
        report.split,
        group.step,
        group.index,
        clean(group.scenario.id)[:80],
        _said_by("user", group.scenario.messages),
        as_json([asdict(tool) for tool in group.tools]),
        clean(group.judge)[:200],
        as_json(asdict(group.judging) if group.judging else {}),
        clean(group.scenario.rubric),
        len(group.trajectories),
        sum(t.success for t in group.trajectories),
        finite(sum(rewards) / len(rewards)) or 0.0,
        finite(max(rewards)) or 0.0,
        report.tied,
        now,
    )


def try_row(pk: int, group: Values, trajectory: Trajectory) -> Values:
    """Of TRIES; `group` is a row of GROUPS."""
    group_id, run_id, label, _split, step, _index, scenario_key = group[:7]
    messages = trajectory.messages
    results = [text_of(message) for message in messages if message.get("role") == "tool"]
    return (
        pk,
        group_id,
        run_id,
        label,
        step,
        scenario_key,
        trajectory.index,
        trajectory.ended,
        clean(trajectory.note)[:LONGEST_LINE],
        trajectory.turns,
        sum(sum(segment.mask) for segment in trajectory.segments),
        len(_called(messages)),
        sum(map(is_error, results)),
        finite(trajectory.reward) or 0.0,
        bool(trajectory.success),
        _said_by("assistant", messages[::-1]),
        trajectory.policy_step,
    )


def record_row(pk: int, trajectory: Trajectory) -> Values:
    """Of RECORDS."""
    segments = ",".join(map(_segment_json, trajectory.segments))
    return pk, as_json(trajectory.messages), f"[{segments}]"


def tool_rows(pk: int, run_id: int, trajectory: Trajectory) -> list[Values]:
    """Of TOOLS: one for each tool it called."""
    names = dict.fromkeys(clean(name)[:80] for name in _called(trajectory.messages))
    return [(pk, run_id, name) for name in names]


def score_rows(pk: int, trajectory: Trajectory, now: object) -> list[Values]:
    """Of SCORES."""
    return [
        (pk, score.source, finite(score.value) or 0.0, clean(score.explanation)[:LONGEST_LINE], "", now)
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
    if text.isascii() and "\0" not in text:
        return text
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


def as_json(value: Any) -> str:
    """`plain(value)` as JSON. Nearly all data is plain already, and is then walked through but once."""
    try:
        text = _encoded(value)
        text.encode()
    except ValueError:  # a number that JSON does not know, or half of a surrogate pair
        return _encoded(plain(value))
    return text if _NUL not in text else _encoded(plain(value))


_NUL = "\\u0000"
_encoded = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def _segment_json(segment: Segment) -> str:
    """As JSON. Numbers are most of what is stored of a try, and `json` would take twice as long."""
    mask = ",".join(bytes(segment.mask).translate(_DIGITS).decode())
    ids = ",".join(map(str, segment.ids))
    return f'{{"ids":[{ids}],"logprobs":[{_decimals(segment.logprobs)}],"mask":[{mask}]}}'


_DIGITS = bytes.maketrans(b"\0\1", b"01")


def _decimals(numbers: Sequence[float]) -> str:
    """Numbers with six decimals at most, as JSON; the same that `round` makes of them, null if not finite."""
    text = "%.6f," * len(numbers) % tuple(numbers)
    if "n" in text:  # nan, inf
        return _encoded(plain([round(number, 6) for number in numbers]))[1:-1]
    for zeros in ("0000,", "00,", "0,"):
        text = text.replace(zeros, ",")
    return text.replace(".,", ".0,")[:-1]


def _called(messages: Sequence[Message]) -> list[str]:
    """The name of every tool call made; arguments are not read."""
    return [
        str(call.get("function", call).get("name", ""))
        for message in messages
        for call in message.get("tool_calls") or ()
    ]


def _said_by(role: str, messages: tuple[dict[str, Any], ...]) -> str:
    """What `role` said first, as text."""
    for message in messages:
        if message.get("role") == role and isinstance(message.get("content"), str):
            return clean(message["content"])[:LONGEST_LINE]
    return ""
