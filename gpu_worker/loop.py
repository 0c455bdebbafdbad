"""The whole story of a training: evaluate, then practise, judge, learn and save, again and again; evaluate.

One step of GRPO: draw scenarios, let the agent try each of them several times, have every group judged,
replace groups whose tries were all alike, turn rewards into advantages, update the weights, save a
checkpoint and sample from it. The loop may be killed anywhere: it resumes from the newest checkpoint
that verifies and plays the rest exactly as it would have been played.

It knows no database and no page; `record` takes its reports and answers with the owner's wish.
"""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from torch import Tensor

from gpu_worker import checkpoints
from gpu_worker.ahead import Ahead, in_parts, learns_ahead
from gpu_worker.arena import SPLITS, Arena, Exam
from gpu_worker.curriculum import Curriculum
from gpu_worker.grpo import advantages
from gpu_worker.position import Position
from gpu_worker.practice import Practice, metrics, practised
from gpu_worker.types import (
    Batch,
    CheckpointFile,
    Corrected,
    Evaluated,
    Evaluation,
    Group,
    Job,
    Judge,
    Log,
    PhaseChanged,
    Players,
    Progress,
    Record,
    StepDone,
    Summary,
    Trainer,
)

UNTRAINED = {"loss": 0.0, "grad_norm": 0.0, "entropy": 0.0, "clip_fraction": 0.0, "kl": 0.0, "skipped": 1.0}
"""What a step shows of learning when there was nothing to learn from."""


def nothing_corrected(step: int) -> Sequence[Group]:
    """Where nobody scores what was judged."""
    return ()


async def train(
    job: Job,
    players: Players,
    trainer: Trainer,
    judge: Judge,
    record: Record,
    corrected: Corrected = nothing_corrected,
) -> Summary:
    """Train to the end, or until the owner wishes to pause or stop.

    Raises ValueError for a job without practice scenarios, TooFewJudged, checkpoints.DiskFull, and whatever
    broken players, tools, judges or recorders raise; everything recorded until then stays valid.
    """
    run = _Run(job, Arena(job, players, judge, record), trainer, corrected)
    run.arena.tell(PhaseChanged("preparing"))
    position = await run.resumed() or await run.started()
    if run.wanted:
        run.arena.tell(PhaseChanged("training", position.step))
        position = await run.trained(position)
    if not run.wanted:
        return run.summary(position, "paused" if run.arena.wish == "pause" else "stopped")
    run.arena.tell(PhaseChanged("evaluating", position.step))
    return run.summary(position, "done", await run.evaluated("trained", position.step))


@dataclass(frozen=True)
class _Learned:
    """A position that is yet to be saved, and what is to be reported of its step."""

    position: Position
    metrics: dict[str, float] = field(default_factory=dict)
    advantages: dict[int, tuple[float, ...]] = field(default_factory=dict)


class _Run:
    """One job under way: its steps, and what they need of each other."""

    def __init__(self, job: Job, arena: Arena, trainer: Trainer, corrected: Corrected) -> None:
        self.job, self.arena, self.trainer, self.corrected = job, arena, trainer, corrected
        self.root = Path(job.directory)
        self.train_scenarios = [s for s in job.scenarios if s.split == "train"]
        if not self.train_scenarios:
            raise ValueError("The job has no scenarios to practise on: give it some of the split “train”.")
        self.weights_sha256 = ""
        self._began = self._lap = time.monotonic()
        self._seconds_before = 0.0

    @property
    def wanted(self) -> bool:
        """Whether the run's owner wishes it to go on."""
        return self.arena.wish == "go"

    async def trained(self, position: Position) -> Position:
        """All steps that are left."""
        self._lap = time.monotonic()
        return await (self.one_step_off(position) if self.job.off_policy_steps else self.on_policy(position))

    async def on_policy(self, position: Position) -> Position:
        """Practise with the newest weights, learn, and again."""
        position = await self.validated(position)
        while self.wanted and position.step < self.job.steps:
            ahead = Ahead(self.job, self.trainer) if learns_ahead(self.job) else None
            practice = await practised(self.arena, self.curriculum(position), position.step + 1, ahead)
            learned = await self.learned(position, practice)
            handed_over = self.arena.players.use(self.trainer.weights(), learned.position.step)
            position, _ = await asyncio.gather(self.saved(learned), handed_over)
            position = await self.validated(position)
        return position

    async def one_step_off(self, position: Position) -> Position:
        """Practise the next step, with the weights at hand, while this one is learned.

        So step t learns from tries of the weights of step t - 2. A resumed run begins with the practice
        that was under way, by the weights it had (see `resumed`).
        """
        ahead = self._ahead(position.step + 1, self.curriculum(position))
        while True:
            waiting = time.monotonic()
            practice = await ahead
            waited = time.monotonic() - waiting
            await self.arena.players.use(self.trainer.weights(), position.step)
            position = await self.validated(position)
            if practice is None or not self.wanted:
                return position
            ahead = self._ahead(position.step + 2, practice.curriculum)
            position = await self.saved(await self.learned(position, practice.while_waiting(waited)))
            if not self.wanted:
                ahead.cancel()
                return position

    def _ahead(self, step: int, curriculum: Curriculum) -> asyncio.Task[Practice | None]:
        """The practice of a step, under way; None after the last step."""

        async def practice() -> Practice | None:
            return await practised(self.arena, curriculum, step) if step <= self.job.steps else None

        return asyncio.create_task(practice())

    def curriculum(self, position: Position) -> Curriculum:
        """What is known of the practice scenarios at a position."""
        if not position.curriculum:
            return Curriculum(self.job, self.train_scenarios)
        return Curriculum.from_json(position.curriculum, self.job, self.train_scenarios)

    async def resumed(self) -> Position | None:
        """Take up the newest checkpoint that verifies, and report its step again in case that was lost."""
        found, rejected = checkpoints.newest_verified(self.root)
        for sentence in rejected:
            self.arena.tell(Log("warning", sentence, f"rejected-{sentence[:80]}"))
        if found is None:
            return None
        position = Position.from_json(found.state, found.file)
        self._seconds_before = position.seconds
        before = self._weights_before(position.step) if self.job.off_policy_steps else None
        self.trainer.load(Path(found.file.directory))
        await self.arena.players.use(*(before or (self.trainer.weights(), position.step)))
        self.weights_sha256 = found.file.sha256
        self._report(position)
        return position

    def _weights_before(self, step: int) -> tuple[Mapping[str, Tensor], int] | None:
        """The weights by which the step after `step` was being played one step off, and their own step."""
        if step == 0:
            return None
        try:
            before = checkpoints.verified(self.root / f"{step - 1:06d}")
        except checkpoints.Broken as problem:
            text = (
                f"The checkpoint of step {step - 1} cannot be used ({problem}). Step {step + 1} is played "
                f"by the weights of step {step}, so the run no longer repeats to the last bit."
            )
            self.arena.tell(Log("warning", text, f"no-weights-before-{step}"))
            return None
        self.trainer.load(Path(before.file.directory))
        return self.trainer.weights(), before.file.step

    async def started(self) -> Position:
        """Evaluate the untrained agent and save it as the checkpoint of step 0."""
        await self.arena.players.use(self.trainer.weights(), 0)
        self.arena.tell(PhaseChanged("baseline"))
        baseline = await self.evaluated("baseline", 0)
        played = len(baseline.outcomes) if baseline else 0
        return await self.saved(_Learned(Position(baseline=baseline, trajectories=played)))

    async def learned(self, before: Position, practice: Practice) -> "_Learned":
        """Learn from a practice: the second half of a step of GRPO."""
        job, step = self.job, practice.step
        corrected = self.corrected(step)
        groups = [*practice.trainable, *corrected]
        found = advantages([g.rewards for g in groups], job.tie_tolerance, job.advantage_scale)
        pairs = [(g, a) for g, a in zip(groups, found, strict=True) if a is not None]
        rate = _learning_rate(job, step)
        batch = Batch(tuple(g for g, _ in pairs), tuple(a for _, a in pairs), rate)
        if learns_ahead(job):
            batch = in_parts(batch, job, step)
        began = time.monotonic()
        learned = await self._updated(step, batch, practice)
        timing = self._timing(practice, practice.ahead_seconds + time.monotonic() - began)
        after = replace(
            before,
            step=step,
            curriculum=practice.curriculum.to_json(),
            trajectories=before.trajectories + sum(len(group.trajectories) for group in practice.groups),
        )
        shown = metrics(practice) | learned | timing | {"learning_rate": rate}
        shown["tokens_per_second"] = shown["tokens_sampled"] / max(1e-9, shown["seconds"])
        if corrected:
            shown["corrected_groups"] = float(len(corrected))
        return _Learned(after, shown, {group.index: a for group, a in pairs if group.step == step})

    def _timing(self, practice: Practice, learn_seconds: float) -> dict[str, float]:
        """Where the time since the last step's learning went, without validations: what hides behind
        something else is not counted, and saving is a part of the next step's idle time."""
        now = time.monotonic()
        seconds, self._lap = now - self._lap, now
        parts = {
            "sample_seconds": practice.sample_seconds,
            "judge_seconds": practice.judge_seconds,
            "learn_seconds": learn_seconds,
        }
        return {**parts, "idle_seconds": max(0.0, seconds - sum(parts.values())), "seconds": seconds}

    async def _updated(self, step: int, batch: Batch, practice: Practice) -> dict[str, float]:
        """One update of the weights; a warning where there is nothing to learn from or the update failed."""
        if not batch.groups:
            text = (
                f"Step {step}: 0 of {practice.played} groups are trainable ({len(practice.groups)} had tries "
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
        """The position after the validation that is due at its step, if one is and the run goes on."""
        due = self.job.eval_every and position.step and position.step % self.job.eval_every == 0
        if not (due and self.wanted):
            return position
        began = time.monotonic()
        evaluation = await self.evaluated("validation", position.step)
        self._lap += time.monotonic() - began
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

    async def saved(self, learned: "_Learned") -> Position:
        """Save a position with its report as a checkpoint, beside whatever else goes on; then report."""
        position = await asyncio.to_thread(self._written, learned)
        self._report(position)
        return position

    def _written(self, learned: "_Learned") -> Position:
        position = replace(learned.position, seconds=self._seconds())

        def with_report(file: CheckpointFile) -> Position:
            report = learned.metrics and StepDone(position.step, learned.metrics, learned.advantages, file)
            return replace(position, report=report or None)

        save = self.trainer.save
        file = checkpoints.write(self.root, position.step, save, lambda file: with_report(file).to_json())
        best = [position.best[0]] if position.best else []
        newest = max(self.job.keep_checkpoints, 1 + self.job.off_policy_steps)
        checkpoints.prune(self.root, newest=newest, besides=best)
        self.weights_sha256 = file.sha256
        return with_report(file)

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
