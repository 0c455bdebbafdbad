"""Checkpoints that are either whole or not there: written aside, fsynced, sealed with hashes, renamed.

A checkpoint is a directory named after its step (`000012`) with the trainer's files, `state.json` (where
the run stands) and `manifest.json`, written last. Resuming takes the newest one whose every byte is what
the manifest says. What the files mean is the trainer's and the loop's business.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_worker.types import CheckpointFile

ADAPTER, WHOLE = "adapter_model.safetensors", "model.safetensors"
"""What a checkpoint's weights are called: those of a LoRA adapter, or all of a model's."""
ADAPTER_CONFIG, WHOLE_CONFIG = "adapter_config.json", "full.json"
"""What says more of them, beside them."""
STATE = "state.json"
MANIFEST = "manifest.json"
NAME = re.compile(r"\d{6}")
ASIDE = ".aside-"
"""What directories are called while they are written or deleted."""


class DiskFull(OSError):
    """There is no room for a checkpoint; the sentence says what to do. Earlier checkpoints are untouched."""

    def __init__(self, sentence: str) -> None:
        super().__init__(errno.ENOSPC, sentence)

    def __str__(self) -> str:
        return str(self.strerror)


class Broken(Exception):
    """A checkpoint is not what it was when it was sealed; the text says why."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose every byte was verified."""

    file: CheckpointFile
    state: dict[str, Any]


def write(
    root: Path,
    step: int,
    save: Callable[[Path], None],
    state_for: Callable[[CheckpointFile], dict[str, Any]],
) -> CheckpointFile:
    """Make the checkpoint of `step` under `root`, replacing one that was there; it appears in one instant.

    `save` writes the trainer's files into an empty directory; `state_for` is asked for the JSON that goes
    with them. Raises DiskFull.
    """
    aside = root / f"{ASIDE}{step:06d}"
    try:
        _clear(root)
        aside.mkdir(parents=True)
        save(aside)
        weights = aside / _weights_among(path.name for path in aside.iterdir())
        file = CheckpointFile(step, str(root / f"{step:06d}"), _sha256(weights), weights.stat().st_size)
        _write_json(aside / STATE, state_for(file))
        _seal(aside, step)
        _swap_in(aside, Path(file.directory))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        shutil.rmtree(aside, ignore_errors=True)
        raise DiskFull(
            f"The disk is full: the checkpoint of step {step} could not be written to {root}. "
            "Make room and resume the run; it goes on from the checkpoint before."
        ) from error
    return file


def newest_verified(root: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that verifies, and for each newer one a sentence on why it was rejected."""
    rejected: list[str] = []
    for directory in sorted(_checkpoints(root), reverse=True):
        try:
            return verified(directory), rejected
        except Broken as problem:
            rejected.append(f"Checkpoint {directory.name} was rejected: {problem}.")
    return None, rejected


def verified(directory: Path) -> Checkpoint:
    """The checkpoint in `directory`, every byte of it compared with the manifest. Raises Broken."""
    try:
        manifest = _manifest(directory)
        for name, sealed in manifest["files"].items():
            if _sha256(directory / name) != sealed["sha256"]:
                raise Broken(f"{name} is not what was written")
        state = json.loads((directory / STATE).read_bytes())
    except OSError as error:
        raise Broken(f"{Path(error.filename or directory).name} cannot be read ({error.strerror})") from error
    weights = manifest["files"][_weights_among(manifest["files"])]
    file = CheckpointFile(manifest["step"], str(directory), weights["sha256"], weights["bytes"])
    return Checkpoint(file, state)


def prune(root: Path, *, newest: int, besides: Iterable[int]) -> None:
    """Delete all but the `newest` checkpoints and those of the steps `besides`."""
    directories = sorted(_checkpoints(root))
    kept = {directory.name for directory in directories[-max(1, newest) :]}
    kept |= {f"{step:06d}" for step in besides}
    for directory in directories:
        if directory.name not in kept:
            aside = directory.rename(root / f"{ASIDE}{directory.name}")
            shutil.rmtree(aside)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that an error of the disk is raised here, not lost in a cache."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _weights_among(names: Iterable[str]) -> str:
    return ADAPTER if ADAPTER in names else WHOLE


def _checkpoints(root: Path) -> list[Path]:
    return [path for path in root.glob("*") if NAME.fullmatch(path.name)]


def _clear(root: Path) -> None:
    """Remove what a killed process left half written or half deleted."""
    for path in root.glob(f"{ASIDE}*"):
        shutil.rmtree(path)


def _seal(directory: Path, step: int) -> None:
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(directory.iterdir())
    }
    for name in files:
        _fsync(directory / name)
    content = {"step": step, "files": files}
    _write_json(directory / MANIFEST, {**content, "sha256": _digest(content)})
    _fsync(directory)


def _manifest(directory: Path) -> dict[str, Any]:
    """The manifest, if it is to the byte what `_seal` writes. Raises Broken, or OSError if unreadable."""
    raw = (directory / MANIFEST).read_bytes()
    try:
        manifest = json.loads(raw)
        content = {"step": manifest["step"], "files": manifest["files"]}
        whole = raw == _dump({**content, "sha256": _digest(content)})
    except (ValueError, LookupError, TypeError) as error:
        raise Broken("its manifest cannot be read") from error
    if not whole:
        raise Broken("its manifest is not what was written")
    if f"{content['step']:06d}" != directory.name:
        raise Broken(f"its manifest is that of step {content['step']}")
    return content


def _swap_in(aside: Path, directory: Path) -> None:
    """Give the finished directory its name; one that bears it already was rejected or is the same."""
    root = directory.parent
    if directory.exists():
        old = directory.rename(root / f"{ASIDE}old-{directory.name}")
        aside.rename(directory)
        shutil.rmtree(old)
    else:
        aside.rename(directory)
    _fsync(root)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_bytes(path, _dump(content))


def _dump(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(_dump(content)).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
