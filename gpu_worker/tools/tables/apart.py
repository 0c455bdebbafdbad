"""Reading and storing a table in a process of its own: `reader_process`, started here and watched.

What this does not cover: the process runs as the same user and can open the same files. It knows no secrets,
its environment is empty, and whatever becomes of it, whoever asked goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_worker.tools.tables.sheet import Column, TableError, columns_of

CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""How pyarrow ends a process over some damaged files; Python cannot catch it."""
LOOKED_AT = 0.5
"""Seconds between two looks at whether it is still wanted."""
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Stored:
    """A table that was read and stored; everything but its rows."""

    sha256: str
    columns: tuple[Column, ...]
    rows: int
    reading: dict[str, Any]
    problems: tuple[str, ...]


def read_and_save(
    path: Path,
    filename: str,
    name: str,
    directory: Path,
    *,
    hints: Mapping[str, Any],
    watch: Callable[[], None],
) -> Stored:
    """Read the file, call the table `name` and save it in `directory`.

    `watch` is called twice a second; if it raises, reading ends. Raises TableError.
    """
    asked = {
        "path": str(path),
        "filename": filename,
        "name": name,
        "directory": str(directory),
        "hints": dict(hints),
    }
    said, code = _answer(json.dumps(asked), watch)
    if -code in CRASHES:
        raise TableError("The file is damaged and cannot be read: what reads it crashed on it.")
    if code:
        raise TableError("Reading the file took too much memory or time. Keep the rows the agent needs.")
    told = json.loads(said)
    if "refused" in told:
        raise TableError(told["refused"])
    columns, problems = columns_of(told["columns"]), tuple(told["problems"])
    return Stored(told["sha256"], columns, told["rows"], told["reading"], problems)


def _answer(asked: str, watch: Callable[[], None]) -> tuple[str, int]:
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gpu_worker.tools.tables.reader_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=ROOT,
        encoding="utf-8",
    ) as child:
        try:
            said: str | None = None
            waiting: str | None = asked
            while said is None:
                try:
                    said, _ = child.communicate(waiting, timeout=LOOKED_AT)
                except subprocess.TimeoutExpired:
                    waiting = None
                    watch()
        finally:
            child.kill()
        return said, child.wait()
