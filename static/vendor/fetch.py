"""Fetches the vendored browser libraries afresh and compares them with what is committed.

`python static/vendor/fetch.py` downloads each package of vendor.json with `npm pack`, checks the
archive and every file against its sha256, and rewrites the files unmodified. It decides no versions:
to take a new one, change vendor.json by hand.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TypedDict

HERE = Path(__file__).resolve().parent


class Package(TypedDict):
    name: str
    version: str
    licence: str
    archive_sha256: str
    files: dict[str, dict[str, str]]


def packages() -> list[Package]:
    found: list[Package] = json.loads((HERE / "vendor.json").read_text())
    return found


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def differing_files() -> list[str]:
    """Committed files whose content is not what vendor.json says."""
    return [
        local
        for package in packages()
        for local, source in package["files"].items()
        if sha256((HERE / local).read_bytes()) != source["sha256"]
    ]


def fetch(package: Package) -> None:
    """Download one package and write its files. Raises SystemExit when a checksum differs."""
    wanted = f"{package['name']}@{package['version']}"
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", "--silent", wanted], cwd=folder, check=True, capture_output=True, text=True
        )
        archive = Path(folder) / packed.stdout.strip().splitlines()[-1]
        if sha256(archive.read_bytes()) != package["archive_sha256"]:
            raise SystemExit(f"{wanted}: the archive's sha256 is not the one in vendor.json.")
        with tarfile.open(archive) as tar:
            for local, source in package["files"].items():
                write(tar, local, source)


def write(tar: tarfile.TarFile, local: str, source: dict[str, str]) -> None:
    member = tar.extractfile(f"package/{source['path']}")
    if member is None:
        raise SystemExit(f"{source['path']} is not in the archive.")
    content = member.read()
    if sha256(content) != source["sha256"]:
        raise SystemExit(f"{local}: sha256 is not the one in vendor.json.")
    (HERE / local).write_bytes(content)


if __name__ == "__main__":
    for one in packages():
        fetch(one)
        sys.stdout.write(f"{one['name']} {one['version']}: as committed\n")
