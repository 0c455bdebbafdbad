"""What a person can ask of the line of waiting runs: another place in it for one of their own."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from training.access import run_of
from training.runs import line, queries

MOST_DIGITS = 6


@require_POST
@login_required
def place(request: HttpRequest, run_id: int) -> HttpResponse:
    """Move a waiting run to the place `to` among this person's own, counted from 0."""
    run = run_of(request, run_id)
    assert isinstance(request.user, User)
    text = request.POST.get("to", "").removeprefix("-")
    to = int(request.POST["to"]) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
    if line.move(run, to):
        moved = _("%(name)s is number %(place)s in line now.") % {
            "name": run.name,
            "place": line.place_of(run),
        }
    else:
        moved = _("%(name)s is not waiting any more.") % {"name": run.name}
    if "HX-Request" not in request.headers:
        return redirect("home")
    return render(request, "runs/_runs.html", {**queries.home(request.user), "moved": moved})
