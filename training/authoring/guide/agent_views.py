"""The list of agents, the gallery, and what is done with a whole agent: begin, copy, bin, bring back."""

from typing import cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from training.access import agent_of
from training.authoring.guide import agents as all_agents
from training.authoring.guide import gallery, wizard
from training.authoring.office import errands
from training.authoring.toolbox import uploads


@require_safe
@login_required
def agents(request: HttpRequest) -> HttpResponse:
    """All agents; the one that was just thrown away can be brought back from here."""
    owner = _person(request)
    gone = all_agents.just_thrown_away(owner, request.GET.get("gone", ""))
    return render(request, "authoring/agents.html", {"lines": all_agents.lines(owner), "gone": gone})


@require_safe
@login_required
def new_agent(request: HttpRequest) -> HttpResponse:
    return _gallery(request)


@require_POST
@login_required
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    """A new agent as the card says; at the desk where that takes a while."""
    try:
        card = gallery.card_called(slug)
    except KeyError:
        raise Http404 from None
    if card.make is None:
        raise Http404
    if card.at_the_desk:
        errand = errands.start(owner=_person(request), kind="from_template", card=slug)
        return redirect("errand", errand.pk)
    return redirect(wizard.address(card.make(_person(request)), card.leads_to))


@require_POST
@login_required
def begin_with_file(request: HttpRequest) -> HttpResponse:
    """A new agent from an uploaded table, read at the desk."""
    file = cast(UploadedFile | None, request.FILES.get("file"))
    try:
        upload, filename = uploads.keep(file)
    except uploads.Unwelcome as unwelcome:
        return _gallery(request, refusal=str(unwelcome), status=422)
    errand = errands.start(owner=_person(request), kind="from_csv", upload=upload, filename=filename)
    return redirect("errand", errand.pk)


@require_POST
@login_required
def duplicate(request: HttpRequest, agent_id: int) -> HttpResponse:
    return redirect("describe", all_agents.duplicate(agent_of(request, agent_id)).pk)


@require_POST
@login_required
def throw_away(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    all_agents.throw_away(agent)
    response = redirect("agents")
    response["Location"] += f"?gone={agent.pk}"
    return response


@require_POST
@login_required
def bring_back(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = all_agents.just_thrown_away(_person(request), str(agent_id))
    if agent is not None:
        all_agents.bring_back(agent)
    return redirect("agents")


def _gallery(request: HttpRequest, refusal: str = "", status: int = 200) -> HttpResponse:
    context = {
        "cards": gallery.cards(),
        "refusal": refusal,
        "endings": ",".join(uploads.ENDINGS),
        "most": settings.UPLOAD_MAX_SIZE,
    }
    return render(request, "authoring/gallery.html", context, status=status)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
