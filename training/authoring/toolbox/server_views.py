"""Borrowing tools from an MCP server: asking it what it has, and taking some of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from training.access import agent_of
from training.authoring.toolbox import calls, servers
from training.authoring.toolbox.tool_saving import Refused
from training.models import Agent, Errand


@require_POST
@login_required
def ask(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Ask a server for its tools; leads to the page that shows them."""
    agent = agent_of(request, agent_id)
    typed = {name: request.POST.get(name, "").strip() for name in ("url", "program", "header")}
    try:
        errand = servers.ask(agent, **typed)
    except Refused as refused:
        context = {"agent": agent, "refused": refused.problems, "typed": typed, "programs": servers.allowed()}
        return render(request, "authoring/tools_server.html", context, status=422)
    calls.settled(errand)
    return redirect("mcp_tools", agent.pk, errand.pk)


@require_safe
@login_required
def offered(request: HttpRequest, agent_id: int, errand_id: int) -> HttpResponse:
    """What a server offers, to pick from."""
    agent = agent_of(request, agent_id)
    listing = _listing(agent, errand_id)
    typed = servers.typed_of(listing["errand"])
    context = {"agent": agent, "typed": typed, "programs": servers.allowed(), **listing}
    return render(request, "authoring/tools_server.html", context)


@require_POST
@login_required
def take(request: HttpRequest, agent_id: int, errand_id: int) -> HttpResponse:
    """Add the tools that were picked."""
    agent = agent_of(request, agent_id)
    listing = _listing(agent, errand_id)
    try:
        servers.take(agent, listing["errand"], request.POST.getlist("pick"))
    except Refused as refused:
        context = {**listing, "agent": agent, "refused": refused.problems}
        return render(request, "authoring/tools_server.html", context, status=422)
    return redirect("tools", agent.pk)


def _listing(agent: Agent, errand_id: int) -> dict[str, Errand]:
    own = Errand.objects.filter(agent=agent, owner=agent.owner, kind="list_mcp")
    return {"errand": get_object_or_404(own, pk=errand_id)}
