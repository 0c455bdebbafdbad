"""Faults on purpose: a share of a tool's calls times out, breaks or comes back empty, as in real life.

Which calls is decided by a seed and by how many calls the try has made before, never by chance or time; all
tries at one scenario meet the same faults at the same calls. A call that goes wrong is not made.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from gpu_worker.seeds import seed_for
from gpu_worker.tools.fetching import SERVER_ERROR, TIMED_OUT
from gpu_worker.tools.plans import PlanError
from gpu_worker.types import Tool, ToolError

FAULTS = ("timeout", "error", "empty")
_ALL = 1 << 63
"""Seeds are below this number."""


def with_faults(tool: Tool, shares: Mapping[str, float], seed: int) -> Tool:
    """The tool, of whose calls these shares (0 to 1 each, together at most 1) go wrong. Raises PlanError."""
    _check(shares)
    if not any(shares.values()):
        return tool
    calls = itertools.count()

    def call(arguments: dict[str, Any]) -> str:
        fault = _fault(shares, seed_for(seed, f"fault {tool.spec.name}", next(calls)) / _ALL)
        return tool.call(arguments) if fault is None else suffer(fault)

    return Tool(tool.spec, call, tool.waits)


def suffer(fault: str) -> str:
    """What a call gets that goes wrong in this way: nothing, or a ToolError."""
    if fault == "timeout":
        raise ToolError(TIMED_OUT)
    if fault == "error":
        raise ToolError(SERVER_ERROR)
    return ""


def _fault(shares: Mapping[str, float], drawn: float) -> str | None:
    for fault in FAULTS:
        drawn -= shares.get(fault, 0.0)
        if drawn < 0:
            return fault
    return None


def _check(shares: Mapping[str, float]) -> None:
    for fault, share in shares.items():
        if fault not in FAULTS:
            raise PlanError(f"There is no fault {fault}; there are {', '.join(FAULTS)}.")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise PlanError(f"The share of {fault} must be a number between 0 and 1.")
    if sum(shares.values()) > 1:
        raise PlanError("The shares of faults are more than 1 together.")
