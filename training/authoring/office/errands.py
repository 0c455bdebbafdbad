"""Errands: work a page asked for that takes a while, as rows. Here they are sent, taken, watched, ended.

The web process only writes rows and reads them; the desk worker does the work (see desk.py), so no page
ever waits for a file to be read or a language model to answer. An errand that is taken twice is done once;
one whose worker died is taken again when somebody looks at it.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from training.authoring.office import tasks
from training.models import Agent, Errand
from training.phrasebook import said
from training.runs.rows import clean

log = logging.getLogger(__name__)

SILENT_AFTER = timedelta(seconds=60)
"""Without a sign of life for so long, an errand's worker counts as dead."""
SENT_AGAIN_AFTER = timedelta(seconds=10)
MOST_ATTEMPTS = 2
SAID_IN = "said_in"
"""The argument every errand has: the language of its sentences."""

Work = Callable[["Doing"], dict[str, Any]]
"""Does an errand and returns its result, which is plain JSON. Raises Failed with a sentence for people."""


class Failed(Exception):
    """The errand cannot be done; the text says why and what to do."""


class Cancelled(Exception):
    """Whoever asked for it no longer wants it."""


def start(*, owner: User, kind: str, agent: Agent | None = None, **arguments: Any) -> Errand:
    """Write an errand down, with the language of the page that asks for it, and tell the desk."""
    told = {SAID_IN: get_language() or settings.LANGUAGE_CODE, **arguments}
    errand = Errand.objects.create(
        owner=owner, agent=agent, kind=kind, arguments=told, beat_at=timezone.now()
    )
    transaction.on_commit(lambda: tasks.send(errand.pk))
    return errand


def cancel(errand: Errand) -> None:
    """Ask for it to end; at once if nobody has begun."""
    waiting = Errand.objects.filter(pk=errand.pk, state=Errand.State.WAITING)
    if not waiting.update(state=Errand.State.CANCELLED, finished_at=Now()):
        Errand.objects.filter(pk=errand.pk, state=Errand.State.WORKING).update(wish="cancel")
    errand.refresh_from_db()


def look_after(errand: Errand) -> Errand:
    """What a page does each time it shows an errand: send it again if it was lost, and read it afresh."""
    lost = Errand.objects.filter(_lost(), pk=errand.pk)
    if lost.filter(attempts__lt=MOST_ATTEMPTS).update(beat_at=timezone.now()):
        tasks.send(errand.pk)
    else:
        lost.update(state=Errand.State.FAILED, error=_died(), finished_at=Now())
    errand.refresh_from_db()
    return errand


def take(errand_id: int) -> Errand | None:
    """Begin an errand nobody works on; None if there is none."""
    free = Q(state=Errand.State.WAITING) | _lost()
    taken = Errand.objects.filter(free, pk=errand_id, attempts__lt=MOST_ATTEMPTS).update(
        state=Errand.State.WORKING, attempts=F("attempts") + 1, started_at=Now(), beat_at=Now()
    )
    return Errand.objects.select_related("agent", "owner").get(pk=errand_id) if taken else None


def carry_out(errand: Errand, work: Work) -> None:
    """Do a taken errand, in the language of whoever asked for it, and write down how it ended."""
    with translation.override(errand.arguments[SAID_IN]):
        _carry_out(errand, work)


def _carry_out(errand: Errand, work: Work) -> None:
    try:
        result = work(Doing(errand))
    except Cancelled:
        _end(errand, Errand.State.CANCELLED)
    except Failed as failed:
        _end(errand, Errand.State.FAILED, error=clean(said(str(failed))))
    except Exception as error:
        log.exception("Errand %s (%s) failed", errand.pk, errand.kind)
        _end(errand, Errand.State.FAILED, error=_unforeseen(error))
    else:
        _end(errand, Errand.State.DONE, result=result)


class Doing:
    """An errand in hand. `progress` is called every now and then, at least every half minute."""

    def __init__(self, errand: Errand) -> None:
        self.errand = errand
        self.arguments: Mapping[str, Any] = errand.arguments
        self.owner = errand.owner

    @property
    def agent(self) -> Agent:
        assert self.errand.agent is not None, f"{self.errand.kind} needs an agent"
        return self.errand.agent

    def progress(self, done: int, total: int, what: str = "", *, cost: float = 0.0) -> None:
        """Show how far it is. `cost` is what was spent so far in dollars. Raises Cancelled when asked to."""
        row = Errand.objects.filter(pk=self.errand.pk, state=Errand.State.WORKING)
        row.update(done=done, total=total, what=what, cost=cost, beat_at=Now())
        if not row.filter(wish="").exists():
            raise Cancelled


def _end(errand: Errand, state: str, **columns: Any) -> None:
    working = Errand.objects.filter(pk=errand.pk, state=Errand.State.WORKING)
    working.update(state=state, finished_at=Now(), **columns)


def _lost() -> Q:
    """Sent a while ago and not taken, or taken by somebody who has been silent for long."""
    now = timezone.now()
    not_taken = Q(state=Errand.State.WAITING, beat_at__lt=now - SENT_AGAIN_AFTER)
    return not_taken | Q(state=Errand.State.WORKING, beat_at__lt=now - SILENT_AFTER)


def _unforeseen(error: Exception) -> str:
    told = {"kind": type(error).__name__}
    return _("Something unforeseen happened (%(kind)s). The desk worker's log has the details.") % told


def _died() -> str:
    return _(
        "The process that worked on it died, twice. Try something smaller, or look at the desk worker's log."
    )
