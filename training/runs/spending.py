"""What a run has spent on groups that taught it nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import FloatField, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from training.models import Run, StepMetrics
from training.runs.learner import Metrics

RECENT = 5
"""Steps that count as the last ones."""
SUMMED = ("tokens_sampled", "tokens_tied", "groups", "tied_groups")


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
class Spending:
    """The whole run and its last steps. `resting` scenarios are left out for a while; None: nobody counts."""

    whole: Spent
    recent: Spent
    resting: int | None


def spending(run: Run, recent: Sequence[Metrics]) -> Spending | None:
    """None before the first step. `recent` are the metrics of the newest steps, oldest first."""
    if not recent:
        return None
    sums = {name: Sum(Cast(KT(f"values__{name}"), FloatField())) for name in SUMMED}
    total = StepMetrics.objects.filter(run=run).aggregate(**sums)
    last = recent[-RECENT:]
    resting = last[-1].get("resting_scenarios")
    return Spending(
        whole=Spent(*(total[name] or 0.0 for name in SUMMED)),
        recent=Spent(*(sum(metrics.get(name) or 0.0 for metrics in last) for name in SUMMED)),
        resting=None if resting is None else int(resting),
    )
