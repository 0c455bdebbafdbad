"""People's scores and rankings, posted from any page: scripts get JSON, browsers without them go back."""

import json
import math
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from training import access
from training.judges import human
from training.models import Group, Ranking, Score
from training.templatetags.figures import score as two_decimals

LONGEST_PLACES = 20_000
"""Characters of a ranking that are read at all."""


@require_POST
@login_required
def score_try(request: HttpRequest, trajectory_id: int) -> HttpResponse:
    """{value, reason, use}: a person's score beside the judge's."""
    trajectory = access.trajectory_of(request, trajectory_id)
    try:
        given = human.score(
            trajectory,
            value=_number(request.POST.get("value", "")),
            reason=request.POST.get("reason", ""),
            author=_person(request),
            use=request.POST.get("use", Score.Use.CALIBRATION),
        )
    except human.NotAScore as refused:
        return _refused(request, trajectory.group, str(refused))
    told = _("You scored this try %(value)s.") % {"value": two_decimals(given.value)}
    return _answer(request, trajectory.group, _told_score(given, told))


@require_POST
@login_required
def withdraw_score(request: HttpRequest, score_id: int) -> HttpResponse:
    given = access.human_score_of(request, score_id)
    human.withdraw(given)
    told = _("Your score %(value)s was taken back.") % {"value": two_decimals(given.value)}
    return _answer(request, given.trajectory.group, _told_score(given, told))


@require_POST
@login_required
def restore_score(request: HttpRequest, score_id: int) -> HttpResponse:
    given = access.human_score_of(request, score_id)
    human.restore(given)
    told = _("The score %(value)s counts again.") % {"value": two_decimals(given.value)}
    return _answer(request, given.trajectory.group, _told_score(given, told))


@require_POST
@login_required
def rank_group(request: HttpRequest, group_id: int) -> HttpResponse:
    """{places, reason}: places hold indexes of tries, best first; [[2], [0, 1]] is a tie for second."""
    group = access.group_of(request, group_id)
    try:
        ranking = Ranking(
            group=group, places=_places(request.POST.get("places", "")), reason=request.POST.get("reason", "")
        )
        human.rank(_person(request), ranking)
    except human.NotAScore as refused:
        return _refused(request, group, str(refused))
    return _answer(request, group, _told_ranking(ranking, _("Your ranking is saved.")))


@require_POST
@login_required
def withdraw_ranking(request: HttpRequest, ranking_id: int) -> HttpResponse:
    ranking = access.ranking_of(request, ranking_id)
    human.withdraw_ranking(ranking)
    return _answer(request, ranking.group, _told_ranking(ranking, _("Your ranking was taken back.")))


@require_POST
@login_required
def restore_ranking(request: HttpRequest, ranking_id: int) -> HttpResponse:
    ranking = access.ranking_of(request, ranking_id)
    human.restore_ranking(ranking)
    return _answer(request, ranking.group, _told_ranking(ranking, _("Your ranking counts again.")))


def _told_score(given: Score, words: str) -> dict[str, Any]:
    undo = "restore_score" if given.withdrawn_at else "withdraw_score"
    standing = human.standing(given.trajectory)
    return {
        "id": given.pk,
        "value": given.value,
        "reason": given.explanation,
        "author": given.author.get_username() if given.author else "",
        "use": given.use,
        "withdrawn": given.withdrawn_at is not None,
        "standing": standing.value if standing else None,
        "undo": reverse(undo, args=[given.pk]),
        "words": words,
    }


def _told_ranking(ranking: Ranking, words: str) -> dict[str, Any]:
    undo = "restore_ranking" if ranking.withdrawn_at else "withdraw_ranking"
    standing = human.ranking_of(ranking.owner, ranking.group)
    return {
        "id": ranking.pk,
        "places": ranking.places,
        "reason": ranking.reason,
        "author": ranking.owner.get_username(),
        "withdrawn": ranking.withdrawn_at is not None,
        "standing": standing.places if standing else None,
        "undo": reverse(undo, args=[ranking.pk]),
        "words": words,
    }


def _answer(request: HttpRequest, group: Group, told: dict[str, Any]) -> HttpResponse:
    return JsonResponse(told) if _wants_json(request) else redirect(_back(request, group))


def _refused(request: HttpRequest, group: Group, sentence: str) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"error": sentence}, status=400)
    messages.error(request, sentence)
    return redirect(_back(request, group))


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _back(request: HttpRequest, group: Group) -> str:
    """Where the form says, or where the browser came from, if that is here; else the group's page."""
    for wanted in (request.POST.get("next", ""), request.headers.get("Referer", "")):
        if wanted and url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
            return wanted
    return reverse("group", args=[group.pk])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # which is refused with a sentence, as any number beyond 0 and 1


def _places(text: str) -> list[list[int]]:
    """Raises NotAScore for anything but lists of numbers in a list."""
    try:
        places = json.loads(text[:LONGEST_PLACES])
    except (ValueError, RecursionError):
        places = None
    if not isinstance(places, list) or not all(isinstance(place, list) and place for place in places):
        raise human.NotAScore(_("A ranking is a list of places, best first, each with its tries."))
    if not all(type(index) is int for place in places for index in place):
        raise human.NotAScore(_("A ranking names tries by their numbers."))
    return places


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
