"""Recorded calls: what was answered then is answered again to the same arguments; nothing is connected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_worker.tools.plans import PlanError
from gpu_worker.types import ToolError


class Recorded:
    """Calls as {arguments, result} or {arguments, error}; of several with the same arguments the last."""

    def __init__(self, calls: Iterable[Mapping[str, Any]]) -> None:
        self.calls = tuple(calls)
        self._found: dict[str, Mapping[str, Any]] = {}
        for at, call in enumerate(self.calls, start=1):
            if not isinstance(call, Mapping) or not isinstance(call.get("arguments"), Mapping):
                raise PlanError(f"Recorded call {at} has no arguments.")
            if not isinstance(call.get("error", call.get("result")), str):
                raise PlanError(f"Recorded call {at} has neither a result nor an error.")
            self._found[canonical(call["arguments"])] = call

    def find(self, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._found.get(canonical(arguments))

    def answer(self, arguments: Mapping[str, Any]) -> str:
        """What was answered to these arguments. Raises ToolError: a recorded one, or that there is none."""
        call = self.find(arguments)
        if call is None:
            raise ToolError("there is no recorded answer to these arguments")
        return answer_of(call)


def answer_of(call: Mapping[str, Any]) -> str:
    """A recorded result. Raises ToolError for a recorded error."""
    if call.get("error"):
        raise ToolError(str(call["error"]))
    return str(call["result"])


def canonical(value: Any) -> str:
    """JSON that is the same for equal values: keys sorted, 1.0 written as 1 (as RFC 8785 does)."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
