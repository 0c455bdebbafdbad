"""The judge that needs no network: rules, not a language model, and it says so ("rule-based, offline").

It reads the very prompt RULER sends to any judge and answers in the same format, so nothing about a run
changes when a real judge takes its place. It goes by the facts line of each try: the checks first, then how
the try ended, failed calls and steps. It does not understand what was said.
"""

import json
from collections.abc import Sequence
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

_ENDINGS = {
    "malformed_call": "Ended with a tool call that could not be read",
    "unknown_tool": "Called a tool that does not exist",
    "too_many_turns": "Ran out of turns",
    "context_overflow": "Ran out of room",
    "cut_off": "Was cut off in the middle of a turn",
}


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
    steps = _counted(one.calls, "look-up") if one.calls else "without looking anything up"
    after = f"after {steps}" if one.calls else steps
    if one.ended != "answered":
        said = f"{_ENDINGS.get(one.ended, 'Did not answer')} {after}"
    elif one.right is None:
        said = f"Answered {after}; there was nothing to check it by"
    elif one.right >= PASSED:
        said = f"Answered correctly {after}"
    else:
        said = f"Answered {after}, but {one.complaint or 'it was not right'}"
    if one.failed_calls:
        said += f"; {_counted(one.failed_calls, 'failed call')}"
    return said + "."


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


def _counted(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"
