"""Headers every answer carries, and wishes that no page of ours made."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")

Answer: TypeAlias = HttpResponse | Awaitable[HttpResponse]


@sync_and_async_middleware
def headers_of_every_answer(
    get_response: Callable[[HttpRequest], Answer],
) -> Callable[[HttpRequest], Answer]:
    """Nothing but our own files runs, loads or is framed, and no page is kept after signing out."""
    if iscoroutinefunction(get_response):

        async def from_async(request: HttpRequest) -> HttpResponse:
            return _with_headers(await cast(Awaitable[HttpResponse], get_response(request)))

        return from_async

    def from_sync(request: HttpRequest) -> HttpResponse:
        return _with_headers(cast(HttpResponse, get_response(request)))

    return from_sync


def _with_headers(response: HttpResponse) -> HttpResponse:
    response["Content-Security-Policy"] = POLICY
    response.headers.setdefault("Cache-Control", "no-store")
    return response


@sync_and_async_middleware
def no_wishes_from_other_sites(
    get_response: Callable[[HttpRequest], Answer],
) -> Callable[[HttpRequest], Answer]:
    """A second lock beside the CSRF token: browsers say when another site made a page send this."""
    if iscoroutinefunction(get_response):

        async def from_async(request: HttpRequest) -> HttpResponse:
            _refuse_other_sites(request)
            return await cast(Awaitable[HttpResponse], get_response(request))

        return from_async

    def from_sync(request: HttpRequest) -> HttpResponse:
        _refuse_other_sites(request)
        return cast(HttpResponse, get_response(request))

    return from_sync


def _refuse_other_sites(request: HttpRequest) -> None:
    if request.method not in SAFE and request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise PermissionDenied
