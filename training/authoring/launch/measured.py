"""What this machine has measured: how long tries are, how fast they are played and learned, by base model.

Reads finished steps of earlier runs and the last smoke try. Foretelling from it is the estimate's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import StatisticsError, fmean, linear_regression, median, quantiles

from django.db.models import QuerySet

from training.models import Agent, Errand, Run, StepMetrics

RUNS = 6
"""Newest runs that count; older ones may be from another time of this machine."""
MOST_STEPS = 240
ENOUGH_STEPS = 6
"""Fewer steps say little about what a step takes."""
WIDE = 1.5
"""Steps of sizes that differ by less than this factor tell nothing about what a step costs at rest."""
Row = tuple[float, float, float, float, float]
"""tokens sampled, seconds, seconds of sampling, tries, groups of a step"""


@dataclass(frozen=True)
class Speed:
    """A step takes `rest + token * tokens sampled` seconds; examining takes `exam` a token.

    `low` and `high` are how much faster and slower steps were than that: factors, 1 is as foretold.
    """

    rest: float
    token: float
    exam: float
    low: float
    high: float
    steps: int

    def step(self, tokens: float) -> float:
        """Seconds of a step that samples so many tokens."""
        return self.rest + self.token * tokens


@dataclass(frozen=True)
class Habits:
    """How this agent's tries are. `refill` is how many groups a step plays for one that it wants."""

    tokens: float
    """Sampled tokens of a try."""
    refill: float | None
    source: str
    """runs or smoke"""
    tries: int


def speed(agent: Agent, base_model: str, samplers: int) -> Speed | None:
    """From the newest runs with this base model: the agent's own, else those with as many samplers, else all.

    None without any.
    """
    runs = Run.objects.filter(config__base_model=base_model, step__gt=0)
    alike = runs.filter(config__samplers=samplers)
    for those in (alike.filter(agent=agent), alike, runs):
        found = _fitted(_rows(those))
        if found is not None:
            return found
    return None


def habits(agent: Agent, base_model: str) -> Habits | None:
    """From the agent's own runs, or from its last smoke try; None if it was never tried."""
    rows = _newest(StepMetrics.objects.filter(run__agent=agent, run__config__base_model=base_model))
    if rows:
        tries = sum(row[3] for row in rows)
        wanted = _groups_wanted(agent, base_model)
        refill = fmean(row[4] for row in rows) / wanted if wanted else None
        return Habits(sum(row[0] for row in rows) / max(1.0, tries), refill, "runs", int(tries))
    smoke = last_smoke(agent)
    if smoke is None or smoke.result.get("base_model") != base_model:
        return None
    told = smoke.result
    refill = 1 / max(0.05, 1 - told["tied"] / max(1, told["groups"]))
    return Habits(told["tokens"] / max(1, told["tries"]), refill, "smoke", told["tries"])


def last_smoke(agent: Agent) -> Errand | None:
    """The newest smoke try that came to its end."""
    done = Errand.objects.filter(agent=agent, kind="smoke", state=Errand.State.DONE)
    return done.order_by("-pk").first()


def usual_tokens(base_model: str) -> float | None:
    """Sampled tokens of a try of whatever agents this machine trained with the base model."""
    rows = _rows(Run.objects.filter(config__base_model=base_model, step__gt=0))
    return sum(row[0] for row in rows) / max(1.0, sum(row[3] for row in rows)) if rows else None


def _rows(runs: QuerySet[Run]) -> list[Row]:
    newest = list(runs.order_by("-pk").values_list("pk", flat=True)[:RUNS])
    return _newest(StepMetrics.objects.filter(run__in=newest)) if newest else []


def _newest(steps: QuerySet[StepMetrics]) -> list[Row]:
    columns = ("tokens_sampled", "seconds", "sample_seconds", "tries", "groups")
    found = steps.order_by("-pk").values_list(*(f"values__{name}" for name in columns))[:MOST_STEPS]
    return [row for row in found if all(isinstance(number, int | float) and number > 0 for number in row)]


def _groups_wanted(agent: Agent, base_model: str) -> float:
    runs = Run.objects.filter(agent=agent, config__base_model=base_model, step__gt=0).order_by("-pk")
    wanted = runs.values_list("config__groups_per_step", flat=True)[:RUNS]
    return fmean(found) if (found := [number for number in wanted if number]) else 0.0


def _fitted(rows: Sequence[Row]) -> Speed | None:
    if len(rows) < ENOUGH_STEPS:
        return None
    tokens, seconds = [row[0] for row in rows], [row[1] for row in rows]
    rest, token = _line(tokens, seconds)
    ratios = [took / max(1e-6, rest + token * size) for size, took in zip(tokens, seconds, strict=True)]
    tenths = quantiles(ratios, n=10, method="inclusive")
    exam = median(row[2] / row[0] for row in rows)
    return Speed(rest, token, exam, tenths[0], tenths[-1], len(rows))


def _line(tokens: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Seconds at rest and per token: a line where sizes differ enough, else through the origin."""
    if max(tokens) >= WIDE * min(tokens):
        try:
            slope, rest = linear_regression(tokens, seconds)
        except StatisticsError:
            slope, rest = 0.0, -1.0
        if slope > 0 and rest >= 0:
            return rest, slope
    return 0.0, median(took / size for size, took in zip(tokens, seconds, strict=True))
