"""Calls a minute: whoever is too fast waits, since an agent is not to blame for our own limit.

The limit holds within one process; tries that are played in several processes have one each.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Hashable

from gpu_worker.types import ToolError

MINUTE = 60.0
PATIENCE = 60.0
"""Seconds a call may wait for its turn."""


class Pace:
    """At most `calls` begin within any `period` seconds."""

    def __init__(self, calls: int, period: float = MINUTE, patience: float = PATIENCE) -> None:
        self._period, self._patience = period, patience
        self._begun: deque[float] = deque(maxlen=calls)
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when it is this call's turn. Raises ToolError if that would take too long."""
        with self._lock:
            now = time.monotonic()
            full = len(self._begun) == self._begun.maxlen
            turn = max(now, self._begun[0] + self._period) if full else now
            if turn - now > self._patience:
                raise ToolError("too many calls are waiting for this tool's rate limit; try again later")
            self._begun.append(turn)
        time.sleep(turn - now)


_paces: dict[Hashable, Pace] = {}


def pace_of(tool: Hashable, per_minute: int) -> Pace:
    """The pace that all tries of this process share for a tool."""
    return _paces.setdefault((tool, per_minute), Pace(per_minute))
