"""How much memory a run needs, and whether this machine has it free. No torch: config.json tells sizes."""

from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from gpu_worker.types import Job
from training.authoring.launch.model_size import size_of

TRAINER, SAMPLER = 900e6, 550e6
"""Bytes that a process needs before it does anything: libraries, and pages of its own."""
COPIES_TRAINER, COPIES_SAMPLER = 5, 2
"""Copies of the weights: trainer's, two shared ones, optimizer and gradients; each sampler's own layouts."""
FILLED = 0.5
"""Share of max_context that tries come to fill."""
LEARNED_AT_ONCE = 4096
"""Tokens whose activations the learner keeps at once."""
TIGHT = 0.7
"""A run that needs more than this share of what is free may push other things out."""


@dataclass(frozen=True)
class Memory:
    """`bytes` a run needs in all its processes, `free` here; None where nobody knows.

    `fits` is fits, tight, too_large or unknown.
    """

    bytes: int | None
    free: int | None
    fits: str
    words: str


def needed(job: Job, base_model: str) -> Memory:
    """What a job needs with this base model."""
    size, free = size_of(base_model), free_bytes()
    if size is None:
        return Memory(None, free, "unknown", _("The size of this model is known once it is on this machine."))
    samplers = max(1, job.samplers)
    weights = 4 * size.parameters * (COPIES_TRAINER + COPIES_SAMPLER * samplers)
    tries = min(job.groups_per_step * job.group_size, 256)
    kept = tries * job.max_context * FILLED * size.token_bytes
    learned = min(LEARNED_AT_ONCE, tries * job.max_context) * size.activations * 4 * 2
    total = int(TRAINER + SAMPLER * samplers + weights + kept + learned)
    fits = _fits(total, free)
    return Memory(total, free, fits, _words(total, free, fits))


def free_bytes() -> int | None:
    """Memory that can be had without pushing anything out; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(found["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in found else None


def _fits(total: int, free: int | None) -> str:
    if free is None:
        return "unknown"
    return "too_large" if total > free else "tight" if total > TIGHT * free else "fits"


def _words(total: int, free: int | None, fits: str) -> str:
    told = {"need": gigabytes(total), "free": "–" if free is None else gigabytes(free)}
    if fits == "fits":
        return _("%(need)s of %(free)s free: fits") % told
    if fits == "tight":
        return _("%(need)s of %(free)s free: tight") % told
    if fits == "too_large":
        return _("%(need)s, but only %(free)s are free") % told
    return _("about %(need)s") % told


def gigabytes(number: float) -> str:
    """1.9e9 -> "1.9 GB"."""
    return _("%(number)s GB") % {"number": f"{number / 1e9:.1f}"}
