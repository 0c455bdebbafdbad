"""Learning in parts while the judge is still asked: what is learned is the same, whatever came when."""

import asyncio
import random
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_worker.ahead import Ahead, in_parts, learns_ahead
from gpu_worker.grpo import advantages
from gpu_worker.trainers import learner
from gpu_worker.types import Batch, Group, Judge, JudgeFailed, Report, Scenario, StepDone, Trajectory, Wish
from tests.gpu_worker import small_run
from tests.gpu_worker.small_run import run, small_job
from tests.gpu_worker.test_learner import JOB, LOSSES, a_batch, a_trainer, learned_gradient

LLM = {"judge_model": "openai/scripted"}
NO_PENALTY = sorted(name for name, knobs in LOSSES.items() if not knobs.get("kl_coefficient"))


def a_group(index: int, *rewards: float, step: int = 1) -> Group:
    tries = [Trajectory("s", at, (), (), "answered", reward=reward) for at, reward in enumerate(rewards)]
    return Group(step, index, Scenario("s", "train", ()), (), tuple(tries))


class Noting:
    """A trainer that only notes which parts it was told to begin with."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, list[int], list[tuple[float, ...]]]] = []

    def study(self, part: int, groups: Sequence[Group], given: Sequence[tuple[float, ...]]) -> Future[Any]:
        self.begun.append((part, [group.index for group in groups], list(given)))
        done: Future[Any] = Future()
        done.set_result(None)
        return done


def test_only_a_slow_judge_on_policy_is_worth_it() -> None:
    job = replace(JOB, **LLM)
    assert learns_ahead(job) and learns_ahead(replace(job, reward="mix"))
    for other in ({"judge_model": "artweb/offline"}, {"reward": "checks"}, {"off_policy_steps": 1},
                  {"optimizer_steps": 2}, {"kl_coefficient": 0.1}):  # fmt: skip
        assert not learns_ahead(replace(job, **other))


def test_a_part_is_begun_when_both_its_groups_are_judged_and_nobody_plays() -> None:
    trainer = Noting()
    going = Ahead(replace(JOB, **LLM), trainer)  # type: ignore[arg-type]
    going.playing(True)
    going.judged(3, a_group(3, 0.0, 1.0))
    going.judged(2, a_group(2, 0.5, 0.5))
    going.judged(0, a_group(0, 1.0, 0.0))
    assert trainer.begun == []
    going.playing(False)
    assert trainer.begun == [(1, [3], [(-0.5, 0.5)])]
    going.judged(1, a_group(1, 0.0, 0.5))
    assert trainer.begun[1:] == [(0, [0, 1], [(0.5, -0.5), (-0.25, 0.25)])]
    going.judged(4, None)
    going.judged(5, a_group(5, 0.3, 0.3))
    assert len(trainer.begun) == 2


def test_a_batch_in_parts_has_the_same_advantages_and_earlier_groups_last() -> None:
    groups = (a_group(0, 0.0, 1.0), a_group(5, 0.2, 0.4), a_group(0, 0.0, 0.6, step=0))
    for scale in ("batch", "group", "none"):
        job = replace(JOB, advantage_scale=scale, **LLM)
        found = advantages([group.rewards for group in groups], job.tie_tolerance, job.advantage_scale)
        whole = Batch(groups, tuple(a for a in found if a), 0.1)
        batch = in_parts(whole, job, step=1)
        assert batch.parts == (0, 2, 3)
        divided = [tuple(value / batch.unit for value in given) for given in batch.advantages]
        assert divided == [pytest.approx(given) for given in whole.advantages]


@pytest.mark.parametrize("name", NO_PENALTY)
@pytest.mark.parametrize("seed", range(3))
def test_every_loss_learns_in_parts_what_it_learns_at_once(
    tiny_model: Path, name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{name} {seed}")
    monkeypatch.setattr(learner, "TOKEN_BUDGET", rng.choice((20, 60, 10_000)))
    batch, job = a_batch(rng), replace(JOB, **LOSSES[name])
    parts = tuple(sorted(rng.randrange(3) for _ in batch.groups))
    undivided = tuple(tuple(2.5 * value for value in given) for given in batch.advantages)
    whole = learned_gradient(a_trainer(tiny_model, job), batch)
    divided = replace(batch, parts=parts, advantages=undivided, unit=2.5)
    found = learned_gradient(a_trainer(tiny_model, job), divided)
    torch.testing.assert_close(found, whole, rtol=1e-3, atol=1e-5 * whole.abs().max().item())


def test_what_was_begun_before_changes_no_bit(tiny_model: Path) -> None:
    batch = replace(a_batch(random.Random(7)), unit=1.5)
    batch = replace(
        batch,
        groups=batch.groups * 2,
        advantages=batch.advantages * 2,
        parts=tuple(range(2 * len(batch.groups))),
    )
    at_once = learned_gradient(a_trainer(tiny_model, JOB), batch)
    trainer = a_trainer(tiny_model, JOB)
    for part in reversed(batch.parts[1:]):
        trainer.study(part, [batch.groups[part]], [batch.advantages[part]])
    assert torch.equal(learned_gradient(trainer, batch), at_once)


def verse(wait: float) -> Judge:
    """A judge who takes up to so many seconds, and fails once."""

    async def judge(group: Group) -> Group:
        await asyncio.sleep(wait * random.Random(f"{group.step} {group.index}").random())
        if (group.step, group.index) == (2, 1):
            raise JudgeFailed("The judge answered in verse.")
        return await small_run.judge(group)

    return judge


@pytest.mark.parametrize("samplers", [0, 2])
def test_a_slow_judge_changes_no_bit_of_a_training(tiny_model: Path, tmp_path: Path, samplers: int) -> None:
    knobs: dict[str, Any] = {"samplers": samplers, "steps": 4, "groups_per_step": 5, "most_dropped": 0.5}
    steps: list[dict[str, float]] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            steps.append({k: v for k, v in report.metrics.items() if "second" not in k})
        return "go"

    slow, quick = (
        run(tiny_model, small_job(tmp_path / str(wait), **knobs, **LLM), record, verse(wait))
        for wait in (0.15, 0.0)
    )
    assert slow.weights_sha256 == quick.weights_sha256
    assert steps[:4] == steps[4:]


def test_time_the_trainer_learned_meanwhile_is_told_apart(tiny_model: Path, tmp_path: Path) -> None:
    found: list[dict[str, float]] = []

    def record(report: Report) -> Wish:
        if isinstance(report, StepDone):
            found.append(report.metrics)
        return "go"

    async def judge(group: Group) -> Group:
        await asyncio.sleep(0.5 if group.index == 5 else 0.0)
        return await small_run.judge(group)

    run(tiny_model, small_job(tmp_path, steps=1, groups_per_step=6, **LLM), record, judge)
    (step,) = found
    parts = sum(step[name] for name in ("sample_seconds", "judge_seconds", "learn_seconds", "idle_seconds"))
    assert parts == pytest.approx(step["seconds"], rel=0.05)


def test_only_time_in_which_something_is_learned_counts() -> None:
    learning: Future[Any] = Future()

    class Slow(Noting):
        def study(self, *_: object) -> Future[Any]:
            return learning

    going = Ahead(replace(JOB, **LLM), Slow())  # type: ignore[arg-type]
    going.judged(0, a_group(0, 0.0, 1.0))
    going.playing(False)
    assert going.seconds() == 0.0
    going.judged(1, a_group(1, 0.0, 1.0))
    time.sleep(0.01)
    assert going.seconds() > 0
    learning.set_result(None)
    told = going.seconds()
    time.sleep(0.01)
    assert going.seconds() == told > 0
