"""Answers of language models that were paid once, kept on disk so that nobody pays for them again.

An entry is found by a hash of all that decides the answer; neither question nor key is written. Several
processes may share a directory: entries are written aside and renamed. A broken entry is as none.
"""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpu_worker.types import Message

log = logging.getLogger(__name__)

MOST_BYTES = 256 * 2**20
"""What a directory of answers may hold; the ones not used for longest go first."""
LONGEST = 2**20
"""Characters of an answer that is worth keeping."""
SWEEP_EVERY = 128
"""Answers written by this process between two looks at how large the directory has grown."""
SWEPT_TO = 0.8
"""Share of the limit that a sweep leaves."""


@dataclass(frozen=True)
class Entry:
    text: str
    prompt_tokens: int
    answer_tokens: int


class Kept:
    """The answers in one directory, which is made when the first is written."""

    def __init__(self, directory: Path, most_bytes: int = MOST_BYTES) -> None:
        self.directory = directory
        self._most_bytes = most_bytes
        self._written = 0

    def get(self, key: str) -> Entry | None:
        """The answer kept under a key. Whoever reads it makes it young again."""
        path = self._path(key)
        try:
            entry = _read(path.read_bytes())
            if entry is not None:
                os.utime(path)
            return entry
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("A kept answer could not be read: %s", error)
            return None

    def put(self, key: str, entry: Entry) -> None:
        """Keep an answer. Where it cannot be written nothing is lost but the chance to save money."""
        if len(entry.text) > LONGEST:
            return
        try:
            self._write(key, _written(entry))
        except OSError as error:
            log.warning("An answer could not be kept: %s", error)
        self._written += 1
        if self._written % SWEEP_EVERY == 0:
            self.sweep()

    def forget(self, key: str) -> None:
        """Not served again: it could not be used."""
        with suppress(FileNotFoundError):
            self._path(key).unlink()

    def sweep(self) -> None:
        """Drop the oldest until what is left is well within the limit."""
        files = sorted(_files(self.directory))
        size = sum(bytes_ for _used, bytes_, _path in files)
        if size <= self._most_bytes:
            return
        for _used, bytes_, path in files:
            if size <= SWEPT_TO * self._most_bytes:
                return
            with suppress(FileNotFoundError):
                os.unlink(path)
            size -= bytes_

    def _write(self, key: str, content: bytes) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, aside = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            os.replace(aside, path)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(aside)
            raise

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key[2:]}.json"


def key_of(
    model: str,
    api_base: str,
    messages: Sequence[Message],
    schema: dict[str, Any],
    temperature: float,
    options: Mapping[str, Any] | None = None,
) -> str:
    """What an answer is kept under: 64 hexadecimal digits."""
    decisive = [model, api_base, list(messages), schema, float(temperature), dict(options or {})]
    told = json.dumps(decisive, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def _written(entry: Entry) -> bytes:
    told = json.dumps(asdict(entry))
    return f"{_sum(told)}\n{told}".encode()


def _read(content: bytes) -> Entry | None:
    """None if a single byte is not as it was written."""
    seal, _, told = content.partition(b"\n")
    text = told.decode("utf-8", "replace")
    return Entry(**json.loads(text)) if seal.decode("ascii", "replace") == _sum(text) else None


def _sum(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()


def _files(directory: Path) -> list[tuple[float, int, str]]:
    """(when last used, bytes, path) of every entry, also of those a killed process left half written."""
    found = []
    for folder, _folders, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError):
                facts = os.stat(path)
                found.append((facts.st_mtime, facts.st_size, path))
    return found
