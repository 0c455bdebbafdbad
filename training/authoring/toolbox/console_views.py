"""The console on a tool's page: calling it, watching the call, keeping calls as examples and tests."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from training.access import tool_of
from training.authoring.toolbox import calls, console_form, tool_pages
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_saving import Refused
from training.authoring.toolbox.tool_views import save_form
from training.models import Errand, Tool, ToolCall


@require_POST
@login_required
def call(request: HttpRequest, tool_id: int) -> HttpResponse:
    """Call the tool. A form that is sent along is saved first; what cannot be saved is not called."""
    tool = tool_of(request, tool_id)
    saved: dict[str, Any] | None = None
    if "was-tool" in request.POST:
        saved = save_form(request, tool)
        if saved["problems"]:
            return _result(request, tool, saved=saved, unsaved=True, status=422)
        tool = saved["tool"]
    typed = request.POST.dict()
    arguments, problems = console_form.arguments_of(tool.parameters, typed)
    if problems:
        return _result(request, tool, saved=saved, typed=typed, refused=problems, status=422)
    try:
        errand = calls.start(tool, arguments, fault=typed.get("fault", ""), live="live" in typed)
    except Refused as refused:
        return _result(request, tool, saved=saved, typed=typed, refused=refused.problems, status=422)
    return _result(request, tool, saved=saved, errand=calls.settled(errand))


@require_safe
@login_required
def results(request: HttpRequest, tool_id: int) -> HttpResponse:
    """What came of the last calls; asked for again when one that was under way is over."""
    return _result(request, tool_of(request, tool_id))


@require_POST
@login_required
def run_tests(request: HttpRequest, tool_id: int) -> HttpResponse:
    """Make every call again that was kept as a test."""
    tool = tool_of(request, tool_id)
    try:
        errand = calls.settled(calls.start_tests(tool))
    except Refused as refused:
        return _result(request, tool, refused=refused.problems, status=422)
    return _result(request, tool, errand=errand)


@require_POST
@login_required
def keep(request: HttpRequest, call_id: int) -> HttpResponse:
    """Keep a call as an example or a test, or keep it no longer."""
    own = ToolCall.objects.select_related("tool__agent", "tool__table")
    found = get_object_or_404(own, pk=call_id, tool__agent__owner=request.user)
    kind = request.POST.get("as", "")
    try:
        if kind:
            calls.keep(found, kind)
        else:
            calls.let_go(found)
    except Refused as refused:
        return _result(request, found.tool, refused=refused.problems, status=422)
    tool = tool_of(request, found.tool.pk)
    if kind == "example":
        return _result(
            request, tool, saved=tool_pages.context(tool) | {"oob": True, "examples_changed": True}
        )
    return _result(request, tool)


def _result(
    request: HttpRequest,
    tool: Tool,
    *,
    saved: dict[str, Any] | None = None,
    typed: dict[str, str] | None = None,
    refused: tuple[Problem, ...] | list[Problem] = (),
    errand: Errand | None = None,
    unsaved: bool = False,
    status: int = 200,
) -> HttpResponse:
    """The console's answer, or, for a browser without scripts, the tool's page."""
    if "HX-Request" not in request.headers:
        if status == 200:
            return redirect("tool", tool.pk)
        context = tool_pages.context(tool) | tool_pages.console(tool, typed) | {"refused": refused}
        return render(request, "authoring/tools_one.html", context, status=status)
    tool = Tool.objects.select_related("agent", "table").get(pk=tool.pk)
    context = tool_pages.context(tool) | tool_pages.console(tool, typed)
    if saved and (saved["problems"] or saved.get("examples_changed")):
        context |= saved | tool_pages.console(tool, typed)
    if errand is not None and errand.state == Errand.State.DONE:
        context |= tool_pages.outcome(tool, errand.result)
    elif errand is not None:
        context["errand"] = errand
    context |= {"refused": refused, "unsaved": unsaved, "saved": saved is not None, "oob": True}
    return render(request, "authoring/tools_called.html", context, status=status)
