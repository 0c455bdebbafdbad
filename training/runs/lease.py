"""Who works on a run: a lease in the run's row, and the sweep that finds runs nobody works on.

A claim is one conditional UPDATE that raises the epoch; every write of the worker is fenced by that
epoch, so a run never has two owners even if an old one wakes up late. What the owner does with the run
is the worker's business.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, close_old_connections, connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.functions import Coalesce, Greatest, Now

from training.models import Run
from training.runs import events
from training.runs.processes import owner_lives, this_process

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=20)
RENEW_EVERY = 4.0
MOST_ATTEMPTS = 3
"""Claims without anything new recorded; one more and the run fails instead of failing for ever."""
POISON = (
    "The worker died {count} times at the same place without finishing anything new, the last time in "
    "step {step}. It may have run out of memory: try fewer groups_per_step or a smaller group_size, "
    "look at the worker's log, then press Resume."
)


class LeaseLost(Exception):
    """Somebody else owns the run now; stop at once and write nothing more."""


@dataclass(frozen=True)
class Lease:
    """The right to write to a run. It ends when the epoch in the row is a higher one."""

    run_id: int
    epoch: int

    def row(self) -> QuerySet[Run]:
        """The run's row, as long as this lease holds it."""
        return Run.objects.filter(pk=self.run_id, epoch=self.epoch)


def claim_next() -> Lease | None:
    """Take the run that is first in line; None when nobody waits.

    A line that is reordered, or that another worker takes from, meanwhile is looked at again.
    """
    missed: set[tuple[int, int]] = set()
    while True:
        line = [place for place in _line() if place not in missed]
        if not line:
            return None
        claimed = claim(*line[0])
        if claimed is not None:
            return claimed
        missed.add(line[0])


def claim(run_id: int, epoch: int | None = None) -> Lease | None:
    """Take a queued run, or one whose owner is gone; None when there is nothing to take.

    With `epoch`, only as it was then: a run that was claimed or moved in line since has a higher one.
    """
    seen = Run.objects.filter(pk=run_id).filter(claimable()).first()
    if seen is None:
        seen = Run.objects.filter(pk=run_id, state__in=Run.ACTIVE).first()
        if seen is None or owner_lives(seen.worker):
            return None
    if epoch is not None and seen.epoch != epoch:
        return None
    if seen.attempts >= MOST_ATTEMPTS:
        _give_up(seen)
        return None
    taken = Run.objects.filter(pk=run_id, state=seen.state, epoch=seen.epoch).update(
        worker=this_process(),
        epoch=F("epoch") + 1,
        attempts=F("attempts") + 1,
        lease_until=_lease_end(),
        reported_at=Now(),
        state=Run.State.PREPARING,
        started_at=Coalesce("started_at", Now()),
    )
    return Lease(run_id, seen.epoch + 1) if taken else None


def claimable() -> Q:
    """Runs that anybody may take."""
    ended = Q(lease_until=None) | Q(lease_until__lt=Now())
    return Q(state=Run.State.QUEUED) | (Q(state__in=Run.ACTIVE) & ended)


def renew(lease: Lease) -> bool:
    """Keep the run for another while. False when it belongs to somebody else."""
    return bool(lease.row().filter(state__in=Run.ACTIVE).update(lease_until=_lease_end()))


def release(lease: Lease) -> None:
    """Give an unfinished run back to the queue, so that whoever starts next goes on with it at once."""
    with transaction.atomic():
        given = (
            lease.row()
            .filter(state__in=Run.ACTIVE)
            .update(
                state=Run.State.QUEUED, worker="", lease_until=None, attempts=Greatest(F("attempts") - 1, 0)
            )
        )
        if given:
            key = f"state:{lease.epoch}:released"
            events.append(lease.run_id, "state", key, {"state": Run.State.QUEUED})
    events.ring(lease.run_id)


def waiting() -> list[int]:
    """Runs that should be worked on and are not, first in line first."""
    return [run_id for run_id, _ in _line()]


def _line() -> list[tuple[int, int]]:
    """Those runs, each with its epoch; ones that were begun already come first."""
    rows = Run.objects.filter(claimable()).order_by("queued_at", "id").values_list("id", "epoch", "state")
    free = list(rows)
    held = Run.objects.filter(state__in=Run.ACTIVE).exclude(id__in=[row[0] for row in free])
    dead = [row[:2] for row in held.values_list("id", "epoch", "worker") if not owner_lives(row[2])]
    begun = [row[:2] for row in free if row[2] != Run.State.QUEUED]
    return [*dead, *begun, *(row[:2] for row in free if row[2] == Run.State.QUEUED)]


class Heartbeat:
    """Renews a lease in a thread while `alive()` says that the trainer makes progress.

    `lost` is called, once, in that thread when the lease belongs to somebody else or progress stopped.
    """

    def __init__(self, lease: Lease, alive: Callable[[], bool], lost: Callable[[str], None]) -> None:
        self._lease, self._alive, self._lost = lease, alive, lost
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        self._thread.join(timeout=RENEW_EVERY)

    def stop(self) -> None:
        """Renew no more, and call nobody."""
        self._done.set()

    def _beat(self) -> None:
        while not self._done.wait(RENEW_EVERY):
            if not self._alive():
                return self._lost("The trainer has made no progress for too long.")
            try:
                close_old_connections()
                kept = renew(self._lease)
            except DatabaseError as error:  # locked or away: the next beat tries again, the epoch guards
                log.warning("The lease of run %s was not renewed: %s", self._lease.run_id, error)
                continue
            if not kept and not self._done.is_set():
                return self._lost("The run belongs to another worker now.")
        connection.close()


def _lease_end() -> ExpressionWrapper:
    return ExpressionWrapper(Now() + LEASE, output_field=DateTimeField())


def _give_up(run: Run) -> None:
    sentence = POISON.format(count=run.attempts, step=run.step + 1)
    with transaction.atomic():
        failed = Run.objects.filter(pk=run.pk, state=run.state, epoch=run.epoch).update(
            state=Run.State.FAILED, epoch=F("epoch") + 1, error=sentence, worker="", finished_at=Now()
        )
        if failed:
            events.append(run.pk, "log", f"log:gave up:{run.epoch}", {"level": "error", "text": sentence})
            key = f"state:{run.epoch}:gave up"
            events.append(run.pk, "state", key, {"state": Run.State.FAILED})
    events.ring(run.pk)
