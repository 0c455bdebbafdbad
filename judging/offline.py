"""The judge that needs no network: rules, not a language model, and it says so ("rule-based, offline").

It reads the very prompt RULER sends to any judge and answers in the same format, so nothing about a run
changes when a real judge takes its place. It goes by the facts line of each try: the checks first, then how
the try ended, failed calls and steps. It does not understand what was said.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_worker.types import OFFLINE_JUDGE, Message
from judging.checks import PASSED
from judging.prompt import FRAME

MODEL = OFFLINE_JUDGE
"""Its litellm name."""
TITLE = "rule-based, offline"
"""What it is called wherever it is shown."""

FLOOR = 0.1
"""What a try gets that did nothing right and nothing wrong."""
STEP_COST, MOST_STEPS = 0.015, 4
"""Taken off for each turn more than the shortest equally right try, in proportion to what is right."""
ERROR_COST, MOST_ERRORS = 0.02, 4
"""Taken off for each failed call."""
NO_ANSWER_COST = 0.04
"""Taken off when a try ends without an answer."""
UNCHECKED = 0.5
"""How right a finished try is taken to be when there is nothing to check it by."""

_SENTENCES = {
    "malformed_call": "Ended with a tool call that could not be read {after}",
    "unknown_tool": "Called a tool that does not exist {after}",
    "too_many_turns": "Ran out of turns {after}",
    "context_overflow": "Ran out of room {after}",
    "cut_off": "Was cut off in the middle of a turn {after}",
    "": "Did not answer {after}",
}
"""By how a try ended."""


@dataclass(frozen=True)
class Try:
    """What the facts line of one frame says."""

    id: str
    ended: str
    turns: int
    calls: int
    failed_calls: int
    right: float | None
    complaint: str


def answer(messages: Sequence[Message]) -> str:
    """The judge's answer to RULER's prompt, as JSON text."""
    tries = read_tries(next(str(m["content"]) for m in messages if m["role"] == "user"))
    shortest: dict[float | None, int] = {}
    for one in tries:
        shortest[one.right] = min(one.turns, shortest.get(one.right, one.turns))
    scores = [
        {
            "trajectory_id": one.id,
            "explanation": explanation(one),
            "score": score(one, extra_turns=one.turns - shortest[one.right]),
        }
        for one in tries
    ]
    return json.dumps({"scores": scores}, ensure_ascii=False)


def read_tries(prompt: str) -> list[Try]:
    return [_try(frame.group(2), json.loads(frame.group(3))) for frame in FRAME.finditer(prompt)]


def score(one: Try, extra_turns: int) -> float:
    """Between 0 and 1: rises with what is right, falls a little with failed calls and needless turns."""
    finished = one.ended == "answered"
    right = one.right if one.right is not None else UNCHECKED * finished
    value = FLOOR + (1 - FLOOR) * right
    value -= STEP_COST * min(extra_turns, MOST_STEPS) * right
    value -= ERROR_COST * min(one.failed_calls, MOST_ERRORS)
    value -= 0 if finished else NO_ANSWER_COST
    return round(min(1.0, max(0.0, value)), 4)


def explanation(one: Try) -> str:
    """One sentence: "Answered correctly after 2 look-ups; one failed call." """
    return "; ".join(_reasons(one)) + "."


def _reasons(one: Try) -> Iterator[str]:
    after = _after_reason(one.calls)
    if one.ended != "answered":
        yield _SENTENCES.get(one.ended, _SENTENCES[""]).format(after=after)
    elif one.right is None:
        yield f"Answered {after}"
        yield "there was nothing to check it by"
    elif one.right >= PASSED:
        yield f"Answered correctly {after}"
    elif one.complaint:
        yield f"Answered {after}, but {one.complaint}"
    else:
        yield f"Answered {after}, but it was not right"
    if one.failed_calls:
        yield "one failed call" if one.failed_calls == 1 else f"{one.failed_calls} failed calls"


def _after_reason(calls: int) -> str:
    if not calls:
        return "without looking anything up"
    return "after one look-up" if calls == 1 else f"after {calls} look-ups"


def _try(try_id: str, facts: dict[str, Any]) -> Try:
    """Checks go before the environment's own reward."""
    source = next((name for name in ("checks", "environment") if name in facts), None)
    return Try(
        id=try_id,
        ended=str(facts.get("ended", "answered")),
        turns=int(facts.get("turns", 0)),
        calls=int(facts.get("calls", 0)),
        failed_calls=int(facts.get("failed_calls", 0)),
        right=float(facts[source]) if source else None,
        complaint=str(facts.get(f"{source}_say", "")).rstrip("."),
    )
