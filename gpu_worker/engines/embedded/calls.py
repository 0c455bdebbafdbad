"""Reads tool calls out of what a model wrote, in the hermes/Qwen form.

    <tool_call>
    {"name": "look_up", "arguments": {"order": "1042"}}
    </tool_call>

The text is hostile: whatever is wrong with it becomes a sentence, never an exception. Whether the tool
exists and its arguments fit is left to the rollout.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from gpu_worker.types import ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MAX_CALLS = 16
MAX_NAME = 128
MAX_DEPTH = 16


@dataclass(frozen=True)
class Reading:
    """Content outside the calls, stripped; with a problem, the whole text and no calls."""

    content: str
    calls: tuple[ToolCall, ...] = ()
    problem: str | None = None


def read_calls(text: str, id_prefix: str) -> Reading:
    """Split an assistant's text into content and tool calls, with ids `id_prefix`_0, _1, …"""
    content, bodies = [], []
    rest = text
    while OPEN in rest:
        before, _, after = rest.partition(OPEN)
        body, closed, rest = after.partition(CLOSE)
        if not closed:
            return Reading(text, problem=f"A {OPEN} was not closed.")
        content.append(before)
        bodies.append(body)
    content.append(rest)
    if any(CLOSE in piece for piece in content):
        return Reading(text, problem=f"A {CLOSE} stands without its {OPEN}.")
    if len(bodies) > MAX_CALLS:
        return Reading(text, problem=f"More than {MAX_CALLS} tool calls in one turn.")
    try:
        calls = [_call(body, f"{id_prefix}_{index}") for index, body in enumerate(bodies)]
    except ValueError as error:
        return Reading(text, problem=str(error))
    return Reading("\n".join(filter(None, (piece.strip() for piece in content))), tuple(calls))


def _call(body: str, call_id: str) -> ToolCall:
    """Raises ValueError with a sentence."""
    value = _strict_json(body)
    if not isinstance(value, dict):
        raise ValueError("A tool call is not a JSON object.")
    name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        raise ValueError("A tool call has no usable name.")
    if not isinstance(arguments, dict):
        raise ValueError("A tool call's arguments are not a JSON object.")
    return ToolCall(call_id, name, arguments)


def _strict_json(body: str) -> Any:
    """JSON as the standard has it: finite numbers, each key once, a sane depth, text that is Unicode."""
    if _depth(body) > MAX_DEPTH:
        raise ValueError(f"A tool call is nested deeper than {MAX_DEPTH} levels.")
    try:
        value = json.loads(
            body, parse_constant=_refuse_number, parse_float=_finite, object_pairs_hook=_unique_keys
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"A tool call is not valid JSON: {error.msg} at character {error.pos}.") from error
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("A tool call holds a half of a character.") from error
    return value


def _depth(body: str) -> int:
    """At least how deep the brackets nest; those inside texts count too, which only makes it stricter."""
    depth = deepest = 0
    for character in body:
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest


def _refuse_number(constant: str) -> NoReturn:
    raise ValueError(f"A tool call holds {constant}, which is no JSON number.")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("A tool call holds a number too large to be kept.")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [key for key, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"A tool call names {name[:MAX_NAME]!r} twice.")
    return dict(pairs)
