"""Messages as people read them: who spoke, what was called with which arguments, what came back.

What an agent, a tool or a judge says may be anything; it is bounded here, and escaped by the templates.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

LONGEST = 20_000
"""Characters of one message that a page shows; the raw JSON has all of them."""
MOST_ARGUMENTS = 100
"""Arguments of one call that a page shows."""


@dataclass(frozen=True)
class Call:
    """One tool call. `arguments` are (name, value as text) pairs, or one unnamed pair if unreadable."""

    name: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Turn:
    """One message. `speaker` is system, user, assistant or tool; `as_best` if the best try has it too."""

    number: int
    speaker: str
    text: str
    calls: tuple[Call, ...] = ()
    tool: str = ""
    cut: bool = False
    as_best: bool = False


def turns(messages: Sequence[dict[str, Any]], first: int = 0) -> list[Turn]:
    """`messages` in order; the number of each is its place, counted from `first`."""
    names = _names_of_calls(messages)
    return [_turn(message, number, names) for number, message in enumerate(messages, first)]


def shared_start(conversations: Sequence[Sequence[dict[str, Any]]]) -> int:
    """How many messages all conversations begin with alike, before the agent says anything."""
    alike = 0
    for messages in zip(*conversations, strict=False):
        first = messages[0]
        if first.get("role") == "assistant" or any(message != first for message in messages):
            break
        alike += 1
    return alike


def compared(mine: Sequence[Turn], best: Sequence[Turn]) -> list[Turn]:
    """`mine`, with the turns marked that are word for word those of the best try at the same place."""
    same = [turn == other for turn, other in zip(mine, best, strict=False)]
    return [replace(turn, as_best=place < len(same) and same[place]) for place, turn in enumerate(mine)]


def _turn(message: dict[str, Any], number: int, names: dict[str, str]) -> Turn:
    speaker = str(message.get("role", ""))
    text = _text(message.get("content"))
    calls = tuple(_call(call) for call in message.get("tool_calls") or ())
    tool = ""
    if speaker == "tool":
        tool = str(message.get("name") or names.get(str(message.get("tool_call_id")), ""))
    return Turn(number, speaker, text[:LONGEST], calls, tool, cut=len(text) > LONGEST)


def _names_of_calls(messages: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {
        str(call.get("id")): str(call.get("function", {}).get("name", ""))
        for message in messages
        for call in message.get("tool_calls") or ()
    }


def _call(call: dict[str, Any]) -> Call:
    function = call.get("function", {})
    name, arguments = str(function.get("name", "")), function.get("arguments", "")
    try:
        return Call(name, _pairs(json.loads(arguments) if isinstance(arguments, str) else arguments))
    except (ValueError, RecursionError):  # no JSON, or nested too deep to be read
        return Call(name, (("", str(arguments)[:LONGEST]),))


def _pairs(arguments: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(arguments, dict):
        return (("", _text(arguments)[:LONGEST]),)
    shown = islice(arguments.items(), MOST_ARGUMENTS)
    pairs = [(name[:LONGEST], _text(value)[:LONGEST]) for name, value in shown]
    return (*pairs, ("…", "")) if len(arguments) > MOST_ARGUMENTS else tuple(pairs)


def _text(content: object) -> str:
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
