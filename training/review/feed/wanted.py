"""What a person looks for in transcripts: several words (all of them), "a phrase", -not this. Nothing raises.

Letters are compared without case, anywhere in a message: part of a word counts, in every script.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

GRAM = 3
"""Characters of an indexed piece; shorter words cannot be looked up in the index."""
MOST_GRAMS = 24
"""Pieces of a query that are looked up; what is found is read in full anyway."""
LONGEST = 50_000
"""Characters of a transcript that can be searched."""
AROUND = 60
"""Characters shown on either side of a match."""
_WORD = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')


@dataclass(frozen=True)
class Wanted:
    """Lower-case texts that a transcript must have, and must not have."""

    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    def in_text(self, text: str) -> bool:
        lower = text.lower()
        return all(one in lower for one in self.all_of) and not any(one in lower for one in self.none_of)

    @property
    def grams(self) -> list[str]:
        """Pieces that every transcript with these words has; none where all words are too short."""
        pieces = dict.fromkeys(
            word[at : at + GRAM] for word in self.all_of for at in range(len(word) - GRAM + 1)
        )
        return [piece for piece in pieces if "\0" not in piece][:MOST_GRAMS]


@dataclass(frozen=True)
class Snippet:
    """Where a text was found, and what stands around it."""

    message: int
    before: str
    match: str
    after: str


def wanted(text: str) -> Wanted:
    """A query as it was typed; an unclosed quotation goes to the end."""
    chosen: dict[bool, list[str]] = {True: [], False: []}
    for minus, phrase, word in _WORD.findall(text.lower()):
        if phrase.strip() or word.strip('"'):
            chosen[not minus].append(phrase or word.strip('"'))
    return Wanted(tuple(chosen[True]), tuple(chosen[False]))


def pieces(messages: Sequence[dict[str, Any]]) -> list[tuple[int, str]]:
    """What can be searched, by number of the message: all but the system prompt, which every try has."""
    told = []
    for number, message in enumerate(messages):
        if message.get("role") == "system":
            continue
        content = message.get("content")
        told.append((number, content if isinstance(content, str) else _json(content)))
        for call in message.get("tool_calls") or ():
            function = call.get("function", call)
            arguments = function.get("arguments", "")
            called = arguments if isinstance(arguments, str) else _json(arguments)
            told.append((number, f"{function.get('name', '')} {called}"))
    return [(number, text) for number, text in told if text]


def text_of(messages: Sequence[dict[str, Any]]) -> str:
    """A transcript as one text, bounded."""
    return "\n".join(text for _number, text in pieces(messages))[:LONGEST]


def snippet(messages: Sequence[dict[str, Any]], asked: Wanted) -> Snippet | None:
    """Where the first word stands; None where only absence was asked for."""
    told = pieces(messages)
    for word in asked.all_of:
        for number, text in told:
            lower = text.lower()
            at = lower.find(word)
            if at >= 0 and len(lower) == len(text):
                return _cut(number, text, at, at + len(word))
            if at >= 0:  # İ is two characters in lower case: places differ, so show the beginning
                return Snippet(number, text[: 2 * AROUND], "", "")
    return None


def _cut(number: int, text: str, start: int, end: int) -> Snippet:
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before = ("…" if first else "") + text[first:start]
    return Snippet(number, before, text[start:end], text[end:last] + ("…" if last < len(text) else ""))


def _json(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)
