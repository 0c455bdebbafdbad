"""Answers of the model server in the exact shapes of OpenAI's chat completions, whole and in chunks."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from training.serving.chat_request import ChatRequest
from training.serving.queries import ModelName, Target

FINISH = {"stop": "stop", "length": "length", "context": "length"}

Answer = dict[str, Any]
"""One answer of the model server: text, tool_calls, tokens, finish, prompt_tokens, completion_tokens."""


def model_list(names: list[ModelName]) -> dict[str, Any]:
    return {"object": "list", "data": [model_line(name) for name in names]}


def model_line(name: ModelName) -> dict[str, Any]:
    return {"id": name.id, "object": "model", "created": name.created, "owned_by": "artweb"}


@dataclass
class Completion:
    """One chat completion on its way to the client: its id, its model, and how it is written down."""

    asked: ChatRequest
    target: Target
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))
    _opened: set[int] = field(default_factory=set)
    _answers: list[Answer] = field(default_factory=list)

    def whole(self, answers: list[Answer]) -> dict[str, Any]:
        return {
            **self._head("chat.completion"),
            "choices": [self._choice(index, answer) for index, answer in enumerate(answers)],
            "usage": usage(answers),
        }

    def chunks(self, event: dict[str, Any]) -> Iterator[bytes]:
        """One event of the model server as server-sent events."""
        index = event["index"]
        if index not in self._opened:
            self._opened.add(index)
            yield self._chunk(index, {"role": "assistant", "content": "", "refusal": None})
        if "text" in event:
            yield self._chunk(index, {"content": event["text"]})
        else:
            self._answers.append(event["answer"])
            yield from self._closing(index, event["answer"])

    def _closing(self, index: int, answer: Answer) -> Iterator[bytes]:
        """The last chunks of a choice: its tool calls, log-probabilities and why it ended."""
        for place, call in enumerate(tool_calls(answer)):
            yield self._chunk(index, {"tool_calls": [{"index": place, **call}]})
        if self.asked.logprobs:
            yield self._chunk(index, {}, logprobs=logprobs(answer))
        yield self._chunk(index, {}, finish_reason=finish_reason(answer))

    def farewell(self) -> Iterator[bytes]:
        """What follows the last choice: usage where it was asked for, and the end mark."""
        if self.asked.include_usage:
            head = self._head("chat.completion.chunk")
            yield sse({**head, "choices": [], "usage": usage(self._answers)})
        yield b"data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.target.model,
            "system_fingerprint": f"fp_{self.target.sha256[:12]}",
        }

    def _choice(self, index: int, answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer["text"], "refusal": None}
        if answer["tool_calls"]:
            message["content"] = answer["text"] or None
            message["tool_calls"] = tool_calls(answer)
        return {
            "index": index,
            "message": message,
            "logprobs": logprobs(answer) if self.asked.logprobs else None,
            "finish_reason": finish_reason(answer),
        }

    def _chunk(
        self,
        index: int,
        delta: dict[str, Any],
        logprobs: dict[str, Any] | None = None,
        finish_reason: str | None = None,
    ) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        if self.asked.include_usage:
            chunk["usage"] = None
        return sse(chunk)


def sse(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def tool_calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": call["id"],
            "type": "function",
            "function": {
                "name": call["name"],
                "arguments": json.dumps(call["arguments"], ensure_ascii=False),
            },
        }
        for call in answer["tool_calls"]
    ]


def logprobs(answer: Answer) -> dict[str, Any]:
    """Of the tokens the model said, under its distribution at temperature 1; alternatives are not kept."""
    content = [{**token, "top_logprobs": []} for token in answer["tokens"]]
    return {"content": content, "refusal": None}


def finish_reason(answer: Answer) -> str:
    return "tool_calls" if answer["tool_calls"] else FINISH[answer["finish"]]


def usage(answers: list[Answer]) -> dict[str, int]:
    """The prompt counts once, however many answers were asked for."""
    prompt = max((answer["prompt_tokens"] for answer in answers), default=0)
    said = sum(answer["completion_tokens"] for answer in answers)
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
