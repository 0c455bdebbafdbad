"""What is wrong with a training, in plain words, and what to do about it.

A pure function of the figures of the finished steps and a few facts about the run; it looks nothing up
and stores nothing. When all is well it finds nothing. Each sign is a function of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from django.utils.translation import gettext as _

from training.runs import signs_in_learning, signs_in_tries
from training.runs.casebook import SEVERITIES, Facts, Figures, Finding
from training.runs.learner import Metrics
from training.templatetags.figures import duration

STALL = 6.0
"""Steps' time without a report after which a run counts as stalled."""
NEARLY = 0.8
"""Share of a budget from which on it is worth a word."""
STALL_AT_LEAST, STALL_UNKNOWN = 15.0, 300.0
"""Seconds: never sooner, and while nobody knows yet how long a step takes."""


def findings(metrics_by_step: Mapping[int, Metrics], facts: Facts) -> list[Finding]:
    """Everything that is wrong, alarms first; empty when the run is healthy."""
    figures = Figures(metrics_by_step)
    found = [finding for sign in SIGNS for finding in sign(figures, facts)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def stalled_after(step_seconds: Sequence[float]) -> float:
    """Seconds without a report that are too many, given what the latest steps took."""
    return max(STALL_AT_LEAST, STALL * median(step_seconds)) if step_seconds else STALL_UNKNOWN


def _stall(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if facts.stalled_since is None:
        return
    usual = _("A step usually takes %(usual)s.") % {"usual": duration(facts.step_seconds)}
    yield Finding(
        "stall",
        "alarm",
        _("Nothing has been reported for a long time."),
        usual if facts.step_seconds else _("The first step is not done yet."),
        _(
            "The worker still holds the run, so it is very busy or it hangs: look at the worker's log and at "
            "the machine's load. Stopping the worker loses nothing; another one goes on from the last step."
        )
        if facts.held
        else _(
            "The worker is gone. Another one takes over by itself; if none does within a minute, start one."
        ),
        since=facts.stalled_since,
    )


def _money(figures: Figures, facts: Facts) -> Iterator[Finding]:
    if not facts.budget or facts.spent < NEARLY * facts.budget:
        return
    told = {"spent": f"{facts.spent:.2f}", "budget": f"{facts.budget:.2f}"}
    yield Finding(
        "budget",
        "warning",
        _("The budget is nearly used up."),
        _("$%(spent)s of $%(budget)s are spent.") % told,
        _("The run pauses before it would spend more. Raise the cap then, and it goes on where it was."),
    )


SIGNS: tuple[Callable[[Figures, Facts], Iterator[Finding]], ...] = (
    _stall,
    _money,
    signs_in_learning.non_finite,
    signs_in_tries.hacking,
    signs_in_tries.dropped,
    signs_in_tries.tied,
    signs_in_tries.truncated,
    signs_in_tries.malformed,
    signs_in_learning.entropy,
    signs_in_learning.ratio,
    signs_in_learning.gradient,
    signs_in_learning.kl,
    signs_in_tries.flat,
)
