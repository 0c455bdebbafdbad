"""Headers every answer carries."""

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@sync_and_async_middleware
def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]:
    """Nothing but our own files runs, loads or is framed: what agents and tools say stays text."""
    if iscoroutinefunction(get_response):

        async def from_async(request: HttpRequest) -> HttpResponse:
            response = await cast(Awaitable[HttpResponse], get_response(request))
            response["Content-Security-Policy"] = POLICY
            return response

        return from_async

    def from_sync(request: HttpRequest) -> HttpResponse:
        response = cast(HttpResponse, get_response(request))
        response["Content-Security-Policy"] = POLICY
        return response

    return from_sync
