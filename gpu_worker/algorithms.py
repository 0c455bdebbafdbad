"""The named choices of a training's arithmetic: their own bounds, and which do not go together.

Imports no torch, so that the start form can refuse a job in the words the trainer would use. What the
choices compute is in `grpo.py`.
"""

from gpu_worker.types import Job

BOUNDS = {"cispo": (1.0, 4.0), "ppo": (0.2, 0.28), "gspo": (3e-4, 4e-4)}
"""How far below and above 1 each loss lets the ratio go: ScaleRL and ART for CISPO, DAPO, GSPO's paper."""


def clip_bounds(job: Job) -> tuple[float, float]:
    """How far the importance ratio may fall below 1 and rise above it: the job's bounds or the loss's own."""
    low, high = BOUNDS[job.loss]
    return (
        low if job.clip_low is None else job.clip_low,
        high if job.clip_high is None else job.clip_high,
    )
