"""Signs that the weights move too far, too wildly or not for the better. The tries are not looked at."""

from collections.abc import Iterator
from statistics import median

from django.utils.translation import gettext as _

from training.runs.casebook import LATEST, Facts, Figures, Finding
from training.runs.trend import trend
from training.templatetags.figures import figure, score

ENTROPY_LEFT, NO_ENTROPY = 0.2, 0.005
"""The share of the first entropy, and the nats, below which an agent hardly tries anything new."""
RATIO_ON_POLICY = (0.67, 1.5)
RATIO_OFF_POLICY = (0.33, 3.0)
GRADIENT_JUMP = 10.0
KL_BOUND = 1.0
"""Nats per token; a policy that far from its base has usually lost what the base could say."""


def non_finite(figures: Figures, facts: Facts) -> Iterator[Finding]:
    recent = figures.steps[-5:]
    broken = sum(bool(row.get("skipped")) and bool(row.get("tokens_trained")) for row in recent)
    if broken:
        told = {"count": broken, "steps": len(recent)}
        yield Finding(
            "not-finite",
            "alarm",
            _("Updates are left out."),
            _("In %(count)s of the last %(steps)s steps the loss or gradient was not a number.") % told,
            _(
                "The weights were not harmed. Start a new run with a lower learning_rate; with bfloat16 "
                "sampling, try float32."
            ),
            "gradient",
        )


def entropy(figures: Figures, facts: Facts) -> Iterator[Finding]:
    values, level = figures.known("entropy"), figures.level("entropy")
    if level is None or figures.solved:
        return
    start = median(values[:LATEST])
    falling = len(values) >= 10 and level < ENTROPY_LEFT * start and trend(values[-10:]).falls
    if falling or level < NO_ENTROPY:
        yield Finding(
            "entropy",
            "warning",
            _("The agent stops exploring."),
            _("Its entropy is %(level)s, from %(start)s at first, and the task is not solved.")
            % {"level": figure(level), "start": figure(start)},
            _(
                "All tries become the same try. Start again with a lower learning_rate, a larger "
                "clip_high or a little kl_coefficient."
            ),
            "entropy",
        )


def ratio(figures: Figures, facts: Facts) -> Iterator[Finding]:
    low, high = RATIO_ON_POLICY if facts.on_policy else RATIO_OFF_POLICY
    lowest, highest = figures.level("ratio_p01"), figures.level("ratio_p99")
    if lowest is None or highest is None or (lowest >= low and highest <= high):
        return
    told = {"low": score(lowest), "high": score(highest)}
    yield Finding(
        "ratio",
        "warning",
        _("Sampler and learner disagree."),
        _("For 98 %% of the tokens their ratio lies between %(low)s and %(high)s.") % told,
        _(
            "On-policy it should be close to 1: the sampler's number format is too coarse, or it samples "
            "with old weights. Try sampler_dtype float32, or importance truncate."
        )
        if facts.on_policy
        else _("The weights move far in one step. Lower learning_rate, or set importance to truncate."),
        "ratio",
    )


def gradient(figures: Figures, facts: Facts) -> Iterator[Finding]:
    before, now = figures.known("grad_norm")[:-LATEST][-20:], figures.level("grad_norm")
    if now is None or len(before) < 5 or now <= GRADIENT_JUMP * median(before):
        return
    yield Finding(
        "gradient",
        "warning",
        _("Gradients explode."),
        _("Their norm is %(now)s; before, it was %(usual)s.")
        % {"now": figure(now), "usual": figure(median(before))},
        _(
            "They are limited to max_grad_norm, so nothing is lost yet. If the reward falls too, start "
            "again with half the learning_rate."
        ),
        "gradient",
    )


def kl(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if (level := figures.above("kl", KL_BOUND)) is not None:
        yield Finding(
            "kl",
            "warning",
            _("The agent has moved far from its base model."),
            _("Its distance is %(level)s nats per token.") % {"level": figure(level)},
            _(
                "It may have forgotten other things it could do. Compare both on questions outside this "
                "task; a lower learning_rate or a kl_coefficient of 0.01 holds it closer."
            ),
            "kl",
        )
