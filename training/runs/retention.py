"""What is kept of old runs: token records, transcripts and events may go after some days, or past some runs.

Rows of tries, their scores and every figure stay, so lists, charts and comparisons look as before; pages say
what is gone. Nothing goes unless a setting says so. Work is done in many short transactions, so training is
never kept waiting; what frees space in the file is left to `shrink`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length
from django.utils import timezone

from training.models import Event, Measurement, Run, TrajectoryRecord
from training.review.feed import search
from training.review.feed.wanted import text_of

SHORT = 0.004
"""Seconds a transaction may take; slices grow and shrink to meet it."""
PAUSE = 0.002
"""Seconds between two transactions, in which others may write."""
PAGES = 64
"""Pages that are given back to the disk at a time."""
NOTHING = "[]"


@dataclass(frozen=True)
class Limit:
    """`days` since a run ended, and how many of the newest ended `runs` are spared; 0 sets no limit."""

    days: int = 0
    runs: int = 0

    @property
    def off(self) -> bool:
        return not self.days and not self.runs


@dataclass(frozen=True)
class Kind:
    """Something that can go: the rows that hold it, by run, and what takes it from some of them."""

    rows: Callable[[int], QuerySet[Any]]
    drop: Callable[[list[int]], int]


def limits() -> dict[str, Limit]:
    """As the settings have them."""
    return {name: Limit(*values) for name, values in settings.RETENTION.items()}


def past(limit: Limit) -> list[int]:
    """Runs that are over and beyond a limit: both the days and the number, where both are set."""
    if limit.off:
        return []
    over = Run.objects.filter(state__in=Run.OVER).order_by("-id")
    spared = set(over.values_list("pk", flat=True)[: limit.runs]) if limit.runs else set()
    if limit.days:
        over = over.filter(finished_at__lt=timezone.now() - timedelta(days=limit.days))
    return sorted(set(over.values_list("pk", flat=True)) - spared)


def due() -> dict[str, int]:
    """How many rows of each kind would go now."""
    return {
        name: sum(KINDS[name].rows(run).count() for run in past(limit)) for name, limit in limits().items()
    }


def tidy(stop_after: float = float("inf")) -> dict[str, int]:
    """Take away what is due, for at most about so many seconds; how much of each kind went."""
    until = time.monotonic() + stop_after
    return {
        name: sum(sum(_slices(KINDS[name], run, until)) for run in past(limit))
        for name, limit in limits().items()
    }


def shrink(stop_after: float = float("inf")) -> int:
    """Give free pages of a SQLite file back, little by little; how many. 0 where the file cannot shrink."""
    if connection.vendor != "sqlite" or _pragma("auto_vacuum") != 2:
        return 0
    until, first = time.monotonic() + stop_after, _pragma("freelist_count")
    while _pragma("freelist_count") and time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
        time.sleep(PAUSE)
    return first - _pragma("freelist_count")


def make_shrinkable() -> None:
    """Rewrite a SQLite file once so that `shrink` works. Nobody else may use the database meanwhile."""
    if connection.vendor == "sqlite" and _pragma("auto_vacuum") != 2:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
            cursor.execute("VACUUM")


def _pragma(name: str) -> int:
    with connection.cursor() as cursor:
        return int(cursor.execute(f"PRAGMA {name}").fetchone()[0])


def _slices(kind: Kind, run: int, until: float) -> Iterator[int]:
    """What went in slices that take about SHORT each, until nothing is left or time is over."""
    size, last = 1, 0
    while time.monotonic() < until:
        began = time.monotonic()
        chosen = list(kind.rows(run).filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:size])
        if not chosen:
            return
        last, found = chosen[-1], time.monotonic()
        with transaction.atomic():
            gone = kind.drop(chosen)
        yield gone
        taken = time.monotonic() - found
        size = max(1, min(500, size * 2 if taken < SHORT / 2 else size // 2 if taken > SHORT else size))
        time.sleep(PAUSE + (found - began) / 4)


def _with_tokens(run: int) -> QuerySet[TrajectoryRecord]:
    return _longer_than_nothing("segments", run)


def _with_words(run: int) -> QuerySet[TrajectoryRecord]:
    return _longer_than_nothing("messages", run)


def _longer_than_nothing(column: str, run: int) -> QuerySet[TrajectoryRecord]:
    """By the length of the text: JSON that is compared would be read in full."""
    long = Length(Cast(column, TextField()))
    return TrajectoryRecord.objects.alias(long=long).filter(trajectory__run=run, long__gt=len(NOTHING))


def _log_lines(run: int) -> QuerySet[Event]:
    """Steps, groups and evaluations stay: run pages are drawn from them."""
    return Event.objects.filter(run=run, kind="log")


def _drop_tokens(chosen: list[int]) -> int:
    """What was measured of them goes with them."""
    Measurement.objects.filter(trajectory__in=chosen).delete()
    return TrajectoryRecord.objects.filter(pk__in=chosen).update(segments=[])


def _drop_words(chosen: list[int]) -> int:
    """Their place in the search goes with them."""
    records = TrajectoryRecord.objects.filter(pk__in=chosen)
    for pk, messages in records.values_list("pk", "messages"):
        search.forget(pk, text_of(messages))
    return records.update(messages=[])


def _drop_lines(chosen: list[int]) -> int:
    return Event.objects.filter(pk__in=chosen).delete()[0]


KINDS = {
    "tokens": Kind(_with_tokens, _drop_tokens),
    "transcripts": Kind(_with_words, _drop_words),
    "log": Kind(_log_lines, _drop_lines),
}
