"""Files made to use up memory or time are refused with a reason. `python -m` this file shows how fast."""

import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gpu_worker.tools.tables import TableError
from gpu_worker.tools.tables.reading import read
from tests.gpu_worker.table_files import BOMBS, SLOW_TO_MAKE

MARKED = [pytest.param(name, marks=pytest.mark.slow if name in SLOW_TO_MAKE else ()) for name in BOMBS]


def refusal(name: str, directory: Path) -> tuple[str, float]:
    """What is said of a bomb, and after how many seconds of processor time."""
    filename, make, _ = BOMBS[name]
    path = directory / "bomb"
    path.write_bytes(make())
    begun = time.process_time()
    with pytest.raises(TableError) as refused:
        read(path, filename)
    return str(refused.value), time.process_time() - begun


@pytest.mark.parametrize("name", MARKED)
def test_a_bomb_is_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    said, _ = refusal(name, tmp_path)
    assert re.search(BOMBS[name][2], said), said
    assert len(said) < 500


def test_a_file_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"x")
    with pytest.raises(TableError, match="CSV, TSV, JSONL, XLSX or Parquet"):
        read(tmp_path / "t", "t.exe")


if __name__ == "__main__":
    with TemporaryDirectory() as kept:
        for bomb in BOMBS:
            text, seconds = refusal(bomb, Path(kept))
            print(f"{seconds:5.2f} s  {bomb}: {text}")
