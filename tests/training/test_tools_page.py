"""The Tools page and the page of one tool: what is saved, refused, shown, and to whom."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern

from training.authoring.toolbox import tool_forms, tool_pages, tool_saving, tools
from training.authoring.toolbox.tool_urls import urlpatterns
from training.models import Agent, Errand, Scenario, Secret, TableFile, Tool, ToolCall

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


@pytest.fixture
def desk(user: User) -> Agent:
    """An agent of ann's whose tools she makes herself."""
    return Agent.objects.create(owner=user, name="Stock desk", environment="authored")


@pytest.fixture
def stock(desk: Agent) -> Tool:
    """A simulated tool."""
    return tool_saving.add(desk, tool_forms.simulated(desk, "stock_level"))


def form_of(tool: Tool, **changes: str) -> dict[str, str]:
    """What a browser sends for the form of a simulated tool."""
    data = {
        "was-tool": tools.mark_of(tool),
        "name": tool.name,
        "description": tool.description,
        "parameters_as": "json",
        "parameters": json.dumps(tool.parameters),
        "behaviour": tool.settings.get("description", ""),
        "model": tool.settings.get("model", ""),
        "otherwise": tool.settings.get("otherwise", ""),
    }
    for at, example in enumerate(tool.settings.get("examples", ())):
        data[f"example-{at}-arguments"] = json.dumps(example["arguments"])
        data[f"example-{at}-result"] = example["result"]
    return data | changes


def saved(client: Client, tool: Tool, status: int = 200, **changes: str) -> str:
    """Save as a page with scripts does; the answer's text."""
    data = form_of(tool, **changes)
    answer = client.post(f"/tools/{tool.pk}/", data, headers={"HX-Request": "true"})
    assert answer.status_code == status
    tool.refresh_from_db()
    return answer.content.decode()


def test_a_tool_of_each_kind_is_added_and_opens_its_page(ann: Client, desk: Agent) -> None:
    begun = [
        ("simulated", {"name": "Stock level"}, "stock_level"),
        ("http", {"name": "weather", "url": "https://api.example.com/w?city={city}&day={day}"}, "weather"),
        ("python", {"example": "shipping_price"}, "shipping_price"),
        ("python", {"example": "blank"}, "answer"),
    ]
    for kind, typed, name in begun:
        answer = ann.post(f"/agents/{desk.pk}/tools/new/{kind}/", typed)
        tool = Tool.objects.get(agent=desk, name=name)
        assert (answer.status_code, answer["Location"]) == (302, f"/tools/{tool.pk}/")
        assert tool.kind == kind and name in ann.get(f"/tools/{tool.pk}/").content.decode()
    weather = Tool.objects.get(name="weather")
    assert list(weather.parameters["properties"]) == ["city", "day"] == weather.parameters["required"]
    page = ann.get(f"/agents/{desk.pk}/tools/").content.decode()
    assert all(f">{name}</a>" in page for _kind, _typed, name in begun)
    assert page.count("never called by hand") == 4
    assert Agent.objects.get(pk=desk.pk).edits == 4


def test_the_same_example_twice_gets_another_name(ann: Client, desk: Agent) -> None:
    for _time in range(2):
        ann.post(f"/agents/{desk.pk}/tools/new/python/", {"example": "split_bill"})
    second = Tool.objects.get(agent=desk, name="split_bill_2")
    assert "def split_bill_2(" in second.settings["code"]


@pytest.mark.parametrize(
    "url", ["", "ftp://example.com", "https://{host}/", "javascript:alert(1)", "/etc/passwd"]
)
def test_an_address_without_a_fixed_host_is_refused_and_kept(ann: Client, desk: Agent, url: str) -> None:
    answer = ann.post(f"/agents/{desk.pk}/tools/new/http/", {"name": "w", "url": url})
    assert answer.status_code == 422 and not desk.tools.exists()
    page = answer.content.decode()
    assert "Begin with https:// and a host" in page
    assert not url or f'value="{url}"' in page


def test_saving_says_so_and_a_change_of_what_a_call_does_makes_it_untested(ann: Client, stock: Tool) -> None:
    Tool.objects.filter(pk=stock.pk).update(tested_at=stock.edited_at)
    assert "Saved" in saved(ann, stock, description="How many pieces are in stock.")
    assert stock.description == "How many pieces are in stock." and tools.tested(stock)
    page = saved(ann, stock, **{"example-5-arguments": '{"question": "A-1"}', "example-5-result": "12"})
    assert "changed since last test" in page and not tools.tested(stock)
    assert stock.settings["examples"] == [{"arguments": {"question": "A-1"}, "result": "12"}]


def test_saving_the_same_again_changes_nothing(ann: Client, stock: Tool) -> None:
    before, edits = stock.edited_at, Agent.objects.get(pk=stock.agent_id).edits
    saved(ann, stock)
    assert (stock.edited_at, Agent.objects.get(pk=stock.agent_id).edits) == (before, edits)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"name": "Stock Level"}, "name begins with a small letter"),
        ({"name": "other"}, "already has a tool called “other”"),
        ({"parameters": '{\n "type": "object",,\n}'}, "Line 2, character 19"),
        ({"parameters": '{"type": "string"}'}, "must be a JSON object"),
        ({"example-0-arguments": "{", "example-0-result": "x"}, "Line 1, character 2"),
        ({"example-0-arguments": "[1]", "example-0-result": "x"}, "must be an object"),
        ({"fault-error": "many"}, "a number of per cent"),
        ({"fault-error": "90"}, "between 0 and 50 %"),
        ({"fault-error": "nan"}, "a number of per cent"),
        ({"fault-error": "45", "fault-empty": "45"}, "more than 80 %"),
        ({"description": "x" * 2001}, "longer than 2000"),
    ],
)
def test_what_cannot_be_saved_is_named_and_nothing_changes(
    ann: Client, stock: Tool, typed: dict[str, str], says: str
) -> None:
    tool_saving.add(stock.agent, tool_forms.simulated(stock.agent, "other"))
    before = tools.draft_of(stock)
    page = saved(ann, stock, **typed)
    assert says in page and "Not saved yet" in page and "data-problem" in page
    assert tools.draft_of(stock) == before
    whole = ann.post(f"/tools/{stock.pk}/", form_of(stock, **typed))
    assert whole.status_code == 422
    for name in ("name", "description"):
        assert name not in typed or typed[name] in whole.content.decode()


def test_two_tabs_never_overwrite_each_other(ann: Client, stock: Tool) -> None:
    old = tools.mark_of(stock)
    saved(ann, stock, description="From one tab.")
    page = saved(ann, stock, description="From another.", **{"was-tool": old})
    assert "changed in another tab" in page and stock.description == "From one tab."
    saved(ann, stock, description="From another.", act="mine", **{"was-tool": old})
    assert stock.description == "From another."


def test_a_new_name_is_followed_by_the_scenarios(ann: Client, stock: Tool) -> None:
    expect = {"calls": [{"name": "stock_level", "arguments": {}}, {"name": "other", "arguments": {}}]}
    scenario = Scenario.objects.create(agent=stock.agent, key="s", split="train", messages=[], expect=expect)
    assert "expected by 1 scenario" in ann.get(f"/tools/{stock.pk}/").content.decode()
    saved(ann, stock, name="pieces")
    scenario.refresh_from_db()
    assert [call["name"] for call in scenario.expect["calls"]] == ["pieces", "other"]


def test_parameters_turn_from_rows_to_json_and_back(ann: Client, stock: Tool) -> None:
    def turned(**data: str) -> str:
        answer = ann.post(f"/tools/{stock.pk}/parameters/", data)
        assert answer.status_code == 200
        return answer.content.decode()

    as_json = turned(parameters_as="rows", **{"row-3-name": "item", "row-3-type": "string"})
    assert "&quot;item&quot;" in as_json and 'value="json"' in as_json
    rows = turned(
        parameters_as="json", parameters='{"type": "object", "properties": {"n": {"type": "integer"}}}'
    )
    assert 'value="n"' in rows and 'value="rows"' in rows
    bad = turned(parameters_as="json", parameters='{"type": "object",\n nonsense')
    assert "Line 2, character 2" in bad and "nonsense" in bad and 'value="json"' in bad
    wrong = turned(parameters_as="rows", **{"row-0-name": "<x>", "row-1-name": "b", "row-1-required": "on"})
    assert "cannot be a parameter" in wrong and "&lt;x&gt;" in wrong and 'value="rows"' in wrong
    stock.refresh_from_db()
    assert list(stock.parameters["properties"]) == ["question"], "turning saves nothing"


def test_removing_is_undone_and_order_is_changed(ann: Client, desk: Agent, stock: Tool) -> None:
    other = tool_saving.add(desk, tool_forms.simulated(desk, "other"))
    names = lambda: list(desk.tools.filter(deleted_at=None).values_list("name", flat=True))  # noqa: E731
    scripts = {"HX-Request": "true"}
    ann.post(f"/tools/{other.pk}/move/", {"to": "up"}, headers=scripts)
    assert names() == ["other", "stock_level"]
    page = ann.post(f"/tools/{other.pk}/remove/", headers=scripts).content.decode()
    assert names() == ["stock_level"] and "“other” was removed" in page
    assert ann.get(f"/tools/{other.pk}/").status_code == 200
    tool_saving.add(desk, tool_forms.simulated(desk, "other"))
    ann.post(f"/tools/{other.pk}/restore/", headers=scripts)
    assert sorted(names()) == ["other", "other_2", "stock_level"]


def test_a_tool_removed_on_its_own_page_can_be_brought_back_at_once(ann: Client, stock: Tool) -> None:
    page = ann.post(f"/tools/{stock.pk}/remove/", follow=True).content.decode()
    assert "“stock_level” was removed" in page and f"/tools/{stock.pk}/restore/" in page
    ann.post(f"/tools/{stock.pk}/restore/")
    assert (
        "was removed" not in ann.get(f"/agents/{stock.agent_id}/tools/?removed={stock.pk}").content.decode()
    )
    assert ann.get(f"/agents/{stock.agent_id}/tools/?removed=²").status_code == 200


def test_what_a_server_was_asked_with_stays_in_the_form(ann: Client, desk: Agent) -> None:
    source = {"url": "https://mcp.example.com/x", "headers": {"Authorization": "Bearer {{secret:KEY}}"}}
    failed = Errand.objects.create(
        owner=desk.owner, agent=desk, kind="list_mcp", state="failed", error="It is away.",
        arguments={"source": source},
    )  # fmt: skip
    page = ann.get(f"/agents/{desk.pk}/tools/mcp/{failed.pk}/").content.decode()
    assert "It is away." in page and 'value="https://mcp.example.com/x"' in page
    assert 'value="Bearer {{secret:KEY}}"' in page


def test_tools_that_come_with_a_task_are_shown_and_cannot_be_changed(ann: Client, agent: Agent) -> None:
    page = ann.get(f"/agents/{agent.pk}/tools/").content.decode()
    assert "These tools come with the task" in page and "find_orders" in page and "Add a tool" not in page
    answer = ann.post(f"/agents/{agent.pk}/tools/new/simulated/", {"name": "x"})
    assert answer.status_code == 422 and not agent.tools.exists()
    assert tools.needs(agent) == [] == tools.advice(agent)


def test_needs_say_what_keeps_tools_from_being_used(desk: Agent) -> None:
    assert tools.needs(desk) == []
    tool_saving.add(desk, tool_forms.simulated(desk, "stock"))
    assert [text.partition("”")[2] for text in tools.needs(desk)] == [
        " has no description: say when the agent should use it.",
        " has neither examples nor a model to play it.",
    ]
    Tool.objects.all().delete()
    python = tool_saving.add(desk, tool_forms.python(desk, "split_bill"))
    assert tools.needs(desk) == []
    assert tools.advice(desk) == ["Not called by hand since the last change: split_bill."]
    wrong = 'def f(a: int) -> str:\n    """Says it."""\n    return a + nothing\n'
    Tool.objects.filter(pk=python.pk).update(settings={"code": wrong})
    assert any("line 3" in text and "nothing" in text for text in tools.needs(desk))
    replay = tool_forms.http(desk, "w", "https://example.com/")
    tool_saving.add(
        desk,
        tools.Draft(
            **{**vars(replay), "description": "W.", "settings": {**replay.settings, "mode": "replay"}}
        ),
    )
    assert any("none is recorded" in text for text in tools.needs(desk))


def test_code_is_saved_with_its_schema_and_linted_by_line(ann: Client, desk: Agent) -> None:
    tool = tool_saving.add(desk, tool_forms.python(desk, "blank"))

    def save(code: str) -> str:
        data = {"was-tool": tools.mark_of(tool), "code": code}
        page = ann.post(f"/tools/{tool.pk}/", data, headers={"HX-Request": "true"}).content.decode()
        tool.refresh_from_db()
        return page

    page = save(
        'def price(item: str, count: int = 1) -> str:\r\n    """Price of items."""\r\n    return 3\r\n'
    )
    assert (tool.name, tool.description) == ("price", "Price of items.")
    assert tool.parameters["properties"]["count"] == {"type": "integer", "default": 1}
    assert 'data-line="3"' in page and "console-fields" in page
    page = save("def price(item: str) -> str:\n    return (\n")
    assert "Line 2" in page and "Not saved yet" in page and "count" in tool.parameters["properties"]


def test_everything_people_and_servers_wrote_is_escaped(ann: Client, desk: Agent, stock: Tool) -> None:
    evil = "<script>alert(1)</script>"
    draft = tools.draft_of(stock)
    settings = {**draft.settings, "examples": [{"arguments": {"question": evil}, "result": evil}]}
    Tool.objects.filter(pk=stock.pk).update(description=evil, settings=settings)
    ToolCall.objects.create(tool=stock, arguments={"question": evil}, result=evil, ok=True, seconds=0.1)
    listing = Errand.objects.create(
        owner=desk.owner, agent=desk, kind="list_mcp", state="done",
        result={"source": {"url": f"https://x/{evil}"}, "tools": [{"name": evil, "description": evil}]},
    )  # fmt: skip
    for address in (
        f"/tools/{stock.pk}/", f"/agents/{desk.pk}/tools/", f"/agents/{desk.pk}/tools/mcp/{listing.pk}/",
    ):  # fmt: skip
        page = ann.get(address).content.decode()
        assert evil not in page and "&lt;script&gt;" in page, address


# MCP


def test_a_page_never_gives_a_command(ann: Client, desk: Agent) -> None:
    for typed in (
        {"program": "sh"},
        {"program": "sh -c id"},
        {"url": "stdio:id"},
        {"url": "file:///bin/sh"},
        {},
    ):
        answer = ann.post(f"/agents/{desk.pk}/tools/mcp/", typed)
        assert answer.status_code == 422, typed
    assert not Errand.objects.exists()


def test_a_program_of_the_operators_file_can_be_asked(
    ann: Client, desk: Agent, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MCP_PROGRAMS = tmp_path / "mcp-servers.json"
    settings.MCP_PROGRAMS.write_text('{"mcpServers": {"files": {"command": "/bin/true", "args": ["a"]}}}')
    monkeypatch.setattr("training.authoring.toolbox.calls.WAIT", 0)
    assert ">files</option>" in ann.get(f"/agents/{desk.pk}/tools/").content.decode()
    answer = ann.post(f"/agents/{desk.pk}/tools/mcp/", {"program": "files", "command": "evil", "args": "x"})
    errand = Errand.objects.get()
    assert answer.status_code == 302 and errand.arguments == {
        "source": {"program": "files"},
        "said_in": "en",
    }


def test_picked_tools_of_a_server_are_added(ann: Client, desk: Agent) -> None:
    specs = [
        {"name": name, "description": "D.", "parameters": {"type": "object", "properties": {}}}
        for name in ("get-Weather", "other")
    ]
    listing = Errand.objects.create(
        owner=desk.owner, agent=desk, kind="list_mcp", state="done",
        result={"source": {"url": "https://mcp.example.com/mcp", "headers": {}}, "tools": specs},
    )  # fmt: skip
    where = f"/agents/{desk.pk}/tools/mcp/{listing.pk}/take/"
    assert ann.post(where, {}).status_code == 422
    ann.post(where, {"pick": ["get-Weather", "unknown"]})
    (tool,) = desk.tools.all()
    assert (tool.name, tool.settings["tool"], tool.kind) == ("get_weather", "get-Weather", "mcp")
    assert tools.needs(desk) == []


# Secrets


def test_a_secret_is_kept_and_never_shown(ann: Client, user: User) -> None:
    ann.post("/secrets/new/", {"name": "SHOP_KEY", "value": "sk-0123456789abcdef"})
    page = ann.get("/secrets/").content.decode()
    assert "SHOP_KEY" in page and "cdef" in page and "0123456789" not in page
    assert Secret.objects.get(owner=user).name == "SHOP_KEY"
    refused = ann.post("/secrets/new/", {"name": "shop key", "value": "sk-0123456789abcdef"})
    assert refused.status_code == 422
    text = refused.content.decode()
    assert "capital letters" in text and 'value="shop key"' in text and "sk-01" not in text


def test_a_deleted_secret_comes_back_until_the_page_is_loaded_again(ann: Client) -> None:
    ann.post("/secrets/new/", {"name": "SHOP_KEY", "value": "sk-0123456789abcdef"})
    secret = Secret.objects.get()
    page = ann.post(f"/secrets/{secret.pk}/delete/").content.decode()
    assert "SHOP_KEY was deleted" in page and not Secret.objects.exists() and secret.sealed not in page
    ann.post("/secrets/undo/")
    assert Secret.objects.get().sealed == secret.sealed
    ann.post(f"/secrets/{Secret.objects.get().pk}/delete/")
    ann.get("/secrets/")
    assert ann.post("/secrets/undo/").status_code == 422 and not Secret.objects.exists()


def test_the_page_says_where_a_secret_is_used_and_which_is_missing(ann: Client, desk: Agent) -> None:
    draft = tool_forms.http(desk, "weather", "https://example.com/")
    headers = {"Authorization": "Bearer {{secret:SHOP_KEY}}", "X-Two": "{{secret:OTHER_KEY}}"}
    tool_saving.add(desk, tools.Draft(**{**vars(draft), "settings": {**draft.settings, "headers": headers}}))
    ann.post("/secrets/new/", {"name": "SHOP_KEY", "value": "sk-0123456789abcdef"})
    told = " ".join(tools.needs(desk))
    assert "needs the secret OTHER_KEY" in told and "SHOP_KEY" not in told
    page = ann.get("/secrets/").content.decode()
    assert "Used by" in page and "weather" in page and "OTHER_KEY" in page.partition("not here")[2]


# Who may do what


def everything_of(agent: Agent) -> dict[str, Any]:
    """Ids of things of this agent, by the names that addresses have for them."""
    tool = tool_saving.add(agent, tool_forms.simulated(agent, "stock_level"))
    table = TableFile.objects.create(
        agent=agent, name="t", filename="t.csv", format="csv", sha256="0" * 64, bytes=1, rows=1, columns=[]
    )
    call = ToolCall.objects.create(tool=tool, arguments={}, result="x", ok=True, seconds=0.1)
    listing = Errand.objects.create(
        owner=agent.owner, agent=agent, kind="list_mcp", state="done",
        result={"source": {"url": "https://x/"}, "tools": []},
    )  # fmt: skip
    secret = Secret.objects.create(owner=agent.owner, name="KEY", sealed="x", last4="")
    return {
        "agent_id": agent.pk, "tool_id": tool.pk, "table_id": table.pk, "call_id": call.pk,
        "errand_id": listing.pk, "secret_id": secret.pk, "kind": "simulated",
    }  # fmt: skip


OWN = {"secrets", "add_secret", "undo_secret"}
"""Pages that show everybody their own."""


@pytest.mark.parametrize("pattern", urlpatterns, ids=lambda pattern: pattern.name)
def test_only_the_owner_reaches_anything(
    pattern: URLPattern, desk: Agent, user: User, other_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.authoring.toolbox.calls.WAIT", 0)
    ids = everything_of(desk)
    names = pattern.pattern.converters
    address = "/" + str(pattern.pattern)
    for name in names:
        kind = "str" if name == "kind" else "int"
        address = address.replace(f"<{kind}:{name}>", str(ids[name]))
    anonymous, bob, ann = Client(), Client(), Client()
    bob.force_login(other_user)
    ann.force_login(user)
    for method in ("get", "post"):
        refused = getattr(anonymous, method)(address)
        assert refused.status_code in (302, 405) and "/sign-in/" in refused.get("Location", "/sign-in/")
        assert pattern.name in OWN or getattr(bob, method)(address).status_code in (404, 405), method
    assert desk.tools.filter(deleted_at=None).count() == 1 and Secret.objects.filter(owner=user).count() == 1
    reached = {getattr(ann, method)(address).status_code for method in ("get", "post")}
    assert reached & {200, 302, 422} and 404 not in reached
    assert tool_pages.KINDS
