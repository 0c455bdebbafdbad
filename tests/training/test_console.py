"""The console: a call by hand sees what the agent would see, and is allowed what saving is allowed."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from gpu_worker import rollout
from gpu_worker.tools import mcp_sessions
from gpu_worker.types import Tool as Callee
from gpu_worker.types import ToolError, ToolSpec
from tests.gpu_worker.mcp_server import over_http
from tests.training.test_tools_page import form_of
from training.authoring.office import desk, errands, tasks
from training.authoring.toolbox import calls, console, tool_forms, tool_saving, tools
from training.models import Agent, Errand, Tool, ToolCall

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPTS = {"HX-Request": "true"}
ORDERS = "order no;customer;price\nA1;Ann;12,50\nA2;Bo;3,99\nA3;Ann;7,00\n"


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def agent(user: User) -> Agent:
    return Agent.objects.create(owner=user, name="Stock desk", environment="authored")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk works the moment it is told, in this thread."""
    monkeypatch.setattr(tasks, "send", desk.work)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is at the desk, and no page waits for it."""
    monkeypatch.setattr(tasks, "send", lambda errand_id: None)
    monkeypatch.setattr(calls, "WAIT", 0)


@pytest.fixture
def stock(agent: Agent) -> Tool:
    """A simulated tool with one example."""
    tool = tool_saving.add(agent, tool_forms.simulated(agent, "stock_level"))
    examples = [{"arguments": {"question": "A-1"}, "result": "12 pieces"}]
    return set_up(tool, examples=examples)


def set_up(tool: Tool, **changes: Any) -> Tool:
    """The tool saved with these settings instead."""
    draft = tools.draft_of(tool)
    tool_saving.save(tool, replace(draft, settings={**draft.settings, **changes}))
    return Tool.objects.get(pk=tool.pk)


@pytest.fixture
def server(settings: Any) -> Iterator[str]:
    """A web service that counts its answers; the operator allows it."""
    answers = iter(range(1, 1000))

    class Counting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"path": self.path, "answer": next(answers)}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    listening = HTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{listening.server_port}"
    settings.TOOL_HOSTS = [place]
    yield f"http://{place}"
    listening.shutdown()
    listening.server_close()


def called(client: Client, tool: Tool, status: int = 200, **typed: str) -> str:
    answer = client.post(f"/tools/{tool.pk}/call/", typed, headers=SCRIPTS)
    assert answer.status_code == status, answer.content.decode()
    tool.refresh_from_db()
    return answer.content.decode()


def question(text: str) -> dict[str, str]:
    return {"argument-question": text}


def test_a_call_shows_latency_the_exact_call_and_what_the_agent_sees(ann: Client, stock: Tool) -> None:
    page = called(ann, stock, **question("A-1"))
    call = ToolCall.objects.get()
    assert (call.result, call.ok, call.fault) == ("12 pieces", True, "")
    assert ">12 pieces</pre>" in page and re.search(r"\d m?s</span>", page)
    assert "&quot;name&quot;: &quot;stock_level&quot;" in page and "tested since last edit" in page
    assert tools.tested(stock)


def test_an_edit_while_a_call_is_under_way_leaves_the_tool_untested(
    ann: Client, stock: Tool, away: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = called(ann, stock, **question("A-1"))
    errand = Errand.objects.get()
    assert f"errand-{errand.pk}" in page and "Waiting for its turn" in page and "every 700ms" in page
    taken = errands.take(errand.pk)
    assert taken is not None

    answered = console.answered

    def edited_meanwhile(tool: Callee, arguments: dict[str, Any]) -> console.Answer:
        set_up(stock, otherwise="?")
        return answered(tool, arguments)

    monkeypatch.setattr(console, "answered", edited_meanwhile)
    errands.carry_out(taken, console.call_tool)
    stock.refresh_from_db()
    assert stock.tested_at is not None and not tools.tested(stock)
    page = ann.get(f"/tools/{stock.pk}/calls/", headers=SCRIPTS).content.decode()
    assert ">12 pieces</pre>" in page and "every 700ms" not in page


def test_what_is_shown_is_what_a_try_records() -> None:
    def refuse(arguments: dict[str, Any]) -> str:
        raise ToolError("no such column")

    spec = ToolSpec("t", "", {})
    for call in (lambda _: "x" * 5000, refuse, lambda _: "", lambda _: "line\nline"):
        tool = Callee(spec, call)
        tried = asyncio.run(rollout._answered(tool, {}))
        assert console.answered(tool, {}).text == rollout.bounded(tried, rollout.MAX_RESULT)


@pytest.mark.parametrize(("fault", "sees"), [("timeout", "Error: "), ("error", "Error: "), ("empty", "")])
def test_faults_can_be_tried_and_count_as_no_test(ann: Client, stock: Tool, fault: str, sees: str) -> None:
    page = called(ann, stock, fault=fault, **question("A-1"))
    call = ToolCall.objects.get()
    assert call.fault == fault and call.result.startswith(sees) and call.result != "12 pieces"
    assert "fault on purpose" in page and not tools.tested(stock)
    called(ann, stock, status=422, fault="explosion", **question("A-1"))


def test_wrong_arguments_are_named_and_nothing_is_called(ann: Client, stock: Tool) -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    Tool.objects.filter(pk=stock.pk).update(parameters=parameters)
    assert "“n” is required." in called(ann, stock, status=422)
    assert "“n” must be a whole number." in called(ann, stock, status=422, **{"argument-n": "many"})
    assert not Errand.objects.exists()


# The same permission as saving


def test_a_call_saves_the_form_first_and_calls_what_was_saved(ann: Client, stock: Tool) -> None:
    typed = form_of(stock) | {"example-0-result": "13 pieces"} | question("A-1")
    page = called(ann, stock, **typed)
    assert ToolCall.objects.get().result == "13 pieces"
    assert stock.settings["examples"][0]["result"] == "13 pieces"
    assert tools.mark_of(stock) in page


REFUSED: list[tuple[str, Callable[[Tool], dict[str, Any]]]] = [
    ("name", lambda tool: {"name": "Not A Name"}),
    ("parameters", lambda tool: {"parameters": {"type": "array"}}),
    ("kind of settings", lambda tool: {"settings": {"examples": [{"arguments": {}, "result": "x"}] * 2}}),
    ("address", lambda tool: {"kind": "http", "settings": {"url": "file:///etc/passwd", "mode": "live"}}),
    ("moving host", lambda tool: {"kind": "http", "settings": {"url": "http://{question}/", "mode": "live"}}),
    ("code", lambda tool: {"kind": "python", "settings": {"code": "def f(:"}}),
    ("command", lambda tool: {"kind": "mcp", "settings": {"tool": "x", "command": ["sh"]}}),
    (
        "both sources",
        lambda tool: {"kind": "mcp", "settings": {"tool": "x", "program": "a", "url": "https://b"}},
    ),
    ("shares", lambda tool: {"faults": {"error": 5.0}}),
    ("removed", lambda tool: {"deleted_at": tool.edited_at}),
]


@pytest.mark.parametrize(("what", "columns"), REFUSED, ids=[what for what, _ in REFUSED])
def test_what_could_not_be_saved_is_never_called(
    ann: Client, stock: Tool, what: str, columns: Callable[[Tool], dict[str, Any]]
) -> None:
    """However such a row came to be: the page asks for nothing, and the desk does nothing."""
    sent = {"tool": stock.pk, "arguments": {"question": "A-1"}, "fault": "", "live": True}
    Tool.objects.filter(pk=stock.pk).update(**columns(stock))
    called(ann, stock, status=422, **question("A-1"))
    answer = ann.post(f"/tools/{stock.pk}/tests/", headers=SCRIPTS)
    assert answer.status_code == 422 and not Errand.objects.exists()
    errand = errands.start(owner=stock.agent.owner, kind="call_tool", agent=stock.agent, **sent)
    errand.refresh_from_db()
    assert errand.state == "failed" and not ToolCall.objects.exists()


@pytest.mark.parametrize("typed", [{"name": "Not A Name"}, {"parameters": "{"}, {"fault-error": "99"}])
def test_a_form_that_cannot_be_saved_is_not_called(ann: Client, stock: Tool, typed: dict[str, str]) -> None:
    page = called(ann, stock, status=422, **(form_of(stock) | typed | question("A-1")))
    assert "Not called" in page and "Not saved yet" in page
    assert not Errand.objects.exists()


def test_the_desk_calls_nobody_elses_tool(stock: Tool, other_user: User) -> None:
    theirs = Agent.objects.create(owner=other_user, name="Theirs", environment="authored")
    sent = {"tool": stock.pk, "arguments": {}, "fault": "", "live": False}
    errand = errands.start(owner=other_user, kind="call_tool", agent=theirs, **sent)
    errand.refresh_from_db()
    assert errand.state == "failed" and not ToolCall.objects.exists()


def test_a_program_that_left_the_operators_file_is_not_started(
    ann: Client, agent: Agent, settings: Any, tmp_path: Any
) -> None:
    settings.MCP_PROGRAMS = tmp_path / "mcp-servers.json"
    touched = tmp_path / "touched"
    allowed = {"mcpServers": {"files": {"command": "/usr/bin/touch", "args": [str(touched)]}}}
    spec = ToolSpec("read", "Reads.", {"type": "object", "properties": {}})
    tool = tool_saving.add(agent, tool_forms.mcp(agent, {"program": "files"}, spec))
    settings.MCP_PROGRAMS.write_text('{"mcpServers": {}}')
    called(ann, tool)
    assert not touched.exists() and "allows no MCP program" in ToolCall.objects.get().result
    settings.MCP_PROGRAMS.write_text(json.dumps(allowed))
    called(ann, tool)
    assert touched.exists(), "the operator's own command is started, and nothing else"


# Keeping calls


def test_the_last_ten_calls_stay_and_those_that_were_kept(ann: Client, stock: Tool) -> None:
    called(ann, stock, **question("A-1"))
    first = ToolCall.objects.get()
    ann.post(f"/calls/{first.pk}/keep/", {"as": "test"}, headers=SCRIPTS)
    for number in range(12):
        called(ann, stock, **question(f"B-{number}"))
    kept = list(ToolCall.objects.values_list("arguments__question", flat=True))
    assert len(kept) == 11 and kept[0] == "B-11" and kept[-1] == "A-1"


def test_a_call_becomes_an_example_and_stays_tested(ann: Client, stock: Tool) -> None:
    called(ann, stock, **question("new"))
    call = ToolCall.objects.get()
    page = ann.post(f"/calls/{call.pk}/keep/", {"as": "example"}, headers=SCRIPTS).content.decode()
    stock.refresh_from_db()
    assert stock.settings["examples"][-1] == {"arguments": {"question": "new"}, "result": "not found"}
    assert tools.tested(stock) and 'id="example-list"' in page and tools.mark_of(stock) in page


def test_tests_are_run_again_and_show_what_changed(ann: Client, stock: Tool) -> None:
    for asked in ("A-1", "unknown"):
        called(ann, stock, **question(asked))
    for call in ToolCall.objects.all():
        ann.post(f"/calls/{call.pk}/keep/", {"as": "test"}, headers=SCRIPTS)
    page = ann.post(f"/tools/{stock.pk}/tests/", headers=SCRIPTS).content.decode()
    assert page.count("same answer") == 2 and "another answer" not in page
    called(ann, stock, **(form_of(stock) | {"example-0-result": "11 pieces"} | question("A-1")))
    page = ann.post(f"/tools/{stock.pk}/tests/", headers=SCRIPTS).content.decode()
    assert page.count("same answer") == 1 and page.count("another answer") == 1 and "11 pieces" in page


def test_a_fault_is_kept_as_nothing_and_only_some_kinds_have_examples(
    ann: Client, agent: Agent, stock: Tool
) -> None:
    called(ann, stock, fault="error", **question("A-1"))
    keep = f"/calls/{ToolCall.objects.get().pk}/keep/"
    assert ann.post(keep, {"as": "test"}, headers=SCRIPTS).status_code == 422
    code = tool_saving.add(agent, tool_forms.python(agent, "split_bill"))
    page = called(ann, code, **{"argument-total": "100", "argument-people": "3"})
    assert "[33.34, 33.33, 33.33]" in page
    keep = f"/calls/{code.calls.get().pk}/keep/"
    assert ann.post(keep, {"as": "example"}, headers=SCRIPTS).status_code == 422
    assert ann.post(keep, {"as": "test"}, headers=SCRIPTS).status_code == 200


# Kinds


def test_an_answer_is_recorded_once_and_replayed(ann: Client, agent: Agent, server: str) -> None:
    tool = tool_saving.add(agent, tool_forms.http(agent, "weather", f"{server}/w?city={{city}}"))
    called(ann, tool, **{"argument-city": "Oslo", "live": "on"})
    first = tool.calls.first()
    assert first.ok and json.loads(first.result) == {"path": "/w?city=Oslo", "answer": 1}
    page = ann.post(f"/calls/{first.pk}/keep/", {"as": "example"}, headers=SCRIPTS).content.decode()
    assert "1 answer is recorded" in page and "Live." in page
    tool.refresh_from_db()
    set_up(tool, mode="replay")
    assert "Replay is on." in ann.get(f"/tools/{tool.pk}/").content.decode()
    for typed, sees in (
        ({"argument-city": "Oslo"}, first.result),
        ({"argument-city": "Rome"}, "Error: there is no recorded answer to these arguments"),
        ({"argument-city": "Rome", "live": "on"}, '{"path": "/w?city=Rome", "answer": 2}'),
    ):
        called(ann, tool, **typed)
        assert tool.calls.first().result == sees


def test_a_private_address_is_not_called_unless_the_operator_allows_it(
    ann: Client, agent: Agent, server: str, settings: Any
) -> None:
    settings.TOOL_HOSTS = []
    tool = tool_saving.add(agent, tool_forms.http(agent, "inside", f"{server}/"))
    called(ann, tool, live="on")
    call = tool.calls.get()
    assert not call.ok and "answer" not in call.result and not tools.tested(tool)


def test_a_secret_is_sent_and_never_shown(ann: Client, agent: Agent, server: str) -> None:
    ann.post("/secrets/new/", {"name": "SHOP_KEY", "value": "sk-0123456789abcdef"})
    draft = tool_forms.http(agent, "w", f"{server}/?key={{{{secret:SHOP_KEY}}}}")
    tool = tool_saving.add(agent, draft)
    page = called(ann, tool, live="on")
    assert tool.calls.get().ok and "sk-0123456789abcdef" not in page
    assert "sk-0123456789abcdef" not in ann.get(f"/tools/{tool.pk}/").content.decode()


def test_an_uploaded_table_is_called_and_a_change_belongs_to_the_call(ann: Client, agent: Agent) -> None:
    file = SimpleUploadedFile("Orders.csv", ORDERS.encode())
    answer = ann.post(f"/agents/{agent.pk}/tools/upload/", {"file": file, "writes": "on"})
    table = agent.tables.get()
    assert answer["Location"] == f"/tables/{table.pk}/"
    assert "whole number" in ann.get(answer["Location"]).content.decode()
    find, update = (agent.tools.get(name=name) for name in ("find_orders", "update_orders"))
    asked = {"argument-column": '"order no"', "argument-value": "A2"}
    called(ann, find, **asked)
    before = find.calls.first().result
    assert "Bo" in before
    page = called(ann, update, **asked, **{"argument-change": '"customer"', "argument-to": "Cy"})
    assert "It changed, in its own copy" in page and "Cy" in update.calls.first().result
    called(ann, find, **asked)
    assert find.calls.first().result == before


def test_a_tables_tool_offers_the_columns_that_were_chosen(ann: Client, agent: Agent) -> None:
    ann.post(f"/agents/{agent.pk}/tools/upload/", {"file": SimpleUploadedFile("o.csv", ORDERS.encode())})
    find = agent.tools.get(name="find_o")
    names = json.dumps(["order no", "customer", "price"])
    data = {
        "was-tool": tools.mark_of(find),
        "name": "find_o",
        "description": "Finds.",
        "columns_listed": names,
    }
    none = ann.post(f"/tools/{find.pk}/", data, headers=SCRIPTS).content.decode()
    assert "Choose at least one column" in none
    ann.post(f"/tools/{find.pk}/", data | {"columns-1": "on", "shown-0": "on"}, headers=SCRIPTS)
    find.refresh_from_db()
    assert find.settings["columns"] == ["customer"] == find.parameters["properties"]["column"]["enum"]
    called(ann, find, **{"argument-column": '"customer"', "argument-value": "Ann"})
    assert find.calls.first().result == "order no: A1\norder no: A3"


def test_types_are_corrected_and_writing_is_turned_off(ann: Client, agent: Agent) -> None:
    file = SimpleUploadedFile("o.csv", ORDERS.encode())
    ann.post(f"/agents/{agent.pk}/tools/upload/", {"file": file, "writes": "on"})
    table = agent.tables.get()
    ann.post(f"/tables/{table.pk}/writes/", {})
    living = agent.tools.filter(deleted_at=None)
    assert not living.filter(name="update_o").exists()
    ann.post(f"/tables/{table.pk}/writes/", {"writes": "on"})
    assert living.filter(name__in=["update_o", "insert_o"]).count() == 2
    answer = ann.post(f"/tables/{table.pk}/read/", {"type-2": "text"})
    fresh = agent.tables.get(deleted_at=None)
    assert answer["Location"] == f"/tables/{fresh.pk}/" and fresh.columns[2]["type"] == "text"
    assert living.filter(table=fresh).count() == 5


def test_an_upload_that_is_no_table_is_refused_with_a_sentence(ann: Client, agent: Agent) -> None:
    for name, content, says in (
        ("x.pdf", b"%PDF", "is of no kind that is read here"),
        ("x.csv", b"", "is empty"),
    ):
        answer = ann.post(f"/agents/{agent.pk}/tools/upload/", {"file": SimpleUploadedFile(name, content)})
        assert answer.status_code == 422 and says in answer.content.decode()
    answer = ann.post(
        f"/agents/{agent.pk}/tools/upload/", {"file": SimpleUploadedFile("x.xlsx", b"PK nonsense")}
    )
    page = ann.get(answer["Location"]).content.decode()
    assert Errand.objects.get().state == "failed" and "notice-error" in page


def test_tools_of_a_server_are_listed_picked_and_called(ann: Client, agent: Agent, settings: Any) -> None:
    with over_http() as there:
        settings.TOOL_HOSTS = [f"127.0.0.1:{there.port}"]
        answer = ann.post(f"/agents/{agent.pk}/tools/mcp/", {"url": there.url})
        page = ann.get(answer["Location"]).content.decode()
        assert "Where an order is." in page, Errand.objects.get().error
        ann.post(f"{answer['Location']}take/", {"pick": ["status"]})
        tool = agent.tools.get()
        assert tool.name == "status" and tools.needs(agent) == []
        called(ann, tool, **{"argument-order": "A1"})
        mcp_sessions.close()
        assert tool.calls.get().result == "order A1: 已发货" and tools.tested(tool)


def test_a_server_that_cannot_be_asked_says_why(ann: Client, agent: Agent) -> None:
    answer = ann.post(f"/agents/{agent.pk}/tools/mcp/", {"url": "http://127.0.0.1/mcp"})
    page = ann.get(answer["Location"]).content.decode()
    assert (
        Errand.objects.get().state == "failed" and "notice-error" in page and "http://127.0.0.1/mcp" in page
    )
