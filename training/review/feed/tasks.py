"""What the desk does by itself, without being asked: it fills the index that transcripts are searched by."""

import os

from celery.signals import worker_ready

from training.review.feed import indexer


@worker_ready.connect
def fill_the_index(**signal_data: object) -> None:
    if os.environ.get("ARTWEB_WORKER") == "desk":
        indexer.start()
