"""A whole training in a few seconds: the tiny random model learns to prefer token ids below 150.

Real engine, trainer and checkpoints. `main`, in a process of its own, trains once, appends every report it
makes to a log and sends the hash of its weights, so that it can be killed and run again.
"""

import asyncio
import dataclasses
import json
import os
from multiprocessing.connection import Connection
from pathlib import Path

from gpu_worker.crew import players
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.environments.yes_no_maybe import YesNoMaybe
from gpu_worker.loop import train
from gpu_worker.trainers.full import FullTrainer
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Group, Job, Judge, Progress, Record, Report, Score, Summary, Trajectory, Wish

ROOM = YesNoMaybe()


def small_job(directory: Path, **changes: object) -> Job:
    scenarios = [
        *ROOM.scenarios("train", 20, 1), *ROOM.scenarios("val", 4, 1), *ROOM.scenarios("test", 6, 1)
    ]  # fmt: skip
    job = Job(
        run="small",
        environment=ROOM.name,
        directory=str(directory),
        scenarios=tuple(scenarios),
        seed=11,
        steps=6,
        groups_per_step=3,
        group_size=4,
        max_turns=1,
        max_tokens=8,
        max_context=256,
        learning_rate=2e-2,
        lora_rank=4,
        lora_alpha=8,
        eval_every=2,
        eval_scenarios=6,
        val_scenarios=4,
        samplers=0,
    )
    return dataclasses.replace(job, **changes)  # type: ignore[arg-type]


async def judge(group: Group) -> Group:
    """The share of sampled ids below 150; a success where it is more than half. Some groups are tied."""

    def judged(trajectory: Trajectory) -> Trajectory:
        ids = [i for s in trajectory.segments for i, sampled in zip(s.ids, s.mask, strict=True) if sampled]
        share = round(sum(i < 150 for i in ids) / max(1, len(ids)), 1)
        scores = (Score("environment", share),)
        return dataclasses.replace(trajectory, reward=share, success=share > 0.5, scores=scores)

    await asyncio.sleep(0)
    return dataclasses.replace(group, trajectories=tuple(map(judged, group.trajectories)), judge="ids")


def run(model: Path, job: Job, record: Record, judge: Judge = judge) -> Summary:
    def engine() -> EmbeddedEngine:
        return EmbeddedEngine(model, slots=16, max_context=job.max_context)

    trainer = LoraTrainer(model, job) if job.lora_rank else FullTrainer(model, job)
    with players(job, ROOM, engine, trainer.weights()) as them:
        return asyncio.run(train(job, them, trainer, judge, record))


def main(model: Path, directory: Path, log: Path, knobs: dict[str, int], told: Connection) -> None:
    """knobs: what is different from `small_job`."""

    def record(report: Report) -> Wish:
        if not isinstance(report, Progress):
            with log.open("a") as file:
                file.write(json.dumps(said(report), default=str, sort_keys=True) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return "go"

    without_a_cut_line(log)
    told.send(run(model, small_job(directory, **knobs), record).weights_sha256)


def without_a_cut_line(log: Path) -> None:
    """A kill in the middle of a write leaves a line without its end: that report was never made."""
    if log.exists():
        written = log.read_bytes()
        os.truncate(log, written.rfind(b"\n") + 1)


def said(report: Report) -> list[object]:
    """Kind and content of a report, without what differs from run to run: times and places on disk."""
    content = dataclasses.asdict(report)
    if "metrics" in content:
        content["metrics"] = {k: v for k, v in content["metrics"].items() if "second" not in k}
        content["checkpoint"].pop("directory")
    return [type(report).__name__, content]
