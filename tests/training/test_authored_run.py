"""From a table to a trained agent, through rows, lease, worker and samplers, with a tiny model."""

import dataclasses
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from gpu_worker.tools.tables import open_table
from tests.tiny_model import build
from training.authoring.studio.questions import QuestionTable, invent
from training.authoring.toolbox import tables
from training.models import Agent, Group, Run, Scenario, Tool
from training.runs import lease, services, versions, worker

pytestmark = pytest.mark.django_db(transaction=True)

CITIES = ("Lima", "Oslo", "Kyoto", "Turin")
KNOBS = {
    "steps": 2,
    "groups_per_step": 3,
    "group_size": 3,
    "sampling_budget": 1,
    "max_turns": 2,
    "max_tokens": 8,
    "max_context": 1024,
    "eval_every": 0,
    "lora_rank": 4,
    "samplers": 2,
}


@pytest.fixture
def authored(user: User, tmp_path: Path) -> Agent:
    """An agent whose tools and scenarios come from one uploaded table."""
    model = build(tmp_path / "tiny-llama")
    agent = Agent.objects.create(
        owner=user, name="Desk", environment="authored", base_model=str(model), system_prompt="Look it up."
    )
    file = tmp_path / "orders.csv"
    lines = [f"{1000 + n},{CITIES[n % 4]},{n * 7 % 90}.50,{'open' if n % 3 else 'sent'}" for n in range(120)]
    file.write_text("\n".join(["order_id,city,total,status", *lines]))
    table = tables.add_table(agent, file, "orders.csv", hints={}, watch=lambda: None)
    stored = open_table(versions.table_path(table.sha256))
    for question in invent([QuestionTable(table.name, stored)], versions.plans_now(agent), count=24, seed=1):
        one = question.scenario
        Scenario.objects.create(
            agent=agent, key=one.id, split=one.split, messages=list(one.messages), expect=one.expect
        )
    return agent


def trained(agent: Agent, name: str, **config: object) -> Run:
    run = services.start_run(
        owner=agent.owner, agent=agent, name=name, config={**KNOBS, **config}, request_id=name
    )
    claimed = lease.claim(run.pk)
    assert claimed is not None
    worker.work(claimed)
    run.refresh_from_db()
    return run


def test_an_agent_made_of_a_table_is_trained_and_the_same_again_to_the_last_bit(authored: Agent) -> None:
    first, second = trained(authored, "first"), trained(authored, "second")
    assert first.state == Run.State.DONE, first.error
    assert first.summary["weights_sha256"] == second.summary["weights_sha256"]
    assert first.version == second.version
    group = Group.objects.filter(run=first, label="train").order_by("pk").first()
    assert group is not None
    assert [tool["name"] for tool in group.tools] == [
        t.name for t in authored.tools.order_by("position", "id")
    ]


def test_a_run_keeps_the_tools_it_was_started_with(authored: Agent) -> None:
    before = trained(authored, "before")
    Tool.objects.filter(agent=authored, name__startswith="search_").delete()
    after = trained(authored, "after")
    assert before.version != after.version
    assert len(before.version.tools) == len(after.version.tools) + 1  # type: ignore[union-attr]


def test_a_tool_in_python_is_called_by_forked_samplers(authored: Agent) -> None:
    code = "def shout(text: str) -> str:\n    '''Shout.'''\n    return text.upper()\n"
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    Tool.objects.create(
        agent=authored,
        name="shout",
        kind="python",
        parameters=parameters,
        settings={"code": code},
        position=9,
    )
    assert trained(authored, "with-python").state == Run.State.DONE


def test_a_table_that_is_gone_fails_the_run_in_a_sentence(authored: Agent) -> None:
    run = services.start_run(
        owner=authored.owner, agent=authored, name="gone", config=KNOBS, request_id="gone"
    )
    for file in Path(settings.TABLES_DIR).glob("*.sqlite"):
        file.rename(file.with_suffix(".away"))
    try:
        claimed = lease.claim(run.pk)
        assert claimed is not None
        assert worker.work(dataclasses.replace(claimed)) is None
    finally:
        for file in Path(settings.TABLES_DIR).glob("*.away"):
            file.rename(file.with_suffix(".sqlite"))
    run.refresh_from_db()
    assert run.state == Run.State.FAILED
    assert "table" in run.error and "unforeseen" not in run.error
