"""The rows and cells of the tries side by side, bounded and with the differing words found; pure.

What is cut here is fetched when a person asks for it, see `views.message`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from training.review.groups import alignment
from training.review.groups.alignment import Mark
from training.review.groups.wording import Piece, pieces
from training.review.transcript import Call, Turn

TEXT = 600
"""Characters of a message that a cell shows."""
SAME_TEXT = 160
"""The same where the best try's cell, in the same row, says it all."""
ARGUMENT = 300
SAME_ARGUMENT = 120
NAME = 80
MOST_CALLS = 6
MOST_ARGUMENTS = 8
MOST_CELLS = 1600
BEST = "best"
"""The mark of the turns that all others are compared with."""
FEWEST_ROWS, MOST_ROWS = 40, 200


@dataclass(frozen=True)
class ShownArgument:
    name: str
    pieces: tuple[Piece, ...]
    differs: bool


@dataclass(frozen=True)
class ShownCall:
    """`other` if the best try does not call this tool here. `brief` has the arguments of one it repeats."""

    name: str
    arguments: tuple[ShownArgument, ...]
    other: bool
    brief: str = ""


@dataclass(frozen=True)
class Cell:
    """One try's turn in a row; nothing but the mark where it has none. `anchor` is its id on the page.

    What templates write for every cell is text already: numbers would each be localised.
    """

    mark: str
    number: int | None = None
    label: str = ""
    anchor: str = ""
    speaker: str = ""
    tool: str = ""
    pieces: tuple[Piece, ...] = ()
    calls: tuple[ShownCall, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class ShownRow:
    """`speaker` and `tool` are the best try's. `folds` counts the equal rows that begin with this one."""

    number: int
    speaker: str
    tool: str
    cells: tuple[Cell, ...]
    equal: bool
    folds: int = 0


def most_turns(tries: int) -> int:
    """Turns of each of so many tries that a page shows."""
    return max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // max(1, tries)))


def rows(turns: Sequence[Sequence[Turn]], indexes: Sequence[int], best: int = 0) -> list[ShownRow]:
    """Rows of tries that are shown in this order, compared with the one at place `best`."""
    shown = []
    for number, row in enumerate(alignment.rows(turns, best), 1):
        mine = [None if place is None else turns[at][place] for at, place in enumerate(row)]
        cells = tuple(
            _cell(index, turn, mine[best], at == best) for at, (index, turn) in _numbered(indexes, mine)
        )
        speaking = next(turn for turn in (mine[best], *mine) if turn is not None)
        equal = len(cells) > 1 and all(cell.mark in (BEST, Mark.SAME) for cell in cells)
        shown.append(ShownRow(number, speaking.speaker, _tool(speaking), cells, equal))
    return _folded(shown)


def first_difference(rows: Sequence[ShownRow], place: int) -> int | None:
    """The number of the first message of the try at `place` that is not as in the best try."""
    for row in rows:
        cell = row.cells[place]
        if cell.number is not None and cell.mark != Mark.SAME:
            return cell.number
    return None


def _numbered(indexes: Sequence[int], mine: list[Turn | None]) -> list[tuple[int, tuple[int, Turn | None]]]:
    return list(enumerate(zip(indexes, mine, strict=True)))


def _folded(rows: list[ShownRow]) -> list[ShownRow]:
    """With the length of every stretch of equal rows at its first."""
    folded, stretch = rows[:], 0
    for place in range(len(rows) - 1, -1, -1):
        stretch = stretch + 1 if rows[place].equal else 0
        if stretch and not (place and rows[place - 1].equal):
            folded[place] = replace(rows[place], folds=stretch)
    return folded


def _tool(turn: Turn) -> str:
    return (turn.tool or (turn.calls[0].name if turn.calls else ""))[:NAME]


def _cell(index: int, mine: Turn | None, best: Turn | None, is_best: bool) -> Cell:
    mark = alignment.mark(mine, best)
    if mine is None:
        return Cell(mark)
    same = mark == Mark.SAME
    repeats = same and not is_best
    text, other = mine.text[: SAME_TEXT if repeats else TEXT], best.text[:TEXT] if best else ""
    calls = _calls(mine.calls, best.calls if best else (), same, SAME_ARGUMENT if repeats else ARGUMENT)
    cut = mine.cut or len(text) < len(mine.text) or _calls_are_cut(mine.calls, calls)
    return Cell(
        BEST if is_best else mark.value,
        mine.number,
        str(mine.number),
        f"t{index}m{mine.number}",
        mine.speaker,
        mine.tool[:NAME],
        pieces(text, text if same else other),
        tuple(map(_brief, calls)) if repeats else calls,
        cut,
    )


def _calls(calls: Sequence[Call], best: Sequence[Call], same: bool, longest: int) -> tuple[ShownCall, ...]:
    """Calls beside those of the same tool in the best try, the first beside the first and so on."""
    left: dict[str, list[Call]] = {}
    for call in best:
        left.setdefault(call.name, []).append(call)
    shown = []
    for call in calls[:MOST_CALLS]:
        beside = left.get(call.name)
        other = call if same else beside.pop(0) if beside else None
        arguments = _arguments(call, other, longest)
        shown.append(ShownCall(call.name[:NAME], arguments, other is None))
    return tuple(shown)


def _arguments(call: Call, other: Call | None, longest: int) -> tuple[ShownArgument, ...]:
    theirs = dict(other.arguments) if other else {}
    return tuple(
        ShownArgument(
            name[:NAME],
            pieces(value[:longest], theirs.get(name, value if other is None else "")[:longest]),
            other is not None and theirs.get(name) != value,
        )
        for name, value in call.arguments[:MOST_ARGUMENTS]
    )


def _brief(call: ShownCall) -> ShownCall:
    told = (
        f"{argument.name}: {_text(argument)}" if argument.name else _text(argument)
        for argument in call.arguments
    )
    return ShownCall(call.name, (), call.other, brief=" · ".join(told))


def _text(argument: ShownArgument) -> str:
    return "".join(piece.text for piece in argument.pieces)


def _calls_are_cut(calls: Sequence[Call], shown: Sequence[ShownCall]) -> bool:
    if len(calls) > len(shown):
        return True
    return any(
        len(call.arguments) > len(told.arguments) or len(call.name) > NAME or _values_are_cut(call, told)
        for call, told in zip(calls, shown, strict=True)
    )


def _values_are_cut(call: Call, told: ShownCall) -> bool:
    return any(
        len(name) + len(value) > len(argument.name) + len(_text(argument))
        for (name, value), argument in zip(call.arguments, told.arguments, strict=False)
    )
