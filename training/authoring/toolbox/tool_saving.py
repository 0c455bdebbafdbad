"""What changes an agent's tools: made, saved, put in another order, taken away and brought back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _

from gpu_worker.types import AUTHORED
from training.authoring.toolbox import schema_rows
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tools import Draft, check, draft_of, mark_of
from training.models import LIVING, Agent, Scenario, Tool
from training.runs.rows import plain

MAX_TOOLS = 40


class Refused(Exception):
    """What was asked for cannot be saved; each problem says where and why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(problem.text for problem in problems))
        self.problems = tuple(problems)


class Conflict(Exception):
    """The tool was changed elsewhere since this page was loaded."""


@transaction.atomic
def add(agent: Agent, draft: Draft, *, suggested: bool = False, **columns: Any) -> Tool:
    """A new tool at the end of the agent's list. Raises Refused."""
    draft = _clean(draft)
    living = agent.tools.filter(LIVING)
    if agent.environment != AUTHORED:
        raise Refused([Problem("kind", _("This agent's tools come with its task and cannot be changed."))])
    if living.count() >= MAX_TOOLS:
        text = _("An agent has at most %(limit)d tools. Remove one first.") % {"limit": MAX_TOOLS}
        raise Refused([Problem("kind", text)])
    if problems := check(agent, draft):
        raise Refused(problems)
    last = agent.tools.aggregate(last=Max("position"))["last"]
    tool = Tool.objects.create(
        agent=agent,
        position=0 if last is None else last + 1,
        suggested=suggested,
        **_columns(draft),
        **columns,
    )
    edited(agent)
    return tool


@transaction.atomic
def save(tool: Tool, draft: Draft, *, seen: str = "") -> bool:
    """Make the tool what `draft` says; whether that changed anything. Raises Refused or Conflict.

    `seen` is the mark of the tool as the page was made from it. Only a change of what a call does (its
    parameters and settings) makes the tool untested again.
    """
    tool = Tool.objects.select_for_update(of=("self",)).select_related("agent", "table").get(pk=tool.pk)
    draft = _clean(draft)
    if problems := check(tool.agent, draft, but=tool):
        raise Refused(problems)
    before = draft_of(tool)
    if schema_rows.same(before.parameters, draft.parameters):
        draft = replace(draft, parameters=before.parameters)
    if draft == before and not tool.suggested:
        return False
    if seen and draft != before and seen != mark_of(tool):
        raise Conflict
    changes = _columns(draft) | {"suggested": False}
    if (draft.parameters, draft.settings) != (before.parameters, before.settings):
        changes["edited_at"] = timezone.now()
    Tool.objects.filter(pk=tool.pk).update(**changes)
    if draft.name != before.name:
        _renamed(tool.agent, before.name, draft.name)
    edited(tool.agent)
    return True


@transaction.atomic
def remove(tool: Tool) -> None:
    """Put the tool in the bin; the agent no longer has it."""
    if Tool.objects.filter(LIVING, pk=tool.pk).update(deleted_at=timezone.now()):
        edited(tool.agent)


@transaction.atomic
def restore(tool: Tool) -> Tool:
    """Take the tool out of the bin, under another name if its own was given away. Raises Refused."""
    if tool.deleted_at is None:
        return tool
    if tool.agent.tools.filter(LIVING).count() >= MAX_TOOLS:
        text = _("An agent has at most %(limit)d tools. Remove one first.") % {"limit": MAX_TOOLS}
        raise Refused([Problem("kind", text)])
    Tool.objects.filter(pk=tool.pk).update(deleted_at=None, name=free_name(tool.agent, tool.name))
    edited(tool.agent)
    tool.refresh_from_db()
    return tool


@transaction.atomic
def move(tool: Tool, by: int) -> None:
    """Up (-1) or down (+1) in the order in which the model reads the tools."""
    order = list(tool.agent.tools.filter(LIVING).values_list("pk", flat=True))
    if tool.pk not in order:
        return
    at = order.index(tool.pk)
    order.insert(max(0, min(len(order) - 1, at + by)), order.pop(at))
    for position, key in enumerate(order):
        Tool.objects.filter(pk=key).update(position=position)
    edited(tool.agent)


def free_name(agent: Agent, stem: str) -> str:
    """`stem` as a tool may be called, or `stem_2`, `stem_3`, …: the first that no tool of the agent has."""
    stem = re.sub(r"[^a-z0-9_]+", "_", stem.lower()).strip("_")[:58] or "tool"
    stem = stem if stem[0].isalpha() else f"tool_{stem}"[:58]
    taken = set(agent.tools.filter(LIVING).values_list("name", flat=True))
    names = (stem, *(f"{stem}_{number}" for number in range(2, MAX_TOOLS + 3)))
    return next(name for name in names if name not in taken)


def _columns(draft: Draft) -> dict[str, Any]:
    return {
        "kind": draft.kind,
        "name": draft.name,
        "description": draft.description,
        "parameters": draft.parameters,
        "settings": draft.settings,
        "faults": draft.faults,
    }


def _clean(draft: Draft) -> Draft:
    """Text that every database takes."""
    return replace(draft, **{name: plain(value) for name, value in vars(draft).items()})


def _renamed(agent: Agent, before: str, after: str) -> None:
    """Scenarios that expect a call of the tool go on expecting it."""
    for scenario in Scenario.objects.filter(LIVING, agent=agent):
        calls = scenario.expect.get("calls") or []
        if any(call.get("name") == before for call in calls):
            renamed = [{**call, "name": after} if call.get("name") == before else call for call in calls]
            scenario.expect = {**scenario.expect, "calls": renamed}
            scenario.save(update_fields=["expect"])


def edited(agent: Agent) -> None:
    """Every change of a tool shows in the agent, so that pages notice that theirs is old."""
    Agent.objects.filter(pk=agent.pk).update(edits=F("edits") + 1, edited_at=timezone.now())
