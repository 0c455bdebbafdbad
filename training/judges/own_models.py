"""A checkpoint of one's own as a provider: OpenAI's questions, answered by our own model server.

It never leaves the machine: what litellm sends is read as /v1 reads it and goes to the server's socket.
"""

import httpx
from django.contrib.auth.models import User

from training.models import Deployment
from training.serving import model_server
from training.serving.chat_request import read_chat_request
from training.serving.errors import ApiError
from training.serving.openai_format import Completion
from training.serving.queries import Target


class OwnModel(httpx.AsyncBaseTransport):
    """Answers chat completions with one checkpoint."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            asked = read_chat_request(await request.aread())
            answers = await model_server.answers(self._target.payload(asked))
        except ApiError as refusal:
            return httpx.Response(refusal.status, json=refusal.body, request=request)
        return httpx.Response(200, json=Completion(asked, self._target).whole(answers), request=request)


def address_of(target: Target) -> str:
    """Never connected to: OwnModel answers in its place. Other weights, another address."""
    return f"http://model-server/{target.sha256[:16]}/v1"


def target_of(owner: User, alias: str) -> Target | None:
    """What the owner's name stands for now; None if it stands for nothing. No prompt or tools are added."""
    named = Deployment.objects.filter(owner=owner, alias=alias, checkpoint__kept=True)
    found = named.select_related("checkpoint__run__agent").first()
    if found is None:
        return None
    run = found.checkpoint.run
    return Target(
        key_id=0,
        model=alias,
        base_model=run.config.get("base_model") or run.agent.base_model,
        adapter=found.checkpoint.directory,
        sha256=found.checkpoint.sha256,
        system_prompt="",
        tools=(),
    )


def aliases(owner: User) -> list[str]:
    """Names the owner's checkpoints answer to."""
    named = Deployment.objects.filter(owner=owner, checkpoint__kept=True).order_by("alias")
    return list(named.values_list("alias", flat=True))
