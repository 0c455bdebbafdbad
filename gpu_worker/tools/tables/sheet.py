"""What a table is once it has been read: a name, columns with what is known of them, and rows of texts.

Also the limits every format keeps, and how problems that could be mended are noted down. How a format is
read is said in the module of that format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from gpu_worker.tools.table import TableError

Row = tuple[str, ...]
Kind = Literal["text", "whole number", "number", "date", "yes/no"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_BYTES = 50 * 2**20
"""Of the file."""
MAX_ROWS = 200_000
MAX_COLUMNS = 200
MAX_CELLS = 5_000_000
MAX_CELL = 10_000
"""Characters."""
MAX_LINE = 2**20
"""Characters of one line of a text file."""
MAX_LINES = 1_000_000
"""Of a text file, blank ones too."""
MAX_TEXT = 100 * 2**20
"""Characters of all cells together: formats that compress can say little with few bytes, many times."""
MAX_DEPTH = 32
"""Of lists and objects within each other."""
MAX_NAME = 100
"""Characters of a column's name."""
TOLD_OF_A_KIND = 20
"""Sentences about problems of the same kind; the rest are counted."""

__all__ = ["Column", "Findings", "Kind", "Row", "Sheet", "TableError", "columns_of"]


@dataclass(frozen=True)
class Column:
    """A column and what its cells are like. Empty cells count only in `empty`."""

    name: str
    type: Kind = "text"
    distinct: int = 0
    """Different values, ignoring case and surrounding space."""
    empty: int = 0
    longest: int = 0
    """Characters of the longest cell."""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """A table as it was read. Cells are texts as they were written, without surrounding space."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    reading: dict[str, Any] = field(default_factory=dict)
    """How it was read: format, and by format encoding, delimiter, sheet, sheets."""
    problems: tuple[str, ...] = ()
    """What was mended or is worth a look, each with its row and column."""


def columns_of(stored: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Columns from what `as_json` made of them."""
    return tuple(Column(**{**each, "examples": tuple(each.get("examples", ()))}) for each in stored)


def as_json(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [{**asdict(column), "examples": list(column.examples)} for column in columns]


class Findings:
    """Problems that were mended. Of each kind the first ones are told, the rest counted."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}
        self._count: Counter[str] = Counter()

    def add(self, kind: str, sentence: str) -> None:
        """Note a problem; `kind` in words that can follow a number, such as “short rows”."""
        self._count[kind] += 1
        if self._count[kind] <= TOLD_OF_A_KIND:
            self._told.setdefault(kind, []).append(sentence)

    def count(self, kind: str) -> int:
        return self._count[kind]

    def sentences(self) -> tuple[str, ...]:
        found = []
        for kind, told in self._told.items():
            found += told
            if self._count[kind] > len(told):
                found.append(and_more(self._count[kind] - len(told), kind))
        return tuple(found)


def and_more(count: int, kind: str) -> str:
    """The last sentence about problems of a kind."""
    return f"And {count:,} more {kind}."


def place(row: int, column: str = "") -> str:
    """The beginning of a sentence about a cell. The header is row 1."""
    return f"Row {row:,}, column “{column}”:" if column else f"Row {row:,}:"


def check_line(line: str, number: int) -> None:
    """Raises TableError for a line that is too long, or one too many."""
    if len(line) > MAX_LINE:
        raise TableError(f"Line {number:,} has {len(line):,} characters, more than {MAX_LINE:,}.")
    if number > MAX_LINES:
        raise TableError(f"The file has more than {MAX_LINES:,} lines. Keep the rows the agent needs.")
