"""Which words of a text differ from another text: cheap, bounded, and quiet where everything differs."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
MOST_TOKENS = 160
"""Words and signs between what two texts begin and end with alike; longer middles are marked as a whole."""
TOO_DIFFERENT = 0.3
"""Where less than this share of the words is the same, marking words would be noise."""


class Piece(NamedTuple):
    """A part of a text. `differs` if the other text does not have it."""

    text: str
    differs: bool = False


@lru_cache(maxsize=2048)
def pieces(mine: str, other: str) -> tuple[Piece, ...]:
    """`mine` in pieces. One plain piece if the texts are the same or have next to nothing in common."""
    if not mine:
        return ()
    if mine == other:
        return (Piece(mine),)
    words, others = TOKENS.findall(mine), TOKENS.findall(other)
    first, last = _alike_at_the_ends(words, others)
    middle, other_middle = words[first : len(words) - last], others[first : len(others) - last]
    if max(len(middle), len(other_middle)) > MOST_TOKENS:
        found = [(word, True) for word in middle]
    else:
        found = _compared(middle, other_middle)
    told = [(word, False) for word in words[:first]] + found
    told += [(word, False) for word in words[len(words) - last :]]
    return _joined(told) if _worth_marking(told) else (Piece(mine),)


def _alike_at_the_ends(words: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    shorter = min(len(words), len(others))
    first = 0
    while first < shorter and words[first] == others[first]:
        first += 1
    last = 0
    while last < shorter - first and words[-1 - last] == others[-1 - last]:
        last += 1
    return first, last


def _compared(words: list[str], others: list[str]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for what, start, end, _, _ in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        found += [(word, what != "equal") for word in words[start:end]]
    return found


def _worth_marking(told: list[tuple[str, bool]]) -> bool:
    words = [differs for word, differs in told if not word.isspace()]
    return bool(words) and words.count(False) >= TOO_DIFFERENT * len(words)


def _joined(told: list[tuple[str, bool]]) -> tuple[Piece, ...]:
    """Neighbours that are alike as one piece; a blank between two words that differ differs with them."""
    joined: list[Piece] = []
    for place, (word, differs) in enumerate(told):
        between = word.isspace() and 0 < place < len(told) - 1
        if between and not differs:
            differs = told[place - 1][1] and told[place + 1][1]
        if joined and joined[-1].differs == differs:
            joined[-1] = Piece(joined[-1].text + word, differs)
        else:
            joined.append(Piece(word, differs))
    return tuple(joined)
