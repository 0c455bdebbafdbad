"""All scores that people gave in a run: who, when, why, from what to what, and what came of them."""

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from training.access import run_of
from training.models import Run, Score

A_PAGE = 50


@dataclass(frozen=True)
class Override:
    """`stands` is whether it is the one that counts for its try."""

    score: Score
    was: float
    stands: bool


def overrides(run: Run) -> QuerySet[Score]:
    """Newest first, those that were taken back among them."""
    given = Score.objects.filter(source="human", trajectory__run=run)
    return given.select_related("author", "trajectory__group").order_by("-id")


@require_safe
@login_required
def human_scores(request: HttpRequest, run_id: int) -> HttpResponse:
    run = run_of(request, run_id)
    page = Paginator(overrides(run), A_PAGE).get_page(request.GET.get("page"))
    tries = [score.trajectory_id for score in page]
    standing = Score.objects.filter(source="human", trajectory__in=tries, withdrawn_at=None).order_by("id")
    newest = dict(standing.values_list("trajectory_id", "id"))
    shown = [
        Override(score, score.trajectory.reward, newest.get(score.trajectory_id) == score.pk)
        for score in page
    ]
    return render(request, "judges/lab_scores.html", {"run": run, "page": page, "overrides": shown})
