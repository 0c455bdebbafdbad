"""Keeps house behind training: a thread of the desk's main process, of low priority.

It fills the index of transcripts, and takes away what settings let go. What that is, is the search's and
retention's business; here it is only done, a little at a time.
"""

import logging
import os
import sys
import threading
import time

from django.db import DatabaseError, close_old_connections, connection

from training.review.feed import search
from training.runs import retention

log = logging.getLogger(__name__)

AT_A_TIME = 0.2
"""Seconds of work before a pause."""
PAUSE = 0.8
REST = 3.0
"""Seconds between two looks when nothing is left to do."""
NICE = 10
TIDY_EVERY = 3600.0
TIDY_FOR = 20.0
"""Seconds in which old runs are tidied before the index has its turn again."""
_working = threading.Lock()


def start() -> None:
    """Index from now on. No pool child may be forked while the thread holds an open connection: SQLite's
    locks do not survive that.
    """
    os.register_at_fork(
        before=_working.acquire, after_in_parent=_working.release, after_in_child=_working.release
    )
    threading.Thread(target=_index_for_ever, name="housekeeping", daemon=True).start()


def _index_for_ever() -> None:
    if sys.platform == "linux":  # elsewhere it would be the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    tidied = 0.0
    while True:
        done = True
        with _working:
            try:
                close_old_connections()
                done = search.catch_up(AT_A_TIME)
                if done and time.monotonic() - tidied > TIDY_EVERY:
                    tidied = time.monotonic()
                    retention.tidy(TIDY_FOR)
                    retention.shrink(TIDY_FOR)
            except DatabaseError as error:
                log.info("Housekeeping waits: %s", error)
            finally:
                connection.close()
        time.sleep(REST if done else PAUSE)
