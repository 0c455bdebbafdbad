"""Where tools may connect: addresses by our own list, odd spellings, names that change their mind."""

import asyncio
import gzip
import itertools
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address

import httpcore2
import httpx2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpu_worker.tools.addresses import is_plain_name, is_public, parsed
from gpu_worker.tools.guard import MAX_ANSWER, PUBLIC_ONLY, Guard, Guarded, NotAllowed, address_of
from tests.gpu_worker.certificates import certificate
from tests.gpu_worker.ssrf import LITERALS, PORTS, SPELLINGS

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Canary:
    """A server on this machine that counts who comes."""

    def __init__(self) -> None:
        self.port = 0
        self.visits = 0
        self.asked: list[bytes] = []
        self.name: str | None = None
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        with_head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(with_head)
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None) -> AsyncIterator[Canary]:
    canary = Canary()
    server = await asyncio.start_server(canary.serve, "127.0.0.1", 0, ssl=tls, limit=2**22)
    canary.port = server.sockets[0].getsockname()[1]
    async with server:
        yield canary


async def get(guard: Guard, url: str, verify: ssl.SSLContext | None = None) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=Guarded(guard, verify), trust_env=False, timeout=5) as client:
        return await client.get(address_of(url))


def answering(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


@pytest.mark.parametrize("vector", [*LITERALS, *SPELLINGS])
async def test_nothing_that_is_not_public_is_ever_connected(vector: str) -> None:
    async with listening() as canary:
        guard = Guard(frozenset(), frozenset({80, 443, canary.port}), answering("127.0.0.1"))
        with pytest.raises(NotAllowed):
            await get(guard, vector.replace("{port}", str(canary.port)))
        assert canary.visits == 0


async def test_the_names_of_this_machine_are_not_public() -> None:
    for name in ("localhost", "ip6-localhost", "localhost.localdomain"):
        with pytest.raises((NotAllowed, httpx2.NetworkError)):
            await get(PUBLIC_ONLY, f"http://{name}/")


def test_there_are_enough_vectors() -> None:
    assert len({*LITERALS, *SPELLINGS}) == len(LITERALS) + len(SPELLINGS) >= 60


@pytest.mark.parametrize("port", PORTS)
async def test_only_the_usual_ports_are_called(port: str) -> None:
    guard = Guard(resolve=answering("127.0.0.1"))
    with pytest.raises(NotAllowed):
        await get(guard, f"http://example.com:{port}/")


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("93.184.215.14", "127.0.0.1"),
        ("127.0.0.1", "93.184.215.14"),
        ("2606:4700::1111", "::ffff:127.0.0.1"),
        ("93.184.215.14", "fe80::1%lo"),
    ],
)
async def test_a_name_with_any_address_that_is_not_public_is_refused(addresses: tuple[str, ...]) -> None:
    async with listening() as canary:
        guard = Guard(ports=frozenset({canary.port}), resolve=answering(*addresses))
        with pytest.raises(NotAllowed, match="rebound.example is not on the public internet"):
            await get(guard, f"http://rebound.example:{canary.port}/")
        assert canary.visits == 0


async def test_a_name_that_changes_its_address_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer is this machine; so a name must be asked for once, and called as it was checked."""
    opened: list[str] = []
    monkeypatch.setattr(httpcore2, "AnyIOBackend", lambda: Doorbell(opened))
    async with listening() as canary:
        guard, asked = rebinding(canary)
        async with httpx2.AsyncClient(transport=Guarded(guard), trust_env=False, timeout=5) as client:
            for _ in range(1000):
                with pytest.raises((NotAllowed, httpx2.NetworkError)):
                    await client.get(f"http://rebound.example:{canary.port}/")
        assert canary.visits == 0
    assert len(asked) == 1000
    assert opened == ["93.184.215.14"] * 500


def rebinding(canary: Canary) -> tuple[Guard, list[str]]:
    """A guard whose resolver says something else each time it is asked."""
    answers = itertools.cycle(["93.184.215.14", "127.0.0.1"])
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(next(answers))
        return asked[-1:]

    return Guard(ports=frozenset({canary.port}), resolve=resolve), asked


class Doorbell:
    """A network in which nobody is at home."""

    def __init__(self, opened: list[str]) -> None:
        self.opened = opened

    async def connect_tcp(self, host: str, *_: object) -> None:
        self.opened.append(host)
        raise httpcore2.ConnectError(host)


async def test_a_host_the_operator_named_is_called_on_its_port_only() -> None:
    async with listening() as canary:
        named = f"127.0.0.1:{canary.port}"
        assert (await get(Guard(hosts=frozenset({named})), f"http://{named}/")).text == "hi"
        with pytest.raises(NotAllowed):
            await get(Guard(hosts=frozenset({"127.0.0.1"})), f"http://{named}/")
        with pytest.raises(NotAllowed):
            await get(Guard(hosts=frozenset({named})), f"http://127.0.0.2:{canary.port}/")
        with pytest.raises(NotAllowed):
            await get(PUBLIC_ONLY, f"http://{named}/")


async def test_host_and_server_name_stay_the_name() -> None:
    served, trusted = certificate("shop.example")
    names: list[str | None] = []
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    async with listening(served) as canary:
        named = f"shop.example:{canary.port}"
        guard = Guard(hosts=frozenset({named}), resolve=answering("127.0.0.1"))
        assert (await get(guard, f"https://{named}/", trusted)).text == "hi"
        assert names == ["shop.example"]
        assert f"host: {named}\r\n".encode() in canary.asked[0].lower()


async def test_a_certificate_of_another_name_is_not_accepted() -> None:
    served, trusted = certificate("other.example")
    async with listening(served) as canary:
        named = f"shop.example:{canary.port}"
        guard = Guard(hosts=frozenset({named}), resolve=answering("127.0.0.1"))
        with pytest.raises(httpx2.NetworkError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(guard, f"https://{named}/", trusted)


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as canary, listening() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        named = f"127.0.0.1:{canary.port}"
        await get(Guard(hosts=frozenset({named})), f"http://{named}/")
        assert (canary.visits, proxy.visits) == (1, 0)


def packed(text: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    body = gzip.compress(text)
    return head % len(body) + body


async def test_a_packed_answer_is_unpacked() -> None:
    async with listening() as canary:
        canary.answer = packed(b"hello " * 1000)
        named = f"127.0.0.1:{canary.port}"
        answer = await get(Guard(hosts=frozenset({named})), f"http://{named}/")
        assert answer.text == "hello " * 1000


PLAIN = b"HTTP/1.1 200 OK\r\n"
TOO_MUCH = {
    "announced": PLAIN + b"Content-Length: 99999999999\r\n\r\nx",
    "sent": PLAIN + b"\r\n" + b"x" * (MAX_ANSWER + 1),
    "in pieces": PLAIN + b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"x" * 65536 + b"\r\n" * 1,
    "packed": packed(b"\0" * 50_000_000),
    "packed twice": PLAIN + b"Content-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(packed(b"\0" * 10**6)),
    "another packing": PLAIN + b"Content-Encoding: br\r\n\r\nxxxx",
    "not packed at all": PLAIN + b"Content-Encoding: gzip\r\n\r\nxxxx",
    "raw deflate": PLAIN + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(b"\0" * 10**7),
    "endless head": PLAIN + b"X: " + b"y" * 3_000_000,
}


@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_an_answer_that_is_too_much_is_cut_off(kind: str) -> None:
    async with listening() as canary:
        canary.answer = TOO_MUCH[kind] * (40 if kind == "in pieces" else 1)
        named = f"127.0.0.1:{canary.port}"
        with pytest.raises((NotAllowed, httpx2.NetworkError)):
            await get(Guard(hosts=frozenset({named})), f"http://{named}/")


@pytest.mark.parametrize("text", ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "2a00::1"])
def test_public_addresses_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", ["192.0.0.192", "fec0::1", "3fff::1", "192.88.99.1", "::127.0.0.1"])
def test_what_the_standard_library_gets_wrong_is_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("examples", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_what_is_public_here_is_global_everywhere(examples: int) -> None:
    @given(st.ip_addresses())
    @settings(max_examples=examples, deadline=None)
    @example(ip_address("::ffff:8.8.8.8"))
    def global_if_public(address: object) -> None:
        known = ip_address(str(address))
        assert not is_public(known) or known.is_global

    global_if_public()


@pytest.mark.parametrize("name", ["example.com", "a", "xn--bcher-kva.example", "my_host.local", "1a.de"])
def test_plain_names_are_plain(name: str) -> None:
    assert is_plain_name(name) and parsed(name) is None


@pytest.mark.parametrize("examples", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_any_text_is_an_address_or_refused(examples: int) -> None:
    @given(st.text(max_size=40))
    @settings(max_examples=examples, deadline=None)
    def refused_or_plain(text: str) -> None:
        try:
            url = address_of(f"http://{text}/")
            PUBLIC_ONLY.check(url)
        except NotAllowed:
            return
        host = url.raw_host.decode()
        assert parsed(host.strip("[]")) is not None or is_plain_name(host)

    refused_or_plain()
