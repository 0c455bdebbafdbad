"""The home page, a run's page, and what a person can ask of a run."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from training.access import run_of
from training.models import Run
from training.runs import condition, foretold, queries, services, words
from training.runs.algorithm import phrases
from training.runs.knobs import shelves
from training.runs.learner import CHARTS, COLUMNS
from training.runs.spending import spending


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """All runs. With `seen`, only the list, and only if it looks different from what was seen."""
    seen = request.GET.get("seen")
    if seen is None:
        return render(request, "runs/home.html", queries.home(_person(request)))
    if seen == queries.home_mark(_person(request)):
        return HttpResponse(status=204)
    return render(request, "runs/_runs.html", queries.home(_person(request)))


@require_POST
@login_required
def start_demo(request: HttpRequest) -> HttpResponse:
    try:
        run = services.start_demo(owner=_person(request))
    except services.Refused as refused:
        messages.error(request, str(refused))
        return redirect("home")
    return redirect("run", run.pk)


@require_safe
@login_required
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    found = run_of(request, run_id)
    fold = queries.whole_page(found)
    steps = condition.recent_steps(found)
    return render(
        request,
        "runs/run.html",
        {
            "run": found,
            "status": queries.status(found, steps),
            "findings": condition.diagnosis(found, steps),
            "foretold": foretold.of(found),
            "spending": spending(found, list(steps.values())),
            "fold": fold,
            "latest": fold.latest,
            "charts": CHARTS,
            "columns": COLUMNS,
            "algorithm": phrases(found.config),
            "first": queries.first_step(found),
            "counts": queries.counts(found),
            "shelves": shelves(found.config),
        },
    )


@require_safe
@login_required
def offer(request: HttpRequest, run_id: int) -> HttpResponse:
    """What a run that is being watched shows once it is done: the endpoint's part, and what was foretold."""
    found = run_of(request, run_id)
    return render(request, "runs/_finished.html", {"run": found, "foretold": foretold.of(found)})


@require_safe
@login_required
def earlier_lines(request: HttpRequest, run_id: int) -> HttpResponse:
    found = run_of(request, run_id)
    lines = queries.lines_before(found, _number(request, "before") or 0)
    return render(request, "runs/_earlier.html", {"run": found, "lines": lines})


@require_safe
@login_required
def groups(request: HttpRequest, run_id: int) -> HttpResponse:
    found = run_of(request, run_id)
    label = request.GET.get("label", "")
    label = label if label in words.LABELS else ""
    step = _number(request, "step")
    page = queries.groups_page(found, label=label, step=step, before=_number(request, "before"))
    return render(
        request,
        "runs/groups.html",
        {
            "run": found,
            "groups": page[: queries.PAGE],
            "older": page[queries.PAGE - 1].pk if len(page) > queries.PAGE else None,
            "label": label,
            "step": step,
            "labels": words.LABELS,
        },
    )


def _wish(request: HttpRequest, run_id: int, ask: Callable[[Run], None]) -> HttpResponse:
    found = run_of(request, run_id)
    refusal = ""
    try:
        ask(found)
    except services.Refused as refused:
        refusal = str(refused)
    found.refresh_from_db()
    status = queries.status(found, condition.recent_steps(found))
    context = {"run": found, "status": status, "refusal": refusal}
    return render(request, "runs/_head.html", context)


@require_POST
@login_required
def pause(request: HttpRequest, run_id: int) -> HttpResponse:
    return _wish(request, run_id, services.pause_run)


@require_POST
@login_required
def resume(request: HttpRequest, run_id: int) -> HttpResponse:
    return _wish(request, run_id, services.resume_run)


@require_POST
@login_required
def stop(request: HttpRequest, run_id: int) -> HttpResponse:
    return _wish(request, run_id, services.stop_run)
