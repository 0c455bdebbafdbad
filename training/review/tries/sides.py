"""Two tries side by side: turns that answer each other in one row, and the words in which they differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from training.review.groups.alignment import Mark, mark, rows
from training.review.groups.wording import Piece, pieces
from training.review.transcript import Call, Turn

LONGEST_COMPARED = 4000
"""Characters of a text whose words are compared; the rest is shown as it is."""


@dataclass(frozen=True)
class Side:
    """A turn as one side of a row shows it."""

    turn: Turn
    pieces: tuple[Piece, ...]
    calls: tuple[tuple[Call, bool], ...]
    """With whether the other side does not call just the same."""


@dataclass(frozen=True)
class Pair:
    """One row. `mark` says how the right turn compares with the left one."""

    left: Side | None
    right: Side | None
    mark: Mark


def pairs(left: Sequence[Turn], right: Sequence[Turn]) -> list[Pair]:
    found = []
    for here, there in rows([left, right]):
        mine = left[here] if here is not None else None
        other = right[there] if there is not None else None
        found.append(Pair(_side(mine, other), _side(other, mine), mark(other, mine)))
    return found


def differing(found: Sequence[Pair]) -> int:
    """How many rows are not word for word the same."""
    return sum(pair.mark is not Mark.SAME for pair in found)


def _side(turn: Turn | None, other: Turn | None) -> Side | None:
    if turn is None:
        return None
    calls = other.calls if other else ()
    return Side(turn, _words(turn.text, other), tuple((call, call not in calls) for call in turn.calls))


def _words(text: str, other: Turn | None) -> tuple[Piece, ...]:
    if other is None or text == other.text or not other.text:
        return (Piece(text),) if text else ()
    compared, rest = text[:LONGEST_COMPARED], text[LONGEST_COMPARED:]
    told = pieces(compared, other.text[:LONGEST_COMPARED])
    return (*told, Piece(rest)) if rest else told
