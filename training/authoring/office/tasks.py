"""What travels to the desk: ids of errands, and nothing else."""

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


@shared_task(name="training.errand")
def run_errand(errand_id: int) -> None:
    """Do an errand, unless somebody already does."""
    from training.authoring.office import desk  # loads what the web process never does

    desk.work(errand_id)


def send(errand_id: int) -> None:
    """Tell the desk to look at an errand. Never raises: whoever looks at its page tells again."""
    try:
        run_errand.apply_async(args=[errand_id], retry=False)
    except (OperationalError, OSError) as error:
        log.info("Errand %s waits for the queue to come back: %s", errand_id, error)
