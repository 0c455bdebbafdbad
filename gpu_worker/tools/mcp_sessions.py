"""Sessions with MCP servers: one for each server and process, kept open between calls.

A session lives in a task of its own in the loop of aside.py, since what opens it must also close it. Servers
on the web are reached through the guard; programs of this machine are only those whose command the caller
was given by the operator. What is asked for, and what is made of the answer, is left to mcp.py.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import TimeoutError as NotInTime
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

from gpu_worker.tools import aside
from gpu_worker.tools.guard import Guard, Guarded

T = TypeVar("T")

MAX_SESSIONS = 16
"""Servers that one process keeps open; whoever was opened first makes room for the next."""
OPENING = 10.0
"""Seconds until a server must be ready."""
CLOSING = 5.0
"""Seconds that programs get to end when this process does."""
MAX_REDIRECTS = 3
MAX_IDLE = 300.0
"""Seconds a server may stay silent on a stream that it keeps open."""


@dataclass(frozen=True)
class Source:
    """Where a server is: a web address with headers, or the command of a program."""

    guard: Guard
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()


async def asked(source: Source, request: Callable[[Client], Awaitable[T]]) -> T:
    """What the server answers. A session that the server has ended is opened once more; nothing was done.

    Raises what the guard, httpx and the MCP client raise, and OSError for a program that cannot be run.
    """
    for last in (False, True):
        client = await _session(source).client()
        try:
            return await request(client)
        except MCPError as error:
            ended = error.code == INVALID_REQUEST and error.message == "Session terminated"
            if ended or error.code == CONNECTION_CLOSED:
                _session(source).end()
            if last or not ended:
                raise
    raise AssertionError("the second attempt returns or raises")


class _Session:
    """Opens at once and stays until it is told to end, or dies."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self.task = asyncio.create_task(self._live())

    async def client(self) -> Client:
        """Raises what went wrong when it was opened."""
        return await asyncio.shield(self._ready)

    def end(self) -> None:
        self._over.set()
        if aside.shared.get(("mcp", self._source)) is self:
            del aside.shared["mcp", self._source]

    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(OPENING):
                    client = await stack.enter_async_context(_connected(self._source))
                self._ready.set_result(client)
                await self._over.wait()
        except Exception as error:
            self.end()
            if not self._ready.done():
                self._ready.set_exception(_first(error))


def _session(source: Source) -> _Session:
    key = ("mcp", source)
    if key not in aside.shared:
        _make_room()
        aside.shared[key] = _Session(source)
    session: _Session = aside.shared[key]
    return session


def _make_room() -> None:
    opened = [one for one in aside.shared.values() if isinstance(one, _Session)]
    for session in opened[: max(0, len(opened) - MAX_SESSIONS + 1)]:
        session.end()


@asynccontextmanager
async def _connected(source: Source) -> AsyncIterator[Client]:
    if source.command:
        program = StdioServerParameters(command=source.command[0], args=list(source.command[1:]))
        with open(os.devnull, "w") as nowhere:
            async with Client(stdio_client(program, errlog=nowhere), cache=None) as client:
                yield client
        return
    async with (
        httpx2.AsyncClient(
            transport=Guarded(source.guard),
            trust_env=False,
            headers={"User-Agent": "ArtWeb", **dict(source.headers)},
            timeout=httpx2.Timeout(OPENING, read=MAX_IDLE),
            max_redirects=MAX_REDIRECTS,
        ) as web,
        Client(streamable_http_client(source.url, http_client=web), cache=None) as client,
    ):
        yield client


def _first(error: Exception) -> Exception:
    """What really went wrong, out of the groups that task groups make of it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


async def _end_all() -> None:
    sessions = [one for one in aside.shared.values() if isinstance(one, _Session)]
    for session in sessions:
        session.end()
    await asyncio.gather(*(session.task for session in sessions))


def close() -> None:
    """End all sessions of this process, so that no program outlives it."""
    if aside.shared:
        with suppress(TimeoutError, NotInTime):
            aside.wait_for(_end_all(), CLOSING)


atexit.register(close)
