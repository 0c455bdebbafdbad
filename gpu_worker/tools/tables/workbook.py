"""XLSX: one sheet of a workbook, read row by row after a look at what the archive says it holds."""

from __future__ import annotations

import io
import posixpath
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import openpyxl
from defusedxml.common import DefusedXmlException
from openpyxl.workbook import Workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from gpu_worker.tools.tables import archive
from gpu_worker.tools.tables.encoding import without_controls
from gpu_worker.tools.tables.mending import Numbered, check_width, table_of
from gpu_worker.tools.tables.sheet import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_ROWS,
    Findings,
    Sheet,
    TableError,
    place,
)
from gpu_worker.tools.tables.values import written

OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
"""How .xls files begin, and workbooks that are protected by a password."""
SMALL_PART = 2 * 2**20
"""Bytes of a part that is neither a sheet nor the texts: styles, names and the like."""
SMALL_ELEMENTS = 50_000
MAX_STRINGS = 96 * 2**20
"""Bytes of the part with the texts."""
SPARE = 100_000
"""Elements and texts a workbook may have besides those its cells need."""
ELEMENTS_PER_CELL = 12

FAR = 2 * MAX_COLUMNS
"""Columns from the left where empty cells that only have a format are still borne with."""

_CELLS = (b"<c ", b"<c>", b":c ", b":c>")
_STRINGS = (b"<si>", b"<si ", b"<si/", b":si>", b":si ", b":si/")
_DEFINITIONS = (b"<!DOCTYPE", b"<!ENTITY")
_TITLE = 3
"""A table of so many columns has no header of one cell: that is a title."""


def read_workbook(name: str, raw: bytes, hints: Mapping[str, Any]) -> Sheet:
    """The table in a sheet of an XLSX file: hints["sheet"] or the first with cells. Raises TableError."""
    if raw.startswith(OLD_WORKBOOK):
        raise TableError("This is an old .xls file or it is protected by a password. Save it as plain .xlsx.")
    try:
        with archive.opened(raw) as packed:
            _check_parts(packed)
        with warnings.catch_warnings(action="ignore"):
            return _read(name, raw, hints)
    except TableError:
        raise
    except DefusedXmlException:
        raise TableError("The workbook defines entities of its own, which no office program does.") from None
    except Exception as error:  # whatever zipfile and openpyxl trip over in a damaged or hostile file
        told = f"{type(error).__name__}: {without_controls(str(error))[0][:120]}"
        raise TableError(f"The workbook is damaged and cannot be read ({told}).") from None


def _check_parts(packed: zipfile.ZipFile) -> None:
    """Raises TableError for what would take long or much memory to read."""
    cells = strings = 0
    for part in packed.infolist():
        if part.filename.endswith("/") or not part.filename.endswith((".xml", ".rels")):
            continue
        if "worksheets/" in part.filename and part.filename.endswith(".xml"):
            cells += _cells(packed, part.filename)
        elif posixpath.basename(part.filename) == "sharedStrings.xml":
            strings += _texts(packed, part)
        elif not _unread(part.filename):
            _check_small(packed, part)
    if strings > cells + SPARE:
        raise TableError(f"The workbook has {strings:,} texts for {cells:,} cells; it looks like a bomb.")


def _unread(part: str) -> bool:
    """Parts openpyxl does not open when it only reads cells."""
    return any(
        kind in part for kind in ("drawings/", "charts/", "pivot", "comments", "externalLinks/", "media/")
    )


def _check_small(packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Styles, names and the like are read whole."""
    told = f"{part.file_size / 2**20:,.1f} MB of {part.filename[:80]}"
    if part.file_size > SMALL_PART:
        raise TableError(f"The workbook has {told}. Copy the sheet alone into a new workbook.")
    seen = archive.scanned(packed, part.filename, (b"<", *_DEFINITIONS)).counts
    if any(seen[text] for text in _DEFINITIONS):
        raise TableError("The workbook defines entities of its own, which no office program does.")
    if seen[b"<"] > SMALL_ELEMENTS:
        raise TableError(f"The workbook has {told}. Copy the sheet alone into a new workbook.")


def _cells(packed: zipfile.ZipFile, part: str) -> int:
    seen = archive.scanned(packed, part, (*_CELLS, b"<", b"<!", b"<?")).counts
    _check_markup(seen)
    cells = sum(seen[text] for text in _CELLS)
    if cells > MAX_CELLS:
        raise TableError(f"A sheet has {cells:,} cells, more than {MAX_CELLS:,}. Keep what the agent needs.")
    if seen[b"<"] > ELEMENTS_PER_CELL * cells + SPARE:
        raise TableError(f"A sheet has {seen[b'<']:,} tags for {cells:,} cells; it looks like a bomb.")
    return cells


def _texts(packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> int:
    if part.file_size > MAX_STRINGS:
        raise TableError(f"The workbook's texts have {part.file_size / 2**20:,.0f} MB, more than 96.")
    seen = archive.scanned(packed, part.filename, (*_STRINGS, b"<", b"<!", b"<?")).counts
    _check_markup(seen)
    strings = sum(seen[text] for text in _STRINGS)
    if seen[b"<"] > ELEMENTS_PER_CELL * strings + SPARE:
        raise TableError("The workbook's texts have more tags than texts need; it looks like a bomb.")
    return strings


def _check_markup(counts: Mapping[bytes, int]) -> None:
    if counts[b"<!"] or counts[b"<?"] > 2:
        raise TableError(
            "The workbook defines entities or has comments in its XML, which no office program writes."
        )


def _read(name: str, raw: bytes, hints: Mapping[str, Any]) -> Sheet:
    book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
    findings = Findings()
    try:
        sheet, rows = _chosen(book, str(hints.get("sheet") or ""))
        reading = {"format": "xlsx", "sheet": sheet, "sheets": [each[:100] for each in book.sheetnames[:100]]}
        records = _without_title(rows, findings)
        return table_of(name, records, reading, findings, hints.get("types") or {}, ragged=False)
    finally:
        book.close()


def _chosen(book: Workbook, wanted: str) -> tuple[str, list[Numbered]]:
    """The name and rows of the sheet asked for, or of the first visible one that is not empty."""
    sheets = {sheet.title: sheet for sheet in book.worksheets if isinstance(sheet, ReadOnlyWorksheet)}
    if wanted:
        if wanted not in sheets:
            raise TableError(f"There is no sheet “{wanted[:100]}”. The sheets are {', '.join(sheets)[:500]}.")
        return wanted, _rows(sheets[wanted])
    for title, sheet in sheets.items():
        if sheet.sheet_state == "visible" and (rows := _rows(sheet)):
            return title, rows
    raise TableError("The workbook has no sheet with cells in it.")


def _rows(sheet: ReadOnlyWorksheet) -> list[Numbered]:
    """The sheet's rows as texts, all as wide as the widest."""
    _check_size(sheet)
    found: list[tuple[int, list[str]]] = []
    width = 0
    for number, values in enumerate(sheet.iter_rows(max_row=MAX_ROWS + 2, values_only=True), start=1):
        if number > MAX_ROWS + 1:
            raise TableError(f"The sheet has more than {MAX_ROWS:,} rows. Keep the rows the agent needs.")
        if len(values) > FAR:
            raise TableError(f"{place(number)} a cell stands {len(values):,} columns from the left.")
        texts = list(map(written, values))
        while texts and not texts[-1]:
            texts.pop()
        check_width(len(texts), number)
        if texts:
            found.append((number, texts))
            width = max(width, len(texts))
    return [(number, texts + [""] * (width - len(texts))) for number, texts in found]


def _check_size(sheet: ReadOnlyWorksheet) -> None:
    """The size a sheet says it has. Raises TableError before a row is read."""
    rows, columns = sheet.max_row or 0, sheet.max_column or 0
    if rows > MAX_ROWS + 1 or columns > MAX_COLUMNS:
        told = f"{rows:,} rows and {columns:,} columns"
        raise TableError(
            f"The sheet says it has {told}; the most are {MAX_ROWS:,} and {MAX_COLUMNS}. "
            "Delete rows and columns the agent does not need, empty ones too."
        )
    sheet.reset_dimensions()  # or cells beyond what it says would silently be left out


def _without_title(rows: Sequence[Numbered], findings: Findings) -> Iterator[Numbered]:
    """The rows from the header on."""
    start = 0
    if rows and len(rows[0][1]) >= _TITLE:
        filled = [sum(map(bool, cells)) for _, cells in islice(rows, 10)]
        start = next((at for at, count in enumerate(filled) if count > 1), 0)
    for number, cells in rows[:start]:
        told = f"“{next(filter(None, cells))[:60]}” stands alone; it was taken for a title and left out"
        findings.add("titles", f"{place(number)} {told}.")
    return iter(rows[start:])
