"""`up` in life: every real process, a bare data directory, a person signing in, an agent learning."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from django.core.management.base import CommandError
from django.db import DatabaseError

from artweb import children, database
from artweb.management.commands import up

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"http://\S+/sign-in/\S+(?=\s)")


class Running:
    """An `up` on a data directory of its own, on a free port."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.log = data.with_suffix(".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "up", "--port", "0"],
                env={**os.environ, "ARTWEB_DATA": str(data)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> str:
        return self.log.read_text()

    def link(self) -> str:
        """Of a whole line: half of one may be in the log already."""
        self.wait(lambda: LINK.search(self.said()) is not None, "a sign-in link")
        found = LINK.search(self.said())
        assert found
        return found[0]

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, f"up ended: {self.said()}"
            assert time.monotonic() < deadline, f"no {what}: {self.said()}"
            time.sleep(0.1)

    def ask(self, question: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(f"file:{self.data / 'artweb.sqlite3'}?mode=ro", uri=True) as database:
            return database.execute(question).fetchall()

    def has_judged_a_group(self) -> bool:
        assert self.ask("select error from training_run") == [("",)]
        return bool(self.ask("select 1 from training_event where kind = 'group'"))

    def processes(self) -> list[str]:
        """Command lines of everything that lives on this data directory."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                command = (process / "cmdline").read_text().replace("\0", " ")
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"ARTWEB_DATA={self.data}\0".encode() in environment and state != "Z":
                found.append(command)
        return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "data")
    yield running
    running.process.kill()
    running.process.wait()


def sign_in(link: str) -> httpx.Client:
    browser = httpx.Client(follow_redirects=True, timeout=60)
    page = browser.get(link)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token, page.text
    home = browser.post(link, data={"csrfmiddlewaretoken": token[1]}, headers={"Referer": link})
    assert home.status_code == 200 and home.url.path == "/"
    return browser


def test_one_command_brings_up_everything_and_takes_it_down(running: Running) -> None:
    link = running.link()
    browser = sign_in(link)
    assert "order-desk-1" in browser.get(httpx.URL(link).join("/")).text

    running.wait(running.has_judged_a_group, "group")
    socket = running.data / "run" / "redis.sock"
    assert (running.data / "run").stat().st_mode & 0o777 == 0o700
    assert socket.is_socket() and socket.stat().st_mode & 0o777 == 0o600
    assert (running.data / "secrets.json").stat().st_mode & 0o777 == 0o600

    second = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "up", "--port", "0"],
        env={**os.environ, "ARTWEB_DATA": str(running.data)},
        capture_output=True,
        text=True,
    )
    assert second.returncode == 1 and "ArtWeb runs already" in second.stderr

    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(90) == 0
    assert running.processes() == []
    assert running.ask("select state, worker from training_run") == [("queued", "")]


def test_a_busy_port_is_told_in_a_sentence() -> None:
    with up.listening("127.0.0.1", 0) as site:
        port = site.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} is in use; take another"):
            up.listening("127.0.0.1", port)


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000)])
def test_nonsense_to_listen_on_is_told_in_a_sentence(host: str, port: int) -> None:
    with pytest.raises(CommandError, match="is not an address|is not a port"):
        up.listening(host, port)


def test_sockets_lie_where_nobody_else_may_enter(tmp_path: Path) -> None:
    up.make_private(tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(CommandError, match="belongs to somebody else"):
        up.make_private(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("database or disk is full", "The disk is full"),
        ("attempt to write a readonly database", "cannot be written"),
        ("unable to open database file", "cannot be written"),
        ("file is not a database", "is damaged"),
        ("database is locked", "locked by another program"),
        ("connection refused\nIs the server running?", "cannot be used: connection refused"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_in_a_sentence(
    error: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise DatabaseError(error)

    monkeypatch.setattr(database, "call_command", fail)
    with pytest.raises(CommandError, match=words) as told:
        database.prepare()
    assert "\n" not in str(told.value)


def test_a_lock_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"), up.only_one(tmp_path / "gone" / "up.lock"):
        pass


def test_the_site_answers_to_the_address_it_listens_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTWEB_HOSTS", "artweb.example")
    with up.listening("127.0.0.1", 0) as site:
        hosts = [children.web(site, host).environment["ARTWEB_HOSTS"] for host in ("192.168.1.20", "0.0.0.0")]
    assert hosts == ["artweb.example,192.168.1.20", "artweb.example"]


def test_only_worker_and_desk_get_the_keys_of_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with up.listening("127.0.0.1", 0) as site:
        found = children.children(site=site, host="127.0.0.1", model_server=True)
    assert [child.name for child in found if "OPENAI_API_KEY" in child.environment] == ["worker", "desk"]


def test_tracebacks_are_shown_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up.settings, "DEBUG", True)
    up.refuse_to_show_tracebacks("127.0.0.1")
    with pytest.raises(CommandError, match="ARTWEB_DEBUG"):
        up.refuse_to_show_tracebacks("0.0.0.0")
