"""Our RULER in the place of ART's: same call, same fields, and each score on its own trajectory."""

import copy
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import BaseModel

from gpu_worker.types import JudgeFailed, Message
from judging import offline
from judging.llm import Refused
from judging.rewards import as_group, ruler, ruler_score_group
from tests.judging.provider import Provider, entries, frames, marks, provider, refusal
from tests.judging.tries import TOOL, group, lookup, trajectory

WORTH = (0.15, 0.95, 0.4, 0.7)
TOOLS = [{"type": "function", "function": {"name": "find", "description": "Find.", "parameters": {}}}]


class History(BaseModel):
    messages_and_choices: list[Message]

    def messages(self) -> list[Message]:
        return self.messages_and_choices


class Trajectory(History):
    """Shaped like art.Trajectory; C8-ids runs the real one."""

    tools: list[dict[str, Any]] | None = None
    additional_histories: list[History] = []
    reward: float = 0.0
    metrics: dict[str, float | int | bool] = {}
    metadata: dict[str, str] = {}
    logs: list[str] = []

    def log(self, message: str) -> None:
        self.logs.append(message)


class TrajectoryGroup(BaseModel):
    trajectories: list[Trajectory]
    exceptions: list[str] = []
    metadata: dict[str, str] = {}
    metrics: dict[str, float] = {}
    logs: list[str] = []


@pytest_asyncio.fixture
async def judge() -> AsyncIterator[Provider]:
    async with provider() as there:
        yield there


def said(worth: float) -> list[Message]:
    return [
        {"role": "user", "content": "How much?"},
        {"role": "assistant", "content": f"worth {worth}"},
    ]


def at(judge: Provider, **more: object) -> dict[str, object]:
    return {"api_base": judge.url, "api_key": "test", "num_retries": 0} | more


def arts() -> TrajectoryGroup:
    tries = [
        Trajectory(
            messages_and_choices=said(worth), tools=TOOLS, reward=number, metrics={"turns": 1}, logs=["a"]
        )
        for number, worth in enumerate(WORTH)
    ]
    return TrajectoryGroup(trajectories=tries, exceptions=["lost"], metadata={"id": "7"}, logs=["g"])


async def test_scores_come_in_the_order_given_and_count_from_one(judge: Provider) -> None:
    judge.script = lambda body: json.dumps({"scores": random.sample(entries(body), len(WORTH))})
    scores = await ruler([said(worth) for worth in WORTH], "openai/scripted", at(judge), tools=TOOLS)
    assert [(s.trajectory_id, s.score) for s in scores] == [("1", 0.15), ("2", 0.95), ("3", 0.4), ("4", 0.7)]
    assert all(s.explanation == str(s.score) for s in scores)
    assert 'tool "find" "Find."' in judge.asked[0]["messages"][1]["content"]


async def test_ids_and_order_are_new_in_every_call_unless_there_is_a_seed(judge: Provider) -> None:
    for seed in ("", "", "s", "s"):
        await ruler([said(worth) for worth in WORTH], "openai/scripted", at(judge), seed=seed)
    first, second, third, fourth = ([*frames(body)] for body in judge.asked)
    assert first != second
    assert third == fourth


async def test_further_parameters_reach_the_provider(judge: Provider) -> None:
    await ruler(
        [said(0.5)], "openai/scripted", at(judge, temperature=0.7, max_tokens=99, timeout=7, caching=True)
    )
    assert (judge.asked[0]["temperature"], judge.asked[0]["max_tokens"]) == (0.7, 99)
    assert judge.asked[0]["response_format"]["type"] == "json_schema"


async def test_a_rubric_of_ones_own_is_used(judge: Provider) -> None:
    await ruler([said(0.5)], "openai/scripted", at(judge), rubric="Politeness above all.")
    assert "Politeness above all." in judge.asked[0]["messages"][0]["content"]


async def test_nothing_to_score_asks_nobody() -> None:
    assert await ruler([]) == []


async def test_debug_prints_the_scores(judge: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    await ruler([said(0.5), said(0.9)], "openai/scripted", at(judge), debug=True)
    assert "score=0.5" in capsys.readouterr().out


async def test_a_group_of_arts_is_scored_and_keeps_what_it_had(judge: Provider) -> None:
    given = arts()
    before = copy.deepcopy(given)
    scored = await ruler_score_group(given, "openai/scripted", at(judge))
    assert scored is not None
    assert given == before
    assert [t.reward for t in scored.trajectories] == list(WORTH)
    assert [t.metrics for t in scored.trajectories] == [
        {"turns": 1, "independent_reward": number, "ruler_score": worth} for number, worth in enumerate(WORTH)
    ]
    assert scored.trajectories[1].logs == ["a", "RULER explanation: 0.95"]
    assert (scored.exceptions, scored.metadata, scored.logs) == (["lost"], {"id": "7"}, ["g"])


async def test_additional_histories_are_judged_too(judge: Provider) -> None:
    given = arts()
    given.trajectories[0].additional_histories = [History(messages_and_choices=said(0.25))]
    scored = await ruler_score_group(given, "openai/scripted", at(judge))
    assert scored is not None
    assert sorted(marks(judge.asked[0]).values()) == [0.25, 0.4, 0.7, 0.95]
    assert scored.trajectories[0].reward == 0.25
    assert len(scored.trajectories[0].additional_histories) == 1


async def test_a_group_of_our_own_is_scored_and_told_the_bill(judge: Provider) -> None:
    tries = group(*(trajectory(f"worth {worth}", index=i) for i, worth in enumerate(WORTH)))
    scored = await ruler_score_group(tries, "openai/scripted", at(judge))
    assert scored is not None
    assert scored.rewards == WORTH
    assert [t.scores[-1].source for t in scored.trajectories] == ["ruler"] * 4
    assert scored.judging is not None
    assert (scored.judging.calls, scored.judging.prompt_tokens) == (1, 1)


async def test_a_group_that_cannot_be_judged_raises_or_is_none(
    judge: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    judge.script = lambda body: "I would rather not."
    with pytest.raises(JudgeFailed):
        await ruler_score_group(arts(), "openai/scripted", at(judge))
    assert await ruler_score_group(arts(), "openai/scripted", at(judge), swallow_exceptions=True) is None
    assert "was not judged" in capsys.readouterr().out


async def test_a_wrong_key_is_an_error_at_once(judge: Provider) -> None:
    judge.script = lambda body: refusal(401, "no such key")
    with pytest.raises(Refused):
        await ruler([said(0.5)], "openai/scripted", at(judge))
    assert len(judge.asked) == 1


async def test_the_offline_judge_needs_no_network() -> None:
    scores = await ruler([said(0.5), [*said(0.5)[:1], *lookup("1", "Error: no")]], offline.MODEL)
    assert [0 <= s.score <= 1 for s in scores] == [True, True]


def test_bare_lists_claim_nothing_that_nobody_measured() -> None:
    made = as_group([said(0.5)], [{"name": TOOL.name, "parameters": TOOL.parameters}])
    assert made.tools[0].name == TOOL.name
    assert made.trajectories[0].ended == ""
    assert made.trajectories[0].turns == 1
