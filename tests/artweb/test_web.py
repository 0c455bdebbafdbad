"""The web process refuses a body that is too large without keeping it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings

from artweb.web import most_bytes

MIB = 1024 * 1024


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[int, str]]:
    """A web process on an empty data directory: its process id and its address."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "artweb.web",
                "-v",
                "0",
                "--fd",
                str(door.fileno()),
                "artweb.asgi:application",
            ],
            cwd=settings.BASE_DIR,
            env={**os.environ, "ARTWEB_DATA": str(tmp_path)},
            pass_fds=[door.fileno()],
        )
        yield process.pid, f"http://127.0.0.1:{door.getsockname()[1]}"
        process.kill()
        process.wait()


def memory(pid: int) -> float:
    """The most MiB that a process ever held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def a_hundred_mebibytes() -> Iterator[bytes]:
    for _ in range(100):
        yield bytes(MIB)


def test_a_body_over_the_limit_is_not_kept(site: tuple[int, str]) -> None:
    pid, address = site
    assert httpx.get(f"{address}/v1/models", timeout=60).status_code == 401
    before = memory(pid)
    for headers in ({}, {"Content-Length": str(100 * MIB)}):
        answer = httpx.post(
            f"{address}/v1/chat/completions", content=a_hundred_mebibytes(), headers=headers, timeout=60
        )
        assert answer.status_code == 401
    assert memory(pid) - before < 30


@pytest.mark.parametrize(
    ("path", "mebibytes"),
    [
        (b"/agents/new/upload/", 51),
        (b"/agents/new/", 1),
        (b"/v1/chat/completions", 1),
        (b"/upload/../v1/", 1),
    ],
)
def test_files_are_taken_in_only_where_they_are_sent_to(path: bytes, mebibytes: int) -> None:
    assert most_bytes(path) == mebibytes * MIB
