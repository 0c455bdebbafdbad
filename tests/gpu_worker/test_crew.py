"""Processes that play: the same tries as in one process where it matters, and no one left behind."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
import torch

from gpu_worker.crew import Crew, SamplerLost, SharedWeights
from gpu_worker.engines.embedded.directory import ModelError
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.players import Local
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Engine, Group, Job, Place, StepDone, Summary
from tests.gpu_worker.small_run import ROOM, run, small_job
from tests.gpu_worker.test_loop import Recorder

ROUND = [(scenario, Place("train", 1, at)) for at, scenario in enumerate(ROOM.scenarios("train", 5, 1))]


def trained(model: Path, directory: Path, **changes: object) -> tuple[Summary, Recorder]:
    record = Recorder()
    return run(model, small_job(directory, samplers=2, steps=3, **changes), record), record


def crew(model: Path, job: Job, trainer: LoraTrainer) -> Crew:
    return Crew(job, ROOM, lambda: EmbeddedEngine(model, slots=16, max_context=256), trainer.weights())


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def played(players: Local | Crew, step: int = 0) -> list[Group]:
    await players.use({}, step)
    tries: list[None] = []
    groups = [await group for group in players.play(ROUND, 3, lambda: tries.append(None))]
    assert len(tries) == 3 * len(ROUND)
    return groups


def test_a_crew_plays_each_group_as_its_share_is_played_in_one_process(
    tiny_model: Path, tmp_path: Path
) -> None:
    """Process 0 plays the even groups, process 1 the odd ones; the share decides the last bits."""
    job = small_job(tmp_path, samplers=2)
    with crew(tiny_model, job, LoraTrainer(tiny_model, job)) as players:
        together = asyncio.run(played(players))
    for number in range(2):
        alone = Local(job, ROOM, EmbeddedEngine(tiny_model, slots=16, max_context=256))
        share = [one for one in ROUND if one[1].index % 2 == number]

        async def play(alone: Local = alone, share: list[tuple[object, Place]] = share) -> list[Group]:
            await alone.use({}, 0)
            return [await group for group in alone.play(share, 3, lambda: None)]  # type: ignore[arg-type]

        assert asyncio.run(play()) == together[number::2]


def test_a_training_with_a_crew_repeats_itself_to_the_bit(tiny_model: Path, tmp_path: Path) -> None:
    one, record = trained(tiny_model, tmp_path / "one")
    two, _ = trained(tiny_model, tmp_path / "two")
    assert one.weights_sha256 == two.weights_sha256
    assert [done.step for done in record.of(StepDone)] == [1, 2, 3]


def test_one_step_off_with_a_crew_repeats_itself_to_the_bit(tiny_model: Path, tmp_path: Path) -> None:
    one, record = trained(tiny_model, tmp_path / "one", off_policy_steps=1)
    two, _ = trained(tiny_model, tmp_path / "two", off_policy_steps=1)
    assert one.weights_sha256 == two.weights_sha256
    assert [done.metrics["policy_lag"] for done in record.of(StepDone)] == [0, 1, 1]


def test_all_weights_can_be_trained_with_a_crew_and_sampled_from_their_checkpoint(
    tiny_model: Path, tmp_path: Path
) -> None:
    summary, record = trained(tiny_model, tmp_path / "full", lora_rank=0, learning_rate=1e-3)
    last = Path(record.of(StepDone)[-1].checkpoint.directory)
    assert record.of(StepDone)[-1].checkpoint.sha256 == summary.weights_sha256
    job = small_job(tmp_path, samplers=0)

    async def first_group(players: Local) -> Group:
        return await players.play(ROUND[:1], 3, lambda: None)[0]

    base, whole = (Local(job, ROOM, EmbeddedEngine(tiny_model, slots=16, max_context=256)) for _ in range(2))
    whole.engine.use_adapter(last)
    assert asyncio.run(first_group(whole)).trajectories != asyncio.run(first_group(base)).trajectories
    again, _ = trained(tiny_model, tmp_path / "again", lora_rank=0, learning_rate=1e-3)
    assert again.weights_sha256 == summary.weights_sha256


def test_new_weights_reach_every_process(tiny_model: Path, tmp_path: Path) -> None:
    job = small_job(tmp_path, samplers=2)
    trainer = LoraTrainer(tiny_model, job)
    changed = {name: tensor + 0.05 for name, tensor in trainer.weights().items()}

    async def before_and_after(players: Crew) -> tuple[list[Group], list[Group], list[Group]]:
        first = await played(players)
        await players.use(changed, 1)
        second = [await group for group in players.play(ROUND, 3, lambda: None)]
        await players.use(trainer.weights(), 2)
        return first, second, [await group for group in players.play(ROUND, 3, lambda: None)]

    with crew(tiny_model, job, trainer) as players:
        base, other, again = asyncio.run(before_and_after(players))
    assert {t.policy_step for group in other for t in group.trajectories} == {1}
    for one, two, three in zip(base, other, again, strict=True):
        assert [t.segments for t in one.trajectories] != [t.segments for t in two.trajectories]
        assert [t.segments for t in one.trajectories] == [t.segments for t in three.trajectories]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_ends_the_training_with_a_sentence(
    tiny_model: Path, tmp_path: Path, victim: int
) -> None:
    job = small_job(tmp_path, samplers=2)
    with crew(tiny_model, job, LoraTrainer(tiny_model, job)) as players:
        pids = [member.pid for member in players._members]

        async def killed() -> None:
            await players.use({}, 0)
            os.kill(pids[victim], signal.SIGKILL)
            await asyncio.gather(*players.play(ROUND, 3, lambda: None))

        with pytest.raises(SamplerLost, match="ended unexpectedly"):
            asyncio.run(killed())
    assert all(map(gone, pids))


def test_nobody_is_left_behind(tiny_model: Path, tmp_path: Path) -> None:
    job = small_job(tmp_path, samplers=3)
    with pytest.raises(KeyError), crew(tiny_model, job, LoraTrainer(tiny_model, job)) as players:
        pids = [member.pid for member in players._members]
        raise KeyError
    assert len(pids) == 3 and all(map(gone, pids))


def test_what_breaks_in_a_process_is_told_as_it_would_be_in_this_one(tmp_path: Path) -> None:
    def broken() -> Engine:
        raise ModelError("The model in x has no chat template.")

    job = small_job(tmp_path, samplers=1)
    with Crew(job, ROOM, broken, {}) as players, pytest.raises(ModelError, match="no chat template"):
        asyncio.run(players.use({}, 0))


def test_shared_weights_never_change_the_copy_in_use() -> None:
    like = {"a": torch.zeros(2, 3), "b": torch.zeros(4)}
    shared = SharedWeights(like)
    first = shared.write({"a": torch.ones(2, 3), "b": torch.full((4,), 2.0)})
    second = shared.write({"a": torch.full((2, 3), 3.0), "b": torch.zeros(4)})
    assert first != second
    assert torch.equal(shared.copies[first]["a"], torch.ones(2, 3))
    assert torch.equal(shared.copies[second]["b"], torch.zeros(4))
