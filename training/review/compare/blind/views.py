"""Two tries side by side without names, the answers to them, and what they came to."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from training.access import comparison_of
from training.models import BlindVote
from training.review.compare.blind import questions, votes
from training.review.compare.blind.tally import Tally
from training.review.compare.report import Report


@require_safe
@login_required
def ask(request: HttpRequest, comparison_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    return render(request, "review/compare_blind.html", questions.page(found, _person(request)))


@require_POST
@login_required
def vote(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """The answer to one pair; the next one is asked."""
    found, person = comparison_of(request, comparison_id), _person(request)
    choice, token = request.POST.get("choice"), request.POST.get("pair")
    pair = next((one for one in questions.asked(found, person) if one.token == token), None)
    if pair is None or choice not in BlindVote.Choice.values:
        raise Http404
    votes.give(found, person, pair, choice)
    return redirect("blind", found.pk)


@require_POST
@login_required
def undo(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """The latest answer is taken back, and its pair asked about again."""
    found = comparison_of(request, comparison_id)
    votes.undo(found, _person(request))
    return redirect("blind", found.pk)


@require_POST
@login_required
def skipped(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """What was skipped is asked about again."""
    found = comparison_of(request, comparison_id)
    votes.forget_skipped(found, _person(request))
    return redirect("blind", found.pk)


@require_safe
@login_required
def judged(request: HttpRequest, comparison_id: int) -> HttpResponse:
    """What this person judged, with the names."""
    found = comparison_of(request, comparison_id)
    report = Report(found)
    context = {
        "comparison": found,
        "run": found.run,
        "report": report,
        "tally": Tally(report, _person(request)),
    }
    return render(request, "review/compare_blind_judged.html", context)


@require_POST
@login_required
def take_back(request: HttpRequest, comparison_id: int, vote_id: int) -> HttpResponse:
    found = comparison_of(request, comparison_id)
    votes.take_back(found, _person(request), vote_id)
    return redirect("blind_judged", found.pk)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
