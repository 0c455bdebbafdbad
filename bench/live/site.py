"""A site of ours as `up` starts it, a training beside it, and somebody who is signed in."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 240.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def environment(data: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ARTWEB_")}
    kept.pop("DATABASE_URL", None)
    kept.pop("REDIS_URL", None)
    return kept | {"ARTWEB_DATA": str(data)} | more


@contextlib.contextmanager
def up(data: Path, *options: str) -> Iterator[tuple[int, str]]:
    """The whole site until the end of the block: its port, and the cookies of its operator."""
    port = free_port()
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port), *options]
    surroundings = environment(data, ARTWEB_SOCKETS_PER_USER="100000")
    said = data.with_suffix(".log")
    with said.open("w") as log:
        site = subprocess.Popen(command, env=surroundings, stdout=log, stderr=log)
    try:
        yield port, signed_in(link_in(said))
    finally:
        site.send_signal(signal.SIGTERM)
        site.wait(60)


def link_in(said: Path) -> str:
    """The sign-in link that `up` prints first."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = re.search(r"http://\S+/sign-in/\S+/", said.read_text())
        if found:
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"The site did not start: {said.read_text()[-2000:]}")


def signed_in(link: str) -> str:
    """The Cookie header after signing in by a link."""
    with httpx.Client(timeout=60, follow_redirects=True) as browser:
        page = browser.get(link)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        if token is None:
            raise SystemExit(f"Nobody can sign in: {page.status_code} {page.text[:2000]}")
        browser.post(
            link, data={"csrfmiddlewaretoken": token[1]}, headers={"Referer": link}
        ).raise_for_status()
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


@contextlib.contextmanager
def training(data: Path, *options: str) -> Iterator[None]:
    """`train order-desk` in a data directory of its own, from its first finished step on, until the end."""
    command = [sys.executable, str(ROOT / "manage.py"), "train", "order-desk", *options]
    said = data.with_suffix(".log")
    with said.open("w") as log:
        process = subprocess.Popen(command, env=environment(data), stdout=log, stderr=log)
    try:
        wait_for_steps(data, 1, lambda: process.poll() is None)
        yield
    finally:
        over = process.poll() is not None
        process.send_signal(signal.SIGINT)
        process.wait(60)
    if over:
        raise SystemExit(f"The training was over before everything was measured: {said.read_text()[-2000:]}")


def wait_for_steps(data: Path, count: int, going_on: Callable[[], bool]) -> None:
    """Until so many steps are finished, or nobody goes on."""
    until = time.monotonic() + PATIENCE
    while len(step_seconds(data)) < count and going_on():
        if time.monotonic() > until:
            raise SystemExit(f"No {count} steps were finished in {PATIENCE:.0f} s.")
        time.sleep(0.25)


def step_seconds(data: Path) -> list[float]:
    """Seconds of each finished step of the first run of a data directory."""
    path = data / "artweb.sqlite3"
    if not path.is_file():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)) as database:
        try:
            rows = database.execute(
                'select "values" from training_stepmetrics where run_id = 1 order by step'
            )
            return [float(json.loads(values)["seconds"]) for (values,) in rows]
        except sqlite3.OperationalError:  # its tables are not there yet
            return []


@contextlib.contextmanager
def browsers(into: Path, **asked: Any) -> Iterator[None]:
    """Open sockets until the end of the block; then what they had lies in `into`."""
    command = [sys.executable, "-m", "bench.live.browsers", json.dumps({**asked, "into": str(into)})]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as them:
        assert them.stdin and them.stdout
        if them.stdout.readline() != "ready\n":
            raise SystemExit("The browsers could not open their sockets.")
        yield
        them.stdin.close()
        if them.wait(60):
            raise SystemExit("The browsers broke.")
