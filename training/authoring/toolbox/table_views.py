"""Pages of uploaded tables: taking a file in, how it was read, its types, and what the agent may change."""

from __future__ import annotations

from typing import Any, cast, get_args

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from gpu_worker.tools.tables.plans import WRITES, standard_plans
from gpu_worker.tools.tables.sheet import Kind, columns_of
from gpu_worker.types import AUTHORED
from training.access import agent_of, table_of
from training.authoring.office import errands
from training.authoring.toolbox import calls, tables, tool_saving, tool_views, uploads
from training.authoring.toolbox.schema_rows import Problem
from training.authoring.toolbox.tool_pages import DOES_TITLES, tested_of
from training.authoring.toolbox.tools import Draft
from training.models import LIVING, Errand, TableFile, Tool

TYPES: dict[str, str | Promise] = {
    "text": gettext_lazy("text"),
    "whole number": gettext_lazy("whole number"),
    "number": gettext_lazy("number"),
    "date": gettext_lazy("date"),
    "yes/no": gettext_lazy("yes or no"),
}
READINGS = ("encoding", "delimiter", "sheet")
"""How a file was read, where somebody may know better."""


@require_POST
@login_required
def upload(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Keep a file for the desk, which makes a table and its tools of it."""
    agent = agent_of(request, agent_id)
    if agent.environment != AUTHORED:
        text = _("This agent's tools come with its task and cannot be changed.")
        return tool_views.page_of(request, agent, status=422, refused=[Problem("kind", text)])
    try:
        kept, filename = uploads.keep(cast(UploadedFile | None, request.FILES.get("file")))
    except uploads.Unwelcome as unwelcome:
        refused = [Problem("new-table", str(unwelcome))]
        return tool_views.page_of(request, agent, status=422, refused=refused, opened="table")
    told = {"upload": kept, "filename": filename, "writes": "writes" in request.POST}
    errand = errands.start(owner=agent.owner, kind="read_table", agent=agent, **told)
    return _under_way(calls.settled(errand), reverse("tools", args=[agent.pk]))


@require_safe
@login_required
def table(request: HttpRequest, table_id: int) -> HttpResponse:
    found = table_of(request, table_id)
    tools = found.tools.filter(LIVING) if found.deleted_at is None else found.tools.none()
    context = {
        "agent": found.agent,
        "table": found,
        "types": [(name, TYPES[name]) for name in get_args(Kind)],
        "readings": [(name, found.reading[name]) for name in READINGS if found.reading.get(name)],
        "sheets": found.reading.get("sheets", ()),
        "tools": [(tool, DOES_TITLES[tool.settings["does"]], tested_of(tool)) for tool in tools],
        "writes": any(tool.settings["does"] in WRITES for tool in tools),
    }
    return render(request, "authoring/tools_table.html", context)


@require_POST
@login_required
def reread(request: HttpRequest, table_id: int) -> HttpResponse:
    """Have the file read again with other types, another encoding, delimiter or sheet."""
    found = table_of(request, table_id)
    if found.deleted_at is not None:
        return redirect("table", found.pk)
    types = {
        column["name"]: typed
        for at, column in enumerate(found.columns)
        if (typed := request.POST.get(f"type-{at}", "")) in TYPES and typed != column["type"]
    }
    hints: dict[str, Any] = {"types": types} if types else {}
    for name in READINGS:
        typed = request.POST.get(name, "").strip()[:60]
        if typed and typed != str(found.reading.get(name, "")):
            hints[name] = "\t" if typed == "tab" else typed
    if not hints:
        return redirect("table", found.pk)
    errand = errands.start(
        owner=found.agent.owner, kind="reread_table", agent=found.agent, table=found.pk, hints=hints
    )
    return _under_way(calls.settled(errand), reverse("tools", args=[found.agent_id]))


@require_POST
@login_required
def writes(request: HttpRequest, table_id: int) -> HttpResponse:
    """Let the agent change the table, in a copy that belongs to one try, or no longer."""
    found = table_of(request, table_id)
    has = [tool for tool in found.tools.filter(LIVING) if tool.settings["does"] in WRITES]
    if "writes" not in request.POST:
        for tool in has:
            tool_saving.remove(tool)
    elif not has and found.deleted_at is None:
        _add_writes(found)
    return redirect("table", found.pk)


@require_POST
@login_required
def remove(request: HttpRequest, table_id: int) -> HttpResponse:
    found = table_of(request, table_id)
    tables.remove(found)
    tool_saving.edited(found.agent)
    return redirect("table", found.pk)


@require_POST
@login_required
def restore(request: HttpRequest, table_id: int) -> HttpResponse:
    found = table_of(request, table_id)
    if found.deleted_at is not None and not tables.bring_back(found):
        text = _("Other tools have these names now: rename or remove them first.")
        context = {"agent": found.agent, "table": found, "refused": [Problem("name", text)]}
        return render(request, "authoring/tools_table.html", context, status=422)
    tool_saving.edited(found.agent)
    return redirect("table", found.pk)


def _add_writes(found: TableFile) -> None:
    called = found.filename.rpartition(".")[0] or found.filename
    plans = standard_plans(
        called, columns_of(found.columns), sha256=found.sha256, writes=True, called=found.name
    )
    for plan in plans:
        if plan.settings["does"] in WRITES:
            name = tool_saving.free_name(found.agent, plan.spec.name)
            draft = Draft(
                Tool.Kind.TABLE, name, plan.spec.description, plan.spec.parameters, dict(plan.settings)
            )
            tool_saving.add(found.agent, draft, suggested=True, table=found)


def _under_way(errand: Errand, wanted: str) -> HttpResponse:
    """To where it leads, if it is done already, else to its own page."""
    if errand.state == Errand.State.DONE:
        return redirect("table", errand.result["table"])
    return redirect(f"{reverse('errand', args=[errand.pk])}?next={wanted}")
