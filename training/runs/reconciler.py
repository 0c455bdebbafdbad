"""Finds runs that should be worked on and are not, and tells the queue again.

Queue messages are hints and get lost: Redis is restarted or flushed, a worker dies. The rows stay true,
so every worker looks at them every few seconds. Taking a run is left to the lease.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

from celery.worker import state
from django.db import DatabaseError, close_old_connections, connection

from training.runs import lease

log = logging.getLogger(__name__)

EVERY = 5.0
_sweeping = threading.Lock()


def start(send: Callable[[int], None]) -> None:
    """Sweep in a thread of this process from now on.

    No pool child may be forked while the thread holds an open database connection: SQLite's locks do not
    survive that.
    """
    os.register_at_fork(
        before=_sweeping.acquire, after_in_parent=_sweeping.release, after_in_child=_sweeping.release
    )
    threading.Thread(target=_sweep_for_ever, args=[send], name="reconciler", daemon=True).start()


def sweep(send: Callable[[int], None]) -> list[int]:
    """Send the oldest waiting run, unless this worker has one in hand already; returns what was sent."""
    if state.reserved_requests:
        return []
    sent = lease.waiting()[:1]
    for run_id in sent:
        send(run_id)
    return sent


def _sweep_for_ever(send: Callable[[int], None]) -> None:
    while True:
        with _sweeping:
            try:
                close_old_connections()
                sweep(send)
            except DatabaseError as error:
                log.warning("Waiting runs could not be looked up: %s", error)
            finally:
                connection.close()
        time.sleep(EVERY)
