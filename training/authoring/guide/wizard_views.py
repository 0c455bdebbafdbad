"""The pages of the wizard that are plain forms, and the buttons for all suggestions at once."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from training.access import agent_of
from training.authoring.guide import changes, compute, saving, suggestions, wizard
from training.authoring.guide.saving import Outcome
from training.authoring.launch import presets
from training.authoring.office import errands
from training.judges import rubrics
from training.models import Agent, Errand

DRAFT = "draft"
"""The kind of errand that fills pages from the description."""


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def page(request: HttpRequest, agent_id: int, slug: str) -> HttpResponse:
    """A page that is nothing but fields; POST saves what was changed and answers with what that changes."""
    agent = agent_of(request, agent_id)
    if request.method != "POST":
        return _page(request, agent, slug)
    outcome = saving.save(agent, wizard.page_called(slug).fields, request.POST.dict())
    if request.POST.get("act") == "draft" and not _draft(agent)["drafting_now"]:
        errands.start(owner=agent.owner, kind=DRAFT, agent=agent)
    if "HX-Request" in request.headers:
        answer = render(request, "authoring/_saved.html", _context(agent, slug, outcome) | {"oob": True})
        if slug == "reward" and outcome.saved:
            answer["HX-Trigger"] = "reward-saved"
        return answer
    return redirect(slug, agent.pk) if outcome.clean else _page(request, agent, slug, outcome)


@require_POST
@login_required
def keep_suggestions(request: HttpRequest, agent_id: int) -> HttpResponse:
    """Everything that was filled for the person stays as it is."""
    agent = agent_of(request, agent_id)
    suggestions.keep_all(agent)
    wanted = request.POST.get("page", "")
    known = wanted in {known.slug for known in wizard.PAGES}
    return redirect(wizard.address(agent, wanted if known else "describe"))


@require_safe
@login_required
def versions(request: HttpRequest, agent_id: int) -> HttpResponse:
    agent = agent_of(request, agent_id)
    return render(request, "authoring/versions.html", {"agent": agent, "entries": changes.history(agent)})


def _draft(agent: Agent) -> dict[str, object]:
    """The draft that is being written, how the last one failed, and the themes of the last that did not."""
    drafts = Errand.objects.filter(agent=agent, kind=DRAFT)
    newest, done = drafts.first(), drafts.filter(state=Errand.State.DONE).first()
    return {
        "drafting": newest if newest and newest.state != Errand.State.DONE else None,
        "drafting_now": newest is not None and newest.state not in Errand.OVER,
        "themes": done.result.get("themes", []) if done else [],
        "page_url": wizard.address(agent, "describe"),
    }


def _page(request: HttpRequest, agent: Agent, slug: str, outcome: Outcome | None = None) -> HttpResponse:
    status = 422 if outcome else 200
    return render(request, f"authoring/{slug}.html", _context(agent, slug, outcome), status=status)


def _context(agent: Agent, slug: str, outcome: Outcome | None) -> dict[str, object]:
    context = wizard.context(agent, slug)
    drawn = {one.field.name: one for one in saving.shown(agent, context["page"].fields, outcome)}
    context |= {"fields": drawn, "outcome": outcome}
    if slug == "describe":
        context |= _draft(agent)
    if slug == "reward":
        context["reward_knobs"] = [drawn[known.name] for known in compute.REWARD]
        context["rubric_history"] = rubrics.history(agent)
    if slug == "compute":
        context["presets"] = presets.of(agent.owner).exists()
        context["simple"] = [drawn[known.name] for known in compute.SIMPLE]
        context["shelves"] = [
            {"title": shelf.title, "fields": [drawn[known.name] for known in shelf.fields]}
            for shelf in compute.ADVANCED
        ]
    return context
