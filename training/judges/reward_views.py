"""Parts of the page "Reward": the versions of the rubric, and what the reward would change."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from training.access import agent_of
from training.authoring.guide import saving
from training.authoring.guide.fields import FIELDS
from training.authoring.launch.budget_views import dollars_of
from training.authoring.office import errands
from training.judges import reward_preview, rubrics
from training.judges.lab.cost import foretold
from training.judges.lab.questions import KIND, Hearing
from training.models import Agent, Errand
from training.runs.services import Refused

USUAL_CAP = "1"


@require_safe
@login_required
def preview(request: HttpRequest, agent_id: int) -> HttpResponse:
    return _preview(request, agent_of(request, agent_id))


@require_POST
@login_required
def ask(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Have the judge look at the newest groups again, by the rubric as it is saved."""
    agent = agent_of(request, agent_id)
    found, typed = reward_preview.preview(agent), request.POST.get("cap", "")
    try:
        cap = dollars_of(typed or USUAL_CAP)
    except Refused as refused:
        return _preview(request, agent, refusal=str(refused), cap=typed[:20])
    if found and found.unasked and _under_way(agent) is None:
        hearing = Hearing(found.unasked, [agent.judge_model], [agent.rubric], flips=False, repeats=0)
        told: dict[str, Any] = {"run": found.run.pk, "cap": cap, **hearing.arguments}
        errands.start(owner=agent.owner, kind=KIND, agent=agent, **told)
    return _preview(request, agent) if "HX-Request" in request.headers else redirect("reward", agent.pk)


@require_POST
@login_required
def keep(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Keep the rubric as a version; what was typed and not saved yet is saved first."""
    agent = agent_of(request, agent_id)
    if "rubric" in request.POST:
        field = FIELDS["rubric"]
        posted = {"rubric": request.POST["rubric"], "was-rubric": saving.shown(agent, [field])[0].was}
        saving.save(agent, [field], posted)
    person = _person(request)
    version = rubrics.keep(agent, author=person, note=request.POST.get("note", ""))
    said = _("Version %(number)s is kept.") % {"number": version.number} if version else ""
    said = said or _("The default is always there; write a rubric of your own to keep versions of it.")
    if "HX-Request" not in request.headers:
        messages.success(request, said)
        return redirect("reward", agent.pk)
    context = {"agent": agent, "rubric_history": rubrics.history(agent), "kept": said}
    return render(request, "judges/_rubric_history.html", context)


@require_POST
@login_required
def take_back(request: HttpRequest, agent_id: int, number: int) -> HttpResponse:
    """Use an earlier version again, or the default (0). What is in use now is kept, so that can be undone."""
    agent = agent_of(request, agent_id)
    text = get_object_or_404(agent.rubrics, number=number).text if number else ""
    rubrics.take_back(agent, text, author=_person(request))
    told = {"number": number}
    said = (
        _("Version %(number)s of the rubric is in use again.") % told
        if number
        else _("The default is in use.")
    )
    messages.success(request, said)
    return redirect("reward", agent.pk)


def _preview(request: HttpRequest, agent: Agent, **more: Any) -> HttpResponse:
    found = reward_preview.preview(agent)
    newest = Errand.objects.filter(agent=agent, kind=KIND).first()
    context: dict[str, Any] = {"agent": agent, "preview": found, "preview_shown": True, "cap": USUAL_CAP}
    context["errand"] = _under_way(agent)
    context["failed"] = newest if newest and newest.state == Errand.State.FAILED else None
    if found and found.unasked:
        hearing = Hearing(found.unasked, [agent.judge_model], [agent.rubric], flips=False, repeats=0)
        context["foretold"] = foretold(hearing, agent.owner)
    return render(request, "judges/_reward_preview.html", context | more)


def _under_way(agent: Agent) -> Errand | None:
    going = Errand.objects.filter(agent=agent, kind=KIND).exclude(state__in=Errand.OVER).first()
    return errands.look_after(going) if going else None


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
