"""What a judge quotes in its reason, found again in what the try says. Pure and bounded."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from training.review.transcript import Turn

SHORTEST = 8
"""Characters a quote must have; shorter ones stand anywhere."""
LONGEST_REASON = 2000
MOST_QUOTES = 20
LONGEST_SEARCHED = 100_000
"""Characters of a try that are searched, from its beginning."""

QUOTED = re.compile(
    r"“([^”]{8,400})”|„([^“”]{8,400})[“”]|«([^»]{8,400})»|「([^」]{8,400})」|\"([^\"]{8,400})\""
    r"|(?<!\w)[‘']((?:[^’'\n]|(?<=\w)[’'](?=\w)){8,400})[’'](?!\w)"
)
PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\N{NO-BREAK SPACE}": " "})


@dataclass(frozen=True)
class Said:
    """A piece of a reason. `message` is the number of the message it quotes.

    `before` if that message is one that all tries of the group begin with.
    """

    text: str
    message: int | None = None
    before: bool = False


def linked(reason: str, turns: Sequence[Turn], alike: int = 0) -> tuple[Said, ...]:
    """The reason in pieces; those that quote one of `turns` say which. Numbers below `alike` are `before`.

    Case and white space do not count. What the agent said is searched first, then all else, from the start.
    """
    reason = reason[:LONGEST_REASON]
    pieces: list[Said] = []
    searched: list[tuple[int, str]] | None = None
    end = 0
    for place, quoted in enumerate(QUOTED.finditer(reason)):
        if place >= MOST_QUOTES:
            break
        searched = _searched(turns) if searched is None else searched
        number = _found(quoted[quoted.lastindex or 0], searched)
        if number is not None:
            pieces += [Said(reason[end : quoted.start()]), Said(quoted[0], number, number < alike)]
            end = quoted.end()
    pieces.append(Said(reason[end:]))
    return tuple(piece for piece in pieces if piece.text)


def _found(quote: str, searched: Iterable[tuple[int, str]]) -> int | None:
    wanted = _plain(quote).strip(" .,;:!?…")
    if len(wanted) < SHORTEST:
        return None
    return next((number for number, text in searched if wanted in text), None)


def _searched(turns: Sequence[Turn]) -> list[tuple[int, str]]:
    left = LONGEST_SEARCHED
    found = []
    for turn in turns:
        text = _text(turn)[:left]
        left -= len(text)
        found.append((turn.speaker != "assistant", turn.number, text))
        if left <= 0:
            break
    return [(number, _plain(text)) for _, number, text in sorted(found, key=lambda one: one[:2])]


def _text(turn: Turn) -> str:
    calls = (part for call in turn.calls for part in (call.name, *map(": ".join, call.arguments)))
    return " ".join((turn.text, *calls))


def _plain(text: str) -> str:
    return " ".join(text.translate(PLAIN).casefold().split())
