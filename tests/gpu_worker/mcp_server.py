"""A real MCP server with a few tools: as a program, or over HTTP in a thread of this process."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("desk")


@server.tool()
def status(order: str) -> str:
    """Where an order is."""
    return f"order {order}: 已发货"


@server.tool()
def fail(why: str) -> str:
    """Always fails."""
    raise ToolError(why)


@server.tool()
def several(count: int) -> list[str]:
    """Many answers in one."""
    return ["line"] * count


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
async def slow(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "at last"


@server.tool()
def who() -> str:
    """The process and what it was told."""
    return f"{os.getpid()} {sorted(os.environ)}"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@dataclass
class Heard:
    """What the HTTP server was sent."""

    port: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def _listening_to(app: ASGIApp, heard: Heard) -> ASGIApp:
    async def listen(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            heard.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            heard.methods.append(scope["method"])
        await app(scope, receive, send)

    return listen


@contextmanager
def over_http(*, port: int = 0) -> Iterator[Heard]:
    """The server on this machine, until the block ends."""
    heard = Heard()
    app = _listening_to(MCPServer.streamable_http_app(server), heard)
    web = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=web.run, daemon=True)
    thread.start()
    while not web.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    heard.port = web.servers[0].sockets[0].getsockname()[1]
    yield heard
    web.should_exit = True
    thread.join()


if __name__ == "__main__":
    server.run("stdio")
