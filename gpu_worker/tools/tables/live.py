"""A table as one try sees it: the shared rows, and on top of them what this try changed or added.

Only the changes are kept, in memory, so a try costs nothing until it writes and never touches the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from gpu_worker.tools.tables.sheet import Row
from gpu_worker.tools.tables.words import contains, folded, phrases

if TYPE_CHECKING:  # which makes live tables
    from gpu_worker.tools.tables.storage import StoredTable


@dataclass(frozen=True)
class Found:
    """The first rows of a look-up, with their numbers, and how many there are in all."""

    rows: tuple[tuple[int, Row], ...]
    total: int


class LiveTable:
    """One try's own view of a stored table. For one thread at a time."""

    def __init__(self, stored: StoredTable) -> None:
        self.stored = stored
        self._mine: dict[int, list[str]] = {}
        """Rows this try changed or added, by number; added ones follow the file's."""

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.stored.names

    def row(self, number: int) -> Row:
        """Raises LookupError if there is no such row."""
        mine = self._mine.get(number)
        return self.stored.row(number) if mine is None else tuple(mine)

    def find(self, column: str, value: str, most: int) -> Found:
        """Rows whose column holds the value, in the file's order and added ones last."""
        numbers = islice(self._numbers(column, value), most)
        return self._found(numbers, self.count(column, value))

    def count(self, column: str, value: str) -> int:
        """How many rows hold the value in the column."""
        count = self.stored.count(column, value)
        if not self._mine:
            return count
        at, sought = self.columns.index(column), folded(value)
        before = sum(self._was(number, at) == sought for number in self._mine)
        return count - before + len(self._matching(at, sought))

    def search(self, words: str, most: int) -> Found:
        """Rows that hold all the words, the most telling first; those this try wrote come last."""
        sought = phrases(words)
        if not self._mine or not sought:
            numbers, total = self.stored.search(words, most)
            return self._found(iter(numbers), total)
        theirs = [number for number in self.stored.search(words)[0] if number not in self._mine]
        mine = [
            number
            for number, row in sorted(self._mine.items())
            if all(contains(row, phrase) for phrase in sought)
        ]
        return self._found(iter((theirs + mine)[:most]), len(theirs) + len(mine))

    def update(self, number: int, column: str, value: str) -> Row:
        """Change one cell and return the row as it is then. Raises LookupError if there is no such row."""
        row = list(self.row(number))
        row[self.columns.index(column)] = value
        self._mine[number] = row
        return tuple(row)

    def insert(self, values: Mapping[str, str]) -> Row:
        """Add a row and return it. Columns without a value stay empty."""
        row = [values.get(column, "") for column in self.columns]
        added = sum(number > self.stored.count_rows for number in self._mine)
        self._mine[self.stored.count_rows + added + 1] = row
        return tuple(row)

    def changes(self) -> list[dict[str, Any]]:
        """How the table differs from the file, whatever the order in which that came about.

        A cell that changed is {table, row, column, before, after}, a row that was added {table, insert}.
        """
        found: list[dict[str, Any]] = []
        for number, row in sorted(self._mine.items()):
            if number > self.stored.count_rows:
                found.append({"table": self.name, "insert": dict(zip(self.columns, row, strict=True))})
            else:
                found += self._changed(number, row)
        return sorted(found, key=_order)

    def _changed(self, number: int, row: list[str]) -> Iterator[dict[str, Any]]:
        for column, before, after in zip(self.columns, self.stored.row(number), row, strict=True):
            if before != after:
                change = {"row": number, "column": column, "before": before, "after": after}
                yield {"table": self.name, **change}

    def _found(self, numbers: Iterator[int], total: int) -> Found:
        return Found(tuple((number, self.row(number)) for number in numbers), total)

    def _numbers(self, column: str, value: str) -> Iterator[int]:
        theirs = self.stored.numbers(column, value)
        if not self._mine:
            return theirs
        mine = self._matching(self.columns.index(column), folded(value))
        return merge((number for number in theirs if number not in self._mine), mine)

    def _matching(self, at: int, sought: str) -> list[int]:
        return [number for number, row in sorted(self._mine.items()) if folded(row[at]) == sought]

    def _was(self, number: int, at: int) -> str | None:
        """What the file holds there, folded; None where the row was added."""
        return folded(self.stored.row(number)[at]) if number <= self.stored.count_rows else None


def _order(change: dict[str, Any]) -> str:
    return json.dumps(change, sort_keys=True, ensure_ascii=False)
