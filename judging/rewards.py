"""RULER in the calling form of openpipe-art's `art.rewards`: one changed import switches to it.

    from judging.rewards import ruler, ruler_score_group

What differs: a score is matched by its id, lies within [0, 1] and belongs to the try it is returned for. An
answer that cannot be used is mended, then asked for afresh, and only then an error (JudgeFailed). A scored
group keeps its exceptions, metadata, metrics and logs; additional histories are judged, too. Groups of
ArtWeb's own (gpu_worker.types.Group) are taken as well and told what their judging cost.
"""

import copy
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from gpu_worker.types import Ended, Group, JudgeFailed, Message, Scenario, ToolSpec, Trajectory
from judging.access import Access
from judging.llm import Model, NoAnswer, Refused
from judging.rubric import DEFAULT as DEFAULT_RUBRIC
from judging.ruler import judge_group
from judging.spending import BudgetSpent

JUDGE = "openai/o3"
"""The judge where none is named, as in art.rewards."""
CLOSE = 0.05
"""Scores closer than this are judged again in reverse order."""
ANOTHER_HISTORY: Message = {"role": "system", "content": "(another conversation of the same try begins here)"}

UNTOLD = cast(Ended, "")
"""A bare list does not tell why it ended, and nothing trusted is said of it."""

_OURS = frozenset({"model", "messages", "response_format", "caching", "max_retries", "drop_params"})
"""Parameters of litellm that are not the caller's to choose."""

Parameters = Mapping[str, object]


@dataclass(frozen=True)
class TrajectoryScore:
    """`trajectory_id` counts the given trajectories from "1"; `score` lies within [0, 1]."""

    trajectory_id: str
    explanation: str
    score: float


class Scorable(Protocol):
    """What is used of a trajectory, as art.Trajectory has it."""

    tools: Any
    reward: float
    metrics: Any
    logs: Any

    def messages(self) -> Any: ...

    def log(self, message: str) -> None: ...


class ScorableGroup(Protocol):
    """What is used of a group, as art.TrajectoryGroup has it."""

    @property
    def trajectories(self) -> Any: ...


GroupOfSomeKind = TypeVar("GroupOfSomeKind", bound=ScorableGroup)


async def ruler(
    message_lists: Sequence[Sequence[Message]],
    judge_model: str = JUDGE,
    extra_litellm_params: Parameters | None = None,
    rubric: str = DEFAULT_RUBRIC,
    tools: Iterable[Mapping[str, Any]] | None = None,
    *,
    debug: bool = False,
    seed: str = "",
) -> list[TrajectoryScore]:
    """A score for each list of messages, in the order given.

    Ids and order that the judge sees follow from `seed`, and from chance where it is empty. `debug` prints
    the scores. Raises JudgeFailed, or llm.Refused where the judge answers no question at all.
    """
    group = as_group(message_lists, tools)
    scored = await _judged(group, judge_model, extra_litellm_params, rubric, seed)
    scores = [
        TrajectoryScore(str(number), trajectory.scores[-1].explanation, trajectory.scores[-1].value)
        for number, trajectory in enumerate(scored.trajectories, start=1)
    ]
    if debug:
        print(*scores, sep="\n")
    return scores


async def ruler_score_group(
    group: GroupOfSomeKind,
    judge_model: str = JUDGE,
    extra_litellm_params: Parameters | None = None,
    rubric: str = DEFAULT_RUBRIC,
    *,
    swallow_exceptions: bool = False,
    debug: bool = False,
    seed: str = "",
) -> GroupOfSomeKind | None:
    """A copy of the group whose rewards are the judge's scores; the given one stays as it is.

    On each trajectory: reward and metrics["ruler_score"] are the score, metrics["independent_reward"] is the
    reward it had, and a line of its log is the judge's reason. With `swallow_exceptions` a group that could
    not be judged is None, and the reason is printed.
    """
    try:
        if isinstance(group, Group):
            ours = await _judged(group, judge_model, extra_litellm_params, rubric, seed)
            return cast(GroupOfSomeKind, ours)
        return await _scored(group, judge_model, extra_litellm_params, rubric, seed, debug=debug)
    except (JudgeFailed, NoAnswer, Refused, BudgetSpent, ValueError) as error:
        if not swallow_exceptions:
            raise
        print(f"This group was not judged: {error}")
        return None


def as_group(
    message_lists: Sequence[Sequence[Message]], tools: Iterable[Mapping[str, Any]] | None = None
) -> Group:
    """Bare message lists, with tools in OpenAI's form, as a group of ArtWeb's."""
    tries = tuple(_trajectory(index, messages) for index, messages in enumerate(message_lists))
    return Group(0, 0, Scenario("given", "train", ()), tuple(map(_tool, tools or ())), tries)


async def _scored(
    group: GroupOfSomeKind, judge: str, parameters: Parameters | None, rubric: str, seed: str, *, debug: bool
) -> GroupOfSomeKind:
    tries = [_fresh(trajectory) for trajectory in group.trajectories]
    scores = await ruler(
        [_all_messages(trajectory) for trajectory in tries],
        judge,
        parameters,
        rubric,
        tries[0].tools if tries else None,
        debug=debug,
        seed=seed,
    )
    for trajectory, score in zip(tries, scores, strict=True):
        trajectory.metrics["independent_reward"] = trajectory.reward
        trajectory.metrics["ruler_score"] = trajectory.reward = score.score
        trajectory.log(f"RULER explanation: {score.explanation}")
    scored: Any = copy.copy(group)
    scored.trajectories = tries
    return cast(GroupOfSomeKind, scored)


async def _judged(group: Group, judge: str, parameters: Parameters | None, rubric: str, seed: str) -> Group:
    """A group of ArtWeb's with the judge's scores added to the tries, as their reward."""
    model = _model(judge, parameters or {})
    judgement = await judge_group(
        group, model=model, rubric=rubric, seed=seed or secrets.token_hex(8), second_look=CLOSE
    )
    tries = tuple(
        replace(trajectory, scores=(*trajectory.scores, score), reward=score.value)
        for trajectory, score in zip(group.trajectories, judgement.scores, strict=True)
    )
    return replace(group, trajectories=tries, judge=judge, judging=judgement.judging)


def _model(name: str, parameters: Parameters) -> Model:
    """Address and key are told apart from what goes with every question."""
    given = dict(parameters)
    base, key = (str(given.pop(each, None) or "") for each in ("api_base", "api_key"))
    base = str(given.pop("base_url", None) or base)
    patience = given.pop("timeout", None)
    options = {each: value for each, value in given.items() if each not in _OURS}
    access = Access(name, api_base=base, api_key=key)
    if isinstance(patience, int | float):
        return Model(access, options=options, timeout=patience, patience=max(300.0, 2.0 * patience))
    return Model(access, options=options)


def _fresh(trajectory: Scorable) -> Any:
    """A copy whose metrics and logs can be written to without the original's changing."""
    fresh = copy.copy(trajectory)
    fresh.metrics = dict(trajectory.metrics)
    fresh.logs = list(trajectory.logs)
    return fresh


def _all_messages(trajectory: Any) -> list[Message]:
    messages = list(trajectory.messages())
    for history in getattr(trajectory, "additional_histories", None) or ():
        messages += [ANOTHER_HISTORY, *history.messages()]
    return messages


def _trajectory(index: int, messages: Sequence[Message]) -> Trajectory:
    turns = sum(message.get("role") == "assistant" for message in messages)
    return Trajectory("given", index, tuple(messages), (), UNTOLD, turns=turns)


def _tool(tool: Mapping[str, Any]) -> ToolSpec:
    function = tool.get("function", tool)
    return ToolSpec(
        str(function.get("name", "")),
        str(function.get("description") or ""),
        dict(function.get("parameters") or {}),
    )
