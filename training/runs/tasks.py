"""What travels through the queue: ids, and nothing else. Also what a Celery worker does when it starts."""

import logging
import os
import signal

from celery import shared_task
from celery.signals import worker_process_init, worker_ready
from kombu.exceptions import OperationalError

from training.runs import lease, processes, reconciler

log = logging.getLogger(__name__)

TRAINS = os.environ.get("ARTWEB_WORKER", "gpu") != "desk"
"""Whether this process, if it is a Celery worker, trains; the desk only does errands."""


@shared_task(name="training.train")
def train(run_id: int) -> None:
    """Train the run that is first in line, whichever the message was about; none, if all are taken.

    The line may have been reordered since, and each waiting run has sent a message of its own.
    """
    from training.runs import worker  # loads torch, which the web process never does

    claimed = lease.claim_next()
    if claimed is not None:
        worker.work(claimed)


def send(run_id: int) -> None:
    """Tell a worker to look at a run. Never raises: the reconciler tells again."""
    try:
        train.apply_async(args=[run_id], retry=False)
    except (OperationalError, OSError) as error:
        log.info("Run %s waits for the queue to come back: %s", run_id, error)


@worker_ready.connect
def look_for_waiting_runs(**signal_data: object) -> None:
    if TRAINS:
        reconciler.start(send)


@worker_process_init.connect
def get_ready_to_train(**signal_data: object) -> None:
    """A pool child never outlives its parent, and has loaded torch before its first run arrives."""
    processes.die_with_parent(signal.SIGKILL)
    if TRAINS:
        from training.runs import worker

        worker.warm_up()
