"""What a checkpoint makes of the tokens of a try: entropy and importance of each, measured when asked for.

The sampler notes the log-probability of a token and nothing else, so the rest is computed anew: only the desk
does this errand, in a process of its own (measured_computing.py). Numbers are those of the policy that
sampled the try only if its checkpoint is kept; whose they are is always said.

Source of the importance: the ratio of PPO, arXiv 1707.06347.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from training.authoring.office import errands, program
from training.authoring.office.errands import Doing, Failed
from training.models import Errand, Measurement, Trajectory
from training.review.tries.replay import checkpoint_of, steps_of

PROGRAM = "training.review.tries.measured_computing"
WHAT = {
    "loading": gettext_lazy("Loading the model"),
    "measuring": gettext_lazy("Measuring the tokens"),
}
LARGEST = 700.0
"""Of an exponent; what is larger no longer fits a float."""

Values = Mapping[str, Sequence[float | None]]
"""Of a segment: {"logprobs", "entropies"} in nats, one for each token; None where it was not drawn."""


class NotMeasured(ValueError):
    """The tokens of the try cannot be measured like this. The sentence says what to do."""


@dataclass(frozen=True)
class Measured:
    """What the token view says of it, and what it offers."""

    done: Measurement | None
    """The newest that has numbers, without them; its summary is the errand's result."""
    errand: Errand | None
    """One that goes on, or went wrong after that."""
    steps: list[int]
    """Checkpoints whose files are kept; 0 is the untrained model."""
    step: int
    """The one to begin with: that of the policy that sampled the try, else the nearest."""
    sampled_by: int | None

    @property
    def kept(self) -> bool:
        """Whether the policy that sampled the try can be asked."""
        return self.sampled_by in self.steps

    @property
    def same(self) -> bool:
        """Whether the numbers are those of the policy that sampled the try."""
        return self.done is not None and self.done.step == self.sampled_by


def measured(trajectory: Trajectory) -> Measured:
    steps, by = steps_of(trajectory.run), trajectory.policy_step
    newest = _of(trajectory).first()
    errand = errands.look_after(newest.errand) if newest else None
    return Measured(
        done=_done(trajectory).defer("segments").first(),
        errand=errand if errand and errand.state != Errand.State.DONE else None,
        steps=steps,
        step=steps[-1] if by is None else min(steps, key=lambda step: abs(step - by)),
        sampled_by=by,
    )


def values_of(trajectory: Trajectory) -> Sequence[Values]:
    """Of each segment; empty where nothing was measured."""
    done = _done(trajectory).first()
    return done.segments if done else []


def stored(trajectory: Trajectory) -> dict[str, Any] | None:
    """Everything that is kept of it, with the step of the checkpoint; None where nothing was measured."""
    return _done(trajectory).values("step", "segments").first()


def start(trajectory: Trajectory, *, owner: User, step: int) -> Measurement:
    """Ask the desk to measure; the one under way, if there is one. Raises NotMeasured."""
    if not any(any(segment["mask"]) for segment in trajectory.record.segments):
        raise NotMeasured(
            _("No token that the agent drew is kept of this try, so there is nothing to measure.")
        )
    if step not in steps_of(trajectory.run):
        raise NotMeasured(_("The files of that checkpoint are no longer kept; choose another one."))
    going_on = _of(trajectory).exclude(errand__state__in=Errand.OVER).first()
    if going_on:
        return going_on
    with transaction.atomic():
        errand = errands.start(owner=owner, kind="measure", agent=trajectory.run.agent)
        return Measurement.objects.create(trajectory=trajectory, errand=errand, step=step)


def measure(doing: Doing) -> dict[str, Any]:
    """The errand: the measurement's row gets the numbers, the errand their summary. Raises Failed."""
    measurement = Measurement.objects.select_related("trajectory__record").get(errand=doing.errand)
    if measurement.step and checkpoint_of(measurement.trajectory.run_id, measurement.step) is None:
        raise Failed(_("The files of that checkpoint are no longer kept; choose another one."))
    try:
        return _followed(measurement, doing)
    except program.Died as died:
        raise Failed(_("Measuring ended unexpectedly: %(said)s") % {"said": str(died)}) from None


def ratio(logprob: float | None, sampled: float | None) -> float | None:
    """Importance of a token: its probability by the checkpoint over that by the sampler."""
    if logprob is None or sampled is None:
        return None
    return exp(min(LARGEST, logprob - sampled))


def summary(segments: Sequence[Mapping[str, Any]], values: Sequence[Values]) -> dict[str, float | None]:
    """Over all tokens that were drawn: mean entropy, percentiles of the importance (the nearest one below,
    as a step has them), and the largest difference of two log-probabilities, in nats."""
    entropies = [each for part in values for each in part["entropies"] if each is not None]
    apart = sorted(_differences(segments, values))
    last = len(apart) - 1
    shares = {"ratio_p01": 0.01, "ratio_p50": 0.5, "ratio_p99": 0.99}
    return {
        "tokens": len(entropies),
        "entropy": sum(entropies) / len(entropies) if entropies else None,
        **{name: ratio(apart[int(share * last)], 0.0) if apart else None for name, share in shares.items()},
        "difference": max(-apart[0], apart[-1]) if apart else None,
    }


def _differences(segments: Sequence[Mapping[str, Any]], values: Sequence[Values]) -> Iterator[float]:
    """Log-probability by the checkpoint less that by the sampler, of each token that both know."""
    for segment, part in zip(segments, values, strict=True):
        for logprob, sampled in zip(part["logprobs"], segment["logprobs"], strict=True):
            if logprob is not None and sampled is not None and isfinite(logprob - sampled):
                yield logprob - sampled


def _followed(measurement: Measurement, doing: Doing) -> dict[str, Any]:
    done, total, what = 0, 0, str(WHAT["loading"])
    for told in program.told_by(PROGRAM, str(measurement.pk)):
        if "result" in told:
            return _kept(measurement, told["result"])
        if "failed" in told:
            raise Failed(told["failed"])
        if "what" in told:
            done, total, what = told["done"], told["total"], str(WHAT[told["what"]])
        doing.progress(done, total, what)
    raise AssertionError("told_by ends by raising Died")


@transaction.atomic
def _kept(measurement: Measurement, values: Sequence[Values]) -> dict[str, Any]:
    """Only the newest numbers of a try are kept."""
    found = summary(measurement.trajectory.record.segments, values)
    Measurement.objects.filter(trajectory=measurement.trajectory_id, pk__lt=measurement.pk).delete()
    Measurement.objects.filter(pk=measurement.pk).update(segments=values)
    return found


def _of(trajectory: Trajectory) -> QuerySet[Measurement]:
    return trajectory.measurements.select_related("errand").defer("segments")


def _done(trajectory: Trajectory) -> QuerySet[Measurement]:
    return trajectory.measurements.select_related("errand").filter(errand__state=Errand.State.DONE)
