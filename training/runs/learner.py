"""What the learner shows of itself: the columns of its table and the charts that are drawn from them.

One list says which figures there are, what each means and what good looks like; the page, the frames and
the browser's charts follow it. Judging the figures is the doctor's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from django.utils.translation import gettext_lazy as _

from training.templatetags.figures import duration, figure, fine_percent

Metrics = Mapping[str, float | None]
Unit = Literal["number", "share", "seconds", "count"]

LEARNED = (
    "loss",
    "grad_norm",
    "entropy",
    "clip_fraction",
    "kl",
    "ratio_p01",
    "ratio_p50",
    "ratio_p99",
    "ratio_max",
)
"""Measured while learning: a step that learned nothing has none of them, whatever stands in their place."""
NEWEST, MOST = 100, 400
"""Steps a page shows one by one, and at most; of the older ones every second, third, … is shown."""
WRITTEN = {"share": fine_percent, "seconds": duration, "number": figure, "count": figure}


@dataclass(frozen=True)
class Line:
    """A figure of each step. `colour` is one of the chart colours of tokens.css."""

    name: str
    word: str
    colour: str = "reward"


@dataclass(frozen=True)
class Chart:
    """Figures that are drawn together; `low` and `high` are always in view."""

    id: str
    title: str
    sentence: str
    unit: Unit
    lines: tuple[Line, ...]
    kind: Literal["lines", "band", "stack"] = "lines"
    low: float | None = 0.0
    high: float | None = None


CHARTS = (
    Chart(
        "reward",
        _("Reward and checks"),
        _(
            "What the agent learns from, and what checks that cannot be argued with say of the same tries. "
            "Good: both rise together."
        ),
        "number",
        (Line("reward", _("reward")), Line("checks", _("checks"), "success")),
        high=1.0,
    ),
    Chart(
        "entropy",
        _("Entropy"),
        _(
            "How undecided the model is at each token, in nats. Good: it falls slowly; "
            "near zero the agent stops exploring."
        ),
        "number",
        (Line("entropy", _("entropy")),),
    ),
    Chart(
        "kl",
        _("Distance to base (KL)"),
        _(
            "How far the agent has moved from the untrained model, in nats per token. Good: it grows slowly, "
            "without jumps."
        ),
        "number",
        (Line("kl", _("distance")),),
    ),
    Chart(
        "clip",
        _("Clip fraction"),
        _(
            "Share of tokens whose weight was limited because the model had moved since they were sampled. "
            "Good: a few per cent at most."
        ),
        "share",
        (Line("clip_fraction", _("clipped")),),
        high=0.05,
    ),
    Chart(
        "ratio",
        _("Importance ratio"),
        _(
            "How much likelier the learner finds the sampled tokens than the sampler did; 98 % of them lie "
            "in the band. Good: close to 1."
        ),
        "number",
        (
            Line("ratio_p01", _("1st percentile"), "idle"),
            Line("ratio_p50", _("median")),
            Line("ratio_p99", _("99th percentile"), "idle"),
        ),
        kind="band",
        low=0.9,
        high=1.1,
    ),
    Chart(
        "gradient",
        _("Gradient norm"),
        _("Size of the change asked of the weights, before it is limited. Good: steady, without jumps."),
        "number",
        (Line("grad_norm", _("norm")),),
    ),
    Chart(
        "rate",
        _("Learning rate"),
        _("How large a change the optimizer makes of it. Good: it follows its plan, from the peak down."),
        "number",
        (Line("learning_rate", _("rate")),),
    ),
    Chart(
        "ties",
        _("Tied groups"),
        _("Share of groups whose tries all scored alike, so that they teach nothing. Good: below a half."),
        "share",
        (Line("tied_share", _("tied"), "held-out"),),
        high=1.0,
    ),
    Chart(
        "endings",
        _("Tries that broke off"),
        _("Share of tries that were cut off, and with an unreadable tool call. Good: both near zero."),
        "share",
        (Line("truncated", _("cut off")), Line("malformed", _("unreadable call"), "held-out")),
        high=0.25,
    ),
    Chart(
        "tokens",
        _("Tokens"),
        _(
            "What the agent said, what was learned from, and what the learner computed for it, with shared "
            "beginnings once. Good: the first two lie close together."
        ),
        "count",
        (
            Line("tokens_sampled", _("sampled")),
            Line("tokens_trained", _("trained"), "success"),
            Line("nodes", _("computed"), "held-out"),
        ),
    ),
    Chart(
        "speed",
        _("Tokens per second"),
        _("Tokens sampled for each second of a step. Good: steady; a fall means that something waits."),
        "count",
        (Line("tokens_per_second", _("tokens/s")),),
    ),
    Chart(
        "time",
        _("Where the time goes"),
        _("The seconds of a step, by what they went into. Good: playing and learning fill nearly all of it."),
        "seconds",
        (
            Line("sample_seconds", _("playing")),
            Line("judge_seconds", _("judging"), "held-out"),
            Line("learn_seconds", _("learning"), "success"),
            Line("idle_seconds", _("idle"), "idle"),
        ),
        kind="stack",
    ),
)
COLUMNS = tuple((chart, line) for chart in CHARTS for line in chart.lines)


@dataclass(frozen=True)
class Row:
    """One step's figures in the order of COLUMNS."""

    seq: int
    step: int
    values: tuple[float | None, ...]

    @cached_property
    def numbers(self) -> str:
        """For the charts: "0.41 - 1.02", a dash where nothing was measured."""
        return " ".join("-" if value is None else f"{value:.6g}" for value in self.values)

    @cached_property
    def cells(self) -> list[str]:
        """For people."""
        return [
            WRITTEN[chart.unit](value) for (chart, _line), value in zip(COLUMNS, self.values, strict=True)
        ]


def row(seq: int, step: int, metrics: Metrics) -> Row:
    values = measured(metrics)
    return Row(seq, step, tuple(values.get(line.name) for _chart, line in COLUMNS))


def thinned(rows: Sequence[Row]) -> list[Row]:
    """At most MOST rows: the first, the newest ones, and every n-th in between."""
    older, newest = rows[:-NEWEST], rows[-NEWEST:]
    every = -(-len(older) // (MOST - NEWEST)) or 1
    return [*older[::every], *newest]


def measured(metrics: Metrics) -> dict[str, float | None]:
    """A step's figures without what stands for "not measured", and with the shares that follow from them."""
    values: dict[str, Any] = dict(metrics)
    if values.get("skipped"):
        values |= dict.fromkeys(LEARNED)
    groups = values.get("groups") or 0.0
    played = groups + (values.get("dropped_groups") or 0.0)
    values["tied_share"] = (values.get("tied_groups") or 0.0) / groups if groups else None
    values["dropped_share"] = (values.get("dropped_groups") or 0.0) / played if played else None
    return values
