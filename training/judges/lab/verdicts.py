"""What everybody gave the tries of one group, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from training.judges.lab.agreement import places_of, ranks_of
from training.judges.lab.ranking import try_name
from training.judges.lab.sources import YOU, Source
from training.models import Group


@dataclass(frozen=True)
class Verdict:
    """By one source of one try: the score, or the place where a person only ranked."""

    source: str
    value: float | None
    place: int | None
    reason: str


@dataclass(frozen=True)
class VerdictsOfTry:
    index: int
    name: str
    given: list[Verdict]


def verdicts(group: Group, sources: Sequence[Source]) -> list[VerdictsOfTry]:
    """Tries by your places, or by the first who scored; sources that did not score the group are left out."""
    here = [source for source in sources if group.pk in source.values]
    if not here:
        return []
    order = [index for place in places_of(here[0].values[group.pk]) for index in place]
    ranks = {source.key: ranks_of(source.values[group.pk]) for source in here}
    return [
        VerdictsOfTry(i, try_name(i), [_verdict(s, group.pk, i, ranks[s.key]) for s in here]) for i in order
    ]


def _verdict(source: Source, group: int, index: int, places: dict[int, int]) -> Verdict:
    value = source.values[group].get(index) if source.key != YOU else None
    reason = source.reasons.get(group, {}).get(index, "")
    return Verdict(source.name, value, places.get(index), reason)
