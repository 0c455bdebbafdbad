"""Pages of tries in order, found without counting and without skipping: work is bounded whatever is asked.

Where one of the filters lets few tries pass, those are looked at and sorted. Else tries are read in the
order of the list, through an index, from where the page before ended; the windows that are read grow until
a page is full or PATIENCE is over. A list that is not finished then says how far it looked, and goes on.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import F, OrderBy, Q, QuerySet
from django.db.models.lookups import In

from training.models import Trajectory, TrajectoryRecord
from training.review.feed import search
from training.review.feed.conditions import Beyond, Condition, Looked, Where
from training.review.feed.filters import Filters
from training.review.feed.wanted import Wanted, text_of

PAGE = 50
FEW = 4000
"""Tries that are looked at one by one and sorted rather than read in order."""
LATE = 8
"""Steps by which a try may be recorded later than one of a later step."""
WINDOW = 2_000
"""Tries of the first window; each next one is four times as large."""
LIKELY = 200
"""Tries whose transcripts are read at a time."""
PATIENCE = 0.25
"""Seconds after which a list that is not full is shown as far as it is."""

COLUMNS = {"best": "reward", "worst": "reward", "longest": "turns", "shortest": "turns"} | {
    "most_advantage": "advantage",
    "least_advantage": "advantage",
}
FALLING = ("newest", "best", "most_advantage", "longest")


@dataclass(frozen=True)
class Place:
    """Between two tries of a list: right after the one with this value and id. `value` is 0 by id."""

    value: float
    id: int

    def __str__(self) -> str:
        return f"{self.value!r}~{self.id}"


@dataclass(frozen=True)
class Scope:
    """Whose tries: of one run, or of all runs of a person."""

    runs: tuple[int, ...]

    @property
    def one(self) -> bool:
        return len(self.runs) == 1


@dataclass(frozen=True)
class Found:
    """`ids` in the order of the list. `rest` is where to go on if time was over before the page was full."""

    ids: tuple[int, ...]
    first: Place | None = None
    last: Place | None = None
    before: bool = False
    after: bool = False
    rest: Place | None = None


def place(text: str) -> Place | None:
    """A place as it stands in an address; None for one that makes no sense."""
    value, _, number = text.partition("~")
    try:
        found = Place(float(value), int(number))
    except ValueError:
        return None
    return found if abs(found.value) < 1e9 and 0 <= found.id < 2**62 else None


@dataclass(frozen=True)
class Order:
    """`column` is empty where the id decides alone."""

    column: str
    falling: bool

    @property
    def reversed(self) -> "Order":
        return Order(self.column, not self.falling)

    @property
    def columns(self) -> list[str]:
        sign = "-" if self.falling else ""
        return [f"{sign}{name}" for name in (self.column, "id") if name]

    @property
    def sorted(self) -> list[OrderBy]:
        """The same where a few tries are named by their ids, which then come in order; values are sorted."""
        names = [Looked(F(self.column)), F("id")] if self.column else [F("id")]
        return [OrderBy(name, descending=self.falling) for name in names]

    def beyond(self, at: Place) -> Q:
        """What comes after a place, for rows that are looked at one by one."""
        if not self.column:
            return self._ids(at, None)
        return Q(Beyond(self.column, "<" if self.falling else ">", at.value, at.id))

    def between(self, at: Place | None, end: Place | None) -> list[Q]:
        """What comes after one place, up to another, as stretches of an index.

        Among equal values the index leads to an id. SQLite would not see that in (value, id) > (…, …), and
        read all equal values to find it.
        """
        if not self.column:
            return [self._ids(at, end)]
        if at and end and at.value == end.value:
            return [Q(**{self.column: at.value}) & self._ids(at, end)]
        after, before = ("lt", "gt") if self.falling else ("gt", "lt")
        first = [Q(**{self.column: at.value}) & self._ids(at, None)] if at else []
        last = [Q(**{self.column: end.value}) & self._ids(None, end)] if end else []
        middle = Q(**{f"{self.column}__{after}": at.value}) if at else Q()
        middle &= Q(**{f"{self.column}__{before}": end.value}) if end else Q()
        return [*first, middle, *last]

    def _ids(self, at: Place | None, end: Place | None) -> Q:
        after, up_to = ("lt", "gte") if self.falling else ("gt", "lte")
        where = Q(**{f"pk__{after}": at.id}) if at else Q()
        return where & Q(**{f"pk__{up_to}": end.id}) if end else where

    def first(self, places: Sequence[Place]) -> Place | None:
        """The one that comes before the others."""
        return self._sorted(places)[0] if places else None

    def last(self, places: Sequence[Place]) -> Place | None:
        """The one that comes after the others."""
        return self._sorted(places)[-1] if places else None

    def _sorted(self, places: Sequence[Place]) -> list[Place]:
        return sorted(places, key=lambda place: (place.value, place.id), reverse=self.falling)

    def ahead(self, lead: QuerySet[Trajectory], at: Place | None, count: int) -> Place | None:
        """The place at least so many tries after another, in the order of an index; None beyond the end."""
        stretches = (lead.filter(where)[count - 1 : count] for where in self.between(at, None))
        return next((place for tries in stretches for place in self.places(tries)), None)

    def places(self, tries: QuerySet[Trajectory]) -> list[Place]:
        if not self.column:
            return [Place(0.0, pk) for pk in tries.values_list("pk", flat=True)]
        return [Place(float(value), pk) for value, pk in tries.values_list(self.column, "pk")]


def order_of(filters: Filters) -> Order:
    return Order(COLUMNS.get(filters.order, ""), filters.order in FALLING)


def page(
    scope: Scope,
    order: Order,
    conditions: Sequence[Condition],
    *,
    asked: Wanted | None = None,
    at: Place | None = None,
    backwards: bool = False,
) -> Found:
    """The page after a place, or before it; with no place the first page, or the last."""
    walked = order.reversed if backwards else order
    places, rest = _walk(scope, walked, conditions, asked, at)
    more = len(places) > PAGE
    shown = places[:PAGE]
    if backwards:
        shown.reverse()
    return Found(
        ids=tuple(one.id for one in shown),
        first=shown[0] if shown else None,
        last=shown[-1] if shown else None,
        before=more if backwards else at is not None,
        after=at is not None if backwards else more,
        rest=rest,
    )


def _walk(
    scope: Scope, order: Order, conditions: Sequence[Condition], asked: Wanted | None, at: Place | None
) -> tuple[list[Place], Place | None]:
    """At most a page and one of the places after `at`, and where time was over if it was."""
    windows = _windows(scope, order, conditions, asked, at)
    found: list[Place] = []
    over = time.monotonic() + PATIENCE
    for stretches, end in windows:
        for tries in stretches:
            found += _passing(tries, order, asked, PAGE + 1 - len(found))
        if len(found) > PAGE or end is None:
            break
        if time.monotonic() > over:
            return found, end
    return found, None


def _passing(tries: QuerySet[Trajectory], order: Order, asked: Wanted | None, most: int) -> list[Place]:
    """The first of some tries, of those whose transcripts say what is wanted."""
    if asked is None:
        return order.places(tries[:most])
    likely = order.places(tries)
    records = TrajectoryRecord.objects.filter(pk__in=[one.id for one in likely])
    told = records.values_list("pk", "messages")
    said = {pk for pk, messages in told if asked.in_text(text_of(messages))}
    return [one for one in likely if one.id in said][:most]


Window = tuple[list[QuerySet[Trajectory]], Place | None]
"""Tries that pass the filters between two places, and the second of them; None at the end of the list."""


def _windows(
    scope: Scope, order: Order, conditions: Sequence[Condition], asked: Wanted | None, at: Place | None
) -> Iterator[Window]:
    if asked is not None and asked.grams:
        return _likely(scope, order, _read(conditions, None), asked, at)
    few, led = _few(scope, conditions)
    if few is not None:
        tries = few.filter(*_valued(order), *_read(conditions, led)).order_by(*order.sorted)
        return iter([([tries.filter(order.beyond(at)) if at else tries], None)])
    lead, led = _lead(scope, order, conditions)
    start, stop = (None, None) if order.column else _around_steps(scope, order, conditions)
    at = order.last([place for place in (at, start) if place])
    return _growing(lead, order, _read(conditions, led), at, stop, asked is not None)


def _read(conditions: Sequence[Condition], led: Condition | None) -> list[Where]:
    """What is left to be looked at in tries that one of the filters led to."""
    return [condition.read for condition in conditions if condition is not led]


def _growing(
    lead: QuerySet[Trajectory],
    order: Order,
    read: list[Where],
    at: Place | None,
    stop: Place | None,
    spoken: bool,
) -> Iterator[Window]:
    """Windows of a list that is read in order, up to a place or its end."""
    size = LIKELY if spoken else WINDOW
    while True:
        end = order.ahead(lead, at, size) if read or spoken else None
        end = order.first([place for place in (end, stop) if place])
        over = end is None or end == stop
        yield [lead.filter(where).filter(*read) for where in order.between(at, end)], None if over else end
        if over:
            return
        at, size = end, size * 4


def _likely(
    scope: Scope, order: Order, read: list[Where], asked: Wanted, at: Place | None
) -> Iterator[Window]:
    """Windows of tries that the search's index names."""
    rising = not order.falling
    while True:
        bound = {"after" if rising else "before": at.id if at else None}
        ids = search.candidates(
            asked, **{"after": None, "before": None, **bound}, rising=rising, limit=LIKELY
        )
        at = Place(0.0, ids[-1]) if len(ids) == LIKELY else None
        yield [Trajectory.objects.filter(_of(scope), *read, pk__in=ids).order_by(*order.columns)], at
        if at is None:
            return


def _valued(order: Order) -> list[Q]:
    """Tries that were not trained on have no advantage, so no place by it."""
    return [Q(advantage__isnull=False)] if order.column == "advantage" else []


def _lead(
    scope: Scope, order: Order, conditions: Sequence[Condition]
) -> tuple[QuerySet[Trajectory], Condition | None]:
    """Tries in the order of the list, through an index that begins with the run; the filter it has in it."""
    if not scope.one:
        return Trajectory.objects.filter(_of(scope)).order_by(*order.columns), None
    tries = Trajectory.objects.filter(run_id=scope.runs[0]).filter(*_valued(order))
    led = next((c for c in conditions if c.free and _in_order(c, order)), None)
    tries = tries.filter(led.free) if led and led.free else tries
    return tries.order_by(*order.columns), led


def _in_order(condition: Condition, order: Order) -> bool:
    return not order.column or (condition.name, order.column) == ("success", "reward")


def _around_steps(
    scope: Scope, order: Order, conditions: Sequence[Condition]
) -> tuple[Place | None, Place | None]:
    """Places before and after all tries of the steps asked for: steps are recorded one after the other."""
    steps = next((condition for condition in conditions if condition.name == "step"), None)
    if steps is None or not scope.one:
        return None, None
    low, high = steps.span
    tries = Trajectory.objects.filter(run_id=scope.runs[0])
    below, above = None, None
    if low is not None:
        below = _top(tries.filter(step__lt=low - LATE).order_by("-step", "-id"))
    if high is not None:
        above = _top(tries.filter(step__gt=high + LATE).order_by("step", "id"))
    return (above, below) if order.falling else (below, above)


def _top(tries: QuerySet[Trajectory]) -> Place | None:
    return next((Place(0.0, pk) for pk in tries.values_list("pk", flat=True)[:1]), None)


def _few(
    scope: Scope, conditions: Sequence[Condition]
) -> tuple[QuerySet[Trajectory] | None, Condition | None]:
    """The tries that pass one of the filters, where that is few, and the filter."""
    for condition in conditions:
        sources = [source.filter(run_id__in=scope.runs) for source in condition.sources]
        most = FEW // max(1, len(sources))
        if not sources or any(len(source[most : most + 1]) for source in sources):
            continue
        return Trajectory.objects.filter(reduce(or_, (Q(pk__in=source) for source in sources))), condition
    return None, None


def _of(scope: Scope) -> Q:
    return Q(In(Looked(F("run_id")), scope.runs))
