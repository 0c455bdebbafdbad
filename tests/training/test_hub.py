"""The live stream: frames in order, drawn once, for those who may see them, with or without Redis."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from channels import consumer
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import Settings
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client

from artweb.asgi import application
from tests import stories
from training.models import Event, Run
from training.runs import events, frames, hub, queries
from training.runs.consumers import WIRE
from training.runs.frames import Place
from training.runs.prepared import Prepared

pytestmark = pytest.mark.django_db(transaction=True)
MakeRun = Callable[..., Run]
PATIENCE = 30.0
"""Seconds a busy machine may take."""


class Socket(WebsocketCommunicator):
    """A browser's end, which is not given up after a second."""

    async def connect(self, timeout: float = PATIENCE) -> tuple[bool, int | str | None]:
        return await super().connect(timeout)

    async def receive_output(self, timeout: float = PATIENCE) -> dict[str, Any]:
        return await super().receive_output(timeout)

    async def receive_from(self, timeout: float = PATIENCE) -> str:
        return await super().receive_from(timeout)

    async def disconnect(self, code: int = 1000, timeout: float = PATIENCE) -> None:
        await super().disconnect(code, timeout)


Open = Callable[..., Socket]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "CLOCK", 0.1)
    monkeypatch.setattr(hub, "SPACING", 0.02)
    monkeypatch.setattr(hub, "CHECK_EVERY", 0.2)


@pytest.fixture
def cookie(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}"


@pytest.fixture
def open_socket(run: Run, cookie: str) -> Iterator[Open]:
    def make(
        run_id: int = run.pk, cookie: str = cookie, origin: str = "http://localhost", language: str = "en"
    ) -> Socket:
        headers = [(b"origin", origin.encode()), (b"host", b"localhost"), (b"cookie", cookie.encode())]
        return Socket(application, f"/ws/runs/{run_id}/?language={language}", headers)

    yield make


async def say(run: Run, *texts: str) -> None:
    def write() -> None:
        for text in texts:
            key = f"log:{Event.objects.filter(run=run).count()}"
            events.append(run.pk, "log", key, {"level": "info", "text": text})

    await database_sync_to_async(write)()


async def frame(socket: Socket) -> dict[str, object]:
    found: dict[str, object] = json.loads(await socket.receive_from())
    await socket.send_to(json.dumps({"drawn": 1}))
    return found


def seqs(*received: dict[str, object]) -> list[int]:
    return [int(seq) for one in received for seq in re.findall(r'data-seq="(\d+)"', str(one["content"]))]


@pytest.fixture
async def socket(open_socket: Open) -> AsyncIterator[Socket]:
    found = open_socket()
    assert (await found.connect())[0]
    yield found
    await found.disconnect()


async def test_a_reconnecting_browser_resumes_after_its_seq(socket: Socket, run: Run) -> None:
    await say(run, "one", "two", "three")
    await socket.send_to('{"seen": 1}')
    first = await frame(socket)
    assert (first["first"], first["last"], seqs(first)) == (1, 3, [2, 3])
    await say(run, "four")
    second = await frame(socket)
    assert (second["first"], second["last"], seqs(second)) == (3, 4, [4])


async def test_nothing_is_sent_before_a_browser_says_where_it_is(socket: Socket, run: Run) -> None:
    await say(run, "one")
    assert await socket.receive_nothing(timeout=0.5)


async def test_equal_browsers_get_the_same_bytes_drawn_once(
    open_socket: Open, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    draw = frames.frame_from

    def watched(run: Run, place: Place, *, progress: bool) -> frames.Frame | None:
        found = draw(run, place, progress=progress)
        if found:
            drawn.append(place)
        return found

    monkeypatch.setattr(frames, "frame_from", watched)
    sockets = [open_socket(), open_socket(), open_socket(language="zh-hans")]
    for one in sockets:
        await one.connect()
        await one.send_to('{"seen": 0}')
    texts = [await one.receive_from() for one in sockets]
    assert texts[0] == texts[1] != texts[2]
    drawn.clear()
    await say(run, "hello")
    texts = [await one.receive_from() for one in sockets]
    assert texts[0] == texts[1]
    assert len([place for place in drawn if place.seq == 0 and place.language == "en"]) <= 2
    for one in sockets:
        await one.disconnect()
    assert hub._hubs == {}


async def test_the_head_is_drawn_again_when_the_row_changed(socket: Socket, run: Run) -> None:
    await socket.send_to('{"seen": 0}')
    assert "Queued" in str((await frame(socket))["content"])
    changed = Run.objects.filter(pk=run.pk)
    await database_sync_to_async(changed.update)(
        state="training", progress={"what": "rollouts", "done": 5, "total": 24}
    )
    told = await frame(socket)
    assert told["first"] == told["last"] == 0
    assert "Tries played 5 / 24" in str(told["content"]) and "Training · order-desk-1" in str(told["content"])
    assert await socket.receive_nothing(timeout=0.4)


def test_progress_alone_is_left_for_later(run: Run) -> None:
    shown = frames.frame_from(run, Place(0, None, "en"), progress=False)
    assert shown is not None and "#run-head" in shown.text
    run.progress = {"what": "rollouts", "done": 5, "total": 24}
    assert frames.frame_from(run, shown.place, progress=False) is None
    assert frames.frame_from(run, shown.place, progress=True) is not None
    events.append(run.pk, "log", "log:1", {"level": "info", "text": "hello"})
    run.refresh_from_db()
    run.progress = {"what": "rollouts", "done": 6, "total": 24}
    line = frames.frame_from(run, shown.place, progress=False)
    assert line is not None and "hello" in line.text and "#run-head" not in line.text
    run.state = Run.State.TRAINING
    told = frames.frame_from(run, line.place, progress=False)
    assert told is not None and "#run-head" in told.text


async def test_progress_that_was_left_is_shown_when_its_time_has_come(
    socket: Socket, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "PROGRESS_EVERY", 0.5)
    changed = Run.objects.filter(pk=run.pk)
    await socket.send_to('{"seen": 0}')
    await frame(socket)
    heads, began = [], time.monotonic()
    for done in range(1, 9):
        told = {"what": "rollouts", "done": done, "total": 24}
        await database_sync_to_async(changed.update)(state="training", progress=told)
        await asyncio.sleep(0.1)
    while f"Tries played {done} / 24" not in "".join(heads):
        heads.append(str((await frame(socket))["content"]))
    assert len(heads) < 3 + (time.monotonic() - began) / hub.PROGRESS_EVERY


def test_the_more_a_push_held_the_later_the_next_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "SPACING", 0.03)
    assert [hub.spacing(sent) for sent in (0, 1, 2, 4, 400)] == [0.03, 0.03, 0.06, 0.12, hub.LONGEST_SPACING]


async def test_what_browsers_say_asks_no_thread(
    socket: Socket, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        raise AssertionError("a thread was asked")

    with monkeypatch.context() as watched:
        watched.setattr(consumer, "aclose_old_connections", asked)
        await socket.send_to('{"seen": 0}')
        assert "Queued" in str((await frame(socket))["content"])


def test_a_browser_says_how_many_frames_it_has_drawn() -> None:
    async def nothing(*told: object) -> None: ...

    viewer = hub.Viewer(user=1, session="", language="en", send=nothing, close=nothing)
    viewer.is_at(0)
    viewer.on_their_way = hub.WINDOW
    assert not viewer.ready
    viewer.has_drawn(3)
    assert viewer.ready and viewer.on_their_way == hub.WINDOW - 3
    viewer.has_drawn(2**50)
    assert viewer.on_their_way == 0


def test_a_prepared_query_answers_as_the_one_it_was_made_of(make_run: MakeRun) -> None:
    runs = [stories.tell(make_run(name=name), stories.training(2, 2, 2)) for name in ("one", "two")]
    news = Prepared(Event.objects.filter(run_id=0, seq__gt=0).order_by("seq")[:5])
    for run in runs:
        for seq in (0, 3, run.last_seq):
            found = news(run.pk, seq)
            asked = events.after(run.pk, seq, limit=5)
            assert [vars(row).keys() for row in found] == [vars(row).keys() for row in asked]
            assert [(row.pk, row.payload, row.created_at) for row in found] == [
                (row.pk, row.payload, row.created_at) for row in asked
            ]


async def test_far_behind_gets_whole_lists(socket: Socket, run: Run) -> None:
    await say(run, *map(str, range(frames.FAR_BEHIND + 20)))
    await socket.send_to('{"seen": 3}')
    told = await frame(socket)
    assert told["last"] == frames.FAR_BEHIND + 20
    assert seqs(told) == list(range(21, frames.FAR_BEHIND + 21))
    assert 'hx-target="#log-lines" hx-swap="innerHTML"' in str(told["content"])


async def test_a_browser_that_does_not_draw_is_waited_for_and_then_closed(
    socket: Socket, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "PATIENCE", 2)
    monkeypatch.setattr(hub, "WINDOW", 4)
    monkeypatch.setattr(hub, "SAYS_EVERY", 2)
    await socket.send_to('{"seen": 0}')
    received = 0
    closed = None
    while closed is None:
        await say(run, "more")
        await asyncio.sleep(0.05)
        while not await socket.receive_nothing(timeout=0.001):
            message = await socket.receive_output()
            received += message["type"] == "websocket.send"
            closed = message.get("code", closed)
    assert hub.SAYS_EVERY <= received <= hub.WINDOW
    assert closed == hub.TOO_SLOW


@pytest.mark.parametrize("text", ["[]", "{}", '{"seen": -1}', '{"seen": "1"}', '{"seen": true}', "x" * 300])
async def test_nonsense_closes_the_socket(open_socket: Open, text: str) -> None:
    socket = open_socket()
    await socket.connect()
    await socket.send_to(text)
    assert (await socket.receive_output())["type"] == "websocket.close"
    assert hub._hubs == {}


async def test_signing_out_closes_the_socket(socket: Socket, cookie: str) -> None:
    await socket.send_to('{"seen": 0}')
    await frame(socket)
    client = Client()
    client.cookies["sessionid"] = cookie.split("=")[1]
    await database_sync_to_async(client.post)("/sign-out/")
    closed = await socket.receive_output()
    assert (closed["type"], closed["code"]) == ("websocket.close", hub.SIGNED_OUT)


async def test_strangers_are_refused_before_the_socket_opens(
    open_socket: Open, run: Run, other_user: User, settings: Settings
) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

    def sign_in_bob() -> str:
        client = Client()
        client.force_login(other_user)
        return f"sessionid={client.cookies['sessionid'].value}"

    bob = await database_sync_to_async(sign_in_bob)()
    for denied in (
        open_socket(cookie=bob),
        open_socket(cookie=""),
        open_socket(run_id=run.pk + 999),
        open_socket(origin="http://evil.example"),
        open_socket(origin="http://localhost:9999"),
        open_socket(origin=""),
        Socket(application, "/ws/nowhere/", [(b"origin", b"http://localhost")]),
    ):
        assert (await denied.connect())[0] is False
    assert hub._hubs == {}


async def test_a_user_may_open_twenty_sockets(open_socket: Open) -> None:
    sockets = [open_socket() for _ in range(hub.SOCKETS_PER_USER)]
    for one in sockets:
        assert (await one.connect())[0]
    assert (await open_socket().connect())[0] is False
    for one in sockets:
        await one.disconnect()


@pytest.mark.parametrize("size", [5, 125, 126, 65_535, 65_536])
def test_a_frame_is_put_on_the_wire_as_the_standard_says(size: int) -> None:
    """RFC 6455, 5.2: one final text frame, unmasked, its length in 7, 16 or 64 bits."""
    text = "评" + "x" * (size - 3)
    head, payload = protocol_frame(frames.Frame(text, Place(1, None, "en")).wire)
    assert payload.decode() == text
    assert head == (0x81, size)


def protocol_frame(wire: bytes) -> tuple[tuple[int, int], bytes]:
    length, start = wire[1], 2
    if length >= 126:
        width = 2 if length == 126 else 8
        length, start = int.from_bytes(wire[2 : 2 + width], "big"), 2 + width
    return (wire[0], length), wire[start:]


async def test_a_server_that_takes_bytes_is_given_the_same_ones_for_everybody(
    run: Run, cookie: str, open_socket: Open
) -> None:
    taken: list[bytes] = []
    sockets = [open_socket(), open_socket()]

    async def until_taken(frames: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(taken) < frames:
                await asyncio.sleep(0.02)

    for count, one in enumerate(sockets, 1):
        one.scope["extensions"] = {WIRE: taken.append}
        await one.connect()
        await one.send_to('{"seen": 0}')
        await until_taken(count)
        assert await one.receive_nothing(timeout=0.1)
    told = [json.loads(protocol_frame(wire)[1]) for wire in taken]
    assert [(one["first"], one["last"]) for one in told] == [(0, 0), (0, 0)]
    await say(run, "hello")
    await until_taken(4)
    assert taken[2] is taken[3]
    for one in sockets:
        await one.disconnect()


async def test_a_mistake_of_ours_lets_browsers_come_back(
    open_socket: Open, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(run: Run, place: Place, *, progress: bool) -> None:
        raise KeyError("a mistake")

    socket = open_socket()
    await socket.connect()
    with monkeypatch.context() as mistaken:
        mistaken.setattr(frames, "frame_from", broken)
        await socket.send_to('{"seen": 0}')
        closed = await socket.receive_output()
    assert (closed["type"], closed["code"]) == ("websocket.close", hub.BROKEN)
    again = open_socket()
    await again.connect()
    await again.send_to('{"seen": 0}')
    assert "Queued" in str((await frame(again))["content"])
    await again.disconnect()


async def test_a_locked_database_is_tried_again(
    socket: Socket, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, locked = frames.frame_from, [True, True]

    def sometimes(run: Run, place: Place, *, progress: bool) -> frames.Frame | None:
        if locked:
            locked.pop()
            raise OperationalError("database is locked")
        return draw(run, place, progress=progress)

    monkeypatch.setattr(frames, "frame_from", sometimes)
    await socket.send_to('{"seen": 0}')
    assert "Queued" in str((await frame(socket))["content"])


def test_frames_add_up_to_the_page(make_run: MakeRun) -> None:
    """Whatever places a browser was at, what it was sent is what a fresh page shows."""
    run = stories.tell(make_run(steps=4), stories.training(4, 3, 6), end=Run.State.DONE)
    whole = queries.whole_page(run)
    for cut in ([], [1], [7, 8, 9], list(range(0, run.last_seq, 5))):
        edges = [0, *cut, run.last_seq]
        parts = [
            queries.fold([e for e in events.after(run.pk, first) if e.seq <= last], first)
            for first, last in zip(edges, edges[1:], strict=False)
        ]
        assert [line for part in parts for line in part.lines] == whole.lines
        assert [card for part in parts for card in part.cards] == whole.cards
        assert [row for part in parts for row in part.curve] == whole.curve
        for label, tiles in whole.tiles.items():
            assert [tile for part in parts for tile in part.tiles[label]] == tiles


def test_a_frame_holds_nothing_personal(make_run: MakeRun, user: User) -> None:
    run = stories.tell(make_run(), stories.training(3, 3, 6), end=Run.State.DONE)
    for language in ("en", "zh-hans"):
        told = frames.frame_from(run, Place(0, None, language))
        assert told is not None
        assert not re.search(rf"\b{user.username}\b", told.text)
        assert not re.search(r"csrf|<style|\sstyle=|\son\w+=|<script|<form", told.text)


def test_a_frame_for_nothing_new_is_none(run: Run) -> None:
    place = Place(0, None, "en")
    first = frames.frame_from(run, place)
    assert first is not None
    assert frames.frame_from(run, first.place) is None
