"""One hub per watched run and process: reads what is new, draws it once, hands it to every browser.

The doorbell only makes it look sooner; without Redis it looks once a second. What a frame holds is
left to `frames`, who may watch to `consumers`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connection
from redis.exceptions import RedisError

from training.runs import events, queries
from training.runs.frames import Frame, Place, frames_from

log = logging.getLogger(__name__)

T = TypeVar("T")

CLOCK = 1.0
"""Seconds between two looks when nobody rings."""
SPACING = 1 / settings.FRAMES_PER_SECOND
"""Seconds until the next push, for each event of this one: few events go at once, many go together."""
LONGEST_SPACING = 0.25
PROGRESS_EVERY = 1.0
"""Seconds between two draws of a page's head for the sake of progress alone: nobody reads it faster."""
CHECK_EVERY = 5.0
"""Seconds between two checks that every browser is still signed in."""
WINDOW = 128
"""Frames a browser may have received without saying that it has drawn them."""
SAYS_EVERY = 64
"""Frames after which a browser says that it has drawn them; the first time it does so earlier, by chance, so
that not all of them speak at the same moment."""
PATIENCE = 30.0
"""Seconds a browser may say nothing with frames on their way, until it is dropped."""
SOCKETS_PER_USER = settings.SOCKETS_PER_USER

SIGNED_OUT = 4403
GONE = 4404
BROKEN = 1011
TOO_SLOW = 1013


@dataclass(eq=False)
class Viewer:
    """One browser. It gets no frame before it has said where it is, and never more than WINDOW ahead."""

    user: int
    session: str
    language: str
    send: Callable[[Frame], Awaitable[None]]
    close: Callable[[int], Awaitable[None]]
    put_on_wire: Callable[[bytes], None] | None = None
    """Takes a frame's bytes at once, where the server can."""
    place: Place | None = None
    on_their_way: int = 0
    heard_at: float = 0.0

    def is_at(self, seq: int) -> None:
        """The browser has everything up to `seq` and nothing of what was sent since."""
        self.place = Place(seq, None, self.language)
        self.on_their_way = 0
        self.heard_at = time.monotonic()

    def has_drawn(self, frames: int) -> None:
        """The browser has drawn so many frames since it last said so."""
        self.on_their_way = max(0, self.on_their_way - frames)
        self.heard_at = time.monotonic()

    @property
    def ready(self) -> bool:
        return self.place is not None and self.on_their_way < WINDOW

    @property
    def too_slow(self) -> bool:
        return self.on_their_way >= SAYS_EVERY and time.monotonic() - self.heard_at > PATIENCE


class Hub:
    """Serves the viewers of one run until the last one leaves."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.viewers: set[Viewer] = set()
        self.bell = asyncio.Event()
        self._progress_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._listen())]
        self._tasks[0].add_done_callback(self._broke)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def push(self) -> int:
        """Send every viewer that is ready what changed since its place; equal places share a frame.

        Returns how many events that were, for the viewer who got most.
        """
        waiting: dict[Place, list[Viewer]] = {}
        for viewer in self.viewers:
            if viewer.place and viewer.ready:
                waiting.setdefault(viewer.place, []).append(viewer)
        if not waiting:
            return 0
        now = time.monotonic()
        progress = now >= self._progress_at
        frames = await _read(partial(frames_from, progress=progress), self.run_id, list(waiting))
        if frames is None:
            await self._close(set(self.viewers), GONE)
            return 0
        if progress and frames:
            self._progress_at = now + PROGRESS_EVERY
        for place, frame in frames.items():
            for viewer in waiting[place]:
                if viewer in self.viewers and viewer.place == place:
                    await self._send(viewer, frame)
        return max((frame.place.seq - place.seq for place, frame in frames.items()), default=0)

    async def _send(self, viewer: Viewer, frame: Frame) -> None:
        if viewer.on_their_way < SAYS_EVERY:
            viewer.heard_at = time.monotonic()
        viewer.place = frame.place
        viewer.on_their_way += 1
        if viewer.put_on_wire:
            viewer.put_on_wire(frame.wire)
        else:
            await viewer.send(frame)

    async def check(self) -> None:
        """Drop who signed out, lost the run, or does not read what is sent."""
        await self._close({viewer for viewer in self.viewers if viewer.too_slow}, TOO_SLOW)
        sessions = {viewer.session: viewer.user for viewer in self.viewers}
        allowed = await _read(queries.may_watch, self.run_id, sessions)
        await self._close({viewer for viewer in self.viewers if viewer.session not in allowed}, SIGNED_OUT)

    async def _close(self, viewers: set[Viewer], code: int) -> None:
        for viewer in viewers:
            leave(self.run_id, viewer)
            await viewer.close(code)

    async def _serve(self) -> None:
        next_check = time.monotonic() + CHECK_EVERY
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.bell.wait(), CLOCK)
            began, sent = time.monotonic(), 0
            self.bell.clear()
            try:
                sent = await self.push()
                if time.monotonic() >= next_check:
                    next_check = time.monotonic() + CHECK_EVERY
                    await self.check()
            except DatabaseError as error:  # locked or away: the next look makes up for this one
                log.warning("Run %s could not be looked at, trying again: %s", self.run_id, error)
            await asyncio.sleep(began + spacing(sent) - time.monotonic())

    def _broke(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours ends the hub; browsers come back by themselves and open another one."""
        if not task.cancelled() and task.exception():
            log.error("Run %s cannot be shown", self.run_id, exc_info=task.exception())
            self._tasks.append(asyncio.ensure_future(self._close(set(self.viewers), BROKEN)))

    async def _listen(self) -> None:
        """Ring the bell whenever somebody rings the doorbell; without Redis, try again now and then."""
        layer, group = get_channel_layer(), events.doorbell(self.run_id)
        while True:
            channel = None
            try:
                channel = await layer.new_channel()
                await layer.group_add(group, channel)
                while True:
                    await layer.receive(channel)
                    self.bell.set()
            except (RedisError, OSError) as error:
                log.info("No doorbell for run %s: %s", self.run_id, error)
                await asyncio.sleep(2 * CLOCK)
            finally:
                if channel:
                    with suppress(RedisError, OSError):
                        await layer.group_discard(group, channel)


def spacing(sent: int) -> float:
    """Seconds between a push of so many events and the next one."""
    return min(max(1, sent) * SPACING, LONGEST_SPACING)


_hubs: dict[int, Hub] = {}
_reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hub")
"""Reads for all hubs: frames wait for no slow page, and one connection stays open while anybody watches."""


async def _read(work: Callable[..., T], *arguments: object) -> T:
    return await asyncio.get_running_loop().run_in_executor(_reader, partial(_done, work, *arguments))


def _done(work: Callable[..., T], *arguments: object) -> T:
    try:
        return work(*arguments)
    except DatabaseError:
        connection.close()  # the next look opens a sound one
        raise


def join(run_id: int, viewer: Viewer) -> Hub:
    """Let a viewer watch a run; the first one opens its hub."""
    hub = _hubs.get(run_id)
    if hub is None:
        hub = _hubs[run_id] = Hub(run_id)
        hub.start()
    hub.viewers.add(viewer)
    return hub


def leave(run_id: int, viewer: Viewer) -> None:
    """The last viewer to leave closes the hub. Leaving twice is harmless."""
    hub = _hubs.get(run_id)
    if hub is None:
        return
    hub.viewers.discard(viewer)
    if not hub.viewers:
        del _hubs[run_id]
        hub.stop()
        if not _hubs:
            _reader.submit(connection.close)


def sockets_of(user: int) -> int:
    """How many sockets a user has open in this process."""
    return sum(viewer.user == user for hub in _hubs.values() for viewer in hub.viewers)
