"""Making a table of what a file's rows hold: the header checked, rows of the header's width, limits kept.

What can be mended without changing what a cell says is mended and noted with its row and column; a row whose
cells may have slipped into the wrong columns is left out, and a file with many of those is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpu_worker.tools.tables.encoding import REPLACED
from gpu_worker.tools.tables.kinds import kind_of, misfits
from gpu_worker.tools.tables.sheet import (
    KINDS,
    MAX_CELL,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_NAME,
    MAX_ROWS,
    MAX_TEXT,
    Column,
    Findings,
    Kind,
    Row,
    Sheet,
    TableError,
    place,
)
from gpu_worker.tools.tables.words import folded

Numbered = tuple[int, Sequence[str]]
"""A row's number in the file, where the header is row 1, and its cells."""
MOST_LEFT_OUT = 0.05
"""Share of the rows that may be left out."""
EXAMPLES, EXAMPLE_LENGTH = 3, 60


def table_of(
    name: str,
    records: Iterable[Numbered],
    reading: dict[str, Any],
    findings: Findings,
    types: Mapping[str, str],
    *,
    ragged: bool = True,
) -> Sheet:
    """The table in a file's rows, of which the first that is not blank is the header. Raises TableError.

    Where rows are not `ragged`, a header may end in columns without a name.
    """
    filled = (record for record in records if any(map(str.strip, record[1])))
    first = next(filled, None)
    if first is None:
        raise TableError("The file is empty. Its first row must name the columns.")
    header = _header(first, findings, ragged)
    numbers, rows = _rows(filled, header, findings)
    kept = [at for at, column in enumerate(header) if column or any(row[at] for row in rows)]
    named = [header[at] or f"column {at + 1}" for at in kept]
    if len(kept) < len(header):
        rows = [tuple(row[at] for at in kept) for row in rows]
    _note_unnamed(header, kept, findings)
    return sheet_of(name, _different(named, findings), rows, reading, findings, types, numbers=numbers)


def sheet_of(
    name: str,
    header: Sequence[str],
    rows: Sequence[Row],
    reading: dict[str, Any],
    findings: Findings,
    types: Mapping[str, str],
    *,
    numbers: Sequence[int],
) -> Sheet:
    """A sheet of rows that are as wide as the header, with each column looked at. Raises TableError."""
    if not rows:
        raise TableError("There is a header but no row below it.")
    _check_types(header, types)
    columns = []
    for at, column in enumerate(header):
        cells = [row[at] for row in rows]
        columns.append(_column(column, cells, types.get(column, "")))
        _note_misfits(columns[-1], cells, numbers, findings)
    return Sheet(name, tuple(columns), tuple(rows), reading, findings.sentences())


def limited(rows: Iterable[tuple[int, Row]], header: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """The rows, as long as they keep the limits. Raises TableError with the row and column that does not."""
    text = 0
    for count, (number, row) in enumerate(rows, start=1):
        if count > MAX_ROWS:
            raise TableError(f"The file has more than {MAX_ROWS:,} rows. Keep the rows the agent needs.")
        if count * len(header) > MAX_CELLS:
            raise TableError(f"The file has more than {MAX_CELLS:,} cells. Keep the columns the agent needs.")
        longest = max(map(len, row), default=0)
        if longest > MAX_CELL:
            column = header[[len(cell) for cell in row].index(longest)]
            raise TableError(
                f"{place(number, column)} the cell has {longest:,} characters, more than {MAX_CELL:,}. "
                "Shorten it."
            )
        text += sum(map(len, row))
        if text > MAX_TEXT:
            raise TableError(f"{place(number)} up to here the cells hold more than {MAX_TEXT:,} characters.")
        yield number, row


def check_width(count: int, row: int) -> None:
    """Raises TableError if a header has too many columns."""
    if count > MAX_COLUMNS:
        raise TableError(
            f"{place(row)} there are {count:,} columns, more than {MAX_COLUMNS}. "
            "Keep the columns the agent needs."
        )


def clean_name(name: str) -> str:
    """A column's name on one line and of bearable length."""
    return " ".join(name.split())[:MAX_NAME].strip()


def _header(record: Numbered, findings: Findings, ragged: bool) -> list[str]:
    number, cells = record
    while ragged and not cells[-1].strip():
        cells = cells[:-1]
    check_width(len(cells), number)
    names = [clean_name(cell) for cell in cells]
    for cell, name in zip(cells, names, strict=True):
        if len(" ".join(cell.split())) > MAX_NAME:
            findings.add("long names", f"{place(number, name)} the name was cut to {MAX_NAME} characters.")
    return names


def _different(names: Sequence[str], findings: Findings) -> list[str]:
    """The names, of which each that stands twice got a number."""
    taken: set[str] = set()
    found = []
    for at, name in enumerate(names, start=1):
        free, count = name, 1
        while free in taken:
            count += 1
            free = f"{name} ({count})"
        if free != name:
            told = f"the name “{name}” stands twice in the header; here it is called “{free}”"
            findings.add("names that stand twice", f"Row 1, column {at}: {told}.")
        taken.add(free)
        found.append(free)
    return found


def _note_unnamed(header: Sequence[str], kept: Sequence[int], findings: Findings) -> None:
    for at, name in enumerate(header):
        if not name:
            told = (
                f"it is called “column {at + 1}”" if at in kept else "it is empty below too and was left out"
            )
            findings.add("columns without a name", f"Row 1, column {at + 1}: the column has no name; {told}.")


def _rows(
    records: Iterable[Numbered], header: Sequence[str], findings: Findings
) -> tuple[list[int], list[Row]]:
    left_out = _LeftOut(findings)
    fitting = _fitting(records, header, left_out, findings)
    numbers, rows = [], []
    for number, row in limited(fitting, [name or f"column {at}" for at, name in enumerate(header, 1)]):
        numbers.append(number)
        rows.append(row)
    left_out.check(len(rows))
    return numbers, rows


class _LeftOut:
    """Rows with more cells than the header: which cell belongs where cannot be said."""

    def __init__(self, findings: Findings) -> None:
        self._findings, self._first, self._count = findings, (0, 0, 0), 0

    def add(self, number: int, cells: int, columns: int) -> None:
        self._first = self._first if self._count else (number, cells, columns)
        self._count += 1
        self._findings.add(
            "rows with too many cells",
            f"Row {number:,}, column {columns + 1}: the row has {cells:,} cells, the header only "
            f"{columns:,}; the row was left out.",
        )
        if self._count > MAX_ROWS:
            self.check(0)

    def check(self, kept: int) -> None:
        """Raises TableError if too many rows would be left out."""
        if self._count > MOST_LEFT_OUT * (kept + self._count):
            number, cells, columns = self._first
            raise TableError(
                f"Row {number:,}, column {columns + 1}: the row has {cells:,} cells, the header only "
                f"{columns:,} ({self._count:,} rows are like this). Put quotes around a value that holds the "
                "delimiter, or choose another delimiter."
            )


def _fitting(
    records: Iterable[Numbered], header: Sequence[str], left_out: _LeftOut, findings: Findings
) -> Iterator[tuple[int, Row]]:
    width = len(header)
    for number, cells in records:
        row = tuple(map(str.strip, cells))
        if len(row) < width:
            told = f"the row has {len(row):,} cells, the header {width:,}; missing cells were left empty"
            findings.add("short rows", f"{place(number, header[len(row)])} {told}.")
            row += ("",) * (width - len(row))
        elif len(row) > width and any(row[width:]):
            left_out.add(number, len(row), width)
            continue
        _note_bytes(number, row, header, findings)
        yield number, row[:width]


def _note_bytes(number: int, row: Row, header: Sequence[str], findings: Findings) -> None:
    for name, cell in zip(header, row, strict=False):
        if REPLACED in cell:
            told = f"a byte is no text in this encoding and shows as “{REPLACED}”"
            findings.add("bytes that are no text", f"{place(number, name)} {told}.")


def _check_types(header: Sequence[str], types: Mapping[str, str]) -> None:
    for column, kind in types.items():
        if column not in header:
            raise TableError(f"There is no column “{column[:MAX_NAME]}” to give a type to.")
        if kind not in KINDS:
            raise TableError(f"“{kind[:40]}” is no type. Types are {', '.join(KINDS)}.")


def _column(name: str, cells: Sequence[str], wanted: str) -> Column:
    filled = Counter(cell for cell in cells if cell)
    chosen = [each for each in KINDS if each == wanted]
    kind: Kind = chosen[0] if chosen else kind_of(cells)
    return Column(
        name=name,
        type=kind,
        distinct=len({folded(cell) for cell in filled}),
        empty=len(cells) - filled.total(),
        longest=max(map(len, filled), default=0),
        examples=tuple(cell[:EXAMPLE_LENGTH] for cell, _ in zip(filled, range(EXAMPLES), strict=False)),
    )


def _note_misfits(column: Column, cells: Sequence[str], numbers: Sequence[int], findings: Findings) -> None:
    wrong = misfits(column.type, cells)
    if not wrong:
        return
    for number, cell in zip(numbers, cells, strict=True):
        if cell in wrong:
            told = f"“{cell[:EXAMPLE_LENGTH]}” is not a {column.type} like the column's other cells; it stays"
            findings.add("cells of another type", f"{place(number, column.name)} {told}.")
