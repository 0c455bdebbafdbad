"""Calls made by hand, at the desk: the tool is built as a try builds it, called once, and written down.

Who may ask for a call is decided in `calls.py` and asked again here, since a tool may have changed while the
errand waited. A call of a table's tool sees a copy of its own, as every try does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from gpu_worker.rollout import MAX_RESULT, bounded
from gpu_worker.tools.build import tools_for
from gpu_worker.tools.mcp import list_mcp_tools
from gpu_worker.tools.plans import PlanError
from gpu_worker.tools.python.signature import CodeError
from gpu_worker.tools.tables import TableError
from gpu_worker.types import Tool as Callable
from gpu_worker.types import ToolError, ToolPlan, ToolSpec
from judging.spending import Purse
from training.authoring.office.errands import Doing, Failed
from training.authoring.toolbox.calls import SHOWN
from training.authoring.toolbox.tools import refusals
from training.models import Tool, ToolCall
from training.runs import versions
from training.runs.outside import outside
from training.runs.rows import clean, plain

PURSE = 0.25
"""Dollars that a language model may cost in one errand of the console."""


@dataclass(frozen=True)
class Answer:
    """What the agent would have seen, whether it is an answer or an error, and how long it took."""

    text: str
    ok: bool
    seconds: float


def call_tool(doing: Doing) -> dict[str, Any]:
    """Errand: call a tool once. Its result names the call, and what it changed in a table."""
    tool, began = _tool(doing), timezone.now()
    plan = _plan(tool, live=bool(doing.arguments["live"]))
    fault = doing.arguments["fault"]
    built, tables = _built(doing, replace(plan, faults={fault: 1.0} if fault else {}))
    answer = answered(built, doing.arguments["arguments"])
    call = ToolCall.objects.create(
        tool=tool,
        arguments=doing.arguments["arguments"],
        result=answer.text,
        ok=answer.ok,
        seconds=answer.seconds,
        fault=fault,
    )
    if answer.ok and not fault:
        Tool.objects.filter(pk=tool.pk).update(tested_at=began)
    _forget_old(tool)
    changes = [change for table in tables for change in table.changes()]
    return {"call": call.pk, "changes": plain(changes)}


def test_tool(doing: Doing) -> dict[str, Any]:
    """Errand: make every call again that was kept as a test, each on a fresh tool."""
    tool, began = _tool(doing), timezone.now()
    plan = replace(_plan(tool), faults={})
    kept = list(tool.calls.filter(kept="test").order_by("pk"))
    results = []
    for at, call in enumerate(kept):
        doing.progress(at, len(kept), _("Calling “%(name)s” again") % {"name": tool.name})
        answer = answered(_built(doing, plan)[0], call.arguments)
        same = (answer.text, answer.ok) == (call.result, call.ok)
        results.append({"call": call.pk, "same": same, "result": answer.text, "seconds": answer.seconds})
    if results and all(result["same"] for result in results):
        Tool.objects.filter(pk=tool.pk).update(tested_at=began)
    return {"tests": results}


def list_mcp(doing: Doing) -> dict[str, Any]:
    """Errand: the tools an MCP server offers."""
    source = doing.arguments["source"]
    doing.progress(0, 0, _("Asking the server for its tools"))
    plan = ToolPlan(ToolSpec("mcp", "", {}), "mcp", source)
    try:
        found = list_mcp_tools(source, outside(doing.owner, [plan], Purse(PURSE)))
    except (ToolError, PlanError) as error:
        raise Failed(str(error)) from None
    tools = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in found
    ]
    return {"source": plain(source), "tools": plain(tools)}


def answered(tool: Callable, arguments: Mapping[str, Any]) -> Answer:
    """Call the tool as a try does, and see what the agent sees."""
    began = time.perf_counter()
    try:
        text, ok = tool.call(dict(arguments)), True
    except ToolError as error:
        text, ok = f"Error: {error}", False
    return Answer(clean(bounded(text, MAX_RESULT)), ok, time.perf_counter() - began)


def _tool(doing: Doing) -> Tool:
    """The tool to call, if it still is there, is its owner's, and could be saved as it stands."""
    tools = Tool.objects.select_related("agent", "table")
    tool = tools.filter(pk=doing.arguments["tool"], agent__owner=doing.owner).first()
    if tool is None:
        raise Failed(_("This tool no longer exists."))
    if problems := refusals(tool):
        raise Failed(" ".join(problem.text for problem in problems))
    return tool


def _plan(tool: Tool, *, live: bool = False) -> ToolPlan:
    plan = next(plan for plan in versions.plans_now(tool.agent) if plan.spec.name == tool.name)
    if live and plan.kind == Tool.Kind.HTTP:
        return replace(plan, settings={**plan.settings, "mode": "live"})
    return plan


def _built(doing: Doing, plan: ToolPlan) -> tuple[Callable, list[Any]]:
    try:
        built, tables = tools_for([plan], outside(doing.owner, [plan], Purse(PURSE)), seed=0)
    except (PlanError, TableError, CodeError) as error:
        raise Failed(str(error)) from None
    return built[0], tables


def _forget_old(tool: Tool) -> None:
    """The last calls stay, and those that were kept."""
    last = tool.calls.values_list("pk", flat=True)[:SHOWN]
    tool.calls.filter(kept="").exclude(pk__in=list(last)).delete()
