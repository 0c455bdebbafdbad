"""What a run has spent: on groups that taught it nothing, and on its judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, FloatField, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from training.models import Run, StepMetrics
from training.runs import budget
from training.runs.learner import Metrics
from training.runs.sparkline import Sparkline, sparkline

RECENT = 5
"""Steps that count as the last ones."""
SUMMED = ("tokens_sampled", "tokens_tied", "groups", "tied_groups")
JUDGED = ("judge_calls", "judge_cached", "judge_tokens", "judge_cost")


@dataclass(frozen=True)
class Spent:
    """Tokens and groups of some steps, and how much of them went into ties."""

    tokens: float
    tokens_tied: float
    groups: float
    groups_tied: float

    @property
    def share(self) -> float:
        """Of the tokens; 0 when none were sampled."""
        return self.tokens_tied / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Judged:
    """What judging took in all steps so far. Dollars are those of steps whose price is known."""

    calls: float
    cached: float
    tokens: float
    cost: float
    steps: int
    unpriced_steps: int
    curve: Sparkline | None
    """Dollars of the newest steps."""
    cap: float
    """What the whole run may cost, in dollars; 0 is no cap."""
    spent: float
    """Of the cap: judge and simulated tools, of all lives of the run, dropped groups included."""

    @property
    def share_cached(self) -> float:
        return self.cached / self.calls if self.calls else 0.0

    @property
    def per_step(self) -> float:
        """Dollars."""
        priced = self.steps - self.unpriced_steps
        return self.cost / priced if priced else 0.0

    @property
    def share_of_cap(self) -> float:
        return min(1.0, self.spent / self.cap) if self.cap else 0.0


@dataclass(frozen=True)
class Spending:
    """The whole run and its last steps. `resting` scenarios are left out for a while; None: nobody counts."""

    whole: Spent
    recent: Spent
    resting: int | None
    judged: Judged | None
    """None where no judge was asked."""


def spending(run: Run, recent: Sequence[Metrics]) -> Spending | None:
    """None before the first step. `recent` are the metrics of the newest steps, oldest first."""
    if not recent:
        return None
    names = (*SUMMED, *JUDGED)
    sums = {name: Sum(Cast(KT(f"values__{name}"), FloatField())) for name in names}
    asked = Q(values__judge_calls__gt=0)
    total = StepMetrics.objects.filter(run=run).aggregate(
        **sums,
        judged_steps=Count("pk", filter=asked),
        priced_steps=Count("pk", filter=asked & Q(values__judge_cost__gte=0)),
    )
    last = recent[-RECENT:]
    resting = last[-1].get("resting_scenarios")
    return Spending(
        whole=Spent(*(total[name] or 0.0 for name in SUMMED)),
        recent=Spent(*(sum(metrics.get(name) or 0.0 for metrics in last) for name in SUMMED)),
        resting=None if resting is None else int(resting),
        judged=_judged(run, total, recent) if total["judged_steps"] else None,
    )


def _judged(run: Run, total: Mapping[str, float | None], recent: Sequence[Metrics]) -> Judged:
    steps, priced = int(total["judged_steps"] or 0), int(total["priced_steps"] or 0)
    costs = [cost for metrics in recent if (cost := metrics.get("judge_cost")) is not None]
    cap = float(run.config.get("budget") or 0.0)
    return Judged(
        calls=total["judge_calls"] or 0.0,
        cached=total["judge_cached"] or 0.0,
        tokens=total["judge_tokens"] or 0.0,
        cost=total["judge_cost"] or 0.0,
        steps=steps,
        unpriced_steps=steps - priced,
        curve=sparkline(costs) if any(costs) else None,
        cap=cap,
        spent=budget.spent(run) if cap else 0.0,
    )
