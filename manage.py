#!/usr/bin/env python3
"""The one door: enters the virtual environment, installing it if need be, then runs a command.

Standard library only, and readable by old Pythons, so that it can say what is missing. A stamp written
last tells a finished installation from a half-finished one, which is simply repaired.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

OLDEST = (3, 11)
VERSION = ".".join(map(str, sys.version_info[:2]))
HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"
REQUIREMENTS = HERE / "requirements.txt"

# What a failed installation says of itself, and what to do about it; the first that fits is told.
REMEDIES = [
    (r"No space left|Disk quota", "The disk is full. Free about 3 GB and run the same command again."),
    (
        r"ensurepip is not|No module named '?(venv|ensurepip|pip)",
        "This Python cannot make virtual environments. Install its venv module "
        "(Debian, Ubuntu: apt install python3-venv) and run the same command again.",
    ),
    (
        r"Temporary failure in name|Name or service not|nodename nor servname|Network is unreachable"
        r"|Max retries exceeded|NewConnectionError|ConnectTimeout|Connection refused|ProxyError|timed out",
        "The package index cannot be reached. Check the network (pip reads HTTPS_PROXY and PIP_INDEX_URL) "
        "and run the same command again.",
    ),
    (r"Permission denied|Read-only file system", f"{HERE} is not writable. Run this from a copy you own."),
    (
        r"(gcc|cc|clang|g\+\+)['\"]? (failed|not found)|unable to execute|No such file.*'(gcc|cc|clang)'"
        r"|Failed (to build|building)|not find a Rust|subprocess-exited-with-error",
        "A package has to be compiled and the compiler is missing or failed. Install one "
        "(Debian, Ubuntu: apt install build-essential python3-dev) and run the same command again.",
    ),
    (
        r"No matching distribution|Could not find a version",
        "A package does not exist for this Python or machine; use CPython 3.11 to 3.13 on Linux or macOS.",
    ),
]


def main() -> None:
    if sys.version_info < OLDEST:
        leave(f"ArtWeb needs Python 3.11 or newer; this is {VERSION}. Try python3.11 manage.py up.")
    if not (inside() and installed()) and not packages_present():
        enter()
    if sys.argv[1:2] == ["test"]:
        os.chdir(HERE)
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[2:]])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artweb.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        leave(str(error))


def inside() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def installed() -> bool:
    return STAMP.is_file() and STAMP.read_text() == fingerprint()


def fingerprint() -> str:
    """Changes with the requirements and with the Python that the packages were installed for."""
    return f"{VERSION} {hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()}"


def packages_present() -> bool:
    """Whether this interpreter, whatever environment it is of, has every pinned package."""
    pins = re.findall(r"^([\w.-]+)(?:\[\w+\])?==([^\s;#]+)", REQUIREMENTS.read_text(), re.M)
    try:
        return bool(pins) and all(metadata.version(name).split("+")[0] == pin for name, pin in pins)
    except metadata.PackageNotFoundError:
        return False


def enter() -> None:
    """Run this command again with the environment's own interpreter, made ready first."""
    with open(__file__) as door:
        fcntl.flock(door, fcntl.LOCK_EX)  # a second command waits for the first one's installation
        if not (installed() and PYTHON.exists()):
            try:
                install()
            except KeyboardInterrupt:
                leave("Stopped. The next command goes on with the installation.")
            except OSError as error:
                leave(remedy(str(error)))
    # The full path as argv[0]: with any other, Python would not find its environment and loop for ever.
    os.execv(PYTHON, [str(PYTHON), str(HERE / "manage.py"), *sys.argv[1:]])


def install() -> None:
    STAMP.unlink(missing_ok=True)
    print("Installing ArtWeb's packages into .venv; this happens once and takes a minute or two.", flush=True)
    if not works(PYTHON):
        run(sys.executable, "-m", "venv", "--clear", str(VENV))
    run(str(PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--retries=2",
        "-r", str(REQUIREMENTS))  # fmt: skip
    draft = STAMP.with_suffix(".draft")
    draft.write_text(fingerprint())
    draft.replace(STAMP)
    print("Installed.", flush=True)


def works(python: Path) -> bool:
    """Whether an environment is whole enough to install into, and of our Python's version."""
    question = "import sys, pip; print(*sys.version_info[:2], sep='.')"
    try:
        answer = subprocess.run([str(python), "-c", question], capture_output=True, text=True)
    except OSError:
        return False
    return answer.stdout.strip() == VERSION


def run(*command: str) -> None:
    """Run a command of the installation, showing what it does; leave with the remedy when it fails."""
    at_once = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=HERE, env=at_once
    )
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if re.match(r"Collecting|Installing|\s+Downloading.* MB\)", line):
            print("  " + line.strip()[:100], flush=True)
    if process.wait():
        sys.stderr.write("".join(lines[-15:]))
        leave(remedy("".join(lines)))


def remedy(output: str) -> str:
    for pattern, sentence in REMEDIES:
        if re.search(pattern, output):
            return sentence
    return "Installing the packages failed; the lines above say why. Mend it and run the same command again."


def leave(sentence: str) -> None:
    sys.exit(sentence)


if __name__ == "__main__":
    main()
