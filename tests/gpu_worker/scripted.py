"""An engine that says what a test tells it to, with token ids made of characters, and a room to play in.

For behaviours that a random model would not show on demand; the loop's tests use real models.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gpu_worker.types import (
    Completion,
    Message,
    Sampling,
    Scenario,
    Score,
    Split,
    Tool,
    ToolCall,
    ToolError,
    ToolSpec,
    Trajectory,
)


def ids_of(text: str) -> tuple[int, ...]:
    return tuple(text.encode())


def says(text: str, **more: Any) -> Completion:
    """A turn; prompt_ids are filled in by the engine."""
    ids = more.pop("token_ids", ids_of(text))
    logprobs = tuple(-0.5 for _ in ids)
    return Completion(
        text,
        more.pop("tool_calls", ()),
        more.pop("prompt_ids", ()),
        ids,
        logprobs,
        more.pop("finish", "stop"),
        **more,
    )


def calls(name: str, number: int = 0, /, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{number}", name, arguments)


Script = Callable[[int, Sampling], Completion]
"""script(turn, sampling) is the next turn of any conversation."""


class ScriptedEngine:
    """Keeps what it was asked. A script may give prompt_ids of its own: history rewritten."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seeds: list[int] = []
        self.released: list[str] = []
        self.adopted: list[float] = []

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
        turn = sum(message["role"] == "assistant" for message in messages)
        self.seeds.append(sampling.seed)
        completion = self.script(turn, sampling)
        added = "".join(str(m["content"]) for m in messages[-1:] if m["role"] != "assistant")
        prompt = completion.prompt_ids or (*seen, *ids_of(added))
        return Completion(**{**completion.__dict__, "prompt_ids": prompt})

    def release(self, conversation: str) -> None:
        self.released.append(conversation)

    def adopt(self, weights: Mapping[str, Tensor]) -> None:
        """Keeps the one number that test_loop's trainer calls its weights; 0 for the base model."""
        self.adopted.append(float(weights.get("updates", torch.tensor(0.0))))


class EchoRoom:
    """An environment with one tool, `echo(text)`, that refuses the text "no"."""

    name = "echo_room"
    title = "Echo room"
    system_prompt = "Echo."
    max_turns = 4

    def scenarios(self, split: Split, count: int, seed: int) -> list[Scenario]:
        return [
            Scenario(f"{split}-{at}", split, ({"role": "user", "content": f"question {at}"},))
            for at in range(count)
        ]

    def tools(self, scenario: Scenario) -> list[Tool]:
        return [Tool(ToolSpec("echo", "Says it again.", {"type": "object"}), _echo)]

    def reward(self, scenario: Scenario, trajectory: Trajectory) -> Score | None:
        return None


def _echo(arguments: dict[str, Any]) -> str:
    if arguments.get("text") == "no":
        raise ToolError("that is not said here")
    return str(arguments.get("text"))
