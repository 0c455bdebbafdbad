"""CSV and its relatives: cells parted by a comma, semicolon, tab or bar, quoted where needed."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_worker.tools.tables.encoding import Decoded, decoded
from gpu_worker.tools.tables.mending import Numbered, table_of
from gpu_worker.tools.tables.sheet import Findings, Sheet, TableError, check_line, place

DELIMITERS = (",", ";", "\t", "|")
QUOTE = '"'
_SEP = re.compile(r"sep=([,;\t|])(?=\r?\n)", re.IGNORECASE)
SAMPLE_ROWS = 100
SAMPLE = 256 * 2**10
"""Characters the delimiter is guessed from."""


def read_delimited(name: str, raw: bytes, hints: Mapping[str, Any]) -> Sheet:
    """The table in a CSV file. Raises TableError."""
    file = decoded(raw, str(hints.get("encoding") or ""))
    text, said = _without_sep(file.text)
    delimiter = str(hints.get("delimiter") or "") or said or guessed_delimiter(text)
    if delimiter not in DELIMITERS:
        raise TableError("The delimiter must be a comma, a semicolon, a tab or a vertical bar.")
    reading = {"format": "csv", "encoding": file.encoding, "delimiter": delimiter}
    types = hints.get("types") or {}
    try:
        return table_of(name, _records(text, delimiter), reading, _findings(file), types)
    except _Unpaired as unpaired:
        told = f"{place(unpaired.row)} quotes do not pair up; all were read as plain text."
        findings = _findings(file)
        findings.add("quotes", told)
        try:
            return table_of(name, _plain_records(text, delimiter), reading, findings, types)
        except TableError:
            raise TableError(str(unpaired)) from None


def _without_sep(text: str) -> tuple[str, str]:
    """The text and the delimiter that a first line such as “sep=;” names; Excel writes and hides it."""
    found = _SEP.match(text)
    return (text[found.end(1) :], found[1]) if found else (text, "")


def _findings(file: Decoded) -> Findings:
    findings = Findings()
    if file.controls:
        findings.add("control characters", f"{file.controls:,} control characters were replaced by spaces.")
    return findings


def guessed_delimiter(text: str) -> str:
    """The delimiter that cuts the first rows into the most cells, of the same number in nearly every row."""
    sample = text[:SAMPLE]
    return max(DELIMITERS, key=lambda delimiter: _evenness(sample, delimiter))


def _evenness(sample: str, delimiter: str) -> tuple[bool, int, float]:
    """Whether it makes more than one column at all, or does of the header; rows of the commonest width."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        widths = [len(cells) for cells, _ in zip(reader, range(SAMPLE_ROWS), strict=False) if cells]
    except csv.Error:
        return False, 0, 0.0
    if len(sample) == SAMPLE and len(widths) > 1:
        widths.pop()  # the sample may end within it
    if not widths:
        return False, 0, 0.0
    width, rows = Counter(widths).most_common(1)[0]
    header = 0 if width > 1 else widths[0]
    return width > 1, header, rows / len(widths) * (1 - 1 / (1 + width) ** 2)


class _Unpaired(TableError):
    """Quotes do not pair up; `row` is where that shows."""

    def __init__(self, row: int, sentence: str) -> None:
        super().__init__(sentence)
        self.row = row


def _records(text: str, delimiter: str) -> Iterator[Numbered]:
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            yield number, cells
    except csv.Error as error:
        raise _unreadable(number + 1, str(error)) from None


def _plain_records(text: str, delimiter: str) -> Iterator[Numbered]:
    """Rows whose quotes are text like any other. Raises TableError if quotes do go around some cell."""
    reader = csv.reader(_lines(text), delimiter=delimiter, quoting=csv.QUOTE_NONE)
    try:
        for number, cells in enumerate(reader, start=1):
            if any(len(cell) > 1 and cell[0] == cell[-1] == QUOTE for cell in cells):
                raise TableError(f"{place(number)} a cell is quoted.")
            yield number, cells
    except csv.Error as error:
        raise TableError(str(error)) from None


def _unreadable(row: int, error: str) -> TableError:
    if "field larger" in error:
        return TableError(f"{place(row)} a cell is far too long, or a quote is opened and never closed.")
    if "unexpected end" in error:
        return _Unpaired(row, f"{place(row)} a quote is opened and never closed.")
    return _Unpaired(row, f"{place(row)} text follows a closing quote. Write a quote within quotes twice.")


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        check_line(line, number)
        yield line
