"""Groups of tries as they come before a judge, made by programs: e-mail search, a shop's desk, 2048.

Every suite is a function (distinct, size, source) → Case: `size` tries at one task, in which an agent chooses
at every turn among `distinct` things to do, some likelier than others. The fewer there are, the more tool
results and turns the tries have in common; a policy in training begins with many and ends with few.

Assumptions, for whoever doubts a figure: messages are OpenAI's, as a trajectory of ART hands them over; calls
have ids of OpenAI's form (`call_` and 24 letters; vLLM's are longer); tools answer in JSON as `json.dumps`
writes it; half of the agent's calls come with a sentence of its own; answers differ between most tries.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One group: its tries as message lists, and the tools they had, in OpenAI's form."""

    tries: tuple[tuple[Message, ...], ...]
    tools: tuple[dict[str, Any], ...]


Suite = Callable[[int, int, random.Random], Case]


def tool(name: str, description: str, required: tuple[str, ...], **parameters: Any) -> dict[str, Any]:
    """A tool's schema; a parameter is its description (a string) or a schema of its own."""
    properties = {
        key: what if isinstance(what, dict) else {"type": "string", "description": what}
        for key, what in parameters.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def called(
    name: str, arguments: dict[str, Any], result: Any, source: random.Random, said: str = ""
) -> list[Message]:
    """An assistant's call and its tool's answer."""
    call_id = "call_" + "".join(source.choices(string.ascii_letters + string.digits, k=24))
    function = {"name": name, "arguments": json.dumps(arguments)}
    text = result if isinstance(result, str) else json.dumps(result)
    return [
        {
            "role": "assistant",
            "content": said,
            "tool_calls": [{"id": call_id, "function": function, "type": "function"}],
        },
        {"role": "tool", "tool_call_id": call_id, "name": name, "content": text},
    ]


def choice(count: int, source: random.Random) -> int:
    """One of `count` things; the first is the likeliest, each further one less so."""
    return source.choices(range(count), [1 / (place + 1) for place in range(count)])[0]
