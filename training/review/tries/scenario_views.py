"""Making a scenario of a try, and taking that back."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from training.access import trajectory_of
from training.authoring.studio.scenarios import SPLITS, Refused
from training.models import Trajectory
from training.review.tries import replay, scenario_of_try


@require_POST
@login_required
def make(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    try:
        made = scenario_of_try.make(
            found, before=_whole(request.POST.get("before")), split=request.POST.get("split", "")
        )
    except Refused as refused:
        return _answer(request, found, 422, complaint=str(refused))
    return _answer(request, found, made=made)


@require_POST
@login_required
def undo(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    found = trajectory_of(request, trajectory_id)
    gone = scenario_of_try.undo(found.run.agent, _whole(request.POST.get("scenario")))
    return _answer(request, found, undone=gone)


def _answer(request: HttpRequest, found: Trajectory, status: int = 200, **context: object) -> HttpResponse:
    """The form with what became of it; a page of its own for a browser without scripts."""
    context |= {"trajectory": found, "run": found.run, "group": found.group, "splits": SPLITS.items()}
    context["choices"] = replay.choices(found)
    part = "HX-Request" in request.headers
    template = "review/_scenario_of_try.html" if part else "review/scenario_of_try.html"
    return render(request, template, context, status=status)


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else -1
