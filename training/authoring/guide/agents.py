"""Whole agents: made, copied, put in the bin and taken out again, and listed with what became of them."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from gpu_worker.types import AUTHORED
from training.authoring.guide.fields import LONGEST_NAME, normal
from training.models import LIVING, Agent, Run, Scenario, Tool
from training.runs import words

BATCH = 500


@dataclass(frozen=True)
class Line:
    """An agent in the list."""

    agent: Agent
    tools: int
    scenarios: int
    run: Run | None
    result: str
    """The last run's headline, if it is done."""


def create(*, owner: User, name: str, environment: str = AUTHORED, **columns: Any) -> Agent:
    """A new agent under this name, or the next free one like it."""
    while True:
        try:
            with transaction.atomic():
                return Agent.objects.create(
                    owner=owner, name=free_name(owner, name), environment=environment, **columns
                )
        except IntegrityError:  # another request took the name in this very moment
            continue


def free_name(owner: User, wanted: str) -> str:
    """`wanted`, or `wanted 2`, `wanted 3`, …: the first that this owner's agents leave free."""
    printable = "".join(letter if letter.isprintable() else " " for letter in normal(wanted))
    stem = " ".join(printable.split())[:LONGEST_NAME] or _("Agent")
    taken = set(Agent.objects.filter(owner=owner).values_list("name", flat=True))
    name, number = stem, 2
    while name in taken:
        ending = f" {number}"
        name, number = stem[: LONGEST_NAME - len(ending)].rstrip() + ending, number + 1
    return name


def lines(owner: User) -> list[Line]:
    """The owner's agents, the one that was edited last first."""
    newest = Run.objects.filter(agent=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = (
        Agent.objects.filter(LIVING, owner=owner)
        .annotate(last_run=Subquery(newest))
        .order_by("-edited_at", "-pk")
    )
    agents = list(found)
    runs = Run.objects.in_bulk([agent.last_run for agent in agents if agent.last_run])
    tools, scenarios = (_counts(owner, rows) for rows in (Tool.objects, Scenario.objects))
    return [
        Line(
            agent=agent,
            tools=tools.get(agent.pk, 0),
            scenarios=scenarios.get(agent.pk, 0),
            run=run,
            result=words.headline(run) if run else "",
        )
        for agent in agents
        for run in (runs.get(agent.last_run),)
    ]


def _counts(owner: User, rows: Any) -> dict[int, int]:
    living = rows.filter(LIVING, agent__owner=owner).order_by()
    return dict(living.values_list("agent").annotate(Count("pk")))


def duplicate(agent: Agent) -> Agent:
    """A copy with its tools, tables and scenarios; its runs and versions stay with the original."""
    with transaction.atomic():
        copy = create(
            owner=agent.owner,
            name=_("%(name)s copy") % {"name": agent.name},
            **{name: getattr(agent, name) for name in COPIED},
        )
        tables = {table.pk: _copied(table, agent=copy) for table in agent.tables.filter(LIVING)}
        for tool in agent.tools.filter(LIVING):
            _copied(tool, agent=copy, table=tables.get(tool.table_id) if tool.table_id else None)
        _copy_scenarios(agent, copy)
    return copy


COPIED = (
    "description",
    "language",
    "template",
    "environment",
    "system_prompt",
    "base_model",
    "judge_model",
    "rubric",
    "config",
    "suggested",
)
"""Columns that a copy shares with its original."""


def _copied(row: Any, **changes: Any) -> Any:
    """A row like this one, with these columns instead."""
    keep = {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields if not f.primary_key}
    fresh = type(row)(**keep)
    for name, value in changes.items():
        setattr(fresh, name, value)
    fresh.save()
    return fresh


def _copy_scenarios(agent: Agent, copy: Agent) -> None:
    originals = agent.scenarios.filter(LIVING).order_by("pk")
    columns = ("key", "split", "messages", "expect", "tags", "kind", "rows", "rubric", "source")
    Scenario.objects.bulk_create(
        [Scenario(agent=copy, **values) for values in originals.values(*columns)], batch_size=BATCH
    )


def throw_away(agent: Agent) -> None:
    """Put the agent in the bin. Its name becomes free; its runs stay."""
    name = f"{agent.name[:LONGEST_NAME]} · {agent.pk}"
    Agent.objects.filter(LIVING, pk=agent.pk).update(deleted_at=timezone.now(), name=name)


def bring_back(agent: Agent) -> None:
    """Take the agent out of the bin, under its old name if that is still free."""
    if agent.deleted_at is not None:
        old = agent.name.removesuffix(f" · {agent.pk}")
        Agent.objects.filter(pk=agent.pk).update(deleted_at=None, name=free_name(agent.owner, old))


def just_thrown_away(owner: User, agent_id: str) -> Agent | None:
    """The agent that a page offers to bring back."""
    in_bin = Q(owner=owner) & ~LIVING
    known = agent_id.isascii() and agent_id.isdigit() and len(agent_id) < 16
    return Agent.objects.filter(in_bin, pk=int(agent_id)).first() if known else None
