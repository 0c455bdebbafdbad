"""Files for the tests of table reading: workbooks part by part, Parquet, and bombs of every kind."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

MIB = 2**20
SHEET = "xl/worksheets/sheet1.xml"
STRINGS = "xl/sharedStrings.xml"
STYLES = "xl/styles.xml"
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "ha">'
    + b"".join(
        b'<!ENTITY %c "%s">' % (letter, b"&%c;" % (letter - 1) * 10) for letter in range(ord("b"), ord("k"))
    )
    + b"]>"
)


def workbook(rows: Sequence[Sequence[Any]], **sheets: Sequence[Sequence[Any]]) -> bytes:
    """A workbook with a sheet “Sheet” of these rows, and more sheets by name."""
    book = openpyxl.Workbook()
    book.active.title = "Sheet"
    for name, lines in {"Sheet": rows, **sheets}.items():
        sheet = book[name] if name in book.sheetnames else book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def with_parts(parts: Mapping[str, bytes], *, also: int = 0) -> bytes:
    """A small workbook in which these parts are replaced or added, and `also` empty ones added."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook([["a", "b"], ["x", "y"]]))) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, content in parts.items():
            new.writestr(name, content)
        for number in range(also):
            new.writestr(f"xl/part{number}.xml", b"")
    return file.getvalue()


def sheet_xml(rows: bytes, dimension: bytes = b"A1:B2") -> bytes:
    opening = b'<worksheet xmlns="%s"><dimension ref="%s"/><sheetData>' % (NAMESPACE.encode(), dimension)
    return opening + rows + b"</sheetData></worksheet>"


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), file, **options)
    return file.getvalue()


def overlapping() -> bytes:
    """A zip whose directory names one packed part many times."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(SHEET, os.urandom(MIB))
        one = packed.infolist()[0]
        for number in range(100):
            copy = zipfile.ZipInfo(f"xl/worksheets/sheet{number + 2}.xml")
            for name in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
                setattr(copy, name, getattr(one, name))
            packed.filelist.append(copy)
            packed.NameToInfo[copy.filename] = copy
    return file.getvalue()


def declared_smaller() -> bytes:
    """A workbook whose directory says that a part of 40 MiB has 1,000 bytes."""
    real = with_parts({SHEET: sheet_xml(b"<row/>" * (40 * MIB // 6))})
    size = (40 * MIB // 6 * 6 + len(sheet_xml(b""))).to_bytes(4, "little")
    return real.replace(size, (1000).to_bytes(4, "little"))


def shared(count: int) -> bytes:
    body = b"".join(b"<si><t>%d</t></si>" % number for number in range(count))
    return b'<sst xmlns="%s">%s</sst>' % (NAMESPACE.encode(), body)


def deep_list(depth: int) -> pa.DataType:
    kind: pa.DataType = pa.int8()
    for _ in range(depth):
        kind = pa.list_(kind)
    return kind


Bomb = tuple[str, Callable[[], bytes], str]

BOMBS: dict[str, Bomb] = {
    # text
    "too many bytes": ("t.csv", lambda: b"a,b\n" + b"1,2\n" * 13_200_000, "MB"),
    "one long line": ("t.csv", lambda: b"a" * (20 * MIB), "Line 1 has"),
    "a quote never closed": ("t.csv", lambda: b'a,b\n"' + b"x,y\n" * (5 * MIB), "never closed"),
    "a long cell": ("t.csv", lambda: b"a,b\n1," + b"x" * 20_000 + b"\n", "Row 2, column “b”"),
    "many rows": ("t.csv", lambda: b"a,b\n" + b"1,2\n" * 300_000, "200,000 rows"),
    "many blank lines": ("t.csv", lambda: b"a,b\n" + b"\n" * (45 * MIB), "1,000,000 lines"),
    "many blank rows": ("t.csv", lambda: b"a,b\n" + b",\n" * (20 * MIB), "1,000,000 lines"),
    "many columns": ("t.csv", lambda: b",".join(b"c%d" % n for n in range(5000)) + b"\n1\n", "5,000 columns"),
    "one row of delimiters": ("t.csv", lambda: b"a,b\n" + b"," * 900_000 + b"1\n", "900,001 cells"),
    "many cells": (
        "t.csv",
        lambda: b",".join(b"c%d" % n for n in range(200)) + b"\n" + (b"1," * 199 + b"1\n") * 30_000,
        "5,000,000 cells",
    ),
    "too many cells in every row": ("t.csv", lambda: b"a,b\n" + b"1,2,3\n" * (5 * MIB), "header only 2"),
    "zero bytes": ("t.csv", lambda: b"\x00" * (45 * MIB), "zero bytes"),
    "random bytes": ("t.csv", lambda: os.urandom(20 * MIB), ""),
    "bytes that are no text": ("t.csv", lambda: b"a,b\n" + b"\x81\x8d\x9d\xff" * (10 * MIB), ""),
    "high bytes": ("t.csv", lambda: b"a,b\n" + b"\xe9\xe8\n" * (10 * MIB), ""),
    "half a multi-byte file": ("t.csv", lambda: b"a,b\n" + b"\x81\n" * (10 * MIB), ""),
    "a quote in every cell": ("t.csv", lambda: b"a,b\n" + b'"x"y,1\n' * (5 * MIB), "quote"),
    "control characters": ("t.csv", lambda: b"a,b\n" + b"\x01" * (40 * MIB), "no text in utf-8"),
    "UTF-32 as UTF-16": ("t.csv", lambda: b"\xff\xfe" + b"a\x00\x00\x00" * (10 * MIB), "no text in utf-16"),
    "quotes only": ("t.csv", lambda: b'a\n"' + b'""' * (20 * MIB), "Line 2 has"),
    # JSON lines
    "deep lists": ("t.jsonl", lambda: b'{"a": ' + b"[" * 500_000 + b"]" * 500_000 + b"}", "deeper than 32"),
    "deep objects": ("t.jsonl", lambda: b'{"a":' * 150_000 + b"1" + b"}" * 150_000, "deeper than 32"),
    "a long JSON line": ("t.jsonl", lambda: b'{"a": "' + b"x" * (5 * MIB) + b'"}', "Line 1 has"),
    "a long number": ("t.jsonl", lambda: b'{"a": ' + b"9" * 900_000 + b"}", "900,000 characters"),
    "a number that is none": ("t.jsonl", lambda: b'{"a": NaN}', "NaN"),
    "an endless number": ("t.jsonl", lambda: b'{"a": 1}\n{"a": -Infinity}', "Row 2: -Infinity"),
    "many objects": ("t.jsonl", lambda: b'{"a": 1}\n' * 300_000, "200,000 rows"),
    "a new name in every object": (
        "t.jsonl",
        lambda: b"\n".join(b'{"c%d": 1}' % n for n in range(100_000)),
        "201 columns",
    ),
    "blank JSON lines": ("t.jsonl", lambda: b'{"a": 1}\n' + b"\n" * (45 * MIB), "1,000,000 lines"),
    "names that repeat": (
        "t.jsonl",
        lambda: b"\n".join([b"{" + b'"a": 1,' * 100_000 + b'"a": 1}'] * 50),
        "100,001 columns",
    ),
    # workbooks
    "a zip bomb": ("t.xlsx", lambda: with_parts({SHEET: b"0" * (200 * MIB)}), "-fold"),
    "a zip bomb in another part": ("t.xlsx", lambda: with_parts({"x.bin": b"0" * (100 * MIB)}), "-fold"),
    "a large archive": (
        "t.xlsx",
        lambda: with_parts({f"x{n}.bin": _sparse(90 * MIB) for n in range(3)}),
        "MB when unpacked",
    ),
    "overlapping parts": ("t.xlsx", overlapping, "overlap|cannot be opened|cannot be unpacked"),
    "a part larger than it says": ("t.xlsx", declared_smaller, "damaged"),
    "many parts": ("t.xlsx", lambda: with_parts({}, also=3000), "parts"),
    "many shared texts": ("t.xlsx", lambda: with_parts({STRINGS: shared(400_000)}), "texts"),
    "a large part of texts": (
        "t.xlsx",
        lambda: with_parts({STRINGS: b"".join(b"<si><t>%0230d</t></si>" % n for n in range(420_000))}),
        "texts have",
    ),
    "laughs in the sheet": ("t.xlsx", lambda: with_parts({SHEET: LAUGHS + b"<t>&j;</t>"}), "entities"),
    "laughs in the texts": ("t.xlsx", lambda: with_parts({STRINGS: LAUGHS + b"<t>&j;</t>"}), "entities"),
    "laughs in the styles": ("t.xlsx", lambda: with_parts({STYLES: LAUGHS + b"<t>&j;</t>"}), "entities"),
    "laughs in the workbook": (
        "t.xlsx",
        lambda: with_parts({"xl/workbook.xml": LAUGHS + b"<t>&j;</t>"}),
        "entities",
    ),
    "laughs in the manifest": (
        "t.xlsx",
        lambda: with_parts({"[Content_Types].xml": LAUGHS + b"<t>&j;</t>"}),
        "entities",
    ),
    "a file of the machine": (
        "t.xlsx",
        lambda: with_parts({SHEET: b'<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><t>&x;</t>'}),
        "entities",
    ),
    "a huge dimension": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b"", b"A1:XFD1048576")}),
        "1,048,576",
    ),
    "a cell far to the right": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b'<row r="1"><c r="ZZZZZZ1"><v>1</v></c></row>')}),
        "damaged",
    ),
    "a cell beyond the most columns": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b'<row r="1"><c r="XFD1"><v>1</v></c></row>')}),
        "16,384 columns from the left",
    ),
    "a row far below": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b'<row r="9999999999"><c r="A9999999999"><v>1</v></c></row>')}),
        "200,000 rows",
    ),
    "elements that are no cells": ("t.xlsx", lambda: with_parts({SHEET: sheet_xml(_noise())}), "tags|-fold"),
    "deep elements": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b"<a>" * 900_000 + b"</a>" * 900_000)}),
        "tags|-fold",
    ),
    "many styles": (
        "t.xlsx",
        lambda: with_parts({STYLES: b"<s>" + b"".join(b'<xf n="%d"/>' % n for n in range(90_000)) + b"</s>"}),
        "styles",
    ),
    "a large part of styles": ("t.xlsx", lambda: with_parts({STYLES: os.urandom(3 * MIB)}), "styles"),
    "one long tag": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b'<row a="' + os.urandom(8 * MIB).hex().encode() + b'"/>')}),
        "longer than",
    ),
    "a long comment": (
        "t.xlsx",
        lambda: with_parts({SHEET: sheet_xml(b"<!-- " + os.urandom(MIB).hex().encode() + b" -->")}),
        "longer than|comments",
    ),
    "a password": ("t.xlsx", lambda: _encrypted(), "password"),
    "an old workbook": ("t.xlsx", lambda: b"\xd0\xcf\x11\xe0" + b"x" * MIB, "old .xls"),
    "no zip at all": ("t.xlsx", lambda: b"PK" + b"x" * MIB, "damaged"),
    # Parquet
    "many Parquet rows": ("t.parquet", lambda: parquet({"a": pa.array([1] * 3_000_000)}), "3,000,000 rows"),
    "many Parquet columns": (
        "t.parquet",
        lambda: parquet({f"c{n}": pa.array([1]) for n in range(5000)}),
        "5,000 columns",
    ),
    "one text many times": (
        "t.parquet",
        lambda: parquet({"a": pa.array(["x" * MIB]).dictionary_encode().take(pa.array([0] * 100_000))}),
        "characters",
    ),
    "many long texts": (
        "t.parquet",
        lambda: parquet({"a": pa.array(["x" * 9_999]).dictionary_encode().take(pa.array([0] * 100_000))}),
        "cells hold more than",
    ),
    "a long list": ("t.parquet", lambda: parquet({"a": pa.array([[1] * 20_000_000])}), "20,000,000 values"),
    "deep Parquet lists": (
        "t.parquet",
        lambda: parquet({"a": pa.array([None], type=deep_list(40))}),
        "deeper than 32",
    ),
    "many row groups": (
        "t.parquet",
        lambda: parquet({"a": pa.array(range(5000))}, row_group_size=1),
        "row groups",
    ),
    "large row groups": (
        "t.parquet",
        lambda: parquet(
            {"a": pa.array([b"%d" % n + b"x" * 6000 for n in range(100_000)])}, use_dictionary=False
        ),
        "MB when unpacked",
    ),
    "no Parquet at all": ("t.parquet", lambda: b"PAR1" + os.urandom(MIB) + b"PAR1", "damaged"),
}
"""By name: the file's name, its bytes, and what the refusal says (a regular expression)."""
SLOW_TO_MAKE = frozenset(
    {
        "a large archive",
        "a large part of texts",
        "elements that are no cells",
        "large row groups",
        "a long list",
        "one long tag",
    }
)
"""Bombs that take more than a second to make."""


def _sparse(size: int) -> bytes:
    """Bytes that deflate about fifty times."""
    return b"".join(os.urandom(600) + bytes(30_000) for _ in range(size // 30_600))


def _noise() -> bytes:
    """A million different empty elements, which deflate by less than the limit."""
    return b"".join(b"<x%d/>" % (number * 2654435761 % 2**32) for number in range(1_000_000))


def _encrypted() -> bytes:
    raw = bytearray(with_parts({}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = raw.find(mark)
        while start >= 0:
            raw[start + at] |= 1
            start = raw.find(mark, start + 4)
    return bytes(raw)
