"""The page of the system prompt: written, proposed, and shown as the model reads it."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from training.access import agent_of
from training.authoring.guide import saving, wizard
from training.authoring.guide.saving import Outcome
from training.authoring.office import errands
from training.authoring.studio import audit, prompt
from training.models import LIVING, Agent, Errand, Scenario

PAGE = wizard.Page(
    "prompt",
    _("System prompt"),
    _("What the agent is told first, and the whole prompt as the model reads it."),
    lambda agent: [],
    (prompt.FIELD,),
)


@require_safe
@login_required
def page(request: HttpRequest, agent_id: int) -> HttpResponse:
    return render(request, "authoring/prompt.html", _context(agent_of(request, agent_id)))


@require_POST
@login_required
def save(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Save the prompt if it was changed; what is wrong with it, or with a second tab, is said beside it."""
    agent = agent_of(request, agent_id)
    outcome = saving.save(agent, [prompt.FIELD], request.POST.dict())
    if "HX-Request" in request.headers:
        return render(request, "authoring/_saved.html", _context(agent, outcome) | {"oob": True})
    if outcome.clean:
        return redirect("prompt", agent.pk)
    return render(request, "authoring/prompt.html", _context(agent, outcome), status=422)


@require_POST
@login_required
def propose(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Fill in a proposal made from the description."""
    agent = agent_of(request, agent_id)
    prompt.propose(agent, _person(request))
    return redirect("prompt", agent.pk)


@require_POST
@login_required
def final(request: HttpRequest, agent_id: int) -> HttpResponse:
    """The prompt as the model reads it, or the errand that finds it out."""
    agent = agent_of(request, agent_id)
    chosen = request.POST.get("scenario", "")
    scenario = _scenario(agent, chosen) if chosen else None
    errand = errands.look_after(prompt.final(agent, _person(request), scenario))
    context = {"agent": agent, "errand": errand, "done": errand.state == Errand.State.DONE}
    return render(request, "authoring/_prompt_final.html", context)


def _scenario(agent: Agent, chosen: str) -> Scenario:
    number = int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 16 else 0
    return get_object_or_404(Scenario, LIVING, agent=agent, pk=number)


def _context(agent: Agent, outcome: Outcome | None = None) -> dict[str, Any]:
    drawn = {one.field.name: one for one in saving.shown(agent, [prompt.FIELD], outcome)}
    frame = wizard.context(agent, "describe")
    scenarios = [(row.pk, audit.asked(row.messages)) for row in prompt.examples(agent)]
    about = {"page": PAGE, "needs": [], "previous": frame["steps"][0]}
    return frame | about | {"fields": drawn, "outcome": outcome, "scenarios": scenarios}


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
