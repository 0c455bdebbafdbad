"""MCP servers: which programs the operator allows, asking a server for its tools, and taking some of them.

A page names a program or gives an address; it never gives a command. Programs and their arguments stand in
a file that only the operator writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from gpu_worker.types import AUTHORED, ToolSpec
from training.authoring.office import errands
from training.authoring.toolbox import tool_forms, tool_saving
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_saving import Refused
from training.authoring.toolbox.tool_settings import HOST_ALONE
from training.models import Agent, Errand, Tool
from training.runs import mcp_programs

MAX_ADDRESS = 2000


def allowed() -> list[str]:
    """Names of the programs the operator allows; none where the file cannot be used, which `ask` says."""
    try:
        return sorted(mcp_programs.allowed())
    except mcp_programs.Unreadable:
        return []


def ask(agent: Agent, *, url: str = "", program: str = "", header: str = "") -> Errand:
    """Ask the desk for a server's tools. `header` is an Authorization header, or empty. Raises Refused."""
    if agent.environment != AUTHORED:
        raise Refused([Problem("kind", _("This agent's tools come with its task and cannot be changed."))])
    if program:
        if program not in _known():
            raise Refused([Problem("program", _("Choose one of the programs in the operator's file."))])
        source: dict[str, Any] = {"program": program}
    elif HOST_ALONE.match(url) and len(url) <= MAX_ADDRESS:
        source = {"url": url, "headers": {"Authorization": header} if header else {}}
    else:
        raise Refused([Problem("url", _("Begin with https:// and a host."))])
    return errands.start(owner=agent.owner, kind="list_mcp", agent=agent, source=source)


def typed_of(listing: Errand) -> dict[str, str]:
    """What the form held that a server was asked by."""
    source = listing.arguments.get("source", {})
    header = source.get("headers", {}).get("Authorization", "")
    return {"url": source.get("url", ""), "program": source.get("program", ""), "header": header}


def _known() -> set[str]:
    try:
        return set(mcp_programs.allowed())
    except mcp_programs.Unreadable as error:
        raise Refused([Problem("program", str(error))]) from None


def take(agent: Agent, listing: Errand, names: Sequence[str]) -> list[Tool]:
    """Add the chosen tools of a server that was asked. Raises Refused; those before it were added."""
    offered = {tool["name"]: tool for tool in listing.result.get("tools", ())}
    chosen = [offered[name] for name in names if name in offered]
    if not chosen:
        raise Refused([Problem("pick-0", _("Choose at least one tool."))])
    source = listing.result["source"]
    specs = [ToolSpec(tool["name"], tool["description"], tool["parameters"]) for tool in chosen]
    return [tool_saving.add(agent, tool_forms.mcp(agent, source, spec)) for spec in specs]
