"""The peers' virtual environments: one for each section of requirements-peers.txt, made on demand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from bench.bar import NotRun

BENCH = Path(__file__).resolve().parent
PEERS = BENCH / ".peers"
REQUIREMENTS = BENCH / "requirements-peers.txt"
SECTION = re.compile(r"^# \[([\w-]+)\]\s*$")
INSTALL_WITHIN = 1800
"""Seconds an installation may take."""


def sections(text: str) -> dict[str, list[str]]:
    """The pins of each environment, by the environment's name."""
    found: dict[str, list[str]] = {}
    pins: list[str] | None = None
    for line in text.splitlines():
        heading = SECTION.match(line)
        if heading:
            pins = found.setdefault(heading[1], [])
        elif line.strip() and not line.startswith("#"):
            if pins is None:
                raise ValueError(f"requirements-peers.txt: {line} stands before the first section.")
            pins.append(line.strip())
    return found


def pins_of(name: str) -> list[str]:
    found = sections(REQUIREMENTS.read_text())
    if name not in found:
        raise NotRun(f"requirements-peers.txt has no section [{name}]")
    return found[name]


def python_of(name: str) -> Path:
    """The interpreter of an environment, which is made when it is missing or its pins changed.

    Raises NotRun when it cannot be installed; a second call then tries again.
    """
    pins, directory = pins_of(name), PEERS / name
    python, stamp, wanted = directory / "bin" / "python", directory / "installed", "\n".join(pins_of(name))
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"Installing the peer {name} into {directory.relative_to(BENCH.parent)} …", file=sys.stderr)
    _run(name, [sys.executable, "-m", "venv", "--clear", str(directory)])
    _run(name, [str(python), "-m", "pip", "install", "-q", "--no-input", *pins])
    stamp.write_text(wanted)
    return python


def _run(name: str, command: list[str]) -> None:
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=INSTALL_WITHIN, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotRun(f"the peer {name} was not installed within {INSTALL_WITHIN} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        why = next((line for line in said if line.startswith("ERROR")), said[-1])
        raise NotRun(f"the peer {name} could not be installed: {why.removeprefix('ERROR: ')[:300]}")
