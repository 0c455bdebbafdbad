"""Runs a person's Python function on arguments from an agent, in an interpreter that can reach nothing.

The interpreter is pydantic-monty (see `interpreter.py`), started by `launcher.py` with as few rights as the
kernel can take away; each call gets a fresh one, with limits on time, memory, depth and output. So no call
sees another's variables, a crash costs one process, and the same call gives the same answer (chance is
seeded; only the clock is real). Not covered: what a function computes wrongly, and side channels of timing.

Here is our side of the pipe: one keeper of interpreters a process, asked one call at a time. The library's
threads would not survive a fork, and samplers are forked, so it never lives in a process of ours.
"""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gpu_worker.tools.python import launcher
from gpu_worker.tools.python.limits import SECONDS

LENGTH = struct.Struct("<I")
"""What precedes each message: the number of its bytes."""
PATIENCE = SECONDS + 9.0
"""Seconds until a keeper that does not answer is replaced; it has limits of its own before that."""
STOPPED = "The sandbox had to be stopped: the function used too much time or memory"


class CodeFailed(Exception):
    """The function raised or was stopped. `line` counts from 1; 0 where no line is to blame."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} (line {self.line})" if self.line else text


@dataclass(frozen=True)
class Outcome:
    """What a function returned, as the text an agent sees, and what it printed, for people."""

    text: str
    printed: str


def run(code: str, function: str, arguments: dict[str, Any]) -> Outcome:
    """Call `function` of `code`. Raises CodeFailed; anything else is our own fault."""
    answer = _keeper.ask({"do": "run", "code": code, "function": function, "arguments": arguments})
    return Outcome(answer["text"], answer["printed"])


def type_errors(code: str) -> list[dict[str, Any]]:
    """What the type checker says of `code`, as its JSON objects; what cannot run at all raises CodeFailed."""
    found: list[dict[str, Any]] = _keeper.ask({"do": "check", "code": code})["found"]
    return found


def layers() -> dict[str, bool]:
    """Which walls this kernel puts around the interpreter (see `launcher.py`), for people to see."""
    command = (sys.executable, "-IS", str(Path(launcher.__file__)), "--layers")
    answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    found: dict[str, bool] = json.loads(answer.stdout)
    return found


class _Keeper:
    """The process that keeps the interpreters; started when first asked, and anew in a forked process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        os.register_at_fork(after_in_child=self._forked)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The keeper's answer. Raises CodeFailed with what it says went wrong, or when it is silent."""
        message = json.dumps(question).encode()
        with self._lock:
            answer = self._asked(message)
            if answer is None:
                self._stop()
                raise CodeFailed(STOPPED)
        if "error" in answer:
            raise CodeFailed(answer["error"], answer["line"])
        return answer

    def _asked(self, message: bytes) -> dict[str, Any] | None:
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
        sent, heard = self._process.stdin, self._process.stdout
        assert sent is not None and heard is not None
        try:
            sent.write(LENGTH.pack(len(message)) + message)
            sent.flush()
        except BrokenPipeError:
            return None
        if not select.select([heard], [], [], PATIENCE)[0]:
            return None
        answer = read_message(heard)
        return None if answer is None else json.loads(answer)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _forked(self) -> None:
        """The parent's keeper is the parent's; its pipes are closed here so that it ends with the parent."""
        self._lock = threading.Lock()
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                os.close(pipe.fileno())
            self._process = None


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-m", "gpu_worker.tools.python.interpreter"),
        cwd=Path(__file__).parents[3],
        env={"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def read_message(pipe: IO[bytes]) -> bytes | None:
    """The next message, or None when the other side is gone."""
    length = pipe.read(LENGTH.size)
    if len(length) < LENGTH.size:
        return None
    message = pipe.read(LENGTH.unpack(length)[0])
    return message if len(message) == LENGTH.unpack(length)[0] else None


_keeper = _Keeper()
