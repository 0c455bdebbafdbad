"""The course of a try: its turns as bars, how much the agent was given and said, and what it called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.checks import text_of
from judging.transcripts import is_error
from training.review.tries.measured import Values
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
    """Mean −log probability of what it said, in nats: an estimate of the entropy that is always there."""
    entropy: float | None
    """The mean over what it said, in nats; None where nothing was measured."""
    x: float = 0.0
    given_width: float = 0.0
    said_width: float = 0.0
    said_x: float = 0.0


WIDTH = 1000.0


def course(
    messages: Sequence[Mapping[str, Any]],
    segments: Sequence[Mapping[str, Any]],
    stretches: Sequence[Sequence[Stretch]],
    measured: Sequence[Values] = (),
) -> list[Leg]:
    """Its turns in order, laid out beside each other by their tokens."""
    results = _results(messages)
    legs, given = [], 0
    for at, (segment, parts) in enumerate(zip(segments, stretches, strict=True)):
        entropies = measured[at]["entropies"] if measured else []
        for part in parts:
            if not part.drawn:
                given += part.length
                continue
            number = part.message if part.message is not None else part.first
            message = messages[number] if part.message is not None else {}
            logprob, entropy = (
                _mean(each[part.start : part.end]) for each in (segment["logprobs"], entropies)
            )
            surprise = None if logprob is None else -logprob
            legs.append(Leg(number, given, part.length, _called(message, results), surprise, entropy))
            given = 0
    return _laid_out(legs)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _laid_out(legs: Sequence[Leg]) -> list[Leg]:
    total, x, laid = max(1, sum(leg.given + leg.said for leg in legs)), 0.0, []
    for leg in legs:
        given, said = (round(WIDTH * tokens / total, 1) for tokens in (leg.given, leg.said))
        at, beside = round(x, 1), round(x + given, 1)
        laid.append(replace(leg, x=at, given_width=given, said_width=said, said_x=beside))
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
