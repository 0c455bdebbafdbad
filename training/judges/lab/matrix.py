"""The lab's results: a row for every way of scoring, and how much each two of them agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from statistics import fmean

from django.utils.translation import gettext as _

from training.judges.lab import agreement
from training.judges.lab.agreement import Estimate, Two
from training.judges.lab.sources import YOU, Answer, Source
from training.templatetags.figures import dollars

TONES = 4
"""Shades of agreement on each side of none."""


@dataclass(frozen=True)
class Row:
    """One way of scoring, measured. What only judges on trial have is None for the others."""

    source: Source
    groups: int
    tau: Estimate | None
    pairs: Estimate | None
    best: Estimate | None
    flip: Estimate | None
    repeat: Estimate | None
    bias: Estimate | None
    profile: list[tuple[float, float]]
    cost: float | None
    priced: bool
    seconds: float | None
    tokens: tuple[float, float] | None
    failed: int
    problem: str

    @property
    def dollars(self) -> str:
        """Of one group, finely: judges cost parts of a cent. A plus sign where some price is not known."""
        if self.cost is None:
            return _("price unknown")
        told = f"${self.cost:.4f}" if 0 < self.cost < 1 else dollars(self.cost)
        return told if self.priced else f"{told} +"


@dataclass(frozen=True)
class Cell:
    """τ of two ways of scoring. `tone` runs from n4 (reverse) over 0 to p4 (the same)."""

    estimate: Estimate
    tone: str
    itself: bool


@dataclass(frozen=True)
class HeatRow:
    source: Source
    cells: list[Cell]


def rows(sources: Sequence[Source]) -> list[Row]:
    """You are the measure where you have ranked; without that only stability and cost can be told."""
    you = next((source for source in sources if source.key == YOU), None)
    return [_row(source, you) for source in sources if source.key != YOU]


def heat(sources: Sequence[Source]) -> list[HeatRow]:
    """Everybody against everybody; those who have scored nothing are left out."""
    here = [source for source in sources if source.values]
    known = {
        frozenset((one.key, other.key)): agreement.tau(both(one, other))
        for one, other in combinations(here, 2)
    }
    return [HeatRow(one, [_cell(one, other, known) for other in here]) for one in here]


def both(one: Source, other: Source) -> list[Two]:
    """The groups that both have scored."""
    return [
        (one.values[group], other.values[group]) for group in sorted(one.values.keys() & other.values.keys())
    ]


def _row(source: Source, you: Source | None) -> Row:
    mine = both(you, source) if you else []
    turned = [
        (source.seeded[g], source.flipped[g]) for g in sorted(source.seeded.keys() & source.flipped.keys())
    ]
    again = [
        (source.values[g], values)
        for g in sorted(source.repeated)
        for values in source.repeated[g]
        if g in source.values
    ]
    answered = [answer for answer in source.answers if not answer.error]
    costs = [_of(answer, "cost") for answer in answered]
    known = [cost for cost in costs if cost is not None]
    failures = [answer for answer in source.answers if answer.error]
    return Row(
        source=source,
        groups=len(source.values),
        tau=agreement.tau(mine) if mine else None,
        pairs=agreement.pairwise(mine) if mine else None,
        best=agreement.same_best(mine) if mine else None,
        flip=agreement.tau((a.values, b.values) for a, b in turned) if turned else None,
        repeat=agreement.tau(again) if again else None,
        bias=agreement.position_bias(turned) if turned else None,
        profile=_bars(agreement.bias_by_position(turned)),
        cost=fmean(known) if known else None,
        priced=len(known) == len(costs),
        seconds=fmean(_of(answer, "seconds") or 0.0 for answer in answered) if answered else None,
        tokens=_tokens(answered),
        failed=len(failures),
        problem=failures[-1].error if failures else "",
    )


def _cell(one: Source, other: Source, known: Mapping[frozenset[str], Estimate]) -> Cell:
    itself = one.key == other.key
    estimate = Estimate(1.0, 1.0, 1.0, len(one.values)) if itself else known[frozenset((one.key, other.key))]
    return Cell(estimate, _tone(estimate), itself)


def _tone(estimate: Estimate) -> str:
    if estimate.value is None or not estimate.enough:
        return "none"
    shade = min(TONES, round(abs(estimate.value) * TONES + 1e-9))
    return "0" if not shade else f"{'p' if estimate.value > 0 else 'n'}{shade}"


def _bars(profile: Sequence[float]) -> list[tuple[float, float]]:
    """Top and height of a bar for each place, in a drawing 20 high with nought in the middle."""
    largest = max(chain((0.02,), map(abs, profile)))
    heights = [9 * abs(beyond) / largest for beyond in profile]
    return [(10 - h if beyond > 0 else 10, max(0.5, h)) for beyond, h in zip(profile, heights, strict=True)]


def _tokens(answers: Sequence[Answer]) -> tuple[float, float] | None:
    if not answers:
        return None
    asked = fmean(_of(answer, "prompt_tokens") or 0.0 for answer in answers)
    return asked, fmean(_of(answer, "answer_tokens") or 0.0 for answer in answers)


def _of(answer: Answer, name: str) -> float | None:
    found = answer.judging.get(name)
    return float(found) if isinstance(found, int | float) else None
