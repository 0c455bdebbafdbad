"""A run trains a frozen agent: the same content is the same version, and nothing edited later changes it."""

import threading
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from gpu_worker.types import AUTHORED, Job
from training.models import Agent, AgentVersion, Run, Scenario, TableFile, Tool
from training.runs import jobs, services, versions

pytestmark = pytest.mark.django_db

SCHEMA = {"type": "object", "properties": {"value": {"type": "string"}, "column": {"type": "string"}}}


@pytest.fixture
def desk(agent: Agent, settings: Settings, tmp_path: Path) -> Agent:
    """The agent, authored, with a table tool and a simulated one."""
    settings.TABLES_DIR = tmp_path
    Agent.objects.filter(pk=agent.pk).update(environment=AUTHORED)
    agent.refresh_from_db()
    table = TableFile.objects.create(
        agent=agent, name="orders", filename="orders.csv", format="csv", sha256="ab" * 32, bytes=9, rows=1,
        columns=[],
    )  # fmt: skip
    versions.table_path(table.sha256).touch()
    Tool.objects.create(
        agent=agent,
        name="ask_stock",
        kind="simulated",
        settings={"description": "knows the stock"},
        position=2,
    )
    Tool.objects.create(
        agent=agent, name="find_orders", description="Find an order.", parameters=SCHEMA, kind="table",
        settings={"does": "find", "path": "/somewhere/else", "columns": ["id"]}, table=table, position=1,
        faults={"timeout": 0.1},
    )  # fmt: skip
    return agent


def start(agent: Agent, **changes: object) -> Run:
    arguments = {"owner": agent.owner, "agent": agent, "name": "first", "config": {}, "request_id": "1"}
    return services.start_run(**(arguments | changes))  # type: ignore[arg-type]


def test_the_same_content_is_the_same_version(desk: Agent) -> None:
    first = versions.freeze(desk)
    Agent.objects.filter(pk=desk.pk).update(name="Renamed")
    assert versions.freeze(Agent.objects.get(pk=desk.pk)) == first
    assert first.number == 1


def test_numbers_count_up_and_an_edit_taken_back_is_the_old_version(desk: Agent) -> None:
    first = versions.freeze(desk)
    desk.system_prompt = "Be brief."
    second = versions.freeze(desk)
    desk.system_prompt = ""
    assert (first.number, second.number) == (1, 2)
    assert versions.freeze(desk) == first


@pytest.mark.parametrize(
    "edit", [{"description": "x"}, {"position": 0}, {"faults": {}}, {"settings": {"does": "count"}}]
)
def test_whatever_the_model_reads_or_a_tool_does_makes_a_new_version(desk: Agent, edit: dict) -> None:  # type: ignore[type-arg]
    before = versions.freeze(desk)
    desk.tools.filter(name="ask_stock" if "position" in edit else "find_orders").update(**edit)
    assert versions.freeze(desk) != before


def test_the_order_of_parameters_is_kept_and_makes_a_difference(desk: Agent) -> None:
    before = versions.freeze(desk)
    assert list(before.tools[0]["parameters"]["properties"]) == ["value", "column"]
    turned = {**SCHEMA, "properties": dict(reversed(SCHEMA["properties"].items()))}  # type: ignore[attr-defined]
    desk.tools.filter(name="find_orders").update(parameters=turned)
    after = AgentVersion.objects.get(pk=versions.freeze(desk).pk)
    assert after != before
    assert list(after.tools[0]["parameters"]["properties"]) == ["column", "value"]


def test_plans_stand_in_order_and_find_tables_by_content(desk: Agent, tmp_path: Path) -> None:
    version = versions.freeze(desk)
    assert "path" not in version.tools[0]["settings"]
    find, ask = versions.plans_of(version)
    assert (find.spec.name, ask.spec.name) == ("find_orders", "ask_stock")
    assert find.settings == {
        "does": "find", "columns": ["id"], "table": "ab" * 32,
        "path": str(tmp_path / ("ab" * 32 + ".sqlite")),
    }  # fmt: skip
    assert (find.kind, find.faults, find.spec.parameters) == ("table", {"timeout": 0.1}, SCHEMA)


def test_a_run_keeps_its_version_whatever_is_edited_later(desk: Agent) -> None:
    run = start(desk)
    Tool.objects.all().delete()
    job = jobs.job_for(Run.objects.get(pk=run.pk))
    assert (job.environment, job.run) == ("authored", "authored")
    assert [plan.spec.name for plan in job.tools] == ["find_orders", "ask_stock"]
    assert start(desk, name="second", request_id="2").version != run.version


def test_tools_and_scenarios_in_the_bin_are_left_out(desk: Agent) -> None:
    desk.tools.filter(name="ask_stock").update(deleted_at=timezone.now())
    Scenario.objects.filter(key="t2").update(deleted_at=timezone.now())
    job = jobs.job_for(start(desk))
    assert [plan.spec.name for plan in job.tools] == ["find_orders"]
    assert "t2" not in [scenario.id for scenario in job.scenarios]


def test_the_knobs_of_the_agent_stand_in_for_defaults_and_those_of_the_start_go_first(desk: Agent) -> None:
    desk.config = {"steps": 5, "group_size": 4}
    desk.save()
    job = jobs.job_for(start(desk, config={"group_size": 6}))
    assert (job.steps, job.group_size, job.groups_per_step) == (5, 6, Job.groups_per_step)


def test_a_knob_of_the_agent_that_is_out_of_range_is_refused(desk: Agent) -> None:
    desk.config = {"steps": 0}
    with pytest.raises(services.Refused, match="steps must be a whole number"):
        start(desk)


def test_a_table_that_is_gone_is_refused_with_the_file_to_upload(desk: Agent) -> None:
    versions.table_path("ab" * 32).unlink()
    with pytest.raises(services.Refused, match="not on this machine. Upload orders.csv again"):
        start(desk)
    desk.tools.update(table=None)
    with pytest.raises(services.Refused, match="has no table any more"):
        start(desk)


def test_an_mcp_program_that_nobody_allowed_is_refused(
    desk: Agent, settings: Settings, tmp_path: Path
) -> None:
    settings.MCP_PROGRAMS = tmp_path / "mcp-servers.json"
    Tool.objects.create(
        agent=desk, name="read_file", kind="mcp", settings={"program": "files", "tool": "read"}
    )
    with pytest.raises(services.Refused, match="needs the MCP program files"):
        start(desk)
    settings.MCP_PROGRAMS.write_text("[")
    with pytest.raises(services.Refused, match="mcp-servers.json in the data directory cannot be used"):
        start(desk)
    settings.MCP_PROGRAMS.write_text('{"mcpServers": {"files": {"command": "serve", "args": ["/srv"]}}}')
    assert start(desk).state == "queued"


@pytest.mark.django_db(transaction=True)
def test_two_people_who_freeze_at_once_get_the_same_version(desk: Agent) -> None:
    found: list[int] = []
    gate = threading.Barrier(4)

    def freeze() -> None:
        gate.wait()
        found.append(versions.freeze(Agent.objects.get(pk=desk.pk)).pk)
        connection.close()

    threads = [threading.Thread(target=freeze) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1
