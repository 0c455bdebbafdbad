"""A program of its own that does an errand, and tells how far it is in JSON lines.

What needs torch is done so: nobody keeps it in memory afterwards, and a cancelled errand ends at once.
"""

import json
import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from django.conf import settings

from training.runs.processes import die_with_parent

log = logging.getLogger(__name__)

SIGN_OF_LIFE = 2.0
"""Seconds between two looks at whether anybody still wants the result."""
LAST_WORDS = 300
"""Characters of what a program that died said last."""
KEPT_LINES = 50


class Died(Exception):
    """It ended without a result; the text is what it said last."""


def told_by(module: str, *arguments: str) -> Generator[Mapping[str, Any], None, None]:
    """What `python -m module arguments` tells, line by line; an empty mapping when it is silent for a while.

    Whoever stops listening ends it. Raises Died when it ends by itself: a program that is done says so in a
    line, after which nobody listens any more.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    ) as process:
        try:
            heard = _Heard(process)
            yield from heard.lines()
            said = heard.last_words()
            log.error("%s died:\n%s", module, said)
            raise Died(said.splitlines()[-1][:LAST_WORDS] if said else "–")
        finally:
            process.kill()


class _Heard:
    """What a process says. Both its voices are listened to, so that it never waits for us."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._overhearing = threading.Thread(target=self._overhear, args=[process], daemon=True)
        self._overhearing.start()
        threading.Thread(target=self._listen, args=[process], daemon=True).start()

    def lines(self) -> Iterator[Mapping[str, Any]]:
        while True:
            try:
                line = self._said.get(timeout=SIGN_OF_LIFE)
            except queue.Empty:
                yield {}
                continue
            if line is None:
                return
            yield json.loads(line)

    def last_words(self) -> str:
        self._overhearing.join(timeout=SIGN_OF_LIFE)
        return "".join(self._errors).strip()

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put(line)
        self._said.put(None)

    def _overhear(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self._errors.append(line)
            del self._errors[:-KEPT_LINES]
