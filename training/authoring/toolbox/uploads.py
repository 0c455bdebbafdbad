"""Files on their way to the desk: taken in as they come, refused early, kept under a name nobody can guess.

What is in a file is the errand's business, which also removes it.
"""

import re
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".xlsx", ".parquet")
MIB = 1024 * 1024
NAME = re.compile(r"[0-9a-f]{32}")
ABANDONED_AFTER = 86_400.0
"""Seconds."""


class Unwelcome(Exception):
    """This file is not taken; the text says why and what would be."""


def keep(file: UploadedFile | None) -> tuple[str, str]:
    """Store an uploaded file; returns its name here and the name people know it by. Raises Unwelcome."""
    found = complaint(file)
    if found or file is None:
        raise Unwelcome(found)
    name = uuid.uuid4().hex
    _write(path_of(name), file.chunks())
    return name, shown_name(file)


def sweep() -> None:
    """Remove what nobody came back for: an upload whose mapping was never confirmed, for instance."""
    for file in Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir():
        if file.is_file() and time.time() - file.stat().st_mtime > ABANDONED_AFTER:
            file.unlink(missing_ok=True)


def complaint(file: UploadedFile | None) -> str:
    """Why this file is not taken, in a sentence; empty if it is."""
    if file is None:
        return _("Choose a file first.")
    name = shown_name(file)
    if not name.lower().endswith(ENDINGS):
        told = {"name": name[-60:]}
        return _("%(name)s is of no kind that is read here; use CSV, TSV, JSONL, XLSX or Parquet.") % told
    size = file.size or 0
    if size > settings.UPLOAD_MAX_SIZE:
        told = {"name": name[-60:], "size": f"{size / MIB:.0f}", "most": settings.UPLOAD_MAX_SIZE // MIB}
        return _("%(name)s has %(size)s MB; at most %(most)s MB are taken. Leave out rows or columns.") % told
    return "" if size else _("%(name)s is empty.") % {"name": name[-60:]}


def shown_name(file: UploadedFile) -> str:
    """The file's own name, without folders and in one line."""
    base = (file.name or "").replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in base if letter.isprintable())[-200:]


def path_of(name: str) -> Path:
    """Where a kept file lies. ValueError for a name that `keep` never gave."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of an upload.")
    return Path(settings.FILE_UPLOAD_TEMP_DIR) / name


def _write(path: Path, chunks: Iterable[bytes]) -> None:
    path.touch(mode=0o600)
    with path.open("wb") as out:
        for chunk in chunks:
            out.write(chunk)
