"""Filters as conditions on the table of tries, each in up to three forms.

`free` may lead: the database searches by its index. `sources` name the tries that pass, where they may be
few. `read` is only looked at in rows that something else led to; without that SQLite, which keeps no
statistics, would gladly sort half a million rows by a filter that nearly all of them pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Exists, Expression, F, Func, OuterRef, Q, QuerySet, Value
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, In, IsNull, LessThanOrEqual
from django.db.models.sql.compiler import SQLCompiler

from training.models import Trajectory, TrajectoryTag, TrajectoryTool
from training.review.feed.filters import LABELS, Filters


class Looked(Func):
    """A column as it is, but not to be searched by."""

    template = "+%(expressions)s"
    arity = 1

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, Any]:
        """Postgres keeps statistics."""
        return self.as_sql(compiler, connection, template="%(expressions)s", **context)


class Beyond(Func):
    """(column, id) > (value, id), or <: what comes after a place in a list by value."""

    output_field = BooleanField()

    def __init__(self, column: str, sign: str, value: float, pk: int) -> None:
        super().__init__(F(column), F("id"), Value(value), Value(pk))
        self.sign = sign

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        parts = [compiler.compile(part) for part in self.get_source_expressions()]
        (column, _), (pk, _), (value, _), (number, _) = parts
        params = [param for _sql, given in parts for param in given]
        return f"({column}, {pk}) {self.sign} ({value}, {number})", params


Where: TypeAlias = Q | Expression


@dataclass(frozen=True)
class Condition:
    """`sources` list ids of tries that pass it, each to be narrowed by run, where few may.

    `free` is there where an index of (run, column, id) has the tries that pass in the order of their ids.
    """

    name: str
    read: Where
    free: Q | None = None
    sources: tuple[QuerySet[Any, Any], ...] = ()
    span: tuple[float | None, float | None] = (None, None)


def conditions(filters: Filters, scenarios: Sequence[str] = ()) -> list[Condition]:
    """All but the run and the text; what may lead in order of preference. `scenarios` have the tag."""
    success = None if filters.success is None else _equal("success", filters.success, rare=False)
    found = [
        _equal("scenario_key", filters.scenario) if filters.scenario else None,
        _error(filters.error),
        _human() if filters.human else None,
        success,
        _label(LABELS.get(filters.label, ())),
        _range("step", filters.step_from, filters.step_to),
        _range("reward", filters.score_from, filters.score_to, beside=success and success.free),
        _tool(filters.tool),
        _tag(filters.tag, scenarios),
    ]
    return [condition for condition in found if condition is not None]


def _ids(where: Q) -> tuple[QuerySet[Any, Any], ...]:
    return (Trajectory.objects.filter(where).order_by().values_list("pk", flat=True),)


def _equal(column: str, value: Any, rare: bool = True) -> Condition:
    """Django writes `= False` as NOT, which no index serves; a list of one it writes as it is."""
    free = Q(**{f"{column}__in": [value]})
    return Condition(column, In(Looked(F(column)), [value]), free, _ids(free) if rare else ())


def _label(labels: Sequence[str]) -> Condition | None:
    if not labels:
        return None
    if len(labels) == 1:
        return _equal("label", labels[0], rare=False)
    return Condition("label", In(Looked(F("label")), labels), sources=_ids(Q(label__in=labels)))


def _human() -> Condition:
    free = Q(human__isnull=False)
    return Condition("human", IsNull(Looked(F("human")), False), free, _ids(free))


def _error(kind: str) -> Condition | None:
    unfinished, calls = ~Q(ended="answered"), Q(failed_calls__gt=0)
    if kind == "unfinished":
        read = ~Q(Exact(Looked(F("ended")), "answered"))
        return Condition(kind, read, unfinished, _ids(unfinished))
    if kind == "calls":
        return Condition(kind, GreaterThan(Looked(F("failed_calls")), 0), calls, _ids(calls))
    return Condition("any", unfinished | calls) if kind else None


def _range(column: str, low: float | None, high: float | None, beside: Q | None = None) -> Condition | None:
    """`beside` is another filter that an index has before the column."""
    if low is None and high is None:
        return None
    passing, read = beside or Q(), Q()
    if low is not None:
        passing &= Q(**{f"{column}__gte": low})
        read &= Q(GreaterThanOrEqual(Looked(F(column)), low))
    if high is not None:
        passing &= Q(**{f"{column}__lte": high})
        read &= Q(LessThanOrEqual(Looked(F(column)), high))
    return Condition(column, read, sources=_ids(passing), span=(low, high))


def _tool(name: str) -> Condition | None:
    if not name:
        return None
    called = TrajectoryTool.objects.filter(tool=name)
    read = Q(Exists(called.filter(trajectory=OuterRef("pk"))))
    return Condition("tool", read, sources=(called.values_list("trajectory_id", flat=True),))


def _tag(name: str, scenarios: Sequence[str]) -> Condition | None:
    """A try has a tag if somebody gave it one, or its scenario has it."""
    if not name:
        return None
    tagged = TrajectoryTag.objects.filter(name=name)
    read = Q(Exists(tagged.filter(trajectory=OuterRef("pk"))))
    sources: tuple[QuerySet[Any, Any], ...] = (tagged.order_by().values_list("trajectory_id", flat=True),)
    if scenarios:
        read |= Q(In(Looked(F("scenario_key")), list(scenarios)))
        sources += _ids(Q(scenario_key__in=scenarios))
    return Condition("tag", read, sources=sources)
