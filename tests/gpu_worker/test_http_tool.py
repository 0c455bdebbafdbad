"""HTTP tools against a real server: what is sent, what is seen, what is refused, what is replayed."""

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.rollout import MAX_RESULT
from gpu_worker.tools import fetching, pace
from gpu_worker.tools.filling import Filling
from gpu_worker.tools.http import http_tool
from gpu_worker.tools.pace import Pace
from gpu_worker.tools.plans import PlanError
from gpu_worker.types import Tool, ToolError, ToolPlan, ToolSpec
from tests.gpu_worker.outsides import outside
from tests.gpu_worker.service import Service, says, service

KEY = "sk-canary/0123456789 abc"
SECRETS = {"API_KEY": KEY}
ARGUMENTS = ("id", "q", "count", "tags")


@pytest.fixture
def there() -> Iterator[Service]:
    with service() as running:
        yield running


def plan(url: str, **options: Any) -> ToolPlan:
    parameters = {"type": "object", "properties": {name: {} for name in ARGUMENTS}}
    return ToolPlan(ToolSpec("look_up", "", parameters), "http", {"url": url, **options})


def tool(there: Service, path: str = "/orders/{id}", **options: Any) -> Tool:
    return http_tool(plan(there.url + path, **options), outside(SECRETS), there.guard())


def test_the_agent_sees_the_answer(there: Service) -> None:
    live = tool(there)
    assert live.waits
    assert json.loads(live.call({"id": "A 1"})) == {"path": "/orders/A%201", "method": "GET"}


def test_what_to_keep_is_picked_from_the_answer(there: Service) -> None:
    there.script = says({"order": {"status": "已发货", "lines": [{"n": 1}, {"n": 2}]}})
    assert tool(there, keep="order.status").call({"id": "1"}) == "已发货"
    assert tool(there, keep="order.lines[].n").call({"id": "1"}) == "[1, 2]"
    assert tool(there, keep="nothing").call({"id": "1"}) == "null"
    with pytest.raises(ToolError, match="nothing can be picked"):
        tool(there, keep="length(order.lines[0].n)").call({"id": "1"})


def test_text_is_seen_as_it_is_and_not_without_end(there: Service) -> None:
    there.script = says("Bücher " * 4000)
    answer = tool(there).call({"id": "1"})
    assert answer.startswith("Bücher Bücher") and answer.endswith("more characters)")
    assert len(answer) < MAX_RESULT + 50
    with pytest.raises(ToolError, match="not JSON"):
        tool(there, keep="a").call({"id": "1"})


@pytest.mark.parametrize("body", ["[" * 100_000, "NaN", '{"a": Infinity}', "1" * 5000, '{"a":', ""])
def test_json_that_is_none_is_text(there: Service, body: str) -> None:
    there.script = says(body)
    assert tool(there).call({"id": "1"})[:100] == body[:100]


def test_arguments_fill_query_and_body(there: Service) -> None:
    given = {"id": 7, "q": 'a&b="c"', "tags": ["x", None], "count": 2.5}
    body = {"id": "{id}", "text": "no. {id}: {q}", "all": ["{tags}", "{count}", 1], "fixed": True}
    tool(there, "/o?q={q}&n={count}&fixed=1", method="POST", body=json.dumps(body)).call(given)
    (seen,) = there.asked
    assert parse_qs(urlsplit(seen.path).query) == {"q": ['a&b="c"'], "n": ["2.5"], "fixed": ["1"]}
    wanted = {"id": 7, "text": 'no. 7: a&b="c"', "all": [["x", None], 2.5, 1], "fixed": True}
    assert json.loads(seen.body) == wanted
    assert seen.headers["content-type"] == "application/json"


def test_what_was_not_given_is_left_out(there: Service) -> None:
    body = {"id": "{id}", "q": "{q}", "list": ["{q}"], "text": "<{q}>"}
    tool(there, "/o?q={q}&id={id}", method="PUT", body=body).call({"id": "1"})
    assert there.asked[0].path == "/o?id=1"
    assert json.loads(there.asked[0].body) == {"id": "1", "list": [], "text": "<>"}


def test_forms_and_texts(there: Service) -> None:
    tool(there, "/", method="POST", body_as="form", body="a={id}&b={q}").call({"id": "x&b=y", "q": "ü"})
    tool(there, "/", method="POST", body_as="text", body="Dear {id}").call({"id": "<you>"})
    assert parse_qs(there.asked[0].body) == {"a": ["x&b=y"], "b": ["ü"]}
    assert there.asked[1].body == "Dear <you>"


HOSTILE = (
    "..",
    ".",
    "../admin",
    "a/b",
    "a\\b",
    "",
    "x\r\nHost: evil",
    "\0",
    "a\u2028b",
)


@pytest.mark.parametrize("value", HOSTILE)
def test_an_argument_stays_in_its_segment(there: Service, value: str) -> None:
    with pytest.raises(ToolError, match="part of the address"):
        tool(there, "/orders/{id}/lines").call({"id": value})
    assert there.asked == []


@pytest.mark.parametrize("examples", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_no_argument_changes_host_or_path(examples: int) -> None:
    @given(st.text(max_size=30), st.text(max_size=30))
    @settings(max_examples=examples, deadline=None)
    def stays(value: str, query: str) -> None:
        filling = Filling({"id": value, "q": query}, lambda name: "")
        try:
            url = urlsplit(filling.url("https://api.example/a/{id}/b/x{id}?q={q}&end=1#gone"))
        except ToolError:
            return
        assert (url.scheme, url.netloc, url.fragment) == ("https", "api.example", "")
        assert [unquote(part) for part in url.path.split("/")] == ["", "a", value, "b", f"x{value}"]
        assert parse_qs(url.query, keep_blank_values=True) == {"q": [sendable(query)], "end": ["1"]}

    stays()


def sendable(text: str) -> str:
    """Half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def test_a_filled_in_value_is_never_a_template_again(there: Service) -> None:
    tool(there, "/?q={q}", method="POST", body={"q": "{q}"}).call({"q": "{{secret:API_KEY}}{id}"})
    assert KEY not in unquote(there.asked[0].path) + there.asked[0].body


def test_secrets_are_sent_and_never_seen(there: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    async def echo(request: web.Request) -> web.Response:
        heard = {"all": dict(request.headers), "path": request.raw_path, "body": await request.text()}
        text = json.dumps(heard).replace("/", "\\/")
        return web.json_response(text=text, status=400 if "fail" in request.path else 200)

    there.script = echo
    options: dict[str, Any] = {
        "headers": {"Authorization": "Bearer {{secret:API_KEY}}"},
        "method": "POST",
        "body": {"key": "{{secret:API_KEY}}"},
    }
    answer = tool(there, "/ok?key={{secret:API_KEY}}", **options).call({})
    with pytest.raises(ToolError, match="HTTP 400") as refusal:
        tool(there, "/fail?key={{secret:API_KEY}}", **options).call({})
    assert there.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(there.asked[0].body) == {"key": KEY}
    for text in (answer, str(refusal.value)):
        assert "canary" not in text and "…" in text
    written = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]
    assert "canary" not in "".join(written)


def test_a_missing_secret_is_an_error_and_nothing_is_sent(there: Service) -> None:
    with pytest.raises(ToolError, match="there is no secret OTHER"):
        tool(there, headers={"X": "{{secret:OTHER}}"}).call({"id": "1"})
    assert there.asked == []


def test_an_error_answer_is_told_in_short(there: Service) -> None:
    there.script = says("no such\n order" + "!" * 1000, 404)
    with pytest.raises(ToolError, match=r"^HTTP 404 Not Found: no such order!+… \(\d+ more characters\)$"):
        tool(there).call({"id": "1"})


def test_what_is_not_text_is_not_shown(there: Service) -> None:
    async def picture(request: web.Request) -> web.Response:
        return web.Response(body=b"\x89PNG\0\0", content_type="image/png")

    there.script = picture
    with pytest.raises(ToolError, match=r"not text \(image/png\)"):
        tool(there).call({"id": "1"})


def test_private_addresses_are_refused_by_default(there: Service) -> None:
    with pytest.raises(ToolError, match="Port .* is not allowed"):
        http_tool(plan(there.url + "/"), outside()).call({})
    with pytest.raises(ToolError, match="not on the public internet"):
        http_tool(plan("http://169.254.169.254/"), outside()).call({})
    assert there.asked == []


def test_nobody_listening_is_an_error() -> None:
    with service() as gone:
        pass
    with pytest.raises(ToolError, match="the connection failed"):
        tool(gone).call({"id": "1"})


# redirects


def redirecting(to: str, status: int = 302) -> Any:
    async def answer(request: web.Request) -> web.Response:
        here = request.path.startswith("/orders")
        headers = {"Location": to} if here else {}
        return web.Response(status=status if here else 200, text="there", headers=headers)

    return answer


def test_a_redirect_within_the_host_is_followed_with_its_headers(there: Service) -> None:
    there.script = redirecting("/moved?x=1")
    answer = tool(there, headers={"X-Key": "{{secret:API_KEY}}"}).call({"id": "1"})
    assert answer == "there"
    assert [seen.headers["x-key"] for seen in there.asked] == [KEY, KEY]


def test_a_redirect_to_another_host_loses_its_headers(there: Service) -> None:
    with service() as other:
        there.script, other.script = redirecting(f"{other.url}/caught"), says("caught")
        headers = {"Authorization": "Bearer {{secret:API_KEY}}", "X-Key": "{{secret:API_KEY}}", "Cookie": "a"}
        call = http_tool(
            plan(f"{there.url}/orders", headers=headers), outside(SECRETS), there.guard(other)
        ).call
        assert call({}) == "caught"
        assert KEY in there.asked[0].headers["authorization"]
        assert not {"authorization", "x-key", "cookie"} & set(other.asked[0].headers)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_private_host_is_refused(there: Service, status: int) -> None:
    with service() as canary:
        for to in (
            f"{canary.url}/",
            f"//127.0.0.1:{canary.port}/",
            f"http://localhost:{canary.port}/",
            f"http://0x7f.1:{canary.port}/",
            f"http://a@127.0.0.1:{canary.port}/",
            f"http:/\\127.0.0.1:{canary.port}/",
            "file:///etc/passwd",
            "http://169.254.169.254/",
        ):
            there.script = redirecting(to, status)
            with pytest.raises(ToolError):
                tool(there).call({"id": "1"})
        assert canary.asked == []


def test_what_was_sent_does_not_follow_to_another_host(there: Service) -> None:
    with service() as other:
        there.script = redirecting(f"{other.url}/", 307)
        body = plan(f"{there.url}/orders", method="POST", body={"key": "{{secret:API_KEY}}"})
        with pytest.raises(ToolError, match="redirects what was sent"):
            http_tool(body, outside(SECRETS), there.guard(other)).call({})
        assert other.asked == []


def test_redirects_end(there: Service) -> None:
    there.script = redirecting("/orders/again")
    with pytest.raises(ToolError, match="more than 3 times"):
        tool(there).call({"id": "1"})
    assert len(there.asked) == 4


# limits


def test_a_server_that_drips_is_cut_off(there: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(3000):
            await response.write(b"x")
            await asyncio.sleep(0.02)
        return response

    there.script = drip
    monkeypatch.setattr(fetching.fetch, "__defaults__", (0.3,))
    began = time.monotonic()
    with pytest.raises(ToolError, match="no answer within"):
        tool(there).call({"id": "1"})
    assert time.monotonic() - began < 30


def test_a_server_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching.fetch, "__defaults__", (0.3,))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        there = Service(port=silent.getsockname()[1])
        with pytest.raises(ToolError, match="no answer within"):
            tool(there).call({"id": "1"})


def test_a_bomb_is_refused(there: Service) -> None:
    async def bomb(request: web.Request) -> web.Response:
        body = gzip.compress(b"0" * 50_000_000)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    there.script = bomb
    with pytest.raises(ToolError, match="longer than 2 MiB"):
        tool(there).call({"id": "1"})


def test_cookies_of_one_call_are_not_sent_with_the_next(there: Service) -> None:
    there.script = says("hi", Set_Cookie="session=1; Path=/")
    again = tool(there)
    again.call({"id": "1"})
    again.call({"id": "2"})
    assert all("cookie" not in seen.headers for seen in there.asked)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_calls_wait_for_their_turn_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    quick, begun = Pace(3, period=1.0, patience=1.5), []
    for _ in range(7):
        quick.wait()
        begun.append(clock.now - 100.0)
    assert begun == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0]
    slow = Pace(1, period=10.0, patience=0.3)
    slow.wait()
    with pytest.raises(ToolError, match="rate limit"):
        slow.wait()


# replay

RECORDED = [
    {"arguments": {"id": "1", "count": 2}, "result": "two"},
    {"arguments": {"id": "2"}, "error": "HTTP 404 Not Found"},
]


def test_a_replayed_tool_answers_what_was_recorded(there: Service) -> None:
    replay = tool(there, mode="replay", recorded=RECORDED)
    assert not replay.waits
    assert replay.call({"count": 2.0, "id": "1"}) == "two"
    with pytest.raises(ToolError, match="HTTP 404"):
        replay.call({"id": "2"})
    with pytest.raises(ToolError, match="no recorded answer to these arguments"):
        replay.call({"id": "3"})
    assert there.asked == []


# plans

WRONG = {
    "the host is fixed": {"url": "https://{id}.example/"},
    "no host": {"url": "/orders"},
    "another protocol": {"url": "ftp://example.com/"},
    "a user in the address": {"url": "https://me:word@example.com/"},
    "a host to be read in two ways": {"url": "https://example.com\\@evil.example/"},
    "an unknown argument": {"url": "https://example.com/{nothing}"},
    "an unknown method": {"url": "https://example.com/", "method": "TRACE"},
    "a header of the connection": {"url": "https://example.com/", "headers": {"Host": "evil"}},
    "a header in two lines": {"url": "https://example.com/", "headers": {"X": "a\r\nY: b"}},
    "a header with an argument": {"url": "https://example.com/", "headers": {"X": "{id}"}},
    "a body that is no JSON": {"url": "https://example.com/", "body": '{"a": {id}}'},
    "a form that is no text": {"url": "https://example.com/", "body": {"a": 1}, "body_as": "form"},
    "an unknown body": {"url": "https://example.com/", "body_as": "xml"},
    "a wrong expression": {"url": "https://example.com/", "keep": "a["},
    "an unknown mode": {"url": "https://example.com/", "mode": "sometimes"},
    "a rate that is none": {"url": "https://example.com/", "per_minute": 0},
    "a call without arguments": {"url": "https://example.com/", "mode": "replay", "recorded": [{}]},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_plan_that_cannot_work_is_refused(what: str) -> None:
    with pytest.raises(PlanError):
        http_tool(plan(**WRONG[what]), outside())
