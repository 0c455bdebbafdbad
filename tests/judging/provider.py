"""A small OpenAI-compatible server over real HTTP that answers by script and remembers what it was asked."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from judging.access import Access
from judging.llm import Model
from judging.prompt import FRAME

Reply = str | web.Response
Script = Callable[[dict[str, Any]], Reply]


@dataclass
class Provider:
    """`script` gets the request body and returns, `pause` seconds later, the answer or a whole response."""

    url: str
    script: Script = lambda body: fair(body)
    pause: float = 0.0
    together: int = 0
    """Nobody is answered before so many questions were out at once."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    busy: int = 0
    most_busy: int = 0
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
    """Answers in place of the script, where that is not enough."""

    def model(self, **options: Any) -> Model:
        return Model(
            self.access(options.pop("at_once", 16)), **{"back_off": 0.001, "timeout": 60.0} | options
        )

    def access(self, at_once: int = 16, model: str = "openai/scripted", **options: Any) -> Access:
        return Access(model, self.url, "test", at_once=at_once, **options)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.handler is not None:
            return await self.handler(request)
        body = await request.json()
        self.asked.append(body)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        while self.most_busy < self.together:
            await asyncio.sleep(0.005)
        await asyncio.sleep(self.pause)
        self.busy -= 1
        reply = self.script(body)
        return reply if isinstance(reply, web.Response) else web.json_response(completion(reply))


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    app = web.Application(client_max_size=2**24)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    there = Provider("")
    app.router.add_post("/v1/chat/completions", there.answer)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    there.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield there
    await runner.cleanup()


def refusal(status: int, message: str, **headers: str) -> web.Response:
    error = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    return web.json_response(
        error, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def frames(body: dict[str, Any]) -> dict[str, str]:
    """What stands in each frame of the prompt, by id."""
    text = body["messages"][1]["content"]
    found = {}
    for frame in FRAME.finditer(text):
        end = text.index(f"\n</try-{frame.group(1)}>", frame.start())
        found[frame.group(2)] = text[frame.start() : end]
    return found


def marks(body: dict[str, Any]) -> dict[str, float]:
    """The score each try asks for: agents in these tests say "worth 0.25"."""
    return {i: float(re.findall(r"worth (\d\.\d+)", text)[-1]) for i, text in frames(body).items()}


def entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"trajectory_id": i, "explanation": f"{v}", "score": v} for i, v in marks(body).items()]


def fair(body: dict[str, Any]) -> str:
    """An answer that gives every try what it is worth."""
    return json.dumps({"scores": entries(body)})


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
