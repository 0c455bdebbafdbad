"""Reads a judge's answer, whatever it is wrapped in, and trusts nothing in it.

Fences, prose, thinking and a byte-order mark around the JSON are put up with; anything unclear about who
gets which score is not: BadAnswer says what is wrong, in a sentence the judge can be shown.
"""

import json
import math
import re
from collections.abc import Collection, Iterator
from typing import Any

LONGEST_ANSWER = 200_000
"""Characters of an answer that are looked at."""
MOST_STARTS = 200
"""Places in an answer where JSON is looked for."""
LONGEST_EXPLANATION = 600

_START = re.compile(r'\{\s*["\'}]|\[\s*\{')
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ID_KEYS = ("trajectory_id", "id")

Verdicts = dict[str, tuple[float, str]]
"""Score in [0, 1] and explanation, by id."""


class BadAnswer(Exception):
    """A judge's answer does not say exactly one score for each try."""


def read_answer(text: str, ids: Collection[str]) -> Verdicts:
    """The verdict on each of `ids`. Raises BadAnswer.

    Ids that were never asked about are passed over. Finite numbers are clamped into [0, 1].
    """
    problem = "there was no JSON in it"
    for value in _values(text):
        try:
            return _verdicts(value, ids)
        except BadAnswer as error:
            problem = str(error)
    raise BadAnswer(problem)


def _values(text: str) -> Iterator[Any]:
    """Every outermost JSON value in the text, the whole of it first, then the last one first."""
    text = _THINKING.sub("", text[:LONGEST_ANSWER].lstrip("\ufeff"), count=1).strip()
    try:
        value = json.loads(text)
        yield json.loads(value) if isinstance(value, str) else value
        return
    except (ValueError, RecursionError):
        found = list(_inner_values(text))
    yield from reversed(found)


def _inner_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, at)
        if not start:
            return
        try:
            value, at = decoder.raw_decode(text, start.start())
            yield value
        except (ValueError, RecursionError):
            at = start.start() + 1


def _verdicts(value: Any, ids: Collection[str]) -> Verdicts:
    known = {wanted.casefold(): wanted for wanted in ids}
    verdicts: Verdicts = {}
    for said, entry in _entries(value):
        wanted = known.get(said.casefold().strip(" \t\r\n\"'`#<>").removeprefix("try").lstrip("- :#"))
        if wanted is None:
            continue
        if wanted in verdicts:
            raise BadAnswer(f"the try {wanted} was scored twice")
        verdicts[wanted] = (_score(entry.get("score"), wanted), _explanation(entry.get("explanation")))
    missing = [wanted for wanted in ids if wanted not in verdicts]
    if missing:
        raise BadAnswer("there was no score for " + ", ".join(missing))
    return verdicts


def _entries(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Id and entry, from a list of entries or an object that maps ids to entries or bare scores."""
    if isinstance(value, dict) and isinstance(value.get("scores"), (list, dict)):
        value = value["scores"]
    elif isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), list):
        (value,) = value.values()
    if isinstance(value, dict):
        for key, entry in value.items():
            yield key, entry if isinstance(entry, dict) else {"score": entry}
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, dict):
                said = next((entry[key] for key in _ID_KEYS if key in entry), None)
                yield said if isinstance(said, str) else "", entry
    else:
        raise BadAnswer("the JSON was not an object with scores")


def _score(value: Any, wanted: str) -> float:
    number = _number(value)
    if number is None or not math.isfinite(number):
        raise BadAnswer(f"the score of {wanted} was not a number between 0 and 1")
    return min(1.0, max(0.0, number))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _explanation(value: Any) -> str:
    return _INVISIBLE.sub(" ", value).strip()[:LONGEST_EXPLANATION] if isinstance(value, str) else ""
