"""Parquet: its own description of what it holds is checked first, then it is read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gpu_worker.tools.tables.encoding import without_controls
from gpu_worker.tools.tables.mending import check_width, clean_name, limited, sheet_of
from gpu_worker.tools.tables.sheet import (
    MAX_CELL,
    MAX_CELLS,
    MAX_DEPTH,
    MAX_ROWS,
    Findings,
    Row,
    Sheet,
    TableError,
)
from gpu_worker.tools.tables.values import written

MAX_UNPACKED = 512 * 2**20
"""Bytes of all row groups."""
MAX_GROUP = 256 * 2**20
"""Bytes of one row group."""
MAX_GROUPS = 2_000
BATCH = 2_000
"""Rows read at once."""
MAX_FOOTER = 16 * 2**20
"""Bytes of the file's own description."""


def read_parquet(name: str, raw: bytes, hints: Mapping[str, Any]) -> Sheet:
    """The table in a Parquet file. Lists and structures become JSON. Raises TableError."""
    try:
        limits = {"thrift_string_size_limit": MAX_FOOTER, "thrift_container_size_limit": 1_000_000}
        file = pq.ParquetFile(pa.BufferReader(raw), **limits)
        _check(file.metadata)
        file = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=_texts(file.schema_arrow), **limits)
        header, findings = _header(file.schema_arrow), Findings()
        numbered = ((number, row) for number, row in enumerate(_rows(file, header), start=2))
        found = list(limited(numbered, header))
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        told = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise TableError(f"The Parquet file is damaged and cannot be read ({told}).") from None
    rows, numbers = [row for _, row in found], [number for number, _ in found]
    reading = {"format": "parquet"}
    return sheet_of(name, header, rows, reading, findings, hints.get("types") or {}, numbers=numbers)


def _check(said: pq.FileMetaData) -> None:
    check_width(said.num_columns, 1)
    if said.num_rows > MAX_ROWS:
        raise TableError(
            f"The file has {said.num_rows:,} rows, more than {MAX_ROWS:,}. Keep the rows the agent needs."
        )
    if said.num_rows * said.num_columns > MAX_CELLS:
        raise TableError(f"The file has more than {MAX_CELLS:,} cells. Keep the columns the agent needs.")
    if said.num_row_groups > MAX_GROUPS:
        raise TableError(f"The file has {said.num_row_groups:,} row groups, more than {MAX_GROUPS:,}.")
    groups = [said.row_group(at) for at in range(said.num_row_groups)]
    values = sum(group.column(at).num_values for group in groups for at in range(group.num_columns))
    if values > MAX_CELLS:
        raise TableError(f"The file has {values:,} values, more than {MAX_CELLS:,}; lists count one by one.")
    sizes = [group.total_byte_size for group in groups]
    if sum(sizes) > MAX_UNPACKED or max(sizes, default=0) > MAX_GROUP:
        told = f"{sum(sizes) / 2**20:,.0f} MB when unpacked, more than {MAX_UNPACKED // 2**20}"
        raise TableError(f"The file has {told}, or a row group of more than {MAX_GROUP // 2**20}.")


def _texts(schema: pa.Schema) -> list[str]:
    """Columns of texts, which are read with each different text once."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]


def _header(schema: pa.Schema) -> list[str]:
    header: list[str] = []
    for at, field in enumerate(schema, start=1):
        if _depth(field.type) > MAX_DEPTH:
            raise TableError(f"Column {at} has lists and structures deeper than {MAX_DEPTH} in each other.")
        name = clean_name(without_controls(field.name)[0]) or f"column {at}"
        if name in header:
            raise TableError(f"Column {at}: the name “{name}” stands twice. Rename one of them.")
        header.append(name)
    return header


def _depth(kind: pa.DataType) -> int:
    """Of lists and structures in each other, stopped just above the most."""
    deepest, waiting = 0, [(kind, 0)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        if deepest > MAX_DEPTH:
            break
        if pa.types.is_nested(each):
            waiting += [(each.field(at).type, depth + 1) for at in range(each.num_fields)]
    return deepest


def _rows(file: pq.ParquetFile, header: list[str]) -> Iterator[Row]:
    for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
        columns = []
        for name, column in zip(header, batch.columns, strict=True):
            _check_long(name, column)
            columns.append([written(value) for value in column.to_pylist()])
        yield from zip(*columns, strict=True)


def _check_long(name: str, column: pa.Array) -> None:
    """Looks at lengths before any text is made: a dictionary can say a long one many times."""
    longest = 0
    if pa.types.is_dictionary(column.type):
        longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
    if longest > 4 * MAX_CELL or column.nbytes > BATCH * 4 * MAX_CELL:
        raise TableError(f"Column “{name}”: cells have more than {MAX_CELL:,} characters. Shorten them.")
