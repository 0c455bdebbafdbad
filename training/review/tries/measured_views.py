"""Asking for the tokens of a try to be measured. What came out is shown by the token view itself."""

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from training.access import trajectory_of
from training.models import Trajectory
from training.review.tries import measured as service

SHOWN = ("table", "segment", "start")
"""What of an address says which tokens are shown, and how."""


@require_POST
@login_required
def measure(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    """Have a checkpoint measure the tokens; back to those that were shown."""
    found = trajectory_of(request, trajectory_id)
    assert isinstance(request.user, User)
    step = request.POST.get("step", "")
    try:
        service.start(found, owner=request.user, step=int(step) if step.isdecimal() and len(step) < 9 else -1)
    except service.NotMeasured as refused:
        messages.error(request, str(refused))
    return redirect(f"{reverse('trajectory', args=[found.pk])}?{place_of(request)}#measured")


def shown(request: HttpRequest, found: Trajectory) -> dict[str, object]:
    """For the token view. What is done leads to an address of its own, so that the page is loaded anew."""
    told, here = service.measured(found), place_of(request)
    done = f"{request.path}?{here}&measured={told.errand.pk}#measured" if told.errand else ""
    return {"measured": told, "here": here, "measured_next": done}


def place_of(request: HttpRequest) -> str:
    """The query of the token view that shows the same tokens."""
    kept = {name: request.GET[name] for name in SHOWN if request.GET.get(name, "").isdecimal()}
    return urlencode({"view": "tokens", **kept})
