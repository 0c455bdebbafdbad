"""Sockets as browsers hold them, hundreds in one process, as light as they can be. Standard library only.

    python -m bench.live.browsers '{"port": 8000, "path": "/ws/runs/1/", "cookie": "…", "count": 200,
                                    "seen": 0, "says_every": 64, "into": "arrivals.json"}'

Prints "ready" when all are open, and at the end of its input writes, for each browser, when it had what:
[[sequence number, seconds], …] by the clock all processes of a machine share. A browser asks from `seen` on,
says what a page of ours says (`says_every`, 0 for never), answers pings, and notes frames that leave a gap.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import random
import re
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

PLACE = re.compile(rb'"(?:first": (\d+), "last|seq)": (\d+)')
"""Where a frame of ours or of the plain site says which events it holds; it stands at its very beginning."""
TEXT, PING, PONG = 0x81, 0x89, 0x8A
AT_ONCE = 1 << 18
PAUSE = 0.001
"""Seconds between two looks: browsers are elsewhere, and would not take a core for each frame of each."""


class Browser:
    """One socket. `received` is told what came over it, and when."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.arrivals: list[tuple[int, float]] = []
        self.gaps = 0
        self.seen = int(asked.get("seen", 0))
        self.every = int(asked.get("says_every", 0))
        self.drawn = 0
        self.says_at = random.randint(1, self.every) if self.every else 0
        self.socket = socket.create_connection(("127.0.0.1", asked["port"]), timeout=60)
        self.buffer = self._opened()
        self.socket.setblocking(False)
        if self.every:
            self._say({"seen": self.seen})

    def _opened(self) -> bytes:
        """Shake hands; what came right after."""
        key = base64.b64encode(os.urandom(16)).decode()
        host = f"127.0.0.1:{self.asked['port']}"
        lines = [
            f"GET {self.asked['path']} HTTP/1.1",
            f"Host: {host}",
            f"Origin: http://{host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            f"Cookie: {self.asked.get('cookie', '')}",
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            data = self.socket.recv(AT_ONCE)
            if not data:
                raise SystemExit("A socket was closed before it was open.")
            answer += data
        head, _, rest = answer.partition(b"\r\n\r\n")
        if b" 101 " not in head.partition(b"\r\n")[0]:
            raise SystemExit(head.decode())
        return rest

    def received(self, data: bytes, now: float) -> None:
        self.buffer += data
        at = 0
        while len(self.buffer) >= at + 2:
            size, start = self.buffer[at + 1] & 127, at + 2
            if size >= 126:
                width = 2 if size == 126 else 8
                size = int.from_bytes(self.buffer[start : start + width], "big")
                start += width
            if len(self.buffer) < start + size or start > len(self.buffer):
                break
            if self.buffer[at] == TEXT:
                self._take(self.buffer[start : start + 80], now)
            elif self.buffer[at] == PING:
                self._send(PONG, self.buffer[start : start + size])
            at = start + size
        self.buffer = self.buffer[at:]

    def _take(self, beginning: bytes, now: float) -> None:
        place = PLACE.search(beginning)
        if place is None:
            return
        first, last = place[1], int(place[2])
        self.gaps += int(first) != self.seen if first is not None else last != self.seen + 1 and self.seen > 0
        self.seen = last
        self.arrivals.append((last, now))
        self.drawn += 1
        if self.drawn == self.says_at:
            self._say({"drawn": self.drawn})
            self.drawn, self.says_at = 0, self.every

    def _say(self, message: dict[str, int]) -> None:
        self._send(TEXT, json.dumps(message).encode())

    def _send(self, kind: int, payload: bytes) -> None:
        self.socket.sendall(bytes((kind, 0x80 | len(payload))) + b"\0\0\0\0" + payload)


def listen(browsers: list[Browser]) -> None:
    """Until the end of our input."""
    reader = select.epoll()
    reader.register(sys.stdin, select.EPOLLIN)
    at = {browser.socket.fileno(): browser for browser in browsers}
    room = memoryview(bytearray(AT_ONCE))  # the same for all: new memory for each frame would cost most of it
    for number in at:
        reader.register(number, select.EPOLLIN)
    while True:
        for number, _ in reader.poll():
            browser = at.get(number)
            if browser is None:
                return
            size = browser.socket.recv_into(room)
            if not size:
                reader.unregister(number)
            browser.received(bytes(room[:size]), time.monotonic())
        time.sleep(PAUSE)


def main(asked: dict[str, Any]) -> None:
    gc.disable()  # a browser is not to blame for the pauses of this program
    browsers = [Browser(asked) for _ in range(int(asked["count"]))]
    print("ready", flush=True)
    listen(browsers)
    told = {"arrivals": [b.arrivals for b in browsers], "gaps": sum(b.gaps for b in browsers)}
    Path(asked["into"]).write_text(json.dumps(told))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
