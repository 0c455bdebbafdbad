"""What travels through the queue: ids, and nothing else. Also what a Celery worker does when it starts."""

import logging
import signal

from celery import shared_task
from celery.signals import worker_process_init, worker_ready
from kombu.exceptions import OperationalError

from training.runs import lease, processes, reconciler

log = logging.getLogger(__name__)


@shared_task(name="training.train")
def train(run_id: int) -> None:
    """Train a run, unless somebody already does. A second delivery leaves without effect."""
    from training.runs import worker  # loads torch, which the web process never does

    claimed = lease.claim(run_id)
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
    reconciler.start(send)


@worker_process_init.connect
def get_ready_to_train(**signal_data: object) -> None:
    """A pool child never outlives its parent, and has loaded torch before its first run arrives."""
    processes.die_with_parent(signal.SIGKILL)
    from training.runs import worker

    worker.warm_up()
