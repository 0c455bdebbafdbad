"""The page on which a group is ranked by hand, and what judges said of it, told after."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from training.access import group_of
from training.judges.lab import queue
from training.judges.lab.ranking import to_rank
from training.judges.lab.sources import reasons, sources
from training.judges.lab.strips import strip
from training.judges.lab.verdicts import verdicts


@require_safe
@login_required
def lab_group(request: HttpRequest, group_id: int) -> HttpResponse:
    group = group_of(request, group_id)
    person = _person(request)
    selection = queue.selected(group.run, request.GET.dict())
    before, after = queue.beside(selection, group)
    context = {
        "view": to_rank(group, person),
        "run": group.run,
        "selection": selection,
        "place": selection.ids.index(group.pk) + 1 if group.pk in selection.ids else None,
        "before": before,
        "after": after,
        "progress": queue.progress(selection, person),
    }
    return render(request, "judges/lab_group.html", context)


@require_safe
@login_required
def lab_verdicts(request: HttpRequest, group_id: int) -> HttpResponse:
    """What everybody said of the group; asked for when it is ranked, or when nobody minds knowing."""
    group = group_of(request, group_id)
    person = _person(request)
    ways = sources([group], person, group.run.agent)
    selection = queue.selected(group.run, request.GET.dict())
    context = {
        "group": group,
        "strip": strip(group, ways),
        "verdicts": verdicts(group, ways, reasons(group, person)),
        "progress": queue.progress(selection, person),
    }
    return render(request, "judges/_lab_verdicts.html", context)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
