"""A provider's address behind the guard: the transport of whoever talks to a host that a person named.

Everything of the guard holds: one resolution, public addresses or those the operator allows, no redirects, no
proxies, answers of at most 2 MiB. What is asked and how long it may take is the caller's business.
"""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

import httpx
import httpx2

from gpu_worker.tools.guard import Guard, Guarded
from judging.access import Access
from judging.library import Library

PASSED_ON = ("content-type", "retry-after", "retry-after-ms", "x-request-id")
"""Headers of an answer that anybody here reads."""

NOT_SENT = ("openai-organization", "openai-project")
"""Headers that OpenAI's client fills from the environment; whoever named the address must not get them."""


class Door(httpx.AsyncBaseTransport):
    """Connects where the guard allows. Its errors are httpx's own; a refusal stays guard.NotAllowed."""

    def __init__(self, guard: Guard) -> None:
        self._guarded = Guarded(guard)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = httpx2.Request(
            request.method,
            str(request.url),
            headers=[(name, value) for name, value in request.headers.items() if name not in NOT_SENT],
            content=await request.aread(),
            extensions={"timeout": request.extensions.get("timeout", {})},
        )
        try:
            answer = await self._guarded.handle_async_request(asked)
            content = await answer.aread()
            await answer.aclose()
        except httpx2.TimeoutException as error:
            raise httpx.ReadTimeout(str(error), request=request) from error
        except httpx2.HTTPError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        headers = {name: answer.headers[name] for name in PASSED_ON if name in answer.headers}
        return httpx.Response(answer.status_code, headers=headers, content=content, request=request)

    async def aclose(self) -> None:
        await self._guarded.aclose()


class Clients:
    """What litellm asks through where an access has a door: a client for each event loop."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def through(self, library: Library) -> dict[str, Any]:
        """Arguments for a question; none where litellm finds the way itself."""
        if self._access.door is None:
            return {}
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = library.client(
                api_key=self._access.api_key or "none",
                base_url=self._access.api_base,
                max_retries=0,
                http_client=httpx.AsyncClient(transport=self._access.door(), trust_env=False),
            )
        return {"client": self._made[loop]}
