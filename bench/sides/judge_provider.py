"""A provider of a judge that takes its time: OpenAI's chat completions over HTTP, answered by script.

    python -m bench.sides.judge_provider 1.5      prints its port and answers until it is ended

Every question is answered after so many seconds, however many there are. Scores lie evenly between 0 and 1,
in an order that follows from the ids, so that no group is a tie and none is close.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

from aiohttp import web

from judging.prompt import FRAME


async def serve(seconds: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        await asyncio.sleep(seconds)
        return web.json_response(completion(scores(asked["messages"][1]["content"])))

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def scores(question: str) -> str:
    ids = [frame.group(2) for frame in FRAME.finditer(question)]
    ranked = random.Random(" ".join(ids)).sample(ids, len(ids))
    steps = max(1, len(ids) - 1)
    return json.dumps(
        {
            "scores": [
                {"trajectory_id": one, "explanation": "by script", "score": round(place / steps, 4)}
                for place, one in enumerate(ranked)
            ]
        }
    )


def completion(text: str) -> dict[str, object]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    told = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return told | {"usage": {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}}


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
