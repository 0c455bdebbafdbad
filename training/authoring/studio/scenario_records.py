"""Scenario files as records, a dictionary a row, and back: CSV and JSON lines, whoever wrote them.

What a record means is left to `scenario_files.py`. Cells of a CSV that a spreadsheet would run as a formula
get an apostrophe in front, which reading takes away again.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext as _

from gpu_worker.tools.tables.delimited import guessed_delimiter
from gpu_worker.tools.tables.encoding import decoded, without_controls
from gpu_worker.tools.tables.sheet import TableError

MOST_BYTES = 10 * 2**20
MOST_ROWS = 100_000
MOST_COLUMNS = 200
MOST_LISTS = 1_000_000
"""Lists and objects in a file, which take far more room in memory than on disk."""
LONGEST_LINE = 2**20
"""Characters of a line of JSON."""
DEEPEST = 12
"""Lists and objects within each other."""
Format = Literal["csv", "jsonl"]
FORMATS: dict[str, Format] = {
    "csv": "csv",
    "tsv": "csv",
    "tab": "csv",
    "txt": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
}
"""By the end of the file's name."""
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


class Refused(Exception):
    """The file cannot be read; the text says why, where, and what to do."""


@dataclass(frozen=True)
class Record:
    """A row. `number` is its line in JSON lines; in a CSV its row, of which the header is the first."""

    number: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Records:
    """A file as it was read. `problems` name rows that were left out, with the reason."""

    format: Format
    columns: tuple[str, ...]
    rows: tuple[Record, ...]
    problems: tuple[str, ...] = ()


def read(raw: bytes, filename: str) -> Records:
    """Raises Refused."""
    format_ = FORMATS.get(filename.rpartition(".")[2].lower())
    if format_ is None:
        raise Refused(_("The file must be CSV or JSON lines, and its name must say which."))
    if len(raw) > MOST_BYTES:
        told = {"size": f"{len(raw) / 2**20:.0f}", "most": MOST_BYTES // 2**20}
        raise Refused(_("The file has %(size)s MB; at most %(most)s MB are read. Split it.") % told)
    try:
        text = decoded(raw).text
    except TableError:
        raise Refused(_("This is not a text file. Save it as CSV or JSON lines in UTF-8.")) from None
    if not text.strip():
        raise Refused(_("The file is empty."))
    return _read_csv(text) if format_ == "csv" else _read_json(text)


def defused(cell: str) -> str:
    """The cell as it is safe in a spreadsheet; `undone` gives it back."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def undone(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def written_csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file that spreadsheets open as UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([defused(cell) for cell in row])
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def written_jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _read_csv(text: str) -> Records:
    if '"' not in text:  # then every line is a row, and too many are known at once
        _refuse_beyond(sum(bool(line.strip()) for line in text.splitlines()) - 1)
    lines = _cells(text)
    header = next(lines, (0, []))[1]
    columns = [cell.strip() for cell in header]
    if not any(columns):
        raise Refused(_("The first row must name the columns, such as question and answers."))
    if len(columns) > MOST_COLUMNS:
        raise Refused(_("The file has more than %(most)s columns.") % {"most": MOST_COLUMNS})
    names = [name if columns.index(name) == at else "" for at, name in enumerate(columns)]
    rows, problems = [], []
    for number, cells in lines:
        if len(cells) > len(names) and any(cells[len(names) :]):
            told = {"row": number, "cells": len(cells), "columns": len(names)}
            problems.append(
                _("Row %(row)s has %(cells)s cells, the header %(columns)s: quote commas.") % told
            )
            continue
        pairs = zip(names, cells, strict=False)
        rows.append(Record(number, {name: undone(cell) for name, cell in pairs if name}))
    return Records("csv", tuple(name for name in names if name), tuple(rows), tuple(problems))


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with their numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=guessed_delimiter(text), strict=True)
    number = found = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cells):
                found += 1
                _refuse_beyond(found - 1)
                yield number, cells
    except csv.Error:
        told = {"row": number + 1}
        raise Refused(
            _("Row %(row)s cannot be read: a quote is not closed, or text follows a closing quote.") % told
        ) from None


def _read_json(text: str) -> Records:
    if text.count("[") + text.count("{") > MOST_LISTS:
        raise Refused(_("The file holds more lists and objects than can be read. Split it."))
    columns: dict[str, None] = {}
    rows: list[Record] = []
    problems: list[str] = []
    for number, raw in _values(text):
        value = _cleaned(raw)
        if not isinstance(value, dict):
            problems.append(_("Row %(row)s is not a JSON object.") % {"row": number})
            continue
        columns |= dict.fromkeys(value)
        if len(columns) > MOST_COLUMNS:
            raise Refused(_("The file has more than %(most)s columns.") % {"most": MOST_COLUMNS})
        rows.append(Record(number, value))
    return Records("jsonl", tuple(columns), tuple(rows), tuple(problems))


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """The value of every line, or those of one list around them all. None where there is none to read."""
    whole = _loaded(text) if text.lstrip().startswith("[") else None
    if isinstance(whole, list):
        _refuse_beyond(len(whole))
        yield from enumerate(whole, start=1)
        return
    lines = text.split("\n")
    _refuse_beyond(sum(bool(line.strip()) for line in lines))
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            told = {"line": number, "most": LONGEST_LINE}
            raise Refused(_("Line %(line)s has more than %(most)s characters.") % told)
        if line.strip():
            yield number, _loaded(line)


def _loaded(text: str) -> Any:
    """None for what is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _cleaned(value: Any) -> Any:
    """The value as databases take it; None for one that lies too deep or has a number without end."""
    try:
        return _clean(value, 0)
    except ValueError:
        return None


def _clean(value: Any, depth: int) -> Any:
    """Without control characters and half pairs. Raises ValueError."""
    if isinstance(value, str):
        return without_controls(value)[0]
    if depth > DEEPEST or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError
    if isinstance(value, dict):
        return {_clean(key, depth + 1): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    return value


def _refuse_beyond(rows: int) -> None:
    if rows > MOST_ROWS:
        raise Refused(_("The file has more than %(most)s rows. Split it.") % {"most": MOST_ROWS})
