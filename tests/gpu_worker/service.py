"""A small web service on this machine for tools to call, in a thread of its own."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from gpu_worker.tools.guard import Guard

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; `path` is raw, still percent-encoded."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass
class Service:
    """Answers by script and remembers what it was asked."""

    port: int = 0
    asked: list[Seen] = field(default_factory=list)
    script: Handler | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def guard(self, *others: "Service") -> Guard:
        """One that lets calls of these services pass."""
        return Guard(hosts=frozenset(f"127.0.0.1:{one.port}" for one in (self, *others)))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append(Seen(request.method, request.raw_path, headers, await request.text()))
        if self.script is not None:
            return await self.script(request)
        return web.json_response({"path": request.raw_path, "method": request.method})


@contextmanager
def service() -> Iterator[Service]:
    there, loop = Service(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_start(there), loop).result()
    yield there
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _start(there: Service) -> web.ServerRunner:
    runner = web.ServerRunner(web.Server(there.answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    there.port = runner.addresses[0][1]
    return runner


def says(body: Any, status: int = 200, **headers: str) -> Handler:
    """A script that always answers this; what is not text is sent as JSON."""

    async def answer(request: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        kind = "text/plain" if isinstance(body, str) else "application/json"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(text=text, status=status, content_type=kind, headers=named)

    return answer
