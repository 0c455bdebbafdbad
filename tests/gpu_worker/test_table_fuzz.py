"""Whatever bytes come, reading them gives a sheet that keeps its promises, or a TableError."""

import faulthandler
import io
import json
import multiprocessing
import signal
import zipfile
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gpu_worker.tools.tables import Sheet, TableError
from gpu_worker.tools.tables.apart import CRASHES
from gpu_worker.tools.tables.encoding import ENCODINGS
from gpu_worker.tools.tables.reading import READERS
from gpu_worker.tools.tables.sheet import KINDS, MAX_CELL, MAX_COLUMNS, MAX_NAME
from tests.gpu_worker.table_files import (
    SHEET,
    STRINGS,
    STYLES,
    parquet,
    shared,
    sheet_xml,
    with_parts,
    workbook,
)

QUICK, FULL = 100, 10_000
PATIENCE = 20
"""Seconds after which reading a small file counts as hung."""
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

PIECES = st.sampled_from(
    [
        ",",
        ";",
        "\t",
        "|",
        '"',
        '""',
        "\n",
        "\r\n",
        "\r",
        " ",
        "\x00",
        "\ufeff",
        "\ufffd",
        "a",
        "b",
        "id",
        "Ä",
        "编号",
    ]
    + [
        "1",
        "0",
        "007",
        "1,5",
        "1.5",
        "2026-01-31",
        "31.01.2026",
        "true",
        "no",
        "𝄞",
        "\u2028",
        "=1+1",
        "x" * 300,
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)
HINTS = st.fixed_dictionaries(
    {},
    optional={
        "encoding": st.sampled_from([*ENCODINGS, "utf-7", "zip", ""]),
        "delimiter": st.sampled_from([",", ";", "\t", "|", "x", '"', "\n", ""]),
        "sheet": st.sampled_from(["Sheet", "nowhere"]),
        "types": st.dictionaries(st.sampled_from(["a", "b", "id"]), st.sampled_from([*KINDS, "colour"])),
    },
)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Some bytes of a good file changed, cut out or put in."""
    raw = bytearray(whole)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        end = at + draw(st.integers(0, 40))
        what = draw(st.sampled_from(["flip", "cut", "put", "end"]))
        if what == "flip" and raw:
            raw[at] ^= draw(st.integers(1, 255))
        elif what == "cut":
            del raw[at:end]
        elif what == "put":
            raw[at:at] = draw(st.binary(max_size=20) | st.just(bytes(raw[at:end])))
        else:
            del raw[max(at, 1) :]
    return bytes(raw)


@st.composite
def encoded(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    text, name = draw(texts), draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", *ENCODINGS]))
    return text.encode(name, errors="replace")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", " a", "编", ""]), VALUES, max_size=4), max_size=5
)
LINES = OBJECTS.map(lambda objects: "\n".join(map(json.dumps, objects)))

ROWS = [["id", "name", "day"], [1, "Ann", None], [2.5, "Bo", True], ["=1+1", "x" * 50, 3]]
BOOK = workbook(ROWS, Other=[["a"], ["b"]])
XML = TEXTS.map(lambda text: text.encode("utf-8", "replace")) | st.lists(
    st.sampled_from(
        [
            b"<row>",
            b"</row>",
            b'<row r="3">',
            b"<c>",
            b'<c r="B2" t="s">',
            b'<c r="A9" s="1">',
            b"</c>",
            b"<v>",
        ]
        + [b"</v>", b"1", b"-1", b"1e999", b"x", b'<c t="inlineStr">', b"<is><t>", b"</t></is>", b'<c t="d">']
        + [
            b'<c t="b">',
            b"<f>1+1</f>",
            b"&amp;",
            b"&x;",
            b'<row r="x">',
            b"<cols><col/></cols>",
            b"<mergeCells/>",
        ]
    ),
    max_size=30,
).map(b"".join)
BOOKS = (
    damaged(BOOK)
    | st.binary(max_size=200)
    | st.builds(lambda xml: with_parts({SHEET: sheet_xml(xml)}), XML)
    | st.builds(lambda xml: with_parts({SHEET: sheet_xml(xml), STRINGS: shared(2)}), XML)
    | st.builds(
        lambda part, content: with_parts({part: content}),
        st.sampled_from([SHEET, STYLES, STRINGS, "xl/workbook.xml", "[Content_Types].xml", "_rels/.rels"]),
        st.sampled_from([zipfile.ZipFile(io.BytesIO(BOOK)).read(name) for name in (SHEET, STYLES)]).flatmap(
            damaged
        )
        | XML,
    )
)
PARQUET = parquet(
    {
        "id": pa.array([1, 2, None]),
        "name": pa.array(["Ann", "Bo", "Ann"]),
        "price": pa.array([1.5, float("nan"), 2.0]),
        "list": pa.array([[1, 2], [], None]),
        "object": pa.array([{"a": 1}, {"a": 2}, None]),
    }
)
FILES = (
    damaged(PARQUET)
    | damaged(parquet({"a": pa.array(["x", "y"] * 50)}, compression="none"))
    | st.binary(max_size=99)
)


def check(sheet: Sheet) -> None:
    names = [column.name for column in sheet.columns]
    assert names and len(set(names)) == len(names) <= MAX_COLUMNS
    assert all(name and name == name.strip() and len(name) <= MAX_NAME + 10 for name in names)
    assert sheet.rows and all(len(row) == len(names) for row in sheet.rows)
    cells = [cell for row in sheet.rows for cell in row]
    assert all(isinstance(cell, str) and len(cell) <= MAX_CELL and cell == cell.strip() for cell in cells)
    for text in (*names, *cells, *sheet.problems):
        text.encode()
        assert "\x00" not in text
    assert all(column.type in KINDS for column in sheet.columns)
    json.dumps([sheet.reading, [column.examples for column in sheet.columns]])


def reads(ending: str, raw: bytes, hints: dict[str, Any]) -> bool:
    """Whether it is a table after all; anything but a TableError goes through."""
    try:
        sheet = READERS[ending]("t", raw, hints)
    except TableError as error:
        str(error).encode()
        return False
    check(sheet)
    return True


class Apart:
    """`reads` in another process, file after file; where pyarrow crashes it, `apart` says TableError."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        fork = multiprocessing.get_context("fork")
        self.asked, theirs = fork.Pipe()
        self.process = fork.Process(target=answer, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def reads(self, ending: str, raw: bytes, hints: dict[str, Any]) -> bool:
        try:
            self.asked.send((ending, raw, hints))
            return bool(self.asked.recv())
        except (EOFError, ConnectionError):
            self.process.join()
            status = self.process.exitcode or 0
            self.start()
            assert -status in CRASHES, f"{status} over {raw!r}"
            return False


def answer(asking: Connection) -> None:
    faulthandler.disable()
    while True:
        asked = asking.recv()
        signal.alarm(PATIENCE)
        found = reads(*asked)
        signal.alarm(0)
        asking.send(found)


def fuzzed(ending: str, files: st.SearchStrategy[bytes], examples: int) -> int:
    """How many of so many files were tables."""
    count = 0
    apart = Apart() if ending == ".parquet" else None
    reading = apart.reads if apart else reads

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=CHECKS,
        phases=[Phase.generate, Phase.shrink],
    )
    @given(raw=files, hints=HINTS)
    def each(raw: bytes, hints: dict[str, Any]) -> None:
        nonlocal count
        count += reading(ending, raw, hints)

    try:
        each()
    finally:
        if apart:
            apart.process.kill()
    return count


KINDS_OF_FILES = [
    pytest.param(".csv", encoded(TEXTS) | st.binary(max_size=300), id="csv"),
    pytest.param(".jsonl", encoded(LINES | TEXTS) | LINES.map(str.encode).flatmap(damaged), id="jsonl"),
    pytest.param(".xlsx", BOOKS, id="xlsx"),
    pytest.param(".parquet", FILES, id="parquet"),
]


@pytest.mark.parametrize(("ending", "files"), KINDS_OF_FILES)
def test_any_bytes_are_a_sheet_or_refused(ending: str, files: st.SearchStrategy[bytes]) -> None:
    assert 0 < fuzzed(ending, files, QUICK) < QUICK


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "files"), KINDS_OF_FILES)
def test_ten_thousand_files_are_a_sheet_or_refused(ending: str, files: st.SearchStrategy[bytes]) -> None:
    assert 0 < fuzzed(ending, files, FULL) < FULL
