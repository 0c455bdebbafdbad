"""The loop's `record`: every report becomes rows and one event, in one short transaction.

A report that was stored before changes nothing, so a killed step may simply be played again. Every write
is fenced by the lease's epoch. Reports arrive inside an asyncio loop; the database work runs in one
thread of its own while the loop waits, which keeps sampling independent of how fast the database is.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from django.db import OperationalError, close_old_connections, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from gpu_worker.types import (
    Evaluated,
    GroupDropped,
    GroupJudged,
    Log,
    PhaseChanged,
    Progress,
    Report,
    StepDone,
    Wish,
)
from training.models import (
    Checkpoint,
    Run,
    StepMetrics,
    Trajectory,
)
from training.runs import bulk, events, rows
from training.runs.lease import Lease, LeaseLost
from training.serving.services import deploy_run

log = logging.getLogger(__name__)

PROGRESS_EVERY = 0.25
"""Seconds between two writes of Run.progress."""
PATIENCE = 300.0
"""Seconds a database may be locked or away before training gives up."""
WISHES: dict[str, Wish] = {"": "go", "pause": "pause", "stop": "stop"}
STATES = {
    "preparing": Run.State.PREPARING,
    "baseline": Run.State.BASELINE,
    "training": Run.State.TRAINING,
    "evaluating": Run.State.EVALUATING,
}

T = TypeVar("T")


class Recorder:
    """Call it with a report; it returns the owner's wish. Raises LeaseLost when the run changed hands."""

    def __init__(self, lease: Lease) -> None:
        self.last_report = time.monotonic()
        self._lease = lease
        self._wish: Wish = "go"
        self._progress_at = 0.0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recorder")

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.submit(connection.close)
        self._thread.shutdown()

    def __call__(self, report: Report) -> Wish:
        self.last_report = time.monotonic()
        if isinstance(report, Progress) and self.last_report - self._progress_at < PROGRESS_EVERY:
            return self._wish
        self._wish = self.in_thread(lambda: self._store(report))
        return self._wish

    def end(self, state: object, key: str, level: str = "", text: str = "", **columns: Any) -> None:
        """Write the last state under this lease, with a line in the log if there is something to say."""
        self.in_thread(lambda: self._end(state, key, level, text, columns))

    def in_thread(self, work: Callable[[], T]) -> T:
        """Database work of the run, done where all of it is done while the loop waits."""
        return self._thread.submit(patiently, work).result()

    def _store(self, report: Report) -> Wish:
        wish: str | None = None
        if isinstance(report, Progress):
            self._progress_at = time.monotonic()
            shown = {"what": report.what, "done": report.done, "total": report.total}
            self._fenced(progress=shown)
        else:
            key = key_of(report, self._lease.epoch)
            with transaction.atomic():
                if isinstance(report, GroupJudged):
                    wish = self._store_group(report, key)
                elif not events.known(self._lease.run_id, key):
                    self._store_new(report, key)
        if wish is None:
            wish = self._lease.row().values_list("wish", flat=True).first()
        if wish is None:
            raise LeaseLost
        events.ring(self._lease.run_id)
        return WISHES[wish]

    def _store_group(self, report: GroupJudged, key: str) -> str | None:
        """Write a group, of which there are many, with its event; the wish, None if it was stored before."""
        run_id, group = self._lease.run_id, report.group
        news = self._fenced_with_news(key)
        if news is None:
            return None
        seq, wish = news
        now = bulk.now()
        group_id = save_group(run_id, report, now)
        place = {"label": report.label, "step": group.step, "index": group.index}
        events.put(run_id, seq, "group", key, {"group_id": group_id, **place}, now)
        return wish

    def _store_new(self, report: Report, key: str) -> None:
        """Write what any other report tells."""
        run_id = self._lease.run_id
        match report:
            case PhaseChanged(phase, step):
                self._fenced(state=STATES[phase], progress={}, step=step or F("step"))
                events.append(run_id, "state", key, {"state": STATES[phase]})
            case GroupDropped(step, index, scenario_id, reason):
                self._fenced()
                what = {"step": step, "index": index, "scenario": scenario_id, "reason": reason}
                events.append(run_id, "dropped", key, rows.plain(what))
            case StepDone(step, metrics):
                self._fenced(attempts=0, step=step, progress={})
                values = rows.plain(metrics)
                save_step(run_id, report, values)
                events.append(run_id, "step", key, {"step": step, "metrics": values})
            case Evaluated(evaluation):
                self._fenced(attempts=0, progress={})
                row = rows.evaluation_row(run_id, evaluation)
                row.save(force_insert=True)
                names = ("label", "step", "success", "low", "high")
                shown = {name: getattr(row, name) for name in names}
                events.append(run_id, "evaluation", key, {"evaluation_id": row.pk, **shown})
            case Log(level, text):
                self._fenced()
                events.append(run_id, "log", key, {"level": level, "text": rows.clean(text)})

    def _end(self, state: object, key: str, level: str, text: str, columns: dict[str, Any]) -> None:
        epoch, run_id = self._lease.epoch, self._lease.run_id
        with transaction.atomic():
            self._fenced(state=state, wish="", worker="", lease_until=None, progress={}, **columns)
            if text:
                said = {"level": level, "text": rows.clean(text)}
                events.append(run_id, "log", f"log:{epoch}:{key}", said)
            events.append(run_id, "state", f"state:{epoch}:{key}", {"state": state})
            if state == Run.State.DONE:
                deploy_run(Run.objects.select_related("owner").get(pk=run_id))
        events.ring(run_id)

    def _fenced(self, **columns: Any) -> None:
        """Change the run's row, which also locks it, if the lease still holds, and note the time."""
        if not self._lease.row().filter(state__in=Run.ACTIVE).update(reported_at=Now(), **columns):
            raise LeaseLost

    def _fenced_with_news(self, key: str) -> tuple[int, str] | None:
        """The same with the next event's number, in one statement; None if there is an event of this key."""
        run_id = self._lease.run_id
        now = "STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')" if connection.vendor == "sqlite" else "NOW()"
        found = bulk.told(_FENCE.format(now=now), [run_id, self._lease.epoch, *Run.ACTIVE, run_id, key])
        if found:
            return found[0][0], found[0][1]
        if events.known(run_id, key):
            return None
        raise LeaseLost


_FENCE = """
    UPDATE training_run SET reported_at = {now}, attempts = 0, last_seq = last_seq + 1
    WHERE id = %s AND epoch = %s AND state IN (%s, %s, %s, %s)
    AND NOT EXISTS (SELECT 1 FROM training_event WHERE run_id = %s AND key = %s) RETURNING last_seq, wish
"""


def key_of(report: Report, epoch: int) -> str:
    """The name of a report: the same when a killed step is played again, different for everything else."""
    match report:
        case PhaseChanged(phase, step):
            return f"state:{epoch}:{phase}:{step}"  # a new owner's state is news
        case GroupJudged(group, _, label):
            return f"group:{label}:{group.step}:{group.index}"
        case GroupDropped(step, index):
            return f"dropped:{step}:{index}"
        case StepDone(step):
            return f"step:{step}"
        case Evaluated(evaluation):
            return f"evaluation:{evaluation.label}:{evaluation.step}"
        case Log(key=key):
            return f"log:{key}"[:120]
    raise TypeError(f"{type(report).__name__} is not kept as an event")


def save_group(run_id: int, report: GroupJudged, now: object) -> int:
    """Write a group with its tries, records and scores; returns its id. Needs a writing transaction."""
    tries = report.group.trajectories
    (group_id,) = rows.GROUPS.new_ids(1)
    group = rows.group_row(group_id, run_id, report, now)
    pairs = list(zip(rows.TRIES.new_ids(len(tries)), tries, strict=True))
    rows.GROUPS.insert([group])
    rows.TRIES.insert(rows.try_row(pk, group, one) for pk, one in pairs)
    rows.RECORDS.insert(rows.record_row(pk, one) for pk, one in pairs)
    rows.TOOLS.insert(row for pk, one in pairs for row in rows.tool_rows(pk, run_id, one))
    rows.SCORES.insert(row for pk, one in pairs for row in rows.score_rows(pk, one, now))
    return group_id


def save_step(run_id: int, report: StepDone, values: dict[str, Any]) -> None:
    """Write a step's numbers, its checkpoint and the advantages its tries were trained with."""
    StepMetrics.objects.create(run_id=run_id, step=report.step, values=values)
    file = report.checkpoint
    Checkpoint.objects.create(
        run_id=run_id, step=file.step, directory=file.directory, sha256=file.sha256, bytes=file.bytes
    )
    kept = Checkpoint.objects.filter(run_id=run_id, kept=True)
    gone = [pk for pk, directory in kept.values_list("id", "directory") if not Path(directory).is_dir()]
    Checkpoint.objects.filter(pk__in=gone).update(kept=False)
    of_step = {"group__run_id": run_id, "group__label": "train", "group__step": report.step}
    trained = list(Trajectory.objects.filter(**of_step).select_related("group").defer("answer", "note"))
    for trajectory in trained:
        advantages = report.advantages.get(trajectory.group.index, ())
        if trajectory.index < len(advantages):
            trajectory.advantage = rows.finite(advantages[trajectory.index])
    Trajectory.objects.bulk_update(trained, ["advantage"], batch_size=200)


def patiently(work: Callable[[], T]) -> T:
    """Do it, and again while the database is locked or away. A full disk is not worth waiting for."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except OperationalError as error:
            if "full" in str(error) or time.monotonic() > give_up:
                raise
            log.warning("The database does not answer, trying again: %s", error)
            close_old_connections()
            time.sleep(1)
