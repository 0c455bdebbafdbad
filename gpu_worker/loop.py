"""The whole story of a training: evaluate, then practise, judge, learn and save, again and again; evaluate.

One step of GRPO: draw scenarios, let the agent try each of them several times, have every group judged,
replace groups whose tries were all alike, turn rewards into advantages, update the weights, save a
checkpoint and sample from it. The loop may be killed anywhere: it resumes from the newest checkpoint
that verifies and plays the rest exactly as it would have been played.

It knows no database and no page; `record` takes its reports and answers with the owner's wish.
"""

import asyncio
import math
import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gpu_worker import checkpoints
from gpu_worker.arena import SPLITS, Arena, Exam
from gpu_worker.grpo import advantages, is_tied
from gpu_worker.position import Position
from gpu_worker.seeds import seed_for, shuffled
from gpu_worker.types import (
    Batch,
    CheckpointFile,
    Engine,
    Environment,
    Evaluated,
    Evaluation,
    Group,
    Job,
    Judge,
    Log,
    PhaseChanged,
    Progress,
    Record,
    Scenario,
    StepDone,
    Summary,
    Trainer,
)

UNTRAINED = {"loss": 0.0, "grad_norm": 0.0, "entropy": 0.0, "clip_fraction": 0.0, "kl": 0.0, "skipped": 1.0}
"""What a step shows of learning when there was nothing to learn from."""


async def train(
    job: Job, environment: Environment, engine: Engine, trainer: Trainer, judge: Judge, record: Record
) -> Summary:
    """Train to the end, or until the owner wishes to pause or stop.

    Raises ValueError for a job without practice scenarios, checkpoints.DiskFull, and whatever a broken
    engine, tool, judge or recorder raises; everything recorded until then stays valid.
    """
    run = _Run(job, Arena(job, environment, engine, judge, record), trainer)
    run.arena.tell(PhaseChanged("preparing"))
    position = run.resumed() or await run.started()
    if run.arena.wish == "go":
        run.arena.tell(PhaseChanged("training", position.step))
        position = await run.validated(position)
    while run.arena.wish == "go" and position.step < job.steps:
        position = await run.step(position)
        if run.arena.wish == "go":
            position = await run.validated(position)
    if run.arena.wish != "go":
        return run.summary(position, "paused" if run.arena.wish == "pause" else "stopped")
    run.arena.tell(PhaseChanged("evaluating", position.step))
    return run.summary(position, "done", await run.evaluated("trained", position.step))


@dataclass
class _Practice:
    """What the rounds of one step brought."""

    groups: list[Group] = field(default_factory=list)
    trainable: list[Group] = field(default_factory=list)
    drawn: int = 0
    dropped: int = 0
    sample_seconds: float = 0.0
    judge_seconds: float = 0.0


class _Run:
    """One job under way: its steps, and what they need of each other."""

    def __init__(self, job: Job, arena: Arena, trainer: Trainer) -> None:
        self.job, self.arena, self.trainer = job, arena, trainer
        self.root = Path(job.directory)
        self.train_scenarios = [s for s in job.scenarios if s.split == "train"]
        if not self.train_scenarios:
            raise ValueError("The job has no scenarios to practise on: give it some of the split “train”.")
        self.weights_sha256 = ""
        self._began = time.monotonic()
        self._seconds_before = 0.0

    def resumed(self) -> Position | None:
        """Take up the newest checkpoint that verifies, and report its step again in case that was lost."""
        found, rejected = checkpoints.newest_verified(self.root)
        for sentence in rejected:
            self.arena.tell(Log("warning", sentence, f"rejected-{sentence[:80]}"))
        if found is None:
            return None
        position = Position.from_json(found.state, found.file)
        self._seconds_before = position.seconds
        self.trainer.load(Path(found.file.directory))
        self._sample_from(found.file)
        self._report(position)
        return position

    async def started(self) -> Position:
        """Evaluate the untrained agent and save it as the checkpoint of step 0."""
        self.arena.engine.use_adapter(None)
        self.arena.tell(PhaseChanged("baseline"))
        baseline = await self.evaluated("baseline", 0)
        played = len(baseline.outcomes) if baseline else 0
        return self._saved(Position(baseline=baseline, trajectories=played), None)

    async def step(self, before: Position) -> Position:
        """Practise, learn, save: one step of GRPO."""
        began, job, step = time.monotonic(), self.job, before.step + 1
        practice = await self._practised(step, before.cursor)
        found = advantages([group.rewards for group in practice.trainable], job.tie_tolerance)
        pairs = [(g, a) for g, a in zip(practice.trainable, found, strict=True) if a is not None]
        rate = _learning_rate(job, step)
        batch = Batch(tuple(g for g, _ in pairs), tuple(a for _, a in pairs), rate)
        learning_began = time.monotonic()
        learned = await self._learned(step, batch, practice)
        now = time.monotonic()
        timing = {"seconds": now - began, "learn_seconds": now - learning_began, "learning_rate": rate}
        metrics = _practice_metrics(practice) | learned | timing
        after = replace(
            before,
            step=step,
            cursor=before.cursor + practice.drawn,
            trajectories=before.trajectories + sum(len(group.trajectories) for group in practice.groups),
        )
        return self._saved(after, metrics, {group.index: a for group, a in pairs})

    async def _practised(self, step: int, cursor: int) -> _Practice:
        """Rounds of fresh scenarios until there are enough groups to learn from, or the rounds are over."""
        practice = _Practice()
        budget = round(self.job.groups_per_step * self.job.sampling_budget)
        while missing := min(self.job.groups_per_step - len(practice.trainable), budget - practice.drawn):
            scenarios = [self._scenario(cursor + practice.drawn + at) for at in range(missing)]
            played = await self.arena.practise(scenarios, step, first=practice.drawn)
            practice.drawn += missing
            practice.groups += played.groups
            practice.dropped += played.dropped
            practice.trainable += [g for g in played.groups if not is_tied(g.rewards, self.job.tie_tolerance)]
            practice.sample_seconds += played.sample_seconds
            practice.judge_seconds += played.judge_seconds
        return practice

    def _scenario(self, at: int) -> Scenario:
        """The at-th practice scenario of the run; every pass takes each once, in an order of its own."""
        round_, place = divmod(at, len(self.train_scenarios))
        order = shuffled(len(self.train_scenarios), seed_for(self.job.seed, "order", round_))
        return self.train_scenarios[order[place]]

    async def _learned(self, step: int, batch: Batch, practice: _Practice) -> dict[str, float]:
        """One update of the weights; a warning where there is nothing to learn from or the update failed."""
        if not batch.groups:
            text = (
                f"Step {step}: 0 of {practice.drawn} groups are trainable ({len(practice.groups)} had tries "
                f"that were all rewarded alike, {practice.dropped} had no usable judgement). "
                "Nothing was learned in this step."
            )
            self.arena.tell(Log("warning", text, f"untrainable-{step}"))
            return {**UNTRAINED, "tokens_trained": 0.0}
        self.arena.tell(Progress(step, 0, len(batch.groups), "learning"))
        learned = await asyncio.to_thread(self.trainer.update, batch)
        if learned.get("skipped"):
            text = f"Step {step}: an update was left out, its loss or gradient was not a finite number."
            self.arena.tell(Log("warning", text, f"skipped-{step}"))
        return {**UNTRAINED, **learned, "tokens_trained": learned["tokens"]}

    async def validated(self, position: Position) -> Position:
        """The position after the validation that is due at its step, if one is."""
        due = self.job.eval_every and position.step and position.step % self.job.eval_every == 0
        evaluation = await self.evaluated("validation", position.step) if due else None
        return position.with_validation(evaluation) if evaluation else position

    async def evaluated(self, label: Exam, step: int) -> Evaluation | None:
        """One try at each held-out scenario of the label's split; None if there are none."""
        count = self.job.val_scenarios if label == "validation" else self.job.eval_scenarios
        scenarios = [s for s in self.job.scenarios if s.split == SPLITS[label]][:count]
        if not scenarios:
            return None
        evaluation = await self.arena.examine(scenarios, label, step)
        self.arena.tell(Evaluated(evaluation))
        return evaluation

    def _saved(
        self,
        position: Position,
        metrics: dict[str, float] | None,
        trained_on: dict[int, tuple[float, ...]] | None = None,
    ) -> Position:
        """Save the position with its report as a checkpoint, sample from it from now on, and report."""
        position = replace(position, seconds=self._seconds())

        def with_report(file: CheckpointFile) -> Position:
            report = metrics and StepDone(position.step, metrics, trained_on or {}, file)
            return replace(position, report=report or None)

        save = self.trainer.save
        file = checkpoints.write(self.root, position.step, save, lambda file: with_report(file).to_json())
        best = [position.best[0]] if position.best else []
        checkpoints.prune(self.root, newest=self.job.keep_checkpoints, besides=best)
        self._sample_from(file)
        self._report(with_report(file))
        return with_report(file)

    def _sample_from(self, file: CheckpointFile) -> None:
        self.arena.engine.use_adapter(Path(file.directory))
        self.weights_sha256 = file.sha256

    def _report(self, position: Position) -> None:
        if position.report is not None:
            self.arena.tell(position.report)

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._began

    def summary(
        self, at: Position, ended: Literal["done", "paused", "stopped"], trained: Evaluation | None = None
    ) -> Summary:
        played = at.trajectories + (len(trained.outcomes) if trained else 0)
        return Summary(ended, at.step, played, self._seconds(), at.baseline, trained, self.weights_sha256)


def _learning_rate(job: Job, step: int) -> float:
    """Cosine from the peak at step 1 to its final share at the last step."""
    progress = (step - 1) / max(1, job.steps - 1)
    share = (1 + math.cos(math.pi * progress)) / 2
    return job.learning_rate * (job.final_learning_rate + (1 - job.final_learning_rate) * share)


def _practice_metrics(practice: _Practice) -> dict[str, float]:
    tries = [trajectory for group in practice.groups for trajectory in group.trajectories]
    rewards = [trajectory.reward for trajectory in tries] or [0.0]
    return {
        "reward": statistics.fmean(rewards),
        "reward_std": statistics.pstdev(rewards),
        "success": sum(trajectory.success for trajectory in tries) / max(1, len(tries)),
        "groups": float(len(practice.groups)),
        "tied_groups": float(len(practice.groups) - len(practice.trainable)),
        "dropped_groups": float(practice.dropped),
        "turns": sum(trajectory.turns for trajectory in tries) / max(1, len(tries)),
        "tokens_sampled": float(sum(sum(s.mask) for trajectory in tries for s in trajectory.segments)),
        "sample_seconds": practice.sample_seconds,
        "judge_seconds": practice.judge_seconds,
    }
