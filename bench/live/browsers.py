"""Sockets as browsers hold them, hundreds in one process, as light as they can be. Standard library only.

    python -m bench.live.browsers '{"port": 8000, "path": "/ws/runs/1/", "cookie": "…", "count": 200,
                                    "seen": 0, "says_every": 16, "into": "arrivals.json"}'

Prints "ready" when all are open, and at the end of its input writes, for each browser, when it had what:
[[sequence number, seconds], …] by the clock all processes of a machine share. A browser asks from `seen` on,
says what a page of ours says (`says_every`, 0 for never), and notes frames that leave a gap.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

PLACE = re.compile(rb'"(?:first": (\d+), "last|seq)": (\d+)')
"""Where a frame of ours or of the plain site says which events it holds; it stands at its very beginning."""


class Browser(asyncio.Protocol):
    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.opened = asyncio.get_running_loop().create_future()
        self.arrivals: list[tuple[int, float]] = []
        self.gaps = 0
        self.seen = int(asked.get("seen", 0))
        self.buffer = b""
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
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
        transport.write("\r\n".join([*lines, "", ""]).encode())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.open:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                self.opened.set_exception(SystemExit(head.decode()))
                return
            self.open, self.buffer = True, rest
            if self.asked.get("says_every"):
                self.say({"seen": self.seen})
            self.opened.set_result(None)
        self.take_frames()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(SystemExit("A socket was closed before it was open."))

    def take_frames(self) -> None:
        at = 0
        while len(self.buffer) >= at + 2:
            size, start = self.buffer[at + 1] & 127, at + 2
            if size >= 126:
                width = 2 if size == 126 else 8
                size = int.from_bytes(self.buffer[start : start + width], "big")
                start += width
            if len(self.buffer) < start + size or start > len(self.buffer):
                break
            if self.buffer[at] == 0x81:
                self.take(self.buffer[start : start + 80])
            at = start + size
        self.buffer = self.buffer[at:]

    def take(self, beginning: bytes) -> None:
        place = PLACE.search(beginning)
        if place is None:
            return
        first, last = place[1], int(place[2])
        self.gaps += int(first) != self.seen if first is not None else last != self.seen + 1 and self.seen > 0
        self.seen = last
        self.arrivals.append((last, time.monotonic()))
        every = self.asked.get("says_every")
        if every and len(self.arrivals) % every == 0:
            self.say({"drawn": last})

    def say(self, message: dict[str, int]) -> None:
        payload = json.dumps(message).encode()
        self.transport.write(bytes((0x81, 0x80 | len(payload))) + b"\0\0\0\0" + payload)


async def main(asked: dict[str, Any]) -> None:
    gc.disable()  # a browser is not to blame for the pauses of this program
    loop = asyncio.get_running_loop()
    browsers = []
    for _ in range(int(asked["count"])):
        _transport, browser = await loop.create_connection(lambda: Browser(asked), "127.0.0.1", asked["port"])
        await asyncio.wait_for(browser.opened, 60)
        browsers.append(browser)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    told = {"arrivals": [b.arrivals for b in browsers], "gaps": sum(b.gaps for b in browsers)}
    Path(asked["into"]).write_text(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
