"""What tools get from here: secrets of their owner, allowed programs, language models paid from a purse."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from gpu_worker.types import ToolError, ToolKind, ToolPlan, ToolSpec
from judging import llm, offline
from judging.llm import NoAnswer
from judging.spending import Purse
from training import secrets
from training.models import Agent, Tool
from training.runs import services
from training.runs.outside import outside

pytestmark = pytest.mark.django_db


def plan(kind: ToolKind, **settings: object) -> ToolPlan:
    return ToolPlan(ToolSpec("call", "Calls.", {"type": "object"}), kind, dict(settings))


HTTP = plan("http", url="https://shop.example/", headers={"Authorization": "Bearer {{secret:SHOP_KEY}}"})


def test_tools_get_the_secrets_they_name_and_no_others(user: User) -> None:
    secrets.put(owner=user, name="SHOP_KEY", value="open sesame")
    secrets.put(owner=user, name="OTHER_KEY", value="not for you")
    found = outside(user, [HTTP], Purse())
    assert found.secret("SHOP_KEY") == "open sesame"
    with pytest.raises(ToolError, match="There is no secret called OTHER_KEY"):
        found.secret("OTHER_KEY")


def test_secrets_of_somebody_else_do_not_exist(user: User, other_user: User) -> None:
    secrets.put(owner=other_user, name="SHOP_KEY", value="theirs alone")
    with pytest.raises(ToolError):
        outside(user, [HTTP], Purse()).secret("SHOP_KEY")


def test_a_run_whose_tools_name_a_missing_secret_is_refused(agent: Agent) -> None:
    Tool.objects.create(agent=agent, name="shop", kind="http", settings=HTTP.settings)
    request = {"owner": agent.owner, "agent": agent, "name": "r", "config": {}, "request_id": "1"}
    with pytest.raises(services.Refused, match="the secret SHOP_KEY, which you do not have"):
        services.start_run(**request)  # type: ignore[arg-type]
    secrets.put(owner=agent.owner, name="SHOP_KEY", value="open sesame")
    assert services.start_run(**request).state == "queued"  # type: ignore[arg-type]


def test_only_programs_of_the_operators_file_may_be_started(
    user: User, settings: Settings, tmp_path: Path
) -> None:
    settings.MCP_PROGRAMS = tmp_path / "mcp-servers.json"
    settings.MCP_PROGRAMS.write_text('{"mcpServers": {"files": {"command": "serve", "args": ["/srv"]}}}')
    found = outside(user, [plan("mcp", program="files", tool="read")], Purse())
    assert found.programs("files") == ("serve", "/srv")
    with pytest.raises(ToolError, match="allows no MCP program called bash"):
        found.programs("bash")


def test_a_broken_file_of_programs_troubles_only_who_needs_it(
    user: User, settings: Settings, tmp_path: Path
) -> None:
    settings.MCP_PROGRAMS = tmp_path / "mcp-servers.json"
    settings.MCP_PROGRAMS.write_text('{"mcpServers": []}')
    assert outside(user, [HTTP], Purse())
    with pytest.raises(ValueError, match="cannot be used"):
        outside(user, [plan("mcp", program="files")], Purse())


def test_a_model_that_is_silent_is_an_answer_the_agent_sees(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(self: llm.Model, messages: Sequence[object]) -> str:
        raise NoAnswer(f"{self.name} did not answer")

    monkeypatch.setattr(llm.Model, "complete", silent)
    with pytest.raises(ToolError, match="did not answer"):
        outside(user, [], Purse()).ask(offline.MODEL, [{"role": "user", "content": "Hello"}])
