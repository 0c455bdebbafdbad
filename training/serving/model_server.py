"""The web process's way to the model server: one kept-alive client over a unix socket.

Nothing here loads a model. What the server is asked is written in `gpu_worker/serve.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from django.conf import settings

from training.serving.errors import ApiError, invalid, server_away, server_failed

log = logging.getLogger(__name__)

PATIENCE = httpx.Timeout(600.0, connect=5.0)
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()


async def answers(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Every answer, when all are whole. Raises ApiError."""
    try:
        response = await _client().post("/chat", json={**payload, "stream": False})
    except httpx.TransportError as error:
        raise server_away() from error
    _check(response.status_code, response.content)
    found: list[dict[str, Any]] = response.json()["answers"]
    return found


async def events(payload: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """{"index", "text"} pieces and one {"index", "answer"} for each answer. Raises ApiError.

    Closing the iterator tells the server to stop.
    """
    try:
        async with _client().stream("POST", "/chat", json={**payload, "stream": True}) as response:
            if response.status_code != 200:
                _check(response.status_code, await response.aread())
            async for line in response.aiter_lines():
                event: dict[str, Any] = json.loads(line)
                if "error" in event:
                    raise _refusal(500, event)
                yield event
    except httpx.TransportError as error:
        raise server_away() from error


def _client() -> httpx.AsyncClient:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                uds=str(settings.MODEL_SERVER_SOCKET),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=16),
            ),
            base_url="http://model-server",
            headers={"Authorization": f"Bearer {settings.SECRETS['model_server']}"},
            timeout=PATIENCE,
            trust_env=False,
        )
    return _clients[loop]


def _check(status: int, body: bytes) -> None:
    if status == 200:
        return
    try:
        raise _refusal(status, json.loads(body))
    except (ValueError, KeyError, TypeError):
        raise server_failed() from None


def _refusal(status: int, body: dict[str, Any]) -> ApiError:
    """The server's own words to the client, where they are about the request or its model.

    Why a model cannot be loaded names files of this machine: that is for the log.
    """
    error = body["error"]
    if error["code"] == "model_unusable":
        log.error("A model cannot be used: %s", error["message"])
        message = "The model behind this name cannot be loaded; ArtWeb's log says why."
        return ApiError(404, message, param="model", code=error["code"])
    if status == 400:
        return invalid(error.get("param"), error["message"], code=error["code"])
    if status in (404, 409):
        return ApiError(status, error["message"], param="model", code=error["code"])
    return ApiError(503, error["message"], kind="server_error", code=error["code"], retry_after=5)
