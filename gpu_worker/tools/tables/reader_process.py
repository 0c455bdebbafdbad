"""The process in which a table is read and stored, within limits of memory and processor time.

python -m gpu_worker.tools.tables.reader_process < what-to-read.json
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_worker.tools.tables.reading import read
from gpu_worker.tools.tables.sheet import TableError, as_json
from gpu_worker.tools.tables.storage import save

LIMITS = {
    resource.RLIMIT_AS: 4 * 2**30,  # bytes
    resource.RLIMIT_CPU: 240,  # seconds; the largest table takes a tenth
    resource.RLIMIT_FSIZE: 2 * 2**30,  # bytes of a file
    resource.RLIMIT_CORE: 0,
}


def main() -> None:
    """Do what standard input asks for and say on standard output what came of it."""
    for limit, most in LIMITS.items():
        resource.setrlimit(limit, (most, most))
    json.dump(_told(json.load(sys.stdin)), sys.stdout, ensure_ascii=False)


def _told(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        sheet = read(Path(asked["path"]), asked["filename"], hints=asked["hints"])
    except TableError as error:
        return {"refused": str(error)}
    sha256, _ = save(replace(sheet, name=asked["name"]), Path(asked["directory"]))
    return {
        "sha256": sha256,
        "columns": as_json(sheet.columns),
        "rows": len(sheet.rows),
        "reading": sheet.reading,
        "problems": sheet.problems,
    }


if __name__ == "__main__":
    main()
