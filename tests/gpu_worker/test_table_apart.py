"""Parquet, whose reader may crash, and reading in a process of its own, where that is told and no more."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from gpu_worker.tools.tables import TableError, apart
from gpu_worker.tools.tables.apart import read_and_save
from gpu_worker.tools.tables.parquet import read_parquet
from gpu_worker.tools.tables.reading import read
from tests.gpu_worker.table_files import parquet


def test_parquet_is_read_as_it_means() -> None:
    columns = {
        "id": pa.array([1, 2]),
        "name": pa.array(["Änn", None]),
        "price": pa.array([Decimal("1.50"), None]),
        "day": pa.array([datetime.date(2026, 1, 31), None]),
        "list": pa.array([[1, 2], None]),
        "raw": pa.array([b"ab", b"\xff"]),
        "small": pa.array([1e-7, float("nan")]),
    }
    sheet = read_parquet("t", parquet(columns), {})
    assert sheet.rows[0] == ("1", "Änn", "1.50", "2026-01-31", "[1, 2]", "ab", "0.0000001")
    assert sheet.rows[1] == ("2", "", "", "", "", "\ufffd", "")


@pytest.mark.parametrize("at", [125, 126, 200, 400])
def test_a_parquet_file_that_crashes_its_reader_is_refused(at: int, tmp_path: Path) -> None:
    raw = bytearray(parquet({"a": pa.array([1, 2])}, compression="none"))
    raw[at] ^= 1
    (tmp_path / "t").write_bytes(raw)
    try:
        stored = read_and_save(tmp_path / "t", "t.parquet", "t", tmp_path, hints={}, watch=lambda: None)
    except TableError as error:
        assert "damaged" in str(error)
    else:
        assert stored.rows == 2


def test_reading_apart_gives_what_reading_here_does(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("id,größe\n1,x\n2\n", encoding="utf-8")
    sheet = read(tmp_path / "upload", "t.csv")
    stored = read_and_save(
        tmp_path / "upload", "t.csv", "sizes", tmp_path / "d", hints={}, watch=lambda: None
    )
    assert (stored.columns, stored.rows, stored.reading) == (sheet.columns, 2, sheet.reading)
    assert stored.problems == sheet.problems
    assert (tmp_path / "d" / f"{stored.sha256}.sqlite").exists()


def test_reading_apart_ends_when_it_is_no_longer_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LOOKED_AT", 0.01)
    (tmp_path / "t").write_bytes(b"a,b\n" + b"1,2\n" * 190_000)

    def unwanted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_and_save(tmp_path / "t", "t.csv", "t", tmp_path / "d", hints={}, watch=unwanted)
    assert not list((tmp_path / "d").glob("*.sqlite"))
