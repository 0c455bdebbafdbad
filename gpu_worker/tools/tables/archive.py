"""A look into a zip archive before it is unpacked: sizes, ratios, how often a text stands in a part."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_worker.tools.tables.sheet import TableError

MAX_PARTS = 2_000
MAX_UNPACKED = 256 * 2**20
"""Bytes of all parts together."""
MAX_RATIO = 100
"""Times a part may grow when it is unpacked, if it is larger than `LARGE`."""
LARGE = 2**20
BLOCK = 2**18
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class Part:
    """What was found in a part without keeping it: how often each sought text stands in it."""

    counts: dict[bytes, int]


def opened(raw: bytes) -> zipfile.ZipFile:
    """The archive, if what its directory says can be believed and borne. Raises TableError."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise TableError(f"The file is damaged: it cannot be opened as a workbook ({error}).") from None
    parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise TableError(
            f"The workbook has {len(parts):,} parts, more than {MAX_PARTS:,}; it looks like a bomb."
        )
    if len({part.filename for part in parts}) < len(parts):
        raise TableError("The workbook has two parts of the same name; it is damaged or made to deceive.")
    for part in parts:
        _check(part)
    if sum(part.compress_size for part in parts) > len(raw):
        raise TableError("Parts of the workbook overlap; it looks like a bomb.")
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED:
        told = f"{unpacked / 2**20:,.0f} MB when unpacked, more than {MAX_UNPACKED // 2**20}"
        raise TableError(f"The workbook has {told}. Keep the sheet the agent needs.")
    return archive


def _check(part: zipfile.ZipInfo) -> None:
    if part.flag_bits & 1:
        raise TableError("The workbook is protected by a password. Save it without one.")
    if part.compress_type not in METHODS:
        raise TableError("The workbook is packed in a way that workbooks are not.")
    if part.file_size > LARGE and part.file_size > MAX_RATIO * max(1, part.compress_size):
        told = f"a part grows {part.file_size // max(1, part.compress_size):,}-fold when unpacked"
        raise TableError(f"The workbook looks like a bomb: {told}, more than {MAX_RATIO}.")


def scanned(archive: zipfile.ZipFile, name: str, sought: Iterable[bytes]) -> Part:
    """Count texts in a part of XML, block by block.

    Raises TableError if the part cannot be unpacked, or has a tag so long that parsers read it many times
    (CVE-2023-52425).
    """
    counts = dict.fromkeys(sought, 0)
    overlap = max(map(len, counts), default=1) - 1
    kept = b""
    try:
        with archive.open(name) as part:
            while block := part.read(BLOCK):
                if len(block) == BLOCK and b"<" not in block:
                    raise TableError(f"A tag or text in {name[:80]} is longer than {BLOCK:,} bytes.")
                seen = kept + block
                for text in counts:
                    counts[text] += seen.count(text) - kept.count(text)
                kept = seen[-overlap:] if overlap else b""
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise TableError(f"The workbook is damaged: {name[:80]} cannot be unpacked ({error}).") from None
    return Part(counts)
