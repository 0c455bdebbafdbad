"""What a language model is asked when it is to propose scenarios, and the shape its answer must have.

A proposal is a question and the calls that would answer it. It never holds the answer itself: that is taken
from what the tools return (see `verifying`).
"""

import json
import random
from collections.abc import Mapping, Sequence

from gpu_worker.types import Message, ToolPlan

BATCH = 10
"""Scenarios one answer is asked for."""
PERSONAS = (
    "in a hurry, writes in fragments",
    "polite and wordy",
    "writes in a foreign language they are still learning",
    "an expert who uses the trade's own words",
    "annoyed, because it is the second time they ask",
    "unsure, describes rather than names things",
    "matter-of-fact, one plain sentence",
    "makes small typing mistakes",
)
SPREAD = {"easy": 3, "medium": 4, "hard": 3}
"""How many of each difficulty in a full batch."""
LANGUAGES = {"en": "English", "zh": "Simplified Chinese"}
LONGEST_DESCRIPTION = 4000
LONGEST_SAMPLE = 6000
LATEST = 40
"""Questions that are there already and shown, so that they are not proposed again."""

_TEXT = {"type": "string"}


def _record(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


SCHEMA: dict[str, object] = _record(
    {
        "scenarios": _list(
            _record(
                {
                    "question": _TEXT,
                    "persona": _TEXT,
                    "difficulty": {"type": "string", "enum": list(SPREAD)},
                    "answerable": {"type": "boolean"},
                    "calls": _list(
                        _record({"tool": _TEXT, "arguments": _list(_record({"name": _TEXT, "value": _TEXT}))})
                    ),
                    "answer_call": {"type": "integer"},
                    "answer_field": _TEXT,
                }
            )
        )
    }
)
_ASKED = """You invent practice questions for an AI agent that works with tools. Write {count} of them, all \
in {language}, each as a person would send it.

For each give:
- question: what the person writes, complete in itself: it names what must be known to look things up.
- persona: who writes, one of the given ones.
- difficulty: {spread}.
- answerable: false for at least one of them, which asks for something that does not exist or that no tool \
can tell, in a way that only looking it up shows.
- calls: the calls that answer it, in order, with arguments as name and value. A value may be taken from an \
earlier call's result: {{{{1.field}}}} is `field` of the first call's result. Never guess a result.
- answer_call: the number of the call whose result holds the answer, 0 if there is none.
- answer_field: which field of that result is the answer; "count" for a count; empty for all of a short text.

Make them differ in what they ask, how they say it and which tools they need; use some that are awkward: \
unusual spelling, several steps, a detail that does not matter. {coverage}Ask only for one thing each. Do \
not name the tools in the question. Answer with JSON alone."""


def messages(
    rng: random.Random,
    *,
    description: str,
    plans: Sequence[ToolPlan],
    samples: Mapping[str, Sequence[str]],
    language: str,
    count: int,
    rarely: Sequence[str],
    known: Sequence[str],
    like: Sequence[str],
) -> list[Message]:
    """The question. `rarely` names tools that few scenarios need so far; `samples` are rows by table."""
    wanted = {kind: max(1, round(count * share / BATCH)) for kind, share in SPREAD.items()}
    told = _ASKED.format(
        count=count,
        language=LANGUAGES.get(language[:2], "English"),
        spread=", ".join(f"{number} {kind}" for kind, number in wanted.items()),
        coverage=f"Most of them should need {', '.join(rarely)}. " if rarely else "",
    )
    material = {
        "task": description[:LONGEST_DESCRIPTION],
        "tools": [_told(plan) for plan in plans],
        "some rows": _cut(samples),
        "personas": rng.sample(PERSONAS, 4),
        "there already, do not repeat": list(known[-LATEST:]),
    }
    if like:
        material["make them similar in kind to these, about other things"] = list(like[:LATEST])
    text = json.dumps(material, ensure_ascii=False, indent=1)
    return [{"role": "system", "content": told}, {"role": "user", "content": text}]


def _told(plan: ToolPlan) -> dict[str, object]:
    spec = plan.spec
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _cut(samples: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The rows, of each table as many as its share of the room allows."""
    room = LONGEST_SAMPLE // max(1, len(samples))
    found: dict[str, list[str]] = {}
    for table, lines in samples.items():
        size = 0
        found[table] = []
        for line in lines:
            size += len(line)
            if size <= room:
                found[table].append(line)
    return found
