"""The pages of tools: an agent's list of them, what adds to it, and the page of one tool."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gpu_worker.tools.python.examples import EXAMPLES
from gpu_worker.types import AUTHORED
from training.access import agent_of, tool_of
from training.authoring.guide import wizard
from training.authoring.toolbox import (
    schema_check,
    schema_rows,
    servers,
    tool_forms,
    tool_pages,
    tool_saving,
    tools,
)
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_saving import Conflict, Refused
from training.models import LIVING, Agent, Tool


@require_safe
@login_required
def page(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    return page_of(request, agent, removed=_just_removed(agent, request.GET.get("removed", "")))


@require_POST
@login_required
def add(request: HttpRequest, agent_id: int, kind: str) -> HttpResponse:
    """A new tool of a kind that begins with a form; tables begin with a file, MCP tools with a server."""
    agent = agent_of(request, agent_id)
    typed = {name: request.POST.get(name, "").strip()[:2000] for name in ("name", "url", "example")}
    starts = {
        "simulated": lambda: tool_forms.simulated(agent, typed["name"]),
        "http": lambda: tool_forms.http(agent, typed["name"], typed["url"]),
        "python": lambda: tool_forms.python(agent, typed["example"]),
    }
    if kind not in starts:
        raise Http404
    try:
        tool = tool_saving.add(agent, starts[kind]())
    except Refused as refused:
        return page_of(request, agent, status=422, refused=refused.problems, opened=kind, typed=typed)
    return redirect("tool", tool.pk)


@require_POST
@login_required
def remove(request: HttpRequest, tool_id: int) -> HttpResponse:
    """Take a tool away; the list then offers to bring it back."""
    tool = tool_of(request, tool_id)
    tool_saving.remove(tool)
    if "HX-Request" not in request.headers:
        return redirect(f"{reverse('tools', args=[tool.agent_id])}?removed={tool.pk}")
    return _list(request, tool.agent, removed=tool)


@require_POST
@login_required
def restore(request: HttpRequest, tool_id: int) -> HttpResponse:
    tool = tool_of(request, tool_id)
    try:
        back = tool_saving.restore(tool)
    except Refused as refused:
        return _list(request, tool.agent, refused=refused.problems)
    return _list(request, tool.agent, focus=back)


@require_POST
@login_required
def move(request: HttpRequest, tool_id: int) -> HttpResponse:
    """One place up or down."""
    tool = tool_of(request, tool_id)
    up = request.POST.get("to") == "up"
    tool_saving.move(tool, -1 if up else 1)
    return _list(request, tool.agent, focus=tool, focus_on="up" if up else "down")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tool(request: HttpRequest, tool_id: int) -> HttpResponse:
    """The page of one tool; POST saves its form and answers with what that changes."""
    found = tool_of(request, tool_id)
    if request.method != "POST":
        return _one(request, found)
    saved = save_form(request, found)
    if "HX-Request" in request.headers:
        return render(request, "authoring/tools_saved.html", saved)
    if not saved["problems"]:
        return redirect("tool", found.pk)
    return render(request, "authoring/tools_one.html", saved, status=422)


@require_POST
@login_required
def parameters(request: HttpRequest, tool_id: int) -> HttpResponse:
    """The parameters as they are typed, turned from rows to JSON or back; nothing is saved."""
    found = tool_of(request, tool_id)
    typed = request.POST
    schema, problems = schema_rows.schema_in(typed)
    draft = replace(tools.draft_of(found), parameters=schema)
    if typed.get("parameters_as") == "json":
        text = typed.get("parameters", "") if problems else None
        context = tool_pages.parameters(draft, text)
    elif problems:
        context = tool_pages.parameters(draft) | {"rows": tool_pages.numbered(schema_rows.rows_in(typed))}
    else:
        context = tool_pages.parameters(draft, schema_check.written(schema, indent=2))
    context |= {"tool": found, "parameter_problems": problems, "turned": not problems}
    return render(request, "authoring/tools_parameters.html", context)


def save_form(request: HttpRequest, found: Tool) -> dict[str, Any]:
    """Save the form of a tool's page; what the page is to show of it, problems among it."""
    draft, problems = tool_forms.draft_in(request.POST.dict(), found)
    conflict = changed = False
    before = found.parameters
    if not problems:
        seen = "" if request.POST.get("act") == "mine" else request.POST.get("was-tool", "")
        try:
            changed = tool_saving.save(found, draft, seen=seen)
        except Refused as refused:
            problems = list(refused.problems)
        except Conflict:
            conflict = True
            problems = [Problem("conflict", "")]
    if changed:
        found = Tool.objects.select_related("agent", "table").get(pk=found.pk)
    shown = draft if problems else None
    context = tool_pages.context(found, shown, [] if conflict else problems)
    new_form = changed and not schema_rows.same(before, found.parameters)
    more = {"problems": problems, "conflict": conflict, "oob": True, "new_form": new_form}
    if conflict:
        more["mark"] = request.POST.get("was-tool", "")
    return context | more


def _one(request: HttpRequest, found: Tool) -> HttpResponse:
    return render(request, "authoring/tools_one.html", tool_pages.context(found))


def page_of(request: HttpRequest, agent: Agent, status: int = 200, **more: Any) -> HttpResponse:
    """The page of an agent's tools; `more` says what was refused and what was typed."""
    context = {
        **wizard.context(agent, "tools"),
        **_listed(agent),
        "authored": agent.environment == AUTHORED,
        "specs": tool_pages.built_in(agent),
        "tables": agent.tables.filter(LIVING),
        "kinds": tool_pages.KINDS,
        "examples": EXAMPLES,
        "programs": servers.allowed(),
        "advice": tools.advice(agent),
        **more,
    }
    return render(request, "authoring/tools.html", context, status=status)


def _just_removed(agent: Agent, number: str) -> Tool | None:
    """The tool in the bin that an address names, to offer its way back."""
    key = int(number) if number.isascii() and number.isdecimal() and len(number) < 16 else 0
    return agent.tools.exclude(LIVING).filter(pk=key).first()


def _listed(agent: Agent) -> dict[str, Any]:
    return {"agent": agent, "lines": tool_pages.lines_of(agent), "bin": tool_pages.removed_of(agent)}


def _list(request: HttpRequest, agent: Agent, **more: Any) -> HttpResponse:
    """The list alone, for a page that shows it; the whole page for a browser without scripts."""
    if "HX-Request" not in request.headers:
        return redirect("tools", agent.pk)
    agent.refresh_from_db()
    context = {**wizard.context(agent, "tools"), **_listed(agent), "authored": True, "oob": True, **more}
    return render(request, "authoring/tools_list.html", context)
