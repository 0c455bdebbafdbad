"""Reads what a language model proposed, whatever it is wrapped in, and trusts nothing in it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from training.authoring.studio.proposals.asking import SPREAD
from training.runs.rows import clean

LONGEST_ANSWER = 400_000
"""Characters of an answer that are looked at."""
LONGEST_QUESTION = 2000
LONGEST_VALUE = 500
LONGEST_PERSONA = 40
MOST = 50
"""Scenarios of one answer that are looked at."""
MOST_CALLS = 6
MOST_ARGUMENTS = 12
_START = re.compile(r'\{\s*"')


@dataclass(frozen=True)
class Proposal:
    """A question and the calls that may answer it. `answer_call` counts from 1; 0 is none."""

    question: str
    difficulty: str
    persona: str = ""
    answerable: bool = True
    calls: tuple[tuple[str, Mapping[str, str]], ...] = ()
    answer_call: int = 0
    answer_field: str = ""


def read(answer: str) -> list[Proposal]:
    """Every proposal that can be made out; a broken answer gives those before the break."""
    found = (_proposal(value) for value in _scenarios(answer[:LONGEST_ANSWER]))
    return [proposal for proposal, _ in zip((p for p in found if p), range(MOST), strict=False)]


def _scenarios(answer: str) -> Iterator[Any]:
    start, end = answer.find("{"), answer.rfind("}")
    whole = _loaded(answer[start : end + 1]) if start >= 0 else None
    if isinstance(whole, dict) and isinstance(whole.get("scenarios"), list):
        yield from whole["scenarios"]
    elif isinstance(whole, dict) and "question" in whole:
        yield whole
    else:
        yield from _pieces(answer)


def _pieces(answer: str) -> Iterator[Any]:
    """The objects in an answer that is no JSON as a whole."""
    decoder = json.JSONDecoder()
    at = tried = 0
    while (start := _START.search(answer, at)) and tried < 4 * MOST:
        tried += 1
        try:
            value, at = decoder.raw_decode(answer, start.start())
            yield value
        except (ValueError, RecursionError):
            at = start.start() + 1


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _proposal(value: Any) -> Proposal | None:
    """None for what has no question."""
    if not isinstance(value, dict):
        return None
    question = _text(value.get("question"), LONGEST_QUESTION + 1)
    if not question or len(question) > LONGEST_QUESTION:
        return None
    difficulty = value.get("difficulty")
    call = value.get("answer_call")
    calls = [_call(each) for each in _items(value.get("calls"), MOST_CALLS + 1)]
    sound = len(calls) <= MOST_CALLS and all(calls)
    return Proposal(
        question=question,
        difficulty=difficulty if isinstance(difficulty, str) and difficulty in SPREAD else "medium",
        persona=_text(value.get("persona"), LONGEST_PERSONA),
        answerable=value.get("answerable") is not False,
        calls=tuple(each for each in calls if each) if sound else (),
        answer_call=call if isinstance(call, int) and not isinstance(call, bool) and sound else 0,
        answer_field=_text(value.get("answer_field"), LONGEST_VALUE),
    )


def _call(value: Any) -> tuple[str, dict[str, str]] | None:
    """A call with arguments as {name: value} or as a list of names and values."""
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str):
        return None
    told = value.get("arguments")
    if isinstance(told, dict):
        pairs = list(told.items())
    else:
        pairs = [(each.get("name"), each.get("value")) for each in _items(told) if isinstance(each, dict)]
    arguments = {str(name): _value(given) for name, given in pairs[:MOST_ARGUMENTS]}
    return value["tool"], arguments


def _value(given: Any) -> str:
    if given is None:
        return ""
    return _text(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), LONGEST_VALUE)


def _text(value: Any, longest: int) -> str:
    return clean(value).strip()[:longest] if isinstance(value, str) else ""


def _items(value: Any, most: int = MOST_ARGUMENTS) -> list[Any]:
    return value[:most] if isinstance(value, list) else []
