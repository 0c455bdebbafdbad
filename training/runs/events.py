"""What happened in a run, in order, and the doorbell that says "look again".

The event table is the truth; the doorbell is only a hint and may be lost. Nobody else touches the
channel layer. Writing events is left to the recorder and the services, inside their transactions.
"""

import hashlib
import hmac
import json
import logging
import time
from functools import cache
from typing import Any

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.db.models import F
from redis.backoff import NoBackoff
from redis.retry import Retry

from training.models import Event, Run
from training.runs import bulk
from training.runs.prepared import Prepared

log = logging.getLogger(__name__)

SILENCE = 2.0
"""Seconds without ringing after Redis could not be reached, so that its absence never slows training."""
_silent_until = 0.0


MOST = 500
"""Events that are read at a time."""
_after: Prepared[Event] = Prepared(Event.objects.filter(run_id=0, seq__gt=0).order_by("seq")[:MOST])


def after(run_id: int, seq: int, limit: int = MOST) -> list[Event]:
    """The events of a run with a sequence number above `seq`, oldest first; at most MOST."""
    return _after(run_id, seq)[:limit]


def append(run_id: int, kind: str, key: str, payload: dict[str, Any]) -> None:
    """Write the next event of a run. Call it inside the transaction of the change it tells of.

    Raises IntegrityError when the run already has an event with this key.
    """
    Run.objects.filter(pk=run_id).update(last_seq=F("last_seq") + 1)  # also locks the row
    seq = Run.objects.values_list("last_seq", flat=True).get(pk=run_id)
    Event.objects.create(run_id=run_id, seq=seq, kind=kind, key=key, payload=payload)


def known(run_id: int, key: str) -> bool:
    """Whether a run has an event of this key."""
    return Event.objects.filter(run_id=run_id, key=key).exists()


def put(run_id: int, seq: int, kind: str, key: str, payload: dict[str, Any], now: object) -> None:
    """Write an event whose number was taken already; plain SQL, for reports that come by the hundred."""
    EVENTS.insert([(run_id, seq, kind, key, json.dumps(payload), now)])


EVENTS = bulk.Table(Event, ("run_id", "seq", "kind", "key", "payload", "created_at"))


def doorbell(run_id: int) -> str:
    """The channel group of a run; not guessable from the id."""
    digest = hmac.new(settings.SECRET_KEY.encode(), f"run {run_id}".encode(), hashlib.sha256)
    return f"run.{digest.hexdigest()[:40]}"


def ring(run_id: int) -> None:
    """Tell whoever watches a run to look again. Never raises, never waits longer than a second.

    It publishes what `group_send` of the pub/sub layer would, through a plain client: the caller may
    sit in any thread, with or without an event loop.
    """
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    try:
        _redis().publish(*_message(run_id))
    except (redis.RedisError, OSError) as error:
        _silent_until = time.monotonic() + SILENCE
        log.debug("The doorbell of run %s is silent: %s", run_id, error)


def _message(run_id: int) -> tuple[str, bytes]:
    layer = get_channel_layer()
    prefix = settings.CHANNEL_LAYERS["default"]["CONFIG"].get("prefix", "asgi")
    return f"{prefix}__group__{doorbell(run_id)}", layer.serialize({"type": "doorbell"})


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
    )
