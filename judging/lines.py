"""The line before a provider: how many questions of this process are out at once, and when none may be put.

All models of one provider stand in one line, whichever event loop or thread they ask from.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from judging.access import Access


@dataclass(eq=False)
class _Waiting:
    at_once: int
    loop: asyncio.AbstractEventLoop
    called: asyncio.Future[None]


class Line:
    """One provider's. Who came first is served first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._out = 0
        self._waiting: deque[_Waiting] = deque()
        self._closed_until = 0.0

    @asynccontextmanager
    async def seat(self, at_once: int) -> AsyncIterator[None]:
        """For as long as one question takes; waits while `at_once` others are out."""
        await self._sit(at_once)
        try:
            yield
        finally:
            self._leave()

    async def opened(self) -> None:
        """Wait until the provider takes questions again."""
        while (left := self._closed_until - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def close_for(self, seconds: float) -> None:
        """The provider asked everybody to wait so long."""
        with self._lock:
            self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    async def _sit(self, at_once: int) -> None:
        with self._lock:
            if not self._waiting and self._out < at_once:
                self._out += 1
                return
            loop = asyncio.get_running_loop()
            mine = _Waiting(at_once, loop, loop.create_future())
            self._waiting.append(mine)
        try:
            await mine.called
        except asyncio.CancelledError:
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                else:  # called and cancelled in the same moment: the seat is free again
                    self._out -= 1
            self._call_next()
            raise

    def _leave(self) -> None:
        with self._lock:
            self._out -= 1
        self._call_next()

    def _call_next(self) -> None:
        with self._lock:
            while self._waiting and self._out < self._waiting[0].at_once:
                first = self._waiting.popleft()
                if first.loop.is_closed():
                    continue
                first.loop.call_soon_threadsafe(_tell, first.called)
                self._out += 1


def _tell(called: "asyncio.Future[None]") -> None:
    if not called.done():
        called.set_result(None)


_lines: dict[str, Line] = {}


def line_of(access: Access) -> Line:
    """The line of its provider in this process; a forked child has lines of its own."""
    provider = access.provider or f"{access.model.partition('/')[0]} {access.api_base}"
    return _lines.setdefault(provider, Line())


os.register_at_fork(after_in_child=_lines.clear)
