"""The review page: everything at a glance, checked, tried, and started."""

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from gpu_worker.types import Job
from training.access import agent_of
from training.authoring.guide import wizard
from training.authoring.launch import estimate, preflight, presets, smoke, summary
from training.authoring.launch.budget_views import dollars_of
from training.authoring.launch.measured import last_smoke
from training.authoring.office import errands
from training.models import Agent, Preset
from training.runs import services

LONGEST_STEM = 60


@require_safe
@login_required
def review(request: HttpRequest, agent_id: int) -> HttpResponse:
    return _page(request, agent_of(request, agent_id))


@require_POST
@login_required
def start(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Start a run, or show what keeps it from starting. The same request again leads to the same run."""
    agent = agent_of(request, agent_id)
    person, request_id = _person(request), request.POST.get("request_id", "")[:64]
    earlier = services.started_by(owner=person, request_id=request_id) if request_id else None
    if earlier is not None:
        return redirect("run", earlier.pk)
    typed = {"name": request.POST.get("name", ""), "budget": request.POST.get("budget", "")}
    found = preflight.checks(agent, estimate.of(agent))
    if preflight.blocking(found):
        return _page(request, agent, **typed, refusal=_("Mend what is marked below, then start."), status=422)
    try:
        run = services.start_run(
            owner=person,
            agent=agent,
            name=typed["name"],
            config={"budget": dollars_of(typed["budget"] or "0")},
            request_id=request_id or uuid.uuid4().hex,
        )
    except services.Refused as refused:
        return _page(request, agent, **typed, refusal=str(refused), status=422)
    return redirect("run", run.pk)


@require_POST
@login_required
def try_it(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Begin a smoke try, unless one goes on."""
    agent = agent_of(request, agent_id)
    if preflight.under_way(agent, "smoke") is None:
        errands.start(owner=_person(request), kind="smoke", agent=agent)
    return _part(request, agent, "authoring/_smoke.html", _smoke(agent))


@require_safe
@login_required
def smoke_part(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    return _part(request, agent, "authoring/_smoke.html", _smoke(agent))


@require_POST
@login_required
def inspect(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Have the desk ask the judge and look for a worker, unless it does so already."""
    agent = agent_of(request, agent_id)
    if preflight.under_way(agent, "inspect") is None:
        errands.start(owner=_person(request), kind="inspect", agent=agent)
    return _part(request, agent, "authoring/_checks.html", _checks(agent))


@require_safe
@login_required
def checks_part(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    return _part(request, agent, "authoring/_checks.html", _checks(agent))


@require_POST
@login_required
def save_preset(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    name = request.POST.get("preset", "")
    try:
        preset = presets.save(agent=agent, name=name)
    except presets.Refused as refused:
        return _page(request, agent, preset_name=name, preset_refusal=str(refused), status=422)
    return _told(request, agent, _("Saved the settings as “%(name)s”.") % {"name": preset.name})


@require_POST
@login_required
def apply_preset(request: HttpRequest, agent_id: int, preset_id: int) -> HttpResponse:
    agent, preset = agent_of(request, agent_id), _preset(request, preset_id)
    try:
        presets.apply(preset, agent)
    except presets.Refused as refused:
        return _page(request, agent, preset_refusal=str(refused), status=422)
    return _told(request, agent, _("The settings are those of “%(name)s” now.") % {"name": preset.name})


@require_POST
@login_required
def delete_preset(request: HttpRequest, agent_id: int, preset_id: int) -> HttpResponse:
    agent, preset = agent_of(request, agent_id), _preset(request, preset_id)
    undo = presets.delete(preset)
    return _told(request, agent, _("Deleted the preset “%(name)s”.") % {"name": preset.name}, undo=undo)


@require_POST
@login_required
def restore_preset(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    back = presets.bring_back(_person(request), request.POST.get("undo", ""))
    if back is None:
        return _told(request, agent, _("It cannot be brought back any more."))
    return _told(request, agent, _("The preset “%(name)s” is back.") % {"name": back.name})


def _page(request: HttpRequest, agent: Agent, status: int = 200, **shown: Any) -> HttpResponse:
    stem = slugify(agent.name, allow_unicode=True)[:LONGEST_STEM] or "run"
    context = {
        **wizard.context(agent, "review"),
        **_checks(agent),
        **_smoke(agent),
        "summary": summary.of(agent),
        "presets": presets.of(_person(request)),
        "name": services.free_name(_person(request), stem),
        "budget": f"{agent.config.get('budget', Job.budget):g}",
        "request_id": uuid.uuid4().hex,
        "preset_told": request.session.pop("preset-told", None),
        **shown,
    }
    return render(request, "authoring/review.html", context, status=status)


def _checks(agent: Agent) -> dict[str, Any]:
    found = preflight.checks(agent, estimate.of(agent))
    return {
        "agent": agent,
        "checks": found,
        "blocking": preflight.blocking(found),
        "inspecting": preflight.under_way(agent, "inspect"),
        "inspected": preflight.inspection(agent),
    }


def _smoke(agent: Agent) -> dict[str, Any]:
    newest = last_smoke(agent)
    found: dict[str, Any] = {"agent": agent, "trying": preflight.under_way(agent, "smoke"), "smoked": newest}
    if newest is not None:
        found["verdict"] = smoke.verdict(newest.result)
        found["smoke_groups"] = smoke.groups_of(newest.result)
        found["smoke_is_old"] = smoke.stale(agent, newest.result)
    return found


def _part(request: HttpRequest, agent: Agent, template: str, context: dict[str, Any]) -> HttpResponse:
    """A part of the page; the whole page for a browser without scripts."""
    if "HX-Request" not in request.headers:
        return redirect(wizard.address(agent, "review"))
    return render(request, template, context)


def _told(request: HttpRequest, agent: Agent, sentence: str, undo: str = "") -> HttpResponse:
    """The page again, at its own address, with one sentence about what was done."""
    request.session["preset-told"] = {"says": sentence, "undo": undo}
    return redirect(wizard.address(agent, "review") + "#presets")


def _preset(request: HttpRequest, preset_id: int) -> Preset:
    return get_object_or_404(Preset, pk=preset_id, owner=_person(request))


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
