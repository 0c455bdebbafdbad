"""JSON lines: one flat object a line. Values keep the text they are written with; nested ones stay JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_worker.tools.tables.encoding import REPLACED, decoded, without_controls
from gpu_worker.tools.tables.mending import check_width, clean_name, limited, sheet_of
from gpu_worker.tools.tables.sheet import (
    MAX_CELLS,
    MAX_DEPTH,
    MAX_ROWS,
    Findings,
    Row,
    Sheet,
    TableError,
    check_line,
    place,
)

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?')
_BRACKETS = re.compile(r"[\[\]{}]")


def read_jsonl(name: str, raw: bytes, hints: Mapping[str, Any]) -> Sheet:
    """The table in a file of JSON lines. A row's number is that of its line. Raises TableError."""
    findings = Findings()
    file = decoded(raw, str(hints.get("encoding") or ""))
    places: dict[str, int] = {}
    found: list[tuple[int, dict[str, str]]] = []
    count = 0
    for number, line in _lines(file.text):
        found.append((number, _cells(line, number, places, findings)))
        count += len(found[-1][1])
        if count > MAX_CELLS:
            raise TableError(f"The file has more than {MAX_CELLS:,} cells. Keep the columns the agent needs.")
    if not found:
        raise TableError("The file is empty. Every line must hold one JSON object.")
    if not places:
        raise TableError(
            "The objects in the file are empty. Every line must hold one JSON object with values."
        )
    header = list(places)
    whole = ((number, tuple(cells.get(each, "") for each in header)) for number, cells in found)
    rows = list(limited(_noted(whole, header, found, findings), header))
    numbers = [number for number, _ in rows]
    reading = {"format": "jsonl", "encoding": file.encoding}
    types = hints.get("types") or {}
    return sheet_of(name, header, [row for _, row in rows], reading, findings, types, numbers=numbers)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    count = 0
    _check_rows(text.count("\n{"))  # most of them, before any is read
    for number, line in enumerate(io.StringIO(text), start=1):
        check_line(line, number)
        if line.strip():
            count += 1
            _check_rows(count)
            yield number, line


def _check_rows(count: int) -> None:
    if count > MAX_ROWS:
        raise TableError(f"The file has more than {MAX_ROWS:,} rows. Keep the rows the agent needs.")


def _cells(line: str, number: int, places: dict[str, int], findings: Findings) -> dict[str, str]:
    """An object's values by column; new columns are added to `places`."""
    cells: dict[str, str] = {}
    pairs = _object(line, number)
    check_width(len(pairs), number)
    for key, value in pairs:
        column = clean_name(_clean(key)) or "column"
        if column in cells:
            told = f"“{column}” stands twice in this object; its last value counts"
            findings.add("names that stand twice in an object", f"{place(number, column)} {told}.")
        cells[column] = _clean(_text(value, number, column)).strip()
        if column not in places:
            places[column] = number
            check_width(len(places), number)
    return cells


def _object(line: str, number: int) -> list[tuple[str, Any]]:
    if _depth(line) > MAX_DEPTH:
        raise TableError(f"{place(number)} lists and objects lie deeper than {MAX_DEPTH} within each other.")
    try:
        value = json.loads(
            line, object_pairs_hook=_Pairs, parse_int=_Written, parse_float=_Written, parse_constant=_refused
        )
    except json.JSONDecodeError as error:
        told = f"character {error.colno:,} is not JSON ({error.msg})"
        raise TableError(f"{place(number)} {told}. Every line must hold one whole object.") from None
    except _NoNumber as error:
        raise TableError(f"{place(number)} {error} is not a number in JSON. Leave the value out.") from None
    if not isinstance(value, _Pairs):
        raise TableError(
            f"{place(number)} this is no JSON object. Every line must hold one: {{“name”: value}}."
        )
    return value


class _Pairs(list[tuple[str, Any]]):
    """An object as it is written, names that stand twice with it."""


class _Written(str):
    """A number as it is written."""


class _NoNumber(ValueError):
    pass


def _refused(constant: str) -> None:
    raise _NoNumber(constant)


def _depth(line: str) -> int:
    """Of lists and objects within each other."""
    if line.count("[") + line.count("{") <= MAX_DEPTH:
        return 0
    deepest = depth = 0
    for bracket in _BRACKETS.findall(_QUOTED.sub("", line)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _text(value: Any, number: int, column: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return _json(value)


def _json(value: Any) -> str:
    """A value as JSON, with its numbers as they were written."""
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, _Pairs):
        return "{" + ", ".join(f"{_json(key)}: {_json(each)}" for key, each in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _clean(text: str) -> str:
    return without_controls(text)[0]


def _noted(
    rows: Iterator[tuple[int, Row]],
    header: list[str],
    found: list[tuple[int, dict[str, str]]],
    findings: Findings,
) -> Iterator[tuple[int, Row]]:
    """The rows; what an object lacks and bytes that are no text are noted on the way."""
    for (number, row), (_, cells) in zip(rows, found, strict=True):
        if len(cells) < len(header):
            missing = next(column for column in header if column not in cells)
            findings.add(
                "objects without a value", f"{place(number, missing)} there is no value; it is empty."
            )
        for column, cell in zip(header, row, strict=True):
            if REPLACED in cell:
                told = f"a byte is no text in this encoding and shows as “{REPLACED}”"
                findings.add("bytes that are no text", f"{place(number, column)} {told}.")
        yield number, row
