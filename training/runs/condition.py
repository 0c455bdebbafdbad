"""How a run is doing at this moment: its latest figures, whether its worker lives, what its doctor says.

Reads only. What is wrong with which figures is the doctor's business.
"""

from statistics import median
from typing import Any

from django.db.models import Q
from django.utils import timezone

from training.models import Run, StepMetrics
from training.runs import algorithm, budget, doctor
from training.runs.casebook import Facts, Finding

LATEST = 10
"""Steps that tell how long one usually takes."""
RECENT = 200
FIRST = 3
"""Steps whose figures the head and the doctor look at: the newest, and the first ones to compare with."""

Steps = dict[int, dict[str, Any]]
"""Metrics by step, oldest first."""


def recent_steps(run: Run) -> Steps:
    """The metrics of the run's first and newest steps."""
    wanted = Q(step__lte=FIRST) | Q(step__gt=run.step - RECENT)
    found = StepMetrics.objects.filter(wanted, run=run).order_by("step")
    return dict(found.values_list("step", "values"))


def silent(run: Run) -> bool:
    """Somebody should be working on it, and nobody has said so for a while."""
    return run.state in Run.ACTIVE and run.lease_until is not None and run.lease_until < timezone.now()


def stalled(run: Run) -> bool:
    """Whether the trainer should have reported by now. It asks the database only when it has been quiet."""
    if run.state not in Run.ACTIVE or run.reported_at is None:
        return False
    quiet = (timezone.now() - run.reported_at).total_seconds()
    return quiet > doctor.STALL_AT_LEAST and quiet > doctor.stalled_after(_latest_seconds(run))


def _latest_seconds(run: Run) -> list[float]:
    """What the latest steps took; nothing outside training, where no step is under way."""
    if run.state != Run.State.TRAINING:
        return []
    newest = StepMetrics.objects.filter(run=run).order_by("-step").values_list("values__seconds", flat=True)
    return [seconds for seconds in newest[:LATEST] if seconds is not None]


def diagnosis(run: Run, steps: Steps) -> list[Finding]:
    """What the doctor says about the run now."""
    seconds = [s for metrics in list(steps.values())[-LATEST:] if (s := metrics.get("seconds")) is not None]
    facts = Facts(
        on_policy=algorithm.on_policy(run.config),
        stalled_since=run.reported_at if stalled(run) else None,
        step_seconds=median(seconds) if seconds else None,
        held=not silent(run),
        budget=run.config.get("budget", 0.0),
        spent=budget.spent(run) if run.config.get("budget") and run.state in Run.ACTIVE else 0.0,
    )
    return doctor.findings(steps, facts)
