"""The named choices of a training's arithmetic: their own bounds, and which do not go together.

Imports no torch, so that the start form can refuse a job in the words the trainer would use. What the
choices compute is in `grpo.py`.
"""

import math
from collections.abc import Iterator

from gpu_worker.types import Job

BOUNDS = {"cispo": (1.0, 4.0), "ppo": (0.2, 0.28), "gspo": (3e-4, 4e-4)}
"""How far below and above 1 each loss lets the ratio go: ART for CISPO, DAPO (arXiv 2503.14476) for PPO,
the paper's own (arXiv 2507.18071) for GSPO."""

CHOICES: dict[str, tuple[str, ...]] = {
    "loss": tuple(BOUNDS),
    "loss_mean": ("token", "try", "constant"),
    "advantage_scale": ("batch", "group", "none"),
    "importance": ("none", "truncate", "mask"),
    "kl_in": ("loss", "advantage"),
}


def clip_bounds(job: Job) -> tuple[float, float]:
    """How far the importance ratio may fall below 1 and rise above it: the job's bounds or the loss's own."""
    low, high = BOUNDS[job.loss]
    return (
        low if job.clip_low is None else job.clip_low,
        high if job.clip_high is None else job.clip_high,
    )


def refusal(job: Job) -> str | None:
    """Why this job's algorithm makes no sense, in one plain sentence; None where it does."""
    return next(_reasons(job), None)


def _reasons(job: Job) -> Iterator[str]:
    for knob, names in CHOICES.items():
        if getattr(job, knob) not in names:
            yield f"{knob} cannot be “{getattr(job, knob)}”: it is one of {', '.join(names)}."
            return
    yield from _clip_reasons(job)
    yield from _kl_reasons(job)
    yield from _importance_reasons(job)
    if job.lora_rank < 0:
        yield f"lora_rank is {job.lora_rank}: it is 1 or more, or 0 to learn all weights."
    if job.optimizer_steps < 1:
        yield f"optimizer_steps is {job.optimizer_steps}: a training step needs at least one weight update."


def _clip_reasons(job: Job) -> Iterator[str]:
    low, high = clip_bounds(job)
    if not 0 <= low <= 1:
        yield f"clip_low is {low:g}: the lower bound 1 - clip_low must be a number from 0 to 1."
    if not (math.isfinite(high) and high >= 0):
        yield f"clip_high is {high:g}: the upper bound 1 + clip_high must be a number from 1 upwards."
    if job.loss != "cispo" and not (low > 0 and high > 0):
        yield (
            f"clip_low and clip_high must both be above 0 with {job.loss}: at 0 rounding alone decides "
            "which tokens are learned from."
        )


def _kl_reasons(job: Job) -> Iterator[str]:
    if not (math.isfinite(job.kl_coefficient) and job.kl_coefficient >= 0):
        yield f"kl_coefficient is {job.kl_coefficient:g}: a penalty is 0 or more."
    if job.kl_in == "advantage" and job.kl_coefficient == 0:
        yield "kl_in is “advantage”, but kl_coefficient is 0, so there is no penalty to put there."


def _importance_reasons(job: Job) -> Iterator[str]:
    if job.importance == "none":
        return
    if not (math.isfinite(job.importance_cap) and job.importance_cap > 1):
        yield (
            f"importance_cap is {job.importance_cap:g}: it must be above 1, "
            "or tokens on which sampler and learner agree would count for less."
        )
    if job.loss == "gspo":
        yield (
            f"importance “{job.importance}” weighs single tokens, but gspo weighs whole tries, whose ratio "
            "already compares learner and sampler: choose importance “none” with it."
        )
