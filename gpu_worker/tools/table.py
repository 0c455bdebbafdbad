"""Tables an agent can look things up in: a CSV, checked as it is read, and the tool made from it.

Values stay text; nothing is guessed about their type. Where the CSV comes from (an upload, a file, a
generator) and who may read it is the caller's business.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gpu_worker.types import Tool, ToolError, ToolSpec

MAX_ROWS_BACK = 5
NO_ROWS = "no rows"
MAX_VALUE_LENGTH = 200


class TableError(ValueError):
    """A table cannot be read; the sentence names the file and, where they exist, the row and column."""


@dataclass(frozen=True)
class Table:
    """A named header and its rows. Row numbers in messages count the header as row 1."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def find(self, column: str, value: str) -> list[tuple[str, ...]]:
        """All rows whose `column` holds `value`, ignoring case and surrounding space, in table order."""
        at = self.columns.index(column)
        if at not in self._found_by:
            self._found_by[at] = _by_value(self.rows, at)
        return list(self._found_by[at].get(_folded(value), ()))

    @cached_property
    def _found_by(self) -> dict[int, dict[str, list[tuple[str, ...]]]]:
        """Rows by the folded value of a column, for the columns that were searched so far."""
        return {}

    def shown(self, row: Sequence[str]) -> str:
        """The one line in which an agent sees a row."""
        return row_shown(self.columns, row)


def load_table(path: Path) -> Table:
    """Read a UTF-8 CSV file with a header. Raises TableError."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise TableError(f"{path}: the file cannot be read ({error.strerror}).") from None
    return parse_table(path.stem, raw, source=path.name)


def parse_table(name: str, content: bytes | str, *, source: str = "") -> Table:
    """The table in a CSV text; `source` is what messages call it. Raises TableError."""
    source = source or name
    text = _decoded(content, source) if isinstance(content, bytes) else content
    lines = _records(text, source)
    if not lines:
        raise TableError(f"{source}: the file is empty; its first row must name the columns.")
    header = _checked_header(lines[0][1], source)
    rows = tuple(_checked_row(number, cells, header, source) for number, cells in lines[1:])
    if not rows:
        raise TableError(f"{source}: there is a header but no row below it.")
    return Table(name=name, columns=header, rows=rows)


def _decoded(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        line_start = content.rfind(b"\n", 0, error.start) + 1
        column = content.count(b",", line_start, error.start) + 1
        raise TableError(
            f"{source}, row {row}, column {column}: byte 0x{content[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8."
        ) from None


def _records(text: str, source: str) -> list[tuple[int, list[str]]]:
    """Rows that are not blank, each with its number in the file."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[tuple[int, list[str]]] = []
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if cells:
                records.append((number, cells))
    except csv.Error as error:
        raise TableError(f"{source}, row {number + 1}: not valid CSV ({error}).") from None
    return records


def _checked_header(cells: list[str], source: str) -> tuple[str, ...]:
    header = tuple(cell.strip() for cell in cells)
    for at, column in enumerate(header, start=1):
        if not column:
            raise TableError(f"{source}, row 1, column {at}: the header is empty; every column needs a name.")
        if column in header[: at - 1]:
            raise TableError(
                f"{source}, row 1, column {at}: the name “{column}” stands twice in the header; "
                "rename one of them."
            )
    return header


def _checked_row(number: int, cells: list[str], header: tuple[str, ...], source: str) -> tuple[str, ...]:
    if len(cells) < len(header):
        missing = header[len(cells)]
        raise TableError(
            f"{source}, row {number}, column “{missing}”: the row has {len(cells)} cells, "
            f"the header {len(header)}; the cell is missing."
        )
    if len(cells) > len(header):
        raise TableError(
            f"{source}, row {number}, column {len(header) + 1}: the row has {len(cells)} cells, "
            f"the header only {len(header)}; put quotes around a value that holds a comma."
        )
    return tuple(cell.strip() for cell in cells)


def look_up_tool(table: Table, *, name: str = "", description: str = "") -> Tool:
    """A tool that finds rows of `table` by one column's value and shows at most five of them."""
    spec = ToolSpec(
        name=name or f"find_{table.name}",
        description=description or f"Look up {table.name} by the value of one column.",
        parameters={
            "type": "object",
            "properties": {
                "column": {
                    "type": "string",
                    "enum": list(table.columns),
                    "description": "The column to look in.",
                },
                "value": {"type": "string", "description": "The whole value to find."},
            },
            "required": ["column", "value"],
            "additionalProperties": False,
        },
    )
    return Tool(spec=spec, call=lambda arguments: _look_up(table, arguments))


def look_up_tools(tables: Iterable[Table]) -> list[Tool]:
    """One look-up tool a table."""
    return [look_up_tool(table) for table in tables]


def _look_up(table: Table, arguments: dict[str, Any]) -> str:
    column, value = _checked_arguments(table, arguments)
    found = table.find(column, value)
    return rows_shown([table.shown(row) for row in found[:MAX_ROWS_BACK]], len(found))


def rows_shown(lines: Sequence[str], total: int) -> str:
    """What an agent sees of a look-up: the lines of the first rows and how many more there are."""
    if not total:
        return NO_ROWS
    more = [f"{total - len(lines)} more rows"] if total > len(lines) else []
    return "\n".join([*lines, *more])


def row_shown(columns: Sequence[str], cells: Sequence[str]) -> str:
    """The one line in which an agent sees a row."""
    return "; ".join(f"{column}: {flat(cell)}" for column, cell in zip(columns, cells, strict=True))


def _checked_arguments(table: Table, arguments: dict[str, Any]) -> tuple[str, str]:
    check_names(arguments, ("column", "value"))
    return checked_column(arguments["column"], table.columns), checked_text(arguments["value"], "value")


def check_names(arguments: Mapping[str, Any], wanted: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Raises ToolError unless all wanted arguments are there and no other than those and the optional."""
    known = (*wanted, *optional)
    extra = sorted(set(arguments) - set(known))
    if extra:
        listed = " and ".join(part for part in (", ".join(known[:-1]), known[-1]) if part)
        are = "arguments are" if len(known) > 1 else "argument is"
        raise ToolError(f"there is no argument {flat(extra[0])[:40]}; the {are} {listed}")
    for name in wanted:
        if name not in arguments:
            raise ToolError(f"the argument {name} is missing")


def checked_column(column: Any, columns: Sequence[str]) -> str:
    """Raises ToolError if there is no such column."""
    if not isinstance(column, str) or column not in columns:
        raise ToolError(f"no such column; the columns are {', '.join(columns)}")
    return column


def checked_text(value: Any, name: str) -> str:
    """A number is taken as its text. Raises ToolError if it is neither or too long."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ToolError(f"{name} must be a text")
    if len(str(value)) > MAX_VALUE_LENGTH:
        raise ToolError(f"{name} is longer than {MAX_VALUE_LENGTH} characters")
    return str(value)


def _by_value(rows: Sequence[tuple[str, ...]], at: int) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        found.setdefault(_folded(row[at]), []).append(row)
    return found


def _folded(value: str) -> str:
    return value.strip().casefold()


def flat(cell: str) -> str:
    """A cell on one line, so that a cell's text cannot pass for another row."""
    return " ".join(cell.split())
