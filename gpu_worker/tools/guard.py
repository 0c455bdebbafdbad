"""The guard at the door: where a tool may connect to, checked at the moment it connects.

A name is resolved once; if any of its addresses is not public nothing is connected, else exactly one of
those addresses is, while Host and SNI keep the name, so a name that changes its address between check and
use gains nothing. Answers are bounded in bytes before and after decompression. Proxies and other wishes of
the environment are ignored. How long a call may take and what redirects are followed is its caller's
business (fetching.py for HTTP tools, the MCP client for MCP).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import httpcore2
import httpx2

from gpu_worker.tools.addresses import is_plain_name, is_public, parsed

PORTS = frozenset({80, 443})
MAX_ANSWER = 2 * 1024 * 1024
"""Bytes of an answer, compressed or not."""
MAX_URL = 8000
DEFAULT_PORTS = {"http": 80, "https": 443}

for _name in ("httpx2", "httpcore2"):  # they would write addresses and headers, with secrets, into logs
    logging.getLogger(_name).setLevel(logging.WARNING)

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""All addresses of a name, as text."""


class NotAllowed(Exception):
    """The guard refused. The sentence names what was asked for, never what was found there."""


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system's resolver. Raises OSError if the name has no address."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True)
class Guard:
    """What is allowed. `hosts` are named by the operator, in lower case, as name or name:port (IPv6 in
    brackets), and may be private.

    A host named without a port is allowed on the usual ports, one with a port on that one only.
    """

    hosts: frozenset[str] = frozenset()
    ports: frozenset[int] = PORTS
    resolve: Resolve = resolve

    def check(self, url: httpx2.URL) -> None:
        """Refuse an address that is not plain http(s). Raises NotAllowed."""
        if url.scheme not in DEFAULT_PORTS:
            raise NotAllowed("Only http and https addresses can be called.")
        if url.userinfo or b"@" in url.netloc:
            raise NotAllowed("An address must not hold a user name or password; use a header and a secret.")
        host = _host(url)
        port = DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if parsed(host) is None and not is_plain_name(host):
            raise NotAllowed(f"“{host[:80]}” is not a plain host name or address.")
        if port not in self.ports and not self._named(host, port):
            raise NotAllowed(f"Port {port} is not allowed; the operator can allow {host[:80]}:{port}.")
        address = parsed(host)
        if address is not None and not is_public(address) and not self._named(host, port):
            raise _private(host)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Where a connection to `host` may go. Raises NotAllowed, or OSError if the name is unknown."""
        found = [host] if parsed(host) is not None else await self.resolve(host, port)
        if not self._named(host, port) and not all(_is_public(address) for address in found):
            raise _private(host)
        return list(dict.fromkeys(found))

    def _named(self, host: str, port: int) -> bool:
        named = f"[{host}]" if ":" in host else host
        return f"{named}:{port}" in self.hosts or (named in self.hosts and port in self.ports)


def address_of(text: str) -> httpx2.URL:
    """The address in a text. Raises NotAllowed where two readers could disagree about its host."""
    authority = text.partition("://")[2].split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]
    if len(text) > MAX_URL or not text.isprintable() or set(text) & set(' \\<>"^`'):
        raise NotAllowed("The address is too long or holds a character that must not stand in one.")
    if not authority.isascii() or "%" in authority:
        raise NotAllowed("Write the host name in ASCII; international names in their xn-- form.")
    try:
        return httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise NotAllowed(f"The address cannot be read: {error}.") from None


PUBLIC_ONLY = Guard()
"""What holds where the operator has allowed nothing."""


class Guarded(httpx2.AsyncBaseTransport):
    """A transport that obeys a guard. Each answer's body is at most MAX_ANSWER bytes long."""

    def __init__(self, guard: Guard, verify: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify or httpx2.create_ssl_context(trust_env=False),
            network_backend=_Door(guard),
            max_connections=32,
            keepalive_expiry=30.0,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises NotAllowed, or what httpx raises."""
        self._guard.check(request.url)
        request.headers["Accept-Encoding"] = "gzip"
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        with _as_httpx(request):
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    url,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return _bounded(answer, request)

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Door(httpcore2.AsyncNetworkBackend):
    """Opens connections: the one place where a name becomes an address."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await self._guard.addresses(host.strip("[]"), port)
        except OSError:
            raise httpcore2.ConnectError(f"the name {host} is not known") from None
        failure = httpcore2.ConnectError(f"the name {host} has no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise NotAllowed("Sockets of this machine cannot be called.")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _as_httpx:
    """Errors of the connection under the names httpx gives them; with what the guard said unchanged."""

    def __init__(self, request: httpx2.Request | None = None) -> None:
        self._request = request

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, httpcore2.TimeoutException):
            raise httpx2.ReadTimeout(str(error), request=self._request) from error
        known = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol)
        if isinstance(error, known):
            raise httpx2.NetworkError(str(error), request=self._request) from error


def _bounded(answer: httpcore2.Response, request: httpx2.Request) -> httpx2.Response:
    """The answer, unpacked and never longer than allowed."""
    headers = httpx2.Headers(answer.headers)
    packing = headers.pop("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", ""):
        raise NotAllowed("The answer is packed in a way that was not asked for.")
    if int(headers.get("content-length", "0")) > MAX_ANSWER:
        raise _too_long()
    headers.pop("content-length", None)
    stream = _Bounded(answer, unpack="gzip" in packing, request=request)
    return httpx2.Response(answer.status, headers=headers, stream=stream, extensions=answer.extensions)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response, *, unpack: bool, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request
        self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16) if unpack else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises NotAllowed as soon as there is too much."""
        came = given = 0
        with _as_httpx(self._request):
            async for piece in self._answer.aiter_stream():
                came += len(piece)
                text = self._unpacked(piece, MAX_ANSWER - given + 1)
                given += len(text)
                if max(came, given) > MAX_ANSWER:
                    raise _too_long()
                yield text

    def _unpacked(self, piece: bytes, most: int) -> bytes:
        if self._unpack is None:
            return piece
        try:
            return self._unpack.decompress(piece, most)
        except zlib.error:
            raise NotAllowed("The answer says that it is packed, and cannot be unpacked.") from None

    async def aclose(self) -> None:
        await self._answer.aclose()


def _host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").strip("[]")


def _is_public(text: str) -> bool:
    return is_public(ip_address(text))


def _private(host: str) -> NotAllowed:
    return NotAllowed(
        f"{host[:80]} is not on the public internet, so tools may not call it; the operator can allow it."
    )


def _too_long() -> NotAllowed:
    return NotAllowed(f"The answer is longer than {MAX_ANSWER // 1024 // 1024} MiB.")
