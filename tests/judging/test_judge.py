"""The judge of a run: every source is kept, one is the reward, success is what can be verified."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.types import Group, Job, JudgeFailed, Scenario, Score, Split, Tool, Trajectory
from judging.judge import judge_for, judge_title
from judging.spending import BudgetSpent, Purse
from tests.judging.provider import frames, provider
from tests.judging.test_spending import answer
from tests.judging.tries import good, group, scenario, trajectory


class Desk:
    """An environment whose own reward is what it is told."""

    name = title = "desk"
    system_prompt = ""
    max_turns = 6

    def __init__(self, *rewards: float) -> None:
        self._rewards = rewards

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        return []

    def tools(self, scenario: Scenario) -> list[Tool]:
        return []

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return Score("environment", self._rewards[trajectory.index]) if self._rewards else None


def sources(judged: Group) -> list[list[str]]:
    return [[score.source for score in t.scores] for t in judged.trajectories]


def job(**options: Any) -> Job:
    return Job(run="r", environment="desk", **options)


def wrong(index: int = 1) -> Trajectory:
    return trajectory("It was delivered.", index=index)


async def test_ruler_is_the_reward_and_checks_decide_success() -> None:
    judged = await judge_for(job(), Desk())(group(good(), wrong()))
    assert sources(judged) == [["checks", "ruler"]] * 2
    assert [t.success for t in judged.trajectories] == [True, False]
    assert judged.rewards == tuple(t.scores[-1].value for t in judged.trajectories)
    assert judged.rewards[0] > judged.rewards[1]
    assert judged.judge == "rule-based, offline"


async def test_every_source_is_kept() -> None:
    judged = await judge_for(job(), Desk(0.4, 0.6))(group(good(), wrong()))
    assert sources(judged) == [["checks", "environment", "ruler"]] * 2


async def test_a_verifiable_reward_asks_no_judge() -> None:
    judge = judge_for(job(reward="environment", judge_model="nowhere/model"), Desk(0.4, 0.6))
    judged = await judge(group(good(), wrong()))
    assert judged.rewards == (0.4, 0.6)
    assert [t.success for t in judged.trajectories] == [True, False]
    assert judged.judge == "environment"
    checked = await judge_for(job(reward="checks", judge_model="nowhere/model"), Desk())(
        group(good(), wrong())
    )
    assert checked.rewards == (1.0, 0.0)
    assert checked.judge == "checks"


async def test_a_group_of_one_is_rewarded_by_what_can_be_verified() -> None:
    judge = judge_for(job(judge_model="nowhere/model"), Desk(0.75))
    judged = await judge(group(good()))
    assert (judged.rewards, judged.judge, judged.trajectories[0].success) == ((1.0,), "checks", True)
    by_environment = await judge(group(good(), expect={}))
    assert (by_environment.rewards, by_environment.trajectories[0].success) == ((0.75,), False)


async def test_a_group_of_one_that_nothing_verifies_is_put_to_the_judge() -> None:
    judged = await judge_for(job(), Desk())(group(good(), expect={}))
    assert sources(judged) == [["ruler"]]
    assert not judged.trajectories[0].success


async def test_a_real_model_is_shown_the_job_s_rubric_and_named() -> None:
    async with provider() as there:
        there.script = lambda body: json.dumps({"scores": dict.fromkeys(frames(body), 0.5)})
        judge = judge_for(
            job(judge_model="openai/scripted", rubric="Politeness."),
            Desk(),
            access=there.access(),
        )
        judged = await judge(group(good(), wrong()))
        assert "Politeness." in there.asked[0]["messages"][0]["content"]
    assert judged.rewards == (0.5, 0.5)
    assert [t.success for t in judged.trajectories] == [True, False]
    assert judged.judge == judge_title("openai/scripted") == "openai/scripted"


async def test_the_same_job_under_another_run_asks_the_judge_the_same() -> None:
    async with provider() as there:
        there.script = lambda body: json.dumps({"scores": dict.fromkeys(frames(body), 0.5)})
        for run in ("7", "8"):
            named = Job(run=run, environment="desk", judge_model="openai/scripted", second_look=0.0)
            await judge_for(named, Desk(), access=there.access())(group(good(), wrong()))
        first, second = there.asked
    assert first["messages"] == second["messages"]


async def test_a_judge_that_gives_nothing_usable_fails_the_group() -> None:
    async with provider() as there:
        there.script = lambda body: "no"
        judge = judge_for(job(judge_model="openai/scripted"), Desk(), access=there.access())
        with pytest.raises(JudgeFailed):
            await judge(group(good(), wrong()))


async def test_the_same_group_is_judged_the_same_again() -> None:
    def tries() -> Group:
        return group(good(), wrong(), trajectory("no idea", index=2))

    assert await judge_for(job(), Desk())(tries()) == await judge_for(job(), Desk())(tries())


@pytest.mark.parametrize(("said", "value"), [(7.0, 1.0), (-0.5, 0.0)])
async def test_an_environment_s_reward_is_kept_in_range(said: float, value: float) -> None:
    judged = await judge_for(job(reward="environment"), Desk(said))(group(good()))
    assert judged.rewards == (value,)


async def test_an_environment_s_reward_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be a number between 0 and 1"):
        await judge_for(job(reward="environment"), Desk(float("nan")))(group(good()))


async def test_a_reward_that_nothing_gives_is_an_error() -> None:
    with pytest.raises(ValueError, match="The reward of this run is environment, but scenario s1 gives none"):
        await judge_for(job(reward="environment"), Desk())(group(good()))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"reward": "human"}, "A person's scores cannot be the reward"),
        ({"reward": "length"}, "length is a penalty"),
        ({"reward": "mix"}, "neither ruler nor checks nor environment has a weight"),
        (
            {"reward": "mix", "mix": {"checks": 1.0}, "scenarios": (scenario({}),)},
            "scenario s1 expects nothing",
        ),
        ({"reward": "checks", "scenarios": (scenario(), scenario({}))}, "scenario s1 expects nothing"),
    ],
)
def test_a_reward_that_can_never_be_had_is_refused_at_the_start(
    options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        judge_for(job(**options), Desk())


async def test_a_try_that_leaves_the_tables_wrong_does_not_succeed_whatever_it_says() -> None:
    asked = group(good())
    expecting = dataclasses.replace(asked.scenario, expect={**asked.scenario.expect, "changes": []})
    for left, succeeds in ((1.0, True), (0.0, False)):
        judged = await judge_for(job(), Desk(left))(dataclasses.replace(asked, scenario=expecting))
        assert judged.trajectories[0].success is succeeds


async def test_a_mixed_reward_is_written_beside_its_parts() -> None:
    judged = await judge_for(job(reward="mix", mix={"ruler": 0.5, "checks": 0.5, "length": 0.1}), Desk())(
        group(good(), wrong())
    )
    assert sources(judged) == [["checks", "ruler", "length", "mix"]] * 2
    assert judged.rewards == tuple(t.scores[-1].value for t in judged.trajectories)
    assert [t.success for t in judged.trajectories] == [True, False]
    assert judged.judging is not None and judged.judging.calls == 1


async def test_a_mix_without_ruler_asks_no_judge() -> None:
    judge = judge_for(
        job(reward="mix", judge_model="nowhere/model", mix={"checks": 1.0, "environment": 1.0}),
        Desk(0.4, 0.6),
    )
    judged = await judge(group(good(), wrong()))
    assert judged.rewards == pytest.approx((0.7, 0.3)) and judged.judging is None


async def test_a_group_of_one_is_not_mixed_where_it_can_be_verified() -> None:
    judge = judge_for(job(reward="mix", judge_model="nowhere/model", mix={"ruler": 1.0}), Desk())
    assert (await judge(group(good()))).rewards == (1.0,)


async def test_a_scenario_s_own_rubric_goes_before_the_run_s() -> None:
    async with provider() as there:
        there.script = lambda body: json.dumps({"scores": dict.fromkeys(frames(body), 0.5)})
        judge = judge_for(
            job(judge_model="openai/scripted", rubric="Of the run.", second_look=0.0),
            Desk(),
            access=there.access(),
        )
        own = group(good(), wrong())
        await judge(dataclasses.replace(own, scenario=dataclasses.replace(own.scenario, rubric="Its own.")))
        await judge(own)
    said = [body["messages"][0]["content"] for body in there.asked]
    assert ["Its own." in text for text in said] == [True, False]
    assert ["Of the run." in text for text in said] == [False, True]


async def test_a_step_that_is_played_again_pays_nothing_twice(tmp_path: Path) -> None:
    wanted = job(judge_model="openai/scripted")
    async with provider() as there:
        there.script = lambda body: json.dumps({"scores": dict.fromkeys(frames(body), 0.5)})
        first = await judge_for(wanted, Desk(), access=there.access(), kept=tmp_path)(group(good(), wrong()))
        asked = len(there.asked)
        again = await judge_for(wanted, Desk(), access=there.access(), kept=tmp_path)(group(good(), wrong()))
        assert len(there.asked) == asked
    assert first.judging is not None and again.judging is not None
    assert again.trajectories == first.trajectories
    assert (again.judging.cached, again.judging.cost) == (asked, 0.0)


async def test_repairs_and_fresh_questions_end_before_the_budget_is_passed() -> None:
    """Every answer is unusable, so that each group costs its repairs and its re-ask as well."""
    async with provider() as there:
        there.script = lambda body: answer(1000, 500)
        purse = Purse(0.5)
        access = there.access(price=(10.0, 10.0))
        judge = judge_for(job(judge_model="openai/scripted"), Desk(), access=access, purse=purse)
        for _ in range(200):
            try:
                await judge(group(good(), wrong()))
            except JudgeFailed:
                continue
            except BudgetSpent:
                break
        else:
            pytest.fail("the budget never ended")
    assert 0 < purse.spent <= 0.5
