"""The tries of a group laid side by side: turns that answer each other stand in one row.

Pure. A spine of rows begins as the turns of the best try; every other try is aligned with it in turn
(Needleman and Wunsch, 1970) and adds rows for what nobody did before it. For G tries of n turns that is
O(G · n²) steps, and far fewer where they have turns in common, which are found first.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from training.review.transcript import Turn

Row: TypeAlias = tuple[int | None, ...]
"""For every try the place of its turn among its turns, or None where it has none in this row."""

SAME = 8.0
"""How much it is worth that two turns are word for word the same."""
GAP = -0.5
NEVER = float("-inf")
COMPARED = 2000
"""Characters of a text that count when texts are compared by their words."""


class Mark(StrEnum):
    """How a turn compares with the best try's in its row."""

    SAME = "same"
    ARGUMENTS = "arguments"
    """The same tools, called with other arguments."""
    DIFFERENT = "different"
    EXTRA = "extra"
    """The best try did nothing like it."""
    MISSING = "missing"
    """The best try did something here, and this one did not."""
    NOTHING = "nothing"


@dataclass
class _Slot:
    """A row that grows: the turn it stands for, and all that were put there."""

    stands_for: int
    kinds: set[int]
    places: dict[int, int] = field(default_factory=dict)


def rows(tries: Sequence[Sequence[Turn]], best: int = 0) -> list[Row]:
    """The rows from top to bottom. Every turn of every try stands in one, in its order."""
    if not tries:
        return []
    known = _Kinds()
    kinds = [[known.of(turn) for turn in turns] for turns in tries]
    spine = [_Slot(kind, {kind}, {best: place}) for place, kind in enumerate(kinds[best])]
    for number, mine in enumerate(kinds):
        if number != best:
            spine = _with(spine, number, mine, known)
    return [tuple(slot.places.get(number) for number in range(len(tries))) for slot in spine]


def mark(mine: Turn | None, best: Turn | None) -> Mark:
    if mine is None:
        return Mark.NOTHING if best is None else Mark.MISSING
    if best is None:
        return Mark.EXTRA
    if _content(mine) == _content(best):
        return Mark.SAME
    tools = [call.name for call in mine.calls]
    return Mark.ARGUMENTS if tools and tools == [call.name for call in best.calls] else Mark.DIFFERENT


def _with(spine: list[_Slot], number: int, mine: list[int], known: "_Kinds") -> list[_Slot]:
    """The spine with one try more. What it begins and ends with like the spine needs no search."""
    first, last = _alike_at_the_ends(spine, mine)
    middle = spine[first : len(spine) - last]
    for place in range(first):
        spine[place].places[number] = place
    for back in range(1, last + 1):
        spine[-back].places[number] = len(mine) - back
    grown = []
    for slot_place, my_place in _pairs(middle, mine[first : len(mine) - last], known):
        kind = 0 if my_place is None else mine[first + my_place]
        slot = _Slot(kind, set()) if slot_place is None else middle[slot_place]
        if my_place is not None:
            slot.places[number] = first + my_place
            slot.kinds.add(kind)
        grown.append(slot)
    return spine[:first] + grown + spine[len(spine) - last :]


def _alike_at_the_ends(spine: list[_Slot], mine: list[int]) -> tuple[int, int]:
    shorter = min(len(spine), len(mine))
    first = 0
    while first < shorter and mine[first] in spine[first].kinds:
        first += 1
    last = 0
    while last < shorter - first and mine[-1 - last] in spine[-1 - last].kinds:
        last += 1
    return first, last


Pair: TypeAlias = tuple[int | None, int | None]


def _pairs(spine: list[_Slot], mine: list[int], known: "_Kinds") -> Iterator[Pair]:
    """Places in `spine` with places in `mine`; what stands between two anchors is aligned by itself."""
    slot_from = from_ = 0
    for slot_place, place in [*_anchors(spine, mine), (len(spine), len(mine))]:
        for one, other in _aligned(spine[slot_from:slot_place], mine[from_:place], known):
            yield None if one is None else one + slot_from, None if other is None else other + from_
        if slot_place < len(spine):
            yield slot_place, place
        slot_from, from_ = slot_place + 1, place + 1


def _anchors(spine: list[_Slot], mine: list[int]) -> list[tuple[int, int]]:
    """Turns that stand exactly once on each side, as many as keep their order (as patience diffs do)."""
    once = {kind: place for place, kind in enumerate(mine) if mine.count(kind) == 1}
    slots: dict[int, list[int]] = {}
    for slot_place, slot in enumerate(spine):
        for kind in slot.kinds & once.keys():
            slots.setdefault(kind, []).append(slot_place)
    found = sorted((places[0], once[kind]) for kind, places in slots.items() if len(places) == 1)
    return _longest_rising(list(dict(found).items()))


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs`, sorted by their first, whose second rises too (Schensted, 1961)."""
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(at_end[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        at_end[length : length + 1] = [number]
    rising, number = [], at_end[-1] if at_end else -1
    while number >= 0:
        rising.append(pairs[number])
        number = before[number]
    return rising[::-1]


def _aligned(spine: list[_Slot], mine: list[int], known: "_Kinds") -> list[Pair]:
    """The best order-keeping pairing of places in `spine` and in `mine`; None pairs with nobody."""
    width = len(mine) + 1
    above = [GAP * place for place in range(width)]
    came: list[bytearray] = []  # 0: both, 1: the slot alone, 2: my turn alone
    for slot in spine:
        alike, same = known.alike_to(slot.stands_for), slot.kinds
        left = above[0] + GAP
        row, from_where = [left], bytearray(width)
        from_where[0] = 1
        for place, kind in enumerate(mine, 1):
            worth = SAME if kind in same else alike[kind]
            best, step = above[place - 1] + worth, 0
            if above[place] + GAP > best:
                best, step = above[place] + GAP, 1
            if left + GAP > best:
                best, step = left + GAP, 2
            left = best
            row.append(best)
            from_where[place] = step
        came.append(from_where)
        above = row
    return _walked_back(came, len(mine))


def _walked_back(came: list[bytearray], place: int) -> list[Pair]:
    pairs: list[Pair] = []
    slot = len(came)
    while slot or place:
        step = came[slot - 1][place] if slot else 2
        slot, place = slot - (step != 2), place - (step != 1)
        pairs.append((None if step == 2 else slot, None if step == 1 else place))
    return pairs[::-1]


class _Kinds:
    """Turns as numbers: equal turns have one number, and what two are alike by is found out once."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._turns: list[Turn] = []
        self._words: dict[int, frozenset[str]] = {}
        self._alike: dict[int, _Alike] = {}

    def of(self, turn: Turn) -> int:
        number = self._numbers.setdefault(_content(turn), len(self._turns))
        if number == len(self._turns):
            self._turns.append(turn)
        return number

    def alike_to(self, one: int) -> "_Alike":
        if one not in self._alike:
            self._alike[one] = _Alike(self, one)
        return self._alike[one]

    def likeness(self, one: int, other: int) -> float:
        """NEVER for turns that may not share a row, else 0 and more; SAME only for the same."""
        return SAME if one == other else self._compared(one, other)

    def _compared(self, one: int, other: int) -> float:
        mine, theirs = self._turns[one], self._turns[other]
        if mine.speaker != theirs.speaker:
            return NEVER
        if mine.calls or theirs.calls:
            return _calls_alike(mine, theirs)
        if mine.speaker == "tool":
            return 1.0 + 3.0 * (mine.tool == theirs.tool)
        return 3.0 + 2.0 * _shared(self._words_of(one), self._words_of(other))

    def _words_of(self, number: int) -> frozenset[str]:
        if number not in self._words:
            self._words[number] = frozenset(self._turns[number].text[:COMPARED].split())
        return self._words[number]


class _Alike(dict[int, float]):
    """What one turn has in common with each other one, by their numbers; filled as it is asked."""

    def __init__(self, known: _Kinds, one: int) -> None:
        self.known, self.one = known, one

    def __missing__(self, other: int) -> float:
        self[other] = self.known.likeness(self.one, other)
        return self[other]


def _calls_alike(mine: Turn, theirs: Turn) -> float:
    """0 where only one of them calls a tool, up to 7 for the same tools with nearly the same arguments."""
    if not (mine.calls and theirs.calls):
        return 0.0
    tools = _shared(frozenset(c.name for c in mine.calls), frozenset(c.name for c in theirs.calls))
    arguments = _shared(_arguments(mine), _arguments(theirs))
    return 1.0 + 4.0 * tools + 2.0 * arguments * tools


def _arguments(turn: Turn) -> frozenset[tuple[str, str]]:
    return frozenset(pair for call in turn.calls for pair in call.arguments)


def _shared(one: frozenset[object], other: frozenset[object]) -> float:
    """Share of the elements of both that are in both; two empty sets share all."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _content(turn: Turn) -> tuple[object, ...]:
    return turn.speaker, turn.text, turn.calls, turn.tool
