"""How texts are compared: whole values by their folded form, and words within them for the search.

The search's index holds what `tokens` makes of a text and nothing else, so rows that a try has changed are
searched by the same rules as those in the file. Scripts written without spaces give one token a character,
and a word of several characters must then stand in this order: any part of a Chinese or Japanese text is
found, even of two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_ACCENTS = re.compile("[\u0300-\u036f]")
_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_WITHOUT_SPACES}]|[^\W_{_WITHOUT_SPACES}]+")
_ALONE = re.compile(rf"[{_WITHOUT_SPACES}]")


def folded(value: str) -> str:
    """The form in which two values are the same: without surrounding space and case. “2” is not “2.0”."""
    return value.strip().casefold()


def tokens(text: str) -> list[str]:
    """The words of a text without case, accents and width."""
    if text.isascii():
        if text.isalnum():
            return [text.lower()]
        return _TOKEN.findall(text.lower())
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return _TOKEN.findall(unicodedata.normalize("NFC", plain).casefold())


def phrases(text: str) -> list[list[str]]:
    """What is searched for: of every word its tokens, which must stand side by side."""
    return [found for word in text.split() if (found := tokens(word))]


def open_ended(phrase: Sequence[str]) -> bool:
    """Whether the last token may be the beginning of a longer one: not in a number, and not a character."""
    return not (phrase[-1].isdecimal() or _ALONE.match(phrase[-1]))


def contains(cells: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether one of the cells holds the phrase."""
    return any(_holds(tokens(cell), phrase) for cell in cells)


def _holds(words: Sequence[str], phrase: Sequence[str]) -> bool:
    first, last = list(phrase[:-1]), phrase[-1]
    for at in range(len(words) - len(phrase) + 1):
        end = words[at + len(first)]
        if list(words[at : at + len(first)]) == first and (
            end.startswith(last) if open_ended(phrase) else end == last
        ):
            return True
    return False
