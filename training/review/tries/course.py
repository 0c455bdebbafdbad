"""The course of a try: its turns as bars, how much the agent was given and said, and what it called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.checks import text_of
from judging.transcripts import is_error
from training.review.tries.spoken import Stretch

LONGEST_NAME = 60


@dataclass(frozen=True)
class Called:
    """A tool call; `failed` if it came back as an error, `unanswered` if the try ended with it."""

    name: str
    failed: bool
    unanswered: bool


@dataclass(frozen=True)
class Leg:
    """One turn of the agent. `x`, `given_width` and `said_width` are places in a drawing WIDTH wide."""

    message: int
    given: int
    said: int
    called: tuple[Called, ...]
    surprise: float | None
    """Mean −log probability of what it said, in nats: the estimate of the entropy that can be had."""
    x: float = 0.0
    given_width: float = 0.0
    said_width: float = 0.0
    said_x: float = 0.0


WIDTH = 1000.0


def course(
    messages: Sequence[Mapping[str, Any]],
    segments: Sequence[Mapping[str, Any]],
    stretches: Sequence[Sequence[Stretch]],
) -> list[Leg]:
    """Its turns in order, laid out beside each other by their tokens."""
    results = _results(messages)
    legs, given = [], 0
    for segment, parts in zip(segments, stretches, strict=True):
        for part in parts:
            if not part.drawn:
                given += part.length
                continue
            number = part.message if part.message is not None else part.first
            message = messages[number] if part.message is not None else {}
            logprobs = [value for value in segment["logprobs"][part.start : part.end] if value is not None]
            surprise = -sum(logprobs) / len(logprobs) if logprobs else None
            legs.append(Leg(number, given, part.length, _called(message, results), surprise))
            given = 0
    return _laid_out(legs)


def _laid_out(legs: Sequence[Leg]) -> list[Leg]:
    total, x, laid = max(1, sum(leg.given + leg.said for leg in legs)), 0.0, []
    for leg in legs:
        given, said = (round(WIDTH * tokens / total, 1) for tokens in (leg.given, leg.said))
        laid.append(
            Leg(
                leg.message,
                leg.given,
                leg.said,
                leg.called,
                leg.surprise,
                round(x, 1),
                given,
                said,
                round(x + given, 1),
            )
        )
        x += given + said
    return laid


def _results(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {str(m.get("tool_call_id")): text_of(dict(m)) for m in messages if m.get("role") == "tool"}


def _called(message: Mapping[str, Any], results: Mapping[str, str]) -> tuple[Called, ...]:
    found = []
    for call in message.get("tool_calls") or ():
        name, result = str(call.get("function", {}).get("name", "")), results.get(str(call.get("id")))
        found.append(Called(name[:LONGEST_NAME], result is not None and is_error(result), result is None))
    return tuple(found)
