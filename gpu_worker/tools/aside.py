"""A thread with an event loop beside everything else, where tools talk to other machines.

One per process, started when it is first needed: connections and sessions opened there outlive a call and
are shared by all tries. A forked child starts its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

shared: dict[Hashable, Any] = {}
"""What lives in the loop from one call to the next, by its key. Touched only by work in the loop."""

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def wait_for(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """The work's result. Raises TimeoutError, and the work is cancelled, when it takes longer."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return begin(bounded()).result()


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start the work in the loop; its result comes when it comes."""
    return asyncio.run_coroutine_threadsafe(work, _running())


def _running() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="aside", daemon=True).start()
        return _loop


def _forget() -> None:
    """In a forked child the thread does not exist, and the lock may have been held by one that does not."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()
    shared.clear()


os.register_at_fork(after_in_child=_forget)
