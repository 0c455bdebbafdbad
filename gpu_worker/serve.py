"""The model server: answers chats with any base model and any of its adapters, over a unix socket.

    ARTWEB_MODEL_KEY=… python -m gpu_worker.serve --socket PATH [--allow DIR …] [--max-context N]

Models load when first asked for and adapters turn by turn (`turns.py`), so it never needs a restart.
`POST /chat` takes {base_model, adapter, adapter_sha256, messages, tools, sampling, n, logprobs, stream} and
gives {"answers": […]}, or with stream a line of JSON per event: {"index", "text"} and {"index", "answer"}.
`GET /health` says what is loaded. Who may ask what is left to the web process: whoever has the key and may
open the socket may use every model under the allowed directories.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from hmac import compare_digest
from pathlib import Path
from typing import Any

import torch
from aiohttp import web

from gpu_worker.answers import Ask, answers, events, read_ask
from gpu_worker.engines.embedded.directory import EMBEDDED, HUB_ID, ModelError, locate
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.turns import Adapter, Engines, Refusal, Turns, adapter_at, weights_sha256

MAX_BODY = 8 * 1024 * 1024
log = logging.getLogger("gpu_worker.serve")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ModelServer:
    """The handlers and what they share: loaded engines and checked adapters."""

    def __init__(
        self, *, key: str, allowed: list[Path], max_context: int, slots: int, most_models: int
    ) -> None:
        self.key = key
        self.allowed = [path.resolve() for path in allowed]
        self.engines = Engines(
            lambda model: EmbeddedEngine(model, slots=slots, max_context=max_context), most_models
        )
        self._proven: dict[Adapter, str] = {}

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY)
        app.router.add_post("/chat", self.chat)
        app.router.add_get("/health", self.health)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The key on every request, and every refusal as {"error": {message, type, code}}."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not compare_digest(given.encode(), self.key.encode()):
            return _error(401, "wrong_key", "The key of the model server is missing or wrong.")
        try:
            return await handler(request)
        except Refusal as refusal:
            return _error(refusal.status, refusal.code, str(refusal))
        except ModelError as error:
            return _error(404, "model_unusable", str(error))
        except web.HTTPException as error:
            return _error(error.status, "bad_request", error.reason)

    async def health(self, request: web.Request) -> web.Response:
        found = {"ok": True, "models": self.engines.loaded, "answering": self.engines.answering}
        return web.json_response(found)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        ask = read_ask(await _object(request))
        model = self._model(ask.base_model)
        adapter = await self._adapter(ask)
        turns = await self.engines.turns(model)
        if ask.stream:
            return await self._stream(request, turns, adapter, ask)
        async with turns.turn(adapter) as engine:
            return web.json_response({"answers": await answers(engine, ask)})

    async def _stream(
        self, request: web.Request, turns: Turns[EmbeddedEngine], adapter: Adapter | None, ask: Ask
    ) -> web.StreamResponse:
        """The first event is awaited before the headers go out, so that a refusal has its status."""
        async with turns.turn(adapter) as engine, aclosing(events(engine, ask)) as stream:
            first = await anext(stream)
            response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
            await response.prepare(request)
            await response.write(_line(first))
            async for event in stream:
                await response.write(_line(event))
            await response.write_eof()
            return response

    def _model(self, name: str) -> Path:
        """Raises Refusal for a directory outside the allowed ones, ModelError for one that is not there."""
        path = Path(name)
        if name == "embedded" or (HUB_ID.fullmatch(name) and not path.exists()):
            return locate(name)
        return locate(self._inside(path))

    async def _adapter(self, ask: Ask) -> Adapter | None:
        """The adapter's files, proven once to be those the caller means."""
        if ask.adapter is None:
            return None
        adapter = adapter_at(self._inside(Path(ask.adapter)))
        if ask.adapter_sha256:
            if adapter not in self._proven:
                self._proven[adapter] = await asyncio.to_thread(weights_sha256, adapter)
            if self._proven[adapter] != ask.adapter_sha256:
                message = f"The weights in {adapter.directory.name!r} are not those that were trained."
                raise Refusal(409, "adapter_changed", message)
        return adapter

    def _inside(self, path: Path) -> Path:
        """`path` without links and dots, if it lies in an allowed directory."""
        real = path.resolve()
        if real == EMBEDDED.resolve() or any(real.is_relative_to(root) for root in self.allowed):
            return real
        log.warning("%s is in no directory that was allowed with --allow.", path)
        raise Refusal(403, "not_allowed", "The model is in no directory that the model server may read.")


async def _object(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Refusal(400, "bad_request", "The body is not a JSON object.")
    return body


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def _error(status: int, code: str, message: str) -> web.Response:
    error = {"message": message, "type": "model_server_error", "code": code}
    return web.json_response({"error": error}, status=status)


def _listen(path: Path) -> socket.socket:
    """A socket that only this user may open. A file left behind by a killed server is replaced."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_socket():
        path.unlink()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        door.bind(str(path))
    finally:
        os.umask(before)
    return door


async def _serve(server: ModelServer, path: Path) -> None:
    """Until SIGINT or SIGTERM. A client that goes away cancels its request."""
    runner = web.AppRunner(server.app(), handler_cancellation=True, access_log=None, shutdown_timeout=2)
    await runner.setup()
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    await web.SockSite(runner, _listen(path)).start()
    log.info("The model server listens on %s.", path)
    await stop.wait()
    await runner.cleanup()
    path.unlink(missing_ok=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gpu_worker.serve", description="The model server.")
    parser.add_argument("--socket", type=Path, required=True, help="path of the unix socket")
    parser.add_argument(
        "--allow",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="directory that models and adapters may lie in; repeatable",
    )
    parser.add_argument("--max-context", type=int, default=4096, help="tokens a conversation may have")
    parser.add_argument("--slots", type=int, default=32, help="answers written at once, per model")
    parser.add_argument("--models", type=int, default=2, help="base models kept in memory")
    return parser.parse_args()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    arguments = _arguments()
    key = os.environ.pop("ARTWEB_MODEL_KEY", "")
    if len(key) < 16:
        raise SystemExit("ARTWEB_MODEL_KEY is missing or shorter than 16 characters; whoever asks sends it.")
    torch.set_num_threads(1)
    server = ModelServer(
        key=key,
        allowed=arguments.allow,
        max_context=arguments.max_context,
        slots=arguments.slots,
        most_models=arguments.models,
    )
    asyncio.run(_serve(server, arguments.socket))


if __name__ == "__main__":
    main()
