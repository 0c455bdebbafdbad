"""Starts child processes, shows what they say, starts again what dies, and stops all of them.

One thread and one selector, so that a child can be started safely at any time and dies with us whatever
happens (the kernel tells it). What the children are is left to `children.py`.
"""

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from types import FrameType

from training.runs.processes import die_with_parent

GRACE = 10.0
"""Seconds a child has to leave before it is killed."""
LIVED_WELL = 30.0
"""A child that lived this long is started again at once; one that did not waits longer each time."""
LONGEST_WAIT = 15.0
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Child:
    """A process to keep alive. First started `after` seconds; a lower `order` leaves first."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    files: tuple[int, ...] = ()
    after: float = 0.0
    order: int = 0


@dataclass
class _Running:
    child: Child
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    deaths: int = 0
    start_at: float = 0.0
    unfinished: bytes = b""


class Supervisor:
    """`run()` returns after SIGINT, SIGTERM or SIGHUP, when every child is gone."""

    def __init__(self, children: list[Child], grace: float = GRACE) -> None:
        now = time.monotonic()
        self._all = [_Running(child, start_at=now + child.after) for child in children]
        self._grace = grace
        self._stop = False
        self._selector = selectors.DefaultSelector()
        self._width = max(len(child.name) for child in children)

    def run(self) -> None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._ask_to_stop)
        try:
            while not self._stop:
                self._start_those_due()
                self._listen(0.2)
                self._notice_deaths()
        finally:
            self._stop_all()

    def _ask_to_stop(self, signum: int, frame: FrameType | None) -> None:
        self._stop = True

    def _start_those_due(self) -> None:
        for running in self._all:
            if running.process is None and time.monotonic() >= running.start_at:
                self._start(running)

    def _start(self, running: _Running) -> None:
        child = running.child
        running.process = subprocess.Popen(
            child.command,
            env=child.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=child.files,
            process_group=0,  # Ctrl-C reaches only us
            preexec_fn=die_with_parent,
        )
        running.started = time.monotonic()
        output = running.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        self._selector.register(output, selectors.EVENT_READ, running)

    def _listen(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            self._read(key.data)

    def _read(self, running: _Running) -> None:
        assert running.process is not None and running.process.stdout is not None
        data = running.process.stdout.read(65536)
        if data == b"":  # closed: the process is going away
            self._selector.unregister(running.process.stdout)
        *lines, running.unfinished = (running.unfinished + (data or b"")).split(b"\n")
        for line in lines:
            self.say(running.child.name, line.decode("utf-8", "replace"))

    def say(self, name: str, line: str) -> None:
        """Control characters are replaced: what agents say may be in a log, and would steer a terminal."""
        shown = CONTROL.sub("\N{REPLACEMENT CHARACTER}", line.rstrip())
        print(f"{name:<{self._width}} | {shown}", flush=True)

    def _notice_deaths(self) -> None:
        for running in self._all:
            if running.process is not None and running.process.poll() is not None:
                self._bury(running)

    def _bury(self, running: _Running) -> None:
        """Note a death and when to start again: at once, then after 0.5, 1, 2, … seconds."""
        assert running.process is not None
        code, lived = running.process.returncode, time.monotonic() - running.started
        self._forget(running)
        running.deaths = 1 if lived >= LIVED_WELL else running.deaths + 1
        wait = 0.0 if running.deaths == 1 else min(LONGEST_WAIT, 0.25 * 2**running.deaths)
        running.start_at = time.monotonic() + wait
        ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        self.say(running.child.name, f"{ended}; starting again" + (f" in {wait:g} s" if wait else ""))

    def _forget(self, running: _Running) -> None:
        assert running.process is not None and running.process.stdout is not None
        if running.process.stdout in self._selector.get_map():
            self._read(running)
        if running.process.stdout in self._selector.get_map():
            self._selector.unregister(running.process.stdout)
        if running.unfinished:
            self.say(running.child.name, running.unfinished.decode("utf-8", "replace"))
        running.process.stdout.close()
        self._kill_group(running)  # whatever it left behind
        running.process, running.unfinished = None, b""

    def _stop_all(self) -> None:
        for order in sorted({running.child.order for running in self._all}):
            self._stop_some([r for r in self._all if r.child.order == order and r.process is not None])

    def _stop_some(self, some: list[_Running]) -> None:
        for running in some:
            assert running.process is not None
            running.process.terminate()
        deadline = time.monotonic() + self._grace
        while some and time.monotonic() < deadline:
            self._listen(0.05)
            for running in [r for r in some if r.process is not None and r.process.poll() is not None]:
                self._forget(running)
            some = [r for r in some if r.process is not None]
        for running in some:
            self.say(running.child.name, f"did not leave within {self._grace:g} s and is killed")
            self._kill_group(running)
            assert running.process is not None
            running.process.wait()
            self._forget(running)

    def _kill_group(self, running: _Running) -> None:
        assert running.process is not None
        try:
            os.killpg(running.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # nothing left
        except PermissionError:
            print(f"{running.child.name} could not be killed", file=sys.stderr)
