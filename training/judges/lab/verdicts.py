"""What everybody gave the tries of one group, side by side."""

from collections.abc import Mapping, Sequence
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


def verdicts(
    group: Group, sources: Sequence[Source], reasons: Mapping[str, Mapping[int, str]]
) -> list[VerdictsOfTry]:
    """Tries by your places, or by the first who scored; sources that did not score the group are left out.

    `reasons` are as sources.reasons() has them.
    """
    here = [source for source in sources if group.pk in source.values]
    if not here:
        return []
    order = [index for place in places_of(here[0].values[group.pk]) for index in place]
    ranks = {source.key: ranks_of(source.values[group.pk]) for source in here}
    return [
        VerdictsOfTry(
            index,
            try_name(index),
            [
                _verdict(source, group.pk, index, ranks[source.key], reasons.get(source.key, {}))
                for source in here
            ],
        )
        for index in order
    ]


def _verdict(
    source: Source, group: int, index: int, places: Mapping[int, int], reasons: Mapping[int, str]
) -> Verdict:
    value = source.values[group].get(index) if source.key != YOU else None
    return Verdict(source.name, value, places.get(index), reasons.get(index, ""))
