"""Works on one claimed run: builds engine, trainer and judge, runs the loop, writes how it ended.

Loads torch when imported, so only Celery's pool children and `manage.py train` import it. What is
recorded on the way is the recorder's business, who may work on a run the lease's.
"""

import asyncio
import errno
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import OperationalError  # noqa: E402
from django.db.models.functions import Now  # noqa: E402

from gpu_worker import freed_memory, loop  # noqa: E402
from gpu_worker.checkpoints import DiskFull  # noqa: E402
from gpu_worker.crew import SamplerLost, players  # noqa: E402
from gpu_worker.engines.embedded.directory import ModelError, locate  # noqa: E402
from gpu_worker.engines.embedded.engine import EmbeddedEngine  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402
from gpu_worker.environments.authored import Authored  # noqa: E402
from gpu_worker.tools.plans import PlanError  # noqa: E402
from gpu_worker.tools.python.signature import CodeError  # noqa: E402
from gpu_worker.tools.tables import TableError  # noqa: E402
from gpu_worker.trainers.full import FullTrainer  # noqa: E402
from gpu_worker.trainers.lora import LoraTrainer  # noqa: E402
from gpu_worker.types import (  # noqa: E402
    AUTHORED,
    Corrected,
    Environment,
    Job,
    Record,
    Report,
    Summary,
    TooFewJudged,
    Wish,
)
from judging.judge import judge_for  # noqa: E402
from judging.llm import Refused  # noqa: E402
from judging.spending import BudgetSpent, Purse  # noqa: E402
from training.judges import providers  # noqa: E402
from training.models import Run  # noqa: E402
from training.runs import budget, corrections, headline, jobs, lease, mcp_programs, rows  # noqa: E402
from training.runs.outside import outside_for  # noqa: E402
from training.runs.recorder import Recorder  # noqa: E402
from training.secrets import SecretRefused  # noqa: E402

log = logging.getLogger(__name__)

STALLED_AFTER = 1800.0
"""Seconds without a report after which a trainer counts as hung and gives up its lease."""
NICENESS = 10
"""How far training stands back when a page or a socket wants a core."""
LOST = 75
"""Exit status of a worker that leaves its run to whoever finds it."""
ENDED = {"done": Run.State.DONE, "paused": Run.State.PAUSED, "stopped": Run.State.CANCELLED}
WISHED = {"pause": Run.State.PAUSED, "stop": Run.State.CANCELLED}

IN_WORDS = (
    ModelError,
    DiskFull,
    Refused,
    PlanError,
    TableError,
    CodeError,
    SecretRefused,
    providers.NoProvider,
    mcp_programs.Unreadable,
)
"""Errors that say themselves what went wrong and what to do."""

Watch = Callable[[Report], None]


def work(claimed: lease.Lease, watch: Watch | None = None) -> Summary | None:
    """Train a run to its end, its pause or its failure. `watch` sees every report after it was stored.

    Returns None when the run failed or went to somebody else.
    """
    run = Run.objects.select_related("scenarios").get(pk=claimed.run_id)
    with Recorder(claimed) as recorder:
        if run.wish in WISHED:  # asked for while nobody worked on it
            recorder.end(WISHED[run.wish], "wished", **_times(WISHED[run.wish]))
            return None
        try:
            with (
                lease.Heartbeat(claimed, lambda: _alive(recorder), _leave) as heartbeat,
                _released_when_told_to_leave(claimed, heartbeat),
            ):
                summary = _play(run, _watched(recorder, watch), _corrected(recorder, run))
            _finish(recorder, run, summary)
        except lease.LeaseLost:
            log.warning("Run %s belongs to another worker now.", claimed.run_id)
            return None
        except SamplerLost as lost:  # as good as our own death: whoever finds the run goes on with it
            _leave(str(lost))
        except KeyboardInterrupt:
            recorder.end(Run.State.PAUSED, "interrupted")
            raise
        except BudgetSpent as spent:
            sentence = budget.reason(run, str(spent))
            recorder.end(Run.State.PAUSED, "budget", "warning", sentence, error=sentence)
            return None
        except TooFewJudged as lost:
            sentence = _lost_reason(lost)
            recorder.end(Run.State.PAUSED, "judge", "warning", sentence, error=sentence)
            return None
        except Exception as error:
            _fail(recorder, error)
            return None
    return summary


def warm_up() -> None:
    """One thread for torch: more of them spin against each other, and change sums in the last bit.

    Training takes every core there is, so it stands back for the pages that people look at meanwhile.
    """
    torch.set_num_threads(1)
    freed_memory.keep()
    behind = max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0))
    os.setpriority(os.PRIO_PROCESS, 0, behind)


def why(error: BaseException) -> str:
    """What went wrong, in words a person can act on."""
    words = str(error).strip()
    match error:
        case _ if isinstance(error, IN_WORDS):
            return words
        case MemoryError():
            return _OUT_OF_MEMORY
        case RuntimeError() if "out of memory" in words.lower() or "allocate memory" in words.lower():
            return _OUT_OF_MEMORY
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return _DISK_FULL
        case OperationalError() if "full" in words:
            return _DISK_FULL
        case OSError(errno=errno.EACCES | errno.EROFS | errno.EPERM):
            return f"A file could not be written: {words}. Check the permissions of the data directory."
    first = words.splitlines()[0][:300] if words else "no more is known"
    return (
        f"Something unforeseen happened ({type(error).__name__}: {first}). The worker's log has the details."
    )


def _lost_reason(lost: TooFewJudged) -> str:
    return f"{lost} Look at the judge, then press Resume: the step is played again."


_OUT_OF_MEMORY = (
    "The machine ran out of memory. Start a run with fewer groups_per_step, a smaller group_size or a "
    "smaller base model, or free some memory and press Resume."
)
_DISK_FULL = "The disk is full. Free some space and press Resume; training goes on from the last checkpoint."


def _play(run: Run, record: Record, corrected: Corrected) -> Summary:
    warm_up()
    job, purse = jobs.job_for(run), budget.purse_for(run)
    model = locate(job.base_model)
    environment = _environment(run, job, purse)
    trainer = LoraTrainer(model, job) if job.lora_rank else FullTrainer(model, job)

    def engine() -> EmbeddedEngine:
        return EmbeddedEngine(model, max_context=job.max_context, dtype=job.sampler_dtype)

    try:
        access = providers.judge_of(run.owner, job)
        answers = settings.RUNS_DIR / str(run.pk) / "answers"
        judge = judge_for(job, environment, access=access, purse=purse, kept=answers)
        with players(job, environment, engine, trainer.weights()) as those:
            return asyncio.run(loop.train(job, those, trainer, judge, record, corrected))
    finally:
        freed_memory.give_back()


def _environment(run: Run, job: Job, purse: Purse) -> Environment:
    if job.environment != AUTHORED:
        return ENVIRONMENTS[job.environment]
    return Authored(job.tools, outside_for(run, purse), job.seed)


def _watched(record: Record, watch: Watch | None) -> Record:
    if watch is None:
        return record

    def both(report: Report) -> Wish:
        wish = record(report)
        watch(report)
        return wish

    return both


def _corrected(recorder: Recorder, run: Run) -> Corrected:
    """Read where all the run's database work is done."""
    return lambda step: recorder.in_thread(lambda: corrections.claimed(run, step))


def _finish(recorder: Recorder, run: Run, summary: Summary) -> None:
    state = ENDED[summary.ended]
    columns = _times(state)
    if summary.ended == "done":
        columns["summary"] = headline.of(run, summary)
    recorder.end(state, summary.ended, **columns)


def _fail(recorder: Recorder, error: Exception) -> None:
    """The page gets a sentence, the run's log the last frames, the worker's log everything.

    Of errors that say it all in words only these are told: what lies behind them may hold a provider's key.
    """
    sentence = rows.clean(why(error))
    if isinstance(error, IN_WORDS):
        log.error("Training failed: %s", sentence)
        text = sentence
    else:
        log.exception("Training failed")
        text = f"{sentence}\n\n{''.join(traceback.format_exception(error, limit=-6))[-4000:]}"
    columns = _times(Run.State.FAILED)
    try:
        recorder.end(Run.State.FAILED, "failed", "error", text, error=sentence, **columns)
    except lease.LeaseLost:
        log.warning("The failed run belongs to another worker now.")
    except OperationalError:  # a full disk takes no failure either; the run stays to be claimed again
        log.exception("The failure could not be written")


def _times(state: object) -> dict[str, Any]:
    return {"finished_at": Now()} if state in Run.OVER else {}


def _alive(recorder: Recorder) -> bool:
    return time.monotonic() - recorder.last_report < STALLED_AFTER


def _leave(reason: str) -> NoReturn:
    """Stop at once, from whatever thread: nothing may be written or trained under a lost lease."""
    print(reason, file=sys.stderr, flush=True)
    os._exit(LOST)


@contextmanager
def _released_when_told_to_leave(claimed: lease.Lease, heartbeat: lease.Heartbeat) -> Iterator[None]:
    """When told to leave, give the run back and do so at once; everything that counts is on disk already.

    The handler runs on top of the event loop, where Django refuses to work: hence the thread.
    """

    def give_back(signum: int, frame: FrameType | None) -> None:
        heartbeat.stop()
        release = threading.Thread(target=lease.release, args=[claimed], daemon=True)
        release.start()
        release.join(timeout=5)
        os._exit(0)

    # Celery asks its children by SIGQUIT when it leaves at once itself (REMAP_SIGTERM).
    before = {signum: signal.signal(signum, give_back) for signum in (signal.SIGTERM, signal.SIGQUIT)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
