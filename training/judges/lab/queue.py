"""Which groups of a run the lab looks at: some that a judge can be told apart by, drawn by a number.

The same number draws the same groups again, also while the run goes on: newer ones than `until` stay out.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.contrib.auth.models import User

from training.models import Group, Ranking, Run

MOST = 50
COUNT = 10


@dataclass(frozen=True)
class Selection:
    """`count` groups of `run` drawn by `seed` from those that are not newer than `until`."""

    run: Run
    count: int
    seed: int
    until: int

    @cached_property
    def ids(self) -> list[int]:
        """Of the groups, in the order in which they are gone through."""
        informative = Group.objects.filter(run=self.run, tied=False, tries__gte=2, pk__lte=self.until)
        drawn = sorted(informative.values_list("pk", flat=True), key=self._lot)
        return drawn[: self.count]

    @cached_property
    def groups(self) -> list[Group]:
        found = Group.objects.defer("tools", "judging", "rubric").in_bulk(self.ids)
        return [found[pk] for pk in self.ids if pk in found]

    @cached_property
    def own_rubrics(self) -> int:
        """How many of the groups have a rubric of their own."""
        return Group.objects.filter(pk__in=self.ids).exclude(rubric="").count()

    @property
    def query(self) -> str:
        """The selection as the end of an address."""
        return urlencode({"run": self.run.pk, "groups": self.count, "seed": self.seed, "until": self.until})

    def _lot(self, pk: int) -> bytes:
        return hashlib.sha256(f"{self.seed}/{pk}".encode()).digest()


@dataclass(frozen=True)
class Progress:
    """How far somebody is with ranking a selection. `resume` is the first group that is not ranked yet."""

    ranked: int
    total: int
    resume: int | None


def selected(run: Run, asked: Mapping[str, str]) -> Selection:
    """From what stands in an address; nonsense becomes what is usual."""
    newest = Group.objects.filter(run=run).order_by("-pk").values_list("pk", flat=True).first() or 0
    return Selection(
        run=run,
        count=_number(asked.get("groups"), COUNT, 1, MOST),
        seed=_number(asked.get("seed"), 1, 0, 10**6),
        until=_number(asked.get("until"), newest, 0, 2**53),
    )


def progress(selection: Selection, person: User) -> Progress:
    ranked = ranked_ids(selection.ids, person)
    left = [pk for pk in selection.ids if pk not in ranked]
    return Progress(len(ranked), len(selection.ids), left[0] if left else None)


def ranked_ids(ids: list[int], person: User) -> set[int]:
    """Those of the groups that the person has ranked."""
    standing = Ranking.objects.filter(owner=person, group__in=ids, withdrawn_at=None)
    return set(standing.values_list("group_id", flat=True))


def beside(selection: Selection, group: Group) -> tuple[int | None, int | None]:
    """The groups before and after this one; for one that is not among them, none and the first."""
    ids = selection.ids
    if group.pk not in ids:
        return None, ids[0] if ids else None
    place = ids.index(group.pk)
    return (ids[place - 1] if place else None), (ids[place + 1] if place + 1 < len(ids) else None)


def _number(text: str | None, usual: int, low: int, high: int) -> int:
    if text is None or not text.isdecimal() or len(text) > 18:
        return usual
    return min(high, max(low, int(text)))
