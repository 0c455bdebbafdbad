"""Learning from groups that are judged while others of their step are still with the judge.

Two groups that lie side by side are a part of the step. Once nobody plays, the trainer computes a part as
soon as both are judged, so the time a judge takes hides behind learning. What comes out does not depend on
when anything happened: the parts, and the order in which they are added up, follow from the groups' numbers.

Only a judge who is asked over the network is slow enough for that; with any other a step is one part.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from gpu_worker.grpo import advantages, is_tied, spread
from gpu_worker.types import OFFLINE_JUDGE, Batch, Group, Job, Trainer

PART = 2
"""Groups of a part: about a micro-batch, so that there is something to learn when only some are judged."""


def learns_ahead(job: Job) -> bool:
    """Whether a job's steps are learned in parts. A penalty for leaving the base, or a second update in a
    step, needs to know all groups first; and one step off there is something else to do meanwhile."""
    slow = job.reward in ("ruler", "mix") and job.judge_model != OFFLINE_JUDGE
    return slow and job.off_policy_steps == 0 and job.optimizer_steps == 1 and job.kl_coefficient == 0


def in_parts(batch: Batch, job: Job, step: int) -> Batch:
    """A step's batch as its parts are learned. Groups of earlier steps are one more part, the last."""
    own = [group.index // PART for group in batch.groups if group.step == step]
    last = max(own, default=-1) + 1
    parts = tuple(group.index // PART if group.step == step else last for group in batch.groups)
    given = undivided(job, batch.groups)
    unit = spread([value for group in given for value in group]) if job.advantage_scale == "batch" else 1.0
    return replace(batch, advantages=given, parts=parts, unit=unit)


def undivided(job: Job, groups: Sequence[Group]) -> tuple[tuple[float, ...], ...]:
    """Advantages of groups that are not tied, before a division by the spread of the whole batch."""
    scale = "none" if job.advantage_scale == "batch" else job.advantage_scale
    found = advantages([group.rewards for group in groups], job.tie_tolerance, scale)
    return tuple(given for given in found if given is not None)


class Ahead:
    """Collects the judged groups of one step and gives the trainer each part that is complete."""

    def __init__(self, job: Job, trainer: Trainer) -> None:
        self._job, self._trainer = job, trainer
        self._parts: dict[int, dict[int, Group | None]] = {}
        self._playing = True
        self._clock = _Clock()
        self._seconds_before = 0.0

    def playing(self, going_on: bool) -> None:
        """Whether tries are being played: what is complete waits until they are over, cores being few."""
        self._playing = going_on
        if not going_on:
            self._seconds_before = self._clock.seconds()
            self._hand_over()

    def judged(self, index: int, group: Group | None) -> None:
        """A group's judgement is there; None when there was no usable one."""
        self._parts.setdefault(index // PART, {})[index] = group
        self._hand_over()

    def seconds(self) -> float:
        """How long the trainer was busy since the last try was over."""
        return self._clock.seconds() - self._seconds_before

    def _hand_over(self) -> None:
        complete = [number for number, part in self._parts.items() if len(part) == PART]
        for number in () if self._playing else sorted(complete):
            part = self._parts.pop(number)
            judged = [group for _, group in sorted(part.items()) if group is not None]
            groups = [g for g in judged if not is_tied(g.rewards, self._job.tie_tolerance)]
            if groups:
                self._clock.more(self._trainer.study(number, groups, undivided(self._job, groups)))


class _Clock:
    """Seconds in which at least one of some futures was not done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open, self._since, self._sum = 0, 0.0, 0.0

    def more(self, future: Future[Any]) -> None:
        with self._lock:
            if self._open == 0:
                self._since = time.monotonic()
            self._open += 1
        future.add_done_callback(self._less)

    def seconds(self) -> float:
        with self._lock:
            return self._sum + (time.monotonic() - self._since if self._open else 0.0)

    def _less(self, _future: Future[Any]) -> None:
        with self._lock:
            self._open -= 1
            if self._open == 0:
                self._sum += time.monotonic() - self._since
