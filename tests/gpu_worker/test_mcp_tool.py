"""MCP tools with a real server, over HTTP and as a program."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from gpu_worker.rollout import MAX_RESULT
from gpu_worker.tools import mcp as mcp_tools
from gpu_worker.tools import mcp_sessions
from gpu_worker.tools.guard import Guard
from gpu_worker.tools.mcp import list_mcp_tools, mcp_tool
from gpu_worker.tools.plans import PlanError
from gpu_worker.types import ToolError, ToolPlan, ToolSpec
from tests.gpu_worker.mcp_server import Heard, over_http
from tests.gpu_worker.outsides import outside
from tests.gpu_worker.service import says, service

PROGRAM = (sys.executable, "-m", "tests.gpu_worker.mcp_server")
KEY = "canary-0123456789"


@pytest.fixture
def there() -> Iterator[Heard]:
    with over_http() as heard:
        yield heard
        mcp_sessions.close()


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs that a busy machine may start slowly are ended."""
    monkeypatch.setattr(mcp_sessions, "OPENING", 60.0)
    yield
    mcp_sessions.close()


def plan(tool: str, **settings: Any) -> ToolPlan:
    return ToolPlan(ToolSpec(tool, "", {}), "mcp", {"tool": tool, **settings})


def guard(heard: Heard) -> Guard:
    return Guard(hosts=frozenset({f"127.0.0.1:{heard.port}"}))


def call(heard: Heard, tool: str, arguments: dict[str, Any], **settings: Any) -> str:
    made = mcp_tool(plan(tool, url=heard.url, **settings), outside({"KEY": KEY}), guard(heard))
    assert made.waits
    return made.call(arguments)


def test_the_tools_of_a_server_are_listed(there: Heard) -> None:
    specs = list_mcp_tools({"url": there.url}, outside(), guard(there))
    assert [spec.name for spec in specs][:2] == ["status", "fail"]
    assert specs[0].description == "Where an order is."
    assert specs[0].parameters["required"] == ["order"]


def test_a_tool_is_called_and_its_text_seen(there: Heard) -> None:
    assert call(there, "status", {"order": "A1"}) == "order A1: 已发货"
    assert call(there, "picture", {}) == "[image]"
    assert call(there, "several", {"count": 2}) == "line\nline"
    long = call(there, "several", {"count": 4000})
    assert len(long) < MAX_RESULT + 50 and long.endswith("more characters)")


def test_an_error_of_the_tool_is_an_error(there: Heard) -> None:
    with pytest.raises(ToolError, match="out of paper"):
        call(there, "fail", {"why": "out of paper"})
    with pytest.raises(ToolError, match="order"):
        call(there, "status", {})
    with pytest.raises(ToolError, match="nothing"):
        call(there, "nothing", {})


def test_calls_share_one_session(there: Heard) -> None:
    call(there, "status", {"order": "1"})
    before = len(there.methods)
    for at in range(5):
        call(there, "status", {"order": str(at)})
    assert there.methods[before:].count("POST") == 5


def test_secrets_are_sent_and_never_seen(there: Heard, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    headers = {"Authorization": "Bearer {{secret:KEY}}"}
    assert call(there, "status", {"order": KEY}, headers=headers) == "order …: 已发货"
    with pytest.raises(ToolError) as refusal:
        call(there, "fail", {"why": KEY}, headers=headers)
    assert "canary" not in str(refusal.value)
    written = "".join(record.getMessage() for record in caplog.records)
    assert "Bearer" not in written and "uthorization" not in written
    assert all(sent["authorization"] == f"Bearer {KEY}" for sent in there.headers)


def test_a_private_server_is_refused_unless_the_operator_names_it(there: Heard) -> None:
    made = mcp_tool(plan("status", url=there.url), outside())
    with pytest.raises(ToolError, match="not allowed"):
        made.call({"order": "1"})
    with pytest.raises(ToolError, match="not on the public internet"):
        list_mcp_tools({"url": "http://169.254.169.254/mcp"}, outside())
    assert there.methods == []


def test_a_redirect_to_another_place_is_not_followed() -> None:
    with service() as door, service() as canary:
        door.script = says("", 307, Location=f"{canary.url}/mcp")
        with pytest.raises(ToolError):
            list_mcp_tools({"url": f"{door.url}/mcp"}, outside(), door.guard(canary))
        assert door.asked and canary.asked == []


@pytest.mark.parametrize(
    "body", ["", "hello", "[1]", "x" * 3_000_000, json.dumps({"jsonrpc": "2.0", "id": 1})]
)
@pytest.mark.parametrize("status", [200, 202, 401, 500])
def test_a_server_that_speaks_something_else_is_an_error(body: str, status: int) -> None:
    with service() as there:
        there.script = says(json.loads(body) if body[:1] in ("[", "{") else body, status)
        began = time.monotonic()
        with pytest.raises(ToolError):
            list_mcp_tools({"url": there.url}, outside(), there.guard())
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(("piece", "pause"), [(b": drip\n", 0.02), (b":" + b"x" * 65535 + b"\n", 0.0)])
def test_a_stream_without_end_is_cut_off(piece: bytes, pause: float, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for _ in range(1500):
            await response.write(piece)
            await asyncio.sleep(pause)
        return response

    monkeypatch.setattr(mcp_sessions, "OPENING", 1.0)
    with service() as there:
        there.script = stream
        began = time.monotonic()
        with pytest.raises(ToolError):
            list_mcp_tools({"url": there.url}, outside(), there.guard())
        assert time.monotonic() - began < 20


@pytest.mark.usefixtures("ended")
def test_the_server_that_was_opened_first_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_sessions, "MAX_SESSIONS", 2)
    programs = {name: (*PROGRAM, name) for name in ("a", "b", "c")}
    running = [
        int(mcp_tool(plan("who", program=name), outside(programs=programs)).call({}).split(" ", 1)[0])
        for name in ("a", "b", "c")
    ]
    deadline = time.monotonic() + 60
    while is_alive(running[0]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [is_alive(process) for process in running] == [False, True, True]
    mcp_sessions.close()
    assert not any(map(is_alive, running))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_nobody_there_is_an_error() -> None:
    with service() as gone:
        pass
    began = time.monotonic()
    with pytest.raises(ToolError, match="could not be asked"):
        list_mcp_tools({"url": gone.url}, outside(), gone.guard())
    assert time.monotonic() - began < 20


def test_a_call_that_takes_too_long_is_given_up(there: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    call(there, "status", {"order": "1"})
    monkeypatch.setattr(mcp_tools, "DEADLINE", 0.3)
    began = time.monotonic()
    with pytest.raises(ToolError, match="no answer within"):
        call(there, "slow", {"seconds": 60})
    assert time.monotonic() - began < 30
    monkeypatch.undo()
    assert call(there, "status", {"order": "2"}) == "order 2: 已发货"


def test_a_server_that_was_started_anew_is_asked_anew() -> None:
    with over_http() as first:
        assert call(first, "status", {"order": "1"})
    with over_http(port=first.port) as second:
        assert call(second, "status", {"order": "2"}) == "order 2: 已发货"
        mcp_sessions.close()


# programs


@pytest.mark.usefixtures("ended")
def test_a_program_runs_only_as_the_operator_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTWEB_CANARY", KEY)
    allowed = outside(programs={"desk": PROGRAM})
    desk = mcp_tool(plan("who", program="desk", command="/bin/sh", args=["-c", "id"]), allowed)
    first, second = desk.call({}), desk.call({})
    assert first == second
    process, names = first.split(" ", 1)
    assert int(process) != os.getpid()
    assert "ARTWEB_CANARY" not in names
    with pytest.raises(ToolError, match="does not allow a program other"):
        mcp_tool(plan("who", program="other"), allowed).call({})


@pytest.mark.usefixtures("ended")
def test_a_program_that_died_is_started_again() -> None:
    allowed = outside(programs={"desk": PROGRAM})
    with pytest.raises(ToolError, match="could not be asked"):
        mcp_tool(plan("die", program="desk"), allowed).call({})
    assert mcp_tool(plan("status", program="desk"), allowed).call({"order": "1"}) == "order 1: 已发货"


@pytest.mark.usefixtures("ended")
def test_a_program_ends_with_its_session() -> None:
    desk = mcp_tool(plan("who", program="desk"), outside(programs={"desk": PROGRAM}))
    process = int(desk.call({}).split(" ", 1)[0])
    mcp_sessions.close()
    assert not is_alive(process)


@pytest.mark.parametrize("command", [("/no/such/program",), (sys.executable, "-c", "print('hello')")])
@pytest.mark.usefixtures("ended")
def test_a_program_that_is_no_server_is_an_error(command: tuple[str, ...]) -> None:
    with pytest.raises(ToolError):
        list_mcp_tools({"program": "desk"}, outside(programs={"desk": command}))


WRONG = {
    "no tool": {"tool": "", "url": "https://example.com/"},
    "no server": {},
    "two servers": {"url": "https://example.com/", "program": "desk"},
    "an address with a blank": {"url": "https://example.com/{id}"},
    "another protocol": {"url": "file:///etc/passwd"},
    "a user in the address": {"url": "https://me@example.com/"},
    "a header of the connection": {"url": "https://example.com/", "headers": {"Host": "evil"}},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_plan_that_cannot_work_is_refused(what: str) -> None:
    with pytest.raises(PlanError):
        mcp_tool(plan(**({"tool": "status"} | WRONG[what])), outside())
