"""Reading a table from an uploaded file, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpu_worker.tools.tables.delimited import read_delimited
from gpu_worker.tools.tables.jsonl import read_jsonl
from gpu_worker.tools.tables.parquet import read_parquet
from gpu_worker.tools.tables.sheet import MAX_BYTES, Sheet, TableError
from gpu_worker.tools.tables.workbook import read_workbook

Reading = Callable[[str, bytes, Mapping[str, Any]], Sheet]

READERS: dict[str, Reading] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".tab": read_delimited,
    ".txt": read_delimited,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
    ".xlsx": read_workbook,
    ".xlsm": read_workbook,
    ".parquet": read_parquet,
}
"""By the end of the file's name."""


def read(path: Path, filename: str, *, hints: Mapping[str, Any] | None = None) -> Sheet:
    """The table in the file at `path`, which a person knows as `filename`.

    hints: {encoding, delimiter, sheet, types: {column: type}}, each where the person knows better.
    Raises TableError with a sentence that names row and column where there are any. Damaged Parquet files can
    end the process (pyarrow aborts): files of strangers are read by `apart.read_and_save`.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise TableError(f"The file has {size / 2**20:,.0f} MB; the most is {MAX_BYTES // 2**20} MB.")
    name, ending = _name(filename)
    reader = READERS.get(ending)
    if reader is None:
        raise TableError("The file must be CSV, TSV, JSONL, XLSX or Parquet, and its name must say which.")
    return reader(name, path.read_bytes(), hints or {})


def _name(filename: str) -> tuple[str, str]:
    base = filename.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, ending = base.rpartition(".")
    return (" ".join(stem.split())[:60].strip() or "table", f".{ending.lower()}") if dot else (base, "")
