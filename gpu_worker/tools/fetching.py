"""One call over HTTP: through the guard, with redirects looked at one by one, until its deadline.

What is sent and what is made of the answer is left to http.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from gpu_worker.rollout import bounded
from gpu_worker.tools import aside
from gpu_worker.tools.guard import Guard, Guarded, NotAllowed, address_of
from gpu_worker.types import ToolError

DEADLINE = 10.0
"""Seconds for a whole call, redirects and a slow server's last byte included."""
MAX_REDIRECTS = 3
KEPT_HEADERS = ("accept", "content-type", "user-agent")
"""Headers that go along to another host; all others might carry a secret."""

MAX_COMPLAINT = 300
"""Characters of what a server or connection says went wrong."""
TIMED_OUT = f"no answer within {DEADLINE:.0f} seconds"
SERVER_ERROR = "HTTP 500 Internal Server Error"
"""What a call says that failed in one of the two usual ways."""


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    content_type: str
    text: str | None
    """None if it is not text."""


def fetch(request: Request, guard: Guard, deadline: float = DEADLINE) -> Answer:
    """Send it and read the answer. Raises ToolError with a sentence for the agent."""
    try:
        return aside.wait_for(_fetched(request, guard), deadline)
    except NotAllowed as refusal:
        raise ToolError(str(refusal)) from None
    except (TimeoutError, httpx2.TimeoutException):
        raise ToolError(TIMED_OUT) from None
    except httpx2.HTTPError as error:
        raise ToolError(bounded(f"the connection failed: {error}", MAX_COMPLAINT)) from None


async def _fetched(request: Request, guard: Guard) -> Answer:
    for _ in range(MAX_REDIRECTS + 1):
        url = address_of(request.url)
        async with _client(guard).stream(
            request.method, url, headers=dict(request.headers), content=request.body
        ) as response:
            if not response.has_redirect_location:
                return _answer(response, await response.aread())
            request = _followed(request, url, response)
    raise NotAllowed(f"The address redirects more than {MAX_REDIRECTS} times.")


def _client(guard: Guard) -> httpx2.AsyncClient:
    """One for each guard; it takes no cookies, so that no try knows of another."""
    key = ("http", guard)
    if key not in aside.shared:
        aside.shared[key] = httpx2.AsyncClient(
            transport=Guarded(guard),
            trust_env=False,
            follow_redirects=False,
            timeout=DEADLINE,
            headers={"User-Agent": "ArtWeb", "Accept": "application/json, text/*;q=0.9"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    client: httpx2.AsyncClient = aside.shared[key]
    return client


def _followed(request: Request, url: httpx2.URL, response: httpx2.Response) -> Request:
    """The request a redirect asks for. Raises NotAllowed where it would carry something elsewhere."""
    location = response.headers["location"]
    target = address_of(str(url.join(address_of(location) if "://" in location else _plain(location))))
    if url.scheme == "https" and target.scheme != "https":
        raise NotAllowed("The address redirects from https to http.")
    if response.status_code == 303 or (response.status_code in (301, 302) and request.method == "POST"):
        request = dataclasses.replace(request, method="GET", body=None)
    if (url.scheme, url.host, url.port) != (target.scheme, target.host, target.port):
        if request.body is not None:
            raise NotAllowed("The address redirects what was sent to another host.")
        kept = {name: value for name, value in request.headers.items() if name.lower() in KEPT_HEADERS}
        request = dataclasses.replace(request, headers=kept)
    return dataclasses.replace(request, url=str(target))


def _plain(location: str) -> str:
    """A relative redirect. Raises NotAllowed if it could be read in two ways."""
    if "\\" in location or not location.isprintable():
        raise NotAllowed("The address redirects to something that cannot be read.")
    return location


def _answer(response: httpx2.Response, body: bytes) -> Answer:
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Answer(response.status_code, response.reason_phrase, content_type, _text(response, body))


def _text(response: httpx2.Response, body: bytes) -> str | None:
    if b"\0" in body[:1024]:
        return None
    try:
        return body.decode(response.charset_encoding or "utf-8", "replace")
    except LookupError:  # an encoding nobody has heard of
        return body.decode("utf-8", "replace")
