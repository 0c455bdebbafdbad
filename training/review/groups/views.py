"""A group's page: the tries of one scenario side by side."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from training.access import group_of
from training.models import Score
from training.review.groups import queries

LONGEST_NUMBER = 6


@require_safe
@login_required
def group(request: HttpRequest, group_id: int) -> HttpResponse:
    """?with=3 compares with the try of that index; ?t=3 is the script's, which shows that try first."""
    found = group_of(request, group_id)
    assert isinstance(request.user, User)
    wanted = request.GET.get("with", "")
    compared_with = int(wanted) if wanted.isdecimal() and len(wanted) <= LONGEST_NUMBER else None
    view = queries.group_view(found, request.user, compared_with)
    shown = {"view": view, "run": found.run, "uses": Score.Use.choices}
    return render(request, "review/group.html", shown)


@require_safe
@login_required
def message(request: HttpRequest, group_id: int, index: int, number: int) -> HttpResponse:
    """One message of a try in full, for the cell that shows its beginning."""
    turn = queries.message_of(group_of(request, group_id), index, number)
    if turn is None:
        raise Http404
    return render(request, "review/_message.html", {"turn": turn})
