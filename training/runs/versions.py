"""Frozen agents: what a run trains is a version, which never changes. Same content, same version.

A version holds everything but the scenarios, which are the run's own. Tables are named by their content,
so a version keeps its own files whatever is uploaded later. Whether a version can be trained is the
business of services and preflight.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from gpu_worker.types import ToolPlan, ToolSpec
from training.models import LIVING, Agent, AgentVersion, Tool

TEXTS = ("description", "language", "environment", "system_prompt", "base_model", "judge_model", "rubric")
"""Columns of an agent that are part of a version; its name and tidiness are not."""
PLACES = ("path",)
"""Settings that say where something lies on this machine, which no version holds."""


def freeze(agent: Agent) -> AgentVersion:
    """The agent as it is now: the version that has the same content already, or a new one."""
    content, tools = content_of(agent), tools_of(agent)
    sha256 = _sha256([content, tools])
    with transaction.atomic():
        Agent.objects.select_for_update().get(pk=agent.pk)  # two who freeze it at once do so in turn
        found = agent.versions.filter(sha256=sha256).first()
        if found is not None:
            return found
        newest = agent.versions.aggregate(Max("number"))["number__max"] or 0
        return agent.versions.create(number=newest + 1, content=content, tools=tools, sha256=sha256)


def content_of(agent: Agent) -> dict[str, Any]:
    """Everything of an agent but its tools and scenarios, as plain data."""
    return {**{name: getattr(agent, name) for name in TEXTS}, "config": dict(sorted(agent.config.items()))}


def tools_of(agent: Agent) -> list[dict[str, Any]]:
    """The agent's tools as plain data, in the order the model reads them."""
    return [_frozen(tool) for tool in agent.tools.filter(LIVING).select_related("table")]


def plans_of(version: AgentVersion) -> tuple[ToolPlan, ...]:
    """The tools of a version, their tables where this machine keeps them."""
    return plans(version.tools)


def plans_now(agent: Agent) -> tuple[ToolPlan, ...]:
    """The tools of an agent as they are at this moment, which is what pages try out."""
    return plans(tools_of(agent))


def plans(tools: Sequence[dict[str, Any]]) -> tuple[ToolPlan, ...]:
    """Frozen tools as plans."""
    return tuple(_plan(tool) for tool in tools)


def table_path(sha256: str) -> Path:
    """Where the table of that content lies."""
    return Path(settings.TABLES_DIR) / f"{sha256}.sqlite"


def _frozen(tool: Tool) -> dict[str, Any]:
    kept = {name: value for name, value in tool.settings.items() if name not in PLACES}
    if tool.table is not None:
        kept["table"] = tool.table.sha256
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "kind": tool.kind,
        "settings": kept,
        "faults": dict(sorted(tool.faults.items())),
    }


def _plan(tool: dict[str, Any]) -> ToolPlan:
    found = dict(tool["settings"])
    if tool["kind"] == Tool.Kind.TABLE:
        found["path"] = str(table_path(str(found["table"])))
    spec = ToolSpec(tool["name"], tool["description"], tool["parameters"])
    return ToolPlan(spec, tool["kind"], found, dict(tool["faults"]))


def _sha256(value: object) -> str:
    """Of the value with its keys in their own order, since that order is part of the prompt."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
