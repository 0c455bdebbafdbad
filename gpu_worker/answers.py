"""One chat as the model server is asked for it, and its answers as plain data, whole or piece by piece.

Loading models and taking turns is left to `turns.py`, HTTP to `serve.py`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from gpu_worker.engines.embedded.chat import Chat
from gpu_worker.engines.embedded.directory import ModelError
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.seeds import seed_for
from gpu_worker.turns import Refusal
from gpu_worker.types import Completion, Message, Sampling, ToolSpec

COLDEST = 1e-3
"""Below this temperature the likeliest token is taken: dividing by less would overflow."""
Say = Callable[[dict[str, Any] | Exception], None]


@dataclass(frozen=True)
class Ask:
    """What one POST /chat wants. `sampling.max_tokens` 0 stands for: to the end of the context."""

    base_model: str
    adapter: str | None
    adapter_sha256: str | None
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    sampling: Sampling
    n: int
    logprobs: bool
    stream: bool


def read_ask(body: dict[str, Any]) -> Ask:
    """Raises Refusal (400) for a body that the web process would never send."""
    try:
        sampling = dict(body.get("sampling") or {})
        sampling["stop"] = tuple(sampling.get("stop") or ())
        sampling["max_tokens"] = sampling.get("max_tokens") or 0
        if sampling.get("temperature", 1.0) < COLDEST:
            sampling["temperature"] = 0.0
        return Ask(
            base_model=str(body["base_model"]),
            adapter=body.get("adapter"),
            adapter_sha256=body.get("adapter_sha256"),
            messages=tuple(dict(message) for message in body["messages"]),
            tools=tuple(ToolSpec(**tool) for tool in body.get("tools") or ()),
            sampling=Sampling(**sampling),
            n=int(body.get("n", 1)),
            logprobs=bool(body.get("logprobs")),
            stream=bool(body.get("stream")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Refusal(400, "bad_request", f"The request cannot be read: {error!r:.200}.") from None


async def answers(engine: EmbeddedEngine, ask: Ask) -> list[dict[str, Any]]:
    """All n answers, when the last is whole. Cancelling it cancels the generation."""
    async with aclosing(events(engine, ask)) as stream:
        found = [event async for event in stream if "answer" in event]
    return [event["answer"] for event in sorted(found, key=lambda event: event["index"])]


async def events(engine: EmbeddedEngine, ask: Ask) -> AsyncGenerator[dict[str, Any], None]:
    """{"index", "text"} as text is said, {"index", "answer"} when one is whole. Closing it cancels."""
    queue: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue()
    tasks = [asyncio.create_task(_tell(engine, ask, index, queue.put_nowait)) for index in range(ask.n)]
    try:
        whole = 0
        while whole < ask.n:
            event = await queue.get()
            if isinstance(event, Exception):
                raise event
            whole += "answer" in event
            yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tell(engine: EmbeddedEngine, ask: Ask, index: int, say: Say) -> None:
    shown: list[str] = []

    def say_text(text: str) -> None:
        shown.append(text)
        say({"index": index, "text": text})

    try:
        completion = await _complete(engine, ask, index, say_text if ask.stream else None)
        answer = _answer(engine, ask, completion)
        rest = answer["text"].removeprefix("".join(shown))
        if ask.stream and rest:  # a tool call that could not be read is content after all
            say_text(rest)
        say({"index": index, "answer": answer})
    except Exception as error:  # whatever it is, it must reach the reader of the queue
        say(error)


async def _complete(
    engine: EmbeddedEngine, ask: Ask, index: int, on_text: Callable[[str], None] | None
) -> Completion:
    """Raises Refusal (400) when the conversation does not fit the model's context or its template."""
    seed = seed_for(ask.sampling.seed, "answer", index)
    sampling = replace(ask.sampling, seed=seed, max_tokens=ask.sampling.max_tokens or engine.max_context)
    try:
        completion = await engine.chat(ask.messages, ask.tools, sampling, on_text=on_text)
    except ModelError as error:
        raise Refusal(400, "conversation_refused", str(error)) from None
    if completion.finish == "context" and not completion.token_ids:
        length = len(completion.prompt_ids)
        message = (
            f"The messages and tools have {length} tokens; this model reads at most {engine.max_context}."
        )
        raise Refusal(400, "context_length_exceeded", message)
    return completion


def _answer(engine: EmbeddedEngine, ask: Ask, completion: Completion) -> dict[str, Any]:
    """Call ids are made here: a conversation goes on in later requests, and must not meet one twice."""
    return {
        "text": completion.text.strip(),
        "tool_calls": [
            {"id": f"call_{secrets.token_hex(12)}", "name": call.name, "arguments": call.arguments}
            for call in completion.tool_calls
        ],
        "finish": completion.finish,
        "problem": completion.problem,
        "prompt_tokens": len(completion.prompt_ids),
        "completion_tokens": len(completion.token_ids),
        "tokens": _tokens(engine, completion) if ask.logprobs else [],
    }


def _tokens(engine: EmbeddedEngine, completion: Completion) -> list[dict[str, Any]]:
    """What was said, token by token, without the id that ends the turn."""
    tokens = []
    for token_id, logprob in zip(completion.token_ids, completion.logprobs, strict=True):
        if token_id in engine.chat_form.ends:
            break
        spelled = token_bytes(engine.chat_form, token_id)
        text = spelled.decode(errors="replace")
        tokens.append({"token": text, "logprob": logprob, "bytes": list(spelled)})
    return tokens


def _byte_alphabet() -> dict[str, int]:
    """How byte-level tokenizers write each byte as one character (GPT-2's table)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    moved = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(moved)}


BYTES = _byte_alphabet()


def token_bytes(form: Chat, token_id: int) -> bytes:
    """The bytes a token stands for, also where it is only part of a character."""
    piece = form.tokenizer.id_to_token(token_id) or ""
    if all(character in BYTES for character in piece):
        return bytes(BYTES[character] for character in piece)
    return form.decode([token_id]).encode()
