"""The line of runs that wait for a worker: who is next, when that may be, and how a person reorders it.

One line for the whole machine, ordered by `Run.queued_at`. A person moves only runs of their own, and only
among the places these hold already, so nobody is ever pushed back by somebody else. Taking the first in
line is the lease's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from training.models import Run
from training.runs import condition
from training.runs.eta import Remaining, remaining
from training.templatetags.figures import roughly

MOMENT = timedelta(microseconds=1)
SLOW = 1.15
"""What the end of a run takes beside its steps, as a factor."""


@dataclass(frozen=True)
class Waiting:
    """A run in line. Place 1 is next. `first` and `last` are among its owner's own runs."""

    run: Run
    place: int
    starts: Remaining | None
    first: bool
    last: bool

    @property
    def words(self) -> str:
        """Where it stands and when it may start."""
        return told(self.place, self.starts)


def waiting(owner: User) -> list[Waiting]:
    """The owner's runs in line, next ones first."""
    line = list(_line().select_related("agent"))
    own = [run.pk for run in line if run.owner_id == owner.pk]
    starts = _starts(line)
    return [
        Waiting(run, place, starts[place - 1], run.pk == own[0], run.pk == own[-1])
        for place, run in enumerate(line, 1)
        if run.owner_id == owner.pk
    ]


def place_of(run: Run) -> int:
    """1 for the next one; 0 for a run that is not in line."""
    ids = list(_line().values_list("pk", flat=True))
    return ids.index(run.pk) + 1 if run.pk in ids else 0


def words_of(run: Run) -> str:
    """Where a queued run stands, in a sentence; empty when it is not in line any more."""
    line = list(_line())
    places = [waiting.pk for waiting in line]
    if run.pk not in places:
        return ""
    at = places.index(run.pk)
    return told(at + 1, _starts(line)[at])


def move(run: Run, to: int) -> bool:
    """Put a run at the place `to` (0 is first) among its owner's runs in line; False if it has left it.

    The new epochs tell a worker that is about to take one of them to look at the line again.
    """
    with transaction.atomic():
        own = list(_line().select_for_update().filter(owner=run.owner_id))
        order = [waiting for waiting in own if waiting.pk != run.pk]
        if len(order) == len(own):
            return False
        order.insert(max(0, min(to, len(order))), next(waiting for waiting in own if waiting.pk == run.pk))
        slots = _distinct([waiting.queued_at for waiting in own])
        for waiting, slot in zip(order, slots, strict=True):
            Run.objects.filter(pk=waiting.pk).update(queued_at=slot, epoch=F("epoch") + 1)
    return True


def told(place: int, starts: Remaining | None) -> str:
    """A place in line in words: "Next in line, starts in about 4 min to 7 min."."""
    if starts is None:
        if place == 1:
            return _(
                "Next in line. It starts by itself as soon as a worker is free; you can close this page."
            )
        return _("Number %(place)s in line. It starts by itself; you can close this page.") % {"place": place}
    told = {"place": place, "low": roughly(starts.low), "high": roughly(starts.high)}
    if place == 1:
        return _("Next in line, starts in about %(low)s to %(high)s.") % told
    return _("Number %(place)s in line, starts in about %(low)s to %(high)s.") % told


def _line() -> QuerySet[Run]:
    return Run.objects.filter(state=Run.State.QUEUED).order_by("queued_at", "id")


def _starts(line: Sequence[Run]) -> list[Remaining | None]:
    """When each may start, if one worker takes them in turn; None where nobody can tell."""
    before: Remaining | None = Remaining(0.0, 0.0)
    for run in Run.objects.filter(state__in=Run.ACTIVE):
        before = _sum(before, _left(run))
    found: list[Remaining | None] = []
    for run in line:
        found.append(before if before is None or before.high > 0 else None)
        before = _sum(before, _foretold(run))
    return found


def _left(run: Run) -> Remaining | None:
    """How much longer an active run takes: by its steps where there are some, else by its estimate."""
    steps = condition.recent_steps(run)
    seconds = [taken for metrics in steps.values() if (taken := metrics.get("seconds")) is not None]
    left = remaining(seconds, max(1, run.steps - run.step))
    if left is not None:
        return Remaining(left.low, left.high * SLOW)
    whole = _foretold(run)
    if whole is None or run.started_at is None:
        return whole
    gone = (timezone.now() - run.started_at).total_seconds()
    return Remaining(max(0.0, whole.low - gone), max(1.0, whole.high - gone))


def _foretold(run: Run) -> Remaining | None:
    bounds = run.estimate.get("seconds")
    return Remaining(*bounds) if bounds else None


def _sum(one: Remaining | None, other: Remaining | None) -> Remaining | None:
    return None if one is None or other is None else Remaining(one.low + other.low, one.high + other.high)


def _distinct(moments: Sequence[datetime | None]) -> list[datetime]:
    """The moments in order, each later than the one before, so that an order can be told from them."""
    found: list[datetime] = []
    for moment in moments:
        moment = moment or timezone.now()
        found.append(max(moment, found[-1] + MOMENT) if found else moment)
    return found
