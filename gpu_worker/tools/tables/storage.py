"""Tables as files: one SQLite file a table, named by what is in it, made for looking things up.

The file holds the rows, for every column which rows hold which value (`tallies`, `places`), and an index of
words. It is written once and only read after that, by any number of processes and threads; what a try changes
lives in `live.LiveTable`. Rows are numbered from 1, without the header.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import quote

from gpu_worker.tools.tables.live import LiveTable
from gpu_worker.tools.tables.sheet import Column, Row, Sheet, TableError, as_json, columns_of
from gpu_worker.tools.tables.words import folded, open_ended, phrases, tokens

LONGEST_VALUE = 200
"""Characters of a value that can be looked up."""
LAYOUT = 1
"""Rises when files written before can no longer be read."""
MOST_RANKED = 1_000
"""Rows found that are put in order by how much they tell; that takes longer than finding them."""
BETWEEN_CELLS = " ¦ "
"""Parts cells in the index of words; no search has this token."""

_TABLES = """
CREATE TABLE about (layout INTEGER, name TEXT, columns TEXT, rows INTEGER);
CREATE TABLE rows (number INTEGER PRIMARY KEY, cells TEXT);
CREATE TABLE tallies (
    column INTEGER, folded TEXT, value INTEGER, count INTEGER, PRIMARY KEY (column, folded)
) WITHOUT ROWID;
CREATE TABLE places (value INTEGER, row INTEGER, PRIMARY KEY (value, row)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii');
"""

_BY_RANK = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?"
_BY_ROW = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid LIMIT ?"


def save(sheet: Sheet, directory: Path) -> tuple[str, Path]:
    """Write the table to `directory`/<sha256>.sqlite, unless it is there, and return the sum and the path.

    The sum is that of the name, the columns' names and types, and the rows.
    """
    sha256 = _sum_of(sheet)
    path = directory / f"{sha256}.sqlite"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        written = directory / f".{sha256}.{os.getpid()}.{threading.get_ident()}"
        try:
            _write(sheet, written)
            written.replace(path)
        finally:
            written.unlink(missing_ok=True)
    return sha256, path


def open_table(path: Path) -> StoredTable:
    """The table in a file that `save` wrote; the same object within a process. Raises TableError."""
    return _opened(str(path), os.getpid())


@lru_cache(maxsize=64)
def _opened(path: str, process: int) -> StoredTable:
    return StoredTable(Path(path))


class StoredTable:
    """A table that never changes, for any number of threads. Results come in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connections = threading.local()
        _living.add(self)
        try:
            about = self._one("SELECT layout, name, columns, rows FROM about")
        except sqlite3.Error as error:
            raise TableError(f"The stored table {path.name} cannot be read ({error}).") from None
        if about is None or about[0] != LAYOUT:
            raise TableError(f"The stored table {path.name} was written by another version. Upload it again.")
        self.name: str = about[1]
        self.columns: tuple[Column, ...] = columns_of(json.loads(about[2]))
        self.count_rows: int = about[3]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def for_one_try(self) -> LiveTable:
        """A view of the table whose changes nobody else sees."""
        return LiveTable(self)

    def row(self, number: int) -> Row:
        """Raises LookupError if there is no such row."""
        found = self._one("SELECT cells FROM rows WHERE number = ?", number)
        if found is None:
            raise LookupError(number)
        return tuple(json.loads(found[0]))

    def rows(self) -> Iterator[Row]:
        """All rows, from number 1 on."""
        for (cells,) in self._all("SELECT cells FROM rows ORDER BY number"):
            yield tuple(json.loads(cells))

    def count(self, column: str, value: str) -> int:
        """How many rows hold the value in the column."""
        found = self._tally(column, value)
        return found[1] if found else 0

    def numbers(self, column: str, value: str) -> Iterator[int]:
        """Numbers of the rows that hold the value in the column, read as they are asked for."""
        found = self._tally(column, value)
        if found:
            for (row,) in self._all("SELECT row FROM places WHERE value = ? ORDER BY row", found[0]):
                yield row

    def search(self, words: str, most: int = -1) -> tuple[list[int], int]:
        """Numbers of the first rows that hold all the words, and how many rows do.

        The most telling come first (bm25), then the file's order decides; it does alone where words stand in
        so many rows that they tell nothing.
        """
        sought = _query(words)
        found = self._one("SELECT count(*) FROM words WHERE words MATCH ?", sought) if sought else None
        if not found or not found[0]:
            return [], 0
        sql = _BY_RANK if found[0] <= MOST_RANKED else _BY_ROW
        return [number for (number,) in self._all(sql, sought, most)], found[0]

    def _tally(self, column: str, value: str) -> tuple[int, int] | None:
        at = self.names.index(column)
        return self._one(
            "SELECT value, count FROM tallies WHERE column = ? AND folded = ?", at, folded(value)
        )

    def _one(self, sql: str, *told: object) -> tuple | None:
        return self._connection().execute(sql, told).fetchone()

    def _all(self, sql: str, *told: object) -> sqlite3.Cursor:
        return self._connection().execute(sql, told)

    def _connection(self) -> sqlite3.Connection:
        """This thread's own connection; a forked process makes its own, too."""
        kept = getattr(self._connections, "kept", None)
        if kept is None or kept[0] != os.getpid():
            _inherited.append(kept)
            address = f"file:{quote(str(self.path.resolve()))}?mode=ro&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._connections.kept = kept = (os.getpid(), connection)
        return kept[1]


_living: weakref.WeakSet[StoredTable] = weakref.WeakSet()
_inherited: list[object] = []
"""What a forked process must never let go of: closing a parent's connection would close a file number
that means something else by now."""
os.register_at_fork(after_in_child=lambda: _inherited.extend(_living))


def _query(words: str) -> str:
    """An FTS5 query of nothing but quoted tokens, so no text can be an operator."""
    return " ".join(
        f'"{" ".join(phrase)}"' + ("*" if open_ended(phrase) else "") for phrase in phrases(words)
    )


def _sum_of(sheet: Sheet) -> str:
    """Cells hold no control characters, so the separators cannot be part of one."""
    about = json.dumps([LAYOUT, sheet.name, [[column.name, column.type] for column in sheet.columns]])
    digest = hashlib.sha256(about.encode())
    for row in sheet.rows:
        digest.update(("\x1e" + "\x1f".join(row)).encode())
    return digest.hexdigest()


def _write(sheet: Sheet, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
        file.execute("BEGIN")
        about = (LAYOUT, sheet.name, json.dumps(as_json(sheet.columns)), len(sheet.rows))
        file.execute("INSERT INTO about VALUES (?, ?, ?, ?)", about)
        cells = ((number, json.dumps(row, ensure_ascii=False)) for number, row in enumerate(sheet.rows, 1))
        file.executemany("INSERT INTO rows VALUES (?, ?)", cells)
        _write_values(sheet, file)
        texts = ((number, _searched(row)) for number, row in enumerate(sheet.rows, 1))
        file.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
        file.execute("INSERT INTO words (words) VALUES ('optimize')")
        file.execute("COMMIT")
    with path.open("rb") as written:
        os.fsync(written.fileno())


def _write_values(sheet: Sheet, file: sqlite3.Connection) -> None:
    value = 0
    for at in range(len(sheet.columns)):
        rows_of: dict[str, list[int]] = {}
        for number, row in enumerate(sheet.rows, start=1):
            if len(row[at]) <= LONGEST_VALUE:
                rows_of.setdefault(folded(row[at]), []).append(number)
        first = value + 1
        tallies = [(at, text, value, len(rows)) for value, (text, rows) in enumerate(rows_of.items(), first)]
        value += len(rows_of)
        file.executemany("INSERT INTO tallies VALUES (?, ?, ?, ?)", sorted(tallies))
        places = ((value, row) for value, rows in enumerate(rows_of.values(), first) for row in rows)
        file.executemany("INSERT INTO places VALUES (?, ?)", places)


def _searched(row: Sequence[str]) -> str:
    return BETWEEN_CELLS.join(" ".join(tokens(cell)) for cell in row)
