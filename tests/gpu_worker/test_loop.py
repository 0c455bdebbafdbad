"""The loop: what it draws, refills, drops, records and obeys, and that a small training learns."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from torch import Tensor

from gpu_worker.checkpoints import newest_verified
from gpu_worker.loop import nothing_corrected, train
from gpu_worker.players import Local
from gpu_worker.types import (
    Batch,
    Corrected,
    Evaluated,
    Group,
    GroupDropped,
    GroupJudged,
    Job,
    JudgeFailed,
    Log,
    PhaseChanged,
    Progress,
    Report,
    StepDone,
    Summary,
    TooFewJudged,
    Wish,
)
from tests.gpu_worker.scripted import EchoRoom, ScriptedEngine, says
from tests.gpu_worker.small_run import run, small_job

T = TypeVar("T")


class Recorder:
    """Keeps reports; `wish` may answer with more than “go”."""

    def __init__(self, wish: Callable[[Report], Wish] = lambda report: "go") -> None:
        self.reports: list[Report] = []
        self.wish = wish

    def __call__(self, report: Report) -> Wish:
        self.reports.append(report)
        return self.wish(report)

    def of(self, kind: type[T]) -> list[T]:
        return [report for report in self.reports if isinstance(report, kind)]


class CountingTrainer:
    """A trainer whose whole weights are the number of updates it made."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.updates = 0

    def update(self, batch: Batch) -> dict[str, float]:
        self.batches.append(batch)
        self.updates += 1
        return {"loss": 1.0, "tokens": 5.0, "skipped": 0.0}

    def weights(self) -> dict[str, Tensor]:
        return {"updates": torch.tensor(float(self.updates))}

    def save(self, directory: Path) -> None:
        (directory / "adapter_model.safetensors").write_text(str(self.updates))

    def load(self, directory: Path) -> None:
        self.updates = int((directory / "adapter_model.safetensors").read_text())


def rewards(given: Callable[[Group, int], float]) -> Callable[..., object]:
    async def judge(group: Group) -> Group:
        tries = [
            dataclasses.replace(t, reward=given(group, t.index), success=given(group, t.index) > 0.5)
            for t in group.trajectories
        ]
        return dataclasses.replace(group, trajectories=tuple(tries))

    return judge


def by_index(group: Group, index: int) -> float:
    return float(index % 2)


def a_job(directory: Path, **changes: object) -> Job:
    room = EchoRoom()
    scenarios = (*room.scenarios("train", 5, 0), *room.scenarios("val", 2, 0), *room.scenarios("test", 3, 0))
    job = Job(
        run="r", environment="echo_room", directory=str(directory), scenarios=scenarios, steps=3,
        groups_per_step=2, group_size=2, sampling_budget=2.0, eval_every=2, eval_scenarios=3, val_scenarios=2,
    )  # fmt: skip
    return dataclasses.replace(job, **changes)  # type: ignore[arg-type]


async def trained(
    job: Job,
    record: Recorder,
    judge: Callable[..., object] | None = None,
    trainer: CountingTrainer | None = None,
    engine: ScriptedEngine | None = None,
    corrected: Corrected = nothing_corrected,
) -> Summary:
    engine = engine or ScriptedEngine(lambda turn, sampling: says("hi"))
    players, judge = Local(job, EchoRoom(), engine), judge or rewards(by_index)
    return await train(job, players, trainer or CountingTrainer(), judge, record, corrected)  # type: ignore[arg-type]


async def test_a_run_evaluates_trains_validates_and_evaluates_again(tmp_path: Path) -> None:
    record = Recorder()
    summary = await trained(a_job(tmp_path), record)
    shown = [r for r in record.reports if not isinstance(r, Progress | GroupJudged)]
    assert [type(r).__name__ + getattr(r, "phase", "") for r in shown] == [
        "PhaseChangedpreparing", "PhaseChangedbaseline", "Evaluated", "PhaseChangedtraining", "StepDone",
        "StepDone", "Evaluated", "StepDone", "PhaseChangedevaluating", "Evaluated",
    ]  # fmt: skip
    assert [e.evaluation.label for e in record.of(Evaluated)] == ["baseline", "validation", "trained"]
    assert (summary.ended, summary.steps, summary.trajectories) == ("done", 3, 3 * 4 + 3 + 2 + 3)
    assert summary.weights_sha256 == record.of(StepDone)[-1].checkpoint.sha256
    assert summary.baseline is not None and len(summary.baseline.outcomes) == 3


async def test_a_step_reports_its_numbers_and_the_advantages_of_its_groups(tmp_path: Path) -> None:
    record = Recorder()
    await trained(a_job(tmp_path), record)
    done = record.of(StepDone)[0]
    assert done.advantages == {0: (-1.0, 1.0), 1: (-1.0, 1.0)}
    assert {
        "reward", "reward_std", "success", "tied_groups", "dropped_groups", "groups", "loss", "grad_norm",
        "entropy", "clip_fraction", "kl", "tokens_sampled", "tokens_trained", "seconds", "sample_seconds",
        "judge_seconds", "learn_seconds",
    } <= set(done.metrics)  # fmt: skip
    assert (done.metrics["reward"], done.metrics["groups"], done.metrics["tokens_sampled"]) == (0.5, 2, 8)


async def test_practice_scenarios_are_drawn_without_replacement_in_an_order_of_each_pass(
    tmp_path: Path,
) -> None:
    record = Recorder()
    await trained(a_job(tmp_path, steps=5), record)
    drawn = [r.group.scenario.id for r in record.of(GroupJudged) if r.label == "train"]
    assert len(drawn) == 10
    assert len(set(drawn[:5])) == len(set(drawn[5:])) == 5
    assert drawn[:5] != drawn[5:]


async def test_tied_groups_are_replaced_once_and_never_trained_on(tmp_path: Path) -> None:
    def given(group: Group, index: int) -> float:
        return 0.7 if group.index == 1 else float(index)

    record, trainer = Recorder(), CountingTrainer()
    await trained(a_job(tmp_path, steps=1), record, rewards(given), trainer)
    assert [(r.group.index, r.tied) for r in record.of(GroupJudged) if r.label == "train"] == [
        (0, False), (1, True), (2, False)
    ]  # fmt: skip
    (batch,) = trainer.batches
    assert [group.index for group in batch.groups] == [0, 2]
    assert record.of(StepDone)[0].metrics["tied_groups"] == 1


async def test_a_step_of_ties_says_so_loudly_and_changes_no_weight(tmp_path: Path) -> None:
    record, trainer = Recorder(), CountingTrainer()
    summary = await trained(a_job(tmp_path, steps=1), record, rewards(lambda group, index: 0.35), trainer)
    assert trainer.batches == []
    (warning,) = record.of(Log)
    assert warning.level == "warning"
    assert "0 of 4 groups are trainable" in warning.text
    assert record.of(StepDone)[0].metrics["skipped"] == 1
    assert summary.steps == 1


async def test_a_group_without_a_judgement_is_dropped_counted_and_replaced(tmp_path: Path) -> None:
    async def judge(group: Group) -> Group:
        if group.step == 1 and group.index == 0:
            raise JudgeFailed("the judge answered in verse")
        return await rewards(by_index)(group)  # type: ignore[misc]

    record, trainer = Recorder(), CountingTrainer()
    await trained(a_job(tmp_path, steps=1, eval_every=0, most_dropped=0.5), record, judge, trainer)
    (dropped,) = record.of(GroupDropped)
    assert (dropped.step, dropped.index, dropped.reason) == (1, 0, "the judge answered in verse")
    assert [group.index for group in trainer.batches[0].groups] == [1, 2]
    assert record.of(StepDone)[0].metrics["dropped_groups"] == 1


async def test_too_many_groups_without_a_judgement_end_the_step_before_anything_is_learned(
    tmp_path: Path,
) -> None:
    async def judge(group: Group) -> Group:
        if group.step == 2:
            raise JudgeFailed("the judge answered in verse")
        return await rewards(by_index)(group)  # type: ignore[misc]

    record, trainer = Recorder(), CountingTrainer()
    with pytest.raises(TooFewJudged, match="Step 2: 2 of 2 groups had no usable judgement, more than 20%"):
        await trained(a_job(tmp_path, steps=3, eval_every=0), record, judge, trainer)
    assert len(trainer.batches) == len(record.of(StepDone)) == 1


@pytest.mark.parametrize("ahead", [0, 1])
async def test_groups_that_a_person_scored_anew_are_learned_from_besides_those_of_the_step(
    tmp_path: Path, ahead: int
) -> None:
    record, trainer = Recorder(), CountingTrainer()
    asked: list[int] = []

    def corrected(step: int) -> list[Group]:
        asked.append(step)
        seen = record.of(GroupJudged)
        old = next(report.group for report in seen if report.label == "train")
        tries = tuple(dataclasses.replace(t, reward=1.0 - t.reward) for t in old.trajectories)
        return [dataclasses.replace(old, trajectories=tries)] if step == 2 else []

    job = a_job(tmp_path, steps=3, eval_every=0, off_policy_steps=ahead)
    await trained(job, record, trainer=trainer, corrected=corrected)
    assert asked == [1, 2, 3]
    assert [len(batch.groups) for batch in trainer.batches] == [2, 3, 2]
    first, again = trainer.batches[0], trainer.batches[1]
    assert [-a for a in first.advantages[0]] == pytest.approx(again.advantages[2])
    reports = record.of(StepDone)
    assert [len(report.advantages) for report in reports] == [2, 2, 2]
    assert [report.metrics.get("corrected_groups") for report in reports] == [None, 1.0, None]


async def test_an_examination_that_cannot_be_judged_is_left_out_with_a_warning(tmp_path: Path) -> None:
    async def judge(group: Group) -> Group:
        if group.scenario.id == "test-1":
            raise JudgeFailed("no answer")
        return await rewards(by_index)(group)  # type: ignore[misc]

    record = Recorder()
    summary = await trained(a_job(tmp_path, steps=1), record, judge)
    assert summary.baseline is not None
    assert [outcome.scenario_id for outcome in summary.baseline.outcomes] == ["test-0", "test-2"]
    assert "test-1" in record.of(Log)[0].text


async def test_baseline_and_trained_evaluation_share_their_seeds_and_practice_does_not(
    tmp_path: Path,
) -> None:
    engine = ScriptedEngine(lambda turn, sampling: says("hi"))
    await trained(a_job(tmp_path, steps=1, eval_every=0), Recorder(), engine=engine)
    before, practice, after = engine.seeds[:3], engine.seeds[3:-3], engine.seeds[-3:]
    assert before == after
    assert len(set(before) | set(practice)) == 3 + 4


@pytest.mark.parametrize(("wish", "ended"), [("pause", "paused"), ("stop", "stopped")])
async def test_a_wish_is_honoured_between_steps_and_the_run_can_go_on(
    tmp_path: Path, wish: Wish, ended: str
) -> None:
    def at_step_one(report: Report) -> Wish:
        return wish if isinstance(report, StepDone) and report.step == 1 else "go"

    summary = await trained(a_job(tmp_path), Recorder(at_step_one))
    assert (summary.ended, summary.steps, summary.trained) == (ended, 1, None)
    record, trainer = Recorder(), CountingTrainer()
    summary = await trained(a_job(tmp_path), record, trainer=trainer)
    assert (summary.ended, summary.steps, trainer.updates) == ("done", 3, 3)
    assert [done.step for done in record.of(StepDone)] == [1, 2, 3]
    assert [phase.phase for phase in record.of(PhaseChanged)] == ["preparing", "training", "evaluating"]


async def test_a_broken_checkpoint_is_reported_and_the_one_before_is_taken(tmp_path: Path) -> None:
    await trained(a_job(tmp_path), Recorder())
    (tmp_path / "000003" / "state.json").write_text("{}")
    record = Recorder()
    summary = await trained(a_job(tmp_path), record)
    assert "Checkpoint 000003 was rejected" in record.of(Log)[0].text
    assert [done.step for done in record.of(StepDone)] == [2, 3]
    assert summary.ended == "done"


async def test_one_step_off_each_step_learns_from_tries_of_the_weights_before_the_last(
    tmp_path: Path,
) -> None:
    record = Recorder()
    await trained(a_job(tmp_path, steps=4, off_policy_steps=1, eval_every=0), record)
    played = [r.group for r in record.of(GroupJudged) if r.label == "train"]
    policies = {group.step: {t.policy_step for t in group.trajectories} for group in played}
    assert policies == {1: {0}, 2: {0}, 3: {1}, 4: {2}}
    assert [done.metrics["policy_lag"] for done in record.of(StepDone)] == [0, 1, 1, 1]


async def test_on_policy_each_step_learns_from_tries_of_the_newest_weights(tmp_path: Path) -> None:
    record, engine = Recorder(), ScriptedEngine(lambda turn, sampling: says("hi"))
    await trained(a_job(tmp_path, steps=3, eval_every=0), record, engine=engine)
    played = [r.group for r in record.of(GroupJudged) if r.label == "train"]
    assert all(t.policy_step == group.step - 1 for group in played for t in group.trajectories)
    assert engine.adopted == [0, 1, 2, 3]
    assert {done.metrics["policy_lag"] for done in record.of(StepDone)} == {0}


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_one_step_off_goes_on_after_a_pause_with_the_weights_it_was_playing_with(
    tmp_path: Path, step: int
) -> None:
    def at(report: Report) -> Wish:
        return "pause" if isinstance(report, StepDone) and report.step == step else "go"

    def played(record: Recorder) -> dict[tuple[int, int], set[int]]:
        groups = [r.group for r in record.of(GroupJudged) if r.label == "train"]
        return {(g.step, g.index): {t.policy_step for t in g.trajectories} for g in groups}

    job = a_job(tmp_path / "paused", steps=4, off_policy_steps=1, keep_checkpoints=1)
    await trained(job, Recorder(at))
    resumed, whole = Recorder(), Recorder()
    summary = await trained(job, resumed)
    await trained(dataclasses.replace(job, directory=str(tmp_path / "whole")), whole)
    assert (summary.ended, summary.steps) == ("done", 4)
    assert played(resumed).items() <= played(whole).items()
    assert {key[0] for key in played(resumed)} == set(range(step + 1, 5))


async def test_one_step_off_without_the_checkpoint_before_says_that_it_will_not_repeat(
    tmp_path: Path,
) -> None:
    def at_two(report: Report) -> Wish:
        return "pause" if isinstance(report, StepDone) and report.step == 2 else "go"

    job = a_job(tmp_path, steps=3, off_policy_steps=1)
    await trained(job, Recorder(at_two))
    (tmp_path / "000001" / "state.json").write_text("{}")
    record = Recorder()
    assert (await trained(job, record)).steps == 3
    assert "no longer repeats to the last bit" in record.of(Log)[0].text


async def test_ties_are_replaced_only_within_the_sampling_budget(tmp_path: Path) -> None:
    record = Recorder()
    tied = rewards(lambda group, index: 0.35)
    await trained(a_job(tmp_path, steps=1, sampling_budget=1.0, eval_every=0), record, tied)
    assert len([r for r in record.of(GroupJudged) if r.label == "train"]) == 2
    assert record.of(StepDone)[0].metrics["tokens_tied"] == record.of(StepDone)[0].metrics["tokens_sampled"]


async def test_the_time_split_adds_up_to_the_step(tmp_path: Path) -> None:
    for lag in (0, 1):
        record = Recorder()
        await trained(a_job(tmp_path / str(lag), off_policy_steps=lag), record)
        for done in record.of(StepDone):
            parts = [done.metrics[f"{part}_seconds"] for part in ("sample", "judge", "learn", "idle")]
            assert min(parts) >= 0
            assert sum(parts) == pytest.approx(done.metrics["seconds"], abs=1e-3)


async def test_the_newest_and_the_best_checkpoints_stay_on_disk(tmp_path: Path) -> None:
    def given(group: Group, index: int) -> float:
        good = group.step == 2 if group.scenario.split == "val" else index
        return float(good)

    await trained(a_job(tmp_path, steps=8, keep_checkpoints=2), Recorder(), rewards(given))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000002", "000007", "000008"]


async def test_the_learning_rate_falls_on_a_cosine_to_its_final_share(tmp_path: Path) -> None:
    trainer = CountingTrainer()
    job = a_job(tmp_path, steps=3, learning_rate=1.0, final_learning_rate=0.2)
    await trained(job, Recorder(), trainer=trainer)
    assert [batch.learning_rate for batch in trainer.batches] == pytest.approx([1.0, 0.6, 0.2])


async def test_a_job_without_practice_scenarios_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no scenarios to practise on"):
        await trained(a_job(tmp_path, scenarios=()), Recorder())


async def test_a_failing_engine_ends_the_run_with_its_own_error(tmp_path: Path) -> None:
    def breaks(turn: int, sampling: object) -> Sequence[object]:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        await trained(a_job(tmp_path), Recorder(), engine=ScriptedEngine(breaks))  # type: ignore[arg-type]


def test_a_small_training_learns_and_repeats_itself_to_the_bit(tiny_model: Path, tmp_path: Path) -> None:
    def job(name: str) -> Job:
        more = {"steps": 12, "groups_per_step": 5, "group_size": 8, "learning_rate": 0.1, "lora_rank": 16}
        return small_job(tmp_path / name, run=name, final_learning_rate=1.0, **more)

    record = Recorder()
    one = run(tiny_model, job("one"), record)
    curve = [done.metrics["reward"] for done in record.of(StepDone)]
    assert sum(curve[-4:]) / 4 > sum(curve[:4]) / 4 + 0.1
    assert one.baseline is not None and one.trained is not None
    assert one.trained.reward > one.baseline.reward
    assert run(tiny_model, job("two"), Recorder()).weights_sha256 == one.weights_sha256
    found, _ = newest_verified(tmp_path / "one")
    assert found is not None and found.file.sha256 == one.weights_sha256
