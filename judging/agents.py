"""A language model of any provider as an agent: it plays the tries that a trained one plays.

`Outsider` is an engine (gpu_worker.types.Engine) that speaks chat messages and knows no tokens, so
gpu_worker.rollout plays it with the same tools, limits and endings. What its turns took is kept by
conversation. Whether it answers at all is the model's business: NoAnswer, Refused and BudgetSpent go on to
whoever plays, and a try without an answer is never a try that passed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gpu_worker.types import Completion, Message, Sampling, ToolCall, ToolSpec
from judging.llm import Answer, Model

LONGEST_NAME = 200
"""Characters of a tool's name that are taken over: there is no such tool anyway."""
Finish = Literal["stop", "length", "context"]


@dataclass(frozen=True)
class Spent:
    """What a try took of its model. `cost` is in dollars, None where nobody knows the price of a turn."""

    tokens: int = 0
    cost: float | None = 0.0

    def and_then(self, reply: Answer) -> "Spent":
        cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        return Spent(self.tokens + reply.answer_tokens, cost)


class Outsider:
    """Implements types.Engine, but for weights."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._spent: dict[str, Spent] = {}

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        sampling: Sampling,
        *,
        conversation: str = "",
        seen: Sequence[int] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """One turn. Raises NoAnswer, Refused or BudgetSpent."""
        reply = await self.model.converse(
            messages,
            [_offered(tool) for tool in tools],
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
        )
        self._spent[conversation] = self._spent.get(conversation, Spent()).and_then(reply)
        calls, problem = read_calls(reply, turn=sum(message["role"] == "assistant" for message in messages))
        finish: Finish = "length" if reply.finish == "length" else "stop"
        return Completion(reply.text, calls, (), (), (), finish, problem)

    def spent(self, conversation: str) -> Spent:
        """What a conversation took so far; it is forgotten."""
        return self._spent.pop(conversation, Spent())

    def release(self, conversation: str) -> None:
        """Nothing is kept between turns."""

    def use_adapter(self, directory: Path | None) -> None:
        raise NotImplementedError("An outside model has weights of its own.")

    def adopt(self, weights: object) -> None:
        raise NotImplementedError("An outside model has weights of its own.")


def read_calls(reply: Answer, *, turn: int) -> tuple[tuple[ToolCall, ...], str | None]:
    """The tool calls of a reply, or none of them and why the first bad one cannot be read.

    Ids are given anew: those of a provider may be missing, doubled or anything.
    """
    calls = []
    for place, (name, text) in enumerate(reply.tool_calls):
        arguments = _object(text)
        if arguments is None:
            return (), f"the arguments of {name[:LONGEST_NAME]!r} are not a JSON object"
        calls.append(ToolCall(f"call_{turn}_{place}", name[:LONGEST_NAME], arguments))
    return tuple(calls), None


def _object(text: str) -> dict[str, Any] | None:
    """Arguments as a provider writes them; none at all are an empty object."""
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _offered(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
