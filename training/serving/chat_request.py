"""What a POST to /v1/chat/completions asks for, checked once, trusted after.

Fields that change the meaning of an answer and are not offered here are refused by name; fields that
only carry bookkeeping are ignored. Pure: no database, no network.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any

from training.serving.conversation import read_messages, read_tools
from training.serving.errors import ApiError, invalid
from training.serving.json_body import read_object

MAX_ANSWERS = 16
MAX_STOPS = 4
MAX_STOP_LENGTH = 200
MAX_TOKENS = 1_000_000

IGNORED = {
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prediction",
}
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "top_logprobs": (0,),
    "parallel_tool_calls": (True,),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "functions": ([],),
    "function_call": (),
    "audio": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
}
"""OpenAI's fields that are not offered, with the values that ask for nothing."""
OFFERED = {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "seed",
    "logprobs",
    "stream",
    "stream_options",
}


@dataclass(frozen=True)
class ChatRequest:
    """`tools` is None where the request names none. `max_tokens` None means: to the end of the context."""

    model: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] | None
    tools_allowed: bool
    temperature: float
    top_p: float
    max_tokens: int | None
    stop: tuple[str, ...]
    seed: int
    n: int
    logprobs: bool
    stream: bool
    include_usage: bool


def read_chat_request(raw: bytes) -> ChatRequest:
    """The request in a body of JSON. Raises ApiError (400) that names the field and what it may hold."""
    body = {name: value for name, value in read_object(raw).items() if value is not None}
    _refuse_what_is_not_offered(body)
    messages = read_messages(body.get("messages"))
    tools = read_tools(body.get("tools"))
    stream = _flag(body, "stream")
    return ChatRequest(
        model=_model(body.get("model")),
        messages=tuple(messages),
        tools=None if tools is None else tuple(tools),
        tools_allowed=_tool_choice(body.get("tool_choice")),
        temperature=_number(body, "temperature", 0.0, 2.0, default=1.0),
        top_p=_top_p(body),
        max_tokens=_max_tokens(body),
        stop=_stop(body.get("stop")),
        seed=_integer(body, "seed", -(2**63), 2**63 - 1, default=secrets.randbits(62)),
        n=_integer(body, "n", 1, MAX_ANSWERS, default=1),
        logprobs=_flag(body, "logprobs"),
        stream=stream,
        include_usage=_include_usage(body.get("stream_options"), stream),
    )


def _refuse_what_is_not_offered(body: dict[str, Any]) -> None:
    for name, value in body.items():
        if name in OFFERED or name in IGNORED:
            continue
        if name not in NEUTRAL:
            raise invalid(name[:100], f"Unknown field {name[:100]!r}.", code="unknown_parameter")
        if not any(_same(value, neutral) for neutral in NEUTRAL[name]):
            raise _not_offered(name)


def _same(value: Any, neutral: Any) -> bool:
    """Equal, where True and 1 are not."""
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


def _not_offered(name: str) -> ApiError:
    allowed = " or ".join(repr(value) for value in NEUTRAL[name])
    hint = f"leave it out or use {allowed}" if allowed else "leave it out"
    return invalid(name, f"'{name}' is not offered here: {hint}.", code="unsupported_parameter")


def _model(value: Any) -> str:
    if isinstance(value, str) and 1 <= len(value) <= 200 and value.isprintable():
        return value
    raise invalid("model", "'model' must be the name of a deployment, or 'run@step'.")


def _flag(body: dict[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if isinstance(value, bool):
        return value
    raise invalid(name, f"'{name}' must be true or false.")


def _number(body: dict[str, Any], name: str, low: float, high: float, *, default: float) -> float:
    value = body.get(name, default)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
        return float(value)
    raise invalid(name, f"'{name}' must be a number from {low:g} to {high:g}.")


def _top_p(body: dict[str, Any]) -> float:
    value = _number(body, "top_p", 0.0, 1.0, default=1.0)
    if value > 0 and math.isfinite(value):
        return value
    raise invalid("top_p", "'top_p' must be a number above 0 and at most 1.")


def _integer(body: dict[str, Any], name: str, low: int, high: int, *, default: int) -> int:
    value = body.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise invalid(name, f"'{name}' must be a whole number from {low} to {high}.")


def _max_tokens(body: dict[str, Any]) -> int | None:
    names = [name for name in ("max_completion_tokens", "max_tokens") if name in body]
    limits = {_integer(body, name, 1, MAX_TOKENS, default=1) for name in names}
    if len(limits) > 1:
        message = "'max_tokens' and 'max_completion_tokens' say different things; send one."
        raise invalid("max_tokens", message)
    return limits.pop() if limits else None


def _stop(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else [] if value is None else value
    fits = isinstance(stops, list) and len(stops) <= MAX_STOPS
    if fits and all(isinstance(stop, str) and 1 <= len(stop) <= MAX_STOP_LENGTH for stop in stops):
        return tuple(stops)
    message = f"'stop' must be a text, or at most {MAX_STOPS} texts, of 1 to {MAX_STOP_LENGTH} characters."
    raise invalid("stop", message)


def _tool_choice(value: Any) -> bool:
    """Whether tools are offered to the model at all."""
    if value is None or value == "auto":
        return True
    if value == "none":
        return False
    message = "'tool_choice' must be 'auto' or 'none': the model cannot be forced to call a tool here."
    raise invalid("tool_choice", message, code="unsupported_value")


def _include_usage(options: Any, stream: bool) -> bool:
    if options is None:
        return False
    if not stream or not isinstance(options, dict):
        raise invalid("stream_options", "'stream_options' must be an object, sent with 'stream': true.")
    for name in options:
        if name not in ("include_usage", "include_obfuscation"):
            at = f"stream_options.{name[:100]}"
            raise invalid(at, f"Unknown field {at!r}.", code="unknown_parameter")
    return _flag(options, "include_usage")
