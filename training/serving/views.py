"""/v1, as OpenAI's clients know it: chat completions and the list of models, behind API keys.

Only the Authorization header opens this door: no cookie, no query parameter, no second header. So a
page in somebody's browser cannot use it, and the CSRF check is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from training.serving import model_server, queries
from training.serving.chat_request import read_chat_request
from training.serving.errors import ApiError, too_large, too_many, unknown_model
from training.serving.openai_format import Completion, model_line, model_list, sse

MAX_UNDER_WAY = 16
LARGE_BODY = 64 * 1024
"""Bytes from which reading takes long enough to ask for the key first."""
_under_way: Counter[int] = Counter()
"""Requests per key that this process is answering. One web process serves an installation."""

View = Callable[..., Awaitable[HttpResponseBase]]


def openai_door(method: str) -> Callable[[View], View]:
    """One HTTP method, and every ApiError as OpenAI's clients expect it."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def guarded(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponseBase:
            try:
                if request.method != method:
                    raise ApiError(405, f"This address answers {method} only.", code="method_not_allowed")
                return await view(request, *args, **kwargs)
            except ApiError as refusal:
                return refusal.response

        return guarded

    return decorate


@openai_door("POST")
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    authorization = _authorization(request)
    try:
        body = _body(request)
        if len(body) > LARGE_BODY:
            await sync_to_async(queries.check_key)(authorization)
        asked = read_chat_request(body)
    except ApiError:
        await sync_to_async(queries.check_key)(authorization)  # who has no key learns only that
        raise
    target = await sync_to_async(queries.target_of)(authorization, asked.model)
    payload = target.payload(asked)
    completion = Completion(asked, target)
    if asked.stream:
        return await _streamed(payload, completion)
    with _one_under_way(target.key_id):
        answers = await model_server.answers(payload)
    return JsonResponse(completion.whole(answers))


@openai_door("GET")
async def models(request: HttpRequest) -> HttpResponseBase:
    return JsonResponse(model_list(await sync_to_async(queries.models_of)(_authorization(request))))


@openai_door("GET")
async def model(request: HttpRequest, name: str) -> HttpResponseBase:
    for found in await sync_to_async(queries.models_of)(_authorization(request)):
        if found.id == name:
            return JsonResponse(model_line(found))
    raise unknown_model(name)


@csrf_exempt
async def nothing_here(request: HttpRequest) -> HttpResponseBase:
    """Every other address under /v1: other parts of OpenAI's API are not offered."""
    message = f"Unknown address: {request.method} {request.path[:200]}"
    return ApiError(404, message, code="unknown_url").response


def _authorization(request: HttpRequest) -> str:
    return request.headers.get("Authorization", "")


def _body(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE) from None


@contextmanager
def _one_under_way(key_id: int) -> Iterator[None]:
    if _under_way[key_id] >= MAX_UNDER_WAY:
        raise too_many(MAX_UNDER_WAY)
    _under_way[key_id] += 1
    try:
        yield
    finally:
        _under_way[key_id] -= 1
        if not _under_way[key_id]:
            del _under_way[key_id]


async def _streamed(payload: dict[str, Any], completion: Completion) -> StreamingHttpResponse:
    """The answer in chunks. The first is awaited here, so that a refusal still has its HTTP status."""
    chunks = _chunks(payload, completion)
    first = await anext(chunks)
    response = StreamingHttpResponse(_with_first(first, chunks), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


async def _with_first(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield first
    try:
        async with aclosing(rest):
            async for chunk in rest:
                yield chunk
    except ApiError as refusal:  # too late for a status: the clients know an error chunk
        yield sse({"error": refusal.body["error"]})


async def _chunks(payload: dict[str, Any], completion: Completion) -> AsyncGenerator[bytes, None]:
    """Server-sent events of one completion. Ends its request when it is closed or dropped."""
    with _one_under_way(completion.target.key_id):
        async with aclosing(model_server.events(payload)) as events:
            async for event in events:
                for chunk in completion.chunks(event):
                    yield chunk
        for chunk in completion.farewell():
            yield chunk
