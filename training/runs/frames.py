"""A frame: what changed on a run's page since a sequence number, drawn with the page's own partials.

A frame holds nothing personal (no tokens, no names of people, no local times), so that the same bytes
go to every browser that looks at the run in the same language.
"""

import json
from dataclasses import dataclass
from functools import cached_property

from django.template.loader import render_to_string
from django.utils import translation

from training.models import Event, Run
from training.runs import condition, events, queries
from training.runs.prepared import Prepared
from training.runs.spending import spending

FAR_BEHIND = events.MOST
"""Events; whoever is further behind gets the whole page's lists anew instead of every step in between."""
Head = tuple[object, ...]


@dataclass(frozen=True)
class Place:
    """Where a browser is: the last event it has, the head it shows, the language it reads."""

    seq: int
    head: Head | None
    language: str


@dataclass(frozen=True)
class Frame:
    """What takes a browser from one place to the next, as text and as the bytes that go over every wire."""

    text: str
    place: Place

    @cached_property
    def wire(self) -> bytes:
        """A whole text message in one frame, as a server sends it (RFC 6455, 5.2)."""
        payload = self.text.encode("utf-8", "replace")
        size = len(payload)
        if size < 126:
            return bytes((0x81, size)) + payload
        if size < 1 << 16:
            return b"\x81\x7e" + size.to_bytes(2, "big") + payload
        return b"\x81\x7f" + size.to_bytes(8, "big") + payload


_run: Prepared[Run] = Prepared(Run.objects.filter(pk=0))


def frame_from(run: Run, place: Place, *, progress: bool = True) -> Frame | None:
    """What has changed for a browser at `place`; None if nothing has.

    Without `progress` the head stays as it is where only the progress of the work under way has changed.
    """
    with translation.override(place.language):
        behind, head = run.last_seq - place.seq, _head_to_show(run, place.head, progress)
        anew = head != place.head
        if behind <= 0 and not anew:
            return None
        whole = not 0 <= behind <= FAR_BEHIND
        news = [] if whole or not behind else events.after(run.pk, place.seq)
        fold = queries.whole_page(run) if whole else queries.fold(news, place.seq)
        steps = condition.recent_steps(run) if anew or fold.latest else {}
        content = render_to_string(
            "runs/_frame.html",
            {
                "run": run,
                "status": queries.status(run, steps) if anew else None,
                "findings": condition.diagnosis(run, steps) if anew else None,
                "spending": spending(run, list(steps.values())) if fold.latest else None,
                "fold": fold,
                "latest": fold.latest,
                "first": queries.first_step(run) if fold.latest else None,
                "counts": queries.counts(run) if whole or any(fold.tiles.values()) else {},
                "whole": whole,
                "finished": run.state == Run.State.DONE if whole else _says_done(news),
            },
        )
    text = json.dumps({"first": place.seq, "last": fold.last, "content": content}, ensure_ascii=False)
    return Frame(text, Place(fold.last, head, place.language))


def _head_to_show(run: Run, shown: Head | None, progress: bool) -> Head:
    head = queries.head_key(run)
    return shown if shown and not progress and shown[:-1] == head[:-1] else head


def _says_done(news: list[Event]) -> bool:
    return any(event.kind == "state" and event.payload["state"] == Run.State.DONE for event in news)


def frames_from(run_id: int, places: list[Place], *, progress: bool = True) -> dict[Place, Frame] | None:
    """The frame for each place that something has changed for; None when the run is gone."""
    runs = _run(run_id)
    if not runs:
        return None
    found = {place: frame_from(runs[0], place, progress=progress) for place in places}
    return {place: frame for place, frame in found.items() if frame is not None}
